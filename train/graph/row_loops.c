/* Loops over the rows of tensors: map, fold and scan. Each is one While, whose variables are how many turns it has made, a
 * bound of these, the values that go from row to row, and the lists of results. The first two are for TensorFlow: its
 * gradient of a While takes the first output for the number of turns, and the second input for their bound. */
#include "base/constructor.h"
#include "train/graph/graph_internal.h"

#include <string.h>

enum { TURNS, BOUND, VALUES };

typedef struct row_loop {
    const char *call; /* for messages */
    hr_graph *g;
    hr_loop_fn *fn;
    void *user;
    int elems, count;    /* of `fn`: rows, and results */
    hr_tensor_array *in; /* a list of rows of each elem */
    hr_dtype *dtype;     /* of each result */
    hr_shape *shape;     /* the same, once the body is made */
    hr_node rows;        /* how many */
    int64_t known_rows;  /* -1: unknown */
    hr_node turns, from; /* the number of turns, and the row of the first one; no node: row 0 */
    int values, lists;   /* `count` or 0 each: values that go from row to row; results that are kept of each row */
    bool reverse;
    int parallel;
    hr_node *given, *made; /* what `fn` takes and gives, one call after the other */
    hr__arena arena;       /* all of these, until the loop is made: an eager graph keeps nothing of it */
} row_loop;

static hr_node row_loop_fail(const row_loop *l, const char *text)
{
    return hr_node_fail(l->g, HR_INVALID_ARGUMENT, "graph.loop", "%s: expected %s", l->call, text);
}

static hr_node number_node(hr_graph *g, int value) { return hr_const_number(g, HR_INT32, value, NULL); }

static void more_rows(hr_graph *g, const hr_node *vars, hr_node *results, void *user)
{
    const row_loop *l = user;
    results[0] = hr_new_node(g, "Less", HR_INPUTS(vars[TURNS], l->turns));
}

/* The index of the row of a turn. */
static hr_node row_of(const row_loop *l, hr_graph *g, hr_node turn)
{
    return l->from.graph ? hr_new_node(g, l->reverse ? "Sub" : "AddV2", HR_INPUTS(l->from, turn)) : turn;
}

/* What failed while `fn` made its nodes sticks to their graph, and comes first. */
static bool check_result(row_loop *l, hr_graph *g, int i, hr_node result)
{
    const hr_dtype dtype = hr_node_dtype(result);
    l->shape[i] = hr_node_shape(result);
    if (dtype == l->dtype[i]) return true;
    hr_node_fail(g, HR_INVALID_ARGUMENT, "graph.loop", "%s: expected result %d of type %s, got %s", l->call, i,
                 hr_dtype_name(l->dtype[i]), dtype == HR_INVALID_DTYPE ? "none" : hr_dtype_name(dtype));
    return false;
}

/* What `fn` makes of one row, and what the next turn gets of it. */
static void one_row(hr_graph *g, const hr_node *vars, hr_node *results, void *user)
{
    row_loop *l = user;
    hr_node *given = l->given, *made = l->made;
    const hr_node row = row_of(l, g, vars[TURNS]);
    memcpy(given, vars + VALUES, sizeof *given * (size_t)l->values);
    for (int i = 0; i < l->elems; i++) given[l->values + i] = hr_tensor_array_read(&l->in[i], row);
    l->fn(g, given, made, l->user);
    results[TURNS] = hr_new_node(g, "AddV2", HR_INPUTS(vars[TURNS], number_node(g, 1)));
    results[BOUND] = vars[BOUND];
    for (int i = 0; i < l->count; i++) {
        made[i] = hr__captured(g, hr_node_value(hr__captured(g, made[i])));
        if (!check_result(l, g, i, made[i])) return;
        if (l->values) results[VALUES + i] = made[i];
        const hr_tensor_array out = {.list = vars[VALUES + l->values + i], .dtype = l->dtype[i]};
        if (l->lists) results[VALUES + l->values + i] = hr_tensor_array_write(&out, row, made[i]).list;
    }
}

/* ---- before the loop ---- */

static bool unstack_elems(row_loop *l, const hr_node *elems)
{
    l->known_rows = -1;
    for (int i = 0; i < l->elems; i++) {
        const hr_node value = hr__captured(l->g, hr_node_value(hr__captured(l->g, elems[i])));
        const hr_shape shape = hr_node_shape(value);
        const int64_t rows = shape.rank > 0 ? shape.dims[0] : -1;
        if (hr_node_dtype(value) == HR_INVALID_DTYPE || shape.rank == 0 ||
            (rows >= 0 && l->known_rows >= 0 && rows != l->known_rows)) {
            row_loop_fail(l, "tensors of as many rows each");
            return false;
        }
        if (rows >= 0) l->known_rows = rows;
        l->in[i] = hr_tensor_array_unstack(value);
    }
    l->rows = l->known_rows >= 0 && l->known_rows <= INT32_MAX ? number_node(l->g, (int)l->known_rows)
                                                               : hr_tensor_array_size(&l->in[0]);
    return true;
}

static bool row_loop_begin(row_loop *l, const hr_node *elems, hr_node *out)
{
    for (int i = 0; out && i < l->count; i++) out[i] = hr_failed_node(l->g);
    if (!l->g || !l->fn || !elems || l->elems < 1 || l->count < 1 || !out || l->elems > HR__MAX_CALL ||
        l->count > HR__MAX_CALL / 2) {
        row_loop_fail(l, "a function, and some tensors and results");
        return false;
    }
    l->in = hr__arena_get(&l->arena, sizeof *l->in * (size_t)l->elems);
    l->dtype = hr__arena_get(&l->arena, sizeof *l->dtype * (size_t)l->count);
    l->shape = hr__arena_get(&l->arena, sizeof *l->shape * (size_t)l->count);
    l->given = hr__arena_get(&l->arena, sizeof *l->given * (size_t)(l->values + l->elems));
    l->made = hr__arena_get(&l->arena, sizeof *l->made * (size_t)l->count);
    if (l->in && l->dtype && l->shape && l->given && l->made) return unstack_elems(l, elems);
    hr__graph_no_memory(l->g, "a loop");
    return false;
}

/* ---- the loop ---- */

typedef struct row_vars {
    hr_node *first, *last;
    hr_shape *shape;
    int count;
} row_vars;

static bool make_vars(row_loop *l, row_vars *v)
{
    hr__arena *arena = &l->arena;
    v->count = VALUES + l->values + l->lists;
    v->first = hr__arena_get(arena, sizeof *v->first * (size_t)v->count);
    v->last = hr__arena_get(arena, sizeof *v->last * (size_t)v->count);
    v->shape = hr__arena_get(arena, sizeof *v->shape * (size_t)v->count);
    if (v->first && v->last && v->shape) return true;
    hr__graph_no_memory(l->g, "a loop");
    return false;
}

/* No turns yet, without a bound, and lists for the results. `skip` rows are done. */
static void begin_vars(row_loop *l, row_vars *v, int skip)
{
    v->first[TURNS] = number_node(l->g, 0);
    v->first[BOUND] = number_node(l->g, -1);
    v->shape[TURNS] = v->shape[BOUND] = HR_SCALAR;
    l->turns = skip ? hr_new_node(l->g, "Sub", HR_INPUTS(l->rows, number_node(l->g, skip))) : l->rows;
    if (l->reverse)
        l->from = hr_new_node(l->g, "Sub", HR_INPUTS(l->rows, number_node(l->g, skip + 1)));
    else if (skip)
        l->from = number_node(l->g, skip);
    for (int i = 0; i < l->lists; i++) {
        v->first[VALUES + l->values + i] = hr_tensor_array_new(l->rows, l->dtype[i]).list;
        v->shape[VALUES + l->values + i] = HR_SCALAR;
    }
}

static void run_rows(row_loop *l, row_vars *v, hr_node *out)
{
    hr_while_loop(more_rows, one_row, l, v->first, v->count, v->last, .shapes = v->shape,
                  .parallel_iterations = l->parallel);
    if (!hr_node_exists(v->last[0])) return;
    for (int i = 0; i < l->count; i++) {
        if (!l->lists) {
            out[i] = v->last[VALUES + i];
            continue;
        }
        const hr_shape shape = l->values ? v->shape[VALUES + i] : l->shape[i];
        const hr_tensor_array a = {v->last[VALUES + l->values + i], l->dtype[i], shape, false};
        out[i] = hr__tensor_array_rows(&a, l->known_rows);
    }
}

/* ---- map ---- */

void hr_map_loop_with(hr_loop_fn *fn, void *user, const hr_node *elems, int elem_count, hr_node *out, int count,
                      const hr_map_loop_opts *given)
{
    const hr_map_loop_opts opts = HR_OPTIONS(hr_map_loop_opts, given);
    row_loop l = {.call = "hr_map_loop",
                  .g = elems && elem_count > 0 ? hr__innermost(elems[0].graph) : NULL,
                  .fn = fn,
                  .user = user,
                  .elems = elem_count,
                  .count = count,
                  .lists = count,
                  .parallel = opts.parallel_iterations};
    row_vars v;
    hr_name_scope(l.g, opts.name ? opts.name : "map");
    if (!opts.dtypes && count > elem_count)
        row_loop_fail(&l, ".dtypes, as there are more results than elems");
    else if (row_loop_begin(&l, elems, out) && make_vars(&l, &v)) {
        for (int i = 0; i < count; i++) l.dtype[i] = opts.dtypes ? opts.dtypes[i] : l.in[i].dtype;
        begin_vars(&l, &v, 0);
        run_rows(&l, &v, out);
    }
    hr_scope_end(l.g);
    hr__arena_free(&l.arena);
}

/* ---- fold and scan ---- */

/* Values begin as the caller says, or as the first row that is taken, which is then a result, too. */
static void begin_values(row_loop *l, row_vars *v, const hr_node *initial, const hr_shape *shapes)
{
    const hr_node at =
        l->reverse ? hr_new_node(l->g, "Sub", HR_INPUTS(l->rows, number_node(l->g, 1))) : number_node(l->g, 0);
    for (int i = 0; i < l->values; i++) {
        const hr_node first = initial ? hr__captured(l->g, hr_node_value(hr__captured(l->g, initial[i])))
                                      : hr_tensor_array_read(&l->in[i], at);
        v->first[VALUES + i] = first;
        v->shape[VALUES + i] = shapes ? shapes[i] : hr_node_shape(first);
        l->dtype[i] = hr_node_dtype(first);
    }
    begin_vars(l, v, initial ? 0 : 1);
    for (int i = 0; !initial && i < l->lists; i++) {
        const hr_tensor_array a = {.list = v->first[VALUES + l->values + i], .dtype = l->dtype[i]};
        v->first[VALUES + l->values + i] = hr_tensor_array_write(&a, at, v->first[VALUES + i]).list;
    }
}

static void fold(row_loop *l, const char *name, const hr_node *elems, const hr_node *initial, hr_node *out,
                 const hr_fold_opts *opts)
{
    row_vars v;
    l->g = elems && l->elems > 0 ? hr__innermost(elems[0].graph) : NULL;
    l->values = l->count;
    l->parallel = opts->parallel_iterations;
    hr_name_scope(l->g, opts->name ? opts->name : name);
    if (row_loop_begin(l, elems, out)) {
        if (!initial && l->count != l->elems)
            row_loop_fail(l, "as many results as elems, as there are no initial values");
        else if (make_vars(l, &v)) {
            begin_values(l, &v, initial, opts->shapes);
            run_rows(l, &v, out);
        }
    }
    hr_scope_end(l->g);
    hr__arena_free(&l->arena);
}

void hr_foldl_with(hr_loop_fn *fn, void *user, const hr_node *elems, int elem_count, const hr_node *initial,
                   hr_node *out, int count, const hr_fold_opts *given)
{
    const hr_fold_opts opts = HR_OPTIONS(hr_fold_opts, given);
    row_loop l = {.call = "hr_foldl", .fn = fn, .user = user, .elems = elem_count, .count = count};
    fold(&l, "foldl", elems, initial, out, &opts);
}

void hr_foldr_with(hr_loop_fn *fn, void *user, const hr_node *elems, int elem_count, const hr_node *initial,
                   hr_node *out, int count, const hr_fold_opts *given)
{
    const hr_fold_opts opts = HR_OPTIONS(hr_fold_opts, given);
    row_loop l = {.call = "hr_foldr", .fn = fn, .user = user, .elems = elem_count, .count = count, .reverse = true};
    fold(&l, "foldr", elems, initial, out, &opts);
}

void hr_scan_loop_with(hr_loop_fn *fn, void *user, const hr_node *elems, int elem_count, const hr_node *initial,
                       hr_node *out, int count, const hr_fold_opts *given)
{
    const hr_fold_opts opts = HR_OPTIONS(hr_fold_opts, given);
    row_loop l = {.call = "hr_scan_loop",
                  .fn = fn,
                  .user = user,
                  .elems = elem_count,
                  .count = count,
                  .lists = count,
                  .reverse = opts.reverse};
    fold(&l, "scan", elems, initial, out, &opts);
}
