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

/* Calls name their nodes as long as what went wrong keeps its place in the message, the outermost one always. Of endless
 * recursion that one alone tells something. */
static bool is_named(const hr__frame *frame, const hr_error *err)
{
    if (frame->depth == 0) return true;
    return strlen(err->text) < sizeof err->text / 2 && !(err->kind && strcmp(err->kind, "graph.depth") == 0);
}

/* A kernel that gives up because the run ends has nothing of its own to say. */
static void record(hr__frame *frame, const hr__step *step, hr_status status, hr_error *err)
{
    hr__run *run = frame->run;
    const int32_t index = (int32_t)(step - frame->plan->steps);
    if (status == HR_CANCELLED && atomic_load_explicit(&run->stop, memory_order_acquire)) return;
    if (is_named(frame, err)) hr__blame(err, step->node);
    uv_mutex_lock(&run->session->lock);
    /* Of several failures that of the oldest node is reported, the same on every run if all of them occur. */
    if (frame->status == HR_OK || index < frame->failed_step) {
        frame->status = status;
        frame->failed_step = index;
        frame->error = *err;
    }
    uv_mutex_unlock(&run->session->lock);
    atomic_store_explicit(&run->stop, true, memory_order_release);
}

static void drop(hr_tensor *t)
{
    if (!t->buffer) return;
    hr_buffer_unref(t->buffer);
    t->buffer = NULL;
}

static void drop_inputs(hr__frame *frame, const hr__step *step)
{
    const hr__plan *plan = frame->plan;
    for (int i = 0; i < step->node->inputs; i++) {
        atomic_int *uses = &frame->uses[step->slot[i]];
        int left;
        if (frame->parallel) {
            left = atomic_fetch_sub_explicit(uses, 1, memory_order_acq_rel) - 1;
        } else {
            left = atomic_load_explicit(uses, memory_order_relaxed) - 1;
            atomic_store_explicit(uses, left, memory_order_relaxed);
        }
        if (left == 0) drop(&frame->slots[step->slot[i]]);
    }
    for (int i = 0; i < step->node->outputs; i++)
        if (plan->slot_uses[step->first_output + i] == 0) drop(&frame->slots[step->first_output + i]);
}

/* What a kernel of another type, or none, would leave to those that read it: memory of an earlier run. */
static void forget_outputs(hr_tensor *slot, int outputs)
{
    for (int i = 0; i < outputs; i++) slot[i].dtype = HR_INVALID_DTYPE;
}

/* An output that is a variable itself has its handle; the executor gives that. */
static bool sound_output(const hr__step *step, const hr_tensor *slot, int i)
{
    const hr_node output = {step->handle.graph, step->handle.id, i};
    if (slot->dtype != step->node->type[i] && !(slot->dtype == HR_RESOURCE && hr__output_is_ref(output))) return false;
    return slot->data || slot->count == 0;
}

static hr_status check_outputs(const hr__frame *frame, const hr__step *step, hr_error *err)
{
    const hr__node *n = step->node;
    const hr_tensor *slot = &frame->slots[step->first_output];
    const bool switches = n->op->traits & HR_SWITCHES;
    for (int i = step->gives_ref; i < n->outputs; i++)
        if (!sound_output(step, &slot[i], i) && !(switches && frame->dead_slot[step->first_output + i]))
            return hr_fail(err, HR_INTERNAL, "graph.failed", "%s: compute: expected output %d of %s, got %s",
                           n->op->name, i, hr_dtype_name(n->type[i]),
                           slot[i].dtype == HR_INVALID_DTYPE ? "none" : hr_dtype_name(slot[i].dtype));
    return HR_OK;
}

static hr_status executor_compute(hr__frame *frame, const hr__step *step, hr_error *err)
{
    hr_tensor *slot = &frame->slots[step->first_output];
    forget_outputs(slot, step->node->outputs);
    hr_kernel k;
    k.node = step->handle;
    k.inputs = step->node->inputs;
    k.outputs = step->node->outputs;
    k.input = frame->input + step->first_input;
    k.state = step->state;
    k.session = frame->run->session;
    k.frame = frame;
    k.step = step;
    k.temps = NULL;
    k.elsewhere = 0;
    const uint64_t begin = frame->profiled ? uv_hrtime() : 0;
    const hr_status status = step->node->op->compute(&k, err);
    if (frame->profiled) hr__profile_step(frame->profiled, (int32_t)(step - frame->plan->steps), begin, k.elsewhere);
    if (k.temps) hr__kernel_end(&k);
    if (status != HR_OK) {
        const hr_status answer = hr__descriptor_answer(step->node->op->name, "graph.failed", status, err);
        return frame->run->budget ? hr__budget_explain(frame->run->budget, answer, err) : answer;
    }
    return check_outputs(frame, step, err);
}

/* The resources that its inputs are handles of in this run, in the order of their addresses. */
static int used_now(const hr__frame *frame, const hr__step *step, hr_resource **used)
{
    int count = 0;
    for (int i = 0; i < step->node->inputs; i++) {
        const hr_tensor *in = frame->input[step->first_input + i];
        if (in->dtype != HR_RESOURCE || !in->data) continue;
        int at = count;
        while (at > 0 && (uintptr_t)used[at - 1] > (uintptr_t)in->data) at--;
        if (at > 0 && used[at - 1] == in->data) continue;
        memmove(used + at + 1, used + at, (size_t)(count - at) * sizeof *used);
        used[at] = in->data;
        count++;
    }
    return count;
}

static hr_status compute_under(hr__frame *frame, const hr__step *step, hr_resource *const *used, int count,
                               hr_error *err)
{
    const bool reads = step->node->op->traits & HR_READS_ONLY;
    if (step->alone) uv_mutex_lock(step->alone);
    for (int i = 0; i < count; i++) (reads ? uv_rwlock_rdlock : uv_rwlock_wrlock)(&used[i]->lock);
    const hr_status status = executor_compute(frame, step, err);
    for (int i = count - 1; i >= 0; i--) (reads ? uv_rwlock_rdunlock : uv_rwlock_wrunlock)(&used[i]->lock);
    if (step->alone) uv_mutex_unlock(step->alone);
    return status;
}

static hr_status compute_with_unknown(hr__frame *frame, const hr__step *step, hr_error *err)
{
    hr_resource *used[HR_MAX_HANDLES];
    return compute_under(frame, step, used, used_now(frame, step, used), err);
}

/* With what it uses locked: its own state, and the resources that its inputs are handles of, always in one order, so
 * that concurrent runs cannot wait for each other in a circle. */
static hr_status compute_locked(hr__frame *frame, const hr__step *step, hr_error *err)
{
    if (step->resources > 0 && !step->lock) return compute_with_unknown(frame, step, err);
    return compute_under(frame, step, step->lock, step->locks, err);
}

/* Inputs that are variables, as the values that they have now. */
static hr_status compute_with_values(hr__frame *frame, const hr__step *step, hr_error *err)
{
    hr_tensor *value = frame->values + step->first_value;
    hr_status status = HR_OK;
    int taken = 0;
    for (; status == HR_OK && taken < step->value_inputs; taken++)
        status = hr__slot_value(&frame->slots[step->slot[step->value_input[taken]]], &value[taken], err);
    if (status == HR_OK) status = compute_locked(frame, step, err);
    for (int i = 0; i < taken; i++) drop(&value[i]);
    return status;
}

hr_status hr__compute(hr__frame *frame, const hr__step *step, hr_error *err)
{
    return step->value_inputs                   ? compute_with_values(frame, step, err)
           : step->resources > 0 || step->alone ? compute_locked(frame, step, err)
                                                : executor_compute(frame, step, err);
}

static void compute_step(hr__frame *frame, const hr__step *step)
{
    hr_error err;
    err.code = HR_OK;
    err.kind = NULL;
    const hr_status status = hr__compute(frame, step, &err);
    if (status != HR_OK) {
        record(frame, step, status, &err);
    } else if (step->gives_ref) {
        frame->slots[step->first_output] = frame->slots[step->slot[0]];
        hr_buffer_ref(frame->slots[step->first_output].buffer); /* of a variable of the run */
    }
}

/* ---- what has no value ---- */

/* A step runs if all that it waits for has, and gave what it takes; one that merges, if one of its inputs has a value,
 * whatever it waits for.
 * Otherwise nothing that it would give has one. */
static bool lacks_input(const hr__frame *frame, const hr__step *step)
{
    int dead = 0;
    for (int i = 0; i < step->controls && !(step->node->op->traits & HR_MERGES); i++)
        if (frame->dead_step[step->control[i]]) return true;
    for (int i = 0; i < step->node->inputs; i++) dead += frame->dead_slot[step->slot[i]];
    return step->node->op->traits & HR_MERGES ? dead > 0 && dead == step->node->inputs : dead > 0;
}

static bool leave_out(hr__frame *frame, const hr__step *step, int32_t index)
{
    if (!frame->plan->switches || !lacks_input(frame, step)) return false;
    frame->dead_step[index] = 1;
    for (int i = 0; i < step->node->outputs; i++) {
        frame->slots[step->first_output + i] = (hr_tensor){0};
        frame->dead_slot[step->first_output + i] = 1;
    }
    return true;
}

static void run_step(hr__frame *frame, int32_t index)
{
    hr__plan *plan = frame->plan;
    const hr__step *step = &plan->steps[index];
    const bool stop = hr__run_stops(frame->run) || leave_out(frame, step, index);
    if (!stop && frame->measure) {
        const uint64_t begin = uv_hrtime();
        compute_step(frame, step);
        const uint64_t end = uv_hrtime(), spent = end - begin;
        const uint32_t now = spent < UINT32_MAX / 16 ? (uint32_t)spent : UINT32_MAX / 16;
        const uint32_t before = atomic_load_explicit(&plan->nanoseconds[index], memory_order_relaxed);
        atomic_store_explicit(&plan->nanoseconds[index], before ? (before * 3 + now) / 4 : now, memory_order_relaxed);
        if (frame->run->recorder) hr__recorder_add(frame->run->recorder, frame, step, begin, end);
    } else if (!stop) {
        compute_step(frame, step);
    }
    drop_inputs(frame, step);
}

/* ---- several threads ---- */

static void push_ready(hr__frame *frame, int32_t index)
{
    hr_session *s = frame->run->session;
    uv_mutex_lock(&s->lock);
    frame->ready[frame->ready_count++] = index;
    atomic_fetch_add_explicit(&s->ready_count, 1, memory_order_release);
    hr__waiter_call(&frame->waiter); /* under the lock, without which the frame might end */
    uv_mutex_unlock(&s->lock);
    hr__pool_wake(&s->client);
}

/* Under the session's lock. */
static int32_t pop_ready(hr_session *s, hr__frame *frame)
{
    if (frame->ready_count == 0) return -1;
    atomic_fetch_sub_explicit(&s->ready_count, 1, memory_order_relaxed);
    return frame->ready[--frame->ready_count];
}

/* What a thread has made ready and keeps for itself. */
typedef struct own {
    int32_t quick[MINE], last;
    int quick_count;
} own;

static void take_ready(hr__frame *frame, own *o, int32_t index)
{
    const uint32_t spent = atomic_load_explicit(&frame->plan->nanoseconds[index], memory_order_relaxed);
    if (spent < LONG_NS && o->quick_count < MINE) {
        o->quick[o->quick_count++] = index;
    } else if (o->last < 0) {
        o->last = index;
    } else {
        push_ready(frame, index);
    }
}

static int32_t next_own(own *o)
{
    if (o->quick_count > 0) return o->quick[--o->quick_count];
    const int32_t last = o->last;
    o->last = -1;
    return last;
}

/* Runs a step and all that follows from it. After the last step of the frame, nothing of it is touched. */
static void run_chain(hr__frame *frame, int32_t index)
{
    hr_session *s = frame->run->session;
    own o;
    o.last = -1;
    o.quick_count = 0;
    while (index >= 0) {
        const hr__step *step = &frame->plan->steps[index];
        run_step(frame, index);
        for (int i = 0; i < step->nexts; i++)
            if (atomic_fetch_sub_explicit(&frame->pending[step->next[i]], 1, memory_order_acq_rel) == 1)
                take_ready(frame, &o, step->next[i]);
        if (atomic_fetch_sub_explicit(&frame->left, 1, memory_order_acq_rel) == 1) {
            uv_mutex_lock(&s->lock);
            frame->done = true;
            hr__waiter_call(&frame->waiter);
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
    if (atomic_load_explicit(&s->ready_count, memory_order_acquire) == 0) return false;
    int32_t index = -1;
    uv_mutex_lock(&s->lock);
    hr__frame *frame = s->frames;
    while (frame && (index = pop_ready(s, frame)) < 0) frame = frame->next;
    uv_mutex_unlock(&s->lock);
    if (index >= 0 && atomic_load_explicit(&s->ready_count, memory_order_relaxed) > 0) hr__pool_wake(client);
    if (index >= 0) run_chain(frame, index);
    return index >= 0;
}

/* The next step for the frame's own thread, which helps the kernels of other threads until there is one; -1: all are
 * done. */
static int32_t wait_for_step(hr__frame *frame)
{
    hr_session *s = frame->run->session;
    for (;;) {
        uv_mutex_lock(&s->lock);
        const bool done = frame->done;
        const int32_t index = done ? -1 : pop_ready(s, frame);
        uv_mutex_unlock(&s->lock);
        if (done || index >= 0) return index;
        hr__waiter_wait(&frame->waiter);
    }
}

static void enter_frame(hr_session *s, hr__frame *frame)
{
    const hr__plan *plan = frame->plan;
    for (int i = 0; i < plan->step_count; i++)
        atomic_store_explicit(&frame->pending[i], plan->steps[i].pending, memory_order_relaxed);
    atomic_store_explicit(&frame->left, plan->step_count, memory_order_relaxed);
    frame->done = false;
    frame->ready_count = 0;
    uv_mutex_lock(&s->lock);
    for (int i = plan->step_count - 1; i >= 0; i--)
        if (plan->steps[i].pending == 0) frame->ready[frame->ready_count++] = i;
    const int ready = frame->ready_count;
    atomic_fetch_add_explicit(&s->ready_count, ready, memory_order_release);
    frame->next = s->frames;
    s->frames = frame;
    uv_mutex_unlock(&s->lock);
    if (ready > 1) hr__pool_wake(&s->client);
}

static void leave_frame(hr_session *s, hr__frame *frame)
{
    hr__frame **at = &s->frames;
    uv_mutex_lock(&s->lock);
    while (*at != frame) at = &(*at)->next;
    *at = frame->next;
    uv_mutex_unlock(&s->lock);
}

static void run_parallel(hr__frame *frame)
{
    hr_session *s = frame->run->session;
    enter_frame(s, frame);
    for (int32_t index; (index = wait_for_step(frame)) >= 0;) run_chain(frame, index);
    leave_frame(s, frame);
}

/* ---- a frame ---- */

static bool executor_pays(const hr_session *s, const hr__plan *plan, int64_t runs)
{
    if (s->inline_only || !s->joined) return false;
    return s->always_parallel ||
           (runs >= 2 && atomic_load_explicit(&plan->total, memory_order_relaxed) > PARALLEL_NS && hr_threads() > 0);
}

static void executor_add_up(hr__plan *plan)
{
    uint64_t total = 0;
    for (int i = 0; i < plan->step_count; i++)
        total += atomic_load_explicit(&plan->nanoseconds[i], memory_order_relaxed);
    atomic_store_explicit(&plan->total, total, memory_order_relaxed);
}

static void executor_reset(hr__frame *frame)
{
    const hr__plan *plan = frame->plan;
    frame->status = HR_OK;
    for (int i = 0; i < plan->slot_count; i++)
        atomic_store_explicit(&frame->uses[i], plan->slot_uses[i], memory_order_relaxed);
    if (plan->switches) memset(frame->dead_slot, 0, (size_t)plan->slot_count);
    if (plan->switches) memset(frame->dead_step, 0, (size_t)plan->step_count);
}

hr_status hr__execute(hr__frame *frame, hr_error *err)
{
    hr__plan *plan = frame->plan;
    const int64_t runs = atomic_fetch_add_explicit(&plan->runs, 1, memory_order_relaxed);
    frame->measure = runs < 3 || runs % 32 == 0 || frame->run->recorder;
    frame->parallel = plan->step_count > 1 && !frame->alone && executor_pays(frame->run->session, plan, runs);
    if (frame->run->profile && !frame->within) frame->profiled = hr__profile_plan(frame->run->profile, plan);
    executor_reset(frame);
    if (frame->parallel) {
        run_parallel(frame);
    } else {
        for (int i = 0; i < plan->step_count; i++) run_step(frame, i);
    }
    if (frame->measure) executor_add_up(plan);
    if (frame->status != HR_OK && err) *err = frame->error;
    return frame->status;
}

void hr__execute_begin(hr__frame *frame)
{
    frame->parallel = false;
    executor_reset(frame);
}

hr_status hr__execute_marked(hr__frame *frame, const uint8_t *marked, hr_error *err)
{
    frame->measure = frame->run->recorder;
    frame->profiled = frame->run->profile ? hr__profile_plan(frame->run->profile, frame->plan) : NULL;
    for (int i = 0; i < frame->plan->step_count; i++)
        if (marked[i]) run_step(frame, i);
    if (frame->status != HR_OK && err) *err = frame->error;
    return frame->status;
}

hr_status hr__fetch_has_value(const hr__frame *frame, int i, hr_error *err)
{
    const hr__plan *plan = frame->plan;
    if (!plan->switches || plan->fetch_slot[i] < 0 || !frame->dead_slot[plan->fetch_slot[i]]) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "session.fetch",
                   "session: expected result %d to have a value, but the branch that it is in was not taken", i);
}

/* ---- constants ---- */

/* A frame of one node without inputs, whose outputs are the caller's. */
hr_status hr__compute_alone(hr_session *s, hr_node node, void *state, hr_tensor *outputs, hr_error *err)
{
    const hr__step step = {.node = hr__node_of(node), .handle = node, .state = state};
    hr__run run = {.session = s};
    const hr_tensor *none = NULL;
    hr__frame frame = {.run = &run, .slots = outputs, .input = &none};
    hr_error failed = {0};
    const hr_status status = executor_compute(&frame, &step, &failed);
    if (status == HR_OK) return HR_OK;
    hr__blame(&failed, step.node);
    if (err) *err = failed;
    return status;
}
