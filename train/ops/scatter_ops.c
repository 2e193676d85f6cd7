/* Parts of a variable changed in place, by index: rows, or slices that several indices name. The updates follow in
 * order; as in TensorFlow, those before an index that is out of range have been done. */
#include <headrace/kernels.h>
#include <string.h>

typedef void apply_fn(void *to, const void *from, int64_t count, int64_t step);

/* a[i] = a[i] OP b[i]; step 0: of one b. Integers wrap. */
#define APPLY(NAME, T, S, EXPRESSION)                                                                                  \
    static void NAME##_##S(void *to, const void *from, int64_t count, int64_t step)                                    \
    {                                                                                                                  \
        T *out = to;                                                                                                   \
        for (int64_t i = 0; i < count; i++) {                                                                          \
            const T a = out[i], b = ((const T *)from)[i * step];                                                       \
            out[i] = (T)(EXPRESSION);                                                                                  \
        }                                                                                                              \
    }
#define ALL(T, U, D, S)                                                                                                \
    APPLY(add, T, S, (U)a + (U)b)                                                                                      \
    APPLY(sub, T, S, (U)a - (U)b)                                                                                      \
    APPLY(mul, T, S, (U)a *(U)b)                                                                                       \
    APPLY(divide, T, S, (T)-1 < (T)1 && b == (T)-1 ? (T)(-(U)a) : a / b)                                               \
    APPLY(min, T, S, b < a ? b : a)                                                                                    \
    APPLY(max, T, S, b > a ? b : a)
HR_NUMBER_TYPES(ALL)

typedef enum scatter_kind { ADD, SUB, MUL, DIVIDE, MIN, MAX, UPDATE } scatter_kind;

static apply_fn *apply_of(scatter_kind kind, hr_dtype dtype)
{
#define CASE(T, U, D, S)                                                                                               \
    if (dtype == D) {                                                                                                  \
        static apply_fn *const all[] = {add_##S, sub_##S, mul_##S, divide_##S, min_##S, max_##S};                      \
        return all[kind];                                                                                              \
    }
    HR_NUMBER_TYPES(CASE)
#undef CASE
    return NULL;
}

/* What goes where: `count` slices of `slice` values, each named by `depth` indices. */
typedef struct scatter {
    hr_tensor *to;
    const hr_tensor *indices, *updates;
    int64_t count, slice;
    int depth;
    bool one; /* a single update for all */
} scatter;

static hr_status wrong_updates(const scatter *s, hr_error *err)
{
    char variable[128], indices[128], updates[128];
    return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                   "expected updates of a slice for each index, got a variable %s, indices %s and updates %s",
                   hr_shape_text(s->to->shape, variable, sizeof variable),
                   hr_shape_text(s->indices->shape, indices, sizeof indices),
                   hr_shape_text(s->updates->shape, updates, sizeof updates));
}

/* updates: the shape of the indices (of slices, without their last dimension), then that of a slice. */
static hr_status measure(scatter *s, bool nd, hr_error *err)
{
    const hr_shape in = s->indices->shape, to = s->to->shape;
    hr_shape expected = in;
    s->depth = nd && in.rank > 0 ? (int)in.dims[in.rank - 1] : 1;
    if (nd && (in.rank == 0 || in.dims[in.rank - 1] > to.rank)) return wrong_updates(s, err);
    if (nd) expected.rank--;
    if (to.rank < s->depth || expected.rank + to.rank - s->depth > HR_MAX_RANK) return wrong_updates(s, err);
    s->count = hr_shape_count(expected);
    s->slice = 1;
    for (int i = s->depth; i < to.rank; i++) {
        expected.dims[expected.rank++] = to.dims[i];
        s->slice *= to.dims[i];
    }
    s->one = !nd && s->updates->shape.rank == 0;
    return s->one || hr_shape_equal(expected, s->updates->shape) ? HR_OK : wrong_updates(s, err);
}

/* Where slice i begins, in values; -1: out of range. */
static int64_t place(const scatter *s, int64_t i)
{
    int64_t at = 0;
    for (int d = 0; d < s->depth; d++) {
        const int64_t index = hr_int_at(s->indices, i * s->depth + d), length = s->to->shape.dims[d];
        if (index < 0 || index >= length) return -1;
        at = at * length + index;
    }
    return at * s->slice;
}

static bool divides_by_zero(const hr_tensor *updates)
{
#define CASE(T, U, D, S)                                                                                               \
    for (int64_t i = 0; updates->dtype == D && i < updates->count; i++)                                                \
        if (((const T *)updates->data)[i] == 0) return true;
    HR_INTEGER_TYPES(CASE)
#undef CASE
    return false;
}

static hr_status out_of_range(const scatter *s, int64_t i, hr_error *err)
{
    return hr_fail(err, HR_INVALID_ARGUMENT, "graph.index", "indices[%lld] = %lld%s is not in [0, %lld)", (long long)i,
                   (long long)hr_int_at(s->indices, i * s->depth), s->depth > 1 ? ", ..." : "",
                   (long long)s->to->shape.dims[0]);
}

static hr_status scatter_all(const scatter *s, scatter_kind kind, hr_error *err)
{
    const size_t size = hr_dtype_size(s->to->dtype);
    apply_fn *apply = kind == UPDATE ? NULL : apply_of(kind, s->to->dtype);
    for (int64_t i = 0; i < s->count; i++) {
        const int64_t at = place(s, i);
        if (at < 0) return out_of_range(s, i, err);
        char *to = (char *)s->to->data + (size_t)at * size;
        const char *from = (const char *)s->updates->data + (s->one ? 0 : (size_t)(i * s->slice) * size);
        if (apply)
            apply(to, from, s->slice, !s->one);
        else if (!s->one)
            memcpy(to, from, (size_t)s->slice * size);
        else
            for (int64_t j = 0; j < s->slice; j++) memcpy(to + (size_t)j * size, from, size);
    }
    return HR_OK;
}

static hr_status scatter_compute(hr_kernel *k, scatter_kind kind, bool nd, hr_error *err)
{
    scatter s = {.indices = k->input[1], .updates = k->input[2]};
    HR_TRY(hr_kernel_update(k, 0, &s.to, err));
    if (s.to->dtype != s.updates->dtype)
        return hr_fail(err, HR_INVALID_ARGUMENT, "variable.shape", "expected updates of %s, got %s",
                       hr_dtype_name(s.to->dtype), hr_dtype_name(s.updates->dtype));
    HR_TRY(measure(&s, nd, err));
    if (kind == DIVIDE && divides_by_zero(s.updates))
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.range", "Integer division by zero");
    return scatter_all(&s, kind, err);
}

#define COMPUTE(KIND)                                                                                                  \
    static hr_status rows_##KIND(hr_kernel *k, hr_error *err) { return scatter_compute(k, KIND, false, err); }
#define COMPUTE_ND(KIND)                                                                                               \
    static hr_status slices_##KIND(hr_kernel *k, hr_error *err) { return scatter_compute(k, KIND, true, err); }
COMPUTE(ADD)
COMPUTE(SUB)
COMPUTE(MUL)
COMPUTE(DIVIDE)
COMPUTE(MIN)
COMPUTE(MAX)
COMPUTE(UPDATE)
COMPUTE_ND(ADD)
COMPUTE_ND(SUB)
COMPUTE_ND(MIN)
COMPUTE_ND(MAX)
COMPUTE_ND(UPDATE)

#define SCATTER(NAME, TYPES, SHAPE, FN)                                                                                \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = NAME, .types = TYPES, .traits = HR_STATEFUL | HR_NO_GRADIENT,                \
        .shape = SHAPE, .compute = FN,                                                                                 \
    }
#define BOTH(NAME, SET, FN)                                                                                            \
    SCATTER("Resource" NAME, "dtype:" SET "; Tindices:indices", NULL, FN),                                             \
        SCATTER(NAME, "T:" SET "; Tindices:indices", hr_infer_unchanged, FN)
#define BOTH_ND(NAME, SET, FN)                                                                                         \
    SCATTER("Resource" NAME, "T:" SET "; Tindices:indices", NULL, FN),                                                 \
        SCATTER(NAME, "T:" SET "; Tindices:indices", hr_infer_unchanged, FN)

const hr_graph_op hr_graph_ops_scatter_ops[] = {
    BOTH("ScatterAdd", "numbers", rows_ADD),
    BOTH("ScatterSub", "numbers", rows_SUB),
    BOTH("ScatterMul", "numbers", rows_MUL),
    BOTH("ScatterDiv", "numbers", rows_DIVIDE),
    BOTH("ScatterMin", "numbers", rows_MIN),
    BOTH("ScatterMax", "numbers", rows_MAX),
    BOTH("ScatterUpdate", "{numbers,bool}", rows_UPDATE),
    BOTH_ND("ScatterNdAdd", "numbers", slices_ADD),
    BOTH_ND("ScatterNdSub", "numbers", slices_SUB),
    BOTH_ND("ScatterNdMin", "numbers", slices_MIN),
    BOTH_ND("ScatterNdMax", "numbers", slices_MAX),
    BOTH_ND("ScatterNdUpdate", "{numbers,bool}", slices_UPDATE),
    HR_GRAPH_OPS_END,
};
