/* Writing a SavedModel: all of it in a folder of another name, which is renamed last. */
#include "train/saved_model/writer.h"
#include "io/sys.h"

#include <dirent.h>
#include <errno.h>
#include <headrace/io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- beginning ---- */

static hr_status writer_exists(const char *folder, hr_error *err)
{
    const hr_status st = hr_fail(err, HR_ALREADY_EXISTS, "savedmodel.exists",
                                 "%s: expected no file of that name and no folder but an empty one, found one", folder);
    hr_error_file(err, folder);
    return st;
}

/* Without slashes at its end. */
static char *folder_name(const char *folder)
{
    char *name = hr_strdup(folder);
    for (size_t size = name ? strlen(name) : 0; size > 1 && name[size - 1] == '/'; size--) name[size - 1] = 0;
    return name;
}

static hr_status make_temporary(hr_saved_model_writer *w, hr_error *err)
{
    const size_t size = strlen(w->folder) + sizeof ".temp-XXXXXX";
    HR_TRY(hr_make_folders_above(w->folder, err));
    w->temporary = hr_malloc(size);
    if (!w->temporary) return hr_no_memory(err, "a path");
    snprintf(w->temporary, size, "%s.temp-XXXXXX", w->folder);
    if (mkdtemp(w->temporary)) {
        (void)chmod(w->temporary, 0755); /* as other folders; mkdtemp lets nobody else in */
        return HR_OK;
    }
    const hr_status st = hr__sys_fail(err, errno, "file.open", w->temporary, "made");
    hr_free(w->temporary);
    w->temporary = NULL;
    return st;
}

/* An empty folder is in nobody's way. */
static bool is_taken(const char *folder)
{
    struct stat about;
    if (lstat(folder, &about) != 0) return false;
    DIR *dir = S_ISDIR(about.st_mode) ? opendir(folder) : NULL;
    int entries = 0;
    while (dir && readdir(dir)) entries++;
    if (dir) closedir(dir);
    return !dir || entries > 2;
}

hr_status hr_saved_model_writer_open_with(const char *folder, const hr_saved_model_writer_opts *given,
                                          hr_saved_model_writer **out, hr_error *err)
{
    const hr_saved_model_writer_opts opts = HR_OPTIONS(hr_saved_model_writer_opts, given);
    if (!folder || !*folder || !out)
        return hr_fail(err, HR_INVALID_ARGUMENT, "savedmodel.argument",
                       "hr_saved_model_writer_open: expected a folder and a place for the writer, got none");
    *out = NULL;
    hr_saved_model_writer *w = hr_calloc(1, sizeof *w);
    if (!w) return hr_no_memory(err, "a SavedModel");
    w->text = opts.text;
    w->folder = folder_name(folder);
    hr_status st = w->folder ? HR_OK : hr_no_memory(err, "a SavedModel");
    if (st == HR_OK && is_taken(w->folder)) st = writer_exists(w->folder, err);
    if (st == HR_OK) st = make_temporary(w, err);
    if (st == HR_OK)
        *out = w;
    else
        hr_saved_model_writer_discard(w);
    return st;
}

/* ---- files ---- */

char *hr__writer_path(const hr_saved_model_writer *w, const char *name) { return hr__path_in(w->temporary, name); }

static hr_status copy_bytes(hr_input *in, hr_output *out, hr_error *err)
{
    const char *data;
    size_t size;
    for (;;) {
        HR_TRY(hr_input_peek(in, 1, &data, &size, err));
        if (size == 0) return HR_OK;
        HR_TRY(hr_output_write(out, data, size, err));
        hr_input_consume(in, size);
    }
}

static hr_status copy_file(const char *from, const char *to, hr_error *err)
{
    hr_input *in;
    hr_output *out;
    HR_TRY(hr_make_folders_above(to, err));
    HR_TRY(hr_input_open_with(from, &(hr_input_opts){sizeof(hr_input_opts), .compression = HR_NONE}, &in, err));
    hr_status st =
        hr_output_open_with(to, &(hr_output_opts){sizeof(hr_output_opts), .compression = HR_NONE}, &out, err);
    if (st == HR_OK) {
        st = copy_bytes(in, out, err);
        if (st == HR_OK)
            st = hr_output_commit(out, err);
        else
            hr_output_discard(out);
    }
    hr_input_free(in);
    return st;
}

hr_status hr__writer_copy(const hr_saved_model_writer *w, const char *from, const char *name, hr_error *err)
{
    char *to = hr__writer_path(w, name);
    const hr_status st = to ? copy_file(from, to, err) : hr_no_memory(err, "a path");
    hr_free(to);
    return st;
}

/* ---- assets ---- */

static const hr__copied *copied_as(const hr_saved_model_writer *w, const char *filename)
{
    for (int i = 0; i < w->copied_count; i++)
        if (strcmp(w->copied[i].filename, filename) == 0) return &w->copied[i];
    return NULL;
}

/* "words.txt", "words.txt_1", "words.txt_2", ...: the first that no other file has. Gives *name, and whether the file
 * is there. */
static hr_status asset_name(const hr_saved_model_writer *w, const char *path, char **name, bool *there, hr_error *err)
{
    const char *slash = strrchr(path, '/'), *last = slash ? slash + 1 : path;
    const size_t size = strlen(last) + 16;
    *name = hr_malloc(size);
    *there = false;
    if (!*name) return hr_no_memory(err, "the name of a file");
    for (int i = 0; i <= w->copied_count; i++) {
        if (i == 0)
            snprintf(*name, size, "%s", last);
        else
            snprintf(*name, size, "%s_%d", last, i);
        const hr__copied *other = copied_as(w, *name);
        *there = other && strcmp(other->path, path) == 0;
        if (!other || *there) break;
    }
    return HR_OK;
}

static hr_status add_asset_file(hr_saved_model_writer *w, const char *path, char *name, hr_error *err)
{
    HR_TRY(hr__grow(&w->copied, w->copied_count, &w->copied_capacity, sizeof *w->copied, err));
    char *copy = hr_strdup(path), *below = hr__path_in("assets", name);
    hr_status st = copy && below ? hr__writer_copy(w, path, below, err) : hr_no_memory(err, "a path");
    hr_free(below);
    if (st == HR_OK)
        w->copied[w->copied_count++] = (hr__copied){copy, name};
    else
        hr_free(copy);
    return st;
}

hr_status hr__writer_asset(hr_saved_model_writer *w, const char *path, const char **filename, hr_error *err)
{
    char *name;
    bool there;
    HR_TRY(asset_name(w, path, &name, &there, err));
    if (there) {
        *filename = copied_as(w, name)->filename;
        hr_free(name);
        return HR_OK;
    }
    const hr_status st = add_asset_file(w, path, name, err);
    if (st != HR_OK) hr_free(name);
    if (st == HR_OK) *filename = name;
    return st;
}

hr_status hr_saved_model_writer_add_extra(hr_saved_model_writer *w, const char *name, const char *path, hr_error *err)
{
    if (!w || !name || !path || !hr__stays_within(name))
        return hr_fail(err, HR_INVALID_ARGUMENT, "savedmodel.argument",
                       "hr_saved_model_writer_add_extra: expected a name in 'assets.extra' and a file, got '%.100s'",
                       w && name ? name : "");
    hr_error failed = {0};
    char *below = hr__path_in("assets.extra", name);
    const hr_status st = below ? hr__writer_copy(w, path, below, &failed) : hr_no_memory(&failed, "a path");
    hr_free(below);
    if (st != HR_OK && err) *err = failed;
    return hr__writer_tell(w, st, &failed);
}

hr_status hr__writer_tell(hr_saved_model_writer *w, hr_status st, const hr_error *err)
{
    if (st == HR_OK || w->failed.code != HR_OK) return st;
    w->failed = *err;
    return st;
}

/* ---- the end ---- */

/* The file: a version of 1, and the graphs. */
static hr_status write_file(const hr_saved_model_writer *w, hr_error *err)
{
    hr_output *out;
    static const char version[] = {8, 1};
    static const char version_text[] = "saved_model_schema_version: 1\n";
    char *path = hr__writer_path(w, w->text ? "saved_model.pbtxt" : "saved_model.pb");
    if (!path) return hr_no_memory(err, "a path");
    hr_status st =
        hr_output_open_with(path, &(hr_output_opts){sizeof(hr_output_opts), .compression = HR_NONE}, &out, err);
    hr_free(path);
    if (st != HR_OK) return st;
    hr_output_write(out, w->text ? version_text : version, w->text ? sizeof version_text - 1 : 2, NULL);
    hr_output_write(out, w->graphs.data, w->graphs.size, NULL); /* a failure sticks */
    return hr_output_commit(out, err);
}

static hr_status commit_files(hr_saved_model_writer *w, hr_error *err)
{
    if (w->failed.code != HR_OK) {
        if (err) *err = w->failed;
        return w->failed.code;
    }
    if (w->graph_count == 0)
        return hr_fail(err, HR_FAILED_PRECONDITION, "savedmodel.empty", "%s: expected a graph to write, got none",
                       w->folder);
    hr_record_writer *warmup = w->warmup;
    w->warmup = NULL;
    if (warmup) HR_TRY(hr_record_writer_commit(warmup, err));
    HR_TRY(write_file(w, err));
    HR_TRY(hr__sync_folder(w->temporary, err));
    if (hr__sys_get()->rename(w->temporary, w->folder) == 0) return hr__sync_folder(w->folder, err);
    if (errno == ENOTEMPTY || errno == EEXIST || errno == ENOTDIR) return writer_exists(w->folder, err);
    return hr__sys_fail(err, errno, "file.rename", w->temporary, "renamed");
}

static void writer_free(hr_saved_model_writer *w)
{
    for (int i = 0; i < w->copied_count; i++) {
        hr_free(w->copied[i].path);
        hr_free(w->copied[i].filename);
    }
    hr_free(w->copied);
    hr__text_free(&w->graphs);
    hr_free(w->temporary);
    hr_free(w->folder);
    hr_free(w);
}

hr_status hr_saved_model_writer_commit(hr_saved_model_writer *w, hr_error *err)
{
    if (!w)
        return hr_fail(err, HR_INVALID_ARGUMENT, "savedmodel.argument",
                       "hr_saved_model_writer_commit: expected a writer, got NULL");
    const hr_status st = commit_files(w, err);
    if (st == HR_OK)
        writer_free(w);
    else
        hr_saved_model_writer_discard(w);
    return st;
}

void hr_saved_model_writer_discard(hr_saved_model_writer *w)
{
    if (!w) return;
    hr_record_writer_discard(w->warmup);
    if (w->temporary) hr__remove_tree(w->temporary);
    writer_free(w);
}
