/* Numbers as text: StringToNumber and AsString, the same under any locale. */
#include "base/number.h"
#include <headrace/kernels.h>
#include <headrace/text_ops.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- StringToNumber ---- */

static hr_status to_number_compute(hr_kernel *k, hr_error *err)
{
    const hr_view *in = k->input[0]->data;
    hr_tensor *out;
    HR_TRY(hr_kernel_output(k, 0, k->input[0]->shape, &out, err));
    for (int64_t i = 0; i < out->count; i++) {
        const size_t size = (size_t)in[i].size;
        hr__parsed parsed;
        if (out->dtype == HR_FLOAT)
            parsed = hr__parse_float(in[i].data, size, HR__NUMBER_TF_COMPAT, (float *)out->data + i);
        else if (out->dtype == HR_DOUBLE)
            parsed = hr__parse_double(in[i].data, size, HR__NUMBER_TF_COMPAT, (double *)out->data + i);
        else if (out->dtype == HR_INT32)
            parsed = hr__parse_int32(in[i].data, size, HR__NUMBER_TF_COMPAT, (int32_t *)out->data + i);
        else
            parsed = hr__parse_int64(in[i].data, size, HR__NUMBER_TF_COMPAT, (int64_t *)out->data + i);
        if (parsed != HR__PARSED)
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.string",
                           "StringToNumberOp could not correctly convert string: \"%.*s\"",
                           (int)(size < 60 ? size : 60), size ? in[i].data : "");
    }
    return HR_OK;
}

/* ---- AsString ---- */

/* The attributes: as printf's flag, width, precision and conversion. */
typedef struct number_style {
    char fill; /* 0: none */
    int64_t width;
    int precision;
    char conversion; /* 'f', 'e', 'g' */
} number_style;

/* As printf's field: `digits`, of which a sign may be the first. */
static void add_field(hr_strings *out, const number_style *s, hr_view digits, bool finite)
{
    const bool minus = digits.size > 0 && digits.data[0] == '-';
    const char sign = minus ? '-' : s->fill == '+' || s->fill == ' ' ? s->fill : 0;
    if (minus) digits.data++, digits.size--;
    const int64_t blanks = s->width - digits.size - (sign != 0);
    const bool zeros = s->fill == '0' && finite;
    for (int64_t i = 0; i < blanks && !zeros && s->fill != '-'; i++) hr_strings_add(out, (hr_view){" ", 1});
    if (sign) hr_strings_add(out, (hr_view){&sign, 1});
    for (int64_t i = 0; i < blanks && zeros; i++) hr_strings_add(out, (hr_view){"0", 1});
    hr_strings_add(out, digits);
    for (int64_t i = 0; i < blanks && s->fill == '-'; i++) hr_strings_add(out, (hr_view){" ", 1});
}

static int print_float(char *to, size_t size, const number_style *s, double x)
{
    if (s->fill == '#')
        return s->conversion == 'f'   ? snprintf(to, size, "%#.*f", s->precision, x)
               : s->conversion == 'e' ? snprintf(to, size, "%#.*e", s->precision, x)
                                      : snprintf(to, size, "%#.*g", s->precision, x);
    return s->conversion == 'f'   ? snprintf(to, size, "%.*f", s->precision, x)
           : s->conversion == 'e' ? snprintf(to, size, "%.*e", s->precision, x)
                                  : snprintf(to, size, "%.*g", s->precision, x);
}

static void add_float(hr_strings *out, const number_style *s, double x)
{
    char small[400], *text = small;
    const int size = print_float(small, sizeof small, s, x);
    if (size >= (int)sizeof small && (text = hr_malloc((size_t)size + 1))) print_float(text, (size_t)size + 1, s, x);
    if (size < 0 || !text) {
        out->failed = true;
        return;
    }
    for (int i = 0; i < size; i++)
        if (text[i] == ',') text[i] = '.'; /* the point of some locales */
    add_field(out, s, (hr_view){text, size}, isfinite(x));
    if (text != small) hr_free(text);
}

static void add_integer(hr_strings *out, const number_style *s, int64_t x, bool is_unsigned)
{
    number_style style = *s;
    char text[32];
    const int size = is_unsigned ? snprintf(text, sizeof text, "%llu", (unsigned long long)(uint64_t)x)
                                 : snprintf(text, sizeof text, "%lld", (long long)x);
    if (is_unsigned && (style.fill == '+' || style.fill == ' ')) style.fill = 0;
    add_field(out, &style, (hr_view){text, size}, true);
}

static void add_complex(hr_strings *out, const number_style *s, double re, double im)
{
    hr_strings_add(out, (hr_view){"(", 1});
    add_float(out, s, re);
    hr_strings_add(out, (hr_view){",", 1});
    add_float(out, s, im);
    hr_strings_add(out, (hr_view){")", 1});
}

static void add_value(hr_strings *out, const number_style *s, const hr_tensor *in, int64_t i)
{
    switch (in->dtype) {
#define FLOATING(T, V, U, DTYPE, SUFFIX, A, B)                                                                         \
    case DTYPE:                                                                                                        \
        add_float(out, s, (double)HR_GET(SUFFIX, ((const T *)in->data)[i]));                                           \
        break;
#define SIGNED(T, V, U, DTYPE, SUFFIX, A, B)                                                                           \
    case DTYPE:                                                                                                        \
        add_integer(out, s, (int64_t)((const T *)in->data)[i], false);                                                 \
        break;
#define UNSIGNED(T, V, U, DTYPE, SUFFIX, A, B)                                                                         \
    case DTYPE:                                                                                                        \
        add_integer(out, s, (int64_t)((const T *)in->data)[i], true);                                                  \
        break;
        HR_EACH_TYPE(FLOATING, ~, ~, floats, halves)
        HR_EACH_TYPE(SIGNED, ~, ~, signed_ints)
        HR_EACH_TYPE(UNSIGNED, ~, ~, unsigned_ints)
    case HR_COMPLEX64:
        add_complex(out, s, (double)((const float *)in->data)[2 * i], (double)((const float *)in->data)[2 * i + 1]);
        break;
    case HR_COMPLEX128:
        add_complex(out, s, ((const double *)in->data)[2 * i], ((const double *)in->data)[2 * i + 1]);
        break;
    case HR_BOOL:
        hr_strings_add(out, hr_text_view(((const bool *)in->data)[i] ? "true" : "false"));
        break;
    default: {
        hr_view text = ((const hr_view *)in->data)[i];
        if (s->precision >= 0 && text.size > s->precision) text.size = s->precision;
        for (int64_t n = text.size; n < s->width && s->fill != '-'; n++) hr_strings_add(out, (hr_view){" ", 1});
        hr_strings_add(out, text);
        for (int64_t n = text.size; n < s->width && s->fill == '-'; n++) hr_strings_add(out, (hr_view){" ", 1});
        break;
    }
    }
}

static hr_status read_style(const hr_kernel *k, number_style *s, hr_error *err)
{
    const hr_dtype type = k->input[0]->dtype;
    const bool scientific = hr_attr_bool(k->node, "scientific"), shortest = hr_attr_bool(k->node, "shortest");
    const bool floating = type == HR_FLOAT || type == HR_DOUBLE || type == HR_HALF || type == HR_BFLOAT16 ||
                          type == HR_COMPLEX64 || type == HR_COMPLEX128 || type == HR_STRING;
    const int64_t precision = hr_attr_int(k->node, "precision"), width = hr_attr_int(k->node, "width");
    const hr_view fill = hr_attr_string(k->node, "fill");
    if (!floating && (scientific || shortest))
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.attr",
                       "scientific and shortest format not supported for datatype %s", hr_dtype_name(type));
    if (!floating && precision >= 0)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.attr", "precision not supported for datatype %s",
                       hr_dtype_name(type));
    if (fill.size > 1 || (fill.size == 1 && !memchr(" +-0#", fill.data[0], 5)))
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.attr",
                       "Fill argument not supported: expected one of \" +-0#\", got \"%.*s\"",
                       (int)(fill.size < 60 ? fill.size : 60), fill.data);
    if (scientific && shortest)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.attr", "Cannot select both scientific and shortest notation");
    if (precision > INT32_MAX / 2 || width > INT32_MAX / 2)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.attr", "expected a width and a precision below %d, got %lld",
                       INT32_MAX / 2, (long long)(precision > width ? precision : width));
    *s = (number_style){.fill = fill.size ? fill.data[0] : 0,
                        .width = width < 0 ? 0 : width,
                        .precision = precision < 0 ? -1 : (int)precision,
                        .conversion = shortest     ? 'g'
                                      : scientific ? 'e'
                                                   : 'f'};
    return HR_OK;
}

static hr_status as_string_compute(hr_kernel *k, hr_error *err)
{
    number_style style;
    hr_strings strings = {0};
    HR_TRY(read_style(k, &style, err));
    for (int64_t i = 0; i < k->input[0]->count && !strings.failed; i++) {
        add_value(&strings, &style, k->input[0], i);
        hr_strings_end(&strings);
    }
    return hr_strings_give(&strings, k, 0, k->input[0]->shape, err);
}

const hr_graph_op hr_graph_ops_string_number_ops[] = {
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "AsString",
        .types = "T:any",
        .traits = HR_NO_GRADIENT,
        .shapes = "=0",
        .compute = as_string_compute,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "StringToNumber",
        .traits = HR_NO_GRADIENT,
        .shapes = "=0",
        .compute = to_number_compute,
    },
    HR_GRAPH_OPS_END,
};

hr_node hr_as_string_with(hr_node x, const hr_as_string_opts *opts)
{
    const hr_as_string_opts o = HR_OPTIONS(hr_as_string_opts, opts);
    return hr_new_node(NULL, "AsString", .name = o.name, HR_INPUTS(x),
                       HR_ATTRS(HR_INT_ATTR("precision", o.precision ? *o.precision : -1),
                                HR_BOOL_ATTR("scientific", o.scientific), HR_BOOL_ATTR("shortest", o.shortest),
                                HR_INT_ATTR("width", o.width > 0 ? o.width : -1), HR_STRING_ATTR("fill", o.fill)));
}

hr_node hr_string_to_number(hr_node texts, hr_dtype dtype)
{
    return hr_new_node(NULL, "StringToNumber", HR_INPUTS(texts), HR_ATTRS(HR_TYPE_ATTR("out_type", dtype)));
}
