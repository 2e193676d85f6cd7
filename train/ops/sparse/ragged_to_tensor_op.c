/* RaggedTensorToTensor: rows of any length as rows of one length, filled up with a default, or cut. What rows there are is
 * said level by level, by row splits or by the row of each item. */
#include "train/ops/sparse/ragged.h"

enum { FIRST_INPUTS = 3 }; /* shape, values, default_value */

typedef enum part_kind { FIRST_DIM_SIZE, VALUE_ROWIDS, ROW_SPLITS, NO_PART } part_kind;

static part_kind kind_of(hr_node node, int part)
{
    static const char *const words[] = {"FIRST_DIM_SIZE", "VALUE_ROWIDS", "ROW_SPLITS"};
    const hr_attr *types = hr_node_attr(node, "row_partition_types");
    int kind = FIRST_DIM_SIZE;
    while (kind < NO_PART && (part >= types->count || (size_t)types->strings[part].size != strlen(words[kind]) ||
                              memcmp(types->strings[part].data, words[kind], strlen(words[kind])) != 0))
        kind++;
    return (part_kind)kind;
}

/* The first level is said by splits, or by a size and rows; how many levels there are. */
static hr_status read_kinds(hr_node node, int parts, int *levels, hr_error *err)
{
    const hr_attr *types = hr_node_attr(node, "row_partition_types");
    bool sound = types && types->count == parts && parts > 0;
    *levels = 0;
    for (int i = 0; sound && i < parts; i++) {
        const part_kind kind = kind_of(node, i);
        sound = kind != NO_PART && (kind == FIRST_DIM_SIZE ? i == 0 : i > 0 || kind == ROW_SPLITS);
        *levels += kind != FIRST_DIM_SIZE;
    }
    if (sound) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "graph.attr",
                   "expected a row_partition_type for each of %d tensors, FIRST_DIM_SIZE first or ROW_SPLITS, then "
                   "VALUE_ROWIDS or ROW_SPLITS",
                   parts);
}

/* How rows of items are found: from splits, or as the run of items of that row. */
typedef struct level {
    const hr_tensor *part;
    part_kind kind;
    int64_t rows, items, longest;
} level;

static hr_status read_level(const hr_tensor *part, part_kind kind, int64_t rows, level *out, hr_error *err)
{
    *out = (level){.part = part, .kind = kind, .rows = rows};
    if (kind == ROW_SPLITS) {
        HR_TRY(ragged_check(part, -1, err));
        if (rows >= 0 && part->count - 1 != rows)
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.splits", "Invalid row split size: expected %lld, got %lld",
                           (long long)rows + 1, (long long)part->count);
        out->rows = part->count - 1;
        out->items = hr_int_at(part, out->rows);
        for (int64_t i = 0; i < out->rows; i++)
            if (hr_int_at(part, i + 1) - hr_int_at(part, i) > out->longest)
                out->longest = hr_int_at(part, i + 1) - hr_int_at(part, i);
        return HR_OK;
    }
    HR_TRY(hr_expect_rank("value_rowids", part->shape, 1, err));
    out->items = part->count;
    for (int64_t i = 0, run = 0; i < part->count; i++) {
        const int64_t row = hr_int_at(part, i), before = i ? hr_int_at(part, i - 1) : 0;
        if (row < before || row >= rows)
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.splits",
                           "expected value_rowids that do not fall, in [0, %lld), got %lld after %lld", (long long)rows,
                           (long long)row, (long long)before);
        run = i && row == before ? run + 1 : 1;
        if (run > out->longest) out->longest = run;
    }
    return HR_OK;
}

/* The place of each item of this level among those of the output, -1: it has none; from that of its row. */
static void place_items(const level *l, const int64_t *row_place, int64_t length, int64_t *place)
{
    int64_t row = 0, first = 0;
    for (int64_t i = 0; i < l->items; i++) {
        if (l->kind == ROW_SPLITS) {
            while (hr_int_at(l->part, row + 1) <= i) row++;
            first = hr_int_at(l->part, row);
        } else if (hr_int_at(l->part, i) != row || i == 0) {
            row = hr_int_at(l->part, i);
            first = i;
        }
        place[i] = row_place[row] < 0 || i - first >= length ? -1 : row_place[row] * length + i - first;
    }
}

/* ---- shapes ---- */

/* Dimension d of the output: what is asked for, or else `own`. */
static hr_status output_shape(const hr_tensor *asked, const hr_shape *own, int levels, hr_shape *out, hr_error *err)
{
    const bool any = asked->shape.rank == 0 && hr_int_at(asked, 0) == -1;
    *out = *own;
    if (any) return HR_OK;
    if (asked->shape.rank != 1 || asked->count != own->rank)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                       "expected a shape of %d dimensions, as the ragged tensor has, or -1, got %lld", own->rank,
                       (long long)asked->count);
    for (int d = 0; d < own->rank; d++) {
        const int64_t length = hr_int_at(asked, d);
        if (length < -1 || (length >= 0 && d > levels && length != own->dims[d]))
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected a dimension %d of %lld or -1, got %lld",
                           d, (long long)own->dims[d], (long long)length);
        if (length >= 0) out->dims[d] = length;
    }
    return HR_OK;
}

static hr_status to_tensor_shape(hr_infer *s, hr_error *err)
{
    const hr_shape values = s->input[1];
    hr_shape asked;
    int levels;
    HR_TRY(read_kinds(s->node, s->inputs - FIRST_INPUTS, &levels, err));
    if (values.rank < 0) return HR_OK;
    if (values.rank < 1 || values.rank + levels > HR_MAX_RANK)
        return hr_infer_refuse(s, err, "values of rank 1 or more, and at most 8 dimensions in all");
    s->output[0] = hr_shape_of_rank(values.rank + levels);
    for (int d = 1; d < values.rank; d++) s->output[0].dims[levels + d] = values.dims[d];
    if (!hr_infer_numbers(s, 0, &asked) || asked.rank != values.rank + levels) return HR_OK;
    for (int d = 0; d <= levels; d++)
        if (asked.dims[d] >= 0) s->output[0].dims[d] = asked.dims[d];
    return HR_OK;
}

/* ---- values ---- */

/* Which value of the default each value of an item takes. */
static hr_status default_places(const hr_tensor *otherwise, hr_shape item, int64_t *place, hr_error *err)
{
    const hr_shape own = otherwise->shape;
    hr_shape both;
    char x[128], y[128];
    if (own.rank > item.rank || !hr_shape_broadcast(own, item, &both) || !hr_shape_equal(both, item))
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                       "expected a default_value that broadcasts to a value of shape %s, got %s",
                       hr_shape_text(item, x, sizeof x), hr_shape_text(own, y, sizeof y));
    for (int64_t e = 0; e < hr_shape_count(item); e++) {
        int64_t left = e, next = 1;
        place[e] = 0;
        for (int d = item.rank - 1, o = own.rank - 1; o >= 0; left /= item.dims[d], d--, o--) {
            if (own.dims[o] > 1) place[e] += left % item.dims[d] * next;
            next *= own.dims[o];
        }
    }
    return HR_OK;
}

static hr_status fill(hr_kernel *k, hr_tensor *out, const int64_t *place, int64_t items, hr_error *err)
{
    const hr_tensor *values = k->input[1], *otherwise = k->input[2];
    const size_t size = hr_dtype_size(values->dtype), row = hr_bytes_from_axis(values, 1);
    hr_shape item = {values->shape.rank - 1, {0}};
    memcpy(item.dims, values->shape.dims + 1, sizeof *item.dims * (size_t)item.rank);
    const int64_t each = hr_shape_count(item);
    int64_t *from;
    HR_TRY(hr_kernel_array(k, each + 1, sizeof *from, "a default value", &from, err));
    HR_TRY(default_places(otherwise, item, from, err));
    for (int64_t i = 0; i < out->count; i++)
        memcpy((char *)out->data + (size_t)i * size, (const char *)otherwise->data + (size_t)from[i % each] * size,
               size);
    for (int64_t i = 0; i < items && row; i++)
        if (place[i] >= 0)
            memcpy((char *)out->data + (size_t)place[i] * row, (const char *)values->data + (size_t)i * row, row);
    return HR_OK;
}

/* Levels of a node in a run, and the output's shape. */
typedef struct layout {
    level level[HR_MAX_RANK];
    int levels;
    int64_t rows, most; /* of the first dimension; of items of any level */
    hr_shape shape;
} layout;

static hr_status read_layout(hr_kernel *k, layout *l, hr_error *err)
{
    const hr_tensor *values = k->input[1];
    const int parts = k->inputs - FIRST_INPUTS;
    int64_t rows = -1;
    HR_TRY(read_kinds(k->node, parts, &l->levels, err));
    if (values->shape.rank < 1 || values->shape.rank + l->levels > HR_MAX_RANK)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected at most %d dimensions, got %d of values",
                       HR_MAX_RANK, values->shape.rank);
    const int first = parts - l->levels;
    if (first) {
        const hr_tensor *size = k->input[FIRST_INPUTS];
        if (size->count != 1 || hr_int_at(size, 0) < 0)
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                           "expected a FIRST_DIM_SIZE of 0 or more, got %lld values", (long long)size->count);
        rows = hr_int_at(size, 0);
    }
    l->rows = rows;
    l->most = 0;
    hr_shape own = {l->levels + values->shape.rank, {0}};
    for (int i = 0; i < l->levels; i++) {
        HR_TRY(read_level(k->input[FIRST_INPUTS + first + i], kind_of(k->node, first + i), rows, &l->level[i], err));
        if (i == 0) l->rows = l->level[0].rows;
        rows = l->level[i].items;
        if (rows > l->most) l->most = rows;
        own.dims[i + 1] = l->level[i].longest;
    }
    if (l->levels == 0 ? l->rows != values->shape.dims[0] : rows > values->shape.dims[0])
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.splits", "expected partitions of %lld values, got %lld",
                       (long long)values->shape.dims[0], (long long)rows);
    own.dims[0] = l->rows;
    for (int d = 1; d < values->shape.rank; d++) own.dims[l->levels + d] = values->shape.dims[d];
    return output_shape(k->input[0], &own, l->levels, &l->shape, err);
}

static hr_status to_tensor_compute(hr_kernel *k, hr_error *err)
{
    layout l = {0};
    hr_tensor scratch, *out;
    HR_TRY(read_layout(k, &l, err));
    HR_TRY(hr_kernel_begin_output(k, 0, l.shape, &scratch, &out, err));
    const int64_t longest = l.rows > l.most ? l.rows : l.most;
    int64_t *place, *next, items = l.rows;
    HR_TRY(hr_kernel_array(k, longest + 1, sizeof *place, "the places of a ragged tensor", &place, err));
    HR_TRY(hr_kernel_array(k, longest + 1, sizeof *next, "the places of a ragged tensor", &next, err));
    for (int64_t i = 0; i < l.rows; i++) place[i] = i < l.shape.dims[0] ? i : -1;
    for (int i = 0; i < l.levels; i++) {
        place_items(&l.level[i], place, l.shape.dims[i + 1], next);
        int64_t *const done = place;
        place = next, next = done;
        items = l.level[i].items;
    }
    HR_TRY(fill(k, out, place, items, err));
    return hr_kernel_end_output(k, 0, &scratch, out, err);
}

/* ---- the gradient ---- */

/* By the row of values that stands at each place, -1 where the default does. */
static void to_tensor_gradient(hr_backward *b)
{
    hr_graph *g = b->graph;
    const hr_node flow = b->grad[0], values = b->input[1], otherwise = b->input[2];
    const int parts = b->inputs - FIRST_INPUTS, rank = hr_node_shape(values).rank;
    const int64_t zero = 0;
    int levels;
    hr_node inputs[HR_MAX_RANK + FIRST_INPUTS + 1];
    if (rank < 1 || read_kinds(b->node, parts, &levels, NULL) != HR_OK) {
        (void)hr_node_fail(g, HR_UNIMPLEMENTED, "graph.gradient",
                           "the gradient of RaggedTensorToTensor needs values of a known rank");
        return;
    }
    const int64_t outer = levels + 1;
    const hr_node rows = hr_strided_slice(hr_shape_of(values), {.at = &zero}), one = hr_scalar(g, HR_INT32, 1);
    inputs[0] = hr_strided_slice(hr_shape_of(flow), {.end = &outer});
    inputs[1] = hr_new_node(g, "Range", HR_INPUTS(hr_scalar(g, HR_INT32, 0), rows, one));
    inputs[2] = hr_scalar(g, HR_INT32, -1);
    for (int i = 0; i < parts; i++) inputs[FIRST_INPUTS + i] = b->input[FIRST_INPUTS + i];
    const hr_node row_at = hr_new_node(g, "RaggedTensorToTensor", .inputs = inputs, .input_count = b->inputs,
                                       .attrs = hr_node_attr(b->node, "row_partition_types"), .attr_count = 1);
    hr_node lacks = hr_cast_to(hr_equal(row_at, inputs[2]), hr_node_dtype(values));
    for (int d = 1; d < rank; d++) lacks = hr_expand_dims(lacks, hr_scalar(g, HR_INT32, -1));
    const hr_node by_default = hr_mul(flow, lacks);
    hr_backward_give(b, 1, hr_new_node(g, "UnsortedSegmentSum", HR_INPUTS(flow, row_at, rows)));
    hr_backward_give(b, 2, hr_gradient_unbroadcast(by_default, otherwise, by_default));
}

const hr_graph_op hr_graph_ops_ragged_to_tensor_op[] = {
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "RaggedTensorToTensor",
        .types = "T:any; Tindex:indices; Tshape:indices",
        .shape = to_tensor_shape,
        .compute = to_tensor_compute,
        .gradient = to_tensor_gradient,
    },
    HR_GRAPH_OPS_END,
};
