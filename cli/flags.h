/* For main.c: runs a command with the words after its name. */
#ifndef FLAGS_H
#define FLAGS_H

#include "cli/command.h"

int run_command(const command *c, int argc, char **argv); /* gives the exit code */

#endif
