/* The golden topic linear_model: the forward pass with given weights, by the library's lookup, in both modes. */
#include "tests/feature_columns/case_columns.h"

#include <stdlib.h>
#include <string.h>

static hr_combiner sparse_combiner(const golden_case *c)
{
    const char *name = golden_text(c->json, "sparse_combiner", "sum");
    if (strcmp(name, "sum") == 0) return HR_SUM;
    if (strcmp(name, "mean") == 0) return HR_MEAN;
    return strcmp(name, "sqrtn") == 0 ? HR_SQRTN : (hr_combiner)99;
}

/* What one column adds: looked-up weights, or its dense form times its weights. */
static hr_status column_sum(case_columns *cc, const hr_feature_column *column, int64_t units, float *sum, hr_error *err)
{
    const hr_column_info *info = hr_feature_column_info(column);
    const float *weights = case_table(cc, golden_get(cc->c->json, "weights"), info->name);
    if (!weights) return hr_fail(err, HR_INTERNAL, "case", "no weights for %s", info->name);
    if (info->categorical) {
        const hr_column_values *v = case_columns_result(cc, info->component);
        hr_lookup lookup = {weights, info->num_buckets, units, .combiner = sparse_combiner(cc->c)};
        return hr_combine_rows(&lookup, v->values, v->weights, v->splits, v->rows, sum, err);
    }
    float *dense;
    int64_t rows;
    HR_TRY(case_dense(cc, column, golden_get(cc->c->json, "embeddings"), &dense, &rows, err));
    for (int64_t r = 0; r < rows; r++)
        for (int64_t u = 0; u < units; u++)
            for (int64_t i = 0; i < info->width; i++)
                sum[r * units + u] += dense[r * info->width + i] * weights[i * units + u];
    return HR_OK;
}

static hr_status linear_model(case_columns *cc, const hr_feature_column **sorted, int64_t units, hr_tensor *out,
                              golden_result *result, hr_error *err)
{
    const hr_column_info *first = hr_feature_column_info(sorted[0]);
    const int64_t rows = case_columns_result(cc, first->component)->rows;
    const cJSON *sums = golden_get(golden_get(cc->c->json, "expect"), "column_sums");
    float *total = case_memory(cc, (size_t)(rows * units) * sizeof *total);
    for (int i = 0; i < cc->columns; i++) {
        const char *name = hr_feature_column_info(sorted[i])->name;
        float *sum = case_memory(cc, (size_t)(rows * units) * sizeof *sum);
        HR_TRY(column_sum(cc, sorted[i], units, sum, err));
        hr_tensor got = hr_tensor_of(HR_FLOAT, HR_SHAPE(rows, units), sum);
        const cJSON *expected = golden_get(sums, name);
        if (expected && !golden_equal_json(cc->c, name, expected, &got)) *result = GOLDEN_DIFFERS;
        for (int64_t k = 0; k < rows * units; k++) total[k] += sum[k];
    }
    const float *bias = case_table(cc, cc->c->json, "bias");
    for (int64_t k = 0; k < rows * units; k++) total[k] += bias[k % units];
    *out = hr_tensor_of(HR_FLOAT, HR_SHAPE(rows, units), total);
    return HR_OK;
}

static hr_status run(case_columns *cc, hr_tensor *out, golden_result *result, hr_error *err)
{
    const hr_feature_column *sorted[MAX_COLUMNS];
    HR_TRY(case_columns_features(cc, golden_get(cc->c->json, "features"), err));
    HR_TRY(hr_sort_columns(case_columns_list(cc), HR_LINEAR_MODEL, sorted, err));
    if (sparse_combiner(cc->c) > HR_SQRTN) return hr_fail(err, HR_INVALID_ARGUMENT, "case", "no such combiner");
    HR_TRY(case_columns_transform(cc, err));
    return linear_model(cc, sorted, golden_int(cc->c->json, "units", 1), out, result, err);
}

static golden_result run_mode(golden_case *c, bool tf_compat)
{
    case_columns *cc = malloc(sizeof *cc);
    const cJSON *expectation = golden_expectation(c->json, tf_compat);
    const char *error = golden_error_class(expectation);
    hr_error err = {0};
    hr_tensor out;
    golden_result result = GOLDEN_AGREES;
    case_columns_build(cc, c, tf_compat);
    hr_status st = cc->not_built ? HR_OK : run(cc, &out, &result, &err);
    if (cc->not_built)
        result = golden_not_built(c, "%s", cc->not_built);
    else if (error && strcmp(hr_status_name(st), error) != 0)
        result = golden_differs(c, "expected %s, got %s: %s", error, hr_status_name(st), err.text);
    else if (!error && st != HR_OK)
        result = golden_differs(c, "%s: %s", hr_status_name(st), err.text);
    else if (!error && result == GOLDEN_AGREES &&
             !golden_equal_json(c, "output", golden_get(golden_get(expectation, "expect"), "output"), &out))
        result = GOLDEN_DIFFERS;
    case_columns_free(cc);
    free(cc);
    return result;
}

static golden_result run_case(golden_case *c)
{
    golden_whole(c->json); /* some of its fields say in other words what others say */
    golden_result result = run_mode(c, false);
    return result == GOLDEN_AGREES ? run_mode(c, true) : result;
}

int main(void) { return golden_main("linear_model", GOLDEN_ROOT, run_case); }
