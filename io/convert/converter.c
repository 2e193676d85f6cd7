/* convert runs in rounds. While one batch of pieces is encoded, the next is read and the one before is written, all
 * of it tasks of one parallel loop. Rows are dealt over the shards within their piece; between rounds, in order, each
 * piece learns how many rows come before it. So the files are the same for any number of threads. Shards get their names
 * only when all is done. */
#include "base/config.h"
#include "base/number.h"
#include "base/pool.h"
#include "io/convert/format.h"
#include "io/convert/lanes.h"
#include "io/file_system.h"
#include "io/framing.h"
#include <string.h>
#include <time.h>

enum { PIECES_PER_THREAD = 2, MAX_PIECES = 64, STAGES = 3 };

typedef struct batch {
    hr__convert_piece piece[MAX_PIECES];
    int count;
    bool last; /* the file ends after it */
    hr_status status;
    hr_error err;
} batch;

_Static_assert(sizeof((hr_convert_rounded){0}.first) == HR__NUMBER_TEXT, "room for a number's text");

typedef struct converter {
    hr__convert_plan plan;
    const char *path; /* the current file */
    void *source;
    hr__lanes lanes;
    int pieces;           /* of a batch */
    int64_t dealt[2];     /* rows of a split so far */
    batch *stage[STAGES]; /* being read, encoded, written; NULL: nothing */
    batch memory[STAGES];
    void *of_thread[HR__POOL_MAX_WORKERS + 1]; /* what the source's format keeps for each */
    hr_convert_result *result;
    int64_t rounded; /* values that float32 rounds, of all fields, and the first of them */
    hr__rounded first;
    const char *first_file, *first_field;
    int64_t before, total; /* bytes of the files before this one; of all on the disk, -1: not known */
} converter;

/* ---- the plan ---- */

static hr_status need_format(const char *name, const char *what, const hr__format *otherwise, const hr__format **out,
                             hr_error *err)
{
    char names[128];
    *out = name ? hr__format_named(name) : otherwise;
    if (*out) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "convert.format", "convert: .%s: expected %s, got \"%.40s\"", what,
                   hr_file_format_names(names, sizeof names), name);
}

static hr_status plan_formats(hr__convert_plan *plan, hr_error *err)
{
    const hr_convert_opts *o = plan->opts;
    if (!plan->inputs || plan->inputs->count < 1)
        return hr_fail(err, HR_INVALID_ARGUMENT, "convert.inputs", "convert: expected files to read, got none");
    if (!plan->out || !plan->out[0])
        return hr_fail(err, HR_INVALID_ARGUMENT, "convert.out", "convert: expected a folder or a file to write, got %s",
                       plan->out ? "\"\"" : "NULL");
    HR_TRY(hr__file_list_check("convert", "convert.inputs", plan->inputs, err));
    const hr__format *from = hr__format_of(plan->inputs->path[0]);
    const hr__format *to = hr__convert_is_file(plan->out) ? hr__format_of(plan->out) : NULL;
    HR_TRY(need_format(o->from, "from", from ? from : hr__format_named("csv"), &plan->from, err));
    return need_format(o->to, "to", to ? to : hr__format_named("tfrecord"), &plan->to, err);
}

hr_status hr_convert_formats(const hr_file_list *inputs, const char *out, const hr_convert_opts *opts,
                             const char **from, const char **to, hr_error *err)
{
    const hr_convert_opts o = HR_OPTIONS(hr_convert_opts, opts);
    hr__convert_plan plan = {.inputs = inputs, .out = out, .opts = &o};
    HR_TRY(plan_formats(&plan, err));
    if (from) *from = plan.from->name;
    if (to) *to = plan.to->name;
    return HR_OK;
}

static hr_status need_field(const hr__schema_file *schema, const char *name, const char *what, hr_error *err)
{
    const char *names[512];
    if (!schema || hr__schema_find(schema, name) >= 0) return HR_OK;
    int count = schema->fields < 512 ? schema->fields : 512;
    for (int i = 0; i < count; i++) names[i] = schema->field[i].name;
    const char *near = hr_suggest(name, names, count);
    return hr_fail(err, HR_INVALID_ARGUMENT, "convert.field",
                   "convert: %s: expected a field of the schema, got '%.60s'%s%.60s%s", what, name,
                   near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

static hr_status plan_files(const hr__convert_plan *plan, hr_error *err)
{
    const hr_convert_opts *o = plan->opts;
    if (o->index && plan->to->id != HR_FORMAT_TFRECORD)
        return hr_fail(err, HR_INVALID_ARGUMENT, "convert.index",
                       "convert: .index: expected TFRecords to be written, which alone have one, got %s",
                       plan->to->name);
    hr_file_about about;
    const bool is_new = !hr__convert_is_file(plan->out) && !hr__path_about(plan->out, &about);
    if (is_new) HR_TRY(hr__format_check_name(plan->out, err));
    return o->resume ? hr_need_files_again(plan->inputs, "leave .resume out", err) : HR_OK;
}

static hr_status plan_rows(const hr_convert_opts *o, hr_error *err)
{
    if (o->split_column) HR_TRY(need_field(o->schema, o->split_column, "split", err));
    if (o->split_column && o->split_folds < 2)
        return hr_fail(err, HR_INVALID_ARGUMENT, "convert.split", "convert: split: expected 2 folds or more, got %lld",
                       (long long)o->split_folds);
    if (!o->require && o->require_count > 0)
        return hr_fail(err, HR_INVALID_ARGUMENT, "convert.field", "convert: require: expected %d fields, got NULL",
                       o->require_count);
    if (o->max_rows < 0)
        return hr_fail(err, HR_INVALID_ARGUMENT, "convert.argument",
                       "convert: .max_rows: expected a number of rows, or 0 for all, got %lld", (long long)o->max_rows);
    for (int i = 0; i < o->require_count; i++) {
        if (!o->require[i])
            return hr_fail(err, HR_INVALID_ARGUMENT, "convert.field", "convert: require: expected a field, got NULL");
        HR_TRY(need_field(o->schema, o->require[i], "require", err));
    }
    return HR_OK;
}

/* ---- a round ---- */

/* A piece for each of `pieces`, or as many as have about the usual bytes together: of long rows only a few are in
 * memory. */
static void read_batch(converter *k, batch *b)
{
    const int64_t begin = k->plan.from->bytes(k->source), max = (int64_t)k->pieces * HR__CONVERT_PIECE;
    b->count = 0;
    b->last = false;
    b->status = HR_OK;
    while (b->count < k->pieces && k->plan.from->bytes(k->source) - begin < max && b->status == HR_OK && !b->last) {
        hr__convert_piece *piece = &b->piece[b->count];
        const hr_status st = k->plan.from->read(k->source, piece, &b->err);
        piece->source = k->source;
        b->last = st == HR_END;
        if (st == HR_OK)
            b->count++;
        else if (st != HR_END)
            b->status = st;
    }
}

/* What the other format has for a record. A record of which it can say nothing is skipped, if the policy says so. */
static hr_status converter_write_record(const converter *k, hr__convert_piece *piece, hr__convert_record *r,
                                        bool *written)
{
    const hr_view example = {piece->out + r->at + HR__RECORD_HEADER, (int64_t)(r->size - HR__RECORD_FRAME)};
    hr_error *err = &piece->err;
    r->text = piece->text.size;
    hr_status st = k->plan.to->write(piece->writer, example, &piece->text, err);
    r->text_size = piece->text.size - r->text;
    *written = st == HR_OK;
    if (st == HR_OK) {
        const bool is_last = r->at + r->size == piece->out_used;
        if (is_last) hr__piece_drop_long(piece);
        return HR_OK;
    }
    piece->text.size = r->text;
    err->record = piece->first + r->row;
    hr_error_prefix(err, "%s: record %lld: ", k->path, (long long)err->record);
    hr_error_file(err, k->path);
    if (!hr__policy_covers(k->plan.policy, err)) return st;
    const hr_error why = *err;
    piece->rejected++;
    return hr__policy_take(k->plan.policy, &why, example, err);
}

/* Where encoding ended with a failure, one of a record before that row comes first. */
static void write_records(const converter *k, hr__convert_piece *piece)
{
    int64_t kept = 0;
    hr_status st = HR_OK;
    const hr_error later = piece->err;
    hr__text_clear(&piece->text);
    for (int64_t i = 0; i < piece->records && st == HR_OK; i++) {
        bool written;
        piece->record[kept] = piece->record[i];
        st = converter_write_record(k, piece, &piece->record[kept], &written);
        kept += written;
    }
    piece->records = kept;
    if (st != HR_OK)
        piece->status = st;
    else if (piece->status != HR_OK)
        piece->err = later;
}

/* Deals the records out by their numbers in the piece. Which lane then takes which of these lists follows from how many
 * records are in the pieces before. */
static void deal_records(const converter *k, hr__convert_piece *piece)
{
    piece->dealt[0] = piece->dealt[1] = 0;
    piece->bytes = 0;
    for (int i = 0; i < k->lanes.all; i++) piece->head[i] = piece->tail[i] = -1;
    for (int32_t r = 0; r < piece->records; r++) {
        hr__convert_record *record = &piece->record[r];
        const int test = record->test;
        const int to = test * k->lanes.count[0] + (int)(piece->dealt[test]++ % k->lanes.count[test]);
        piece->bytes += (int64_t)record->size;
        record->next = -1;
        if (piece->tail[to] >= 0)
            piece->record[piece->tail[to]].next = r;
        else
            piece->head[to] = r;
        piece->tail[to] = r;
    }
}

static void encode_piece(converter *k, hr__convert_piece *piece)
{
    piece->records = piece->dropped = piece->rejected = 0;
    piece->out_used = 0;
    piece->status = HR_OK;
    for (int i = 0; k->result->missing && i < k->plan.opts->schema->fields; i++) {
        piece->missing[i] = 0;
        piece->rounded[i].count = 0;
    }
    piece->memory = &k->of_thread[hr__pool_thread()];
    k->plan.from->encode(&k->plan, piece);
    if (k->plan.to->write) write_records(k, piece);
    deal_records(k, piece);
}

static void write_record(const converter *k, hr__lane *lane, const hr__convert_piece *piece,
                         const hr__convert_record *record)
{
    if (k->plan.to->write)
        hr__lane_write(lane, piece->text.data + record->text, record->text_size);
    else
        hr__lane_write(lane, piece->out + record->at, record->size);
}

/* Row n of a split goes to lane n mod lanes, unless a run before has written it. */
static void write_lane(const converter *k, hr__lane *lane, const batch *b, int number)
{
    const int split = number >= k->lanes.count[0], lanes = k->lanes.count[split];
    const int64_t own = number - split * k->lanes.count[0];
    for (int i = 0; i < b->count && lane->status == HR_OK; i++) {
        const hr__convert_piece *piece = &b->piece[i];
        const int64_t first = (own + lanes - piece->before[split] % lanes) % lanes; /* its first one in the piece */
        int64_t n = piece->before[split] + first;
        int32_t r = piece->head[split * k->lanes.count[0] + first];
        for (; r >= 0 && lane->status == HR_OK; r = piece->record[r].next, n += lanes)
            if (!hr__lanes_have(&k->lanes, split, n)) write_record(k, lane, piece, &piece->record[r]);
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
        encode_piece(k, &encoding->piece[i - 1]);
    } else {
        write_lane(k, &k->lanes.lane[i - 1 - pieces], k->stage[2], (int)(i - 1 - pieces));
    }
}

/* Pieces come in the order of the files: the first one that has any has the first of all. */
static void deal_rounded(converter *k, int field, const hr__rounded *rounded)
{
    hr_convert_rounded *all = &k->result->rounded[field];
    if (rounded->count == 0) return;
    if (k->rounded == 0 || (k->first_file == k->path && rounded->record < k->first.record)) {
        k->first = *rounded;
        k->first_file = k->path;
        k->first_field = k->plan.opts->schema->field[field].name;
    }
    k->rounded += rounded->count;
    if (all->count == 0) {
        all->record = rounded->record;
        memcpy(all->first, rounded->first, sizeof all->first);
    }
    all->count += rounded->count;
}

/* What a schema asked for is done, but not in silence. */
static void tell_rounded(const converter *k)
{
    if (k->rounded == 0) return;
    hr_log_message(HR_WARNING,
                   "%s: float32 rounds %lld value%s, first in record %lld: \"%s\" of '%.60s'; a schema that says int64 "
                   "or string keeps them",
                   k->first_file, (long long)k->rounded, k->rounded == 1 ? "" : "s", (long long)k->first.record,
                   k->first.first, k->first_field);
}

static void deal_piece(converter *k, hr__convert_piece *piece)
{
    hr_convert_result *result = k->result;
    for (int split = 0; split < 2; split++) {
        piece->before[split] = k->dealt[split];
        k->dealt[split] += piece->dealt[split];
    }
    result->rows += piece->rows;
    result->bytes_out += piece->bytes;
    result->blank += piece->blank;
    result->written += piece->records;
    result->dropped += piece->dropped;
    result->rejected += piece->rejected;
    for (int c = 0; result->missing && c < k->plan.opts->schema->fields; c++) {
        result->missing[c] += piece->missing[c];
        deal_rounded(k, c, &piece->rounded[c]);
    }
}

/* The first thing that failed, in the order of the file. */
static hr_status check_round(converter *k, hr_error *err)
{
    const batch *encoded = k->stage[1];
    for (int i = 0; k->stage[2] && i < k->lanes.all; i++) {
        if (k->lanes.lane[i].status == HR_OK) continue;
        if (err) *err = k->lanes.lane[i].err;
        return k->lanes.lane[i].status;
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

static hr_status converter_tell(converter *k, hr_error *err)
{
    const hr_convert_opts *o = k->plan.opts;
    if (!o->progress) return HR_OK;
    const hr_progress p = {k->before + k->plan.from->place(k->source), k->total, k->result->rows};
    if (o->progress(&p, o->user)) return HR_OK;
    return hr_fail(err, HR_CANCELLED, "cancelled", "convert: cancelled after %lld rows; nothing was written",
                   (long long)p.records);
}

static hr_status check_budget(const converter *k, const hr_error *last, hr_error *err)
{
    return hr__policy_budget(k->plan.policy, "convert", k->result->rejected, k->result->rows, last, err);
}

/* The memory of records that were written goes to those that are encoded next: two batches of them share the caches, not
 * three. */
static void pass_memory(batch *written, batch *read)
{
    for (int i = 0; written && read && i < read->count; i++) {
        hr__convert_piece *from = &written->piece[i], *to = &read->piece[i];
        const hr__convert_piece was = *to;
        to->out = from->out, to->out_capacity = from->out_capacity;
        to->record = from->record, to->record_space = from->record_space;
        from->out = was.out, from->out_capacity = was.out_capacity;
        from->record = was.record, from->record_space = was.record_space;
    }
}

static hr_status converter_run(converter *k, hr_error *err)
{
    k->stage[0] = &k->memory[0];
    for (int next = 1; k->stage[0] || k->stage[1] || k->stage[2]; next = (next + 1) % STAGES) {
        const int64_t tasks = 1 + (k->stage[1] ? k->stage[1]->count : 0) + (k->stage[2] ? k->lanes.all : 0);
        hr__parallel_for(tasks, run_task, k);
        HR_TRY(check_round(k, err));
        HR_TRY(hr__lanes_note(&k->lanes, err));
        for (int i = 0; k->stage[1] && i < k->stage[1]->count; i++) {
            hr__convert_piece *piece = &k->stage[1]->piece[i];
            deal_piece(k, piece);
            if (piece->rejected) HR_TRY(check_budget(k, &piece->err, err));
        }
        HR_TRY(converter_tell(k, err));
        const bool more = k->stage[0] && !k->stage[0]->last && k->stage[0]->status == HR_OK;
        pass_memory(k->stage[2], k->stage[0]);
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

static hr_status make_piece(const converter *k, hr__convert_piece *piece, hr_error *err)
{
    const hr__schema_file *schema = k->plan.opts->schema;
    piece->missing = hr_calloc(schema ? (size_t)schema->fields : 1, sizeof *piece->missing);
    piece->rounded = hr_calloc(schema ? (size_t)schema->fields : 1, sizeof *piece->rounded);
    piece->head = hr_calloc((size_t)k->lanes.all, sizeof *piece->head);
    piece->tail = hr_calloc((size_t)k->lanes.all, sizeof *piece->tail);
    if (!piece->missing || !piece->rounded || !piece->head || !piece->tail) return hr_no_memory(err, "convert");
    hr_view head;
    return k->plan.to->write ? k->plan.to->writer_new(&k->plan, &piece->writer, &head, err) : HR_OK;
}

static hr_status converter_open_input(converter *k, int64_t i, hr_error *err)
{
    k->path = k->plan.inputs->path[i];
    return k->plan.from->open(&k->plan, k->path, &k->source, err);
}

/* The first file is opened before anything is made. */
static hr_status converter_prepare(converter *k, hr_error *err)
{
    const hr_convert_opts *o = k->plan.opts;
    HR_TRY(plan_formats(&k->plan, err));
    HR_TRY(plan_files(&k->plan, err));
    HR_TRY(plan_rows(o, err));
    HR_TRY(hr__policy_new(&o->policy, "convert", &k->plan.policy, err));
    k->total = hr_paths_size(k->plan.inputs);
    HR_TRY(converter_open_input(k, 0, err));
    HR_TRY(hr__lanes_open(&k->plan, &k->lanes, err));
    k->pieces = PIECES_PER_THREAD * (hr_threads() + 1);
    if (k->pieces > MAX_PIECES) k->pieces = MAX_PIECES;
    for (int b = 0; b < STAGES; b++)
        for (int i = 0; i < k->pieces; i++) HR_TRY(make_piece(k, &k->memory[b].piece[i], err));
    if (!o->schema) return HR_OK;
    k->result->missing = hr_calloc((size_t)o->schema->fields, sizeof *k->result->missing);
    k->result->rounded = hr_calloc((size_t)o->schema->fields, sizeof *k->result->rounded);
    return k->result->missing && k->result->rounded ? HR_OK : hr_no_memory(err, "convert");
}

static void close_input(converter *k)
{
    if (!k->source) return;
    const int64_t size = hr_path_size(k->path);
    k->result->bytes_in += k->plan.from->bytes(k->source);
    if (k->plan.from->damaged) k->result->rejected += k->plan.from->damaged(k->source);
    k->plan.from->close(k->source);
    k->source = NULL;
    if (size > 0) k->before += size;
}

static hr_status run_all(converter *k, hr_error *err)
{
    for (int64_t i = 0; i < k->plan.inputs->count; i++) {
        if (i > 0) HR_TRY(converter_open_input(k, i, err));
        HR_TRY(converter_run(k, err));
        close_input(k);
    }
    return check_budget(k, NULL, err);
}

static void clean_up(converter *k)
{
    close_input(k);
    hr__lanes_close(&k->lanes);
    hr__policy_free(k->plan.policy);
    for (int i = 0; i <= HR__POOL_MAX_WORKERS; i++)
        if (k->of_thread[i]) k->plan.from->memory_free(k->of_thread[i]);
    for (int b = 0; b < STAGES; b++)
        for (int i = 0; i < k->pieces; i++) {
            hr__convert_piece *piece = &k->memory[b].piece[i];
            if (piece->own) k->plan.from->piece_free(piece->own);
            if (piece->writer) k->plan.to->writer_free(piece->writer);
            hr__text_free(&piece->text);
            hr_free(piece->out);
            hr_free(piece->record);
            hr_free(piece->missing);
            hr_free(piece->rounded);
            hr_free(piece->head);
            hr_free(piece->tail);
        }
    hr_free(k);
}

static hr_status convert_all(const hr__convert_plan *plan, hr_convert_result *result, hr_error *err)
{
    const double begin = now();
    converter *k = hr_calloc(1, sizeof *k);
    if (!k) return hr_no_memory(err, "convert");
    k->plan = *plan;
    k->result = result;
    hr_status st = converter_prepare(k, err);
    if (st == HR_OK) st = run_all(k, err);
    if (st == HR_OK) st = hr__lanes_commit(&k->lanes, result, err);
    if (st == HR_OK) tell_rounded(k);
    result->written_test = k->dealt[1];
    clean_up(k);
    result->seconds = now() - begin;
    return st;
}

hr_status hr_convert_with(const hr_file_list *inputs, const char *out, const hr_convert_opts *opts,
                          hr_convert_result *result, hr_error *err)
{
    const hr_convert_opts o = HR_OPTIONS(hr_convert_opts, opts);
    hr_convert_result unwanted = {0};
    if (result) *result = unwanted;
    const hr_status st =
        convert_all(&(hr__convert_plan){.inputs = inputs, .out = out, .opts = &o}, result ? result : &unwanted, err);
    hr_convert_result_clear(&unwanted);
    return st;
}

void hr_convert_result_clear(hr_convert_result *result)
{
    if (!result) return;
    hr_free(result->missing);
    hr_free(result->rounded);
    *result = (hr_convert_result){0};
}

hr_status hr_convert_parse_split(const char *text, char **column, int64_t *folds, hr_error *err)
{
    const char *colon = text ? strrchr(text, ':') : NULL;
    if (!column || !folds)
        return hr_fail(err, HR_INVALID_ARGUMENT, "convert.argument", "split: expected where to put it, got NULL");
    *column = NULL;
    const bool good = colon && colon > text &&
                      hr__parse_int64(colon + 1, strlen(colon + 1), HR__NUMBER_DEFAULT, folds) == HR__PARSED &&
                      *folds >= 2;
    if (!good)
        return hr_fail(err, HR_INVALID_ARGUMENT, "convert.split",
                       "split: expected FIELD:FOLDS with 2 folds or more, got \"%.60s\"; for example row:5",
                       text ? text : "");
    *column = hr_strdup(text);
    if (!*column) return hr_no_memory(err, "split");
    (*column)[colon - text] = '\0';
    return HR_OK;
}
