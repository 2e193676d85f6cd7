/* Cells of rows that wait: what they take, where they lie, when they are free again. */
#include "data/exec/store.h"
#include "tests/testing.h"
#include <stdlib.h>
#include <string.h>

enum { MIB = 1 << 20, HEAD = sizeof(cell), ANY_LIMIT = 64 * MIB };
#if HR__UNDER_TSAN
enum { SLACK = STRING_SLACK };
#else
enum { SLACK = 0 };
#endif

static int32_t one_cell(store *s, size_t size)
{
    int32_t number;
    size_t bytes;
    assert_true(hr__store_cells(s, &size, 1, &number, &bytes));
    assert_int_equal(bytes, number == NO_CELL ? 0 : hr__cell_size(cell_numbered(s, number)));
    return number;
}

static void a_cell_is_little_larger_than_its_row(void **state)
{
    (void)state;
    store s;
    assert_true(hr__store_open(&s, ANY_LIMIT));
    for (size_t size = 0; size < 20000; size += 1 + size / 50) {
        const size_t takes = hr__cell_size(cell_numbered(&s, one_cell(&s, size))), needs = size + HEAD + SLACK;
        assert_at_least(takes, needs);
        assert_less(takes, needs + CELL_STEP + needs / 16);
    }
    hr__store_close(&s);
}

static void a_row_that_is_too_long_has_no_cell(void **state)
{
    (void)state;
    enum { LARGEST = (64 << 10) - HEAD - SLACK };
    store s;
    assert_true(hr__store_open(&s, ANY_LIMIT));
    assert_int_not_equal(one_cell(&s, LARGEST), NO_CELL);
    assert_int_equal(one_cell(&s, LARGEST + 1), NO_CELL);
    assert_int_equal(one_cell(&s, SIZE_MAX), NO_CELL);
    hr__store_close(&s);
}

/* Through slabs of all sizes. */
static void cells_do_not_overlap(void **state)
{
    (void)state;
    enum { CELLS = 100000 };
    store s;
    int32_t *number = malloc(CELLS * sizeof *number);
    size_t *sizes = malloc(CELLS * sizeof *sizes), bytes;
    assert_true(number && sizes);
    assert_true(hr__store_open(&s, ANY_LIMIT));
    for (size_t i = 0; i < CELLS; i++) sizes[i] = i * i % 150;
    assert_true(hr__store_cells(&s, sizes, CELLS, number, &bytes));
    for (int i = 0; i < CELLS; i++) memset(cell_bytes(cell_numbered(&s, number[i])), i % 251, sizes[i]);
    for (int i = 0; i < CELLS; i++)
        for (size_t k = 0; k < sizes[i]; k++)
            assert_int_equal((unsigned char)cell_bytes(cell_numbered(&s, number[i]))[k], i % 251);
    assert_int_equal(atomic_load(&s.held), bytes);
    assert_more(s.slabs, 3);
    hr__store_close(&s);
    free(number);
    free(sizes);
}

static void a_cell_that_is_free_again_serves_a_row_of_its_size(void **state)
{
    (void)state;
    store s;
    assert_true(hr__store_open(&s, ANY_LIMIT));
    const int32_t first = one_cell(&s, 100), other = one_cell(&s, 100);
    assert_int_not_equal(first, other);
    hr__store_put_cells(&s, &first, 1);
    assert_int_not_equal(one_cell(&s, 50), first);
    const size_t held = atomic_load(&s.held);
    assert_int_equal(one_cell(&s, 99), first);
    assert_int_equal(atomic_load(&s.held), held);
    hr__store_close(&s);
}

static void the_last_holder_of_a_cell_is_known(void **state)
{
    (void)state;
    store s;
    assert_true(hr__store_open(&s, ANY_LIMIT));
    cell *c = cell_numbered(&s, one_cell(&s, 10));
    cell_hold(c);
    cell_hold(c);
    assert_false(cell_leave(c));
    assert_false(cell_leave(c));
    assert_true(cell_leave(c));
    hr__store_close(&s);
}

/* Which would take 256 MiB of spans. */
static void a_cell_with_too_many_holders_to_count_stays(void **state)
{
    (void)state;
    enum { MANY = 1 << 24 };
    store s;
    assert_true(hr__store_open(&s, ANY_LIMIT));
    cell *c = cell_numbered(&s, one_cell(&s, 10));
    const unsigned class = c->class;
    for (int i = 0; i < MANY; i++) cell_hold(c);
    for (int i = 0; i < 2 * MANY; i++) assert_false(cell_leave(c));
    assert_int_equal(c->class, class);
    hr__store_close(&s);
}

/* Once a quarter of what was cut is free, and more than a quarter of the limit was: cells of other sizes could not serve
 * these rows. */
static void rows_have_no_cell_while_many_of_other_sizes_are_free(void **state)
{
    (void)state;
    enum { CELLS = 1000, SIZE = 1000, LIMIT = CELLS * SIZE };
    store s;
    size_t sizes[CELLS], bytes;
    int32_t number[CELLS];
    assert_true(hr__store_open(&s, LIMIT));
    for (int i = 0; i < CELLS; i++) sizes[i] = SIZE;
    assert_true(hr__store_cells(&s, sizes, CELLS, number, &bytes));
    assert_int_not_equal(one_cell(&s, 10), NO_CELL);
    hr__store_put_cells(&s, number, CELLS / 2);
    assert_int_equal(one_cell(&s, 100), NO_CELL);
    assert_int_not_equal(one_cell(&s, SIZE), NO_CELL);
    hr__store_close(&s);
}

static void rows_have_no_cell_once_all_numbers_are_used(void **state)
{
    (void)state;
    store s;
    assert_true(hr__store_open(&s, ANY_LIMIT));
    const int32_t first = one_cell(&s, 100);
    const uint32_t slabs = s.slabs;
    s.slabs = MOST_SLABS;
    s.slab_used = (uint32_t)s.slab_size - 1000;
    assert_int_equal(one_cell(&s, 200), NO_CELL);
    hr__store_put_cells(&s, &first, 1);
    assert_int_equal(one_cell(&s, 100), first);
    s.slabs = slabs;
    hr__store_close(&s);
}

/* Which of two free blocks it is does not depend on which came back last. */
static void a_thread_takes_what_it_had_before(void **state)
{
    (void)state;
    enum { SIZE = 1000, OTHER = 1 };
    store s;
    assert_true(hr__store_open(&s, ANY_LIMIT));
    block *own = hr__store_block(&s, SIZE), *others = hr__store_block(&s, SIZE);
    others->home = OTHER; /* another thread took it last */
    hr__store_put_blocks(&s, own);
    hr__store_put_blocks(&s, others);
    assert_ptr_equal(hr__store_block(&s, SIZE), own);
    assert_ptr_equal(hr__store_block(&s, SIZE), others); /* rather than a new one */
    assert_int_equal(others->home, own->home);
    assert_int_equal(s.free_blocks, 0);
    hr__store_put_blocks(&s, own);
    hr__store_put_blocks(&s, others);
    hr__store_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cell_is_little_larger_than_its_row),
        cmocka_unit_test(a_row_that_is_too_long_has_no_cell),
        cmocka_unit_test(cells_do_not_overlap),
        cmocka_unit_test(a_cell_that_is_free_again_serves_a_row_of_its_size),
        cmocka_unit_test(the_last_holder_of_a_cell_is_known),
        cmocka_unit_test(a_cell_with_too_many_holders_to_count_stays),
        cmocka_unit_test(rows_have_no_cell_while_many_of_other_sizes_are_free),
        cmocka_unit_test(rows_have_no_cell_once_all_numbers_are_used),
        cmocka_unit_test(a_thread_takes_what_it_had_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
