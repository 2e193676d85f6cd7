/* Saved states: a header that says whose state it is (the operators and their arguments, the files that were read),
 * where the consumer stands, and a checksum. A state fits its own pipeline and unchanged files only. */
#include "data/iterator.h"
#include <inttypes.h>
#include <string.h>

enum { VERSION = 2, HEADER = 8, FOOTER = 4, MOST_FILES = 64 };
static const char MAGIC[4] = {'H', 'R', 'I', 'T'};

/* ---- bytes ---- */

typedef struct bytes {
    unsigned char *data;
    size_t size, room;
    bool failed;
} bytes;

static void put(bytes *b, const void *from, size_t size)
{
    if (b->size + size > b->room) {
        unsigned char *grown = hr_realloc(b->data, 2 * b->room + size + 256);
        b->failed |= grown == NULL;
        if (!grown) return;
        b->data = grown;
        b->room = 2 * b->room + size + 256;
    }
    if (size) memcpy(b->data + b->size, from, size);
    b->size += size;
}

static void put_number(bytes *b, uint64_t value)
{
    unsigned char byte[10];
    size_t n = 0;
    for (; value > 127; value >>= 7) byte[n++] = (unsigned char)(value | 128);
    byte[n++] = (unsigned char)value;
    put(b, byte, n);
}

static void put_text(bytes *b, const char *text, size_t size)
{
    put_number(b, size);
    put(b, text, size);
}

static void put32(bytes *b, uint32_t value)
{
    const unsigned char byte[4] = {(unsigned char)value, (unsigned char)(value >> 8), (unsigned char)(value >> 16),
                                   (unsigned char)(value >> 24)};
    put(b, byte, sizeof byte);
}

typedef struct reader {
    const unsigned char *at, *end;
} reader;

static hr_status get_number(reader *r, uint64_t *value, hr_error *err)
{
    *value = 0;
    for (int shift = 0; shift < 64 && r->at < r->end; shift += 7) {
        *value |= (uint64_t)(*r->at & 127) << shift;
        if (*r->at++ < 128) return HR_OK;
    }
    return hr__state_damaged(err);
}

static hr_status get_text(reader *r, const char **text, size_t *size, hr_error *err)
{
    uint64_t length;
    HR_TRY(get_number(r, &length, err));
    if (length > (uint64_t)(r->end - r->at)) return hr__state_damaged(err);
    *text = (const char *)r->at;
    *size = (size_t)length;
    r->at += length;
    return HR_OK;
}

static uint32_t get32(const unsigned char *b)
{
    return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

/* ---- whose state it is: each operator's name and arguments, top down ---- */

static void identify_field(const hr_field *f, uint64_t *sum)
{
    hr_identify_text(sum, f->name);
    hr_identify_i64(sum, f->dtype);
    hr_identify_i64(sum, f->layout);
    hr_identify_i64(sum, f->label);
    for (int i = 0; i < f->shape.rank; i++) hr_identify_i64(sum, f->shape.dims[i]);
}

static uint32_t arguments_of(const hr_dataset *ds)
{
    uint64_t sum = UINT64_C(0xcbf29ce484222325);
    if (ds->op->identity) ds->op->identity(ds->spec, &sum);
    for (int i = 0; i < ds->out.schema.fields; i++) identify_field(&ds->out.schema.field[i], &sum);
    return (uint32_t)(sum ^ sum >> 32);
}

uint64_t hr__dataset_identity(const hr_dataset *ds)
{
    uint64_t sum = UINT64_C(0xcbf29ce484222325);
    hr_identify_text(&sum, ds->op->name);
    hr_identify_i64(&sum, arguments_of(ds));
    for (int i = 0; i < ds->inputs; i++) hr_identify_i64(&sum, (int64_t)hr__dataset_identity(ds->in[i]));
    return sum;
}

static uint64_t count_operators(const hr_dataset *ds)
{
    uint64_t count = 1;
    for (int i = 0; i < ds->inputs; i++) count += count_operators(ds->in[i]);
    return count;
}

static void put_operators(bytes *b, const hr_dataset *ds)
{
    put_text(b, ds->op->name, strlen(ds->op->name));
    put32(b, arguments_of(ds));
    for (int i = 0; i < ds->inputs; i++) put_operators(b, ds->in[i]);
}

static hr_status check_operators(reader *r, const hr_dataset *ds, hr_error *err)
{
    const char *name = "";
    size_t size = 0;
    HR_TRY(get_text(r, &name, &size, err));
    if (r->end - r->at < 4) return hr__state_damaged(err);
    const uint32_t arguments = get32(r->at);
    r->at += 4;
    if (size != strlen(ds->op->name) || memcmp(name, ds->op->name, size) != 0)
        return hr_fail(err, HR_FAILED_PRECONDITION, "state.other_pipeline",
                       "saved state: expected operator '%s' here, the state was saved with '%.*s'; restore it into the "
                       "pipeline that saved it",
                       ds->op->name, size < 60 ? (int)size : 60, name);
    if (arguments != arguments_of(ds))
        return hr_fail(err, HR_FAILED_PRECONDITION, "state.other_arguments",
                       "saved state: operator '%s' has other arguments or components than when the state was saved; "
                       "give it the same ones, or begin anew",
                       ds->op->name);
    for (int i = 0; i < ds->inputs; i++) HR_TRY(check_operators(r, ds->in[i], err));
    return HR_OK;
}

/* ---- which files: those opened last; each name says only where it differs from the one before ---- */

static size_t same_prefix(const char *a, const char *b)
{
    size_t n = 0;
    while (a[n] && a[n] == b[n]) n++;
    return n;
}

static void put_files(bytes *b, engine *e)
{
    hr__engine_lock(e);
    const int32_t first = e->files > MOST_FILES ? e->files - MOST_FILES : 0;
    const char *before = "";
    put_number(b, (uint64_t)(e->files - first));
    for (int32_t i = first; i < e->files; i++) {
        const noted_file *f = &e->file[i];
        const size_t same = same_prefix(before, f->name);
        put_number(b, same);
        put_text(b, f->name + same, strlen(f->name + same));
        put_number(b, (uint64_t)f->size);
        put_number(b, (uint64_t)f->mtime);
        put_number(b, f->sample);
        before = f->name;
    }
    hr__engine_unlock(e);
}

static hr_status check_file(const char *name, const noted_file *then, hr_error *err)
{
    const noted_file now = hr__note_file(name);
    if (hr__same_file(then, &now)) return HR_OK;
    hr_fail(err, HR_FAILED_PRECONDITION, "state.file_changed",
            now.size < 0 ? "saved state: file '%.200s' is gone since the state was saved; bring it back, or begin anew"
                         : "saved state: file '%.200s' has changed since the state was saved; bring it back, or begin "
                           "anew",
            name);
    hr_error_file(err, name);
    return HR_FAILED_PRECONDITION;
}

static hr_status check_one_file(reader *r, char **before, hr_error *err)
{
    const char *rest = "";
    size_t length = 0;
    uint64_t same, size, mtime, sample;
    HR_TRY(get_number(r, &same, err));
    HR_TRY(get_text(r, &rest, &length, err));
    HR_TRY(get_number(r, &size, err));
    HR_TRY(get_number(r, &mtime, err));
    HR_TRY(get_number(r, &sample, err));
    if (same > (*before ? strlen(*before) : 0)) return hr__state_damaged(err);
    char *name = hr_malloc((size_t)same + length + 1);
    if (!name) return hr_no_memory(err, "a saved state");
    if (same) memcpy(name, *before, (size_t)same);
    if (length) memcpy(name + same, rest, length);
    name[same + length] = '\0';
    hr_free(*before);
    *before = name;
    const noted_file then = {.size = (int64_t)size, .mtime = (int64_t)mtime, .sample = (uint32_t)sample};
    return check_file(name, &then, err);
}

static hr_status check_files(reader *r, hr_error *err)
{
    uint64_t files;
    char *name = NULL;
    hr_status st = get_number(r, &files, err);
    for (uint64_t i = 0; st == HR_OK && i < files; i++) st = check_one_file(r, &name, err);
    hr_free(name);
    return st;
}

/* ---- saving ---- */

static hr_status put_position(bytes *b, hr_iterator *it, hr_error *err)
{
    unsigned char *position = NULL;
    size_t size = 0;
    HR_TRY(hr__position_write(&it->engine, &it->input, &position, &size, err));
    put(b, position, size);
    hr_free(position);
    return HR_OK;
}

hr_status hr_iterator_save(hr_iterator *it, void **state, size_t *size, hr_error *err)
{
    bytes b = {0};
    *state = NULL;
    *size = 0;
    const hr_error *failed = hr_iterator_error(it);
    if (failed) {
        if (err) *err = *failed;
        return failed->code;
    }
    put(&b, MAGIC, sizeof MAGIC);
    put32(&b, VERSION);
    put_number(&b, it->engine.seed);
    put_number(&b, count_operators(it->ds));
    put_operators(&b, it->ds);
    put_files(&b, &it->engine);
    hr_status st = put_position(&b, it, err);
    put32(&b, hr_crc32c(0, b.data, b.size));
    if (st == HR_OK && b.failed) st = hr_no_memory(err, "a saved state");
    if (st != HR_OK) return hr_free(b.data), st;
    *state = b.data;
    *size = b.size;
    return HR_OK;
}

/* ---- restoring ---- */

static hr_status check_frame(const unsigned char *state, size_t size, hr_error *err)
{
    if (size < HEADER + FOOTER || memcmp(state, MAGIC, sizeof MAGIC) != 0) return hr__state_damaged(err);
    if (get32(state + 4) != VERSION)
        return hr_fail(err, HR_FAILED_PRECONDITION, "state.version",
                       "saved state: expected version %d, got %" PRIu32 "; it was saved by another Headrace", VERSION,
                       get32(state + 4));
    if (hr_crc32c(0, state, size - FOOTER) != get32(state + size - FOOTER)) return hr__state_damaged(err);
    return HR_OK;
}

hr_status hr__state_load(hr_iterator *it, const void *state, size_t size, hr_error *err)
{
    HR_TRY(check_frame(state, size, err));
    reader r = {(const unsigned char *)state + HEADER, (const unsigned char *)state + size - FOOTER};
    uint64_t operators;
    HR_TRY(get_number(&r, &it->engine.seed, err));
    HR_TRY(get_number(&r, &operators, err));
    it->engine.seed_drawn = false;
    if (operators != count_operators(it->ds))
        return hr_fail(err, HR_FAILED_PRECONDITION, "state.other_pipeline",
                       "saved state: expected a pipeline of %" PRIu64
                       " operators, as the one that saved it, got one of "
                       "%" PRIu64,
                       operators, count_operators(it->ds));
    HR_TRY(check_operators(&r, it->ds, err));
    HR_TRY(check_files(&r, err));
    hr_token_reader from = {r.at, r.end};
    return hr__position_read(&it->engine, &it->input, &from, err);
}
