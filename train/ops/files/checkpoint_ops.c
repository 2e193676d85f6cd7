/* Checkpoints in TensorFlow's V2 format: tensors saved and restored by name, whole or in parts; several checkpoints as
 * one. */
#include <headrace/checkpoint.h>
#include <headrace/kernels.h>
#include <sys/stat.h>

/* A string of an input as a C string of the run. */
static char *text_of(hr_kernel *k, hr_view from)
{
    char *text = hr_kernel_temp(k, (size_t)from.size + 1);
    if (!text) return NULL;
    if (from.size) memcpy(text, from.data, (size_t)from.size);
    text[from.size] = '\0';
    return text;
}

/* Inputs 0 to 2: the prefix, and as many names and parts as there are `tensors`. */
static hr_status check_names(const hr_kernel *k, int tensors, hr_error *err)
{
    HR_TRY(hr_expect_rank("prefix", k->input[0]->shape, 0, err));
    for (int i = 1; i < 3; i++) {
        HR_TRY(hr_expect_rank(i == 1 ? "tensor_names" : "shape_and_slices", k->input[i]->shape, 1, err));
        if (k->input[i]->count != tensors)
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                           "expected %d %s, as many as there are tensors, got %lld", tensors,
                           i == 1 ? "tensor_names" : "shape_and_slices", (long long)k->input[i]->count);
    }
    return HR_OK;
}

static hr_view name_at(const hr_kernel *k, int input, int i) { return ((const hr_view *)k->input[input]->data)[i]; }

/* The folder of a prefix, if it is not there; that it cannot be made is told when the file is opened. */
static void make_folder(char *prefix)
{
    char *slash = strrchr(prefix, '/');
    if (!slash || slash == prefix) return;
    *slash = '\0';
    mkdir(prefix, 0777);
    *slash = '/';
}

static hr_status save_compute(hr_kernel *k, hr_error *err)
{
    hr_bundle_writer *writer;
    HR_TRY(check_names(k, k->inputs - 3, err));
    char *prefix = text_of(k, name_at(k, 0, 0));
    if (!prefix) return hr_no_memory(err, "a path");
    make_folder(prefix);
    HR_TRY(hr_bundle_writer_open(prefix, &writer, err));
    hr_status st = HR_OK;
    for (int i = 0; i < k->inputs - 3 && st == HR_OK; i++) {
        const char *name = text_of(k, name_at(k, 1, i)), *slice = text_of(k, name_at(k, 2, i));
        st =
            name && slice ? hr_bundle_add_part(writer, name, slice, k->input[3 + i], err) : hr_no_memory(err, "a name");
    }
    if (st == HR_OK) return hr_bundle_writer_commit(writer, err);
    hr_bundle_writer_discard(writer);
    return st;
}

static hr_status restore_one(hr_kernel *k, hr_bundle *bundle, int i, hr_error *err)
{
    const hr_attr *types = hr_node_attr(k->node, "dtypes");
    const char *name = text_of(k, name_at(k, 1, i)), *slice = text_of(k, name_at(k, 2, i));
    hr_tensor value;
    if (!name || !slice) return hr_no_memory(err, "a name");
    HR_TRY(hr_bundle_read_slice(bundle, name, slice, &value, err));
    if (value.dtype == types->types[i]) {
        hr_kernel_give(k, i, value);
        return HR_OK;
    }
    const hr_dtype found = value.dtype;
    hr_tensor_clear(&value);
    return hr_fail(err, HR_INVALID_ARGUMENT, "checkpoint.dtype",
                   "tensor_name = %.200s; expected dtype %s does not equal original dtype %s", name,
                   hr_dtype_name(types->types[i]), hr_dtype_name(found));
}

static hr_status restore_compute(hr_kernel *k, hr_error *err)
{
    hr_bundle *bundle;
    HR_TRY(check_names(k, k->outputs, err));
    const char *prefix = text_of(k, name_at(k, 0, 0));
    if (!prefix) return hr_no_memory(err, "a path");
    HR_TRY(hr_bundle_open(prefix, &bundle, err));
    hr_status st = HR_OK;
    for (int i = 0; i < k->outputs && st == HR_OK; i++) st = restore_one(k, bundle, i, err);
    hr_bundle_free(bundle);
    return st;
}

/* With names that are known: what parts are asked for. */
static hr_status restore_shape(hr_infer *s, hr_error *err)
{
    HR_TRY(hr_expect_rank("prefix", s->input[0], 0, err));
    HR_TRY(hr_expect_rank("tensor_names", s->input[1], 1, err));
    return hr_expect_rank("shape_and_slices", s->input[2], 1, err);
}

static hr_status merge_compute(hr_kernel *k, hr_error *err)
{
    const hr_tensor *prefixes = k->input[0];
    HR_TRY(hr_expect_rank("checkpoint_prefixes", prefixes->shape, 1, err));
    HR_TRY(hr_expect_rank("destination_prefix", k->input[1]->shape, 0, err));
    const char **from = hr_kernel_temp(k, sizeof *from * (size_t)(prefixes->count + 1));
    char *to = text_of(k, name_at(k, 1, 0));
    bool lacks = !from || !to;
    for (int64_t i = 0; !lacks && i < prefixes->count; i++)
        lacks = !(from[i] = text_of(k, ((const hr_view *)prefixes->data)[i]));
    if (lacks) return hr_no_memory(err, "a path");
    make_folder(to);
    return hr_bundle_merge(from, (int)prefixes->count, to, err,
                           .keep_folders = !hr_attr_bool(k->node, "delete_old_dirs"),
                           .allow_missing = hr_attr_bool(k->node, "allow_missing_files"));
}

#define CHECKPOINT_OP(NAME, COMPUTE, ...)                                                                              \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = (NAME), .traits = HR_STATEFUL | HR_NO_GRADIENT, .compute = (COMPUTE),        \
        __VA_ARGS__                                                                                                    \
    }

const hr_graph_op hr_graph_ops_checkpoint_ops[] = {
    CHECKPOINT_OP("SaveV2", save_compute, .types = "dtypes:any"),
    CHECKPOINT_OP("RestoreV2", restore_compute, .types = "dtypes:any", .shape = restore_shape),
    CHECKPOINT_OP("MergeV2Checkpoints", merge_compute, .types = NULL),
    HR_GRAPH_OPS_END,
};
