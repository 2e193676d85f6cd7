/* The nodes that save and restore variables, as TensorFlow's saver makes them for one device. */
#include "train/graph/graph_internal.h"
#include "train/saved_model/writer.h"
#include <headrace/kernels.h>
#include <headrace/ops.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct saver_nodes {
    hr_graph *g;
    const hr__written_form *form;
    const hr_variable_info **variable; /* those that are saved, by name */
    int count;
    hr_node filename;
    hr_node *restored;
} saver_nodes;

static int saver_by_name(const void *a, const void *b)
{
    return strcmp((*(const hr_variable_info *const *)a)->name, (*(const hr_variable_info *const *)b)->name);
}

static hr_status saver_variables(saver_nodes *s, hr_error *err)
{
    const int all = hr_graph_variables(s->g);
    s->variable = hr_calloc((size_t)all + 1, sizeof *s->variable);
    s->restored = hr_calloc((size_t)all + 1, sizeof *s->restored);
    if (!s->variable || !s->restored) return hr_no_memory(err, "variables");
    for (int i = 0; i < all; i++)
        if (hr_graph_variable(s->g, i)->sets & HR_GLOBAL_VARIABLES)
            s->variable[s->count++] = hr_graph_variable(s->g, i);
    if (s->count) qsort(s->variable, (size_t)s->count, sizeof *s->variable, saver_by_name);
    return HR_OK;
}

/* ---- names and places in the checkpoint ---- */

static const char *saver_key(const saver_nodes *s, const hr_variable_info *v)
{
    if (s->form) return s->form->key(v->name, s->form->user);
    return v->piece ? v->piece->full_name : v->name;
}

/* TensorFlow's text for where a piece lies: "10 4 0,5:0,4". "": whole. */
static hr_status piece_place(hr__arena *arena, const hr_variable_info *v, hr_view *out, hr_error *err)
{
    char text[64 * HR_MAX_RANK] = "";
    const hr_variable_piece *p = v->piece;
    size_t at = 0;
    for (int i = 0; p && i < p->full_shape.rank; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%lld ", (long long)p->full_shape.dims[i]);
    for (int i = 0; p && i < p->full_shape.rank; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%lld,%lld", i ? ":" : "", (long long)p->offset[i],
                               (long long)v->shape.dims[i]);
    const char *copy = hr__arena_text(arena, text, at);
    *out = (hr_view){copy, (int64_t)at};
    return copy ? HR_OK : hr_no_memory(err, "variables");
}

/* The two constants that SaveV2 and RestoreV2 take; `further`: of a tensor that is no variable, NULL: none. */
static hr_status name_constants(const saver_nodes *s, const char *further, hr_node *names, hr_node *places,
                                hr_error *err)
{
    hr__arena arena = {0};
    hr_view *name = hr__arena_get(&arena, sizeof *name * ((size_t)s->count + 1));
    hr_view *place = hr__arena_get(&arena, sizeof *place * ((size_t)s->count + 1));
    const int count = s->count + (further != NULL);
    hr_status st = name && place ? HR_OK : hr_no_memory(err, "variables");
    for (int i = 0; st == HR_OK && i < s->count; i++) {
        const hr_variable_info *v = s->variable[i];
        name[i] = hr_text_view(saver_key(s, v));
        st = piece_place(&arena, v, &place[i], err);
    }
    if (st == HR_OK && further) name[s->count] = hr_text_view(further);
    const hr_tensor of_names = hr_tensor_of(HR_STRING, HR_SHAPE(count), name);
    const hr_tensor of_places = hr_tensor_of(HR_STRING, HR_SHAPE(count), place);
    if (st == HR_OK) *names = hr_const(s->g, &of_names, .name = "tensor_names");
    if (st == HR_OK) *places = hr_const(s->g, &of_places, .name = "shape_and_slices");
    hr__arena_free(&arena);
    return st;
}

/* ---- saving ---- */

static hr_status save_nodes(saver_nodes *s, hr_node *saved, hr_error *err)
{
    int inputs = 3;
    hr_node *input = hr_calloc((size_t)s->count + 4, sizeof *input);
    if (!input) return hr_no_memory(err, "variables");
    hr_name_scope(s->g, "SaveV2");
    hr_status st = name_constants(s, s->form ? "_CHECKPOINTABLE_OBJECT_GRAPH" : NULL, &input[1], &input[2], err);
    hr_scope_end(s->g);
    input[0] = s->filename;
    for (int i = 0; i < s->count; i++)
        input[inputs++] =
            hr_node_exists(s->variable[i]->read) ? s->variable[i]->read : hr_node_value(s->variable[i]->handle);
    if (s->form) {
        const hr_tensor objects = hr_tensor_of(HR_STRING, HR_SCALAR, &s->form->checkpoint);
        input[inputs++] = hr_const(s->g, &objects, .name = "objects");
    }
    if (st == HR_OK) {
        const hr_node save = hr_target(hr_new_node(s->g, "SaveV2", .inputs = input, .input_count = inputs));
        hr_control_dependencies(s->g, &save, 1);
        *saved = hr_new_node(s->g, "Identity", .name = "control_dependency", HR_INPUTS(s->filename));
        hr_control_end(s->g);
    }
    hr_free(input);
    return st;
}

/* ---- restoring ---- */

static hr_status value_types(const saver_nodes *s, hr_dtype **types, hr_error *err)
{
    *types = hr_calloc((size_t)s->count + 1, sizeof **types);
    if (!*types) return hr_no_memory(err, "variables");
    for (int i = 0; i < s->count; i++) (*types)[i] = s->variable[i]->dtype;
    return HR_OK;
}

static void assign_values(saver_nodes *s, hr_node restore)
{
    for (int i = 0; i < s->count; i++) {
        const hr_variable_info *v = s->variable[i];
        const hr_node value = hr_node_output(restore, i);
        if (hr_node_dtype(v->handle) == HR_RESOURCE)
            s->restored[i] = hr_new_node(s->g, "AssignVariableOp",
                                         HR_INPUTS(v->handle, hr_new_node(s->g, "Identity", HR_INPUTS(value))));
        else
            s->restored[i] = hr_new_node(s->g, "Assign", HR_INPUTS(v->handle, value));
        s->restored[i] = hr_target(s->restored[i]);
    }
}

static hr_status restore_nodes(saver_nodes *s, hr_node *restored, hr_error *err)
{
    hr_node names = {0}, places = {0};
    hr_dtype *types;
    hr_name_scope(s->g, "RestoreV2");
    hr_status st = name_constants(s, NULL, &names, &places, err);
    hr_scope_end(s->g);
    if (st == HR_OK) st = value_types(s, &types, err);
    if (st != HR_OK) return st;
    const hr_node restore = hr_new_node(s->g, "RestoreV2", HR_INPUTS(s->filename, names, places),
                                        HR_ATTRS(HR_TYPES_ATTR("dtypes", types, s->count)));
    hr_free(types);
    assign_values(s, restore);
    *restored = hr_group(s->g, s->restored, s->count, "restore_all");
    return HR_OK;
}

/* ---- both ---- */

static hr_status saver_make(saver_nodes *s, hr_meta_graph *meta, hr_error *err)
{
    const hr_view model = hr_text_view("model");
    const hr_tensor name = hr_tensor_of(HR_STRING, HR_SCALAR, &model);
    hr_node saved = {0}, restored = {0};
    char filename[300], save[300];
    hr_name_scope(s->g, "save");
    const hr_node given = hr_const(s->g, &name, .name = "filename/input");
    s->filename = hr_new_node(s->g, "PlaceholderWithDefault", .name = "filename", HR_INPUTS(given),
                              HR_ATTRS(HR_SHAPE_ATTR("shape", HR_SCALAR)));
    s->filename = hr_new_node(s->g, "PlaceholderWithDefault", .name = "Const", HR_INPUTS(s->filename),
                              HR_ATTRS(HR_SHAPE_ATTR("shape", HR_SCALAR)));
    hr_status st = save_nodes(s, &saved, err);
    if (st == HR_OK && s->count > 0) st = restore_nodes(s, &restored, err);
    if (st == HR_OK && s->count == 0) restored = hr_group(s->g, NULL, 0, "restore_all");
    hr_scope_end(s->g);
    if (st != HR_OK) return st;
    snprintf(filename, sizeof filename, "%s:0", hr_node_name(s->filename));
    snprintf(save, sizeof save, "%s:0", hr_node_name(saved));
    const hr_meta_saver saver = {
        .filename = filename, .save = save, .restore = hr_node_name(restored), .max_to_keep = 5, .version = 2};
    return hr_meta_graph_set_saver(meta, &saver, err);
}

hr_status hr__write_saver(hr__written_graph *to, hr_error *err)
{
    hr_meta_saver saver;
    saver_nodes s = {.g = to->g, .form = to->form};
    if (hr_meta_graph_saver(to->meta, &saver) && *saver.save && hr_node_exists(hr_graph_node(to->g, saver.save)))
        return HR_OK;
    hr_status st = saver_variables(&s, err);
    if (st == HR_OK && (s.count > 0 || s.form)) st = saver_make(&s, to->meta, err);
    hr_free(s.variable);
    hr_free(s.restored);
    return st;
}
