/* Profiles: what they add up, which of input and compute they find to bind, and the trace that they leave. */
#include "tests/testing.h"
#include "train/graph/graph_internal.h"

#include <cJSON.h>
#include <headrace/control_flow.h>
#include <headrace/ops.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- a training's loop: a batch, a run ---- */

enum { STEPS = 24, SIDE = 128 };

/* As long as a batch of a slow input takes. */
static hr_status sleepily(const hr_element *in, hr_builder *out, hr_call *call, void *user)
{
    const struct timespec t = {0, *(const long *)user * 1000000};
    (void)call;
    nanosleep(&t, NULL);
    const hr_tensor *from = hr_get(in, "value");
    memcpy(hr_set(out, "value"), from->data, (size_t)from->count * sizeof(int64_t));
    return HR_OK;
}

static hr_dataset *input_of(const long *ms)
{
    hr_dataset *ds = hr_batch(hr_range(STEPS * 4), 4, .drop_remainder = true);
    return *ms > 0 ? hr_map(ds, sleepily, (void *)(uintptr_t)ms) : ds;
}

static bool alone; /* runs are in the calling thread */

typedef struct loop {
    hr_graph *graph;
    hr_session *session;
    hr_profile *profile;
    hr_trace *trace;
    hr_node matrix, batch, result;
    float values[SIDE * SIDE];
} loop;

static void as_it_is(hr_graph *g, const hr_node *vars, hr_node *results, void *user)
{
    (void)g, (void)user;
    results[0] = hr_add(vars[0], hr_scalar(vars[0].graph, HR_FLOAT, 1));
}

static void below_three(hr_graph *g, const hr_node *vars, hr_node *results, void *user)
{
    (void)user;
    results[0] = hr_less(vars[0], hr_scalar(g, HR_FLOAT, 3));
}

/* So many products in the scope "deep/heavy", and a loop of three turns. */
static void loop_open(loop *l, int products, int workers, bool traced)
{
    *l = (loop){.graph = hr_graph_new()};
    for (int i = 0; i < SIDE * SIDE; i++) l->values[i] = 1.0F / SIDE;
    l->matrix = hr_placeholder(l->graph, HR_FLOAT, HR_SHAPE(SIDE, SIDE));
    l->batch = hr_placeholder(l->graph, HR_INT64, HR_SHAPE(-1));
    hr_node x = l->matrix, turns, zero = hr_scalar(l->graph, HR_FLOAT, 0);
    hr_name_scope(l->graph, "deep");
    hr_name_scope(l->graph, "heavy");
    for (int i = 0; i < products; i++) x = hr_matmul(x, l->matrix);
    hr_scope_end(l->graph);
    hr_scope_end(l->graph);
    hr_while_loop(below_three, as_it_is, NULL, &zero, 1, &turns);
    x = hr_add(hr_reduce_mean(x), turns);
    l->result = hr_add(x, hr_reduce_sum(hr_cast_to(l->batch, HR_FLOAT)));
    l->session = hr_session_new(l->graph, .workers = &workers);
    l->trace = traced ? hr_trace_new() : NULL;
    l->profile = hr_profile_new(.trace = l->trace);
}

static void loop_close(loop *l)
{
    hr_profile_free(l->profile);
    hr_trace_free(l->trace);
    hr_session_free(l->session);
    hr_graph_free(l->graph);
}

static hr_status one_step(loop *l, const hr_element *e, hr_error *err)
{
    hr_tensor out = {0};
    const hr_feed feeds[] = {{l->matrix, hr_tensor_of(HR_FLOAT, HR_SHAPE(SIDE, SIDE), l->values)},
                             {l->batch, *hr_get(e, "value")}};
    const hr_status st = hr_session_run_with(l->session, feeds, 2, &l->result, 1, &out,
                                             HR_RUN_OPTS(.profile = l->profile, .alone = alone), err);
    hr_tensor_clear(&out);
    return st;
}

static hr_status loop_train(loop *l, hr_dataset *ds, int workers, hr_error *err)
{
    const hr_element *e;
    hr_iterator *it = hr_iterate(ds, .workers = &workers, .spans = hr_profile_trace(l->profile));
    hr_status st = HR_OK;
    hr_profile_begin(l->profile);
    while (st == HR_OK && (st = hr_next(it, &e)) == HR_OK) st = one_step(l, e, err);
    if (st < 0 && hr_iterator_error(it)) *err = *hr_iterator_error(it);
    hr_profile_add_input(l->profile, it);
    hr_iterator_free(it);
    return st == HR_END ? HR_OK : st;
}

static void run_loop(loop *l, int products, long ms, int workers, bool traced, hr_profile_report *report)
{
    hr_error err = {0};
    loop_open(l, products, workers, traced);
    assert_ok(loop_train(l, input_of(&ms), workers, &err), &err);
    assert_ok(hr_profile_report_of(l->profile, report, &err), &err);
}

/* ---- sums ---- */

static const hr_profile_line *line_of(const hr_profile_line *line, int lines, const char *name)
{
    for (int i = 0; i < lines; i++)
        if (strcmp(line[i].name, name) == 0) return &line[i];
    fail_msg("there is no line %s", name);
    return NULL;
}

static void every_node_counts_once_for_its_op_and_its_scopes(void **state)
{
    (void)state;
    for (int i = 0; i <= 3; i++) {
        static loop l;
        hr_profile_report r;
        const int workers = i < 3 ? i : 2;
        alone = i == 3;
        run_loop(&l, 6, 0, workers, false, &r);
        assert_exactly(r.steps, STEPS);
        assert_exactly(r.threads, workers + 1);
        const hr_profile_line *products = line_of(r.op, r.ops, "MatMul");
        assert_exactly(products->count, 6 * STEPS);
        const hr_profile_line *deep = line_of(r.scope, r.scopes, "deep"),
                              *heavy = line_of(r.scope, r.scopes, "deep/heavy");
        assert_exactly(deep->count, 6 * STEPS);
        assert_exactly(heavy->count, 6 * STEPS);
        assert_true(fabs(heavy->seconds - products->seconds) < 1e-9);
        assert_exactly(line_of(r.op, r.ops, "StatelessWhile")->count, STEPS);
        double sum = 0;
        for (int op = 0; op < r.ops; op++) {
            sum += r.op[op].seconds;
            assert_at_least(r.op[op].seconds, 0);
            if (op > 0) assert_at_most(r.op[op].seconds, r.op[op - 1].seconds);
        }
        assert_true(fabs(sum - r.node_thread_seconds) < 1e-9);
        assert_at_most(r.node_thread_seconds, r.threads * r.run_seconds);
        assert_at_most(r.run_seconds + r.input_seconds, r.seconds * 1.0001);
        assert_exactly(r.stage[0].rows, STEPS * 4);
        loop_close(&l);
    }
    alone = false;
}

/* What runs in a function is named by it. */
static void functions_are_scopes(void **state)
{
    (void)state;
    static loop l;
    hr_profile_report r;
    int bodies = 0;
    run_loop(&l, 1, 0, 0, false, &r);
    for (int i = 0; i < r.scopes; i++) bodies += strstr(r.scope[i].name, "body") && r.scope[i].count >= 3 * STEPS;
    assert_more(bodies, 0);
    loop_close(&l);
}

static void runs_without_it_are_not_in_it(void **state)
{
    (void)state;
    static loop l;
    hr_error err;
    hr_profile_report r;
    run_loop(&l, 1, 0, 0, false, &r);
    hr_profile_begin(l.profile);
    assert_status(hr_profile_report_of(l.profile, &r, &err), HR_FAILED_PRECONDITION);
    assert_string_equal(err.kind, "profile.empty");
    assert_exactly(r.ops, 0);
    hr_profile *p = l.profile;
    l.profile = NULL;
    assert_ok(loop_train(&l, input_of(&(long){0}), 0, &err), &err);
    assert_status(hr_profile_report_of(p, &r, &err), HR_FAILED_PRECONDITION);
    char *text = hr_profile_text(p);
    assert_text_contains(text, "at least one run");
    hr_free(text);
    hr_profile_free(p);
    loop_close(&l);
}

static void wrong_arguments_are_refused(void **state)
{
    (void)state;
    hr_error err;
    hr_profile_report r;
    hr_trace *t = hr_trace_new();
    assert_status(hr_profile_report_of(NULL, &r, &err), HR_INVALID_ARGUMENT);
    assert_status(hr_trace_write(NULL, "x", &err), HR_INVALID_ARGUMENT);
    assert_status(hr_trace_write(t, NULL, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "trace.argument");
    assert_status(hr_trace_write(t, "no/such/folder/x.json", &err), HR_NOT_FOUND);
    hr_iterator *it = hr_iterate(hr_range(1), .trace = "x.json", .spans = t);
    assert_string_equal(hr_iterator_error(it)->kind, "trace.argument");
    hr_iterator_free(it);
    hr_trace_free(t);
    hr_profile_begin(NULL);
    hr_profile_add_input(NULL, NULL);
    hr_profile_free(NULL);
    hr_trace_free(NULL);
    assert_null(hr_profile_trace(NULL));
}

/* ---- the verdict ---- */

/* Batches take 8 ms each, and a step next to nothing. */
static void a_slow_input_binds_by_its_factor(void **state)
{
    (void)state;
    for (int workers = 0; workers < 2; workers++) {
        static loop l;
        hr_profile_report r;
        run_loop(&l, 0, 8, workers, false, &r);
        const double each = 8e-3 / (workers + 1);
        assert_true(r.input_binds);
        assert_at_least(r.without_nodes, 0.9 * each);
        assert_at_most(r.without_nodes, 1.3 * r.step_seconds);
        assert_at_least(r.without_nodes, 0.7 * r.step_seconds);
        assert_at_most(r.without_input, r.step_seconds / 2);
        char *text = hr_profile_text(l.profile);
        assert_text_contains(text, "The input binds");
        hr_free(text);
        loop_close(&l);
    }
}

static void a_heavy_graph_binds_over_a_quick_input(void **state)
{
    (void)state;
    for (int workers = 0; workers < 2; workers++) {
        static loop l;
        hr_profile_report r;
        run_loop(&l, 40, 0, workers, false, &r);
        assert_false(r.input_binds);
        assert_at_most(r.without_nodes, r.step_seconds / 4);
        assert_at_least(r.without_input, 0.7 * r.step_seconds);
        assert_at_most(r.without_input, r.step_seconds);
        char *text = hr_profile_text(l.profile);
        assert_text_contains(text, "Compute binds");
        assert_text_contains(text, "MatMul");
        hr_free(text);
        loop_close(&l);
    }
}

/* ---- the trace ---- */

typedef struct lane_span {
    int64_t begin, end;
    int thread;
} lane_span;

static int in_lanes(const void *a, const void *b)
{
    const lane_span *x = a, *y = b;
    if (x->thread != y->thread) return x->thread - y->thread;
    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    return x->end == y->end ? 0 : x->end > y->end ? -1 : 1;
}

/* In nanoseconds: spans of a lane lie within each other, or one after the other. */
static void check_lanes(lane_span *span, int count)
{
    int64_t open[64];
    int depth = 0;
    qsort(span, (size_t)count, sizeof *span, in_lanes);
    for (int i = 0; i < count; i++) {
        if (i == 0 || span[i].thread != span[i - 1].thread) depth = 0;
        while (depth > 0 && span[i].begin >= open[depth - 1]) depth--;
        if (depth > 0) assert_at_most(span[i].end, open[depth - 1]);
        assert_less(depth, 64);
        open[depth++] = span[i].end;
    }
}

static int read_trace(lane_span *span, int most, int *ops, int *works)
{
    size_t size;
    int count = 0;
    char *text = read_whole_file("trace.json", &size);
    cJSON *top = cJSON_ParseWithLength(text, size), *event;
    assert_non_null(top);
    cJSON_ArrayForEach(event, cJSON_GetObjectItem(top, "traceEvents"))
    {
        if (strcmp(cJSON_GetObjectItem(event, "ph")->valuestring, "X") != 0) continue;
        const double ts = cJSON_GetObjectItem(event, "ts")->valuedouble;
        const double dur = cJSON_GetObjectItem(event, "dur")->valuedouble;
        *ops += strcmp(cJSON_GetObjectItem(event, "cat")->valuestring, "Op") == 0;
        *works += strcmp(cJSON_GetObjectItem(event, "name")->valuestring, "work") == 0;
        assert_less(count, most);
        span[count++] = (lane_span){llround(ts * 1e3), llround(ts * 1e3) + llround(dur * 1e3),
                                    cJSON_GetObjectItem(event, "tid")->valueint};
        assert_at_least(dur, 0);
    }
    assert_exactly(cJSON_GetObjectItem(cJSON_GetObjectItem(top, "otherData"), "events_dropped")->valueint, 0);
    cJSON_Delete(top);
    free(text);
    return count;
}

static void a_trace_has_nodes_and_units_in_one_lane_a_thread(void **state)
{
    (void)state;
    for (int workers = 0; workers <= 2; workers++) {
        enum { MOST = 20000 };
        static lane_span span[MOST];
        static loop l;
        hr_error err = {0};
        hr_profile_report r;
        int ops = 0, works = 0, runs = 0;
        loop_open(&l, 12, workers, true);
        l.session->always_parallel = workers > 0;
        assert_ok(loop_train(&l, input_of(&(long){1}), workers, &err), &err);
        assert_ok(hr_profile_report_of(l.profile, &r, &err), &err);
        assert_ok(hr_trace_write(l.trace, "trace.json", &err), &err);
        const int count = read_trace(span, MOST, &ops, &works);
        for (int i = 0; i < r.ops; i++) runs += (int)r.op[i].count;
        assert_exactly(ops, runs);
        assert_more(works, 0);
        check_lanes(span, count);
        loop_close(&l);
    }
}

/* ---- allocations that fail ---- */

static hr_status life(hr_error *err)
{
    static loop l;
    hr_profile_report r;
    loop_open(&l, 0, 0, true); /* a product does without some of its memory */
    hr_status st = l.graph && l.session && l.trace && l.profile ? HR_OK : HR_RESOURCE_EXHAUSTED;
    if (st == HR_OK) {
        const int64_t values[] = {1, 2, 3, 4};
        hr_tensor out = {0};
        const hr_feed feeds[] = {{l.matrix, hr_tensor_of(HR_FLOAT, HR_SHAPE(SIDE, SIDE), l.values)},
                                 {l.batch, hr_tensor_of(HR_INT64, HR_SHAPE(4), values)}};
        st = hr_session_run_with(l.session, feeds, 2, &l.result, 1, &out, HR_RUN_OPTS(.profile = l.profile), err);
        hr_tensor_clear(&out);
    }
    if (st == HR_OK) st = hr_profile_report_of(l.profile, &r, err);
    char *text = st == HR_OK ? hr_profile_text(l.profile) : NULL;
    if (st == HR_OK && (!text || !strstr(text, "Nothing is known of an input"))) st = HR_RESOURCE_EXHAUSTED;
    hr_free(text);
    if (st == HR_OK) st = hr_trace_write(l.trace, "trace.json", err);
    loop_close(&l);
    return st;
}

static void each_allocation_may_fail(void **state)
{
    (void)state;
    hr_error err = {0};
    assert_ok(life(&err), &err);
    const int64_t before = allocations_alive();
    fail_allocation(-1);
    assert_ok(life(&err), &err);
    const int64_t all = allocations_since();
    for (int64_t n = 0; n < all; n++) {
        fail_allocation(n);
        const hr_status st = life(&err);
        if (allocations_since() <= n) break; /* times of fewer digits need less */
        if (st != HR_RESOURCE_EXHAUSTED)
            fail_msg("allocation %d of %d failed, and the answer was %s", (int)n, (int)all, hr_status_name(st));
        if (allocations_alive() != before) fail_msg("allocation %d failed, and memory is lost", (int)n);
    }
}

int main(void)
{
    hr_set_threads(2);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_node_counts_once_for_its_op_and_its_scopes),
        cmocka_unit_test(functions_are_scopes),
        cmocka_unit_test(runs_without_it_are_not_in_it),
        cmocka_unit_test(wrong_arguments_are_refused),
        cmocka_unit_test(a_slow_input_binds_by_its_factor),
        cmocka_unit_test(a_heavy_graph_binds_over_a_quick_input),
        cmocka_unit_test(a_trace_has_nodes_and_units_in_one_lane_a_thread),
        cmocka_unit_test(each_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
