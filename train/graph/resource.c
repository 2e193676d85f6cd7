/* What sessions keep between runs, by kind and name: variables, tables. A resource stays where it is until the last
 * session that has it is freed. The executor locks what a node uses; what users call here locks for itself. */
#include "train/graph/graph_internal.h"

#include <stdalign.h>
#include <stddef.h>
#include <string.h>

struct hr__resources {
    atomic_int owners;
    uv_mutex_t lock;
    hr_resource **list;
    int count, capacity;
    hr__map names; /* to the number of the newest of that name */
};

static void release_variable(void *variable) { hr_tensor_clear(&((hr__variable *)variable)->value); }

static const hr_resource_kind variable_kind = {"variable", sizeof(hr__variable), release_variable, NULL};

/* ---- the manager ---- */

hr__resources *hr__resources_new(void)
{
    hr__resources *m = hr_calloc(1, sizeof *m);
    if (m && uv_mutex_init(&m->lock) == 0) {
        atomic_store(&m->owners, 1);
        return m;
    }
    hr_free(m);
    return NULL;
}

hr__resources *hr__resources_share(hr__resources *m)
{
    atomic_fetch_add(&m->owners, 1);
    return m;
}

static void resource_free(hr_resource *r)
{
    if (r->kind->release) r->kind->release(r->thing);
    uv_rwlock_destroy(&r->lock);
    hr_free(r->thing);
    hr_free(r->name);
    hr_free(r);
}

void hr__resources_leave(hr__resources *m)
{
    if (!m || atomic_fetch_sub(&m->owners, 1) > 1) return;
    for (int i = 0; i < m->count; i++) resource_free(m->list[i]);
    hr_free(m->list);
    hr__map_free(&m->names);
    uv_mutex_destroy(&m->lock);
    hr_free(m);
}

static hr_resource *resource_find(const hr__resources *m, const hr_resource_kind *kind, const char *name)
{
    for (int i = hr__map_index(&m->names, name); i >= 0; i = m->list[i]->next - 1)
        if (strcmp(m->list[i]->kind->name, kind->name) == 0) return m->list[i];
    return NULL;
}

static hr_resource *resource_new(const hr_resource_kind *kind, const char *name)
{
    hr_resource *r = hr_calloc(1, sizeof *r);
    if (!r) return NULL;
    r->kind = kind;
    r->name = hr_strdup(name);
    r->thing = hr_calloc(1, kind->size);
    if (r->name && r->thing && uv_rwlock_init(&r->lock) == 0) return r;
    hr_free(r->name);
    hr_free(r->thing);
    hr_free(r);
    return NULL;
}

static hr_status resource_add(hr__resources *m, const hr_resource_kind *kind, const char *name, hr_resource **out,
                              hr_error *err)
{
    HR_TRY(hr__grow(&m->list, m->count, &m->capacity, sizeof *m->list, err));
    hr_resource *r = resource_new(kind, name);
    if (!r) return hr_no_memory(err, "a resource");
    r->next = hr__map_index(&m->names, name) + 1;
    const hr_status st = hr__map_set(&m->names, name, strlen(name), m->count, err);
    if (st != HR_OK) {
        resource_free(r);
        return st;
    }
    m->list[m->count++] = *out = r;
    return HR_OK;
}

hr_status hr_session_resource_of(hr_session *s, const hr_resource_kind *kind, const void *spec, const char *name,
                                 hr_resource **resource, hr_error *err)
{
    hr__resources *m = s->resources;
    uv_mutex_lock(&m->lock);
    *resource = resource_find(m, kind, name);
    const bool is_new = !*resource;
    hr_status st = is_new ? resource_add(m, kind, name, resource, err) : HR_OK;
    if (st == HR_OK && kind->begin) st = kind->begin((*resource)->thing, is_new, spec, err);
    uv_mutex_unlock(&m->lock);
    return st;
}

hr_status hr_session_resource(hr_session *s, const hr_resource_kind *kind, const char *name, hr_resource **resource,
                              hr_error *err)
{
    return hr_session_resource_of(s, kind, NULL, name, resource, err);
}

hr_status hr_session_variable(hr_session *s, const char *name, hr_resource **variable, hr_error *err)
{
    return hr_session_resource(s, &variable_kind, name, variable, err);
}

/* ---- of one run: in the buffer that its handles share ---- */

typedef struct run_resource {
    hr__holder holder;
    hr_resource resource;
    alignas(max_align_t) char thing[];
} run_resource;

static void run_resource_release(void *data)
{
    hr_resource *r = &((run_resource *)data)->resource;
    if (!r->kind) return;
    if (r->kind->release) r->kind->release(r->thing);
    uv_rwlock_destroy(&r->lock);
}

hr_status hr_kernel_new_resource(hr_kernel *k, const hr_resource_kind *kind, const char *name, hr_tensor *handle,
                                 void **thing, hr_error *err)
{
    *handle = (hr_tensor){0};
    hr_buffer *buffer = hr__buffers_get_holder(k->session->buffers, k->frame->run->budget,
                                               sizeof(run_resource) + kind->size, run_resource_release);
    if (!buffer) return hr_no_memory(err, "a resource");
    run_resource *made = hr_buffer_data(buffer);
    if (uv_rwlock_init(&made->resource.lock) != 0) {
        hr_buffer_unref(buffer);
        return hr_no_memory(err, "a resource");
    }
    made->resource.kind = kind;
    made->resource.name = (char *)name;
    made->resource.thing = *thing = made->thing;
    *handle = hr_resource_handle(&made->resource);
    handle->buffer = buffer;
    return HR_OK;
}

hr_tensor hr_resource_handle(hr_resource *resource) { return hr_tensor_of(HR_RESOURCE, HR_SCALAR, resource); }

/* ---- for kernels ---- */

hr_status hr_kernel_resource(hr_kernel *k, int i, const hr_resource_kind *kind, void **thing, hr_error *err)
{
    const hr_tensor *in = i >= 0 && i < k->inputs ? k->input[i] : NULL;
    const hr_resource *r = in && in->dtype == HR_RESOURCE ? in->data : NULL;
    if (r && (r->kind == kind || strcmp(r->kind->name, kind->name) == 0)) {
        *thing = r->thing;
        return HR_OK;
    }
    return hr_fail(err, HR_INVALID_ARGUMENT, "resource.kind", "input %d: expected a handle of a %s, got %s%s%s%s", i,
                   kind->name, r ? "the " : "none", r ? r->kind->name : "", r ? " " : "", r ? r->name : "");
}

static hr_status kernel_variable(hr_kernel *k, int i, hr__variable **v, hr_error *err)
{
    void *thing;
    HR_TRY(hr_kernel_resource(k, i, &variable_kind, &thing, err));
    *v = thing;
    return HR_OK;
}

const char *hr_kernel_variable_name(hr_kernel *k, int i)
{
    const hr_tensor *in = i >= 0 && i < k->inputs ? k->input[i] : NULL;
    return in && in->dtype == HR_RESOURCE && in->data ? ((const hr_resource *)in->data)->name : "";
}

hr_status hr_kernel_new_variable(hr_kernel *k, const char *name, hr_tensor *handle, hr_error *err)
{
    void *thing;
    return hr_kernel_new_resource(k, &variable_kind, name, handle, &thing, err);
}

hr_status hr_kernel_clear_variable(hr_kernel *k, int i, hr_error *err)
{
    hr__variable *v;
    HR_TRY(kernel_variable(k, i, &v, err));
    hr_tensor_clear(&v->value);
    return HR_OK;
}

bool hr_kernel_initialized(hr_kernel *k, int i)
{
    hr__variable *v;
    return kernel_variable(k, i, &v, NULL) == HR_OK && v->value.data;
}

static hr_status uninitialized(hr_kernel *k, int i, hr_error *err)
{
    return hr_fail(err, HR_FAILED_PRECONDITION, "variable.uninitialized",
                   "expected variable '%s' to have a value, but it has none; run hr_global_variables_initializer, or "
                   "restore it",
                   hr_kernel_variable_name(k, i));
}

hr_status hr_kernel_read(hr_kernel *k, int i, hr_tensor *value, hr_error *err)
{
    hr__variable *v;
    HR_TRY(kernel_variable(k, i, &v, err));
    if (!v->value.data) return uninitialized(k, i, err);
    *value = v->value;
    hr_buffer_ref(value->buffer);
    return HR_OK;
}

hr_status hr_kernel_borrow(hr_kernel *k, int i, const hr_tensor **value, hr_error *err)
{
    hr__variable *v;
    HR_TRY(kernel_variable(k, i, &v, err));
    *value = &v->value;
    return v->value.data ? HR_OK : uninitialized(k, i, err);
}

/* Somebody holds the present value: the variable continues with a copy. Strings stay in the old buffer, so they are
 * copied whole. */
static hr_status make_own(hr_session *s, hr__budget *budget, hr_tensor *value, hr_error *err)
{
    hr_tensor own = *value;
    if (value->dtype == HR_STRING) {
        HR_TRY(hr_tensor_strings(&own, value->shape, value->data, err));
    } else {
        const size_t bytes = (size_t)value->count * hr_dtype_size(value->dtype);
        own.buffer = hr__buffers_get(s->buffers, budget, bytes);
        if (!own.buffer) return hr_no_memory(err, "a variable");
        own.data = hr_buffer_data(own.buffer);
        if (bytes) memcpy(own.data, value->data, bytes);
    }
    hr_buffer_unref(value->buffer);
    *value = own;
    return HR_OK;
}

hr_status hr_kernel_update(hr_kernel *k, int i, hr_tensor **value, hr_error *err)
{
    hr__variable *v;
    HR_TRY(kernel_variable(k, i, &v, err));
    if (!v->value.data) return uninitialized(k, i, err);
    if (!v->value.buffer || hr_buffer_is_shared(v->value.buffer))
        HR_TRY(make_own(k->session, k->frame->run->budget, &v->value, err));
    *value = &v->value;
    return HR_OK;
}

static hr_status set_value(hr_session *s, hr__budget *budget, hr__variable *v, const hr_tensor *value, bool share,
                           hr_error *err)
{
    hr_tensor next = *value;
    if (share && value->buffer) {
        hr_buffer_ref(next.buffer);
    } else {
        next.buffer = NULL;
        HR_TRY(make_own(s, budget, &next, err));
    }
    hr_tensor_clear(&v->value);
    v->value = next;
    return HR_OK;
}

static hr_status resource_check_value(hr_node handle, const hr_tensor *value, hr_error *err)
{
    hr_shape merged;
    hr__shape_name declared, given;
    hr_handle_info info;
    if (hr_node_dtype(handle) != HR_RESOURCE || !hr_handle_of(handle, &info)) return HR_OK;
    if (info.dtype == value->dtype && hr_shape_merge(info.shape, value->shape, &merged)) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "variable.shape", "variable '%s': expected a value of %s %s, got %s %s",
                   info.name, hr_dtype_name(info.dtype), hr__shape_in(&declared, info.shape),
                   hr_dtype_name(value->dtype), hr__shape_in(&given, value->shape));
}

/* A value without a buffer is borrowed (fed, a constant): it is copied. Others are shared until one side writes. */
hr_status hr_kernel_assign(hr_kernel *k, int i, int value, hr_error *err)
{
    hr__variable *v;
    HR_TRY(kernel_variable(k, i, &v, err));
    if (value < 0 || value >= k->inputs)
        return hr_fail(err, HR_INTERNAL, "graph.failed", "expected one of %d inputs, got number %d", k->inputs, value);
    HR_TRY(resource_check_value(hr_node_input(k->node, i), k->input[value], err));
    return set_value(k->session, k->frame->run->budget, v, k->input[value], true, err);
}

hr_status hr__slot_value(const hr_tensor *slot, hr_tensor *value, hr_error *err)
{
    *value = *slot;
    value->buffer = NULL;
    if (slot->dtype != HR_RESOURCE) return HR_OK;
    hr_resource *r = slot->data;
    if (strcmp(r->kind->name, variable_kind.name) != 0)
        return hr_fail(err, HR_INVALID_ARGUMENT, "resource.kind", "expected a variable or a value, got the %s '%s'",
                       r->kind->name, r->name);
    uv_rwlock_rdlock(&r->lock);
    *value = ((const hr__variable *)r->thing)->value;
    hr_buffer_ref(value->buffer);
    uv_rwlock_rdunlock(&r->lock);
    if (value->data) return HR_OK;
    return hr_fail(err, HR_FAILED_PRECONDITION, "variable.uninitialized",
                   "expected variable '%s' to have a value, but it has none; initialize or restore it", r->name);
}

/* ---- for users ---- */

static hr_status find_variable(hr_session *s, hr_node node, hr_resource **out, hr_error *err)
{
    hr_handle_info info;
    if (node.graph == s->graph && hr_handle_of(hr__handle_read(node), &info))
        return hr_session_variable(s, info.name, out, err);
    return hr_fail(err, HR_INVALID_ARGUMENT, "variable.unknown",
                   "session: expected a variable of its graph, got node '%s'", hr_node_name(node));
}

hr_status hr_session_get(hr_session *s, hr_node variable, hr_tensor *out, hr_error *err)
{
    hr_resource *r = NULL;
    if (!out)
        return hr_fail(err, HR_INVALID_ARGUMENT, "session.argument",
                       "hr_session_get: expected a place for the value, got NULL");
    *out = (hr_tensor){0};
    if (!s) return hr_no_memory(err, "a session");
    HR_TRY(find_variable(s, variable, &r, err));
    uv_rwlock_rdlock(&r->lock);
    *out = ((const hr__variable *)r->thing)->value;
    hr_buffer_ref(out->buffer);
    uv_rwlock_rdunlock(&r->lock);
    if (out->data) return HR_OK;
    return hr_fail(err, HR_FAILED_PRECONDITION, "variable.uninitialized",
                   "expected variable '%s' to have a value, but it has none; initialize or restore it", r->name);
}

hr_status hr_session_set(hr_session *s, hr_node variable, const hr_tensor *value, hr_error *err)
{
    hr_resource *r = NULL;
    hr_tensor given;
    if (!s) return hr_no_memory(err, "a session");
    if (!value)
        return hr_fail(err, HR_INVALID_ARGUMENT, "variable.shape", "hr_session_set: expected a tensor, got NULL");
    HR_TRY(find_variable(s, variable, &r, err));
    hr_status st = hr__check_tensor(value, "variable.shape", &given.count, err);
    if (st != HR_OK) hr_error_prefix(err, "variable '%s': ", r->name);
    HR_TRY(st);
    HR_TRY(resource_check_value(hr__handle_read(variable), value, err));
    given = hr_tensor_of(value->dtype, value->shape, value->data);
    uv_rwlock_wrlock(&r->lock);
    st = set_value(s, NULL, r->thing, &given, false, err);
    uv_rwlock_wrunlock(&r->lock);
    return st;
}
