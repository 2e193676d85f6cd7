/* Any bytes as JSON and as a record: what is read is a record whose JSON, in both forms, gives the same bytes again. */
#include <headrace/examples.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static hr_view copy_of(hr_view v)
{
    char *copy = malloc((size_t)v.size + 1);
    if (!copy) abort();
    if (v.size) memcpy(copy, v.data, (size_t)v.size);
    return (hr_view){copy, v.size};
}

/* The record of a text: a copy; no data: it is refused. */
static hr_view read_text(hr_view text)
{
    hr_json_reader *r;
    hr_view record;
    hr_error err;
    if (hr_json_reader_text_with("fuzz", text, NULL, &r, &err) != HR_OK) abort();
    hr_status st = hr_json_read(r, &record, &err);
    record = st == HR_OK ? copy_of(record) : (hr_view){NULL, 0};
    if (st < 0 && !err.text[0]) abort();
    hr_json_reader_free(r);
    return record;
}

/* Writes a record in one of the forms and reads it again. */
static hr_view there_and_back(hr_view record, bool protobuf)
{
    hr_json_writer *w;
    hr_view json, again = {NULL, 0};
    const hr_json_writer_opts opts = {.struct_size = sizeof opts, .protobuf = protobuf};
    if (hr_json_writer_new_with(&opts, &w, NULL) != HR_OK) abort();
    if (hr_example_to_json(w, record, &json, NULL) == HR_OK) {
        again = read_text(json);
        if (!again.data) abort();
    }
    hr_json_writer_free(w);
    return again;
}

static void hold(hr_view record)
{
    hr_view once = there_and_back(record, false);
    for (int protobuf = 0; once.data && protobuf < 2; protobuf++) {
        hr_view twice = there_and_back(once, protobuf);
        if (twice.data && (twice.size != once.size || memcmp(twice.data, once.data, (size_t)once.size) != 0) &&
            !protobuf)
            abort();
        if (!twice.data && !protobuf) abort();
        free((void *)(uintptr_t)twice.data);
    }
    free((void *)(uintptr_t)once.data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const hr_view bytes = {(const char *)data, (int64_t)size};
    hr_view record = read_text(bytes);
    if (record.data) hold(record);
    free((void *)(uintptr_t)record.data);
    hold(bytes);
    return 0;
}
