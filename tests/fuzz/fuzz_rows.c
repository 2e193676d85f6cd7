/* Any bytes as the head of a file of rows, as it lies after its checksum: it is refused, or all that it says fits the
 * file. And any bytes as a whole file, whose checksums are always right: it is refused, or its rows can be read and
 * moved. (All checksums are 0 here, those of the corpus too.) */
#include "data/rows/rows_file.h"
#include "tests/fuzz/temporary.h"
#include <headrace/data.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* ---- a whole file ---- */

uint32_t __wrap_hr_crc32c(uint32_t crc, const void *data, size_t size);
uint32_t __wrap_hr_crc32c(uint32_t crc, const void *data, size_t size)
{
    (void)crc, (void)data, (void)size;
    return 0;
}

static void must(bool done)
{
    if (!done) abort();
}

static char path[TEMPORARY];
static void remove_file(void) { remove(path); }

static void write_file(const uint8_t *data, size_t size)
{
    if (!path[0]) {
        temporary_path(path, "rows");
        atexit(remove_file);
    }
    FILE *f = fopen(path, "wb");
    must(f && fwrite(data, 1, size, f) == size && fclose(f) == 0);
}

static void read_bytes(const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) sum += ((const unsigned char *)bytes)[i];
}

static void read_tensor(const hr_tensor *t)
{
    int64_t outer = t->shape.rank > 0 ? t->shape.dims[0] : 0;
    for (int l = 0; l < t->ragged_rank; l++) {
        read_bytes(t->splits[l], (size_t)(outer + 1) * sizeof *t->splits[l]);
        outer = t->splits[l][outer];
    }
    if (t->layout == HR_SPARSE) read_bytes(t->indices, (size_t)(t->count * t->shape.rank) * sizeof *t->indices);
    read_bytes(t->data, (size_t)t->count * hr_dtype_size(t->dtype));
    for (int64_t i = 0; t->dtype == HR_STRING && i < t->count; i++) {
        const hr_view *view = t->data;
        read_bytes(view[i].data, (size_t)view[i].size);
    }
}

static void read_elements(hr_dataset *ds)
{
    const hr_element *e;
    hr_iterator *it = hr_iterate(ds, .workers = &(int){0}, .window = 2, .unit_rows = 7, .seed = 7);
    for (int n = 0; n < 100 && hr_next(it, &e) == HR_OK; n++)
        for (int i = 0; i < hr_element_schema(e)->fields; i++) {
            const hr_tensor *t = hr_get_at(e, i);
            if (t) read_tensor(t);
        }
    hr_iterator_free(it);
}

/* Says where its row was read. */
static hr_status refuse(const hr_element *in, hr_builder *out, hr_call *call, void *user)
{
    (void)in, (void)out, (void)user;
    return hr_call_fail(call, HR_ABORTED, "no");
}

static void read_file(const uint8_t *data, size_t size)
{
    write_file(data, size);
    read_elements(hr_load(path));
    read_elements(hr_batch(hr_shuffle(hr_load(path), 4), 3));
    read_elements(hr_unbatch(hr_repeat(hr_cache(hr_load(path)), .count = HR_I64(2))));
    read_elements(hr_ignore_errors(hr_map(hr_load(path), refuse, NULL, .output = &hr_int64_schema)));
}

/* ---- real ones for the corpus: HEADRACE_FUZZ_CORPUS names its folder ---- */

static const hr_field wide_field[] = {
    {.name = "id", .dtype = HR_INT64},
    {.name = "pair", .dtype = HR_FLOAT, .shape = {1, {2}}},
    {.name = "text", .dtype = HR_STRING},
    {.name = "list", .dtype = HR_INT64, .shape = {1, {-1}}},
    {.name = "words", .dtype = HR_STRING, .layout = HR_RAGGED, .shape = {1, {-1}}},
};
static const hr_schema wide = {.fields = 5, .field = wide_field};

static hr_status make_wide(const hr_element *in, hr_builder *out, hr_call *call, void *user)
{
    (void)call, (void)user;
    const int64_t n = *(const int64_t *)hr_get(in, "value")->data;
    *(int64_t *)hr_set(out, "id") = n;
    ((float *)hr_set(out, "pair"))[1] = (float)n;
    hr_set_string(out, "text", "a text", (size_t)n % 7);
    int64_t *list = hr_set_count(out, "list", n % 3);
    for (int64_t i = 0; list && i < n % 3; i++) list[i] = n;
    hr_set_count(out, "words", n % 2);
    if (n % 2) hr_set_string_at(out, "words", 0, "word", 4);
    return HR_OK;
}

static void write_corpus(const char *folder)
{
    char to[512];
    hr_dataset *made[] = {
        hr_range(20),
        hr_batch(hr_range(20), 3),
        hr_map(hr_range(9), make_wide, NULL, .output = &wide),
        hr_ragged_batch(hr_map(hr_range(20), make_wide, NULL, .output = &wide), 3),
        hr_batch(hr_batch(hr_range(20), 2), 3),
    };
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
        snprintf(to, sizeof to, "%s/file_%zu", folder, i);
        hr_error err;
        if (hr_save(made[i], to, &err) != HR_OK) fprintf(stderr, "%s\n", err.text), abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool begun;
    if (!begun && getenv("HEADRACE_FUZZ_CORPUS")) write_corpus(getenv("HEADRACE_FUZZ_CORPUS"));
    begun = true;
    if (size > 8 && memcmp(data, "HRROWS\n\1", 8) == 0) return read_file(data, size), 0;
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
