/* The operator kit: what a dataset operator is made of, in the library and outside of it (in a user's program, a
 * plug-in). Operators that call users' functions also need <headrace/op_functions.h>. The library's own operators use
 * the installed headers alone, except those that read or write files, tf.Example or Arrow's rows: a test holds this,
 * and tests/kits.cmake names the exceptions.
 *
 *   plan   says which elements come next: in order, one thread at a time, without a lock, quickly. It moves spans.
 *   work   does everything else on a unit of rows: on any thread, many units at a time, from its arguments alone.
 *
 * An operator has either or both. take, skip, batch, repeat, shuffle, interleave plan; map, filter, parse work. A
 * source has no input: its plan reads and cuts bytes, its work checks and decodes them. The engine chooses where a unit
 * ends, differently in each run: no result may depend on it. */
#ifndef HR_OP_H
#define HR_OP_H

#include <headrace/columns.h>
#include <headrace/io.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hr_dataset hr_dataset;
typedef struct hr_plan hr_plan; /* one operator's view of its inputs, and of the unit being planned */
typedef struct hr_work hr_work; /* of one thread: scratch memory, the current unit, the cancel flag */
typedef struct hr_schema_builder hr_schema_builder;
typedef struct hr_token_writer hr_token_writer; /* what an operator adds to a saved state */
typedef struct hr_token_reader hr_token_reader;
typedef struct hr_description hr_description; /* of an operator's arguments, for people */

enum { HR_OP_ABI = 1, HR_MAX_INPUTS = 64 /* the dataset's own; others are opened */ };

/* What the engine must know before the first call. */
typedef enum hr_op_traits {
    HR_ROW_BY_ROW =
        1, /* work computes each row from that row alone and drops none, so it may run after a batch: map, parse */
    HR_RANDOM_ROWS = 2,        /* work asks for hr_row_key */
    HR_GROUPS_ROWS = 4,        /* plan passes every row on, in order, and closes elements over them unseen: batch */
    HR_JOINS_ROWS = 8,         /* plan uses hr_pull_all and hr_emit_all: zip */
    HR_IGNORES_ERRORS = 16,    /* errors upstream are dropped and counted; needs neither plan nor work: ignore_errors */
    HR_PASSES_ROWS = 32,       /* neither plan nor work: only an option of the pipeline, such as prefetch and options */
    HR_SAME_EACH_OPENING = 64, /* all its openings draw the same random numbers: cache */
    HR_SEES_ROWS = 128,        /* with HR_GROUPS_ROWS: plan reads rows by hr_plan_element: group_by_window */
    HR_MOVES_SPANS = 256,      /* plan never reads rows, only their number, so they need not be materialized: take */
    HR_KNOWS_ITS_PLACE = 512,  /* the inputs that plan opens are not part of its position: a restored one opens others,
                                  by its saved numbers: tfrecord, which opens parts of files. They may have other
                                  components if their spans are never emitted: csv, whose inputs give bytes */
    HR_OPENS_ITS_INPUT = 1024, /* plan never pulls input 0, but openings of it (hr_input_open of NULL): repeat, cache */
    HR_MOVES_OPENED = 2048, /* plan never reads rows of the inputs that it opens, only those of its own: interleave */
} hr_op_traits;

/* The range of a saved number. A saved state may have been changed: the engine refuses a number out of its range. A
 * count is a number of elements, rows, or bytes; the sum of a thousand counts fits into an int64_t. */
typedef struct hr_saved_range {
    int64_t min, max;
} hr_saved_range;
#define HR_LARGEST_COUNT (INT64_C(1) << 52)
#define HR_SAVED_COUNT                                                                                                 \
    {                                                                                                                  \
        0, HR_LARGEST_COUNT                                                                                            \
    }
#define HR_SAVED_ANY                                                                                                   \
    {                                                                                                                  \
        INT64_MIN, INT64_MAX                                                                                           \
    }

/* Begins a descriptor. New fields are added at the end of hr_op, and zero there means the old behaviour. So an
 * operator that was compiled with an older header loads, and so does one of a newer header that sets no new field.
 * Another abi_version is refused (op.abi). */
typedef struct hr_op_head {
    uint32_t abi_version, struct_size;
} hr_op_head;
#define HR_OP_HEAD                                                                                                     \
    {                                                                                                                  \
        HR_OP_ABI, sizeof(hr_op)                                                                                       \
    }

/* Files that a dataset reads: a pattern, and the function that expands it, such as hr_match_files. */
typedef struct hr_op_files {
    const char *pattern; /* NULL: it reads none */
    hr_status (*find)(const char *pattern, hr_file_list *out, hr_error *err);
} hr_op_files;

/* Settings of an operator for its own stage, and of options and prefetch for all operators upstream. */
typedef struct hr_settings {
    bool tf_compat;
    uint64_t seed;        /* of operators without one; 0: the iterator's */
    int64_t window;       /* of the next stage upstream only: units that it may run ahead; 0: the engine's choice */
    int64_t group;        /* of the next stage upstream only: so many elements are taken together; 0: any number */
    bool unordered;       /* a unit that is ready may leave before earlier ones */
    bool stage_unordered; /* the same, of the next stage upstream only */
} hr_settings;

/* An operator: its name, the sizes of its memory, its functions. */
typedef struct hr_op {
    hr_op_head head;   /* HR_OP_HEAD: ABI version and struct size, so older and newer operators load */
    const char *name;  /* its name in error messages, in hr_explain and in saved states */
    size_t spec_size;  /* arguments and options, frozen when the dataset is made */
    size_t state_size; /* one iterator's, zeroed */
    size_t unit_size;  /* what plan passes to work with each unit; zeroed once, then reused */
    unsigned saved;    /* the state begins with this many int64_t: its saved position */
    unsigned traits;

    /* Any function but plan or work may be NULL. */

    /* Replaces what the spec borrows by copies. spec_free frees them, also after spec_copy has failed half-way. */
    hr_status (*spec_copy)(void *spec, hr_error *err);
    void (*spec_free)(void *spec);
    /* Refuses wrong arguments and sets the schema of the elements; at first `out` is the schema of input 0. `in`
     * ends with a NULL. No function: all inputs have the same components, and so has the output. */
    hr_status (*check)(const void *spec, const hr_schema *const *in, hr_schema_builder *out, hr_error *err);

    /* open is called before the first plan; it may block (open a file), and must not pull. plan is called until the
     * unit is full. After HR_WAIT it is called again with the same unit, after HR_END or a failure never. close is
     * called even after a failed open. */
    hr_status (*open)(const void *spec, void *state, hr_plan *p, hr_error *err);
    hr_status (*plan)(const void *spec, void *state, hr_plan *p, hr_error *err);
    hr_status (*work)(const void *spec, const void *unit, hr_work *w, hr_columns *rows, hr_error *err);
    void (*close)(void *state);

    /* For resuming. After each unit the engine makes its token: the state's first `saved` numbers, what save adds,
     * and the positions of the inputs. A saved iterator is the token of the unit that was consumed last. On a
     * restore, the engine calls open, sets the numbers, and calls load, which reads the rest. load also refuses
     * numbers that do not fit the arguments or each other, such as an index beyond the end of an array
     * (hr_saved_between). Most operators need neither. */
    void (*save)(const void *state, hr_token_writer *token);
    hr_status (*load)(const void *spec, void *state, hr_token_reader *token, hr_error *err);
    /* For an operator that holds spans of input 0 between units (shuffle, interleave): the number of the oldest
     * element that this state, running or just loaded, still needs. It never falls. After a load, input 0 starts at
     * or before this element (the engine refuses another state); hr_pulled gives its position. */
    int64_t (*held_from)(const void *spec, const void *state);

    /* Adds the arguments to the identity by hr_identify: a pipeline refuses the state of a pipeline with other
     * operators or arguments. NULL: only the name. Files do not belong to it; see `files`. */
    void (*identity)(const void *spec, uint64_t *sum);
    /* The files of a source. A saved state identifies them by their names below the folder that all share, their
     * sizes and samples of their bytes; cached rows in a file by the pattern as it is written. */
    hr_op_files (*files)(const void *spec);
    /* Adds the arguments that are not defaults, as hr_explain shows them: "shuffle(10000, seed 7)". */
    void (*describe)(const void *spec, hr_description *to);
    /* HR_IGNORES_ERRORS: called for each error that is dropped, on any thread. */
    void (*ignored)(const void *spec, const hr_error *err);
    /* Changes the settings of this operator's stage and, with HR_PASSES_ROWS, of all stages upstream. */
    void (*settings)(const void *spec, hr_settings *below);

    /* The number of elements, if the inputs have `in` elements; both may be HR_INFINITE_CARDINALITY or
     * HR_UNKNOWN_CARDINALITY. NULL: the input's number with HR_PASSES_ROWS or HR_ROW_BY_ROW, otherwise unknown. */
    int64_t (*cardinality)(const void *spec, const int64_t *in);

    /* The ranges of the first `ranges` saved numbers; each further one is an HR_SAVED_COUNT. */
    const hr_saved_range *range;
    unsigned ranges;

    /* For a source that has its elements at hand: those of `numbers` (takes it; elements of hr_int64_schema, from 0 to
     * the cardinality less 1), in that order, by work that is HR_ROW_BY_ROW. An operator that changes the order of all
     * elements, such as shuffle, moves numbers in place of rows. Shares `ds`. */
    hr_dataset *(*by_number)(hr_dataset *ds, hr_dataset *numbers);

    /* Random access (hr_at, .first of hr_iterate): moves a state that was just opened to where it has given `index`
     * elements, which may lie beyond the end, and sets in[i] to the number of elements of input i that it has used by
     * then (0 at the call). `have` has the numbers of elements of the inputs, as for cardinality. Another status than
     * HR_OK: these arguments do not allow it. NULL: an operator with a plan has no access by number, one without has
     * that of its input with HR_PASSES_ROWS or HR_ROW_BY_ROW. */
    hr_status (*at)(const void *spec, void *state, int64_t index, const int64_t *have, int64_t *in);
} hr_op;

/* Cardinalities that are not numbers. */
enum { HR_INFINITE_CARDINALITY = -1, HR_UNKNOWN_CARDINALITY = -2 };
HR_API int64_t hr_cardinality_of_input(const void *spec, const int64_t *in); /* in[0]: for `cardinality` */

/* Adds to an operator's identity. */
HR_API void hr_identify(uint64_t *sum, const void *bytes, size_t size);
HR_API void hr_identify_i64(uint64_t *sum, int64_t value);
HR_API void hr_identify_text(uint64_t *sum, const char *text); /* NULL is allowed */

/* Each adds an argument: "7", or "name 7"; a text is clipped. `name` may be NULL. The last three add nothing for a
 * zero. */
HR_API void hr_describe_number(hr_description *to, const char *name, int64_t value);
HR_API void hr_describe_text(hr_description *to, const char *name, const char *text); /* NULL: nothing */
HR_API void hr_describe_option(hr_description *to, const char *name, int64_t value);
HR_API void hr_describe_flag(hr_description *to, const char *name, bool given);
HR_API void hr_describe_seed(hr_description *to, uint64_t seed, bool same_each_epoch);

/* Makes a dataset of an operator and `inputs` datasets (takes them), with a copy of `spec`. Borrows `op` as long as
 * the dataset lives: make it static. If an input has failed, the result is the first failed input; an error of check
 * sticks to the new dataset. Never NULL: if memory is exhausted, gives a static dataset with that error. */
HR_API hr_dataset *hr_dataset_new(const hr_op *op, const void *spec, hr_dataset *const *in, int inputs);
/* The same for one input before `count` others. Takes all. */
HR_API hr_dataset *hr_dataset_over(const hr_op *op, const void *spec, hr_dataset *first, hr_dataset *const *rest,
                                   int count);
/* A dataset with this error (copies it): for constructors that fail before hr_dataset_new. */
HR_API hr_dataset *hr_dataset_failed(const hr_error *error);

/* For constructors that look at their input; all borrow from `ds`. Its operator, or NULL if `ds` failed (if the
 * descriptor is shorter than the library's, a copy of full length). Its arguments if it was made with this `op`,
 * otherwise NULL. Input i, or NULL if there is none. */
HR_API const hr_op *hr_dataset_op(const hr_dataset *ds);
HR_API const void *hr_dataset_spec(const hr_dataset *ds, const hr_op *op);
HR_API const hr_dataset *hr_dataset_input(const hr_dataset *ds, int i);
/* The number of parts of every element of `ds`, if a batch upstream drops the remainder; 0: unknown. */
HR_API int64_t hr_full_batch_size(const hr_dataset *ds);

/* ---- for check ---- */

/* Consecutive elements of a unit, shared. Plans move spans. With HR_MOVES_SPANS or HR_MOVES_OPENED, where rows need not
 * be in a unit, only `count` says something. */
typedef struct hr_span {
    hr_columns *in;
    int32_t first, count;
} hr_span;

HR_API hr_status hr_schema_set(hr_schema_builder *out, const hr_schema *schema, hr_error *err); /* copies */
HR_API hr_status hr_schema_add(hr_schema_builder *out, hr_field field, hr_error *err);          /* copies the name */
HR_API void hr_schema_clear(hr_schema_builder *out);     /* no fields; the levels stay */
HR_API void hr_schema_add_level(hr_schema_builder *out); /* batch */

/* Refuses inputs whose components differ from those of the first one: for operators that pass on rows of all inputs.
 * `in` ends with a NULL; the message begins with `name`. */
HR_API hr_status hr_schemas_agree(const char *name, const hr_schema *const *in, hr_error *err);

extern HR_API const hr_schema hr_int64_schema, hr_string_schema; /* one scalar field, "value" */

/* The dtypes, layouts and shapes are equal, field by field: elements of one schema may be used as those of the
 * other. */
HR_API bool hr_schema_equal(const hr_schema *a, const hr_schema *b);

/* Rows of the field are of one width (hr_field_width): dense, and no dimension varies. */
static inline bool hr_field_fixed(const hr_field *f)
{
    for (int i = 0; i < f->shape.rank; i++)
        if (f->shape.dims[i] < 0) return false;
    return f->layout == HR_DENSE && f->shape.rank >= 0;
}

/* One zero, or an empty string: lives for ever. */
HR_API const void *hr_zero_value(hr_dtype dtype);

/* Refuses a num_parallel_calls that is not 0, HR_AUTOTUNE, or 1 to `max`: parallel_calls. The number has no other
 * effect. The message begins with `name`. */
HR_API hr_status hr_parallel_calls_check(const char *name, int64_t calls, int64_t max, hr_error *err);

/* ---- for plan ---- */

/* The next elements of an input: at least 1, at most `at_most`. HR_END; HR_WAIT: return it. Ask only for elements
 * that you put into this unit or keep in your state. A failed input ends: the engine reports its error after the
 * elements that you still give. */
HR_API hr_status hr_pull(hr_plan *p, int input, int64_t at_most, hr_span *out);
HR_API int64_t hr_pulled(const hr_plan *p, int input); /* number of the element that the next hr_pull gives */
/* An element is ready. Use it only for decisions that do not change the order, such as opening a file early. */
HR_API bool hr_ready(hr_plan *p, int input);

HR_API void hr_emit(hr_plan *p, hr_span span); /* puts elements into the unit, in order; gives the span away */
HR_API void hr_emit_spans(hr_plan *p, const hr_span *span, int64_t spans); /* hr_emit of each */
/* hr_pull, then hr_emit, of elements that are ready: at least 1, at most `at_most`. *passed is their number. */
HR_API hr_status hr_pass(hr_plan *p, int input, int64_t at_most, int64_t *passed);
/* Whole rounds of `block` elements of each of these inputs in turn, which all have been pulled from: as many as they
 * have ready and the unit has space for. Gives the number of rounds; 0: go on by hr_pull, which says why. */
HR_API int64_t hr_emit_rounds(hr_plan *p, const int *input, int64_t inputs, int64_t block);
HR_API int64_t hr_room(const hr_plan *p); /* elements that the unit still takes; return HR_OK at 0 */
/* For sources: the number of elements to make if about `fit` of them fit into a unit. At most hr_room. If a batch
 * downstream takes a fixed number of elements, these lie in one unit, so that its memory is still in the processor's
 * cache. */
HR_API int64_t hr_room_for(const hr_plan *p, int64_t fit);
HR_API int64_t hr_emitted(const hr_plan *p); /* elements in it so far */
/* The unit, which has elements, ends with them: the next ones go into another. */
HR_API void hr_end_unit(hr_plan *p);
HR_API void
hr_close_element(hr_plan *p); /* HR_GROUPS_ROWS: the rows that were emitted since the last call are one element */

/* HR_JOINS_ROWS: the same number of elements of each input, as many as all of them have ready, or none of any. */
HR_API hr_status hr_pull_all(hr_plan *p, int64_t at_most, hr_span *part);
HR_API void hr_emit_all(hr_plan *p, const hr_span *part);

/* Only one plan counts the references of a span, so counting is not atomic: never call these from work. */
HR_API hr_span hr_span_share(hr_span span, int32_t first, int32_t count); /* part of it, one more reference */
/* Moves the first `count` elements, from 1 to all, out of a span, which goes on after them; with its last ones it is
 * zeroed. For what is held element by element: to share each and drop the span costs more. */
HR_API hr_span hr_span_take(hr_span *span, int32_t count);
HR_API void hr_span_drop(hr_span span); /* a zeroed one: nothing */

/* Opens a further input, as interleave and repeat do. The dataset's own inputs are 0, 1, ... and open at their first
 * pull. Takes `ds` (NULL: the dataset of input 0 again), gives the input's number. `number` identifies this opening
 * (the input element, the epoch): all randomness upstream depends on it, and after a load the opening of that number
 * resumes at its position. An input that is opened before its first pull is read ahead. Its errors appear at its
 * first pull. */
HR_API int hr_input_open(hr_plan *p, hr_dataset *ds, int64_t number);
HR_API void hr_input_close(hr_plan *p, int input);
/* For an operator that opens inputs before their turn only to have them read ahead, each of which may hold so many bytes:
 * how many it should open besides the one whose turn it is. 0: no other thread can work on them, the budget is small,
 * or their elements may come in another order or be left out (.unordered, ignore_errors downstream). */
HR_API int hr_plan_spare_threads(const hr_plan *p, size_t bytes);
HR_API bool hr_input_ending(const hr_plan *p, int input); /* all of it is planned: open the next one */

/* For sources: the unit's rows, which the source fills in. Every dense column of the schema, and origin, have space
 * for `capacity` rows. rows->rows is 0 at first; the source sets it to the number of rows, also when plan then fails.
 * An operator whose elements are batches sets elements, levels and splits as well. They are a unit by themselves.
 * NULL: no memory. */
HR_API hr_columns *hr_unit_rows(hr_plan *p, int64_t capacity);
/* Bytes that live as long as the rows (64 readable bytes follow), so that strings may point into them. NULL: no
 * memory. */
HR_API void *hr_unit_bytes(hr_plan *p, size_t size);
/* The unit's rows hold a span as long as their strings are needed, which may point into it: gives the span away. It may
 * be of an input that has other components, which HR_KNOWS_ITS_PLACE allows. */
HR_API void hr_unit_holds(hr_plan *p, hr_span span);
/* How many bytes a source should put into a unit. */
HR_API size_t hr_unit_size(const hr_plan *p);
HR_API int32_t hr_file_number(hr_plan *p, const char *name); /* for hr_origin, within this iterator; -1: no memory */
/* Such a file is text: errors of its rows name the line, which is looked for when one ends the pipeline. */
HR_API void hr_file_has_lines(hr_plan *p, int32_t number);

/* Counts something that was repaired, skipped or replaced by a default, for hr_iterator_report. `what` is a literal. */
HR_API void hr_plan_count(hr_plan *p, const char *what, int64_t count);

/* The files that hr_file_number knows, 0, 1, ..., as they were at that call; size -1: unknown. The name lives as
 * long as the iterator. */
typedef struct hr_known_file {
    const char *name;
    int64_t size, mtime; /* bytes; nanoseconds since 1970 */
} hr_known_file;
HR_API int32_t hr_files_known(hr_plan *p);
HR_API hr_known_file hr_file_at(hr_plan *p, int32_t number);
/* A number made of the file's size and samples of its bytes, at that call: the same for a copy of the file. */
HR_API uint64_t hr_file_digest(hr_plan *p, int32_t number);
/* True once for each file of this iterator, over all its epochs. A file that can be read only once, such as a pipe,
 * must be refused if this is false. */
HR_API bool hr_file_first_opening(hr_plan *p, int32_t number);

HR_API void *hr_unit(hr_plan *p); /* unit_size bytes of the unit being planned, for its work */

/* A random key from this operator, `seed` (0: the pipeline's), and, unless `same_each_epoch`, the epoch. */
HR_API uint64_t hr_plan_key(const hr_plan *p, uint64_t seed, bool same_each_epoch);
HR_API bool hr_plan_tf_compat(const hr_plan *p); /* hr_options(.tf_compat = true) is downstream */
/* The order is free, by this operator's option (`own`) or by hr_options(.unordered = true) downstream. Never in a
 * restored run: elements that are read again must have their old order. */
HR_API bool hr_plan_unordered(const hr_plan *p, bool own);
/* Says that an element was given out of the order of (data, seed, epoch): from now on no state can be saved. */
HR_API void hr_plan_disordered(hr_plan *p);
HR_API const hr_schema *hr_plan_schema(const hr_plan *p); /* of this operator */
HR_API uint64_t hr_plan_identity(const hr_plan *p); /* of the pipeline upstream: operators, arguments, components */
HR_API bool hr_plan_failed(const hr_plan *p);       /* after hr_pull returned HR_END: that input ended with an error */
HR_API bool
hr_plan_cancelled(const hr_plan *p); /* for a plan that takes long: return HR_WAIT; it is not called again */
/* For hr_input_opts: a file descriptor that can be read from once the iterator is cancelled. NULL: the system has
 * none left. */
HR_API const int *hr_plan_wake(hr_plan *p);
/* Memory that all openings of this dataset share, in all places and epochs. With a `name`, such as that of a file,
 * all openings of any dataset with this name share it (NULL: none). `size` zeroed bytes: `make` initializes them at
 * the first call (false: no memory), and `unmake` gets them when the dataset cannot be opened any more, at the
 * latest with the iterator. Openings may run at the same time, so the memory needs its own lock. Rows may point into
 * it until then, but not if it has a name. NULL: no memory. */
HR_API void *hr_plan_shared(hr_plan *p, const char *name, size_t size, bool (*make)(void *data),
                            void (*unmake)(void *data));
/* For a plan that waits for another opening to fill shared memory. True: return HR_WAIT; plan is called again after
 * the next hr_plan_shared_changed or hr_work_shared_changed of any operator in this iterator. False: no other
 * opening can move before this plan does; continue without. */
HR_API bool hr_plan_await_shared(hr_plan *p);
/* For a plan that is about to fill shared memory. An opening that runs ahead may stop at its window while others
 * wait for what it fills, so it should not start before its turn. True: return HR_WAIT; plan is called again when
 * the consumer waits for its elements, or as above. False: the consumer waits, or no other opening is possible. */
HR_API bool hr_plan_await_turn(hr_plan *p);
HR_API void hr_plan_shared_changed(hr_plan *p);
HR_API void hr_work_shared_changed(hr_work *w);

/* ---- for work: `rows` is its own, to change in place ---- */

HR_API void *hr_scratch(hr_work *w, size_t bytes); /* the thread's own, until work returns; NULL: no memory */
HR_API void *hr_row_bytes(hr_work *w, hr_columns *rows, size_t bytes); /* lives as long as the rows; NULL: no memory */
/* The same for strings that work makes, and for nothing else: while rows wait in an operator such as shuffle, each has
 * a copy of its strings, and this memory is free. At any address; 64 readable bytes follow. */
HR_API void *hr_row_text(hr_work *w, hr_columns *rows, size_t bytes);
/* hr_work_cancelled: hr_cancel was called; work that takes long checks it from time to time, and returns
 * HR_CANCELLED. hr_work_tf_compat: as hr_plan_tf_compat. */
HR_API bool hr_work_cancelled(const hr_work *w);
HR_API bool hr_work_tf_compat(const hr_work *w);
HR_API bool hr_work_partial(const hr_work *w); /* the last element has fewer rows, because a row after it failed */
/* Reports that a row failed; continue with the next row below rows->rows. Usually there is none: the rows are cut
 * off here, and `err` is delivered after the earlier ones, in every run alike. Upstream of ignore_errors all rows
 * stay until work returns; then the row's element is dropped. Rows may fail in any order. An error without a file
 * gets the file, record and offset of the row's origin. */
HR_API void hr_fail_at(hr_work *w, hr_columns *rows, int64_t row, const hr_error *err);
/* Names the row's file, record and offset in an error that names no file, as hr_fail_at does. */
HR_API void hr_row_place(hr_work *w, const hr_columns *rows, int64_t row, hr_error *err);
HR_API hr_status hr_keep_rows(hr_work *w, hr_columns *rows, const uint64_t *bits,
                              hr_error *err); /* one bit for each row; only without levels */
/* Gives `rows` new columns of this operator's schema: dense ones with space for all rows, ragged and sparse ones with
 * splits[0] of rows + 1 and no values yet. `before` has the old ones until work returns; the bytes that their strings
 * point to live as long as the rows. */
HR_API hr_status hr_new_columns(hr_work *w, hr_columns *rows, hr_columns *before, hr_error *err);
/* Gives `rows` this operator's schema and does not change the columns: for other names, layouts, paddings. */
HR_API void hr_adopt_schema(hr_work *w, hr_columns *rows);
/* Gives a column of `rows` with varying length space for `count` values; present values stay. `w`: NULL in a plan. */
HR_API hr_status hr_grow_column(hr_work *w, hr_columns *rows, int field, int64_t count, hr_error *err);
/* For operators that make batches, after the rows are in them: fails elements whose parts do not form a tensor,
 * which are batches of batches of unequal sizes, and rows of unequal lengths without padding. The message begins
 * with `name`. */
HR_API void hr_batches_check(const char *name, hr_work *w, hr_columns *rows);
/* As hr_plan_count. Returns the count so far. */
HR_API int64_t hr_work_count(hr_work *w, const char *what, int64_t count);
/* HR_RANDOM_ROWS: random key of this operator, `seed`, the epoch, and the row by its number as planned: no filter and
 * no batch in between makes a difference. Draw hr_random(key, 0), (key, 1), ... */
HR_API uint64_t hr_row_key(const hr_work *w, const hr_columns *rows, int64_t row, uint64_t seed);

/* ---- elements as users' functions see them ---- */

typedef struct hr_element hr_element;

/* The thread's own view of one element, for a user's function to read: borrows until the next call. NULL: no memory. */
HR_API const hr_element *hr_work_element(hr_work *w, const hr_columns *rows, int64_t element);
/* All rows side by side, as if they were one batch. */
HR_API const hr_element *hr_work_rows(hr_work *w, const hr_columns *rows);
/* How many levels of batches the operator at work sees below itself. There may be more in `rows`: with HR_ROW_BY_ROW a
 * batch above may come first. */
HR_API int hr_work_levels(const hr_work *w);
/* The row that element `index` begins with, as an operator with so many levels counts elements; it ends where the next
 * one begins. */
static inline int64_t hr_element_row(const hr_columns *rows, int levels, int64_t index)
{
    for (int l = levels < rows->levels ? rows->levels - levels : 0; l < rows->levels; l++)
        index = rows->splits[l][index];
    return index;
}
/* The same of the first element of a span of input 0, whose rows are there by then. With HR_GROUPS_ROWS only if
 * HR_SEES_ROWS says so: else work below may be done above. */
HR_API const hr_element *hr_plan_element(hr_plan *p, hr_span span);
/* Of zeros and empty strings (unknown dimensions are 0 long): what a function is called with to learn what it gives.
 * Gives it (hr_element_free). NULL: no memory. */
HR_API hr_element *hr_element_zeros(const hr_schema *schema);
HR_API void hr_element_free(hr_element *element); /* NULL: nothing */

/* ---- for save and load ---- */

HR_API void hr_write_i64(hr_token_writer *token, int64_t value);                     /* small numbers take few bytes */
HR_API hr_status hr_read_i64(hr_token_reader *token, int64_t *value, hr_error *err); /* any number */
/* A number from `min` to `max`; another one is refused (state.damaged), and *value stays as it was. */
HR_API hr_status hr_read_between(hr_token_reader *token, int64_t min, int64_t max, int64_t *value, hr_error *err);
/* Refuses, in the name of operator `op`, a saved number that is not from `min` to `max`: state.damaged. */
HR_API hr_status hr_saved_between(const char *op, int64_t value, int64_t min, int64_t max, hr_error *err);

#ifdef __cplusplus
}
#endif
#endif
