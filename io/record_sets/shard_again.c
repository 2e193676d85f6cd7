/* A finished run of shards of a maximum size, started once more: it left no notes. What is written now must equal the
 * existing shards, byte for byte. Each shard is compared as soon as it is full, and the existing one is kept. */
#include "io/record_sets/shards.h"
#include "io/sys.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static hr_status not_the_same(const hr_shard_writer *w, hr_error *err)
{
    hr_fail(err, HR_ALREADY_EXISTS, "shards.leftover",
            "%s%s: expected the shards that this run makes, found others, %lld; remove them or choose another folder",
            w->folder, w->base, (long long)w->finished);
    hr_error_file(err, w->folder);
    return HR_ALREADY_EXISTS;
}

enum { PIECE = 256 << 10 };

/* Bytes from `at` on, while they are equal: how many. -1: errno says why there are none. */
static int64_t same_bytes(const int file[2], char *piece, int64_t at)
{
    const ssize_t a = hr__read(file[0], piece, PIECE, at), b = hr__read(file[1], piece + PIECE, PIECE, at);
    const ssize_t min = a < b ? a : b;
    if (min <= 0) return min;
    return memcmp(piece, piece + PIECE, (size_t)min) == 0 ? min : 0;
}

static bool is_of_size(int file, int64_t size)
{
    struct stat about;
    return fstat(file, &about) == 0 && about.st_size == size;
}

/* Both are open, and the first has so many bytes. */
static hr_status shard_again_compare(const int file[2], const char *name, int64_t size, bool *same, hr_error *err)
{
    int64_t at = 0, more = 1;
    char *piece = hr_malloc((size_t)2 * PIECE);
    if (!piece) return hr_no_memory(err, "shards");
    while (more > 0 && at < size) {
        more = same_bytes(file, piece, at);
        at += more > 0 ? more : 0;
    }
    hr_free(piece);
    *same = at == size && is_of_size(file[1], size);
    return more < 0 ? hr__sys_fail(err, errno, "file.read", name, "read") : HR_OK;
}

static hr_status same_files(const char *part, const char *name, int64_t size, bool *same, hr_error *err)
{
    hr_status st = HR_OK;
    int file[2] = {hr__open(part, O_RDONLY | O_CLOEXEC, 0), -1};
    if (file[0] < 0) st = hr__sys_fail(err, errno, "file.open", part, "opened");
    if (st == HR_OK) file[1] = hr__open(name, O_RDONLY | O_CLOEXEC, 0);
    if (st == HR_OK && file[1] < 0) st = hr__sys_fail(err, errno, "file.open", name, "opened");
    if (st == HR_OK) st = shard_again_compare(file, name, size, same, err);
    for (int i = 0; i < 2; i++)
        if (file[i] >= 0) hr__sys_get()->close(file[i]);
    return st;
}

hr_status hr__shard_same(const hr_shard_writer *w, int64_t shard, hr_error *err)
{
    bool same = false;
    char *part = hr__shard_part_name(w, shard), *name = hr__shard_name(w, shard, w->finished);
    hr_status st =
        part && name ? same_files(part, name, w->shard[shard].file_size, &same, err) : hr_no_memory(err, "shards");
    if (st == HR_NOT_FOUND || (st == HR_OK && !same)) st = not_the_same(w, err);
    if (st == HR_OK) hr__sys_get()->unlink(part);
    hr_free(part);
    hr_free(name);
    return st;
}

hr_status hr__shards_same(const hr_shard_writer *w, hr_error *err)
{
    return w->count == w->finished ? HR_OK : not_the_same(w, err);
}
