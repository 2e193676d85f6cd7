/* A program that loads an operator at run time and puts it into a pipeline, between two of the library's own:
 *
 *     cc -o use_plugin use_plugin.c $(pkg-config --cflags --libs headrace) -ldl
 *     ./use_plugin ./every_nth.so
 *
 * It stops in the middle, continues from the saved state, and prints what came. */
#include <dlfcn.h>
#include <headrace/headrace.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef hr_dataset *every_nth_fn(hr_dataset *in, int64_t n);

static hr_dataset *pipeline(every_nth_fn *every_nth) { return hr_batch(every_nth(hr_range(20), 3), 2); }

static hr_status print(hr_iterator *it, int batches)
{
    const hr_element *e;
    hr_status st = HR_OK;
    while (batches-- != 0 && (st = hr_next(it, &e)) == HR_OK) {
        const hr_tensor *value = hr_get(e, "value");
        for (int64_t i = 0; i < value->count; i++) printf(" %" PRId64, ((const int64_t *)value->data)[i]);
        printf("\n");
    }
    return st;
}

static int run(every_nth_fn *every_nth)
{
    void *state = NULL;
    size_t size;
    hr_error err;
    hr_iterator *it = hr_iterate(pipeline(every_nth));
    hr_status st = print(it, 2);
    if (st == HR_OK) st = hr_iterator_save(it, &state, &size, &err);
    hr_iterator_free(it);
    if (st != HR_OK) return 1;

    printf("saved %zu bytes\n", size);
    it = hr_iterate(pipeline(every_nth), .state = state, .state_size = size);
    st = print(it, -1);
    if (st != HR_END) fprintf(stderr, "%s\n", hr_iterator_error(it)->text);
    hr_iterator_free(it);
    hr_free(state);
    return st != HR_END;
}

int main(int argc, char **argv)
{
    every_nth_fn *every_nth;
    void *plugin = dlopen(argc > 1 ? argv[1] : "./every_nth.so", RTLD_NOW);
    void *found = plugin ? dlsym(plugin, "every_nth") : NULL;
    if (!found) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    memcpy(&every_nth, &found, sizeof every_nth); /* ISO C has no cast from data to functions */
    const int failed = run(every_nth);
    dlclose(plugin); /* no dataset made of it is left */
    return failed;
}
