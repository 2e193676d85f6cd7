/* See cli_table.h. */
#include "cli/cli_table.h"
#include "cli/command.h"
#include <errno.h>
#include <stdarg.h>
#include <string.h>

enum { MIN_KEY = 16, MIN_LAST = 16 /* columns that a cell is cut to at most */ };

/* ---- cells ---- */

static void table_add(table *t, const char *format, va_list args)
{
    char text[512];
    vsnprintf(text, sizeof text, format, args);
    text_add(&t->text, text);
}

static void table_begin_cell(table *t)
{
    if (t->cells++ > 0) text_byte(&t->text, 0);
}

void table_cell(table *t, const char *format, ...)
{
    va_list args;
    table_begin_cell(t);
    va_start(args, format);
    table_add(t, format, args);
    va_end(args);
}

void table_more(table *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    table_add(t, format, args);
    va_end(args);
}

void table_more_word(table *t, hr_view word) { text_word(&t->text, word); }

void table_word(table *t, hr_view word)
{
    table_begin_cell(t);
    table_more_word(t, word);
}

/* ---- printing ---- */

/* Characters, of which one is taken for one column of the terminal. */
static int width_of(const char *text)
{
    int width = 0;
    for (; *text; text++) width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

/* The text, or its beginning and two dots. */
static void print_clipped(const char *text, int width)
{
    int used = 0, size = 0;
    const bool whole = width_of(text) <= width;
    for (; text[size]; size++) {
        if (((unsigned char)text[size] & 0xc0) == 0x80) continue;
        if (!whole && used >= width - 2) break;
        used++;
    }
    printf("%.*s%s", size, text, whole ? "" : "..");
}

static void print_cell(const table_column *column, const char *text, int width, bool last)
{
    const int pad = width - width_of(text);
    if (!column->left) printf("%*s", pad > 0 ? pad : 0, "");
    print_clipped(text, width);
    if (column->left && !last) printf("%*s", pad > 0 ? pad : 0, "");
}

/* Column 0, and those from `first` up to `end`, of all rows and the head. */
static void print_part(const table *t, const char *const *cell, const int *width, int first, int end)
{
    putchar('\n');
    for (int64_t row = 0; row <= t->cells / t->columns; row++) {
        printf("  ");
        for (int c = 0; c < end; c = c == 0 ? first : c + 1) {
            if (c > 0) printf("  ");
            print_cell(&t->column[c], cell[row * t->columns + c], width[c], c == end - 1);
        }
        putchar('\n');
    }
}

static void print_parts(const table *t, const char *const *cell, int *width)
{
    const int max = output_width();
    for (int c = 0; c < t->columns; c++) {
        width[c] = t->column[c].min_width;
        for (int64_t row = 0; row <= t->cells / t->columns; row++) {
            const int needed = width_of(cell[row * t->columns + c]);
            if (needed > width[c]) width[c] = needed;
        }
    }
    if (max > 0 && width[0] > max / 3) width[0] = max / 3 > MIN_KEY ? max / 3 : MIN_KEY;
    for (int first = 1; first < t->columns;) {
        int end = first, used = 2 + width[0];
        for (; end < t->columns; end++) {
            const int left = max - used - 2;
            const bool is_text = end == t->columns - 1 && t->column[end].left;
            if (max > 0 && is_text && width[end] > left && (left >= MIN_LAST || end == first)) width[end] = left;
            if (max > 0 && width[end] > left && end > first) break;
            used += 2 + width[end];
        }
        print_part(t, cell, width, first, end);
        first = end;
    }
}

void table_print(table *t)
{
    const size_t cells = (size_t)t->cells + (size_t)t->columns;
    const char **cell = hr_malloc(cells * sizeof *cell);
    int *width = hr_malloc((size_t)t->columns * sizeof *width);
    const bool lacking = !cell || !width || t->text.failed;
    if (lacking) fail_output(ENOMEM);
    if (t->cells > 0 && !lacking) {
        const char *at = t->text.data;
        for (int c = 0; c < t->columns; c++) cell[c] = t->column[c].head;
        for (size_t i = (size_t)t->columns; i < cells; i++, at += strlen(at) + 1) cell[i] = at;
        print_parts(t, cell, width);
    }
    hr_free(cell);
    hr_free(width);
    text_free(&t->text);
    t->cells = 0;
}
