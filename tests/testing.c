/* An allocator that counts and can refuse, small files, and assertions. */
#include "tests/testing.h"
#include <dirent.h>
#include <malloc.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Atomic int64_t seen, alive, refused = -1;
static _Atomic int64_t bytes, most_bytes;
static _Atomic size_t largest = SIZE_MAX;
static int64_t bytes_before;

static bool refuse(void)
{
    int64_t number = atomic_fetch_add(&seen, 1);
    return number == atomic_load(&refused);
}

static int64_t size_of(void *p) { return (int64_t)malloc_usable_size(p); }

static void add_bytes(int64_t size)
{
    const int64_t now = atomic_fetch_add(&bytes, size) + size;
    int64_t max = atomic_load(&most_bytes);
    while (now > max && !atomic_compare_exchange_weak(&most_bytes, &max, now)) {}
}

static void *allocate(size_t size, void *user)
{
    (void)user;
    if (refuse() || size > atomic_load(&largest)) return NULL;
    atomic_fetch_add(&alive, 1);
    void *p = malloc(size);
    add_bytes(size_of(p));
    return p;
}

static void *reallocate(void *p, size_t size, void *user)
{
    (void)user;
    if (refuse() || size > atomic_load(&largest)) return NULL;
    const int64_t before = size_of(p);
    void *moved = realloc(p, size);
    if (moved) add_bytes(size_of(moved) - before);
    return moved;
}

static void release(void *p, void *user)
{
    (void)user;
    atomic_fetch_sub(&alive, 1);
    add_bytes(-size_of(p));
    free(p);
}

const hr_allocator testing_allocator = {allocate, reallocate, release, NULL};

/* Before main, so that whatever is freed was counted, and before the constructors that put another one on top. */
__attribute__((constructor(200))) static void count_allocations(void) { hr_set_allocator(&testing_allocator); }

void fail_allocation(int64_t n)
{
    atomic_store(&seen, 0);
    atomic_store(&refused, n);
}

int64_t allocations_since(void)
{
    atomic_store(&refused, -1);
    return atomic_load(&seen);
}

void limit_allocation(size_t size) { atomic_store(&largest, size); }

int64_t allocations_alive(void) { return atomic_load(&alive); }

void watch_memory(void)
{
    bytes_before = atomic_load(&bytes);
    atomic_store(&most_bytes, bytes_before);
}

int64_t most_memory(void) { return atomic_load(&most_bytes) - bytes_before; }

int64_t memory_kept(void) { return atomic_load(&bytes) - bytes_before; }

void write_file(const char *path, const void *data, size_t size)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    if (size) assert_int_equal(fwrite(data, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
}

char *read_whole_file(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    if (!f) fail_msg("%s cannot be opened", path);
    fseek(f, 0, SEEK_END);
    *size = (size_t)ftell(f);
    rewind(f);
    char *data = malloc(*size + 1);
    assert_non_null(data);
    assert_int_equal(fread(data, 1, *size, f), *size);
    fclose(f);
    return data;
}

int files_in(const char *path, bool hidden)
{
    DIR *folder = opendir(path);
    int count = 0;
    for (struct dirent *e; folder && (e = readdir(folder));)
        count += strcmp(e->d_name, ".") && strcmp(e->d_name, "..") && (hidden || e->d_name[0] != '.');
    if (folder) closedir(folder);
    return folder ? count : -1;
}

void remove_folder(const char *path)
{
    char command[1024];
    snprintf(command, sizeof command, "rm -rf '%s'", path);
    assert_int_equal(system(command), 0);
}

HR_PRINTF(3, 4) static void testing_fail(const char *file, int line, const char *format, ...)
{
    char text[2048];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    print_error("ERROR: %s\n", text);
    _fail(file, line);
}

void testing_check_status(hr_status found, hr_status one, hr_status other, const char *what, const char *file, int line)
{
    if (found == one || found == other) return;
    testing_fail(file, line, "%s: expected %s%s%s, found %s", what, hr_status_name(one), one == other ? "" : " or ",
                 one == other ? "" : hr_status_name(other), hr_status_name(found));
}

void testing_check_not_ok(hr_status found, const char *what, const char *file, int line)
{
    if (found >= HR_OK) testing_fail(file, line, "%s: expected a failure, found %s", what, hr_status_name(found));
}

static bool testing_in_order(long double a, const char *order, long double b)
{
    if (strcmp(order, "<") == 0) return a < b;
    if (strcmp(order, "<=") == 0) return a <= b;
    if (strcmp(order, ">") == 0) return a > b;
    if (strcmp(order, ">=") == 0) return a >= b;
    return strcmp(order, "==") == 0 ? a == b : a < b || a > b;
}

void testing_check_order(long double a, const char *order, long double b, const char *what_a, const char *what_b,
                         const char *file, int line)
{
    /* 21 digits hold every 64-bit integer, and tell any two doubles apart. */
    if (!testing_in_order(a, order, b))
        testing_fail(file, line, "%s: expected %s %.21Lg (%s), found %.21Lg", what_a, order, b, what_b, a);
}

void testing_check_near(double found, double expected, double tolerance, const char *what_found,
                        const char *what_expected, const char *file, int line)
{
    if (!(fabs(found - expected) < tolerance))
        testing_fail(file, line, "%s: expected %.17g (%s) to within %g, found %.17g", what_found, expected,
                     what_expected, tolerance, found);
}

void testing_check_nan(double found, const char *what, const char *file, int line)
{
    if (!isnan(found)) testing_fail(file, line, "%s: expected NaN, found %.17g", what, found);
}

void testing_check_text(const char *text, const char *how, const char *part, const char *what, const char *file,
                        int line)
{
    const char *at = text ? strstr(text, part) : NULL;
    const bool holds = strcmp(how, "contains") == 0 ? at != NULL
                       : strcmp(how, "lacks") == 0  ? text && !at
                                                    : at && at == text;
    if (!holds)
        testing_fail(file, line, "%s: expected a text that %s \"%s\", found \"%s\"", what, how, part,
                     text ? text : "(NULL)");
}

void testing_check_shape(hr_shape found, hr_shape expected, const char *what, const char *file, int line)
{
    char one[256], other[256];
    if (!hr_shape_equal(found, expected))
        testing_fail(file, line, "%s: expected shape %s, found %s", what, hr_shape_text(expected, one, sizeof one),
                     hr_shape_text(found, other, sizeof other));
}
