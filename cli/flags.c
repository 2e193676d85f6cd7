/* The command line, read by a command's own list of flags; and the help, made from the same list. */
#include "cli/flags.h"
#include "base/config.h"
#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_VALUES = 512 };

struct command_call {
    const command *command;
    const char *argument[MAX_VALUES];
    int arguments;
    struct {
        const flag *flag;
        const char *value;
    } given[MAX_VALUES];
    int givens;
};

static const flag help_flag = {FLAG_SWITCH, "help", 'h', NULL, "shows this text"};

static const flag *flag_named(const command *c, const char *name, size_t size)
{
    for (const flag *f = c->flags; f && f->kind != FLAG_NONE; f++)
        if (strlen(f->name) == size && strncmp(f->name, name, size) == 0) return f;
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
    int count = 0;
    for (const flag *f = call->command->flags; f && f->kind != FLAG_NONE && count < 64; f++) names[count++] = f->name;
    char name[128];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word + strspn(word, "-"), "="), word + strspn(word, "-"));
    const char *near = hr__suggest(name, names, count);
    if (near) return usage_error(call, "unknown flag '%s'; did you mean --%s?", word, near);
    return usage_error(call, "unknown flag '%s'", word);
}

static bool is_integer(const char *text)
{
    char *end;
    strtoll(text, &end, 10);
    return *text && !*end;
}

/* Takes one flag at argv[i], with its value; returns how many words it took, below 0 for a usage error. */
static int take_flag(command_call *call, char **argv, int argc, int i)
{
    const char *word = argv[i], *value = NULL;
    const flag *f;
    if (word[1] == '-') {
        const char *equals = strchr(word, '=');
        f = flag_named(call->command, word + 2, equals ? (size_t)(equals - word - 2) : strlen(word + 2));
        value = equals ? equals + 1 : NULL;
    } else {
        f = word[2] ? NULL : flag_lettered(call->command, word[1]);
    }
    if (!f) return -unknown_flag(call, word);
    int took = 1;
    if (f->kind == FLAG_SWITCH && value) return -usage_error(call, "--%s takes no value", f->name);
    if (f->kind != FLAG_SWITCH && !value) {
        if (i + 1 >= argc) return -usage_error(call, "--%s needs a value: %s", f->name, f->value);
        value = argv[i + 1];
        took = 2;
    }
    if (f->kind == FLAG_INT && !is_integer(value))
        return -usage_error(call, "--%s: expected a whole number, found \"%s\"", f->name, value);
    if (call->givens == MAX_VALUES) return -usage_error(call, "more than %d flags", MAX_VALUES);
    call->given[call->givens].flag = f;
    call->given[call->givens++].value = value;
    return took;
}

static int take_argument(command_call **call, const char *word)
{
    command_call *c = *call;
    if (c->arguments == MAX_VALUES) {
        /* Shells expand patterns into long lists: give the pattern itself in quotes. */
        return usage_error(c, "more than %d files; give a pattern in quotes instead", MAX_VALUES);
    }
    c->argument[c->arguments++] = word;
    return 0;
}

static int check_arguments(const command_call *call)
{
    const command *c = call->command;
    if (call->arguments < c->least_arguments)
        return usage_error(call, "expected %s, found %s", c->arguments, call->arguments ? "too few" : "nothing");
    if (c->most_arguments >= 0 && call->arguments > c->most_arguments)
        return usage_error(call, "unexpected argument '%s'", call->argument[c->most_arguments]);
    return 0;
}

int run_command(const command *c, int argc, char **argv)
{
    command_call *call = calloc(1, sizeof *call);
    if (!call) return 1;
    call->command = c;
    int code = 0;
    bool only_arguments = false;
    for (int i = 0; i < argc && code == 0;) {
        if (!only_arguments && strcmp(argv[i], "--") == 0) {
            only_arguments = true;
            i++;
        } else if (!only_arguments && argv[i][0] == '-' && argv[i][1]) {
            int took = take_flag(call, argv, argc, i);
            if (took < 0) code = -took;
            i += took;
        } else {
            code = take_argument(&call, argv[i++]);
        }
    }
    if (code == 0 && flag_given(call, "help"))
        print_help(c);
    else {
        if (code == 0) code = check_arguments(call);
        if (code == 0) code = c->run(call);
    }
    free(call);
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

int64_t flag_int(const command_call *call, const char *name, int64_t fallback)
{
    const char *text = flag_text(call, name);
    return text ? strtoll(text, NULL, 10) : fallback;
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

/* ---- messages ---- */

int usage_error(const command_call *call, const char *format, ...)
{
    va_list args;
    fprintf(stderr, "headrace %s: ", call->command->name);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fprintf(stderr, "\nTry 'headrace %s --help'.\n", call->command->name);
    return 2;
}

int failed(const command_call *call, const hr_error *err)
{
    fprintf(stderr, "headrace %s: %s\n", call->command->name, err->text);
    return 1;
}

static void print_flag(const flag *f)
{
    char left[64];
    int used = f->letter ? snprintf(left, sizeof left, "-%c, ", f->letter) : snprintf(left, sizeof left, "    ");
    snprintf(left + used, sizeof left - (size_t)used, "--%s%s%s", f->name, f->value ? " " : "",
             f->value ? f->value : "");
    printf("  %-26s %s\n", left, f->help);
}

void print_help(const command *c)
{
    printf("Usage: headrace %s [flags] %s\n\n%s\n\nFlags:\n", c->name, c->arguments, c->text);
    for (const flag *f = c->flags; f && f->kind != FLAG_NONE; f++) print_flag(f);
    print_flag(&help_flag);
    printf("\nExamples:\n%s\nExit code: 0 it worked, 1 it failed, 2 the command line was wrong.\n", c->examples);
}
