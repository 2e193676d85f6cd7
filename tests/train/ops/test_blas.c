/* OpenBLAS is loaded while other threads go on. */
#include "train/ops/blas.h"
#include "tests/testing.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROCESSES = 25, PRINTERS = 2 };

static atomic_int printing;
static atomic_bool loaded;

static void *print_numbers(void *unused)
{
    char text[64];
    printing++;
    for (int i = 0; !loaded; i++) (void)snprintf(text, sizeof text, "%.*e", 5, 1.5 + i);
    return unused;
}

/* A process loads it once. On a processor that it does not know it is loaded twice. */
static void numbers_are_printed_meanwhile(void **state)
{
    (void)state;
    for (int i = 0; i < PROCESSES; i++) {
        const pid_t child = fork();
        if (child == 0) {
            pthread_t printer[PRINTERS];
            for (int p = 0; p < PRINTERS; p++)
                if (pthread_create(&printer[p], NULL, print_numbers, NULL) != 0) _exit(2);
            while (printing < PRINTERS) {}
            hr__blas_load_early();
            loaded = true;
            for (int p = 0; p < PRINTERS; p++) pthread_join(printer[p], NULL);
            _exit(hr__blas_loaded() ? 0 : 3);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(numbers_are_printed_meanwhile)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
