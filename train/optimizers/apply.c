/* The drivers of the update rules: dense gradients in pieces, sparse ones by rows. Everything is checked before
 * anything is changed; rows that are changed at the same time are different rows. */
#include "base/cpu.h"
#include <headrace/optimizer.h>

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
    *out = t->dtype == HR_DOUBLE ? *(const double *)t->data : (double)*(const float *)t->data;
    return HR_OK;
}

static hr_status refuse_shapes(const char *expected, const hr_tensor *variable, const hr_tensor *got, hr_error *err)
{
    char had[128], has[128];
    return hr_fail(err, HR_INVALID_ARGUMENT, "optimizer.shape", "expected %s, got %s beside a variable %s", expected,
                   hr_shape_text(got->shape, has, sizeof has), hr_shape_text(variable->shape, had, sizeof had));
}

static hr_status apply_check_indices(const hr_tensor *indices, int64_t rows, hr_error *err)
{
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

/* ---- dense ---- */

typedef struct update {
    const hr_rule *rule;
    hr_rule_f32 *f32; /* NULL: double */
    void *value[1 + HR_MAX_SLOTS];
    const void *grad;
    float p32[HR_MAX_RULE_NUMBERS];
    double p64[HR_MAX_RULE_NUMBERS];
    /* sparse */
    const int64_t *rows;
    int64_t width;
} update;

static void dense_piece(int64_t first, int64_t last, void *user)
{
    const update *u = user;
    const size_t at = (size_t)first;
    if (u->f32) {
        float *w = u->value[0], *a = u->value[1], *b = u->value[2];
        u->f32(w + at, a ? a + at : NULL, b ? b + at : NULL, (const float *)u->grad + at, last - first, u->p32);
    } else {
        double *w = u->value[0], *a = u->value[1], *b = u->value[2];
        u->rule->f64(w + at, a ? a + at : NULL, b ? b + at : NULL, (const double *)u->grad + at, last - first, u->p64);
    }
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
        const size_t at = (size_t)(u->rows[r] * u->width), from = (size_t)(r * u->width);
        if (u->f32) {
            float *w = u->value[0], *a = u->value[1], *b = u->value[2];
            u->f32(w + at, a ? a + at : NULL, b ? b + at : NULL, (const float *)u->grad + from, u->width, u->p32);
        } else {
            double *w = u->value[0], *a = u->value[1], *b = u->value[2];
            u->rule->f64(w + at, a ? a + at : NULL, b ? b + at : NULL, (const double *)u->grad + from, u->width,
                         u->p64);
        }
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
        u->f32(block[0], block[1], block[2], (const float *)u->grad + r * u->width, count * u->width, u->p32);
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

static hr_status run_sparse(hr_kernel *k, const hr_update *apply, update *u, const hr_tensor *variable, hr_error *err)
{
    const hr_tensor *grad = k->input[apply->grad], *indices = k->input[apply->indices];
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
    const double each = apply->rule->nanoseconds * (double)u->width + 4;
    /* Rows given twice without summing are updated one after the other. */
    if (!once)
        wide_rows(0, count, u);
    else if (u->f32 && u->width < NARROW && u->width > 0)
        hr_kernel_parallel(k, count, each, narrow_rows, u);
    else
        hr_kernel_parallel(k, count, each, wide_rows, u);
    return HR_OK;
}

/* ---- both ---- */

static hr_status take_variables(hr_kernel *k, const hr_update *apply, update *u, const hr_tensor **variable,
                                hr_error *err)
{
    for (int s = 0; s <= apply->rule->slots; s++) {
        hr_tensor *value;
        HR_TRY(hr_kernel_update(k, s, &value, err));
        if (s == 0) *variable = value;
        if (!hr_shape_equal(value->shape, (*variable)->shape) || value->dtype != (*variable)->dtype)
            return refuse_shapes("a slot of the variable's type and shape", *variable, value, err);
        u->value[s] = value->data;
    }
    return HR_OK;
}

hr_status hr_update_run(hr_kernel *k, const hr_update *apply, hr_error *err)
{
    if (!apply->rule || apply->grad < 0 || apply->grad >= k->inputs || apply->indices < 0 ||
        apply->indices >= k->inputs || apply->rule->slots < 0 || apply->rule->slots > HR_MAX_SLOTS)
        return hr_fail(err, HR_INVALID_ARGUMENT, "optimizer.kind",
                       "expected a rule, and inputs with the gradient and its rows, of %d; got inputs %d and %d",
                       k->inputs, apply->grad, apply->indices);
    update u = {.rule = apply->rule};
    const hr_tensor *variable = NULL, *grad = k->input[apply->grad];
    HR_TRY(take_variables(k, apply, &u, &variable, err));
    if (variable->dtype != grad->dtype) return refuse_shapes("a gradient of the variable's type", variable, grad, err);
    if (variable->dtype == HR_FLOAT) u.f32 = hr_rule_choose(apply->rule);
    for (int i = 0; i < HR_MAX_RULE_NUMBERS; i++) u.p32[i] = (float)(u.p64[i] = apply->p[i]);
    if (apply->indices) return run_sparse(k, apply, &u, variable, err);
    if (!hr_shape_equal(variable->shape, grad->shape))
        return refuse_shapes("a gradient of the variable's shape", variable, grad, err);
    u.grad = grad->data;
    hr_kernel_parallel(k, variable->count, apply->rule->nanoseconds, dense_piece, &u);
    return HR_OK;
}
