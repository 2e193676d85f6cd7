/* Messages as a server writes them: answers of inference, and the requests that would have them. */
#include "serve/internal.h"

#include <string.h>

/* ---- tensors, with their values in the fields of their types ---- */

/* The value number i of a small integer type, as its field has it: negative ones take ten bytes. */
static uint64_t small_value(const hr_tensor *t, int64_t i)
{
    switch (t->dtype) {
    case HR_INT8:
        return (uint64_t)((const int8_t *)t->data)[i];
    case HR_INT16:
        return (uint64_t)((const int16_t *)t->data)[i];
    case HR_INT32:
        return (uint64_t)((const int32_t *)t->data)[i];
    case HR_UINT32:
        return ((const uint32_t *)t->data)[i];
    case HR_INT64:
    case HR_UINT64:
        return ((const uint64_t *)t->data)[i];
    case HR_UINT16:
    case HR_HALF:
    case HR_BFLOAT16:
        return ((const uint16_t *)t->data)[i];
    default:
        return ((const uint8_t *)t->data)[i];
    }
}

/* The field, and whether its values lie there as they do in memory. 0: the type has none. */
static int value_field(hr_dtype dtype, bool *plain)
{
    *plain = dtype == HR_FLOAT || dtype == HR_DOUBLE || dtype == HR_COMPLEX64 || dtype == HR_COMPLEX128;
    switch (dtype) {
    case HR_FLOAT:
        return 5;
    case HR_DOUBLE:
        return 6;
    case HR_INT32:
    case HR_INT16:
    case HR_INT8:
    case HR_UINT8:
    case HR_UINT16:
        return 7;
    case HR_STRING:
        return 8;
    case HR_COMPLEX64:
        return 9;
    case HR_INT64:
        return 10;
    case HR_BOOL:
        return 11;
    case HR_COMPLEX128:
        return 12;
    case HR_HALF:
    case HR_BFLOAT16:
        return 13;
    case HR_UINT32:
        return 16;
    case HR_UINT64:
        return 17;
    default:
        return 0;
    }
}

static void put_tensor(hr__text *to, int field, const hr_tensor *t)
{
    hr__text message = {0}, shape = {0}, values = {0};
    bool plain;
    const int where = value_field(t->dtype, &plain);
    for (int d = 0; d < t->shape.rank; d++) {
        hr__text dim = {0};
        hr__say_number(&dim, 1, (uint64_t)t->shape.dims[d]);
        hr__say_message(&shape, 2, &dim);
    }
    hr__say_number(&message, 1, (uint64_t)t->dtype);
    hr__say_message(&message, 2, &shape);
    if (t->dtype == HR_STRING) {
        const hr_view *value = t->data;
        for (int64_t i = 0; i < t->count; i++) hr__say_bytes(&message, where, value[i].data, (size_t)value[i].size);
    } else if (plain && t->count) {
        hr__say_bytes(&message, where, t->data, (size_t)t->count * hr_dtype_size(t->dtype));
    } else if (where && t->count) {
        for (int64_t i = 0; i < t->count; i++) hr__say_varint(&values, small_value(t, i));
        hr__say_message(&message, where, &values);
    }
    hr__say_message(to, field, &message);
}

static void put_entry(hr__text *to, int field, const char *key, const hr_tensor *t)
{
    hr__text entry = {0};
    hr__say_string(&entry, 1, key);
    put_tensor(&entry, 2, t);
    hr__say_message(to, field, &entry);
}

/* ---- answers and requests ---- */

static void put_spec(const hr__call *call, int field, hr__text *to)
{
    hr__text spec = {0}, version = {0};
    hr__say_string(&spec, 1, call->version->model->name);
    hr__say_number(&version, 1, (uint64_t)call->version->number);
    hr__say_message(&spec, 2, &version);
    hr__say_string(&spec, 3, call->signature->said->key);
    hr__say_message(to, field, &spec);
}

static hr_status put_classes(hr__call *call, int field, hr__text *to)
{
    hr__classes c;
    hr__text result = {0};
    HR_TRY(hr__classify_end(call, &c));
    for (int64_t i = 0; i < c.batch; i++) {
        hr__text row = {0};
        for (int64_t k = i * c.width; k < (i + 1) * c.width; k++) {
            hr__text class = {0};
            if (c.labels && c.labels[k].size) hr__say_bytes(&class, 1, c.labels[k].data, (size_t)c.labels[k].size);
            if (c.scores) {
                hr__say_varint(&class, 2 << 3 | 5);
                hr__text_bytes(&class, &c.scores[k], sizeof c.scores[k]);
            }
            hr__say_message(&row, 1, &class);
        }
        hr__say_message(&result, 1, &row);
    }
    hr__say_message(to, field, &result);
    return HR_OK;
}

static hr_status put_regressions(hr__call *call, int field, hr__text *to)
{
    const float *values;
    hr__text result = {0};
    HR_TRY(hr__regress_end(call, &values));
    for (int64_t i = 0; i < call->example_count; i++) {
        hr__text value = {0};
        hr__say_varint(&value, 1 << 3 | 5);
        hr__text_bytes(&value, &values[i], sizeof values[i]);
        hr__say_message(&result, 1, &value);
    }
    hr__say_message(to, field, &result);
    return HR_OK;
}

hr_status hr__put_answer(hr__call *call, hr__text *to)
{
    if (call->of_several) { /* an InferenceResult */
        put_spec(call, 1, to);
        return call->api == HR__API_CLASSIFY ? put_classes(call, 2, to) : put_regressions(call, 3, to);
    }
    if (call->api == HR__API_CLASSIFY) HR_TRY(put_classes(call, 1, to));
    if (call->api == HR__API_REGRESS) HR_TRY(put_regressions(call, 1, to));
    if (call->api == HR__API_PREDICT)
        for (int i = 0; i < call->output_count; i++)
            put_entry(to, 1, call->signature->said->outputs[call->outputs[i]].key, &call->results[i]);
    put_spec(call, 2, to);
    return HR_OK;
}

hr_status hr__put_request(hr__call *call, hr__text *to)
{
    const hr_meta_signature *said = call->signature->said;
    hr__text list = {0}, input = {0};
    put_spec(call, 1, to);
    if (call->api == HR__API_PREDICT) {
        for (int i = 0; i < said->input_count; i++)
            if (call->inputs[i].dtype != HR_INVALID_DTYPE) put_entry(to, 2, said->inputs[i].key, &call->inputs[i]);
        return HR_OK;
    }
    for (int64_t i = 0; i < call->example_count; i++)
        hr__say_bytes(&list, 1, call->examples[i].data, (size_t)call->examples[i].size);
    hr__say_message(&input, 1, &list);
    hr__say_message(to, 2, &input);
    return HR_OK;
}
