/* window: each run of `size` elements, `stride` apart, becomes one element of the next level, and the next run begins
 * `shift` elements later: they may overlap. Moves no byte. Window k has the elements k * shift + j * stride, so how
 * many windows were given is all there is to save; the elements that later windows need again are held as spans. */
#include <headrace/data.h>
#include <inttypes.h>
#include <string.h>

typedef struct window_spec {
    int64_t size, shift, stride;
    bool drop_remainder;
} window_spec;

typedef struct window_state {
    int64_t given; /* saved: windows. A unit ends with one, so no window is open between units */
    bool ended;    /* the input has */
    hr_span *held; /* the elements from number `first` on, one each */
    int64_t first, count, capacity;
} window_state;

static hr_status window_check(const void *spec, const hr_schema *const *in, hr_schema_builder *out, hr_error *err)
{
    (void)in;
    const window_spec *sp = spec;
    const int64_t value[] = {sp->size, sp->shift, sp->stride};
    const char *const name[] = {"size", "shift", "stride"};
    for (int i = 0; i < 3; i++)
        if (value[i] < 1 || value[i] > INT32_MAX)
            return hr_fail(err, HR_INVALID_ARGUMENT, "window.size",
                           "window: expected a %s from 1 to %" PRId32 ", got %" PRId64, name[i], INT32_MAX, value[i]);
    hr_schema_add_level(out);
    return HR_OK;
}

static void window_close(void *state)
{
    window_state *st = state;
    for (int64_t i = 0; i < st->count; i++) hr_span_drop(st->held[i]);
    hr_free(st->held);
}

/* ---- what is held ---- */

static void drop_before(window_state *st, int64_t number)
{
    int64_t drops = number - st->first;
    if (drops > st->count) drops = st->count;
    if (drops <= 0) return;
    for (int64_t i = 0; i < drops; i++) hr_span_drop(st->held[i]);
    memmove(st->held, st->held + drops, (size_t)(st->count - drops) * sizeof *st->held);
    st->first += drops;
    st->count -= drops;
}

static hr_status window_reserve(window_state *st, int64_t more, hr_error *err)
{
    if (st->count + more <= st->capacity) return HR_OK;
    const int64_t capacity = 2 * st->capacity + more + 16;
    hr_span *grown = hr_realloc(st->held, (size_t)capacity * sizeof *grown);
    if (!grown) return hr_no_memory(err, "window: the elements held");
    st->held = grown;
    st->capacity = capacity;
    return HR_OK;
}

/* Elements before `wanted` are dropped: between windows that are further apart than long, and after a restore. */
static hr_status window_hold(window_state *st, hr_span span, int64_t number, int64_t wanted, hr_error *err)
{
    hr_status status = window_reserve(st, span.count, err);
    int64_t skipped = wanted - number;
    if (skipped < 0) skipped = 0;
    if (skipped > span.count) skipped = span.count;
    if (st->count == 0) st->first = number + skipped;
    if (skipped > 0) hr_span_drop(hr_span_take(&span, (int32_t)skipped));
    while (status == HR_OK && span.in) st->held[st->count++] = hr_span_take(&span, 1);
    hr_span_drop(span); /* what found no memory */
    return status;
}

/* Holds all elements from `first` to `last`, or to the input's end. */
static hr_status window_reach(window_state *st, hr_plan *p, int64_t first, int64_t last, hr_error *err)
{
    drop_before(st, first);
    while (!st->ended && hr_pulled(p, 0) <= last) {
        hr_span span;
        const int64_t number = hr_pulled(p, 0);
        hr_status got = hr_pull(p, 0, last + 1 - number, &span);
        st->ended = got == HR_END;
        if (got == HR_OK) got = window_hold(st, span, number, first, err);
        if (got != HR_OK && got != HR_END) return got;
    }
    return HR_OK;
}

/* ---- plan ---- */

static void window_give(const window_spec *sp, window_state *st, hr_plan *p, int64_t first)
{
    for (int64_t j = 0; j < sp->size; j++) {
        const int64_t at = first + j * sp->stride - st->first;
        if (at >= st->count) break;
        hr_emit(p, hr_span_share(st->held[at], 0, 1));
    }
    hr_close_element(p);
    st->given++;
}

static hr_status window_plan(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    const window_spec *sp = spec;
    window_state *st = state;
    while (hr_room(p) > 0) {
        const int64_t first = st->given * sp->shift, last = first + (sp->size - 1) * sp->stride;
        HR_TRY(window_reach(st, p, first, last, err));
        const int64_t end = st->first + st->count;
        if (st->count == 0 || end <= first || (sp->drop_remainder && end <= last)) return HR_END;
        window_give(sp, st, p, first);
    }
    return HR_OK;
}

static hr_status window_work(const void *spec, const void *unit, hr_work *w, hr_columns *rows, hr_error *err)
{
    (void)spec, (void)unit, (void)err;
    hr_batches_check("window", w, rows);
    return HR_OK;
}

/* ---- resume ---- */

static int64_t window_held_from(const void *spec, const void *state)
{
    return ((const window_state *)state)->given * ((const window_spec *)spec)->shift;
}

static hr_status window_load(const void *spec, void *state, hr_token_reader *token, hr_error *err)
{
    (void)token;
    const int64_t max = HR_LARGEST_COUNT / ((const window_spec *)spec)->shift;
    return hr_saved_between("window", ((const window_state *)state)->given, 0, max, err);
}

static void window_identity(const void *spec, uint64_t *sum)
{
    const window_spec *sp = spec;
    hr_identify_i64(sum, sp->size);
    hr_identify_i64(sum, sp->shift);
    hr_identify_i64(sum, sp->stride);
    hr_identify_i64(sum, sp->drop_remainder);
}

static int64_t window_cardinality(const void *spec, const int64_t *in)
{
    const window_spec *sp = spec;
    const int64_t more = (sp->size - 1) * sp->stride;
    if (in[0] < 0) return in[0];
    if (!sp->drop_remainder) return in[0] / sp->shift + (in[0] % sp->shift != 0);
    return in[0] > more ? (in[0] - more - 1) / sp->shift + 1 : 0;
}

static void window_describe(const void *spec, hr_description *to)
{
    const window_spec *sp = spec;
    hr_describe_number(to, NULL, sp->size);
    if (sp->shift != sp->size) hr_describe_number(to, "shift", sp->shift);
    if (sp->stride != 1) hr_describe_number(to, "stride", sp->stride);
    hr_describe_flag(to, "drop_remainder", sp->drop_remainder);
}

const hr_op hr_op_window = {
    .head = HR_OP_HEAD,
    .name = "window",
    .spec_size = sizeof(window_spec),
    .state_size = sizeof(window_state),
    .saved = 1, /* given */
    .traits = HR_GROUPS_ROWS,
    .check = window_check,
    .plan = window_plan,
    .work = window_work,
    .close = window_close,
    .load = window_load,
    .held_from = window_held_from,
    .identity = window_identity,
    .cardinality = window_cardinality,
    .describe = window_describe,
};

hr_dataset *hr_window_with(hr_dataset *in, int64_t size, const hr_window_opts *opts)
{
    const hr_window_opts o = HR_OPTIONS(hr_window_opts, opts);
    const window_spec spec = {.size = size,
                              .shift = o.shift ? o.shift : size,
                              .stride = o.stride ? o.stride : 1,
                              .drop_remainder = o.drop_remainder};
    return hr_dataset_new(&hr_op_window, &spec, &in, 1);
}
