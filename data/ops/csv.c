/* csv: the rows of CSV files, one file after another.
 *
 * plan reads a piece of a file and cuts it after the last whole row, quotes considered; it counts rows and lines, and
 * looks at no field. Of a list of files, where there are threads for it, a stage of its own reads pieces ahead and
 * finds the rows in them (csv_ahead.h); plan then takes these, and keeps its place. work finds the fields and converts
 * them. A row that is wrong is found by work, and named with its line. No unit spans two files: each has its own
 * header, and so its own order of columns. */
#include "data/sources/byte_source.h"
#include "data/sources/csv_ahead.h"
#include "data/sources/csv_source.h"
#include "data/damaged_rows.h"
#include "io/convert/csv_shards.h"
#include <headrace/data.h>
#include <stdio.h>
#include <string.h>

typedef struct csv_spec {
    const char *pattern;
    bool literal;            /* one file's name, whatever characters are in it */
    const hr_csv_opts *opts; /* the caller's, until the spec is copied */
    hr__csv_format *format;
    hr__policy *policy;
    bool borrowed; /* the format is another's, which outlives this */
    /* Whose fields are the columns (hr__csv_of_schema), by the name of one of the files; until the spec is copied.
     * NULL: the options say. */
    const hr_schema_file *schema;
    const char *one_file;
} csv_spec;

typedef struct csv_state {
    int64_t list, file, record, line,
        offset; /* saved: which list of files; where the next row is, 0 and 0: at the top */
    source_files files;
    hr__csv_format format; /* the spec's, in the mode of the pipeline; borrows all it points to */
    hr__csv_file *in;      /* the current file; NULL: to be opened */
    int32_t number;        /* its, for the rows' origin */
    int64_t average;       /* bytes a row, lately */
    csv_ahead ahead;
} csv_state;

enum { MOST_BLOCKS = 4 };

typedef struct csv_unit {
    hr__csv_block block[MOST_BLOCKS]; /* one after the other */
    int blocks;
    int64_t rows; /* of all blocks */
    hr__csv_layout layout;
    const char *path;
    int32_t number;
    int64_t blank, comments; /* lines that are no rows */
} csv_unit;

/* ---- the arguments ---- */

/* All columns of the first file. */
static hr_status columns_from_first_file(const csv_spec *sp, hr_error *err)
{
    hr_file_list files = {0};
    if (sp->literal)
        return hr_fail(err, HR_INVALID_ARGUMENT, "csv.columns",
                       "csv: expected .columns, which the dataset of a function needs, got none");
    hr_status st = hr__source_files(sp->pattern, &files, err);
    if (st == HR_OK && hr_path_reads_once(files.path[0]))
        st = hr_fail(err, HR_INVALID_ARGUMENT, "csv.columns",
                     "csv: expected .columns, which a pipe needs, since it can be read only once");
    if (st == HR_OK) st = hr__csv_format_from_header(sp->format, files.path[0], err);
    hr_file_list_clear(&files);
    return st;
}

static hr_status csv_spec_copy(void *spec, hr_error *err)
{
    csv_spec *sp = spec;
    const hr_csv_opts o = HR_OPTIONS(hr_csv_opts, sp->opts);
    const char *pattern = sp->pattern;
    sp->opts = NULL;
    if (!sp->borrowed) sp->format = NULL;
    sp->policy = NULL;
    sp->pattern = NULL;
    if (!pattern) return HR_OK;
    sp->pattern = hr_strdup(pattern);
    if (!sp->pattern) return hr_no_memory(err, "csv: the file pattern");
    HR_TRY(hr__policy_new(&o.policy, "csv", &sp->policy, err));
    if (sp->borrowed) return HR_OK;
    if (sp->schema) return hr__csv_of_schema(sp->one_file, sp->schema, &o, &sp->format, NULL, err);
    HR_TRY(hr__csv_format_new(&o, &sp->format, err));
    return o.column_count == 0 ? columns_from_first_file(sp, err) : HR_OK;
}

static void csv_spec_free(void *spec)
{
    csv_spec *sp = spec;
    hr_free((char *)(uintptr_t)sp->pattern);
    if (!sp->borrowed) hr__csv_format_free(sp->format);
    hr__policy_free(sp->policy);
}

static hr_status csv_check(const void *spec, const hr_schema *const *in, hr_schema_builder *out, hr_error *err)
{
    (void)in;
    const csv_spec *sp = spec;
    if (!sp->pattern)
        return hr_fail(err, HR_INVALID_ARGUMENT, "csv.pattern",
                       "csv: expected the name of a file or a pattern, got none that can be one");
    bool labelled = !sp->format->label;
    for (int c = 0; c < sp->format->columns; c++) {
        char place[16];
        const hr__csv_column *column = &sp->format->column[c];
        snprintf(place, sizeof place, "%d", c);
        const char *name = column->name ? column->name : place;
        hr_field field = {.name = name, .dtype = column->dtype, .shape = HR_SCALAR};
        field.label = sp->format->label && strcmp(sp->format->label, name) == 0;
        labelled |= field.label;
        if (column->separator) field.layout = HR_RAGGED, field.shape = HR_SHAPE(-1);
        HR_TRY(hr_schema_add(out, field, err));
    }
    if (labelled) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "csv.column",
                   "csv: expected a .label that is one of the columns, got '%.60s'", sp->format->label);
}

/* ---- plan ---- */

static hr__csv_format in_mode(const hr__csv_format *format, bool tf_compat)
{
    hr__csv_format f = *format;
    f.tf_compat |= tf_compat;
    f.dialect.tf_compat |= tf_compat;
    return f;
}

static hr_status csv_open(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    const csv_spec *sp = spec;
    csv_state *st = state;
    hr_status status = source_files_open(&st->files, "csv", sp->pattern, sp->literal, p, err);
    st->list = st->files.identity;
    st->format = in_mode(sp->format, hr_plan_tf_compat(p));
    if (!sp->literal) hr__csv_ahead_open(&st->ahead, &st->format, p);
    if (status != HR_OK || !st->format.tf_compat || !st->format.refused) return status;
    if (err) *err = *st->format.refused;
    return st->format.refused->code;
}

static hr_status csv_load(const void *spec, void *state, hr_token_reader *token, hr_error *err)
{
    (void)token;
    const csv_state *st = state;
    return source_files_check(&st->files, "csv", ((const csv_spec *)spec)->pattern, st->list, st->file, err);
}

static void csv_close(void *state)
{
    csv_state *st = state;
    hr__csv_ahead_close(&st->ahead);
    hr__csv_close(st->in);
    hr_file_list_clear(&st->files.list);
}

/* Opens the current file where the next row is. HR_END: there is none. */
static hr_status csv_open_file(csv_state *st, hr_plan *p, hr_error *err)
{
    if (st->file >= st->files.list.count) return HR_END;
    const char *path = st->files.list.path[st->file];
    st->number = hr_file_number(p, path);
    if (st->number < 0) return hr_no_memory(err, "csv: a file's name");
    hr_file_has_lines(p, st->number);
    HR_TRY(source_files_once("csv", path, p, st->number, err));
    st->format.wake = hr_plan_wake(p);
    HR_TRY(hr__csv_open(&st->format, path, &st->in, err));
    if (hr__csv_lacks_header(st->in)) hr_log_message(HR_WARNING, "%s: an empty file: expected a header", path);
    if (st->line == 0) hr__csv_tell(st->in, &st->offset, &st->line, &st->record);
    return HR_OK;
}

static void next_file(csv_state *st)
{
    hr__csv_close(st->in);
    st->in = NULL;
    st->file++;
    st->record = st->line = st->offset = 0;
}

/* What work needs of the blocks lives as long as the unit's rows: the bytes, the layout, the file's name. */
static hr_status fill_unit(const csv_state *st, hr_plan *p, hr_columns *rows, csv_unit *unit, hr_error *err)
{
    const hr__csv_layout *layout = hr__csv_file_layout(st->in);
    const char *path = st->files.list.path[st->file];
    const size_t places = (size_t)(st->format.columns + layout->fields) * sizeof(int), name = strlen(path) + 1;
    int *place = hr_unit_bytes(p, places + 1);
    char *copy = place ? hr_unit_bytes(p, name) : NULL;
    if (!copy) return hr_no_memory(err, "csv: a unit of rows");
    memcpy(copy, path, name);
    if (places > 0) memcpy(place, layout->place, places);
    unit->layout = *layout;
    unit->path = copy;
    unit->number = st->number;
    unit->layout.place = place;
    unit->layout.column_at = place + st->format.columns;
    rows->rows = unit->rows;
    return HR_OK;
}

/* Bytes a row; at first a guess. */
static int64_t average_row(const csv_state *st) { return st->average ? st->average : 8 * (st->format.columns + 1); }

/* The capacity of a unit: about the rows that a piece of the file holds, or whole batches of them. */
static int64_t rows_for(const csv_state *st, const hr_plan *p)
{
    return hr_room_for(p, (int64_t)hr_unit_size(p) / average_row(st) + 1);
}

/* How many bytes to read for `capacity` rows, which may be somewhat longer than the last ones. */
static size_t piece_for(const csv_state *st, int64_t capacity)
{
    return (size_t)((capacity + capacity / 32 + 1) * average_row(st));
}

/* The block's rows are part of the unit; the operator stands after them. */
static void add_block(csv_state *st, const hr__csv_block *block, csv_unit *unit)
{
    unit->block[unit->blocks++] = *block;
    unit->blank += block->blank;
    unit->comments += block->comments;
    unit->rows += block->rows;
    st->average = (int64_t)block->size / block->rows + 1;
}

/* ---- plan: pieces that were read ahead ---- */

/* Rows that come next were found in one. */
static hr_status find_ahead(csv_state *st, hr_plan *p)
{
    if (!hr__csv_is_plain(st->in)) return HR_END;
    return hr__csv_ahead_find(&st->ahead, &st->format, hr__csv_file_layout(st->in), p, &st->files.list, st->file,
                              st->offset);
}

static void take_ahead(csv_state *st, hr_plan *p, int64_t capacity, csv_unit *unit)
{
    do {
        hr__csv_block block;
        const int64_t lines = hr__csv_ahead_take(&st->ahead, p, capacity - unit->rows, &block);
        block.line = st->line;
        block.record = st->record;
        add_block(st, &block, unit);
        st->offset += (int64_t)block.size;
        st->line += lines;
        st->record += block.rows;
    } while (unit->rows < capacity && unit->blocks < MOST_BLOCKS && find_ahead(st, p) == HR_OK);
}

/* ---- plan: reading in turn ---- */

/* A copy of what the file's window holds lives as long as the unit's rows. */
static hr_status read_stream(csv_state *st, hr_plan *p, int64_t capacity, hr__csv_block *block, hr_error *err)
{
    HR_TRY(hr__csv_read(st->in, hr_unit_size(p), capacity, block, err));
    if (block->rows == 0) return HR_OK;
    char *bytes = hr_unit_bytes(p, block->size);
    if (!bytes) return hr_no_memory(err, "csv: a piece of a file");
    memcpy(bytes, block->data, block->size);
    block->data = bytes;
    hr__csv_release(st->in); /* a long row is in memory once */
    return HR_OK;
}

/* Rows of a plain file, straight into the unit: *bytes, of *size; where the last piece had none, over it. A row that is
 * longer comes through the file's window, whose memory grows in place. */
static hr_status read_plain(csv_state *st, hr_plan *p, int64_t capacity, char **bytes, size_t *size,
                            hr__csv_block *block, hr_error *err)
{
    if (!*bytes) {
        *size = piece_for(st, capacity);
        *bytes = hr_unit_bytes(p, *size);
    }
    if (!*bytes) return hr_no_memory(err, "csv: a piece of a file");
    HR_TRY(hr__csv_read_into(st->in, *bytes, *size, capacity, block, err));
    if (block->size > 0) return HR_OK;
    HR_TRY(hr__csv_seek(st->in, st->offset, st->line, st->record, err));
    return read_stream(st, p, capacity, block, err);
}

/* Goes to the next row, after others that were not read here. */
static hr_status go_to_place(csv_state *st, hr_error *err)
{
    int64_t offset, line, record;
    hr__csv_tell(st->in, &offset, &line, &record);
    if (offset == st->offset && line == st->line && record == st->record) return HR_OK;
    return hr__csv_seek(st->in, st->offset, st->line, st->record, err);
}

/* The next rows of this file. HR_END: it has no more. There may be blank lines alone. */
static hr_status read_in_turn(csv_state *st, hr_plan *p, int64_t capacity, csv_unit *unit, hr_error *err)
{
    hr__csv_block block = {0};
    char *bytes = NULL;
    size_t size = 0;
    HR_TRY(go_to_place(st, err));
    while (block.rows == 0) {
        HR_TRY(hr__csv_is_plain(st->in) ? read_plain(st, p, capacity, &bytes, &size, &block, err)
                                        : read_stream(st, p, capacity, &block, err));
        hr__csv_tell(st->in, &st->offset, &st->line, &st->record);
        if (block.rows > 0) break;
        hr_plan_count(p, "csv: blank lines", block.blank);
        hr_plan_count(p, "csv: comment lines", block.comments);
    }
    add_block(st, &block, unit);
    return HR_OK;
}

/* ---- plan: a unit ---- */

static hr_status csv_plan(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    (void)spec;
    csv_state *st = state;
    csv_unit *unit = hr_unit(p);
    hr_columns *rows = NULL;
    unit->blank = unit->comments = unit->rows = unit->blocks = 0;
    while (unit->blocks == 0) {
        if (!st->in) HR_TRY(csv_open_file(st, p, err));
        const hr_status found = find_ahead(st, p);
        if (found == HR_WAIT || hr_plan_failed(p)) return found;
        const int64_t capacity = rows_for(st, p);
        if (!rows) rows = hr_unit_rows(p, capacity);
        if (!rows) return hr_no_memory(err, "csv: a unit of rows");
        const hr_status read = found == HR_END ? read_in_turn(st, p, capacity, unit, err) : HR_OK;
        if (found == HR_OK) take_ahead(st, p, capacity, unit);
        if (read == HR_END) next_file(st);
        if (read < 0) return read;
    }
    return fill_unit(st, p, rows, unit, err);
}

/* ---- work ---- */

typedef struct target {
    hr_work *w;
    hr_columns *rows;
    const hr__csv_block *block; /* that is read */
    hr__damaged_rows damaged;
} target;

static void *row_bytes(size_t size, void *user)
{
    const target *t = user;
    return hr_row_bytes(t->w, t->rows, size);
}

static void *row_text(size_t size, void *user)
{
    const target *t = user;
    return hr_row_text(t->w, t->rows, size);
}

static bool csv_grow_list(int column, int64_t count, void *user)
{
    const target *t = user;
    return count <= INT32_MAX && hr_grow_column(t->w, t->rows, column, count, NULL) == HR_OK;
}

static void fail_row(int64_t row, const hr_error *error, void *user)
{
    target *t = user;
    const hr_view text = {t->block->data + (error->offset - t->block->offset), error->length};
    hr__damaged_row(&t->damaged, row, error, text);
}

/* Of several, rows count from the first row of the first one. */
static hr_status parse_blocks(const hr__csv_format *format, const csv_unit *unit, target *t, void *scratch,
                              hr__csv_sink *sink, hr_error *err)
{
    for (int i = 0; i < unit->blocks; i++) {
        hr__csv_block block = unit->block[i];
        block.record = unit->block[0].record;
        t->block = &block;
        HR_TRY(hr__csv_parse(format, &unit->layout, unit->path, &block, scratch, sink, err));
        sink->first += block.rows;
    }
    return HR_OK;
}

static hr_status csv_work(const void *spec, const void *unit_, hr_work *w, hr_columns *rows, hr_error *err)
{
    const csv_spec *sp = spec;
    const csv_unit *unit = unit_;
    const hr__csv_format format = in_mode(sp->format, hr_work_tf_compat(w));
    void *scratch = hr_scratch(w, hr__csv_scratch_size());
    if (!scratch) return hr_no_memory(err, "csv: places of fields");
    hr_columns before; /* dense columns are there already, lists are not */
    if (format.lists) HR_TRY(hr_new_columns(w, rows, &before, err));
    target t = {.w = w, .rows = rows};
    t.damaged = (hr__damaged_rows){HR__DAMAGED_WORDS("csv"), .policy = sp->policy, .work = w, .rows = rows};
    if (sp->policy) hr_work_count(w, t.damaged.seen, rows->rows);
    hr__csv_sink sink = {.column = rows->column, .origin = rows->origin, .file = unit->number, .rows = rows->rows};
    sink.bytes = row_bytes;
    sink.text = row_text;
    sink.grow = csv_grow_list;
    sink.failed = fail_row;
    sink.user = &t;
    if (unit->blank > 0) hr_work_count(w, "csv: blank lines", unit->blank);
    if (unit->comments > 0) hr_work_count(w, "csv: comment lines", unit->comments);
    const hr_status status = parse_blocks(&format, unit, &t, scratch, &sink, err);
    if (sink.filled > 0) hr_work_count(w, "csv: short rows filled", sink.filled);
    if (sink.cut > 0) hr_work_count(w, "csv: long rows cut", sink.cut);
    const hr_status dropped = hr__damaged_rows_drop(&t.damaged, status == HR_OK ? err : NULL);
    return status == HR_OK ? dropped : status;
}

static hr_op_files csv_files(const void *spec)
{
    const csv_spec *sp = spec;
    return source_files_of(sp->pattern, sp->literal);
}

static void csv_identity(const void *spec, uint64_t *sum)
{
    const csv_spec *sp = spec;
    if (!sp->format) return;
    hr__csv_identify(sp->format, sum);
    hr_identify_i64(sum, hr__policy_on_error(sp->policy));
}

static void csv_describe(const void *spec, hr_description *to)
{
    const csv_spec *sp = spec;
    hr_describe_text(to, NULL, sp->pattern);
    hr_describe_number(to, "columns", sp->format ? sp->format->columns : 0);
}

const hr_op hr_op_csv = {
    .head = HR_OP_HEAD,
    .name = "csv",
    .spec_size = sizeof(csv_spec),
    .state_size = sizeof(csv_state),
    .unit_size = sizeof(csv_unit),
    .traits = HR_KNOWS_ITS_PLACE,
    .saved = 5, /* list, file, record, line, offset */
    SOURCE_RANGES,
    .spec_copy = csv_spec_copy,
    .spec_free = csv_spec_free,
    .check = csv_check,
    .open = csv_open,
    .plan = csv_plan,
    .work = csv_work,
    .load = csv_load,
    .close = csv_close,
    .identity = csv_identity,
    .files = csv_files,
    .describe = csv_describe,
};

static hr_dataset *csv_make(const char *pattern, bool literal, const hr_csv_opts *opts)
{
    return hr_dataset_new(&hr_op_csv, &(csv_spec){.pattern = pattern, .literal = literal, .opts = opts}, NULL, 0);
}

hr_dataset *hr_csv_with(const char *pattern, const hr_csv_opts *opts) { return csv_make(pattern, false, opts); }

hr_dataset *hr__csv_of_format(const char *path, hr__csv_format *format, const hr_csv_opts *opts)
{
    const csv_spec spec = {.pattern = path, .literal = true, .opts = opts, .format = format, .borrowed = true};
    return hr_dataset_new(&hr_op_csv, &spec, NULL, 0);
}

hr_dataset *hr__csv_of_schema_rows(const char *pattern, bool literal, const char *one_file,
                                   const hr_schema_file *schema, const hr_csv_opts *opts)
{
    const csv_spec spec = {
        .pattern = pattern, .literal = literal, .opts = opts, .schema = schema, .one_file = one_file};
    return hr_dataset_new(&hr_op_csv, &spec, NULL, 0);
}

hr_dataset *hr_csv_fn(const hr_element *element, void *user)
{
    char path[4096];
    return csv_make(hr__byte_source_name(element, path, sizeof path), true, user);
}
