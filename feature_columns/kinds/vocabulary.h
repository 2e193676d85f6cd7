/* What the two vocabulary columns have in common: words to ids, with or without buckets for unknown words. Not a public
 * header. */
#ifndef HR__VOCABULARY_H
#define HR__VOCABULARY_H

#include <headrace/column_config.h>
#include <headrace/column_graph.h>

typedef struct hr__vocabulary_spec {
    const char *key;
    const char *file;               /* NULL: a list */
    hr_vocabulary_list given;       /* of a list, borrowed until the copy is made */
    const int64_t *vocabulary_size; /* borrowed as well */
    int64_t given_size;             /* the same, 0: none */
    bool records;                   /* of the file: a word a TFRecord */
    hr_dtype dtype;
    int64_t default_value, oov;
    bool has_default;
    hr_words *words;
} hr__vocabulary_spec;

/* The descriptor's functions. copy takes over key, and gets the words by `read`. */
hr_status hr__vocabulary_copy(hr__vocabulary_spec *s, hr_status (*read)(hr__vocabulary_spec *s, hr_error *err),
                              hr_error *err);
void hr__vocabulary_free(void *spec);
hr_status hr__vocabulary_describe(const void *spec, const hr_feature_column *const *source, hr_column_builder *out,
                                  hr_error *err);
hr_status hr__vocabulary_accept(const void *spec, const hr_column_values *in, hr_error *err);
hr_status hr__vocabulary_transform(const void *spec, hr_column_work *w, const hr_column_values *in,
                                   hr_column_values *out, hr_error *err);
hr_status hr__vocabulary_to_graph(const void *spec, const hr_column_graph *g, const hr_column_nodes *in,
                                  hr_column_nodes *out, hr_error *err);
hr__vocabulary_spec hr__vocabulary_new(const char *key, const hr_vocabulary_column_opts *opts);

hr_status hr__vocabulary_read_options(const hr_config_reader *r, hr_dtype dtype, int64_t *missing,
                                      hr_vocabulary_column_opts *o, hr_error *err);
void hr__vocabulary_write_options(hr_config_writer *w, const hr__vocabulary_spec *s);

#endif
