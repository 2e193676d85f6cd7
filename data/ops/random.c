/* random: numbers from 0 to 2^32 - 1 without an end. Number i follows from (seed, epoch, i) alone. */
#include <headrace/data.h>

typedef struct random_spec {
    uint64_t seed;
    bool same_each_epoch;
} random_spec;

typedef struct random_state {
    int64_t given; /* saved */
    uint64_t key;
} random_state;

static hr_status random_check(const void *spec, const hr_schema *const *in, hr_schema_builder *out, hr_error *err)
{
    (void)spec, (void)in;
    return hr_schema_set(out, &hr_int64_schema, err);
}

static hr_status random_open(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    (void)err;
    const random_spec *sp = spec;
    ((random_state *)state)->key = hr_plan_key(p, sp->seed, sp->same_each_epoch);
    return HR_OK;
}

static hr_status random_plan(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    (void)spec;
    random_state *st = state;
    const int64_t count = hr_room(p);
    hr_columns *rows = hr_unit_rows(p, count);
    if (!rows) return hr_no_memory(err, "random");
    int64_t *value = rows->column[0].values;
    for (int64_t i = 0; i < count; i++) value[i] = (int64_t)(hr_random(st->key, (uint64_t)st->given++) >> 32);
    rows->origin = NULL;
    rows->rows = count;
    return HR_OK;
}

static void random_identity(const void *spec, uint64_t *sum)
{
    const random_spec *sp = spec;
    hr_identify_i64(sum, (int64_t)sp->seed);
    hr_identify_i64(sum, sp->same_each_epoch);
}

static int64_t random_cardinality(const void *spec, const int64_t *in)
{
    (void)spec, (void)in;
    return HR_INFINITE_CARDINALITY;
}

static void random_describe(const void *spec, hr_description *to)
{
    const random_spec *sp = spec;
    hr_describe_seed(to, sp->seed, sp->same_each_epoch);
}

const hr_op hr_op_random = {
    .head = HR_OP_HEAD,
    .name = "random",
    .spec_size = sizeof(random_spec),
    .state_size = sizeof(random_state),
    .saved = 1, /* given */
    .check = random_check,
    .open = random_open,
    .plan = random_plan,
    .identity = random_identity,
    .cardinality = random_cardinality,
    .describe = random_describe,
};

hr_dataset *hr_random_dataset_with(const hr_random_dataset_opts *opts)
{
    const hr_random_dataset_opts o = HR_OPTIONS(hr_random_dataset_opts, opts);
    const random_spec spec = {.seed = o.seed, .same_each_epoch = o.same_each_epoch};
    return hr_dataset_new(&hr_op_random, &spec, NULL, 0);
}
