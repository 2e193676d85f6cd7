/* Lists of tensors for kernels: the variants that TensorFlow's TensorList ops take and give. An op from outside can
 * take and make them, too.
 *
 *     #include <headrace/lists.h>
 *
 * A list is a variant (graph_op.h): lists are shared, their elements are shared again, and a list that others may see
 * is copied before it is changed: its references are, never the values. So adding to a list that nobody else needs
 * takes a constant time on average. HR_GRAPH_OP_ABI is the version of these declarations, too. Every `err` may be
 * NULL. */
#ifndef HR_LISTS_H
#define HR_LISTS_H

#include <headrace/graph_op.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { HR_MAX_LIST_DEPTH = 64 /* lists within each other */ };

/* A list. Its fields may be read; the calls below change it. */
typedef struct hr_list {
    hr_dtype dtype;     /* of every element */
    hr_shape shape;     /* every element's shape fits this one, which may be unknown */
    int64_t maximum;    /* how many elements it may have; -1: any number */
    int64_t count;      /* how many it has */
    hr_tensor *element; /* [count]; HR_INVALID_DTYPE: not set yet, which is read as zeros */
    int depth;          /* 1; of lists of lists one more for each level */
    int64_t capacity;
    hr_buffer *memory; /* of the elements */
} hr_list;

/* Makes a list of `count` elements that are not set; `shape` is what each may be. Give `out` to an output, or clear it.
 * Lends *list. */
HR_API hr_status hr_list_new(hr_kernel *k, hr_dtype dtype, hr_shape shape, int64_t count, hr_tensor *out,
                             hr_list **list, hr_error *err);
/* The list that input i holds. Borrows. HR_INVALID_ARGUMENT, "list.input": it holds none. */
HR_API hr_status hr_list_input(hr_kernel *k, int i, const hr_list **list, hr_error *err);
/* The same, of elements of type `dtype`; HR_INVALID_ARGUMENT, "list.dtype": they are of another one. */
HR_API hr_status hr_list_input_of(hr_kernel *k, int i, hr_dtype dtype, const hr_list **list, hr_error *err);
/* Makes output o the list of input i, to be changed: the list itself if nobody else needs it, else a copy. Lends
 * *list. */
HR_API hr_status hr_list_change(hr_kernel *k, int o, int i, hr_list **list, hr_error *err);

/* Changes how many elements there are: new ones are not set, those beyond are dropped. */
HR_API hr_status hr_list_resize(hr_kernel *k, hr_list *list, int64_t count, hr_error *err);
/* Shares `value` as element i, which must be there. HR_INVALID_ARGUMENT, "list.dtype" or "list.shape": it is of another
 * type, or its shape does not fit; "list.depth": lists would be too deep within each other. */
HR_API hr_status hr_list_set(hr_list *list, int64_t i, const hr_tensor *value, hr_error *err);

/* Reads the shape of elements from a tensor: -1 is unknown, else a vector in which -1 is any size. */
HR_API hr_status hr_list_shape_input(const hr_tensor *t, hr_shape *out, hr_error *err);
/* The same for a shape function: what a constant says, else unknown. */
HR_API hr_shape hr_list_infer_shape(const hr_infer *s, int input);
/* What both shapes say together. HR_INVALID_ARGUMENT, "list.shape": they exclude each other. */
HR_API hr_status hr_list_merge(hr_shape a, hr_shape b, hr_shape *out, hr_error *err);
/* The shape that the elements have in common with `shape` and the list's: those that are set say it, too. */
HR_API hr_status hr_list_common_shape(const hr_list *list, hr_shape shape, hr_shape *out, hr_error *err);
/* A tensor of zeros, empty strings, or false. Gives. */
HR_API hr_status hr_list_zeros(hr_kernel *k, hr_dtype dtype, hr_shape shape, hr_tensor *out, hr_error *err);

/* The sum of two tensors of numbers of one shape. Gives. */
HR_API hr_status hr_list_sum(hr_kernel *k, const hr_tensor *a, const hr_tensor *b, hr_tensor *sum, hr_error *err);
/* For gradients: a list as long as `list`, for elements of its shape, with none set. */
HR_API hr_node hr_list_reserved_like(hr_node list, hr_dtype dtype);

#ifdef __cplusplus
}
#endif
#endif
