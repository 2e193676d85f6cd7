/* The config file in the manual page: docs/config.md as troff, of Markdown what that page is written in. A heading
 * becomes a subsection, a block of code stays as it is, and a row of a table becomes a paragraph under its first
 * cell. */
#include "cli/man_config.h"
#include <stdio.h>
#include <string.h>

enum { MAX_CELLS = 8 };

static const char *const page[] = {
#include "config_page.inc"
};

typedef struct text_piece {
    const char *at;
    size_t size;
} text_piece;

typedef struct man_page {
    text_piece head[MAX_CELLS]; /* the cells of the table's first line */
    int heads;                  /* 0: not in a table */
    bool code, begun;           /* in a block of code; a paragraph has been begun */
} man_page;

/* ---- text ---- */

void man_bytes(const char *text, size_t size)
{
    bool begins = true;
    for (const char *end = text + size; text < end; text++) {
        if (begins && (*text == '.' || *text == '\'')) fputs("\\&", stdout);
        begins = *text == '\n';
        if (*text == '\\')
            fputs("\\e", stdout);
        else if (*text == '-')
            fputs("\\-", stdout);
        else if (*text == '\'' || *text == '`' || *text == '~' || *text == '^')
            printf("\\(%s", *text == '\'' ? "aq" : *text == '`' ? "ga" : *text == '~' ? "ti" : "ha");
        else
            putchar(*text);
    }
}

/* `code` in bold, [text](link) as its text. */
static void man_config_print_words(const char *text, size_t size)
{
    const char *const end = text + size;
    bool bold = false;
    for (const char *from = text; text <= end; text++) {
        const bool tick = text < end && *text == '`', opens = text < end && *text == '[';
        const char *closes = opens ? memchr(text, ']', (size_t)(end - text)) : NULL;
        const bool link = closes && closes + 1 < end && closes[1] == '(' && !bold;
        if (text < end && !tick && !link) continue;
        man_bytes(from, (size_t)(text - from));
        if (tick) {
            bold = !bold;
            fputs(bold ? "\\fB" : "\\fR", stdout);
        } else if (link) {
            const char *after = memchr(closes, ')', (size_t)(end - closes));
            man_bytes(text + 1, (size_t)(closes - text - 1));
            text = after ? after : closes;
        }
        from = text + 1;
    }
}

/* The cells of "| a | b |", without the blanks around them. */
static int split_row(const char *line, text_piece *cell)
{
    int cells = 0;
    for (const char *at = line + 1, *end; (end = strchr(at, '|')) && cells < MAX_CELLS; at = end + 1) {
        const char *last = end;
        while (at < last && *at == ' ') at++;
        while (last > at && last[-1] == ' ') last--;
        cell[cells++] = (text_piece){at, (size_t)(last - at)};
    }
    return cells;
}

static bool is_word(text_piece p, const char *word)
{
    return p.size == strlen(word) && memcmp(p.at, word, p.size) == 0;
}

/* The first cell is the term; of the others each says what it is, but for the last one, which says what the row means. */
static void print_row(const man_page *m, const text_piece *cell, int cells)
{
    puts(".TP");
    man_config_print_words(cell[0].at, cell[0].size);
    putchar('\n');
    for (int i = 1; i < cells; i++) {
        if (cell[i].size == 0) continue;
        if (i < cells - 1 && i < m->heads && !is_word(m->head[i], "value")) {
            man_bytes(m->head[i].at, m->head[i].size);
            fputs(": ", stdout);
        }
        man_config_print_words(cell[i].at, cell[i].size);
        puts(i < cells - 1 ? "." : "");
    }
}

static void print_table_line(man_page *m, const char *line)
{
    text_piece cell[MAX_CELLS];
    const int cells = split_row(line, cell);
    if (m->heads == 0) {
        memcpy(m->head, cell, sizeof cell[0] * (size_t)cells);
        m->heads = cells;
    } else if (cells > 0 && strncmp(line, "|---", 4) != 0) {
        print_row(m, cell, cells);
    }
    m->begun = false;
}

static void print_line(man_page *m, const char *line)
{
    if (strncmp(line, "```", 3) == 0) {
        m->code = !m->code;
        puts(m->code ? ".PP\n.nf" : ".fi");
        m->begun = false;
    } else if (m->code) {
        man_bytes(line, strlen(line));
        putchar('\n');
    } else if (line[0] == '|') {
        print_table_line(m, line);
        return;
    } else if (line[0] == '#') {
        if (strncmp(line, "## ", 3) == 0) printf(".SS %s:\n", line + 3);
        m->begun = false;
    } else if (line[0] == 0) {
        m->begun = false;
    } else {
        if (!m->begun) puts(".PP");
        man_config_print_words(line, strlen(line));
        putchar('\n');
        m->begun = true;
    }
    m->heads = 0;
}

void man_config(void)
{
    man_page m = {.heads = 0};
    puts(".SH CONFIG FILE");
    for (size_t i = 0; i < sizeof page / sizeof *page; i++) print_line(&m, page[i]);
}

bool config_has_key(const char *key, size_t size)
{
    char quoted[64];
    if (size + 3 > sizeof quoted) return false;
    snprintf(quoted, sizeof quoted, "`%.*s`", (int)size, key);
    for (size_t i = 0; i < sizeof page / sizeof *page; i++)
        if (page[i] && strstr(page[i], quoted)) return true;
    return false;
}
