/* Attributes' values: what comes from outside is checked and copied; equal values are found. */
#include "train/graph/graph_internal.h"

#include <string.h>

static bool is_list(hr_attr_kind kind)
{
    return (kind >= HR_ATTR_INTS && kind <= HR_ATTR_SHAPES) || (kind >= HR_ATTR_BOOLS && kind <= HR_ATTR_FUNCS);
}

/* ---- checks ---- */

static hr_status refuse_attr(const hr_attr *a, hr_error *err)
{
    return hr_fail(err, HR_INVALID_ARGUMENT, "graph.attr",
                   "attribute '%s': expected a list or string of as many values as its count says, a function with a "
                   "name, or a shape that a tensor can have",
                   a->name);
}

static bool sound_view(hr_view view) { return view.size >= 0 && (view.size == 0 || view.data); }
static bool sound_func(const hr_func *f)
{
    return f && f->name && f->attr_count >= 0 && (f->attr_count == 0 || f->attrs);
}

static bool sound_items(const hr_attr *a)
{
    for (int i = 0; i < a->count; i++) {
        if (a->kind == HR_ATTR_SHAPES && !hr__shape_possible(a->shapes[i])) return false;
        if (a->kind == HR_ATTR_STRINGS && !sound_view(a->strings[i])) return false;
        if (a->kind == HR_ATTR_FUNCS && !sound_func(&a->funcs[i])) return false;
    }
    return true;
}

bool hr__attr_sound(const hr_attr *a)
{
    if (is_list(a->kind)) return a->count >= 0 && (a->count == 0 || a->ints) && sound_items(a);
    if (a->kind == HR_ATTR_STRING) return sound_view(a->s);
    if (a->kind == HR_ATTR_SHAPE) return hr__shape_possible(a->shape);
    if (a->kind == HR_ATTR_FUNC) return sound_func(a->func);
    return true;
}

/* ---- copies ---- */

static bool copy_view(hr__arena *arena, hr_view *view)
{
    view->data = hr__arena_text(arena, view->data, (size_t)view->size);
    return view->data != NULL;
}

/* A slack as buffers have it: kernels may read past the end. */
static hr_status copy_tensor(hr__arena *arena, hr_tensor *t, hr_error *err)
{
    HR_TRY(hr__check_tensor(t, "graph.attr", &t->count, err));
    const size_t bytes = (size_t)t->count * hr_dtype_size(t->dtype);
    void *data = hr__arena_get(arena, bytes + 64);
    if (!data) return hr_no_memory(err, "an attribute");
    if (bytes) memcpy(data, t->data, bytes);
    t->data = data;
    t->buffer = NULL;
    for (int64_t i = 0; t->dtype == HR_STRING && i < t->count; i++)
        if (!copy_view(arena, &((hr_view *)data)[i])) return hr_no_memory(err, "an attribute");
    return HR_OK;
}

enum { DEEPEST = 32 /* functions within functions' attributes */ };

static hr_status attr_copy(hr__arena *arena, hr_attr *a, int depth, hr_error *err);

static hr_status copy_func(hr__arena *arena, hr_func *f, int depth, hr_error *err)
{
    hr_attr *attrs = hr__arena_copy(arena, f->attrs, sizeof *attrs * (size_t)f->attr_count);
    f->name = hr__arena_text(arena, f->name, strlen(f->name));
    if (!attrs || !f->name) return hr_no_memory(err, "an attribute");
    for (int i = 0; i < f->attr_count; i++) {
        attrs[i].name = attrs[i].name ? hr__arena_text(arena, attrs[i].name, strlen(attrs[i].name)) : "";
        if (!attrs[i].name) return hr_no_memory(err, "an attribute");
        HR_TRY(attr_copy(arena, &attrs[i], depth + 1, err));
    }
    f->attrs = attrs;
    return HR_OK;
}

static size_t item_size(hr_attr_kind kind)
{
    switch (kind) {
    case HR_ATTR_INTS:
        return sizeof(int64_t);
    case HR_ATTR_FLOATS:
        return sizeof(float);
    case HR_ATTR_TYPES:
        return sizeof(hr_dtype);
    case HR_ATTR_SHAPES:
        return sizeof(hr_shape);
    case HR_ATTR_STRINGS:
        return sizeof(hr_view);
    case HR_ATTR_BOOLS:
        return sizeof(bool);
    case HR_ATTR_TENSORS:
    case HR_ATTR_TENSOR:
        return sizeof(hr_tensor);
    case HR_ATTR_FUNCS:
    case HR_ATTR_FUNC:
        return sizeof(hr_func);
    default:
        return 0;
    }
}

/* What a pointer of `a` points at, whatever its type: all of them share a place in the union. */
static hr_status attr_copy(hr__arena *arena, hr_attr *a, int depth, hr_error *err)
{
    if (!hr__attr_sound(a) || depth > DEEPEST) return refuse_attr(a, err);
    if (a->kind == HR_ATTR_STRING) return copy_view(arena, &a->s) ? HR_OK : hr_no_memory(err, "an attribute");
    const size_t size = item_size(a->kind);
    const int count = is_list(a->kind) ? a->count : 1;
    if (size == 0) return HR_OK;
    if (a->kind == HR_ATTR_TENSOR && !a->tensor) return hr__check_tensor(NULL, "graph.attr", NULL, err);
    void *items = hr__arena_copy(arena, a->ints, size * (size_t)count);
    if (!items) return hr_no_memory(err, "an attribute");
    a->ints = items;
    for (int i = 0; i < count; i++) {
        if (a->kind == HR_ATTR_STRINGS && !copy_view(arena, (hr_view *)items + i))
            return hr_no_memory(err, "an attribute");
        if (a->kind == HR_ATTR_TENSOR || a->kind == HR_ATTR_TENSORS)
            HR_TRY(copy_tensor(arena, (hr_tensor *)items + i, err));
        if (a->kind == HR_ATTR_FUNC || a->kind == HR_ATTR_FUNCS)
            HR_TRY(copy_func(arena, (hr_func *)items + i, depth, err));
    }
    return HR_OK;
}

hr_status hr__attr_copy(hr__arena *arena, hr_attr *attr, hr_error *err) { return attr_copy(arena, attr, 0, err); }
