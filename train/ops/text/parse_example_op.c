/* ParseExample, ParseExampleV2 and ParseSingleExample: serialized tf.Examples to tensors, by the parser of pipelines.
 * What is not plain, or damaged, is a pipeline of one element: a batch of records, or one record. */
#include "train/ops/text/parse_records.h"
#include <headrace/column_kernels.h>
#include <headrace/data.h>
#include <headrace/kernels.h>
#include <headrace/text_ops.h>
#include <stdio.h>

/* The outputs are, of each sparse feature, all indices, all values, all shapes; then the dense ones; of the ragged ones
 * all values and all splits. */
typedef struct parse_sets {
    int sparse, dense, ragged;
    const hr_dtype *sparse_types, *dense_types, *ragged_types;
    const hr_shape *dense_shapes;
} parse_sets;

static const hr_dtype *parse_types(hr_node node, const char *name, int *count)
{
    const hr_attr *a = hr_node_attr(node, name);
    *count = a ? a->count : 0;
    return a ? a->types : NULL;
}

static hr_status parse_read(hr_node node, parse_sets *s, hr_error *err)
{
    const hr_attr *shapes = hr_node_attr(node, "dense_shapes");
    const char *sparse = hr_node_attr(node, "Nsparse") ? "Nsparse" : "num_sparse";
    int splits;
    parse_types(node, "ragged_split_types", &splits);
    s->sparse_types = parse_types(node, "sparse_types", &s->sparse);
    s->dense_types = parse_types(node, "Tdense", &s->dense);
    s->ragged_types = parse_types(node, "ragged_value_types", &s->ragged);
    s->dense_shapes = shapes->shapes;
    if (shapes->count != s->dense || hr_attr_int(node, sparse) != s->sparse || splits != s->ragged)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.attr",
                       "expected %d dense_shapes, %s = %d, %d ragged_split_types", s->dense, sparse, s->sparse,
                       s->ragged);
    for (int i = 0; i < s->dense; i++)
        for (int d = 0; d < (s->dense_shapes[i].rank < 0 ? 1 : s->dense_shapes[i].rank); d++)
            if (s->dense_shapes[i].rank < 0 || s->dense_shapes[i].rank >= HR_MAX_RANK ||
                (s->dense_shapes[i].dims[d] < 0 && d > 0))
                return hr_fail(err, HR_INVALID_ARGUMENT, "graph.attr",
                               "expected dense_shapes that are known but for their first dimension");
    return HR_OK;
}

/* `values` after what the serialized input is shaped as. */
static hr_shape parse_rows_of(hr_shape in, hr_shape values)
{
    hr_shape out = {in.rank + values.rank, {in.rank ? in.dims[0] : 0}};
    for (int d = 0; d < values.rank; d++) out.dims[in.rank + d] = values.dims[d];
    return out;
}

static hr_status parse_shape(hr_infer *s, hr_error *err)
{
    const hr_shape in = s->input[0];
    parse_sets p;
    HR_TRY(parse_read(s->node, &p, err));
    if (in.rank > 1) return hr_infer_refuse(s, err, "a scalar or a vector of serialized Examples");
    for (int i = 0; i < p.sparse; i++) {
        if (in.rank >= 0) s->output[i] = HR_SHAPE(-1, in.rank + 1);
        s->output[p.sparse + i] = HR_SHAPE(-1);
        if (in.rank >= 0) s->output[2 * p.sparse + i] = HR_SHAPE(in.rank + 1);
    }
    for (int i = 0; in.rank >= 0 && i < p.dense; i++)
        s->output[3 * p.sparse + i] = parse_rows_of(in, p.dense_shapes[i]);
    for (int i = 0; i < p.ragged; i++) {
        hr_shape *values = &s->output[3 * p.sparse + p.dense + i], *splits = values + p.ragged;
        *values = HR_SHAPE(-1);
        if (in.rank >= 0) *splits = HR_SHAPE(in.rank && in.dims[0] < 0 ? -1 : in.rank ? in.dims[0] + 1 : 0);
    }
    return HR_OK;
}

/* ---- the spec: sparse, dense, ragged features ---- */

enum { PARSE_SPARSE, PARSE_DENSE, PARSE_RAGGED };

/* A node's attributes, and its inputs, those of a run or constants; what is not known is NULL. */
typedef struct parse_told {
    hr_node node;
    const hr_tensor *const *input;
    int inputs;
} parse_told;

/* Key `i` of a set, and how many there are of the set: attributes of ParseSingleExample, inputs of the others, of which
 * ParseExample has a scalar for each key. */
static hr_view parse_key(const parse_told *told, const parse_sets *p, int set, int i, int64_t *count)
{
    const char *op = hr_node_op(told->node);
    const hr_attr *attr = hr_node_attr(told->node, set == PARSE_SPARSE ? "sparse_keys" : "dense_keys");
    const bool by_attr = strcmp(op, "ParseSingleExample") == 0, by_vector = strcmp(op, "ParseExampleV2") == 0;
    const hr_tensor *in = by_attr ? NULL : told->input[by_vector ? 2 + set : 2 + i + (set ? p->sparse : 0)];
    *count = by_attr ? attr->count : by_vector ? in->count : i + (in->count == 1);
    return *count <= i ? hr_text_view("") : by_attr ? attr->strings[i] : ((const hr_view *)in->data)[by_vector ? i : 0];
}

static hr_status parse_default(const hr_tensor *value, hr_feature *f, hr_error *err)
{
    hr_shape merged;
    if (f->shape.rank > 0 && f->shape.dims[0] < 0) {
        f->kind = HR_FIXED_LEN_SEQUENCE;
        f->shape.rank--;
        memmove(f->shape.dims, f->shape.dims + 1, sizeof *f->shape.dims * (size_t)f->shape.rank);
        if (value->count != 1)
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                           "expected a default of one value for the feature '%s' of any length, got %lld", f->key,
                           (long long)value->count);
    } else if (value->count && !hr_shape_merge(value->shape, f->shape, &merged)) {
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected a default of the shape of the feature '%s'",
                       f->key);
    }
    if (value->count) f->default_value = value;
    return HR_OK;
}

/* The features of all sets, with their names and keys in the same memory. */
static hr_status parse_features(const parse_told *told, const parse_sets *p, hr_feature *f, char (*names)[16],
                                char *key, hr_error *err)
{
    const int counts[] = {p->sparse, p->dense, p->ragged};
    const hr_dtype *types[] = {p->sparse_types, p->dense_types, p->ragged_types};
    int64_t found = 0;
    for (int set = 0, n = 0; set < 3; set++) {
        for (int i = 0; i < counts[set]; i++, n++, f++) {
            const hr_view from = parse_key(told, p, set, i, &found);
            if (set != PARSE_DENSE && found < counts[set]) break;
            snprintf(names[n], sizeof *names, "%d", n);
            *f = (hr_feature){.key = key, .name = names[n], .dtype = types[set][i], .kind = HR_VAR_LEN};
            if (from.size) memcpy(key, from.data, (size_t)from.size);
            key[from.size] = '\0';
            key += from.size + 1;
            if (set == PARSE_RAGGED) f->kind = HR_RAGGED_FEATURE;
            if (set != PARSE_DENSE) continue;
            f->kind = HR_FIXED_LEN;
            f->shape = p->dense_shapes[i];
            HR_TRY(parse_default(told->input[told->inputs - p->dense + i], f, err));
        }
        if (counts[set] && found != counts[set])
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected %d keys, got %lld", counts[set],
                           (long long)found);
    }
    return HR_OK;
}

/* Components are called by number, so that one key may be asked for twice. Gives *out; defaults are borrowed. */
static hr_status parse_spec(const parse_told *told, const parse_sets *p, hr_feature **out, hr_error *err)
{
    const int counts[] = {p->sparse, p->dense, p->ragged}, all = p->sparse + p->dense + p->ragged;
    const size_t count = (size_t)all + 1;
    size_t bytes = 1;
    int64_t found;
    for (int set = 0; set < 3; set++)
        for (int i = 0; i < counts[set]; i++) bytes += (size_t)parse_key(told, p, set, i, &found).size + 1;
    hr_feature *f = *out = hr_malloc(count * sizeof *f + count * 16 + bytes);
    if (!f) return hr_no_memory(err, "a parsing spec");
    char(*names)[16] = (char(*)[16])(void *)(f + count);
    const hr_status st = parse_features(told, p, f, names, names[count], err);
    if (st != HR_OK) hr_free(f);
    if (st != HR_OK) *out = NULL;
    return st;
}

/* ---- a spec that constants tell is made once ---- */

typedef struct parse_state {
    hr_feature *feature; /* NULL: each run makes its own */
    hr__record_parser *parser;
    const hr_tensor **input; /* the constants; of the records and names NULL */
} parse_state;

static void parse_release(void *state)
{
    parse_state *st = state;
    hr__record_parser_free(st->parser);
    hr_free(st->feature);
    hr_free(st->input);
}

/* What is wrong with the node, a run tells. */
static hr_status parse_prepare(hr_node node, hr_session *session, void *state, hr_error *err)
{
    enum { FIRST = 2 }; /* before it: the records, and names or nothing */
    parse_state *st = state;
    parse_sets p;
    const int inputs = hr_node_inputs(node), first = strcmp(hr_node_op(node), "ParseSingleExample") == 0 ? 1 : FIRST;
    (void)session;
    if (parse_read(node, &p, NULL) != HR_OK || p.ragged > 0) return HR_OK;
    st->input = hr_calloc((size_t)inputs + 1, sizeof *st->input);
    if (!st->input) return hr_no_memory(err, "a parsing spec");
    for (int i = first; i < inputs; i++)
        if (!(st->input[i] = hr_node_constant(hr_node_input(node, i)))) return HR_OK;
    const parse_told told = {node, st->input, inputs};
    if (parse_spec(&told, &p, &st->feature, NULL) == HR_OK)
        st->parser = hr__record_parser_new(st->feature, p.sparse, p.dense);
    return HR_OK;
}

static bool parse_same(const hr_tensor *a, const hr_tensor *b)
{
    if (a->data == b->data && a->count == b->count) return true;
    if (a->dtype != b->dtype || !hr_shape_equal(a->shape, b->shape)) return false;
    const hr_view *x = a->data, *y = b->data;
    if (a->dtype != HR_STRING)
        return a->count == 0 || memcmp(a->data, b->data, (size_t)a->count * hr_dtype_size(a->dtype)) == 0;
    for (int64_t i = 0; i < a->count; i++)
        if (x[i].size != y[i].size || (x[i].size && memcmp(x[i].data, y[i].data, (size_t)x[i].size) != 0)) return false;
    return true;
}

/* Another value may be fed in the place of a constant. */
static bool parse_is_prepared(const hr_kernel *k, const parse_state *st)
{
    if (!st->parser) return false;
    for (int i = 0; i < k->inputs; i++)
        if (st->input[i] && !parse_same(k->input[i], st->input[i])) return false;
    return true;
}

/* ---- outputs ---- */

static hr_status parse_ragged(hr_kernel *k, int i, const hr_tensor *t, hr_error *err)
{
    const int64_t count = k->input[0]->shape.rank ? k->input[0]->count + 1 : 0;
    hr_tensor *splits;
    HR_TRY(hr_kernel_output(k, i, HR_SHAPE(count), &splits, err));
    for (int64_t row = 0; row < count; row++)
        HR_TRY(hr_put_int(splits, row, t && t->splits[0] ? t->splits[0][row] : 0, err));
    return HR_OK;
}

/* Of component `e`, NULL if there are no records. */
static hr_status parse_outputs(hr_kernel *k, const parse_sets *p, const hr_element *e, hr_error *err)
{
    const hr_shape in = k->input[0]->shape;
    for (int n = 0; n < p->sparse + p->dense + p->ragged; n++) {
        const hr_tensor *t = e ? hr_get_at(e, n) : NULL;
        const void *data = t ? t->data : NULL;
        const hr_shape values = HR_SHAPE(t ? t->count : 0);
        const int dense = n - p->sparse, ragged = dense - p->dense;
        if (n < p->sparse) {
            const hr_shape shape = t ? t->shape : HR_SHAPE(0, 0);
            HR_TRY(hr_kernel_copy(k, n, HR_SHAPE(values.dims[0], in.rank + 1), t ? t->indices : NULL, err));
            HR_TRY(hr_kernel_copy(k, p->sparse + n, values, data, err));
            HR_TRY(hr_kernel_copy(k, 2 * p->sparse + n, HR_SHAPE(in.rank + 1), shape.dims, err));
        } else if (ragged < 0) {
            hr_shape shape = parse_rows_of(in, p->dense_shapes[dense]);
            for (int d = 0; d < shape.rank; d++)
                if (shape.dims[d] < 0) shape.dims[d] = 0;
            HR_TRY(hr_kernel_copy(k, 2 * p->sparse + n, t ? t->shape : shape, data, err));
        } else {
            HR_TRY(hr_kernel_copy(k, 2 * p->sparse + n, values, data, err));
            HR_TRY(parse_ragged(k, 2 * p->sparse + p->ragged + n, t, err));
        }
    }
    return HR_OK;
}

/* A pipeline of one element: a batch of records, or one record. */
static hr_status parse_by_pipeline(hr_kernel *k, const parse_sets *p, const hr_feature *feature, hr_error *err)
{
    const hr_tensor *records = k->input[0];
    hr_dataset *ds = records->shape.rank ? hr_batch(hr_from_tensor_slices(records, NULL, 1), records->count)
                                         : hr_from_tensors(records, NULL, 1);
    const hr_parse_spec spec = {feature, p->sparse + p->dense + p->ragged};
    ds = hr_parse_example(ds, &spec, .tf_compat = true);
    hr_iterator *it = hr_iterate(ds, .workers = &(int){0}, .seed = 1);
    const hr_element *e;
    hr_status st = hr_next(it, &e);
    /* The records before one that fails are a batch, too; the error comes after it. */
    if (st == HR_OK && records->shape.rank && hr_get_at(e, 0)->shape.dims[0] < records->count) st = hr_next(it, &e);
    if (st == HR_OK)
        st = parse_outputs(k, p, e, err);
    else if (err)
        *err = *hr_iterator_error(it);
    hr_iterator_free(it);
    return st;
}

static hr_status parse_compute(hr_kernel *k, hr_error *err)
{
    const hr_tensor *records = k->input[0];
    const parse_state *st = k->state;
    const bool prepared = parse_is_prepared(k, st);
    const parse_told told = {k->node, k->input, k->inputs};
    parse_sets p;
    hr_feature *own = NULL;
    if (prepared && hr__parse_records(k, st->parser)) return HR_OK;
    HR_TRY(parse_read(k->node, &p, err));
    if (records->shape.rank > 1)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected a scalar or a vector of serialized Examples");
    if (!prepared) HR_TRY(parse_spec(&told, &p, &own, err));
    const hr_feature *feature = prepared ? st->feature : own;
    hr_status done;
    if (records->count == 0 || p.sparse + p.dense + p.ragged == 0) {
        done = parse_outputs(k, &p, NULL, err);
    } else {
        hr__record_parser *parser = prepared || p.ragged > 0 ? NULL : hr__record_parser_new(feature, p.sparse, p.dense);
        const bool parsed = parser && hr__parse_records(k, parser);
        done = parsed ? HR_OK : parse_by_pipeline(k, &p, feature, err);
        hr__record_parser_free(parser);
    }
    hr_free(own);
    return done;
}

#define PARSE(NAME)                                                                                                    \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = (NAME), .traits = HR_NO_GRADIENT, .shape = parse_shape,                      \
        .state_size = sizeof(parse_state), .prepare = parse_prepare, .release = parse_release,                         \
        .compute = parse_compute,                                                                                      \
    }

const hr_graph_op hr_graph_ops_parse_example_op[] = {
    PARSE("ParseExample"),
    PARSE("ParseExampleV2"),
    PARSE("ParseSingleExample"),
    HR_GRAPH_OPS_END,
};

/* ---- the constructor ---- */

/* What ParseExampleV2 is told of the features of a spec, of each set in their order. */
typedef struct parse_call {
    int count[3];
    hr_view *key[3];
    hr_dtype *type[3], *splits;
    hr_shape *shape;
    hr_node *input;
} parse_call;

static void parse_call_end(parse_call *p)
{
    for (int set = 0; set < 3; set++) {
        hr_free(p->key[set]);
        hr_free(p->type[set]);
    }
    hr_free(p->splits);
    hr_free(p->shape);
    hr_free(p->input);
}

static bool parse_call_begin(parse_call *p, int features)
{
    const size_t n = (size_t)features + 1;
    *p = (parse_call){.splits = hr_calloc(n, sizeof *p->splits),
                      .shape = hr_calloc(n, sizeof *p->shape),
                      .input = hr_calloc(n + 5, sizeof *p->input)};
    bool whole = p->splits && p->shape && p->input;
    for (int set = 0; set < 3; set++) {
        p->key[set] = hr_calloc(n, sizeof *p->key[set]);
        p->type[set] = hr_calloc(n, sizeof *p->type[set]);
        whole = whole && p->key[set] && p->type[set];
    }
    for (int i = 0; whole && i < features; i++) p->splits[i] = HR_INT32;
    return whole;
}

static hr_dtype parse_type_in_file(hr_dtype dtype)
{
    if (dtype == HR_STRING) return HR_STRING;
    return dtype == HR_BOOL || hr_dtype_is_integer(dtype) ? HR_INT64 : HR_FLOAT;
}

static hr_node parse_const(hr_graph *g, hr_dtype dtype, hr_shape shape, const void *data)
{
    static const hr_view nothing; /* as a number: 0 */
    const hr_tensor value = hr_tensor_of(dtype, shape, data ? data : &nothing);
    return hr_const(g, &value);
}

/* The set of a feature; -1: it is refused. */
static int parse_set_of(hr_graph *g, const hr_feature *f)
{
    const bool dense = f->kind == HR_FIXED_LEN || f->kind == HR_FIXED_LEN_SEQUENCE;
    if (f->key && dense && f->shape.rank >= 0 && f->shape.rank < HR_MAX_RANK - 1) return PARSE_DENSE;
    if (f->key && f->kind == HR_VAR_LEN) return PARSE_SPARSE;
    if (f->key && f->kind == HR_RAGGED_FEATURE && f->partition_count == 0) return PARSE_RAGGED;
    hr_node_fail(
        g, HR_INVALID_ARGUMENT, "text.feature",
        "parse_example: feature '%.60s': expected a key, and a fixed or a variable length, or a ragged feature "
        "without partitions, got another",
        f->key ? f->key : "");
    return -1;
}

static bool parse_call_add(parse_call *p, hr_graph *g, const hr_feature *f)
{
    const int set = parse_set_of(g, f);
    if (set < 0) return false;
    const int at = p->count[set]++;
    const hr_dtype type = p->type[set][at] = parse_type_in_file(f->dtype);
    p->key[set][at] = hr_text_view(f->key);
    if (set != PARSE_DENSE) return true;
    hr_shape *shape = &p->shape[at];
    const bool sequence = f->kind == HR_FIXED_LEN_SEQUENCE;
    if (sequence) shape->dims[shape->rank++] = -1;
    for (int d = 0; d < f->shape.rank; d++) shape->dims[shape->rank++] = f->shape.dims[d];
    p->input[5 + at] = f->default_value ? hr_cast_to(hr_const(g, f->default_value), type)
                                        : parse_const(g, type, sequence ? HR_SCALAR : HR_SHAPE(0), NULL);
    return true;
}

static hr_node parse_call_node(parse_call *p, hr_node serialized)
{
    p->input[0] = serialized;
    p->input[1] = parse_const(serialized.graph, HR_STRING, HR_SHAPE(0), NULL); /* no names */
    for (int set = 0; set < 3; set++)
        p->input[2 + set] =
            parse_const(serialized.graph, HR_STRING, HR_SHAPE(p->count[set]), p->count[set] ? p->key[set] : NULL);
    const hr_attr shapes = {
        .name = "dense_shapes", .kind = HR_ATTR_SHAPES, .count = p->count[PARSE_DENSE], .shapes = p->shape};
    return hr_new_node(serialized.graph, "ParseExampleV2", .name = "ParseExample", .inputs = p->input,
                       .input_count = 5 + p->count[PARSE_DENSE],
                       HR_ATTRS(HR_INT_ATTR("num_sparse", p->count[PARSE_SPARSE]),
                                HR_TYPES_ATTR("sparse_types", p->type[PARSE_SPARSE], p->count[PARSE_SPARSE]),
                                HR_TYPES_ATTR("Tdense", p->type[PARSE_DENSE], p->count[PARSE_DENSE]),
                                HR_TYPES_ATTR("ragged_value_types", p->type[PARSE_RAGGED], p->count[PARSE_RAGGED]),
                                HR_TYPES_ATTR("ragged_split_types", p->splits, p->count[PARSE_RAGGED]), shapes));
}

/* The nodes of number `at` of its set. */
static hr_parsed_feature parse_nodes_of(const parse_call *p, hr_node parsed, int set, int at, hr_dtype dtype)
{
    const int sparse = p->count[PARSE_SPARSE], ragged = p->count[PARSE_RAGGED];
    const int values = set == PARSE_SPARSE  ? sparse + at
                       : set == PARSE_DENSE ? 3 * sparse + at
                                            : 3 * sparse + p->count[PARSE_DENSE] + at;
    hr_parsed_feature out = {.values = hr_cast_to(hr_node_output(parsed, values), dtype)};
    if (set == PARSE_RAGGED) out.row_splits = hr_node_output(parsed, values + ragged);
    if (set != PARSE_SPARSE) return out;
    out.indices = hr_node_output(parsed, at);
    out.dense_shape = hr_node_output(parsed, 2 * sparse + at);
    return out;
}

void hr_parse_example_nodes(hr_node serialized, const hr_parse_spec *spec, hr_parsed_feature *out)
{
    parse_call p;
    hr_graph *g = serialized.graph;
    const int features = spec && out ? spec->features : 0;
    const hr_node none = hr_node_exists(serialized) ? hr_failed_node(g) : serialized;
    for (int i = 0; i < features; i++) out[i] = (hr_parsed_feature){.values = none};
    if (!hr_node_exists(serialized)) return;
    bool made = parse_call_begin(&p, features);
    if (!made) hr_node_fail(g, HR_RESOURCE_EXHAUSTED, "memory", "no memory for a parsing spec");
    for (int i = 0; i < features && made; i++) made = parse_call_add(&p, g, &spec->feature[i]);
    const hr_node parsed = made ? parse_call_node(&p, serialized) : none;
    for (int i = 0, at[3] = {0}; i < features && hr_node_exists(parsed); i++) {
        const int set = parse_set_of(g, &spec->feature[i]);
        out[i] = parse_nodes_of(&p, parsed, set, at[set]++, spec->feature[i].dtype);
    }
    parse_call_end(&p);
}
