/* sql: the rows that a query of an SQLite database gives, one component a column, as tf.data's SqlDataset.
 *
 * plan steps through the query: rows are copied out of SQLite as they come. Where it stands is a number of rows; a
 * restored one runs the query again and passes over them. Values are taken as they are: what the column's type cannot
 * hold is an error with its row, and so is a NULL without a default. */
#include <headrace/data.h>
#include <inttypes.h>
#include <string.h>

#ifdef HR_HAVE_SQLITE
#include <sqlite3.h>
#endif

typedef struct sql_column {
    char *name;
    hr_dtype dtype;
    size_t width;
    hr_tensor default_value; /* count 0: none */
} sql_column;

typedef struct sql_spec {
    const char *driver, *source, *query; /* borrowed until spec_copy */
    const hr_sql_opts *opts;             /* the caller's, until then */
    sql_column *column;
    int columns;
} sql_spec;

/* ---- the arguments ---- */

static hr_status copy_value(const hr_tensor *from, const sql_column *c, hr_tensor *to, hr_error *err)
{
    if (!from) return HR_OK;
    if (from->dtype != c->dtype || from->count != 1 || from->layout != HR_DENSE)
        return hr_fail(err, HR_INVALID_ARGUMENT, "sql.default",
                       "sql: column '%.60s': expected a default of one value of %s, got %" PRId64 " of %s", c->name,
                       hr_dtype_name(c->dtype), from->count, hr_dtype_name(from->dtype));
    if (c->dtype == HR_STRING) return hr_tensor_strings(to, HR_SCALAR, from->data, err);
    HR_TRY(hr_tensor_new(to, c->dtype, HR_SCALAR, err));
    memcpy(to->data, from->data, c->width);
    return HR_OK;
}

static bool sql_has_type(hr_dtype d)
{
    return d == HR_STRING || d == HR_INT64 || d == HR_INT32 || d == HR_INT16 || d == HR_INT8 || d == HR_UINT8 ||
           d == HR_UINT16 || d == HR_UINT32 || d == HR_BOOL || d == HR_FLOAT || d == HR_DOUBLE;
}

static hr_status copy_column(const hr_sql_column *from, sql_column *to, hr_error *err)
{
    *to = (sql_column){.dtype = from->dtype, .width = hr_dtype_size(from->dtype)};
    if (!from->name || !sql_has_type(from->dtype))
        return hr_fail(err, HR_INVALID_ARGUMENT, "sql.columns",
                       "sql: expected columns with a name, of integers up to int64, float32, float64, bool or string, "
                       "got '%.60s' of %s",
                       from->name ? from->name : "", hr_dtype_name(from->dtype));
    to->name = hr_strdup(from->name);
    return to->name ? copy_value(from->default_value, to, &to->default_value, err) : hr_no_memory(err, "sql");
}

static hr_status sql_copy(void *spec, hr_error *err)
{
    sql_spec *sp = spec;
    const hr_sql_opts o = HR_OPTIONS(hr_sql_opts, sp->opts);
    const char **text[] = {&sp->driver, &sp->source, &sp->query};
    bool memory = true;
    sp->opts = NULL;
    for (int i = 0; i < 3; i++) {
        *text[i] = hr_strdup(*text[i] ? *text[i] : "");
        memory &= *text[i] != NULL;
    }
    sp->column = hr_calloc((size_t)(o.column_count > 0 ? o.column_count : 0) + 1, sizeof *sp->column);
    if (!memory || !sp->column) return hr_no_memory(err, "sql");
    for (; o.columns && sp->columns < o.column_count; sp->columns++)
        if (copy_column(&o.columns[sp->columns], &sp->column[sp->columns], err) != HR_OK) {
            sp->columns++; /* for the spec_free */
            return err && err->code ? err->code : HR_INVALID_ARGUMENT;
        }
    return HR_OK;
}

static void sql_free(void *spec)
{
    sql_spec *sp = spec;
    hr_free((char *)(uintptr_t)sp->driver);
    hr_free((char *)(uintptr_t)sp->source);
    hr_free((char *)(uintptr_t)sp->query);
    for (int i = 0; sp->column && i < sp->columns; i++) {
        hr_free(sp->column[i].name);
        hr_tensor_clear(&sp->column[i].default_value);
    }
    hr_free(sp->column);
}

static hr_status sql_check(const void *spec, const hr_schema *const *in, hr_schema_builder *out, hr_error *err)
{
    (void)in;
    const sql_spec *sp = spec;
    if (strcmp(sp->driver, "sqlite") != 0)
        return hr_fail(err, HR_INVALID_ARGUMENT, "sql.driver", "sql: expected the driver \"sqlite\", got \"%.60s\"",
                       sp->driver);
    if (sp->columns < 1)
        return hr_fail(err, HR_INVALID_ARGUMENT, "sql.columns", "sql: expected .columns, one for each of the query");
    for (int i = 0; i < sp->columns; i++)
        HR_TRY(hr_schema_add(
            out, (hr_field){.name = sp->column[i].name, .dtype = sp->column[i].dtype, .shape = HR_SCALAR}, err));
#ifdef HR_HAVE_SQLITE
    return HR_OK;
#else
    return hr_fail(err, HR_UNIMPLEMENTED, "sql.build", "sql: the library was built without libsqlite3");
#endif
}

static void sql_identity(const void *spec, uint64_t *sum)
{
    const sql_spec *sp = spec;
    hr_identify_text(sum, sp->query);
    for (int i = 0; sp->column && i < sp->columns; i++) {
        const hr_tensor *t = &sp->column[i].default_value;
        const hr_view *text = t->data;
        hr_identify_i64(sum, t->count);
        if (t->count == 0) continue;
        hr_identify(sum, t->dtype == HR_STRING ? text->data : t->data,
                    t->dtype == HR_STRING ? (size_t)text->size : sp->column[i].width);
    }
}

static void sql_describe(const void *spec, hr_description *to)
{
    const sql_spec *sp = spec;
    hr_describe_text(to, NULL, sp->source);
    hr_describe_text(to, NULL, sp->query);
}

/* The database's file alone, whatever characters are in its name. */
static hr_status sql_find(const char *source, hr_file_list *out, hr_error *err)
{
    const hr_status st = hr_file_list_add(out, source, err);
    if (st != HR_OK) hr_file_list_clear(out);
    return st;
}

static hr_op_files sql_files(const void *spec) { return (hr_op_files){((const sql_spec *)spec)->source, sql_find}; }

/* ---- rows ---- */

typedef struct sql_state {
    int64_t given; /* saved: rows of the query */
    void *db, *query;
    int64_t stepped; /* rows that the query has given since it began */
    hr_plan *plan;   /* of the call that runs, to know when to stop */
} sql_state;

#ifdef HR_HAVE_SQLITE

enum { OPS_BETWEEN_LOOKS = 10000 /* of SQLite's machine, between two looks whether the run was cancelled */ };

static hr_status sql_fail(const sql_spec *sp, sqlite3 *db, hr_error *err)
{
    const int code = sqlite3_errcode(db);
    const hr_status st = code == SQLITE_NOMEM                              ? HR_RESOURCE_EXHAUSTED
                         : code == SQLITE_CANTOPEN                         ? HR_NOT_FOUND
                         : code == SQLITE_CORRUPT || code == SQLITE_NOTADB ? HR_DATA_LOSS
                         : code == SQLITE_BUSY || code == SQLITE_LOCKED    ? HR_UNAVAILABLE
                                                                           : HR_INVALID_ARGUMENT;
    return hr_fail(err, st, "sql.query", "sql: %s: expected rows of \"%.200s\", got: %s", sp->source, sp->query,
                   sqlite3_errmsg(db));
}

static int sql_cancelled(void *state) { return hr_plan_cancelled(((const sql_state *)state)->plan); }

static hr_status sql_open(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    const sql_spec *sp = spec;
    sql_state *st = state;
    sqlite3 *db = NULL;
    sqlite3_stmt *query = NULL;
    const char *rest = NULL;
    if (hr_file_number(p, sp->source) < 0) return hr_no_memory(err, "sql: a file's name");
    const int opened = sqlite3_open_v2(sp->source, &db, SQLITE_OPEN_READONLY, NULL);
    st->db = db;
    if (!db) return hr_no_memory(err, "sql");
    if (opened != SQLITE_OK || sqlite3_prepare_v2(db, sp->query, -1, &query, &rest) != SQLITE_OK)
        return sql_fail(sp, db, err);
    st->query = query;
    sqlite3_busy_timeout(db, 10000);
    sqlite3_progress_handler(db, OPS_BETWEEN_LOOKS, sql_cancelled, st);
    const int columns = query ? sqlite3_column_count(query) : 0;
    if (columns == sp->columns && rest[strspn(rest, " \t\r\n;")] == '\0') return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "sql.columns",
                   "sql: expected one query of %d columns, as .columns has, got one of %d, or several", sp->columns,
                   columns);
}

static void sql_close(void *state)
{
    const sql_state *st = state;
    sqlite3_finalize(st->query);
    sqlite3_close(st->db);
}

/* ---- values ---- */

static hr_status wrong_value(const sql_state *st, int i, const sql_column *c, hr_error *err)
{
    sqlite3_stmt *q = st->query;
    const unsigned char *text = sqlite3_column_text(q, i);
    hr_fail(err, HR_INVALID_ARGUMENT, "sql.value", "sql: row %" PRId64 ", column '%.60s': expected %s, found %s%.60s",
            st->given, c->name, hr_dtype_name(c->dtype), text ? "" : "NULL; give the column a default_value",
            text ? (const char *)text : "");
    if (err) err->record = st->given;
    if (err) err->column = i;
    return HR_INVALID_ARGUMENT;
}

static bool in_range(hr_dtype d, int64_t v)
{
    switch (d) {
    case HR_BOOL:
        return v == 0 || v == 1;
    case HR_INT8:
        return v == (int8_t)v;
    case HR_INT16:
        return v == (int16_t)v;
    case HR_INT32:
        return v == (int32_t)v;
    case HR_UINT8:
        return v == (uint8_t)v;
    case HR_UINT16:
        return v == (uint16_t)v;
    case HR_UINT32:
        return v == (uint32_t)v;
    default:
        return true;
    }
}

static hr_status put_text(sql_state *st, int i, hr_plan *p, hr_view *to, hr_error *err)
{
    const void *from = sqlite3_column_type(st->query, i) == SQLITE_BLOB ? sqlite3_column_blob(st->query, i)
                                                                        : sqlite3_column_text(st->query, i);
    const size_t size = (size_t)sqlite3_column_bytes(st->query, i);
    char *bytes = size == 0 || from ? hr_unit_bytes(p, size + 1) : NULL;
    if (!bytes) return hr_no_memory(err, "sql: a string");
    if (size > 0) memcpy(bytes, from, size);
    *to = (hr_view){bytes, (int64_t)size};
    return HR_OK;
}

static hr_status put_number(const sql_state *st, int i, const sql_column *c, void *to, hr_error *err)
{
    const int type = sqlite3_column_type(st->query, i);
    const bool real = c->dtype == HR_FLOAT || c->dtype == HR_DOUBLE;
    if (type != SQLITE_INTEGER && !(real && type == SQLITE_FLOAT)) return wrong_value(st, i, c, err);
    const double number = sqlite3_column_double(st->query, i);
    const float single = (float)number;
    const int64_t whole = sqlite3_column_int64(st->query, i);
    if (!real && !in_range(c->dtype, whole)) return wrong_value(st, i, c, err);
    memcpy(to, c->dtype == HR_FLOAT ? (const void *)&single : real ? (const void *)&number : &whole, c->width);
    return HR_OK;
}

static hr_status put_column(sql_state *st, int i, const sql_column *c, hr_plan *p, void *to, hr_error *err)
{
    const bool null = sqlite3_column_type(st->query, i) == SQLITE_NULL;
    if (null && c->default_value.count == 0) return wrong_value(st, i, c, err);
    if (null) memcpy(to, c->default_value.data, c->width);
    if (null) return HR_OK;
    return c->dtype == HR_STRING ? put_text(st, i, p, to, err) : put_number(st, i, c, to, err);
}

/* ---- plan ---- */

/* The next row of the query. HR_END; HR_WAIT: the run was cancelled. */
static hr_status step(const sql_spec *sp, sql_state *st, hr_error *err)
{
    const int got = sqlite3_step(st->query);
    if (got == SQLITE_ROW) st->stepped++;
    if (got == SQLITE_ROW) return HR_OK;
    if (got == SQLITE_DONE) return HR_END;
    return got == SQLITE_INTERRUPT ? HR_WAIT : sql_fail(sp, st->db, err);
}

static hr_status pass_to_given(const sql_spec *sp, sql_state *st, hr_error *err)
{
    while (st->stepped < st->given) {
        const hr_status got = step(sp, st, err);
        if (got == HR_END)
            return hr_fail(err, HR_FAILED_PRECONDITION, "sql.rows",
                           "sql: expected the query to give %" PRId64 " rows, as when the state was saved, got only "
                           "%" PRId64,
                           st->given, st->stepped);
        HR_TRY(got);
    }
    return HR_OK;
}

static hr_status sql_plan(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    const sql_spec *sp = spec;
    sql_state *st = state;
    const int64_t capacity = hr_room_for(p, 512);
    hr_columns *rows = hr_unit_rows(p, capacity);
    if (!rows) return hr_no_memory(err, "sql: a unit of rows");
    rows->origin = NULL;
    st->plan = p;
    HR_TRY(pass_to_given(sp, st, err));
    while (rows->rows < capacity) {
        HR_TRY(step(sp, st, err));
        for (int i = 0; i < sp->columns; i++)
            HR_TRY(put_column(st, i, &sp->column[i], p,
                              (char *)rows->column[i].values + (size_t)rows->rows * sp->column[i].width, err));
        rows->rows++;
        st->given++;
    }
    return HR_OK;
}

#else

/* Never called: check has refused the dataset. */
static hr_status sql_open(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    (void)spec, (void)state, (void)p;
    return hr_fail(err, HR_UNIMPLEMENTED, "sql.build", "sql: the library was built without libsqlite3");
}
static hr_status sql_plan(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    return sql_open(spec, state, p, err);
}
static void sql_close(void *state) { (void)state; }

#endif

const hr_op hr_op_sql = {
    .head = HR_OP_HEAD,
    .name = "sql",
    .spec_size = sizeof(sql_spec),
    .state_size = sizeof(sql_state),
    .saved = 1, /* given */
    .spec_copy = sql_copy,
    .spec_free = sql_free,
    .check = sql_check,
    .open = sql_open,
    .plan = sql_plan,
    .close = sql_close,
    .identity = sql_identity,
    .files = sql_files,
    .describe = sql_describe,
};

hr_dataset *hr_sql_with(const char *driver_name, const char *data_source_name, const char *query,
                        const hr_sql_opts *opts)
{
    const sql_spec spec = {.driver = driver_name, .source = data_source_name, .query = query, .opts = opts};
    return hr_dataset_new(&hr_op_sql, &spec, NULL, 0);
}
