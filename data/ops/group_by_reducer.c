/* group_by_reducer: one element a key, made of all elements of that key, by rising key once the input has ended. The
 * user's states are in memory; a saved state holds none of them: after a restore the input is read again. */
#include <headrace/data.h>
#include <headrace/op_functions.h>
#include <inttypes.h>

typedef struct reducer_spec {
    hr_user user;
    hr_key_fn *key;
    hr_group_by_reducer_opts o; /* output: borrowed, read in check only */
    void *initial;              /* a copy of o.initial */
} reducer_spec;

typedef struct reducer_state {
    int64_t given; /* saved: elements of the output */
    hr_keys keys;
    char *states; /* one a key */
    int64_t capacity;
    bool ended;
    int64_t *sorted;
    uint64_t draw;
} reducer_state;

static hr_status reducer_copy(void *spec, hr_error *err)
{
    reducer_spec *sp = spec;
    HR_TRY(hr_user_copy(&sp->user, err));
    sp->initial = hr_calloc(1, sp->o.state_size + 1);
    if (!sp->initial) return hr_no_memory(err, "group_by_reducer");
    if (sp->o.initial) memcpy(sp->initial, sp->o.initial, sp->o.state_size);
    return HR_OK;
}

static void reducer_free(void *spec)
{
    reducer_spec *sp = spec;
    hr_free(sp->initial);
    hr_user_free(&sp->user);
}

static hr_status reducer_check(const void *spec, const hr_schema *const *in, hr_schema_builder *out, hr_error *err)
{
    (void)in;
    const reducer_spec *sp = spec;
    if (!sp->key || !sp->o.reduce || !sp->o.finalize || !sp->o.output)
        return hr_fail(err, HR_INVALID_ARGUMENT, "group_by_reducer.function",
                       "group_by_reducer: expected a key, .reduce, .finalize and its .output, got NULL");
    HR_TRY(hr_builder_check("group_by_reducer", "group_by_reducer.output", sp->o.output, err));
    HR_TRY(hr_schema_set(out, &(hr_schema){0}, err));
    return hr_builder_schema(sp->o.output, out, err);
}

static hr_status reducer_open(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    (void)err;
    ((reducer_state *)state)->draw = hr_plan_key(p, ((const reducer_spec *)spec)->o.seed, false);
    return HR_OK;
}

static void reducer_close(void *state)
{
    reducer_state *st = state;
    hr_keys_clear(&st->keys);
    hr_free(st->states);
    hr_free(st->sorted);
}

/* ---- the states of the keys ---- */

static void *state_at(const reducer_spec *sp, const reducer_state *st, int64_t key)
{
    return st->states + (size_t)key * sp->o.state_size;
}

static hr_status state_of(const reducer_spec *sp, reducer_state *st, int64_t key, void **found, hr_error *err)
{
    const int64_t known = st->keys.count, number = hr_keys_add(&st->keys, key);
    if (number >= 0 && number >= st->capacity) {
        const int64_t capacity = st->capacity ? 2 * st->capacity : 16;
        char *grown = hr_realloc(st->states, (size_t)capacity * sp->o.state_size + 1);
        if (!grown) return hr_no_memory(err, "group_by_reducer: the states");
        st->states = grown;
        st->capacity = capacity;
    }
    if (number < 0) return hr_no_memory(err, "group_by_reducer: the keys");
    *found = state_at(sp, st, number);
    if (number == known && sp->o.state_size) memcpy(*found, sp->initial, sp->o.state_size);
    return HR_OK;
}

static hr_status reduce_span(const reducer_spec *sp, reducer_state *st, hr_plan *p, hr_span span, hr_error *err)
{
    for (int32_t i = 0; i < span.count; i++) {
        void *state = NULL;
        const hr_element *element = hr_plan_element(p, (hr_span){span.in, span.first + i, 1});
        if (!element) return hr_no_memory(err, "group_by_reducer: an element");
        HR_TRY(state_of(sp, st, sp->key(element, sp->user.data), &state, err));
        const hr_status reduced = sp->o.reduce(state, element, sp->user.data);
        if (reduced < 0)
            return hr_fail(err, reduced, "group_by_reducer.function", "group_by_reducer: .reduce failed (%s)",
                           hr_status_name(reduced));
    }
    return HR_OK;
}

/* ---- plan ---- */

enum { AT_ONCE = 1024 };

static hr_status reduce_all(const reducer_spec *sp, reducer_state *st, hr_plan *p, hr_error *err)
{
    while (!st->ended) {
        hr_span span;
        const hr_status got = hr_pull(p, 0, AT_ONCE, &span);
        st->ended = got == HR_END;
        if (got != HR_OK) return st->ended ? HR_OK : got;
        const hr_status reduced = reduce_span(sp, st, p, span, err);
        hr_span_drop(span);
        if (reduced != HR_OK) return reduced;
    }
    return HR_OK;
}

static hr_status finalize(const reducer_spec *sp, reducer_state *st, hr_builder *out, hr_error *err)
{
    const int64_t number = st->sorted[st->given], key = st->keys.key[number];
    hr_call call;
    hr_call_for_key(&call, "group_by_reducer.function", hr_random(st->draw, (uint64_t)key));
    hr_builder_zero(out->rows, out->first, out->end);
    hr_builder_begin(out);
    const hr_status made = hr_builder_status(out, &call, "group_by_reducer",
                                             sp->o.finalize(key, state_at(sp, st, number), out, &call, sp->user.data));
    if (made < 0) *err = call.err;
    return made;
}

static hr_status reducer_plan(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    const reducer_spec *sp = spec;
    reducer_state *st = state;
    HR_TRY(reduce_all(sp, st, p, err));
    if (!st->sorted && !(st->sorted = hr_keys_sorted(&st->keys))) return hr_no_memory(err, "group_by_reducer");
    const int64_t left = st->keys.count - st->given, count = left < hr_room(p) ? left : hr_room(p);
    if (left <= 0) return HR_END;
    hr_columns *rows = hr_unit_rows(p, count);
    if (!rows) return hr_no_memory(err, "group_by_reducer: rows");
    rows->origin = NULL;
    for (; rows->rows < count; rows->rows++, st->given++) {
        hr_builder out = hr_builder_for_plan(p, rows, rows->rows, rows->rows + 1);
        const hr_status made = finalize(sp, st, &out, err);
        if (made < 0) return made;
    }
    return HR_OK;
}

static int64_t reducer_held_from(const void *spec, const void *state)
{
    (void)spec, (void)state;
    return 0;
}

static void reducer_identity(const void *spec, uint64_t *sum)
{
    const reducer_spec *sp = spec;
    hr_identify(sum, sp->initial, sp->o.state_size);
    hr_identify_i64(sum, (int64_t)sp->o.seed);
}

static void reducer_describe(const void *spec, hr_description *to)
{
    const reducer_spec *sp = spec;
    hr_describe_number(to, "state_size", (int64_t)sp->o.state_size);
    hr_describe_seed(to, sp->o.seed, false);
}

const hr_op hr_op_group_by_reducer = {
    .head = HR_OP_HEAD,
    .name = "group_by_reducer",
    .spec_size = sizeof(reducer_spec),
    .state_size = sizeof(reducer_state),
    .saved = 1, /* given */
    .spec_copy = reducer_copy,
    .spec_free = reducer_free,
    .check = reducer_check,
    .open = reducer_open,
    .plan = reducer_plan,
    .close = reducer_close,
    .held_from = reducer_held_from,
    .identity = reducer_identity,
    .describe = reducer_describe,
};

hr_dataset *hr_group_by_reducer_with(hr_dataset *in, hr_key_fn *key, void *user, const hr_group_by_reducer_opts *opts)
{
    const hr_group_by_reducer_opts o = HR_OPTIONS(hr_group_by_reducer_opts, opts);
    reducer_spec spec = {.user = {.data = user, .free = o.user_free}, .key = key, .o = o};
    return hr_user_dataset(&hr_op_group_by_reducer, &spec, &spec.user, &in, 1);
}
