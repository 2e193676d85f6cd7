/* map: one element of the input to one of the output, by the user's function. What it makes is written straight into
 * the columns of the output. */
#include <headrace/data.h>
#include <headrace/op_functions.h>

typedef struct map_spec {
    hr_user user; /* first */
    hr_map_fn *fn;
    uint64_t seed;
    int64_t parallel_calls;
    bool vectorized, unordered;
    const hr_schema *output; /* borrowed: read in check only. NULL: that of the input */
} map_spec;

static hr_status check_vectorized(const hr_schema *made, hr_error *err)
{
    for (int i = 0; i < made->fields; i++)
        if (!hr_field_fixed(&made->field[i]))
            return hr_fail(err, HR_INVALID_ARGUMENT, "map.output",
                           "map: component '%.60s': expected a known shape, since the function is vectorized",
                           made->field[i].name);
    return HR_OK;
}

static hr_status map_check(const void *spec, const hr_schema *const *in, hr_schema_builder *out, hr_error *err)
{
    const map_spec *sp = spec;
    if (!sp->fn) return hr_fail(err, HR_INVALID_ARGUMENT, "map.function", "map: expected a function, got NULL");
    HR_TRY(hr_parallel_calls_check("map", sp->parallel_calls, INT64_MAX, err));
    if (sp->vectorized) HR_TRY(check_vectorized(sp->output ? sp->output : in[0], err));
    HR_TRY(hr_builder_check("map", "map.output", sp->output ? sp->output : in[0], err));
    return sp->output ? hr_builder_schema(sp->output, out, err) : HR_OK;
}

static void call_function(const map_spec *sp, const hr_element *in, hr_builder *out, int64_t row)
{
    hr_call call;
    hr_call_for_row(&call, "map.function", out->work, out->rows, row, sp->seed);
    hr_builder_begin(out);
    const hr_status st = hr_builder_status(out, &call, "map", sp->fn(in, out, &call, sp->user.data));
    if (st < 0) hr_fail_at(out->work, out->rows, out->first, &call.err);
}

/* One call for all rows, whatever elements they belong to. */
static hr_status map_rows(const map_spec *sp, hr_work *w, hr_columns *rows, const hr_columns *before, hr_error *err)
{
    const hr_element *in = hr_work_rows(w, before);
    if (!in) return hr_no_memory(err, "an element");
    hr_builder out = hr_builder_for_work(w, rows, 0, rows->rows);
    if (rows->rows > 0) call_function(sp, in, &out, -1);
    return HR_OK;
}

static hr_status map_work(const void *spec, const void *unit, hr_work *w, hr_columns *rows, hr_error *err)
{
    (void)unit;
    const map_spec *sp = spec;
    hr_columns before;
    const int levels = hr_work_levels(w);
    HR_TRY(hr_new_columns(w, rows, &before, err));
    hr_builder_zero(rows, 0, rows->rows);
    if (sp->vectorized) return map_rows(sp, w, rows, &before, err);
    for (int64_t e = 0, first = 0, end; first < rows->rows; e++, first = end) {
        if (hr_work_cancelled(w)) break; /* the user's function may be slow, and nobody reads this unit */
        end = hr_element_row(&before, levels, e + 1);
        const hr_element *in = hr_work_element(w, &before, e);
        if (!in) return hr_no_memory(err, "an element");
        hr_builder out = hr_builder_for_work(w, rows, first, end);
        call_function(sp, in, &out, first);
    }
    return HR_OK;
}

static void map_identity(const void *spec, uint64_t *sum)
{
    hr_identify_i64(sum, (int64_t)((const map_spec *)spec)->seed);
}

static void map_settings(const void *spec, hr_settings *below)
{
    below->stage_unordered |= ((const map_spec *)spec)->unordered;
}

static void map_describe(const void *spec, hr_description *to)
{
    const map_spec *sp = spec;
    hr_describe_flag(to, "vectorized", sp->vectorized);
    hr_describe_flag(to, "unordered", sp->unordered);
    hr_describe_seed(to, sp->seed, false);
}

const hr_op hr_op_map = {
    .head = HR_OP_HEAD,
    .name = "map",
    .spec_size = sizeof(map_spec),
    .traits = HR_ROW_BY_ROW | HR_RANDOM_ROWS,
    .spec_copy = hr_user_copy,
    .spec_free = hr_user_free,
    .check = map_check,
    .work = map_work,
    .identity = map_identity,
    .settings = map_settings,
    .describe = map_describe,
};

hr_dataset *hr_map_with(hr_dataset *in, hr_map_fn *fn, void *user, const hr_map_opts *opts)
{
    const hr_map_opts o = HR_OPTIONS(hr_map_opts, opts);
    map_spec spec = {.user = {.data = user, .free = o.user_free},
                     .fn = fn,
                     .seed = o.seed,
                     .vectorized = o.vectorized,
                     .unordered = o.unordered,
                     .parallel_calls = o.num_parallel_calls,
                     .output = o.output};
    return hr_user_dataset(&hr_op_map, &spec, &spec.user, &in, 1);
}
