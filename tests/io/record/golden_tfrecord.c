/* The golden topic tfrecord, through hr_record_reader and through the dataset: intact files, damaged ones, whole sweeps
 * of cuts and flips; the writer against the files of TensorFlow's. Both modes do the same: bytes are never lost
 * silently. */
#include "tests/io/record/golden_tfrecord_policy.h"
#include <headrace/data.h>
#include <headrace/io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct outcome {
    int64_t delivered, zeros;
    hr_status end;
    hr_error error;
    bool wrong; /* a record came that was never written */
} outcome;

/* Reads a file to its end, after `skip` records. False: it did not end cleanly. */
static bool read_file(const char *path, hr_compression compression, int64_t skip, const cJSON *records, bool any,
                      outcome *out)
{
    hr_record_reader *reader;
    hr_input_opts opts = {.struct_size = sizeof opts, .compression = compression, .buffer_size = 0};
    hr_view record;
    out->end = hr_record_reader_open(path, &opts, &reader, &out->error);
    if (out->end != HR_OK) return false;
    out->end = hr_record_skip(reader, skip, &out->error);
    for (int64_t i = skip; out->end == HR_OK; i++) {
        out->end = hr_record_read(reader, &record, &out->error);
        if (out->end != HR_OK) break;
        out->wrong |= !golden_as_written(records, i, any, record);
        out->delivered++;
    }
    hr_error again;
    if (hr_record_read(reader, &record, &again) != out->end) out->wrong = true;
    out->zeros += hr_record_trailing_zeros(reader);
    hr_record_reader_free(reader);
    return out->end == HR_END;
}

/* The same through the dataset. `pattern`: file names, one a line. */
static void read_dataset(const char *pattern, hr_compression compression, int64_t skip, const cJSON *records, bool any,
                         int workers, bool tf_compat, outcome *out)
{
    const hr_element *e;
    hr_dataset *ds = hr_tfrecord(pattern, .compression = compression);
    if (skip > 0) ds = hr_skip(ds, skip);
    if (tf_compat) ds = hr_options(ds, .tf_compat = true);
    hr_iterator *it = hr_iterate(ds, .workers = &workers);
    for (int64_t i = skip; (out->end = hr_next(it, &e)) == HR_OK; i++) {
        out->wrong |= !golden_as_written(records, i, any, *(const hr_view *)hr_get(e, "value")->data);
        out->delivered++;
    }
    if (out->end < 0) out->error = *hr_iterator_error(it);
    if (hr_next(it, &e) != out->end) out->wrong = true;
    for (const hr_report_line *line = hr_iterator_report(it); line->what; line++)
        if (strstr(line->what, "zero bytes")) out->zeros += line->count;
    hr_iterator_free(it);
}

static golden_result compare(golden_case *c, const char *what, const cJSON *expect, const cJSON *files,
                             const outcome *got)
{
    const bool exact = golden_bool(expect, "exact", true), clean = strcmp(golden_text(expect, "end", ""), "clean") == 0;
    const int64_t delivered = golden_int(expect, "delivered", 0);
    const char *class = golden_text(expect, "class", "");
    if (got->wrong) return golden_differs(c, "%s: a record that was not written, or an error that is not final", what);
    if (exact ? got->delivered != delivered : got->delivered > delivered)
        return golden_differs(c, "%s: %d records, not %d", what, (int)got->delivered, (int)delivered);
    if (clean != (got->end == HR_END)) return golden_differs(c, "%s: ended with %s", what, got->error.text);
    if (clean) {
        int64_t zeros = golden_int(golden_get(expect, "warning"), "length", 0);
        return zeros == got->zeros ? GOLDEN_AGREES : golden_differs(c, "%s: %d zeros", what, (int)got->zeros);
    }
    if (strcmp(hr_status_name(got->end), class) != 0)
        return golden_differs(c, "%s: %s: %s", what, hr_status_name(got->end), got->error.text);
    if (exact && golden_int(expect, "offset", got->error.offset) != got->error.offset)
        return golden_differs(c, "%s: offset %d: %s", what, (int)got->error.offset, got->error.text);
    if (golden_int(expect, "compressed_offset", got->error.compressed_offset) != got->error.compressed_offset)
        return golden_differs(c, "%s: compressed offset %d: %s", what, (int)got->error.compressed_offset,
                              got->error.text);
    const cJSON *file = cJSON_GetArrayItem(files, (int)golden_int(expect, "file_index", -1));
    if (file && !strstr(got->error.file, file->valuestring))
        return golden_differs(c, "%s: file %s", what, got->error.file);
    return GOLDEN_AGREES;
}

/* A skipped record may be looked at, as the dataset does, or not. */
static bool found_damage_skipped(const cJSON *json, const outcome *got)
{
    return golden_int(json, "skip", 0) > got->error.record && got->error.record >= 0 && got->end == HR_DATA_LOSS &&
           strcmp(got->error.kind, "tfrecord.data_crc") == 0 && got->delivered == 0;
}

static golden_result run_dataset(golden_case *c, const char *pattern, hr_compression compression, const cJSON *expect)
{
    const cJSON *files = golden_get(c->json, "files"), *records = golden_get(c->json, "records");
    golden_result result = GOLDEN_AGREES;
    for (int way = 0; result == GOLDEN_AGREES && way < 4; way++) {
        outcome got = {0};
        char what[64];
        snprintf(what, sizeof what, "dataset, %d workers%s", way & 2, way & 1 ? ", tf_compat" : "");
        read_dataset(pattern, compression, golden_int(c->json, "skip", 0), records, files, way & 2, way & 1, &got);
        if (!found_damage_skipped(c->json, &got)) result = compare(c, what, expect, files, &got);
    }
    return result;
}

/* ---- variants: a file with a cut or a flipped bit ---- */

static golden_result run_variants(golden_case *c, hr_compression compression)
{
    hr_view base = golden_file(c, golden_text(c->json, "file", ""));
    const cJSON *variant;
    golden_result result = base.size < 0 ? golden_differs(c, "no file") : GOLDEN_AGREES;
    cJSON_ArrayForEach(variant, golden_get(c->json, "variants"))
    {
        int64_t cut = golden_int(variant, "cut", base.size), flip = golden_int(variant, "flip", -1);
        char what[64], *data = result == GOLDEN_AGREES ? malloc((size_t)base.size + 1) : NULL;
        if (!data) break;
        memcpy(data, base.data, (size_t)base.size);
        if (flip >= 0) data[flip] = (char)(data[flip] ^ 1 << golden_int(variant, "bit", 0));
        FILE *f = fopen("variant", "wb");
        if (f) fwrite(data, 1, (size_t)cut, f);
        if (f) fclose(f);
        free(data);
        outcome got = {0};
        read_file("variant", compression, 0, golden_get(c->json, "records"), false, &got);
        snprintf(what, sizeof what, "cut %d, flip %d", (int)cut, (int)flip);
        const cJSON *expect = golden_get(variant, "headrace_expect");
        result = compare(c, what, expect, NULL, &got);
        if (result == GOLDEN_AGREES) result = run_dataset(c, "variant", compression, expect);
        if (result == GOLDEN_AGREES) result = golden_compare_policies(c, "variant", compression, expect);
    }
    free((char *)base.data);
    return result;
}

/* ---- the writer ---- */

static bool same_bytes(const char *a, const char *b, hr_compression compression)
{
    hr_input *in[2] = {NULL, NULL};
    const hr_input_opts opts = {.struct_size = sizeof opts, .compression = compression};
    bool same =
        hr_input_open_with(a, &opts, &in[0], NULL) == HR_OK && hr_input_open_with(b, &opts, &in[1], NULL) == HR_OK;
    for (bool more = same; more;) {
        const char *data[2];
        size_t size[2];
        for (int i = 0; i < 2; i++) same &= hr_input_peek(in[i], 1 << 16, &data[i], &size[i], NULL) == HR_OK;
        size_t both = size[0] < size[1] ? size[0] : size[1];
        same = same && (both > 0 || size[0] == size[1]) && memcmp(data[0], data[1], both) == 0;
        for (int i = 0; i < 2; i++) hr_input_consume(in[i], both);
        more = same && both > 0;
    }
    hr_input_free(in[0]);
    hr_input_free(in[1]);
    return same;
}

/* Writes the records of `path` anew: the file, or what is in it, must be the same. */
static golden_result run_writer(golden_case *c, const char *path, hr_compression compression, const char *equal)
{
    hr_record_reader *reader;
    hr_record_writer *writer;
    hr_error err;
    hr_view record;
    const hr_input_opts in = {.struct_size = sizeof in, .compression = compression};
    const hr_output_opts out = {.struct_size = sizeof out, .compression = compression, .no_sync = true};
    if (hr_record_reader_open(path, &in, &reader, &err) != HR_OK) return golden_differs(c, "%s", err.text);
    hr_status status = hr_record_writer_open("written", &out, &writer, &err);
    while (status == HR_OK && hr_record_read(reader, &record, &err) == HR_OK)
        status = hr_record_write(writer, record.data, (size_t)record.size, &err);
    if (status == HR_OK) status = hr_record_writer_commit(writer, &err);
    hr_record_reader_free(reader);
    if (status != HR_OK) return golden_differs(c, "%s", err.text);
    bool same = same_bytes(path, "written", strcmp(equal, "file") == 0 ? HR_NONE : compression);
    return same ? GOLDEN_AGREES : golden_differs(c, "the writer's %s differs", equal);
}

static golden_result run_case(golden_case *c)
{
    golden_whole(c->json); /* some of its fields say in other words what others say */
    char path[1024];
    hr_compression compression;
    outcome got = {0};
    const cJSON *expect = golden_get(c->json, "headrace_expect"), *files = golden_get(c->json, "files");
    const char *file = golden_text(c->json, "file", ""), *equal = golden_text(c->json, "writer_must_equal", NULL);
    if (!expect) expect = golden_get(c->json, "expect");
    if (!hr_compression_named(golden_text(c->json, "compression", ""), &compression)) {
        got.end = hr_fail(&got.error, HR_INVALID_ARGUMENT, "compression.unknown", "no such compression");
        return compare(c, "compression", expect, NULL, &got);
    }
    if (golden_get(c->json, "variants")) return run_variants(c, compression);

    char *pattern = calloc(1, sizeof path * (size_t)(cJSON_GetArraySize(files) + 1));
    const cJSON *one = files ? files->child : NULL;
    bool going = pattern != NULL;
    do {
        snprintf(path, sizeof path, "%s/%s", c->folder, one ? one->valuestring : file);
        if (pattern) strcat(strcat(pattern, pattern[0] ? "\n" : ""), path);
        going = going && read_file(path, compression, golden_int(c->json, "skip", 0), golden_get(c->json, "records"),
                                   files, &got);
    } while (one && (one = one->next));
    golden_result result = compare(c, file, expect, files, &got);
    if (result == GOLDEN_AGREES) result = run_dataset(c, pattern, compression, expect);
    if (result == GOLDEN_AGREES) result = golden_compare_policies(c, pattern, compression, expect);
    if (result == GOLDEN_AGREES && equal) result = run_writer(c, path, compression, equal);
    free(pattern);
    return result;
}

int main(void) { return golden_main("tfrecord", GOLDEN_ROOT, run_case); }
