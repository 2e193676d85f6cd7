/* Between a list and one tensor of all its elements: stacked, put one after the other, taken apart. Parts of a tensor
 * are elements that share its memory. */
#include <headrace/kernels.h>
#include <headrace/lists.h>
#include <string.h>

static hr_dtype element_dtype(const hr_kernel *k) { return hr_attr_type(k->node, "element_dtype"); }

static hr_shape without_first(hr_shape shape)
{
    hr_shape rest = HR_UNKNOWN_SHAPE;
    if (shape.rank < 1) return rest;
    rest.rank = shape.rank - 1;
    for (int i = 0; i < rest.rank; i++) rest.dims[i] = shape.dims[i + 1];
    return rest;
}

/* The rank would be more than a tensor can have: unknown, which an output cannot be. */
static hr_shape with_first(int64_t first, hr_shape rest)
{
    hr_shape shape = {rest.rank + 1, {first}};
    if (rest.rank < 0 || rest.rank >= HR_MAX_RANK) return HR_UNKNOWN_SHAPE;
    for (int i = 0; i < rest.rank; i++) shape.dims[i + 1] = rest.dims[i];
    return shape;
}

/* Copies an element's values to value `at` of the output; one that is not set: zeros. */
static void put_element(hr_tensor *out, int64_t at, int64_t count, const hr_tensor *element)
{
    const size_t size = hr_dtype_size(out->dtype), bytes = (size_t)count * size;
    if (bytes == 0) return;
    char *to = (char *)out->data + (size_t)at * size;
    if (element->dtype == HR_INVALID_DTYPE)
        memset(to, 0, bytes);
    else
        memcpy(to, element->data, bytes);
}

/* ---- one above the other: Stack and Gather ---- */

/* Rows are the elements of these indices, or all of the list's if there are none. */
static hr_status stack_rows(hr_kernel *k, const hr_list *list, const hr_tensor *indices, hr_shape shape, hr_error *err)
{
    hr_tensor scratch, *out;
    const int64_t rows = indices ? indices->count : list->count, count = hr_shape_count(shape);
    HR_TRY(hr_kernel_begin_output(k, 0, with_first(rows, shape), &scratch, &out, err));
    for (int64_t i = 0; i < rows; i++)
        put_element(out, i * count, count, &list->element[indices ? hr_int_at(indices, i) : i]);
    return hr_kernel_end_output(k, 0, &scratch, out, err);
}

static hr_status unknown_elements(const char *what, hr_shape shape, hr_error *err)
{
    char text[128];
    return hr_fail(err, HR_INVALID_ARGUMENT, "list.shape", "Tried to %s element_shape: %s", what,
                   hr_shape_text(shape, text, sizeof text));
}

static hr_status stack_compute(hr_kernel *k, hr_error *err)
{
    const hr_list *list;
    hr_shape shape;
    HR_TRY(hr_list_input_of(k, 0, element_dtype(k), &list, err));
    const int64_t expected = hr_attr_int(k->node, "num_elements");
    if (expected >= 0 && expected != list->count)
        return hr_fail(err, HR_INVALID_ARGUMENT, "list.length",
                       "Operation expected a list with %lld elements but got a list with %lld elements.",
                       (long long)expected, (long long)list->count);
    HR_TRY(hr_list_shape_input(k->input[1], &shape, err));
    HR_TRY(hr_list_common_shape(list, shape, &shape, err));
    if (hr_shape_count(shape) < 0)
        return unknown_elements(list->count == 0 ? "stack elements of an empty list with non-fully-defined"
                                                 : "stack list which only contains uninitialized tensors and has a "
                                                   "non-fully-defined",
                                shape, err);
    return stack_rows(k, list, NULL, shape, err);
}

static hr_status stack_shape(hr_infer *s, hr_error *err)
{
    (void)err;
    const int64_t count = hr_attr_int(s->node, "num_elements");
    const hr_shape shape = hr_list_infer_shape(s, 1);
    if (shape.rank >= 0) s->output[0] = with_first(count >= 0 ? count : -1, shape);
    return HR_OK;
}

/* A shape as a constant: -1 if nothing is known of it. */
static hr_node shape_node(hr_graph *g, hr_shape shape)
{
    return shape.rank < 0 ? hr_const_number(g, HR_INT32, -1, "element_shape")
                          : hr_const_ints(g, shape.dims, shape.rank, "element_shape");
}

static void stack_gradient(hr_backward *b)
{
    const hr_shape shape = without_first(hr_node_shape(b->grad[0]));
    b->out[0] = hr_dense_gradient(
        hr_new_node(b->graph, "TensorListFromTensor", HR_INPUTS(b->grad[0], shape_node(b->graph, shape))));
}

static hr_status gather_common_shape(const hr_list *list, const hr_tensor *indices, hr_shape *shape, hr_error *err)
{
    HR_TRY(hr_list_merge(*shape, list->shape, shape, err));
    for (int64_t i = 0; i < indices->count; i++) {
        const int64_t index = hr_int_at(indices, i);
        if (index < 0 || index >= list->count)
            return hr_fail(err, HR_INVALID_ARGUMENT, "list.index",
                           "Trying to gather element %lld in a list with %lld elements.", (long long)index,
                           (long long)list->count);
        const hr_tensor *element = &list->element[index];
        if (element->dtype != HR_INVALID_DTYPE) HR_TRY(hr_list_merge(*shape, element->shape, shape, err));
    }
    return HR_OK;
}

static hr_status gather_compute(hr_kernel *k, hr_error *err)
{
    const hr_list *list;
    hr_shape shape;
    HR_TRY(hr_list_input_of(k, 0, element_dtype(k), &list, err));
    HR_TRY(hr_list_shape_input(k->input[2], &shape, err));
    HR_TRY(gather_common_shape(list, k->input[1], &shape, err));
    if (hr_shape_count(shape) < 0)
        return unknown_elements(k->input[1]->count == 0
                                    ? "gather 0-elements from a list with non-fully-defined"
                                    : "gather uninitialized tensors from a list with non-fully-defined",
                                shape, err);
    return stack_rows(k, list, k->input[1], shape, err);
}

static hr_status gather_shape(hr_infer *s, hr_error *err)
{
    (void)err;
    const hr_shape shape = hr_list_infer_shape(s, 2);
    if (shape.rank >= 0) s->output[0] = with_first(s->input[1].rank == 1 ? s->input[1].dims[0] : -1, shape);
    return HR_OK;
}

static void gather_gradient(hr_backward *b)
{
    const hr_node list = hr_list_reserved_like(b->input[0], hr_attr_type(b->node, "element_dtype"));
    b->out[0] = hr_dense_gradient(
        hr_new_node(b->graph, "TensorListScatterIntoExistingList", HR_INPUTS(list, b->grad[0], b->input[1])));
}

/* ---- a tensor's rows as elements: FromTensor and Scatter ---- */

static hr_status check_rows(const hr_tensor *t, hr_error *err)
{
    char text[128];
    if (t->shape.rank >= 1) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "Tensor must be at least a vector, but saw shape: %s",
                   hr_shape_text(t->shape, text, sizeof text));
}

/* Values from `at` on, `shape` many; borrowed. */
static hr_tensor part_of(const hr_tensor *t, int64_t at, hr_shape shape)
{
    hr_tensor part = *t;
    part.shape = shape;
    part.count = hr_shape_count(shape);
    part.data = (char *)t->data + (size_t)at * hr_dtype_size(t->dtype);
    return part;
}

static hr_status set_row(hr_list *list, int64_t index, const hr_tensor *t, int64_t row, hr_error *err)
{
    const hr_shape shape = without_first(t->shape);
    const hr_tensor part = part_of(t, row * hr_shape_count(shape), shape);
    return hr_list_set(list, index, &part, err);
}

/* The shape of elements that input `input` says, which a tensor's rows must fit. */
static hr_status rows_shape(const hr_kernel *k, int input, hr_shape *shape, hr_error *err)
{
    char a[128], b[128];
    hr_shape both;
    const hr_shape row = without_first(k->input[0]->shape);
    HR_TRY(check_rows(k->input[0], err));
    HR_TRY(hr_list_shape_input(k->input[input], shape, err));
    if (hr_shape_merge(*shape, row, &both)) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "list.shape", "Specified a list with shape %s from a tensor with shape %s",
                   hr_shape_text(*shape, a, sizeof a), hr_shape_text(row, b, sizeof b));
}

static hr_status from_tensor_compute(hr_kernel *k, hr_error *err)
{
    const hr_tensor *t = k->input[0];
    hr_tensor out;
    hr_list *list;
    hr_shape shape;
    HR_TRY(rows_shape(k, 1, &shape, err));
    HR_TRY(hr_list_new(k, t->dtype, shape, t->shape.dims[0], &out, &list, err));
    hr_kernel_give(k, 0, out);
    for (int64_t i = 0; i < list->count; i++) HR_TRY(set_row(list, i, t, i, err));
    return HR_OK;
}

/* The sizes of `t` after the first dimension, at run time. */
static hr_node row_shape_node(hr_node t)
{
    const hr_shape row = without_first(hr_node_shape(t));
    if (hr_shape_count(row) >= 0) return shape_node(t.graph, row);
    return hr_slice(hr_shape_of(t), hr_const_ints(t.graph, HR_I64(1), 1, "begin"),
                    hr_const_ints(t.graph, HR_I64(-1), 1, "size"));
}

static void from_tensor_gradient(hr_backward *b)
{
    const hr_shape shape = hr_node_shape(b->input[0]);
    const hr_dtype dtype = hr_attr_type(b->node, "element_dtype");
    b->out[0] =
        hr_dense_gradient(hr_new_node(b->graph, "TensorListStack", HR_INPUTS(b->grad[0], row_shape_node(b->input[0])),
                                      HR_ATTRS(HR_TYPE_ATTR("element_dtype", dtype),
                                               HR_INT_ATTR("num_elements", shape.rank > 0 ? shape.dims[0] : -1))));
}

/* Row i of the tensor becomes element indices[i]. */
static hr_status scatter_check(const hr_tensor *t, const hr_tensor *indices, int64_t *highest, hr_error *err)
{
    HR_TRY(check_rows(t, err));
    *highest = -1;
    if (t->shape.dims[0] != indices->count)
        return hr_fail(err, HR_INVALID_ARGUMENT, "list.index",
                       "Invalid number of rows in input tensor. Expected: %lld Actual: %lld", (long long)indices->count,
                       (long long)t->shape.dims[0]);
    for (int64_t i = 0; i < indices->count; i++) {
        const int64_t index = hr_int_at(indices, i);
        if (index < 0)
            return hr_fail(err, HR_INVALID_ARGUMENT, "list.index",
                           "Indices in TensorListScatter must all be non-negative.");
        if (index > *highest) *highest = index;
    }
    return HR_OK;
}

static hr_status scatter_rows(hr_list *list, const hr_tensor *t, const hr_tensor *indices, hr_error *err)
{
    for (int64_t i = 0; i < indices->count; i++) HR_TRY(set_row(list, hr_int_at(indices, i), t, i, err));
    return HR_OK;
}

/* Input 3, if there is one: how many elements; -1: up to the highest index. */
static hr_status scatter_count(const hr_kernel *k, int64_t highest, int64_t *count, hr_error *err)
{
    *count = highest + 1;
    if (k->inputs < 4) return HR_OK;
    if (k->input[3]->count != 1)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected one num_elements, got %lld",
                       (long long)k->input[3]->count);
    const int64_t given = hr_int_at(k->input[3], 0);
    if (given < -1)
        return hr_fail(err, HR_INVALID_ARGUMENT, "list.length",
                       "TensorListScatter expects num_elements >= -1, found: %lld", (long long)given);
    if (given >= 0 && highest >= given)
        return hr_fail(err, HR_INVALID_ARGUMENT, "list.index",
                       "TensorListScatter: Trying to scatter at index %lld in list with size %lld", (long long)highest,
                       (long long)given);
    if (given >= 0) *count = given;
    return HR_OK;
}

static hr_status scatter_compute(hr_kernel *k, hr_error *err)
{
    int64_t highest, count;
    hr_tensor out;
    hr_list *list;
    hr_shape shape;
    HR_TRY(rows_shape(k, 2, &shape, err));
    HR_TRY(scatter_check(k->input[0], k->input[1], &highest, err));
    HR_TRY(scatter_count(k, highest, &count, err));
    HR_TRY(hr_list_new(k, element_dtype(k), shape, count, &out, &list, err));
    hr_kernel_give(k, 0, out);
    return scatter_rows(list, k->input[0], k->input[1], err);
}

static hr_node gathered(hr_node list, hr_node indices, hr_node like)
{
    return hr_new_node(list.graph, "TensorListGather", HR_INPUTS(list, indices, row_shape_node(like)),
                       HR_ATTRS(HR_TYPE_ATTR("element_dtype", hr_node_dtype(like))));
}

static void scatter_gradient(hr_backward *b)
{
    b->out[0] = hr_dense_gradient(gathered(b->grad[0], b->input[1], b->input[0]));
}

static hr_status scatter_into_compute(hr_kernel *k, hr_error *err)
{
    const hr_list *before;
    hr_list *list;
    int64_t highest;
    HR_TRY(hr_list_input_of(k, 0, element_dtype(k), &before, err));
    HR_TRY(scatter_check(k->input[1], k->input[2], &highest, err));
    HR_TRY(hr_list_change(k, 0, 0, &list, err));
    if (highest >= list->count) HR_TRY(hr_list_resize(k, list, highest + 1, err));
    return scatter_rows(list, k->input[1], k->input[2], err);
}

static void scatter_into_gradient(hr_backward *b)
{
    const hr_node rows = b->input[1], indices = b->input[2];
    const hr_node zeroed =
        hr_new_node(b->graph, "TensorListScatterIntoExistingList", HR_INPUTS(b->grad[0], hr_zeros_like(rows), indices));
    const hr_node length = hr_new_node(b->graph, "TensorListLength", HR_INPUTS(b->input[0])); /* it may have grown */
    b->out[0] = hr_dense_gradient(hr_new_node(b->graph, "TensorListResize", HR_INPUTS(zeroed, length)));
    b->out[1] = hr_dense_gradient(gathered(b->grad[0], indices, rows));
}

/* ---- one after the other: Concat and Split ---- */

/* What the sizes of elements follow from, those of the first dimension apart. */
typedef struct concat {
    const hr_list *list;
    const hr_tensor *leading; /* sizes of elements that are not set; NULL or empty: `first` */
    hr_shape rest;
    int64_t first; /* that all have in common; -1: unknown */
} concat;

static hr_status concat_of_scalars(hr_error *err)
{
    return hr_fail(err, HR_INVALID_ARGUMENT, "list.shape",
                   "Concat requires elements to be at least vectors, found scalars instead.");
}

static hr_status concat_find_rest(concat *c, hr_shape shape, hr_error *err)
{
    hr_shape given;
    char text[128];
    if (shape.rank == 0 || c->list->shape.rank == 0) return concat_of_scalars(err);
    HR_TRY(hr_list_merge(without_first(shape), without_first(c->list->shape), &c->rest, err));
    c->first = shape.rank > 0 ? shape.dims[0] : -1;
    if (c->first < 0 && c->list->shape.rank > 0) c->first = c->list->shape.dims[0];
    bool alike = true;
    for (int64_t i = 0; i < c->list->count; i++) {
        const hr_tensor *element = &c->list->element[i];
        if (element->dtype == HR_INVALID_DTYPE) continue;
        given = element->shape;
        if (given.rank == 0)
            return hr_fail(err, HR_INVALID_ARGUMENT, "list.shape",
                           "Concat saw a scalar shape at index %lld but requires at least vectors.", (long long)i);
        HR_TRY(hr_list_merge(c->rest, without_first(given), &c->rest, err));
        if (c->first < 0 && alike) c->first = given.dims[0];
        alike = alike && c->first == given.dims[0];
    }
    if (!alike && shape.rank < 1) c->first = -1;
    if (hr_shape_count(c->rest) >= 0) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "list.shape",
                   "All except the first dimension must be fully defined when concating an empty tensor list. "
                   "element_shape: %s",
                   hr_shape_text(c->rest, text, sizeof text));
}

static hr_status concat_length(const concat *c, int64_t i, int64_t *length, hr_error *err)
{
    const hr_tensor *element = &c->list->element[i];
    const int64_t sizes = c->leading ? c->leading->count : 0;
    *length = c->first;
    if (element->dtype != HR_INVALID_DTYPE)
        *length = element->shape.dims[0];
    else if (i < sizes)
        *length = hr_int_at(c->leading, i);
    else if (sizes > 0 || c->first < 0)
        return hr_fail(err, HR_INVALID_ARGUMENT, "list.element",
                       "List contains uninitialized tensor at index %lld but leading_dims has only %lld elements.",
                       (long long)i, (long long)sizes);
    if (*length >= 0) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "list.shape", "expected leading_dims of at least 0, got %lld",
                   (long long)*length);
}

static hr_status concat_give(hr_kernel *k, const concat *c, hr_error *err)
{
    hr_tensor *lengths, scratch, *out;
    int64_t rows = 0, at = 0;
    HR_TRY(hr_kernel_output(k, 1, HR_SHAPE(c->list->count), &lengths, err));
    int64_t *length = lengths->data;
    for (int64_t i = 0; i < c->list->count; i++) {
        HR_TRY(concat_length(c, i, &length[i], err));
        HR_TRY(hr_dim_add(rows, length[i], &rows, err));
    }
    HR_TRY(hr_kernel_begin_output(k, 0, with_first(rows, c->rest), &scratch, &out, err));
    const int64_t row = hr_shape_count(c->rest);
    for (int64_t i = 0; i < c->list->count; i++) {
        put_element(out, at, length[i] * row, &c->list->element[i]);
        at += length[i] * row;
    }
    return hr_kernel_end_output(k, 0, &scratch, out, err);
}

static hr_status concat_compute(hr_kernel *k, hr_error *err)
{
    concat c = {.leading = k->inputs > 2 ? k->input[2] : NULL};
    hr_shape shape;
    HR_TRY(hr_list_input_of(k, 0, element_dtype(k), &c.list, err));
    if (k->inputs > 1)
        HR_TRY(hr_list_shape_input(k->input[1], &shape, err));
    else
        shape = hr_attr_shape(k->node, "element_shape");
    HR_TRY(concat_find_rest(&c, shape, err));
    return concat_give(k, &c, err);
}

static hr_status concat_shape(hr_infer *s, hr_error *err)
{
    (void)err;
    hr_shape shape = s->inputs > 1 ? hr_list_infer_shape(s, 1) : hr_attr_shape(s->node, "element_shape");
    if (shape.rank > 0) shape.dims[0] = -1;
    if (shape.rank > 0) s->output[0] = shape;
    s->output[1] = HR_SHAPE(-1);
    return HR_OK;
}

static void concat_gradient(hr_backward *b)
{
    const hr_node shape = hr_new_node(b->graph, "TensorListElementShape", HR_INPUTS(b->input[0]),
                                      HR_ATTRS(HR_TYPE_ATTR("shape_type", HR_INT32)));
    b->out[0] = hr_dense_gradient(hr_new_node(b->graph, "TensorListSplit", HR_INPUTS(b->grad[0], shape, b->output[1])));
}

static hr_status split_check(const hr_kernel *k, hr_shape shape, hr_error *err)
{
    char a[128], b[128];
    hr_shape both;
    const hr_tensor *t = k->input[0], *lengths = k->input[2];
    HR_TRY(check_rows(t, err));
    if (lengths->shape.rank != 1)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "Expected lengths to be a vector, received shape: %s",
                       hr_shape_text(lengths->shape, a, sizeof a));
    if (shape.rank > 0) shape.dims[0] = -1;
    if (hr_shape_merge(shape, t->shape, &both)) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "list.shape", "tensor shape %s is not compatible with element_shape %s",
                   hr_shape_text(t->shape, a, sizeof a), hr_shape_text(shape, b, sizeof b));
}

static hr_status split_length(int64_t length, int64_t at, int64_t rows, hr_error *err)
{
    if (length < 0)
        return hr_fail(err, HR_INVALID_ARGUMENT, "list.shape", "Invalid value in lengths: %lld", (long long)length);
    if (length <= rows - at) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "list.shape",
                   "Attempting to slice %lld rows from row %lld of a tensor with length %lld", (long long)length,
                   (long long)at, (long long)rows);
}

static hr_status split_compute(hr_kernel *k, hr_error *err)
{
    const hr_tensor *t = k->input[0], *lengths = k->input[2];
    hr_tensor out;
    hr_list *list;
    hr_shape shape;
    int64_t at = 0;
    HR_TRY(hr_list_shape_input(k->input[1], &shape, err));
    HR_TRY(split_check(k, shape, err));
    if (shape.rank > 0) shape.dims[0] = -1;
    HR_TRY(hr_list_new(k, t->dtype, shape, lengths->count, &out, &list, err));
    hr_kernel_give(k, 0, out);
    const hr_shape row = without_first(t->shape);
    for (int64_t i = 0; i < lengths->count; i++) {
        const int64_t length = hr_int_at(lengths, i);
        HR_TRY(split_length(length, at, t->shape.dims[0], err));
        const hr_tensor part = part_of(t, at * hr_shape_count(row), with_first(length, row));
        HR_TRY(hr_list_set(list, i, &part, err));
        at += length;
    }
    if (at == t->shape.dims[0]) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "list.shape",
                   "Unused values in tensor. Length of tensor: %lld Values used: %lld", (long long)t->shape.dims[0],
                   (long long)at);
}

static void split_gradient(hr_backward *b)
{
    const hr_node t = b->input[0], rest = hr_slice(hr_shape_of(t), hr_const_ints(b->graph, HR_I64(1), 1, "begin"),
                                                   hr_const_ints(b->graph, HR_I64(-1), 1, "size"));
    const hr_node shape = hr_concat((const hr_node[]){hr_const_ints(b->graph, HR_I64(-1), 1, "first"), rest}, 2, 0);
    b->out[0] = hr_dense_gradient(hr_new_node(b->graph, "TensorListConcatV2", HR_INPUTS(b->grad[0], shape, b->input[2]),
                                              HR_ATTRS(HR_TYPE_ATTR("element_dtype", hr_node_dtype(t)))));
}

#define LIST_OP(NAME, SHAPE, WHAT)                                                                                     \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = NAME, .types = "element_dtype:any", .shape = SHAPE,                          \
        .compute = WHAT##_compute, .gradient = WHAT##_gradient                                                         \
    }

const hr_graph_op hr_graph_ops_list_value_ops[] = {
    LIST_OP("TensorListStack", stack_shape, stack),
    LIST_OP("TensorListGather", gather_shape, gather),
    LIST_OP("TensorListFromTensor", hr_infer_scalar, from_tensor),
    LIST_OP("TensorListScatter", hr_infer_scalar, scatter),
    LIST_OP("TensorListScatterV2", hr_infer_scalar, scatter),
    LIST_OP("TensorListScatterIntoExistingList", hr_infer_scalar, scatter_into),
    LIST_OP("TensorListConcat", concat_shape, concat),
    LIST_OP("TensorListConcatV2", concat_shape, concat),
    LIST_OP("TensorListSplit", hr_infer_scalar, split),
    HR_GRAPH_OPS_END,
};
