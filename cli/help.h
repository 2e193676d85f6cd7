/* The help of a command, made from its descriptor. */
#ifndef HELP_H
#define HELP_H

#include "cli/command.h"

extern const flag help_flag; /* every command has it */

void print_help(const command *c);
/* Calls `print` for each paragraph of a text: what lies between empty lines. */
void each_paragraph(const char *text, void (*print)(const char *paragraph, size_t size));

#endif
