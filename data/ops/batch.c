/* batch: makes each run of `batch_size` elements one element of the next level. Moves no byte: it only says where
 * elements end; the rows are gathered in the work that follows. */
#include "base/constructor.h"
#include "data/batches.h"
#include "data/dataset.h"
#include <headrace/data.h>
#include <inttypes.h>

typedef struct batch_spec {
    int64_t size, parallel_calls;
    bool drop_remainder, unordered;
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
    HR_TRY(hr__parallel_calls_check("batch", sp->parallel_calls, INT64_MAX, err));
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

static void batch_settings(const void *spec, hr_settings *below)
{
    below->stage_unordered |= ((const batch_spec *)spec)->unordered;
}

static void batch_describe(const void *spec, hr_description *to)
{
    const batch_spec *sp = spec;
    hr_describe_number(to, NULL, sp->size);
    hr_describe_flag(to, "drop_remainder", sp->drop_remainder);
    hr_describe_flag(to, "unordered", sp->unordered);
}

const hr_op hr_op_batch = {
    .head = HR_OP_HEAD,
    .name = "batch",
    .spec_size = sizeof(batch_spec),
    .state_size = sizeof(batch_state),
    .traits = HR_GROUPS_ROWS | HR_MOVES_SPANS,
    .check = batch_check,
    .plan = batch_plan,
    .work = batch_work,
    .identity = batch_identity,
    .cardinality = batch_cardinality,
    .settings = batch_settings,
    .describe = batch_describe,
};

hr_dataset *hr_batch_with(hr_dataset *in, int64_t batch_size, const hr_batch_opts *opts)
{
    const hr_batch_opts o = HR__OPTIONS(hr_batch_opts, opts);
    const batch_spec spec = {.size = batch_size,
                             .drop_remainder = o.drop_remainder,
                             .unordered = o.unordered,
                             .parallel_calls = o.num_parallel_calls};
    return hr_dataset_new(&hr_op_batch, &spec, &in, 1);
}
