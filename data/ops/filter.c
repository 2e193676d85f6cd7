/* filter: keeps the elements for which the user's function says true. After a batch an element is the whole batch, and
 * goes or stays whole. */
#include <headrace/data.h>
#include <headrace/op_functions.h>
#include <string.h>

typedef struct filter_spec {
    hr_user user; /* first */
    hr_filter_fn *fn;
    hr_filter_rows_fn *rows_fn; /* in its place: asked about many elements at once, which are single rows */
    uint64_t seed;
} filter_spec;

static hr_status filter_check(const void *spec, const hr_schema *const *in, hr_schema_builder *out, hr_error *err)
{
    (void)out;
    const filter_spec *sp = spec;
    if (!sp->fn && !sp->rows_fn)
        return hr_fail(err, HR_INVALID_ARGUMENT, "filter.fn", "filter: expected a function, got NULL");
    if (sp->fn || in[0]->levels == 0) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "filter.batched",
                   "filter_rows: expected single elements, got batches; filter before batch");
}

static bool is_set(const uint64_t *bits, int64_t i) { return bits[i / 64] >> i % 64 & 1; }
static void filter_set(uint64_t *bits, int64_t i) { bits[i / 64] |= UINT64_C(1) << i % 64; }
static int64_t words_for(int64_t bits) { return (bits + 63) / 64; }

/* Asks the function about every element. */
static hr_status filter_ask(const filter_spec *sp, hr_work *w, const hr_columns *rows, uint64_t *keep, hr_error *err)
{
    for (int64_t i = 0; i < rows->elements; i++) {
        if (hr_work_cancelled(w)) return hr_fail(err, HR_CANCELLED, "cancelled", "filter: cancelled");
        const hr_element *element = hr_work_element(w, rows, i);
        if (!element) return hr_no_memory(err, "filter: an element");
        if (sp->fn(element, sp->user.data)) filter_set(keep, i);
    }
    return HR_OK;
}

static hr_status ask_rows(const filter_spec *sp, hr_work *w, hr_columns *rows, uint64_t *keep, hr_error *err)
{
    const hr_element *in = hr_work_rows(w, rows);
    bool *answer = hr_row_bytes(w, rows, (size_t)rows->rows + 1);
    if (!in || !answer) return hr_no_memory(err, "filter: an answer a row");
    memset(answer, 0, (size_t)rows->rows);
    hr_call call;
    hr_call_for_row(&call, "filter.fn", w, rows, -1, sp->seed);
    const int64_t count = rows->rows;
    sp->rows_fn(in, answer, &call, sp->user.data);
    for (int64_t r = 0; r < count; r++)
        if (answer[r]) filter_set(keep, r);
    return HR_OK;
}

/* ---- batches: what is kept of a level follows from what is kept of the one above ---- */

/* Moves the kept runs together; returns how many there are. */
static int64_t close_gaps(int32_t *splits, int64_t count, const uint64_t *keep)
{
    int64_t kept = 0;
    int32_t end = 0, first = splits[0];
    for (int64_t i = 0; i < count; i++) {
        const int32_t next = splits[i + 1];
        if (is_set(keep, i)) splits[kept++] = end, end += next - first;
        first = next;
    }
    splits[kept] = end;
    return kept;
}

/* Two sets of bits take turns: those of a level and those of the level below. hr_keep_rows knows rows only, so for its
 * call every row is an element. */
static hr_status keep_batches(hr_work *w, hr_columns *rows, uint64_t *bits, int64_t words, hr_error *err)
{
    uint64_t *keep = bits, *below = bits + words;
    const int levels = rows->levels;
    int64_t count = rows->elements, kept[HR_MAX_LEVELS] = {0};
    for (int l = 0; l < levels; l++) {
        int32_t *splits = rows->splits[l];
        const int64_t next = splits[count];
        memset(below, 0, (size_t)words * sizeof *below);
        for (int64_t i = 0; i < count; i++)
            for (int32_t k = splits[i]; is_set(keep, i) && k < splits[i + 1]; k++) filter_set(below, k);
        kept[l] = close_gaps(splits, count, keep);
        count = next;
        uint64_t *swap = keep;
        keep = below, below = swap;
    }
    const int32_t *outermost = rows->splits[0];
    rows->levels = 0;
    rows->elements = rows->rows;
    HR_TRY(hr_keep_rows(w, rows, keep, err));
    if (rows->splits[0] == outermost) {
        rows->levels = levels;
        rows->elements = kept[0];
        return HR_OK;
    }
    return hr_fail(err, HR_UNIMPLEMENTED, "filter.batched",
                   "filter: cannot drop whole batches of ragged, sparse or missing values; filter before batch");
}

static int64_t max_bits(const hr_columns *rows)
{
    int64_t max = rows->elements > rows->rows ? rows->elements : rows->rows, count = rows->elements;
    for (int l = 0; l < rows->levels; l++) {
        count = rows->splits[l][count];
        if (count > max) max = count;
    }
    return max;
}

static hr_status filter_work(const void *spec, const void *unit, hr_work *w, hr_columns *rows, hr_error *err)
{
    (void)unit;
    const int64_t words = words_for(max_bits(rows)) + 1; /* never no memory at all */
    uint64_t *bits = hr_scratch(w, (size_t)words * 2 * sizeof *bits);
    if (!bits) return hr_no_memory(err, "filter: a bit a row");
    memset(bits, 0, (size_t)words * sizeof *bits);
    const filter_spec *sp = spec;
    HR_TRY(sp->fn ? filter_ask(sp, w, rows, bits, err) : ask_rows(sp, w, rows, bits, err));
    return rows->levels ? keep_batches(w, rows, bits, words, err) : hr_keep_rows(w, rows, bits, err);
}

static void filter_describe(const void *spec, hr_description *to)
{
    const filter_spec *sp = spec;
    hr_describe_flag(to, "rows", sp->rows_fn != NULL);
    hr_describe_seed(to, sp->seed, false);
}

const hr_op hr_op_filter = {
    .head = HR_OP_HEAD,
    .name = "filter",
    .spec_size = sizeof(filter_spec),
    .spec_copy = hr_user_copy,
    .spec_free = hr_user_free,
    .check = filter_check,
    .work = filter_work,
    .describe = filter_describe,
};

hr_dataset *hr_filter_with(hr_dataset *in, hr_filter_fn *fn, void *user, const hr_filter_opts *opts)
{
    const hr_filter_opts o = HR_OPTIONS(hr_filter_opts, opts);
    filter_spec spec = {.user = {.data = user, .free = o.user_free}, .fn = fn};
    return hr_user_dataset(&hr_op_filter, &spec, &spec.user, &in, 1);
}

static void filter_identity(const void *spec, uint64_t *sum)
{
    hr_identify_i64(sum, (int64_t)((const filter_spec *)spec)->seed);
}

/* Its rows have numbers to draw by, which hr_filter's need not. */
static const hr_op filter_rows_op = {
    .head = HR_OP_HEAD,
    .name = "filter",
    .spec_size = sizeof(filter_spec),
    .traits = HR_RANDOM_ROWS,
    .check = filter_check,
    .work = filter_work,
    .identity = filter_identity,
    .describe = filter_describe,
};

hr_dataset *hr_filter_rows_with(hr_dataset *in, hr_filter_rows_fn *fn, void *user, const hr_filter_rows_opts *opts)
{
    const hr_filter_rows_opts o = HR_OPTIONS(hr_filter_rows_opts, opts);
    return hr_dataset_new(&filter_rows_op, &(filter_spec){.user.data = user, .rows_fn = fn, .seed = o.seed}, &in, 1);
}
