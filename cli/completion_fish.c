/* The completion for fish: a line for each word and flag, with the condition under which it is offered. */
#include "cli/commands.h"
#include "cli/command_completion.h"
#include "cli/help.h"
#include <string.h>

static const char head[] = "# Completes the words of the headrace command. Made by: headrace completion fish\n"
                           "function __headrace_is # the first words are these\n"
                           "    set -l words (commandline -opc)\n"
                           "    set -e words[1]\n"
                           "    for i in (seq (count $argv))\n"
                           "        test \"$words[$i]\" = \"$argv[$i]\"; or return 1\n"
                           "    end\n"
                           "end\n"
                           "function __headrace_at # so many words stand in front\n"
                           "    test (count (commandline -opc)) -eq $argv[1]\n"
                           "end\n"
                           "complete -c headrace -f\n";

/* Text within single quotes. */
static void fish_put(const char *text)
{
    for (; *text; text++) {
        if (*text == '\'' || *text == '\\') putchar('\\');
        putchar(*text);
    }
}

/* What may stand where the value `name` is asked for. */
static void fish_put_action(const char *name)
{
    const value_kind kind = kind_of_value(name);
    const value_words *words = value_words_of(name);
    if (words)
        printf(" -x -a '%s'", words->words);
    else if (kind == VALUE_COMPRESSION)
        printf(" -x -a '%s none'", compression_words(" "));
    else if (kind == VALUE_FOLDER)
        fputs(" -x -a '(__fish_complete_directories)'", stdout);
    else
        fputs(kind == VALUE_FILE ? " -r -F" : " -x", stdout);
}

static void fish_put_flag(const command *c, const flag *f)
{
    char help[FLAG_HELP];
    printf("complete -c headrace -n '__headrace_is %s' -l %s", c->name, f->name);
    if (f->letter) printf(" -s %c", f->letter);
    if (f->kind != FLAG_SWITCH) fish_put_action(f->value);
    fputs(" -d '", stdout);
    fish_put(help_of_flag(f, help));
    puts("'");
}

static void fish_put_arguments(const command *c)
{
    const value_kind kind = kind_of_value(c->arguments);
    if (!*c->arguments) return;
    printf("complete -c headrace -n '__headrace_is %s'", c->name);
    if (kind == VALUE_WORD)
        printf(" -f -a '%s'\n", words_of_argument(c));
    else
        puts(kind == VALUE_FOLDER ? " -f -a '(__fish_complete_directories)'" : " -F");
}

/* The words in the first place, or after a group's. */
static void fish_put_names(const char *group)
{
    word_view word;
    const command *c;
    for (int i = 0; (c = next_in_group(group, &i, &word));) {
        printf("complete -c headrace -n '__headrace_at %d%s%s' -a %.*s -d '", group ? 2 : 1,
               group ? "; and __headrace_is " : "", group ? group : "", word.size, word.text);
        fish_put(word.text[word.size] ? "its commands" : c->summary);
        puts("'");
    }
}

void print_fish_completion(void)
{
    const char *group;
    fputs(head, stdout);
    fish_put_names(NULL);
    for (int i = 0; (group = group_at(i)); i++) fish_put_names(group);
    for (int i = 0; i < count_commands(); i++) {
        const command *c = command_at(i);
        for (const flag *f = c->flags; f && f->kind != FLAG_NONE; f++) fish_put_flag(c, f);
        fish_put_flag(c, &help_flag);
        fish_put_arguments(c);
    }
}
