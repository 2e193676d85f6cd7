/* Cross entropies that are written out become the ops that compute them at once, without an exp that overflows or the
 * log of a 0: of a Softmax with labels, or with the OneHot of classes, and of a Sigmoid. Where the written form is NaN
 * by a probability that rounds to 0 or 1, this one has a value. */
#include <headrace/pass.h>
#include <string.h>

static const hr_node no_entropy = {0};

static bool entropy_same(hr_node a, hr_node b) { return a.id == b.id && a.output == b.output; }

/* Computed as the user's graph says, by nothing but its inputs. */
static bool entropy_is_plain(const hr_rewrite *r, hr_node node)
{
    return hr_node_is_pure(node) && hr_node_controls(node) == 0 && !hr_rewrite_is_fed(r, node);
}

/* What the node takes, if it is of that op and one other node alone takes it. No node: it is not. */
static hr_node entropy_inner(const hr_rewrite *r, hr_node node, const char *op)
{
    const bool inner = hr_node_is(node, op) && entropy_is_plain(r, node) && hr_rewrite_uses(r, node) == 1;
    return inner ? hr_rewrite_input(r, node, 0) : no_entropy;
}

/* A constant of one number. */
static bool entropy_is_number(const hr_rewrite *r, hr_node node, double wanted)
{
    const hr_attr *value = hr_node_attr(node, "value");
    if (!hr_node_is(node, "Const") || !entropy_is_plain(r, node) || !value || value->tensor->count != 1) return false;
    const hr_tensor *t = value->tensor;
    if (t->dtype == HR_FLOAT) return *(const float *)t->data == (float)wanted;
    if (t->dtype == HR_DOUBLE) return *(const double *)t->data == wanted;
    if (t->dtype == HR_INT32) return *(const int32_t *)t->data == (int32_t)wanted;
    return t->dtype == HR_INT64 && *(const int64_t *)t->data == (int64_t)wanted;
}

/* ---- of a Softmax ---- */

/* Logits of log(softmax). Others may take the softmax, too, which is kept then. */
static hr_node logits_of_log(const hr_rewrite *r, hr_node log)
{
    const hr_node logits = entropy_inner(r, log, "LogSoftmax"), softmax = entropy_inner(r, log, "Log");
    if (logits.graph) return logits;
    return softmax.graph && hr_node_is(softmax, "Softmax") && entropy_is_plain(r, softmax)
               ? hr_rewrite_input(r, softmax, 0)
               : no_entropy;
}

/* The classes of labels that are their OneHot. */
static hr_node classes_of(const hr_rewrite *r, hr_node labels, int64_t count)
{
    const hr_node classes = entropy_inner(r, labels, "OneHot");
    if (!classes.graph) return no_entropy;
    const int64_t axis = hr_attr_int(labels, "axis");
    const bool fits = (axis == -1 || axis == 1) && hr_node_shape(classes).rank == 1 &&
                      (hr_node_dtype(classes) == HR_INT32 || hr_node_dtype(classes) == HR_INT64) &&
                      entropy_is_number(r, hr_rewrite_input(r, labels, 1), (double)count) &&
                      entropy_is_number(r, hr_rewrite_input(r, labels, 2), 1) &&
                      entropy_is_number(r, hr_rewrite_input(r, labels, 3), 0);
    return fits ? classes : no_entropy;
}

/* A class that is none has a row of zeros, whose loss is 0. */
static hr_node make_sparse(hr_node logits, hr_node classes, int64_t count, const char *name)
{
    hr_graph *g = logits.graph;
    const hr_dtype dtype = hr_node_dtype(classes);
    const hr_node last = hr_const_number(g, dtype, (double)(count - 1), NULL),
                  zero = hr_const_number(g, dtype, 0, NULL);
    const hr_node below = hr_new_node(g, "Minimum", HR_INPUTS(classes, last));
    const hr_node within = hr_new_node(g, "Maximum", HR_INPUTS(below, zero));
    const hr_node loss = hr_new_node(g, "SparseSoftmaxCrossEntropyWithLogits", HR_INPUTS(logits, within));
    const hr_node is_class = hr_new_node(g, "Equal", HR_INPUTS(classes, within));
    const hr_node none = hr_const_number(g, hr_node_dtype(logits), 0, NULL);
    return hr_new_node(g, "SelectV2", .name = name, HR_INPUTS(is_class, loss, none));
}

/* By logits and labels [batch, classes], of as many classes. */
static hr_node make_softmax(const hr_rewrite *r, hr_node logits, hr_node labels, const char *name)
{
    const hr_shape x = hr_node_shape(logits), y = hr_node_shape(labels);
    if (x.rank != 2 || y.rank != 2 || x.dims[1] < 1 || x.dims[1] != y.dims[1]) return no_entropy;
    const hr_node classes = classes_of(r, labels, x.dims[1]);
    if (classes.graph && x.dims[0] >= 0 && x.dims[0] == hr_node_shape(classes).dims[0])
        return make_sparse(logits, classes, x.dims[1], name);
    return hr_new_node(logits.graph, "SoftmaxCrossEntropyWithLogits", .name = name, HR_INPUTS(logits, labels));
}

/* Of labels * log(softmax). */
static hr_node of_product(const hr_rewrite *r, hr_node product, const char *name)
{
    if (!entropy_inner(r, product, "Mul").graph) return no_entropy;
    for (int i = 0; i < 2; i++) {
        const hr_node logits = logits_of_log(r, hr_rewrite_input(r, product, i));
        if (logits.graph) return make_softmax(r, logits, hr_rewrite_input(r, product, 1 - i), name);
    }
    return no_entropy;
}

static bool sums_classes(const hr_rewrite *r, hr_node sum)
{
    const hr_node axis = hr_rewrite_input(r, sum, 1);
    return !hr_attr_bool(sum, "keep_dims") && (entropy_is_number(r, axis, 1) || entropy_is_number(r, axis, -1));
}

/* -sum(labels * log(softmax)), or sum(-(labels * log(softmax))). */
static hr_node softmax_entropy(const hr_rewrite *r, hr_node node)
{
    const hr_node input = hr_rewrite_input(r, node, 0);
    if (hr_node_is(node, "Neg")) {
        const hr_node product = entropy_inner(r, input, "Sum");
        return product.graph && sums_classes(r, input) ? of_product(r, product, hr_node_name(node)) : no_entropy;
    }
    if (!hr_node_is(node, "Sum") || !sums_classes(r, node)) return no_entropy;
    const hr_node product = entropy_inner(r, input, "Neg");
    return product.graph ? of_product(r, product, hr_node_name(node)) : no_entropy;
}

/* ---- of a Sigmoid ---- */

/* What is taken from 1. */
static hr_node complement_of(const hr_rewrite *r, hr_node node)
{
    if (!hr_node_is(node, "Sub") || !entropy_is_plain(r, node)) return no_entropy;
    const hr_node one = hr_rewrite_input(r, node, 0); /* a scalar, which adds no dimensions */
    return hr_node_shape(one).rank == 0 && entropy_is_number(r, one, 1) ? hr_rewrite_input(r, node, 1) : no_entropy;
}

/* labels * log(p), or (1 - labels) * log(1 - p). */
static bool of_log(const hr_rewrite *r, hr_node product, bool complement, hr_node *labels, hr_node *p)
{
    if (!entropy_inner(r, product, "Mul").graph) return false;
    for (int i = 0; i < 2; i++) {
        const hr_node of = entropy_inner(r, hr_rewrite_input(r, product, i), "Log");
        if (!of.graph) continue;
        *labels = hr_rewrite_input(r, product, 1 - i);
        *p = of;
        if (!complement) return true;
        *labels = complement_of(r, *labels);
        *p = complement_of(r, of);
        return labels->graph && p->graph;
    }
    return false;
}

/* As TensorFlow composes it: max(x, 0) - x * y + log1p(exp(-|x|)). */
static hr_node compose_sigmoid(hr_node x, hr_node y, const char *name)
{
    hr_graph *g = x.graph;
    const hr_node product = hr_new_node(g, "Mul", HR_INPUTS(x, y)), top = hr_new_node(g, "Relu", HR_INPUTS(x));
    const hr_node size = hr_new_node(g, "Abs", HR_INPUTS(x)), low = hr_new_node(g, "Neg", HR_INPUTS(size));
    const hr_node rest = hr_new_node(g, "Log1p", HR_INPUTS(hr_new_node(g, "Exp", HR_INPUTS(low))));
    return hr_new_node(g, "AddV2", .name = name, HR_INPUTS(hr_new_node(g, "Sub", HR_INPUTS(top, product)), rest));
}

/* -(labels * log(p) + (1 - labels) * log(1 - p)), the terms in any order. */
static hr_node sigmoid_entropy(const hr_rewrite *r, hr_node node)
{
    hr_node labels, others, p, q;
    const hr_node sum = hr_rewrite_input(r, node, 0);
    if (!hr_node_is(node, "Neg")) return no_entropy;
    if (!entropy_inner(r, sum, "AddV2").graph && !entropy_inner(r, sum, "Add").graph) return no_entropy;
    for (int i = 0; i < 2; i++) {
        if (!of_log(r, hr_rewrite_input(r, sum, i), false, &labels, &p) ||
            !of_log(r, hr_rewrite_input(r, sum, 1 - i), true, &others, &q) || !entropy_same(labels, others) ||
            !entropy_same(p, q) || !hr_node_is(p, "Sigmoid") || !entropy_is_plain(r, p))
            continue;
        const hr_node logits = hr_rewrite_input(r, p, 0);
        const hr_shape shape = hr_node_shape(logits);
        if (hr_shape_count(shape) < 0 || !hr_shape_equal(shape, hr_node_shape(labels)))
            return compose_sigmoid(logits, labels, hr_node_name(node));
        return hr_new_node(logits.graph, "Headrace>SigmoidCrossEntropyWithLogits", .name = hr_node_name(node),
                           HR_INPUTS(logits, labels));
    }
    return no_entropy;
}

static hr_status cross_entropy_run(hr_rewrite *r, hr_error *err)
{
    hr_graph *g = hr_rewrite_graph(r);
    const int32_t size = hr_graph_size(g);
    for (int32_t id = 0; id < size; id++) {
        const hr_node node = {g, id, 0};
        const hr_dtype dtype = hr_node_dtype(node);
        if ((!hr_node_is(node, "Neg") && !hr_node_is(node, "Sum")) || (dtype != HR_FLOAT && dtype != HR_DOUBLE) ||
            !entropy_is_plain(r, node))
            continue;
        hr_node by = softmax_entropy(r, node);
        if (!by.graph) by = sigmoid_entropy(r, node);
        if (!hr_node_exists(by)) continue; /* an error is the graph's */
        HR_TRY(hr_rewrite_replace(r, node, by, err));
        HR_TRY(hr_rewrite_replace(r, hr_target(node), by, err));
    }
    return HR_OK;
}

const hr_graph_pass hr_graph_pass_cross_entropy = {
    .head = HR_GRAPH_PASS_HEAD,
    .name = "cross_entropy",
    .text = "computes cross entropies that are written out at once; the last bits may differ",
    .traits = HR_PASS_FOR_RUNS,
    .run = cross_entropy_run,
};
