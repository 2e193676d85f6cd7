/* Rows as records: what comes back from them is what was written, whatever forms they have, and forms grow no further
 * than they must. */
#include "data/rows/row_layout.h"
#include "tests/testing.h"
#include <string.h>

enum { ROWS = 150, FIELDS = 6, LISTS = 3 };

static const hr_field field[FIELDS] = {
    {.name = "id", .dtype = HR_INT64},
    {.name = "number", .dtype = HR_INT32},
    {.name = "vector", .dtype = HR_DOUBLE, .shape = {1, {2}}},
    {.name = "text", .dtype = HR_STRING},
    {.name = "list", .dtype = HR_INT64, .layout = HR_RAGGED, .shape = {1, {-1}}},
    {.name = "flags", .dtype = HR_UINT8, .layout = HR_RAGGED, .shape = {1, {-1}}},
};
static const hr_schema schema = {.fields = FIELDS, .field = field};

/* Rows with memory of their own. */
typedef struct table {
    hr_columns c;
    hr_column column[FIELDS];
    hr_origin origin[ROWS];
    int64_t id[ROWS], list[LISTS * ROWS + 1];
    int32_t number[ROWS], list_splits[ROWS + 1], flag_splits[ROWS + 1];
    double vector[2 * ROWS];
    hr_view text[ROWS];
    uint8_t flag[LISTS * ROWS + 1];
} table;

static void connect(table *t, int64_t rows)
{
    t->c = (hr_columns){.schema = &schema, .rows = rows, .elements = rows, .column = t->column, .origin = t->origin};
    void *values[FIELDS] = {t->id, t->number, t->vector, t->text, t->list, t->flag};
    for (int i = 0; i < FIELDS; i++) t->column[i] = (hr_column){.values = values[i]};
    t->column[4].splits[0] = t->list_splits;
    t->column[5].splits[0] = t->flag_splits;
}

/* Ids below `limit` on both sides of 0, up to `most` values in a list. */
static void fill(table *t, int64_t rows, int64_t limit, int max)
{
    memset(t, 0, sizeof *t);
    connect(t, rows);
    for (int64_t r = 0; r < rows; r++) {
        const int64_t x = (int64_t)(hr_random(7, (uint64_t)r) % (uint64_t)limit);
        t->id[r] = r % 2 ? x : -x;
        t->number[r] = (int32_t)(t->id[r] % INT32_MAX);
        t->vector[2 * r] = (double)x, t->vector[2 * r + 1] = (double)r;
        t->text[r] = (hr_view){(const char *)t, r};
        t->origin[r] = hr_origin_of((int32_t)(r % 3) - 1, r % 5 ? x : HR_NO_RECORD, r % 2 ? x : -1);
        t->list_splits[r + 1] = t->list_splits[r] + (int32_t)(r % (max + 1));
        t->flag_splits[r + 1] = t->flag_splits[r] + 1;
        for (int32_t i = t->list_splits[r]; i < t->list_splits[r + 1]; i++) t->list[i] = x + i;
        t->flag[r] = (uint8_t)x;
    }
    t->column[4].count = t->list_splits[rows];
    t->column[5].count = rows;
}

static const hr__row_layout *form_for(hr__row_layouts *forms, const table *t)
{
    hr__row_layout *need = hr_malloc(hr__row_layout_bytes(FIELDS));
    assert_non_null(need);
    assert_true(hr__row_layout_measure(&t->c, need));
    const hr__row_layout *form = hr__row_layouts_join(forms, need);
    hr_free(need);
    assert_non_null(form);
    return form;
}

static char *records_of(const table *t, const hr__row_layout *form)
{
    char *record = hr_malloc((size_t)t->c.rows * form->size + 1);
    assert_non_null(record);
    hr__columns_to_row_layout(&t->c, form, record);
    return record;
}

static void read_all(const hr__laid_rows *set, int64_t sets, int64_t rows, table *got)
{
    memset(got, 0, sizeof *got);
    connect(got, rows);
    for (int i = 4; i < FIELDS; i++) {
        got->column[i].count = hr__laid_rows_count(set, sets, i);
        hr__laid_rows_splits(set, sets, i, rows, got->column[i].splits[0]);
    }
    hr__laid_rows_to_columns(set, sets, got->column, got->origin);
}

static void assert_same_row(const table *want, int64_t w, const table *got, int64_t g)
{
    assert_int_equal(want->id[w], got->id[g]);
    assert_int_equal(want->number[w], got->number[g]);
    assert_memory_equal(&want->vector[2 * w], &got->vector[2 * g], 2 * sizeof(double));
    assert_memory_equal(&want->text[w], &got->text[g], sizeof(hr_view));
    assert_int_equal(want->origin[w].file, got->origin[g].file);
    assert_int_equal(want->origin[w].offset, got->origin[g].offset);
    assert_int_equal(want->origin[w].record, got->origin[g].record);
    assert_int_equal(want->flag[want->flag_splits[w]], got->flag[got->flag_splits[g]]);
    const int32_t from = want->list_splits[w], count = want->list_splits[w + 1] - from, at = got->list_splits[g];
    assert_int_equal(got->list_splits[g + 1] - at, count);
    for (int32_t i = 0; i < count; i++) assert_int_equal(want->list[from + i], got->list[at + i]);
}

static void records_give_back_what_was_written(void **state)
{
    (void)state;
    static const int64_t limits[] = {1 << 7, 1 << 15, INT64_C(1) << 31, INT64_C(1) << 62};
    static table want, got;
    for (int i = 0; i < 4; i++)
        for (int max = 0; max <= LISTS; max++) {
            hr__row_layouts forms = {0};
            fill(&want, ROWS, limits[i], max);
            const hr__row_layout *form = form_for(&forms, &want);
            assert_int_equal(form->slot[0].width, 1 << i);
            assert_int_equal(form->origin[0].width, 1);
            assert_int_equal(form->origin[2].width, 1 << i);
            char *memory = records_of(&want, form);
            const char *record[ROWS];
            int32_t row[ROWS];
            for (int32_t r = 0; r < ROWS; r++) record[r] = memory + (size_t)r * form->size, row[r] = ROWS - 1 - r;
            read_all(&(hr__laid_rows){form, record, row, ROWS}, 1, ROWS, &got);
            for (int64_t r = 0; r < ROWS; r++) assert_same_row(&want, r, &got, ROWS - 1 - r);
            hr_free(memory);
            hr__row_layouts_clear(&forms);
        }
}

/* Even rows come from one table, odd ones from another, of other widths and counts. */
static void records_of_several_forms_become_columns_together(void **state)
{
    (void)state;
    static table part[2], got;
    hr__row_layouts forms = {0};
    hr__laid_rows set[2];
    const char *record[2][ROWS / 2];
    int32_t row[2][ROWS / 2];
    char *memory[2];
    fill(&part[0], ROWS / 2, 100, 0);
    fill(&part[1], ROWS / 2, INT64_C(1) << 40, LISTS);
    for (int i = 0; i < 2; i++) {
        const hr__row_layout *form = form_for(&forms, &part[i]);
        memory[i] = records_of(&part[i], form);
        for (int32_t r = 0; r < ROWS / 2; r++) {
            record[i][r] = memory[i] + (size_t)r * form->size;
            row[i][r] = 2 * r + i;
        }
        set[i] = (hr__laid_rows){form, record[i], row[i], ROWS / 2};
    }
    assert_ptr_not_equal(set[0].form, set[1].form);
    assert_true(hr__laid_rows_have_one(set, 2, 5));
    assert_false(hr__laid_rows_have_one(set, 2, 4));
    read_all(set, 2, ROWS, &got);
    for (int64_t r = 0; r < ROWS; r++) assert_same_row(&part[r % 2], r / 2, &got, r);
    for (int i = 0; i < 2; i++) hr_free(memory[i]);
    hr__row_layouts_clear(&forms);
}

/* Each row is followed by the bytes of its string, and then other bytes. */
static void near_views_lead_to_bytes_beside_their_row(void **state)
{
    (void)state;
    static const size_t steps[] = {400, (1 << 20) + 64};
    static table want, got;
    for (int i = 0; i < 2; i++) {
        const size_t step = steps[i], far = step - ROWS;
        hr__row_layout *form = hr_malloc(hr__row_layout_bytes(FIELDS));
        char *memory = hr_calloc(ROWS, step);
        const char *record[ROWS];
        int32_t row[ROWS];
        assert_true(form && memory);
        fill(&want, ROWS, 1000, 1);
        assert_true(hr__row_layout_measure(&want.c, form));
        const uint32_t size = form->size;
        hr__row_layout_near(form, &schema, 4 << i);
        assert_int_equal(form->size, size - 16 + (4 << i));
        for (int32_t r = 0; r < ROWS; r++) want.text[r].data = (const char *)(uintptr_t)far;
        for (int32_t r = 0; r < ROWS; r++) {
            record[r] = memory + (size_t)r * step, row[r] = r;
            hr__some_to_row_layout(&want.c, form, r, 1, memory + (size_t)r * step);
        }
        read_all(&(hr__laid_rows){form, record, row, ROWS}, 1, ROWS, &got);
        for (int64_t r = 0; r < ROWS; r++) {
            want.text[r].data = record[r] + far;
            assert_same_row(&want, r, &got, r);
        }
        hr_free(memory);
        hr_free(form);
    }
}

static void a_form_serves_those_before_it_as_well(void **state)
{
    (void)state;
    static table narrow, wide;
    hr__row_layouts forms = {0};
    fill(&narrow, ROWS, 100, 1);
    fill(&wide, ROWS, 1000000, 2);
    const hr__row_layout *first = form_for(&forms, &narrow);
    assert_ptr_equal(form_for(&forms, &narrow), first);
    const hr__row_layout *second = form_for(&forms, &wide);
    assert_ptr_not_equal(first, second);
    assert_ptr_equal(form_for(&forms, &narrow), second);
    assert_ptr_equal(form_for(&forms, &wide), second);
    hr__row_layouts_clear(&forms);
}

static void rows_of_other_kinds_have_no_form(void **state)
{
    (void)state;
    static table t;
    hr__row_layout *form = hr_malloc(hr__row_layout_bytes(FIELDS));
    int64_t inner[LISTS * ROWS] = {0};
    assert_non_null(form);
    fill(&t, ROWS, 10, 2);
    t.column[4].inner = inner; /* sparse places */
    assert_false(hr__row_layout_measure(&t.c, form));
    fill(&t, ROWS, 10, 0);
    t.list_splits[ROWS] = t.column[4].count = 3; /* one list of three among none */
    assert_true(hr__row_layout_measure(&t.c, form));
    t.list_splits[ROWS] = 9; /* a long one */
    assert_false(hr__row_layout_measure(&t.c, form));
    fill(&t, ROWS, 10, 2);
    t.c.levels = 1;
    assert_false(hr__row_layout_measure(&t.c, form));
    hr_free(form);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_give_back_what_was_written),
        cmocka_unit_test(records_of_several_forms_become_columns_together),
        cmocka_unit_test(near_views_lead_to_bytes_beside_their_row),
        cmocka_unit_test(a_form_serves_those_before_it_as_well),
        cmocka_unit_test(rows_of_other_kinds_have_no_form),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
