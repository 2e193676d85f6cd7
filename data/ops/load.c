/* load: the elements of a file of rows, as hr_save or a cache wrote it. plan finds the next ones, work reads them. */
#include "data/rows/cached_rows.h"
#include "io/match.h"
#include <headrace/data.h>

typedef struct load_spec {
    const char *file;
    hr__rows_head head; /* read when the dataset is made */
} load_spec;

typedef struct load_state {
    hr__cached_place place; /* saved: its first number */
    hr__cached_rows *cached;
} load_state;

static hr_status load_copy(void *spec, hr_error *err)
{
    load_spec *sp = spec;
    if (!sp->file) return hr_fail(err, HR_INVALID_ARGUMENT, "load.file", "load: expected the name of a file, got none");
    sp->file = hr_strdup(sp->file);
    if (!sp->file) return hr_no_memory(err, "load: the name of its file");
    hr_input *in;
    HR_TRY(hr__rows_file_open(sp->file, &in, &sp->head, err));
    hr_input_free(in);
    return HR_OK;
}

static void load_free(void *spec)
{
    load_spec *sp = spec;
    hr_free((char *)(uintptr_t)sp->file);
    hr__rows_head_clear(&sp->head);
}

static hr_status load_check(const void *spec, const hr_schema *const *in, hr_schema_builder *out, hr_error *err)
{
    (void)in;
    return hr_schema_set(out, &((const load_spec *)spec)->head.schema, err);
}

static bool load_make_shared(void *data) { return hr__cached_open(data); }
static void load_free_shared(void *data) { hr__cached_close(data); }

static hr_status load_open(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    const load_spec *sp = spec;
    load_state *st = state;
    st->cached = hr_plan_shared(p, NULL, sizeof *st->cached, load_make_shared, load_free_shared);
    if (!st->cached) return hr_no_memory(err, "load");
    if (hr_file_number(p, sp->file) < 0) return hr_no_memory(err, "load: a file's name");
    HR_TRY(hr__cached_set(st->cached, p, sp->file, false, 0, err));
    return hr__cached_load(st->cached, p, err);
}

static hr_status load_plan(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    (void)spec;
    load_state *st = state;
    hr__cached_next next;
    hr__piece piece;
    HR_TRY(hr__cached_find(st->cached, p, &st->place, &next, &piece, err));
    return next == HR__CACHED_TAKE ? hr__cached_plan(st->cached, &st->place, &piece, p, hr_unit(p), err) : HR_END;
}

static hr_status load_work(const void *spec, const void *unit, hr_work *w, hr_columns *rows, hr_error *err)
{
    (void)spec;
    return hr__cached_work(unit, w, rows, err);
}

static hr_op_files load_files(const void *spec) { return (hr_op_files){((const load_spec *)spec)->file, hr__one_file}; }

static int64_t load_cardinality(const void *spec, const int64_t *in)
{
    (void)in;
    const hr__rows_head *head = &((const load_spec *)spec)->head;
    int64_t elements = 0;
    for (int64_t i = 0; i < head->pieces; i++) elements += head->piece[i].elements;
    return elements;
}

static void load_describe(const void *spec, hr_description *to)
{
    const load_spec *sp = spec;
    hr_describe_text(to, NULL, sp->file);
}

const hr_op hr_op_load = {
    .head = HR_OP_HEAD,
    .name = "load",
    .spec_size = sizeof(load_spec),
    .state_size = sizeof(load_state),
    .unit_size = sizeof(hr__cached_part),
    .saved = 1, /* place.given */
    .spec_copy = load_copy,
    .spec_free = load_free,
    .check = load_check,
    .open = load_open,
    .plan = load_plan,
    .work = load_work,
    .files = load_files,
    .cardinality = load_cardinality,
    .describe = load_describe,
};

hr_dataset *hr_load(const char *file)
{
    const load_spec spec = {.file = file};
    return hr_dataset_new(&hr_op_load, &spec, NULL, 0);
}

/* ---- saving ---- */

/* A cache writes the file as it passes the elements; a file of that name is replaced. */
hr_status hr_save(hr_dataset *ds, const char *file, hr_error *err)
{
    const hr_element *e;
    hr_iterator *it = hr_iterate(hr__cache_anew(ds, file));
    hr_status st;
    do st = hr_next(it, &e);
    while (st == HR_OK);
    if (st != HR_END && err) *err = *hr_iterator_error(it);
    hr_iterator_free(it);
    return st == HR_END ? HR_OK : st;
}
