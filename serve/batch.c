/* The one pool of runs, for all models. A task waits only while all slots (processors) are taken; whoever gets a slot
 * takes what has queued meanwhile for the same signature, as one run. A loop runs short tasks itself, at the end of its
 * turn, since handing them over would cost more than they do; long ones go to the pool's threads. If a shared run
 * fails, its tasks run again one by one, so that only the guilty one fails. */
#include "serve/internal.h"

#include <stdio.h>
#include <string.h>

enum {
    MOST_TASKS = 128,       /* in one run */
    MOST_ROWS = 1024,       /* of a shared run, by default */
    SHORT_RUN = 1000 * 1000 /* nanoseconds: up to this a loop runs it itself */
};

struct hr__pool {
    uv_mutex_t lock;
    uv_cond_t work;
    hr__task *first, **last;
    int queued, running, slots, sleeping, most_queued;
    bool stop, share;
    hr__batching batching;
    uv_thread_t *threads;
    int thread_count;
    hr__pool_stats stats;
};

hr__pool_stats *hr__pool_stats_of(hr__pool *pool) { return &pool->stats; }

/* ---- one run ---- */

static double seconds_left(const hr__task *task)
{
    if (!task->deadline) return 0;
    const uint64_t now = hr__serve_now();
    return task->deadline > now ? (double)(task->deadline - now) * 1e-9 : 1e-9;
}

/* The longest run, which is slowly forgotten, and what a row took. */
static void note_cost(hr__signature *s, const hr_tensor *inputs, uint64_t ran)
{
    const uint64_t before = atomic_load_explicit(&s->cost, memory_order_relaxed);
    const int64_t rows = s->by_rows && s->said->input_count && inputs[0].shape.rank > 0 ? inputs[0].shape.dims[0] : 1;
    atomic_store_explicit(&s->cost, ran > before ? ran : before - before / 16, memory_order_relaxed);
    if (rows > 0) atomic_store_explicit(&s->row_cost, ran / (uint64_t)rows, memory_order_relaxed);
}

/* Whether a loop may run it itself. */
static bool is_short(const hr__task *task)
{
    const uint64_t cost = atomic_load_explicit(&task->signature->cost, memory_order_relaxed);
    const uint64_t row = atomic_load_explicit(&task->signature->row_cost, memory_order_relaxed);
    return cost > 0 && cost <= SHORT_RUN && (task->rows <= 1 || row <= SHORT_RUN / (uint64_t)task->rows);
}

static hr_status task_call(hr__task *task, bool alone, const hr_tensor *inputs, hr_tensor *results, hr_error *err)
{
    const hr__version *version = task->version;
    const hr_servable_run run = {
        .struct_size = sizeof run,
        .signature = task->signature->number,
        .inputs = inputs,
        .outputs = task->outputs,
        .output_count = task->output_count,
        .timeout = seconds_left(task),
        .alone = alone,
    };
    err->code = HR_OK;
    err->text[0] = 0;
    const uint64_t begin = hr__serve_now();
    const hr_status st = version->kind->run(version->loaded, &run, results, err);
    task->ran = hr__serve_now() - begin;
    note_cost(task->signature, inputs, task->ran);
    return st <= HR_OK ? st : hr_fail(err, HR_INTERNAL, "serve.run", "a servable's run gave the status %d", (int)st);
}

static void run_by_itself(hr__task *task, bool alone)
{
    task->status = task_call(task, alone, task->inputs, task->results, &task->error);
}

void hr__task_run_alone(hr__task *task) { run_by_itself(task, false); }

/* ---- runs of several tasks ---- */

static bool same_row(const hr_tensor *a, const hr_tensor *b)
{
    if (a->dtype != b->dtype || a->shape.rank != b->shape.rank) return false;
    return a->shape.rank < 2 ||
           memcmp(a->shape.dims + 1, b->shape.dims + 1, (size_t)(a->shape.rank - 1) * sizeof *a->shape.dims) == 0;
}

static bool fits(const hr__task *a, const hr__task *b)
{
    if (a->signature != b->signature || b->rows < 0 || a->output_count != b->output_count) return false;
    if (memcmp(a->outputs, b->outputs, (size_t)a->output_count * sizeof *a->outputs) != 0) return false;
    for (int i = 0; i < a->signature->said->input_count; i++)
        if (!same_row(&a->inputs[i], &b->inputs[i])) return false;
    return true;
}

/* The rows of input number i of all tasks, and of the last one again up to `rows`. The bytes of strings stay where they
 * are. */
static hr_status join_input(hr__task *const *tasks, int count, int i, int64_t rows, hr_tensor *out, hr_error *err)
{
    const hr_tensor *first = &tasks[0]->inputs[i];
    const size_t size = hr_dtype_size(first->dtype);
    int64_t row = 1;
    for (int d = 1; d < first->shape.rank; d++) row *= first->shape.dims[d];
    hr_buffer *buffer = hr_buffer_new((size_t)(rows * row) * size + 1);
    if (!buffer) return hr_no_memory(err, "a batch");
    *out = hr_tensor_of(first->dtype, first->shape, hr_buffer_data(buffer));
    out->shape.dims[0] = rows;
    out->count = rows * row;
    out->buffer = buffer;
    char *to = out->data;
    for (int t = 0; t < count; t++) {
        const size_t bytes = (size_t)tasks[t]->inputs[i].count * size;
        if (bytes) memcpy(to, tasks[t]->inputs[i].data, bytes);
        to += bytes;
    }
    for (char *end = (char *)out->data + (size_t)out->count * size; to < end; to += (size_t)row * size)
        memcpy(to, to - (size_t)row * size, (size_t)row * size);
    return HR_OK;
}

/* Each task gets its rows of what came out. False: an output does not have the batch in its first dimension. */
static bool share_out(hr__task *const *tasks, int count, int64_t rows, hr_tensor *results)
{
    const int outputs = tasks[0]->output_count;
    for (int o = 0; o < outputs; o++)
        if (results[o].shape.rank < 1 || results[o].shape.dims[0] != rows) return false;
    for (int o = 0; o < outputs; o++) {
        const int64_t row = rows ? results[o].count / rows : 0;
        int64_t at = 0;
        for (int t = 0; t < count; t++) {
            hr_tensor *r = &tasks[t]->results[o];
            *r = results[o];
            r->shape.dims[0] = tasks[t]->rows;
            r->count = tasks[t]->rows * row;
            r->data = (char *)results[o].data + (size_t)(at * row) * hr_dtype_size(r->dtype);
            r->buffer = hr_buffer_ref(results[o].buffer);
            at += tasks[t]->rows;
        }
        hr_tensor_clear(&results[o]);
    }
    return true;
}

static int64_t padded_rows(const hr__pool *pool, int64_t rows)
{
    for (int i = 0; i < pool->batching.allowed_count; i++)
        if (pool->batching.allowed[i] >= rows) return pool->batching.allowed[i];
    return rows;
}

/* False: it did not go well, and the tasks should run alone. */
static bool run_together(hr__pool *pool, hr__task **tasks, int count, int64_t rows, bool alone)
{
    hr__task *first = tasks[0];
    const int inputs = first->signature->said->input_count, outputs = first->output_count;
    hr_tensor *joined = hr_calloc((size_t)(inputs + outputs) + 1, sizeof *joined), *results = joined + inputs;
    const int64_t whole = padded_rows(pool, rows);
    hr_status st = joined ? HR_OK : HR_RESOURCE_EXHAUSTED;
    bool shared = false;
    for (int i = 0; i < inputs && st == HR_OK; i++) st = join_input(tasks, count, i, whole, &joined[i], &first->error);
    if (st == HR_OK) st = task_call(first, alone, joined, results, &first->error);
    bool owned = st == HR_OK; /* slices of what a servable only lends could not be kept */
    for (int o = 0; o < outputs && owned; o++) owned = results[o].buffer != NULL;
    if (owned) {
        shared = share_out(tasks, count, whole, results);
        atomic_fetch_add(&pool->stats.padding, (uint64_t)(whole - rows));
    }
    for (int t = 0; t < count && shared; t++) {
        tasks[t]->status = HR_OK;
        tasks[t]->ran = first->ran;
    }
    for (int i = 0; joined && i < inputs + outputs; i++) hr_tensor_clear(&joined[i]);
    hr_free(joined);
    return shared;
}

/* `alone`: without other threads than this one. */
static void run_tasks(hr__pool *pool, hr__task **tasks, int count, bool alone)
{
    const uint64_t now = hr__serve_now();
    int live = 0;
    int64_t rows = 0;
    for (int t = 0; t < count; t++) {
        hr__task *task = tasks[t];
        hr__histogram_add(&pool->stats.waited, (now - task->queued) / 1000);
        const bool cancelled = task->cancelled && *task->cancelled;
        if (cancelled || (task->deadline && task->deadline <= now)) {
            task->status = hr_fail(&task->error, cancelled ? HR_CANCELLED : HR_DEADLINE_EXCEEDED, "serve.timeout",
                                   "Run() timeout exceeded while waiting in batching queue");
            task->done(task);
            continue;
        }
        rows += task->rows > 0 ? task->rows : 0;
        tasks[live++] = task;
    }
    if (!live) return;
    atomic_fetch_add(&pool->stats.runs, 1);
    atomic_fetch_add(&pool->stats.tasks, (uint64_t)live);
    atomic_fetch_add(&pool->stats.rows, (uint64_t)rows);
    hr__histogram_add(&pool->stats.batch, (uint64_t)rows);
    const bool pads = tasks[0]->rows >= 0 && padded_rows(pool, rows) != rows;
    if ((live > 1 || pads) && run_together(pool, tasks, live, rows, alone)) {
        for (int t = 0; t < live; t++) tasks[t]->done(tasks[t]);
        return;
    }
    for (int t = 0; t < live; t++) {
        run_by_itself(tasks[t], alone);
        tasks[t]->done(tasks[t]);
    }
}

/* ---- the queue ---- */

static int64_t most_rows(const hr__pool *pool) { return pool->batching.given ? pool->batching.max_batch : MOST_ROWS; }

/* The first task, and those after it that fit. Under the lock. */
static int take_tasks(hr__pool *pool, hr__task **tasks)
{
    hr__task *first = pool->first;
    int count = 1, looked = 0;
    int64_t rows = first->rows;
    tasks[0] = first;
    pool->first = first->next;
    for (hr__task **at = &pool->first;
         *at && rows >= 0 && pool->share && count < MOST_TASKS && looked++ < 4 * MOST_TASKS;) {
        hr__task *task = *at;
        if (fits(first, task) && rows + task->rows <= most_rows(pool)) {
            *at = task->next;
            rows += task->rows;
            tasks[count++] = task;
        } else {
            at = &task->next;
        }
    }
    pool->last = &pool->first;
    while (*pool->last) pool->last = &(*pool->last)->next;
    pool->queued -= count;
    atomic_store_explicit(&pool->stats.queued, pool->queued, memory_order_relaxed);
    return count;
}

/* Takes tasks and runs them, without the lock. With more than half of the slots in use, threads that help a run would
 * only be taken from the others. Under the lock. */
static void run_next(hr__pool *pool)
{
    hr__task *tasks[MOST_TASKS];
    const int count = take_tasks(pool, tasks);
    const bool alone = 2 * ++pool->running > pool->slots;
    uv_mutex_unlock(&pool->lock);
    run_tasks(pool, tasks, count, alone);
    uv_mutex_lock(&pool->lock);
    pool->running--;
}

/* TensorFlow Serving's batching: how long the first task of the queue has still to wait, in nanoseconds. */
static uint64_t must_wait(const hr__pool *pool)
{
    int64_t rows = 0;
    if (!pool->batching.given || pool->batching.timeout_micros <= 0 || pool->stop) return 0;
    for (const hr__task *t = pool->first; t; t = t->next)
        if (t == pool->first || fits(pool->first, t)) rows += t->rows;
    const uint64_t ready = pool->first->queued + (uint64_t)pool->batching.timeout_micros * 1000, now = hr__serve_now();
    return rows >= pool->batching.max_batch || pool->first->rows < 0 || now >= ready ? 0 : ready - now;
}

static void pool_thread(void *user)
{
    hr__pool *pool = user;
    hr__no_broken_pipes();
    uv_mutex_lock(&pool->lock);
    while (!pool->stop || pool->first) {
        if (!pool->first || pool->running >= pool->slots) {
            pool->sleeping++;
            uv_cond_wait(&pool->work, &pool->lock);
            pool->sleeping--;
            continue;
        }
        const uint64_t wait = must_wait(pool);
        if (wait) {
            pool->sleeping++;
            uv_cond_timedwait(&pool->work, &pool->lock, wait);
            pool->sleeping--;
            continue;
        }
        run_next(pool);
    }
    uv_mutex_unlock(&pool->lock);
}

static hr_status check_task(const hr__pool *pool, const hr__task *task, hr__fault *fault)
{
    if (pool->batching.given && task->rows > pool->batching.max_batch && !pool->batching.split)
        return hr__fault_set(fault, HR_INVALID_ARGUMENT, "Task size %lld is larger than maximum input batch size %lld",
                             (long long)task->rows, (long long)pool->batching.max_batch);
    if (pool->queued < pool->most_queued) return HR_OK;
    if (pool->batching.given)
        return hr__fault_set(fault, HR_UNAVAILABLE,
                             "The batch scheduling queue to which this task was submitted is full");
    return hr__fault_set(fault, HR_RESOURCE_EXHAUSTED, "%d requests wait already", pool->queued);
}

hr_status hr__pool_submit(hr__pool *pool, hr__task *task, hr__fault *fault)
{
    uv_mutex_lock(&pool->lock);
    const hr_status st = check_task(pool, task, fault);
    if (st == HR_OK) {
        task->next = NULL;
        task->queued = hr__serve_now();
        *pool->last = task;
        pool->last = &task->next;
        pool->queued++;
        atomic_store_explicit(&pool->stats.queued, pool->queued, memory_order_relaxed);
    }
    uv_mutex_unlock(&pool->lock);
    return st;
}

void hr__pool_help(hr__pool *pool)
{
    uv_mutex_lock(&pool->lock);
    while (pool->first && pool->running < pool->slots) {
        if (pool->batching.given || !is_short(pool->first)) break;
        run_next(pool);
    }
    const bool wake = pool->first && pool->sleeping > 0;
    uv_mutex_unlock(&pool->lock);
    if (wake) uv_cond_signal(&pool->work);
}

/* ---- the pool ---- */

static hr_status start_threads(hr__pool *pool, hr_error *err)
{
    pool->threads = hr_calloc((size_t)pool->slots, sizeof *pool->threads);
    if (!pool->threads) return hr_no_memory(err, "threads");
    for (; pool->thread_count < pool->slots; pool->thread_count++)
        if (uv_thread_create(&pool->threads[pool->thread_count], pool_thread, pool) != 0)
            return hr_no_memory(err, "a thread");
    return HR_OK;
}

hr_status hr__pool_new(const hr_server_opts *opts, const hr__batching *batching, hr__pool **out, hr_error *err)
{
    hr__pool *pool = hr_calloc(1, sizeof *pool);
    if (!pool) return hr_no_memory(err, "a server");
    pool->last = &pool->first;
    pool->batching = *batching;
    pool->share = !opts->no_batching || batching->given;
    pool->slots = opts->session_parallelism > 0 ? opts->session_parallelism : (int)uv_available_parallelism();
    if (batching->given && batching->threads > 0) pool->slots = (int)batching->threads;
    pool->most_queued = opts->max_queue > 0 ? opts->max_queue : 10000;
    if (batching->given) {
        const int64_t most = batching->max_enqueued * batching->max_batch;
        if (most < pool->most_queued) pool->most_queued = (int)most;
    }
    if (uv_mutex_init(&pool->lock) != 0 || uv_cond_init(&pool->work) != 0) {
        hr_free(pool);
        return hr_no_memory(err, "a lock");
    }
    *out = pool;
    const hr_status st = start_threads(pool, err);
    if (st == HR_OK) return HR_OK;
    hr__pool_free(pool);
    *out = NULL;
    return st;
}

void hr__pool_free(hr__pool *pool)
{
    if (!pool) return;
    uv_mutex_lock(&pool->lock);
    pool->stop = true;
    uv_cond_broadcast(&pool->work);
    uv_mutex_unlock(&pool->lock);
    for (int i = 0; i < pool->thread_count; i++) uv_thread_join(&pool->threads[i]);
    uv_mutex_destroy(&pool->lock);
    uv_cond_destroy(&pool->work);
    hr_free(pool->threads);
    hr_free(pool);
}
