/* The drivers of the update rules: dense gradients in pieces, sparse ones by rows. Everything is checked before
 * anything is changed; rows that are changed at the same time are different rows. */
#include "base/cpu.h"
#include "train/optimizers/optimizers_internal.h"

hr_rule_f32 *hr_rule_choose(const hr_rule *rule)
{
    if (rule->avx512 && hr__cpu_has(HR__AVX512)) return rule->avx512;
    if (rule->avx2 && hr__cpu_has(HR__AVX2)) return rule->avx2;
    return rule->portable;
}

/* ---- inputs ---- */

hr_status hr_update_number(hr_kernel *k, int input, double *out, hr_error *err)
{
    const hr_tensor *t = k->input[input];
    char text[128];
    if (t->count != 1)
        return hr_fail(err, HR_INVALID_ARGUMENT, "optimizer.scalar", "expected a scalar as input %d, got shape %s",
                       input, hr_shape_text(t->shape, text, sizeof text));
    *out = t->dtype == HR_DOUBLE  ? *(const double *)t->data
           : t->dtype == HR_FLOAT ? (double)*(const float *)t->data
                                  : (double)hr_int_at(t, 0);
    return HR_OK;
}

static hr_status refuse_shapes(const char *expected, const hr_tensor *variable, const hr_tensor *got, hr_error *err)
{
    char had[128], has[128];
    return hr_fail(err, HR_INVALID_ARGUMENT, "optimizer.shape", "expected %s, got %s beside a variable %s", expected,
                   hr_shape_text(got->shape, has, sizeof has), hr_shape_text(variable->shape, had, sizeof had));
}

/* Almost always all are in range: that is asked without looking at each. */
static bool apply_all_fit(const int64_t *rows, int64_t count, int64_t buckets)
{
    int64_t beyond = 0;
    for (int64_t i = 0; i < count; i++) beyond |= rows[i] | (int64_t)((uint64_t)buckets - 1 - (uint64_t)rows[i]);
    return beyond >= 0;
}

static hr_status apply_check_indices(const hr_tensor *indices, int64_t rows, hr_error *err)
{
    if (indices->dtype == HR_INT64 && apply_all_fit(indices->data, indices->count, rows)) return HR_OK;
    for (int64_t i = 0; i < indices->count; i++) {
        const int64_t row = hr_int_at(indices, i);
        if (row < 0 || row >= rows)
            return hr_fail(err, HR_INVALID_ARGUMENT, "optimizer.index",
                           "expected indices from 0 to %lld, got %lld at offset %lld", (long long)rows - 1,
                           (long long)row, (long long)i);
    }
    return HR_OK;
}

hr_status hr_sparse_check(const hr_tensor *variable, const hr_tensor *grad, const hr_tensor *indices,
                          hr_sparse_update *out, hr_error *err)
{
    hr_shape row = variable->shape;
    *out = (hr_sparse_update){.grad = grad, .indices = indices, .width = 1};
    if (row.rank < 1) return refuse_shapes("a variable with rows", variable, grad, err);
    if (indices->shape.rank != 1) return refuse_shapes("a vector of indices", variable, indices, err);
    row.dims[0] = indices->count;
    if (!hr_shape_equal(row, grad->shape)) return refuse_shapes("a gradient of one row an index", variable, grad, err);
    for (int i = 1; i < row.rank; i++) out->width *= row.dims[i];
    out->rows = variable->shape.dims[0];
    out->row_bytes = (size_t)out->width * hr_dtype_size(variable->dtype);
    return apply_check_indices(indices, out->rows, err);
}

/* ---- a rule on consecutive values ---- */

typedef struct update {
    const hr_update *of;
    const hr_rule *rule;
    hr_rule_f32 *f32; /* NULL: double */
    void *value[1 + HR_MAX_SLOTS];
    const void *grad;
    float p32[HR_MAX_RULE_NUMBERS];
    double p64[HR_MAX_RULE_NUMBERS];
    /* sparse */
    const int64_t *rows;
    int64_t width;
    int slots; /* of all rules that run */
} update;

#define VALUES_AT(T, i, at) (u->value[i] ? (T *)u->value[i] + (at) : NULL)

/* On the `n` values from `at` on, by the gradients from `from` on. */
static inline void run_rule(const update *u, size_t at, size_t from, int64_t n)
{
    if (u->f32)
        u->f32(VALUES_AT(float, 0, at), VALUES_AT(float, 1, at), VALUES_AT(float, 2, at), VALUES_AT(float, 3, at),
               u->grad ? (const float *)u->grad + from : NULL, n, u->p32);
    else
        u->rule->f64(VALUES_AT(double, 0, at), VALUES_AT(double, 1, at), VALUES_AT(double, 2, at),
                     VALUES_AT(double, 3, at), u->grad ? (const double *)u->grad + from : NULL, n, u->p64);
}

static void dense_piece(int64_t first, int64_t last, void *user)
{
    run_rule(user, (size_t)first, (size_t)first, last - first);
}

/* ---- sparse ---- */

/* Rows narrower than this are brought together, so that the rule sees many values at once. */
enum { NARROW = 8, GATHERED = 512, AHEAD = 8 };

static inline void prefetch_row(const update *u, int64_t r, size_t size)
{
    for (int s = 0; s <= u->rule->slots; s++) {
        const char *row = (const char *)u->value[s] + (size_t)(u->rows[r] * u->width) * size;
        for (size_t at = 0; at < (size_t)u->width * size && at < 256; at += 64) __builtin_prefetch(row + at, 1);
    }
}

static void wide_rows(int64_t first, int64_t last, void *user)
{
    const update *u = user;
    const size_t size = u->f32 ? sizeof(float) : sizeof(double);
    for (int64_t r = first; r < last; r++) {
        if (r + AHEAD < last) prefetch_row(u, r + AHEAD, size);
        run_rule(u, (size_t)(u->rows[r] * u->width), (size_t)(r * u->width), u->width);
    }
}

static inline void apply_gather(const float *from, const int64_t *rows, int64_t count, int64_t width, float *to)
{
    if (width == 1) {
        for (int64_t r = 0; r < count; r++) to[r] = from[rows[r]];
        return;
    }
    for (int64_t r = 0; r < count; r++)
        for (int64_t j = 0; j < width; j++) to[r * width + j] = from[rows[r] * width + j];
}

static inline void scatter(const float *from, const int64_t *rows, int64_t count, int64_t width, float *to)
{
    if (width == 1) {
        for (int64_t r = 0; r < count; r++) to[rows[r]] = from[r];
        return;
    }
    for (int64_t r = 0; r < count; r++)
        for (int64_t j = 0; j < width; j++) to[rows[r] * width + j] = from[r * width + j];
}

static void narrow_rows(int64_t first, int64_t last, void *user)
{
    const update *u = user;
    float block[1 + HR_MAX_SLOTS][GATHERED];
    const int64_t step = GATHERED / u->width;
    for (int64_t r = first; r < last; r += step) {
        const int64_t count = last - r < step ? last - r : step;
        for (int s = 0; s <= u->rule->slots; s++) apply_gather(u->value[s], u->rows + r, count, u->width, block[s]);
        u->f32(block[0], block[1], block[2], block[3], (const float *)u->grad + r * u->width, count * u->width, u->p32);
        for (int s = 0; s <= u->rule->slots; s++) scatter(block[s], u->rows + r, count, u->width, u->value[s]);
    }
}

static const int64_t *wide_indices(hr_kernel *k, const hr_tensor *indices)
{
    if (indices->dtype == HR_INT64) return indices->data;
    int64_t *rows = hr_kernel_temp(k, (size_t)indices->count * sizeof *rows + 1);
    for (int64_t i = 0; rows && i < indices->count; i++) rows[i] = ((const int32_t *)indices->data)[i];
    return rows;
}

/* Multiplies whole slots. */
static void decay_piece(int64_t first, int64_t last, void *user)
{
    const update *u = user;
    for (int slot = 0; slot < HR_MAX_SLOTS; slot++) {
        const int by = u->of->decays[slot];
        if (!by) continue;
        if (u->f32)
            for (int64_t i = first; i < last; i++) ((float *)u->value[1 + slot])[i] *= u->p32[by];
        else
            for (int64_t i = first; i < last; i++) ((double *)u->value[1 + slot])[i] *= u->p64[by];
    }
}

static void decay_slots(hr_kernel *k, update *u, int64_t count)
{
    int slots = 0;
    for (int slot = 0; slot < HR_MAX_SLOTS; slot++) slots += u->of->decays[slot] != 0;
    if (slots) hr_kernel_parallel(k, count, 0.15 * slots, decay_piece, u);
}

static void choose_rule(update *u, const hr_rule *rule)
{
    u->rule = rule;
    if (u->f32) u->f32 = hr_rule_choose(rule);
}

static hr_status run_sparse(hr_kernel *k, update *u, const hr_tensor *variable, hr_error *err)
{
    const hr_tensor *grad = k->input[u->of->grad], *indices = k->input[u->of->indices];
    int64_t count = indices->count;
    const bool once = hr_attr_bool(k->node, "_sum_duplicates");
    hr_sparse_update sparse;
    HR_TRY(hr_sparse_check(variable, grad, indices, &sparse, err));
    for (int s = 0; s <= u->rule->slots; s++) sparse.table[sparse.tables++] = u->value[s];
    u->width = sparse.width;
    u->grad = grad->data;
    if (once)
        HR_TRY(hr_sparse_sum_rows(k, &sparse, &u->rows, &u->grad, &count, err));
    else
        u->rows = wide_indices(k, indices);
    if (!u->rows) return hr_no_memory(err, "indices");
    decay_slots(k, u, variable->count);
    const double each = u->rule->nanoseconds * (double)u->width + 4;
    /* Rows given twice without summing are updated one after the other. */
    if (!once)
        wide_rows(0, count, u);
    else if (u->f32 && u->width < NARROW && u->width > 0)
        hr_kernel_parallel(k, count, each, narrow_rows, u);
    else
        hr_kernel_parallel(k, count, each, wide_rows, u);
    if (!u->of->sweep) return HR_OK;
    choose_rule(u, u->of->sweep);
    u->grad = NULL;
    hr_kernel_parallel(k, variable->count, u->rule->nanoseconds, dense_piece, u);
    return HR_OK;
}

/* ---- both ---- */

/* `input`: the variable's; its slots' follow it, `apart` inputs from one to the next. */
static hr_status take_variables(hr_kernel *k, update *u, int input, int apart, const hr_tensor **variable,
                                hr_error *err)
{
    for (int s = 0; s <= u->slots; s++) {
        hr_tensor *value;
        HR_TRY(hr_kernel_update(k, input + s * apart, &value, err));
        if (s == 0) *variable = value;
        if (!hr_shape_equal(value->shape, (*variable)->shape) || value->dtype != (*variable)->dtype)
            return refuse_shapes("a slot of the variable's type and shape", *variable, value, err);
        u->value[s] = value->data;
    }
    return HR_OK;
}

static hr_status take_numbers(hr_kernel *k, update *u, hr_error *err)
{
    for (int i = 0; i < HR_MAX_RULE_NUMBERS; i++) {
        const int from = u->of->from[i];
        u->p64[i] = u->of->p[i];
        if (u->of->flag && i == u->of->flag_to) u->p64[i] = hr_attr_bool(k->node, u->of->flag);
        if (from > 0 && from < k->inputs) HR_TRY(hr_update_number(k, from, &u->p64[i], err));
        u->p32[i] = (float)u->p64[i];
    }
    return HR_OK;
}

static bool fits_inputs(const hr_kernel *k, const hr_update *of, int slots)
{
    return of->rule && of->grad >= 0 && of->grad < k->inputs && of->indices >= 0 && of->indices < k->inputs &&
           of->rule->slots >= 0 && slots <= HR_MAX_SLOTS && slots < k->inputs;
}

hr_status hr_update_run(hr_kernel *k, const hr_update *of, hr_error *err)
{
    int slots = of->rule ? of->rule->slots : 0;
    if (of->sweep && of->sweep->slots > slots) slots = of->sweep->slots;
    if (!fits_inputs(k, of, slots))
        return hr_fail(err, HR_INVALID_ARGUMENT, "optimizer.kind",
                       "expected a rule, and inputs with the gradient and its rows, of %d; got inputs %d and %d",
                       k->inputs, of->grad, of->indices);
    update u = {.of = of, .rule = of->rule, .slots = slots};
    const hr_tensor *variable = NULL, *grad = k->input[of->grad];
    HR_TRY(take_variables(k, &u, 0, 1, &variable, err));
    if (variable->dtype != grad->dtype) return refuse_shapes("a gradient of the variable's type", variable, grad, err);
    HR_TRY(take_numbers(k, &u, err));
    if (variable->dtype == HR_FLOAT) u.f32 = hr_rule_choose(of->rule);
    if (of->indices) return run_sparse(k, &u, variable, err);
    if (!hr_shape_equal(variable->shape, grad->shape))
        return refuse_shapes("a gradient of the variable's shape", variable, grad, err);
    u.grad = grad->data;
    hr_kernel_parallel(k, variable->count, of->rule->nanoseconds, dense_piece, &u);
    return HR_OK;
}

/* ---- many variables ---- */

typedef struct update_many {
    update *u;
    int64_t *count; /* rows of each */
} update_many;

static void many_piece(int64_t first, int64_t last, void *user)
{
    const update_many *m = user;
    for (int64_t i = first; i < last; i++)
        (m->u[i].width < NARROW && m->u[i].width > 0 ? narrow_rows : wide_rows)(0, m->count[i], &m->u[i]);
}

/* What belongs to variable `i`, checked. */
static hr_status many_take(hr_kernel *k, update *u, int i, int many, int64_t *count, hr_error *err)
{
    const int at = (1 + u->slots) * many + i;
    const hr_tensor *variable = NULL, *grad = k->input[at], *indices = k->input[at + many];
    hr_sparse_update sparse;
    HR_TRY(take_variables(k, u, i, many, &variable, err));
    if (variable->dtype != HR_FLOAT) return refuse_shapes("a gradient of the variable's type", variable, grad, err);
    HR_TRY(hr_sparse_check(variable, grad, indices, &sparse, err));
    u->width = sparse.width;
    u->grad = grad->data;
    u->rows = indices->data;
    *count = indices->count;
    if (hr__rows_are_distinct(hr_node_input(k->node, at + many))) return HR_OK;
    return hr_sparse_sum_rows(k, &sparse, &u->rows, &u->grad, count, err);
}

/* A variable or slot that came twice would be changed by two threads. */
static hr_status many_are_different(hr_kernel *k, const update *u, int many, hr_error *err)
{
    hr_distinct_rows seen;
    const int64_t all = (int64_t)many * (1 + u->slots);
    HR_TRY(hr_distinct_rows_begin(k, all, INT64_MAX, &seen, err));
    for (int i = 0; i < many; i++)
        for (int s = 0; s <= u->slots; s++) hr_distinct_rows_find(&seen, (int64_t)(uintptr_t)u[i].value[s]);
    if (seen.count == all) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "optimizer.variable", "expected different variables and slots");
}

hr_status hr_update_many(hr_kernel *k, const hr_update *of, int many, hr_error *err)
{
    update_many m;
    double values = 0;
    update first = {.of = of, .rule = of->rule, .f32 = hr_rule_choose(of->rule), .slots = of->rule->slots};
    HR_TRY(take_numbers(k, &first, err));
    HR_TRY(hr_kernel_array(k, many, sizeof *m.u, "updates", &m.u, err));
    HR_TRY(hr_kernel_array(k, many, sizeof *m.count, "updates", &m.count, err));
    for (int i = 0; i < many; i++) {
        m.u[i] = first;
        HR_TRY(many_take(k, &m.u[i], i, many, &m.count[i], err));
        values += (double)(m.count[i] * m.u[i].width) * of->rule->nanoseconds + 4 * (double)m.count[i];
    }
    HR_TRY(many_are_different(k, m.u, many, err));
    hr_kernel_parallel(k, many, values / many, many_piece, &m);
    return HR_OK;
}
