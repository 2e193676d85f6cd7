/* See parse_records.h. A pipeline of one element costs more than parsing a row does. */
#include "train/ops/text/parse_records.h"
#include "io/example/example_reader.h"

#include <stdatomic.h>
#include <string.h>

enum { READABLE = 64 /* bytes after a record that the parser may read */ };

struct hr__record_parser {
    const hr_feature *features;
    int sparse, dense;
    hr__example_parser *parser;
    _Atomic(hr__example_order *) order; /* of the last run that ended; NULL: none, or a run has it */
    hr__example_feature asked[];
};

typedef struct parse_job {
    hr_kernel *k;
    hr__record_parser *by;
    hr__example_column *column;
    hr_tensor *scratch, **out; /* of the dense features */
    hr_view *record;
    int64_t rows;
} parse_job;

/* ---- what is asked for ---- */

static bool ask_for(const hr_feature *f, hr__example_feature *to)
{
    const hr_tensor *value = f->default_value;
    *to = (hr__example_feature){.key = hr_text_view(f->key), .dtype = f->dtype, .count = -1};
    if (f->dtype != HR_INT64 && f->dtype != HR_FLOAT && f->dtype != HR_STRING) return false;
    if (f->kind == HR_VAR_LEN) return true;
    to->count = hr_shape_count(f->shape);
    to->required = !value;
    if (value) to->default_value = value->data;
    return f->kind == HR_FIXED_LEN && to->count > 0 && (!value || value->count == to->count);
}

/* A parser wants each key once. */
static bool are_distinct(const hr__example_feature *asked, int count)
{
    for (int i = 0; i < count; i++)
        for (int j = 0; j < i; j++)
            if (asked[i].key.size == asked[j].key.size &&
                memcmp(asked[i].key.data, asked[j].key.data, (size_t)asked[i].key.size) == 0)
                return false;
    return true;
}

hr__record_parser *hr__record_parser_new(const hr_feature *features, int sparse, int dense)
{
    const int all = sparse + dense;
    hr__record_parser *p = hr_calloc(1, sizeof *p + (size_t)all * sizeof *p->asked);
    if (!p) return NULL;
    p->features = features;
    p->sparse = sparse;
    p->dense = dense;
    bool fits = true;
    for (int i = 0; i < all && fits; i++) fits = ask_for(&features[i], &p->asked[i]);
    fits = fits && are_distinct(p->asked, all) && hr__example_parser_new(p->asked, all, &p->parser, NULL) == HR_OK;
    if (fits) return p;
    hr__record_parser_free(p);
    return NULL;
}

void hr__record_parser_free(hr__record_parser *parser)
{
    if (!parser) return;
    hr__example_order_free(atomic_load(&parser->order));
    hr__example_parser_free(parser->parser);
    hr_free(parser);
}

/* The order of features that earlier runs have met makes parsing faster, and changes nothing else. */
static hr__example_order *take_order(hr__record_parser *by)
{
    hr__example_order *order = atomic_exchange(&by->order, NULL);
    return order ? order : hr__example_order_new(by->parser);
}

/* ---- memory ---- */

/* The records one after the other, with readable bytes behind the last one. */
static bool job_records(parse_job *job, const hr_tensor *records)
{
    const hr_view *from = records->data;
    size_t bytes = READABLE;
    for (int64_t r = 0; r < job->rows; r++) bytes += (size_t)from[r].size;
    job->record = hr_kernel_temp(job->k, (size_t)job->rows * sizeof *job->record);
    char *at = hr_kernel_temp(job->k, bytes);
    if (!job->record || !at) return false;
    for (int64_t r = 0; r < job->rows; at += from[r++].size) {
        job->record[r] = (hr_view){at, from[r].size};
        if (from[r].size) memcpy(at, from[r].data, (size_t)from[r].size);
    }
    memset(at, 0, READABLE);
    return true;
}

static hr_status grow_list(hr__example_rows *rows, int slot, int64_t capacity, hr_error *err)
{
    parse_job *job = rows->user;
    hr__example_column *c = &rows->column[slot];
    const size_t size = hr_dtype_size(job->by->asked[slot].dtype);
    const int64_t least = c->capacity ? 2 * c->capacity : job->rows; /* most lists have a value a row */
    if (capacity < least) capacity = least;
    void *values = hr_kernel_temp(job->k, (size_t)capacity * size);
    if (!values) return hr_no_memory(err, "a list of values");
    if (c->count) memcpy(values, c->values, (size_t)c->count * size);
    c->values = values;
    c->capacity = capacity;
    return HR_OK;
}

static hr_shape shape_of_rows(int64_t rows, hr_shape of)
{
    hr_shape all = {of.rank + 1, {rows}};
    for (int d = 0; d < of.rank; d++) all.dims[d + 1] = of.dims[d];
    return all;
}

/* Lists have splits, dense features are written into their outputs. */
static bool job_columns(parse_job *job)
{
    const int sparse = job->by->sparse, dense = job->by->dense, all = sparse + dense;
    const size_t splits = (size_t)job->rows + 1;
    job->column = hr_kernel_temp(job->k, (size_t)(all + 1) * sizeof *job->column);
    job->scratch = hr_kernel_temp(job->k, (size_t)(dense + 1) * sizeof *job->scratch);
    job->out = hr_kernel_temp(job->k, (size_t)(dense + 1) * sizeof *job->out);
    int32_t *split = hr_kernel_temp(job->k, (size_t)(sparse + 1) * splits * sizeof *split);
    if (!job->column || !job->scratch || !job->out || !split) return false;
    for (int i = 0; i < sparse; i++, split += splits) {
        job->column[i] = (hr__example_column){.splits = split};
        split[0] = 0;
    }
    for (int i = 0; i < dense; i++) {
        const hr_shape shape = shape_of_rows(job->rows, job->by->features[sparse + i].shape);
        if (hr_kernel_begin_output(job->k, 3 * sparse + i, shape, &job->scratch[i], &job->out[i], NULL) != HR_OK)
            return false;
        job->column[sparse + i] = (hr__example_column){.values = job->out[i]->data};
    }
    return true;
}

/* ---- the outputs ---- */

static bool give_sparse(const parse_job *job, int i)
{
    const hr__example_column *c = &job->column[i];
    const int64_t count = c->splits[job->rows];
    hr_shape shape = {2, {job->rows, 0}};
    hr_tensor *indices;
    if (hr_kernel_output(job->k, i, HR_SHAPE(count, 2), &indices, NULL) != HR_OK) return false;
    int64_t *at = indices->data;
    for (int64_t r = 0; r < job->rows; r++) {
        const int64_t length = c->splits[r + 1] - c->splits[r];
        if (length > shape.dims[1]) shape.dims[1] = length;
        for (int64_t n = 0; n < length; n++, at += 2) {
            at[0] = r;
            at[1] = n;
        }
    }
    return hr_kernel_copy(job->k, job->by->sparse + i, HR_SHAPE(count), c->values, NULL) == HR_OK &&
           hr_kernel_copy(job->k, 2 * job->by->sparse + i, HR_SHAPE(2), shape.dims, NULL) == HR_OK;
}

static bool job_outputs(const parse_job *job)
{
    bool whole = true;
    for (int i = 0; i < job->by->sparse && whole; i++) whole = give_sparse(job, i);
    for (int i = 0; i < job->by->dense && whole; i++)
        whole = hr_kernel_end_output(job->k, 3 * job->by->sparse + i, &job->scratch[i], job->out[i], NULL) == HR_OK;
    return whole;
}

bool hr__parse_records(hr_kernel *k, hr__record_parser *parser)
{
    const hr_tensor *records = k->input[0];
    parse_job job = {.k = k, .by = parser, .rows = records->count};
    if (records->shape.rank != 1 || records->count == 0 || records->count >= 1 << 24 || !job_records(&job, records) ||
        !job_columns(&job))
        return false;
    hr__example_order *order = take_order(parser);
    hr__example_rows rows = {.column = job.column, .grow = grow_list, .user = &job, .tf_compat = true};
    bool whole = order != NULL;
    for (int64_t r = 0; r < job.rows && whole; r++)
        whole = hr__example_parse(parser->parser, order, &rows, r, job.record[r], NULL) == HR_OK;
    hr__example_order_free(atomic_exchange(&parser->order, order));
    return whole && job_outputs(&job);
}
