/* The public calls: one pipeline; an operator, from which pipelines follow; its arguments. */
#include "conformance/conformance_internal.h"
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 300, MAX_OF_ENDLESS = 300, COLUMNS = 9 };

static subject subject_of(hr_conformance_build *build, void *user, const hr_conformance_opts *opts, hr_error *err)
{
    return (subject){.build = build, .user = user, .name = opts->name, .quick = opts->quick, .err = err};
}

static hr_status refuse_null(const char *call, hr_error *err)
{
    return hr_fail(err, HR_INVALID_ARGUMENT, "conformance.argument", "%s: expected a function, got NULL", call);
}

/* Names the subject after the operator on top, if it has no name. Fails for a dataset that failed. Borrows `ds`. */
static hr_status check_built(subject *s, const hr_dataset *ds)
{
    const hr_error *failed = hr_dataset_error(ds);
    if (!s->name) s->name = failed ? "the pipeline" : hr_dataset_op(ds)->name;
    if (!failed) return HR_OK;
    return hr__conformance_fail(s, HR_INVALID_ARGUMENT, "conformance.sample",
                                "expected a sound dataset, found %s \"%.250s\"", hr_status_name(failed->code),
                                failed->text);
}

/* ---- one pipeline ---- */

hr_status hr_conformance_pipeline(hr_conformance_build *build, void *user, const hr_conformance_opts *opts,
                                  hr_error *err)
{
    const hr_conformance_opts o = HR_OPTIONS(hr_conformance_opts, opts);
    if (!build) return refuse_null("hr_conformance_pipeline", err);
    subject s = subject_of(build, user, &o, err);
    hr_dataset *ds = build(user);
    hr_status st = check_built(&s, ds);
    if (st == HR_OK) st = hr__conformance_checks(&s, o.checks);
    hr_dataset_unref(ds);
    hr__conformance_clear(&s);
    return st;
}

/* ---- an operator: its descriptor ---- */

static hr_status check_descriptor(const subject *s, const hr_op *op)
{
    const char *wrong = NULL;
    if (!op->name || !op->name[0])
        wrong = "a name, found none";
    else if (!op->plan && !op->work && !(op->traits & (HR_IGNORES_ERRORS | HR_PASSES_ROWS)))
        wrong = ".plan, .work, HR_IGNORES_ERRORS or HR_PASSES_ROWS, found none of them";
    else if (op->saved * sizeof(int64_t) > op->state_size)
        wrong = "a state that begins with the .saved numbers, found a .state_size below 8 bytes for each";
    else if (op->ranges > op->saved || (op->ranges > 0) != (op->range != NULL))
        wrong = "one of .range for each of the first .ranges saved numbers, found more of them, or none";
    else if (op->save && !op->load)
        wrong = ".load, which reads what .save writes, found none";
    else if (op->spec_copy && !op->spec_free)
        wrong = ".spec_free, which undoes .spec_copy, found none";
    else if (op->traits & (HR_ROW_BY_ROW | HR_RANDOM_ROWS) && !op->work)
        wrong = ".work, whose rows HR_ROW_BY_ROW and HR_RANDOM_ROWS are about, found none";
    else if ((op->held_from || op->traits & (HR_GROUPS_ROWS | HR_JOINS_ROWS)) && !op->plan)
        wrong = ".plan, which .held_from, HR_GROUPS_ROWS and HR_JOINS_ROWS are about, found none";
    if (!wrong) return HR_OK;
    return hr__conformance_fail(s, HR_INTERNAL, "conformance.descriptor", "expected %s in its descriptor", wrong);
}

/* ---- an operator: pipelines with it ---- */

static const hr_field wide_field[COLUMNS + 1] = {
    {.name = "value", .dtype = HR_INT64}, {.name = "c1", .dtype = HR_INT64},
    {.name = "c2", .dtype = HR_INT64},    {.name = "c3", .dtype = HR_INT64},
    {.name = "c4", .dtype = HR_INT64},    {.name = "c5", .dtype = HR_INT64},
    {.name = "c6", .dtype = HR_INT64},    {.name = "c7", .dtype = HR_INT64},
    {.name = "c8", .dtype = HR_INT64},    {.name = "list", .dtype = HR_INT64, .layout = HR_RAGGED, .shape = {1, {-1}}},
};
static const hr_schema wide_schema = {.fields = COLUMNS + 1, .field = wide_field};

static hr_status make_wide_row(const hr_element *in, hr_builder *out, hr_call *call, void *user)
{
    (void)call, (void)user;
    const int64_t n = *(const int64_t *)hr_get(in, "value")->data, values = (n & 3) == 3 ? 0 : n & 3;
    for (int i = 0; i < COLUMNS; i++) *(int64_t *)hr_set(out, wide_field[i].name) = i ? n % (1 << 2 * i) + i : n;
    int64_t *list = hr_set_count(out, "list", values);
    for (int64_t i = 0; list && i < values; i++) list[i] = n + i;
    return list || values == 0 ? HR_OK : HR_RESOURCE_EXHAUSTED;
}

hr_dataset *hr_conformance_wide_rows(hr_dataset *in)
{
    return hr_cache(hr_map(in, make_wide_row, NULL, .output = &wide_schema));
}

/* A pipeline with the operator in it. */
typedef struct putting {
    hr_conformance_put *put;
    void *user;
    const hr_conformance_opts *opts;
    bool shuffled, wide, batched; /* below it; above it */
} putting;

static hr_dataset *put_on_input(const putting *p)
{
    hr_dataset *in = NULL;
    if (!p->opts->source) in = p->opts->input ? p->opts->input(p->user) : hr_range(ROWS);
    if (p->wide) in = hr_conformance_wide_rows(in);
    if (p->shuffled) in = hr_shuffle(in, 40, .seed = 3);
    return p->put(in, p->user);
}

static hr_dataset *build_put(void *user)
{
    const putting *p = user;
    hr_dataset *ds = put_on_input(p);
    if (hr_cardinality(ds) == HR_INFINITE_CARDINALITY) ds = hr_take(ds, MAX_OF_ENDLESS);
    return p->batched ? hr_batch(ds, 7) : ds;
}

/* The first pipeline, on which all is checked. No batch is put on elements that do not fit into one. */
static hr_status find_first(subject *s, putting *p)
{
    p->shuffled = !p->opts->source;
    HR_TRY(hr__conformance_run(s, &s->want, (way){0}));
    if (s->want.end != HR_END)
        return hr__conformance_fail(s, HR_INVALID_ARGUMENT, "conformance.sample",
                                    "expected a pipeline that ends well, found %s \"%.200s\"; give it an .input that "
                                    "it takes",
                                    hr_status_name(s->want.end), s->want.error.text);
    p->batched = true;
    HR_TRY(hr__conformance_run(s, &s->want, (way){0}));
    p->batched = s->want.end == HR_END;
    return HR_OK;
}

/* Those that follow: alone, over wide rows, both. */
static hr_status check_derived(const subject *s, putting *p, unsigned checks)
{
    static const char *const how[] = {"alone", "over wide rows", "alone over wide rows"};
    const bool batched = p->batched;
    for (int i = 0; i < 3; i++) {
        char name[96];
        p->wide = i > 0;
        p->shuffled = p->batched = i == 1;
        p->batched &= batched;
        if (p->wide && (p->opts->source || p->opts->input)) break;
        if (!p->wide && MIN_WORKERS > 0) continue; /* no code that is not in the first */
        snprintf(name, sizeof name, "%.60s %s", s->name, how[i]);
        subject derived = {.build = build_put, .user = p, .name = name, .quick = true, .err = s->err};
        hr_dataset *ds = build_put(p);
        const bool can_be = !hr_dataset_error(ds);
        hr_dataset_unref(ds);
        const hr_status st = can_be ? hr__conformance_checks(&derived, checks) : HR_OK;
        hr__conformance_clear(&derived);
        HR_TRY(st);
    }
    return HR_OK;
}

hr_status hr_conformance_operator(hr_conformance_put *put, void *user, const hr_conformance_opts *opts, hr_error *err)
{
    const hr_conformance_opts o = HR_OPTIONS(hr_conformance_opts, opts);
    if (!put) return refuse_null("hr_conformance_operator", err);
    putting p = {.put = put, .user = user, .opts = &o};
    subject s = subject_of(build_put, &p, &o, err);
    hr_dataset *ds = put_on_input(&p);
    hr_status st = check_built(&s, ds);
    if (st == HR_OK) st = check_descriptor(&s, hr_dataset_op(ds));
    if (st == HR_OK) st = find_first(&s, &p);
    if (st == HR_OK) st = hr__conformance_checks(&s, o.checks);
    const unsigned few = (o.checks ? o.checks : ~0u) & (HR_CONFORM_RUNS | HR_CONFORM_RESUME);
    if (st == HR_OK && few) st = check_derived(&s, &p, few);
    hr_dataset_unref(ds);
    hr__conformance_clear(&s);
    return st;
}

/* ---- its arguments ---- */

typedef struct varying {
    hr_conformance_variant *variant;
    void *user;
    int number;
} varying;

static hr_dataset *build_variant(void *user)
{
    const varying *v = user;
    return v->variant(v->number, v->user);
}

static bool is_refusal(const hr_error *error)
{
    return error->kind &&
           (strcmp(error->kind, "state.other_arguments") == 0 || strcmp(error->kind, "state.other_pipeline") == 0);
}

/* The variant at hand refuses the state of the first one, and is run and resumed by itself. */
static hr_status check_variant(subject *s, const varying *v, const void *saved, size_t size, unsigned checks)
{
    if (v->number > 0) {
        HR_TRY(hr__conformance_run(s, &s->got, (way){.state = saved, .state_size = size}));
        if (!is_refusal(&s->got.error))
            return hr__conformance_fail(s, HR_INTERNAL, "conformance.identity",
                                        "expected that it refuses the state of arguments 0, found that it ends with %s "
                                        "\"%.150s\"; let .identity tell all arguments",
                                        hr_status_name(s->got.end), s->got.error.text);
    }
    return hr__conformance_checks(s, checks ? checks : HR_CONFORM_RUNS | HR_CONFORM_RESUME);
}

hr_status hr_conformance_arguments(hr_conformance_variant *variant, void *user, const hr_conformance_opts *opts,
                                   hr_error *err)
{
    const hr_conformance_opts o = HR_OPTIONS(hr_conformance_opts, opts);
    if (!variant) return refuse_null("hr_conformance_arguments", err);
    varying v = {.variant = variant, .user = user};
    subject s = subject_of(build_variant, &v, &o, err);
    s.quick = true;

    hr_status st = HR_OK;
    hr_dataset *ds;
    void *saved = NULL;
    size_t size = 0;
    for (; st == HR_OK && (ds = build_variant(&v)) != NULL; v.number++) {
        char name[96];
        s.name = o.name;
        st = check_built(&s, ds);
        snprintf(name, sizeof name, "%.60s with arguments %d", s.name, v.number);
        s.name = name;
        if (st == HR_OK && v.number == 0) {
            hr_iterator *it = hr__conformance_iterate(&s, (way){.window = 1, .unit_rows = 3});
            st = hr__conformance_run_on(&s, &s.got, it, 2);
            if (st == HR_OK) st = hr__conformance_save(&s, it, &saved, &size);
            hr_iterator_free(it);
        }
        if (st == HR_OK) st = check_variant(&s, &v, saved, size, o.checks);
        hr_dataset_unref(ds);
    }
    if (st == HR_OK && v.number < 2)
        st = hr_fail(err, HR_INVALID_ARGUMENT, "conformance.argument",
                     "hr_conformance_arguments: expected at least two variants, got %d", v.number);
    hr_free(saved);
    hr__conformance_clear(&s);
    return st;
}
