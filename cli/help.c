/* The help of a command: its text and flags in lines of WIDTH, its examples as they are. */
#include "cli/help.h"
#include "cli/commands.h"
#include <string.h>

enum { WIDTH = 100, FLAG_COLUMN = 29 };

const flag help_flag = {FLAG_SWITCH, "help", 'h', NULL, "shows this text"};

/* The words of a text, from `column` on; further lines are indented. */
static void help_print_words(const char *text, size_t size, int column, int indent)
{
    word_view word;
    const char *at = text, *gap = "";
    while (next_word(&at, &word) && word.text < text + size) {
        if (*gap && column + 1 + word.size > WIDTH) {
            column = printf("\n%*s", indent, "") - 1;
            gap = "";
        }
        column += printf("%s%.*s", gap, word.size, word.text);
        gap = " ";
    }
    putchar('\n');
}

void each_paragraph(const char *text, void (*print)(const char *paragraph, size_t size))
{
    for (const char *end; (end = strstr(text, "\n\n")); text = end + 2) print(text, (size_t)(end - text));
    print(text, strlen(text));
}

static void print_paragraph(const char *text, size_t size)
{
    help_print_words(text, size, 0, 0);
    putchar('\n');
}

const char *help_of_flag(const flag *f, char text[FLAG_HELP])
{
    char formats[FLAG_HELP];
    if (f->value && kind_of_value(f->value) == VALUE_COMPRESSION)
        snprintf(text, FLAG_HELP, "%s or none; %s", compression_words(", "), f->help);
    else if (f->value && strcmp(f->value, "FORMAT") == 0)
        snprintf(text, FLAG_HELP, "%s; %s", hr_file_format_names(formats, sizeof formats), f->help);
    else
        snprintf(text, FLAG_HELP, "%s", f->help);
    return text;
}

static void print_flag(const flag *f)
{
    char left[64], help[FLAG_HELP];
    int used = f->letter ? snprintf(left, sizeof left, "-%c, ", f->letter) : snprintf(left, sizeof left, "    ");
    snprintf(left + used, sizeof left - (size_t)used, "--%s%s%s", f->name, f->value ? " " : "",
             f->value ? f->value : "");
    const int column = printf("  %-25s  ", left);
    help_of_flag(f, help);
    help_print_words(help, strlen(help), column, FLAG_COLUMN);
}

void print_help(const command *c)
{
    printf("Usage: headrace %s [flags] %s\n\n", c->name, c->arguments);
    each_paragraph(c->text, print_paragraph);
    puts("Flags:");
    for (const flag *f = c->flags; f && f->kind != FLAG_NONE; f++) print_flag(f);
    print_flag(&help_flag);
    printf("\nExamples:\n%s\nExit code: 0 success, 1 failure, 2 wrong command line, 130 ended by Ctrl-C.\n",
           c->examples);
}
