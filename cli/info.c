/* headrace info: counts records and bytes of TFRecord files, and says which features they hold. Every record is read and both
 * of its checksums are verified. */
#include "cli/command.h"
#include "io/example_walk.h"
#include <headrace/io.h>
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_FEATURES = 4096 };

typedef struct feature_seen {
    char *key;
    hr_dtype dtype;
    bool mixed; /* of several types */
    int64_t records, values, most;
} feature_seen;

typedef struct file_seen {
    int64_t records, bytes, disk_bytes, smallest, largest, no_examples;
    feature_seen feature[MAX_FEATURES];
    int features;
} file_seen;

static feature_seen *feature_of(file_seen *s, hr_view key)
{
    for (int i = 0; i < s->features; i++)
        if (strlen(s->feature[i].key) == (size_t)key.size && memcmp(s->feature[i].key, key.data, (size_t)key.size) == 0)
            return &s->feature[i];
    if (s->features == MAX_FEATURES) return NULL;
    char *copy = strndup(key.data, (size_t)key.size);
    s->feature[s->features] = (feature_seen){.key = copy};
    return copy ? &s->feature[s->features++] : NULL;
}

static void note_features(file_seen *s, const hr__walked_feature *feature, int count)
{
    for (int i = 0; i < count; i++) {
        feature_seen *f = feature_of(s, feature[i].key);
        const hr_tensor *t = &feature[i].values;
        if (!f || t->dtype == HR_INVALID_DTYPE) continue;
        f->mixed |= f->records > 0 && f->dtype != t->dtype;
        f->dtype = t->dtype;
        f->records++;
        f->values += t->count;
        if (t->count > f->most) f->most = t->count;
    }
}

static hr_status read_file(const char *path, const hr_input_opts *opts, hr__example_walk *walk, file_seen *s,
                           progress *p, hr_error *err)
{
    hr_record_reader *reader;
    hr_view record;
    hr_status st;
    struct stat about;
    HR_TRY(hr_record_reader_open(path, opts, &reader, err));
    while ((st = hr_record_read(reader, &record, err)) == HR_OK) {
        const hr__walked_feature *feature;
        int count;
        if (s->records == 0 || record.size < s->smallest) s->smallest = record.size;
        if (record.size > s->largest) s->largest = record.size;
        s->records++;
        s->bytes += record.size;
        if (hr__example_walk_record(walk, record, &feature, &count, NULL) == HR_OK)
            note_features(s, feature, count);
        else
            s->no_examples++;
        if (s->records % 4096 == 0) progress_show(p, -1, with_commas(s->records));
    }
    hr_record_reader_free(reader);
    s->disk_bytes += stat(path, &about) == 0 ? about.st_size : 0;
    return st == HR_END ? HR_OK : st;
}

static int by_key(const void *a, const void *b)
{
    return strcmp(((const feature_seen *)a)->key, ((const feature_seen *)b)->key);
}

static void print_text(const file_seen *s, int64_t files, double seconds)
{
    printf("%s records in %" PRId64 " file%s, %s on disk, records of %s to %s bytes, %s on average\n",
           with_commas(s->records), files, files == 1 ? "" : "s", human_bytes((double)s->disk_bytes),
           with_commas(s->smallest), with_commas(s->largest), with_commas(s->records ? s->bytes / s->records : 0));
    printf("all checksums are right; read in %.2f s, %s records/s\n", seconds,
           with_commas((int64_t)((double)s->records / (seconds > 0 ? seconds : 1e-9))));
    if (s->no_examples) printf("%s records are no tf.Example\n", with_commas(s->no_examples));
    if (s->features) printf("\n  %-24s %-8s %14s %14s\n", "feature", "type", "present in", "values each");
    for (int i = 0; i < s->features; i++) {
        const feature_seen *f = &s->feature[i];
        double mean = f->records ? (double)f->values / (double)f->records : 0;
        printf("  %-24s %-8s %14s %14.4g\n", f->key, f->mixed ? "mixed" : hr_dtype_name(f->dtype),
               with_commas(f->records), mean);
    }
}

static void print_as_json(const file_seen *s, int64_t files)
{
    cJSON *top = cJSON_CreateObject(), *list = cJSON_AddArrayToObject(top, "features");
    cJSON_AddNumberToObject(top, "files", (double)files);
    cJSON_AddNumberToObject(top, "records", (double)s->records);
    cJSON_AddNumberToObject(top, "record_bytes", (double)s->bytes);
    cJSON_AddNumberToObject(top, "disk_bytes", (double)s->disk_bytes);
    cJSON_AddNumberToObject(top, "not_examples", (double)s->no_examples);
    for (int i = 0; i < s->features; i++) {
        cJSON *f = cJSON_CreateObject();
        cJSON_AddStringToObject(f, "name", s->feature[i].key);
        cJSON_AddStringToObject(f, "type", s->feature[i].mixed ? "mixed" : hr_dtype_name(s->feature[i].dtype));
        cJSON_AddNumberToObject(f, "records", (double)s->feature[i].records);
        cJSON_AddNumberToObject(f, "values", (double)s->feature[i].values);
        cJSON_AddItemToArray(list, f);
    }
    print_json(top);
}

static hr_status read_all(const command_call *call, file_seen *s, int64_t *files, hr_error *err)
{
    progress p;
    hr_input_opts opts = {.struct_size = sizeof opts};
    const char *compression = flag_text(call, "compression");
    if (compression && !hr_compression_named(compression, &opts.compression))
        return hr_fail(err, HR_INVALID_ARGUMENT, "cli.compression",
                       "--compression: expected GZIP or ZLIB, found \"%s\"", compression);
    hr__example_walk *walk = hr__example_walk_new();
    if (!walk) return hr_no_memory(err, "reading records");
    hr_status st = HR_OK;
    progress_start(&p, "reading");
    for (int i = 0; i < call_arguments(call) && st == HR_OK; i++) {
        hr_file_list list = {0};
        st = hr_match_files(call_argument(call, i), &list, err);
        for (int64_t f = 0; f < list.count && st == HR_OK; f++) st = read_file(list.path[f], &opts, walk, s, &p, err);
        *files += list.count;
        hr_file_list_clear(&list);
    }
    progress_end(&p);
    hr__example_walk_free(walk);
    return st;
}

static int run(command_call *call)
{
    hr_error err = {0};
    int64_t files = 0;
    double start = now_seconds();
    file_seen *s = calloc(1, sizeof *s);
    if (!s) return 1;
    hr_status st = read_all(call, s, &files, &err);
    qsort(s->feature, (size_t)s->features, sizeof *s->feature, by_key);
    if (st == HR_OK && flag_given(call, "json"))
        print_as_json(s, files);
    else if (st == HR_OK)
        print_text(s, files, now_seconds() - start);
    for (int i = 0; i < s->features; i++) free(s->feature[i].key);
    free(s);
    return st == HR_OK ? 0 : failed(call, &err);
}

static const flag flags[] = {
    {FLAG_TEXT, "compression", 0, "TYPE", "GZIP or ZLIB; default: by the files' first bytes"},
    {FLAG_SWITCH, "json", 0, NULL, "one line of JSON instead of text"},
    {0},
};

const command command_info = {
    .name = "info",
    .arguments = "FILE...",
    .summary = "says what is in TFRecord files: records, bytes, features",
    .text =
        "Reads every record of the files, verifies both checksums of each, and counts records, bytes and features.\n"
        "A FILE may be a pattern in quotes.",
    .examples = "  headrace info 'data/train-*.tfrecord'\n"
                "  headrace info --json clicks.tfrecord.gz\n",
    .flags = flags,
    .least_arguments = 1,
    .most_arguments = -1,
    .run = run,
};
