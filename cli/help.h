/* The help of a command, made from its descriptor. */
#ifndef HELP_H
#define HELP_H

#include "cli/command.h"

extern const flag help_flag; /* every command has it */

void print_help(const command *c);
enum { FLAG_HELP = 256 };
/* What the help says of a flag: written to `text`, which it returns. */
const char *help_of_flag(const flag *f, char text[FLAG_HELP]);
/* Calls `print` for each paragraph of a text: what lies between empty lines. */
void each_paragraph(const char *text, void (*print)(const char *paragraph, size_t size));

#endif
