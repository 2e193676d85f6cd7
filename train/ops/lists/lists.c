/* Lists of tensors: an array of references that grows by doubling, in memory of the session's pool. */
#include <headrace/kernels.h>
#include <headrace/lists.h>
#include <string.h>

static bool is_set(const hr_tensor *element) { return element->dtype != HR_INVALID_DTYPE; }

/* From the end, so that what was pushed last goes first. */
static void drop_elements(hr_list *list, int64_t from)
{
    while (list->count > from) hr_buffer_unref(list->element[--list->count].buffer);
}

static void list_release(void *value)
{
    hr_list *list = value;
    drop_elements(list, 0);
    hr_buffer_unref(list->memory);
}

static hr_status list_add(hr_kernel *k, const void *a, const void *b, hr_tensor *sum, hr_error *err);
static hr_status list_zeros_like(hr_kernel *k, const void *value, hr_tensor *zeros, hr_error *err);

static const hr_variant_kind list_kind = {"list", sizeof(hr_list), list_release, list_add, list_zeros_like};

/* ---- making and changing ---- */

static hr_status list_reserve(hr_kernel *k, hr_list *list, int64_t count, hr_error *err)
{
    if (count <= list->capacity) return HR_OK;
    int64_t capacity = list->capacity > count / 2 ? list->capacity * 2 : count;
    if (capacity < 4) capacity = 4;
    if (capacity > HR_MAX_VALUES / (int64_t)sizeof *list->element) return hr_no_memory(err, "a list");
    hr_buffer *memory = hr_kernel_buffer(k, (size_t)capacity * sizeof *list->element);
    if (!memory) return hr_no_memory(err, "a list");
    if (list->count) memcpy(hr_buffer_data(memory), list->element, (size_t)list->count * sizeof *list->element);
    hr_buffer_unref(list->memory);
    list->memory = memory;
    list->element = hr_buffer_data(memory);
    list->capacity = capacity;
    return HR_OK;
}

hr_status hr_list_resize(hr_kernel *k, hr_list *list, int64_t count, hr_error *err)
{
    HR_TRY(list_reserve(k, list, count, err));
    drop_elements(list, count);
    if (count > list->count)
        memset(list->element + list->count, 0, (size_t)(count - list->count) * sizeof *list->element);
    list->count = count;
    return HR_OK;
}

hr_status hr_list_new(hr_kernel *k, hr_dtype dtype, hr_shape shape, int64_t count, hr_tensor *out, hr_list **list,
                      hr_error *err)
{
    void *value;
    HR_TRY(hr_kernel_new_variant(k, &list_kind, out, &value, err));
    *list = value;
    (*list)->dtype = dtype;
    (*list)->shape = shape;
    (*list)->maximum = -1;
    (*list)->depth = 1;
    const hr_status st = hr_list_resize(k, *list, count, err);
    if (st != HR_OK) hr_tensor_clear(out);
    return st;
}

hr_status hr_list_input(hr_kernel *k, int i, const hr_list **list, hr_error *err)
{
    void *value;
    const hr_variant_kind *kind = i >= 0 && i < k->inputs ? hr_variant_kind_of(k->input[i]) : NULL;
    if (hr_kernel_variant(k, i, &list_kind, &value, NULL) != HR_OK)
        return hr_fail(err, HR_INVALID_ARGUMENT, "list.input", "Input handle is not a list. Saw: '%s'",
                       kind ? kind->name : "none");
    *list = value;
    return HR_OK;
}

hr_status hr_list_input_of(hr_kernel *k, int i, hr_dtype dtype, const hr_list **list, hr_error *err)
{
    HR_TRY(hr_list_input(k, i, list, err));
    if ((*list)->dtype == dtype) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "list.dtype", "Invalid data types; op elements %s but list elements %s",
                   hr_dtype_name(dtype), hr_dtype_name((*list)->dtype));
}

static hr_status list_copy(hr_kernel *k, const hr_list *from, hr_tensor *out, hr_list **list, hr_error *err)
{
    HR_TRY(hr_list_new(k, from->dtype, from->shape, from->count, out, list, err));
    (*list)->maximum = from->maximum;
    (*list)->depth = from->depth;
    for (int64_t i = 0; i < from->count; i++) {
        (*list)->element[i] = from->element[i];
        hr_buffer_ref(from->element[i].buffer);
    }
    return HR_OK;
}

hr_status hr_list_change(hr_kernel *k, int o, int i, hr_list **list, hr_error *err)
{
    const hr_list *from;
    HR_TRY(hr_list_input(k, i, &from, err));
    if (hr_kernel_may_write(k, i)) {
        *list = (hr_list *)from;
        return hr_kernel_pass(k, o, i, HR_SCALAR, err);
    }
    hr_tensor out;
    HR_TRY(list_copy(k, from, &out, list, err));
    hr_kernel_give(k, o, out);
    return HR_OK;
}

static int depth_of(const hr_tensor *value)
{
    void *inner;
    return hr_variant_value(value, &list_kind, &inner, NULL) == HR_OK ? ((const hr_list *)inner)->depth : 0;
}

hr_status hr_list_set(hr_list *list, int64_t i, const hr_tensor *value, hr_error *err)
{
    char a[128], b[128];
    hr_shape both;
    if (value->dtype != list->dtype)
        return hr_fail(err, HR_INVALID_ARGUMENT, "list.dtype",
                       "Invalid data types; op elements %s but list elements %s", hr_dtype_name(value->dtype),
                       hr_dtype_name(list->dtype));
    if (!hr_shape_merge(list->shape, value->shape, &both))
        return hr_fail(err, HR_INVALID_ARGUMENT, "list.shape",
                       "Tried to set a tensor with incompatible shape at a list index. Item element shape: %s list "
                       "shape: %s",
                       hr_shape_text(value->shape, a, sizeof a), hr_shape_text(list->shape, b, sizeof b));
    const int depth = depth_of(value) + 1;
    if (depth > HR_MAX_LIST_DEPTH)
        return hr_fail(err, HR_INVALID_ARGUMENT, "list.depth", "expected at most %d lists within each other",
                       HR_MAX_LIST_DEPTH);
    if (depth > list->depth) list->depth = depth;
    hr_buffer_ref(value->buffer);
    hr_buffer_unref(list->element[i].buffer);
    list->element[i] = *value;
    return HR_OK;
}

/* ---- shapes of elements ---- */

hr_status hr_list_shape_input(const hr_tensor *t, hr_shape *out, hr_error *err)
{
    *out = HR_UNKNOWN_SHAPE;
    if (t->shape.rank == 0 && hr_int_at(t, 0) == -1) return HR_OK;
    if (t->shape.rank == 0)
        return hr_fail(err, HR_INVALID_ARGUMENT, "list.shape",
                       "The only valid scalar shape tensor is the fully unknown shape specified as -1.");
    if (!hr_shape_from_tensor(t, out))
        return hr_fail(err, HR_INVALID_ARGUMENT, "list.shape",
                       "expected a vector of at most %d sizes, got a tensor of rank %d with %lld", HR_MAX_RANK,
                       t->shape.rank, (long long)t->count);
    hr_shape known = *out;
    for (int i = 0; i < out->rank; i++) {
        if (out->dims[i] < -1)
            return hr_fail(err, HR_INVALID_ARGUMENT, "list.shape", "Dimension %lld must be >= -1",
                           (long long)out->dims[i]);
        if (known.dims[i] == -1) known.dims[i] = 1;
    }
    char text[128];
    if (hr_shape_count(known) >= 0) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "list.shape", "expected a shape that a tensor can have, got %s",
                   hr_shape_text(*out, text, sizeof text));
}

hr_shape hr_list_infer_shape(const hr_infer *s, int input)
{
    const hr_tensor *value = hr_infer_value(s, input);
    hr_shape shape;
    return value && hr_list_shape_input(value, &shape, NULL) == HR_OK ? shape : HR_UNKNOWN_SHAPE;
}

hr_status hr_list_merge(hr_shape a, hr_shape b, hr_shape *out, hr_error *err)
{
    char x[128], y[128];
    if (hr_shape_merge(a, b, out)) return HR_OK;
    if (a.rank != b.rank)
        return hr_fail(err, HR_INVALID_ARGUMENT, "list.shape", "Incompatible ranks during merge: %d vs. %d", a.rank,
                       b.rank);
    return hr_fail(err, HR_INVALID_ARGUMENT, "list.shape", "Incompatible shapes during merge: %s vs. %s",
                   hr_shape_text(a, x, sizeof x), hr_shape_text(b, y, sizeof y));
}

hr_status hr_list_common_shape(const hr_list *list, hr_shape shape, hr_shape *out, hr_error *err)
{
    HR_TRY(hr_list_merge(shape, list->shape, out, err));
    for (int64_t i = 0; i < list->count; i++)
        if (is_set(&list->element[i])) HR_TRY(hr_list_merge(*out, list->element[i].shape, out, err));
    return HR_OK;
}

/* ---- values ---- */

static hr_status list_tensor(hr_kernel *k, hr_dtype dtype, hr_shape shape, hr_tensor *out, hr_error *err)
{
    char text[128];
    const int64_t count = hr_shape_count(shape);
    *out = (hr_tensor){0};
    if (count < 0)
        return hr_fail(err, HR_INVALID_ARGUMENT, "list.shape", "expected an element of known shape, got %s",
                       hr_shape_text(shape, text, sizeof text));
    hr_buffer *buffer = hr_kernel_buffer(k, (size_t)count * hr_dtype_size(dtype));
    if (!buffer) return hr_no_memory(err, "an element of a list");
    *out = hr_tensor_of(dtype, shape, hr_buffer_data(buffer));
    out->buffer = buffer;
    return HR_OK;
}

hr_status hr_list_zeros(hr_kernel *k, hr_dtype dtype, hr_shape shape, hr_tensor *out, hr_error *err)
{
    if (dtype == HR_VARIANT)
        return hr_fail(err, HR_INVALID_ARGUMENT, "list.element", "expected a variant in the list, got none");
    HR_TRY(list_tensor(k, dtype, shape, out, err));
    if (out->count) memset(out->data, 0, (size_t)out->count * hr_dtype_size(dtype));
    return HR_OK;
}

/* ---- sums and zeros of whole lists: for gradients ---- */

#define SUM(T, U, D, S)                                                                                                \
    static void sum_##S(const void *a, const void *b, void *out, int64_t count)                                        \
    {                                                                                                                  \
        const T *x = a, *y = b;                                                                                        \
        T *sum = out;                                                                                                  \
        for (int64_t i = 0; i < count; i++) sum[i] = (T)((U)x[i] + (U)y[i]);                                           \
    }
HR_NUMBER_TYPES(SUM)

typedef void sum_fn(const void *a, const void *b, void *out, int64_t count);

static sum_fn *sum_of(hr_dtype dtype)
{
    switch (dtype) {
#define CASE(T, U, D, S)                                                                                               \
    case D:                                                                                                            \
        return sum_##S;
        HR_NUMBER_TYPES(CASE)
#undef CASE
    default:
        return NULL;
    }
}

hr_status hr_list_sum(hr_kernel *k, const hr_tensor *a, const hr_tensor *b, hr_tensor *sum, hr_error *err)
{
    char x[128], y[128];
    *sum = (hr_tensor){0};
    if (!hr_shape_equal(a->shape, b->shape))
        return hr_fail(err, HR_INVALID_ARGUMENT, "list.shape",
                       "Trying to add two tensors with incompatible element shapes. One is %s and the other is %s",
                       hr_shape_text(a->shape, x, sizeof x), hr_shape_text(b->shape, y, sizeof y));
    sum_fn *add = sum_of(a->dtype);
    if (!add)
        return hr_fail(err, HR_INVALID_ARGUMENT, "list.dtype", "Trying to add unsupported dtype %s",
                       hr_dtype_name(a->dtype));
    HR_TRY(list_tensor(k, a->dtype, a->shape, sum, err));
    add(a->data, b->data, sum->data, sum->count);
    return HR_OK;
}

static hr_status add_elements(hr_kernel *k, const hr_tensor *a, const hr_tensor *b, hr_tensor *sum, hr_error *err)
{
    if (is_set(a) && is_set(b))
        return a->dtype == HR_VARIANT ? hr_kernel_add_variants(k, a, b, sum, err) : hr_list_sum(k, a, b, sum, err);
    *sum = is_set(a) ? *a : *b;
    hr_buffer_ref(sum->buffer);
    return HR_OK;
}

static hr_status check_addends(const hr_list *a, const hr_list *b, hr_shape *shape, hr_error *err)
{
    char x[128], y[128];
    if (a->dtype != b->dtype)
        return hr_fail(err, HR_INVALID_ARGUMENT, "list.dtype",
                       "Trying to add two lists of tensors of different dtypes. One is %s and the other is %s",
                       hr_dtype_name(a->dtype), hr_dtype_name(b->dtype));
    if (!hr_shape_merge(a->shape, b->shape, shape))
        return hr_fail(err, HR_INVALID_ARGUMENT, "list.shape",
                       "Trying to add two lists of tensors with incompatible element shapes. One is %s and the other "
                       "is %s",
                       hr_shape_text(a->shape, x, sizeof x), hr_shape_text(b->shape, y, sizeof y));
    if (a->count == b->count) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "list.length",
                   "Trying to add two lists of tensors with different lengths. One is %lld and the other is %lld",
                   (long long)a->count, (long long)b->count);
}

static hr_status list_add(hr_kernel *k, const void *x, const void *y, hr_tensor *sum, hr_error *err)
{
    const hr_list *a = x, *b = y;
    hr_shape shape;
    hr_list *list;
    HR_TRY(check_addends(a, b, &shape, err));
    HR_TRY(hr_list_new(k, a->dtype, shape, a->count, sum, &list, err));
    list->depth = a->depth > b->depth ? a->depth : b->depth;
    hr_status st = HR_OK;
    for (int64_t i = 0; st == HR_OK && i < a->count; i++)
        st = add_elements(k, &a->element[i], &b->element[i], &list->element[i], err);
    if (st != HR_OK) hr_tensor_clear(sum);
    return st;
}

static hr_status zeros_like_element(hr_kernel *k, const hr_tensor *like, hr_tensor *zeros, hr_error *err)
{
    if (!is_set(like)) return HR_OK;
    if (like->dtype == HR_VARIANT) return hr_kernel_zeros_like_variant(k, like, zeros, err);
    if (like->dtype == HR_STRING)
        return hr_fail(err, HR_INVALID_ARGUMENT, "list.dtype",
                       "Trying to compute zeros_like for unsupported dtype string");
    return hr_list_zeros(k, like->dtype, like->shape, zeros, err);
}

static hr_status list_zeros_like(hr_kernel *k, const void *value, hr_tensor *zeros, hr_error *err)
{
    const hr_list *like = value;
    hr_list *list;
    HR_TRY(hr_list_new(k, like->dtype, like->shape, like->count, zeros, &list, err));
    list->depth = like->depth;
    hr_status st = HR_OK;
    for (int64_t i = 0; st == HR_OK && i < like->count; i++)
        st = zeros_like_element(k, &like->element[i], &list->element[i], err);
    if (st != HR_OK) hr_tensor_clear(zeros);
    return st;
}

hr_node hr_list_reserved_like(hr_node list, hr_dtype dtype)
{
    const hr_node length = hr_new_node(list.graph, "TensorListLength", HR_INPUTS(list));
    const hr_node shape = hr_new_node(list.graph, "TensorListElementShape", HR_INPUTS(list),
                                      HR_ATTRS(HR_TYPE_ATTR("shape_type", HR_INT32)));
    return hr_new_node(list.graph, "TensorListReserve", HR_INPUTS(shape, length),
                       HR_ATTRS(HR_TYPE_ATTR("element_dtype", dtype)));
}
