/* The manual page's section on the config file: docs/config.md as troff. Not a public header. */
#ifndef HR_CLI_MAN_CONFIG_H
#define HR_CLI_MAN_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

/* Prints docs/config.md, as it was when this was built. */
void man_config(void);

/* Whether the page names a key of the config file. */
bool config_has_key(const char *key, size_t size);

/* Prints text as troff takes it: a backslash and a hyphen are escaped, and what would begin a request is not one. */
void man_bytes(const char *text, size_t size);

#endif
