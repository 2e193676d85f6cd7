/* csv: CsvDataset, decode_csv and numbers from text, in both modes. Files are read in blocks of several sizes, which
 * may make no difference; after a row with an error the next one is read (the policy `skip`), so that all events
 * show. */
#include "tests/golden/golden.h"
#include "io/csv/csv.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 1024 };

/* ---- what happened: rows and errors, one after another ---- */

typedef struct event {
    cJSON *row;     /* NULL: an error */
    hr_error error; /* of a row, or of the file */
    int64_t record, line, offset;
    struct event *next;
} event;

typedef struct events {
    event *first, **end;
    int64_t rows, blank;
    hr_status status; /* of the file: HR_END, or the error that ended it */
    hr_error error;
    const hr__csv_format *format;
    const hr__csv_block *block;
    event **failed; /* of the block's rows */
    void *bytes[64];
    int pieces;
    /* After a fault in quotes the two modes begin rows at different places; a case without `default` has those of
     * tf_compat only, if the rows and errors themselves are the same. */
    bool moved;
} events;

static event *add_event(events *all)
{
    event *e = calloc(1, sizeof *e);
    *all->end = e;
    all->end = &e->next;
    return e;
}

static void free_events(events *all)
{
    for (event *e = all->first, *next; e; e = next) {
        next = e->next;
        cJSON_Delete(e->row);
        free(e);
    }
    *all = (events){0};
    all->end = &all->first;
}

static void *bytes(size_t size, void *user)
{
    events *all = user;
    return all->pieces == 64 ? NULL : (all->bytes[all->pieces++] = calloc(1, size + 64));
}

static void failed(int64_t row, const hr_error *error, void *user)
{
    events *all = user;
    event *e = calloc(1, sizeof *e);
    e->error = *error;
    all->failed[row] = e;
}

/* ---- the case's columns and options ---- */

typedef struct setting {
    hr_csv_column column[COLUMNS];
    hr_tensor fill[COLUMNS];
    char raw[COLUMNS][sizeof(hr_view)];
    int select[COLUMNS], exclude[COLUMNS];
    char *delimiter, *na;
    hr_csv_opts opts;
    bool refused; /* what this library has no option for is wrong */
} setting;

static void put_default(setting *s, int i, const cJSON *json, hr_dtype dtype)
{
    const cJSON *value = golden_get(json, "default"), *hex = golden_get(json, "default_hex");
    if (!value && !hex) return;
    s->fill[i] = (hr_tensor){.dtype = dtype, .count = 1, .data = s->raw[i]};
    s->column[i].default_value = &s->fill[i];
    if (dtype == HR_STRING) {
        hr_view view = golden_hex(hex);
        memcpy(s->raw[i], &view, sizeof view);
    } else if (dtype == HR_INT32) {
        memcpy(s->raw[i], &(int32_t){(int32_t)golden_number_int64(value)}, 4);
    } else if (dtype == HR_INT64) {
        memcpy(s->raw[i], &(int64_t){golden_number_int64(value)}, 8);
    } else if (dtype == HR_FLOAT) {
        memcpy(s->raw[i], &(float){(float)golden_number_double(value)}, 4);
    } else {
        memcpy(s->raw[i], &(double){golden_number_double(value)}, 8);
    }
}

static void put_places(const cJSON *list, int *place, const int **option, int *count)
{
    const cJSON *n;
    if (!list) return;
    *option = place;
    cJSON_ArrayForEach(n, list) place[(*count)++] = n->valueint;
}

static setting *read_setting(const cJSON *json, bool tf_compat)
{
    setting *s = calloc(1, sizeof *s);
    const cJSON *column, *options = golden_get(json, "options");
    int count = 0;
    cJSON_ArrayForEach(column, golden_get(json, "columns"))
    {
        s->column[count].dtype = hr_dtype_named(golden_text(column, "dtype", ""));
        put_default(s, count, column, s->column[count].dtype);
        count++;
    }
    s->opts = (hr_csv_opts){.struct_size = sizeof s->opts, .columns = s->column, .column_count = count};
    s->opts.no_header = !golden_bool(options, "header", false);
    s->opts.no_quotes = !golden_bool(options, "use_quote_delim", true);
    s->opts.tf_compat = tf_compat;
    if (golden_get(options, "field_delim_hex"))
        s->opts.delimiter = s->delimiter = (char *)golden_hex(golden_get(options, "field_delim_hex")).data;
    if (golden_get(options, "na_value_hex"))
        s->opts.na_value = s->na = (char *)golden_hex(golden_get(options, "na_value_hex")).data;
    put_places(golden_get(options, "select_cols"), s->select, &s->opts.select_cols, &s->opts.select_count);
    put_places(golden_get(options, "exclude_cols"), s->exclude, &s->opts.exclude_cols, &s->opts.exclude_count);
    const char *compression = golden_text(options, "compression_type", "");
    s->refused = !hr_compression_named(compression, &s->opts.compression);
    /* TensorFlow's buffer_size, which there is none of here; the case does not hold its value. */
    s->refused |= strstr(golden_text(golden_get(json, "error"), "tf_message", ""), "buffer_size") != NULL;
    return s;
}

static void free_setting(setting *s)
{
    for (int i = 0; i < s->opts.column_count; i++)
        if (s->fill[i].dtype == HR_STRING) {
            hr_view view;
            memcpy(&view, s->raw[i], sizeof view);
            free((char *)view.data);
        }
    free(s->delimiter);
    free(s->na);
    free(s);
}

/* ---- reading a file ---- */

static cJSON *value_json(hr_dtype dtype, const char *at)
{
    char text[64];
    float f;
    double d;
    int64_t i = 0;
    hr_view v;
    if (dtype == HR_STRING) {
        memcpy(&v, at, sizeof v);
        char *hex = calloc(1, (size_t)v.size * 2 + 1);
        for (int64_t k = 0; k < v.size; k++) sprintf(hex + 2 * k, "%02x", (unsigned char)v.data[k]);
        cJSON *json = cJSON_CreateObject();
        cJSON_AddStringToObject(json, "hex", hex);
        cJSON_AddNumberToObject(json, "length", (double)v.size);
        cJSON_AddNumberToObject(json, "crc32c", hr_crc32c(0, v.data, (size_t)v.size));
        free(hex);
        return json;
    }
    if (dtype == HR_FLOAT) {
        memcpy(&f, at, sizeof f);
        sprintf(text, "%a", (double)f);
    } else if (dtype == HR_DOUBLE) {
        memcpy(&d, at, sizeof d);
        sprintf(text, "%a", d);
    } else {
        int32_t small;
        if (dtype == HR_INT32)
            memcpy(&small, at, 4), i = small;
        else
            memcpy(&i, at, 8);
        sprintf(text, "%lld", (long long)i);
    }
    return cJSON_CreateString(text);
}

static bool parse_block(events *all, const hr__csv_format *f, hr__csv_file *file, const char *path,
                        const hr__csv_block *block, void *scratch)
{
    hr_column column[COLUMNS] = {0};
    hr_origin *origin = calloc((size_t)block->rows + 1, sizeof *origin);
    hr__csv_sink sink = {.column = column, .origin = origin, .bytes = bytes, .failed = failed, .user = all};
    hr_error err;
    all->failed = calloc((size_t)block->rows + 1, sizeof *all->failed);
    for (int c = 0; c < f->columns; c++) column[c].values = calloc((size_t)block->rows + 1, f->column[c].width);
    hr_status st = hr__csv_parse(f, hr__csv_file_layout(file), path, block, scratch, &sink, &err);
    if (st != HR_OK) fprintf(stderr, "%s\n", err.text);
    for (int64_t r = 0; st == HR_OK && r < block->rows; r++) {
        event *e = all->failed[r];
        if (e) {
            *all->end = e;
            all->end = &e->next;
            e->record = e->error.record, e->line = e->error.line, e->offset = e->error.offset;
            continue;
        }
        e = add_event(all);
        e->row = cJSON_CreateArray();
        e->record = block->record + r;
        e->offset = origin[r].offset;
        e->line = block->line + hr__csv_count_lines(block->data, (size_t)(e->offset - block->offset));
        for (int c = 0; c < f->columns; c++)
            cJSON_AddItemToArray(
                e->row, value_json(f->column[c].dtype, (char *)column[c].values + (size_t)r * f->column[c].width));
        all->rows++;
    }
    for (int c = 0; c < f->columns; c++) free(column[c].values);
    while (all->pieces > 0) free(all->bytes[--all->pieces]);
    free(all->failed);
    free(origin);
    return st == HR_OK;
}

static void read_file(events *all, const hr__csv_format *f, const char *path, size_t block_bytes, int64_t block_rows)
{
    hr__csv_file *file;
    hr__csv_block block;
    void *scratch = calloc(1, hr__csv_scratch_size());
    all->status = hr__csv_open(f, path, &file, &all->error);
    while (all->status == HR_OK) {
        all->status = hr__csv_read(file, block_bytes, block_rows, &block, &all->error);
        if (all->status == HR_OK && !parse_block(all, f, file, path, &block, scratch)) all->status = HR_INTERNAL;
        if (all->status == HR_OK) all->blank += block.blank;
    }
    if (all->status != HR_END) all->status = all->status == HR_OK ? HR_END : all->status;
    hr__csv_close(file);
    free(scratch);
}

/* ---- comparing ---- */

static bool same_value(hr_dtype dtype, const cJSON *expected, const cJSON *got)
{
    if (dtype == HR_STRING && cJSON_IsObject(expected))
        return golden_int(expected, "length", -1) == golden_int(got, "length", 0) &&
               golden_number_double(golden_get(expected, "crc32c")) == golden_number_double(golden_get(got, "crc32c"));
    if (dtype == HR_STRING) return strcmp(expected->valuestring, golden_text(got, "hex", "")) == 0;
    if (dtype == HR_INT32 || dtype == HR_INT64)
        return golden_number_int64(expected) == strtoll(got->valuestring, NULL, 10);
    double e = golden_number_double(expected), g = strtod(got->valuestring, NULL);
    if (dtype == HR_FLOAT) e = (double)(float)e, g = (double)(float)g;
    return memcmp(&e, &g, sizeof e) == 0 || (e != e && g != g);
}

static bool same_place(golden_case *c, int i, const cJSON *at, const event *e, const char *mode)
{
    int64_t record = golden_int(at, "record", -1), line = golden_int(at, "line", -1),
            offset = golden_int(at, "offset", -1), column = golden_int(at, "column", -1);
    if (!at) return true;
    if (record == e->record && line == e->line && offset == e->offset && (e->row || column == e->error.column))
        return true;
    golden_differs(c, "%s: event %d: expected record %d line %d offset %d column %d, got %d %d %d %d (%s)", mode, i,
                   (int)record, (int)line, (int)offset, (int)column, (int)e->record, (int)e->line, (int)e->offset,
                   e->error.column, e->error.text);
    return false;
}

static bool same_event(golden_case *c, int i, const cJSON *expected, const event *e, const hr__csv_format *f,
                       bool moved, const char *mode)
{
    const cJSON *row = golden_get(expected, "row");
    if (!row != !e->row) {
        char *text = cJSON_PrintUnformatted(row ? row : e->row);
        golden_differs(c, "%s: event %d: expected %s, got %s: %.300s %s", mode, i, row ? "a row" : "an error",
                       row ? "an error" : "a row", text, e->error.text);
        free(text);
        return false;
    }
    for (int k = 0; row && k < f->columns; k++)
        if (!same_value(f->column[k].dtype, cJSON_GetArrayItem(row, k), cJSON_GetArrayItem(e->row, k))) {
            char *a = cJSON_PrintUnformatted(cJSON_GetArrayItem(row, k));
            char *b = cJSON_PrintUnformatted(cJSON_GetArrayItem(e->row, k));
            golden_differs(c, "%s: event %d: column %d: expected %.100s, got %.100s", mode, i, k, a, b);
            free(a);
            free(b);
            return false;
        }
    if (!row && strcmp(golden_error_class(expected), hr_status_name(e->error.code)) != 0) {
        golden_differs(c, "%s: event %d: expected %s, got %s", mode, i, golden_error_class(expected), e->error.text);
        return false;
    }
    return moved || same_place(c, i, golden_get(expected, "at"), e, mode);
}

static bool ends_with(golden_case *c, const events *all, const char *class, const char *mode)
{
    if (all->status != HR_END && strcmp(hr_status_name(all->status), class) == 0) return true;
    golden_differs(c, "%s: expected %s at the end, got %s", mode, class, hr_status_name(all->status));
    return false;
}

/* What comes after the last event of the case: the end, or the error of the file, which is final here. */
static bool same_events(golden_case *c, const cJSON *expected, events *all, const char *mode)
{
    const cJSON *list = golden_get(expected, "events"), *item;
    const event *e = all->first;
    int i = 0;
    cJSON_ArrayForEach(item, list)
    {
        if (!e && golden_get(item, "error")) return ends_with(c, all, golden_error_class(item), mode);
        if (!e) {
            golden_differs(c, "%s: expected %d events, got %d; the file ended with %s", mode, cJSON_GetArraySize(list),
                           i, all->status == HR_END ? "its end" : all->error.text);
            return false;
        }
        if (!same_event(c, i++, item, e, all->format, all->moved, mode)) return false;
        if (!e->row && !all->format->tf_compat && strcmp(e->error.kind, "csv.quote") == 0) all->moved = true;
        e = e->next;
    }
    if (!e && all->status == HR_END) return true;
    golden_differs(c, "%s: expected the end after %d events, got %s", mode, i, e ? "more" : all->error.text);
    return false;
}

static bool same_counts(golden_case *c, const cJSON *expected, const events *all)
{
    int64_t rows = golden_int(expected, "rows", -1), max = golden_int(expected, "rows_at_most", -1);
    const cJSON *then = golden_get(expected, "then_error");
    if ((rows >= 0 && rows != all->rows) || (max >= 0 && all->rows > max)) {
        golden_differs(c, "default: expected %d rows (at most %d), got %d", (int)rows, (int)max, (int)all->rows);
        return false;
    }
    if (then) return ends_with(c, all, golden_text(then, "class", ""), "default");
    return all->status == HR_END || ends_with(c, all, "End", "default");
}

/* ---- csv_dataset ---- */

static bool write_content(const cJSON *json, char *path)
{
    hr_view content = golden_hex(golden_get(json, "content_hex"));
    strcpy(path, "content.csv");
    FILE *file = fopen(path, "wb");
    bool good = file && fwrite(content.data, 1, (size_t)content.size, file) == (size_t)content.size;
    if (file) fclose(file);
    free((char *)content.data);
    return good;
}

static void read_files(golden_case *c, events *all, const hr__csv_format *f, size_t block_bytes, int64_t block_rows)
{
    char path[4096];
    const cJSON *files = golden_get(c->json, "files"), *file;
    free_events(all);
    all->format = f;
    if (golden_get(c->json, "content_hex")) {
        write_content(c->json, path);
        read_file(all, f, path, block_bytes, block_rows);
    } else if (golden_get(c->json, "file")) {
        snprintf(path, sizeof path, "%s/%s", c->folder, golden_text(c->json, "file", ""));
        read_file(all, f, path, block_bytes, block_rows);
    }
    cJSON_ArrayForEach(file, files)
    {
        snprintf(path, sizeof path, "%s/%s", c->folder, file->valuestring);
        read_file(all, f, path, block_bytes, block_rows);
        if (all->status != HR_END) break;
    }
}

static bool compare_mode(golden_case *c, events *all, bool tf_compat)
{
    const cJSON *json = c->json, *own = tf_compat ? NULL : golden_get(json, "default");
    const char *mode = tf_compat ? "tf_compat" : "default";
    const cJSON *blank = golden_get(own, "blank_lines_skipped");
    if (blank && cJSON_GetArraySize(blank) != all->blank) {
        golden_differs(c, "default: expected %d blank lines, got %d", cJSON_GetArraySize(blank), (int)all->blank);
        return false;
    }
    if (golden_get(own, "events")) return same_events(c, own, all, mode);
    if (golden_get(own, "rows") || golden_get(own, "rows_at_most")) return same_counts(c, own, all);
    return same_events(c, golden_get(json, "expect"), all, mode);
}

static bool run_mode(golden_case *c, bool tf_compat)
{
    static const struct {
        size_t bytes;
        int64_t rows;
    } sizes[] = {{262144, 1 << 20}, {65536, 3}, {100, 2}, {1, 1}};
    const char *mode = tf_compat ? "tf_compat" : "default";
    setting *s = read_setting(c->json, tf_compat);
    hr__csv_format *f = NULL;
    hr_error err = {.text = "an option is refused"};
    events all = {.end = &all.first};
    const cJSON *own = tf_compat ? NULL : golden_get(c->json, "default");
    const cJSON *refusal = golden_get(own, "error") ? golden_get(own, "error")
                           : own                    ? NULL
                                                    : golden_get(c->json, "error");
    hr_status st = s->refused ? HR_INVALID_ARGUMENT : hr__csv_format_new(&s->opts, &f, &err);
    bool good = true;
    if (refusal || st != HR_OK) {
        const char *class = refusal ? golden_text(refusal, "class", "") : "";
        good = st != HR_OK && strcmp(class, hr_status_name(st)) == 0;
        if (!good) golden_differs(c, "%s: expected the error %s, got %s", mode, class, st == HR_OK ? "none" : err.text);
    } else {
        bool long_file =
            strstr(golden_text(c->json, "file", ""), "long") || strstr(golden_text(c->json, "file", ""), "border");
        for (size_t i = 0; good && i < (long_file ? 2 : sizeof sizes / sizeof *sizes); i++) {
            read_files(c, &all, f, sizes[i].bytes, sizes[i].rows);
            good = compare_mode(c, &all, tf_compat);
        }
    }
    free_events(&all);
    hr__csv_format_free(f);
    free_setting(s);
    return good;
}

/* ---- decode_csv ---- */

static bool decode_mode(golden_case *c, bool tf_compat)
{
    setting *s = read_setting(c->json, tf_compat);
    hr_tensor records, out[COLUMNS] = {0};
    hr_error err = {0};
    const cJSON *expected = golden_expectation(c->json, tf_compat), *tensor;
    const char *class = golden_error_class(expected);
    if (!class && !golden_get(expected, "expect")) class = golden_error_class(c->json);
    golden_tensor(golden_get(c->json, "records"), &records);
    hr_status st = hr_decode_csv_with(&records, out, &s->opts, &err);
    bool good = class ? strcmp(class, hr_status_name(st)) == 0 : st == HR_OK;
    if (!good) golden_differs(c, "expected %s, got %s", class ? class : "tensors", st == HR_OK ? "tensors" : err.text);
    int i = 0;
    const cJSON *columns = golden_get(golden_get(expected, "expect"), "columns");
    if (!columns) columns = golden_get(golden_get(c->json, "expect"), "columns");
    cJSON_ArrayForEach(tensor, columns)
    {
        good = good && st == HR_OK && golden_equal_json(c, "column", tensor, &out[i]);
        hr_tensor_clear(&out[i++]);
    }
    golden_tensor_clear(&records);
    free_setting(s);
    return good;
}

/* ---- numbers ---- */

static const cJSON *number_result(const cJSON *json, int i, bool tf_compat)
{
    const cJSON *r;
    if (!tf_compat) cJSON_ArrayForEach(r, golden_get(golden_get(json, "default"), "results_that_differ"))
        {
            if (golden_int(r, "index", -1) == i) return r;
        }
    return cJSON_GetArrayItem(golden_get(golden_get(json, "expect"), "results"), i);
}

static bool number_mode(golden_case *c, bool tf_compat)
{
    hr_tensor texts;
    hr_dtype dtype = hr_dtype_named(golden_text(c->json, "dtype", ""));
    bool good = true;
    golden_tensor(golden_get(c->json, "texts"), &texts);
    for (int i = 0; good && i < texts.count; i++) {
        char raw[16] = {0};
        hr_view text = ((hr_view *)texts.data)[i];
        const cJSON *expected = number_result(c->json, i, tf_compat), *value = golden_get(expected, "value");
        const hr__csv_format format = {.tf_compat = tf_compat};
        const hr__csv_column column = {.dtype = dtype};
        bool parsed = hr__csv_parse_value(&format, &column, text.data, (size_t)text.size, raw);
        cJSON *got = value_json(dtype, raw);
        good = parsed == !!value && (!value || same_value(dtype, value, got));
        if (!good)
            golden_differs(c, "%s: \"%.*s\": %s %s", tf_compat ? "tf_compat" : "default", (int)text.size, text.data,
                           parsed ? "got" : "refused", got->valuestring);
        cJSON_Delete(got);
    }
    golden_tensor_clear(&texts);
    return good;
}

static golden_result run_case(golden_case *c)
{
    golden_whole(c->json); /* some of its fields say in other words what others say */
    const char *op = golden_text(c->json, "op", "");
    bool (*run)(golden_case *, bool) = strcmp(op, "csv_dataset") == 0    ? run_mode
                                       : strcmp(op, "decode_csv") == 0   ? decode_mode
                                       : strcmp(op, "parse_number") == 0 ? number_mode
                                                                         : NULL;
    if (!run) return golden_not_built(c, "op %s", op);
    return run(c, true) && run(c, false) ? GOLDEN_AGREES : GOLDEN_DIFFERS;
}

int main(void) { return golden_main("csv", GOLDEN_ROOT, run_case); }
