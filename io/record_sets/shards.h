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
    /* How far it is kept: where it was cut last, or all of one that is full. A later run continues after it. */
    int64_t kept, file_size; /* records, bytes of the file */
    int64_t since;           /* bytes since the last cut, before compression */
    int64_t cuts;            /* that the notes do not know of */
    bool done;               /* a run before has written all of it */
    bool named;              /* it has its final name, by this writer */
} hr__shard;

struct hr_shard_writer {
    char *folder, *base, *suffix; /* of the names: "out/", "train-", ".tfrecord" */
    hr_output_opts output;
    int64_t max_bytes; /* 0: the number of shards is fixed */
    int64_t cut_bytes; /* shards of a fixed number are cut, each by itself, after so many bytes; 0: they are not */
    bool single;       /* one shard, whose name is folder and base */
    bool parts;        /* shards have hidden names of their own until all are there, which a later run knows */
    bool resume, index, made_folder;
    char *held_path; /* of the file whose lock is that of the set, as long as it is written */
    int held;        /* it; -1: there is none */
    uint64_t key;    /* of what is written; a run that resumes must have the same */
    hr__shard *shard;
    int64_t count, capacity; /* shards that are there so far */
    int64_t full;            /* those that are filled and synced, if the number is not fixed */
    bool complete;           /* a run before has filled all: only names are missing */
    int64_t finished;        /* shards of a run that has ended, which this one repeats; 0: there are none */
    int64_t written, resumed;
    int64_t before; /* records in shards of a fixed number that are kept of a run before */
    char *head;     /* what each shard begins with */
    size_t head_size;
};

/* Gives; NULL: no memory. */
char *hr__shard_name(const hr_shard_writer *w, int64_t shard, int64_t count);
char *hr__shard_part_name(const hr_shard_writer *w, int64_t shard); /* full, but without its final name */

char *hr__shard_notes_name(const hr_shard_writer *w);
/* Of a set there is one writer at a time. */
hr_status hr__shards_hold(hr_shard_writer *w, hr_error *err);
void hr__shards_let_go(hr_shard_writer *w);
hr_status hr__shards_refuse_others(const hr_shard_writer *w, hr_error *err);
hr_status hr__shards_make_folder(hr_shard_writer *w, hr_error *err);
/* The number of shards with these names, if all of it are there and none of another number; else 0. */
int64_t hr__shards_finished(const hr_shard_writer *w);

/* ---- shards up to a size, where a run that has ended is repeated (shard_again.c) ---- */

/* One that is full must be the shard that has its name, HR_ALREADY_EXISTS otherwise, and makes way for it. */
hr_status hr__shard_same(const hr_shard_writer *w, int64_t shard, hr_error *err);
/* They must be as many. */
hr_status hr__shards_same(const hr_shard_writer *w, hr_error *err);

/* ---- a fixed number of shards that a later run continues with (shard_parts.c) ---- */

/* Opens a shard to append to what is kept of it. */
hr_status hr__shard_open_part(const hr_shard_writer *w, hr__shard *s, int64_t shard, hr_error *err);
/* Called after a record of `size` bytes: cuts the shard there if it is time to. */
hr_status hr__shard_cut(const hr_shard_writer *w, hr__shard *s, size_t size, hr_error *err);
/* All of one shard, or of each, is written: it has its hidden name. */
hr_status hr__shard_finish(hr_shard_writer *w, int64_t shard, hr_error *err);
hr_status hr__shards_finish(hr_shard_writer *w, hr_error *err);

/* What was said of full shards, in a hidden file beside them. */
hr_status hr__shard_notes_write(const hr_shard_writer *w, bool complete, hr_error *err);
/* Takes over what is full; nothing if there are no notes. HR_FAILED_PRECONDITION: of another writer. */
hr_status hr__shard_notes_read(hr_shard_writer *w, hr_error *err);
/* What is left of the notes for lack of memory does no harm: it is removed by the next writer. */
hr_status hr__shard_notes_remove(const hr_shard_writer *w, hr_error *err);
/* Space for `count` shards. */
hr_status hr__shards_reserve(hr_shard_writer *w, int64_t count, hr_error *err);

/* Records that have their frames already: to one of hr__shard_lanes() places, each by one thread at a time. */
hr_status hr__shard_append(hr_shard_writer *w, int lane, const void *frame, size_t size, hr_error *err);
/* Before the first record of a lane: its shards begin with these bytes, which are copied. */
hr_status hr__shard_begin(hr_shard_writer *w, int lane, hr_view head, hr_error *err);
int hr__shard_lanes(const hr_shard_writer *w);
/* Record `n`, as they are dealt over the lanes in turn, is there already. */
bool hr__shards_have(const hr_shard_writer *w, int64_t n);
int64_t hr__shards_kept(const hr_shard_writer *w); /* records that a run before has written */
/* Notes how far shards are kept, if that is much more than is noted; while no thread writes. */
hr_status hr__shards_note(hr_shard_writer *w, hr_error *err);
/* One file of this name, whatever it is. Takes no .shards, no .max_shard_bytes, no .suffix. */
hr_status hr__shard_file_open(const char *path, const hr_shard_writer_opts *opts, hr_shard_writer **out, hr_error *err);
/* Commits several writers, all of them or none, and says how many shards there are. Takes them. */
hr_status hr__shards_commit(hr_shard_writer **writers, int count, int64_t *shards, hr_error *err);

#ifdef __cplusplus
}
#endif
#endif
