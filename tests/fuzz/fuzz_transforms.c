/* A line that names transforms, then any bytes as a graph. The graph is rewritten for the output of its last node, by
 * those, by all passes, and by being frozen; what comes out is written and read again. */
#include "tests/fuzz/graphs.h"

#include <headrace/transforms.h>

enum { LONGEST = 1000 };

static void use(hr_graph *made)
{
    if (!made) return;
    graphs_write_and_read(made, false);
    graphs_run(made);
    hr_graph_free(made);
}

/* Nodes that need no feed run before: they may give variables their values. */
static void freeze(hr_graph *g, hr_node output)
{
    hr_graph *frozen = NULL;
    hr_session *s = hr_session_new(g, .workers = &(int){0});
    for (int32_t i = 0; s && i < hr_graph_size(g) && i < NODES; i++)
        hr_session_run(s, NULL, 0, &(hr_node){g, i, -1}, 1, NULL, NULL);
    if (s && hr_freeze_graph(s, &output, 1, &frozen, NULL) == HR_OK) use(frozen);
    hr_session_free(s);
}

static void transform(hr_graph *g, const char *text)
{
    hr_graph *out = NULL;
    const int last = hr_graph_size(g) - 1;
    const hr_node node = {g, last, 0}, output = hr_node_outputs(node) > 0 ? node : (hr_node){g, last, -1};
    if (hr_graph_transform(g, text, &output, 1, &out, NULL) == HR_OK) use(out);
    if (hr_graph_transform(g, text, NULL, 0, &out, NULL, .inputs = &output, .input_count = 1) == HR_OK) use(out);
    if (hr_graph_apply_passes(g, "all", &output, 1, &out, NULL) == HR_OK) use(out);
    freeze(g, output);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[LONGEST];
    const uint8_t *end = memchr(data, '\n', size < LONGEST ? size : LONGEST);
    if (!end) return 0;
    const size_t length = (size_t)(end - data);
    memcpy(text, data, length);
    text[length] = '\0';
    graphs_bound_memory();
    hr_graph *g = hr_graph_new();
    const hr_view bytes = {(const char *)end + 1, (int64_t)(size - length - 1)};
    if (hr_transforms_check(text, NULL) == HR_OK && g && hr_graph_import(g, bytes, NULL) == HR_OK &&
        hr_graph_size(g) > 0)
        transform(g, text);
    hr_graph_free(g);
    return 0;
}
