/* The operator kit, part two: for operators that call users' functions, as map, scan and group_by_window do.
 *
 * Such an operator uses three structs. An hr_user in its spec owns the user's data. For each call, an hr_builder says
 * which rows the function makes, and an hr_call says where its random numbers come from and takes its error. The
 * functions of a whole operator that makes one row of each row:
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
 * Operators allocate the structs below themselves, so the sizes of these are part of HR_OP_ABI. */
#ifndef HR_OP_FUNCTIONS_H
#define HR_OP_FUNCTIONS_H

#include <headrace/functions.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the user's data, which the function gets ---- */

/* A field of the spec. A dataset takes the user's data, even if it fails. Until the spec is copied the constructor owns
 * the data, and frees it if no dataset was made. */
typedef struct hr_user {
    void *data;
    void (*free)(void *data); /* NULL: nothing to free */
    bool *taken;              /* set by hr_user_dataset: becomes true when a dataset owns `data` */
} hr_user;

/* The spec_copy of a spec whose first field is the hr_user. Other specs call it from their own spec_copy. */
static inline hr_status hr_user_copy(void *user, hr_error *err)
{
    (void)err;
    hr_user *u = (hr_user *)user;
    if (u->taken) *u->taken = true;
    u->taken = NULL;
    return HR_OK;
}

/* The spec_free, likewise. */
static inline void hr_user_free(void *user)
{
    const hr_user *u = (const hr_user *)user;
    if (u->free) u->free(u->data);
}

/* Calls hr_dataset_new with a spec that contains `user`. Takes the inputs and the user's data. Frees the data at once
 * if the spec was not copied, for example because an input has failed. */
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

/* For check. Refuses a schema whose rows a function cannot make: each component must have a known shape, or one that
 * varies in its first dimension only. The message begins with `name`; `kind` is the kind of the error. */
HR_API hr_status hr_builder_check(const char *name, const char *kind, const hr_schema *made, hr_error *err);
/* For check. Replaces the components of `out` by those of `made`; the levels do not change. */
HR_API hr_status hr_builder_schema(const hr_schema *made, hr_schema_builder *out, hr_error *err);

/* The rows that a function makes. hr_set and the others write their values directly into the columns. */
struct hr_builder {
    hr_work *work; /* if work makes the rows, else NULL */
    hr_plan *plan; /* if plan makes the rows, else NULL */
    hr_columns *rows;
    int64_t first, end; /* the element is the rows first .. end - 1 */
    int hint;           /* private: the component after the one that was set last */
    bool no_memory;     /* private: memory ran out; hr_builder_status reports it */
};

/* Rows first .. end - 1 of `rows`, which hr_new_columns made. One row, unless the element is a batch. */
static inline hr_builder hr_builder_for_work(hr_work *w, hr_columns *rows, int64_t first, int64_t end)
{
    hr_builder out = {w, NULL, rows, first, end, 0, false};
    return out;
}

/* The same in plan, for rows that hr_unit_rows made. */
static inline hr_builder hr_builder_for_plan(hr_plan *p, hr_columns *rows, int64_t first, int64_t end)
{
    hr_builder out = {NULL, p, rows, first, end, 0, false};
    return out;
}

/* Writes zeros and empty strings to rows first .. end - 1 of all components of known shape. */
HR_API void hr_builder_zero(hr_columns *rows, int64_t first, int64_t end);
/* To call before each call of the function, for the rows in order. Clears the components whose first dimension varies.
 * May be repeated for the same row until it is called for the next one: the values of the row are then dropped. */
HR_API void hr_builder_begin(hr_builder *out);
/* To call after each call of the function, with the status that it returned. Gives that status, or a failure if memory
 * ran out in hr_set_count or hr_set_string. After a failure call->err always has a message, even if the function did
 * not call hr_call_fail; one that is made here begins with `name`. */
HR_API hr_status hr_builder_status(const hr_builder *out, hr_call *call, const char *name, hr_status returned);

/* ---- one call of a function ---- */

/* Where hr_call_random gets its key, and where hr_call_fail puts its error. */
struct hr_call {
    const char *kind; /* of the error */
    hr_work *work;    /* not NULL: the random key is hr_row_key of the row and `seed`; NULL: it is `key` */
    hr_columns *rows;
    int64_t row; /* -1: one call for all rows */
    uint64_t seed, key;
    hr_error err; /* until the function fails, only `code` is set */
};

/* Begins a call for one row in work (-1: for all rows). The operator must have the trait HR_RANDOM_ROWS if its function
 * may call hr_call_random. */
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

/* Begins a call whose random numbers depend on `key` only. In plan, use hr_random(hr_plan_key(...), number of the
 * element) as the key. */
static inline void hr_call_for_key(hr_call *call, const char *kind, uint64_t key)
{
    hr_call_for_row(call, kind, NULL, NULL, 0, 0);
    call->key = key;
}

/* ---- keys ---- */

/* Different int64 keys, numbered from 0 in the order in which they were added. A zeroed struct is empty. */
typedef struct hr_keys {
    int64_t *key; /* may be read: `count` keys */
    int64_t count, capacity;
    int64_t *place; /* hash table: 1 + the number of a key; 0: free. At least half of it is free */
    int64_t places; /* size of the table, a power of two */
} hr_keys;

HR_API int64_t hr_keys_find(const hr_keys *keys, int64_t key); /* its number; -1: it was not added */
HR_API int64_t hr_keys_add(hr_keys *keys, int64_t key);        /* its number, old or new; -1: no memory */
HR_API int64_t *hr_keys_sorted(const hr_keys *keys); /* gives the numbers, sorted by key (hr_free); NULL: no memory */
HR_API void hr_keys_clear(hr_keys *keys);            /* frees and zeroes */

#ifdef __cplusplus
}
#endif
#endif
