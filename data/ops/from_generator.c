/* from_generator: elements that a user's function makes, one after the other in the plan, or any of them on any thread
 * in the work, if the function allows that.
 *
 * A saved state knows how many elements were given. What that means to the function is its own affair: it makes any
 * element from its number (.by_number), or it has saved and loads more itself, or it is called again from the start and
 * what it gave before is dropped. */
#include <headrace/data.h>
#include <headrace/op_functions.h>

typedef struct generator_spec {
    hr_user user; /* first */
    hr_generator_fn *fn;
    hr_from_generator_opts o; /* output: borrowed, read in check only */
    int64_t count;            /* negative: until the function says HR_END */
} generator_spec;

typedef struct generator_state {
    int64_t given; /* saved */
    int64_t made;  /* number of the element that the function makes next */
    void *generator;
    uint64_t key;
    bool opened;
    void (*close)(void *generator);
    void (*save)(const void *generator, hr_token_writer *to);
} generator_state;

/* What the plan leaves for the work, where that calls the function. */
typedef struct generator_unit {
    int64_t first;
    uint64_t key;
    void *generator;
} generator_unit;

static hr_status generator_check(const void *spec, const hr_schema *const *in, hr_schema_builder *out, hr_error *err)
{
    (void)in;
    const generator_spec *sp = spec;
    if (!sp->fn || !sp->o.output)
        return hr_fail(err, HR_INVALID_ARGUMENT, "from_generator.function",
                       "from_generator: expected a function and the .output that it makes, got NULL");
    if (sp->o.thread_safe && !sp->o.count)
        return hr_fail(
            err, HR_INVALID_ARGUMENT, "from_generator.count",
            "from_generator: expected .count with .thread_safe: HR_END cannot end calls that are out of order");
    if (!sp->o.save != !sp->o.load)
        return hr_fail(err, HR_INVALID_ARGUMENT, "from_generator.function",
                       "from_generator: expected .save and .load together, got one of them");
    HR_TRY(hr_builder_check("from_generator", "from_generator.output", sp->o.output, err));
    return hr_builder_schema(sp->o.output, out, err);
}

/* ---- one iterator ---- */

static hr_status generator_open(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    const generator_spec *sp = spec;
    generator_state *st = state;
    st->key = hr_plan_key(p, sp->o.seed, false);
    st->save = sp->o.save;
    st->generator = sp->o.open ? sp->o.open(sp->user.data) : sp->user.data;
    if (sp->o.open && !st->generator)
        return hr_fail(err, HR_UNAVAILABLE, "from_generator.open", "from_generator: .open gave no generator");
    st->close = sp->o.open ? sp->o.close : NULL;
    return HR_OK;
}

static void generator_close(void *state)
{
    const generator_state *st = state;
    if (st->close) st->close(st->generator);
}

static void generator_save(const void *state, hr_token_writer *token)
{
    const generator_state *st = state;
    if (st->save) st->save(st->generator, token);
}

/* Until here `made` is 0: an element given before the save is made again, unless the function need not. */
static hr_status generator_load(const void *spec, void *state, hr_token_reader *token, hr_error *err)
{
    const generator_spec *sp = spec;
    generator_state *st = state;
    if (sp->count >= 0) HR_TRY(hr_saved_between("from_generator", st->given, 0, sp->count, err));
    if (sp->o.load) HR_TRY(sp->o.load(st->generator, token, err));
    if (sp->o.load || sp->o.by_number || sp->o.thread_safe) st->made = st->given;
    return HR_OK;
}

/* ---- making elements ---- */

/* Where the rows came from only the function knows. */
static hr_status from_generator_make(const generator_spec *sp, void *generator, uint64_t key, int64_t number,
                                     hr_builder *out, hr_error *err)
{
    hr_call call;
    hr_call_for_key(&call, "from_generator.function", hr_random(key, (uint64_t)number));
    hr_builder_zero(out->rows, out->first, out->end);
    hr_builder_begin(out);
    const hr_status st = hr_builder_status(out, &call, "from_generator", sp->fn(number, out, &call, generator));
    if (st < 0 && err) *err = call.err;
    return st;
}

/* The last row is made and given, or made and dropped: then the next one takes its place. */
static hr_status make_next(const generator_spec *sp, generator_state *st, hr_plan *p, hr_columns *rows, hr_error *err)
{
    hr_builder out = hr_builder_for_plan(p, rows, rows->rows, rows->rows + 1);
    const hr_status made = from_generator_make(sp, st->generator, st->key, st->made, &out, err);
    if (made == HR_END && st->made < st->given)
        return hr_fail(err, HR_DATA_LOSS, "from_generator.input_changed",
                       "from_generator: the generator has changed since the state was saved: it gives only %lld "
                       "elements; start from the beginning",
                       (long long)st->made);
    if (made != HR_OK) return made;
    if (st->made++ < st->given) return HR_OK;
    st->given++;
    rows->rows++;
    return HR_OK;
}

static hr_status generator_plan(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    const generator_spec *sp = spec;
    generator_state *st = state;
    int64_t count = hr_room(p);
    if (sp->count >= 0 && sp->count - st->given < count) count = sp->count - st->given;
    if (count <= 0) return sp->count >= 0 && st->given >= sp->count ? HR_END : HR_OK;

    hr_columns *rows = hr_unit_rows(p, count);
    if (!rows) return hr_no_memory(err, "from_generator");
    rows->origin = NULL;
    if (sp->o.thread_safe) {
        *(generator_unit *)hr_unit(p) = (generator_unit){st->given, st->key, st->generator};
        st->made = st->given += rows->rows = count;
        return HR_OK;
    }
    hr_status made = HR_OK;
    while (made == HR_OK && rows->rows < count) made = make_next(sp, st, p, rows, err);
    return made;
}

static hr_status generator_work(const void *spec, const void *unit, hr_work *w, hr_columns *rows, hr_error *err)
{
    const generator_spec *sp = spec;
    const generator_unit *u = unit;
    (void)err;
    for (int64_t r = 0; sp->o.thread_safe && r < rows->rows && !hr_work_cancelled(w); r++) {
        hr_error failure;
        hr_builder out = hr_builder_for_work(w, rows, r, r + 1);
        const hr_status made = from_generator_make(sp, u->generator, u->key, u->first + r, &out, &failure);
        if (made == HR_END)
            hr_fail(&failure, HR_INVALID_ARGUMENT, "from_generator.count",
                    "from_generator: element %lld: expected .count elements, got HR_END", (long long)(u->first + r));
        if (made != HR_OK) hr_fail_at(w, rows, r, &failure);
    }
    return HR_OK;
}

static void generator_identity(const void *spec, uint64_t *sum)
{
    const generator_spec *sp = spec;
    hr_identify_i64(sum, sp->count);
    hr_identify_i64(sum, (int64_t)sp->o.seed);
}

static int64_t generator_cardinality(const void *spec, const int64_t *in)
{
    (void)in;
    const generator_spec *sp = spec;
    if (sp->count >= 0)
        return sp->o.by_number || sp->o.thread_safe ? sp->count : HR_UNKNOWN_CARDINALITY; /* it may say HR_END before */
    return sp->o.count ? HR_INFINITE_CARDINALITY : HR_UNKNOWN_CARDINALITY;
}

static void generator_describe(const void *spec, hr_description *to)
{
    const generator_spec *sp = spec;
    hr_describe_flag(to, "by_number", sp->o.by_number);
    hr_describe_flag(to, "thread_safe", sp->o.thread_safe);
    hr_describe_seed(to, sp->o.seed, false);
}

static hr_status generator_at(const void *spec, void *state, int64_t index, const int64_t *have, int64_t *in)
{
    (void)have, (void)in;
    const generator_spec *sp = spec;
    generator_state *st = state;
    if (!sp->o.by_number && !sp->o.thread_safe) return HR_UNIMPLEMENTED;
    st->given = st->made = sp->count >= 0 && index > sp->count ? sp->count : index;
    return HR_OK;
}

const hr_op hr_op_from_generator = {
    .head = HR_OP_HEAD,
    .name = "from_generator",
    .spec_size = sizeof(generator_spec),
    .state_size = sizeof(generator_state),
    .unit_size = sizeof(generator_unit),
    .saved = 1, /* given */
    .spec_copy = hr_user_copy,
    .spec_free = hr_user_free,
    .check = generator_check,
    .open = generator_open,
    .plan = generator_plan,
    .work = generator_work,
    .close = generator_close,
    .save = generator_save,
    .load = generator_load,
    .identity = generator_identity,
    .cardinality = generator_cardinality,
    .describe = generator_describe,
    .at = generator_at,
};

hr_dataset *hr_from_generator_with(hr_generator_fn *fn, void *user, const hr_from_generator_opts *opts)
{
    const hr_from_generator_opts o = HR_OPTIONS(hr_from_generator_opts, opts);
    generator_spec spec = {
        .user = {.data = user, .free = o.user_free}, .fn = fn, .o = o, .count = o.count ? *o.count : -1};
    return hr_user_dataset(&hr_op_from_generator, &spec, &spec.user, NULL, 0);
}
