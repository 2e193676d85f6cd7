/* The operator of pipelines: parsed rows in, the components of columns out. It computes each row by itself, so it works
 * on whole units and does not look at batches. Labels and kept components are copied. */
#include "base/config.h"
#include "data/dataset.h"
#include "feature_columns/columns_internal.h"

#include <headrace/op.h>
#include <string.h>

/* Made when the dataset is made, and then only read. */
typedef struct plan {
    hr__transformer *transformer;
    char *keep;
    int *raw_field; /* of each raw input: its field in the rows that come */
    int *passed;    /* fields that pass through, after the columns' */
    int passes, first_passed;
    bool tf_compat;
} plan;

typedef struct features_spec {
    hr_column_list columns; /* these two borrowed, until the copy has its plan */
    const char *keep;
    bool tf_compat;
    plan *plan;
} features_spec;

static void features_free(void *spec)
{
    plan *p = ((features_spec *)spec)->plan;
    if (!p) return;
    hr__transformer_free(p->transformer);
    hr_free(p->keep);
    hr_free(p->raw_field);
    hr_free(p->passed);
    hr_free(p);
}

static hr_status features_copy(void *spec, hr_error *err)
{
    features_spec *s = spec;
    plan *p = s->plan = hr_calloc(1, sizeof *p);
    if (!p) return hr_no_memory(err, "transform_features");
    p->tf_compat = s->tf_compat;
    p->keep = hr_strdup(s->keep);
    if (s->keep && !p->keep) return hr_no_memory(err, "transform_features");
    return hr__transformer_new(s->columns, &p->transformer, err);
}

/* ---- check ---- */

/* All that the columns make is there: somebody made it of the features before. */
static bool is_transformed(const plan *p, const hr__map *fields)
{
    for (int i = 0; i < hr__transformer_outputs(p->transformer); i++)
        if (hr__map_index(fields, hr__transformer_output(p->transformer, i)->info->component) < 0) return false;
    return true;
}

static hr_status missing_feature(const plan *p, const hr_schema *schema, const hr__map *fields, const char *key,
                                 hr_error *err)
{
    const char **names = hr_calloc((size_t)schema->fields + 1, sizeof *names);
    for (int i = 0; names && i < schema->fields; i++) names[i] = schema->field[i].name;
    const char *near = names ? hr_suggest(key, names, schema->fields) : NULL;
    hr_status st;
    if (is_transformed(p, fields))
        st =
            hr_fail(err, HR_INVALID_ARGUMENT, "column.missing_feature",
                    "transform_features: expected a feature '%s', got these columns, already transformed; an estimator "
                    "itself transforms the features of its input function",
                    key);
    else
        st = hr_fail(err, HR_INVALID_ARGUMENT, "column.missing_feature",
                     "transform_features: expected a feature '%s', got none%s%s%s; parse it with the spec of "
                     "hr_make_parse_example_spec",
                     key, near ? "; did you mean '" : "", near ? near : "", near ? "'" : "");
    hr_free(names);
    return st;
}

/* Finds each raw feature, and lets the columns refuse what they cannot read. */
static hr_status bind_features(plan *p, const hr_schema *schema, const hr__map *fields, hr_error *err)
{
    const int raws = hr__transformer_raws(p->transformer);
    p->raw_field = hr_calloc((size_t)raws + 1, sizeof *p->raw_field);
    hr_column_values *raw = hr_calloc((size_t)raws + 1, sizeof *raw);
    hr_status st = p->raw_field && raw ? HR_OK : hr_no_memory(err, "transform_features");
    for (int i = 0; i < raws && st == HR_OK; i++) {
        const char *key = hr__transformer_raw(p->transformer, i);
        p->raw_field[i] = hr__map_index(fields, key);
        st = p->raw_field[i] < 0 ? missing_feature(p, schema, fields, key, err)
                                 : hr__raw_field(&schema->field[p->raw_field[i]], &raw[i], err);
    }
    if (st == HR_OK) st = hr__transformer_accept(p->transformer, raw, err);
    hr_free(raw);
    return st;
}

static hr_status add_component(hr_schema_builder *out, const hr__output *o, hr_error *err)
{
    const hr_column_info *info = o->info;
    if (info->dense == HR_COLUMN_VALUES) {
        hr_field values = {.name = info->component, .dtype = info->dtype, .shape = HR_SHAPE(info->width)};
        if (info->sequence) {
            values.layout = HR_RAGGED;
            values.shape = HR_SHAPE(-1, info->width);
        }
        return hr_schema_add(out, values, err);
    }
    hr_field ids = {.name = info->component, .dtype = HR_INT64, .layout = HR_RAGGED, .shape = HR_SHAPE(-1)};
    if (info->sequence) ids.shape = HR_SHAPE(-1, -1);
    HR_TRY(hr_schema_add(out, ids, err));
    if (!info->weights) return HR_OK;
    hr_field weights = {.name = info->weights, .dtype = HR_FLOAT, .layout = HR_RAGGED, .shape = HR_SHAPE(-1)};
    return hr_schema_add(out, weights, err);
}

/* Adds the lines of p->keep. */
static hr_status kept_names(const plan *p, hr__map *kept, hr_error *err)
{
    for (const char *at = p->keep; at; at = *at ? at + 1 : NULL) {
        const size_t size = strcspn(at, "\n");
        HR_TRY(hr__map_set(kept, at, size, 0, err));
        at += size;
    }
    return HR_OK;
}

/* `out` has the columns' components. */
static hr_status pass_fields(plan *p, const hr_schema *schema, const hr__map *kept, hr_schema_builder *out,
                             hr_error *err)
{
    p->passed = hr_calloc((size_t)schema->fields + 1, sizeof *p->passed);
    if (!p->passed) return hr_no_memory(err, "transform_features");
    for (int i = 0; i < schema->fields; i++) {
        const hr_field *field = &schema->field[i];
        if (!field->label && hr__map_index(kept, field->name) < 0) continue;
        if (hr__map_index(&out->names, field->name) >= 0)
            return hr_fail(err, HR_INVALID_ARGUMENT, "column.duplicate_name",
                           "transform_features: expected one component named '%s', got a column's and one that passes "
                           "through",
                           field->name);
        HR_TRY(hr_schema_add(out, *field, err));
        p->passed[p->passes++] = i;
    }
    return HR_OK;
}

static hr_status features_check(const void *spec, const hr_schema *const *in, hr_schema_builder *out, hr_error *err)
{
    plan *p = ((const features_spec *)spec)->plan;
    hr__map fields = {0}, kept = {0};
    hr_status st = hr__map_fields(&fields, in[0], err);
    if (st == HR_OK) st = bind_features(p, in[0], &fields, err);
    hr__map_free(&fields);
    HR_TRY(st);
    hr_schema_clear(out);
    for (int i = 0; i < hr__transformer_outputs(p->transformer); i++) {
        const hr__output *o = hr__transformer_output(p->transformer, i);
        HR_TRY(add_component(out, o, err));
        p->first_passed = (o->weights > o->field ? o->weights : o->field) + 1;
    }
    st = kept_names(p, &kept, err);
    if (st == HR_OK) st = pass_fields(p, in[0], &kept, out, err);
    hr__map_free(&kept);
    return st;
}

/* ---- work ---- */

/* Results go straight into the rows' new columns; the rest is cut from one piece of the thread's scratch memory. */
typedef struct target {
    const plan *plan;
    hr_work *work;
    hr_columns *rows;
    char *scratch;
    size_t left;
    hr_error error;
} target;

static void *target_scratch(void *user, size_t bytes)
{
    target *t = user;
    bytes = (bytes + 63) & ~(size_t)63;
    if (bytes > t->left) return hr_row_bytes(t->work, t->rows, bytes);
    void *piece = t->scratch;
    t->scratch += bytes;
    t->left -= bytes;
    return piece;
}

static void *grown_field(target *t, int field, int64_t count)
{
    return hr_grow_column(t->work, t->rows, field, count, &t->error) == HR_OK ? t->rows->column[field].values : NULL;
}

static int64_t *target_ids(void *user, int output, int64_t at_most)
{
    target *t = user;
    return grown_field(t, hr__transformer_output(t->plan->transformer, output)->field, at_most);
}

static int32_t *target_splits(void *user, int output)
{
    target *t = user;
    return t->rows->column[hr__transformer_output(t->plan->transformer, output)->field].splits[0];
}

static float *target_floats(void *user, int output, int64_t at_most)
{
    target *t = user;
    const hr__output *o = hr__transformer_output(t->plan->transformer, output);
    return o->weights >= 0 ? grown_field(t, o->weights, at_most) : t->rows->column[o->field].values;
}

static void target_fail_row(void *user, int64_t row, const hr_error *err)
{
    target *t = user;
    hr_fail_at(t->work, t->rows, row, err);
}

/* Rows of a text source may lack a value, and no default was filled in: they fail, rather than read as 0 or "". */
static void refuse_missing(target *t, const hr_columns *before, int64_t rows)
{
    for (int i = 0; i < hr__transformer_raws(t->plan->transformer); i++) {
        const uint64_t *present = before->column[t->plan->raw_field[i]].present;
        for (int64_t r = 0; present && r < rows; r++) {
            if (present[r / 64] >> (r % 64) & 1) continue;
            hr_error err;
            hr_fail(&err, HR_INVALID_ARGUMENT, "column.missing_value",
                    "feature '%s': expected a value, got none; give the source a default for it",
                    hr__transformer_raw(t->plan->transformer, i));
            hr_fail_at(t->work, t->rows, r, &err);
        }
    }
}

/* Every row has as many values: there are no splits. */
static bool is_fixed(const hr_field *f) { return f->layout == HR_DENSE && hr_shape_count(f->shape) >= 0; }

/* The values of the first rows of a ragged column. */
static int64_t values_before(const hr_column *column, int64_t rows)
{
    for (int level = 0; level < HR_MAX_RAGGED && column->splits[level]; level++) rows = column->splits[level][rows];
    return rows;
}

static hr_status fill_ragged(target *t, int field, const void *values, int64_t count, const int32_t *splits,
                             int64_t rows, hr_error *err)
{
    HR_TRY(hr_grow_column(t->work, t->rows, field, count, err));
    hr_column *column = &t->rows->column[field];
    size_t size = hr_dtype_size(t->rows->schema->field[field].dtype);
    if (values != column->values && count > 0) memcpy(column->values, values, (size_t)count * size);
    if (splits != column->splits[0]) memcpy(column->splits[0], splits, ((size_t)rows + 1) * sizeof *splits);
    column->count = count;
    return HR_OK;
}

/* A second level of splits, of `count` entries and one more: beside the rows, since a column holds only one. */
static hr_status fill_inner_splits(target *t, int field, int level, const int32_t *splits, int64_t count, hr_error *err)
{
    const size_t bytes = ((size_t)count + 1) * sizeof *splits;
    int32_t *own = hr_row_bytes(t->work, t->rows, bytes);
    if (!own) return hr_no_memory(err, "transform_features");
    t->rows->column[field].splits[level] = memcpy(own, splits, bytes);
    return HR_OK;
}

static hr_status fill_sequence(target *t, const hr__output *o, const hr_column_values *made, hr_error *err)
{
    if (!made->step_splits) return fill_ragged(t, o->field, made->values, made->count, made->splits, made->rows, err);
    HR_TRY(fill_ragged(t, o->field, made->values, made->count, made->steps, made->rows, err));
    return fill_inner_splits(t, o->field, 1, made->step_splits, made->steps[made->rows], err);
}

/* What a column made, into its components; mostly it lies there already. */
static hr_status fill_components(target *t, const hr__output *o, const hr_column_values *made, hr_error *err)
{
    if (o->info->sequence) return fill_sequence(t, o, made, err);
    if (o->info->dense == HR_COLUMN_VALUES) {
        hr_column *column = &t->rows->column[o->field];
        if (made->values != column->values && made->count > 0)
            memcpy(column->values, made->values, (size_t)made->count * sizeof(float));
        return HR_OK;
    }
    HR_TRY(fill_ragged(t, o->field, made->values, made->count, made->splits, made->rows, err));
    if (o->weights < 0) return HR_OK;
    return fill_ragged(t, o->weights, made->weights, made->count, made->splits, made->rows, err);
}

static hr_status copy_passed(target *t, const hr_columns *before, int64_t rows, hr_error *err)
{
    for (int i = 0; i < t->plan->passes; i++) {
        const int field = t->plan->first_passed + i;
        const hr_column *from = &before->column[t->plan->passed[i]];
        const hr_field *what = &t->rows->schema->field[field];
        if (is_fixed(what)) {
            size_t bytes = (size_t)rows * hr_field_width(what);
            if (bytes > 0) memcpy(t->rows->column[field].values, from->values, bytes);
            continue;
        }
        HR_TRY(fill_ragged(t, field, from->values, values_before(from, rows), from->splits[0], rows, err));
        hr_column *to = &t->rows->column[field];
        int64_t count = rows;
        for (int level = 1; level < HR_MAX_RAGGED && from->splits[level]; level++) {
            count = from->splits[level - 1][count];
            HR_TRY(fill_inner_splits(t, field, level, from->splits[level], count, err));
        }
        to->dense_width = from->dense_width;
        if (to->inner && from->inner && to->count > 0)
            memcpy(to->inner, from->inner, (size_t)to->count * sizeof *to->inner);
    }
    return HR_OK;
}

/* Rows that failed are cut off: values after the last one that is left do not count. */
static void cut_values(hr_columns *rows)
{
    for (int i = 0; i < rows->schema->fields; i++)
        if (!is_fixed(&rows->schema->field[i])) rows->column[i].count = values_before(&rows->column[i], rows->rows);
}

static hr_status features_work(const void *spec, const void *unit, hr_work *w, hr_columns *rows, hr_error *err)
{
    (void)unit;
    const plan *p = ((const features_spec *)spec)->plan;
    const int outputs = hr__transformer_outputs(p->transformer), raws = hr__transformer_raws(p->transformer);
    const int64_t count = rows->rows;
    hr_columns before;
    HR_TRY(hr_new_columns(w, rows, &before, err));
    target t = {.plan = p, .work = w, .rows = rows};

    hr_column_values *raw = hr_row_bytes(w, rows, ((size_t)raws + (size_t)outputs + 1) * sizeof *raw);
    if (!raw) return hr_no_memory(err, "transform_features");
    hr_column_values *made = raw + raws;
    for (int i = 0; i < raws; i++) HR_TRY(hr__raw_values(w, rows, &before, p->raw_field[i], &raw[i], err));
    t.left = hr__transform_scratch(p->transformer, count, raw);
    t.scratch = hr_scratch(w, t.left);
    if (!t.scratch) return hr_no_memory(err, "transform_features");
    const hr__column_memory memory = {
        .scratch = target_scratch,
        .ids = target_ids,
        .splits = target_splits,
        .floats = target_floats,
        .fail_row = target_fail_row,
        .user = &t,
        .tf_compat = p->tf_compat || hr_work_tf_compat(w),
    };
    refuse_missing(&t, &before, count);
    HR_TRY(hr__transform(p->transformer, &memory, count, raw, made, err));
    for (int i = 0; i < outputs; i++)
        HR_TRY(fill_components(&t, hr__transformer_output(p->transformer, i), &made[i], err));
    HR_TRY(copy_passed(&t, &before, count, err));
    cut_values(rows);
    return HR_OK;
}

static void features_describe(const void *spec, hr_description *to)
{
    const features_spec *s = spec;
    hr_describe_number(to, "columns", s->plan ? hr__transformer_outputs(s->plan->transformer) : 0);
    hr_describe_flag(to, "tf_compat", s->tf_compat);
}

const hr_op hr__op_transform_features = {
    .head = HR_OP_HEAD,
    .name = "transform_features",
    .spec_size = sizeof(features_spec),
    .traits = HR_ROW_BY_ROW,
    .spec_copy = features_copy,
    .spec_free = features_free,
    .check = features_check,
    .work = features_work,
    .describe = features_describe,
};

hr_dataset *hr_transform_features_with(hr_dataset *in, hr_column_list columns, const hr_transform_features_opts *opts)
{
    hr_transform_features_opts o = HR_OPTIONS(hr_transform_features_opts, opts);
    features_spec spec = {.columns = columns, .keep = o.keep, .tf_compat = o.tf_compat};
    return hr_dataset_new(&hr__op_transform_features, &spec, &in, 1);
}
