/* The test of a plug-in: the conformance suite, which holds the library's own operators, over an operator that is loaded
 * at run time. It says nothing if all is well.
 *
 *     cc -o test_every_nth test_every_nth.c $(pkg-config --cflags --libs headrace_conformance) -ldl
 *     ./test_every_nth ./every_nth.so
 *
 * The suite finds that elements depend on threads or on where a unit ends, that a saved state does not resume, that
 * memory leaks. What the elements should be it cannot know: that is checked here, too. */
#include <dlfcn.h>
#include <headrace/conformance.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef hr_dataset *every_nth_fn(hr_dataset *in, int64_t n);

static every_nth_fn *every_nth;

static hr_dataset *put(hr_dataset *in, void *user) { return every_nth(in, *(const int64_t *)user); }

static hr_dataset *vary(int number, void *user)
{
    (void)user;
    return number < 3 ? every_nth(hr_range(60), 2 + number) : NULL;
}

static hr_status check_elements(hr_error *err)
{
    const hr_element *e;
    hr_status st;
    int64_t want = 0;
    hr_iterator *it = hr_iterate(every_nth(hr_range(10), 3));
    while ((st = hr_next(it, &e)) == HR_OK) {
        const int64_t found = *(const int64_t *)hr_get(e, "value")->data;
        if (found != want) break;
        want += 3;
    }
    hr_iterator_free(it);
    if (st == HR_END && want == 12) return HR_OK;
    return hr_fail(err, HR_INTERNAL, "test.elements", "every_nth: expected 0, 3, 6, 9, found another than %" PRId64,
                   want);
}

int main(int argc, char **argv)
{
    hr_error err;
    int64_t n = 3;
    hr_conformance_count_allocations(NULL); /* before all else */
    void *plugin = dlopen(argc > 1 ? argv[1] : "./every_nth.so", RTLD_NOW);
    void *found = plugin ? dlsym(plugin, "every_nth") : NULL;
    if (!found) {
        fprintf(stderr, "%s\n", dlerror());
        return 2;
    }
    memcpy(&every_nth, &found, sizeof every_nth); /* ISO C has no cast from data to functions */

    hr_status st = check_elements(&err);
    if (st == HR_OK) st = hr_conformance_operator(put, &n, NULL, &err);
    if (st == HR_OK) st = hr_conformance_arguments(vary, NULL, NULL, &err);
    if (st != HR_OK) fprintf(stderr, "%s\n", err.text);
    dlclose(plugin); /* no dataset made of it is left */
    return st != HR_OK;
}
