/* StringSplit, StringSplitV2: sparse tensors of pieces, a row for each string. */
#include <headrace/kernels.h>
#include <headrace/text_ops.h>
#include <string.h>

static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

typedef struct pieces {
    hr_strings text;
    hr_strings rows; /* one row number a piece, as bytes */
    int64_t row, column, widest;
} pieces;

static void add_piece(pieces *p, const char *from, const char *to)
{
    const int64_t at[2] = {p->row, p->column++};
    hr_strings_add(&p->text, (hr_view){from, to - from});
    hr_strings_end(&p->text);
    hr_strings_add(&p->rows, (hr_view){(const char *)at, sizeof at});
    if (p->column > p->widest) p->widest = p->column;
}

/* Between any bytes of `set`; without a set, each byte. */
static void split_at_bytes(pieces *p, hr_view in, hr_view set, bool skip_empty)
{
    const char *from = in.data, *end = in.data + in.size;
    for (const char *at = from; at < end && set.size == 0; at++) add_piece(p, at, at + 1);
    if (set.size == 0 || in.size == 0) return;
    for (const char *at = from; at <= end; at++) {
        if (at < end && !memchr(set.data, *at, (size_t)set.size)) continue;
        if (at > from || !skip_empty) add_piece(p, from, at);
        from = at + 1;
    }
}

/* As Python's split without a separator: at white space. */
static void split_at_spaces(pieces *p, hr_view in, int64_t most)
{
    const char *at = in.data, *end = in.data + in.size;
    while (at < end && is_space(*at)) at++;
    for (int64_t splits = 1; at < end; splits++) {
        const char *from = at;
        while (at < end && !is_space(*at)) at++;
        add_piece(p, from, at);
        while (at < end && is_space(*at)) at++;
        if (splits == most) {
            add_piece(p, at, end);
            return;
        }
    }
}

static void split_at_text(pieces *p, hr_view in, hr_view separator, int64_t most)
{
    const char *from = in.data, *end = in.data + in.size;
    for (const char *at = from; end - at >= separator.size;) {
        if (memcmp(at, separator.data, (size_t)separator.size) != 0) {
            at++;
            continue;
        }
        add_piece(p, from, at);
        from = at += separator.size;
        if (--most == 0) break;
    }
    add_piece(p, from, end);
}

static hr_status pieces_give(pieces *p, hr_kernel *k, hr_error *err)
{
    hr_tensor *indices, *shape;
    const int64_t count = p->text.count;
    hr_status st = p->rows.failed ? hr_no_memory(err, "strings") : HR_OK;
    if (st == HR_OK) st = hr_kernel_output(k, 0, HR_SHAPE(count, 2), &indices, err);
    if (st == HR_OK && count) memcpy(indices->data, p->rows.bytes, p->rows.size);
    hr_strings_free(&p->rows);
    if (st == HR_OK) st = hr_strings_give(&p->text, k, 1, HR_SHAPE(count), err);
    hr_strings_free(&p->text);
    HR_TRY(st);
    HR_TRY(hr_kernel_output(k, 2, HR_SHAPE(2), &shape, err));
    ((int64_t *)shape->data)[0] = k->input[0]->count;
    ((int64_t *)shape->data)[1] = p->widest;
    return HR_OK;
}

static hr_status split_compute(hr_kernel *k, bool by_text, hr_error *err)
{
    pieces p = {0};
    HR_TRY(hr_expect_rank("input", k->input[0]->shape, 1, err));
    HR_TRY(hr_expect_rank(by_text ? "sep" : "delimiter", k->input[1]->shape, 0, err));
    const hr_view separator = *(const hr_view *)k->input[1]->data;
    const int64_t most = by_text ? hr_attr_int(k->node, "maxsplit") : 0;
    for (p.row = 0; p.row < k->input[0]->count; p.row++) {
        const hr_view in = ((const hr_view *)k->input[0]->data)[p.row];
        p.column = 0;
        if (!by_text)
            split_at_bytes(&p, in, separator, hr_attr_bool(k->node, "skip_empty"));
        else if (most == 0)
            add_piece(&p, in.data, in.data + in.size);
        else if (separator.size == 0)
            split_at_spaces(&p, in, most);
        else
            split_at_text(&p, in, separator, most);
    }
    return pieces_give(&p, k, err);
}

static hr_status split_v1_compute(hr_kernel *k, hr_error *err) { return split_compute(k, false, err); }
static hr_status split_v2_compute(hr_kernel *k, hr_error *err) { return split_compute(k, true, err); }

#define SPLIT_OP(NAME, COMPUTE)                                                                                        \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = (NAME), .compute = (COMPUTE), .traits = HR_NO_GRADIENT,                      \
        .shapes = "[n], [] -> [?,2], [?], [2]",                                                                        \
    }

const hr_graph_op hr_graph_ops_string_split_ops[] = {
    SPLIT_OP("StringSplit", split_v1_compute),
    SPLIT_OP("StringSplitV2", split_v2_compute),
    HR_GRAPH_OPS_END,
};

hr_node hr_string_split_with(hr_node texts, const hr_string_split_opts *opts)
{
    const hr_string_split_opts o = HR_OPTIONS(hr_string_split_opts, opts);
    if (!hr_node_exists(texts)) return texts;
    const hr_view view = hr_text_view(o.separator);
    const hr_tensor separator = hr_tensor_of(HR_STRING, HR_SCALAR, &view);
    return hr_new_node(texts.graph, "StringSplitV2", .name = o.name,
                       HR_INPUTS(texts, hr_const(texts.graph, &separator)),
                       HR_ATTRS(HR_INT_ATTR("maxsplit", o.max_split > 0 ? o.max_split : -1)));
}
