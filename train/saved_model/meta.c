/* What a meta graph says about loading it. */
#include "train/saved_model/saved_model_internal.h"

#include <string.h>

const hr_meta_collection *hr__meta_collection_named(const hr_meta_graph *meta, const char *key)
{
    const hr_meta_collection *c;
    for (int i = 0; (c = hr_meta_graph_collection(meta, i)); i++)
        if (strcmp(c->key, key) == 0) return c;
    return NULL;
}

const char *hr__initializer_of(const hr_meta_graph *meta)
{
    static const char *const keys[] = {"saved_model_main_op", "legacy_init_op"};
    const hr_meta_signature *s;
    for (int i = 0; (s = hr_meta_graph_signature(meta, i)); i++)
        if (strcmp(s->key, "__saved_model_init_op") == 0 && s->output_count > 0 && s->outputs[0].name)
            return s->outputs[0].name;
    for (int i = 0; i < 2; i++) {
        const hr_meta_collection *c = hr__meta_collection_named(meta, keys[i]);
        if (c && c->kind == HR_META_NODES && c->count > 0) return c->nodes[0];
    }
    return "";
}
