/* ParseSequenceExample and ParseSequenceExampleV2: serialized tf.SequenceExamples to tensors, by the parser of pipelines,
 * as a pipeline of one element. */
#include <headrace/data.h>
#include <headrace/kernels.h>
#include <stdio.h>

/* The sets of features, in the order of the outputs, which are, of each set, all of its first outputs, then all of its
 * second ones, and so on. Keys are attributes, or from version 2 on inputs. */
enum { SETS = 6, CONTEXT_DENSE = 1, LIST_DENSE = 4, LIST_RAGGED = 5, FIRST_LIST = 3 };
static const struct {
    const char *keys, *types;
    int keys_input, outputs;
    hr_feature_kind kind;
} sets[SETS] = {
    {"context_sparse_keys", "context_sparse_types", 2, 3, HR_VAR_LEN},
    {"context_dense_keys", "Tcontext_dense", 3, 1, HR_FIXED_LEN},
    {NULL, "context_ragged_value_types", 4, 2, HR_RAGGED_FEATURE},
    {"feature_list_sparse_keys", "feature_list_sparse_types", 5, 3, HR_VAR_LEN},
    {"feature_list_dense_keys", "feature_list_dense_types", 6, 2, HR_FIXED_LEN_SEQUENCE},
    {NULL, "feature_list_ragged_value_types", 7, 3, HR_RAGGED_FEATURE},
};

typedef struct sequence {
    bool by_input;
    int count[SETS], features;
    const hr_dtype *types[SETS];
    const hr_shape *context_shapes, *list_shapes;
} sequence;

static hr_status expect_count(hr_node node, const char *attr, int64_t count, hr_error *err)
{
    const hr_attr *a = hr_node_attr(node, attr);
    const int64_t found = !a ? count : a->kind == HR_ATTR_INT ? a->i : a->count;
    if (found == count) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "graph.attr", "expected %lld %s, got %lld", (long long)count, attr,
                   (long long)found);
}

static hr_status sequence_read(hr_node node, sequence *s, hr_error *err)
{
    *s = (sequence){.by_input = hr_node_is(node, "ParseSequenceExampleV2")};
    for (int i = 0; i < SETS; i++) {
        const hr_attr *types = hr_node_attr(node, sets[i].types);
        s->count[i] = types ? types->count : 0;
        s->types[i] = types ? types->types : NULL;
        s->features += s->count[i];
        if (!s->by_input && sets[i].keys) HR_TRY(expect_count(node, sets[i].keys, s->count[i], err));
    }
    HR_TRY(expect_count(node, "Ncontext_sparse", s->count[0], err));
    HR_TRY(expect_count(node, "Ncontext_dense", s->count[1], err));
    HR_TRY(expect_count(node, "context_dense_shapes", s->count[1], err));
    HR_TRY(expect_count(node, "context_ragged_split_types", s->count[2], err));
    HR_TRY(expect_count(node, "Nfeature_list_sparse", s->count[3], err));
    HR_TRY(expect_count(node, "Nfeature_list_dense", s->count[4], err));
    HR_TRY(expect_count(node, "feature_list_dense_shapes", s->count[4], err));
    HR_TRY(expect_count(node, "feature_list_ragged_split_types", s->count[5], err));
    s->context_shapes = hr_node_attr(node, "context_dense_shapes")->shapes;
    s->list_shapes = hr_node_attr(node, "feature_list_dense_shapes")->shapes;
    for (int i = 0; i < s->count[CONTEXT_DENSE] + s->count[LIST_DENSE]; i++) {
        const hr_shape shape =
            i < s->count[CONTEXT_DENSE] ? s->context_shapes[i] : s->list_shapes[i - s->count[CONTEXT_DENSE]];
        if (hr_shape_count(shape) < 0 || shape.rank > HR_MAX_RANK - 2)
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.attr",
                           "expected shapes of dense features that are known, of rank %d or less", HR_MAX_RANK - 2);
    }
    return HR_OK;
}

static hr_status sequence_shape(hr_infer *s, hr_error *err)
{
    sequence q;
    HR_TRY(sequence_read(s->node, &q, err));
    if (s->input[0].rank > 1) return hr_infer_refuse(s, err, "a scalar or a vector of serialized SequenceExamples");
    return HR_OK;
}

/* ---- the specs ---- */

static hr_status sequence_key(hr_kernel *k, const sequence *q, int set, int i, hr_view *out, hr_error *err)
{
    if (!q->by_input) {
        *out = hr_node_attr(k->node, sets[set].keys)->strings[i];
        return HR_OK;
    }
    const hr_tensor *keys = k->input[sets[set].keys_input];
    if (keys->shape.rank != 1 || keys->count != q->count[set])
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected a vector of %d keys, got %lld", q->count[set],
                       (long long)keys->count);
    *out = ((const hr_view *)keys->data)[i];
    return HR_OK;
}

/* Whether a record may lack a dense list: named by an attribute, or told by an input. */
static hr_status sequence_may_lack(hr_kernel *k, const sequence *q, int i, hr_view key, bool *may, hr_error *err)
{
    if (q->by_input) {
        const hr_tensor *flags = k->input[8];
        if (flags->shape.rank != 1 || flags->count != q->count[LIST_DENSE])
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                           "expected feature_list_dense_missing_assumed_empty for %d lists, got %lld",
                           q->count[LIST_DENSE], (long long)flags->count);
        *may = ((const bool *)flags->data)[i];
        return HR_OK;
    }
    const hr_attr *names = hr_node_attr(k->node, "feature_list_dense_missing_assumed_empty");
    *may = false;
    for (int n = 0; n < names->count; n++)
        *may |= names->strings[n].size == key.size && memcmp(names->strings[n].data, key.data, (size_t)key.size) == 0;
    return HR_OK;
}

static hr_status sequence_feature(hr_kernel *k, const sequence *q, int set, int i, char *name, hr_feature *f,
                                  hr_error *err)
{
    hr_view from;
    bool may_lack = false;
    HR_TRY(sequence_key(k, q, set, i, &from, err));
    char *key;
    HR_TRY(hr_kernel_text(k, from, &key, err));
    *f = (hr_feature){.key = key, .name = name, .kind = sets[set].kind, .dtype = q->types[set][i]};
    if (set == LIST_DENSE) {
        f->shape = q->list_shapes[i];
        HR_TRY(sequence_may_lack(k, q, i, from, &may_lack, err));
        f->required = !may_lack;
    }
    if (set != CONTEXT_DENSE) return HR_OK;
    const hr_tensor *value = k->input[(q->by_input ? 9 : 2) + i];
    f->shape = q->context_shapes[i];
    if (value->count == 0) return HR_OK;
    f->default_value = value;
    if (hr_shape_equal(value->shape, f->shape)) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected a default of the shape of the feature '%.100s'",
                   key);
}

/* All features; those of the context come first. */
static hr_status sequence_spec(hr_kernel *k, const sequence *q, hr_feature *f, hr_error *err)
{
    char(*names)[16] = hr_kernel_temp(k, sizeof *names * (size_t)(q->features + 1));
    if (!names) return hr_no_memory(err, "a parsing spec");
    for (int set = 0, n = 0; set < SETS; set++)
        for (int i = 0; i < q->count[set]; i++, n++) {
            snprintf(names[n], sizeof *names, "%d", n);
            HR_TRY(sequence_feature(k, q, set, i, names[n], &f[n], err));
        }
    return HR_OK;
}

/* ---- outputs ---- */

/* Splits of one level, `count` of them; NULL: zeros. Of a single record the outer ones are a scalar. */
static hr_status give_splits(hr_kernel *k, int output, bool scalar, const int32_t *splits, int64_t count, hr_error *err)
{
    hr_tensor *out;
    HR_TRY(hr_kernel_output(k, output, scalar ? HR_SCALAR : HR_SHAPE(count), &out, err));
    for (int64_t i = 0; i < out->count; i++) HR_TRY(hr_put_int(out, i, splits && !scalar ? splits[i] : 0, err));
    return HR_OK;
}

/* The outputs of a feature, which are `n` apart. */
static hr_status give_feature(hr_kernel *k, int set, const hr_tensor *t, const hr_tensor *lengths, int output, int n,
                              hr_error *err)
{
    const bool scalar = k->input[0]->shape.rank == 0;
    const int64_t rows = k->input[0]->count;
    const hr_shape values = HR_SHAPE(t->count);
    if (sets[set].kind == HR_VAR_LEN) {
        HR_TRY(hr_kernel_copy(k, output, HR_SHAPE(t->count, t->shape.rank), t->indices, err));
        HR_TRY(hr_kernel_copy(k, output + n, values, t->data, err));
        return hr_kernel_copy(k, output + 2 * n, HR_SHAPE(t->shape.rank), t->shape.dims, err);
    }
    if (sets[set].kind != HR_RAGGED_FEATURE) {
        HR_TRY(hr_kernel_copy(k, output, t->shape, t->data, err));
        return lengths ? hr_kernel_copy(k, output + n, lengths->shape, lengths->data, err) : HR_OK;
    }
    HR_TRY(hr_kernel_copy(k, output, values, t->data, err));
    const int32_t *outer = scalar ? NULL : t->splits[0], *inner = scalar ? t->splits[0] : t->splits[1];
    HR_TRY(give_splits(k, output + n, scalar, outer, rows + 1, err));
    if (set != LIST_RAGGED) return HR_OK;
    const int64_t steps = scalar ? t->shape.dims[0] : outer ? outer[rows] : 0;
    return give_splits(k, output + 2 * n, false, inner, steps + 1, err);
}

static hr_status sequence_outputs(hr_kernel *k, const sequence *q, const hr_element *e, hr_error *err)
{
    for (int set = 0, n = 0, output = 0; set < SETS; output += q->count[set] * sets[set].outputs, set++)
        for (int i = 0; i < q->count[set]; i++, n++) {
            const hr_tensor *lengths = set == LIST_DENSE ? hr_get_at(e, q->features + i) : NULL;
            HR_TRY(give_feature(k, set, hr_get_at(e, n), lengths, output + i, q->count[set], err));
        }
    return HR_OK;
}

static hr_status sequence_compute(hr_kernel *k, hr_error *err)
{
    const hr_tensor *records = k->input[0];
    sequence q;
    HR_TRY(sequence_read(k->node, &q, err));
    if (records->shape.rank > 1 || records->count == 0)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                       "expected a serialized SequenceExample, or a vector of some");
    hr_feature *feature;
    HR_TRY(hr_kernel_array(k, q.features + 1, sizeof *feature, "a parsing spec", &feature, err));
    HR_TRY(sequence_spec(k, &q, feature, err));
    if (q.features == 0) return HR_OK;
    const int of_context = q.count[0] + q.count[1] + q.count[2];
    const hr_parse_spec context = {feature, of_context}, lists = {feature + of_context, q.features - of_context};

    hr_dataset *ds = records->shape.rank ? hr_batch(hr_from_tensor_slices(records, NULL, 1), records->count)
                                         : hr_from_tensors(records, NULL, 1);
    ds = hr_parse_sequence_example(ds, &context, &lists, .tf_compat = true);
    hr_iterator *it = hr_iterate(ds, .workers = &(int){0}, .seed = 1);
    const hr_element *e;
    hr_status st = hr_next(it, &e);
    /* The records before one that fails are a batch, too; the error comes after it. */
    if (st == HR_OK && records->shape.rank && hr_get_at(e, 0)->shape.dims[0] < records->count) st = hr_next(it, &e);
    if (st == HR_OK)
        st = sequence_outputs(k, &q, e, err);
    else if (err)
        *err = *hr_iterator_error(it);
    hr_iterator_free(it);
    return st;
}

#define SEQUENCE_OP(NAME)                                                                                              \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = (NAME), .traits = HR_NO_GRADIENT, .shape = sequence_shape,                   \
        .compute = sequence_compute,                                                                                   \
    }

const hr_graph_op hr_graph_ops_parse_sequence_op[] = {
    SEQUENCE_OP("ParseSequenceExample"),
    SEQUENCE_OP("ParseSequenceExampleV2"),
    HR_GRAPH_OPS_END,
};
