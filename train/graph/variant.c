/* Variants: scalar tensors whose buffer holds a value of a kind, such as a list. The buffer's references are the
 * value's; the last one releases it, from whichever thread. A variant always has a buffer: it is neither fed nor a
 * constant. */
#include "train/graph/graph_internal.h"

#include <stdalign.h>
#include <stddef.h>
#include <string.h>

typedef struct variant {
    hr__holder holder;
    const hr_variant_kind *kind;
    alignas(max_align_t) char value[];
} variant;

static void variant_release(void *data)
{
    variant *v = data;
    if (v->kind->release) v->kind->release(v->value);
}

hr_status hr_kernel_new_variant(hr_kernel *k, const hr_variant_kind *kind, hr_tensor *out, void **value, hr_error *err)
{
    *out = (hr_tensor){0};
    hr_buffer *buffer = hr__buffers_get_holder(k->session->buffers, k->frame->run->budget, sizeof(variant) + kind->size,
                                               variant_release);
    if (!buffer) return hr_no_memory(err, "a variant");
    variant *v = hr_buffer_data(buffer);
    v->kind = kind;
    *out = hr_tensor_of(HR_VARIANT, HR_SCALAR, v);
    out->buffer = buffer;
    *value = v->value;
    return HR_OK;
}

const hr_variant_kind *hr_variant_kind_of(const hr_tensor *tensor)
{
    return tensor->dtype == HR_VARIANT && tensor->buffer ? ((const variant *)tensor->data)->kind : NULL;
}

hr_status hr_variant_value(const hr_tensor *tensor, const hr_variant_kind *kind, void **value, hr_error *err)
{
    const hr_variant_kind *found = hr_variant_kind_of(tensor);
    if (found && strcmp(found->name, kind->name) == 0) {
        *value = ((variant *)tensor->data)->value;
        return HR_OK;
    }
    return hr_fail(err, HR_INVALID_ARGUMENT, "variant.kind", "expected a variant that is a %s, got %s%s", kind->name,
                   found ? "a " : hr_dtype_name(tensor->dtype), found ? found->name : "");
}

hr_status hr_kernel_variant(hr_kernel *k, int i, const hr_variant_kind *kind, void **value, hr_error *err)
{
    if (i < 0 || i >= k->inputs)
        return hr_fail(err, HR_INTERNAL, "graph.failed", "expected one of %d inputs, got number %d", k->inputs, i);
    const hr_status st = hr_variant_value(k->input[i], kind, value, err);
    if (st != HR_OK) hr_error_prefix(err, "input %d: ", i);
    return st;
}

/* ---- what gradients need ---- */

hr_status hr_kernel_add_variants(hr_kernel *k, const hr_tensor *a, const hr_tensor *b, hr_tensor *sum, hr_error *err)
{
    const hr_variant_kind *kind = hr_variant_kind_of(a);
    void *x, *y;
    *sum = (hr_tensor){0};
    if (!kind || !kind->add)
        return hr_fail(err, HR_INVALID_ARGUMENT, "variant.kind", "expected a variant that can be added, got a %s",
                       kind ? kind->name : hr_dtype_name(a->dtype));
    HR_TRY(hr_variant_value(a, kind, &x, err));
    HR_TRY(hr_variant_value(b, kind, &y, err));
    return kind->add(k, x, y, sum, err);
}

hr_status hr_kernel_zeros_like_variant(hr_kernel *k, const hr_tensor *like, hr_tensor *zeros, hr_error *err)
{
    const hr_variant_kind *kind = hr_variant_kind_of(like);
    void *value;
    *zeros = (hr_tensor){0};
    if (!kind || !kind->zeros_like)
        return hr_fail(err, HR_INVALID_ARGUMENT, "variant.kind", "expected a variant that has zeros like it, got a %s",
                       kind ? kind->name : hr_dtype_name(like->dtype));
    HR_TRY(hr_variant_value(like, kind, &value, err));
    return kind->zeros_like(k, value, zeros, err);
}
