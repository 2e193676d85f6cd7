/* Which checkpoints a folder keeps: the newest ones, and one in so many hours for ever. The state file is replaced
 * before anything is removed, so that it never names what is gone. Only checkpoints that lie in the folder itself are
 * listed after a restart, and so removed, whatever paths the state file holds. */
#include <headrace/checkpoint.h>
#include "base/clock.h"
#include "base/text.h"
#include "io/sys.h"
#include "train/checkpoint/folder.h"
#include "train/checkpoint/state_file.h"
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct kept {
    char *prefix;
    double time;
} kept;

struct hr_saver {
    char *folder;
    int64_t max_to_keep;
    double hours, next_kept; /* a checkpoint saved after next_kept stays for ever */
    bool relative, manager;
    double preserved; /* of a manager: when the last one that stays for ever was saved */
    double (*now)(void *user);
    void *user;
    kept *list; /* oldest first */
    int count;
};

/* ---- the saver ---- */

char *hr_checkpoint_prefix(const char *folder, const char *basename, int64_t step)
{
    hr__text name = {0};
    if (step < 0) return hr__path_in(folder, basename);
    hr__text_printf(&name, "%s-%lld", basename, (long long)step);
    char *prefix = name.failed ? NULL : hr__path_in(folder, name.data);
    hr__text_free(&name);
    return prefix;
}

hr_status hr_saver_open_with(const char *folder, const hr_saver_opts *opts, hr_saver **out, hr_error *err)
{
    opts = &HR_OPTIONS(hr_saver_opts, opts);
    if (out) *out = NULL;
    if (!folder || !out) return hr__checkpoint_lacks("a folder, and a place for the saver", err);
    if (opts->make_folder) HR_TRY(hr__make_folders(folder, err));
    hr_saver *s = *out = hr_calloc(1, sizeof *s);
    if (!s) return hr_no_memory(err, "a saver");
    s->max_to_keep = opts->max_to_keep ? *opts->max_to_keep : 5;
    s->manager = opts->manager;
    s->hours = opts->keep_every_n_hours > 0 ? opts->keep_every_n_hours : opts->manager ? 0 : 10000;
    s->relative = opts->relative_paths;
    s->now = opts->now ? opts->now : hr__time_of_day;
    s->user = opts->user;
    s->next_kept = s->now(s->user) + s->hours * 3600;
    s->preserved = s->now(s->user) - 1; /* one saved at once is later than that */
    s->folder = hr_strdup(folder);
    for (size_t i = strlen(folder); s->folder && i > 1 && folder[i - 1] == '/'; i--) s->folder[i - 1] = '\0';
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

/* When the index was written; below 0: there is none. */
static hr_status file_time(const char *prefix, double *time, hr_error *err)
{
    struct stat about;
    hr__text path = {0};
    hr__text_printf(&path, "%s.index", prefix);
    HR_TRY(hr__text_status(&path, "a path", err));
    const bool there = stat(path.data, &about) == 0;
    *time = there ? (double)about.st_mtim.tv_sec + (double)about.st_mtim.tv_nsec * 1e-9 : -1;
    hr__text_free(&path);
    return HR_OK;
}

/* Renames FILE to FILE.aside, or FILE.aside-2 where that is taken, and so on. */
static hr_status set_file_aside(const char *path, void *user, hr_error *err)
{
    (void)user;
    hr__text to = {0};
    hr_status st = HR_OK;
    for (int i = 1; st == HR_OK && (i == 1 || access(to.data, F_OK) == 0); i++) {
        hr__text_clear(&to);
        hr__text_printf(&to, i == 1 ? "%s.aside" : "%s.aside-%d", path, i);
        st = hr__text_status(&to, "a path", err);
    }
    if (st == HR_OK && hr__sys_get()->rename(path, to.data) != 0)
        st = hr__sys_fail(err, errno, "file.rename", path, "set aside");
    if (st == HR_OK)
        hr_log_message(HR_WARNING, "%s: of a checkpoint newer than the restored one; renamed to %s", path, to.data);
    hr__text_free(&to);
    return st;
}

/* What is newer than the checkpoint that was restored is not whole, or not wanted: it stays, out of the way of what
 * will be saved under its name. */
static hr_status set_newer_aside(const hr_saver *s, const hr__checkpoint_list *all, int restored, hr_error *err)
{
    for (int i = 0; i < restored; i++)
        if (hr__checkpoint_lies_in(s->folder, all->prefix[i]))
            HR_TRY(hr__checkpoint_each_file(all->prefix[i], set_file_aside, NULL, err));
    return HR_OK;
}

/* Lists the checkpoints that the state file lists, oldest first. */
static hr_status list_again(hr_saver *s, const hr__checkpoint_list *all, int from, hr_error *err)
{
    for (int i = all->listed; i-- > from;) {
        double time;
        const char *prefix = all->prefix[i];
        if (!hr__checkpoint_lies_in(s->folder, prefix)) {
            hr_log_message(HR_WARNING,
                           "%s: listed in the checkpoint file of %s, but in another folder; it is not removed", prefix,
                           s->folder);
            continue;
        }
        HR_TRY(file_time(prefix, &time, err));
        if (time >= 0) HR_TRY(append_kept(s, hr_strdup(prefix), time, err));
    }
    return HR_OK;
}

/* Lists the checkpoints of the state file with its times, as tf.train.CheckpointManager does: those saved up to the
 * last preserved one stay for ever. A clock that went back makes no time lie ahead. */
static hr_status list_with_times(hr_saver *s, const hr__state *state, hr_error *err)
{
    const double now = s->now(s->user);
    if (state->has_preserved) s->preserved = state->preserved < now ? state->preserved : now;
    for (int i = 0; i < state->count; i++) {
        double written = -1, time = state->times == state->count ? state->time[i] : s->preserved;
        if (time > now) time = now;
        char *prefix = hr__checkpoint_prefix_of(s->folder, state->all[i]);
        hr_status st = prefix ? file_time(prefix, &written, err) : hr_no_memory(err, "a path");
        if (st == HR_OK && time > s->preserved && written >= 0 && hr__checkpoint_lies_in(s->folder, prefix))
            st = append_kept(s, prefix, time, err);
        else
            hr_free(prefix);
        if (st != HR_OK) return st;
    }
    return HR_OK;
}

static hr_status manager_list_again(hr_saver *s, hr_error *err)
{
    hr__state state;
    bool there;
    char *path = hr__path_in(s->folder, "checkpoint");
    if (!path) return hr_no_memory(err, "a path");
    hr_status st = hr__state_read(path, &state, &there, err);
    hr_free(path);
    if (st != HR_OK) return st;
    st = list_with_times(s, &state, err);
    hr__state_clear(&state);
    return st;
}

/* Where the folder itself is relative, so are the paths in its file: it could not be found otherwise. */
static const char *as_written(const hr_saver *s, const char *prefix)
{
    size_t size = strlen(s->folder);
    if ((!s->relative && s->folder[0] == '/') || strncmp(prefix, s->folder, size) != 0) return prefix;
    prefix += size;
    return prefix + strspn(prefix, "/");
}

/* The latest one ends the list, as TensorFlow has it, also where the saver keeps none. `unlisted`: is
 * being written, or goes after that. */
static hr_status write_state(hr_saver *s, const char *latest, const char *unlisted, hr_error *err)
{
    const bool ends = s->count > 0 && strcmp(s->list[s->count - 1].prefix, latest) == 0;
    hr__state state = {.count = s->count + !ends, .preserved = s->preserved, .has_preserved = s->manager};
    char *path = hr__path_in(s->folder, "checkpoint");
    state.all = hr_calloc((size_t)state.count, sizeof *state.all);
    state.time = hr_calloc((size_t)state.count, sizeof *state.time);
    state.times = s->manager ? state.count : 0;
    hr_status st = path && state.all && state.time ? HR_OK : hr_no_memory(err, "a state file");
    for (int i = 0; i < state.count && st == HR_OK; i++) {
        state.all[i] = (char *)as_written(s, i < s->count ? s->list[i].prefix : latest);
        state.time[i] = i < s->count ? s->list[i].time : s->now(s->user);
    }
    state.latest = (char *)as_written(s, latest);
    if (unlisted) state.unlisted = (char *)as_written(s, unlisted);
    if (st == HR_OK) st = hr__state_write(path, &state, err);
    hr_free(state.all);
    hr_free(state.time);
    hr_free(path);
    return st;
}

/* What cannot be removed stays: that is no reason to stop a training. */
static hr_status remove_file(const char *path, void *user, hr_error *err)
{
    (void)user, (void)err;
    hr__sys_get()->unlink(path);
    return HR_OK;
}

hr_status hr_saver_recover(hr_saver *s, const char *restored, hr_error *err)
{
    hr__checkpoint_list all;
    int newer = 0;
    if (!s) return hr__checkpoint_lacks("a saver", err);
    HR_TRY(hr__checkpoint_list_folder(s->folder, &all, err));
    char *from = restored ? hr__checkpoint_seen_from(s->folder, restored) : NULL;
    hr_status st = from || !restored ? HR_OK : hr_no_memory(err, "a path");
    while (from && newer < all.count && strcmp(all.prefix[newer], from) != 0) newer++;
    if (newer == all.count) newer = 0; /* restored from elsewhere */
    if (st == HR_OK) st = set_newer_aside(s, &all, newer, err);
    if (st == HR_OK) st = s->manager ? manager_list_again(s, err) : list_again(s, &all, newer, err);
    hr__checkpoint_list_clear(&all);
    hr_free(from);
    return st;
}

/* A kill has ended the save or the removal of what the comment names. Without an index its files are of no use to
 * anybody; with one it is listed again, so that it goes when its time comes. */
static hr_status clear_unlisted(hr_saver *s, const hr__checkpoint_list *all, hr_error *err)
{
    double time;
    if (!all->unlisted || !hr__checkpoint_lies_in(s->folder, all->unlisted)) return HR_OK;
    for (int i = 0; i < all->listed; i++)
        if (strcmp(all->prefix[i], all->unlisted) == 0) return HR_OK;
    HR_TRY(file_time(all->unlisted, &time, err));
    if (time < 0) return hr__checkpoint_each_file(all->unlisted, remove_file, NULL, err);
    if (s->max_to_keep == 0) return HR_OK;
    HR_TRY(append_kept(s, hr_strdup(all->unlisted), time, err));
    const int last = s->count - 1; /* the latest ends the list */
    for (int i = last; i > 0 && (i == last || s->list[i - 1].time > time); i--) {
        const kept newer = s->list[i - 1];
        s->list[i - 1] = s->list[i];
        s->list[i] = newer;
    }
    return HR_OK;
}

hr_status hr_saver_saving(hr_saver *s, const char *prefix, hr_error *err)
{
    hr__checkpoint_list all;
    if (!s || !prefix) return hr__checkpoint_lacks("a saver and a checkpoint's path", err);
    HR_TRY(hr__checkpoint_list_folder(s->folder, &all, err));
    char *own = hr__checkpoint_seen_from(s->folder, prefix);
    hr_status st = own ? HR_OK : hr_no_memory(err, "a path");
    if (st == HR_OK && all.listed > 0) st = clear_unlisted(s, &all, err);
    if (st == HR_OK && all.listed > 0) st = write_state(s, all.prefix[0], own, err);
    hr__checkpoint_list_clear(&all);
    hr_free(own);
    return st;
}

/* Whether a checkpoint that leaves the list stays for ever, as one in so many hours does. */
static bool stays_for_ever(hr_saver *s, const kept *k)
{
    const bool stays = s->manager ? s->hours > 0 && k->time - s->hours * 3600 >= s->preserved : k->time > s->next_kept;
    if (stays && s->manager) s->preserved = k->time;
    if (stays) s->next_kept += s->hours * 3600;
    return stays;
}

/* Takes the oldest checkpoint from the list, and its files from the folder unless it stays. */
static hr_status drop_oldest(hr_saver *s, const char *latest, hr_error *err)
{
    const kept oldest = remove_kept(s, 0);
    const bool goes = !stays_for_ever(s, &oldest) && hr__checkpoint_lies_in(s->folder, oldest.prefix);
    hr_status st = write_state(s, latest, goes ? oldest.prefix : NULL, err);
    if (goes && st == HR_OK) st = hr__checkpoint_each_file(oldest.prefix, remove_file, NULL, err);
    if (goes && st == HR_OK) st = write_state(s, latest, NULL, err); /* as TensorFlow writes it */
    hr_free(oldest.prefix);
    return st;
}

/* A saver drops one a save, as TensorFlow's does; a manager as many as there are too many. */
static hr_status list_saved(hr_saver *s, const char *prefix, hr_error *err)
{
    for (int i = 0; i < s->count; i++)
        if (strcmp(s->list[i].prefix, prefix) == 0) hr_free(remove_kept(s, i--).prefix); /* saved again: the newest */
    if (s->max_to_keep == 0 && !s->manager)
        return write_state(s, prefix, NULL, err); /* all are kept, none but the latest is listed */
    HR_TRY(append_kept(s, hr_strdup(prefix), s->now(s->user), err));
    if (s->max_to_keep <= 0 || s->count <= s->max_to_keep) return write_state(s, prefix, NULL, err);
    hr_status st = drop_oldest(s, prefix, err);
    while (s->manager && st == HR_OK && s->count > s->max_to_keep) st = drop_oldest(s, prefix, err);
    return st;
}

hr_status hr_saver_saved(hr_saver *s, const char *prefix, hr_error *err)
{
    if (!s || !prefix) return hr__checkpoint_lacks("a saver and a checkpoint's path", err);
    char *own = hr__checkpoint_seen_from(s->folder, prefix);
    const hr_status st = own ? list_saved(s, own, err) : hr_no_memory(err, "a path");
    hr_free(own);
    return st;
}
