#include "data/rows/rows_file.h"
#include "data/rows/varint.h"
#include "io/input.h"
#include "io/output.h"
#include <inttypes.h>
#include <lz4.h>
#include <string.h>

/* What a file begins and ends with: eight bytes, the last one is the version. */
static const char MAGIC[8] = {'H', 'R', 'R', 'O', 'W', 'S', '\n', 1};
enum { TRAILER = 24 /* offset of the head 8, its size 4, its CRC-32C 4, magic 8 */, MAX_HEAD = INT32_MAX };

void hr__piece_clear(hr__piece *piece)
{
    hr__packed_clear(&piece->packed);
    hr_free(piece->laid);
    hr_free(piece->first_row);
    *piece = (hr__piece){0};
}

void hr__rows_head_clear(hr__rows_head *head)
{
    for (int i = 0; i < head->schema.fields; i++) {
        hr_free((char *)(uintptr_t)head->field[i].name);
        hr_free((void *)(uintptr_t)head->field[i].pad);
    }
    for (int64_t i = 0; i < head->sources; i++) hr_free(head->source[i].name);
    for (int64_t i = 0; i < head->pieces; i++) hr__piece_clear(&head->piece[i]);
    hr_free(head->field), hr_free(head->source), hr_free(head->piece);
    *head = (hr__rows_head){0};
}

/* ---- writing pieces ---- */

struct hr__rows_writer {
    hr_output *out;
};

hr_status hr__rows_writer_open(const char *path, hr__rows_writer **out, hr_error *err)
{
    const hr_output_opts opts = {.struct_size = sizeof opts, .compression = HR_NONE};
    hr__rows_writer *w = *out = hr_calloc(1, sizeof *w);
    if (!w) return hr_no_memory(err, "a file of rows");
    hr_status st = hr_output_open_with(path, &opts, &w->out, err);
    if (st == HR_OK) st = hr_output_write(w->out, MAGIC, sizeof MAGIC, err);
    if (st == HR_OK) return HR_OK;
    hr__rows_writer_discard(w);
    *out = NULL;
    return st;
}

void hr__rows_writer_discard(hr__rows_writer *w)
{
    if (!w) return;
    hr_output_discard(w->out);
    hr_free(w);
}

/* Less than an eighth saved is not worth the time to unpack it. */
static bool rows_file_pays(int packed, size_t size) { return packed > 0 && (size_t)packed < size - size / 8; }

hr_status hr__rows_compress(const char *bytes, size_t size, char **stored, size_t *stored_size, hr_error *err)
{
    *stored = (char *)(uintptr_t)bytes;
    *stored_size = size;
    if (size > LZ4_MAX_INPUT_SIZE) return HR_OK;
    const int capacity = LZ4_compressBound((int)size);
    char *to = hr_malloc((size_t)capacity);
    if (!to) return hr_no_memory(err, "rows to keep");
    const int packed = LZ4_compress_default(bytes, to, (int)size, capacity);
    if (!rows_file_pays(packed, size)) return hr_free(to), HR_OK;
    *stored = to;
    *stored_size = (size_t)packed;
    return HR_OK;
}

hr_status hr__rows_writer_add(hr__rows_writer *w, const char *stored, hr__piece *piece, hr_error *err)
{
    piece->offset = hr_output_offset(w->out);
    piece->crc = hr_crc32c(0, stored, piece->stored);
    return hr_output_write(w->out, stored, piece->stored, err);
}

/* ---- writing the head ---- */

static void rows_file_put_field(hr__text *to, const hr_field *f)
{
    hr__put_text(to, f->name, strlen(f->name));
    hr__put_number(to, f->dtype);
    hr__put_number(to, f->layout);
    hr__put_number(to, f->label);
    hr__put_signed(to, f->shape.rank);
    for (int i = 0; i < f->shape.rank; i++) hr__put_signed(to, f->shape.dims[i]);
    const hr_view *text = f->pad;
    hr__put_number(to, f->pad != NULL);
    if (f->pad && f->dtype == HR_STRING)
        hr__put_text(to, text->data, (size_t)text->size);
    else if (f->pad)
        hr__put_text(to, f->pad, hr_dtype_size(f->dtype));
}

static void put_piece(hr__text *to, const hr__piece *p)
{
    hr__put_number(to, (uint64_t)p->offset);
    hr__put_number(to, p->stored);
    hr__put_number(to, p->size);
    hr__put_u32(to, p->crc);
    hr__put_number(to, (uint64_t)p->elements);
    hr__put_number(to, (uint64_t)p->rows);
    for (int64_t i = 0; p->first_row && i < p->elements; i++)
        hr__put_number(to, (uint64_t)(p->first_row[i + 1] - p->first_row[i]));
}

static void put_head(hr__text *to, const hr__rows_head *head)
{
    hr__put_number(to, head->pipeline);
    hr__put_number(to, (uint64_t)head->schema.levels);
    hr__put_number(to, (uint64_t)head->schema.fields);
    for (int i = 0; i < head->schema.fields; i++) rows_file_put_field(to, &head->schema.field[i]);
    hr__put_number(to, (uint64_t)head->sources);
    for (int64_t i = 0; i < head->sources; i++) {
        hr__put_text(to, head->source[i].name, strlen(head->source[i].name));
        hr__put_signed(to, head->source[i].size);
        hr__put_signed(to, head->source[i].mtime);
    }
    hr__put_number(to, (uint64_t)head->pieces);
    for (int64_t i = 0; i < head->pieces; i++) put_piece(to, &head->piece[i]);
}

static hr_status rows_file_write_head(hr_output *out, const hr__rows_head *head, hr_error *err)
{
    hr__text text = {0};
    const uint64_t offset = (uint64_t)hr_output_offset(out);
    put_head(&text, head);
    const uint32_t size = (uint32_t)text.size, crc = hr_crc32c(0, text.data, text.size);
    hr__put_u32(&text, (uint32_t)offset);
    hr__put_u32(&text, (uint32_t)(offset >> 32));
    hr__put_u32(&text, size);
    hr__put_u32(&text, crc);
    hr__text_bytes(&text, MAGIC, sizeof MAGIC);
    hr_status st = hr__text_status(&text, "a file of rows", err);
    if (st == HR_OK && text.size > MAX_HEAD)
        st = hr_fail(err, HR_RESOURCE_EXHAUSTED, "rows.head",
                     "a file of rows: more than 2 GiB are needed to say where its "
                     "%" PRId64 " pieces are",
                     head->pieces);
    if (st == HR_OK) st = hr_output_write(out, text.data, text.size, err);
    hr__text_free(&text);
    return st;
}

hr_status hr__rows_writer_commit(hr__rows_writer *w, const hr__rows_head *head, hr_input **in, hr_error *err)
{
    *in = NULL;
    hr_status st = rows_file_write_head(w->out, head, err);
    if (st == HR_OK) st = hr__output_open_written(w->out, in, err);
    if (st == HR_OK)
        st = hr_output_commit(w->out, err);
    else
        hr_output_discard(w->out);
    if (st != HR_OK) {
        hr_input_free(*in);
        *in = NULL;
    }
    hr_free(w);
    return st;
}

/* ---- reading the head ---- */

static hr_status rows_file_no_memory(hr_error *err) { return hr_no_memory(err, "a file of rows"); }

static char *copy_text(hr_view text)
{
    char *copy = hr_malloc((size_t)text.size + 1);
    if (!copy) return NULL;
    if (text.size) memcpy(copy, text.data, (size_t)text.size);
    copy[text.size] = '\0';
    return copy;
}

/* A string's pad is a view followed by its bytes. */
static void *copy_pad(hr_view text, hr_dtype dtype)
{
    if (dtype != HR_STRING) return copy_text(text);
    hr_view *pad = hr_malloc(sizeof *pad + (size_t)text.size + 1);
    if (!pad) return NULL;
    *pad = (hr_view){memcpy(pad + 1, text.size ? text.data : "", (size_t)text.size), text.size};
    return pad;
}

/* Shapes whose values an int32 counts, and the layouts that rows can have: a sparse row has a place for each value, in
 * which only the first two dimensions may be unknown. */
static bool field_is_sound(const hr_field *f)
{
    int64_t values = 1;
    bool sound = f->shape.rank >= -1 && f->shape.rank <= HR_MAX_RANK && hr_dtype_size(f->dtype) > 0 &&
                 (unsigned)f->layout <= HR_SPARSE && (f->layout == HR_DENSE || f->shape.rank > 0);
    for (int i = 0; sound && i < f->shape.rank; i++) {
        const int64_t dim = f->shape.dims[i];
        sound = dim >= -1 && dim <= INT32_MAX && (f->layout != HR_SPARSE || i == 0 || dim > 0 || (i == 1 && dim < 0));
        if (sound && dim > 0) values *= dim;
        sound = sound && values <= INT32_MAX;
    }
    return sound;
}

static hr_status get_field(hr__wire *from, hr_field *f, hr_error *err)
{
    f->name = copy_text(hr__get_text(from));
    f->dtype = (hr_dtype)hr__get_number(from);
    f->layout = (hr_layout)hr__get_number(from);
    f->label = hr__get_number(from) != 0;
    f->shape.rank = (int)hr__get_signed(from);
    from->damaged |= f->shape.rank > HR_MAX_RANK;
    for (int i = 0; !from->damaged && i < f->shape.rank; i++) f->shape.dims[i] = hr__get_signed(from);
    from->damaged = from->damaged || !field_is_sound(f);
    if (!f->name) return rows_file_no_memory(err);
    if (from->damaged || !hr__get_number(from)) return HR_OK;
    const hr_view pad = hr__get_text(from);
    from->damaged |= f->dtype != HR_STRING && (size_t)pad.size != hr_dtype_size(f->dtype);
    f->pad = from->damaged ? NULL : copy_pad(pad, f->dtype);
    return from->damaged || f->pad ? HR_OK : rows_file_no_memory(err);
}

static hr_status get_fields(hr__wire *from, hr__rows_head *head, hr_error *err)
{
    const uint64_t levels = hr__get_number(from);
    const int64_t fields = hr__get_count(from);
    from->damaged |= levels > HR_MAX_LEVELS || fields > INT32_MAX / 2;
    if (from->damaged) return HR_OK;
    head->field = hr_calloc((size_t)fields + 1, sizeof *head->field);
    if (!head->field) return rows_file_no_memory(err);
    head->schema = (hr_schema){.levels = (int)levels, .field = head->field};
    while (head->schema.fields < fields && !from->damaged)
        HR_TRY(get_field(from, &head->field[head->schema.fields++], err));
    return HR_OK;
}

static hr_status get_sources(hr__wire *from, hr__rows_head *head, hr_error *err)
{
    const int64_t sources = hr__get_count(from);
    head->source = hr_calloc((size_t)sources + 1, sizeof *head->source);
    if (!head->source) return rows_file_no_memory(err);
    while (head->sources < sources && !from->damaged) {
        hr__source *s = &head->source[head->sources++];
        s->name = copy_text(hr__get_text(from));
        s->size = hr__get_signed(from);
        s->mtime = hr__get_signed(from);
        if (!s->name) return rows_file_no_memory(err);
    }
    return HR_OK;
}

static hr_status get_first_rows(hr__wire *from, hr__piece *p, hr_error *err)
{
    p->first_row = hr_calloc((size_t)p->elements + 1, sizeof *p->first_row);
    if (!p->first_row) return rows_file_no_memory(err);
    int64_t row = 0;
    for (int64_t i = 0; i < p->elements && !from->damaged; i++) {
        const uint64_t rows = hr__get_number(from);
        from->damaged |= rows > (uint64_t)(p->rows - row);
        if (!from->damaged) p->first_row[i + 1] = (int32_t)(row += (int64_t)rows);
    }
    from->damaged |= row != p->rows;
    return HR_OK;
}

/* `end`: where the pieces end in the file. */
static hr_status get_piece(hr__wire *from, const hr__rows_head *head, int64_t end, hr__piece *p, hr_error *err)
{
    const uint64_t offset = hr__get_number(from), stored = hr__get_number(from), size = hr__get_number(from);
    p->crc = hr__get_u32(from);
    const uint64_t elements = hr__get_number(from), rows = hr__get_number(from);
    from->damaged |= offset > (uint64_t)end || stored > (uint64_t)end - offset || stored > size ||
                     elements > INT32_MAX || rows > INT32_MAX || (stored < size && size / 256 > stored) ||
                     (head->schema.levels == 0 && rows != elements);
    if (from->damaged) return HR_OK;
    p->offset = (int64_t)offset;
    p->stored = (size_t)stored;
    p->size = (size_t)size;
    p->elements = (int64_t)elements;
    p->rows = (int64_t)rows;
    from->damaged |= head->schema.levels > 0 && elements > (uint64_t)(from->end - from->at);
    return head->schema.levels == 0 || from->damaged ? HR_OK : get_first_rows(from, p, err);
}

static hr_status get_head(hr__wire *from, int64_t end, hr__rows_head *head, hr_error *err)
{
    head->pipeline = hr__get_number(from);
    HR_TRY(get_fields(from, head, err));
    HR_TRY(get_sources(from, head, err));
    const int64_t pieces = hr__get_count(from);
    head->piece = hr_calloc((size_t)pieces + 1, sizeof *head->piece);
    if (!head->piece) return rows_file_no_memory(err);
    while (head->pieces < pieces && !from->damaged)
        HR_TRY(get_piece(from, head, end, &head->piece[head->pieces++], err));
    from->damaged |= from->at != from->end;
    return HR_OK;
}

static hr_status rows_file_damaged(const char *path, const char *what, hr_error *err)
{
    hr_fail(err, HR_DATA_LOSS, "rows.damaged", "%s: expected a complete file of rows, as cache and save write it: %s",
            path, what);
    hr_error_file(err, path);
    return HR_DATA_LOSS;
}

hr_status hr__rows_head_parse(const char *path, const void *bytes, size_t size, int64_t end, hr__rows_head *out,
                              hr_error *err)
{
    hr__wire from = {bytes, (const unsigned char *)bytes + size, false};
    HR_TRY(get_head(&from, end, out, err));
    return from.damaged ? rows_file_damaged(path, "its head contradicts itself", err) : HR_OK;
}

/* Reads exactly so much; less is damage. */
static hr_status read_exactly(const hr_input *in, int64_t offset, void *to, size_t size, hr_error *err)
{
    size_t got = 0;
    HR_TRY(hr__input_read_at(in, offset, to, size, &got, err));
    return got == size ? HR_OK : rows_file_damaged(hr_input_path(in), "it is shorter than it says", err);
}

typedef struct trailer {
    int64_t offset;
    uint32_t size, crc;
} trailer;

static hr_status read_trailer(const hr_input *in, trailer *out, hr_error *err)
{
    unsigned char bytes[TRAILER];
    char magic[sizeof MAGIC];
    const int64_t size = hr__input_file_size(in);
    if (size < (int64_t)(sizeof MAGIC + TRAILER))
        return rows_file_damaged(hr_input_path(in), "it is too short for one", err);
    HR_TRY(read_exactly(in, 0, magic, sizeof magic, err));
    HR_TRY(read_exactly(in, size - TRAILER, bytes, TRAILER, err));
    if (memcmp(magic, MAGIC, sizeof magic) != 0 || memcmp(bytes + TRAILER - sizeof MAGIC, MAGIC, sizeof MAGIC) != 0)
        return rows_file_damaged(hr_input_path(in), "it does not begin and end as one of this version", err);
    hr__wire from = {bytes, bytes + TRAILER, false};
    uint64_t offset = hr__get_u32(&from);
    offset |= (uint64_t)hr__get_u32(&from) << 32;
    out->offset = (int64_t)offset;
    out->size = hr__get_u32(&from);
    out->crc = hr__get_u32(&from);
    if (offset < (uint64_t)size && (int64_t)offset + out->size + TRAILER == size) return HR_OK;
    return rows_file_damaged(hr_input_path(in), "its end says another length", err);
}

static hr_status read_head(const hr_input *in, hr__rows_head *out, hr_error *err)
{
    trailer t;
    HR_TRY(read_trailer(in, &t, err));
    unsigned char *bytes = hr_malloc((size_t)t.size + 1);
    if (!bytes) return rows_file_no_memory(err);
    hr_status st = read_exactly(in, t.offset, bytes, t.size, err);
    if (st == HR_OK && hr_crc32c(0, bytes, t.size) != t.crc)
        st = rows_file_damaged(hr_input_path(in), "the checksum of its head is wrong", err);
    if (st == HR_OK) st = hr__rows_head_parse(hr_input_path(in), bytes, t.size, t.offset, out, err);
    hr_free(bytes);
    return st;
}

hr_status hr__rows_file_open(const char *path, hr_input **in, hr__rows_head *out, hr_error *err)
{
    const hr_input_opts opts = {.struct_size = sizeof opts, .compression = HR_NONE};
    *in = NULL;
    *out = (hr__rows_head){0};
    HR_TRY(hr_input_open_with(path, &opts, in, err));
    hr_status st =
        hr__input_has_places(*in) ? read_head(*in, out, err) : rows_file_damaged(path, "it is not a regular file", err);
    if (st == HR_OK) return HR_OK;
    hr__rows_head_clear(out);
    hr_input_free(*in);
    *in = NULL;
    return st;
}

/* ---- reading pieces ---- */

hr_status hr__rows_piece_read(const hr_input *in, const hr__piece *piece, char *scratch, char *to, hr_error *err)
{
    const bool packed = piece->stored < piece->size;
    char *stored = packed ? scratch : to;
    HR_TRY(read_exactly(in, piece->offset, stored, piece->stored, err));
    bool sound = hr_crc32c(0, stored, piece->stored) == piece->crc;
    if (sound && packed)
        sound = LZ4_decompress_safe(stored, to, (int)piece->stored, (int)piece->size) == (int)piece->size;
    if (sound) return HR_OK;
    rows_file_damaged(hr_input_path(in), "the checksum of a piece is wrong", err);
    if (err) err->offset = piece->offset;
    return HR_DATA_LOSS;
}
