/* The graph as an object: its life, its first error, its collections, its control scopes and seeds. */
#include "base/constructor.h"
#include "train/graph/graph_internal.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

hr_graph *hr_graph_new(void)
{
    static atomic_int_least64_t serial;
    hr_graph *g = hr_calloc(1, sizeof *g);
    if (!g) return NULL;
    g->serial = atomic_fetch_add(&serial, 1) + 1;
    g->scope_capacity = g->variable_scope_capacity = 256;
    g->scope = hr_calloc(1, g->scope_capacity);
    g->variable_scope = hr_calloc(1, g->variable_scope_capacity);
    if (g->scope && g->variable_scope) return g;
    hr_graph_free(g);
    return NULL;
}

void hr_graph_free(hr_graph *g)
{
    if (!g) return;
    if (g->at_once) g->at_once->free(g);
    for (int i = 0; i < g->function_count; i++) {
        hr_free(g->functions[i]->input);
        hr_free(g->functions[i]->control);
        if (!g->functions[i]->shares_body) hr_graph_free(g->functions[i]->body);
    }
    hr_free(g->functions);
    hr__map_free(&g->function_names);
    hr_free(g->captures);
    hr_free(g->switched);
    hr_free(g->after_switch);
    for (int i = 0; i < g->collection_count; i++) hr_free(g->collections[i].nodes);
    hr_free(g->collections);
    hr_free(g->variables);
    hr_free(g->controls);
    hr_free(g->scopes);
    hr_free(g->scope);
    hr_free(g->variable_scope);
    hr__map_free(&g->by_name);
    hr__map_free(&g->signature_names);
    hr__map_free(&g->names_in_use);
    hr__map_free(&g->scopes_begun);
    hr__map_free(&g->variable_names);
    hr_free(g->foreign);
    hr_free(g->signatures);
    hr_free(g->nodes);
    hr__arena_free(&g->arena);
    hr_free(g);
}

const hr_error *hr_graph_error(const hr_graph *g)
{
    static const hr_error no_memory = HR__NO_MEMORY_FOR("a graph");
    if (!g) return &no_memory;
    return g->error.code == HR_OK ? NULL : &g->error;
}

hr_node hr_failed_node(hr_graph *g) { return (hr_node){g, -1, 0}; }

hr_node hr_node_fail(hr_graph *g, hr_status code, const char *kind, const char *format, ...)
{
    char text[sizeof g->error.text];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (code >= HR_OK) code = HR_INTERNAL; /* what is no failure cannot stick */
    if (g && g->error.code == HR_OK) hr_fail(&g->error, code, kind, "%s", text);
    return hr_failed_node(g);
}

hr_node hr__graph_no_memory(hr_graph *g, const char *what)
{
    if (g && g->error.code == HR_OK) hr_no_memory(&g->error, what);
    return hr_failed_node(g);
}

hr_status hr__grow(void *array, int count, int *capacity, size_t width, hr_error *err)
{
    if (count < *capacity) return HR_OK;
    const int wanted = *capacity ? *capacity * 2 : 16;
    void *old;
    memcpy(&old, array, sizeof old);
    void *grown = hr_realloc(old, (size_t)wanted * width);
    if (!grown) return hr_no_memory(err, "a graph");
    memcpy(array, &grown, sizeof grown);
    *capacity = wanted;
    return HR_OK;
}

/* ---- collections ---- */

static hr__collection *find_collection(const hr_graph *g, const char *name)
{
    for (int i = 0; g && name && i < g->collection_count; i++)
        if (strcmp(g->collections[i].name, name) == 0) return &g->collections[i];
    return NULL;
}

static hr__collection *make_collection(hr_graph *g, const char *name)
{
    const char *copy = hr__arena_text(&g->arena, name, strlen(name));
    if (!copy || hr__grow(&g->collections, g->collection_count, &g->collection_capacity, sizeof(hr__collection), NULL))
        return NULL;
    g->collections[g->collection_count] = (hr__collection){.name = copy};
    return &g->collections[g->collection_count++];
}

void hr_add_to_collection(hr_graph *g, const char *collection, hr_node node)
{
    if (!g || !hr_node_exists(node)) return;
    if (!collection) {
        hr_node_fail(g, HR_INVALID_ARGUMENT, "graph.name", "collection: expected a name, got NULL");
        return;
    }
    hr__collection *c = find_collection(g, collection);
    if (!c) c = make_collection(g, collection);
    if (!c || hr__grow(&c->nodes, c->count, &c->capacity, sizeof(hr_node), NULL)) {
        hr__graph_no_memory(g, "a collection");
        return;
    }
    c->nodes[c->count++] = node;
}

const hr_node *hr_get_collection(const hr_graph *g, const char *collection, int *count)
{
    const hr__collection *c = find_collection(g, collection);
    if (count) *count = c ? c->count : 0;
    return c ? c->nodes : NULL;
}

/* ---- control scopes ---- */

void hr_control_dependencies(hr_graph *g, const hr_node *nodes, int count)
{
    if (!g) return;
    g = hr__innermost(g);
    if (!nodes && count > 0)
        hr_node_fail(g, HR_INVALID_ARGUMENT, "graph.input", "control dependencies: expected %d nodes, got NULL", count);
    if (!nodes || g->at_once) count = 0; /* of an eager graph they have run */
    hr_node *copy = count > 0 ? hr__arena_get(&g->arena, sizeof *nodes * (size_t)count) : NULL;
    if ((count > 0 && !copy) ||
        hr__grow(&g->controls, g->control_count, &g->control_capacity, sizeof(hr__control), NULL)) {
        hr__graph_no_memory(g, "control dependencies");
        return;
    }
    int kept = 0;
    for (int i = 0; i < count; i++)
        if (hr_node_exists(nodes[i])) copy[kept++] = nodes[i];
    g->controls[g->control_count++] = (hr__control){copy, kept};
}

void hr_control_end(hr_graph *g)
{
    g = hr__innermost(g);
    if (g && g->control_count > 0) g->control_count--;
}

/* ---- seeds: as TensorFlow 2.15's get_seed ---- */

void hr_set_random_seed(hr_graph *g, int64_t seed)
{
    if (!g) return;
    g->seed = seed;
    g->seeded_ops = 0;
    if (g->at_once) g->at_once->reseed(g);
}

void hr_random_seeds(hr_graph *g, int64_t seed, int64_t *seed1, int64_t *seed2)
{
    const int64_t modulus = INT32_MAX;
    int64_t unwanted = 0;
    if (!seed1) seed1 = &unwanted;
    if (!seed2) seed2 = &unwanted;
    *seed1 = *seed2 = 0;
    g = hr__innermost(g);
    if (!g || (!g->seed && !seed)) return;
    *seed1 = g->seed ? g->seed : 87654321;
    *seed2 = seed ? seed : g->at_once ? g->at_once->op_seed(g) : g->seeded_ops++;
    *seed1 = (*seed1 % modulus + modulus) % modulus;
    *seed2 = (*seed2 % modulus + modulus) % modulus;
    if (*seed1 == 0 && *seed2 == 0) *seed2 = modulus;
}
