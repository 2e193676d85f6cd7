/* Every allocation of building and running a model fails once: a clear error each time, nothing lost. */
#include "tests/testing.h"
#include "tests/train/graph/model.h"

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

static void every_allocation_may_fail(void **state)
{
    (void)state;
    hr_error err = {0};
    assert_status(whole_life(&err), HR_OK);
    const int64_t before = allocations_alive();
    fail_allocation(-1);
    assert_status(whole_life(&err), HR_OK);
    const int64_t all = allocations_since();
    assert_more(all, 100);
    for (int64_t n = 0; n < all; n++) {
        fail_allocation(n);
        const hr_status st = whole_life(&err);
        allocations_since();
        if (st != HR_RESOURCE_EXHAUSTED)
            fail_msg("allocation %d of %d failed, and the answer was %s", (int)n, (int)all, hr_status_name(st));
        if (allocations_alive() != before)
            fail_msg("allocation %d failed, and %d are lost", (int)n, (int)(allocations_alive() - before));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_allocation_may_fail)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
