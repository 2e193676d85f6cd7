/* What strings are made of: lengths, parts, letters, their bytes as numbers or as base64. */
#include <headrace/kernels.h>
#include <headrace/text_ops.h>
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
    STRING_OP("StringStrip", strip_compute, .shapes = "=0"),
    STRING_OP("Substr", substr_compute, .shapes = "bcast", .types = "T:indices"),
    HR_GRAPH_OPS_END,
};

/* ---- constructors ---- */

hr_node hr_texts(hr_graph *g, const char *const *texts, int count)
{
    hr_tensor value;
    hr_error err;
    if (count < 0 || (count && !texts))
        return hr_node_fail(g, HR_INVALID_ARGUMENT, "graph.argument",
                            "texts: expected as many as their count, got none");
    if (hr_tensor_new(&value, HR_STRING, HR_SHAPE(count), &err) != HR_OK)
        return hr_node_fail(g, err.code, err.kind, "%s", err.text);
    for (int i = 0; i < count; i++) ((hr_view *)value.data)[i] = hr_text_view(texts[i]);
    const hr_node made = hr_const(g, &value);
    hr_tensor_clear(&value);
    return made;
}

static hr_node string_node(const char *op, const char *attr, const char *utf8, const hr_node *inputs, int count,
                           const hr_string_opts *opts)
{
    const hr_string_opts o = HR_OPTIONS(hr_string_opts, opts);
    const hr_attr given = HR_STRING_ATTR(attr, utf8);
    return hr_new_node(NULL, op, .name = o.name, .inputs = inputs, .input_count = count, .attrs = &given,
                       .attr_count = o.utf8);
}

#define STRING_CALL(FN, OP, ATTR, UTF8)                                                                                \
    hr_node FN##_with(hr_node texts, const hr_string_opts *opts)                                                       \
    {                                                                                                                  \
        return string_node(OP, ATTR, UTF8, &texts, 1, opts);                                                           \
    }
STRING_CALL(hr_string_lower, "StringLower", "encoding", "utf-8")
STRING_CALL(hr_string_upper, "StringUpper", "encoding", "utf-8")
STRING_CALL(hr_string_length, "StringLength", "unit", "UTF8_CHAR")

hr_node hr_string_strip_with(hr_node texts, const hr_name_opts *opts)
{
    return hr_new_node(NULL, "StringStrip", .name = HR_OPTIONS(hr_name_opts, opts).name, HR_INPUTS(texts));
}

hr_node hr_substr_with(hr_node texts, hr_node position, hr_node length, const hr_string_opts *opts)
{
    return string_node("Substr", "unit", "UTF8_CHAR", (const hr_node[]){texts, position, length}, 3, opts);
}

hr_node hr_reduce_join_with(hr_node texts, const hr_reduce_join_opts *opts)
{
    const hr_reduce_join_opts o = HR_OPTIONS(hr_reduce_join_opts, opts);
    if (!hr_node_exists(texts)) return texts;
    int64_t all[HR_MAX_RANK];
    const int rank = hr_node_shape(texts).rank, count = o.axes ? o.axis_count : rank;
    for (int i = 0; i < rank; i++) all[i] = rank - 1 - i;
    if (count < 0)
        return hr_node_fail(texts.graph, HR_INVALID_ARGUMENT, "graph.shape",
                            "reduce_join: expected axes, or texts of a rank that is known, got neither");
    return hr_new_node(texts.graph, "ReduceJoin", .name = o.name,
                       HR_INPUTS(texts, hr_ints(texts.graph, o.axes ? o.axes : all, count)),
                       HR_ATTRS(HR_BOOL_ATTR("keep_dims", o.keep_dims), HR_STRING_ATTR("separator", o.separator)));
}

hr_node hr_decode_raw_with(hr_node bytes, hr_dtype dtype, const hr_decode_raw_opts *opts)
{
    const hr_decode_raw_opts o = HR_OPTIONS(hr_decode_raw_opts, opts);
    return hr_new_node(NULL, "DecodeRaw", .name = o.name, HR_INPUTS(bytes),
                       HR_ATTRS(HR_TYPE_ATTR("out_type", dtype), HR_BOOL_ATTR("little_endian", !o.big_endian)));
}

hr_node hr_encode_base64(hr_node bytes, bool pad)
{
    return hr_new_node(NULL, "EncodeBase64", HR_INPUTS(bytes), HR_ATTRS(HR_BOOL_ATTR("pad", pad)));
}

hr_node hr_decode_base64(hr_node texts) { return hr_new_node(NULL, "DecodeBase64", HR_INPUTS(texts)); }
