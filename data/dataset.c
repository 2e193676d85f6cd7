/* Datasets: an operator, its frozen arguments, its inputs. What is wrong with one sticks to it and passes through all
 * that is put on top. */
#include "base/constructor.h"
#include "base/descriptor.h"
#include "data/dataset.h"
#include <headrace/data.h>
#include <inttypes.h>
#include <string.h>

/* What there is when there is no memory for a dataset: one for all, never freed. */
static hr_dataset no_memory = {
    .error = HR__NO_MEMORY_FOR("a dataset"),
};

/* What stands in for a dataset that is NULL, as after a failure of hr_pipeline_from_file. */
static hr_dataset missing = {
    .error = HR__ERROR_OF(HR_INVALID_ARGUMENT, "dataset.null", "expected a dataset, got NULL"),
};

static bool is_immortal(const hr_dataset *ds) { return ds == &no_memory || ds == &missing; }

hr_dataset *hr__dataset_given(hr_dataset *ds) { return ds ? ds : &missing; }

hr_dataset *hr_dataset_ref(hr_dataset *ds)
{
    if (ds && !is_immortal(ds)) atomic_fetch_add_explicit(&ds->refs, 1, memory_order_relaxed);
    return ds;
}

void hr_dataset_unref(hr_dataset *ds)
{
    if (!ds || is_immortal(ds) || atomic_fetch_sub_explicit(&ds->refs, 1, memory_order_acq_rel) > 1) return;
    for (int i = 0; i < ds->inputs; i++) hr_dataset_unref(ds->in[i]);
    if (ds->spec_copied && ds->op->spec_free) ds->op->spec_free(ds->spec);
    hr_schema_clear(&ds->out);
    hr_free(ds->width);
    hr_free(ds->in);
    hr_free(ds->spec);
    if (ds->op != ds->given) hr_free((hr_op *)ds->op);
    hr_free(ds);
}

const hr_op *hr_dataset_op(const hr_dataset *ds) { return !ds || ds->error.code ? NULL : ds->op; }

const void *hr_dataset_spec(const hr_dataset *ds, const hr_op *op)
{
    return ds && ds->given == op && !ds->error.code ? ds->spec : NULL;
}

const hr_dataset *hr_dataset_input(const hr_dataset *ds, int i)
{
    return ds && i >= 0 && i < ds->inputs ? ds->in[i] : NULL;
}

const hr_error *hr_dataset_error(const hr_dataset *ds)
{
    if (!ds) return &missing.error;
    return ds->error.code ? &ds->error : NULL;
}

const hr_schema *hr_dataset_schema(const hr_dataset *ds) { return !ds || ds->error.code ? NULL : &ds->out.schema; }

hr_dataset *hr_dataset_failed(const hr_error *error)
{
    hr_dataset *ds = hr_calloc(1, sizeof *ds);
    if (!ds) return &no_memory;
    atomic_init(&ds->refs, 1);
    ds->error = *error;
    return ds;
}

/* Takes all inputs; gives the first that failed, or NULL: then they are not taken. */
static hr_dataset *first_failed(hr_dataset *const *in, int inputs)
{
    hr_dataset *failed = NULL;
    if (!in && inputs > 0) return &missing;
    for (int i = 0; i < inputs && !failed; i++)
        if (hr_dataset_error(in[i])) failed = hr_dataset_ref(hr__dataset_given(in[i]));
    for (int i = 0; failed && i < inputs; i++) hr_dataset_unref(in[i]);
    return failed;
}

static hr_status measure_fields(hr_dataset *ds, hr_error *err)
{
    const hr_schema *schema = &ds->out.schema;
    ds->width = hr_calloc((size_t)schema->fields + 1, sizeof *ds->width);
    if (!ds->width) return hr_no_memory(err, "a dataset");
    for (int i = 0; i < schema->fields; i++) {
        if (hr_field_fixed(&schema->field[i])) ds->width[i] = hr_field_width(&schema->field[i]);
        ds->strings |= schema->field[i].dtype == HR_STRING;
    }
    return HR_OK;
}

hr_status hr__op_answer(const hr_op *op, hr_status returned, hr_error *err)
{
    return hr__descriptor_answer(op->name, "op.failed", returned, err);
}

static hr_status freeze(hr_dataset *ds, const void *spec, hr_error *err)
{
    const hr_op *op = ds->op;
    const hr_schema *schema[HR_MAX_INPUTS + 1] = {0};
    if (ds->inputs > HR_MAX_INPUTS)
        return hr_fail(err, HR_INVALID_ARGUMENT, "op.inputs", "%s: expected at most %d inputs, got %d", op->name,
                       HR_MAX_INPUTS, ds->inputs);
    for (int i = 0; i < ds->inputs; i++) schema[i] = &ds->in[i]->out.schema;
    if (op->spec_size) memcpy(ds->spec, spec, op->spec_size);
    ds->spec_copied = true;
    if (op->spec_copy) HR_TRY(hr__op_answer(op, op->spec_copy(ds->spec, err), err));
    if (ds->inputs) HR_TRY(hr_schema_set(&ds->out, schema[0], err));
    if (!op->check && ds->inputs > 1) HR_TRY(hr_schemas_agree(op->name, schema, err));
    if (op->check) HR_TRY(hr__op_answer(op, op->check(ds->spec, schema, &ds->out, err), err));
    if (ds->out.schema.levels > HR_MAX_LEVELS)
        return hr_fail(err, HR_INVALID_ARGUMENT, "batch.levels", "%s: expected at most %d batches on top of each other",
                       op->name, HR_MAX_LEVELS);
    return measure_fields(ds, err);
}

static const hr__descriptor_kind operators = {
    .what = "operator",
    .status = HR_FAILED_PRECONDITION,
    .error = "op.abi",
    .version = HR_OP_ABI,
    .size = sizeof(hr_op),
    .min_size = offsetof(hr_op, spec_copy),
};

/* `op` fits this library: `given`, or a copy of it that does not last. */
static hr_dataset *dataset_allocate(const hr_op *given, const hr_op *op, hr_dataset *const *in, int inputs)
{
    hr_dataset *ds = hr_calloc(1, sizeof *ds);
    if (!ds) return NULL;
    atomic_init(&ds->refs, 1);
    hr_op *copy = op == given ? NULL : hr_malloc(sizeof *copy);
    if (copy) *copy = *op;
    ds->given = given;
    ds->op = copy ? copy : given;
    ds->in = hr_calloc((size_t)inputs + 1, sizeof *ds->in);
    ds->spec = hr_calloc(1, op->spec_size + 1);
    if (!ds->in || !ds->spec || (op != given && !copy)) {
        hr_dataset_unref(ds);
        return NULL;
    }
    for (int i = 0; i < inputs; i++) ds->in[i] = in[i];
    ds->inputs = inputs;
    return ds;
}

hr_dataset *hr_dataset_new(const hr_op *given, const void *spec, hr_dataset *const *in, int inputs)
{
    hr_dataset *ds = first_failed(in, inputs);
    if (ds) return ds;
    hr_op grown;
    const void *op = NULL;
    hr_error err;
    const hr_status fits = hr__descriptor_fit(&operators, given, &grown, &op, &err);
    if (fits == HR_OK) ds = dataset_allocate(given, op, in, inputs);
    if (!ds) {
        for (int i = 0; i < inputs; i++) hr_dataset_unref(in[i]);
        return fits == HR_OK ? &no_memory : hr_dataset_failed(&err);
    }
    ds->shares = ds->op->traits & HR_SAME_EACH_OPENING;
    for (int i = 0; i < inputs; i++) {
        if (in[i]->place > ds->place) ds->place = in[i]->place;
        ds->shares |= in[i]->shares;
    }
    ds->place += (ds->op->plan && !(ds->op->traits & HR_GROUPS_ROWS)) || (ds->op->traits & HR_RANDOM_ROWS);
    freeze(ds, spec, &ds->error);
    return ds;
}

hr_dataset *hr_dataset_over(const hr_op *op, const void *spec, hr_dataset *first, hr_dataset *const *rest, int count)
{
    if (count < 0) count = 0;
    hr_dataset **in = hr_calloc((size_t)count + 1, sizeof *in);
    if (!in) {
        hr_dataset_unref(first);
        for (int i = 0; i < count; i++) hr_dataset_unref(rest[i]);
        return &no_memory;
    }
    in[0] = first;
    for (int i = 0; i < count; i++) in[i + 1] = rest[i];
    hr_dataset *ds = hr_dataset_new(op, spec, in, count + 1);
    hr_free(in);
    return ds;
}

hr_status hr_parallel_calls_check(const char *name, int64_t calls, int64_t max, hr_error *err)
{
    if (calls >= HR_AUTOTUNE && calls <= max) return HR_OK;
    if (calls > max)
        return hr_fail(err, HR_INVALID_ARGUMENT, "parallel_calls",
                       "%s: expected num_parallel_calls of at most %" PRId64 ", its cycle_length, got %" PRId64, name,
                       max, calls);
    return hr_fail(err, HR_INVALID_ARGUMENT, "parallel_calls",
                   "%s: expected num_parallel_calls > 0, or HR_AUTOTUNE, got %" PRId64, name, calls);
}

/* ---- cardinality ---- */

int64_t hr_cardinality_of_input(const void *spec, const int64_t *in)
{
    (void)spec;
    return in[0];
}

int64_t hr_cardinality(const hr_dataset *ds)
{
    int64_t in[HR_MAX_INPUTS + 1] = {HR_UNKNOWN_CARDINALITY};
    if (hr_dataset_error(ds)) return HR_UNKNOWN_CARDINALITY;
    for (int i = 0; i < ds->inputs; i++) in[i] = hr_cardinality(ds->in[i]);
    if (ds->op->cardinality) return ds->op->cardinality(ds->spec, in);
    return ds->op->traits & (HR_PASSES_ROWS | HR_ROW_BY_ROW) ? in[0] : HR_UNKNOWN_CARDINALITY;
}

/* ---- identity ---- */

/* FNV-1a, 64 bits: the same on every machine and in every process. */
void hr_identify(uint64_t *sum, const void *bytes, size_t size)
{
    const unsigned char *byte = bytes;
    for (size_t i = 0; i < size; i++) *sum = (*sum ^ byte[i]) * UINT64_C(0x100000001b3);
}

void hr_identify_i64(uint64_t *sum, int64_t value)
{
    unsigned char byte[8];
    for (int i = 0; i < 8; i++) byte[i] = (unsigned char)((uint64_t)value >> 8 * i);
    hr_identify(sum, byte, sizeof byte);
}

void hr_identify_text(uint64_t *sum, const char *text)
{
    hr_identify_i64(sum, text ? (int64_t)strlen(text) : -1);
    if (text) hr_identify(sum, text, strlen(text));
}

static void identify_field(const hr_field *f, uint64_t *sum)
{
    hr_identify_text(sum, f->name);
    hr_identify_i64(sum, f->dtype);
    hr_identify_i64(sum, f->layout);
    hr_identify_i64(sum, f->label);
    for (int i = 0; i < f->shape.rank; i++) hr_identify_i64(sum, f->shape.dims[i]);
}

/* Adds of each pattern what follows its folder. The folder ends before the first special character and may be moved. */
static void identify_below_folders(const char *patterns, uint64_t *sum)
{
    for (const char *at = patterns, *end; at; at = *end ? end + 1 : NULL) {
        end = at + strcspn(at, "\n");
        const size_t plain = strcspn(at, "\n*?[\\{");
        const char *name = at + plain;
        while (name > at && name[-1] != '/') name--;
        hr_identify_i64(sum, end - name);
        hr_identify(sum, name, (size_t)(end - name));
    }
}

uint32_t hr__dataset_arguments(const hr_dataset *ds)
{
    uint64_t sum = UINT64_C(0xcbf29ce484222325);
    const char *pattern = ds->op->files ? ds->op->files(ds->spec).pattern : NULL;
    if (pattern) identify_below_folders(pattern, &sum);
    if (ds->op->identity) ds->op->identity(ds->spec, &sum);
    for (int i = 0; i < ds->out.schema.fields; i++) identify_field(&ds->out.schema.field[i], &sum);
    return (uint32_t)(sum ^ sum >> 32);
}

/* Datasets never change, so each is asked once: threads that ask at the same time find the same number. */
uint64_t hr__dataset_identity(hr_dataset *ds)
{
    uint64_t sum = atomic_load_explicit(&ds->identity, memory_order_relaxed);
    if (sum) return sum;
    sum = UINT64_C(0xcbf29ce484222325);
    hr_identify_text(&sum, ds->op->name);
    hr_identify_i64(&sum, hr__dataset_arguments(ds));
    if (ds->op->files) hr_identify_text(&sum, ds->op->files(ds->spec).pattern);
    for (int i = 0; i < ds->inputs; i++) hr_identify_i64(&sum, (int64_t)hr__dataset_identity(ds->in[i]));
    atomic_store_explicit(&ds->identity, sum, memory_order_relaxed);
    return sum;
}
