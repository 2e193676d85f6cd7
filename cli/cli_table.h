/* A table of text for people: columns as wide as what is in them, in several parts one below the other where a terminal
 * is too narrow for all of them, each with the first column. */
#ifndef TABLE_H
#define TABLE_H

#include "cli/text.h"

typedef struct table_column {
    const char *head;
    int min_width;
    bool left; /* where its cells stand; default: at the right */
} table_column;

/* Begin with {.column = ..., .columns = ...}. */
typedef struct table {
    const table_column *column; /* borrowed */
    int columns;
    text_buffer text; /* the cells, row after row, a NUL after each */
    int64_t cells;
} table;

void table_cell(table *t, const char *format, ...) HR_PRINTF(2, 3);
/* A name or value, as it is if that is one plain word, else as JSON writes it. */
void table_word(table *t, hr_view word);
/* Goes on in the current cell. */
void table_more(table *t, const char *format, ...) HR_PRINTF(2, 3);
void table_more_word(table *t, hr_view word);
/* Prints it, after an empty line, if it has rows; frees it. */
void table_print(table *t);

#endif
