/* Inputs that are no values: handles of variables, tables and resources of the run; lists, writers of event files. */
#include "train/conformance/trial.h"

#include <string.h>

hr_node hr__trial_list_node(trial *t, const char *op, hr_node a, hr_node b, hr_dtype dtype)
{
    return hr_new_node(t->g, op, HR_INPUTS(a, b), HR_ATTRS(HR_TYPE_ATTR("element_dtype", dtype)));
}

/* A list of what the op takes or gives: rows of a tensor, one pushed twice, none set, or lists. */
hr_node hr__trial_list_input(trial *t)
{
    hr_dtype dtype = HR_FLOAT;
    for (int i = 0; i < hr_signature_attrs(t->sig); i++)
        if (strcmp(hr_signature_attr(t->sig, i)->name, "element_dtype") == 0 && !one_in(t, 12)) dtype = t->type[i];
    const bool nested = dtype == HR_VARIANT;
    if (nested || dtype == HR_RESOURCE || hr_dtype_size(dtype) == 0) dtype = one_in(t, 2) ? HR_FLOAT : HR_DOUBLE;
    const hr_tensor value = hr__trial_tensor(t, dtype, one_in(t, 8) ? hr__trial_random_shape(t) : t->common);
    const hr_node x = hr__trial_fed(t, value);
    t->value[t->inputs] = value;
    t->from[t->inputs] = x;
    if (strncmp(t->op->name, "Optional", 8) == 0 && !one_in(t, 8))
        return one_in(t, 4) ? hr_new_node(t->g, "OptionalNone") : hr_new_node(t->g, "OptionalFromValue", HR_INPUTS(x));
    const hr_node any = hr_const_number(t->g, HR_INT32, -1, NULL);
    const hr_node count = hr_const_number(t->g, HR_INT32, (double)below(t, 5), NULL);
    hr_node list;
    switch (below(t, 4)) {
    case 0:
        list = hr__trial_list_node(t, "TensorListReserve", one_in(t, 2) ? any : hr_shape_of(x), count, dtype);
        break;
    case 1:
        list = hr__trial_list_node(t, "EmptyTensorList", hr_shape_of(x), any, dtype);
        list = hr__trial_list_node(t, "TensorListPushBack",
                                   hr__trial_list_node(t, "TensorListPushBack", list, x, dtype), x, dtype);
        break;
    default:
        list = hr__trial_list_node(t, "TensorListFromTensor", x, any, dtype);
    }
    if (!nested) return list;
    return hr__trial_list_node(t, "TensorListPushBack", hr__trial_list_node(t, "EmptyTensorList", any, any, HR_VARIANT),
                               list, HR_VARIANT);
}

/* A resource of the run, mostly with something in it: a tensor array, or a stack. */
static hr_node run_resource(trial *t, bool stack, hr_dtype dtype)
{
    const hr_tensor value = hr__trial_tensor(t, dtype, one_in(t, 8) ? hr__trial_random_shape(t) : t->common);
    const hr_node x = hr_const(t->g, &value), size = hr_const_number(t->g, HR_INT32, (double)below(t, 4), NULL);
    const bool empty = one_in(t, 3);
    hr_node made, filled;
    if (stack) {
        made = hr_new_node(t->g, "StackV2", HR_INPUTS(size), HR_ATTRS(HR_TYPE_ATTR("elem_type", dtype)));
        if (empty) return made;
        filled = hr_new_node(t->g, "StackPushV2", HR_INPUTS(made, x));
    } else {
        made = hr_new_node(t->g, "TensorArrayV3", HR_INPUTS(size),
                           HR_ATTRS(HR_TYPE_ATTR("dtype", dtype), HR_BOOL_ATTR("dynamic_size", one_in(t, 2)),
                                    HR_BOOL_ATTR("clear_after_read", one_in(t, 2)),
                                    HR_SHAPE_ATTR("element_shape", one_in(t, 3) ? t->common : HR_UNKNOWN_SHAPE)));
        if (empty) return made;
        const hr_node at = hr_const_number(t->g, HR_INT32, (double)below(t, 2), NULL);
        filled = hr_new_node(t->g, "TensorArrayWriteV3", HR_INPUTS(made, at, x, hr_node_output(made, 1)));
    }
    hr_control_dependencies(t->g, &filled, 1);
    const hr_node after = hr_identity(made);
    hr_control_end(t->g);
    return after;
}

static hr_dtype type_of_attr(const trial *t, const char *a, const char *b, const char *c, hr_dtype usual)
{
    for (int i = 0; i < hr_signature_attrs(t->sig); i++) {
        const char *name = hr_signature_attr(t->sig, i)->name;
        if (strcmp(name, a) == 0 || strcmp(name, b) == 0 || strcmp(name, c) == 0) return t->type[i];
    }
    return usual;
}

/* A table of the op's types, fixed or mutable, mostly filled; by reference for the oldest ops. */
static hr_node table_input(trial *t)
{
    hr_error err;
    const hr_dtype key = type_of_attr(t, "Tin", "Tkey", "Tkeys", HR_STRING);
    const hr_dtype value = type_of_attr(t, "Tout", "Tval", "Tvalues", HR_INT64);
    const bool initializes = strncmp(t->op->name, "Init", 4) == 0;
    const bool fixed = one_in(t, initializes ? 1 : 2), old = !strstr(t->op->name, "V2");
    const char *make = fixed ? "HashTableV2" : "MutableHashTableV2", *fill_op = "LookupTableImportV2";
    if (old) make = fixed ? "HashTable" : "MutableHashTable", fill_op = "LookupTableImport";
    const hr_node table =
        hr_new_node(t->g, make, HR_ATTRS(HR_TYPE_ATTR("key_dtype", key), HR_TYPE_ATTR("value_dtype", value)));
    if (!hr_node_exists(table) || hr_graph_error(t->g) || one_in(t, 5) || (initializes && !one_in(t, 3))) return table;
    const hr_shape shape = HR_SHAPE(below(t, 20));
    hr_tensor keys = hr__trial_tensor(t, key, shape), values = hr__trial_tensor(t, value, shape);
    const hr_node fill =
        hr_target(hr_new_node(t->g, fill_op, HR_INPUTS(table, hr_const(t->g, &keys), hr_const(t->g, &values))));
    if (t->plan.eager) return table;
    if (!hr_graph_error(t->g) && hr_session_run(t->s, NULL, 0, &fill, 1, NULL, &err) == HR_RESOURCE_EXHAUSTED)
        t->lacks_memory = true;
    return table;
}

/* A writer of event files, mostly with a file in the folder "events". */
static hr_node writer_input(trial *t)
{
    hr_error err;
    const hr_node writer = hr_new_node(t->g, "SummaryWriter");
    const hr_view text[] = {hr_text_view("events"), hr_text_view(".test")};
    const hr_tensor folder = hr_tensor_of(HR_STRING, HR_SCALAR, &text[0]);
    const hr_tensor suffix = hr_tensor_of(HR_STRING, HR_SCALAR, &text[1]);
    if (hr_graph_error(t->g) || one_in(t, 8) || strncmp(t->op->name, "Create", 6) == 0) return writer;
    const hr_node some = hr_const_number(t->g, HR_INT32, 1, NULL);
    const hr_node made =
        hr_target(hr_new_node(t->g, "CreateSummaryFileWriter",
                              HR_INPUTS(writer, hr_const(t->g, &folder), some, some, hr_const(t->g, &suffix))));
    if (t->plan.eager) return writer;
    if (!hr_graph_error(t->g) && hr_session_run(t->s, NULL, 0, &made, 1, NULL, &err) == HR_RESOURCE_EXHAUSTED)
        t->lacks_memory = true;
    return writer;
}

hr_node hr__trial_resource_input(trial *t)
{
    if (strstr(t->op->name, "Summary") && !one_in(t, 20)) return writer_input(t);
    if (strstr(t->op->name, "Table") && !one_in(t, 20)) return table_input(t);
    hr_dtype dtype = HR_FLOAT;
    for (int i = hr_signature_inputs(t->sig) - 1; i >= 0; i--)
        if (hr_signature_input(t->sig, i)->type_attr >= 0) dtype = t->type[hr_signature_input(t->sig, i)->type_attr];
    for (int i = 0; i < hr_signature_attrs(t->sig); i++)
        if (hr_signature_attr(t->sig, i)->kind == HR_ATTR_TYPE && !hr__trial_types_inputs(t, i)) dtype = t->type[i];
    const char *op = t->op->name;
    const bool of_run = strncmp(op, "TensorArray", 11) == 0 || strncmp(op, "Stack", 5) == 0;
    if (of_run && dtype != HR_INVALID_DTYPE && hr_dtype_size(dtype) > 0 && dtype != HR_VARIANT && !one_in(t, 20))
        return run_resource(t, *op == 'S', dtype == HR_RESOURCE || one_in(t, 20) ? HR_FLOAT : dtype);
    if (one_in(t, 40)) {
        const hr_node handle = hr_placeholder(t->g, HR_RESOURCE, HR_SCALAR);
        t->feed[t->feeds++] = (hr_feed){handle, hr_tensor_of(HR_RESOURCE, HR_SCALAR, hr__trial_memory(t, 256))};
        return handle;
    }
    if (t->inputs > 0 && one_in(t, 20) && hr_node_dtype(t->input[0]) == HR_RESOURCE) return t->input[0];
    return hr__trial_variable(t, dtype == HR_INVALID_DTYPE || hr_dtype_size(dtype) == 0 ? HR_FLOAT : dtype, NULL);
}
