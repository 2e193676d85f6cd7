/* Every allocation of building and running a model, a loop, and a graph of a file fails once: a clear error each time,
 * nothing lost. */
#include "tests/testing.h"
#include "tests/train/graph/model.h"
#include <headrace/control_flow.h>
#include <headrace/graphdef.h>

#include <string.h>

/* HR_OK, or the class of what failed first. */
static hr_status whole_life(hr_error *told)
{
    hr_error err = {0};
    model_batch batch;
    hr_tensor out[2] = {0};
    hr_session *s = NULL;
    hr_status st = HR_RESOURCE_EXHAUSTED;
    hr_graph *g = hr_graph_new();
    if (!g) return st;
    const model m = model_build(g, 8);
    const hr_node fetch[] = {m.loss, hr_target(m.train)};
    model_fill(&m, &batch, 0, 16);
    s = hr_session_new(g, .workers = &(int){0});
    if (s) st = hr_session_run(s, NULL, 0, &m.init, 1, NULL, &err);
    if (st == HR_OK) st = hr_session_run(s, batch.feeds, 4, fetch, 2, out, &err);
    hr_tensor_clear(&out[0]);
    hr_session_free(s);
    hr_graph_free(g);
    *told = err;
    return st;
}

/* ---- a loop with a branch in it, and a variable ---- */

static void add_one(hr_graph *g, hr_node *results, void *user)
{
    const hr_node w = *(const hr_node *)user;
    hr_assign_add(w, hr_scalar(g, HR_FLOAT, 1));
    results[0] = hr_scalar(g, HR_FLOAT, 1);
}

static void add_nothing(hr_graph *g, hr_node *results, void *user)
{
    (void)user;
    results[0] = hr_scalar(g, HR_FLOAT, 0);
}

static void some_steps(hr_graph *g, const hr_node *vars, hr_node *results, void *user)
{
    (void)user;
    results[0] = hr_less(vars[0], hr_scalar(g, HR_FLOAT, 3));
}

static void step(hr_graph *g, const hr_node *vars, hr_node *results, void *user)
{
    hr_node given;
    hr_cond(hr_less(vars[0], hr_scalar(g, HR_FLOAT, 2)), add_one, add_nothing, user, &given, 1);
    results[0] = hr_add(vars[0], hr_scalar(g, HR_FLOAT, 1));
    results[1] = hr_add(vars[1], given);
}

static hr_graph *loop_graph(void)
{
    hr_graph *g = hr_graph_new();
    hr_node out[2];
    if (!g) return NULL;
    hr_node w = hr_get_variable(g, "w", HR_FLOAT, HR_SCALAR, .initializer = hr_zeros());
    hr_while_loop(some_steps, step, &w, ((hr_node[]){hr_scalar(g, HR_FLOAT, 0), hr_scalar(g, HR_FLOAT, 0)}), 2, out);
    hr_identity(out[1], .name = "out");
    hr_global_variables_initializer(g);
    return g;
}

static hr_status run_loop_graph(hr_graph *g, hr_error *err)
{
    hr_tensor out = {0};
    const hr_node init = hr_target(hr_graph_node(g, "init")), fetch = hr_graph_node(g, "out:0");
    if (hr_graph_error(g)) {
        *err = *hr_graph_error(g);
        return err->code;
    }
    hr_session *s = hr_session_new(g, .workers = &(int){0});
    hr_status st = s ? hr_session_run(s, NULL, 0, &init, 1, NULL, err) : HR_RESOURCE_EXHAUSTED;
    if (st == HR_OK) st = hr_session_run(s, NULL, 0, &fetch, 1, &out, err);
    if (st == HR_OK && *(const float *)out.data != 2) st = HR_INTERNAL;
    hr_tensor_clear(&out);
    hr_session_free(s);
    return st;
}

static hr_status life_of_a_loop(hr_error *told)
{
    hr_graph *g = loop_graph();
    const hr_status st = g ? run_loop_graph(g, told) : HR_RESOURCE_EXHAUSTED;
    hr_graph_free(g);
    return st;
}

/* Written, read again, run. */
static hr_status life_of_a_file(hr_error *told, bool text)
{
    char *bytes = NULL;
    size_t size = 0;
    hr_graph *g = loop_graph(), *read = g ? hr_graph_new() : NULL;
    hr_status st = read ? hr_graph_export(g, &bytes, &size, told, .text = text) : HR_RESOURCE_EXHAUSTED;
    if (st == HR_OK) st = hr_graph_import(read, ((hr_view){bytes, (int64_t)size}), told, .text = text);
    if (st == HR_OK) st = run_loop_graph(read, told);
    hr_free(bytes);
    hr_graph_free(g);
    hr_graph_free(read);
    return st;
}

static hr_status life_of_bytes(hr_error *told) { return life_of_a_file(told, false); }
static hr_status life_of_text(hr_error *told) { return life_of_a_file(told, true); }

/* ---- failures ---- */

static void each_allocation_fails_once(hr_status (*life)(hr_error *told))
{
    hr_error err = {0};
    assert_ok(life(&err), &err);
    const int64_t before = allocations_alive();
    fail_allocation(-1);
    assert_status(life(&err), HR_OK);
    const int64_t all = allocations_since();
    assert_more(all, 50);
    for (int64_t n = 0; n < all; n++) {
        fail_allocation(n);
        const hr_status st = life(&err);
        allocations_since();
        if (st != HR_RESOURCE_EXHAUSTED)
            fail_msg("allocation %d of %d failed, and the answer was %s: %s", (int)n, (int)all, hr_status_name(st),
                     err.text);
        if (allocations_alive() != before)
            fail_msg("allocation %d failed, and %d are lost", (int)n, (int)(allocations_alive() - before));
    }
}

static void every_allocation_of_a_model_may_fail(void **state)
{
    (void)state;
    each_allocation_fails_once(whole_life);
}

static void every_allocation_of_a_loop_may_fail(void **state)
{
    (void)state;
    each_allocation_fails_once(life_of_a_loop);
}

static void every_allocation_of_a_file_may_fail(void **state)
{
    (void)state;
    each_allocation_fails_once(life_of_bytes);
    each_allocation_fails_once(life_of_text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_allocation_of_a_model_may_fail),
                                       cmocka_unit_test(every_allocation_of_a_loop_may_fail),
                                       cmocka_unit_test(every_allocation_of_a_file_may_fail)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
