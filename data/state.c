/* Saved states: a header that says whose state it is (the operators and their arguments, the files that were read),
 * where the consumer stands, and a checksum. A state fits its own pipeline and unchanged files only. */
#include "data/state_files.h"
#include "base/bytes.h"
#include <inttypes.h>
#include <string.h>

enum { VERSION = 4, HEADER = 8, FOOTER = 4 };
static const char MAGIC[4] = {'H', 'R', 'I', 'T'};

/* ---- whose state it is: each operator's name and arguments, top down ---- */

static uint64_t count_operators(const hr_dataset *ds)
{
    uint64_t count = 1;
    for (int i = 0; i < ds->inputs; i++) count += count_operators(ds->in[i]);
    return count;
}

static void put_operators(hr__text *to, const hr_dataset *ds)
{
    hr__put_text(to, ds->op->name, strlen(ds->op->name));
    hr__put_u32(to, hr__dataset_arguments(ds));
    for (int i = 0; i < ds->inputs; i++) put_operators(to, ds->in[i]);
}

static hr_status check_operators(hr__wire *from, const hr_dataset *ds, hr_error *err)
{
    const hr_view name = hr__get_text(from);
    const uint32_t arguments = hr__get_u32(from);
    if (from->damaged) return hr__state_damaged(err);
    if ((size_t)name.size != strlen(ds->op->name) || memcmp(name.data, ds->op->name, (size_t)name.size) != 0)
        return hr_fail(err, HR_FAILED_PRECONDITION, "state.other_pipeline",
                       "saved state: expected operator '%s' here, the state was saved with '%.*s'; restore it into the "
                       "pipeline that saved it",
                       ds->op->name, name.size < 60 ? (int)name.size : 60, name.data);
    if (arguments != hr__dataset_arguments(ds))
        return hr_fail(err, HR_FAILED_PRECONDITION, "state.other_arguments",
                       "saved state: operator '%s' has other arguments or components than when the state was saved; "
                       "give it the same ones, or begin anew",
                       ds->op->name);
    for (int i = 0; i < ds->inputs; i++) HR_TRY(check_operators(from, ds->in[i], err));
    return HR_OK;
}

/* ---- saving ---- */

static hr_status put_position(hr__text *to, hr_iterator *it, hr_error *err)
{
    unsigned char *position = NULL;
    size_t size = 0;
    HR_TRY(hr__position_write(&it->engine, &it->input, &position, &size, err));
    hr__text_bytes(to, position, size);
    hr_free(position);
    return HR_OK;
}

hr_status hr_iterator_save(hr_iterator *it, void **state, size_t *size, hr_error *err)
{
    hr__text b = {0};
    *state = NULL;
    *size = 0;
    const hr_error *failed = hr_iterator_error(it);
    if (failed) {
        if (err) *err = *failed;
        return failed->code;
    }
    HR_TRY(hr__order_kept(&it->engine, err));
    hr__text_bytes(&b, MAGIC, sizeof MAGIC);
    hr__put_u32(&b, VERSION);
    hr__put_number(&b, it->engine.seed);
    hr__put_number(&b, count_operators(it->ds));
    put_operators(&b, it->ds);
    hr_status st = hr__state_put_files(&b, it, err);
    if (st == HR_OK) st = put_position(&b, it, err);
    hr__put_u32(&b, hr_crc32c(0, b.data, b.size));
    if (st == HR_OK) st = hr__text_status(&b, "a saved state", err);
    if (st == HR_OK) {
        *size = b.size;
        *state = hr__text_take(&b);
    }
    hr__text_free(&b);
    return st;
}

/* ---- restoring ---- */

static hr_status check_frame(const unsigned char *state, size_t size, hr_error *err)
{
    if (size < HEADER + FOOTER || memcmp(state, MAGIC, sizeof MAGIC) != 0) return hr__state_damaged(err);
    if (hr__get32(state + 4) != VERSION)
        return hr_fail(err, HR_FAILED_PRECONDITION, "state.version",
                       "saved state: expected version %d, got %" PRIu32 "; it was saved by another Headrace", VERSION,
                       hr__get32(state + 4));
    if (hr_crc32c(0, state, size - FOOTER) != hr__get32(state + size - FOOTER)) return hr__state_damaged(err);
    return HR_OK;
}

hr_status hr__state_load(hr_iterator *it, const void *state, size_t size, hr_error *err)
{
    HR_TRY(check_frame(state, size, err));
    hr__wire from = {.at = (const unsigned char *)state + HEADER, .end = (const unsigned char *)state + size - FOOTER};
    it->engine.seed = hr__get_number(&from);
    const uint64_t operators = hr__get_number(&from);
    if (from.damaged) return hr__state_damaged(err);
    it->engine.seed_drawn = false;
    if (operators != count_operators(it->ds))
        return hr_fail(err, HR_FAILED_PRECONDITION, "state.other_pipeline",
                       "saved state: expected a pipeline of %" PRIu64
                       " operators, as the one that saved it, got one of "
                       "%" PRIu64,
                       operators, count_operators(it->ds));
    HR_TRY(check_operators(&from, it->ds, err));
    HR_TRY(hr__state_check_files(&from, it, err));
    return hr__position_read(&it->engine, &it->input, &(hr_token_reader){from.at, from.end}, err);
}
