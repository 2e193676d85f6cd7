/* choose_from_datasets: each number of a dataset of choices says which dataset gives the next element. Input 0 has
 * the choices, the datasets are the inputs after it. A choice of a dataset that has ended is skipped, or ends
 * it all. */
#include <headrace/data.h>
#include <inttypes.h>

typedef struct choose_spec {
    int datasets;
    bool go_on;
} choose_spec;

typedef struct choose_state {
    int64_t over;              /* saved: a dataset had ended when it was chosen, and that was the end */
    hr_span choices;           /* at hand, from number `used` on */
    int32_t used;              /* of them */
    bool ended[HR_MAX_INPUTS]; /* by input */
    int open;                  /* datasets that have not ended */
} choose_state;

static hr_status choose_check(const void *spec, const hr_schema *const *in, hr_schema_builder *out, hr_error *err)
{
    const hr_field *f = in[0]->field;
    if (((const choose_spec *)spec)->datasets < 1)
        return hr_fail(err, HR_INVALID_ARGUMENT, "choose.datasets",
                       "choose_from_datasets: expected at least one dataset, got none");
    if (in[0]->fields != 1 || in[0]->levels > 0 || f->layout != HR_DENSE || f->shape.rank != 0 || f->dtype != HR_INT64)
        return hr_fail(err, HR_INVALID_ARGUMENT, "choose.choice",
                       "choose_from_datasets: expected choices of one component, a scalar of int64");
    HR_TRY(hr_schemas_agree("choose_from_datasets", in + 1, err));
    return hr_schema_set(out, in[1], err);
}

static hr_status choose_open(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    (void)p, (void)err;
    ((choose_state *)state)->open = ((const choose_spec *)spec)->datasets;
    return HR_OK;
}

static void choose_close(void *state) { hr_span_drop(((choose_state *)state)->choices); }

/* ---- choices ---- */

static int64_t choice_at(const choose_state *st, int32_t i)
{
    return ((const int64_t *)st->choices.in->column[0].values)[st->choices.first + i];
}

static void drop_choices(choose_state *st)
{
    hr_span_drop(st->choices);
    st->choices = (hr_span){0};
    st->used = 0;
}

/* How many of the current choices, from the next one on, are the same. */
static int64_t same_choices(const choose_state *st)
{
    int32_t i = st->used;
    while (i < st->choices.count && choice_at(st, i) == choice_at(st, st->used)) i++;
    return i - st->used;
}

/* Before choose itself reports an end, it discards what it has asked for and not passed on. */
static void drop_rest(choose_state *st, hr_plan *p)
{
    hr_span span;
    drop_choices(st);
    while (hr_room(p) > 0 && hr_ready(p, 0) && hr_pull(p, 0, hr_room(p), &span) == HR_OK) hr_span_drop(span);
}

/* ---- plan ---- */

static hr_status dataset_ended(const choose_spec *sp, choose_state *st, hr_plan *p, int input)
{
    st->open -= !st->ended[input];
    st->ended[input] = true;
    st->over = !sp->go_on || st->open == 0;
    if (!st->over) st->used++;
    if (st->over) drop_rest(st, p);
    return st->over ? HR_END : HR_OK;
}

static hr_status pass_chosen(const choose_spec *sp, choose_state *st, hr_plan *p, hr_error *err)
{
    const int64_t choice = choice_at(st, st->used);
    if (choice < 0 || choice >= sp->datasets)
        return hr_fail(err, HR_INVALID_ARGUMENT, "choose.range",
                       "choose_from_datasets: expected a choice from 0 to %d, got %" PRId64, sp->datasets - 1, choice);
    hr_span span;
    const int input = (int)choice + 1;
    if (st->ended[input]) return dataset_ended(sp, st, p, input);
    const hr_status got = hr_pull(p, input, same_choices(st), &span);
    if (got == HR_END) return dataset_ended(sp, st, p, input);
    if (got != HR_OK) return got;
    st->used += span.count;
    hr_emit(p, span);
    return HR_OK;
}

static hr_status choose_plan(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    choose_state *st = state;
    while (hr_room(p) > 0) {
        if (st->over) return HR_END;
        if (!st->choices.in || st->used == st->choices.count) {
            drop_choices(st); /* each gives one element at most, so all of them are used before the unit is full */
            HR_TRY(hr_pull(p, 0, hr_room(p), &st->choices));
        }
        HR_TRY(pass_chosen(spec, st, p, err));
    }
    return HR_OK;
}

static void choose_identity(const void *spec, uint64_t *sum)
{
    const choose_spec *sp = spec;
    hr_identify_i64(sum, sp->datasets);
    hr_identify_i64(sum, sp->go_on);
}

static int64_t choose_cardinality(const void *spec, const int64_t *in)
{
    for (int i = 0; i <= ((const choose_spec *)spec)->datasets; i++)
        if (in[i] != HR_INFINITE_CARDINALITY) return HR_UNKNOWN_CARDINALITY;
    return HR_INFINITE_CARDINALITY;
}

static void choose_describe(const void *spec, hr_description *to)
{
    const choose_spec *sp = spec;
    hr_describe_number(to, "datasets", sp->datasets);
    hr_describe_flag(to, "go_on", sp->go_on);
}

const hr_op hr_op_choose_from_datasets = {
    .head = HR_OP_HEAD,
    .name = "choose_from_datasets",
    .spec_size = sizeof(choose_spec),
    .state_size = sizeof(choose_state),
    .saved = 1, /* over */
    .range = (const hr_saved_range[]){{0, 1}},
    .ranges = 1,
    .check = choose_check,
    .open = choose_open,
    .plan = choose_plan,
    .close = choose_close,
    .identity = choose_identity,
    .cardinality = choose_cardinality,
    .describe = choose_describe,
};

hr_dataset *hr_choose_from_datasets_with(hr_dataset *const *in, int datasets, hr_dataset *choice,
                                         const hr_choose_from_datasets_opts *opts)
{
    const hr_choose_from_datasets_opts o = HR_OPTIONS(hr_choose_from_datasets_opts, opts);
    const choose_spec spec = {.datasets = datasets, .go_on = o.go_on};
    return hr_dataset_over(&hr_op_choose_from_datasets, &spec, choice, in, datasets);
}
