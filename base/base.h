/* Headrace, the ground floor: status and errors, memory, types, tensors, random numbers, hashes, threads.
 *
 * Four words say who owns what, here and in every other header:
 *   takes    the call owns it now, even when it fails
 *   gives    the caller must free it (or drop its reference)
 *   borrows  valid until the event that is named; the library copies what it keeps
 *   shares   the callee adds a reference of its own
 *
 * The library never prints, exits or aborts on input. Functions are safe from any thread on different objects; what may
 * be shared says so. */
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

/* HR_API: exported from the library. HR_PRINTF: the compiler checks the arguments against the format, which is argument
 * number `text`; the values begin at argument number `first`. */
#if defined(__GNUC__)
#define HR_API __attribute__((visibility("default")))
#define HR_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define HR_API
#define HR_PRINTF(text, first)
#endif

/* ---- keyword calls: required arguments by position, options by name ---- */

/* hr_shuffle(ds, 10000, .seed = 7) calls hr_shuffle_with(ds, 10000, &(hr_shuffle_opts){.seed = 7, ...}). struct_size
 * lets a caller built against an older header meet a newer library. Zero is every option's default. HR_CALLn_ is for
 * functions of n required arguments; the macro of a call appends `.struct_size = sizeof(OPTS)` to what it is given.
 *
 * These macros are C. In C++ they fail with "taking address of temporary" ("address of rvalue"): C++20 has
 * <headrace/headrace.hpp>, with hr::shuffle(ds, 10000, {.seed = 7}), older C++ and other languages call hr_shuffle_with.
 *
 * What the compiler says of a wrong call: a mistyped option is "no member named 'sede'" with the name of the struct, an
 * argument of a wrong type names the parameter of hr_shuffle_with. Two mistakes read differently:
 * - a required argument is missing: the first option takes its place. hr_shuffle(ds, .seed = 7) is "expected expression
 *   before '.'", hr_shuffle(ds) the same of `.struct_size`, since that is appended. Where `err` comes last, as in
 *   hr_convert(in, out, NULL), it is "expected expression before ')'".
 * - one is too many, or an option lacks its name: hr_shuffle(ds, 10000, 7) would set the first field, struct_size. The
 *   compiler warns that an initialized field is overwritten (-Woverride-init, in -Wextra; clang -Winitializer-overrides,
 *   always), and the library takes the value of the name, so the option is lost. */
#define HR_CALL0_(fn, opts, ...) fn(&(opts){__VA_ARGS__})
#define HR_CALL1_(fn, opts, a, ...) fn((a), &(opts){__VA_ARGS__})
#define HR_CALL2_(fn, opts, a, b, ...) fn((a), (b), &(opts){__VA_ARGS__})
#define HR_CALL3_(fn, opts, a, b, c, ...) fn((a), (b), (c), &(opts){__VA_ARGS__})
#define HR_CALL4_(fn, opts, a, b, c, d, ...) fn((a), (b), (c), (d), &(opts){__VA_ARGS__})
#define HR_CALL5_(fn, opts, a, b, c, d, e, ...) fn((a), (b), (c), (d), (e), &(opts){__VA_ARGS__})

/* For authors of calls with options: the options that a caller gave, in a struct of the size that the callee was built
 * with; it lives until the end of the enclosing block. Every function that takes an options struct reads it through
 * this, and only through this:
 *
 *     hr_dataset *my_op_with(hr_dataset *in, const my_op_opts *opts)
 *     {
 *         const my_op_opts o = HR_OPTIONS(my_op_opts, opts);
 *
 * NULL: all fields are zero, which is every option's default. A shorter struct, of an older caller: the fields that it
 * lacks are zero. A longer struct, of a newer caller: the fields beyond ours are not read. struct_size 0: as long as
 * ours. An options struct begins with `size_t struct_size` and only ever grows at its end. C only. */
#define HR_OPTIONS(type, opts) (*(type *)hr_options_into(&(type){.struct_size = 0}, sizeof(type), (opts)))

/* Fills the zeroed struct `own` of `size` bytes from `given` (NULL: nothing), as HR_OPTIONS says, and sets its
 * struct_size to `size`. Returns `own`. */
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

/* Values for options that are pointers because zero is a legal value beside another default: .beta1 = HR_F32(0). */
#define HR_F32(...) ((const float[]){__VA_ARGS__})
#define HR_F64(...) ((const double[]){__VA_ARGS__})
#define HR_I64(...) ((const int64_t[]){__VA_ARGS__})

/* ---- status and error ---- */

/* Failures are minus TensorFlow's (absl's) number of the same class. */
typedef enum hr_status {
    HR_OK = 0,
    HR_END = 1,  /* no more elements: not an error */
    HR_WAIT = 2, /* nothing yet. To an operator, of its input: return it and keep what you have */
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

/* "InvalidArgument", as TensorFlow writes the class. */
HR_API const char *hr_status_name(hr_status status);

/* What went wrong, and where. Numbers are -1 and names "" where unknown; `text` is a whole sentence for people:
 * "where: what was expected, what was found; what to do". */
typedef struct hr_error {
    hr_status code;
    const char *kind;          /* a stable word for programs, listed in docs/errors.md: "tfrecord.data_crc" */
    int64_t record, line;      /* record counts from 0, line from 1 */
    int64_t offset, length;    /* the damaged or refused bytes of the (decompressed) file */
    int64_t compressed_offset; /* where the decoder stood in the file itself */
    int32_t column;            /* of a CSV row, from 0 */
    char file[256], feature[64];
    char text[512];
} hr_error;

/* Fills `err` (NULL: nothing) with a printf-like text, all places unknown; returns `code`. `kind` is a literal. */
HR_API hr_status hr_fail(hr_error *err, hr_status code, const char *kind, const char *format, ...) HR_PRINTF(4, 5);
/* No memory for `what`: kind "memory". */
HR_API hr_status hr_no_memory(hr_error *err, const char *what);
/* An outer layer puts its place before the text: "train-3.tfrecord:1048576: record 211: " + text. */
HR_API void hr_error_prefix(hr_error *err, const char *format, ...) HR_PRINTF(2, 3);
/* Names the file, if none is named yet. `err` may be NULL. */
HR_API void hr_error_file(hr_error *err, const char *file);

/* Returns from the calling function with anything but HR_OK. */
#define HR_TRY(expr)                                                                                                   \
    do {                                                                                                               \
        hr_status try_ = (expr);                                                                                       \
        if (try_ != HR_OK) return try_;                                                                                \
    } while (0)

/* ---- memory ---- */

/* Where all of the library's memory comes from. Set before anything else is called; NULL: malloc and its kin. The
 * functions must be safe from any thread. */
typedef struct hr_allocator {
    void *(*allocate)(size_t size, void *user);
    void *(*reallocate)(void *p, size_t size, void *user);
    void (*release)(void *p, void *user);
    void *user;
} hr_allocator;
HR_API void hr_set_allocator(const hr_allocator *allocator); /* copies */

HR_API void *hr_malloc(size_t size);                /* gives; NULL: no memory; size 0 gives a pointer, too */
HR_API void *hr_calloc(size_t count, size_t size);  /* zeroed; NULL also when count * size overflows */
HR_API void *hr_realloc(void *p, size_t size);      /* as realloc; on NULL `p` stays */
HR_API char *hr_strdup(const char *text);           /* gives; NULL for NULL */
HR_API void *hr_memdup(const void *p, size_t size); /* gives */
HR_API void hr_free(void *p);                       /* NULL: nothing */

/* ---- types ---- */

/* TensorFlow's numbers (tensorflow.DataType). */
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

HR_API size_t hr_dtype_size(hr_dtype dtype);      /* bytes of one value in memory; a string is an hr_view: 16 */
HR_API const char *hr_dtype_name(hr_dtype dtype); /* "float32", "int64", "string", as tf.DType.name */
HR_API hr_dtype hr_dtype_named(const char *name); /* also "float", "double"; HR_INVALID_DTYPE if there is none */

/* A string: bytes without a terminator. Whoever holds the view says how long the bytes live. */
typedef struct hr_view {
    const char *data;
    int64_t size;
} hr_view;

/* The most dimensions of a shape, and levels of row splits of a tensor. */
enum { HR_MAX_RANK = 8, HR_MAX_RAGGED = 4 };

/* The dimensions of a value, outermost first. */
typedef struct hr_shape {
    int rank;                  /* -1: unknown */
    int64_t dims[HR_MAX_RANK]; /* -1: unknown, or varying */
} hr_shape;

/* HR_SHAPE(-1, 3) is a shape of these dimensions. */
#define HR_SHAPE(...) ((hr_shape){(int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), {__VA_ARGS__}})
#define HR_SCALAR ((hr_shape){0, {0}})
#define HR_UNKNOWN_SHAPE ((hr_shape){-1, {0}})

/* No shape has more values than this, not even with its zeros taken as ones: sums of two sizes, products of some of its
 * dimensions and their bytes fit into 64 bits. */
#define HR_MAX_VALUES (INT64_MAX / 16)

HR_API int64_t hr_shape_count(hr_shape shape);                       /* values; -1: not known, or too many */
HR_API bool hr_shape_equal(hr_shape a, hr_shape b);                  /* dimension by dimension, -1 equals only -1 */
HR_API char *hr_shape_text(hr_shape shape, char *text, size_t size); /* "[?,3]" into `text`, which it returns */

/* ---- buffers and tensors ---- */

/* Reference-counted bytes, 64-byte aligned, with 64 readable bytes after the end. Shareable between threads. */
typedef struct hr_buffer hr_buffer;
HR_API hr_buffer *hr_buffer_new(size_t size);       /* gives; contents undefined; NULL: no memory */
HR_API hr_buffer *hr_buffer_ref(hr_buffer *buffer); /* gives a reference: the same pointer; NULL for NULL */
HR_API void hr_buffer_unref(hr_buffer *buffer);     /* NULL: nothing */
HR_API void *hr_buffer_data(hr_buffer *buffer);     /* lends, as long as a reference is held */
HR_API size_t hr_buffer_size(const hr_buffer *buffer);
HR_API bool hr_buffer_is_shared(const hr_buffer *buffer); /* there is another reference: do not write */

/* How a component lies in memory: a full array; rows of varying length with row splits; values with their indices. */
typedef enum hr_layout { HR_DENSE, HR_RAGGED, HR_SPARSE } hr_layout;

/* One component of an element, and what a graph is fed with. Open to read. */
typedef struct hr_tensor {
    hr_dtype dtype;
    hr_layout layout;
    hr_shape shape;  /* -1: a ragged dimension; of a sparse tensor: its dense shape */
    int64_t count;   /* values stored */
    void *data;      /* the values, row-major; strings are hr_view */
    int ragged_rank; /* HR_RAGGED: levels of splits */
    /* Outermost first; of a sparse tensor with rows: splits[0] says where each begins. */
    const int32_t *splits[HR_MAX_RAGGED];
    const int64_t *indices; /* HR_SPARSE: count x rank */
    hr_buffer *buffer;      /* holds the bytes of `data` (and of its strings); NULL: borrowed */
} hr_tensor;

/* Makes a dense tensor with memory of its own in `out`, contents undefined (strings: empty). */
HR_API hr_status hr_tensor_new(hr_tensor *out, hr_dtype dtype, hr_shape shape, hr_error *err);
/* A dense string tensor that owns copies of the bytes; `values` has as many as `shape` counts. Both fail with
 * HR_INVALID_ARGUMENT, "tensor.shape", if a dimension is not known; *out is then empty. Clear them with
 * hr_tensor_clear. */
HR_API hr_status hr_tensor_strings(hr_tensor *out, hr_shape shape, const hr_view *values, hr_error *err);
/* Drops its buffer and zeroes it. */
HR_API void hr_tensor_clear(hr_tensor *tensor);
/* A dense tensor around the caller's memory: borrows `data`. */
HR_API hr_tensor hr_tensor_of(hr_dtype dtype, hr_shape shape, const void *data);

/* ---- random numbers ---- */

/* Random bits number `n` of the stream `key`: the same on every machine, whoever asks, in any order (a splitmix64 of
 * the key and the counter). Streams are derived: key2 = hr_random(key1, number). */
HR_API uint64_t hr_random(uint64_t key, uint64_t n);
HR_API int64_t hr_random_below(uint64_t key, uint64_t n, int64_t bound); /* 0 .. bound - 1, bound >= 1 */

/* ---- hashes ---- */

/* CRC-32C (Castagnoli) continued: `crc` is the sum of all bytes before these; 0: there are none. */
HR_API uint32_t hr_crc32c(uint32_t crc, const void *data, size_t size);
HR_API uint32_t hr_crc32c_mask(uint32_t crc); /* as TFRecord and LevelDB store it */
HR_API uint32_t hr_crc32c_unmask(uint32_t masked);
/* FarmHash Fingerprint64 (farmhashna::Hash64): TensorFlow's StringToHashBucketFast is this modulo the buckets. */
HR_API uint64_t hr_fingerprint64(const void *data, size_t size);
/* Joins two fingerprints; the order matters. The hash of crossed columns is a chain of these. */
HR_API uint64_t hr_fingerprint_cat64(uint64_t a, uint64_t b);

/* ---- threads ---- */

/* Worker threads of the one pool of the process, at most 256, besides the calling threads, which work too. Default:
 * the environment's HEADRACE_THREADS, if that is a number, else one less than there are processors. 0: everything runs
 * in the caller. May be called again; what is running continues with the workers it has. */
HR_API void hr_set_threads(int workers);
HR_API int hr_threads(void);

/* ---- messages ---- */

/* How important a message is. */
typedef enum hr_level { HR_DEBUG, HR_INFO, HR_WARNING } hr_level;
/* What the library has to say (a seed drawn, a step logged, rows skipped) goes here, from any thread. NULL: nowhere,
 * which is the default. */
typedef void hr_log_fn(hr_level level, const char *text, void *user);
HR_API void hr_set_log(hr_log_fn *fn, void *user); /* before other threads are at work; `user` is borrowed */
/* Says something there; a text beyond 1023 bytes is cut. */
HR_API void hr_log_message(hr_level level, const char *format, ...) HR_PRINTF(2, 3);

/* The nearest of the `count` names, for "did you mean ...?": upper and lower case are the same, a swap of neighbours
 * is one change. Lends it; NULL: none is near, or one of the pointers is NULL. */
HR_API const char *hr_suggest(const char *name, const char *const *names, int64_t count);

#ifdef __cplusplus
}
#endif
#endif
