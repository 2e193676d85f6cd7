/* bucketized_column: the number of boundaries at or below each component of a numeric column. The id of component i is
 * its bucket plus i times the number of buckets, so that the one-hot of all ids is the dense form. */
#include "feature_columns/kinds/numeric.h"

#include <headrace/column_graph.h>
#include <math.h>

typedef struct bucketized_spec {
    const float *boundaries;
    int count;
} bucketized_spec;

static hr_status bucketized_copy(void *spec, hr_error *err)
{
    bucketized_spec *s = spec;
    if (!s->boundaries || s->count < 1) {
        s->boundaries = NULL;
        return hr_fail(err, HR_INVALID_ARGUMENT, "column.boundaries",
                       "bucketized_column: expected one boundary or more, got none");
    }
    s->boundaries = hr_memdup(s->boundaries, (size_t)s->count * sizeof *s->boundaries);
    return s->boundaries ? HR_OK : hr_no_memory(err, "bucketized_column");
}

static void bucketized_free(void *spec) { hr_free((void *)(uintptr_t)((bucketized_spec *)spec)->boundaries); }

static hr_status check_boundaries(const bucketized_spec *s, const char *source, hr_error *err)
{
    for (int i = 0; i < s->count; i++) {
        if (isnan(s->boundaries[i]))
            return hr_fail(err, HR_INVALID_ARGUMENT, "column.boundaries",
                           "bucketized_column of '%s': expected numbers, got NaN as boundary %d", source, i);
        if (i > 0 && !(s->boundaries[i - 1] < s->boundaries[i]))
            return hr_fail(err, HR_INVALID_ARGUMENT, "column.boundaries",
                           "bucketized_column of '%s': expected boundaries that rise in float32, got %.9g before %.9g "
                           "(places %d and %d); sort them and drop equal ones",
                           source, (double)s->boundaries[i - 1], (double)s->boundaries[i], i - 1, i);
    }
    return HR_OK;
}

static hr_status bucketized_describe(const void *spec, const hr_feature_column *const *source, hr_column_builder *out,
                                     hr_error *err)
{
    const bucketized_spec *s = spec;
    const hr_column_info *numeric = hr_feature_column_info(source[0]);
    if (!hr_feature_column_is(source[0], "numeric_column"))
        return hr_fail(err, HR_INVALID_ARGUMENT, "column.source",
                       "bucketized_column: expected a numeric_column, got the %s '%s'", numeric->kind, numeric->name);
    if (hr_feature_column_read(source[0], 0)->shape.rank > 1)
        return hr_fail(err, HR_INVALID_ARGUMENT, "column.source",
                       "bucketized_column of '%s': expected a numeric_column of one dimension, got %d", numeric->name,
                       hr_feature_column_read(source[0], 0)->shape.rank);
    HR_TRY(check_boundaries(s, numeric->name, err));
    HR_TRY(hr_column_name(out, err, "%s_bucketized", numeric->name));
    hr_column_mix(out, s->boundaries, (size_t)s->count * sizeof *s->boundaries);
    hr_bucketize_boundaries((float *)(uintptr_t)s->boundaries, s->count); /* our own copy, not seen by others yet */

    hr_column_info *info = hr_column_describe(out);
    info->categorical = true;
    info->dense = HR_COLUMN_COUNTS;
    info->num_buckets = info->width = (s->count + 1) * numeric->width;
    return HR_OK;
}

static hr_status bucketized_transform(const void *spec, hr_column_work *w, const hr_column_values *in,
                                      hr_column_values *out, hr_error *err)
{
    const bucketized_spec *s = spec;
    int64_t *ids = hr_column_ids(w, in->count);
    int32_t *splits = hr_column_splits(w);
    if (!ids || !splits) return hr_no_memory(err, "bucketized_column");
    hr_bucketize(in->values, in->count, s->boundaries, s->count, ids);
    for (int64_t r = 0; r < in->rows; r++) {
        splits[r + 1] = (int32_t)((r + 1) * in->width);
        for (int64_t i = 1; i < in->width; i++) ids[r * in->width + i] += i * (s->count + 1);
    }
    *out = (hr_column_values){.dtype = HR_INT64,
                              .rows = in->rows,
                              .values = ids,
                              .count = in->count,
                              .splits = splits,
                              .dense_width = in->width};
    return HR_OK;
}

/* Component i's buckets begin at i (count + 1); every place of a row has an id. */
static hr_status bucketized_to_graph(const void *spec, const hr_column_graph *g, const hr_column_nodes *in,
                                     hr_column_nodes *out, hr_error *err)
{
    const bucketized_spec *s = spec;
    const int64_t all = -1, width = in->width;
    hr_tensor first;
    HR_TRY(hr_tensor_new(&first, HR_INT64, HR_SHAPE(width), err));
    for (int64_t i = 0; i < width; i++) ((int64_t *)first.data)[i] = i * (s->count + 1);
    const hr_column_node begin = hr_column_constant(g, &first);
    hr_tensor_clear(&first);
    const hr_tensor flat = hr_tensor_of(HR_INT64, HR_SHAPE(1), &all);
    hr_column_node ids = hr_column_op(g, "Bucketize", HR_COLUMN_INPUTS(in->values),
                                      HR_COLUMN_ATTRS(HR_COLUMN_FLOATS_ATTR("boundaries", s->boundaries, s->count)));
    ids = hr_column_cast(g, ids, HR_INT32, HR_INT64);
    ids = HR_COLUMN_APPLY(g, "AddV2", ids, begin);
    const hr_column_node here = HR_COLUMN_APPLY(g, "GreaterEqual", ids, hr_column_int64_constant(g, 0));
    out->dtype = HR_INT64;
    out->all_count = true;
    out->values = HR_COLUMN_APPLY(g, "Reshape", ids, hr_column_constant(g, &flat));
    out->indices = HR_COLUMN_APPLY(g, "Where", here);
    out->dense_shape =
        hr_column_op(g, "Shape", HR_COLUMN_INPUTS(ids), HR_COLUMN_ATTRS(HR_COLUMN_TYPE_ATTR("out_type", HR_INT64)));
    return HR_OK;
}

static const hr_column_config bucketized_config; /* below */

const hr_column_kind hr_column_kind_bucketized = {
    .head = HR_COLUMN_HEAD,
    .name = "bucketized_column",
    .spec_size = sizeof(bucketized_spec),
    .spec_copy = bucketized_copy,
    .spec_free = bucketized_free,
    .describe = bucketized_describe,
    .transform = bucketized_transform,
    .config = &bucketized_config,
    .to_graph = bucketized_to_graph,
};

hr_feature_column *hr_bucketized_column(hr_feature_column *source, const float *boundaries, int count)
{
    return hr_feature_column_new(&hr_column_kind_bucketized, &(bucketized_spec){boundaries, count}, &source, 1);
}

/* ---- {bucketized: temp, boundaries: [20, 40]}: of a field, or with `column temp` of a column ---- */

static hr_status read_source(hr_config_reader *r, hr_feature_column **source, hr_error *err)
{
    const hr_config_value *of = hr_config_get(r, "bucketized");
    const char *column = hr_config_after(of, "column");
    if (column) return hr_config_column_named(r, of, column, source, err);
    return hr__numeric_read(r, of, &(hr_numeric_column_opts){0}, source, err);
}

static hr_status read_bucketized(hr_config_reader *r, hr_feature_column **out, hr_error *err)
{
    const hr_config_value *list;
    int64_t count;
    HR_TRY(hr_config_need(r, "boundaries", &list, err));
    HR_TRY(hr_config_items(list, &count, err));
    if (count > INT32_MAX / 2) return hr_config_expected(list, "fewer boundaries", err);
    float *boundaries = hr_calloc((size_t)count + 1, sizeof *boundaries);
    hr_status st = boundaries ? HR_OK : hr_no_memory(err, "bucketized_column");
    for (int64_t i = 0; i < count && st == HR_OK; i++) {
        double value;
        st = hr_config_value_double(hr_config_item(list, i), &value, err);
        if (st == HR_OK) boundaries[i] = (float)value;
    }
    hr_feature_column *source;
    if (st == HR_OK) st = read_source(r, &source, err);
    if (st == HR_OK) *out = hr_bucketized_column(source, boundaries, (int)count);
    hr_free(boundaries);
    return st;
}

static void write_bucketized(hr_config_writer *w, const hr_feature_column *column)
{
    const bucketized_spec *s = hr_feature_column_spec(column);
    hr_config_write_source(w, "bucketized", hr_feature_column_source(column, 0));
    hr_config_write_floats(w, "boundaries", s->boundaries, s->count);
}

static const hr_column_config bucketized_config = {
    .head = HR_COLUMN_CONFIG_HEAD,
    .word = "bucketized",
    .keys = (const char *const[]){"bucketized", "boundaries", "default", NULL},
    .read = read_bucketized,
    .write = write_bucketized,
};
