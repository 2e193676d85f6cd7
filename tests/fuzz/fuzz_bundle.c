/* A checkpoint whose index is a sound table of any entries: each is refused, or a tensor of its type and shape. The
 * input: entries as a byte of key's size, two of value's, key and value; a key of size 255 ends them; then the bytes of
 * the data file. */
#include "io/table/table.h"
#include "tests/fuzz/temporary.h"

#include <headrace/checkpoint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LARGEST = 1 << 26 };

static void *allocate(size_t size, void *user)
{
    (void)user;
    return size > LARGEST ? NULL : malloc(size);
}

static void *reallocate(void *p, size_t size, void *user)
{
    (void)user;
    return size > LARGEST ? NULL : realloc(p, size);
}

static void release(void *p, void *user)
{
    (void)user;
    free(p);
}

static volatile unsigned sum;

/* Gives where the data file begins. */
static size_t write_index(const char *path, const uint8_t *data, size_t size)
{
    hr_output *out;
    hr_error err;
    size_t at = 0;
    if (hr_output_open_with(path, &(hr_output_opts){.no_sync = true}, &out, &err) != HR_OK) abort();
    hr__table_writer *w = hr__table_writer_new(out);
    while (w && at + 3 <= size && data[at] != 255) {
        const size_t key = data[at], value = (size_t)data[at + 1] | (size_t)data[at + 2] << 8;
        at += 3;
        if (key + value > size - at) break;
        hr__table_add(w, (hr_view){(const char *)data + at, (int64_t)key},
                      (hr_view){(const char *)data + at + key, (int64_t)value}, &err); /* those out of order are not */
        at += key + value;
    }
    if (!w || hr__table_finish(w, &err) != HR_OK || hr_output_commit(out, &err) != HR_OK) abort();
    hr__table_writer_free(w);
    return at + 1 < size ? at + 1 : size;
}

static void write_data(const char *path, const uint8_t *data, size_t size)
{
    FILE *f = fopen(path, "wb");
    if (!f) abort();
    if (size) fwrite(data, 1, size, f);
    fclose(f);
}

static void read_tensor(hr_bundle *b, const hr_bundle_entry *e, const char *slice)
{
    hr_tensor t;
    hr_error err;
    if (hr_bundle_read_slice(b, e->name, slice, &t, &err) != HR_OK) return;
    if (t.dtype != e->dtype || t.count != hr_shape_count(t.shape)) abort();
    if (!slice && !hr_shape_equal(t.shape, e->shape)) abort();
    const size_t bytes = (size_t)t.count * hr_dtype_size(t.dtype);
    for (size_t i = 0; i < bytes; i++) sum += ((const unsigned char *)t.data)[i];
    for (int64_t i = 0; t.dtype == HR_STRING && i < t.count; i++) {
        const hr_view v = ((const hr_view *)t.data)[i];
        for (int64_t j = 0; j < v.size; j++) sum += (unsigned char)v.data[j];
    }
    hr_tensor_clear(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool limited;
    char prefix[TEMPORARY], index[TEMPORARY + 32], shard[TEMPORARY + 32];
    hr_bundle *b;
    hr_error err;
    const hr_bundle_entry *entries;
    int count;
    if (!limited) hr_set_allocator(&(hr_allocator){allocate, reallocate, release, NULL});
    limited = true;
    temporary_path(prefix, "bundle");
    snprintf(index, sizeof index, "%s.index", prefix);
    snprintf(shard, sizeof shard, "%s.data-00000-of-00001", prefix);
    const size_t rest = write_index(index, data, size);
    write_data(shard, data + rest, size - rest);
    if (hr_bundle_open(prefix, &b, &err) == HR_OK) {
        hr_bundle_check(b, &err);
        if (hr_bundle_list(b, &entries, &count, &err) == HR_OK)
            for (int i = 0; i < count && i < 64; i++) {
                read_tensor(b, &entries[i], NULL);
                read_tensor(b, &entries[i], "2 3 0,1:-");
                read_tensor(b, &entries[i], "4 0,2");
            }
        hr_bundle_free(b);
    }
    unlink(index);
    unlink(shard);
    return 0;
}
