/* sample_from_datasets: draws by weight which dataset gives the next element. Draw i follows from (seed, epoch, i), so
 * the number of draws is all there is to save. A draw of a dataset that has ended is passed over: the others keep their
 * proportions.
 *
 * With exact proportions nothing is drawn: the dataset that is furthest behind its share has the next turn. Then how
 * many turns each has had is saved. */
#include "base/constructor.h"
#include <headrace/data.h>
#include <math.h>

typedef struct sample_spec {
    int datasets;
    const double *weight; /* borrowed until spec_copy; NULL: all alike */
    double *share;        /* of each dataset, summed up: the last one is 1 */
    bool stop, exact;
    uint64_t seed;
    bool same_each_epoch;
} sample_spec;

typedef struct sample_state {
    int64_t over;                 /* saved: a dataset had ended when it was drawn, and that was the end */
    int64_t draws;                /* saved */
    int64_t turns[HR_MAX_INPUTS]; /* saved: of each dataset */
    uint64_t key;
    int drawn; /* whose turn it is; -1: not drawn yet */
    bool ended[HR_MAX_INPUTS];
} sample_state;

/* ---- the spec ---- */

static hr_status bad_weight(hr_error *err, int i, double weight)
{
    return hr_fail(err, HR_INVALID_ARGUMENT, "sample.weights",
                   "sample_from_datasets: expected weights >= 0, one of them above, got %g for dataset %d", weight, i);
}

static hr_status sample_copy(void *spec, hr_error *err)
{
    sample_spec *sp = spec;
    double sum = 0;
    sp->share = hr_calloc((size_t)sp->datasets + 1, sizeof *sp->share);
    if (!sp->share) return hr_no_memory(err, "sample_from_datasets: the weights");
    for (int i = 0; i < sp->datasets; i++) {
        const double weight = sp->weight ? sp->weight[i] : 1;
        if (!(weight >= 0) || isinf(weight)) return bad_weight(err, i, weight);
        sp->share[i] = sum += weight;
    }
    if (sp->datasets > 0 && !(sum > 0)) return bad_weight(err, 0, sum);
    for (int i = 0; i < sp->datasets; i++) sp->share[i] /= sum;
    sp->weight = NULL;
    return HR_OK;
}

static void sample_free(void *spec) { hr_free(((sample_spec *)spec)->share); }

static hr_status sample_check(const void *spec, const hr_schema *const *in, hr_schema_builder *out, hr_error *err)
{
    (void)out;
    if (((const sample_spec *)spec)->datasets < 1)
        return hr_fail(err, HR_INVALID_ARGUMENT, "sample.datasets",
                       "sample_from_datasets: expected at least one dataset, got none");
    return hr_schemas_agree("sample_from_datasets", in, err);
}

static double share_of(const sample_spec *sp, int i) { return sp->share[i] - (i ? sp->share[i - 1] : 0); }

/* ---- drawing ---- */

static hr_status sample_open(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    (void)err;
    const sample_spec *sp = spec;
    sample_state *st = state;
    st->key = hr_plan_key(p, sp->seed, sp->same_each_epoch);
    st->drawn = -1;
    return HR_OK;
}

static int draw(const sample_spec *sp, sample_state *st)
{
    const double bits = (double)(hr_random(st->key, (uint64_t)st->draws++) >> 11) / 9007199254740992.0;
    int i = 0;
    while (i < sp->datasets - 1 && bits >= sp->share[i]) i++;
    return i;
}

static int furthest_behind(const sample_spec *sp, sample_state *st)
{
    int next = 0;
    double most = -1;
    st->draws++;
    for (int i = 0; i < sp->datasets; i++) {
        const double behind = share_of(sp, i) * (double)st->draws - (double)st->turns[i];
        if (share_of(sp, i) > 0 && behind > most) next = i, most = behind;
    }
    st->turns[next]++;
    return next;
}

/* Some dataset that may be drawn has not ended. */
static bool any_left(const sample_spec *sp, const sample_state *st)
{
    for (int i = 0; i < sp->datasets; i++)
        if (!st->ended[i] && share_of(sp, i) > 0) return true;
    return false;
}

/* ---- plan ---- */

static hr_status pass_drawn(const sample_spec *sp, sample_state *st, hr_plan *p)
{
    hr_span span;
    const int drawn = st->drawn;
    const hr_status got = st->ended[drawn] ? HR_END : hr_pull(p, drawn, 1, &span);
    if (got == HR_WAIT) return got;
    st->drawn = -1;
    if (got == HR_OK) {
        hr_emit(p, span);
        return HR_OK;
    }
    st->ended[drawn] = true;
    st->over = sp->stop || !any_left(sp, st);
    return st->over ? HR_END : HR_OK;
}

static hr_status sample_plan(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    (void)err;
    const sample_spec *sp = spec;
    sample_state *st = state;
    while (hr_room(p) > 0) {
        if (st->over) return HR_END;
        if (st->drawn < 0) st->drawn = sp->exact ? furthest_behind(sp, st) : draw(sp, st);
        HR_TRY(pass_drawn(sp, st, p));
    }
    return HR_OK;
}

static void sample_identity(const void *spec, uint64_t *sum)
{
    const sample_spec *sp = spec;
    for (int i = 0; i < sp->datasets; i++) hr_identify_i64(sum, (int64_t)ldexp(sp->share[i], 62));
    hr_identify_i64(sum, sp->stop);
    hr_identify_i64(sum, sp->exact);
    hr_identify_i64(sum, (int64_t)sp->seed);
    hr_identify_i64(sum, sp->same_each_epoch);
}

static int64_t sample_cardinality(const void *spec, const int64_t *in)
{
    for (int i = 0; i < ((const sample_spec *)spec)->datasets; i++)
        if (in[i] != HR_INFINITE_CARDINALITY) return HR_UNKNOWN_CARDINALITY;
    return HR_INFINITE_CARDINALITY;
}

const hr_op hr_op_sample_from_datasets = {
    .head = HR_OP_HEAD,
    .name = "sample_from_datasets",
    .spec_size = sizeof(sample_spec),
    .state_size = sizeof(sample_state),
    .saved = 2 + HR_MAX_INPUTS, /* over, draws, turns */
    .spec_copy = sample_copy,
    .spec_free = sample_free,
    .check = sample_check,
    .open = sample_open,
    .plan = sample_plan,
    .identity = sample_identity,
    .cardinality = sample_cardinality,
};

hr_dataset *hr_sample_from_datasets_with(hr_dataset *const *in, int datasets, const hr_sample_from_datasets_opts *opts)
{
    const hr_sample_from_datasets_opts o = HR__OPTIONS(hr_sample_from_datasets_opts, opts);
    const sample_spec spec = {.datasets = datasets > 0 ? datasets : 0,
                              .weight = o.weights,
                              .stop = o.stop_on_empty_dataset,
                              .exact = o.exact_proportions,
                              .seed = o.seed,
                              .same_each_epoch = o.same_each_epoch};
    return hr_dataset_new(&hr_op_sample_from_datasets, &spec, in, spec.datasets);
}
