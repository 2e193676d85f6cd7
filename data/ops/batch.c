/* batch: makes each run of `batch_size` elements one element of the next level. Moves no byte: it only says where
 * elements end; the rows are gathered in the work that follows. */
#include "data/batches.h"
#include <inttypes.h>

typedef struct batch_spec {
    int64_t size;
    bool drop_remainder;
} batch_spec;

/* A unit ends with a closed element, so between units there is nothing to save. */
typedef struct batch_state {
    int64_t filled;
} batch_state;

static hr_status batch_check(const void *spec, const hr_schema *const *in, hr_schema_builder *out, hr_error *err)
{
    (void)in;
    const batch_spec *sp = spec;
    if (sp->size < 1)
        return hr_fail(err, HR_INVALID_ARGUMENT, "batch.size",
                       "batch: expected batch_size > 0, got %" PRId64 "; give the number of elements of a batch",
                       sp->size);
    hr_schema_add_level(out);
    return HR_OK;
}

static void close_batch(batch_state *st, hr_plan *p)
{
    hr_close_element(p);
    st->filled = 0;
}

static hr_status batch_plan(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    (void)err;
    const batch_spec *sp = spec;
    batch_state *st = state;
    while (hr_room(p) > 0) {
        int64_t passed = 0;
        const hr_status got = hr_pass(p, 0, sp->size - st->filled, &passed);
        if (got == HR_END && st->filled > 0 && !sp->drop_remainder) close_batch(st, p);
        if (got != HR_OK) return got;

        st->filled += passed;
        if (st->filled == sp->size) close_batch(st, p);
    }
    return HR_OK;
}

static hr_status batch_work(const void *spec, const void *unit, hr_work *w, hr_columns *rows, hr_error *err)
{
    (void)spec, (void)unit, (void)err;
    hr__batches_check("batch", w, rows);
    return HR_OK;
}

static void batch_identity(const void *spec, uint64_t *sum)
{
    const batch_spec *sp = spec;
    hr_identify_i64(sum, sp->size);
    hr_identify_i64(sum, sp->drop_remainder);
}

static int64_t batch_cardinality(const void *spec, const int64_t *in)
{
    const batch_spec *sp = spec;
    if (in[0] < 0) return in[0];
    return in[0] / sp->size + (!sp->drop_remainder && in[0] % sp->size != 0);
}

const hr_op hr_op_batch = {
    .head = HR_OP_HEAD,
    .name = "batch",
    .spec_size = sizeof(batch_spec),
    .state_size = sizeof(batch_state),
    .traits = HR_GROUPS_ROWS,
    .check = batch_check,
    .plan = batch_plan,
    .work = batch_work,
    .identity = batch_identity,
    .cardinality = batch_cardinality,
};

hr_dataset *hr_batch_with(hr_dataset *in, int64_t batch_size, const hr_batch_opts *opts)
{
    batch_spec spec = {.size = batch_size, .drop_remainder = opts && opts->drop_remainder};
    return hr_dataset_new(&hr_op_batch, &spec, &in, 1);
}
