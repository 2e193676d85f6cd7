/* The completion for zsh: the words of a command are given to _arguments, which knows flags by descriptions of them. */
#include "cli/commands.h"
#include "cli/command_completion.h"
#include "cli/help.h"
#include <string.h>

/* Text within single quotes; `special` bytes have a backslash in front. */
static void zsh_put(const char *text, const char *special)
{
    for (; *text; text++) {
        if (strchr(special, *text)) putchar('\\');
        if (*text == '\'')
            fputs("'\\''", stdout);
        else
            putchar(*text);
    }
}

/* What may stand where the value `name` is asked for. */
static void zsh_put_action(const char *name)
{
    const value_kind kind = kind_of_value(name);
    const value_words *words = value_words_of(name);
    if (words)
        printf("(%s)", words->words);
    else if (kind == VALUE_COMPRESSION)
        printf("(%s none)", compression_words(" "));
    else if (kind == VALUE_FILE)
        fputs("_files", stdout);
    else if (kind == VALUE_FOLDER)
        fputs("_files -/", stdout);
    else
        putchar(' ');
}

/* '(-o --output)'{-o,--output=}'[help]:OUT:_files' */
static void zsh_put_flag(const flag *f)
{
    char help[FLAG_HELP];
    const char *equals = f->kind == FLAG_SWITCH ? "" : "=", *again = f->kind == FLAG_REPEATED ? "*" : "";
    fputs(" \\\n            ", stdout);
    if (f->letter && !*again)
        printf("'(-%c --%s)'{-%c,--%s%s}'[", f->letter, f->name, f->letter, f->name, equals);
    else if (f->letter)
        printf("'*'{-%c,--%s%s}'[", f->letter, f->name, equals);
    else
        printf("'%s--%s%s[", again, f->name, equals);
    zsh_put(help_of_flag(f, help), "[]\\");
    putchar(']');
    if (f->kind != FLAG_SWITCH) {
        putchar(':');
        zsh_put(f->value, ":\\");
        putchar(':');
        zsh_put_action(f->value);
    }
    putchar('\'');
}

static void zsh_put_arguments(const command *c)
{
    if (!*c->arguments) return;
    fputs(" \\\n            ", stdout);
    if (kind_of_value(c->arguments) == VALUE_WORD)
        printf("'1:word:(%s)'", words_of_argument(c));
    else
        printf("'*:argument:_files%s'", kind_of_value(c->arguments) == VALUE_FOLDER ? " -/" : "");
}

static void zsh_put_command(const command *c)
{
    const bool grouped = strchr(c->name, ' ') != NULL;
    printf("    '%s%s)\n        shift %d words; (( CURRENT -= %d ))\n        _arguments -s -S", c->name,
           grouped ? "'" : " '*", 1 + grouped, 1 + grouped);
    for (const flag *f = c->flags; f && f->kind != FLAG_NONE; f++) zsh_put_flag(f);
    zsh_put_flag(&help_flag);
    zsh_put_arguments(c);
    fputs(" ;;\n", stdout);
}

/* 'convert:turns CSV into ...', a group only once. */
static void zsh_put_names(const char *group)
{
    word_view word;
    const command *c;
    for (int i = 0; (c = next_in_group(group, &i, &word));) {
        printf(" \\\n            '%.*s:", word.size, word.text);
        zsh_put(word.text[word.size] ? "its commands" : c->summary, ":\\");
        putchar('\'');
    }
    fputs(")\n        _describe command names ;;\n", stdout);
}

void print_zsh_completion(void)
{
    const char *group;
    fputs("#compdef headrace\n# Completes the words of the headrace command. Made by: headrace completion zsh\n"
          "_headrace() {\n    local -a names\n    case $CURRENT in\n    2) set -- first ;;\n"
          "    3) set -- \"$words[2] \" ;;\n    *) set -- \"$words[2] $words[3]\" ;;\n    esac\n"
          "    case \"$1\" in\n    first)\n        names=(",
          stdout);
    zsh_put_names(NULL);
    for (int i = 0; i < count_commands(); i++)
        if (strchr(command_at(i)->name, ' ')) zsh_put_command(command_at(i));
    for (int i = 0; (group = group_at(i)); i++) {
        printf("    '%s '*)\n        (( CURRENT == 3 )) || return\n        shift words; (( CURRENT -= 1 ))\n        "
               "names=(",
               group);
        zsh_put_names(group);
    }
    for (int i = 0; i < count_commands(); i++)
        if (!strchr(command_at(i)->name, ' ')) zsh_put_command(command_at(i));
    fputs("    esac\n}\n"
          "if [ \"$funcstack[1]\" = _headrace ]; then _headrace \"$@\"; else compdef _headrace headrace; fi\n",
          stdout);
}
