/* batch: makes each run of `batch_size` elements one element of the next level. Moves no byte: it only says where
 * elements end; the rows are gathered in the work that follows. */
#include <headrace/data.h>
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
        hr_span span;
        hr_status got = hr_pull(p, 0, sp->size - st->filled, &span);
        if (got == HR_END && st->filled > 0 && !sp->drop_remainder) close_batch(st, p);
        if (got != HR_OK) return got;

        st->filled += span.count;
        hr_emit(p, span);
        if (st->filled == sp->size) close_batch(st, p);
    }
    return HR_OK;
}

static int32_t length(const hr_columns *c, int level, int32_t i)
{
    return c->splits[level][i + 1] - c->splits[level][i];
}

/* The first element whose parts are not all of one size; all of `first`..`end` at `level` should be `size` long. */
static bool same_lengths(const hr_columns *c, int level, int32_t first, int32_t end)
{
    for (int32_t i = first; i + 1 < end; i++)
        if (length(c, level, i) != length(c, level, i + 1)) return false;
    return true;
}

static bool is_rectangular(const hr_columns *c, int64_t element)
{
    int32_t first = c->splits[0][element], end = c->splits[0][element + 1];
    for (int l = 1; l < c->levels; l++) {
        if (!same_lengths(c, l, first, end)) return false;
        first = c->splits[l][first];
        end = c->splits[l][end];
    }
    return true;
}

/* A batch of batches is a tensor only if those are equally large. */
static hr_status batch_work(const void *spec, const void *unit, hr_work *w, hr_columns *rows, hr_error *err)
{
    (void)spec, (void)unit, (void)err;
    for (int64_t e = 0; rows->levels > 1 && e < rows->elements; e++) {
        if (is_rectangular(rows, e)) continue;
        hr_error uneven;
        hr_fail(&uneven, HR_INVALID_ARGUMENT, "batch.uneven",
                "batch: expected batches of one size in a batch of them, got a shorter one; set .drop_remainder on the "
                "batch below");
        hr_fail_at(w, rows, hr_first_row(rows, e), &uneven);
    }
    return HR_OK;
}

static void batch_identity(const void *spec, uint64_t *sum)
{
    const batch_spec *sp = spec;
    hr_identify_i64(sum, sp->size);
    hr_identify_i64(sum, sp->drop_remainder);
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
};

hr_dataset *hr_batch_with(hr_dataset *in, int64_t batch_size, const hr_batch_opts *opts)
{
    batch_spec spec = {.size = batch_size, .drop_remainder = opts && opts->drop_remainder};
    return hr_dataset_new(&hr_op_batch, &spec, &in, 1);
}
