/* What all tests share: cmocka, a folder of one's own, allocation failures on demand. */
#ifndef TESTING_H
#define TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <headrace/base.h>

/* Allocation number `n` from now on fails (0 is the next one), and only that one. Counts all meanwhile. */
void fail_allocation(int64_t n);
/* No failures any more; how many allocations there were since fail_allocation. */
int64_t allocations_since(void);
/* From now on an allocation of more bytes than these fails. */
void limit_allocation(size_t size);
/* How many allocations are not freed yet: equal before and after a test that leaks nothing. */
int64_t allocations_alive(void);
/* From now on the most bytes that are allocated at once are noted, beyond those that are now. */
void watch_memory(void);
int64_t most_memory(void);

/* Writes a file whole, for a test's input. */
void write_file(const char *path, const void *data, size_t size);
/* Reads it whole: gives the bytes (free) and *size. Fails the test if there is none. */
char *read_whole_file(const char *path, size_t *size);

/* How many files lie in a folder, with .hidden or without; -1: there is none. */
int files_in(const char *path, bool hidden);
void remove_folder(const char *path); /* and all below it, if there is one */

/* Fails the test with the error's text unless the status is HR_OK. */
#define assert_ok(status, err)                                                                                         \
    do {                                                                                                               \
        hr_status status_ = (status);                                                                                  \
        if (status_ != HR_OK) fail_msg("%s: %s", hr_status_name(status_), (err)->text);                                \
    } while (0)

#endif
