/* What the pieces of all formats share: their memory, the records in them, and which rows are for tests. */
#include "io/convert/format.h"
#include "io/framing.h"
#include <string.h>

static bool pieces_grow(void *pointer, size_t *capacity, size_t count, size_t each)
{
    void *p;
    memcpy(&p, pointer, sizeof p);
    if (count <= *capacity) return true;
    p = hr_realloc(p, (count + count / 4) * each);
    if (!p) return false;
    *capacity = count + count / 4;
    memcpy(pointer, &p, sizeof p);
    return true;
}

hr_status hr__piece_reserve(hr__convert_piece *piece, size_t bytes, size_t records, hr_error *err)
{
    const bool good =
        pieces_grow(&piece->out, &piece->out_capacity, piece->out_used + bytes, 1) &&
        pieces_grow(&piece->record, &piece->record_space, (size_t)piece->records + records + 1, sizeof *piece->record);
    return good ? HR_OK : hr_no_memory(err, "convert: records");
}

void hr__piece_drop_long(hr__convert_piece *piece)
{
    enum { RETAINED = 4 << 20 };
    if (piece->out_capacity <= RETAINED) return;
    hr_free(piece->out);
    piece->out = NULL;
    piece->out_capacity = 0;
}

char *hr__piece_data(const hr__convert_piece *piece) { return piece->out + piece->out_used + HR__RECORD_HEADER; }

void hr__piece_add(hr__convert_piece *piece, int64_t row, size_t size, bool test)
{
    char *to = piece->out + piece->out_used, *data = hr__piece_data(piece);
    hr__record_header(to, size);
    hr__record_footer(data + size, data, size);
    piece->record[piece->records++] =
        (hr__convert_record){.at = piece->out_used, .size = size + HR__RECORD_FRAME, .row = row, .test = test};
    piece->out_used += size + HR__RECORD_FRAME;
}

const hr__values *hr__convert_values(const hr__walk_contents *c, const char *name)
{
    const size_t size = strlen(name);
    for (int64_t i = 0; i < c->features; i++) {
        const hr__walk_feature *f = &c->feature[i];
        if ((size_t)f->key.size == size && memcmp(f->key.data, name, size) == 0) return &f->values;
    }
    return NULL;
}

void hr__convert_fields(const hr__schema_file *schema, const hr__walk_contents *c, const hr__values **values)
{
    for (int i = 0; i < schema->fields; i++) values[i] = NULL;
    for (int64_t i = 0; i < c->features; i++) {
        const int field = hr__schema_find_view(schema, c->feature[i].key);
        if (field >= 0) values[field] = &c->feature[i].values;
    }
}

bool hr__convert_is_test(const hr_convert_opts *opts, int64_t number)
{
    uint64_t x = (uint64_t)number + UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return (x ^ x >> 31) % (uint64_t)opts->split_folds == 0;
}

hr_status hr__convert_no_split(const hr_convert_opts *opts, const char *path, hr__convert_piece *piece, int64_t row)
{
    hr_fail(&piece->err, HR_INVALID_ARGUMENT, "convert.split",
            "%s: record %lld: expected a whole number in '%.60s', by which rows are split, got none", path,
            (long long)(piece->first + row), opts->split_column);
    hr_error_file(&piece->err, path);
    piece->err.record = piece->first + row;
    return HR_INVALID_ARGUMENT;
}
