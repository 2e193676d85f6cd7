/* TensorFlow 1's stacks of tensors, which the derivatives of its loops are made with: resources of a run. */
#include <headrace/kernels.h>
#include <string.h>

typedef struct stack {
    hr_dtype dtype;
    int64_t maximum; /* -1: none */
    int64_t count;
    bool closed;
    hr_tensor *element;
    hr_buffer *memory; /* of the elements */
} stack;

static void stack_release(void *resource)
{
    stack *s = resource;
    while (s->count > 0) hr_buffer_unref(s->element[--s->count].buffer);
    hr_buffer_unref(s->memory);
    s->memory = NULL;
}

static const hr_resource_kind stack_kind = {.name = "Stack", .size = sizeof(stack), .release = stack_release};

static hr_status stack_of(hr_kernel *k, stack **s, hr_error *err)
{
    void *thing;
    HR_TRY(hr_kernel_resource(k, 0, &stack_kind, &thing, err));
    *s = thing;
    if (!(*s)->closed) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "stack.closed", "Stack[%s] has already been closed.",
                   hr_kernel_variable_name(k, 0));
}

static hr_status stack_check_type(const stack *s, hr_dtype dtype, hr_error *err)
{
    if (s->dtype == dtype) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "stack.dtype", "Must have type %s but got %s", hr_dtype_name(s->dtype),
                   hr_dtype_name(dtype));
}

static hr_status new_compute(hr_kernel *k, hr_error *err)
{
    hr_tensor handle;
    void *thing;
    HR_TRY(hr_expect_rank("Stack size", k->input[0]->shape, 0, err));
    HR_TRY(hr_kernel_new_resource(k, &stack_kind, hr_attr_or_name(k->node, "stack_name"), &handle, &thing, err));
    ((stack *)thing)->dtype = hr_attr_type(k->node, "elem_type");
    ((stack *)thing)->maximum = hr_int_at(k->input[0], 0);
    hr_kernel_give(k, 0, handle);
    return HR_OK;
}

static hr_status stack_reserve(hr_kernel *k, stack *s, hr_error *err)
{
    const size_t size = sizeof *s->element, count = (size_t)s->count;
    if (s->memory && count < hr_buffer_size(s->memory) / size) return HR_OK;
    hr_buffer *memory = hr_kernel_buffer(k, (count * 2 + 4) * size);
    if (!memory) return hr_no_memory(err, "a stack");
    if (count) memcpy(hr_buffer_data(memory), s->element, count * size);
    hr_buffer_unref(s->memory);
    s->memory = memory;
    s->element = hr_buffer_data(memory);
    return HR_OK;
}

static hr_status push_compute(hr_kernel *k, hr_error *err)
{
    stack *s;
    HR_TRY(stack_of(k, &s, err));
    HR_TRY(stack_check_type(s, k->input[1]->dtype, err));
    if (s->maximum >= 0 && s->count >= s->maximum)
        return hr_fail(err, HR_INVALID_ARGUMENT, "stack.full", "Stack[%s] overflowed its max_size (%lld)",
                       hr_kernel_variable_name(k, 0), (long long)s->maximum);
    HR_TRY(stack_reserve(k, s, err));
    s->element[s->count] = *k->input[1];
    hr_buffer_ref(s->element[s->count++].buffer);
    return hr_kernel_pass(k, 0, 1, k->input[1]->shape, err);
}

static hr_status pop_compute(hr_kernel *k, hr_error *err)
{
    stack *s;
    HR_TRY(stack_of(k, &s, err));
    HR_TRY(stack_check_type(s, hr_attr_type(k->node, "elem_type"), err));
    if (s->count == 0)
        return hr_fail(err, HR_INVALID_ARGUMENT, "stack.empty", "Stack[%s] is empty when calling Pop().",
                       hr_kernel_variable_name(k, 0));
    hr_kernel_give(k, 0, s->element[--s->count]);
    return HR_OK;
}

static hr_status close_compute(hr_kernel *k, hr_error *err)
{
    stack *s;
    HR_TRY(stack_of(k, &s, err));
    stack_release(s);
    s->closed = true;
    return HR_OK;
}

static hr_status push_shape(hr_infer *s, hr_error *err)
{
    (void)err;
    s->output[0] = s->input[1];
    return HR_OK;
}

#define STACK_OP(NAME, TYPES, SHAPE, WHAT)                                                                             \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = NAME, .types = TYPES, .traits = HR_STATEFUL | HR_CHEAP | HR_NO_GRADIENT,     \
        .shape = SHAPE, .compute = WHAT##_compute                                                                      \
    }

const hr_graph_op hr_graph_ops_stack_ops[] = {
    STACK_OP("StackV2", "elem_type:any", hr_infer_scalar, new),
    STACK_OP("StackPushV2", "T:any", push_shape, push),
    STACK_OP("StackPopV2", "elem_type:any", NULL, pop),
    STACK_OP("StackCloseV2", NULL, NULL, close),
    HR_GRAPH_OPS_END,
};
