/* Writing shards: what the writer, its memory between runs, and convert share. Not a public header. */
#ifndef HR_SHARDS_H
#define HR_SHARDS_H

#include <headrace/io.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hr__shard {
    hr_output *out;
    int64_t records, bytes; /* before compression, with their frames */
    int64_t file_size;      /* of one that is full */
    bool named;             /* it has its final name, by this writer */
} hr__shard;

struct hr_shard_writer {
    char *folder, *base, *suffix; /* of the names: "out/", "train-", ".tfrecord" */
    hr_output_opts output;
    int64_t max_bytes; /* 0: the number of shards is fixed */
    bool resume, index, made_folder;
    uint64_t key; /* of what is written; who goes on must have the same */
    hr__shard *shard;
    int64_t count, room; /* shards that are there so far */
    int64_t full;        /* those that are filled and synced, if the number is not fixed */
    bool complete;       /* a run before has filled all: only names are missing */
    int64_t written, resumed;
    char *head; /* what each shard begins with */
    size_t head_size;
};

/* Gives; NULL: no memory. */
char *hr__shard_name(const hr_shard_writer *w, int64_t shard, int64_t count);
char *hr__shard_part_name(const hr_shard_writer *w, int64_t shard); /* full, but without its final name */

/* What was said of full shards, in a hidden file beside them. */
hr_status hr__shard_notes_write(const hr_shard_writer *w, bool complete, hr_error *err);
/* Takes over what is full; nothing if there are no notes. HR_FAILED_PRECONDITION: of another writer. */
hr_status hr__shard_notes_read(hr_shard_writer *w, hr_error *err);
void hr__shard_notes_remove(const hr_shard_writer *w);
/* Room for `count` shards. */
hr_status hr__shards_reserve(hr_shard_writer *w, int64_t count, hr_error *err);

/* Records that have their frames already: to one of hr__shard_lanes() places, each by one thread at a time. */
HR_API hr_status hr__shard_append(hr_shard_writer *w, int lane, const void *frame, size_t size, hr_error *err);
/* Before the first record of a lane: its shards begin with these bytes, which are copied. */
HR_API hr_status hr__shard_begin(hr_shard_writer *w, int lane, hr_view head, hr_error *err);
HR_API int hr__shard_lanes(const hr_shard_writer *w);
/* Commits several writers, all of them or none, and says how many shards there are. Takes them. */
HR_API hr_status hr__shards_commit(hr_shard_writer **writers, int count, int64_t *shards, hr_error *err);

#ifdef __cplusplus
}
#endif
#endif
