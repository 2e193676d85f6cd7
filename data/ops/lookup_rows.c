/* lookup_rows: rows joined with those of a table that have the same key.
 *
 * The table is a dataset, so that any source may be one; it is read when the join is made, and kept in memory by
 * component, with a hash table of its keys. From then on a row is a function of itself: work looks rows up on any
 * thread, and nothing of it is in a saved state. */
#include <headrace/data.h>
#include <headrace/op_functions.h>
#include <inttypes.h>
#include <stdio.h>

/* The values of one component of the table. */
typedef struct joined {
    int field;   /* of the table's schema */
    size_t size; /* of a value */
    char *values;
    int64_t count, capacity;
    int64_t *first; /* of each row, and the end; the row after the last one is the default */
} joined;

/* Bytes of strings: they never move, and 64 bytes can be read after each. */
typedef struct text_block {
    struct text_block *next;
    char bytes[];
} text_block;

typedef struct lookup_table {
    joined *component;
    int components;
    hr_dtype key_dtype;
    hr_view *key; /* of each row: its bytes */
    int64_t rows, capacity, bytes;
    int32_t *place; /* hash table: 1 + a row; 0: free */
    int64_t places; /* a power of two */
    text_block *text;
    char *text_at;
    size_t text_left;
    uint64_t sum; /* of all that is in it */
} lookup_table;

typedef struct lookup_spec {
    hr_user user;    /* first; the table */
    const char *key; /* borrowed until spec_copy, as the next three */
    const char *table_key, *prefix, *found;
    hr_missing_key missing;
    const hr_schema *joined; /* of the table: read in check only */
} lookup_spec;

/* ---- the table ---- */

static void lookup_table_free(void *data)
{
    lookup_table *t = data;
    for (text_block *b = t->text, *next; b; b = next) {
        next = b->next;
        hr_free(b);
    }
    for (int i = 0; t->component && i < t->components; i++) {
        hr_free(t->component[i].values);
        hr_free(t->component[i].first);
    }
    hr_free(t->component);
    hr_free(t->key);
    hr_free(t->place);
    hr_free(t);
}

/* A copy of these bytes. NULL: no memory. */
static char *keep_text(lookup_table *t, const void *bytes, size_t size)
{
    enum { BLOCK = 1 << 16, READABLE = 64 };
    if (size > t->text_left) {
        const size_t capacity = size > BLOCK ? size : BLOCK;
        text_block *block = hr_malloc(sizeof *block + capacity + READABLE);
        if (!block) return NULL;
        memset(block->bytes + capacity, 0, READABLE);
        block->next = t->text;
        t->text = block;
        t->text_at = block->bytes;
        t->text_left = capacity;
        t->bytes += (int64_t)capacity;
    }
    char *to = t->text_at;
    if (size > 0) memcpy(to, bytes, size);
    t->text_at += size;
    t->text_left -= size;
    return to;
}

static uint64_t hash_of(hr_view key) { return hr_fingerprint64(key.data, (size_t)key.size); }

/* The place of a key, or the free one where it would be. */
static int64_t lookup_find(const lookup_table *t, hr_view key)
{
    int64_t at = (int64_t)(hash_of(key) & (uint64_t)(t->places - 1));
    for (; t->place[at]; at = (at + 1) & (t->places - 1)) {
        const hr_view *there = &t->key[t->place[at] - 1];
        if (there->size == key.size && memcmp(there->data, key.data, (size_t)key.size) == 0) break;
    }
    return at;
}

/* At least half of the places are free. */
static bool more_places(lookup_table *t)
{
    if (2 * (t->rows + 1) <= t->places) return true;
    const int64_t places = t->places ? 2 * t->places : 64;
    int32_t *grown = hr_calloc((size_t)places, sizeof *grown);
    if (!grown) return false;
    hr_free(t->place);
    t->place = grown;
    t->places = places;
    for (int64_t r = 0; r < t->rows; r++) t->place[lookup_find(t, t->key[r])] = (int32_t)r + 1;
    return true;
}

/* Space for one more row: its key, and where its values begin. */
static bool more_rows(lookup_table *t)
{
    if (t->rows < t->capacity) return true;
    const int64_t capacity = 2 * t->capacity + 64;
    hr_view *key = hr_realloc(t->key, (size_t)capacity * sizeof *key);
    if (!key) return false;
    t->key = key;
    for (int i = 0; i < t->components; i++) {
        joined *c = &t->component[i];
        int64_t *first = hr_realloc(c->first, ((size_t)capacity + 2) * sizeof *first);
        if (!first) return false;
        c->first = first;
    }
    t->capacity = capacity;
    return true;
}

static bool more_values(lookup_table *t, joined *c, int64_t count)
{
    if (c->count + count <= c->capacity) return true;
    const int64_t capacity = 2 * (c->count + count) + 64;
    char *grown = hr_realloc(c->values, (size_t)capacity * c->size);
    if (!grown) return false;
    t->bytes += (capacity - c->capacity) * (int64_t)c->size;
    c->values = grown;
    c->capacity = capacity;
    return true;
}

/* The values of one component of row t->rows. */
static hr_status add_values(lookup_table *t, joined *c, const hr_tensor *values, hr_error *err)
{
    if (!more_values(t, c, values->count)) return hr_no_memory(err, "lookup_rows: a table");
    hr_view *to = (hr_view *)(void *)c->values + c->count;
    c->first[t->rows] = c->count;
    c->first[t->rows + 1] = c->count += values->count;
    hr_identify_i64(&t->sum, values->count);
    if (values->dtype != HR_STRING) {
        const size_t bytes = (size_t)values->count * c->size;
        if (bytes > 0) memcpy(c->values + (size_t)(c->count - values->count) * c->size, values->data, bytes);
        hr_identify(&t->sum, values->data, bytes);
        return HR_OK;
    }
    for (int64_t i = 0; i < values->count; i++) {
        const hr_view *from = (const hr_view *)values->data + i;
        to[i] = (hr_view){keep_text(t, from->data, (size_t)from->size), from->size};
        if (!to[i].data) return hr_no_memory(err, "lookup_rows: a table");
        hr_identify_i64(&t->sum, from->size);
        hr_identify(&t->sum, from->data, (size_t)from->size);
    }
    return HR_OK;
}

/* The bytes of a key: int32 and int64 have the same ones. */
static hr_view key_bytes(hr_dtype dtype, const void *values, int64_t i, int64_t *number)
{
    if (dtype == HR_STRING) return ((const hr_view *)values)[i];
    *number = dtype == HR_INT64 ? ((const int64_t *)values)[i] : ((const int32_t *)values)[i];
    return (hr_view){(const char *)number, sizeof *number};
}

static const char *key_text(hr_dtype dtype, hr_view key, char text[80])
{
    int64_t number;
    if (dtype == HR_STRING)
        snprintf(text, 80, "'%.*s'", (int)(key.size < 60 ? key.size : 60), key.size > 0 ? key.data : "");
    else
        snprintf(text, 80, "%" PRId64, *(int64_t *)memcpy(&number, key.data, sizeof number));
    return text;
}

static hr_status add_row(lookup_table *t, const hr_element *e, int key_field, hr_error *err)
{
    int64_t number;
    char text[80];
    const hr_tensor *key = hr_get_at(e, key_field);
    if (t->rows >= INT32_MAX - 1 || !key || !more_rows(t) || !more_places(t))
        return hr_no_memory(err, "lookup_rows: a table");
    const hr_view bytes = key_bytes(t->key_dtype, key->data, 0, &number);
    const int64_t place = lookup_find(t, bytes);
    if (t->place[place])
        return hr_fail(err, HR_INVALID_ARGUMENT, "lookup_rows.duplicate",
                       "lookup_rows: expected each key once in the table, got %s twice",
                       key_text(t->key_dtype, bytes, text));
    char *kept = keep_text(t, bytes.data, (size_t)bytes.size);
    if (!kept) return hr_no_memory(err, "lookup_rows: a table");
    t->key[t->rows] = (hr_view){kept, bytes.size};
    hr_identify(&t->sum, kept, (size_t)bytes.size);
    for (int i = 0; i < t->components; i++) {
        const hr_tensor *values = hr_get_at(e, t->component[i].field);
        if (!values) return hr_no_memory(err, "lookup_rows: a table");
        HR_TRY(add_values(t, &t->component[i], values, err));
    }
    t->place[place] = (int32_t)++t->rows;
    return HR_OK;
}

/* The row after the last one: what a row without a key in the table gets. */
static hr_status add_defaults(lookup_table *t, const hr_schema *schema, const hr_tensor *defaults, hr_error *err)
{
    if (!more_rows(t)) return hr_no_memory(err, "lookup_rows: a table");
    for (int i = 0; i < t->components; i++) {
        const hr_field *f = &schema->field[t->component[i].field];
        const int64_t width = hr_field_fixed(f) ? hr_shape_count(f->shape) : 0;
        hr_tensor values = {.dtype = f->dtype, .count = width, .shape = f->shape};
        void *zeros = NULL;
        if (defaults && (defaults[i].dtype != f->dtype || (hr_field_fixed(f) && defaults[i].count != width)))
            return hr_fail(
                err, HR_INVALID_ARGUMENT, "lookup_rows.defaults",
                "lookup_rows: component '%.60s': expected a default of %" PRId64 " values of %s, got %" PRId64 " of %s",
                f->name, width, hr_dtype_name(f->dtype), defaults[i].count, hr_dtype_name(defaults[i].dtype));
        if (!defaults && !(zeros = hr_calloc((size_t)width + 1, hr_dtype_size(f->dtype))))
            return hr_no_memory(err, "lookup_rows: defaults");
        values.data = zeros;
        const hr_status st = add_values(t, &t->component[i], defaults ? &defaults[i] : &values, err);
        hr_free(zeros);
        HR_TRY(st);
    }
    return HR_OK;
}

static int lookup_field(const hr_schema *schema, const char *name)
{
    for (int i = 0; i < schema->fields; i++)
        if (name && strcmp(schema->field[i].name, name) == 0) return i;
    return -1;
}

static bool can_be_key(const hr_field *f)
{
    return f->layout == HR_DENSE && f->shape.rank == 0 &&
           (f->dtype == HR_STRING || f->dtype == HR_INT64 || f->dtype == HR_INT32);
}

static bool can_be_joined(const hr_field *f)
{
    bool known = f->shape.rank >= 0 && (f->layout == HR_DENSE || (f->layout == HR_RAGGED && f->shape.rank == 1));
    for (int d = 1; known && d < f->shape.rank; d++) known = f->shape.dims[d] >= 0;
    return known;
}

/* An empty table for rows of this schema. */
static hr_status lookup_table_new(const hr_schema *schema, int key, lookup_table **out, hr_error *err)
{
    lookup_table *t = *out = hr_calloc(1, sizeof *t);
    if (!t || !(t->component = hr_calloc((size_t)schema->fields, sizeof *t->component)))
        return hr_no_memory(err, "lookup_rows: a table");
    t->key_dtype = schema->field[key].dtype;
    for (int i = 0; i < schema->fields; i++) {
        if (i == key) continue;
        if (!can_be_joined(&schema->field[i]))
            return hr_fail(err, HR_INVALID_ARGUMENT, "lookup_rows.table",
                           "lookup_rows: component '%.60s' of the table: expected a dense one whose shape is known but "
                           "for its first dimension",
                           schema->field[i].name);
        t->component[t->components++] = (joined){.field = i, .size = hr_dtype_size(schema->field[i].dtype)};
    }
    return more_places(t) ? HR_OK : hr_no_memory(err, "lookup_rows: a table");
}

static hr_status read_rows(lookup_table *t, hr_dataset *table, int key, int64_t max_bytes, hr_error *err)
{
    const hr_element *e;
    hr_status st;
    hr_iterator *it = hr_iterate(hr_dataset_ref(table));
    while ((st = hr_next(it, &e)) == HR_OK && (st = add_row(t, e, key, err)) == HR_OK)
        if (max_bytes > 0 && t->bytes > max_bytes) {
            st = hr_fail(err, HR_RESOURCE_EXHAUSTED, "lookup_rows.limit",
                         "lookup_rows: expected a table of at most %" PRId64 " bytes, got more after %" PRId64 " rows",
                         max_bytes, t->rows);
            break;
        }
    if (hr_iterator_error(it) && err) *err = *hr_iterator_error(it);
    hr_iterator_free(it);
    return st == HR_END ? HR_OK : st;
}

static hr_status lookup_read(hr_dataset *table, const char *key, const hr_lookup_rows_opts *o, lookup_table **out,
                             hr_error *err)
{
    if (table && hr_dataset_error(table)) {
        *err = *hr_dataset_error(table);
        return err->code;
    }
    const hr_schema *schema = table ? hr_dataset_schema(table) : NULL;
    const int field = schema ? lookup_field(schema, o->table_key ? o->table_key : key) : -1;
    if (field < 0 || schema->levels > 0 || !can_be_key(&schema->field[field]))
        return hr_fail(err, HR_INVALID_ARGUMENT, "lookup_rows.table",
                       "lookup_rows: expected a table of single elements with a key '%.60s', a string, int32 or int64, "
                       "got none",
                       o->table_key ? o->table_key
                       : key        ? key
                                    : "");
    if (hr_cardinality(table) == HR_INFINITE_CARDINALITY)
        return hr_fail(err, HR_INVALID_ARGUMENT, "lookup_rows.table",
                       "lookup_rows: expected a table that ends, got one of infinitely many elements; take some of it");
    HR_TRY(lookup_table_new(schema, field, out, err));
    HR_TRY(read_rows(*out, table, field, (int64_t)o->max_bytes, err));
    return add_defaults(*out, schema, o->default_values, err);
}

/* ---- the arguments ---- */

static hr_status lookup_copy(void *spec, hr_error *err)
{
    lookup_spec *sp = spec;
    const char **name[] = {&sp->key, &sp->table_key, &sp->prefix, &sp->found};
    bool memory = hr_user_copy(spec, err) == HR_OK;
    for (int i = 0; i < 4; i++) {
        const char *given = *name[i];
        *name[i] = hr_strdup(given);
        memory &= *name[i] || !given;
    }
    return memory ? HR_OK : hr_no_memory(err, "lookup_rows");
}

static void lookup_free(void *spec)
{
    const lookup_spec *sp = spec;
    const char *const name[] = {sp->key, sp->table_key, sp->prefix, sp->found};
    for (int i = 0; i < 4; i++) hr_free((char *)(uintptr_t)name[i]);
    hr_user_free(spec);
}

static hr_status lookup_check(const void *spec, const hr_schema *const *in, hr_schema_builder *out, hr_error *err)
{
    const lookup_spec *sp = spec;
    const lookup_table *t = sp->user.data;
    const int key = lookup_field(in[0], sp->key);
    if (key < 0 || !can_be_key(&in[0]->field[key]) ||
        (in[0]->field[key].dtype == HR_STRING) != (t->key_dtype == HR_STRING))
        return hr_fail(err, HR_INVALID_ARGUMENT, "lookup_rows.key",
                       "lookup_rows: expected a component '%.60s' of the type of the table's key, a scalar, got none",
                       sp->key ? sp->key : "");
    if (sp->missing == HR_MISSING_DROP && in[0]->levels > 0)
        return hr_fail(err, HR_INVALID_ARGUMENT, "lookup_rows.batched",
                       "lookup_rows: expected single elements to drop some of, got batches; look up before batch");
    for (int i = 0; i < t->components; i++) {
        char name[512];
        hr_field field = sp->joined->field[t->component[i].field];
        snprintf(name, sizeof name, "%.200s%.300s", sp->prefix ? sp->prefix : "", field.name);
        field.name = name;
        field.pad = NULL;
        field.label = false;
        HR_TRY(hr_schema_add(out, field, err));
    }
    return sp->found ? hr_schema_add(out, (hr_field){.name = sp->found, .dtype = HR_BOOL}, err) : HR_OK;
}

/* ---- work ---- */

static void fail_missing(const lookup_spec *sp, hr_work *w, hr_columns *rows, int64_t row, hr_dtype dtype, hr_view key)
{
    hr_error failed = {0};
    char text[80];
    hr_fail(&failed, HR_NOT_FOUND, "lookup_rows.missing",
            "lookup_rows: expected the key %s of '%.60s' in the table, found none; .missing may say what to do",
            key_text(dtype, key, text), sp->key);
    hr_fail_at(w, rows, row, &failed);
}

/* The table's row of each row; that after the last one: there is none. `keep` (NULL: not asked): the rows to keep. */
static void find_rows(const lookup_spec *sp, hr_work *w, hr_columns *rows, const hr_field *f, const hr_column *key,
                      int64_t *found, uint64_t *keep)
{
    const lookup_table *t = sp->user.data;
    for (int64_t r = 0; r < rows->rows; r++) {
        int64_t number;
        const hr_view bytes = key_bytes(f->dtype, key->values, r, &number);
        const int32_t row = t->place[lookup_find(t, bytes)];
        found[r] = row ? row - 1 : t->rows;
        if (row) continue;
        if (keep) keep[r / 64] &= ~(UINT64_C(1) << r % 64);
        if (sp->missing == HR_MISSING_ERROR) fail_missing(sp, w, rows, r, f->dtype, bytes);
    }
}

static hr_status put_joined(const joined *c, hr_work *w, hr_columns *rows, int to, const int64_t *found, hr_error *err)
{
    hr_column *column = &rows->column[to];
    const bool fixed = hr_field_fixed(&rows->schema->field[to]);
    int64_t count = 0;
    for (int64_t r = 0; !fixed && r < rows->rows; r++) {
        count += c->first[found[r] + 1] - c->first[found[r]];
        if (count > INT32_MAX - 1) return hr_no_memory(err, "lookup_rows: rows");
        column->splits[0][r + 1] = (int32_t)count;
    }
    if (!fixed) HR_TRY(hr_grow_column(w, rows, to, count + 1, err));
    if (!fixed) column->count = count;
    char *at = column->values;
    for (int64_t r = 0; r < rows->rows; r++) {
        const size_t size = (size_t)(c->first[found[r] + 1] - c->first[found[r]]) * c->size;
        if (size > 0) memcpy(at, c->values + (size_t)c->first[found[r]] * c->size, size);
        at += size;
    }
    return HR_OK;
}

static hr_status lookup_work(const void *spec, const void *unit, hr_work *w, hr_columns *rows, hr_error *err)
{
    (void)unit;
    const lookup_spec *sp = spec;
    const lookup_table *t = sp->user.data;
    hr_columns before;
    HR_TRY(hr_new_columns(w, rows, &before, err));
    const int key = lookup_field(before.schema, sp->key), fields = before.schema->fields;
    const int64_t all = rows->rows;
    const size_t words = ((size_t)all + 63) / 64;
    int64_t *found = hr_scratch(w, ((size_t)all + words + 1) * sizeof *found);
    if (!found) return hr_no_memory(err, "lookup_rows");
    uint64_t *keep = sp->missing == HR_MISSING_DROP ? memset(found + all, 0xff, words * sizeof *keep) : NULL;
    for (int i = 0; i < fields; i++) rows->column[i] = before.column[i];
    find_rows(sp, w, rows, &before.schema->field[key], &before.column[key], found, keep);
    for (int i = 0; i < t->components; i++) HR_TRY(put_joined(&t->component[i], w, rows, fields + i, found, err));
    bool *there = sp->found ? rows->column[fields + t->components].values : NULL;
    for (int64_t r = 0; there && r < rows->rows; r++) there[r] = found[r] < t->rows;
    return keep ? hr_keep_rows(w, rows, keep, err) : HR_OK;
}

static void lookup_identity(const void *spec, uint64_t *sum)
{
    const lookup_spec *sp = spec;
    hr_identify_text(sum, sp->key);
    hr_identify_text(sum, sp->found);
    hr_identify_i64(sum, sp->missing);
    hr_identify_i64(sum, (int64_t)((const lookup_table *)sp->user.data)->sum);
}

static void lookup_describe(const void *spec, hr_description *to)
{
    const lookup_spec *sp = spec;
    hr_describe_text(to, NULL, sp->key);
    hr_describe_number(to, "table", ((const lookup_table *)sp->user.data)->rows);
    hr_describe_flag(to, "drop", sp->missing == HR_MISSING_DROP);
}

#define LOOKUP_ROWS(traits_)                                                                                           \
    {                                                                                                                  \
        .head = HR_OP_HEAD, .name = "lookup_rows", .spec_size = sizeof(lookup_spec), .traits = (traits_),              \
        .spec_copy = lookup_copy, .spec_free = lookup_free, .check = lookup_check, .work = lookup_work,                \
        .identity = lookup_identity, .describe = lookup_describe,                                                      \
    }

const hr_op hr_op_lookup_rows = LOOKUP_ROWS(HR_ROW_BY_ROW);
static const hr_op lookup_drops = LOOKUP_ROWS(0); /* rows go before they are batched */

hr_dataset *hr_lookup_rows_with(hr_dataset *in, const char *key, hr_dataset *table, const hr_lookup_rows_opts *opts)
{
    const hr_lookup_rows_opts o = HR_OPTIONS(hr_lookup_rows_opts, opts);
    lookup_table *t = NULL;
    hr_error err = {0};
    const hr_status st = lookup_read(table, key, &o, &t, &err);
    hr_dataset *ds;
    if (st == HR_OK) {
        lookup_spec spec = {.user = {.data = t, .free = lookup_table_free},
                            .key = key,
                            .table_key = o.table_key,
                            .prefix = o.prefix,
                            .found = o.found,
                            .missing = o.missing,
                            .joined = hr_dataset_schema(table)};
        const hr_op *op = o.missing == HR_MISSING_DROP ? &lookup_drops : &hr_op_lookup_rows;
        ds = hr_user_dataset(op, &spec, &spec.user, &in, 1);
    } else {
        if (t) lookup_table_free(t);
        hr_dataset_unref(in);
        ds = hr_dataset_failed(&err);
    }
    hr_dataset_unref(table);
    return ds;
}
