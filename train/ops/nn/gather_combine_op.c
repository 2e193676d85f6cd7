/* Rows of a table taken by id and combined at once: what TensorFlow composes of gathers, products and sums over
 * segments, with its order of additions. Passes make it. Unlike EmbeddingLookupSparse it leaves out no id, and refuses
 * those that the table lacks. */
#include <headrace/kernels.h>
#include <math.h>
#include <string.h>

typedef enum combine_by { COMBINE_SUM, COMBINE_MEAN, COMBINE_SQRTN } combine_by;

typedef struct combine_state {
    combine_by by;
    bool by_segment, has_count; /* has_count: the last input says how many segments there are */
} combine_state;

static hr_status combine_prepare(hr_node node, hr_session *session, void *state, hr_error *err)
{
    (void)session, (void)err;
    const char *by = hr_attr_string(node, "combiner").data; /* one of the words of the signature */
    *(combine_state *)state = (combine_state){
        .by = *by == 'm'               ? COMBINE_MEAN
              : strcmp(by, "sum") == 0 ? COMBINE_SUM
                                       : COMBINE_SQRTN,
        .by_segment = hr_attr_int(node, "S") > 0,
        .has_count = hr_attr_int(node, "N") > 0,
    };
    return HR_OK;
}

typedef struct combine_work {
    const float *table, *weights; /* weights NULL: none */
    const hr_tensor *ids;
    const int64_t *begins; /* of each row among the ids, and the end; NULL: `length` ids each */
    int64_t width, length;
    bool same_id, same_weight; /* of all: as in a product that broadcasts */
    combine_by by;
    float *out;
} combine_work;

/* One row without a weight, as most are: sum, mean and root of it are the same. */
static inline void combine_one(const float *restrict row, int64_t width, float *restrict to)
{
    if (width == 1)
        *to = 0.0f + *row; /* also of -0 */
    else
        for (int64_t j = 0; j < width; j++) to[j] = 0.0f + row[j];
}

/* A segment without ids is zeros; the mean of no ids of a row that has a length is none. */
static void combine_row(const combine_work *w, int64_t first, int64_t last, float *to)
{
    float norm = 0;
    memset(to, 0, (size_t)w->width * sizeof *to);
    for (int64_t i = first; i < last; i++) {
        const float *row = w->table + hr_int_at(w->ids, w->same_id ? 0 : i) * w->width;
        const float weight = w->weights ? w->weights[w->same_weight ? 0 : i] : 1;
        norm += w->weights && w->by == COMBINE_SQRTN ? weight * weight : weight;
        if (w->weights)
            for (int64_t j = 0; j < w->width; j++) to[j] += row[j] * weight;
        else
            for (int64_t j = 0; j < w->width; j++) to[j] += row[j];
    }
    if (w->by == COMBINE_SUM || (w->begins && first == last)) return;
    if (!w->weights) norm = (float)(last - first);
    if (w->by == COMBINE_SQRTN) norm = sqrtf(norm);
    if (norm == 1) return;
    for (int64_t j = 0; j < w->width; j++) to[j] = w->weights && norm == 0 ? 0 : to[j] / norm;
}

static void combine_rows(int64_t first, int64_t last, void *user)
{
    const combine_work *w = user;
    for (int64_t r = first; r < last; r++) {
        const int64_t begin = w->begins ? w->begins[r] : r * w->length;
        const int64_t end = w->begins ? w->begins[r + 1] : begin + w->length;
        float *to = w->out + r * w->width;
        if (end - begin == 1 && !w->weights)
            combine_one(w->table + hr_int_at(w->ids, begin) * w->width, w->width, to);
        else
            combine_row(w, begin, end, to);
    }
}

static hr_status combine_refuse(hr_error *err, const char *expected)
{
    return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected %s", expected);
}

/* How many rows are combined: one for each segment id, or id. One id for all, or one weight, is as in a product. */
static hr_status combine_items(combine_work *w, const hr_tensor *segments, const hr_tensor *weights, int64_t *items,
                               hr_error *err)
{
    const int64_t ids = w->ids->count;
    *items = segments ? segments->count : ids;
    if (segments && (segments->shape.rank != 1 || w->ids->shape.rank != 1))
        return combine_refuse(err, "vectors of ids and segments");
    if (weights && weights->shape.rank != w->ids->shape.rank) return combine_refuse(err, "weights of the ids' rank");
    w->same_id = weights && ids == 1 && weights->count == *items;
    w->same_weight = weights && weights->count == 1 && ids == *items && w->by == COMBINE_SUM;
    if ((ids != *items && !w->same_id) || (weights && weights->count != *items && !w->same_weight))
        return combine_refuse(err, "a segment and a weight for each id");
    return HR_OK;
}

static hr_status combine_check(const hr_tensor *table, const hr_tensor *ids, const hr_tensor *segments, hr_error *err)
{
    for (int64_t i = 0; i < ids->count; i++)
        if (hr_int_at(ids, i) < 0 || hr_int_at(ids, i) >= table->shape.dims[0])
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.index", "indices[%lld] = %lld is not in [0, %lld)",
                           (long long)i, (long long)hr_int_at(ids, i), (long long)table->shape.dims[0]);
    for (int64_t i = 0; segments && i < segments->count; i++)
        if (hr_int_at(segments, i) < (i ? hr_int_at(segments, i - 1) : 0))
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.index", "expected segment ids >= 0 that rise, got %lld",
                           (long long)hr_int_at(segments, i));
    return HR_OK;
}

/* Where the ids of each row begin. */
static const int64_t *combine_begins(hr_kernel *k, const hr_tensor *segments, int64_t rows)
{
    int64_t *begins = hr_kernel_temp(k, (size_t)(rows + 1) * sizeof *begins);
    for (int64_t r = 0, i = 0; begins && r <= rows; r++) {
        while (i < segments->count && hr_int_at(segments, i) < r) i++;
        begins[r] = i;
    }
    return begins;
}

/* How many segments there are: those up to the last one that is there, or `count`, of which it is one. */
static hr_status combine_segments(const hr_tensor *segments, const hr_tensor *count, int64_t *rows, hr_error *err)
{
    *rows = 0;
    if (segments->count) HR_TRY(hr_dim_add(hr_int_at(segments, segments->count - 1), 1, rows, err));
    if (!count) return HR_OK;
    const int64_t wanted = count->count == 1 ? hr_int_at(count, 0) : -1;
    if (wanted < *rows)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.index", "expected segment ids below num_segments");
    *rows = wanted;
    return HR_OK;
}

/* Of a result with one row for each segment, or for each list of ids. */
static hr_status combine_result(const hr_tensor *table, const hr_tensor *ids, const hr_tensor *segments,
                                const hr_tensor *count, hr_shape *out, hr_error *err)
{
    if (table->dtype != HR_FLOAT || table->shape.rank < 1 || ids->shape.rank < 1 ||
        table->shape.rank + ids->shape.rank - 2 + (segments != NULL) > HR_MAX_RANK)
        return combine_refuse(err, "rows of float32 and ids that go together");
    *out = segments ? HR_SHAPE(0) : ids->shape;
    if (!segments) out->rank--;
    return segments ? combine_segments(segments, count, &out->dims[0], err) : HR_OK;
}

static hr_status combine_table(hr_kernel *k, const hr_tensor *table, hr_error *err)
{
    const combine_state *st = k->state;
    const hr_tensor *ids = k->input[1], *segments = st->by_segment ? k->input[2] : NULL;
    const hr_tensor *count = st->has_count ? k->input[k->inputs - 1] : NULL;
    const bool has_weights = k->inputs - st->has_count > 2 + st->by_segment;
    const hr_tensor *weights = has_weights ? k->input[2 + st->by_segment] : NULL;
    combine_work w = {.table = table->data, .ids = ids, .width = 1, .by = st->by};
    hr_shape shape;
    hr_tensor *out;
    int64_t items;
    HR_TRY(combine_items(&w, segments, weights, &items, err));
    HR_TRY(combine_result(table, ids, segments, count, &shape, err));
    HR_TRY(combine_check(table, ids, segments, err));
    const int64_t rows = hr_shape_count(shape);
    for (int i = 1; i < table->shape.rank; i++) {
        w.width *= table->shape.dims[i];
        shape.dims[shape.rank++] = table->shape.dims[i];
    }
    HR_TRY(hr_kernel_output(k, 0, shape, &out, err));
    if (out->count == 0) return HR_OK;
    if (segments && !(w.begins = combine_begins(k, segments, rows))) return hr_no_memory(err, "a lookup");
    w.length = segments ? 0 : ids->shape.dims[ids->shape.rank - 1];
    w.weights = weights ? weights->data : NULL;
    w.out = out->data;
    hr_kernel_parallel(k, rows, (double)items / (double)rows * ((double)w.width * .06 + 3) + 3, combine_rows, &w);
    return HR_OK;
}

static hr_status combine_dense(hr_kernel *k, hr_error *err) { return combine_table(k, k->input[0], err); }

static hr_status combine_resource(hr_kernel *k, hr_error *err)
{
    const hr_tensor *table;
    HR_TRY(hr_kernel_borrow(k, 0, &table, err));
    return combine_table(k, table, err);
}

static hr_status combine_shape(hr_infer *s, hr_error *err)
{
    hr_handle_info info;
    const bool by_segment = hr_attr_int(s->node, "S") > 0;
    hr_shape table = s->input[0], out = by_segment ? HR_SHAPE(-1) : s->input[1];
    if (hr_node_dtype(hr_node_input(s->node, 0)) == HR_RESOURCE)
        table = hr_handle_of(hr_node_input(s->node, 0), &info) ? info.shape : HR_UNKNOWN_SHAPE;
    if (table.rank == 0 || out.rank == 0) return hr_infer_refuse(s, err, "rows, and ids of rank 1 or more");
    if (table.rank < 0 || out.rank < 0) return HR_OK;
    if (!by_segment) out.rank--;
    if (out.rank + table.rank - 1 > HR_MAX_RANK) return hr_infer_refuse(s, err, "fewer dimensions");
    for (int i = 1; i < table.rank; i++) out.dims[out.rank++] = table.dims[i];
    s->output[0] = out;
    return HR_OK;
}

#define GATHER_COMBINE(NAME, INPUT, ATTRS, TRAITS, COMPUTE)                                                            \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = NAME,                                                                        \
        .inputs = INPUT ", ids:Tids, segments:S*Tsegments, weights:W*float, count:N*Tcount",                           \
        .outputs = "output:float",                                                                                     \
        .attrs = ATTRS "Tids: type in {int32,int64}; Tsegments: type in {int32,int64} = int32; "                       \
                       "Tcount: type in {int32,int64} = int32; S: int >= 0; W: int >= 0; N: int >= 0 = 0; combiner: "  \
                       "string in {sum,mean,sqrtn}",                                                                   \
        .traits = TRAITS, .state_size = sizeof(combine_state), .shape = combine_shape, .prepare = combine_prepare,     \
        .compute = COMPUTE,                                                                                            \
    }

const hr_graph_op hr_graph_ops_gather_combine_op[] = {
    GATHER_COMBINE("Headrace>GatherCombine", "params:float", "", 0, combine_dense),
    GATHER_COMBINE("Headrace>ResourceGatherCombine", "resource:resource", "dtype: type in {float32} = float32; ",
                   HR_STATEFUL | HR_READS_ONLY, combine_resource),
    HR_GRAPH_OPS_END,
};
