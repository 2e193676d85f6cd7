/* AttrValue: an attribute of a node. */
#include "train/graphdef/graphdef_internal.h"

#include <string.h>

typedef Headrace__Proto__AttrValue__ListValue proto_list;

/* ---- from messages ---- */

static hr_status attr_no_memory(hr_error *err) { return hr_no_memory(err, "an attribute"); }

static hr_view view_of(ProtobufCBinaryData bytes) { return (hr_view){(const char *)bytes.data, (int64_t)bytes.len}; }

static hr_status func_of_message(hr__import_memory *memory, const proto_func *m, hr_func *out, hr_error *err)
{
    hr_attr *attrs = hr__arena_get(&memory->arena, sizeof *attrs * (m->n_attr + 1));
    if (!attrs) return attr_no_memory(err);
    for (size_t i = 0; i < m->n_attr; i++) HR_TRY(hr__attr_of_message(memory, m->attr[i], 0, &attrs[i], err));
    *out = (hr_func){m->name, attrs, (int)m->n_attr};
    return HR_OK;
}

/* Space for the values of a list, whose kind is the first that the message has. */
static void *list_items(hr__import_memory *memory, hr_attr *out, hr_attr_kind kind, size_t count, size_t size)
{
    out->kind = kind;
    out->count = (int)count;
    return hr__arena_get(&memory->arena, size * (count + 1));
}

static hr_status numbers_of_message(hr__import_memory *memory, const proto_list *m, hr_attr *out, hr_error *err)
{
    if (m->n_i) {
        int64_t *items = list_items(memory, out, HR_ATTR_INTS, m->n_i, sizeof *items);
        if (!items) return attr_no_memory(err);
        memcpy(items, m->i, sizeof *items * m->n_i);
        out->ints = items;
    } else if (m->n_f) {
        float *items = list_items(memory, out, HR_ATTR_FLOATS, m->n_f, sizeof *items);
        if (!items) return attr_no_memory(err);
        memcpy(items, m->f, sizeof *items * m->n_f);
        out->floats = items;
    } else if (m->n_b) {
        bool *items = list_items(memory, out, HR_ATTR_BOOLS, m->n_b, sizeof *items);
        if (!items) return attr_no_memory(err);
        for (size_t i = 0; i < m->n_b; i++) items[i] = m->b[i] != 0;
        out->bools = items;
    } else {
        hr_dtype *items = list_items(memory, out, HR_ATTR_TYPES, m->n_type, sizeof *items);
        if (!items) return attr_no_memory(err);
        for (size_t i = 0; i < m->n_type; i++) items[i] = (hr_dtype)m->type[i];
        out->types = items;
    }
    return HR_OK;
}

static hr_status list_of_message(hr__import_memory *memory, const proto_list *m, hr_attr_kind kind, hr_attr *out,
                                 hr_error *err)
{
    if (m->n_i || m->n_f || m->n_b || m->n_type) return numbers_of_message(memory, m, out, err);
    if (m->n_s) {
        hr_view *items = list_items(memory, out, HR_ATTR_STRINGS, m->n_s, sizeof *items);
        if (!items) return attr_no_memory(err);
        for (size_t i = 0; i < m->n_s; i++) items[i] = view_of(m->s[i]);
        out->strings = items;
    } else if (m->n_shape) {
        hr_shape *items = list_items(memory, out, HR_ATTR_SHAPES, m->n_shape, sizeof *items);
        if (!items) return attr_no_memory(err);
        for (size_t i = 0; i < m->n_shape; i++) HR_TRY(hr__shape_of_message(m->shape[i], &items[i], err));
        out->shapes = items;
    } else if (m->n_tensor) {
        hr_tensor *items = list_items(memory, out, HR_ATTR_TENSORS, m->n_tensor, sizeof *items);
        if (!items) return attr_no_memory(err);
        for (size_t i = 0; i < m->n_tensor; i++) HR_TRY(hr__tensor_of_message(memory, m->tensor[i], &items[i], err));
        out->tensors = items;
    } else if (m->n_func) {
        hr_func *items = list_items(memory, out, HR_ATTR_FUNCS, m->n_func, sizeof *items);
        if (!items) return attr_no_memory(err);
        for (size_t i = 0; i < m->n_func; i++) HR_TRY(func_of_message(memory, m->func[i], &items[i], err));
        out->funcs = items;
    } else {
        out->kind = kind ? kind : HR_ATTR_INTS;
    }
    return HR_OK;
}

static hr_status tensor_attr(hr__import_memory *memory, const proto_tensor *m, hr_attr *out, hr_error *err)
{
    hr_tensor *tensor = hr__arena_get(&memory->arena, sizeof *tensor);
    out->kind = HR_ATTR_TENSOR;
    out->tensor = tensor;
    return tensor ? hr__tensor_of_message(memory, m, tensor, err) : attr_no_memory(err);
}

static hr_status func_attr(hr__import_memory *memory, const proto_func *m, hr_attr *out, hr_error *err)
{
    hr_func *func = hr__arena_get(&memory->arena, sizeof *func);
    out->kind = HR_ATTR_FUNC;
    out->func = func;
    return func ? func_of_message(memory, m, func, err) : attr_no_memory(err);
}

static hr_status attr_of_value(hr__import_memory *memory, const proto_attr *v, hr_attr_kind kind, hr_attr *out,
                               hr_error *err)
{
    switch (v->value_case) {
    case HEADRACE__PROTO__ATTR_VALUE__VALUE_S:
        *out = (hr_attr){.name = out->name, .kind = HR_ATTR_STRING, .s = view_of(v->s)};
        return HR_OK;
    case HEADRACE__PROTO__ATTR_VALUE__VALUE_I:
        *out = HR_INT_ATTR(out->name, v->i);
        return HR_OK;
    case HEADRACE__PROTO__ATTR_VALUE__VALUE_F:
        *out = HR_FLOAT_ATTR(out->name, v->f);
        return HR_OK;
    case HEADRACE__PROTO__ATTR_VALUE__VALUE_B:
        *out = HR_BOOL_ATTR(out->name, v->b != 0);
        return HR_OK;
    case HEADRACE__PROTO__ATTR_VALUE__VALUE_TYPE:
        *out = HR_TYPE_ATTR(out->name, (hr_dtype)v->type);
        return HR_OK;
    case HEADRACE__PROTO__ATTR_VALUE__VALUE_SHAPE:
        out->kind = HR_ATTR_SHAPE;
        return hr__shape_of_message(v->shape, &out->shape, err);
    case HEADRACE__PROTO__ATTR_VALUE__VALUE_TENSOR:
        return tensor_attr(memory, v->tensor, out, err);
    case HEADRACE__PROTO__ATTR_VALUE__VALUE_FUNC:
        return func_attr(memory, v->func, out, err);
    case HEADRACE__PROTO__ATTR_VALUE__VALUE_LIST:
        return list_of_message(memory, v->list, kind, out, err);
    default: /* only what no op asks for may have none, as what TensorFlow 2 says of its functions */
        return HR_OK;
    }
}

hr_status hr__attr_of_message(hr__import_memory *memory, const proto_entry *message, hr_attr_kind kind, hr_attr *out,
                              hr_error *err)
{
    const proto_attr none = HEADRACE__PROTO__ATTR_VALUE__INIT;
    *out = (hr_attr){.name = message->key};
    const hr_status st = attr_of_value(memory, message->value ? message->value : &none, kind, out, err);
    if (st != HR_OK && !strstr(err ? err->text : "attribute", "attribute"))
        hr_error_prefix(err, "attribute '%.60s': ", message->key);
    return st;
}

/* ---- to messages ---- */

static ProtobufCBinaryData bytes_of(hr_view view)
{
    return (ProtobufCBinaryData){(size_t)view.size, (uint8_t *)(uintptr_t)view.data};
}

static proto_func *func_message(hr__arena *arena, const hr_func *f)
{
    proto_func *m = hr__arena_get(arena, sizeof *m);
    if (!m) return NULL;
    headrace__proto__name_attr_list__init(m);
    m->name = (char *)(uintptr_t)f->name;
    m->attr = hr__arena_get(arena, sizeof *m->attr * ((size_t)f->attr_count + 1));
    if (!m->attr) return NULL;
    for (; m->n_attr < (size_t)f->attr_count; m->n_attr++)
        if (!(m->attr[m->n_attr] = hr__attr_message(arena, &f->attrs[m->n_attr]))) return NULL;
    return m;
}

/* Messages of what a list holds, one by one. */
static bool put_messages(hr__arena *arena, const hr_attr *a, proto_list *m)
{
    const size_t n = (size_t)a->count;
    void **items = hr__arena_get(arena, sizeof *items * (n + 1));
    if (!items) return false;
    for (size_t i = 0; i < n; i++) {
        items[i] = a->kind == HR_ATTR_SHAPES    ? (void *)hr__shape_message(arena, a->shapes[i])
                   : a->kind == HR_ATTR_TENSORS ? (void *)hr__tensor_message(arena, &a->tensors[i])
                                                : (void *)func_message(arena, &a->funcs[i]);
        if (!items[i]) return false;
    }
    if (a->kind == HR_ATTR_SHAPES) m->n_shape = n, m->shape = (proto_shape **)(void *)items;
    if (a->kind == HR_ATTR_TENSORS) m->n_tensor = n, m->tensor = (proto_tensor **)(void *)items;
    if (a->kind == HR_ATTR_FUNCS) m->n_func = n, m->func = (proto_func **)(void *)items;
    return true;
}

static bool put_list(hr__arena *arena, const hr_attr *a, proto_list *m)
{
    const size_t n = (size_t)a->count;
    switch (a->kind) {
    case HR_ATTR_INTS:
        m->n_i = n;
        m->i = (int64_t *)(uintptr_t)a->ints;
        return true;
    case HR_ATTR_FLOATS:
        m->n_f = n;
        m->f = (float *)(uintptr_t)a->floats;
        return true;
    case HR_ATTR_TYPES:
        m->type = hr__arena_get(arena, sizeof *m->type * (n + 1));
        for (; m->type && m->n_type < n; m->n_type++)
            m->type[m->n_type] = (Headrace__Proto__DataType)a->types[m->n_type];
        return m->type != NULL;
    case HR_ATTR_BOOLS:
        m->b = hr__arena_get(arena, sizeof *m->b * (n + 1));
        for (; m->b && m->n_b < n; m->n_b++) m->b[m->n_b] = a->bools[m->n_b];
        return m->b != NULL;
    case HR_ATTR_STRINGS:
        m->s = hr__arena_get(arena, sizeof *m->s * (n + 1));
        for (; m->s && m->n_s < n; m->n_s++) m->s[m->n_s] = bytes_of(a->strings[m->n_s]);
        return m->s != NULL;
    default:
        return put_messages(arena, a, m);
    }
}

static bool put_value(hr__arena *arena, const hr_attr *a, proto_attr *v)
{
    switch (a->kind) {
    case HR_ATTR_NONE:
        return true;
    case HR_ATTR_INT:
        v->value_case = HEADRACE__PROTO__ATTR_VALUE__VALUE_I;
        v->i = a->i;
        return true;
    case HR_ATTR_FLOAT:
        v->value_case = HEADRACE__PROTO__ATTR_VALUE__VALUE_F;
        v->f = a->f;
        return true;
    case HR_ATTR_BOOL:
        v->value_case = HEADRACE__PROTO__ATTR_VALUE__VALUE_B;
        v->b = a->b;
        return true;
    case HR_ATTR_STRING:
        v->value_case = HEADRACE__PROTO__ATTR_VALUE__VALUE_S;
        v->s = bytes_of(a->s);
        return true;
    case HR_ATTR_TYPE:
        v->value_case = HEADRACE__PROTO__ATTR_VALUE__VALUE_TYPE;
        v->type = (Headrace__Proto__DataType)a->type;
        return true;
    case HR_ATTR_SHAPE:
        v->value_case = HEADRACE__PROTO__ATTR_VALUE__VALUE_SHAPE;
        return (v->shape = hr__shape_message(arena, a->shape)) != NULL;
    case HR_ATTR_TENSOR:
        v->value_case = HEADRACE__PROTO__ATTR_VALUE__VALUE_TENSOR;
        return (v->tensor = hr__tensor_message(arena, a->tensor)) != NULL;
    case HR_ATTR_FUNC:
        v->value_case = HEADRACE__PROTO__ATTR_VALUE__VALUE_FUNC;
        return (v->func = func_message(arena, a->func)) != NULL;
    default:
        v->value_case = HEADRACE__PROTO__ATTR_VALUE__VALUE_LIST;
        v->list = hr__arena_get(arena, sizeof *v->list);
        if (!v->list) return false;
        headrace__proto__attr_value__list_value__init(v->list);
        return put_list(arena, a, v->list);
    }
}

proto_entry *hr__attr_message(hr__arena *arena, const hr_attr *attr)
{
    proto_entry *m = hr__arena_get(arena, sizeof *m);
    proto_attr *value = hr__arena_get(arena, sizeof *value);
    if (!m || !value) return NULL;
    headrace__proto__attr_entry__init(m);
    headrace__proto__attr_value__init(value);
    m->key = (char *)(uintptr_t)attr->name;
    m->value = value;
    return put_value(arena, attr, value) ? m : NULL;
}
