/* Writes a checkpoint: bytes go to the data file as they come, entries wait for the index, which is sorted by name. */
#include <headrace/checkpoint.h>
#include "base/hash_map.h"
#include "base/text.h"
#include "io/example/example_wire.h"
#include "io/sys.h"
#include "io/table/table.h"
#include "proto/bundle.pb-c.h"
#include "train/checkpoint/folder.h"
#include "train/checkpoint/slices.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct entry {
    hr_view key, value; /* owned */
} entry;

/* A variable that comes in parts: the entry under its own name lists them. */
typedef struct parts {
    char *name;
    hr_dtype dtype;
    hr_shape full;
    int count;
    int64_t (*start)[HR_MAX_RANK], (*length)[HR_MAX_RANK];
} parts;

struct hr_bundle_writer {
    char *prefix, *path; /* of the data file */
    int shard;           /* its number, the last one of so many and one more */
    bool replaces;       /* the data file of another number is removed in the end */
    hr_output *data;
    entry *entry;
    int entries, capacity;
    parts *part;
    int partitioned;
    hr__map part_names; /* to the index */
};

/* ---- entries ---- */

static hr_status bundle_writer_keep_entry(hr_bundle_writer *w, const char *key, size_t key_size, const char *value,
                                          size_t value_size, hr_error *err)
{
    if (w->entries == w->capacity) {
        int capacity = w->capacity ? 2 * w->capacity : 64;
        entry *grown = hr_realloc(w->entry, (size_t)capacity * sizeof *grown);
        if (!grown) return hr_no_memory(err, "the index of a checkpoint");
        w->entry = grown;
        w->capacity = capacity;
    }
    entry e = {{hr_memdup(key, key_size), (int64_t)key_size}, {hr_memdup(value, value_size), (int64_t)value_size}};
    if (!e.key.data || !e.value.data) {
        hr_free((char *)e.key.data);
        hr_free((char *)e.value.data);
        return hr_no_memory(err, "the index of a checkpoint");
    }
    w->entry[w->entries++] = e;
    return HR_OK;
}

typedef Headrace__Proto__TensorShape__Dim proto_dim;
typedef Headrace__Proto__TensorSlice__Extent proto_extent;

/* Sets a message's shape from ours; the arrays are the caller's. */
static void set_shape(Headrace__Proto__TensorShape *to, proto_dim *dim, proto_dim **list, hr_shape shape)
{
    headrace__proto__tensor_shape__init(to);
    for (int i = 0; i < shape.rank; i++) {
        headrace__proto__tensor_shape__dim__init(&dim[i]);
        dim[i].size = shape.dims[i];
        list[i] = &dim[i];
    }
    to->n_dim = (size_t)shape.rank;
    to->dim = list;
}

static hr_status pack_entry(hr_bundle_writer *w, const char *key, size_t key_size, Headrace__Proto__BundleEntry *e,
                            hr_shape shape, hr_error *err)
{
    Headrace__Proto__TensorShape proto_shape;
    proto_dim dim[HR_MAX_RANK], *list[HR_MAX_RANK];
    set_shape(&proto_shape, dim, list, shape);
    e->shape = &proto_shape;
    size_t size = headrace__proto__bundle_entry__get_packed_size(e);
    uint8_t *packed = hr_malloc(size);
    if (!packed) return hr_no_memory(err, "the index of a checkpoint");
    headrace__proto__bundle_entry__pack(e, packed);
    hr_status st = bundle_writer_keep_entry(w, key, key_size, (char *)packed, size, err);
    hr_free(packed);
    return st;
}

/* ---- data ---- */

static hr_status write_and_sum(hr_bundle_writer *w, const void *data, size_t size, uint32_t *crc, hr_error *err)
{
    *crc = hr_crc32c(*crc, data, size);
    return hr_output_write(w->data, data, size, err);
}

/* The lengths' checksum is over fixed words, not over the varints that are stored. */
static uint32_t sum_lengths(const hr_view *view, int64_t count)
{
    uint32_t crc = 0;
    for (int64_t i = 0; i < count; i++) {
        unsigned char word[8];
        for (int b = 0; b < 8; b++) word[b] = (unsigned char)((uint64_t)view[i].size >> 8 * b);
        crc = hr_crc32c(crc, word, view[i].size <= UINT32_MAX ? 4 : 8);
    }
    return crc;
}

static hr_status write_lengths(hr_bundle_writer *w, const hr_view *view, int64_t count, hr_error *err)
{
    for (int64_t i = 0; i < count; i++) {
        char varint[HR__MAX_VARINT];
        const char *end = hr__put_varint(varint, (uint64_t)view[i].size);
        HR_TRY(hr_output_write(w->data, varint, (size_t)(end - varint), err));
    }
    return HR_OK;
}

static hr_status write_strings(hr_bundle_writer *w, const hr_tensor *t, uint32_t *crc, hr_error *err)
{
    const hr_view *view = t->data;
    *crc = sum_lengths(view, t->count);
    uint32_t lengths = hr_crc32c_mask(*crc);
    unsigned char word[4];
    for (int b = 0; b < 4; b++) word[b] = (unsigned char)(lengths >> 8 * b);
    HR_TRY(write_lengths(w, view, t->count, err));
    HR_TRY(write_and_sum(w, word, sizeof word, crc, err));
    for (int64_t i = 0; i < t->count; i++) HR_TRY(write_and_sum(w, view[i].data, (size_t)view[i].size, crc, err));
    return HR_OK;
}

static hr_status write_tensor(hr_bundle_writer *w, const char *key, size_t key_size, const hr_tensor *t, hr_error *err)
{
    Headrace__Proto__BundleEntry e;
    headrace__proto__bundle_entry__init(&e);
    uint32_t crc = 0;
    e.shard_id = w->shard;
    e.offset = hr_output_offset(w->data);
    if (t->dtype == HR_STRING)
        HR_TRY(write_strings(w, t, &crc, err));
    else
        HR_TRY(write_and_sum(w, t->data, (size_t)t->count * hr_dtype_size(t->dtype), &crc, err));
    e.size = hr_output_offset(w->data) - e.offset;
    e.dtype = t->dtype;
    e.crc32c = hr_crc32c_mask(crc);
    return pack_entry(w, key, key_size, &e, t->shape, err);
}

static hr_status check_tensor(const char *name, const hr_tensor *t, hr_error *err)
{
    if (t->layout == HR_DENSE && hr_dtype_size(t->dtype) && t->dtype != HR_RESOURCE && t->dtype != HR_VARIANT &&
        hr_shape_count(t->shape) == t->count)
        return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "checkpoint.tensor",
                   "checkpoint: '%s': expected a dense tensor of values, got %s", name, hr_dtype_name(t->dtype));
}

hr_status hr_bundle_add(hr_bundle_writer *w, const char *name, const hr_tensor *t, hr_error *err)
{
    if (!w || !name || !t) return hr__checkpoint_lacks("a writer, a name and a tensor", err);
    HR_TRY(check_tensor(name, t, err));
    return write_tensor(w, name, strlen(name), t, err);
}

/* ---- parts ---- */

static parts *bundle_writer_parts_of(hr_bundle_writer *w, const char *name, hr_dtype dtype, hr_shape full)
{
    const int known = hr__map_index(&w->part_names, name);
    if (known >= 0) return &w->part[known];
    if (!(w->partitioned & (w->partitioned - 1))) { /* it doubles */
        parts *grown = hr_realloc(w->part, ((size_t)w->partitioned * 2 + 1) * sizeof *grown);
        if (!grown) return NULL;
        w->part = grown;
    }
    char *copy = hr_strdup(name);
    if (!copy || hr__map_add(&w->part_names, name, strlen(name), w->partitioned, NULL) != HR_OK) {
        hr_free(copy);
        return NULL;
    }
    w->part[w->partitioned] = (parts){.name = copy, .dtype = dtype, .full = full};
    return &w->part[w->partitioned++];
}

static hr_status note_part(hr_bundle_writer *w, const char *name, hr_dtype dtype, hr_shape full, const int64_t *start,
                           const int64_t *length, hr_error *err)
{
    parts *p = bundle_writer_parts_of(w, name, dtype, full);
    if (!p) return hr_no_memory(err, "the parts of a variable");
    void *starts = hr_realloc(p->start, ((size_t)p->count + 1) * sizeof *p->start);
    if (starts) p->start = starts;
    void *lengths = hr_realloc(p->length, ((size_t)p->count + 1) * sizeof *p->length);
    if (lengths) p->length = lengths;
    if (!starts || !lengths) return hr_no_memory(err, "the parts of a variable");
    memcpy(p->start[p->count], start, (size_t)full.rank * sizeof *start);
    memcpy(p->length[p->count++], length, (size_t)full.rank * sizeof *length);
    return HR_OK;
}

hr_status hr_bundle_add_slice(hr_bundle_writer *w, const char *name, hr_shape full, const int64_t *start,
                              const int64_t *length, const hr_tensor *t, hr_error *err)
{
    int64_t real[HR_MAX_RANK], stored[HR_MAX_RANK];
    bool whole = true;
    if (!w || !name || !t || !start || !length)
        return hr__checkpoint_lacks("a writer, a name, a tensor and its place", err);
    HR_TRY(check_tensor(name, t, err));
    memcpy(real, length, (size_t)full.rank * sizeof *real);
    HR_TRY(hr__slice_resolve(full, start, real, err));
    for (int i = 0; i < full.rank; i++) {
        bool all = start[i] == 0 && real[i] == full.dims[i] && length[i] < 0;
        whole &= start[i] == 0 && real[i] == full.dims[i];
        stored[i] = all ? -1 : real[i]; /* a full extent, if it was given as one */
    }
    if (whole) return hr_bundle_add(w, name, t, err);
    HR_TRY(note_part(w, name, t->dtype, full, start, stored, err));
    char *key = hr_malloc(HR__SLICE_KEY_MIN + 2 * strlen(name));
    if (!key) return hr_no_memory(err, "a key of a checkpoint");
    size_t size = hr__slice_key(key, name, full.rank, start, stored);
    hr_status st = write_tensor(w, key, size, t, err);
    hr_free(key);
    return st;
}

hr_status hr_bundle_add_part(hr_bundle_writer *w, const char *name, const char *slice, const hr_tensor *t,
                             hr_error *err)
{
    hr_shape full, part;
    int64_t start[HR_MAX_RANK], length[HR_MAX_RANK];
    if (!w || !name || !slice || !t) return hr__checkpoint_lacks("a writer, a name, a part and a tensor", err);
    if (!slice[0]) return hr_bundle_add(w, name, t, err);
    HR_TRY(hr__slice_parse(slice, &full, start, length, err));
    part.rank = full.rank;
    memcpy(part.dims, length, sizeof part.dims[0] * (size_t)full.rank);
    if (hr_shape_equal(part, t->shape)) return hr_bundle_add_slice(w, name, full, start, length, t, err);
    return hr_fail(err, HR_INVALID_ARGUMENT, "checkpoint.slice",
                   "slice: \"%.60s\" is not the shape of what is saved as '%.100s'", slice, name);
}

static hr_status pack_parts(hr_bundle_writer *w, const parts *p, hr_error *err)
{
    const size_t n = (size_t)p->count, rank = (size_t)p->full.rank;
    Headrace__Proto__TensorSlice *slice = hr_calloc(n, sizeof *slice), **slices = hr_calloc(n, sizeof *slices);
    proto_extent *extent = hr_calloc(n * rank + 1, sizeof *extent),
                 **extents = hr_calloc(n * rank + 1, sizeof *extents);
    hr_status st = slice && slices && extent && extents ? HR_OK : hr_no_memory(err, "the parts of a variable");
    for (size_t i = 0; i < n && st == HR_OK; i++) {
        headrace__proto__tensor_slice__init(&slice[i]);
        slices[i] = &slice[i];
        slice[i].n_extent = rank;
        slice[i].extent = extents + i * rank;
        for (size_t d = 0; d < rank; d++) {
            proto_extent *e = extents[i * rank + d] = &extent[i * rank + d];
            headrace__proto__tensor_slice__extent__init(e);
            e->start = p->start[i][d];
            if (p->length[i][d] < 0) continue;
            e->has_length_case = HEADRACE__PROTO__TENSOR_SLICE__EXTENT__HAS_LENGTH_LENGTH;
            e->length = p->length[i][d];
        }
    }
    Headrace__Proto__BundleEntry e;
    headrace__proto__bundle_entry__init(&e);
    e.dtype = p->dtype;
    e.n_slices = n;
    e.slices = slices;
    if (st == HR_OK) st = pack_entry(w, p->name, strlen(p->name), &e, p->full, err);
    hr_free(slice);
    hr_free(slices);
    hr_free(extent);
    hr_free(extents);
    return st;
}

/* ---- the whole ---- */

static void bundle_writer_path(const hr_bundle_writer *w, int shard, char *path, size_t size)
{
    snprintf(path, size, "%s.data-%05d-of-%05d", w->prefix, shard, shard + 1);
}

static hr_status bundle_writer_open(const char *prefix, int shard, hr_bundle_writer **out, hr_error *err)
{
    if (out) *out = NULL;
    if (!prefix || !out) return hr__checkpoint_lacks("a checkpoint's path, and a place for it", err);
    hr_bundle_writer *w = hr_calloc(1, sizeof *w);
    if (!w) return hr_no_memory(err, "a checkpoint");
    const size_t size = strlen(prefix) + 32;
    w->prefix = hr_strdup(prefix);
    w->path = hr_malloc(size);
    w->shard = shard;
    hr_status st = w->prefix && w->path ? HR_OK : hr_no_memory(err, "a checkpoint");
    if (st == HR_OK) {
        bundle_writer_path(w, shard, w->path, size);
        st = hr_output_open_with(w->path, &(hr_output_opts){.compression = HR_NONE}, &w->data, err);
    }
    if (st == HR_OK)
        *out = w;
    else
        hr_bundle_writer_discard(w);
    return st;
}

hr_status hr_bundle_writer_open(const char *prefix, hr_bundle_writer **out, hr_error *err)
{
    return bundle_writer_open(prefix, 0, out, err);
}

hr_status hr__bundle_writer_replace(const char *prefix, hr_bundle_writer **out, hr_error *err)
{
    hr_bundle *old = NULL;
    const bool same = prefix && hr_bundle_open(prefix, &old, NULL) == HR_OK && hr_bundle_shards(old) == 1;
    hr_bundle_free(old);
    HR_TRY(bundle_writer_open(prefix, same ? 1 : 0, out, err));
    (*out)->replaces = true;
    return HR_OK;
}

static void free_writer(hr_bundle_writer *w)
{
    for (int i = 0; i < w->entries; i++) {
        hr_free((char *)w->entry[i].key.data);
        hr_free((char *)w->entry[i].value.data);
    }
    for (int i = 0; i < w->partitioned; i++) {
        hr_free(w->part[i].name);
        hr_free(w->part[i].start);
        hr_free(w->part[i].length);
    }
    hr_free(w->entry);
    hr_free(w->part);
    hr__map_free(&w->part_names);
    hr_free(w->prefix);
    hr_free(w->path);
    hr_free(w);
}

void hr_bundle_writer_discard(hr_bundle_writer *w)
{
    if (!w) return;
    hr_output_discard(w->data);
    free_writer(w);
}

static int bundle_writer_by_key(const void *a, const void *b)
{
    hr_view x = ((const entry *)a)->key, y = ((const entry *)b)->key;
    int64_t min = x.size < y.size ? x.size : y.size;
    int order = min ? memcmp(x.data, y.data, (size_t)min) : 0;
    return order ? order : (x.size > y.size) - (x.size < y.size);
}

static hr_status bundle_writer_write_index(hr_bundle_writer *w, hr_output *out, hr_error *err)
{
    const char header[] = {8, (char)(w->shard + 1), 0x1a, 2, 8, 1}; /* how many shards, little-endian, version 1 */
    hr__table_writer *table = hr__table_writer_new(out);
    if (!table) return hr_no_memory(err, "the index of a checkpoint");
    if (w->entries) qsort(w->entry, (size_t)w->entries, sizeof *w->entry, bundle_writer_by_key);
    hr_status st = hr__table_add(table, (hr_view){"", 0}, (hr_view){header, sizeof header}, err);
    for (int i = 0; i < w->entries && st == HR_OK; i++) {
        st = hr__table_add(table, w->entry[i].key, w->entry[i].value, err);
        if (st == HR_INVALID_ARGUMENT)
            hr_fail(err, st, "checkpoint.twice", "checkpoint: '%.*s' was added twice", (int)w->entry[i].key.size,
                    w->entry[i].key.data);
    }
    if (st == HR_OK) st = hr__table_finish(table, err);
    hr__table_writer_free(table);
    return st;
}

/* Gives both files their names, the data first. Where the index gets none and there is no older one, the data is of no
 * use. Takes `index`. */
static hr_status name_files(hr_bundle_writer *w, hr_output *index, const char *index_path, hr_error *err)
{
    hr_output *data = w->data;
    w->data = NULL;
    const hr_status named = hr_output_commit(data, err);
    if (named != HR_OK) {
        hr_output_discard(index);
        return named;
    }
    const hr_status st = hr_output_commit(index, err);
    if (st != HR_OK && access(index_path, F_OK) != 0) hr__sys_get()->unlink(w->path);
    if (st == HR_OK && w->replaces) {
        bundle_writer_path(w, 1 - w->shard, w->path, strlen(w->path) + 1);
        hr__sys_get()->unlink(w->path);
    }
    return st;
}

static hr_status commit(hr_bundle_writer *w, hr_error *err)
{
    hr__text path = {0};
    hr_output *index = NULL;
    for (int i = 0; i < w->partitioned; i++) HR_TRY(pack_parts(w, &w->part[i], err));
    hr__text_printf(&path, "%s.index", w->prefix);
    HR_TRY(hr__text_status(&path, "a path", err));
    hr_status st = hr_output_open_with(path.data, &(hr_output_opts){.compression = HR_NONE}, &index, err);
    if (st == HR_OK) st = bundle_writer_write_index(w, index, err);
    if (st == HR_OK)
        st = name_files(w, index, path.data, err);
    else
        hr_output_discard(index);
    hr__text_free(&path);
    return st;
}

hr_status hr_bundle_writer_commit(hr_bundle_writer *w, hr_error *err)
{
    if (!w) return hr__checkpoint_lacks("a checkpoint that is written", err);
    hr_status st = commit(w, err);
    hr_bundle_writer_discard(w);
    return st;
}
