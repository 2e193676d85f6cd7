/* Event files read back, record by record, for tests. */
#ifndef READ_EVENTS_H
#define READ_EVENTS_H

#include "proto/event.pb-c.h"
#include <headrace/base.h>

typedef Headrace__Proto__Event event;
typedef Headrace__Proto__Summary__Value summary_value;

enum { MAX_EVENTS = 512 };
typedef struct event_list {
    event *event[MAX_EVENTS];
    int count;
} event_list;

/* HR_OK: the file ended after a whole record. Otherwise the list holds what came before the damage. */
hr_status read_events(const char *path, event_list *list, hr_error *err);
void free_events(event_list *list);

/* The only event file of a folder; fails the test if there is none or another. */
const char *event_file_in(const char *folder, char *path, size_t size);

#endif
