/* Calling a run off: nothing new is planned from then on, and whoever waits, for a unit or for a pipe's next bytes, is
 * woken. */
#include "data/exec/engine.h"
#include <unistd.h>

/* Lock held. */
static void fill_wake(const engine *e)
{
    static const char something = 1;
    const ssize_t wrote = e->has_wake ? write(e->wake[1], &something, 1) : 0;
    (void)wrote; /* a full pipe is one that has something in it */
}

void hr__engine_cancel(engine *e)
{
    atomic_store(&e->cancelled, true);
    hr__engine_lock(e);
    fill_wake(e);
    hr__engine_wake_consumer(e);
    hr__engine_unlock(e);
}

/* Most pipelines open no file, and have no wake. */
const int *hr_plan_wake(hr_plan *p)
{
    engine *e = p->stage->engine;
    hr__engine_lock(e);
    if (!e->has_wake) e->has_wake = uv_pipe(e->wake, UV_NONBLOCK_PIPE, UV_NONBLOCK_PIPE) == 0;
    if (engine_cancelled(e)) fill_wake(e); /* it was called off before there was a pipe to say so */
    const bool has_wake = e->has_wake;
    hr__engine_unlock(e);
    return has_wake ? &e->wake[0] : NULL;
}

void hr__engine_close_wake(engine *e)
{
    if (!e->has_wake) return;
    close(e->wake[0]);
    close(e->wake[1]);
}
