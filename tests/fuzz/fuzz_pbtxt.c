/* Any text as a graph. What is read is written, as bytes and as text, and read again to the same bytes; then the nodes
 * that need no feed are run. */
#include "tests/fuzz/graphs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    graphs_bound_memory();
    hr_graph *g = hr_graph_new();
    if (g && hr_graph_import(g, ((hr_view){(const char *)data, (int64_t)size}), NULL, .text = true) == HR_OK) {
        graphs_write_and_read(g, false);
        graphs_write_and_read(g, true);
        graphs_run(g);
    }
    hr_graph_free(g);
    return 0;
}
