/* What the optimizer of a model knows: the learning rate, the number of steps, averages of the weights. */
#include "train/models/models_internal.h"

#include <headrace/optimizer.h>
#include <string.h>

/* The training of the model, which is there after its first step. */
static hr_status state_of(hr_model *m, hr__function **out, hr_error *err)
{
    HR_TRY(hr__model_begin(m, err));
    if (!m->is_compiled)
        return hr_fail(err, HR_FAILED_PRECONDITION, "models.not_compiled", "model '%.60s': it must be compiled first",
                       m->name);
    *out = m->train;
    return HR_OK;
}

static hr_status read_number(hr__function *f, hr_node node, double *out, hr_error *err)
{
    hr_tensor value;
    HR_TRY(hr_session_run(f->session, NULL, 0, &node, 1, &value, err));
    *out = value.dtype == HR_INT64    ? (double)*(const int64_t *)value.data
           : value.dtype == HR_DOUBLE ? *(const double *)value.data
                                      : (double)*(const float *)value.data;
    hr_tensor_clear(&value);
    return HR_OK;
}

/* A number of the optimizer before its first step: its first parameter, which is the learning rate. */
static hr_status rate_before(hr_model *m, double *rate, hr_error *err)
{
    hr_graph *g = hr_graph_new();
    hr_session *s = NULL;
    hr_tensor value;
    if (!g) return hr_no_memory(err, "a graph");
    const hr_node step = hr_const_number(g, HR_INT64, 0, "step");
    hr_node node = m->compiled.schedule
                       ? m->compiled.schedule(step, m->compiled.schedule_user)
                       : hr_const_number(g, HR_FLOAT, hr_optimizer_value(m->compiled.optimizer, 0), "rate");
    hr_status st =
        (s = hr_session_new(g)) ? hr_session_run(s, NULL, 0, &node, 1, &value, err) : hr_no_memory(err, "a session");
    if (st == HR_OK) {
        *rate = (double)*(const float *)value.data;
        hr_tensor_clear(&value);
    }
    hr_session_free(s);
    hr_graph_free(g);
    return st;
}

hr_status hr_model_learning_rate(hr_model *m, double *rate)
{
    hr__function *f = NULL;
    hr_error err = {0};
    if (!m || !rate) return HR_INVALID_ARGUMENT;
    hr_status st = state_of(m, &f, &err);
    if (st == HR_OK && m->compiled.new_rate_given)
        *rate = m->compiled.new_rate;
    else if (st == HR_OK)
        st = f && f->rate.graph
                 ? read_number(f, f->optimizer.learning_rate.graph ? f->optimizer.learning_rate : f->rate, rate, &err)
                 : rate_before(m, rate, &err);
    return st == HR_OK ? st : hr__model_failed(m, &err);
}

hr_status hr__optimizer_set_rate(hr_model *m, hr__function *f, hr_error *err)
{
    const float value = (float)m->compiled.new_rate;
    const hr_tensor tensor = hr_tensor_of(HR_FLOAT, HR_SCALAR, &value);
    if (!m->compiled.new_rate_given || !f->optimizer.learning_rate.graph) return HR_OK;
    m->compiled.new_rate_given = false;
    return hr_session_set(f->session, f->optimizer.learning_rate, &tensor, err);
}

hr_status hr_model_set_learning_rate(hr_model *m, double rate)
{
    hr__function *f = NULL;
    hr_error err = {0};
    if (!m) return HR_INVALID_ARGUMENT;
    hr_status st = state_of(m, &f, &err);
    if (st == HR_OK && m->compiled.schedule)
        st = hr_fail(&err, HR_FAILED_PRECONDITION, "models.rate",
                     "model '%.60s': its learning rate is a schedule and cannot be set", m->name);
    if (st == HR_OK && !(rate >= 0 && rate <= 3.4e38))
        st = hr_fail(&err, HR_INVALID_ARGUMENT, "models.rate",
                     "model '%.60s': expected a learning rate of 0 or more, got %g", m->name, rate);
    if (st == HR_OK) {
        m->compiled.new_rate = rate;
        m->compiled.new_rate_given = true;
        if (f) st = hr__optimizer_set_rate(m, f, &err);
    }
    return st == HR_OK ? st : hr__model_failed(m, &err);
}

hr_status hr_model_iterations(hr_model *m, int64_t *iterations)
{
    hr__function *f = NULL;
    hr_error err = {0};
    double number = 0;
    if (!m || !iterations) return HR_INVALID_ARGUMENT;
    hr_status st = state_of(m, &f, &err);
    if (st == HR_OK && f && f->optimizer.iterations.graph) st = read_number(f, f->optimizer.iterations, &number, &err);
    const hr_tensor *kept = f ? NULL : hr__kept_named(&m->compiled, "optimizer/_iterations");
    if (!f && !kept) kept = hr__kept_named(&m->compiled, "optimizer/iter");
    *iterations = kept ? *(const int64_t *)kept->data : (int64_t)number;
    return st == HR_OK ? st : hr__model_failed(m, &err);
}

/* Variable `wanted` of those that the graph of the training has besides weights and metrics; *count of them. */
static const hr_variable_info *optimizer_variable(hr_model *m, int wanted, int *count)
{
    const hr_variable_info *found = NULL;
    *count = 0;
    for (int i = 0; m->train && i < hr_graph_variables(m->train->graph); i++) {
        const hr_variable_info *v = hr_graph_variable(m->train->graph, i);
        if ((v->sets & HR_LOCAL_VARIABLES) || hr_variable_named(m->body->graph, v->name)) continue;
        if ((*count)++ == wanted) found = v;
    }
    return found;
}

int hr_model_optimizer_variables(hr_model *m)
{
    int count = 0;
    if (m) (void)optimizer_variable(m, -1, &count);
    return count;
}

hr_status hr_model_optimizer_variable(hr_model *m, int i, const char **name, hr_tensor *out)
{
    hr_error err = {0};
    int count;
    if (!m || !name || !out) return HR_INVALID_ARGUMENT;
    const hr_variable_info *v = optimizer_variable(m, i, &count);
    hr_status st = hr__model_begin(m, &err);
    if (st == HR_OK && !v)
        st = hr_fail(&err, HR_INVALID_ARGUMENT, "models.argument",
                     "model '%.60s': expected a variable of the optimizer from 0 to %d, got %d", m->name, count - 1, i);
    if (st == HR_OK) st = hr_session_get(m->train->session, v->handle, out, &err);
    if (st != HR_OK) return hr__model_failed(m, &err);
    *name = hr__function_title(m->train, v);
    return HR_OK;
}

hr_status hr__optimizer_end(hr__function *f, hr_error *err)
{
    const hr_node overwrite = hr_target(f->averages);
    return f->averages.graph ? hr_session_run(f->session, NULL, 0, &overwrite, 1, NULL, err) : HR_OK;
}
