/* headrace completion: a script that completes commands, flags, their values, and names of files and folders, for one
 * of several shells. */
#include "cli/command_completion.h"
#include "cli/commands.h"
#include <string.h>

static int completion_run(command_call *call)
{
    static const struct {
        const char *shell;
        void (*print)(void);
    } scripts[] = {{"bash", print_bash_completion}, {"zsh", print_zsh_completion}, {"fish", print_fish_completion}};
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        if (strcmp(call_argument(call, 0), scripts[i].shell) != 0) continue;
        scripts[i].print();
        return WORKED;
    }
    return usage_error(call, "expected bash, zsh or fish, found \"%s\"", call_argument(call, 0));
}

const command command_completion = {
    .name = "completion",
    .arguments = "bash|zsh|fish",
    .summary = "prints a script that completes commands and flags in a shell",
    .text = "Prints a script for a shell that completes commands, flags, their values, and names of files. The "
            "scripts of an installed headrace lie where shells look for them. Otherwise, put the line of an example "
            "into ~/.bashrc, into ~/.zshrc after compinit, or into config.fish.",
    .examples = "  source <(headrace completion bash)\n"
                "  source <(headrace completion zsh)\n"
                "  headrace completion fish | source\n",
    .min_arguments = 1,
    .max_arguments = 1,
    .run = completion_run,
};
