/* The whole pipeline, and the same work from a hand-written loop to hold it against: pread, framing, checksums, a copy
 * into a shuffle's slot, parsing what is drawn. */
#include "bench/parse.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Takes `ds`. */
static hr_status drain(hr_dataset *ds, pass *p)
{
    hr_iterator *it = bench_iterate(ds, p);
    hr_status st = bench_drain(it, p);
    hr_iterator_free(it);
    return st;
}

static hr_status run_pipeline(pass *p, void *memory)
{
    (void)memory;
    return drain(bench_pipeline(p->folder), p);
}

static hr_status run_map_then_batch(pass *p, void *memory)
{
    (void)memory;
    hr_dataset *ds = hr_parse_single_example(bench_shuffled(p->folder), bench_spec(), .label = "label");
    return drain(hr_prefetch(hr_batch(ds, 512), HR_AUTOTUNE), p);
}

static hr_status run_records(pass *p, void *memory)
{
    (void)memory;
    hr_dataset *ds = hr_parse_single_example(bench_shuffled(p->folder), bench_spec(), .label = "label");
    return drain(hr_prefetch(ds, HR_AUTOTUNE), p);
}

/* ---- the bare loop ---- */

enum { BLOCK = 256 * 1024, FILES = 4, SLOT_COUNT = 10000, SLOT = 1024, HEADER = 12, FOOTER = 4 };

typedef struct reader {
    int file;
    int64_t offset, at, end;
    char *block;
} reader;

typedef struct bare {
    bench_parser parser;
    reader reader[FILES];
    hr_view slot[SLOT_COUNT], batch[BATCH];
    char *slots, *drawn; /* cells of records that wait, and of those of a batch */
    int64_t filled, draws;
    int turn, drawn_count;
} bare;

static void release(void *user)
{
    bare *b = user;
    bench_parser_close(&b->parser);
    for (int i = 0; i < FILES; i++) free(b->reader[i].block);
    free(b->slots);
    free(b->drawn);
    free(b);
}

static void *prepare(const char *folder, hr_error *err)
{
    (void)folder;
    bare *b = calloc(1, sizeof *b);
    if (!b) return NULL;
    b->slots = calloc(SLOT_COUNT, SLOT);
    b->drawn = calloc(BATCH, SLOT);
    bool memory = b->slots && b->drawn;
    for (int i = 0; i < FILES; i++) memory &= (b->reader[i].block = calloc(1, BLOCK + 64)) != NULL;
    if (memory && bench_parser_open(&b->parser, err) == HR_OK) return b;
    release(b);
    return NULL;
}

/* The next record of a file; size -1 at its end, -2 for damage. */
static hr_view next_record(reader *r)
{
    for (int again = 0; again < 2; again++) {
        const char *at = r->block + r->at;
        uint64_t length;
        uint32_t sum;
        if (r->end - r->at >= HEADER) {
            memcpy(&length, at, 8);
            memcpy(&sum, at + 8, 4);
            if (hr_crc32c_mask(hr_crc32c(0, at, 8)) != sum || length > SLOT - 64) return (hr_view){NULL, -2};
            if (r->end - r->at >= (int64_t)(HEADER + length + FOOTER)) {
                memcpy(&sum, at + HEADER + length, 4);
                if (hr_crc32c_mask(hr_crc32c(0, at + HEADER, length)) != sum) return (hr_view){NULL, -2};
                r->at += HEADER + (int64_t)length + FOOTER;
                return (hr_view){at + HEADER, (int64_t)length};
            }
        }
        r->offset += r->at;
        r->at = 0;
        r->end = pread(r->file, r->block, BLOCK, r->offset);
        if (r->end <= 0) break;
    }
    return (hr_view){NULL, -1};
}

/* Interleave: a record of each file in turn. Size 0: all have ended. */
static hr_view next_in_turn(bare *b)
{
    for (int tried = 0; tried < FILES; tried++) {
        reader *r = &b->reader[b->turn];
        b->turn = (b->turn + 1) % FILES;
        if (r->file < 0) continue;
        hr_view v = next_record(r);
        if (v.size != -1) return v;
        close(r->file);
        r->file = -1;
    }
    return (hr_view){NULL, 0};
}

static hr_status finish_batch(bare *b, pass *p)
{
    volatile int64_t sum = 0;
    HR_TRY(bench_parse(&b->parser, b->batch, b->drawn_count, &p->error));
    const int64_t *label = b->parser.column[0].values;
    for (int i = 0; i < b->drawn_count; i++) sum += label[i];
    p->rows += b->drawn_count;
    b->drawn_count = 0;
    return HR_OK;
}

/* Draws a slot into the batch; `fresh` takes its place. */
static hr_status draw(bare *b, hr_view fresh, pass *p)
{
    int64_t s = hr_random_below(7, (uint64_t)b->draws++, b->filled);
    char *cell = b->drawn + (size_t)b->drawn_count * SLOT, *slot = (char *)b->slot[s].data;
    b->batch[b->drawn_count++] = (hr_view){cell, b->slot[s].size};
    memcpy(cell, slot, (size_t)b->slot[s].size);
    if (fresh.data) {
        memcpy(slot, fresh.data, (size_t)fresh.size);
        b->slot[s].size = fresh.size;
    } else {
        hr_view last = b->slot[--b->filled];
        b->slot[b->filled] = b->slot[s];
        b->slot[s] = last;
    }
    return b->drawn_count == BATCH ? finish_batch(b, p) : HR_OK;
}

static hr_status run_bare(pass *p, void *user)
{
    bare *b = user;
    hr_file_list files;
    HR_TRY(bench_files(p->folder, CRITEO, &files, &p->error));
    for (int i = 0; i < FILES; i++) {
        reader *r = &b->reader[i];
        r->file = i < files.count ? open(files.path[i], O_RDONLY) : -1;
        r->offset = r->at = r->end = 0;
    }
    hr_file_list_clear(&files);
    b->filled = b->draws = b->turn = b->drawn_count = 0;
    for (hr_view v; (v = next_in_turn(b)).size > 0;) {
        if (b->filled == SLOT_COUNT) {
            HR_TRY(draw(b, v, p));
            continue;
        }
        char *cell = b->slots + (size_t)b->filled * SLOT;
        memcpy(cell, v.data, (size_t)v.size);
        b->slot[b->filled++] = (hr_view){cell, v.size};
    }
    while (b->filled > 0) HR_TRY(draw(b, (hr_view){0}, p));
    return b->drawn_count ? finish_batch(b, p) : HR_OK;
}

const work work_pipeline[] = {
    {.name = "pipeline_bare", .run = run_bare, .prepare = prepare, .release = release},
    {.name = "pipeline", .run = run_pipeline, .threads = 2, .also_threads = 1},
    {.name = "pipeline_map_then_batch", .run = run_map_then_batch, .threads = 2},
    {.name = "pipeline_records", .run = run_records, .threads = 2},
    {0},
};
