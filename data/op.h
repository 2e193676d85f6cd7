/* The operator kit: what a dataset operator is made of, in the library as outside of it (a user's program, a plug-in).
 * Operators that call users' functions need <headrace/op_functions.h>, too. The library's own operators use installed
 * headers and nothing else, but for those that read or write files, tf.Example or Arrow's rows: a test holds this, and
 * tests/kits.cmake names the exceptions.
 *
 *   plan   says which elements come next: in order, one thread at a time, under no lock, quickly. It moves spans.
 *   work   does everything else on a unit of rows: on any thread, many units at a time, from its arguments alone.
 *
 * An operator has either or both. take, skip, batch, repeat, shuffle, interleave plan; map, filter, parse work. A source
 * has no input: its plan reads and cuts bytes, its work checks and decodes them. Where a unit ends is the engine's
 * choice and changes between runs: no result may depend on it. */
#ifndef HR_OP_H
#define HR_OP_H

#include <headrace/columns.h>
#include <headrace/io.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hr_dataset hr_dataset;
typedef struct hr_plan hr_plan; /* one operator's view of its inputs, and of the unit being planned */
typedef struct hr_work hr_work; /* one thread's: scratch memory, the unit at hand, the cancel flag */
typedef struct hr_schema_builder hr_schema_builder;
typedef struct hr_token_writer hr_token_writer; /* what an operator adds to a saved state */
typedef struct hr_token_reader hr_token_reader;
typedef struct hr_description hr_description; /* of an operator's arguments, for people */

enum { HR_OP_ABI = 1, HR_MAX_INPUTS = 64 /* those of the dataset itself */ };

/* What the engine must know before the first call. */
typedef enum hr_op_traits {
    HR_ROW_BY_ROW = 1, /* work makes each row of that row alone and drops none, so a batch may come first: map, parse */
    HR_RANDOM_ROWS = 2,        /* work asks for hr_row_key */
    HR_GROUPS_ROWS = 4,        /* plan passes every row on, in order, and closes elements over them unseen: batch */
    HR_JOINS_ROWS = 8,         /* plan uses hr_pull_all and hr_emit_all: zip */
    HR_IGNORES_ERRORS = 16,    /* what fails below is dropped and counted; needs neither plan nor work: ignore_errors */
    HR_PASSES_ROWS = 32,       /* neither plan nor work: only an option of the pipeline, such as prefetch and options */
    HR_SAME_EACH_OPENING = 64, /* what it opens draws the same random numbers each time, wherever that is: cache */
    HR_SEES_ROWS = 128,        /* with HR_GROUPS_ROWS: plan looks at them by hr_plan_element: group_by_window */
    HR_MOVES_SPANS = 256, /* plan never looks at rows, only at how many there are: they need not lie in columns: take */
} hr_op_traits;

/* What a saved number may be. A state is data that somebody may have changed: the engine refuses one with a number out
 * of its range. A count is of elements, rows, or bytes, so that the sum of a thousand of them fits. */
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

/* Begins a descriptor. hr_op grows at its end only, and a zero there means what was so before. So an operator that was
 * compiled with an older header loads, and so does one of a newer header that sets nothing new; another abi_version is
 * refused (op.abi). */
typedef struct hr_op_head {
    uint32_t abi_version, struct_size;
} hr_op_head;
#define HR_OP_HEAD                                                                                                     \
    {                                                                                                                  \
        HR_OP_ABI, sizeof(hr_op)                                                                                       \
    }

/* Files that a dataset reads: a pattern, and what expands it, such as hr_match_files. */
typedef struct hr_op_files {
    const char *pattern; /* NULL: it reads none */
    hr_status (*find)(const char *pattern, hr_file_list *out, hr_error *err);
} hr_op_files;

/* What an operator sets for its own stage, and what options and prefetch set for all that stands below them. */
typedef struct hr_settings {
    bool tf_compat;
    uint64_t seed;        /* of operators without one; 0: the iterator's */
    int64_t window;       /* of the next stage below alone: units that it may run ahead; 0: the engine's choice */
    int64_t group;        /* of the next stage below alone: so many elements are taken together; 0: any number */
    bool unordered;       /* a unit that is ready may leave before those in front of it */
    bool stage_unordered; /* the same, of the next stage below alone */
} hr_settings;

/* An operator: its name, the sizes of its memory, its functions. */
typedef struct hr_op {
    hr_op_head head;   /* HR_OP_HEAD: ABI version and struct size, so older and newer operators load */
    const char *name;  /* begins error messages, names it in hr_explain and in saved states */
    size_t spec_size;  /* arguments and options, frozen when the dataset is made */
    size_t state_size; /* one iterator's, zeroed */
    size_t unit_size;  /* what plan leaves for work with each unit; zeroed once, then used again and again */
    unsigned saved;    /* the state begins with this many int64_t: they are where it stands */
    unsigned traits;

    /* Any function but plan or work may be NULL. */

    /* Replaces what the spec borrows by copies of its own; undone by spec_free, also after a failure half way. */
    hr_status (*spec_copy)(void *spec, hr_error *err);
    void (*spec_free)(void *spec);
    /* Refuses bad arguments and says what comes out; at first `out` is the schema of input 0. `in` ends with a NULL.
     * NULL: all inputs have the same components, and so has what comes out. */
    hr_status (*check)(const void *spec, const hr_schema *const *in, hr_schema_builder *out, hr_error *err);

    /* open precedes the first plan, in the operator's own turn: it may block (open a file), and pulls nothing. plan is
     * called until the unit is full, and not again after HR_END or a failure; after HR_WAIT again with the same unit.
     * close follows a failed open, too. */
    hr_status (*open)(const void *spec, void *state, hr_plan *p, hr_error *err);
    hr_status (*plan)(const void *spec, void *state, hr_plan *p, hr_error *err);
    hr_status (*work)(const void *spec, const void *unit, hr_work *w, hr_columns *rows, hr_error *err);
    void (*close)(void *state);

    /* Resume. Between units the engine notes the state's first `saved` numbers, what save adds, and its inputs'
     * positions: the unit's token. A saved iterator is the token of the unit that was consumed last. After open the
     * engine puts the numbers back, and load reads the rest. It also refuses numbers that do not fit the arguments or
     * each other, such as a place beyond the end of an array (hr_saved_between). Most operators need neither. */
    void (*save)(const void *state, hr_token_writer *token);
    hr_status (*load)(const void *spec, void *state, hr_token_reader *token, hr_error *err);
    /* Of an operator that keeps spans of input 0 between units (shuffle, interleave): number of the oldest element that
     * this state, running or just loaded, still needs. It never falls. After a load input 0 starts at or before it (the
     * engine refuses another state); hr_pulled says where. */
    int64_t (*held_from)(const void *spec, const void *state);

    /* What arguments make another pipeline of it, told by hr_identify: a saved state is refused by a pipeline whose
     * operators or arguments differ. NULL: the name alone. Its files are no part of it: `files` tells them. */
    void (*identity)(const void *spec, uint64_t *sum);
    /* Of a source of files. A saved state knows them by their names below the folder that all share, wherever that
     * lies, by their sizes and samples of their bytes; rows that were kept in a file know the pattern as it stands. */
    hr_op_files (*files)(const void *spec);
    /* Says its arguments as hr_explain shows them, those that are not their defaults: "shuffle(10000, seed 7)". */
    void (*describe)(const void *spec, hr_description *to);
    /* HR_IGNORES_ERRORS: told of each error that is dropped, on any thread. */
    void (*ignored)(const void *spec, const hr_error *err);
    /* Changes what holds for this operator's stage and, with HR_PASSES_ROWS, for all that stands below. */
    void (*settings)(const void *spec, hr_settings *below);

    /* How many elements come out, if the inputs have `in`: both may be HR_INFINITE_CARDINALITY or
     * HR_UNKNOWN_CARDINALITY. NULL: as many as come in if it passes rows or goes row by row, else nobody knows. */
    int64_t (*cardinality)(const void *spec, const int64_t *in);

    /* What the first `ranges` of the saved numbers may be; each further one is an HR_SAVED_COUNT. */
    const hr_saved_range *range;
    unsigned ranges;
} hr_op;

/* Numbers of elements that are not numbers. */
enum { HR_INFINITE_CARDINALITY = -1, HR_UNKNOWN_CARDINALITY = -2 };
HR_API int64_t hr_cardinality_of_input(const void *spec, const int64_t *in); /* in[0]: for `cardinality` */

/* Adds to an operator's identity. */
HR_API void hr_identify(uint64_t *sum, const void *bytes, size_t size);
HR_API void hr_identify_i64(uint64_t *sum, int64_t value);
HR_API void hr_identify_text(uint64_t *sum, const char *text); /* NULL is allowed */

/* Each adds an argument: "7", or "name 7"; a text is clipped. `name` may be NULL. The last three say nothing of a
 * zero. */
HR_API void hr_describe_number(hr_description *to, const char *name, int64_t value);
HR_API void hr_describe_text(hr_description *to, const char *name, const char *text); /* NULL: nothing */
HR_API void hr_describe_option(hr_description *to, const char *name, int64_t value);
HR_API void hr_describe_flag(hr_description *to, const char *name, bool given);
HR_API void hr_describe_seed(hr_description *to, uint64_t seed, bool same_each_epoch);

/* Puts an operator on top of `inputs` datasets (takes them) and freezes a copy of `spec`. Borrows `op` as long as
 * the dataset lives: make it static. The first failed input passes through unchanged; what check says sticks to the new
 * dataset. Never NULL: for lack of memory gives one static dataset that says so. */
HR_API hr_dataset *hr_dataset_new(const hr_op *op, const void *spec, hr_dataset *const *in, int inputs);
/* The same of one input in front of `count` others. Takes all. */
HR_API hr_dataset *hr_dataset_over(const hr_op *op, const void *spec, hr_dataset *first, hr_dataset *const *rest,
                                   int count);
/* A dataset with nothing but this error (copies it): for constructors that fail before there is an operator. */
HR_API hr_dataset *hr_dataset_failed(const hr_error *error);

/* For constructors that look at what they are put on; all borrow from `ds`. Its operator, NULL of a failed one (of a
 * descriptor that is shorter than the library's, a copy of full length); the arguments of a dataset that was made with
 * this `op`, NULL of another one; input i, NULL if there is none. */
HR_API const hr_op *hr_dataset_op(const hr_dataset *ds);
HR_API const void *hr_dataset_spec(const hr_dataset *ds, const hr_op *op);
HR_API const hr_dataset *hr_dataset_input(const hr_dataset *ds, int i);
/* How many parts every element of `ds` has, where a batch below it drops the remainder; 0: not known. */
HR_API int64_t hr_full_batch_size(const hr_dataset *ds);

/* ---- for check ---- */

/* Consecutive elements of a unit, shared. What moves while a plan is made. */
typedef struct hr_span {
    hr_columns *in;
    int32_t first, count;
} hr_span;

HR_API hr_status hr_schema_set(hr_schema_builder *out, const hr_schema *schema, hr_error *err); /* copies */
HR_API hr_status hr_schema_add(hr_schema_builder *out, hr_field field, hr_error *err);          /* copies the name */
HR_API void hr_schema_clear(hr_schema_builder *out);     /* no fields; the levels stay */
HR_API void hr_schema_add_level(hr_schema_builder *out); /* batch */

/* Refuses inputs whose components differ from those of the first: for an operator that passes rows of all on. `in` ends
 * with a NULL; `name` begins the message. */
HR_API hr_status hr_schemas_agree(const char *name, const hr_schema *const *in, hr_error *err);

extern HR_API const hr_schema hr_int64_schema, hr_string_schema; /* one scalar field, "value" */

/* The same dtypes, layouts and shapes, field by field: elements of one may stand for those of the other. */
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

/* Refuses tf.data's num_parallel_calls but 0, HR_AUTOTUNE, or 1 to `max`: parallel_calls. No thread depends on it.
 * `name` begins the message. */
HR_API hr_status hr_parallel_calls_check(const char *name, int64_t calls, int64_t max, hr_error *err);

/* ---- for plan ---- */

/* The next elements of an input: at least 1, at most `at_most`. HR_END; HR_WAIT: return it. Ask for what you put into
 * this unit or keep in your state, no more. An input that failed ends here: the engine reports its error after what you
 * still give. */
HR_API hr_status hr_pull(hr_plan *p, int input, int64_t at_most, hr_span *out);
HR_API int64_t hr_pulled(const hr_plan *p, int input); /* number of the element that the next hr_pull gives */
/* There is an element at once. Only for what may as well come later, such as opening a file ahead of its turn. */
HR_API bool hr_ready(hr_plan *p, int input);

HR_API void hr_emit(hr_plan *p, hr_span span); /* puts elements into the unit, in order; gives the span away */
HR_API void hr_emit_spans(hr_plan *p, const hr_span *span, int64_t spans); /* hr_emit of each */
/* hr_pull and hr_emit of what is at hand: at least 1 element, at most `at_most`; *passed says how many. */
HR_API hr_status hr_pass(hr_plan *p, int input, int64_t at_most, int64_t *passed);
/* Whole rounds of `block` elements of each of these inputs in turn, which all have been pulled from: as many as they
 * have at hand and the unit has space for. Gives the number of rounds; 0: go on by hr_pull, which says why. */
HR_API int64_t hr_emit_rounds(hr_plan *p, const int *input, int64_t inputs, int64_t block);
HR_API int64_t hr_room(const hr_plan *p); /* elements that the unit still takes; return HR_OK at 0 */
/* For sources: how many elements to make if about `fit` of them fit into a unit. At most hr_room; where a batch above
 * takes a fixed number together, such that these lie in one unit, so that its memory is used again while it is in the
 * cache. */
HR_API int64_t hr_room_for(const hr_plan *p, int64_t fit);
HR_API int64_t hr_emitted(const hr_plan *p); /* elements in it so far */
HR_API void hr_close_element(hr_plan *p);    /* HR_GROUPS_ROWS: what was emitted since the last call is one element */

/* HR_JOINS_ROWS: as many elements of each input as all of them have at hand, to stand side by side, or none of any. */
HR_API hr_status hr_pull_all(hr_plan *p, int64_t at_most, hr_span *part);
HR_API void hr_emit_all(hr_plan *p, const hr_span *part);

/* Spans are counted by one reader's plan only, so counting is not atomic: never from work. */
HR_API hr_span hr_span_share(hr_span span, int32_t first, int32_t count); /* part of it, one more reference */
HR_API void hr_span_drop(hr_span span);                                   /* a zeroed one: nothing */

/* Inputs that come and go. The dataset's own are 0, 1, ... and open themselves at the first pull; interleave and repeat
 * open further ones. Takes `ds` (NULL: input 0's once more), gives the input's number. `number` is this opening's own
 * for ever (the input element, the epoch): all randomness below follows from it, and after a load the opening of that
 * number goes on where it stood. An input opened before it is pulled is read ahead. What is wrong with it comes out at
 * its first pull. */
HR_API int hr_input_open(hr_plan *p, hr_dataset *ds, int64_t number);
HR_API void hr_input_close(hr_plan *p, int input);
HR_API bool hr_input_ending(const hr_plan *p, int input); /* all of it is planned: time to open what comes next */

/* For sources: the unit's rows, which the source fills in. Every dense column of the schema, and origin, have space
 * for `capacity` rows. rows->rows is 0 at first; the source sets it to the number of rows, also when plan then fails.
 * An operator whose elements are batches sets elements, levels and splits as well. They are a unit by themselves.
 * NULL: no memory. */
HR_API hr_columns *hr_unit_rows(hr_plan *p, int64_t capacity);
/* Bytes that live as long as the rows (64 readable bytes follow), so that strings may point into them. NULL: no
 * memory. */
HR_API void *hr_unit_bytes(hr_plan *p, size_t size);
/* How many bytes a source should cut a unit to; how many rows at most. */
HR_API size_t hr_unit_size(const hr_plan *p);
HR_API int32_t hr_file_number(hr_plan *p, const char *name); /* for hr_origin, within this iterator; -1: no memory */

/* Counts something that was repaired, skipped or defaulted, for hr_iterator_report: `what` is a literal. */
HR_API void hr_plan_count(hr_plan *p, const char *what, int64_t count);

/* The files that hr_file_number knows, 0, 1, ..., as they were then: the size -1 could not be told. The name lives as
 * long as the iterator. */
typedef struct hr_known_file {
    const char *name;
    int64_t size, mtime; /* bytes; nanoseconds since 1970 */
} hr_known_file;
HR_API int32_t hr_files_known(hr_plan *p);
HR_API hr_known_file hr_file_at(hr_plan *p, int32_t number);
/* Of its size and a sample of its bytes, as it was then: the same for a copy of it. */
HR_API uint64_t hr_file_digest(hr_plan *p, int32_t number);
/* True once for each file of this iterator, its repetitions included: what can be read but once, such as a pipe, is
 * refused where this says false. */
HR_API bool hr_file_first_opening(hr_plan *p, int32_t number);

HR_API void *hr_unit(hr_plan *p); /* unit_size bytes of the unit being planned, for its work */

/* Random key of this operator and `seed` (0: the pipeline's); of the epoch as well, unless all epochs are alike. */
HR_API uint64_t hr_plan_key(const hr_plan *p, uint64_t seed, bool same_each_epoch);
HR_API bool hr_plan_tf_compat(const hr_plan *p); /* hr_options(.tf_compat = true) stands above */
/* The order is free, of this operator (`own`) or by hr_options(.unordered = true) above. Not in a restored run: what is
 * read again must come as it came. */
HR_API bool hr_plan_unordered(const hr_plan *p, bool own);
/* Something was given in another order than (data, seed, epoch) would have it: no state can be saved from here on. */
HR_API void hr_plan_disordered(hr_plan *p);
HR_API const hr_schema *hr_plan_schema(const hr_plan *p); /* of this operator */
HR_API uint64_t hr_plan_identity(const hr_plan *p);       /* of what stands below: operators, arguments, components */
HR_API bool hr_plan_failed(const hr_plan *p);    /* after an HR_END of hr_pull: that input ended with an error */
HR_API bool hr_plan_cancelled(const hr_plan *p); /* for a plan that takes long: return HR_WAIT, nobody will come back */
/* For hr_input_opts: a descriptor with something to read once the iterator is cancelled. NULL: the system gives
 * none. */
HR_API const int *hr_plan_wake(hr_plan *p);
/* Memory that all openings of this very dataset share, wherever it stands and in whatever epoch; with a `name`, such as
 * that of a file, all openings of any dataset that give this name (NULL: none). `size` zeroed bytes, made ready by
 * `make` (false: no memory) when the first one asks, and given to `unmake` once nobody can open the dataset any more,
 * at the latest with the iterator. Openings may run side by side, so it guards itself. Rows may point into it until
 * then, but not where it has a name. NULL: no memory. */
HR_API void *hr_plan_shared(hr_plan *p, const char *name, size_t size, bool (*make)(void *data),
                            void (*unmake)(void *data));
/* For a plan that needs what another opening is about to bring there. True: return HR_WAIT; plan is called again after
 * the next call of hr_plan_shared_changed or hr_work_shared_changed in this iterator, of whatever operator. False:
 * nobody else can move before this plan does; do without. */
HR_API bool hr_plan_await_shared(hr_plan *p);
/* For a plan that is about to bring there what other openings may need before its own elements are read: one that was
 * opened ahead would stop with all that it may have ahead, and they would wait for it in vain. True: return HR_WAIT;
 * plan is called again when the consumer waits for its elements, or as above. False: it does, or no other opening is
 * possible. */
HR_API bool hr_plan_await_turn(hr_plan *p);
HR_API void hr_plan_shared_changed(hr_plan *p);
HR_API void hr_work_shared_changed(hr_work *w);

/* ---- for work: `rows` is its own, to change in place ---- */

HR_API void *hr_scratch(hr_work *w, size_t bytes); /* the thread's own, until work returns; NULL: no memory */
HR_API void *hr_row_bytes(hr_work *w, hr_columns *rows, size_t bytes); /* lives as long as the rows; NULL: no memory */
/* Whether hr_cancel was called: work that takes long asks now and then, and returns HR_CANCELLED. Whether this operator
 * stands in tf_compat. */
HR_API bool hr_work_cancelled(const hr_work *w);
HR_API bool hr_work_tf_compat(const hr_work *w);
HR_API bool hr_work_partial(const hr_work *w); /* the last element is short, because a row after it failed */
/* This row failed; go on with the next one below rows->rows. Mostly there is none: rows are cut off here, and `err`
 * follows those before, on every run alike. Below ignore_errors all rows stay until work returns, then the row's
 * element is dropped. Rows may fail in any order. An error without a file gets the file, record and offset of
 * the row's origin. */
HR_API void hr_fail_at(hr_work *w, hr_columns *rows, int64_t row, const hr_error *err);
/* Names the row's file, record and offset in an error that names no file, as hr_fail_at does. */
HR_API void hr_row_place(hr_work *w, const hr_columns *rows, int64_t row, hr_error *err);
HR_API hr_status hr_keep_rows(hr_work *w, hr_columns *rows, const uint64_t *bits,
                              hr_error *err); /* a bit a row; levels 0 only */
/* Gives `rows` new columns of this operator's schema: dense ones with space for all rows, ragged and sparse ones with
 * splits[0] of rows + 1 and no values yet. `before` has the old ones until work returns; the bytes that their strings
 * point to live as long as the rows. */
HR_API hr_status hr_new_columns(hr_work *w, hr_columns *rows, hr_columns *before, hr_error *err);
/* Gives `rows` this operator's schema, and leaves the columns as they are: for other names, layouts, paddings. */
HR_API void hr_adopt_schema(hr_work *w, hr_columns *rows);
/* Space for `count` values of a column of `rows` that varies in length, keeping those that are there. `w`: NULL in a
 * plan. */
HR_API hr_status hr_grow_column(hr_work *w, hr_columns *rows, int field, int64_t count, hr_error *err);
/* For operators that make batches, once the rows lie in theirs: fails elements whose parts do not stack to a tensor,
 * which are batches of unequal sizes in a batch of them, and rows of unequal lengths that nothing pads. `name` begins
 * the message. */
HR_API void hr_batches_check(const char *name, hr_work *w, hr_columns *rows);
/* As hr_plan_count. Gives how many there are by now. */
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
