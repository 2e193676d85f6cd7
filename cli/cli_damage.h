/* What verify and repair share: damage, reported as it is found. */
#ifndef DAMAGE_H
#define DAMAGE_H

#include "cli/command.h"

/* Begin with {.json = ...}. The pieces of one damage are put together, so the last one waits for damage_end. */
typedef struct damage {
    bool json; /* a line of JSON for each, else of text */
    FILE *to;  /* where the text goes; NULL: standard output */
    int64_t errors, bytes;
    bool waits;
    hr_error last;
} damage;

void damage_tell(const hr_error *error, hr_view bytes, void *user); /* an hr_damage_fn; user: a damage */
void damage_end(damage *d);                                         /* of a file */
/* Of hr_damage_count.undecoded, in the middle of a line; nothing if it is 0. */
void print_undecoded(FILE *to, int64_t undecoded);
/* Says on standard error that a damaged file has no intact record, and that flag `compression` may help. */
void damage_of_all(const char *path, const char *compression);

#endif
