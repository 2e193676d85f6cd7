/* What strings are made of: lengths, parts, letters, pieces between separators, their bytes as numbers or as base64. */
#include <headrace/kernels.h>
#include <string.h>

/* ASCII alone, under any locale. */
static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
static bool is_trail_byte(char c) { return ((unsigned char)c & 0xc0) == 0x80; }
static bool in_utf8(hr_node node) { return hr_attr_string(node, "unit").size == 9 /* UTF8_CHAR */; }

/* ---- a string for each string ---- */

typedef hr_status string_fn(hr_strings *out, hr_view in, hr_node node, hr_error *err);

static hr_status string_each(hr_kernel *k, string_fn *fn, hr_error *err)
{
    hr_strings strings = {0};
    hr_status st = HR_OK;
    for (int64_t i = 0; st == HR_OK && i < k->input[0]->count; i++) {
        st = fn(&strings, ((const hr_view *)k->input[0]->data)[i], k->node, err);
        hr_strings_end(&strings);
    }
    if (st == HR_OK) return hr_strings_give(&strings, k, 0, k->input[0]->shape, err);
    hr_strings_free(&strings);
    return st;
}

#define STRING_EACH(NAME)                                                                                              \
    static hr_status NAME##_compute(hr_kernel *k, hr_error *err) { return string_each(k, NAME, err); }

/* Letters of ASCII; of others only where the encoding does not say what they are. */
static hr_status change_case(hr_strings *out, hr_view in, hr_node node, int (*change)(char), hr_error *err)
{
    const hr_view encoding = hr_attr_string(node, "encoding");
    const bool utf8 = encoding.size == 5 && memcmp(encoding.data, "utf-8", 5) == 0;
    if (!utf8 && encoding.size)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.attr",
                       "only utf-8 or '' (bytes) encoding is supported, got '%.*s'", (int)encoding.size, encoding.data);
    for (int64_t i = 0; i < in.size; i++) {
        if (utf8 && (in.data[i] & 0x80))
            return hr_fail(err, HR_UNIMPLEMENTED, "graph.kernel",
                           "letters beyond ASCII are not changed with the encoding utf-8; leave it out");
        const char changed = (char)change(in.data[i]);
        hr_strings_add(out, (hr_view){&changed, 1});
    }
    return HR_OK;
}

static int to_lower(char c) { return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c; }
static int to_upper(char c) { return c >= 'a' && c <= 'z' ? c - ('a' - 'A') : c; }

static hr_status lower(hr_strings *out, hr_view in, hr_node node, hr_error *err)
{
    return change_case(out, in, node, to_lower, err);
}
static hr_status upper(hr_strings *out, hr_view in, hr_node node, hr_error *err)
{
    return change_case(out, in, node, to_upper, err);
}

static hr_status strip(hr_strings *out, hr_view in, hr_node node, hr_error *err)
{
    (void)node, (void)err;
    while (in.size > 0 && is_space(in.data[0])) in.data++, in.size--;
    while (in.size > 0 && is_space(in.data[in.size - 1])) in.size--;
    hr_strings_add(out, in);
    return HR_OK;
}

/* ---- base64 with '-' and '_' ---- */

static const char base64_letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

static hr_status base64_encode(hr_strings *out, hr_view in, hr_node node, hr_error *err)
{
    const bool pad = hr_attr_bool(node, "pad");
    (void)err;
    for (int64_t i = 0; i < in.size; i += 3) {
        const int64_t left = in.size - i < 3 ? in.size - i : 3;
        uint32_t bits = 0;
        char four[4] = "===";
        four[3] = '=';
        for (int64_t j = 0; j < left; j++) bits |= (uint32_t)(unsigned char)in.data[i + j] << (16 - 8 * j);
        for (int64_t j = 0; j <= left; j++) four[j] = base64_letters[bits >> (18 - 6 * j) & 63];
        hr_strings_add(out, (hr_view){four, pad ? 4 : left + 1});
    }
    return HR_OK;
}

static hr_status base64_decode(hr_strings *out, hr_view in, hr_node node, hr_error *err)
{
    (void)node;
    if (in.size % 4 == 0 && in.size > 0 && in.data[in.size - 1] == '=') in.size -= in.data[in.size - 2] == '=' ? 2 : 1;
    if (in.size % 4 == 1)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.string",
                       "Base64 string length cannot be 1 modulo 4, got %lld bytes", (long long)in.size);
    for (int64_t i = 0; i < in.size; i += 4) {
        const int64_t left = in.size - i < 4 ? in.size - i : 4;
        uint32_t bits = 0;
        for (int64_t j = 0; j < left; j++) {
            const char *at = in.data[i + j] ? strchr(base64_letters, in.data[i + j]) : NULL;
            if (!at)
                return hr_fail(err, HR_INVALID_ARGUMENT, "graph.string",
                               "Invalid character found in base64: byte %d at %lld", (unsigned char)in.data[i + j],
                               (long long)(i + j));
            bits |= (uint32_t)(at - base64_letters) << (18 - 6 * j);
        }
        const char bytes[3] = {(char)(bits >> 16), (char)(bits >> 8 & 255), (char)(bits & 255)};
        hr_strings_add(out, (hr_view){bytes, left - 1});
    }
    return HR_OK;
}

STRING_EACH(lower)
STRING_EACH(upper)
STRING_EACH(strip)
STRING_EACH(base64_encode)
STRING_EACH(base64_decode)

/* ---- StringLength, Substr ---- */

static hr_status length_compute(hr_kernel *k, hr_error *err)
{
    const bool utf8 = in_utf8(k->node);
    const hr_view *in = k->input[0]->data;
    hr_tensor *out;
    HR_TRY(hr_kernel_output(k, 0, k->input[0]->shape, &out, err));
    for (int64_t i = 0; i < out->count; i++) {
        int64_t length = in[i].size;
        for (int64_t j = 0; utf8 && j < in[i].size; j++) length -= is_trail_byte(in[i].data[j]);
        HR_TRY(hr_put_int(out, i, length, err));
    }
    return HR_OK;
}

/* Goes `count` characters on from byte `at`. False: the string has fewer. */
static bool skip_characters(hr_view in, int64_t count, int64_t *at)
{
    for (; count > 0 && *at < in.size; count--) {
        ++*at;
        while (*at < in.size && is_trail_byte(in.data[*at])) ++*at;
    }
    return count <= 0;
}

static bool skip_back(hr_view in, int64_t count, int64_t *at)
{
    for (; count > 0 && *at > 0; count--) {
        --*at;
        while (*at > 0 && is_trail_byte(in.data[*at])) --*at;
    }
    return count <= 0;
}

/* The part of `in`, within its bytes. False: `at` is out of range. */
static bool part_of(hr_view in, int64_t at, int64_t length, bool utf8, hr_view *out)
{
    int64_t from = at >= 0 || !utf8 ? 0 : in.size, to;
    if (utf8) {
        if (at < 0 ? at == INT64_MIN || !skip_back(in, -at, &from) : !skip_characters(in, at, &from)) return false;
        to = from;
        skip_characters(in, length, &to);
    } else {
        if (at > in.size || at < -in.size) return false;
        from = at < 0 ? at + in.size : at;
        to = length < 0 || length > in.size - from ? in.size : from + length;
    }
    *out = (hr_view){in.data + from, to - from};
    return true;
}

typedef struct parts {
    bool utf8, failed, wide;
    int64_t at; /* of the first that failed */
} parts;

static void parts_run(char *const *at, const int64_t *step, int64_t n, const void *user)
{
    parts *p = (parts *)(uintptr_t)user;
    for (int64_t i = 0; i < n; i++) {
        hr_view *out = (hr_view *)(void *)(at[0] + i * step[0]);
        const hr_view in = *(const hr_view *)(const void *)(at[1] + i * step[1]);
        const void *from = at[2] + i * step[2], *length = at[3] + i * step[3];
        const int64_t begin = p->wide ? *(const int64_t *)from : *(const int32_t *)from;
        if (p->failed ||
            part_of(in, begin, p->wide ? *(const int64_t *)length : *(const int32_t *)length, p->utf8, out))
            continue;
        p->failed = true;
        p->at = begin;
    }
}

static hr_status substr_compute(hr_kernel *k, hr_error *err)
{
    parts p = {.utf8 = in_utf8(k->node), .wide = k->input[1]->dtype == HR_INT64};
    hr_walk w;
    hr_shape shape;
    hr_tensor scratch, *out;
    HR_TRY(hr_broadcast_inputs(k, &shape, err));
    HR_TRY(hr_kernel_begin_output(k, 0, shape, &scratch, &out, err));
    hr_walk_begin(&w, shape);
    hr_walk_add(&w, out);
    for (int i = 0; i < 3; i++) hr_walk_add(&w, k->input[i]);
    hr_walk_run(NULL, &w, 0, parts_run, &p);
    if (p.failed)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.index", "pos %lld out of range for a string", (long long)p.at);
    return hr_kernel_end_output(k, 0, &scratch, out, err);
}

/* ---- StringSplit, StringSplitV2: sparse tensors of pieces, a row for each string ---- */

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

/* ---- DecodeRaw ---- */

static hr_status raw_shape(hr_infer *s, hr_error *err)
{
    (void)err;
    s->output[0] = s->input[0];
    if (s->output[0].rank < 0 || s->output[0].rank == HR_MAX_RANK) s->output[0] = HR_UNKNOWN_SHAPE;
    if (s->output[0].rank >= 0) s->output[0].dims[s->output[0].rank++] = -1;
    return HR_OK;
}

static hr_status raw_length(const hr_tensor *in, size_t width, int64_t *out, hr_error *err)
{
    const hr_view *text = in->data;
    *out = in->count ? text[0].size : 0;
    for (int64_t i = 1; i < in->count; i++)
        if (text[i].size != *out)
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.string",
                           "DecodeRaw requires input strings to all be the same size, but element %lld has size %lld, "
                           "not %lld",
                           (long long)i, (long long)text[i].size, (long long)*out);
    if (*out % (int64_t)width == 0) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "graph.string",
                   "Input to DecodeRaw has length %lld that is not a multiple of %zu, the size of its type",
                   (long long)*out, width);
}

static void raw_reverse(unsigned char *bytes, size_t count, size_t width)
{
    for (size_t i = 0; i < count; i += width)
        for (size_t j = 0; j < width / 2; j++) {
            const unsigned char byte = bytes[i + j];
            bytes[i + j] = bytes[i + width - 1 - j];
            bytes[i + width - 1 - j] = byte;
        }
}

static hr_status raw_compute(hr_kernel *k, hr_error *err)
{
    const hr_dtype type = hr_attr_type(k->node, "out_type");
    const size_t width = hr_dtype_size(type), part = type == HR_COMPLEX64 || type == HR_COMPLEX128 ? width / 2 : width;
    const hr_tensor *in = k->input[0];
    hr_shape shape = in->shape;
    int64_t length;
    hr_tensor *out;
    if (shape.rank == HR_MAX_RANK)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected at most %d dimensions", HR_MAX_RANK - 1);
    HR_TRY(raw_length(in, width, &length, err));
    shape.dims[shape.rank++] = length / (int64_t)width;
    HR_TRY(hr_kernel_output(k, 0, shape, &out, err));
    unsigned char *to = out->data;
    const size_t size = (size_t)length;
    for (int64_t i = 0; i < in->count && size > 0; i++, to += size) {
        memcpy(to, ((const hr_view *)in->data)[i].data, size);
        if (!hr_attr_bool(k->node, "little_endian")) raw_reverse(to, size, part);
        for (size_t j = 0; type == HR_BOOL && j < size; j++) to[j] = to[j] != 0;
    }
    return HR_OK;
}

/* ---- ReduceJoin: the axis that is named first goes fastest ---- */

static hr_status join_axes(const hr_tensor *axes, int rank, int *axis, hr_error *err)
{
    bool seen[HR_MAX_RANK] = {false};
    for (int64_t i = 0; i < axes->count; i++) {
        const int64_t at = hr_int_at(axes, i);
        if (at < -rank || at >= rank)
            return hr_fail(err, HR_OUT_OF_RANGE, "graph.axis",
                           "Invalid reduction dimension %lld for input with %d dimension(s)", (long long)at, rank);
        const int a = (int)(at < 0 ? at + rank : at);
        if (seen[a]) return hr_fail(err, HR_INVALID_ARGUMENT, "graph.axis", "Duplicate reduction dimension %d", a);
        seen[a] = true;
        axis[i] = a;
    }
    return HR_OK;
}

static hr_status reduce_join_compute(hr_kernel *k, hr_error *err)
{
    const hr_tensor *in = k->input[0], *axes = k->input[1];
    const hr_view separator = hr_attr_string(k->node, "separator"), *text = in->data;
    int64_t step[HR_MAX_RANK], joined = 1;
    int axis[HR_MAX_RANK] = {0};
    hr_shape shape;
    HR_TRY(join_axes(axes, in->shape.rank, axis, err));
    HR_TRY(hr_shape_reduce(in->shape, axes, true, &shape, NULL, err));
    hr_walk_steps(in, step);
    for (int d = 0; d < in->shape.rank; d++) step[d] /= (int64_t)sizeof *text;
    for (int64_t i = 0; i < axes->count; i++) joined *= in->shape.dims[axis[i]];
    hr_strings strings = {0};
    for (int64_t n = 0; n < hr_shape_count(shape); n++) {
        int64_t first = 0;
        for (int64_t d = shape.rank - 1, rest = n; d >= 0; rest /= shape.dims[d], d--)
            first += rest % shape.dims[d] * step[d];
        for (int64_t j = 0; j < joined; j++) {
            int64_t at = first, rest = j;
            for (int64_t i = 0; i < axes->count; rest /= in->shape.dims[axis[i]], i++)
                at += rest % in->shape.dims[axis[i]] * step[axis[i]];
            if (j > 0) hr_strings_add(&strings, separator);
            hr_strings_add(&strings, text[at]);
        }
        hr_strings_end(&strings);
    }
    if (!hr_attr_bool(k->node, "keep_dims")) {
        const hr_status st = hr_shape_reduce(in->shape, axes, false, &shape, NULL, err);
        if (st != HR_OK) hr_strings_free(&strings);
        HR_TRY(st);
    }
    return hr_strings_give(&strings, k, 0, shape, err);
}

#define STRING_OP(NAME, COMPUTE, ...)                                                                                  \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = (NAME), .traits = HR_NO_GRADIENT, .compute = (COMPUTE), __VA_ARGS__          \
    }

const hr_graph_op hr_graph_ops_string_ops[] = {
    STRING_OP("DecodeBase64", base64_decode_compute, .shapes = "=0"),
    STRING_OP("DecodeRaw", raw_compute, .shape = raw_shape),
    STRING_OP("EncodeBase64", base64_encode_compute, .shapes = "=0"),
    STRING_OP("ReduceJoin", reduce_join_compute, .shapes = "reduce(0,1)"),
    STRING_OP("StringLength", length_compute, .shapes = "=0"),
    STRING_OP("StringLower", lower_compute, .shapes = "=0"),
    STRING_OP("StringSplit", split_v1_compute, .shapes = "[n], [] -> [?,2], [?], [2]"),
    STRING_OP("StringSplitV2", split_v2_compute, .shapes = "[n], [] -> [?,2], [?], [2]"),
    STRING_OP("StringStrip", strip_compute, .shapes = "=0"),
    STRING_OP("StringUpper", upper_compute, .shapes = "=0"),
    STRING_OP("Substr", substr_compute, .shapes = "bcast", .types = "T:indices"),
    HR_GRAPH_OPS_END,
};
