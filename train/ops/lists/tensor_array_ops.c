/* TensorFlow 1's tensor arrays: resources of a run, written once and read once at each index. `flow` is a number that
 * stands for the order: what is to come after a write takes that write's flow. An array for gradients belongs to the
 * array that it derives, is found by its source, and sums what is written to one index. */
#include <headrace/kernels.h>
#include <headrace/lists.h>
#include <stdio.h>
#include <string.h>

typedef struct cell {
    hr_tensor value; /* HR_INVALID_DTYPE: not written */
    hr_shape shape;  /* of the zeros that stand for it otherwise */
    bool read, cleared;
} cell;

typedef struct array {
    hr_dtype dtype;
    hr_shape shape; /* what each element's may be */
    bool dynamic, clears, alike, sums, closed;
    int64_t count;
    cell *cells;
    hr_buffer *memory;    /* of the cells */
    hr_buffer *gradients; /* the first array_gradient */
} array;

typedef struct array_gradient {
    hr_buffer *next;
    hr_view source; /* the node's attribute */
    hr_tensor handle;
} array_gradient;

static void array_clear(array *a)
{
    for (int64_t i = 0; i < a->count; i++) hr_buffer_unref(a->cells[i].value.buffer);
    a->count = 0;
    hr_buffer_unref(a->memory);
    a->memory = NULL;
}

static void array_release(void *resource)
{
    array *a = resource;
    array_clear(a);
    while (a->gradients) {
        hr_buffer *gradient = a->gradients;
        array_gradient *of = hr_buffer_data(gradient);
        a->gradients = of->next;
        hr_buffer_unref(of->handle.buffer);
        hr_buffer_unref(gradient);
    }
}

static const hr_resource_kind array_kind = {.name = "TensorArray", .size = sizeof(array), .release = array_release};

/* ---- the array ---- */

static hr_status array_of(hr_kernel *k, array **a, hr_error *err)
{
    void *thing;
    HR_TRY(hr_kernel_resource(k, 0, &array_kind, &thing, err));
    *a = thing;
    return (*a)->closed ? hr_fail(err, HR_INVALID_ARGUMENT, "tensor_array.closed",
                                  "TensorArray %s has already been closed.", hr_kernel_variable_name(k, 0))
                        : HR_OK;
}

static hr_status array_of_type(hr_kernel *k, array **a, hr_dtype dtype, hr_error *err)
{
    HR_TRY(array_of(k, a, err));
    if ((*a)->dtype == dtype) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "tensor_array.dtype", "TensorArray dtype is %s but Op requested dtype %s.",
                   hr_dtype_name((*a)->dtype), hr_dtype_name(dtype));
}

/* Cells that are new are neither written nor of known shape. */
static hr_status array_grow(hr_kernel *k, array *a, int64_t count, hr_error *err)
{
    if (count <= a->count) return HR_OK;
    if (!a->memory || (size_t)count > hr_buffer_size(a->memory) / sizeof *a->cells) {
        const int64_t capacity = count > INT32_MAX || count / 2 > a->count ? count : count + a->count;
        hr_buffer *memory = hr_kernel_buffer(k, (size_t)capacity * sizeof *a->cells);
        if (!memory) return hr_no_memory(err, "a tensor array");
        if (a->count) memcpy(hr_buffer_data(memory), a->cells, (size_t)a->count * sizeof *a->cells);
        hr_buffer_unref(a->memory);
        a->memory = memory;
        a->cells = hr_buffer_data(memory);
    }
    for (; a->count < count; a->count++) a->cells[a->count] = (cell){.shape = HR_UNKNOWN_SHAPE};
    return HR_OK;
}

static hr_status array_check_shape(const array *a, hr_shape shape, hr_error *err)
{
    char x[128], y[128];
    hr_shape both;
    if (hr_shape_merge(a->shape, shape, &both)) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "tensor_array.shape",
                   "expected elements of shape %s, got %s (consider setting infer_shape=False).",
                   hr_shape_text(a->shape, x, sizeof x), hr_shape_text(shape, y, sizeof y));
}

static hr_status write_check(const array *a, int64_t index, const hr_tensor *value, hr_error *err)
{
    char x[128], y[128];
    hr_shape both;
    if (index < 0 || (index >= a->count && !a->dynamic))
        return hr_fail(err, HR_INVALID_ARGUMENT, "tensor_array.index",
                       "Tried to write to index %lld but array is not resizeable and size is: %lld", (long long)index,
                       (long long)a->count);
    const hr_shape before = index < a->count ? a->cells[index].shape : HR_UNKNOWN_SHAPE;
    if (!hr_shape_merge(a->shape, value->shape, &both) || !hr_shape_merge(before, value->shape, &both))
        return hr_fail(err, HR_INVALID_ARGUMENT, "tensor_array.shape",
                       "Could not write to TensorArray index %lld because the value shape is %s which is incompatible "
                       "with the TensorArray's inferred element shape: %s (consider setting infer_shape=False).",
                       (long long)index, hr_shape_text(value->shape, x, sizeof x),
                       hr_shape_text(before.rank >= 0 ? before : a->shape, y, sizeof y));
    if (index < a->count && (a->cells[index].read || a->cells[index].cleared))
        return hr_fail(err, HR_INVALID_ARGUMENT, "tensor_array.twice",
                       "Could not write to TensorArray index %lld because it has already been read.", (long long)index);
    if (index >= a->count || a->cells[index].value.dtype == HR_INVALID_DTYPE || a->sums) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "tensor_array.twice",
                   "Could not write to TensorArray index %lld because it has already been written to.",
                   (long long)index);
}

/* Shares `value`; what is there already, in an array for gradients, is added. */
static hr_status array_write(hr_kernel *k, array *a, int64_t index, const hr_tensor *value, hr_error *err)
{
    hr_tensor own = *value;
    HR_TRY(write_check(a, index, value, err));
    HR_TRY(array_grow(k, a, index + 1, err));
    cell *c = &a->cells[index];
    if (c->value.dtype == HR_INVALID_DTYPE)
        hr_buffer_ref(own.buffer);
    else
        HR_TRY(hr_list_sum(k, &c->value, value, &own, err));
    hr_buffer_unref(c->value.buffer);
    c->value = own;
    c->shape = own.shape;
    if (a->alike) a->shape = own.shape;
    return HR_OK;
}

/* Gives the element with a reference. */
static hr_status array_read(hr_kernel *k, array *a, int64_t index, hr_tensor *out, hr_error *err)
{
    char text[128];
    *out = (hr_tensor){0};
    if (index < 0 || index >= a->count)
        return hr_fail(err, HR_INVALID_ARGUMENT, "tensor_array.index",
                       "Tried to read from index %lld but array size is: %lld", (long long)index, (long long)a->count);
    cell *c = &a->cells[index];
    if (c->cleared)
        return hr_fail(err, HR_INVALID_ARGUMENT, "tensor_array.twice",
                       "Could not read index %lld twice because it was cleared after a previous read (perhaps try "
                       "setting clear_after_read = false?)",
                       (long long)index);
    const hr_shape zeros = hr_shape_count(c->shape) >= 0 ? c->shape : a->shape;
    if (c->value.dtype == HR_INVALID_DTYPE && hr_shape_count(zeros) < 0)
        return hr_fail(err, HR_INVALID_ARGUMENT, "tensor_array.shape",
                       "Could not read from TensorArray index %lld.  Furthermore, the element shape is not fully "
                       "defined: %s.",
                       (long long)index, hr_shape_text(a->shape, text, sizeof text));
    if (c->value.dtype == HR_INVALID_DTYPE) HR_TRY(hr_list_zeros(k, a->dtype, zeros, &c->value, err));
    *out = c->value;
    hr_buffer_ref(out->buffer);
    c->read = true;
    if (!a->clears) return HR_OK;
    c->cleared = true;
    hr_buffer_unref(c->value.buffer);
    c->value = (hr_tensor){0};
    return HR_OK;
}

static hr_status pass_flow(hr_kernel *k, int o, hr_error *err)
{
    return hr_kernel_pass(k, o, k->inputs - 1, k->input[k->inputs - 1]->shape, err);
}

/* ---- made, measured, closed ---- */

static hr_status size_input(const hr_kernel *k, int64_t *size, hr_error *err)
{
    HR_TRY(hr_expect_rank("TensorArray size", k->input[0]->shape, 0, err));
    *size = hr_int_at(k->input[0], 0);
    if (*size >= 0) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "tensor_array.index", "Size should be >= 0.");
}

static hr_status new_compute(hr_kernel *k, hr_error *err)
{
    hr_tensor handle, *flow;
    void *thing;
    int64_t size = 0;
    HR_TRY(size_input(k, &size, err));
    HR_TRY(hr_kernel_new_resource(k, &array_kind, hr_attr_or_name(k->node, "tensor_array_name"), &handle, &thing, err));
    hr_kernel_give(k, 0, handle);
    array *a = thing;
    a->dtype = hr_attr_type(k->node, "dtype");
    a->shape = hr_attr_shape(k->node, "element_shape");
    a->dynamic = hr_attr_bool(k->node, "dynamic_size");
    a->clears = hr_attr_bool(k->node, "clear_after_read");
    a->alike = hr_attr_bool(k->node, "identical_element_shapes");
    HR_TRY(array_grow(k, a, size, err));
    HR_TRY(hr_kernel_output(k, 1, HR_SCALAR, &flow, err));
    *(float *)flow->data = 0;
    return HR_OK;
}

static array_gradient *gradient_named(const array *a, hr_view source)
{
    for (hr_buffer *at = a->gradients; at;) {
        array_gradient *gradient = hr_buffer_data(at);
        if (gradient->source.size == source.size &&
            (source.size == 0 || memcmp(gradient->source.data, source.data, (size_t)source.size) == 0))
            return gradient;
        at = gradient->next;
    }
    return NULL;
}

/* As long as the array, with its shapes. Neither grows from now on. */
static hr_status gradient_new(hr_kernel *k, array *a, hr_view source, hr_tensor *handle, hr_error *err)
{
    void *thing;
    if (a->sums)
        return hr_fail(err, HR_INVALID_ARGUMENT, "tensor_array.gradient",
                       "Unable to create a gradients TensorArray for an array of gradients.");
    hr_buffer *memory = hr_kernel_buffer(k, sizeof(array_gradient));
    if (!memory) return hr_no_memory(err, "a tensor array");
    *(array_gradient *)hr_buffer_data(memory) = (array_gradient){.next = a->gradients, .source = source};
    a->gradients = memory;
    HR_TRY(hr_kernel_new_resource(k, &array_kind, hr_kernel_variable_name(k, 0), handle, &thing, err));
    ((array_gradient *)hr_buffer_data(memory))->handle = *handle;
    array *of = thing;
    of->dtype = a->dtype;
    of->shape = a->shape;
    of->clears = a->clears;
    of->alike = a->alike;
    of->sums = true;
    a->dynamic = false;
    HR_TRY(array_grow(k, of, a->count, err));
    for (int64_t i = 0; i < a->count; i++) of->cells[i].shape = a->cells[i].shape;
    return HR_OK;
}

static hr_status gradient_compute(hr_kernel *k, hr_error *err)
{
    array *a;
    hr_tensor handle;
    const hr_view source = hr_attr_string(k->node, "source");
    HR_TRY(array_of(k, &a, err));
    const array_gradient *known = gradient_named(a, source);
    if (known)
        handle = known->handle;
    else
        HR_TRY(gradient_new(k, a, source, &handle, err));
    hr_buffer_ref(handle.buffer);
    hr_kernel_give(k, 0, handle);
    return pass_flow(k, 1, err);
}

static hr_status size_compute(hr_kernel *k, hr_error *err)
{
    array *a;
    hr_tensor *out;
    HR_TRY(array_of(k, &a, err));
    HR_TRY(hr_kernel_output(k, 0, HR_SCALAR, &out, err));
    return hr_put_int(out, 0, a->count, err);
}

static hr_status close_compute(hr_kernel *k, hr_error *err)
{
    array *a;
    HR_TRY(array_of(k, &a, err));
    array_clear(a);
    a->closed = true;
    return HR_OK;
}

/* ---- one element ---- */

static hr_status array_index(hr_kernel *k, int64_t *index, hr_error *err)
{
    HR_TRY(hr_expect_rank("TensorArray index", k->input[1]->shape, 0, err));
    *index = hr_int_at(k->input[1], 0);
    return HR_OK;
}

static hr_status write_compute(hr_kernel *k, hr_error *err)
{
    array *a;
    int64_t index = 0;
    HR_TRY(array_of_type(k, &a, k->input[2]->dtype, err));
    HR_TRY(array_index(k, &index, err));
    HR_TRY(array_write(k, a, index, k->input[2], err));
    return pass_flow(k, 0, err);
}

static hr_status read_compute(hr_kernel *k, hr_error *err)
{
    array *a;
    int64_t index = 0;
    hr_tensor value;
    HR_TRY(array_of_type(k, &a, hr_attr_type(k->node, "dtype"), err));
    HR_TRY(array_index(k, &index, err));
    HR_TRY(array_read(k, a, index, &value, err));
    hr_kernel_give(k, 0, value);
    return HR_OK;
}

/* ---- several elements as one tensor ---- */

static hr_shape array_rows(int64_t rows, hr_shape rest)
{
    hr_shape shape = {rest.rank + 1, {rows}};
    if (rest.rank < 0 || rest.rank >= HR_MAX_RANK) return HR_UNKNOWN_SHAPE;
    for (int i = 0; i < rest.rank; i++) shape.dims[i + 1] = rest.dims[i];
    return shape;
}

static hr_shape without_rows(hr_shape shape)
{
    hr_shape rest = {shape.rank - 1, {0}};
    if (shape.rank < 1) return HR_UNKNOWN_SHAPE;
    for (int i = 0; i < rest.rank; i++) rest.dims[i] = shape.dims[i + 1];
    return rest;
}

/* Reads elements by `indices`, or all of them, into *values, which holds a reference each; *count may be short of them
 * on a failure. */
static hr_status read_many(hr_kernel *k, array *a, const hr_tensor *indices, hr_tensor **values, int64_t *count,
                           hr_error *err)
{
    const int64_t all = indices ? indices->count : a->count;
    *count = 0;
    *values = hr_kernel_temp(k, (size_t)all * sizeof **values);
    if (!*values) return hr_no_memory(err, "elements of a tensor array");
    for (int64_t i = 0; i < all; i++) {
        HR_TRY(array_read(k, a, indices ? hr_int_at(indices, i) : i, &(*values)[i], err));
        ++*count;
    }
    return HR_OK;
}

static void drop_many(hr_tensor *values, int64_t count)
{
    for (int64_t i = 0; i < count; i++) hr_buffer_unref(values[i].buffer);
}

static hr_status put_many(hr_kernel *k, const hr_tensor *values, int64_t count, hr_shape shape, hr_error *err)
{
    hr_tensor scratch, *out;
    size_t at = 0;
    HR_TRY(hr_kernel_begin_output(k, 0, shape, &scratch, &out, err));
    for (int64_t i = 0; i < count; i++) {
        const size_t bytes = (size_t)values[i].count * hr_dtype_size(out->dtype);
        if (bytes) memcpy((char *)out->data + at, values[i].data, bytes);
        at += bytes;
    }
    return hr_kernel_end_output(k, 0, &scratch, out, err);
}

static hr_status zero_size(hr_shape shape, hr_error *err)
{
    char text[128];
    return hr_fail(err, HR_UNIMPLEMENTED, "tensor_array.shape",
                   "TensorArray has size zero, but element shape %s is not fully defined. Currently only static "
                   "shapes are supported when packing zero-size TensorArrays.",
                   hr_shape_text(shape, text, sizeof text));
}

static hr_status inconsistent(const hr_tensor *values, int64_t i, hr_error *err)
{
    char x[128], y[128];
    return hr_fail(err, HR_INVALID_ARGUMENT, "tensor_array.shape",
                   "TensorArray has inconsistent shapes.  Index 0 has shape: %s but index %lld has shape: %s",
                   hr_shape_text(values[0].shape, x, sizeof x), (long long)i,
                   hr_shape_text(values[i].shape, y, sizeof y));
}

static hr_status gather_rows(hr_kernel *k, const array *a, const hr_tensor *values, int64_t count, hr_error *err)
{
    if (count == 0 && hr_shape_count(a->shape) < 0) return zero_size(a->shape, err);
    for (int64_t i = 1; i < count; i++)
        if (!hr_shape_equal(values[0].shape, values[i].shape)) return inconsistent(values, i, err);
    return put_many(k, values, count, array_rows(count, count ? values[0].shape : a->shape), err);
}

static hr_status gather_compute(hr_kernel *k, hr_error *err)
{
    array *a;
    hr_tensor *values = NULL;
    int64_t count = 0;
    HR_TRY(array_of_type(k, &a, hr_attr_type(k->node, "dtype"), err));
    if (k->input[1]->shape.rank != 1)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "Expected indices to be a vector, but received rank %d",
                       k->input[1]->shape.rank);
    HR_TRY(array_check_shape(a, hr_attr_shape(k->node, "element_shape"), err));
    hr_shape_merge(a->shape, hr_attr_shape(k->node, "element_shape"), &a->shape);
    hr_status st = read_many(k, a, k->input[1], &values, &count, err);
    for (int64_t i = 0; st == HR_OK && i < count; i++) st = array_check_shape(a, values[i].shape, err);
    if (st == HR_OK) st = gather_rows(k, a, values, count, err);
    drop_many(values, count);
    return st;
}

static hr_status concat_rows(hr_kernel *k, const array *a, hr_shape rest, const hr_tensor *values, int64_t count,
                             hr_error *err)
{
    hr_tensor *lengths;
    hr_shape both;
    int64_t rows = 0;
    if (count == 0 && rest.rank < 0) rest = without_rows(a->shape);
    if (count == 0 && hr_shape_count(rest) < 0) return zero_size(rest, err);
    HR_TRY(hr_kernel_output(k, 1, HR_SHAPE(count), &lengths, err));
    for (int64_t i = 0; i < count; i++) {
        if (values[i].shape.rank < 1)
            return hr_fail(err, HR_INVALID_ARGUMENT, "tensor_array.shape",
                           "Concat saw a scalar shape at index %lld but requires at least vectors.  Did you mean to "
                           "call pack?",
                           (long long)i);
        if (!hr_shape_merge(rest, without_rows(values[i].shape), &both)) return inconsistent(values, i, err);
        rest = both;
        ((int64_t *)lengths->data)[i] = values[i].shape.dims[0];
        HR_TRY(hr_dim_add(rows, values[i].shape.dims[0], &rows, err));
    }
    return put_many(k, values, count, array_rows(rows, rest), err);
}

static hr_status concat_compute(hr_kernel *k, hr_error *err)
{
    array *a;
    hr_tensor *values = NULL;
    int64_t count = 0;
    HR_TRY(array_of_type(k, &a, hr_attr_type(k->node, "dtype"), err));
    hr_status st = read_many(k, a, NULL, &values, &count, err);
    if (st == HR_OK) st = concat_rows(k, a, hr_attr_shape(k->node, "element_shape_except0"), values, count, err);
    drop_many(values, count);
    return st;
}

/* ---- one tensor as several elements ---- */

static hr_tensor rows_of(const hr_tensor *t, int64_t first, hr_shape shape)
{
    hr_tensor part = *t;
    part.shape = shape;
    part.count = hr_shape_count(shape);
    part.data = (char *)t->data + (size_t)(first * hr_shape_count(without_rows(t->shape))) * hr_dtype_size(t->dtype);
    return part;
}

static hr_status scatter_compute(hr_kernel *k, hr_error *err)
{
    array *a;
    const hr_tensor *indices = k->input[1], *value = k->input[2];
    HR_TRY(array_of_type(k, &a, value->dtype, err));
    if (indices->shape.rank != 1 || value->shape.rank < 1 || value->shape.dims[0] != indices->count)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                       "Expected a vector of indices and a value of as many rows, got %lld indices",
                       (long long)indices->count);
    for (int64_t i = 0; i < indices->count; i++) {
        const hr_tensor row = rows_of(value, i, without_rows(value->shape));
        HR_TRY(array_write(k, a, hr_int_at(indices, i), &row, err));
    }
    return pass_flow(k, 0, err);
}

static hr_status split_check(hr_kernel *k, const array *a, hr_error *err)
{
    const hr_tensor *value = k->input[1], *lengths = k->input[2];
    int64_t rows = 0;
    if (lengths->shape.rank != 1 || value->shape.rank < 1)
        return hr_fail(
            err, HR_INVALID_ARGUMENT, "graph.shape",
            "Expected lengths to be a vector and value to be at least a vector, but received ranks %d and %d",
            lengths->shape.rank, value->shape.rank);
    for (int64_t i = 0; i < lengths->count; i++) {
        const int64_t length = hr_int_at(lengths, i);
        if (length < 0)
            return hr_fail(err, HR_INVALID_ARGUMENT, "tensor_array.shape", "Expected lengths >= 0, got %lld",
                           (long long)length);
        HR_TRY(hr_dim_add(rows, length, &rows, err));
    }
    if (rows != value->shape.dims[0])
        return hr_fail(err, HR_INVALID_ARGUMENT, "tensor_array.shape",
                       "Expected sum of lengths to be equal to values.shape[0], but sum of lengths is %lld and "
                       "value's is %lld",
                       (long long)rows, (long long)value->shape.dims[0]);
    if (a->dynamic ? lengths->count >= a->count : lengths->count == a->count) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "tensor_array.index",
                   "TensorArray's size is not equal to the size of lengths (%lld vs. %lld), and the TensorArray is "
                   "not marked as dynamically resizeable",
                   (long long)a->count, (long long)lengths->count);
}

static hr_status split_compute(hr_kernel *k, hr_error *err)
{
    array *a;
    const hr_tensor *value = k->input[1], *lengths = k->input[2];
    int64_t at = 0;
    HR_TRY(array_of_type(k, &a, value->dtype, err));
    HR_TRY(split_check(k, a, err));
    for (int64_t i = 0; i < lengths->count; i++) {
        const int64_t length = hr_int_at(lengths, i);
        const hr_tensor part = rows_of(value, at, array_rows(length, without_rows(value->shape)));
        HR_TRY(array_write(k, a, i, &part, err));
        at += length;
    }
    return pass_flow(k, 0, err);
}

/* ---- shapes ---- */

/* What the node that made the array says of its elements. */
static hr_shape array_declared(hr_node handle)
{
    while (hr_node_is(handle, "Identity") || hr_node_is(handle, "TensorArrayGradV3")) handle = hr_node_input(handle, 0);
    return hr_node_is(handle, "TensorArrayV3") ? hr_attr_shape(handle, "element_shape") : HR_UNKNOWN_SHAPE;
}

/* The flow goes on as it is. */
static hr_status flow_shape(hr_infer *s, hr_error *err)
{
    (void)err;
    s->output[0] = HR_SCALAR;
    s->output[s->outputs - 1] = s->input[s->inputs - 1];
    return HR_OK;
}

static hr_status read_shape(hr_infer *s, hr_error *err)
{
    (void)err;
    s->output[0] = array_declared(hr_node_input(s->node, 0));
    return HR_OK;
}

static hr_status gather_shape(hr_infer *s, hr_error *err)
{
    (void)err;
    hr_shape shape = hr_attr_shape(s->node, "element_shape");
    if (shape.rank < 0) shape = array_declared(hr_node_input(s->node, 0));
    s->output[0] = array_rows(s->input[1].rank == 1 ? s->input[1].dims[0] : -1, shape);
    return HR_OK;
}

static hr_status concat_shape(hr_infer *s, hr_error *err)
{
    (void)err;
    s->output[0] = array_rows(-1, hr_attr_shape(s->node, "element_shape_except0"));
    s->output[1] = HR_SHAPE(-1);
    return HR_OK;
}

/* ---- gradients ---- */

/* One array of gradients for each call of hr_gradients. */
static hr_node gradient_array(hr_backward *b, hr_node flow, hr_node *handle)
{
    *handle = hr_new_node(b->graph, "TensorArrayGradV3", HR_INPUTS(b->input[0], hr_identity(flow)),
                          HR_ATTRS(HR_STRING_ATTR("source", b->source)));
    return hr_node_output(*handle, 1);
}

/* Of what reads at input 1: what flows back is written there. */
static void gradient_written(hr_backward *b, const char *op)
{
    hr_node handle;
    const hr_node flow = gradient_array(b, b->input[2], &handle);
    b->out[2] = hr_dense_gradient(hr_new_node(b->graph, op, HR_INPUTS(handle, b->input[1], b->grad[0], flow)));
}

/* Of what writes input 2 at input 1: it is read from there. */
static void gradient_read(hr_backward *b, const char *op)
{
    hr_node handle;
    const hr_node flow = gradient_array(b, b->grad[0], &handle);
    b->out[2] = hr_dense_gradient(hr_new_node(b->graph, op, HR_INPUTS(handle, b->input[1], flow),
                                              HR_ATTRS(HR_TYPE_ATTR("dtype", hr_node_dtype(b->input[2])))));
    b->out[3] = hr_dense_gradient(flow);
}

static void read_gradient(hr_backward *b) { gradient_written(b, "TensorArrayWriteV3"); }
static void gather_gradient(hr_backward *b) { gradient_written(b, "TensorArrayScatterV3"); }
static void write_gradient(hr_backward *b) { gradient_read(b, "TensorArrayReadV3"); }
static void scatter_gradient(hr_backward *b) { gradient_read(b, "TensorArrayGatherV3"); }

static void concat_gradient(hr_backward *b)
{
    hr_node handle;
    if (!b->grad[0].graph) return;
    const hr_node flow = gradient_array(b, b->input[1], &handle);
    b->out[1] = hr_dense_gradient(
        hr_new_node(b->graph, "TensorArraySplitV3", HR_INPUTS(handle, b->grad[0], b->output[1], flow)));
}

static void split_gradient(hr_backward *b)
{
    hr_node handle;
    const hr_node flow = gradient_array(b, b->grad[0], &handle);
    b->out[1] = hr_dense_gradient(hr_new_node(b->graph, "TensorArrayConcatV3", HR_INPUTS(handle, flow),
                                              HR_ATTRS(HR_TYPE_ATTR("dtype", hr_node_dtype(b->input[1])))));
    b->out[3] = hr_dense_gradient(flow);
}

#define ARRAY_OP(NAME, TYPES, TRAITS, SHAPE, WHAT)                                                                     \
    .head = HR_GRAPH_OP_HEAD, .name = NAME, .types = TYPES, .traits = HR_STATEFUL | HR_CHEAP | (TRAITS),               \
    .shape = SHAPE, .compute = WHAT##_compute

const hr_graph_op hr_graph_ops_tensor_array_ops[] = {
    {ARRAY_OP("TensorArrayV3", "dtype:any", HR_NO_GRADIENT, hr_infer_scalar, new)},
    {ARRAY_OP("TensorArrayGradV3", NULL, HR_NO_GRADIENT, flow_shape, gradient)},
    {ARRAY_OP("TensorArraySizeV3", NULL, HR_NO_GRADIENT, hr_infer_scalar, size)},
    {ARRAY_OP("TensorArrayCloseV3", NULL, HR_NO_GRADIENT, NULL, close)},
    {ARRAY_OP("TensorArrayReadV3", "dtype:any", 0, read_shape, read), .gradient = read_gradient},
    {ARRAY_OP("TensorArrayWriteV3", "T:any", 0, flow_shape, write), .gradient = write_gradient},
    {ARRAY_OP("TensorArrayGatherV3", "dtype:any", 0, gather_shape, gather), .gradient = gather_gradient},
    {ARRAY_OP("TensorArrayScatterV3", "T:any", 0, flow_shape, scatter), .gradient = scatter_gradient},
    {ARRAY_OP("TensorArrayConcatV3", "dtype:any", 0, concat_shape, concat), .gradient = concat_gradient},
    {ARRAY_OP("TensorArraySplitV3", "T:any", 0, flow_shape, split), .gradient = split_gradient},
    HR_GRAPH_OPS_END,
};
