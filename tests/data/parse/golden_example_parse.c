/* Golden topic example_parse: every case through hr_parse_example, in the default mode and in tf_compat. The batch form
 * is a batch of all records, the single form one record without a batch. */
#include "tests/data/parse/golden_parse_spec.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the pipeline ---- */

/* One value of any kind, with 64 readable bytes after it, as records have. */
static hr_dataset *dataset_of(const hr_tensor *serialized, const hr_tensor *names, const golden_spec *s, bool single,
                              bool tf_compat)
{
    static const char *const component[] = {"serialized", "names"};
    hr_tensor rows[2] = {*serialized, *names};
    if (single) rows[0].shape = rows[1].shape = HR_SHAPE(1);
    hr_dataset *ds = hr_from_tensor_slices(rows, component, names->data ? 2 : 1);
    if (!single) ds = hr_batch(ds, serialized->count ? serialized->count : 1);
    return hr_parse_example(ds, (&(hr_parse_spec){s->feature, s->features}), .source = "serialized",
                            .tf_compat = tf_compat);
}

static golden_result compare(golden_case *c, const cJSON *expected, const hr_element *e)
{
    const cJSON *component;
    cJSON_ArrayForEach(component, expected)
    {
        const hr_tensor *got = hr_get(e, component->string);
        if (!got) return golden_differs(c, "no component '%s'", component->string);
        if (!golden_equal_json(c, component->string, component, got)) return GOLDEN_DIFFERS;
    }
    return GOLDEN_AGREES;
}

static golden_result judge(golden_case *c, const cJSON *expectation, hr_iterator *it, int64_t records)
{
    const hr_element *e = NULL;
    const char *class = golden_error_class(expectation);
    hr_status status = hr_next(it, &e);
    if (class) {
        while (status == HR_OK) status = hr_next(it, &e); /* the good rows before it come first */
        if (status < 0 && strcmp(hr_status_name(status), class) == 0) return GOLDEN_AGREES;
        return golden_differs(c, "%s, expected the error %s", hr_status_name(status), class);
    }
    if (records == 0 && status == HR_END) return GOLDEN_AGREES; /* no batch comes of no records */
    if (status != HR_OK)
        return golden_differs(c, "%s: %s", hr_status_name(status),
                              hr_iterator_error(it) ? hr_iterator_error(it)->text : "");
    const cJSON *expected = golden_get(expectation, "expect");
    return compare(c, expected ? expected : golden_get(c->json, "expect"), e);
}

static golden_result run_mode(golden_case *c, const golden_spec *s, bool tf_compat)
{
    hr_tensor serialized, names;
    c->mode = tf_compat ? "tf_compat" : "default";
    const bool single = strcmp(golden_text(c->json, "op", ""), "parse_single_example") == 0;
    if (!golden_tensor(golden_get(c->json, "serialized"), &serialized)) return golden_differs(c, "no records");
    golden_tensor(golden_get(c->json, "names"), &names);
    static const int no_workers = 0;
    hr_dataset *ds = dataset_of(&serialized, &names, s, single, tf_compat);
    hr_iterator *it = hr_iterate(ds, .workers = &no_workers);
    golden_result result = judge(c, golden_expectation(c->json, tf_compat), it, serialized.count);
    hr_iterator_free(it);
    golden_tensor_clear(&serialized);
    golden_tensor_clear(&names);
    return result;
}

static golden_result run_case(golden_case *c)
{
    golden_whole(c->json); /* some of its fields say in other words what others say */
    static golden_spec s;
    if (!golden_spec_read(&s, golden_get(c->json, "spec"), ""))
        return golden_differs(c, "more features than this test holds");
    golden_result result = run_mode(c, &s, true);
    if (result == GOLDEN_AGREES) result = run_mode(c, &s, false);
    golden_spec_clear(&s);
    return result;
}

int main(void) { return golden_main("example_parse", GOLDEN_ROOT, run_case); }
