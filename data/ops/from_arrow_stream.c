/* from_arrow_stream: the rows of a stream of Arrow struct arrays, which all have one schema. Plan takes one array after
 * the other, each when the one before is given; work copies their rows, on any thread, so an array is released when the
 * plan and all units that were made of it have done with it.
 *
 * A saved state knows how many rows were given. A stream begins only at its front: what was given is skipped. */
#include "data/arrow/arrow_rows.h"
#include <inttypes.h>
#include <stdatomic.h>
#include <uv.h>

/* An array on its way. Units that are thrown away unworked leave theirs to the dataset. */
typedef struct piece {
    hr__arrow_batch batch;
    atomic_llong holds;
    struct piece *next, *before; /* of the dataset's */
} piece;

/* What is not frozen of a dataset: the stream it was made with, which one opening may have, and the arrays. */
typedef struct source {
    struct ArrowArrayStream stream;
    uv_mutex_t lock;
    piece *pieces;
} source;

typedef struct stream_spec {
    hr__arrow_table table;
    source *source;
    hr_arrow_stream_fn *open;
    void *user;
    void (*user_free)(void *user);
    const hr_parse_spec *features;  /* the caller's; NULL once the components are made */
    const char *label;              /* the same */
    struct ArrowArrayStream *moved; /* the caller's, until it lies in the source */
    bool *taken;                    /* of the constructor: the dataset has all that now */
} stream_spec;

typedef struct stream_state {
    int64_t given; /* saved */
    int64_t read;  /* rows of all arrays before the current one */
    const stream_spec *spec;
    struct ArrowArrayStream stream;
    piece *at; /* the current array; NULL: none yet, or all of it is given */
} stream_state;

typedef struct stream_unit {
    piece *of;
    int64_t first;
} stream_unit;

/* ---- arrays ---- */

static void free_piece(piece *p)
{
    hr__arrow_batch_clear(&p->batch);
    hr_free(p);
}

static piece *new_piece(source *s)
{
    piece *p = hr_calloc(1, sizeof *p);
    if (!p) return NULL;
    atomic_store(&p->holds, 1);
    uv_mutex_lock(&s->lock);
    p->next = s->pieces;
    if (p->next) p->next->before = p;
    s->pieces = p;
    uv_mutex_unlock(&s->lock);
    return p;
}

static void drop_piece(source *s, piece *p)
{
    if (!p || atomic_fetch_sub(&p->holds, 1) > 1) return;
    uv_mutex_lock(&s->lock);
    if (p->next) p->next->before = p->before;
    *(p->before ? &p->before->next : &s->pieces) = p->next;
    uv_mutex_unlock(&s->lock);
    free_piece(p);
}

/* ---- the dataset ---- */

/* Moves the caller's stream: here, or if there is no memory for it, to nowhere. */
static hr_status new_source(stream_spec *s, hr_error *err)
{
    struct ArrowArrayStream own = *s->moved;
    s->moved->release = NULL;
    s->moved = NULL;
    s->source = hr_calloc(1, sizeof *s->source);
    if (s->source && uv_mutex_init(&s->source->lock) != 0) {
        hr_free(s->source);
        s->source = NULL;
    }
    if (s->source)
        s->source->stream = own;
    else if (own.release)
        own.release(&own);
    return s->source ? HR_OK : hr_no_memory(err, "from_arrow_stream");
}

static void free_source(source *s)
{
    if (!s) return;
    while (s->pieces) {
        piece *p = s->pieces;
        s->pieces = p->next;
        free_piece(p);
    }
    if (s->stream.release) s->stream.release(&s->stream);
    uv_mutex_destroy(&s->lock);
    hr_free(s);
}

static void stream_free(void *spec)
{
    stream_spec *s = spec;
    if (s->moved && s->moved->release) s->moved->release(s->moved);
    free_source(s->source);
    hr__arrow_table_clear(&s->table);
    if (s->user_free) s->user_free(s->user);
}

/* What a stream's function says went wrong. */
static hr_status fail_stream(struct ArrowArrayStream *stream, int code, const char *what, hr_error *err)
{
    const char *why = stream->get_last_error ? stream->get_last_error(stream) : NULL;
    return hr_fail(err, HR_UNAVAILABLE, "from_arrow.stream", "from_arrow_stream: expected %s, got error %d: %.200s",
                   what, code, why ? why : "the stream says no more");
}

static hr_status from_arrow_stream_read_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out, hr_error *err)
{
    if (!stream->release || !stream->get_schema || !stream->get_next)
        return hr_fail(err, HR_INVALID_ARGUMENT, "from_arrow.stream",
                       "from_arrow_stream: expected a stream, got NULL, or one that is released already");
    const int code = stream->get_schema(stream, out);
    if (code == 0) return HR_OK;
    out->release = NULL;
    return fail_stream(stream, code, "the schema", err);
}

static hr_status stream_copy(void *spec, hr_error *err)
{
    stream_spec *s = spec;
    *s->taken = true;
    s->taken = NULL;
    HR_TRY(new_source(s, err));
    HR_TRY(from_arrow_stream_read_schema(&s->source->stream, &s->table.schema, err));
    HR_TRY(hr__arrow_table_open(&s->table, s->features, s->label, err));
    s->features = NULL;
    s->label = NULL;
    return HR_OK;
}

static hr_status stream_check(const void *spec, const hr_schema *const *in, hr_schema_builder *out, hr_error *err)
{
    (void)in;
    return hr__arrow_table_fields(&((const stream_spec *)spec)->table, out, err);
}

/* ---- one opening ---- */

/* Another stream of the same rows must have the same columns. */
static hr_status check_again(const stream_spec *s, struct ArrowArrayStream *stream, hr_error *err)
{
    hr__arrow_table again = {.who = s->table.who};
    hr_status status = from_arrow_stream_read_schema(stream, &again.schema, err);
    if (status == HR_OK) status = hr__arrow_table_agrees(&s->table, &again.schema, err);
    hr__arrow_table_clear(&again);
    return status;
}

/* The first opening has the dataset's own stream, others ask for theirs. */
static hr_status stream_open(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    (void)p;
    const stream_spec *s = spec;
    stream_state *st = state;
    st->spec = s;
    uv_mutex_lock(&s->source->lock);
    st->stream = s->source->stream;
    s->source->stream.release = NULL;
    uv_mutex_unlock(&s->source->lock);
    if (st->stream.release) return HR_OK;
    if (!s->open)
        return hr_fail(err, HR_FAILED_PRECONDITION, "source.once",
                       "from_arrow_stream: expected one pass over the stream, got another one; give .open, which opens "
                       "it again, or cache the rows");
    const int code = s->open(&st->stream, s->user);
    if (code == 0) return check_again(s, &st->stream, err);
    st->stream.release = NULL;
    return hr_fail(err, HR_UNAVAILABLE, "from_arrow.stream",
                   "from_arrow_stream: expected .open to give a stream, got "
                   "error %d",
                   code);
}

static void stream_close(void *state)
{
    stream_state *st = state;
    if (st->spec) drop_piece(st->spec->source, st->at);
    if (st->stream.release) st->stream.release(&st->stream);
}

/* The next array. HR_END: there is none. */
static hr_status next_piece(stream_state *st, hr_error *err)
{
    const stream_spec *s = st->spec;
    piece *p = new_piece(s->source);
    if (!p) return hr_no_memory(err, "from_arrow_stream");
    hr_status status = HR_OK;
    const int code = st->stream.get_next(&st->stream, &p->batch.array);
    if (code != 0) {
        p->batch.array.release = NULL;
        status = fail_stream(&st->stream, code, "the next rows", err);
    } else if (!p->batch.array.release) {
        status = HR_END;
    } else {
        status = hr__arrow_batch_open(&s->table, &p->batch, err);
    }
    if (status != HR_OK) {
        drop_piece(s->source, p);
        return status;
    }
    p->batch.first = st->read;
    st->at = p;
    return HR_OK;
}

/* Goes to the array that has row number `given`. */
static hr_status find_piece(stream_state *st, hr_error *err)
{
    for (;;) {
        if (!st->at) HR_TRY(next_piece(st, err));
        if (st->given < st->read + st->at->batch.array.length) return HR_OK;
        st->read += st->at->batch.array.length;
        drop_piece(st->spec->source, st->at);
        st->at = NULL;
    }
}

static hr_status stream_plan(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    (void)spec;
    stream_state *st = state;
    HR_TRY(find_piece(st, err));
    const int64_t left = st->read + st->at->batch.array.length - st->given;
    const int64_t count = left < hr_room(p) ? left : hr_room(p);
    hr_columns *rows = hr_unit_rows(p, count);
    if (!rows) return hr_no_memory(err, "from_arrow_stream");
    rows->origin = NULL;
    rows->rows = count;
    atomic_fetch_add(&st->at->holds, 1);
    *(stream_unit *)hr_unit(p) = (stream_unit){st->at, st->given - st->read};
    st->given += count;
    return HR_OK;
}

static hr_status stream_work(const void *spec, const void *unit_, hr_work *w, hr_columns *rows, hr_error *err)
{
    const stream_spec *s = spec;
    const stream_unit *unit = unit_;
    const hr_status status = hr__arrow_fill(&s->table, &unit->of->batch, unit->first, w, rows, err);
    drop_piece(s->source, unit->of);
    return status;
}

static void stream_identity(const void *spec, uint64_t *sum)
{
    hr__arrow_table_identity(&((const stream_spec *)spec)->table, sum);
}

static void stream_describe(const void *spec, hr_description *to)
{
    hr__arrow_table_describe(&((const stream_spec *)spec)->table, to);
}

static int64_t stream_cardinality(const void *spec, const int64_t *in)
{
    (void)spec;
    (void)in;
    return HR_UNKNOWN_CARDINALITY;
}

const hr_op hr_op_from_arrow_stream = {
    .head = HR_OP_HEAD,
    .name = "from_arrow_stream",
    .spec_size = sizeof(stream_spec),
    .state_size = sizeof(stream_state),
    .unit_size = sizeof(stream_unit),
    .saved = 1, /* given */
    .spec_copy = stream_copy,
    .spec_free = stream_free,
    .check = stream_check,
    .open = stream_open,
    .plan = stream_plan,
    .work = stream_work,
    .close = stream_close,
    .identity = stream_identity,
    .cardinality = stream_cardinality,
    .describe = stream_describe,
};

hr_dataset *hr_from_arrow_stream_with(struct ArrowArrayStream *stream, const hr_from_arrow_stream_opts *opts)
{
    const hr_from_arrow_stream_opts o = HR_OPTIONS(hr_from_arrow_stream_opts, opts);
    bool taken = false;
    struct ArrowArrayStream none = {0};
    stream_spec spec = {
        .table.who = "from_arrow_stream",
        .open = o.open,
        .user = o.user,
        .user_free = o.user_free,
        .features = o.spec,
        .label = o.label,
        .moved = stream ? stream : &none,
        .taken = &taken,
    };
    hr_dataset *ds = hr_dataset_new(&hr_op_from_arrow_stream, &spec, NULL, 0);
    if (!taken) stream_free(&spec);
    return ds;
}
