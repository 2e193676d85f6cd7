/* Which layout rows need, and how layouts grow. */
#include "data/dataset.h"
#include "data/rows/narrow.h"
#include "data/rows/row_layout.h"
#include <string.h>

/* Longer lists are as near by column; and many of one row's slots would be empty. */
enum { MAX_VALUES = 8 };

size_t hr__row_layout_bytes(int fields) { return sizeof(hr__row_layout) + (size_t)fields * sizeof(hr__row_slot); }

/* ---- what rows need ---- */

static void measure_counts(const int32_t *splits, int64_t rows, hr__row_slot *slot)
{
    int32_t max = 0, min = rows > 0 ? INT32_MAX : 0;
    for (int64_t r = 0; r < rows; r++) {
        const int32_t count = splits[r + 1] - splits[r];
        max = count > max ? count : max;
        min = count < min ? count : min;
    }
    slot->capacity = (uint32_t)max;
    slot->counted = max != min;
}

static bool measure_field(const hr_columns *rows, int i, hr__row_slot *slot)
{
    const hr_field *f = &rows->schema->field[i];
    const hr_column *c = &rows->column[i];
    const size_t value = hr_dtype_size(f->dtype);
    *slot = (hr__row_slot){.value = (uint8_t)value, .varies = !hr_field_fixed(f)};
    if (c->present || c->inner || c->splits[1] || c->dense_width) return false;
    int64_t first = 0, count = 0;
    if (slot->varies) {
        measure_counts(c->splits[0], rows->rows, slot);
        first = c->splits[0][0];
        count = c->splits[0][rows->rows] - first;
        if (slot->capacity > MAX_VALUES) return false;
    } else {
        slot->capacity = (uint32_t)(hr_field_width(f) / value);
        count = rows->rows * (int64_t)slot->capacity;
    }
    const bool narrow = slot->capacity <= MAX_VALUES && count > 0;
    const char *values = (const char *)c->values + (size_t)first * value;
    slot->width = narrow ? (uint8_t)hr__narrow_width(f->dtype, values, count) : (uint8_t)value;
    return true;
}

/* Of a whole number with a sign. */
static uint8_t width_for(int64_t value)
{
    const uint64_t bits = (uint64_t)(value < 0 ? ~value : value);
    return bits <= INT8_MAX ? 1 : bits <= INT16_MAX ? 2 : bits <= INT32_MAX ? 4 : 8;
}

static void widen_slot(hr__row_slot *slot, uint8_t width)
{
    if (slot->width < width) slot->width = width;
}

/* An unknown record is -1, as a number with a sign. */
static void measure_origins(const hr_columns *rows, hr__row_slot *slot)
{
    for (int i = 0; i < HR__ORIGIN_PARTS; i++) slot[i] = (hr__row_slot){.capacity = 1, .width = 1, .value = 4};
    slot[HR__ORIGIN_PARTS - 1].value = 8;
    for (int64_t r = 0; r < rows->rows; r++) {
        widen_slot(&slot[0], width_for(rows->origin[r].file));
        widen_slot(&slot[1], width_for((int32_t)rows->origin[r].record));
        widen_slot(&slot[2], width_for(rows->origin[r].offset));
    }
}

static void place_slots(hr__row_layout *form)
{
    uint64_t at = 0;
    for (int i = 0; i < HR__ORIGIN_PARTS; i++) {
        form->origin[i].at = (uint32_t)at;
        at += form->origin[i].width;
    }
    for (int i = 0; i < form->slots; i++)
        if (form->slot[i].counted) form->slot[i].count_at = (uint32_t)at++;
    for (int i = 0; i < form->slots; i++) {
        form->slot[i].at = (uint32_t)at;
        at += (uint64_t)form->slot[i].capacity * form->slot[i].width;
    }
    form->size = (uint32_t)at;
}

/* False: too many places would be empty, and row layout would be larger than columns. */
static bool is_even(const hr_columns *rows, const hr__row_layout *form)
{
    enum { MAX_FACTOR = 4 };
    int64_t places = 0, used = 0;
    for (int i = 0; i < form->slots; i++) {
        if (!form->slot[i].varies) continue;
        places += (int64_t)form->slot[i].capacity * rows->rows;
        used += rows->column[i].splits[0][rows->rows] - rows->column[i].splits[0][0];
    }
    return places <= MAX_FACTOR * (used + rows->rows);
}

bool hr__row_layout_measure(const hr_columns *rows, hr__row_layout *form)
{
    enum { LARGEST = 1 << 20 };
    size_t fixed = 0;
    *form = (hr__row_layout){.origins = rows->origin != NULL, .slots = rows->schema->fields};
    if (rows->levels > 0 || rows->number) return false;
    for (int i = 0; i < form->slots; i++) {
        if (!measure_field(rows, i, &form->slot[i])) return false;
        fixed += (size_t)form->slot[i].capacity * form->slot[i].value;
        if (fixed > LARGEST) return false;
    }
    if (form->origins) measure_origins(rows, form->origin);
    place_slots(form);
    return is_even(rows, form);
}

void hr__row_layout_near(hr__row_layout *need, const hr_schema *schema, int width)
{
    for (int i = 0; i < need->slots; i++)
        if (schema->field[i].dtype == HR_STRING) need->slot[i].width = (uint8_t)width;
    place_slots(need);
}

/* ---- growing ---- */

bool hr__row_layouts_fit(const hr__row_layouts *forms, const hr__row_layout *need)
{
    const hr__row_layout *form = forms->newest;
    bool fits = form && form->slots == need->slots;
    for (int i = 0; fits && i < need->slots; i++) {
        const hr__row_slot *has = &form->slot[i], *wants = &need->slot[i];
        fits = has->value == wants->value && has->varies == wants->varies &&
               (has->varies || has->capacity == wants->capacity);
    }
    return fits;
}

static bool serves(const hr__row_layout *form, const hr__row_layout *need)
{
    bool does = form->origins || !need->origins;
    for (int i = 0; i < HR__ORIGIN_PARTS && does; i++) does = form->origin[i].width >= need->origin[i].width;
    for (int i = 0; i < form->slots && does; i++) {
        const hr__row_slot *has = &form->slot[i], *wants = &need->slot[i];
        const bool fits =
            has->counted ? has->capacity >= wants->capacity : has->capacity == wants->capacity && !wants->counted;
        does = fits && has->width >= wants->width;
    }
    return does;
}

const hr__row_layout *hr__row_layouts_join(hr__row_layouts *forms, const hr__row_layout *need)
{
    hr__row_layout *newest = forms->newest;
    if (newest && serves(newest, need)) return newest;
    const size_t bytes = hr__row_layout_bytes(need->slots);
    hr__row_layout *form = hr_malloc(bytes);
    if (!form) return NULL;
    memcpy(form, need, bytes);
    for (int i = 0; newest && i < form->slots; i++) {
        hr__row_slot *to = &form->slot[i];
        const hr__row_slot *old = &newest->slot[i];
        to->counted |= old->counted || to->capacity != old->capacity;
        if (old->capacity > to->capacity) to->capacity = old->capacity;
        if (old->width > to->width) to->width = old->width;
    }
    for (int i = 0; newest && newest->origins && i < HR__ORIGIN_PARTS; i++) {
        const uint8_t width = form->origin[i].width;
        form->origin[i] = newest->origin[i];
        widen_slot(&form->origin[i], width);
    }
    form->origins |= newest && newest->origins;
    form->older = newest;
    place_slots(form);
    return forms->newest = form;
}

void hr__row_layouts_clear(hr__row_layouts *forms)
{
    while (forms->newest) {
        hr__row_layout *form = forms->newest;
        forms->newest = form->older;
        hr_free(form);
    }
}
