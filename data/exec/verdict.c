/* What binds a run, and what would help. All of it follows from a few sums: how long one thread at a time had to plan a
 * stage, how long the consumer was at its own work, how long all threads were busy, how long a processor was. With n
 * threads on p processors a run takes at least the longest of
 *
 *   the longest plan of one stage,   the consumer's own work,   all of it / n,   what needs a processor / p
 *
 * (the bounds of operational analysis: Denning and Buzen, The Operational Analysis of Queueing Network Models, 1978).
 * A gain is the ratio of two such bounds, as if what a run takes beyond its bound stayed in proportion. */
#include "data/exec/engine.h"
#include <string.h>

/* A run as busy as this is bound by what is busy: hand-overs and the machine's other work take the rest. */
static const double BUSY = 0.8;
/* Idle for such a share of the time for one reason: that is what binds. */
static const double MUCH = 0.35;

typedef struct sums {
    const hr_iterator_stats *of;
    double consumer;           /* at its own work */
    double busy, on_processor; /* all threads' in plans and works, and in these not asleep */
    double serial;             /* the longest plan of one stage */
    int serial_stage, largest_stage;
    double largest; /* of all stages' plans and works */
} sums;

static double larger_of(double a, double b) { return a > b ? a : b; }

/* How long one of the stages side by side was in its plan, if they share it equally. */
static double serial_of(const hr_iterator_stats *of, const hr_stage_stats *s)
{
    const double side_by_side = of->seconds > 0 ? s->alive_seconds / of->seconds : 0;
    return s->plan_seconds / larger_of(1, side_by_side);
}

static sums sums_of(const hr_iterator_stats *of)
{
    sums all = {.of = of, .consumer = larger_of(0, of->seconds - of->caller_seconds), .serial_stage = -1};
    all.largest_stage = -1;
    for (int i = 0; i < of->stages; i++) {
        const hr_stage_stats *s = &of->stage[i];
        const double both = s->plan_seconds + s->work_seconds, serial = serial_of(of, s);
        all.busy += both;
        all.on_processor += s->plan_seconds * (1 - s->plan_asleep) + s->work_seconds * (1 - s->work_asleep);
        if (serial > all.serial) all.serial = serial, all.serial_stage = i;
        if (both > all.largest) all.largest = both, all.largest_stage = i;
    }
    return all;
}

/* The least that it takes. */
static double least_seconds(const sums *all, int threads, double processors)
{
    const double total = all->busy + all->consumer;
    if (threads <= 1) return total;
    const double ends = larger_of(all->consumer, all->serial);
    const double shared = larger_of(total / threads, (all->on_processor + all->consumer) / larger_of(processors, 1));
    return larger_of(ends, shared);
}

static double gain(double before, double after) { return after > 0 && before > after ? before / after : 1; }

/* ---- what binds ---- */

static void bound_by(hr_verdict *out, hr_bound by, int stage, double share)
{
    const double at_most = share > 1 ? 1 : share;
    *out = (hr_verdict){.by = by, .stage = stage, .share = at_most < 0 ? 0 : at_most};
}

/* A stage: by its plan, where one thread alone is at it for most of the run or of its time, else by its work. */
static void bound_by_stage(const sums *all, hr_verdict *out)
{
    const double seconds = all->of->seconds;
    if (all->serial >= BUSY * seconds && all->of->threads > 1) {
        const hr_stage_stats *s = &all->of->stage[all->serial_stage];
        bound_by(out, HR_BOUND_PLAN, all->serial_stage, all->serial / seconds);
        out->asleep = s->plan_asleep > 0.5;
        return;
    }
    const hr_stage_stats *s = &all->of->stage[all->largest_stage];
    const bool plan = s->plan_seconds > s->work_seconds;
    bound_by(out, plan ? HR_BOUND_PLAN : HR_BOUND_WORK, all->largest_stage,
             all->largest / (seconds * all->of->threads));
    out->asleep = (plan ? s->plan_asleep : s->work_asleep) > 0.5;
}

/* Threads were idle, and neither the consumer nor one plan alone kept them waiting. */
static void bound_by_rule_or_stage(const sums *all, hr_verdict *out)
{
    const double time = all->of->seconds * all->of->threads, window = all->of->window_seconds / time;
    const double budget = all->of->budget_seconds / time;
    if (larger_of(window, budget) > MUCH)
        bound_by(out, window > budget ? HR_BOUND_WINDOW : HR_BOUND_BUDGET, -1, larger_of(window, budget));
    else if (all->consumer > all->largest)
        bound_by(out, HR_BOUND_CONSUMER, -1, all->consumer / all->of->seconds);
    else
        bound_by_stage(all, out);
}

static void find_bound(const sums *all, hr_verdict *out)
{
    const hr_iterator_stats *of = all->of;
    if (of->index_seconds > MUCH * of->seconds)
        bound_by(out, HR_BOUND_INDEX, -1, of->index_seconds / of->seconds);
    else if (all->consumer >= BUSY * of->seconds || (of->threads <= 1 && all->consumer >= all->largest))
        bound_by(out, HR_BOUND_CONSUMER, -1, all->consumer / of->seconds);
    else if (all->serial >= BUSY * of->seconds)
        bound_by_stage(all, out);
    else
        bound_by_rule_or_stage(all, out);
}

/* ---- what would help ---- */

/* With a cache of what the stage gives, which is then read at about the speed of memory: what lies nearer to the consumer
 * is left. */
static double seconds_with_cache(const sums *all, int stage, double bytes)
{
    static const double BYTES_PER_SECOND = 4e9;
    sums left = {.of = all->of, .consumer = all->consumer, .busy = bytes / BYTES_PER_SECOND};
    left.on_processor = left.busy;
    for (int i = 0; i < all->of->stages; i++) {
        const hr_stage_stats *s = &all->of->stage[i];
        if (s->depth >= all->of->stage[stage].depth) continue;
        left.busy += s->plan_seconds + s->work_seconds;
        left.on_processor += s->plan_seconds * (1 - s->plan_asleep) + s->work_seconds * (1 - s->work_asleep);
        left.serial = larger_of(left.serial, serial_of(all->of, s));
    }
    return least_seconds(&left, all->of->threads, all->of->processors);
}

static void find_remedies(const sums *all, hr_verdict *out)
{
    const hr_iterator_stats *of = all->of;
    const double now = least_seconds(all, of->threads, of->processors);
    const bool idle = out->by == HR_BOUND_WINDOW || out->by == HR_BOUND_BUDGET; /* one more would be idle as well */
    out->next_thread = idle ? 1 : gain(now, least_seconds(all, of->threads + 1, of->processors));
    out->next_processor = idle ? 1 : gain(now, least_seconds(all, of->threads + 1, of->processors + 1));
    out->larger_window = gain(of->seconds, larger_of(now, of->seconds - of->window_seconds / of->threads));
    out->index = gain(of->seconds, of->seconds - of->index_seconds);
    const int stage = out->stage >= 0 ? out->stage : all->largest_stage;
    const double bytes = (double)of->stage[stage].unit_bytes * (double)of->stage[stage].units;
    out->cache_bytes = bytes < 0x1p62 ? (int64_t)bytes : INT64_MAX;
    out->cache = gain(now, seconds_with_cache(all, stage, bytes));
}

void hr_judge(const hr_iterator_stats *stats, hr_verdict *out)
{
    const sums all = sums_of(stats);
    *out = (hr_verdict){.stage = -1, .next_thread = 1, .next_processor = 1, .larger_window = 1, .index = 1, .cache = 1};
    if (all.largest_stage < 0 || !(stats->seconds > 0)) return;
    find_bound(&all, out);
    find_remedies(&all, out);
}

/* ---- in words ---- */

static void write_bound(hr__text *t, const hr_iterator_stats *stats, const hr_verdict *v)
{
    const double percent = 100 * v->share;
    const char *stage = v->stage >= 0 ? stats->stage[v->stage].name : "";
    switch (v->by) {
    case HR_BOUND_UNKNOWN:
        hr__text_add(t, "Nothing has run yet.\n");
        break;
    case HR_BOUND_CONSUMER:
        hr__text_printf(t,
                        "The consumer is the bottleneck: %.0f %% of the time it was at its own work; the pipeline has "
                        "more to give than is asked of it.\n",
                        percent);
        break;
    case HR_BOUND_PLAN:
        hr__text_printf(t, "The bottleneck is planning %s (%.0f %% of the %s), which one thread does at a time%s.\n",
                        stage, percent, stats->threads > 1 ? "threads' time" : "time",
                        v->asleep ? "; mostly it waits for bytes, or a function does" : "");
        break;
    case HR_BOUND_WORK:
        hr__text_printf(t, "The bottleneck is the work of %s (%.0f %% of the threads' time)%s.\n", stage, percent,
                        v->asleep ? "; mostly its threads are asleep" : "");
        break;
    case HR_BOUND_WINDOW:
        hr__text_printf(t,
                        "The bottleneck is the order: %.0f %% of the threads' time they were idle, because all waited "
                        "for a slow unit with its window full behind it.\n",
                        percent);
        break;
    case HR_BOUND_BUDGET:
        hr__text_printf(t, "The bottleneck is the budget: %.0f %% of the threads' time it kept them idle.\n", percent);
        break;
    case HR_BOUND_INDEX:
        hr__text_printf(t, "The bottleneck is the pass over files to find their records: %.0f %% of the time.\n",
                        percent);
        break;
    }
}

/* What brings less than a twentieth is not worth a word. */
static bool helps(double times) { return times >= 1.05; }

static void write_threads(hr__text *t, const hr_iterator_stats *stats, const hr_verdict *v)
{
    if (helps(v->next_thread))
        hr__text_printf(t, "One more thread: %.2f times as fast.\n", v->next_thread);
    else if (helps(v->next_processor))
        hr__text_printf(t,
                        "One more thread brings nothing on %.4g processors, one more processor %.2f times the speed.\n",
                        stats->processors, v->next_processor);
    else
        hr__text_add(t, "One more thread brings nothing.\n");
}

void hr__verdict_write(hr__text *t, const hr_iterator_stats *stats, const hr_verdict *v)
{
    write_bound(t, stats, v);
    if (v->by == HR_BOUND_UNKNOWN) return;
    write_threads(t, stats, v);
    if (helps(v->larger_window))
        hr__text_printf(t, "A larger window (.window, or .unordered): up to %.2f times as fast.\n", v->larger_window);
    if (v->by == HR_BOUND_BUDGET) hr__text_add(t, "A larger .budget lets more run at once.\n");
    if (helps(v->index))
        hr__text_printf(t, "Kept indexes of the files (headrace index): %.2f times as fast.\n", v->index);
    if (helps(v->cache) && v->stage >= 0)
        hr__text_printf(t, "A cache of what %s gives (about %.1f MiB): %s %.2g times as fast in each further pass.\n",
                        stats->stage[v->stage].name, (double)v->cache_bytes / (1 << 20),
                        v->cache > 100 ? "over" : "up to", v->cache > 100 ? 100 : v->cache);
}
