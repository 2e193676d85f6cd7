/* Values that are fed, some of them in vain; variables with a value. */
#include "train/conformance/trial.h"

#include <stdio.h>

static void feed(trial *t, hr_node node, hr_tensor value)
{
    t->feed[t->feeds++] = (hr_feed){node, value};
    if (t->smooth || !one_in(t, 60)) return;
    hr_tensor *fed = &t->feed[t->feeds - 1].value;
    t->refuse_feeds = true;
    switch (below(t, 6)) {
    case 0:
        fed->data = NULL;
        t->refuse_feeds = fed->count > 0;
        break;
    case 1:
        fed->shape.rank = 12;
        break;
    case 2:
        fed->shape = HR_SHAPE(3, -1);
        break;
    case 3:
        fed->shape = HR_SHAPE(INT64_C(1) << 62, 4);
        break;
    case 4:
        t->feed[t->feeds] = t->feed[t->feeds - 1]; /* twice */
        t->feeds++;
        break;
    default:
        fed->dtype = fed->dtype == HR_FLOAT ? HR_DOUBLE : HR_FLOAT;
    }
}

hr_node hr__trial_fed(trial *t, hr_tensor value)
{
    const hr_shape declared = hr__trial_declared(t, value.shape);
    const hr_node node = t->plan.eager ? hr_const(t->g, &value) : hr_placeholder(t->g, value.dtype, declared);
    feed(t, node, value);
    return node;
}

static void input_refused(trial *t, const hr_error *err)
{
    if (t->plan.starving)
        t->lacks_memory = true;
    else
        hr__trial_wrong(t, "conformance.sample", "expected a variable with a value, got: %s", err->text);
}

hr_node hr__trial_variable(trial *t, hr_dtype dtype, const hr_tensor *value)
{
    char name[32];
    hr_error err;
    const hr_shape shape = one_in(t, 8) ? hr__trial_random_shape(t) : t->common;
    hr_tensor own = value ? *value : hr__trial_tensor(t, dtype, shape);
    snprintf(name, sizeof name, "v%d", t->inputs);
    const hr_node node = hr_get_variable(t->g, name, dtype, own.shape, .initializer = hr_initial_value(&own));
    if (!hr_graph_error(t->g) && !one_in(t, 12) && hr_session_set(t->s, node, &own, &err) != HR_OK)
        input_refused(t, &err);
    t->value[t->inputs] = own;
    return node;
}

/* A reference variable, mostly with a value. */
hr_node hr__trial_reference(trial *t, hr_dtype dtype, const hr_tensor *value)
{
    hr_error err;
    const hr_tensor own =
        value ? *value : hr__trial_tensor(t, dtype, one_in(t, 8) ? hr__trial_random_shape(t) : t->common);
    const hr_node node =
        hr_new_node(t->g, "VariableV2", HR_ATTRS(HR_SHAPE_ATTR("shape", own.shape), HR_TYPE_ATTR("dtype", dtype)));
    const hr_node assign = hr_target(hr_new_node(t->g, "Assign", HR_INPUTS(node, hr_const(t->g, &own))));
    if (!hr_graph_error(t->g) && !one_in(t, 12) && hr_session_run(t->s, NULL, 0, &assign, 1, NULL, &err) != HR_OK)
        input_refused(t, &err);
    t->value[t->inputs] = own;
    return node;
}
