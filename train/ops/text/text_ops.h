/* Headrace, text in a graph: strings put together and taken apart, numbers as text, regular expressions, serialized
 * Examples as tensors.
 *
 *     hr_node words = hr_string_split(hr_string_lower(lines), .separator = ",");   // sparse: indices, values, shape
 *     hr_node ids = hr_string_to_hash_bucket(hr_node_output(words, 1), 1000);
 *
 * Strings are bytes; where it matters, .utf8 counts characters of UTF-8. An error stays with the graph; what the texts
 * themselves decide fails the run: HR_INVALID_ARGUMENT. Several outputs are those of hr_node_output. */
#ifndef HR_TEXT_OPS_H
#define HR_TEXT_OPS_H

#include <headrace/ops.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A constant vector of C strings. */
HR_API hr_node hr_texts(hr_graph *g, const char *const *texts, int count);
#define hr_texts(...) HR_MADE_(hr_texts(__VA_ARGS__))

typedef struct hr_string_opts {
    size_t struct_size;
    const char *name;
    bool utf8; /* default: bytes */
} hr_string_opts;
#define HR_STRING_OP_(fn) HR_API hr_node fn##_with(hr_node texts, const hr_string_opts *opts);
#define HR_STRING_CALL_(fn, ...)                                                                                       \
    HR_MADE_(HR_CALL1_(fn##_with, hr_string_opts, __VA_ARGS__, .struct_size = sizeof(hr_string_opts)))
/* Letters of ASCII; with .utf8 all letters of Unicode. */
HR_STRING_OP_(hr_string_lower)
HR_STRING_OP_(hr_string_upper)
HR_STRING_OP_(hr_string_length) /* int32 */
#define hr_string_lower(...) HR_STRING_CALL_(hr_string_lower, __VA_ARGS__)
#define hr_string_upper(...) HR_STRING_CALL_(hr_string_upper, __VA_ARGS__)
#define hr_string_length(...) HR_STRING_CALL_(hr_string_length, __VA_ARGS__)
HR_UNARY_OP_(hr_string_strip) /* without white space at both ends */
#define hr_string_strip(...) HR_UNARY_CALL_(hr_string_strip, __VA_ARGS__)

/* Substr: `length` bytes from `position` on, fewer where the text ends; below 0: counted from the end. int32 or int64,
 * scalars or of the shape of the texts. A position outside of a text fails the run. */
HR_API hr_node hr_substr_with(hr_node texts, hr_node position, hr_node length, const hr_string_opts *opts);
#define hr_substr(...)                                                                                                 \
    HR_MADE_(HR_CALL3_(hr_substr_with, hr_string_opts, __VA_ARGS__, .struct_size = sizeof(hr_string_opts)))

/* ---- put together and taken apart ---- */

/* StringJoin: the strings of several nodes, each of one shape or a scalar, one after the other. `separator`, NULL: none,
 * stands between them. */
HR_API hr_node hr_string_join(const hr_node *texts, int count, const char *separator);
#define hr_string_join(...) HR_MADE_(hr_string_join(__VA_ARGS__))

typedef struct hr_reduce_join_opts {
    size_t struct_size;
    const char *name;
    const char *separator; /* default: none */
    const int64_t
        *axes; /* axis_count of them, in whose order texts are joined; default: all, from the last to the first */
    int axis_count;
    bool keep_dims; /* the axes stay, with length 1 */
} hr_reduce_join_opts;
/* ReduceJoin: the texts along axes put together. If no axes are given, the rank must be known, else
 * "graph.shape". */
HR_API hr_node hr_reduce_join_with(hr_node texts, const hr_reduce_join_opts *opts);
#define hr_reduce_join(...)                                                                                            \
    HR_MADE_(                                                                                                          \
        HR_CALL1_(hr_reduce_join_with, hr_reduce_join_opts, __VA_ARGS__, .struct_size = sizeof(hr_reduce_join_opts)))

typedef struct hr_string_split_opts {
    size_t struct_size;
    const char *name;
    const char *separator; /* default: any white space, of which several are one */
    int64_t max_split;     /* at most so many times; default: any number */
} hr_string_split_opts;
/* StringSplitV2 of a vector [n]: a sparse matrix; outputs are its indices, int64 [count, 2], its values, strings [count],
 * and its shape, int64 [2]. */
HR_API hr_node hr_string_split_with(hr_node texts, const hr_string_split_opts *opts);
#define hr_string_split(...)                                                                                           \
    HR_MADE_(HR_CALL1_(hr_string_split_with, hr_string_split_opts, __VA_ARGS__,                                        \
                       .struct_size = sizeof(hr_string_split_opts)))

/* ---- regular expressions, of RE2's syntax; a wrong one fails the run ---- */

typedef struct hr_regex_opts {
    size_t struct_size;
    const char *name;
    bool first_only; /* default: all matches are replaced */
} hr_regex_opts;
/* Matches replaced by `rewrite`, in which \1 to \9 are groups and \0 is the match. */
HR_API hr_node hr_regex_replace_with(hr_node texts, const char *pattern, const char *rewrite,
                                     const hr_regex_opts *opts);
#define hr_regex_replace(...)                                                                                          \
    HR_MADE_(HR_CALL3_(hr_regex_replace_with, hr_regex_opts, __VA_ARGS__, .struct_size = sizeof(hr_regex_opts)))
HR_API hr_node hr_regex_full_match(hr_node texts, const char *pattern); /* bool: the whole text is a match */
#define hr_regex_full_match(...) HR_MADE_(hr_regex_full_match(__VA_ARGS__))

/* ---- numbers ---- */

typedef struct hr_as_string_opts {
    size_t struct_size;
    const char *name;
    const int64_t *precision; /* digits after the point, of floating numbers; default: printf's 6 */
    bool scientific;          /* as by %e; default: as by %f */
    bool shortest;            /* as by %g */
    int64_t width;            /* at least so many characters, with .fill in front; default: as many as it takes */
    const char *fill;         /* one character; default: a blank */
} hr_as_string_opts;
/* AsString: numbers and bools as text. */
HR_API hr_node hr_as_string_with(hr_node x, const hr_as_string_opts *opts);
#define hr_as_string(...)                                                                                              \
    HR_MADE_(HR_CALL1_(hr_as_string_with, hr_as_string_opts, __VA_ARGS__, .struct_size = sizeof(hr_as_string_opts)))
/* float, double, int32 or int64. A text that is no such number fails the run. */
HR_API hr_node hr_string_to_number(hr_node texts, hr_dtype dtype);
/* StringToHashBucketFast: numbers from 0 to buckets - 1 by Fingerprint64, as of a hash bucket column. int64. */
HR_API hr_node hr_string_to_hash_bucket(hr_node texts, int64_t buckets);
#define hr_string_to_number(...) HR_MADE_(hr_string_to_number(__VA_ARGS__))
#define hr_string_to_hash_bucket(...) HR_MADE_(hr_string_to_hash_bucket(__VA_ARGS__))

/* ---- bytes ---- */

typedef struct hr_decode_raw_opts {
    size_t struct_size;
    const char *name;
    bool big_endian;
} hr_decode_raw_opts;
/* DecodeRaw: the bytes of each string as numbers of that type, in a new last dimension. Strings of different lengths, or
 * of no whole number of values, fail the run. */
HR_API hr_node hr_decode_raw_with(hr_node bytes, hr_dtype dtype, const hr_decode_raw_opts *opts);
#define hr_decode_raw(...)                                                                                             \
    HR_MADE_(HR_CALL2_(hr_decode_raw_with, hr_decode_raw_opts, __VA_ARGS__, .struct_size = sizeof(hr_decode_raw_opts)))
HR_API hr_node hr_encode_base64(hr_node bytes,
                                bool pad);      /* that of web addresses: - and _, with '=' at the end if `pad` */
HR_API hr_node hr_decode_base64(hr_node texts); /* with '=' at the end or without */
#define hr_encode_base64(...) HR_MADE_(hr_encode_base64(__VA_ARGS__))
#define hr_decode_base64(...) HR_MADE_(hr_decode_base64(__VA_ARGS__))

/* ---- serialized Examples ---- */

/* The nodes of one feature; those that its kind does not have are none. */
typedef struct hr_parsed_feature {
    hr_node values;               /* dense: [n, shape], of a sequence [n, steps, shape]; sparse and ragged: [count] */
    hr_node indices, dense_shape; /* sparse: int64 [count, 2] and [2] */
    hr_node row_splits;           /* ragged: int32 [n + 1] */
} hr_parsed_feature;
/* ParseExampleV2 of a vector [n] of serialized tf.Examples: fills in out[i] for feature i of the spec. A type that no
 * Example holds is cast from the one that does. "text.feature": a sparse feature with keys of indices, or partitions; a
 * key that is NULL. What the records decide fails the run, with the errors of hr_parse_example. */
HR_API void hr_parse_example_nodes(hr_node serialized, const hr_parse_spec *spec, hr_parsed_feature *out);
#define hr_parse_example_nodes(...) HR_MADE_VOID_(hr_parse_example_nodes(__VA_ARGS__))

#ifdef __cplusplus
}
#endif
#endif
