/* pack_sequences: several short sequences in each row of a fixed length, so that little of it is padding. The plan puts
 * each element into the first open row with space for it (first fit); a row leaves when another one must be opened,
 * oldest first. Rows leave as batches of their elements, and work makes one row of each.
 *
 * The elements held are those of the open rows: their numbers are all that a saved state needs. */
#include <headrace/data.h>
#include <inttypes.h>
#include <stdio.h>

enum { DEFAULT_OPEN_ROWS = 8, MAX_OPEN_ROWS = 256 };

typedef struct pack_spec {
    int64_t length, open_rows;
} pack_spec;

typedef struct sequence {
    hr_span span; /* zeroed: to be read again, after a load */
    int64_t number;
} sequence;

/* A row that still takes elements. */
typedef struct open_row {
    sequence *sequence;
    int64_t count, capacity, used; /* used: of its length */
} open_row;

typedef struct pack_state {
    int64_t next; /* saved: number of the element to be packed next */
    open_row *row;
    int64_t rows;
    bool ended;
} pack_state;

/* ---- the schema ---- */

static bool is_sequence(const hr_field *f)
{
    return f->layout != HR_SPARSE && f->shape.rank == 1 && f->shape.dims[0] < 0;
}

static hr_status pack_check(const void *spec, const hr_schema *const *in, hr_schema_builder *out, hr_error *err)
{
    const pack_spec *sp = spec;
    if (sp->length < 1 || sp->length > INT32_MAX || sp->open_rows < 1 || sp->open_rows > MAX_OPEN_ROWS)
        return hr_fail(err, HR_INVALID_ARGUMENT, "pack_sequences.length",
                       "pack_sequences: expected a length of 1 or more, and 1 to %d open rows, got %" PRId64
                       " and %" PRId64,
                       MAX_OPEN_ROWS, sp->length, sp->open_rows);
    for (int i = 0; i < in[0]->fields; i++)
        if (!is_sequence(&in[0]->field[i]) || in[0]->levels > 0)
            return hr_fail(err, HR_INVALID_ARGUMENT, "pack_sequences.component",
                           "pack_sequences: component '%.60s': expected a vector of varying length, unbatched",
                           in[0]->field[i].name);
    hr_schema_add_level(out);
    return HR_OK;
}

/* ---- open rows ---- */

static void clear_row(open_row *row)
{
    for (int64_t i = 0; i < row->count; i++) hr_span_drop(row->sequence[i].span);
    hr_free(row->sequence);
    *row = (open_row){0};
}

static void pack_close(void *state)
{
    pack_state *st = state;
    for (int64_t r = 0; r < st->rows; r++) clear_row(&st->row[r]);
    hr_free(st->row);
}

static hr_status pack_sequences_no_memory(hr_error *err) { return hr_no_memory(err, "pack_sequences: the open rows"); }

static hr_status pack_open(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    (void)p;
    pack_state *st = state;
    st->row = hr_calloc((size_t)((const pack_spec *)spec)->open_rows, sizeof *st->row);
    return st->row ? HR_OK : pack_sequences_no_memory(err);
}

static hr_status add_sequence(open_row *row, sequence s, hr_error *err)
{
    if (row->count == row->capacity) {
        const int64_t capacity = row->capacity ? 2 * row->capacity : 8;
        sequence *grown = hr_realloc(row->sequence, (size_t)capacity * sizeof *grown);
        if (!grown) return pack_sequences_no_memory(err);
        row->sequence = grown;
        row->capacity = capacity;
    }
    row->sequence[row->count++] = s;
    return HR_OK;
}

/* The oldest row leaves. */
static void give_row(pack_state *st, hr_plan *p)
{
    for (int64_t i = 0; i < st->row[0].count; i++) hr_emit(p, st->row[0].sequence[i].span);
    hr_close_element(p);
    st->row[0].count = 0;
    clear_row(&st->row[0]);
    memmove(st->row, st->row + 1, (size_t)--st->rows * sizeof *st->row);
    st->row[st->rows] = (open_row){0};
}

/* ---- plan ---- */

static int64_t length_of(hr_span span)
{
    const int32_t *splits = span.in->column[0].splits[0] + span.first;
    return splits[1] - splits[0];
}

static hr_status pack_sequences_place(const pack_spec *sp, pack_state *st, hr_plan *p, hr_span span, hr_error *err)
{
    const int64_t length = length_of(span);
    int64_t r = 0;
    if (length > sp->length)
        return hr_fail(err, HR_INVALID_ARGUMENT, "pack_sequences.too_long",
                       "pack_sequences: element %" PRId64 ": expected at most %" PRId64 " values, got %" PRId64
                       "; cut it before",
                       st->next, sp->length, length);
    while (r < st->rows && st->row[r].used + length > sp->length) r++;
    if (r == st->rows && r == sp->open_rows) give_row(st, p), r--;
    if (r == st->rows) st->rows++;
    HR_TRY(add_sequence(&st->row[r], (sequence){.number = st->next}, err));
    st->row[r].sequence[st->row[r].count - 1].span = hr_span_share(span, 0, 1);
    st->row[r].used += length;
    st->next++;
    return HR_OK;
}

/* After a load: the rows know the numbers of their elements. */
static void place_again(pack_state *st, hr_span span, int64_t number)
{
    for (int64_t r = 0; r < st->rows; r++)
        for (int64_t i = 0; i < st->row[r].count; i++) {
            sequence *s = &st->row[r].sequence[i];
            if (s->number != number || s->span.in) continue;
            s->span = hr_span_share(span, 0, 1);
            st->row[r].used += length_of(span);
        }
}

static hr_status pack_plan(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    pack_state *st = state;
    while (hr_room(p) > 0 && !st->ended) {
        hr_span span;
        hr_status placed = HR_OK;
        const int64_t number = hr_pulled(p, 0);
        const hr_status got = hr_pull(p, 0, 1, &span);
        st->ended = got == HR_END;
        if (st->ended && number < st->next)
            return hr_fail(err, HR_DATA_LOSS, "pack_sequences.input_changed",
                           "pack_sequences: the input has changed since the state was saved: it has only %" PRId64
                           " elements; start from the beginning",
                           number);
        if (got != HR_OK && !st->ended) return got;
        if (st->ended) break;
        if (number < st->next)
            place_again(st, span, number);
        else
            placed = pack_sequences_place(spec, st, p, span, err);
        hr_span_drop(span);
        if (placed != HR_OK) return placed;
    }
    while (st->ended && hr_room(p) > 0) {
        if (st->rows == 0) return HR_END;
        give_row(st, p);
    }
    return HR_OK;
}

/* ---- resume ---- */

static int64_t pack_held_from(const void *spec, const void *state)
{
    (void)spec;
    const pack_state *st = state;
    int64_t oldest = st->next;
    for (int64_t r = 0; r < st->rows; r++)
        if (st->row[r].count > 0 && st->row[r].sequence[0].number < oldest) oldest = st->row[r].sequence[0].number;
    return oldest;
}

static void pack_save(const void *state, hr_token_writer *token)
{
    const pack_state *st = state;
    hr_write_i64(token, st->rows);
    for (int64_t r = 0; r < st->rows; r++) {
        hr_write_i64(token, st->row[r].count);
        for (int64_t i = 0; i < st->row[r].count; i++) hr_write_i64(token, st->next - st->row[r].sequence[i].number);
    }
}

static hr_status load_row(pack_state *st, hr_token_reader *token, hr_error *err)
{
    int64_t count, age, max = st->next;
    open_row *row = &st->row[st->rows++];
    HR_TRY(hr_read_between(token, 1, HR_LARGEST_COUNT, &count, err));
    for (int64_t i = 0; i < count; i++, max = age - 1) { /* the oldest comes first */
        HR_TRY(hr_read_between(token, 1, max, &age, err));
        HR_TRY(add_sequence(row, (sequence){.number = st->next - age}, err));
    }
    return HR_OK;
}

static hr_status pack_load(const void *spec, void *state, hr_token_reader *token, hr_error *err)
{
    int64_t rows = 0;
    HR_TRY(hr_read_between(token, 0, ((const pack_spec *)spec)->open_rows, &rows, err));
    while (rows-- > 0) HR_TRY(load_row(state, token, err));
    return HR_OK;
}

static void pack_identity(const void *spec, uint64_t *sum)
{
    const pack_spec *sp = spec;
    hr_identify_i64(sum, sp->length);
    hr_identify_i64(sum, sp->open_rows);
}

static void pack_describe(const void *spec, hr_description *to)
{
    const pack_spec *sp = spec;
    hr_describe_number(to, NULL, sp->length);
    hr_describe_option(to, "open_rows", sp->open_rows);
}

const hr_op hr_op_pack_sequences = {
    .head = HR_OP_HEAD,
    .name = "pack_sequences",
    .spec_size = sizeof(pack_spec),
    .state_size = sizeof(pack_state),
    .saved = 1, /* next */
    .traits = HR_GROUPS_ROWS | HR_SEES_ROWS,
    .check = pack_check,
    .open = pack_open,
    .plan = pack_plan,
    .close = pack_close,
    .save = pack_save,
    .load = pack_load,
    .held_from = pack_held_from,
    .identity = pack_identity,
    .describe = pack_describe,
};

/* ---- one row of each batch: three components for one, the values, whose they are, and the place in it ---- */

enum { VALUES, SEGMENT_IDS, POSITIONS, PARTS };

static hr_status row_check(const void *spec, const hr_schema *const *in, hr_schema_builder *out, hr_error *err)
{
    static const char *const suffix[PARTS] = {"", "/segment_ids", "/positions"};
    const hr_shape shape = HR_SHAPE(((const pack_spec *)spec)->length);
    HR_TRY(hr_schema_set(out, &(hr_schema){0}, err));
    for (int i = 0; i < in[0]->fields * PARTS; i++) {
        char name[512];
        const hr_field *f = &in[0]->field[i / PARTS];
        const int part = i % PARTS;
        snprintf(name, sizeof name, "%.480s%s", f->name, suffix[part]);
        const hr_dtype dtype = part == VALUES ? f->dtype : HR_INT64;
        HR_TRY(hr_schema_add(out, (hr_field){.name = name, .dtype = dtype, .shape = shape}, err));
    }
    return HR_OK;
}

static hr_status too_long(hr_work *w, hr_columns *rows, int64_t row, const char *name, int64_t length)
{
    hr_error err;
    hr_fail(&err, HR_INVALID_ARGUMENT, "pack_sequences.too_long",
            "pack_sequences: component '%.60s': expected the lengths of the first component, which fit %" PRId64
            " values, got more",
            name, length);
    hr_fail_at(w, rows, row, &err);
    return HR_END;
}

/* One component of one row: the sequences from..to of the old rows, one after the other, then padding. */
static hr_status pack_sequences_fill_row(const hr_field *f, const hr_column *old, hr_column *to, int64_t row,
                                         const int32_t *from, int64_t length)
{
    const size_t size = hr_dtype_size(f->dtype);
    const int32_t *splits = old->splits[0];
    char *value = (char *)to[VALUES].values + (size_t)(row * length) * size;
    int64_t *segment = (int64_t *)to[SEGMENT_IDS].values + row * length;
    int64_t *position = (int64_t *)to[POSITIONS].values + row * length, at = 0;
    if (splits[from[1]] - splits[from[0]] > length) return HR_END;
    for (int32_t s = from[0]; s < from[1]; s++) {
        const int64_t count = splits[s + 1] - splits[s];
        if (count)
            memcpy(value + (size_t)at * size, (const char *)old->values + (size_t)splits[s] * size,
                   (size_t)count * size);
        for (int64_t i = 0; i < count; i++, at++) segment[at] = s - from[0] + 1, position[at] = i;
    }
    for (; at < length; at++) {
        memcpy(value + (size_t)at * size, hr_zero_value(f->dtype), size);
        segment[at] = position[at] = 0;
    }
    return HR_OK;
}

static hr_status row_work(const void *spec, const void *unit, hr_work *w, hr_columns *rows, hr_error *err)
{
    (void)unit;
    const int64_t length = ((const pack_spec *)spec)->length;
    const hr_columns old = *rows;
    hr_columns before;
    rows->rows = rows->elements;
    rows->levels = 0;
    rows->origin = NULL;
    rows->number = NULL;
    HR_TRY(hr_new_columns(w, rows, &before, err));
    for (int64_t r = 0; r < rows->rows; r++)
        for (int i = 0; i < old.schema->fields && r < rows->rows; i++)
            if (pack_sequences_fill_row(&old.schema->field[i], &old.column[i], &rows->column[i * PARTS], r,
                                        old.splits[0] + r, length) != HR_OK)
                too_long(w, rows, r, old.schema->field[i].name, length);
    return HR_OK;
}

static const hr_op row_op = {
    .head = HR_OP_HEAD,
    .name = "pack_sequences.row",
    .spec_size = sizeof(pack_spec),
    .check = row_check,
    .work = row_work,
};

hr_dataset *hr_pack_sequences_with(hr_dataset *in, int64_t length, const hr_pack_sequences_opts *opts)
{
    const hr_pack_sequences_opts o = HR_OPTIONS(hr_pack_sequences_opts, opts);
    const pack_spec spec = {.length = length, .open_rows = o.open_rows ? o.open_rows : DEFAULT_OPEN_ROWS};
    hr_dataset *ds = hr_dataset_new(&hr_op_pack_sequences, &spec, &in, 1);
    return hr_dataset_new(&row_op, &spec, &ds, 1);
}
