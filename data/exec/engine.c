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

static uint64_t engine_draw_seed(void)
{
    uint64_t seed = 0;
    if (uv_random(NULL, NULL, &seed, sizeof seed, 0, NULL) != 0) seed = uv_hrtime();
    return seed ? seed : 1;
}

static int engine_workers(const hr_iterate_opts *opts)
{
    int workers = hr_threads();
    if (opts->workers && *opts->workers < workers) workers = *opts->workers;
    return workers < 0 ? 0 : workers;
}

/* Of .unit_rows: a unit of so many has memory for all of them. */
enum { MAX_ASKED_UNIT_ROWS = 1 << 20 };

/* Tests that ask for small units want small pieces of files as well. */
static size_t engine_unit_size(const hr_iterate_opts *opts)
{
    if (opts->unit_rows <= 0 || opts->unit_rows >= DEFAULT_UNIT_SIZE / 64) return DEFAULT_UNIT_SIZE;
    const size_t size = (size_t)opts->unit_rows * 64;
    return size < MIN_UNIT_SIZE ? MIN_UNIT_SIZE : size;
}

static void engine_set_options(engine *e, const hr_iterate_opts *opts)
{
    const char *stall = getenv("HEADRACE_STALL");
    e->client.run_one = engine_run_for_pool;
    e->client.turn_over = engine_leave_for_pool;
    e->client.max_workers = e->max_workers = engine_workers(opts);
    e->window = opts->window > 0 ? opts->window : 0;
    e->unit_rows = opts->unit_rows < 0                     ? 0
                   : opts->unit_rows > MAX_ASKED_UNIT_ROWS ? MAX_ASKED_UNIT_ROWS
                                                           : opts->unit_rows;
    e->unit_size = engine_unit_size(opts);
    e->budget = e->store.limit;
    e->seed = opts->seed ? opts->seed : engine_draw_seed();
    e->seed_drawn = opts->seed == 0;
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
