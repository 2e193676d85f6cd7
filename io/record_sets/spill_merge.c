/* Merging: a heap of runs, each with a window of its own over its part of the file; the run with the smallest key is on
 * top. */
#include "io/record_sets/spill_merge.h"
#include "io/sys.h"
#include "io/file_window.h"
#include <errno.h>
#include <string.h>

enum { MIN = 4 * 1024, MAX = 1024 * 1024 };

typedef struct cursor {
    hr__window window;
    int fd;
    const char *path;
    int64_t at, end;     /* of the next bytes in the file */
    hr__spill_head head; /* of the record that comes next */
    hr_view record;
} cursor;

static hr_status spill_merge_fill(void *source, char *to, size_t capacity, size_t *got, hr_error *err)
{
    cursor *c = source;
    const int64_t left = c->end - c->at;
    if (left == 0) return HR_END;
    const ssize_t n = hr__read(c->fd, to, (int64_t)capacity < left ? capacity : (size_t)left, c->at);
    if (n < 0) return hr__sys_fail(err, errno, "file.read", c->path, "read");
    if (n == 0) return hr_fail(err, HR_DATA_LOSS, "spill.damaged", "%s: the temporary file became shorter", c->path);
    *got = (size_t)n;
    c->at += n;
    return HR_OK;
}

/* Goes to the next record; HR_END: there is none. */
static hr_status spill_merge_advance(cursor *c, hr_error *err)
{
    const char *data;
    size_t size;
    HR_TRY(hr__window_peek(&c->window, sizeof c->head, &data, &size, err));
    if (size == 0) return HR_END;
    memcpy(&c->head, data, size < sizeof c->head ? size : sizeof c->head);
    const size_t whole = sizeof c->head + (size_t)c->head.size;
    HR_TRY(hr__window_peek(&c->window, whole, &data, &size, err));
    if (size < whole || hr_crc32c(0, data + sizeof c->head, (size_t)c->head.size) != c->head.crc)
        return hr_fail(err, HR_DATA_LOSS, "spill.damaged",
                       "%s: expected the bytes that were written to the temporary file, found others", c->path);
    c->record = (hr_view){data + sizeof c->head, (int64_t)c->head.size};
    return HR_OK;
}

static void sift_down(cursor **heap, int count, int i)
{
    for (int child; (child = 2 * i + 1) < count; i = child) {
        if (child + 1 < count && heap[child + 1]->head.key < heap[child]->head.key) child++;
        if (heap[i]->head.key <= heap[child]->head.key) return;
        cursor *up = heap[child];
        heap[child] = heap[i];
        heap[i] = up;
    }
}

static hr_status spill_merge_merge(cursor **heap, int count, hr__spill_fn *fn, void *user, hr_error *err)
{
    for (int i = count / 2 - 1; i >= 0; i--) sift_down(heap, count, i);
    while (count > 0) {
        cursor *c = heap[0];
        HR_TRY(fn(c->record, user, err));
        hr__window_consume(&c->window, sizeof c->head + (size_t)c->head.size);
        const hr_status st = spill_merge_advance(c, err);
        if (st < 0) return st;
        if (st == HR_END) {
            hr__window_clear(&c->window);
            heap[0] = heap[--count];
        }
        sift_down(heap, count, 0);
    }
    return HR_OK;
}

hr_status hr__spill_merge_runs(int fd, const char *path, const hr__spill_run *run, int runs, size_t memory,
                               hr__spill_fn *fn, void *user, hr_error *err)
{
    size_t piece = memory / (size_t)runs;
    piece = piece < MIN ? MIN : piece > MAX ? MAX : piece;
    cursor *all = hr_calloc((size_t)runs, sizeof *all), **heap = hr_calloc((size_t)runs, sizeof *heap);
    hr_status st = all && heap ? HR_OK : hr_no_memory(err, "merging runs");
    for (int i = 0; st == HR_OK && i < runs; i++) {
        cursor *c = heap[i] = &all[i];
        *c = (cursor){.fd = fd, .path = path, .at = run[i].begin, .end = run[i].end};
        c->window = (hr__window){.fill = spill_merge_fill, .source = c, .piece = piece};
        st = spill_merge_advance(c, err);
    }
    if (st == HR_OK) st = spill_merge_merge(heap, runs, fn, user, err);
    for (int i = 0; all && i < runs; i++) hr__window_clear(&all[i].window);
    hr_free(all);
    hr_free(heap);
    return st;
}
