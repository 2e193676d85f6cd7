/* What tests of sources of strings share. */
#ifndef STRINGS_H
#define STRINGS_H

#include "tests/data/conformance.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The strings "value" of a pipeline, each in brackets, then how it ended if not well: its kind. Takes `ds`. */
static inline void assert_strings(hr_dataset *ds, way w, const char *want)
{
    static char got[8192];
    size_t used = 0;
    const hr_element *e;
    hr_status st;
    hr_iterator *it = iterate(ds, w);
    while ((st = hr_next(it, &e)) == HR_OK) {
        const hr_view *view = hr_get(e, "value")->data;
        used += (size_t)snprintf(got + used, sizeof got - used, "[%.*s]", (int)view->size, view->data);
        assert_less(used, sizeof got);
    }
    if (st != HR_END) snprintf(got + used, sizeof got - used, "%s", hr_iterator_error(it)->kind);
    got[used + (st == HR_END ? 0 : strlen(got + used))] = '\0';
    assert_string_equal(got, want);
    hr_iterator_free(it);
}

static inline void write_gzip(const char *path, const void *data, size_t size)
{
    hr_output *out;
    hr_error err;
    const hr_output_opts opts = {.struct_size = sizeof opts, .compression = HR_GZIP};
    assert_ok(hr_output_open_with(path, &opts, &out, &err), &err);
    assert_ok(hr_output_write(out, data, size, &err), &err);
    assert_ok(hr_output_commit(out, &err), &err);
}

/* These bytes, and then its end, are standard input until given back. */
static inline int give_input(const void *data, size_t size)
{
    int ends[2], saved = dup(STDIN_FILENO);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], data, size), size);
    close(ends[1]);
    dup2(ends[0], STDIN_FILENO);
    close(ends[0]);
    return saved;
}

static inline void take_input_back(int saved)
{
    dup2(saved, STDIN_FILENO);
    close(saved);
}

#endif
