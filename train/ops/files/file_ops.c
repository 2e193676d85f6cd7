/* Files as strings: read, written, found by patterns; the names of shards. */
#include <headrace/io.h>
#include <headrace/kernels.h>
#include <stdio.h>
#include <stdlib.h>

/* Input i, a scalar, as a C string of the run. A 0 within it would cut the path. */
static hr_status path_input(hr_kernel *k, int i, const char *what, char **path, hr_error *err)
{
    const hr_tensor *t = k->input[i];
    HR_TRY(hr_expect_rank(what, t->shape, 0, err));
    const hr_view from = *(const hr_view *)t->data;
    if (from.size && memchr(from.data, '\0', (size_t)from.size))
        return hr_fail(err, HR_INVALID_ARGUMENT, "file.name", "%s: expected a path, got one with a byte of 0", what);
    return hr_kernel_text(k, from, path, err);
}

static hr_status read_compute(hr_kernel *k, hr_error *err)
{
    hr_strings contents = {0};
    hr_input *in;
    const char *data;
    char *path;
    size_t size;
    HR_TRY(path_input(k, 0, "filename", &path, err));
    HR_TRY(hr_kernel_reads_file(k, path, err));
    HR_TRY(hr_input_open_with(path, &(hr_input_opts){sizeof(hr_input_opts), .compression = HR_NONE}, &in, err));
    hr_status st;
    while ((st = hr_input_peek(in, 1, &data, &size, err)) == HR_OK && size > 0) {
        hr_strings_add(&contents, (hr_view){data, (int64_t)size});
        hr_input_consume(in, size);
        if (contents.failed || hr_kernel_cancelled(k)) break;
    }
    hr_input_free(in);
    hr_strings_end(&contents);
    if (st == HR_OK) return hr_strings_give(&contents, k, 0, HR_SCALAR, err);
    hr_strings_free(&contents);
    return st;
}

static hr_status write_compute(hr_kernel *k, hr_error *err)
{
    hr_output *out;
    char *path;
    HR_TRY(path_input(k, 0, "filename", &path, err));
    HR_TRY(hr_expect_rank("contents", k->input[1]->shape, 0, err));
    HR_TRY(hr_kernel_writes_file(k, path, err));
    /* What cannot be made is told when the file is opened. */
    if (hr_make_folders_above(path, err) == HR_RESOURCE_EXHAUSTED) return HR_RESOURCE_EXHAUSTED;
    HR_TRY(hr_output_open_with(path, &(hr_output_opts){sizeof(hr_output_opts), .compression = HR_NONE}, &out, err));
    const hr_view contents = *(const hr_view *)k->input[1]->data;
    hr_output_write(out, contents.data, (size_t)contents.size, NULL); /* a failure sticks */
    return hr_output_commit(out, err);
}

/* One pattern's files; none is no error. */
static hr_status match_one(hr_kernel *k, hr_view pattern, hr_file_list *files, hr_error *err)
{
    hr_error own;
    char *text;
    HR_TRY(hr_kernel_text(k, pattern, &text, err));
    const hr_status st = hr_match_files(text, files, &own);
    if (st == HR_NOT_FOUND) return HR_OK;
    if (st != HR_OK && err) *err = own;
    return st;
}

static int by_path(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static hr_status matching_compute(hr_kernel *k, hr_error *err)
{
    const hr_tensor *patterns = k->input[0];
    hr_file_list all = {0};
    hr_strings names = {0};
    hr_status st = HR_OK;
    if (patterns->shape.rank > 1)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                       "Input patterns tensor must be scalar or vector, got rank %d", patterns->shape.rank);
    for (int64_t i = 0; i < patterns->count && st == HR_OK; i++) {
        hr_file_list some = {0};
        st = match_one(k, ((const hr_view *)patterns->data)[i], &some, err);
        for (int64_t j = 0; j < some.count && st == HR_OK; j++) {
            st = hr_kernel_reads_file(k, some.path[j], err);
            if (st == HR_OK) st = hr_file_list_add(&all, some.path[j], err);
        }
        hr_file_list_clear(&some);
    }
    if (all.count) qsort(all.path, (size_t)all.count, sizeof *all.path, by_path);
    for (int64_t i = 0; i < all.count; i++) {
        hr_strings_add(&names, hr_text_view(all.path[i]));
        hr_strings_end(&names);
    }
    const int64_t count = all.count;
    hr_file_list_clear(&all);
    if (st == HR_OK) return hr_strings_give(&names, k, 0, HR_SHAPE(count), err);
    hr_strings_free(&names);
    return st;
}

/* ---- "name-00002-of-00010", and the pattern of all shards ---- */

static hr_status shard_compute(hr_kernel *k, hr_error *err)
{
    const bool all = k->inputs == 2;
    char end[64];
    hr_strings name = {0};
    for (int i = 0; i < k->inputs; i++)
        HR_TRY(hr_expect_rank(i == 0          ? "basename"
                              : all || i == 2 ? "num_shards"
                                              : "shard",
                              k->input[i]->shape, 0, err));
    const int shards = *(const int32_t *)k->input[k->inputs - 1]->data;
    if (all)
        snprintf(end, sizeof end, "-?\?\?\?\?-of-%05d", shards);
    else
        snprintf(end, sizeof end, "-%05d-of-%05d", *(const int32_t *)k->input[1]->data, shards);
    hr_strings_add(&name, *(const hr_view *)k->input[0]->data);
    hr_strings_add(&name, hr_text_view(end));
    hr_strings_end(&name);
    return hr_strings_give(&name, k, 0, HR_SCALAR, err);
}

#define FILE_OP(NAME, TRAITS, SHAPES, COMPUTE)                                                                         \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = (NAME), .traits = HR_NO_GRADIENT | (TRAITS), .shapes = (SHAPES),             \
        .compute = (COMPUTE),                                                                                          \
    }

/* What is read may change from run to run. */
const hr_graph_op hr_graph_ops_file_ops[] = {
    FILE_OP("ReadFile", HR_STATEFUL, "[] -> []", read_compute),
    FILE_OP("WriteFile", HR_STATEFUL, "[], []", write_compute),
    FILE_OP("MatchingFiles", HR_STATEFUL, "? -> [?]", matching_compute),
    FILE_OP("ShardedFilename", 0, "[], [], [] -> []", shard_compute),
    FILE_OP("ShardedFilespec", 0, "[], [] -> []", shard_compute),
    HR_GRAPH_OPS_END,
};
