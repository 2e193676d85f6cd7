/* Reads a sorted table. The file is held in memory whole (an index is small); every offset and length in it is checked
 * against what is there, every block against its checksum when it is first looked at. */
#include "io/table/table.h"
#include "io/table/table_format.h"
#include "base/bytes.h"
#include <string.h>

typedef struct handle {
    uint64_t offset, size;
} handle;

typedef struct index_entry {
    char *last_key; /* no key of the block is greater */
    size_t size;
    handle block;
} index_entry;

struct hr__table {
    char path[256];
    char *file;
    size_t size;
    index_entry *index;
    int blocks, capacity;
    handle meta, blocks_index; /* the blocks that the footer names */
    size_t padding;            /* of the footer begins here */
    size_t named;              /* bytes of the blocks that are named somewhere, and of the footer */
};

static hr_status table_reader_damaged(const hr__table *t, int64_t offset, const char *what, hr_error *err)
{
    hr_fail(err, HR_DATA_LOSS, "table.damaged", "%s:%lld: %s; the file is truncated or corrupt", t->path,
            (long long)offset, what);
    hr_error_file(err, t->path);
    if (err) err->offset = offset;
    return HR_DATA_LOSS;
}

static const char *get_varint(const char *at, const char *end, uint64_t *v)
{
    *v = 0;
    for (int shift = 0; at && at < end && shift < 64; shift += 7) {
        unsigned char byte = (unsigned char)*at++;
        *v |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) return at;
    }
    return NULL;
}

/* ---- snappy: what TensorFlow 1.1 wrote ---- */

typedef struct copy {
    size_t size, distance; /* distance 0: literal bytes */
    int header;            /* bytes of the element before its literal */
} copy;

static bool get_element(const unsigned char *at, size_t left, copy *c)
{
    unsigned tag = at[0], low = tag >> 2;
    *c = (copy){.size = low + 1, .header = 1};
    if ((tag & 3) == 0) {
        if (low < 60) return true;
        int more = (int)low - 59;
        if (left < 1 + (size_t)more) return false;
        c->size = 0;
        for (int i = 0; i < more; i++) c->size |= (size_t)at[1 + i] << 8 * i;
        c->size++;
        c->header += more;
        return true;
    }
    static const int distance_bytes[4] = {0, 1, 2, 4};
    int more = distance_bytes[tag & 3];
    if (left < 1 + (size_t)more) return false;
    for (int i = 0; i < more; i++) c->distance |= (size_t)at[1 + i] << 8 * i;
    if (more == 1) {
        c->size = (low & 7) + 4;
        c->distance |= (size_t)(tag >> 5) << 8;
    }
    c->header += more;
    return c->distance > 0;
}

/* Gives *out (hr_free). */
static hr_status unsnap(const char *from, size_t size, hr_view *out, hr_error *err)
{
    uint64_t length;
    const char *end = from + size, *at = get_varint(from, end, &length);
    if (!at || length > (uint64_t)size * 64) return HR_DATA_LOSS;
    char *data = hr_malloc(length);
    if (!data) return hr_no_memory(err, "a block of a table");
    size_t n = 0;
    while (at < end) {
        copy c;
        if (!get_element((const unsigned char *)at, (size_t)(end - at), &c)) break;
        at += c.header;
        if (c.size > length - n) break;
        if (c.distance == 0) {
            if (c.size > (size_t)(end - at)) break;
            memcpy(data + n, at, c.size);
            at += c.size;
        } else {
            if (c.distance > n) break;
            for (size_t i = 0; i < c.size; i++) data[n + i] = data[n + i - c.distance]; /* may overlap */
        }
        n += c.size;
    }
    *out = (hr_view){data, (int64_t)length};
    if (at == end && n == length) return HR_OK;
    hr_free(data);
    return HR_DATA_LOSS;
}

/* ---- blocks ---- */

/* Checks a block and lends its contents, or gives them in *owned where they had to be inflated. */
static hr_status load_block(const hr__table *t, handle h, hr_view *contents, char **owned, hr_error *err)
{
    *owned = NULL;
    if (h.offset > t->size || h.size > t->size - h.offset || t->size - h.offset - h.size < TABLE_TRAILER) {
        hr_fail(err, HR_OUT_OF_RANGE, "table.range",
                "%s: a block of %llu bytes at %llu lies beyond the file's %zu bytes", t->path,
                (unsigned long long)h.size, (unsigned long long)h.offset, t->size);
        hr_error_file(err, t->path);
        return HR_OUT_OF_RANGE;
    }
    const char *at = t->file + h.offset;
    if (hr_crc32c_mask(hr_crc32c(0, at, h.size + 1)) != hr__get32(at + h.size + 1))
        return table_reader_damaged(t, (int64_t)h.offset, "block checksum mismatch", err);
    *contents = (hr_view){at, (int64_t)h.size};
    if (at[h.size] == 0) return HR_OK;
    if (at[h.size] != 1) return table_reader_damaged(t, (int64_t)h.offset, "unknown compression of a block", err);
    hr_status st = unsnap(at, h.size, contents, err);
    if (st == HR_DATA_LOSS)
        return table_reader_damaged(t, (int64_t)h.offset, "a snappy block cannot be decompressed", err);
    if (st == HR_OK) *owned = (char *)contents->data;
    return st;
}

typedef struct cursor {
    const char *at, *end;
    char *key;
    size_t key_size, key_capacity;
    hr_view value;
} cursor;

static bool cursor_begin(cursor *c, hr_view block)
{
    *c = (cursor){0};
    if (block.size < 4) return false;
    uint64_t restarts = hr__get32(block.data + block.size - 4);
    if (restarts > ((uint64_t)block.size - 4) / 4) return false;
    c->at = block.data;
    c->end = block.data + block.size - 4 - 4 * restarts;
    return true;
}

/* HR_END after the last entry; HR_DATA_LOSS without a text. */
static hr_status cursor_next(cursor *c, hr_error *err)
{
    uint64_t shared, more, size;
    if (c->at == c->end) return HR_END;
    const char *at = get_varint(c->at, c->end, &shared);
    at = get_varint(at, c->end, &more);
    at = get_varint(at, c->end, &size);
    if (!at || shared > c->key_size || more > (uint64_t)(c->end - at)) return HR_DATA_LOSS;
    if (size > (uint64_t)(c->end - at) - more) return HR_DATA_LOSS;
    if (shared + more + 1 > c->key_capacity) {
        size_t capacity = 2 * (size_t)(shared + more) + 64;
        char *grown = hr_realloc(c->key, capacity);
        if (!grown) return hr_no_memory(err, "a key of a table");
        c->key = grown;
        c->key_capacity = capacity;
    }
    memcpy(c->key + shared, at, more);
    c->key_size = (size_t)(shared + more);
    c->value = (hr_view){at + more, (int64_t)size};
    c->at = at + more + size;
    return HR_OK;
}

static hr_status each_in_block(hr__table *t, handle h, hr__table_fn *fn, void *user, hr_error *err)
{
    hr_view contents = {NULL, 0};
    char *owned;
    cursor c;
    HR_TRY(load_block(t, h, &contents, &owned, err));
    hr_status st = cursor_begin(&c, contents) ? HR_OK : HR_DATA_LOSS;
    while (st == HR_OK && (st = cursor_next(&c, err)) == HR_OK)
        st = fn((hr_view){c.key, (int64_t)c.key_size}, c.value, user, err);
    if (st == HR_DATA_LOSS && (!err || err->code != HR_DATA_LOSS))
        table_reader_damaged(t, (int64_t)h.offset, "a block's entries do not fit in it", err);
    hr_free(c.key);
    hr_free(owned);
    return st == HR_END ? HR_OK : st;
}

/* ---- opening ---- */

static hr_status add_block(hr_view key, hr_view value, void *user, hr_error *err)
{
    hr__table *t = user;
    handle h;
    const char *at = get_varint(value.data, value.data + value.size, &h.offset);
    if (!get_varint(at, value.data + value.size, &h.size))
        return table_reader_damaged(t, -1, "an index entry is not a handle", err);
    if (t->blocks == t->capacity) {
        int capacity = t->capacity ? 2 * t->capacity : 8;
        index_entry *grown = hr_realloc(t->index, (size_t)capacity * sizeof *grown);
        if (!grown) return hr_no_memory(err, "the index of a table");
        t->index = grown;
        t->capacity = capacity;
    }
    char *last_key = hr_memdup(key.data, (size_t)key.size);
    if (!last_key) return hr_no_memory(err, "the index of a table");
    t->index[t->blocks++] = (index_entry){last_key, (size_t)key.size, h};
    return HR_OK;
}

static hr_status table_reader_read_file(hr__table *t, const char *path, hr_error *err)
{
    hr_input *in;
    const char *data;
    size_t size, want = 1 << 16;
    HR_TRY(hr_input_open_with(path, &(hr_input_opts){.compression = HR_NONE}, &in, err));
    hr_status st;
    while ((st = hr_input_peek(in, want, &data, &size, err)) == HR_OK && size >= want) want *= 2;
    if (st == HR_OK) {
        t->file = hr_memdup(data, size);
        t->size = size;
        if (!t->file) st = hr_no_memory(err, "the index of a checkpoint");
    }
    hr_input_free(in);
    return st;
}

static hr_status read_footer(hr__table *t, hr_error *err)
{
    if (t->size < TABLE_FOOTER)
        return table_reader_damaged(t, (int64_t)t->size, "the file is too short to be a table", err);
    const char *at = t->file + t->size - TABLE_FOOTER, *end = at + TABLE_FOOTER - 8;
    if (memcmp(end, TABLE_MAGIC, 8) != 0)
        return table_reader_damaged(t, end - t->file, "not a table: bad magic number", err);
    at = get_varint(at, end, &t->meta.offset);
    at = get_varint(at, end, &t->meta.size);
    at = get_varint(at, end, &t->blocks_index.offset);
    at = get_varint(at, end, &t->blocks_index.size);
    if (at) t->padding = (size_t)(at - t->file);
    return at ? HR_OK : table_reader_damaged(t, (int64_t)t->size - TABLE_FOOTER, "the footer holds no handles", err);
}

static hr_status ignore_entry(hr_view key, hr_view value, void *user, hr_error *err)
{
    (void)key, (void)value, (void)user, (void)err;
    return HR_OK;
}

static hr_status open_table(hr__table *t, const char *path, hr_error *err)
{
    HR_TRY(table_reader_read_file(t, path, err));
    HR_TRY(read_footer(t, err));
    HR_TRY(each_in_block(t, t->blocks_index, add_block, t, err));
    return t->blocks ? each_in_block(t, t->index[0].block, ignore_entry, NULL, err) : HR_OK;
}

hr_status hr__table_open(const char *path, hr__table **out, hr_error *err)
{
    *out = NULL;
    hr_error own = {0};
    if (!err) err = &own;
    err->code = HR_OK;
    hr__table *t = hr_calloc(1, sizeof *t);
    if (!t) return hr_no_memory(err, "a table");
    strncpy(t->path, path, sizeof t->path - 1);
    hr_status st = open_table(t, path, err);
    if (st == HR_OK)
        *out = t;
    else
        hr__table_free(t);
    return st;
}

void hr__table_free(hr__table *t)
{
    if (!t) return;
    for (int i = 0; i < t->blocks; i++) hr_free(t->index[i].last_key);
    hr_free(t->index);
    hr_free(t->file);
    hr_free(t);
}

hr_status hr__table_each(hr__table *t, hr__table_fn *fn, void *user, hr_error *err)
{
    hr_error own = {0};
    if (!err) err = &own;
    err->code = HR_OK;
    for (int i = 0; i < t->blocks; i++) HR_TRY(each_in_block(t, t->index[i].block, fn, user, err));
    return HR_OK;
}

/* ---- what no entry meets ---- */

/* A block beside those of entries, such as a filter. */
static hr_status check_named(hr_view key, hr_view value, void *user, hr_error *err)
{
    (void)key;
    hr__table *t = user;
    handle h;
    hr_view contents;
    char *owned;
    const char *end = value.data + value.size, *at = get_varint(value.data, end, &h.offset);
    if (!get_varint(at, end, &h.size))
        return table_reader_damaged(t, (int64_t)t->meta.offset, "an entry of the meta block is not a handle", err);
    HR_TRY(load_block(t, h, &contents, &owned, err));
    hr_free(owned);
    t->named += h.size + TABLE_TRAILER;
    return HR_OK;
}

hr_status hr__table_check(hr__table *t, hr_error *err)
{
    HR_TRY(hr__table_each(t, ignore_entry, NULL, err));
    t->named = t->meta.size + t->blocks_index.size + 2 * TABLE_TRAILER + TABLE_FOOTER;
    for (int i = 0; i < t->blocks; i++) t->named += t->index[i].block.size + TABLE_TRAILER;
    HR_TRY(each_in_block(t, t->meta, check_named, t, err));
    if (t->named != t->size)
        return table_reader_damaged(t, -1, "its blocks and footer are not the whole of the file", err);
    for (size_t i = t->padding; i < t->size - 8; i++)
        if (t->file[i]) return table_reader_damaged(t, (int64_t)i, "the padding of the footer is not zero", err);
    return HR_OK;
}

/* ---- one key ---- */

static int table_reader_compare(hr_view a, hr_view b)
{
    int64_t min = a.size < b.size ? a.size : b.size;
    int order = min ? memcmp(a.data, b.data, (size_t)min) : 0;
    return order ? order : (a.size > b.size) - (a.size < b.size);
}

typedef struct search {
    hr_view key, found;
    bool hit, over; /* over: a key that is not less has been met, so the search is */
} search;

static hr_status match_entry(hr_view key, hr_view value, void *user, hr_error *err)
{
    search *s = user;
    int order = s->over ? -1 : table_reader_compare(key, s->key);
    s->over |= order >= 0;
    if (order != 0) return HR_OK;
    char *data = hr_memdup(value.data, (size_t)value.size);
    if (!data) return hr_no_memory(err, "a value of a table");
    s->found = (hr_view){data, value.size};
    s->hit = true;
    return HR_OK;
}

hr_status hr__table_get(hr__table *t, hr_view key, hr_view *value, hr_error *err)
{
    hr_error own = {0};
    if (!err) err = &own;
    err->code = HR_OK;
    search s = {.key = key};
    int low = 0, high = t->blocks; /* the first block whose last key is not less */
    while (low < high) {
        int middle = low + (high - low) / 2;
        hr_view last = {t->index[middle].last_key, (int64_t)t->index[middle].size};
        if (table_reader_compare(last, key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < t->blocks) {
        hr_status st = each_in_block(t, t->index[low].block, match_entry, &s, err);
        if (st != HR_OK) {
            hr_free((char *)s.found.data);
            return st;
        }
    }
    *value = s.found;
    if (s.hit) return HR_OK;
    return hr_fail(err, HR_NOT_FOUND, "table.key", "%s: there is no key \"%.*s\"", t->path,
                   (int)(key.size < 100 ? key.size : 100), key.data);
}
