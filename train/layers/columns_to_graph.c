/* Columns in a graph: what their kinds ask for is made by the constructors of nodes. */
#include "train/layers/layers_internal.h"

#include <headrace/tables.h>
#include <string.h>

static hr_attr attr_of(const hr_column_attr *a)
{
    switch (a->kind) {
    case HR_COLUMN_BOOL:
        return HR_BOOL_ATTR(a->name, a->i != 0);
    case HR_COLUMN_TYPE:
        return HR_TYPE_ATTR(a->name, a->type);
    case HR_COLUMN_TYPES:
        return HR_TYPES_ATTR(a->name, a->list, a->count);
    case HR_COLUMN_FLOATS:
        return (hr_attr){.name = a->name, .kind = HR_ATTR_FLOATS, .count = a->count, .floats = a->list};
    default:
        return HR_INT_ATTR(a->name, a->i);
    }
}

static hr_column_node column_op(void *user, const char *op, const hr_column_node *input, int inputs,
                                const hr_column_attr *attr, int attrs)
{
    hr_graph *g = user;
    hr_node *from = hr_calloc((size_t)inputs + 1, sizeof *from);
    hr_attr *given = hr_calloc((size_t)attrs + 1, sizeof *given);
    hr_node made;
    for (int i = 0; from && i < inputs; i++) from[i] = hr__from_column(input[i]);
    for (int i = 0; given && i < attrs; i++) given[i] = attr_of(&attr[i]);
    if (from && given)
        made = hr_new_node(g, op, .inputs = from, .input_count = inputs, .attrs = given, .attr_count = attrs);
    else
        made = hr_node_fail(g, HR_RESOURCE_EXHAUSTED, "memory", "no memory for a column in a graph");
    hr_free(from);
    hr_free(given);
    return hr__to_column(made);
}

static hr_column_node column_constant(void *user, const hr_tensor *value)
{
    return hr__to_column(hr_const((hr_graph *)user, value));
}

hr_node hr__checked(hr_node value, hr_node condition, const char *message)
{
    hr_graph *g = value.graph;
    const hr_view view = hr_text_view(message);
    const hr_tensor text = hr_tensor_of(HR_STRING, HR_SCALAR, &view);
    const hr_node all = hr_reduce_all(condition), said = hr_const(g, &text);
    const hr_node check = hr_new_node(g, "Assert", HR_INPUTS(all, said));
    return hr_new_node(g, "Identity", HR_INPUTS(value), .controls = &check, .control_count = 1);
}

static hr_column_node column_checked(void *user, hr_column_node value, hr_column_node condition, const char *message)
{
    (void)user;
    return hr__to_column(hr__checked(hr__from_column(value), hr__from_column(condition), message));
}

/* ---- vocabularies ---- */

/* The words as a constant. */
static hr_node words_const(hr_graph *g, const hr_words *words, bool integers, hr_error *err)
{
    hr_tensor value;
    const int64_t count = hr_words_size(words);
    if (hr_tensor_new(&value, integers ? HR_INT64 : HR_STRING, HR_SHAPE(count), err) != HR_OK)
        return hr_node_fail(g, err->code, err->kind, "%s", err->text);
    for (int64_t i = 0; i < count; i++) {
        const hr_view word = hr_words_at(words, i);
        if (integers)
            memcpy((int64_t *)value.data + i, word.data, sizeof(int64_t));
        else
            ((hr_view *)value.data)[i] = word;
    }
    const hr_node made = hr_const(g, &value);
    hr_tensor_clear(&value);
    return made;
}

static hr_table words_table(hr_graph *g, const hr_column_vocabulary *v, hr_node default_value)
{
    hr_error err;
    const int64_t count = hr_words_size(v->words);
    if (v->file)
        return hr_table_from_file(g, v->file, v->integers ? HR_INT64 : HR_STRING, HR_WHOLE_LINE, HR_INT64,
                                  HR_LINE_NUMBER, default_value, .vocab_size = count);
    const hr_node words = words_const(g, v->words, v->integers, &err);
    const hr_node ids = hr_new_node(
        g, "Range",
        HR_INPUTS(hr_scalar(g, HR_INT64, 0), hr_scalar(g, HR_INT64, (double)count), hr_scalar(g, HR_INT64, 1)));
    return hr_static_table(words, ids, default_value, NULL);
}

static hr_column_node column_look_up(void *user, hr_column_node keys, const hr_column_vocabulary *v)
{
    hr_graph *g = user;
    const hr_tensor missing = hr_tensor_of(HR_INT64, HR_SCALAR, &v->default_value);
    hr_table table = words_table(g, v, hr_const(g, &missing));
    table.oov_buckets = v->oov_buckets;
    return hr__to_column(hr_table_lookup(table, hr__from_column(keys)));
}

/* ---- all of a list, each different one once ---- */

struct hr__column_maker {
    hr_column_graph graph;
    const hr_parse_spec *spec;
    const hr_column_nodes *raw; /* of each feature of the spec */
    struct made_column {
        const hr_feature_column *column;
        hr_column_nodes nodes;
    } * made;
    int count, capacity;
};

hr__column_maker *hr__column_maker_new(hr_graph *g, const hr_parse_spec *spec, const hr_column_nodes *raw)
{
    hr__column_maker *m = hr_calloc(1, sizeof *m);
    if (!m) return NULL;
    *m = (hr__column_maker){.spec = spec, .raw = raw};
    m->graph = (hr_column_graph){sizeof m->graph, g, column_op, column_constant, column_checked, column_look_up};
    return m;
}

void hr__column_maker_free(hr__column_maker *m)
{
    if (m) hr_free(m->made);
    hr_free(m);
}

static const hr_column_nodes *raw_of(const hr__column_maker *m, const char *key)
{
    for (int i = 0; i < m->spec->features; i++)
        if (strcmp(m->spec->feature[i].key, key) == 0) return &m->raw[i];
    return NULL;
}

/* The raw features, and then the results of the sources. */
static hr_status gather_nodes(hr__column_maker *m, const hr_feature_column *column, hr_column_nodes *in, hr_error *err)
{
    const hr_feature *read;
    const hr_feature_column *source;
    for (int i = 0; (read = hr_feature_column_read(column, i)); i++, in++) {
        const hr_column_nodes *raw = raw_of(m, read->key);
        if (!raw)
            return hr_fail(err, HR_INVALID_ARGUMENT, "column.missing_feature",
                           "features from examples: expected a feature '%s' in the parsing spec, got none", read->key);
        *in = *raw;
    }
    for (int i = 0; (source = hr_feature_column_source(column, i)); i++, in++)
        HR_TRY(hr__column_nodes(m, source, in, err));
    return HR_OK;
}

static hr_status keep_made(hr__column_maker *m, const hr_feature_column *column, const hr_column_nodes *nodes,
                           hr_error *err)
{
    if (m->count == m->capacity) {
        const int capacity = 2 * m->capacity + 16;
        struct made_column *grown = hr_realloc(m->made, (size_t)capacity * sizeof *grown);
        if (!grown) return hr_no_memory(err, "columns in a graph");
        m->made = grown;
        m->capacity = capacity;
    }
    m->made[m->count++] = (struct made_column){column, *nodes};
    return HR_OK;
}

hr_status hr__column_nodes(hr__column_maker *m, const hr_feature_column *column, hr_column_nodes *out, hr_error *err)
{
    for (int i = 0; i < m->count; i++) {
        if (!hr_feature_columns_equal(m->made[i].column, column)) continue;
        *out = m->made[i].nodes;
        return HR_OK;
    }
    int inputs = 0;
    for (int i = 0; hr_feature_column_read(column, i); i++) inputs++;
    for (int i = 0; hr_feature_column_source(column, i); i++) inputs++;
    hr_column_nodes *in = hr_calloc((size_t)inputs + 1, sizeof *in);
    if (!in) return hr_no_memory(err, "columns in a graph");
    *out = (hr_column_nodes){0};
    hr_status st = gather_nodes(m, column, in, err);
    if (st == HR_OK) st = hr_column_to_graph(column, &m->graph, in, out, err);
    hr_free(in);
    HR_TRY(st);
    return keep_made(m, column, out, err);
}
