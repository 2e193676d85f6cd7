/* interleave: makes a dataset of each input element, and passes `block_length` elements of each in turn, `cycle_length`
 * datasets at a time. A slot whose dataset has ended takes the next input element when its turn comes again.
 *
 * It holds the elements of its open slots: a restored one reads them again and asks the user's function again.
 *
 * parallel_interleave is TensorFlow's older one, with another order: all slots have their first datasets at the start,
 * a slot whose dataset has ended takes the next one at once, and when there is none left, the next slot only goes on
 * with the block that was begun. */
#include <headrace/data.h>
#include <headrace/op_functions.h>
#include <string.h>

enum { DEFAULT_CYCLE = 4, DEFAULT_BLOCK = 1, MAX_AHEAD = 8, FIRST_SLOTS = 4 };

typedef struct interleave_spec {
    hr_user user; /* first */
    hr_dataset_fn *fn;
    int64_t cycle_length, block_length, parallel_calls;
    int64_t ahead;            /* datasets opened before their turn, at most */
    bool unordered;           /* a slot that has nothing yet may be skipped */
    bool older;               /* parallel_interleave's order */
    const hr_dataset *sample; /* what the function gives for zeros. Read in check only */
    bool asked;               /* the function was called for it */
} interleave_spec;

typedef struct slot {
    int64_t element; /* of the input; -1: the slot is empty */
    int input;       /* the dataset made of it; -1: not opened (again) yet */
} slot;

typedef struct interleave_state {
    int64_t turn, in_block;  /* whose turn it is, how many elements of its block have passed. Saved */
    int64_t next;            /* the first input element that never had a slot. Saved */
    slot *slot;              /* their elements are saved. As many as ever had one: the others cost nothing */
    int *round;              /* the inputs of a round. As much space as slots */
    int64_t turns_to_rounds; /* turns before whole rounds are tried again */
    int64_t slots, capacity, used;
    slot ahead[MAX_AHEAD]; /* opened before their turn, so that they are read ahead; a state does not know them */
    int64_t aheads;
    bool exhausted; /* the input has ended */
} interleave_state;

static const slot EMPTY = {-1, -1};

/* ---- the spec ---- */

static hr_status check_sample(const hr_dataset *sample, bool asked, hr_schema_builder *out, hr_error *err)
{
    if (!asked) return hr_no_memory(err, "interleave: an element of zeros");
    if (!sample)
        return hr_fail(err, HR_INVALID_ARGUMENT, "interleave.fn", "interleave: the function gave NULL, not a dataset");
    const hr_error *failure = hr_dataset_error(sample);
    if (!failure) return hr_schema_set(out, hr_dataset_schema(sample), err);
    if (err) *err = *failure;
    hr_error_prefix(err, "interleave: the function, called with zeros to learn what it gives: ");
    return failure->code;
}

static hr_status interleave_check(const void *spec, const hr_schema *const *in, hr_schema_builder *out, hr_error *err)
{
    (void)in;
    const interleave_spec *sp = spec;
    if (sp->cycle_length < 1)
        return hr_fail(err, HR_INVALID_ARGUMENT, "interleave.cycle_length",
                       "interleave: expected cycle_length > 0, got %lld", (long long)sp->cycle_length);
    if (sp->block_length < 1)
        return hr_fail(err, HR_INVALID_ARGUMENT, "interleave.block_length",
                       "interleave: expected block_length > 0, got %lld", (long long)sp->block_length);
    if (sp->ahead < 0)
        return hr_fail(err, HR_INVALID_ARGUMENT, "interleave.prefetch",
                       "interleave: expected prefetch_input_elements >= 0 and buffer_output_elements > 0");
    HR_TRY(hr_parallel_calls_check("interleave", sp->parallel_calls, sp->cycle_length, err));
    if (!sp->fn) return hr_fail(err, HR_INVALID_ARGUMENT, "interleave.fn", "interleave: expected a function, got NULL");
    return check_sample(sp->sample, sp->asked, out, err);
}

/* ---- one iterator ---- */

static void interleave_close(void *state)
{
    interleave_state *st = state;
    hr_free(st->slot);
    hr_free(st->round);
}

/* ---- slots: the function is asked for the dataset of each input element, in order ---- */

static hr_status more_slots(interleave_state *st, hr_error *err)
{
    const int64_t capacity = st->capacity ? 2 * st->capacity : FIRST_SLOTS;
    slot *slots = hr_realloc(st->slot, (size_t)capacity * sizeof *slots);
    if (slots) st->slot = slots;
    int *round = slots ? hr_realloc(st->round, (size_t)capacity * sizeof *round) : NULL;
    if (!round) return hr_no_memory(err, "interleave: the slots");
    st->round = round;
    st->capacity = capacity;
    return HR_OK;
}

/* One more slot. */
static hr_status interleave_add(interleave_state *st, slot s, hr_error *err)
{
    if (st->slots == st->capacity) HR_TRY(more_slots(st, err));
    st->slot[st->slots++] = s;
    st->used += s.element >= 0;
    return HR_OK;
}

static hr_status open_dataset(const interleave_spec *sp, hr_plan *p, hr_span span, slot *s, hr_error *err)
{
    const hr_element *element = hr_plan_element(p, span);
    if (!element) return hr_no_memory(err, "interleave: an element");
    hr_dataset *ds = sp->fn(element, sp->user.data);
    if (!ds)
        return hr_fail(err, HR_INVALID_ARGUMENT, "interleave.fn",
                       "interleave: the function gave NULL for element %lld, not a dataset", (long long)s->element);
    s->input = hr_input_open(p, ds, s->element);
    return HR_OK;
}

/* Pulls the next input element; if `s` is to have it, opens its dataset there. */
static hr_status open_next(const interleave_spec *sp, hr_plan *p, slot *s, hr_error *err)
{
    hr_span span;
    const int64_t element = hr_pulled(p, 0);
    HR_TRY(hr_pull(p, 0, 1, &span));
    if (s) s->element = element;
    hr_status status = s ? open_dataset(sp, p, span, s, err) : HR_OK;
    hr_span_drop(span);
    return status;
}

static slot *slot_of(interleave_state *st, int64_t element)
{
    for (int64_t i = 0; i < st->slots; i++)
        if (st->slot[i].element == element) return &st->slot[i];
    return NULL;
}

/* After a load the slots know the numbers of their elements, which are read again. */
static hr_status interleave_reopen(const interleave_spec *sp, interleave_state *st, hr_plan *p, hr_error *err)
{
    while (hr_pulled(p, 0) < st->next) {
        hr_status got = open_next(sp, p, slot_of(st, hr_pulled(p, 0)), err);
        if (got == HR_END)
            return hr_fail(err, HR_DATA_LOSS, "interleave.input_changed",
                           "interleave: the input has changed since the state was saved: it has only %lld elements; "
                           "start from the beginning",
                           (long long)hr_pulled(p, 0));
        if (got != HR_OK) return got;
    }
    return HR_OK;
}

/* The dataset that was opened ahead, or the next element's. HR_END: there is none. */
static hr_status interleave_next(const interleave_spec *sp, interleave_state *st, hr_plan *p, slot *opened,
                                 hr_error *err)
{
    *opened = EMPTY;
    if (st->aheads == 0) {
        HR_TRY(open_next(sp, p, opened, err));
    } else {
        *opened = st->ahead[0];
        memmove(st->ahead, st->ahead + 1, (size_t)--st->aheads * sizeof *st->ahead);
    }
    st->next = opened->element + 1;
    return HR_OK;
}

/* Gives the slot whose turn it is its dataset. */
static hr_status interleave_fill(const interleave_spec *sp, interleave_state *st, hr_plan *p, hr_error *err)
{
    slot opened;
    HR_TRY(interleave_next(sp, st, p, &opened, err));
    if (st->turn == st->slots) return interleave_add(st, opened, err);
    st->slot[st->turn] = opened;
    st->used++;
    return HR_OK;
}

/* Opens datasets before their turn, so that they are read ahead: one more than the empty slots need, for when one
 * ends. */
static hr_status interleave_open_ahead(const interleave_spec *sp, interleave_state *st, hr_plan *p, hr_error *err)
{
    const int64_t empty = sp->cycle_length - st->used;
    while (st->aheads < sp->ahead && st->aheads <= empty && !st->exhausted && hr_ready(p, 0)) {
        slot opened = EMPTY;
        hr_status got = open_next(sp, p, &opened, err);
        if (got < 0) return got;
        st->exhausted = got == HR_END;
        if (got != HR_OK) break;
        st->ahead[st->aheads++] = opened;
    }
    return HR_OK;
}

/* ---- taking turns ---- */

/* A slot that never had an element gets a turn only while there may be one for it. */
static void next_turn(const interleave_spec *sp, interleave_state *st)
{
    const bool more = st->aheads > 0 || !st->exhausted;
    const int64_t turns = more && st->slots < sp->cycle_length ? st->slots + 1 : st->slots;
    st->turn = st->turn + 1 < turns ? st->turn + 1 : 0;
    st->in_block = 0;
    st->turns_to_rounds -= st->turns_to_rounds > 0;
}

static void empty_slot(const interleave_spec *sp, interleave_state *st, hr_plan *p)
{
    slot *s = &st->slot[st->turn];
    hr_input_close(p, s->input);
    *s = EMPTY;
    st->used--;
    next_turn(sp, st);
}

/* ---- parallel_interleave ---- */

static hr_status fill_all(const interleave_spec *sp, interleave_state *st, hr_plan *p, hr_error *err)
{
    while (st->slots < sp->cycle_length && !st->exhausted) {
        slot opened;
        const hr_status got = interleave_next(sp, st, p, &opened, err);
        st->exhausted = got == HR_END;
        if (got != HR_OK) return got == HR_END ? HR_OK : got;
        HR_TRY(interleave_add(st, opened, err));
    }
    return HR_OK;
}

/* What is left of a block is for the next slot. */
static void pass_turn(const interleave_spec *sp, interleave_state *st)
{
    const int64_t in_block = st->in_block;
    next_turn(sp, st);
    if (sp->older) st->in_block = in_block;
}

/* The slot stays as it is while the next element has to be waited for: then it ends once more. */
static hr_status refill_slot(const interleave_spec *sp, interleave_state *st, hr_plan *p, hr_error *err)
{
    slot opened = EMPTY;
    const hr_status got = st->exhausted && st->aheads == 0 ? HR_END : interleave_next(sp, st, p, &opened, err);
    if (got != HR_OK && got != HR_END) return got;
    hr_input_close(p, st->slot[st->turn].input);
    st->slot[st->turn] = opened;
    st->exhausted |= got == HR_END;
    st->used -= got == HR_END;
    if (got == HR_END)
        pass_turn(sp, st);
    else
        next_turn(sp, st);
    return HR_OK;
}

/* ---- a block ---- */

static bool turn_to_ready(interleave_state *st, hr_plan *p)
{
    for (int64_t k = 1; k < st->slots; k++) {
        const int64_t i = (st->turn + k) % st->slots;
        if (st->slot[i].input < 0 || !hr_ready(p, st->slot[i].input)) continue;
        st->turn = i;
        st->in_block = 0;
        hr_plan_disordered(p);
        return true;
    }
    return false;
}

static hr_status pass_block(const interleave_spec *sp, interleave_state *st, hr_plan *p, hr_error *err)
{
    const int64_t element = st->slot[st->turn].element; /* opened, unless a state has it in two slots */
    if (st->slot[st->turn].input < 0) return hr_saved_between("interleave", element, -1, -1, err);
    hr_span span;
    const int64_t block = sp->block_length - st->in_block, left = hr_room(p);
    hr_status got = hr_pull(p, st->slot[st->turn].input, block < left ? block : left, &span);
    if (got == HR_END && sp->older) return refill_slot(sp, st, p, err);
    if (got == HR_END) empty_slot(sp, st, p);
    if (got == HR_WAIT && hr_plan_unordered(p, sp->unordered) && turn_to_ready(st, p)) return HR_OK;
    if (got != HR_OK) return got == HR_END ? HR_OK : got;
    st->in_block += span.count;
    if (st->in_block == sp->block_length) next_turn(sp, st);
    hr_emit(p, span);
    return HR_OK;
}

/* Whole rounds, from the slot whose turn it is, while none is to be given another dataset. Where some dataset has not
 * enough at hand, a round goes by turn by turn before this looks at all of them again. */
static bool pass_rounds(const interleave_spec *sp, interleave_state *st, hr_plan *p)
{
    const bool no_more = st->exhausted && st->aheads == 0;
    if (st->turns_to_rounds > 0 || st->in_block > 0 || st->used < 2 || (st->used < sp->cycle_length && !no_more))
        return false;
    int64_t inputs = 0;
    for (int64_t k = 0, i = st->turn; k < st->slots; k++, i = i + 1 < st->slots ? i + 1 : 0) {
        if (st->slot[i].element >= 0 && st->slot[i].input < 0) return false; /* see pass_block */
        if (st->slot[i].element >= 0) st->round[inputs++] = st->slot[i].input;
    }
    if (hr_emit_rounds(p, st->round, inputs, sp->block_length) > 0) return true;
    st->turns_to_rounds = st->slots;
    return false;
}

static bool has_dataset(const interleave_state *st) { return st->turn < st->slots && st->slot[st->turn].element >= 0; }

/* One turn: of an empty slot without an element to come, only its passing. */
static hr_status take_turn(const interleave_spec *sp, interleave_state *st, hr_plan *p, hr_error *err)
{
    if (!has_dataset(st)) {
        hr_status filled = st->exhausted && st->aheads == 0 ? HR_END : interleave_fill(sp, st, p, err);
        if (filled == HR_END) {
            st->exhausted = true;
            if (st->used == 0) return HR_END;
            pass_turn(sp, st);
            return HR_OK;
        }
        if (filled != HR_OK) return filled;
    }
    HR_TRY(interleave_open_ahead(sp, st, p, err));
    return pass_rounds(sp, st, p) ? HR_OK : pass_block(sp, st, p, err);
}

static hr_status interleave_plan(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    interleave_state *st = state;
    HR_TRY(interleave_reopen(spec, st, p, err));
    if (((const interleave_spec *)spec)->older) HR_TRY(fill_all(spec, st, p, err));
    while (hr_room(p) > 0) HR_TRY(take_turn(spec, st, p, err));
    return HR_OK;
}

/* ---- resume ---- */

static void interleave_save(const void *state, hr_token_writer *token)
{
    const interleave_state *st = state;
    hr_write_i64(token, st->slots);
    for (int64_t i = 0; i < st->slots; i++) hr_write_i64(token, st->slot[i].element);
}

static hr_status interleave_load(const void *spec, void *state, hr_token_reader *token, hr_error *err)
{
    const interleave_spec *sp = spec;
    interleave_state *st = state;
    int64_t slots = 0;
    HR_TRY(hr_read_between(token, 0, sp->cycle_length, &slots, err));
    HR_TRY(hr_saved_between("interleave", st->turn, 0, slots < sp->cycle_length ? slots : slots - 1, err));
    HR_TRY(hr_saved_between("interleave", st->in_block, 0, sp->block_length - 1, err));
    for (int64_t i = 0; i < slots; i++) {
        slot s = EMPTY;
        HR_TRY(hr_read_between(token, EMPTY.element, st->next - 1, &s.element, err));
        HR_TRY(interleave_add(st, s, err));
    }
    return HR_OK;
}

static int64_t interleave_held_from(const void *spec, const void *state)
{
    (void)spec;
    const interleave_state *st = state;
    int64_t oldest = st->next;
    for (int64_t i = 0; i < st->slots; i++)
        if (st->slot[i].element >= 0 && st->slot[i].element < oldest) oldest = st->slot[i].element;
    return oldest;
}

static void interleave_identity(const void *spec, uint64_t *sum)
{
    const interleave_spec *sp = spec;
    hr_identify_i64(sum, sp->cycle_length);
    hr_identify_i64(sum, sp->block_length);
    hr_identify_i64(sum, sp->older);
}

static void interleave_describe(const void *spec, hr_description *to)
{
    const interleave_spec *sp = spec;
    hr_describe_number(to, "cycle_length", sp->cycle_length);
    if (sp->cycle_length > 1) hr_describe_number(to, "block_length", sp->block_length);
    hr_describe_flag(to, "as parallel_interleave", sp->older);
    hr_describe_flag(to, "unordered", sp->unordered);
}

const hr_op hr_op_interleave = {
    .head = HR_OP_HEAD,
    .name = "interleave",
    .spec_size = sizeof(interleave_spec),
    .state_size = sizeof(interleave_state),
    .saved = 3, /* turn, in_block, next */
    .traits = HR_MOVES_OPENED,
    .spec_copy = hr_user_copy,
    .spec_free = hr_user_free,
    .check = interleave_check,
    .plan = interleave_plan,
    .close = interleave_close,
    .save = interleave_save,
    .load = interleave_load,
    .held_from = interleave_held_from,
    .identity = interleave_identity,
    .describe = interleave_describe,
};

/* ---- the constructor ---- */

static hr_dataset *ask_for_sample(interleave_spec *spec, const hr_schema *schema)
{
    hr_element *zeros = hr_element_zeros(schema);
    if (!zeros) return NULL;
    hr_dataset *sample = spec->fn(zeros, spec->user.data);
    spec->sample = sample;
    spec->asked = true;
    hr_element_free(zeros);
    return sample;
}

static hr_dataset *interleave_new(hr_dataset *in, interleave_spec spec)
{
    if (spec.cycle_length == 0) spec.cycle_length = DEFAULT_CYCLE;
    if (spec.block_length == 0) spec.block_length = DEFAULT_BLOCK;
    if (spec.cycle_length == 1 && spec.block_length > 0) spec.block_length = INT64_MAX; /* any is the same */
    if (spec.ahead > MAX_AHEAD) spec.ahead = MAX_AHEAD;
    const bool sound = spec.fn && spec.cycle_length > 0 && spec.block_length > 0 && !hr_dataset_error(in);
    hr_dataset *sample = sound ? ask_for_sample(&spec, hr_dataset_schema(in)) : NULL;
    hr_dataset *ds = hr_user_dataset(&hr_op_interleave, &spec, &spec.user, &in, 1);
    hr_dataset_unref(sample);
    return ds;
}

hr_dataset *hr_interleave_with(hr_dataset *in, hr_dataset_fn *fn, void *user, const hr_interleave_opts *opts)
{
    const hr_interleave_opts o = HR_OPTIONS(hr_interleave_opts, opts);
    return interleave_new(in, (interleave_spec){.user = {.data = user, .free = o.user_free},
                                                .fn = fn,
                                                .cycle_length = o.cycle_length,
                                                .block_length = o.block_length,
                                                .parallel_calls = o.num_parallel_calls,
                                                .ahead = MAX_AHEAD,
                                                .unordered = o.unordered});
}

hr_dataset *hr_parallel_interleave_with(hr_dataset *in, hr_dataset_fn *fn, void *user,
                                        const hr_parallel_interleave_opts *opts)
{
    const hr_parallel_interleave_opts o = HR_OPTIONS(hr_parallel_interleave_opts, opts);
    const int64_t ahead = o.prefetch_input_elements ? *o.prefetch_input_elements : MAX_AHEAD;
    return interleave_new(in, (interleave_spec){.user = {.data = user, .free = o.user_free},
                                                .fn = fn,
                                                .cycle_length = o.cycle_length,
                                                .block_length = o.block_length,
                                                .ahead = o.buffer_output_elements < 0 ? -1 : ahead,
                                                .unordered = o.sloppy,
                                                .older = true});
}

hr_dataset *hr_flat_map(hr_dataset *in, hr_dataset_fn *fn, void *user)
{
    return hr_interleave(in, fn, user, .cycle_length = 1, .block_length = 1);
}
