/* Any bytes as an event file, and as the event in a sound record: each value that is given can be read as a whole, and
 * the reader ends with END or an error that has a text. */
#include "io/framing.h"
#include <headrace/summary.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile double sink;

static void look_at(const hr_event *e)
{
    if (!e->tag || !e->plugin || !e->display_name || !e->description || !e->file) abort();
    for (int64_t i = 0; i < 3 * e->bucket_count; i++) sink += e->buckets[i];
    for (int64_t i = 0; i < e->bytes.size; i++) sink += e->bytes.data[i];
    for (int64_t i = 0; i < e->text_count; i++)
        if (e->texts[i].size) sink += e->texts[i].data[e->texts[i].size - 1];
    sink += e->scalar + (double)strlen(e->tag);
}

static void read_events(const char *path, hr_on_error on_error)
{
    hr_event_reader *r;
    const hr_event *e;
    hr_error err = {0};
    hr_status st = hr_event_reader_open(path, &(hr_policy){.on_error = on_error}, &r, &err);
    if (st != HR_OK) return;
    int errors = 0;
    while (st == HR_OK || errors < 3) {
        st = hr_event_read(r, &e, &err);
        if (st == HR_END) break;
        if (st == HR_OK)
            look_at(e);
        else if (++errors && !err.text[0])
            abort();
    }
    hr_event_reader_free(r);
}

static void read_bytes(const char *data, size_t size)
{
    char path[64];
    const int fd = memfd_create("events", 0);
    if (fd < 0 || (size && write(fd, data, size) != (ssize_t)size)) abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    read_events(path, HR_FAIL);
    read_events(path, HR_RESYNC);
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    read_bytes((const char *)data, size);
    char *record = malloc(size + HR__RECORD_FRAME);
    if (!record) abort();
    hr__record_header(record, size);
    if (size) memcpy(record + HR__RECORD_HEADER, data, size);
    hr__record_footer(record + HR__RECORD_HEADER + size, record + HR__RECORD_HEADER, size);
    read_bytes(record, size + HR__RECORD_FRAME);
    free(record);
    return 0;
}
