/* What the targets that read graphs share: a bound on each allocation, and what is done with a graph that was read. */
#ifndef FUZZ_GRAPHS_H
#define FUZZ_GRAPHS_H

#include <headrace/graph_op.h>
#include <headrace/meta_graph.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST = 1 << 26, NODES = 40 };

static void *graphs_allocate(size_t size, void *user)
{
    (void)user;
    return size > LARGEST ? NULL : malloc(size);
}

static void *graphs_reallocate(void *p, size_t size, void *user)
{
    (void)user;
    return size > LARGEST ? NULL : realloc(p, size);
}

static void graphs_release(void *p, void *user)
{
    (void)user;
    free(p);
}

static inline void graphs_bound_memory(void)
{
    static bool begun;
    if (!begun) hr_set_allocator(&(hr_allocator){graphs_allocate, graphs_reallocate, graphs_release, NULL});
    begun = true;
}

/* What is written is read again, and written to the same bytes. */
static inline void graphs_write_and_read(const hr_graph *g, bool text)
{
    char *bytes = NULL, *again = NULL;
    size_t size = 0, size_again = 0;
    hr_graph *other = hr_graph_new();
    if (other && hr_graph_export(g, &bytes, &size, NULL, .text = text) == HR_OK &&
        hr_graph_import(other, ((hr_view){bytes, (int64_t)size}), NULL, .text = text) == HR_OK &&
        hr_graph_export(other, &again, &size_again, NULL, .text = text) == HR_OK &&
        (size != size_again || memcmp(bytes, again, size) != 0))
        abort();
    hr_free(bytes);
    hr_free(again);
    hr_graph_free(other);
}

/* Nodes that need no feed. */
static inline void graphs_run(hr_graph *g)
{
    hr_session *s = hr_session_new(g, .workers = &(int){0});
    for (int32_t i = 0; s && i < hr_graph_size(g) && i < NODES; i++) {
        const hr_node target = {g, i, -1};
        hr_session_run(s, NULL, 0, &target, 1, NULL, NULL);
    }
    hr_session_free(s);
}

#endif
