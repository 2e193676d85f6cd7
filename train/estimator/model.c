/* A model function's graph, the dataset that feeds it, and the iterator between them. */
#include "train/estimator/estimator_internal.h"
#include <string.h>

/* ---- what a model function fills in ---- */

void hr_spec_loss(hr_estimator_spec *spec, hr_node loss)
{
    if (spec) spec->loss = loss;
}
void hr_spec_train_op(hr_estimator_spec *spec, hr_node train_op)
{
    if (spec) spec->train_op = train_op;
}

/* Whether there is room for one more of a name; else it is noted for check_spec. */
static bool can_add(hr_estimator_spec *spec, const char *name, int count)
{
    if (!spec) return false;
    spec->nameless |= !name;
    spec->full |= count == MAX_NAMED;
    return name && !spec->full;
}

void hr_spec_prediction(hr_estimator_spec *spec, const char *name, hr_node node)
{
    if (!can_add(spec, name, spec ? spec->predictions : 0)) return;
    spec->prediction[spec->predictions].name = name;
    spec->prediction[spec->predictions++].node = node;
}

void hr_spec_metric(hr_estimator_spec *spec, const char *name, hr_metric metric)
{
    if (!can_add(spec, name, spec ? spec->metrics : 0)) return;
    spec->metric[spec->metrics].name = name;
    spec->metric[spec->metrics++].metric = metric;
}

void hr_spec_summary(hr_estimator_spec *spec, const char *tag, hr_node node, bool histogram)
{
    if (can_add(spec, tag, spec ? spec->summaries : 0))
        spec->summary[spec->summaries++] = (hr_summarised){tag, node, histogram};
}

void hr_spec_export(hr_estimator_spec *spec, const char *key, const char *method, const hr_saved_tensor *outputs,
                    int output_count)
{
    if (!can_add(spec, "export", spec ? spec->exports : 0)) return;
    spec->full |= output_count < 0 || output_count > MAX_EXPORTED - spec->exporteds || (output_count && !outputs);
    if (spec->full) return;
    const int i = spec->exports++;
    spec->export[i].key = key ? key : "serving_default";
    spec->export[i].method = method ? method : HR_PREDICT_METHOD;
    spec->export[i].first = spec->exporteds;
    spec->export[i].count = output_count;
    for (int k = 0; k < output_count; k++) spec->exported[spec->exporteds++] = outputs[k];
}

static void add_spec_hook(hr_estimator_spec *spec, hr_hook **list, int *count, hr_hook *hook)
{
    spec->full |= *count == MAX_HOOKS;
    if (spec->full)
        hr_hook_free(hook);
    else
        list[(*count)++] = hook;
}

void hr_spec_hook(hr_estimator_spec *spec, hr_hook *hook)
{
    if (spec)
        add_spec_hook(spec, spec->hook, &spec->hooks, hook);
    else
        hr_hook_free(hook);
}

void hr_spec_chief_hook(hr_estimator_spec *spec, hr_hook *hook)
{
    if (spec)
        add_spec_hook(spec, spec->chief_hook, &spec->chief_hooks, hook);
    else
        hr_hook_free(hook);
}

hr_node hr_spec_predicted(const hr_estimator_spec *spec, const char *name)
{
    for (int i = 0; spec && name && i < spec->predictions; i++)
        if (strcmp(spec->prediction[i].name, name) == 0) return spec->prediction[i].node;
    return (hr_node){0};
}

/* ---- building ---- */

/* Those from `first` on take the place of earlier ones of their names. */
static void replace_metrics(hr_estimator_spec *s, int first)
{
    int kept = 0;
    for (int i = 0; i < s->metrics; i++) {
        bool replaced = false;
        for (int k = first; k < s->metrics && i < first; k++)
            replaced |= strcmp(s->metric[i].name, s->metric[k].name) == 0;
        if (!replaced) s->metric[kept++] = s->metric[i];
    }
    s->metrics = kept;
}

static hr_status add_more_metrics(const hr_model_call *call, const hr_estimator *e, hr_error *err)
{
    for (int i = 0; call->mode == HR_MODE_EVAL && i < e->more_metrics_count; i++) {
        const int before = call->spec->metrics;
        HR_TRY(e->more_metrics[i].fn(call, e->more_metrics[i].user, err));
        replace_metrics(call->spec, before);
    }
    return HR_OK;
}

static hr_status check_spec(const model *m, hr_error *err)
{
    const hr_estimator_spec *s = &m->spec;
    const hr_error *failed = hr_graph_error(m->graph);
    if (failed) {
        *err = *failed;
        return failed->code;
    }
    const char *lacks = NULL;
    if (m->mode != HR_MODE_PREDICT && !hr_node_exists(s->loss)) lacks = "a loss (hr_spec_loss)";
    if (m->mode == HR_MODE_TRAIN && !hr_node_exists(s->train_op)) lacks = "a train_op (hr_spec_train_op)";
    if (m->mode == HR_MODE_PREDICT && s->predictions == 0) lacks = "predictions (hr_spec_prediction)";
    for (int i = 0; i < s->metrics; i++)
        if (strcmp(s->metric[i].name, "loss") == 0 || strcmp(s->metric[i].name, "global_step") == 0)
            lacks = "metrics other names than loss and global_step, which evaluation adds itself";
    if (s->full) lacks = "fewer predictions, metrics, summaries or hooks: at most 64 of each, 32 hooks";
    if (s->nameless) lacks = "a name of each prediction, metric and summary";
    if (!lacks) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "estimator.spec", "estimator: the model function must give %s", lacks);
}

static hr_status model_graph(model *m, hr_error *err)
{
    m->graph = hr_graph_new();
    if (!m->graph) return hr_no_memory(err, "a graph");
    if (m->e->config.tf_random_seed) hr_set_random_seed(m->graph, m->e->config.tf_random_seed);
    hr_global_step(m->graph);
    return HR_OK;
}

static hr_status model_call(model *m, hr_error *err)
{
    hr_model_call call = {m->graph, m->features, m->mode, &m->e->config, &m->spec};
    HR_TRY(m->e->fn(&call, m->e->user, err));
    HR_TRY(add_more_metrics(&call, m->e, err));
    return check_spec(m, err);
}

static hr_status model_build(model *m, hr_error *err)
{
    const hr_error *failed = hr_dataset_error(m->ds);
    if (failed) {
        *err = *failed;
        return failed->code;
    }
    HR_TRY(model_graph(m, err));
    m->features = hr_placeholders_for(m->graph, hr_dataset_schema(m->ds));
    if (!m->features) return hr_no_memory(err, "features");
    m->feed = hr_calloc((size_t)hr_features_feeds(m->features) + 1, sizeof *m->feed);
    if (!m->feed) return hr_no_memory(err, "feeds");
    return model_call(m, err);
}

hr_status hr__model_serve(hr_estimator *e, hr__make_features *make, void *user, model *m, hr_error *err)
{
    *m = (model){.e = e, .mode = HR_MODE_PREDICT};
    hr_status st = model_graph(m, err);
    if (st == HR_OK) {
        hr_error why = {0};
        m->features = make(m->graph, user, &why);
        const hr_error *failed = why.code ? &why : hr_graph_error(m->graph);
        if (failed) *err = *failed;
        if (failed) st = failed->code;
        if (!failed && !m->features) st = hr_no_memory(err, "features");
    }
    if (st == HR_OK) st = model_call(m, err);
    if (st != HR_OK) hr__model_close(m);
    return st;
}

hr_status hr__model_open(hr_estimator *e, hr_mode mode, hr_input_fn *fn, void *user, model *m, hr_error *err)
{
    *m = (model){.e = e, .mode = mode};
    m->ds = fn(user);
    if (!m->ds)
        return hr_fail(err, HR_INVALID_ARGUMENT, "estimator.input_fn", "estimator: the input function gave no dataset");
    if (e->prepare) m->ds = e->prepare(m->ds, e->user);
    hr_status st = model_build(m, err);
    if (st != HR_OK) hr__model_close(m);
    return st;
}

void hr__model_close(model *m)
{
    hr_profile_add_input(m->profile, m->it);
    hr_iterator_free(m->it);
    hr_dataset_unref(m->ds);
    hr_features_free(m->features);
    hr_graph_free(m->graph);
    hr_free(m->feed);
    for (int i = 0; i < m->spec.hooks; i++) hr_hook_free(m->spec.hook[i]);
    for (int i = 0; i < m->spec.chief_hooks; i++) hr_hook_free(m->spec.chief_hook[i]);
    *m = (model){0};
}

/* ---- input ---- */

hr_status hr__model_open_input(model *m, hr_view state, hr_error *err)
{
    const hr_run_config *c = &m->e->config;
    hr_profile_add_input(m->profile, m->it);
    hr_iterator_free(m->it); /* of a session before this one */
    m->it = hr_iterate(hr_dataset_ref(m->ds), .workers = c->workers, .budget = c->budget,
                       .seed = (uint64_t)c->tf_random_seed, .state = state.size > 0 ? state.data : NULL,
                       .state_size = state.size > 0 ? (size_t)state.size : 0, .spans = hr_profile_trace(m->profile),
                       .warm_start = true);
    return m->it ? HR_OK : hr_no_memory(err, "an iterator");
}

static hr_status check_element(model *m, const hr_element *element, hr_error *err)
{
    int64_t row = -1;
    const hr_status st = m->spec.check ? m->spec.check(element, m->spec.check_user, &row, err) : HR_OK;
    if (st != HR_OK) hr_iterator_locate(m->it, row, err);
    return st;
}

hr_status hr__model_next(model *m, const hr_element **element, int *feeds, hr_error *err)
{
    const hr_status st = hr_next(m->it, element);
    if (st != HR_OK && st != HR_END) *err = *hr_iterator_error(m->it);
    if (st != HR_OK) return st;
    HR_TRY(check_element(m, *element, err));
    return hr_feed_element(m->features, *element, m->feed, feeds, err);
}
