/* The pass lookup_matmul, and the ops that it makes: results beside those without it, for ids of all kinds. */
#include "base/cpu.h"
#include "tests/train/passes/rewritten.h"

#include <headrace/layers.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { COLUMNS = 4, ROWS = 600, BUCKETS = 3000 };

/* A layer over lookups between dense values, and what training needs of it. */
typedef struct trained {
    hr_node table[COLUMNS], ids[COLUMNS], splits[COLUMNS], dense[2], concat, weights, layer;
    hr_node fetch[2 + 2 * COLUMNS]; /* the layer, the gradients of the weights and of tables: values, rows */
} trained;

static const int64_t widths[COLUMNS] = {16, 3, 16, 70};

static hr_node varied(const char *name, hr_shape shape, int64_t seed)
{
    return hr_get_variable(g, name, HR_FLOAT, shape, .initializer = hr_random_uniform(-1, 1, seed));
}

/* The loss of which gradients are made. */
static hr_node smooth_loss(const trained *t) { return hr_reduce_sum(hr_tanh(hr_mul(t->layer, number(0.3)))); }

/* `whole`: one whose gradients are whole numbers where the values are. */
static trained make_layer_of(int64_t units, hr_combiner combiner, bool whole)
{
    trained t = {0};
    int64_t inner = 3;
    char name[24];
    hr_node part[COLUMNS + 2];
    hr_gradient gradient[1 + COLUMNS];
    hr_node of[1 + COLUMNS];
    for (int i = 0; i < COLUMNS; i++) {
        (void)snprintf(name, sizeof name, "table_%d", i);
        t.table[i] = of[1 + i] = varied(name, HR_SHAPE(BUCKETS, widths[i]), 5 + i);
        t.ids[i] = hr_placeholder(g, HR_INT64, HR_SHAPE(-1));
        t.splits[i] = hr_placeholder(g, HR_INT32, HR_SHAPE(-1));
        part[i + 1] = hr_embedding_lookup_sparse(t.table[i], t.ids[i], t.splits[i], .combiner = combiner);
        inner += widths[i];
    }
    t.dense[0] = part[0] = hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1, 1));
    t.dense[1] = part[COLUMNS + 1] = hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1, 2));
    t.weights = of[0] = varied("weights", HR_SHAPE(inner, units), 3);
    t.concat = hr_concat(part, COLUMNS + 2, 1);
    t.layer = hr_matmul(t.concat, t.weights);
    const hr_node loss = whole ? hr_reduce_sum(hr_mul(t.layer, t.dense[0])) : smooth_loss(&t);
    hr_gradients(&loss, 1, of, 1 + COLUMNS, gradient);
    t.fetch[0] = t.layer;
    t.fetch[1] = gradient[0].values;
    for (int i = 0; i < COLUMNS; i++) {
        t.fetch[2 + 2 * i] = gradient[1 + i].values;
        t.fetch[3 + 2 * i] = gradient[1 + i].indices;
    }
    assert_null(hr_graph_error(g));
    return t;
}

static trained make_layer(int64_t units, hr_combiner combiner) { return make_layer_of(units, combiner, false); }

/* How ids of a batch are drawn. Most distinct: 250 rows have products of more ids than a chunk of AVX-512's tiles. */
typedef enum id_kind { SKEWED, MOST_DISTINCT, ALL_DISTINCT, SOME_MISSING, SEVERAL } id_kind;

typedef struct batch {
    int64_t ids[COLUMNS][3 * ROWS];
    int32_t splits[COLUMNS][ROWS + 1];
    float dense[3 * ROWS];
    hr_feed feed[2 * COLUMNS + 2];
} batch;

static void fill_batch(batch *b, const trained *t, id_kind kind, int64_t rows)
{
    uint64_t n = 0;
    for (int i = 0; i < COLUMNS; i++) {
        int64_t count = 0;
        for (int64_t r = 0; r < rows; r++) {
            const uint64_t draw = hr_random(17, n++);
            const int64_t skewed = (int64_t)(draw % 64 < 40 ? draw % 3 : draw / 64 % 90);
            const int64_t first = kind == ALL_DISTINCT ? r + i : kind == MOST_DISTINCT ? (int64_t)(draw % 300) : skewed;
            const int64_t ids = kind == SEVERAL ? (int64_t)(draw / 7 % 4) : 1;
            b->splits[i][r] = (int32_t)count;
            if (kind == SOME_MISSING && draw % 5 == 0) continue;
            for (int64_t j = 0; j < ids; j++) b->ids[i][count++] = (first + 11 * j) % BUCKETS;
            if (kind == SOME_MISSING && draw % 7 == 0) b->ids[i][count - 1] = -1;
        }
        b->splits[i][rows] = (int32_t)count;
        b->feed[2 * i] = (hr_feed){t->ids[i], hr_tensor_of(HR_INT64, HR_SHAPE(count), b->ids[i])};
        b->feed[2 * i + 1] = (hr_feed){t->splits[i], hr_tensor_of(HR_INT32, HR_SHAPE(rows + 1), b->splits[i])};
    }
    for (int64_t i = 0; i < 3 * rows; i++) b->dense[i] = (float)(hr_random(19, (uint64_t)i) % 1000) / 500 - 1;
    b->feed[2 * COLUMNS] = (hr_feed){t->dense[0], hr_tensor_of(HR_FLOAT, HR_SHAPE(rows, 1), b->dense)};
    b->feed[2 * COLUMNS + 1] = (hr_feed){t->dense[1], hr_tensor_of(HR_FLOAT, HR_SHAPE(rows, 2), b->dense + rows)};
}

enum { FETCHES = 2 + 2 * COLUMNS };

/* Takes the session. `begin`: what is run before. */
static void run_session(const trained *t, const batch *b, hr_session *s, const hr_node *begin, int count,
                        hr_tensor *out)
{
    hr_error err;
    for (int i = 0; i < count; i++) assert_ok(hr_session_run(s, NULL, 0, &begin[i], 1, NULL, &err), &err);
    assert_ok(hr_session_run(s, b->feed, 2 * COLUMNS + 2, t->fetch, FETCHES, out, &err), &err);
    hr_session_free(s);
}

static void run_layer(const trained *t, const batch *b, const char *passes, int workers, hr_tensor *out)
{
    const hr_node init = hr_global_variables_initializer(g);
    run_session(t, b, hr_session_new(g, .passes = passes, .workers = &workers), &init, 1, out);
}

static void clear(hr_tensor *out)
{
    for (int i = 0; i < FETCHES; i++) hr_tensor_clear(&out[i]);
}

static void assert_close(const hr_tensor *a, const hr_tensor *b, float terms)
{
    assert_true(hr_shape_equal(a->shape, b->shape));
    for (int64_t i = 0; i < a->count; i++) {
        const float x = ((const float *)a->data)[i], y = ((const float *)b->data)[i];
        assert_true(fabsf(x - y) <= 3e-7f * terms * (1 + fabsf(y)));
    }
}

static void compare(const trained *t, const batch *b, int64_t rows)
{
    hr_tensor with[FETCHES], without[FETCHES], again[FETCHES];
    run_layer(t, b, "none", 0, without);
    run_layer(t, b, "lookup_matmul", 0, with);
    run_layer(t, b, "exact,lookup_matmul", 3, again);
    assert_close(&with[0], &without[0], 20);
    for (int i = 1; i < FETCHES; i++) {
        if (with[i].dtype == HR_FLOAT)
            assert_close(&with[i], &without[i], 20 + sqrtf((float)(rows * without[0].shape.dims[1])));
        else
            assert_memory_equal(with[i].data, without[i].data, (size_t)without[i].count * sizeof(int64_t));
    }
    for (int i = 0; i < FETCHES; i++) {
        const size_t size = (size_t)with[i].count * hr_dtype_size(with[i].dtype);
        if (size) assert_memory_equal(with[i].data, again[i].data, size);
    }
    clear(with);
    clear(without);
    clear(again);
}

static void lookups_and_the_layer_above_become_two_nodes(void **state)
{
    (void)state;
    const trained t = make_layer(24, HR_MEAN);
    hr_error err;
    hr_rewrite *r;
    static const char *const gone[] = {
        "ConcatV2",    "MatMul", "Slice", "Headrace>EmbeddingLookupSparse", "Headrace>EmbeddingLookupSparseGrad",
        "ConcatOffset"};
    assert_ok(hr_rewrite_new(g, NULL, 0, t.fetch, FETCHES, "exact,lookup_matmul", &r, &err), &err);
    int made = 0;
    for (int32_t id = 0; id < hr_graph_size(hr_rewrite_graph(r)); id++) {
        const char *op = hr_node_op((hr_node){hr_rewrite_graph(r), id, 0});
        made += strncmp(op, "Headrace>LookupMatMul", 21) == 0;
        for (size_t i = 0; i < sizeof gone / sizeof *gone; i++) assert_string_not_equal(op, gone[i]);
    }
    hr_rewrite_free(r);
    assert_int_equal(made, 2);
    assert_int_equal(count_nodes("lookup_matmul", t.layer, "Headrace>LookupMatMul"), 1);
}

/* The first of some sizes of batches. Under ThreadSanitizer, to which they are alike, only the last two are computed. */
static size_t first_size(size_t sizes) { return UNDER_TSAN ? sizes - 2 : 0; }

static void the_layer_gives_what_it_gave(void **state)
{
    (void)state;
    static const int64_t rows[] = {0, 1, 7, 30, 128, 129, 250, 512, 513, ROWS}, units[] = {1, 24, 200, 256};
    batch *b = calloc(1, sizeof *b);
    for (size_t u = 0; u < sizeof units / sizeof *units; u++) {
        hr_graph_free(g);
        g = hr_graph_new();
        const trained t = make_layer(units[u], (hr_combiner)(u % 3));
        for (size_t i = first_size(sizeof rows / sizeof *rows); i < sizeof rows / sizeof *rows; i++)
            for (id_kind kind = SKEWED; kind <= SEVERAL; kind++) {
                fill_batch(b, &t, kind, rows[i]);
                compare(&t, b, rows[i]);
            }
    }
    free(b);
}

/* ---- of bfloat16 ---- */

/* Clears the other one. */
static void assert_same(const hr_tensor *a, hr_tensor *other)
{
    for (int i = 0; i < FETCHES; i++) {
        const size_t size = (size_t)a[i].count * hr_dtype_size(a[i].dtype);
        assert_true(hr_shape_equal(a[i].shape, other[i].shape));
        for (int64_t j = 0; a[i].dtype == HR_FLOAT && j < a[i].count; j++)
            assert_true(((const float *)a[i].data)[j] == ((const float *)other[i].data)[j]);
        if (size && a[i].dtype != HR_FLOAT) assert_memory_equal(a[i].data, other[i].data, size);
    }
    clear(other);
}

static void run_rounded(const trained *t, const batch *b, const hr_node *begin, int count, unsigned features,
                        int workers, hr_tensor *out)
{
    hr__cpu_limit(features);
    run_session(t, b,
                hr_session_new(g, .passes = "lookup_matmul", .products = HR_PRODUCTS_BFLOAT16, .workers = &workers),
                begin, count, out);
    hr__cpu_limit(~0U);
}

/* Whole numbers of few bits are not rounded: results are those of floats, to the bit. */
static void whole_numbers_are_exact_as_bfloat16(void **state)
{
    (void)state;
    static const int64_t rows[] = {0, 1, 7, 30, 129, ROWS}, units[] = {1, 24, 200};
    batch *b = calloc(1, sizeof *b);
    for (size_t u = 0; u < sizeof units / sizeof *units; u++) {
        hr_graph_free(g);
        g = hr_graph_new();
        const trained t = make_layer_of(units[u], HR_SUM, true);
        hr_node begin[2 + COLUMNS] = {hr_global_variables_initializer(g)};
        for (int i = 0; i <= COLUMNS; i++) {
            const hr_node variable = i < COLUMNS ? t.table[i] : t.weights;
            begin[1 + i] = hr_target(hr_assign(variable, hr_round(hr_mul(variable, number(4)))));
        }
        for (size_t i = first_size(sizeof rows / sizeof *rows); i < sizeof rows / sizeof *rows; i++)
            for (id_kind kind = SKEWED; kind <= SEVERAL; kind++) {
                hr_tensor floats[FETCHES], rounded[FETCHES];
                fill_batch(b, &t, kind, rows[i]);
                for (int64_t j = 0; j < 3 * rows[i]; j++) b->dense[j] = j % 5 < 3 ? 1 : -1;
                run_session(&t, b, hr_session_new(g, .passes = "none"), begin, 2 + COLUMNS, floats);
                run_rounded(&t, b, begin, 2 + COLUMNS, ~0U, 0, rounded);
                assert_same(floats, rounded);
                clear(floats);
            }
    }
    free(b);
}

/* Other numbers are rounded, on each processor alike, and by any number of threads. */
static void bfloat16_has_the_same_bits_everywhere(void **state)
{
    (void)state;
    static const int64_t rows[] = {1, 30, 200};
    static const unsigned processors[] = {~0U, ~(unsigned)HR__AVX512_BF16, HR__SSE42 | HR__AVX2, 0};
    batch *b = calloc(1, sizeof *b);
    const trained t = make_layer_of(90, HR_MEAN, true);
    const hr_node begin = hr_global_variables_initializer(g);
    for (size_t i = first_size(sizeof rows / sizeof *rows); i < sizeof rows / sizeof *rows; i++)
        for (id_kind kind = SKEWED; kind <= SEVERAL; kind++) {
            hr_tensor fast[FETCHES], other[FETCHES], floats[FETCHES];
            fill_batch(b, &t, kind, rows[i]);
            run_rounded(&t, b, &begin, 1, ~0U, 0, fast);
            run_layer(&t, b, "lookup_matmul", 0, floats);
            assert_memory_not_equal(fast[0].data, floats[0].data, (size_t)fast[0].count * sizeof(float));
            for (int64_t j = 0; j < fast[0].count; j++)
                assert_true(fabsf(((float *)fast[0].data)[j] - ((float *)floats[0].data)[j]) < 0.1F);
            clear(floats);
            for (int p = 0; p < 4; p++) {
                run_rounded(&t, b, &begin, 1, processors[p], p == 0 ? 3 : 0, other);
                assert_same(fast, other);
            }
            clear(fast);
        }
    free(b);
}

static void an_id_that_the_table_lacks_is_refused(void **state)
{
    (void)state;
    hr_error err;
    hr_tensor out;
    const trained t = make_layer(8, HR_SUM);
    batch *b = calloc(1, sizeof *b);
    hr_session *s = hr_session_new(g, .passes = "lookup_matmul");
    const hr_node init = hr_global_variables_initializer(g);
    assert_ok(hr_session_run(s, NULL, 0, &init, 1, NULL, &err), &err);
    for (id_kind kind = SKEWED; kind <= SEVERAL; kind += SEVERAL) {
        fill_batch(b, &t, kind, 40);
        b->ids[2][30] = BUCKETS;
        assert_int_equal(hr_session_run(s, b->feed, 2 * COLUMNS + 2, &t.layer, 1, &out, &err), HR_INVALID_ARGUMENT);
        assert_non_null(strstr(err.text, "3000"));
    }
    hr_session_free(s);
    free(b);
}

/* By hand, and with what does not fit. `found`: the gradient, with these of the ids that were found; NULL: the product. */
static hr_status run_by_hand(const trained *t, const batch *b, const int64_t *order, int count, hr_node weights,
                             const hr_node *found, hr_error *err)
{
    hr_node in[3 * 2 + 3 + 3];
    hr_tensor out;
    for (int i = 0; i < 2; i++) {
        in[i] = t->table[2 * i];
        in[2 + i] = t->ids[2 * i];
        in[4 + i] = t->splits[2 * i];
    }
    in[6] = t->dense[0];
    in[7] = weights;
    in[8] = t->layer;
    for (int i = 0; found && i < 3; i++) in[9 + i] = found[i];
    const hr_attr places = {.name = "order", .kind = HR_ATTR_INTS, .count = count, .ints = order};
    const hr_node made =
        hr_new_node(g, found ? "Headrace>LookupMatMulGrad" : "Headrace>LookupMatMul", .inputs = in,
                    .input_count = found ? 12 : 8, HR_ATTRS(HR_INT_ATTR("N", 2), HR_INT_ATTR("D", 1), places));
    assert_null(hr_graph_error(g));
    hr_session *s = hr_session_new(g);
    const hr_node init = hr_global_variables_initializer(g);
    assert_ok(hr_session_run(s, NULL, 0, &init, 1, NULL, err), err);
    const hr_status st = hr_session_run(s, b->feed, 2 * COLUMNS + 2, &made, 1, &out, err);
    if (st == HR_OK) hr_tensor_clear(&out);
    hr_session_free(s);
    return st;
}

typedef struct found_ids {
    int32_t place[2 * ROWS];
    int64_t distinct[2 * ROWS], count[2];
    hr_node node[3];
} found_ids;

/* Of the first and the third column, each of whose rows has one id. */
static void find_ids(found_ids *f, const batch *b, int64_t rows)
{
    int64_t all = 0;
    for (int i = 0; i < 2; i++) {
        const int64_t *id = b->ids[2 * i];
        f->count[i] = 0;
        for (int64_t r = 0; r < rows; r++) {
            int64_t u = 0;
            while (u < f->count[i] && f->distinct[all + u] != id[r]) u++;
            f->distinct[all + u] = id[r];
            f->count[i] += u == f->count[i];
            f->place[i * rows + r] = (int32_t)u;
        }
        all += f->count[i];
    }
}

static const hr_node *found_nodes(found_ids *f, int64_t places, int64_t distinct)
{
    const hr_tensor place = hr_tensor_of(HR_INT32, HR_SHAPE(places), f->place);
    const hr_tensor ids = hr_tensor_of(HR_INT64, HR_SHAPE(distinct), f->distinct);
    const hr_tensor counts = hr_tensor_of(HR_INT64, HR_SHAPE(2), f->count);
    f->node[0] = hr_const(g, &place);
    f->node[1] = hr_const(g, &ids);
    f->node[2] = hr_const(g, &counts);
    return f->node;
}

/* Who makes the gradient's node may tell it of other ids than there are. */
static void ids_that_were_not_found_are_refused(void **state)
{
    (void)state;
    enum { MANY = 40 };
    hr_error err;
    const trained t = make_layer(8, HR_SUM);
    batch *b = calloc(1, sizeof *b);
    found_ids *right = calloc(1, sizeof *right), *f = calloc(1, sizeof *f);
    const hr_node w = varied("right", HR_SHAPE(33, 8), 1);
    fill_batch(b, &t, SKEWED, MANY);
    find_ids(right, b, MANY);
    const int64_t all = right->count[0] + right->count[1];
    assert_ok(run_by_hand(&t, b, NULL, 0, w, found_nodes(right, 2 * MANY, all), &err), &err);
    for (int wrong = 0; wrong < 8; wrong++) {
        int64_t places = 2 * MANY, distinct = all;
        *f = *right;
        if (wrong == 0) places--;
        if (wrong == 1) f->place[MANY - 1] = (int32_t)f->count[0];
        if (wrong == 2) f->place[3] = -2;
        if (wrong == 3) f->distinct[all - 1] = BUCKETS;
        if (wrong == 4) f->distinct[0] = -1;
        if (wrong == 5) distinct--;
        if (wrong == 6) f->count[0] = -1;
        if (wrong == 7) f->count[1] = MANY + 2;
        assert_int_equal(run_by_hand(&t, b, NULL, 0, w, found_nodes(f, places, distinct), &err), HR_INVALID_ARGUMENT);
        assert_non_null(strstr(err.text, wrong >= 1 && wrong <= 4 ? "expected ids below 3000" : "expected "));
    }
    free(right);
    free(f);
    free(b);
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    hr_error err;
    const trained t = make_layer(8, HR_SUM);
    batch *b = calloc(1, sizeof *b);
    found_ids *f = calloc(1, sizeof *f);
    const hr_node right = varied("right", HR_SHAPE(33, 8), 1), wrong = varied("wrong", HR_SHAPE(32, 8), 1);
    const hr_node narrow = varied("narrow", HR_SHAPE(33, 7), 1);
    fill_batch(b, &t, SKEWED, 40);
    find_ids(f, b, 40);
    const hr_node *found = found_nodes(f, 80, f->count[0] + f->count[1]);
    for (const hr_node *backward = NULL;; backward = found) {
        assert_ok(run_by_hand(&t, b, NULL, 0, right, backward, &err), &err);
        assert_ok(run_by_hand(&t, b, (int64_t[]){2, 0, 1}, 3, right, backward, &err), &err);
        assert_int_equal(run_by_hand(&t, b, (int64_t[]){2, 0, 0}, 3, right, backward, &err), HR_INVALID_ARGUMENT);
        assert_int_equal(run_by_hand(&t, b, (int64_t[]){3, 0, 1}, 3, right, backward, &err), HR_INVALID_ARGUMENT);
        assert_int_equal(run_by_hand(&t, b, (int64_t[]){-1, 0, 1}, 3, right, backward, &err), HR_INVALID_ARGUMENT);
        assert_int_equal(run_by_hand(&t, b, (int64_t[]){1, 0}, 2, right, backward, &err), HR_INVALID_ARGUMENT);
        assert_int_equal(run_by_hand(&t, b, NULL, 0, wrong, backward, &err), HR_INVALID_ARGUMENT);
        b->feed[5].value.shape.dims[0]--, b->feed[5].value.count--;
        assert_int_equal(run_by_hand(&t, b, NULL, 0, right, backward, &err), HR_INVALID_ARGUMENT);
        fill_batch(b, &t, SKEWED, 40);
        b->splits[0][3] = 1000;
        assert_int_equal(run_by_hand(&t, b, NULL, 0, right, backward, &err), HR_INVALID_ARGUMENT);
        fill_batch(b, &t, SKEWED, 40);
        if (backward) break;
    }
    assert_int_equal(run_by_hand(&t, b, NULL, 0, narrow, found, &err), HR_INVALID_ARGUMENT);
    free(f);
    free(b);
}

/* Any allocation of the plan and the run may fail. */
static void a_layer_without_memory_fails(void **state)
{
    (void)state;
    hr_error err;
    hr_tensor out[FETCHES];
    const trained t = make_layer(24, HR_MEAN);
    const hr_node init = hr_global_variables_initializer(g);
    batch *b = calloc(1, sizeof *b);
    hr_status st = HR_RESOURCE_EXHAUSTED;
    fill_batch(b, &t, SEVERAL, 40);
    for (int64_t n = 0; st != HR_OK; n += 1 + n / 16) {
        hr_session *s = hr_session_new(g, .passes = "lookup_matmul", .workers = &(int){0});
        assert_ok(hr_session_run(s, NULL, 0, &init, 1, NULL, &err), &err);
        fail_allocation(n);
        st = hr_session_run(s, b->feed, 2 * COLUMNS + 2, t.fetch, FETCHES, out, &err);
        (void)allocations_since();
        assert_true(st == HR_OK || st == HR_RESOURCE_EXHAUSTED);
        if (st == HR_OK) clear(out);
        hr_session_free(s);
    }
    free(b);
}

static void what_others_need_stays(void **state)
{
    (void)state;
    const trained t = make_layer(8, HR_MEAN);
    const hr_node ids = t.ids[0], splits = t.splits[0];
    const hr_node clipped = hr_embedding_lookup_sparse(t.table[0], ids, splits, .max_norm = 1);
    const hr_node weighed = hr_embedding_lookup_sparse(t.table[0], ids, splits, .weights = hr_cast_to(ids, HR_FLOAT));
    const hr_node plain = hr_embedding_lookup_sparse(t.table[0], ids, splits);
    const hr_node sum = hr_embedding_lookup_sparse(t.table[2], ids, splits, .combiner = HR_SUM);
    const hr_node w = varied("w", HR_SHAPE(32, 4), 1);
    const char *op = "Headrace>LookupMatMul";
    assert_int_equal(count_nodes("lookup_matmul", hr_add(hr_reduce_sum(t.layer), hr_reduce_sum(t.concat)), op), 0);
    assert_int_equal(count_nodes("lookup_matmul", hr_matmul(hr_concat(((hr_node[]){plain, sum}), 2, 1), w), op), 0);
    assert_int_equal(count_nodes("lookup_matmul", hr_matmul(hr_concat(((hr_node[]){plain, plain}), 2, 1), w), op), 0);
    assert_int_equal(count_nodes("lookup_matmul", hr_matmul(hr_concat(((hr_node[]){plain, clipped}), 2, 1), w), op), 1);
    assert_int_equal(count_nodes("lookup_matmul", hr_matmul(hr_concat(((hr_node[]){weighed, clipped}), 2, 1), w), op),
                     0);
    assert_int_equal(
        count_nodes("lookup_matmul",
                    hr_matmul(hr_concat(((hr_node[]){plain, plain}), 2, 0), varied("v", HR_SHAPE(16, 4), 1)), op),
        0);
}

/* A table that changes between its lookup and the product is looked up where it was. */
static void a_table_that_changes_stays(void **state)
{
    (void)state;
    const trained t = make_layer(8, HR_MEAN);
    const hr_node row = hr_embedding_lookup_sparse(t.table[0], t.ids[0], t.splits[0]);
    const hr_node other = hr_embedding_lookup_sparse(t.table[2], t.ids[0], t.splits[0]);
    hr_control_dependencies(g, (const hr_node[]){hr_target(row)}, 1);
    const hr_node zeros = hr_assign(t.table[0], hr_zeros_like(hr_variable_of(t.table[0])->read));
    hr_control_end(g);
    hr_control_dependencies(g, &zeros, 1);
    const hr_node w = hr_neg(varied("w", HR_SHAPE(32, 4), 1));
    hr_control_end(g);
    const hr_node y = hr_matmul(hr_concat(((hr_node[]){row, other}), 2, 1), w);
    assert_int_equal(count_nodes("lookup_matmul", y, "Headrace>LookupMatMul"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_A_GRAPH(lookups_and_the_layer_above_become_two_nodes),
        ON_A_GRAPH(the_layer_gives_what_it_gave),
        ON_A_GRAPH(whole_numbers_are_exact_as_bfloat16),
        ON_A_GRAPH(bfloat16_has_the_same_bits_everywhere),
        ON_A_GRAPH(an_id_that_the_table_lacks_is_refused),
        ON_A_GRAPH(what_does_not_fit_is_refused),
        ON_A_GRAPH(ids_that_were_not_found_are_refused),
        ON_A_GRAPH(a_layer_without_memory_fails),
        ON_A_GRAPH(what_others_need_stays),
        ON_A_GRAPH(a_table_that_changes_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
