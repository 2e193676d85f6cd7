/* Runs the steps of a plan. In the caller alone, they go in the order of the plan; with workers, a step is ready
 * when all that it waits for is done. Whoever finishes a step continues with what that made ready: with what is quick
 * at once, with one long step itself, and leaves further long ones to others, since waking a thread costs more than
 * most steps.
 *
 * A slot counts its uses down; the last one drops the memory, or writes over it. */
#include "base/descriptor.h"
#include "train/graph/graph_internal.h"

#include <string.h>

enum {
    LONG_NS = 8000,      /* from here on a step is worth a thread of its own */
    PARALLEL_NS = 60000, /* from here on a plan is */
    MINE = 64            /* quick steps a thread keeps for itself */
};

/* ---- one step ---- */

static void record(hr__run *run, const hr__step *step, hr_status status, hr_error *err)
{
    hr_session *s = run->session;
    hr__blame(err, step->node);
    uv_mutex_lock(&s->lock);
    /* Of several failures that of the oldest node is reported, the same on every run if all of them occur. */
    if (run->status == HR_OK || step->handle.id < run->failed_id) {
        run->status = status;
        run->failed_id = step->handle.id;
        run->error = *err;
    }
    uv_mutex_unlock(&s->lock);
    atomic_store_explicit(&run->stop, true, memory_order_release);
}

static void drop(hr_tensor *t)
{
    if (!t->buffer) return;
    hr_buffer_unref(t->buffer);
    t->buffer = NULL;
}

static void drop_inputs(hr__run *run, const hr__step *step)
{
    hr__plan *plan = run->plan;
    for (int i = 0; i < step->node->inputs; i++) {
        atomic_int *uses = &plan->uses[step->slot[i]];
        int left;
        if (run->parallel) {
            left = atomic_fetch_sub_explicit(uses, 1, memory_order_acq_rel) - 1;
        } else {
            left = atomic_load_explicit(uses, memory_order_relaxed) - 1;
            atomic_store_explicit(uses, left, memory_order_relaxed);
        }
        if (left == 0) drop(&plan->slots[step->slot[i]]);
    }
    for (int i = 0; i < step->node->outputs; i++)
        if (plan->slot_uses[step->first_output + i] == 0) drop(&plan->slots[step->first_output + i]);
}

/* What a kernel of another type, or none, would leave to those that read it: memory of an earlier run. */
static void forget_outputs(hr_tensor *slot, int outputs)
{
    for (int i = 0; i < outputs; i++) slot[i].dtype = HR_INVALID_DTYPE;
}

static hr_status check_outputs(const hr__node *n, const hr_tensor *slot, hr_error *err)
{
    for (int i = 0; i < n->outputs; i++)
        if (slot[i].dtype != n->type[i] || (!slot[i].data && slot[i].count > 0))
            return hr_fail(err, HR_INTERNAL, "graph.failed", "%s: compute: expected output %d of %s, got %s",
                           n->op->name, i, hr_dtype_name(n->type[i]),
                           slot[i].dtype == HR_INVALID_DTYPE ? "none" : hr_dtype_name(slot[i].dtype));
    return HR_OK;
}

static hr_status executor_compute(hr__run *run, hr__step *step)
{
    hr_error err;
    err.code = HR_OK;
    err.kind = NULL;
    hr_tensor *slot = &run->plan->slots[step->first_output];
    forget_outputs(slot, step->node->outputs);
    hr_kernel k;
    k.node = step->handle;
    k.inputs = step->node->inputs;
    k.outputs = step->node->outputs;
    k.input = step->input;
    k.state = step->state;
    k.session = run->session;
    k.run = run;
    k.step = step;
    k.temps = 0;
    hr_status status = step->node->op->compute(&k, &err);
    if (k.temps) hr__kernel_end(&k);
    if (status != HR_OK)
        status = hr__descriptor_answer(step->node->op->name, "graph.failed", status, &err);
    else
        status = check_outputs(step->node, slot, &err);
    if (status != HR_OK) record(run, step, status, &err);
    return status;
}

static void run_step(hr__run *run, hr__step *step)
{
    const bool stop = atomic_load_explicit(&run->stop, memory_order_acquire) ||
                      atomic_load_explicit(&run->session->cancelled, memory_order_relaxed);
    if (!stop && run->measure) {
        const uint64_t begin = uv_hrtime();
        executor_compute(run, step);
        const uint64_t spent = uv_hrtime() - begin;
        const uint32_t now = spent < UINT32_MAX / 16 ? (uint32_t)spent : UINT32_MAX / 16;
        step->nanoseconds = step->nanoseconds ? (step->nanoseconds * 3 + now) / 4 : now;
    } else if (!stop) {
        executor_compute(run, step);
    }
    drop_inputs(run, step);
}

/* ---- several threads ---- */

static void push_ready(hr__run *run, int32_t index)
{
    hr_session *s = run->session;
    uv_mutex_lock(&s->lock);
    const int at = atomic_load_explicit(&run->ready_count, memory_order_relaxed);
    run->plan->ready[at] = index;
    atomic_store_explicit(&run->ready_count, at + 1, memory_order_release);
    uv_cond_signal(&s->woken);
    uv_mutex_unlock(&s->lock);
    hr__pool_wake(&s->client);
}

static int32_t pop_ready(hr_session *s)
{
    hr__run *run = &s->run;
    if (atomic_load_explicit(&run->ready_count, memory_order_acquire) == 0) return -1;
    int32_t index = -1;
    uv_mutex_lock(&s->lock);
    const int count = atomic_load_explicit(&run->ready_count, memory_order_relaxed);
    if (count > 0) {
        index = run->plan->ready[count - 1];
        atomic_store_explicit(&run->ready_count, count - 1, memory_order_relaxed);
    }
    uv_mutex_unlock(&s->lock);
    return index;
}

/* What a thread has made ready and keeps for itself. */
typedef struct own {
    int32_t quick[MINE], last;
    int quick_count;
} own;

static void take_ready(hr__run *run, own *o, int32_t index)
{
    const bool quick = run->plan->steps[index].nanoseconds < LONG_NS;
    if (quick && o->quick_count < MINE) {
        o->quick[o->quick_count++] = index;
    } else if (o->last < 0) {
        o->last = index;
    } else {
        push_ready(run, index);
    }
}

static int32_t next_own(own *o)
{
    if (o->quick_count > 0) return o->quick[--o->quick_count];
    const int32_t last = o->last;
    o->last = -1;
    return last;
}

/* Runs a step and all that follows from it. After the last step of the run, nothing of the run is touched. */
static void run_chain(hr_session *s, int32_t index)
{
    hr__run *run = &s->run;
    own o;
    o.last = -1;
    o.quick_count = 0;
    while (index >= 0) {
        hr__step *step = &run->plan->steps[index];
        run_step(run, step);
        for (int i = 0; i < step->nexts; i++)
            if (atomic_fetch_sub_explicit(&run->plan->pending[step->next[i]], 1, memory_order_acq_rel) == 1)
                take_ready(run, &o, step->next[i]);
        if (atomic_fetch_sub_explicit(&run->left, 1, memory_order_acq_rel) == 1) {
            uv_mutex_lock(&s->lock);
            uv_cond_signal(&s->woken);
            uv_mutex_unlock(&s->lock);
            return;
        }
        index = next_own(&o);
    }
}

bool hr__execute_one(hr__client *client, int thread)
{
    (void)thread;
    hr_session *s = (hr_session *)client;
    const int32_t index = pop_ready(s);
    if (index >= 0) run_chain(s, index);
    return index >= 0;
}

static void wait_for_work(hr_session *s)
{
    hr__run *run = &s->run;
    uv_mutex_lock(&s->lock);
    while (atomic_load_explicit(&run->left, memory_order_acquire) > 0 &&
           atomic_load_explicit(&run->ready_count, memory_order_relaxed) == 0)
        uv_cond_wait(&s->woken, &s->lock);
    uv_mutex_unlock(&s->lock);
}

static void run_parallel(hr_session *s)
{
    hr__run *run = &s->run;
    hr__plan *plan = run->plan;
    for (int i = 0; i < plan->step_count; i++)
        atomic_store_explicit(&plan->pending[i], plan->steps[i].pending, memory_order_relaxed);
    atomic_store_explicit(&run->left, plan->step_count, memory_order_relaxed);
    uv_mutex_lock(&s->lock);
    int ready = 0;
    for (int i = plan->step_count - 1; i >= 0; i--)
        if (plan->steps[i].pending == 0) plan->ready[ready++] = i;
    atomic_store_explicit(&run->ready_count, ready, memory_order_release);
    uv_mutex_unlock(&s->lock);
    if (ready > 1) hr__pool_wake(&s->client);
    while (atomic_load_explicit(&run->left, memory_order_acquire) > 0) {
        const int32_t index = pop_ready(s);
        if (index >= 0)
            run_chain(s, index);
        else
            wait_for_work(s);
    }
}

/* ---- a run ---- */

static bool executor_pays(const hr_session *s, const hr__plan *plan)
{
    if (s->inline_only || !s->joined) return false;
    return s->always_parallel || (plan->runs >= 2 && plan->nanoseconds > PARALLEL_NS && hr_threads() > 0);
}

static void executor_add_up(hr__plan *plan)
{
    plan->nanoseconds = 0;
    for (int i = 0; i < plan->step_count; i++) plan->nanoseconds += plan->steps[i].nanoseconds;
}

static void drop_slots(hr__plan *plan)
{
    for (int i = 0; i < plan->step_count; i++) {
        const hr__step *step = &plan->steps[i];
        for (int j = 0; j < step->node->outputs; j++) drop(&plan->slots[step->first_output + j]);
    }
}

hr_status hr__execute(hr_session *s, hr__plan *plan, hr_error *err)
{
    hr__run *run = &s->run;
    uv_mutex_lock(&s->lock);
    run->session = s;
    run->plan = plan;
    run->status = HR_OK;
    run->measure = plan->runs < 3 || plan->runs % 32 == 0;
    run->parallel = plan->step_count > 1 && executor_pays(s, plan);
    atomic_store_explicit(&run->stop, false, memory_order_relaxed);
    uv_mutex_unlock(&s->lock);
    for (int i = 0; i < plan->slot_count; i++)
        atomic_store_explicit(&plan->uses[i], plan->slot_uses[i], memory_order_relaxed);
    if (run->parallel) {
        run_parallel(s);
    } else {
        for (int i = 0; i < plan->step_count; i++) run_step(run, &plan->steps[i]);
    }
    if (run->measure) executor_add_up(plan);
    plan->runs++;
    if (run->status == HR_OK && atomic_exchange(&s->cancelled, false))
        run->status = hr_fail(&run->error, HR_CANCELLED, "session.cancelled", "session: the run was cancelled");
    if (run->status == HR_OK) return HR_OK;
    drop_slots(plan);
    atomic_store(&s->cancelled, false);
    if (err) *err = run->error;
    return run->status;
}

void hr__fetch_done(hr__plan *plan) { drop_slots(plan); }

/* ---- constants ---- */

/* A plan of one node without inputs, whose outputs are the caller's. */
hr_status hr__compute_alone(hr_session *s, hr_node node, hr_tensor *outputs, hr_error *err)
{
    void *state;
    HR_TRY(hr__session_state(s, node, &state, err));
    hr__plan plan = {.slots = outputs};
    hr__step step = {.node = hr__node_of(node), .handle = node, .state = state};
    hr__run run = {.session = s, .plan = &plan};
    hr_kernel k = {
        .node = node, .outputs = step.node->outputs, .state = state, .session = s, .run = &run, .step = &step};
    hr_error failed = {0};
    hr_status status =
        hr__descriptor_answer(step.node->op->name, "graph.failed", step.node->op->compute(&k, &failed), &failed);
    hr__kernel_end(&k);
    if (status == HR_OK) status = check_outputs(step.node, outputs, &failed);
    if (status == HR_OK) return HR_OK;
    hr__blame(&failed, step.node);
    if (err) *err = failed;
    return status;
}
