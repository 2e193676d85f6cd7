/* The golden topic feature_columns: specs, ids, weights and the input layer, in both modes. */
#include "tests/feature_columns/parse_case.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the parsing spec ---- */

static bool same_default(golden_case *c, const char *key, const cJSON *expected, const hr_tensor *got)
{
    if (!expected || cJSON_IsNull(expected)) return got == NULL;
    return got && golden_equal_json(c, key, expected, got);
}

static bool same_feature(golden_case *c, const cJSON *expected, const hr_feature *got)
{
    bool fixed = strcmp(golden_text(expected, "type", ""), "FixedLen") == 0;
    if ((got->kind == HR_FIXED_LEN) != fixed) return false;
    if (strcmp(golden_text(expected, "dtype", ""), hr_dtype_name(got->dtype)) != 0) return false;
    if (!fixed) return true;
    const cJSON *dim;
    int i = 0;
    cJSON_ArrayForEach(dim, golden_get(expected, "shape"))
    {
        if (i >= got->shape.rank || golden_number_int64(dim) != got->shape.dims[i]) return false;
        i++;
    }
    return i == got->shape.rank && same_default(c, got->key, golden_get(expected, "default"), got->default_value);
}

static golden_result compare_spec(golden_case *c, const cJSON *expected, const hr_parse_spec *spec)
{
    if (!expected) return GOLDEN_AGREES;
    if (cJSON_GetArraySize(expected) != spec->features)
        return golden_differs(c, "spec: expected %d features, got %d", cJSON_GetArraySize(expected), spec->features);
    for (int i = 0; i < spec->features; i++) {
        const cJSON *e = golden_get(expected, spec->feature[i].key);
        if (!e || !same_feature(c, e, &spec->feature[i]))
            return golden_differs(c, "spec of '%s' differs", spec->feature[i].key);
    }
    return GOLDEN_AGREES;
}

/* ---- ids ---- */

/* A place in the row out of sparse indices: the dimensions after the first, flattened. */
static int64_t place_of(const hr_tensor *t, int64_t i)
{
    int64_t place = 0;
    for (int d = 1; d < t->shape.rank; d++) place = place * t->shape.dims[d] + t->indices[i * t->shape.rank + d];
    return place;
}

static int64_t integer_of(const hr_tensor *t, int64_t i)
{
    return t->dtype == HR_INT32 ? ((const int32_t *)t->data)[i] : ((const int64_t *)t->data)[i];
}

static int64_t width_of(const hr_column_values *v)
{
    int64_t longest = 0;
    for (int64_t r = 0; r < v->rows; r++)
        if (v->splits[r + 1] - v->splits[r] > longest) longest = v->splits[r + 1] - v->splits[r];
    return v->dense_width ? v->dense_width : longest;
}

static golden_result compare_places(golden_case *c, const char *name, const hr_tensor *t, const hr_column_values *v)
{
    int64_t width = 1;
    for (int d = 1; d < t->shape.rank; d++) width *= t->shape.dims[d];
    if (t->count != v->count || t->shape.dims[0] != v->rows || width != width_of(v))
        return golden_differs(c, "%s: expected %lld ids, %lld rows, width %lld, got %lld, %lld, %lld", name,
                              (long long)t->count, (long long)t->shape.dims[0], (long long)width, (long long)v->count,
                              (long long)v->rows, (long long)width_of(v));
    for (int64_t i = 0; i < v->count; i++) {
        int64_t row = hr_column_row_of(v, i), place = v->inner ? v->inner[i] : i - v->splits[row];
        while (v->splits[row + 1] <= i) row++;
        if (t->indices[i * t->shape.rank] != row || place_of(t, i) != place)
            return golden_differs(c, "%s: value %lld lies elsewhere", name, (long long)i);
    }
    return GOLDEN_AGREES;
}

static golden_result compare_ids(golden_case *c, const cJSON *expected, const hr_column_values *v)
{
    hr_tensor t;
    if (!golden_tensor(golden_get(expected, "ids"), &t)) return golden_differs(c, "%s: no ids", expected->string);
    golden_result result = compare_places(c, expected->string, &t, v);
    for (int64_t i = 0; i < v->count && result == GOLDEN_AGREES; i++)
        if (((const int64_t *)v->values)[i] != integer_of(&t, i))
            result = golden_differs(c, "%s: id %lld: expected %lld, got %lld", expected->string, (long long)i,
                                    (long long)integer_of(&t, i), (long long)((const int64_t *)v->values)[i]);
    golden_tensor_clear(&t);
    return result;
}

static golden_result compare_weights(golden_case *c, const cJSON *expected, const hr_column_values *v)
{
    hr_tensor t;
    const cJSON *weights = golden_get(expected, "weights");
    if (!weights) return v->weights ? golden_differs(c, "%s: weights", expected->string) : GOLDEN_AGREES;
    if (!golden_tensor(weights, &t)) return golden_differs(c, "%s: weights are no tensor", expected->string);
    golden_result result = GOLDEN_AGREES;
    if (!v->weights || t.count != v->count) result = golden_differs(c, "%s: no weights", expected->string);
    for (int64_t i = 0; i < v->count && result == GOLDEN_AGREES; i++)
        if (((const float *)t.data)[i] != v->weights[i])
            result = golden_differs(c, "%s: weight %lld differs", expected->string, (long long)i);
    golden_tensor_clear(&t);
    return result;
}

static golden_result compare_columns(case_columns *cc, const cJSON *columns)
{
    const cJSON *expected;
    cJSON_ArrayForEach(expected, columns)
    {
        const hr_column_values *v = case_columns_result(cc, expected->string);
        if (!v) return golden_differs(cc->c, "no column '%s'", expected->string);
        golden_result result = compare_ids(cc->c, expected, v);
        if (result == GOLDEN_AGREES) result = compare_weights(cc->c, expected, v);
        if (result != GOLDEN_AGREES) return result;
        for (int i = 0; i < hr__transformer_outputs(cc->transformer); i++) {
            const hr_column_info *info = hr__transformer_output(cc->transformer, i)->info;
            if (strcmp(info->name, expected->string) == 0 &&
                info->num_buckets != golden_int(expected, "num_buckets", -1))
                return golden_differs(cc->c, "%s: %lld buckets", info->name, (long long)info->num_buckets);
        }
    }
    return GOLDEN_AGREES;
}

/* ---- the input layer ---- */

static hr_status input_layer(case_columns *cc, const hr_feature_column *const *sorted, int columns, hr_tensor *out,
                             hr_error *err)
{
    const cJSON *tables = golden_get(cc->c->json, "embeddings");
    int64_t width = 0, rows = 0, at = 0;
    for (int i = 0; i < columns; i++) width += hr_feature_column_info(sorted[i])->width;
    float *whole = NULL;
    for (int i = 0; i < columns; i++) {
        float *part;
        int64_t own = hr_feature_column_info(sorted[i])->width;
        HR_TRY(case_dense(cc, sorted[i], tables, &part, &rows, err));
        if (!whole) whole = case_memory(cc, (size_t)(rows * width) * sizeof *whole);
        for (int64_t r = 0; r < rows; r++) memcpy(whole + r * width + at, part + r * own, (size_t)own * sizeof *part);
        at += own;
    }
    *out = hr_tensor_of(HR_FLOAT, HR_SHAPE(rows, width), whole);
    return HR_OK;
}

static golden_result compare_order(golden_case *c, const cJSON *order, const hr_feature_column **sorted, int count)
{
    const cJSON *name;
    int i = 0;
    cJSON_ArrayForEach(name, order)
    {
        if (i >= count || strcmp(hr_feature_column_info(sorted[i])->name, name->valuestring) != 0)
            return golden_differs(c, "column %d is not '%s'", i, name->valuestring);
        i++;
    }
    return GOLDEN_AGREES;
}

/* ---- sequences ---- */

/* Tensors of [rows, steps, own width] side by side. Their types and numbers of steps must agree. */
static hr_status join(case_columns *cc, const hr_tensor *part, int parts, hr_tensor *out, hr_error *err)
{
    const size_t size = hr_dtype_size(part[0].dtype);
    int64_t width = 0, at = 0;
    for (int i = 0; i < parts; i++) {
        if (part[i].dtype != part[0].dtype || part[i].shape.dims[1] != part[0].shape.dims[1])
            return hr_fail(err, HR_INVALID_ARGUMENT, "case", "parts of different types or lengths");
        width += part[i].shape.dims[2];
    }
    const int64_t steps = part[0].shape.dims[0] * part[0].shape.dims[1];
    char *whole = case_memory(cc, (size_t)(steps * width) * size);
    for (int i = 0; i < parts; i++) {
        const int64_t own = part[i].shape.dims[2];
        for (int64_t s = 0; s < steps && own > 0; s++)
            memcpy(whole + (size_t)(s * width + at) * size, (const char *)part[i].data + (size_t)(s * own) * size,
                   (size_t)own * size);
        at += own;
    }
    *out = hr_tensor_of(part[0].dtype, HR_SHAPE(part[0].shape.dims[0], part[0].shape.dims[1], width), whole);
    return HR_OK;
}

/* The lengths, as one tensor. */
static hr_status lengths_of(case_columns *cc, const hr_feature_column *const *sorted, hr_tensor *out, hr_error *err)
{
    const int32_t *steps[MAX_COLUMNS];
    const char *name[MAX_COLUMNS];
    int64_t rows = 0;
    for (int i = 0; i < cc->columns; i++) {
        const hr_column_info *info = hr_feature_column_info(sorted[i]);
        const hr_column_values *v = case_columns_result(cc, info->component);
        name[i] = info->name;
        steps[i] = v->steps;
        rows = v->rows;
    }
    int64_t *lengths = case_memory(cc, (size_t)rows * sizeof *lengths);
    *out = hr_tensor_of(HR_INT64, HR_SHAPE(rows), lengths);
    return hr_sequence_lengths(steps, name, cc->columns, rows, lengths, err);
}

/* The context at every step, after what the sequence has there. */
static hr_status with_context(case_columns *cc, const hr_tensor *sequence, hr_tensor *out, hr_error *err)
{
    const hr_feature_column *sorted[MAX_COLUMNS];
    hr_tensor context;
    HR_TRY(hr_sort_columns((hr_column_list){cc->context, cc->contexts}, HR_INPUT_LAYER, sorted, err));
    HR_TRY(input_layer(cc, sorted, cc->contexts, &context, err));
    const int64_t rows = sequence->shape.dims[0], steps = sequence->shape.dims[1], width = context.shape.dims[1];
    float *tiled = case_memory(cc, (size_t)(rows * steps * width) * sizeof *tiled);
    for (int64_t i = 0; i < rows * steps; i++)
        memcpy(tiled + i * width, (const float *)context.data + i / steps * width, (size_t)width * sizeof *tiled);
    const hr_tensor parts[] = {*sequence, hr_tensor_of(HR_FLOAT, HR_SHAPE(rows, steps, width), tiled)};
    return join(cc, parts, 2, out, err);
}

static golden_result run_sequence(case_columns *cc, const cJSON *expect, const hr_feature_column **sorted,
                                  hr_status *st, hr_error *err)
{
    golden_case *c = cc->c;
    hr_tensor part[MAX_COLUMNS], output, lengths, concatenated;
    *st = lengths_of(cc, sorted, &lengths, err);
    for (int i = 0; i < cc->columns && *st == HR_OK; i++)
        *st = case_sequence(cc, sorted[i], golden_get(c->json, "embeddings"), &part[i], err);
    if (*st == HR_OK) *st = join(cc, part, cc->columns, &output, err);
    if (*st == HR_OK && cc->contexts > 0) *st = with_context(cc, &output, &concatenated, err);
    if (*st != HR_OK || !expect) return GOLDEN_AGREES;
    golden_result result = compare_order(c, golden_get(expect, "column_order"), sorted, cc->columns);
    if (result != GOLDEN_AGREES) return result;
    const cJSON *joined = golden_get(expect, "concatenated");
    bool equal = golden_equal_json(c, "sequence_output", golden_get(expect, "sequence_output"), &output) &&
                 golden_equal_json(c, "sequence_length", golden_get(expect, "sequence_length"), &lengths) &&
                 (!joined || golden_equal_json(c, "concatenated", joined, &concatenated));
    return equal ? GOLDEN_AGREES : GOLDEN_DIFFERS;
}

/* ---- a case ---- */

/* Which layer a case is about. Of errors only TensorFlow's text tells, if the columns do not. */
static hr_column_layer layer_of(const case_columns *cc, const cJSON *expect, bool fails)
{
    const char *text = golden_text(golden_get(cc->c->json, "error"), "tf_message", "");
    if (golden_get(expect, "sequence_output") || golden_get(golden_get(cc->c->json, "expect"), "sequence_output") ||
        strstr(text, "to use SequenceFeatures") || strstr(text, "sequence_features/"))
        return HR_SEQUENCE_FEATURES;
    const hr_column_info *info = cc->columns > 0 ? hr_feature_column_info(cc->column[0]) : NULL;
    if (fails && info && info->sequence && !strstr(text, "DenseFeatures")) return HR_SEQUENCE_FEATURES;
    return fails || golden_get(expect, "output") ? HR_INPUT_LAYER : HR_LINEAR_MODEL;
}

/* What TensorFlow or we answer: a status, and if it is HR_OK, everything compared with `expect`. */
static golden_result run(case_columns *cc, const cJSON *expect, bool fails, hr_status *st, hr_error *err)
{
    golden_case *c = cc->c;
    hr_parse_spec *spec;
    *st = hr_make_parse_example_spec(case_columns_list(cc), &spec, err);
    if (*st != HR_OK) return GOLDEN_AGREES;
    const cJSON *wanted = golden_get(expect, "parse_spec");
    golden_result result = compare_spec(c, wanted ? wanted : golden_get(c->json, "parse_spec"), spec);
    const cJSON *serialized = golden_get(c->json, "serialized");
    if (result == GOLDEN_AGREES)
        *st = serialized ? parse_case(cc, serialized, spec, err)
                         : case_columns_features(cc, golden_get(c->json, "features"), err);
    hr_parse_spec_free(spec);
    if (*st != HR_OK || result != GOLDEN_AGREES) return result;

    const hr_feature_column *sorted[MAX_COLUMNS];
    const hr_column_layer layer = layer_of(cc, expect, fails);
    const hr_column_layer as_tf = layer == HR_SEQUENCE_FEATURES ? HR_TF_SEQUENCE_FEATURES : HR_TF_INPUT_LAYER;
    if (layer != HR_LINEAR_MODEL) *st = hr_sort_columns(case_columns_list(cc), as_tf, sorted, err);
    if (*st == HR_OK) *st = case_columns_transform(cc, err);
    if (*st != HR_OK) return GOLDEN_AGREES;
    if (layer == HR_SEQUENCE_FEATURES) return run_sequence(cc, expect, sorted, st, err);
    result = compare_columns(cc, golden_get(expect, "columns"));
    if (result != GOLDEN_AGREES || layer == HR_LINEAR_MODEL) return result;
    hr_tensor output;
    *st = input_layer(cc, sorted, cc->columns, &output, err);
    if (*st != HR_OK || fails) return GOLDEN_AGREES;
    result = compare_order(c, golden_get(expect, "column_order"), sorted, cc->columns);
    if (result != GOLDEN_AGREES) return result;
    return golden_equal_json(c, "output", golden_get(expect, "output"), &output) ? GOLDEN_AGREES : GOLDEN_DIFFERS;
}

static golden_result run_mode(golden_case *c, bool tf_compat)
{
    case_columns *cc = malloc(sizeof *cc);
    const cJSON *expectation = golden_expectation(c->json, tf_compat);
    const cJSON *expect = golden_get(expectation, "expect");
    const char *error = golden_error_class(expectation);
    if (!expect && !error) expect = golden_get(c->json, "expect");
    hr_error err = {0};
    hr_status st = HR_OK;
    case_columns_build(cc, c, tf_compat);
    golden_result result;
    if (cc->not_built)
        result = golden_not_built(c, "%s", cc->not_built);
    else
        result = run(cc, error ? NULL : expect, error != NULL, &st, &err);
    if (result == GOLDEN_AGREES && error && strcmp(hr_status_name(st), error) != 0)
        result = golden_differs(c, "%s: expected %s, got %s: %s", tf_compat ? "tf_compat" : "default", error,
                                hr_status_name(st), err.text);
    if (result == GOLDEN_AGREES && !error && st != HR_OK)
        result = golden_differs(c, "%s: %s: %s", tf_compat ? "tf_compat" : "default", hr_status_name(st), err.text);
    case_columns_free(cc);
    free(cc);
    return result;
}

static golden_result run_case(golden_case *c)
{
    golden_whole(c->json); /* some of its fields say in other words what others say */
    golden_result result = run_mode(c, true);
    return result == GOLDEN_AGREES ? run_mode(c, false) : result;
}

int main(void) { return golden_main("feature_columns", GOLDEN_ROOT, run_case); }
