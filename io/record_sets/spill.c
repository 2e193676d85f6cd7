/* An external merge sort. One block of memory fills from both ends, records from the front and their entries from the
 * back; when they meet, the entries are sorted in place and the records written as a run. */
#include "io/record_sets/spill.h"
#include "io/record_sets/spill_merge.h"
#include "io/sys.h"
#include "io/temporary.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

typedef struct entry {
    uint64_t key;
    size_t at, size;
} entry;

enum { BUFFER = 256 * 1024 };

struct hr__spill {
    char *folder, *path; /* of the file, for messages */
    char *block;
    size_t capacity, used; /* bytes of the block, a multiple of an entry's; of records in it */
    int64_t entries;
    int fd;
    char *buffer; /* on the way to the file */
    size_t buffered;
    int64_t written;
    hr__spill_run *run;
    int runs, run_capacity;
};

static entry *entries_of(const hr__spill *s) { return (entry *)(void *)(s->block + s->capacity) - s->entries; }

hr_status hr__spill_new(const char *folder, int64_t memory, hr__spill **out, hr_error *err)
{
    hr__spill *s = hr_calloc(1, sizeof *s);
    if (!s) return hr_no_memory(err, "records on the disk");
    s->fd = -1;
    s->capacity = (size_t)memory / sizeof(entry) * sizeof(entry);
    s->folder = hr_strdup(folder);
    s->block = hr_malloc(s->capacity);
    if (s->folder && s->block) {
        *out = s;
        return HR_OK;
    }
    hr__spill_free(s);
    return hr_no_memory(err, "records to be sorted; give less .memory");
}

void hr__spill_free(hr__spill *s)
{
    if (!s) return;
    if (s->fd >= 0) hr__sys_get()->close(s->fd);
    hr_free(s->folder);
    hr_free(s->path);
    hr_free(s->block);
    hr_free(s->buffer);
    hr_free(s->run);
    hr_free(s);
}

int64_t hr__spill_bytes(const hr__spill *s) { return s->written; }

/* ---- sorting ---- */

static void insert_sorted(entry *e, int64_t count)
{
    for (int64_t i = 1; i < count; i++) {
        const entry moved = e[i];
        int64_t k = i;
        for (; k > 0 && e[k - 1].key > moved.key; k--) e[k] = e[k - 1];
        e[k] = moved;
    }
}

/* By the byte at `shift` in place, then each of the 256 parts by the next one: no memory beside the entries. */
static void sort_entries(entry *e, int64_t count, int shift)
{
    int64_t begin[257] = {0}, next[256];
    if (count <= 32 || shift < 0) {
        insert_sorted(e, count);
        return;
    }
    for (int64_t i = 0; i < count; i++) begin[(e[i].key >> shift & 255) + 1]++;
    for (int b = 0; b < 256; b++) begin[b + 1] += begin[b];
    memcpy(next, begin, sizeof next);
    for (int b = 0; b < 256; b++) {
        while (next[b] < begin[b + 1]) {
            const entry moved = e[next[b]];
            const int to = (int)(moved.key >> shift & 255);
            e[next[b]] = e[next[to]];
            e[next[to]++] = moved;
        }
    }
    for (int b = 0; b < 256; b++) sort_entries(e + begin[b], begin[b + 1] - begin[b], shift - 8);
}

/* ---- the file ---- */

static hr_status make_file(hr__spill *s, hr_error *err)
{
    const size_t capacity = strlen(s->folder) + 8;
    char *target = hr_malloc(capacity);
    s->buffer = hr_malloc(BUFFER);
    if (!s->buffer || !target) {
        hr_free(target);
        return hr_no_memory(err, "a temporary file");
    }
    snprintf(target, capacity, "%s%sspill", s->folder, s->folder[0] ? "/" : "");
    const hr_status st = hr__temporary_open(target, O_RDWR, 0600, &s->path, &s->fd, err);
    hr_free(target);
    HR_TRY(st);
    hr__sys_get()->unlink(s->path);
    return HR_OK;
}

static hr_status write_buffer(hr__spill *s, hr_error *err)
{
    if (!hr__write_all(s->fd, s->buffer, s->buffered))
        return hr__sys_fail(err, errno, "file.write", s->path, "written");
    s->buffered = 0;
    return HR_OK;
}

static hr_status spill_write_bytes(hr__spill *s, const void *data, size_t size, hr_error *err)
{
    const char *from = data;
    s->written += (int64_t)size;
    while (size > 0) {
        const size_t part = size < BUFFER - s->buffered ? size : BUFFER - s->buffered;
        memcpy(s->buffer + s->buffered, from, part);
        s->buffered += part;
        from += part;
        size -= part;
        if (s->buffered == BUFFER) HR_TRY(write_buffer(s, err));
    }
    return HR_OK;
}

static hr_status add_run(hr__spill *s, hr_error *err)
{
    if (s->runs == s->run_capacity) {
        const int capacity = s->run_capacity ? 2 * s->run_capacity : 64;
        hr__spill_run *run = hr_realloc(s->run, (size_t)capacity * sizeof *run);
        if (!run) return hr_no_memory(err, "sorted runs");
        s->run = run;
        s->run_capacity = capacity;
    }
    s->run[s->runs++] = (hr__spill_run){s->written, s->written};
    return HR_OK;
}

static hr_status write_run(hr__spill *s, hr_error *err)
{
    const entry *e = entries_of(s);
    if (s->fd < 0) HR_TRY(make_file(s, err));
    HR_TRY(add_run(s, err));
    sort_entries(entries_of(s), s->entries, 56);
    for (int64_t i = 0; i < s->entries; i++) {
        const char *record = s->block + e[i].at;
        const hr__spill_head head = {e[i].key, e[i].size, hr_crc32c(0, record, e[i].size), 0};
        HR_TRY(spill_write_bytes(s, &head, sizeof head, err));
        HR_TRY(spill_write_bytes(s, record, e[i].size, err));
    }
    HR_TRY(write_buffer(s, err));
    s->run[s->runs - 1].end = s->written;
    s->entries = 0;
    s->used = 0;
    return HR_OK;
}

/* ---- in and out ---- */

static bool spill_fits(const hr__spill *s, size_t size)
{
    return s->used + size + (size_t)(s->entries + 1) * sizeof(entry) <= s->capacity;
}

/* A record larger than all of the memory is held nevertheless: alone. */
static hr_status spill_reserve(hr__spill *s, size_t size, hr_error *err)
{
    if (s->entries > 0) HR_TRY(write_run(s, err));
    if (spill_fits(s, size)) return HR_OK;
    hr_free(s->block);
    s->capacity = (size / sizeof(entry) + 2) * sizeof(entry);
    s->block = hr_malloc(s->capacity);
    return s->block ? HR_OK : hr_no_memory(err, "a large record");
}

hr_status hr__spill_add(hr__spill *s, uint64_t key, hr_view record, hr_error *err)
{
    const size_t size = (size_t)record.size;
    if (!spill_fits(s, size)) HR_TRY(spill_reserve(s, size, err));
    if (size > 0) memcpy(s->block + s->used, record.data, size);
    s->entries++;
    *entries_of(s) = (entry){key, s->used, size};
    s->used += size;
    return HR_OK;
}

static hr_status merge_memory(hr__spill *s, hr__spill_fn *fn, void *user, hr_error *err)
{
    const entry *e = entries_of(s);
    sort_entries(entries_of(s), s->entries, 56);
    for (int64_t i = 0; i < s->entries; i++) HR_TRY(fn((hr_view){s->block + e[i].at, (int64_t)e[i].size}, user, err));
    return HR_OK;
}

hr_status hr__spill_merge(hr__spill *s, hr__spill_fn *fn, void *user, hr_error *err)
{
    if (s->runs == 0) return merge_memory(s, fn, user, err);
    if (s->entries > 0) HR_TRY(write_run(s, err));
    hr_free(s->block);
    s->block = NULL;
    return hr__spill_merge_runs(s->fd, s->path, s->run, s->runs, s->capacity, fn, user, err);
}
