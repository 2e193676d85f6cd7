#include "tests/train/estimator/case_models.h"
#include <headrace/layers.h>
#include <headrace/optimizers.h>
#include <stdio.h>
#include <string.h>

static double param(const cJSON *json, const char *name)
{
    return golden_number_double(golden_get(golden_get(json, "params"), name));
}

/* ---- a linear regression whose learning rate halves every 10 steps ---- */

static hr_node scaled(const hr_model_call *call, const char *name, double minus, double by)
{
    const int64_t column[] = {-1, 1};
    const hr_node x = hr_cast_to(hr_feature_values(call->features, name), HR_FLOAT);
    const hr_node y = hr_div(hr_sub(x, hr_scalar_like(x, minus)), hr_scalar_like(x, by));
    return hr_reshape(y, hr_ints(call->graph, column, 2));
}

static hr_node column_of(hr_graph *g, hr_node label)
{
    const int64_t column[] = {-1, 1};
    return hr_reshape(label, hr_ints(g, column, 2));
}

static hr_status linear_regression(const hr_model_call *call, void *user, hr_error *err)
{
    (void)err;
    hr_graph *g = call->graph;
    const hr_node x[] = {scaled(call, "displacement", 180, 60), scaled(call, "horsepower", 110, 30),
                         scaled(call, "weight", 3000, 600)};
    const hr_node weights = hr_get_variable(g, "weights", HR_FLOAT, HR_SHAPE(3, 1));
    const hr_node bias = hr_get_variable(g, "bias", HR_FLOAT, HR_SHAPE(1));
    const hr_node y = hr_add(hr_matmul(hr_concat(x, 3, 1), weights), bias);
    const int64_t flat = -1;
    hr_spec_prediction(call->spec, "mpg", hr_reshape(y, hr_ints(g, &flat, 1)));
    if (call->mode == HR_MODE_PREDICT) return HR_OK;
    const hr_node label = column_of(g, hr_label(call->features)), step = hr_global_step(g);
    const hr_node loss = hr_mean_squared_error(label, y);
    const hr_node rate = hr_exponential_decay((float)param(user, "learning_rate"), step, 10, 0.5f, .staircase = true);
    hr_spec_loss(call->spec, loss);
    hr_spec_metric(call->spec, "rmse", hr_metric_root_mean_squared_error(label, y));
    hr_spec_metric(call->spec, "mae", hr_metric_mean_absolute_error(label, y));
    if (call->mode == HR_MODE_TRAIN)
        hr_spec_train_op(call->spec,
                         hr_minimize(hr_sgd(0, .v1 = true, .learning_rate_node = rate), loss, .global_step = step));
    return HR_OK;
}

/* ---- sigmoid layers with costs of their kernels, and clipped gradients ---- */

static hr_node clipped(hr_graph *g, hr_node loss, double norm)
{
    const hr_minimize_opts o = {.struct_size = sizeof o, .global_step = hr_global_step(g)};
    hr_variable_gradient *gradients;
    int count;
    hr_compute_gradients(loss, &o, &gradients, &count);
    hr_clip_by_global_norm(gradients, count, norm, (hr_node){0});
    const hr_node done = hr_apply_gradients(hr_adagrad(0.1f, .v1 = true), g, gradients, count, &o);
    hr_free(gradients);
    return done;
}

/* The sum of the squares of all kernels, halved. */
static hr_node kernel_cost(hr_graph *g)
{
    hr_node cost = hr_scalar(g, HR_FLOAT, 0);
    for (int i = 0; i < hr_graph_variables(g); i++) {
        const hr_variable_info *v = hr_graph_variable(g, i);
        if (strstr(v->name, "/kernel")) cost = hr_add(cost, hr_reduce_sum(hr_square(v->read)));
    }
    return hr_mul(cost, hr_scalar(g, HR_FLOAT, 0.5));
}

static hr_node iris_logits(const hr_model_call *call, const cJSON *units)
{
    hr_node net[] = {scaled(call, "sepal_length", 0, 1), scaled(call, "sepal_width", 0, 1),
                     scaled(call, "petal_length", 0, 1), scaled(call, "petal_width", 0, 1)};
    hr_node x = hr_concat(net, 4, 1);
    const cJSON *each;
    int i = 0;
    cJSON_ArrayForEach(each, units)
    {
        char name[32];
        snprintf(name, sizeof name, "layer_%d", i++);
        x = hr_dense(x, golden_number_int64(each), .name = name, .activation = hr_sigmoid_fn);
    }
    return hr_dense(x, 3, .name = "logits");
}

static hr_status iris_clipped(const hr_model_call *call, void *user, hr_error *err)
{
    (void)err;
    hr_graph *g = call->graph;
    const hr_node logits = iris_logits(call, golden_get(golden_get(user, "params"), "hidden_units"));
    const hr_node class_ids = column_of(g, hr_argmax(logits, 1));
    hr_spec_prediction(call->spec, "logits", logits);
    hr_spec_prediction(call->spec, "probabilities", hr_softmax(logits));
    hr_spec_prediction(call->spec, "class_ids", class_ids);
    if (call->mode == HR_MODE_PREDICT) return HR_OK;
    const hr_node label = column_of(g, hr_cast_to(hr_label(call->features), HR_INT64));
    const hr_node cost = hr_mul(kernel_cost(g), hr_scalar(g, HR_FLOAT, param(user, "l2")));
    const hr_node loss = hr_add(hr_sparse_softmax_cross_entropy_loss(label, logits, .not_collected = true), cost);
    hr_add_to_collection(g, "losses", loss);
    hr_spec_loss(call->spec, loss);
    hr_spec_metric(call->spec, "accuracy", hr_metric_accuracy(label, class_ids));
    hr_spec_metric(call->spec, "mean_logit", hr_metric_mean(logits));
    if (call->mode == HR_MODE_TRAIN) hr_spec_train_op(call->spec, clipped(g, loss, param(user, "clip")));
    return HR_OK;
}

/* ---- by their description ---- */

static const struct {
    const char *begins;
    hr_model_fn *fn;
} models[] = {{"x = stack[(displacement-180)/60", linear_regression}, {"x = the four iris columns", iris_clipped}};

hr_estimator *case_model(const cJSON *json, const hr_run_config *config)
{
    const char *text = golden_text(json, "model", "");
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        if (strncmp(text, models[i].begins, strlen(models[i].begins)) == 0)
            return hr_estimator_new(models[i].fn, (void *)(uintptr_t)json, .model_dir = "model", .config = *config);
    return NULL;
}
