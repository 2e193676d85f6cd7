/* Adafactor: of a matrix, squares of gradients are kept as means of its rows and of its columns, whose product stands for
 * all of them. Its update is made of nodes, as Keras makes it. */
#include <headrace/optimizer.h>
#include <tgmath.h>

const hr_graph_op hr_graph_ops_adafactor[] = {HR_GRAPH_OPS_END};
static const hr_rule *const adafactor_rules[] = {NULL};

enum { BETA2_DECAY = HR_OWN_PARAMETER, EPSILON1, EPSILON2, CLIP_THRESHOLD };
enum { ROWS, COLUMNS, SQUARES }; /* slots */

static const char *const adafactor_parameters[] = {"learning_rate", "decay",          "beta2_decay", "epsilon1",
                                                   "epsilon2",      "clip_threshold", NULL};
static const hr_parameter_spec adafactor_specs[] = {
    {"learning_rate", 0.001, 0.001, -HUGE_VAL, HUGE_VAL},
    {NULL, 0, 0, 0, 0},
    {NULL, -0.8, -0.8, -HUGE_VAL, 0},
    {NULL, 1e-30, 1e-30, 0, HUGE_VAL},
    {NULL, 1e-3, 1e-3, 0, HUGE_VAL},
    {NULL, 1, 1, HR_ABOVE_ZERO, HUGE_VAL},
};

static const char *adafactor_title(const hr_optimizer *o)
{
    (void)o;
    return "Adafactor";
}

static bool row_means(hr_shape variable, hr_shape *slot)
{
    *slot = variable;
    slot->rank--;
    return variable.rank >= 2;
}

static bool column_means(hr_shape variable, hr_shape *slot)
{
    if (!row_means(variable, slot)) return false;
    slot->dims[slot->rank - 1] = variable.dims[variable.rank - 1];
    return true;
}

static int adafactor_slots(const hr_optimizer *o, const hr_slot **slot)
{
    static const hr_slot all[] = {
        {.name = "r", .shape = row_means}, {.name = "c", .shape = column_means}, {.name = "v"}};
    (void)o;
    *slot = all;
    return 3;
}

/* ---- the update ---- */

static hr_node a_number(const hr_minimize_target *v, double value)
{
    return hr_scalar(v->variable.graph, v->dtype, value);
}

static hr_node mean_along(hr_node x, int64_t axis, bool keep)
{
    return hr_reduce_mean(x, .axes = &axis, .axis_count = 1, .keep_dims = keep);
}

static hr_node root_mean_square(hr_node x) { return hr_sqrt(hr_reduce_mean(hr_square(x))); }

/* kept * old + (1 - kept) * now */
static hr_node moved(const hr_minimize_target *v, hr_node old, hr_node now, hr_node kept)
{
    return hr_add(hr_mul(kept, old), hr_mul(hr_sub(a_number(v, 1), kept), now));
}

/* The estimate of squares for this step; `done` gets what keeps it, `*count` of them. */
static hr_node squares_of(const hr_minimize_target *v, hr_node squares, hr_node kept, hr_node *done, int *count)
{
    hr_node all;
    if (v->slot[ROWS].graph) {
        const hr_node rows = moved(v, v->slot[ROWS], mean_along(squares, -1, false), kept);
        const hr_node columns = moved(v, v->slot[COLUMNS], mean_along(squares, -2, false), kept);
        const hr_node share = hr_div(rows, mean_along(rows, -1, true));
        const hr_node last = hr_scalar(v->variable.graph, HR_INT32, -1),
                      before = hr_scalar(v->variable.graph, HR_INT32, -2);
        done[(*count)++] = hr_target(hr_assign(v->slot[ROWS], rows));
        done[(*count)++] = hr_target(hr_assign(v->slot[COLUMNS], columns));
        all = hr_mul(hr_expand_dims(share, last), hr_expand_dims(columns, before));
    } else {
        all = moved(v, v->slot[SQUARES], squares, kept);
    }
    done[(*count)++] = hr_target(hr_assign(v->slot[SQUARES], all));
    return all;
}

/* Keras's relative_step would change nothing: the rate is at most that in any case. */
static hr_node adafactor_update(hr_minimizer *t, const hr_minimize_target *v)
{
    const hr_optimizer *o = t->optimizer;
    const hr_node g = hr_minimizer_dense(v), one = a_number(v, 1);
    const hr_node step = hr_cast_to(hr_add(t->iterations, hr_scalar(t->g, HR_INT64, 1)), v->dtype);
    const hr_node rate = hr_minimum(hr_minimizer_number(t, v, HR_LEARNING_RATE), hr_rsqrt(step));
    const hr_node size =
        hr_maximum(hr_minimizer_cast(hr_minimizer_float(t, EPSILON2), v), root_mean_square(v->variable));
    const hr_node squares = hr_add(hr_square(g), a_number(v, hr_optimizer_value(o, EPSILON1)));
    const hr_node kept = hr_sub(one, hr_pow(step, a_number(v, hr_optimizer_value(o, BETA2_DECAY))));
    hr_node done[4];
    int count = 0;
    const hr_node change = hr_mul(g, hr_rsqrt(squares_of(v, squares, kept, done, &count)));
    const hr_node limit = a_number(v, hr_optimizer_value(o, CLIP_THRESHOLD));
    const hr_node clipped = hr_div(change, hr_maximum(one, hr_div(root_mean_square(change), limit)));
    done[count++] = hr_target(hr_assign_sub(v->variable, hr_mul(hr_mul(size, rate), clipped)));
    return hr_group(t->g, done, count, NULL);
}

const hr_optimizer_kind hr_optimizer_kind_adafactor = {
    .head = HR_OPTIMIZER_HEAD,
    .name = "adafactor",
    .parameters = adafactor_parameters,
    .parameter = adafactor_specs,
    .ops = hr_graph_ops_adafactor,
    .rules = adafactor_rules,
    .title = adafactor_title,
    .slots = adafactor_slots,
    .update = adafactor_update,
    .keras = true,
    .keras_only = true,
};

hr_optimizer *hr_adafactor_with(float learning_rate, const hr_adafactor_opts *opts)
{
    opts = &HR_OPTIONS(hr_adafactor_opts, opts);
    double beta2_decay, epsilon1, epsilon2, threshold;
    const double rate = (double)learning_rate, decay = (double)opts->decay;
    const double *given[HR_MAX_PARAMETERS] = {&rate,
                                              &decay,
                                              hr_parameter_given(opts->beta2_decay, &beta2_decay),
                                              hr_parameter_given(opts->epsilon1, &epsilon1),
                                              hr_parameter_given(opts->epsilon2, &epsilon2),
                                              hr_parameter_given(opts->clip_threshold, &threshold)};
    return hr_optimizer_new(&hr_optimizer_kind_adafactor, given, HR_OPTIMIZER_COMMON(opts));
}
