/* Headrace, files: reading and writing in pieces, compression, TFRecord, CSV, tf.Example on the wire, file patterns.
 *
 * Nothing is lost silently: every byte of a file is delivered or reported with file, record, offset. What is written
 * goes to a temporary name, is synced, then renamed: a killed process leaves the old file or the new one, never
 * half. */
#ifndef HR_IO_H
#define HR_IO_H

#include <headrace/base.h>
#include <headrace/columns.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- compression ---- */

/* A codec is one file of io/codecs/, a line of codecs.def. Several gzip members, zlib streams or frames in one file are
 * read to the end. */
typedef enum hr_compression {
    HR_COMPRESSION_AUTO, /* reading: by magic bytes; writing: by the file name (.gz, .zlib, .lz4, .zst), else none */
    HR_NONE,
    HR_GZIP,
    HR_ZLIB,
    /* Frames of 256 KiB, which an index can begin at. Nothing of a damaged one is given: it may decode to what was
     * never written. */
    HR_LZ4,
    HR_ZSTD,                     /* the same; HR_UNIMPLEMENTED where the library was built without libzstd */
    HR_COMPRESSION_OUTSIDE = 64, /* ids of registered codecs begin here: <headrace/codec.h> */
} hr_compression;

/* TensorFlow's compression_type: "" (none), "GZIP", "ZLIB", exactly so; our own "LZ4", "ZSTD". False: no such one. */
HR_API bool hr_compression_named(const char *name, hr_compression *out);
HR_API const char *hr_compression_name(hr_compression compression); /* the same, or "AUTO" */
/* The compressions that there are, for i = 0, 1, ...: HR_NONE first. HR_COMPRESSION_AUTO: there are no more. */
HR_API hr_compression hr_compression_at(int i);

/* ---- reading a file from front to end ---- */

typedef struct hr_input hr_input;

typedef struct hr_input_opts {
    size_t struct_size;
    hr_compression compression;
    size_t buffer_size; /* default 256 KiB */
    const int *wake;    /* a descriptor: something to read there ends a wait for a pipe's next bytes (HR_CANCELLED) */
    /* First bytes that are of no compression do not contradict the one asked for, or the file's name: they are damage,
     * met by the first read. */
    bool may_be_damaged;
} hr_input_opts;

/* Opens `path`; "-" is standard input. Gives *out. HR_NOT_FOUND, HR_PERMISSION_DENIED, HR_INVALID_ARGUMENT for a
 * folder. */
HR_API hr_status hr_input_open_with(const char *path, const hr_input_opts *opts, hr_input **out, hr_error *err);
/* Lends the next bytes without copying, inflated: at least `at_least` of them unless the file ends before; *size says
 * how many, 0 at the end. They stay valid until the next call on `in`; 64 readable bytes follow. A failure means that
 * fewer than `at_least` could be had: *data and *size then lend those before the damage. So ask for 1 to be given all
 * good bytes before the error. */
HR_API hr_status hr_input_peek(hr_input *in, size_t at_least, const char **data, size_t *size, hr_error *err);
HR_API void hr_input_consume(hr_input *in, size_t size); /* at most what was lent */
HR_API int64_t hr_input_offset(const hr_input *in);      /* of the next byte, inflated */
/* Where the decoder stands in the file; -1: it is not compressed. */
HR_API int64_t hr_input_compressed_offset(const hr_input *in);
HR_API const char *hr_input_path(const hr_input *in); /* lends, as long as `in` lives */
/* Zero bytes after a compressed stream, passed over up to here: to be counted and reported. */
HR_API int64_t hr_input_trailing_zeros(const hr_input *in);
/* Goes to an (inflated) offset: forward by reading; back, in a compressed file, by reading it again from its front.
 * HR_OUT_OF_RANGE: the file ends before. HR_FAILED_PRECONDITION: a pipe cannot go back. */
HR_API hr_status hr_input_seek(hr_input *in, int64_t offset, hr_error *err);
HR_API void hr_input_free(hr_input *in); /* NULL: nothing */

/* For a program's main, whose signal handler writes a byte to a pipe: from now on every wait of the library for a pipe
 * or a device also ends once something can be read from the descriptor `fd`. What waited fails with HR_CANCELLED. -1:
 * nothing ends it. For the whole process. */
HR_API void hr_interrupt_by(int fd);

/* ---- writing a file whole or not at all ---- */

typedef struct hr_output hr_output;

typedef struct hr_output_opts {
    size_t struct_size;
    hr_compression compression;
    int level;          /* 1 to 9 as zlib's; default: the codec's, chosen for speed */
    bool no_sync;       /* default: synced before it is renamed */
    size_t buffer_size; /* default 256 KiB */
} hr_output_opts;

/* Begins a file that gets its name `path` when it is committed; "-" is standard output, to which and to pipes and
 * devices bytes go directly. NULL for `opts`: the defaults. Gives *out. Kinds: file.open, file.folder,
 * compression.*. */
HR_API hr_status hr_output_open_with(const char *path, const hr_output_opts *opts, hr_output **out, hr_error *err);
/* A failure sticks: every later call, hr_output_commit too, gives the same. */
HR_API hr_status hr_output_write(hr_output *out, const void *data, size_t size, hr_error *err);
HR_API int64_t hr_output_offset(const hr_output *out); /* bytes written, before compression */
/* Flushes, syncs, renames. Takes `out`, also when it fails; then the old file, if there was one, is as before. */
HR_API hr_status hr_output_commit(hr_output *out, hr_error *err);
HR_API void hr_output_discard(hr_output *out); /* takes `out`; removes the temporary file. NULL: nothing */

/* ---- damage: what becomes of bad records and rows ---- */

/* What a reader does about a damaged record or row. */
typedef enum hr_on_error {
    HR_FAIL,       /* all good ones before it are delivered, then the error comes and is final */
    HR_SKIP,       /* a bad record or row is passed over where the next one is known; where it is not, as HR_FAIL */
    HR_RESYNC,     /* where it is not known, the next sound one is looked for, if not in a damaged compressed stream */
    HR_QUARANTINE, /* as HR_RESYNC, and what is passed over goes to .quarantine_file */
} hr_on_error;

/* Told of damage that is passed over, and where it lies: `bytes` are error->length bytes at error->offset, borrowed for
 * the call. What is longer than 1 MiB comes in several pieces. From any thread, one call at a time for each policy. */
typedef void hr_damage_fn(const hr_error *error, hr_view bytes, void *user);

/* What a source or a parser does with bad data. What is passed over is a function of the data only; how much it was
 * is counted, never hidden.
 *
 * A quarantine file has a line of JSON for each piece: file, record, line, offset, length, column, feature, kind,
 * reason, and the bytes as "text", or as "base64" if they are no UTF-8 (docs/formats.md). Lines are appended, by
 * several sources at once if need be; what stands in it already, from an earlier epoch or before a restore, is not
 * written again.
 *
 * Other structs hold it by value, so it never grows. */
typedef struct hr_policy {
    hr_on_error on_error;
    const char *quarantine_file; /* with HR_QUARANTINE alone, which needs it */
    /* What may be passed over by one dataset (each file of an interleave is one) before that is an error, too,
     * "policy.budget". A share is taken of what was read so far, but of 1,000 at least until the end. */
    int64_t max_errors;     /* default: any number */
    double max_error_share; /* 0.001: one of a thousand; default: any share */
    hr_damage_fn *on_damage;
    void *user; /* of on_damage; outlives the dataset */
} hr_policy;

/* An error as an object of JSON on one line: file, record, line, offset, length, compressed_offset, column, feature and
 * kind, as far as they are known, then reason, the text for people: the form that quarantine files have. Gives *json
 * (hr_free). */
HR_API hr_status hr_error_json(const hr_error *error, char **json, hr_error *err);

/* ---- other file systems ---- */

/* What a file system says of a file. */
typedef struct hr_file_about {
    int64_t size, changed; /* changed: nanoseconds since 1970, or any number that is another when the file is */
    bool is_folder;
} hr_file_about;

/* Where files of a scheme come from: "mem://a/b" goes to the one registered as "mem", with its whole name. Functions
 * are called from any thread, several at a time; they fail by a status, and may fill `err`, which may be NULL. */
typedef struct hr_file_system {
    size_t struct_size;
    const char *scheme;
    void *user; /* for open, about and list */
    hr_status (*open)(const char *path, void *user, void **file, hr_error *err);
    /* Up to `size` bytes at `offset`; *got 0: the file ends there. Several threads may read one file. */
    hr_status (*read)(void *file, int64_t offset, void *to, size_t size, size_t *got, hr_error *err);
    void (*close)(void *file);
    /* HR_NOT_FOUND: no such file. */
    hr_status (*about)(const char *path, void *user, hr_file_about *about, hr_error *err);
    /* Calls `found` with the bare name of all that lies in a folder; HR_NOT_FOUND: there is no such folder. */
    hr_status (*list)(const char *folder, void *user, void (*found)(const char *name, void *to), void *to,
                      hr_error *err);
} hr_file_system;

/* For the whole process, for good; copies. From then on all that reads files or matches patterns reads these, too.
 * They are not written to. HR_ALREADY_EXISTS: the scheme has one. */
HR_API hr_status hr_register_file_system(const hr_file_system *system, hr_error *err);

/* ---- file patterns ---- */

/* Names of files. Begin with {0}; hr_file_list_clear frees the names. */
typedef struct hr_file_list {
    char **path;
    int64_t count;
} hr_file_list;

/* Adds a copy of the name at the end. */
HR_API hr_status hr_file_list_add(hr_file_list *list, const char *path, hr_error *err);

/* The files that match: *, ?, [a-z], [!a], \ before what is meant as it stands, as tf.io.gfile.glob: no braces, a
 * star crosses no slash and matches hidden names, folders match as files do. ? and a set are one byte, in any locale.
 * Unlike there, files of ours that are not finished (.NAME.headrace.tmp, .part, .shards), and indexes beside their files
 * (.hridx, .idx), match only a pattern that ends as they do, "*.hridx".
 * Several patterns are separated by '\n': one list, sorted, with what several match as often. HR_NOT_FOUND if nothing
 * matches. */
HR_API hr_status hr_match_files(const char *pattern, hr_file_list *out, hr_error *err);
/* The same with more than TensorFlow knows, where these characters stand for themselves:
 *     part-{000..127}.csv    numbers, as many digits as given; {a,b}: either; braces may be nested, \ before one that is none
 *     data/ ** /part-*       (without the blanks) in data and in all folders below, files only, links to folders not followed
 *     !*.tmp                 not these: a pattern without a slash is held against the last name, another against the path
 *     @names.txt             the files named in this one, a line each, from its own folder; # begins a comment
 * A name without stars, also one made by braces or in a manifest, must be there: HR_NOT_FOUND. */
HR_API hr_status hr_match_files_extended(const char *pattern, hr_file_list *out, hr_error *err);
HR_API void hr_file_list_clear(hr_file_list *list); /* frees the names, leaves an empty list. NULL: nothing */
/* A number that tells lists apart by their names below the folder that all share, wherever that lies: for saved
 * states. */
HR_API uint64_t hr_file_list_identity(const hr_file_list *list);

/* How far a pass over files has come. */
typedef struct hr_progress {
    int64_t bytes, total; /* of all files, as they lie on the disk: gone over, and in all; -1: not known */
    int64_t records;      /* or rows */
} hr_progress;
/* Told of it now and then, from the thread that called. False: stop; the call then fails with HR_CANCELLED. `now` is
 * borrowed for the call. */
typedef bool hr_progress_fn(const hr_progress *now, void *user);

/* ---- what a name stands for: a file of the machine or of a registered file system ---- */

/* Bytes of a file as it lies on the disk; -1: not known, as of a pipe, or there is no such file. */
HR_API int64_t hr_path_size(const char *path);
HR_API int64_t hr_paths_size(const hr_file_list *files); /* of all together; -1: the size of one is not known */
/* "-", and what is there but is no regular file: a pipe, a device, a folder. */
HR_API bool hr_path_is_special(const char *path);
/* What was read of it is gone: "-", a pipe, a socket, a terminal or its like. */
HR_API bool hr_path_reads_once(const char *path);
/* Ask it before you read files twice: HR_FAILED_PRECONDITION, "file.once", if one of them can be read only once.
 * `instead` is the advice in the message: what saves one of the passes, "give .schema". */
HR_API hr_status hr_need_files_again(const hr_file_list *files, const char *instead, hr_error *err);

/* ---- TFRecord ---- */

/* Writes records one after the other into one file, as hr_output does: whole or not at all. */
typedef struct hr_record_writer hr_record_writer;
HR_API hr_status hr_record_writer_open(const char *path, const hr_output_opts *opts, hr_record_writer **out,
                                       hr_error *err);
HR_API hr_status hr_record_write(hr_record_writer *writer, const void *data, size_t size, hr_error *err);
HR_API hr_status hr_record_writer_commit(hr_record_writer *writer, hr_error *err); /* takes it, as hr_output_commit */
HR_API void hr_record_writer_discard(hr_record_writer *writer);                    /* takes it. NULL: nothing */

/* ---- records in shards: train-00000-of-00004.tfrecord ---- */

typedef struct hr_shard_writer hr_shard_writer;

typedef struct hr_shard_writer_opts {
    size_t struct_size;
    int shards; /* default 1, at most 10000. All are open at once; record i goes to shard i mod .shards */
    /* Instead: shards are filled one after the other, each with as many records as fit into so many bytes (with their
     * frames, before compression), at least one. How many shards there are shows at the end, and so do their names.
     * Where all shards of such a run are there already, the same must come out again, and those that are there stay.
     * Others are HR_ALREADY_EXISTS, "shards.leftover". */
    int64_t max_shard_bytes;
    const char *suffix;         /* default ".tfrecord" */
    hr_compression compression; /* default: by the suffix, else none */
    int level;                  /* as hr_output_opts */
    bool no_sync;
    bool index; /* FILE.hridx beside each shard: see hr_record_index */
    /* Goes on where an earlier writer with .resume stopped, even if it was killed. What it had noted stays: with
     * .max_shard_bytes every shard that was full; of a fixed number each shard up to its last cut (.cut_bytes), but of
     * ZLIB nothing, since TensorFlow reads no second stream. Without notes it begins anew.
     *
     * Ask hr_shard_writer_resumed with which record to go on; of the records from there, those that are in their shards
     * already are passed over. Records of hr_shard_write_to are not noted: write all of them again. */
    bool resume;
    const char *resume_key; /* what the records are made of, in any words: a run that resumes must give the same */
    /* A shard of a fixed number is cut after so many bytes, before compression, again and again: a later run can go
     * on there. What is compressed begins a new gzip member or frame there, whether .resume is set or not. Default 64
     * MiB by the number of shards, at least 4 MiB. */
    int64_t cut_bytes;
} hr_shard_writer_opts;

/* Shards `prefix` + "00000-of-00004" + .suffix, "out/train-" for one; makes the folder if there is none. Until they
 * are committed they have hidden names: whoever is killed leaves whole shards only. HR_ALREADY_EXISTS: shards of this
 * prefix, but of another number, would be read along with these. */
HR_API hr_status hr_shard_writer_open_with(const char *prefix, const hr_shard_writer_opts *opts, hr_shard_writer **out,
                                           hr_error *err);
/* All records before this one, counted from 0, are there already: go on with it. */
HR_API int64_t hr_shard_writer_resumed(const hr_shard_writer *writer);
HR_API hr_status hr_shard_write(hr_shard_writer *writer, const void *data, size_t size, hr_error *err);
/* To the shard that the caller chooses of a fixed number. Several threads may write to different shards at a time. */
HR_API hr_status hr_shard_write_to(hr_shard_writer *writer, int shard, const void *data, size_t size, hr_error *err);
/* Flushes, syncs, renames all. Takes `writer`. On failure none of them is left. */
HR_API hr_status hr_shard_writer_commit(hr_shard_writer *writer, hr_error *err);
/* Takes `writer`; leaves nothing, or what .resume needs. NULL: nothing. */
HR_API void hr_shard_writer_discard(hr_shard_writer *writer);

/* ---- reading records ---- */

/* Which checksums are looked at. */
typedef enum hr_checks {
    HR_CHECKS_ALL,
    HR_CHECKS_HEADER, /* of lengths: damaged data is delivered as if it were good */
    HR_CHECKS_NONE,   /* none: only what cannot be is noticed */
} hr_checks;

typedef struct hr_record_opts {
    size_t struct_size;
    hr_compression compression;
    size_t buffer_size; /* as of hr_input_opts */
    /* A longer record is damage, before memory is asked for it. It is known where it ends, so every policy passes over
     * it, and a quarantine file gets it in pieces. Default 256 MiB. */
    size_t max_record_bytes;
    hr_checks checks;
    hr_policy policy;
} hr_record_opts;

/* Reads records one by one, without a pipeline: for tools, and for event files and other small ones. */
typedef struct hr_record_reader hr_record_reader;
/* Gives *out. NULL for `opts`: the defaults. The first form takes what concerns the file alone; its policy is
 * HR_FAIL. */
HR_API hr_status hr_record_reader_open(const char *path, const hr_input_opts *opts, hr_record_reader **out,
                                       hr_error *err);
HR_API hr_status hr_record_reader_open_with(const char *path, const hr_record_opts *opts, hr_record_reader **out,
                                            hr_error *err);
/* HR_OK: the next record, borrowed until the next call; its checksums were right. HR_END: the file ended after a
 * whole record, or its policy passed over the rest. HR_DATA_LOSS otherwise, with record and offset; the next call gives
 * the same. */
HR_API hr_status hr_record_read(hr_record_reader *reader, hr_view *record, hr_error *err);
/* Passes over `count` records: their lengths are checked and their bytes must be there, but the data is not checked.
 * HR_END: there were fewer. */
HR_API hr_status hr_record_skip(hr_record_reader *reader, int64_t count, hr_error *err);
HR_API int64_t hr_record_offset(const hr_record_reader *reader); /* of the record given last */
/* How the file is compressed, as it was asked for or found: never HR_COMPRESSION_AUTO. */
HR_API hr_compression hr_record_compression(const hr_record_reader *reader);

/* How often something was passed over by its policy, and how many (inflated) bytes it was.
 *
 * What looks like damage is read once more, from a file opened anew, before it is called so. Where it is right then,
 * it is delivered, counted in .misread, and told to the log: not the file is damaged, but the storage or memory is
 * not to be trusted. */
typedef struct hr_damage_count {
    int64_t errors, bytes;
    int64_t misread; /* records that were right only the second time */
    int64_t
        undecoded; /* bytes of the file, as it lies on the disk, that no decoder could make anything of; not in .bytes */
} hr_damage_count;
HR_API hr_damage_count hr_record_damage(const hr_record_reader *reader);
HR_API int64_t hr_record_trailing_zeros(const hr_record_reader *reader); /* as hr_input_trailing_zeros */
HR_API void hr_record_reader_free(hr_record_reader *reader);             /* NULL: nothing */

/* ---- the index of a file: how many records, and where ---- */

/* Made by one pass that looks at lengths alone, and kept beside the file, as FILE.hridx: the number of records, and
 * where each 64th of them begins, or each; in files of several gzip members, zlib streams or LZ4 and ZSTD frames also
 * where those begin, so that nothing in front of them need be decoded. Immutable: threads may share it. */
typedef struct hr_record_index hr_record_index;

typedef struct hr_record_index_opts {
    size_t struct_size;
    hr_compression compression; /* of the files */
    bool anew;                  /* makes it even where FILE.hridx is valid */
    bool keep;                  /* writes FILE.hridx where it was made */
    bool every_record;          /* says where each record begins, by 8 bytes a record, for who goes to any of them */
    size_t max_record_bytes;    /* a longer record is damage; default 256 MiB */
} hr_record_index_opts;

/* FILE.hridx if it is there and valid, else made by a pass over the file. Gives. Damage is an error as
 * hr_record_skip's. */
HR_API hr_status hr_record_index_open_with(const char *path, const hr_record_index_opts *opts, hr_record_index **out,
                                           hr_error *err);
/* The same of many files at a time, by all threads; `out` has space for all. The first failure in their order, and
 * none. */
HR_API hr_status hr_record_index_open_all(const hr_file_list *files, const hr_record_index_opts *opts,
                                          hr_record_index **out, hr_error *err);
/* FILE.hridx. HR_NOT_FOUND: there is none. HR_FAILED_PRECONDITION: the file is another since. HR_DATA_LOSS: damaged. */
HR_API hr_status hr_record_index_read(const char *path, hr_record_index **out, hr_error *err);
/* As FILE.hridx, whole or not at all. */
HR_API hr_status hr_record_index_write(const hr_record_index *index, hr_error *err);
/* The text form of other tools: a line "OFFSET SIZE" a record, with its frame, of a file that is not compressed.
 * Written by a pass over the file; what is read is held against the file's headers as far as the index samples them. */
HR_API hr_status hr_record_index_write_text(const hr_record_index *index, const char *to, hr_error *err);
HR_API hr_status hr_record_index_read_text(const char *path, const char *from, hr_record_index **out, hr_error *err);
HR_API int64_t hr_record_index_count(const hr_record_index *index);
HR_API int64_t hr_record_index_bytes(const hr_record_index *index); /* of records and frames, inflated */
HR_API bool hr_record_index_was_made(const hr_record_index *index); /* by a pass over the file; false: it was read */
HR_API void hr_record_index_free(hr_record_index *index);           /* NULL: nothing */

/* From now on the reader gives records `first` to `first + count - 1`, then HR_END; count -1: all from `first` on. The
 * index is of its file; NULL: records in front are skipped. HR_OUT_OF_RANGE: there are not that many; without an index
 * only `first` is known to be too much, and fewer than `count` records may come before HR_END. */
HR_API hr_status hr_record_reader_range(hr_record_reader *reader, const hr_record_index *index, int64_t first,
                                        int64_t count, hr_error *err);

/* ---- tf.Example: writing ---- */

/* Builds one Example; used again and again. Bytes are deterministic, those of protobuf's deterministic serialisation:
 * features sorted by key, whatever the order they were added in; of equal keys the last one counts. */
typedef struct hr_example hr_example;
HR_API hr_example *hr_example_new(void);          /* gives; NULL: no memory */
HR_API hr_example *hr_sequence_example_new(void); /* a SequenceExample: features are its context. Gives */
HR_API void hr_example_free(hr_example *example); /* NULL: nothing */
HR_API void hr_example_clear(hr_example *example);
/* Adds a feature; values are copied at once. A lack of memory sticks until hr_example_bytes. */
HR_API void hr_example_add_int64(hr_example *example, const char *key, const int64_t *values, int64_t count);
HR_API void hr_example_add_float(hr_example *example, const char *key, const float *values, int64_t count);
HR_API void hr_example_add_bytes(hr_example *example, const char *key, const hr_view *values, int64_t count);
/* The same for any key and kind: int64, float32 or string values; HR_INVALID_DTYPE is a feature without a kind. Another
 * dtype is refused by hr_example_bytes. */
HR_API void hr_example_add(hr_example *example, hr_view key, const hr_tensor *feature);
/* A feature list of a SequenceExample: `count` features, one a step. */
HR_API void hr_example_add_list(hr_example *example, hr_view key, const hr_tensor *steps, int64_t count);
/* Writes the features (the feature lists) as present even if there are none: default: an empty one is left out. */
HR_API void hr_example_set_present(hr_example *example, bool features, bool feature_lists);
/* The serialized message, borrowed until the next call on `example`. */
HR_API hr_status hr_example_bytes(hr_example *example, hr_view *out, hr_error *err);

/* ---- CSV ---- */

/* What an int64 column makes of a point in time in the text, ISO 8601: 2024-02-29, 2024-02-29T23:59:59.5+01:00 (a
 * blank may stand for the T, seconds and what follows them may lack; without a zone it is UTC). It counts from the
 * beginning of 1970, UTC. A day that is none, a leap second, and what the unit cannot hold (more digits, a year too
 * far) are errors. */
typedef enum hr_csv_time {
    HR_CSV_NUMBER, /* none: a number */
    HR_CSV_DATE,   /* days; the text is a date alone */
    HR_CSV_SECONDS,
    HR_CSV_MILLISECONDS,
    HR_CSV_MICROSECONDS,
    HR_CSV_NANOSECONDS,
} hr_csv_time;

/* One column of a CSV: its name, its type, and how its fields are read. */
typedef struct hr_csv_column {
    const char *name;
    hr_dtype dtype;                 /* int32, int64, uint64, float32, float64, bool, string */
    const hr_tensor *default_value; /* one value, for an empty field; NULL: it is an error, unless .keep_missing */
    hr_csv_time time;               /* of an int64 */
    /* One byte: the field is a list of values with this between them, the component ragged; an empty field is an empty
     * list, and there is no default. */
    const char *separator;
} hr_csv_column;

/* Fields may be quoted, quotes within are doubled, lines end with LF, CRLF or CR. A file begins with a header, by which
 * columns are found. Blank lines (but of files with one column) and a byte order mark are passed over. Files with
 * .escape, .comment or a column with .separator are read by a general path, some times slower than the usual one. */
typedef struct hr_csv_opts {
    size_t struct_size;
    const hr_csv_column *columns; /* the columns that are wanted, in any order */
    int column_count;             /* 0: all columns of the header but .exclude_cols, as strings */
    bool no_header;               /* .columns then are those of the file, in its order; see .names */
    const char *delimiter;        /* one byte, default "," */
    bool no_quotes;               /* quotes are ordinary bytes */
    const char *na_value;         /* counts as missing, beside the empty field */
    bool keep_missing;            /* rows have `present` bits instead of errors and defaults */
    hr_compression compression;
    bool tf_compat;
    /* Places of the columns in the file, from 0, one each, instead of names in the header: what a row has after
     * the last of them is passed over. Or those of the columns that are not wanted: any other must be a column. */
    const int *select_cols, *exclude_cols;
    int select_count, exclude_count;
    const char *quote;            /* one byte, default "\"" */
    const char *escape;           /* one byte: the byte after it, in quotes or not, means itself; default: none */
    const char *comment;          /* lines that begin so are passed over, and counted; default: none */
    int64_t skip_lines;           /* lines in front of the header, or of the first row where there is none */
    int64_t skip_rows;            /* rows after the header; not to be used without one */
    bool keep_blank_lines;        /* a blank line is a row of one empty field */
    const char *const *na_values; /* count as missing, too */
    int na_value_count;
    bool quoted_never_missing;  /* "" is an empty string, or a list of one, "NA" is NA; default: missing all the same */
    bool strings_never_missing; /* an empty field of a string column is the empty string, NA is NA */
    /* Of bool columns; default: true and 1, in any case. Given: these, exactly, but for white space around them. */
    const char *const *true_values;
    const char *const *false_values; /* default: false and 0 */
    int true_value_count, false_value_count;
    bool check_utf8; /* a string that is no UTF-8 is an error that names the place of the byte; default: any bytes */
    bool fill_short_rows; /* fields that a row lacks are missing; default: too few are an error */
    /* Fields beyond the header's are passed over; default: too many are an error. Short and long rows are counted. */
    bool cut_long_rows;
    const char *label; /* of a dataset: the column that is a trainer's label */
    /* hr_csv only: of rows that are wrong, which are left out; HR_RESYNC is as HR_SKIP. A quarantine file holds their
     * text, line, column and reason. A budget ends the pipeline as soon as all threads together have seen more. */
    hr_policy policy;
    const char *separator; /* one byte: of all columns that have neither one of their own nor a default */
    /* Names of the columns of a file without a header, in its order: .columns are found by them. An empty list, or
     * .no_header without .columns: they are called column_0, column_1, ..., as is a column whose header is empty. */
    const char *const *names;
    int name_count;
    /* Other names for columns, "OLD=NEW" (the last = divides), and columns that are as if the file did not have them.
     * Both go by the names before; "#3" is the column at place 3, counted from 0, where none is called so. .columns are
     * found by the new names. Kinds: csv.rename, csv.column (no such column, or two that are called alike). */
    const char *const *rename, *const *drop;
    int rename_count, drop_count;
    /* A longer row is an error, which no policy passes over, before memory is asked for it: with its line ends, and with
     * those in quotes. Default 256 MiB. */
    size_t max_row_bytes;
} hr_csv_opts;

/* The delimiter that a file's name stands for: "\t" of .tsv. NULL: it says nothing, so hr_csv's default holds. */
HR_API const char *hr_csv_delimiter_of(const char *path);

/* Parses records that are split already (TensorFlow's decode_csv): `out` has one tensor a column, shaped like
 * `records`. .columns say what they are; .select_cols which; there is no header. Gives the tensors: hr_tensor_clear
 * each. */
HR_API hr_status hr_decode_csv_with(const hr_tensor *records, hr_tensor *out, const hr_csv_opts *opts, hr_error *err);

/* Writes CSV that hr_csv reads back as the same rows. Quotes stand only where they are needed: around a text with a
 * delimiter, a quote or a line end in it, around the empty string and what looks like a missing value: by
 * .quoted_never_missing they read back as they were. Floats are written as the shortest text that reads back as the
 * same bits, with a point or an exponent (1.0, 16777217e0), but a NaN as nan; bools as true and false. */
typedef struct hr_csv_writer hr_csv_writer;
typedef struct hr_csv_writer_opts {
    size_t struct_size;
    bool no_header;
    const char *delimiter;        /* one byte, default "," */
    const char *separator;        /* one byte, between the values of a cell; default: more than one value is an error */
    const char *na_value;         /* stands for a missing value; default: an empty field */
    bool refuse_missing;          /* a missing value is an error */
    bool quote_strings;           /* all of them */
    bool crlf;                    /* default: lines end with LF */
    const hr_output_opts *output; /* of the file; NULL: the defaults */
} hr_csv_writer_opts;

/* Gives *out. Copies the names of the columns, which are the header. NULL for `opts`: the defaults. */
HR_API hr_status hr_csv_writer_open_with(const char *path, const char *const *names, int columns,
                                         const hr_csv_writer_opts *opts, hr_csv_writer **out, hr_error *err);
/* Adds rows: one tensor a column, of int32, int64, uint64, float32, float64, bool or string. A dense one is a row (a
 * scalar) or has its rows as first dimension; of a ragged or sparse one of two dimensions, a row without values is
 * missing and one with several is a list. Kinds: csv.write, csv.missing, csv.separator (a list that would read back
 * as another). */
HR_API hr_status hr_csv_write(hr_csv_writer *writer, const hr_tensor *columns, hr_error *err);
HR_API int64_t hr_csv_writer_rows(const hr_csv_writer *writer);              /* written so far, without the header */
HR_API hr_status hr_csv_writer_commit(hr_csv_writer *writer, hr_error *err); /* takes it; as hr_output_commit */
HR_API void hr_csv_writer_discard(hr_csv_writer *writer);                    /* takes it. NULL: nothing */

#ifdef __cplusplus
}
#endif
#endif
