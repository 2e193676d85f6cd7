/* An allocator that counts and can refuse, and small files. */
#include "tests/testing.h"
#include <dirent.h>
#include <malloc.h>
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
    int64_t most = atomic_load(&most_bytes);
    while (now > most && !atomic_compare_exchange_weak(&most_bytes, &most, now)) {}
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

/* Before main, so that whatever is freed was counted. */
__attribute__((constructor)) static void count_allocations(void)
{
    hr_set_allocator(&(hr_allocator){allocate, reallocate, release, NULL});
}

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
