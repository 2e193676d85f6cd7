/* An event file is a TFRecord file of Event messages. */
#include "tests/train/summary/read_events.h"
#include <dirent.h>
#include <headrace/io.h>
#include <stdio.h>
#include <string.h>

hr_status read_events(const char *path, event_list *list, hr_error *err)
{
    hr_record_reader *reader;
    hr_view record;
    list->count = 0;
    hr_status st = hr_record_reader_open(path, NULL, &reader, err);
    if (st != HR_OK) return st;
    while ((st = hr_record_read(reader, &record, err)) == HR_OK && list->count < MAX_EVENTS) {
        event *e = headrace__proto__event__unpack(NULL, (size_t)record.size, (const uint8_t *)record.data);
        if (!e) {
            st = hr_fail(err, HR_DATA_LOSS, "test.event", "%s: a record is no event", path);
            break;
        }
        list->event[list->count++] = e;
    }
    hr_record_reader_free(reader);
    return st == HR_END ? HR_OK : st;
}

void free_events(event_list *list)
{
    for (int i = 0; i < list->count; i++) headrace__proto__event__free_unpacked(list->event[i], NULL);
    list->count = 0;
}

const char *event_file_in(const char *folder, char *path, size_t size)
{
    int found = 0;
    DIR *d = opendir(folder);
    for (struct dirent *f; d && (f = readdir(d));)
        if (strstr(f->d_name, "tfevents")) {
            snprintf(path, size, "%s/%s", folder, f->d_name);
            found++;
        }
    if (d) closedir(d);
    return found == 1 ? path : NULL;
}
