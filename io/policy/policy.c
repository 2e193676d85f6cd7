/* Policies: a frozen copy of hr_policy with its quarantine file. Reports are serialised, so that callbacks need no
 * lock. */
#include "io/policy/policy.h"
#include "io/policy/quarantine.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <uv.h>

enum { SHARE_OF = 1000 /* at least, until the end: the first record of all is no share of anything */ };

struct hr__policy {
    hr_policy opts;
    uv_mutex_t telling;
    hr__quarantine quarantine;
};

static hr_status policy_check(const hr_policy *opts, const char *who, hr_error *err)
{
    if (opts->on_error < HR_FAIL || opts->on_error > HR_QUARANTINE)
        return hr_fail(err, HR_INVALID_ARGUMENT, "policy.on_error", "%s: expected an .on_error of hr_on_error, got %d",
                       who, (int)opts->on_error);
    if ((opts->on_error == HR_QUARANTINE) != (opts->quarantine_file != NULL))
        return hr_fail(err, HR_INVALID_ARGUMENT, "policy.quarantine_file",
                       "%s: expected .quarantine_file with HR_QUARANTINE, and with nothing else, got %s", who,
                       opts->quarantine_file ? "a file for another policy" : "none");
    if (opts->max_errors < 0 || !(opts->max_error_share >= 0 && opts->max_error_share <= 1))
        return hr_fail(err, HR_INVALID_ARGUMENT, "policy.limit",
                       "%s: expected .max_errors from 0 on and .max_error_share from 0 to 1, got %" PRId64 " and %g",
                       who, opts->max_errors, opts->max_error_share);
    return HR_OK;
}

hr_status hr__policy_new(const hr_policy *opts, const char *who, hr__policy **out, hr_error *err)
{
    *out = NULL;
    HR_TRY(policy_check(opts, who, err));
    if (opts->on_error == HR_FAIL) return HR_OK;
    hr__policy *p = hr_calloc(1, sizeof *p);
    char *path = hr_strdup(opts->quarantine_file);
    if (!p || (opts->quarantine_file && !path) || uv_mutex_init(&p->telling) != 0) {
        hr_free(path);
        hr_free(p);
        return hr_no_memory(err, "a policy");
    }
    p->opts = *opts;
    p->opts.quarantine_file = path;
    p->quarantine = (hr__quarantine){.path = path, .fd = -1};
    *out = p;
    return HR_OK;
}

void hr__policy_free(hr__policy *p)
{
    if (!p) return;
    hr__quarantine_close(&p->quarantine);
    uv_mutex_destroy(&p->telling);
    hr_free(p->quarantine.path);
    hr_free(p);
}

bool hr__policy_covers(const hr__policy *p, const hr_error *damage)
{
    return p && (damage->code == HR_DATA_LOSS || damage->code == HR_INVALID_ARGUMENT) &&
           strncmp(damage->kind, "file.", 5) != 0;
}

hr_on_error hr__policy_on_error(const hr__policy *p) { return p ? p->opts.on_error : HR_FAIL; }

static hr_status take_piece(hr__policy *p, const hr_error *damage, hr_view bytes, hr_error *err)
{
    hr_status status = HR_OK;
    uv_mutex_lock(&p->telling);
    if (p->quarantine.path) status = hr__quarantine_add(&p->quarantine, damage, bytes, err);
    if (status == HR_OK && p->opts.on_damage) p->opts.on_damage(damage, bytes, p->opts.user);
    uv_mutex_unlock(&p->telling);
    return status;
}

hr_status hr__policy_take(hr__policy *p, const hr_error *damage, hr_view bytes, hr_error *err)
{
    hr_error piece = *damage;
    do {
        const int64_t size = bytes.size < HR__DAMAGE_PIECE ? bytes.size : HR__DAMAGE_PIECE;
        piece.length = size;
        HR_TRY(take_piece(p, &piece, (hr_view){bytes.data, size}, err));
        if (piece.offset >= 0) piece.offset += size;
        bytes = (hr_view){bytes.data ? bytes.data + size : NULL, bytes.size - size};
    } while (bytes.size > 0);
    return HR_OK;
}

hr_status hr__policy_budget(const hr__policy *p, const char *who, int64_t errors, int64_t count, const hr_error *last,
                            hr_error *err)
{
    if (!p) return HR_OK;
    const int64_t of = last && count < SHARE_OF ? SHARE_OF : count;
    const bool many = p->opts.max_errors > 0 && errors > p->opts.max_errors;
    const bool large = p->opts.max_error_share > 0 && (double)errors > p->opts.max_error_share * (double)of;
    if (!many && !large) return HR_OK;
    char max[64];
    snprintf(max, sizeof max, many ? "%.0f errors" : "a share of %g of errors",
             many ? (double)p->opts.max_errors : p->opts.max_error_share);
    hr_error over;
    hr_fail(&over, HR_DATA_LOSS, "policy.budget", "%s: expected at most %s, got %" PRId64 " in %" PRId64 " records%s%s",
            who, max, errors, count, last ? "; the last: " : "", last ? last->text : "");
    if (err) *err = last ? *last : over;
    if (err && last) {
        err->code = over.code;
        err->kind = over.kind;
        memcpy(err->text, over.text, sizeof err->text);
    }
    return over.code;
}
