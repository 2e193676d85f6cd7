/* Graphs from and to files. */
#include "train/graphdef/graphdef_internal.h"
#include <headrace/io.h>

#include <stdlib.h>
#include <string.h>

enum { MAX_BYTES = INT32_MAX /* protobuf's own bound */ };

static bool is_text(const char *path)
{
    const size_t size = strlen(path);
    return size > 6 && strcmp(path + size - 6, ".pbtxt") == 0;
}

typedef struct file_bytes {
    char *bytes;
    size_t size, capacity;
} file_bytes;

static hr_status append(file_bytes *f, const char *data, size_t size, hr_error *err)
{
    if (size > MAX_BYTES - f->size)
        return hr_fail(err, HR_RESOURCE_EXHAUSTED, "graphdef.size", "expected a file of at most %d bytes", MAX_BYTES);
    if (size > f->capacity - f->size) {
        const size_t capacity = (f->size + size) * 2;
        char *grown = hr_realloc(f->bytes, capacity);
        if (!grown) return hr_no_memory(err, "a graph");
        f->bytes = grown;
        f->capacity = capacity;
    }
    memcpy(f->bytes + f->size, data, size);
    f->size += size;
    return HR_OK;
}

static hr_status read_whole(const char *path, file_bytes *f, hr_error *err)
{
    hr_input *in;
    const char *data;
    size_t size;
    HR_TRY(hr_input_open_with(path, NULL, &in, err));
    hr_status st;
    while ((st = hr_input_peek(in, 1, &data, &size, err)) == HR_OK && size > 0) {
        if ((st = append(f, data, size, err)) != HR_OK) break;
        hr_input_consume(in, size);
    }
    hr_input_free(in);
    return st;
}

hr_status hr_graph_read(hr_graph *g, const char *path, hr_error *err)
{
    file_bytes f = {0};
    if (!path)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graphdef.argument", "hr_graph_read: expected a path, got NULL");
    hr_status st = read_whole(path, &f, err);
    if (st == HR_OK) {
        st = hr_graph_import(g, ((hr_view){f.bytes, (int64_t)f.size}), err, .text = is_text(path));
        if (st != HR_OK) hr_error_prefix(err, "%s: ", path);
    }
    hr_free(f.bytes);
    return st;
}

hr_status hr_graph_write(const hr_graph *g, const char *path, hr_error *err)
{
    char *bytes;
    size_t size;
    hr_output *out;
    if (!path)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graphdef.argument", "hr_graph_write: expected a path, got NULL");
    HR_TRY(hr_graph_export(g, &bytes, &size, err, .text = is_text(path)));
    hr_status st = hr_output_open_with(path, NULL, &out, err);
    if (st == HR_OK) {
        hr_output_write(out, bytes, size, NULL); /* a failure sticks */
        st = hr_output_commit(out, err);
    }
    hr_free(bytes);
    return st;
}
