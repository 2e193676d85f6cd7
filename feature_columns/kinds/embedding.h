/* What embedding_column and shared_embeddings have in common: a table's arguments, checked, described, read and
 * written. Not a public header. */
#ifndef HR__EMBEDDING_H
#define HR__EMBEDDING_H

#include <headrace/column_config.h>
#include <headrace/column_kernels.h>

typedef struct hr__embedding_spec {
    int64_t dimension;
    hr_combiner combiner;
    float mean, stddev, max_norm, minval, maxval;
    hr_table_initializer initializer;
    bool has_stddev, trainable, v1;
    const char *checkpoint, *tensor;
    const char *shared_name; /* NULL: a table of this column alone */
} hr__embedding_spec;

hr__embedding_spec hr__embedding_spec_of(int64_t dimension, const hr_embedding_column_opts *o, const char *shared_name);

/* A kind's functions of these names. */
hr_status hr__embedding_copy(void *spec, hr_error *err);
void hr__embedding_free(void *spec);
hr_status hr__embedding_describe(const void *spec, const hr_feature_column *const *source, hr_column_builder *out,
                                 hr_error *err);

/* A column of a table that others may look up, too, under that name. Takes the source. */
hr_feature_column *hr__shared_embedding_new(const hr__embedding_spec *spec, hr_feature_column *source);

/* A table in a config file; `stddev` is where o->stddev points to. */
#define HR__EMBEDDING_KEYS                                                                                             \
    "dimension", "combiner", "max_norm", "mean", "stddev", "trainable", "ckpt_to_load_from", "tensor_name_in_ckpt",    \
        "shared_embedding_name", "v1", "initializer", "minval", "maxval"
typedef struct hr__embedding_words {
    int64_t dimension;
    hr_embedding_column_opts o;
    float stddev;
    const char *shared_name; /* NULL: not given */
    bool v1;
} hr__embedding_words;
hr_status hr__embedding_read(const hr_config_reader *r, hr__embedding_words *out, hr_error *err);
void hr__embedding_write(hr_config_writer *w, const hr__embedding_spec *s, bool with_name);

#endif
