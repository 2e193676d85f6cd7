/* shard: passes one element of `num_shards`, beginning with number `index`. Where it stands decides what is shared out:
 * over file names each worker opens its own files, over records each reads them all. */
#include <headrace/data.h>
#include <inttypes.h>

typedef struct shard_spec {
    int64_t num_shards, index;
} shard_spec;

typedef struct shard_state {
    int64_t seen; /* saved: number of the next input element, modulo num_shards */
} shard_state;

static hr_status shard_check(const void *spec, const hr_schema *const *in, hr_schema_builder *out, hr_error *err)
{
    (void)in, (void)out;
    const shard_spec *sp = spec;
    if (sp->num_shards < 1)
        return hr_fail(err, HR_INVALID_ARGUMENT, "shard.num_shards",
                       "shard: expected num_shards > 0, got %" PRId64 "; give the number of workers", sp->num_shards);
    if (sp->index < 0 || sp->index >= sp->num_shards)
        return hr_fail(err, HR_INVALID_ARGUMENT, "shard.index",
                       "shard: expected an index from 0 to %" PRId64 ", got %" PRId64
                       "; give this worker's number, counted from 0",
                       sp->num_shards - 1, sp->index);
    return HR_OK;
}

/* How many input elements hold the next `picks` of this shard, of which the first comes after `before` others. */
static int64_t elements_for(const shard_spec *sp, int64_t before, int64_t picks)
{
    const int64_t whole = INT32_MAX / sp->num_shards; /* more than a span holds need not be counted */
    return before + 1 + (picks - 1 < whole ? picks - 1 : whole) * sp->num_shards;
}

/* All that is at hand: of one shard alone. */
static hr_status pass_all(hr_plan *p)
{
    int64_t passed;
    while (hr_room(p) > 0) HR_TRY(hr_pass(p, 0, hr_room(p), &passed));
    return HR_OK;
}

static hr_status shard_plan(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    (void)err;
    const shard_spec *sp = spec;
    shard_state *st = state;
    const int64_t step = sp->num_shards < INT32_MAX ? sp->num_shards : INT32_MAX; /* as far as a span can reach */
    if (sp->num_shards == 1) return pass_all(p);
    while (hr_room(p) > 0) {
        hr_span span;
        const int64_t before = sp->index >= st->seen ? sp->index - st->seen : sp->num_shards - (st->seen - sp->index);
        HR_TRY(hr_pull(p, 0, elements_for(sp, before, hr_room(p)), &span));
        for (int64_t i = before; i < span.count; i += step) hr_emit(p, hr_span_share(span, (int32_t)i, 1));
        st->seen = (st->seen + span.count % sp->num_shards) % sp->num_shards;
        hr_span_drop(span);
    }
    return HR_OK;
}

static hr_status shard_load(const void *spec, void *state, hr_token_reader *token, hr_error *err)
{
    (void)token;
    const int64_t last = ((const shard_spec *)spec)->num_shards - 1;
    return hr_saved_between("shard", ((const shard_state *)state)->seen, 0, last, err);
}

static void shard_identity(const void *spec, uint64_t *sum)
{
    const shard_spec *sp = spec;
    hr_identify_i64(sum, sp->num_shards);
    hr_identify_i64(sum, sp->index);
}

static int64_t shard_cardinality(const void *spec, const int64_t *in)
{
    const shard_spec *sp = spec;
    return in[0] < 0 ? in[0] : in[0] / sp->num_shards + (sp->index < in[0] % sp->num_shards);
}

static void shard_describe(const void *spec, hr_description *to)
{
    const shard_spec *sp = spec;
    hr_describe_number(to, NULL, sp->num_shards);
    hr_describe_number(to, NULL, sp->index);
}

/* A whole round of all shards for each element before. */
static hr_status shard_at(const void *spec, void *state, int64_t index, const int64_t *have, int64_t *in)
{
    (void)state, (void)have;
    const int64_t shards = ((const shard_spec *)spec)->num_shards;
    in[0] = index < HR_LARGEST_COUNT / shards ? index * shards : HR_LARGEST_COUNT;
    return HR_OK;
}

const hr_op hr_op_shard = {
    .head = HR_OP_HEAD,
    .name = "shard",
    .spec_size = sizeof(shard_spec),
    .state_size = sizeof(shard_state),
    .saved = 1, /* seen */
    .traits = HR_MOVES_SPANS,
    .check = shard_check,
    .plan = shard_plan,
    .load = shard_load,
    .identity = shard_identity,
    .cardinality = shard_cardinality,
    .describe = shard_describe,
    .at = shard_at,
};

hr_dataset *hr_shard(hr_dataset *in, int64_t num_shards, int64_t index)
{
    return hr_dataset_new(&hr_op_shard, &(shard_spec){num_shards, index}, &in, 1);
}
