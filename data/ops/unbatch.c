/* unbatch: makes the parts of each batch elements again. Moves no byte: it drops the outermost level of splits, so what
 * a batch holds, dense, ragged or sparse, does not matter.
 *
 * rebatch is batch over unbatch: a function, no operator of its own. */
#include <headrace/data.h>
#include <string.h>

static hr_status unbatch_check(const void *spec, const hr_schema *const *in, hr_schema_builder *out, hr_error *err)
{
    (void)spec;
    hr_schema parts = *in[0];
    if (parts.levels-- > 0) return hr_schema_set(out, &parts, err);
    for (int i = 0; i < parts.fields; i++)
        if (parts.field[i].shape.rank == 0 && parts.field[i].layout == HR_DENSE)
            return hr_fail(err, HR_INVALID_ARGUMENT, "unbatch.scalar",
                           "unbatch: component '%.60s': expected batches, got a scalar; put a batch below",
                           parts.field[i].name);
    return hr_fail(err, HR_UNIMPLEMENTED, "unbatch.rows",
                   "unbatch: expected batches that a batch below has made, got single elements; hr_from_tensor_slices "
                   "takes tensors apart");
}

static hr_status unbatch_work(const void *spec, const void *unit, hr_work *w, hr_columns *rows, hr_error *err)
{
    (void)spec, (void)unit, (void)w, (void)err;
    rows->elements = rows->splits[0][rows->elements];
    rows->levels--;
    memmove(rows->splits, rows->splits + 1, (size_t)rows->levels * sizeof *rows->splits);
    return HR_OK;
}

const hr_op hr_op_unbatch = {
    .head = HR_OP_HEAD,
    .name = "unbatch",
    .check = unbatch_check,
    .work = unbatch_work,
};

hr_dataset *hr_unbatch(hr_dataset *in) { return hr_dataset_new(&hr_op_unbatch, NULL, &in, 1); }

hr_dataset *hr_rebatch_with(hr_dataset *in, int64_t batch_size, const hr_batch_opts *opts)
{
    return hr_batch_with(hr_unbatch(in), batch_size, opts);
}
