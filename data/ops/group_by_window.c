/* group_by_window: holds the elements of each key until there are as many as its window has; these leave as one batch,
 * or as batches of .batch_size. At the end what is left over leaves by rising key.
 *
 * A group leaves whole. So what it holds are all elements of its key since a certain number: key and number of each
 * group that is not empty are all that a saved state needs of it. */
#include <headrace/data.h>
#include <headrace/op_functions.h>
#include <inttypes.h>

typedef struct group_spec {
    hr_user user; /* first */
    hr_key_fn *key;
    int64_t window_size;
    hr_window_size_fn *window_size_fn;
    int64_t batch_size; /* 0: the window's */
    bool drop_remainder;
    hr_window_check_fn *check;
} group_spec;

typedef struct group {
    hr_span *held;
    int64_t count, capacity;
    int64_t first; /* number of the oldest element held; if count is 0 after a load: of what it will hold */
    int64_t size;  /* elements of its window */
    bool wanted;   /* the saved state had it, and it is to be filled again */
} group;

typedef struct group_state {
    int64_t next; /* saved: number of the element to be grouped next */
    hr_keys keys;
    group *group; /* one a key */
    int64_t capacity;
    bool ended;      /* the input has */
    int64_t *sorted; /* from then on: the groups by rising key, those before `flushed` left */
    int64_t flushed;
} group_state;

/* ---- the spec ---- */

static hr_status bad_size(hr_error *err, int64_t size)
{
    return hr_fail(err, HR_INVALID_ARGUMENT, "group_by_window.size",
                   "group_by_window: expected a window of at least one element, got %" PRId64, size);
}

static hr_status group_check(const void *spec, const hr_schema *const *in, hr_schema_builder *out, hr_error *err)
{
    (void)in;
    const group_spec *sp = spec;
    if (!sp->key)
        return hr_fail(err, HR_INVALID_ARGUMENT, "group_by_window.key",
                       "group_by_window: expected a function from an element to its key, got NULL");
    if (!sp->window_size_fn && sp->window_size < 1) return bad_size(err, sp->window_size);
    if (sp->window_size_fn && sp->window_size)
        return hr_fail(err, HR_INVALID_ARGUMENT, "group_by_window.size",
                       "group_by_window: expected a window size of 0 with .window_size_fn, got %" PRId64,
                       sp->window_size);
    if (sp->batch_size < 0) return bad_size(err, sp->batch_size);
    hr_schema_add_level(out);
    return HR_OK;
}

/* ---- groups ---- */

static void group_close(void *state)
{
    group_state *st = state;
    for (int64_t g = 0; g < st->keys.count; g++) {
        for (int64_t i = 0; i < st->group[g].count; i++) hr_span_drop(st->group[g].held[i]);
        hr_free(st->group[g].held);
    }
    hr_free(st->group);
    hr_free(st->sorted);
    hr_keys_clear(&st->keys);
}

static hr_status group_by_window_no_memory(hr_error *err) { return hr_no_memory(err, "group_by_window: the groups"); }

/* The key's group, at first an empty one. */
static hr_status group_of(group_state *st, int64_t key, group **found, hr_error *err)
{
    if (st->keys.count == st->capacity) {
        const int64_t capacity = st->capacity ? 2 * st->capacity : 16;
        group *grown = hr_realloc(st->group, (size_t)capacity * sizeof *grown);
        if (!grown) return group_by_window_no_memory(err);
        st->group = grown;
        st->capacity = capacity;
    }
    const int64_t known = st->keys.count, g = hr_keys_add(&st->keys, key);
    if (g < 0) return group_by_window_no_memory(err);
    if (g == known) st->group[g] = (group){0};
    *found = &st->group[g];
    return HR_OK;
}

static hr_status group_by_window_hold(group *g, hr_span span, int64_t number, hr_error *err)
{
    if (g->count == g->capacity) {
        int64_t capacity = g->capacity ? 2 * g->capacity : 8;
        if (capacity > g->size) capacity = g->size;
        hr_span *grown = hr_realloc(g->held, (size_t)capacity * sizeof *grown);
        if (!grown) return group_by_window_no_memory(err);
        g->held = grown;
        g->capacity = capacity;
    }
    if (g->count == 0) g->first = number;
    g->held[g->count++] = hr_span_share(span, 0, 1);
    return HR_OK;
}

/* The group leaves, in batches. */
static hr_status group_by_window_give(const group_spec *sp, group_state *st, int64_t number, hr_plan *p, hr_error *err)
{
    group *g = &st->group[number];
    if (sp->check && g->count > 0) HR_TRY(sp->check(st->keys.key[number], sp->user.data, err));
    const int64_t size = sp->batch_size ? sp->batch_size : g->size;
    for (int64_t at = 0; at < g->count; at += size) {
        const int64_t end = at + size < g->count ? at + size : g->count;
        const bool drops = sp->drop_remainder && end - at < size;
        for (int64_t i = at; i < end; i++) {
            if (drops)
                hr_span_drop(g->held[i]);
            else
                hr_emit(p, g->held[i]);
        }
        if (!drops) hr_close_element(p);
    }
    g->count = 0;
    g->wanted = false;
    return HR_OK;
}

/* ---- plan ---- */

static hr_status group_element(const group_spec *sp, group_state *st, hr_plan *p, hr_span span, int64_t number,
                               hr_error *err)
{
    group *g = NULL;
    const hr_element *element = hr_plan_element(p, span);
    if (!element) return group_by_window_no_memory(err);
    const int64_t key = sp->key(element, sp->user.data);
    const bool again = number < st->next; /* after a load */
    if (again && hr_keys_find(&st->keys, key) < 0) return HR_OK;
    HR_TRY(group_of(st, key, &g, err));
    if (g->size == 0) g->size = sp->window_size_fn ? sp->window_size_fn(key, sp->user.data) : sp->window_size;
    if (g->size < 1) return bad_size(err, g->size);
    if (again && (!g->wanted || number < g->first)) return HR_OK;
    if (again) HR_TRY(hr_saved_between("group_by_window", g->count + 1, 1, g->size - 1, err)); /* a full one has left */
    HR_TRY(group_by_window_hold(g, span, number, err));
    if (again) return HR_OK;
    st->next = number + 1;
    return g->count >= g->size ? group_by_window_give(sp, st, g - st->group, p, err) : HR_OK;
}

static hr_status group_by_window_flush(const group_spec *sp, group_state *st, hr_plan *p, hr_error *err)
{
    if (!st->sorted && !(st->sorted = hr_keys_sorted(&st->keys))) return group_by_window_no_memory(err);
    while (hr_room(p) > 0) {
        if (st->flushed == st->keys.count) return HR_END;
        HR_TRY(group_by_window_give(sp, st, st->sorted[st->flushed++], p, err));
    }
    return HR_OK;
}

static hr_status group_plan(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    group_state *st = state;
    while (hr_room(p) > 0 && !st->ended) {
        hr_span span;
        const int64_t number = hr_pulled(p, 0);
        const hr_status got = hr_pull(p, 0, 1, &span);
        st->ended = got == HR_END;
        if (st->ended && number < st->next)
            return hr_fail(err, HR_DATA_LOSS, "group_by_window.input_changed",
                           "group_by_window: the input has changed since the state was saved: it has only %" PRId64
                           " elements; start from the beginning",
                           number);
        if (st->ended) break;
        if (got != HR_OK) return got;
        const hr_status grouped = group_element(spec, st, p, span, number, err);
        hr_span_drop(span);
        if (grouped != HR_OK) return grouped;
    }
    return st->ended ? group_by_window_flush(spec, st, p, err) : HR_OK;
}

static hr_status group_work(const void *spec, const void *unit, hr_work *w, hr_columns *rows, hr_error *err)
{
    (void)spec, (void)unit, (void)err;
    hr_batches_check("group_by_window", w, rows);
    return HR_OK;
}

/* ---- resume ---- */

static int64_t group_held_from(const void *spec, const void *state)
{
    (void)spec;
    const group_state *st = state;
    int64_t oldest = st->next;
    for (int64_t g = 0; g < st->keys.count; g++)
        if ((st->group[g].count || st->group[g].wanted) && st->group[g].first < oldest) oldest = st->group[g].first;
    return oldest;
}

static void group_save(const void *state, hr_token_writer *token)
{
    const group_state *st = state;
    int64_t groups = 0;
    for (int64_t g = 0; g < st->keys.count; g++) groups += st->group[g].count > 0;
    hr_write_i64(token, groups);
    for (int64_t g = 0; g < st->keys.count; g++) {
        if (st->group[g].count == 0) continue;
        hr_write_i64(token, st->keys.key[g]);
        hr_write_i64(token, st->next - st->group[g].first);
    }
}

static hr_status group_load(const void *spec, void *state, hr_token_reader *token, hr_error *err)
{
    (void)spec;
    group_state *st = state;
    int64_t groups = 0;
    HR_TRY(hr_read_between(token, 0, HR_LARGEST_COUNT, &groups, err));
    for (int64_t i = 0; i < groups; i++) {
        group *g = NULL;
        int64_t key, age;
        HR_TRY(hr_read_i64(token, &key, err));
        HR_TRY(hr_read_between(token, 1, st->next, &age, err));
        HR_TRY(group_of(st, key, &g, err));
        g->first = st->next - age;
        g->wanted = true;
    }
    return HR_OK;
}

static void group_identity(const void *spec, uint64_t *sum)
{
    const group_spec *sp = spec;
    hr_identify_i64(sum, sp->window_size);
    hr_identify_i64(sum, sp->batch_size);
    hr_identify_i64(sum, sp->drop_remainder);
}

static void group_describe(const void *spec, hr_description *to)
{
    const group_spec *sp = spec;
    hr_describe_option(to, "window_size", sp->window_size);
    hr_describe_flag(to, "window_size_fn", sp->window_size_fn != NULL);
    hr_describe_option(to, "batch_size", sp->batch_size);
    hr_describe_flag(to, "drop_remainder", sp->drop_remainder);
}

const hr_op hr_op_group_by_window = {
    .head = HR_OP_HEAD,
    .name = "group_by_window",
    .spec_size = sizeof(group_spec),
    .state_size = sizeof(group_state),
    .saved = 1, /* next */
    .traits = HR_GROUPS_ROWS | HR_SEES_ROWS,
    .spec_copy = hr_user_copy,
    .spec_free = hr_user_free,
    .check = group_check,
    .plan = group_plan,
    .work = group_work,
    .close = group_close,
    .save = group_save,
    .load = group_load,
    .held_from = group_held_from,
    .identity = group_identity,
    .describe = group_describe,
};

hr_dataset *hr_group_by_window_with(hr_dataset *in, hr_key_fn *key, void *user, int64_t window_size,
                                    const hr_group_by_window_opts *opts)
{
    const hr_group_by_window_opts o = HR_OPTIONS(hr_group_by_window_opts, opts);
    group_spec spec = {.user = {.data = user, .free = o.user_free},
                       .key = key,
                       .window_size = window_size,
                       .window_size_fn = o.window_size_fn,
                       .batch_size = o.batch_size,
                       .drop_remainder = o.drop_remainder,
                       .check = o.check};
    return hr_user_dataset(&hr_op_group_by_window, &spec, &spec.user, &in, 1);
}
