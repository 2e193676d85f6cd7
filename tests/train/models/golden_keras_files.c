/* Files of weights, and SavedModels: after an epoch they have the keys, shapes, types and signatures of Keras's. */
#include "golden_keras.h"

#include <headrace/checkpoint.h>
#include <headrace/saved_model.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- an epoch of two rows of zeros ---- */

typedef struct zeros {
    hr_tensor tensor[KERAS_TENSORS];
    char name[KERAS_TENSORS][300];
    const char *names[KERAS_TENSORS];
    int count;
} zeros;

static void add_zeros(zeros *z, const char *role, const char *name, hr_node node)
{
    hr_error err = {0};
    hr_shape shape = hr_node_shape(node);
    shape.dims[0] = 2;
    for (int i = 1; i < shape.rank; i++)
        if (shape.dims[i] < 0) shape.dims[i] = 3;
    (void)snprintf(z->name[z->count], sizeof z->name[0], "%s/%s", role, name);
    z->names[z->count] = z->name[z->count];
    hr_tensor *t = &z->tensor[z->count++];
    if (hr_tensor_new(t, hr_node_dtype(node), shape, &err) == HR_OK)
        memset(t->data, 0, (size_t)t->count * hr_dtype_size(t->dtype));
}

static bool train(hr_model *m)
{
    zeros z = {0};
    for (int i = 0; i < hr_model_inputs(m); i++)
        add_zeros(&z, "0", hr_model_input_name(m, i), hr_model_input_node(m, i));
    for (int i = 0; i < hr_model_output_count(m); i++)
        add_zeros(&z, "1", hr_model_output_name(m, i), hr_model_output_node(m, i));
    const bool trained = hr_fit(m, hr_from_tensor_slices(z.tensor, z.names, z.count), .batch_size = 2) != NULL;
    for (int i = 0; i < z.count; i++) hr_tensor_clear(&z.tensor[i]);
    return trained;
}

/* ---- what is in the file ---- */

static golden_result compare_entries(golden_case *c, hr_bundle *bundle, const cJSON *want)
{
    const hr_bundle_entry *entry;
    hr_error err = {0};
    int count, i = 0;
    const cJSON *item, *dim;
    if (hr_bundle_list(bundle, &entry, &count, &err) != HR_OK) return golden_differs(c, "%s", err.text);
    cJSON_ArrayForEach(item, want)
    {
        int rank = 0;
        const char *name = golden_text(item, "name", "");
        if (i == count || strcmp(entry[i].name, name) != 0)
            return golden_differs(c, "entry %d is %s, not %s", i, i == count ? "missing" : entry[i].name, name);
        if (strcmp(hr_dtype_name(entry[i].dtype), golden_text(item, "dtype", "")) != 0)
            return golden_differs(c, "%s is %s", name, hr_dtype_name(entry[i].dtype));
        cJSON_ArrayForEach(dim, golden_get(item, "shape"))
        {
            if (rank >= entry[i].shape.rank || entry[i].shape.dims[rank++] != golden_number_int64(dim))
                return golden_differs(c, "%s: shape", name);
        }
        if (rank != entry[i].shape.rank) return golden_differs(c, "%s: shape", name);
        i++;
    }
    return i == count ? GOLDEN_AGREES : golden_differs(c, "there is a %s, too", entry[i].name);
}

static golden_result compare_names(golden_case *c, hr_model *m, const cJSON *want)
{
    char name[256];
    int i = 0;
    const cJSON *item;
    cJSON_ArrayForEach(item, want)
    {
        (void)snprintf(name, sizeof name, "%s:0", hr_model_weight(m, i++).name);
        if (strcmp(name, item->valuestring) != 0) return golden_differs(c, "weight %d is %s", i - 1, name);
    }
    return i == hr_model_weights(m) ? GOLDEN_AGREES : golden_differs(c, "%d weights", hr_model_weights(m));
}

static golden_result compare_files(golden_case *c, hr_model *m)
{
    const cJSON *expect = golden_get(c->json, "expect");
    const char *prefix = "golden_keras_weights";
    hr_bundle *bundle;
    hr_error err = {0};
    if (!train(m)) return golden_differs(c, "fit: %.600s", hr_model_error(m) ? hr_model_error(m)->text : "");
    if (compare_names(c, m, golden_get(expect, "weights")) != GOLDEN_AGREES) return GOLDEN_DIFFERS;
    golden_result result = GOLDEN_AGREES;
    if (hr_save_weights(m, prefix, &err) != HR_OK || hr_load_weights(m, prefix, &err) != HR_OK)
        result = golden_differs(c, "%.900s", err.text);
    if (result == GOLDEN_AGREES && hr_bundle_open(prefix, &bundle, &err) == HR_OK) {
        result = compare_entries(c, bundle, golden_get(expect, "checkpoint"));
        hr_bundle_free(bundle);
    }
    return result;
}

/* ---- the model as a SavedModel ---- */

static golden_result compare_tensors(golden_case *c, const hr_meta_tensor *tensor, int count, const cJSON *want)
{
    if (cJSON_GetArraySize(want) != count) return golden_differs(c, "signature: %d tensors", count);
    for (int i = 0; i < count; i++) {
        const cJSON *item = golden_get(want, tensor[i].key), *dim;
        int rank = 0;
        if (!item || strcmp(tensor[i].name, golden_text(item, "tensor", "")) != 0 ||
            strcmp(hr_dtype_name(tensor[i].dtype), golden_text(item, "dtype", "")) != 0)
            return golden_differs(c, "signature: %s is %s", tensor[i].key, tensor[i].name);
        cJSON_ArrayForEach(dim, golden_get(item, "shape"))
        {
            if (rank >= tensor[i].shape.rank || tensor[i].shape.dims[rank++] != golden_number_int64(dim))
                return golden_differs(c, "signature: shape of %s", tensor[i].key);
        }
        if (rank != tensor[i].shape.rank) return golden_differs(c, "signature: rank of %s", tensor[i].key);
    }
    return GOLDEN_AGREES;
}

static golden_result compare_signature(golden_case *c, const hr_meta_signature *s, const cJSON *want)
{
    if (!s || strcmp(s->method, golden_text(want, "method_name", "")) != 0)
        return golden_differs(c, "signature: %s", s ? s->method : "none");
    if (compare_tensors(c, s->inputs, s->input_count, golden_get(want, "inputs")) != GOLDEN_AGREES)
        return GOLDEN_DIFFERS;
    return compare_tensors(c, s->outputs, s->output_count, golden_get(want, "outputs"));
}

static golden_result compare_saved_model(golden_case *c, hr_model *m, const cJSON *expect)
{
    char folder[] = "golden_keras_saved-XXXXXX";
    hr_bundle *bundle;
    hr_saved_model *saved;
    hr_error err = {0};
    if (!mkdtemp(folder) || hr_save_model(m, folder, &err) != HR_OK)
        return golden_differs(c, "saving: %.900s", err.text);
    if (hr_load_weights(m, folder, &err) != HR_OK) return golden_differs(c, "weights: %.900s", err.text);
    if (hr_saved_model_load(folder, &saved, &err) != HR_OK) return golden_differs(c, "loading: %.900s", err.text);
    golden_result result = compare_signature(c, hr_saved_model_signature(saved, NULL), golden_get(expect, "signature"));
    hr_saved_model_unref(saved);
    char prefix[100];
    (void)snprintf(prefix, sizeof prefix, "%s/variables/variables", folder);
    if (result == GOLDEN_AGREES && hr_bundle_open(prefix, &bundle, &err) == HR_OK) {
        result = compare_entries(c, bundle, golden_get(expect, "saved_model_variables"));
        hr_bundle_free(bundle);
    } else if (result == GOLDEN_AGREES) {
        result = golden_differs(c, "variables: %.900s", err.text);
    }
    return result;
}

golden_result keras_files(golden_case *c)
{
    hr_model *m = keras_model(c, golden_get(c->json, "model"));
    if (!m) return strstr(c->why, "layer ") ? GOLDEN_NOT_BUILT : GOLDEN_DIFFERS;
    golden_result result =
        keras_compile(c, m, golden_get(c->json, "compile"), false) ? GOLDEN_AGREES : GOLDEN_NOT_BUILT;
    if (result == GOLDEN_AGREES) result = compare_files(c, m);
    const cJSON *expect = golden_get(c->json, "expect");
    if (result == GOLDEN_AGREES && golden_get(expect, "saved_model_variables"))
        result = compare_saved_model(c, m, expect);
    hr_model_free(m);
    return result;
}
