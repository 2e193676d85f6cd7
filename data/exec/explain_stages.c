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

line hr__line_of(const stage *s)
{
    line l = {.depth = s->depth, .stages = 1, .window = s->window, .unit_bytes = s->unit_bytes};
    name_nodes(&l, s->top->ds, s->top->below);
    for (int i = 0; i < s->works; i++)
        if (s->work[i].ds != s->top->ds) explain_stages_add_name(&l, s->work[i].ds);
    l.units = s->times.units, l.elements = s->times.elements, l.rows = s->times.rows, l.waits = s->times.waits;
    l.plan_ns = s->times.plan_ns, l.work_ns = s->times.work_ns;
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
    into->plan_ns += l->plan_ns, into->work_ns += l->work_ns;
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

void hr__explain_remember(const stage *s)
{
    line l = hr__line_of(s);
    l.queued = l.stages = 0;
    s->engine->pasts = add_line(s->engine->past, s->engine->pasts, &l);
}

/* Lock held. */
static int explain_stages_collect(const engine *e, line *lines)
{
    int count = e->pasts;
    memcpy(lines, e->past, sizeof e->past);
    for (int i = 0; i < e->stages; i++) {
        const line l = hr__line_of(e->stage[i]);
        count = add_line(lines, count, &l);
    }
    return count;
}

void hr_iterator_stats_of(hr_iterator *it, hr_iterator_stats *out)
{
    engine *e = &it->engine;
    line lines[MAX_LINES];
    *out = (hr_iterator_stats){.threads = 1};
    if (!it->open) return;
    hr__engine_lock(e);
    out->stages = explain_stages_collect(e, lines);
    out->waits = (int64_t)e->consumer_waits;
    out->wait_seconds = (double)e->consumer_wait_ns / 1e9;
    out->caller_seconds = (double)e->consumer_ns / 1e9;
    hr__engine_unlock(e);
    out->threads = e->max_workers + 1;
    for (int i = 0; i < out->stages; i++) {
        hr_stage_stats *s = &out->stage[i];
        memcpy(s->name, lines[i].kind, sizeof s->name);
        s->units = lines[i].units, s->rows = lines[i].rows, s->waits = lines[i].waits;
        s->plan_seconds = (double)lines[i].plan_ns / 1e9, s->work_seconds = (double)lines[i].work_ns / 1e9;
    }
}

/* ---- the verdict ---- */

static void write_verdict(hr__text *t, const engine *e, const line *lines, int count, uint64_t total, double seconds)
{
    const line *slowest = lines;
    for (int i = 1; i < count; i++)
        if (lines[i].plan_ns + lines[i].work_ns > slowest->plan_ns + slowest->work_ns) slowest = &lines[i];
    if (count == 0 || total == 0) {
        hr__text_printf(t, "Nothing has run yet.\n");
        return;
    }
    const double busy = (double)total / 1e9 / (seconds * (e->max_workers + 1));
    const double share = 100.0 * (double)(slowest->plan_ns + slowest->work_ns) / (double)total;
    if (busy < 0.5)
        hr__text_printf(
            t,
            "The consumer is the bottleneck: the pipeline was at work for %.0f %% of its threads' time; it has "
            "more to give than is asked of it.\n",
            100 * busy);
    else if (slowest->plan_ns > slowest->work_ns)
        hr__text_printf(
            t,
            "The bottleneck is planning %s (%.0f %% of the time), which one thread does at a time; read more "
            "files side by side, or leave less to plan.\n",
            slowest->name, share);
    else
        hr__text_printf(t,
                        "The bottleneck is the work of %s (%.0f %% of the time); more threads would help, or a cache "
                        "after it.\n",
                        slowest->name, share);
}

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
    if (!it->open) return hr_strdup("no memory for an iterator\n");
    hr__engine_lock(e);
    const int count = explain_stages_collect(e, lines);
    const double held = (double)atomic_load(&e->store.held) / (1 << 20), peak = (double)atomic_load(&e->store.peak);
    const uint64_t waits = e->consumer_waits, wait_ns = e->consumer_wait_ns;
    const size_t over = e->over_budget;
    hr__engine_unlock(e);
    uint64_t total = 0;
    for (int i = 0; i < count; i++) total += lines[i].plan_ns + lines[i].work_ns;
    const double seconds = (double)(uv_hrtime() - e->started) / 1e9;
    hr__text_printf(&t, "%8s %10s %9s %9s %6s %7s %9s %8s %6s  %s\n", "units", "rows", "plan ms", "work ms", "share",
                    "waits", "queue", "unit KiB", "errors", "stage");
    for (int i = 0; i < count; i++) explain_stages_write_line(&t, &lines[i], total);
    hr__text_printf(&t, "%d workers and the caller, %.3f s; the caller waited %" PRIu64 " times, %.1f ms\n",
                    e->max_workers, seconds, waits, (double)wait_ns / 1e6);
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
    write_verdict(&t, e, lines, count, total, seconds);
    return hr__text_take(&t);
}
