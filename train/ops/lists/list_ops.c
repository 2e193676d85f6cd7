/* TensorFlow's tensor lists, element by element: made, pushed to, popped from, read, set and resized. list_value_ops.c
 * has what is between a list and one tensor of all elements. */
#include <headrace/kernels.h>
#include <headrace/lists.h>
#include <string.h>

static hr_dtype element_dtype(const hr_kernel *k) { return hr_attr_type(k->node, "element_dtype"); }

static hr_status refuse_input_shape(const char *text, const hr_tensor *t, hr_error *err)
{
    char shape[128];
    return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "%s %s", text,
                   hr_shape_text(t->shape, shape, sizeof shape));
}

/* ---- new lists ---- */

static hr_status new_list(hr_kernel *k, int64_t count, hr_list **list, hr_error *err)
{
    hr_tensor out;
    hr_shape shape;
    HR_TRY(hr_list_shape_input(k->input[0], &shape, err));
    HR_TRY(hr_list_new(k, element_dtype(k), shape, count, &out, list, err));
    hr_kernel_give(k, 0, out);
    return HR_OK;
}

static hr_status empty_compute(hr_kernel *k, hr_error *err)
{
    hr_list *list;
    HR_TRY(hr_expect_rank("max_num_elements", k->input[1]->shape, 0, err));
    HR_TRY(new_list(k, 0, &list, err));
    list->maximum = hr_int_at(k->input[1], 0);
    return HR_OK;
}

static hr_status reserve_compute(hr_kernel *k, hr_error *err)
{
    hr_list *list;
    if (k->input[1]->count != 1)
        return refuse_input_shape("The num_elements to reserve must be a tensor size 1, but got", k->input[1], err);
    const int64_t count = hr_int_at(k->input[1], 0);
    if (count < 0)
        return hr_fail(err, HR_INVALID_ARGUMENT, "list.length",
                       "The num_elements to reserve must be a non negative number, but got %lld", (long long)count);
    return new_list(k, count, &list, err);
}

/* ---- what a list is ---- */

static hr_status length_compute(hr_kernel *k, hr_error *err)
{
    const hr_list *list;
    hr_tensor *out;
    HR_TRY(hr_list_input(k, 0, &list, err));
    HR_TRY(hr_kernel_output(k, 0, HR_SCALAR, &out, err));
    return hr_put_int(out, 0, list->count, err);
}

static hr_status element_shape_compute(hr_kernel *k, hr_error *err)
{
    const hr_list *list;
    hr_tensor *out;
    HR_TRY(hr_list_input(k, 0, &list, err));
    const int rank = list->shape.rank;
    HR_TRY(hr_kernel_output(k, 0, rank < 0 ? HR_SCALAR : HR_SHAPE(rank), &out, err));
    if (rank < 0) return hr_put_int(out, 0, -1, err);
    for (int i = 0; i < rank; i++) HR_TRY(hr_put_int(out, i, list->shape.dims[i], err));
    return HR_OK;
}

/* ---- at the end ---- */

static hr_status push_check(const hr_list *list, const hr_tensor *value, hr_error *err)
{
    char a[128], b[128];
    hr_shape both;
    if (!hr_shape_merge(list->shape, value->shape, &both))
        return hr_fail(err, HR_INVALID_ARGUMENT, "list.shape",
                       "Tried to append a tensor with incompatible shape to a list. Op element shape: %s list shape: "
                       "%s",
                       hr_shape_text(value->shape, a, sizeof a), hr_shape_text(list->shape, b, sizeof b));
    if (list->maximum < 0 || list->count < list->maximum) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "list.full",
                   "Tried to push item into a full list list size: %lld max_num_elements: %lld", (long long)list->count,
                   (long long)list->maximum);
}

static hr_status push_compute(hr_kernel *k, hr_error *err)
{
    const hr_list *before;
    hr_list *list;
    HR_TRY(hr_list_input_of(k, 0, element_dtype(k), &before, err));
    HR_TRY(push_check(before, k->input[1], err));
    HR_TRY(hr_list_change(k, 0, 0, &list, err));
    HR_TRY(hr_list_resize(k, list, list->count + 1, err));
    return hr_list_set(list, list->count - 1, k->input[1], err);
}

static void push_gradient(hr_backward *b)
{
    const hr_node popped = hr_new_node(b->graph, "TensorListPopBack", HR_INPUTS(b->grad[0], hr_shape_of(b->input[1])),
                                       HR_ATTRS(HR_TYPE_ATTR("element_dtype", hr_attr_type(b->node, "element_dtype"))));
    b->out[0] = hr_dense_gradient(popped);
    b->out[1] = hr_dense_gradient(hr_node_output(popped, 1));
}

/* Output o is the element; where it is not set, zeros of `shape`, which is what an element may be. */
static hr_status give_element(hr_kernel *k, int o, const hr_list *list, int64_t i, hr_shape shape, hr_error *err)
{
    char a[128], b[128];
    hr_shape both;
    hr_tensor element = list->element[i];
    if (element.dtype == HR_INVALID_DTYPE) {
        HR_TRY(hr_list_zeros(k, list->dtype, shape, &element, err));
    } else if (!hr_shape_merge(shape, element.shape, &both)) {
        return hr_fail(err, HR_INVALID_ARGUMENT, "list.shape", "expected an element of shape %s, got %s",
                       hr_shape_text(shape, a, sizeof a), hr_shape_text(element.shape, b, sizeof b));
    } else {
        hr_buffer_ref(element.buffer);
    }
    hr_kernel_give(k, o, element);
    return HR_OK;
}

static hr_status pop_compute(hr_kernel *k, hr_error *err)
{
    char text[128];
    const hr_list *before;
    hr_list *list;
    hr_shape shape;
    HR_TRY(hr_list_input_of(k, 0, element_dtype(k), &before, err));
    if (before->count == 0) return hr_fail(err, HR_INVALID_ARGUMENT, "list.empty", "Trying to pop from an empty list.");
    HR_TRY(hr_list_shape_input(k->input[1], &shape, err));
    if (before->element[before->count - 1].dtype == HR_INVALID_DTYPE) {
        HR_TRY(hr_list_merge(shape, before->shape, &shape, err));
        if (hr_shape_count(shape) < 0)
            return hr_fail(err, HR_INVALID_ARGUMENT, "list.shape",
                           "Trying to read an uninitialized tensor but element_shape is not fully defined: %s",
                           hr_shape_text(shape, text, sizeof text));
    }
    HR_TRY(give_element(k, 1, before, before->count - 1, shape, err));
    HR_TRY(hr_list_change(k, 0, 0, &list, err));
    return hr_list_resize(k, list, list->count - 1, err);
}

static hr_status pop_shape(hr_infer *s, hr_error *err)
{
    (void)err;
    s->output[0] = HR_SCALAR;
    s->output[1] = hr_list_infer_shape(s, 1);
    return HR_OK;
}

static hr_node length_of(hr_node list) { return hr_new_node(list.graph, "TensorListLength", HR_INPUTS(list)); }

/* Where nothing flows to the list that is left, its elements are not set. */
static void pop_gradient(hr_backward *b)
{
    const hr_dtype dtype = hr_attr_type(b->node, "element_dtype");
    const hr_node list = b->grad[0].graph ? b->grad[0] : hr_list_reserved_like(b->output[0], dtype);
    b->out[0] = hr_dense_gradient(hr_new_node(b->graph, "TensorListPushBack", HR_INPUTS(list, hr_backward_grad(b, 1))));
}

/* ---- at an index ---- */

static hr_status index_input(const hr_kernel *k, int input, int64_t *index, hr_error *err)
{
    if (k->input[input]->count != 1) return refuse_input_shape("expected one index, got", k->input[input], err);
    *index = hr_int_at(k->input[input], 0);
    return HR_OK;
}

/* The shape of zeros in the place of an element that is not set: others say it, too. */
static hr_status get_shape_of_zeros(const hr_list *list, hr_shape *shape, hr_error *err)
{
    char text[128];
    HR_TRY(hr_list_merge(*shape, list->shape, shape, err));
    if (hr_shape_count(*shape) >= 0) return HR_OK;
    HR_TRY(hr_list_common_shape(list, *shape, shape, err));
    if (hr_shape_count(*shape) >= 0) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "list.shape",
                   "Trying to read an uninitialized tensor but element_shape is not fully defined: %s and no list "
                   "element is set.",
                   hr_shape_text(*shape, text, sizeof text));
}

static hr_status get_compute(hr_kernel *k, hr_error *err)
{
    const hr_list *list;
    hr_shape shape;
    int64_t index = 0;
    HR_TRY(hr_list_input_of(k, 0, element_dtype(k), &list, err));
    HR_TRY(index_input(k, 1, &index, err));
    if (index < 0 || index >= list->count)
        return hr_fail(err, HR_INVALID_ARGUMENT, "list.index",
                       "Trying to access element %lld in a list with %lld elements.", (long long)index,
                       (long long)list->count);
    HR_TRY(hr_list_shape_input(k->input[2], &shape, err));
    if (list->element[index].dtype == HR_INVALID_DTYPE) HR_TRY(get_shape_of_zeros(list, &shape, err));
    return give_element(k, 0, list, index, shape, err);
}

static hr_status get_shape(hr_infer *s, hr_error *err)
{
    (void)err;
    s->output[0] = hr_list_infer_shape(s, 2);
    return HR_OK;
}

static void get_gradient(hr_backward *b)
{
    const hr_dtype dtype = hr_attr_type(b->node, "element_dtype");
    const hr_node zeros = hr_list_reserved_like(b->input[0], dtype);
    b->out[0] =
        hr_dense_gradient(hr_new_node(b->graph, "TensorListSetItem", HR_INPUTS(zeros, b->input[1], b->grad[0])));
}

static hr_status set_compute(hr_kernel *k, hr_error *err)
{
    const hr_list *before;
    hr_list *list;
    int64_t index = 0;
    HR_TRY(hr_list_input_of(k, 0, element_dtype(k), &before, err));
    HR_TRY(index_input(k, 1, &index, err));
    const bool resizes = hr_attr_bool(k->node, "resize_if_index_out_of_bounds");
    if (index < 0 || (index >= before->count && !resizes))
        return hr_fail(err, HR_INVALID_ARGUMENT, "list.index",
                       "Trying to modify element %lld in a list with %lld elements.", (long long)index,
                       (long long)before->count);
    HR_TRY(hr_list_change(k, 0, 0, &list, err));
    if (index >= list->count) HR_TRY(hr_list_resize(k, list, index + 1, err));
    return hr_list_set(list, index, k->input[2], err);
}

static void set_gradient(hr_backward *b)
{
    const hr_dtype dtype = hr_attr_type(b->node, "element_dtype");
    const hr_node item = b->input[2], index = b->input[1];
    hr_node list = hr_new_node(b->graph, "TensorListSetItem", HR_INPUTS(b->grad[0], index, hr_zeros_like(item)));
    if (hr_attr_bool(b->node, "resize_if_index_out_of_bounds"))
        list = hr_new_node(b->graph, "TensorListResize", HR_INPUTS(list, length_of(b->input[0])));
    b->out[0] = hr_dense_gradient(list);
    b->out[2] =
        hr_dense_gradient(hr_new_node(b->graph, "TensorListGetItem", HR_INPUTS(b->grad[0], index, hr_shape_of(item)),
                                      HR_ATTRS(HR_TYPE_ATTR("element_dtype", dtype))));
}

/* ---- whole lists ---- */

static hr_status resize_compute(hr_kernel *k, hr_error *err)
{
    hr_list *list;
    const hr_list *before;
    HR_TRY(hr_list_input(k, 0, &before, err));
    HR_TRY(hr_expect_rank("size", k->input[1]->shape, 0, err));
    const int64_t size = hr_int_at(k->input[1], 0);
    if (size < 0)
        return hr_fail(err, HR_INVALID_ARGUMENT, "list.length",
                       "TensorListSlice expects size to be non-negative. Got: %lld", (long long)size);
    HR_TRY(hr_list_change(k, 0, 0, &list, err));
    return hr_list_resize(k, list, size, err);
}

static void resize_gradient(hr_backward *b)
{
    b->out[0] =
        hr_dense_gradient(hr_new_node(b->graph, "TensorListResize", HR_INPUTS(b->grad[0], length_of(b->input[0]))));
}

static hr_status concat_lists_check(const hr_kernel *k, const hr_list *a, const hr_list *b, hr_error *err)
{
    char x[128], y[128];
    if (b->dtype != element_dtype(k))
        return hr_fail(err, HR_INVALID_ARGUMENT, "list.dtype", "input_b[0].dtype != element_dtype.  Saw: %s vs. %s",
                       hr_dtype_name(b->dtype), hr_dtype_name(element_dtype(k)));
    if (hr_shape_equal(a->shape, b->shape)) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "list.shape",
                   "input_a and input_b TensorList element shapes are not identical at index 0.  Saw %s vs. %s",
                   hr_shape_text(a->shape, x, sizeof x), hr_shape_text(b->shape, y, sizeof y));
}

static hr_status concat_lists_compute(hr_kernel *k, hr_error *err)
{
    const hr_list *a, *b;
    hr_list *list;
    HR_TRY(hr_list_input_of(k, 0, element_dtype(k), &a, err));
    HR_TRY(hr_list_input(k, 1, &b, err));
    HR_TRY(concat_lists_check(k, a, b, err));
    const int64_t first = a->count;
    HR_TRY(hr_list_change(k, 0, 0, &list, err));
    HR_TRY(hr_list_resize(k, list, first + b->count, err));
    for (int64_t i = 0; i < b->count; i++)
        if (b->element[i].dtype != HR_INVALID_DTYPE) HR_TRY(hr_list_set(list, first + i, &b->element[i], err));
    return HR_OK;
}

#define LIST_OP(NAME, TYPES, TRAITS, SHAPE, WHAT)                                                                      \
    .head = HR_GRAPH_OP_HEAD, .name = NAME, .types = TYPES, .traits = HR_CHEAP | (TRAITS), .shape = SHAPE,             \
    .compute = WHAT##_compute

#define ELEMENTS "element_dtype:{any,variant}"

const hr_graph_op hr_graph_ops_list_ops[] = {
    {LIST_OP("EmptyTensorList", ELEMENTS, HR_NO_GRADIENT, hr_infer_scalar, empty)},
    {LIST_OP("TensorListReserve", ELEMENTS, HR_NO_GRADIENT, hr_infer_scalar, reserve)},
    {LIST_OP("TensorListLength", NULL, HR_NO_GRADIENT, hr_infer_scalar, length)},
    {LIST_OP("TensorListElementShape", NULL, HR_NO_GRADIENT, NULL, element_shape)},
    {LIST_OP("TensorListPushBack", ELEMENTS, 0, hr_infer_scalar, push), .gradient = push_gradient},
    {LIST_OP("TensorListPopBack", ELEMENTS, 0, pop_shape, pop), .gradient = pop_gradient},
    {LIST_OP("TensorListGetItem", ELEMENTS, 0, get_shape, get), .gradient = get_gradient},
    {LIST_OP("TensorListSetItem", ELEMENTS, 0, hr_infer_scalar, set), .gradient = set_gradient},
    {LIST_OP("TensorListResize", NULL, 0, hr_infer_scalar, resize), .gradient = resize_gradient},
    {LIST_OP("TensorListConcatLists", ELEMENTS, HR_NO_GRADIENT, hr_infer_scalar, concat_lists)},
    HR_GRAPH_OPS_END,
};
