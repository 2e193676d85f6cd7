/* Columns, features and results of golden cases. The arithmetic is the library's; this only brings JSON into its
 * form. */
#include "tests/feature_columns/case_columns.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *case_memory(case_columns *cc, size_t bytes)
{
    if (cc->pieces == (int)(sizeof cc->memory / sizeof *cc->memory)) return NULL;
    return cc->memory[cc->pieces++] = calloc(1, bytes + 64);
}

/* ---- columns ---- */

static hr_feature_column *build(case_columns *cc, const cJSON *json);

static const char *key_of(const cJSON *json) { return golden_text(json, "key", ""); }

static hr_feature_column *refused(const char *what)
{
    hr_error err;
    hr_fail(&err, HR_INVALID_ARGUMENT, "case", "the C interface cannot say this: %s", what);
    return hr_feature_column_failed(&err);
}

static void normalize(const void *in, hr_dtype dtype, float *out, int64_t count, void *user)
{
    const case_normalizer *n = user;
    for (int64_t i = 0; i < count; i++) {
        if (n->multiply == 0) {
            float x = dtype == HR_FLOAT    ? ((const float *)in)[i]
                      : dtype == HR_DOUBLE ? (float)((const double *)in)[i]
                      : dtype == HR_INT64  ? (float)((const int64_t *)in)[i]
                                           : (float)((const int32_t *)in)[i];
            out[i] = (x - n->subtract) / n->divide;
        } else if (dtype == HR_FLOAT) {
            out[i] = ((const float *)in)[i] * (float)n->multiply;
        } else if (dtype == HR_DOUBLE) {
            out[i] = (float)(((const double *)in)[i] * n->multiply);
        } else if (dtype == HR_INT64) {
            out[i] = (float)(((const int64_t *)in)[i] * (int64_t)n->multiply);
        } else {
            out[i] = (float)(((const int32_t *)in)[i] * (int32_t)n->multiply);
        }
    }
}

static hr_dtype dtype_of(const cJSON *json) { return hr_dtype_named(golden_text(json, "dtype", "")); }

static void *numbers(case_columns *cc, const cJSON *array, bool floats, int64_t *count)
{
    const cJSON *item;
    *count = cJSON_IsArray(array) ? cJSON_GetArraySize(array) : 1;
    void *out = case_memory(cc, (size_t)*count * 8);
    int64_t i = 0;
    const cJSON *first = cJSON_IsArray(array) ? array->child : array;
    for (item = first; item && i < *count; item = item->next, i++) {
        if (floats)
            ((float *)out)[i] = (float)golden_number_double(item);
        else
            ((int64_t *)out)[i] = golden_number_int64(item);
    }
    return out;
}

static hr_shape shape_of(case_columns *cc, const cJSON *json)
{
    hr_shape shape = {0};
    int64_t count;
    if (!golden_get(json, "shape")) return shape;
    const int64_t *dims = numbers(cc, golden_get(json, "shape"), false, &count);
    shape.rank = (int)count;
    for (int i = 0; i < shape.rank; i++) shape.dims[i] = dims[i];
    return shape;
}

static hr_normalizer_fn *normalizer_of(case_columns *cc, const cJSON *json, void **user)
{
    const cJSON *normalizer = golden_get(json, "normalizer");
    if (!normalizer) return NULL;
    case_normalizer *n = *user = &cc->normalizer[cc->normalizers++];
    const cJSON *m = golden_get(normalizer, "multiply");
    n->multiply = m ? golden_number_double(m) : 0;
    if (!m) {
        n->subtract = (float)golden_number_double(golden_get(normalizer, "subtract"));
        n->divide = (float)golden_number_double(golden_get(normalizer, "divide"));
    }
    return normalize;
}

static hr_feature_column *build_numeric(case_columns *cc, const cJSON *json)
{
    hr_numeric_column_opts o = {.struct_size = sizeof o, .dtype = dtype_of(json)};
    const cJSON *given = golden_get(json, "default_value");
    o.shape = shape_of(cc, json);
    if (cJSON_IsString(given)) return refused("a default that is a string");
    if (given && !cJSON_IsNull(given)) {
        o.default_value = numbers(cc, given, true, &o.default_values);
        if (!cJSON_IsArray(given)) o.default_values = 1;
    }
    o.normalizer_fn = normalizer_of(cc, json, &o.user);
    if (cc->in_graph && o.normalizer_fn) { /* a graph has no functions of C */
        const case_normalizer *n = o.user;
        o.normalizer_fn = NULL;
        o.mean = n->subtract;
        o.std = n->divide;
    }
    return hr_numeric_column_with(key_of(json), &o);
}

static hr_feature_column *build_sequence_numeric(case_columns *cc, const cJSON *json)
{
    hr_sequence_numeric_column_opts o = {.struct_size = sizeof o, .dtype = dtype_of(json)};
    const cJSON *missing = golden_get(json, "default_value");
    if (missing && !cJSON_IsNumber(missing)) return refused("a default that is no number");
    if (missing) o.default_value = (float)golden_number_double(missing);
    o.shape = shape_of(cc, json);
    o.normalizer_fn = normalizer_of(cc, json, &o.user);
    return hr_sequence_numeric_column_with(key_of(json), &o);
}

static hr_feature_column *build_bucketized(case_columns *cc, const cJSON *json)
{
    int64_t count;
    const float *boundaries = numbers(cc, golden_get(json, "boundaries"), true, &count);
    return hr_bucketized_column(build(cc, golden_get(json, "source")), boundaries, (int)count);
}

static const int64_t *optional_int(case_columns *cc, const cJSON *json, const char *key)
{
    const cJSON *value = golden_get(json, key);
    int64_t count;
    return value && !cJSON_IsNull(value) ? numbers(cc, value, false, &count) : NULL;
}

static hr_feature_column *build_identity(case_columns *cc, const cJSON *json)
{
    return hr_categorical_column_with_identity(key_of(json), golden_int(json, "num_buckets", 0),
                                               .default_value = optional_int(cc, json, "default_value"));
}

static hr_vocabulary_column_opts vocabulary_opts(case_columns *cc, const cJSON *json)
{
    return (hr_vocabulary_column_opts){
        .struct_size = sizeof(hr_vocabulary_column_opts),
        .dtype = dtype_of(json),
        .default_value = optional_int(cc, json, "default_value"),
        .num_oov_buckets = golden_int(json, "num_oov_buckets", 0),
        .vocabulary_size = optional_int(cc, json, "vocabulary_size"),
    };
}

static hr_feature_column *build_vocabulary_list(case_columns *cc, const cJSON *json)
{
    const cJSON *words = golden_get(json, "vocabulary"), *word;
    hr_vocabulary_column_opts o = vocabulary_opts(cc, json);
    hr_vocabulary_list v = {.count = cJSON_GetArraySize(words)};
    const char **strings = case_memory(cc, (size_t)v.count * sizeof *strings);
    int64_t i = 0;
    bool ints = words->child && cJSON_IsNumber(words->child);
    cJSON_ArrayForEach(word, words)
    {
        if (ints && golden_number_double(word) != (double)golden_number_int64(word)) o.dtype = HR_DOUBLE;
        strings[i++] = ints ? NULL : word->valuestring;
    }
    int64_t count;
    if (ints)
        v.ints = numbers(cc, words, false, &count);
    else
        v.strings = strings;
    return hr_categorical_column_with_vocabulary_list_with(key_of(json), v, &o);
}

static hr_feature_column *build_vocabulary_file(case_columns *cc, const cJSON *json)
{
    hr_vocabulary_column_opts o = vocabulary_opts(cc, json);
    snprintf(cc->file, sizeof cc->file, "%s/%s", cc->c->folder, golden_text(json, "vocabulary_file", ""));
    return hr_categorical_column_with_vocabulary_file_with(key_of(json), cc->file, &o);
}

static hr_feature_column *build_hash(case_columns *cc, const cJSON *json)
{
    (void)cc;
    return hr_categorical_column_with_hash_bucket(key_of(json), golden_int(json, "hash_bucket_size", 0),
                                                  .dtype = dtype_of(json));
}

static hr_feature_column *build_crossed(case_columns *cc, const cJSON *json)
{
    const cJSON *keys = golden_get(json, "keys"), *key, *hash_key = golden_get(json, "hash_key");
    hr_cross_key list[32] = {{0}};
    int n = 0;
    cJSON_ArrayForEach(key, keys)
    {
        if (cJSON_IsString(key))
            list[n++].key = key->valuestring;
        else
            list[n++].column = build(cc, key);
    }
    const hr_cross_keys given = {list, n};
    return hr_crossed_column(given, golden_int(json, "hash_bucket_size", 0),
                             .hash_key = hash_key && !cJSON_IsNull(hash_key) ? golden_number_uint64(hash_key) : 0);
}

static hr_feature_column *build_weighted(case_columns *cc, const cJSON *json)
{
    return hr_weighted_categorical_column(build(cc, golden_get(json, "categorical_column")),
                                          golden_text(json, "weight_feature_key", ""), .dtype = dtype_of(json));
}

static hr_feature_column *build_indicator(case_columns *cc, const cJSON *json)
{
    return hr_indicator_column(build(cc, golden_get(json, "categorical_column")));
}

static hr_combiner combiner_of(const cJSON *json, const char *key, const char *fallback)
{
    const char *name = golden_text(json, key, fallback);
    return strcmp(name, "mean") == 0    ? HR_MEAN
           : strcmp(name, "sum") == 0   ? HR_SUM
           : strcmp(name, "sqrtn") == 0 ? HR_SQRTN
                                        : (hr_combiner)99;
}

static hr_feature_column *build_embedding(case_columns *cc, const cJSON *json)
{
    const cJSON *max_norm = golden_get(json, "max_norm");
    return hr_embedding_column(build(cc, golden_get(json, "categorical_column")), golden_int(json, "dimension", 0),
                               .combiner = combiner_of(json, "combiner", "mean"),
                               .max_norm =
                                   max_norm && !cJSON_IsNull(max_norm) ? (float)golden_number_double(max_norm) : 0,
                               .ckpt_to_load_from = golden_text(json, "ckpt_to_load_from", NULL),
                               .tensor_name_in_ckpt = golden_text(json, "tensor_name_in_ckpt", NULL));
}

static const struct {
    const char *kind;
    hr_feature_column *(*build)(case_columns *cc, const cJSON *json);
} builders[] = {
    {"numeric_column", build_numeric},
    {"bucketized_column", build_bucketized},
    {"categorical_column_with_identity", build_identity},
    {"categorical_column_with_vocabulary_list", build_vocabulary_list},
    {"categorical_column_with_vocabulary_file", build_vocabulary_file},
    {"categorical_column_with_hash_bucket", build_hash},
    {"sequence_numeric_column", build_sequence_numeric},
    {"crossed_column", build_crossed},
    {"weighted_categorical_column", build_weighted},
    {"indicator_column", build_indicator},
    {"embedding_column", build_embedding},
};

static hr_feature_column *build_kind(case_columns *cc, const cJSON *json, const char *kind)
{
    for (size_t i = 0; i < sizeof builders / sizeof *builders; i++) {
        if (strcmp(kind, builders[i].kind) != 0) continue;
        hr_feature_column *column = builders[i].build(cc, json);
        const hr_column_info *info = hr_feature_column_info(column);
        if (info && info->categorical) cc->categorical[cc->categoricals++] = hr_feature_column_ref(column);
        return column;
    }
    cc->not_built = kind;
    return refused(kind);
}

/* Of a sequence_categorical_column_with_* the ids are those of the column without steps. */
static hr_feature_column *build(case_columns *cc, const cJSON *json)
{
    const char *kind = golden_text(json, "kind", "");
    if (strncmp(kind, "sequence_categorical", 20) != 0) return build_kind(cc, json, kind);
    hr_feature_column *plain = build_kind(cc, json, kind + strlen("sequence_"));
    if (cc->categoricals > 0 && cc->categorical[cc->categoricals - 1] == plain)
        hr_feature_column_unref(cc->categorical[--cc->categoricals]);
    return hr_sequence_categorical_column(plain);
}

/* The columns of one entry that share a table. */
static void build_shared(case_columns *cc, const cJSON *json)
{
    const cJSON *max_norm = golden_get(json, "max_norm"), *each;
    hr_feature_column **out = &cc->column[cc->columns];
    int count = 0;
    cJSON_ArrayForEach(each, golden_get(json, "categorical_columns")) out[count++] = build(cc, each);
    cc->columns += count;
    const float norm = max_norm && !cJSON_IsNull(max_norm) ? (float)golden_number_double(max_norm) : 0;
    hr_shared_embeddings(out, count, golden_int(json, "dimension", 0), out,
                         .combiner = combiner_of(json, "combiner", "mean"), .max_norm = norm,
                         .shared_embedding_name = golden_text(json, "shared_embedding_collection_name", NULL),
                         .v1 = strcmp(golden_text(cc->c->json, "api", ""), "v1") == 0);
}

static void build_all(case_columns *cc, golden_case *c)
{
    cc->c = c;
    const cJSON *json;
    cJSON_ArrayForEach(json, golden_get(c->json, "columns"))
    {
        if (strcmp(golden_text(json, "kind", ""), "shared_embeddings") == 0)
            build_shared(cc, json);
        else
            cc->column[cc->columns++] = build(cc, json);
    }
    cJSON_ArrayForEach(json, golden_get(c->json, "context_columns")) cc->context[cc->contexts++] = build(cc, json);
}

void case_columns_build(case_columns *cc, golden_case *c, bool tf_compat)
{
    memset(cc, 0, sizeof *cc);
    cc->tf_compat = tf_compat;
    build_all(cc, c);
}

void case_columns_build_in_graph(case_columns *cc, golden_case *c)
{
    memset(cc, 0, sizeof *cc);
    cc->in_graph = true;
    build_all(cc, c);
}

hr_column_list case_columns_list(const case_columns *cc) { return (hr_column_list){cc->column, cc->columns}; }

void case_columns_free(case_columns *cc)
{
    for (int i = 0; i < cc->columns; i++) hr_feature_column_unref(cc->column[i]);
    for (int i = 0; i < cc->contexts; i++) hr_feature_column_unref(cc->context[i]);
    for (int i = 0; i < cc->categoricals; i++) hr_feature_column_unref(cc->categorical[i]);
    for (int i = 0; i < cc->features; i++)
        if (!cc->iterator) golden_tensor_clear(&cc->feature[i]);
    hr_iterator_free(cc->iterator);
    for (int i = 0; i < cc->pieces; i++) free(cc->memory[i]);
    hr__transformer_free(cc->transformer);
}

/* ---- features ---- */

static int64_t product(const int64_t *dims, int from, int to)
{
    int64_t n = 1;
    for (int i = from; i < to; i++) n *= dims[i];
    return n;
}

/* The second dimension as steps, all that the dense shape has of them. */
static void steps_of_sparse(case_columns *cc, const hr_tensor *t, hr_column_values *v)
{
    const int64_t each = t->shape.dims[1], count = v->rows * each;
    int32_t *steps = case_memory(cc, ((size_t)v->rows + 1) * sizeof *steps);
    int32_t *step_splits = case_memory(cc, ((size_t)count + 1) * sizeof *step_splits);
    for (int64_t r = 0; r <= v->rows; r++) steps[r] = (int32_t)(r * each);
    for (int64_t i = 0; i < t->count; i++)
        step_splits[t->indices[i * t->shape.rank] * each + t->indices[i * t->shape.rank + 1] + 1]++;
    for (int64_t s = 0; s < count; s++) step_splits[s + 1] += step_splits[s];
    v->steps = steps;
    v->step_splits = step_splits;
}

/* Rows of a sparse tensor; dimensions after the first are flattened into places in the row. */
static void from_sparse(case_columns *cc, const hr_tensor *t, hr_column_values *v)
{
    const int rank = t->shape.rank;
    int32_t *splits = case_memory(cc, ((size_t)v->rows + 1) * sizeof *splits);
    int64_t *inner = case_memory(cc, (size_t)t->count * sizeof *inner);
    for (int64_t i = 0; i < t->count; i++) {
        splits[t->indices[i * rank] + 1]++;
        for (int d = 1; d < rank; d++) inner[i] = inner[i] * t->shape.dims[d] + t->indices[i * rank + d];
    }
    for (int64_t r = 0; r < v->rows; r++) splits[r + 1] += splits[r];
    v->splits = splits;
    v->inner = inner;
    v->dense_width = product(t->shape.dims, 1, rank);
    if (rank > 2) steps_of_sparse(cc, t, v);
}

hr_status case_columns_values(case_columns *cc, int i, hr_error *err)
{
    const hr_tensor *t = &cc->feature[i];
    hr_column_values *v = &cc->values[i];
    const int rank = t->shape.rank;
    if (rank == 0)
        return hr_fail(err, HR_INVALID_ARGUMENT, "case", "feature '%s': expected rows, got rank 0", cc->name[i]);
    *v = (hr_column_values){.dtype = t->dtype, .rows = t->shape.dims[0], .values = t->data, .count = t->count};
    v->rank = rank - 1;
    v->width = product(t->shape.dims, 1, rank);
    v->dense_steps = rank > 2 ? t->shape.dims[1] : 0;
    cc->lists[i] = rank > 2 ? product(t->shape.dims, 1, rank - 1) : 1;
    if (t->layout == HR_SPARSE) from_sparse(cc, t, v);
    return HR_OK;
}

hr_status case_columns_features(case_columns *cc, const cJSON *features, hr_error *err)
{
    const cJSON *json;
    cJSON_ArrayForEach(json, features)
    {
        int i = cc->features;
        cc->name[i] = json->string;
        if (!golden_tensor(json, &cc->feature[i]))
            return hr_fail(err, HR_INTERNAL, "case", "feature '%s' is no tensor", json->string);
        cc->features++;
        HR_TRY(case_columns_values(cc, i, err));
    }
    return HR_OK;
}

/* ---- the transformation ---- */

static void *scratch(void *user, size_t bytes) { return case_memory(user, bytes); }
static int64_t *ids(void *user, int output, int64_t n)
{
    (void)output;
    return case_memory(user, (size_t)n * sizeof(int64_t));
}
static int32_t *splits(void *user, int output)
{
    (void)output;
    case_columns *cc = user;
    return case_memory(cc, ((size_t)cc->values[0].rows + 4096) * sizeof(int32_t));
}
static float *floats(void *user, int output, int64_t n)
{
    (void)output;
    return case_memory(user, (size_t)n * sizeof(float));
}
static void fail_row(void *user, int64_t row, const hr_error *err)
{
    case_columns *cc = user;
    (void)row;
    if (cc->err.code == HR_OK) cc->err = *err;
}

static int feature_of(const case_columns *cc, const char *name)
{
    for (int i = 0; i < cc->features; i++)
        if (strcmp(cc->name[i], name) == 0) return i;
    return -1;
}

/* The raw inputs in the transformer's order; all must have the same number of rows. */
static hr_status gather(case_columns *cc, hr_column_values *raw, int64_t *rows, hr_error *err)
{
    for (int i = 0; i < hr__transformer_raws(cc->transformer); i++) {
        int at = feature_of(cc, hr__transformer_raw(cc->transformer, i));
        if (at < 0)
            return hr_fail(err, HR_INVALID_ARGUMENT, "case", "no feature '%s'",
                           hr__transformer_raw(cc->transformer, i));
        raw[i] = cc->values[at];
        if (i > 0 && raw[i].rows != *rows)
            return hr_fail(err, HR_INVALID_ARGUMENT, "case", "features of different batch sizes");
        *rows = raw[i].rows;
    }
    return HR_OK;
}

hr_status case_columns_transform(case_columns *cc, hr_error *err)
{
    hr_feature_column *all[MAX_COLUMNS * 5];
    int count = 0;
    for (int i = 0; i < cc->columns; i++) {
        const hr_error *failed = hr_feature_column_error(cc->column[i]);
        if (failed) {
            *err = *failed;
            return failed->code;
        }
        all[count++] = cc->column[i];
    }
    for (int i = 0; i < cc->contexts; i++) all[count++] = cc->context[i];
    for (int i = 0; i < cc->categoricals; i++) all[count++] = cc->categorical[i];
    HR_TRY(hr__transformer_new((hr_column_list){all, count}, &cc->transformer, err));
    hr_column_values raw[MAX_FEATURES];
    int64_t rows = 0;
    HR_TRY(gather(cc, raw, &rows, err));
    HR_TRY(hr__transformer_accept(cc->transformer, raw, err));
    cc->result = case_memory(cc, (size_t)hr__transformer_outputs(cc->transformer) * sizeof *cc->result);
    hr__column_memory memory = {scratch, ids, splits, floats, fail_row, cc, cc->tf_compat};
    HR_TRY(hr__transform(cc->transformer, &memory, rows, raw, cc->result, err));
    if (cc->err.code != HR_OK) *err = cc->err;
    return cc->err.code;
}

const hr_column_values *case_columns_result(const case_columns *cc, const char *component)
{
    for (int i = 0; i < hr__transformer_outputs(cc->transformer); i++)
        if (strcmp(hr__transformer_output(cc->transformer, i)->info->component, component) == 0) return &cc->result[i];
    return NULL;
}

/* ---- dense forms ---- */

const float *case_table(case_columns *cc, const cJSON *tables, const char *name)
{
    hr_tensor t;
    const cJSON *json = golden_get(tables, name);
    if (!json || !golden_tensor(json, &t)) return NULL;
    size_t bytes = (size_t)t.count * sizeof(float);
    float *table = case_memory(cc, bytes);
    if (bytes > 0) memcpy(table, t.data, bytes);
    golden_tensor_clear(&t);
    return table;
}

/* What one list of ids each makes of a column: [lists, width]. */
static hr_status dense_lists(case_columns *cc, const hr_column_info *info, const cJSON *tables,
                             const hr_column_values *v, const int32_t *splits, int64_t lists, float *out, hr_error *err)
{
    if (info->dense == HR_COLUMN_COUNTS) {
        hr_count_ids(v->values, v->weights, splits, lists, info->num_buckets, out, info->width);
        return HR_OK;
    }
    const char *table = info->table.shared_name ? info->table.shared_name : info->name;
    hr_lookup lookup = {case_table(cc, tables, table), info->num_buckets, info->width, info->table.combiner,
                        .max_norm = info->table.max_norm};
    if (!lookup.table) return hr_fail(err, HR_INTERNAL, "case", "no table for %s", table);
    return hr_combine_rows(&lookup, v->values, v->weights, splits, lists, out, err);
}

hr_status case_dense(case_columns *cc, const hr_feature_column *column, const cJSON *tables, float **out, int64_t *rows,
                     hr_error *err)
{
    const hr_column_info *info = hr_feature_column_info(column);
    const hr_column_values *v = case_columns_result(cc, info->component);
    *rows = v->rows;
    *out = case_memory(cc, (size_t)(v->rows * info->width) * sizeof **out);
    if (info->dense != HR_COLUMN_VALUES) return dense_lists(cc, info, tables, v, v->splits, v->rows, *out, err);
    memcpy(*out, v->values, (size_t)(v->rows * info->width) * sizeof **out);
    return HR_OK;
}

hr_status case_sequence(case_columns *cc, const hr_feature_column *column, const cJSON *tables, hr_tensor *out,
                        hr_error *err)
{
    const hr_column_info *info = hr_feature_column_info(column);
    const hr_column_values *v = case_columns_result(cc, info->component);
    const int64_t steps = v->steps[v->rows];
    const hr_dtype dtype = info->dense == HR_COLUMN_VALUES ? info->dtype : HR_FLOAT;
    const size_t size = (size_t)info->width * hr_dtype_size(dtype);
    const void *values = v->values;
    int64_t max = v->dense_steps;
    for (int64_t r = 0; r < v->rows; r++)
        if (v->steps[r + 1] - v->steps[r] > max) max = v->steps[r + 1] - v->steps[r];
    if (info->dense != HR_COLUMN_VALUES) {
        float *lists = case_memory(cc, (size_t)steps * size);
        HR_TRY(dense_lists(cc, info, tables, v, v->step_splits, steps, lists, err));
        values = lists;
    }
    char *padding = case_memory(cc, size);
    for (int64_t i = 0; i < info->width; i++) {
        if (dtype == HR_FLOAT) ((float *)(void *)padding)[i] = info->padding;
        if (dtype == HR_DOUBLE) ((double *)(void *)padding)[i] = (double)info->padding;
        if (dtype == HR_INT64) ((int64_t *)(void *)padding)[i] = (int64_t)info->padding;
        if (dtype == HR_INT32) ((int32_t *)(void *)padding)[i] = (int32_t)info->padding;
    }
    void *dense = case_memory(cc, (size_t)(v->rows * max) * size);
    hr_pad_sequence(values, size, v->steps, v->rows, max, padding, dense);
    *out = hr_tensor_of(dtype, HR_SHAPE(v->rows, max, info->width), dense);
    return HR_OK;
}
