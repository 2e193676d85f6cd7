/* All subcommands, and how the words of the command line name them. A name of two words, "schema infer", is one of the
 * group "schema". */
#ifndef COMMANDS_H
#define COMMANDS_H

#include "cli/command.h"

int count_commands(void);
const command *command_at(int i); /* in the order of the help */
/* The command that the first words name, and how many words that took. NULL: none. */
const command *command_named(int count, char **word, int *took);
bool in_group(const command *c, const char *group); /* NULL: every command is */
bool is_group(const char *word);

/* Goes over the words between blanks or newlines: "a b" gives "a", then "b", then false. Begin with *at at the text. */
typedef struct word_view {
    const char *text;
    int size;
} word_view;
bool next_word(const char **at, word_view *word);

/* Goes over the words that may stand first, or after the word of a group, each once: begin with *i 0. Gives the first
 * command of that word; NULL: there are no more. Further words of its name follow those of *word. */
const command *next_in_group(const char *group, int *i, word_view *word);
const char *group_at(int i); /* the groups in the order of the help; NULL after the last */

/* What a value, or an argument, is by its name in the help. */
typedef enum value_kind { VALUE_OTHER, VALUE_FILE, VALUE_FOLDER, VALUE_COMPRESSION, VALUE_WORD } value_kind;
value_kind kind_of_value(const char *name);

/* Values that are one of a few words: the name in the help, and the words. */
typedef struct value_words {
    const char *name, *words;
} value_words;
const value_words *value_words_at(int i);            /* NULL after the last */
const value_words *value_words_of(const char *name); /* NULL: it is none of them */
/* "bash zsh fish" of a command whose argument is "bash|zsh|fish". */
const char *words_of_argument(const command *c);

#endif
