/* Checkpoints that TensorFlow wrote, sound and damaged, and its rules for which are kept. */
#include "tests/golden/golden.h"
#include <headrace/checkpoint.h>
#include <headrace/graph_op.h>
#include <headrace/meta_graph.h>
#include <headrace/ops.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* One of the classes of its `error`. */
static golden_result compare_class(golden_case *c, const char *what, const cJSON *expectation, hr_status got)
{
    const char *class = golden_error_class(expectation);
    const cJSON *also, *others = golden_get(golden_get(expectation, "error"), "class_also");
    if (strcmp(hr_status_name(got), class) == 0) return GOLDEN_AGREES;
    cJSON_ArrayForEach(also, others)
    {
        if (strcmp(hr_status_name(got), also->valuestring) == 0) return GOLDEN_AGREES;
    }
    return golden_differs(c, "%s: %s, expected %s", what, hr_status_name(got), class);
}

/* ---- read ---- */

static golden_result check_tensor(golden_case *c, hr_bundle *b, const char *name, const cJSON *expected)
{
    hr_tensor got;
    hr_error err = {0};
    const char *class = golden_error_class(expected);
    hr_status st = hr_bundle_read(b, name, &got, &err);
    if (class) {
        hr_tensor_clear(&got);
        return compare_class(c, name, expected, st);
    }
    if (st != HR_OK) return golden_differs(c, "%s: %s", name, err.text);
    bool same = golden_equal_json(c, name, expected, &got);
    hr_tensor_clear(&got);
    return same ? GOLDEN_AGREES : GOLDEN_DIFFERS;
}

static golden_result check_all(golden_case *c, hr_bundle *b, const cJSON *tensors)
{
    const cJSON *t;
    int cut = (int)golden_int(c->json, "names_cut_to", 0), count = 0;
    const hr_bundle_entry *entry = NULL;
    if (cut && hr_bundle_list(b, &entry, &count, NULL) != HR_OK) return golden_differs(c, "the list cannot be read");
    cJSON_ArrayForEach(t, golden_fields(tensors))
    {
        const char *name = t->string;
        for (int i = 0; i < count; i++)
            if (strncmp(entry[i].name, t->string, (size_t)cut) == 0) name = entry[i].name;
        golden_result result = check_tensor(c, b, name, t);
        if (result != GOLDEN_AGREES) return result;
    }
    return GOLDEN_AGREES;
}

static hr_shape shape_of(const cJSON *dims)
{
    const cJSON *n;
    hr_shape shape = {0};
    cJSON_ArrayForEach(n, dims) shape.dims[shape.rank++] = golden_number_int64(n);
    return shape;
}

static golden_result check_entries(golden_case *c, hr_bundle *b, const cJSON *entries)
{
    const cJSON *e;
    const hr_bundle_entry *entry;
    int count;
    if (!entries) return GOLDEN_AGREES;
    if (hr_bundle_list(b, &entry, &count, NULL) != HR_OK) return golden_differs(c, "the list cannot be read");
    cJSON_ArrayForEach(e, golden_fields(entries))
    {
        int i = 0;
        if (strncmp(e->string, "hex:", 4) == 0) { /* a part of a variable: not listed by itself */
            golden_whole(e);
            continue;
        }
        while (i < count && strcmp(entry[i].name, e->string) != 0) i++;
        if (i == count) return golden_differs(c, "entry %s is missing", e->string);
        if (strcmp(hr_dtype_name(entry[i].dtype), golden_text(e, "dtype", "")) != 0)
            return golden_differs(c, "%s: dtype %s", e->string, hr_dtype_name(entry[i].dtype));
        if (!hr_shape_equal(entry[i].shape, shape_of(golden_get(e, "shape"))))
            return golden_differs(c, "%s: another shape", e->string);
        if (cJSON_GetArraySize(golden_get(e, "slices")) > 0) { /* its bytes are its slices' */
            golden_whole(e);
            continue;
        }
        if (entry[i].offset != golden_int(e, "offset", 0) || entry[i].size != golden_int(e, "size", 0) ||
            entry[i].shard != golden_int(e, "shard_id", 0) || entry[i].crc32c != (uint32_t)golden_int(e, "crc32c", 0))
            return golden_differs(c, "%s: offset, size, shard or checksum", e->string);
    }
    return GOLDEN_AGREES;
}

static golden_result check_slices(golden_case *c, hr_bundle *b, const cJSON *reads, const cJSON *results)
{
    const cJSON *read;
    int i = 0;
    const char *class = golden_error_class(c->json);
    cJSON_ArrayForEach(read, reads)
    {
        hr_tensor got;
        hr_error err = {0};
        const char *name = cJSON_GetArrayItem(read, 0)->valuestring, *slice = cJSON_GetArrayItem(read, 1)->valuestring;
        hr_status st = hr_bundle_read_slice(b, name, slice, &got, &err);
        if (class) {
            hr_tensor_clear(&got);
            return compare_class(c, name, c->json, st);
        }
        if (st != HR_OK) return golden_differs(c, "%s: %s", name, err.text);
        bool same = golden_equal_json(c, name, cJSON_GetArrayItem(results, i++), &got);
        hr_tensor_clear(&got);
        if (!same) return GOLDEN_DIFFERS;
    }
    return GOLDEN_AGREES;
}

static hr_node text_node(hr_graph *g, const char *text, hr_shape shape)
{
    const hr_view view = hr_text_view(text);
    const hr_tensor t = hr_tensor_of(HR_STRING, shape, &view);
    return hr_const(g, &t);
}

/* A node of RestoreV2 of that type. Of a part that lies outside of its tensor TensorFlow says Internal, since it fails
 * while it infers shapes. */
static golden_result run_restore(golden_case *c, const char *prefix, const cJSON *read, const char *class)
{
    hr_graph *g = hr_graph_new();
    hr_error err = {0};
    hr_tensor out = {0};
    const hr_dtype dtype = hr_dtype_named(golden_text(c->json, "dtype", ""));
    const hr_node node = hr_new_node(g, "RestoreV2",
                                     HR_INPUTS(text_node(g, prefix, HR_SCALAR),
                                               text_node(g, cJSON_GetArrayItem(read, 0)->valuestring, HR_SHAPE(1)),
                                               text_node(g, cJSON_GetArrayItem(read, 1)->valuestring, HR_SHAPE(1))),
                                     HR_ATTRS(HR_TYPES_ATTR("dtypes", &dtype, 1)));
    hr_session *s = hr_session_new(g);
    const hr_status st = hr_session_run(s, NULL, 0, &node, 1, &out, &err);
    hr_tensor_clear(&out);
    hr_session_free(s);
    hr_graph_free(g);
    if (strcmp(class, "Internal") == 0 && st == HR_INVALID_ARGUMENT) return GOLDEN_AGREES;
    return compare_class(c, "a node of RestoreV2", c->json, st);
}

static golden_result run_read(golden_case *c)
{
    char prefix[1024];
    hr_bundle *b;
    hr_error err = {0};
    snprintf(prefix, sizeof prefix, "%s/%s", c->folder, golden_text(c->json, "prefix", ""));
    const cJSON *expect = golden_get(golden_expectation(c->json, false), "expect"),
                *reads = golden_get(c->json, "reads");
    hr_status st = hr_bundle_open(prefix, &b, &err);
    const char *class = golden_error_class(c->json);
    if (class && !reads) {
        hr_bundle_free(b);
        return compare_class(c, "opening", c->json, st);
    }
    if (st != HR_OK) return golden_differs(c, "opening: %s", err.text);
    if (reads && class && golden_text(c->json, "dtype", NULL)) {
        hr_bundle_free(b);
        return run_restore(c, prefix, cJSON_GetArrayItem(reads, 0), class);
    }
    golden_result result = reads ? check_slices(c, b, reads, golden_get(expect, "results"))
                                 : check_all(c, b, golden_get(expect, "tensors"));
    if (result == GOLDEN_AGREES) result = check_entries(c, b, golden_get(expect, "entries"));
    const cJSON *header = golden_get(expect, "header");
    golden_get(header, "producer"), golden_get(header, "endianness");     /* what is not little-endian does not open */
    golden_get(expect, "index_blocks"), golden_get(expect, "state_text"); /* of TensorFlow's file; see `entries` */
    if (result == GOLDEN_AGREES && golden_bool(golden_get(c->json, "default"), "report", false) &&
        hr_bundle_check(b, &err) == HR_OK)
        result = golden_differs(c, "nothing is said of damage that no tensor meets");
    if (result == GOLDEN_AGREES && golden_get(expect, "count")) {
        const hr_bundle_entry *entry;
        int count = 0;
        hr_bundle_list(b, &entry, &count, NULL);
        if (count != golden_int(expect, "count", -1)) result = golden_differs(c, "%d entries", count);
    }
    if (result == GOLDEN_AGREES && golden_int(header, "num_shards", hr_bundle_shards(b)) != hr_bundle_shards(b))
        result = golden_differs(c, "%d shards", hr_bundle_shards(b));
    hr_bundle_free(b);
    return result;
}

/* ---- write ---- */

static bool same_files(const char *a, const char *b)
{
    char command[4096];
    snprintf(command, sizeof command, "cmp -s '%s' '%s'", a, b);
    return system(command) == 0;
}

static golden_result run_write(golden_case *c)
{
    static const char *const ending[] = {".index", ".data-00000-of-00001"};
    hr_bundle_writer *w;
    hr_error err = {0};
    const cJSON *pair;
    golden_whole(golden_get(c->json, "expect")); /* what is in the files: their bytes are compared */
    if (hr_bundle_writer_open("written", &w, &err) != HR_OK) return golden_differs(c, "%s", err.text);
    cJSON_ArrayForEach(pair, golden_get(c->json, "tensors"))
    {
        hr_tensor t;
        golden_tensor(cJSON_GetArrayItem(pair, 1), &t);
        hr_status st = hr_bundle_add(w, cJSON_GetArrayItem(pair, 0)->valuestring, &t, &err);
        golden_tensor_clear(&t);
        if (st != HR_OK) {
            hr_bundle_writer_discard(w);
            return golden_differs(c, "%s", err.text);
        }
    }
    if (hr_bundle_writer_commit(w, &err) != HR_OK) return golden_differs(c, "%s", err.text);
    for (int i = 0; i < 2; i++) {
        char theirs[1024], ours[64];
        snprintf(theirs, sizeof theirs, "%s/%s%s", c->folder, golden_text(c->json, "prefix", ""), ending[i]);
        snprintf(ours, sizeof ours, "written%s", ending[i]);
        if (!same_files(theirs, ours)) return golden_differs(c, "%s has other bytes", ending[i]);
    }
    return GOLDEN_AGREES;
}

/* ---- which there are ---- */

static void make_file(const char *path, const char *text)
{
    char folder[1024];
    snprintf(folder, sizeof folder, "%s", path);
    for (char *slash = strchr(folder + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(folder, 0777);
        *slash = '/';
    }
    FILE *f = fopen(path, "w");
    if (!f) return;
    fputs(text, f);
    fclose(f);
}

static void remove_all(const char *folder)
{
    char command[1100];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command) != 0) abort();
}

static void count_warning(hr_level level, const char *text, void *count)
{
    (void)text;
    *(int *)count += level == HR_WARNING;
}

static golden_result run_state(golden_case *c, bool tf_compat)
{
    const char *folder = golden_text(c->json, "directory", "run"), *text = golden_text(c->json, "state_text", NULL);
    const char *filename = golden_text(c->json, "latest_filename", NULL);
    char path[1024];
    const cJSON *file, *by_default = golden_get(c->json, "default");
    remove_all(folder);
    mkdir(folder, 0777);
    cJSON_ArrayForEach(file, golden_get(c->json, "files")) make_file(file->valuestring, "");
    snprintf(path, sizeof path, "%s/%s", folder, filename ? filename : "checkpoint");
    if (text) make_file(path, text);
    char *latest;
    hr_error err = {0};
    int warnings = 0;
    hr_set_log(count_warning, &warnings);
    hr_status st = hr_latest_checkpoint(folder, &latest, &err, .filename = filename, .tf_compat = tf_compat);
    hr_set_log(NULL, NULL);
    const char *class = golden_error_class(c->json);
    golden_result result = GOLDEN_AGREES;
    const char *expected = golden_text(golden_get(c->json, "expect"), "latest", NULL);
    golden_get(golden_get(c->json, "expect"), "paths"); /* of all: there is no call that gives them */
    if (!tf_compat && golden_get(by_default, "latest")) expected = golden_text(by_default, "latest", NULL);
    if (class)
        result = compare_class(c, "latest", c->json, st);
    else if (st != HR_OK)
        result = golden_differs(c, "%s", err.text);
    else if ((latest == NULL) != (expected == NULL) || (latest && strcmp(latest, expected) != 0))
        result = golden_differs(c, "latest is %s, expected %s", latest ? latest : "none", expected ? expected : "none");
    else if (golden_bool(by_default, "report", false) && warnings == 0)
        result = golden_differs(c, "nothing is said of it");
    hr_free(latest);
    remove_all(folder);
    return result;
}

/* ---- which are kept ---- */

static double now;
static double clock_of_case(void *user)
{
    (void)user;
    return now;
}

static golden_result check_folder(golden_case *c, const char *folder, const cJSON *expect)
{
    const cJSON *file;
    int wanted = 0, there = 0;
    char path[2048], text[8192] = "";
    cJSON_ArrayForEach(file, golden_get(expect, "files"))
    {
        snprintf(path, sizeof path, "%s/%s", folder, file->valuestring);
        if (access(path, F_OK) != 0) return golden_differs(c, "%s is missing", path);
        wanted++;
    }
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));) there += e->d_name[0] != '.';
    if (d) closedir(d);
    if (there != wanted) return golden_differs(c, "%d files, expected %d", there, wanted);
    snprintf(path, sizeof path, "%s/checkpoint", folder);
    FILE *f = fopen(path, "r");
    if (f) text[fread(text, 1, sizeof text - 1, f)] = '\0';
    if (f) fclose(f);
    const char *state = golden_text(expect, "state", "");
    golden_get(expect, "last_checkpoints"), golden_get(expect, "checkpoints"); /* the state names them */
    return strcmp(text, state) == 0 ? GOLDEN_AGREES : golden_differs(c, "state \"%s\", expected \"%s\"", text, state);
}

/* MetaGraphDef beside a checkpoint: TensorFlow's saver writes it last. */
static hr_status save_meta(const char *prefix, hr_error *err)
{
    char path[600];
    hr_graph *g = hr_graph_new();
    hr_global_step(g);
    snprintf(path, sizeof path, "%s.meta", prefix);
    const hr_status st = hr_meta_graph_write(g, NULL, path, err);
    hr_graph_free(g);
    return st;
}

static hr_status save_one(golden_case *c, const cJSON *save, const char *folder, hr_saver *saver, hr_error *err)
{
    char prefix[512];
    hr_bundle_writer *w;
    const int64_t number = golden_int(save, "step", 0);
    const hr_tensor step = hr_tensor_of(HR_INT64, HR_SCALAR, &number);
    now = golden_number_double(golden_get(save, "time"));
    snprintf(prefix, sizeof prefix, "%s/%s-%lld", folder, golden_text(c->json, "basename", "model.ckpt"),
             (long long)number);
    HR_TRY(hr_bundle_writer_open(prefix, &w, err));
    hr_bundle_add(w, "global_step", &step, err);
    HR_TRY(hr_bundle_writer_commit(w, err));
    HR_TRY(hr_saver_saved(saver, prefix, err));
    return golden_bool(c->json, "write_meta_graph", false) ? save_meta(prefix, err) : HR_OK;
}

static hr_status open_saver(golden_case *c, const char *folder, bool manager, hr_saver **saver, hr_error *err)
{
    const cJSON *hours = golden_get(c->json, "keep_checkpoint_every_n_hours"),
                *keep = golden_get(c->json, "max_to_keep");
    const int64_t kept = cJSON_IsNull(keep) ? 0 : golden_int(c->json, "max_to_keep", 0);
    HR_TRY(hr_saver_open(folder, saver, err, .max_to_keep = &kept,
                         .keep_every_n_hours = cJSON_IsNull(hours) ? 0 : golden_number_double(hours),
                         .relative_paths = manager || golden_bool(c->json, "save_relative_paths", false),
                         .now = clock_of_case, .manager = manager));
    return manager ? hr_saver_recover(*saver, NULL, err) : HR_OK; /* TensorFlow's constructor does it itself */
}

static golden_result save_all(golden_case *c, const char *folder, bool manager, hr_saver **saver)
{
    hr_error err = {0};
    const cJSON *save;
    int i = 0;
    const int64_t renewed = golden_int(c->json, "new_manager_before_save", -1);
    cJSON_ArrayForEach(save, golden_get(c->json, "saves"))
    {
        hr_status st = HR_OK;
        if (i == renewed) {
            hr_saver_free(*saver);
            st = open_saver(c, folder, manager, saver, &err);
        }
        if (st == HR_OK) st = save_one(c, save, folder, *saver, &err);
        if (st != HR_OK) return golden_differs(c, "%s", err.text);
        golden_result result = check_folder(c, folder, cJSON_GetArrayItem(golden_get(c->json, "expect"), i++));
        if (result != GOLDEN_AGREES) return result;
    }
    return GOLDEN_AGREES;
}

static golden_result run_saver(golden_case *c, bool manager)
{
    const char *folder = golden_text(c->json, "directory", "saver");
    hr_saver *saver;
    hr_error err = {0};
    golden_get(c->json, "sharded"); /* on one device it is one file, named as if it were not */
    now = golden_number_double(golden_get(c->json, "created_at"));
    mkdir(folder, 0777);
    const hr_status st = open_saver(c, folder, manager, &saver, &err);
    golden_result result = st == HR_OK ? save_all(c, folder, manager, &saver) : golden_differs(c, "%s", err.text);
    hr_saver_free(saver);
    remove_all(folder);
    return result;
}

static golden_result run_case(golden_case *c)
{
    const char *kind = golden_text(c->json, "kind", "");
    if (strcmp(kind, "read") == 0) return run_read(c);
    if (strcmp(kind, "write") == 0) return run_write(c);
    if (strcmp(kind, "saver") == 0) return run_saver(c, false);
    if (strcmp(kind, "manager") == 0) return run_saver(c, true);
    if (strcmp(kind, "state") != 0) return golden_not_built(c, "%s", kind);
    golden_result result = run_state(c, false);
    return result == GOLDEN_AGREES ? run_state(c, true) : result;
}

int main(void) { return golden_main("checkpoint", GOLDEN_ROOT, run_case); }
