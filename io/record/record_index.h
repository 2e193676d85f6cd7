/* What the parts of the index share, what the record reader asks of it, and the file that a record reader reads. Not a
 * public header. */
#ifndef HR_RECORD_INDEX_H
#define HR_RECORD_INDEX_H

#include <headrace/io.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    HR__INDEX_EVERY = 64 /* records from one sample to the next, unless each is wanted */,
    HR__INDEX_PROBES = 16,
    HR__INDEX_PROBE = 16 /* bytes */
};

/* Where decoding can begin: byte `offset` of the file, where the `made`th byte is the next. */
typedef struct hr__index_place {
    int64_t offset, made;
} hr__index_place;

/* Bytes of the file at headers of records, or of frames: another file hardly has the same ones there. */
typedef struct hr__index_probe {
    int64_t offset;
    unsigned char bytes[HR__INDEX_PROBE];
} hr__index_probe;

struct hr_record_index {
    char *path;
    hr_compression compression;
    int64_t size, changed; /* of the file */
    int64_t records, bytes;
    int64_t every;   /* 1 or HR__INDEX_EVERY */
    int64_t *sample; /* inflated offset of record 0, `every`, 2 * `every`, ... */
    int64_t samples, sample_capacity;
    hr__index_place *place; /* none where the file is plain */
    int64_t places, place_capacity;
    hr__index_probe probe[HR__INDEX_PROBES];
    int probes;
    bool made, failed; /* failed: no memory for a sample or a place */
};

hr_record_index *hr__record_index_new(const char *path); /* NULL: no memory */
void hr__record_index_add_record(hr_record_index *index, int64_t offset, int64_t size);
void hr__record_index_add_place(hr_record_index *index, int64_t offset, int64_t made);
typedef void hr__record_found_fn(void *user, int64_t offset, int64_t size); /* `size` with the frame */
/* Calls `found` for each record, in order; looks at lengths alone. */
hr_status hr__record_scan(hr_input *in, uint64_t limit, hr__record_found_fn *found, void *user, int64_t *records,
                          hr_error *err);
/* Skips `count` records, from where record `number` begins; looks at lengths alone. HR_END: there are fewer. */
hr_status hr__record_pass(hr_input *in, uint64_t limit, int64_t number, int64_t count, hr_error *err);
/* Takes the probes from the file; or compares them: false in *same. */
hr_status hr__record_index_probe(hr_record_index *index, const hr_input *in, hr_error *err);
hr_status hr__record_index_same(const hr_record_index *index, const hr_input *in, bool *same, hr_error *err);
char *hr__record_index_name(const char *path); /* FILE.hridx: gives; NULL: no memory */
/* The bytes of FILE.hridx. HR_DATA_LOSS, HR_FAILED_PRECONDITION: another version. `name` is for messages. */
hr_status hr__record_index_parse(const char *name, const char *bytes, size_t size, hr_record_index *index,
                                 hr_error *err);

/* Brings the input to the record before `first` that is nearest in the index, number *near. */
hr_status hr__record_index_seek(const hr_record_index *index, hr_input *in, int64_t first, int64_t count, int64_t *near,
                                hr_error *err);
/* How many bytes record `record` has with its frame, in an index of each record; where it begins, inflated, in
 * *offset. */
int64_t hr__record_index_frame(const hr_record_index *index, int64_t record, int64_t *offset);
/* A file can be begun in any of its parts, and these are small enough to be decoded for one record each. */
bool hr__record_index_picks(const hr_record_index *index);
/* Reads one record by its number, frame and all, to `frame`, which has space for it, and checks it. Needs an index of
 * each record. Where the file is plain, any number of threads may use `in` at once. */
hr_status hr__record_pick(hr_input *in, const hr_record_index *index, int64_t record, char *frame, hr_error *err);
hr_status hr__record_index_beyond(const char *path, int64_t first, int64_t count, int64_t records, hr_error *err);

hr_input *hr__record_input(const hr_record_reader *reader); /* lends: not to be read from */

#ifdef __cplusplus
}
#endif
#endif
