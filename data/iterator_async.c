/* hr_next on an event loop. The loop's thread takes what is ready and goes back to its other events; workers do the
 * rest and wake it. Where there are no workers it works itself, one unit between two rounds of the loop. */
#include "data/iterator.h"

static void notify(engine *e) { uv_async_send(&((hr_iterator *)e)->listener->async); }

/* Asks for a call when there is something to take. False: there is already. */
static bool wait_for_wake(hr_iterator *it)
{
    engine *e = &it->engine;
    stage *s = it->input.stage;
    hr__engine_lock(e);
    const bool wait = !hr__stage_head_ready(s) && !hr__stage_is_over(s) && !engine_cancelled(e) && !e->no_memory;
    if (wait) e->root.blocked_on = s;
    e->consumer_listens = wait;
    e->wake_worker = wait; /* one that is about to sleep does not count as a sleeper, but must not miss this */
    hr__engine_unlock(e);
    return wait;
}

static void on_wake(uv_async_t *async)
{
    listener *l = async->data;
    if (!l->it || !l->cb) return;
    const hr_element *element;
    hr_status st;
    while ((st = hr__iterator_try(l->it, &element)) == HR_WAIT) {
        if (!wait_for_wake(l->it)) continue;
        engine *e = &l->it->engine;
        if (e->max_workers > 0 && hr_threads() > 0) return;
        hr__engine_lock(e);
        hr__engine_run_one(e, 0);
        hr__engine_unlock(e);
        uv_async_send(async);
        return;
    }
    hr_next_cb *cb = l->cb;
    l->cb = NULL;
    uv_unref((uv_handle_t *)async);
    cb(l->it, st, element, l->user); /* which may ask again, or free the iterator: nothing is touched after it */
}

static hr_status open_listener(hr_iterator *it, uv_loop_t *loop)
{
    listener *l = hr_calloc(1, sizeof *l);
    if (!l || uv_async_init(loop, &l->async, on_wake) != 0) {
        hr_free(l);
        return HR_RESOURCE_EXHAUSTED;
    }
    l->async.data = l;
    l->it = it;
    it->listener = l;
    it->engine.notify = notify;
    return HR_OK;
}

hr_status hr_next_async(hr_iterator *it, uv_loop_t *loop, hr_next_cb *cb, void *user)
{
    if (!it->open) return HR_RESOURCE_EXHAUSTED;
    if (!it->listener) HR_TRY(open_listener(it, loop));
    listener *l = it->listener;
    if (l->cb || l->async.loop != loop) return HR_FAILED_PRECONDITION;
    l->cb = cb;
    l->user = user;
    uv_ref((uv_handle_t *)&l->async);
    uv_async_send(&l->async);
    return HR_OK;
}
