/* Running on several threads: the same bits as on one, errors and cancelling from anywhere. */
#include "tests/testing.h"
#include "tests/train/graph/model.h"
#include "train/graph/graph_internal.h"

#include <stdatomic.h>
#include <string.h>
#include <uv.h>

enum { STEPS = 12 };

/* Losses and last values of all variables after some steps. */
typedef struct history {
    float loss[STEPS];
    float value[MODEL_VARIABLES][MODEL_BUCKETS * MODEL_DIM];
} history;

static void train(int workers, int width, history *out)
{
    hr_error err = {0};
    model_batch batch;
    hr_tensor got[2];
    memset(out, 0, sizeof *out);
    hr_set_threads(workers);
    hr_graph *g = hr_graph_new();
    hr_set_random_seed(g, 3);
    const model m = model_build(g, width);
    const hr_node fetch[] = {m.loss, hr_target(m.train)};
    hr_session *s = workers ? hr_session_new(g) : hr_session_new(g, .workers = &(int){0});
    s->always_parallel = workers > 0;
    assert_ok(hr_session_run(s, NULL, 0, &m.init, 1, NULL, &err), &err);
    for (int i = 0; i < STEPS; i++) {
        model_fill(&m, &batch, i, i % 4 == 3 ? 17 : MODEL_ROWS);
        assert_ok(hr_session_run(s, batch.feeds, 4, fetch, 2, got, &err), &err);
        out->loss[i] = *(float *)got[0].data;
        hr_tensor_clear(&got[0]);
    }
    for (int v = 0; v < MODEL_VARIABLES; v++) {
        assert_ok(hr_session_get(s, m.variable[v], got, &err), &err);
        const int64_t max = (int64_t)(sizeof out->value[v] / sizeof(float));
        memcpy(out->value[v], got->data, (size_t)(got->count < max ? got->count : max) * sizeof(float));
        hr_tensor_clear(got);
    }
    hr_session_free(s);
    hr_graph_free(g);
}

static void results_are_the_same_bits_for_any_number_of_workers(void **state)
{
    static const int workers[] = {1, 2, 8};
    static history one, many;
    (void)state;
    train(0, 64, &one);
    assert_less(one.loss[STEPS - 1], one.loss[0]);
    for (size_t i = 0; i < sizeof workers / sizeof *workers; i++) {
        train(workers[i], 64, &many);
        assert_memory_equal(&one, &many, sizeof one);
    }
}

/* Many nodes without order between them, several times over. */
static void a_wide_graph_runs_on_all_workers(void **state)
{
    enum { WIDTH = 200 };
    (void)state;
    hr_error err = {0};
    hr_tensor out;
    hr_node leaves[WIDTH];
    hr_set_threads(4);
    hr_graph *g = hr_graph_new();
    hr_node x = hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1));
    for (int i = 0; i < WIDTH; i++) leaves[i] = hr_square(hr_add(x, hr_scalar(g, HR_FLOAT, i)));
    hr_node sum = hr_add_n(leaves, WIDTH);
    hr_session *s = hr_session_new(g);
    s->always_parallel = true;
    for (int run = 0; run < 20; run++) {
        const hr_feed feed = {x, hr_tensor_of(HR_FLOAT, HR_SHAPE(1), ((float[]){(float)run}))};
        double expected = 0;
        for (int i = 0; i < WIDTH; i++) expected += (double)(run + i) * (run + i);
        assert_ok(hr_session_run(s, &feed, 1, &sum, 1, &out, &err), &err);
        assert_float_equal(*(float *)out.data, (float)expected, 2);
        hr_tensor_clear(&out);
    }
    hr_session_free(s);
    hr_graph_free(g);
}

static void an_error_on_any_thread_ends_the_run_and_is_told(void **state)
{
    (void)state;
    hr_error err = {0};
    hr_tensor out;
    hr_set_threads(4);
    hr_graph *g = hr_graph_new();
    hr_node x = hr_placeholder(g, HR_INT32, HR_SCALAR), parts[20];
    for (int i = 0; i < 20; i++)
        parts[i] = hr_floor_div(hr_scalar(g, HR_INT32, 7), hr_add(x, hr_scalar(g, HR_INT32, i)));
    hr_node sum = hr_add_n(parts, 20);
    hr_session *s = hr_session_new(g);
    s->always_parallel = true;
    for (int i = 0; i < 50; i++) {
        const hr_feed feed = {x, hr_tensor_of(HR_INT32, HR_SCALAR, &(int32_t){i % 2 ? -3 : 1})};
        const hr_status st = hr_session_run(s, &feed, 1, &sum, 1, &out, &err);
        if (i % 2) {
            assert_status(st, HR_INVALID_ARGUMENT);
            assert_text_contains(err.text, "node 'FloorDiv_3' (FloorDiv), made at ");
            assert_text_contains(err.text, ": Integer division by zero");
        } else {
            assert_ok(st, &err);
            hr_tensor_clear(&out);
        }
    }
    hr_session_free(s);
    hr_graph_free(g);
}

/* ---- pieces of kernels ---- */

static atomic_int gathering, pieces_begun, pieces_met, on_worker;

/* Ends on the caller's thread once the other node runs, which then is on the worker. */
static hr_status stay_compute(hr_kernel *k, hr_error *err)
{
    enum { PATIENCE_MS = 20000 };
    hr_tensor *out;
    HR_TRY(hr_kernel_output(k, 0, HR_SCALAR, &out, err));
    *(float *)out->data = 0;
    for (int ms = 0; ms < PATIENCE_MS && atomic_load(&gathering) == 0; ms++) uv_sleep(1);
    return HR_OK;
}

static const hr_graph_op stay = {
    .head = HR_GRAPH_OP_HEAD,
    .name = "Test>Stay",
    .inputs = "",
    .outputs = "y:float",
    .traits = HR_STATEFUL,
    .shape = hr_infer_scalar,
    .compute = stay_compute,
};

static void wait_for_the_other_piece(int64_t first, int64_t last, void *user)
{
    enum { PATIENCE_MS = 20000 };
    (void)user;
    for (int64_t i = first; i < last; i++) {
        atomic_fetch_add(&pieces_begun, 1);
        for (int ms = 0; ms < PATIENCE_MS && atomic_load(&pieces_begun) < 2; ms++) uv_sleep(1);
        atomic_fetch_add(&pieces_met, atomic_load(&pieces_begun) == 2);
    }
}

static hr_status gather_compute(hr_kernel *k, hr_error *err)
{
    hr_tensor *out;
    HR_TRY(hr_kernel_output(k, 0, HR_SCALAR, &out, err));
    *(float *)out->data = 0;
    atomic_fetch_add(&on_worker, hr__pool_thread() != 0);
    atomic_store(&gathering, 1);
    hr_kernel_parallel(k, 2, 1e6, wait_for_the_other_piece, NULL);
    return HR_OK;
}

static const hr_graph_op gather = {
    .head = HR_GRAPH_OP_HEAD,
    .name = "Test>Gather",
    .inputs = "",
    .outputs = "y:float",
    .traits = HR_STATEFUL,
    .shape = hr_infer_scalar,
    .compute = gather_compute,
};

/* With one worker, which runs the kernel: a thread alone would wait for the other piece until patience ends. */
static void the_caller_helps_with_a_kernel_that_a_worker_runs(void **state)
{
    (void)state;
    hr_error err = {0};
    hr_set_threads(1);
    hr_graph *g = hr_graph_new();
    hr_graph_use(g, &stay);
    hr_graph_use(g, &gather);
    const hr_node fetch[] = {hr_target(hr_new_node(g, "Test>Stay", .input_count = 0)),
                             hr_target(hr_new_node(g, "Test>Gather", .input_count = 0))};
    hr_session *s = hr_session_new(g);
    s->always_parallel = true;
    atomic_store(&on_worker, 0);
    for (int i = 0; i < 20; i++) {
        atomic_store(&gathering, 0);
        atomic_store(&pieces_begun, 0);
        atomic_store(&pieces_met, 0);
        assert_ok(hr_session_run(s, NULL, 0, fetch, 2, NULL, &err), &err);
        assert_int_equal(atomic_load(&pieces_met), 2);
    }
    assert_more(atomic_load(&on_worker), 0);
    hr_session_free(s);
    hr_graph_free(g);
}

static atomic_int spinning, counted;

static void cancel_when_spinning(void *session)
{
    while (atomic_load(&spinning) == 0) uv_sleep(1);
    hr_session_cancel(session);
}

/* Never ends by itself. */
static hr_status spin_compute(hr_kernel *k, hr_error *err)
{
    hr_tensor *out;
    atomic_fetch_add(&spinning, 1);
    while (!hr_kernel_cancelled(k)) uv_sleep(1);
    HR_TRY(hr_kernel_output(k, 0, HR_SCALAR, &out, err));
    *(float *)out->data = 0;
    return HR_OK;
}

static const hr_graph_op spin = {
    .head = HR_GRAPH_OP_HEAD,
    .name = "Test>Spin",
    .inputs = "",
    .outputs = "y:float",
    .traits = HR_STATEFUL,
    .shape = hr_infer_scalar,
    .compute = spin_compute,
};

static hr_status count_compute(hr_kernel *k, hr_error *err)
{
    hr_tensor *out;
    atomic_fetch_add(&counted, 1);
    HR_TRY(hr_kernel_output(k, 0, HR_SCALAR, &out, err));
    *(float *)out->data = 0;
    return HR_OK;
}

static const hr_graph_op count = {
    .head = HR_GRAPH_OP_HEAD,
    .name = "Test>Count",
    .inputs = "x:float",
    .outputs = "y:float",
    .traits = HR_STATEFUL,
    .shape = hr_infer_scalar,
    .compute = count_compute,
};

static void a_kernel_sees_that_its_run_is_cancelled_and_nothing_follows_it(void **state)
{
    (void)state;
    for (int workers = 0; workers < 3; workers++) {
        hr_error err = {0};
        uv_thread_t other;
        hr_set_threads(workers);
        hr_graph *g = hr_graph_new();
        hr_graph_use(g, &spin);
        hr_graph_use(g, &count);
        hr_node y = hr_new_node(g, "Test>Spin", .input_count = 0);
        for (int i = 0; i < 100; i++) y = hr_new_node(g, "Test>Count", HR_INPUTS(y));
        const hr_node target = hr_target(y);
        hr_session *s = hr_session_new(g);
        s->always_parallel = true;
        atomic_store(&spinning, 0);
        assert_int_equal(uv_thread_create(&other, cancel_when_spinning, s), 0);
        assert_status(hr_session_run(s, NULL, 0, &target, 1, NULL, &err), HR_CANCELLED);
        uv_thread_join(&other);
        assert_int_equal(atomic_load(&counted), 0);
        hr_session_free(s);
        hr_graph_free(g);
    }
}

/* The update waits for something slow, the read for nothing; and yet it comes second, as it was made second. */
static void uses_of_a_variable_run_in_the_order_in_which_they_were_made(void **state)
{
    (void)state;
    hr_error err = {0};
    hr_set_threads(4);
    hr_graph *g = hr_graph_new();
    hr_node w = hr_get_variable(g, "w", HR_FLOAT, HR_SCALAR, .initializer = hr_zeros());
    hr_node before = hr_identity(w), slow = hr_fill(hr_ints(g, HR_I64(256, 256), 2), hr_scalar(g, HR_FLOAT, 1. / 256));
    hr_node m = slow;
    for (int i = 0; i < 20; i++) m = hr_matmul(m, slow);
    hr_node add = hr_assign_add(w, hr_reduce_max(m));
    hr_node after = hr_new_node(g, "ReadVariableOp", HR_INPUTS(w), HR_ATTRS(HR_TYPE_ATTR("dtype", HR_FLOAT)));
    hr_node init = hr_global_variables_initializer(g), fetch[] = {before, after, hr_target(add)};
    hr_session *s = hr_session_new(g);
    s->always_parallel = true;
    assert_ok(hr_session_run(s, NULL, 0, &init, 1, NULL, &err), &err);
    for (int i = 0; i < 5; i++) {
        hr_tensor got[3];
        assert_ok(hr_session_run(s, NULL, 0, fetch, 3, got, &err), &err);
        assert_float_equal(*(float *)got[1].data, *(float *)got[0].data + 1. / 256, 1e-5f);
        hr_tensor_clear(&got[0]);
        hr_tensor_clear(&got[1]);
    }
    hr_session_free(s);
    hr_graph_free(g);
}

static void two_sessions_of_one_graph_have_values_of_their_own(void **state)
{
    (void)state;
    hr_error err = {0};
    hr_tensor out;
    hr_graph *g = hr_graph_new();
    hr_node w = hr_get_variable(g, "w", HR_FLOAT, HR_SCALAR, .initializer = hr_zeros());
    hr_node add = hr_target(hr_assign_add(w, hr_scalar(g, HR_FLOAT, 1))), init = hr_global_variables_initializer(g);
    hr_session *a = hr_session_new(g), *b = hr_session_new(g);
    assert_ok(hr_session_run(a, NULL, 0, &init, 1, NULL, &err), &err);
    assert_ok(hr_session_run(b, NULL, 0, &init, 1, NULL, &err), &err);
    assert_ok(hr_session_run(a, NULL, 0, &add, 1, NULL, &err), &err);
    assert_ok(hr_session_get(b, w, &out, &err), &err);
    assert_exactly(*(float *)out.data, 0);
    hr_tensor_clear(&out);
    hr_session_free(a);
    hr_session_free(b);
    hr_graph_free(g);
}

/* ---- runs at the same time ---- */

enum { THREADS = 4, RUNS = 200 };

typedef struct together {
    hr_session *session;
    hr_node x, y, add;
    int number, wrong;
} together;

/* Its own values in, its own values out, and one added to the variable each time. */
static void run_often(void *user)
{
    together *t = user;
    for (int i = 0; i < RUNS; i++) {
        hr_error err;
        hr_tensor out[2];
        const float value = (float)(t->number * RUNS + i);
        const hr_feed feed = {t->x, hr_tensor_of(HR_FLOAT, HR_SCALAR, &value)};
        const hr_node fetch[] = {t->y, t->add};
        if (hr_session_run(t->session, &feed, 1, fetch, 2, out, &err) != HR_OK) {
            t->wrong++;
            continue;
        }
        t->wrong += *(const float *)out[0].data != 2 * value + 1;
        hr_tensor_clear(&out[0]);
    }
}

static void run_together(bool parallel, int workers)
{
    hr_error err = {0};
    uv_thread_t threads[THREADS];
    together of[THREADS];
    hr_tensor sum;
    hr_set_threads(workers);
    hr_graph *g = hr_graph_new();
    const hr_node one = hr_scalar(g, HR_FLOAT, 1);
    hr_node x = hr_placeholder(g, HR_FLOAT, HR_SCALAR), y = hr_add(hr_add(x, x), one);
    hr_node w = hr_get_variable(g, "w", HR_FLOAT, HR_SCALAR, .initializer = hr_zeros());
    hr_node add = hr_target(hr_assign_add(w, one)), init = hr_global_variables_initializer(g);
    hr_session *s = hr_session_new(g);
    s->always_parallel = parallel;
    assert_ok(hr_session_run(s, NULL, 0, &init, 1, NULL, &err), &err);
    for (int i = 0; i < THREADS; i++) {
        of[i] = (together){s, x, y, add, i, 0};
        assert_int_equal(uv_thread_create(&threads[i], run_often, &of[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) uv_thread_join(&threads[i]);
    for (int i = 0; i < THREADS; i++) assert_int_equal(of[i].wrong, 0);
    assert_ok(hr_session_get(s, w, &sum, &err), &err);
    assert_exactly(*(float *)sum.data, THREADS * RUNS);
    hr_tensor_clear(&sum);
    hr_session_free(s);
    hr_graph_free(g);
}

static void runs_at_the_same_time_do_not_see_each_other(void **state)
{
    (void)state;
    run_together(false, 2);
    run_together(true, 2);
}

static void cancelling_ends_all_runs_that_are_under_way(void **state)
{
    (void)state;
    hr_error err = {0};
    hr_graph *g = hr_graph_new();
    hr_graph_use(g, &spin);
    hr_node y = hr_target(hr_new_node(g, "Test>Spin", .input_count = 0));
    hr_session *s = hr_session_new(g);
    uv_thread_t other;
    atomic_store(&spinning, 0);
    assert_int_equal(uv_thread_create(&other, cancel_when_spinning, s), 0);
    assert_status(hr_session_run(s, NULL, 0, &y, 1, NULL, &err), HR_CANCELLED);
    uv_thread_join(&other);
    hr_session_cancel(s); /* nothing is under way: the next one */
    assert_status(hr_session_run(s, NULL, 0, &y, 1, NULL, &err), HR_CANCELLED);
    hr_session_free(s);
    hr_graph_free(g);
}

/* ---- plans and resources ---- */

static void many_plans_are_made_used_and_dropped(void **state)
{
    enum { PLANS = 1000 };
    (void)state;
    hr_error err = {0};
    hr_node sums[PLANS];
    hr_graph *g = hr_graph_new();
    hr_node x = hr_placeholder(g, HR_FLOAT, HR_SCALAR);
    for (int i = 0; i < PLANS; i++) sums[i] = hr_add(x, hr_scalar(g, HR_FLOAT, i));
    hr_session *s = hr_session_new(g);
    for (int i = 0; i < 3 * PLANS; i++) {
        const int at = i < PLANS ? i : (int)((i * UINT64_C(2654435761)) % PLANS);
        hr_tensor out;
        const hr_feed feed = {x, hr_tensor_of(HR_FLOAT, HR_SCALAR, &(float){0.5f})};
        assert_ok(hr_session_run(s, &feed, 1, &sums[at], 1, &out, &err), &err);
        assert_exactly(*(float *)out.data, (float)at + 0.5f);
        hr_tensor_clear(&out);
        assert_less(s->plan_count, HR__MAX_PLANS + 1);
        assert_less(s->plan_keys.count, 2 * HR__MAX_PLANS + 1);
    }
    hr_session_free(s);
    hr_graph_free(g);
}

/* Another graph, a session of its own, the same variables: they outlive the session that made them. */
static void sessions_share_variables_where_asked(void **state)
{
    (void)state;
    hr_error err = {0};
    hr_tensor out;
    hr_graph *g = hr_graph_new(), *other = hr_graph_new();
    hr_node w = hr_get_variable(g, "w", HR_FLOAT, HR_SCALAR, .initializer = hr_ones());
    hr_node v = hr_get_variable(other, "w", HR_FLOAT, HR_SCALAR, .initializer = hr_zeros());
    hr_node init = hr_global_variables_initializer(g), add = hr_target(hr_assign_add(v, v));
    hr_session *first = hr_session_new(g), *second = hr_session_new(other, .share = first);
    assert_ok(hr_session_run(first, NULL, 0, &init, 1, NULL, &err), &err);
    assert_ok(hr_session_run(second, NULL, 0, &add, 1, NULL, &err), &err);
    assert_ok(hr_session_get(first, w, &out, &err), &err);
    assert_exactly(*(float *)out.data, 2);
    hr_tensor_clear(&out);
    hr_session_free(first);
    assert_ok(hr_session_get(second, v, &out, &err), &err);
    assert_exactly(*(float *)out.data, 2);
    hr_tensor_clear(&out);
    hr_session_free(second);
    hr_graph_free(other);
    hr_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_caller_helps_with_a_kernel_that_a_worker_runs), /* before there are more workers */
        cmocka_unit_test(results_are_the_same_bits_for_any_number_of_workers),
        cmocka_unit_test(a_wide_graph_runs_on_all_workers),
        cmocka_unit_test(an_error_on_any_thread_ends_the_run_and_is_told),
        cmocka_unit_test(a_kernel_sees_that_its_run_is_cancelled_and_nothing_follows_it),
        cmocka_unit_test(uses_of_a_variable_run_in_the_order_in_which_they_were_made),
        cmocka_unit_test(two_sessions_of_one_graph_have_values_of_their_own),
        cmocka_unit_test(runs_at_the_same_time_do_not_see_each_other),
        cmocka_unit_test(cancelling_ends_all_runs_that_are_under_way),
        cmocka_unit_test(many_plans_are_made_used_and_dropped),
        cmocka_unit_test(sessions_share_variables_where_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
