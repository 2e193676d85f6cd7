/* System calls that misbehave on demand, for tests of reading and writing. */
#ifndef FAULTS_H
#define FAULTS_H

#include "io/sys.h"

typedef struct faults {
    size_t max;             /* bytes a read or write moves at most; 0: no limit */
    bool interrupted;       /* every other call fails with EINTR */
    int call;               /* this call fails, counted from 0; -1: none */
    int number;             /* with this errno */
    int64_t bad_from;       /* no byte of a file from here on can be read (EIO); 0: all can */
    int64_t flip_at;        /* the byte here is wrong */
    int flip_first, flips;  /* in so many of the reads that have it, from number flip_first on */
    _Atomic int flip_reads; /* such reads so far */
    _Atomic int calls;      /* made so far, those that EINTR ended not counted */
    bool exits;             /* it ends the process instead: as if it were killed there */
} faults;

/* All files are read and written so from now on; NULL: as usual. */
void use_faults(faults *f);

#endif
