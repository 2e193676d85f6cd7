/* Any bytes as a MetaGraphDef, or, if the first one is odd, the text of one. What is read is looked at, written, and
 * read again to the same bytes. */
#include "tests/fuzz/graphs.h"

static size_t look(const hr_meta_graph *m)
{
    size_t seen = strlen(hr_meta_graph_version(m));
    hr_meta_saver saver;
    hr_meta_asset asset;
    for (int i = 0; hr_meta_graph_tag(m, i); i++) seen += strlen(hr_meta_graph_tag(m, i));
    for (int i = 0; hr_meta_graph_asset(m, i, &asset); i++) seen += strlen(asset.tensor) + strlen(asset.filename);
    if (hr_meta_graph_saver(m, &saver)) seen += strlen(saver.filename) + strlen(saver.save) + strlen(saver.restore);
    for (int i = 0; hr_meta_graph_signature(m, i); i++) {
        const hr_meta_signature *s = hr_meta_graph_signature(m, i);
        for (int j = 0; j < s->input_count; j++) seen += strlen(s->inputs[j].key);
        for (int j = 0; j < s->output_count; j++) seen += s->outputs[j].name ? strlen(s->outputs[j].name) : 0;
    }
    for (int i = 0; hr_meta_graph_collection(m, i); i++) {
        const hr_meta_collection *c = hr_meta_graph_collection(m, i);
        for (int j = 0; c->nodes && j < c->count; j++) seen += strlen(c->nodes[j]);
        for (int j = 0; c->bytes && j < c->count; j++) seen += (size_t)c->bytes[j].size;
    }
    return seen;
}

static void write_and_read_meta(const hr_graph *g, const hr_meta_graph *m, bool text)
{
    char *bytes = NULL, *again = NULL;
    size_t size = 0, size_again = 0;
    hr_meta_graph *read = NULL;
    hr_graph *other = hr_graph_new();
    if (other && hr_meta_graph_export(g, m, &bytes, &size, NULL, .text = text) == HR_OK &&
        hr_meta_graph_import(other, ((hr_view){bytes, (int64_t)size}), &read, NULL, .text = text) == HR_OK &&
        hr_meta_graph_export(other, read, &again, &size_again, NULL, .text = text) == HR_OK &&
        (size != size_again || memcmp(bytes, again, size) != 0))
        abort();
    hr_free(bytes);
    hr_free(again);
    hr_meta_graph_free(read);
    hr_graph_free(other);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    graphs_bound_memory();
    if (size == 0) return 0;
    hr_meta_graph *m = NULL;
    hr_graph *g = hr_graph_new();
    const hr_view bytes = {(const char *)data + 1, (int64_t)size - 1};
    if (g && hr_meta_graph_import(g, bytes, &m, NULL, .text = data[0] & 1) == HR_OK) {
        volatile size_t seen = look(m);
        (void)seen;
        write_and_read_meta(g, m, false);
        write_and_read_meta(g, m, true);
    }
    hr_meta_graph_free(m);
    hr_graph_free(g);
    return 0;
}
