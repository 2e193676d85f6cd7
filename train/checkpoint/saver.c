/* Which checkpoints a folder keeps: the newest ones, and one in so many hours for ever. The state file is replaced
 * before anything is removed, so that it never names what is gone. */
#include <headrace/checkpoint.h>
#include <headrace/io.h>
#include "io/sys.h"
#include "train/checkpoint/state_file.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

typedef struct kept {
    char *prefix;
    double time;
} kept;

struct hr_saver {
    char *folder;
    int64_t max_to_keep;
    double hours, next_kept; /* a checkpoint saved after next_kept stays for ever */
    bool relative;
    double (*now)(void *user);
    void *user;
    kept *list; /* oldest first */
    int count;
};

static double clock_now(void *user)
{
    (void)user;
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* "folder/name"; a name that is absolute stays. Gives. */
static char *join(const char *folder, const char *name)
{
    if (name[0] == '/' || !folder[0]) return hr_strdup(name);
    size_t size = strlen(folder) + strlen(name) + 2;
    char *path = hr_malloc(size);
    if (path) snprintf(path, size, "%s%s%s", folder, folder[strlen(folder) - 1] == '/' ? "" : "/", name);
    return path;
}

/* ---- the latest ---- */

static bool exists(const char *path, bool as_pattern)
{
    struct stat about;
    hr_file_list files = {0};
    if (!as_pattern) return stat(path, &about) == 0;
    bool found = hr_match_files(path, &files, NULL) == HR_OK && files.count > 0 && stat(files.path[0], &about) == 0;
    hr_file_list_clear(&files);
    return found;
}

/* P.index of a V2 checkpoint, or P itself, as the first format had it. */
static hr_status is_there(const char *prefix, bool as_pattern, bool *found, hr_error *err)
{
    char *index = hr_malloc(strlen(prefix) + sizeof ".index");
    if (!index) return hr_no_memory(err, "a path");
    sprintf(index, "%s.index", prefix);
    *found = exists(index, as_pattern) || exists(prefix, as_pattern);
    hr_free(index);
    return HR_OK;
}

static hr_status find_latest(const char *folder, const char *path, bool as_pattern, char **prefix, hr_error *err)
{
    hr__state state;
    hr_error unread;
    hr_status st = hr__state_read(path, &state, &unread);
    if (st == HR_DATA_LOSS) hr_log_message(HR_WARNING, "%s; it counts as no checkpoint", unread.text);
    if (st == HR_NOT_FOUND || st == HR_DATA_LOSS) return HR_OK;
    if (st != HR_OK) {
        if (err) *err = unread;
        return st;
    }
    char *latest = state.latest ? join(folder, state.latest) : NULL;
    if (!state.latest)
        st = hr_fail(err, HR_INVALID_ARGUMENT, "checkpoint.state", "%s: it names no model_checkpoint_path", path);
    else if (!latest)
        st = hr_no_memory(err, "a path");
    bool found = false;
    if (latest) st = is_there(latest, as_pattern, &found, err);
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
    *prefix = NULL;
    char *path = join(folder, opts->filename ? opts->filename : "checkpoint");
    if (!path) return hr_no_memory(err, "a path");
    hr_status st = find_latest(folder, path, opts->tf_compat, prefix, err);
    hr_free(path);
    return st;
}

/* ---- the saver ---- */

hr_status hr_saver_open_with(const char *folder, const hr_saver_opts *opts, hr_saver **out, hr_error *err)
{
    hr_saver *s = *out = hr_calloc(1, sizeof *s);
    if (!s) return hr_no_memory(err, "a saver");
    s->max_to_keep = opts->max_to_keep ? *opts->max_to_keep : 5;
    s->hours = opts->keep_every_n_hours > 0 ? opts->keep_every_n_hours : 10000;
    s->relative = opts->relative_paths;
    s->now = opts->now ? opts->now : clock_now;
    s->user = opts->user;
    s->next_kept = s->now(s->user) + s->hours * 3600;
    s->folder = hr_strdup(folder);
    if (s->folder) return HR_OK;
    hr_saver_free(s);
    *out = NULL;
    return hr_no_memory(err, "a saver");
}

void hr_saver_free(hr_saver *s)
{
    if (!s) return;
    for (int i = 0; i < s->count; i++) hr_free(s->list[i].prefix);
    hr_free(s->list);
    hr_free(s->folder);
    hr_free(s);
}

static hr_status append_kept(hr_saver *s, char *prefix, double time, hr_error *err)
{
    kept *grown = prefix ? hr_realloc(s->list, ((size_t)s->count + 1) * sizeof *grown) : NULL;
    if (!grown) {
        hr_free(prefix);
        return hr_no_memory(err, "the list of checkpoints");
    }
    s->list = grown;
    s->list[s->count++] = (kept){prefix, time};
    return HR_OK;
}

static kept remove_kept(hr_saver *s, int i)
{
    kept removed = s->list[i];
    memmove(s->list + i, s->list + i + 1, (size_t)(--s->count - i) * sizeof *s->list);
    return removed;
}

static double file_time(const char *prefix)
{
    char path[4096];
    struct stat about;
    snprintf(path, sizeof path, "%s.index", prefix);
    return stat(path, &about) == 0 ? (double)about.st_mtim.tv_sec + (double)about.st_mtim.tv_nsec * 1e-9 : -1;
}

hr_status hr_saver_recover(hr_saver *s, hr_error *err)
{
    hr__state state;
    char *path = join(s->folder, "checkpoint");
    if (!path) return hr_no_memory(err, "a path");
    hr_status st = hr__state_read(path, &state, err);
    hr_free(path);
    for (int i = 0; i < state.count && st == HR_OK; i++) {
        char *prefix = join(s->folder, state.all[i]);
        double time = prefix ? file_time(prefix) : 0;
        if (time < 0)
            hr_free(prefix); /* gone meanwhile */
        else
            st = append_kept(s, prefix, time, err);
    }
    hr__state_clear(&state);
    return st == HR_NOT_FOUND || st == HR_DATA_LOSS ? HR_OK : st;
}

/* Where the folder itself is relative, so are the paths in its file: it could not be found otherwise. */
static const char *as_written(const hr_saver *s, const char *prefix)
{
    size_t size = strlen(s->folder);
    if ((!s->relative && s->folder[0] == '/') || strncmp(prefix, s->folder, size) != 0) return prefix;
    prefix += size;
    return prefix + strspn(prefix, "/");
}

static hr_status write_state(hr_saver *s, const char *latest, hr_error *err)
{
    const bool unlisted = s->count == 0;
    hr__state state = {.count = s->count + unlisted};
    char *path = join(s->folder, "checkpoint");
    state.all = hr_calloc((size_t)s->count + 1, sizeof *state.all);
    hr_status st = path && state.all ? HR_OK : hr_no_memory(err, "a state file");
    if (st == HR_OK && unlisted) state.all[0] = (char *)as_written(s, latest);
    for (int i = 0; i < s->count && st == HR_OK; i++) state.all[i] = (char *)as_written(s, s->list[i].prefix);
    state.latest = (char *)as_written(s, latest);
    if (st == HR_OK) st = hr__state_write(path, &state, err);
    hr_free(state.all);
    hr_free(path);
    return st;
}

/* P.index, P.meta, P.data-*: what cannot be removed stays, that is no reason to stop a training. */
static void remove_files(const char *prefix)
{
    static const char *const ending[] = {".meta", ".index", ".data-*-of-*"};
    char pattern[4096];
    for (size_t e = 0; e < sizeof ending / sizeof *ending; e++) {
        hr_file_list files = {0};
        snprintf(pattern, sizeof pattern, "%s%s", prefix, ending[e]);
        if (hr_match_files(pattern, &files, NULL) != HR_OK) continue;
        for (int64_t i = 0; i < files.count; i++) hr__sys_get()->unlink(files.path[i]);
        hr_file_list_clear(&files);
    }
}

hr_status hr_saver_saved(hr_saver *s, const char *prefix, hr_error *err)
{
    for (int i = 0; i < s->count; i++)
        if (strcmp(s->list[i].prefix, prefix) == 0) hr_free(remove_kept(s, i--).prefix); /* saved again: the newest */
    if (s->max_to_keep == 0) return write_state(s, prefix, err); /* all are kept, so none is listed but the latest */
    HR_TRY(append_kept(s, hr_strdup(prefix), s->now(s->user), err));
    kept oldest = {0};
    if (s->max_to_keep > 0 && s->count > s->max_to_keep) oldest = remove_kept(s, 0);
    hr_status st = write_state(s, prefix, err);
    if (oldest.prefix && oldest.time > s->next_kept)
        s->next_kept += s->hours * 3600;
    else if (oldest.prefix && st == HR_OK)
        remove_files(oldest.prefix);
    hr_free(oldest.prefix);
    return st;
}
