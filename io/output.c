/* Writing a file whole or not at all: under a hidden name of its own in the same folder, synced, then renamed. A
 * process killed at any moment leaves the old file or the new one. Devices and pipes are written to directly, files of
 * registered file systems by their functions, which promise the same. */
#include "io/output.h"
#include "io/compression.h"
#include "io/file_system.h"
#include "io/input.h"
#include "io/sys.h"
#include "io/temporary.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BUFFER = 256 * 1024 };

struct hr_output {
    char *path;               /* as the caller gave it */
    char *target;             /* what it means: symbolic links followed */
    char *temporary;          /* NULL: written to directly */
    hr__foreign_file foreign; /* of a registered file system; none: */
    int fd;
    int lock; /* of the temporary file, held from its close until it has its name; -1: fd holds it */
    bool standard, sync;
    bool part;  /* written directly, but a file: it is synced */
    bool waits; /* a pipe or socket, which takes bytes when its reader likes */
    int64_t offset;
    int64_t made; /* bytes of the file, after compression */
    const hr_codec *codec;
    int level;
    bool encoding; /* there is an encoder, which may be NULL; false: plain, or between two streams */
    void *encoder;
    size_t used, capacity; /* of `bytes` */
    char *bytes;
    hr_status status; /* the first failure; it sticks */
    hr_error error;
};

/* ---- names ---- */

/* A link stays a link: what it points to is replaced. */
char *hr__output_target(const char *path)
{
    struct stat about;
    char real[PATH_MAX];
    bool link = lstat(path, &about) == 0 && S_ISLNK(about.st_mode);
    return hr_strdup(link && realpath(path, real) ? real : path);
}

/* Opens a pipe that has no reader yet by trying again and again: a thread that waits in open cannot be woken. */
static hr_status open_device(hr_output *out, mode_t mode, hr_error *err)
{
    enum { AGAIN_MS = 20 };
    const int flags = S_ISFIFO(mode) ? O_WRONLY | O_NONBLOCK : O_WRONLY;
    while ((out->fd = hr__open(out->target, flags, 0)) < 0 && S_ISFIFO(mode) && errno == ENXIO)
        HR_TRY(hr__wait(-1, POLLOUT, -1, AGAIN_MS, out->path, err));
    if (out->fd < 0) return hr__sys_fail(err, errno, "file.open", out->path, "written");
    if (S_ISFIFO(mode)) (void)fcntl(out->fd, F_SETFL, O_WRONLY); /* writing waits for its reader */
    return HR_OK;
}

static bool is_pipe(int fd)
{
    struct stat about;
    return fstat(fd, &about) == 0 && (S_ISFIFO(about.st_mode) || S_ISSOCK(about.st_mode));
}

static hr_status open_target(hr_output *out, hr_error *err)
{
    out->standard = strcmp(out->path, "-") == 0;
    if (out->standard) {
        out->fd = STDOUT_FILENO;
        return HR_OK;
    }
    const hr_file_system *system = hr__file_system_of(out->path);
    if (system) return hr__foreign_create(system, out->path, &out->foreign, err);
    out->target = hr__output_target(out->path);
    if (!out->target) return hr_no_memory(err, "a file's name");
    struct stat about;
    bool exists = stat(out->target, &about) == 0;
    size_t size = strlen(out->target);
    if ((exists && S_ISDIR(about.st_mode)) || size == 0 || out->target[size - 1] == '/')
        return hr_fail(err, HR_INVALID_ARGUMENT, "file.folder", "%s: expected a name for a file, got a folder",
                       out->path);
    if (exists && !S_ISREG(about.st_mode)) return open_device(out, about.st_mode, err);
    HR_TRY(hr__temporary_open(out->target, O_WRONLY, 0666, &out->temporary, &out->fd, err));
    if (exists) (void)!fchmod(out->fd, about.st_mode & 07777); /* a new file with the rights of the old one */
    return HR_OK;
}

/* ---- writing ---- */

static hr_status output_fail(hr_output *out, int number, const char *kind, const char *verb)
{
    out->status = hr__sys_fail(&out->error, number, kind, out->path, verb);
    return out->status;
}

/* Does not block in write when a pipe is full, since a thread cannot be woken there: after poll, a pipe takes PIPE_BUF
 * bytes at once. */
static hr_status output_write_bytes(hr_output *out, const char *data, size_t size)
{
    if (out->foreign.system && size > 0)
        return out->status = hr__foreign_write(&out->foreign, out->path, data, size, &out->error);
    while (size > 0) {
        const size_t piece = out->waits && size > PIPE_BUF ? PIPE_BUF : size;
        if (out->waits) out->status = hr__wait(out->fd, POLLOUT, -1, -1, out->path, &out->error);
        if (out->status != HR_OK) return out->status;
        if (!hr__write_all(out->fd, data, piece)) return output_fail(out, errno, "file.write", "written");
        data += piece;
        size -= piece;
    }
    return HR_OK;
}

static hr_status output_flush(hr_output *out)
{
    if (out->status != HR_OK) return out->status;
    HR_TRY(output_write_bytes(out, out->bytes, out->used));
    out->used = 0;
    return HR_OK;
}

/* What the encoder makes, or the caller's own bytes, on their way to the file. */
static hr_status sink(void *to, const void *data, size_t size, hr_error *err)
{
    hr_output *out = to;
    (void)err;
    out->made += (int64_t)size;
    if (size > out->capacity - out->used) HR_TRY(output_flush(out));
    if (size >= out->capacity) return output_write_bytes(out, data, size);
    if (size > 0) memcpy(out->bytes + out->used, data, size);
    out->used += size;
    return HR_OK;
}

static hr_status report(const hr_output *out, hr_error *err)
{
    if (out->status != HR_OK && err) *err = out->error;
    return out->status;
}

/* Streams begin with their first byte; the first one of a file, also of an empty one, when it is opened. */
static hr_status new_stream(hr_output *out)
{
    if (!out->codec->coding || out->encoding) return HR_OK;
    if (!out->codec->coding->encoder_new)
        return hr_fail(&out->error, HR_UNIMPLEMENTED, "compression.lacking",
                       "%s: expected a compression that can be written, got %s, which is only read; choose another",
                       out->path, out->codec->name);
    hr_error why = {0};
    const hr_status returned = out->codec->coding->encoder_new(out->codec->form, out->level, &out->encoder, &why);
    HR_TRY(hr__codec_answer(out->codec, out->path, returned, HR_OK, &why, &out->error));
    out->encoding = true;
    return HR_OK;
}

/* One call of the codec, held to its contract. Where its bytes could not be written, it is that failure which counts. */
static hr_status call_encode(hr_output *out, const void *data, size_t size, bool last)
{
    hr_error why = {0};
    const hr_status returned = out->codec->coding->encode(out->encoder, data, size, last, sink, out, &why);
    if (out->status != HR_OK) return out->status;
    return hr__codec_answer(out->codec, out->path, returned, HR_OK, &why, &out->error);
}

hr_status hr_output_write(hr_output *out, const void *data, size_t size, hr_error *err)
{
    if (out->status != HR_OK) return report(out, err);
    hr_status status = new_stream(out);
    if (status == HR_OK)
        status = out->encoding ? call_encode(out, data, size, false) : sink(out, data, size, &out->error);
    if (out->status == HR_OK) out->status = status;
    if (status == HR_OK) out->offset += (int64_t)size;
    return report(out, err);
}

/* What is compressed is whole then. */
static hr_status end_stream(hr_output *out)
{
    if (out->status != HR_OK || !out->encoding) return out->status;
    const hr_status status = call_encode(out, NULL, 0, true);
    if (out->status == HR_OK) out->status = status;
    out->codec->coding->encoder_free(out->encoder);
    out->encoding = false;
    return out->status;
}

hr_status hr__output_cut(hr_output *out, int64_t *size, hr_error *err)
{
    end_stream(out);
    *size = out->made;
    return report(out, err);
}

hr_status hr__output_sync(hr_output *out, hr_error *err)
{
    if (output_flush(out) == HR_OK && out->sync && !out->foreign.system && hr__sys_get()->fsync(out->fd) != 0)
        output_fail(out, errno, "file.sync", "synced");
    return report(out, err);
}

hr_status hr__output_open_written(hr_output *out, hr_input **in, hr_error *err)
{
    const hr_input_opts opts = {.struct_size = sizeof opts, .compression = HR_NONE};
    hr_input *opened;
    if (output_flush(out) != HR_OK) return report(out, err);
    if (out->foreign.system)
        return hr_fail(err, HR_UNIMPLEMENTED, "file_system.write",
                       "%s: expected a file of the machine, which can be read before it is complete", out->path);
    HR_TRY(hr_input_open_with(out->temporary ? out->temporary : out->path, &opts, &opened, err));
    const hr_status named = hr__input_name(opened, out->path, err);
    if (named == HR_OK)
        *in = opened;
    else
        hr_input_free(opened);
    return named;
}

int64_t hr_output_offset(const hr_output *out) { return out->offset; }

/* ---- from beginning to end ---- */

static hr_status open_encoder(hr_output *out, const hr_output_opts *o, hr_error *err)
{
    HR_TRY(hr__codec_for_writing(o->compression, out->path, &out->codec, err));
    if (o->level < 0 || o->level > 9)
        return hr_fail(err, HR_INVALID_ARGUMENT, "compression.level", "%s: expected .level from 1 to 9, got %d",
                       out->path, o->level);
    out->level = o->level;
    const hr_status status = out->made > 0 ? HR_OK : new_stream(out);
    if (status != HR_OK && err) *err = out->error;
    return status;
}

/* The file of which the first bytes are there. */
static hr_status open_part(hr_output *out, hr_error *err)
{
    const off_t size = (off_t)out->made;
    if (hr__file_system_of(out->path))
        return hr_fail(err, HR_UNIMPLEMENTED, "file_system.write",
                       "%s: expected a file of the machine, which can be written in several runs", out->path);
    out->fd = hr__open(out->path, O_WRONLY | O_CREAT, 0666);
    const bool opened = out->fd >= 0 && hr__sys_get()->ftruncate(out->fd, size) == 0;
    if (opened && lseek(out->fd, size, SEEK_SET) == size) return HR_OK;
    return hr__sys_fail(err, errno, "file.open", out->path, "written");
}

/* `made` bytes of it are there already; -1: it is no part, but a file that appears whole. */
static hr_status open_output(const char *path, const hr_output_opts *opts, int64_t made, hr_output **result,
                             hr_error *err)
{
    const hr_output_opts o = HR_OPTIONS(hr_output_opts, opts);
    if (!path) return hr_fail(err, HR_INVALID_ARGUMENT, "file.argument", "expected a file to write, got NULL");
    hr_output *out = hr_calloc(1, sizeof *out);
    if (!out) return hr_no_memory(err, "writing a file");
    *out = (hr_output){.fd = -1, .lock = -1, .path = hr_strdup(path), .sync = !o.no_sync, .part = made >= 0};
    out->made = made > 0 ? made : 0;
    out->capacity = o.buffer_size ? o.buffer_size : BUFFER;
    out->bytes = hr_malloc(out->capacity);
    hr_status status = out->path && out->bytes ? HR_OK : hr_no_memory(err, "writing a file");
    if (status == HR_OK) status = open_encoder(out, &o, err);
    if (status == HR_OK) status = out->part ? open_part(out, err) : open_target(out, err);
    if (status == HR_OK) out->waits = is_pipe(out->fd);
    if (status == HR_OK)
        *result = out;
    else
        hr_output_discard(out);
    if (status != HR_OK) hr_error_file(err, path);
    return status;
}

hr_status hr_output_open_with(const char *path, const hr_output_opts *opts, hr_output **out, hr_error *err)
{
    return open_output(path, opts, -1, out, err);
}

hr_status hr__output_open_part(const char *path, const hr_output_opts *opts, int64_t size, hr_output **out,
                               hr_error *err)
{
    return open_output(path, opts, size, out, err);
}

void hr_output_discard(hr_output *out)
{
    if (!out) return;
    if (out->encoding) out->codec->coding->encoder_free(out->encoder);
    hr__foreign_discard(&out->foreign);
    if (out->temporary) hr__sys_get()->unlink(out->temporary); /* while it is locked: the name may be another's then */
    if (out->fd >= 0 && !out->standard) hr__sys_get()->close(out->fd);
    if (out->lock >= 0) hr__sys_get()->close(out->lock);
    hr_free(out->temporary);
    hr_free(out->target);
    hr_free(out->path);
    hr_free(out->bytes);
    hr_free(out);
}

static hr_status close_file(hr_output *out)
{
    int fd = out->fd;
    if (out->standard || fd < 0) return HR_OK; /* or it is closed already */
    const bool is_file = out->temporary || out->part;
    bool synced = !out->sync || !is_file || hr__sys_get()->fsync(fd) == 0;
    int number = errno;
    out->fd = -1;
    if (out->temporary) out->lock = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    bool closed = hr__sys_get()->close(fd) == 0 || errno == EINTR;
    if (!synced) return output_fail(out, number, "file.sync", "synced");
    return closed ? HR_OK : output_fail(out, errno, "file.write", "closed");
}

/* The new name, too, is on the disk. */
static hr_status rename_file(hr_output *out)
{
    if (out->foreign.system) return out->status = hr__foreign_commit(&out->foreign, out->path, &out->error);
    if (!out->temporary) return HR_OK;
    if (hr__sys_get()->rename(out->temporary, out->target) != 0)
        return output_fail(out, errno, "file.rename", "renamed");
    hr_free(out->temporary);
    out->temporary = NULL;
    if (out->sync) out->status = hr__sync_folder(out->target, &out->error);
    return out->status;
}

hr_status hr__output_finish(hr_output *out, hr_error *err)
{
    end_stream(out);
    if (output_flush(out) == HR_OK) close_file(out);
    return report(out, err);
}

hr_status hr_output_commit(hr_output *out, hr_error *err)
{
    if (hr__output_finish(out, NULL) == HR_OK) rename_file(out);
    hr_status status = report(out, err);
    hr_output_discard(out);
    return status;
}
