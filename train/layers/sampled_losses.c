/* Losses that look at the true classes and some others: nce and sampled softmax, as tf.nn has them. */
#include "train/layers/layers_internal.h"

typedef struct sampled_logits {
    hr_node logits, labels; /* [n, true classes + sampled ones] */
} sampled_logits;

typedef struct sampled_call {
    hr_graph *g;
    hr_node weights, biases, labels, inputs;
    int64_t num_sampled, num_classes, trues;
    const hr_sampled_loss_opts *opts;
    hr_candidates candidates;
} sampled_call;

static hr_node rows(hr_node x, int64_t width) { return hr_reshape(x, hr_shape_const(x.graph, HR_SHAPE(-1, width))); }

/* Logits of sampled classes that are true ones become as small as can be. */
static hr_node without_hits(const sampled_call *c, hr_node logits)
{
    const hr_node hits = hr_new_node(c->g, "ComputeAccidentalHits", HR_INPUTS(c->labels, c->candidates.sampled),
                                     HR_ATTRS(HR_INT_ATTR("num_true", c->trues)));
    const hr_node at[] = {rows(hits, 1), rows(hr_cast_to(hr_node_output(hits, 1), HR_INT32), 1)};
    return hr_add(logits, hr_new_node(c->g, "SparseToDense",
                                      HR_INPUTS(hr_concat(at, 2, 1), hr_shape_of(logits), hr_node_output(hits, 2),
                                                hr_scalar(c->g, HR_FLOAT, 0)),
                                      HR_ATTRS(HR_BOOL_ATTR("validate_indices", false))));
}

/* The first values of x, as many as there are labels, and those after them. */
static void split_at_labels(const sampled_call *c, hr_node x, hr_node flat, hr_node *of_true, hr_node *of_sampled)
{
    const int rank = hr_node_shape(x).rank == 2 ? 2 : 1;
    const hr_node count = hr_shape_of(flat), none = hr_ints(c->g, (const int64_t[]){0, 0}, rank);
    const hr_node all = hr_ints(c->g, (const int64_t[]){-1}, 1), first[] = {count, all},
                  later[] = {count, hr_ints(c->g, (const int64_t[]){0}, 1)};
    *of_true = hr_slice(x, none, rank == 2 ? hr_concat(first, 2, 0) : count);
    *of_sampled = hr_slice(x, rank == 2 ? hr_concat(later, 2, 0) : count,
                           rank == 2 ? hr_ints(c->g, (const int64_t[]){-1, -1}, 2) : all);
}

static sampled_logits logits_of(const sampled_call *c, bool remove_hits)
{
    const hr_node flat = hr_reshape(c->labels, hr_ints(c->g, (const int64_t[]){-1}, 1)),
                  both[] = {flat, c->candidates.sampled};
    const hr_node ids = hr_concat(both, 2, 0);
    hr_node true_w, sampled_w, true_b, sampled_b;
    split_at_labels(c, hr_embedding_lookup(&c->weights, 1, ids), flat, &true_w, &sampled_w);
    split_at_labels(c, hr_embedding_lookup(&c->biases, 1, ids), flat, &true_b, &sampled_b);
    const int64_t dim = hr_node_shape(c->inputs).dims[1];
    const hr_node x = hr_expand_dims(c->inputs, hr_scalar(c->g, HR_INT32, 1));
    const hr_node products = hr_mul(x, hr_reshape(true_w, hr_shape_const(c->g, HR_SHAPE(-1, c->trues, dim))));
    hr_node of_true = hr_add(hr_reduce_sum(products, .axes = HR_I64(2), .axis_count = 1), rows(true_b, c->trues));
    hr_node of_sampled = hr_add(hr_matmul(c->inputs, sampled_w, .transpose_b = true), sampled_b);
    if (remove_hits) of_sampled = without_hits(c, of_sampled);
    of_true = hr_sub(of_true, hr_log(hr_stop_gradient(c->candidates.true_expected)));
    of_sampled = hr_sub(of_sampled, hr_log(hr_stop_gradient(c->candidates.sampled_expected)));
    const hr_node share = hr_div(hr_ones_like(of_true), hr_scalar(c->g, HR_FLOAT, (double)c->trues));
    const hr_node logits[] = {of_true, of_sampled}, labels[] = {share, hr_zeros_like(of_sampled)};
    return (sampled_logits){hr_concat(logits, 2, 1), hr_concat(labels, 2, 1)};
}

static bool begin(sampled_call *c, const char *what)
{
    const hr_shape labels = hr_node_shape(c->labels), inputs = hr_node_shape(c->inputs);
    c->g = c->inputs.graph;
    if (!hr_node_exists(c->inputs) || !hr_node_exists(c->labels) || !hr_node_exists(c->weights) ||
        !hr_node_exists(c->biases) || labels.rank != 2 || labels.dims[1] < 1 || inputs.rank != 2 ||
        inputs.dims[1] < 1 || c->num_sampled < 1) {
        hr_node_fail(
            c->g, HR_INVALID_ARGUMENT, "layers.shape",
            "%s: expected weights, biases, labels [n, k], inputs [n, width] of known k and width, and samples; "
            "got labels of rank %d, inputs of rank %d and %lld samples",
            what, labels.rank, inputs.rank, (long long)c->num_sampled);
        return false;
    }
    c->trues = labels.dims[1];
    c->labels = hr_cast_to(c->labels, HR_INT64);
    hr_name_scope(c->g, c->opts->name ? c->opts->name : what);
    const hr_sampler_opts sampler = {.struct_size = sizeof sampler, .seed = c->opts->seed};
    c->candidates = c->opts->candidates ? *c->opts->candidates
                                        : hr_sample_candidates(c->labels, HR_LOG_UNIFORM_SAMPLER, c->num_sampled,
                                                               c->num_classes, &sampler);
    return true;
}

hr_node hr_nce_loss_with(hr_node weights, hr_node biases, hr_node labels, hr_node inputs, int64_t num_sampled,
                         int64_t num_classes, const hr_sampled_loss_opts *given)
{
    const hr_sampled_loss_opts opts = HR_OPTIONS(hr_sampled_loss_opts, given);
    sampled_call c = {.weights = weights,
                      .biases = biases,
                      .labels = labels,
                      .inputs = inputs,
                      .num_sampled = num_sampled,
                      .num_classes = num_classes,
                      .opts = &opts};
    if (!begin(&c, "nce_loss")) return hr_failed_node(c.g);
    const sampled_logits l = logits_of(&c, opts.remove_accidental_hits && *opts.remove_accidental_hits);
    const hr_node losses = hr_sigmoid_cross_entropy(l.logits, l.labels);
    const hr_node out = hr_reduce_sum(losses, .axes = HR_I64(1), .axis_count = 1);
    hr_scope_end(c.g);
    return out;
}

hr_node hr_sampled_softmax_loss_with(hr_node weights, hr_node biases, hr_node labels, hr_node inputs,
                                     int64_t num_sampled, int64_t num_classes, const hr_sampled_loss_opts *given)
{
    const hr_sampled_loss_opts opts = HR_OPTIONS(hr_sampled_loss_opts, given);
    sampled_call c = {.weights = weights,
                      .biases = biases,
                      .labels = labels,
                      .inputs = inputs,
                      .num_sampled = num_sampled,
                      .num_classes = num_classes,
                      .opts = &opts};
    if (!begin(&c, "sampled_softmax_loss")) return hr_failed_node(c.g);
    const sampled_logits l = logits_of(&c, !opts.remove_accidental_hits || *opts.remove_accidental_hits);
    const hr_node out = hr_softmax_cross_entropy_with_logits(hr_stop_gradient(l.labels), l.logits, -1);
    hr_scope_end(c.g);
    return out;
}
