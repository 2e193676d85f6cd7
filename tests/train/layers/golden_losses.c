/* The topic losses: tf.losses and their gradients by every input. */
#include "tests/golden/golden.h"
#include "train/graph/graph_op.h"
#include "train/layers/layers.h"

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

static hr_node make_loss(golden_case *c, const inputs *in, const hr_loss_opts *opts, bool *built)
{
    const char *kind = golden_text(c->json, "kind", ""), *name = golden_text(c->json, "function", "");
    *built = true;
    if (strcmp(kind, "v1") == 0 && strcmp(name, "compute_weighted_loss") == 0)
        return hr_compute_weighted_loss_with(input(in, "p"), opts);
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
        if (!compare(c, s, in, item->string, hr_gradient_dense(gradient), item)) return false;
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

/* TensorFlow reduces vectors to one loss. A case that has a vector and a loss for each value of it was recorded from
 * columns, [n, 1], which its inputs do not say. */
static bool recorded_from_columns(const golden_case *c, const inputs *in)
{
    const cJSON *shape = golden_get(golden_get(golden_get(c->json, "expect"), "loss"), "shape");
    const bool weighed = input(in, "sample_weight").graph;
    return !weighed && hr_node_shape(input(in, "y_pred")).rank == 1 && hr_node_shape(input(in, "y_true")).rank == 1 &&
           cJSON_GetArraySize(shape) == 1;
}

static golden_result run_keras(golden_case *c, const inputs *in)
{
    hr_keras_loss_opts opts;
    keras_room room;
    if (recorded_from_columns(c, in)) return golden_not_built(c, "a loss for each value of a vector");
    if (!read_keras(c, in, &opts, &room)) return GOLDEN_NOT_BUILT;
    const char *name = golden_text(c->json, "function", "");
    return compare_case(c, in, hr_keras_loss_with(name, input(in, "y_true"), input(in, "y_pred"), &opts));
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
