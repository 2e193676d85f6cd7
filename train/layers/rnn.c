/* Recurrent layers, but for what their cells do: weights, steps in time-major order, masks, both directions.
 *
 * Masked steps are not taken: where there are any, each row's other steps are moved to the front before the loop, and the
 * outputs are taken from where they belong after it. So a masked step has the output and the state of the step before. */
#include "train/layers/rnn.h"

#include <headrace/control_flow.h>
#include <stdio.h>
#include <string.h>

/* The inputs, by step, and which steps are taken: mask and so_far [n, steps], taken [n]; none: all. */
typedef struct rnn_steps {
    hr_node x, rows, count; /* [steps, n, width]; n and steps, int64 scalars */
    hr_node mask, taken, so_far;
} rnn_steps;

static hr_node number(hr_graph *g, int64_t value) { return hr_scalar(g, HR_INT64, (double)value); }

static hr_node dim_of(hr_node x, int64_t axis)
{
    const int64_t known = hr_node_shape(x).dims[axis];
    if (known >= 0) return number(x.graph, known);
    return hr_cast_to(hr_strided_slice(hr_shape_of(x), {.at = &axis}), HR_INT64);
}

static hr_node up_to(hr_node count) { return hr_range_values(number(count.graph, 0), count, number(count.graph, 1)); }

static hr_node swap_steps(hr_node x) /* [n, steps, ...] and [steps, n, ...] */
{
    return hr_transpose(x, hr_ints(x.graph, (const int64_t[]){1, 0, 2}, hr_node_shape(x).rank));
}

static hr_node reverse(hr_node x, int64_t axis) { return hr_reverse(x, hr_ints(x.graph, &axis, 1)); }

static hr_node row_axis(hr_node x, int64_t axis)
{
    return hr_expand_dims(x, hr_scalar(x.graph, HR_INT32, (double)axis));
}

void hr__rnn_split(hr_node x, int count, hr_node *parts)
{
    const hr_node split = hr_split(x, count, -1);
    for (int i = 0; i < count; i++) parts[i] = hr_node_output(split, i);
}

hr_node hr__rnn_part(hr_node x, int64_t begin, int64_t end)
{
    return hr_strided_slice(x, {.ellipsis = true}, {.begin = &begin, .end = &end});
}

/* ---- weights ---- */

static hr_node weight_of(const hr__rnn *r, const char *name, hr_shape shape, hr_initializer initializer,
                         hr_regularizer cost)
{
    const hr__weight w = {name, HR_FLOAT, shape, initializer, cost, r->opts->not_trainable};
    return hr_identity(hr__layer_weight(r->g, &w));
}

static void make_weights(hr__rnn *r)
{
    const hr_rnn_opts *o = r->opts;
    const int64_t all = r->cell->gates * r->units;
    hr_graph *g = r->g;
    if (o->cell_only)
        hr__layer_begin(g, o->name, r->cell->cell);
    else
        hr_variable_scope(g, r->cell->cell);
    r->kernel = weight_of(r, "kernel", HR_SHAPE(r->width, all), o->kernel_initializer, o->kernel_regularizer);
    r->recurrent =
        weight_of(r, "recurrent_kernel", HR_SHAPE(r->units, all),
                  hr__initializer_or(o->recurrent_initializer, hr_orthogonal(1, 0)), o->recurrent_regularizer);
    if (!o->no_bias)
        r->bias = weight_of(
            r, "bias", r->cell->bias_by_state && !o->reset_before ? HR_SHAPE(2, all) : HR_SHAPE(all),
            hr__initializer_or(o->bias_initializer, r->cell->first_bias ? r->cell->first_bias(o) : hr_zeros()),
            o->bias_regularizer);
    hr_scope_end(g);
}

/* ---- dropout, and products of gates that drop places of their own ---- */

static hr_node kept_places(const hr__rnn *r, hr_node rows, int64_t width, float rate, int gate)
{
    const hr_node shape = hr_stack((const hr_node[]){rows, number(r->g, width)}, 2, 0);
    const int64_t seed = r->opts->seed ? r->opts->seed + gate : 0;
    return hr_dropout(hr_fill(shape, hr_scalar(r->g, HR_FLOAT, 1)), rate, .seed = seed);
}

static void drop_by_gates(hr__rnn *r, hr_node rows)
{
    const hr_rnn_opts *o = r->opts;
    for (int i = 0; i < r->cell->gates && o->recurrent_dropout > 0; i++) {
        r->state_kept[i] = kept_places(r, rows, r->units, o->recurrent_dropout, i);
        if (o->dropout > 0) r->input_kept[i] = kept_places(r, rows, r->width, o->dropout, HR__RNN_GATES + i);
    }
}

static hr_node product_by_gates(const hr__rnn *r, hr_node x, const hr_node *kept, hr_node kernel, int first, int last)
{
    hr_node gate[HR__RNN_GATES];
    const hr_node rows = hr_shape_const(r->g, HR_SHAPE(-1, hr_node_shape(kernel).dims[0]));
    for (int i = first; i < last; i++)
        gate[i - first] =
            hr_matmul(hr_reshape(hr_mul(x, kept[i]), rows), hr__rnn_part(kernel, i * r->units, (i + 1) * r->units));
    return last - first == 1 ? gate[0] : hr_concat(gate, last - first, -1);
}

hr_node hr__rnn_product(const hr__rnn *r, hr_node state, int first, int last)
{
    if (r->state_kept[0].graph) return product_by_gates(r, state, r->state_kept, r->recurrent, first, last);
    const bool all = last - first == r->cell->gates;
    return hr_matmul(state, all ? r->recurrent : hr__rnn_part(r->recurrent, first * r->units, last * r->units));
}

/* ---- steps ---- */

static hr_node mask_of(const hr__rnn *r, const rnn_steps *s)
{
    const hr_node lengths = r->opts->lengths, given = r->opts->mask;
    if (!lengths.graph) return hr_cast_to(given, HR_BOOL);
    const hr_node within = hr_less(row_axis(up_to(s->count), 0), row_axis(hr_cast_to(lengths, HR_INT64), 1));
    return given.graph ? hr_logical_and(within, hr_cast_to(given, HR_BOOL)) : within;
}

/* The steps of each row that are taken, in front of the others: one row of x [n * steps, width] for each place. */
static hr_node taken_first(const hr__rnn *r, const rnn_steps *s, hr_node x)
{
    const hr_node as_numbers = hr_cast_to(s->mask, HR_INT32), k = hr_cast_to(s->count, HR_INT32);
    const hr_node best = hr_new_node(r->g, "TopKV2", HR_INPUTS(as_numbers, k));
    hr_node order = hr_cast_to(hr_node_output(best, 1), HR_INT64);
    if (r->opts->go_backwards) order = hr_sub(hr_sub(s->count, number(r->g, 1)), order);
    const hr_node first = row_axis(hr_mul(up_to(s->rows), s->count), 1);
    const hr_node rows = hr_reshape(x, hr_shape_const(r->g, HR_SHAPE(-1, r->width)));
    return hr_gather(rows, swap_steps(hr_add(first, order)), 0);
}

static rnn_steps steps_of(const hr__rnn *r, hr_node x)
{
    const hr_rnn_opts *o = r->opts;
    rnn_steps s = {.rows = dim_of(x, 0), .count = dim_of(x, 1)};
    if (o->dropout > 0 && !(o->recurrent_dropout > 0)) {
        const hr_node shape = hr_stack((const hr_node[]){s.rows, number(r->g, 1), number(r->g, r->width)}, 3, 0);
        x = hr_mul(x, hr_dropout(hr_fill(shape, hr_scalar(r->g, HR_FLOAT, 1)), o->dropout, .seed = o->seed));
    }
    if (!o->mask.graph && !o->lengths.graph) {
        s.x = swap_steps(x);
        if (o->go_backwards) s.x = reverse(s.x, 0);
        return s;
    }
    s.mask = mask_of(r, &s);
    if (o->go_backwards) s.mask = reverse(s.mask, 1);
    const hr_node as_numbers = hr_cast_to(s.mask, HR_INT64);
    s.taken = hr_reduce_sum(as_numbers, .axes = HR_I64(1), .axis_count = 1);
    s.so_far = hr_cumsum(as_numbers, 1);
    s.x = o->mask.graph || o->go_backwards ? taken_first(r, &s, x) : swap_steps(x);
    return s;
}

/* ---- what comes out: `values` [steps, n, units] ---- */

/* After `taken` steps each; `otherwise` where none was taken. */
static hr_node after_steps(const hr__rnn *r, const rnn_steps *s, hr_node values, hr_node taken, hr_node keep,
                           hr_node otherwise)
{
    const hr_node rows = hr_reshape(values, hr_shape_const(r->g, HR_SHAPE(-1, r->units)));
    const hr_node last = hr_maximum(hr_sub(taken, number(r->g, 1)), number(r->g, 0));
    hr_node row = up_to(s->rows);
    if (hr_node_shape(taken).rank == 2) row = row_axis(row, 1);
    return hr_where(row_axis(keep, -1), hr_gather(rows, hr_add(hr_mul(last, s->rows), row), 0), otherwise);
}

static hr_node sequences(const hr__rnn *r, const rnn_steps *s, hr_node values)
{
    if (!s->mask.graph) return swap_steps(values);
    const hr_node any = r->opts->zero_masked ? s->mask : hr_greater(s->so_far, number(r->g, 0));
    return after_steps(r, s, values, s->so_far, any, hr_scalar(r->g, HR_FLOAT, 0));
}

static hr_node last_of(const hr__rnn *r, const rnn_steps *s, hr_node values, hr_node otherwise)
{
    if (!s->mask.graph) return hr_strided_slice(values, {.at = HR_I64(-1)});
    return after_steps(r, s, values, s->taken, hr_greater(s->taken, number(r->g, 0)), otherwise);
}

/* That of the last step. */
static hr_node last_output(const hr__rnn *r, const rnn_steps *s, hr_node values)
{
    const hr_node zero = hr_scalar(r->g, HR_FLOAT, 0), y = last_of(r, s, values, zero);
    if (!s->mask.graph || !r->opts->zero_masked) return y;
    return hr_where(hr_strided_slice(s->mask, {0}, {.begin = HR_I64(-1)}), y, zero);
}

/* ---- the layer ---- */

static void one_step(hr_graph *g, const hr_node *vars, hr_node *results, void *user)
{
    const hr__rnn *r = user;
    r->cell->step(r, g, vars[r->cell->states], vars, results);
}

/* The product with all inputs comes first, and is one. */
static void step_by_step(hr__rnn *r, const rnn_steps *s, const hr_node *initial, hr_node *states)
{
    const int64_t all = r->cell->gates * r->units;
    const hr_shape shape = HR_SHAPE(hr_node_shape(s->x).dims[1], r->units), shapes[HR__RNN_STATES] = {shape, shape};
    hr_node in = r->input_kept[0].graph
                     ? product_by_gates(r, s->x, r->input_kept, r->kernel, 0, r->cell->gates)
                     : hr_matmul(hr_reshape(s->x, hr_shape_const(r->g, HR_SHAPE(-1, r->width))), r->kernel);
    const bool two = r->bias.graph && hr_node_shape(r->bias).rank == 2;
    if (r->bias.graph) in = hr_bias_add(in, two ? hr_strided_slice(r->bias, {.at = HR_I64(0)}) : r->bias);
    const hr_node sizes[] = {s->count, s->rows, number(r->g, all)};
    in = hr_reshape(in, hr_stack(sizes, 3, 0));
    hr_scan_loop(one_step, r, &in, 1, initial, states, r->cell->states, .shapes = shapes);
}

static void first_states(const hr__rnn *r, const rnn_steps *s, hr_node *initial)
{
    const hr_node shape = hr_stack((const hr_node[]){s->rows, number(r->g, r->units)}, 2, 0);
    const hr_node zeros = hr_fill(shape, hr_scalar(r->g, HR_FLOAT, 0));
    for (int i = 0; i < r->cell->states; i++) initial[i] = r->opts->initial_state ? r->opts->initial_state[i] : zeros;
}

/* Steps after the last one that any row takes are not computed. */
static hr_node steps_used(const hr__rnn *r, const rnn_steps *s)
{
    return s->taken.graph ? hr_maximum(hr_reduce_max(s->taken), number(r->g, 0)) : s->count;
}

static hr_node run_steps(hr__rnn *r, hr_node x)
{
    hr_node initial[HR__RNN_STATES], states[HR__RNN_STATES];
    const hr_rnn_opts *o = r->opts;
    make_weights(r);
    const rnn_steps s = steps_of(r, x);
    first_states(r, &s, initial);
    drop_by_gates(r, s.rows);
    if (!r->cell->whole || !r->cell->whole(r, s.x, steps_used(r, &s), initial, states))
        step_by_step(r, &s, initial, states);
    for (int i = 0; o->state && i < r->cell->states; i++) o->state[i] = last_of(r, &s, states[i], initial[i]);
    return o->return_sequences ? sequences(r, &s, states[0]) : last_output(r, &s, states[0]);
}

hr_node hr__rnn_layer(const hr__rnn_cell *cell, hr_node x, int64_t units, const hr_rnn_opts *given)
{
    const hr_rnn_opts opts = HR_OPTIONS(hr_rnn_opts, given);
    char text[128];
    const hr_shape shape = hr_node_shape(x);
    for (int i = 0; opts.state && i < cell->states; i++) opts.state[i] = hr_failed_node(x.graph);
    if (!hr_node_exists(x)) return x;
    if (hr_node_dtype(x) != HR_FLOAT || shape.rank != 3 || shape.dims[2] < 1 || units < 1 || units > INT32_MAX / 4)
        return hr_node_fail(
            x.graph, HR_INVALID_ARGUMENT, "layers.shape",
            "%s: expected float [n, steps, width] of known width and units > 0, got %s %s and %lld units", cell->layer,
            hr_dtype_name(hr_node_dtype(x)), hr_shape_text(shape, text, sizeof text), (long long)units);
    const bool inputs_fit = opts.dropout >= 0 && opts.dropout < 1;
    if (!inputs_fit || !(opts.recurrent_dropout >= 0 && opts.recurrent_dropout < 1))
        return hr_node_fail(
            x.graph, HR_INVALID_ARGUMENT, "layers.rate", "%s: expected a %s from 0 to less than 1, got %g", cell->layer,
            inputs_fit ? "recurrent_dropout" : "dropout", (double)(inputs_fit ? opts.recurrent_dropout : opts.dropout));
    hr__rnn r = {.g = x.graph, .cell = cell, .opts = &opts, .width = shape.dims[2], .units = units};
    r.activation = opts.activation ? opts.activation : hr_tanh_fn;
    r.gate = opts.recurrent_activation ? opts.recurrent_activation : hr_sigmoid_fn;
    if (opts.cell_only) return run_steps(&r, x);
    hr__layer_begin(r.g, opts.name, cell->layer);
    const hr_node y = run_steps(&r, x);
    hr_scope_end(r.g);
    return y;
}
