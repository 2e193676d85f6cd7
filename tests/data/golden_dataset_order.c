/* Runs the cases of the golden topic dataset_order in both modes and compares every element, and what the dataset says
 * of their number. */
#include "tests/data/golden_dataset_order.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const hr_error *error_of(hr_iterator *it)
{
    static const hr_error none;
    const hr_error *error = hr_iterator_error(it);
    return error ? error : &none;
}

/* ---- one element ---- */

static bool same_scalar(golden_case *c, const char *what, const hr_tensor *all, int64_t i, const hr_tensor *got)
{
    const char *data = all->data;
    const hr_tensor want = hr_tensor_of(all->dtype, HR_SCALAR, data + (size_t)i * hr_dtype_size(all->dtype));
    return golden_equal(c, what, &want, got, 0, 0);
}

static bool same_element(golden_case *c, const char *what, const cJSON *want, const hr_element *got)
{
    const cJSON *window = golden_get(golden_get(want, "dataset"), "scalars"); /* ours holds its elements as a batch */
    if (window) return golden_equal_json(c, what, window, hr_get_at(got, 0));
    const cJSON *tuple = golden_get(want, "tuple");
    const int components = tuple ? cJSON_GetArraySize(tuple) : 1;
    if (hr_element_schema(got)->fields != components) {
        golden_differs(c, "%s: %d components instead of %d", what, hr_element_schema(got)->fields, components);
        return false;
    }
    for (int i = 0; i < components; i++)
        if (!golden_equal_json(c, what, tuple ? cJSON_GetArrayItem(tuple, i) : want, hr_get_at(got, i))) return false;
    return true;
}

/* ---- whole runs ---- */

static golden_result same_end(golden_case *c, hr_iterator *it, hr_status end, const char *class)
{
    const hr_element *e;
    if (class && (end >= 0 || strcmp(hr_status_name(end), class) != 0))
        return golden_differs(c, "ends with %s (%s) instead of %s", hr_status_name(end), error_of(it)->text, class);
    if (!class && end < 0) return golden_differs(c, "fails: %s: %s", hr_status_name(end), error_of(it)->text);
    if (hr_next(it, &e) != end) return golden_differs(c, "does not stay with %s", hr_status_name(end));
    return GOLDEN_AGREES;
}

static golden_result compare_scalars(golden_case *c, hr_iterator *it, const cJSON *json, int64_t limit)
{
    hr_tensor all;
    if (!golden_tensor(json, &all)) return golden_differs(c, "the case holds no tensor");
    golden_result result = GOLDEN_AGREES;
    hr_status st = HR_OK;
    int64_t n = 0;
    for (; result == GOLDEN_AGREES && n < limit; n++) {
        const hr_element *e;
        char what[40];
        if ((st = hr_next(it, &e)) != HR_OK) break;
        snprintf(what, sizeof what, "element %lld", (long long)n);
        if (n == all.count)
            result = golden_differs(c, "more than %lld elements", (long long)n);
        else if (!same_scalar(c, what, &all, n, hr_get_at(e, 0)))
            result = GOLDEN_DIFFERS;
    }
    if (result == GOLDEN_AGREES && n < all.count)
        result = golden_differs(c, "%lld elements instead of %lld (%s)", (long long)n, (long long)all.count,
                                error_of(it)->text);
    golden_tensor_clear(&all);
    return result == GOLDEN_AGREES && st != HR_OK ? same_end(c, it, st, NULL) : result;
}

/* A list of elements; the last may be an error, which is final. */
static golden_result compare_events(golden_case *c, hr_iterator *it, const cJSON *events, int64_t limit)
{
    const cJSON *want;
    const hr_element *e;
    int64_t n = 0;
    cJSON_ArrayForEach(want, events)
    {
        char what[40];
        hr_status st = hr_next(it, &e);
        const char *class = golden_error_class(want);
        if (class) return same_end(c, it, st, class);
        snprintf(what, sizeof what, "element %lld", (long long)n++);
        if (st != HR_OK) return golden_differs(c, "%s: there is none (%s)", what, error_of(it)->text);
        if (!same_element(c, what, want, e)) return GOLDEN_DIFFERS;
    }
    if (n == limit) return GOLDEN_AGREES;
    hr_status st = hr_next(it, &e);
    return st == HR_OK ? golden_differs(c, "more than %lld elements", (long long)n) : same_end(c, it, st, NULL);
}

static golden_result compare_iterator(golden_case *c, hr_iterator *it, const cJSON *expectation, int64_t limit)
{
    const hr_element *e;
    const char *class = golden_error_class(expectation);
    if (class) {
        hr_status st = hr_next(it, &e);
        return same_end(c, it, st, class);
    }
    const cJSON *scalars = golden_get(expectation, "scalars"), *elements = golden_get(expectation, "elements");
    if (scalars) return compare_scalars(c, it, scalars, limit);
    const cJSON *events = elements ? elements : golden_get(expectation, "events");
    return events ? compare_events(c, it, events, limit) : golden_differs(c, "the case expects nothing that is known");
}

golden_result golden_compare_run(golden_case *c, hr_dataset *ds, const cJSON *expectation, int64_t limit)
{
    hr_iterator *it = hr_iterate(ds, .window = 4, .unit_rows = 3, .seed = 7);
    golden_result result = compare_iterator(c, it, expectation, limit);
    hr_iterator_free(it);
    return result;
}

/* ---- properties of a shuffle ---- */

static int64_t collect(hr_dataset *ds, int64_t *value, int64_t room)
{
    const hr_element *e;
    int64_t n = 0;
    hr_iterator *it = hr_iterate(ds, .seed = 7);
    hr_status st;
    while ((st = hr_next(it, &e)) == HR_OK && n < room) value[n++] = *(const int64_t *)hr_get_at(e, 0)->data;
    hr_iterator_free(it);
    return st == HR_END ? n : -1;
}

/* An epoch in which element i may come at the earliest at place i - buffer + 1. */
static bool is_epoch(const int64_t *value, int64_t n, int64_t buffer, bool *seen)
{
    memset(seen, 0, (size_t)n * sizeof *seen);
    for (int64_t i = 0; i < n; i++) {
        if (value[i] < 0 || value[i] >= n || seen[value[i]] || i < value[i] - buffer + 1) return false;
        seen[value[i]] = true;
    }
    return true;
}

static bool is_multiset(const int64_t *value, int64_t n, int64_t epochs)
{
    for (int64_t v = 0; v < n; v++) {
        int64_t found = 0;
        for (int64_t i = 0; i < n * epochs; i++) found += value[i] == v;
        if (found != epochs) return false;
    }
    return true;
}

static golden_result check_properties(golden_case *c, hr_dataset *ds, const cJSON *p, int64_t *value)
{
    const int64_t n = golden_int(p, "n", 0), epochs = golden_int(p, "epochs", 1), all = n * epochs;
    int64_t *again = value + all + 1;
    bool *seen = (bool *)(again + all + 1);
    if (collect(hr_dataset_ref(ds), value, all + 1) != all)
        return golden_differs(c, "not %lld elements", (long long)all);
    if (!is_multiset(value, n, epochs)) return golden_differs(c, "not every element once an epoch");
    for (int64_t e = 0; golden_bool(p, "each_epoch_is_a_permutation", false) && e < epochs; e++)
        if (!is_epoch(value + e * n, n, golden_int(p, "buffer_size", n), seen))
            return golden_differs(c, "epoch %lld is no permutation, or an element comes too early", (long long)e);
    if (golden_bool(p, "epochs_agree", false) && memcmp(value, value + n, (size_t)n * sizeof *value) != 0)
        return golden_differs(c, "the epochs differ");
    /* Where TensorFlow's iterators differ ours agree: an order is a function of (data, seed, epoch). */
    if (collect(hr_dataset_ref(ds), again, all + 1) != all || memcmp(value, again, (size_t)all * sizeof *value) != 0)
        return golden_differs(c, "two iterators differ");
    return GOLDEN_AGREES;
}

golden_result golden_compare_properties(golden_case *c, hr_dataset *ds, const cJSON *properties)
{
    const int64_t all = golden_int(properties, "n", 0) * golden_int(properties, "epochs", 1);
    int64_t *value = calloc((size_t)(3 * all + 3), sizeof *value);
    golden_result result = value ? check_properties(c, ds, properties, value) : golden_differs(c, "no memory");
    hr_dataset_unref(ds);
    free(value);
    return result;
}

/* ---- cases ---- */

/* `headrace_expect` and `default` stand for `expect`; a field that they lack is the case's own. */
static const cJSON *expectation_of(golden_case *c, bool tf_compat)
{
    const cJSON *e = golden_expectation(c->json, tf_compat);
    const cJSON *inner = golden_get(e, "expect");
    if (inner) return inner;
    const bool whole =
        golden_get(e, "error") || golden_get(e, "scalars") || golden_get(e, "elements") || golden_get(e, "events");
    return whole ? e : golden_get(c->json, "expect");
}

/* We may know more than TensorFlow, whose -2 is unknown, but no other number. What it says of a negative take is
 * none. */
static golden_result compare_cardinality(golden_case *c, const hr_dataset *ds)
{
    const cJSON *expect = golden_get(c->json, "expect");
    const int64_t want = golden_int(expect ? expect : c->json, "cardinality", HR_UNKNOWN_CARDINALITY);
    const int64_t got = hr_cardinality(ds);
    if (want <= HR_UNKNOWN_CARDINALITY || hr_dataset_error(ds) || got == want) return GOLDEN_AGREES;
    return golden_differs(c, "cardinality %lld instead of %lld", (long long)got, (long long)want);
}

static golden_result run_mode(golden_case *c, bool tf_compat)
{
    const char *missing = NULL;
    golden_notes *notes = golden_notes_new();
    c->mode = tf_compat ? "tf_compat" : "default";
    hr_dataset *ds = notes ? golden_pipeline(golden_get(c->json, "pipeline"), notes, &missing) : NULL;
    golden_result result;
    if (!ds) {
        result = golden_not_built(c, "%s", missing ? missing : "memory");
    } else {
        if (tf_compat) ds = hr_options(ds, .tf_compat = true);
        const cJSON *properties = golden_get(c->json, "properties");
        const int64_t limit = golden_int(c->json, "limit", INT64_MAX);
        if (compare_cardinality(c, ds) == GOLDEN_DIFFERS) {
            hr_dataset_unref(ds);
            golden_notes_free(notes);
            return GOLDEN_DIFFERS;
        }
        result = properties ? golden_compare_properties(c, ds, properties)
                            : golden_compare_run(c, ds, expectation_of(c, tf_compat), limit);
    }
    golden_notes_free(notes);
    return result;
}

static golden_result run_case(golden_case *c)
{
    golden_whole(c->json); /* some of its fields say in other words what others say */
    if (strcmp(golden_text(c->json, "op", ""), "list_files") == 0) return golden_list_files(c);
    golden_result result = run_mode(c, true);
    return result == GOLDEN_AGREES ? run_mode(c, false) : result;
}

int main(void) { return golden_main("dataset_order", GOLDEN_ROOT, run_case); }
