/* rejection_resample: elements whose classes have the proportions asked for. The class of each element is put in front
 * of it by work; the plan then draws which of them pass. */
#include <headrace/data.h>
#include <headrace/op_functions.h>
#include <inttypes.h>
#include <stdio.h>

enum { MAX_CLASSES = 1024 };

/* ---- the class before its element ---- */

typedef struct class_spec {
    hr_user user; /* first */
    hr_class_fn *fn;
    int classes;
} class_spec;

/* Named as zip names them. */
static hr_status class_check(const void *spec, const hr_schema *const *in, hr_schema_builder *out, hr_error *err)
{
    const class_spec *sp = spec;
    if (!sp->fn || sp->classes < 1 || sp->classes > MAX_CLASSES || in[0]->levels > 0)
        return hr_fail(err, HR_INVALID_ARGUMENT, "rejection_resample.classes",
                       "rejection_resample: expected a function from a single element to one of 1 to %d classes",
                       MAX_CLASSES);
    hr_schema_clear(out);
    HR_TRY(hr_schema_add(out, (hr_field){.name = "0", .dtype = HR_INT64}, err));
    for (int i = 0; i < in[0]->fields; i++) {
        char name[512];
        hr_field field = in[0]->field[i];
        const bool lone = in[0]->fields == 1 && strcmp(field.name, "value") == 0;
        snprintf(name, sizeof name, lone ? "1" : "1/%.500s", field.name);
        field.name = name;
        HR_TRY(hr_schema_add(out, field, err));
    }
    return HR_OK;
}

static void refuse_class(hr_work *w, hr_columns *rows, int64_t row, int classes, int64_t got)
{
    hr_error err;
    hr_fail(&err, HR_INVALID_ARGUMENT, "rejection_resample.class",
            "rejection_resample: expected a class from 0 to %d, got %" PRId64, classes - 1, got);
    hr_fail_at(w, rows, row, &err);
}

static hr_status class_work(const void *spec, const void *unit, hr_work *w, hr_columns *rows, hr_error *err)
{
    (void)unit;
    hr_columns before;
    const class_spec *sp = spec;
    HR_TRY(hr_new_columns(w, rows, &before, err));
    for (int i = 1; i < rows->schema->fields; i++) rows->column[i] = before.column[i - 1];
    int64_t *class = rows->column[0].values;
    for (int64_t r = 0; r < rows->rows && !hr_work_cancelled(w); r++) {
        const hr_element *element = hr_work_element(w, &before, r);
        if (!element) return hr_no_memory(err, "rejection_resample: an element");
        const int64_t got = sp->fn(element, sp->user.data);
        class[r] = got;
        if (got < 0 || got >= sp->classes) refuse_class(w, rows, r, sp->classes, got);
    }
    return HR_OK;
}

static const hr_op class_op = {
    .head = HR_OP_HEAD,
    .name = "rejection_resample.class",
    .spec_size = sizeof(class_spec),
    .traits = HR_ROW_BY_ROW,
    .spec_copy = hr_user_copy,
    .spec_free = hr_user_free,
    .check = class_check,
    .work = class_work,
};

/* ---- which elements pass: TensorFlow's algorithm. With probability m an element is the next one of the input as it
 * is, else the next one of a second pass over the input that is not rejected, whose class is as rare there as it has to
 * be; m is as large as the proportions allow, so that little is thrown away. What is rejected follows from (seed,
 * epoch, data).
 *
 * Where the proportions of the input are not given they are counted as it passes, in both passes, and the counts are
 * saved. ---- */

enum { PLAIN, REJECTING, STREAMS }; /* the inputs */
enum { SMOOTHING = 10 };            /* of each class so many are taken as seen beforehand */

typedef struct resample_spec {
    const double *target, *initial; /* borrowed until spec_copy */
    int classes;
    uint64_t seed;
    bool reject_only;
    double *own; /* the target's proportions, then the input's if they are given */
} resample_spec;

typedef struct resample_state {
    int64_t over, drawn, tried,
        stream; /* saved: one pass has ended; draws; elements that might have been rejected; whose
                                           turn it is, -1: not drawn yet */
    uint64_t key;
    int classes;
    int64_t *count; /* of each class; NULL: the proportions are given */
    int64_t seen;   /* the sum of them */
} resample_state;

/* A distribution of any sum. */
static void copy_shares(double *own, const double *given, size_t classes)
{
    double sum = 0;
    for (size_t c = 0; given && c < classes; c++) sum += own[c] = given[c];
    for (size_t c = 0; sum > 0 && c < classes; c++) own[c] /= sum;
}

static hr_status resample_copy(void *spec, hr_error *err)
{
    resample_spec *sp = spec;
    const size_t classes = sp->classes > 0 ? (size_t)sp->classes : 0;
    sp->own = hr_calloc(2 * classes + 1, sizeof *sp->own);
    if (!sp->own) return hr_no_memory(err, "rejection_resample");
    copy_shares(sp->own, sp->target, classes);
    copy_shares(sp->own + classes, sp->initial, classes);
    return HR_OK;
}

static void resample_free(void *spec) { hr_free(((resample_spec *)spec)->own); }

static hr_status resample_check(const void *spec, const hr_schema *const *in, hr_schema_builder *out, hr_error *err)
{
    (void)in, (void)out;
    const resample_spec *sp = spec;
    double sum = 0;
    bool sound = sp->target != NULL;
    for (int c = 0; sound && c < sp->classes; c++) {
        sound = sp->own[c] >= 0 && (!sp->initial || sp->own[sp->classes + c] >= 0);
        sound = sound && !(sp->initial && sp->own[c] > 0 && !(sp->own[sp->classes + c] > 0));
        sum += sp->own[c];
    }
    if (sound && sum > 0) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "rejection_resample.dist",
                   "rejection_resample: expected a target_dist of weights >= 0, and an initial_dist above 0 where the "
                   "target is");
}

static hr_status resample_open(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    const resample_spec *sp = spec;
    resample_state *st = state;
    st->key = hr_plan_key(p, sp->seed, false);
    st->classes = sp->classes;
    st->stream = -1;
    if (sp->initial) return HR_OK;
    st->count = hr_calloc((size_t)sp->classes, sizeof *st->count);
    return st->count ? HR_OK : hr_no_memory(err, "rejection_resample: the counts");
}

static void resample_close(void *state) { hr_free(((resample_state *)state)->count); }

/* How much rarer the class is in the input than in the target. */
static double ratio_of(const resample_spec *sp, const resample_state *st, int64_t class)
{
    const double share = st->count
                             ? (double)(st->count[class] + SMOOTHING) / (double)(st->seen + SMOOTHING * st->classes)
                             : sp->own[sp->classes + class];
    return sp->own[class] > 0 ? sp->own[class] / share : 0;
}

static double largest_ratio(const resample_spec *sp, const resample_state *st)
{
    double max = 0;
    for (int c = 0; c < sp->classes; c++)
        if (ratio_of(sp, st, c) > max) max = ratio_of(sp, st, c);
    return max;
}

/* How often an element may come as it is: m. All of them, if the proportions are the target's. */
static double share_of_plain(const resample_spec *sp, const resample_state *st)
{
    double min = ratio_of(sp, st, 0);
    for (int c = 1; c < sp->classes; c++)
        if (ratio_of(sp, st, c) < min) min = ratio_of(sp, st, c);
    if (largest_ratio(sp, st) - min < 1e-9) return 1;
    return sp->reject_only ? 0 : min;
}

static double uniform(uint64_t bits) { return (double)(bits >> 11) / 9007199254740992.0; }

static int64_t draw_stream(const resample_spec *sp, resample_state *st)
{
    return uniform(hr_random(st->key, 2 * (uint64_t)st->drawn++)) < share_of_plain(sp, st) ? PLAIN : REJECTING;
}

/* The class that is rarest, compared with the target, always passes. */
static bool passes(const resample_spec *sp, resample_state *st, int64_t class)
{
    const double plain = share_of_plain(sp, st);
    const double draw = uniform(hr_random(st->key, 2 * (uint64_t)st->tried++ + 1));
    return plain >= 1 || draw * (largest_ratio(sp, st) - plain) < ratio_of(sp, st, class) - plain;
}

/* One element of the pass whose turn it is: given, or rejected. */
static hr_status try_one(const resample_spec *sp, resample_state *st, hr_plan *p)
{
    hr_span span;
    if (st->stream < 0) st->stream = draw_stream(sp, st);
    const hr_status got = hr_pull(p, (int)st->stream, 1, &span);
    st->over = got == HR_END;
    if (got != HR_OK) return got;
    const int64_t class = ((const int64_t *)span.in->column[0].values)[span.first];
    if (st->count) st->count[class]++, st->seen++;
    if (st->stream == REJECTING && !passes(sp, st, class)) return hr_span_drop(span), HR_OK;
    st->stream = -1;
    hr_emit(p, span);
    return HR_OK;
}

static hr_status resample_plan(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    (void)err;
    resample_state *st = state;
    while (hr_room(p) > 0 && !st->over && !hr_plan_cancelled(p)) HR_TRY(try_one(spec, st, p));
    if (st->over) return HR_END;
    return hr_room(p) > 0 ? HR_WAIT : HR_OK;
}

static void resample_save(const void *state, hr_token_writer *token)
{
    const resample_state *st = state;
    for (int c = 0; st->count && c < st->classes; c++) hr_write_i64(token, st->count[c]);
}

static hr_status resample_load(const void *spec, void *state, hr_token_reader *token, hr_error *err)
{
    (void)spec;
    resample_state *st = state;
    for (int c = 0; st->count && c < st->classes; c++) {
        HR_TRY(hr_read_between(token, 0, HR_LARGEST_COUNT, &st->count[c], err));
        st->seen += st->count[c];
    }
    return HR_OK;
}

static void resample_identity(const void *spec, uint64_t *sum)
{
    const resample_spec *sp = spec;
    hr_identify(sum, sp->own, 2 * (size_t)sp->classes * sizeof *sp->own);
    hr_identify_i64(sum, (int64_t)sp->seed);
    hr_identify_i64(sum, sp->reject_only);
}

static void resample_describe(const void *spec, hr_description *to)
{
    const resample_spec *sp = spec;
    hr_describe_number(to, "classes", sp->classes);
    hr_describe_flag(to, "reject_only", sp->reject_only);
    hr_describe_seed(to, sp->seed, false);
}

const hr_op hr_op_rejection_resample = {
    .head = HR_OP_HEAD,
    .name = "rejection_resample",
    .spec_size = sizeof(resample_spec),
    .state_size = sizeof(resample_state),
    .saved = 4, /* over, drawn, tried, stream */
    .range = (const hr_saved_range[]){{0, 1}, HR_SAVED_COUNT, HR_SAVED_COUNT, {-1, STREAMS - 1}},
    .ranges = 4,
    .spec_copy = resample_copy,
    .spec_free = resample_free,
    .check = resample_check,
    .open = resample_open,
    .plan = resample_plan,
    .close = resample_close,
    .save = resample_save,
    .load = resample_load,
    .identity = resample_identity,
    .describe = resample_describe,
};

hr_dataset *hr_rejection_resample_with(hr_dataset *in, hr_class_fn *class_fn, void *user, const double *target_dist,
                                       int classes, const hr_rejection_resample_opts *opts)
{
    const hr_rejection_resample_opts o = HR_OPTIONS(hr_rejection_resample_opts, opts);
    class_spec classed = {.user = {.data = user, .free = o.user_free}, .fn = class_fn, .classes = classes};
    hr_dataset *ds = hr_user_dataset(&class_op, &classed, &classed.user, &in, 1);
    const resample_spec spec = {.target = target_dist,
                                .initial = o.initial_dist,
                                .classes = classes,
                                .seed = o.seed,
                                .reject_only = o.reject_only};
    hr_dataset *const passes_over_it[STREAMS] = {ds, hr_dataset_ref(ds)};
    return hr_dataset_new(&hr_op_rejection_resample, &spec, passes_over_it, STREAMS);
}
