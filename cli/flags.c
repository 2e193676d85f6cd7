/* The command line, read by a command's own list of flags. */
#include "cli/flags.h"
#include "cli/help.h"
#include "cli/man_config.h"
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

typedef struct given_flag {
    const flag *flag;
    const char *value;
    const char **word; /* of a FLAG_LIST: pointers, and the bytes that they point to */
    int words;
} given_flag;

struct command_call {
    const command *command;
    const char **argument; /* space for every word of the command line, here and in `given` */
    given_flag *given;
    int arguments, givens;
};

static const command *current; /* the command that runs; NULL: none yet */

static bool same_flag(const command *c, const char *own, const char *given, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (own[i] != given[i] && !(c->underscores && own[i] == '-' && given[i] == '_')) return false;
    return true;
}

static const flag *flag_named(const command *c, const char *name, size_t size)
{
    for (const flag *f = c->flags; f && f->kind != FLAG_NONE; f++)
        if (strlen(f->name) == size && same_flag(c, f->name, name, size)) return f;
    return size == 4 && strncmp(name, "help", 4) == 0 ? &help_flag : NULL;
}

static const flag *flag_lettered(const command *c, char letter)
{
    for (const flag *f = c->flags; f && f->kind != FLAG_NONE; f++)
        if (f->letter == letter) return f;
    return letter == 'h' ? &help_flag : NULL;
}

/* ---- reading ---- */

static int unknown_flag(const command_call *call, const char *word)
{
    const char *names[64];
    int count = 1;
    names[0] = help_flag.name;
    for (const flag *f = call->command->flags; f && f->kind != FLAG_NONE && count < 64; f++) names[count++] = f->name;
    char name[128];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word + strspn(word, "-"), "="), word + strspn(word, "-"));
    const char *near = hr_suggest(name, names, count);
    if (near) return usage_error(call, "unknown flag '%s'; did you mean --%s?", word, near);
    if (word[1] == '-') return usage_error(call, "unknown flag '%s'", word);
    return usage_error(call, "unknown flag '%s'; put a word that begins with - after --: headrace %s -- '%s'", word,
                       call->command->name, word);
}

/* Whether the next word is a flag of this command, which its user hardly meant as a value. */
static bool is_flag(const command *c, const char *word)
{
    return strncmp(word, "--", 2) == 0 && flag_named(c, word + 2, strcspn(word + 2, "="));
}

/* A whole number, of bytes perhaps with a unit after it. False: it is none, or too large. */
static bool read_number(flag_kind kind, const char *text, long long *number)
{
    static const char units[] = "KMGT";
    char *end;
    errno = 0;
    *number = strtoll(text, &end, 10);
    if (end == text || errno != 0) return false;
    const char *unit = kind == FLAG_BYTES && *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
    if (!unit) return !*end;
    const int shift = 10 * (int)(unit - units + 1);
    if (end[1] || *number < 0 || *number > INT64_MAX >> shift) return false;
    *number <<= shift;
    return true;
}

static int check_number(const command_call *call, const flag *f, const char *text)
{
    long long number;
    const int min = f->kind != FLAG_NUMBER;
    if (read_number(f->kind, text, &number) && number >= min) return 0;
    if (f->kind == FLAG_BYTES)
        return usage_error(call, "--%s: expected a number of bytes, as 1000000 or 64M, found \"%s\"", f->name, text);
    return usage_error(call, "--%s: expected a whole number from %d on, found \"%s\"", f->name, min, text);
}

static hr_status split_list(given_flag *given, hr_error *err)
{
    size_t count = 1;
    for (const char *p = given->value; *p; p++) count += *p == ',';
    const size_t size = strlen(given->value) + 1;
    given->word = hr_malloc(count * sizeof *given->word + size);
    if (!given->word) return hr_no_memory(err, "the command line");
    char *rest = memcpy(given->word + count, given->value, size);
    while (rest) given->word[given->words++] = strsep(&rest, ",");
    return HR_OK;
}

static bool flags_is_number(const flag *f)
{
    return f->kind == FLAG_COUNT || f->kind == FLAG_NUMBER || f->kind == FLAG_BYTES;
}

/* Takes one flag at argv[i], with its value: "--name value", "--name=value", "-n value", "-nvalue". Returns how many
 * words it took, below 0 for a usage error. */
static int take_flag(command_call *call, char **argv, int argc, int i)
{
    const char *word = argv[i], *value = NULL;
    const flag *f;
    if (word[1] == '-') {
        size_t size = strcspn(word + 2, "=");
        f = flag_named(call->command, word + 2, size);
        value = word[2 + size] ? word + 3 + size : NULL;
    } else {
        f = flag_lettered(call->command, word[1]);
        value = word[2] ? word + 2 : NULL;
    }
    if (!f || (f->kind == FLAG_SWITCH && value && word[1] != '-')) return -unknown_flag(call, word);
    if (f->kind == FLAG_SWITCH && value && strcmp(value, "false") == 0) return 1; /* as if it were not there */
    if (f->kind == FLAG_SWITCH && value && strcmp(value, "true") != 0)
        return -usage_error(call, "--%s takes no value but true or false", f->name);
    int took = 1;
    if (f->kind != FLAG_SWITCH && !value) {
        if (i + 1 >= argc || is_flag(call->command, argv[i + 1]))
            return -usage_error(call, "--%s needs a value: --%s %s", f->name, f->name, f->value);
        value = argv[i + 1];
        took = 2;
    }
    if (flags_is_number(f) && check_number(call, f, value) != 0) return -WRONG_USE;
    hr_error err;
    call->given[call->givens] = (given_flag){.flag = f, .value = value};
    if (f->kind == FLAG_LIST && split_list(&call->given[call->givens], &err) != HR_OK) return -failed(call, &err);
    call->givens++;
    return took;
}

static int flags_check_arguments(const command_call *call)
{
    const command *c = call->command;
    if (call->arguments < c->min_arguments)
        return usage_error(call, "expected %s, found %s", c->arguments, call->arguments ? "too few" : "nothing");
    if (c->max_arguments >= 0 && call->arguments > c->max_arguments)
        return usage_error(call, "unexpected argument '%s'", call->argument[c->max_arguments]);
    return 0;
}

static int read_words(command_call *call, int argc, char **argv)
{
    bool only_arguments = false; /* after "--" */
    for (int i = 0; i < argc;) {
        if (!only_arguments && strcmp(argv[i], "--") == 0) {
            only_arguments = true;
            i++;
        } else if (!only_arguments && argv[i][0] == '-' && argv[i][1]) {
            int took = take_flag(call, argv, argc, i);
            if (took < 0) return -took;
            i += took;
        } else {
            call->argument[call->arguments++] = argv[i++];
        }
    }
    return 0;
}

/* Help that is asked for anywhere is given, whatever else is wrong. */
static bool asks_for_help(int argc, char **argv)
{
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) return true;
    return false;
}

int run_command(const command *c, int argc, char **argv)
{
    if (asks_for_help(argc, argv)) {
        print_help(c);
        return WORKED;
    }
    size_t capacity = (size_t)argc + 1;
    command_call call = {c, hr_calloc(capacity, sizeof *call.argument), hr_calloc(capacity, sizeof *call.given), 0, 0};
    hr_error err;
    int code = 0;
    current = c;
    if (call.argument && call.given)
        code = read_words(&call, argc, argv);
    else if (hr_no_memory(&err, "the command line") != HR_OK)
        code = failed(&call, &err);
    if (code == 0) code = flags_check_arguments(&call);
    if (code == 0) code = c->run(&call);
    for (int i = 0; i < call.givens; i++) hr_free(call.given[i].word);
    hr_free(call.argument);
    hr_free(call.given);
    return code;
}

int call_arguments(const command_call *call) { return call->arguments; }
const char *call_argument(const command_call *call, int i) { return i < call->arguments ? call->argument[i] : NULL; }

bool flag_given(const command_call *call, const char *name) { return flag_count(call, name) > 0; }

const char *flag_text(const command_call *call, const char *name)
{
    int count = flag_count(call, name); /* the last one given counts */
    return count ? flag_nth(call, name, count - 1) : NULL;
}

int64_t flag_number(const command_call *call, const char *name, int64_t fallback)
{
    long long number = fallback;
    for (int i = 0; i < call->givens; i++)
        if (strcmp(call->given[i].flag->name, name) == 0)
            read_number(call->given[i].flag->kind, call->given[i].value, &number);
    return number;
}

const char *const *flag_words(const command_call *call, const char *name, int *count)
{
    *count = 0;
    for (int i = call->givens; i-- > 0;) {
        if (strcmp(call->given[i].flag->name, name) != 0) continue;
        *count = call->given[i].words;
        return call->given[i].word;
    }
    return NULL;
}

int flag_count(const command_call *call, const char *name)
{
    int count = 0;
    for (int i = 0; i < call->givens; i++) count += strcmp(call->given[i].flag->name, name) == 0;
    return count;
}

const char *flag_nth(const command_call *call, const char *name, int n)
{
    for (int i = 0; i < call->givens; i++)
        if (strcmp(call->given[i].flag->name, name) == 0 && n-- == 0) return call->given[i].value;
    return NULL;
}

int read_sets(const command_call *call, const char *set[MOST_SETS], int *count)
{
    *count = flag_count(call, "set");
    if (*count > MOST_SETS) return usage_error(call, "--set: expected at most %d, found %d", MOST_SETS, *count);
    for (int i = 0; i < *count; i++) set[i] = flag_nth(call, "set", i);
    return 0;
}

size_t flag_max_record(const command_call *call)
{
    const int64_t bytes = flag_number(call, "max-record-bytes", 0);
    return (uint64_t)bytes < SIZE_MAX ? (size_t)bytes : SIZE_MAX;
}

/* ---- messages ---- */

int usage_error(const command_call *call, const char *format, ...)
{
    va_list args;
    fprintf(stderr, "headrace %s: ", call->command->name);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fprintf(stderr, "\nTry 'headrace %s --help'.\n", call->command->name);
    return WRONG_USE;
}

/* The library speaks to programmers: ".na_value" of its options is "--na-value" here, and where a command has flags for
 * what is read and for what is written, messages mean the first. Rows and records have one limit for people. Options
 * without a flag are keys of the config file, if the command reads one: "drop_remainder:". */
static size_t copy_as_flag(const command *c, const char *text, char *to, size_t capacity)
{
    static const struct {
        const char *option, *flag;
    } other[] = {{"max_row_bytes", "max-record-bytes"}, {"names", "columns"}, {"compression", "input-compression"}};
    size_t size = strspn(text + 1, "abcdefghijklmnopqrstuvwxyz_");
    if (size == 0 || size + 3 > capacity) return 0;
    for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
        if (strlen(other[i].option) != size || memcmp(text + 1, other[i].option, size) != 0) continue;
        if (!flag_named(c, other[i].flag, strlen(other[i].flag))) continue;
        snprintf(to, capacity, "--%s", other[i].flag);
        return size + 1;
    }
    snprintf(to, capacity, "--%.*s", (int)size, text + 1);
    for (char *p = to; *p; p++)
        if (*p == '_') *p = '-';
    if (flag_named(c, to + 2, size)) return size + 1;
    if (strncmp(c->arguments, "FILE.yaml", 9) != 0 || !config_has_key(text + 1, size)) return 0;
    snprintf(to, capacity, "%.*s:", (int)size, text + 1);
    return size + 1;
}

void print_message(const char *text)
{
    char name[64];
    for (char before = ' '; *text;) {
        size_t took = current && before == ' ' && *text == '.' ? copy_as_flag(current, text, name, sizeof name) : 0;
        if (took)
            fputs(name, stderr);
        else
            fputc(*text, stderr);
        before = *text;
        text += took ? took : 1;
    }
}

int failed(const command_call *call, const hr_error *err)
{
    const char *name = call->command->name, *text = err->text;
    if (err->code == HR_CANCELLED && interrupted()) {
        fprintf(stderr, "headrace %s: interrupted\n", name);
        return INTERRUPTED;
    }
    const bool to_output =
        strcmp(err->kind, "cli.output") == 0 || (strcmp(err->kind, "file.write") == 0 && strcmp(err->file, "-") == 0);
    if (to_output && output_is_unwanted()) return WORKED;
    if (strncmp(text, name, strlen(name)) == 0 && strncmp(text + strlen(name), ": ", 2) == 0) text += strlen(name) + 2;
    fprintf(stderr, "headrace %s: ", name);
    print_message(text);
    if (strcmp(err->kind, "csv.fields") == 0)
        fputs("; --delimiter, --columns, --comment and --skip-lines say how the file is written, --fill-short-rows and "
              "--cut-long-rows let such rows pass",
              stderr);
    fputc('\n', stderr);
    return FAILED;
}
