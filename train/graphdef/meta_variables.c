/* Variables in a MetaGraphDef: a VariableDef names the nodes of one; collections hold them as bytes. */
#include "train/graphdef/meta_internal.h"

#include <stdio.h>
#include <string.h>

const char *const hr__variable_collections[4] = {"variables", "trainable_variables", "local_variables",
                                                 "metric_variables"};

bool hr__holds_variables(const char *key)
{
    static const char *const others[] = {"global_step", "model_variables", "moving_average_variables"};
    bool holds = false;
    for (int i = 0; i < 4; i++) holds |= strcmp(key, hr__variable_collections[i]) == 0;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) holds |= strcmp(key, others[i]) == 0;
    return holds;
}

/* ---- reading ---- */

hr_status hr__meta_take_variable(hr_meta_graph *m, ProtobufCBinaryData bytes, const proto_variable **out, hr_error *err)
{
    ProtobufCMessage *message = NULL;
    const hr_view view = {(const char *)bytes.data, (int64_t)bytes.len};
    *out = NULL;
    HR_TRY(hr__message_read(&headrace__proto__variable_def__descriptor, view, &message, err));
    const hr_status kept = hr__meta_append(m, &m->messages, message, err);
    if (kept != HR_OK) hr__message_free(message);
    HR_TRY(kept);
    const proto_variable *def = *out = (const proto_variable *)(const void *)message;
    const hr_status st =
        hr__map_add(&m->variable_names, def->variable_name, strlen(def->variable_name), m->messages.count - 1, err);
    return st == HR_ALREADY_EXISTS ? HR_OK : st;
}

static const proto_variable *known_variable(const hr_meta_graph *m, const char *variable_name)
{
    const int i = m ? hr__map_index(&m->variable_names, variable_name) : -1;
    return i >= 0 ? m->messages.item[i] : NULL;
}

/* ---- writing ---- */

/* "node:0", or "node" of an operation; "" of none. */
static char *name_of(hr__arena *arena, hr_node node)
{
    const char *name = hr_node_name(node);
    const size_t size = strlen(name) + 16;
    char *text = hr__arena_get(arena, size);
    if (!text || !*name) return text;
    if (node.output < 0)
        snprintf(text, size, "%s", name);
    else
        snprintf(text, size, "%s:%d", name, node.output);
    return text;
}

static proto_slice *slice_message(hr__arena *arena, const hr_variable_info *v)
{
    proto_slice *m = hr__arena_get(arena, sizeof *m);
    hr_variable_piece *p = hr__arena_copy(arena, v->piece, sizeof *p);
    int64_t *shape = hr__arena_copy(arena, v->shape.dims, sizeof v->shape.dims);
    if (!m || !p || !shape) return NULL;
    headrace__proto__save_slice_info_def__init(m);
    m->full_name = (char *)(uintptr_t)p->full_name;
    m->n_full_shape = m->n_var_offset = m->n_var_shape = (size_t)p->full_shape.rank;
    m->full_shape = p->full_shape.dims;
    m->var_offset = p->offset;
    m->var_shape = shape;
    return m;
}

/* What TensorFlow has besides names and shapes is kept as the file had it. */
hr_status hr__variable_bytes(hr__arena *arena, const hr_meta_graph *m, const hr_variable_info *v,
                             ProtobufCBinaryData *out, hr_error *err)
{
    proto_variable def = HEADRACE__PROTO__VARIABLE_DEF__INIT;
    def.variable_name = name_of(arena, hr_node_output(v->handle, 0));
    def.initializer_name = name_of(arena, hr_target(v->initializer));
    def.snapshot_name = name_of(arena, v->read);
    def.initial_value_name = name_of(arena, v->initial_value);
    def.save_slice_info_def = v->piece ? slice_message(arena, v) : NULL;
    if (!def.variable_name || !def.initializer_name || !def.snapshot_name || !def.initial_value_name ||
        (v->piece && !def.save_slice_info_def))
        return hr_no_memory(err, "a variable");
    def.is_resource = hr_node_dtype(v->handle) == HR_RESOURCE;
    def.trainable = (v->sets & HR_TRAINABLE_VARIABLES) != 0;
    const proto_variable *known = known_variable(m, def.variable_name);
    if (known) {
        def.synchronization = known->synchronization;
        def.aggregation = known->aggregation;
    }
    out->len = protobuf_c_message_get_packed_size(&def.base);
    out->data = hr__arena_get(arena, out->len + 1);
    if (!out->data) return hr_no_memory(err, "a variable");
    protobuf_c_message_pack(&def.base, out->data);
    return HR_OK;
}
