/* Any bytes as a graph. The first byte says whether they are a message or its text. What is read is written, both ways,
 * and read again to the same bytes; then the nodes that need no feed are run. */
#include <headrace/graphdef.h>
#include <headrace/graph_op.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST = 1 << 26, NODES = 40 };

static void *allocate(size_t size, void *user)
{
    (void)user;
    return size > LARGEST ? NULL : malloc(size);
}

static void *reallocate(void *p, size_t size, void *user)
{
    (void)user;
    return size > LARGEST ? NULL : realloc(p, size);
}

static void release(void *p, void *user)
{
    (void)user;
    free(p);
}

static void write_and_read(const hr_graph *g, bool text)
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

static void run(hr_graph *g)
{
    hr_session *s = hr_session_new(g, .workers = &(int){0});
    for (int32_t i = 0; s && i < hr_graph_size(g) && i < NODES; i++) {
        const hr_node target = {g, i, -1};
        hr_session_run(s, NULL, 0, &target, 1, NULL, NULL);
    }
    hr_session_free(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool begun;
    if (!begun) hr_set_allocator(&(hr_allocator){allocate, reallocate, release, NULL});
    begun = true;
    if (size == 0) return 0;
    hr_graph *g = hr_graph_new();
    const hr_view bytes = {(const char *)data + 1, (int64_t)size - 1};
    if (g && hr_graph_import(g, bytes, NULL, .text = data[0] & 1) == HR_OK) {
        write_and_read(g, false);
        write_and_read(g, true);
        run(g);
    }
    hr_graph_free(g);
    return 0;
}
