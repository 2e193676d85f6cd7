/* Einsum: sums of products, written with a letter for each dimension. Each input is brought into the form of matrices,
 * what only it has being summed; their products are brought into the form of the output. */
#include "train/ops/products.h"
#include <headrace/linalg.h>
#include <stdio.h>

/* The dimensions that "..." stands for have labels of their own, counted from the last one. */
enum { LETTERS = 52, LABELS = LETTERS + HR_MAX_RANK, NO_LABEL = -1, ELLIPSIS = -2 };

/* "ab...c": labels, with ELLIPSIS at most once. */
typedef struct term {
    int count, label[HR_MAX_RANK + 1];
    bool ellipsis;
} term;

typedef struct equation {
    int inputs;
    term input[2], output;
    int64_t size[LABELS]; /* -1: not known */
} equation;

static int label_of(char c)
{
    const bool small = c >= 'a' && c <= 'z';
    return small ? c - 'a' : c >= 'A' && c <= 'Z' ? c - 'A' + 26 : NO_LABEL;
}

/* ---- reading ---- */

static hr_status read_term(hr_view whole, const char **at, term *out, hr_error *err)
{
    const char *const end = whole.data + whole.size;
    *out = (term){0};
    for (; *at < end && **at != ',' && **at != '-'; (*at)++) {
        const bool dots = end - *at >= 3 && memcmp(*at, "...", 3) == 0 && !out->ellipsis;
        const int label = dots ? ELLIPSIS : label_of(**at);
        if (label == NO_LABEL || out->count == HR_MAX_RANK + out->ellipsis)
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.equation",
                           "expected up to %d letters and one '...' a term, got '%.*s' in '%.*s'", HR_MAX_RANK,
                           (int)(end - *at), *at, (int)whole.size, whole.data);
        out->label[out->count++] = label;
        out->ellipsis |= dots;
        *at += dots ? 2 : 0;
    }
    return HR_OK;
}

static hr_status read_equation(hr_view text, equation *e, hr_error *err)
{
    const char *at = text.data, *const end = text.data + text.size;
    term *next = e->input;
    e->inputs = 0;
    while (true) {
        HR_TRY(read_term(text, &at, next, err));
        if (next == &e->output) break;
        e->inputs++;
        if (end - at >= 2 && memcmp(at, "->", 2) == 0)
            next = &e->output, at += 2;
        else if (at < end && *at == ',' && e->inputs < 2)
            next = &e->input[1], at++;
        else
            break;
    }
    if (next == &e->output && at == end) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "graph.equation", "expected one or two terms, '->' and a term, got '%.*s'",
                   (int)text.size, text.data);
}

/* "..." becomes the labels of `dims` dimensions. */
static void expand(term *t, int dims)
{
    term wide = {.ellipsis = t->ellipsis};
    for (int i = 0; i < t->count; i++) {
        for (int d = dims - 1; d >= 0 && t->label[i] == ELLIPSIS; d--) wide.label[wide.count++] = LETTERS + d;
        if (t->label[i] != ELLIPSIS) wide.label[wide.count++] = t->label[i];
    }
    *t = wide;
}

static hr_status put_size(equation *e, int label, int64_t size, hr_error *err)
{
    int64_t *known = &e->size[label];
    const bool broadcasts = label >= LETTERS && (*known == 1 || size == 1);
    if (*known < 0 || (broadcasts && *known == 1)) {
        *known = size;
    } else if (size >= 0 && *known != size && !broadcasts) {
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                       "expected one length for each letter, got %lld and %lld", (long long)*known, (long long)size);
    }
    return HR_OK;
}

/* Gives each label its length. *known: false if the rank of an input that "..." depends on is not known. */
static hr_status fit_equation(equation *e, const hr_shape *const *in, bool *known, hr_error *err)
{
    int dims = 0;
    *known = true;
    for (int i = 0; i < LABELS; i++) e->size[i] = -1;
    for (int i = 0; i < e->inputs; i++) {
        term *t = &e->input[i];
        const int letters = t->count - t->ellipsis, rank = in[i]->rank;
        if (rank < 0 && t->ellipsis) *known = false;
        if (rank < 0) continue;
        if (rank < letters || (rank > letters && !t->ellipsis))
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "Expected input %d to have rank %s%d but got: %d",
                           i, t->ellipsis ? "at least " : "", letters, rank);
        const int own = rank - letters;
        expand(t, own);
        if (own > dims) dims = own;
        for (int d = 0; d < rank; d++) HR_TRY(put_size(e, t->label[d], in[i]->dims[d], err));
    }
    if (*known && dims > 0 && !e->output.ellipsis)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.equation",
                       "Output contains %d broadcasting dimension(s) but no ellipsis (...) was found in the output "
                       "subscripts",
                       dims);
    if (*known) expand(&e->output, dims);
    if (e->output.count > HR_MAX_RANK)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected an output of at most %d dimensions, got %d",
                       HR_MAX_RANK, e->output.count);
    return HR_OK;
}

static bool term_has(const term *t, int label)
{
    for (int i = 0; i < t->count; i++)
        if (t->label[i] == label) return true;
    return false;
}

static hr_status read_node(hr_node node, const hr_shape *const *in, int inputs, equation *e, bool *known, hr_error *err)
{
    HR_TRY(read_equation(hr_attr_string(node, "equation"), e, err));
    if (e->inputs != inputs)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.equation", "expected an input for each term, got %d and %d",
                       inputs, e->inputs);
    for (int i = 0; i < e->output.count; i++)
        if (e->output.label[i] != ELLIPSIS && !term_has(&e->input[0], e->output.label[i]) &&
            !(inputs > 1 && term_has(&e->input[1], e->output.label[i])))
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.equation",
                           "expected letters of the output to be those of inputs");
    return fit_equation(e, in, known, err);
}

static hr_status einsum_shape(hr_infer *s, hr_error *err)
{
    equation e;
    bool known;
    const hr_shape *const in[] = {&s->input[0], s->inputs > 1 ? &s->input[1] : NULL};
    HR_TRY(read_node(s->node, in, s->inputs, &e, &known, err));
    if (!known) return HR_OK;
    s->output[0].rank = e.output.count;
    for (int i = 0; i < e.output.count; i++) s->output[0].dims[i] = e.size[e.output.label[i]];
    return HR_OK;
}

/* ---- computing ---- */

#define ADD(T, V, U, D, S, A, B)                                                                                       \
    HR_LOOP(add, S)                                                                                                    \
    {                                                                                                                  \
        (void)user;                                                                                                    \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            T *z = (T *)(void *)(at[0] + i * step[0]);                                                                 \
            const T *x = (const T *)(const void *)(at[1] + i * step[1]);                                               \
            *z = HR_PUT(S, T, (U)HR_GET(S, *z) + (U)HR_GET(S, *x));                                                    \
        }                                                                                                              \
    }
HR_EACH_TYPE(ADD, ~, ~, floats, halves, signed_ints, complexes)

/* Labels in an order, each once. */
typedef struct order {
    int count, label[2 * HR_MAX_RANK];
} order;

static void order_add(order *o, int label) { o->label[o->count++] = label; }

static bool order_has(const order *o, int label)
{
    for (int i = 0; i < o->count; i++)
        if (o->label[i] == label) return true;
    return false;
}

static order join(const order *a, const order *b, const order *c)
{
    order all = *a;
    for (int i = 0; i < b->count; i++) order_add(&all, b->label[i]);
    for (int i = 0; c && i < c->count; i++) order_add(&all, c->label[i]);
    return all;
}

static hr_status order_values(const equation *e, const order *o, int64_t *values, hr_error *err)
{
    *values = 1;
    for (int i = 0; i < o->count; i++) HR_TRY(hr_dim_mul(*values, e->size[o->label[i]], values, err));
    return HR_OK;
}

/* How far a step along each label of `o` goes in a tensor of that term, in bytes: a diagonal goes along several
 * dimensions at once, and what broadcasts stands still. */
static void steps_of(const equation *e, const term *t, const hr_tensor *tensor, const order *o, int64_t *step)
{
    int64_t own[HR_MAX_RANK];
    hr_walk_steps(tensor, own);
    memset(step, 0, (size_t)o->count * sizeof *step);
    for (int i = 0; i < o->count; i++)
        for (int d = 0; d < t->count; d++)
            if (t->label[d] == o->label[i] && tensor->shape.dims[d] == e->size[o->label[i]]) step[i] += own[d];
}

/* Whether the tensor's values already lie in that order, all of them. */
static bool lies_in(const equation *e, const term *t, const hr_tensor *tensor, const order *o)
{
    int64_t step[2 * HR_MAX_RANK], next = (int64_t)hr_dtype_size(tensor->dtype), values = 1;
    steps_of(e, t, tensor, o, step);
    for (int i = o->count - 1; i >= 0; i--) {
        const int64_t size = e->size[o->label[i]];
        if (size != 1 && step[i] != next) return false;
        next *= size;
        values *= size;
    }
    return values == tensor->count;
}

/* Adds the values of `from` to those of `to`, which is cleared before; `o` has the labels of both. */
static void add_along(hr_kernel *k, const equation *e, const order *o, hr_tensor *to, const term *to_term,
                      const hr_tensor *from, const term *from_term)
{
    hr_walk w;
    hr_shape space = {o->count, {0}};
    int64_t step[2 * HR_MAX_RANK];
    for (int i = 0; i < o->count; i++) space.dims[i] = e->size[o->label[i]];
    memset(to->data, 0, (size_t)to->count * hr_dtype_size(to->dtype));
    hr_walk_begin(&w, space);
    steps_of(e, to_term, to, o, step);
    hr_walk_add_strided(&w, to->data, step);
    steps_of(e, from_term, from, o, step);
    hr_walk_add_strided(&w, from->data, step);
    hr_walk_run(k, &w, .5, (hr_loop *)hr_kernel_chosen(k)->run, NULL);
}

/* A dense tensor of the labels of an order, with memory of its own. */
static hr_status new_tensor(hr_kernel *k, const equation *e, const order *o, term *t, hr_tensor *out, hr_error *err)
{
    int64_t values;
    *t = (term){.count = o->count};
    memcpy(t->label, o->label, sizeof *o->label * (size_t)o->count);
    HR_TRY(order_values(e, o, &values, err));
    *out = hr_tensor_of(k->input[0]->dtype, (hr_shape){o->count, {0}}, NULL);
    for (int i = 0; i < o->count; i++) out->shape.dims[i] = e->size[o->label[i]];
    out->count = values;
    return hr_kernel_array(k, values, hr_dtype_size(out->dtype), "a term of a sum of products", &out->data, err);
}

/* As [batch, rows, columns], in place where that is possible, perhaps turned. What only this input has is summed. */
static hr_status as_matrices(hr_kernel *k, const equation *e, int input, const order *batch, const order *rows,
                             const order *columns, hr_tensor *out, bool *turned, hr_error *err)
{
    const hr_tensor *in = k->input[input];
    const term *t = &e->input[input];
    const order straight = join(batch, rows, columns), across = join(batch, columns, rows);
    hr_tensor copy = *in;
    int64_t dims[3];
    *turned = false;
    if (!lies_in(e, t, in, &straight)) {
        *turned = lies_in(e, t, in, &across);
        if (!*turned) {
            term own;
            order all = straight;
            for (int i = 0; i < t->count; i++)
                if (!order_has(&all, t->label[i])) order_add(&all, t->label[i]);
            HR_TRY(new_tensor(k, e, &straight, &own, &copy, err));
            add_along(k, e, &all, &copy, &own, in, t);
        }
    }
    HR_TRY(order_values(e, batch, &dims[0], err));
    HR_TRY(order_values(e, *turned ? columns : rows, &dims[1], err));
    HR_TRY(order_values(e, *turned ? rows : columns, &dims[2], err));
    if (dims[1] > INT32_MAX || dims[2] > INT32_MAX)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                       "expected matrices of at most %d rows and columns, got %lld and %lld", INT32_MAX,
                       (long long)dims[1], (long long)dims[2]);
    *out = hr_tensor_of(in->dtype, HR_SHAPE(dims[0], dims[1], dims[2]), copy.data);
    return HR_OK;
}

/* Labels of both inputs and the output are `batch`, of both alone `inner`; of one and the output `own`. */
static void sort_labels(const equation *e, order *batch, order *inner, order own[2])
{
    memset(batch, 0, sizeof *batch);
    memset(inner, 0, sizeof *inner);
    memset(own, 0, 2 * sizeof *own);
    for (int i = 0; i < e->output.count; i++) {
        const int label = e->output.label[i];
        const bool in[] = {term_has(&e->input[0], label), term_has(&e->input[1], label)};
        order *to = in[0] && in[1] ? batch : &own[in[0] ? 0 : 1];
        if (!order_has(to, label)) order_add(to, label);
    }
    for (int i = 0; i < e->input[0].count; i++) {
        const int label = e->input[0].label[i];
        if (term_has(&e->input[1], label) && !term_has(&e->output, label) && !order_has(inner, label))
            order_add(inner, label);
    }
}

static hr_status einsum_two(hr_kernel *k, const equation *e, hr_tensor *out, hr_error *err)
{
    order batch, inner, own[2];
    hr__products p = {0};
    hr_tensor a, b, products;
    term t;
    sort_labels(e, &batch, &inner, own);
    const order all = join(&batch, &own[0], &own[1]);
    HR_TRY(as_matrices(k, e, 0, &batch, &own[0], &inner, &a, &p.ta, err));
    HR_TRY(as_matrices(k, e, 1, &batch, &inner, &own[1], &b, &p.tb, err));
    const bool in_place = lies_in(e, &e->output, out, &all);
    if (!in_place) HR_TRY(new_tensor(k, e, &all, &t, &products, err));
    hr_tensor matrices =
        hr_tensor_of(out->dtype, HR_SHAPE(a.shape.dims[0], a.shape.dims[p.ta ? 2 : 1], b.shape.dims[p.tb ? 1 : 2]),
                     in_place ? out->data : products.data);
    p.a = &a, p.b = &b, p.out = &matrices;
    HR_TRY(hr__products_run(k, &p, err));
    if (!in_place) add_along(k, e, &all, out, &e->output, &products, &t);
    return HR_OK;
}

static hr_status einsum_compute(hr_kernel *k, hr_error *err)
{
    equation e;
    bool known;
    hr_tensor *out;
    const hr_shape *const in[] = {&k->input[0]->shape, k->inputs > 1 ? &k->input[1]->shape : NULL};
    HR_TRY(read_node(k->node, in, k->inputs, &e, &known, err));
    hr_shape shape = {e.output.count, {0}};
    for (int i = 0; i < e.output.count; i++) shape.dims[i] = e.size[e.output.label[i]];
    HR_TRY(hr_kernel_output(k, 0, shape, &out, err));
    if (out->count == 0) return HR_OK;
    if (k->inputs == 2) return einsum_two(k, &e, out, err);
    order all = {0};
    for (int i = 0; i < e.output.count; i++)
        if (!order_has(&all, e.output.label[i])) order_add(&all, e.output.label[i]);
    for (int i = 0; i < e.input[0].count; i++)
        if (!order_has(&all, e.input[0].label[i])) order_add(&all, e.input[0].label[i]);
    add_along(k, &e, &all, out, &e.output, k->input[0], &e.input[0]);
    return HR_OK;
}

/* ---- the gradient ---- */

enum { TEXT = 64 };
static const hr_node no_node;

/* Term number `i` of an equation as text, and its length. The last one is the output. */
static hr_view term_text(hr_view equation, int i)
{
    const char *at = equation.data, *const end = equation.data + equation.size;
    for (; i > 0 && at < end; at++)
        if (*at == ',' || *at == '>') i--;
    const char *stop = at;
    while (stop < end && *stop != ',' && *stop != '-') stop++;
    return (hr_view){at, stop - at};
}

static bool text_has(hr_view text, char c) { return text.size > 0 && memchr(text.data, c, (size_t)text.size); }

/* "a...b" as "...ab", or, without dots, as "ab". */
static void letters_of(hr_view text, bool dots, char *out)
{
    size_t at = 0;
    if (dots) at = 3, memcpy(out, "...", 3);
    for (int64_t i = 0; i < text.size; i++)
        if (text.data[i] != '.') out[at++] = text.data[i];
    out[at] = 0;
}

static hr_node einsum_of(hr_graph *g, hr_node x, hr_node y, const char *equation)
{
    if (!hr_node_exists(y))
        return hr_new_node(g, "Einsum", HR_INPUTS(x), HR_ATTRS(HR_STRING_ATTR("equation", equation)));
    return hr_new_node(g, "Einsum", HR_INPUTS(x, y), HR_ATTRS(HR_STRING_ATTR("equation", equation)));
}

/* The length of the dimension of x that a letter stands for, as a vector. */
static hr_node length_of(hr_node x, hr_view text, char letter)
{
    int64_t at = (const char *)memchr(text.data, letter, (size_t)text.size) - text.data;
    const char *dots = memchr(text.data, '.', (size_t)text.size);
    if (dots && dots - text.data < at) at -= text.size; /* counted from the end */
    const int64_t next = at + 1;
    const hr_subscript range = {.begin = &at, .end = next ? &next : NULL};
    return hr_strided_slice_with(hr_shape_of(x), &range, 1);
}

/* The gradient spread over the letters that only input `i` has, which come first: "zab" for "ab". */
static hr_node spread_gradient(const hr_backward *b, int i, hr_view own, hr_view other, char *text)
{
    const hr_view output = term_text(hr_attr_string(b->node, "equation"), b->inputs);
    hr_node g = b->grad[0], lengths[HR_MAX_RANK + 1];
    int added = 0;
    for (int64_t c = 0; c < own.size && added < HR_MAX_RANK; c++) {
        const char letter = own.data[c];
        if (letter == '.' || text_has(output, letter) || text_has(other, letter) ||
            text_has((hr_view){text, added}, letter))
            continue;
        lengths[added] = length_of(b->input[i], own, letter);
        text[added++] = letter;
    }
    memcpy(text + added, output.data, (size_t)output.size);
    text[added + output.size] = 0;
    if (added == 0) return g;
    lengths[added] = hr_shape_of(g);
    return hr_broadcast_to(g, hr_concat(lengths, added + 1, 0));
}

/* Summed over what was broadcast: `by` and `first` have the dimensions of "..." in front. */
static hr_node sum_broadcast(const hr_backward *b, int i, hr_view own, const char *first, hr_node by)
{
    char text[2 * TEXT];
    hr_node like = b->input[i];
    const bool moved = text_has(own, '.') && memcmp(own.data, first, (size_t)own.size) != 0;
    (void)snprintf(text, sizeof text, "%.*s->%s", (int)own.size, own.data, first);
    if (moved) like = einsum_of(b->graph, like, no_node, text);
    by = hr_gradient_unbroadcast(by, like, by);
    (void)snprintf(text, sizeof text, "%s->%.*s", first, (int)own.size, own.data);
    return moved ? einsum_of(b->graph, by, no_node, text) : by;
}

/* What flows to input `i`: the gradient times the other input, summed over what this one does not have. What only it
 * has was summed before, so that all of its places get the same; what was broadcast is summed now. */
static void einsum_give(hr_backward *b, int i)
{
    const hr_view equation = hr_attr_string(b->node, "equation"), own = term_text(equation, i);
    const hr_view other = b->inputs > 1 ? term_text(equation, 1 - i) : (hr_view){"", 0};
    const bool dots = text_has(term_text(equation, b->inputs), '.');
    char first[TEXT], g_text[2 * TEXT], text[4 * TEXT];
    hr_node by;
    letters_of(own, dots, first);
    const hr_node g = spread_gradient(b, i, own, other, g_text);
    if (b->inputs == 1) {
        (void)snprintf(text, sizeof text, "%s->%s", g_text, first);
        by = einsum_of(b->graph, g, no_node, text);
    } else if (i == 0) {
        (void)snprintf(text, sizeof text, "%s,%.*s->%s", g_text, (int)other.size, other.data, first);
        by = einsum_of(b->graph, g, b->input[1], text);
    } else {
        (void)snprintf(text, sizeof text, "%.*s,%s->%s", (int)other.size, other.data, g_text, first);
        by = einsum_of(b->graph, b->input[0], g, text);
    }
    hr_backward_give(b, i, dots ? sum_broadcast(b, i, own, first, by) : by);
}

static void einsum_gradient(hr_backward *b)
{
    for (int i = 0; i < b->inputs; i++) einsum_give(b, i);
}

const hr_graph_op hr_graph_ops_einsum_op[] = {
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "Einsum",
        .shape = einsum_shape,
        .compute = einsum_compute,
        .gradient = einsum_gradient,
        .kernels = HR_KERNELS(add, floats, halves, signed_ints, complexes),
    },
    HR_GRAPH_OPS_END,
};
