/* A kind of feature column of one's own: the hour of a time in seconds since 1970, as an id from 0 to 23. It is made of
 * the public kit alone; what it gives can be crossed, embedded, counted, put into sequences like the library's own.
 *
 *     cc -c hour_of_day.c $(pkg-config --cflags headrace)
 *
 *     hr_feature_column *hour = hour_of_day_column("pickup_time", -5 * 3600);
 *
 * After hour_of_day_register a config file says the same:
 *
 *     pickup: {hour_of_day: pickup_time, seconds_east: -18000}
 */
#include "hour_of_day.h"

#include <headrace/column_config.h>
#include <headrace/column_graph.h>

#include <string.h>

typedef struct hour_spec {
    const char *key;
    int64_t seconds_east;
} hour_spec;

/* The caller's string is only lent: the column keeps a copy, which is freed with it. */
static hr_status hour_copy(void *spec, hr_error *err)
{
    hour_spec *s = spec;
    s->key = hr_strdup(s->key);
    return s->key ? HR_OK : hr_no_memory(err, "hour_of_day");
}

static void hour_free(void *spec) { hr_free((void *)(uintptr_t)((hour_spec *)spec)->key); }

static hr_status hour_describe(const void *spec, const hr_feature_column *const *source, hr_column_builder *out,
                               hr_error *err)
{
    (void)source;
    const hour_spec *s = spec;
    if (s->seconds_east <= -86400 || s->seconds_east >= 86400)
        return hr_fail(err, HR_INVALID_ARGUMENT, "hour.zone",
                       "hour_of_day '%s': expected less than a day of seconds, got %lld", s->key,
                       (long long)s->seconds_east);
    HR_TRY(hr_column_name(out, err, "%s_hour", s->key));
    HR_TRY(hr_column_read(out, &(hr_feature){.key = s->key, .kind = HR_VAR_LEN, .dtype = HR_INT64}, err));
    hr_column_mix(out, &s->seconds_east, sizeof s->seconds_east);
    hr_column_info *info = hr_column_describe(out);
    info->categorical = true;
    info->num_buckets = 24;
    return HR_OK;
}

static hr_status hour_accept(const void *spec, const hr_column_values *in, hr_error *err)
{
    if (in->dtype == HR_INT64) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "hour.dtype", "hour_of_day '%s': expected int64, got %s",
                   ((const hour_spec *)spec)->key, hr_dtype_name(in->dtype));
}

static hr_status hour_transform(const void *spec, hr_column_work *w, const hr_column_values *in, hr_column_values *out,
                                hr_error *err)
{
    const hour_spec *s = spec;
    HR_TRY(hr_column_present(w, in, out, err)); /* without missing values, as every categorical column */
    const int64_t *second = out->values;
    int64_t *id = hr_column_ids(w, out->count);
    if (!id) return hr_no_memory(err, "hour_of_day");
    for (int64_t i = 0; i < out->count; i++) {
        if (second[i] < 0) {
            hr_error wrong;
            hr_fail(&wrong, HR_INVALID_ARGUMENT, "hour.before_1970", "expected a time from 1970 on, got %lld",
                    (long long)second[i]);
            hr_column_fail_row(w, hr_column_row_of(out, i), &wrong);
        }
        id[i] = second[i] < 0 ? 0 : (second[i] % 86400 + s->seconds_east + 86400) % 86400 / 3600;
    }
    out->values = id;
    return HR_OK;
}

/* The same in TensorFlow's ops, for graphs that compute it of serialized Examples. FloorMod gives no negative hours. */
static hr_status hour_to_graph(const void *spec, const hr_column_graph *g, const hr_column_nodes *in,
                               hr_column_nodes *out, hr_error *err)
{
    (void)err;
    const hour_spec *s = spec;
    const hr_column_node day = hr_column_int64_constant(g, 86400), hour = hr_column_int64_constant(g, 3600);
    const hr_column_node east = hr_column_int64_constant(g, s->seconds_east), start = hr_column_int64_constant(g, 0);
    const hr_column_node since_1970 = HR_COLUMN_APPLY(g, "GreaterEqual", in->values, start);
    const hr_column_node time =
        hr_column_checked(g, in->values, since_1970, "hour_of_day: expected times from 1970 on, got others");
    const hr_column_node second = HR_COLUMN_APPLY(g, "FloorMod", HR_COLUMN_APPLY(g, "AddV2", time, east), day);
    *out = *in;
    out->values = HR_COLUMN_APPLY(g, "FloorDiv", second, hour);
    return HR_OK;
}

/* ---- {hour_of_day: pickup_time, seconds_east: -18000} ---- */

static hr_status hour_read(hr_config_reader *r, hr_feature_column **out, hr_error *err)
{
    const hr_config_value *field = hr_config_get(r, "hour_of_day");
    const char *key;
    hr_dtype dtype;
    int64_t east = 0;
    HR_TRY(hr_config_field(r, field, &dtype, err));
    HR_TRY(hr_config_value_text(field, &key, err));
    if (dtype != HR_INT64)
        return hr_config_fail(field, err, "expected a field of int64, found '%s' of %s", key, hr_dtype_name(dtype));
    HR_TRY(hr_config_int(r, "seconds_east", -86399, 86399, &east, err));
    *out = hour_of_day_column(key, east);
    return HR_OK;
}

static void hour_write(hr_config_writer *w, const hr_feature_column *column)
{
    const hour_spec *s = hr_feature_column_spec(column);
    hr_config_write_text(w, "hour_of_day", s->key);
    if (s->seconds_east != 0) hr_config_write_int(w, "seconds_east", s->seconds_east);
}

static const hr_column_config hour_config = {
    .head = HR_COLUMN_CONFIG_HEAD,
    .word = "hour_of_day",
    .keys = (const char *const[]){"hour_of_day", "seconds_east", NULL},
    .read = hour_read,
    .write = hour_write,
};

static const hr_column_kind hour_of_day = {
    .head = HR_COLUMN_HEAD,
    .name = "hour_of_day_column",
    .spec_size = sizeof(hour_spec),
    .spec_copy = hour_copy,
    .spec_free = hour_free,
    .describe = hour_describe,
    .accept = hour_accept,
    .transform = hour_transform,
    .config = &hour_config,
    .to_graph = hour_to_graph,
};

hr_status hour_of_day_register(hr_error *err) { return hr_column_kind_register(&hour_of_day, err); }

hr_feature_column *hour_of_day_column(const char *key, int64_t seconds_east)
{
    return hr_feature_column_new(&hour_of_day, &(hour_spec){key, seconds_east}, NULL, 0);
}
