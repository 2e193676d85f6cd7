/* zip: the n-th elements of all inputs side by side, as components of one; ends with the shortest. The rows are put
 * together by the engine where the unit is gathered.
 *
 * enumerate is zip with a range: a function, no operator of its own. */
#include <headrace/data.h>
#include <stdio.h>
#include <string.h>

typedef struct zip_spec {
    int inputs;
} zip_spec;

/* The lone component of input i is "i", another one "i/name". */
static hr_status zip_add_field(hr_schema_builder *out, int input, const hr_schema *from, int i, hr_error *err)
{
    char name[512];
    hr_field field = from->field[i];
    const bool lone = from->fields == 1 && strcmp(field.name, "value") == 0;
    const int size =
        lone ? snprintf(name, sizeof name, "%d", input) : snprintf(name, sizeof name, "%d/%s", input, field.name);
    if (size >= (int)sizeof name)
        return hr_fail(err, HR_INVALID_ARGUMENT, "zip.name", "zip: expected component names of at most 500 bytes");
    field.name = name;
    return hr_schema_add(out, field, err);
}

static hr_status zip_check(const void *spec, const hr_schema *const *in, hr_schema_builder *out, hr_error *err)
{
    if (((const zip_spec *)spec)->inputs < 1)
        return hr_fail(err, HR_INVALID_ARGUMENT, "zip.inputs", "zip: expected at least one dataset, got none");
    hr_schema_clear(out);
    for (int n = 0; in[n]; n++) {
        if (in[n]->levels != in[0]->levels)
            return hr_fail(err, HR_UNIMPLEMENTED, "zip.levels",
                           "zip: dataset %d has %d batches on top of each other, dataset 0 has %d; batch after zip", n,
                           in[n]->levels, in[0]->levels);
        for (int i = 0; i < in[n]->fields; i++) HR_TRY(zip_add_field(out, n, in[n], i, err));
    }
    return HR_OK;
}

static hr_status zip_plan(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    (void)spec, (void)state, (void)err;
    while (hr_room(p) > 0) {
        hr_span part[HR_MAX_INPUTS];
        HR_TRY(hr_pull_all(p, hr_room(p), part));
        hr_emit_all(p, part);
    }
    return HR_OK;
}

static int64_t zip_cardinality(const void *spec, const int64_t *in)
{
    int64_t shortest = HR_INFINITE_CARDINALITY;
    for (int i = 0; i < ((const zip_spec *)spec)->inputs; i++) {
        if (in[i] == HR_UNKNOWN_CARDINALITY) return HR_UNKNOWN_CARDINALITY;
        if (in[i] >= 0 && (shortest < 0 || in[i] < shortest)) shortest = in[i];
    }
    return shortest;
}

static void zip_describe(const void *spec, hr_description *to)
{
    const zip_spec *sp = spec;
    hr_describe_number(to, "datasets", sp->inputs);
}

static hr_status zip_at(const void *spec, void *state, int64_t index, const int64_t *have, int64_t *in)
{
    (void)state, (void)have;
    for (int i = 0; i < ((const zip_spec *)spec)->inputs; i++) in[i] = index;
    return HR_OK;
}

const hr_op hr_op_zip = {
    .head = HR_OP_HEAD,
    .name = "zip",
    .spec_size = sizeof(zip_spec),
    .traits = HR_JOINS_ROWS,
    .check = zip_check,
    .plan = zip_plan,
    .cardinality = zip_cardinality,
    .describe = zip_describe,
    .at = zip_at,
};

hr_dataset *hr_zip(hr_dataset *const *in, int inputs)
{
    return hr_dataset_new(&hr_op_zip, &(zip_spec){inputs}, in, inputs > 0 ? inputs : 0);
}

hr_dataset *hr_enumerate_with(hr_dataset *in, const hr_enumerate_opts *opts)
{
    const hr_enumerate_opts o = HR_OPTIONS(hr_enumerate_opts, opts);
    hr_dataset *numbers = hr_range(INT64_MAX, .start = o.start);
    return hr_zip((hr_dataset *[]){numbers, in}, 2);
}
