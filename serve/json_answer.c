/* Answers as TensorFlow Serving lays them out: rows on one line, columns one value a line. */
#include "serve/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct answer_writer {
    hr__text *to;
    bool tf_compat;
    bool lines; /* a value a line, rather than a row */
} answer_writer;

static void answer_line(answer_writer *w, int level)
{
    static const char blanks[] = "\n                                                            ";
    const size_t size = (size_t)level * 4;
    if (size < sizeof blanks - 1) {
        hr__text_bytes(w->to, blanks, size + 1);
        return;
    }
    hr__text_byte(w->to, '\n');
    for (int i = 0; i < level; i++) hr__text_bytes(w->to, "    ", 4);
}

static float from_half(uint16_t bits)
{
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    float value;
    if (exponent == 31)
        value = fraction ? NAN : INFINITY;
    else if (exponent == 0)
        value = ldexpf((float)fraction, -24);
    else
        value = ldexpf((float)(fraction + 1024), exponent - 25);
    return bits & 0x8000 ? -value : value;
}

static float from_bfloat16(uint16_t bits)
{
    const uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return value;
}

static bool writable(hr_dtype dtype, bool tf_compat)
{
    switch (dtype) {
    case HR_FLOAT:
    case HR_DOUBLE:
    case HR_INT8:
    case HR_INT16:
    case HR_INT32:
    case HR_INT64:
    case HR_UINT8:
    case HR_UINT16:
    case HR_UINT32:
    case HR_UINT64:
    case HR_BOOL:
    case HR_STRING:
        return true;
    case HR_HALF:
    case HR_BFLOAT16:
        return !tf_compat;
    default:
        return false;
    }
}

static void answer_string(answer_writer *w, hr_view text, bool as_bytes, int level)
{
    if (!as_bytes && !w->tf_compat) as_bytes = !hr__is_utf8(text.data, (size_t)text.size);
    if (!as_bytes) {
        hr__doc_quote(text, w->to);
        return;
    }
    hr__text_byte(w->to, '{');
    answer_line(w, level + 1);
    hr__text_add(w->to, "\"b64\": \"");
    hr__doc_add_base64_bytes(text, w->to);
    hr__text_byte(w->to, '"');
    answer_line(w, level);
    hr__text_byte(w->to, '}');
}

static void answer_value(answer_writer *w, const hr_tensor *t, int64_t at, bool as_bytes, int level)
{
    const char *p = (const char *)t->data + (size_t)at * hr_dtype_size(t->dtype);
    uint16_t bits;
    switch (t->dtype) {
    case HR_FLOAT:
        hr__doc_add_float(((const float *)t->data)[at], w->to);
        return;
    case HR_DOUBLE:
        hr__doc_add_double(((const double *)t->data)[at], w->to);
        return;
    case HR_HALF:
    case HR_BFLOAT16:
        memcpy(&bits, p, sizeof bits);
        hr__doc_add_float(t->dtype == HR_HALF ? from_half(bits) : from_bfloat16(bits), w->to);
        return;
    case HR_INT8:
        hr__doc_add_int(*(const int8_t *)p, w->to);
        return;
    case HR_UINT8:
        hr__doc_add_int(*(const uint8_t *)p, w->to);
        return;
    case HR_INT16:
        hr__doc_add_int(((const int16_t *)t->data)[at], w->to);
        return;
    case HR_UINT16:
        hr__doc_add_int(((const uint16_t *)t->data)[at], w->to);
        return;
    case HR_INT32:
        hr__doc_add_int(((const int32_t *)t->data)[at], w->to);
        return;
    case HR_UINT32:
        hr__doc_add_int(((const uint32_t *)t->data)[at], w->to);
        return;
    case HR_INT64:
        hr__doc_add_int(((const int64_t *)t->data)[at], w->to);
        return;
    case HR_UINT64:
        hr__text_printf(w->to, "%" PRIu64, ((const uint64_t *)t->data)[at]);
        return;
    case HR_BOOL:
        hr__text_add(w->to, *(const uint8_t *)p ? "true" : "false");
        return;
    default:
        answer_string(w, ((const hr_view *)t->data)[at], as_bytes, level);
    }
}

/* The values from `at` on, of the dimensions from `dim` on. */
static void answer_values(answer_writer *w, const hr_tensor *t, int dim, int64_t at, int64_t count, bool as_bytes,
                          int level)
{
    if (dim >= t->shape.rank) {
        answer_value(w, t, at, as_bytes, level);
        return;
    }
    const int64_t items = t->shape.dims[dim], step = items ? count / items : 0;
    hr__text_byte(w->to, '[');
    for (int64_t i = 0; i < items; i++) {
        if (i) hr__text_bytes(w->to, ", ", w->lines ? 1 : 2);
        if (w->lines) answer_line(w, level + 1);
        answer_values(w, t, dim + 1, at + i * step, step, as_bytes, level + 1);
    }
    if (w->lines && items) answer_line(w, level);
    hr__text_byte(w->to, ']');
}

static bool named_bytes(const char *key)
{
    const size_t size = strlen(key);
    return size >= 6 && strcmp(key + size - 6, "_bytes") == 0;
}

static const char *output_key(const hr__call *call, int i)
{
    return call->signature->said->outputs[call->outputs[i]].key;
}

static hr_status check_outputs(hr__call *call, bool rows, bool tf_compat, int64_t *batch)
{
    *batch = -1;
    for (int i = 0; i < call->output_count; i++) {
        const hr_tensor *t = &call->results[i];
        if (rows && t->shape.rank < 1)
            return hr__fault_set(&call->fault, HR_INVALID_ARGUMENT, "Tensor name: %s has no shape information ",
                                 output_key(call, i));
        if (rows && *batch >= 0 && t->shape.dims[0] != *batch)
            return hr__fault_set(&call->fault, HR_INVALID_ARGUMENT,
                                 "Tensor name: %s has inconsistent batch size: %lld expecting: %lld",
                                 output_key(call, i), (long long)t->shape.dims[0], (long long)*batch);
        if (rows) *batch = t->shape.dims[0];
    }
    for (int i = 0; i < call->output_count; i++) {
        const hr_tensor *t = &call->results[i];
        if (t->count > 0 && !writable(t->dtype, tf_compat))
            return hr__fault_set(&call->fault, HR_INVALID_ARGUMENT, "Failed to write JSON value for tensor type: %s",
                                 hr__dtype_word(t->dtype));
    }
    return HR_OK;
}

static void answer_row(answer_writer *w, const hr__call *call, int64_t row, int64_t batch)
{
    if (call->output_count > 1) {
        answer_line(w, 2);
        hr__text_byte(w->to, '{');
    }
    for (int i = 0; i < call->output_count; i++) {
        const hr_tensor *t = &call->results[i];
        const char *key = output_key(call, i);
        const int64_t count = t->count / batch;
        if (call->output_count > 1) {
            if (i) hr__text_byte(w->to, ',');
            answer_line(w, 3);
            hr__doc_quote((hr_view){key, (int64_t)strlen(key)}, w->to);
            hr__text_add(w->to, ": ");
        }
        answer_values(w, t, 1, row * count, count, named_bytes(key), call->output_count > 1 ? 3 : 2);
    }
    if (call->output_count > 1) {
        answer_line(w, 2);
        hr__text_byte(w->to, '}');
    }
}

static void answer_rows(answer_writer *w, const hr__call *call, int64_t batch)
{
    hr__text_add(w->to, "{\n    \"predictions\": [");
    for (int64_t row = 0; row < batch; row++) {
        if (row) hr__text_bytes(w->to, ", ", call->output_count > 1 ? 1 : 2);
        answer_row(w, call, row, batch);
    }
    hr__text_add(w->to, "\n    ]\n}");
}

static void answer_columns(answer_writer *w, const hr__call *call)
{
    hr__text_add(w->to, "{\n    \"outputs\": ");
    w->lines = true;
    if (call->output_count > 1) hr__text_byte(w->to, '{');
    for (int i = 0; i < call->output_count; i++) {
        const hr_tensor *t = &call->results[i];
        const char *key = output_key(call, i);
        if (call->output_count > 1) {
            if (i) hr__text_byte(w->to, ',');
            answer_line(w, 2);
            hr__doc_quote((hr_view){key, (int64_t)strlen(key)}, w->to);
            hr__text_add(w->to, ": ");
        }
        answer_values(w, t, 0, 0, t->count, named_bytes(key), call->output_count > 1 ? 2 : 1);
    }
    if (call->output_count > 1) {
        answer_line(w, 1);
        hr__text_byte(w->to, '}');
    }
    hr__text_add(w->to, "\n}");
}

hr_status hr__doc_predictions(hr__call *call, bool rows, bool tf_compat, hr__text *to)
{
    answer_writer w = {.to = to, .tf_compat = tf_compat};
    int64_t batch;
    HR_TRY(check_outputs(call, rows, tf_compat, &batch));
    if (rows)
        answer_rows(&w, call, batch);
    else
        answer_columns(&w, call);
    return HR_OK;
}

void hr__doc_classes(const hr__classes *classes, bool tf_compat, hr__text *to)
{
    answer_writer w = {.to = to, .tf_compat = tf_compat};
    hr__text_add(to, "{\n    \"results\": [");
    for (int64_t i = 0; i < classes->batch; i++) {
        hr__text_add(to, i ? ", [" : "[");
        for (int64_t k = 0; k < classes->width; k++) {
            const int64_t at = i * classes->width + k;
            hr__text_add(to, k ? ", [" : "[");
            answer_string(&w, classes->labels ? classes->labels[at] : (hr_view){"", 0}, false, 4);
            hr__text_add(to, ", ");
            hr__doc_add_float(classes->scores ? classes->scores[at] : 0, to);
            hr__text_byte(to, ']');
        }
        hr__text_byte(to, ']');
    }
    hr__text_add(to, "\n    ]\n}");
}

void hr__doc_regressions(const float *values, int64_t count, hr__text *to)
{
    hr__text_add(to, "{\n    \"results\": [");
    for (int64_t i = 0; i < count; i++) {
        if (i) hr__text_add(to, ", ");
        hr__doc_add_float(values[i], to);
    }
    hr__text_add(to, "]\n}");
}

void hr__doc_error(const char *text, size_t size, hr__text *to)
{
    hr__text_add(to, "{\n    \"error\": ");
    if (hr__is_utf8(text, size))
        hr__doc_quote((hr_view){text, (int64_t)size}, to);
    else
        hr__text_json(to, text, size);
    hr__text_add(to, "\n}");
}
