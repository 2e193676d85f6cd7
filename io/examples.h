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

/* A whole Example, or SequenceExample: its features are then the context. Features stand in the order of the record; of equal keys the
 * last one counts. */
typedef struct hr_example_contents {
    const hr_example_feature *feature;
    int64_t features;
    const hr_example_list *list;
    int64_t lists;
    bool has_features, has_lists; /* the message is there, if only empty; with lists it is a SequenceExample */
} hr_example_contents;

/* The memory of a walk, used again and again. */
typedef struct hr_example_walk hr_example_walk;
HR_API hr_example_walk *hr_example_walk_new(void);       /* gives; NULL: no memory */
HR_API void hr_example_walk_free(hr_example_walk *walk); /* NULL: nothing */
/* Reads a serialized Example or SequenceExample by protobuf's rules. What *out says is borrowed until the next call; strings are views into
 * `record`. example.wire: the bytes are none. */
HR_API hr_status hr_example_walk_record(hr_example_walk *walk, hr_view record, hr_example_contents *out, hr_error *err);

/* ---- types of fields ---- */

/* The `schema:` section of a config file, or a file that is this section alone: names and types of fields (docs/formats.md). */
typedef struct hr__schema_file hr_schema_file;
/* Gives *out. The error names line and column of what is wrong. */
HR_API hr_status hr_schema_file_open(const char *path, hr_schema_file **out, hr_error *err);
HR_API void hr_schema_file_free(hr_schema_file *schema); /* NULL: nothing */

/* ---- Examples as JSON ---- */

/* One record is one object on one line: {"age": 3, "words": ["a", "b"], "x": 1.5}. The kind follows from how a value is
 * written, so that nothing gets lost on the way there and back; docs/formats.md has all of it. The other form is that of protobuf's
 * JSON mapping, {"features": {"feature": {"age": {"int64List": {"value": ["3"]}}}}}, which tf.io.decode_json_example
 * reads. Both are read wherever JSON is read. */
typedef struct hr_json_writer_opts {
    size_t struct_size;
    bool protobuf;               /* the form of protobuf's mapping */
    const char *const *features; /* only these, features or feature lists */
    int feature_count;           /* 0: all */
} hr_json_writer_opts;

typedef struct hr_json_writer hr_json_writer;
HR_API hr_status hr_json_writer_new_with(const hr_json_writer_opts *opts, hr_json_writer **out,
                                         hr_error *err); /* gives */
HR_API void hr_json_writer_free(hr_json_writer *writer); /* NULL: nothing */
/* A serialized Example or SequenceExample as a line of JSON, without a line end; borrowed until the next call. Numbers and bytes are exact:
 * hr_json_read gives the same message. example.wire: the record is none. */
HR_API hr_status hr_example_to_json(hr_json_writer *writer, hr_view record, hr_view *json, hr_error *err);

typedef struct hr_json_reader_opts {
    size_t struct_size;
    /* Only the fields that it names, each of its type: whole numbers for a float, false and true for an int64; null is a missing value,
     * which is left out. Without: all members, each of the kind that it is written in. Borrowed until the reader is freed. */
    const hr_schema_file *schema;
    hr_compression compression;
} hr_json_reader_opts;

typedef struct hr_json_reader hr_json_reader;
/* Opens a file of JSON lines (objects one after another, with any white space between them); "-" is standard input. Gives *out. */
HR_API hr_status hr_json_reader_open_with(const char *path, const hr_json_reader_opts *opts, hr_json_reader **out,
                                          hr_error *err);
/* The same of a text, which is borrowed until the reader is freed; `name` stands in errors. */
HR_API hr_status hr_json_reader_text_with(const char *name, hr_view text, const hr_json_reader_opts *opts,
                                          hr_json_reader **out, hr_error *err);
/* The next object as a serialized Example (SequenceExample), in protobuf's deterministic form; borrowed until the next call.
 * HR_END: there is none. Kinds json.*, with record, line, offset, feature; a failure is final. A file is read in constant memory, but for
 * its largest record. */
HR_API hr_status hr_json_read(hr_json_reader *reader, hr_view *record, hr_error *err);
HR_API int64_t hr_json_reader_line(const hr_json_reader *reader);   /* from 1: where the record given last begins */
HR_API int64_t hr_json_reader_offset(const hr_json_reader *reader); /* of the same */
HR_API void hr_json_reader_free(hr_json_reader *reader);            /* NULL: nothing */

#ifdef __cplusplus
}
#endif
#endif
