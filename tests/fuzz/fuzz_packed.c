/* Any bytes as packed rows, as they lie in files of rows after their checksums: they are refused, or all that they say
 * can be read. */
#include "data/rows/packed.h"
#include <stdlib.h>
#include <string.h>

static const hr_field field[] = {
    {.name = "id", .dtype = HR_INT64},
    {.name = "pair", .dtype = HR_FLOAT, .shape = {1, {2}}},
    {.name = "words", .dtype = HR_STRING, .layout = HR_RAGGED, .shape = {1, {-1}}},
    {.name = "place", .dtype = HR_INT32, .layout = HR_SPARSE, .shape = {1, {-1}}},
};
enum { FIELDS = sizeof field / sizeof *field };
static const hr_schema schema = {.fields = FIELDS, .field = field};

static volatile uint64_t sum;

static void read_all(const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) sum += ((const unsigned char *)bytes)[i];
}

static void demand_rising(const int32_t *splits, int64_t runs)
{
    if (splits[0] != 0) abort();
    for (int64_t i = 0; i < runs; i++)
        if (splits[i] > splits[i + 1]) abort();
}

static void read_column(const hr__packed *packed, const hr__packed_column *c, const hr_field *f)
{
    int64_t runs = packed->rows;
    for (int d = 0; d < c->depth; d++) {
        demand_rising(c->splits[d], runs);
        runs = c->splits[d][runs];
    }
    if (c->present) read_all(c->present, (size_t)(packed->rows + 63) / 64 * sizeof *c->present);
    if (c->inner) read_all(c->inner, (size_t)c->count * sizeof *c->inner);
    if (f->dtype == HR_STRING)
        for (int64_t i = 0; i < c->count; i++) read_all(c->values + c->ends[i], c->ends[i + 1] - c->ends[i]);
    else
        read_all(c->values, (size_t)c->count * (size_t)c->width);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hr__packed packed;
    hr__packed_column column[FIELDS];
    hr_error err;
    char *bytes = malloc(size + 1); /* aligned, and its end is where the bytes end */
    if (!bytes) abort();
    if (size > 0) memcpy(bytes, data, size);
    if (hr__packed_open(bytes, size, &schema, column, &packed, &err) == HR_OK) {
        int32_t *first = hr__packed_first_rows(&packed);
        if (!first || first[packed.elements] != packed.rows) abort();
        demand_rising(first, packed.elements);
        hr_free(first);
        if (packed.origin) read_all(packed.origin, (size_t)packed.rows * sizeof *packed.origin);
        for (int i = 0; i < FIELDS; i++) read_column(&packed, &column[i], &field[i]);
    }
    free(bytes);
    return 0;
}
