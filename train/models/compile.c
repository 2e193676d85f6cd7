/* How a model is trained and measured: losses and metrics as they are told, and then for each output. */
#include "train/layers/layers_internal.h"
#include "train/models/models_internal.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static void loss_free(hr__loss *l)
{
    if (!l) return;
    hr_free((char *)l->o.output);
    hr_free((char *)l->o.loss);
    hr_free(l);
}

static void metric_free(hr__metric *x)
{
    if (!x) return;
    hr_free((char *)x->o.output);
    hr_free((char *)x->o.metric);
    hr_free((char *)x->o.key);
    hr_free(x->thresholds);
    hr_free(x->key);
    hr_free(x);
}

static void resolved_clear(hr__compiled *c)
{
    for (int i = 0; i < c->metrics.count; i++) metric_free(c->metrics.at[i]);
    c->metrics.count = c->losses.count = 0;
    c->resolved = false;
}

void hr__kept_clear(hr__kept_list *kept)
{
    for (int i = 0; i < kept->count; i++) {
        hr_free(kept->at[i].path);
        hr_free(kept->at[i].title);
        hr_tensor_clear(&kept->at[i].value);
    }
    hr_free(kept->at);
    memset(kept, 0, sizeof *kept);
}

void hr__compiled_clear(hr__compiled *c)
{
    resolved_clear(c);
    hr__kept_clear(&c->kept);
    for (int i = 0; i < c->given_losses.count; i++) loss_free(c->given_losses.at[i]);
    for (int i = 0; i < c->given_metrics.count; i++) metric_free(c->given_metrics.at[i]);
    hr_free(c->given_losses.at);
    hr_free(c->given_metrics.at);
    hr_free(c->losses.at);
    hr_free(c->metrics.at);
    hr_optimizer_free(c->optimizer);
    memset(c, 0, sizeof *c);
}

/* ---- copies of what is told ---- */

static bool copy_text(const char **text)
{
    const char *from = *text;
    return !from || (*text = hr_strdup(from)) != NULL;
}

static hr_status add_loss(hr__compiled *c, const hr_output_loss *given, hr_error *err)
{
    hr__loss **place = HR__LIST_ADD(&c->given_losses), *l = place ? hr_calloc(1, sizeof *l) : NULL;
    if (!l) return hr_no_memory(err, "a loss");
    *place = l;
    l->o = *given;
    const bool output = copy_text(&l->o.output), loss = copy_text(&l->o.loss), copied = output && loss;
    hr_keras_loss_opts *o = &l->o.options;
    *o = HR_OPTIONS(hr_keras_loss_opts, &given->options);
    o->name = NULL;
    if (o->axis) o->axis = (l->axis = *o->axis, &l->axis);
    if (o->delta) o->delta = (l->delta = *o->delta, &l->delta);
    if (o->alpha) o->alpha = (l->alpha = *o->alpha, &l->alpha);
    if (o->gamma) o->gamma = (l->gamma = *o->gamma, &l->gamma);
    if (o->ignore_class) o->ignore_class = (l->ignore_class = *o->ignore_class, &l->ignore_class);
    l->weight = given->weight ? *given->weight : 1;
    l->o.weight = &l->weight;
    if (!copied) return hr_no_memory(err, "a loss");
    if (l->o.fn || !l->o.loss || hr__keras_function(l->o.loss)) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "models.loss",
                   "compile: loss: unknown name \"%.60s\"; <headrace/layers.h> lists them: \"mse\", "
                   "\"binary_crossentropy\", ...",
                   l->o.loss);
}

static bool metric_asks_loss(const char *name)
{
    return hr__same_word(name, "accuracy") || strcmp(name, "acc") == 0 || strcmp(name, "crossentropy") == 0 ||
           strcmp(name, "ce") == 0;
}

static hr_status copy_metric(hr__metric *x, const hr_output_metric *given, hr_error *err)
{
    x->o = *given;
    const bool output = copy_text(&x->o.output), metric = copy_text(&x->o.metric), key = copy_text(&x->o.key);
    const bool copied = output && metric && key;
    hr_metric_opts *o = &x->o.options;
    *o = HR_OPTIONS(hr_metric_opts, &given->options);
    o->name = NULL;
    o->keras = true;
    if (o->curve == HR_PR && o->summation == HR_TRAPEZOIDAL)
        o->summation = HR_CAREFUL_INTERPOLATION; /* Keras's default */
    if (o->threshold) o->threshold = (x->threshold = *o->threshold, &x->threshold);
    if (o->class_id) o->class_id = (x->class_id = *o->class_id, &x->class_id);
    if (o->thresholds && o->threshold_count > 0) {
        x->thresholds = hr_memdup(o->thresholds, (size_t)o->threshold_count * sizeof *o->thresholds);
        o->thresholds = x->thresholds;
        if (!x->thresholds) return hr_no_memory(err, "a metric");
    }
    return copied ? HR_OK : hr_no_memory(err, "a metric");
}

static hr_status add_metric(hr__compiled *c, const hr_output_metric *given, hr_error *err)
{
    hr__metric **place = HR__LIST_ADD(&c->given_metrics), *x = place ? hr_calloc(1, sizeof *x) : NULL;
    if (!x) return hr_no_memory(err, "a metric");
    *place = x;
    HR_TRY(copy_metric(x, given, err));
    if (x->o.fn ? x->o.key != NULL
                : x->o.metric &&
                      (hr_metric_named(x->o.metric) || hr__metric_at(x->o.metric) || metric_asks_loss(x->o.metric)))
        return HR_OK;
    return hr_fail(
        err, HR_INVALID_ARGUMENT, "models.metric",
        "compile: metrics: %s \"%.60s\"; <headrace/layers.h> lists them: \"accuracy\", \"auc\", \"mae\", ...",
        x->o.fn ? "a function needs a key" : "unknown name", x->o.metric ? x->o.metric : "");
}

static hr_status add_all(hr__compiled *c, const hr_compile_opts *o, hr_error *err)
{
    c->one_loss = o->loss != NULL;
    if (o->loss && o->losses.count > 0)
        return hr_fail(err, HR_INVALID_ARGUMENT, "models.loss", "compile: expected .loss or .losses, got both");
    HR_TRY(hr__list_check("compile", "losses", o->losses.loss, o->losses.count, err));
    HR_TRY(hr__list_check("compile", "metrics", o->metrics.text, o->metrics.count, err));
    HR_TRY(hr__list_check("compile", "metric_list", o->metric_list.metric, o->metric_list.count, err));
    HR_TRY(hr__list_check("compile", "weighted_metrics", o->weighted_metrics.text, o->weighted_metrics.count, err));
    if (o->loss)
        HR_TRY(add_loss(c, &(hr_output_loss){.loss = o->loss, .options = {.from_logits = o->from_logits}}, err));
    for (int i = 0; i < o->losses.count; i++) HR_TRY(add_loss(c, &o->losses.loss[i], err));
    for (int i = 0; i < o->metrics.count; i++)
        HR_TRY(add_metric(c, &(hr_output_metric){.metric = o->metrics.text[i]}, err));
    for (int i = 0; i < o->metric_list.count; i++) HR_TRY(add_metric(c, &o->metric_list.metric[i], err));
    for (int i = 0; i < o->weighted_metrics.count; i++)
        HR_TRY(add_metric(c, &(hr_output_metric){.metric = o->weighted_metrics.text[i], .weighted = true}, err));
    return HR_OK;
}

static void freeze_inner(hr_layer *layer)
{
    for (int i = 0; i < layer->inner.count; i++) {
        hr_layer *inner = layer->inner.at[i];
        inner->frozen_now = layer->frozen_now || inner->frozen;
        freeze_inner(inner);
    }
}

static void freeze_now(hr_model *m, bool frozen)
{
    for (int i = 0; i < m->body->layers.count; i++) {
        hr_layer *layer = m->body->layers.at[i];
        layer->frozen_now = frozen || layer->frozen;
        freeze_inner(layer);
        const bool within = layer->inner.count > 0 && layer->inner.at[0]->frozen_now; /* a wrapper's model */
        if (layer->model) freeze_now(layer->model, layer->frozen_now || within);
    }
    for (int i = 0; i < m->pending.count; i++) {
        m->pending.at[i]->frozen_now = m->pending.at[i]->frozen;
        freeze_inner(m->pending.at[i]);
    }
}

/* By its name. Keras 2.15 does not know all of them as strings. */
static hr_optimizer *optimizer_named(const hr_compile_opts *o)
{
    static const char *const unknown[] = {"adamw", "adafactor", "lion"};
    const char *name = o->optimizer_name ? o->optimizer_name : "rmsprop";
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown && o->tf_compat; i++)
        if (strcmp(name, unknown[i]) == 0) name = "";
    return hr_optimizer_named(name, NULL, 0, HR_KERAS_OPTIMIZERS);
}

hr_status hr_compile_with(hr_model *m, const hr_compile_opts *opts)
{
    const hr_compile_opts o = HR_OPTIONS(hr_compile_opts, opts);
    hr_error err = {0};
    if (!m) {
        hr_optimizer_free(o.optimizer);
        return HR_INVALID_ARGUMENT;
    }
    hr__compiled c = {.optimizer = o.optimizer ? o.optimizer : optimizer_named(&o),
                      .schedule = o.schedule,
                      .schedule_user = o.schedule_user,
                      .tf_compat = o.tf_compat};
    hr_status st = hr__model_begin(m, &err);
    if (st == HR_OK && o.optimizer && o.optimizer_name)
        st = hr_fail(&err, HR_INVALID_ARGUMENT, "models.optimizer",
                     "compile: expected .optimizer or .optimizer_name, got both");
    if (st == HR_OK && hr_optimizer_error(c.optimizer)) {
        err = *hr_optimizer_error(c.optimizer);
        st = err.code;
    }
    if (st == HR_OK) st = add_all(&c, &o, &err);
    if (st != HR_OK) {
        hr__compiled_clear(&c);
        return hr__model_failed(m, &err);
    }
    hr__compiled_clear(&m->compiled);
    m->compiled = c;
    m->is_compiled = true;
    freeze_now(m, false);
    hr__function_free(m->train);
    hr__function_free(m->test);
    m->train = m->test = NULL;
    return HR_OK;
}

/* ---- for each output ---- */

static int output_index(const hr_model *m, const char *name)
{
    for (int i = 0; i < m->output_names.count; i++)
        if (strcmp(m->output_names.at[i], name) == 0) return i;
    return -1;
}

static hr_status unknown_output(const hr_model *m, const char *what, const char *name, hr_error *err)
{
    char known[256] = "";
    for (int i = 0; i < m->output_names.count; i++) {
        const size_t n = strlen(known);
        (void)snprintf(known + n, sizeof known - n, "%s\"%.40s\"", i ? ", " : "", m->output_names.at[i]);
    }
    return hr_fail(err, HR_INVALID_ARGUMENT, "models.output",
                   "compile: %s: \"%.60s\" is no output of the model; it has %s", what, name, known);
}

/* The output of loss i of those that were given; -1: the model has none of its name. */
static int loss_output(const hr_model *m, int i)
{
    const char *output = m->compiled.given_losses.at[i]->o.output;
    return output ? output_index(m, output) : i;
}

static hr_status resolve_losses(hr_model *m, hr_error *err)
{
    hr__compiled *c = &m->compiled;
    for (int i = 0; i < m->outputs.count; i++) {
        hr__loss **place = HR__LIST_ADD(&c->losses);
        if (!place) return hr_no_memory(err, "a loss");
        if (c->one_loss) *place = c->given_losses.at[0];
    }
    for (int i = 0; i < c->given_losses.count && !c->one_loss; i++) {
        hr__loss *l = c->given_losses.at[i];
        const int at = loss_output(m, i);
        if (at < 0) return unknown_output(m, "losses", l->o.output, err);
        if (at >= m->outputs.count)
            return hr_fail(err, HR_INVALID_ARGUMENT, "models.output", "compile: expected at most %d losses, got %d",
                           m->outputs.count, c->given_losses.count);
        for (int k = 0; k < i; k++)
            if (loss_output(m, k) == at)
                return hr_fail(
                    err, HR_INVALID_ARGUMENT, "models.output",
                    "compile: losses: expected one for each output, got two for \"%.60s\", losses %d and %d; "
                    "a function (.fn) can add them up",
                    m->output_names.at[at], k, i);
        c->losses.at[at] = l->o.loss || l->o.fn ? l : NULL;
    }
    return HR_OK;
}

/* The name of a class, such as "AUC", gives the key that Keras's object of it has; others are kept as they are written. */
static void metric_key(const hr_output_metric *o, char *out, size_t size)
{
    const char *name = o->key ? o->key : o->metric;
    bool lower = false, upper = false;
    for (const char *p = name; *p; p++) {
        lower |= islower((unsigned char)*p) != 0;
        upper |= isupper((unsigned char)*p) != 0;
    }
    if (!o->key && ((upper && lower) || strcmp(name, "AUC") == 0))
        hr__snake_case(name, out, size);
    else
        (void)snprintf(out, size, "%s", name);
}

static bool key_taken(const hr__compiled *c, const char *key)
{
    for (int i = 0; i < c->metrics.count - 1; i++)
        if (c->metrics.at[i]->key && strcmp(c->metrics.at[i]->key, key) == 0) return true;
    return false;
}

static hr_status resolve_metric(hr_model *m, const hr__metric *given, int output, hr_error *err)
{
    hr__compiled *c = &m->compiled;
    hr__metric **place = HR__LIST_ADD(&c->metrics), *x = place ? hr_calloc(1, sizeof *x) : NULL;
    char key[256], full[600];
    if (!x) return hr_no_memory(err, "a metric");
    *place = x;
    HR_TRY(copy_metric(x, &given->o, err));
    x->output = output;
    metric_key(&given->o, key, sizeof key);
    const char *of = m->outputs.count > 1 ? m->output_names.at[output] : "", *joint = *of ? "_" : "";
    (void)snprintf(full, sizeof full, "%s%s%s", of, joint, key);
    if (key_taken(c, full) && given->o.weighted) (void)snprintf(full, sizeof full, "%s%sweighted_%s", of, joint, key);
    for (int n = 1; key_taken(c, full); n++) (void)snprintf(full, sizeof full, "%s%s%s_%d", of, joint, key, n);
    x->key = hr_strdup(full);
    return x->key ? HR_OK : hr_no_memory(err, "a metric");
}

static hr_status resolve_metrics(hr_model *m, hr_error *err)
{
    hr__compiled *c = &m->compiled;
    for (int k = 0; k < c->given_metrics.count; k++) {
        const char *name = c->given_metrics.at[k]->o.output;
        if (name && output_index(m, name) < 0) return unknown_output(m, "metrics", name, err);
    }
    for (int i = 0; i < m->outputs.count; i++)
        for (int weighted = 0; weighted < 2; weighted++)
            for (int k = 0; k < c->given_metrics.count; k++) {
                const hr__metric *x = c->given_metrics.at[k];
                const bool here = x->o.output ? output_index(m, x->o.output) == i : c->losses.at[i] != NULL;
                if (here && x->o.weighted == (weighted == 1)) HR_TRY(resolve_metric(m, x, i, err));
            }
    return HR_OK;
}

hr_status hr__compiled_resolve(hr_model *m, hr_error *err)
{
    if (!m->is_compiled)
        return hr_fail(err, HR_FAILED_PRECONDITION, "models.not_compiled",
                       "model '%.60s': it must be compiled first: hr_compile(model, .optimizer = .., .loss = ..)",
                       m->name);
    if (m->compiled.resolved) return HR_OK;
    resolved_clear(&m->compiled);
    HR_TRY(resolve_losses(m, err));
    HR_TRY(resolve_metrics(m, err));
    m->compiled.resolved = true;
    return HR_OK;
}
