/* The inside of a config, for what reads one and what changes one. Not a public header. */
#ifndef HR__CONFIG_TREE_H
#define HR__CONFIG_TREE_H

#include "base/config.h"

struct hr__config {
    const char *name;
    const hr__node *root;
    struct hr__config_block *blocks; /* of memory */
    struct hr__config_names *names;  /* of large mappings */
    hr__config *values;              /* what hr__config_set parsed, newest first; freed with it */
    bool is_option;                  /* one of those: its nodes have no line and column */
};

/* Memory that lives as long as the config; NULL: there is none. */
void *hr__config_take(hr__config *c, size_t size);

#endif
