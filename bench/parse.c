/* See parse.h. */
#include "bench/parse.h"
#include <string.h>

enum { COLUMN = BATCH * 16 + 192, SLACK = 64 };

hr_status bench_parser_open(bench_parser *p, hr_error *err)
{
    const hr_parse_spec *spec = bench_spec();
    hr__example_feature feature[SLOTS];
    *p = (bench_parser){.memory = hr_calloc(SLOTS, COLUMN)};
    if (!p->memory) return hr_no_memory(err, "columns");
    for (int i = 0; i < SLOTS; i++) {
        const hr_feature *f = &spec->feature[i];
        feature[i] = (hr__example_feature){.key = {f->key, (int64_t)strlen(f->key)},
                                           .dtype = f->dtype,
                                           .count = 1,
                                           .required = f->default_value == NULL};
        p->column[i].values = p->memory + (size_t)i * COLUMN;
    }
    HR_TRY(hr__example_parser_new(feature, SLOTS, &p->parser, err));
    p->order = hr__example_order_new(p->parser);
    return p->order ? HR_OK : hr_no_memory(err, "an order");
}

void bench_parser_close(bench_parser *p)
{
    hr__example_order_free(p->order);
    hr__example_parser_free(p->parser);
    hr_free(p->memory);
}

hr_status bench_parse(bench_parser *p, const hr_view *records, int64_t count, hr_error *err)
{
    hr__example_rows rows = {.column = p->column};
    for (int64_t r = 0; r < count; r++) {
        if (r + 4 < count)
            for (int64_t at = 0; at < records[r + 4].size; at += 64) __builtin_prefetch(records[r + 4].data + at);
        HR_TRY(hr__example_parse(p->parser, p->order, &rows, r, records[r], err));
    }
    return HR_OK;
}

static hr_status copy_records(hr_record_reader *reader, hr_view *records, int64_t *have, int64_t count, char **bytes,
                              size_t *used, size_t *capacity, hr_error *err)
{
    hr_view record;
    hr_status st = HR_OK;
    while (*have < count && (st = hr_record_read(reader, &record, err)) == HR_OK) {
        size_t size = (size_t)record.size + SLACK;
        if (*used + size > *capacity) {
            char *grown = hr_realloc(*bytes, *capacity = 2 * *capacity + size + (1 << 20));
            if (!grown) return hr_no_memory(err, "records");
            *bytes = grown;
        }
        memset(*bytes + *used + record.size, 0, SLACK);
        memcpy(*bytes + *used, record.data, (size_t)record.size);
        records[(*have)++] = (hr_view){(const char *)*used, record.size}; /* an offset until all are there */
        *used += size;
    }
    return st == HR_END ? HR_OK : st;
}

hr_status bench_records(const char *folder, const char *names, hr_view *records, int64_t count, char **bytes,
                        hr_error *err)
{
    hr_file_list files;
    int64_t have = 0;
    size_t used = 0, capacity = 0;
    *bytes = NULL;
    HR_TRY(bench_files(folder, names, &files, err));
    hr_status st = HR_OK;
    for (int64_t f = 0; f < files.count && have < count && st == HR_OK; f++) {
        hr_record_reader *reader;
        st = hr_record_reader_open(files.path[f], NULL, &reader, err);
        if (st != HR_OK) break;
        st = copy_records(reader, records, &have, count, bytes, &used, &capacity, err);
        hr_record_reader_free(reader);
    }
    hr_file_list_clear(&files);
    for (int64_t i = 0; i < have; i++) records[i].data = *bytes + (size_t)records[i].data;
    if (st == HR_OK && have < count)
        st = hr_fail(err, HR_OUT_OF_RANGE, "bench.records", "%s holds %lld records, %lld are needed", folder,
                     (long long)have, (long long)count);
    return st;
}
