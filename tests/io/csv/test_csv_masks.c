/* The kernels against each other and against the exact scanner, on random text full of quotes, at every size. */
#include "base/cpu.h"
#include "io/csv/csv.h"
#include "tests/testing.h"
#include <stdio.h>
#include <string.h>

enum { SIZE = 700, ROOM = 4096, KERNELS = 3 };

static const unsigned limits[KERNELS] = {0, HR__SSE42 | HR__AVX2, ~0u};

/* `quotes` of 16 pieces are quoted fields, sound ones mostly. */
static size_t random_text(uint64_t key, char *text, int quotes)
{
    static const char *const plain[] = {",",   ",",   "\n", "\r\n", "a",  "12",
                                        "x y", "3.5", ",,", "\n\n", "\r", "longer text here"};
    static const char *const quoted[] = {"\"a,b\"", "\"\"", "\"x\ny\"", "\"say \"\"hi\"\"\"", "\"", "\"\r\n\""};
    size_t size = 0;
    for (uint64_t i = 0; size < SIZE; i++) {
        const bool q = hr_random_below(key, 2 * i, 16) < quotes;
        const char *piece = q ? quoted[hr_random_below(key, 2 * i + 1, 6)] : plain[hr_random_below(key, 2 * i + 1, 12)];
        if (q)
            size += (size_t)sprintf(text + size, ",%s%s", piece, hr_random_below(key, i, 40) ? "," : "");
        else
            size += (size_t)sprintf(text + size, "%s", piece);
    }
    memset(text + size, '\n', 64); /* what follows may not matter */
    return size;
}

typedef struct answer {
    hr__csv_tokens t;
    uint32_t token[ROOM], row[ROOM];
} answer;

static void tokenise(const hr__csv_dialect *d, const char *text, size_t size, size_t from, answer *a)
{
    a->t = (hr__csv_tokens){.token = a->token, .row = a->row, .token_capacity = ROOM, .row_capacity = ROOM};
    hr__csv_tokenise(d, text, size, from, &a->t);
}

/* Every row before the fault has the fields that the exact scanner sees. */
static void assert_fields_are_exact(const hr__csv_dialect *d, const char *text, size_t size, const answer *a)
{
    size_t at = 0, token = 0;
    for (size_t r = 0; r < a->t.rows; r++) {
        hr__csv_field field = {0};
        for (; !field.last; at = field.next, token++) {
            hr__csv_scan_field(d, text, size, at, &field);
            assert_int_equal(field.fault, HR__CSV_SOUND);
            size_t end = a->token[token], next = field.next;
            assert_int_equal(end + 1, next);
        }
        assert_int_equal(a->row[r], token - 1);
    }
    assert_int_equal(at, a->t.done);
    if (!a->t.fault) return;
    hr__csv_field field = {0}; /* not necessarily the next row: the fault is within the next 64 bytes and a row */
    bool found = false;
    for (; at < size && !found; at = field.next) {
        hr__csv_scan_field(d, text, size, at, &field);
        found = field.fault != HR__CSV_SOUND;
    }
    assert_true(found);
}

static void all_kernels_find_the_fields_that_the_exact_scanner_finds(void **state)
{
    (void)state;
    static char text[SIZE + 200];
    static answer a[KERNELS];
    for (uint64_t seed = 0; seed < 600; seed++) {
        const hr__csv_dialect d = {.delimiter = ',', .quote = '"', .quotes = seed % 5 != 4};
        const size_t whole = random_text(seed, text, (int)(seed % 4) * 2), step = seed < 60 ? 1 : 97;
        for (size_t size = 1; size <= whole; size += step) {
            for (int k = 0; k < KERNELS; k++) {
                hr__cpu_limit(limits[k]);
                tokenise(&d, text, size, 0, &a[k]);
                assert_int_equal(a[k].t.done, a[0].t.done);
                assert_int_equal(a[k].t.fault, a[0].t.fault);
                assert_int_equal(a[k].t.rows, a[0].t.rows);
                assert_memory_equal(a[k].row, a[0].row, a[0].t.rows * sizeof *a[0].row);
                if (a[0].t.rows > 0)
                    assert_memory_equal(a[k].token, a[0].token, (a[0].row[a[0].t.rows - 1] + 1) * sizeof *a[0].token);
            }
            assert_fields_are_exact(&d, text, size, &a[0]);
        }
    }
    hr__cpu_limit(~0u);
}

/* Rows, blank lines and lines, one row at a time. */
static hr__csv_count count_exactly(const hr__csv_dialect *d, const char *text, size_t size, size_t max, bool skip_blank)
{
    hr__csv_count c = {0};
    while (c.size < max) {
        bool closed;
        size_t end = hr__csv_scan_row(d, text, size, c.size, &closed);
        bool blank = skip_blank && (text[c.size] == '\n' || text[c.size] == '\r');
        c.lines += hr__csv_count_lines(text + c.size, end - c.size);
        c.rows += !blank;
        c.blank += blank;
        c.size = end;
    }
    return c;
}

static void all_kernels_count_the_rows_that_the_exact_scanner_counts(void **state)
{
    (void)state;
    static char text[SIZE + 200];
    for (uint64_t seed = 0; seed < 2000; seed++) {
        const hr__csv_dialect d = {.delimiter = ',', .quote = '"', .quotes = true};
        const bool skip = seed % 2;
        const int64_t max = seed % 3 ? INT64_MAX : 1 + (int64_t)seed % 20;
        const size_t size = random_text(seed, text, (int)(seed % 4) * 2);
        hr__csv_count want = {0};
        for (int k = 0; k < KERNELS; k++) {
            hr__csv_count got;
            hr__cpu_limit(limits[k]);
            hr__csv_count_rows(&d, text, size, max, skip, &got);
            if (k == 0) want = count_exactly(&d, text, size, got.size, skip);
            assert_int_equal(got.size, want.size);
            assert_int_equal(got.rows, want.rows);
            assert_int_equal(got.blank, want.blank);
            assert_int_equal(got.lines, want.lines);
            assert_at_most(got.rows, max);
        }
    }
    hr__cpu_limit(~0u);
}

/* ---- ends of rows ---- */

static void *from_pool(size_t size, void *user)
{
    static char pool[1 << 20] __attribute__((aligned(64)));
    size_t *taken = user;
    void *at = pool + *taken;
    *taken += (size + 63) & ~(size_t)63;
    return *taken <= sizeof pool ? at : NULL;
}

/* From where a known row begins on, they are the ends that the exact scanner finds; gives how many. */
static int64_t assert_ends_are_exact(const hr__csv_dialect *d, const char *text, size_t size, size_t from, size_t until,
                                     bool skip_blank)
{
    size_t taken = 0, at = 0, end = 0;
    int64_t row = 0, lines = 0, blank = 0, known = 0;
    bool closed = true, in_step = false;
    hr__csv_ends ends = {.memory = from_pool, .user = &taken};
    assert_true(hr__csv_find_ends(d, text + from, size - from, until - from, skip_blank, &ends));
    for (; at < size && closed && row <= ends.rows; at = end) {
        while (!in_step && row < ends.rows && from + ends.at[row].size < at) row++;
        if (!in_step && from + ends.at[row].size == at) {
            in_step = true;
            lines = ends.at[row].lines;
            blank = ends.at[row].blank;
        }
        const bool is_row = hr__csv_scan_line(d, text, size, at, skip_blank, &end, &closed) == HR__CSV_ROW;
        lines += hr__csv_count_lines(text + at, end - at);
        blank += !is_row;
        if (!in_step || !is_row || row == ends.rows || !closed) continue;
        row++, known++;
        assert_int_equal(from + ends.at[row].size, end);
        assert_int_equal(ends.at[row].lines, lines);
        assert_int_equal(ends.at[row].blank, blank);
        assert_true(from + ends.at[row - 1].size < until);
    }
    return known;
}

static void ends_are_exact_from_where_a_row_is_known_to_begin(void **state)
{
    (void)state;
    static char text[SIZE + 200];
    int64_t whole = 0, parts = 0;
    for (uint64_t seed = 0; seed < 400; seed++) {
        const hr__csv_dialect d = {.delimiter = ',', .quote = '"', .quotes = true};
        const size_t size = random_text(seed, text, (int)(seed % 4) * 2);
        for (int k = 0; k < KERNELS; k++) {
            hr__cpu_limit(limits[k]);
            whole += assert_ends_are_exact(&d, text, size, 0, size, seed % 2);
            for (size_t from = 1 + seed % 7; from < size; from += 61)
                parts += assert_ends_are_exact(&d, text, size, from, from + (size - from) / 2, seed % 2);
        }
    }
    hr__cpu_limit(~0u);
    assert_true(whole > 1000 && parts > whole);
}

/* Nothing that follows from a CR alone is believed where its LF may lie on the other side. */
static void a_line_end_may_lie_on_both_sides_of_an_edge(void **state)
{
    (void)state;
    static char before[64 + 64] = "a,b\r\nc,d\r", after[64 + 64] = "\ne,f\r\ng,h\r\n";
    const hr__csv_dialect d = {.delimiter = ',', .quote = '"', .quotes = true};
    const size_t sizes[] = {strlen(before), strlen(after)};
    for (int k = 0; k < KERNELS; k++) {
        size_t taken = 0;
        hr__csv_ends first = {.memory = from_pool, .user = &taken}, second = first;
        hr__cpu_limit(limits[k]);
        assert_true(hr__csv_find_ends(&d, before, sizes[0], sizes[0], true, &first));
        assert_int_equal(first.rows, 1);
        assert_int_equal(first.at[1].size, 5);
        assert_true(hr__csv_find_ends(&d, after, sizes[1], sizes[1], true, &second));
        assert_int_equal(second.rows, 2);
        assert_int_equal(second.at[0].size, 1);
        assert_int_equal(second.at[1].size, 6);
        assert_int_equal(second.at[2].lines, 2);
        assert_int_equal(second.at[2].blank, 0);
    }
    hr__cpu_limit(~0u);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_kernels_find_the_fields_that_the_exact_scanner_finds),
        cmocka_unit_test(all_kernels_count_the_rows_that_the_exact_scanner_counts),
        cmocka_unit_test(ends_are_exact_from_where_a_row_is_known_to_begin),
        cmocka_unit_test(a_line_end_may_lie_on_both_sides_of_an_edge),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
