/* One CSV to TFRecords, without the final sync; and the same bytes written and synced by a bare loop. */
#include "bench/bench.h"
#include "io/schema/schema.h"
#include <dirent.h>
#include <fcntl.h>
#include <headrace/convert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHUNK = 256 * 1024 };

static const char schema_text[] =
    "int64: [label, I1, I2, I3, I4, I5, I6, I7, I8, I9, I10, I11, I12, I13]\n"
    "string: [C1, C2, C3, C4, C5, C6, C7, C8, C9, C10, C11, C12, C13, C14, C15, C16, C17, "
    "C18, C19, C20, C21, C22, C23, C24, C25, C26]\n";

/* Syncs each file of the folder and removes it: after the clock. */
static double sync_and_remove(const char *folder)
{
    double start = bench_seconds();
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));) {
        char path[2048];
        if (e->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        int file = open(path, O_RDONLY);
        if (file >= 0) {
            fsync(file);
            close(file);
        }
    }
    double seconds = bench_seconds() - start;
    if (d) rewinddir(d);
    for (struct dirent *e; d && (e = readdir(d));) {
        char path[2048];
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        if (e->d_name[0] != '.') unlink(path);
    }
    if (d) closedir(d);
    rmdir(folder);
    return seconds;
}

static double bare_write(const char *folder, int64_t bytes)
{
    static char chunk[CHUNK];
    char path[1100];
    snprintf(path, sizeof path, "%s/bare-write", folder);
    double start = bench_seconds();
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    while (file >= 0 && bytes > 0) {
        ssize_t wrote = write(file, chunk, bytes < CHUNK ? (size_t)bytes : CHUNK);
        if (wrote <= 0) break;
        bytes -= wrote;
    }
    if (file >= 0) {
        fsync(file);
        close(file);
    }
    double seconds = bench_seconds() - start;
    unlink(path);
    return seconds;
}

static hr_status run_convert(pass *p, void *memory)
{
    (void)memory;
    hr_file_list files;
    hr__schema_file schema = {0};
    hr_convert_result result = {0};
    char out[1024];
    snprintf(out, sizeof out, "%s/convert-%d", p->folder, (int)getpid());
    HR_TRY(bench_files(p->folder, CRITEO_CSV, &files, &p->error));
    hr_status st = bench_schema(schema_text, &schema, &p->error);
    double start = bench_seconds();
    if (st == HR_OK)
        st = hr_convert(&((hr_file_list){files.path, 1}), out, &result, &p->error, .schema = &schema, .shards = 4,
                        .no_sync = true);
    p->seconds = bench_seconds() - start;
    p->rows = result.written;
    p->bytes = (double)result.bytes_in;
    add_extra(p, "sync_seconds", sync_and_remove(out));
    add_extra(p, "bare_write_seconds", bare_write(p->folder, result.bytes_out));
    hr_convert_result_clear(&result);
    hr__schema_clear(&schema);
    hr_file_list_clear(&files);
    return st;
}

const work work_convert[] = {
    {.name = "convert", .run = run_convert, .threads = 2},
    {0},
};
