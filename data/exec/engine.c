/* The engine of an iterator: opened with the options of hr_iterate, and closed once no thread is inside it. */
#include "data/exec/engine.h"
#include <headrace/data.h>
#include <stdlib.h>

enum { DEFAULT_UNIT_SIZE = 256 << 10, MIN_UNIT_SIZE = 4 << 10 };
static const size_t DEFAULT_BUDGET = (size_t)1 << 30;

/* ---- what the pool calls ---- */

static bool engine_run_for_pool(hr__client *client, int thread)
{
    engine *e = (engine *)client;
    hr__engine_lock(e);
    const bool ran = hr__engine_run_one(e, thread);
    hr__engine_unlock(e);
    return ran;
}

static bool engine_leave_for_pool(hr__client *client)
{
    engine *e = (engine *)client;
    hr__engine_lock(e);
    const bool undone = hr__engine_leave(e);
    hr__engine_unlock(e);
    return undone;
}

/* ---- opening ---- */

/* Of .unit_rows: a unit of so many has memory for all of them. */
enum { MAX_ASKED_UNIT_ROWS = 1 << 20 };

static int64_t engine_clamp(int64_t value, int64_t min, int64_t max)
{
    return value < min ? min : value > max ? max : value;
}

static void engine_set_options(engine *e, const hr_iterate_opts *opts)
{
    const char *stall = getenv("HEADRACE_STALL");
    const int threads = hr_threads();
    e->client.run_one = engine_run_for_pool;
    e->client.turn_over = engine_leave_for_pool;
    e->max_workers = opts->workers ? (int)engine_clamp(*opts->workers, 0, threads) : threads;
    e->client.max_workers = e->max_workers;
    e->window = opts->window > 0 ? opts->window : 0;
    e->unit_rows = engine_clamp(opts->unit_rows, 0, MAX_ASKED_UNIT_ROWS);
    e->unit_size = DEFAULT_UNIT_SIZE; /* tests that ask for small units want small pieces of files as well */
    if (e->unit_rows) e->unit_size = (size_t)engine_clamp(e->unit_rows * 64, MIN_UNIT_SIZE, DEFAULT_UNIT_SIZE);
    e->budget = e->store.limit;
    e->seed = opts->seed;
    e->seed_drawn = opts->seed == 0;
    if (e->seed_drawn && uv_random(NULL, NULL, &e->seed, sizeof e->seed, 0, NULL) != 0) e->seed = uv_hrtime();
    if (e->seed == 0) e->seed = 1;
    e->epoch = opts->epoch;
    e->stall = stall ? strtoull(stall, NULL, 0) : 0;
    e->restored = opts->state != NULL;
    e->started = uv_hrtime();
}

bool hr__engine_open(engine *e, const hr_iterate_opts *opts)
{
    if (!hr__store_open(&e->store, opts->budget ? opts->budget : DEFAULT_BUDGET)) return false;
    if (uv_mutex_init(&e->lock) != 0) {
        hr__store_close(&e->store);
        return false;
    }
    if (uv_cond_init(&e->head_ready) != 0) {
        uv_mutex_destroy(&e->lock);
        hr__store_close(&e->store);
        return false;
    }
    engine_set_options(e, opts);
    return true;
}

/* ---- closing ---- */

static void engine_free_memory(engine *e)
{
    for (int i = 0; i < MAX_THREADS; i++) {
        hr_work *w = e->work[i];
        if (!w) continue;
        hr__store_put_blocks(&e->store, w->scratch);
        hr__store_put_blocks(&e->store, w->runs);
        hr__store_put_blocks(&e->store, w->hot);
        hr__seen_drop(w);
        hr_free(w);
    }
    while (e->free_rows) {
        rows *next = e->free_rows->next;
        hr_free(e->free_rows);
        e->free_rows = next;
    }
    hr__shared_close(e);
    hr__row_layouts_free(e);
    hr__files_free(e);
    hr_free(e->past);
    hr_free(e->stage);
    hr_free(e->moving);
    hr__store_close(&e->store);
}

void hr__engine_close(engine *e)
{
    hr__engine_free_stages(e);
    hr__trace_close(e->trace);
    engine_free_memory(e);
    hr__engine_close_wake(e);
    uv_cond_destroy(&e->head_ready);
    uv_mutex_destroy(&e->lock);
}
