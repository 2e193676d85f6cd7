/* All subcommands in one table, and how words name them. */
#include "cli/commands.h"
#include <headrace/estimator.h>
#include <string.h>

#define HR_COMMAND(name) extern const command command_##name;
#include "cli/commands.def"
#undef HR_COMMAND

static const command *const commands[] = {
#define HR_COMMAND(name) &command_##name,
#include "cli/commands.def"
#undef HR_COMMAND
};
enum { COMMANDS = sizeof commands / sizeof *commands };

int count_commands(void) { return COMMANDS; }
const command *command_at(int i) { return commands[i]; }

bool next_word(const char **at, word_view *word)
{
    *at += strspn(*at, " \n");
    *word = (word_view){*at, (int)strcspn(*at, " \n")};
    *at += word->size;
    return word->size > 0;
}

/* How many words the name has if they are the first ones; 0: they are others. */
static int words_of_name(const command *c, int count, char **word)
{
    word_view name;
    int took = 0;
    for (const char *at = c->name; next_word(&at, &name); took++) {
        if (took >= count || strlen(word[took]) != (size_t)name.size) return 0;
        if (strncmp(word[took], name.text, (size_t)name.size) != 0) return 0;
    }
    return took;
}

const command *command_named(int count, char **word, int *took)
{
    for (int i = 0; i < COMMANDS; i++)
        if ((*took = words_of_name(commands[i], count, word)) > 0) return commands[i];
    return NULL;
}

bool in_group(const command *c, const char *group)
{
    if (!group) return true;
    const size_t size = strlen(group);
    return strncmp(c->name, group, size) == 0 && c->name[size] == ' ';
}

bool is_group(const char *word)
{
    for (int i = 0; i < COMMANDS; i++)
        if (in_group(commands[i], word)) return true;
    return false;
}

/* The word of a command's name that stands first, or after the group's. */
static word_view word_in_group(const command *c, const char *group)
{
    word_view word = {"", 0};
    const char *at = c->name + (group ? strlen(group) + 1 : 0);
    next_word(&at, &word);
    return word;
}

/* Commands of one word follow each other in the list. */
const command *next_in_group(const char *group, int *i, word_view *word)
{
    for (; *i < COMMANDS; ++*i) {
        const command *c = commands[*i], *before = *i > 0 ? commands[*i - 1] : NULL;
        if (!in_group(c, group)) continue;
        *word = word_in_group(c, group);
        const word_view last = before && in_group(before, group) ? word_in_group(before, group) : (word_view){"", 0};
        if (last.size == word->size && strncmp(last.text, word->text, (size_t)last.size) == 0) continue;
        ++*i;
        return c;
    }
    return NULL;
}

const char *group_at(int i)
{
    static char group[32];
    word_view word;
    for (int c = 0; next_in_group(NULL, &c, &word);) {
        if (!word.text[word.size] || i-- > 0) continue;
        snprintf(group, sizeof group, "%.*s", word.size, word.text);
        return group;
    }
    return NULL;
}

const char *words_of_argument(const command *c)
{
    static char words[64];
    snprintf(words, sizeof words, "%s", c->arguments);
    for (char *bar = words; (bar = strchr(bar, '|'));) *bar = ' ';
    return words;
}

const value_words *value_words_of(const char *name)
{
    int i = 0;
    while (value_words_at(i) && strcmp(value_words_at(i)->name, name) != 0) i++;
    return value_words_at(i);
}

/* The names of estimators, with a space between them. */
static const char *estimator_words(void)
{
    static char words[512];
    words[0] = '\0';
    for (int i = 0, at = 0; hr_estimator_name_at(i) && at < (int)sizeof words; i++)
        at += snprintf(words + at, sizeof words - (size_t)at, "%s%s", i ? " " : "", hr_estimator_name_at(i));
    return words;
}

/* "csv, jsonl or tfrecord" without what stands between. */
static const char *format_words(void)
{
    static char words[256];
    char names[sizeof words];
    word_view word;
    const char *text = hr_file_format_names(names, sizeof names);
    words[0] = '\0';
    for (size_t used = 0; next_word(&text, &word) && used < sizeof words;) {
        if (word.size == 2 && strncmp(word.text, "or", 2) == 0) continue;
        const int size = word.size - (word.text[word.size - 1] == ',');
        used += (size_t)snprintf(words + used, sizeof words - used, "%s%.*s", used ? " " : "", size, word.text);
    }
    return words;
}

const value_words *value_words_at(int i)
{
    static value_words all[] = {
        {"FORMAT", NULL},
        {"ESTIMATOR", NULL},
        {"WORD", "fail skip"},
        {"HOW", "mean_std min_max log1p"},
    };
    all[0].words = format_words();
    all[1].words = estimator_words();
    return i < (int)(sizeof all / sizeof *all) ? &all[i] : NULL;
}

value_kind kind_of_value(const char *name)
{
    if (strncmp(name, "FILE", 4) == 0 || strncmp(name, "OUT", 3) == 0) return VALUE_FILE;
    if (strncmp(name, "DIR", 3) == 0) return VALUE_FOLDER;
    if (strcmp(name, "TYPE") == 0) return VALUE_COMPRESSION;
    return *name >= 'a' && *name <= 'z' ? VALUE_WORD : VALUE_OTHER;
}
