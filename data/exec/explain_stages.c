/* What a run was like: counters of what was skipped or repaired, and a table of the stages with a verdict. */
#include "base/text.h"
#include "data/exec/engine.h"
#include "data/iterator.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- counters ---- */

int64_t hr__count(engine *e, const char *what, int64_t count)
{
    int64_t now = 0;
    hr__engine_lock(e);
    int i = 0;
    while (i < e->reports && strcmp(e->report[i].what, what) != 0) i++;
    if (i == e->reports && i < MAX_REPORT) e->report[e->reports++] = (hr_report_line){what, 0};
    if (i < e->reports) now = e->report[i].count += count;
    hr__engine_unlock(e);
    return now;
}

const hr_report_line *hr_iterator_report(hr_iterator *it)
{
    engine *e = &it->engine;
    if (!it->open) return it->report;
    hr__engine_lock(e);
    int lines = 0;
    for (; lines < e->reports; lines++) it->report[lines] = e->report[lines];
    if (e->over_budget) it->report[lines++] = (hr_report_line){"budget.exceeded_bytes", (int64_t)e->over_budget};
    it->report[lines] = (hr_report_line){NULL, 0};
    hr__engine_unlock(e);
    return it->report;
}

/* ---- stages ---- */

static void explain_stages_append(char *text, size_t size, const char *name)
{
    const size_t used = strlen(text);
    snprintf(text + used, size - used, "%s%s", used ? " > " : "", name);
}

static void explain_stages_add_name(line *l, const hr_dataset *ds)
{
    char described[200];
    hr__dataset_describe(ds, described, sizeof described);
    explain_stages_append(l->kind, sizeof l->kind, ds->op->name);
    explain_stages_append(l->name, sizeof l->name, described);
}

/* The operators that pull from each other directly, as far as the datasets say: nodes come into being while it runs. */
static void name_nodes(line *l, const hr_dataset *ds, const hr_dataset *below)
{
    if (below && hr__dataset_is_node(ds, below)) name_nodes(l, below, below->inputs ? below->in[0] : NULL);
    explain_stages_add_name(l, ds);
}

/* The run ends with its last element: what comes later is not its time. */
static uint64_t run_end(const engine *e)
{
    const uint64_t ended = e->ended;
    return ended ? ended : uv_hrtime();
}

static uint64_t alive_ns(const stage *s)
{
    const uint64_t end = run_end(s->engine);
    return end > s->opened_at ? end - s->opened_at : 0;
}

static void add_asleep(asleep *into, const asleep *more)
{
    into->sampled_ns += more->sampled_ns;
    into->asleep_ns += more->asleep_ns;
}

line hr__line_of(const stage *s)
{
    line l = {.depth = s->depth, .stages = 1, .window = s->window, .unit_bytes = s->unit_bytes};
    name_nodes(&l, s->top->ds, s->top->below);
    for (int i = 0; i < s->works; i++)
        if (s->work[i].ds != s->top->ds) explain_stages_add_name(&l, s->work[i].ds);
    l.units = s->times.units, l.elements = s->times.elements, l.rows = s->times.rows, l.waits = s->times.waits;
    l.plan_ns = s->times.plan_ns, l.work_ns = s->times.work_ns;
    l.plan_asleep = s->times.plan_asleep, l.work_asleep = s->times.work_asleep;
    if (s->engine) l.alive_ns = alive_ns(s); /* else it does not run */
    l.errors = s->times.errors;
    l.grown = s->grown;
    l.queued = s->planned - s->taken;
    return l;
}

static void explain_stages_merge(line *into, const line *l)
{
    if (strcmp(into->name, l->name) != 0) memcpy(into->name, l->kind, sizeof l->kind);
    into->stages += l->stages;
    into->units += l->units, into->elements += l->elements, into->rows += l->rows, into->waits += l->waits;
    into->queued += l->queued;
    into->errors += l->errors, into->grown += l->grown;
    into->plan_ns += l->plan_ns, into->work_ns += l->work_ns, into->alive_ns += l->alive_ns;
    add_asleep(&into->plan_asleep, &l->plan_asleep);
    add_asleep(&into->work_asleep, &l->work_asleep);
    if (l->unit_bytes > into->unit_bytes) into->unit_bytes = l->unit_bytes;
}

/* Stages of one kind at one depth are one line. Returns how many lines there are then. */
static int add_line(line *lines, int count, const line *l)
{
    int same = 0;
    while (same < count && (lines[same].depth != l->depth || strcmp(lines[same].kind, l->kind) != 0)) same++;
    if (same < count)
        explain_stages_merge(&lines[same], l);
    else if (count < MAX_LINES)
        lines[count++] = *l;
    return count;
}

/* Without memory it is forgotten: what it gave does not depend on it. */
void hr__explain_remember(const stage *s)
{
    engine *e = s->engine;
    line l = hr__line_of(s);
    l.queued = l.stages = 0;
    if (!e->past) e->past = hr_malloc(MAX_LINES * sizeof *e->past);
    if (e->past) e->pasts = add_line(e->past, e->pasts, &l);
}

/* Lock held. */
static int explain_stages_collect(const engine *e, line *lines)
{
    int count = e->pasts;
    if (count > 0) memcpy(lines, e->past, (size_t)count * sizeof *lines);
    for (int i = 0; i < e->stages; i++) {
        const line l = hr__line_of(e->stage[i]);
        count = add_line(lines, count, &l);
    }
    return count;
}

static double seconds_of(uint64_t ns) { return (double)ns / 1e9; }

static double share_asleep(const asleep *a) { return a->sampled_ns ? (double)a->asleep_ns / (double)a->sampled_ns : 0; }

static hr_stage_stats stats_of_line(const line *l)
{
    hr_stage_stats s = {.depth = l->depth, .units = l->units, .rows = l->rows, .waits = l->waits};
    memcpy(s.name, l->kind, sizeof s.name);
    s.plan_seconds = seconds_of(l->plan_ns), s.work_seconds = seconds_of(l->work_ns);
    s.plan_asleep = share_asleep(&l->plan_asleep), s.work_asleep = share_asleep(&l->work_asleep);
    s.alive_seconds = seconds_of(l->alive_ns);
    s.unit_bytes = (int64_t)l->unit_bytes;
    return s;
}

static double counted_microseconds(const engine *e, const char *what)
{
    for (int i = 0; i < e->reports; i++)
        if (strcmp(e->report[i].what, what) == 0) return (double)e->report[i].count / 1e6;
    return 0;
}

/* What threads had nothing to do in, by the reasons for it as they were seen. */
static double idle_seconds(const engine *e, const hr_iterator_stats *of, idle_reason reason)
{
    double idle = of->seconds * of->threads - (of->seconds - of->caller_seconds);
    uint64_t seen = 0;
    for (int i = 0; i < of->stages; i++) idle -= of->stage[i].plan_seconds + of->stage[i].work_seconds;
    for (int i = IDLE_NONE + 1; i < IDLE_REASONS; i++) seen += e->idle_ns[i];
    return idle > 0 && seen > 0 ? idle * (double)e->idle_ns[reason] / (double)seen : 0;
}

/* Lock held. */
static void collect_stats(const engine *e, const line *lines, int count, hr_iterator_stats *out)
{
    *out = (hr_iterator_stats){.threads = e->max_workers + 1, .processors = hr__pool_processors(), .stages = count};
    out->seconds = seconds_of(run_end(e) - e->started);
    out->waits = (int64_t)e->consumer_waits;
    out->wait_seconds = seconds_of(e->consumer_wait_ns);
    out->caller_seconds = seconds_of(e->consumer_ns);
    out->index_seconds = counted_microseconds(e, "index.made_us");
    for (int i = 0; i < count; i++) out->stage[i] = stats_of_line(&lines[i]);
    out->window_seconds = idle_seconds(e, out, IDLE_WINDOW);
    out->budget_seconds = idle_seconds(e, out, IDLE_BUDGET);
}

void hr_iterator_stats_of(hr_iterator *it, hr_iterator_stats *out)
{
    engine *e = &it->engine;
    line lines[MAX_LINES];
    *out = (hr_iterator_stats){.threads = 1, .processors = 1};
    if (!it->open) return;
    hr__engine_lock(e);
    const int count = explain_stages_collect(e, lines);
    collect_stats(e, lines, count, out);
    hr__engine_unlock(e);
}

/* ---- as a text ---- */

static void explain_stages_write_line(hr__text *t, const line *l, uint64_t total)
{
    const double busy = (double)(l->plan_ns + l->work_ns);
    hr__text_printf(
        t, "%8" PRId64 " %10" PRId64 " %9.1f %9.1f %5.1f%% %7" PRId64 " %5" PRId64 "/%-3d %8.1f %6" PRId64 "  %s\n",
        l->units, l->rows, (double)l->plan_ns / 1e6, (double)l->work_ns / 1e6, total ? 100 * busy / (double)total : 0,
        l->waits, l->queued, l->window * l->stages, (double)l->unit_bytes / 1024, l->errors, l->name);
}

char *hr_explain(hr_iterator *it)
{
    engine *e = &it->engine;
    hr__text t = {0};
    line lines[MAX_LINES];
    hr_iterator_stats stats;
    hr_verdict verdict;
    if (!it->open) return hr_strdup("no memory for an iterator\n");
    hr__engine_lock(e);
    const int count = explain_stages_collect(e, lines);
    const double held = (double)atomic_load(&e->store.held) / (1 << 20), peak = (double)atomic_load(&e->store.peak);
    const size_t over = e->over_budget;
    collect_stats(e, lines, count, &stats);
    hr__engine_unlock(e);
    uint64_t total = 0;
    for (int i = 0; i < count; i++) total += lines[i].plan_ns + lines[i].work_ns;
    hr__text_printf(&t, "%8s %10s %9s %9s %6s %7s %9s %8s %6s  %s\n", "units", "rows", "plan ms", "work ms", "share",
                    "waits", "queue", "unit KiB", "errors", "stage");
    for (int i = 0; i < count; i++) explain_stages_write_line(&t, &lines[i], total);
    hr__text_printf(&t, "%d workers and the caller, %.3f s; the caller waited %" PRId64 " times, %.1f ms\n",
                    e->max_workers, stats.seconds, stats.waits, stats.wait_seconds * 1e3);
    hr__text_printf(&t, "%.1f MiB held, %.1f at most, of a budget of %.1f MiB\n", held, peak / (1 << 20),
                    (double)e->budget / (1 << 20));
    for (int i = 0; i < count; i++)
        if (lines[i].grown)
            hr__text_printf(
                &t, "%s runs further ahead than at first (%d times more): it was found empty after it had been full.\n",
                lines[i].name, lines[i].grown);
    if (over > 0)
        hr__text_printf(&t, "The budget is too small: %.1f MiB more were needed at once; set .budget.\n",
                        (double)over / (1 << 20));
    hr_judge(&stats, &verdict);
    hr__verdict_write(&t, &stats, &verdict);
    return hr__text_take(&t);
}
