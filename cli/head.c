/* headrace head: the first records of a TFRecord file, a line of JSON each. Integers keep all their digits; bytes that are no
 * UTF-8 are shown as base64 under "bytes". */
#include "base/number.h"
#include "base/text.h"
#include "cli/command.h"
#include "io/example_walk.h"
#include <headrace/io.h>
#include <inttypes.h>

static bool is_utf8(hr_view v)
{
    const unsigned char *p = (const unsigned char *)v.data, *end = p + v.size;
    while (p < end) {
        int more = *p < 0x80                 ? 0
                   : *p >= 0xc2 && *p < 0xe0 ? 1
                   : *p >= 0xe0 && *p < 0xf0 ? 2
                   : *p >= 0xf0 && *p < 0xf5 ? 3
                                             : -1;
        if (more < 0 || end - p <= more) return false;
        for (int i = 1; i <= more; i++)
            if ((p[i] & 0xc0) != 0x80) return false;
        p += more + 1;
    }
    return true;
}

static void put_base64(hr__text *to, hr_view v)
{
    static const char letter[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *p = (const unsigned char *)v.data;
    for (int64_t i = 0; i < v.size; i += 3) {
        int64_t left = v.size - i;
        uint32_t bits = (uint32_t)p[i] << 16 | (left > 1 ? (uint32_t)p[i + 1] << 8 : 0) | (left > 2 ? p[i + 2] : 0);
        for (int k = 0; k < 4; k++) hr__text_byte(to, k <= left ? letter[bits >> (18 - 6 * k) & 63] : '=');
    }
}

static void put_value(hr__text *to, const hr_tensor *t, int64_t i)
{
    if (t->dtype == HR_INT64) {
        hr__text_printf(to, "%" PRId64, ((const int64_t *)t->data)[i]);
    } else if (t->dtype == HR_FLOAT) {
        float f = ((const float *)t->data)[i];
        char text[64];
        if (f - f != 0) /* JSON has no word for these */
            hr__text_printf(to, "\"%s\"", f != f ? "NaN" : f > 0 ? "Infinity" : "-Infinity");
        else
            hr__text_bytes(to, text, hr__format_float(f, text));
    } else {
        hr_view v = ((const hr_view *)t->data)[i];
        if (is_utf8(v)) {
            hr__text_json(to, v.data, (size_t)v.size);
        } else {
            hr__text_add(to, "{\"bytes\":\"");
            put_base64(to, v);
            hr__text_add(to, "\"}");
        }
    }
}

/* A lone value stands by itself, several in brackets. */
static void put_record(hr__text *to, const hr__walked_feature *feature, int count)
{
    hr__text_byte(to, '{');
    for (int i = 0; i < count; i++) {
        const hr_tensor *t = &feature[i].values;
        bool list = t->count != 1;
        hr__text_add(to, i ? ", " : "");
        hr__text_json(to, feature[i].key.data, (size_t)feature[i].key.size);
        hr__text_add(to, list ? ": [" : ": ");
        for (int64_t k = 0; k < t->count; k++) {
            hr__text_add(to, k ? ", " : "");
            put_value(to, t, k);
        }
        hr__text_add(to, list ? "]" : "");
    }
    hr__text_add(to, "}\n");
}

static hr_status print_records(const char *path, int64_t *left, hr__example_walk *walk, hr__text *line, hr_error *err)
{
    hr_record_reader *reader;
    hr_view record;
    hr_status st = HR_OK;
    HR_TRY(hr_record_reader_open(path, NULL, &reader, err));
    while (*left > 0 && (st = hr_record_read(reader, &record, err)) == HR_OK) {
        const hr__walked_feature *feature;
        int count;
        st = hr__example_walk_record(walk, record, &feature, &count, err);
        if (st != HR_OK) {
            hr_error_prefix(err, "%s:%" PRId64 ": ", path, hr_record_offset(reader));
            break;
        }
        hr__text_clear(line);
        put_record(line, feature, count);
        st = hr__text_status(line, "a line", err);
        if (st != HR_OK) break;
        if (fwrite(line->data, 1, line->size, stdout) != line->size) {
            st = output_error(err);
            break;
        }
        --*left;
    }
    hr_record_reader_free(reader);
    return st == HR_END ? HR_OK : st;
}

static int run(command_call *call)
{
    hr_error err = {0};
    hr_status st = HR_OK;
    hr__text line = {0};
    int64_t left = flag_number(call, "lines", 10);
    hr__example_walk *walk = hr__example_walk_new();
    if (!walk) st = hr_no_memory(&err, "reading records");
    for (int i = 0; i < call_arguments(call) && st == HR_OK && left > 0; i++) {
        hr_file_list files = {0};
        st = match_argument(call_argument(call, i), &files, &err);
        for (int64_t f = 0; f < files.count && st == HR_OK && left > 0; f++)
            st = print_records(files.path[f], &left, walk, &line, &err);
        hr_file_list_clear(&files);
    }
    hr__text_free(&line);
    hr__example_walk_free(walk);
    return st == HR_OK ? WORKED : failed(call, &err);
}

static const flag flags[] = {
    {FLAG_NUMBER, "lines", 'n', "N", "so many records; default 10"},
    {0},
};

const command command_head = {
    .name = "head",
    .arguments = "FILE...",
    .summary = "shows the first records of TFRecord files as JSON lines",
    .text =
        "Shows the first records as lines of JSON: a tf.Example's features and their values. Bytes that are no UTF-8\n"
        "are shown as {\"bytes\": base64}. A FILE may be a pattern in quotes; - is standard input.",
    .examples = "  headrace head -n 3 data/train-00000-of-00008.tfrecord\n"
                "  headrace head -n 100 'data/train-*' | jq .tailnum\n",
    .flags = flags,
    .least_arguments = 1,
    .most_arguments = -1,
    .run = run,
};
