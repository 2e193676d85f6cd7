/* BackupAndRestore: a training that was interrupted or killed goes on when it is started again. Backups are checkpoints
 * with numbers that rise, the newest of which is kept; so a backup is never written over another one, and there is a
 * whole one whenever the process ends. */
#include <headrace/models.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct backup {
    char *folder;
    int64_t save_freq;
    bool keep;
    /* Of the training that is under way. */
    hr_saver *saver;
    int64_t number;  /* of the newest backup; 0: there is none */
    int64_t batches; /* since then */
} backup;

static void backup_close(backup *b)
{
    hr_saver_free(b->saver);
    b->saver = NULL;
}

static void backup_release(void *state)
{
    backup *b = state;
    backup_close(b);
    hr_free(b->folder);
}

/* ---- files that are no longer needed ---- */

static void backup_remove_file(const backup *b, int64_t number, const char *end)
{
    char *prefix = hr_checkpoint_prefix(b->folder, "backup", number);
    char *path = prefix ? hr_malloc(strlen(prefix) + strlen(end) + 1) : NULL;
    if (path) {
        (void)sprintf(path, "%s%s", prefix, end);
        (void)unlink(path);
    }
    hr_free(path);
    hr_free(prefix);
}

/* The index goes first: what has none is no checkpoint. */
static void backup_remove(const backup *b, int64_t number, bool aside)
{
    backup_remove_file(b, number, aside ? ".index.aside" : ".index");
    backup_remove_file(b, number, aside ? ".data-00000-of-00001.aside" : ".data-00000-of-00001");
}

static void backup_remove_all(const backup *b)
{
    char *path = hr_malloc(strlen(b->folder) + sizeof "/checkpoint");
    /* The one before the newest is there, whole or in parts, if the process was killed before it was removed. It goes
     * first: parts alone are a damaged backup, which nothing could go on from. */
    for (int64_t n = b->number - 1; n <= b->number; n++)
        if (n > 0) backup_remove(b, n, false);
    if (path) {
        (void)sprintf(path, "%s/checkpoint", b->folder);
        (void)unlink(path);
    }
    hr_free(path);
    (void)rmdir(b->folder); /* unless there is something else in it */
}

/* ---- backups ---- */

static hr_status backup_write(backup *b, const hr_callback_call *call, hr_error *err)
{
    char *prefix = hr_checkpoint_prefix(b->folder, "backup", b->number + 1);
    if (!prefix) return hr_no_memory(err, "a backup");
    hr_status st = hr_saver_saving(b->saver, prefix, err);
    if (st == HR_OK) st = hr_training_save(call, prefix, err);
    if (st == HR_OK) st = hr_saver_saved(b->saver, prefix, err);
    if (st == HR_OK) b->number++;
    b->batches = 0;
    hr_free(prefix);
    return st;
}

static hr_status backup_open(backup *b, const hr_callback_call *call, hr_error *err)
{
    char *prefix = NULL;
    HR_TRY(hr_saver_open(b->folder, &b->saver, err, .max_to_keep = HR_I64(1), .manager = true, .make_folder = true));
    const hr_status found = hr_whole_checkpoint(b->folder, &prefix, err);
    if (found == HR_NOT_FOUND || (found == HR_OK && !prefix)) return HR_OK; /* it begins */
    HR_TRY(found);
    hr_status st = hr_training_restore(call, prefix, err);
    if (st == HR_OK) st = hr_saver_recover(b->saver, prefix, err);
    const char *end = strrchr(prefix, '-');
    b->number = end ? strtoll(end + 1, NULL, 10) : 0;
    if (st == HR_OK) {
        hr_log_message(HR_INFO, "backup_and_restore: the training goes on from %s", prefix);
        backup_remove(b, b->number + 1, true); /* which was not finished */
    }
    hr_free(prefix);
    return st;
}

static hr_status backup_train_begin(void *state, const hr_callback_call *call, hr_error *err)
{
    backup *b = state;
    backup_close(b);
    b->number = b->batches = 0;
    return backup_open(b, call, err);
}

static hr_status backup_batch_end(void *state, const hr_callback_call *call, hr_error *err)
{
    backup *b = state;
    if (b->save_freq == 0 || ++b->batches < b->save_freq) return HR_OK;
    return backup_write(b, call, err);
}

static hr_status backup_epoch_end(void *state, const hr_callback_call *call, hr_error *err)
{
    backup *b = state;
    return b->save_freq == 0 ? backup_write(b, call, err) : HR_OK;
}

static hr_status backup_train_end(void *state, const hr_callback_call *call, hr_error *err)
{
    backup *b = state;
    const hr_status st = call->interrupted ? backup_write(b, call, err) : HR_OK;
    backup_close(b);
    if (!call->interrupted && !b->keep) backup_remove_all(b);
    return st;
}

static const hr_callback_kind backup_and_restore_kind = {
    .head = HR_CALLBACK_HEAD,
    .name = "backup_and_restore",
    .state_size = sizeof(backup),
    .release = backup_release,
    .train_begin = backup_train_begin,
    .train_batch_end = backup_batch_end,
    .epoch_end = backup_epoch_end,
    .train_end = backup_train_end,
};

hr_callback *hr_backup_and_restore_with(const char *folder, const hr_backup_and_restore_opts *opts)
{
    const hr_backup_and_restore_opts o = HR_OPTIONS(hr_backup_and_restore_opts, opts);
    const backup b = {.folder = hr_strdup(folder), .save_freq = o.save_freq, .keep = o.keep};
    hr_error refused = {0};
    if (folder && !b.folder) (void)hr_no_memory(&refused, "a folder");
    if (!folder || !*folder || o.save_freq < 0)
        (void)hr_fail(&refused, HR_INVALID_ARGUMENT, "models.argument",
                      "backup_and_restore: expected a folder, and a save_freq of 0 or more, got '%.100s' and %lld",
                      folder ? folder : "NULL", (long long)o.save_freq);
    return hr_callback_new(&backup_and_restore_kind, &b, &refused);
}
