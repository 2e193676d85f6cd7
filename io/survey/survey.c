/* Few files are cut into pieces: while one round of pieces is looked at, the next is read. Many files are dealt over
 * the slots whole, so that each is inflated by another thread. */
#include "io/survey/survey.h"
#include "base/pool.h"
#include "io/convert/format.h"
#include "io/file_system.h"
#include <stdatomic.h>
#include <string.h>
#include <uv.h>

enum { SLOTS = HR__SURVEY_SLOTS };

hr_status hr__survey_need(const void *pointer, const char *what, hr_error *err)
{
    return pointer ? HR_OK : hr_fail(err, HR_INVALID_ARGUMENT, "survey.argument", "expected %s, got NULL", what);
}

hr_status hr__survey_check(const hr_file_list *files, const hr_survey_opts *opts, hr_error *err)
{
    const hr_survey_opts o = hr__survey_defaults(opts);
    HR_TRY(hr__survey_need(files, "a list of files", err));
    HR_TRY(hr__file_list_check("survey", "survey.argument", files, err));
    if (o.max_records < 0)
        return hr_fail(err, HR_INVALID_ARGUMENT, "survey.argument",
                       "survey: .max_records: expected a number of records, or 0 for all, got %lld",
                       (long long)o.max_records);
    if (o.format && !hr_file_format_name(o.format)[0])
        return hr_fail(err, HR_INVALID_ARGUMENT, "survey.argument",
                       "survey: .format: expected one of hr_file_format, got %d; there is no such one", (int)o.format);
    return HR_OK;
}

hr_survey_opts hr__survey_defaults(const hr_survey_opts *opts) { return HR_OPTIONS(hr_survey_opts, opts); }

/* ---- a run ---- */

typedef struct hr__survey_run {
    hr__survey *survey;
    hr__survey_scratch scratch[SLOTS];
    hr__survey_piece piece[2][SLOTS]; /* being read, being looked at */
    int count[2];
    int now;   /* the round that is read */
    int slots; /* that pieces of this file are dealt over */
    hr__survey_source *source;
    bool ended;
    hr_status read_status;
    hr_error read_err;
    struct {
        hr_status status;
        int file;
        hr_error err;
    } failed[SLOTS]; /* many files: the first failure of each slot */
    _Atomic int64_t bytes, records;
    _Atomic bool stop;
    int64_t total;
    uv_thread_t caller;
} run;

static bool survey_go_on(run *r)
{
    const hr_survey_opts *o = r->survey->opts;
    uv_thread_t self = uv_thread_self();
    if (atomic_load(&r->stop)) return false;
    if (!o->progress || !uv_thread_equal(&self, &r->caller)) return true;
    const hr_progress now = {atomic_load(&r->bytes), r->total, atomic_load(&r->records)};
    if (!o->progress(&now, o->user)) atomic_store(&r->stop, true);
    return !atomic_load(&r->stop);
}

static hr_status cancelled(hr_error *err)
{
    return hr_fail(err, HR_CANCELLED, "cancelled", "cancelled before all records were read");
}

hr_status hr__survey_ask(const hr__survey *survey, hr_error *err)
{
    if (survey->run) return survey_go_on(survey->run) ? HR_OK : cancelled(err);
    const hr_survey_opts o = hr__survey_defaults(survey->opts);
    const hr_progress now = {survey->bytes, survey->total, survey->records};
    return !o.progress || o.progress(&now, o.user) ? HR_OK : cancelled(err);
}

/* ---- few files ---- */

/* A round is a piece for each slot, or as many as have about the usual bytes together: of long records only a few are
 * in memory. */
static void read_round(run *r)
{
    const int at = r->now;
    size_t bytes = 0;
    r->count[at] = 0;
    while (r->count[at] < r->slots && bytes < SLOTS * HR__SURVEY_PIECE && !r->ended && r->read_status == HR_OK) {
        hr__survey_piece *piece = &r->piece[at][r->count[at]];
        hr_status st = hr__survey_read(r->source, piece, &r->read_err);
        r->ended = st == HR_END;
        if (st == HR_OK) r->count[at]++;
        if (st == HR_OK) bytes += piece->bytes.size;
        if (st < 0) r->read_status = st;
    }
}

static void run_task(int64_t i, void *user)
{
    run *r = user;
    if (i == 0) {
        read_round(r);
        return;
    }
    hr__survey_piece *piece = &r->piece[!r->now][i - 1];
    piece->status = hr__survey_look(r->survey, (int)i - 1, &r->scratch[i - 1], piece, &piece->err);
    atomic_fetch_add(&r->records, (int64_t)piece->records);
}

/* Of those asked for; all that were read are looked at, too, when the next file is opened. */
static int64_t records_left(const run *r)
{
    const int64_t max = r->survey->opts->max_records;
    return max ? max - atomic_load(&r->records) : INT64_MAX;
}

/* Each slot keeps what it knows of every column: of very many columns that is more than the rows, so few slots have it.
 * The number depends on the file alone, as all that is found does. */
static int slots_for(int64_t columns)
{
    enum { MANY = 8192 };
    if (columns <= MANY) return SLOTS;
    return columns < (int64_t)SLOTS * MANY ? (int)(SLOTS * MANY / columns) : 1;
}

static hr_status look_at_pieces(run *r, int file, hr_error *err)
{
    const int64_t before = atomic_load(&r->bytes);
    r->ended = false;
    r->read_status = HR_OK;
    r->count[0] = r->count[1] = 0;
    HR_TRY(hr__survey_open(r->survey, file, records_left(r), &r->source, err));
    r->slots = slots_for(hr__survey_columns(r->source));
    hr_status st = HR_OK;
    do {
        hr__parallel_for(1 + r->count[!r->now], run_task, r);
        for (int i = 0; i < r->count[!r->now] && st == HR_OK; i++) {
            const hr__survey_piece *piece = &r->piece[!r->now][i];
            st = piece->status;
            if (st != HR_OK && err) *err = piece->err;
        }
        atomic_store(&r->bytes, before + hr__survey_bytes(r->source));
        if (st == HR_OK && !survey_go_on(r)) st = cancelled(err);
        r->now = !r->now;
    } while (st == HR_OK && r->count[!r->now] > 0);
    if (st == HR_OK && r->read_status != HR_OK) {
        st = r->read_status;
        if (err) *err = r->read_err;
    }
    hr__survey_close(r->source);
    return st;
}

/* ---- many files ---- */

static hr_status look_at_file(run *r, int file, int slot, hr_error *err)
{
    hr__survey_source *source;
    hr_status st;
    HR_TRY(hr__survey_open(r->survey, file, INT64_MAX, &source, err));
    for (int64_t before = 0;;) {
        hr__survey_piece *piece = &r->piece[0][slot];
        if ((st = hr__survey_read(source, piece, err)) != HR_OK) break;
        if ((st = hr__survey_look(r->survey, slot, &r->scratch[slot], piece, err)) != HR_OK) break;
        atomic_fetch_add(&r->records, (int64_t)piece->records);
        atomic_fetch_add(&r->bytes, hr__survey_bytes(source) - before);
        before = hr__survey_bytes(source);
        if (survey_go_on(r)) continue;
        st = cancelled(err);
        break;
    }
    hr__survey_close(source);
    return st == HR_END ? HR_OK : st;
}

static void run_slot(int64_t slot, void *user)
{
    run *r = user;
    for (int64_t f = slot; f < r->survey->files->count && r->failed[slot].status == HR_OK; f += SLOTS) {
        r->failed[slot].status = look_at_file(r, (int)f, (int)slot, &r->failed[slot].err);
        r->failed[slot].file = (int)f;
    }
}

static hr_status look_at_files(run *r, hr_error *err)
{
    int first = -1;
    hr__parallel_for(SLOTS, run_slot, r);
    for (int i = 0; i < SLOTS; i++)
        if (r->failed[i].status != HR_OK && (first < 0 || r->failed[i].file < r->failed[first].file)) first = i;
    if (first < 0) return HR_OK;
    if (err) *err = r->failed[first].err;
    return r->failed[first].status;
}

hr_status hr__survey_run(hr__survey *survey, hr_error *err)
{
    run *r = hr_calloc(1, sizeof *r);
    if (!r) return hr_no_memory(err, "a survey");
    const hr_survey_opts opts = hr__survey_defaults(survey->opts), *given = survey->opts;
    survey->opts = &opts;
    r->survey = survey;
    survey->run = r;
    r->total = hr_paths_size(survey->files);
    r->caller = uv_thread_self();
    hr_status st = HR_OK;
    if (survey->files->count >= SLOTS && !opts.max_records)
        st = look_at_files(r, err);
    else
        for (int f = 0; f < survey->files->count && st == HR_OK && records_left(r) > 0; f++)
            st = look_at_pieces(r, f, err);
    survey->records = atomic_load(&r->records);
    survey->bytes = atomic_load(&r->bytes);
    survey->total = r->total;
    survey->run = NULL;
    for (int i = 0; i < SLOTS; i++) {
        hr__survey_piece_free(&r->piece[0][i]);
        hr__survey_piece_free(&r->piece[1][i]);
        hr__survey_scratch_free(&r->scratch[i]);
    }
    hr_free(r);
    survey->opts = given;
    return st;
}
