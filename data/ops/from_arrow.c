/* from_arrow: rows of Arrow arrays in memory. Without a spec the columns come as they are: numbers and strings one a
 * row, lists ragged. With a parsing spec they come as parse_example would give them, missing values filled in, so that
 * they go through the same feature columns.
 *
 * Plan counts rows, work copies them. The arrays are released with the dataset. */
#include "data/arrow/arrow_rows.h"

typedef struct arrow_spec {
    hr__arrow_table table;
    hr__arrow_batch batch;
    const hr_parse_spec *features; /* the caller's; NULL once the components are made */
    const char *label;             /* the same */
    bool *taken;                   /* of the constructor: the dataset has the arrays now */
} arrow_spec;

typedef struct arrow_state {
    int64_t given; /* saved */
} arrow_state;

typedef struct arrow_unit {
    int64_t first;
} arrow_unit;

static void arrow_free(void *spec)
{
    arrow_spec *s = spec;
    hr__arrow_batch_clear(&s->batch);
    hr__arrow_table_clear(&s->table);
}

static hr_status arrow_copy(void *spec, hr_error *err)
{
    arrow_spec *s = spec;
    *s->taken = true;
    s->taken = NULL;
    HR_TRY(hr__arrow_table_open(&s->table, s->features, s->label, err));
    s->features = NULL;
    s->label = NULL;
    return hr__arrow_batch_open(&s->table, &s->batch, err);
}

static hr_status arrow_check(const void *spec, const hr_schema *const *in, hr_schema_builder *out, hr_error *err)
{
    (void)in;
    return hr__arrow_table_fields(&((const arrow_spec *)spec)->table, out, err);
}

static hr_status arrow_plan(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    const arrow_spec *s = spec;
    arrow_state *st = state;
    const int64_t left = s->batch.array.length - st->given;
    if (left <= 0) return HR_END;
    const int64_t count = left < hr_room(p) ? left : hr_room(p);
    hr_columns *rows = hr_unit_rows(p, count);
    if (!rows) return hr_no_memory(err, "from_arrow");
    rows->origin = NULL;
    rows->rows = count;
    ((arrow_unit *)hr_unit(p))->first = st->given;
    st->given += count;
    return HR_OK;
}

static hr_status arrow_work(const void *spec, const void *unit, hr_work *w, hr_columns *rows, hr_error *err)
{
    const arrow_spec *s = spec;
    return hr__arrow_fill(&s->table, &s->batch, ((const arrow_unit *)unit)->first, w, rows, err);
}

static hr_status arrow_load(const void *spec, void *state, hr_token_reader *token, hr_error *err)
{
    (void)token;
    const int64_t length = ((const arrow_spec *)spec)->batch.array.length;
    return hr_saved_between("from_arrow", ((const arrow_state *)state)->given, 0, length, err);
}

static void arrow_identity(const void *spec, uint64_t *sum)
{
    const arrow_spec *s = spec;
    hr_identify_i64(sum, s->batch.array.length);
    hr__arrow_table_identity(&s->table, sum);
}

static void arrow_describe(const void *spec, hr_description *to)
{
    hr__arrow_table_describe(&((const arrow_spec *)spec)->table, to);
}

static int64_t arrow_cardinality(const void *spec, const int64_t *in)
{
    (void)in;
    return ((const arrow_spec *)spec)->batch.array.length;
}

static hr_status arrow_at(const void *spec, void *state, int64_t index, const int64_t *have, int64_t *in)
{
    (void)have, (void)in;
    const int64_t count = ((const arrow_spec *)spec)->batch.array.length;
    ((arrow_state *)state)->given = index < count ? index : count;
    return HR_OK;
}

const hr_op hr_op_from_arrow = {
    .head = HR_OP_HEAD,
    .name = "from_arrow",
    .spec_size = sizeof(arrow_spec),
    .state_size = sizeof(arrow_state),
    .unit_size = sizeof(arrow_unit),
    .saved = 1, /* given */
    .spec_copy = arrow_copy,
    .spec_free = arrow_free,
    .check = arrow_check,
    .plan = arrow_plan,
    .work = arrow_work,
    .load = arrow_load,
    .identity = arrow_identity,
    .cardinality = arrow_cardinality,
    .describe = arrow_describe,
    .at = arrow_at,
};

hr_dataset *hr_from_arrow_with(struct ArrowArray *array, struct ArrowSchema *schema, const hr_from_arrow_opts *opts)
{
    const hr_from_arrow_opts o = HR_OPTIONS(hr_from_arrow_opts, opts);
    bool taken = false;
    arrow_spec spec = {.table.who = "from_arrow", .features = o.spec, .label = o.label, .taken = &taken};
    if (array) spec.batch.array = *array;
    if (schema) spec.table.schema = *schema;
    if (array) array->release = NULL; /* moved, as the interface has it */
    if (schema) schema->release = NULL;
    hr_dataset *ds = hr_dataset_new(&hr_op_from_arrow, &spec, NULL, 0);
    if (!taken) arrow_free(&spec);
    return ds;
}
