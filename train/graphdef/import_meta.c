/* Reads a MetaGraphDef: its graph, then the variables and collections that the graph knows by itself. */
#include "train/graphdef/meta_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct meta_importer {
    hr_graph *g;
    const hr_graph_import_opts *opts;
    hr_meta_graph *m;
    hr_error *err;
} meta_importer;

/* ---- nodes by the names of the file ---- */

/* None: the graph has no such node. A name without an output is an operation. */
static hr_status node_named(const meta_importer *in, const char *name, hr_node *out)
{
    const char *prefix = in->opts->prefix ? in->opts->prefix : "";
    const size_t size = strlen(prefix) + strlen(name) + 2;
    char *whole = hr_malloc(size);
    if (!whole) return hr_no_memory(in->err, "a collection");
    snprintf(whole, size, "%s%s%s", prefix, *prefix ? "/" : "", name);
    *out = hr_graph_node(in->g, whole);
    if (hr_node_exists(*out) && !strchr(name, ':')) *out = hr_target(*out);
    hr_free(whole);
    return HR_OK;
}

/* ---- variables ---- */

static hr_status refuse_variable(const meta_importer *in, const proto_variable *def, const char *what, const char *got)
{
    return hr_fail(in->err, HR_INVALID_ARGUMENT, "metagraph.variable",
                   "variable '%.100s': expected %s that the graph has, got '%.100s'", def->variable_name, what, got);
}

static hr_status optional_node(const meta_importer *in, const char *name, hr_node *out)
{
    *out = (hr_node){0};
    return *name ? node_named(in, name, out) : HR_OK;
}

/* Where a variable lies in a larger one. How many there are is known at the end. */
static hr_status read_piece(const meta_importer *in, const proto_variable *def, hr_variable_info *v)
{
    const proto_slice *from = def->save_slice_info_def;
    const size_t rank = from ? from->n_full_shape : 0;
    const char *number = strrchr(v->name, '_');
    if (!from || !*from->full_name) return HR_OK;
    hr_variable_piece *p = hr__arena_get(&in->g->arena, sizeof *p);
    if (!p || !(p->full_name = hr__arena_text(&in->g->arena, from->full_name, strlen(from->full_name))))
        return hr_no_memory(in->err, "a variable");
    bool fits = rank <= HR_MAX_RANK && from->n_var_offset == rank && from->n_var_shape == rank;
    p->full_shape.rank = fits ? (int)rank : 0;
    for (int i = 0; i < p->full_shape.rank; i++) {
        p->full_shape.dims[i] = from->full_shape[i];
        p->offset[i] = from->var_offset[i];
        if (from->var_shape[i] != from->full_shape[i]) p->axis = i;
        fits = fits && from->var_offset[i] >= 0 && from->var_shape[i] >= 0 &&
               from->var_shape[i] <= from->full_shape[i] &&
               from->var_offset[i] <= from->full_shape[i] - from->var_shape[i];
        fits = fits && (v->shape.rank != (int)rank || v->shape.dims[i] == from->var_shape[i]);
    }
    p->number = number ? atoi(number + 1) : 0;
    p->count = 1;
    p->whole = hr_graph_node(in->g, p->full_name);
    v->piece = p;
    if (fits && v->shape.rank == (int)rank) return HR_OK;
    return hr_fail(in->err, HR_INVALID_ARGUMENT, "metagraph.variable",
                   "variable '%.100s': expected a part of its own shape within '%.100s'", def->variable_name,
                   from->full_name);
}

static hr_status register_variable(const meta_importer *in, const proto_variable *def, unsigned set)
{
    hr_variable_info v = {.sets = set};
    HR_TRY(node_named(in, def->variable_name, &v.handle));
    const char *op = hr_node_op(v.handle);
    if (strcmp(op, "VarHandleOp") != 0 && strcmp(op, "VariableV2") != 0)
        return refuse_variable(in, def, "a VarHandleOp or VariableV2", def->variable_name);
    HR_TRY(node_named(in, def->initializer_name, &v.initializer));
    if (!hr_node_exists(v.initializer)) return refuse_variable(in, def, "an initializer", def->initializer_name);
    HR_TRY(optional_node(in, def->snapshot_name, &v.read));
    HR_TRY(optional_node(in, def->initial_value_name, &v.initial_value));
    hr_handle_info info;
    if (!hr_handle_of(v.handle, &info)) return refuse_variable(in, def, "a variable", def->variable_name);
    v.name = info.name;
    v.dtype = info.dtype;
    v.shape = info.shape;
    HR_TRY(read_piece(in, def, &v));
    return hr__variable_register(in->g, &v, in->err);
}

/* `set`: 0 of a collection that is none of the sets; its variables are in one of these, too. */
static hr_status import_variables(const meta_importer *in, const proto_collection *from, unsigned set)
{
    const bool bytes = from->value && from->value->kind_case == HEADRACE__PROTO__COLLECTION_DEF__KIND_BYTES_LIST;
    if (!bytes)
        return hr_fail(in->err, HR_INVALID_ARGUMENT, "metagraph.variable",
                       "collection '%.60s': expected the bytes of VariableDefs", from->key);
    for (size_t i = 0; i < from->value->bytes_list->n_value; i++) {
        const proto_variable *def;
        hr_node handle;
        HR_TRY(hr__meta_take_variable(in->m, from->value->bytes_list->value[i], &def, in->err));
        if (set) HR_TRY(register_variable(in, def, set));
        HR_TRY(node_named(in, def->variable_name, &handle));
        if (!hr_node_exists(handle)) return refuse_variable(in, def, "a node", def->variable_name);
        if (!set) hr_add_to_collection(in->g, from->key, handle);
    }
    return HR_OK;
}

static unsigned set_of(const char *key)
{
    for (unsigned i = 0; i < 4; i++)
        if (strcmp(key, hr__variable_collections[i]) == 0) return 1u << i;
    return 0;
}

static hr_status import_sets(const meta_importer *in)
{
    for (int i = 0; i < in->m->collections.count; i++) {
        const proto_collection *c = in->m->collections.item[i];
        if (!hr__holds_variables(c->key)) continue;
        const hr_status st = import_variables(in, c, set_of(c->key));
        if (st != HR_OK) hr_error_prefix(in->err, "collection '%.60s': ", c->key);
        HR_TRY(st);
    }
    return HR_OK;
}

static hr_variable_info *piece_of(const hr_graph *g, const char *full_name, int number)
{
    char name[1024];
    const int n = snprintf(name, sizeof name, "%s/part_%d", full_name, number);
    const int at = n > 0 && (size_t)n < sizeof name ? hr__map_index(&g->variable_names, name) : -1;
    return at >= 0 && g->variables[at]->piece ? g->variables[at] : NULL;
}

/* Each piece knows how many there are. */
static void count_pieces(const hr_graph *g)
{
    for (int i = 0; i < g->variable_count; i++) {
        const hr_variable_piece *first = g->variables[i]->piece;
        int count = 0;
        if (!first || piece_of(g, first->full_name, 0) != g->variables[i]) continue;
        while (piece_of(g, first->full_name, count)) count++;
        for (int k = 0; k < count; k++)
            ((hr_variable_piece *)(uintptr_t)piece_of(g, first->full_name, k)->piece)->count = count;
    }
}

/* ---- collections of nodes ---- */

/* One that names what the graph lacks stays as the file has it. */
static hr_status import_nodes_of(const meta_importer *in, const hr_meta_collection *c)
{
    hr_node *nodes = hr_malloc(sizeof *nodes * ((size_t)c->count + 1));
    hr_status st = nodes ? HR_OK : hr_no_memory(in->err, "a collection");
    bool all = true;
    for (int i = 0; st == HR_OK && i < c->count; i++) {
        st = node_named(in, c->nodes[i], &nodes[i]);
        all = all && st == HR_OK && hr_node_exists(nodes[i]);
    }
    for (int i = 0; st == HR_OK && all && i < c->count; i++) hr_add_to_collection(in->g, c->key, nodes[i]);
    hr_free(nodes);
    return st;
}

static hr_status import_collections(const meta_importer *in)
{
    HR_TRY(import_sets(in));
    count_pieces(in->g);
    for (int i = 0; i < in->m->held.count; i++) {
        const hr_meta_collection *c = in->m->held.item[i];
        if (c->kind == HR_META_NODES && !hr__holds_variables(c->key)) HR_TRY(import_nodes_of(in, c));
    }
    return HR_OK;
}

/* ---- all of it ---- */

static hr_status import_graph_of(const meta_importer *in, proto_meta *message, size_t bytes)
{
    if (!message->graph_def)
        return hr_fail(in->err, HR_INVALID_ARGUMENT, "metagraph.graph",
                       "expected a MetaGraphDef with a graph, got none");
    HR_TRY(hr__import_graph_message(in->g, message->graph_def, bytes, in->opts, in->err));
    hr__message_free(&message->graph_def->base);
    message->graph_def = NULL;
    return HR_OK;
}

static hr_status import_message(const meta_importer *in, proto_meta *message, size_t bytes)
{
    in->m->source = message;
    HR_TRY(import_graph_of(in, message, bytes));
    HR_TRY(hr__meta_take(in->m, in->err));
    HR_TRY(import_collections(in));
    if (in->g->error.code != HR_OK) *in->err = in->g->error;
    return in->g->error.code;
}

hr_status hr__meta_import_message(hr_graph *g, proto_meta *message, size_t bytes, const hr_graph_import_opts *opts,
                                  hr_meta_graph **meta, hr_error *err)
{
    hr_error failed = {0};
    meta_importer in = {g, opts, hr_meta_graph_new(), &failed};
    const hr_status st = in.m ? import_message(&in, message, bytes) : hr_no_memory(&failed, "a graph");
    if (!in.m) hr__message_free(&message->base);
    if (st != HR_OK) g->error = failed;
    if (st != HR_OK && err) *err = failed;
    if (st == HR_OK && meta)
        *meta = in.m;
    else
        hr_meta_graph_free(in.m);
    return st;
}

hr_status hr_meta_graph_import_with(hr_graph *g, hr_view bytes, hr_meta_graph **meta, const hr_graph_import_opts *given,
                                    hr_error *err)
{
    const hr_graph_import_opts opts = HR_OPTIONS(hr_graph_import_opts, given);
    const ProtobufCMessageDescriptor *type = &headrace__proto__meta_graph_def__descriptor;
    ProtobufCMessage *message;
    hr_error failed = {0};
    if (meta) *meta = NULL;
    HR_TRY(hr__import_check(g, bytes, err));
    const hr_status st = opts.text ? hr__message_read_text(type, bytes, &message, &failed)
                                   : hr__message_read(type, bytes, &message, &failed);
    if (st == HR_OK)
        return hr__meta_import_message(g, (proto_meta *)(void *)message, (size_t)bytes.size, &opts, meta, err);
    g->error = failed;
    if (err) *err = failed;
    return st;
}
