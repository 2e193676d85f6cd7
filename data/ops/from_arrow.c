/* from_arrow: rows of Arrow arrays in memory. Without a spec the columns come as they are: numbers and strings one a row,
 * lists ragged. With a parsing spec they come as parse_example would give them, missing values filled in, so that they go
 * through the same feature columns.
 *
 * Plan counts rows, work copies them: the bytes of strings too, since arrays do not promise readable bytes behind
 * their end. The arrays are released with the dataset. */
#include "base/constructor.h"
#include "data/arrow_column.h"
#include "data/parse_spec.h"
#include <inttypes.h>

/* One component that comes out. */
typedef struct component {
    hr__arrow_column from;
    hr_field field; /* names: those of the plan or of the schema */
    int64_t count;  /* values a row; -1: any number */
    const void *default_values;
} component;

typedef struct arrow_spec {
    struct ArrowArray array;
    struct ArrowSchema schema;
    const hr_parse_spec *features; /* the caller's; NULL once the components are made */
    const char *label;             /* the same */
    hr__parse_plan *plan;          /* NULL: no spec */
    component *component;
    int components;
    bool lists;
    bool *taken; /* of the constructor: the dataset has the arrays now */
} arrow_spec;

typedef struct arrow_state {
    int64_t given; /* saved */
} arrow_state;

typedef struct arrow_unit {
    int64_t first;
} arrow_unit;

static void arrow_free(void *spec)
{
    arrow_spec *s = spec;
    if (s->array.release) s->array.release(&s->array);
    if (s->schema.release) s->schema.release(&s->schema);
    hr__parse_plan_free(s->plan);
    hr_free(s->component);
}

/* ---- making the components ---- */

static hr_status check_table(const arrow_spec *s, hr_error *err)
{
    if (!s->array.release || !s->schema.release)
        return hr_fail(err, HR_INVALID_ARGUMENT, "from_arrow.array",
                       "from_arrow: expected an array and its schema, got NULL, or one that is released already");
    if (strcmp(s->schema.format, "+s") != 0)
        return hr_fail(err, HR_INVALID_ARGUMENT, "from_arrow.format",
                       "from_arrow: expected a struct array (+s), whose children are the components, got the format "
                       "'%.20s'",
                       s->schema.format);
    if (s->array.n_children != s->schema.n_children || s->array.n_children < 1 || s->array.n_children > INT32_MAX)
        return hr_fail(err, HR_INVALID_ARGUMENT, "from_arrow.array",
                       "from_arrow: expected as many columns in the array as in its schema, at least one, got %" PRId64
                       " and %" PRId64,
                       s->array.n_children, s->schema.n_children);
    return HR_OK;
}

static void add_own(arrow_spec *s, const hr__arrow_column *from)
{
    component *c = &s->component[s->components++];
    *c = (component){.from = *from, .field = {.name = from->name, .dtype = from->dtype}, .count = from->width};
    if (from->width < 0) c->field.layout = HR_RAGGED;
    if (from->rows != from->values) c->field.shape = HR_SHAPE(from->width);
    c->field.label = s->label && strcmp(s->label, from->name) == 0;
}

static hr_status open_columns(arrow_spec *s, hr_error *err)
{
    s->component = hr_calloc((size_t)s->array.n_children, sizeof *s->component);
    if (!s->component) return hr_no_memory(err, "from_arrow");
    for (int64_t i = 0; i < s->array.n_children; i++) {
        hr__arrow_column from;
        HR_TRY(hr__arrow_column_open(&s->schema, &s->array, i, &from, err));
        add_own(s, &from);
    }
    return HR_OK;
}

static int64_t find_child(const arrow_spec *s, const char *key)
{
    int64_t i = 0;
    while (i < s->schema.n_children && (!s->schema.children[i]->name || strcmp(s->schema.children[i]->name, key) != 0))
        i++;
    return i;
}

static bool has_partitions(const hr_feature *f) { return f->kind == HR_RAGGED_FEATURE && f->partition_count > 0; }

static hr_status add_feature(arrow_spec *s, int i, hr_error *err)
{
    const hr_feature *f = &s->features->feature[i];
    const int64_t child = find_child(s, f->key);
    component *c = &s->component[i];
    if (child == s->schema.n_children)
        return hr_fail(err, HR_NOT_FOUND, "from_arrow.column", "from_arrow: expected a column '%.60s', got none",
                       f->key);
    if (f->kind == HR_SPARSE_FEATURE || f->kind == HR_FIXED_LEN_SEQUENCE || has_partitions(f))
        return hr_fail(err, HR_INVALID_ARGUMENT, "from_arrow.feature",
                       "from_arrow: feature '%.60s': expected a fixed length or a list of any length, got another kind "
                       "of feature",
                       f->key);
    HR_TRY(hr__arrow_column_open(&s->schema, &s->array, child, &c->from, err));
    if (!hr__arrow_converts(c->from.dtype, f->dtype))
        return hr_fail(err, HR_INVALID_ARGUMENT, "from_arrow.dtype", "from_arrow: feature '%.60s': expected %s, got %s",
                       f->key, hr_dtype_name(f->dtype), hr_dtype_name(c->from.dtype));
    c->field = s->plan->field[i];
    c->count = f->kind == HR_FIXED_LEN ? hr_shape_count(f->shape) : -1;
    c->default_values = s->plan->output[i].default_values;
    return HR_OK;
}

static hr_status open_features(arrow_spec *s, hr_error *err)
{
    HR_TRY(hr__parse_plan_new(s->features, HR__PARSE_EXAMPLE, s->label, &s->plan, err));
    s->component = hr_calloc((size_t)s->features->features, sizeof *s->component);
    if (!s->component) return hr_no_memory(err, "from_arrow");
    for (; s->components < s->features->features; s->components++) HR_TRY(add_feature(s, s->components, err));
    return HR_OK;
}

static hr_status arrow_copy(void *spec, hr_error *err)
{
    arrow_spec *s = spec;
    *s->taken = true;
    s->taken = NULL;
    HR_TRY(check_table(s, err));
    HR_TRY(s->features ? open_features(s, err) : open_columns(s, err));
    for (int i = 0; i < s->components; i++) s->lists |= s->component[i].count < 0;
    s->features = NULL;
    s->label = NULL;
    return HR_OK;
}

static hr_status arrow_check(const void *spec, const hr_schema *const *in, hr_schema_builder *out, hr_error *err)
{
    (void)in;
    const arrow_spec *s = spec;
    for (int i = 0; i < s->components; i++) HR_TRY(hr_schema_add(out, s->component[i].field, err));
    return HR_OK;
}

static hr_status arrow_plan(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    const arrow_spec *s = spec;
    arrow_state *st = state;
    const int64_t left = s->array.length - st->given;
    if (left <= 0) return HR_END;
    const int64_t count = left < hr_room(p) ? left : hr_room(p);
    hr_columns *rows = hr_unit_rows(p, count);
    if (!rows) return hr_no_memory(err, "from_arrow");
    rows->origin = NULL;
    rows->rows = count;
    ((arrow_unit *)hr_unit(p))->first = st->given;
    st->given += count;
    return HR_OK;
}

/* ---- work ---- */

typedef struct target {
    const component *c;
    hr_work *work;
    hr_columns *rows;
    int field;
    int64_t first; /* row of the arrays that is the unit's first */
    char *text;    /* where the next string's bytes go */
} target;

static void fail_row(const target *t, int64_t row, const char *kind, const char *what)
{
    hr_error err;
    hr_fail(&err, HR_INVALID_ARGUMENT, kind, "from_arrow: row %" PRId64 " of column '%.60s': %s", t->first + row,
            t->c->from.name, what);
    err.record = t->first + row;
    hr_fail_at(t->work, t->rows, row, &err);
}

/* Bytes of the unit's strings; unsound offsets count for nothing, they are refused later. */
static size_t measure_strings(const target *t)
{
    size_t size = 0;
    for (int64_t row = 0; row < t->rows->rows; row++) {
        int64_t first, count;
        hr_view text;
        if (!hr__arrow_row(&t->c->from, t->first + row, &first, &count)) continue;
        for (int64_t i = first; i < first + count; i++)
            if (hr__arrow_string(&t->c->from, i, &text)) size += (size_t)text.size;
    }
    return size;
}

static bool put_string(target *t, int64_t value, hr_view *to)
{
    hr_view from;
    const bool sound = hr__arrow_string(&t->c->from, value, &from);
    const size_t size = sound ? (size_t)from.size : 0;
    if (size) memcpy(t->text, from.data, size);
    *to = (hr_view){t->text, (int64_t)size};
    t->text += size;
    return sound;
}

/* Values first .. first + count - 1 of the column, for row `row`. */
static void put_values(target *t, int64_t row, int64_t first, int64_t count, char *to)
{
    const hr_dtype dtype = t->c->field.dtype;
    for (int64_t i = 0; i < count; i++, to += hr_dtype_size(dtype)) {
        bool fits = dtype == HR_STRING ? put_string(t, first + i, (hr_view *)(void *)to)
                                       : hr__arrow_number(&t->c->from, first + i, dtype, to);
        if (!fits && dtype == HR_STRING)
            fail_row(t, row, "from_arrow.offsets", "expected offsets that rise, got others; the array is damaged");
        else if (!fits)
            fail_row(t, row, "from_arrow.range", "expected numbers that fit the type asked for, got a larger one");
        else if (hr__arrow_is_null(&t->c->from, first + i))
            fail_row(t, row, "from_arrow.null", "expected values, got a null in a list");
    }
}

static void clear_row(const target *t, char *to, int64_t count)
{
    memset(to, 0, (size_t)count * hr_dtype_size(t->c->field.dtype));
    for (int64_t i = 0; i < count && t->c->field.dtype == HR_STRING; i++) ((hr_view *)(void *)to)[i].data = t->text;
}

static void fill_row(target *t, int64_t row, char *to)
{
    const int64_t want = t->c->count;
    int64_t first, count;
    const bool sound = hr__arrow_row(&t->c->from, t->first + row, &first, &count);
    if (sound && count == want) {
        put_values(t, row, first, count, to);
        return;
    }
    clear_row(t, to, want);
    if (!sound)
        fail_row(t, row, "from_arrow.offsets", "expected offsets that rise, got others; the array is damaged");
    else if (count >= 0)
        fail_row(t, row, "from_arrow.count", "expected as many values as the shape has, got another number");
    else if (t->c->default_values)
        memcpy(to, t->c->default_values, (size_t)want * hr_dtype_size(t->c->field.dtype));
    else
        fail_row(t, row, "from_arrow.null", "expected a value, got null; give it a default by a spec, or fill it");
}

static void fill_dense(target *t)
{
    hr_column *to = &t->rows->column[t->field];
    const int64_t rows = t->rows->rows;
    const size_t width = (size_t)t->c->count * hr_dtype_size(t->c->field.dtype);
    if (t->c->from.plain && t->c->from.dtype == t->c->field.dtype && t->c->from.width == t->c->count) {
        memcpy(to->values, hr__arrow_plain(&t->c->from, t->first), (size_t)rows * width);
        return;
    }
    for (int64_t row = 0; row < t->rows->rows; row++) fill_row(t, row, (char *)to->values + (size_t)row * width);
}

/* Nulls are empty lists. */
static hr_status fill_list(target *t, hr_error *err)
{
    hr_column *to = &t->rows->column[t->field];
    const size_t size = hr_dtype_size(t->c->field.dtype);
    to->splits[0][0] = 0;
    for (int64_t row = 0; row < t->rows->rows; row++) {
        int64_t first, count;
        if (!hr__arrow_row(&t->c->from, t->first + row, &first, &count)) {
            fail_row(t, row, "from_arrow.offsets", "expected offsets that rise, got others; the array is damaged");
            count = 0;
        }
        if (count < 0) count = 0;
        if (to->count + count > INT32_MAX)
            return hr_fail(err, HR_RESOURCE_EXHAUSTED, "from_arrow.count",
                           "from_arrow: column '%.60s': expected at most %d values in a unit of rows, got more",
                           t->c->from.name, INT32_MAX);
        HR_TRY(hr_grow_column(t->work, t->rows, t->field, to->count + count, err));
        put_values(t, row, first, count, (char *)to->values + (size_t)to->count * size);
        to->count += count;
        to->splits[0][row + 1] = (int32_t)to->count;
    }
    return HR_OK;
}

/* Rows that failed are cut off: values behind the last one that is left do not count. */
static void cut_lists(const arrow_spec *s, hr_columns *rows)
{
    for (int i = 0; i < s->components; i++)
        if (s->component[i].count < 0) rows->column[i].count = rows->column[i].splits[0][rows->rows];
}

static hr_status arrow_work(const void *spec, const void *unit, hr_work *w, hr_columns *rows, hr_error *err)
{
    const arrow_spec *s = spec;
    hr_columns before; /* dense columns are there already, lists are not */
    if (s->lists) HR_TRY(hr_new_columns(w, rows, &before, err));
    for (int i = 0; i < s->components; i++) {
        target t = {.c = &s->component[i], .work = w, .rows = rows, .field = i};
        t.first = ((const arrow_unit *)unit)->first;
        if (t.c->from.dtype == HR_STRING) {
            t.text = hr_row_bytes(w, rows, measure_strings(&t));
            if (!t.text) return hr_no_memory(err, "from_arrow");
        }
        if (t.c->count >= 0)
            fill_dense(&t);
        else
            HR_TRY(fill_list(&t, err));
    }
    cut_lists(s, rows);
    return HR_OK;
}

static void arrow_identity(const void *spec, uint64_t *sum)
{
    const arrow_spec *s = spec;
    hr_identify_i64(sum, s->array.length);
    for (int i = 0; i < s->components; i++) {
        hr_identify_text(sum, s->component[i].from.name);
        hr_identify_i64(sum, s->component[i].from.dtype);
        hr_identify_i64(sum, s->component[i].field.dtype);
    }
}

static int64_t arrow_cardinality(const void *spec, const int64_t *in)
{
    (void)in;
    return ((const arrow_spec *)spec)->array.length;
}

static void arrow_describe(const void *spec, hr_description *to)
{
    const arrow_spec *sp = spec;
    hr_describe_number(to, "components", sp->components);
}

const hr_op hr_op_from_arrow = {
    .head = HR_OP_HEAD,
    .name = "from_arrow",
    .spec_size = sizeof(arrow_spec),
    .state_size = sizeof(arrow_state),
    .unit_size = sizeof(arrow_unit),
    .saved = 1, /* given */
    .spec_copy = arrow_copy,
    .spec_free = arrow_free,
    .check = arrow_check,
    .plan = arrow_plan,
    .work = arrow_work,
    .identity = arrow_identity,
    .cardinality = arrow_cardinality,
    .describe = arrow_describe,
};

hr_dataset *hr_from_arrow_with(struct ArrowArray *array, struct ArrowSchema *schema, const hr_from_arrow_opts *opts)
{
    const hr_from_arrow_opts o = HR__OPTIONS(hr_from_arrow_opts, opts);
    bool taken = false;
    arrow_spec spec = {.features = o.spec, .label = o.label, .taken = &taken};
    if (array) spec.array = *array;
    if (schema) spec.schema = *schema;
    if (array) array->release = NULL; /* moved, as the interface has it */
    if (schema) schema->release = NULL;
    hr_dataset *ds = hr_dataset_new(&hr_op_from_arrow, &spec, NULL, 0);
    if (!taken) arrow_free(&spec);
    return ds;
}
