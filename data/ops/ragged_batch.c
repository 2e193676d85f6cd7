/* ragged_batch: a batch of rows that may differ in length, as a ragged tensor. The values stay where they are: rows are
 * declared ragged, and a batch is put on top. */
#include <headrace/data.h>

static hr_status ragged_check(const void *spec, const hr_schema *const *in, hr_schema_builder *out, hr_error *err)
{
    (void)spec;
    hr_schema_clear(out);
    for (int i = 0; i < in[0]->fields; i++) {
        hr_field field = in[0]->field[i];
        if (field.layout == HR_DENSE && !hr_field_fixed(&field)) field.layout = HR_RAGGED;
        HR_TRY(hr_schema_add(out, field, err));
    }
    return HR_OK;
}

static hr_status ragged_work(const void *spec, const void *unit, hr_work *w, hr_columns *rows, hr_error *err)
{
    (void)spec, (void)unit, (void)err;
    hr_adopt_schema(w, rows);
    return HR_OK;
}

const hr_op hr_op_ragged_batch = {
    .head = HR_OP_HEAD,
    .name = "ragged_batch",
    .traits = HR_ROW_BY_ROW,
    .check = ragged_check,
    .work = ragged_work,
};

hr_dataset *hr_ragged_batch_with(hr_dataset *in, int64_t batch_size, const hr_batch_opts *opts)
{
    return hr_batch_with(hr_dataset_new(&hr_op_ragged_batch, NULL, &in, 1), batch_size, opts);
}
