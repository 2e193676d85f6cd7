/* Shards: which record goes where, that only whole ones are seen whatever fails, and that a stopped writer's go on. */
#include "io/record_sets/shards.h"
#include "tests/io/faults.h"
#include "tests/testing.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

enum { RECORDS = 100, FEW = 14 };

/* Record i: its number, i % 30 + 1 times. */
static void write_from(hr_shard_writer *w, int64_t first, int64_t count)
{
    hr_error err;
    for (int64_t i = first; i < count; i++) {
        char data[40];
        memset(data, (int)i, sizeof data);
        assert_ok(hr_shard_write(w, data, (size_t)i % 30 + 1, &err), &err);
    }
}

static hr_shard_writer *open_writer(const char *prefix, hr_shard_writer_opts opts)
{
    hr_shard_writer *w = NULL;
    hr_error err;
    opts.struct_size = sizeof opts;
    opts.no_sync = true;
    assert_ok(hr_shard_writer_open_with(prefix, &opts, &w, &err), &err);
    return w;
}

/* Reads a shard: its records must be first, first + step, ...; gives how many there are. */
static int64_t read_shard(const char *prefix, int shard, int count, int64_t first, int64_t step)
{
    char path[256];
    hr_record_reader *reader;
    hr_error err;
    hr_view record;
    int64_t records = 0;
    snprintf(path, sizeof path, "%s%05d-of-%05d.tfrecord", prefix, shard, count);
    assert_ok(hr_record_reader_open(path, NULL, &reader, &err), &err);
    for (; hr_record_read(reader, &record, &err) == HR_OK; records++) {
        const int64_t i = first + records * step;
        assert_int_equal(record.size, i % 30 + 1);
        assert_int_equal((unsigned char)record.data[0], i);
    }
    hr_record_reader_free(reader);
    return records;
}

static void records_are_dealt_over_a_fixed_number_of_shards(void **state)
{
    (void)state;
    static const hr_compression all[] = {HR_NONE, HR_GZIP, HR_ZLIB};
    hr_error err;
    for (int c = 0; c < 3; c++) {
        hr_shard_writer *w = open_writer("out/deep/train-", (hr_shard_writer_opts){.shards = 3, .compression = all[c]});
        write_from(w, 0, RECORDS);
        assert_int_equal(hr_shard_writer_resumed(w), 0);
        assert_int_equal(files_in("out/deep", false), 0);
        assert_ok(hr_shard_writer_commit(w, &err), &err);
        assert_int_equal(files_in("out/deep", true), 3);
        for (int s = 0; s < 3; s++) assert_int_equal(read_shard("out/deep/train-", s, 3, s, 3), s == 0 ? 34 : 33);
        remove_folder("out/deep");
        remove_folder("out");
    }
}

static void the_caller_may_choose_the_shard(void **state)
{
    (void)state;
    hr_error err;
    hr_shard_writer *w = open_writer("out/x", (hr_shard_writer_opts){.shards = 2});
    char data[2] = {0, 1};
    assert_ok(hr_shard_write_to(w, 1, data, 1, &err), &err);
    assert_ok(hr_shard_write_to(w, 1, data + 1, 1, &err), &err);
    assert_status(hr_shard_write_to(w, 2, data, 1, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "shards.shard");
    hr_shard_writer_discard(w);
    assert_int_equal(files_in("out", true), -1);
    w = open_writer("out/x", (hr_shard_writer_opts){.max_shard_bytes = 20});
    assert_status(hr_shard_write_to(w, 0, data, 1, &err), HR_INVALID_ARGUMENT);
    hr_shard_writer_discard(w);
    hr_shard_writer_discard(NULL);
}

/* How many shards of at most `most` bytes the records need, by a loop of our own. */
static int shards_needed(int64_t max, int64_t count, int64_t *records)
{
    int shards = 1;
    int64_t bytes = 0;
    records[0] = 0;
    for (int64_t i = 0; i < count; i++) {
        const int64_t size = i % 30 + 1 + 16;
        if (bytes > 0 && bytes + size > max) {
            bytes = 0;
            records[shards++] = 0;
        }
        bytes += size;
        records[shards - 1]++;
    }
    return shards;
}

static void shards_are_filled_up_to_a_size(void **state)
{
    (void)state;
    const int64_t sizes[] = {1, 17, 100, 333, 100000};
    hr_error err;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        int64_t records[RECORDS], first = 0;
        const int shards = shards_needed(sizes[i], RECORDS, records);
        hr_shard_writer *w = open_writer("out/x-", (hr_shard_writer_opts){.max_shard_bytes = sizes[i]});
        write_from(w, 0, RECORDS);
        assert_int_equal(files_in("out", false), 0);
        assert_ok(hr_shard_writer_commit(w, &err), &err);
        assert_int_equal(files_in("out", true), shards);
        for (int s = 0; s < shards; s++) {
            assert_int_equal(read_shard("out/x-", s, shards, first, 1), records[s]);
            first += records[s];
        }
        remove_folder("out");
    }
}

static void each_shard_may_have_its_index(void **state)
{
    (void)state;
    hr_error err;
    for (int sized = 0; sized < 2; sized++) {
        hr_shard_writer_opts opts = {.index = true, .compression = HR_LZ4, .shards = sized ? 0 : 4};
        if (sized) opts.max_shard_bytes = 1000;
        hr_shard_writer *w = open_writer("out/x-", opts);
        write_from(w, 0, RECORDS);
        assert_ok(hr_shard_writer_commit(w, &err), &err);
        hr_file_list files;
        int64_t records = 0;
        assert_ok(hr_match_files("out/*.tfrecord", &files, &err), &err);
        for (int64_t i = 0; i < files.count; i++) {
            hr_record_index *index;
            assert_ok(hr_record_index_read(files.path[i], &index, &err), &err);
            records += hr_record_index_count(index);
            hr_record_index_free(index);
        }
        assert_int_equal(records, RECORDS);
        assert_int_equal(files_in("out", true), 2 * files.count);
        hr_file_list_clear(&files);
        remove_folder("out");
    }
}

static void no_records_are_one_empty_shard(void **state)
{
    (void)state;
    hr_error err;
    hr_shard_writer *w = open_writer("out/x-", (hr_shard_writer_opts){.max_shard_bytes = 5});
    assert_ok(hr_shard_writer_commit(w, &err), &err);
    assert_int_equal(read_shard("out/x-", 0, 1, 0, 1), 0);
    remove_folder("out");
}

/* Stopped after `stop` records, of which at least `least` stay; refused to other options; gone on with to the end. */
static void stop_and_go_on(hr_shard_writer_opts opts, int64_t stop, int64_t min)
{
    hr_error err;
    hr_shard_writer *w = open_writer("out/x-", opts);
    write_from(w, 0, stop);
    hr_shard_writer_discard(w);
    assert_int_equal(files_in("out", false), 0);
    for (int other = 0; other < 3; other++) {
        hr_shard_writer_opts others = opts;
        others.struct_size = sizeof others;
        if (other == 0) others.resume_key = "others";
        if (other == 1) others.cut_bytes += 1;
        if (other == 2) others.level = 3;
        assert_status(hr_shard_writer_open_with("out/x-", &others, &w, &err), HR_FAILED_PRECONDITION);
        assert_string_equal(err.kind, "shards.resume");
    }
    w = open_writer("out/x-", opts);
    assert_in_range(hr_shard_writer_resumed(w), min, stop - 1);
    write_from(w, hr_shard_writer_resumed(w), RECORDS);
    assert_ok(hr_shard_writer_commit(w, &err), &err);
}

static void a_stopped_writer_goes_on_after_its_full_shards(void **state)
{
    (void)state;
    int64_t records[RECORDS];
    hr_shard_writer_opts opts = {.max_shard_bytes = 333, .resume = true, .resume_key = "these"};
    const int shards = shards_needed(333, RECORDS, records);
    stop_and_go_on(opts, 50, 30);
    assert_int_equal(files_in("out", true), shards);
    int64_t first = 0;
    for (int s = 0; s < shards; s++) first += read_shard("out/x-", s, shards, first, 1);
    assert_int_equal(first, RECORDS);
    remove_folder("out");
}

static void without_resume_nothing_is_left_and_all_begins_anew(void **state)
{
    (void)state;
    hr_error err;
    hr_shard_writer_opts opts = {.max_shard_bytes = 333, .resume = true};
    hr_shard_writer *w = open_writer("out/x-", opts);
    write_from(w, 0, 50);
    hr_shard_writer_discard(w);
    opts.resume = false;
    w = open_writer("out/x-", opts);
    assert_int_equal(hr_shard_writer_resumed(w), 0);
    write_from(w, 0, 50);
    hr_shard_writer_discard(w);
    assert_int_equal(files_in("out", true), 0);
    write_file("out/.x-.headrace.shards", "what?\n", 6);
    opts.resume = true;
    opts.struct_size = sizeof opts;
    assert_status(hr_shard_writer_open_with("out/x-", &opts, &w, &err), HR_DATA_LOSS);
    assert_string_equal(err.kind, "shards.resume");
    remove_folder("out");
}

static void other_shards_are_refused_and_the_same_replaced(void **state)
{
    (void)state;
    hr_error err;
    hr_shard_writer *w = open_writer("out/x-", (hr_shard_writer_opts){.shards = 2});
    assert_ok(hr_shard_writer_commit(w, &err), &err);
    w = open_writer("out/x-", (hr_shard_writer_opts){.shards = 2});
    write_from(w, 0, 1);
    assert_ok(hr_shard_writer_commit(w, &err), &err);
    assert_int_equal(read_shard("out/x-", 0, 2, 0, 1), 1);
    const hr_shard_writer_opts three = {.struct_size = sizeof three, .shards = 3};
    const hr_shard_writer_opts sized = {.struct_size = sizeof sized, .max_shard_bytes = 30};
    assert_status(hr_shard_writer_open_with("out/x-", &three, &w, &err), HR_ALREADY_EXISTS);
    assert_string_equal(err.kind, "shards.leftover");
    w = open_writer("out/x-", sized); /* whether it makes the same shards shows as they are full */
    write_from(w, 1, 1);
    assert_status(hr_shard_writer_commit(w, &err), HR_ALREADY_EXISTS);
    assert_string_equal(err.kind, "shards.leftover");
    assert_int_equal(read_shard("out/x-", 0, 2, 0, 1), 1);
    w = open_writer("out/y-", three); /* another name */
    hr_shard_writer_discard(w);
    remove_folder("out");
}

/* The second would fill the same parts, remove the first one's notes, or name some of its shards. */
static void a_set_has_one_writer_at_a_time(void **state)
{
    (void)state;
    const hr_shard_writer_opts ways[] = {{.shards = 2},
                                         {.shards = 2, .resume = true},
                                         {.max_shard_bytes = 333},
                                         {.max_shard_bytes = 333, .resume = true}};
    for (int i = 0; i < 4; i++) {
        hr_error err;
        hr_shard_writer *w = open_writer("out/x-", ways[i]), *other;
        write_from(w, 0, 50);
        for (int k = 0; k < 4; k++) {
            hr_shard_writer_opts opts = ways[k];
            opts.struct_size = sizeof opts;
            assert_status(hr_shard_writer_open_with("out/x-", &opts, &other, &err), HR_FAILED_PRECONDITION);
            assert_string_equal(err.kind, "shards.busy");
        }
        write_from(w, 50, 50);
        other = open_writer("out/y-", ways[0]); /* another set */
        hr_shard_writer_discard(other);
        assert_ok(hr_shard_writer_commit(w, &err), &err);
        assert_int_equal(files_in("out", true), files_in("out", false));
        hr_shard_writer_discard(open_writer("out/x-", ways[i])); /* of a run that has ended */
        remove_folder("out");
    }
}

static void wrong_options_are_refused(void **state)
{
    (void)state;
    static const struct {
        hr_shard_writer_opts opts;
        const char *kind;
    } wrong[] = {{{.shards = -1}, "shards.count"},
                 {{.shards = 10001}, "shards.count"},
                 {{.max_shard_bytes = -1}, "shards.max_bytes"},
                 {{.max_shard_bytes = 1, .shards = 1}, "shards.max_bytes"},
                 {{.level = 10}, "compression.level"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        hr_shard_writer_opts opts = wrong[i].opts;
        hr_shard_writer *w;
        hr_error err;
        opts.struct_size = sizeof opts;
        assert_status(hr_shard_writer_open_with("out/x-", &opts, &w, &err), HR_INVALID_ARGUMENT);
        assert_string_equal(err.kind, wrong[i].kind);
        assert_int_equal(files_in("out", true), -1);
    }
}

/* ---- stopped anywhere ---- */

/* Ways to write a few records, each going on where a run before stopped. */
static const struct {
    const char *name;
    hr_shard_writer_opts opts;
    bool one_file; /* of this name; else shards of this prefix */
    int files;
} ways[] = {
    {"out/x-", {.max_shard_bytes = 150}, false, 0}, /* as many as shards_needed says */
    {"out/x-", {.shards = 3, .cut_bytes = 60}, false, 3},
    {"out/x-", {.shards = 2, .cut_bytes = 30, .compression = HR_GZIP}, false, 2},
    {"out/x-", {.shards = 2, .cut_bytes = 30, .compression = HR_ZLIB}, false, 2},
    {"out/x-", {.shards = 2, .cut_bytes = 90, .compression = HR_LZ4}, false, 2},
    {"out/x.tfrecord", {.cut_bytes = 90}, true, 1},
    {"out/x.tfrecord.gz", {.cut_bytes = 90}, true, 1},
};
enum { WAYS = sizeof ways / sizeof *ways };

static hr_status write_all(int way, bool resume, hr_error *err)
{
    hr_shard_writer_opts opts = ways[way].opts;
    hr_shard_writer *w;
    opts.struct_size = sizeof opts;
    opts.resume = resume;
    opts.no_sync = way > 1; /* the first two have all calls; a sync is slow */
    HR_TRY(ways[way].one_file ? hr__shard_file_open(ways[way].name, &opts, &w, err)
                              : hr_shard_writer_open_with(ways[way].name, &opts, &w, err));
    hr_status st = HR_OK;
    for (int64_t i = hr_shard_writer_resumed(w); st == HR_OK && i < FEW; i++) {
        char data[40];
        memset(data, (int)i, sizeof data);
        st = hr_shard_write(w, data, (size_t)i % 30 + 1, err);
    }
    if (st == HR_OK) return hr_shard_writer_commit(w, err);
    hr_shard_writer_discard(w);
    return st;
}

typedef struct file_bytes {
    char path[64], *bytes;
    size_t size;
} file_bytes;
typedef struct folder {
    file_bytes file[32];
    int files;
} folder;

static folder read_folder(void)
{
    hr_file_list list;
    folder f = {.files = 0};
    assert_status(hr_match_files("out/x*", &list, NULL), HR_OK);
    for (; f.files < list.count; f.files++) {
        file_bytes *file = &f.file[f.files];
        snprintf(file->path, sizeof file->path, "%s", list.path[f.files]);
        file->bytes = read_whole_file(file->path, &file->size);
    }
    hr_file_list_clear(&list);
    return f;
}

static void clear_folder(folder *f)
{
    for (int i = 0; i < f->files; i++) free(f->file[i].bytes);
}

/* The members of a compressed file, inflated one after the other. */
static size_t inflate_all(const file_bytes *file, unsigned char *out, size_t size)
{
    z_stream z = {.next_in = (unsigned char *)file->bytes, .avail_in = (uInt)file->size};
    z.next_out = out;
    z.avail_out = (uInt)size;
    assert_int_equal(inflateInit2(&z, 47), Z_OK); /* gzip or zlib */
    while (z.avail_in > 0) {
        const int st = inflate(&z, Z_NO_FLUSH);
        if (st == Z_STREAM_END && z.avail_in > 0)
            assert_int_equal(inflateReset(&z), Z_OK);
        else
            assert_in_range(st, Z_OK, Z_STREAM_END);
    }
    inflateEnd(&z);
    return size - z.avail_out;
}

/* What ISA-L 2.30 makes of some bytes depends on where its state is in memory: in one of a hundred members it takes
 * another match. So compressed files that differ are compared by what they hold. */
static void same_bytes(const file_bytes *got, const file_bytes *want)
{
    static unsigned char a[1 << 16], b[1 << 16];
    const unsigned char first = (unsigned char)want->bytes[0];
    if (got->size == want->size && memcmp(got->bytes, want->bytes, got->size) == 0) return;
    assert_true(first == 0x1f || first == 0x78);
    const size_t size = inflate_all(want, b, sizeof b);
    assert_int_equal(inflate_all(got, a, sizeof a), size);
    assert_memory_equal(a, b, size);
}

/* What one run that nobody stopped writes, and nothing else that could be seen. */
static void folder_is(const folder *want)
{
    folder got = read_folder();
    assert_int_equal(got.files, want->files);
    assert_int_equal(files_in("out", false), want->files);
    for (int i = 0; i < got.files; i++) {
        assert_string_equal(got.file[i].path, want->file[i].path);
        same_bytes(&got.file[i], &want->file[i]);
    }
    clear_folder(&got);
}

/* A folder for one file is not made. */
static void make_folder(void) { assert_int_equal(mkdir("out", 0777), 0); }

/* By a run without .resume: how it is written is no part of the files. */
static folder what_is_wanted(int way)
{
    hr_error err;
    int64_t records[RECORDS];
    make_folder();
    assert_ok(write_all(way, false, &err), &err);
    folder f = read_folder();
    assert_int_equal(f.files, ways[way].files ? ways[way].files : shards_needed(150, FEW, records));
    remove_folder("out");
    return f;
}

static int calls_of_all(int way)
{
    hr_error err;
    faults count = {.call = -1};
    make_folder();
    use_faults(&count);
    assert_ok(write_all(way, true, &err), &err);
    use_faults(NULL);
    remove_folder("out");
    return count.calls;
}

static void kill_at(int way, int call)
{
    int status;
    const pid_t child = fork();
    assert_at_least(child, 0);
    if (child == 0) {
        faults f = {.call = call, .exits = true};
        use_faults(&f);
        write_all(way, true, NULL);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(WEXITSTATUS(status), 9);
}

static void killed_at_any_call_it_leaves_whole_shards_and_goes_on(void **state)
{
    (void)state;
    for (int way = 0; way < WAYS; way++) {
        folder want = what_is_wanted(way);
        const int calls = calls_of_all(way);
        assert_in_range(calls, 10, 1000);
        for (int call = 0; call < calls; call += way < 2 ? 1 : 3) { /* the others are much alike, and a fork is dear */
            hr_error err;
            make_folder();
            kill_at(way, call);
            assert_ok(write_all(way, true, &err), &err);
            folder_is(&want);
            remove_folder("out");
        }
        clear_folder(&want);
    }
}

/* With the notes gone, too: nothing is written beside what is there. */
static void a_run_that_has_ended_may_be_repeated(void **state)
{
    (void)state;
    for (int way = 0; way < WAYS; way++) {
        hr_error err;
        folder want = what_is_wanted(way);
        make_folder();
        for (int n = 0; n < 3; n++) {
            assert_ok(write_all(way, true, &err), &err);
            folder_is(&want);
            assert_int_equal(files_in("out", true), want.files);
        }
        remove_folder("out");
        clear_folder(&want);
    }
}

static hr_status repeat_up_to(int64_t records, hr_shard_writer_opts opts, int first, hr_error *err)
{
    hr_shard_writer *w = NULL;
    hr_status st = HR_OK;
    opts.struct_size = sizeof opts;
    opts.no_sync = true;
    HR_TRY(hr_shard_writer_open_with("out/x-", &opts, &w, err));
    for (int64_t i = 0; st == HR_OK && i < records; i++) {
        char data[40];
        memset(data, (int)i + (i == 0 ? first : 0), sizeof data);
        st = hr_shard_write(w, data, (size_t)i % 30 + 1, err);
    }
    if (st == HR_OK) return hr_shard_writer_commit(w, err);
    hr_shard_writer_discard(w);
    return st;
}

/* By another record, by fewer and more of them, by another size, by one that is gone: all that is there stays. */
static void a_run_that_is_not_the_same_is_refused(void **state)
{
    (void)state;
    int64_t in_shard[RECORDS];
    const hr_shard_writer_opts same = {.max_shard_bytes = 333, .resume = true};
    static const struct {
        int64_t records, max_bytes;
        int first;
        bool resume;
    } other[] = {{RECORDS, 333, 1, true},  {RECORDS / 2, 333, 0, true}, {RECORDS + 90, 333, 0, true},
                 {RECORDS, 400, 0, true},  {RECORDS, 100000, 0, true},  {0, 333, 0, true},
                 {RECORDS, 333, 1, false}, {RECORDS / 2, 333, 0, false}};
    const int shards = shards_needed(333, RECORDS, in_shard);
    hr_error err;
    assert_ok(repeat_up_to(RECORDS, same, 0, &err), &err);
    folder want = read_folder();
    for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
        const hr_shard_writer_opts opts = {.max_shard_bytes = other[i].max_bytes, .resume = other[i].resume};
        assert_status(repeat_up_to(other[i].records, opts, other[i].first, &err), HR_ALREADY_EXISTS);
        assert_string_equal(err.kind, "shards.leftover");
        folder_is(&want);
        assert_int_equal(files_in("out", true), shards);
    }
    assert_ok(repeat_up_to(RECORDS, same, 0, &err), &err);
    folder_is(&want);
    assert_ok(repeat_up_to(RECORDS, (hr_shard_writer_opts){.max_shard_bytes = 333}, 0, &err), &err);
    folder_is(&want);
    assert_int_equal(files_in("out", true), shards);
    assert_int_equal(remove(want.file[1].path), 0);
    assert_status(repeat_up_to(RECORDS, same, 0, &err), HR_ALREADY_EXISTS);
    assert_int_equal(files_in("out", true), shards - 1);
    clear_folder(&want);
    remove_folder("out");
}

/* Twice, and then without a word of resuming: what was left does not disturb. */
static void killed_again_and_again_it_gets_there(void **state)
{
    (void)state;
    for (int way = 0; way < WAYS; way++) {
        hr_error err;
        folder want = what_is_wanted(way);
        const int calls = calls_of_all(way);
        make_folder();
        kill_at(way, calls / 2);
        kill_at(way, calls / 4);
        assert_ok(write_all(way, true, &err), &err);
        folder_is(&want);
        remove_folder("out");
        make_folder();
        kill_at(way, calls / 2);
        assert_ok(write_all(way, false, &err), &err);
        folder_is(&want);
        assert_int_equal(access("out/.x-.headrace.shards", F_OK), -1);
        clear_folder(&want);
        remove_folder("out");
    }
}

static void a_fixed_number_of_shards_goes_on_after_its_cuts(void **state)
{
    (void)state;
    hr_shard_writer_opts opts = {.shards = 3, .cut_bytes = 200, .resume = true, .resume_key = "these"};
    stop_and_go_on(opts, 80, 50);
    for (int s = 0; s < 3; s++) assert_int_equal(read_shard("out/x-", s, 3, s, 3), s == 0 ? 34 : 33);
    assert_int_equal(files_in("out", true), 3);
    remove_folder("out");
}

static void notes_of_less_than_no_records_are_refused(void **state)
{
    (void)state;
    hr_error err;
    hr_shard_writer_opts opts = {.struct_size = sizeof opts, .max_shard_bytes = 333, .resume = true};
    hr_shard_writer *w = open_writer("out/x-", opts);
    write_from(w, 0, 50);
    hr_shard_writer_discard(w);
    size_t size;
    char *notes = read_whole_file("out/.x-.headrace.shards", &size), *shard = strstr(notes, "\nshard ");
    assert_non_null(shard);
    shard[6] = '-';
    write_file("out/.x-.headrace.shards", notes, size);
    free(notes);
    assert_status(hr_shard_writer_open_with("out/x-", &opts, &w, &err), HR_DATA_LOSS);
    assert_string_equal(err.kind, "shards.resume");
    remove_folder("out");
}

static void an_index_that_fails_takes_back_the_others(void **state)
{
    (void)state;
    hr_error err;
    hr_shard_writer *w = open_writer("out/x-", (hr_shard_writer_opts){.shards = 2, .index = true});
    write_from(w, 0, 50);
    assert_int_equal(mkdir("out/x-00001-of-00002.tfrecord.hridx", 0777), 0);
    assert_int_not_equal(hr_shard_writer_commit(w, &err), HR_OK);
    assert_int_equal(rmdir("out/x-00001-of-00002.tfrecord.hridx"), 0);
    assert_int_equal(files_in("out", true), 0);
    remove_folder("out");
}

/* The names of two shards are missing, or one whole shard. */
static void named_halfway_it_names_the_rest(void **state)
{
    (void)state;
    hr_error err;
    const int calls = calls_of_all(1);
    for (int lost = 0; lost < 2; lost++) {
        folder want = what_is_wanted(1);
        make_folder();
        kill_at(1, calls - 3); /* at the last name, in front of opening and syncing the folder */
        assert_int_equal(files_in("out", false), 2);
        if (lost) assert_int_equal(unlink("out/x-00000-of-00003.tfrecord"), 0);
        assert_ok(write_all(1, true, &err), &err);
        folder_is(&want);
        clear_folder(&want);
        remove_folder("out");
    }
}

static void every_failing_call_is_reported_and_made_good_later(void **state)
{
    (void)state;
    for (int way = 0; way < WAYS; way++) {
        folder want = what_is_wanted(way);
        const int calls = calls_of_all(way);
        for (int call = 0; call < calls; call++) {
            hr_error err;
            faults f = {.call = call, .number = ENOSPC};
            make_folder();
            use_faults(&f);
            hr_status st = write_all(way, true, &err);
            use_faults(NULL);
            if (st != HR_OK) {
                assert_status(st, HR_RESOURCE_EXHAUSTED);
                assert_int_equal(files_in("out", false) > 0, false);
                assert_ok(write_all(way, true, &err), &err);
            }
            folder_is(&want);
            remove_folder("out");
        }
        clear_folder(&want);
    }
}

static void a_lack_of_memory_leaks_nothing(void **state)
{
    (void)state;
    for (int way = 0; way < WAYS; way++) {
        hr_error err;
        make_folder();
        fail_allocation(INT64_MAX);
        assert_ok(write_all(way, true, &err), &err);
        const int64_t count = allocations_since();
        remove_folder("out");
        for (int64_t n = 0; n < count; n++) {
            const int64_t alive = allocations_alive();
            make_folder();
            fail_allocation(n);
            hr_status st = write_all(way, true, &err);
            allocations_since();
            if (st != HR_OK) assert_status(st, HR_RESOURCE_EXHAUSTED);
            assert_int_equal(allocations_alive(), alive);
            remove_folder("out");
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_are_dealt_over_a_fixed_number_of_shards),
        cmocka_unit_test(the_caller_may_choose_the_shard),
        cmocka_unit_test(shards_are_filled_up_to_a_size),
        cmocka_unit_test(each_shard_may_have_its_index),
        cmocka_unit_test(no_records_are_one_empty_shard),
        cmocka_unit_test(a_stopped_writer_goes_on_after_its_full_shards),
        cmocka_unit_test(without_resume_nothing_is_left_and_all_begins_anew),
        cmocka_unit_test(other_shards_are_refused_and_the_same_replaced),
        cmocka_unit_test(a_set_has_one_writer_at_a_time),
        cmocka_unit_test(wrong_options_are_refused),
        cmocka_unit_test(killed_at_any_call_it_leaves_whole_shards_and_goes_on),
        cmocka_unit_test(a_run_that_has_ended_may_be_repeated),
        cmocka_unit_test(a_run_that_is_not_the_same_is_refused),
        cmocka_unit_test(killed_again_and_again_it_gets_there),
        cmocka_unit_test(a_fixed_number_of_shards_goes_on_after_its_cuts),
        cmocka_unit_test(notes_of_less_than_no_records_are_refused),
        cmocka_unit_test(an_index_that_fails_takes_back_the_others),
        cmocka_unit_test(named_halfway_it_names_the_rest),
        cmocka_unit_test(every_failing_call_is_reported_and_made_good_later),
        cmocka_unit_test(a_lack_of_memory_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
