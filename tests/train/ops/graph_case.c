/* From a golden case to a graph. */
#include "tests/train/ops/graph_case.h"
#include "train/graph/graph_internal.h"

#include <stdlib.h>
#include <string.h>

bool case_tensors_read(const cJSON *list, case_tensors *out)
{
    const cJSON *item;
    out->count = 0;
    cJSON_ArrayForEach(item, list)
    {
        if (out->count == CASE_MAX || !golden_tensor(item, &out->value[out->count])) return false;
        const bool dense = out->value[out->count++].layout == HR_DENSE;
        if (!dense) return false;
    }
    return true;
}

void case_tensors_clear(case_tensors *tensors)
{
    while (tensors->count > 0) golden_tensor_clear(&tensors->value[--tensors->count]);
}

hr_node case_input(hr_graph *g, const hr_tensor *value, case_inputs how)
{
    if (how == CASE_CONSTANTS) return hr_const(g, value);
    return hr_placeholder(g, value->dtype, how == CASE_KNOWN_SHAPES ? value->shape : HR_UNKNOWN_SHAPE);
}

/* ---- attributes ---- */

/* What the op's signature says of the attribute: "ksize:list(int)" begins with its kind after the colon. */
static const char *declared(const hr_graph_op *op, const char *name)
{
    const size_t size = strlen(name);
    hr__opdef def;
    const bool known = hr__opdef_named(op->name, &def);
    for (const char *at = known ? def.attrs : op->attrs; at; at = strchr(at, ';')) {
        while (*at == ';' || *at == ' ') at++;
        if (strncmp(at, name, size) == 0 && at[size] == ':') return at + size + 1 + (at[size + 1] == ' ');
    }
    return "";
}

static hr_view hex_text(const cJSON *json)
{
    const hr_view text = golden_hex(json);
    return text.size < 0 ? (hr_view){NULL, 0} : text;
}

static bool read_list(const cJSON *list, const char *kind, hr_attr *out)
{
    const int count = cJSON_GetArraySize(list);
    int64_t *ints = calloc((size_t)count + 1, sizeof *ints);
    float *floats = calloc((size_t)count + 1, sizeof *floats);
    hr_dtype *types = calloc((size_t)count + 1, sizeof *types);
    hr_view *strings = calloc((size_t)count + 1, sizeof *strings);
    for (int i = 0; i < count; i++) {
        const cJSON *item = cJSON_GetArrayItem(list, i);
        if (cJSON_IsNumber(item)) ints[i] = golden_number_int64(item);
        if (cJSON_IsNumber(item)) floats[i] = (float)golden_number_double(item);
        if (cJSON_IsString(item)) types[i] = hr_dtype_named(item->valuestring);
        if (cJSON_IsString(item) && strncmp(kind, "list(string)", 12) == 0) strings[i] = hex_text(item);
    }
    *out = (hr_attr){.count = count};
    if (strncmp(kind, "list(int)", 9) == 0)
        out->kind = HR_ATTR_INTS, out->ints = ints;
    else if (strncmp(kind, "list(float)", 11) == 0)
        out->kind = HR_ATTR_FLOATS, out->floats = floats;
    else if (strncmp(kind, "list(string)", 12) == 0)
        out->kind = HR_ATTR_STRINGS, out->strings = strings;
    else
        out->kind = HR_ATTR_TYPES, out->types = types;
    if (out->kind != HR_ATTR_INTS) free(ints);
    if (out->kind != HR_ATTR_FLOATS) free(floats);
    if (out->kind != HR_ATTR_TYPES) free(types);
    if (out->kind != HR_ATTR_STRINGS) free(strings);
    return true;
}

static hr_shape read_shape(const cJSON *json)
{
    const cJSON *item;
    hr_shape shape = {0, {0}};
    if (!cJSON_IsArray(json)) return HR_UNKNOWN_SHAPE;
    cJSON_ArrayForEach(item, json) shape.dims[shape.rank++] = golden_number_int64(item);
    return shape;
}

static bool read_attr(const cJSON *json, const hr_graph_op *op, hr_attr *out, hr_tensor *tensor)
{
    const cJSON *value = golden_fields(json)->child;
    const char *kind = value ? value->string : "";
    if (strcmp(kind, "i") == 0)
        *out = HR_INT_ATTR(NULL, golden_number_int64(value));
    else if (strcmp(kind, "f") == 0)
        *out = HR_FLOAT_ATTR(NULL, (float)golden_number_double(value));
    else if (strcmp(kind, "b") == 0)
        *out = HR_BOOL_ATTR(NULL, cJSON_IsTrue(value));
    else if (strcmp(kind, "s") == 0)
        *out = (hr_attr){.kind = HR_ATTR_STRING, .s = hex_text(value)};
    else if (strcmp(kind, "type") == 0)
        *out = HR_TYPE_ATTR(NULL, hr_dtype_named(value->valuestring));
    else if (strcmp(kind, "shape") == 0)
        *out = HR_SHAPE_ATTR(NULL, read_shape(value));
    else if (strcmp(kind, "list") == 0)
        return read_list(value, declared(op, json->string), out);
    else if (strcmp(kind, "tensor") == 0 && golden_tensor(value, tensor))
        *out = HR_TENSOR_ATTR(NULL, tensor);
    else
        return false;
    return true;
}

static void free_attr(hr_attr *a)
{
    if (a->kind == HR_ATTR_STRING) free((void *)a->s.data);
    if (a->kind >= HR_ATTR_INTS) free((void *)a->ints);
}

hr_node case_node(hr_graph *g, const hr_graph_op *op, const cJSON *attrs, const hr_node *inputs, int count)
{
    hr_attr list[32];
    hr_tensor tensors[32] = {0};
    int n = 0;
    const cJSON *item;
    cJSON_ArrayForEach(item, golden_fields(attrs))
    {
        if (n == 32 || !read_attr(item, op, &list[n], &tensors[n])) continue;
        list[n++].name = item->string;
    }
    const hr_node node =
        hr_new_node(g, op->name, .inputs = inputs, .input_count = count, .attrs = list, .attr_count = n);
    for (int i = 0; i < n; i++) {
        free_attr(&list[i]);
        golden_tensor_clear(&tensors[i]);
    }
    return node;
}

/* ---- comparing ---- */

bool case_error_fits(golden_case *c, const cJSON *expectation, const hr_error *err)
{
    const cJSON *error = golden_get(expectation, "error");
    const char *class = golden_error_class(expectation), *got = hr_status_name(err->code);
    const cJSON *item, *others = golden_get(error, "also");
    golden_get(error, "when"); /* what is refused while the graph is built comes out of the run here */
    if (class && strcmp(class, got) == 0) return true;
    cJSON_ArrayForEach(item, others)
    {
        if (cJSON_IsString(item) && strcmp(item->valuestring, got) == 0) return true;
    }
    golden_differs(c, "expected %s, got %s: %s", class ? class : "a result", got, err->text);
    return false;
}

bool case_shape_fits(golden_case *c, const char *what, const cJSON *expected, hr_shape got)
{
    const hr_shape shape = read_shape(expected);
    char a[128], b[128];
    if (hr_shape_equal(shape, got)) return true;
    golden_differs(c, "%s: expected shape %s, inferred %s", what, hr_shape_text(shape, a, sizeof a),
                   hr_shape_text(got, b, sizeof b));
    return false;
}
