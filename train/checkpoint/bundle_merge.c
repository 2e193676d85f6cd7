/* Several checkpoints as one: their data files are renamed, and their indexes become one. Of a variable in parts, all
 * parts are listed in one entry: bytes of messages that stand one after the other are one message of all their parts. */
#include <headrace/checkpoint.h>
#include "base/hash_map.h"
#include "base/text.h"
#include "io/sys.h"
#include "io/table/table.h"
#include "proto/bundle.pb-c.h"
#include "proto/message.h"
#include "train/checkpoint/folder.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef Headrace__Proto__BundleEntry proto_entry;
typedef Headrace__Proto__BundleHeader proto_header;

typedef struct merge_entry {
    char *key, *value; /* owned */
    size_t key_size, size;
    int32_t dtype;
    bool in_parts;
} merge_entry;

typedef struct merge {
    merge_entry *entry;
    uint32_t entries, capacity;
    hr__map by_key;
    int *shards; /* of each checkpoint; 0: it is missing */
    int all_shards, own_shards;
} merge;

static void merge_clear(merge *m)
{
    for (uint32_t i = 0; i < m->entries; i++) {
        hr_free(m->entry[i].key);
        hr_free(m->entry[i].value);
    }
    hr_free(m->entry);
    hr_free(m->shards);
    hr__map_free(&m->by_key);
}

/* A path of a checkpoint: gives; NULL: no memory. */
static char *merge_path(const char *prefix, int shard, int shards)
{
    const size_t size = strlen(prefix) + 48;
    char *path = hr_malloc(size);
    if (path && shard < 0) snprintf(path, size, "%s.index", prefix);
    if (path && shard >= 0) snprintf(path, size, "%s.data-%05d-of-%05d", prefix, shard, shards);
    return path;
}

/* ---- reading ---- */

/* The message's bytes behind those that the entry has. */
static hr_status merge_append(merge_entry *e, const proto_entry *p, hr_error *err)
{
    const size_t more = headrace__proto__bundle_entry__get_packed_size(p);
    char *grown = hr_realloc(e->value, e->size + more + 1);
    if (!grown) return hr_no_memory(err, "the index of a checkpoint");
    headrace__proto__bundle_entry__pack(p, (uint8_t *)grown + e->size);
    e->value = grown;
    e->size += more;
    return HR_OK;
}

static hr_status merge_add(merge *m, hr_view key, const proto_entry *p, hr_error *err)
{
    if (m->entries == m->capacity) {
        const uint32_t capacity = m->capacity * 2 + 64;
        merge_entry *grown = hr_realloc(m->entry, capacity * sizeof *grown);
        if (!grown) return hr_no_memory(err, "the index of a checkpoint");
        m->entry = grown;
        m->capacity = capacity;
    }
    merge_entry *e = &m->entry[m->entries];
    *e = (merge_entry){.key = hr_memdup(key.data, (size_t)key.size),
                       .key_size = (size_t)key.size,
                       .dtype = p->dtype,
                       .in_parts = p->n_slices > 0};
    if (!e->key) return hr_no_memory(err, "the index of a checkpoint");
    m->entries++;
    HR_TRY(hr__map_add(&m->by_key, key.data, (size_t)key.size, m->entries - 1, err));
    return merge_append(e, p, err);
}

/* More parts of a variable that another checkpoint began. */
static hr_status merge_parts(merge_entry *e, hr_view key, proto_entry *p, hr_error *err)
{
    if (!e->in_parts || p->n_slices == 0 || e->dtype != p->dtype)
        return hr_fail(err, HR_INVALID_ARGUMENT, "checkpoint.twice", "checkpoint: '%.*s' is in two of them",
                       (int)(key.size < 200 ? key.size : 200), key.data);
    Headrace__Proto__TensorShape *const shape = p->shape;
    p->dtype = 0;
    p->shape = NULL;
    const hr_status st = merge_append(e, p, err);
    p->shape = shape;
    return st;
}

static hr_status merge_header(merge *m, hr_view value, hr_error *err)
{
    ProtobufCMessage *message;
    HR_TRY(hr__message_read(&headrace__proto__bundle_header__descriptor, value, &message, err));
    m->own_shards = ((const proto_header *)(const void *)message)->num_shards;
    hr__message_free(message);
    if (m->own_shards > 0 && m->own_shards <= 99999 - m->all_shards) return HR_OK;
    return hr_fail(err, HR_DATA_LOSS, "checkpoint.entry",
                   "checkpoint: expected 1 to 99999 data files in all, got %d; the index is corrupt", m->own_shards);
}

static hr_status merge_one_entry(hr_view key, hr_view value, void *user, hr_error *err)
{
    merge *m = user;
    ProtobufCMessage *message;
    if (key.size == 0) return merge_header(m, value, err);
    HR_TRY(hr__message_read(&headrace__proto__bundle_entry__descriptor, value, &message, err));
    proto_entry *p = (proto_entry *)(void *)message;
    const int64_t *known = hr__map_find(&m->by_key, key.data, (size_t)key.size);
    if (p->n_slices == 0) p->shard_id += m->all_shards;
    const hr_status st = known ? merge_parts(&m->entry[*known], key, p, err) : merge_add(m, key, p, err);
    hr__message_free(message);
    return st;
}

/* Adds the index of checkpoint i. */
static hr_status merge_read(merge *m, const char *prefix, int i, bool allow_missing, hr_error *err)
{
    hr__table *table;
    char *path = merge_path(prefix, -1, 0);
    if (!path) return hr_no_memory(err, "a path");
    hr_status st = allow_missing && access(path, F_OK) != 0 ? HR_NOT_FOUND : hr__table_open(path, &table, err);
    const bool missing = st == HR_NOT_FOUND && allow_missing;
    hr_free(path);
    if (missing) return HR_OK;
    if (st != HR_OK) return st;
    m->own_shards = 0;
    st = hr__table_each(table, merge_one_entry, m, err);
    hr__table_free(table);
    m->shards[i] = m->own_shards;
    m->all_shards += m->own_shards;
    if (st != HR_OK) hr_error_prefix(err, "%s: ", prefix);
    return st;
}

/* ---- writing ---- */

static int merge_by_key(const void *a, const void *b)
{
    const merge_entry *x = a, *y = b;
    const int order = memcmp(x->key, y->key, x->key_size < y->key_size ? x->key_size : y->key_size);
    return order ? order : (x->key_size > y->key_size) - (x->key_size < y->key_size);
}

static hr_status merge_write_index(merge *m, hr_output *out, hr_error *err)
{
    proto_header header;
    Headrace__Proto__Version version;
    uint8_t packed[32];
    hr__table_writer *table = hr__table_writer_new(out);
    if (!table) return hr_no_memory(err, "the index of a checkpoint");
    headrace__proto__bundle_header__init(&header);
    headrace__proto__version__init(&version);
    header.num_shards = m->all_shards;
    header.version = &version;
    version.producer = 1;
    const int64_t size = (int64_t)headrace__proto__bundle_header__pack(&header, packed);
    if (m->entries) qsort(m->entry, m->entries, sizeof *m->entry, merge_by_key);
    hr_status st = hr__table_add(table, (hr_view){"", 0}, (hr_view){(const char *)packed, size}, err);
    for (uint32_t i = 0; i < m->entries && st == HR_OK; i++) {
        const merge_entry *e = &m->entry[i];
        st = hr__table_add(table, (hr_view){e->key, (int64_t)e->key_size}, (hr_view){e->value, (int64_t)e->size}, err);
    }
    if (st == HR_OK) st = hr__table_finish(table, err);
    hr__table_writer_free(table);
    return st;
}

static hr_status merge_rename(const char *from, int shard, int shards, const char *to, int new_shard, int new_shards,
                              hr_error *err)
{
    char *old = merge_path(from, shard, shards), *new = merge_path(to, new_shard, new_shards);
    hr_status st = old && new ? HR_OK : hr_no_memory(err, "a path");
    if (st == HR_OK && hr__sys_get()->rename(old, new) != 0)
        st = hr__sys_fail(err, errno, "file.write", old, "renamed");
    hr_free(old);
    hr_free(new);
    return st;
}

/* What is left of the checkpoints: their indexes and, if nothing else is in them, their folders. */
static void merge_clean(const merge *m, const char *const *prefixes, int count, const char *to, bool keep_folders)
{
    for (int i = 0; i < count; i++) {
        char *index = merge_path(prefixes[i], -1, 0), *folder = hr__folder_of(prefixes[i]);
        if (index && m->shards[i] && strcmp(prefixes[i], to) != 0) hr__sys_get()->unlink(index);
        if (folder && folder[0] && !keep_folders) rmdir(folder);
        hr_free(index);
        hr_free(folder);
    }
}

static hr_status merge_write(merge *m, const char *const *prefixes, int count, const char *to, hr_error *err)
{
    hr_output *index;
    char *path = merge_path(to, -1, 0);
    if (!path) return hr_no_memory(err, "a path");
    hr_status st = hr_output_open_with(path, &(hr_output_opts){.compression = HR_NONE}, &index, err);
    hr_free(path);
    if (st != HR_OK) return st;
    st = merge_write_index(m, index, err);
    for (int i = 0, at = 0; i < count; i++)
        for (int shard = 0; shard < m->shards[i]; shard++, at++)
            if (st == HR_OK) st = merge_rename(prefixes[i], shard, m->shards[i], to, at, m->all_shards, err);
    if (st == HR_OK) return hr_output_commit(index, err);
    hr_output_discard(index);
    return st;
}

hr_status hr_bundle_merge_with(const char *const *prefixes, int count, const char *to, const hr_bundle_merge_opts *opts,
                               hr_error *err)
{
    merge m = {0};
    opts = &HR_OPTIONS(hr_bundle_merge_opts, opts);
    if (!prefixes || count < 1 || !to) return hr__checkpoint_lacks("checkpoints to merge, and a path", err);
    for (int i = 0; i < count; i++)
        if (!prefixes[i]) return hr__checkpoint_lacks("a checkpoint's path", err);
    m.shards = hr_calloc((size_t)count, sizeof *m.shards);
    hr_status st = m.shards ? HR_OK : hr_no_memory(err, "checkpoints");
    for (int i = 0; i < count && st == HR_OK; i++) st = merge_read(&m, prefixes[i], i, opts->allow_missing, err);
    if (st == HR_OK && m.all_shards == 0)
        st = hr_fail(err, HR_NOT_FOUND, "checkpoint.name", "%s: none of %d checkpoints is there", prefixes[0], count);
    if (st == HR_OK) st = merge_write(&m, prefixes, count, to, err);
    if (st == HR_OK) merge_clean(&m, prefixes, count, to, opts->keep_folders);
    merge_clear(&m);
    return st;
}
