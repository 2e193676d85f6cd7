/* pad_to_cardinality: elements of zeros after the last one, up to so many, and a component that says which are real. It
 * is a concatenation, as in TensorFlow: work here marks the elements, and a source makes the others. */
#include <headrace/data.h>
#include <headrace/op_functions.h>
#include <inttypes.h>

static const char default_key[] = "valid";

static hr_status add_mask(const hr_schema *schema, const char *key, hr_schema_builder *out, hr_error *err)
{
    HR_TRY(hr_schema_set(out, schema, err));
    return hr_schema_add(out, (hr_field){.name = key, .dtype = HR_BOOL}, err);
}

/* ---- the elements that are there ---- */

typedef struct pad_spec {
    const char *key; /* borrowed until spec_copy */
    int64_t cardinality, have;
} pad_spec;

static hr_status pad_copy(void *spec, hr_error *err)
{
    pad_spec *sp = spec;
    sp->key = hr_strdup(sp->key);
    return sp->key ? HR_OK : hr_no_memory(err, "pad_to_cardinality");
}

static void pad_free(void *spec) { hr_free((char *)(uintptr_t)((pad_spec *)spec)->key); }

static hr_status pad_check(const void *spec, const hr_schema *const *in, hr_schema_builder *out, hr_error *err)
{
    const pad_spec *sp = spec;
    if (sp->have < 0 || sp->have > sp->cardinality)
        return hr_fail(err, HR_INVALID_ARGUMENT, "pad_to_cardinality.cardinality",
                       "pad_to_cardinality: expected a dataset of a known number of elements, at most %" PRId64
                       ", got %" PRId64 " (-1: infinite, -2: unknown); hr_assert_cardinality makes it known",
                       sp->cardinality, sp->have);
    if (in[0]->levels > 0)
        return hr_fail(err, HR_INVALID_ARGUMENT, "pad_to_cardinality.batched",
                       "pad_to_cardinality: expected single elements, got batches; pad before batch");
    HR_TRY(hr_builder_check("pad_to_cardinality", "pad_to_cardinality.shape", in[0], err));
    return add_mask(in[0], sp->key, out, err);
}

static hr_status pad_work(const void *spec, const void *unit, hr_work *w, hr_columns *rows, hr_error *err)
{
    (void)spec, (void)unit;
    hr_columns before;
    HR_TRY(hr_new_columns(w, rows, &before, err));
    const int mask = rows->schema->fields - 1;
    for (int i = 0; i < mask; i++) rows->column[i] = before.column[i];
    memset(rows->column[mask].values, true, (size_t)rows->rows);
    return HR_OK;
}

static void pad_identity(const void *spec, uint64_t *sum)
{
    hr_identify_i64(sum, ((const pad_spec *)spec)->cardinality);
}

static void pad_describe(const void *spec, hr_description *to)
{
    hr_describe_number(to, NULL, ((const pad_spec *)spec)->cardinality);
}

const hr_op hr_op_pad_to_cardinality = {
    .head = HR_OP_HEAD,
    .name = "pad_to_cardinality",
    .spec_size = sizeof(pad_spec),
    .traits = HR_ROW_BY_ROW,
    .spec_copy = pad_copy,
    .spec_free = pad_free,
    .check = pad_check,
    .work = pad_work,
    .identity = pad_identity,
    .describe = pad_describe,
};

/* ---- the others ---- */

typedef struct filler_spec {
    const hr_schema *schema; /* borrowed: read in check only */
    int64_t count;
} filler_spec;

typedef struct filler_state {
    int64_t given; /* saved */
} filler_state;

static hr_status filler_check(const void *spec, const hr_schema *const *in, hr_schema_builder *out, hr_error *err)
{
    (void)in;
    return hr_schema_set(out, ((const filler_spec *)spec)->schema, err);
}

static hr_status filler_plan(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    filler_state *st = state;
    const int64_t left = ((const filler_spec *)spec)->count - st->given, count = left < hr_room(p) ? left : hr_room(p);
    if (left <= 0) return HR_END;
    hr_columns *rows = hr_unit_rows(p, count);
    if (!rows) return hr_no_memory(err, "pad_to_cardinality");
    hr_builder out = hr_builder_for_plan(p, rows, 0, count);
    hr_builder_zero(rows, 0, count);
    hr_builder_begin(&out);
    rows->origin = NULL;
    rows->rows = count;
    st->given += count;
    return HR_OK;
}

static int64_t filler_cardinality(const void *spec, const int64_t *in)
{
    (void)in;
    return ((const filler_spec *)spec)->count;
}

static hr_status filler_at(const void *spec, void *state, int64_t index, const int64_t *have, int64_t *in)
{
    (void)have, (void)in;
    const int64_t count = ((const filler_spec *)spec)->count;
    ((filler_state *)state)->given = index < count ? index : count;
    return HR_OK;
}

static const hr_op filler = {
    .head = HR_OP_HEAD,
    .name = "pad_to_cardinality_filler",
    .spec_size = sizeof(filler_spec),
    .state_size = sizeof(filler_state),
    .saved = 1, /* given */
    .check = filler_check,
    .plan = filler_plan,
    .cardinality = filler_cardinality,
    .at = filler_at,
};

hr_dataset *hr_pad_to_cardinality_with(hr_dataset *in, int64_t cardinality, const hr_pad_to_cardinality_opts *opts)
{
    const hr_pad_to_cardinality_opts o = HR_OPTIONS(hr_pad_to_cardinality_opts, opts);
    const pad_spec spec = {
        .key = o.mask_key ? o.mask_key : default_key, .cardinality = cardinality, .have = hr_cardinality(in)};
    hr_dataset *marked = hr_dataset_new(&hr_op_pad_to_cardinality, &spec, &in, 1);
    if (hr_dataset_error(marked)) return marked;
    const filler_spec rest = {hr_dataset_schema(marked), cardinality - spec.have};
    return hr_concatenate(marked, hr_dataset_new(&filler, &rest, NULL, 0));
}
