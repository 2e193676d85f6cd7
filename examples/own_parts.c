/* A dataset, a model function and a hook of one's own: points are drawn, a network learns which of them lie in a
 * circle, and the hook ends the training as soon as ten losses in a row are small.
 *
 *     cc own_parts.c $(pkg-config --cflags --libs headrace_train) -o own_parts
 *     ./own_parts
 *
 * An op of one's own: ops/; an operator on datasets: plugin/; a column: hour_of_day.c; a codec: run_length_codec.c. */
#include <headrace/headrace.h>
#include <stdio.h>

/* ---- the dataset: point `number` ---- */

static hr_status draw_point(int64_t number, hr_builder *out, hr_call *call, void *user)
{
    (void)number, (void)user;
    float *point = hr_set(out, "point");
    for (uint64_t i = 0; i < 2; i++) point[i] = (float)(hr_call_random(call, i) >> 40) / (1 << 23) - 1; /* -1 to 1 */
    *(float *)hr_set(out, "inside") = point[0] * point[0] + point[1] * point[1] < 0.5f;
    return HR_OK;
}

static hr_dataset *points(void *seed)
{
    static const hr_field fields[] = {
        {.name = "point", .dtype = HR_FLOAT, .shape = {.rank = 1, .dims = {2}}},
        {.name = "inside", .dtype = HR_FLOAT, .shape = {.rank = 1, .dims = {1}}, .label = true}};
    static const hr_schema schema = {.fields = 2, .field = fields};
    return hr_batch(hr_from_generator(draw_point, NULL, .output = &schema, .count = HR_I64(64000), .thread_safe = true,
                                      .seed = *(const uint64_t *)seed),
                    64);
}

/* ---- the hook: its state, and what the session calls ---- */

typedef struct patience {
    hr_node loss;
    int small; /* losses in a row */
} patience;

static hr_status patience_before(void *state, hr_monitored_session *m, hr_run_request *request, hr_error *err)
{
    (void)m;
    return hr_request_fetch(request, ((patience *)state)->loss, err);
}

static hr_status patience_after(void *state, hr_monitored_session *m, const hr_tensor *results, hr_error *err)
{
    (void)err;
    patience *p = state;
    p->small = *(const float *)results[0].data < 0.15f ? p->small + 1 : 0;
    if (p->small == 10) hr_request_stop(m);
    return HR_OK;
}

static const hr_hook_kind patience_kind = {.head = HR_HOOK_HEAD,
                                           .name = "patience",
                                           .state_size = sizeof(patience),
                                           .before_run = patience_before,
                                           .after_run = patience_after};

/* ---- the model ---- */

static hr_status circle(const hr_model_call *call, void *user, hr_error *err)
{
    (void)user, (void)err;
    const hr_node net = hr_dense(hr_feature_values(call->features, "point"), 16, .activation = hr_tanh_fn);
    const hr_node logits = hr_dense(net, 1), probability = hr_sigmoid(logits);
    hr_spec_prediction(call->spec, "probability", probability);
    if (call->mode == HR_MODE_PREDICT) return HR_OK;
    const hr_node label = hr_label(call->features), loss = hr_sigmoid_cross_entropy_loss(label, logits);
    hr_spec_loss(call->spec, loss);
    hr_spec_metric(call->spec, "accuracy", hr_metric_binary_accuracy(label, probability));
    if (call->mode != HR_MODE_TRAIN) return HR_OK;
    hr_spec_hook(call->spec, hr_hook_new(&patience_kind, &(patience){.loss = loss}));
    hr_spec_train_op(call->spec, hr_minimize(hr_adam(0.02f), loss, .global_step = hr_global_step(call->graph)));
    return HR_OK;
}

int main(void)
{
    uint64_t train = 1, test = 2;
    hr_train_result result;
    hr_estimator *model = hr_estimator_new(circle, NULL, .model_dir = "circle_model", .config = {.tf_random_seed = 1});
    hr_status st = hr_estimator_train(model, points, &train, .result = &result);
    if (st == HR_OK) st = hr_estimator_evaluate(model, points, &test, .steps = 20);
    if (st == HR_OK)
        printf("accuracy %.3f after %lld of 1000 steps\n", hr_estimator_result(model, "accuracy"),
               (long long)result.last_step);
    else
        fprintf(stderr, "%s\n", hr_estimator_error(model)->text);
    hr_estimator_free(model);
    return st != HR_OK;
}
