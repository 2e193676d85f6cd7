/* A process that forks while a pipeline runs: the child has workers of its own, and the parent goes on. Only built
 * without sanitizers: a child must not allocate by AddressSanitizer's allocator, whose locks a thread of the parent may
 * have held, and ThreadSanitizer refuses threads after a fork. */
#include "tests/data/conformance.h"
#include <sys/wait.h>
#include <unistd.h>

enum { COUNT = 20000, BATCH = 10, ROUNDS = 100 };

static int64_t sum(const hr_element *e)
{
    const hr_tensor *t = hr_get_at(e, 0);
    int64_t sum = 0;
    for (int64_t i = 0; i < t->count; i++) sum += ((const int64_t *)t->data)[i];
    return sum;
}

static int64_t sum_of_rest(hr_iterator *it)
{
    const hr_element *e;
    int64_t all = 0;
    while (hr_next(it, &e) == HR_OK) all += sum(e);
    return all;
}

static int run_child(hr_dataset *ds, int64_t all)
{
    hr_iterator *own = iterate(hr_dataset_ref(ds), (way){.workers = 3});
    const bool complete = sum_of_rest(own) == all;
    hr_iterator_free(own);
    return complete ? 0 : 1;
}

static void a_child_has_workers_of_its_own_and_the_parent_goes_on(void **state)
{
    (void)state;
    const int64_t all = INT64_C(1) * COUNT * (COUNT - 1) / 2;
    hr_set_threads(4);
    hr_dataset *ds = hr_batch(hr_shuffle(hr_range(COUNT), 300), BATCH);
    for (int round = 0; round < ROUNDS; round++) {
        const hr_element *e;
        hr_iterator *it = iterate(hr_dataset_ref(ds), (way){.workers = 3});
        assert_status(hr_next(it, &e), HR_OK);
        const int64_t first = sum(e);
        const pid_t child = fork();
        if (child == 0) _exit(run_child(ds, all));
        int status = -1;
        assert_int_equal(first + sum_of_rest(it), all);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
        hr_iterator_free(it);
    }
    hr_dataset_unref(ds);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_has_workers_of_its_own_and_the_parent_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
