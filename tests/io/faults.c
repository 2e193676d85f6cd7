/* A table of system calls that counts and fails where a test says. */
#include "tests/io/faults.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static faults *now;
static bool interrupt;

/* True: this call fails, with errno set. */
static bool fails(bool may_be_interrupted)
{
    if (now->interrupted && may_be_interrupted && (interrupt = !interrupt)) {
        errno = EINTR;
        return true;
    }
    if (now->calls++ != now->call) return false;
    if (now->exits) _exit(9);
    errno = now->number;
    return true;
}

static size_t clip(size_t size) { return now->max && size > now->max ? now->max : size; }

static int bad_open(const char *path, int flags, mode_t mode) { return fails(true) ? -1 : open(path, flags, mode); }

static ssize_t bad_read(int fd, void *to, size_t size) { return fails(true) ? -1 : read(fd, to, clip(size)); }

static bool flips(off_t at, ssize_t got)
{
    if (!now->flips || now->flip_at < at || now->flip_at >= at + got) return false;
    const int number = now->flip_reads++ - now->flip_first;
    return number >= 0 && number < now->flips;
}

static ssize_t bad_pread(int fd, void *to, size_t size, off_t at)
{
    if (fails(true)) return -1;
    if (now->bad_from && at >= now->bad_from) {
        errno = EIO;
        return -1;
    }
    if (now->bad_from && at + (off_t)size > now->bad_from) size = (size_t)(now->bad_from - at);
    const ssize_t got = pread(fd, to, clip(size), at);
    if (flips(at, got)) ((char *)to)[now->flip_at - at] ^= 0x10;
    return got;
}

static ssize_t bad_write(int fd, const void *from, size_t size)
{
    return fails(true) ? -1 : write(fd, from, clip(size));
}

/* Nobody pulls the plug. */
static int bad_fsync(int fd) { return fails(false) ? -1 : fcntl(fd, F_GETFD) < 0 ? -1 : 0; }

static int bad_rename(const char *from, const char *to) { return fails(false) ? -1 : rename(from, to); }

static int bad_ftruncate(int fd, off_t size) { return fails(false) ? -1 : ftruncate(fd, size); }

static const hr__sys bad = {bad_open,  close,      bad_read, bad_pread,    bad_write,
                            bad_fsync, bad_rename, unlink,   bad_ftruncate};

void use_faults(faults *f)
{
    now = f;
    interrupt = false;
    hr__sys_set(f ? &bad : NULL);
}
