/* sample_from_datasets: draws by weight which dataset gives the next element. Draw i follows from (seed, epoch, i) and
 * its weights, so the number of draws is all there is to save. A draw of a dataset that has ended is skipped: the
 * others keep their proportions.
 *
 * The weights are the same for all draws, or each draw has its own from a dataset of weights, input 0. With exact
 * proportions nothing is drawn: the dataset that is furthest behind its share has the next turn. Then how many turns
 * each has had is saved. */
#include <headrace/data.h>
#include <inttypes.h>
#include <math.h>

typedef struct sample_spec {
    int datasets;
    bool varying;         /* input 0 has the weights, and the datasets are those after it */
    const double *weight; /* borrowed until spec_copy; NULL: all alike */
    double *share;        /* of each dataset, summed up: the last one is 1 */
    bool stop, exact;
    uint64_t seed;
    bool same_each_epoch;
} sample_spec;

typedef struct sample_state {
    int64_t over;                 /* saved: a dataset had ended when it was drawn, and that was the end */
    int64_t draws;                /* saved, with the one that is drawn */
    int64_t drawn;                /* saved: whose turn it is; -1: not drawn yet */
    int64_t turns[HR_MAX_INPUTS]; /* saved: of each dataset */
    uint64_t key;
    bool ended[HR_MAX_INPUTS];
} sample_state;

/* ---- the spec ---- */

static hr_status bad_weight(hr_error *err, int i, double weight)
{
    return hr_fail(err, HR_INVALID_ARGUMENT, "sample.weights",
                   "sample_from_datasets: expected weights >= 0, one of them above, got %g for dataset %d", weight, i);
}

/* Weights, summed up: the last one is 1. */
static hr_status sum_up(double *share, int datasets, hr_error *err)
{
    double sum = 0;
    for (int i = 0; i < datasets; i++) {
        if (!(share[i] >= 0) || isinf(share[i])) return bad_weight(err, i, share[i]);
        share[i] = sum += share[i];
    }
    if (datasets > 0 && !(sum > 0)) return bad_weight(err, 0, sum);
    for (int i = 0; i < datasets; i++) share[i] /= sum;
    return HR_OK;
}

static hr_status sample_copy(void *spec, hr_error *err)
{
    sample_spec *sp = spec;
    sp->share = hr_calloc((size_t)sp->datasets + 1, sizeof *sp->share);
    if (!sp->share) return hr_no_memory(err, "sample_from_datasets: the weights");
    for (int i = 0; i < sp->datasets; i++) sp->share[i] = sp->weight ? sp->weight[i] : 1;
    sp->weight = NULL;
    return sum_up(sp->share, sp->datasets, err);
}

static void sample_free(void *spec) { hr_free(((sample_spec *)spec)->share); }

static bool is_weights(const hr_schema *schema, int datasets)
{
    int64_t values = 0;
    for (int i = 0; i < schema->fields; i++) {
        const hr_field *f = &schema->field[i];
        if (!hr_field_fixed(f) || (f->dtype != HR_FLOAT && f->dtype != HR_DOUBLE)) return false;
        values += (int64_t)(hr_field_width(f) / hr_dtype_size(f->dtype));
    }
    return schema->levels == 0 && values == datasets;
}

static hr_status sample_check(const void *spec, const hr_schema *const *in, hr_schema_builder *out, hr_error *err)
{
    const sample_spec *sp = spec;
    if (sp->datasets < 1)
        return hr_fail(err, HR_INVALID_ARGUMENT, "sample.datasets",
                       "sample_from_datasets: expected at least one dataset, got none");
    if (sp->varying && (sp->exact || !is_weights(in[0], sp->datasets)))
        return hr_fail(err, HR_INVALID_ARGUMENT, "sample.weights",
                       "sample_from_datasets: expected a weights_dataset whose elements are %d numbers of float32 or "
                       "float64, one a dataset, and no exact_proportions",
                       sp->datasets);
    HR_TRY(hr_schemas_agree("sample_from_datasets", in + sp->varying, err));
    return hr_schema_set(out, in[sp->varying], err);
}

static double share_of(const double *share, int i) { return share[i] - (i ? share[i - 1] : 0); }

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

static int sample_from_datasets_draw(const double *share, int datasets, sample_state *st)
{
    const double bits = (double)(hr_random(st->key, (uint64_t)st->draws++) >> 11) / 9007199254740992.0;
    int i = 0;
    while (i < datasets - 1 && bits >= share[i]) i++;
    return i;
}

static int furthest_behind(const sample_spec *sp, sample_state *st)
{
    int next = 0;
    double max = -1;
    st->draws++;
    for (int i = 0; i < sp->datasets; i++) {
        const double share = share_of(sp->share, i), lag = share * (double)st->draws - (double)st->turns[i];
        if (share > 0 && lag > max) next = i, max = lag;
    }
    st->turns[next]++;
    return next;
}

static double sample_from_datasets_number_at(const hr_field *f, const void *values, int64_t i)
{
    return f->dtype == HR_FLOAT ? (double)((const float *)values)[i] : ((const double *)values)[i];
}

static void read_weights(hr_span span, double *weight)
{
    for (int c = 0; c < span.in->schema->fields; c++) {
        const hr_field *f = &span.in->schema->field[c];
        const int64_t count = (int64_t)(hr_field_width(f) / hr_dtype_size(f->dtype));
        for (int64_t i = 0; i < count; i++)
            *weight++ = sample_from_datasets_number_at(f, span.in->column[c].values, span.first * count + i);
    }
}

/* Each draw uses one element of the weights, also where its dataset has ended. */
static hr_status draw_by_own_weights(const sample_spec *sp, sample_state *st, hr_plan *p, hr_error *err)
{
    hr_span span;
    double weight[HR_MAX_INPUTS];
    if (hr_plan_cancelled(p)) return HR_WAIT; /* which may be while only what has ended is drawn */
    const int64_t number = hr_pulled(p, 0);
    HR_TRY(hr_pull(p, 0, 1, &span));
    read_weights(span, weight);
    hr_span_drop(span);
    const hr_status summed = sum_up(weight, sp->datasets, err);
    if (summed != HR_OK) hr_error_prefix(err, "element %" PRId64 " of the weights: ", number);
    if (summed == HR_OK) st->drawn = sample_from_datasets_draw(weight, sp->datasets, st);
    return summed;
}

static hr_status draw_next(const sample_spec *sp, sample_state *st, hr_plan *p, hr_error *err)
{
    if (sp->varying) return draw_by_own_weights(sp, st, p, err);
    st->drawn = sp->exact ? furthest_behind(sp, st) : sample_from_datasets_draw(sp->share, sp->datasets, st);
    return HR_OK;
}

/* Some dataset that may be drawn has not ended. */
static bool any_left(const sample_spec *sp, const sample_state *st)
{
    for (int i = 0; i < sp->datasets; i++)
        if (!st->ended[i] && (sp->varying || share_of(sp->share, i) > 0)) return true;
    return false;
}

/* ---- plan ---- */

static hr_status pass_drawn(const sample_spec *sp, sample_state *st, hr_plan *p)
{
    hr_span span;
    const int drawn = (int)st->drawn;
    const hr_status got = st->ended[drawn] ? HR_END : hr_pull(p, drawn + sp->varying, 1, &span);
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
    const sample_spec *sp = spec;
    sample_state *st = state;
    while (hr_room(p) > 0) {
        if (st->over) return HR_END;
        if (st->drawn < 0) HR_TRY(draw_next(sp, st, p, err));
        HR_TRY(pass_drawn(sp, st, p));
    }
    return HR_OK;
}

static hr_status sample_load(const void *spec, void *state, hr_token_reader *token, hr_error *err)
{
    (void)token;
    const int last = ((const sample_spec *)spec)->datasets - 1;
    return hr_saved_between("sample_from_datasets", ((const sample_state *)state)->drawn, -1, last, err);
}

static void sample_identity(const void *spec, uint64_t *sum)
{
    const sample_spec *sp = spec;
    for (int i = 0; i < sp->datasets; i++) hr_identify_i64(sum, (int64_t)ldexp(sp->share[i], 62));
    hr_identify_i64(sum, sp->varying);
    hr_identify_i64(sum, sp->stop);
    hr_identify_i64(sum, sp->exact);
    hr_identify_i64(sum, (int64_t)sp->seed);
    hr_identify_i64(sum, sp->same_each_epoch);
}

static int64_t sample_cardinality(const void *spec, const int64_t *in)
{
    const sample_spec *sp = spec;
    for (int i = 0; i < sp->datasets + sp->varying; i++)
        if (in[i] != HR_INFINITE_CARDINALITY) return HR_UNKNOWN_CARDINALITY;
    return HR_INFINITE_CARDINALITY;
}

static void sample_describe(const void *spec, hr_description *to)
{
    const sample_spec *sp = spec;
    hr_describe_number(to, "datasets", sp->datasets);
    hr_describe_flag(to, "weights_dataset", sp->varying);
    hr_describe_flag(to, "stop_on_empty_dataset", sp->stop);
    hr_describe_flag(to, "exact_proportions", sp->exact);
    hr_describe_seed(to, sp->seed, sp->same_each_epoch);
}

const hr_op hr_op_sample_from_datasets = {
    .head = HR_OP_HEAD,
    .name = "sample_from_datasets",
    .spec_size = sizeof(sample_spec),
    .state_size = sizeof(sample_state),
    .saved = 3 + HR_MAX_INPUTS, /* over, draws, drawn, turns */
    .range = (const hr_saved_range[]){{0, 1}, HR_SAVED_COUNT, {-1, HR_MAX_INPUTS - 1}},
    .ranges = 3,
    .spec_copy = sample_copy,
    .spec_free = sample_free,
    .check = sample_check,
    .open = sample_open,
    .plan = sample_plan,
    .load = sample_load,
    .identity = sample_identity,
    .cardinality = sample_cardinality,
    .describe = sample_describe,
};

hr_dataset *hr_sample_from_datasets_with(hr_dataset *const *in, int datasets, const hr_sample_from_datasets_opts *opts)
{
    const hr_sample_from_datasets_opts o = HR_OPTIONS(hr_sample_from_datasets_opts, opts);
    const sample_spec spec = {.datasets = datasets > 0 ? datasets : 0,
                              .varying = o.weights_dataset != NULL,
                              .weight = o.weights,
                              .stop = o.stop_on_empty_dataset,
                              .exact = o.exact_proportions,
                              .seed = o.seed,
                              .same_each_epoch = o.same_each_epoch};
    if (spec.varying) return hr_dataset_over(&hr_op_sample_from_datasets, &spec, o.weights_dataset, in, spec.datasets);
    return hr_dataset_new(&hr_op_sample_from_datasets, &spec, in, spec.datasets);
}
