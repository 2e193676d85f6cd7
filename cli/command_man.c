/* headrace man: the manual page, in the language of troff, made from the same descriptors as the help. */
#include "cli/commands.h"
#include "cli/help.h"
#include "cli/man_config.h"
#include <string.h>

static void man_print_text(const char *text) { man_bytes(text, strlen(text)); }

static void print_paragraph(const char *text, size_t size)
{
    puts(".PP");
    man_bytes(text, size);
    putchar('\n');
}

static void print_flag(const flag *f)
{
    puts(".TP");
    if (f->letter) printf("\\fB\\-%c\\fR, ", f->letter);
    fputs("\\fB\\-\\-", stdout);
    man_print_text(f->name);
    fputs("\\fR", stdout);
    if (f->value) {
        fputs(" \\fI", stdout);
        man_print_text(f->value);
        fputs("\\fR", stdout);
    }
    putchar('\n');
    char help[FLAG_HELP];
    man_print_text(help_of_flag(f, help));
    putchar('\n');
}

static void print_command(const command *c)
{
    printf(".SS headrace %s\n\\fBheadrace %s\\fR [flags] \\fI", c->name, c->name);
    man_print_text(c->arguments);
    puts("\\fR");
    each_paragraph(c->text, print_paragraph);
    for (const flag *f = c->flags; f && f->kind != FLAG_NONE; f++) print_flag(f);
    puts(".PP\nExamples:\n.PP\n.nf");
    man_print_text(c->examples);
    puts(".fi");
}

static void man_print_summary(const command *c)
{
    printf(".TP\n\\fB%s\\fR\n", c->name);
    man_print_text(c->summary);
    putchar('\n');
}

static int man_run(command_call *call)
{
    (void)call;
    printf(".TH HEADRACE 1 \"\" \"headrace %s\" \"User Commands\"\n", HR_VERSION);
    puts(".SH NAME\nheadrace \\- TFRecords, input pipelines and training without TensorFlow\n"
         ".SH SYNOPSIS\n\\fBheadrace\\fR \\fICOMMAND\\fR [flags] ...\n.br\n\\fBheadrace help\\fR [\\fICOMMAND\\fR]\n"
         ".SH DESCRIPTION\nTensorFlow\\(aqs input and training stack without TensorFlow: CSV and TFRecord in, trained\n"
         "models out. Results go to standard output, messages to standard error.");
    for (int i = 0; i < count_commands(); i++) man_print_summary(command_at(i));
    puts(".SH COMMANDS");
    for (int i = 0; i < count_commands(); i++) print_command(command_at(i));
    man_config();
    puts(".SH EXIT STATUS\n0 success; 1 failure, and the message says where and why; 2 wrong command line,\n"
         "and nothing was started; 130 ended by Ctrl\\-C.\n"
         ".SH ENVIRONMENT\n.TP\n\\fBHEADRACE_THREADS\\fR\nworker threads beside the main one, 0 to 256; default: one "
         "less\n"
         "than there are processors. 0: the main thread does everything. A value that is not a number is ignored.");
    return WORKED;
}

const command command_man = {
    .name = "man",
    .arguments = "",
    .summary = "prints the manual page of this command",
    .text = "Prints headrace.1, the manual page, with every command, flag and example from the help, and every key of "
            "the config file.",
    .examples = "  headrace man | man -l -\n",
    .min_arguments = 0,
    .max_arguments = 0,
    .run = man_run,
};
