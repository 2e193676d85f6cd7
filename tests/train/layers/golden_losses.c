/* The topic losses: tf.losses and their gradients by every input. */
#include "tests/golden/golden.h"
#include "train/graph/graph_op.h"
#include "train/layers/layers.h"

#include <headrace/kernels.h>
#include <stdio.h>
#include <string.h>

enum { MAX = 8 };

typedef hr_node loss_fn(hr_node labels, hr_node predictions, const hr_loss_opts *opts);

static const struct {
    const char *kind, *name;
    loss_fn *fn;
} losses[] = {
    {"v1", "mean_pairwise_squared_error", hr_mean_pairwise_squared_error_with},
    {"v1", "mean_squared_error", hr_mean_squared_error_with},
    {"v1", "absolute_difference", hr_absolute_difference_with},
    {"v1", "cosine_distance", hr_cosine_distance_with},
    {"v1", "log_loss", hr_log_loss_with},
    {"v1", "hinge_loss", hr_hinge_loss_with},
    {"v1", "huber_loss", hr_huber_loss_with},
    {"v1", "sigmoid_cross_entropy", hr_sigmoid_cross_entropy_loss_with},
    {"v1", "softmax_cross_entropy", hr_softmax_cross_entropy_loss_with},
    {"v1", "sparse_softmax_cross_entropy", hr_sparse_softmax_cross_entropy_loss_with},
};

static bool reduction_named(const char *name, hr_reduction *out)
{
    static const struct {
        const char *name;
        hr_reduction reduction;
    } all[] = {
        {"NONE", HR_REDUCTION_NONE},
        {"SUM", HR_REDUCTION_SUM},
        {"MEAN", HR_REDUCTION_MEAN},
        {"SUM_OVER_BATCH_SIZE", HR_SUM_OVER_BATCH_SIZE},
        {"SUM_BY_NONZERO_WEIGHTS", HR_SUM_BY_NONZERO_WEIGHTS},
        {"SUM_OVER_NONZERO_WEIGHTS", HR_SUM_BY_NONZERO_WEIGHTS},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i].name, name) == 0) {
            *out = all[i].reduction;
            return true;
        }
    return false;
}

typedef struct inputs {
    hr_graph *g;
    const char *name[MAX];
    hr_tensor value[MAX];
    hr_node node[MAX];
    hr_feed feed[MAX];
    int count;
} inputs;

static hr_node input(const inputs *in, const char *name)
{
    for (int i = 0; i < in->count; i++)
        if (strcmp(in->name[i], name) == 0) return in->node[i];
    return (hr_node){0};
}

static bool read_inputs(const cJSON *json, inputs *in)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, golden_fields(json))
    {
        if (in->count == MAX || !golden_tensor(item, &in->value[in->count])) return false;
        in->name[in->count] = item->string;
        in->node[in->count] = hr_placeholder(in->g, in->value[in->count].dtype, in->value[in->count].shape);
        in->feed[in->count] = (hr_feed){in->node[in->count], in->value[in->count]};
        in->count++;
    }
    return true;
}

typedef struct keras_room {
    int axis;
    float alpha, gamma, delta;
    int64_t ignore;
} keras_room;

static bool read_keras(golden_case *c, const inputs *in, hr_keras_loss_opts *opts, keras_room *room)
{
    const cJSON *p;
    *opts = (hr_keras_loss_opts){.struct_size = sizeof *opts, .weights = input(in, "sample_weight")};
    cJSON_ArrayForEach(p, golden_fields(golden_get(c->json, "params")))
    {
        const float number = cJSON_IsNumber(p) ? (float)p->valuedouble : 0;
        if (strcmp(p->string, "reduction") == 0)
            opts->reduction = strcmp(p->valuestring, "none") == 0  ? HR_REDUCTION_NONE
                              : strcmp(p->valuestring, "sum") == 0 ? HR_REDUCTION_SUM
                                                                   : HR_SUM_OVER_BATCH_SIZE;
        else if (strcmp(p->string, "from_logits") == 0)
            opts->from_logits = cJSON_IsTrue(p);
        else if (strcmp(p->string, "apply_class_balancing") == 0)
            opts->class_balancing = cJSON_IsTrue(p);
        else if (strcmp(p->string, "label_smoothing") == 0)
            opts->label_smoothing = number;
        else if (strcmp(p->string, "axis") == 0)
            room->axis = (int)number, opts->axis = &room->axis;
        else if (strcmp(p->string, "alpha") == 0)
            room->alpha = number, opts->alpha = &room->alpha;
        else if (strcmp(p->string, "gamma") == 0)
            room->gamma = number, opts->gamma = &room->gamma;
        else if (strcmp(p->string, "delta") == 0)
            room->delta = number, opts->delta = &room->delta;
        else if (strcmp(p->string, "ignore_class") == 0)
            room->ignore = (int64_t)number, opts->ignore_class = &room->ignore;
        else {
            golden_not_built(c, "parameter %s", p->string);
            return false;
        }
    }
    return true;
}

static hr_node make_sampled(const golden_case *c, const inputs *in)
{
    const cJSON *params = golden_get(c->json, "params");
    const bool remove = cJSON_IsTrue(golden_get(params, "remove_accidental_hits"));
    const hr_node labels =
        hr_reshape(input(in, "labels"), hr_shape_const(in->g, HR_SHAPE(-1, golden_int(params, "num_true", 1))));
    const hr_candidates candidates = {input(in, "sampled"), input(in, "true_expected"), input(in, "sampled_expected")};
    const hr_sampled_loss_opts opts = {
        .struct_size = sizeof opts, .remove_accidental_hits = &remove, .candidates = &candidates};
    return (strcmp(golden_text(c->json, "function", ""), "nce_loss") == 0 ? hr_nce_loss_with
                                                                          : hr_sampled_softmax_loss_with)(
        input(in, "weights"), input(in, "biases"), labels, input(in, "inputs"), golden_int(params, "num_sampled", 0),
        golden_int(params, "num_classes", 0), &opts);
}

/* The case has its classes as a vector, and so the expected counts. */
static hr_node make_expected_counts(const golden_case *c, const inputs *in)
{
    const cJSON *params = golden_get(c->json, "params");
    const hr_node flat = hr_ints(in->g, (const int64_t[]){-1}, 1);
    const hr_sampler_opts opts = {.struct_size = sizeof opts, .repeats = cJSON_IsFalse(golden_get(params, "unique"))};
    return hr_reshape(
        hr_sample_candidates(hr_reshape(input(in, "classes"), hr_ints(in->g, (const int64_t[]){-1, 1}, 2)),
                             HR_LOG_UNIFORM_SAMPLER, golden_int(params, "num_sampled", 0),
                             golden_int(params, "range_max", 0), &opts)
            .true_expected,
        flat);
}

static hr_node make_nn(golden_case *c, const inputs *in, bool *built)
{
    const char *name = golden_text(c->json, "function", "");
    const cJSON *params = golden_get(c->json, "params"), *weight = golden_get(params, "pos_weight");
    const hr_node labels = input(in, "labels"), logits = input(in, "logits");
    *built = true;
    if (strcmp(name, "sigmoid_cross_entropy_with_logits") == 0) return hr_sigmoid_cross_entropy(logits, labels);
    if (strcmp(name, "softmax_cross_entropy_with_logits") == 0)
        return hr_softmax_cross_entropy_with_logits(hr_stop_gradient(labels), logits, -1);
    if (strcmp(name, "softmax_cross_entropy_with_logits_v2") == 0)
        return hr_softmax_cross_entropy_with_logits(labels, logits, (int)golden_int(params, "axis", -1));
    if (strcmp(name, "sparse_softmax_cross_entropy_with_logits") == 0)
        return hr_sparse_softmax_cross_entropy_with_logits(labels, logits);
    if (strcmp(name, "weighted_cross_entropy_with_logits") == 0 && cJSON_IsNumber(weight))
        return hr_weighted_cross_entropy_with_logits(labels, logits, weight->valuedouble);
    if (strcmp(name, "log_poisson_loss") == 0)
        return hr_log_poisson_loss(input(in, "targets"), input(in, "log_input"),
                                   cJSON_IsTrue(golden_get(params, "compute_full_loss")));
    if (strcmp(name, "nce_loss") == 0 || strcmp(name, "sampled_softmax_loss") == 0) return make_sampled(c, in);
    if (strcmp(name, "log_uniform_candidate_sampler") == 0) return make_expected_counts(c, in);
    *built = false;
    golden_not_built(c, "nn %s", name);
    return (hr_node){0};
}

/* False: `why` says which parameter there is not. */
static bool read_params(golden_case *c, const inputs *in, hr_loss_opts *opts, float *room)
{
    const cJSON *p;
    *opts = (hr_loss_opts){.weights = input(in, "weights")};
    cJSON_ArrayForEach(p, golden_fields(golden_get(c->json, "params")))
    {
        const float number = cJSON_IsNumber(p) ? (float)p->valuedouble : 0;
        if (strcmp(p->string, "reduction") == 0 && cJSON_IsString(p) &&
            reduction_named(p->valuestring, &opts->reduction))
            continue;
        if (strcmp(p->string, "label_smoothing") == 0)
            opts->label_smoothing = number;
        else if (strcmp(p->string, "axis") == 0)
            opts->axis = (int)number;
        else if (strcmp(p->string, "delta") == 0)
            room[0] = number, opts->delta = &room[0];
        else if (strcmp(p->string, "epsilon") == 0)
            room[1] = number, opts->epsilon = &room[1];
        else {
            golden_not_built(c, "parameter %s", p->string);
            return false;
        }
    }
    return true;
}

/* A mean square of p, a mean of |q|, and 0.1 of half the squares of p as a regularization loss. */
static hr_node make_total(const inputs *in)
{
    const hr_node p = input(in, "p"), q = input(in, "q");
    hr_mean_squared_error(hr_zeros_like(p), p);
    hr_absolute_difference(hr_zeros_like(q), q);
    hr_add_to_collection(in->g, "regularization_losses",
                         hr_regularization_loss(p, (hr_regularizer){.l2 = 0.1f, .half_l2 = true}));
    return hr_get_total_loss(in->g);
}

static hr_node make_loss(golden_case *c, const inputs *in, const hr_loss_opts *opts, bool *built)
{
    const char *kind = golden_text(c->json, "kind", ""), *name = golden_text(c->json, "function", "");
    *built = true;
    if (strcmp(kind, "v1") == 0 && strcmp(name, "compute_weighted_loss") == 0)
        return hr_compute_weighted_loss_with(input(in, "p"), opts);
    if (strcmp(kind, "v1") == 0 && strcmp(name, "get_total_loss") == 0) return make_total(in);
    for (size_t i = 0; i < sizeof losses / sizeof *losses; i++)
        if (strcmp(losses[i].kind, kind) == 0 && strcmp(losses[i].name, name) == 0)
            return losses[i].fn(input(in, "labels"), input(in, "p"), opts);
    *built = false;
    golden_not_built(c, "%s %s", kind, name);
    return (hr_node){0};
}

static bool compare(golden_case *c, hr_session *s, const inputs *in, const char *what, hr_node node,
                    const cJSON *expected)
{
    hr_error err;
    hr_tensor got;
    if (hr_session_run(s, in->feed, in->count, &node, 1, &got, &err) != HR_OK) {
        golden_differs(c, "%s: %s", what, err.text);
        return false;
    }
    const bool equal = golden_equal_json(c, what, expected, &got);
    hr_tensor_clear(&got);
    return equal;
}

/* A dense gradient, of which the case has slices: rows that repeat are summed. */
static bool compare_slices(golden_case *c, hr_session *s, const inputs *in, hr_node dense, const cJSON *expected)
{
    hr_tensor rows = {0}, indices = {0}, shape = {0};
    hr_error err;
    bool equal = golden_tensor(golden_get(expected, "values"), &rows) &&
                 golden_tensor(golden_get(expected, "indices"), &indices) &&
                 golden_tensor(golden_get(expected, "dense_shape"), &shape);
    if (!equal) golden_differs(c, "slices that cannot be read");
    if (equal) {
        const hr_node sum = hr_new_node(in->g, "UnsortedSegmentSum",
                                        HR_INPUTS(hr_const(in->g, &rows), hr_const(in->g, &indices),
                                                  hr_scalar(in->g, HR_INT64, (double)hr_int_at(&shape, 0))));
        const hr_node both[] = {sum, dense};
        hr_tensor got[2];
        equal = hr_session_run(s, in->feed, in->count, both, 2, got, &err) == HR_OK;
        if (!equal) golden_differs(c, "%s", err.text);
        if (equal) {
            equal = golden_equal(c, "slices", &got[0], &got[1], 1e-5, 1e-6);
            hr_tensor_clear(&got[0]);
            hr_tensor_clear(&got[1]);
        }
    }
    golden_tensor_clear(&rows);
    golden_tensor_clear(&indices);
    golden_tensor_clear(&shape);
    return equal;
}

static bool compare_gradients(golden_case *c, hr_session *s, const inputs *in, hr_node loss, const cJSON *expected)
{
    const cJSON *item;
    hr_tensor upstream;
    hr_node grad = {0};
    if (golden_get(c->json, "upstream") && golden_tensor(golden_get(c->json, "upstream"), &upstream)) {
        grad = hr_const(in->g, &upstream);
        golden_tensor_clear(&upstream);
    }
    cJSON_ArrayForEach(item, golden_fields(expected))
    {
        hr_gradient gradient;
        hr_node x = input(in, item->string);
        hr_gradients(&loss, 1, &x, 1, &gradient, .grad_ys = grad.graph ? &grad : NULL);
        if (cJSON_IsNull(item) && !gradient.values.graph) continue;
        if (!gradient.values.graph) {
            golden_differs(c, "no gradient of %s", item->string);
            return false;
        }
        const hr_node dense = hr_gradient_dense(gradient);
        if (golden_bool(item, "indexed_slices", false) ? !compare_slices(c, s, in, dense, item)
                                                       : !compare(c, s, in, item->string, dense, item))
            return false;
    }
    return true;
}

static golden_result fails_as_it_should(golden_case *c, const inputs *in, hr_node loss, const char *class)
{
    hr_error err;
    hr_session *s = hr_session_new(in->g);
    hr_tensor got = {0};
    const hr_status st = hr_session_run(s, in->feed, in->count, &loss, 1, &got, &err);
    hr_session_free(s);
    if (st == HR_OK) hr_tensor_clear(&got);
    return st != HR_OK && strcmp(hr_status_name(st), class) == 0 ? GOLDEN_AGREES
                                                                 : golden_differs(c, "expected %s", class);
}

static golden_result compare_case(golden_case *c, const inputs *in, hr_node loss)
{
    const cJSON *expectation = golden_expectation(c->json, false), *expect = golden_get(expectation, "expect");
    const char *class = golden_error_class(expectation);
    int collected;
    if (class) return fails_as_it_should(c, in, loss, class);
    if (hr_graph_error(in->g)) return golden_differs(c, "%s", hr_graph_error(in->g)->text);
    hr_get_collection(in->g, "losses", &collected);
    if (collected != golden_int(expect, "losses_collected", collected))
        return golden_differs(c, "%d losses collected", collected);
    hr_session *s = hr_session_new(in->g);
    const bool equal = compare(c, s, in, "loss", loss, golden_get(expect, "loss")) &&
                       compare_gradients(c, s, in, loss, golden_get(expect, "gradients"));
    hr_session_free(s);
    return equal ? GOLDEN_AGREES : GOLDEN_DIFFERS;
}

/* Values as they were when the case was recorded. TensorFlow reduces vectors to one loss, so a case of vectors with a
 * loss for each value was recorded of columns, [n, 1]. */
static hr_node as_recorded(const golden_case *c, const inputs *in, const char *name)
{
    const hr_node x = input(in, name);
    const cJSON *shape = golden_get(golden_get(golden_get(c->json, "expect"), "loss"), "shape");
    const bool vectors = hr_node_shape(input(in, "y_pred")).rank == 1 && hr_node_shape(input(in, "y_true")).rank == 1;
    return vectors && cJSON_GetArraySize(shape) == 1 ? hr_expand_dims(x, hr_scalar(in->g, HR_INT32, 1)) : x;
}

static golden_result run_keras(golden_case *c, const inputs *in)
{
    hr_keras_loss_opts opts;
    keras_room room;
    if (!read_keras(c, in, &opts, &room)) return GOLDEN_NOT_BUILT;
    const char *name = golden_text(c->json, "function", "");
    return compare_case(c, in,
                        hr_keras_loss_with(name, as_recorded(c, in, "y_true"), as_recorded(c, in, "y_pred"), &opts));
}

static golden_result run_case(golden_case *c)
{
    inputs in = {.g = hr_graph_new()};
    hr_loss_opts opts;
    const char *kind = golden_text(c->json, "kind", "");
    float room[2];
    bool built = false;
    golden_result result = GOLDEN_NOT_BUILT;
    if (!read_inputs(golden_get(c->json, "inputs"), &in)) {
        result = golden_not_built(c, "inputs that are no dense tensors");
    } else if (strcmp(kind, "keras") == 0) {
        result = run_keras(c, &in);
    } else if (strcmp(kind, "nn") == 0) {
        hr_node loss = make_nn(c, &in, &built);
        if (built) result = compare_case(c, &in, loss);
    } else if (read_params(c, &in, &opts, room)) {
        hr_node loss = make_loss(c, &in, &opts, &built);
        if (built) result = compare_case(c, &in, loss);
    }
    for (int i = 0; i < in.count; i++) golden_tensor_clear(&in.value[i]);
    hr_graph_free(in.g);
    return result;
}

int main(void) { return golden_main("losses", GOLDEN_ROOT, run_case); }
