/* Calls of functions while a graph runs: a plan of the function's body, and a frame for each call under way. */
#include "train/graph/graph_internal.h"

#include <string.h>

enum { DEEPEST = 200 /* calls within calls: each takes some of the thread's stack */ };

/* ---- functions in a session ---- */

/* A function of a plan's copy lives as long as the plan; those of the session's graph and around it, longer. */
static hr_callee **callees_with(hr_session *s, const hr_function *f)
{
    hr_graph *library = hr__library(f->body);
    for (const hr_graph *g = s->graph; g; g = g->outer)
        if (g == library) return &s->callees;
    return library->own_library ? &library->callees : &s->callees;
}

static hr_callee *find_callee(hr_callee *list, const hr_function *f)
{
    while (list && list->function != f) list = list->next;
    return list;
}

/* Not planned yet: a function may call itself. */
hr_status hr_session_function(hr_session *s, hr_node node, const char *name, hr_callee **out, hr_error *err)
{
    const hr_function *f = hr_function_named(node.graph, name);
    if (!f)
        return hr_fail(err, HR_NOT_FOUND, "graph.function", "expected a function of the graph's library, got '%.100s'",
                       name);
    hr_callee **list = callees_with(s, f);
    uv_mutex_lock(&s->lock);
    *out = find_callee(*list, f);
    if (!*out && (*out = hr_calloc(1, sizeof **out))) {
        **out = (hr_callee){.next = *list, .function = f, .instance = {.graph = f->body, .session = s}};
        *list = *out;
    }
    uv_mutex_unlock(&s->lock);
    return *out ? HR_OK : hr_no_memory(err, "a function");
}

static hr_status plan_callee(hr_callee *c, hr__plan **out, hr_error *err)
{
    const hr_function *f = c->function;
    hr_node *fetches = hr_malloc(sizeof *fetches * (size_t)(f->outputs + f->controls + 1));
    hr_status st = fetches ? HR_OK : hr_no_memory(err, "a function");
    for (int i = 0; st == HR_OK && i < f->outputs + f->controls; i++)
        fetches[i] = i < f->outputs ? f->output[i] : f->control[i - f->outputs];
    if (st == HR_OK)
        st = hr__plan_new(&c->instance, f, f->input, f->inputs, fetches, f->outputs + f->controls, out, err);
    hr_free(fetches);
    if (st != HR_OK) hr_error_prefix(err, "function '%s': ", f->name);
    return st;
}

static hr_status callee_plan(hr_callee *c, hr__plan **out, hr_error *err)
{
    hr_session *s = c->instance.session;
    hr_status st = HR_OK;
    *out = atomic_load_explicit(&c->plan, memory_order_acquire);
    if (*out) return HR_OK;
    uv_mutex_lock(&s->planning);
    *out = atomic_load_explicit(&c->plan, memory_order_acquire);
    if (!*out) st = plan_callee(c, out, err);
    if (st == HR_OK) atomic_store_explicit(&c->plan, *out, memory_order_release);
    uv_mutex_unlock(&s->planning);
    return st;
}

/* ---- calls: a call is its frame ---- */

hr_status hr_call_begin(hr_kernel *k, hr_callee *callee, hr_open_call **out, hr_error *err)
{
    hr__plan *plan;
    hr__frame *frame;
    if (k->frame->depth >= DEEPEST)
        return hr_fail(err, HR_RESOURCE_EXHAUSTED, "graph.depth",
                       "function '%.100s': expected at most %d calls within each other", callee->function->name,
                       DEEPEST);
    HR_TRY(callee_plan(callee, &plan, err));
    HR_TRY(hr__frame_get(k->frame->run, plan, &frame, err));
    frame->depth = k->frame->depth + 1;
    frame->alone = k->frame->alone;
    frame->within = k->frame->within;
    frame->caller = k;
    if (frame->run->recorder) frame->path = hr__recorder_path(frame->run->recorder, k->frame, k->step);
    *out = (hr_open_call *)frame;
    return HR_OK;
}

/* The plan feeds the inputs, and fetches the outputs first. */
static hr_status check_call(const hr_function *f, const hr_tensor *args, int arg_count, int result_count, hr_error *err)
{
    hr_shape both;
    hr__shape_name may, got;
    if (arg_count != f->inputs || result_count != f->outputs)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.function",
                       "function '%s': expected to be called with its %d inputs for its %d outputs, got %d and %d",
                       f->name, f->inputs, f->outputs, arg_count, result_count);
    for (int i = 0; i < arg_count; i++) {
        const hr_dtype dtype = hr_node_dtype(f->input[i]);
        const hr_shape shape = hr_node_shape(f->input[i]);
        if (args[i].dtype == dtype && (dtype == HR_RESOURCE || hr_shape_merge(shape, args[i].shape, &both))) continue;
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.function",
                       "function '%s': expected input %d of %s %s, got %s %s", f->name, i, hr_dtype_name(dtype),
                       hr__shape_in(&may, shape), hr_dtype_name(args[i].dtype), hr__shape_in(&got, args[i].shape));
    }
    return HR_OK;
}

hr_status hr_call_run(hr_open_call *call, hr_tensor *args, int arg_count, hr_tensor *results, int result_count,
                      hr_error *err)
{
    hr__frame *frame = (hr__frame *)call;
    const hr__plan *plan = frame->plan;
    HR_TRY(check_call(plan->function, args, arg_count, result_count, err));
    for (int i = 0; i < arg_count; i++) {
        frame->slots[plan->feed_slot[i]] = args[i];
        args[i].buffer = NULL;
    }
    const uint64_t begin = frame->run->profile ? uv_hrtime() : 0;
    hr_status st = hr__execute(frame, err);
    if (frame->profiled) frame->caller->elsewhere += (int64_t)(uv_hrtime() - begin);
    if (st == HR_OK && hr__run_stops(frame->run))
        st = hr_fail(err, HR_CANCELLED, "session.cancelled", "session: the run was cancelled");
    for (int i = 0; st == HR_OK && i < plan->fetches; i++) st = hr__fetch_has_value(frame, i, err);
    for (int i = 0; st == HR_OK && i < result_count; i++) {
        results[i] = frame->slots[plan->fetch_slot[i]];
        hr_buffer_ref(results[i].buffer);
    }
    hr__frame_drop_slots(frame);
    return st;
}

void hr_call_alone(hr_open_call *call)
{
    ((hr__frame *)call)->alone = true;
    ((hr__frame *)call)->within = true;
}

void hr_call_end(hr_open_call *call)
{
    if (call) hr__frame_put((hr__frame *)call);
}
