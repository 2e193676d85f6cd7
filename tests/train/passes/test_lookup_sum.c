/* The passes lookup_sum and sparse_updates, and the ops that they make: a linear model over ids trains as without them,
 * bit by bit. */
#include "tests/train/passes/rewritten.h"

#include <headrace/layers.h>
#include <headrace/optimizers.h>
#include <stdio.h>
#include <stdlib.h>

enum { COLUMNS = 9, ROWS = 700, STEPS = 3, FEEDS = 2 * COLUMNS + 1, FETCHES = 3 * COLUMNS };

static const char ALL[] = "exact", NONE[] = "none";
static const char *const made_ops[] = {"Headrace>LookupSum", "Headrace>LookupSumGrad"};

/* Tables of few rows, of some, and of so many that rows are found by a hash. */
static const int64_t buckets[COLUMNS] = {12, 700, 20000, 1, 700, 40, 9000, 12, 100};

/* A sum of lookups with dense values amid them, its loss, and an update of its tables. */
typedef struct linear {
    hr_node table[COLUMNS], ids[COLUMNS], splits[COLUMNS], lookup[COLUMNS], dense, sum, step;
    hr_node fetch[FETCHES]; /* tables and slots */
    hr_gradient gradient[COLUMNS];
    int fetches;
} linear;

static hr_optimizer *ftrl(void) { return hr_ftrl(0.3F, .l1_regularization_strength = 0.01F); }
static hr_optimizer *ftrl_by_power(void) { return hr_ftrl(0.3F, .learning_rate_power = HR_F32(-0.4F)); }
static hr_optimizer *adagrad(void) { return hr_adagrad(0.2F); }

static linear make_linear(int64_t width, hr_combiner combiner, hr_optimizer *optimizer)
{
    linear t = {0};
    char name[24];
    hr_node part[COLUMNS + 1];
    hr_optimizer_variables slots;
    for (int i = 0; i < COLUMNS; i++) {
        (void)snprintf(name, sizeof name, "table_%d", i);
        t.table[i] = hr_get_variable(g, name, HR_FLOAT, HR_SHAPE(buckets[i], width),
                                     .initializer = hr_random_uniform(-1, 1, 5 + i));
        t.ids[i] = hr_placeholder(g, HR_INT64, HR_SHAPE(-1));
        t.splits[i] = hr_placeholder(g, HR_INT32, HR_SHAPE(-1));
        t.lookup[i] = part[i + (i > 3)] =
            hr_embedding_lookup_sparse(t.table[i], t.ids[i], t.splits[i], .combiner = combiner);
    }
    t.dense = part[4] = hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1, width));
    t.sum = hr_add_n(part, COLUMNS + 1);
    const hr_node loss = hr_reduce_sum(hr_tanh(hr_mul(t.sum, number(0.3))));
    hr_gradients(&loss, 1, t.table, COLUMNS, t.gradient);
    t.step = hr_minimize(optimizer, loss, .variables = &slots);
    for (int i = 0; i < COLUMNS; i++) t.fetch[t.fetches++] = hr_identity(t.table[i]);
    for (int i = 0; i < slots.count; i++) t.fetch[t.fetches++] = hr_identity(slots.slot[i].variable);
    hr_optimizer_variables_clear(&slots);
    assert_null(hr_graph_error(g));
    return t;
}

/* How ids of a batch are drawn. */
typedef enum id_kind { SKEWED, ALL_DISTINCT, SOME_MISSING, SEVERAL, KINDS } id_kind;

typedef struct batch {
    int64_t ids[COLUMNS][3 * ROWS];
    int32_t splits[COLUMNS][ROWS + 1];
    float dense[20 * ROWS];
    hr_feed feed[FEEDS];
} batch;

static void fill_batch(batch *b, const linear *t, id_kind kind, int64_t rows, int64_t width, uint64_t seed)
{
    uint64_t n = 0;
    for (int i = 0; i < COLUMNS; i++) {
        int64_t count = 0;
        for (int64_t r = 0; r < rows; r++) {
            const uint64_t draw = hr_random(seed, n++);
            const int64_t skewed = (int64_t)(draw % 64 < 40 ? draw % 3 : draw / 64 % 90) * (1 + buckets[i] / 100);
            const int64_t ids = kind == SEVERAL ? (int64_t)(draw / 7 % 4) : 1;
            b->splits[i][r] = (int32_t)count;
            if (kind == SOME_MISSING && draw % 5 == 0) continue;
            for (int64_t j = 0; j < ids; j++)
                b->ids[i][count++] = (kind == ALL_DISTINCT ? r + i : skewed + 11 * j) % buckets[i];
            if (kind == SOME_MISSING && draw % 7 == 0) b->ids[i][count - 1] = -1;
        }
        b->splits[i][rows] = (int32_t)count;
        b->feed[2 * i] = (hr_feed){t->ids[i], hr_tensor_of(HR_INT64, HR_SHAPE(count), b->ids[i])};
        b->feed[2 * i + 1] = (hr_feed){t->splits[i], hr_tensor_of(HR_INT32, HR_SHAPE(rows + 1), b->splits[i])};
    }
    for (int64_t i = 0; i < width * rows; i++) b->dense[i] = (float)(hr_random(19, (uint64_t)i) % 1000) / 500 - 1;
    b->feed[2 * COLUMNS] = (hr_feed){t->dense, hr_tensor_of(HR_FLOAT, HR_SHAPE(rows, width), b->dense)};
}

static hr_session *begin_session(const char *passes, int workers)
{
    hr_error err;
    const hr_node init = hr_global_variables_initializer(g);
    hr_session *s = hr_session_new(g, .passes = passes, .workers = &workers);
    assert_ok(hr_session_run(s, NULL, 0, &init, 1, NULL, &err), &err);
    return s;
}

static void clear(hr_tensor *out, int count)
{
    for (int i = 0; i < count; i++) hr_tensor_clear(&out[i]);
}

/* Some steps, each on another batch. */
static void train(const linear *t, batch *b, id_kind kind, int64_t rows, int64_t width, const char *passes, int workers,
                  hr_tensor *out)
{
    hr_error err;
    hr_session *s = begin_session(passes, workers);
    const hr_node both[] = {t->sum, t->step};
    for (uint64_t i = 0; i < STEPS; i++) {
        hr_tensor sum[2] = {{0}};
        fill_batch(b, t, kind, rows, width, 17 + i);
        assert_ok(hr_session_run(s, b->feed, FEEDS, both, 2, sum, &err), &err);
        hr_tensor_clear(&out[t->fetches]);
        out[t->fetches] = sum[0];
    }
    assert_ok(hr_session_run(s, NULL, 0, t->fetch, t->fetches, out, &err), &err);
    hr_session_free(s);
}

static void assert_same(const hr_tensor *a, const hr_tensor *b, int count)
{
    for (int i = 0; i < count; i++) {
        assert_true(hr_shape_equal(a[i].shape, b[i].shape));
        const size_t size = (size_t)a[i].count * hr_dtype_size(a[i].dtype);
        if (size) assert_memory_equal(a[i].data, b[i].data, size);
    }
}

static void compare(const linear *t, batch *b, id_kind kind, int64_t rows, int64_t width)
{
    hr_tensor with[FETCHES + 1] = {{0}}, without[FETCHES + 1] = {{0}}, again[FETCHES + 1] = {{0}};
    train(t, b, kind, rows, width, NONE, 0, without);
    train(t, b, kind, rows, width, ALL, 0, with);
    train(t, b, kind, rows, width, ALL, 3, again);
    assert_same(with, without, t->fetches + 1);
    assert_same(again, without, t->fetches + 1);
    clear(with, t->fetches + 1);
    clear(without, t->fetches + 1);
    clear(again, t->fetches + 1);
}

static void a_linear_model_trains_as_without_the_passes(void **state)
{
    (void)state;
    static const int64_t rows[] = {0, 1, 7, 129, ROWS}, widths[] = {1, 3, 20};
    hr_optimizer *(*const optimizer[])(void) = {ftrl, adagrad, ftrl_by_power};
    batch *b = calloc(1, sizeof *b);
    for (int w = 0; w < 3; w++) {
        hr_graph_free(g);
        g = hr_graph_new();
        const linear t = make_linear(widths[w], (hr_combiner)((w + 1) % 3), optimizer[w]());
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
            for (id_kind kind = SKEWED; kind < KINDS; kind++) compare(&t, b, kind, rows[i], widths[w]);
    }
    free(b);
}

/* What is left of a graph: nodes of an op for these fetches. */
static int count_for(const char *passes, const hr_node *fetch, int count, const char *op)
{
    hr_error err;
    hr_rewrite *r;
    int found = 0;
    assert_ok(hr_rewrite_new(g, NULL, 0, fetch, count, passes, &r, &err), &err);
    for (int32_t id = 0; id < hr_graph_size(hr_rewrite_graph(r)); id++)
        found += strcmp(hr_node_op((hr_node){hr_rewrite_graph(r), id, 0}), op) == 0;
    hr_rewrite_free(r);
    return found;
}

static const char PASSES[] = "exact,lookup_sum,sparse_updates";

static void a_linear_model_becomes_three_nodes(void **state)
{
    (void)state;
    static const char *const gone[] = {"AddN", "Headrace>EmbeddingLookupSparse", "Headrace>EmbeddingLookupSparseGrad",
                                       "ResourceSparseApplyFtrl"};
    const linear t = make_linear(1, HR_SUM, ftrl());
    for (int i = 0; i < 2; i++) assert_int_equal(count_for(PASSES, &t.step, 1, made_ops[i]), 1);
    assert_int_equal(count_for(PASSES, &t.step, 1, "Headrace>SparseApplyFtrlMany"), 1);
    for (size_t i = 0; i < sizeof gone / sizeof *gone; i++) assert_int_equal(count_for(PASSES, &t.step, 1, gone[i]), 0);
    for (int i = 0; i < 2; i++) assert_int_equal(count_for("exact", &t.step, 1, made_ops[i]), 0); /* not in files */
}

static void what_others_need_stays(void **state)
{
    (void)state;
    const linear t = make_linear(2, HR_SUM, ftrl());
    const hr_node ids = hr_cast_to(t.ids[0], HR_FLOAT), few[] = {t.sum, t.lookup[0]};
    const hr_node weighed = hr_embedding_lookup_sparse(t.table[0], t.ids[0], t.splits[0], .weights = ids);
    const hr_node clipped = hr_embedding_lookup_sparse(t.table[1], t.ids[1], t.splits[1], .max_norm = 1);
    const hr_node mean = hr_embedding_lookup_sparse(t.table[1], t.ids[1], t.splits[1], .combiner = HR_MEAN);
    const hr_node sum = hr_embedding_lookup_sparse(t.table[2], t.ids[1], t.splits[1], .combiner = HR_SUM);
    const hr_node other = hr_embedding_lookup_sparse(t.table[4], t.ids[1], t.splits[1], .combiner = HR_SUM);
    assert_int_equal(count_for(PASSES, few, 2, "Headrace>EmbeddingLookupSparse"), 1);
    assert_int_equal(count_nodes(PASSES, hr_add_n((hr_node[]){weighed, clipped, mean}, 3), made_ops[0]), 0);
    assert_int_equal(count_nodes(PASSES, hr_add_n((hr_node[]){weighed, sum, clipped, mean, other}, 5), made_ops[0]), 1);
    assert_int_equal(count_nodes(PASSES, hr_add(sum, other), made_ops[0]), 0);
}

/* A table that changes between its lookup and the sum is looked up where it was. */
static void a_table_that_changes_stays(void **state)
{
    (void)state;
    const linear t = make_linear(1, HR_SUM, ftrl());
    const hr_node row = hr_embedding_lookup_sparse(t.table[1], t.ids[0], t.splits[0], .combiner = HR_SUM);
    const hr_node zeros = hr_assign(t.table[1], hr_zeros_like(hr_variable_of(t.table[1])->read));
    hr_control_dependencies(g, &zeros, 1);
    const hr_node late = hr_identity(t.ids[0]);
    hr_control_end(g);
    const hr_node other = hr_embedding_lookup_sparse(t.table[2], late, t.splits[0], .combiner = HR_SUM);
    assert_int_equal(count_nodes(PASSES, hr_add_n((hr_node[]){row, other}, 2), made_ops[0]), 0);
}

/* An update that another one waits for, or whose variable is read before the next one, stays where it is. */
static void updates_that_others_come_between_stay(void **state)
{
    (void)state;
    const linear t = make_linear(1, HR_SUM, ftrl());
    hr_node accum[4], done[4];
    for (int i = 0; i < 4; i++)
        accum[i] = hr_get_variable(g,
                                   i ? (i == 1   ? "a"
                                        : i == 2 ? "b"
                                                 : "c")
                                     : "d",
                                   HR_FLOAT, HR_SHAPE(buckets[i], 1), .initializer = hr_ones());
    const hr_node rate = number(0.5), epsilon = number(0.1);
    for (int i = 0; i < 4; i++) {
        const hr_node in[] = {t.table[i], accum[i], rate, epsilon, t.gradient[i].values, t.gradient[i].indices};
        done[i] = hr_target(hr_new_node(g, "ResourceSparseApplyAdagradV2", .inputs = in, .input_count = 6,
                                        HR_ATTRS(HR_BOOL_ATTR("_sum_duplicates", true))));
        if (i != 1) continue;
        hr_control_dependencies(g, &done[1], 1);
        done[1] = hr_new_node(g, "ReadVariableOp", HR_INPUTS(t.table[2]), HR_ATTRS(HR_TYPE_ATTR("dtype", HR_FLOAT)));
        hr_control_end(g);
    }
    assert_null(hr_graph_error(g));
    assert_int_equal(count_for(PASSES, (hr_node[]){done[0], done[3]}, 2, "Headrace>SparseApplyAdagradMany"), 1);
    assert_int_equal(count_for(PASSES, done, 4, "Headrace>SparseApplyAdagradMany"), 0);
}

/* One after the other: an update of many would refuse the variable. */
static void updates_of_one_variable_stay(void **state)
{
    (void)state;
    const linear t = make_linear(1, HR_SUM, ftrl());
    const hr_node rate = number(0.5), epsilon = number(0.1);
    hr_node done[2];
    for (int i = 0; i < 2; i++) {
        const hr_node accum =
            hr_get_variable(g, i ? "a" : "b", HR_FLOAT, HR_SHAPE(buckets[0], 1), .initializer = hr_ones());
        const hr_node in[] = {t.table[0], accum, rate, epsilon, t.gradient[0].values, t.gradient[0].indices};
        done[i] = hr_target(hr_new_node(g, "ResourceSparseApplyAdagradV2", .inputs = in, .input_count = 6,
                                        HR_ATTRS(HR_BOOL_ATTR("_sum_duplicates", true))));
    }
    assert_null(hr_graph_error(g));
    assert_int_equal(count_for(PASSES, done, 2, "Headrace>SparseApplyAdagradMany"), 0);
    assert_int_equal(count_for(PASSES, done, 2, "ResourceSparseApplyAdagradV2"), 2);
}

/* Of the rows that t->dense stands for. */
static hr_node gradient_of(const linear *t, int table, hr_node ids, hr_node splits)
{
    const hr_node in[] = {t->table[table], t->dense, ids, splits};
    return hr_new_node(g, "Headrace>EmbeddingLookupSparseGrad", .inputs = in, .input_count = 4,
                       HR_ATTRS(HR_STRING_ATTR("combiner", "sum")));
}

static void a_gradient_that_needs_another_one_stays(void **state)
{
    (void)state;
    const linear t = make_linear(1, HR_SUM, ftrl());
    const hr_node first = gradient_of(&t, 0, t.ids[0], t.splits[0]);
    const hr_node second = gradient_of(&t, 2, hr_node_output(first, 1), t.splits[0]);
    const hr_node third = gradient_of(&t, 4, t.ids[0], t.splits[0]);
    assert_null(hr_graph_error(g));
    assert_int_equal(count_for(PASSES, (hr_node[]){first, second}, 2, made_ops[1]), 0);
    assert_int_equal(count_for(PASSES, (hr_node[]){first, third}, 2, made_ops[1]), 1);
}

static void a_gradient_of_minus_zero_keeps_its_sign(void **state)
{
    (void)state;
    enum { FEW = 7 };
    hr_error err;
    const linear t = make_linear(1, HR_SUM, ftrl());
    batch *b = calloc(1, sizeof *b);
    const hr_node both[] = {gradient_of(&t, 2, t.ids[2], t.splits[2]), gradient_of(&t, 6, t.ids[6], t.splits[6])};
    fill_batch(b, &t, ALL_DISTINCT, FEW, 1, 1);
    for (int i = 0; i < FEW; i++) b->dense[i] = -0.0F;
    assert_int_equal(count_for(PASSES, both, 2, made_ops[1]), 1);
    for (int with = 0; with < 2; with++) {
        hr_tensor out[2];
        hr_session *s = begin_session(with ? ALL : NONE, 0);
        assert_ok(hr_session_run(s, b->feed, FEEDS, both, 2, out, &err), &err);
        for (int i = 0; i < 2; i++) assert_memory_equal(out[i].data, b->dense, FEW * sizeof(float));
        clear(out, 2);
        hr_session_free(s);
    }
    free(b);
}

static void an_id_that_a_table_lacks_is_refused(void **state)
{
    (void)state;
    hr_error err;
    const linear t = make_linear(1, HR_SUM, ftrl());
    batch *b = calloc(1, sizeof *b);
    hr_session *s = begin_session(ALL, 0);
    for (id_kind kind = SKEWED; kind <= SEVERAL; kind += SEVERAL)
        for (int column = 1; column < COLUMNS; column += COLUMNS - 2)
            for (int gradient = 0; gradient < 2; gradient++) {
                const hr_node fetch = gradient ? t.gradient[column].values : t.sum;
                hr_tensor out, fed = hr_tensor_of(HR_FLOAT, HR_SHAPE(40, 1), b->dense);
                hr_feed feed[FEEDS + 1];
                char expected[40];
                fill_batch(b, &t, kind, 40, 1, 3);
                b->ids[column][30] = buckets[column];
                (void)snprintf(expected, sizeof expected, "expected ids below %lld", (long long)buckets[column]);
                memcpy(feed, b->feed, sizeof b->feed);
                feed[FEEDS] = (hr_feed){t.sum, fed}; /* then only gradients look at ids */
                assert_int_equal(hr_session_run(s, feed, FEEDS + gradient, &fetch, 1, &out, &err), HR_INVALID_ARGUMENT);
                assert_non_null(strstr(err.text, expected));
            }
    hr_session_free(s);
    free(b);
}

/* Columns share memory in which rows are found: one with few ids that comes after has place for these alone. */
static void a_column_that_is_refused_leaves_nothing_behind(void **state)
{
    (void)state;
    enum { REFUSED = 6, LATER = 0 };
    hr_error err;
    hr_tensor out;
    const linear t = make_linear(1, HR_SUM, ftrl());
    batch *b = calloc(1, sizeof *b);
    const hr_node in[] = {t.table[REFUSED],  t.table[LATER],  t.ids[REFUSED], t.ids[LATER],
                          t.splits[REFUSED], t.splits[LATER], t.dense};
    const hr_node made = hr_new_node(g, "Headrace>LookupSumGrad", .inputs = in, .input_count = 7,
                                     HR_ATTRS(HR_INT_ATTR("N", 2), HR_STRING_ATTR("combiner", "sum")));
    fill_batch(b, &t, ALL_DISTINCT, ROWS, 1, 3);
    for (int r = 0; r < ROWS; r++) b->ids[REFUSED][r] = r < ROWS - 1 ? ROWS - r : buckets[REFUSED];
    b->ids[LATER][0] = buckets[LATER] - 1; /* which the other column finds late */
    for (int r = 1; r <= ROWS; r++) b->splits[LATER][r] = 1;
    b->feed[2 * LATER].value = hr_tensor_of(HR_INT64, HR_SHAPE(1), b->ids[LATER]);
    hr_session *s = begin_session(NONE, 0);
    assert_int_equal(hr_session_run(s, b->feed, FEEDS, &made, 1, &out, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "graph.index");
    hr_session_free(s);
    free(b);
}

/* By hand, and with what does not fit. */
static hr_status run_by_hand(const linear *t, const batch *b, const int64_t *order, int count, hr_node other,
                             bool backward, hr_error *err)
{
    hr_node in[3 * 2 + 2];
    hr_tensor out;
    for (int i = 0; i < 2; i++) {
        in[i] = i ? other : t->table[0];
        in[2 + i] = t->ids[i];
        in[4 + i] = t->splits[i];
    }
    in[6] = t->dense;
    const hr_attr places = {.name = "order", .kind = HR_ATTR_INTS, .count = count, .ints = order};
    const hr_node made =
        hr_new_node(g, made_ops[backward], .inputs = in, .input_count = 7,
                    HR_ATTRS(HR_INT_ATTR("N", 2), backward ? HR_STRING_ATTR("combiner", "sum") : HR_INT_ATTR("D", 1),
                             backward ? HR_STRING_ATTR("combiner", "sum") : places));
    assert_null(hr_graph_error(g));
    hr_session *s = begin_session(NONE, 0);
    const hr_status st = hr_session_run(s, b->feed, FEEDS, &made, 1, &out, err);
    if (st == HR_OK) hr_tensor_clear(&out);
    hr_session_free(s);
    return st;
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    hr_error err;
    const linear t = make_linear(1, HR_SUM, ftrl());
    const hr_node wide = hr_get_variable(g, "wide", HR_FLOAT, HR_SHAPE(700, 2), .initializer = hr_zeros());
    batch *b = calloc(1, sizeof *b);
    fill_batch(b, &t, SKEWED, 40, 1, 1);
    for (int backward = 0; backward < 2; backward++) {
        assert_ok(run_by_hand(&t, b, NULL, 0, t.table[1], backward, &err), &err);
        assert_int_equal(run_by_hand(&t, b, NULL, 0, wide, backward, &err), HR_INVALID_ARGUMENT);
        b->feed[3].value.shape.dims[0]--, b->feed[3].value.count--;
        assert_int_equal(run_by_hand(&t, b, NULL, 0, t.table[1], backward, &err), HR_INVALID_ARGUMENT);
        fill_batch(b, &t, SKEWED, 40, 1, 1);
        b->splits[0][3] = 1000;
        assert_int_equal(run_by_hand(&t, b, NULL, 0, t.table[1], backward, &err), HR_INVALID_ARGUMENT);
        fill_batch(b, &t, SKEWED, 40, 1, 1);
        b->feed[2 * COLUMNS].value.shape.dims[0]--, b->feed[2 * COLUMNS].value.count--;
        assert_int_equal(run_by_hand(&t, b, NULL, 0, t.table[1], backward, &err), HR_INVALID_ARGUMENT);
        fill_batch(b, &t, SKEWED, 40, 1, 1);
    }
    assert_ok(run_by_hand(&t, b, HR_I64(2, 0, 1), 3, t.table[1], false, &err), &err);
    assert_int_equal(run_by_hand(&t, b, HR_I64(2, 0, 0), 3, t.table[1], false, &err), HR_INVALID_ARGUMENT);
    assert_int_equal(run_by_hand(&t, b, HR_I64(3, 0, 1), 3, t.table[1], false, &err), HR_INVALID_ARGUMENT);
    assert_int_equal(run_by_hand(&t, b, HR_I64(1, 0), 2, t.table[1], false, &err), HR_INVALID_ARGUMENT);
    free(b);
}

/* Two threads would change it. */
static void a_variable_that_is_updated_twice_is_refused(void **state)
{
    (void)state;
    hr_error err;
    hr_node v[4];
    static const char *const names[] = {"w", "x", "y", "z"};
    for (int i = 0; i < 4; i++) v[i] = hr_get_variable(g, names[i], HR_FLOAT, HR_SHAPE(5, 2), .initializer = hr_ones());
    const hr_node row = hr_reshape(hr_ints(g, HR_I64(1, 1), 2), hr_shape_const(g, HR_SHAPE(2)));
    const hr_node rows = hr_cast_to(row, HR_INT64), grad = hr_fill(hr_shape_const(g, HR_SHAPE(2, 2)), number(0.5));
    for (int twice = 0; twice < 2; twice++) {
        const hr_node in[] = {v[0], v[1], v[2], twice ? v[0] : v[3], grad, grad, rows, rows, number(1), number(0)};
        const hr_node step = hr_target(hr_new_node(g, "Headrace>SparseApplyAdagradMany", .inputs = in,
                                                   .input_count = 10, HR_ATTRS(HR_INT_ATTR("N", 2))));
        hr_session *s = begin_session(NONE, 0);
        assert_null(hr_graph_error(g));
        const hr_status st = hr_session_run(s, NULL, 0, &step, 1, NULL, &err);
        assert_int_equal(st, twice ? HR_INVALID_ARGUMENT : HR_OK);
        if (twice) assert_string_equal(err.kind, "optimizer.variable");
        const hr_node read = hr_identity(v[2]);
        hr_tensor out;
        assert_ok(hr_session_run(s, NULL, 0, &read, 1, &out, &err), &err);
        assert_true(((const float *)out.data)[2] == (twice ? 1 : 2)); /* 0.5 twice is 1 at once, and its square */
        hr_tensor_clear(&out);
        hr_session_free(s);
    }
}

/* Any allocation of the plan and the run may fail. */
static void a_sum_without_memory_fails(void **state)
{
    (void)state;
    hr_error err;
    const linear t = make_linear(1, HR_SUM, ftrl());
    batch *b = calloc(1, sizeof *b);
    hr_status st = HR_RESOURCE_EXHAUSTED;
    fill_batch(b, &t, SEVERAL, 40, 1, 1);
    for (int64_t n = 0; st != HR_OK; n += 1 + n / 16) {
        hr_session *s = begin_session(ALL, 0);
        fail_allocation(n);
        st = hr_session_run(s, b->feed, FEEDS, &t.step, 1, NULL, &err);
        (void)allocations_since();
        assert_true(st == HR_OK || st == HR_RESOURCE_EXHAUSTED);
        hr_session_free(s);
    }
    free(b);
}

/* More tables than most models have: of sums, updates and layers. ThreadSanitizer can count 64 locks of a thread. */
#if HR__UNDER_TSAN
enum { MANY = 20 };
#else
enum { MANY = 400 };
#endif

static void hundreds_of_tables_train(void **state)
{
    (void)state;
    hr_error err;
    char name[24];
    static int64_t id[2] = {1, 0};
    static int32_t split[3] = {0, 1, 2};
    hr_node *row = calloc(MANY, sizeof *row);
    const hr_node ids = hr_placeholder(g, HR_INT64, HR_SHAPE(-1)), splits = hr_placeholder(g, HR_INT32, HR_SHAPE(-1));
    for (int i = 0; i < MANY; i++) {
        (void)snprintf(name, sizeof name, "table_%d", i);
        const hr_node table =
            hr_get_variable(g, name, HR_FLOAT, HR_SHAPE(3, 1), .initializer = hr_constant_value(i % 7));
        row[i] = hr_embedding_lookup_sparse(table, ids, splits, .combiner = HR_SUM);
    }
    const hr_node weights = hr_get_variable(g, "weights", HR_FLOAT, HR_SHAPE(MANY, 2), .initializer = hr_ones());
    const hr_node layer = hr_reduce_sum(hr_matmul(hr_concat(row, MANY, 1), weights));
    for (int i = 0; i < MANY; i++) row[i] = hr_embedding_lookup_sparse(hr_node_input(row[i], 0), ids, splits);
    const hr_node sum = hr_reduce_sum(hr_add_n(row, MANY)), loss = hr_add(layer, sum);
    const hr_node step = hr_minimize(ftrl(), loss), both[] = {loss, step};
    const hr_feed feed[] = {{ids, hr_tensor_of(HR_INT64, HR_SHAPE(2), id)},
                            {splits, hr_tensor_of(HR_INT32, HR_SHAPE(3), split)}};
    float value[2];
    for (int turn = 0; turn < 2; turn++) {
        hr_tensor out[2];
        hr_session *s = begin_session(turn ? "exact,lookup_matmul" : NONE, 0);
        for (int i = 0; i < 2; i++) {
            assert_ok(hr_session_run(s, feed, 2, both, 2, out, &err), &err);
            value[turn] = *(const float *)out[0].data;
            hr_tensor_clear(&out[0]);
        }
        hr_session_free(s);
    }
    assert_float_equal(value[0], value[1], 0.01F);
    free(row);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_A_GRAPH(a_linear_model_trains_as_without_the_passes),
        ON_A_GRAPH(a_linear_model_becomes_three_nodes),
        ON_A_GRAPH(what_others_need_stays),
        ON_A_GRAPH(a_table_that_changes_stays),
        ON_A_GRAPH(updates_that_others_come_between_stay),
        ON_A_GRAPH(updates_of_one_variable_stay),
        ON_A_GRAPH(a_gradient_that_needs_another_one_stays),
        ON_A_GRAPH(a_gradient_of_minus_zero_keeps_its_sign),
        ON_A_GRAPH(an_id_that_a_table_lacks_is_refused),
        ON_A_GRAPH(a_column_that_is_refused_leaves_nothing_behind),
        ON_A_GRAPH(what_does_not_fit_is_refused),
        ON_A_GRAPH(a_variable_that_is_updated_twice_is_refused),
        ON_A_GRAPH(a_sum_without_memory_fails),
        ON_A_GRAPH(hundreds_of_tables_train),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
