/* Where nodes are made: the place in the user's program that called a constructor, as its macro says it. A thread has a
 * stack of places, since a constructor may stand in the arguments of another one, or in a function that makes the body
 * of a loop. */
#include "train/graph/graph_internal.h"

#include <stdio.h>
#include <string.h>

enum { DEEPEST = 32 /* constructors within constructors whose places are known; further ones have that of the last */ };

typedef struct place {
    const char *file;
    int line;
} place;

static _Thread_local struct {
    place place[DEEPEST];
    int depth;
} now;

void hr_place_begin(const char *file, int line)
{
    if (now.depth < DEEPEST) now.place[now.depth] = (place){file, line};
    now.depth++;
}

hr_node hr_place_end(hr_node made)
{
    if (now.depth > 0) now.depth--;
    return made;
}

/* The graph's copy of a file's name: nodes of one file share it. */
static const char *made_file(hr_graph *g, const char *file)
{
    if (!g->made_file || strcmp(g->made_file, file) != 0) g->made_file = hr__arena_text(&g->arena, file, strlen(file));
    return g->made_file;
}

static hr__made made_in_scope(const hr_graph *g)
{
    for (; g; g = g->function ? g->outer : NULL)
        for (int i = g->scope_count - 1; i >= 0; i--)
            if (g->scopes[i].made.file) return g->scopes[i].made;
    return (hr__made){0};
}

hr_status hr__made_here(hr_graph *g, hr__made *out, hr_error *err)
{
    const place *at = now.depth == 0 ? NULL : &now.place[(now.depth < DEEPEST ? now.depth : DEEPEST) - 1];
    *out = at && at->file ? (hr__made){made_file(g, at->file), at->line, false} : made_in_scope(g);
    return !at || !at->file || out->file ? HR_OK : hr_no_memory(err, "a node");
}

void hr__blame_made(hr_error *err, const char *name, const char *op, hr__made made)
{
    const char *slash = made.file ? strrchr(made.file, '/') : NULL;
    if (!made.file) {
        hr_error_prefix(err, "node '%s' (%s): ", name, op);
    } else {
        hr_error_prefix(err, "node '%s' (%s), made %s%.60s:%d: ", name, op, made.by_scope ? "in the scope of " : "at ",
                        slash ? slash + 1 : made.file, made.line);
    }
}

void hr__blame(hr_error *err, const hr__node *node) { hr__blame_made(err, node->name, node->op->name, node->made); }

const char *hr_node_file(hr_node node)
{
    const hr__node *n = hr__node_of(node);
    return n && n->made.file ? n->made.file : "";
}

int hr_node_line(hr_node node)
{
    const hr__node *n = hr__node_of(node);
    return n ? n->made.line : 0;
}
