/* shuffle: draws at random from a buffer of `size` elements. Draw i takes slot random(i) and fills it again with input
 * element size + i; once the input has ended, the last slot moves there instead.
 *
 * A draw happens only when its refill, or the end of the input, is at hand. So which element each slot holds follows
 * from the number of draws, and at the end the number of elements: nothing else is saved. See held_elements. */
#include <headrace/data.h>
#include <stdlib.h>
#include <string.h>

enum { WHOLE_INPUT = -2 };                       /* as buffer_size: TensorFlow's UNKNOWN_CARDINALITY */
static const int64_t LARGEST = INT64_C(1) << 59; /* a buffer that no memory holds, and no sum overflows */
enum { CHUNK = 64, AHEAD = 16, PIECE = 1024 };

typedef struct shuffle_spec {
    int64_t size;
    uint64_t seed;
    bool same_each_epoch;
} shuffle_spec;

/* An element that a slot is to hold. */
typedef struct wanted {
    int64_t element, slot;
} wanted;

typedef struct shuffle_state {
    int64_t draws, total; /* total: elements of the input, -1 until it has ended. Both are saved */
    uint64_t key;
    hr_span **piece; /* slots, PIECE of them in each: a buffer that grows is not copied to where there is more space */
    int64_t pieces;  /* for which `piece` has space */
    int64_t slots, filled; /* slots there are, those that hold an element */
    bool full;             /* the buffer was filled once: the draws may begin */
    bool ended;            /* the input was seen to end */
    wanted *wanted;        /* after a load, while filling: what the slots held, in the order of the input */
    int64_t wants, found;
    uint64_t *met; /* a bit a slot, for oldest_of_all: asked for again and again, so it has memory of its own */
} shuffle_state;

static hr_status shuffle_check(const void *spec, const hr_schema *const *in, hr_schema_builder *out, hr_error *err)
{
    (void)in, (void)out;
    const shuffle_spec *sp = spec;
    if (sp->size >= 1) return HR_OK;
    return hr_fail(
        err, HR_INVALID_ARGUMENT, "shuffle.buffer_size",
        "shuffle: expected buffer_size > 0, got %lld; give the number of elements to mix, for example 10000, "
        "or -2 for all of the input",
        (long long)sp->size);
}

static hr_status shuffle_open(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    (void)err;
    const shuffle_spec *sp = spec;
    shuffle_state *st = state;
    st->key = hr_plan_key(p, sp->seed, sp->same_each_epoch);
    st->total = -1;
    return HR_OK;
}

static inline hr_span *shuffle_slot(const shuffle_state *st, int64_t s)
{
    return &st->piece[(uint64_t)s / PIECE][(uint64_t)s % PIECE];
}

static void shuffle_close(void *state)
{
    shuffle_state *st = state;
    for (int64_t s = 0; s < st->slots; s++) hr_span_drop(*shuffle_slot(st, s));
    for (int64_t s = 0; s < st->slots; s += PIECE) hr_free(st->piece[s / PIECE]);
    hr_free(st->piece);
    hr_free(st->wanted);
    hr_free(st->met);
}

static hr_status shuffle_no_memory(hr_error *err) { return hr_no_memory(err, "shuffle: the buffer"); }

/* ---- which element each slot holds after `draws` draws ---- */

/* The slots that were ever filled. */
static int64_t slots_filled(const shuffle_spec *sp, const shuffle_state *st)
{
    return st->total >= 0 && st->total < sp->size ? st->total : sp->size;
}

/* Draws begin when the buffer is full or the input has ended; there are no more of them than elements. */
static hr_status shuffle_load(const void *spec, void *state, hr_token_reader *token, hr_error *err)
{
    (void)token;
    const shuffle_state *st = state;
    const bool fills_all = ((const shuffle_spec *)spec)->size == LARGEST;
    const int64_t max = st->total >= 0 ? st->total : fills_all ? 0 : HR_LARGEST_COUNT;
    return hr_saved_between("shuffle", st->draws, 0, max, err);
}

/* Walks back through the draws: the last one of a slot names the element that filled it again; a slot never drawn has
 * its first one. About size x ln(size) steps meet every slot. The draws after the input's end are replayed forward.
 * Returns how many slots still hold something. */
static int64_t held_elements(const shuffle_spec *sp, const shuffle_state *st, int64_t *element)
{
    int64_t filled = slots_filled(sp, st), missing = filled;
    const int64_t refills = st->total >= 0 && st->total - filled < st->draws ? st->total - filled : st->draws;
    for (int64_t s = 0; s < filled; s++) element[s] = -1;
    for (int64_t i = refills - 1; i >= 0 && missing > 0; i--) {
        const int64_t s = hr_random_below(st->key, (uint64_t)i, filled);
        if (element[s] >= 0) continue;
        element[s] = sp->size + i;
        missing--;
    }
    for (int64_t s = 0; s < filled; s++)
        if (element[s] < 0) element[s] = s;
    for (int64_t i = refills; i < st->draws; i++) {
        const int64_t s = hr_random_below(st->key, (uint64_t)i, filled--);
        element[s] = element[filled];
    }
    return filled;
}

/* While the input lasts: the slot that is met last on the way back, or never, holds the oldest element of all. */
static int64_t oldest_of_all(const shuffle_state *st)
{
    int64_t missing = st->filled, never = 0;
    memset(st->met, 0, ((size_t)st->filled / 64 + 1) * sizeof *st->met);
    for (int64_t i = st->draws - 1; i >= 0; i--) {
        const int64_t s = hr_random_below(st->key, (uint64_t)i, st->filled);
        const uint64_t bit = UINT64_C(1) << s % 64;
        if (st->met[s / 64] & bit) continue;
        st->met[s / 64] |= bit;
        if (--missing == 0) return st->filled + i;
    }
    while (st->met[never / 64] >> never % 64 & 1) never++;
    return never;
}

/* Where nothing is known the start is never wrong, only far. */
static int64_t shuffle_held_from(const void *spec, const void *state)
{
    const shuffle_spec *sp = spec;
    const shuffle_state *st = state;
    if (st->draws == 0) return 0;
    if (st->met && st->total < 0) return oldest_of_all(st);
    int64_t *element = hr_calloc((size_t)slots_filled(sp, st) + 1, sizeof *element);
    if (!element) return 0;

    const int64_t filled = held_elements(sp, st, element);
    int64_t oldest = st->total >= 0 ? st->total : sp->size + st->draws;
    for (int64_t s = 0; s < filled; s++)
        if (element[s] < oldest) oldest = element[s];
    hr_free(element);
    return oldest;
}

/* ---- filling at the start: element i goes to slot i. The buffer grows, so that a small input needs a small one
 * ---- */

/* A further piece, at most up to `most` slots. */
static hr_status grow_slots(shuffle_state *st, int64_t most, hr_error *err)
{
    const int64_t left = most - st->slots, slots = left < PIECE ? left : PIECE, used = st->slots / PIECE;
    if (used == st->pieces) {
        hr_span **piece = hr_realloc(st->piece, (size_t)(2 * used + 1) * sizeof *piece);
        if (!piece) return shuffle_no_memory(err);
        st->piece = piece;
        st->pieces = 2 * used + 1;
    }
    if (!(st->piece[used] = hr_calloc((size_t)slots, sizeof **st->piece))) return shuffle_no_memory(err);
    st->slots += slots;
    return HR_OK;
}

static hr_status fill_anew(const shuffle_spec *sp, shuffle_state *st, hr_plan *p, hr_error *err)
{
    while (st->filled < sp->size) {
        if (st->filled == st->slots) HR_TRY(grow_slots(st, sp->size, err));
        hr_span span;
        hr_status got = hr_pull(p, 0, st->slots - st->filled, &span);
        if (got == HR_END) {
            st->total = st->filled;
            st->ended = true;
            break;
        }
        if (got != HR_OK) return got;
        while (span.in) *shuffle_slot(st, st->filled++) = hr_span_take(&span, 1);
    }
    return HR_OK;
}

/* ---- filling after a load: the input is read again, and the slots take what they held ---- */

static int by_element(const void *a, const void *b)
{
    const int64_t x = ((const wanted *)a)->element, y = ((const wanted *)b)->element;
    return (x > y) - (x < y);
}

static hr_status want_elements(const shuffle_spec *sp, shuffle_state *st, hr_error *err)
{
    const int64_t slots = slots_filled(sp, st);
    int64_t *element = hr_calloc((size_t)slots + 1, sizeof *element);
    st->wanted = hr_calloc((size_t)slots + 1, sizeof *st->wanted);
    if (!element || !st->wanted) {
        hr_free(element);
        return shuffle_no_memory(err);
    }
    st->wants = held_elements(sp, st, element);
    for (int64_t s = 0; s < st->wants; s++) st->wanted[s] = (wanted){.element = element[s], .slot = s};
    hr_free(element);
    qsort(st->wanted, (size_t)st->wants, sizeof *st->wanted, by_element);
    return HR_OK;
}

static void shuffle_place(shuffle_state *st, hr_span span, int64_t first)
{
    for (; st->found < st->wants && st->wanted[st->found].element < first + span.count; st->found++) {
        const wanted *next = &st->wanted[st->found];
        *shuffle_slot(st, next->slot) = hr_span_share(span, (int32_t)(next->element - first), 1);
    }
    hr_span_drop(span);
}

static hr_status input_changed(hr_error *err, const char *has, int64_t elements)
{
    return hr_fail(
        err, HR_DATA_LOSS, "shuffle.input_changed",
        "shuffle: the input has changed since the state was saved: it has %s %lld elements; start from the beginning",
        has, (long long)elements);
}

static hr_status fill_again(const shuffle_spec *sp, shuffle_state *st, hr_plan *p, hr_error *err)
{
    if (!st->wanted) HR_TRY(want_elements(sp, st, err));
    while (st->slots < slots_filled(sp, st)) HR_TRY(grow_slots(st, slots_filled(sp, st), err));
    const int64_t end = st->total >= 0 ? st->total : sp->size + st->draws;
    while (hr_pulled(p, 0) < end) {
        hr_span span;
        const int64_t first = hr_pulled(p, 0);
        hr_status got = hr_pull(p, 0, end - first, &span);
        if (got == HR_END) return input_changed(err, "only", first);
        if (got != HR_OK) return got;
        shuffle_place(st, span, first);
    }
    st->filled = st->found;
    hr_free(st->wanted);
    st->wanted = NULL;
    return HR_OK;
}

static hr_status shuffle_fill(const shuffle_spec *sp, shuffle_state *st, hr_plan *p, hr_error *err)
{
    if (st->full) return HR_OK;
    HR_TRY(st->draws == 0 && st->total < 0 ? fill_anew(sp, st, p, err) : fill_again(sp, st, p, err));
    st->met = hr_calloc((size_t)st->filled / 64 + 1, sizeof *st->met);
    st->full = st->met != NULL;
    return st->full ? HR_OK : shuffle_no_memory(err);
}

/* ---- drawing: the slots of the next draws are known beforehand, so their memory can be on its way ---- */

static int64_t next_slots(const shuffle_state *st, int64_t wanted_draws, int shrinks, int64_t *s)
{
    const int64_t n = wanted_draws < CHUNK ? wanted_draws : CHUNK;
    for (int64_t i = 0; i < n; i++) {
        s[i] = hr_random_below(st->key, (uint64_t)(st->draws + i), st->filled - i * shrinks);
        __builtin_prefetch(shuffle_slot(st, s[i]), 1);
    }
    /* From files in turn elements come one by one: then the slots of later draws are asked for. */
    for (int64_t i = 0; i < n && n < AHEAD && !shrinks; i++)
        __builtin_prefetch(shuffle_slot(st, hr_random_below(st->key, (uint64_t)(st->draws + AHEAD + i), st->filled)),
                           1);
    return n;
}

/* Every element of `fresh` takes the place of one that is drawn. */
static void draw_and_refill(shuffle_state *st, hr_plan *p, hr_span fresh)
{
    while (fresh.in) {
        int64_t s[CHUNK];
        hr_span drawn[CHUNK];
        const int64_t n = next_slots(st, fresh.count, 0, s);
        for (int64_t i = 0; i < n; i++) {
            drawn[i] = *shuffle_slot(st, s[i]);
            *shuffle_slot(st, s[i]) = hr_span_take(&fresh, 1);
        }
        hr_emit_spans(p, drawn, n);
        st->draws += n;
    }
}

static void draw_rest(shuffle_state *st, hr_plan *p)
{
    while (hr_room(p) > 0 && st->filled > 0) {
        int64_t s[CHUNK];
        const int64_t left = hr_room(p) < st->filled ? hr_room(p) : st->filled, n = next_slots(st, left, 1, s);
        for (int64_t i = 0; i < n; i++) {
            hr_emit(p, *shuffle_slot(st, s[i]));
            *shuffle_slot(st, s[i]) = *shuffle_slot(st, --st->filled);
            *shuffle_slot(st, st->filled) = (hr_span){0};
        }
        st->draws += n;
    }
}

/* The input's end is asked for also after a load, when it is known: an error may stand there. */
static hr_status meet_end(shuffle_state *st, hr_plan *p, hr_error *err)
{
    hr_span more;
    hr_status got = hr_pull(p, 0, 1, &more);
    if (got == HR_OK) {
        hr_span_drop(more);
        return input_changed(err, "more than", st->total);
    }
    st->ended = got == HR_END;
    return st->ended ? HR_OK : got;
}

static hr_status shuffle_plan(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    shuffle_state *st = state;
    HR_TRY(shuffle_fill(spec, st, p, err));
    while (hr_room(p) > 0 && st->total < 0) {
        hr_span fresh;
        hr_status got = hr_pull(p, 0, hr_room(p), &fresh);
        if (got == HR_OK) draw_and_refill(st, p, fresh);
        if (got == HR_END) st->total = hr_pulled(p, 0), st->ended = true;
        if (got != HR_OK && got != HR_END) return got;
    }
    if (st->total < 0) return HR_OK;
    if (!st->ended) HR_TRY(meet_end(st, p, err));
    draw_rest(st, p);
    return st->filled > 0 ? HR_OK : HR_END;
}

static void shuffle_identity(const void *spec, uint64_t *sum)
{
    const shuffle_spec *sp = spec;
    hr_identify_i64(sum, sp->size);
    hr_identify_i64(sum, (int64_t)sp->seed);
    hr_identify_i64(sum, sp->same_each_epoch);
}

static void shuffle_describe(const void *spec, hr_description *to)
{
    const shuffle_spec *sp = spec;
    hr_describe_number(to, NULL, sp->size);
    hr_describe_seed(to, sp->seed, sp->same_each_epoch);
}

const hr_op hr_op_shuffle = {
    .head = HR_OP_HEAD,
    .name = "shuffle",
    .spec_size = sizeof(shuffle_spec),
    .state_size = sizeof(shuffle_state),
    .saved = 2, /* draws, total */
    .range = (const hr_saved_range[]){HR_SAVED_COUNT, {-1, HR_LARGEST_COUNT}},
    .ranges = 2,
    .traits = HR_MOVES_SPANS,
    .check = shuffle_check,
    .open = shuffle_open,
    .plan = shuffle_plan,
    .close = shuffle_close,
    .load = shuffle_load,
    .held_from = shuffle_held_from,
    .identity = shuffle_identity,
    .cardinality = hr_cardinality_of_input,
    .describe = shuffle_describe,
};

/* Rows that can be found by their numbers stay where they are, and the numbers are shuffled. Takes `in`. */
static hr_dataset *shuffle_numbers(hr_dataset *in, const shuffle_spec *spec)
{
    hr_dataset *numbers = hr_range(hr_cardinality(in));
    numbers = hr_dataset_new(&hr_op_shuffle, spec, &numbers, 1);
    hr_dataset *ds = hr_dataset_op(in)->by_number(in, numbers);
    hr_dataset_unref(in);
    return ds;
}

hr_dataset *hr_shuffle_with(hr_dataset *in, int64_t buffer_size, const hr_shuffle_opts *opts)
{
    const hr_shuffle_opts o = HR_OPTIONS(hr_shuffle_opts, opts);
    const bool largest = buffer_size == WHOLE_INPUT || buffer_size > LARGEST;
    const shuffle_spec spec = {
        .size = largest ? LARGEST : buffer_size, .seed = o.seed, .same_each_epoch = o.same_each_epoch};
    const hr_op *op = hr_dataset_op(in);
    return op && op->by_number && spec.size >= 1 ? shuffle_numbers(in, &spec)
                                                 : hr_dataset_new(&hr_op_shuffle, &spec, &in, 1);
}
