/* The index of the shards, made by one pass; and framing alone, from header to header in blocks of the file, to hold it
 * against. */
#include "bench/bench.h"
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { BLOCK = 256 * 1024, HEADER = 12, FRAME = 16 };

static hr_status run_index(pass *p, void *memory)
{
    (void)memory;
    hr_file_list files;
    HR_TRY(bench_files(p->folder, CRITEO, &files, &p->error));
    hr_status st = HR_OK;
    for (int64_t i = 0; i < files.count && st == HR_OK; i++) {
        const hr_record_index_opts opts = {.struct_size = sizeof opts, .anew = true};
        hr_record_index *index;
        st = hr_record_index_open_with(files.path[i], &opts, &index, &p->error);
        if (st != HR_OK) break;
        p->rows += hr_record_index_count(index);
        p->bytes += (double)hr_record_index_bytes(index);
        hr_record_index_free(index);
    }
    hr_file_list_clear(&files);
    return st;
}

/* The headers of a block: gives where the next one lies, -1 for a bad checksum. */
static int64_t frame_block(const char *block, int64_t size, pass *p)
{
    int64_t at = 0;
    while (size - at >= HEADER) {
        uint64_t length;
        uint32_t crc;
        memcpy(&length, block + at, sizeof length);
        memcpy(&crc, block + at + 8, sizeof crc);
        if (hr_crc32c_mask(hr_crc32c(0, block + at, 8)) != crc) return -1;
        at += FRAME + (int64_t)length;
        p->rows++;
    }
    return at;
}

static hr_status frame_file(const char *path, pass *p)
{
    static char block[BLOCK];
    const int file = open(path, O_RDONLY);
    int64_t offset = 0, used = 0;
    while (file >= 0 && used >= 0) {
        const int64_t got = pread(file, block, BLOCK, offset);
        if (got <= 0) break;
        used = frame_block(block, got, p);
        offset += used;
    }
    if (file >= 0) close(file);
    p->bytes += (double)offset;
    return file < 0 || used < 0 ? hr_fail(&p->error, HR_DATA_LOSS, "bench.index", "%s: unreadable", path) : HR_OK;
}

static hr_status run_bare(pass *p, void *memory)
{
    (void)memory;
    hr_file_list files;
    HR_TRY(bench_files(p->folder, CRITEO, &files, &p->error));
    hr_status st = HR_OK;
    for (int64_t i = 0; i < files.count && st == HR_OK; i++) st = frame_file(files.path[i], p);
    hr_file_list_clear(&files);
    return st;
}

const work work_index[] = {
    {.name = "index_bare", .run = run_bare},
    {.name = "index", .run = run_index},
    {0},
};
