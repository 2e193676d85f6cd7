/* A whole dataset at once: what is made of all its elements, or of its only one. */
#include "data/iterator.h"

hr_status hr_reduce(hr_dataset *ds, void *state, hr_reduce_fn *fn, void *user, hr_error *err)
{
    const hr_element *element;
    hr_status st = HR_OK;
    hr_iterator *it = hr_iterate(ds);
    while (st == HR_OK && (st = hr_next(it, &element)) == HR_OK) {
        st = fn(state, element, user);
        if (st < 0) hr_fail(err, st, "reduce.function", "reduce: the function failed (%s)", hr_status_name(st));
    }
    if (hr_iterator_error(it) && err) *err = *hr_iterator_error(it);
    hr_iterator_free(it);
    return st == HR_END ? HR_OK : st;
}

static hr_status count_one(void *state, const hr_element *in, void *user)
{
    (void)in, (void)user;
    ++*(int64_t *)state;
    return HR_OK;
}

hr_status hr_count(hr_dataset *ds, int64_t *count, hr_error *err)
{
    *count = 0;
    return hr_reduce(ds, count, count_one, NULL, err);
}

/* The element is borrowed from its iterator, so whether there is another one is asked of a run before: the elements are
 * the same, and it looks at two of them at most. */
hr_iterator *hr_get_single_element(hr_dataset *ds, const hr_element **out)
{
    int64_t count = 0;
    hr_iterator *it = hr_iterate(hr_dataset_ref(ds));
    const hr_status counted = hr_count(hr_take(ds, 2), &count, NULL);
    *out = NULL;
    if (!it->open || (counted == HR_OK && count == 1)) {
        hr_next(it, out);
    } else if (counted == HR_OK) {
        hr_fail(&it->error, HR_INVALID_ARGUMENT, "single_element.count",
                "get_single_element: expected one element, got %s", count ? "more" : "none");
    } else {
        while (hr_next(it, out) == HR_OK) continue; /* to its error */
    }
    return it;
}

hr_dataset *hr_apply(hr_dataset *in, hr_apply_fn *fn, void *user)
{
    hr_error err;
    if (fn) return fn(in, user);
    hr_dataset_unref(in);
    hr_fail(&err, HR_INVALID_ARGUMENT, "apply.fn", "apply: expected a function, got NULL");
    return hr_dataset_failed(&err);
}
