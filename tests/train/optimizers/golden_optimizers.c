/* The topic optimizers: whole optimizers over several steps, and their update ops one by one. */
#include "tests/train/ops/graph_case.h"
#include "train/graph/graph_internal.h"
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
    const hr_variable_info *info = hr_variable_named(g, expected->string);
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
    {"v1", "GradientDescentOptimizer", "sgd", true}, {"v1", "MomentumOptimizer", "sgd", true},
    {"v1", "AdagradOptimizer", "adagrad", true},     {"v1", "AdamOptimizer", "adam", true},
    {"v1", "FtrlOptimizer", "ftrl", true},           {"keras_legacy", "SGD", "sgd", false},
    {"keras_legacy", "Adagrad", "adagrad", false},   {"keras_legacy", "Adam", "adam", false},
    {"keras_legacy", "Ftrl", "ftrl", false},
};
static const char *const renamed[][2] = {{"use_nesterov", "nesterov"}, {"beta_1", "beta1"}, {"beta_2", "beta2"}};

static const char *our_name(const char *name)
{
    for (size_t i = 0; i < sizeof renamed / sizeof *renamed; i++)
        if (strcmp(renamed[i][0], name) == 0) return renamed[i][1];
    return name;
}

static bool is_known(const char *kind, const char *name)
{
    for (const char *const *p = hr_optimizer_parameters(kind); *p; p++)
        if (strcmp(*p, name) == 0) return true;
    return false;
}

/* NULL: says what is not built. */
static hr_optimizer *make_optimizer(golden_case *c, bool *v1)
{
    const char *family = golden_text(c->json, "family", ""), *name = golden_text(c->json, "optimizer", "");
    hr_parameter given[MAX];
    int count = 0;
    for (size_t i = 0; i < sizeof optimizers / sizeof *optimizers; i++) {
        if (strcmp(optimizers[i].family, family) != 0 || strcmp(optimizers[i].name, name) != 0) continue;
        const cJSON *p;
        cJSON_ArrayForEach(p, golden_fields(golden_get(c->json, "params")))
        {
            if (cJSON_IsBool(p) ? !cJSON_IsTrue(p) && !is_known(optimizers[i].kind, our_name(p->string)) : false)
                continue;
            if (!is_known(optimizers[i].kind, our_name(p->string)) || cJSON_IsString(p) || cJSON_IsObject(p) ||
                count == MAX) {
                golden_not_built(c, "%s(%s)", name, p->string);
                return NULL;
            }
            given[count++] =
                (hr_parameter){our_name(p->string), cJSON_IsBool(p) ? cJSON_IsTrue(p) : golden_number_double(p)};
        }
        *v1 = optimizers[i].v1;
        return hr_optimizer_named(optimizers[i].kind, given, count, *v1);
    }
    golden_not_built(c, "%s %s", family, name);
    return NULL;
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

static golden_result run_optimizer(golden_case *c)
{
    bool v1 = false;
    fed_gradient first;
    hr_error err;
    hr_variable_gradient gradients[2] = {{{0}, {{0}, {0}, {0}}}};
    hr_optimizer *optimizer = make_optimizer(c, &v1);
    if (!optimizer) return GOLDEN_NOT_BUILT;
    trained t = {.g = hr_graph_new()};
    if (!read_gradient(cJSON_GetArrayItem(golden_get(c->json, "gradients"), 0), &first)) {
        hr_optimizer_free(optimizer);
        hr_graph_free(t.g);
        return golden_differs(c, "gradients do not read");
    }
    const int count = variables_to_train(c, &t, &first, gradients);
    const hr_minimize_opts opts = {.global_step = v1 ? hr_global_step(t.g) : (hr_node){0}};
    t.train = hr_apply_gradients(optimizer, t.g, gradients, count, &opts);
    t.s = hr_session_new(t.g);
    golden_result result = GOLDEN_AGREES;
    golden_get(c->json, "variables"); /* "ref" or "resource": the same numbers, of resources here */
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

static golden_result run_case(golden_case *c)
{
    const char *kind = golden_text(c->json, "kind", "");
    if (strcmp(kind, "kernel") == 0) return run_kernel(c);
    if (strcmp(kind, "optimizer") == 0) return run_optimizer(c);
    return golden_not_built(c, "%s", kind);
}

int main(void) { return golden_main("optimizers", GOLDEN_ROOT, run_case); }
