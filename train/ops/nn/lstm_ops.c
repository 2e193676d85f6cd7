/* BlockLSTM and BlockLSTMV2, all steps of an LSTM in one node, with their derivatives; LSTMBlockCell, one step, and its
 * derivative. The inputs' product is made for all steps at once, before the first step. What goes from step to step is
 * of each row alone, so blocks of rows go through all steps on threads of their own. float16 is computed in float. */
#include <headrace/float_math.h>
#include <headrace/kernels.h>
#include <math.h>
#include <string.h>

enum { LSTM_I, LSTM_CS, LSTM_F, LSTM_O, LSTM_CI, LSTM_CO, LSTM_H, LSTM_VALUES }; /* as the op has its outputs */
enum { LSTM_WCI, LSTM_WCF, LSTM_WCO, LSTM_PEEPHOLES };
enum {
    LSTM_ROWS = 128 /* of w, or of one step, in one piece */,
    LSTM_MANY = 512 /* of all steps */,
    LSTM_MAX_INPUTS = 18
};

typedef struct lstm {
    bool one_step, peephole;
    float forget_bias, clip;
    int64_t at_i, at_f, at_c, at_o;       /* where each gate begins in a row of gates */
    int64_t steps, used, n, width, units; /* `used` steps are computed, those after it are zeros */
    int64_t block;                        /* rows that go through all steps together */
    const float *x, *cs_prev, *h_prev, *w, *w_turned, *wc[LSTM_PEEPHOLES], *b; /* w_turned: [4 units, units] of w */
    float *value[LSTM_VALUES], *gates; /* [steps, n, units]; [steps, n, 4 units], later their derivatives */
    const float *cs_grad, *h_grad;     /* [steps, n, units] */
    float *x_grad, *cs_prev_grad, *h_prev_grad, *w_grad, *wc_grad[LSTM_PEEPHOLES], *b_grad;
} lstm;

/* ---- values of one row ---- */

#define LSTM_AT(I) ((float *)(void *)at[I])

/* out += a */
HR_LOOP(lstm_add, f32)
{
    (void)step, (void)user;
    float *out = LSTM_AT(0);
    const float *a = LSTM_AT(1);
    HR_EACH_VALUE out[i] += a[i];
}

/* out += a * b */
HR_LOOP(lstm_add_product, f32)
{
    (void)step, (void)user;
    float *out = LSTM_AT(0);
    const float *a = LSTM_AT(1), *b = LSTM_AT(2);
    HR_EACH_VALUE out[i] += a[i] * b[i];
}

/* Gates i, f and c, and the state that they make of the one before. */
HR_LOOP(lstm_state, f32)
{
    (void)step;
    const lstm *l = user;
    float *in = LSTM_AT(0), *forget = LSTM_AT(1), *ci = LSTM_AT(2), *cs = LSTM_AT(3);
    const float *gi = LSTM_AT(4), *gf = LSTM_AT(5), *gc = LSTM_AT(6), *before = LSTM_AT(7);
    const float bias = l->forget_bias, most = l->clip > 0 ? l->clip : INFINITY;
    HR_EACH_VALUE
    {
        in[i] = hr_float_sigmoid(gi[i]);
        forget[i] = hr_float_sigmoid(gf[i] + bias);
        ci[i] = hr_float_tanh(gc[i]);
        const float s = ci[i] * in[i] + before[i] * forget[i], low = s < -most ? -most : s;
        cs[i] = low > most ? most : low;
    }
}

HR_LOOP(lstm_output, f32)
{
    (void)step, (void)user;
    float *o = LSTM_AT(0), *co = LSTM_AT(1), *h = LSTM_AT(2);
    const float *go = LSTM_AT(3), *cs = LSTM_AT(4);
    HR_EACH_VALUE
    {
        o[i] = hr_float_sigmoid(go[i]);
        co[i] = hr_float_tanh(cs[i]);
        h[i] = o[i] * co[i];
    }
}

/* By gate o, and by the state: `dcs` begins as what flows to it from the step after. */
HR_LOOP(lstm_output_grad, f32)
{
    (void)step, (void)user;
    float *d_o = LSTM_AT(0), *dcs = LSTM_AT(1);
    const float *o = LSTM_AT(2), *co = LSTM_AT(3), *h_grad = LSTM_AT(4), *h_later = LSTM_AT(5), *cs_grad = LSTM_AT(6);
    HR_EACH_VALUE
    {
        const float dh = h_grad[i] + h_later[i];
        d_o[i] = o[i] * (1 - o[i]) * dh * co[i];
        dcs[i] += (1 - co[i] * co[i]) * dh * o[i] + cs_grad[i];
    }
}

/* By gates i, f and c; `dcs` becomes what flows to the state before. */
HR_LOOP(lstm_state_grad, f32)
{
    (void)step, (void)user;
    float *di = LSTM_AT(0), *df = LSTM_AT(1), *dc = LSTM_AT(2), *dcs = LSTM_AT(3);
    const float *in = LSTM_AT(4), *forget = LSTM_AT(5), *ci = LSTM_AT(6), *before = LSTM_AT(7);
    HR_EACH_VALUE
    {
        const float d = dcs[i];
        dc[i] = (1 - ci[i] * ci[i]) * d * in[i];
        df[i] = forget[i] * (1 - forget[i]) * d * before[i];
        di[i] = in[i] * (1 - in[i]) * d * ci[i];
        dcs[i] = d * forget[i];
    }
}

#define LSTM_LOOP(NAME, L, ...) NAME##_f32((char *const[]){__VA_ARGS__}, NULL, (L)->units, L)
#define LSTM_P(POINTER) ((char *)(uintptr_t)(POINTER))

static void lstm_peep(const lstm *l, float *out, const float *a, const float *b)
{
    if (l->peephole) LSTM_LOOP(lstm_add_product, l, LSTM_P(out), LSTM_P(a), LSTM_P(b));
}

/* ---- all steps ---- */

static const float *lstm_before(const lstm *l, int value, const float *first, int64_t t)
{
    return t == 0 ? first : l->value[value] + (t - 1) * l->n * l->units;
}

static void lstm_row(const lstm *l, int64_t t, int64_t row)
{
    const int64_t u = l->units, at = (t * l->n + row) * u;
    float *g = l->gates + 4 * at, *const *v = l->value, *cs = v[LSTM_CS] + at;
    const float *before = lstm_before(l, LSTM_CS, l->cs_prev, t) + row * u;
    lstm_peep(l, g + l->at_i, l->wc[LSTM_WCI], before);
    lstm_peep(l, g + l->at_f, l->wc[LSTM_WCF], before);
    LSTM_LOOP(lstm_state, l, LSTM_P(v[LSTM_I] + at), LSTM_P(v[LSTM_F] + at), LSTM_P(v[LSTM_CI] + at), LSTM_P(cs),
              LSTM_P(g + l->at_i), LSTM_P(g + l->at_f), LSTM_P(g + l->at_c), LSTM_P(before));
    lstm_peep(l, g + l->at_o, l->wc[LSTM_WCO], cs);
    LSTM_LOOP(lstm_output, l, LSTM_P(v[LSTM_O] + at), LSTM_P(v[LSTM_CO] + at), LSTM_P(v[LSTM_H] + at),
              LSTM_P(g + l->at_o), LSTM_P(cs));
}

static void lstm_row_grad(const lstm *l, int64_t t, int64_t row)
{
    const int64_t u = l->units, at = (t * l->n + row) * u;
    float *g = l->gates + 4 * at, *const *v = l->value, *dcs = l->cs_prev_grad + row * u;
    const float *before = lstm_before(l, LSTM_CS, l->cs_prev, t) + row * u;
    LSTM_LOOP(lstm_output_grad, l, LSTM_P(g + l->at_o), LSTM_P(dcs), LSTM_P(v[LSTM_O] + at), LSTM_P(v[LSTM_CO] + at),
              LSTM_P(l->h_grad + at), LSTM_P(l->h_prev_grad + row * u), LSTM_P(l->cs_grad + at));
    lstm_peep(l, dcs, g + l->at_o, l->wc[LSTM_WCO]);
    LSTM_LOOP(lstm_state_grad, l, LSTM_P(g + l->at_i), LSTM_P(g + l->at_f), LSTM_P(g + l->at_c), LSTM_P(dcs),
              LSTM_P(v[LSTM_I] + at), LSTM_P(v[LSTM_F] + at), LSTM_P(v[LSTM_CI] + at), LSTM_P(before));
    lstm_peep(l, dcs, g + l->at_i, l->wc[LSTM_WCI]);
    lstm_peep(l, dcs, g + l->at_f, l->wc[LSTM_WCF]);
}

static int64_t lstm_pieces(int64_t rows, int64_t of) { return (rows + of - 1) / of; }

/* Where piece i of the rows of all steps begins. */
static int64_t lstm_begin_of(const lstm *l, int64_t i)
{
    const int64_t rows = l->used * l->n, pieces = lstm_pieces(rows, LSTM_MANY);
    return rows / pieces * i + (i < rows % pieces ? i : rows % pieces);
}

/* out [rows, columns] = a b, or += a b; rows of `a` begin `a_row` values apart, and `turned` it is [inner, rows]. */
static void lstm_multiply(const float *a, int64_t a_row, bool turned, const float *b, float *out, int64_t rows,
                          int64_t inner, int64_t columns, bool add)
{
    hr_product_run(&(hr_product){a, b, out, rows, columns, inner, a_row, columns, columns, turned, false, add});
}

/* gates = b + x w */
static void lstm_multiply_inputs(int64_t first, int64_t last, void *user)
{
    const lstm *l = user;
    const int64_t columns = 4 * l->units;
    for (int64_t i = first; i < last; i++) {
        const int64_t begin = lstm_begin_of(l, i), end = lstm_begin_of(l, i + 1);
        for (int64_t row = begin; row < end; row++)
            memcpy(l->gates + row * columns, l->b, (size_t)columns * sizeof *l->b);
        lstm_multiply(l->x + begin * l->width, l->width, false, l->w, l->gates + begin * columns, end - begin, l->width,
                      columns, true);
    }
}

static void lstm_forward(int64_t first, int64_t last, void *user)
{
    const lstm *l = user;
    const int64_t u = l->units;
    for (int64_t block = first; block < last; block++) {
        const int64_t row = block * l->block, end = row + l->block < l->n ? row + l->block : l->n;
        for (int64_t t = 0; t < l->used; t++) {
            lstm_multiply(lstm_before(l, LSTM_H, l->h_prev, t) + row * u, u, false, l->w + l->width * 4 * u,
                          l->gates + (t * l->n + row) * 4 * u, end - row, u, 4 * u, true);
            for (int64_t i = row; i < end; i++) lstm_row(l, t, i);
        }
    }
}

/* By the gates of all steps, and by the first state. */
static void lstm_backward(int64_t first, int64_t last, void *user)
{
    const lstm *l = user;
    const int64_t u = l->units;
    for (int64_t block = first; block < last; block++) {
        const int64_t row = block * l->block, end = row + l->block < l->n ? row + l->block : l->n;
        for (int64_t t = l->used - 1; t >= 0; t--) {
            for (int64_t i = row; i < end; i++) lstm_row_grad(l, t, i);
            if (l->one_step) continue; /* which says what the gates get, and leaves the products to others */
            lstm_multiply(l->gates + (t * l->n + row) * 4 * u, 4 * u, false, l->w_turned, l->h_prev_grad + row * u,
                          end - row, 4 * u, u, false);
        }
    }
}

static void lstm_by_inputs(int64_t first, int64_t last, void *user)
{
    const lstm *l = user;
    const int64_t columns = 4 * l->units, begin = lstm_begin_of(l, first);
    hr_product_run(&(hr_product){.a = l->gates + begin * columns,
                                 .b = l->w,
                                 .out = l->x_grad + begin * l->width,
                                 .rows = lstm_begin_of(l, last) - begin,
                                 .columns = l->width,
                                 .inner = columns,
                                 .a_row = columns,
                                 .b_row = columns,
                                 .out_row = l->width,
                                 .transpose_b = true});
}

/* By blocks of rows of w: those of the inputs first, then those of the outputs. */
static void lstm_by_weights(int64_t first, int64_t last, void *user)
{
    const lstm *l = user;
    const int64_t u = l->units, of_inputs = lstm_pieces(l->width, LSTM_ROWS), rows = l->used * l->n;
    for (int64_t i = first; i < last; i++) {
        const bool input = i < of_inputs;
        const int64_t from = (input ? i : i - of_inputs) * LSTM_ROWS, all = input ? l->width : u,
                      to = from + LSTM_ROWS < all ? from + LSTM_ROWS : all;
        float *out = l->w_grad + ((input ? 0 : l->width) + from) * 4 * u;
        if (input) {
            lstm_multiply(l->x + from, l->width, true, l->gates, out, to - from, rows, 4 * u, false);
            continue;
        }
        const int64_t later = rows > l->n ? rows - l->n : 0;
        lstm_multiply(l->h_prev + from, u, true, l->gates, out, to - from, rows - later, 4 * u, false);
        lstm_multiply(l->value[LSTM_H] + from, u, true, l->gates + l->n * 4 * u, out, to - from, later, 4 * u, true);
    }
}

/* By the bias, and by the peephole of gates [first, last), as they lie in a row: sums over all rows. */
static void lstm_by_vectors(int64_t first, int64_t last, void *user)
{
    const lstm *l = user;
    const int64_t u = l->units, rows = l->used * l->n;
    for (int64_t at = first * u; at < last * u; at += u) {
        const int p = at == l->at_i ? LSTM_WCI : at == l->at_f ? LSTM_WCF : at == l->at_o ? LSTM_WCO : LSTM_PEEPHOLES;
        for (int64_t row = 0; l->b_grad && row < rows; row++)
            LSTM_LOOP(lstm_add, l, LSTM_P(l->b_grad + at), LSTM_P(l->gates + row * 4 * u + at));
        for (int64_t row = 0; p < LSTM_PEEPHOLES && l->peephole && row < rows; row++) {
            const int64_t before = row - l->n;
            const float *state = p == LSTM_WCO ? l->value[LSTM_CS] + row * u
                                 : before < 0  ? l->cs_prev + row * u
                                               : l->value[LSTM_CS] + before * u;
            lstm_peep(l, l->wc_grad[p], l->gates + row * 4 * u + at, state);
        }
    }
}

/* ---- kernels ---- */

typedef struct lstm_call {
    hr_kernel *k;
    lstm l;
    int inputs;                      /* that are read so far */
    hr_tensor *out[LSTM_MAX_INPUTS]; /* outputs of float16, computed as floats in `made` */
    float *made[LSTM_MAX_INPUTS];
} lstm_call;

static hr_status lstm_temp(lstm_call *c, hr_shape shape, float **out, hr_error *err)
{
    return hr_kernel_array(c->k, hr_shape_count(shape), sizeof **out, "an LSTM", out, err);
}

/* The next input, which must have that shape. */
static hr_status lstm_read(lstm_call *c, hr_shape shape, const float **out, hr_error *err)
{
    const int i = c->inputs++;
    const hr_tensor *t = c->k->input[i];
    char expected[128], found[128];
    hr_shape merged;
    if (t->shape.rank != shape.rank || !hr_shape_merge(t->shape, shape, &merged))
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "input %d: expected shape %s, got %s", i,
                       hr_shape_text(shape, expected, sizeof expected), hr_shape_text(t->shape, found, sizeof found));
    *out = t->data;
    if (t->dtype == HR_FLOAT) return HR_OK;
    float *made;
    HR_TRY(lstm_temp(c, t->shape, &made, err));
    for (int64_t j = 0; j < t->count; j++) made[j] = hr_half_get(((const hr_half *)t->data)[j]);
    *out = made;
    return HR_OK;
}

static hr_status lstm_make(lstm_call *c, int i, hr_shape shape, float **out, hr_error *err)
{
    hr_tensor *t;
    HR_TRY(hr_kernel_output(c->k, i, shape, &t, err));
    *out = t->data;
    if (t->dtype == HR_FLOAT) return HR_OK;
    c->out[i] = t;
    HR_TRY(lstm_temp(c, shape, &c->made[i], err));
    *out = c->made[i];
    return HR_OK;
}

static void lstm_end(const lstm_call *c)
{
    for (int i = 0; i < c->k->outputs; i++)
        for (int64_t j = 0; c->out[i] && j < c->out[i]->count; j++)
            ((hr_half *)c->out[i]->data)[j] = hr_half_put(c->made[i][j]);
}

static hr_shape lstm_shape_of(const lstm *l, int64_t values)
{
    return l->one_step ? HR_SHAPE(l->n, values) : HR_SHAPE(l->steps, l->n, values);
}

/* All that forward and backward ops have in common: sizes, attributes, inputs up to the bias. */
static hr_status lstm_begin(lstm_call *c, hr_error *err)
{
    lstm *l = &c->l;
    hr_kernel *k = c->k;
    const char *op = hr_kernel_op(k)->name;
    const hr_shape x = k->input[strncmp(op, "LSTM", 4) != 0]->shape;
    l->one_step = strncmp(op, "LSTM", 4) == 0;
    const hr_shape b = k->input[l->one_step ? 7 : 8]->shape;
    const int rank = l->one_step ? 2 : 3;
    if (x.rank != rank || b.rank != 1 || b.dims[0] % 4 != 0 || x.dims[rank - 1] + b.dims[0] >= INT32_MAX)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                       "expected inputs of rank %d and a bias of 4 values for each unit, got rank %d and rank %d", rank,
                       x.rank, b.rank);
    l->steps = l->used = l->one_step ? 1 : x.dims[0];
    l->n = x.dims[rank - 2], l->width = x.dims[rank - 1], l->units = b.dims[0] / 4;
    const bool second = strlen(op) > 2 && strcmp(op + strlen(op) - 2, "V2") == 0;
    l->at_f = (second ? 1 : 2) * l->units, l->at_c = (second ? 2 : 1) * l->units, l->at_o = 3 * l->units;
    l->peephole = hr_attr_bool(k->node, "use_peephole");
    l->forget_bias = hr_attr_float(k->node, "forget_bias");
    l->clip = hr_attr_float(k->node, "cell_clip");
    l->block = (l->n / 4 + 15) / 16 * 16;
    l->block = l->block < 32 ? 32 : l->block > LSTM_ROWS ? LSTM_ROWS : l->block;
    if (!l->one_step) {
        const hr_tensor *most = k->input[c->inputs++];
        HR_TRY(hr_expect_rank("seq_len_max", most->shape, 0, err));
        const int64_t used = *(const int64_t *)most->data;
        if (used < 0 || used > l->steps)
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected seq_len_max from 0 to %lld, got %lld",
                           (long long)l->steps, (long long)used);
        l->used = l->units > 0 ? used : 0;
    }
    if (l->units > 0 && l->used > 0 && l->n >= INT32_MAX / l->used)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                       "expected fewer than %d rows of all steps, got %lld x %lld", INT32_MAX, (long long)l->used,
                       (long long)l->n);
    const hr_shape state = HR_SHAPE(l->n, l->units), vector = HR_SHAPE(l->units);
    HR_TRY(lstm_read(c, lstm_shape_of(l, l->width), &l->x, err));
    HR_TRY(lstm_read(c, state, &l->cs_prev, err));
    HR_TRY(lstm_read(c, state, &l->h_prev, err));
    HR_TRY(lstm_read(c, HR_SHAPE(l->width + l->units, 4 * l->units), &l->w, err));
    for (int i = 0; i < LSTM_PEEPHOLES; i++) HR_TRY(lstm_read(c, vector, &l->wc[i], err));
    return lstm_read(c, b, &l->b, err);
}

static double lstm_nanoseconds(int64_t rows, int64_t columns, int64_t inner)
{
    return 2 * (double)rows * (double)columns * (double)inner / 50;
}

static int64_t lstm_blocks(const lstm *l) { return l->used > 0 ? (l->n + l->block - 1) / l->block : 0; }

/* Of one block of rows: the product of the steps, and about 10 nanoseconds a unit. */
static double lstm_block_nanoseconds(const lstm *l)
{
    return (double)l->used * (lstm_nanoseconds(l->block, 4 * l->units, l->units) + 10 * (double)(l->block * l->units));
}

static hr_status lstm_compute(hr_kernel *k, hr_error *err)
{
    lstm_call c = {.k = k};
    lstm *l = &c.l;
    HR_TRY(lstm_begin(&c, err));
    for (int i = 0; i < LSTM_VALUES; i++) {
        HR_TRY(lstm_make(&c, i, lstm_shape_of(l, l->units), &l->value[i], err));
        const int64_t used = l->used * l->n * l->units, rest = (l->steps - l->used) * l->n * l->units;
        if (rest > 0) memset(l->value[i] + used, 0, (size_t)rest * sizeof(float));
    }
    HR_TRY(lstm_temp(&c, HR_SHAPE(l->used, l->n, 4 * l->units), &l->gates, err));
    hr_kernel_parallel(k, lstm_pieces(l->used * l->n, LSTM_MANY), lstm_nanoseconds(LSTM_MANY, 4 * l->units, l->width),
                       lstm_multiply_inputs, l);
    hr_kernel_parallel(k, lstm_blocks(l), lstm_block_nanoseconds(l), lstm_forward, l);
    lstm_end(&c);
    return HR_OK;
}

static void lstm_zero(float *values, int64_t count)
{
    if (count > 0) memset(values, 0, (size_t)count * sizeof *values);
}

static void lstm_zero_sums(const lstm *l)
{
    lstm_zero(l->cs_prev_grad, l->n * l->units);
    lstm_zero(l->h_prev_grad, l->n * l->units);
    for (int i = 0; i < LSTM_PEEPHOLES; i++) lstm_zero(l->wc_grad[i], l->units);
    if (l->b_grad) lstm_zero(l->b_grad, 4 * l->units);
}

/* The part of w for the outputs, turned, which the product of each step takes less time to read. */
static hr_status lstm_turn(lstm_call *c, hr_error *err)
{
    lstm *l = &c->l;
    const int64_t u = l->units;
    float *turned;
    HR_TRY(lstm_temp(c, HR_SHAPE(4 * u, u), &turned, err));
    for (int64_t i = 0; i < u; i++)
        for (int64_t j = 0; j < 4 * u; j++) turned[j * u + i] = l->w[(l->width + i) * 4 * u + j];
    l->w_turned = turned;
    return HR_OK;
}

static hr_status lstm_read_values(lstm_call *c, int count, hr_error *err)
{
    lstm *l = &c->l;
    const hr_shape all = lstm_shape_of(l, l->units);
    const float *value = NULL;
    for (int i = 0; i < count; i++) {
        HR_TRY(lstm_read(c, all, &value, err));
        l->value[i] = (float *)(uintptr_t)value; /* which are only read from here on */
    }
    HR_TRY(lstm_read(c, all, &l->cs_grad, err));
    return lstm_read(c, all, &l->h_grad, err);
}

static hr_status lstm_grad_compute(hr_kernel *k, hr_error *err)
{
    lstm_call c = {.k = k};
    lstm *l = &c.l;
    HR_TRY(lstm_begin(&c, err));
    HR_TRY(lstm_read_values(&c, LSTM_VALUES, err));
    const hr_shape state = HR_SHAPE(l->n, l->units);
    HR_TRY(lstm_make(&c, 0, lstm_shape_of(l, l->width), &l->x_grad, err));
    HR_TRY(lstm_make(&c, 1, state, &l->cs_prev_grad, err));
    HR_TRY(lstm_make(&c, 2, state, &l->h_prev_grad, err));
    HR_TRY(lstm_make(&c, 3, HR_SHAPE(l->width + l->units, 4 * l->units), &l->w_grad, err));
    for (int i = 0; i < LSTM_PEEPHOLES; i++) HR_TRY(lstm_make(&c, 4 + i, HR_SHAPE(l->units), &l->wc_grad[i], err));
    HR_TRY(lstm_make(&c, 7, HR_SHAPE(4 * l->units), &l->b_grad, err));
    HR_TRY(lstm_temp(&c, HR_SHAPE(l->used, l->n, 4 * l->units), &l->gates, err));
    lstm_zero_sums(l);
    HR_TRY(lstm_turn(&c, err));
    const int64_t rows = l->used * l->n;
    lstm_zero(l->x_grad + rows * l->width, (l->steps - l->used) * l->n * l->width);
    hr_kernel_parallel(k, lstm_blocks(l), lstm_block_nanoseconds(l), lstm_backward, l);
    hr_kernel_parallel(k, lstm_pieces(rows, LSTM_MANY), lstm_nanoseconds(LSTM_MANY, 4 * l->units, l->width),
                       lstm_by_inputs, l);
    hr_kernel_parallel(k, lstm_pieces(l->width, LSTM_ROWS) + lstm_pieces(l->units, LSTM_ROWS),
                       lstm_nanoseconds(rows, 4 * l->units, LSTM_ROWS), lstm_by_weights, l);
    hr_kernel_parallel(k, 4, (double)(l->used * l->n * l->units) / 10, lstm_by_vectors, l);
    lstm_end(&c);
    return HR_OK;
}

static hr_status lstm_cell_grad_compute(hr_kernel *k, hr_error *err)
{
    lstm_call c = {.k = k};
    lstm *l = &c.l;
    HR_TRY(lstm_begin(&c, err));
    HR_TRY(lstm_read_values(&c, LSTM_H, err));
    const hr_shape state = HR_SHAPE(l->n, l->units);
    HR_TRY(lstm_make(&c, 0, state, &l->cs_prev_grad, err));
    HR_TRY(lstm_make(&c, 1, HR_SHAPE(l->n, 4 * l->units), &l->gates, err));
    for (int i = 0; i < LSTM_PEEPHOLES; i++) HR_TRY(lstm_make(&c, 2 + i, HR_SHAPE(l->units), &l->wc_grad[i], err));
    HR_TRY(lstm_temp(&c, state, &l->h_prev_grad, err));
    lstm_zero_sums(l);
    hr_kernel_parallel(k, lstm_blocks(l), lstm_block_nanoseconds(l), lstm_backward, l);
    hr_kernel_parallel(k, 4, (double)(l->used * l->n * l->units) / 10, lstm_by_vectors, l);
    lstm_end(&c);
    return HR_OK;
}

static hr_status lstm_prepare(hr_node node, hr_session *session, void *state, hr_error *err)
{
    (void)node, (void)session, (void)state;
    return hr_product_prepare(err);
}

/* ---- the gradient ---- */

static void lstm_gradient(hr_backward *b)
{
    const bool second = hr_node_is(b->node, "BlockLSTMV2");
    hr_node in[LSTM_MAX_INPUTS];
    int count = 0;
    for (int i = 0; i < b->inputs; i++) in[count++] = b->input[i];
    for (int i = 0; i < LSTM_VALUES; i++) in[count++] = b->output[i];
    in[count++] = hr_backward_grad(b, LSTM_CS);
    in[count++] = hr_backward_grad(b, LSTM_H);
    const hr_node by =
        hr_new_node(b->graph, second ? "BlockLSTMGradV2" : "BlockLSTMGrad", .inputs = in, .input_count = count,
                    HR_ATTRS(HR_BOOL_ATTR("use_peephole", hr_attr_bool(b->node, "use_peephole"))));
    for (int i = 1; i < b->inputs; i++) hr_backward_give(b, i, hr_node_output(by, i - 1));
}

#define LSTM_OP(NAME, COMPUTE, ...)                                                                                    \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = (NAME), .types = "T:{float16,float32}", .prepare = lstm_prepare,             \
        .compute = COMPUTE, __VA_ARGS__                                                                                \
    }
#define LSTM_WEIGHTS "[n,u], [n,u], [?,g], [u], [u], [u], [g]"
#define LSTM_BLOCK "[], [t,n,i], " LSTM_WEIGHTS
#define LSTM_BLOCK_GRAD                                                                                                \
    LSTM_BLOCK ", [t,n,u], [t,n,u], [t,n,u], [t,n,u], [t,n,u], [t,n,u], [t,n,u], [t,n,u], [t,n,u]"                     \
               " -> [t,n,i], [n,u], [n,u], [?,g], [u], [u], [u], [g]"
#define LSTM_CELL "[n,i], " LSTM_WEIGHTS

const hr_graph_op hr_graph_ops_lstm_ops[] = {
    LSTM_OP("BlockLSTM", lstm_compute, .shapes = LSTM_BLOCK " -> [t,n,u]", .gradient = lstm_gradient),
    LSTM_OP("BlockLSTMV2", lstm_compute, .shapes = LSTM_BLOCK " -> [t,n,u]", .gradient = lstm_gradient),
    LSTM_OP("BlockLSTMGrad", lstm_grad_compute, .shapes = LSTM_BLOCK_GRAD),
    LSTM_OP("BlockLSTMGradV2", lstm_grad_compute, .shapes = LSTM_BLOCK_GRAD),
    LSTM_OP("LSTMBlockCell", lstm_compute, .shapes = LSTM_CELL " -> [n,u]"),
    LSTM_OP("LSTMBlockCellGrad", lstm_cell_grad_compute,
            .shapes = LSTM_CELL ", [n,u], [n,u], [n,u], [n,u], [n,u], [n,u], [n,u], [n,u] -> [n,u], [n,g], [u]"),
    HR_GRAPH_OPS_END,
};
