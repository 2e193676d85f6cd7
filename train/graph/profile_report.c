/* Profiles, the report: sums by op and by scope, and the verdict.
 *
 * The verdict is arithmetic on sums. If batches were there at once, the caller would not be in hr_next; and the input
 * would not take threads away from nodes, which counts as far as threads were busy. If nodes took no time, the input
 * would have all threads, but its slowest stage is planned by one at a time. */
#include "base/hash_map.h"
#include "base/text.h"
#include "train/graph/profile_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- sums by name ---- */

typedef struct sums {
    hr__map names; /* to the line's index */
    hr_profile_line *line;
    int count, capacity;
    hr__arena *arena; /* of names */
} sums;

static hr_status sums_add(sums *s, const char *name, size_t size, int64_t count, int64_t ns, hr_error *err)
{
    const int64_t *found = hr__map_find(&s->names, name, size);
    int at = found ? (int)*found : s->count;
    if (!found) {
        HR_TRY(hr__grow(&s->line, s->count, &s->capacity, sizeof *s->line, err));
        const char *copy = hr__arena_text(s->arena, name, size);
        if (!copy) return hr_no_memory(err, "a profile");
        HR_TRY(hr__map_add(&s->names, name, size, at, err));
        s->line[s->count++] = (hr_profile_line){.name = copy};
    }
    s->line[at].count += count;
    s->line[at].seconds += (double)ns / 1e9;
    return HR_OK;
}

/* Every prefix of the name that ends before a '/'. */
static hr_status sums_add_scopes(sums *s, const char *name, int64_t count, int64_t ns, hr_error *err)
{
    for (const char *end = strchr(name, '/'); end; end = strchr(end + 1, '/'))
        HR_TRY(sums_add(s, name, (size_t)(end - name), count, ns, err));
    return HR_OK;
}

/* What a function's nodes take is in the scope of its name. */
static hr_status add_step(const hr__profiled *q, const hr__profiled_step *step, sums *ops, sums *scopes, hr_error *err)
{
    const int64_t count = atomic_load(&step->count), ns = atomic_load(&step->ns);
    char name[512];
    if (count == 0) return HR_OK;
    HR_TRY(sums_add(ops, step->op, strlen(step->op), count, ns, err));
    if (!q->function) return sums_add_scopes(scopes, step->name, count, ns, err);
    snprintf(name, sizeof name, "%s/%s", q->function, step->name);
    return sums_add_scopes(scopes, name, count, ns, err);
}

static int by_seconds(const void *a, const void *b)
{
    const hr_profile_line *x = a, *y = b;
    if (x->seconds != y->seconds) return x->seconds < y->seconds ? 1 : -1;
    return strcmp(x->name, y->name);
}

/* Sorted, in the report's memory. */
static hr_status sums_give(hr_profile *p, sums *s, const hr_profile_line **out, int *count, hr_error *err)
{
    if (s->count) qsort(s->line, (size_t)s->count, sizeof *s->line, by_seconds);
    *out = hr__arena_copy(&p->reported, s->line, (size_t)s->count * sizeof *s->line);
    *count = s->count;
    return *out || s->count == 0 ? HR_OK : hr_no_memory(err, "a profile");
}

static void sums_free(sums *s)
{
    hr__map_free(&s->names);
    hr_free(s->line);
}

static hr_status add_up(hr_profile *p, hr_profile_report *r, hr_error *err)
{
    sums ops = {.arena = &p->reported}, scopes = {.arena = &p->reported};
    hr_status st = HR_OK;
    for (const hr__profiled *q = p->plans; q; q = q->next)
        for (int32_t i = 0; st == HR_OK && i < q->steps; i++) st = add_step(q, &q->step[i], &ops, &scopes, err);
    if (st == HR_OK) st = sums_give(p, &ops, &r->op, &r->ops, err);
    if (st == HR_OK) st = sums_give(p, &scopes, &r->scope, &r->scopes, err);
    for (int i = 0; st == HR_OK && i < r->ops; i++) r->node_thread_seconds += r->op[i].seconds;
    sums_free(&ops);
    sums_free(&scopes);
    return st;
}

/* ---- the verdict ---- */

static double more_of(double a, double b) { return a > b ? a : b; }

static void judge(hr_profile_report *r)
{
    const double all = r->threads * r->seconds, steps = (double)r->steps;
    const double rest = more_of(0, r->seconds - r->run_seconds - r->input_seconds);
    double slowest = 0;
    for (int i = 0; i < r->stages; i++) slowest = more_of(slowest, r->stage[i].plan_seconds);
    const double own = r->input_seconds - r->input_wait_seconds; /* the caller's work for the input */
    const double busy = r->node_thread_seconds + more_of(r->input_thread_seconds, own) + rest;
    const double taken = r->input_thread_seconds / r->threads * (busy < all ? busy / all : 1);
    const double least = more_of(r->node_thread_seconds / r->threads + rest, 0);
    r->step_seconds = r->seconds / steps;
    r->without_input = more_of(r->seconds - more_of(r->input_seconds, taken), least) / steps;
    r->without_nodes = more_of((r->input_thread_seconds + rest) / r->threads, slowest) / steps;
    r->input_binds = r->without_nodes > r->without_input;
}

hr_status hr_profile_report_of(hr_profile *p, hr_profile_report *out, hr_error *err)
{
    if (!p || !out)
        return hr_fail(err, HR_INVALID_ARGUMENT, "profile.argument",
                       "a profile: expected one, and a place for the report, got NULL");
    *out = (hr_profile_report){0};
    uv_mutex_lock(&p->lock);
    hr_status st = p->failed ? hr_no_memory(err, "a profile") : HR_OK;
    if (st == HR_OK && p->runs == 0)
        st = hr_fail(err, HR_FAILED_PRECONDITION, "profile.empty", "a profile: expected at least one run, got none");
    hr__arena_free(&p->reported);
    if (st == HR_OK) st = add_up(p, out, err);
    if (st == HR_OK) {
        out->threads = p->threads;
        out->steps = p->runs;
        out->seconds = (double)(p->ended - p->started) / 1e9;
        out->run_seconds = (double)p->run_ns / 1e9;
        out->input_seconds = p->input_seconds;
        out->input_wait_seconds = p->input_wait_seconds;
        out->input_waits = p->input_waits;
        out->stages = p->stages;
        out->stage = p->stage;
        for (int i = 0; i < p->stages; i++)
            out->input_thread_seconds += p->stage[i].plan_seconds + p->stage[i].work_seconds;
        judge(out);
    } else {
        *out = (hr_profile_report){0};
    }
    uv_mutex_unlock(&p->lock);
    return st;
}

/* ---- the text ---- */

static double percent(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

/* Those of 0.5 % and more; the others as one. */
static void write_lines(hr__text *t, const char *what, const hr_profile_line *line, int lines, double all, bool rest)
{
    hr_profile_line others = {.name = "others"};
    hr__text_printf(t, "%10s %11s %6s  %s\n", "runs", "thread ms", "share", what);
    for (int i = 0; i < lines; i++) {
        if (percent(line[i].seconds, all) >= 0.5) {
            hr__text_printf(t, "%10" PRId64 " %11.1f %5.1f%%  %s\n", line[i].count, line[i].seconds * 1e3,
                            percent(line[i].seconds, all), line[i].name);
        } else {
            others.count += line[i].count;
            others.seconds += line[i].seconds;
        }
    }
    if (rest && others.count)
        hr__text_printf(t, "%10" PRId64 " %11.1f %5.1f%%  %s\n", others.count, others.seconds * 1e3,
                        percent(others.seconds, all), others.name);
    hr__text_add(t, "\n");
}

static void write_stages(hr__text *t, const hr_profile_report *r)
{
    if (r->stages == 0) return;
    hr__text_printf(t, "%10s %11s %11s %6s  %s\n", "rows", "plan ms", "work ms", "share", "stage of the input");
    for (int i = 0; i < r->stages; i++) {
        const hr_stage_stats *s = &r->stage[i];
        hr__text_printf(t, "%10" PRId64 " %11.1f %11.1f %5.1f%%  %s\n", s->rows, s->plan_seconds * 1e3,
                        s->work_seconds * 1e3, percent(s->plan_seconds + s->work_seconds, r->input_thread_seconds),
                        s->name);
    }
    hr__text_add(t, "\n");
}

static void write_waits(hr__text *t, const hr_profile_report *r)
{
    const double all = r->threads * r->seconds, own = r->input_seconds - r->input_wait_seconds;
    const double rest = more_of(0, r->seconds - r->run_seconds - r->input_seconds);
    hr__text_printf(t,
                    "%" PRId64 " steps in %.3f s on %d thread%s, %.3f ms a step: runs %.1f %% of the time, input "
                    "%.1f %%, hooks and the rest %.1f %%\n",
                    r->steps, r->seconds, r->threads, r->threads > 1 ? "s" : "", r->step_seconds * 1e3,
                    percent(r->run_seconds, r->seconds), percent(r->input_seconds, r->seconds),
                    percent(rest, r->seconds));
    hr__text_printf(t, "the caller waited for the input %" PRId64 " times, %.1f ms, and worked for it for %.1f ms\n",
                    r->input_waits, r->input_wait_seconds * 1e3, own * 1e3);
    hr__text_printf(t, "the threads' time: nodes %.1f %%, input %.1f %%, neither %.1f %%\n",
                    percent(r->node_thread_seconds, all), percent(r->input_thread_seconds, all),
                    more_of(0, 100 - percent(r->node_thread_seconds + r->input_thread_seconds, all)));
}

static void write_verdict(hr__text *t, const hr_profile_report *r)
{
    const double with = r->without_input * 1e3, input = r->without_nodes * 1e3;
    if (r->stages == 0) {
        hr__text_add(t, "Nothing is known of an input.\n");
        return;
    }
    if (r->input_binds)
        hr__text_printf(t,
                        "The input binds: a step would take about %.3f ms instead of %.3f ms if batches were there at "
                        "once (%.1f times as fast), and %.3f ms if nodes took no time; make the input faster, or cache "
                        "it.\n",
                        with, r->step_seconds * 1e3, with > 0 ? r->step_seconds * 1e3 / with : 0, input);
    else
        hr__text_printf(t,
                        "Compute binds: a step would take about %.3f ms instead of %.3f ms if nodes took no time (%.1f "
                        "times as fast), and %.3f ms if batches were there at once; the input has more to give.\n",
                        input, r->step_seconds * 1e3, input > 0 ? r->step_seconds * 1e3 / input : 0, with);
}

char *hr_profile_text(hr_profile *p)
{
    hr__text t = {0};
    hr_error err;
    hr_profile_report r;
    if (hr_profile_report_of(p, &r, &err) != HR_OK) {
        hr__text_printf(&t, "%s\n", err.text);
        return hr__text_take(&t);
    }
    write_lines(&t, "op", r.op, r.ops, r.node_thread_seconds, true);
    write_lines(&t, "scope", r.scope, r.scopes, r.node_thread_seconds, false);
    write_stages(&t, &r);
    write_waits(&t, &r);
    write_verdict(&t, &r);
    return hr__text_take(&t);
}
