/* See kernels.h. */
#include "base/cpu.h"
#include <headrace/kernels.h>
#include <string.h>

int hr_vector_bytes(void) { return hr__cpu_has(HR__AVX512) ? 64 : hr__cpu_has(HR__AVX2) ? 32 : 16; }

hr_status hr_put_int(hr_tensor *t, int64_t i, int64_t value, hr_error *err)
{
    if (t->dtype == HR_INT64) {
        ((int64_t *)t->data)[i] = value;
        return HR_OK;
    }
    if (value < INT32_MIN || value > INT32_MAX)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "%lld does not fit into int32; ask for int64",
                       (long long)value);
    ((int32_t *)t->data)[i] = (int32_t)value;
    return HR_OK;
}

hr_status hr_shape_input(const hr_tensor *t, hr_shape *out, hr_error *err)
{
    char text[256] = "";
    const bool read = hr_shape_from_tensor(t, out);
    if (read && hr_shape_count(*out) >= 0) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                   "expected a vector of at most %d dimensions >= 0, and of not too many values, got %s", HR_MAX_RANK,
                   hr_shape_text(read ? *out : t->shape, text, sizeof text));
}

hr_status hr_distinct_rows_begin(hr_kernel *k, int64_t count, int64_t table_rows, hr_distinct_rows *out, hr_error *err)
{
    size_t slots = 16;
    if (count < 0 || count > INT32_MAX / 8)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.rows", "expected fewer than %d rows in a gradient, got %lld",
                       INT32_MAX / 8, (long long)count);
    while (slots < 2 * (uint64_t)count) slots *= 2;
    *out = (hr_distinct_rows){.mask = (uint64_t)table_rows <= slots ? 0 : (uint32_t)(slots - 1)};
    if (!out->mask) slots = (size_t)table_rows;
    out->slot = hr_kernel_temp(k, slots * sizeof *out->slot + 1);
    out->rows = hr_kernel_temp(k, (size_t)count * sizeof *out->rows + 1);
    if (!out->slot || !out->rows) return hr_no_memory(err, "the rows of a sparse gradient");
    memset(out->slot, 0, slots * sizeof *out->slot);
    return HR_OK;
}

hr_status hr_axis(int64_t axis, int rank, int *out, hr_error *err)
{
    if (axis < -rank || axis >= rank)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.axis", "expected an axis in [%d, %d), got %lld", -rank, rank,
                       (long long)axis);
    *out = (int)(axis < 0 ? axis + rank : axis);
    return HR_OK;
}

hr_status hr_expect_rank(const char *what, hr_shape shape, int rank, hr_error *err)
{
    char text[128];
    if (shape.rank < 0 || shape.rank == rank) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "%s must be a %s, got shape %s", what,
                   rank == 0 ? "scalar" : "vector", hr_shape_text(shape, text, sizeof text));
}

hr_status hr_kernel_array(hr_kernel *k, int64_t count, size_t size, const char *what, void *out, hr_error *err)
{
    int64_t bytes;
    HR_TRY(hr_dim_mul(count, (int64_t)size, &bytes, err));
    void *memory = hr_kernel_temp(k, bytes > 0 ? (size_t)bytes : 1);
    if (!memory) return hr_no_memory(err, what);
    memcpy(out, &memory, sizeof memory);
    return HR_OK;
}

hr_status hr_kernel_text(hr_kernel *k, hr_view from, char **text, hr_error *err)
{
    HR_TRY(hr_kernel_array(k, from.size + 1, 1, "a text", text, err));
    if (from.size) memcpy(*text, from.data, (size_t)from.size);
    (*text)[from.size] = '\0';
    return HR_OK;
}

hr_status hr_compute_handle(hr_kernel *k, hr_error *err)
{
    (void)err;
    hr_kernel_give(k, 0, hr_resource_handle(*(hr_resource *const *)k->state));
    return HR_OK;
}

hr_status hr_axis_input(const hr_tensor *axis, int rank, int *out, hr_error *err)
{
    HR_TRY(hr_expect_rank("the axis", axis->shape, 0, err));
    return hr_axis(hr_int_at(axis, 0), rank, out, err);
}

hr_status hr_axis_of_one(const hr_tensor *axis, int rank, int *out, hr_error *err)
{
    if (axis->count != 1) return hr_fail(err, HR_INVALID_ARGUMENT, "graph.axis", "expected one axis");
    return hr_axis(hr_int_at(axis, 0), rank, out, err);
}

hr_status hr_check_splits(const hr_tensor *ids, const hr_tensor *splits, const hr_tensor *weights, hr_error *err)
{
    const int32_t *s = splits->data;
    bool fits = splits->shape.rank == 1 && splits->count > 0 && s[0] == 0 && s[splits->count - 1] == ids->count &&
                (!weights || weights->count == ids->count);
    int falls = 0;
    for (int64_t i = 1; fits && i < splits->count; i++) falls |= s[i - 1] > s[i];
    if (fits && !falls) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "graph.splits",
                   "expected row_splits that rise from 0 to the number of ids, %lld, and as many weights, if any",
                   (long long)ids->count);
}

hr_status hr_kernel_begin_output(hr_kernel *k, int i, hr_shape shape, hr_tensor *scratch, hr_tensor **out,
                                 hr_error *err)
{
    if (hr_node_dtype(hr_node_output(k->node, i)) != HR_STRING) return hr_kernel_output(k, i, shape, out, err);
    char text[256];
    const int64_t count = hr_shape_count(shape);
    if (count < 0)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected a result of known and possible shape, got %s",
                       hr_shape_text(shape, text, sizeof text));
    *scratch = hr_tensor_of(HR_STRING, shape, hr_kernel_temp(k, (size_t)count * sizeof(hr_view)));
    *out = scratch;
    return scratch->data ? HR_OK : hr_no_memory(err, "a tensor");
}

/* As hr_tensor_strings, in memory of the session, which the run's limit counts. */
static hr_status give_strings(hr_kernel *k, int i, hr_shape shape, const hr_view *values, hr_error *err)
{
    const int64_t count = hr_shape_count(shape);
    size_t bytes = 0;
    for (int64_t n = 0; n < count; n++) bytes += (size_t)values[n].size;
    hr_buffer *buffer = hr_kernel_buffer(k, (size_t)count * sizeof *values + bytes);
    if (!buffer) return hr_no_memory(err, "strings");
    hr_tensor out = hr_tensor_of(HR_STRING, shape, hr_buffer_data(buffer));
    out.buffer = buffer;
    hr_view *view = out.data;
    char *at = (char *)(view + count);
    for (int64_t n = 0; n < count; at += view[n++].size) {
        view[n] = (hr_view){at, values[n].size};
        if (values[n].size) memcpy(at, values[n].data, (size_t)values[n].size);
    }
    hr_kernel_give(k, i, out);
    return HR_OK;
}

hr_status hr_kernel_end_output(hr_kernel *k, int i, const hr_tensor *scratch, const hr_tensor *out, hr_error *err)
{
    return out == scratch ? give_strings(k, i, out->shape, out->data, err) : HR_OK;
}

hr_status hr_kernel_copy(hr_kernel *k, int i, hr_shape shape, const void *data, hr_error *err)
{
    hr_tensor scratch, *out;
    HR_TRY(hr_kernel_begin_output(k, i, shape, &scratch, &out, err));
    if (out->count) memcpy(out->data, data, (size_t)out->count * hr_dtype_size(out->dtype));
    return hr_kernel_end_output(k, i, &scratch, out, err);
}

/* ---- strings ---- */

static bool strings_grow(void *array, int64_t needed, size_t *capacity, size_t width)
{
    void **at = array;
    if ((uint64_t)needed <= *capacity) return true;
    const size_t grown = *capacity ? 2 * *capacity : 64, wanted = (size_t)needed > grown ? (size_t)needed : grown;
    void *p = hr_realloc(*at, wanted * width);
    if (!p) return false;
    *at = p;
    *capacity = wanted;
    return true;
}

void hr_strings_add(hr_strings *s, hr_view piece)
{
    if (s->failed || piece.size == 0) return;
    if (!strings_grow(&s->bytes, (int64_t)s->size + piece.size, &s->capacity, 1)) {
        s->failed = true;
        return;
    }
    memcpy(s->bytes + s->size, piece.data, (size_t)piece.size);
    s->size += (size_t)piece.size;
}

void hr_strings_end(hr_strings *s)
{
    if (s->failed) return;
    if (!strings_grow(&s->end, s->count + 1, &s->end_capacity, sizeof *s->end)) {
        s->failed = true;
        return;
    }
    s->end[s->count++] = (int64_t)s->size;
}

void hr_strings_free(hr_strings *s)
{
    hr_free(s->bytes);
    hr_free(s->end);
    *s = (hr_strings){0};
}

static hr_status strings_make(const hr_strings *s, hr_kernel *k, int i, hr_shape shape, hr_error *err)
{
    if (s->failed) return hr_no_memory(err, "strings");
    if (s->count != hr_shape_count(shape))
        return hr_fail(err, HR_INTERNAL, "graph.failed", "expected strings for all of a shape, got %lld",
                       (long long)s->count);
    hr_view *views;
    HR_TRY(hr_kernel_array(k, s->count, sizeof *views, "strings", &views, err));
    for (int64_t n = 0, from = 0; n < s->count; from = s->end[n++])
        views[n] = (hr_view){s->bytes ? s->bytes + from : "", s->end[n] - from};
    return give_strings(k, i, shape, views, err);
}

hr_status hr_strings_give(hr_strings *s, hr_kernel *k, int i, hr_shape shape, hr_error *err)
{
    const hr_status st = strings_make(s, k, i, shape, err);
    hr_strings_free(s);
    return st;
}

hr_node hr_unary_node(const char *op, hr_node x, const hr_name_opts *opts)
{
    const hr_name_opts o = HR_OPTIONS(hr_name_opts, opts);
    return hr_new_node(x.graph, op, .name = o.name, HR_INPUTS(x));
}

hr_node hr_binary_node(const char *op, hr_node x, hr_node y, const hr_name_opts *opts)
{
    const hr_name_opts o = HR_OPTIONS(hr_name_opts, opts);
    return hr_new_node(x.graph, op, .name = o.name, HR_INPUTS(x, y));
}

hr_node hr_ternary_node(const char *op, hr_node x, hr_node y, hr_node z, const hr_name_opts *opts)
{
    const hr_name_opts o = HR_OPTIONS(hr_name_opts, opts);
    return hr_new_node(x.graph, op, .name = o.name, HR_INPUTS(x, y, z));
}

hr_node hr_node_of_lists(const char *op, const hr_node *first, int first_count, const hr_node *second, int second_count,
                         const hr_node_opts *opts)
{
    enum { MOST = INT32_MAX / 8 };
    hr_node_opts o = HR_OPTIONS(hr_node_opts, opts);
    const bool none = (!first && first_count > 0) || (!second && second_count > 0);
    hr_graph *g = first && first_count > 0 ? first[0].graph : second && second_count > 0 ? second[0].graph : NULL;
    if (none || first_count < 0 || second_count < 0 || first_count > MOST || second_count > MOST)
        return hr_node_fail(g, HR_INVALID_ARGUMENT, "graph.argument", "%s: expected lists of nodes, got %d and %d%s",
                            op, first_count, second_count, none ? " of them at NULL" : " of them");
    const int count = first_count + second_count;
    hr_node *all = hr_malloc(sizeof *all * ((size_t)count + 1));
    if (!all) return hr_node_fail(g, HR_RESOURCE_EXHAUSTED, "memory", "no memory for the inputs of a node");
    for (int i = 0; i < count; i++) all[i] = i < first_count ? first[i] : second[i - first_count];
    o.inputs = all;
    o.input_count = count;
    const hr_node node = hr_new_node_with(g, op, &o);
    hr_free(all);
    return node;
}
