/* The one reader of files that people write: YAML, of which JSON is a part. A tree of nodes, each with its line and
 * column, and getters whose errors name the place, what was expected, what was found, and the nearest name:
 *
 *     flights.yaml:12:5: model: unknown key 'hiden_units'; did you mean 'hidden_units'?
 *     flights.yaml:40:15: train.batch_size: expected a whole number from 1 to 1000000, found "abc"
 *
 * Whatever the bytes are, reading ends in a tree or in one error: duplicate keys, keys that are no scalars, aliases
 * that contain themselves, more than 64 levels, more than 256 MiB, more than a million nodes (of a text above 6 MB: one
 * for each 6 bytes) are refused. Aliases and anchors are read; tags are refused, and so is a second document. Not a
 * public header. */
#ifndef HR_CONFIG_H
#define HR_CONFIG_H

#include "base/text.h"
#include <headrace/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum hr__node_kind { HR__SCALAR = 1, HR__SEQUENCE = 2, HR__MAPPING = 4 } hr__node_kind;

typedef struct hr__config hr__config;
typedef struct hr__node hr__node;

/* Open to read. Everything lives as long as its config. */
struct hr__node {
    const hr__config *config;
    const hr__node *parent; /* NULL: the root */
    hr__node_kind kind;
    int line, column;            /* from 1 */
    unsigned quoted : 1;         /* "1" is a string, 1 is a number; also of literal blocks */
    unsigned place : 31;         /* among the items of its parent; of a key, that of its value */
    const char *text;            /* of a scalar, NUL-terminated after `size` bytes; "" of others */
    size_t size;                 /* of text */
    int64_t count;               /* items of a sequence, pairs of a mapping */
    const hr__node **item;       /* the items; of a mapping, the values, in the order of the file */
    const hr__node **key;        /* of a mapping: the scalars before them; NULL of others */
    const struct hr__map *names; /* of a mapping with many keys: their places; NULL of others */
};

enum { HR__CONFIG_BYTES = 256 << 20 /* a longer text is no config */ };

/* Gives a config (hr__config_free), NULL when it fails. `name` stands in errors. An empty text has an empty mapping as
 * its root. Kinds: config.syntax, config.duplicate_key, config.limit, memory. */
hr_status hr__config_parse(const char *name, const char *text, size_t size, hr__config **out, hr_error *err);
/* (io/config_file.h has the same from a file.) */
/* Changes one value before it is read: "train.learning_rate=0.01", "model.dnn_hidden_units=[64, 32]",
 * "model.dnn_hidden_units[0]=64". The value is YAML; nothing after the = takes a value away. A key that is missing is
 * added, with the mappings above it. Nodes that were found before are still those of the old tree. Errors of the value,
 * also later ones, name the option in the place of file, line and column. Kinds: config.set, config.value,
 * config.syntax. */
hr_status hr__config_set(hr__config *config, const char *option, hr_error *err);
/* All of them, in their order. */
HR_API hr_status hr__config_set_all(hr__config *config, const char *const *options, int count, hr_error *err);
HR_API void hr__config_free(hr__config *config);
HR_API const hr__node *hr__config_root(const hr__config *config);
const char *hr__config_name(const hr__config *config);

/* ---- errors at a node ---- */

/* Fails with "FILE:LINE:COLUMN: PATH: " before the text, and sets the error's file and line. */
HR_API hr_status hr__node_fail(const hr__node *node, hr_error *err, hr_status code, const char *kind,
                               const char *format, ...) HR_PRINTF(5, 6);
/* Fails with "expected EXPECTED, found ...": kind config.type. */
HR_API hr_status hr__node_expected(const hr__node *node, const char *expected, hr_error *err);
/* Fails with "unknown WHAT 'name'; did you mean ...?" of a scalar whose text is none of the names:
 * config.unknown_name. */
HR_API hr_status hr__node_unknown(const hr__node *node, const char *what, const char *const *names, int64_t count,
                                  hr_error *err);
/* Adds "model.dnn_feature_columns[3]", nothing for the root. Lack of memory sticks to the text. */
HR_API void hr__node_path(const hr__node *node, hr__text *to);

/* ---- mappings ---- */

/* The value of a key, NULL if there is none, or `map` is no mapping or NULL. */
HR_API const hr__node *hr__node_get(const hr__node *map, const char *key);
/* The same; a missing one fails: config.missing_key. `map` must be a mapping. */
HR_API hr_status hr__node_need(const hr__node *map, const char *key, const hr__node **out, hr_error *err);
/* Refuses a node that is no mapping, and keys that are not in the list, which ends with NULL: config.unknown_key. */
HR_API hr_status hr__config_check_keys(const hr__node *map, const char *const *allowed, hr_error *err);
/* One of the kinds (HR__SCALAR | HR__MAPPING, ...), or config.type. */
HR_API hr_status hr__node_is(const hr__node *node, unsigned kinds, hr_error *err);

/* ---- values: config.type for another kind of value, config.value for one out of range ---- */

HR_API bool hr__node_is_null(const hr__node *node); /* nothing at all, ~ or null, not quoted */
bool hr__node_is_text(const hr__node *node, const char *text);
HR_API hr_status hr__node_int64(const hr__node *node, int64_t min, int64_t max, int64_t *out, hr_error *err);
hr_status hr__node_uint64(const hr__node *node, uint64_t *out, hr_error *err);
HR_API hr_status hr__node_double(const hr__node *node, double *out, hr_error *err);
hr_status hr__node_bool(const hr__node *node, bool *out, hr_error *err); /* true, false; yes, no, on, off */
/* Any scalar but an empty plain one as a text without NUL bytes: lends it. */
HR_API hr_status hr__node_text(const hr__node *node, const char **out, hr_error *err);
/* The number of the name that the scalar says; `what` is the word for them in the error. */
HR_API hr_status hr__node_choice(const hr__node *node, const char *what, const char *const *names, int64_t count,
                                 int64_t *out, hr_error *err);

/* The same for the value of a key; where the key is missing or null, *out stays what it is. */
HR_API hr_status hr__config_int64(const hr__node *map, const char *key, int64_t min, int64_t max, int64_t *out,
                                  hr_error *err);
hr_status hr__config_uint64(const hr__node *map, const char *key, uint64_t *out, hr_error *err);
HR_API hr_status hr__config_double(const hr__node *map, const char *key, double *out, hr_error *err);
HR_API hr_status hr__config_bool(const hr__node *map, const char *key, bool *out, hr_error *err);
HR_API hr_status hr__config_text(const hr__node *map, const char *key, const char **out, hr_error *err);

#ifdef __cplusplus
}
#endif
#endif
