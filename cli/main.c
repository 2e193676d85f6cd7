/* headrace: finds the subcommand and runs it. */
#include "base/config.h"
#include "cli/flags.h"
#include <fcntl.h>
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

static void print_commands(FILE *to)
{
    fprintf(to, "Usage: headrace COMMAND [flags] ...\n\n"
                "TensorFlow's input and training stack without TensorFlow: CSV and TFRecord in, trained models out.\n\n"
                "Commands:\n");
    for (int i = 0; i < COMMANDS; i++) fprintf(to, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
    fprintf(to, "\n'headrace COMMAND --help' shows flags and examples. 'headrace --version' shows the version.\n");
}

static int unknown_command(const char *word)
{
    const char *names[COMMANDS];
    for (int i = 0; i < COMMANDS; i++) names[i] = commands[i]->name;
    const char *near = hr__suggest(word, names, COMMANDS);
    fprintf(stderr, "headrace: unknown command '%s'%s%s%s\nTry 'headrace --help'.\n", word,
            near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    return WRONG_USE;
}

static const command *command_named(const char *word)
{
    for (int i = 0; i < COMMANDS; i++)
        if (strcmp(word, commands[i]->name) == 0) return commands[i];
    return NULL;
}

static bool is_one_of(const char *word, const char *a, const char *b, const char *c)
{
    return strcmp(word, a) == 0 || strcmp(word, b) == 0 || strcmp(word, c) == 0;
}

static int help(const char *word)
{
    const command *c = word ? command_named(word) : NULL;
    if (word && !c) return unknown_command(word);
    c ? print_help(c) : print_commands(stdout);
    return WORKED;
}

static int run(int argc, char **argv)
{
    if (argc < 2) {
        print_commands(stderr);
        return WRONG_USE;
    }
    if (is_one_of(argv[1], "help", "--help", "-h")) return help(argc > 2 ? argv[2] : NULL);
    if (is_one_of(argv[1], "version", "--version", "-V")) {
        printf("headrace %s\n", HR_VERSION);
        return WORKED;
    }
    const command *c = command_named(argv[1]);
    return c ? run_command(c, argc - 2, argv + 2) : unknown_command(argv[1]);
}

/* A stream that the caller closed must not become the number of a file that is opened next. What is written to it fails. */
static void hold_standard_streams(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0) (void)!open("/dev/null", O_RDONLY);
}

int main(int argc, char **argv)
{
    hr_error err = {0};
    hold_standard_streams();
    hr_set_log(print_log, NULL);
    int code = run(argc, argv);
    if (output_error(&err) == HR_OK || output_is_unwanted()) return code;
    if (code == WORKED) fprintf(stderr, "headrace: %s\n", err.text);
    return code == WORKED ? FAILED : code;
}
