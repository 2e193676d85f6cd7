/* The one lock, which stage moves next, and who is woken for it. Threads are woken one at a time, and only if there is
 * a unit to take: a wake costs several microseconds. */
#include "data/exec/engine.h"
#include <inttypes.h>
#include <string.h>
#include <time.h>

/* ---- lock and wakes ---- */

void hr__engine_lock(engine *e) { hr__lock_awake(&e->lock); }

void hr__engine_unlock(engine *e)
{
    const bool worker = e->wake_worker, consumer = e->wake_consumer, listener = e->notify_consumer;
    e->wake_worker = e->wake_consumer = e->notify_consumer = false;
    uv_mutex_unlock(&e->lock);
    if (worker) hr__pool_wake(&e->client);
    if (consumer) uv_cond_signal(&e->head_ready);
    if (listener) e->notify(e);
}

void hr__engine_wake_consumer(engine *e)
{
    e->wake_consumer |= e->consumer_sleeps;
    e->notify_consumer |= e->consumer_listens;
    e->consumer_sleeps = e->consumer_listens = false;
}

/* ---- stages that may move ---- */

static void moves_drop(engine *e, stage *s)
{
    moving *of = &e->moving[s->depth];
    stage **first = &of->first[s->moves - 1];
    s->moves_before->moves_after = s->moves_after;
    s->moves_after->moves_before = s->moves_before;
    if (*first == s) *first = s->moves_after == s ? NULL : s->moves_after;
    if (!*first) of->some &= ~(UINT64_C(1) << (s->moves - 1));
    s->moves = 0;
}

static void moves_add(engine *e, stage *s, int moves)
{
    moving *of = &e->moving[s->depth];
    stage **first = &of->first[moves - 1];
    if (!*first) *first = s->moves_after = s->moves_before = s;
    s->moves_after = *first;
    s->moves_before = (*first)->moves_before;
    s->moves_before->moves_after = s;
    s->moves_after->moves_before = s;
    of->some |= UINT64_C(1) << (moves - 1);
    s->moves = moves;
}

/* Keeps those that may move by how far they are ahead: of thousands of open files nobody has to look at more than
 * one. */
void hr__stage_moves(stage *s)
{
    const bool may = s->at >= 0 && !s->planning && !s->ended && !s->full && !s->blocked_on && !s->closed;
    const int ring = stage_in_flight(s) < MOVING_RINGS ? (int)stage_in_flight(s) : MOVING_RINGS - 1;
    const int moves = may ? 1 + ring : 0;
    if (moves == s->moves) return;
    if (s->moves) moves_drop(s->engine, s);
    if (moves) moves_add(s->engine, s, moves);
}

/* ---- which one is next ---- */

static bool shared_blocks(const engine *e, const stage *s)
{
    return s->blocked_on == &e->shared.at || s->blocked_on == &e->shared.turn;
}

/* The stage that the consumer waits for, over others, if that one waits for what openings share, or for its turn, which
 * has come. */
stage *hr__shared_waited_stage(const engine *e)
{
    const stage *s = &e->root;
    while (s->blocked_on && !shared_blocks(e, s)) s = s->blocked_on;
    const bool waits = s->blocked_on && !s->planning && !s->ended && !s->closed;
    return waits ? (stage *)(uintptr_t)s : NULL;
}

/* Nobody is at work, or leaves, who could bring it: such as to the input of a zip that skips far ahead of the one which
 * fills the cache of both. */
bool hr__shared_is_stuck(const engine *e)
{
    bool stuck = e->leaving == 0;
    for (int i = 0; i < e->stages && stuck; i++) stuck = !e->stage[i]->busy;
    return stuck;
}

static stage *fitting(engine *e, stage *first)
{
    stage *s = first;
    do {
        if (hr__budget_fits(e, s)) return s;
        s = s->moves_after;
    } while (s != first);
    return NULL;
}

/* The most downstream stage that can move; among equals, such as files read side by side, the one with least ahead, and
 * among these the one that has waited longest. */
stage *hr__engine_pick(engine *e)
{
    stage *best = NULL;
    if (engine_cancelled(e)) return NULL;
    stage *waited = e->shared.awaited ? hr__shared_waited_stage(e) : NULL;
    if (waited && waited->blocked_on == &e->shared.turn) return waited;
    const uint64_t allowed = hr__budget_fits_more(e) ? UINT64_MAX : 1;
    for (int depth = 0; depth < e->depths && !best; depth++)
        for (uint64_t left = e->moving[depth].some & allowed; left && !best; left &= left - 1)
            best = fitting(e, e->moving[depth].first[__builtin_ctzll(left)]);
    return !best && waited && hr__shared_is_stuck(e) ? waited : best;
}

static idle_reason why_idle(const engine *e)
{
    const stage *s = &e->root;
    if (!s->blocked_on) return IDLE_CONSUMER; /* it is not in hr_next */
    while (s->blocked_on && !shared_blocks(e, s)) s = s->blocked_on;
    if (s->full && !s->planning) return IDLE_WINDOW;
    for (int depth = 0; depth < e->depths; depth++)
        if (e->moving[depth].some) return IDLE_BUDGET;
    return IDLE_OTHERS;
}

void hr__engine_note_idle(engine *e, const stage *picked)
{
    const idle_reason why = picked ? IDLE_NONE : why_idle(e);
    if (why == IDLE_NONE && e->idle == IDLE_NONE) return;
    const uint64_t now = uv_hrtime();
    e->idle_ns[e->idle] += now - e->idle_since;
    e->idle = why;
    e->idle_since = now;
}

/* The woken one wakes the next, if there is still more to do. A caller asleep in hr_next comes first: a worker may go to
 * another client instead and stay there for long. So a caller sleeps only if there is no unit to take, or a thread is
 * inside this engine that looks again before it leaves. */
void hr__engine_wake(engine *e)
{
    const bool worker = e->max_workers > 0 && hr__pool_sleeps();
    if (!worker && !e->consumer_sleeps) return;
    const stage *next = hr__engine_pick(e);
    hr__engine_note_idle(e, next);
    if (!next) return;
    if (e->consumer_sleeps)
        hr__engine_wake_consumer(e);
    else
        e->wake_worker = true;
}

bool hr__engine_leave(engine *e)
{
    const bool undone = hr__engine_pick(e) != NULL;
    if (undone && e->consumer_sleeps) hr__engine_wake_consumer(e);
    return undone;
}

void hr__shared_changed(engine *e)
{
    e->shared.changes++;
    if (!e->shared.awaited) return;
    e->shared.awaited = false;
    for (int i = 0; i < e->stages; i++) {
        if (shared_blocks(e, e->stage[i])) e->stage[i]->blocked_on = NULL;
        hr__stage_moves(e->stage[i]);
    }
    hr__engine_wake(e);
}

/* A full ring opens again when it is half empty: one wake for half a window, not one for every unit. */
void hr__engine_taken(stage *s)
{
    s->taken++;
    if (stage_in_flight(s) <= s->window / 2) s->full = false;
    hr__stage_moves(s);
    hr__engine_wake(s->engine);
}

/* ---- windows: they start small, and grow where that was too small: its reader finds nothing, though the stage had to
 * stop for a full ring since. So units come in bursts, and more of them ahead bridge the gaps. The budget holds for any
 * window. ---- */

void hr__stage_starves(stage *s)
{
    if (!s->was_full) return;
    s->was_full = false;
    if (s->window == s->ring_units) return;
    s->window = 2 * s->window < s->ring_units ? 2 * s->window : s->ring_units;
    s->grown++;
}

/* ---- the run as a whole ---- */

/* Lack of memory is said at once: what is lost to it must not look like the end of an input to those above, which would
 * drain and go on. */
void hr__engine_note(engine *e, const hr_error *err)
{
    if (err->code == HR_RESOURCE_EXHAUSTED && strcmp(err->kind, "memory") == 0) atomic_store(&e->no_memory, true);
}

void hr__engine_stall(engine *e)
{
    if (!e->stall) return;
    uint64_t bits = hr_random(e->stall, uv_hrtime());
    struct timespec pause = {.tv_nsec = (long)(bits % 300000)};
    if (bits >> 32 & 1) nanosleep(&pause, NULL);
}

uint64_t hr__engine_seed(engine *e)
{
    if (e->seed_drawn && !atomic_exchange(&e->seed_told, true))
        hr_log_message(
            HR_INFO, "this run draws its random numbers from seed %" PRIu64 "; the same seed repeats the run", e->seed);
    return e->seed;
}
