/* Initial values of variables, as TensorFlow's nodes. Each initializer is a function that makes them and a constructor
 * that says its numbers; most come down to a few nodes of another one. */
#include "train/graph/graph_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static hr_node initializer_refuse(hr_graph *g, const char *expected, const char *got)
{
    return hr_node_fail(g, HR_INVALID_ARGUMENT, "variable.initializer", "initializer: expected %s, got %s", expected,
                        got);
}

static bool is_real(hr_dtype dtype)
{
    return dtype == HR_FLOAT || dtype == HR_DOUBLE || dtype == HR_HALF || dtype == HR_BFLOAT16;
}

/* The shape that a variance is scaled by. */
static hr_shape whole_shape(const hr_initializer *self, hr_shape shape)
{
    return self->piece ? self->piece->full_shape : shape;
}

/* A node of the name of the scope that is open, as TensorFlow calls the last one: "w/Initializer/random_uniform". */
static hr_node scope_node(hr_graph *g, const char *op, hr_node a, hr_node b)
{
    return hr_new_node(g, op, .name = hr__innermost(g)->scope, HR_INPUTS(a, b));
}

static hr_node dims_node(hr_graph *g, hr_shape shape, const char *name)
{
    return hr_const_ints(g, shape.dims, shape.rank, name);
}

/* ---- constants ---- */

/* TensorFlow's bound: larger ones are filled when the graph runs, so that it stays small. */
enum { SMALL_CONSTANT = 1000 };

/* The first values of `given`, then its last one again and again. */
static hr_node repeated(hr_graph *g, hr_shape shape, const hr_tensor *given, const char *name)
{
    hr_tensor full;
    const size_t size = hr_dtype_size(given->dtype);
    if (hr_tensor_new(&full, given->dtype, shape, NULL) != HR_OK) return hr__graph_no_memory(g, "an initial value");
    for (int64_t i = 0; i < full.count; i++) {
        const int64_t from = i < given->count ? i : given->count - 1;
        memcpy((char *)full.data + (size_t)i * size, (const char *)given->data + (size_t)from * size, size);
    }
    const hr_node node = hr_new_node(g, "Const", .name = name,
                                     HR_ATTRS(HR_TENSOR_ATTR("value", &full), HR_TYPE_ATTR("dtype", given->dtype)));
    hr_tensor_clear(&full);
    return node;
}

static hr_node fill(hr_graph *g, hr_dtype dtype, hr_shape shape, double value, const char *name)
{
    const hr_view empty = {"", 0};
    const hr_tensor none = hr_tensor_of(HR_STRING, HR_SCALAR, &empty);
    hr_name_scope(g, name);
    const hr_node dims = dims_node(g, shape, "shape_as_tensor");
    const hr_node one =
        dtype == HR_STRING ? repeated(g, HR_SCALAR, &none, "Const") : hr_const_number(g, dtype, value, "Const");
    const hr_node node = scope_node(g, "Fill", dims, one);
    hr_scope_end(g);
    return node;
}

static hr_node constant_of(hr_graph *g, hr_dtype dtype, hr_shape shape, double value, const char *name)
{
    const hr_view empty = {"", 0};
    if (dtype == HR_STRING && value != 0) return initializer_refuse(g, "a type of numbers", hr_dtype_name(dtype));
    if (shape.rank == 0 && dtype != HR_STRING) return hr_const_number(g, dtype, value, name);
    if (hr_shape_count(shape) >= SMALL_CONSTANT) return fill(g, dtype, shape, value, name);
    if (dtype == HR_STRING) {
        const hr_tensor none = hr_tensor_of(HR_STRING, HR_SCALAR, &empty);
        return repeated(g, shape, &none, name);
    }
    char bytes[sizeof(double)];
    if (!hr__number_as(dtype, value, bytes)) return hr_const_number(g, dtype, value, name); /* says why */
    const hr_tensor one = hr_tensor_of(dtype, HR_SCALAR, bytes);
    return repeated(g, shape, &one, name);
}

static hr_node make_zeros(hr_graph *g, hr_dtype dtype, hr_shape shape, const hr_initializer *self)
{
    (void)self;
    return constant_of(g, dtype, shape, 0, "zeros");
}

static hr_node make_ones(hr_graph *g, hr_dtype dtype, hr_shape shape, const hr_initializer *self)
{
    (void)self;
    return constant_of(g, dtype, shape, 1, "ones");
}

static hr_node make_constant(hr_graph *g, hr_dtype dtype, hr_shape shape, const hr_initializer *self)
{
    return constant_of(g, dtype, shape, self->a, "Const");
}

static bool dense_of(const hr_tensor *value, hr_dtype dtype)
{
    int64_t count;
    return value && value->dtype == dtype && hr__check_tensor(value, "variable.initializer", &count, NULL) == HR_OK;
}

static hr_node make_values(hr_graph *g, hr_dtype dtype, hr_shape shape, const hr_initializer *self)
{
    char expected[128], got[64];
    const int64_t count = hr_shape_count(shape);
    if (!dense_of(self->value, dtype))
        return initializer_refuse(g, "dense values of the variable's type", self->value ? "others" : "NULL");
    if (self->value->count <= count && (count == 0 || self->value->count > 0))
        return repeated(g, shape, self->value, "Const");
    snprintf(expected, sizeof expected, "1 to %lld values", (long long)count);
    snprintf(got, sizeof got, "%lld", (long long)self->value->count);
    return initializer_refuse(g, expected, got);
}

static hr_node make_value(hr_graph *g, hr_dtype dtype, hr_shape shape, const hr_initializer *self)
{
    hr_shape merged;
    if (!dense_of(self->value, dtype) || !hr_shape_merge(self->value->shape, shape, &merged))
        return initializer_refuse(g, "a value of the variable's type and shape", self->value ? "another" : "NULL");
    return hr_new_node(g, "Const", .name = "Const",
                       HR_ATTRS(HR_TENSOR_ATTR("value", self->value), HR_TYPE_ATTR("dtype", dtype)));
}

/* ---- random numbers ---- */

/* What stands under the names of TensorFlow's random_uniform, random_normal and truncated_normal. */
typedef struct random_form {
    const char *scope, *op, *first, *second;
} random_form;

static const random_form uniform_form = {"random_uniform", "RandomUniform", "min", "max"};
static const random_form normal_form = {"random_normal", "RandomStandardNormal", "mean", "stddev"};
static const random_form truncated_form = {"truncated_normal", "TruncatedNormal", "mean", "stddev"};

/* random * stddev + mean, or random * (max - min) + min. */
static hr_node random_reals(hr_graph *g, hr_dtype dtype, hr_shape shape, int64_t seed, const random_form *form,
                            double first, double second)
{
    int64_t seed1, seed2;
    if (!is_real(dtype)) return initializer_refuse(g, "a variable of floats", hr_dtype_name(dtype));
    hr_random_seeds(g, seed, &seed1, &seed2);
    hr_name_scope(g, form->scope);
    const hr_node dims = dims_node(g, shape, "shape"), a = hr_const_number(g, dtype, first, form->first);
    hr_node b = hr_const_number(g, dtype, second, form->second);
    const hr_node raw =
        hr_new_node(g, form->op, HR_INPUTS(dims),
                    HR_ATTRS(HR_INT_ATTR("seed", seed1), HR_INT_ATTR("seed2", seed2), HR_TYPE_ATTR("dtype", dtype)));
    if (form == &uniform_form) b = hr_new_node(g, "Sub", .name = "sub", HR_INPUTS(b, a));
    const hr_node scaled = hr_new_node(g, "Mul", .name = "mul", HR_INPUTS(raw, b));
    const hr_node shifted = scope_node(g, "AddV2", scaled, a);
    hr_scope_end(g);
    return shifted;
}

static hr_node uniform_ints(hr_graph *g, hr_dtype dtype, hr_shape shape, const hr_initializer *self)
{
    int64_t seed1, seed2;
    hr_random_seeds(g, self->seed, &seed1, &seed2);
    hr_name_scope(g, uniform_form.scope);
    const hr_node dims = dims_node(g, shape, "shape"), min = hr_const_number(g, dtype, self->a, "min");
    const hr_node max = hr_const_number(g, dtype, self->b, "max");
    const hr_node value = hr_new_node(g, "RandomUniformInt", .name = hr__innermost(g)->scope, HR_INPUTS(dims, min, max),
                                      HR_ATTRS(HR_INT_ATTR("seed", seed1), HR_INT_ATTR("seed2", seed2)));
    hr_scope_end(g);
    return value;
}

static hr_node make_uniform(hr_graph *g, hr_dtype dtype, hr_shape shape, const hr_initializer *self)
{
    if (dtype == HR_INT32 || dtype == HR_INT64) return uniform_ints(g, dtype, shape, self);
    return random_reals(g, dtype, shape, self->seed, &uniform_form, self->a, self->b);
}

static hr_node make_normal(hr_graph *g, hr_dtype dtype, hr_shape shape, const hr_initializer *self)
{
    return random_reals(g, dtype, shape, self->seed, &normal_form, self->a, self->b);
}

static hr_node make_truncated(hr_graph *g, hr_dtype dtype, hr_shape shape, const hr_initializer *self)
{
    return random_reals(g, dtype, shape, self->seed, &truncated_form, self->a, self->b);
}

/* ---- scaled by the shape ---- */

void hr_fans(hr_shape shape, double *fan_in, double *fan_out)
{
    double field = 1, unwanted;
    if (!fan_in) fan_in = &unwanted;
    if (!fan_out) fan_out = &unwanted;
    *fan_in = *fan_out = shape.rank > HR_MAX_RANK ? NAN : 1;
    if (shape.rank > HR_MAX_RANK) return;
    if (shape.rank == 1) *fan_in = *fan_out = (double)shape.dims[0];
    if (shape.rank < 2) return;
    for (int i = 0; i < shape.rank - 2; i++) field *= (double)shape.dims[i];
    *fan_in = field * (double)shape.dims[shape.rank - 2];
    *fan_out = field * (double)shape.dims[shape.rank - 1];
}

/* The standard deviation that is left of 1 by cutting at two: divided out, so that the variance comes out right. */
static const double TRUNCATED_DEVIATION = 0.87962566103423978;

static hr_node make_scaled(hr_graph *g, hr_dtype dtype, hr_shape shape, const hr_initializer *self)
{
    double in, out;
    char got[64];
    snprintf(got, sizeof got, "scale %g", self->a);
    if (!(self->a > 0)) return initializer_refuse(g, "a scale above 0", got);
    if (self->mode > HR_FAN_AVG) return initializer_refuse(g, "a mode of hr_fan_mode", "another");
    if (self->distribution > HR_UNIFORM) return initializer_refuse(g, "a hr_distribution", "another");
    hr_fans(whole_shape(self, shape), &in, &out);
    const double n = self->mode == HR_FAN_IN ? in : self->mode == HR_FAN_OUT ? out : (in + out) / 2;
    const double scale = self->a / fmax(1, n), limit = sqrt(3 * scale);
    if (self->distribution == HR_UNIFORM)
        return random_reals(g, dtype, shape, self->seed, &uniform_form, -limit, limit);
    if (self->distribution == HR_UNTRUNCATED)
        return random_reals(g, dtype, shape, self->seed, &normal_form, 0, sqrt(scale));
    return random_reals(g, dtype, shape, self->seed, &truncated_form, 0, sqrt(scale) / TRUNCATED_DEVIATION);
}

static hr_node make_unit_scaled(hr_graph *g, hr_dtype dtype, hr_shape shape, const hr_initializer *self)
{
    const hr_shape whole = whole_shape(self, shape);
    double n = 1;
    for (int i = 0; i < whole.rank - 1; i++) n *= (double)whole.dims[i];
    const double limit = sqrt(3 / fmax(1, n)) * self->a;
    return random_reals(g, dtype, shape, self->seed, &uniform_form, -limit, limit);
}

/* ---- matrices ---- */

static hr_node refuse_rank(hr_graph *g, hr_shape shape, const char *expected)
{
    hr__shape_name got;
    return initializer_refuse(g, expected, hr__shape_in(&got, shape));
}

static hr_node transposed(hr_graph *g, hr_node matrix)
{
    hr_name_scope(g, "matrix_transpose");
    hr_name_scope(g, "transpose");
    const hr_node axes = hr_const_ints(g, HR_I64(1, 0), 2, "perm");
    const hr_node node = scope_node(g, "Transpose", matrix, axes);
    hr_scope_end(g);
    hr_scope_end(g);
    return node;
}

/* value * gain, of names mul and mul/x made unique. */
static hr_node times_gain(hr_graph *g, hr_dtype dtype, double gain, hr_node value)
{
    hr_name_scope(g, "mul");
    const hr_node x = hr_const_number(g, dtype, gain, "x");
    const hr_node node = scope_node(g, "Mul", x, value);
    hr_scope_end(g);
    return node;
}

/* Q of a random matrix's QR, where R has a positive diagonal: each orthogonal matrix is as likely as any other. */
static hr_node make_orthogonal(hr_graph *g, hr_dtype dtype, hr_shape shape, const hr_initializer *self)
{
    if (shape.rank < 2) return refuse_rank(g, shape, "a shape of two or more dimensions");
    const int64_t cols = shape.dims[shape.rank - 1];
    int64_t rows = 1;
    for (int i = 0; i < shape.rank - 1; i++) rows *= shape.dims[i];
    const bool wide = rows < cols;
    const hr_shape tall = wide ? HR_SHAPE(cols, rows) : HR_SHAPE(rows, cols);
    const hr_node a = random_reals(g, dtype, tall, self->seed, &normal_form, 0, 1);
    const hr_node q = hr_new_node(g, "Qr", HR_INPUTS(a));
    const hr_node diagonal = hr_new_node(g, "DiagPart", HR_INPUTS(hr_node_output(q, 1)));
    const hr_node sign = hr_new_node(g, "Sign", HR_INPUTS(diagonal));
    hr_node value = hr_new_node(g, "Mul", .name = "mul", HR_INPUTS(q, sign));
    if (wide) value = transposed(g, value);
    hr_name_scope(g, "Reshape");
    value = scope_node(g, "Reshape", value, dims_node(g, shape, "shape"));
    hr_scope_end(g);
    return times_gain(g, dtype, self->a, value);
}

static hr_node square_eye(hr_graph *g, hr_node ones, hr_dtype dtype)
{
    hr_name_scope(g, "diag");
    const hr_node k = hr_const_number(g, HR_INT32, 0, "k"), rows = hr_const_number(g, HR_INT32, -1, "num_rows");
    const hr_node columns = hr_const_number(g, HR_INT32, -1, "num_cols");
    const hr_node padding = hr_const_number(g, dtype, 0, "padding_value");
    const hr_node eye =
        hr_new_node(g, "MatrixDiagV3", .name = hr__innermost(g)->scope, HR_INPUTS(ones, k, rows, columns, padding));
    hr_scope_end(g);
    return eye;
}

static hr_node other_eye(hr_graph *g, hr_node ones, hr_dtype dtype, hr_shape shape)
{
    const hr_node zeros = constant_of(g, dtype, shape, 0, "zeros");
    hr_name_scope(g, "set_diag");
    const hr_node k = hr_const_number(g, HR_INT32, 0, "k");
    const hr_node eye = hr_new_node(g, "MatrixSetDiagV3", .name = hr__innermost(g)->scope, HR_INPUTS(zeros, ones, k));
    hr_scope_end(g);
    return eye;
}

static hr_node cut_out(hr_graph *g, hr_node whole, hr_shape shape, const hr_variable_piece *piece)
{
    hr_name_scope(g, "Slice");
    const hr_node begin = hr_const_ints(g, piece->offset, shape.rank, "begin"), size = dims_node(g, shape, "size");
    const hr_node node = hr_new_node(g, "Slice", .name = hr__innermost(g)->scope, HR_INPUTS(whole, begin, size));
    hr_scope_end(g);
    return node;
}

static hr_node make_identity(hr_graph *g, hr_dtype dtype, hr_shape shape, const hr_initializer *self)
{
    const hr_shape whole = whole_shape(self, shape);
    if (whole.rank != 2) return refuse_rank(g, whole, "a shape of two dimensions");
    const int64_t least = whole.dims[0] < whole.dims[1] ? whole.dims[0] : whole.dims[1];
    hr_name_scope(g, "eye");
    const hr_node ones = constant_of(g, dtype, HR_SHAPE(least), 1, "ones");
    hr_node eye = whole.dims[0] == whole.dims[1] ? square_eye(g, ones, dtype) : other_eye(g, ones, dtype, whole);
    hr_scope_end(g);
    if (self->piece) eye = cut_out(g, eye, shape, self->piece);
    return times_gain(g, dtype, self->a, eye);
}

/* ---- constructors ---- */

hr_initializer hr_zeros(void) { return (hr_initializer){.make = make_zeros}; }
hr_initializer hr_ones(void) { return (hr_initializer){.make = make_ones, .a = 1}; }
hr_initializer hr_constant_value(double value) { return (hr_initializer){.make = make_constant, .a = value}; }
hr_initializer hr_constant_values(const hr_tensor *values)
{
    return (hr_initializer){.make = make_values, .value = values};
}

static hr_node make_node(hr_graph *g, hr_dtype dtype, hr_shape shape, const hr_initializer *self)
{
    if (self->node.graph == g && hr_node_dtype(self->node) == dtype) return self->node;
    char text[128];
    return hr_node_fail(g, HR_INVALID_ARGUMENT, "variable.initializer",
                        "expected a node of this graph that gives %s %s, got '%s'", hr_dtype_name(dtype),
                        hr_shape_text(shape, text, sizeof text), self->node.graph ? hr_node_name(self->node) : "");
}

hr_initializer hr_initial_node(hr_node value) { return (hr_initializer){.make = make_node, .node = value}; }

hr_initializer hr_initial_value(const hr_tensor *value) { return (hr_initializer){.make = make_value, .value = value}; }

hr_initializer hr_random_uniform(double low, double high, int64_t seed)
{
    return (hr_initializer){.make = make_uniform, .a = low, .b = high, .seed = seed};
}

hr_initializer hr_random_normal(double mean, double stddev, int64_t seed)
{
    return (hr_initializer){.make = make_normal, .a = mean, .b = stddev, .seed = seed};
}

hr_initializer hr_truncated_normal(double mean, double stddev, int64_t seed)
{
    return (hr_initializer){.make = make_truncated, .a = mean, .b = stddev, .seed = seed};
}

hr_initializer hr_variance_scaling(double scale, hr_fan_mode mode, hr_distribution distribution, int64_t seed)
{
    return (hr_initializer){.make = make_scaled, .a = scale, .mode = mode, .distribution = distribution, .seed = seed};
}

hr_initializer hr_glorot_uniform(int64_t seed) { return hr_variance_scaling(1, HR_FAN_AVG, HR_UNIFORM, seed); }
hr_initializer hr_glorot_normal(int64_t seed) { return hr_variance_scaling(1, HR_FAN_AVG, HR_TRUNCATED, seed); }
hr_initializer hr_lecun_uniform(int64_t seed) { return hr_variance_scaling(1, HR_FAN_IN, HR_UNIFORM, seed); }
hr_initializer hr_lecun_normal(int64_t seed) { return hr_variance_scaling(1, HR_FAN_IN, HR_TRUNCATED, seed); }
hr_initializer hr_he_uniform(int64_t seed) { return hr_variance_scaling(2, HR_FAN_IN, HR_UNIFORM, seed); }
hr_initializer hr_he_normal(int64_t seed) { return hr_variance_scaling(2, HR_FAN_IN, HR_TRUNCATED, seed); }

hr_initializer hr_uniform_unit_scaling(double factor, int64_t seed)
{
    return (hr_initializer){.make = make_unit_scaled, .a = factor, .seed = seed};
}

hr_initializer hr_orthogonal(double gain, int64_t seed)
{
    return (hr_initializer){.make = make_orthogonal, .a = gain, .seed = seed};
}

hr_initializer hr_eye(double gain) { return (hr_initializer){.make = make_identity, .a = gain}; }

/* ---- by name ---- */

static hr_initializer initializer_uniform(int64_t seed) { return hr_random_uniform(-0.05, 0.05, seed); }
static hr_initializer initializer_normal(int64_t seed) { return hr_random_normal(0, 0.05, seed); }
static hr_initializer initializer_truncated(int64_t seed) { return hr_truncated_normal(0, 0.05, seed); }
static hr_initializer initializer_orthogonal(int64_t seed) { return hr_orthogonal(1, seed); }
static hr_initializer initializer_scaled(int64_t seed) { return hr_variance_scaling(1, HR_FAN_IN, HR_TRUNCATED, seed); }
static hr_initializer initializer_zeros(int64_t seed) { return (void)seed, hr_zeros(); }
static hr_initializer initializer_ones(int64_t seed) { return (void)seed, hr_ones(); }
static hr_initializer initializer_identity(int64_t seed) { return (void)seed, hr_eye(1); }

static const struct {
    const char *name;
    hr_initializer (*make)(int64_t seed);
} named_initializers[] = {
    {"glorot_normal", hr_glorot_normal},
    {"glorot_uniform", hr_glorot_uniform},
    {"he_normal", hr_he_normal},
    {"he_uniform", hr_he_uniform},
    {"identity", initializer_identity},
    {"lecun_normal", hr_lecun_normal},
    {"lecun_uniform", hr_lecun_uniform},
    {"ones", initializer_ones},
    {"orthogonal", initializer_orthogonal},
    {"random_normal", initializer_normal},
    {"random_uniform", initializer_uniform},
    {"truncated_normal", initializer_truncated},
    {"variance_scaling", initializer_scaled},
    {"zeros", initializer_zeros},
};
enum { NAMED_INITIALIZERS = sizeof named_initializers / sizeof *named_initializers };

/* Whether two names are the same but for case and '_': "he_normal" and "HeNormal". */
static bool same_word(const char *a, const char *b)
{
    for (;; a++, b++) {
        while (*a == '_') a++;
        while (*b == '_') b++;
        const char x = *a >= 'A' && *a <= 'Z' ? (char)(*a - 'A' + 'a') : *a;
        const char y = *b >= 'A' && *b <= 'Z' ? (char)(*b - 'A' + 'a') : *b;
        if (x != y) return false;
        if (!x) return true;
    }
}

/* `seed` is the number of a name that is near the given one, from 1; 0: none is. */
static hr_node make_unknown(hr_graph *g, hr_dtype dtype, hr_shape shape, const hr_initializer *self)
{
    char names[400];
    size_t n = 0;
    (void)dtype, (void)shape;
    if (self->seed > 0)
        return hr_node_fail(g, HR_INVALID_ARGUMENT, "variable.initializer",
                            "initializer: there is none of that name; did you mean \"%s\"?",
                            named_initializers[self->seed - 1].name);
    for (int i = 0; i < NAMED_INITIALIZERS && n < sizeof names; i++)
        n += (size_t)snprintf(names + n, sizeof names - n, "%s%s", i ? ", " : "", named_initializers[i].name);
    return hr_node_fail(g, HR_INVALID_ARGUMENT, "variable.initializer",
                        "initializer: there is none of that name; expected one of %s", names);
}

hr_initializer hr_initializer_named(const char *name)
{
    const char *names[NAMED_INITIALIZERS];
    hr_initializer unknown = {.make = make_unknown};
    if (!name) return (hr_initializer){.make = NULL};
    for (int i = 0; i < NAMED_INITIALIZERS; i++) {
        if (same_word(named_initializers[i].name, name)) return named_initializers[i].make(0);
        names[i] = named_initializers[i].name;
    }
    const char *near = hr_suggest(name, names, NAMED_INITIALIZERS);
    for (int i = 0; i < NAMED_INITIALIZERS && near; i++)
        if (near == names[i]) unknown.seed = i + 1;
    return unknown;
}
