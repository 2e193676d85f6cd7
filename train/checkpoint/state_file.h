/* The `checkpoint` file of a folder: a text message that names the latest checkpoint and all that are kept. A comment
 * in its first line, which other readers pass over, names the checkpoint that is being written or removed. */
#ifndef HR_STATE_FILE_H
#define HR_STATE_FILE_H

#include <headrace/base.h>

typedef struct hr__state {
    char *latest;   /* NULL: not given */
    char *unlisted; /* what the comment names: its files may be there; NULL: nothing */
    char **all;
    double *time; /* of saving, in seconds since 1970: `times` of them, which may be fewer than paths */
    int count, times;
    double preserved; /* of a manager: when the last checkpoint that stays for ever was saved */
    bool has_preserved;
    bool no_memory; /* while it was read */
} hr__state;

/* *there: false where there is no file, or, with a warning, where its text does not parse; *out is empty then. */
hr_status hr__state_read(const char *path, hr__state *out, bool *there, hr_error *err);
/* Replaces the file whole. */
hr_status hr__state_write(const char *path, const hr__state *state, hr_error *err);
void hr__state_clear(hr__state *state);

#endif
