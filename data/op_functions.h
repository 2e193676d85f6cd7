/* The operator kit, second part: for operators that call users' functions, as map, scan and group_by_window do.
 *
 * Such an operator has three parts. Its spec keeps what the user hands over beside the function (hr_user). For each
 * call it says which rows the function makes (hr_builder), and where randomness and errors come from and go to
 * (hr_call). A whole operator that makes one row of each:
 *
 *     typedef struct my_spec {
 *         hr_user user;            // first, so that hr_user_copy and hr_user_free are its spec_copy and spec_free
 *         hr_map_fn *fn;
 *     } my_spec;
 *
 *     static hr_status my_work(const void *spec, const void *unit, hr_work *w, hr_columns *rows, hr_error *err)
 *     {
 *         const my_spec *sp = spec;
 *         hr_columns before;
 *         HR_TRY(hr_new_columns(w, rows, &before, err));
 *         hr_builder_zero(rows, 0, rows->rows);
 *         for (int64_t r = 0; r < rows->rows && !hr_work_cancelled(w); r++) {
 *             const hr_element *in = hr_work_element(w, &before, r);
 *             if (!in) return hr_no_memory(err, "an element");
 *             hr_builder out = hr_builder_for_work(w, rows, r, r + 1);
 *             hr_call call;
 *             hr_call_for_row(&call, "my.function", w, rows, r, 0);
 *             hr_builder_begin(&out);
 *             if (hr_builder_status(&out, &call, "my", sp->fn(in, &out, &call, sp->user.data)) < 0)
 *                 hr_fail_at(w, rows, r, &call.err);
 *         }
 *         return HR_OK;
 *     }
 *
 *     hr_dataset *my(hr_dataset *in, hr_map_fn *fn, void *user, void (*user_free)(void *))
 *     {
 *         my_spec spec = {.user = {.data = user, .free = user_free}, .fn = fn};
 *         return hr_user_dataset(&my_op, &spec, &spec.user, &in, 1);
 *     }
 *
 * The structs below lie in the operator's own memory, so their sizes are part of HR_OP_ABI. */
#ifndef HR_OP_FUNCTIONS_H
#define HR_OP_FUNCTIONS_H

#include <headrace/functions.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- what a user hands over beside a function ---- */

/* In a spec. A dataset takes the user's data, even a dataset that fails: until the spec is copied the data is the
 * constructor's, which frees it where no dataset came to be. */
typedef struct hr_user {
    void *data;
    void (*free)(void *data); /* NULL: it needs none */
    bool *taken;              /* hr_user_dataset's: set when a dataset owns `data` */
} hr_user;

/* spec_copy of a spec whose first field is the hr_user. Other specs call it from their own. */
static inline hr_status hr_user_copy(void *user, hr_error *err)
{
    (void)err;
    hr_user *u = (hr_user *)user;
    if (u->taken) *u->taken = true;
    u->taken = NULL;
    return HR_OK;
}

/* spec_free, likewise. */
static inline void hr_user_free(void *user)
{
    const hr_user *u = (const hr_user *)user;
    if (u->free) u->free(u->data);
}

/* hr_dataset_new with a spec that has `user` in it: takes the user's data, and frees it at once if the spec was not
 * copied, as where an input has failed. */
static inline hr_dataset *hr_user_dataset(const hr_op *op, const void *spec, hr_user *user, hr_dataset *const *in,
                                          int inputs)
{
    bool taken = false;
    user->taken = &taken;
    hr_dataset *ds = hr_dataset_new(op, spec, in, inputs);
    if (!taken) hr_user_free(user);
    return ds;
}

/* ---- the element that a function makes ---- */

/* For check. Refuses a schema whose rows a function cannot make: each component must be of known shape, or vary in its
 * first dimension alone. `name` begins the message, `kind` is the error's. */
HR_API hr_status hr_builder_check(const char *name, const char *kind, const hr_schema *made, hr_error *err);
/* For check. Replaces the components of `out` by those of `made`; the levels stay. */
HR_API hr_status hr_builder_schema(const hr_schema *made, hr_schema_builder *out, hr_error *err);

/* Rows that a function makes, by hr_set and its kin, straight in the columns. */
struct hr_builder {
    hr_work *work; /* whose rows they are; NULL: */
    hr_plan *plan;
    hr_columns *rows;
    int64_t first, end; /* the element is rows first..end, without end */
    int hint;           /* the library's: the component after the one that was set last */
    bool no_memory;     /* the library's: hr_builder_status says so */
};

/* Rows of `rows`, which hr_new_columns made (work) or hr_unit_rows (plan). One row, unless the element is a batch. */
static inline hr_builder hr_builder_for_work(hr_work *w, hr_columns *rows, int64_t first, int64_t end)
{
    hr_builder out = {w, NULL, rows, first, end, 0, false};
    return out;
}

/* The same of a plan that makes rows. */
static inline hr_builder hr_builder_for_plan(hr_plan *p, hr_columns *rows, int64_t first, int64_t end)
{
    hr_builder out = {NULL, p, rows, first, end, 0, false};
    return out;
}

/* Zeros and empty strings in rows first..end of all components of known shape. */
HR_API void hr_builder_zero(hr_columns *rows, int64_t first, int64_t end);
/* Before each call of the function, rows in order: components whose first dimension varies have no values yet. The same
 * row may be begun again until the next one is: what it had is dropped. */
HR_API void hr_builder_begin(hr_builder *out);
/* After each call: what the function returned. If that is a failure, or memory ran out in hr_set_count or
 * hr_set_string, call->err says why, also where the function did not. `name` begins the message. */
HR_API hr_status hr_builder_status(const hr_builder *out, hr_call *call, const char *name, hr_status returned);

/* ---- one call of a function ---- */

/* What hr_call_random draws from, and where hr_call_fail leaves its error. */
struct hr_call {
    const char *kind; /* of its error */
    hr_work *work;    /* the random key is that of a row, by hr_row_key; NULL: `key` */
    hr_columns *rows;
    int64_t row; /* -1: all of them in one call */
    uint64_t seed, key;
    hr_error err; /* only `code` is set before the function fails */
};

/* A call for one row in work (-1: for all rows). The operator has HR_RANDOM_ROWS if its function may draw. */
static inline void hr_call_for_row(hr_call *call, const char *kind, hr_work *w, hr_columns *rows, int64_t row,
                                   uint64_t seed)
{
    call->kind = kind;
    call->work = w;
    call->rows = rows;
    call->row = row;
    call->seed = seed;
    call->key = 0;
    call->err.code = HR_OK;
}

/* A call whose random numbers follow from `key` alone: in plan, hr_random(hr_plan_key(...), number of the element). */
static inline void hr_call_for_key(hr_call *call, const char *kind, uint64_t key)
{
    hr_call_for_row(call, kind, NULL, NULL, 0, 0);
    call->key = key;
}

/* ---- keys ---- */

/* Keys that a function gave, numbered in the order in which they came. Starts zeroed. */
typedef struct hr_keys {
    int64_t *key; /* open to read: count of them */
    int64_t count, capacity;
    int64_t *place; /* hash table: 1 + number of the key, 0: free. At least half of it is free */
    int64_t places; /* a power of two */
} hr_keys;

HR_API int64_t hr_keys_find(const hr_keys *keys, int64_t key); /* its number; -1: it has not come */
HR_API int64_t hr_keys_add(hr_keys *keys, int64_t key);        /* its number, old or new; -1: no memory */
HR_API int64_t *hr_keys_sorted(const hr_keys *keys); /* gives the numbers by rising key (hr_free); NULL: no memory */
HR_API void hr_keys_clear(hr_keys *keys);            /* frees and zeroes */

#ifdef __cplusplus
}
#endif
#endif
