/* See click_model.h. */
#include "bench/click_model.h"
#include <math.h>
#include <stdio.h>

enum { BUCKETS = 10000 };

static const float boundary[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024};

/* ---- columns ---- */

static void log1p_of(const void *in, hr_dtype dtype, float *out, int64_t count, void *user)
{
    const int64_t *x = in;
    (void)dtype, (void)user;
    for (int64_t i = 0; i < count; i++) out[i] = log1pf(x[i] > 0 ? (float)x[i] : 0);
}

static hr_feature_column *number(int i, hr_normalizer_fn *fn)
{
    char key[8];
    snprintf(key, sizeof key, "I%d", i % 100);
    return hr_numeric_column(key, .dtype = HR_INT64, .default_value = HR_F32(0), .normalizer_fn = fn);
}

static hr_feature_column *category(int c)
{
    char key[8];
    snprintf(key, sizeof key, "C%d", c % 100);
    return hr_categorical_column_with_hash_bucket(key, BUCKETS);
}

static void make_wide(hr_feature_column **out)
{
    for (int i = 1; i <= 13; i++) *out++ = hr_bucketized_column(number(i, NULL), boundary, 11);
    for (int c = 1; c <= 26; c++) *out++ = category(c);
    *out++ = hr_crossed_column(HR_CROSS({.key = "C1"}, {.key = "C2"}), BUCKETS);
    *out++ = hr_crossed_column(HR_CROSS({.key = "C3"}, {.key = "C4"}), BUCKETS);
}

static void make_deep(hr_feature_column **out, int dimension)
{
    for (int i = 1; i <= 13; i++) *out++ = number(i, log1p_of);
    for (int c = 1; c <= 26; c++) *out++ = hr_embedding_column(category(c), dimension);
}

void click_columns(click_model *m)
{
    if (m->wide) make_wide(m->column);
    if (m->deep) make_deep(m->column + (m->wide ? WIDE : 0), m->dimension ? m->dimension : 16);
    m->columns = (m->wide ? WIDE : 0) + (m->deep ? DEEP : 0);
}

/* ---- the input, as the pipeline's but without a remainder ---- */

hr_dataset *click_input(void *user)
{
    const click_model *m = user;
    char pattern[1024];
    hr_error err;
    hr_parse_spec *spec;
    snprintf(pattern, sizeof pattern, "%s/criteo-*.tfrecord", m->folder);
    hr_dataset *ds = hr_list_files(pattern, .shuffle = !m->in_order, .seed = 7);
    ds = hr_interleave(ds, hr_tfrecord_fn, NULL, .cycle_length = 4);
    if (!m->in_order) ds = hr_shuffle(ds, 10000, .seed = 7);
    ds = hr_batch(ds, m->rows ? m->rows : CLICK_ROWS, .drop_remainder = true);
    if (hr_make_parse_example_spec(((hr_column_list){m->column, m->columns}), &spec, &err, .label = "label") != HR_OK)
        return ds;
    ds = hr_prefetch(hr_parse_example(ds, spec, .label = "label"), HR_AUTOTUNE);
    hr_parse_spec_free(spec);
    return ds;
}

/* ---- the estimator ---- */

hr_estimator *click_estimator(click_model *m, const char *dir, const hr_run_config *given)
{
    const bool wide = m->wide, deep = m->deep;
    hr_run_config config = *given;
    config.tf_random_seed = 1;
    click_columns(m);
    hr_column_list linear = {m->column, WIDE}, dnn = {m->column + (wide ? WIDE : 0), DEEP};
    if (!deep)
        return hr_linear_classifier(.model_dir = dir, .linear_feature_columns = linear, .config = config,
                                    .linear_optimizer = hr_ftrl(1 / sqrtf(WIDE)));
    static const int64_t usual[CLICK_LAYERS] = {256, 128, 64};
    int layers = 0;
    while (layers < CLICK_LAYERS && m->units[layers] > 0) layers++;
    const hr_units units = layers ? (hr_units){m->units, layers} : (hr_units){usual, CLICK_LAYERS};
    if (!wide)
        return hr_dnn_classifier(.model_dir = dir, .dnn_feature_columns = dnn, .dnn_hidden_units = units,
                                 .config = config);
    return hr_dnn_linear_combined_classifier(.model_dir = dir, .linear_feature_columns = linear,
                                             .dnn_feature_columns = dnn, .dnn_hidden_units = units, .config = config);
}

void click_clear(click_model *m)
{
    for (int i = 0; i < m->columns; i++) hr_feature_column_unref(m->column[i]);
}
