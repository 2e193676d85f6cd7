/* An op goes through its trials: results and gradients of all of them, the further checks of some that work. */
#include <headrace/graph_op_conformance.h>

#include "conformance/allocations.h"
#include "train/conformance/trial.h"

enum {
    TRIALS = 100,
    MOST_TRIALS = 40000,     /* until there is a result at all */
    MOST_IDLE_TRIALS = 2000, /* where there need not be one */
    GRADIENT_TRIALS = 2000,  /* and after that until there is a gradient */
    COMPARISONS = 4,
    DIFFERENCE_TRIALS = 6000,
};

typedef struct check {
    const hr_graph_op *op;
    hr_graph_op_conformance_opts opts;
    unsigned checks;
    hr_graph_op_report report;
    int repeated, starved; /* trials that went through these checks */
    hr_error *err;
} check;

static void tell_reached(const check *c, const trial *t)
{
    for (int32_t id = 0; c->opts.reached && id < hr_graph_size(t->g); id++)
        c->opts.reached(hr_node_op((hr_node){t->g, id, 0}), c->opts.user);
}

/* *works: it has a result. */
static hr_status check_one(check *c, const trial_plan *plan, bool *works)
{
    trial t;
    hr_tensor out[MAX_FETCHES] = {{0}};
    const int64_t before = hr__conformance_alive();
    *works = false;
    c->report.trials++;
    const bool begun = hr__trial_begin(&t, plan);
    if (begun && hr_graph_error(t.g)) {
        hr__trial_check_error(&t, hr_graph_error(t.g)->code, hr_graph_error(t.g));
    } else if (begun && hr__trial_run(&t, out)) {
        *works = true;
        hr__trial_clear(&t, out);
        if (c->checks & HR_CONFORM_GRADIENTS && hr__trial_run_gradients(&t)) {
            c->report.gradients++;
            tell_reached(c, &t);
        }
    }
    HR_TRY(hr__trial_answer(&t, c->err));
    if (!begun) return hr_no_memory(c->err, "a trial");
    if (hr__conformance_counts() && hr__conformance_alive() != before)
        return hr_fail(c->err, HR_INTERNAL, "conformance.leak",
                       "%s: trial %lld: expected all memory to be freed, got %lld allocations that are left",
                       c->op->name, (long long)plan->number, (long long)(hr__conformance_alive() - before));
    return HR_OK;
}

static hr_status check_trial(check *c, int64_t number)
{
    bool works;
    const trial_plan plan = {.op = c->op, .number = number, .text_file = c->opts.text_file};
    HR_TRY(check_one(c, &plan, &works));
    if (!works) return HR_OK;
    c->report.results++;
    if (c->op->traits & HR_CALLS) return HR_OK; /* their results are those of functions */
    if (c->repeated < (c->opts.quick ? 3 : 24)) {
        c->repeated++;
        if (c->checks & HR_CONFORM_REPEATS) HR_TRY(hr__trial_repeats(&plan, c->err));
        if (c->checks & HR_CONFORM_ROUND_TRIP) HR_TRY(hr__trial_round_trip(&plan, c->err));
    }
    if (c->checks & HR_CONFORM_EAGER && c->report.eager < (c->opts.quick ? 3 : 24)) {
        bool compared;
        HR_TRY(hr__trial_eagerly(&plan, &compared, c->err));
        c->report.eager += compared;
    }
    if (c->checks & HR_CONFORM_STARVATION && c->starved < (c->opts.quick ? 1 : 6)) {
        c->starved++;
        HR_TRY(hr__trial_starvation(&plan, c->opts.quick ? 5 : 1, c->err));
    }
    return HR_OK;
}

/* Some ops ask for much at once: they get more trials. */
static hr_status check_trials(check *c)
{
    const bool derives = c->op->gradient && c->checks & HR_CONFORM_GRADIENTS;
    const int64_t first = c->opts.first, trials = c->opts.trials > 0 ? c->opts.trials : TRIALS;
    int64_t n = first;
    for (; n < first + trials; n++) HR_TRY(check_trial(c, n));
    if (first > 0 || c->op->traits & HR_CALLS) return HR_OK; /* some of its trials: they may have no result */
    const int64_t most = trials + (c->opts.may_be_idle ? MOST_IDLE_TRIALS : MOST_TRIALS);
    for (; n < most && c->report.results == 0; n++) HR_TRY(check_trial(c, n));
    if (c->report.results == 0 && !c->opts.may_be_idle)
        return hr_fail(c->err, HR_INTERNAL, "conformance.result",
                       "%s: expected a result in one of %lld trials, got none; the last one is refused with any inputs",
                       c->op->name, (long long)c->report.trials);
    for (const int64_t end = n + GRADIENT_TRIALS; n < end && derives && c->report.results && c->report.gradients == 0;
         n++)
        HR_TRY(check_trial(c, n));
    return HR_OK;
}

static hr_status check_differences(check *c)
{
    if (!c->op->gradient || c->op->traits & HR_CALLS || !(c->checks & HR_CONFORM_DIFFERENCES)) return HR_OK;
    for (int64_t i = 0; i < DIFFERENCE_TRIALS && c->report.comparisons < COMPARISONS; i++) {
        const trial_plan plan = {
            .op = c->op, .number = c->opts.first + i, .smooth = true, .text_file = c->opts.text_file};
        const verdict seen = hr__trial_differences(&plan, c->err);
        if (seen == DIFFERS) return HR_INTERNAL;
        c->report.comparisons += seen == FITS;
        if (c->opts.trials > 0 && c->opts.first > 0 && i + 1 >= c->opts.trials) break; /* these alone */
    }
    return HR_OK;
}

hr_status hr_conformance_graph_op(const hr_graph_op *op, const hr_graph_op_conformance_opts *opts, hr_error *err)
{
    hr_error own;
    check c = {.op = op, .opts = HR_OPTIONS(hr_graph_op_conformance_opts, opts), .err = err ? err : &own};
    c.checks = c.opts.checks;
    if (!op || !op->name)
        return hr_fail(err, HR_INVALID_ARGUMENT, "conformance.argument", "expected the descriptor of an op, got none");
    if (!c.checks) c.checks = ~0u & ~(hr__conformance_counts() ? 0u : (unsigned)HR_CONFORM_STARVATION);
    if (c.checks & HR_CONFORM_STARVATION && !hr__conformance_counts())
        return hr_fail(err, HR_FAILED_PRECONDITION, "conformance.allocator",
                       "%s: expected hr_conformance_count_allocations before anything else of Headrace", op->name);
    hr_set_threads(4);
    hr_status st = check_trials(&c);
    if (st == HR_OK) st = check_differences(&c);
    if (c.opts.report) *c.opts.report = c.report;
    return st;
}
