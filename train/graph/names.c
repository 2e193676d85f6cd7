/* Names and scopes, made unique by TensorFlow's rule: a counter a name, compared without case. */
#include "train/graph/graph_internal.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { MAX_NAME = 1024 };

static int64_t *in_use(hr_graph *g, const char *name, size_t size)
{
    char lower[MAX_NAME];
    if (size > sizeof lower) return NULL;
    for (size_t i = 0; i < size; i++) lower[i] = (char)tolower((unsigned char)name[i]);
    return hr__map_find(&g->names_in_use, lower, size);
}

static hr_status use(hr_graph *g, const char *name, size_t size, int64_t count)
{
    char lower[MAX_NAME];
    for (size_t i = 0; i < size; i++) lower[i] = (char)tolower((unsigned char)name[i]);
    return hr__map_set(&g->names_in_use, lower, size, count, NULL);
}

static bool legal(const char *name, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        const char c = name[i];
        const bool word = isalnum((unsigned char)c) || c == '.';
        const bool first = i == 0 || name[i - 1] == '>';
        if (!word && (first || !(c == '_' || c == '/' || c == '-' || c == '\\' || c == '>'))) return false;
    }
    return size > 0;
}

static const char *names_refuse(hr_graph *g, const char *name)
{
    hr_node_fail(
        g, HR_INVALID_ARGUMENT, "graph.name",
        "graph: expected a name of letters, digits and any of ._-/ beginning with a letter, a digit or '.', of "
        "at most 900 bytes, got \"%.60s\"",
        name);
    return NULL;
}

/* `full` has space for MAX_NAME bytes; appends _1, _2, ... until it is free. */
static const char *make_unique(hr_graph *g, char *full)
{
    const size_t base = strlen(full);
    int64_t *known = in_use(g, full, base);
    int64_t i = known ? *known : 0;
    if (use(g, full, base, i + 1) != HR_OK) return NULL;
    if (i > 0) {
        do {
            snprintf(full + base, MAX_NAME - base, "_%lld", (long long)i++);
        } while (in_use(g, full, strlen(full)));
        if (use(g, full, strlen(full), 1) != HR_OK) return NULL;
    }
    return hr__arena_text(&g->arena, full, strlen(full));
}

const char *hr__unique_name(hr_graph *g, const char *name)
{
    char full[MAX_NAME];
    const size_t size = strlen(name);
    if (g->scope_size + size > MAX_NAME - 24) return names_refuse(g, name);
    const bool literal = size > 1 && name[size - 1] == '/';
    const int n = literal ? snprintf(full, sizeof full, "%.*s", (int)size - 1, name)
                          : snprintf(full, sizeof full, "%s%s", g->scope, name);
    if (!legal(full, (size_t)n)) return names_refuse(g, full);
    if (literal && in_use(g, full, (size_t)n) && !hr__map_find(&g->by_name, full, (size_t)n)) {
        const char *own = hr__arena_text(&g->arena, full, (size_t)n);
        if (!own) hr__graph_no_memory(g, "a name");
        return own;
    }
    const char *unique = make_unique(g, full);
    if (!unique) hr__graph_no_memory(g, "a name");
    return unique;
}

hr_status hr__claim_name(hr_graph *g, const char *name, const char **out, hr_error *err)
{
    const size_t size = strlen(name);
    if (size >= MAX_NAME || !legal(name, size))
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.name",
                       "expected a name of letters, digits and any of ._-/ beginning with a letter, a digit or '.', of "
                       "at most 900 bytes, got \"%.60s\"",
                       name);
    if (hr__map_find(&g->by_name, name, size))
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.name", "expected a name of its own, but '%.100s' is not unique",
                       name);
    *out = hr__arena_text(&g->arena, name, size);
    return *out && (in_use(g, name, size) || use(g, name, size, 1) == HR_OK) ? HR_OK : hr_no_memory(err, "a name");
}

/* ---- scopes ---- */

static bool set_prefix(hr_graph *g, char **prefix, size_t *size, size_t *capacity, const char *text, size_t length)
{
    if (length + 2 > *capacity) {
        char *grown = hr_realloc(*prefix, 2 * (length + 2));
        if (!grown) {
            hr__graph_no_memory(g, "a scope");
            return false;
        }
        *prefix = grown;
        *capacity = 2 * (length + 2);
    }
    if (length) memmove(*prefix, text, length);
    (*prefix)[length] = 0;
    *size = length;
    return true;
}

static bool remember(hr_graph *g, char **text, size_t *space, const char *prefix, size_t size)
{
    if (size >= *space) {
        char *wider = hr__arena_get(&g->arena, 2 * (size + 1));
        if (!wider) return false;
        *text = wider;
        *space = 2 * (size + 1);
    }
    memcpy(*text, prefix, size + 1);
    return true;
}

static bool push(hr_graph *g)
{
    if (hr__grow(&g->scopes, g->scope_count, &g->scope_stack_capacity, sizeof(hr__scope), NULL) != HR_OK) {
        hr__graph_no_memory(g, "a scope");
        return false;
    }
    hr__scope *s = &g->scopes[g->scope_count];
    if (g->scope_count == g->scope_deepest) {
        *s = (hr__scope){0};
        g->scope_deepest++;
    }
    if (!remember(g, &s->name, &s->name_space, g->scope, g->scope_size) ||
        !remember(g, &s->variable, &s->variable_space, g->variable_scope, g->variable_scope_size)) {
        hr__graph_no_memory(g, "a scope");
        return false;
    }
    s->reuse = g->reuse;
    s->partitioner = g->partitioner;
    if (!g->at_once && hr__made_here(g, &s->made, NULL) != HR_OK) {
        hr__graph_no_memory(g, "a scope");
        return false;
    }
    s->made.by_scope = true;
    g->scope_count++;
    return true;
}

static void enter_name_scope(hr_graph *g, const char *name)
{
    char full[MAX_NAME];
    if (!name) {
        hr_node_fail(g, HR_INVALID_ARGUMENT, "graph.name", "scope: expected a name, got NULL");
        return;
    }
    const size_t size = strlen(name);
    if (size > 0 && name[size - 1] == '/') {
        set_prefix(g, &g->scope, &g->scope_size, &g->scope_capacity, name, size);
        return;
    }
    const char *unique = g->at_once || !size ? "" : hr__unique_name(g, name); /* nodes of eager graphs have no names */
    if (!unique) return;
    const int n = *unique ? snprintf(full, sizeof full, "%s/", unique) : 0;
    set_prefix(g, &g->scope, &g->scope_size, &g->scope_capacity, full, (size_t)n);
}

void hr__share_variable_scope(hr_graph *body, const hr_graph *outer)
{
    set_prefix(body, &body->variable_scope, &body->variable_scope_size, &body->variable_scope_capacity,
               outer->variable_scope, outer->variable_scope_size);
    body->reuse = outer->reuse;
    body->partitioner = outer->partitioner;
}

void hr_name_scope(hr_graph *g, const char *name)
{
    g = hr__innermost(g);
    if (g && push(g)) enter_name_scope(g, name);
}

void hr__variable_scope_at_root(hr_graph *g)
{
    g = hr__innermost(g);
    if (!g || !push(g)) return;
    g->variable_scope_size = 0;
    g->variable_scope[0] = 0;
}

void hr__name_scope_at_root(hr_graph *g, const char *name)
{
    g = hr__innermost(g);
    if (!g || !push(g)) return;
    g->scope_size = 0;
    g->scope[0] = 0;
    enter_name_scope(g, name);
}

/* How often a variable scope of that full name was begun. */
static int64_t times_begun(hr_graph *g, const char *full, size_t size)
{
    const int64_t *times = hr__map_find(&hr__root(g)->scopes_begun, full, size);
    return times ? *times : 0;
}

/* Full names begin with `scope`: TensorFlow counts them from 0 when it ends. */
static void forget_begun(hr_graph *g, const char *scope, size_t size)
{
    hr__map *begun = &hr__root(g)->scopes_begun;
    for (uint32_t i = 0; i < begun->count; i++) {
        const hr_view key = hr__map_key(begun, i);
        if ((size_t)key.size > size && memcmp(key.data, scope, size) == 0) begun->entries[i].value = 0;
    }
}

/* Fills `full` with the full name, and gives what of it is the scope's own, made unique if that is asked for. NULL: it
 * is too long. */
static const char *scope_full_name(hr_graph *g, const char *name, bool unique, char full[MAX_NAME])
{
    const size_t around = g->variable_scope_size, size = strlen(name);
    if (around + size > MAX_NAME - 48) return names_refuse(g, name);
    memcpy(full, g->variable_scope, around);
    memcpy(full + around, name, size + 1);
    for (int i = 1; unique && times_begun(g, full, strlen(full)); i++)
        snprintf(full + around + size, MAX_NAME - around - size, "_%d", i);
    return full + around;
}

static void scope_options(hr_graph *g, const hr_variable_scope_opts *o)
{
    if (o->reuse != HR_REUSE_NEVER) g->reuse = o->reuse;
    if (o->partitioner.pieces) g->partitioner = o->partitioner;
}

void hr_variable_scope_with(hr_graph *g, const char *name, const hr_variable_scope_opts *opts)
{
    const hr_variable_scope_opts o = HR_OPTIONS(hr_variable_scope_opts, opts);
    char full[MAX_NAME] = "";
    g = hr__innermost(g);
    if (!g || !push(g)) return;
    if (name && !*name) {
        scope_options(g, &o);
        return;
    }
    const char *own = name ? scope_full_name(g, name, o.unique, full) : NULL;
    enter_name_scope(g, own ? own : name);
    if (!own) return;
    const size_t n = strlen(full);
    if (hr__map_set(&hr__root(g)->scopes_begun, full, n, times_begun(g, full, n) + 1, NULL) != HR_OK) {
        hr__graph_no_memory(g, "a scope");
        return;
    }
    full[n] = '/';
    set_prefix(g, &g->variable_scope, &g->variable_scope_size, &g->variable_scope_capacity, full, n + 1);
    scope_options(g, &o);
}

void hr_scope_end(hr_graph *g)
{
    g = hr__innermost(g);
    if (!g || g->scope_count == 0) return;
    const hr__scope *s = &g->scopes[--g->scope_count];
    if (g->variable_scope_size > strlen(s->variable)) forget_begun(g, g->variable_scope, g->variable_scope_size);
    set_prefix(g, &g->scope, &g->scope_size, &g->scope_capacity, s->name, strlen(s->name));
    set_prefix(g, &g->variable_scope, &g->variable_scope_size, &g->variable_scope_capacity, s->variable,
               strlen(s->variable));
    g->reuse = s->reuse;
    g->partitioner = s->partitioner;
}

const char *hr_name_scope_name(hr_graph *g)
{
    g = hr__innermost(g);
    return g ? g->scope : "";
}

const char *hr_variable_scope_name(const hr_graph *g) { return g ? g->variable_scope : ""; }
