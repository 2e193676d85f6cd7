/* Headrace, base: status and errors, memory, types, tensors, random numbers, hashes, threads. All other headers include
 * this one.
 *
 * Words for ownership, here and in every other header:
 *   takes            the call owns the argument from now on, even if it fails
 *   gives            the caller owns the result and must free it (or drop its reference)
 *   borrows, lends   no ownership passes: the pointer is valid until the named event, or else only for this call
 *   shares           the callee adds a reference of its own
 *
 * The library never prints or exits, and never aborts because of its input. Different threads may call functions on
 * different objects at the same time. Objects that threads may share say so. */
#ifndef HR_BASE_H
#define HR_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define HR_VERSION "0.1.0"

#ifdef __cplusplus
extern "C" {
#endif

/* HR_API marks what the library exports. HR_PRINTF lets the compiler check printf-like arguments: the format is
 * argument number `text`, its values begin at argument number `first`. */
#if defined(__GNUC__)
#define HR_API __attribute__((visibility("default")))
#define HR_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define HR_API
#define HR_PRINTF(text, first)
#endif

/* ---- keyword calls: required arguments by position, options by name ---- */

/* hr_shuffle(ds, 10000, .seed = 7) calls hr_shuffle_with(ds, 10000, &(hr_shuffle_opts){.seed = 7, ...}). The default of
 * every option is zero. By struct_size the library knows which options a caller's header has, so that a program built
 * with an older header works with a newer library. HR_CALLn_ is for functions with n required arguments; the macro of a
 * call appends `.struct_size = sizeof(OPTS)` to its arguments.
 *
 * These macros are for C only. C++ compilers reject them with "taking address of temporary" ("address of rvalue").
 * C++20 has <headrace/headrace.hpp>, with hr::shuffle(ds, 10000, {.seed = 7}); older C++ and other languages call
 * hr_shuffle_with.
 *
 * For a mistyped option the compiler reports "no member named 'sede'" and the name of the struct; for an argument of a
 * wrong type, the parameter of hr_shuffle_with. The messages for two other mistakes are less clear:
 * - A required argument is missing, so the first option takes its place: hr_shuffle(ds, .seed = 7) is reported as
 *   "expected expression before '.'", and so is hr_shuffle(ds), since `.struct_size` is appended. If the missing
 *   argument is a final `err`, as in hr_convert(in, out, NULL), it is "expected expression before ')'".
 * - There is an argument too many, or an option without its name: hr_shuffle(ds, 10000, 7) would set the first field,
 *   struct_size. The compiler warns that an initialized field is overwritten (gcc: -Woverride-init, part of -Wextra;
 *   clang: -Winitializer-overrides, on by default). The appended .struct_size overwrites the value, which is lost. */
#define HR_CALL0_(fn, opts, ...) fn(&(opts){__VA_ARGS__})
#define HR_CALL1_(fn, opts, a, ...) fn((a), &(opts){__VA_ARGS__})
#define HR_CALL2_(fn, opts, a, b, ...) fn((a), (b), &(opts){__VA_ARGS__})
#define HR_CALL3_(fn, opts, a, b, c, ...) fn((a), (b), (c), &(opts){__VA_ARGS__})
#define HR_CALL4_(fn, opts, a, b, c, d, ...) fn((a), (b), (c), (d), &(opts){__VA_ARGS__})
#define HR_CALL5_(fn, opts, a, b, c, d, e, ...) fn((a), (b), (c), (d), (e), &(opts){__VA_ARGS__})
#define HR_CALL6_(fn, opts, a, b, c, d, e, f, ...) fn((a), (b), (c), (d), (e), (f), &(opts){__VA_ARGS__})

/* For authors of functions with options: copies the caller's options into a struct of the callee's size, which lives
 * until the end of the enclosing block. Every function that takes an options struct must read it through this macro
 * only:
 *
 *     hr_dataset *my_op_with(hr_dataset *in, const my_op_opts *opts)
 *     {
 *         const my_op_opts o = HR_OPTIONS(my_op_opts, opts);
 *
 * NULL: all fields are zero, the defaults. A shorter struct, from an older caller: the fields that it lacks are zero. A
 * longer struct, from a newer caller: the fields that the callee does not know are not read. struct_size 0 counts as
 * the callee's size. An options struct begins with `size_t struct_size`, and new fields are added only at its end. C
 * only. */
#define HR_OPTIONS(type, opts) (*(type *)hr_options_into(&(type){.struct_size = 0}, sizeof(type), (opts)))

/* The function behind HR_OPTIONS: copies `given` (NULL: nothing) into the zeroed struct `own` of `size` bytes, and sets
 * its struct_size to `size`. Returns `own`. */
static inline void *hr_options_into(void *own, size_t size, const void *given)
{
    size_t theirs = 0;
    if (given) {
        memcpy(&theirs, given, sizeof theirs); /* struct_size is every options struct's first field */
        memcpy(own, given, theirs > 0 && theirs < size ? theirs : size);
    }
    memcpy(own, &size, sizeof size);
    return own;
}

/* Values for options that are pointers, because zero is a valid value but not the default: .beta1 = HR_F32(0). The
 * arrays live until the end of the enclosing block. */
#define HR_F32(...) ((const float[]){__VA_ARGS__})
#define HR_F64(...) ((const double[]){__VA_ARGS__})
#define HR_I64(...) ((const int64_t[]){__VA_ARGS__})

/* ---- status and error ---- */

/* Failures are the numbers of TensorFlow's (absl's) status codes, negated. */
typedef enum hr_status {
    HR_OK = 0,
    HR_END = 1,  /* no more elements: not an error */
    HR_WAIT = 2, /* nothing yet. If an operator gets it from its input, it keeps its state and returns HR_WAIT, too */
    HR_CANCELLED = -1,
    HR_UNKNOWN = -2,
    HR_INVALID_ARGUMENT = -3,
    HR_DEADLINE_EXCEEDED = -4,
    HR_NOT_FOUND = -5,
    HR_ALREADY_EXISTS = -6,
    HR_PERMISSION_DENIED = -7,
    HR_RESOURCE_EXHAUSTED = -8, /* no memory, no disk space */
    HR_FAILED_PRECONDITION = -9,
    HR_ABORTED = -10,
    HR_OUT_OF_RANGE = -11,
    HR_UNIMPLEMENTED = -12,
    HR_INTERNAL = -13,
    HR_UNAVAILABLE = -14,
    HR_DATA_LOSS = -15,
} hr_status;

/* The name that TensorFlow uses: "InvalidArgument" for HR_INVALID_ARGUMENT; "Unknown" for other numbers. Lends it for
 * ever. */
HR_API const char *hr_status_name(hr_status status);

/* What went wrong, and where. Unknown numbers are -1, unknown names are "". `text` is a message for people: "where:
 * what was expected, what was found; what to do". */
typedef struct hr_error {
    hr_status code;
    const char *kind;          /* a stable name for programs, listed in docs/errors.md: "tfrecord.data_crc" */
    int64_t record, line;      /* record counts from 0, line from 1 */
    int64_t offset, length;    /* bytes: the damaged or refused part of the (decompressed) file */
    int64_t compressed_offset; /* bytes: the position of the decoder in the compressed file */
    int32_t column;            /* of a CSV row, from 0 */
    char file[256], feature[64];
    char text[512];
} hr_error;

/* Fills `err` (NULL: nothing) with a printf-like text and no place; returns `code`. `kind` is borrowed as long as the
 * error is used: pass a literal. */
HR_API hr_status hr_fail(hr_error *err, hr_status code, const char *kind, const char *format, ...) HR_PRINTF(4, 5);
/* Fails with HR_RESOURCE_EXHAUSTED, kind "memory": "no memory for WHAT". */
HR_API hr_status hr_no_memory(hr_error *err, const char *what);
/* Puts a place before the text, for outer layers: "train-3.tfrecord:1048576: record 211: " + text. `err` may be
 * NULL. */
HR_API void hr_error_prefix(hr_error *err, const char *format, ...) HR_PRINTF(2, 3);
/* Sets err->file if it is empty. `err` may be NULL. */
HR_API void hr_error_file(hr_error *err, const char *file);

/* Evaluates `expr`; if the status is not HR_OK, returns it from the calling function. */
#define HR_TRY(expr)                                                                                                   \
    do {                                                                                                               \
        hr_status try_ = (expr);                                                                                       \
        if (try_ != HR_OK) return try_;                                                                                \
    } while (0)

/* ---- memory ---- */

/* The allocator for all memory of the library. The functions must be safe from any thread; they return memory that is
 * aligned as malloc's, or NULL. No size is 0, and `p` is never NULL. */
typedef struct hr_allocator {
    void *(*allocate)(size_t size, void *user);
    void *(*reallocate)(void *p, size_t size, void *user);
    void (*release)(void *p, void *user);
    void *user;
} hr_allocator;
/* Call it before any other function. Copies; borrows `user` for ever. NULL: malloc, realloc and free. */
HR_API void hr_set_allocator(const hr_allocator *allocator);

HR_API void *hr_malloc(size_t size);                /* gives; NULL: no memory; size 0 also gives a pointer */
HR_API void *hr_calloc(size_t count, size_t size);  /* gives, zeroed; NULL also if count * size overflows */
HR_API void *hr_realloc(void *p, size_t size);      /* as realloc, but 0 frees nothing; NULL: `p` is still valid */
HR_API char *hr_strdup(const char *text);           /* gives; NULL for NULL, or no memory */
HR_API void *hr_memdup(const void *p, size_t size); /* gives a copy; NULL: no memory */
HR_API void hr_free(void *p);                       /* NULL: nothing */

/* ---- types ---- */

/* Types of values, by TensorFlow's numbers (tensorflow.DataType). */
typedef enum hr_dtype {
    HR_INVALID_DTYPE = 0,
    HR_FLOAT = 1,
    HR_DOUBLE = 2,
    HR_INT32 = 3,
    HR_UINT8 = 4,
    HR_INT16 = 5,
    HR_INT8 = 6,
    HR_STRING = 7,
    HR_COMPLEX64 = 8,
    HR_INT64 = 9,
    HR_BOOL = 10,
    HR_QINT8 = 11,
    HR_QUINT8 = 12,
    HR_QINT32 = 13,
    HR_BFLOAT16 = 14,
    HR_QINT16 = 15,
    HR_QUINT16 = 16,
    HR_UINT16 = 17,
    HR_COMPLEX128 = 18,
    HR_HALF = 19,
    HR_RESOURCE = 20,
    HR_VARIANT = 21,
    HR_UINT32 = 22,
    HR_UINT64 = 23,
} hr_dtype;

HR_API size_t hr_dtype_size(hr_dtype dtype); /* bytes of a value in memory; 0: no such type; string: 16, an hr_view */
HR_API const char *hr_dtype_name(hr_dtype dtype); /* as tf.DType.name: "float32", "string"; "invalid" */
HR_API hr_dtype hr_dtype_named(const char *name); /* also "float", "double"; HR_INVALID_DTYPE if there is none */

/* A string: bytes without a terminator. The view does not own the bytes; its user documents how long they live. */
typedef struct hr_view {
    const char *data;
    int64_t size;
} hr_view;

/* The maximum rank of a shape, and the maximum number of levels of row splits of a tensor. */
enum { HR_MAX_RANK = 8, HR_MAX_RAGGED = 4 };

/* The dimensions of a value, outermost first. */
typedef struct hr_shape {
    int rank;                  /* -1: unknown */
    int64_t dims[HR_MAX_RANK]; /* -1: unknown, or varying */
} hr_shape;

/* HR_SHAPE(-1, 3) is the shape [?,3]. */
#define HR_SHAPE(...) ((hr_shape){(int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), {__VA_ARGS__}})
#define HR_SCALAR ((hr_shape){0, {0}})
#define HR_UNKNOWN_SHAPE ((hr_shape){-1, {0}})

/* The maximum number of values of a shape, even if its zero dimensions are counted as ones. So the sum of two counts,
 * the product of any of the dimensions, and their bytes fit into 64 bits. */
#define HR_MAX_VALUES (INT64_MAX / 16)

HR_API int64_t hr_shape_count(hr_shape shape);                       /* number of values; -1: unknown, or too many */
HR_API bool hr_shape_equal(hr_shape a, hr_shape b);                  /* every dimension is equal; -1 equals only -1 */
HR_API char *hr_shape_text(hr_shape shape, char *text, size_t size); /* writes "[?,3]" to `text` and returns it */

/* ---- buffers and tensors ---- */

/* Reference-counted bytes, 64-byte aligned, with 64 readable bytes after the end. Threads may share a buffer. */
typedef struct hr_buffer hr_buffer;
HR_API hr_buffer *hr_buffer_new(size_t size);             /* gives; contents undefined; NULL: no memory */
HR_API hr_buffer *hr_buffer_ref(hr_buffer *buffer);       /* adds a reference, returns `buffer`; NULL for NULL */
HR_API void hr_buffer_unref(hr_buffer *buffer);           /* drops a reference; the last one frees it. NULL: nothing */
HR_API void *hr_buffer_data(hr_buffer *buffer);           /* lends, as long as a reference is held */
HR_API size_t hr_buffer_size(const hr_buffer *buffer);    /* bytes */
HR_API bool hr_buffer_is_shared(const hr_buffer *buffer); /* true if there are other references: do not write then */

/* How a component is stored: HR_DENSE: a full array; HR_RAGGED: rows of varying length, with row splits; HR_SPARSE:
 * values and their indices. */
typedef enum hr_layout { HR_DENSE, HR_RAGGED, HR_SPARSE } hr_layout;

/* A tensor: one component of an element, or an input of a graph. Its fields may be read directly. */
typedef struct hr_tensor {
    hr_dtype dtype;
    hr_layout layout;
    hr_shape shape;  /* -1: a ragged dimension; HR_SPARSE: the dense shape */
    int64_t count;   /* number of stored values */
    void *data;      /* the values, row-major; strings are hr_view */
    int ragged_rank; /* HR_RAGGED: number of levels of splits */
    /* Row splits, outermost first. HR_SPARSE: splits[0], if not NULL, has where the values of each row begin. */
    const int32_t *splits[HR_MAX_RAGGED];
    const int64_t *indices; /* HR_SPARSE: count x rank */
    hr_buffer *buffer;      /* owns the bytes of `data` (and of its strings); NULL: they are borrowed */
} hr_tensor;

/* Makes a dense tensor that owns its memory. Its values are undefined; strings are empty. Fails with
 * HR_INVALID_ARGUMENT, "tensor.shape", if a dimension is unknown, there are too many values, or the type has no size;
 * *out is then empty. Release it with hr_tensor_clear. */
HR_API hr_status hr_tensor_new(hr_tensor *out, hr_dtype dtype, hr_shape shape, hr_error *err);
/* Makes a dense string tensor that owns copies of the bytes. `values` has hr_shape_count(shape) entries. Fails and is
 * released as hr_tensor_new. */
HR_API hr_status hr_tensor_strings(hr_tensor *out, hr_shape shape, const hr_view *values, hr_error *err);
/* Drops the reference to the buffer, and sets all fields to zero. */
HR_API void hr_tensor_clear(hr_tensor *tensor);
/* A dense tensor of the caller's values: borrows `data` as long as the tensor is used. */
HR_API hr_tensor hr_tensor_of(hr_dtype dtype, hr_shape shape, const void *data);

/* ---- random numbers ---- */

/* The n-th 64 random bits of the stream `key`. A pure function (splitmix64 of key and counter), with the same result on
 * every machine, so draws may come from any thread and in any order. Derive further streams by
 * key2 = hr_random(key1, number). */
HR_API uint64_t hr_random(uint64_t key, uint64_t n);
HR_API int64_t hr_random_below(uint64_t key, uint64_t n, int64_t bound); /* in 0 .. bound - 1; bound >= 1 */

/* ---- hashes ---- */

/* The CRC-32C (Castagnoli) of some bytes and these `size` bytes after them: `crc` is that of the bytes before, or 0. */
HR_API uint32_t hr_crc32c(uint32_t crc, const void *data, size_t size);
HR_API uint32_t hr_crc32c_mask(uint32_t crc); /* as TFRecord and LevelDB store it */
HR_API uint32_t hr_crc32c_unmask(uint32_t masked);
/* FarmHash Fingerprint64 (farmhashna::Hash64). TensorFlow's StringToHashBucketFast is this modulo the number of
 * buckets. */
HR_API uint64_t hr_fingerprint64(const void *data, size_t size);
/* Combines two fingerprints; their order matters. The hash of crossed columns is a chain of these. */
HR_API uint64_t hr_fingerprint_cat64(uint64_t a, uint64_t b);

/* ---- threads ---- */

/* Sets the number of worker threads in the process's only pool: 0 to 256; numbers outside count as the nearest of
 * these. The threads that call the library work in addition. With 0, everything runs in the calling thread. Default:
 * the environment variable HEADRACE_THREADS if it is a number, else the number of processors, or of those that the
 * control group gives to the process, minus one. May be called again; what is already running keeps the workers it
 * has. */
HR_API void hr_set_threads(int workers);
HR_API int hr_threads(void); /* the number that was set, or the default */

/* ---- messages ---- */

/* How important a message is. */
typedef enum hr_level { HR_DEBUG, HR_INFO, HR_WARNING } hr_level;
/* Receives the library's messages (a seed that was drawn, a step of training, skipped rows), from any thread. `text` is
 * borrowed for the call. */
typedef void hr_log_fn(hr_level level, const char *text, void *user);
/* Sets the function for messages; NULL, the default: messages are dropped. Call it while no other thread uses the
 * library. Borrows `user` until another function is set. */
HR_API void hr_set_log(hr_log_fn *fn, void *user);
/* Sends a message to that function; a text longer than 1023 bytes is cut. */
HR_API void hr_log_message(hr_level level, const char *format, ...) HR_PRINTF(2, 3);

/* The one of the `count` names that is most similar to `name`, for "did you mean ...?". Case is ignored; swapping two
 * neighbouring letters counts as one change. Only the first 4,096 names are compared, and none over 64 bytes. Lends an
 * entry of `names`; NULL: none is similar, or `name` or `names` is NULL. */
HR_API const char *hr_suggest(const char *name, const char *const *names, int64_t count);

#ifdef __cplusplus
}
#endif
#endif
