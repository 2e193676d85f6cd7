/* StringNGrams: of each row of words, all runs of so many neighbours as one text, with pads at both ends. */
#include <headrace/kernels.h>
#include <headrace/text_ops.h>

/* The attributes, and what is made. */
typedef struct ngrams {
    hr_kernel *k;
    const hr_view *word;
    hr_view separator, left, right;
    int64_t pad; /* below 0: as much as there is room for */
    bool keeps_short;
    const int64_t *width;
    int widths;
    hr_strings out;
} ngrams;

/* How far a run of so many words may reach over an end. */
static int64_t pads_of(const ngrams *n, int64_t width) { return n->pad < 0 || n->pad > width - 1 ? width - 1 : n->pad; }

static hr_status runs_of(const ngrams *n, int64_t words, int64_t width, int64_t *runs, hr_error *err)
{
    int64_t padded;
    HR_TRY(hr_dim_add(words, 2 * pads_of(n, width), &padded, err));
    *runs = padded - width + 1 > 0 ? padded - width + 1 : 0;
    return HR_OK;
}

static void add_pads(ngrams *n, hr_view pad, int64_t count, bool before)
{
    for (int64_t i = 0; i < count && !n->out.failed; i++) {
        if (!before) hr_strings_add(&n->out, n->separator);
        hr_strings_add(&n->out, pad);
        if (before) hr_strings_add(&n->out, n->separator);
    }
}

/* Run number `run` of `runs` of that width. */
static void add_run(ngrams *n, const hr_view *word, int64_t run, int64_t runs, int64_t width)
{
    const int64_t pads = pads_of(n, width);
    const int64_t left = pads - run > 0 ? pads - run : 0;
    const int64_t right = pads - (runs - run - 1) > 0 ? pads - (runs - run - 1) : 0;
    const int64_t words = width - left - right, first = left > 0 ? 0 : run - pads;
    if (words > 0) {
        add_pads(n, n->left, left, true);
        for (int64_t i = 0; i < words; i++) {
            if (i > 0) hr_strings_add(&n->out, n->separator);
            hr_strings_add(&n->out, word[first + i]);
        }
        add_pads(n, n->right, right, false);
    } else { /* pads alone: a separator less */
        add_pads(n, n->left, left, true);
        if (right > 0) hr_strings_add(&n->out, n->right);
        add_pads(n, n->right, right - 1, false);
    }
    hr_strings_end(&n->out);
}

static hr_status add_runs(ngrams *n, const hr_view *word, int64_t runs, int64_t width, hr_error *err)
{
    for (int64_t run = 0; run < runs; run++) {
        if (n->out.failed) return hr_no_memory(err, "strings");
        if (hr_kernel_cancelled(n->k)) return HR_OK;
        add_run(n, word, run, runs, width);
    }
    return HR_OK;
}

static hr_status add_row(ngrams *n, const hr_view *word, int64_t words, hr_error *err)
{
    const int64_t before = n->out.count;
    for (int i = 0; i < n->widths; i++) {
        int64_t runs;
        HR_TRY(runs_of(n, words, n->width[i], &runs, err));
        HR_TRY(add_runs(n, word, runs, n->width[i], err));
    }
    if (!n->keeps_short || words == 0 || n->out.count > before) return HR_OK;
    if (n->pad < 0)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.range",
                       "Pad width should be >= 0 when preserve_short_sequences is True and ngram_widths are not "
                       "provided, got %lld",
                       (long long)n->pad);
    int64_t width;
    HR_TRY(hr_dim_add(words, n->pad, &width, err));
    HR_TRY(hr_dim_add(width, n->pad, &width, err));
    return add_runs(n, word, 1, width, err);
}

static hr_status check_splits(const hr_tensor *splits, int64_t words, hr_error *err)
{
    const int64_t first = splits->count ? hr_int_at(splits, 0) : 0;
    if (first != 0)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.range", "First split value must be 0, got %lld",
                       (long long)first);
    int64_t last = 0;
    for (int64_t i = 1; i < splits->count; i++) {
        const int64_t split = hr_int_at(splits, i);
        if (split < last || split > words)
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.range", "Invalid split value %lld, must be in [%lld, %lld]",
                           (long long)split, (long long)last, (long long)words);
        last = split;
    }
    if (splits->count == 0 || last == words) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "graph.range",
                   "Last split value must be data size. Expected %lld, got %lld", (long long)words, (long long)last);
}

static hr_status add_rows(ngrams *n, const hr_tensor *splits, hr_tensor *out, hr_error *err)
{
    const bool any = n->word != NULL;
    if (splits->count) HR_TRY(hr_put_int(out, 0, 0, err));
    for (int64_t i = 1; i < splits->count; i++) {
        const int64_t from = hr_int_at(splits, i - 1), to = hr_int_at(splits, i);
        if (any) HR_TRY(add_row(n, n->word + from, to - from, err));
        HR_TRY(hr_put_int(out, i, n->out.count, err));
    }
    return HR_OK;
}

static hr_status ngrams_compute(hr_kernel *k, hr_error *err)
{
    const hr_tensor *in = k->input[0], *splits = k->input[1];
    const hr_attr *widths = hr_node_attr(k->node, "ngram_widths");
    ngrams n = {
        .k = k,
        .word = in->count ? in->data : NULL, /* without words there is nothing, whatever the pads are */
        .separator = hr_attr_string(k->node, "separator"),
        .left = hr_attr_string(k->node, "left_pad"),
        .right = hr_attr_string(k->node, "right_pad"),
        .pad = hr_attr_int(k->node, "pad_width"),
        .keeps_short = hr_attr_bool(k->node, "preserve_short_sequences"),
        .width = widths->ints,
        .widths = widths->count,
    };
    hr_tensor *out;
    HR_TRY(hr_expect_rank("data", in->shape, 1, err));
    HR_TRY(hr_expect_rank("data_splits", splits->shape, 1, err));
    HR_TRY(check_splits(splits, in->count, err));
    HR_TRY(hr_kernel_output(k, 1, splits->shape, &out, err));
    const hr_status st = add_rows(&n, splits, out, err);
    if (st == HR_OK) return hr_strings_give(&n.out, k, 0, HR_SHAPE(n.out.count), err);
    hr_strings_free(&n.out);
    return st;
}

static hr_status ngrams_shape(hr_infer *s, hr_error *err)
{
    const hr_attr *widths = hr_node_attr(s->node, "ngram_widths");
    for (int i = 0; widths && i < widths->count; i++)
        if (widths->ints[i] < 1 || widths->ints[i] > INT32_MAX)
            return hr_infer_refuse(s, err, "ngram_widths from 1 to 2147483647");
    return HR_OK;
}

const hr_graph_op hr_graph_ops_string_ngrams_op[] = {
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "StringNGrams",
        .traits = HR_NO_GRADIENT,
        .shapes = "[?], [n] -> [?], [n]",
        .shape = ngrams_shape,
        .compute = ngrams_compute,
    },
    HR_GRAPH_OPS_END,
};
