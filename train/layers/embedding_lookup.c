/* Lookups of rows by id in a table that may lie in several shards: variables, or the pieces of one. Rows are spread over
 * shards as TensorFlow's partition strategies "div" and "mod" do it. */
#include "train/layers/layers_internal.h"

#include <string.h>

typedef struct shards {
    hr_graph *g;
    const hr_node *shard;
    int count;
    bool mod;
    hr_node *room; /* of pieces, or NULL */
} shards;

static hr_shape shape_of_shard(hr_node shard)
{
    const hr_variable_info *info = hr_variable_of(shard);
    return info ? info->shape : hr_node_shape(shard);
}

/* The variable in pieces whose value that node is; NULL: none, or in pieces of rows. */
static const hr_variable_piece *pieces_of(hr_node whole)
{
    for (int i = 0; i < hr_graph_variables(whole.graph); i++) {
        const hr_variable_piece *piece = hr_graph_variable(whole.graph, i)->piece;
        if (piece && piece->axis == 0 && piece->whole.id == whole.id && piece->whole.output == whole.output)
            return piece;
    }
    return NULL;
}

/* False: the graph has the error. */
static bool shards_begin(shards *s, const hr_node *shard, int count, hr_partition_strategy strategy, const char *what,
                         hr_node ids)
{
    *s = (shards){.g = ids.graph, .shard = shard, .count = count, .mod = strategy == HR_PARTITION_MOD};
    bool there = shard && count > 0 && hr_node_exists(ids);
    for (int i = 0; there && i < count; i++)
        there = hr_node_exists(shard[i]) && shape_of_shard(shard[i]).rank != 0 && shard[i].graph == shard[0].graph;
    if (!there) {
        hr_node_fail(s->g, HR_INVALID_ARGUMENT, "layers.shape",
                     "%s: expected ids, and tables with rows; got %d of them", what, shard ? count : 0);
        return false;
    }
    const hr_variable_piece *piece = count == 1 ? pieces_of(shard[0]) : NULL;
    if (!piece) return true;
    s->room = hr_malloc((size_t)piece->count * sizeof *s->room);
    if (!s->room) {
        hr_node_fail(s->g, HR_RESOURCE_EXHAUSTED, "memory", "no memory for a lookup");
        return false;
    }
    s->count = hr_variable_pieces(s->g, piece->full_name, s->room, piece->count);
    s->shard = s->room;
    s->mod = false;
    return true;
}

/* ---- where a row lies ---- */

static hr_node number(const shards *s, int64_t value) { return hr_scalar(s->g, HR_INT64, (double)value); }

static hr_node rows_of_all(const shards *s)
{
    int64_t known = 0;
    hr_node unknown = {0};
    for (int i = 0; i < s->count; i++) {
        const hr_shape shape = shape_of_shard(s->shard[i]);
        if (shape.rank > 0 && shape.dims[0] >= 0) {
            known += shape.dims[0];
            continue;
        }
        const hr_node rows = hr_cast_to(hr_strided_slice(hr_shape_of(s->shard[i]), {.at = HR_I64(0)}), HR_INT64);
        unknown = unknown.graph ? hr_add(unknown, rows) : rows;
    }
    return unknown.graph ? hr_add(unknown, number(s, known)) : number(s, known);
}

/* The shard of each id, and its row there. With div the first shards have a row more, if there is a rest. */
static void place_ids(const shards *s, hr_node ids, hr_node *shard, hr_node *row)
{
    const hr_node count = number(s, s->count);
    if (s->mod) {
        *shard = hr_floor_mod(ids, count);
        *row = hr_floor_div(ids, count);
        return;
    }
    const hr_node all = rows_of_all(s), each = hr_floor_div(all, count), rest = hr_floor_mod(all, count),
                  more = hr_add(each, number(s, 1)), after = hr_sub(ids, rest),
                  some = hr_maximum(each, number(s, 1)); /* with fewer rows than shards, all are of the first kind */
    *shard = hr_maximum(hr_floor_div(ids, more), hr_floor_div(after, some));
    *row = hr_where(hr_less(*shard, rest), hr_floor_mod(ids, more), hr_floor_mod(after, some));
}

/* ---- one row for each id ---- */

static hr_node partition(const shards *s, hr_node values, hr_node shard)
{
    return hr_dynamic_partition(values, hr_cast_to(shard, HR_INT32), s->count);
}

/* As each shard has its rows, put in the order of the ids: `room` holds two nodes for each shard. */
static hr_node rows_of_shards(const shards *s, hr_node ids, hr_node *room)
{
    hr_node shard, row;
    const hr_node flat = hr_cast_to(hr_reshape(ids, hr_ints(s->g, (const int64_t[]){-1}, 1)), HR_INT64);
    place_ids(s, flat, &shard, &row);
    const hr_node zero = hr_scalar(s->g, HR_INT32, 0),
                  places = hr_range_values(zero, hr_size_of(flat), hr_scalar(s->g, HR_INT32, 1));
    const hr_node rows = partition(s, row, shard), at = partition(s, places, shard);
    for (int i = 0; i < s->count; i++) {
        room[i] = hr_node_output(at, i);
        room[s->count + i] = hr_gather(s->shard[i], hr_node_output(rows, i), 0);
    }
    const hr_node out = hr_new_node(s->g, "ParallelDynamicStitch", .inputs = room, .input_count = 2 * s->count);
    const hr_shape of_ids = hr_node_shape(ids), element = shape_of_shard(s->shard[0]);
    if (of_ids.rank == 1) return out;
    const hr_node shape[] = {hr_shape_of(ids),
                             hr_ints(s->g, element.dims + 1, element.rank > 0 ? element.rank - 1 : 0)};
    return hr_reshape(out, hr_concat(shape, 2, 0));
}

hr_node hr_embedding_lookup_with(const hr_node *tables, int count, hr_node ids, const hr_embedding_lookup_opts *given)
{
    const hr_embedding_lookup_opts opts = HR_OPTIONS(hr_embedding_lookup_opts, given);
    shards s;
    if (!shards_begin(&s, tables, count, opts.strategy, "embedding_lookup", ids)) return hr_failed_node(ids.graph);
    hr_name_scope(s.g, opts.name ? opts.name : "embedding_lookup");
    hr_node *room = hr_malloc(2 * (size_t)s.count * sizeof *room), out;
    if (!room)
        out = hr_node_fail(s.g, HR_RESOURCE_EXHAUSTED, "memory", "no memory for a lookup");
    else
        out = s.count == 1 ? hr_gather(s.shard[0], ids, 0) : rows_of_shards(&s, ids, room);
    if (hr_node_exists(out)) out = hr__clipped_rows(out, shape_of_shard(s.shard[0]).rank - 1, opts.max_norm);
    hr_scope_end(s.g);
    hr_free(room);
    hr_free(s.room);
    return out;
}

/* ---- rows of ids ---- */

/* What the sums of rows are divided by: [n, 1]. `ids`: -1 where they do not count. */
static hr_node divisor(hr_node ids, hr_node splits, const hr_lookup_opts *o)
{
    const hr_node one = hr_minimum(ids, hr_scalar(ids.graph, HR_INT64, 0));
    const bool mean = o->combiner == HR_MEAN;
    const hr_node weights = !o->weights.graph || mean ? o->weights : hr_square(o->weights);
    const hr_node sum = hr_multi_hot(one, splits, weights, 1);
    return mean ? sum : hr_sqrt(sum);
}

/* Each shard sums the rows that it has; ids of others are -1 there, which counts nothing. */
static hr_node sums_of_shards(const shards *s, hr_node ids, hr_node splits, const hr_lookup_opts *o, hr_node *room)
{
    hr_node shard, row;
    const hr_node none = number(s, -1);
    hr_lookup_opts each = *o;
    each.struct_size = sizeof each;
    each.combiner = HR_SUM;
    if (o->combiner != HR_SUM && o->weights.graph)
        ids = hr_where(hr_greater(o->weights, hr_scalar_like(o->weights, 0)), ids, none);
    place_ids(s, ids, &shard, &row);
    const hr_node last = number(s, s->count - 1), beyond = hr_greater(shard, last);
    row = hr_where(hr_less(ids, number(s, 0)), none, hr_where(beyond, ids, row)); /* which the last shard refuses */
    shard = hr_minimum(shard, last);
    for (int i = 0; i < s->count; i++)
        room[i] = hr_embedding_lookup_sparse_with(s->shard[i], hr_where(hr_equal(shard, number(s, i)), row, none),
                                                  splits, &each);
    const hr_node sum = hr_add_n(room, s->count);
    return o->combiner == HR_SUM ? sum : hr_div_no_nan(sum, divisor(ids, splits, o));
}

hr_node hr_sharded_lookup_sparse_with(const hr_node *tables, int count, hr_node ids, hr_node splits,
                                      const hr_lookup_opts *given)
{
    const hr_lookup_opts opts = HR_OPTIONS(hr_lookup_opts, given);
    shards s;
    if (!shards_begin(&s, tables, count, opts.strategy, "embedding_lookup_sparse", ids))
        return hr_failed_node(ids.graph);
    if ((unsigned)opts.combiner > HR_SQRTN) {
        hr_free(s.room);
        return hr_node_fail(s.g, HR_INVALID_ARGUMENT, "graph.attr", "expected a combiner, got %d", (int)opts.combiner);
    }
    hr_lookup_opts inner = opts;
    inner.struct_size = sizeof inner;
    inner.name = NULL;
    hr_name_scope(s.g, opts.name ? opts.name : "embedding_lookup_sparse");
    hr_node *room = hr_malloc((size_t)s.count * sizeof *room), out;
    if (!room)
        out = hr_node_fail(s.g, HR_RESOURCE_EXHAUSTED, "memory", "no memory for a lookup");
    else
        out = s.count == 1 ? hr_embedding_lookup_sparse_with(s.shard[0], ids, splits, &inner)
                           : sums_of_shards(&s, ids, splits, &inner, room);
    hr_scope_end(s.g);
    hr_free(room);
    hr_free(s.room);
    return out;
}
