/* Variables in pieces: each a variable of its own, of a part of the shape along one axis. The value is theirs, put
 * together. */
#include "train/graph/graph_internal.h"

#include <stdio.h>
#include <string.h>

enum { MAX_NAME = 1024, MAX_PIECES = 1 << 16, STRING_BYTES = 16, LEAST_BYTES = 256 << 10 };

/* ---- partitioners ---- */

static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t divide_up(int64_t a, int64_t b) { return a / b + (a % b > 0); }

static int64_t bytes_of(hr_dtype dtype, int64_t values)
{
    return values * (dtype == HR_STRING ? STRING_BYTES : (int64_t)hr_dtype_size(dtype));
}

static int64_t fixed_pieces(const hr_partitioner *self, hr_dtype dtype, hr_shape shape)
{
    (void)dtype;
    return most(1, least(self->count, shape.dims[self->axis]));
}

static int64_t pieces_of_at_most(const hr_partitioner *self, hr_dtype dtype, hr_shape shape)
{
    const int64_t length = shape.dims[self->axis];
    if (length == 0) return 1;
    const int64_t slice = bytes_of(dtype, hr_shape_count(shape) / length);
    const int64_t together = slice > 0 ? most(1, self->bytes / slice) : length;
    const int64_t pieces = divide_up(length, together);
    return self->count > 0 ? least(self->count, pieces) : pieces;
}

static int64_t pieces_of_at_least(const hr_partitioner *self, hr_dtype dtype, hr_shape shape)
{
    const int64_t bytes = bytes_of(dtype, hr_shape_count(shape));
    const int64_t pieces = divide_up(bytes, self->bytes > 0 ? self->bytes : LEAST_BYTES);
    return most(1, least(least(shape.dims[self->axis], self->count), pieces));
}

hr_partitioner hr_fixed_size_partitioner(int64_t pieces, int axis)
{
    return (hr_partitioner){.pieces = fixed_pieces, .axis = axis, .count = pieces};
}

hr_partitioner hr_variable_axis_size_partitioner(int64_t max_bytes, int axis, int64_t max_pieces)
{
    return (hr_partitioner){.pieces = pieces_of_at_most, .axis = axis, .count = max_pieces, .bytes = max_bytes};
}

hr_partitioner hr_min_max_variable_partitioner(int64_t max_pieces, int axis, int64_t min_bytes)
{
    return (hr_partitioner){.pieces = pieces_of_at_least, .axis = axis, .count = max_pieces, .bytes = min_bytes};
}

/* ---- looking for pieces ---- */

static const hr_variable_info *piece_named(const hr_graph *g, const char *full_name, int number)
{
    char name[MAX_NAME];
    const int n = snprintf(name, sizeof name, "%s/part_%d", full_name, number);
    const hr_variable_info *v = n > 0 && (size_t)n < sizeof name ? hr_variable_named(g, name) : NULL;
    return v && v->piece && v->piece->number == number && strcmp(v->piece->full_name, full_name) == 0 ? v : NULL;
}

const hr_variable_info *hr__first_piece(const hr_graph *g, const char *full_name)
{
    return piece_named(g, full_name, 0);
}

int hr_variable_pieces(const hr_graph *g, const char *full_name, hr_node *out, int max)
{
    const hr_variable_info *first = g && full_name ? hr__first_piece(g, full_name) : NULL;
    const int count = first ? first->piece->count : 0;
    for (int i = 0; out && i < count && i < max; i++) {
        const hr_variable_info *v = piece_named(g, full_name, i);
        out[i] = v ? v->handle : hr_failed_node((hr_graph *)g);
    }
    return count;
}

/* ---- making them ---- */

/* The first pieces get what does not divide evenly. */
static hr_shape piece_shape(hr_variable_piece *p)
{
    hr_shape shape = p->full_shape;
    const int64_t length = shape.dims[p->axis], base = length / p->count, more = length % p->count;
    p->offset[p->axis] = p->number * base + least(p->number, more);
    shape.dims[p->axis] = base + (p->number < more);
    return shape;
}

static hr_node add_piece(hr_graph *g, hr_variable_piece *p, hr_dtype dtype, const hr_variable_opts *opts)
{
    char name[MAX_NAME];
    const int n = snprintf(name, sizeof name, "%s/part_%d", p->full_name, p->number);
    if (n < 0 || n > MAX_NAME - 64)
        return hr_node_fail(g, HR_INVALID_ARGUMENT, "graph.name", "variable: expected a shorter name than \"%.60s\"",
                            p->full_name);
    return hr__add_variable(g, name, dtype, piece_shape(p), p, opts);
}

/* Under the names of TensorFlow's PartitionedVariable: NAME/ConcatPartitions/concat, and an Identity of it, NAME. */
static hr_node put_together(hr_graph *g, const char *name, hr_node *pieces, int count, int axis)
{
    char scope[MAX_NAME];
    hr_node value = pieces[0];
    snprintf(scope, sizeof scope, "%s/ConcatPartitions/", name);
    hr_name_scope(g, scope);
    hr_name_scope(g, "concat");
    for (int i = 0; i < count; i++)
        pieces[i] = hr_new_node(g, "ReadVariableOp", HR_INPUTS(pieces[i]),
                                HR_ATTRS(HR_TYPE_ATTR("dtype", hr_variable_of(pieces[i])->dtype)));
    pieces[count] = hr_const_number(g, HR_INT32, axis, "axis");
    value = count == 1 ? pieces[0]
                       : hr_new_node(g, "ConcatV2", .name = g->scope, .inputs = pieces, .input_count = count + 1);
    hr_scope_end(g);
    hr_scope_end(g);
    snprintf(scope, sizeof scope, "%s/", name);
    return hr_new_node(g, "Identity", .name = scope, HR_INPUTS(value));
}

static int64_t count_pieces(hr_graph *g, const char *name, hr_dtype dtype, hr_shape shape,
                            const hr_partitioner *partitioner)
{
    const int axis = partitioner->axis;
    const bool there = axis >= 0 && axis < shape.rank;
    const int64_t count = there ? partitioner->pieces(partitioner, dtype, shape) : 0;
    const int64_t max = there ? least(most(1, shape.dims[axis]), MAX_PIECES) : 0;
    if (count > 0 && count <= max) return count;
    hr_node_fail(g, HR_INVALID_ARGUMENT, "variable.partition",
                 there ? "variable '%s': expected from its partitioner 1 to %lld pieces along axis %d, got %lld"
                       : "variable '%s': expected a partitioner of one of its %lld axes, got axis %d",
                 name, there ? (long long)max : (long long)shape.rank, axis, (long long)count);
    return 0;
}

hr_node hr__add_pieces(hr_graph *g, const char *name, hr_dtype dtype, hr_shape shape, const hr_partitioner *partitioner,
                       const hr_variable_opts *opts)
{
    const int count = (int)count_pieces(g, name, dtype, shape, partitioner);
    if (count == 0) return hr_failed_node(g);
    hr_variable_piece *piece = hr__arena_get(&g->arena, sizeof *piece * (size_t)count);
    hr_node *handles = hr__arena_get(&g->arena, sizeof *handles * (size_t)(count + 1));
    const char *full_name = hr__arena_text(&g->arena, name, strlen(name));
    if (!piece || !handles || !full_name) return hr__graph_no_memory(g, "a variable");
    for (int i = 0; i < count; i++) {
        piece[i] = (hr_variable_piece){
            .full_name = full_name, .full_shape = shape, .axis = partitioner->axis, .number = i, .count = count};
        handles[i] = add_piece(g, &piece[i], dtype, opts);
        if (!hr_node_exists(handles[i])) return hr_failed_node(g);
    }
    const int controls = g->control_count;
    g->control_count = 0;
    const hr_node whole = put_together(g, name, handles, count, partitioner->axis);
    g->control_count = controls;
    for (int i = 0; i < count; i++) piece[i].whole = whole;
    return whole;
}
