/* assert_cardinality: passes all elements, and fails where there are fewer or more of them than was said. */
#include <headrace/data.h>
#include <inttypes.h>

typedef struct assert_spec {
    int64_t cardinality;
} assert_spec;

typedef struct assert_state {
    int64_t passed; /* saved */
} assert_state;

static hr_status assert_check(const void *spec, const hr_schema *const *in, hr_schema_builder *out, hr_error *err)
{
    (void)in, (void)out;
    const int64_t cardinality = ((const assert_spec *)spec)->cardinality;
    if (cardinality >= HR_UNKNOWN_CARDINALITY) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "assert_cardinality.count",
                   "assert_cardinality: expected a number of elements, -1 (infinite) or -2 (unknown), got %" PRId64,
                   cardinality);
}

static hr_status cardinality_wrong(hr_error *err, int64_t want, const char *how, int64_t got)
{
    return hr_fail(err, HR_FAILED_PRECONDITION, "assert_cardinality.wrong",
                   "assert_cardinality: expected %" PRId64 " elements, got %s %" PRId64, want, how, got);
}

static hr_status assert_plan(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    const int64_t want = ((const assert_spec *)spec)->cardinality;
    assert_state *st = state;
    while (hr_room(p) > 0) {
        hr_span span;
        const bool full = want >= 0 && st->passed >= want;
        int64_t max = want >= 0 && want - st->passed < hr_room(p) ? want - st->passed : hr_room(p);
        const hr_status got = hr_pull(p, 0, full ? 1 : max, &span);
        if (got == HR_END && want != HR_UNKNOWN_CARDINALITY && st->passed != want)
            return cardinality_wrong(err, want, "only", st->passed);
        if (got != HR_OK) return got;
        st->passed += span.count;
        if (full) {
            hr_span_drop(span);
            return cardinality_wrong(err, want, "at least", st->passed);
        }
        hr_emit(p, span);
    }
    return HR_OK;
}

static void assert_identity(const void *spec, uint64_t *sum)
{
    hr_identify_i64(sum, ((const assert_spec *)spec)->cardinality);
}

static int64_t assert_cardinality(const void *spec, const int64_t *in)
{
    (void)in;
    return ((const assert_spec *)spec)->cardinality;
}

static void assert_describe(const void *spec, hr_description *to)
{
    const assert_spec *sp = spec;
    hr_describe_number(to, NULL, sp->cardinality);
}

const hr_op hr_op_assert_cardinality = {
    .head = HR_OP_HEAD,
    .name = "assert_cardinality",
    .spec_size = sizeof(assert_spec),
    .state_size = sizeof(assert_state),
    .saved = 1, /* passed */
    .check = assert_check,
    .plan = assert_plan,
    .identity = assert_identity,
    .cardinality = assert_cardinality,
    .describe = assert_describe,
};

hr_dataset *hr_assert_cardinality(hr_dataset *in, int64_t cardinality)
{
    return hr_dataset_new(&hr_op_assert_cardinality, &(assert_spec){cardinality}, &in, 1);
}
