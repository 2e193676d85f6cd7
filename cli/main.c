/* headrace: finds the subcommand and runs it. */
#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/help.h"
#include <fcntl.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <stdlib.h>
#include <string.h>

static void print_commands(FILE *to, const char *group)
{
    fprintf(to, "Usage: headrace %s%sCOMMAND [flags] ...\n\n", group ? group : "", group ? " " : "");
    if (!group)
        fprintf(
            to,
            "TensorFlow's input and training stack without TensorFlow: CSV and TFRecord in, trained models out.\n\n");
    fprintf(to, "Commands:\n");
    for (int i = 0; i < count_commands(); i++)
        if (in_group(command_at(i), group)) fprintf(to, "  %-13s %s\n", command_at(i)->name, command_at(i)->summary);
    fprintf(to, "\n'headrace COMMAND --help' shows flags and examples. 'headrace --version' shows the version.\n");
}

/* A group with another second word is unknown as both words together. */
static int unknown_command(int count, char **word)
{
    enum { MAX = 128 };
    const char *names[MAX];
    char found[128];
    int known = 0;
    while (known < count_commands() && known < MAX) {
        names[known] = command_at(known)->name;
        known++;
    }
    const bool both = count > 1 && is_group(word[0]);
    snprintf(found, sizeof found, "%s%s%s", word[0], both ? " " : "", both ? word[1] : "");
    const char *near = hr_suggest(found, names, known);
    fprintf(stderr, "headrace: unknown command '%s'%s%s%s\nTry 'headrace --help'.\n", found,
            near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    return WRONG_USE;
}

static bool is_one_of(const char *word, const char *a, const char *b, const char *c)
{
    return strcmp(word, a) == 0 || strcmp(word, b) == 0 || strcmp(word, c) == 0;
}

static bool asks_for_help(const char *word) { return is_one_of(word, "help", "--help", "-h"); }

/* `headrace help`, `headrace help schema`, `headrace help schema infer`. */
static int main_help(int count, char **word)
{
    int took;
    const command *c = count ? command_named(count, word, &took) : NULL;
    const bool group = count == 1 && is_group(word[0]);
    if (count > 0 && !c && !group) return unknown_command(count, word);
    c ? print_help(c) : print_commands(stdout, group ? word[0] : NULL);
    return WORKED;
}

static int main_run(int count, char **word)
{
    int took;
    if (count == 0 || (count == 1 && is_group(word[0]))) {
        print_commands(stderr, count ? word[0] : NULL);
        return WRONG_USE;
    }
    if (asks_for_help(word[0])) return main_help(count - 1, word + 1);
    if (is_group(word[0]) && asks_for_help(word[1])) return main_help(1, word);
    if (is_one_of(word[0], "version", "--version", "-V")) {
        printf("headrace %s\n", HR_VERSION);
        return WORKED;
    }
    const command *c = command_named(count, word, &took);
    return c ? run_command(c, count - took, word + took) : unknown_command(count, word);
}

/* A stream that the caller closed must not become the number of a file that is opened next. What is written to it
 * fails. */
static void hold_standard_streams(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0) (void)!open("/dev/null", O_RDONLY);
}

/* By itself glibc's malloc learns to keep what it is given back of blocks of up to 32 MiB: a long row would then be in
 * memory three or four times. */
static void give_large_blocks_back(void)
{
#ifdef M_MMAP_THRESHOLD
    (void)mallopt(M_MMAP_THRESHOLD, 2 << 20);
#endif
}

int main(int argc, char **argv)
{
    hr_error err = {0};
    hold_standard_streams();
    begin_output();
    give_large_blocks_back();
    (void)setenv("OPENBLAS_NUM_THREADS", "1", 0); /* before it is loaded, which starts them: ours share products out */
    hr_set_log(print_log, NULL);
    int code = argc > 0 ? main_run(argc - 1, argv + 1) : main_run(0, argv);
    if (output_error(&err) == HR_OK || output_is_unwanted()) return code;
    if (code == WORKED) fprintf(stderr, "headrace: %s\n", err.text);
    return code != WORKED ? code : err.code == HR_CANCELLED ? INTERRUPTED : FAILED;
}
