/* What is known of the files that a run reads, as they were when it first met each: so that a later run can tell
 * whether they are the same. A file is known by its size and a sample of its bytes, so that a copy of it is the same
 * file. */
#include "data/exec/engine.h"
#include "io/file_system.h"
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BLOCK = 4096, WHOLE = 64 * 1024 /* no larger than this: all of it is looked at */, MAX_BLOCKS = 16 };
static const int64_t APART = 32 << 20; /* one more block for each, so that looking costs little beside reading */

/* ---- a sample of a file ---- */

/* A file of the machine, or of a registered file system. */
typedef struct sampled {
    const char *name;
    int fd;
    hr__foreign_file foreign;
} sampled;

/* Nobody opens a pipe for this: its writer would take it for its reader. */
static bool open_sampled(const char *name, sampled *s)
{
    struct stat about;
    const hr_file_system *system = hr__file_system_of(name);
    *s = (sampled){.name = name, .fd = -1};
    if (system) return hr__foreign_open(system, name, &s->foreign, NULL) == HR_OK;
    if (stat(name, &about) != 0 || !S_ISREG(about.st_mode)) return false;
    s->fd = open(name, O_RDONLY | O_CLOEXEC);
    return s->fd >= 0;
}

static void close_sampled(sampled *s)
{
    hr__foreign_close(&s->foreign);
    if (s->fd >= 0) close(s->fd);
}

static bool add_block(const sampled *s, int64_t offset, uint32_t *sum)
{
    char bytes[BLOCK];
    size_t got = 0;
    if (s->foreign.system) {
        if (hr__foreign_read(&s->foreign, s->name, offset, bytes, sizeof bytes, &got, NULL) != HR_OK) return false;
    } else {
        const ssize_t n = pread(s->fd, bytes, sizeof bytes, (off_t)offset);
        if (n < 0) return false;
        got = (size_t)n;
    }
    *sum = hr_crc32c(*sum, bytes, got);
    return true;
}

/* The first block, the last one, and some spread evenly between them. */
static bool add_blocks(const sampled *s, int64_t size, uint32_t *sum)
{
    const int64_t wanted = size <= WHOLE ? (size + BLOCK - 1) / BLOCK : 4 + size / APART;
    const int64_t blocks = wanted < MAX_BLOCKS ? wanted : MAX_BLOCKS, last = size > BLOCK ? size - BLOCK : 0;
    for (int64_t i = 0; i < blocks; i++) {
        const int64_t offset = blocks > 1 ? last / (blocks - 1) * i + last % (blocks - 1) * i / (blocks - 1) : 0;
        if (!add_block(s, offset, sum)) return false;
    }
    return true;
}

/* What cannot be read is known by its time of change. */
static uint64_t digest_of(const char *name, const hr_file_about *about)
{
    sampled s;
    uint32_t sum = 0;
    const bool read = open_sampled(name, &s) && add_blocks(&s, about->size, &sum);
    close_sampled(&s);
    return hr_fingerprint_cat64((uint64_t)about->size, read ? sum : (uint64_t)about->changed);
}

/* ---- those of an iterator, by their numbers ---- */

static bool add_file(engine *e, noted_file file)
{
    if (e->files == e->file_capacity) {
        const int32_t capacity = e->file_capacity ? 2 * e->file_capacity : 8;
        noted_file *grown = hr_realloc(e->file, (size_t)capacity * sizeof *grown);
        if (!grown) return false;
        e->file = grown;
        e->file_capacity = capacity;
    }
    if (hr__map_add(&e->file_number, file.name, strlen(file.name), e->files, NULL) != HR_OK) return false;
    e->file[e->files++] = file;
    return true;
}

static int32_t opened_files_find_file(const engine *e, const char *name)
{
    const int64_t *number = hr__map_find(&e->file_number, name, strlen(name));
    return number ? (int32_t)*number : -1;
}

int32_t hr__file_known(engine *e, const char *name)
{
    hr__engine_lock(e);
    const int32_t number = opened_files_find_file(e, name);
    hr__engine_unlock(e);
    return number;
}

/* Looked at outside the lock: of two threads that do so at once, one comes too late. */
int32_t hr__file_number(engine *e, const char *name)
{
    int32_t number = hr__file_known(e, name);
    if (number >= 0) return number;
    hr_file_about about;
    noted_file file = {.name = hr_strdup(name), .size = -1, .mtime = -1};
    if (!file.name) return -1;
    if (hr__path_about(name, &about)) {
        file.size = about.size;
        file.mtime = about.changed;
        file.digest = digest_of(name, &about);
    }
    hr__engine_lock(e);
    number = opened_files_find_file(e, name);
    const bool added = number < 0 && add_file(e, file);
    if (added) number = e->files - 1;
    hr__engine_unlock(e);
    if (!added) hr_free(file.name);
    return number;
}

noted_file hr__file_noted(engine *e, int32_t number)
{
    hr__engine_lock(e);
    const noted_file file = e->file[number];
    hr__engine_unlock(e);
    return file;
}

void hr__files_free(engine *e)
{
    for (int32_t i = 0; i < e->files; i++) hr_free(e->file[i].name);
    hr_free(e->file);
    hr__map_free(&e->file_number);
}

/* ---- op.h ---- */

int32_t hr_file_number(hr_plan *p, const char *name) { return hr__file_number(p->stage->engine, name); }

void hr_file_has_lines(hr_plan *p, int32_t number)
{
    engine *e = p->stage->engine;
    hr__engine_lock(e);
    if (number >= 0 && number < e->files) e->file[number].has_lines = true;
    hr__engine_unlock(e);
}

int32_t hr_files_known(hr_plan *p)
{
    engine *e = p->stage->engine;
    hr__engine_lock(e);
    const int32_t files = e->files;
    hr__engine_unlock(e);
    return files;
}

hr_known_file hr_file_at(hr_plan *p, int32_t number)
{
    const noted_file file = hr__file_noted(p->stage->engine, number);
    return (hr_known_file){file.name, file.size, file.mtime};
}

uint64_t hr_file_digest(hr_plan *p, int32_t number) { return hr__file_noted(p->stage->engine, number).digest; }

bool hr_file_first_opening(hr_plan *p, int32_t number)
{
    engine *e = p->stage->engine;
    hr__engine_lock(e);
    const bool first = !e->file[number].opened;
    e->file[number].opened = true;
    hr__engine_unlock(e);
    return first;
}
