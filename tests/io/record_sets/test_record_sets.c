/* Whole sets of records: merged in order, shuffled as one permutation whatever the memory, split by hash or in exact
 * numbers. */
#include "io/sys.h"
#include "tests/io/faults.h"
#include "tests/testing.h"
#include <errno.h>
#include <headrace/record_sets.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MANY = 40000 };

static size_t size_of(int64_t n) { return (size_t)(n * 7919 % 190); }

/* Record n: its number, then as many bytes as size_of says. */
static size_t make_record(int64_t n, char *to)
{
    const size_t head = (size_t)sprintf(to, "%lld:", (long long)n);
    memset(to + head, 'a' + (int)(n % 26), size_of(n));
    return head + size_of(n);
}

static void write_records(const char *path, int64_t begin, int64_t end, hr_compression compression)
{
    char record[256];
    hr_error err;
    hr_record_writer *writer;
    const hr_output_opts opts = {.struct_size = sizeof opts, .compression = compression, .no_sync = true};
    assert_ok(hr_record_writer_open(path, &opts, &writer, &err), &err);
    for (int64_t n = begin; n < end; n++)
        assert_ok(hr_record_write(writer, record, make_record(n, record), &err), &err);
    assert_ok(hr_record_writer_commit(writer, &err), &err);
}

/* The numbers of a file's records, each of which is held to be whole. Gives them (free). */
static int64_t *numbers_of(const char *path, int64_t *count)
{
    char want[256];
    hr_error err;
    hr_view got;
    hr_record_reader *reader;
    int64_t *number = malloc(MANY * sizeof *number);
    *count = 0;
    assert_ok(hr_record_reader_open(path, NULL, &reader, &err), &err);
    while (hr_record_read(reader, &got, &err) == HR_OK) {
        char head[32] = {0};
        memcpy(head, got.data, (size_t)got.size < 31 ? (size_t)got.size : 31);
        number[*count] = atoll(head);
        assert_int_equal(got.size, make_record(number[*count], want));
        assert_memory_equal(got.data, want, (size_t)got.size);
        ++*count;
    }
    assert_status(hr_record_read(reader, &got, &err), HR_END);
    hr_record_reader_free(reader);
    return number;
}

static hr_output_opts quick = {.struct_size = sizeof quick, .no_sync = true};
static hr_records_opts options(void)
{
    return (hr_records_opts){.struct_size = sizeof(hr_records_opts), .output = &quick};
}

static int write_inputs(void **state)
{
    (void)state;
    write_records("a", 0, 10000, HR_NONE);
    write_records("b.gz", 10000, 25000, HR_GZIP);
    write_records("c.zlib", 25000, MANY, HR_ZLIB);
    write_records("none", 0, 0, HR_NONE);
    return 0;
}

static char *all_paths[] = {"a", "none", "b.gz", "c.zlib"};
static const hr_file_list all = {all_paths, 4};

static int hidden_files(void) { return system("test -z \"$(find . -name '.*.tmp')\""); }

static void merge_keeps_the_order_of_files_in_any_compression(void **state)
{
    (void)state;
    const hr_records_opts o = options();
    hr_records_report report;
    hr_error err;
    int64_t count;
    assert_ok(hr_merge_records_with(&all, "merged", &o, &report, &err), &err);
    assert_int_equal(report.records, MANY);
    int64_t *number = numbers_of("merged", &count);
    assert_int_equal(count, MANY);
    for (int64_t i = 0; i < count; i++) assert_int_equal(number[i], i);
    free(number);
}

static void merge_writes_shards_and_may_replace_its_input(void **state)
{
    (void)state;
    const hr_shard_writer_opts shards = {.struct_size = sizeof shards, .shards = 3, .no_sync = true};
    hr_records_opts o = options();
    char *paths[] = {"part-00000-of-00003.tfrecord", "part-00001-of-00003.tfrecord", "part-00002-of-00003.tfrecord"};
    hr_error err;
    int64_t count;
    o.shards = &shards;
    assert_ok(hr_merge_records_with(&all, "part-", &o, NULL, &err), &err);
    int64_t *number = numbers_of(paths[1], &count);
    for (int64_t i = 0; i < count; i++) assert_int_equal(number[i], 3 * i + 1);
    free(number);
    o.shards = NULL;
    assert_ok(hr_merge_records_with(&(hr_file_list){paths, 3}, paths[0], &o, NULL, &err), &err);
    number = numbers_of(paths[0], &count);
    assert_int_equal(count, MANY);
    free(number);
}

static void damage_leaves_no_output(void **state)
{
    (void)state;
    size_t size;
    hr_error err;
    const hr_records_opts o = options();
    char *bytes = read_whole_file("a", &size);
    write_file("cut", bytes, size - 1);
    free(bytes);
    assert_status(hr_merge_records_with(&(hr_file_list){(char *[]){"b.gz", "cut"}, 2}, "out", &o, NULL, &err),
                  HR_DATA_LOSS);
    assert_string_equal(err.file, "cut");
    assert_int_equal(err.record, 9999);
    assert_int_not_equal(access("out", F_OK), 0);
    assert_int_equal(hidden_files(), 0);
}

static bool stop(const hr_progress *now, void *user)
{
    *(hr_progress *)user = *now;
    return now->records < 15000;
}

static void progress_tells_and_stops(void **state)
{
    (void)state;
    hr_progress last;
    hr_records_opts o = options();
    hr_error err;
    o.progress = stop;
    o.user = &last;
    assert_status(hr_merge_records_with(&all, "out", &o, NULL, &err), HR_CANCELLED);
    assert_at_least(last.records, 15000);
    assert_less(last.records, 17000);
    assert_more(last.bytes, 0);
    assert_at_most(last.bytes, last.total);
    assert_int_not_equal(access("out", F_OK), 0);
}

/* ---- shuffle ---- */

static void shuffle(const char *out, uint64_t seed, int64_t memory, hr_records_report *report)
{
    const hr_records_opts records = options();
    const hr_shuffle_records_opts o = {.struct_size = sizeof o, .seed = seed, .memory = memory, .records = &records};
    hr_error err;
    assert_ok(hr_shuffle_records_with(&all, out, &o, report, &err), &err);
}

static void shuffle_gives_every_record_once_in_the_same_order_for_any_memory(void **state)
{
    (void)state;
    hr_records_report report;
    int64_t count;
    bool *seen = calloc(MANY, 1);
    shuffle("big", 7, 0, &report);
    assert_int_equal(report.spilled, 0);
    shuffle("small", 7, 1 << 20, &report);
    assert_more(report.spilled, 3 << 20); /* several runs */
    size_t size, other_size;
    char *big = read_whole_file("big", &size), *small = read_whole_file("small", &other_size);
    assert_int_equal(size, other_size);
    assert_memory_equal(big, small, size);
    int64_t *number = numbers_of("small", &count), moved = 0;
    assert_int_equal(count, MANY);
    for (int64_t i = 0; i < count; i++) {
        assert_false(seen[number[i]]);
        seen[number[i]] = true;
        moved += number[i] != i;
    }
    assert_more(moved, MANY - 20);
    assert_int_equal(hidden_files(), 0);
    free(seen);
    free(number);
    free(big);
    free(small);
}

static void shuffle_follows_its_seed(void **state)
{
    (void)state;
    size_t a, b, c;
    shuffle("one", 1, 0, NULL);
    shuffle("again", 1, 2 << 20, NULL);
    shuffle("two", 2, 0, NULL);
    char *one = read_whole_file("one", &a), *again = read_whole_file("again", &b), *two = read_whole_file("two", &c);
    assert_int_equal(a, b);
    assert_memory_equal(one, again, a);
    assert_int_equal(a, c);
    assert_memory_not_equal(one, two, a);
    free(one);
    free(again);
    free(two);
}

/* Of 6 orders of 3 records, over 600 seeds each comes about 100 times: chi squared, 5 degrees of freedom. */
static void shuffle_draws_all_orders_alike(void **state)
{
    const hr_records_opts records = options();
    (void)state;
    enum { SEEDS = 600 };
    int times[27] = {0}, orders = 0;
    double chi = 0;
    write_records("three", 0, 3, HR_NONE);
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        const hr_shuffle_records_opts o = {
            .struct_size = sizeof o, .seed = seed, .memory = 1 << 20, .records = &records};
        int64_t count;
        hr_error err;
        assert_ok(hr_shuffle_records_with(&(hr_file_list){(char *[]){"three"}, 1}, "out", &o, NULL, &err), &err);
        int64_t *number = numbers_of("out", &count);
        times[9 * number[0] + 3 * number[1] + number[2]]++;
        free(number);
    }
    for (int i = 0; i < 27; i++) {
        if (times[i]) chi += (times[i] - SEEDS / 6.0) * (times[i] - SEEDS / 6.0) / (SEEDS / 6.0);
        orders += times[i] > 0;
    }
    assert_int_equal(orders, 6);
    assert_less(chi, 25);
    unlink("out");
}

static void shuffle_holds_a_record_larger_than_its_memory(void **state)
{
    const hr_records_opts records = options();
    (void)state;
    hr_error err;
    hr_record_writer *writer;
    char *large = malloc(3 << 20);
    memset(large, 'x', 3 << 20);
    assert_ok(hr_record_writer_open("large", &quick, &writer, &err), &err);
    for (int i = 0; i < 4; i++) assert_ok(hr_record_write(writer, large, (size_t)(i % 2 ? 3 << 20 : 3), &err), &err);
    assert_ok(hr_record_writer_commit(writer, &err), &err);
    const hr_shuffle_records_opts o = {.struct_size = sizeof o, .memory = 1 << 20, .records = &records};
    hr_records_report report;
    assert_ok(hr_shuffle_records_with(&(hr_file_list){(char *[]){"large"}, 1}, "out", &o, &report, &err), &err);
    assert_int_equal(report.bytes, (6 << 20) + 6);
    hr_record_reader *reader;
    hr_view got;
    int64_t bytes = 0;
    assert_ok(hr_record_reader_open("out", NULL, &reader, &err), &err);
    while (hr_record_read(reader, &got, &err) == HR_OK) bytes += got.size;
    assert_int_equal(bytes, report.bytes);
    hr_record_reader_free(reader);
    unlink("out");
    free(large);
}

static void shuffle_refuses_too_little_memory(void **state)
{
    (void)state;
    hr_error err;
    const hr_shuffle_records_opts o = {.struct_size = sizeof o, .memory = 1000};
    assert_status(hr_shuffle_records_with(&all, "out", &o, NULL, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "shuffle.memory");
}

/* Every system call fails once: a clean error or the right result, and nothing is left. */
static void shuffle_survives_failing_calls(void **state)
{
    const hr_records_opts records = options();
    (void)state;
    const hr_shuffle_records_opts o = {.struct_size = sizeof o, .memory = 1 << 20, .records = &records};
    const int64_t alive = allocations_alive();
    for (int call = 0;; call += 1 + call / 8) {
        faults f = {.call = call, .number = ENOSPC};
        hr_error err;
        use_faults(&f);
        const hr_status st = hr_shuffle_records_with(&all, "out", &o, NULL, &err);
        use_faults(NULL);
        if (f.calls <= call) {
            assert_ok(st, &err);
            break;
        }
        if (st != HR_OK) assert_int_not_equal(access("out", F_OK), 0);
        unlink("out");
        assert_int_equal(allocations_alive(), alive);
    }
    unlink("out");
}

static void shuffle_survives_short_and_interrupted_calls(void **state)
{
    (void)state;
    faults f = {.call = -1, .max = 1000, .interrupted = true};
    size_t size, other;
    use_faults(&f);
    shuffle("slow", 7, 1 << 20, NULL);
    use_faults(NULL);
    shuffle("fast", 7, 1 << 20, NULL);
    char *slow = read_whole_file("slow", &size), *fast = read_whole_file("fast", &other);
    assert_int_equal(size, other);
    assert_memory_equal(slow, fast, size);
    free(slow);
    free(fast);
}

static void nothing_leaks_where_memory_is_short(void **state)
{
    const hr_records_opts records = options();
    (void)state;
    const hr_file_list one = {(char *[]){"a"}, 1};
    const hr_shuffle_records_opts o = {.struct_size = sizeof o, .memory = 1 << 20, .records = &records};
    const hr_split_records_opts so = {.struct_size = sizeof so, .records = &records};
    const int64_t alive = allocations_alive();
    bool failed = true;
    for (int64_t n = 0; failed; n++) {
        hr_split_part part[] = {{.out = "p", .share = 0.5}, {.out = "q", .share = 0.5}};
        hr_error err;
        fail_allocation(n);
        const hr_status shuffled = hr_shuffle_records_with(&one, "out", &o, NULL, &err);
        const bool first = allocations_since() > n;
        fail_allocation(n);
        const hr_status split = hr_split_records_with(&one, part, 2, &so, NULL, &err);
        failed = first || allocations_since() > n;
        fail_allocation(-1);
        if (!first) assert_status(shuffled, HR_OK);
        if (!failed) assert_status(split, HR_OK);
        assert_int_equal(allocations_alive(), alive);
    }
}

/* ---- split ---- */

static void split_by_hash_is_near_the_shares_and_keeps_order(void **state)
{
    const hr_records_opts records = options();
    (void)state;
    hr_split_part part[] = {
        {.out = "train", .share = 0.7}, {.out = "eval", .share = 0.1}, {.out = "test", .share = 0.2}};
    const hr_split_records_opts o = {.struct_size = sizeof o, .seed = 3, .records = &records};
    hr_error err;
    int64_t sum = 0;
    assert_ok(hr_split_records_with(&all, part, 3, &o, NULL, &err), &err);
    for (int p = 0; p < 3; p++) {
        int64_t count, *number = numbers_of(part[p].out, &count);
        assert_int_equal(count, part[p].records);
        assert_less(labs((long)(count - (int64_t)(part[p].share * MANY))), 400); /* four deviations */
        for (int64_t i = 1; i < count; i++) assert_more(number[i], number[i - 1]);
        sum += count;
        free(number);
    }
    assert_int_equal(sum, MANY);
}

static hr_status split_in_two(const hr_file_list *files, const char *one, const char *other, hr_error *err)
{
    const hr_records_opts records = options();
    const hr_split_records_opts o = {.struct_size = sizeof o, .records = &records};
    hr_split_part part[] = {{.out = one, .share = 0.5}, {.out = other, .share = 0.5}};
    return hr_split_records_with(files, part, 2, &o, NULL, err);
}

/* The second part would replace the first. */
static void split_refuses_one_output_under_two_names(void **state)
{
    (void)state;
    hr_error err;
    assert_int_equal(mkdir("folder", 0777), 0);
    assert_int_equal(symlink("half", "link"), 0);
    write_file("half", "", 0);
    static const char *const same[][2] = {
        {"half", "half"}, {"half", "./half"}, {"folder/x", "folder/../folder/x"}, {"half", "link"}};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        assert_status(split_in_two(&all, same[i][0], same[i][1], &err), HR_INVALID_ARGUMENT);
        assert_string_equal(err.kind, "split.shares");
    }
    assert_int_equal(hr_path_size("half"), 0);
    assert_int_equal(hr_path_size("folder/x"), -1);
    assert_ok(split_in_two(&all, "half", "folder/half", &err), &err);
}

/* A disk that is full at the end of the last part: the input that the first part shall replace is still there. */
static void split_gives_names_when_all_parts_are_written(void **state)
{
    (void)state;
    hr_error err;
    int64_t count, before;
    free(numbers_of("b.gz", &before));
    assert_int_equal(rename("b.gz", "in"), 0);
    const hr_file_list in = {(char *[]){"in"}, 1};
    assert_status(split_in_two(&in, "in", "/dev/full", &err), HR_RESOURCE_EXHAUSTED);
    free(numbers_of("in", &count));
    assert_int_equal(count, before);
    assert_int_equal(rename("in", "b.gz"), 0);
}

/* Which part a record goes to does not depend on those before it. */
static void split_by_hash_is_the_same_for_a_part_of_the_records(void **state)
{
    const hr_records_opts records = options();
    (void)state;
    hr_split_part part[] = {{.out = "train", .share = 0.7}, {.out = "test", .share = 0.3}};
    hr_split_part less[] = {{.out = "less", .share = 0.7}, {.out = "rest", .share = 0.3}};
    const hr_split_records_opts o = {.struct_size = sizeof o, .records = &records};
    hr_error err;
    assert_ok(hr_split_records_with(&all, part, 2, &o, NULL, &err), &err);
    assert_ok(hr_split_records_with(&(hr_file_list){(char *[]){"b.gz"}, 1}, less, 2, &o, NULL, &err), &err);
    int64_t count, some, *number = numbers_of("train", &count), *fewer = numbers_of("less", &some), at = 0;
    for (int64_t i = 0; i < count; i++)
        if (number[i] >= 10000 && number[i] < 25000) assert_int_equal(number[i], fewer[at++]);
    assert_int_equal(at, some);
    free(number);
    free(fewer);
}

static void split_gives_exact_numbers_of_records(void **state)
{
    const hr_records_opts records = options();
    (void)state;
    hr_split_part part[] = {
        {.out = "x", .share = 1 / 3.0}, {.out = "y", .share = 1 / 3.0}, {.out = "z", .share = 1 / 3.0}};
    const hr_split_records_opts o = {.struct_size = sizeof o, .exact = true, .seed = 5, .records = &records};
    hr_error err;
    int64_t count;
    assert_ok(hr_split_records_with(&all, part, 3, &o, NULL, &err), &err);
    assert_int_equal(part[0].records, 13333);
    assert_int_equal(part[1].records, 13334);
    assert_int_equal(part[2].records, 13333);
    int64_t *number = numbers_of("x", &count), early = 0;
    assert_int_equal(count, part[0].records);
    for (int64_t i = 0; i < count; i++) early += number[i] < MANY / 2;
    assert_less(labs((long)(early - count / 2)), 300); /* spread over all of the input */
    free(number);
}

static void write_users(const char *path)
{
    hr_example *e = hr_example_new();
    hr_record_writer *writer;
    hr_view bytes;
    hr_error err;
    assert_ok(hr_record_writer_open(path, &quick, &writer, &err), &err);
    for (int64_t i = 0; i < 5000; i++) {
        hr_example_clear(e);
        hr_example_add_int64(e, "user", HR_I64(i % 500), 1);
        hr_example_add_int64(e, "click", &i, 1);
        assert_ok(hr_example_bytes(e, &bytes, &err), &err);
        assert_ok(hr_record_write(writer, bytes.data, (size_t)bytes.size, &err), &err);
    }
    assert_ok(hr_record_writer_commit(writer, &err), &err);
    hr_example_free(e);
}

static void split_by_a_feature_keeps_its_values_together(void **state)
{
    const hr_records_opts records = options();
    (void)state;
    hr_split_part part[] = {{.out = "u", .share = 0.5}, {.out = "v", .share = 0.5}};
    hr_split_records_opts o = {.struct_size = sizeof o, .by = "user", .records = &records};
    const hr_file_list users = {(char *[]){"users"}, 1};
    hr_error err;
    write_users("users");
    assert_ok(hr_split_records_with(&users, part, 2, &o, NULL, &err), &err);
    assert_int_equal(part[0].records % 10, 0); /* each of 500 users has 10 records */
    assert_more(part[0].records, 2000);
    assert_less(part[0].records, 3000);
    o.by = "usr";
    assert_status(hr_split_records_with(&users, part, 2, &o, NULL, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "split.feature");
    assert_string_equal(err.file, "users");
    assert_int_equal(err.record, 0);
}

/* So many values that they are read in blocks; the hash is one of all of them. */
static void split_by_a_long_feature_is_by_all_its_values(void **state)
{
    (void)state;
    enum { VALUES = 40000, RECORDS = 8 };
    static int64_t value[VALUES];
    const hr_records_opts records = options();
    hr_split_part part[] = {{.out = "u", .share = 0.5}, {.out = "v", .share = 0.5}};
    const hr_split_records_opts o = {.struct_size = sizeof o, .by = "v", .records = &records};
    const hr_file_list files = {(char *[]){"long"}, 1};
    hr_example *e = hr_example_new();
    hr_record_writer *writer;
    hr_view bytes;
    hr_error err;
    int64_t first = 0;
    assert_ok(hr_record_writer_open("long", &quick, &writer, &err), &err);
    for (int64_t r = 0; r < RECORDS; r++) {
        for (int64_t i = 0; i < VALUES; i++) value[i] = i + (i == VALUES - 1 ? r : 0);
        first += hr_random(0, hr_fingerprint64((const char *)value, sizeof value)) < UINT64_C(1) << 63;
        hr_example_clear(e);
        hr_example_add_int64(e, "v", value, VALUES);
        assert_ok(hr_example_bytes(e, &bytes, &err), &err);
        assert_ok(hr_record_write(writer, bytes.data, (size_t)bytes.size, &err), &err);
    }
    assert_ok(hr_record_writer_commit(writer, &err), &err);
    hr_example_free(e);
    assert_ok(hr_split_records_with(&files, part, 2, &o, NULL, &err), &err);
    assert_int_equal(part[0].records, first);
    assert_int_equal(part[1].records, RECORDS - first);
    assert_more(first, 0);
    assert_less(first, RECORDS);
}

static void split_refuses_wrong_shares(void **state)
{
    (void)state;
    const double share[][2] = {{0.5, 0.6}, {1, 0}, {1.5, -0.5}, {0.8, 0.1}};
    hr_error err;
    for (int i = 0; i < 4; i++) {
        hr_split_part part[] = {{.out = "u", .share = share[i][0]}, {.out = "v", .share = share[i][1]}};
        assert_status(hr_split_records_with(&all, part, 2, NULL, NULL, &err), HR_INVALID_ARGUMENT);
        assert_string_equal(err.kind, "split.shares");
    }
    hr_split_part same[] = {{.out = "u", .share = 0.5}, {.out = "u", .share = 0.5}};
    assert_status(hr_split_records_with(&all, same, 2, NULL, NULL, &err), HR_INVALID_ARGUMENT);
    assert_status(hr_split_records_with(&all, NULL, 2, NULL, NULL, &err), HR_INVALID_ARGUMENT);
    hr_split_part unnamed[] = {{.share = 0.5}, {.out = "u", .share = 0.5}};
    assert_status(hr_split_records_with(&all, unnamed, 2, NULL, NULL, &err), HR_INVALID_ARGUMENT);
    const hr_split_records_opts both = {.struct_size = sizeof both, .by = "user", .exact = true};
    hr_split_part part[] = {{.out = "u", .share = 0.5}, {.out = "v", .share = 0.5}};
    assert_status(hr_split_records_with(&all, part, 2, &both, NULL, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "split.exact");
    assert_int_equal(mkfifo("pipe", 0600), 0);
    static char *name[] = {"pipe"};
    const hr_split_records_opts exact = {.struct_size = sizeof exact, .exact = true};
    assert_status(hr_split_records_with(&(hr_file_list){name, 1}, part, 2, &exact, NULL, &err), HR_FAILED_PRECONDITION);
    assert_string_equal(err.kind, "file.once");
    unlink("pipe");
}

static void nothing_is_refused(void **state)
{
    (void)state;
    hr_error err;
    hr_split_part part[] = {{.out = "u", .share = 0.5}, {.out = "v", .share = 0.5}};
    assert_status(hr_merge_records_with(NULL, "out", NULL, NULL, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "records.argument");
    assert_status(hr_merge_records_with(&all, NULL, NULL, NULL, NULL), HR_INVALID_ARGUMENT);
    assert_status(hr_shuffle_records_with(NULL, "out", NULL, NULL, &err), HR_INVALID_ARGUMENT);
    assert_status(hr_shuffle_records_with(&all, NULL, NULL, NULL, NULL), HR_INVALID_ARGUMENT);
    assert_status(hr_split_records_with(NULL, part, 2, NULL, NULL, &err), HR_INVALID_ARGUMENT);
    assert_status(hr_split_records_with(&all, NULL, 2, NULL, NULL, NULL), HR_INVALID_ARGUMENT);
    assert_status(hr_repair_records_with(NULL, "out", NULL, NULL, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "records.argument");
}

/* The keyword forms reach the same options. */
static void options_are_keywords(void **state)
{
    (void)state;
    hr_error err;
    hr_records_report report;
    hr_split_part part[] = {{.out = "u", .share = 0.5}, {.out = "v", .share = 0.5}};
    assert_ok(hr_merge_records(&all, "merged", &report, &err, .output = &quick), &err);
    const int64_t records = report.records;
    assert_more(records, 0);
    assert_ok(hr_shuffle_records(&all, "shuffled", &report, &err, .seed = 3), &err);
    assert_int_equal(report.records, records);
    assert_ok(hr_split_records(&all, part, 2, NULL, &err, .exact = true), &err);
    assert_int_equal(part[0].records + part[1].records, records);
    assert_ok(hr_repair_records("merged", "repaired", NULL, &err, .max_record_bytes = 1 << 20), &err);
    static const char *const made[] = {"merged", "shuffled", "u", "v", "repaired"};
    for (int i = 0; i < 5; i++) remove(made[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(merge_keeps_the_order_of_files_in_any_compression),
        cmocka_unit_test(merge_writes_shards_and_may_replace_its_input),
        cmocka_unit_test(damage_leaves_no_output),
        cmocka_unit_test(progress_tells_and_stops),
        cmocka_unit_test(shuffle_gives_every_record_once_in_the_same_order_for_any_memory),
        cmocka_unit_test(shuffle_follows_its_seed),
        cmocka_unit_test(shuffle_draws_all_orders_alike),
        cmocka_unit_test(shuffle_holds_a_record_larger_than_its_memory),
        cmocka_unit_test(shuffle_refuses_too_little_memory),
        cmocka_unit_test(shuffle_survives_failing_calls),
        cmocka_unit_test(shuffle_survives_short_and_interrupted_calls),
        cmocka_unit_test(nothing_leaks_where_memory_is_short),
        cmocka_unit_test(split_by_hash_is_near_the_shares_and_keeps_order),
        cmocka_unit_test(split_refuses_one_output_under_two_names),
        cmocka_unit_test(split_gives_names_when_all_parts_are_written),
        cmocka_unit_test(split_by_hash_is_the_same_for_a_part_of_the_records),
        cmocka_unit_test(split_gives_exact_numbers_of_records),
        cmocka_unit_test(split_by_a_feature_keeps_its_values_together),
        cmocka_unit_test(split_by_a_long_feature_is_by_all_its_values),
        cmocka_unit_test(split_refuses_wrong_shares),
        cmocka_unit_test(nothing_is_refused),
        cmocka_unit_test(options_are_keywords),
    };
    return cmocka_run_group_tests(tests, write_inputs, NULL);
}
