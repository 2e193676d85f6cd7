/* Reads a checkpoint: the index at once, tensors when they are asked for, so that damage to one leaves the others. */
#include <headrace/checkpoint.h>
#include "io/sys.h"
#include "io/table/table.h"
#include "proto/bundle.pb-c.h"
#include "train/checkpoint/folder.h"
#include "train/checkpoint/slices.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef Headrace__Proto__BundleEntry proto_entry;

/* ---- messages: their memory is ours, so that lack of it is told from damage ---- */

static void *message_alloc(void *no_memory, size_t size)
{
    void *p = hr_malloc(size);
    *(bool *)no_memory |= !p;
    return p;
}

static void message_free(void *no_memory, void *p) { (void)no_memory, hr_free(p); }

static ProtobufCAllocator message_memory(bool *no_memory)
{
    *no_memory = false;
    return (ProtobufCAllocator){message_alloc, message_free, no_memory};
}

static void free_entry(proto_entry *p)
{
    bool unused;
    ProtobufCAllocator memory = message_memory(&unused);
    headrace__proto__bundle_entry__free_unpacked(p, &memory);
}

struct hr_bundle {
    char *prefix;
    hr__table *table;
    int shards;
    bool big_endian;
    hr_bundle_entry *entry;
    int entries, capacity;
    bool listed;
};

/* ---- opening ---- */

static hr_status bad_entry(const char *name, const char *what, hr_error *err)
{
    return hr_fail(err, HR_DATA_LOSS, "checkpoint.entry", "checkpoint: '%.100s': %s; the index is corrupt", name, what);
}

static hr_status bundle_reader_read_header(hr_bundle *b, hr_error *err)
{
    hr_view value;
    hr_error missing;
    hr_status st = hr__table_get(b->table, (hr_view){"", 0}, &value, &missing);
    if (st == HR_NOT_FOUND) return HR_OK; /* as TensorFlow: no shards, so no tensor is found */
    if (st != HR_OK) {
        if (err) *err = missing;
        return st;
    }
    bool no_memory;
    ProtobufCAllocator memory = message_memory(&no_memory);
    Headrace__Proto__BundleHeader *header =
        headrace__proto__bundle_header__unpack(&memory, (size_t)value.size, (const uint8_t *)value.data);
    hr_free((char *)value.data);
    if (no_memory) return hr_no_memory(err, "a checkpoint");
    if (!header) return bad_entry("", "the header is not a message", err);
    b->shards = header->num_shards;
    b->big_endian = header->endianness == 1;
    int needs = header->version ? header->version->min_consumer : 0;
    headrace__proto__bundle_header__free_unpacked(header, &memory);
    if (needs <= 1) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "checkpoint.version",
                   "%s: written for readers of version %d and later, this one has version 1", b->prefix, needs);
}

void hr_bundle_free(hr_bundle *b)
{
    if (!b) return;
    for (int i = 0; i < b->entries; i++) hr_free((char *)b->entry[i].name);
    hr_free(b->entry);
    hr__table_free(b->table);
    hr_free(b->prefix);
    hr_free(b);
}

int hr_bundle_shards(const hr_bundle *b) { return b ? b->shards : 0; }

/* ---- entries ---- */

static bool get_shape(const proto_entry *p, hr_shape *shape)
{
    *shape = HR_SCALAR;
    if (!p->shape) return true;
    if (p->shape->unknown_rank || p->shape->n_dim > HR_MAX_RANK) return false;
    shape->rank = (int)p->shape->n_dim;
    for (int i = 0; i < shape->rank; i++) {
        shape->dims[i] = p->shape->dim[i]->size;
        if (shape->dims[i] < 0) return false;
    }
    return hr_shape_count(*shape) >= 0;
}

static hr_status get_entry(const char *name, const proto_entry *p, hr_bundle_entry *e, hr_error *err)
{
    *e = (hr_bundle_entry){.name = name,
                           .dtype = (hr_dtype)p->dtype,
                           .shard = p->shard_id,
                           .offset = p->offset,
                           .size = p->size,
                           .crc32c = p->crc32c,
                           .slices = (int)p->n_slices};
    if (!get_shape(p, &e->shape)) return bad_entry(name, "a shape is impossible", err);
    return e->offset >= 0 && e->size >= 0 ? HR_OK : bad_entry(name, "an offset or size is negative", err);
}

static hr_status unpack_entry(const char *name, hr_view value, proto_entry **p, hr_bundle_entry *e, hr_error *err)
{
    bool no_memory;
    ProtobufCAllocator memory = message_memory(&no_memory);
    *p = headrace__proto__bundle_entry__unpack(&memory, (size_t)value.size, (const uint8_t *)value.data);
    if (no_memory) return hr_no_memory(err, "an entry of a checkpoint");
    if (!*p) return bad_entry(name, "an entry is not a message", err);
    hr_status st = get_entry(name, *p, e, err);
    if (st != HR_OK) free_entry(*p);
    return st;
}

static hr_status bundle_reader_find_entry(hr_bundle *b, hr_view key, const char *name, proto_entry **p,
                                          hr_bundle_entry *e, hr_error *err)
{
    hr_view value;
    hr_status st = hr__table_get(b->table, key, &value, err);
    if (st == HR_NOT_FOUND)
        return hr_fail(err, st, "checkpoint.name", "%s: there is no tensor '%.200s' in this checkpoint", b->prefix,
                       name);
    if (st != HR_OK) return st;
    st = unpack_entry(name, value, p, e, err);
    hr_free((char *)value.data);
    return st;
}

static hr_status list_entry(hr_view key, hr_view value, void *user, hr_error *err)
{
    hr_bundle *b = user;
    if (key.size == 0 || key.data[0] == '\0') return HR_OK; /* the header; parts of variables */
    if (b->entries == b->capacity) {
        int capacity = b->capacity ? 2 * b->capacity : 64;
        hr_bundle_entry *grown = hr_realloc(b->entry, (size_t)capacity * sizeof *grown);
        if (!grown) return hr_no_memory(err, "the list of a checkpoint");
        b->entry = grown;
        b->capacity = capacity;
    }
    char *name = hr_malloc((size_t)key.size + 1);
    if (!name) return hr_no_memory(err, "the list of a checkpoint");
    memcpy(name, key.data, (size_t)key.size);
    name[key.size] = '\0';
    proto_entry *p;
    hr_status st = unpack_entry(name, value, &p, &b->entry[b->entries], err);
    if (st != HR_OK) {
        hr_free(name);
        return st;
    }
    free_entry(p);
    b->entries++;
    return HR_OK;
}

hr_status hr_bundle_list(hr_bundle *b, const hr_bundle_entry **entries, int *count, hr_error *err)
{
    if (!b || !entries || !count) return hr__checkpoint_lacks("a checkpoint and places for its list", err);
    if (!b->listed) {
        for (int i = 0; i < b->entries; i++) hr_free((char *)b->entry[i].name);
        b->entries = 0;
        HR_TRY(hr__table_each(b->table, list_entry, b, err));
        b->listed = true;
    }
    *entries = b->entry;
    *count = b->entries;
    return HR_OK;
}

/* An entry that is no entry makes the whole index doubtful; a damaged block only what it holds. */
static hr_status check_entries(hr_bundle *b, hr_error *err)
{
    const hr_bundle_entry *entries;
    int count;
    hr_error found;
    hr_status st = hr_bundle_list(b, &entries, &count, &found);
    if (st == HR_OK || (st != HR_RESOURCE_EXHAUSTED && strcmp(found.kind, "checkpoint.entry") != 0)) return HR_OK;
    if (err) *err = found;
    return st;
}

hr_status hr_bundle_open(const char *prefix, hr_bundle **out, hr_error *err)
{
    if (out) *out = NULL;
    if (!prefix || !out) return hr__checkpoint_lacks("a checkpoint's path, and a place for it", err);
    hr_bundle *b = hr_calloc(1, sizeof *b);
    size_t size = strlen(prefix) + 8;
    char *path = hr_malloc(size);
    hr_status st = b && path && (b->prefix = hr_strdup(prefix)) ? HR_OK : hr_no_memory(err, "a checkpoint");
    if (st == HR_OK) {
        snprintf(path, size, "%s.index", prefix);
        st = hr__table_open(path, &b->table, err);
    }
    if (st == HR_OK) st = bundle_reader_read_header(b, err);
    if (st == HR_OK) st = check_entries(b, err);
    hr_free(path);
    if (st == HR_OK)
        *out = b;
    else
        hr_bundle_free(b);
    return st;
}

hr_status hr_bundle_has(hr_bundle *b, const char *name, bool *has, hr_error *err)
{
    hr_view value;
    hr_error why;
    if (!b || !name || !has)
        return hr__checkpoint_lacks("a checkpoint, a tensor's name, and a place for the answer", err);
    const hr_status st = hr__table_get(b->table, (hr_view){name, (int64_t)strlen(name)}, &value, &why);
    *has = st == HR_OK;
    if (st == HR_OK) hr_free((char *)value.data);
    if (st == HR_OK || st == HR_NOT_FOUND) return HR_OK;
    if (err) *err = why;
    return st;
}

/* ---- data ---- */

static void data_path(const hr_bundle *b, const hr_bundle_entry *e, char *path, size_t size)
{
    snprintf(path, size, "%s.data-%05d-of-%05d", b->prefix, e->shard, b->shards);
}

static hr_status too_short(const char *path, const hr_bundle_entry *e, hr_error *err)
{
    hr_fail(err, HR_OUT_OF_RANGE, "checkpoint.short",
            "%s: '%.100s' needs %lld bytes from %lld on, the file ends before; it is truncated", path, e->name,
            (long long)e->size, (long long)e->offset);
    hr_error_file(err, path);
    return HR_OUT_OF_RANGE;
}

static hr_status read_bytes(hr_bundle *b, const hr_bundle_entry *e, char *to, hr_error *err)
{
    size_t size = strlen(b->prefix) + 48, left = (size_t)e->size;
    char *path = hr_malloc(size);
    if (!path) return hr_no_memory(err, "a path");
    data_path(b, e, path, size);
    hr_input *in = NULL;
    hr_status st = hr_input_open_with(path, &(hr_input_opts){.compression = HR_NONE}, &in, err);
    if (st == HR_OK && left) st = hr_input_seek(in, e->offset, err);
    while (st == HR_OK && left > 0) {
        const char *data;
        size_t got;
        st = hr_input_peek(in, 1, &data, &got, err);
        if (st != HR_OK) break;
        if (got == 0) st = too_short(path, e, err);
        if (got > left) got = left;
        memcpy(to + (e->size - (int64_t)left), data, got);
        hr_input_consume(in, got);
        left -= got;
    }
    if (st != HR_OK) hr_error_file(err, path);
    hr_input_free(in);
    hr_free(path);
    return st;
}

static hr_status bad_sum(const hr_bundle *b, const hr_bundle_entry *e, uint32_t got, hr_error *err)
{
    hr_fail(err, HR_DATA_LOSS, "checkpoint.crc",
            "%s: '%.100s': expected checksum 0x%08x, got 0x%08x; the data file is corrupt", b->prefix, e->name,
            e->crc32c, got);
    if (err) err->offset = e->offset, err->length = e->size;
    return HR_DATA_LOSS;
}

static void swap_bytes(char *data, int64_t count, size_t width)
{
    for (int64_t i = 0; i < count; i++)
        for (size_t k = 0; k < width / 2; k++) {
            char *a = data + (size_t)i * width + k, *z = data + (size_t)i * width + width - 1 - k, t = *a;
            *a = *z;
            *z = t;
        }
}

static hr_status bundle_reader_read_numbers(hr_bundle *b, const hr_bundle_entry *e, hr_tensor *out, hr_error *err)
{
    int64_t count = hr_shape_count(e->shape);
    size_t width = hr_dtype_size(e->dtype);
    if (count > INT64_MAX / (int64_t)width || e->size != count * (int64_t)width)
        return bad_entry(e->name, "the size does not fit type and shape", err);
    HR_TRY(hr_tensor_new(out, e->dtype, e->shape, err));
    HR_TRY(read_bytes(b, e, out->data, err));
    uint32_t sum = hr_crc32c_mask(hr_crc32c(0, out->data, (size_t)e->size));
    if (sum != e->crc32c) return bad_sum(b, e, sum, err);
    bool complex = e->dtype == HR_COMPLEX64 || e->dtype == HR_COMPLEX128;
    if (b->big_endian) swap_bytes(out->data, complex ? 2 * count : count, complex ? width / 2 : width);
    return HR_OK;
}

/* Lengths as varints, their checksum, the bytes. Everything is checked against the entry's size before it is
 * trusted. */
static hr_status split_strings(const hr_bundle_entry *e, const char *raw, hr_view *view, int64_t count, uint32_t *sum,
                               hr_error *err)
{
    const char *at = raw, *end = raw + e->size;
    uint32_t crc = 0;
    uint64_t total = 0;
    for (int64_t i = 0; i < count; i++) {
        uint64_t length = 0;
        int shift = 0;
        unsigned char byte = 0x80, word[8];
        for (; byte & 0x80 && at < end && shift < 64; shift += 7)
            length |= (uint64_t)((byte = (unsigned char)*at++) & 0x7f) << shift;
        if (byte & 0x80 || length > (uint64_t)e->size || (total += length) > (uint64_t)e->size)
            return bad_entry(e->name, "a string's length is impossible", err);
        for (int k = 0; k < 8; k++) word[k] = (unsigned char)(length >> 8 * k);
        crc = hr_crc32c(crc, word, length <= UINT32_MAX ? 4 : 8);
        view[i].size = (int64_t)length;
    }
    if ((uint64_t)(end - at) != total + 4) return bad_entry(e->name, "the strings do not fit the size", err);
    const unsigned char *stored = (const unsigned char *)at;
    uint32_t lengths = stored[0] | (uint32_t)stored[1] << 8 | (uint32_t)stored[2] << 16 | (uint32_t)stored[3] << 24;
    if (lengths != hr_crc32c_mask(crc)) return bad_entry(e->name, "the checksum of the strings' lengths is wrong", err);
    *sum = hr_crc32c_mask(hr_crc32c(crc, at, (size_t)total + 4));
    at += 4;
    for (int64_t i = 0; i < count; at += view[i++].size) view[i].data = at;
    return HR_OK;
}

static hr_status bundle_reader_read_strings(hr_bundle *b, const hr_bundle_entry *e, hr_tensor *out, hr_error *err)
{
    int64_t count = hr_shape_count(e->shape);
    if (count > e->size) return bad_entry(e->name, "the size does not fit the shape", err);
    char *raw = hr_malloc((size_t)e->size + 1);
    hr_view *view = hr_calloc((size_t)count + 1, sizeof *view);
    uint32_t sum = 0;
    hr_status st = raw && view ? read_bytes(b, e, raw, err) : hr_no_memory(err, "strings of a checkpoint");
    if (st == HR_OK) st = split_strings(e, raw, view, count, &sum, err);
    if (st == HR_OK && sum != e->crc32c) st = bad_sum(b, e, sum, err);
    if (st == HR_OK) st = hr_tensor_strings(out, e->shape, view, err);
    hr_free(raw);
    hr_free(view);
    return st;
}

/* What is cut off is said before what is damaged, whichever part comes first. A file that is gone is for the reader
 * to miss. */
static hr_status bundle_reader_check_range(hr_bundle *b, const hr_bundle_entry *e, bool must_exist, hr_error *err)
{
    struct stat about;
    size_t size = strlen(b->prefix) + 48;
    char *path = hr_malloc(size);
    if (!path) return hr_no_memory(err, "a path");
    data_path(b, e, path, size);
    hr_status st = HR_OK;
    if (stat(path, &about) != 0)
        st = must_exist ? hr__sys_fail(err, errno, "file.open", path, "opened") : HR_OK;
    else if (e->offset > about.st_size - e->size)
        st = too_short(path, e, err);
    hr_free(path);
    return st;
}

static hr_status bundle_reader_read_whole(hr_bundle *b, const hr_bundle_entry *e, hr_tensor *out, hr_error *err)
{
    *out = (hr_tensor){0};
    if (hr_dtype_size(e->dtype) == 0 || e->dtype == HR_RESOURCE || e->dtype == HR_VARIANT)
        return hr_fail(err, HR_INVALID_ARGUMENT, "checkpoint.dtype",
                       "checkpoint: '%.100s' has an unknown type, number %d", e->name, (int)e->dtype);
    HR_TRY(bundle_reader_check_range(b, e, false, err)); /* before memory for it is asked for */
    hr_status st =
        e->dtype == HR_STRING ? bundle_reader_read_strings(b, e, out, err) : bundle_reader_read_numbers(b, e, out, err);
    if (st != HR_OK) hr_tensor_clear(out);
    return st;
}

/* ---- parts ---- */

static hr_status check_entry(hr_view key, hr_view value, void *user, hr_error *err)
{
    proto_entry *p;
    hr_bundle_entry e;
    if (key.size == 0) return HR_OK; /* the header */
    HR_TRY(unpack_entry("a tensor", value, &p, &e, err));
    const hr_status st = p->n_slices ? HR_OK : bundle_reader_check_range(user, &e, true, err);
    free_entry(p);
    return st;
}

hr_status hr__bundle_is_complete(hr_bundle *b, hr_error *err) { return hr__table_each(b->table, check_entry, b, err); }

/* Where the last tensor of each data file ends. */
typedef struct shard_end {
    int32_t shard;
    int64_t end;
} shard_end;

typedef struct shard_ends {
    shard_end *file;
    int files, capacity;
} shard_ends;

static hr_status shard_ends_at(shard_ends *ends, int32_t shard, int64_t end, hr_error *err)
{
    int i = 0;
    while (i < ends->files && ends->file[i].shard != shard) i++;
    if (i == ends->capacity) {
        shard_end *grown = hr_realloc(ends->file, (size_t)(2 * i + 4) * sizeof *grown);
        if (!grown) return hr_no_memory(err, "the data files of a checkpoint");
        ends->file = grown;
        ends->capacity = 2 * i + 4;
    }
    if (i == ends->files) ends->file[ends->files++] = (shard_end){shard, 0};
    if (end > ends->file[i].end) ends->file[i].end = end;
    return HR_OK;
}

static hr_status note_end(hr_view key, hr_view value, void *user, hr_error *err)
{
    proto_entry *p;
    hr_bundle_entry e;
    if (key.size == 0) return HR_OK; /* the header */
    HR_TRY(unpack_entry("a tensor", value, &p, &e, err));
    const bool in_parts = p->n_slices > 0;
    free_entry(p);
    return in_parts ? HR_OK : shard_ends_at(user, e.shard, e.offset + e.size, err);
}

/* Nothing follows the last tensor of a data file. */
static hr_status check_end(const hr_bundle *b, shard_end at, hr_error *err)
{
    struct stat about;
    const size_t size = strlen(b->prefix) + 48;
    char *path = hr_malloc(size);
    if (!path) return hr_no_memory(err, "a path");
    hr_status st = HR_OK;
    data_path(b, &(hr_bundle_entry){.shard = at.shard}, path, size);
    if (stat(path, &about) == 0 && about.st_size > at.end) {
        st = hr_fail(err, HR_DATA_LOSS, "checkpoint.trailing",
                     "%s: expected %lld bytes, where the last tensor ends, got %lld; all tensors can be read, but the "
                     "file is not as it was written",
                     path, (long long)at.end, (long long)about.st_size);
        hr_error_file(err, path);
        if (err) err->offset = at.end, err->length = about.st_size - at.end;
    }
    hr_free(path);
    return st;
}

hr_status hr_bundle_check(hr_bundle *b, hr_error *err)
{
    shard_ends ends = {0};
    if (!b) return hr__checkpoint_lacks("a checkpoint", err);
    HR_TRY(hr__bundle_is_complete(b, err));
    HR_TRY(hr__table_check(b->table, err));
    hr_status st = hr__table_each(b->table, note_end, &ends, err);
    for (int i = 0; i < ends.files && st == HR_OK; i++) st = check_end(b, ends.file[i], err);
    hr_free(ends.file);
    return st;
}

typedef struct part {
    hr_bundle_entry entry;
    int64_t start[HR_MAX_RANK], length[HR_MAX_RANK], count;
} part;

static hr_status find_part(hr_bundle *b, const hr_bundle_entry *whole, const Headrace__Proto__TensorSlice *slice,
                           part *part, hr_error *err)
{
    if (slice->n_extent != (size_t)whole->shape.rank) return bad_entry(whole->name, "a part has another rank", err);
    for (size_t d = 0; d < slice->n_extent; d++) {
        const Headrace__Proto__TensorSlice__Extent *x = slice->extent[d];
        bool given = x->has_length_case == HEADRACE__PROTO__TENSOR_SLICE__EXTENT__HAS_LENGTH_LENGTH;
        part->start[d] = x->start;
        part->length[d] = given ? x->length : -1;
    }
    char *key = hr_malloc(HR__SLICE_KEY_MIN + 2 * strlen(whole->name));
    if (!key) return hr_no_memory(err, "a key of a checkpoint");
    size_t size = hr__slice_key(key, whole->name, whole->shape.rank, part->start, part->length);
    proto_entry *p;
    hr_status st = bundle_reader_find_entry(b, (hr_view){key, (int64_t)size}, whole->name, &p, &part->entry, err);
    hr_free(key);
    if (st != HR_OK) return st;
    free_entry(p);
    HR_TRY(hr__slice_resolve(whole->shape, part->start, part->length, err));
    part->count = 1;
    for (int d = 0; d < whole->shape.rank; d++) part->count *= part->length[d];
    return bundle_reader_check_range(b, &part->entry, false, err);
}

static hr_status bundle_reader_read_part(hr_bundle *b, const hr_bundle_entry *whole, const part *part, hr_tensor *out,
                                         hr_error *err)
{
    hr_tensor values;
    HR_TRY(bundle_reader_read_whole(b, &part->entry, &values, err));
    hr_status st = HR_OK;
    if (values.count != part->count || values.dtype != whole->dtype || values.dtype == HR_STRING)
        st = bad_entry(whole->name, "a part does not fit its place", err);
    else
        hr__slice_copy(out->data, whole->shape, part->start, part->length, values.data, hr_dtype_size(values.dtype),
                       true);
    hr_tensor_clear(&values);
    return st;
}

static bool overlap(const part *x, const part *y, int rank)
{
    if (x->count == 0 || y->count == 0) return false;
    for (int d = 0; d < rank; d++)
        if (x->start[d] + x->length[d] <= y->start[d] || y->start[d] + y->length[d] <= x->start[d]) return false;
    return true;
}

/* Each value comes from one part: counted twice, some could hide that others come from none. */
static hr_status check_parts(const hr_bundle_entry *e, const part *parts, size_t count, hr_error *err)
{
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++)
            if (overlap(&parts[i], &parts[j], e->shape.rank)) return bad_entry(e->name, "two parts overlap", err);
    return HR_OK;
}

static hr_status read_all_parts(hr_bundle *b, const hr_bundle_entry *e, const part *parts, size_t count, hr_tensor *out,
                                hr_error *err)
{
    int64_t covered = 0;
    HR_TRY(check_parts(e, parts, count, err));
    HR_TRY(hr_tensor_new(out, e->dtype, e->shape, err));
    hr_status st = HR_OK;
    for (size_t i = 0; i < count && st == HR_OK; i++) {
        st = bundle_reader_read_part(b, e, &parts[i], out, err);
        covered += parts[i].count;
    }
    if (st == HR_OK && covered < out->count)
        st = hr_fail(err, HR_INVALID_ARGUMENT, "checkpoint.parts",
                     "checkpoint: the parts of '%.100s' hold %lld of its %lld values", e->name, (long long)covered,
                     (long long)out->count);
    if (st != HR_OK) hr_tensor_clear(out);
    return st;
}

static hr_status read_parts(hr_bundle *b, const hr_bundle_entry *e, const proto_entry *p, hr_tensor *out, hr_error *err)
{
    part *parts = hr_calloc(p->n_slices, sizeof *parts);
    hr_status st = parts ? HR_OK : hr_no_memory(err, "the parts of a variable");
    for (size_t i = 0; i < p->n_slices && st == HR_OK; i++) st = find_part(b, e, p->slices[i], &parts[i], err);
    if (st == HR_OK) st = read_all_parts(b, e, parts, p->n_slices, out, err);
    hr_free(parts);
    return st;
}

hr_status hr_bundle_read(hr_bundle *b, const char *name, hr_tensor *out, hr_error *err)
{
    proto_entry *p;
    hr_bundle_entry e;
    if (out) *out = (hr_tensor){0};
    if (!b || !name || !out) return hr__checkpoint_lacks("a checkpoint, a tensor's name, and a place for it", err);
    HR_TRY(bundle_reader_find_entry(b, (hr_view){name, (int64_t)strlen(name)}, name, &p, &e, err));
    hr_status st = HR_OK;
    if (b->shards == 0)
        st = hr_fail(err, HR_NOT_FOUND, "checkpoint.name", "%s: the index has no header, so nothing can be found in it",
                     b->prefix);
    else if (p->n_slices)
        st = read_parts(b, &e, p, out, err);
    else
        st = bundle_reader_read_whole(b, &e, out, err);
    free_entry(p);
    return st;
}

/* ---- a part by its text ---- */

hr_status hr_bundle_read_slice(hr_bundle *b, const char *name, const char *slice, hr_tensor *out, hr_error *err)
{
    hr_shape full, shape;
    int64_t start[HR_MAX_RANK], length[HR_MAX_RANK];
    hr_tensor whole;
    if (!slice || !slice[0] || !out) return hr_bundle_read(b, name, out, err);
    *out = (hr_tensor){0};
    HR_TRY(hr__slice_parse(slice, &full, start, length, err));
    HR_TRY(hr_bundle_read(b, name, &whole, err));
    shape.rank = full.rank;
    memcpy(shape.dims, length, sizeof shape.dims[0] * (size_t)full.rank);
    hr_status st = hr_shape_equal(full, whole.shape) && whole.dtype != HR_STRING
                       ? hr_tensor_new(out, whole.dtype, shape, err)
                       : hr_fail(err, HR_INVALID_ARGUMENT, "checkpoint.slice",
                                 "slice: \"%.60s\" does not fit the shape of '%.100s'", slice, name);
    if (st == HR_OK) hr__slice_copy(whole.data, full, start, length, out->data, hr_dtype_size(whole.dtype), false);
    hr_tensor_clear(&whole);
    return st;
}
