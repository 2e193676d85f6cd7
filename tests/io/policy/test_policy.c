/* Policies: what is passed over and what is not, where the next record is found, what is kept and told of it,
 * budgets. */
#include "io/framing.h"
#include "io/policy/policy.h"
#include "io/policy/quarantine.h"
#include "tests/io/faults.h"
#include "tests/testing.h"
#include <errno.h>
#include <headrace/record_sets.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RECORDS = 20, SIZE = 50, FRAME = SIZE + HR__RECORD_FRAME };

static void write_records(const char *path, int from, int count)
{
    hr_record_writer *writer;
    hr_error err;
    const hr_output_opts opts = {.struct_size = sizeof opts, .no_sync = true};
    assert_ok(hr_record_writer_open(path, &opts, &writer, &err), &err);
    for (int i = from; i < from + count; i++) {
        char record[SIZE + 1];
        snprintf(record, sizeof record, "%-50d", i);
        assert_ok(hr_record_write(writer, record, SIZE, &err), &err);
    }
    assert_ok(hr_record_writer_commit(writer, &err), &err);
}

/* A file of RECORDS records, of which the bytes at these places are flipped; ends with -1. */
static void write_damaged(const char *path, const int *places)
{
    size_t size;
    write_records(path, 0, RECORDS);
    char *bytes = read_whole_file(path, &size);
    for (; *places >= 0; places++) bytes[*places] ^= 0x10;
    write_file(path, bytes, size);
    free(bytes);
}

typedef struct told {
    int calls;
    int64_t bytes, first, end; /* places */
    char kind[32];
} told;

static void tell(const hr_error *error, hr_view bytes, void *user)
{
    told *t = user;
    if (t->calls++ == 0) t->first = error->offset;
    assert_int_equal(error->length, bytes.size);
    t->bytes += bytes.size;
    t->end = error->offset + error->length;
    snprintf(t->kind, sizeof t->kind, "%s", error->kind);
}

/* Reads what the options let be read: the numbers of the records in one text, "0 1 2 ". */
static hr_status read_numbers(const char *path, const hr_record_opts *opts, char *text, hr_damage_count *damage,
                              hr_error *err)
{
    hr_record_reader *reader;
    hr_view record;
    text[0] = '\0';
    hr_status status = hr_record_reader_open_with(path, opts, &reader, err);
    if (status != HR_OK) return status;
    while ((status = hr_record_read(reader, &record, err)) == HR_OK)
        sprintf(text + strlen(text), "%d ", atoi(record.data));
    if (damage) *damage = hr_record_damage(reader);
    hr_record_reader_free(reader);
    return status;
}

static void assert_read(const char *path, hr_policy policy, const char *numbers, int errors, int bytes)
{
    char text[2000];
    hr_error err;
    hr_damage_count damage = {0};
    const hr_record_opts opts = {.struct_size = sizeof opts, .policy = policy, .buffer_size = 100};
    const hr_status status = read_numbers(path, &opts, text, &damage, &err);
    if (status != HR_END) fail_msg("%s", err.text);
    assert_string_equal(text, numbers);
    assert_int_equal(damage.errors, errors);
    assert_int_equal(damage.bytes, bytes);
}

static const char without_3[] = "0 1 2 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 ";
static const char without_3_4[] = "0 1 2 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 ";

static void skip_passes_over_damaged_data_alone(void **state)
{
    (void)state;
    told t = {0};
    char text[2000];
    hr_error err;
    write_damaged("data", (const int[]){3 * FRAME + 30, -1});
    const hr_policy skip = {.on_error = HR_SKIP, .on_damage = tell, .user = &t};
    assert_read("data", skip, without_3, 1, FRAME);
    assert_int_equal(t.calls, 1);
    assert_int_equal(t.first, 3 * FRAME);
    assert_string_equal(t.kind, "tfrecord.data_crc");

    write_damaged("length", (const int[]){3 * FRAME + 2, -1});
    const hr_record_opts opts = {.struct_size = sizeof opts, .policy = skip};
    assert_status(read_numbers("length", &opts, text, NULL, &err), HR_DATA_LOSS);
    assert_string_equal(err.kind, "tfrecord.length_crc");
    assert_int_equal(err.record, 3);
    assert_string_equal(text, "0 1 2 ");
}

/* Records 0 to 2, one of `size` bytes, and the others from 4 on. */
static void write_with_long(const char *path, size_t size, hr_compression compression)
{
    hr_record_writer *writer;
    hr_error err;
    char *record = calloc(1, size + SIZE);
    const hr_output_opts opts = {.struct_size = sizeof opts, .compression = compression, .no_sync = true};
    assert_non_null(record);
    assert_ok(hr_record_writer_open(path, &opts, &writer, &err), &err);
    for (int i = 0; i < RECORDS; i++) {
        memset(record, 0, SIZE);
        snprintf(record, SIZE, "%d", i);
        assert_ok(hr_record_write(writer, record, i == 3 ? size : SIZE, &err), &err);
    }
    assert_ok(hr_record_writer_commit(writer, &err), &err);
    free(record);
}

/* What was read of a file, with at most 1,000 bytes a record. */
static hr_status read_limited(const char *path, hr_policy policy, char *text, hr_damage_count *damage, hr_error *err)
{
    const hr_record_opts opts = {.struct_size = sizeof opts, .policy = policy, .max_record_bytes = 1000};
    return read_numbers(path, &opts, text, damage, err);
}

/* Its length is right, so it is known where it ends; no memory is asked for it, however long it is. */
static void record_beyond_the_limit_is_passed_over(void **state)
{
    (void)state;
    enum { LONG = 3 * HR__DAMAGE_PIECE + 11, FRAMED = LONG + HR__RECORD_FRAME };
    char text[2000];
    hr_error err;
    static const hr_on_error ways[] = {HR_SKIP, HR_RESYNC, HR_QUARANTINE};
    for (int gzip = 0; gzip < 2; gzip++) {
        const char *path = gzip ? "long.gz" : "long";
        write_with_long(path, LONG, gzip ? HR_GZIP : HR_NONE);
        assert_status(read_limited(path, (hr_policy){.on_error = HR_FAIL}, text, NULL, &err), HR_DATA_LOSS);
        assert_string_equal(err.kind, "tfrecord.length_limit");
        for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
            told t = {0};
            hr_damage_count damage = {0};
            const hr_policy policy = {.on_error = ways[i],
                                      .quarantine_file = ways[i] == HR_QUARANTINE ? "kept.jsonl" : NULL,
                                      .on_damage = tell,
                                      .user = &t};
            remove("kept.jsonl");
            watch_memory();
            if (read_limited(path, policy, text, &damage, &err) != HR_END) fail_msg("%s", err.text);
            assert_in_range(most_memory(), 1, 8 << 20);
            assert_string_equal(text, without_3);
            assert_int_equal(damage.errors, 1);
            assert_int_equal(damage.bytes, FRAMED);
            assert_int_equal(t.calls, 4);
            assert_int_equal(t.bytes, FRAMED);
            assert_int_equal(t.first, 3 * FRAME);
            assert_int_equal(t.end, 3 * FRAME + FRAMED);
            assert_string_equal(t.kind, "tfrecord.length_limit");
        }
    }
}

/* The file ends within it: the rest is lost, but what a search finds in it. */
static void record_beyond_the_limit_may_be_cut(void **state)
{
    (void)state;
    enum { LONG = 5000, LEFT = 1234 };
    const hr_policy skip = {.on_error = HR_SKIP}, resync = {.on_error = HR_RESYNC};
    char text[2000];
    size_t size;
    hr_error err;
    hr_damage_count damage = {0};
    write_with_long("long", LONG, HR_NONE);
    char *bytes = read_whole_file("long", &size);
    write_file("cut", bytes, 3 * FRAME + LEFT);
    assert_status(read_limited("cut", skip, text, &damage, &err), HR_END);
    assert_string_equal(text, "0 1 2 ");
    assert_int_equal(damage.bytes, LEFT);

    /* Sound records where its data were: the length leads into one of them. */
    memmove(bytes + 3 * FRAME + 100, bytes + 4 * FRAME + LONG - SIZE, 16 * FRAME);
    write_file("torn", bytes, 3 * FRAME + 100 + 16 * FRAME);
    assert_status(read_limited("torn", resync, text, &damage, &err), HR_END);
    assert_string_equal(text, without_3);
    assert_int_equal(damage.bytes, 100);

    bytes[3 * FRAME + 9] ^= 1; /* the checksum of its length */
    write_file("crc", bytes, size);
    assert_status(read_limited("crc", skip, text, &damage, &err), HR_DATA_LOSS);
    assert_string_equal(err.kind, "tfrecord.length_crc");
    free(bytes);
}

static void resync_finds_the_next_sound_record(void **state)
{
    (void)state;
    told t = {0};
    const hr_policy resync = {.on_error = HR_RESYNC, .on_damage = tell, .user = &t};
    write_damaged("length", (const int[]){3 * FRAME + 2, -1});
    assert_read("length", resync, without_3, 1, FRAME);
    assert_int_equal(t.first, 3 * FRAME);
    assert_int_equal(t.end, 4 * FRAME);
    write_damaged("two", (const int[]){3 * FRAME + 2, 4 * FRAME + 40, -1}); /* the next one is damaged, too */
    assert_read("two", resync, without_3_4, 1, 2 * FRAME);
    write_damaged("first", (const int[]){0, -1});
    assert_read("first", resync, "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 ", 1, FRAME);
    write_damaged("last", (const int[]){19 * FRAME + 9, -1});
    assert_read("last", resync, "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 ", 1, FRAME);
}

/* Who was killed while he wrote left half a record, and the next writer went on after it. */
static void resync_does_not_believe_a_length_that_leads_into_other_records(void **state)
{
    (void)state;
    size_t size;
    write_records("whole", 0, RECORDS);
    char *bytes = read_whole_file("whole", &size);
    memmove(bytes + 3 * FRAME + 40, bytes + 4 * FRAME, size - 4 * FRAME);
    write_file("torn", bytes, size - FRAME + 40);
    const hr_policy resync = {.on_error = HR_RESYNC}, skip = {.on_error = HR_SKIP};
    assert_read("torn", resync, without_3, 1, 40);
    write_file("cut", bytes, 3 * FRAME + 40 + 2 * FRAME + 20);
    assert_read("cut", resync, "0 1 2 4 5 ", 2, 40 + 20);
    write_file("tail", bytes, 3 * FRAME + 20);
    assert_read("tail", skip, "0 1 2 ", 1, 20); /* nothing follows what a cut file lost */
    free(bytes);
}

static void long_damage_is_told_in_pieces(void **state)
{
    (void)state;
    told t = {0};
    size_t size;
    const size_t junk = 2 * HR__DAMAGE_PIECE + 7;
    const hr_policy resync = {.on_error = HR_RESYNC, .on_damage = tell, .user = &t};
    write_records("whole", 0, RECORDS);
    char *bytes = read_whole_file("whole", &size), *more = calloc(1, size + junk);
    assert_non_null(more);
    memcpy(more, bytes, 3 * FRAME);
    memset(more + 3 * FRAME, 0xab, junk);
    memcpy(more + 3 * FRAME + junk, bytes + 4 * FRAME, size - 4 * FRAME);
    write_file("junk", more, size - FRAME + junk);
    assert_read("junk", resync, without_3, 1, (int)junk);
    assert_int_equal(t.calls, 3);
    assert_int_equal(t.first, 3 * FRAME);
    assert_int_equal(t.end, 3 * FRAME + junk);
    free(bytes);
    free(more);
}

/* Reads all that a resync finds: numbers only grow. Gives how many of them are from 3000 on. */
static int resync_through(const char *path, int64_t *errors)
{
    hr_record_reader *reader;
    hr_error err;
    hr_view record;
    hr_status status;
    int last = -1, from_second = 0;
    const hr_record_opts opts = {.struct_size = sizeof opts, .policy = {.on_error = HR_RESYNC}};
    assert_ok(hr_record_reader_open_with(path, &opts, &reader, &err), &err);
    while ((status = hr_record_read(reader, &record, &err)) == HR_OK) {
        assert_more(atoi(record.data), last);
        last = atoi(record.data);
        from_second += last >= 3000;
    }
    assert_status(status, HR_END);
    *errors = hr_record_damage(reader).errors;
    hr_record_reader_free(reader);
    return from_second;
}

/* Two members, streams or frames, the first of them damaged in its middle. */
static void resync_goes_on_with_the_next_part(const char *extension)
{
    char path[3][32];
    static const char *const names[] = {"a", "b", "both"};
    size_t first, second;
    int64_t errors;
    for (int i = 0; i < 3; i++) snprintf(path[i], sizeof path[i], "%s.%s", names[i], extension);
    write_records(path[0], 0, 3000);
    write_records(path[1], 3000, 3);
    char *a = read_whole_file(path[0], &first), *b = read_whole_file(path[1], &second);
    char *both = malloc(first + second);
    assert_non_null(both);
    memcpy(both, a, first);
    memcpy(both + first, b, second);
    for (size_t i = 0; i < 40; i++) both[first / 2 + i] ^= (char)0xff;
    write_file(path[2], both, first + second);
    assert_int_equal(resync_through(path[2], &errors), 3);
    assert_at_least(errors, 1);

    write_file(path[2], a, first - 20); /* nothing follows */
    assert_int_equal(resync_through(path[2], &errors), 0);
    assert_int_equal(errors, 1);
    free(a);
    free(b);
    free(both);
}

static void resync_goes_on_with_the_next_member(void **state)
{
    (void)state;
    resync_goes_on_with_the_next_part("gz");
    resync_goes_on_with_the_next_part("zlib");
    resync_goes_on_with_the_next_part("lz4");
    resync_goes_on_with_the_next_part("zst");
}

static void checks_say_what_is_looked_at(void **state)
{
    (void)state;
    char text[2000];
    hr_error err;
    write_damaged("data", (const int[]){3 * FRAME + 61, -1});
    write_damaged("header", (const int[]){3 * FRAME + 9, -1});
    hr_record_opts opts = {.struct_size = sizeof opts, .checks = HR_CHECKS_HEADER};
    assert_status(read_numbers("data", &opts, text, NULL, &err), HR_END);
    assert_status(read_numbers("header", &opts, text, NULL, &err), HR_DATA_LOSS);
    opts.checks = HR_CHECKS_NONE;
    assert_status(read_numbers("header", &opts, text, NULL, &err), HR_END);
}

/* ---- budgets ---- */

static void a_budget_says_how_many_of_how_many(void **state)
{
    (void)state;
    char text[2000];
    hr_error err;
    write_damaged("f", (const int[]){3 * FRAME + 30, 5 * FRAME + 30, 8 * FRAME + 30, -1});
    hr_record_opts opts = {.struct_size = sizeof opts, .policy = {.on_error = HR_SKIP, .max_errors = 3}};
    assert_status(read_numbers("f", &opts, text, NULL, &err), HR_END);
    opts.policy.max_errors = 2;
    assert_status(read_numbers("f", &opts, text, NULL, &err), HR_DATA_LOSS);
    assert_string_equal(text, "0 1 2 4 6 7 ");
    assert_string_equal(err.kind, "policy.budget");
    assert_text_contains(err.text, "expected at most 2 errors, got 3 in 9 records; the last: f:528: record 8: ");
    assert_int_equal(err.offset, 8 * FRAME);

    write_damaged("last",
                  (const int[]){3 * FRAME + 30, 19 * FRAME + 30, -1}); /* after the one too many, nothing is left */
    opts.policy.max_errors = 1;
    assert_status(read_numbers("last", &opts, text, NULL, &err), HR_DATA_LOSS);
    assert_text_contains(err.text, "got 2 in 20 records; the last: last:1254: record 19: ");
    assert_int_equal(err.offset, 19 * FRAME);
    assert_int_equal(truncate("last", RECORDS * FRAME - 1), 0);
    assert_status(read_numbers("last", &opts, text, NULL, &err), HR_DATA_LOSS);
    assert_int_equal(err.record, 19);
    assert_int_equal(err.offset, 19 * FRAME);

    opts.policy.max_errors = 0;
    opts.policy.max_error_share = 0.15;
    assert_status(read_numbers("f", &opts, text, NULL, &err), HR_END);
    opts.policy.max_error_share = 0.14; /* three of twenty: seen at the end, when 1,000 will not come */
    assert_status(read_numbers("f", &opts, text, NULL, &err), HR_DATA_LOSS);
    assert_text_contains(err.text, "a share of 0.14 of errors, got 3 in 20 records");
}

static void policies_that_cannot_be_are_refused(void **state)
{
    (void)state;
    const hr_policy bad[] = {{.on_error = (hr_on_error)9},
                             {.on_error = HR_QUARANTINE},
                             {.on_error = HR_SKIP, .quarantine_file = "q"},
                             {.on_error = HR_SKIP, .max_errors = -1},
                             {.on_error = HR_SKIP, .max_error_share = 1.5}};
    static const char *const kind[] = {"policy.on_error", "policy.quarantine_file", "policy.quarantine_file",
                                       "policy.limit", "policy.limit"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        hr__policy *policy;
        hr_error err;
        assert_status(hr__policy_new(&bad[i], "tfrecord", &policy, &err), HR_INVALID_ARGUMENT);
        assert_string_equal(err.kind, kind[i]);
    }
}

static void a_broken_disk_is_no_damage(void **state)
{
    (void)state;
    hr__policy *policy;
    hr_error err;
    assert_ok(hr__policy_new(&(hr_policy){.on_error = HR_RESYNC}, "f", &policy, &err), &err);
    hr_fail(&err, HR_DATA_LOSS, "file.read", "f");
    assert_false(hr__policy_covers(policy, &err));
    hr_no_memory(&err, "f");
    assert_false(hr__policy_covers(policy, &err));
    hr_fail(&err, HR_DATA_LOSS, "tfrecord.data_crc", "f");
    assert_true(hr__policy_covers(policy, &err));
    assert_false(hr__policy_covers(NULL, &err));
    hr__policy_free(policy);
}

/* ---- quarantine ---- */

static int lines_in(const char *path)
{
    size_t size;
    int lines = 0;
    char *bytes = read_whole_file(path, &size);
    for (size_t i = 0; i < size; i++) lines += bytes[i] == '\n';
    free(bytes);
    return lines;
}

static void quarantine_keeps_bytes_and_place_once(void **state)
{
    (void)state;
    const hr_policy policy = {.on_error = HR_QUARANTINE, .quarantine_file = "q.jsonl"};
    write_damaged("f", (const int[]){3 * FRAME + 30, 5 * FRAME + 2, -1});
    static const char rest[] = "0 1 2 4 6 7 8 9 10 11 12 13 14 15 16 17 18 19 ";
    assert_read("f", policy, rest, 2, 2 * FRAME);
    assert_int_equal(lines_in("q.jsonl"), 2);
    assert_read("f", policy, rest, 2, 2 * FRAME); /* another epoch */
    assert_int_equal(lines_in("q.jsonl"), 2);
    size_t size;
    char *text = read_whole_file("q.jsonl", &size);
    text[size - 1] = '\0';
    static const char begin[] = "{\"file\":\"f\",\"record\":3,\"offset\":198,\"length\":66,"
                                "\"kind\":\"tfrecord.data_crc\",\"reason\":\"f:198: record 3: ";
    assert_memory_equal(text, begin, sizeof begin - 1);
    assert_text_contains(text, "\"base64\":\"MgAAAAAAAA");

    write_file("q.jsonl", text, size - 20); /* its writer was killed in the middle of the second line */
    assert_read("f", policy, rest, 2, 2 * FRAME);
    assert_int_equal(lines_in("q.jsonl"), 3); /* the half one, and it again */
    free(text);
}

static void quarantine_writes_text_as_text(void **state)
{
    (void)state;
    hr_error err, damage;
    hr__quarantine q = {.path = (char *)"q", .fd = -1};
    hr_fail(&damage, HR_INVALID_ARGUMENT, "csv.value", "say \"no\"");
    damage.line = 7;
    hr_error_file(&damage, "a,\"reason\":b.csv");
    assert_ok(hr__quarantine_add(&q, &damage, (hr_view){"x,\xc3\xa9\n", 5}, &err), &err);
    assert_ok(hr__quarantine_add(&q, &damage, (hr_view){"x,\xc3\xa9\n", 5}, &err), &err);
    hr__quarantine_close(&q);
    assert_ok(hr__quarantine_add(&q, &damage, (hr_view){"x,\xc3\xa9\n", 5}, &err), &err);
    hr__quarantine_close(&q);
    size_t size;
    char *text = read_whole_file("q", &size);
    static const char want[] = "{\"file\":\"a,\\\"reason\\\":b.csv\",\"line\":7,\"kind\":\"csv.value\","
                               "\"reason\":\"say \\\"no\\\"\",\"text\":\"x,\xc3\xa9\\n\"}\n";
    assert_int_equal(size, sizeof want - 1);
    assert_memory_equal(text, want, size);
    free(text);
}

static void a_quarantine_that_cannot_be_written_is_an_error(void **state)
{
    (void)state;
    char text[2000];
    hr_error err;
    write_damaged("f", (const int[]){3 * FRAME + 30, -1});
    const hr_record_opts opts = {.struct_size = sizeof opts,
                                 .policy = {.on_error = HR_QUARANTINE, .quarantine_file = "no/such/folder"}};
    assert_status(read_numbers("f", &opts, text, NULL, &err), HR_NOT_FOUND);
    assert_string_equal(err.kind, "file.open");
}

/* Whichever call finds no room, nobody goes on as if the damage were kept. */
static void a_full_disk_ends_a_quarantine(void **state)
{
    (void)state;
    char text[2000];
    write_damaged("f", (const int[]){3 * FRAME + 30, 5 * FRAME + 2, -1});
    const hr_record_opts opts = {.struct_size = sizeof opts,
                                 .policy = {.on_error = HR_QUARANTINE, .quarantine_file = "full.jsonl"}};
    for (int call = 0;; call++) {
        hr_error err;
        faults f = {.call = call, .number = ENOSPC};
        unlink("full.jsonl");
        use_faults(&f);
        const hr_status status = read_numbers("f", &opts, text, NULL, &err);
        use_faults(NULL);
        if (f.calls <= call) break;
        assert_status(status, HR_RESOURCE_EXHAUSTED);
        assert_memory_equal(err.kind, "file.", 5);
    }
    assert_int_equal(lines_in("full.jsonl"), 2);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    char text[2000];
    write_damaged("f", (const int[]){3 * FRAME + 30, 5 * FRAME + 2, -1});
    const hr_record_opts opts = {.struct_size = sizeof opts,
                                 .policy = {.on_error = HR_QUARANTINE, .quarantine_file = "kept"}};
    const int64_t alive = allocations_alive();
    for (int64_t n = 0;; n++) {
        hr_error err;
        fail_allocation(n);
        const hr_status status = read_numbers("f", &opts, text, NULL, &err);
        const bool failed = allocations_since() > n;
        if (failed) assert_status(status, HR_RESOURCE_EXHAUSTED);
        assert_int_equal(allocations_alive(), alive);
        if (!failed) break;
    }
    assert_int_equal(lines_in("kept"), 2);
}

/* ---- repairing ---- */

static bool call_off(const hr_progress *now, void *user)
{
    (void)user;
    assert_more(now->bytes, 0);
    assert_at_most(now->bytes, now->total);
    return now->records < 4096;
}

static void repairing_saves_what_is_good(void **state)
{
    (void)state;
    hr_error err;
    told t = {0};
    hr_repair_report report;
    write_damaged("f", (const int[]){3 * FRAME + 2, -1});
    const hr_repair_opts opts = {.struct_size = sizeof opts, .on_damage = tell, .user = &t};
    assert_ok(hr_repair_records_with("f", "good", &opts, &report, &err), &err);
    assert_int_equal(report.records, RECORDS - 1);
    assert_int_equal(report.lost.errors, 1);
    assert_int_equal(report.lost.bytes, FRAME);
    assert_int_equal(t.bytes, FRAME);
    assert_read("good", (hr_policy){0}, without_3, 0, 0);
    assert_status(hr_repair_records_with("f", "f", NULL, &report, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "repair.out");
    assert_ok(hr_repair_records_with("f", NULL, NULL, &report, &err), &err);
    assert_read("f", (hr_policy){0}, without_3, 0, 0);
}

/* One bit of the first bytes, with which a file looks like one that is not compressed. */
static void repair_flipped(const char *path, size_t at, int bit, hr_compression compression)
{
    hr_error err;
    size_t size;
    hr_repair_report report;
    const hr_repair_opts opts = {.struct_size = sizeof opts, .compression = compression};
    char *bytes = read_whole_file(path, &size);
    bytes[at] ^= (char)(1 << bit);
    write_file(path, bytes, size);
    assert_ok(hr_repair_records_with(path, "saved", &opts, &report, &err), &err);
    if (report.records != 100) fail_msg("%s: byte %zu, bit %d: %lld records", path, at, bit, (long long)report.records);
    assert_at_most(report.lost.errors, 1); /* a stream may say another level or time */
    assert_int_equal(report.lost.bytes, 0);
    bytes[at] ^= (char)(1 << bit);
    write_file(path, bytes, size);
    free(bytes);
}

static void repairing_saves_all_after_damaged_magic_bytes(void **state)
{
    (void)state;
    write_records("f.gz", 0, 100);
    write_records("f.zlib", 0, 100);
    for (int bit = 0; bit < 8; bit++) {
        for (size_t at = 0; at < 3; at++) repair_flipped("f.gz", at, bit, HR_COMPRESSION_AUTO);
        for (size_t at = 0; at < 2; at++) repair_flipped("f.zlib", at, bit, HR_COMPRESSION_AUTO);
        if (bit >= 5) repair_flipped("f.gz", 3, bit, HR_COMPRESSION_AUTO);
    }
    assert_int_equal(rename("f.gz", "f"), 0);
    repair_flipped("f", 0, 3, HR_GZIP);
}

static void repairing_saves_a_later_member_with_damaged_magic_bytes(void **state)
{
    (void)state;
    size_t size;
    write_records("f.gz", 0, 100);
    char *one = read_whole_file("f.gz", &size), *both = malloc(2 * size);
    memcpy(both, one, size);
    memcpy(both + size, one, size);
    both[size + 1] ^= 4;
    write_file("both.gz", both, 2 * size);
    free(one);
    free(both);
    hr_error err;
    hr_repair_report report;
    assert_ok(hr_repair_records_with("both.gz", "saved", NULL, &report, &err), &err);
    assert_int_equal(report.records, 200);
    assert_int_equal(report.lost.errors, 1);
}

static void repairing_that_is_called_off_leaves_the_old_file(void **state)
{
    (void)state;
    hr_error err;
    hr_repair_report report;
    size_t size, after;
    const hr_repair_opts opts = {.struct_size = sizeof opts, .progress = call_off};
    write_records("f", 0, 5000);
    char *before = read_whole_file("f", &size);
    before[size - 1] ^= 1;
    write_file("f", before, size);
    assert_status(hr_repair_records_with("f", NULL, &opts, &report, &err), HR_CANCELLED);
    char *now = read_whole_file("f", &after);
    assert_int_equal(after, size);
    assert_memory_equal(now, before, size);
    free(before);
    free(now);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(skip_passes_over_damaged_data_alone),
        cmocka_unit_test(record_beyond_the_limit_is_passed_over),
        cmocka_unit_test(record_beyond_the_limit_may_be_cut),
        cmocka_unit_test(resync_finds_the_next_sound_record),
        cmocka_unit_test(resync_does_not_believe_a_length_that_leads_into_other_records),
        cmocka_unit_test(long_damage_is_told_in_pieces),
        cmocka_unit_test(resync_goes_on_with_the_next_member),
        cmocka_unit_test(checks_say_what_is_looked_at),
        cmocka_unit_test(a_budget_says_how_many_of_how_many),
        cmocka_unit_test(policies_that_cannot_be_are_refused),
        cmocka_unit_test(a_broken_disk_is_no_damage),
        cmocka_unit_test(quarantine_keeps_bytes_and_place_once),
        cmocka_unit_test(quarantine_writes_text_as_text),
        cmocka_unit_test(a_quarantine_that_cannot_be_written_is_an_error),
        cmocka_unit_test(a_full_disk_ends_a_quarantine),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(repairing_saves_what_is_good),
        cmocka_unit_test(repairing_saves_all_after_damaged_magic_bytes),
        cmocka_unit_test(repairing_saves_a_later_member_with_damaged_magic_bytes),
        cmocka_unit_test(repairing_that_is_called_off_leaves_the_old_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
