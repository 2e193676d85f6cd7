/* Which checkpoint of a folder is the latest: as TensorFlow answers, and as a training may continue from. */
#include "base/text.h"
#include "io/match.h"
#include "train/checkpoint/folder.h"
#include "train/checkpoint/state_file.h"
#include <headrace/checkpoint.h>
#include <string.h>
#include <unistd.h>

/* ---- as TensorFlow answers ---- */

/* TensorFlow looks for the path as if it were a pattern: with tf_compat, one that does not match itself is
 * not there. */
static bool latest_is_there(const char *path, bool tf_compat)
{
    return access(path, F_OK) == 0 && (!tf_compat || hr__glob_matches(path, path));
}

/* P.index of a V2 checkpoint, or P itself, as the first format had it. */
static hr_status prefix_is_there(const char *prefix, bool tf_compat, bool *found, hr_error *err)
{
    hr__text index = {0};
    hr__text_printf(&index, "%s.index", prefix);
    HR_TRY(hr__text_status(&index, "a path", err));
    *found = latest_is_there(index.data, tf_compat) || latest_is_there(prefix, tf_compat);
    hr__text_free(&index);
    return HR_OK;
}

static hr_status find_latest(const char *folder, const char *path, bool tf_compat, char **prefix, hr_error *err)
{
    hr__state state;
    bool there;
    hr_status st = HR_OK;
    HR_TRY(hr__state_read(path, &state, &there, err));
    if (!there) return HR_OK;
    char *latest = hr__path_in(folder, state.latest);
    if (!state.latest)
        st = hr_fail(err, HR_INVALID_ARGUMENT, "checkpoint.state", "%s: it names no model_checkpoint_path", path);
    else if (!latest)
        st = hr_no_memory(err, "a path");
    bool found = false;
    if (latest) st = prefix_is_there(latest, tf_compat, &found, err);
    if (found)
        *prefix = latest;
    else
        hr_free(latest);
    hr__state_clear(&state);
    return st;
}

hr_status hr_latest_checkpoint_with(const char *folder, const hr_latest_checkpoint_opts *opts, char **prefix,
                                    hr_error *err)
{
    const hr_latest_checkpoint_opts o = HR_OPTIONS(hr_latest_checkpoint_opts, opts);
    if (prefix) *prefix = NULL;
    if (!folder || !prefix) return hr__checkpoint_lacks("a folder, and a place for the path", err);
    char *path = hr__path_in(folder, o.filename ? o.filename : "checkpoint");
    if (!path) return hr_no_memory(err, "a path");
    hr_status st = find_latest(folder, path, o.tf_compat, prefix, err);
    hr_free(path);
    return st;
}

/* ---- as a training may continue from ---- */

static hr_status latest_note_file(const char *path, void *user, hr_error *err)
{
    (void)path, (void)err;
    *(bool *)user = true;
    return HR_OK;
}

/* Opens all of it that can be checked without reading the tensors. */
static hr_status check_whole(const char *prefix, hr_error *err)
{
    hr_bundle *b;
    HR_TRY(hr_bundle_open(prefix, &b, err));
    hr_status st = hr__bundle_is_complete(b, err);
    hr_bundle_free(b);
    return st;
}

/* The number of the first whole one, `all->count` if none is. *damage: of the first one that is there in part; code 0:
 * there is no such one. */
static hr_status first_whole(const hr__checkpoint_list *all, int *which, hr_error *damage, hr_error *err)
{
    for (*which = 0; *which < all->count; ++*which) {
        const char *prefix = all->prefix[*which];
        hr_error why = {0};
        bool in_part = false;
        const hr_status st = check_whole(prefix, &why);
        if (st == HR_OK) return HR_OK;
        if (st == HR_RESOURCE_EXHAUSTED) {
            *err = why;
            return st;
        }
        HR_TRY(hr__checkpoint_each_file(prefix, latest_note_file, &in_part, err));
        if (in_part && !damage->code) *damage = why;
        hr_log_message(HR_WARNING, "%s is incomplete: %s", prefix, why.text);
    }
    return HR_OK;
}

hr_status hr_whole_checkpoint(const char *folder, char **prefix, hr_error *err)
{
    hr__checkpoint_list all;
    hr_error damage = {0}, local;
    int which;
    if (prefix) *prefix = NULL;
    if (!err) err = &local;
    if (!folder || !prefix) return hr__checkpoint_lacks("a folder, and a place for the path", err);
    HR_TRY(hr__checkpoint_list_folder(folder, &all, err));
    hr_status st = first_whole(&all, &which, &damage, err);
    if (st == HR_OK && which < all.count) {
        *prefix = hr_strdup(all.prefix[which]);
        if (!*prefix) st = hr_no_memory(err, "a path");
        if (st == HR_OK && (which > 0 || all.listed == 0))
            hr_log_message(HR_WARNING, "%s is the newest complete checkpoint", *prefix);
    } else if (st == HR_OK && damage.code) {
        st = hr_fail(err, HR_DATA_LOSS, "checkpoint.incomplete",
                     "%s: expected a complete checkpoint, found only parts (%s); restore the missing files, or remove "
                     "the checkpoints to start again",
                     folder, damage.text);
    } else if (st == HR_OK && all.count > 0) {
        hr_log_message(HR_WARNING, "%s: its state file names %s, but all checkpoints are gone", folder, all.prefix[0]);
    }
    hr__checkpoint_list_clear(&all);
    return st;
}
