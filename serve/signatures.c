/* Signatures as TensorFlow's messages: in bytes, as text, as JSON in protobuf's way. */
#include "serve/json.h"

#include <stdio.h>
#include <string.h>

hr__signature *hr__version_signature(const hr__version *version, hr_view name)
{
    if (name.size == 0) name = (hr_view){"serving_default", 15};
    for (int i = 0; i < version->signature_count; i++) {
        const char *key = version->signatures[i].said->key;
        if (strlen(key) == (size_t)name.size && memcmp(key, name.data, (size_t)name.size) == 0)
            return &version->signatures[i];
    }
    return NULL;
}

/* ---- bytes ---- */

static void put_shape(hr__text *to, hr_shape shape)
{
    hr__text message = {0};
    for (int i = 0; i < shape.rank; i++) {
        hr__text dim = {0};
        if (shape.dims[i]) {
            hr__say_varint(&dim, 1 << 3);
            hr__say_varint(&dim, (uint64_t)shape.dims[i]);
        }
        hr__say_message(&message, 2, &dim);
    }
    if (shape.rank < 0) {
        hr__say_varint(&message, 3 << 3);
        hr__say_varint(&message, 1);
    }
    hr__say_message(to, 3, &message);
}

static void put_tensor(hr__text *to, int field, const hr_meta_tensor *t)
{
    hr__text info = {0}, entry = {0};
    if (t->indices) {
        hr__text sparse = {0};
        hr__say_string(&sparse, 1, t->name ? t->name : "");
        hr__say_string(&sparse, 2, t->indices);
        hr__say_string(&sparse, 3, t->dense_shape ? t->dense_shape : "");
        hr__say_message(&info, 4, &sparse);
    } else {
        hr__say_string(&info, 1, t->name ? t->name : "");
    }
    hr__say_varint(&info, 2 << 3);
    hr__say_varint(&info, (uint64_t)t->dtype);
    put_shape(&info, t->shape);
    hr__say_string(&entry, 1, t->key);
    hr__say_message(&entry, 2, &info);
    hr__say_message(to, field, &entry);
}

void hr__signatures_bytes(const hr__version *version, hr__text *to)
{
    for (int i = 0; i < version->signature_count; i++) {
        const hr__signature *s = &version->signatures[i];
        hr__text message = {0}, entry = {0};
        for (int k = 0; k < s->said->input_count; k++) put_tensor(&message, 1, &s->said->inputs[s->inputs[k]]);
        for (int k = 0; k < s->said->output_count; k++) put_tensor(&message, 2, &s->said->outputs[s->outputs[k]]);
        hr__say_string(&message, 3, s->said->method ? s->said->method : "");
        hr__say_string(&entry, 1, s->said->key);
        hr__say_message(&entry, 2, &message);
        hr__say_message(to, 1, &entry);
    }
}

/* ---- text ---- */

static void tensor_text(const char *field, const hr_meta_tensor *t, hr__text *to)
{
    hr__text_printf(to, "%s {\n  key: \"%s\"\n  value {\n    name: \"%s\"\n    dtype: %s\n    tensor_shape {\n", field,
                    t->key, t->name ? t->name : "", hr__dtype_proto_name(t->dtype));
    for (int i = 0; i < t->shape.rank; i++)
        hr__text_printf(to, "      dim {\n        size: %lld\n      }\n", (long long)t->shape.dims[i]);
    if (t->shape.rank < 0) hr__text_add(to, "      unknown_rank: true\n");
    hr__text_add(to, "    }\n  }\n}\n");
}

void hr__signature_text(const hr_meta_signature *signature, hr__text *to)
{
    for (int i = 0; i < signature->input_count; i++) tensor_text("inputs", &signature->inputs[i], to);
    for (int i = 0; i < signature->output_count; i++) tensor_text("outputs", &signature->outputs[i], to);
    hr__text_printf(to, "method_name: \"%s\"\n", signature->method ? signature->method : "");
}

/* ---- JSON ---- */

static void json_line(hr__text *to, int indent)
{
    hr__text_byte(to, '\n');
    for (int i = 0; i < indent; i++) hr__text_byte(to, ' ');
}

static void json_name(hr__text *to, int indent, const char *name)
{
    json_line(to, indent);
    hr__doc_quote((hr_view){name, (int64_t)strlen(name)}, to);
    hr__text_add(to, ": ");
}

static void json_text(hr__text *to, const char *text) { hr__doc_quote((hr_view){text, (int64_t)strlen(text)}, to); }

static void json_shape(hr__text *to, int indent, hr_shape shape)
{
    hr__text_byte(to, '{');
    json_name(to, indent + 1, "dim");
    hr__text_byte(to, '[');
    for (int i = 0; i < shape.rank; i++) {
        if (i) hr__text_byte(to, ',');
        json_line(to, indent + 2);
        hr__text_printf(to, "{\"size\": \"%lld\", \"name\": \"\"}", (long long)shape.dims[i]);
    }
    if (shape.rank > 0) json_line(to, indent + 1);
    hr__text_add(to, "],");
    json_name(to, indent + 1, "unknown_rank");
    hr__text_add(to, shape.rank < 0 ? "true" : "false");
    json_line(to, indent);
    hr__text_byte(to, '}');
}

static void json_tensor(hr__text *to, int indent, const hr_meta_tensor *t)
{
    hr__text_byte(to, '{');
    json_name(to, indent + 1, "dtype");
    json_text(to, hr__dtype_proto_name(t->dtype));
    hr__text_byte(to, ',');
    json_name(to, indent + 1, "tensor_shape");
    json_shape(to, indent + 1, t->shape);
    hr__text_byte(to, ',');
    if (t->indices) {
        json_name(to, indent + 1, "coo_sparse");
        hr__text_add(to, "{\"values_tensor_name\": ");
        json_text(to, t->name ? t->name : "");
        hr__text_add(to, ", \"indices_tensor_name\": ");
        json_text(to, t->indices);
        hr__text_add(to, ", \"dense_shape_tensor_name\": ");
        json_text(to, t->dense_shape ? t->dense_shape : "");
        hr__text_byte(to, '}');
    } else {
        json_name(to, indent + 1, "name");
        json_text(to, t->name ? t->name : "");
    }
    json_line(to, indent);
    hr__text_byte(to, '}');
}

static void json_tensors(hr__text *to, int indent, const hr_meta_tensor *tensors, const int *order, int count)
{
    hr__text_byte(to, '{');
    for (int i = 0; i < count; i++) {
        if (i) hr__text_byte(to, ',');
        json_name(to, indent + 1, tensors[order[i]].key);
        json_tensor(to, indent + 1, &tensors[order[i]]);
    }
    if (count) json_line(to, indent);
    hr__text_byte(to, '}');
}

void hr__signatures_json(const hr__version *version, int indent, hr__text *to)
{
    hr__text_byte(to, '{');
    for (int i = 0; i < version->signature_count; i++) {
        const hr__signature *s = &version->signatures[i];
        if (i) hr__text_byte(to, ',');
        json_name(to, indent + 1, s->said->key);
        hr__text_byte(to, '{');
        json_name(to, indent + 2, "inputs");
        json_tensors(to, indent + 2, s->said->inputs, s->inputs, s->said->input_count);
        hr__text_byte(to, ',');
        json_name(to, indent + 2, "outputs");
        json_tensors(to, indent + 2, s->said->outputs, s->outputs, s->said->output_count);
        hr__text_byte(to, ',');
        json_name(to, indent + 2, "method_name");
        json_text(to, s->said->method ? s->said->method : "");
        hr__text_byte(to, ',');
        json_name(to, indent + 2, "defaults");
        hr__text_add(to, "{}");
        json_line(to, indent + 1);
        hr__text_byte(to, '}');
    }
    if (version->signature_count) json_line(to, indent);
    hr__text_byte(to, '}');
}
