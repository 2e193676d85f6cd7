/* A format that convert reads and writes: one file of this folder that ends in a descriptor, and a line in formats.def.
 * Between any two of them travel serialized tf.Examples, in pieces. Not a public header. */
#ifndef HR_CONVERT_FORMAT_H
#define HR_CONVERT_FORMAT_H

#include "base/number.h"
#include "base/text.h"
#include "io/example/example_walk.h"
#include "io/policy/policy.h"
#include "io/schema/schema.h"
#include <headrace/convert.h>

typedef struct hr__format hr__format;

typedef struct hr__convert_plan {
    const hr_file_list *inputs;
    const char *out;
    const hr_convert_opts *opts;
    const hr__format *from, *to;
    hr__policy *policy; /* NULL: nothing is skipped */
} hr__convert_plan;

/* Bytes that a piece is made of. As many pieces as keep all threads busy, in each of three stages, then lie in the
 * caches nearest to them until they are written: at 64 KiB convert takes a third less time than at 256. */
enum { HR__CONVERT_PIECE = 64 * 1024 };

/* A framed record, and the next one of its shard in the same piece. */
typedef struct hr__convert_record {
    size_t at, size;
    size_t text, text_size; /* what the other format has for it, if it is not the frame */
    int64_t row;            /* of the piece, from 0 */
    bool test;
    int32_t next; /* -1: none */
} hr__convert_record;

/* Some rows of one file on their way: read in order, encoded on any thread, written in order. Its memory is used again
 * and again. */
typedef struct hr__convert_piece {
    void *source;  /* what it was read from */
    void *own;     /* what the source's format keeps in a piece */
    void **memory; /* what it keeps for the thread that encodes, from piece to piece; NULL at first */
    int64_t first, rows, blank;
    char *out; /* framed records */
    size_t out_capacity, out_used;
    void *writer; /* of the other format, and what it made of them */
    hr__text text;
    hr__convert_record *record;
    size_t record_space;
    int64_t records, dropped, rejected;
    int64_t *missing;            /* a field of the schema */
    hr__rounded *rounded;        /* the same; NULL: they are not counted */
    int32_t *head, *tail;        /* of each number modulo the lanes of a split: its records here */
    int64_t dealt[2], before[2]; /* of each split: records here; in the pieces before */
    int64_t bytes;               /* of the records */
    hr_status status;
    hr_error err; /* also of the row that was rejected last */
} hr__convert_piece;

struct hr__format {
    const char *name;
    hr_file_format id;      /* what a survey calls it */
    const char *extensions; /* ".csv .tsv"; shards end in the first one */
    bool is_text;           /* so a compression shows in the names of its shards */

    /* Reading: a source is one file. */
    hr_status (*open)(const hr__convert_plan *plan, const char *path, void **source, hr_error *err);
    /* The next rows, in the order of the file, one thread at a time: sets first, rows, blank. HR_END: there are
     * none. */
    hr_status (*read)(void *source, hr__convert_piece *piece, hr_error *err);
    /* Makes framed records of them, counts, sets status: on any thread. */
    void (*encode)(const hr__convert_plan *plan, hr__convert_piece *piece);
    int64_t (*place)(const void *source);   /* bytes read of the file as it lies on the disk */
    int64_t (*bytes)(const void *source);   /* the same, inflated: frames and all that is no row count, too */
    int64_t (*damaged)(const void *source); /* records that were skipped below; NULL: there are none such */
    void (*close)(void *source);
    void (*piece_free)(void *own);
    void (*memory_free)(void *memory); /* NULL: it has none */
    /* Adds how many rows the file has to *count; looks no further into them than that takes. */
    hr_status (*count)(const char *path, const hr_convert_opts *how, int64_t *count, hr_error *err);

    /* Writing: one writer a piece. `head` is what each file begins with, and lives as long as the writer. */
    hr_status (*writer_new)(const hr__convert_plan *plan, void **writer, hr_view *head, hr_error *err);
    /* Appends what a file has for a tf.Example; after a failure part of it may be there. NULL: its frame. */
    hr_status (*write)(void *writer, hr_view example, hr__text *to, hr_error *err);
    void (*writer_free)(void *writer);
};

const hr__format *hr__format_named(const char *name); /* NULL: there is none */
const hr__format *hr__format_with(hr_file_format id); /* HR_FORMAT_BY_NAME: TFRecords */
/* By the extension of a file's name, which may be followed by a compression's; NULL: it is none of a format. */
const hr__format *hr__format_of(const char *path);
/* Refuses the name of an output that is no folder and has an extension of no format: people.tfrecrd, people.parquet. An
 * "extension" that begins with a digit, as in v1.0, is none. */
hr_status hr__format_check_name(const char *out, hr_error *err);
/* "-", a device, and a name that ends in a format's extension mean one file, not a folder. */
bool hr__convert_is_file(const char *out);
/* The one that was asked for, or by the name: TFRecords, if that is none of a format. */
hr_file_format hr__file_format(const char *path, hr_file_format asked);

/* ---- pieces ---- */

/* Room for so many bytes and records more; what is there stays. */
hr_status hr__piece_reserve(hr__convert_piece *piece, size_t bytes, size_t records, hr_error *err);
/* Where the next record's data go; room was reserved, for them and HR__RECORD_FRAME. */
char *hr__piece_data(const hr__convert_piece *piece);
/* Frames so many bytes there, as a row's record. */
void hr__piece_add(hr__convert_piece *piece, int64_t row, size_t size, bool test);
/* The records have become text: the memory of long ones is given back. */
void hr__piece_drop_long(hr__convert_piece *piece);
/* The values of a feature; NULL: there is none of that name. */
const hr__values *hr__convert_values(const hr__walk_contents *contents, const char *name);
/* The same of all fields of a schema, one each. */
void hr__convert_fields(const hr__schema_file *schema, const hr__walk_contents *contents, const hr__values **values);
/* Whether splitmix64(number) says that a row goes to the test files. */
bool hr__convert_is_test(const hr_convert_opts *opts, int64_t number);
/* "FILE: record N: expected a value of 'row', by which rows are split, got none", as piece->err. */
hr_status hr__convert_no_split(const hr_convert_opts *opts, const char *path, hr__convert_piece *piece, int64_t row);

#endif
