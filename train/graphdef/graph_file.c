/* Graphs from and to files. */
#include "train/graphdef/graphdef_internal.h"
#include <headrace/io.h>
#include <headrace/meta_graph.h>

#include <stdlib.h>
#include <string.h>

enum { MAX_BYTES = INT32_MAX /* protobuf's own bound */ };

bool hr__is_text_file(const char *path)
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

hr_status hr__file_read(const char *path, char **bytes, size_t *size_out, hr_error *err)
{
    hr_input *in;
    file_bytes f = {0};
    const char *data;
    size_t size;
    HR_TRY(hr_input_open_with(path, NULL, &in, err));
    hr_status st;
    while ((st = hr_input_peek(in, 1, &data, &size, err)) == HR_OK && size > 0) {
        if ((st = append(&f, data, size, err)) != HR_OK) break;
        hr_input_consume(in, size);
    }
    hr_input_free(in);
    if (st != HR_OK) hr_free(f.bytes);
    if (st != HR_OK) return st;
    *bytes = f.bytes;
    *size_out = f.size;
    return HR_OK;
}

hr_status hr__file_write(const char *path, const char *bytes, size_t size, hr_error *err)
{
    hr_output *out;
    HR_TRY(hr_output_open_with(path, NULL, &out, err));
    hr_output_write(out, bytes, size, NULL); /* a failure sticks */
    return hr_output_commit(out, err);
}

static hr_status need_path(const char *what, const char *path, hr_error *err)
{
    if (path) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "graphdef.argument", "%s: expected a path, got NULL", what);
}

hr_status hr_graph_read(hr_graph *g, const char *path, hr_error *err)
{
    char *bytes;
    size_t size;
    HR_TRY(need_path("hr_graph_read", path, err));
    HR_TRY(hr__file_read(path, &bytes, &size, err));
    const hr_status st = hr_graph_import(g, ((hr_view){bytes, (int64_t)size}), err, .text = hr__is_text_file(path));
    if (st != HR_OK) hr_error_prefix(err, "%s: ", path);
    hr_free(bytes);
    return st;
}

hr_status hr_graph_write(const hr_graph *g, const char *path, hr_error *err)
{
    char *bytes;
    size_t size;
    HR_TRY(need_path("hr_graph_write", path, err));
    HR_TRY(hr_graph_export(g, &bytes, &size, err, .text = hr__is_text_file(path)));
    const hr_status st = hr__file_write(path, bytes, size, err);
    hr_free(bytes);
    return st;
}

hr_status hr_meta_graph_read(hr_graph *g, const char *path, hr_meta_graph **meta, hr_error *err)
{
    char *bytes;
    size_t size;
    if (meta) *meta = NULL;
    HR_TRY(need_path("hr_meta_graph_read", path, err));
    HR_TRY(hr__file_read(path, &bytes, &size, err));
    const hr_status st =
        hr_meta_graph_import(g, ((hr_view){bytes, (int64_t)size}), meta, err, .text = hr__is_text_file(path));
    if (st != HR_OK) hr_error_prefix(err, "%s: ", path);
    hr_free(bytes);
    return st;
}

hr_status hr_meta_graph_write(const hr_graph *g, const hr_meta_graph *m, const char *path, hr_error *err)
{
    char *bytes;
    size_t size;
    HR_TRY(need_path("hr_meta_graph_write", path, err));
    HR_TRY(hr_meta_graph_export(g, m, &bytes, &size, err, .text = hr__is_text_file(path)));
    const hr_status st = hr__file_write(path, bytes, size, err);
    hr_free(bytes);
    return st;
}
