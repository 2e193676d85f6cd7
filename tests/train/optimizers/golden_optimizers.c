/* The topic optimizers: whole optimizers over several steps, and their update ops one by one. */
#include "tests/train/ops/graph_case.h"
#include "train/graph/graph_internal.h"
#include "train/layers/layers.h"
#include "train/optimizers/optimizers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX = 16 };

/* ---- variables by name ---- */

static hr_node make_variable(hr_graph *g, const char *name, const hr_tensor *value)
{
    return hr_get_variable(g, name, value->dtype, value->shape, .initializer = hr_initial_value(value),
                           .not_trainable = true);
}

static bool compare_variable(golden_case *c, hr_graph *g, hr_session *s, const cJSON *expected)
{
    hr_error err;
    hr_tensor got;
    char lazy[128];
    snprintf(lazy, sizeof lazy, "LazyAdam/%s", expected->string); /* a case of a rule knows no optimizer's name */
    const hr_variable_info *info = hr_variable_named(g, expected->string);
    if (!info) info = hr_variable_named(g, lazy);
    const hr_node reference = hr_graph_node(g, expected->string);
    if (!info && !hr_node_exists(reference)) {
        golden_differs(c, "there is no variable %s", expected->string);
        return false;
    }
    const hr_status st =
        info ? hr_session_get(s, info->handle, &got, &err) : hr_session_run(s, NULL, 0, &reference, 1, &got, &err);
    if (st != HR_OK) {
        golden_differs(c, "%s: %s", expected->string, err.text);
        return false;
    }
    const bool equal = golden_equal_json(c, expected->string, expected, &got);
    hr_tensor_clear(&got);
    return equal;
}

static bool compare_all(golden_case *c, hr_graph *g, hr_session *s, const cJSON *expected)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, golden_fields(expected))
    {
        if (!compare_variable(c, g, s, item)) return false;
    }
    return true;
}

static hr_status initialize(hr_graph *g, hr_session *s, hr_error *err)
{
    hr_node init = hr_target(hr_global_variables_initializer(g));
    int references;
    const hr_node *assign = hr_get_collection(g, "references", &references);
    HR_TRY(hr_session_run(s, NULL, 0, &init, 1, NULL, err));
    return hr_session_run(s, NULL, 0, assign, references, NULL, err);
}

/* ---- one update op ---- */

/* The names of a signature: "var:resource, lr:T" gives var, lr. */
static bool next_input(const char **at, char *name, size_t size)
{
    const size_t length = *at ? strcspn(*at, ":") : 0;
    if (length == 0 || length >= size) return false;
    snprintf(name, size, "%.*s", (int)length, *at);
    const char *comma = strchr(*at, ',');
    *at = comma ? comma + 1 + strspn(comma + 1, " ") : NULL;
    return true;
}

static hr_node make_reference(hr_graph *g, const char *name, const hr_tensor *value)
{
    const hr_node variable =
        hr_new_node(g, "VariableV2", .name = name,
                    HR_ATTRS(HR_SHAPE_ATTR("shape", value->shape), HR_TYPE_ATTR("dtype", value->dtype)));
    hr_add_to_collection(g, "references", hr_target(hr_new_node(g, "Assign", HR_INPUTS(variable, hr_const(g, value)))));
    return variable;
}

static golden_result run_kernel(golden_case *c)
{
    const cJSON *variables = golden_get(c->json, "variables"), *inputs = golden_get(c->json, "inputs");
    const hr_graph_op *op = hr_graph_op_named(golden_text(c->json, "op", ""));
    if (!op) return golden_not_built(c, "op %s", golden_text(c->json, "op", ""));
    hr_graph *g = hr_graph_new();
    hr_node in[MAX];
    char name[64];
    int count = 0;
    hr__opdef def;
    const bool known = hr__opdef_named(op->name, &def);
    const char *at = known ? def.inputs : op->inputs;
    while (count < MAX && next_input(&at, name, sizeof name)) {
        hr_tensor value;
        const cJSON *variable = golden_get(variables, name);
        const bool reference = variable && known && strstr(def.inputs, "ref T");
        if (!golden_tensor(variable ? variable : golden_get(inputs, name), &value)) break;
        in[count++] = reference  ? make_reference(g, name, &value)
                      : variable ? make_variable(g, name, &value)
                                 : hr_const(g, &value);
        golden_tensor_clear(&value);
    }
    hr_node node = hr_target(case_node(g, op, golden_get(c->json, "attrs"), in, count));
    hr_session *s = hr_session_new(g);
    hr_error err;
    hr_status st = initialize(g, s, &err);
    if (st == HR_OK) st = hr_session_run(s, NULL, 0, &node, 1, NULL, &err);
    golden_result result = GOLDEN_AGREES;
    const cJSON *expectation = golden_expectation(c->json, false);
    if (golden_error_class(expectation))
        result = st == HR_OK                             ? golden_differs(c, "expected an error")
                 : case_error_fits(c, expectation, &err) ? GOLDEN_AGREES
                                                         : GOLDEN_DIFFERS;
    else if (st != HR_OK)
        result = golden_differs(c, "%s", err.text);
    else if (!compare_all(c, g, s, golden_get(expectation, "expect")))
        result = GOLDEN_DIFFERS;
    hr_session_free(s);
    hr_graph_free(g);
    return result;
}

/* ---- whole optimizers ---- */

static const struct {
    const char *family, *name, *kind;
    bool v1;
} optimizers[] = {
    {"v1", "GradientDescentOptimizer", "sgd", true},
    {"v1", "MomentumOptimizer", "sgd", true},
    {"v1", "AdagradOptimizer", "adagrad", true},
    {"v1", "AdagradDAOptimizer", "adagrad_da", true},
    {"v1", "AdadeltaOptimizer", "adadelta", true},
    {"v1", "AdamOptimizer", "adam", true},
    {"v1", "FtrlOptimizer", "ftrl", true},
    {"v1", "ProximalAdagradOptimizer", "proximal_adagrad", true},
    {"v1", "ProximalGradientDescentOptimizer", "proximal_sgd", true},
    {"v1", "RMSPropOptimizer", "rmsprop", true},
    {"keras_legacy", "SGD", "sgd", false},
    {"keras_legacy", "Adagrad", "adagrad", false},
    {"keras_legacy", "Adadelta", "adadelta", false},
    {"keras_legacy", "Adam", "adam", false},
    {"keras_legacy", "Adamax", "adamax", false},
    {"keras_legacy", "Ftrl", "ftrl", false},
    {"keras_legacy", "Nadam", "nadam", false},
    {"keras_legacy", "RMSprop", "rmsprop", false},
    {"rule", "LazyAdam", "adam", false},
};
static const char *const renamed[][2] = {{"use_nesterov", "nesterov"}, {"beta_1", "beta1"}, {"beta_2", "beta2"}};

static const char *our_name(const char *kind, bool v1, const char *name)
{
    if (v1 && strcmp(kind, "rmsprop") == 0 && strcmp(name, "decay") == 0) return "rho";
    for (size_t i = 0; i < sizeof renamed / sizeof *renamed; i++)
        if (strcmp(renamed[i][0], name) == 0) return renamed[i][1];
    return name;
}

/* ---- schedules ---- */

static float float_or(const cJSON *params, const char *name, float fallback)
{
    const cJSON *p = golden_get(params, name);
    return p ? (float)golden_number_double(p) : fallback;
}

/* NULL where the case says nothing: the function's own default. */
static const float *float_given(const cJSON *params, const char *name, float *place)
{
    const cJSON *p = golden_get(params, name);
    if (p) *place = (float)golden_number_double(p);
    return p ? place : NULL;
}

static hr_node piecewise(const cJSON *params, hr_node step)
{
    const cJSON *boundaries = golden_whole(golden_get(params, "boundaries")),
                *values = golden_whole(golden_get(params, "values"));
    int64_t bound[MAX];
    float value[MAX];
    const int count = cJSON_GetArraySize(boundaries);
    for (int i = 0; i < count; i++) bound[i] = golden_number_int64(cJSON_GetArrayItem(boundaries, i));
    for (int i = 0; i < cJSON_GetArraySize(values); i++)
        value[i] = (float)golden_number_double(cJSON_GetArrayItem(values, i));
    return hr_piecewise_constant(step, bound, value, count);
}

/* No node: there is no such function. */
static hr_node schedule_node(const char *function, const cJSON *params, hr_node step)
{
    const float rate = float_or(params, "learning_rate", float_or(params, "initial_learning_rate", 0));
    const float steps = float_or(params, "decay_steps", 0), by = float_or(params, "decay_rate", 0);
    const bool staircase = golden_bool(params, "staircase", false);
    float a, b, c;
    if (strcasestr(function, "piecewise")) return piecewise(params, step);
    if (strcasestr(function, "natural")) return hr_natural_exp_decay(rate, step, steps, by, .staircase = staircase);
    if (strcasestr(function, "exponential")) return hr_exponential_decay(rate, step, steps, by, .staircase = staircase);
    if (strcasestr(function, "inverse")) return hr_inverse_time_decay(rate, step, steps, by, .staircase = staircase);
    if (strcasestr(function, "polynomial"))
        return hr_polynomial_decay(rate, step, steps, .end_learning_rate = float_given(params, "end_learning_rate", &a),
                                   .power = float_given(params, "power", &b),
                                   .cycle = golden_bool(params, "cycle", false));
    if (strcasestr(function, "restarts"))
        return hr_cosine_decay_restarts(
            rate, step, float_or(params, "first_decay_steps", 0), .t_mul = float_given(params, "t_mul", &a),
            .m_mul = float_given(params, "m_mul", &b), .alpha = float_or(params, "alpha", 0));
    if (strcasestr(function, "linear_cosine"))
        return hr_linear_cosine_decay(rate, step, steps, .num_periods = float_given(params, "num_periods", &a),
                                      .alpha = float_or(params, "alpha", 0), .beta = float_given(params, "beta", &b),
                                      .initial_variance = float_or(params, "initial_variance", 0));
    if (strcasestr(function, "cosine"))
        return hr_cosine_decay(rate, step, steps, .alpha = float_or(params, "alpha", 0),
                               .warmup_target = float_given(params, "warmup_target", &c),
                               .warmup_steps = float_or(params, "warmup_steps", 0));
    return (hr_node){0};
}

static golden_result run_schedule(golden_case *c)
{
    const cJSON *steps = golden_whole(golden_get(c->json, "steps"));
    hr_graph *g = hr_graph_new();
    const hr_node step = hr_placeholder(g, HR_INT64, HR_SCALAR);
    const hr_node rate = schedule_node(golden_text(c->json, "function", ""), golden_get(c->json, "params"), step);
    hr_session *s = hr_session_new(g);
    hr_error err;
    float values[64];
    const int count = cJSON_GetArraySize(steps);
    golden_result result = rate.graph ? GOLDEN_AGREES : golden_not_built(c, "schedule");
    for (int i = 0; i < count && result == GOLDEN_AGREES; i++) {
        const int64_t at = golden_number_int64(cJSON_GetArrayItem(steps, i));
        const hr_feed feed = {step, hr_tensor_of(HR_INT64, HR_SCALAR, &at)};
        hr_tensor got;
        if (hr_session_run(s, &feed, 1, &rate, 1, &got, &err) != HR_OK)
            result = golden_differs(c, "%s", err.text);
        else
            values[i] = *(const float *)got.data, hr_tensor_clear(&got);
    }
    const hr_tensor all = hr_tensor_of(HR_FLOAT, HR_SHAPE(count), values);
    if (result == GOLDEN_AGREES && !golden_equal_json(c, "rates", golden_get(c->json, "expect"), &all))
        result = GOLDEN_DIFFERS;
    hr_session_free(s);
    hr_graph_free(g);
    return result;
}

/* ---- making an optimizer ---- */

static bool is_name_of(const char *const *names, const char *name)
{
    for (; *names; names++)
        if (strcmp(*names, name) == 0) return true;
    return false;
}

static bool is_known(const char *kind, const char *name)
{
    return is_name_of(hr_optimizer_parameters(kind), name) || is_name_of(hr_optimizer_parameters(NULL), name);
}

/* With names of its own, or a schedule by the iterations that `step` counts. NULL: neither. */
static hr_optimizer *make_special(const cJSON *params, bool v1, hr_node step)
{
    const cJSON *rate = golden_get(params, "learning_rate");
    const char *name = golden_text(params, "name", NULL), *accum = golden_text(params, "accum_name", NULL);
    const float number = cJSON_IsObject(rate) ? 0 : float_or(params, "learning_rate", 0);
    if (accum)
        return hr_ftrl(number, .v1 = v1, .accum_name = accum, .linear_name = golden_text(params, "linear_name", ""));
    if (name) return hr_adam(number, .v1 = v1, .name = name);
    if (!cJSON_IsObject(rate)) return NULL;
    const hr_node schedule = schedule_node(rate->child->string, golden_get(rate, rate->child->string), step);
    return strcasestr(rate->child->string, "exponential") ? hr_sgd(0, .learning_rate_node = schedule, .v1 = v1)
                                                          : hr_adam(0, .learning_rate_node = schedule, .v1 = v1);
}

/* NULL: says what is not built. */
static hr_optimizer *make_optimizer(golden_case *c, bool *v1, hr_node step)
{
    const char *family = golden_text(c->json, "family", ""), *name = golden_text(c->json, "optimizer", "");
    const cJSON *params = golden_get(c->json, "params"), *p;
    hr_parameter given[MAX];
    int count = 0;
    size_t i = 0;
    while (i < sizeof optimizers / sizeof *optimizers &&
           (strcmp(optimizers[i].family, family) != 0 || strcmp(optimizers[i].name, name) != 0))
        i++;
    if (i == sizeof optimizers / sizeof *optimizers) {
        golden_not_built(c, "%s %s", family, name);
        return NULL;
    }
    *v1 = optimizers[i].v1;
    hr_optimizer *special = make_special(params, *v1, step);
    if (special) return special;
    cJSON_ArrayForEach(p, golden_fields(params))
    {
        const char *ours = our_name(optimizers[i].kind, *v1, p->string);
        if (cJSON_IsFalse(p) && !is_known(optimizers[i].kind, ours)) continue;
        if (!is_known(optimizers[i].kind, ours) || count == MAX) {
            golden_not_built(c, "%s(%s)", name, p->string);
            return NULL;
        }
        given[count++] = (hr_parameter){ours, cJSON_IsBool(p) ? cJSON_IsTrue(p) : golden_number_double(p)};
    }
    if (strcmp(name, "LazyAdam") == 0) given[count++] = (hr_parameter){"lazy", 1};
    return hr_optimizer_named(optimizers[i].kind, given, count, *v1 ? HR_V1_OPTIMIZERS : HR_LEGACY_OPTIMIZERS);
}

typedef struct fed_gradient {
    hr_tensor values, indices; /* no indices: dense */
} fed_gradient;

static bool read_gradient(const cJSON *json, fed_gradient *out)
{
    *out = (fed_gradient){0};
    if (!golden_bool(json, "indexed_slices", false)) return golden_tensor(json, &out->values);
    golden_whole(golden_get(json, "dense_shape")); /* the variable's */
    return golden_tensor(golden_get(json, "values"), &out->values) &&
           golden_tensor(golden_get(json, "indices"), &out->indices);
}

static void clear_gradient(fed_gradient *g)
{
    golden_tensor_clear(&g->values);
    if (g->indices.data) golden_tensor_clear(&g->indices);
}

typedef struct trained {
    hr_graph *g;
    hr_session *s;
    hr_node values, indices, train;
} trained;

static hr_gradient feedable(trained *t, const fed_gradient *first)
{
    hr_shape shape = first->values.shape;
    if (first->indices.data) shape.dims[0] = -1;
    t->values = hr_placeholder(t->g, first->values.dtype, shape);
    if (!first->indices.data) return (hr_gradient){.values = t->values};
    t->indices = hr_placeholder(t->g, first->indices.dtype, HR_SHAPE(-1));
    return (hr_gradient){t->values, t->indices, hr_scalar(t->g, HR_INT64, 0)};
}

/* The first variable, and b if the case has one, with what feeds them. */
static int variables_to_train(golden_case *c, trained *t, const fed_gradient *first, hr_variable_gradient *out)
{
    const cJSON *initial = golden_get(c->json, "initial"), *second = golden_get(c->json, "gradient_b");
    const char *const names[] = {initial && initial->child ? initial->child->string : "w", "b"};
    int count = 0;
    for (int i = 0; i < (second ? 2 : 1); i++) {
        hr_tensor value;
        if (!golden_tensor(golden_get(initial, names[i]), &value)) return 0;
        out[count].variable = make_variable(t->g, names[i], &value);
        golden_tensor_clear(&value);
        if (i == 0) {
            out[count++].gradient = feedable(t, first);
        } else if (golden_tensor(second, &value)) {
            out[count++].gradient = (hr_gradient){.values = hr_const(t->g, &value)};
            golden_tensor_clear(&value);
        }
    }
    return count;
}

static bool take_steps(golden_case *c, trained *t, hr_error *err)
{
    const cJSON *gradients = golden_get(c->json, "gradients"),
                *steps = golden_get(golden_get(c->json, "expect"), "steps");
    for (int i = 0; i < cJSON_GetArraySize(steps); i++) {
        fed_gradient fed;
        if (!read_gradient(cJSON_GetArrayItem(gradients, i), &fed)) return false;
        const hr_feed feeds[] = {{t->values, fed.values}, {t->indices, fed.indices}};
        hr_node target = hr_target(t->train);
        const hr_status st = hr_session_run(t->s, feeds, fed.indices.data ? 2 : 1, &target, 1, NULL, err);
        clear_gradient(&fed);
        if (st != HR_OK) {
            golden_differs(c, "step %d: %s", i, err->text);
            return false;
        }
        if (!compare_all(c, t->g, t->s, cJSON_GetArrayItem(steps, i))) {
            char why[512];
            snprintf(why, sizeof why, "%.500s", c->why);
            golden_differs(c, "step %d: %s", i, why);
            return false;
        }
    }
    return true;
}

/* The variables that a checkpoint holds, and which of them are slots. Keras's parameters are variables besides, as in
 * its estimators. */
static bool compare_names(golden_case *c, const hr_graph *g, bool v1)
{
    const cJSON *names = golden_get(c->json, "checkpoint_names"), *item;
    int saved = 0;
    cJSON_ArrayForEach(item, golden_fields(golden_get(c->json, "slot_variables")))
    {
        if (!cJSON_IsString(item) || hr_variable_named(g, item->valuestring)) continue;
        golden_differs(c, "no slot %s", item->valuestring);
        return false;
    }
    cJSON_ArrayForEach(item, names)
    {
        if (hr_variable_named(g, item->valuestring)) continue;
        golden_differs(c, "a checkpoint has no %s", item->valuestring);
        return false;
    }
    for (int i = 0; i < hr_graph_variables(g); i++) saved += (hr_graph_variable(g, i)->sets & HR_GLOBAL_VARIABLES) != 0;
    if (!names || !v1 || saved == cJSON_GetArraySize(names)) return true;
    golden_differs(c, "a checkpoint has %d variables, expected %d", saved, cJSON_GetArraySize(names));
    return false;
}

/* A schedule needs the variable that counts before the optimizer is made. No node: no schedule. */
static hr_node own_step(golden_case *c, hr_graph *g)
{
    const cJSON *variable;
    if (!cJSON_IsObject(golden_get(golden_get(c->json, "params"), "learning_rate"))) return (hr_node){0};
    cJSON_ArrayForEach(variable, golden_get(c->json, "initial"))
    {
        if (strcmp(variable->string, "global_step") == 0) return hr_global_step(g);
        if (strstr(variable->string, "/iter"))
            return hr_get_variable(g, variable->string, HR_INT64, HR_SCALAR, .initializer = hr_zeros(),
                                   .not_trainable = true);
    }
    return (hr_node){0};
}

static golden_result run_optimizer(golden_case *c)
{
    bool v1 = false;
    fed_gradient first;
    hr_error err;
    hr_variable_gradient gradients[2] = {{{0}, {{0}, {0}, {0}}}};
    trained t = {.g = hr_graph_new()};
    const hr_node counted = own_step(c, t.g);
    hr_optimizer *optimizer = make_optimizer(c, &v1, counted);
    if (!optimizer) {
        hr_graph_free(t.g);
        return GOLDEN_NOT_BUILT;
    }
    if (!read_gradient(cJSON_GetArrayItem(golden_get(c->json, "gradients"), 0), &first)) {
        hr_optimizer_free(optimizer);
        hr_graph_free(t.g);
        return golden_differs(c, "gradients do not read");
    }
    const int count = variables_to_train(c, &t, &first, gradients);
    const hr_minimize_opts opts = {.global_step = v1 ? hr_global_step(t.g) : counted};
    t.train = hr_apply_gradients(optimizer, t.g, gradients, count, &opts);
    t.s = hr_session_new(t.g);
    golden_result result = GOLDEN_AGREES;
    golden_get(c->json, "variables"); /* "ref" or "resource": the same numbers, of resources here */
    golden_get(c->json, "reference"); /* where the numbers of a rule that TensorFlow lacks come from */
    if (initialize(t.g, t.s, &err) != HR_OK)
        result = golden_differs(c, "%s", err.text);
    else if (!compare_all(c, t.g, t.s, golden_get(c->json, "initial")) || !take_steps(c, &t, &err) ||
             !compare_names(c, t.g, v1))
        result = GOLDEN_DIFFERS;
    clear_gradient(&first);
    hr_session_free(t.s);
    hr_graph_free(t.g);
    return result;
}

/* ---- regularizers, averages, names, errors ---- */

static golden_result run_regularizer(golden_case *c)
{
    const cJSON *params = golden_get(c->json, "params"), *expected = golden_get(c->json, "expect");
    const hr_regularizer r = {float_or(params, "l1", 0), float_or(params, "l2", 0), golden_bool(params, "half", false)};
    hr_tensor value, got[2];
    hr_error err;
    golden_get(c->json, "function"); /* the parameters say as much */
    if (!golden_tensor(golden_get(c->json, "input"), &value)) return golden_differs(c, "the input does not read");
    hr_graph *g = hr_graph_new();
    hr_session *s = hr_session_new(g);
    const hr_node x = hr_const(g, &value), loss = hr_regularization_loss(x, r);
    hr_gradient gradient;
    hr_gradients(&loss, 1, &x, 1, &gradient);
    const hr_node fetch[] = {loss, gradient.values};
    golden_result result = GOLDEN_AGREES;
    if (hr_session_run(s, NULL, 0, fetch, 2, got, &err) != HR_OK) {
        result = golden_differs(c, "%s", err.text);
    } else {
        if (!golden_equal_json(c, "value", golden_get(expected, "value"), &got[0]) ||
            !golden_equal_json(c, "gradient", golden_get(expected, "gradient"), &got[1]))
            result = GOLDEN_DIFFERS;
        for (int i = 0; i < 2; i++) hr_tensor_clear(&got[i]);
    }
    hr_session_free(s);
    hr_graph_free(g);
    golden_tensor_clear(&value);
    return result;
}

/* What is averaged: the variable w, which each step sets to the next value, or a tensor x, or a value that goes into the
 * average w itself. */
static hr_node averaging(golden_case *c, hr_graph *g, hr_node fed, hr_node updates)
{
    const cJSON *params = golden_get(c->json, "params"), *initial = golden_get(c->json, "initial");
    const double decay = golden_number_double(golden_get(params, "decay"));
    const bool debias = golden_bool(params, "zero_debias", false);
    if (golden_get(c->json, "average"))
        return hr_moving_average(hr_identity(fed, .name = "x"), decay, .zero_debias = debias, .num_updates = updates);
    const hr_node w = hr_get_variable(g, "w", HR_FLOAT, HR_SHAPE(2), .initializer = hr_zeros(), .not_trainable = true);
    if (!initial) return hr_assign_moving_average(w, fed, decay, .zero_debias = debias, .num_updates = updates);
    const hr_node assigned = hr_target(hr_assign(w, fed));
    hr_control_dependencies(g, &assigned, 1);
    const hr_node moved = hr_moving_average(w, decay, .zero_debias = debias, .num_updates = updates);
    hr_control_end(g);
    const cJSON *restore = golden_fields(golden_get(c->json, "variables_to_restore"));
    if (!hr_variable_named(g, restore->child->string) || strcmp(restore->child->valuestring, "w") != 0)
        hr_node_fail(g, HR_INTERNAL, "test", "expected an average %s", restore->child->string);
    return moved;
}

static golden_result run_average(golden_case *c)
{
    const cJSON *values = golden_get(c->json, "values"), *initial = golden_get(c->json, "initial");
    const cJSON *counts = golden_whole(golden_get(golden_get(c->json, "params"), "num_updates"));
    const cJSON *steps = golden_get(golden_get(c->json, "expect"), "steps");
    golden_whole(initial); /* zeros */
    hr_graph *g = hr_graph_new();
    hr_session *s = hr_session_new(g);
    hr_error err;
    const hr_node fed = hr_placeholder(g, HR_FLOAT, HR_SHAPE(2)), updates = hr_placeholder(g, HR_INT64, HR_SCALAR);
    const hr_node done = hr_target(averaging(c, g, fed, cJSON_IsArray(counts) ? updates : (hr_node){0}));
    golden_result result = initialize(g, s, &err) == HR_OK ? GOLDEN_AGREES : golden_differs(c, "%s", err.text);
    for (int i = 0; i < cJSON_GetArraySize(steps) && result == GOLDEN_AGREES; i++) {
        hr_tensor value;
        if (!golden_tensor(cJSON_GetArrayItem(values, i), &value)) result = golden_differs(c, "a value does not read");
        const int64_t count = cJSON_IsArray(counts) ? golden_number_int64(cJSON_GetArrayItem(counts, i)) : 0;
        const hr_feed feeds[] = {{fed, value}, {updates, hr_tensor_of(HR_INT64, HR_SCALAR, &count)}};
        if (hr_session_run(s, feeds, 2, &done, 1, NULL, &err) != HR_OK)
            result = golden_differs(c, "%s", err.text);
        else if (!compare_all(c, g, s, cJSON_GetArrayItem(steps, i)))
            result = GOLDEN_DIFFERS;
        golden_tensor_clear(&value);
    }
    hr_session_free(s);
    hr_graph_free(g);
    return result;
}

/* The variables of Adam for one in two pieces. */
static golden_result run_names(golden_case *c)
{
    const cJSON *names = golden_whole(golden_get(golden_get(c->json, "expect"), "names")), *name;
    hr_graph *g = hr_graph_new();
    const hr_node w =
        hr_get_variable(g, "s/w", HR_FLOAT, HR_SHAPE(4, 2), .partitioner = hr_fixed_size_partitioner(2, 0));
    hr_minimize(hr_adam(0.1f, .v1 = true), hr_reduce_sum(hr_square(w)));
    golden_result result = hr_graph_variables(g) == cJSON_GetArraySize(names)
                               ? GOLDEN_AGREES
                               : golden_differs(c, "%d variables", hr_graph_variables(g));
    cJSON_ArrayForEach(name, names)
    {
        if (!hr_variable_named(g, name->valuestring)) result = golden_differs(c, "no variable %s", name->valuestring);
    }
    hr_graph_free(g);
    return result;
}

/* One step of v1's optimizer of this kind on w, [3, 2], with a gradient of a shape that does not fit, or slices of which
 * the second has the row `row`. */
static hr_status refused_step(const char *kind, const double *row, hr_error *err)
{
    const hr_parameter parameters[] = {{"learning_rate", 0.1}, {"momentum", 0.9}};
    const bool momentum = strcmp(kind, "momentum") == 0;
    static const float grad[4];
    const int64_t rows[] = {0, row ? (int64_t)*row : 0};
    hr_graph *g = hr_graph_new();
    hr_session *s = hr_session_new(g);
    const hr_node w = hr_get_variable(g, "w", HR_FLOAT, HR_SHAPE(3, 2), .initializer = hr_zeros());
    const hr_node values = hr_placeholder(g, HR_FLOAT, HR_UNKNOWN_SHAPE),
                  indices = hr_placeholder(g, HR_INT64, HR_SHAPE(-1));
    const hr_variable_gradient gradient = {w, row ? (hr_gradient){values, indices, hr_scalar(g, HR_INT64, 3)}
                                                  : (hr_gradient){.values = values}};
    const hr_node train = hr_target(
        hr_apply_gradients(hr_optimizer_named(momentum || strcmp(kind, "gradient_descent") == 0 ? "sgd" : kind,
                                              parameters, momentum ? 2 : 1, HR_V1_OPTIMIZERS),
                           g, &gradient, 1, NULL));
    const hr_feed feeds[] = {{values, hr_tensor_of(HR_FLOAT, HR_SHAPE(2, 2), grad)},
                             {indices, hr_tensor_of(HR_INT64, HR_SHAPE(2), rows)}};
    hr_status st = initialize(g, s, err);
    if (st == HR_OK) st = hr_session_run(s, feeds, row ? 2 : 1, &train, 1, NULL, err);
    hr_session_free(s);
    hr_graph_free(g);
    return st;
}

/* An optimizer that cannot be made, or what a graph refuses. */
static hr_status refused_graph(const char *name, hr_error *err)
{
    hr_graph *g = hr_graph_new();
    const hr_node w = hr_get_variable(g, "w", HR_FLOAT, HR_SHAPE(3, 2), .initializer = hr_zeros());
    const hr_node constant = hr_reduce_sum(hr_scalar(g, HR_FLOAT, 1));
    if (strcmp(name, "error_no_gradients") == 0)
        hr_apply_gradients(hr_sgd(0.1f), g, &(hr_variable_gradient){.variable = w}, 1, NULL);
    else if (strcmp(name, "error_no_path") == 0)
        hr_minimize(hr_sgd(0.1f), constant);
    else if (strcmp(name, "error_learning_rate_power") == 0)
        hr_minimize(hr_ftrl(0.1f, .learning_rate_power = HR_F32(0.5f), .v1 = true), hr_reduce_sum(w));
    else if (strcmp(name, "error_initial_accumulator") == 0)
        hr_minimize(hr_adagrad(0.1f, .initial_accumulator_value = HR_F32(0), .v1 = true), hr_reduce_sum(w));
    else if (strcmp(name, "error_ftrl_accumulator") == 0)
        hr_minimize(hr_ftrl(0.1f, .initial_accumulator_value = HR_F32(-1), .v1 = true), hr_reduce_sum(w));
    else if (strcmp(name, "error_ftrl_l1") == 0)
        hr_minimize(hr_ftrl(0.1f, .l1_regularization_strength = -1, .v1 = true), hr_reduce_sum(w));
    else if (strcmp(name, "piecewise_constant_error") == 0)
        hr_piecewise_constant(hr_global_step(g), (const int64_t[]){1, 2}, NULL,
                              2); /* too few values are not seen in C */
    const hr_error *error = hr_graph_error(g);
    if (error) *err = *error;
    const hr_status st = error ? error->code : HR_OK;
    hr_graph_free(g);
    return st;
}

static golden_result run_error(golden_case *c)
{
    static const char *const kinds[] = {"gradient_descent", "adagrad", "adam", "momentum", "ftrl"};
    const cJSON *expectation = golden_expectation(c->json, false);
    hr_error err;
    hr_status st;
    golden_get(c->json, "name");
    if (strcmp(c->name, "exponential_decay_error") == 0) {
        /* Without a step there is no graph that could keep an error: the answer is no node. */
        return hr_exponential_decay(0.1f, ((hr_node){0}), 1, 1).graph ? golden_differs(c, "expected no node")
                                                                      : (golden_whole(expectation), GOLDEN_AGREES);
    }
    const double row = strstr(c->name, "negative") ? -1 : 3;
    const char *kind = "adagrad";
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strstr(c->name, kinds[i])) kind = kinds[i];
    if (strstr(c->name, "_index_"))
        st = refused_step(kind, &row, &err);
    else if (strstr(c->name, "error_shape"))
        st = refused_step("adagrad", NULL, &err);
    else
        st = refused_graph(c->name, &err);
    if (st == HR_OK) return golden_differs(c, "expected an error");
    return case_error_fits(c, expectation, &err) ? GOLDEN_AGREES : GOLDEN_DIFFERS;
}

static golden_result run_case(golden_case *c)
{
    const char *kind = golden_text(c->json, "kind", "");
    if (strcmp(kind, "kernel") == 0) return run_kernel(c);
    if (strcmp(kind, "optimizer") == 0) return run_optimizer(c);
    if (strcmp(kind, "schedule") == 0) return run_schedule(c);
    if (strcmp(kind, "regularizer") == 0) return run_regularizer(c);
    if (strcmp(kind, "average") == 0) return run_average(c);
    if (strcmp(kind, "names") == 0) return run_names(c);
    if (strcmp(kind, "error") == 0) return run_error(c);
    return golden_not_built(c, "%s", kind);
}

int main(void) { return golden_main("optimizers", GOLDEN_ROOT, run_case); }
