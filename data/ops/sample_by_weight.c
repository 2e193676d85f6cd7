/* sample_by_weight: each element as often as its weight says, on average.
 *
 * A weight w of an element gives floor(w) copies of it, and one more with a probability of w - floor(w). So an element
 * counts w times in any sum over the output, weights below 1 thin out, those above 1 repeat, and the order stays. To
 * draw rows in proportion to their weights from all rows needs all weights first; tf.data has no operator by weight of
 * the element at all: rejection_resample knows classes alone, and sample_from_datasets weights of datasets. This form
 * needs one look at each element, no buffer and no sum; the draw of an element follows from (seed, epoch, its number). */
#include <headrace/data.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { MOST_COPIES = 1 << 20, AT_ONCE = 64 /* elements that are asked for, and so held */ };

typedef struct by_weight_spec {
    const char *component; /* borrowed until spec_copy */
    double scale;
    uint64_t seed;
    bool same_each_epoch;
} by_weight_spec;

typedef struct by_weight_state {
    int64_t done;  /* saved: elements that are given as often as they should be */
    int64_t given; /* saved: copies of the next one */
    hr_span held[AT_ONCE];
    int spans, span; /* of them; the one with element `done` */
    int32_t at;      /* which of the span that is */
    int64_t asked;   /* elements that were asked for and have not come yet */
    int component;
    uint64_t key;
} by_weight_state;

static hr_status by_weight_copy(void *spec, hr_error *err)
{
    by_weight_spec *sp = spec;
    sp->component = sp->component ? hr_strdup(sp->component) : NULL;
    return sp->component ? HR_OK : hr_no_memory(err, "sample_by_weight");
}

static void by_weight_free(void *spec) { hr_free((char *)(uintptr_t)((by_weight_spec *)spec)->component); }

static int find_weight(const by_weight_spec *sp, const hr_schema *schema)
{
    for (int i = 0; i < schema->fields; i++)
        if (strcmp(schema->field[i].name, sp->component) == 0) return i;
    return -1;
}

static hr_status by_weight_check(const void *spec, const hr_schema *const *in, hr_schema_builder *out, hr_error *err)
{
    (void)out;
    const by_weight_spec *sp = spec;
    const int i = find_weight(sp, in[0]);
    const hr_field *f = i < 0 ? NULL : &in[0]->field[i];
    if (!f || in[0]->levels > 0 || f->layout != HR_DENSE || f->shape.rank != 0 ||
        (f->dtype != HR_FLOAT && f->dtype != HR_DOUBLE && f->dtype != HR_INT64 && f->dtype != HR_INT32))
        return hr_fail(err, HR_INVALID_ARGUMENT, "sample_by_weight.component",
                       "sample_by_weight: expected single elements with a number '%.60s' of float32, float64, int32 or "
                       "int64, got none",
                       sp->component);
    if (sp->scale > 0 && !isinf(sp->scale)) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "sample_by_weight.scale",
                   "sample_by_weight: expected a .scale above 0, got %g", sp->scale);
}

/* ---- how often ---- */

static double by_weight_number(const hr_field *f, const void *values, int64_t row)
{
    return f->dtype == HR_FLOAT    ? (double)((const float *)values)[row]
           : f->dtype == HR_DOUBLE ? ((const double *)values)[row]
           : f->dtype == HR_INT64  ? (double)((const int64_t *)values)[row]
                                   : (double)((const int32_t *)values)[row];
}

static hr_status copies_of(const by_weight_spec *sp, const by_weight_state *st, int64_t *copies, hr_error *err)
{
    const hr_columns *in = st->held[st->span].in;
    const double weight = by_weight_number(&in->schema->field[st->component], in->column[st->component].values,
                                           st->held[st->span].first + st->at);
    const double wanted = weight * sp->scale;
    if (!(wanted >= 0) || wanted > MOST_COPIES)
        return hr_fail(err, HR_INVALID_ARGUMENT, "sample_by_weight.weight",
                       "sample_by_weight: element %" PRId64 ": expected a weight from 0 to %d after .scale, got %g",
                       st->done, MOST_COPIES, wanted);
    const double draw = (double)(hr_random(st->key, (uint64_t)st->done) >> 11) / 9007199254740992.0;
    *copies = (int64_t)wanted + (draw < wanted - floor(wanted));
    return HR_OK;
}

/* ---- plan ---- */

static hr_status by_weight_open(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    (void)err;
    const by_weight_spec *sp = spec;
    by_weight_state *st = state;
    st->key = hr_plan_key(p, sp->seed, sp->same_each_epoch);
    st->component = find_weight(sp, hr_plan_schema(p));
    return HR_OK;
}

/* After a restore the input may begin before `done`. */
static hr_status pass_to_done(const by_weight_state *st, hr_plan *p)
{
    hr_span span;
    for (int64_t passed; (passed = st->done - hr_pulled(p, 0)) > 0; hr_span_drop(span))
        HR_TRY(hr_pull(p, 0, passed, &span));
    return HR_OK;
}

/* Elements from `done` on: all that are asked for are taken, so that none is lost between two units. */
static hr_status hold_next(by_weight_state *st, hr_plan *p)
{
    if (st->asked == 0 && st->span < st->spans) return HR_OK;
    if (st->asked == 0) {
        HR_TRY(pass_to_done(st, p));
        st->asked = hr_room(p) < AT_ONCE ? hr_room(p) : AT_ONCE;
        st->spans = st->span = 0;
        st->at = 0;
    }
    while (st->asked > 0) {
        const hr_status got = hr_pull(p, 0, st->asked, &st->held[st->spans]);
        if (got == HR_END) st->asked = 0;
        if (got == HR_END) break;
        HR_TRY(got);
        st->asked -= st->held[st->spans++].count;
    }
    return st->spans > 0 ? HR_OK : HR_END;
}

/* The element `done` has been given as often as it should be. */
static void pass_held(by_weight_state *st)
{
    st->done++;
    st->given = 0;
    if (++st->at < st->held[st->span].count) return;
    hr_span_drop(st->held[st->span++]);
    st->at = 0;
}

static hr_status by_weight_plan(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    const by_weight_spec *sp = spec;
    by_weight_state *st = state;
    while (hr_room(p) > 0) {
        int64_t copies = 0;
        HR_TRY(hold_next(st, p));
        HR_TRY(copies_of(sp, st, &copies, err));
        for (; st->given < copies && hr_room(p) > 0; st->given++)
            hr_emit(p, hr_span_share(st->held[st->span], st->at, 1));
        if (st->given >= copies) pass_held(st);
    }
    return HR_OK;
}

static void by_weight_close(void *state)
{
    by_weight_state *st = state;
    while (st->span < st->spans) hr_span_drop(st->held[st->span++]);
}

static hr_status by_weight_load(const void *spec, void *state, hr_token_reader *token, hr_error *err)
{
    (void)spec, (void)token;
    return hr_saved_between("sample_by_weight", ((const by_weight_state *)state)->given, 0, MOST_COPIES, err);
}

static int64_t by_weight_held_from(const void *spec, const void *state)
{
    (void)spec;
    return ((const by_weight_state *)state)->done;
}

static void by_weight_identity(const void *spec, uint64_t *sum)
{
    const by_weight_spec *sp = spec;
    hr_identify_text(sum, sp->component);
    hr_identify(sum, &sp->scale, sizeof sp->scale);
    hr_identify_i64(sum, (int64_t)sp->seed);
    hr_identify_i64(sum, sp->same_each_epoch);
}

static int64_t by_weight_cardinality(const void *spec, const int64_t *in)
{
    (void)spec, (void)in;
    return HR_UNKNOWN_CARDINALITY;
}

static void by_weight_describe(const void *spec, hr_description *to)
{
    const by_weight_spec *sp = spec;
    hr_describe_text(to, NULL, sp->component);
    hr_describe_seed(to, sp->seed, sp->same_each_epoch);
}

const hr_op hr_op_sample_by_weight = {
    .head = HR_OP_HEAD,
    .name = "sample_by_weight",
    .spec_size = sizeof(by_weight_spec),
    .state_size = sizeof(by_weight_state),
    .saved = 2, /* done, given */
    .spec_copy = by_weight_copy,
    .spec_free = by_weight_free,
    .check = by_weight_check,
    .open = by_weight_open,
    .plan = by_weight_plan,
    .close = by_weight_close,
    .load = by_weight_load,
    .held_from = by_weight_held_from,
    .identity = by_weight_identity,
    .cardinality = by_weight_cardinality,
    .describe = by_weight_describe,
};

hr_dataset *hr_sample_by_weight_with(hr_dataset *in, const char *component, const hr_sample_by_weight_opts *opts)
{
    const hr_sample_by_weight_opts o = HR_OPTIONS(hr_sample_by_weight_opts, opts);
    const by_weight_spec spec = {.component = component ? component : "",
                                 .scale = o.scale == 0 ? 1 : o.scale,
                                 .seed = o.seed,
                                 .same_each_epoch = o.same_each_epoch};
    return hr_dataset_new(&hr_op_sample_by_weight, &spec, &in, 1);
}
