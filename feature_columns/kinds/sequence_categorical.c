/* sequence_categorical_column_with_*: the ids of a column, by steps. A feature list has its own steps. In a plain list
 * every place is a step, also a place without a value, as sparse and dense features may have it. Steps after the last
 * value of a row do not count, as in TensorFlow. */
#include <headrace/column_config.h>
#include <headrace/column_graph.h>

#include <string.h>

static hr_status sequence_describe(const void *spec, const hr_feature_column *const *source, hr_column_builder *out,
                                   hr_error *err)
{
    (void)spec;
    const char *what = "sequence_categorical_column";
    HR_TRY(hr_column_check_categorical(what, source[0], err));
    HR_TRY(hr_column_check_no_sequence(what, source[0], err));
    const hr_column_info *ids = hr_feature_column_info(source[0]);
    if (hr_feature_column_source(source[0], 0) || !hr_feature_column_read(source[0], 0) ||
        hr_feature_column_read(source[0], 1))
        return hr_fail(err, HR_INVALID_ARGUMENT, "column.source",
                       "%s: expected a column that reads one feature by itself, got the %s '%s'", what, ids->kind,
                       ids->name);
    HR_TRY(hr_column_name(out, err, "%s", ids->name));
    hr_column_info *info = hr_column_describe(out);
    info->categorical = info->sequence = true;
    info->num_buckets = ids->num_buckets;
    return HR_OK;
}

/* ---- steps ---- */

/* Where steps end up: of each row, and of each step. */
typedef struct steps {
    int32_t *of_rows, *of_steps;
    int64_t count;
} steps;

/* Places that a step takes in a row: more than one where rows have two dimensions. */
static int64_t places_a_step(const hr_column_values *in)
{
    return in->dense_steps > 0 && in->dense_width > 0 ? in->dense_width / in->dense_steps : 1;
}

/* The steps of a row of a plain list; -1: its values do not come in the order of their places. */
static int64_t steps_by_places(const hr_column_values *in, int64_t row)
{
    const int64_t places = hr_column_reach(in, row), each = places_a_step(in);
    return places < 0 ? -1 : places / each + (places % each != 0);
}

/* The row's values all become one step, for whoever continues after the error. */
static int64_t refuse_row(hr_column_work *w, int64_t row, int64_t steps)
{
    hr_error err;
    if (steps < 0)
        hr_fail(&err, HR_INVALID_ARGUMENT, "column.sequence",
                "sequence_categorical_column: expected values in the order of their steps, got others");
    else
        hr_fail(&err, HR_INVALID_ARGUMENT, "column.sequence",
                "sequence_categorical_column: expected at most %d steps in a batch, got %lld in one row", INT32_MAX,
                (long long)steps);
    hr_column_fail_row(w, row, &err);
    return 1;
}

/* The steps of a row of a feature list, up to its last value. */
static int64_t sequence_ids_steps_given(const hr_column_values *in, int64_t row)
{
    int32_t end = in->steps[row + 1];
    while (end > in->steps[row] && in->step_splits[end] == in->step_splits[end - 1]) end--;
    return end - in->steps[row];
}

static hr_status open_steps(hr_column_work *w, const hr_column_values *in, steps *s, hr_error *err)
{
    s->of_rows = hr_column_scratch(w, ((size_t)in->rows + 1) * sizeof *s->of_rows);
    if (!s->of_rows) return hr_no_memory(err, "sequence_categorical_column");
    s->of_rows[0] = 0;
    for (int64_t r = 0; r < in->rows; r++) {
        int64_t own = in->steps ? sequence_ids_steps_given(in, r) : steps_by_places(in, r);
        if (own < 0 || own > INT32_MAX - in->rows - s->of_rows[r]) own = refuse_row(w, r, own);
        s->of_rows[r + 1] = s->of_rows[r] + (int32_t)own;
    }
    s->of_steps = hr_column_scratch(w, ((size_t)s->of_rows[in->rows] + 1) * sizeof *s->of_steps);
    if (!s->of_steps) return hr_no_memory(err, "sequence_categorical_column");
    s->of_steps[0] = 0;
    return HR_OK;
}

/* Every step ends where its last value does; one without values, where the one before ends. */
static void cut_row(const hr_column_values *in, int64_t row, steps *s)
{
    const int64_t each = places_a_step(in), first = s->of_rows[row], last = s->of_rows[row + 1] - 1;
    for (int32_t i = in->splits[row]; i < in->splits[row + 1]; i++) {
        int64_t step = first + hr_column_place(in, row, i) / each;
        if (step < first || step > last) step = last; /* of a refused row */
        while (s->count <= step) s->of_steps[++s->count] = i;
        s->of_steps[s->count] = i + 1;
    }
}

static hr_status sequence_transform(const void *spec, hr_column_work *w, const hr_column_values *in,
                                    hr_column_values *out, hr_error *err)
{
    (void)spec;
    steps s = {0};
    HR_TRY(open_steps(w, in, &s, err));
    for (int64_t r = 0; r < in->rows; r++) {
        if (!in->steps) cut_row(in, r, &s);
        for (int32_t i = in->steps ? in->steps[r] : 0; s.count < s.of_rows[r + 1]; i++)
            s.of_steps[++s.count] = in->step_splits[i + 1];
    }
    *out = *in;
    out->steps = s.of_rows;
    out->step_splits = s.of_steps;
    out->dense_steps = in->dense_steps > 0 || in->steps ? in->dense_steps : in->dense_width;
    return HR_OK;
}

/* Each place of a list is a step. */
static hr_status sequence_to_graph(const void *spec, const hr_column_graph *g, const hr_column_nodes *in,
                                   hr_column_nodes *out, hr_error *err)
{
    (void)spec;
    (void)g;
    (void)err;
    *out = *in;
    return HR_OK;
}

static const hr_column_config sequence_categorical_config; /* below */

const hr_column_kind hr_column_kind_sequence_categorical = {
    .head = HR_COLUMN_HEAD,
    .name = "sequence_categorical_column",
    .describe = sequence_describe,
    .transform = sequence_transform,
    .config = &sequence_categorical_config,
    .to_graph = sequence_to_graph,
};

hr_feature_column *hr_sequence_categorical_column(hr_feature_column *categorical)
{
    return hr_feature_column_new(&hr_column_kind_sequence_categorical, "", &categorical, 1);
}

/* ---- {sequence_categorical: words}, of a column ---- */

static hr_status read_sequence(hr_config_reader *r, hr_feature_column **out, hr_error *err)
{
    HR_TRY(hr_config_column(r, hr_config_get(r, "sequence_categorical"), out, err));
    *out = hr_sequence_categorical_column(*out);
    return HR_OK;
}

static void write_sequence(hr_config_writer *w, const hr_feature_column *column)
{
    hr_config_write_column(w, "sequence_categorical", hr_feature_column_source(column, 0));
}

static const hr_column_config sequence_categorical_config = {
    .head = HR_COLUMN_CONFIG_HEAD,
    .word = "sequence_categorical",
    .keys = (const char *const[]){"sequence_categorical", NULL},
    .read = read_sequence,
    .write = write_sequence,
};
