/* Two blocks of a sorted table, in a file whose checksums and footer are right: it is refused, or its entries lie within
 * it. Byte 0: 1, the first block is compressed; 2, the index is the input's and not one that names the first block; 4,
 * the index is compressed. Bytes 1 and 2: how long the first block is. */
#include "io/table/table.h"
#include "io/table/table_format.h"
#include "tests/fuzz/temporary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile unsigned sum;

static hr_status read_entry(hr_view key, hr_view value, void *user, hr_error *err)
{
    (void)user, (void)err;
    for (int64_t i = 0; i < key.size; i++) sum += (unsigned char)key.data[i];
    for (int64_t i = 0; i < value.size; i++) sum += (unsigned char)value.data[i];
    return HR_OK;
}

/* Four bytes for a number below 2^28, so that sizes do not shift what follows. */
static void put_varint(FILE *f, uint32_t v)
{
    for (int i = 0; i < 4; i++) fputc((int)(v >> 7 * i & 0x7f) | (i < 3 ? 0x80 : 0), f);
}

static void put_block(FILE *f, const uint8_t *data, size_t size, unsigned char type)
{
    uint32_t crc = hr_crc32c_mask(hr_crc32c(hr_crc32c(0, data, size), &type, 1));
    if (size) fwrite(data, 1, size, f);
    fputc(type, f);
    for (int i = 0; i < 4; i++) fputc((int)(crc >> 8 * i & 0xff), f);
}

static void write_table(const char *path, const uint8_t *data, size_t size)
{
    FILE *f = fopen(path, "wb");
    if (!f) abort();
    size_t first = (size_t)data[1] | (size_t)data[2] << 8;
    if (first > size - 3) first = size - 3;
    /* One entry: nothing shared, a key of one byte, a handle of eight, then the one restart. */
    uint8_t index[] = {0, 1, 8, 0xff, 0x80, 0x80, 0x80, 0, 0x80, 0x80, 0x80, 0, 0, 0, 0, 0, 1, 0, 0, 0};
    for (int i = 0; i < 4; i++) index[8 + i] = (uint8_t)((first >> 7 * i & 0x7f) | (i < 3 ? 0x80 : 0));
    const bool own = data[0] & 2;
    const uint8_t *second = own ? data + 3 + first : index;
    const size_t second_size = own ? size - 3 - first : sizeof index;
    put_block(f, data + 3, first, data[0] & 1);
    put_block(f, second, second_size, data[0] >> 2 & 1);
    put_varint(f, 0); /* the block of metadata: there is none */
    put_varint(f, 0);
    put_varint(f, (uint32_t)(first + TABLE_TRAILER));
    put_varint(f, (uint32_t)second_size);
    for (int i = 0; i < TABLE_FOOTER - 8 - 8 - 8; i++) fputc(0, f);
    fwrite(TABLE_MAGIC, 1, 8, f);
    fclose(f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[TEMPORARY];
    hr__table *table;
    hr_error err;
    hr_view value;
    if (size < 3 || size > 1 << 16) return 0;
    temporary_path(path, "table");
    write_table(path, data, size);
    if (hr__table_open(path, &table, &err) == HR_OK) {
        hr__table_each(table, read_entry, NULL, &err);
        for (size_t n = 0; n < 4 && n + 3 <= size; n++)
            if (hr__table_get(table, (hr_view){(const char *)data + 3, (int64_t)n}, &value, &err) == HR_OK)
                hr_free((char *)value.data);
        hr__table_free(table);
    }
    unlink(path);
    return 0;
}
