/* Headrace, lookup tables in a graph: from words to numbers, or any keys to any values.
 *
 *     hr_node texts = hr_placeholder(g, HR_STRING, HR_SHAPE(-1));
 *     hr_table words = hr_index_table_from_file(g, "words.txt", .oov_buckets = 2);
 *     hr_node ids = hr_table_lookup(words, texts);
 *     hr_node init = hr_tables_initializer(g);   // run it once a session
 *
 * A table's contents live in sessions, under its name. Keys are string, int32 or int64, values of any type. Fixed tables
 * are filled by an initializer, which is in the collection "table_initializer"; a second run of it must say the same,
 * else HR_FAILED_PRECONDITION, "table.initialized". Lookups run at the same time as other lookups. */
#ifndef HR_TABLES_H
#define HR_TABLES_H

#include <headrace/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Copied freely; its nodes live as long as their graph. */
typedef struct hr_table {
    hr_node handle;
    hr_node initializer;   /* of a fixed table */
    hr_node default_value; /* of keys that it has not */
    int64_t oov_buckets;   /* if above 0, such keys get one of so many numbers after those of the table instead */
} hr_table;

/* hr_place_end of what makes a table. */
HR_API hr_table hr_place_end_table(hr_table made);
#if defined HR_NO_PLACES || defined __cplusplus
#define HR_MADE_TABLE_(call) (call)
#else
#define HR_MADE_TABLE_(call) (hr_place_begin(__FILE__, __LINE__), hr_place_end_table(call))
#endif

/* A fixed table from two vectors. Keys that are there twice must have the same value: "table.duplicate". `name`: of the
 * node; NULL: "hash_table". */
HR_API hr_table hr_static_table(hr_node keys, hr_node values, hr_node default_value, const char *name);
/* A table that starts empty and is changed by hr_table_insert and hr_table_remove. */
HR_API hr_table hr_mutable_table(hr_graph *g, hr_dtype key, hr_dtype value, hr_node default_value, const char *name);

/* Of a text file: which column, counted from 0, or which of these. */
enum { HR_WHOLE_LINE = -2, HR_LINE_NUMBER = -1 };
typedef struct hr_table_file_opts {
    size_t struct_size;
    const char *name;      /* default "hash_table" */
    const char *delimiter; /* of columns, one character; default a tab */
    int64_t vocab_size;    /* so many lines; default all. More than the file has: "table.file" */
    int64_t offset;        /* added to line numbers */
} hr_table_file_opts;
/* A fixed table from a text file, read when its initializer runs. An empty line, a line with too few columns, or a field
 * that is no number where one is wanted: HR_INVALID_ARGUMENT, "table.file". Types that do not go with the columns:
 * "table.type". */
HR_API hr_table hr_table_from_file_with(hr_graph *g, const char *path, hr_dtype key, int64_t key_column, hr_dtype value,
                                        int64_t value_column, hr_node default_value, const hr_table_file_opts *opts);
#define hr_table_from_file(g, path, key, key_column, value, value_column, ...)                                         \
    HR_TABLE_FROM_FILE_(g, path, key, key_column, value, value_column, __VA_ARGS__,                                    \
                        .struct_size = sizeof(hr_table_file_opts))
#define HR_TABLE_FROM_FILE_(g, path, key, key_column, value, value_column, default_value, ...)                         \
    HR_MADE_TABLE_(hr_table_from_file_with((g), (path), (key), (key_column), (value), (value_column), (default_value), \
                                           &(hr_table_file_opts){__VA_ARGS__}))

typedef struct hr_index_table_opts {
    size_t struct_size;
    const char *name;             /* default "string_to_index" */
    int64_t vocab_size;           /* so many lines; default all */
    const int64_t *default_value; /* of words that are not there; default -1 */
    int64_t oov_buckets;          /* such words get vocab_size + hash mod oov_buckets; default: default_value */
} hr_index_table_opts;
/* From the words of a file, one a line, to their line numbers, int64. */
HR_API hr_table hr_index_table_from_file_with(hr_graph *g, const char *path, const hr_index_table_opts *opts);
#define hr_index_table_from_file(...)                                                                                  \
    HR_MADE_TABLE_(HR_CALL2_(hr_index_table_from_file_with, hr_index_table_opts, __VA_ARGS__,                          \
                             .struct_size = sizeof(hr_index_table_opts)))
/* From line numbers back to words; `unknown`, NULL: "UNK". */
HR_API hr_table hr_index_to_string_table_from_file(hr_graph *g, const char *path, const char *unknown);

/* The values of keys of any shape, in that shape. */
HR_API hr_node hr_table_lookup(hr_table table, hr_node keys);
HR_API hr_node hr_table_size(hr_table table);                                 /* int64; without oov_buckets */
HR_API hr_node hr_table_insert(hr_table table, hr_node keys, hr_node values); /* replaces; run it */
HR_API hr_node hr_table_remove(hr_table table, hr_node keys);                 /* keys that are not there: nothing */
HR_API hr_node hr_table_export(hr_table table, hr_dtype key, hr_dtype value); /* output 0: all keys, 1: values */
HR_API hr_node hr_tables_initializer(hr_graph *g); /* node "init_all_tables", which runs all of the collection */

/* The same calls, which tell the line that they are in (graph.h). */
#define hr_table_lookup(...) HR_MADE_(hr_table_lookup(__VA_ARGS__))
#define hr_table_size(...) HR_MADE_(hr_table_size(__VA_ARGS__))
#define hr_table_insert(...) HR_MADE_(hr_table_insert(__VA_ARGS__))
#define hr_table_remove(...) HR_MADE_(hr_table_remove(__VA_ARGS__))
#define hr_table_export(...) HR_MADE_(hr_table_export(__VA_ARGS__))
#define hr_tables_initializer(...) HR_MADE_(hr_tables_initializer(__VA_ARGS__))
#define hr_static_table(...) HR_MADE_TABLE_(hr_static_table(__VA_ARGS__))
#define hr_mutable_table(...) HR_MADE_TABLE_(hr_mutable_table(__VA_ARGS__))
#define hr_index_to_string_table_from_file(...) HR_MADE_TABLE_(hr_index_to_string_table_from_file(__VA_ARGS__))

#ifdef __cplusplus
}
#endif
#endif
