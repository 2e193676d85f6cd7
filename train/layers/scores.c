/* Exact scores of a binary classifier: all pairs are kept and sorted once; sums are float64. What ties share, they
 * share equally. */
#include "train/layers/layers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One pair as a number that sorts by probability: its bits, which rise with it from 0 to 1, and the label below. */
struct hr_binary_scores {
    uint64_t *pair;
    int64_t count, capacity;
};

hr_binary_scores *hr_binary_scores_new(void) { return hr_calloc(1, sizeof(hr_binary_scores)); }

void hr_binary_scores_free(hr_binary_scores *s)
{
    if (!s) return;
    hr_free(s->pair);
    hr_free(s);
}

static hr_status scores_reserve(hr_binary_scores *s, int64_t count, hr_error *err)
{
    if (s->count + count <= s->capacity) return HR_OK;
    const int64_t capacity = 2 * s->capacity + count + 1024;
    uint64_t *grown = hr_realloc(s->pair, (size_t)capacity * sizeof *grown);
    if (!grown) return hr_no_memory(err, "scores");
    s->pair = grown;
    s->capacity = capacity;
    return HR_OK;
}

static hr_status scores_lack(hr_error *err)
{
    return hr_fail(err, HR_INVALID_ARGUMENT, "scores.argument",
                   "scores: expected scores, labels and probabilities, and a place for the result, got NULL");
}

hr_status hr_binary_scores_add(hr_binary_scores *s, const float *labels, const float *probabilities, int64_t count,
                               hr_error *err)
{
    if (!s || count < 0 || (count > 0 && (!labels || !probabilities))) return scores_lack(err);
    HR_TRY(scores_reserve(s, count, err));
    for (int64_t i = 0; i < count; i++) {
        const float p = probabilities[i] + 0.f; /* -0 becomes 0 */
        uint32_t bits;
        if (!(p >= 0 && p <= 1))
            return hr_fail(err, HR_INVALID_ARGUMENT, "scores.probability",
                           "scores: expected probabilities from 0 to 1, got %g at %lld", (double)p,
                           (long long)(s->count + i));
        memcpy(&bits, &p, sizeof bits);
        s->pair[s->count + i] = (uint64_t)bits << 1 | (labels[i] != 0);
    }
    s->count += count;
    return HR_OK;
}

static int descending(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x < y) - (x > y);
}

static double probability(uint64_t pair)
{
    const uint32_t bits = (uint32_t)(pair >> 1);
    float p;
    memcpy(&p, &bits, sizeof p);
    return (double)p;
}

/* Sums that need no order. */
static void scores_add_up(const hr_binary_scores *s, hr_binary_result *out)
{
    double loss = 0, mean = 0;
    int64_t right = 0;
    for (int64_t i = 0; i < s->count; i++) {
        const double p = probability(s->pair[i]), clipped = fmin(fmax(p, 1e-7), 1 - 1e-7);
        const bool positive = s->pair[i] & 1;
        out->positives += positive;
        right += (p > 0.5) == positive;
        loss -= log(positive ? clipped : 1 - clipped);
        mean += p;
    }
    const double n = (double)s->count;
    out->log_loss = loss / n;
    out->accuracy = (double)right / n;
    out->label_mean = (double)out->positives / n;
    out->prediction_mean = mean / n;
}

/* From the most probable down, a step for each run of equal probabilities. */
static void areas(const hr_binary_scores *s, hr_binary_result *out)
{
    const double positives = (double)out->positives, negatives = (double)(s->count - out->positives);
    double tp = 0, fp = 0, roc = 0, pr = 0;
    for (int64_t i = 0; i < s->count;) {
        const uint64_t key = s->pair[i] >> 1;
        double more_tp = 0, more_fp = 0;
        for (; i < s->count && s->pair[i] >> 1 == key; i++) s->pair[i] & 1 ? (more_tp += 1) : (more_fp += 1);
        roc += more_fp * (tp + more_tp / 2);
        tp += more_tp;
        fp += more_fp;
        pr += more_tp * (tp / (tp + fp));
    }
    out->auc = positives > 0 && negatives > 0 ? roc / (positives * negatives) : (double)NAN;
    out->auc_pr = positives > 0 ? pr / positives : (double)NAN;
}

hr_status hr_binary_scores_result(hr_binary_scores *s, hr_binary_result *out, hr_error *err)
{
    if (!s || !out) return scores_lack(err);
    *out = (hr_binary_result){.count = s->count};
    if (s->count == 0)
        return hr_fail(err, HR_FAILED_PRECONDITION, "scores.empty", "scores: expected at least one prediction");
    qsort(s->pair, (size_t)s->count, sizeof *s->pair, descending);
    scores_add_up(s, out);
    areas(s, out);
    return HR_OK;
}
