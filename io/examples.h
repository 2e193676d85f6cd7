/* Headrace, what is in Examples: reading any tf.Example or SequenceExample without a spec, and Examples as JSON.
 *
 * Nothing here needs to know the features beforehand. */
#ifndef HR_EXAMPLES_H
#define HR_EXAMPLES_H

#include <headrace/base.h>
#include <headrace/io.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- walking ---- */

/* One feature: its values are a vector of int64, float32 or strings, or of HR_INVALID_DTYPE if no kind is set. */
typedef struct hr_example_feature {
    hr_view key;
    hr_tensor values;
} hr_example_feature;

/* One feature list of a SequenceExample: a vector of values for each step. */
typedef struct hr_example_list {
    hr_view key;
    const hr_tensor *step;
    int64_t steps;
} hr_example_list;

/* A whole Example or SequenceExample; the features of the latter are its context. Features are in the order of the
 * record; if a key comes twice, the last one counts. */
typedef struct hr_example_contents {
    const hr_example_feature *feature;
    int64_t features;
    const hr_example_list *list;
    int64_t lists;
    bool has_features, has_lists; /* the message exists, even if it is empty; with lists it is a SequenceExample */
} hr_example_contents;

/* The memory of a walk, which can be reused. */
typedef struct hr_example_walk hr_example_walk;
HR_API hr_example_walk *hr_example_walk_new(void);       /* gives; NULL: no memory */
HR_API void hr_example_walk_free(hr_example_walk *walk); /* NULL: nothing */
/* Reads a serialized Example or SequenceExample by protobuf's rules. *out is borrowed until the next call; strings
 * are views into `record`. example.wire: the bytes are not an Example. */
HR_API hr_status hr_example_walk_record(hr_example_walk *walk, hr_view record, hr_example_contents *out, hr_error *err);
/* The same without the values: keys, kinds and counts alone. `data` is not to be read. However long the record is, this
 * takes no memory for values. */
HR_API hr_status hr_example_walk_outline(hr_example_walk *walk, hr_view record, hr_example_contents *out,
                                         hr_error *err);

typedef struct hr__schema_file hr_schema_file; /* names and types of fields, see below */

/* ---- choosing records by their features ---- */

/* Conditions on features, all of which must hold:
 *
 *     age=3   age!=3   age<30   age<=30   age>30   age>=2.5   age=18..65   name~^ann   age   !age
 *
 * One value that fits is enough; != and !age are the opposites of = and age, so that they hold where the feature is
 * missing. Numbers are compared as numbers, with float32 features as float32; strings by their bytes. ~ is an
 * extended regular expression (POSIX) that must be found in a string. A backslash before one of =!<>~ makes it a
 * part of the name. Steps of a feature list count as values. */
typedef struct hr_example_filter hr_example_filter;
/* Gives *out. filter.condition: a condition that cannot be read. */
HR_API hr_status hr_example_filter_new(const char *const *conditions, int count, hr_example_filter **out,
                                       hr_error *err);
/* True if all conditions hold for a serialized Example or SequenceExample. One call at a time. */
HR_API hr_status hr_example_filter_holds(hr_example_filter *filter, hr_view record, bool *holds, hr_error *err);
/* Call it after the last record: HR_NOT_FOUND, example.absent, if a condition names a feature that no record had and
 * that is not a field of `known` (NULL: no schema); the message suggests the nearest name. != and !age may name such
 * a feature; if there is a similar name, it is logged. */
HR_API hr_status hr_example_filter_check(const hr_example_filter *filter, const hr_schema_file *known, hr_error *err);
HR_API void hr_example_filter_free(hr_example_filter *filter); /* NULL: nothing */

/* ---- types of fields ---- */

typedef struct hr_schema_file_open_opts {
    size_t struct_size;
    /* Values of the file by their paths: "schema.string=[name, carrier]". A value is YAML. Errors name the option. Kind:
     * config.set. */
    const char *const *set;
    int set_count;
} hr_schema_file_open_opts;
/* The `schema:` section of a config file, or a file that is this section alone: names and types of fields
 * (docs/formats.md). Gives *out. The error names line and column of what is wrong. */
HR_API hr_status hr_schema_file_open_with(const char *path, const hr_schema_file_open_opts *opts, hr_schema_file **out,
                                          hr_error *err);
#define hr_schema_file_open(path, out, ...)                                                                            \
    HR_SCHEMA_FILE_OPEN_(path, out, __VA_ARGS__, .struct_size = sizeof(hr_schema_file_open_opts))
#define HR_SCHEMA_FILE_OPEN_(path, out, err, ...)                                                                      \
    hr_schema_file_open_with((path), &(hr_schema_file_open_opts){__VA_ARGS__}, (out), (err))
HR_API void hr_schema_file_free(hr_schema_file *schema); /* NULL: nothing */
/* Changes the types of some fields: "row=int64,temp=float". HR_INVALID_ARGUMENT, schema.types. Call it before the
 * schema is used. */
HR_API hr_status hr_schema_file_set_types(hr_schema_file *schema, const char *types, hr_error *err);
HR_API int hr_schema_file_label(const hr_schema_file *schema); /* the number of the field `label:`; -1: there is none */

/* ---- Examples as JSON ---- */

/* One record is one object on one line: {"age": 3, "words": ["a", "b"], "x": 1.5}. The kind follows from how a value
 * is written, so that nothing gets lost on the way there and back; docs/formats.md has all of it. The other form is
 * that of protobuf's JSON mapping, {"features": {"feature": {"age": {"int64List": {"value": ["3"]}}}}}, which
 * tf.io.decode_json_example reads. Both are read wherever JSON is read. */
typedef struct hr_json_writer_opts {
    size_t struct_size;
    bool protobuf;               /* the form of protobuf's mapping */
    const char *const *features; /* write only these features or feature lists */
    int feature_count;           /* 0: all */
} hr_json_writer_opts;

typedef struct hr_json_writer hr_json_writer;
HR_API hr_status hr_json_writer_new_with(const hr_json_writer_opts *opts, hr_json_writer **out,
                                         hr_error *err); /* gives */
HR_API void hr_json_writer_free(hr_json_writer *writer); /* NULL: nothing */
/* Writes a serialized Example or SequenceExample as a line of JSON, without a line end; borrowed until the next
 * call. Numbers and bytes are exact: hr_json_read gives the same message. example.wire: the record is not an
 * Example. */
HR_API hr_status hr_example_to_json(hr_json_writer *writer, hr_view record, hr_view *json, hr_error *err);
/* Call it after the last record: HR_NOT_FOUND, example.absent, if one of .features was in no record and is not a
 * field of `known` (NULL: no schema). */
HR_API hr_status hr_json_writer_check(const hr_json_writer *writer, const hr_schema_file *known, hr_error *err);

typedef struct hr_json_reader_opts {
    size_t struct_size;
    /* Only the fields of this schema are read, with their types: integers for a float, false and true for an int64;
     * null is a missing value, which is left out. NULL: all members, each of the kind of its literal. Borrowed until
     * the reader is freed. */
    const hr_schema_file *schema;
    hr_compression compression;
    /* If the text of an object in a file is longer, or its tf.Example would be, it is an error, before memory is
     * allocated for it. Memory holds at most twice the Example and 8 MiB, but not the text. Default 256 MiB. */
    size_t max_row_bytes;
} hr_json_reader_opts;

typedef struct hr_json_reader hr_json_reader;
/* Opens a file of JSON lines (objects one after another, with any white space between them); "-" is standard input.
 * Gives *out. */
HR_API hr_status hr_json_reader_open_with(const char *path, const hr_json_reader_opts *opts, hr_json_reader **out,
                                          hr_error *err);
/* The same for a text, which is borrowed until the reader is freed; `name` is for errors. */
HR_API hr_status hr_json_reader_text_with(const char *name, hr_view text, const hr_json_reader_opts *opts,
                                          hr_json_reader **out, hr_error *err);
/* The next object as a serialized Example (SequenceExample), in protobuf's deterministic form; borrowed until the
 * next call. HR_END: there is none. Kinds json.*, with record, line, offset, feature; a failure is final. Memory
 * depends on the largest record only. */
HR_API hr_status hr_json_read(hr_json_reader *reader, hr_view *record, hr_error *err);
HR_API int64_t hr_json_reader_line(const hr_json_reader *reader);   /* from 1: where the record given last begins */
HR_API int64_t hr_json_reader_offset(const hr_json_reader *reader); /* of the same */
HR_API void hr_json_reader_free(hr_json_reader *reader);            /* NULL: nothing */

/* Bytes as a string of JSON, in quotes; bytes that are not UTF-8 become U+FFFD. Gives *json (hr_free). */
HR_API hr_status hr_json_quote(hr_view text, char **json, hr_error *err);
HR_API bool hr_is_utf8(hr_view text); /* whole characters only; overlong forms and surrogates are none */

/* ---- going over whole files ---- */

/* The format of a file. By its name, without .gz and the like: .csv and .tsv are CSV, .json, .jsonl and .ndjson are
 * JSON lines, all others are TFRecords. */
typedef enum hr_file_format { HR_FORMAT_BY_NAME, HR_FORMAT_TFRECORD, HR_FORMAT_JSON, HR_FORMAT_CSV } hr_file_format;
/* The format of a file name's extension; HR_FORMAT_BY_NAME: it belongs to no format. */
HR_API hr_file_format hr_file_format_of(const char *path);
/* A format by name: "csv", "jsonl", "tfrecord", or an extension, in upper or lower case; HR_FORMAT_BY_NAME: there is
 * none of this name. */
HR_API hr_file_format hr_file_format_named(const char *name);
HR_API const char *hr_file_format_name(hr_file_format format);    /* "csv", ...; of HR_FORMAT_BY_NAME "" */
HR_API const char *hr_file_format_names(char *text, size_t size); /* "csv, jsonl or tfrecord" into `text`; returns it */

typedef struct hr_survey_opts {
    size_t struct_size;
    hr_file_format format;
    hr_compression compression;
    /* Types of JSON rows and CSV fields; only fields of the schema are read. NULL: all, with their own types. */
    const hr_schema_file *schema;
    const char *delimiter; /* of CSV; default "," ("\t" of .tsv) */
    const char *na_value;  /* of CSV: a text that is a missing value, as an empty field is */
    /* Further options of CSV: quotes, escapes, comments, skipped lines, missing values, short and long rows, UTF-8.
     * The options above override these. */
    const hr_csv_opts *csv;
    hr_progress_fn *progress;
    void *user;          /* of .progress */
    int64_t max_records; /* only the first records of all files together, and few bytes after them; default: all */
    /* A longer record, or row of CSV or JSON lines, is an error. Default: the .max_row_bytes of .csv, or 256 MiB. */
    size_t max_record_bytes;
} hr_survey_opts;

/* ---- schemas from data ---- */

/* Infers the type of every field from all records: gives *out. CSV: int64 if all values are integers, and also if
 * some are written as 7.0 and one is beyond 2^24; otherwise float if all are numbers, otherwise string. Numbers with
 * leading zeros, and numbers out of the range of int64 or float32, are strings. Empty fields do not count. */
HR_API hr_status hr_infer_schema_with(const hr_file_list *files, const hr_survey_opts *opts, hr_schema_file **out,
                                      hr_error *err);
/* hr_infer_schema(&files, &schema, &err, .option = ...) */
#define hr_infer_schema(files, out, ...)                                                                               \
    HR_SURVEY_(hr_infer_schema_with, files, out, __VA_ARGS__, .struct_size = sizeof(hr_survey_opts))
#define HR_SURVEY_(fn, files, out, err, ...) fn((files), &(hr_survey_opts){__VA_ARGS__}, (out), (err))

/* The section as text that hr_schema_file_open reads, one field on each line; after an inferred field, a comment
 * names the record that decided its type. Gives *text (hr_free). HR_INVALID_ARGUMENT: there are no fields, as with
 * empty files. */
HR_API hr_status hr_schema_file_text(const hr_schema_file *schema, char **text, hr_error *err);

/* Field number i, 0 <= i < hr_schema_file_count. Its texts are borrowed as long as the schema lives. */
typedef struct hr_schema_file_field {
    const char *name;
    hr_dtype dtype;   /* in a tf.Example: HR_INT64, HR_FLOAT, HR_STRING */
    const char *note; /* how it was inferred; "" */
    bool conflict;    /* inferred, but records have several kinds: `note` names one record of each */
    int64_t rounded;  /* inferred from CSV: the number of values that float32 rounds; `note` has one of them */
    hr_dtype written; /* the type in the schema file and in a CSV: also HR_INT32, HR_BOOL, HR_DOUBLE */
} hr_schema_file_field;
HR_API int hr_schema_file_count(const hr_schema_file *schema); /* NULL: 0 */
HR_API hr_schema_file_field hr_schema_file_at(const hr_schema_file *schema, int i);

/* Calls `tell` for each difference: "- float age" (only in a), "+ int64 age" (only in b), "~ age: float, int64".
 * Returns their number. */
HR_API int hr_schema_file_diff(const hr_schema_file *a, const hr_schema_file *b,
                               void (*tell)(const char *difference, void *user), void *user);

/* Called for a record that does not fit the schema: the error has file, record, feature. Return false to get no more
 * of them. */
typedef bool hr_deviation_fn(const hr_error *deviation, void *user);
/* Checks every record against the schema. Deviations are values of another type, features that the schema does not
 * name (reported once each), and fields that no record has; a missing value is no deviation. Their order depends on
 * the files alone. *count is their number. */
HR_API hr_status hr_check_schema_with(const hr_file_list *files, const hr_schema_file *schema,
                                      const hr_survey_opts *opts, hr_deviation_fn *tell, void *user, int64_t *count,
                                      hr_error *err);
/* hr_check_schema(&files, schema, tell, user, &count, &err, .option = ...) */
#define hr_check_schema(files, schema, tell, user, count, ...)                                                         \
    HR_CHECK_SCHEMA_(files, schema, tell, user, count, __VA_ARGS__, .struct_size = sizeof(hr_survey_opts))
#define HR_CHECK_SCHEMA_(files, schema, tell, user, count, err, ...)                                                   \
    hr_check_schema_with((files), (schema), &(hr_survey_opts){__VA_ARGS__}, (tell), (user), (count), (err))

/* ---- statistics ---- */

/* The numbers of quantiles and frequent values in hr_feature_stats. */
enum { HR_STATS_QUANTILES = 7, HR_STATS_TOP = 10 };
/* The shares of hr_feature_stats.quantile: 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99. */
HR_API extern const double hr_stats_share[HR_STATS_QUANTILES];

/* A frequent value of a feature. */
typedef struct hr_top_value {
    hr_view text;  /* of a number, as it is written; of a string its first 64 bytes */
    int64_t count; /* at least; at most top_error more */
} hr_top_value;

/* Statistics of a feature, or of a feature list over all its steps. A figure that does not exist is NaN. */
typedef struct hr_feature_stats {
    hr_view key;
    /* HR_INT64, HR_FLOAT (also int64 and float32 mixed, as in JSON), HR_STRING; HR_INVALID_DTYPE: no kind. */
    hr_dtype dtype;
    bool mixed;               /* the feature has numbers and strings; the figures below are for the kind of `dtype` */
    int64_t records, missing; /* records that have it; that lack it, or have it without a kind */
    int64_t values;
    int64_t least_values, most_values; /* of a record (a step) */
    int64_t zeros;                     /* or empty strings */
    int64_t nans, infinite;            /* of floats; the figures below leave them out */
    double min, max, mean, std;        /* std: of all values, not of a sample of them */
    double log1p_mean, log1p_std;      /* of log(1 + value); NaN if a value is -1 or less */
    double
        quantile[HR_STATS_QUANTILES]; /* values of the feature whose ranks are within 1 %; exact if quantiles_exact */
    int64_t least_bytes, most_bytes;  /* of strings */
    double mean_bytes;
    double distinct; /* within some percent; exact if distinct_exact */
    bool distinct_exact;
    hr_top_value top[HR_STATS_TOP]; /* the most frequent values, as far as they are certain */
    int tops;
    int64_t top_error;
    bool quantiles_exact;
    int64_t rounded; /* of a CSV's floats without .schema: the number of values that float32 rounds */
} hr_feature_stats;

/* Makes statistics by one pass over all records, in memory that depends on the features, not on the number of
 * records. CSV without a schema takes a second pass, for its types. The figures depend on the files alone, never on
 * threads. Gives *out. */
typedef struct hr_stats hr_stats;
HR_API hr_status hr_compute_stats_with(const hr_file_list *files, const hr_survey_opts *opts, hr_stats **out,
                                       hr_error *err);
/* hr_compute_stats(&files, &stats, &err, .option = ...) */
#define hr_compute_stats(files, out, ...)                                                                              \
    HR_SURVEY_(hr_compute_stats_with, files, out, __VA_ARGS__, .struct_size = sizeof(hr_survey_opts))
HR_API int64_t hr_stats_records(const hr_stats *stats);
HR_API int64_t hr_stats_features(const hr_stats *stats);
HR_API const hr_feature_stats *hr_stats_feature(const hr_stats *stats, int64_t i); /* sorted by key; borrowed */
HR_API void hr_stats_free(hr_stats *stats);                                        /* NULL: nothing */

/* How a numeric column is normalized: by mean and std, by min and max, or by log1p and then its mean and std. */
typedef enum hr_normalization { HR_NORMALIZE_MEAN_STD, HR_NORMALIZE_MIN_MAX, HR_NORMALIZE_LOG1P } hr_normalization;
/* The `columns:` section of a config file: a numeric column with these constants for each feature that has one
 * number in each record, except `label` (NULL: all). If some records lack the feature, its mean (rounded for
 * integers) is the default. Features with fewer than two different values get no column. Gives *text (hr_free). */
HR_API hr_status hr_stats_columns_text(const hr_stats *stats, hr_normalization how, const char *label, char **text,
                                       hr_error *err);

/* ---- vocabularies ---- */

typedef struct hr_count_vocabulary_opts {
    size_t struct_size;
    int64_t top_k;                /* only the most frequent words, this many; default: all */
    int64_t min_count;            /* only words that occur at least this often; default: all */
    const hr_survey_opts *survey; /* NULL: the defaults */
} hr_count_vocabulary_opts;

/* A word of a feature, and how often it came. */
typedef struct hr_vocabulary_word {
    hr_view word; /* an int64 as its decimal digits */
    int64_t count;
} hr_vocabulary_word;

/* Counts the values of a feature (or feature list) of strings or int64 over all records, exactly; memory holds every
 * different value. The most frequent words come first, words of the same count in the order of their bytes. Gives
 * *out. vocabulary.feature: no record has it; vocabulary.type: it has floats. */
typedef struct hr_vocabulary hr_vocabulary;
HR_API hr_status hr_count_vocabulary_with(const hr_file_list *files, const char *feature,
                                          const hr_count_vocabulary_opts *opts, hr_vocabulary **out, hr_error *err);
/* hr_count_vocabulary(&files, feature, &vocabulary, &err, .option = ...) */
#define hr_count_vocabulary(files, feature, out, ...)                                                                  \
    HR_COUNT_VOCABULARY_(files, feature, out, __VA_ARGS__, .struct_size = sizeof(hr_count_vocabulary_opts))
#define HR_COUNT_VOCABULARY_(files, feature, out, err, ...)                                                            \
    hr_count_vocabulary_with((files), (feature), &(hr_count_vocabulary_opts){__VA_ARGS__}, (out), (err))
HR_API int64_t hr_vocabulary_size(const hr_vocabulary *vocabulary);
HR_API hr_vocabulary_word hr_vocabulary_at(const hr_vocabulary *vocabulary, int64_t i); /* borrowed */
HR_API int64_t hr_vocabulary_distinct(const hr_vocabulary *vocabulary); /* with those that were left out */
/* Writes one word on each line, as categorical_column_with_vocabulary_file reads them. vocabulary.word: a word is
 * empty, contains a line end, or ends in '\r', so the file cannot hold it; nothing is written. */
HR_API hr_status hr_vocabulary_write(const hr_vocabulary *vocabulary, const char *path, hr_error *err);
HR_API hr_status hr_vocabulary_check(const hr_vocabulary *vocabulary, hr_error *err); /* the same, without writing */
HR_API void hr_vocabulary_free(hr_vocabulary *vocabulary);                            /* NULL: nothing */

#ifdef __cplusplus
}
#endif
#endif
