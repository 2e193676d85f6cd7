/* batch: makes each run of `batch_size` elements one element of the next level. Moves no byte: it only says where
 * elements end; the rows are gathered in the work that follows. Several sizes take turns. */
#include <headrace/data.h>
#include <inttypes.h>

typedef struct batch_spec {
    int64_t size, parallel_calls;
    const int64_t *next; /* the sizes that take turns with it; borrowed until spec_copy */
    int nexts;
    bool drop_remainder, unordered;
} batch_spec;

/* A unit ends with a closed element. */
typedef struct batch_state {
    int64_t turn; /* saved: which of the sizes the current batch has */
    int64_t filled;
} batch_state;

static hr_status batch_copy(void *spec, hr_error *err)
{
    batch_spec *sp = spec;
    const int64_t *given = sp->next;
    if (sp->nexts <= 0 || !given) return sp->next = NULL, sp->nexts = 0, HR_OK;
    sp->next = hr_memdup(given, (size_t)sp->nexts * sizeof *given);
    return sp->next ? HR_OK : hr_no_memory(err, "batch: its sizes");
}

static void batch_free(void *spec) { hr_free((void *)(uintptr_t)((batch_spec *)spec)->next); }

static int64_t batch_size_of(const batch_spec *sp, int64_t turn) { return turn > 0 ? sp->next[turn - 1] : sp->size; }

static hr_status batch_check(const void *spec, const hr_schema *const *in, hr_schema_builder *out, hr_error *err)
{
    (void)in;
    const batch_spec *sp = spec;
    for (int i = 0; i <= sp->nexts; i++)
        if (batch_size_of(sp, i) < 1)
            return hr_fail(err, HR_INVALID_ARGUMENT, "batch.size",
                           "batch: expected batch_size > 0, got %" PRId64 "; give the number of elements of a batch",
                           batch_size_of(sp, i));
    HR_TRY(hr_parallel_calls_check("batch", sp->parallel_calls, INT64_MAX, err));
    hr_schema_add_level(out);
    return HR_OK;
}

static void close_batch(const batch_spec *sp, batch_state *st, hr_plan *p)
{
    hr_close_element(p);
    st->filled = 0;
    st->turn = st->turn < sp->nexts ? st->turn + 1 : 0;
}

static hr_status batch_plan(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    (void)err;
    const batch_spec *sp = spec;
    batch_state *st = state;
    while (hr_room(p) > 0) {
        int64_t passed = 0;
        const hr_status got = hr_pass(p, 0, batch_size_of(sp, st->turn) - st->filled, &passed);
        if (got == HR_END && st->filled > 0 && !sp->drop_remainder) close_batch(sp, st, p);
        if (got != HR_OK) return got;

        st->filled += passed;
        if (st->filled == batch_size_of(sp, st->turn)) close_batch(sp, st, p);
    }
    return HR_OK;
}

static hr_status batch_load(const void *spec, void *state, hr_token_reader *token, hr_error *err)
{
    (void)token;
    return hr_saved_between("batch", ((const batch_state *)state)->turn, 0, ((const batch_spec *)spec)->nexts, err);
}

static hr_status batch_work(const void *spec, const void *unit, hr_work *w, hr_columns *rows, hr_error *err)
{
    (void)spec, (void)unit, (void)err;
    hr_batches_check("batch", w, rows);
    return HR_OK;
}

static void batch_identity(const void *spec, uint64_t *sum)
{
    const batch_spec *sp = spec;
    for (int i = 0; i <= sp->nexts; i++) hr_identify_i64(sum, batch_size_of(sp, i));
    hr_identify_i64(sum, sp->drop_remainder);
}

static int64_t batch_cardinality(const void *spec, const int64_t *in)
{
    const batch_spec *sp = spec;
    if (in[0] < 0) return in[0];
    int64_t round = 0, rest, batches;
    for (int i = 0; i <= sp->nexts; i++)
        round = batch_size_of(sp, i) < INT64_MAX - round ? round + batch_size_of(sp, i) : INT64_MAX;
    batches = in[0] / round * (sp->nexts + 1), rest = in[0] % round;
    for (int i = 0; rest >= batch_size_of(sp, i); i++) rest -= batch_size_of(sp, i), batches++;
    return batches + (!sp->drop_remainder && rest > 0);
}

static void batch_settings(const void *spec, hr_settings *below)
{
    const batch_spec *sp = spec;
    below->stage_unordered |= sp->unordered;
    below->group = sp->nexts ? 0 : sp->size;
}

static void batch_describe(const void *spec, hr_description *to)
{
    const batch_spec *sp = spec;
    for (int i = 0; i <= sp->nexts; i++) hr_describe_number(to, i ? "then" : NULL, batch_size_of(sp, i));
    hr_describe_flag(to, "drop_remainder", sp->drop_remainder);
    hr_describe_flag(to, "unordered", sp->unordered);
}

static hr_status batch_at(const void *spec, void *state, int64_t index, const int64_t *have, int64_t *in)
{
    (void)state, (void)have;
    const batch_spec *sp = spec;
    if (sp->nexts > 0) return HR_UNIMPLEMENTED;
    in[0] = index < HR_LARGEST_COUNT / sp->size ? index * sp->size : HR_LARGEST_COUNT;
    return HR_OK;
}

const hr_op hr_op_batch = {
    .head = HR_OP_HEAD,
    .name = "batch",
    .spec_size = sizeof(batch_spec),
    .state_size = sizeof(batch_state),
    .saved = 1, /* turn */
    .traits = HR_GROUPS_ROWS | HR_MOVES_SPANS,
    .spec_copy = batch_copy,
    .spec_free = batch_free,
    .check = batch_check,
    .plan = batch_plan,
    .load = batch_load,
    .work = batch_work,
    .identity = batch_identity,
    .cardinality = batch_cardinality,
    .settings = batch_settings,
    .describe = batch_describe,
    .at = batch_at,
};

int64_t hr_full_batch_size(const hr_dataset *ds)
{
    const batch_spec *sp;
    while (!(sp = hr_dataset_spec(ds, &hr_op_batch))) {
        const hr_dataset *in = hr_dataset_input(ds, 0);
        if (hr_dataset_error(ds) || !in || hr_dataset_input(ds, 1)) return 0;
        if (hr_dataset_schema(ds)->levels != hr_dataset_schema(in)->levels) return 0;
        ds = in;
    }
    return sp->drop_remainder ? sp->size : 0;
}

hr_dataset *hr_batch_with(hr_dataset *in, int64_t batch_size, const hr_batch_opts *opts)
{
    const hr_batch_opts o = HR_OPTIONS(hr_batch_opts, opts);
    const batch_spec spec = {.size = batch_size,
                             .next = o.next_sizes,
                             .nexts = o.next_size_count,
                             .drop_remainder = o.drop_remainder,
                             .unordered = o.unordered,
                             .parallel_calls = o.num_parallel_calls};
    return hr_dataset_new(&hr_op_batch, &spec, &in, 1);
}
