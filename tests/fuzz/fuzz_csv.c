/* Any bytes as CSV: blocks of any size give the same rows and errors, by masks and byte by byte. The first two bytes
 * choose the options. */
#include "base/cpu.h"
#include "io/csv/csv.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { COLUMNS = 3, MAX = 1 << 16 };

typedef struct memory {
    void *piece[8];
    int pieces;
    uint64_t *hash;   /* of each row of the block; an error's */
    int64_t capacity; /* values of a column */
} memory;

static void *bytes(size_t size, void *user)
{
    memory *m = user;
    return m->pieces == 8 ? NULL : (m->piece[m->pieces++] = calloc(1, size + 64));
}

static uint64_t mix(uint64_t hash, const void *from, size_t size)
{
    return hr_fingerprint_cat64(hash, hr_fingerprint64(from, size));
}

static void failed(int64_t row, const hr_error *error, void *user)
{
    const int64_t places[] = {error->line, error->record, error->offset, error->length, error->column};
    ((memory *)user)->hash[row] = mix(1, places, sizeof places);
}

/* A text of `size` bytes has no more values than that and one. */
static bool grow(int column, int64_t count, void *user)
{
    (void)column;
    return count <= ((memory *)user)->capacity;
}

static uint64_t hash_values(const hr__csv_column *c, const char *at, int64_t count)
{
    uint64_t hash = (uint64_t)count;
    hr_view view;
    for (; count > 0; count--, at += c->width) {
        if (c->dtype == HR_STRING)
            memcpy(&view, at, sizeof view), hash = mix(hash, view.data, (size_t)view.size);
        else
            hash = mix(hash, at, c->width);
    }
    return hash;
}

static uint64_t hash_row(const hr__csv_format *f, const hr_column *column, int64_t r)
{
    uint64_t hash = 2;
    for (int c = 0; c < f->columns; c++) {
        const hr__csv_column *as = &f->column[c];
        const int64_t first = as->separator ? column[c].splits[0][r] : r;
        const int64_t count = as->separator ? column[c].splits[0][r + 1] - first : 1;
        const bool there = !column[c].present || column[c].present[r / 64] >> r % 64 & 1;
        hash = mix(hash, &there, sizeof there);
        hash = hr_fingerprint_cat64(hash, hash_values(as, (char *)column[c].values + (size_t)first * as->width, count));
    }
    return hash;
}

/* A hash of all rows of a text. Reads it as reader and convert do, but without a file. */
static uint64_t hash_text(const hr__csv_format *f, const char *text, size_t size, int64_t block_rows, unsigned cpu)
{
    uint64_t hash = 0;
    hr__csv_layout layout;
    void *scratch = calloc(1, hr__csv_scratch_size());
    hr__cpu_limit(cpu);
    if (hr__csv_layout_make(f, "fuzz.csv", NULL, 0, &layout, NULL) != HR_OK) abort();
    for (hr__csv_block block = {.line = 1}; size > 0;) {
        hr__csv_count count;
        if (f->dialect.exact_only)
            count = (hr__csv_count){0};
        else
            hr__csv_count_rows(&f->dialect, text, size, block_rows, layout.skip_blank, &count);
        if (count.size == 0) { /* the masks do not know */
            bool closed;
            count.rows =
                hr__csv_scan_line(&f->dialect, text, size, 0, layout.skip_blank, &count.size, &closed) == HR__CSV_ROW;
        }
        hr_column column[COLUMNS] = {0};
        memory m = {.hash = calloc((size_t)count.rows + 1, sizeof *m.hash)};
        hr__csv_sink sink = {.column = column, .bytes = bytes, .grow = grow, .failed = failed};
        sink.user = &m;
        m.capacity = (int64_t)count.size + 1;
        char *copy = calloc(1, count.size + 64);
        memcpy(copy, text, count.size);
        block.data = copy;
        block.size = count.size;
        block.rows = count.rows;
        for (int c = 0; c < COLUMNS; c++) {
            column[c].values = calloc((size_t)m.capacity, sizeof(hr_view));
            column[c].splits[0] = calloc((size_t)count.rows + 1, sizeof(int32_t));
        }
        if (hr__csv_parse(f, &layout, "fuzz.csv", &block, scratch, &sink, NULL) != HR_OK) abort();
        for (int64_t r = 0; r < count.rows; r++)
            hash = hr_fingerprint_cat64(hash, m.hash[r] ? m.hash[r] : hash_row(f, column, r));
        for (int c = 0; c < COLUMNS; c++) free(column[c].values), free(column[c].splits[0]);
        while (m.pieces > 0) free(m.piece[--m.pieces]);
        free(m.hash);
        block.line += hr__csv_count_lines(copy, count.size);
        block.record += count.rows;
        block.offset += (int64_t)count.size;
        free(copy);
        text += count.size;
        size -= count.size;
    }
    hr__csv_layout_clear(&layout);
    hr__cpu_limit(~0u);
    free(scratch);
    return hash;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const hr_csv_column columns[COLUMNS] = {
        {.name = "a", .dtype = HR_STRING}, {.name = "b", .dtype = HR_INT64}, {.name = "c", .dtype = HR_FLOAT}};
    static const char *const more_na[] = {"NULL", "-"};
    static const hr_csv_column lists[COLUMNS] = {{.name = "a", .dtype = HR_STRING, .separator = "|"},
                                                 {.name = "b", .dtype = HR_INT64, .time = HR_CSV_MICROSECONDS},
                                                 {.name = "c", .dtype = HR_BOOL, .separator = " "}};
    static const int places[COLUMNS] = {2, 0, 1};
    if (size < 2 || size > MAX) return 0;
    const unsigned choice = data[0], more = data[1];
    const bool tf_compat = choice & 1;
    hr_csv_opts opts = {.struct_size = sizeof opts, .columns = columns, .column_count = COLUMNS, .no_header = true};
    opts.tf_compat = tf_compat;
    opts.no_quotes = choice & 2;
    opts.keep_missing = choice & 4;
    opts.delimiter = choice & 8 ? ";" : ",";
    opts.na_value = choice & 16 ? "NA" : NULL;
    if (choice & 32 && !tf_compat) opts.select_cols = places, opts.select_count = COLUMNS;
    if (more & 1) opts.columns = lists;
    opts.quote = more & 2 ? "'" : NULL;
    opts.escape = more & 4 ? "\\" : NULL;
    opts.comment = more & 8 ? "#!" : NULL;
    opts.check_utf8 = more & 16;
    opts.quoted_never_missing = more & 32;
    opts.keep_blank_lines = more & 64;
    if (more & 128) opts.na_values = more_na, opts.na_value_count = 2;
    hr__csv_format *f;
    if (hr__csv_format_new(&opts, &f, NULL) != HR_OK) abort();
    const size_t length = size - 2;
    char *text = calloc(1, length + 64); /* readable bytes after it, as everywhere */
    if (length > 0) memcpy(text, data + 2, length);
    const uint64_t want = hash_text(f, text, length, 1, 0);
    if (hash_text(f, text, length, 1000000, 0) != want) abort();
    if (hash_text(f, text, length, 3, HR__SSE42 | HR__AVX2) != want) abort();
    if (hash_text(f, text, length, 1000000, ~0u) != want) abort();
    hr__csv_format exact = *f;
    exact.dialect.exact_only = true;
    if (hash_text(&exact, text, length, 7, ~0u) != want) abort();
    hr__csv_format_free(f);
    free(text);
    return 0;
}
