/* Records from files, both checksums verified: in batches of 512, one by one, from GZIP, in an order over all files,
 * and a bare loop to hold them against. */
#include "bench/bench.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- through a pipeline ---- */

static hr_status drain(hr_dataset *ds, pass *p)
{
    hr_iterator *it = bench_iterate(ds, p);
    const hr_element *e;
    hr_status st;
    volatile int64_t sum = 0;
    while ((st = hr_next(it, &e)) == HR_OK) {
        const hr_tensor *t = hr_get_at(e, 0);
        const hr_view *view = t->data;
        for (int64_t i = 0; i < t->count; i++) sum += view[i].size;
        p->rows += t->count;
    }
    p->bytes = (double)(sum + 16 * p->rows);
    if (st != HR_END) p->error = *hr_iterator_error(it);
    hr_iterator_free(it);
    return st == HR_END ? HR_OK : st;
}

static const char *pattern(const pass *p, const char *ext)
{
    static char text[1024];
    snprintf(text, sizeof text, "%s/criteo-*%s", p->folder, ext);
    return text;
}

static hr_status run_read(pass *p, void *memory)
{
    (void)memory;
    return drain(hr_batch(hr_tfrecord(pattern(p, ".tfrecord")), 512), p);
}

static hr_status run_records(pass *p, void *memory)
{
    (void)memory;
    return drain(hr_tfrecord(pattern(p, ".tfrecord")), p);
}

static hr_status run_shuffled(pass *p, void *memory)
{
    (void)memory;
    return drain(hr_batch(hr_shuffled_records(pattern(p, ".tfrecord"), .seed = 7), 512), p);
}

static hr_status run_gzip(pass *p, void *memory)
{
    (void)memory;
    return drain(hr_batch(hr_tfrecord(pattern(p, ".tfrecord.gz"), .compression = HR_GZIP), 512), p);
}

/* ---- the bare loop ---- */

enum { BLOCK = 256 * 1024, SLACK = 64, HEADER = 12, FOOTER = 4 };

static uint32_t get4(const char *at)
{
    uint32_t v;
    memcpy(&v, at, 4);
    return v;
}

/* The whole records of a block; gives the bytes used, -1 for a bad checksum. */
static int64_t frame_block(const char *block, int64_t size, pass *p)
{
    int64_t at = 0;
    while (size - at >= HEADER) {
        uint64_t length;
        memcpy(&length, block + at, 8);
        if (hr_crc32c_mask(hr_crc32c(0, block + at, 8)) != get4(block + at + 8)) return -1;
        if ((uint64_t)(size - at) < HEADER + length + FOOTER) break;
        const char *data = block + at + HEADER;
        if (hr_crc32c_mask(hr_crc32c(0, data, length)) != get4(data + length)) return -1;
        at += HEADER + (int64_t)length + FOOTER;
        p->rows++;
    }
    return at;
}

static hr_status read_file(const char *path, char *block, pass *p)
{
    int file = open(path, O_RDONLY);
    int64_t offset = 0, used = 1;
    while (file >= 0 && used > 0) {
        int64_t got = pread(file, block, BLOCK, offset);
        if (got <= 0) break;
        used = frame_block(block, got, p);
        offset += used;
    }
    if (file >= 0) close(file);
    p->bytes += (double)offset;
    return file < 0 || used < 0 ? hr_fail(&p->error, HR_DATA_LOSS, "bench.read", "%s: unreadable", path) : HR_OK;
}

static hr_status run_bare(pass *p, void *memory)
{
    (void)memory;
    static char block[BLOCK + SLACK];
    hr_file_list files;
    HR_TRY(bench_files(p->folder, CRITEO, &files, &p->error));
    hr_status st = HR_OK;
    for (int64_t i = 0; i < files.count && st == HR_OK; i++) st = read_file(files.path[i], block, p);
    hr_file_list_clear(&files);
    return st;
}

const work work_read[] = {
    {.name = "read_bare", .run = run_bare},
    {.name = "read", .run = run_read, .also_threads = 2},
    {.name = "read_records", .run = run_records, .also_threads = 2},
    {.name = "read_gzip", .run = run_gzip, .also_threads = 2},
    {.name = "read_shuffled", .run = run_shuffled, .threads = 2},
    {0},
};
