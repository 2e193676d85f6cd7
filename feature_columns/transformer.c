/* A compiled list of columns: each raw feature is read once, and each different column is computed once, after its
 * sources. Equal columns (by their digests) share one result. */
#include "base/hash_map.h"
#include "feature_columns/columns_internal.h"

#include <stdlib.h>
#include <string.h>

/* One column to compute. Its inputs are places among the raw features or, from `sources` on, earlier nodes. */
typedef struct node {
    hr_feature_column *column;
    int input, raws, sources; /* where its inputs begin, and how many of each sort */
    int output;               /* -1: only other columns use it */
    bool outside;             /* of a kind that is not the library's */
} node;

struct hr__transformer {
    node *node;
    hr__output *output;
    int *input;
    const char **raw; /* lent by the columns */
    int nodes, outputs, inputs, raws, max_inputs;
    hr__map raw_of, node_of, output_of; /* while it is compiled: by name, by digest, by component */
};

static void transformer_forget_names(hr__transformer *t)
{
    hr__map_free(&t->raw_of);
    hr__map_free(&t->node_of);
    hr__map_free(&t->output_of);
}

void hr__transformer_free(hr__transformer *t)
{
    if (!t) return;
    for (int i = 0; i < t->nodes; i++) hr_feature_column_unref(t->node[i].column);
    hr_free(t->node);
    hr_free(t->output);
    hr_free(t->input);
    hr_free(t->raw);
    transformer_forget_names(t);
    hr_free(t);
}

int hr__transformer_raws(const hr__transformer *t) { return t->raws; }
const char *hr__transformer_raw(const hr__transformer *t, int i) { return t->raw[i]; }
int hr__transformer_outputs(const hr__transformer *t) { return t->outputs; }
const hr__output *hr__transformer_output(const hr__transformer *t, int i) { return &t->output[i]; }

/* ---- compiling ---- */

/* The array with space for one item more. It doubles, so there is space unless the count is a power of two. NULL: no
 * memory, and the array stays. */
static void *grown(void *array, int count, size_t size)
{
    if (count > 0 && (count & (count - 1))) return array;
    return hr_realloc(array, (count ? (size_t)count * 2 : 1) * size);
}

static hr_status add_raw(hr__transformer *t, const char *key, int *place, hr_error *err)
{
    *place = hr__map_index(&t->raw_of, key);
    if (*place >= 0) return HR_OK;
    *place = t->raws;
    HR_TRY(hr__map_add(&t->raw_of, key, strlen(key), *place, err));
    const char **more = grown(t->raw, t->raws, sizeof *t->raw);
    if (!more) return hr_no_memory(err, "feature columns");
    t->raw = more;
    t->raw[t->raws++] = key;
    return HR_OK;
}

static hr_status add_input(hr__transformer *t, int place, hr_error *err)
{
    int *more = grown(t->input, t->inputs, sizeof *t->input);
    if (!more) return hr_no_memory(err, "feature columns");
    t->input = more;
    t->input[t->inputs++] = place;
    return HR_OK;
}

static hr_status add_node(hr__transformer *t, hr_feature_column *column, int *place, hr_error *err);

/* Sources become nodes first, so that a node's inputs lie together. */
static hr_status transformer_fill_node(hr__transformer *t, node *n, hr_error *err)
{
    int source[64];
    hr_feature_column *from;
    while ((from = hr_feature_column_source(n->column, n->sources))) {
        if (n->sources == 64)
            return hr_fail(err, HR_INVALID_ARGUMENT, "column.sources", "column '%s': expected at most 64 sources",
                           hr_feature_column_info(n->column)->name);
        HR_TRY(add_node(t, from, &source[n->sources], err));
        n->sources++;
    }
    n->input = t->inputs;
    const hr_feature *read;
    for (; (read = hr_feature_column_read(n->column, n->raws)); n->raws++) {
        int place;
        HR_TRY(add_raw(t, read->key, &place, err));
        HR_TRY(add_input(t, place, err));
    }
    for (int i = 0; i < n->sources; i++) HR_TRY(add_input(t, source[i], err));
    if (n->raws + n->sources > t->max_inputs) t->max_inputs = n->raws + n->sources;
    return HR_OK;
}

static hr_status add_node(hr__transformer *t, hr_feature_column *column, int *place, hr_error *err)
{
    uint64_t digest = hr__column_digest(column);
    const int64_t *known = hr__map_find(&t->node_of, (const char *)&digest, sizeof digest);
    *place = known ? (int)*known : t->nodes;
    if (known) return HR_OK;
    node n = {.column = column, .output = -1, .outside = !hr__column_kind_is_own(hr__column_kind_of(column))};
    HR_TRY(transformer_fill_node(t, &n, err));
    node *more = grown(t->node, t->nodes, sizeof *t->node);
    if (!more) return hr_no_memory(err, "feature columns");
    t->node = more;
    *place = t->nodes; /* its sources came first */
    HR_TRY(hr__map_add(&t->node_of, (const char *)&digest, sizeof digest, *place, err));
    hr_feature_column_ref(column);
    t->node[t->nodes++] = n;
    return HR_OK;
}

/* Two columns of one name that are not the same would put two things into one component. */
static hr_status transformer_add_name(hr__transformer *t, const hr_column_info *info, hr_error *err)
{
    const hr_status st = hr__map_add(&t->output_of, info->component, strlen(info->component), t->outputs, err);
    if (st != HR_ALREADY_EXISTS) return st;
    const int other = hr__map_index(&t->output_of, info->component);
    return hr_fail(
        err, HR_INVALID_ARGUMENT, "column.duplicate_name",
        "feature columns: expected one column named '%s', got two that differ (%s and %s); use one column in "
        "both places",
        info->component, t->output[other].info->kind, info->kind);
}

static hr_status transformer_add_output(hr__transformer *t, hr_feature_column *column, hr_error *err)
{
    const hr_column_info *info = hr_feature_column_info(column);
    hr_feature_column *shown = column;
    if (info->categorical_column) shown = (hr_feature_column *)(uintptr_t)info->categorical_column;
    int place;
    HR_TRY(add_node(t, shown, &place, err));
    if (t->node[place].output >= 0) return HR_OK;
    const hr_column_info *own = hr_feature_column_info(t->node[place].column);
    HR_TRY(transformer_add_name(t, own, err));
    hr__output *more = grown(t->output, t->outputs, sizeof *t->output);
    if (!more) return hr_no_memory(err, "feature columns");
    t->output = more;
    t->output[t->outputs] = (hr__output){.info = own, .node = place, .weights = -1};
    t->node[place].output = t->outputs++;
    return HR_OK;
}

static int by_component(const void *a, const void *b)
{
    return strcmp(((const hr__output *)a)->info->component, ((const hr__output *)b)->info->component);
}

/* In the order of their names, the weights of each after its ids. */
static void place_outputs(hr__transformer *t)
{
    int field = 0;
    if (t->outputs > 0) qsort(t->output, (size_t)t->outputs, sizeof *t->output, by_component);
    for (int i = 0; i < t->outputs; i++) {
        t->node[t->output[i].node].output = i;
        t->output[i].field = field++;
        if (t->output[i].info->weights) t->output[i].weights = field++;
    }
}

hr_status hr__transformer_new(hr_column_list columns, hr__transformer **out, hr_error *err)
{
    *out = NULL;
    hr__transformer *t = hr_calloc(1, sizeof *t);
    if (!t) return hr_no_memory(err, "feature columns");
    hr_status st = HR_OK;
    if (columns.count < 1)
        st = hr_fail(err, HR_INVALID_ARGUMENT, "column.empty_list", "feature columns: expected one or more, got none");
    for (int i = 0; i < columns.count && st == HR_OK; i++) {
        const hr_error *failed = hr_feature_column_error(columns.column[i]);
        if (failed && err) *err = *failed;
        st = failed ? failed->code : transformer_add_output(t, columns.column[i], err);
    }
    if (st != HR_OK) {
        hr__transformer_free(t);
        return st;
    }
    transformer_forget_names(t);
    place_outputs(t);
    *out = t;
    return HR_OK;
}

/* ---- running ---- */

struct hr_column_work {
    const hr__column_memory *memory;
    const node *node;
    int64_t rows;
};

int64_t *hr_column_ids(hr_column_work *w, int64_t at_most)
{
    if (at_most < 1) at_most = 1;
    if (w->node->output >= 0) return w->memory->ids(w->memory->user, w->node->output, at_most);
    return w->memory->scratch(w->memory->user, (size_t)at_most * sizeof(int64_t));
}

int32_t *hr_column_splits(hr_column_work *w)
{
    int32_t *splits = w->node->output >= 0
                          ? w->memory->splits(w->memory->user, w->node->output)
                          : w->memory->scratch(w->memory->user, ((size_t)w->rows + 1) * sizeof *splits);
    if (splits) splits[0] = 0;
    return splits;
}

float *hr_column_floats(hr_column_work *w, int64_t at_most)
{
    if (at_most < 1) at_most = 1;
    if (w->node->output >= 0) return w->memory->floats(w->memory->user, w->node->output, at_most);
    return w->memory->scratch(w->memory->user, (size_t)at_most * sizeof(float));
}

void *hr_column_scratch(hr_column_work *w, size_t bytes)
{
    return w->memory->scratch(w->memory->user, bytes > 0 ? bytes : 1);
}

bool hr_column_tf_compat(const hr_column_work *w) { return w->memory->tf_compat; }

void hr_column_fail_row(hr_column_work *w, int64_t row, const hr_error *err)
{
    hr_error named = *err;
    const hr_feature *read = hr_feature_column_read(w->node->column, 0);
    const char *name = read ? read->key : hr_feature_column_info(w->node->column)->name;
    if (!named.feature[0]) {
        size_t size = strnlen(name, sizeof named.feature - 1);
        memcpy(named.feature, name, size);
        named.feature[size] = '\0';
    }
    w->memory->fail_row(w->memory->user, row, &named);
}

static void gather_inputs(const hr__transformer *t, const node *n, const hr_column_values *raw,
                          const hr_column_values *done, hr_column_values *in)
{
    for (int i = 0; i < n->raws; i++) in[i] = raw[t->input[n->input + i]];
    for (int i = 0; i < n->sources && done; i++) in[n->raws + i] = done[t->input[n->input + n->raws + i]];
}

hr_status hr__transformer_accept(const hr__transformer *t, const hr_column_values *raw, hr_error *err)
{
    hr_column_values *in = hr_calloc((size_t)t->max_inputs + 1, sizeof *in);
    if (!in) return hr_no_memory(err, "feature columns");
    hr_status st = HR_OK;
    for (int i = 0; i < t->nodes && st == HR_OK; i++) {
        const node *n = &t->node[i];
        const hr_column_kind *kind = hr__column_kind_of(n->column);
        gather_inputs(t, n, raw, NULL, in);
        hr_error why = {0};
        if (!kind->accept) continue;
        st = hr__column_answer(kind->name, kind->accept(hr_feature_column_spec(n->column), in, &why), &why);
        if (st != HR_OK && err) *err = why;
    }
    hr_free(in);
    return st;
}

/* ---- results of kinds from outside ---- */

/* From 0 to `values`, rising, `count` of them and one more. */
static bool are_splits(const int32_t *splits, int64_t count, int64_t values)
{
    if (splits[0] != 0) return false;
    for (int64_t i = 0; i < count; i++)
        if (splits[i + 1] < splits[i]) return false;
    return splits[count] == values;
}

/* What others would read beyond the values, or not find; NULL: nothing. */
static const char *fault_of_result(const hr_column_info *info, const hr_column_values *v, int64_t rows)
{
    const bool values = info->dense == HR_COLUMN_VALUES;
    if (v->rows != rows) return "a result for each row";
    if (v->count < 0 || (v->count > 0 && !v->values)) return "values, as many as it says";
    if (v->splits && !are_splits(v->splits, rows, v->count)) return "splits that rise from 0 to the number of values";
    if (info->sequence && values && (!v->splits || v->width < 0)) return "splits, as of every sequence of numbers";
    if (info->sequence && !values) {
        if (!v->steps || !v->step_splits) return "steps and their splits, as of every sequence of ids";
        if (!are_splits(v->steps, rows, v->steps[rows]) || !are_splits(v->step_splits, v->steps[rows], v->count))
            return "steps that rise from 0, and splits of them that rise to the number of values";
    } else if (!info->sequence && values) {
        if (v->count != rows * info->width) return "as many values a row as its width";
    } else if (!v->splits && !info->sequence) {
        if (v->width < 0 || v->count != rows * v->width) return "splits, or as many ids in each row";
    }
    return info->weights && v->count > 0 && !v->weights ? "a weight for each id" : NULL;
}

static hr_status check_result(const node *n, const hr_column_values *made, int64_t rows, hr_error *err)
{
    const char *expected = fault_of_result(hr_feature_column_info(n->column), made, rows);
    if (!expected) return HR_OK;
    return hr_fail(err, HR_INTERNAL, "column.kind", "%s: transform: expected %s", hr__column_kind_of(n->column)->name,
                   expected);
}

static hr_status run_node(const hr__transformer *t, const node *n, hr_column_work *w, const hr_column_values *raw,
                          hr_column_values *done, hr_column_values *in, hr_column_values *out, hr_error *err)
{
    const hr_column_kind *kind = hr__column_kind_of(n->column);
    gather_inputs(t, n, raw, done, in);
    if (!kind->transform) { /* the source's results, under another name */
        *out = in[n->raws];
        return HR_OK;
    }
    *out = (hr_column_values){.rows = w->rows};
    hr_error why = {0};
    hr_status st =
        hr__column_answer(kind->name, kind->transform(hr_feature_column_spec(n->column), w, in, out, &why), &why);
    if (st == HR_OK && n->outside) st = check_result(n, out, w->rows, &why);
    if (st != HR_OK && err) *err = why;
    return st;
}

hr_status hr__transform(const hr__transformer *t, const hr__column_memory *memory, int64_t rows,
                        const hr_column_values *raw, hr_column_values *result, hr_error *err)
{
    hr_column_values *done =
        memory->scratch(memory->user, ((size_t)t->nodes + (size_t)t->max_inputs + 1) * sizeof *done);
    if (!done) return hr_no_memory(err, "feature columns");
    hr_column_values *in = done + t->nodes;
    hr_column_work w = {.memory = memory, .rows = rows};
    for (int i = 0; i < t->nodes; i++) {
        w.node = &t->node[i];
        HR_TRY(run_node(t, &t->node[i], &w, raw, done, in, &done[i], err));
        if (t->node[i].output >= 0) result[t->node[i].output] = done[i];
    }
    return HR_OK;
}

size_t hr__transform_scratch(const hr__transformer *t, int64_t rows, const hr_column_values *raw)
{
    size_t bytes = ((size_t)t->nodes + (size_t)t->max_inputs + 1) * sizeof(hr_column_values) + 64;
    for (int i = 0; i < t->nodes; i++) {
        const node *n = &t->node[i];
        bytes += ((size_t)rows + 1) * sizeof(int32_t) + 128;
        for (int k = 0; k < n->raws; k++) bytes += ((size_t)raw[t->input[n->input + k]].count + 16) * sizeof(int64_t);
    }
    return bytes;
}
