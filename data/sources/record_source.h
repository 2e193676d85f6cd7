/* Records out of TFRecord files, one file at a time: the file that is open, where the next record is, and what damage
 * does. A piece of the file is read and cut into whole records; a second look is taken at what seems to be damaged;
 * what is, is skipped if the policy says so. Which files, in which order, is for the operator to say. In plan, but
 * for the last function. */
#ifndef HR_RECORD_SOURCE_H
#define HR_RECORD_SOURCE_H

#include "io/policy/policy.h"
#include <headrace/op.h>

/* How records are read. The operator owns all of it; `in_vain` is shared by all threads. */
typedef struct record_source_spec {
    hr_compression compression;
    hr_checks checks;
    uint64_t max_record_bytes;
    int64_t count;      /* records to be read, those included that are skipped; INT64_MAX: all there are */
    hr__policy *policy; /* NULL: damage is an error */
    /* Records of compressed files that were read again in vain, which takes reading such a file from its front: it is
     * not done once more. */
    _Atomic int64_t *in_vain;
} record_source_spec;

/* Part of an operator's state: zeroed, its first numbers may be saved and put back. It owns `in`, borrows `path`. */
typedef struct record_source {
    int64_t record, offset; /* saved: where the next record is; */
    int64_t seen, errors;   /* records so far, and how many of them were skipped; */
    int64_t begun;          /* the operator's: the first record was found */
    hr_input *in;           /* the current file; NULL: to be opened */
    const char *path;       /* its name */
    int32_t number;         /* its number, for the rows' origin */
    int64_t average;        /* bytes a record, lately */
    int64_t suspect;        /* where a record seemed to be damaged, plus 1; 0: nowhere */
    bool again;             /* it was read from the file opened again */
    int64_t end;            /* the operator's: records that begin there or later are not read; 0: all are */
} record_source;
enum { RECORD_SOURCE_SAVED = 5 };

/* Opens a file where the next record is. `path` is borrowed until it is closed; `wake` is that of hr_input_opts. */
hr_status hr__record_source_open(record_source *s, const record_source_spec *how, const char *path, int32_t number,
                                 const int *wake, hr_error *err);
void hr__record_source_close(record_source *s); /* the file, if one is open; where it stands remains */

/* Records that are still to be read. */
static inline int64_t hr__record_source_left(const record_source *s, const record_source_spec *how)
{
    return how->count - s->seen;
}

/* The capacity of a unit: the rows that it still takes, and about as many as a piece of the file can hold. */
int64_t hr__record_source_capacity(const record_source *s, const record_source_spec *how, const hr_plan *p);
/* Adds the next records of the open file to `rows`, which is empty and has `capacity`. Their bytes are the unit's. The
 * checksum of data is checked here only under a policy, otherwise by work. HR_OK without rows: the end of the file, or
 * of the wanted records. When it fails, `rows` has the records before the failure. */
hr_status hr__record_source_read(record_source *s, const record_source_spec *how, hr_plan *p, int64_t capacity,
                                 hr_columns *rows, hr_error *err);
/* The same without a second look: what seems damaged fails, and comes after the rows before it. */
hr_status hr__record_source_read_sound(record_source *s, const record_source_spec *how, hr_plan *p, int64_t capacity,
                                       hr_columns *rows, hr_error *err);
/* Goes on from somewhere in a plain file to where a record seems to begin. HR_END: none does nearby. */
hr_status hr__record_source_search(record_source *s, const record_source_spec *how, hr_error *err);
/* Zeros after a compressed stream are no damage, but they are reported, as soon as all bytes are used. */
int64_t hr__record_source_zeros(const record_source *s);

/* How many of the first rows have data that is sound. */
int64_t hr__record_source_sound(const record_source_spec *how, const hr_columns *rows);

/* What work needs to read a record again. Borrows the path. */
typedef struct record_file {
    const char *path;
    bool is_file, plain; /* it can be read again; at any place */
} record_file;
record_file hr__record_source_file(const record_source *s, const char *path);
/* For work, on any thread: reads a record of a unit, whose data is wrong, once more from `offset` of its file. True: it
 * is right now. The bytes are the unit's own, so it is put right where it lies. */
bool hr__record_source_reread(const record_source_spec *how, const record_file *file, hr_view record, int64_t offset,
                              hr_work *w);
/* For work: checks the data of a unit whose first record is number `first`; what is wrong, also once read again, fails. */
void hr__record_source_check(const record_source_spec *how, const record_file *file, int64_t first, hr_work *w,
                             hr_columns *rows);

#endif
