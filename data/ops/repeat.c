/* repeat: passes its input `count` times. Each epoch is a new opening of the input, numbered by the epoch, so that
 * random operators upstream draw new numbers in each epoch, and the same ones after a restore. The next epoch is
 * opened, and read ahead, as soon as all of this one is planned: earlier would hold two shuffle buffers at once.
 *
 * shuffle_and_repeat is the same over a shuffle: a function, not an operator of its own. */
#include <headrace/data.h>

typedef struct repeat_spec {
    int64_t count; /* negative: for ever */
    bool strict;   /* refuses what TensorFlow's shuffle_and_repeat refuses */
    bool extendable;
} repeat_spec;

typedef struct repeat_state {
    int64_t epoch, given; /* given: elements of this epoch that have passed. Both are saved */
    int input, next;      /* of this epoch, of the next one */
    bool open, ahead;     /* there is such an input */
} repeat_state;

static hr_status repeat_check(const void *spec, const hr_schema *const *in, hr_schema_builder *out, hr_error *err)
{
    (void)in, (void)out;
    const repeat_spec *sp = spec;
    if (sp->strict && sp->count < -1)
        return hr_fail(err, HR_INVALID_ARGUMENT, "shuffle_and_repeat.count",
                       "shuffle_and_repeat: expected count > 0, or -1 for ever, got %lld", (long long)sp->count);
    return HR_OK;
}

/* A restored repeat begins here, too: it has its epoch, and no input yet. */
static void open_inputs(const repeat_spec *sp, repeat_state *st, hr_plan *p)
{
    if (!st->open) st->input = hr_input_open(p, NULL, st->epoch);
    st->open = true;

    const bool last = sp->count >= 0 && st->epoch + 1 >= sp->count;
    if (last || st->ahead || !hr_input_ending(p, st->input)) return;
    st->next = hr_input_open(p, NULL, st->epoch + 1);
    st->ahead = true;
}

static void end_epoch(repeat_state *st, hr_plan *p)
{
    hr_input_close(p, st->input);
    *st = (repeat_state){.epoch = st->epoch + 1, .open = st->ahead, .input = st->next};
}

static hr_status repeat_plan(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    (void)err;
    const repeat_spec *sp = spec;
    repeat_state *st = state;
    while (hr_room(p) > 0) {
        if (sp->count >= 0 && st->epoch >= sp->count) return HR_END;
        open_inputs(sp, st, p);

        hr_span span;
        hr_status got = hr_pull(p, st->input, hr_room(p), &span);
        if (got == HR_END && st->given == 0) return HR_END; /* an empty epoch is the last: for ever must not spin */
        if (got == HR_END) {
            end_epoch(st, p);
            continue;
        }
        if (got != HR_OK) return got;
        st->given += span.count;
        hr_emit(p, span);
    }
    return HR_OK;
}

static void repeat_identity(const void *spec, uint64_t *sum)
{
    const repeat_spec *sp = spec;
    if (sp->extendable)
        hr_identify_text(sum, "extendable");
    else
        hr_identify_i64(sum, sp->count);
}

/* For ever is infinite even if nothing is known below, and for shuffle_and_repeat if nothing is there: as in
 * TensorFlow. */
static int64_t repeat_cardinality(const void *spec, const int64_t *in)
{
    const repeat_spec *sp = spec;
    if (sp->count < 0 && (sp->strict || in[0] != 0)) return HR_INFINITE_CARDINALITY;
    if (sp->count == 0 || in[0] == 0) return 0;
    return in[0] < 0 ? in[0] : in[0] > INT64_MAX / sp->count ? HR_UNKNOWN_CARDINALITY : in[0] * sp->count;
}

static void repeat_describe(const void *spec, hr_description *to)
{
    const repeat_spec *sp = spec;
    if (sp->count >= 0) hr_describe_number(to, NULL, sp->count);
}

const hr_op hr_op_repeat = {
    .head = HR_OP_HEAD,
    .name = "repeat",
    .spec_size = sizeof(repeat_spec),
    .state_size = sizeof(repeat_state),
    .saved = 2, /* epoch, given */
    .traits = HR_MOVES_SPANS | HR_OPENS_ITS_INPUT,
    .check = repeat_check,
    .plan = repeat_plan,
    .identity = repeat_identity,
    .cardinality = repeat_cardinality,
    .describe = repeat_describe,
};

hr_dataset *hr_repeat_with(hr_dataset *in, const hr_repeat_opts *opts)
{
    const hr_repeat_opts o = HR_OPTIONS(hr_repeat_opts, opts);
    const repeat_spec spec = {.count = o.count ? *o.count : -1, .extendable = o.extendable};
    return hr_dataset_new(&hr_op_repeat, &spec, &in, 1);
}

hr_dataset *hr_shuffle_and_repeat_with(hr_dataset *in, int64_t buffer_size, const hr_shuffle_and_repeat_opts *opts)
{
    const hr_shuffle_and_repeat_opts o = HR_OPTIONS(hr_shuffle_and_repeat_opts, opts);
    hr_dataset *shuffled = hr_shuffle(in, buffer_size, .seed = o.seed);
    const repeat_spec spec = {.count = o.count ? o.count : -1, .strict = true, .extendable = o.extendable};
    return hr_dataset_new(&hr_op_repeat, &spec, &shuffled, 1);
}
