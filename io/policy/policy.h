/* An hr_policy at work: what it covers, which callback is called, how many errors it allows. Shared between threads.
 * Not a public header. */
#ifndef HR_POLICY_H
#define HR_POLICY_H

#include <headrace/io.h>

typedef struct hr__policy hr__policy;

/* Checks and copies. Gives *out, NULL for HR_FAIL: nothing is ever skipped. `who` begins messages. */
hr_status hr__policy_new(const hr_policy *opts, const char *who, hr__policy **out, hr_error *err);
void hr__policy_free(hr__policy *policy); /* NULL: nothing */

/* True if the data itself is damaged, so that it may be skipped: not for lack of memory or a broken disk. */
bool hr__policy_covers(const hr__policy *policy, const hr_error *damage); /* NULL: nothing */
hr_on_error hr__policy_on_error(const hr__policy *policy);                /* NULL: HR_FAIL */
/* Reports bytes that are skipped, in pieces: they lie at damage->offset. Fails if they cannot be kept. */
hr_status hr__policy_take(hr__policy *policy, const hr_error *damage, hr_view bytes, hr_error *err);
/* Fails if `errors` of `count` records are more than may be. `last`: the latest, NULL: the end was reached. */
hr_status hr__policy_budget(const hr__policy *policy, const char *who, int64_t errors, int64_t count,
                            const hr_error *last, hr_error *err);

enum { HR__DAMAGE_PIECE = 1 << 20 }; /* what the callback and a line of quarantine get at most */

#endif
