/* A frame: the memory of one run of a plan. Frames are used again, so that a run allocates nothing once its plan has
 * run before; runs at the same time have one each. */
#include "train/graph/graph_internal.h"

static hr_status fill_frame(hr__frame *frame, const hr_session *s, const hr__plan *plan, hr_error *err)
{
    hr__arena *arena = &frame->arena;
    const size_t slots = (size_t)plan->slot_count + 1, steps = (size_t)plan->step_count + 1;
    frame->slots = hr__arena_get(arena, slots * sizeof *frame->slots);
    frame->uses = hr__arena_get(arena, slots * sizeof *frame->uses);
    frame->input = hr__arena_get(arena, ((size_t)plan->input_count + 1) * sizeof *frame->input);
    frame->values = hr__arena_get(arena, ((size_t)plan->value_count + 1) * sizeof *frame->values);
    frame->pending = hr__arena_get(arena, steps * sizeof *frame->pending);
    frame->ready = hr__arena_get(arena, steps * sizeof *frame->ready);
    frame->dead_slot = hr__arena_get(arena, plan->switches ? slots : 1);
    frame->dead_step = hr__arena_get(arena, plan->switches ? steps : 1);
    frame->waiter_made = hr__waiter_begin(&frame->waiter, s, NULL) == HR_OK;
    if (!frame->slots || !frame->uses || !frame->input || !frame->values || !frame->dead_slot || !frame->dead_step ||
        !frame->pending || !frame->ready || !frame->waiter_made)
        return hr_no_memory(err, "a run");
    for (int i = 0; i < plan->fixed_count; i++) frame->slots[plan->fixed[i].slot] = plan->fixed[i].value;
    for (int i = 0; i < plan->step_count; i++) {
        const hr__step *step = &plan->steps[i];
        const hr_tensor **input = frame->input + step->first_input;
        for (int j = 0; j < step->node->inputs; j++) input[j] = &frame->slots[step->slot[j]];
        for (int j = 0; j < step->value_inputs; j++)
            input[step->value_input[j]] = &frame->values[step->first_value + j];
    }
    return HR_OK;
}

void hr__frame_free(hr__frame *frame)
{
    if (frame->waiter_made) hr__waiter_end(&frame->waiter);
    hr__arena_free(&frame->arena);
    hr_free(frame);
}

hr_status hr__frame_get(hr__run *run, hr__plan *plan, hr__frame **out, hr_error *err)
{
    hr_session *s = run->session;
    uv_mutex_lock(&s->lock);
    hr__frame *frame = plan->frames;
    if (frame) plan->frames = frame->next;
    uv_mutex_unlock(&s->lock);
    if (!frame) {
        frame = hr_calloc(1, sizeof *frame);
        const hr_status st = frame ? fill_frame(frame, s, plan, err) : hr_no_memory(err, "a run");
        if (st != HR_OK && frame) hr__frame_free(frame);
        HR_TRY(st);
    }
    frame->plan = plan;
    frame->run = run;
    frame->depth = 0;
    frame->path = "";
    frame->alone = run->alone;
    frame->within = false;
    frame->caller = NULL;
    frame->profiled = NULL;
    *out = frame;
    return HR_OK;
}

void hr__frame_drop_slots(hr__frame *frame)
{
    const hr__plan *plan = frame->plan;
    for (int i = 0; i < plan->step_count; i++) {
        const hr__step *step = &plan->steps[i];
        for (int j = 0; j < step->node->outputs; j++) {
            hr_tensor *t = &frame->slots[step->first_output + j];
            if (t->buffer) hr_buffer_unref(t->buffer);
            t->buffer = NULL;
        }
    }
    for (int i = 0; plan->function && i < plan->feeds; i++) {
        hr_tensor *t = &frame->slots[plan->feed_slot[i]];
        if (t->buffer) hr_buffer_unref(t->buffer);
        t->buffer = NULL;
    }
}

void hr__frame_put(hr__frame *frame)
{
    hr_session *s = frame->run->session;
    hr__frame_drop_slots(frame);
    uv_mutex_lock(&s->lock);
    frame->next = frame->plan->frames;
    frame->plan->frames = frame;
    uv_mutex_unlock(&s->lock);
}
