/* Operators from outside that answer what the kit forbids: an error that names them, never a crash, a thread that runs
 * for ever, or an end in silence. */
#include "tests/testing.h"
#include <headrace/data.h>
#include <headrace/op.h>

#include <string.h>

typedef enum lie {
    HONEST,
    NO_STATUS,   /* returns what is none */
    NO_ERROR,    /* fails without saying why */
    CODE_ALONE,  /* sets nothing but a code */
    IDLE,        /* takes nothing, gives nothing, and says that all is well */
    WAITS,       /* for nothing */
    PULLS_NONE,  /* asks for no element */
    NEGATIVE_ROW /* fails a row that there cannot be */
} lie;

typedef enum place { IN_COPY, IN_CHECK, IN_OPEN, IN_PLAN, IN_WORK } place;

typedef struct liar_spec {
    place where;
    lie how;
} liar_spec;

static hr_status answer(const liar_spec *sp, place here, hr_error *err)
{
    if (sp->where != here) return HR_OK;
    if (sp->how == CODE_ALONE && err) err->code = HR_RESOURCE_EXHAUSTED;
    return sp->how == NO_STATUS    ? (hr_status)77
           : sp->how == NO_ERROR   ? HR_UNAVAILABLE
           : sp->how == CODE_ALONE ? HR_RESOURCE_EXHAUSTED
                                   : HR_OK;
}

static hr_status liar_copy(void *spec, hr_error *err) { return answer(spec, IN_COPY, err); }

static hr_status liar_check(const void *spec, const hr_schema *const *in, hr_schema_builder *out, hr_error *err)
{
    (void)in, (void)out;
    return answer(spec, IN_CHECK, err);
}

static hr_status liar_open(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    (void)state, (void)p;
    return answer(spec, IN_OPEN, err);
}

static hr_status liar_plan(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    (void)state;
    const liar_spec *sp = spec;
    const lie how = sp->where == IN_PLAN ? sp->how : HONEST;
    hr_span span;
    HR_TRY(answer(sp, IN_PLAN, err));
    if (how == IDLE) return HR_OK;
    if (how == WAITS) return HR_WAIT;
    while (hr_room(p) > 0) {
        HR_TRY(hr_pull(p, 0, how == PULLS_NONE ? 0 : hr_room(p), &span));
        hr_emit(p, span);
    }
    return HR_OK;
}

static hr_status liar_work(const void *spec, const void *unit, hr_work *w, hr_columns *rows, hr_error *err)
{
    (void)unit;
    const liar_spec *sp = spec;
    hr_error why = {0};
    if (sp->where == IN_WORK && sp->how == NEGATIVE_ROW) hr_fail_at(w, rows, -1, &why);
    return answer(sp, IN_WORK, err);
}

static const hr_op planner = {.head = HR_OP_HEAD,
                              .name = "liar",
                              .spec_size = sizeof(liar_spec),
                              .spec_copy = liar_copy,
                              .check = liar_check,
                              .open = liar_open,
                              .plan = liar_plan};
static const hr_op worker = {
    .head = HR_OP_HEAD, .name = "liar", .spec_size = sizeof(liar_spec), .traits = HR_ROW_BY_ROW, .work = liar_work};

static void assert_lie(place where, lie how, hr_status status, const char *kind)
{
    const liar_spec spec = {where, how};
    const hr_element *e;
    for (int above = 0; above < 2; above++) { /* by itself, and within the stage of a shuffle */
        hr_dataset *ds = hr_range(300);
        ds = hr_dataset_new(where == IN_WORK ? &worker : &planner, &spec, &ds, 1);
        if (above) ds = hr_batch(hr_shuffle(ds, 20, .seed = 1), 7);
        hr_iterator *it = hr_iterate(ds);
        hr_status st;
        while ((st = hr_next(it, &e)) == HR_OK) {}
        assert_status(st, status);
        assert_string_equal(hr_iterator_error(it)->kind, kind);
        assert_non_null(strstr(hr_iterator_error(it)->text, "liar"));
        hr_iterator_free(it);
    }
}

static void statuses_that_are_none_and_failures_without_error_get_one(void **state)
{
    (void)state;
    for (place where = IN_COPY; where <= IN_WORK; where++) {
        assert_lie(where, NO_STATUS, HR_INTERNAL, "op.failed");
        assert_lie(where, NO_ERROR, HR_UNAVAILABLE, "op.failed");
        assert_lie(where, CODE_ALONE, HR_RESOURCE_EXHAUSTED, "op.failed");
    }
    assert_lie(IN_WORK, NEGATIVE_ROW, HR_INTERNAL, "op.failed");
}

static void a_plan_without_progress_ends(void **state)
{
    (void)state;
    assert_lie(IN_PLAN, IDLE, HR_INTERNAL, "op.failed");
    assert_lie(IN_PLAN, WAITS, HR_INTERNAL, "op.failed");
    assert_lie(IN_PLAN, PULLS_NONE, HR_INTERNAL, "op.pull");
}

/* ---- what check says comes out ---- */

static hr_status component_check(const void *spec, const hr_schema *const *in, hr_schema_builder *out, hr_error *err)
{
    (void)in;
    return hr_schema_add(out, *(const hr_field *)spec, err);
}

static const hr_op component = {.head = HR_OP_HEAD,
                                .name = "component",
                                .spec_size = sizeof(hr_field),
                                .check = component_check,
                                .plan = liar_plan};

static void components_that_no_column_can_hold_are_refused(void **state)
{
    (void)state;
    const hr_field fields[] = {
        {.name = NULL, .dtype = HR_INT64},
        {.name = "x", .dtype = (hr_dtype)99},
        {.name = "x", .dtype = HR_INT64, .shape = {.rank = 99}},
        {.name = "x", .dtype = HR_INT64, .shape = {.rank = -2}},
        {.name = "x", .dtype = HR_INT64, .shape = {.rank = 1, .dims = {-7}}},
        {.name = "x", .dtype = HR_INT64, .shape = {.rank = 3, .dims = {INT64_MAX, 0, INT64_MAX}}},
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        hr_dataset *ds = hr_range(3);
        ds = hr_dataset_new(&component, &fields[i], &ds, 1);
        const hr_error *err = hr_dataset_error(ds);
        assert_non_null(err);
        assert_string_equal(err->kind, "schema.component");
        hr_dataset_unref(ds);
    }
}

/* ---- what it sets for those below ---- */

static void negative_settings(const void *spec, hr_settings *below)
{
    (void)spec;
    below->window = -5;
    below->group = -3;
}

static void negative_settings_are_the_engines_choice(void **state)
{
    (void)state;
    static hr_op op;
    const liar_spec spec = {IN_PLAN, HONEST};
    const hr_element *e;
    int64_t count = 0;
    op = planner;
    op.settings = negative_settings;
    hr_dataset *ds = hr_shuffle(hr_range(300), 20, .seed = 1);
    hr_iterator *it = hr_iterate(hr_dataset_new(&op, &spec, &ds, 1));
    while (hr_next(it, &e) == HR_OK) count++;
    assert_int_equal(count, 300);
    hr_iterator_free(it);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statuses_that_are_none_and_failures_without_error_get_one),
        cmocka_unit_test(a_plan_without_progress_ends),
        cmocka_unit_test(components_that_no_column_can_hold_are_refused),
        cmocka_unit_test(negative_settings_are_the_engines_choice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
