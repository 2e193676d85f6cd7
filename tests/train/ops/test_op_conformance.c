/* Every op of the library, known by its signature alone: random nodes of random types, shapes, attributes and inputs,
 * hostile numbers among them, are built, run and derived. A node is refused with an error, or it runs: then each result
 * has the type and a shape that fits what was inferred, and each gradient has its input's; so they do in an eager graph.
 * Nothing leaks. And of doubles without malice, each derivative is the one that central differences have, where the function is smooth.
 *
 * Trial number n is the same on every machine. The trials of an op do not depend on which other ops there are.
 * HEADRACE_ROUNDS says how many there are for each op, HEADRACE_FIRST which is the first, HEADRACE_TRIAL runs and
 * describes one alone, HEADRACE_DIFFERENCE one of the differences; the file `trial` names the one that is under way. */
#include "tests/testing.h"

#include "train/graph/graph_internal.h"

#include <headrace/eager.h>
#include <headrace/ops.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    MAX_OPS = 512,
    MAX_INPUTS = 64,
    MAX_FETCHES = 16,
    MAX_VALUES = 1 << 12,
    LARGEST = 1 << 24 /* bytes */,
    MORE = 2000,
    MAX = 40000 /* until there is a result at all */
};

static hr__arena signatures;
static hr__signature *sig_of[MAX_OPS];
static int64_t results[MAX_OPS], derived[MAX_OPS];
static bool reached[MAX_OPS]; /* by a gradient that has run */
static int ops;
static int64_t trials;
static FILE *under_way;

typedef struct trial {
    int64_t number;
    uint64_t key, drawn;
    const hr__signature *sig;
    hr_graph *g;
    hr_session *s;
    hr__arena memory;
    hr_shape common; /* most inputs are shaped after this one */
    int alone;       /* the one input that is, if all others are scalars; -1: any may be */
    bool in_tune;    /* vectors of indices have a number for each dimension of it, or for each row */
    bool by_row;
    hr_dtype type[HR_MAX_OP_ATTRS]; /* chosen, whether given or to be inferred */
    int64_t number_of[HR_MAX_OP_ATTRS];
    hr_attr attr[HR_MAX_OP_ATTRS];
    int attrs;
    hr_node input[MAX_INPUTS];
    hr_node from[MAX_INPUTS];    /* of a list: the tensor that its elements come from; none: the input itself */
    hr_tensor value[MAX_INPUTS]; /* of each input; without data: it is not known */
    int inputs;
    hr_feed feed[MAX_INPUTS + 1];
    int feeds;
    bool refuse_feeds; /* one of them is not to be accepted */
    bool smooth;       /* doubles that are fed, and numbers without malice: differences are to be taken */
    bool talks;
} trial;

/* ---- draws ---- */

static int64_t below(trial *t, int64_t bound) { return hr_random_below(t->key, t->drawn++, bound); }
static bool one_in(trial *t, int64_t n) { return below(t, n) == 0; }

static void *memory(trial *t, size_t size)
{
    void *p = hr__arena_get(&t->memory, size + 16);
    assert_non_null(p);
    return p;
}

static int64_t hostile(trial *t)
{
    static const int64_t numbers[] = {0,
                                      -1,
                                      1,
                                      2,
                                      -2,
                                      8,
                                      9,
                                      255,
                                      65536,
                                      INT32_MAX,
                                      INT64_C(1) << 31,
                                      INT32_MIN,
                                      (INT64_C(1) << 32) + 1,
                                      INT64_C(1) << 40,
                                      INT64_C(1) << 59,
                                      INT64_C(1) << 62,
                                      INT64_MAX,
                                      INT64_MIN,
                                      INT64_MIN + 1,
                                      -(INT64_C(1) << 32)};
    return numbers[below(t, sizeof numbers / sizeof *numbers)];
}

static double hostile_float(trial *t)
{
    static const double numbers[] = {0, -0.0, NAN, INFINITY, -INFINITY, 1e-45, -1e-310, 3.4e38, 1e300, -1, 0.5, 1e10};
    return numbers[below(t, sizeof numbers / sizeof *numbers)];
}

static hr_dtype any_type(trial *t, uint32_t types)
{
    if (t->smooth && types >> HR_DOUBLE & 1) return HR_DOUBLE;
    if (one_in(t, 40)) return (hr_dtype)below(t, 32);
    if (types >> HR_FLOAT & 1 && one_in(t, 2)) return HR_FLOAT;
    if (types >> HR_DOUBLE & 1 && one_in(t, 4)) return HR_DOUBLE;
    for (;;) {
        const hr_dtype type = (hr_dtype)below(t, 32);
        if (types >> type & 1 && hr_dtype_size(type) > 0) return type;
    }
}

/* ---- shapes ---- */

static hr_shape random_shape(trial *t)
{
    hr_shape shape = {one_in(t, 12) ? (int)below(t, HR_MAX_RANK + 1) : (int)below(t, 5), {0}};
    int64_t count = 1;
    const bool even = one_in(t, 4);
    for (int i = 0; i < shape.rank; i++) {
        shape.dims[i] = even && i > 0 ? shape.dims[0] : one_in(t, 12) ? 0 : 1 + below(t, 4);
        if (count * shape.dims[i] > MAX_VALUES / 4) shape.dims[i] = 1;
        count *= shape.dims[i] ? shape.dims[i] : 1;
    }
    if (shape.rank > 1 && one_in(t, 40)) { /* nothing in it, and yet long */
        shape.dims[below(t, shape.rank)] = INT64_C(1) << (20 + below(t, 24));
        shape.dims[below(t, shape.rank)] = 0;
        if (hr_shape_count(shape) != 0) shape.dims[0] = 0;
    }
    return shape;
}

static hr_shape vector_shape(trial *t)
{
    const hr_shape c = t->common;
    const int64_t first = c.rank > 0 ? c.dims[0] : 1, last = c.rank > 0 ? c.dims[c.rank - 1] : 1;
    const int64_t lengths[] = {0, 1, 2, c.rank, c.rank, last, c.rank + 1, first, first + 1, last, hr_shape_count(c),
                               12};
    int64_t length = c.rank;
    if (t->by_row) length = first + one_in(t, 2);
    if (!t->in_tune) length = lengths[below(t, sizeof lengths / sizeof *lengths)];
    return HR_SHAPE(length > MAX_VALUES ? 3 : length);
}

static hr_shape part_of_common(trial *t, int first, int count)
{
    hr_shape shape = {count, {0}};
    for (int i = 0; i < count; i++) shape.dims[i] = t->common.dims[first + i];
    return hr_shape_count(shape) <= MAX_VALUES ? shape : HR_SCALAR;
}

/* As the op's pattern says: each letter has one length in a trial, and "..." is one list of dimensions. */
static bool shape_by_pattern(trial *t, hr_shape *out)
{
    const hr__shapes *said = t->sig->shapes;
    if (!said || t->inputs >= said->inputs || said->input[t->inputs].kind != HR__DIMS) return false;
    const hr__shape_pattern *p = &said->input[t->inputs];
    *out = (hr_shape){0, {0}};
    for (int i = 0; i <= p->rank; i++) {
        for (int j = 1; i == p->rest && j < t->common.rank && out->rank < HR_MAX_RANK - p->rank; j++)
            out->dims[out->rank++] = t->common.dims[j];
        if (i == p->rank) break;
        const uint64_t letter = (uint64_t)(HR_DIM_LETTER - p->dim[i]);
        out->dims[out->rank++] = p->dim[i] >= 0    ? p->dim[i]
                                 : p->dim[i] == -1 ? below(t, 5)
                                                   : hr_random_below(t->key, UINT64_MAX - letter, 4);
    }
    return hr_shape_count(*out) >= 0 && hr_shape_count(*out) <= MAX_VALUES;
}

static hr_shape input_shape(trial *t, bool index)
{
    hr_shape pattern;
    if (t->in_tune && !one_in(t, 4) && shape_by_pattern(t, &pattern)) return pattern;
    hr_shape shape = t->common;
    const int64_t kind = t->in_tune && !one_in(t, 8) ? index * 30 : below(t, 100);
    if (t->alone == t->inputs) return shape;
    if (t->alone >= 0 && index && t->in_tune && one_in(t, 2))
        return one_in(t, 3) ? HR_SHAPE(shape.rank, 2) : vector_shape(t);
    if (t->alone >= 0) return HR_SCALAR;
    if (t->in_tune && index && one_in(t, 3)) return HR_SCALAR;
    if (t->in_tune && !t->by_row && shape.rank > 0 && one_in(t, 5)) return part_of_common(t, shape.rank - 1, 1);
    const int some = (int)below(t, shape.rank + 1);
    if (kind < (index ? 25 : 55)) return shape;
    if (kind < (index ? 65 : 67)) return vector_shape(t);
    if (kind < (index ? 85 : 75)) return HR_SCALAR;
    if (kind < 89) return part_of_common(t, 0, some);
    if (kind < 92) return part_of_common(t, shape.rank - some, some);
    if (kind < 96) return HR_SHAPE(shape.rank, 2);
    if (kind < 98) return random_shape(t);
    for (int i = 0; i < shape.rank; i++)
        if (one_in(t, 2)) shape.dims[i] = 1;
    return hr_shape_count(shape) <= MAX_VALUES ? shape : HR_SCALAR;
}

/* What is said of it before the run. */
static hr_shape declared(trial *t, hr_shape shape)
{
    if (one_in(t, 5)) return HR_UNKNOWN_SHAPE;
    if (one_in(t, 2)) return shape;
    for (int i = 0; i < shape.rank; i++)
        if (one_in(t, 3)) shape.dims[i] = -1;
    return shape;
}

static hr_shape any_shape(trial *t)
{
    hr_shape shape = declared(t, one_in(t, 2) ? t->common : random_shape(t));
    for (int i = 0; i < shape.rank; i++)
        if (one_in(t, 25)) shape.dims[i] = hostile(t);
    if (one_in(t, 50)) shape.rank = (int)hostile(t);
    return shape;
}

/* ---- values ---- */

typedef enum meaning { SMALL, PLACE, SHAPE, ORDER, SPLITS, HOSTILE, ONE_HOSTILE, ZEROS, AXIS, MEANINGS } meaning;

static meaning any_meaning(trial *t)
{
    const meaning m = (meaning)below(t, MEANINGS);
    return t->smooth && (m == HOSTILE || m == ONE_HOSTILE) ? PLACE : m;
}

static int64_t whole_number(trial *t, meaning m, int64_t i, int64_t count, int64_t *last)
{
    const hr_shape c = t->common;
    switch (m) {
    case SMALL:
        return below(t, 6) - 1;
    case PLACE:
        return c.rank > 0 && c.dims[0] > 0 ? below(t, c.dims[0]) : 0;
    case SHAPE:
        return i < c.rank ? c.dims[i] : 1;
    case ORDER:
        return count - 1 - i;
    case SPLITS:
        *last = i == 0 ? 0 : i + 1 == count && c.rank > 0 ? c.dims[0] : *last + below(t, 2);
        return *last;
    case HOSTILE:
        return hostile(t);
    case ONE_HOSTILE:
        return one_in(t, count) ? hostile(t) : below(t, 4);
    case AXIS:
        return (i + below(t, 2)) % (c.rank > 0 ? c.rank : 1) - (one_in(t, 4) ? c.rank : 0);
    default:
        return 0;
    }
}

/* Within, below or around [0, 1]; all of a tensor lie in one range, and no two are the same. */
static double smooth_number(trial *t, meaning m)
{
    const double unit = ((double)below(t, INT64_C(1) << 30) + 0.5) / (double)(INT64_C(1) << 30);
    return m == ZEROS || m == SMALL || m == ORDER ? 4 * unit - 2 : m == SHAPE || m == AXIS ? 1.1 + 2 * unit : unit;
}

static double real_number(trial *t, meaning m)
{
    if (t->smooth) return smooth_number(t, m);
    if (m == HOSTILE || (m == ONE_HOSTILE && one_in(t, 4))) return hostile_float(t);
    if (m == ZEROS) return 0;
    if (m == SMALL || m == SHAPE) return (double)below(t, 7) - 3;
    return (double)below(t, 1025) / 1024;
}

static hr_view text(trial *t)
{
    static const char *const words[] = {"", "mean", "sum", "sqrtn", "NCHW", "NHWC", "x", "no such thing"};
    const char *word = words[below(t, sizeof words / sizeof *words)];
    return (hr_view){word, (int64_t)strlen(word)};
}

static void put(hr_tensor *to, int64_t i, int64_t whole, double real, hr_view word)
{
    const size_t size = hr_dtype_size(to->dtype);
    const float narrow = (float)real;
    const bool bit = whole > 0;
    const void *from = to->dtype == HR_FLOAT    ? (const void *)&narrow
                       : to->dtype == HR_DOUBLE ? (const void *)&real
                       : to->dtype == HR_STRING ? (const void *)&word
                       : to->dtype == HR_BOOL   ? (const void *)&bit
                                                : (const void *)&whole;
    if (size == 16 && to->dtype != HR_STRING)
        memset((char *)to->data + (size_t)i * size, 0, size);
    else
        memcpy((char *)to->data + (size_t)i * size, from, size);
}

static hr_tensor random_tensor(trial *t, hr_dtype dtype, hr_shape shape)
{
    hr_tensor out = hr_tensor_of(dtype, shape, NULL);
    const meaning m = any_meaning(t);
    int64_t last = 0;
    assert_in_range(out.count, 0, 16 * MAX_VALUES);
    /* Its end is where the bytes end: reading on is seen. */
    out.data = malloc((size_t)out.count * hr_dtype_size(dtype) + 1);
    assert_non_null(out.data);
    for (int64_t i = 0; i < out.count && hr_dtype_size(dtype); i++)
        put(&out, i, whole_number(t, m, i, out.count, &last), real_number(t, m), text(t));
    return out;
}

/* ---- attributes ---- */

static bool counts_inputs(const trial *t, int attr)
{
    for (int i = 0; i < t->sig->inputs; i++)
        if (t->sig->input[i].number_attr == attr) return true;
    return false;
}

static bool types_inputs(const trial *t, int attr)
{
    for (int i = 0; i < t->sig->inputs; i++)
        if (t->sig->input[i].type_attr == attr || t->sig->input[i].list_attr == attr) return true;
    return false;
}

static void give(trial *t, hr_attr attr, int at)
{
    attr.name = t->sig->attr[at].name;
    t->attr[t->attrs++] = attr;
}

static void choose_tensor(trial *t, int at)
{
    hr_tensor *tensor = memory(t, sizeof *tensor);
    hr_dtype dtype = HR_FLOAT;
    for (int i = 0; i < t->sig->attrs; i++)
        if (t->sig->attr[i].kind == HR_ATTR_TYPE && !one_in(t, 10)) dtype = t->type[i];
    *tensor = random_tensor(t, dtype, random_shape(t));
    t->value[MAX_INPUTS - 1] = *tensor; /* to be freed */
    if (one_in(t, 20)) tensor->data = NULL;
    if (one_in(t, 30)) tensor->shape.rank = 12;
    if (one_in(t, 30)) tensor->shape = HR_SHAPE(INT64_C(1) << 62, 4);
    if (one_in(t, 30)) tensor->shape = HR_SHAPE(-1);
    if (one_in(t, 30)) tensor->layout = HR_SPARSE;
    give(t, HR_TENSOR_ATTR("", one_in(t, 40) ? NULL : tensor), at);
}

static void choose_list(trial *t, int at)
{
    enum { LONGEST = 6 };
    hr_attr a = {.kind = t->sig->attr[at].kind, .count = (int)below(t, LONGEST)};
    int64_t *ints = memory(t, LONGEST * sizeof *ints);
    float *floats = memory(t, LONGEST * sizeof *floats);
    hr_view *strings = memory(t, LONGEST * sizeof *strings);
    hr_shape *shapes = memory(t, LONGEST * sizeof *shapes);
    hr_dtype *types = memory(t, LONGEST * sizeof *types);
    const meaning m = any_meaning(t);
    const bool ones = a.kind == HR_ATTR_INTS && one_in(t, 3); /* strides, windows */
    int64_t last = 0;
    if (ones) a.count = 4;
    for (int i = 0; i < LONGEST; i++) {
        ints[i] = ones ? 1 : whole_number(t, m, i, a.count, &last);
        floats[i] = (float)real_number(t, m);
        strings[i] = text(t);
        shapes[i] = any_shape(t);
        types[i] = any_type(t, t->sig->attr[at].kernels);
    }
    if (a.kind == HR_ATTR_INTS) a.ints = ints;
    if (a.kind == HR_ATTR_FLOATS) a.floats = floats;
    if (a.kind == HR_ATTR_STRINGS) a.strings = strings;
    if (a.kind == HR_ATTR_SHAPES) a.shapes = shapes;
    if (a.kind == HR_ATTR_TYPES) a.types = types;
    if (one_in(t, 30)) a.ints = NULL;
    if (one_in(t, 60)) a.count = -1;
    if (a.kind != HR_ATTR_TYPES || !types_inputs(t, at)) give(t, a, at);
    t->number_of[at] = a.count < 0 ? 1 : a.count;
}

static void choose_int(trial *t, int at)
{
    int64_t number = one_in(t, 4) ? hostile(t) : below(t, 4) - (one_in(t, 8) ? 2 : 0);
    if (counts_inputs(t, at)) {
        t->number_of[at] = one_in(t, t->sig->attr[at].min > 0 ? 10 : 2) ? 0 : 1 + below(t, 3);
        if (!one_in(t, 8)) number = t->number_of[at];
        if (!one_in(t, 4)) return;
    }
    give(t, HR_INT_ATTR("", number), at);
}

/* A function that the graph lacks, and one that it has. */
static const hr_func known[] = {{"none", NULL, 0}, {"some", NULL, 0}};

static void make_function(hr_graph *g)
{
    hr_graph *body = hr_function_begin(g, known[1].name);
    const hr_node x = hr_function_input(body, HR_FLOAT, HR_UNKNOWN_SHAPE, "x"), y = hr_neg(x);
    hr_function_end(body, &y, 1);
}

static void choose_attr(trial *t, int at)
{
    const hr_attr_def *def = &t->sig->attr[at];
    const bool leave_out = def->has_default && one_in(t, 2);
    switch (def->kind) {
    case HR_ATTR_TYPE:
        t->type[at] = any_type(t, def->kernels);
        if (types_inputs(t, at) ? one_in(t, 6) : !leave_out) give(t, HR_TYPE_ATTR("", t->type[at]), at);
        if (leave_out && !types_inputs(t, at)) t->type[at] = def->value.type;
        break;
    case HR_ATTR_INT:
        if (!leave_out) choose_int(t, at);
        break;
    case HR_ATTR_FLOAT:
        if (!leave_out)
            give(t, HR_FLOAT_ATTR("", t->smooth ? 0.125f + (float)below(t, 8) / 8 : (float)hostile_float(t)), at);
        break;
    case HR_ATTR_BOOL:
        if (!leave_out) give(t, HR_BOOL_ATTR("", one_in(t, 2)), at);
        break;
    case HR_ATTR_STRING:
        if (!leave_out && def->word_count > 0 && !one_in(t, 6))
            give(t, HR_STRING_ATTR("", def->words[below(t, def->word_count)]), at);
        else if (!leave_out)
            give(t, (hr_attr){.kind = HR_ATTR_STRING, .s = text(t)}, at);
        break;
    case HR_ATTR_SHAPE:
        if (!leave_out) give(t, HR_SHAPE_ATTR("", any_shape(t)), at);
        break;
    case HR_ATTR_TENSOR:
        break; /* when all types are chosen */
    case HR_ATTR_FUNC:
        give(t, HR_FUNC_ATTR("", &known[below(t, 2)]), at);
        break;
    case HR_ATTR_FUNCS:
        give(t, (hr_attr){.kind = HR_ATTR_FUNCS, .count = (int)below(t, 3), .funcs = known}, at);
        break;
    default:
        choose_list(t, at);
    }
}

static void choose_attrs(trial *t)
{
    for (int i = 0; i < t->sig->attrs; i++) choose_attr(t, i);
    for (int i = 0; i < t->sig->attrs; i++)
        if (t->sig->attr[i].kind == HR_ATTR_TENSOR) choose_tensor(t, i);
}

/* ---- inputs ---- */

static void feed(trial *t, hr_node node, hr_tensor value)
{
    t->feed[t->feeds++] = (hr_feed){node, value};
    if (t->smooth || !one_in(t, 60)) return;
    hr_tensor *fed = &t->feed[t->feeds - 1].value;
    t->refuse_feeds = true;
    switch (below(t, 6)) {
    case 0:
        fed->data = NULL;
        t->refuse_feeds = fed->count > 0;
        break;
    case 1:
        fed->shape.rank = 12;
        break;
    case 2:
        fed->shape = HR_SHAPE(3, -1);
        break;
    case 3:
        fed->shape = HR_SHAPE(INT64_C(1) << 62, 4);
        break;
    case 4:
        t->feed[t->feeds] = t->feed[t->feeds - 1]; /* twice */
        t->feeds++;
        break;
    default:
        fed->dtype = fed->dtype == HR_FLOAT ? HR_DOUBLE : HR_FLOAT;
    }
}

static hr_node variable(trial *t, hr_dtype dtype, const hr_tensor *value)
{
    char name[32];
    hr_error err;
    const hr_shape shape = one_in(t, 8) ? random_shape(t) : t->common;
    hr_tensor own = value ? *value : random_tensor(t, dtype, shape);
    snprintf(name, sizeof name, "v%d", t->inputs);
    const hr_node node = hr_get_variable(t->g, name, dtype, own.shape, .initializer = hr_initial_value(&own));
    if (!hr_graph_error(t->g) && !one_in(t, 12)) assert_ok(hr_session_set(t->s, node, &own, &err), &err);
    t->value[t->inputs] = own;
    return node;
}

/* A reference variable, mostly with a value. */
static hr_node reference(trial *t, hr_dtype dtype, const hr_tensor *value)
{
    hr_error err;
    const hr_tensor own = value ? *value : random_tensor(t, dtype, one_in(t, 8) ? random_shape(t) : t->common);
    const hr_node node =
        hr_new_node(t->g, "VariableV2", HR_ATTRS(HR_SHAPE_ATTR("shape", own.shape), HR_TYPE_ATTR("dtype", dtype)));
    const hr_node assign = hr_target(hr_new_node(t->g, "Assign", HR_INPUTS(node, hr_const(t->g, &own))));
    if (!hr_graph_error(t->g) && !one_in(t, 12)) assert_ok(hr_session_run(t->s, NULL, 0, &assign, 1, NULL, &err), &err);
    t->value[t->inputs] = own;
    return node;
}

/* A resource of the run with something in it: a tensor array, or a stack. */
static hr_node run_resource(trial *t, bool stack, hr_dtype dtype)
{
    const hr_tensor value = random_tensor(t, dtype, one_in(t, 8) ? random_shape(t) : t->common);
    const hr_node x = hr_const(t->g, &value), size = hr_const_number(t->g, HR_INT32, (double)below(t, 4), NULL);
    hr_node made, filled;
    free(value.data);
    if (stack) {
        made = hr_new_node(t->g, "StackV2", HR_INPUTS(size), HR_ATTRS(HR_TYPE_ATTR("elem_type", dtype)));
        filled = hr_new_node(t->g, "StackPushV2", HR_INPUTS(made, x));
    } else {
        made = hr_new_node(t->g, "TensorArrayV3", HR_INPUTS(size),
                           HR_ATTRS(HR_TYPE_ATTR("dtype", dtype), HR_BOOL_ATTR("dynamic_size", one_in(t, 2)),
                                    HR_BOOL_ATTR("clear_after_read", one_in(t, 2)),
                                    HR_SHAPE_ATTR("element_shape", one_in(t, 3) ? t->common : HR_UNKNOWN_SHAPE)));
        const hr_node at = hr_const_number(t->g, HR_INT32, (double)below(t, 2), NULL);
        filled = hr_new_node(t->g, "TensorArrayWriteV3", HR_INPUTS(made, at, x, hr_node_output(made, 1)));
    }
    if (one_in(t, 3)) return made;
    hr_control_dependencies(t->g, &filled, 1);
    const hr_node after = hr_identity(made);
    hr_control_end(t->g);
    return after;
}

static hr_dtype type_of_attr(const trial *t, const char *a, const char *b, const char *c, hr_dtype usual)
{
    for (int i = 0; i < t->sig->attrs; i++) {
        const char *name = t->sig->attr[i].name;
        if (strcmp(name, a) == 0 || strcmp(name, b) == 0 || strcmp(name, c) == 0) return t->type[i];
    }
    return usual;
}

/* A table of the op's types, fixed or mutable, mostly filled. */
static hr_node table_input(trial *t)
{
    hr_error err;
    const hr_dtype key = type_of_attr(t, "Tin", "Tkey", "Tkeys", HR_STRING);
    const hr_dtype value = type_of_attr(t, "Tout", "Tval", "Tvalues", HR_INT64);
    const bool initializes = strncmp(t->sig->op->name, "Init", 4) == 0;
    const bool fixed = one_in(t, initializes ? 1 : 2);
    const hr_node table = hr_new_node(t->g, fixed ? "HashTableV2" : "MutableHashTableV2",
                                      HR_ATTRS(HR_TYPE_ATTR("key_dtype", key), HR_TYPE_ATTR("value_dtype", value)));
    if (!hr_node_exists(table) || hr_graph_error(t->g) || one_in(t, 5) || (initializes && !one_in(t, 3))) return table;
    const hr_shape shape = HR_SHAPE(below(t, 20));
    hr_tensor keys = random_tensor(t, key, shape), values = random_tensor(t, value, shape);
    const hr_node fill = hr_target(
        hr_new_node(t->g, "LookupTableImportV2", HR_INPUTS(table, hr_const(t->g, &keys), hr_const(t->g, &values))));
    if (!hr_graph_error(t->g)) hr_session_run(t->s, NULL, 0, &fill, 1, NULL, &err);
    free(keys.data);
    free(values.data);
    return table;
}

/* The name of a file of words and numbers in columns. */
static hr_node file_input(trial *t)
{
    const hr_view name = hr_text_view("words");
    const hr_tensor path = hr_tensor_of(HR_STRING, HR_SCALAR, &name);
    FILE *file = fopen("words", "wb");
    assert_non_null(file);
    for (int i = 0; i < 4; i++) fprintf(file, "%s%d\t%d\n", one_in(t, 2) ? "" : "w", i, i * 10);
    fclose(file);
    return hr_const(t->g, &path);
}

static hr_node resource_input(trial *t)
{
    if (strstr(t->sig->op->name, "Table") && !one_in(t, 20)) return table_input(t);
    hr_dtype dtype = HR_FLOAT;
    for (int i = t->sig->inputs - 1; i >= 0; i--)
        if (t->sig->input[i].type_attr >= 0) dtype = t->type[t->sig->input[i].type_attr];
    for (int i = 0; i < t->sig->attrs; i++)
        if (t->sig->attr[i].kind == HR_ATTR_TYPE && !types_inputs(t, i)) dtype = t->type[i];
    const char *op = t->sig->op->name;
    const bool of_run = strncmp(op, "TensorArray", 11) == 0 || strncmp(op, "Stack", 5) == 0;
    if (of_run && dtype != HR_INVALID_DTYPE && hr_dtype_size(dtype) > 0 && dtype != HR_VARIANT && !one_in(t, 20))
        return run_resource(t, *op == 'S', dtype == HR_RESOURCE || one_in(t, 20) ? HR_FLOAT : dtype);
    if (one_in(t, 40)) {
        const hr_node handle = hr_placeholder(t->g, HR_RESOURCE, HR_SCALAR);
        t->feed[t->feeds++] = (hr_feed){handle, hr_tensor_of(HR_RESOURCE, HR_SCALAR, memory(t, 256))};
        return handle;
    }
    if (t->inputs > 0 && one_in(t, 20) && hr_node_dtype(t->input[0]) == HR_RESOURCE) return t->input[0];
    return variable(t, dtype == HR_INVALID_DTYPE || hr_dtype_size(dtype) == 0 ? HR_FLOAT : dtype, NULL);
}

static hr_node list_node(trial *t, const char *op, hr_node a, hr_node b, hr_dtype dtype)
{
    return hr_new_node(t->g, op, HR_INPUTS(a, b), HR_ATTRS(HR_TYPE_ATTR("element_dtype", dtype)));
}

/* A list of what the op takes or gives: rows of a tensor, one pushed twice, none set, or lists. */
static hr_node list_input(trial *t)
{
    hr_dtype dtype = HR_FLOAT;
    for (int i = 0; i < t->sig->attrs; i++)
        if (strcmp(t->sig->attr[i].name, "element_dtype") == 0 && !one_in(t, 12)) dtype = t->type[i];
    const bool nested = dtype == HR_VARIANT;
    if (nested || dtype == HR_RESOURCE || hr_dtype_size(dtype) == 0) dtype = one_in(t, 2) ? HR_FLOAT : HR_DOUBLE;
    const hr_tensor value = random_tensor(t, dtype, one_in(t, 8) ? random_shape(t) : t->common);
    const hr_node x = hr_placeholder(t->g, dtype, declared(t, value.shape));
    t->value[t->inputs] = value;
    t->from[t->inputs] = x;
    feed(t, x, value);
    const hr_node any = hr_const_number(t->g, HR_INT32, -1, NULL);
    const hr_node count = hr_const_number(t->g, HR_INT32, (double)below(t, 5), NULL);
    hr_node list;
    switch (below(t, 4)) {
    case 0:
        list = list_node(t, "TensorListReserve", one_in(t, 2) ? any : hr_shape_of(x), count, dtype);
        break;
    case 1:
        list = list_node(t, "EmptyTensorList", hr_shape_of(x), any, dtype);
        list = list_node(t, "TensorListPushBack", list_node(t, "TensorListPushBack", list, x, dtype), x, dtype);
        break;
    default:
        list = list_node(t, "TensorListFromTensor", x, any, dtype);
    }
    if (!nested) return list;
    return list_node(t, "TensorListPushBack", list_node(t, "EmptyTensorList", any, any, HR_VARIANT), list, HR_VARIANT);
}

static hr_node value_input(trial *t, hr_dtype dtype)
{
    const bool index = dtype == HR_INT32 || dtype == HR_INT64;
    if (strstr(t->sig->op->name, "FromTextFile") && !one_in(t, 8)) return file_input(t);
    const hr_tensor value = random_tensor(t, dtype, input_shape(t, index));
    hr_node node;
    t->value[t->inputs] = value;
    switch (t->smooth && dtype == HR_DOUBLE ? 9 : below(t, 10)) {
    case 0:
        node = hr_const(t->g, &value);
        return hr_identity(node);
    case 1:
        if (dtype == HR_RESOURCE || dtype == HR_VARIANT || hr_dtype_size(dtype) == 0) return hr_const(t->g, &value);
        return one_in(t, 3) ? reference(t, dtype, &value) : variable(t, dtype, &value);
    case 2:
    case 3:
    case 4:
        return hr_const(t->g, &value);
    default:
        node = hr_placeholder(t->g, dtype, declared(t, value.shape));
        feed(t, node, value);
        return node;
    }
}

static void add_input(trial *t, hr_dtype dtype, bool ref)
{
    if (t->inputs >= MAX_INPUTS / 2 - 1) return;
    if (ref && !one_in(t, 20)) {
        t->input[t->inputs] = reference(t, dtype, NULL);
        t->inputs++;
        return;
    }
    const int twin = (int)below(t, t->inputs + 1);
    if (!t->smooth && twin < t->inputs && one_in(t, 10) && hr_node_dtype(t->input[twin]) == dtype &&
        t->value[twin].data) {
        t->input[t->inputs] = t->input[twin];
        t->value[t->inputs] = t->value[twin];
        const size_t bytes = (size_t)t->value[twin].count * hr_dtype_size(t->value[twin].dtype);
        t->value[t->inputs].data = malloc(bytes + 1);
        memcpy(t->value[t->inputs].data, t->value[twin].data, bytes);
    } else {
        t->input[t->inputs] = dtype == HR_RESOURCE  ? resource_input(t)
                              : dtype == HR_VARIANT ? list_input(t)
                                                    : value_input(t, dtype);
    }
    t->inputs++;
}

static void choose_inputs(trial *t)
{
    for (int i = 0; i < t->sig->inputs; i++) {
        const hr_arg_def *arg = &t->sig->input[i];
        const int64_t count = arg->number_attr >= 0 ? t->number_of[arg->number_attr]
                              : arg->list_attr >= 0 ? t->number_of[arg->list_attr]
                                                    : 1;
        for (int64_t j = 0; j < count; j++)
            add_input(t,
                      arg->list_attr >= 0   ? any_type(t, t->sig->attr[arg->list_attr].kernels)
                      : arg->type_attr >= 0 ? t->type[arg->type_attr]
                                            : arg->type,
                      arg->ref);
    }
}

/* ---- what came out ---- */

static void describe(const trial *t, hr_node node)
{
    char text[256];
    printf("trial %" PRId64 ": %s", t->number, t->sig->op->name);
    for (int i = 0; i < t->attrs; i++) {
        const hr_attr *a = &t->attr[i];
        printf(" %s=", a->name);
        if (a->kind == HR_ATTR_INT) printf("%" PRId64, a->i);
        if (a->kind == HR_ATTR_TYPE) printf("%s", hr_dtype_name(a->type));
        if (a->kind == HR_ATTR_SHAPE) printf("%s", hr_shape_text(a->shape, text, sizeof text));
    }
    printf("\n");
    for (int i = 0; i < t->inputs; i++) {
        const hr_tensor *v = &t->value[i];
        printf("  %s %s %s", hr_node_name(t->input[i]), hr_node_op(t->input[i]), hr_dtype_name(v->dtype));
        printf(" %s", hr_shape_text(v->shape, text, sizeof text));
        printf(" known as %s:", hr_shape_text(hr_node_shape(t->input[i]), text, sizeof text));
        for (int64_t j = 0; j < v->count && j < 12 && v->data; j++) {
            if (v->dtype == HR_FLOAT) printf(" %g", (double)((const float *)v->data)[j]);
            if (v->dtype == HR_DOUBLE) printf(" %g", ((const double *)v->data)[j]);
            if (v->dtype == HR_INT32) printf(" %d", ((const int32_t *)v->data)[j]);
            if (v->dtype == HR_INT64) printf(" %" PRId64, ((const int64_t *)v->data)[j]);
        }
        printf("\n");
    }
    for (int i = 0; i < hr_node_outputs(node) && i < 4; i++)
        printf("  -> %s\n", hr_shape_text(hr_node_shape(hr_node_output(node, i)), text, sizeof text));
    if (hr_graph_error(t->g)) printf("  %s\n", hr_graph_error(t->g)->text);
    fflush(stdout);
}

static void wrong(const trial *t, hr_node node, const char *what)
{
    describe(t, node);
    fail_msg("trial %" PRId64 " (%s): %s", t->number, t->sig->op->name, what);
}

static volatile unsigned sum;

static void read_all(const trial *t, hr_node node, const hr_tensor *out)
{
    const unsigned char *bytes = out->data;
    const int64_t size = out->count * (int64_t)hr_dtype_size(out->dtype);
    for (int64_t i = 0; i < size; i++) {
        sum += bytes[i];
        if (out->dtype == HR_BOOL && bytes[i] > 1) wrong(t, node, "expected false or true");
    }
    for (int64_t i = 0; i < out->count && out->dtype == HR_STRING; i++) {
        const hr_view v = ((const hr_view *)out->data)[i];
        for (int64_t j = 0; j < v.size; j++) sum += (unsigned char)v.data[j];
    }
}

static void check_result(const trial *t, hr_node node, hr_node fetched, const hr_tensor *out)
{
    hr_shape both;
    char a[256], b[256], message[600];
    if (out->dtype != hr_node_dtype(fetched)) wrong(t, node, "a result is of another type than inferred");
    if (out->layout != HR_DENSE || out->count != hr_shape_count(out->shape))
        wrong(t, node, "a result does not have as many values as its shape");
    read_all(t, node, out);
    if (hr_shape_merge(hr_node_shape(fetched), out->shape, &both)) return;
    snprintf(message, sizeof message, "inferred %s of '%s', got %s", hr_shape_text(hr_node_shape(fetched), a, sizeof a),
             hr_node_name(fetched), hr_shape_text(out->shape, b, sizeof b));
    wrong(t, node, message);
}

static void check_error(const trial *t, hr_node node, hr_status st, const hr_error *err)
{
    if (st >= HR_OK || err->code != st || !err->text[0] || !err->kind || !err->kind[0])
        wrong(t, node, "expected an error with a text and a kind");
    if (t->talks) printf("  error: %s\n", err->text);
}

static bool run(trial *t, hr_node node, const hr_node *fetches, int count)
{
    hr_tensor out[MAX_FETCHES];
    hr_error err = {0};
    const hr_status st = hr_session_run(t->s, t->feed, t->feeds, fetches, count, out, &err);
    if (st != HR_OK) {
        check_error(t, node, st, &err);
        return false;
    }
    for (int i = 0; i < count; i++) {
        if (fetches[i].output >= 0) check_result(t, node, fetches[i], &out[i]);
        hr_tensor_clear(&out[i]);
    }
    return true;
}

/* A list is looked at by its length, and where it can be, by its elements. */
static hr_node fetched(trial *t, hr_node output)
{
    if (hr_node_dtype(output) != HR_VARIANT) return output;
    return hr_new_node(t->g, "TensorListLength", HR_INPUTS(output));
}

static bool run_forward(trial *t, hr_node node)
{
    hr_node fetches[MAX_FETCHES] = {hr_target(node)};
    int count = 0;
    for (int i = 0; i < hr_node_outputs(node) && count < MAX_FETCHES; i++)
        if (hr_node_dtype(hr_node_output(node, i)) != HR_RESOURCE)
            fetches[count++] = fetched(t, hr_node_output(node, i));
    if (t->sig->op->traits & HR_SWITCHES) fetches[0] = fetches[below(t, count)], count = 1; /* one has a value */
    if (t->inputs == 0 && count > 0 && hr_node_dtype(node) != HR_VARIANT &&
        one_in(t, 3)) { /* a node that is fed itself */
        t->value[0] = random_tensor(t, hr_node_dtype(node), t->common);
        t->feed[t->feeds++] = (hr_feed){node, t->value[0]};
    }
    const bool works = run(t, node, fetches, count ? count : 1);
    if (works && t->refuse_feeds) wrong(t, node, "expected a feed to be refused");
    return works && (!one_in(t, 4) || run(t, node, fetches, count ? count : 1));
}

static bool is_float(hr_dtype dtype) { return dtype == HR_FLOAT || dtype == HR_DOUBLE; }

/* What is derived: an output of floats, or the elements of a list of floats. */
static hr_node derivable(trial *t, hr_node output)
{
    const hr_attr *element = hr_node_attr(output, "element_dtype");
    if (hr_node_dtype(output) != HR_VARIANT || !element || !is_float(element->type)) return output;
    return list_node(t, "TensorListStack", output, hr_const_number(t->g, HR_INT32, -1, NULL), element->type);
}

/* A gradient has the type and the shape of what it is the gradient by. */
static bool run_gradients(trial *t, hr_node node)
{
    hr_node ys[MAX_FETCHES], xs[MAX_INPUTS];
    hr_gradient by[MAX_INPUTS];
    int y_count = 0, x_count = 0, of[MAX_INPUTS];
    bool any = false;
    for (int i = 0; i < hr_node_outputs(node) && y_count < MAX_FETCHES; i++)
        if (is_float(hr_node_dtype(ys[y_count] = derivable(t, hr_node_output(node, i))))) y_count++;
    for (int i = 0; i < t->inputs; i++) {
        of[x_count] = i;
        if (is_float(t->value[i].dtype)) xs[x_count++] = t->from[i].graph ? t->from[i] : t->input[i];
    }
    if (y_count == 0 || x_count == 0) return false;
    hr_gradients(ys, y_count, xs, x_count, by);
    for (int i = 0; i < x_count; i++) {
        hr_tensor out;
        hr_error err = {0};
        const hr_node dense = by[i].values.graph ? hr_gradient_dense(by[i]) : (hr_node){0};
        const hr_tensor *value = &t->value[of[i]];
        if (hr_graph_error(t->g)) return false;
        if (!dense.graph) continue;
        if (hr_node_dtype(dense) != value->dtype) wrong(t, node, "a gradient is of another type than its input");
        const hr_status st = hr_session_run(t->s, t->feed, t->feeds, &dense, 1, &out, &err);
        if (st != HR_OK) {
            check_error(t, node, st, &err);
            continue;
        }
        check_result(t, node, dense, &out);
        if (!hr_shape_equal(out.shape, value->shape)) wrong(t, node, "a gradient is shaped unlike its input");
        hr_tensor_clear(&out);
        any = true;
    }
    return any;
}

/* ---- differences ---- */

/* One output as a function of the doubles that are fed, each times a weight. */
typedef struct function {
    hr_node y, x[MAX_INPUTS];
    hr_tensor weights, slope[MAX_INPUTS], along[MAX_INPUTS]; /* the derivative by each input, and where it goes */
    int of[MAX_INPUTS], xs;                                  /* which feed is each input's */
} function;

static bool function_at(trial *t, const function *f, double step, double *out)
{
    hr_tensor y, moved[MAX_INPUTS];
    hr_feed feeds[MAX_INPUTS + 1];
    hr_error err = {0};
    memcpy(feeds, t->feed, sizeof feeds);
    for (int i = 0; i < f->xs; i++) {
        moved[i] = t->feed[f->of[i]].value;
        double *to = moved[i].data = memory(t, (size_t)moved[i].count * sizeof *to);
        const double *from = t->feed[f->of[i]].value.data, *along = f->along[i].data;
        for (int64_t k = 0; k < moved[i].count; k++) to[k] = from[k] + (along ? step * along[k] : 0);
        feeds[f->of[i]].value = moved[i];
    }
    if (hr_session_run(t->s, feeds, t->feeds, &f->y, 1, &y, &err) != HR_OK) return false;
    const bool same = hr_shape_equal(y.shape, f->weights.shape);
    *out = 0;
    for (int64_t k = 0; same && k < y.count; k++)
        *out += ((const double *)y.data)[k] * ((const double *)f->weights.data)[k];
    hr_tensor_clear(&y);
    return same && isfinite(*out);
}

static hr_tensor doubles(trial *t, hr_shape shape, double low, double high)
{
    hr_tensor out = hr_tensor_of(HR_DOUBLE, shape, NULL);
    double *to = out.data = memory(t, (size_t)out.count * sizeof *to);
    for (int64_t i = 0; i < out.count; i++) to[i] = low + (high - low) * (double)below(t, 1 << 20) / (1 << 20);
    return out;
}

/* One of its outputs, if it is of doubles, and the inputs that it may depend on. */
static bool choose_function(trial *t, hr_node node, function *f)
{
    hr_tensor y;
    hr_error err = {0};
    if (hr_node_outputs(node) == 0) return false;
    f->y = derivable(t, hr_node_output(node, (int)below(t, hr_node_outputs(node))));
    if (hr_graph_error(t->g) || hr_node_dtype(f->y) != HR_DOUBLE) return false;
    if (hr_session_run(t->s, t->feed, t->feeds, &f->y, 1, &y, &err) != HR_OK) return false;
    f->weights = doubles(t, y.shape, 0.5, 1.5);
    hr_tensor_clear(&y);
    for (int i = 0; i < t->feeds; i++) {
        if (t->feed[i].value.dtype != HR_DOUBLE || t->feed[i].value.count == 0) continue;
        f->of[f->xs] = i;
        f->x[f->xs++] = t->feed[i].node;
    }
    return f->weights.count > 0 && f->xs > 0;
}

/* The derivatives by its inputs, and a way to go for those that have one. */
static bool derive_function(trial *t, function *f)
{
    hr_gradient by[MAX_INPUTS];
    hr_error err = {0};
    bool any = false;
    const hr_node weights = hr_const(t->g, &f->weights);
    hr_gradients(&f->y, 1, f->x, f->xs, by, .grad_ys = &weights);
    for (int i = 0; i < f->xs && !hr_graph_error(t->g); i++) {
        const hr_node dense = by[i].values.graph ? hr_gradient_dense(by[i]) : (hr_node){0};
        hr_tensor out;
        if (hr_graph_error(t->g) || !dense.graph) continue;
        if (hr_session_run(t->s, t->feed, t->feeds, &dense, 1, &out, &err) != HR_OK) return false;
        f->slope[i] = doubles(t, out.shape, 0, 0);
        memcpy(f->slope[i].data, out.data, (size_t)out.count * sizeof(double));
        hr_tensor_clear(&out);
        f->along[i] = doubles(t, f->slope[i].shape, -1, 1);
        any = true;
    }
    return any && !hr_graph_error(t->g);
}

/* Central differences, where the function is smooth enough there: two of them are the same, and so are those of either
 * side. */
typedef enum verdict { NOT_SEEN, FITS, DIFFERS } verdict;
static verdict compare_differences(trial *t, hr_node node, const function *f)
{
    static const double step = 1e-4;
    double at[5], expected = 0, scale = 1;
    for (int i = 0; i < 5; i++)
        if (!function_at(t, f, (i - 2) * step, &at[i])) return NOT_SEEN;
    for (int i = 0; i < f->xs; i++)
        for (int64_t k = 0; f->along[i].data && k < f->along[i].count; k++) {
            const double part = ((const double *)f->slope[i].data)[k] * ((const double *)f->along[i].data)[k];
            expected += part;
            scale += fabs(part);
        }
    const double near = (at[3] - at[1]) / (2 * step), far = (at[4] - at[0]) / (4 * step);
    const double after = (at[3] - at[2]) / step, before = (at[2] - at[1]) / step;
    scale += fabs(near);
    if (fabs(at[2]) * DBL_EPSILON > 1e-6 * step * scale) return NOT_SEEN; /* too large for its own changes */
    if (fabs(near - far) > 1e-4 * scale || fabs(after - before) > 1e-2 * scale) return NOT_SEEN;
    if (fabs(near - expected) <= 1e-5 * scale + 2 * fabs(near - far)) return FITS;
    printf("the derivative of '%s:%d' is %.9g, differences say %.9g\n", hr_node_name(f->y), f->y.output, expected,
           near);
    describe(t, node);
    return DIFFERS;
}

/* What a gradient is made of has run, too: no random node of Conv2DBackpropFilter has inputs that fit. */
static void count_ops_of_gradients(const trial *t)
{
    for (int32_t id = 0; id < t->g->node_count; id++)
        for (int i = 0; i < ops; i++)
            if (t->g->nodes[id]->op == sig_of[i]->op) reached[i] = true;
}

/* The same op and values in an eager graph, which infers no shapes: its kernel sees them first. */
static void compute_eagerly(trial *t, hr_graph *g, hr_tape *tape)
{
    hr_node in[MAX_INPUTS], node;
    hr_gradient by[MAX_INPUTS];
    hr_error err = {0};
    for (int i = 0; i < t->inputs; i++) {
        in[i] = hr_const(g, &t->value[i]);
        hr_tape_watch(tape, in[i]);
    }
    if (hr_graph_error(g)) return; /* a handle, which is no constant */
    const hr_status st = hr_eager_op(g, t->sig->op->name, &node, &err, .inputs = in, .input_count = t->inputs,
                                     .attrs = t->attr, .attr_count = t->attrs);
    if (st != HR_OK) {
        check_error(t, node, st, &err);
        return;
    }
    for (int i = 0; i < hr_node_outputs(node); i++)
        if (hr_eager_tensor(hr_node_output(node, i)))
            check_result(t, node, hr_node_output(node, i), hr_eager_tensor(hr_node_output(node, i)));
    if (hr_node_outputs(node) == 0 || !is_float(hr_node_dtype(node))) return;
    if (hr_tape_gradient(tape, &node, 1, in, t->inputs, by, &err) != HR_OK) return;
    for (int i = 0; i < t->inputs; i++) {
        const hr_node dense = by[i].values.graph ? hr_gradient_dense(by[i]) : (hr_node){0};
        if (!hr_node_exists(dense)) continue;
        if (hr_node_dtype(dense) != t->value[i].dtype || !hr_shape_equal(hr_node_shape(dense), t->value[i].shape))
            wrong(t, node, "an eager gradient is unlike its input");
    }
}

static void run_eagerly(trial *t)
{
    hr_graph *g = hr_eager_new(.workers = &(int){0});
    assert_non_null(g);
    if (t->sig->op->traits & HR_CALLS) make_function(g);
    hr_tape *tape = hr_tape_begin(g);
    compute_eagerly(t, g, tape);
    hr_tape_free(tape);
    hr_graph_free(g);
}

static void begin(trial *t, int op)
{
    t->sig = sig_of[op];
    const char *name = t->sig->op->name; /* so that an op that is added to the list changes no other's trials */
    t->key = hr_random(hr_fingerprint64(name, strlen(name)) + t->smooth, (uint64_t)(t->number / ops));
    t->g = hr_graph_new();
    t->s = hr_session_new(t->g, .workers = &(int){0});
    assert_non_null(t->s);
    if (t->sig->op->traits & HR_CALLS) make_function(t->g);
    t->common = random_shape(t);
    t->in_tune = one_in(t, 3);
    t->by_row = one_in(t, 2);
    t->alone = t->sig->inputs > 0 && one_in(t, 5) ? (int)below(t, t->sig->inputs) : -1;
    rewind(under_way);
    fprintf(under_way, "%" PRId64 " %s\n", t->number, t->sig->op->name);
    fflush(under_way);
}

static void end(trial *t)
{
    for (int i = 0; i < MAX_INPUTS; i++) free(t->value[i].data);
    hr_session_free(t->s);
    hr_graph_free(t->g);
    hr__arena_free(&t->memory);
}

static void run_trial(int64_t number, bool talks)
{
    const int op = (int)(number % ops);
    trials++;
    trial t = {.number = number, .talks = talks};
    const int64_t before = allocations_alive();
    begin(&t, op);
    choose_attrs(&t);
    choose_inputs(&t);
    hr_node node = {0};
    if (!hr_graph_error(t.g))
        node = hr_new_node(t.g, t.sig->op->name, .inputs = t.input, .input_count = t.inputs, .attrs = t.attr,
                           .attr_count = t.attrs);
    if (talks) describe(&t, node);
    if (hr_graph_error(t.g)) {
        check_error(&t, node, hr_graph_error(t.g)->code, hr_graph_error(t.g));
    } else if (run_forward(&t, node)) {
        results[op]++;
        const bool derives = run_gradients(&t, node);
        derived[op] += derives;
        if (derives) count_ops_of_gradients(&t);
    }
    run_eagerly(&t);
    end(&t);
    if (allocations_alive() != before) fail_msg("trial %" PRId64 " (%s) leaks", number, sig_of[op]->op->name);
}

static int64_t asked(const char *name, int64_t otherwise)
{
    const char *text = getenv(name);
    return text ? strtoll(text, NULL, 10) : otherwise;
}

static verdict run_differences(int64_t number, bool talks)
{
    const int op = (int)(number % ops);
    trial t = {.number = number, .talks = talks, .smooth = true};
    function f = {.xs = 0};
    hr_node node = {0};
    begin(&t, op);
    choose_attrs(&t);
    choose_inputs(&t);
    if (!hr_graph_error(t.g))
        node = hr_new_node(t.g, t.sig->op->name, .inputs = t.input, .input_count = t.inputs, .attrs = t.attr,
                           .attr_count = t.attrs);
    if (talks) describe(&t, node);
    verdict seen = NOT_SEEN;
    if (!hr_graph_error(t.g) && choose_function(&t, node, &f) && derive_function(&t, &f))
        seen = compare_differences(&t, node, &f);
    end(&t);
    return seen;
}

/* Ops whose derivative is not that of what they compute, or cannot be seen here. */
static const struct {
    const char *op, *why;
} no_differences[] = {
    {"StopGradient", "it has none on purpose"},
    {"PreventGradient", "it refuses to be derived"},
    {"ReadVariableOp", "its input is a variable, which is not fed"},
    {"ResourceGather", "its input is a variable, which is not fed"},
    {"Headrace>EmbeddingLookupSparse", "its table is a variable, which is not fed"},
    {"TensorListGather", "of an element that is taken twice TensorFlow keeps one gradient"},
    {"TensorListScatter", "of two elements in one place TensorFlow derives both, though one is lost"},
    {"TensorListScatterV2", "of two elements in one place TensorFlow derives both, though one is lost"},
    {"TensorListScatterIntoExistingList", "of two elements in one place TensorFlow derives both, though one is lost"},
    {"TensorListResize", "its node does not say the type of its elements, so nothing here looks at them"},
    {"ClipByValue", "where the least is above the greatest, TensorFlow derives both"},
    {"Conv2DBackpropFilter", "no random shapes fit; it and what it is made of are Conv2D's, which is compared"},
    {"Conv2DBackpropInput", "no random shapes fit; it and what it is made of are Conv2D's, which is compared"},
    {"FakeQuantWithMinMaxArgs", "it makes steps, and its derivative is as if it made none"},
    {"SoftmaxCrossEntropyWithLogits", "TensorFlow derives its second output by the logits alone"},
};

static const char *why_no_differences(const char *op)
{
    for (size_t i = 0; i < sizeof no_differences / sizeof *no_differences; i++)
        if (strcmp(no_differences[i].op, op) == 0) return no_differences[i].why;
    return NULL;
}

static void derivatives_are_those_that_differences_have(void **state)
{
    (void)state;
    enum { COMPARISONS = 4, TRIES = 6000 };
    const int64_t alone = asked("HEADRACE_DIFFERENCE", -1);
    int wrong_ones = 0;
    if (alone >= 0) run_differences(alone, true);
    for (int op = 0; op < ops && alone < 0 && asked("HEADRACE_TRIAL", -1) < 0; op++) {
        const hr_graph_op *of = sig_of[op]->op;
        int count[DIFFERS + 1] = {0};
        if (!of->gradient || of->traits & HR_CALLS || why_no_differences(of->name)) continue;
        for (int64_t i = 0; i < TRIES && count[FITS] < COMPARISONS && !count[DIFFERS]; i++)
            count[run_differences(i * ops + op, false)]++;
        if (!count[FITS] && !count[DIFFERS]) print_message("%s: no derivative was compared\n", of->name);
        wrong_ones += !count[FITS] || count[DIFFERS];
    }
    assert_int_equal(wrong_ones, 0);
}

/* Some ops ask for much at once: they get more trials, until one has a result, and some more for a gradient. */
static void try_on(int op, int64_t rounds)
{
    const bool derives = sig_of[op]->op->gradient != NULL;
    int64_t i = rounds;
    if (sig_of[op]->op->traits & HR_CALLS) return; /* their results are functions': test_control_flow.c */
    if (reached[op]) return;
    for (; i < rounds + MAX && results[op] == 0; i++) run_trial(i * ops + op, false);
    if (results[op] == 0) fail_msg("%s: no trial of %" PRId64 " has a result", sig_of[op]->op->name, rounds + MAX);
    for (const int64_t end = i + MORE; i < end && derives && derived[op] == 0; i++) run_trial(i * ops + op, false);
}

static void every_op_refuses_or_gives_what_was_inferred(void **state)
{
    (void)state;
    int64_t all = 0, with_gradient = 0;
    const int64_t alone = asked("HEADRACE_TRIAL", -1), first = asked("HEADRACE_FIRST", 0);
    const int64_t rounds = asked("HEADRACE_ROUNDS", 16);
    if (alone >= 0) {
        run_trial(alone, true);
        return;
    }
    for (int64_t i = first; i < first + rounds * ops; i++) run_trial(i, false);
    for (int i = 0; i < ops && first == 0; i++) try_on(i, rounds);
    for (int i = 0; i < ops; i++) {
        all += results[i];
        with_gradient += derived[i];
    }
    print_message("%" PRId64 " trials of %d ops: %" PRId64 " with a result, %" PRId64 " with a gradient\n", trials, ops,
                  all, with_gradient);
}

/* TensorFlow's own, with or without a kernel here; and what is built in says none of its own for those. */
static void every_signature_is_read(void **state)
{
    static const char *const names[] = {
#define HR_OPDEF(name, inputs, outputs, attrs, flags) name,
#include "train/graph/opdefs.def"
#undef HR_OPDEF
    };
    (void)state;
    hr__signature *sig = hr__arena_get(&signatures, sizeof *sig);
    assert_non_null(sig);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        hr_error err = {0};
        const hr_graph_op bare = {.head = HR_GRAPH_OP_HEAD, .name = names[i]}, *op = hr_graph_op_named(names[i]);
        const hr__opdef *def = hr__opdef_named(names[i]);
        assert_non_null(def);
        assert_ok(hr__signature_parse(&signatures, op ? op : &bare, def, sig, &err), &err);
        if (op && (op->inputs || op->outputs || op->attrs)) fail_msg("%s has a signature of its own", names[i]);
    }
}

static int parse_signatures(void **state)
{
    hr_error err;
    (void)state;
    under_way = fopen("trial", "w");
    for (const hr_graph_op *op; ops < MAX_OPS && (op = hr_graph_op_at(ops)); ops++) {
        sig_of[ops] = hr__arena_get(&signatures, sizeof **sig_of);
        if (!sig_of[ops] || hr__signature_parse(&signatures, op, hr__opdef_named(op->name), sig_of[ops], &err) != HR_OK)
            return -1;
    }
    limit_allocation(LARGEST);
    return under_way && ops > 0 ? 0 : -1;
}

static int free_signatures(void **state)
{
    (void)state;
    hr__arena_free(&signatures);
    fclose(under_way);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_signature_is_read),
                                       cmocka_unit_test(every_op_refuses_or_gives_what_was_inferred),
                                       cmocka_unit_test(derivatives_are_those_that_differences_have)};
    return cmocka_run_group_tests(tests, parse_signatures, free_signatures);
}
