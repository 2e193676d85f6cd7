/* Cast between numbers and bool. A float beyond the range of an integer gives the integer's least value, NaN too: what
 * x86 gives, and no undefined behaviour. Of a complex number to another type the real part is taken. */
#include <complex.h>
#include <headrace/kernels.h>
#include <string.h>

#define HALF_TYPES(X) X(hr_half, float, HR_HALF, f16) X(hr_bfloat16, float, HR_BFLOAT16, bf16)
#define COMPLEX_TYPES(X)                                                                                               \
    X(float _Complex, float _Complex, HR_COMPLEX64, c64) X(double _Complex, double _Complex, HR_COMPLEX128, c128)
#define CASTABLE_TYPES(X) HR_NUMBER_TYPES(X) X(bool, bool, HR_BOOL, b) HALF_TYPES(X) COMPLEX_TYPES(X)

/* LOW <= x < HIGH is what fits. */
#define FLOAT_TO_INT(T, S, LOW, HIGH, MIN)                                                                             \
    static T S##_from_f64(double x) { return x > (LOW)-1 && x < (HIGH) ? (T)x : (MIN); }
FLOAT_TO_INT(int8_t, i8, -128.0, 128.0, INT8_MIN)
FLOAT_TO_INT(int16_t, i16, -32768.0, 32768.0, INT16_MIN)
FLOAT_TO_INT(int32_t, i32, -2147483648.0, 2147483648.0, INT32_MIN)
FLOAT_TO_INT(uint8_t, u8, 0.0, 256.0, 0)
FLOAT_TO_INT(uint16_t, u16, 0.0, 65536.0, 0)
FLOAT_TO_INT(uint32_t, u32, 0.0, 4294967296.0, 0)
FLOAT_TO_INT(uint64_t, u64, 0.0, 18446744073709551616.0, 0)
static int64_t i64_from_f64(double x)
{
    return x >= -9223372036854775808.0 && x < 9223372036854775808.0 ? (int64_t)x : INT64_MIN;
}
static float f32_from_f64(double x) { return (float)x; }
static double f64_from_f64(double x) { return x; }
static bool b_from_f64(double x) { return x != 0; }
static hr_half f16_from_f64(double x) { return hr_half_put((float)x); }
static hr_bfloat16 bf16_from_f64(double x) { return hr_bfloat16_put((float)x); }
static float _Complex c64_from_f64(double x) { return (float)x; }
static double _Complex c128_from_f64(double x) { return x; }

/* From any integer: through 64 bits, which wraps as a C cast does. */
#define FROM_INT(T, U, D, S)                                                                                           \
    static T S##_from_i64(int64_t x) { return (T)x; }                                                                  \
    static T S##_from_u64(uint64_t x) { return (T)x; }
HR_INTEGER_TYPES(FROM_INT)
HR_FLOAT_TYPES(FROM_INT)
static bool b_from_i64(int64_t x) { return x != 0; }
static bool b_from_u64(uint64_t x) { return x != 0; }
static hr_half f16_from_i64(int64_t x) { return hr_half_put((float)x); }
static hr_half f16_from_u64(uint64_t x) { return hr_half_put((float)x); }
static hr_bfloat16 bf16_from_i64(int64_t x) { return hr_bfloat16_put((float)x); }
static hr_bfloat16 bf16_from_u64(uint64_t x) { return hr_bfloat16_put((float)x); }
static float _Complex c64_from_i64(int64_t x) { return (float)x; }
static float _Complex c64_from_u64(uint64_t x) { return (float)x; }
static double _Complex c128_from_i64(int64_t x) { return (double)x; }
static double _Complex c128_from_u64(uint64_t x) { return (double)x; }

typedef struct conversion {
    const void *in;
    void *out;
    hr_dtype from;
} conversion;

#define FROM_FLOAT_CASE(T, S, IT, ID, GET)                                                                             \
    case ID:                                                                                                           \
        for (int64_t i = first; i < last; i++) out[i] = S##_from_f64((double)GET(((const IT *)c->in)[i]));             \
        break;
#define FROM_INT_CASE(T, S, IT, ID)                                                                                    \
    case ID:                                                                                                           \
        for (int64_t i = first; i < last; i++) out[i] = S##_from_i64((int64_t)((const IT *)c->in)[i]);                 \
        break;
#define CONVERT(T, U, D, S)                                                                                            \
    static void to_##S(int64_t first, int64_t last, void *user)                                                        \
    {                                                                                                                  \
        const conversion *c = user;                                                                                    \
        T *out = c->out;                                                                                               \
        switch (c->from) {                                                                                             \
            FROM_FLOAT_CASE(T, S, float, HR_FLOAT, )                                                                   \
            FROM_FLOAT_CASE(T, S, double, HR_DOUBLE, )                                                                 \
            FROM_FLOAT_CASE(T, S, hr_half, HR_HALF, hr_half_get)                                                       \
            FROM_FLOAT_CASE(T, S, hr_bfloat16, HR_BFLOAT16, hr_bfloat16_get)                                           \
            FROM_FLOAT_CASE(T, S, float _Complex, HR_COMPLEX64, crealf)                                                \
            FROM_FLOAT_CASE(T, S, double _Complex, HR_COMPLEX128, creal)                                               \
            FROM_INT_CASE(T, S, int32_t, HR_INT32)                                                                     \
            FROM_INT_CASE(T, S, int64_t, HR_INT64)                                                                     \
            FROM_INT_CASE(T, S, uint8_t, HR_UINT8)                                                                     \
            FROM_INT_CASE(T, S, int8_t, HR_INT8)                                                                       \
            FROM_INT_CASE(T, S, int16_t, HR_INT16)                                                                     \
            FROM_INT_CASE(T, S, uint16_t, HR_UINT16)                                                                   \
            FROM_INT_CASE(T, S, uint32_t, HR_UINT32)                                                                   \
            FROM_INT_CASE(T, S, bool, HR_BOOL)                                                                         \
        case HR_UINT64:                                                                                                \
            for (int64_t i = first; i < last; i++) out[i] = S##_from_u64(((const uint64_t *)c->in)[i]);                \
            break;                                                                                                     \
        default:                                                                                                       \
            break;                                                                                                     \
        }                                                                                                              \
    }
CASTABLE_TYPES(CONVERT)

/* From complex to complex. */
static void to_other_complex(int64_t first, int64_t last, void *user)
{
    const conversion *c = user;
    if (c->from == HR_COMPLEX64)
        for (int64_t i = first; i < last; i++) ((double _Complex *)c->out)[i] = ((const float _Complex *)c->in)[i];
    else
        for (int64_t i = first; i < last; i++)
            ((float _Complex *)c->out)[i] = (float _Complex)((const double _Complex *)c->in)[i];
}

static bool is_complex(hr_dtype dtype) { return dtype == HR_COMPLEX64 || dtype == HR_COMPLEX128; }

static bool castable(hr_dtype dtype)
{
    switch (dtype) {
#define CASE(T, U, D, S)                                                                                               \
    case D:                                                                                                            \
        return true;
        CASTABLE_TYPES(CASE)
#undef CASE
    default:
        return false;
    }
}

static hr_status cast_compute(hr_kernel *k, hr_error *err)
{
    const hr_tensor *in = k->input[0];
    hr_tensor *out;
    if (in->dtype == hr_node_dtype(k->node)) return hr_kernel_pass(k, 0, 0, in->shape, err);
    if (!castable(in->dtype) || !castable(hr_node_dtype(k->node)))
        return hr_fail(err, HR_UNIMPLEMENTED, "graph.kernel", "Cast %s to %s is not supported",
                       hr_dtype_name(in->dtype), hr_dtype_name(hr_node_dtype(k->node)));
    HR_TRY(hr_kernel_output(k, 0, in->shape, &out, err));
    conversion c = {in->data, out->data, in->dtype};
    if (is_complex(in->dtype) && is_complex(out->dtype)) {
        hr_kernel_parallel(k, out->count, .5, to_other_complex, &c);
        return HR_OK;
    }
    switch (out->dtype) {
#define CASE(T, U, D, S)                                                                                               \
    case D:                                                                                                            \
        hr_kernel_parallel(k, out->count, .5, to_##S, &c);                                                             \
        break;
        CASTABLE_TYPES(CASE)
#undef CASE
    default:
        break;
    }
    return HR_OK;
}

static bool cast_is_float(hr_dtype dtype)
{
    return dtype == HR_FLOAT || dtype == HR_DOUBLE || dtype == HR_HALF || dtype == HR_BFLOAT16 || is_complex(dtype);
}

static void cast_gradient(hr_backward *b)
{
    const hr_dtype from = hr_node_dtype(b->input[0]);
    if (cast_is_float(from) && cast_is_float(hr_node_dtype(b->output[0])))
        b->out[0] = hr_dense_gradient(hr_cast_to(b->grad[0], from));
}

/* ---- the same bytes as another type: a dimension of smaller values comes or goes ---- */

static hr_status bitcast_shape_of(hr_node node, hr_shape in, hr_shape *out, hr_error *err)
{
    const int64_t from = (int64_t)hr_dtype_size(hr_attr_type(node, "T")),
                  to = (int64_t)hr_dtype_size(hr_attr_type(node, "type"));
    const bool splits = from > to, joins = from < to;
    char text[128];
    *out = in;
    if (in.rank < 0) return HR_OK;
    const int64_t last = joins && in.rank > 0 ? in.dims[in.rank - 1] : -2;
    if ((splits && in.rank == HR_MAX_RANK) || (joins && last != -1 && last != to / from))
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                       "expected a last dimension of %lld, or fewer dimensions, got %s", (long long)(to / from),
                       hr_shape_text(in, text, sizeof text));
    if (splits) out->dims[out->rank++] = from / to;
    if (joins) out->rank--;
    return HR_OK;
}

static hr_status bitcast_shape(hr_infer *s, hr_error *err)
{
    return bitcast_shape_of(s->node, s->input[0], &s->output[0], err);
}

static hr_status bitcast_compute(hr_kernel *k, hr_error *err)
{
    const hr_tensor *in = k->input[0];
    hr_shape shape;
    hr_tensor *out;
    HR_TRY(bitcast_shape_of(k->node, in->shape, &shape, err));
    HR_TRY(hr_kernel_output(k, 0, shape, &out, err));
    if (out->count) memcpy(out->data, in->data, (size_t)out->count * hr_dtype_size(out->dtype));
    return HR_OK;
}

static bool cast_known(hr_node node, hr_shape *numbers) { return hr_known_numbers(hr_node_input(node, 0), numbers); }

const hr_graph_op hr_graph_ops_cast_op[] = {
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "Cast",
        .types = "SrcT:any; DstT:any",
        .traits = HR_ELEMENT_WISE | HR_COMPLEX_GRADIENT,
        .shape = hr_infer_unchanged,
        .compute = cast_compute,
        .known = cast_known,
        .gradient = cast_gradient,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "Bitcast",
        .traits = HR_NO_GRADIENT,
        .shape = bitcast_shape,
        .compute = bitcast_compute,
    },
    HR_GRAPH_OPS_END,
};

hr_node hr_cast_to(hr_node x, hr_dtype dtype)
{
    hr_handle_info variable;
    const bool handle = hr_node_dtype(x) == HR_RESOURCE && hr_handle_of(x, &variable);
    if ((handle ? variable.dtype : hr_node_dtype(x)) == dtype) return x;
    return hr_new_node(x.graph, "Cast", HR_INPUTS(x), HR_ATTRS(HR_TYPE_ATTR("DstT", dtype)));
}
