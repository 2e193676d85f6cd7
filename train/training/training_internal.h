/* The inside of a training from a file: what its sections are read into, and what its calls make of that. */
#ifndef HR_TRAINING_INTERNAL_H
#define HR_TRAINING_INTERNAL_H

#include "base/text.h"
#include "feature_columns/config/columns_section.h"
#include "feature_columns/derived/derived_section.h"
#include "io/schema/schema.h"
#include "train/estimator/estimator_internal.h"
#include <headrace/heads.h>
#include <headrace/training_file.h>

enum { HR__ALL_ROWS = -2 }; /* of a shuffle; as for hr_shuffle */

/* A kind of head by its name in a file, and the keys that describe it there. */
typedef struct hr__head_words {
    const char *name;
    const char *const *keys;                    /* besides those of all heads */
    hr_head *(*make)(const hr_head_opts *opts); /* or, of several classes: */
    hr_head *(*make_of)(int64_t n_classes, const hr_head_opts *opts);
    bool many;          /* a label is a number for each class */
    bool exact;         /* evaluate computes exact scores of its probabilities */
    const char *answer; /* the prediction that predict prints by itself */
} hr__head_words;

typedef struct hr__training_head {
    const hr__head_words *kind;
    const char *label; /* the field that it learns; of the config, as the name in `opts` */
    const hr__node *label_node;
    double share; /* of its loss, in that of several heads */
    int64_t n_classes;
    hr_head_opts opts; /* texts are the config's, arrays the training's */
    hr_reduction reduction;
    hr_view *word; /* the label vocabulary */
    char *words;   /* its bytes, where it is a file */
    float *threshold;
    int64_t *metric_class;
    const hr__node *vocabulary, *weights; /* where they stand; NULL: nowhere */
    hr_parse_spec *spec;                  /* the features of the columns, its label and its weights */
} hr__training_head;

/* The features that the model reads, some of which are derived; and what is parsed for them. */
typedef struct hr__training_spec {
    hr_parse_spec *wanted, *parsed;
} hr__training_spec;

struct hr_training {
    hr__config *config;
    const char *data; /* the folder of relative names, NULL: the current one */
    hr__schema_file schema_file;
    hr_schema schema;        /* the same as the columns want it; owns field */
    hr_derived_list derived; /* the section `derived:`, and what the training derives itself */
    hr_schema all;           /* the fields of both; owns field */
    hr__config_columns *columns;
    hr_column_list linear, dnn, sequence, context;
    hr__training_spec spec, unlabelled; /* with labels and weights, without */
    hr_parse_spec joined;               /* what spec.wanted is, of several heads; owns the array */
    /* Of rows that need no label: they may lack what only the label is made of, and `require` does not look at it. The
     * second ones are the same rows with these fields, if they have them. */
    hr_example_rows_opts rows, unlabelled_rows, whole_rows;
    hr__schema_file unlabelled_file; /* owns its list of fields */
    hr_csv_opts csv;
    hr_optimizer *linear_optimizer, *dnn_optimizer; /* that of an RNN is the latter */
    hr_activation_fn *activation;
    hr_rnn_fn *cell;
    const hr__canned *kind;
    hr__training_head *head; /* one, or a list */
    int heads;
    bool multi_head;                    /* `head:` is a list */
    const char *label;                  /* of the first head: the one that evaluations count rows by */
    hr_warm_start_settings warm;        /* texts are the config's, but for paths; arrays are the training's */
    bool warms;                         /* there are some */
    char *warm_path, **warm_vocabulary; /* the latter: the two files of each vocabulary */
    int64_t *units, unit_count;
    double dropout;
    bool batch_norm, v1;
    hr_combiner combiner;      /* of the linear half */
    const hr__node *rate_node; /* train.learning_rate; NULL: none */
    bool rate_used;            /* an optimizer has it */
    char *model_dir, *files, *eval_files, *passes;
    int64_t batch_size, epochs, shuffle /* or HR__ALL_ROWS */, cycle_length, max_steps, seed;
    bool drop_remainder; /* of the training: a last batch with fewer rows is left out */
    hr_run_config run;
    hr__text identity;
    result *results; /* of the last evaluation */
    int result_count;
};

/* model_section.c, head_section.c, train_section.c: one section each, or a part of one. */
hr_status hr__training_read_model(hr_training *t, const hr__node *root, const hr_training_opts *o, hr_error *err);
/* What the model learns: `model: label:`, which may be derived, else the schema's label. Of a list of heads each has its
 * own. */
hr_status hr__training_read_label(hr_training *t, const hr__node *root, hr_error *err);
/* The head of `named` ("class", "regression"), by the keys of `map`; the other keys that may stand there are `others`. */
hr_status hr__training_read_head(hr_training *t, const hr__node *map, const char *named, const char *const *others,
                                 hr_error *err);
/* The same for the key `head:` of an estimator of any head: a kind, a mapping, or a list of those. */
hr_status hr__training_read_head_section(hr_training *t, const hr__node *model, hr_error *err);
/* Strings are labels where a vocabulary says which classes they are. */
hr_status hr__training_check_labels(const hr_training *t, hr_error *err);
hr_head *hr__training_head_new(const hr_training *t); /* NULL: no memory */
void hr__training_free_heads(hr_training *t);

/* rnn_section.c: the keys of an RNN estimator. */
hr_status hr__training_read_rnn(hr_training *t, const hr__node *model, hr_error *err);
/* warm_start_section.c: `warm_start_from` of the section model. */
hr_status hr__training_read_warm_start(hr_training *t, const hr__node *model, hr_error *err);
void hr__training_free_warm_start(hr_training *t);

/* model_parts.c: the training's learning rate, which some optimizer must take; a list of columns, for a layer; an
 * optimizer, of which `usual` is the kind that the estimator has where the file names none; a list of widths. */
hr_status hr__training_read_rate(hr_training *t, const hr__node *root, hr_error *err);
hr_status hr__training_check_rate(const hr_training *t, hr_error *err);
hr_status hr__training_read_columns(hr_training *t, const hr__node *model, const char *key, hr_column_layer layer,
                                    hr_column_list *out, hr_error *err);
hr_status hr__training_read_optimizer(hr_training *t, const hr__node *model, const char *key, const char *usual,
                                      hr_optimizer **out, hr_error *err);
hr_status hr__training_read_units(hr_training *t, const hr__node *model, const char *key, hr_error *err);
hr_status hr__training_read_train(hr_training *t, const hr__node *root, const hr_training_opts *o, hr_error *err);

/* rows_section.c: `format`, `csv` and `require` of the section train. */
hr_status hr__training_read_rows(hr_training *t, const hr__node *train, hr_error *err);
void hr__training_free_rows(hr_training *t);

/* derived_section.c: fields, also those that are made of others. */
hr_status hr__training_read_derived(hr_training *t, const hr__node *root, hr_error *err);
/* Adds one of the training's own; takes it. Errors are told at `node`. */
hr_status hr__training_derive(hr_training *t, const hr__node *node, hr_derived_feature *feature, hr_error *err);
void hr__training_free_derived(hr_training *t);
/* `node` names one of the fields, or is refused. */
hr_status hr__training_need_field(const hr__node *node, const hr_schema *fields, hr_error *err);

/* input.c: what must be parsed. */
hr_status hr__training_make_specs(hr_training *t, hr_error *err);
void hr__training_free_specs(hr_training *t);
/* Refuses a training without eval_files where none are given: training.eval_files. */
hr_status hr__training_need_files(const hr_training *t, const hr_file_list *files, const char *verb, hr_error *err);
/* Like hr_training_predict_input, with labels. */
hr_dataset *hr__training_scored_input(void *user);
/* The fields of these names: the rows and batches of hr_training_predict_input. Gives; NULL after a failure. */
hr_dataset *hr__training_fields_input(const hr_training_predicted *p, const char *const *names, int count,
                                      hr_error *err);
/* The names of all files as strings [n]: hr_tensor_clear. */
hr_status hr__training_file_names(const hr_file_list *files, hr_tensor *out, hr_error *err);

#endif
