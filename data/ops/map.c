/* map: one element of the input to one of the output, by the user's function. What it makes is written straight into
 * the columns of the output. */
#include "data/element.h"
#include "data/dataset.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct map_spec {
    hr_map_fn *fn;
    void *user;
    uint64_t seed;
    void (*user_free)(void *user);
    const hr_schema *output; /* borrowed: read in check only. NULL: that of the input */
    bool *taken;             /* of the constructor: the dataset has `user` now */
} map_spec;

struct hr_builder {
    hr_work *work;
    hr_columns *rows;
    int64_t first, end; /* rows of the element */
    bool no_memory;
};

struct hr_call {
    const map_spec *spec;
    hr_work *work;
    hr_columns *rows;
    int64_t row;
    hr_error err;
};

static const char nothing[64]; /* what an empty string points to: 64 bytes behind it may be read */

static hr_status map_check(const void *spec, const hr_schema *const *in, hr_schema_builder *out, hr_error *err)
{
    const map_spec *sp = spec;
    const hr_schema *made = sp->output ? sp->output : in[0];
    if (!sp->fn) return hr_fail(err, HR_INVALID_ARGUMENT, "map.function", "map: expected a function, got NULL");
    for (int i = 0; i < made->fields; i++)
        if (!hr__field_fixed(&made->field[i]))
            return hr_fail(err, HR_INVALID_ARGUMENT, "map.output",
                           "map: component '%.60s': expected a dense one of known shape; name what the function makes "
                           "in .output",
                           made->field[i].name);
    if (!sp->output) return HR_OK;
    hr_schema_clear(out);
    for (int i = 0; i < made->fields; i++) HR_TRY(hr_schema_add(out, made->field[i], err));
    return HR_OK;
}

static void zero_columns(hr_columns *rows)
{
    for (int i = 0; i < rows->schema->fields; i++) {
        const size_t width = hr_field_width(&rows->schema->field[i]);
        if (rows->rows == 0) continue;
        memset(rows->column[i].values, 0, (size_t)rows->rows * width);
        if (rows->schema->field[i].dtype != HR_STRING) continue;
        hr_view *view = rows->column[i].values;
        for (size_t v = 0; v < (size_t)rows->rows * width / sizeof *view; v++) view[v].data = nothing;
    }
}

static hr_status call_function(const map_spec *sp, const hr_element *in, hr_builder *out, hr_call *call)
{
    hr_status st = sp->fn(in, out, call, sp->user);
    if (out->no_memory) return hr_no_memory(&call->err, "a mapped string");
    if (st >= 0 || call->err.code < 0) return st;
    return hr_fail(&call->err, st, "map.function", "map: the function failed (%s) without saying why",
                   hr_status_name(st));
}

static hr_status map_work(const void *spec, const void *unit, hr_work *w, hr_columns *rows, hr_error *err)
{
    (void)unit;
    hr_columns before;
    const int levels = hr__work_levels(w);
    HR_TRY(hr_new_columns(w, rows, &before, err));
    zero_columns(rows);
    for (int64_t e = 0; hr__element_row(&before, levels, e) < rows->rows; e++) {
        if (hr_work_cancelled(w)) break; /* the user's function may be slow, and nobody reads this unit */
        const hr_element *in = hr_work_element(w, &before, e);
        if (!in) return hr_no_memory(err, "an element");
        hr_builder out = {.work = w, .rows = rows, .first = in->first, .end = in->end};
        hr_call call = {.spec = spec, .work = w, .rows = rows, .row = in->first};
        if (call_function(spec, in, &out, &call) < 0) hr_fail_at(w, rows, in->first, &call.err);
    }
    return HR_OK;
}

static hr_status map_copy(void *spec, hr_error *err)
{
    (void)err;
    map_spec *sp = spec;
    *sp->taken = true;
    sp->taken = NULL;
    return HR_OK;
}

static void map_free(void *spec)
{
    const map_spec *sp = spec;
    if (sp->user_free) sp->user_free(sp->user);
}

static void map_identity(const void *spec, uint64_t *sum)
{
    hr_identify_i64(sum, (int64_t)((const map_spec *)spec)->seed);
}

const hr_op hr_op_map = {
    .head = HR_OP_HEAD,
    .name = "map",
    .spec_size = sizeof(map_spec),
    .traits = HR_ROW_BY_ROW | HR_RANDOM_ROWS,
    .spec_copy = map_copy,
    .spec_free = map_free,
    .check = map_check,
    .work = map_work,
    .identity = map_identity,
};

hr_dataset *hr_map_with(hr_dataset *in, hr_map_fn *fn, void *user, const hr_map_opts *opts)
{
    bool taken = false;
    map_spec spec = {.fn = fn, .user = user, .taken = &taken};
    if (opts) {
        spec.seed = opts->seed;
        spec.user_free = opts->user_free;
        spec.output = opts->output;
    }
    hr_dataset *ds = hr_dataset_new(&hr_op_map, &spec, &in, 1);
    if (!taken) map_free(&spec);
    return ds;
}

/* ---- what the function may call ---- */

static int field_named(const hr_schema *schema, const char *name)
{
    for (int i = 0; i < schema->fields; i++)
        if (strcmp(schema->field[i].name, name) == 0) return i;
    return -1;
}

void *hr_set(hr_builder *out, const char *name)
{
    const int i = field_named(out->rows->schema, name);
    if (i < 0) return NULL;
    const size_t width = hr_field_width(&out->rows->schema->field[i]);
    return (char *)out->rows->column[i].values + (size_t)out->first * width;
}

hr_status hr_set_string(hr_builder *out, const char *name, const void *data, int64_t size)
{
    const int i = field_named(out->rows->schema, name);
    if (i < 0 || size < 0 || out->rows->schema->field[i].dtype != HR_STRING) return HR_INVALID_ARGUMENT;
    if (size == 0) return HR_OK;
    char *bytes = hr_row_bytes(out->work, out->rows, (size_t)size);
    hr_view *view = hr_set(out, name);
    out->no_memory |= bytes == NULL;
    if (!bytes) return HR_RESOURCE_EXHAUSTED;
    memcpy(bytes, data, (size_t)size);
    *view = (hr_view){bytes, size};
    return HR_OK;
}

uint64_t hr_call_random(hr_call *call, uint64_t n)
{
    return hr_random(hr_row_key(call->work, call->rows, call->row, call->spec->seed), n);
}

hr_status hr_call_fail(hr_call *call, hr_status code, const char *format, ...)
{
    char text[sizeof call->err.text];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return hr_fail(&call->err, code < 0 ? code : HR_UNKNOWN, "map.function", "%s", text);
}
