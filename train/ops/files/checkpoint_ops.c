/* Checkpoints in TensorFlow's V2 format: tensors saved and restored by name, whole or in parts; several checkpoints as
 * one. */
#include <headrace/checkpoint.h>
#include <headrace/io.h>
#include <headrace/kernels.h>
#include <stdio.h>
#include <string.h>

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

static hr_status save_compute(hr_kernel *k, hr_error *err)
{
    hr_bundle_writer *writer;
    HR_TRY(check_names(k, k->inputs - 3, err));
    char *prefix, *name, *slice;
    HR_TRY(hr_kernel_text(k, name_at(k, 0, 0), &prefix, err));
    HR_TRY(hr_kernel_writes_file(k, prefix, err));
    /* What cannot be made is told when the file is opened. */
    if (hr_make_folders_above(prefix, err) == HR_RESOURCE_EXHAUSTED) return HR_RESOURCE_EXHAUSTED;
    HR_TRY(hr_bundle_writer_open(prefix, &writer, err));
    hr_status st = HR_OK;
    for (int i = 0; i < k->inputs - 3 && st == HR_OK; i++) {
        st = hr_kernel_text(k, name_at(k, 1, i), &name, err);
        if (st == HR_OK) st = hr_kernel_text(k, name_at(k, 2, i), &slice, err);
        if (st == HR_OK) st = hr_bundle_add_part(writer, name, slice, k->input[3 + i], err);
    }
    if (st == HR_OK) return hr_bundle_writer_commit(writer, err);
    hr_bundle_writer_discard(writer);
    return st;
}

static hr_status restore_one(hr_kernel *k, hr_bundle *bundle, int i, hr_error *err)
{
    const hr_attr *types = hr_node_attr(k->node, "dtypes");
    char *name, *slice;
    hr_tensor value;
    HR_TRY(hr_kernel_text(k, name_at(k, 1, i), &name, err));
    HR_TRY(hr_kernel_text(k, name_at(k, 2, i), &slice, err));
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

/* Whether the session's nodes may read the index, and then all data files that it says there are. `path`: with space
 * for 48 bytes more than the prefix. */
static hr_status may_read_index(hr_kernel *k, const char *prefix, char *path, size_t size, hr_error *err)
{
    snprintf(path, size, "%s.index", prefix);
    return hr_kernel_reads_file(k, path, err);
}

static hr_status may_read_data(hr_kernel *k, const char *prefix, int shards, char *path, size_t size, hr_error *err)
{
    if (shards > 99999)
        return hr_fail(err, HR_DATA_LOSS, "checkpoint.entry",
                       "%s: expected at most 99999 data files, got %d; the index is corrupt", prefix, shards);
    for (int i = 0; i < shards; i++) {
        snprintf(path, size, "%s.data-%05d-of-%05d", prefix, i, shards);
        HR_TRY(hr_kernel_reads_file(k, path, err));
    }
    return HR_OK;
}

static hr_status restore_compute(hr_kernel *k, hr_error *err)
{
    hr_bundle *bundle;
    HR_TRY(check_names(k, k->outputs, err));
    char *prefix, *path;
    HR_TRY(hr_kernel_text(k, name_at(k, 0, 0), &prefix, err));
    const size_t size = strlen(prefix) + 48;
    HR_TRY(hr_kernel_array(k, (int64_t)size, 1, "a path", &path, err));
    HR_TRY(may_read_index(k, prefix, path, size, err));
    HR_TRY(hr_bundle_open(prefix, &bundle, err));
    hr_status st = may_read_data(k, prefix, hr_bundle_shards(bundle), path, size, err);
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
    char **from, *to;
    HR_TRY(hr_kernel_array(k, prefixes->count, sizeof *from, "paths", &from, err));
    HR_TRY(hr_kernel_text(k, name_at(k, 1, 0), &to, err));
    HR_TRY(hr_kernel_writes_file(k, to, err));
    for (int i = 0; i < prefixes->count; i++) HR_TRY(hr_kernel_text(k, name_at(k, 0, i), &from[i], err));
    if (hr_make_folders_above(to, err) == HR_RESOURCE_EXHAUSTED) return HR_RESOURCE_EXHAUSTED;
    return hr_bundle_merge((const char *const *)from, (int)prefixes->count, to, err,
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
