/* convert runs in rounds. While one batch of pieces is encoded, the next is read and the one before is written, all of
 * it tasks of one parallel loop; between rounds, in order, rows are dealt over the shards. So the files are the same for
 * any number of threads. Shards get their names only when all is done. */
#include "io/convert.h"
#include "base/number.h"
#include "base/pool.h"
#include "base/text.h"
#include "io/convert_rows.h"
#include "io/shards.h"
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { PIECE = 256 * 1024, PIECE_ROWS = 16384, PIECES = 8, STAGES = 3 };

typedef struct batch {
    hr__convert_piece piece[PIECES];
    int count;
    bool last; /* the file ends behind it */
    hr_status status;
    hr_error err;
} batch;

/* One of the places of a writer that may be written to at the same time: a shard, or the one that is being filled. */
typedef struct lane {
    hr_shard_writer *writer;
    int number;
    hr_status status;
    hr_error err;
} lane;

typedef struct converter {
    hr__convert_plan plan;
    hr__csv_file *file;
    hr_shard_writer *writer[2]; /* of a split each */
    int writers;
    lane *lane;
    int lanes[2], all_lanes; /* of a split */
    int64_t dealt[2];        /* rows of a split so far */
    batch *stage[STAGES];    /* being read, encoded, written; NULL: nothing */
    batch memory[STAGES];
    hr__convert_result *result;
    int64_t total;
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

/* All that decides what the records are, so that no run goes on with another's. */
static char *resume_key(const converter *k)
{
    const hr__convert_opts *o = k->plan.opts;
    hr__text key = {0};
    struct stat s = {0};
    stat(o->input, &s);
    hr__text_printf(&key, "%s %" PRId64 " %" PRId64 " ", o->input, (int64_t)s.st_size, (int64_t)s.st_mtime);
    hr__text_printf(&key, "%s:%" PRId64 " %s %s\n", o->split_column ? o->split_column : "", o->split_folds,
                    o->delimiter ? o->delimiter : "", o->na_value ? o->na_value : "");
    for (int i = 0; i < o->schema->fields; i++)
        hr__text_printf(&key, "%s %s %d\n", o->schema->field[i].name, hr_dtype_name(o->schema->field[i].stored),
                        k->plan.require[i]);
    return hr__text_take(&key);
}

static hr_status open_writer(converter *k, bool test, const hr_shard_writer_opts *opts, hr_error *err)
{
    const hr__convert_opts *o = k->plan.opts;
    const char *prefix = o->split_column ? (test ? "test-" : "train-") : o->prefix ? o->prefix : "data-";
    hr__text path = {0};
    hr__text_printf(&path, "%s/%s", o->out, prefix);
    hr_status st = hr__text_status(&path, "convert", err);
    if (st == HR_OK) st = hr_shard_writer_open_with(path.data, opts, &k->writer[k->writers], err);
    if (st == HR_OK) k->lanes[k->writers] = hr__shard_lanes(k->writer[k->writers]);
    if (st == HR_OK) k->all_lanes += k->lanes[k->writers++];
    hr__text_free(&path);
    return st;
}

static hr_status open_shards(converter *k, hr_error *err)
{
    const hr__convert_opts *o = k->plan.opts;
    char *key = resume_key(k);
    if (!key) return hr_no_memory(err, "convert");
    const hr_shard_writer_opts opts = {.struct_size = sizeof opts,
                                       .shards = o->shards,
                                       .max_shard_bytes = o->max_shard_bytes,
                                       .compression = o->compression ? o->compression : HR_NONE,
                                       .no_sync = o->no_sync,
                                       .resume = o->resume,
                                       .resume_key = key};
    hr_status st = open_writer(k, false, &opts, err);
    if (st == HR_OK && o->split_column) st = open_writer(k, true, &opts, err);
    hr_free(key);
    if (st != HR_OK) return st;
    k->lane = hr_calloc((size_t)k->all_lanes, sizeof *k->lane);
    if (!k->lane) return hr_no_memory(err, "convert");
    for (int i = 0; i < k->all_lanes; i++) {
        const bool second = i >= k->lanes[0];
        k->lane[i] = (lane){.writer = k->writer[second], .number = i - (second ? k->lanes[0] : 0)};
    }
    return HR_OK;
}

static hr_status commit_shards(converter *k, hr_error *err)
{
    for (int i = 0; i < k->writers; i++) k->result->resumed += hr_shard_writer_resumed(k->writer[i]);
    hr_status st = hr__shards_commit(k->writer, k->writers, &k->result->files, err);
    k->writers = 0;
    return st;
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

static void write_lane(lane *to, const batch *b, int number)
{
    for (int i = 0; i < b->count && to->status == HR_OK; i++) {
        const hr__convert_piece *piece = &b->piece[i];
        for (int32_t r = piece->first[number]; r >= 0 && to->status == HR_OK; r = piece->record[r].next)
            to->status = hr__shard_append(to->writer, to->number, piece->out + piece->record[r].at,
                                          piece->record[r].size, &to->err);
    }
}

/* Task 0 reads, the next ones encode a piece each, the last ones write a lane each. */
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
        write_lane(&k->lane[i - 1 - pieces], k->stage[2], (int)(i - 1 - pieces));
    }
}

/* Row n of a split goes to lane n mod lanes, unless a run before has written it. */
static void deal_record(converter *k, hr__convert_piece *piece, int32_t r)
{
    hr__convert_record *record = &piece->record[r];
    const int test = record->test;
    const int64_t n = k->dealt[test]++;
    k->result->bytes_out += (int64_t)record->size;
    record->next = -1;
    if (n < hr_shard_writer_resumed(k->writer[test])) return;
    const int to = test * k->lanes[0] + (int)(n % k->lanes[test]);
    if (piece->last[to] >= 0)
        piece->record[piece->last[to]].next = r;
    else
        piece->first[to] = r;
    piece->last[to] = r;
}

static void deal_piece(converter *k, hr__convert_piece *piece)
{
    hr__convert_result *result = k->result;
    for (int i = 0; i < k->all_lanes; i++) piece->first[i] = piece->last[i] = -1;
    for (int32_t r = 0; r < piece->records; r++) deal_record(k, piece, r);
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
    for (int i = 0; k->stage[2] && i < k->all_lanes; i++) {
        if (k->lane[i].status == HR_OK) continue;
        if (err) *err = k->lane[i].err;
        return k->lane[i].status;
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
        const int64_t tasks = 1 + (k->stage[1] ? k->stage[1]->count : 0) + (k->stage[2] ? k->all_lanes : 0);
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
            HR_TRY(hr__convert_piece_make(&k->memory[b].piece[i], o->schema->fields, k->all_lanes, err));
    k->result->missing = hr_calloc((size_t)o->schema->fields, sizeof *k->result->missing);
    return k->result->missing ? HR_OK : hr_no_memory(err, "convert");
}

static void clean_up(converter *k)
{
    while (k->writers > 0) hr_shard_writer_discard(k->writer[--k->writers]); /* the first made the folder */
    hr_free(k->lane);
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
    clean_up(k);
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
