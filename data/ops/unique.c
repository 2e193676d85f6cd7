/* unique: passes each value once, where it comes for the first time. It keeps the bytes of every value that it has
 * passed, so that equal hashes are not taken for equal values; memory grows with the number of values, as in
 * TensorFlow.
 *
 * A saved state holds no value: after a restore the input is read again from its start, and what was there before the
 * save is only noted. */
#include <headrace/data.h>
#include <inttypes.h>
#include <string.h>

enum { FIRST_PLACES = 64 };

/* A value that was met: its bytes lie in `bytes` of the state. */
typedef struct met {
    uint64_t hash;
    size_t at, size;
} met;

typedef struct unique_state {
    int64_t next; /* saved: number of the input element that comes next */
    met *value;
    int64_t values, value_capacity;
    int64_t *place; /* hash table: 1 + number of the value, 0: free. At least half of it is free */
    int64_t places; /* a power of two */
    char *bytes;
    size_t used, capacity;
} unique_state;

static hr_status unique_check(const void *spec, const hr_schema *const *in, hr_schema_builder *out, hr_error *err)
{
    (void)spec, (void)out;
    const hr_field *f = in[0]->field;
    const bool lone = in[0]->fields == 1 && in[0]->levels == 0 && f->layout == HR_DENSE && f->shape.rank == 0;
    if (lone && (f->dtype == HR_INT32 || f->dtype == HR_INT64 || f->dtype == HR_STRING)) return HR_OK;
    return hr_fail(
        err, HR_INVALID_ARGUMENT, "unique.component",
        "unique: expected elements of one component, a scalar of int32, int64 or string; map to it first, and "
        "batch later");
}

static void unique_close(void *state)
{
    unique_state *st = state;
    hr_free(st->value);
    hr_free(st->place);
    hr_free(st->bytes);
}

/* ---- the values met so far ---- */

/* Where the value is, or the free place where it should be. */
static int64_t unique_find(const unique_state *st, uint64_t hash, const void *data, size_t size)
{
    int64_t i = (int64_t)(hash & (uint64_t)(st->places - 1));
    for (; st->place[i]; i = (i + 1) & (st->places - 1)) {
        const met *m = &st->value[st->place[i] - 1];
        if (m->hash == hash && m->size == size && (size == 0 || memcmp(st->bytes + m->at, data, size) == 0)) break;
    }
    return i;
}

static bool grow_table(unique_state *st)
{
    const int64_t places = st->places ? 2 * st->places : FIRST_PLACES;
    int64_t *place = hr_calloc((size_t)places, sizeof *place);
    if (!place) return false;
    for (int64_t v = 0; v < st->values; v++) {
        int64_t i = (int64_t)(st->value[v].hash & (uint64_t)(places - 1));
        while (place[i]) i = (i + 1) & (places - 1);
        place[i] = v + 1;
    }
    hr_free(st->place);
    st->place = place;
    st->places = places;
    return true;
}

static bool unique_reserve(unique_state *st, size_t size)
{
    if (2 * (st->values + 1) > st->places && !grow_table(st)) return false;
    if (st->values == st->value_capacity) {
        const int64_t capacity = st->value_capacity ? 2 * st->value_capacity : FIRST_PLACES / 2;
        met *grown = hr_realloc(st->value, (size_t)capacity * sizeof *grown);
        if (!grown) return false;
        st->value = grown;
        st->value_capacity = capacity;
    }
    if (st->capacity - st->used >= size) return true;
    const size_t capacity = 2 * st->capacity + size + FIRST_PLACES;
    char *grown = hr_realloc(st->bytes, capacity);
    if (!grown) return false;
    st->bytes = grown;
    st->capacity = capacity;
    return true;
}

/* HR_OK: the value is new. HR_END: it was met before. */
static hr_status unique_note(unique_state *st, const void *data, size_t size, hr_error *err)
{
    if (!unique_reserve(st, size)) return hr_no_memory(err, "unique: the values");
    const uint64_t hash = hr_fingerprint64(data, size);
    const int64_t place = unique_find(st, hash, data, size);
    if (st->place[place]) return HR_END;
    if (size) memcpy(st->bytes + st->used, data, size);
    st->value[st->values++] = (met){hash, st->used, size};
    st->place[place] = st->values;
    st->used += size;
    return HR_OK;
}

static hr_status note_row(unique_state *st, const hr_columns *rows, int64_t row, hr_error *err)
{
    const hr_dtype dtype = rows->schema->field[0].dtype;
    const size_t width = hr_dtype_size(dtype);
    const void *value = (const char *)rows->column[0].values + (size_t)row * width;
    const hr_view *view = value;
    return dtype == HR_STRING ? unique_note(st, view->data, (size_t)view->size, err)
                              : unique_note(st, value, width, err);
}

/* ---- plan ---- */

static hr_status pass_new(unique_state *st, hr_plan *p, hr_span span, int64_t number, hr_error *err)
{
    for (int32_t i = 0; i < span.count; i++) {
        hr_status noted = note_row(st, span.in, span.first + i, err);
        if (noted < 0) return noted;
        if (number + i < st->next) continue; /* read again */
        st->next++;
        if (noted == HR_OK) hr_emit(p, hr_span_share(span, i, 1));
    }
    return HR_OK;
}

static hr_status unique_plan(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    (void)spec;
    unique_state *st = state;
    while (hr_room(p) > 0) {
        hr_span span;
        const int64_t number = hr_pulled(p, 0);
        hr_status got = hr_pull(p, 0, hr_room(p), &span);
        if (got == HR_END && number < st->next)
            return hr_fail(err, HR_DATA_LOSS, "unique.input_changed",
                           "unique: the input has changed since the state was saved: it has only %" PRId64
                           " elements; start from the beginning",
                           number);
        if (got != HR_OK) return got;
        hr_status passed = pass_new(st, p, span, number, err);
        hr_span_drop(span);
        if (passed != HR_OK) return passed;
    }
    return HR_OK;
}

static int64_t unique_held_from(const void *spec, const void *state)
{
    (void)spec, (void)state;
    return 0;
}

const hr_op hr_op_unique = {
    .head = HR_OP_HEAD,
    .name = "unique",
    .state_size = sizeof(unique_state),
    .saved = 1, /* next */
    .check = unique_check,
    .plan = unique_plan,
    .close = unique_close,
    .held_from = unique_held_from,
};

hr_dataset *hr_unique(hr_dataset *in) { return hr_dataset_new(&hr_op_unique, NULL, &in, 1); }
