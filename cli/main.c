/* headrace: finds the subcommand and runs it. */
#include "base/config.h"
#include "cli/flags.h"
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
    return 2;
}

static void print_log(hr_level level, const char *text, void *user)
{
    (void)user;
    if (level != HR_DEBUG) fprintf(stderr, "%s%s\n", level == HR_WARNING ? "warning: " : "", text);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        print_commands(stderr);
        return 2;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
        print_commands(stdout);
        return 0;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("headrace %s\n", HR_VERSION);
        return 0;
    }
    hr_set_log(print_log, NULL);
    for (int i = 0; i < COMMANDS; i++)
        if (strcmp(argv[1], commands[i]->name) == 0) return run_command(commands[i], argc - 2, argv + 2);
    return unknown_command(argv[1]);
}
