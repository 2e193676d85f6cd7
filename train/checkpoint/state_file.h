/* The `checkpoint` file of a folder: a text message that names the latest checkpoint and all that are kept. */
#ifndef HR_STATE_FILE_H
#define HR_STATE_FILE_H

#include <headrace/base.h>

typedef struct hr__state {
    char *latest; /* NULL: not given */
    char **all;
    double *time; /* one for each of `all`, if there are as many; otherwise NULL */
    int count, times;
    bool no_memory; /* while it was read */
} hr__state;

/* HR_NOT_FOUND: no file. HR_DATA_LOSS: the text does not parse. */
hr_status hr__state_read(const char *path, hr__state *out, hr_error *err);
/* Replaces the file whole. */
hr_status hr__state_write(const char *path, const hr__state *state, hr_error *err);
void hr__state_clear(hr__state *state);

#endif
