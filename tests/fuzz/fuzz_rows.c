/* Any bytes as the head of a file of rows, as it lies behind its checksum: it is refused, or all that it says fits the
 * file. */
#include "data/rows/rows_file.h"
#include <stdlib.h>
#include <string.h>

enum { END = 100000 /* of the pieces in the file */ };

static volatile uint64_t sum;

static void read_text(const char *text) { sum += strlen(text); }

static void read_field(const hr_field *f)
{
    read_text(f->name);
    if (f->shape.rank < -1 || f->shape.rank > HR_MAX_RANK) abort();
    for (int i = 0; i < f->shape.rank; i++) sum += (uint64_t)f->shape.dims[i];
    if (!f->pad) return;
    const hr_view *text = f->pad;
    const char *bytes = f->dtype == HR_STRING ? text->data : f->pad;
    const size_t size = f->dtype == HR_STRING ? (size_t)text->size : hr_dtype_size(f->dtype);
    for (size_t i = 0; i < size; i++) sum += (unsigned char)bytes[i];
}

static void read_piece(const hr__piece *p)
{
    if (p->offset < 0 || p->offset + (int64_t)p->stored > END || p->stored > p->size) abort();
    if (!p->first_row) return;
    if (p->first_row[0] != 0 || p->first_row[p->elements] != p->rows) abort();
    for (int64_t i = 0; i < p->elements; i++)
        if (p->first_row[i] > p->first_row[i + 1]) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hr__rows_head head = {0};
    hr_error err;
    uint8_t *bytes = malloc(size + 1); /* its end is where the bytes end */
    if (!bytes) return 0;
    if (size > 0) memcpy(bytes, data, size);
    if (hr__rows_head_parse("f", bytes, size, END, &head, &err) == HR_OK) {
        for (int i = 0; i < head.schema.fields; i++) read_field(&head.field[i]);
        for (int64_t i = 0; i < head.sources; i++) read_text(head.source[i].name);
        for (int64_t i = 0; i < head.pieces; i++) read_piece(&head.piece[i]);
    }
    hr__rows_head_clear(&head);
    free(bytes);
    return 0;
}
