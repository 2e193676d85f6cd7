/* Golden topic sequence_example: every case through hr_parse_sequence_example, in the default mode and in tf_compat.
 * The batch form is a batch of all records, the single form one record without a batch. */
#include "tests/data/parse/golden_parse_spec.h"
#include <stdio.h>
#include <string.h>

/* A case; components are called context/KEY, sequence/KEY and sequence/KEY/lengths. */
typedef struct example {
    golden_spec context, lists;
    hr_tensor serialized, names;
    bool single;
} example;

static hr_dataset *dataset_of(const example *x, bool tf_compat)
{
    static const char *const component[] = {"serialized", "names"};
    hr_tensor rows[2] = {x->serialized, x->names};
    if (x->single) rows[0].shape = rows[1].shape = HR_SHAPE(1);
    hr_dataset *ds = hr_from_tensor_slices(rows, component, x->names.data ? 2 : 1);
    if (!x->single) ds = hr_batch(ds, x->serialized.count ? x->serialized.count : 1);
    return hr_parse_sequence_example(ds, (&(hr_parse_spec){x->context.feature, x->context.features}),
                                     (&(hr_parse_spec){x->lists.feature, x->lists.features}), .source = "serialized",
                                     .tf_compat = tf_compat);
}

/* The components of one of TensorFlow's three results. */
static golden_result compare(golden_case *c, const cJSON *expected, const char *prefix, const char *suffix,
                             const hr_element *e)
{
    const cJSON *component;
    cJSON_ArrayForEach(component, expected)
    {
        char name[160];
        snprintf(name, sizeof name, "%s%s%s", prefix, component->string, suffix);
        const hr_tensor *got = hr_get(e, name);
        if (!got) return golden_differs(c, "no component '%s'", name);
        if (!golden_equal_json(c, name, component, got)) return GOLDEN_DIFFERS;
    }
    return GOLDEN_AGREES;
}

static golden_result compare_all(golden_case *c, const cJSON *expected, const hr_element *e)
{
    golden_result result = compare(c, golden_get(expected, "context"), "context/", "", e);
    if (result == GOLDEN_AGREES) result = compare(c, golden_get(expected, "sequence"), "sequence/", "", e);
    if (result == GOLDEN_AGREES) result = compare(c, golden_get(expected, "lengths"), "sequence/", "/lengths", e);
    return result;
}

static golden_result judge(golden_case *c, const cJSON *expectation, hr_iterator *it, int64_t records)
{
    const hr_element *e = NULL;
    const char *class = golden_error_class(expectation);
    hr_status status = hr_next(it, &e);
    if (records == 0 && status == HR_END) return GOLDEN_AGREES; /* no batch comes of no records, and no error of it */
    if (class) {
        while (status == HR_OK) status = hr_next(it, &e);
        if (status < 0 && strcmp(hr_status_name(status), class) == 0) return GOLDEN_AGREES;
        return golden_differs(c, "%s, expected the error %s", hr_status_name(status), class);
    }
    if (status != HR_OK)
        return golden_differs(c, "%s: %s", hr_status_name(status),
                              hr_iterator_error(it) ? hr_iterator_error(it)->text : "");
    const cJSON *expected = golden_get(expectation, "expect");
    return compare_all(c, expected ? expected : golden_get(c->json, "expect"), e);
}

static golden_result run_mode(golden_case *c, const example *x, bool tf_compat)
{
    static const int no_workers = 0;
    c->mode = tf_compat ? "tf_compat" : "default";
    hr_iterator *it = hr_iterate(dataset_of(x, tf_compat), .workers = &no_workers);
    golden_result result = judge(c, golden_expectation(c->json, tf_compat), it, x->serialized.count);
    hr_iterator_free(it);
    return result;
}

static golden_result run_case(golden_case *c)
{
    golden_whole(c->json); /* some of its fields say in other words what others say */
    static example x;
    x.single = strcmp(golden_text(c->json, "op", ""), "parse_single_sequence_example") == 0;
    if (!golden_spec_read(&x.context, golden_get(c->json, "context_spec"), "context/") ||
        !golden_spec_read(&x.lists, golden_get(c->json, "sequence_spec"), "sequence/"))
        return golden_differs(c, "more features than this test holds");
    if (!golden_tensor(golden_get(c->json, "serialized"), &x.serialized)) return golden_differs(c, "no records");
    golden_tensor(golden_get(c->json, "names"), &x.names);
    golden_result result = run_mode(c, &x, true);
    if (result == GOLDEN_AGREES) result = run_mode(c, &x, false);
    golden_tensor_clear(&x.serialized);
    golden_tensor_clear(&x.names);
    golden_spec_clear(&x.context);
    golden_spec_clear(&x.lists);
    return result;
}

int main(void) { return golden_main("sequence_example", GOLDEN_ROOT, run_case); }
