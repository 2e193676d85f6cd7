/* What all tests share: cmocka, a folder of one's own, allocation failures on demand, assertions that show values. */
#ifndef TESTING_H
#define TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "base/sanitizers.h"
#include <cmocka.h>
#include <headrace/base.h>

/* Runs under ThreadSanitizer, which is ten times slower, take a sample of what one thread does by itself. */
enum { UNDER_TSAN = HR__UNDER_TSAN };

/* The allocator of all tests, which counts and can fail: for another one on top of it. */
extern const hr_allocator testing_allocator;
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
int64_t memory_kept(void); /* what is allocated now, beyond what was then */

/* Writes a file whole, for a test's input. */
void write_file(const char *path, const void *data, size_t size);
/* Reads it whole: gives the bytes (free) and *size. Fails the test if there is none. */
char *read_whole_file(const char *path, size_t *size);

/* How many files lie in a folder, with .hidden or without; -1: there is none. */
int files_in(const char *path, bool hidden);
void remove_folder(const char *path); /* and all below it, if there is one */

/* Assertions that print their expressions, what was expected and what was found. Each evaluates an argument once. */

/* Fails the test with the error's text unless the status is HR_OK. */
#define assert_ok(status, err)                                                                                         \
    do {                                                                                                               \
        hr_status status_ = (status);                                                                                  \
        if (status_ != HR_OK) fail_msg("%s: %s", hr_status_name(status_), (err)->text);                                \
    } while (0)
#define assert_status(status, expected) testing_check_status(status, expected, expected, #status, __FILE__, __LINE__)
/* Either of two: what a call answers whose allocations fail, for one. */
#define assert_status_either(status, one, other) testing_check_status(status, one, other, #status, __FILE__, __LINE__)
#define assert_not_ok(status) testing_check_not_ok(status, #status, __FILE__, __LINE__)

/* Numbers of any type: integers are compared exactly, signed with unsigned by value. NaN fails all of them. */
#define assert_less(found, limit) testing_check_order(found, "<", limit, #found, #limit, __FILE__, __LINE__)
#define assert_at_most(found, limit) testing_check_order(found, "<=", limit, #found, #limit, __FILE__, __LINE__)
#define assert_more(found, limit) testing_check_order(found, ">", limit, #found, #limit, __FILE__, __LINE__)
#define assert_at_least(found, limit) testing_check_order(found, ">=", limit, #found, #limit, __FILE__, __LINE__)
/* For floats, which assert_int_equal would truncate. */
#define assert_exactly(found, expected)                                                                                \
    testing_check_order(found, "==", expected, #found, #expected, __FILE__, __LINE__)
#define assert_differs(found, other) testing_check_order(found, "!=", other, #found, #other, __FILE__, __LINE__)
/* The two differ by less than `tolerance`. */
#define assert_near(found, expected, tolerance)                                                                        \
    testing_check_near(found, expected, tolerance, #found, #expected, __FILE__, __LINE__)
#define assert_nan(found) testing_check_nan(found, #found, __FILE__, __LINE__)

#define assert_text_contains(text, part) testing_check_text(text, "contains", part, #text, __FILE__, __LINE__)
#define assert_text_lacks(text, part) testing_check_text(text, "lacks", part, #text, __FILE__, __LINE__)
#define assert_text_begins(text, start) testing_check_text(text, "begins with", start, #text, __FILE__, __LINE__)

#define assert_shape(found, expected) testing_check_shape(found, expected, #found, __FILE__, __LINE__)

/* What the macros above call. */
void testing_check_status(hr_status found, hr_status one, hr_status other, const char *what, const char *file,
                          int line);
void testing_check_not_ok(hr_status found, const char *what, const char *file, int line);
void testing_check_order(long double a, const char *order, long double b, const char *what_a, const char *what_b,
                         const char *file, int line);
void testing_check_near(double found, double expected, double tolerance, const char *what_found,
                        const char *what_expected, const char *file, int line);
void testing_check_nan(double found, const char *what, const char *file, int line);
void testing_check_text(const char *text, const char *how, const char *part, const char *what, const char *file,
                        int line);
void testing_check_shape(hr_shape found, hr_shape expected, const char *what, const char *file, int line);

#endif
