/* A file in pieces of some hundred kilobytes, and the records of a piece as contents of Examples: TFRecords and JSON
 * as they are, a row of CSV as an Example of one value a field. */
#include "io/survey/survey.h"
#include "io/convert/format.h"
#include <inttypes.h>
#include <string.h>

enum { PIECE = HR__SURVEY_PIECE, PIECE_ROWS = 8192, PAD = 64 };

struct hr__survey_source {
    const hr__survey *survey;
    hr__survey_place place; /* of the next record */
    hr_record_reader *records;
    hr_json_reader *json;
    hr__csv_file *csv;
    hr__csv_format *format;
    int64_t bytes, left; /* read; records to be read at most */
};

struct hr__survey_bytes {
    struct hr__survey_bytes *next;
    char data[];
};

/* ---- reading ---- */

static hr_csv_opts csv_opts(const char *path, const hr_survey_opts *o)
{
    hr_csv_opts csv = hr__csv_opts_of(path, o->csv);
    if (o->delimiter) csv.delimiter = o->delimiter;
    if (o->na_value) csv.na_value = o->na_value;
    csv.compression = o->compression;
    if (o->max_record_bytes) csv.max_row_bytes = o->max_record_bytes;
    return csv;
}

static hr_status open_csv(hr__survey_source *s, hr_error *err)
{
    const hr_survey_opts *o = s->survey->opts;
    const hr__schema_file *schema = s->survey->as_read ? NULL : o->schema;
    const int count = schema ? schema->fields : 0;
    hr_csv_column *column = hr_calloc((size_t)count + 1, sizeof *column);
    if (!column) return hr_no_memory(err, "the columns of a CSV");
    for (int i = 0; i < count; i++)
        column[i] = (hr_csv_column){.name = schema->field[i].name, .dtype = hr__schema_read_as(&schema->field[i])};
    hr_csv_opts csv = csv_opts(s->place.path, o);
    csv.columns = column;
    csv.column_count = count;
    csv.keep_missing = true;
    hr_status st = hr__csv_format_new(&csv, &s->format, err);
    hr_free(column);
    if (st == HR_OK && count > 0) s->format->optional = schema->label + 1;
    if (st == HR_OK && count > 0) return hr__csv_open(s->format, s->place.path, &s->csv, err);
    if (st == HR_OK) st = hr__csv_open_all(s->format, s->place.path, &s->csv, err);
    const bool told = st == HR_OK && s->place.file == 0 && s->survey->header;
    return told ? s->survey->header(s->survey->slot[0], &s->place, s->format, err) : st;
}

int64_t hr__survey_columns(const hr__survey_source *s) { return s->format ? s->format->columns : 0; }

hr_status hr__survey_open(const hr__survey *survey, int file, int64_t max, hr__survey_source **out, hr_error *err)
{
    const hr_survey_opts *o = survey->opts;
    hr__survey_source *s = *out = hr_calloc(1, sizeof *s);
    if (!s) return hr_no_memory(err, "a survey");
    s->survey = survey;
    s->left = max;
    s->place = (hr__survey_place){.survey = survey, .file = file, .path = survey->files->path[file], .line = -1};
    const hr_file_format format = hr__file_format(s->place.path, o->format);
    s->place.csv = format == HR_FORMAT_CSV;
    const hr_record_opts records = {
        .struct_size = sizeof records, .compression = o->compression, .max_record_bytes = o->max_record_bytes};
    const hr_json_reader_opts json = {.struct_size = sizeof json,
                                      .schema = survey->as_read ? NULL : o->schema,
                                      .compression = o->compression,
                                      .max_row_bytes = o->max_record_bytes};
    hr_status st = format == HR_FORMAT_CSV    ? open_csv(s, err)
                   : format == HR_FORMAT_JSON ? hr_json_reader_open_with(s->place.path, &json, &s->json, err)
                                              : hr_record_reader_open_with(s->place.path, &records, &s->records, err);
    if (st == HR_OK) return HR_OK;
    hr__survey_close(s);
    *out = NULL;
    return st;
}

void hr__survey_close(hr__survey_source *s)
{
    hr_record_reader_free(s->records);
    hr_json_reader_free(s->json);
    hr__csv_close(s->csv);
    hr__csv_format_free(s->format);
    hr_free(s);
}

int64_t hr__survey_bytes(const hr__survey_source *source) { return source->bytes; }

static hr_status survey_source_reserve(hr__survey_piece *p, hr_error *err)
{
    if (p->records < p->capacity) return HR_OK;
    const size_t capacity = 2 * p->capacity + 256;
    size_t *end = hr_realloc(p->end, capacity * sizeof *end);
    if (end) p->end = end;
    int64_t *line = end ? hr_realloc(p->line, capacity * sizeof *line) : NULL;
    if (!line) return hr_no_memory(err, "a piece of a file");
    p->line = line;
    p->capacity = capacity;
    return HR_OK;
}

static hr_status read_csv(hr__survey_source *s, hr__survey_piece *p, hr_error *err)
{
    int64_t line, record;
    HR_TRY(hr__csv_read(s->csv, PIECE, s->left < PIECE_ROWS ? s->left : PIECE_ROWS, &p->block, err));
    hr__text_bytes(&p->bytes, p->block.data, p->block.size);
    for (int i = 0; i < PAD; i++) hr__text_byte(&p->bytes, 0);
    HR_TRY(hr__text_status(&p->bytes, "a piece of a file", err));
    p->block.data = p->bytes.data;
    p->records = (size_t)p->block.rows;
    s->left -= p->block.rows;
    p->format = s->format;
    p->layout = hr__csv_file_layout(s->csv);
    const int64_t compressed = hr__csv_compressed_offset(s->csv);
    hr__csv_tell(s->csv, &s->bytes, &line, &record);
    if (compressed >= 0) s->bytes = compressed;
    return HR_OK;
}

static hr_status survey_source_read_record(hr__survey_source *s, hr_view *record, hr_error *err)
{
    if (!s->json) return hr_record_read(s->records, record, err);
    return hr_json_read(s->json, record, err);
}

hr_status hr__survey_read(hr__survey_source *s, hr__survey_piece *p, hr_error *err)
{
    hr_view record;
    hr_status st = HR_OK;
    hr__text_clear(&p->bytes);
    p->records = 0;
    p->place = s->place;
    p->format = NULL;
    if (s->left == 0) return HR_END;
    if (s->csv) return read_csv(s, p, err);
    while (p->bytes.size < PIECE && p->records < PIECE_ROWS && s->left > 0) {
        HR_TRY(survey_source_reserve(p, err));
        if ((st = survey_source_read_record(s, &record, err)) != HR_OK) break;
        hr__text_bytes(&p->bytes, record.data, (size_t)record.size);
        p->end[p->records] = p->bytes.size;
        p->line[p->records++] = s->json ? hr_json_reader_line(s->json) : -1;
        s->place.record++;
        s->left--;
    }
    s->bytes = s->json ? hr_json_reader_offset(s->json) : hr_record_offset(s->records);
    for (int i = 0; i < PAD; i++) hr__text_byte(&p->bytes, 0);
    HR_TRY(hr__text_status(&p->bytes, "a piece of a file", err));
    return p->records > 0 ? HR_OK : st;
}

void hr__survey_piece_free(hr__survey_piece *p)
{
    hr__text_free(&p->bytes);
    hr_free(p->end);
    hr_free(p->line);
}

/* ---- looking ---- */

static void free_memory(hr__survey_scratch *s)
{
    for (struct hr__survey_bytes *b; (b = s->memory);) {
        s->memory = b->next;
        hr_free(b);
    }
}

void hr__survey_scratch_free(hr__survey_scratch *s)
{
    hr_example_walk_free(s->walk);
    hr_free(s->csv);
    free_memory(s);
}

typedef struct csv_look {
    hr__survey_scratch *scratch;
    const hr__csv_format *format;
    hr_column *column;
    int64_t *capacity; /* of lists: how many values a column has room for */
    hr_status status;
    hr_error *err;
} csv_look;

static void *more_memory(size_t size, void *user)
{
    hr__survey_scratch *s = ((csv_look *)user)->scratch;
    struct hr__survey_bytes *b = hr_malloc(sizeof *b + size + PAD);
    if (!b) return NULL;
    b->next = s->memory;
    s->memory = b;
    return b->data;
}

static bool survey_source_grow_list(int c, int64_t count, void *user)
{
    csv_look *look = user;
    hr_column *column = &look->column[c];
    const size_t width = look->format->column[c].width;
    if (count <= look->capacity[c]) return true;
    void *values = more_memory(2 * (size_t)count * width, look);
    if (!values) return false;
    if (column->count > 0) memcpy(values, column->values, (size_t)column->count * width);
    column->values = values;
    look->capacity[c] = 2 * count;
    return true;
}

static void note_failure(int64_t row, const hr_error *error, void *user)
{
    csv_look *look = user;
    (void)row;
    if (look->status != HR_OK) return;
    look->status = error->code;
    if (look->err) *look->err = *error;
}

/* ---- rows of CSV ---- */

static bool is_narrow(hr_dtype dtype) { return dtype == HR_BOOL || dtype == HR_INT32; }

/* Bools and int32 become int64, as an Example has them; the contents of a missing value are never read. */
static hr_status survey_source_widen(csv_look *look, int c)
{
    hr_column *column = &look->column[c];
    const hr_dtype dtype = look->format->column[c].dtype;
    if (!is_narrow(dtype)) return HR_OK;
    int64_t *wide = more_memory((size_t)column->count * sizeof *wide, look);
    if (!wide) return hr_no_memory(look->err, "rows of a CSV");
    for (int64_t i = 0; i < column->count; i++)
        wide[i] = dtype == HR_BOOL ? ((const uint8_t *)column->values)[i] : ((const int32_t *)column->values)[i];
    column->values = wide;
    return HR_OK;
}

/* The values of a field; false: it is missing, or a list without any. */
static bool survey_source_values_of(const csv_look *look, int c, int64_t row, hr__values *out)
{
    const hr_column *column = &look->column[c];
    const hr_dtype of_file = look->format->column[c].dtype, dtype = is_narrow(of_file) ? HR_INT64 : of_file;
    if (column->present && !(column->present[row / 64] >> row % 64 & 1)) return false;
    const int64_t from = column->splits[0] ? column->splits[0][row] : row;
    const int64_t count = column->splits[0] ? column->splits[0][row + 1] - from : 1;
    *out = (hr__values){
        .dtype = dtype, .count = count, .data = (const char *)column->values + (size_t)from * hr_dtype_size(dtype)};
    return count > 0;
}

static hr_status note_rows(const hr__survey *survey, int slot, const hr__survey_piece *p, const csv_look *look,
                           hr__walk_feature *feature, hr_error *err)
{
    hr__survey_place place = p->place;
    for (int64_t r = 0; r < p->block.rows; r++) {
        hr__walk_contents contents = {.feature = feature, .has_features = true};
        for (int c = 0; c < look->format->columns; c++) {
            const char *name = look->format->column[c].name;
            hr__walk_feature *next = &feature[contents.features];
            next->key = (hr_view){name, (int64_t)strlen(name)};
            contents.features += survey_source_values_of(look, c, r, &next->values);
        }
        place.record = p->block.record + r;
        HR_TRY(survey->note(survey->slot[slot], &place, &contents, err));
    }
    return HR_OK;
}

/* Room for the rows: of lists, for where they end. */
static hr_status make_columns(csv_look *look, int64_t rows)
{
    const size_t columns = (size_t)look->format->columns;
    look->column = more_memory(columns * sizeof *look->column, look);
    look->capacity = more_memory(columns * sizeof *look->capacity, look);
    if (!look->column || !look->capacity) return hr_no_memory(look->err, "rows of a CSV");
    for (size_t c = 0; c < columns; c++) {
        const hr__csv_column *of = &look->format->column[c];
        void *here = more_memory((size_t)(rows + 1) * (of->separator ? sizeof(int32_t) : of->width), look);
        if (!here) return hr_no_memory(look->err, "rows of a CSV");
        look->capacity[c] = 0;
        look->column[c] = (hr_column){.values = here, .count = rows};
        if (of->separator) look->column[c] = (hr_column){.splits = {here}};
        if (of->separator) look->column[c].splits[0][0] = 0;
    }
    return HR_OK;
}

static hr_status look_at_csv(const hr__survey *survey, int slot, hr__survey_scratch *s, const hr__survey_piece *p,
                             hr_error *err)
{
    csv_look look = {.scratch = s, .format = p->format, .err = err};
    if (!s->csv) s->csv = hr_malloc(hr__csv_scratch_size());
    hr__walk_feature *feature = more_memory(((size_t)p->format->columns + 1) * sizeof *feature, &look);
    if (!s->csv || !feature) return hr_no_memory(err, "rows of a CSV");
    HR_TRY(make_columns(&look, p->block.rows));
    hr__csv_sink sink = {.column = look.column,
                         .bytes = more_memory,
                         .grow = survey_source_grow_list,
                         .failed = note_failure,
                         .user = &look};
    HR_TRY(hr__csv_parse(p->format, p->layout, p->place.path, &p->block, s->csv, &sink, err));
    if (look.status != HR_OK) return look.status;
    for (int c = 0; c < p->format->columns; c++) HR_TRY(survey_source_widen(&look, c));
    return note_rows(survey, slot, p, &look, feature, err);
}

static hr_status look_at_records(const hr__survey *survey, int slot, hr__survey_scratch *s, const hr__survey_piece *p,
                                 hr_error *err)
{
    hr__survey_place place = p->place;
    if (!s->walk && !(s->walk = hr_example_walk_new())) return hr_no_memory(err, "records");
    for (size_t i = 0; i < p->records; i++, place.record++) {
        hr__walk_contents contents;
        const size_t from = i ? p->end[i - 1] : 0;
        place.line = p->line[i];
        const hr_view record = {p->bytes.data + from, (int64_t)(p->end[i] - from)};
        hr_status st = hr__example_walk_record(s->walk, record, &contents, err);
        if (st == HR_OK) st = survey->note(survey->slot[slot], &place, &contents, err);
        if (st == HR_OK) continue;
        if (err && !err->file[0] && st != HR_RESOURCE_EXHAUSTED) {
            hr_error_prefix(err, "%s: record %" PRId64 ": ", place.path, place.record);
            hr_error_file(err, place.path);
            err->record = place.record;
        }
        return st;
    }
    return HR_OK;
}

hr_status hr__survey_look(const hr__survey *survey, int slot, hr__survey_scratch *scratch,
                          const hr__survey_piece *piece, hr_error *err)
{
    if (!piece->format) return look_at_records(survey, slot, scratch, piece, err);
    hr_status st = look_at_csv(survey, slot, scratch, piece, err);
    free_memory(scratch);
    return st;
}
