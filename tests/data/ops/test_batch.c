/* batch: sizes, remainders, batches of batches. */
#include "tests/data/conformance.h"
#include <headrace/op.h>
#include <string.h>

HR_SAMPLE(batch) { return hr_shuffle(hr_batch(hr_shuffle(hr_range(300), 40), 7), 5); }
HR_SAMPLE(batch_of_batches) { return hr_take(hr_batch(hr_batch(hr_shuffle(hr_range(300), 40), 5), 3), 17); }
HR_SAMPLE(batch_larger_than_a_unit) { return hr_batch(hr_shuffle(hr_range(3000), 100), 1100); }

static void assert_sizes(hr_dataset *ds, const int64_t *size, int count)
{
    const hr_element *e;
    hr_iterator *it = iterate(ds, (way){.unit_rows = 3});
    for (int i = 0; i < count; i++) {
        assert_status(hr_next(it, &e), HR_OK);
        assert_int_equal(hr_get(e, "value")->shape.rank, 1);
        assert_int_equal(hr_get(e, "value")->shape.dims[0], size[i]);
    }
    assert_status(hr_next(it, &e), HR_END);
    hr_iterator_free(it);
}

static void batch_keeps_or_drops_the_remainder(void **state)
{
    (void)state;
    assert_sizes(hr_batch(hr_range(7), 3), HR_I64(3, 3, 1), 3);
    assert_sizes(hr_batch(hr_range(7), 3, .drop_remainder = true), HR_I64(3, 3), 2);
    assert_sizes(hr_batch(hr_range(6), 3), HR_I64(3, 3), 2);
    assert_sizes(hr_batch(hr_range(2), 9), HR_I64(2), 1);
    assert_sizes(hr_batch(hr_range(2), 9, .drop_remainder = true), NULL, 0);
    assert_sizes(hr_batch(hr_range(0), 9), NULL, 0);
}

static void sizes_take_turns(void **state)
{
    (void)state;
    assert_sizes(hr_batch(hr_range(11), 3, .next_sizes = HR_I64(1, 2), .next_size_count = 2), HR_I64(3, 1, 2, 3, 1, 1),
                 6);
}

static void batch_refuses_sizes_below_one(void **state)
{
    (void)state;
    static run got;
    static const int64_t sizes[] = {0, -1, INT64_MIN};
    for (int i = 0; i < 3; i++) {
        run_all(&got, hr_batch(hr_range(5), sizes[i]), (way){0});
        assert_status(got.end, HR_INVALID_ARGUMENT);
    }
}

static void batches_of_one_shape_can_be_batched(void **state)
{
    (void)state;
    const hr_element *e;
    hr_iterator *it = iterate(hr_batch(hr_batch(hr_range(12), 2), 3), (way){0});
    for (int i = 0; i < 2; i++) {
        assert_status(hr_next(it, &e), HR_OK);
        assert_shape(hr_get(e, "value")->shape, HR_SHAPE(3, 2));
    }
    assert_status(hr_next(it, &e), HR_END);
    hr_iterator_free(it);
}

static void batches_of_different_shapes_cannot(void **state)
{
    (void)state;
    static run got;
    run_all(&got, hr_batch(hr_batch(hr_range(7), 2), 4), (way){0});
    assert_status(got.end, HR_INVALID_ARGUMENT);
}

/* ---- units that batches fit into ---- */

/* A source of zeros that notes how large its units are. */
typedef struct maker {
    int64_t fit, left, size[200], units;
} maker;

static hr_status maker_check(const void *spec, const hr_schema *const *in, hr_schema_builder *out, hr_error *err)
{
    (void)spec, (void)in;
    return hr_schema_set(out, &hr_int64_schema, err);
}

static hr_status maker_plan(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    (void)state;
    maker *m = *(maker *const *)spec;
    const int64_t room = hr_room_for(p, m->fit), size = room < m->left ? room : m->left;
    if (size == 0) return HR_END;
    hr_columns *rows = hr_unit_rows(p, size);
    if (!rows) return hr_no_memory(err, "rows");
    memset(rows->column[0].values, 0, (size_t)size * sizeof(int64_t));
    m->size[m->units++] = rows->rows = size;
    m->left -= size;
    return HR_OK;
}

/* What has work has a stage of its own. */
static hr_status maker_work(const void *spec, const void *unit, hr_work *w, hr_columns *rows, hr_error *err)
{
    (void)spec, (void)unit, (void)w, (void)rows, (void)err;
    return HR_OK;
}

static const hr_op op_maker = {.head = HR_OP_HEAD,
                               .name = "maker",
                               .spec_size = sizeof(maker *),
                               .check = maker_check,
                               .plan = maker_plan,
                               .work = maker_work};

static void assert_units(int64_t fit, int64_t batch, const int64_t *size, int64_t units)
{
    maker m = {.fit = fit, .left = 120}, *spec = &m;
    hr_dataset *ds = hr_dataset_new(&op_maker, &spec, NULL, 0);
    const hr_element *e;
    hr_iterator *it = iterate(batch ? hr_batch(ds, batch) : ds, (way){.unit_rows = 64});
    while (hr_next(it, &e) == HR_OK) {}
    assert_null(hr_iterator_error(it));
    hr_iterator_free(it);
    for (int64_t i = 0; i < units; i++) assert_int_equal(m.size[i], size[i]);
}

static void sources_cut_their_units_where_batches_end(void **state)
{
    (void)state;
    assert_units(10, 0, HR_I64(10, 10, 10), 3);
    assert_units(10, 6, HR_I64(6, 6, 6), 3);
    assert_units(13, 6, HR_I64(12, 12, 12), 3);
    assert_units(10, 15, HR_I64(15, 15, 15), 3); /* half as many again do no harm */
    assert_units(5, 15, HR_I64(5, 10, 5, 10), 4);
    assert_units(5, 100, HR_I64(5, 5, 5), 3); /* a batch of many units */
}

HR_ARGUMENTS(batch, hr_batch(hr_range(20), 3), hr_batch(hr_range(20), 4),
             hr_batch(hr_range(20), 3, .drop_remainder = true),
             hr_batch(hr_range(44), 3, .next_sizes = HR_I64(2, 5), .next_size_count = 2),
             hr_batch(hr_range(44), 3, .next_sizes = HR_I64(2), .next_size_count = 1, .drop_remainder = true));

int main(void)
{
    const struct CMUnitTest tests[] = {
        HR_CONFORMANCE(batch),
        HR_CONFORMANCE_OF_ARGUMENTS(batch),
        HR_CONFORMANCE(batch_of_batches),
        HR_CONFORMANCE(batch_larger_than_a_unit),
        cmocka_unit_test(batch_keeps_or_drops_the_remainder),
        cmocka_unit_test(sizes_take_turns),
        cmocka_unit_test(batch_refuses_sizes_below_one),
        cmocka_unit_test(batches_of_one_shape_can_be_batched),
        cmocka_unit_test(batches_of_different_shapes_cannot),
        cmocka_unit_test(sources_cut_their_units_where_batches_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
