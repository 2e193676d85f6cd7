/* What a session keeps between runs: hardly more than a run needs, whatever sizes its batches have had. */
#include "tests/testing.h"
#include "train/graph/graph_internal.h"
#include <headrace/ops.h>

#include <stdlib.h>
#include <string.h>

/* ---- the heap ---- */

enum { BLOCKS = 200 };

typedef struct block {
    unsigned char *at;
    size_t size;
    unsigned char mark;
} block;

static uint64_t next_number(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *seed >> 33;
}

static void expect_marks(const block *b)
{
    for (size_t i = 0; i < b->size; i++)
        if (b->at[i] != b->mark) fail_msg("byte %zu of a block of %zu was written by another block", i, b->size);
}

static void put(hr__heap *heap, block *b)
{
    expect_marks(b);
    hr__heap_put(heap, b->at);
    b->at = NULL;
}

/* Small sizes more often than large ones. */
static void get(hr__heap *heap, block *b, uint64_t *seed)
{
    const size_t size = (size_t)(next_number(seed) % (UINT64_C(1) << (4 + next_number(seed) % 15))) + 1;
    *b = (block){hr__heap_get(heap, size), size, (unsigned char)next_number(seed)};
    assert_non_null(b->at);
    assert_int_equal(((uintptr_t)b->at + 48) % 64, 0);
    memset(b->at, b->mark, size);
}

static void blocks_of_the_heap_never_overlap(void **state)
{
    (void)state;
    static block blocks[BLOCKS];
    uint64_t seed = 1;
    hr__heap *heap = hr__heap_new();
    assert_non_null(heap);
    for (int i = 0; i < 20000; i++) {
        block *b = &blocks[next_number(&seed) % BLOCKS];
        if (b->at)
            put(heap, b);
        else
            get(heap, b, &seed);
        if (i % 5000 == 0) hr__heap_rest(heap);
    }
    for (int i = 0; i < BLOCKS; i++)
        if (blocks[i].at) put(heap, &blocks[i]);
    hr__heap_free(heap);
}

static void a_heap_at_rest_gives_back_what_was_not_needed(void **state)
{
    (void)state;
    void *memory[64];
    watch_memory();
    hr__heap *heap = hr__heap_new();
    for (int i = 0; i < 64; i++) memory[i] = hr__heap_get(heap, 100000);
    for (int i = 0; i < 64; i++) hr__heap_put(heap, memory[i]);
    hr__heap_rest(heap);
    assert_at_least(memory_kept(), 6400000); /* it was just needed */
    hr__heap_put(heap, hr__heap_get(heap, 1000));
    hr__heap_rest(heap);
    assert_at_most(memory_kept(), 300000);
    hr__heap_free(heap);
    assert_int_equal(memory_kept(), 0);
}

static void a_heap_without_memory_says_so(void **state)
{
    (void)state;
    hr__heap *heap = hr__heap_new();
    fail_allocation(0);
    assert_null(hr__heap_get(heap, 1000));
    allocations_since();
    void *memory = hr__heap_get(heap, HR__HEAP_MOST);
    assert_non_null(memory);
    assert_null(hr__heap_get(heap, HR__HEAP_MOST + 1));
    hr__heap_put(heap, memory);
    hr__heap_free(heap);
    fail_allocation(0);
    assert_null(hr__heap_new());
    allocations_since();
}

/* ---- a session ---- */

enum { WIDTH = 64, LAYERS = 6 };

static float rows[1024 * WIDTH];

/* Layers of several widths, whose outputs are joined: each run needs many buffers at once. */
static hr_node layers(hr_graph *g, hr_node *x)
{
    hr_node all[LAYERS];
    *x = hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1, WIDTH), .name = "x");
    for (int i = 0; i < LAYERS; i++) {
        const hr_tensor w = hr_tensor_of(HR_FLOAT, HR_SHAPE(WIDTH, 10 + 7 * i), rows);
        all[i] = hr_square(hr_relu(hr_matmul(*x, hr_const(g, &w))));
    }
    return hr_concat(all, LAYERS, 1);
}

static void run_rows(hr_session *s, hr_node x, hr_node y, int64_t count)
{
    hr_tensor out;
    hr_error err;
    const hr_feed fed = {x, hr_tensor_of(HR_FLOAT, HR_SHAPE(count, WIDTH), rows)};
    assert_ok(hr_session_run(s, &fed, 1, &y, 1, &out, &err), &err);
    hr_tensor_clear(&out);
}

/* A session of these layers that has run once: it has its plan. */
typedef struct layered {
    hr_graph *graph;
    hr_session *session;
    hr_node x, y;
} layered;

static layered begin_layers(void)
{
    layered l = {.graph = hr_graph_new()};
    l.y = layers(l.graph, &l.x);
    l.session = hr_session_new(l.graph, .workers = &(int){0});
    run_rows(l.session, l.x, l.y, 1);
    return l;
}

static void end_layers(const layered *l)
{
    hr_session_free(l->session);
    hr_graph_free(l->graph);
}

static void batches_of_all_sizes_take_little_more_than_the_largest(void **state)
{
    (void)state;
    int64_t kept[2];
    for (int all = 0; all < 2; all++) {
        const layered l = begin_layers();
        watch_memory();
        for (int64_t count = all ? 1 : 400; count <= 400; count++) run_rows(l.session, l.x, l.y, count);
        kept[all] = memory_kept();
        end_layers(&l);
    }
    print_message("kept after 400 rows: %lld bytes; after 1, 2, ... 400: %lld\n", (long long)kept[0],
                  (long long)kept[1]);
    assert_at_most(kept[1], 2 * kept[0]);
}

static void what_no_run_needs_any_more_is_given_back(void **state)
{
    (void)state;
    const layered l = begin_layers();
    watch_memory();
    for (int i = 0; i < 10; i++) run_rows(l.session, l.x, l.y, 1024);
    const int64_t large = memory_kept();
    const uint64_t end = uv_hrtime() + UINT64_C(30000000000);
    while (memory_kept() > large / 4 && uv_hrtime() < end) {
        for (int i = 0; i < 10; i++) run_rows(l.session, l.x, l.y, 1);
        uv_sleep(50);
    }
    print_message("kept after 1024 rows: %lld bytes; later, after one: %lld\n", (long long)large,
                  (long long)memory_kept());
    assert_at_most(memory_kept(), large / 4);
    end_layers(&l);
}

static void a_session_at_rest_keeps_nothing_of_its_runs(void **state)
{
    (void)state;
    const layered l = begin_layers();
    hr_session_rest(l.session);
    watch_memory();
    for (int i = 0; i < 3; i++) {
        run_rows(l.session, l.x, l.y, 1024);
        assert_at_least(memory_kept(), 100000);
        hr_session_rest(l.session);
        assert_at_most(memory_kept(), 1000);
    }
    end_layers(&l);
}

static void what_was_planned_once_is_not_kept(void **state)
{
    (void)state;
    hr_error err;
    const layered l = begin_layers();
    const hr_feed fed = {l.x, hr_tensor_of(HR_FLOAT, HR_SHAPE(1, WIDTH), rows)};
    const hr_node other = hr_node_input(l.y, 0);
    hr_session_rest(l.session);
    watch_memory();
    for (int once = 1; once >= 0; once--) {
        hr_tensor out;
        assert_ok(hr_session_run_with(l.session, &fed, 1, &other, 1, &out, HR_RUN_OPTS(.once = once), &err), &err);
        assert_int_equal(out.shape.dims[1], 10);
        hr_tensor_clear(&out);
        hr_session_rest(l.session);
        if (once) assert_at_most(memory_kept(), 1000);
    }
    assert_at_least(memory_kept(), 10000);
    end_layers(&l);
}

/* Both matrices are read where they lie: the largest product of a model is not packed anew for each run. */
static void a_product_takes_no_memory_but_its_result(void **state)
{
    (void)state;
    enum { ROWS = 100, DEPTH = 430, COLUMNS = 256 };
    static float a[ROWS * DEPTH], b[DEPTH * COLUMNS];
    hr_error err;
    hr_tensor out;
    hr_graph *g = hr_graph_new();
    const hr_node x = hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1, DEPTH), .name = "x");
    const hr_node w = hr_placeholder(g, HR_FLOAT, HR_SHAPE(DEPTH, COLUMNS), .name = "w"), y = hr_matmul(x, w);
    hr_session *s = hr_session_new(g, .workers = &(int){0});
    const hr_feed fed[] = {{x, hr_tensor_of(HR_FLOAT, HR_SHAPE(ROWS, DEPTH), a)},
                           {w, hr_tensor_of(HR_FLOAT, HR_SHAPE(DEPTH, COLUMNS), b)}};
    for (int i = 0; i < 2; i++) {
        if (i > 0) watch_memory();
        assert_ok(hr_session_run(s, fed, 2, &y, 1, &out, &err), &err);
        hr_tensor_clear(&out);
        hr_session_rest(s);
    }
    assert_at_most(most_memory(), ROWS * COLUMNS * (int64_t)sizeof(float) + 150000);
    hr_session_free(s);
    hr_graph_free(g);
}

/* Nodes of a graph that was loaded stay as long as it does. */
static void a_node_takes_little_memory(void **state)
{
    (void)state;
    enum { NODES = 2000 };
    hr_graph *g = hr_graph_new();
    hr_node x = hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1, WIDTH), .name = "x");
    for (int i = 0; i < 2; i++) x = hr_relu(x);
    watch_memory();
    for (int i = 0; i < NODES; i++) x = hr_relu(x);
    print_message("%lld bytes a node\n", (long long)memory_kept() / NODES);
    assert_at_most(memory_kept(), NODES * 600);
    hr_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_of_the_heap_never_overlap),
        cmocka_unit_test(a_heap_at_rest_gives_back_what_was_not_needed),
        cmocka_unit_test(a_heap_without_memory_says_so),
        cmocka_unit_test(batches_of_all_sizes_take_little_more_than_the_largest),
        cmocka_unit_test(what_no_run_needs_any_more_is_given_back),
        cmocka_unit_test(a_session_at_rest_keeps_nothing_of_its_runs),
        cmocka_unit_test(what_was_planned_once_is_not_kept),
        cmocka_unit_test(a_product_takes_no_memory_but_its_result),
        cmocka_unit_test(a_node_takes_little_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
