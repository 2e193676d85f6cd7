/* A quarantine file: a line of JSON for each piece of damage that was skipped. Lines are appended in one write
 * each, so that several writers share a file; what stands in it already is not written again. Not a public header. */
#ifndef HR_QUARANTINE_H
#define HR_QUARANTINE_H

#include "base/hash_map.h"
#include "base/text.h"

/* Begin with {.fd = -1} and a path. One thread at a time. */
typedef struct hr__quarantine {
    char *path; /* borrowed */
    int fd;     /* opened by the first line */
    hr__map seen;
    hr__text line;
} hr__quarantine;

/* Writes `bytes`, which lie at damage->offset. */
hr_status hr__quarantine_add(hr__quarantine *q, const hr_error *damage, hr_view bytes, hr_error *err);
void hr__quarantine_close(hr__quarantine *q);

#endif
