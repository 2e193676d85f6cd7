/* A case's records through batch and parse_example, as one batch. */
#include "tests/feature_columns/parse_case.h"

#include <headrace/data.h>

#include <stdlib.h>

static hr_status copy_components(case_columns *cc, const hr_element *e, hr_error *err)
{
    const hr_schema *schema = hr_element_schema(e);
    for (int i = 0; i < schema->fields; i++) {
        cc->name[i] = schema->field[i].name;
        cc->feature[i] = *hr_get_at(e, i);
        cc->features = i + 1;
        HR_TRY(case_columns_values(cc, i, err));
    }
    return HR_OK;
}

static hr_dataset *records(case_columns *cc, const cJSON *serialized)
{
    const int count = cJSON_GetArraySize(serialized);
    hr_view *views = case_memory(cc, (size_t)count * sizeof *views);
    const cJSON *text;
    int i = 0;
    cJSON_ArrayForEach(text, serialized) views[i++] = golden_hex(text);
    hr_tensor tensor = hr_tensor_of(HR_STRING, HR_SHAPE(count), views);
    hr_dataset *ds = hr_batch(hr_from_tensor_slices(&tensor, NULL, 1), count);
    for (i = 0; i < count; i++) free((void *)(uintptr_t)views[i].data);
    return ds;
}

/* A wrong record comes out after the good ones before it: the pass that looks for it is one of its own. */
static hr_status check_records(hr_dataset *ds, hr_error *err)
{
    hr_iterator *it = hr_iterate(ds, .workers = (const int[]){0});
    const hr_element *e;
    hr_status st;
    while ((st = hr_next(it, &e)) == HR_OK) continue;
    if (st != HR_END) *err = *hr_iterator_error(it);
    hr_iterator_free(it);
    return st == HR_END ? HR_OK : st;
}

hr_status parse_case(case_columns *cc, const cJSON *serialized, const hr_parse_spec *spec, hr_error *err)
{
    hr_dataset *ds = hr_parse_example(records(cc, serialized), spec, .tf_compat = cc->tf_compat);
    const hr_element *e;
    hr_status st = check_records(hr_dataset_ref(ds), err);
    cc->iterator = hr_iterate(ds, .workers = (const int[]){0});
    if (st == HR_OK) st = hr_next(cc->iterator, &e);
    return st == HR_OK ? copy_components(cc, e, err) : st;
}
