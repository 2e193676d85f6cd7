/* See memory_files.h. */
#include "tests/io/memory_files.h"
#include "tests/testing.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

memory_file memory_files[MEMORY_FILES] = {{"mem://a/x-0.tfrecord", NULL, 0},
                                          {"mem://a/x-1.tfrecord", NULL, 0},
                                          {"mem://a/b/y.gz", NULL, 0},
                                          {"mem://top", NULL, 0}};
memory_reads memory_read = {.max = 1000, .bad_offset = -1};

static hr_status mem_open(const char *path, void *user, void **file, hr_error *err)
{
    assert_ptr_equal(user, memory_files);
    for (int i = 0; i < MEMORY_FILES; i++) {
        if (strcmp(memory_files[i].name, path) != 0) continue;
        *file = &memory_files[i];
        memory_read.open++;
        return HR_OK;
    }
    return hr_fail(err, HR_NOT_FOUND, "file.open", "%s: there is none in memory", path);
}

static bool flips(int64_t offset, int64_t got)
{
    const memory_reads *m = &memory_read;
    if (!m->flips || m->flip_at < offset || m->flip_at >= offset + got) return false;
    const int number = memory_read.flip_reads++ - m->flip_first;
    return number >= 0 && number < m->flips;
}

static hr_status mem_read(void *file, int64_t offset, void *to, size_t size, size_t *got, hr_error *err)
{
    memory_file *f = file;
    (void)err;
    if (offset == memory_read.bad_offset) return HR_DATA_LOSS; /* without a word */
    *got = offset < (int64_t)f->size ? f->size - (size_t)offset : 0;
    if (*got > size) *got = size;
    if (*got > memory_read.max) *got = memory_read.max;
    if (*got > 0) memcpy(to, f->bytes + offset, *got);
    if (!flips(offset, (int64_t)*got)) return HR_OK;
    ((char *)to)[memory_read.flip_at - offset] ^= 0x10;
    if (memory_read.shrink_to) f->size = memory_read.shrink_to;
    return HR_OK;
}

static void mem_close(void *file)
{
    (void)file;
    memory_read.open--;
}

static hr_status mem_about(const char *path, void *user, hr_file_about *about, hr_error *err)
{
    const size_t size = strlen(path);
    (void)user, (void)err;
    for (int i = 0; i < MEMORY_FILES; i++) {
        if (strncmp(memory_files[i].name, path, size) != 0) continue;
        if (memory_files[i].name[size] && memory_files[i].name[size] != '/') continue;
        *about = (hr_file_about){
            .size = (int64_t)memory_files[i].size, .changed = 1, .is_folder = memory_files[i].name[size] == '/'};
        return HR_OK;
    }
    return HR_NOT_FOUND;
}

static hr_status mem_list(const char *folder, void *user, void (*found)(const char *name, void *to), void *to,
                          hr_error *err)
{
    const bool root = strcmp(folder, "mem:/") == 0;
    const size_t size = root ? strlen("mem:/") : strlen(folder);
    char last[64] = "";
    (void)user, (void)err;
    for (int i = 0; i < MEMORY_FILES; i++) {
        char name[64];
        if (strncmp(memory_files[i].name, folder, size) != 0 || memory_files[i].name[size] != '/') continue;
        snprintf(name, sizeof name, "%.*s", (int)strcspn(memory_files[i].name + size + 1, "/"),
                 memory_files[i].name + size + 1);
        if (strcmp(name, last) != 0) found(name, to);
        strcpy(last, name);
    }
    return HR_OK;
}

const hr_file_system memory_file_system = {
    .struct_size = sizeof memory_file_system,
    .scheme = "mem",
    .user = memory_files,
    .open = mem_open,
    .read = mem_read,
    .close = mem_close,
    .about = mem_about,
    .list = mem_list,
};

int fill_memory_files(void **state)
{
    (void)state;
    for (int i = 0; i < MEMORY_FILES; i++) {
        hr_record_writer *w;
        const hr_output_opts opts = {.struct_size = sizeof opts,
                                     .no_sync = true,
                                     .compression = strstr(memory_files[i].name, ".gz") ? HR_GZIP : HR_NONE};
        if (hr_record_writer_open("f", &opts, &w, NULL) != HR_OK) return -1;
        for (int r = 0; r < 5; r++) hr_record_write(w, memory_files[i].name, strlen(memory_files[i].name), NULL);
        if (hr_record_writer_commit(w, NULL) != HR_OK) return -1;
        memory_files[i].bytes = read_whole_file("f", &memory_files[i].size);
    }
    return hr_register_file_system(&memory_file_system, NULL) == HR_OK ? 0 : -1;
}

int empty_memory_files(void **state)
{
    (void)state;
    for (int i = 0; i < MEMORY_FILES; i++) free(memory_files[i].bytes);
    return 0;
}
