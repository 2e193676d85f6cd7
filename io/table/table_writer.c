/* Writes a sorted table: data blocks of about 256 KiB with a restart every 16 entries, an empty meta index, an index
 * whose keys separate the blocks, the footer. */
#include "io/table/table.h"
#include "base/bytes.h"
#include "base/text.h"
#include "io/example/example_wire.h"
#include "io/table/table_format.h"
#include <string.h>

static void append_varint(hr__text *b, uint64_t v)
{
    char bytes[HR__MAX_VARINT];
    hr__text_bytes(b, bytes, (size_t)(hr__put_varint(bytes, v) - bytes));
}

static void append_u32(hr__text *b, uint32_t v)
{
    char bytes[4];
    hr__put32(bytes, v);
    hr__text_bytes(b, bytes, sizeof bytes);
}

static void table_writer_set(hr__text *b, const void *data, size_t size)
{
    b->size = 0;
    hr__text_bytes(b, data, size);
}

/* ---- a block ---- */

typedef struct block {
    hr__text entries, restarts, last_key;
    int restart_interval, since_restart;
} block;

static void block_begin(block *b)
{
    b->entries.size = b->restarts.size = b->last_key.size = 0;
    b->since_restart = 0;
    append_u32(&b->restarts, 0);
}

static size_t shared_prefix(const hr__text *last, hr_view key)
{
    size_t n = 0;
    while (n < last->size && n < (size_t)key.size && last->data[n] == key.data[n]) n++;
    return n;
}

static void block_add(block *b, hr_view key, hr_view value)
{
    size_t shared = 0;
    if (b->since_restart == b->restart_interval) {
        append_u32(&b->restarts, (uint32_t)b->entries.size);
        b->since_restart = 0;
    } else if (b->since_restart > 0) {
        shared = shared_prefix(&b->last_key, key);
    }
    b->since_restart++;
    append_varint(&b->entries, shared);
    append_varint(&b->entries, (uint64_t)key.size - shared);
    append_varint(&b->entries, (uint64_t)value.size);
    hr__text_bytes(&b->entries, key.data + shared, (size_t)key.size - shared);
    hr__text_bytes(&b->entries, value.data, (size_t)value.size);
    table_writer_set(&b->last_key, key.data, (size_t)key.size);
}

static bool block_failed(const block *b) { return b->entries.failed || b->restarts.failed || b->last_key.failed; }

static void block_clear(block *b)
{
    hr__text_free(&b->entries);
    hr__text_free(&b->restarts);
    hr__text_free(&b->last_key);
}

/* ---- the table ---- */

struct hr__table_writer {
    hr_output *out;
    int64_t offset; /* in the file */
    block data, index;
    hr__text last_key; /* of the block that is finished but not in the index: its separator depends on the next key */
    hr__text handle;
    bool pending, any;
};

hr__table_writer *hr__table_writer_new(hr_output *out)
{
    hr__table_writer *w = hr_calloc(1, sizeof *w);
    if (!w) return NULL;
    w->out = out;
    w->data.restart_interval = 16;
    w->index.restart_interval = 1;
    block_begin(&w->data);
    block_begin(&w->index);
    return w;
}

void hr__table_writer_free(hr__table_writer *w)
{
    if (!w) return;
    block_clear(&w->data);
    block_clear(&w->index);
    hr__text_free(&w->last_key);
    hr__text_free(&w->handle);
    hr_free(w);
}

/* Contents, type 0 (not compressed), checksum of both; the handle says where. */
static hr_status write_block(hr__table_writer *w, block *b, hr_error *err)
{
    hr__text_bytes(&b->entries, b->restarts.data, b->restarts.size);
    append_u32(&b->entries, (uint32_t)(b->restarts.size / 4));
    size_t size = b->entries.size;
    hr__text_bytes(&b->entries, "\0", 1);
    if (block_failed(b)) return hr_no_memory(err, "a block of a table");
    append_u32(&b->entries, hr_crc32c_mask(hr_crc32c(0, b->entries.data, size + 1)));
    w->handle.size = 0;
    append_varint(&w->handle, (uint64_t)w->offset);
    append_varint(&w->handle, size);
    if (b->entries.failed || w->handle.failed) return hr_no_memory(err, "a block of a table");
    w->offset += (int64_t)b->entries.size;
    HR_TRY(hr_output_write(w->out, b->entries.data, b->entries.size, err));
    block_begin(b);
    return HR_OK;
}

/* Shortens `last` to a key that is still not less than it and below `next`. */
static void table_writer_separate(hr__text *last, hr_view next)
{
    size_t n = shared_prefix(last, next);
    if (n >= last->size || n >= (size_t)next.size) return;
    unsigned char a = (unsigned char)last->data[n], b = (unsigned char)next.data[n];
    if (a < 0xff && a + 1 < b) {
        last->data[n] = (char)(a + 1);
        last->size = n + 1;
    }
}

/* The shortest key that is not less than any key before. */
static void succeed(hr__text *last)
{
    for (size_t n = 0; n < last->size; n++) {
        if ((unsigned char)last->data[n] == 0xff) continue;
        last->data[n]++;
        last->size = n + 1;
        return;
    }
}

static void index_pending(hr__table_writer *w)
{
    if (!w->pending) return;
    hr_view key = {w->last_key.data, (int64_t)w->last_key.size}, handle = {w->handle.data, (int64_t)w->handle.size};
    block_add(&w->index, key, handle);
    w->pending = false;
}

static hr_status flush_data(hr__table_writer *w, hr_error *err)
{
    if (w->data.entries.size == 0) return HR_OK;
    table_writer_set(&w->last_key, w->data.last_key.data, w->data.last_key.size);
    if (w->last_key.failed) return hr_no_memory(err, "a key of a table");
    HR_TRY(write_block(w, &w->data, err));
    w->pending = true;
    return HR_OK;
}

static bool in_order(const hr__text *last, hr_view key)
{
    size_t min = last->size < (size_t)key.size ? last->size : (size_t)key.size;
    int order = min ? memcmp(last->data, key.data, min) : 0;
    return order < 0 || (order == 0 && last->size < (size_t)key.size);
}

hr_status hr__table_add(hr__table_writer *w, hr_view key, hr_view value, hr_error *err)
{
    const hr__text *last = w->pending ? &w->last_key : &w->data.last_key;
    if (w->any && !in_order(last, key))
        return hr_fail(err, HR_INVALID_ARGUMENT, "table.order",
                       "table: key \"%.*s\" does not come after the one before", (int)(key.size < 60 ? key.size : 60),
                       key.data);
    size_t estimate = w->data.entries.size + w->data.restarts.size + 4;
    size_t entry = (size_t)key.size + (size_t)value.size;
    if (w->data.entries.size && (estimate >= TABLE_BLOCK || entry >= 2 * TABLE_BLOCK)) HR_TRY(flush_data(w, err));
    if (w->pending) {
        table_writer_separate(&w->last_key, key);
        index_pending(w);
    }
    block_add(&w->data, key, value);
    w->any = true;
    return block_failed(&w->data) || block_failed(&w->index) ? hr_no_memory(err, "a block of a table") : HR_OK;
}

hr_status hr__table_finish(hr__table_writer *w, hr_error *err)
{
    HR_TRY(flush_data(w, err));
    block meta = {.restart_interval = 16};
    hr__text footer = {0};
    block_begin(&meta);
    if (w->pending) {
        succeed(&w->last_key);
        index_pending(w);
    }
    hr_status st = write_block(w, &meta, err);
    block_clear(&meta);
    if (st == HR_OK) hr__text_bytes(&footer, w->handle.data, w->handle.size);
    if (st == HR_OK) st = write_block(w, &w->index, err);
    if (st == HR_OK) {
        static const char zeros[TABLE_FOOTER];
        hr__text_bytes(&footer, w->handle.data, w->handle.size);
        hr__text_bytes(&footer, zeros, TABLE_FOOTER - 8 - footer.size);
        hr__text_bytes(&footer, TABLE_MAGIC, 8);
        st = footer.failed ? hr_no_memory(err, "the end of a table")
                           : hr_output_write(w->out, footer.data, footer.size, err);
    }
    hr__text_free(&footer);
    return st;
}
