/* Under a policy the records around damage are delivered in order, and every byte that is not is told to be lost. More
 * true records than the case lists may come; then less is lost. */
#include "tests/io/record/golden_tfrecord_policy.h"
#include <headrace/data.h>
#include <stdlib.h>
#include <string.h>

bool golden_as_written(const cJSON *records, int64_t i, bool any, hr_view record)
{
    const cJSON *one = any ? records->child : cJSON_GetArrayItem(records, (int)i);
    for (; one; one = any ? one->next : NULL)
        if (golden_int(one, "length", -1) == record.size &&
            (uint32_t)golden_int(one, "crc32c", -1) == hr_crc32c(0, record.data, (size_t)record.size))
            return true;
    return false;
}

/* Bytes of the file, one flag each: lost or not. */
typedef struct bytes {
    bool *lost;
    int64_t size, ranges;
} bytes;

static void lose(bytes *b, int64_t offset, int64_t length)
{
    if (offset + length > b->size) {
        b->lost = realloc(b->lost, (size_t)(offset + length));
        memset(b->lost + b->size, 0, (size_t)(offset + length - b->size));
        b->size = offset + length;
    }
    for (int64_t i = offset; i < offset + length; i++) b->lost[i] = true;
    b->ranges++;
}

static void on_damage(const hr_error *error, hr_view piece, void *user)
{
    (void)piece;
    lose(user, error->offset, error->length);
}

static bool is_lost(const bytes *b, int64_t i) { return i < b->size && b->lost[i]; }

/* Of all that is lost nothing is lost that the case keeps; the other way round where it asks for `all`. */
static bool same_bytes(const bytes *got, const bytes *want, bool all)
{
    for (int64_t i = 0; i < got->size || i < want->size; i++)
        if (is_lost(got, i) ? !is_lost(want, i) : all && is_lost(want, i)) return false;
    return true;
}

static bytes lost_bytes(const cJSON *list)
{
    bytes b = {NULL, 0, 0};
    const cJSON *one;
    cJSON_ArrayForEach(one, list) lose(&b, golden_int(one, "offset", 0), golden_int(one, "length", 0));
    return b;
}

/* The records of the case that came, in their order, among others that were written, too. */
typedef struct delivery {
    int64_t records, listed;
    bool strange;
    hr_status end;
} delivery;

static delivery deliver(hr_dataset *ds, int workers, const cJSON *written, const cJSON *listed)
{
    const hr_element *e;
    delivery d = {0};
    hr_iterator *it = hr_iterate(ds, .workers = &workers);
    while ((d.end = hr_next(it, &e)) == HR_OK) {
        const hr_view record = *(const hr_view *)hr_get(e, "value")->data;
        const cJSON *next = cJSON_GetArrayItem(listed, (int)d.listed);
        d.records++;
        d.strange |= !golden_as_written(written, 0, true, record);
        d.listed += next && (uint32_t)golden_number_int64(next) == hr_crc32c(0, record.data, (size_t)record.size);
    }
    hr_iterator_free(it);
    return d;
}

static golden_result compare(golden_case *c, const cJSON *want, const delivery *d, const bytes *lost)
{
    const char *policy = want->string;
    const bool clean = strcmp(golden_text(want, "end", ""), "clean") == 0;
    const int64_t delivered = golden_int(want, "delivered", 0), bad = golden_int(want, "bad_records", lost->ranges);
    const cJSON *listed = golden_get(want, "crc32c"), *ranges = golden_get(want, "lost");
    if (d->strange) return golden_differs(c, "%s: a record that was not written", policy);
    if (d->records < delivered || d->listed < cJSON_GetArraySize(listed))
        return golden_differs(c, "%s: %d records, not %d", policy, (int)d->records, (int)delivered);
    if (d->end != HR_END && (clean || d->end != HR_DATA_LOSS))
        return golden_differs(c, "%s: ended with %s", policy, hr_status_name(d->end));
    if (d->end == HR_END && !clean && d->records == delivered)
        return golden_differs(c, "%s: ended without an error", policy);
    if (lost->ranges != bad) return golden_differs(c, "%s: %d bad records", policy, (int)lost->ranges);
    bytes expected = lost_bytes(ranges);
    const bool same = !ranges || same_bytes(lost, &expected, clean && d->records == delivered);
    free(expected.lost);
    return same ? GOLDEN_AGREES : golden_differs(c, "%s: other bytes are lost", policy);
}

static golden_result compare_policy(golden_case *c, const char *pattern, hr_compression compression, const cJSON *want,
                                    hr_on_error policy)
{
    golden_result result = GOLDEN_AGREES;
    for (int workers = 0; want && workers < 3 && result == GOLDEN_AGREES; workers += 2) {
        bytes lost = {NULL, 0, 0};
        hr_dataset *ds = hr_tfrecord(pattern, .compression = compression,
                                     .policy = {.on_error = policy, .on_damage = on_damage, .user = &lost});
        const delivery d = deliver(ds, workers, golden_get(c->json, "records"), golden_get(want, "crc32c"));
        result = compare(c, want, &d, &lost);
        free(lost.lost);
    }
    return result;
}

golden_result golden_compare_policies(golden_case *c, const char *pattern, hr_compression compression,
                                      const cJSON *expect)
{
    golden_result result = compare_policy(c, pattern, compression, golden_get(expect, "skip"), HR_SKIP);
    if (result != GOLDEN_AGREES) return result;
    return compare_policy(c, pattern, compression, golden_get(expect, "resync"), HR_RESYNC);
}
