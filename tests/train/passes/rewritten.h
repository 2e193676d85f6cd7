/* What tests of passes share: one graph a test, what passes leave of it, and that results stay the same. */
#ifndef HR_TESTS_PASSES_H
#define HR_TESTS_PASSES_H

#include "tests/testing.h"
#include "train/graph/pass.h"
#include "train/ops/kernels.h"
#include "train/ops/ops.h"
#include <headrace/nn.h>

#include <string.h>

static hr_graph *g;

static inline int make_graph(void **state)
{
    (void)state;
    g = hr_graph_new();
    return g ? 0 : -1;
}

static inline int free_graph(void **state)
{
    (void)state;
    hr_graph_free(g);
    return 0;
}

static inline hr_node number(double value) { return hr_scalar(g, HR_FLOAT, value); }

/* How many nodes of an op a rewritten graph has; NULL: of all but the Identity that keeps the name of what is fetched. */
static inline int count_nodes(const char *passes, hr_node fetch, const char *op)
{
    hr_error err;
    hr_rewrite *r;
    int count = 0;
    assert_null(hr_graph_error(g));
    assert_ok(hr_rewrite_new(g, NULL, 0, &fetch, 1, passes, &r, &err), &err);
    for (int32_t id = 0; id < hr_graph_size(hr_rewrite_graph(r)); id++)
        count += !op || strcmp(hr_node_op((hr_node){hr_rewrite_graph(r), id, 0}), op) == 0;
    count -= !op && strcmp(hr_node_op(hr_rewrite_fetch(r, 0)), "Identity") == 0 &&
             strcmp(hr_node_op(fetch), "Identity") != 0;
    hr_rewrite_free(r);
    return count;
}

/* What a session with these passes computes. */
static inline float run(const char *passes, const hr_feed *feed, hr_node fetch)
{
    hr_error err;
    hr_tensor out;
    hr_session *s = hr_session_new(g, .passes = passes);
    assert_ok(hr_session_run(s, feed, feed ? 1 : 0, &fetch, 1, &out, &err), &err);
    const float value = *(const float *)out.data;
    hr_tensor_clear(&out);
    hr_session_free(s);
    return value;
}

/* Runs a fetch with and without a pass. */
static inline void assert_same_bits(const char *pass, const hr_feed *feeds, int feed_count, hr_node fetch)
{
    hr_error err;
    hr_tensor with, without;
    hr_session *a = hr_session_new(g, .passes = pass), *b = hr_session_new(g, .passes = "none");
    for (int turn = 0; turn < 2; turn++) {
        assert_ok(hr_session_run(a, feeds, feed_count, &fetch, 1, &with, &err), &err);
        assert_ok(hr_session_run(b, feeds, feed_count, &fetch, 1, &without, &err), &err);
        assert_int_equal(with.dtype, without.dtype);
        assert_true(hr_shape_equal(with.shape, without.shape));
        assert_memory_equal(with.data, without.data, (size_t)with.count * hr_dtype_size(with.dtype));
        hr_tensor_clear(&with);
        hr_tensor_clear(&without);
    }
    hr_session_free(a);
    hr_session_free(b);
}

static inline hr_node sum_of_rows(hr_node x) { return hr_reduce_sum(x, .axes = HR_I64(-1), .axis_count = 1); }

#define ON_A_GRAPH(name) cmocka_unit_test_setup_teardown(name, make_graph, free_graph)

#endif
