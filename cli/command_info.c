/* headrace info: counts records and bytes of TFRecord files, and says which features they hold. Every record is read
 * and both of its checksums are verified. */
#include "cli/command.h"
#include "cli/json_line.h"
#include "cli/cli_table.h"
#include "cli/feature_table.h"
#include <headrace/examples.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { COMPRESSIONS = 16 /* space for all of hr_compression */ };
enum { RECORD_FRAME = 16 /* bytes of length and checksums around a record */ };
enum { LOOK_EVERY = 4096 /* records between two looks at the clock */ };

typedef struct file_seen {
    int64_t records, bytes, disk_bytes, smallest, largest, no_examples, trailing_zeros;
    int64_t files_of[COMPRESSIONS]; /* files of each compression */
    int64_t indexed, stale;         /* files with a valid index, and with one that is not */
    feature_table features;
} file_seen;

static void info_note_values(feature_seen *f, const hr_tensor *t)
{
    if (t->dtype == HR_INVALID_DTYPE) return;
    f->mixed |= f->dtype != HR_INVALID_DTYPE && f->dtype != t->dtype;
    f->dtype = t->dtype;
    f->values += t->count;
}

/* Of a feature list all steps' values together. A feature without a kind is missing. */
static hr_status note_features(file_seen *s, const hr_example_contents *contents, hr_error *err)
{
    feature_seen *f;
    for (int64_t i = 0; i < contents->features; i++) {
        HR_TRY(feature_table_find(&s->features, contents->feature[i].key, i, &f, err));
        f->records += contents->feature[i].values.dtype != HR_INVALID_DTYPE;
        info_note_values(f, &contents->feature[i].values);
    }
    for (int64_t i = 0; i < contents->lists; i++) {
        const hr_example_list *list = &contents->list[i];
        bool present = false;
        HR_TRY(feature_table_find(&s->features, list->key, contents->features + i, &f, err));
        for (int64_t step = 0; step < list->steps; step++) {
            present |= list->step[step].dtype != HR_INVALID_DTYPE;
            info_note_values(f, &list->step[step]);
        }
        f->records += present;
    }
    return HR_OK;
}

static hr_status note_record(file_seen *s, hr_example_walk *walk, hr_view record, hr_error *err)
{
    hr_example_contents contents;
    if (s->records == 0 || record.size < s->smallest) s->smallest = record.size;
    if (record.size > s->largest) s->largest = record.size;
    s->records++;
    s->bytes += record.size;
    if (hr_example_walk_outline(walk, record, &contents, NULL) == HR_OK) return note_features(s, &contents, err);
    s->no_examples++;
    return HR_OK;
}

static void note_index(file_seen *s, const char *path)
{
    hr_record_index *index;
    hr_error why;
    const hr_status st = hr_record_index_read(path, &index, &why);
    s->indexed += st == HR_OK;
    s->stale += st != HR_OK && st != HR_NOT_FOUND;
    if (st == HR_OK) hr_record_index_free(index);
}

static hr_status info_read_file(const char *path, const hr_record_opts *opts, hr_example_walk *walk, file_seen *s,
                                progress *p, hr_error *err)
{
    hr_record_reader *reader;
    hr_view record;
    hr_status st;
    struct stat about;
    HR_TRY(hr_record_reader_open_with(path, opts, &reader, err));
    while ((st = hr_record_read(reader, &record, err)) == HR_OK) {
        if ((st = note_record(s, walk, record, err)) != HR_OK) break;
        if (s->records % LOOK_EVERY == 0) progress_count(p, -1, s->records, "records");
    }
    s->trailing_zeros += hr_record_trailing_zeros(reader);
    s->files_of[hr_record_compression(reader)]++;
    hr_record_reader_free(reader);
    s->disk_bytes += stat(path, &about) == 0 ? about.st_size : 0;
    note_index(s, path);
    return st == HR_END ? HR_OK : st;
}

/* ---- printing ---- */

typedef struct named_feature {
    hr_view key; /* any bytes */
    const feature_seen *seen;
} named_feature;

static int info_by_key(const void *a, const void *b)
{
    const hr_view x = ((const named_feature *)a)->key, y = ((const named_feature *)b)->key;
    const int order = memcmp(x.data, y.data, (size_t)(x.size < y.size ? x.size : y.size));
    return order ? order : (x.size > y.size) - (x.size < y.size);
}

/* Gives the features, sorted by name. */
static hr_status sort_features(const file_seen *s, named_feature **out, hr_error *err)
{
    const int64_t count = s->features.count;
    named_feature *f = *out = hr_calloc((size_t)count + 1, sizeof *f);
    if (!f) return hr_no_memory(err, "features");
    for (int64_t i = 0; i < count; i++) f[i] = (named_feature){s->features.feature[i]->key, s->features.feature[i]};
    qsort(f, (size_t)count, sizeof *f, info_by_key);
    return HR_OK;
}

static const char *type_word(const feature_seen *f)
{
    return f->mixed ? "mixed" : f->dtype == HR_INVALID_DTYPE ? "none" : hr_dtype_name(f->dtype);
}

static void print_features(const named_feature *feature, int64_t features)
{
    static const table_column column[] = {
        {"feature", 23, true}, {"type", 7, true}, {"present in", 14, false}, {"values each", 13, false}};
    table t = {.column = column, .columns = 4};
    for (const named_feature *f = feature; f < feature + features; f++) {
        table_word(&t, f->key);
        table_cell(&t, "%s", type_word(f->seen));
        table_cell(&t, "%s", with_commas(f->seen->records));
        table_cell(&t, "%.4g", f->seen->records ? (double)f->seen->values / (double)f->seen->records : 0);
    }
    table_print(&t);
}

static int64_t inflated_bytes(const file_seen *s) { return s->bytes + s->records * RECORD_FRAME; }

static const char *compression_word(int i) { return i == HR_NONE ? "none" : hr_compression_name((hr_compression)i); }

static void print_compressions(const file_seen *s)
{
    const char *before = "compression: ";
    for (int i = 0; i < COMPRESSIONS; i++) {
        if (s->files_of[i] == 0) continue;
        printf("%s%s of %" PRId64 " file%s", before, compression_word(i), s->files_of[i],
               s->files_of[i] == 1 ? "" : "s");
        before = ", ";
    }
    puts("");
}

static void print_files(const file_seen *s, int64_t files)
{
    if (files > 0) print_compressions(s);
    const double inflated = (double)inflated_bytes(s);
    if (s->disk_bytes && inflated > (double)s->disk_bytes)
        printf("compressed: %s decompressed, %.2f times the size on disk\n", human_bytes(inflated),
               inflated / (double)s->disk_bytes);
    if (s->indexed) printf("%" PRId64 " of %" PRId64 " files have an index\n", s->indexed, files);
    if (s->stale) printf("%" PRId64 " indexes are stale; 'headrace index' makes new ones\n", s->stale);
}

static void info_print_text(const file_seen *s, const named_feature *feature, int64_t files, double seconds)
{
    printf("%s record%s in %" PRId64 " file%s, %s on disk", with_commas(s->records), s->records == 1 ? "" : "s", files,
           files == 1 ? "" : "s", human_bytes((double)s->disk_bytes));
    if (s->records)
        printf("; %s to %s bytes each, %s on average", with_commas(s->smallest), with_commas(s->largest),
               with_commas(s->bytes / s->records));
    printf("\nall checksums are right; read in %.2f s, %s records/s\n", seconds,
           with_commas((int64_t)((double)s->records / (seconds > 0 ? seconds : 1e-9))));
    print_files(s, files);
    if (s->no_examples) printf("%s records are not a tf.Example\n", with_commas(s->no_examples));
    if (s->trailing_zeros) printf("%s zero bytes after compressed data\n", with_commas(s->trailing_zeros));
    print_features(feature, s->features.count);
}

static void info_print_as_json(const file_seen *s, const named_feature *feature, int64_t files)
{
    json_line top;
    json_begin(&top);
    json_count(&top, "files", files);
    json_count(&top, "records", s->records);
    json_count(&top, "record_bytes", s->bytes);
    json_count(&top, "disk_bytes", s->disk_bytes);
    json_count(&top, "inflated_bytes", inflated_bytes(s));
    json_open(&top, "compressions", '{');
    for (int i = 0; i < COMPRESSIONS; i++)
        if (s->files_of[i] > 0) json_count(&top, compression_word(i), s->files_of[i]);
    json_close(&top, '}');
    json_count(&top, "indexed_files", s->indexed);
    json_count(&top, "stale_indexes", s->stale);
    json_count(&top, "not_examples", s->no_examples);
    json_count(&top, "trailing_zeros", s->trailing_zeros);
    json_open(&top, "features", '[');
    for (int64_t i = 0; i < s->features.count; i++) {
        json_open(&top, NULL, '{');
        json_view(&top, "name", feature[i].key);
        json_text(&top, "type", type_word(feature[i].seen));
        json_count(&top, "records", feature[i].seen->records);
        json_count(&top, "values", feature[i].seen->values);
        json_close(&top, '}');
    }
    json_close(&top, ']');
    json_end(&top);
}

static hr_status info_read_all(const command_call *call, const hr_record_opts *opts, file_seen *s, int64_t *files,
                               hr_error *err)
{
    progress p;
    hr_example_walk *walk = hr_example_walk_new();
    if (!walk) return hr_no_memory(err, "reading records");
    hr_status st = HR_OK;
    progress_start(&p, "reading");
    for (int i = 0; i < call_arguments(call) && st == HR_OK; i++) {
        hr_file_list list = {0};
        st = match_argument(call_argument(call, i), &list, err);
        if (st == HR_OK) st = need_tfrecords(&list, err);
        for (int64_t f = 0; f < list.count && st == HR_OK; f++)
            st = info_read_file(list.path[f], opts, walk, s, &p, err);
        *files += list.count;
        hr_file_list_clear(&list);
    }
    progress_end(&p);
    hr_example_walk_free(walk);
    return st;
}

static int info_run(command_call *call)
{
    hr_error err = {0};
    int64_t files = 0;
    double start = now_seconds();
    hr_record_opts opts = {.struct_size = sizeof opts, .max_record_bytes = flag_max_record(call)};
    if (!flag_compression(call, &opts.compression)) return WRONG_USE;
    file_seen *s = hr_calloc(1, sizeof *s);
    if (!s) {
        hr_no_memory(&err, "counts");
        return failed(call, &err);
    }
    named_feature *feature = NULL;
    hr_status st = info_read_all(call, &opts, s, &files, &err);
    if (st == HR_OK) st = sort_features(s, &feature, &err);
    if (st == HR_OK && flag_given(call, "json"))
        info_print_as_json(s, feature, files);
    else if (st == HR_OK)
        info_print_text(s, feature, files, now_seconds() - start);
    hr_free(feature);
    feature_table_free(&s->features);
    hr_free(s);
    return st == HR_OK ? WORKED : failed(call, &err);
}

static const flag flags[] = {
    {FLAG_TEXT, "compression", 0, "TYPE", "default: by the files' first bytes"},
    MAX_RECORD_FLAG,
    {FLAG_SWITCH, "json", 0, NULL, "one line of JSON instead of text"},
    {0},
};

const command command_info = {
    .name = "info",
    .arguments = "FILE...",
    .summary = "summarizes TFRecord files: records, bytes, features",
    .text = "Reads every record of the files, verifies both of its checksums, and counts records, bytes and features. "
            "A FILE may be a pattern in quotes; - is standard input. For CSV and JSON use `headrace stats`.",
    .examples = "  headrace info 'data/train-*.tfrecord'\n"
                "  headrace info --json clicks.tfrecord.gz\n"
                "  zstdcat old.tfrecord.zst | headrace info -\n",
    .flags = flags,
    .min_arguments = 1,
    .max_arguments = -1,
    .run = info_run,
};
