/* Headrace, warm starts: a model that begins with values of another training's checkpoint, instead of its initial ones.
 *
 *     hr_estimator *est = hr_dnn_classifier(.model_dir = "new", .dnn_feature_columns = columns,
 *                                           .dnn_hidden_units = HR_UNITS(64, 32),
 *                                           .warm_start_from = HR_WARM_START("old"));
 *
 * Of one checkpoint, and some variables alone: HR_WARM_START("old/model.ckpt-500", .vars_to_warm_start = "dnn/hidden").
 *
 * Names, rules and defaults are TensorFlow's: tf.estimator.WarmStartSettings, tf.estimator.VocabInfo,
 * tf.compat.v1.train.warm_start. Checkpoints that TensorFlow wrote do as well. */
#ifndef HR_WARM_START_H
#define HR_WARM_START_H

#include <headrace/feature_columns.h>
#include <headrace/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A variable whose rows or columns belong to the words of a vocabulary, which was another one in the checkpoint: values
 * follow their words. Floats of rank 2 only. The vocabularies are files with one word a line. */
typedef struct hr_vocab_info {
    const char *var_name;    /* of the new model */
    const char *new_vocab;   /* required */
    const char *old_vocab;   /* required */
    int64_t new_vocab_size;  /* so many first words count, which the file must have; default: all */
    int64_t old_vocab_size;  /* so many first words count; default: all */
    int64_t num_oov_buckets; /* rows or columns of the new model after its words */
    int axis;                /* 0: rows belong to words; 1: columns do, as in the layer of logits */
    /* What new words and out-of-vocabulary buckets begin with; default: zeros. What it points to is borrowed as long as
     * the settings are. */
    hr_initializer backup_initializer;
} hr_vocab_info;
typedef struct hr_vocab_info_list {
    const hr_vocab_info *info;
    int count;
} hr_vocab_info_list;
#define HR_VOCAB_INFO(...)                                                                                             \
    ((hr_vocab_info_list){(const hr_vocab_info[]){__VA_ARGS__},                                                        \
                          (int)(sizeof((const hr_vocab_info[]){__VA_ARGS__}) / sizeof(hr_vocab_info))})

/* A variable that has another name in the checkpoint. */
typedef struct hr_prev_var_name {
    const char *var_name, *prev_var_name;
} hr_prev_var_name;
typedef struct hr_prev_var_names {
    const hr_prev_var_name *name;
    int count;
} hr_prev_var_names;
#define HR_PREV_VAR_NAMES(...)                                                                                         \
    ((hr_prev_var_names){(const hr_prev_var_name[]){__VA_ARGS__},                                                      \
                         (int)(sizeof((const hr_prev_var_name[]){__VA_ARGS__}) / sizeof(hr_prev_var_name))})

/* What a model begins with. Names of variables are those of the new model, of a variable in pieces the whole one's. */
typedef struct hr_warm_start_settings {
    size_t struct_size;
    /* Required: a checkpoint's prefix, a folder, for its latest checkpoint, or the folder of a SavedModel. */
    const char *ckpt_to_initialize_from;
    /* Trainable variables whose name and ":0" this regular expression matches from the first letter on; default ".*". */
    const char *vars_to_warm_start;
    /* Instead: such expressions, HR_VOCABULARY("dnn/logits", "global_step"), for all global variables, also those that
     * are not trained. */
    hr_vocabulary_list var_list;
    bool vocab_info_only; /* instead: only the trainable variables of var_name_to_vocab_info */
    hr_vocab_info_list var_name_to_vocab_info;
    hr_prev_var_names var_name_to_prev_var_name;
} hr_warm_start_settings;
/* Settings as an argument: the checkpoint, then options. */
#define HR_WARM_START(...)                                                                                             \
    (&(hr_warm_start_settings){.struct_size = sizeof(hr_warm_start_settings), .ckpt_to_initialize_from = __VA_ARGS__})

/* Gives the variables of a graph of your own their values in a session, after they were initialized; borrows all. All
 * is read and checked before the first variable is changed. HR_NOT_FOUND: there is no such checkpoint.
 * HR_INVALID_ARGUMENT: "warm_start.argument" (settings that are none), "warm_start.unused" (a name of
 * var_name_to_vocab_info or var_name_to_prev_var_name that is not among the chosen variables), "warm_start.variable"
 * (the checkpoint has no such variable, or one of another shape or type), "warm_start.vocabulary" (a variable, or the
 * checkpoint's, does not fit its vocabulary), and those of vocabularies ("column.vocabulary_file", ...) and of regular
 * expressions ("graph.pattern"). */
HR_API hr_status hr_warm_start(hr_graph *g, hr_session *s, const hr_warm_start_settings *settings, hr_error *err);

#ifdef __cplusplus
}
#endif
#endif
