/* Any bytes give a tree that can be walked, or one error with a text. */
#include "base/config.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Asks every question of every node; gives how many nodes there are. */
static int64_t ask(const hr__node *node)
{
    static const char *const allowed[] = {"schema", "columns", "model", "train", NULL};
    hr_error err;
    hr__text path = {0};
    double number;
    int64_t whole, count = 1;
    uint64_t natural;
    bool flag;
    const char *text;
    hr__node_path(node, &path);
    if (path.failed) abort();
    hr__text_free(&path);
    hr__node_int64(node, -5, 5, &whole, &err);
    hr__node_uint64(node, &natural, &err);
    hr__node_double(node, &number, &err);
    hr__node_bool(node, &flag, &err);
    hr__node_text(node, &text, &err);
    hr__node_choice(node, "section", allowed, 4, &whole, &err);
    hr__config_check_keys(node, allowed, &err);
    for (int64_t i = 0; i < node->count && i < 50; i++) count += ask(node->item[i]);
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hr__config *config;
    hr_error err = {0};
    hr_status st = hr__config_parse("fuzz.yaml", (const char *)data, size, &config, &err);
    if ((st == HR_OK) != (config != NULL) || (st != HR_OK && !err.text[0])) abort();
    if (config && size < 4096 && ask(hr__config_root(config)) < 1) abort();
    hr__config_free(config);
    return 0;
}
