/* What a session keeps between runs, by kind and name: variables, tables. Nodes of one run that use the same thing are
 * put in order by the plan, so nothing is locked here. */
#include "train/graph/graph_internal.h"

#include <string.h>

static void release_variable(void *variable) { hr_tensor_clear(&((hr__variable *)variable)->value); }

static const hr_resource_kind variable_kind = {"variable", sizeof(hr__variable), release_variable};

static void *resource_find(const hr_session *s, const hr_resource_kind *kind, const char *name)
{
    for (int i = hr__map_index(&s->resource_names, name); i >= 0; i = s->resources[i].next - 1)
        if (strcmp(s->resources[i].kind->name, kind->name) == 0) return s->resources[i].resource;
    return NULL;
}

hr_status hr_session_resource(hr_session *s, const hr_resource_kind *kind, const char *name, void **resource,
                              hr_error *err)
{
    *resource = resource_find(s, kind, name);
    if (*resource) return HR_OK;
    HR_TRY(hr__grow(&s->resources, s->resource_count, &s->resource_capacity, sizeof *s->resources, err));
    hr__resource r = {kind, hr_strdup(name), hr_calloc(1, kind->size), hr__map_index(&s->resource_names, name) + 1};
    hr_status st = r.name && r.resource ? HR_OK : hr_no_memory(err, "a resource");
    if (st == HR_OK) st = hr__map_set(&s->resource_names, name, strlen(name), s->resource_count, err);
    if (st != HR_OK) {
        hr_free(r.name);
        hr_free(r.resource);
        return st;
    }
    s->resources[s->resource_count++] = r;
    *resource = r.resource;
    return HR_OK;
}

hr_status hr_session_variable(hr_session *s, const char *name, void **variable, hr_error *err)
{
    return hr_session_resource(s, &variable_kind, name, variable, err);
}

/* ---- for kernels ---- */

/* NULL: the input is no handle. */
static hr__variable *variable_of(const hr_kernel *k, int i)
{
    return i >= 0 && i < k->inputs && k->input[i]->dtype == HR_RESOURCE ? k->input[i]->data : NULL;
}

const char *hr_kernel_variable_name(hr_kernel *k, int i)
{
    for (int r = 0; i >= 0 && i < k->inputs && r < k->session->resource_count; r++)
        if (k->session->resources[r].resource == k->input[i]->data) return k->session->resources[r].name;
    return "";
}

bool hr_kernel_initialized(hr_kernel *k, int i)
{
    const hr__variable *v = variable_of(k, i);
    return v && v->value.data;
}

static hr_status uninitialized(hr_kernel *k, int i, hr_error *err)
{
    if (!variable_of(k, i))
        return hr_fail(err, HR_INVALID_ARGUMENT, "variable.unknown", "expected input %d to be a variable's handle", i);
    return hr_fail(err, HR_FAILED_PRECONDITION, "variable.uninitialized",
                   "expected variable '%s' to have a value, but it has none; run hr_global_variables_initializer, or "
                   "restore it",
                   hr_kernel_variable_name(k, i));
}

hr_status hr_kernel_read(hr_kernel *k, int i, hr_tensor *value, hr_error *err)
{
    if (!hr_kernel_initialized(k, i)) return uninitialized(k, i, err);
    *value = variable_of(k, i)->value;
    hr_buffer_ref(value->buffer);
    return HR_OK;
}

hr_status hr_kernel_borrow(hr_kernel *k, int i, const hr_tensor **value, hr_error *err)
{
    if (!hr_kernel_initialized(k, i)) return uninitialized(k, i, err);
    *value = &variable_of(k, i)->value;
    return HR_OK;
}

/* Somebody holds the present value: the variable continues with a copy. Strings stay in the old buffer, so they are
 * copied whole. */
static hr_status make_own(hr_session *s, hr_tensor *value, hr_error *err)
{
    hr_tensor own = *value;
    if (value->dtype == HR_STRING) {
        HR_TRY(hr_tensor_strings(&own, value->shape, value->data, err));
    } else {
        const size_t bytes = (size_t)value->count * hr_dtype_size(value->dtype);
        own.buffer = hr__buffers_get(s->buffers, bytes);
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
    hr__variable *v = variable_of(k, i);
    if (!v || !v->value.data) return uninitialized(k, i, err);
    if (!v->value.buffer || hr_buffer_is_shared(v->value.buffer)) HR_TRY(make_own(k->session, &v->value, err));
    *value = &v->value;
    return HR_OK;
}

static hr_status set_value(hr_session *s, hr__variable *v, const hr_tensor *value, bool share, hr_error *err)
{
    hr_tensor next = *value;
    if (share && value->buffer) {
        hr_buffer_ref(next.buffer);
    } else {
        next.buffer = NULL;
        HR_TRY(make_own(s, &next, err));
    }
    hr_tensor_clear(&v->value);
    v->value = next;
    return HR_OK;
}

static hr_status resource_check_value(hr_node handle, const hr_tensor *value, hr_error *err)
{
    hr_shape merged;
    hr__shape_name declared, given;
    const hr_variable_info *info = hr_variable_of(handle);
    if (!info) return HR_OK;
    if (info->dtype == value->dtype && hr_shape_merge(info->shape, value->shape, &merged)) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "variable.shape", "variable '%s': expected a value of %s %s, got %s %s",
                   info->name, hr_dtype_name(info->dtype), hr__shape_in(&declared, info->shape),
                   hr_dtype_name(value->dtype), hr__shape_in(&given, value->shape));
}

/* A value without a buffer is borrowed (fed, a constant): it is copied. Others are shared until one side writes. */
hr_status hr_kernel_assign(hr_kernel *k, int i, int value, hr_error *err)
{
    if (!variable_of(k, i) || value < 0 || value >= k->inputs) return uninitialized(k, variable_of(k, i) ? -1 : i, err);
    HR_TRY(resource_check_value(hr_node_input(k->node, i), k->input[value], err));
    return set_value(k->session, variable_of(k, i), k->input[value], true, err);
}

/* ---- for users ---- */

static hr_status find_variable(hr_session *s, hr_node node, hr__variable **v, const char **name, hr_error *err)
{
    const hr_variable_info *info = hr_variable_of(node);
    if (!info || node.graph != s->graph)
        return hr_fail(err, HR_INVALID_ARGUMENT, "variable.unknown",
                       "session: expected a variable of its graph, got node '%s'", hr_node_name(node));
    void *found;
    HR_TRY(hr_session_variable(s, info->name, &found, err));
    *v = found;
    *name = info->name;
    return HR_OK;
}

hr_status hr_session_get(hr_session *s, hr_node variable, hr_tensor *out, hr_error *err)
{
    hr__variable *v = NULL;
    const char *name = "";
    *out = (hr_tensor){0};
    if (!s) return hr_no_memory(err, "a session");
    HR_TRY(find_variable(s, variable, &v, &name, err));
    if (!v->value.data)
        return hr_fail(err, HR_FAILED_PRECONDITION, "variable.uninitialized",
                       "expected variable '%s' to have a value, but it has none; initialize or restore it", name);
    *out = v->value;
    hr_buffer_ref(out->buffer);
    return HR_OK;
}

hr_status hr_session_set(hr_session *s, hr_node variable, const hr_tensor *value, hr_error *err)
{
    hr__variable *v = NULL;
    const char *name = "";
    hr_tensor given;
    if (!s) return hr_no_memory(err, "a session");
    if (!value)
        return hr_fail(err, HR_INVALID_ARGUMENT, "variable.shape", "hr_session_set: expected a tensor, got NULL");
    HR_TRY(find_variable(s, variable, &v, &name, err));
    const hr_status st = hr__check_tensor(value, "variable.shape", &given.count, err);
    if (st != HR_OK) hr_error_prefix(err, "variable '%s': ", name);
    HR_TRY(st);
    HR_TRY(resource_check_value(hr_variable_of(variable)->handle, value, err));
    given = hr_tensor_of(value->dtype, value->shape, value->data);
    return set_value(s, v, &given, false, err);
}
