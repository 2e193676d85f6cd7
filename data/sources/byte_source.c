/* See byte_source.h. */
#include "data/sources/byte_source.h"
#include "io/input.h"
#include <stdio.h>
#include <string.h>

hr_status hr__byte_source_copy(byte_source_spec *spec, hr_error *err)
{
    if (!spec->pattern) return HR_OK;
    spec->pattern = hr_strdup(spec->pattern);
    return spec->pattern ? HR_OK : hr_no_memory(err, "a source's file pattern");
}

void hr__byte_source_free_spec(byte_source_spec *spec) { hr_free((char *)(uintptr_t)spec->pattern); }

hr_status hr__byte_source_check(const byte_source_spec *spec, const char *op, hr_error *err)
{
    if (!spec->pattern)
        return hr_fail(err, HR_INVALID_ARGUMENT, "source.pattern",
                       "%s: expected the name of a file or a pattern, got none that can be one", op);
    if (spec->compression != HR_COMPRESSION_AUTO && strcmp(hr_compression_name(spec->compression), "AUTO") == 0)
        return hr_fail(err, HR_INVALID_ARGUMENT, "compression.unknown",
                       "%s: expected a compression of hr_compression, got %d", op, (int)spec->compression);
    return HR_OK;
}

hr_op_files hr__byte_source_files(const byte_source_spec *spec)
{
    return source_files_of(spec->pattern, spec->literal);
}

hr_status hr__byte_source_open(byte_source *s, const byte_source_spec *spec, const char *op, hr_plan *p, hr_error *err)
{
    hr_status st = source_files_open(&s->files, op, spec->pattern, spec->literal, p, err);
    s->list = s->files.identity;
    return st;
}

hr_status hr__byte_source_load(const byte_source *s, const byte_source_spec *spec, const char *op, hr_error *err)
{
    return source_files_check(&s->files, op, spec->pattern, s->list, s->file, err);
}

void hr__byte_source_close(byte_source *s)
{
    hr_input_free(s->in);
    hr_file_list_clear(&s->files.list);
}

const char *hr__byte_source_path(const byte_source *s) { return s->files.list.path[s->file]; }

hr_status hr__byte_source_file(byte_source *s, const byte_source_spec *spec, const char *op, hr_plan *p, hr_error *err)
{
    if (s->in) return HR_OK;
    if (s->file >= s->files.list.count) return HR_END;
    const hr_input_opts opts = {.struct_size = sizeof opts, .compression = spec->compression, .wake = hr_plan_wake(p)};
    s->number = hr_file_number(p, hr__byte_source_path(s));
    if (s->number < 0) return hr_no_memory(err, op);
    HR_TRY(source_files_once(op, hr__byte_source_path(s), p, s->number, err));
    HR_TRY(hr_input_open_with(hr__byte_source_path(s), &opts, &s->in, err));
    return s->offset == 0 ? HR_OK : hr_input_seek(s->in, s->offset, err);
}

void hr__byte_source_next(byte_source *s)
{
    hr_input_free(s->in);
    s->in = NULL;
    s->file++;
    s->record = s->offset = 0;
}

void hr__byte_source_pass(byte_source *s, int64_t rows, size_t bytes)
{
    hr_input_consume(s->in, bytes);
    s->record += rows;
    s->offset += (int64_t)bytes;
}

const char *hr__byte_source_name(const hr_element *element, char *buffer, size_t size)
{
    const hr_tensor *name = hr_get_at(element, 0);
    if (!name || name->dtype != HR_STRING || name->count != 1) return NULL;
    const hr_view view = *(const hr_view *)name->data;
    if (view.size >= (int64_t)size || (view.size && memchr(view.data, 0, (size_t)view.size))) return NULL;
    snprintf(buffer, size, "%.*s", (int)view.size, view.size ? view.data : "");
    return buffer;
}
