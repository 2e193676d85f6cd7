/* bucket_by_sequence_length: batches of elements of like length. It is group_by_window with the bucket as the key, over
 * padded rows. Here rows are padded to their bucket's boundary, where that is asked for. */
#include <headrace/data.h>
#include <inttypes.h>

/* Shared by all that is put together: freed with the last of them, which is the group_by_window on top. */
typedef struct buckets {
    hr_length_fn *length;
    void *user;
    int64_t *boundary, *size; /* so many, and one more */
    int count;
} buckets;

typedef struct bucket_spec {
    const buckets *b;
    hr_error why; /* of arguments that fit no bucket; code 0: they do */
} bucket_spec;

/* The first bucket whose boundary is above the length; one more bucket follows the last boundary. */
static int bucket_of(const buckets *b, const hr_element *element)
{
    const int64_t length = b->length(element, b->user);
    int i = 0;
    while (i < b->count && length >= b->boundary[i]) i++;
    return i;
}

static int64_t key_of(const hr_element *element, void *user) { return bucket_of(user, element); }
static int64_t bucket_size_of(int64_t key, void *user) { return ((const buckets *)user)->size[key]; }

/* With .pad_to_bucket_boundary. */
static hr_status refuse_last(int64_t key, void *user, hr_error *err)
{
    const buckets *b = user;
    if (key < b->count) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "bucket.too_long",
                   "bucket_by_sequence_length: expected lengths below the last boundary, %" PRId64
                   ", with .pad_to_bucket_boundary, got longer ones",
                   b->count ? b->boundary[b->count - 1] : 0);
}

/* ---- rows to their boundary ---- */

static hr_status bucket_check(const void *spec, const hr_schema *const *in, hr_schema_builder *out, hr_error *err)
{
    (void)out;
    const bucket_spec *sp = spec;
    if (sp->why.code) return *err = sp->why, sp->why.code;
    for (int i = 0; i < in[0]->fields; i++)
        if (in[0]->field[i].shape.rank > 1 && in[0]->field[i].shape.dims[0] < 0)
            return hr_fail(err, HR_UNIMPLEMENTED, "bucket.rank",
                           "bucket_by_sequence_length: component '%.60s': expected a vector to pad to a boundary, got "
                           "%d dimensions",
                           in[0]->field[i].name, in[0]->field[i].shape.rank);
    return HR_OK;
}

/* How long each row is to be: one less than the boundary of its bucket. In the last bucket, which has none, as it
 * is. */
static hr_status bucket_measure(const buckets *b, hr_work *w, hr_columns *rows, int64_t *width, hr_error *err)
{
    for (int64_t r = 0; r < rows->rows; r++) {
        const hr_element *element = hr_work_element(w, rows, r);
        if (!element) return hr_no_memory(err, "bucket_by_sequence_length: an element");
        const int i = bucket_of(b, element);
        width[r] = i < b->count ? b->boundary[i] - 1 : 0;
    }
    return HR_OK;
}

static hr_status bucket_widen(hr_work *w, hr_columns *rows, int i, const int64_t *width, hr_error *err)
{
    const hr_field *f = &rows->schema->field[i];
    const size_t size = hr_dtype_size(f->dtype);
    const hr_column old = rows->column[i];
    int32_t *splits = hr_row_bytes(w, rows, ((size_t)rows->rows + 1) * sizeof *splits);
    int64_t total = 0;
    for (int64_t r = 0; r < rows->rows; r++) {
        const int64_t own = old.splits[0][r + 1] - old.splits[0][r];
        total += own > width[r] ? own : width[r];
    }
    char *to = total <= INT32_MAX ? hr_row_bytes(w, rows, (size_t)total * size + 1) : NULL;
    if (!splits || !to) return hr_no_memory(err, "bucket_by_sequence_length: padded rows");
    rows->column[i] = (hr_column){.values = to, .count = total, .splits = {splits}};
    splits[0] = 0;
    for (int64_t r = 0; r < rows->rows; r++) {
        int64_t n = old.splits[0][r + 1] - old.splits[0][r];
        if (n) memcpy(to, (const char *)old.values + (size_t)old.splits[0][r] * size, (size_t)n * size);
        for (; n < width[r]; n++) memcpy(to + (size_t)n * size, f->pad, size);
        to += (size_t)n * size;
        splits[r + 1] = splits[r] + (int32_t)n;
    }
    return HR_OK;
}

static hr_status bucket_work(const void *spec, const void *unit, hr_work *w, hr_columns *rows, hr_error *err)
{
    (void)unit;
    int64_t *width = hr_scratch(w, (size_t)rows->rows * sizeof *width + 1);
    if (!width) return hr_no_memory(err, "bucket_by_sequence_length");
    HR_TRY(bucket_measure(((const bucket_spec *)spec)->b, w, rows, width, err));
    for (int i = 0; i < rows->schema->fields; i++)
        if (!hr_field_fixed(&rows->schema->field[i])) HR_TRY(bucket_widen(w, rows, i, width, err));
    return HR_OK;
}

static void bucket_describe(const void *spec, hr_description *to)
{
    const bucket_spec *sp = spec;
    hr_describe_number(to, "buckets", sp->b->count + 1);
}

const hr_op hr_op_bucket_by_sequence_length = {
    .head = HR_OP_HEAD,
    .name = "bucket_by_sequence_length",
    .spec_size = sizeof(bucket_spec),
    .check = bucket_check,
    .work = bucket_work,
    .describe = bucket_describe,
};

/* ---- putting it together ---- */

static void free_buckets(void *user)
{
    buckets *b = user;
    hr_free(b->boundary);
    hr_free(b->size);
    hr_free(b);
}

static buckets *copy_buckets(hr_length_fn *length, void *user, const int64_t *boundaries, int count,
                             const int64_t *sizes)
{
    buckets *b = hr_calloc(1, sizeof *b);
    if (!b) return NULL;
    *b = (buckets){.length = length, .user = user, .count = count};
    b->boundary = hr_calloc((size_t)count + 1, sizeof *b->boundary);
    b->size = hr_calloc((size_t)count + 1, sizeof *b->size);
    if (b->boundary && b->size) {
        for (int i = 0; i < count; i++) b->boundary[i] = boundaries[i];
        for (int i = 0; i <= count; i++) b->size[i] = sizes[i];
        return b;
    }
    free_buckets(b);
    return NULL;
}

static hr_status bucket_check_arguments(hr_length_fn *length, const int64_t *boundaries, int count,
                                        const int64_t *sizes, hr_error *err)
{
    bool rising = length && count >= 0 && sizes && (boundaries || count == 0);
    for (int i = 1; rising && i < count; i++) rising = boundaries[i - 1] < boundaries[i];
    if (rising) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "bucket.boundaries",
                   "bucket_by_sequence_length: expected a function, rising boundaries, and one batch size more than "
                   "boundaries");
}

static hr_dataset *bucket_refused(hr_dataset *in, const hr_error *why)
{
    const bucket_spec spec = {.why = *why};
    return hr_dataset_new(&hr_op_bucket_by_sequence_length, &spec, &in, 1);
}

hr_dataset *hr_bucket_by_sequence_length_with(hr_dataset *in, hr_length_fn *length, void *user,
                                              const int64_t *boundaries, int count,
                                              const hr_bucket_by_sequence_length_opts *opts)
{
    const hr_bucket_by_sequence_length_opts o = HR_OPTIONS(hr_bucket_by_sequence_length_opts, opts);
    hr_error why;
    if (bucket_check_arguments(length, boundaries, count, o.batch_sizes, &why) != HR_OK)
        return bucket_refused(in, &why);
    buckets *b = copy_buckets(length, user, boundaries, count, o.batch_sizes);
    if (!b) return hr_no_memory(&why, "bucket_by_sequence_length"), bucket_refused(in, &why);
    hr_dataset *ds = o.no_padding ? in : hr_padded_rows(in, o.padded_shapes, o.padding_values);
    const bool widens = o.pad_to_bucket_boundary && !o.no_padding; /* as in TensorFlow, which then only batches */
    if (widens) ds = hr_dataset_new(&hr_op_bucket_by_sequence_length, &(bucket_spec){.b = b}, &ds, 1);
    return hr_group_by_window(ds, key_of, b, 0, .window_size_fn = bucket_size_of, .drop_remainder = o.drop_remainder,
                              .check = widens ? refuse_last : NULL, .user_free = free_buckets);
}
