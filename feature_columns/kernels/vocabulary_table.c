/* The words of a list or of a file. Files in use are kept in one list under a lock and are shared; a file is told by
 * its device, inode, size and time, so a file that was rewritten is another one. The id of a word is its number:
 * columns of one file differ only in the ids of unknown words. */
#include "feature_columns/kernels/vocabulary_table.h"

#include "base/number.h"
#include <errno.h>
#include <fcntl.h>
#include <headrace/io.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file as it was when it was read. */
typedef struct hr__words_file {
    dev_t device;
    ino_t inode;
    off_t size;
    struct timespec changed;
    int64_t wanted;
    bool records, integers;
    hr_words *words;
    struct hr__words_file *next;
} words_file;

/* What a vocabulary is, for errors: of feature `key`, in `file` (NULL: a list). */
typedef struct words_of {
    const char *key, *file;
} words_of;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static words_file *in_use;

static hr_words *vocabulary_table_new(void)
{
    hr_words *words = hr_calloc(1, sizeof *words);
    if (words) atomic_init(&words->refs, 1);
    return words;
}

static void free_words(hr_words *words)
{
    if (!words) return;
    hr__map_free(&words->ids);
    hr_free(words->file);
    hr_free(words);
}

void hr_words_unref(hr_words *words)
{
    if (!words) return;
    if (!words->file) {
        if (atomic_fetch_sub(&words->refs, 1) == 1) free_words(words);
        return;
    }
    /* Under the lock, so that nobody finds words that are about to go. */
    pthread_mutex_lock(&lock);
    const bool last = atomic_fetch_sub(&words->refs, 1) == 1;
    for (words_file **at = &in_use; last && *at; at = &(*at)->next) {
        if (*at != words->file) continue;
        *at = words->file->next;
        break;
    }
    pthread_mutex_unlock(&lock);
    if (last) free_words(words);
}

/* ---- words ---- */

static hr_status repeated(const hr_words *words, words_of of, const char *word, size_t size, hr_error *err)
{
    int shown = size < 60 ? (int)size : 60;
    return hr_fail(err, of.file ? HR_FAILED_PRECONDITION : HR_INVALID_ARGUMENT, "column.vocabulary",
                   "vocabulary of '%s': expected different words, got \"%.*s\" again as number %lld", of.key, shown,
                   word, (long long)words->size);
}

static hr_status vocabulary_table_add(hr_words *words, const char *key, size_t size, bool *again, hr_error *err)
{
    const uint64_t hash = hr__map_hash(key, size);
    hr_status st = hr__map_add_hashed(&words->ids, hash, key, size, words->size, err);
    *again = st == HR_ALREADY_EXISTS;
    if (st != HR_OK) return *again ? HR_OK : st;
    words->size++;
    words->digest = hr_fingerprint_cat64(words->digest, hash);
    return HR_OK;
}

static hr_status vocabulary_table_add_word(hr_words *words, words_of of, const char *word, size_t size, hr_error *err)
{
    bool again;
    HR_TRY(vocabulary_table_add(words, word, size, &again, err));
    return again ? repeated(words, of, word, size, err) : HR_OK;
}

static hr_status vocabulary_table_add_int(hr_words *words, words_of of, int64_t word, hr_error *err)
{
    char bytes[sizeof word], text[HR__NUMBER_TEXT];
    memcpy(bytes, &word, sizeof word);
    bool again;
    HR_TRY(vocabulary_table_add(words, bytes, sizeof bytes, &again, err));
    return again ? repeated(words, of, text, (size_t)hr__format_int64(word, text), err) : HR_OK;
}

hr_status hr_words_of_list(const char *key, hr_vocabulary_list list, hr_words **out, hr_error *err)
{
    const words_of of = {.key = key};
    hr_words *words = vocabulary_table_new();
    hr_status st = words ? HR_OK : hr_no_memory(err, "a vocabulary");
    for (int64_t i = 0; i < list.count && st == HR_OK; i++) {
        if (list.ints)
            st = vocabulary_table_add_int(words, of, list.ints[i], err);
        else if (list.views)
            st = vocabulary_table_add_word(words, of, list.views[i].data, (size_t)list.views[i].size, err);
        else if (list.strings && list.strings[i])
            st = vocabulary_table_add_word(words, of, list.strings[i], strlen(list.strings[i]), err);
        else
            st = hr_fail(err, HR_INVALID_ARGUMENT, "column.vocabulary",
                         "vocabulary of '%s': expected a word, got NULL as number %lld", key, (long long)i);
    }
    *out = st == HR_OK ? words : NULL;
    if (st != HR_OK) free_words(words);
    return st;
}

int64_t hr_words_size(const hr_words *words) { return words->size; }

uint64_t hr_words_digest(const hr_words *words) { return words->digest; }

hr_view hr_words_at(const hr_words *words, int64_t i) { return hr__map_key(&words->ids, (uint32_t)i); }

/* ---- lines ---- */

typedef struct reading {
    hr_words *words;
    words_of of;
    bool integers;
    int64_t wanted; /* -1: all */
} reading;

/* A missing file is an invalid argument when its lines are to be counted, as TensorFlow has it. */
static hr_status cannot_read(words_of of, int64_t wanted, int number, hr_error *err)
{
    hr_status code = wanted >= 0 && number == ENOENT ? HR_NOT_FOUND : HR_INVALID_ARGUMENT;
    hr_status st = hr_fail(err, code, "column.vocabulary_file", "vocabulary of '%s': expected to read %s, got: %s",
                           of.key, of.file, number ? strerror(number) : "a pipe or a device; copy it to a file");
    hr_error_file(err, of.file);
    return st;
}

static hr_status vocabulary_table_wrong_line(const reading *r, const char *expected, const char *line, size_t size,
                                             hr_error *err)
{
    int shown = size < 60 ? (int)size : 60;
    hr_status st =
        hr_fail(err, HR_INVALID_ARGUMENT, "column.vocabulary", "%s:%lld: vocabulary of '%s': expected %s, got \"%.*s\"",
                r->of.file, (long long)r->words->size + 1, r->of.key, expected, shown, line);
    if (err) err->line = r->words->size + 1;
    hr_error_file(err, r->of.file);
    return st;
}

static hr_status add_word(const reading *r, const char *line, size_t size, hr_error *err)
{
    if (size == 0) return vocabulary_table_wrong_line(r, "a word", line, size, err);
    if (!r->integers) return vocabulary_table_add_word(r->words, r->of, line, size, err);
    int64_t value;
    if (hr__parse_int64(line, size, HR__NUMBER_TF_COMPAT, &value) != HR__PARSED)
        return vocabulary_table_wrong_line(r, "a decimal integer", line, size, err);
    return vocabulary_table_add_int(r->words, r->of, value, err);
}

static hr_status vocabulary_table_add_line(const reading *r, const char *line, size_t size, hr_error *err)
{
    return add_word(r, line, size > 0 && line[size - 1] == '\r' ? size - 1 : size, err);
}

static bool enough(const reading *r) { return r->wanted >= 0 && r->words->size == r->wanted; }

/* The whole lines at the front of a text; gives the bytes that they take. With `last` what is after them is one,
 * too. */
static hr_status vocabulary_table_add_lines(const reading *r, const char *data, size_t size, bool last, size_t *used,
                                            hr_error *err)
{
    *used = 0;
    while (*used < size && !enough(r)) {
        const char *line = data + *used, *stop = memchr(line, '\n', size - *used);
        if (!stop && !last) return HR_OK;
        const size_t length = stop ? (size_t)(stop - line) : size - *used;
        HR_TRY(vocabulary_table_add_line(r, line, length, err));
        *used += length + (stop != NULL);
    }
    return HR_OK;
}

/* Reserves memory for the words that the file will have if its other lines are as long as the first ones. A guess:
 * without memory for it, the map grows as it needs. */
static void vocabulary_table_reserve(const reading *r, size_t bytes_so_far, off_t size)
{
    const double lines = (double)r->words->size * (double)size / (double)bytes_so_far * 1.05;
    const double wanted = r->wanted >= 0 && (double)r->wanted < lines ? (double)r->wanted : lines;
    if (wanted < 1e9) (void)hr__map_reserve(&r->words->ids, (uint32_t)wanted, NULL);
}

/* A block at a time, what is left of the last line is moved before the next block. */
static hr_status vocabulary_table_read_lines(const reading *r, FILE *f, off_t file_size, hr_error *err)
{
    size_t capacity = 1 << 18, kept = 0, got, used;
    char *block = hr_malloc(capacity);
    hr_status st = block ? HR_OK : hr_no_memory(err, "a vocabulary file");
    bool reserved = false;
    while (st == HR_OK && !enough(r) && (got = fread(block + kept, 1, capacity - kept, f)) > 0) {
        st = vocabulary_table_add_lines(r, block, kept + got, false, &used, err);
        if (st == HR_OK && !reserved && used > 0) vocabulary_table_reserve(r, used, file_size);
        reserved = true;
        kept = kept + got - used;
        memmove(block, block + used, kept);
        char *more = kept == capacity ? hr_realloc(block, capacity *= 2) : block;
        if (!more) st = hr_no_memory(err, "a vocabulary file");
        if (more) block = more;
    }
    if (st == HR_OK && ferror(f)) st = cannot_read(r->of, r->wanted, errno, err);
    if (st == HR_OK) st = vocabulary_table_add_lines(r, block ? block : "", kept, true, &used, err);
    hr_free(block);
    return st;
}

/* A word a record. */
static hr_status vocabulary_table_read_records(const reading *r, hr_error *err)
{
    hr_record_reader *reader;
    hr_view record;
    const hr_input_opts opts = {.struct_size = sizeof opts, .compression = HR_GZIP};
    HR_TRY(hr_record_reader_open(r->of.file, &opts, &reader, err));
    hr_status st = HR_OK;
    while (st == HR_OK && !enough(r)) {
        st = hr_record_read(reader, &record, err);
        if (st == HR_OK) st = add_word(r, record.data, (size_t)record.size, err);
    }
    hr_record_reader_free(reader);
    return st == HR_END ? HR_OK : st;
}

static hr_status vocabulary_table_check_count(const reading *r, hr_error *err)
{
    if (r->wanted < 0 || enough(r)) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "column.vocabulary_size",
                   "vocabulary of '%s': expected %lld lines in %s, got %lld", r->of.key, (long long)r->wanted,
                   r->of.file, (long long)r->words->size);
}

/* ---- files ---- */

static hr_words *vocabulary_table_find_file(const words_file *file)
{
    for (const words_file *at = in_use; at; at = at->next)
        if (at->device == file->device && at->inode == file->inode && at->size == file->size &&
            at->changed.tv_sec == file->changed.tv_sec && at->changed.tv_nsec == file->changed.tv_nsec &&
            at->wanted == file->wanted && at->integers == file->integers && at->records == file->records)
            return at->words;
    return NULL;
}

static hr_status vocabulary_table_read_file(words_of of, const words_file *file, FILE *f, hr_words **out, hr_error *err)
{
    hr_words *words = vocabulary_table_new();
    words_file *own = hr_memdup(file, sizeof *file);
    if (!words || !own) {
        hr_free(own);
        free_words(words);
        return hr_no_memory(err, "a vocabulary");
    }
    const reading r = {.words = words, .of = of, .integers = file->integers, .wanted = file->wanted};
    words->file = own;
    own->words = words;
    hr_status st =
        file->records ? vocabulary_table_read_records(&r, err) : vocabulary_table_read_lines(&r, f, file->size, err);
    if (st == HR_OK) st = vocabulary_table_check_count(&r, err);
    if (st != HR_OK) {
        free_words(words);
        return st;
    }
    own->next = in_use;
    in_use = own;
    *out = words;
    return HR_OK;
}

hr_status hr_words_of_file(const char *key, const char *name, bool records, bool integers, int64_t wanted,
                           hr_words **out, hr_error *err)
{
    const words_of of = {.key = key, .file = name};
    struct stat about;
    *out = NULL;
    /* Of a pipe, which can be read only once, nothing can be shared; and opening it would wait for its writer. */
    const int fd = open(of.file, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    const bool opened = fd >= 0 && fstat(fd, &about) == 0, is_file = opened && S_ISREG(about.st_mode);
    FILE *f = is_file ? fdopen(fd, "rb") : NULL;
    if (!f) {
        const int number = !opened || is_file ? errno : S_ISDIR(about.st_mode) ? EISDIR : 0;
        if (fd >= 0) close(fd);
        return cannot_read(of, wanted, number, err);
    }
    const words_file file = {.device = about.st_dev,
                             .inode = about.st_ino,
                             .size = about.st_size,
                             .changed = about.st_mtim,
                             .wanted = wanted,
                             .records = records,
                             .integers = integers};
    pthread_mutex_lock(&lock);
    *out = vocabulary_table_find_file(&file);
    if (*out) atomic_fetch_add(&(*out)->refs, 1);
    hr_status st = *out ? HR_OK : vocabulary_table_read_file(of, &file, f, out, err);
    pthread_mutex_unlock(&lock);
    fclose(f);
    return st;
}
