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

/* A file with several gzip members, zlib streams or frames is read to its end. */
typedef enum hr_compression {
    HR_COMPRESSION_AUTO, /* reading: by magic bytes; writing: by the file name (.gz, .zlib, .lz4, .zst), else none */
    HR_NONE,
    HR_GZIP,
    HR_ZLIB,
    /* Frames of 256 KiB, at which an index can start reading. A damaged frame gives no bytes, since it may decode to
     * bytes that were never written. */
    HR_LZ4,
    HR_ZSTD,                     /* the same; HR_UNIMPLEMENTED if the library was built without libzstd */
    HR_COMPRESSION_OUTSIDE = 64, /* ids of registered codecs begin here: <headrace/codec.h> */
} hr_compression;

/* A compression by its name: TensorFlow's compression_type "" (none), "GZIP", "ZLIB", or "LZ4", "ZSTD". Case
 * matters. False: there is none of that name. */
HR_API bool hr_compression_named(const char *name, hr_compression *out);
HR_API const char *hr_compression_name(hr_compression compression); /* the same, or "AUTO" */
/* All compressions, for i = 0, 1, ...: HR_NONE first, HR_COMPRESSION_AUTO after the last. */
HR_API hr_compression hr_compression_at(int i);

/* ---- reading a file from front to end ---- */

typedef struct hr_input hr_input;

typedef struct hr_input_opts {
    size_t struct_size;
    hr_compression compression;
    size_t buffer_size; /* default 256 KiB */
    const int
        *wake; /* a file descriptor: when it can be read from, a wait for a pipe's next bytes ends (HR_CANCELLED) */
    /* First bytes of no known compression are no error when the file is opened: they are damage, which the first
     * read reports. */
    bool may_be_damaged;
} hr_input_opts;

/* Opens `path`; "-" is standard input. Gives *out. HR_NOT_FOUND, HR_PERMISSION_DENIED, HR_INVALID_ARGUMENT for a
 * folder. */
HR_API hr_status hr_input_open_with(const char *path, const hr_input_opts *opts, hr_input **out, hr_error *err);
/* Lends the next decompressed bytes without copying: at least `at_least` of them unless the file ends before. *size
 * is their number, 0 at the end. They stay valid until the next call on `in`; 64 readable bytes follow. It fails if
 * damage comes before `at_least` bytes: *data and *size then lend the bytes before the damage. So ask for 1 to get
 * all good bytes before the error. */
HR_API hr_status hr_input_peek(hr_input *in, size_t at_least, const char **data, size_t *size, hr_error *err);
HR_API void hr_input_consume(hr_input *in, size_t size); /* at most what was lent */
HR_API int64_t hr_input_offset(const hr_input *in);      /* of the next byte, decompressed */
/* The position of the decoder in the file; -1: it is not compressed. */
HR_API int64_t hr_input_compressed_offset(const hr_input *in);
HR_API const char *hr_input_path(const hr_input *in); /* lends, as long as `in` lives */
/* The number of zero bytes after compressed streams that were skipped so far. Report them. */
HR_API int64_t hr_input_trailing_zeros(const hr_input *in);
/* Goes to an offset of the decompressed bytes: forward by reading; backward, in a compressed file, by reading again
 * from its start. HR_OUT_OF_RANGE: the file ends before. HR_FAILED_PRECONDITION: a pipe cannot go back. */
HR_API hr_status hr_input_seek(hr_input *in, int64_t offset, hr_error *err);
HR_API void hr_input_free(hr_input *in); /* NULL: nothing */

/* For a main function whose signal handler writes a byte to a pipe: from now on, every wait of the library for a
 * pipe or a device ends when the file descriptor `fd` can be read from, and fails with HR_CANCELLED. -1: nothing
 * ends a wait. For the whole process. */
HR_API void hr_interrupt_by(int fd);

/* ---- writing a file whole or not at all ---- */

typedef struct hr_output hr_output;

typedef struct hr_output_opts {
    size_t struct_size;
    hr_compression compression;
    int level;          /* 1 to 9 as zlib's; default: the codec's, chosen for speed */
    bool no_sync;       /* default: it is synced before it is renamed */
    size_t buffer_size; /* default 256 KiB */
} hr_output_opts;

/* Creates a file that gets the name `path` when it is committed. "-" is standard output; bytes go directly to it,
 * and to pipes and devices. NULL for `opts`: the defaults. Gives *out. Kinds: file.open, file.folder, compression.*. */
HR_API hr_status hr_output_open_with(const char *path, const hr_output_opts *opts, hr_output **out, hr_error *err);
/* Makes the folders above a file, as far as they are not there: HR_OK also if it has none. "file.open". */
HR_API hr_status hr_make_folders_above(const char *path, hr_error *err);
/* A failure sticks: every later call, even hr_output_commit, returns the same error. */
HR_API hr_status hr_output_write(hr_output *out, const void *data, size_t size, hr_error *err);
HR_API int64_t hr_output_offset(const hr_output *out); /* bytes written, before compression */
/* Flushes, syncs, renames. Takes `out`, even when it fails; an old file then stays as it was. */
HR_API hr_status hr_output_commit(hr_output *out, hr_error *err);
HR_API void hr_output_discard(hr_output *out); /* takes `out`; removes the temporary file. NULL: nothing */

/* ---- traces: what threads did, as spans of time, for chrome://tracing or ui.perfetto.dev ---- */

typedef struct hr_trace hr_trace;
/* Gives a trace without spans; NULL: no memory. Iterators (.spans) and profiles of runs (.trace) add theirs, all by one
 * clock, at most 2^20 in all: further ones are counted in the file's "events_dropped". They borrow it until they are
 * freed. */
HR_API hr_trace *hr_trace_new(void);
/* Writes the file in Chrome's trace format: a lane for each thread, the caller's first. What there is so far, from any
 * thread. */
HR_API hr_status hr_trace_write(hr_trace *t, const char *path, hr_error *err);
HR_API void hr_trace_free(hr_trace *t); /* NULL: nothing */

/* ---- damage: what becomes of bad records and rows ---- */

/* What a reader does about a damaged record or row. */
typedef enum hr_on_error {
    HR_FAIL, /* all records before it are delivered, then the error, which is final */
    HR_SKIP, /* a damaged record or row is skipped if the start of the next one is known; otherwise as HR_FAIL */
    /* As HR_SKIP; if the next start is unknown, searches for the next intact record, except in a damaged compressed
     * stream. */
    HR_RESYNC,
    HR_QUARANTINE, /* as HR_RESYNC, and writes what is skipped to .quarantine_file */
} hr_on_error;

/* Called for damage that is skipped: `bytes` are error->length bytes at error->offset, borrowed for the call. Damage
 * longer than 1 MiB comes in several pieces. From any thread, one call at a time for each policy. */
typedef void hr_damage_fn(const hr_error *error, hr_view bytes, void *user);

/* What a source or a parser does with bad data. What is skipped is a function of the data only; how much it was
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
    /* The error budget of one dataset: when more is skipped, that is an error, "policy.budget". Each file opened by
     * interleave is a dataset with its own budget. A share is of what was read so far, but before the end of at
     * least 1,000 records or rows. */
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

/* A file system's answer about a file. */
typedef struct hr_file_about {
    int64_t size, changed; /* changed: nanoseconds since 1970, or any number that changes with the file */
    bool is_folder;
} hr_file_about;

/* Gives access to the files of a scheme: "mem://a/b" is opened by the file system that is registered as "mem", by
 * its whole name. Functions are called from any thread, several at a time. They fail by a status, and may fill
 * `err`, which may be NULL. */
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
    /* Calls `found` with the bare name of each file and folder in a folder. HR_NOT_FOUND: there is no such folder. */
    hr_status (*list)(const char *folder, void *user, void (*found)(const char *name, void *to), void *to,
                      hr_error *err);
    /* Writing: all of the four, or none, and such files can only be read. A file that create made is not seen until it
     * is committed; one thread writes it. create replaces nothing yet. */
    hr_status (*create)(const char *path, void *user, void **file, hr_error *err);
    hr_status (*write)(void *file, const void *data, size_t size,
                       hr_error *err); /* at the end: all bytes, or it fails */
    /* Takes the file, which now has its name, whole, in place of one that was there; or it fails and nothing changes. */
    hr_status (*commit)(void *file, hr_error *err);
    void (*discard)(void *file); /* takes the file, and removes what was written */
} hr_file_system;

/* Registers it for the whole process, for ever; copies. From then on, all readers and file patterns of the library
 * know these files, and hr_output writes them, and with it what writes one file: hr_record_writer, hr_csv_writer,
 * hr_convert into one file. Folders, shards that resume, indexes and caches are the machine's own. HR_ALREADY_EXISTS:
 * the scheme has a file system. */
HR_API hr_status hr_register_file_system(const hr_file_system *system, hr_error *err);

/* ---- file patterns ---- */

/* Names of files. Begin with {0}; hr_file_list_clear frees the names. */
typedef struct hr_file_list {
    char **path;
    int64_t count;
} hr_file_list;

/* Adds a copy of the name at the end. */
HR_API hr_status hr_file_list_add(hr_file_list *list, const char *path, hr_error *err);

/* The files that match a pattern as tf.io.gfile.glob has it: *, ?, [a-z], [!a], and \ before a character that stands
 * for itself. There are no braces. A star matches no slash, but it matches hidden names; folders match as files do. ?
 * and a set are one byte, in any locale. Unlike in TensorFlow, our unfinished files (.NAME.headrace.tmp, .part,
 * .shards), and indexes beside their files (.hridx, .idx), match only a pattern with the same ending, "*.hridx".
 * Several patterns are separated by '\n' and give one sorted list; a file that several match is in it several times.
 * HR_NOT_FOUND if nothing matches. */
HR_API hr_status hr_match_files(const char *pattern, hr_file_list *out, hr_error *err);
/* hr_match_files with extended patterns. In TensorFlow's patterns these characters stand for themselves:
 *     part-{000..127}.csv    numbers with as many digits as given; {a,b}: a or b; braces may be nested; \ before a
 *                            brace that stands for itself
 *     data/ ** /part-*       (without the blanks) in data and in all folders below; files only; links to folders are
 *                            not followed
 *     !*.tmp                 not these: a pattern without a slash is compared with the last name, another with the path
 *     @names.txt             the files named in this one, one on each line, from its own folder; # begins a comment
 * A name without stars, also one from braces or from a manifest, must exist: HR_NOT_FOUND. */
HR_API hr_status hr_match_files_extended(const char *pattern, hr_file_list *out, hr_error *err);
HR_API void hr_file_list_clear(hr_file_list *list); /* frees the names, leaves an empty list. NULL: nothing */
/* A number that identifies a list, for saved states: it depends on the names below the folder that all files share,
 * not on the folder. */
HR_API uint64_t hr_file_list_identity(const hr_file_list *list);

/* The progress of a pass over files. */
typedef struct hr_progress {
    int64_t bytes, total; /* of all files on the disk: bytes read so far, and in total; -1: unknown */
    int64_t records;      /* or rows */
} hr_progress;
/* Called from time to time, from the thread that made the call. Return false to stop: the call then fails with
 * HR_CANCELLED. `now` is borrowed for this call. */
typedef bool hr_progress_fn(const hr_progress *now, void *user);

/* ---- what a name stands for: a file of the machine or of a registered file system ---- */

/* The size of a file on the disk; -1: unknown, as for a pipe, or there is no such file. */
HR_API int64_t hr_path_size(const char *path);
HR_API int64_t hr_paths_size(const hr_file_list *files); /* of all together; -1: one size is unknown */
/* True for "-", and for an existing file that is not regular: a pipe, a device, a folder. */
HR_API bool hr_path_is_special(const char *path);
/* It can be read only once: "-", a pipe, a socket, a terminal. */
HR_API bool hr_path_reads_once(const char *path);
/* Call it before you read files twice: HR_FAILED_PRECONDITION, "file.once", if one of them can be read only once.
 * `instead` is the advice in the message, such as "give .schema": how to avoid the second pass. */
HR_API hr_status hr_need_files_again(const hr_file_list *files, const char *instead, hr_error *err);

/* ---- TFRecord ---- */

/* Writes records to a file. As with hr_output, the file appears when it is complete. */
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
    /* Continues where an earlier writer with .resume stopped, even if it was killed. With .max_shard_bytes, every
     * full shard is kept. With a fixed number of shards, each is kept up to its last cut (.cut_bytes); but ZLIB
     * shards start again, since TensorFlow reads no second stream. Without notes of an earlier writer, it starts
     * from the beginning. hr_shard_writer_resumed gives the record to continue with; records from there that their
     * shards already have are ignored. Records of hr_shard_write_to are not noted: write all of them again. */
    bool resume;
    const char *resume_key; /* what the records are made of, in any words: a resuming run must give the same */
    /* With a fixed number of shards, each is cut each time it has so many more bytes, before compression: a later
     * run can resume there. At a cut, a compressed shard begins a new gzip member or frame, with or without .resume.
     * Default: 64 MiB divided by the number of shards, but at least 4 MiB. */
    int64_t cut_bytes;
} hr_shard_writer_opts;

/* Shards `prefix` + "00000-of-00004" + .suffix, "out/train-" for one; makes the folder if there is none. Until they
 * are committed they have hidden names: whoever is killed leaves whole shards only. HR_ALREADY_EXISTS: shards of this
 * prefix, but of another number, would be read along with these. */
HR_API hr_status hr_shard_writer_open_with(const char *prefix, const hr_shard_writer_opts *opts, hr_shard_writer **out,
                                           hr_error *err);
/* The number of the record to continue with, from 0: all records before it are written. */
HR_API int64_t hr_shard_writer_resumed(const hr_shard_writer *writer);
HR_API hr_status hr_shard_write(hr_shard_writer *writer, const void *data, size_t size, hr_error *err);
/* Writes to a shard that the caller chooses, with a fixed number of them. Several threads may write to different
 * shards at the same time. */
HR_API hr_status hr_shard_write_to(hr_shard_writer *writer, int shard, const void *data, size_t size, hr_error *err);
/* Flushes, syncs and renames all shards. Takes `writer`. If it fails, none of them is left. */
HR_API hr_status hr_shard_writer_commit(hr_shard_writer *writer, hr_error *err);
/* Takes `writer`; leaves nothing, or what .resume needs. NULL: nothing. */
HR_API void hr_shard_writer_discard(hr_shard_writer *writer);

/* ---- reading records ---- */

/* Which checksums are verified. */
typedef enum hr_checks {
    HR_CHECKS_ALL,
    HR_CHECKS_HEADER, /* of lengths only: damaged data is delivered */
    HR_CHECKS_NONE,   /* none: only impossible lengths are noticed */
} hr_checks;

typedef struct hr_record_opts {
    size_t struct_size;
    hr_compression compression;
    size_t buffer_size; /* as of hr_input_opts */
    /* A longer record counts as damage, and no memory is allocated for it. Its end is known, so every policy can
     * skip it, and a quarantine file gets it in pieces. Default 256 MiB. */
    size_t max_record_bytes;
    hr_checks checks;
    hr_policy policy;
} hr_record_opts;

/* Reads records one by one, without a pipeline: for tools, and for event files and other small ones. */
typedef struct hr_record_reader hr_record_reader;
/* Gives *out. NULL for `opts`: the defaults. The first form has options of the file only; its policy is HR_FAIL. */
HR_API hr_status hr_record_reader_open(const char *path, const hr_input_opts *opts, hr_record_reader **out,
                                       hr_error *err);
HR_API hr_status hr_record_reader_open_with(const char *path, const hr_record_opts *opts, hr_record_reader **out,
                                            hr_error *err);
/* HR_OK: the next record, borrowed until the next call; its checksums were right. HR_END: the file ended after a
 * whole record, or the policy skipped the rest. Otherwise HR_DATA_LOSS, with record and offset; the next call
 * returns the same. */
HR_API hr_status hr_record_read(hr_record_reader *reader, hr_view *record, hr_error *err);
/* Skips `count` records. Their lengths are checked and their bytes must exist, but the checksum of their data is not
 * verified. HR_END: there were fewer. */
HR_API hr_status hr_record_skip(hr_record_reader *reader, int64_t count, hr_error *err);
HR_API int64_t hr_record_offset(const hr_record_reader *reader); /* of the record given last */
/* The compression of the file, as given or found: never HR_COMPRESSION_AUTO. */
HR_API hr_compression hr_record_compression(const hr_record_reader *reader);

/* How often the policy skipped something, and how many decompressed bytes. A record that seems corrupt is re-read,
 * from a newly opened file, before it is reported: the error may come from the read, not from the file. If it is
 * right then, it is delivered, counted in .misread, and logged, since the storage or the memory may be faulty. */
typedef struct hr_damage_count {
    int64_t errors, bytes;
    int64_t misread;   /* records that were right only when re-read */
    int64_t undecoded; /* bytes of the compressed file that could not be decoded; not in .bytes */
} hr_damage_count;
HR_API hr_damage_count hr_record_damage(const hr_record_reader *reader);
HR_API int64_t hr_record_trailing_zeros(const hr_record_reader *reader); /* as hr_input_trailing_zeros */
HR_API void hr_record_reader_free(hr_record_reader *reader);             /* NULL: nothing */

/* ---- the index of a file: how many records, and where ---- */

/* The index of a file: the number of its records, and where each 64th of them begins, or each. For files of several
 * gzip members, zlib streams, LZ4 or ZSTD frames, it also has where those begin, so that decoding can start there.
 * One pass over the records' lengths makes it, and FILE.hridx stores it beside the file. Immutable: threads may
 * share it. */
typedef struct hr_record_index hr_record_index;

typedef struct hr_record_index_opts {
    size_t struct_size;
    hr_compression compression; /* of the files */
    bool anew;                  /* makes it even if FILE.hridx is valid */
    bool keep;                  /* writes FILE.hridx if the index was made */
    bool every_record;          /* has where each record begins, 8 bytes for a record: for random access */
    size_t max_record_bytes;    /* a longer record is damage; default 256 MiB */
} hr_record_index_opts;

/* Reads FILE.hridx if it is valid, otherwise makes the index by a pass over the file. Gives. Damage is an error, as
 * in hr_record_skip. */
HR_API hr_status hr_record_index_open_with(const char *path, const hr_record_index_opts *opts, hr_record_index **out,
                                           hr_error *err);
/* The same for many files, by all threads; `out` has space for all. If one fails, returns the first failure in the
 * order of the files, and gives no index. */
HR_API hr_status hr_record_index_open_all(const hr_file_list *files, const hr_record_index_opts *opts,
                                          hr_record_index **out, hr_error *err);
/* Reads FILE.hridx. HR_NOT_FOUND: there is none. HR_FAILED_PRECONDITION: the file has changed since. HR_DATA_LOSS:
 * it is damaged. */
HR_API hr_status hr_record_index_read(const char *path, hr_record_index **out, hr_error *err);
/* Writes FILE.hridx, which appears when it is complete. */
HR_API hr_status hr_record_index_write(const hr_record_index *index, hr_error *err);
/* The text form of other tools: a line "OFFSET SIZE" a record, with its frame, of a file that is not compressed.
 * Written by a pass over the file; what is read is held against the file's headers as far as the index samples them. */
HR_API hr_status hr_record_index_write_text(const hr_record_index *index, const char *to, hr_error *err);
HR_API hr_status hr_record_index_read_text(const char *path, const char *from, hr_record_index **out, hr_error *err);
HR_API int64_t hr_record_index_count(const hr_record_index *index);
HR_API int64_t hr_record_index_bytes(const hr_record_index *index); /* of records and frames, decompressed */
HR_API bool hr_record_index_was_made(const hr_record_index *index); /* by a pass over the file; false: it was read */
HR_API void hr_record_index_free(hr_record_index *index);           /* NULL: nothing */

/* From now on the reader gives records `first` to `first + count - 1`, then HR_END; count -1: all from `first` on.
 * `index` is that of its file; NULL: earlier records are skipped one by one. HR_OUT_OF_RANGE: there are not that
 * many; without an index only `first` is checked, and fewer than `count` records may come before HR_END. */
HR_API hr_status hr_record_reader_range(hr_record_reader *reader, const hr_record_index *index, int64_t first,
                                        int64_t count, hr_error *err);

/* ---- tf.Example: writing ---- */

/* Builds an Example, and can be reused for the next one. The bytes are those of protobuf's deterministic
 * serialization: features are sorted by key. If a key is added twice, the last one counts. */
typedef struct hr_example hr_example;
HR_API hr_example *hr_example_new(void);          /* gives; NULL: no memory */
HR_API hr_example *hr_sequence_example_new(void); /* a SequenceExample: features are its context. Gives */
HR_API void hr_example_free(hr_example *example); /* NULL: nothing */
HR_API void hr_example_clear(hr_example *example);
/* Adds a feature; copies the values. If memory is exhausted, hr_example_bytes fails. */
HR_API void hr_example_add_int64(hr_example *example, const char *key, const int64_t *values, int64_t count);
HR_API void hr_example_add_float(hr_example *example, const char *key, const float *values, int64_t count);
HR_API void hr_example_add_bytes(hr_example *example, const char *key, const hr_view *values, int64_t count);
/* The same for any key and kind: int64, float32 or string values; HR_INVALID_DTYPE is a feature without a kind. Another
 * dtype is refused by hr_example_bytes. */
HR_API void hr_example_add(hr_example *example, hr_view key, const hr_tensor *feature);
/* Adds a feature list of a SequenceExample: `count` features, one for each step. */
HR_API void hr_example_add_list(hr_example *example, hr_view key, const hr_tensor *steps, int64_t count);
/* Writes the features (the feature lists) even if there are none; default: an empty one is left out. */
HR_API void hr_example_set_present(hr_example *example, bool features, bool feature_lists);
/* The serialized message, borrowed until the next call on `example`. */
HR_API hr_status hr_example_bytes(hr_example *example, hr_view *out, hr_error *err);

/* ---- CSV ---- */

/* How an int64 column reads a date or time in ISO 8601: 2024-02-29, 2024-02-29T23:59:59.5+01:00. A blank may replace
 * the T; seconds and the following parts may be left out; without a zone the time is UTC. The value counts from the
 * start of 1970, UTC. An impossible day, a leap second, and a time that the unit cannot hold (more digits, a year
 * out of range) are errors. */
typedef enum hr_csv_time {
    HR_CSV_NUMBER, /* the field is a number */
    HR_CSV_DATE,   /* days; the text is a date without a time */
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
    /* One byte: the field is a list of values with this byte between them, and the component is ragged. An empty
     * field is an empty list; there is no default. */
    const char *separator;
} hr_csv_column;

/* Fields may be quoted; quotes within are doubled. Lines end with LF, CRLF or CR. A file begins with a header, which
 * names the columns. Blank lines (except in files of one column) and a byte order mark are skipped. Files with
 * .escape, .comment or a column with .separator take a general path, which is several times slower. */
typedef struct hr_csv_opts {
    size_t struct_size;
    const hr_csv_column *columns; /* the columns to read, in any order */
    int column_count;             /* 0: all columns of the header but .exclude_cols, as strings */
    bool no_header;               /* .columns are then all columns of the file, in its order; see .names */
    const char *delimiter;        /* one byte, default "," */
    bool no_quotes;               /* quotes are ordinary bytes */
    const char *na_value;         /* a text that is a missing value, as an empty field is */
    bool keep_missing;            /* rows have `present` bits instead of errors and defaults */
    hr_compression compression;
    bool tf_compat;
    /* Positions of the columns in the file, from 0, one for each column, instead of names in the header; fields
     * after the last of them are ignored. Or the positions of columns to leave out: all others must be in .columns. */
    const int *select_cols, *exclude_cols;
    int select_count, exclude_count;
    const char *quote;            /* one byte, default "\"" */
    const char *escape;           /* one byte: the byte after it, in quotes or not, stands for itself; default: none */
    const char *comment;          /* lines that begin with this are skipped and counted; default: none */
    int64_t skip_lines;           /* lines before the header, or before the first row without a header */
    int64_t skip_rows;            /* rows to skip after the header; needs a header */
    bool keep_blank_lines;        /* a blank line is a row of one empty field */
    const char *const *na_values; /* more texts that are missing values */
    int na_value_count;
    /* A quoted field is never missing: "" is an empty string, "NA" is NA; default: it may be missing. */
    bool quoted_never_missing;
    bool strings_never_missing; /* an empty field of a string column is the empty string, NA is NA */
    /* For bool columns; default: true and 1, in any case. If given: exactly these words, with white space around
     * them allowed. */
    const char *const *true_values;
    const char *const *false_values; /* default: false and 0 */
    int true_value_count, false_value_count;
    bool check_utf8; /* a string that is not UTF-8 is an error that names the byte's position; default: any bytes */
    bool fill_short_rows; /* fields that a row lacks are missing values; default: too few fields are an error */
    /* Fields beyond the header's are ignored; default: too many fields are an error. Short and long rows are
     * counted. */
    bool cut_long_rows;
    const char *label; /* for a dataset: the column that is the label of a training */
    /* hr_csv only: for rows with errors, which are left out; HR_RESYNC is the same as HR_SKIP. A quarantine file has
     * their text, line, column and reason. The pipeline fails as soon as all threads together exceed the budget. */
    hr_policy policy;
    const char *separator; /* one byte: for all columns that have neither a separator of their own nor a default */
    /* Names of the columns of a file without a header, in its order; .columns are found by them. With an empty list,
     * or with .no_header and without .columns, they are column_0, column_1, ... So is a column whose header is
     * empty. */
    const char *const *names;
    int name_count;
    /* New names for columns, "OLD=NEW" (the last = divides), and columns to ignore. Both use the old names. "#3" is
     * the column at position 3, from 0, unless a column has this name. .columns are found by the new names. Kinds:
     * csv.rename, csv.column (no such column, or two of the same name). */
    const char *const *rename, *const *drop;
    int rename_count, drop_count;
    /* A longer row, with its line ends, is an error, before memory is allocated for it; no policy skips it. Default
     * 256 MiB. */
    size_t max_row_bytes;
} hr_csv_opts;

/* The delimiter for a file's name: "\t" for .tsv. NULL: hr_csv's default. */
HR_API const char *hr_csv_delimiter_of(const char *path);

/* Parses rows of CSV in a tensor of strings (TensorFlow's decode_csv): `out` gets one tensor for each column, shaped
 * like `records`. .columns has their types, .select_cols their positions; there is no header. Gives the tensors:
 * hr_tensor_clear each. */
HR_API hr_status hr_decode_csv_with(const hr_tensor *records, hr_tensor *out, const hr_csv_opts *opts, hr_error *err);

/* Writes CSV that hr_csv reads back as the same rows. Quotes are written only where they are needed: around a text
 * with a delimiter, a quote or a line end, around the empty string, and around a text that looks like a missing
 * value; the last two read back with .quoted_never_missing. Floats are written as the shortest text that reads back
 * as the same bits, with a point or an exponent (1.0, 16777217e0); NaN is nan; bools are true and false. */
typedef struct hr_csv_writer hr_csv_writer;
typedef struct hr_csv_writer_opts {
    size_t struct_size;
    bool no_header;
    const char *delimiter;        /* one byte, default "," */
    const char *separator;        /* one byte, between the values of a cell; default: more than one value is an error */
    const char *na_value;         /* the text for a missing value; default: an empty field */
    bool refuse_missing;          /* a missing value is an error */
    bool quote_strings;           /* all of them */
    bool crlf;                    /* default: lines end with LF */
    const hr_output_opts *output; /* of the file; NULL: the defaults */
} hr_csv_writer_opts;

/* Gives *out. Copies the names of the columns, which are the header. NULL for `opts`: the defaults. */
HR_API hr_status hr_csv_writer_open_with(const char *path, const char *const *names, int columns,
                                         const hr_csv_writer_opts *opts, hr_csv_writer **out, hr_error *err);
/* Adds rows: one tensor for each column, of int32, int64, uint64, float32, float64, bool or string. A dense tensor
 * is one row (a scalar), or its first dimension is rows. In a ragged or sparse tensor of two dimensions, a row
 * without values is missing, and a row with several is a list. Kinds: csv.write, csv.missing, csv.separator (a list
 * that would read back differently). */
HR_API hr_status hr_csv_write(hr_csv_writer *writer, const hr_tensor *columns, hr_error *err);
HR_API int64_t hr_csv_writer_rows(const hr_csv_writer *writer);              /* written so far, without the header */
HR_API hr_status hr_csv_writer_commit(hr_csv_writer *writer, hr_error *err); /* takes it; as hr_output_commit */
HR_API void hr_csv_writer_discard(hr_csv_writer *writer);                    /* takes it. NULL: nothing */

#ifdef __cplusplus
}
#endif
#endif
