/* Saved states: how large they are, whose they are, which files they fit, onto which readers and ranks they go. */
#include "tests/data/conformance.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILES = 4, RECORDS = 50, ALL = FILES * RECORDS };

/* ---- files: records of their numbers over all files, and more ---- */

static void write_records(const char *path, int first, int count, int size)
{
    char text[4096];
    hr_error err;
    hr_record_writer *writer;
    const hr_output_opts opts = {.struct_size = sizeof opts, .no_sync = true};
    assert_ok(hr_record_writer_open(path, &opts, &writer, &err), &err);
    memset(text, ' ', sizeof text);
    for (int r = first; r < first + count; r++) {
        sprintf(text, "%08d", r);
        text[8] = ' ';
        assert_ok(hr_record_write(writer, text, (size_t)size, &err), &err);
    }
    assert_ok(hr_record_writer_commit(writer, &err), &err);
}

/* Numbered from 0 on: each begins where the one before ended. */
static void write_folder(const char *folder, int files, int records)
{
    char path[64];
    assert_int_equal(mkdir(folder, 0777), 0);
    for (int f = 0; f < files; f++) {
        snprintf(path, sizeof path, "%s/part-%03d.tfrecord", folder, f);
        write_records(path, f * records, records, 16 + f % 5);
    }
}

/* Changes one byte of a file, `at` of 1,000 from its beginning. */
static void spoil(const char *path, int at)
{
    size_t size;
    char *bytes = read_whole_file(path, &size);
    bytes[(size - 1) * (size_t)at / 1000] ^= 1;
    assert_int_equal(remove(path), 0);
    write_file(path, bytes, size);
    free(bytes);
}

/* ---- pipelines ---- */

static hr_dataset *files_of(const char *pattern)
{
    return hr_interleave(hr_list_files(pattern, .shuffle = true), hr_tfrecord_fn, NULL, .cycle_length = 3);
}

static hr_dataset *shuffled_files_of(const char *pattern) { return hr_batch(hr_shuffle(files_of(pattern), 40), 8); }

typedef struct numbers {
    int of[4 * ALL], count;
} numbers;

static void read_numbers(hr_iterator *it, int64_t elements, numbers *out)
{
    const hr_element *e;
    hr_status st = HR_OK;
    for (int64_t n = 0; n < elements && (st = hr_next(it, &e)) == HR_OK; n++) {
        const hr_tensor *t = hr_get_at(e, 0);
        for (int64_t i = 0; i < t->count; i++) {
            assert_less(out->count, 4 * ALL);
            out->of[out->count++] =
                t->dtype == HR_STRING ? atoi(((const hr_view *)t->data)[i].data) : (int)((const int64_t *)t->data)[i];
        }
    }
    if (st < 0) fail_msg("%s", hr_iterator_error(it)->text);
}

/* Takes `ds`; gives the state after `elements` of it. */
static void *state_of(hr_dataset *ds, int64_t elements, int workers, numbers *before, size_t *size)
{
    hr_error err;
    void *saved;
    numbers none = {.count = 0};
    hr_iterator *it = iterate(ds, (way){.workers = workers});
    read_numbers(it, elements, before ? before : &none);
    assert_ok(hr_iterator_save(it, &saved, size, &err), &err);
    hr_iterator_free(it);
    return saved;
}

static void read_rest(hr_dataset *ds, const void *saved, size_t size, int workers, numbers *out)
{
    hr_iterator *it = iterate(ds, (way){.workers = workers, .state = saved, .state_size = size});
    read_numbers(it, INT64_MAX, out);
    hr_iterator_free(it);
}

static void assert_refused(hr_dataset *ds, const void *saved, size_t size, const char *kind, const char *names)
{
    hr_iterator *it = iterate(ds, (way){.state = saved, .state_size = size});
    const hr_error *err = hr_iterator_error(it); /* before anything is read */
    assert_non_null(err);
    assert_status(err->code, HR_FAILED_PRECONDITION);
    assert_string_equal(err->kind, kind);
    if (!strstr(err->text, names)) fail_msg("%s", err->text);
    hr_iterator_free(it);
}

static void assert_same_numbers(const numbers *a, const numbers *b)
{
    assert_int_equal(a->count, b->count);
    assert_memory_equal(a->of, b->of, (size_t)a->count * sizeof *a->of);
}

/* ---- whose it is ---- */

static void a_state_is_refused_by_other_arguments_and_says_whose(void **state)
{
    (void)state;
    size_t size;
    void *saved = state_of(hr_batch(hr_shuffle(hr_range(100), 10), 4), 3, 0, NULL, &size);
    assert_refused(hr_batch(hr_shuffle(hr_range(100), 11), 4), saved, size, "state.other_arguments", "'shuffle'");
    assert_refused(hr_batch(hr_shuffle(hr_range(101), 10), 4), saved, size, "state.other_arguments", "'range'");
    assert_refused(hr_batch(hr_skip(hr_range(100), 10), 4), saved, size, "state.other_pipeline", "'skip'");
    hr_free(saved);
}

/* What is left of a shuffle after 30 numbers, read on from a state by an iterator of the seed `later`. */
static void assert_resumes_with_the_saved_seed(uint64_t first, uint64_t later)
{
    size_t size;
    hr_error err;
    void *saved;
    numbers want = {.count = 0}, got = {.count = 0};
    hr_iterator *it = hr_iterate(hr_shuffle(hr_range(ALL), 100), .seed = first);
    read_numbers(it, 30, &got);
    assert_ok(hr_iterator_save(it, &saved, &size, &err), &err);
    read_numbers(it, INT64_MAX, &want);
    hr_iterator_free(it);
    got.count = 0;
    it = hr_iterate(hr_shuffle(hr_range(ALL), 100), .seed = later, .state = saved, .state_size = size);
    read_numbers(it, INT64_MAX, &got);
    assert_same_numbers(&want, &got);
    hr_iterator_free(it);
    hr_free(saved);
}

static void a_state_has_its_own_seed_drawn_or_given_whatever_seed_is_given_later(void **state)
{
    (void)state;
    assert_resumes_with_the_saved_seed(0, 0);
    assert_resumes_with_the_saved_seed(7, 0);
    assert_resumes_with_the_saved_seed(7, 8);
}

static hr_dataset *all_shuffled(void) { return hr_shuffle(hr_range(ALL), 100); }

/* The state of a state, too. */
static void a_state_has_its_own_epoch_whatever_epoch_is_given_later(void **state)
{
    (void)state;
    for (int64_t epoch = 0; epoch < 4; epoch++)
        for (int64_t later = 0; later < 3; later++) {
            size_t size;
            hr_error err;
            void *saved = NULL;
            numbers want = {.count = 0}, got = {.count = 0};
            hr_iterator *it = iterate(all_shuffled(), (way){.epoch = epoch});
            read_numbers(it, INT64_MAX, &want);
            hr_iterator_free(it);
            for (int part = 0; part < 3; part++) {
                it = iterate(all_shuffled(), (way){.epoch = part ? later : epoch, .state = saved, .state_size = size});
                hr_free(saved);
                read_numbers(it, part < 2 ? 30 : INT64_MAX, &got);
                assert_ok(hr_iterator_save(it, &saved, &size, &err), &err);
                assert_int_equal(((unsigned char *)saved)[4], epoch ? 5 : 4); /* its version */
                hr_iterator_free(it);
            }
            hr_free(saved);
            assert_same_numbers(&want, &got);
        }
}

/* A state of version 5 whose epoch is these bytes. */
static void assert_epoch_damaged(const unsigned char *bytes, size_t count)
{
    size_t size;
    hr_error err;
    void *saved;
    unsigned char forged[4096];
    hr_iterator *it = iterate(all_shuffled(), (way){.epoch = 9});
    assert_ok(hr_iterator_save(it, &saved, &size, &err), &err);
    hr_iterator_free(it);
    enum { HEAD = 9 }; /* up to its seed, a byte; then the epoch, a byte */
    const size_t whole = size + count - 1;
    assert_at_most(size + count, sizeof forged);
    memcpy(forged, saved, HEAD);
    memcpy(forged + HEAD, bytes, count);
    memcpy(forged + HEAD + count, (unsigned char *)saved + HEAD + 1, size - HEAD - 1);
    const uint32_t sum = hr_crc32c(0, forged, whole - 4);
    for (int i = 0; i < 4; i++) forged[whole - 4 + (size_t)i] = (unsigned char)(sum >> 8 * i);
    it = iterate(all_shuffled(), (way){.state = forged, .state_size = whole});
    const bool right = count == 1 && bytes[0] == 9;
    assert_true(right == !hr_iterator_error(it));
    if (!right) assert_string_equal(hr_iterator_error(it)->kind, "state.damaged");
    hr_iterator_free(it);
    hr_free(saved);
}

static void a_saved_epoch_that_no_run_has_is_refused(void **state)
{
    (void)state;
    const unsigned char right = 9, none = 0, more[] = {0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x08},
                        negative[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01};
    assert_epoch_damaged(&right, 1);
    assert_epoch_damaged(&none, 1);
    assert_epoch_damaged(more, sizeof more); /* 2^52 + 1 */
    assert_epoch_damaged(negative, sizeof negative);
}

/* Not a byte may be another, and none may be missing. */
static void a_damaged_state_is_refused(void **state)
{
    (void)state;
    size_t size;
    write_folder("damaged", FILES, RECORDS);
    unsigned char *saved = state_of(shuffled_files_of("damaged/*.tfrecord"), 9, 0, NULL, &size);
    for (size_t at = 0; at < size; at++) {
        saved[at] ^= 8;
        hr_iterator *it = iterate(shuffled_files_of("damaged/*.tfrecord"), (way){.state = saved, .state_size = size});
        assert_non_null(hr_iterator_error(it));
        hr_iterator_free(it);
        saved[at] ^= 8;
        it = iterate(shuffled_files_of("damaged/*.tfrecord"), (way){.state = saved, .state_size = at});
        assert_string_equal(hr_iterator_error(it)->kind, "state.damaged");
        hr_iterator_free(it);
    }
    hr_free(saved);
}

/* With the right checksum it is refused, or goes on somewhere: whatever it says of files, nothing is read beyond it. */
static void a_forged_state_is_refused_or_goes_on(void **state)
{
    (void)state;
    size_t size;
    write_folder("forged", FILES, RECORDS);
    unsigned char *saved = state_of(hr_batch(hr_tfrecord("forged/*.tfrecord"), 4), 9, 0, NULL, &size);
    for (size_t at = 8; at + 4 < size; at++)
        for (int bit = 0; bit < 8; bit++) {
            const hr_element *e;
            saved[at] ^= (unsigned char)(1 << bit);
            const uint32_t sum = hr_crc32c(0, saved, size - 4);
            for (int i = 0; i < 4; i++) saved[size - 4 + (size_t)i] = (unsigned char)(sum >> 8 * i);
            hr_iterator *it =
                iterate(hr_batch(hr_tfrecord("forged/*.tfrecord"), 4), (way){.state = saved, .state_size = size});
            while (hr_next(it, &e) == HR_OK) {}
            hr_iterator_free(it);
            saved[at] ^= (unsigned char)(1 << bit);
        }
    hr_free(saved);
}

/* ---- its files ---- */

static void a_state_with_bytes_after_its_end_is_refused(void **state)
{
    (void)state;
    size_t size;
    unsigned char *saved = state_of(hr_batch(hr_range(20), 4), 2, 0, NULL, &size), longer[4096];
    assert_at_most(size + 1, sizeof longer);
    memcpy(longer, saved, size - 4);
    longer[size - 4] = 0;
    const uint32_t sum = hr_crc32c(0, longer, size - 3);
    for (int i = 0; i < 4; i++) longer[size - 3 + (size_t)i] = (unsigned char)(sum >> 8 * i);
    hr_iterator *it = iterate(hr_batch(hr_range(20), 4), (way){.state = longer, .state_size = size + 1});
    assert_non_null(hr_iterator_error(it));
    assert_string_equal(hr_iterator_error(it)->kind, "state.damaged");
    hr_iterator_free(it);
    hr_free(saved);
}

static hr_dataset *batches_of_batches(void)
{
    return hr_batch(hr_batch(hr_repeat(hr_range(20), .count = HR_I64(2)), 4), 2);
}

static hr_dataset *shuffled_batches(void) { return hr_batch(hr_shuffle(hr_shuffle(hr_range(60), 10), 10), 4); }

/* In iterators of their own, whose memory is not there yet. */
static void save_short_of_memory(hr_dataset *(*build)(void), int64_t elements)
{
    const way w = {.unit_rows = 5, .window = 2};
    void *want = NULL;
    size_t wanted = 0;
    for (int64_t n = -1, count = 0; n < count; n++) { /* first with all the memory */
        void *saved;
        size_t size;
        hr_error err;
        const hr_element *e;
        hr_iterator *it = iterate(build(), w);
        for (int64_t i = 0; i < elements; i++)
            if (hr_next(it, &e) != HR_OK) break;
        fail_allocation(n < 0 ? INT64_MAX : n);
        const hr_status st = hr_iterator_save(it, &saved, &size, &err);
        const int64_t made = allocations_since();
        if (n < 0) {
            assert_ok(st, &err);
            want = saved;
            wanted = size;
            count = made;
        } else if (st == HR_OK) {
            if (size != wanted || memcmp(saved, want, size) != 0)
                fail_msg("allocation %d of %d: a state of %zu bytes, not %zu", (int)n, (int)count, size, wanted);
            hr_free(saved);
        } else
            assert_status(st, HR_RESOURCE_EXHAUSTED);
        hr_iterator_free(it);
    }
    hr_free(want);
}

static void a_state_saved_short_of_memory_is_whole_or_none(void **state)
{
    (void)state;
    save_short_of_memory(batches_of_batches, 3);
    save_short_of_memory(batches_of_batches, INT64_MAX);
    save_short_of_memory(shuffled_batches, 5);
}

/* ---- what it depends on ---- */

enum { LONG = 3000 };

static hr_dataset *long_files(void) { return files_of("long/*.tfrecord"); }
static hr_dataset *long_batches(void) { return hr_batch(hr_shuffle(long_files(), 300), 16); }
static hr_dataset *long_epochs(void) { return hr_prefetch(hr_batch(hr_shuffle_and_repeat(long_files(), 100), 7), 2); }
static hr_dataset *long_range(void) { return hr_zip((hr_dataset *[]){hr_range(9000), hr_skip(hr_range(9100), 3)}, 2); }

static void *state_by(hr_dataset *(*build)(void), int64_t elements, way w, size_t *size)
{
    hr_error err;
    void *saved;
    numbers *passed = calloc(1, sizeof *passed);
    assert_non_null(passed);
    hr_iterator *it = iterate(build(), w);
    for (int64_t n = 0; n < elements; n++, passed->count = 0) {
        const int before = passed->count;
        read_numbers(it, 1, passed);
        if (passed->count == before) break;
    }
    assert_ok(hr_iterator_save(it, &saved, size, &err), &err);
    hr_iterator_free(it);
    free(passed);
    return saved;
}

/* Not on the sizes of units, which follow from times, nor on how far ahead the pipeline was. */
static void a_state_says_what_was_delivered_and_nothing_else(void **state)
{
    (void)state;
    hr_dataset *(*const build[])(void) = {long_files, long_batches, long_epochs, long_range};
    const int64_t elements[] = {0, 1, 130, 187, 2500, INT64_MAX};
    const way ways[] = {{.workers = 0}, {.workers = 1}, {.workers = 2}, {.workers = 4}, {.workers = 2}, {.window = 1}};
    write_folder("long", FILES, LONG / FILES);
    for (size_t b = 0; b < sizeof build / sizeof *build; b++)
        for (size_t e = 0; e < sizeof elements / sizeof *elements; e++) {
            size_t want_size, size;
            if (build[b] == long_epochs && elements[e] == INT64_MAX) continue;
            void *want = state_by(build[b], elements[e], ways[0], &want_size);
            for (size_t w = 1; w < sizeof ways / sizeof *ways; w++) {
                void *saved = state_by(build[b], elements[e], ways[w], &size);
                if (size != want_size || memcmp(saved, want, size) != 0)
                    fail_msg("pipeline %zu after %lld elements, way %zu: another state", b, (long long)elements[e], w);
                hr_free(saved);
            }
            hr_free(want);
        }
}

static void a_state_is_refused_when_a_file_has_changed_and_says_which(void **state)
{
    (void)state;
    size_t size;
    write_folder("changed", FILES, RECORDS);
    void *saved = state_of(shuffled_files_of("changed/*.tfrecord"), 20, 0, NULL, &size);
    write_records("changed/part-002.tfrecord", 0, RECORDS + 1, 16);
    assert_refused(shuffled_files_of("changed/*.tfrecord"), saved, size, "state.file_changed", "part-002");
    assert_int_equal(remove("changed/part-002.tfrecord"), 0);
    assert_refused(shuffled_files_of("changed/*.tfrecord"), saved, size, "state.file_changed",
                   "changed/part-002.tfrecord' is gone");
    write_records("changed/part-005.tfrecord", 0, RECORDS, 16); /* as many, of other names */
    assert_refused(shuffled_files_of("changed/*.tfrecord"), saved, size, "state.file_changed", "gone");
    write_records("changed/part-002.tfrecord", 0, RECORDS, 16);
    assert_refused(shuffled_files_of("changed/*.tfrecord"), saved, size, "state.files", "4 files");
    hr_free(saved);
}

/* Those that were read to their end long ago as well as those that are open. */
static void no_file_may_have_changed_anywhere(void **state)
{
    (void)state;
    char path[64];
    size_t size;
    write_folder("anywhere", FILES, RECORDS);
    void *saved =
        state_of(hr_batch(hr_repeat(files_of("anywhere/*.tfrecord"), .count = HR_I64(2)), 8), 30, 1, NULL, &size);
    for (int f = 0; f < FILES; f++)
        for (int at = 0; at <= 1000; at += 250) {
            snprintf(path, sizeof path, "anywhere/part-%03d.tfrecord", f);
            spoil(path, at);
            assert_refused(hr_batch(hr_repeat(files_of("anywhere/*.tfrecord"), .count = HR_I64(2)), 8), saved, size,
                           "state.file_changed", path);
            spoil(path, at);
        }
    numbers rest = {.count = 0};
    read_rest(hr_batch(hr_repeat(files_of("anywhere/*.tfrecord"), .count = HR_I64(2)), 8), saved, size, 0, &rest);
    assert_int_equal(rest.count, 2 * ALL - 30 * 8);
    hr_free(saved);
}

static void a_file_of_one_pattern_is_known_as_well(void **state)
{
    (void)state;
    size_t size;
    write_folder("alone", 3, RECORDS);
    void *saved = state_of(hr_tfrecord("alone/part-*.tfrecord"), 70, 0, NULL, &size);
    spoil("alone/part-002.tfrecord", 500); /* not read yet */
    assert_refused(hr_tfrecord("alone/part-*.tfrecord"), saved, size, "state.file_changed", "part-002");
    spoil("alone/part-002.tfrecord", 500);
    numbers rest = {.count = 0};
    hr_iterator *it = iterate(hr_tfrecord("alone/part-*.tfrecord"), (way){.state = saved, .state_size = size});
    read_numbers(it, 10, &rest);
    assert_int_equal(rest.of[0], 70);
    hr_iterator_free(it);
    spoil("alone/part-000.tfrecord", 500);
    assert_refused(hr_tfrecord("alone/part-*.tfrecord"), saved, size, "state.file_changed", "part-000");
    hr_free(saved);
}

/* Nobody lists it: the function that makes its dataset knows it alone. */
static hr_dataset *hidden_file(const hr_element *in, void *user)
{
    (void)in;
    return hr_text_lines(user);
}

static void a_file_that_only_a_function_knows_is_known_as_well(void **state)
{
    (void)state;
    size_t size;
    char name[] = "hidden.txt";
    write_file(name, "1\n2\n3\n4\n", 8);
    void *saved = state_of(hr_flat_map(hr_range(3), hidden_file, name), 2, 0, NULL, &size);
    write_file(name, "1\n2\n3\n5\n", 8);
    assert_refused(hr_flat_map(hr_range(3), hidden_file, name), saved, size, "state.file_changed", "hidden.txt");
    assert_int_equal(remove(name), 0);
    assert_refused(hr_flat_map(hr_range(3), hidden_file, name), saved, size, "state.file_changed", "gone");
    hr_free(saved);
}

static void large_files_are_looked_at_in_many_places(void **state)
{
    (void)state;
    size_t size;
    write_records("large.tfrecord", 0, 3000, 4000);
    void *saved = state_of(hr_tfrecord("large.tfrecord"), 5, 0, NULL, &size);
    spoil("large.tfrecord", 0);
    assert_refused(hr_tfrecord("large.tfrecord"), saved, size, "state.file_changed", "large.tfrecord");
    spoil("large.tfrecord", 0);
    spoil("large.tfrecord", 1000);
    assert_refused(hr_tfrecord("large.tfrecord"), saved, size, "state.file_changed", "large.tfrecord");
    spoil("large.tfrecord", 1000);
    write_records("large.tfrecord", 3000, 3000, 4000); /* the same size, other numbers everywhere */
    assert_refused(hr_tfrecord("large.tfrecord"), saved, size, "state.file_changed", "large.tfrecord");
    hr_free(saved);
}

static void a_state_fits_a_folder_that_was_moved_or_copied(void **state)
{
    (void)state;
    size_t size;
    numbers want = {.count = 0}, got = {.count = 0};
    write_folder("here", FILES, RECORDS);
    void *saved = state_of(shuffled_files_of("here/*.tfrecord"), 7, 2, NULL, &size);
    read_rest(shuffled_files_of("here/*.tfrecord"), saved, size, 0, &want);
    assert_int_equal(mkdir("far", 0777), 0);
    assert_int_equal(rename("here", "far/there"), 0);
    read_rest(shuffled_files_of("far/there/*.tfrecord"), saved, size, 0, &got);
    assert_same_numbers(&want, &got);
    spoil("far/there/part-001.tfrecord", 400);
    assert_refused(shuffled_files_of("far/there/*.tfrecord"), saved, size, "state.file_changed",
                   "far/there/part-001.tfrecord");
    assert_refused(shuffled_files_of("far/there/part*.tfrecord"), saved, size, "state.other_arguments", "'list_files'");
    hr_free(saved);
}

static void a_state_of_one_file_fits_it_wherever_it_is(void **state)
{
    (void)state;
    size_t size;
    numbers rest = {.count = 0};
    write_records("single.tfrecord", 0, 20, 16);
    void *saved = state_of(hr_tfrecord("single.tfrecord"), 12, 0, NULL, &size);
    assert_int_equal(mkdir("elsewhere", 0777), 0);
    assert_int_equal(rename("single.tfrecord", "elsewhere/single.tfrecord"), 0);
    read_rest(hr_tfrecord("elsewhere/single.tfrecord"), saved, size, 0, &rest);
    assert_int_equal(rest.count, 8);
    assert_int_equal(rest.of[0], 12);
    assert_refused(hr_tfrecord("single.tfrecord"), saved, size, "state.file_changed", "gone");
    hr_free(saved);
}

/* What was known of files that the restored run has not met is not forgotten. */
static void a_state_of_a_restored_run_knows_all_files(void **state)
{
    (void)state;
    size_t size, again;
    hr_error err;
    void *second;
    write_folder("twice", FILES, RECORDS);
    void *first = state_of(hr_batch(hr_tfrecord("twice/*.tfrecord"), 5), 25, 0, NULL, &size);
    hr_iterator *it = iterate(hr_batch(hr_tfrecord("twice/*.tfrecord"), 5), (way){.state = first, .state_size = size});
    assert_ok(hr_iterator_save(it, &second, &again, &err), &err);
    hr_iterator_free(it);
    assert_int_equal(size, again);
    assert_memory_equal(first, second, size);
    spoil("twice/part-000.tfrecord", 300);
    assert_refused(hr_batch(hr_tfrecord("twice/*.tfrecord"), 5), second, again, "state.file_changed", "part-000");
    hr_free(first);
    hr_free(second);
}

/* ---- how large it is ---- */

static void a_state_stays_small_however_many_files_there_are(void **state)
{
    (void)state;
    enum { MANY = 700 };
    size_t size, few;
    char path[64];
    write_folder("few", 8, 20);
    void *saved = state_of(shuffled_files_of("few/*.tfrecord"), 15, 2, NULL, &few);
    if (few > 512) fail_msg("%zu bytes", few);
    hr_free(saved);
    write_folder("many", MANY, 1);
    saved = state_of(shuffled_files_of("many/*.tfrecord"), MANY / 8, 2, NULL, &size);
    if (size > 2048) fail_msg("%zu bytes", size);
    for (int f = 0; f < MANY; f += 97) {
        snprintf(path, sizeof path, "many/part-%03d.tfrecord", f);
        spoil(path, 700);
        assert_refused(shuffled_files_of("many/*.tfrecord"), saved, size, "state.file_changed", "one of");
        spoil(path, 700);
    }
    hr_free(saved);
}

static void a_state_stays_small_however_long_names_are(void **state)
{
    (void)state;
    size_t size;
    char names[40][200];
    hr_view view[40];
    for (int i = 0; i < 40; i++) {
        snprintf(names[i], sizeof names[i], "%0150d.tfrecord", i);
        write_records(names[i], i, 1, 16);
        view[i] = (hr_view){names[i], (int64_t)strlen(names[i])};
    }
    hr_tensor t = {.dtype = HR_STRING, .shape = HR_SHAPE(40), .count = 40, .data = view};
    hr_dataset *ds = hr_interleave(hr_from_tensor_slices(&t, NULL, 1), hr_tfrecord_fn, NULL, .cycle_length = 16);
    void *saved = state_of(hr_shuffle(ds, 10), 35, 0, NULL, &size);
    if (size > 2048) fail_msg("%zu bytes", size);
    hr_free(saved);
}

/* ---- readers ---- */

static void a_state_goes_on_with_any_number_of_workers(void **state)
{
    (void)state;
    static const int workers[] = {0, 1, 2, 3, 8, 16};
    size_t size;
    write_folder("workers", FILES, RECORDS);
    for (int w = 0; w < 6; w++) {
        numbers before = {.count = 0}, whole = {.count = 0};
        void *saved = state_of(shuffled_files_of("workers/*.tfrecord"), 9, 4, &before, &size);
        hr_iterator *it = iterate(shuffled_files_of("workers/*.tfrecord"), (way){0});
        read_numbers(it, INT64_MAX, &whole);
        hr_iterator_free(it);
        read_rest(shuffled_files_of("workers/*.tfrecord"), saved, size, workers[w], &before);
        assert_same_numbers(&whole, &before);
        hr_free(saved);
    }
}

/* ---- ranks ---- */

/* Batches of one rank's share of a shuffled stream, after those that all ranks had before. */
static hr_dataset *share_of(int64_t had, int ranks, int rank)
{
    hr_dataset *ds = hr_shuffle_and_repeat(files_of("ranks/*.tfrecord"), 30, .count = 2, .seed = 5);
    return hr_batch(hr_shard(hr_skip(ds, had), ranks, rank), 4);
}

static void a_state_is_one_ranks(void **state)
{
    (void)state;
    size_t size;
    write_folder("ranks", FILES, RECORDS);
    void *saved = state_of(share_of(0, 2, 1), 10, 1, NULL, &size);
    assert_refused(share_of(0, 3, 1), saved, size, "state.other_arguments", "'shard'");
    assert_refused(share_of(0, 2, 0), saved, size, "state.other_arguments", "'shard'");
    numbers rest = {.count = 0};
    read_rest(share_of(0, 2, 1), saved, size, 2, &rest);
    assert_int_equal(rest.count, ALL - 40);
    hr_free(saved);
}

/* Two ranks make ten batches of four each; three go on with the rest, in the same order over all. */
static void another_number_of_ranks_goes_on_at_the_place_of_all(void **state)
{
    (void)state;
    enum { HAD = 2 * 10 * 4 };
    static numbers whole, part;
    whole.count = 0;
    hr_iterator *it = iterate(share_of(0, 1, 0), (way){0});
    read_numbers(it, INT64_MAX, &whole);
    hr_iterator_free(it);
    assert_int_equal(whole.count, 2 * ALL);
    for (int rank = 0; rank < 3; rank++) {
        part.count = 0;
        it = iterate(share_of(HAD, 3, rank), (way){.workers = rank});
        read_numbers(it, INT64_MAX, &part);
        hr_iterator_free(it);
        assert_int_equal(part.count, (2 * ALL - HAD - rank + 2) / 3);
        for (int i = 0; i < part.count; i++) assert_int_equal(part.of[i], whole.of[HAD + 3 * i + rank]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_state_is_refused_by_other_arguments_and_says_whose),
        cmocka_unit_test(a_state_has_its_own_seed_drawn_or_given_whatever_seed_is_given_later),
        cmocka_unit_test(a_state_has_its_own_epoch_whatever_epoch_is_given_later),
        cmocka_unit_test(a_saved_epoch_that_no_run_has_is_refused),
        cmocka_unit_test(a_damaged_state_is_refused),
        cmocka_unit_test(a_forged_state_is_refused_or_goes_on),
        cmocka_unit_test(a_state_with_bytes_after_its_end_is_refused),
        cmocka_unit_test(a_state_saved_short_of_memory_is_whole_or_none),
        cmocka_unit_test(a_state_says_what_was_delivered_and_nothing_else),
        cmocka_unit_test(a_state_is_refused_when_a_file_has_changed_and_says_which),
        cmocka_unit_test(no_file_may_have_changed_anywhere),
        cmocka_unit_test(a_file_of_one_pattern_is_known_as_well),
        cmocka_unit_test(a_file_that_only_a_function_knows_is_known_as_well),
        cmocka_unit_test(large_files_are_looked_at_in_many_places),
        cmocka_unit_test(a_state_fits_a_folder_that_was_moved_or_copied),
        cmocka_unit_test(a_state_of_one_file_fits_it_wherever_it_is),
        cmocka_unit_test(a_state_of_a_restored_run_knows_all_files),
        cmocka_unit_test(a_state_stays_small_however_many_files_there_are),
        cmocka_unit_test(a_state_stays_small_however_long_names_are),
        cmocka_unit_test(a_state_goes_on_with_any_number_of_workers),
        cmocka_unit_test(a_state_is_one_ranks),
        cmocka_unit_test(another_number_of_ranks_goes_on_at_the_place_of_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
