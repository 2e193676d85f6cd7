/* map: the number that a table has for a value. */
#include "base/config.h"
#include "base/number.h"
#include "feature_columns/derived/derived_internal.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef struct map_spec {
    hr_value_numbers table; /* the caller's, until the spec is copied */
    hr__map places;         /* in `number`, by the value's text */
    double *number;
} map_spec;

static hr_status map_copy(void *spec, hr_error *err)
{
    map_spec *s = spec;
    const hr_value_numbers table = s->table;
    s->places = (hr__map){0};
    s->table = (hr_value_numbers){0};
    s->number = NULL;
    if (table.count < 1 || !table.pair)
        return hr_fail(err, HR_INVALID_ARGUMENT, "derived.argument", "map: expected a table of values, got none");
    s->number = hr_calloc((size_t)table.count, sizeof *s->number);
    if (!s->number) return hr_no_memory(err, "map");
    for (int i = 0; i < table.count; i++) {
        const char *value = table.pair[i].value;
        if (!value) return hr_fail(err, HR_INVALID_ARGUMENT, "derived.argument", "map: expected a value, got NULL");
        s->number[i] = table.pair[i].number;
        const hr_status st = hr__map_add(&s->places, value, strlen(value), i, err);
        if (st == HR_ALREADY_EXISTS)
            return hr_fail(err, HR_INVALID_ARGUMENT, "derived.argument",
                           "map: expected every value once, found '%.60s' twice", value);
        HR_TRY(st);
    }
    return HR_OK;
}

static void map_free(void *spec)
{
    hr__map_free(&((map_spec *)spec)->places);
    hr_free(((map_spec *)spec)->number);
}

static hr_status map_type(const void *spec, const hr_dtype *in, int count, hr_dtype *out, hr_error *err)
{
    (void)spec;
    (void)count;
    *out = HR_FLOAT;
    if (in[0] != HR_DOUBLE) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "derived.dtype", "map: expected texts or integers, got floats");
}

static hr_status map_compute(const void *spec, hr_derived_work *w, const hr_derived_values *in, int64_t rows, void *out,
                             bool *missing, hr_error *err)
{
    (void)w;
    (void)err;
    const map_spec *s = spec;
    for (int64_t r = 0; r < rows; r++) {
        char digits[24];
        hr_view text;
        if (in->dtype == HR_STRING)
            text = ((const hr_view *)in->values)[r];
        else
            text = (hr_view){digits, snprintf(digits, sizeof digits, "%" PRId64, ((const int64_t *)in->values)[r])};
        const int64_t *at = hr__map_find(&s->places, text.size ? text.data : "", (size_t)text.size);
        missing[r] |= !at;
        ((float *)out)[r] = at ? (float)s->number[*at] : 0;
    }
    return HR_OK;
}

static hr_status map_read(hr_config_reader *r, const char *word, hr_derived_feature **out, hr_error *err)
{
    enum { MOST = 1 << 24 };
    const hr_config_value *values;
    hr_derived_opts o;
    const char *field;
    HR_TRY(hr_derived_read_field(r, hr_config_get(r, word), &field, err));
    HR_TRY(hr_config_need(r, "values", &values, err));
    HR_TRY(hr__node_is(values, HR__MAPPING, err));
    HR_TRY(hr__derived_read_default(r, &o, err));
    if (values->count < 1 || values->count > MOST) return hr_config_expected(values, "values and their numbers", err);
    hr_value_number *pair = hr_calloc((size_t)values->count, sizeof *pair);
    hr_status st = pair ? HR_OK : hr_no_memory(err, "a table of values");
    for (int64_t i = 0; st == HR_OK && i < values->count; i++) {
        pair[i].value = values->key[i]->text;
        st = hr_config_value_double(values->item[i], &pair[i].number, err);
    }
    if (st == HR_OK)
        *out = hr_derived_map_with(hr_config_name(r), field, (hr_value_numbers){pair, (int)values->count}, &o);
    hr_free(pair);
    return st;
}

const hr_derived_kind hr_derived_kind_map = {
    .head = HR_DERIVED_HEAD,
    .name = "map",
    .spec_size = sizeof(map_spec),
    .spec_copy = map_copy,
    .spec_free = map_free,
    .type = map_type,
    .compute = map_compute,
    .words = (const char *const[]){"map", NULL},
    .keys = (const char *const[]){"values", NULL},
    .read = map_read,
};

hr_derived_feature *hr_derived_map_with(const char *name, const char *field, hr_value_numbers table,
                                        const hr_derived_opts *opts)
{
    const hr_derived_opts o = HR_OPTIONS(hr_derived_opts, opts);
    return hr_derived_new(&hr_derived_kind_map, &(map_spec){.table = table}, name, HR_FIELDS(field), o.default_value);
}
