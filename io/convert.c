/* convert runs in rounds. While one batch of pieces is encoded, the next is read and the one before is written, all of
 * it tasks of one parallel loop; between rounds, in order, rows are dealt over the shards. So the files are the same for
 * any number of threads. Shards get their names only when all is done. */
#include "io/convert.h"
#include "base/number.h"
#include "base/pool.h"
#include "io/convert_rows.h"
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { PIECE = 256 * 1024, PIECE_ROWS = 16384, PIECES = 8, STAGES = 3, MAX_SHARDS = 10000 };

typedef struct batch {
    hr__convert_piece piece[PIECES];
    int count;
    bool last; /* the file ends behind it */
    hr_status status;
    hr_error err;
} batch;

typedef struct shard {
    char *path;
    hr_output *out;
    bool committed;
    hr_status status;
    hr_error err;
} shard;

typedef struct converter {
    hr__convert_plan plan;
    hr__csv_file *file;
    shard *shard;
    int shards, files;    /* of a split; of all */
    int64_t dealt[2];     /* rows of a split so far */
    batch *stage[STAGES]; /* being read, encoded, written; NULL: nothing */
    batch memory[STAGES];
    hr__convert_result *result;
    int64_t total;
    bool made_folder;
} converter;

/* ---- the plan ---- */

static hr_status need_field(const hr__schema_file *schema, const char *name, const char *what, int *index,
                            hr_error *err)
{
    const char *names[512];
    int count = schema->fields < 512 ? schema->fields : 512;
    *index = hr__schema_find(schema, name);
    if (*index >= 0) return HR_OK;
    for (int i = 0; i < count; i++) names[i] = schema->field[i].name;
    const char *near = hr__suggest(name, names, count);
    return hr_fail(err, HR_INVALID_ARGUMENT, "convert.field",
                   "convert: %s: expected a field of the schema, got '%.60s'%s%.60s%s", what, name,
                   near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

static hr_status plan_rows(converter *k, hr_error *err)
{
    const hr__convert_opts *o = k->plan.opts;
    k->plan.split = -1;
    if (o->split_column) {
        HR_TRY(need_field(o->schema, o->split_column, "split", &k->plan.split, err));
        if (o->schema->field[k->plan.split].dtype != HR_INT64 || o->split_folds < 2)
            return hr_fail(err, HR_INVALID_ARGUMENT, "convert.split",
                           "convert: split: expected an int64 field and 2 folds or more, got '%.60s' of %s and %lld",
                           o->split_column, hr_dtype_name(o->schema->field[k->plan.split].dtype),
                           (long long)o->split_folds);
    }
    k->plan.require = hr_calloc((size_t)o->schema->fields, sizeof *k->plan.require);
    if (!k->plan.require) return hr_no_memory(err, "convert");
    for (int i = 0; i < o->require_count; i++) {
        int index;
        HR_TRY(need_field(o->schema, o->require[i], "require", &index, err));
        k->plan.require[index] = true;
    }
    return HR_OK;
}

/* A float64 of the schema is stored as float32, so it is read as one: rounded once. */
static hr_dtype read_as(const hr__schema_field *f) { return f->stored == HR_FLOAT ? HR_FLOAT : f->dtype; }

static hr_status plan_columns(converter *k, hr_error *err)
{
    const hr__convert_opts *o = k->plan.opts;
    const size_t count = (size_t)o->schema->fields;
    hr_csv_column *column = hr_calloc(count, sizeof *column);
    hr_field *field = hr_calloc(count, sizeof *field);
    hr_status st = column && field ? HR_OK : hr_no_memory(err, "convert");
    for (size_t i = 0; st == HR_OK && i < count; i++) {
        column[i] = (hr_csv_column){.name = o->schema->field[i].name, .dtype = read_as(&o->schema->field[i])};
        field[i] = (hr_field){.name = column[i].name, .dtype = column[i].dtype};
    }
    hr_csv_opts csv = {.struct_size = sizeof csv, .columns = column, .column_count = (int)count, .keep_missing = true};
    csv.delimiter = o->delimiter;
    csv.na_value = o->na_value;
    if (st == HR_OK) st = hr__csv_format_new(&csv, &k->plan.format, err);
    if (st == HR_OK) st = hr__row_writer_new(field, (int)count, &k->plan.writer, err);
    hr_free(column);
    hr_free(field);
    return st;
}

/* ---- the shards ---- */

static hr_status make_folder(converter *k, const char *path, hr_error *err)
{
    struct stat s;
    if (stat(path, &s) == 0 && S_ISDIR(s.st_mode)) return HR_OK;
    char *part = hr_strdup(path);
    if (!part) return hr_no_memory(err, "convert");
    bool good = true;
    for (char *p = part + 1; good && *p; p++) {
        if (*p != '/') continue;
        *p = '\0';
        good = mkdir(part, 0777) == 0 || errno == EEXIST;
        *p = '/';
    }
    hr_free(part);
    if (good && mkdir(path, 0777) == 0) {
        k->made_folder = true;
        return HR_OK;
    }
    if (good && errno == EEXIST && stat(path, &s) == 0 && S_ISDIR(s.st_mode)) return HR_OK;
    hr_status st = hr_fail(err, errno == EACCES ? HR_PERMISSION_DENIED : HR_INVALID_ARGUMENT, "convert.folder",
                           "%s: expected a folder or room for one, got: %s", path, strerror(errno));
    hr_error_file(err, path);
    return st;
}

static char *join(const char *folder, const char *prefix, int number, int count)
{
    char name[64];
    snprintf(name, sizeof name, "%05d-of-%05d.tfrecord", number, count);
    const size_t size = strlen(folder) + strlen(prefix) + strlen(name) + 2;
    char *path = hr_malloc(size);
    if (path) snprintf(path, size, "%s/%s%s", folder, prefix, name);
    return path;
}

/* The prefix of a split's files. */
static const char *prefix_of(const hr__convert_opts *o, bool test)
{
    return o->split_column ? (test ? "test-" : "train-") : o->prefix ? o->prefix : "data-";
}

static bool is_ours(const converter *k, const char *name)
{
    for (int i = 0; i < k->files; i++)
        if (strcmp(strrchr(k->shard[i].path, '/') + 1, name) == 0) return true;
    return false;
}

static bool ends_with(const char *text, const char *end)
{
    const size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

/* Shards of an earlier conversion into another number of files would be read along with ours. */
static hr_status refuse_leftovers(const converter *k, hr_error *err)
{
    const hr__convert_opts *o = k->plan.opts;
    DIR *folder = opendir(o->out);
    hr_status st = HR_OK;
    for (struct dirent *e; folder && st == HR_OK && (e = readdir(folder));) {
        bool alike = ends_with(e->d_name, ".tfrecord") && strstr(e->d_name, "-of-");
        bool read_along = false;
        for (int test = 0; test < 2; test++)
            read_along |= strncmp(e->d_name, prefix_of(o, test), strlen(prefix_of(o, test))) == 0;
        if (!alike || !read_along || is_ours(k, e->d_name)) continue;
        st =
            hr_fail(err, HR_ALREADY_EXISTS, "convert.leftover",
                    "%s: expected no shards of another conversion, found '%.80s'; remove them or choose another folder",
                    o->out, e->d_name);
        hr_error_file(err, o->out);
    }
    if (folder) closedir(folder);
    return st;
}

static hr_status open_shards(converter *k, hr_error *err)
{
    const hr__convert_opts *o = k->plan.opts;
    const hr_output_opts opts = {
        .struct_size = sizeof opts, .compression = o->compression ? o->compression : HR_NONE, .no_sync = o->no_sync};
    k->shards = o->shards ? o->shards : 1;
    if (k->shards < 1 || k->shards > MAX_SHARDS)
        return hr_fail(err, HR_INVALID_ARGUMENT, "convert.shards", "convert: expected 1 to %d shards, got %d",
                       MAX_SHARDS, k->shards);
    k->files = k->shards * (o->split_column ? 2 : 1);
    k->shard = hr_calloc((size_t)k->files, sizeof *k->shard);
    if (!k->shard) {
        k->files = 0;
        return hr_no_memory(err, "convert");
    }
    HR_TRY(make_folder(k, o->out, err));
    for (int i = 0; i < k->files; i++)
        if (!(k->shard[i].path = join(o->out, prefix_of(o, i >= k->shards), i % k->shards, k->shards)))
            return hr_no_memory(err, "convert");
    HR_TRY(refuse_leftovers(k, err));
    for (int i = 0; i < k->files; i++) HR_TRY(hr_output_open_with(k->shard[i].path, &opts, &k->shard[i].out, err));
    return HR_OK;
}

/* When one cannot be finished, those that were are taken back. */
static hr_status commit_shards(converter *k, hr_error *err)
{
    hr_status st = HR_OK;
    for (int i = 0; st == HR_OK && i < k->files; i++) {
        hr_output *out = k->shard[i].out;
        k->shard[i].out = NULL;
        st = hr_output_commit(out, err);
        k->shard[i].committed = st == HR_OK;
    }
    for (int i = 0; st != HR_OK && i < k->files; i++)
        if (k->shard[i].committed) unlink(k->shard[i].path);
    return st;
}

static void close_shards(converter *k, bool failed)
{
    for (int i = 0; i < k->files; i++) {
        hr_output_discard(k->shard[i].out);
        hr_free(k->shard[i].path);
    }
    hr_free(k->shard);
    if (failed && k->made_folder) rmdir(k->plan.opts->out);
}

/* ---- a round ---- */

static void read_batch(converter *k, batch *b)
{
    b->count = 0;
    b->status = HR_OK;
    while (b->count < PIECES && b->status == HR_OK && !b->last) {
        hr__csv_block block;
        hr_status st = hr__csv_read(k->file, PIECE, PIECE_ROWS, &block, &b->err);
        b->last = st == HR_END;
        if (st == HR_OK) st = hr__convert_piece_take(&b->piece[b->count], &block, &b->err);
        if (st == HR_OK)
            b->count++;
        else if (st != HR_END)
            b->status = st;
    }
}

static void write_shard(converter *k, const batch *b, int file)
{
    shard *s = &k->shard[file];
    for (int i = 0; i < b->count && s->status == HR_OK; i++) {
        const hr__convert_piece *piece = &b->piece[i];
        for (int32_t r = piece->first[file]; r >= 0 && s->status == HR_OK; r = piece->record[r].next)
            s->status = hr_output_write(s->out, piece->out + piece->record[r].at, piece->record[r].size, &s->err);
    }
}

/* Task 0 reads, the next ones encode a piece each, the last ones write a shard each. */
static void run_task(int64_t i, void *user)
{
    converter *k = user;
    batch *encoding = k->stage[1];
    const int64_t pieces = encoding ? encoding->count : 0;
    if (i == 0) {
        if (k->stage[0]) read_batch(k, k->stage[0]);
    } else if (i <= pieces) {
        hr__convert_piece_encode(&k->plan, &encoding->piece[i - 1]);
    } else {
        write_shard(k, k->stage[2], (int)(i - 1 - pieces));
    }
}

static void deal_piece(converter *k, hr__convert_piece *piece)
{
    hr__convert_result *result = k->result;
    for (int i = 0; i < k->files; i++) piece->first[i] = piece->last[i] = -1;
    for (int64_t r = 0; r < piece->records; r++) {
        hr__convert_record *record = &piece->record[r];
        const int test = record->test, file = test * k->shards + (int)(k->dealt[test]++ % k->shards);
        record->next = -1;
        if (piece->last[file] >= 0)
            piece->record[piece->last[file]].next = (int32_t)r;
        else
            piece->first[file] = (int32_t)r;
        piece->last[file] = (int32_t)r;
        result->bytes_out += (int64_t)record->size;
    }
    result->rows += piece->block.rows;
    result->blank += piece->block.blank;
    result->written += piece->records;
    result->dropped += piece->dropped;
    for (int c = 0; c < k->plan.format->columns; c++) result->missing[c] += piece->missing[c];
}

/* The first thing that failed, in the order of the file. */
static hr_status check_round(converter *k, hr_error *err)
{
    const batch *encoded = k->stage[1];
    for (int i = 0; k->stage[2] && i < k->files; i++) {
        if (k->shard[i].status == HR_OK) continue;
        if (err) *err = k->shard[i].err;
        return k->shard[i].status;
    }
    for (int i = 0; encoded && i < encoded->count; i++) {
        if (encoded->piece[i].status == HR_OK) continue;
        if (err) *err = encoded->piece[i].err;
        return encoded->piece[i].status;
    }
    if (!encoded || encoded->status == HR_OK) return HR_OK;
    if (err) *err = encoded->err;
    return encoded->status;
}

static hr_status tell(converter *k, hr_error *err)
{
    const hr__convert_opts *o = k->plan.opts;
    int64_t line, record;
    hr__csv_tell(k->file, &k->result->bytes_in, &line, &record);
    if (!o->progress) return HR_OK;
    const int64_t compressed = hr__csv_compressed_offset(k->file);
    hr__convert_progress p = {compressed >= 0 ? compressed : k->result->bytes_in, k->total, k->result->rows};
    if (o->progress(&p, o->user)) return HR_OK;
    return hr_fail(err, HR_CANCELLED, "cancelled", "convert: cancelled after %lld rows; nothing was written",
                   (long long)p.rows);
}

static hr_status run(converter *k, hr_error *err)
{
    k->stage[0] = &k->memory[0];
    for (int next = 1; k->stage[0] || k->stage[1] || k->stage[2]; next = (next + 1) % STAGES) {
        const int64_t tasks = 1 + (k->stage[1] ? k->stage[1]->count : 0) + (k->stage[2] ? k->files : 0);
        hr__parallel_for(tasks, run_task, k);
        HR_TRY(check_round(k, err));
        for (int i = 0; k->stage[1] && i < k->stage[1]->count; i++) deal_piece(k, &k->stage[1]->piece[i]);
        HR_TRY(tell(k, err));
        const bool more = k->stage[0] && !k->stage[0]->last && k->stage[0]->status == HR_OK;
        k->stage[2] = k->stage[1];
        k->stage[1] = k->stage[0];
        k->stage[0] = more ? &k->memory[next] : NULL;
    }
    return HR_OK;
}

/* ---- all of it ---- */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static hr_status prepare(converter *k, hr_error *err)
{
    const hr__convert_opts *o = k->plan.opts;
    struct stat s;
    k->total = stat(o->input, &s) == 0 && S_ISREG(s.st_mode) ? s.st_size : -1;
    HR_TRY(plan_rows(k, err));
    HR_TRY(plan_columns(k, err));
    HR_TRY(hr__csv_open(k->plan.format, o->input, &k->file, err));
    k->plan.layout = hr__csv_file_layout(k->file);
    if (hr__csv_lacks_header(k->file)) {
        hr_fail(err, HR_INVALID_ARGUMENT, "csv.header", "%s: expected a header, found an empty file", o->input);
        hr_error_file(err, o->input);
        return HR_INVALID_ARGUMENT;
    }
    HR_TRY(open_shards(k, err));
    for (int b = 0; b < STAGES; b++)
        for (int i = 0; i < PIECES; i++)
            HR_TRY(hr__convert_piece_make(&k->memory[b].piece[i], o->schema->fields, k->files, err));
    k->result->missing = hr_calloc((size_t)o->schema->fields, sizeof *k->result->missing);
    k->result->files = k->files;
    return k->result->missing ? HR_OK : hr_no_memory(err, "convert");
}

static void clean_up(converter *k, bool failed)
{
    close_shards(k, failed);
    hr__csv_close(k->file);
    for (int b = 0; b < STAGES; b++)
        for (int i = 0; i < PIECES; i++) hr__convert_piece_free(&k->memory[b].piece[i]);
    hr__row_writer_free(k->plan.writer);
    hr__csv_format_free(k->plan.format);
    hr_free(k->plan.require);
    hr_free(k);
}

hr_status hr__convert(const hr__convert_opts *opts, hr__convert_result *result, hr_error *err)
{
    const double begin = now();
    *result = (hr__convert_result){0};
    converter *k = hr_calloc(1, sizeof *k);
    if (!k) return hr_no_memory(err, "convert");
    k->plan.opts = opts;
    k->result = result;
    hr_status st = prepare(k, err);
    if (st == HR_OK) st = run(k, err);
    if (st == HR_OK) st = commit_shards(k, err);
    result->written_test = k->dealt[1];
    clean_up(k, st != HR_OK);
    result->seconds = now() - begin;
    return st;
}

void hr__convert_clear(hr__convert_result *result)
{
    hr_free(result->missing);
    *result = (hr__convert_result){0};
}

hr_status hr__convert_parse_split(const char *text, char **column, int64_t *folds, hr_error *err)
{
    const char *colon = strrchr(text, ':');
    *column = NULL;
    const bool good = colon && colon > text &&
                      hr__parse_int64(colon + 1, strlen(colon + 1), HR__NUMBER_DEFAULT, folds) == HR__PARSED &&
                      *folds >= 2;
    if (!good)
        return hr_fail(err, HR_INVALID_ARGUMENT, "convert.split",
                       "split: expected FIELD:FOLDS with 2 folds or more, got \"%.60s\"; for example row:5", text);
    *column = hr_strdup(text);
    if (!*column) return hr_no_memory(err, "split");
    (*column)[colon - text] = '\0';
    return HR_OK;
}
