/* scan: one element of the input to one of the output, by the user's function and a state of his that it changes. So
 * the function is called in the plan, one element after the other; what must not wait for others belongs in a map. */
#include <headrace/data.h>
#include <headrace/op_functions.h>

enum { LARGEST_STATE = 2048 }; /* a saved state stays small */

typedef struct scan_spec {
    hr_user user;
    hr_scan_fn *fn;
    const void *initial; /* borrowed until spec_copy */
    size_t size;
    void *own; /* a copy of `initial` */
    uint64_t seed;
    const hr_schema *output; /* borrowed: read in check only. NULL: that of the input */
} scan_spec;

typedef struct scan_state {
    int64_t number; /* saved: of the element that comes next */
    uint64_t key;
    void *state;
    size_t size;
} scan_state;

static hr_status scan_copy(void *spec, hr_error *err)
{
    scan_spec *sp = spec;
    HR_TRY(hr_user_copy(&sp->user, err));
    sp->own = hr_malloc(sp->size + 1);
    if (!sp->own) return hr_no_memory(err, "scan: the initial state");
    if (sp->initial && sp->size <= LARGEST_STATE) memcpy(sp->own, sp->initial, sp->size);
    return HR_OK;
}

static void scan_free(void *spec)
{
    scan_spec *sp = spec;
    hr_free(sp->own);
    hr_user_free(&sp->user);
}

static hr_status scan_check(const void *spec, const hr_schema *const *in, hr_schema_builder *out, hr_error *err)
{
    const scan_spec *sp = spec;
    if (!sp->fn || !sp->initial)
        return hr_fail(err, HR_INVALID_ARGUMENT, "scan.function",
                       "scan: expected a function and an initial state, got NULL");
    if (sp->size > LARGEST_STATE)
        return hr_fail(err, HR_INVALID_ARGUMENT, "scan.state", "scan: expected a state of at most %d bytes, got %zu",
                       LARGEST_STATE, sp->size);
    if (in[0]->levels > 0 && !sp->output)
        return hr_fail(err, HR_INVALID_ARGUMENT, "scan.output",
                       "scan: name what the function makes of a batch in .output: it is one row of its own");
    HR_TRY(hr_builder_check("scan", "scan.output", sp->output ? sp->output : in[0], err));
    if (!sp->output) return HR_OK;
    HR_TRY(hr_schema_set(out, &(hr_schema){0}, err));
    return hr_builder_schema(sp->output, out, err);
}

/* ---- one iterator ---- */

static hr_status scan_open(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    const scan_spec *sp = spec;
    scan_state *st = state;
    st->key = hr_plan_key(p, sp->seed, false);
    st->size = sp->size;
    st->state = hr_malloc(sp->size + 1);
    if (!st->state) return hr_no_memory(err, "scan: a state");
    memcpy(st->state, sp->own, sp->size);
    return HR_OK;
}

static void scan_close(void *state) { hr_free(((scan_state *)state)->state); }

static hr_status call_function(const scan_spec *sp, scan_state *st, const hr_element *in, hr_builder *out,
                               hr_error *err)
{
    hr_call call;
    hr_call_for_key(&call, "scan.function", hr_random(st->key, (uint64_t)st->number++));
    hr_builder_zero(out->rows, out->first, out->end);
    hr_builder_begin(out);
    const hr_status made = hr_builder_status(out, &call, "scan", sp->fn(st->state, in, out, &call, sp->user.data));
    if (made < 0) *err = call.err;
    return made;
}

static hr_status scan_span(const scan_spec *sp, scan_state *st, hr_plan *p, hr_columns *rows, hr_span span,
                           hr_error *err)
{
    for (int32_t i = 0; i < span.count; i++, rows->rows++) {
        const hr_element *in = hr_plan_element(p, (hr_span){span.in, span.first + i, 1});
        if (!in) return hr_no_memory(err, "scan: an element");
        hr_builder out = hr_builder_for_plan(p, rows, rows->rows, rows->rows + 1);
        const hr_status made = call_function(sp, st, in, &out, err);
        if (made < 0) return made;
    }
    return HR_OK;
}

/* What is made before the input has to be waited for, or ends, goes into the unit all the same. */
static hr_status scan_plan(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    const int64_t capacity = hr_room(p);
    hr_columns *rows = hr_unit_rows(p, capacity > 0 ? capacity : 1);
    if (!rows) return hr_no_memory(err, "scan: rows");
    rows->origin = NULL;
    while (rows->rows < capacity) {
        hr_span span;
        HR_TRY(hr_pull(p, 0, capacity - rows->rows, &span));
        const hr_status made = scan_span(spec, state, p, rows, span, err);
        hr_span_drop(span);
        if (made < 0) return made;
    }
    return HR_OK;
}

/* ---- resume: the user's bytes, eight at a time ---- */

static void scan_save(const void *state, hr_token_writer *token)
{
    const scan_state *st = state;
    for (size_t at = 0; at < st->size; at += sizeof(int64_t)) {
        int64_t value = 0;
        const size_t left = st->size - at;
        memcpy(&value, (const char *)st->state + at, left < sizeof value ? left : sizeof value);
        hr_write_i64(token, value);
    }
}

static hr_status scan_load(const void *spec, void *state, hr_token_reader *token, hr_error *err)
{
    (void)spec;
    scan_state *st = state;
    for (size_t at = 0; at < st->size; at += sizeof(int64_t)) {
        int64_t value;
        const size_t left = st->size - at;
        HR_TRY(hr_read_i64(token, &value, err));
        memcpy((char *)st->state + at, &value, left < sizeof value ? left : sizeof value);
    }
    return HR_OK;
}

static void scan_identity(const void *spec, uint64_t *sum)
{
    const scan_spec *sp = spec;
    hr_identify_i64(sum, (int64_t)sp->size);
    hr_identify(sum, sp->own, sp->size);
    hr_identify_i64(sum, (int64_t)sp->seed);
}

static void scan_describe(const void *spec, hr_description *to)
{
    const scan_spec *sp = spec;
    hr_describe_number(to, "state_size", (int64_t)sp->size);
    hr_describe_seed(to, sp->seed, false);
}

const hr_op hr_op_scan = {
    .head = HR_OP_HEAD,
    .name = "scan",
    .spec_size = sizeof(scan_spec),
    .state_size = sizeof(scan_state),
    .saved = 1, /* number */
    .spec_copy = scan_copy,
    .spec_free = scan_free,
    .check = scan_check,
    .open = scan_open,
    .plan = scan_plan,
    .close = scan_close,
    .save = scan_save,
    .load = scan_load,
    .identity = scan_identity,
    .cardinality = hr_cardinality_of_input,
    .describe = scan_describe,
};

hr_dataset *hr_scan_with(hr_dataset *in, const void *initial, size_t size, hr_scan_fn *fn, void *user,
                         const hr_scan_opts *opts)
{
    const hr_scan_opts o = HR_OPTIONS(hr_scan_opts, opts);
    scan_spec spec = {.user = {.data = user, .free = o.user_free},
                      .fn = fn,
                      .initial = initial,
                      .size = size,
                      .seed = o.seed,
                      .output = o.output};
    return hr_user_dataset(&hr_op_scan, &spec, &spec.user, &in, 1);
}
