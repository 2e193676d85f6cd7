/* Columns into row layout and back, some rows at a time, so that both stay in the nearest cache. */
#include "data/rows/row_layout.h"
#include <stddef.h>
#include <string.h>

enum {
    BLOCK = HR__LAID_BLOCK,
    LINE = 64,
    MAX_LINES = 8 /* prefetched; the processor itself prefetches the rest of a longer row */
};

/* ---- kernels: one value of each row, from one width to another ---- */

typedef void put_kernel(const char *values, const int32_t *place, int64_t count, char *to, size_t step);
typedef void get_kernel(char *values, const int32_t *place, int64_t count, const char *const *laid, size_t at);

typedef struct pair {
    uint64_t half[2];
} pair;

#define HR_KERNELS(name, stored, value)                                                                                \
    static void put_##name(const char *values, const int32_t *place, int64_t count, char *to, size_t step)             \
    {                                                                                                                  \
        for (int64_t i = 0; i < count; i++, to += step) {                                                              \
            value v;                                                                                                   \
            memcpy(&v, values + (size_t)place[i] * sizeof v, sizeof v);                                                \
            const stored s = v;                                                                                        \
            memcpy(to, &s, sizeof s);                                                                                  \
        }                                                                                                              \
    }                                                                                                                  \
    static void get_##name(char *values, const int32_t *place, int64_t count, const char *const *laid, size_t at)      \
    {                                                                                                                  \
        for (int64_t i = 0; i < count; i++) {                                                                          \
            stored s;                                                                                                  \
            memcpy(&s, laid[i] + at, sizeof s);                                                                        \
            const value v = s;                                                                                         \
            memcpy(values + (size_t)place[i] * sizeof v, &v, sizeof v);                                                \
        }                                                                                                              \
    }

HR_KERNELS(1_4, int8_t, int32_t)
HR_KERNELS(2_4, int16_t, int32_t)
HR_KERNELS(1_8, int8_t, int64_t)
HR_KERNELS(2_8, int16_t, int64_t)
HR_KERNELS(4_8, int32_t, int64_t)
HR_KERNELS(1, uint8_t, uint8_t)
HR_KERNELS(2, uint16_t, uint16_t)
HR_KERNELS(4, uint32_t, uint32_t)
HR_KERNELS(8, uint64_t, uint64_t)
HR_KERNELS(16, pair, pair)

/* Near views. What they lead to is needed soon. */
#define HR_NEAR_KERNELS(name, part)                                                                                    \
    static void put_##name(const char *values, const int32_t *place, int64_t count, char *to, size_t step)             \
    {                                                                                                                  \
        for (int64_t i = 0; i < count; i++, to += step) {                                                              \
            hr_view v;                                                                                                 \
            memcpy(&v, values + (size_t)place[i] * sizeof v, sizeof v);                                                \
            const part near[2] = {(part)(uintptr_t)v.data, (part)v.size};                                              \
            memcpy(to, near, sizeof near);                                                                             \
        }                                                                                                              \
    }                                                                                                                  \
    static void get_##name(char *values, const int32_t *place, int64_t count, const char *const *laid, size_t at)      \
    {                                                                                                                  \
        for (int64_t i = 0; i < count; i++) {                                                                          \
            part near[2];                                                                                              \
            memcpy(near, laid[i] + at, sizeof near);                                                                   \
            const hr_view v = {laid[i] + near[0], near[1]};                                                            \
            __builtin_prefetch(v.data);                                                                                \
            memcpy(values + (size_t)place[i] * sizeof v, &v, sizeof v);                                                \
        }                                                                                                              \
    }

HR_NEAR_KERNELS(4_16, uint16_t)
HR_NEAR_KERNELS(8_16, uint32_t)

typedef struct kernels {
    int width, value;
    put_kernel *put;
    get_kernel *get;
} kernels;

static const kernels *kernels_of(const hr__row_slot *slot)
{
    static const kernels all[] = {
        {2, 8, put_2_8, get_2_8}, {1, 8, put_1_8, get_1_8}, {4, 8, put_4_8, get_4_8},    {8, 8, put_8, get_8},
        {4, 4, put_4, get_4},     {2, 4, put_2_4, get_2_4}, {1, 4, put_1_4, get_1_4},    {16, 16, put_16, get_16},
        {1, 1, put_1, get_1},     {2, 2, put_2, get_2},     {4, 16, put_4_16, get_4_16}, {8, 16, put_8_16, get_8_16},
    };
    const kernels *k = all;
    while (k->width != slot->width || k->value != slot->value) k++;
    return k;
}

/* Rows of so many values are copied as they are. */
static bool is_run(const hr__row_slot *slot)
{
    return !slot->varies && slot->capacity > 1 && slot->width == slot->value;
}

/* ---- writing ---- */

/* Where value `n` of rows first, first + 1, ... lies in its column; of a row without one, that of any other. */
static void find_values(const hr_column *c, const hr__row_slot *slot, uint32_t n, int64_t first, int64_t count,
                        int32_t *place)
{
    for (int64_t i = 0; i < count && !slot->varies; i++) place[i] = (int32_t)((first + i) * slot->capacity + n);
    for (int64_t i = 0; i < count && slot->varies; i++) {
        const int32_t *splits = c->splits[0] + first + i;
        place[i] = splits[0] + (int32_t)n < splits[1] ? splits[0] + (int32_t)n : c->splits[0][0];
    }
}

static void write_field(const hr_columns *rows, int i, const hr__row_layout *form, int64_t first, int64_t count,
                        char *to)
{
    const hr__row_slot *slot = &form->slot[i];
    const hr_column *c = &rows->column[i];
    int32_t place[BLOCK];
    for (int64_t i = 0; i < count && slot->counted; i++) {
        const int32_t *splits = c->splits[0] + first + i;
        to[slot->count_at + (size_t)i * form->size] = (char)(uint8_t)(splits[1] - splits[0]);
    }
    if (is_run(slot)) {
        const size_t size = (size_t)slot->capacity * slot->value;
        const char *from = (const char *)c->values + (size_t)first * size;
        to += slot->at;
        for (int64_t i = 0; i < count; i++, to += form->size, from += size) memcpy(to, from, size);
        return;
    }
    if (slot->varies && c->splits[0][rows->rows] == c->splits[0][0]) return; /* no value at all */
    const kernels *k = kernels_of(slot);
    for (uint32_t n = 0; n < slot->capacity; n++) {
        find_values(c, slot, n, first, count, place);
        k->put(c->values, place, count, to + slot->at + n * slot->width, form->size);
    }
}

/* Part `part` of row `row`'s origin, as one of an array of such numbers. */
static int32_t origin_place(int64_t row, int part)
{
    _Static_assert(offsetof(hr_origin, record) == 4 && offsetof(hr_origin, offset) == 8 && sizeof(hr_origin) == 16,
                   "an origin is two numbers of 4 bytes and one of 8");
    return (int32_t)(part < 2 ? 4 * row + part : 2 * row + 1);
}

static void write_origins(const hr_columns *rows, const hr__row_layout *form, int64_t first, int64_t count, char *to)
{
    const hr_origin none = hr_origin_of(-1, HR_NO_RECORD, -1);
    int32_t place[BLOCK];
    for (int part = 0; part < HR__ORIGIN_PARTS; part++) {
        const hr__row_slot *slot = &form->origin[part];
        for (int64_t i = 0; i < count; i++) place[i] = origin_place(rows->origin ? first + i : 0, part);
        const char *from = (const char *)(rows->origin ? rows->origin : &none);
        kernels_of(slot)->put(from, place, count, to + slot->at, form->size);
    }
}

void hr__some_to_row_layout(const hr_columns *rows, const hr__row_layout *form, int64_t first, int64_t count, char *to)
{
    if (form->origins) write_origins(rows, form, first, count, to);
    for (int i = 0; i < form->slots; i++) write_field(rows, i, form, first, count, to);
}

void hr__columns_to_row_layout(const hr_columns *rows, const hr__row_layout *form, char *to)
{
    for (int64_t first = 0; first < rows->rows; first += BLOCK, to += BLOCK * (size_t)form->size) {
        const int64_t left = rows->rows - first;
        hr__some_to_row_layout(rows, form, first, left < BLOCK ? left : BLOCK, to);
    }
}

/* ---- reading: how many values ---- */

static int64_t count_of(const hr__row_slot *slot, const char *laid)
{
    return slot->counted ? (uint8_t)laid[slot->count_at] : slot->capacity;
}

int64_t hr__laid_rows_count(const hr__laid_rows *set, int64_t sets, int i)
{
    int64_t count = 0;
    for (; sets > 0; sets--, set++) {
        const hr__row_slot *slot = &set->form->slot[i];
        if (!slot->counted) count += set->count * slot->capacity;
        for (int64_t k = 0; k < set->count && slot->counted; k++) count += count_of(slot, set->laid[k]);
    }
    return count;
}

bool hr__laid_rows_have_one(const hr__laid_rows *set, int64_t sets, int i)
{
    bool one = true;
    for (; sets > 0 && one; sets--, set++) one = set->form->slot[i].capacity == 1 && !set->form->slot[i].counted;
    return one;
}

void hr__laid_rows_splits(const hr__laid_rows *set, int64_t sets, int i, int64_t rows, int32_t *splits)
{
    splits[0] = 0;
    for (; sets > 0; sets--, set++)
        for (int64_t k = 0; k < set->count; k++)
            splits[set->row[k] + 1] = (int32_t)count_of(&set->form->slot[i], set->laid[k]);
    for (int64_t r = 0; r < rows; r++) splits[r + 1] += splits[r];
}

/* ---- reading: values ---- */

/* Some rows of a set. */
typedef struct some {
    const char *const *laid;
    const int32_t *row;
    int64_t count;
} some;

/* Where value `n` of each row goes in the column. A row without value `n`: one place after all values. */
static void place_values(const some *at, const hr__row_slot *slot, uint32_t n, const hr_column *c, int32_t *place)
{
    const int32_t *splits = c->splits[0];
    for (int64_t k = 0; k < at->count && !slot->varies; k++)
        place[k] = at->row[k] * (int32_t)slot->capacity + (int32_t)n;
    for (int64_t k = 0; k < at->count && slot->varies; k++)
        place[k] = n < count_of(slot, at->laid[k]) ? splits[at->row[k]] + (int32_t)n : (int32_t)c->count;
}

/* `one`: every row of the column has one value, whatever form it comes from. */
static void read_field(const some *at, const hr__row_slot *slot, bool one, hr_column *c)
{
    int32_t place[BLOCK];
    if (is_run(slot)) {
        const size_t size = (size_t)slot->capacity * slot->value;
        for (int64_t k = 0; k < at->count; k++)
            memcpy((char *)c->values + (size_t)at->row[k] * size, at->laid[k] + slot->at, size);
        return;
    }
    const kernels *k = kernels_of(slot);
    for (uint32_t n = 0; n < slot->capacity; n++) {
        if (!one) place_values(at, slot, n, c, place);
        k->get(c->values, one ? at->row : place, at->count, at->laid, slot->at + n * slot->width);
    }
}

static void ask_for(const some *at, size_t size)
{
    const size_t end = size < MAX_LINES * LINE ? size : MAX_LINES * LINE;
    for (int64_t k = 0; k < at->count; k++)
        for (size_t line = 0; line < end; line += LINE) __builtin_prefetch(at->laid[k] + line);
}

static some some_of(const hr__laid_rows *set, int64_t first)
{
    const int64_t left = set->count > first ? set->count - first : 0;
    return (some){set->laid + first, set->row + first, left < BLOCK ? left : BLOCK};
}

static void read_origins(const some *at, const hr__row_layout *form, hr_origin *origin)
{
    int32_t place[BLOCK];
    for (int64_t k = 0; k < at->count && !form->origins; k++) origin[at->row[k]] = hr_origin_of(-1, HR_NO_RECORD, -1);
    for (int part = 0; part < HR__ORIGIN_PARTS && form->origins; part++) {
        const hr__row_slot *slot = &form->origin[part];
        for (int64_t k = 0; k < at->count; k++) place[k] = origin_place(at->row[k], part);
        kernels_of(slot)->get((char *)origin, place, at->count, at->laid, slot->at);
    }
}

/* The next rows are prefetched while these are read. */
void hr__laid_rows_to_columns(const hr__laid_rows *set, int64_t sets, hr_column *column, hr_origin *origin)
{
    for (const hr__laid_rows *this = set; this < set + sets; this ++) {
        const hr__row_layout *form = this->form;
        some next = some_of(this, 0);
        ask_for(&next, form->size);
        for (int64_t first = 0; first < this->count; first += BLOCK) {
            const some at = next;
            next = some_of(this, first + BLOCK);
            ask_for(&next, form->size);
            if (origin) read_origins(&at, form, origin);
            for (int i = 0; i < form->slots; i++)
                read_field(&at, &form->slot[i], hr__laid_rows_have_one(set, sets, i), &column[i]);
        }
    }
}
