/* Chains put together at random: what no list of chains thinks of. HEADRACE_CHAINS=FROM:COUNT runs others than
 * usual. */
#include "tests/data/conformance.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { USUAL_CHAINS = UNDER_TSAN ? 10 : 25, MOST_ROWS = 1500 };

static int64_t value_of(const hr_element *e) { return *(const int64_t *)hr_get(e, "value")->data; }

static hr_status times_three(const hr_element *in, hr_builder *out, hr_call *call, void *user)
{
    (void)call, (void)user;
    const hr_tensor *from = hr_get(in, "value");
    int64_t *value = hr_set(out, "value");
    for (int64_t i = 0; i < from->count; i++) value[i] = ((const int64_t *)from->data)[i] * 3 % 100003;
    return HR_OK;
}

static hr_status add_random(const hr_element *in, hr_builder *out, hr_call *call, void *user)
{
    (void)user;
    const hr_tensor *from = hr_get(in, "value");
    int64_t *value = hr_set(out, "value");
    for (int64_t i = 0; i < from->count; i++)
        value[i] = ((const int64_t *)from->data)[i] + (int64_t)(hr_call_random(call, (uint64_t)i) % 16);
    return HR_OK;
}

static bool not_of_four(const hr_element *e, void *user)
{
    (void)user;
    return hr_get(e, "value")->count == 0 || value_of(e) % 4 != 0;
}

static bool not_of_ninety_one(const hr_element *e, void *user)
{
    (void)user;
    return hr_get(e, "value")->count == 0 || value_of(e) % 91 != 90;
}

static hr_dataset *few(const hr_element *e, void *user)
{
    (void)user;
    const int64_t n = value_of(e), length = n % 7;
    return n % 2 ? hr_range(n + length, .start = n) : hr_shuffle(hr_range(n + length, .start = n), 3);
}

/* The random numbers of a chain, drawn one after the other. */
typedef struct dice {
    uint64_t key, thrown;
} dice;

static int64_t throw(dice * d, int64_t sides) { return hr_random_below(d->key, d->thrown++, sides); }

/* How many levels of batches there are decides what may come next. */
static hr_dataset *grow(hr_dataset *ds, dice *d, int *levels)
{
    const int64_t kind = throw(d, 18), n = 1 + throw(d, 40);
    switch (kind) {
    case 0:
        return hr_take(ds, 5 * n);
    case 1:
        return hr_skip(ds, n / 2);
    case 2:
        return hr_shuffle(ds, n);
    case 3:
        return hr_shuffle(ds, 4 * n, .seed = 5, .same_each_epoch = true);
    case 4:
        return hr_repeat(ds, .count = HR_I64(1 + n % 3));
    case 5:
        return hr_take(hr_repeat(ds), 10 * n);
    case 6:
        return hr_map(ds, times_three, NULL);
    case 7:
        return hr_map(ds, add_random, NULL);
    case 8:
        return hr_filter(ds, not_of_four, NULL);
    case 9:
        return hr_prefetch(ds, n % 5);
    case 10:
        return hr_shuffle_and_repeat(ds, n, .count = 1 + n % 2);
    case 11:
        if (*levels > 0) return ds;
        return hr_interleave(ds, few, NULL, .cycle_length = 1 + n % 6, .block_length = 1 + n % 4);
    case 12:
        return hr_shard(ds, 1 + n % 4, n % 2 ? 0 : n % 4);
    case 13:
        return hr_take_while(ds, not_of_ninety_one, NULL);
    case 14:
        return *levels > 0 ? ds : hr_unique(ds);
    case 15:
        return *levels > 0 ? ds : hr_concatenate(ds, hr_shuffle(hr_range(3 * n), n));
    case 16:
        if (*levels == 0) return ds;
        --*levels;
        return hr_unbatch(ds);
    default:
        if (*levels == 2) return ds;
        ++*levels;
        return hr_batch(ds, 1 + n % 9, .drop_remainder = true);
    }
}

static uint64_t chain_number;

static hr_dataset *random_chain(void)
{
    dice d = {.key = hr_random(2024, chain_number)};
    int levels = 0;
    hr_dataset *ds = hr_range(20 + throw(&d, 200));
    for (int64_t length = 1 + throw(&d, 6); length > 0; length--) ds = grow(ds, &d, &levels);
    return hr_take(ds, MOST_ROWS);
}

/* Prints the chain when a check fails: its number builds it again. */
static void random_chains_conform(void **state)
{
    (void)state;
    static char name[40];
    static sample chain = {.name = name, .build = random_chain};
    const char *asked = getenv("HEADRACE_CHAINS");
    uint64_t from = 0, count = USUAL_CHAINS;
    if (asked && sscanf(asked, "%" SCNu64 ":%" SCNu64, &from, &count) != 2) fail_msg("HEADRACE_CHAINS=FROM:COUNT");
    for (chain_number = from; chain_number < from + count; chain_number++) {
        void *s = &chain;
        static run got;
        snprintf(name, sizeof name, "chain %" PRIu64, chain_number);
        run_all(&got, random_chain(), (way){.window = 1});
        if (got.end < 0) fail_msg("%s: %s", name, got.error.text);
        if (got.count == 0) continue;
        gives_the_same_elements_however_run(&s);
        goes_on_anywhere(&s);
        goes_on_again_and_again(&s);
        can_be_cancelled(&s);
        gives_an_epoch_alone_as_repeat_does(&s);
        if (chain_number % 5 == 0) survives_every_failed_allocation(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_chains_conform)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
