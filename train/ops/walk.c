/* Walks over tensors along strides, and what element-wise ops make of them; see kernels.h. */
#include <headrace/kernels.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* ---- making one ---- */

void hr_walk_begin(hr_walk *w, hr_shape space)
{
    w->rank = space.rank;
    w->operands = 0;
    for (int d = 0; d < space.rank; d++) w->dims[d] = space.dims[d];
}

void hr_walk_steps(const hr_tensor *t, int64_t *step)
{
    int64_t size = (int64_t)hr_dtype_size(t->dtype);
    for (int d = t->shape.rank - 1; d >= 0; d--) {
        step[d] = size;
        size *= t->shape.dims[d];
    }
}

void hr_walk_add_strided(hr_walk *w, const void *first, const int64_t *step)
{
    const int i = w->operands++;
    w->at[i] = (char *)first; /* only operand 0 is written to */
    for (int d = 0; d < w->rank; d++) w->step[d][i] = step[d];
}

void hr_walk_add(hr_walk *w, const hr_tensor *t)
{
    int64_t own[HR_MAX_RANK] = {0}, step[HR_WALK_RANK] = {0};
    const int before = w->rank - t->shape.rank;
    hr_walk_steps(t, own);
    for (int d = 0; d < t->shape.rank; d++)
        if (t->shape.dims[d] != 1) step[before + d] = own[d];
    hr_walk_add_strided(w, t->data, step);
}

/* Whether all operands go from dimension `d` into the next one as if the two were one. */
static bool walk_even(const hr_walk *w, int d, int64_t length, const int64_t *next)
{
    for (int i = 0; i < w->operands; i++)
        if (w->step[d][i] != next[i] * length) return false;
    return true;
}

/* Drops dimensions of 1 and joins others. False: there is nothing to do. */
static bool walk_join(hr_walk *w)
{
    int kept = 0;
    for (int d = 0; d < w->rank; d++) {
        if (w->dims[d] == 0) return false;
        if (w->dims[d] == 1) continue;
        const bool joins = kept > 0 && walk_even(w, kept - 1, w->dims[d], w->step[d]);
        const int to = joins ? kept - 1 : kept++;
        w->dims[to] = joins ? w->dims[to] * w->dims[d] : w->dims[d];
        if (to != d) memcpy(w->step[to], w->step[d], sizeof *w->step[d] * (size_t)w->operands);
    }
    w->rank = kept;
    if (kept > 0) return true;
    w->rank = 1;
    w->dims[0] = 1;
    memset(w->step[0], 0, sizeof *w->step[0] * (size_t)w->operands);
    return true;
}

/* ---- running one ---- */

typedef struct walker {
    const hr_walk *w;
    hr_loop *loop;
    const void *user;
    int64_t inner; /* runs for each item that is shared out */
    int64_t block; /* values of a run for each item; 0: items are groups of runs */
} walker;

/* Runs number `first` to `last` - 1, of each the `n` values from `from` on. */
static void walk_runs(const walker *p, int64_t first, int64_t last, int64_t from, int64_t n)
{
    const hr_walk *w = p->w;
    const int run = w->rank - 1, operands = w->operands;
    int64_t index[HR_WALK_RANK];
    char *at[HR_WALK_OPERANDS];
    for (int i = 0; i < operands; i++) at[i] = w->at[i] + from * w->step[run][i];
    int64_t rest = first;
    for (int d = run - 1; d >= 0; d--) {
        index[d] = rest % w->dims[d];
        rest /= w->dims[d];
        for (int i = 0; i < operands; i++) at[i] += index[d] * w->step[d][i];
    }
    const int64_t rows = run > 0 ? w->dims[run - 1] : 1;
    const int64_t *go = w->step[run > 0 ? run - 1 : 0];
    for (int64_t r = first; r < last;) {
        int64_t row = run > 0 ? index[run - 1] : 0;
        for (; row < rows && r < last; row++, r++) {
            p->loop(at, w->step[run], n, p->user);
            for (int i = 0; i < operands; i++) at[i] += go[i];
        }
        for (int d = run - 1; d >= 0; d--) {
            index[d] = d == run - 1 ? row : index[d] + 1;
            if (d < run - 1)
                for (int i = 0; i < operands; i++) at[i] += w->step[d][i];
            if (index[d] < w->dims[d]) break;
            for (int i = 0; i < operands; i++) at[i] -= w->dims[d] * w->step[d][i];
            index[d] = 0;
        }
    }
}

static void walk_piece(int64_t first, int64_t last, void *user)
{
    const walker *p = user;
    const int64_t run = p->w->dims[p->w->rank - 1];
    if (p->block == 0) {
        walk_runs(p, first * p->inner, last * p->inner, 0, run);
        return;
    }
    const int64_t from = first * p->block, to = last * p->block < run ? last * p->block : run;
    walk_runs(p, 0, p->inner, from, to - from);
}

/* Shared out are the outermost loops along which the output moves, or blocks of the runs where those are few. */
void hr_walk_run(hr_kernel *k, hr_walk *w, double nanoseconds, hr_loop *loop, const void *user)
{
    enum { BLOCK = 256, LONG = 4096, FEW = 64, ALONE_NS = 10000 };
    if (!walk_join(w)) return;
    const int run = w->rank - 1;
    if (run == 0 && (double)w->dims[0] * nanoseconds < ALONE_NS) {
        loop(w->at, w->step[0], w->dims[0], user);
        return;
    }
    int64_t groups = 1, all = 1;
    for (int d = 0; d < run; d++) {
        if (all == groups && w->step[d][0] != 0) groups *= w->dims[d];
        all *= w->dims[d];
    }
    const int64_t length = w->dims[run];
    walker p = {w, loop, user, all / groups, 0};
    if (!k) {
        walk_runs(&p, 0, all, 0, length);
        return;
    }
    if (groups >= FEW || w->step[run][0] == 0 || length < 4 * BLOCK) {
        hr_kernel_parallel(k, groups, ((double)length * nanoseconds + 5) * (double)p.inner, walk_piece, &p);
        return;
    }
    p.inner = all;
    p.block = length < LONG ? BLOCK : 4 * BLOCK; /* of long runs whole pages of floats */
    hr_kernel_parallel(k, (length + p.block - 1) / p.block, ((double)p.block * nanoseconds + 5) * (double)all,
                       walk_piece, &p);
}

/* ---- copies ---- */

#define COPY(T, V, U, DTYPE, SUFFIX, NAME, B)                                                                          \
    HR_LOOP(NAME, SUFFIX)                                                                                              \
    {                                                                                                                  \
        T *to = (T *)(void *)at[0];                                                                                    \
        const T *from = (const T *)(const void *)at[1];                                                                \
        const int64_t size = (int64_t)sizeof(T), go_to = step[0] / size, go_from = step[1] / size;                     \
        (void)user;                                                                                                    \
        if (go_to == 1 && go_from == 1) {                                                                              \
            memcpy(to, from, (size_t)n * sizeof(T));                                                                   \
        } else if (go_to == 1 && go_from == 0) {                                                                       \
            const T value = *from;                                                                                     \
            for (int64_t i = 0; i < n; i++) to[i] = value;                                                             \
        } else if (go_to == 1) {                                                                                       \
            for (int64_t i = 0; i < n; i++) to[i] = from[i * go_from];                                                 \
        } else {                                                                                                       \
            for (int64_t i = 0; i < n; i++) to[i * go_to] = from[i * go_from];                                         \
        }                                                                                                              \
    }
HR_EACH_TYPE(COPY, copy, ~, widths)

/* What lies across goes in tiles of both dimensions, each value of the walk one tile. Lines of memory are read and
 * written whole, and turned in between. Those of a large output pass by the cache, which would read them first. */
typedef struct tiles {
    int64_t across, run;        /* values along the input's lines, and along the output's */
    int64_t to_step, from_step; /* from line to line, in bytes */
    bool streams;
} tiles;

enum {
    TILE = 64,
    LINE = 16 /* values */,
    MANY = 1 << 21 /* values */,
    AHEAD = 32 /* lines that are fetched before they are read */
};

/* The values of a whole part of a tile, line by line of the output: of four bytes by vectors, below. */
#define TURN(T, V, U, DTYPE, SUFFIX, A, B)                                                                             \
    __attribute__((unused)) static inline void turn_##SUFFIX(T out[LINE][LINE], const char *from, int64_t step)        \
    {                                                                                                                  \
        for (int r = 0; r < LINE; r++)                                                                                 \
            for (int a = 0; a < LINE; a++) out[a][r] = ((const T *)(const void *)(from + r * step))[a];                \
    }
#define turn_w4 turn_w4_by_value
HR_EACH_TYPE(TURN, ~, ~, widths)
#undef turn_w4

typedef uint32_t four __attribute__((vector_size(16)));
static inline void turn_w4(uint32_t out[LINE][LINE], const char *from, int64_t step)
{
    for (int r = 0; r < LINE; r += 4)
        for (int a = 0; a < LINE; a += 4) {
            four line[4];
            for (int i = 0; i < 4; i++) memcpy(&line[i], from + (r + i) * step + a * 4, sizeof line[i]);
            const four p = __builtin_shufflevector(line[0], line[1], 0, 4, 1, 5);
            const four q = __builtin_shufflevector(line[0], line[1], 2, 6, 3, 7);
            const four s = __builtin_shufflevector(line[2], line[3], 0, 4, 1, 5);
            const four t = __builtin_shufflevector(line[2], line[3], 2, 6, 3, 7);
            const four turned[4] = {
                __builtin_shufflevector(p, s, 0, 1, 4, 5), __builtin_shufflevector(p, s, 2, 3, 6, 7),
                __builtin_shufflevector(q, t, 0, 1, 4, 5), __builtin_shufflevector(q, t, 2, 3, 6, 7)};
            for (int i = 0; i < 4; i++) memcpy(&out[a + i][r], &turned[i], sizeof turned[i]);
        }
}

static inline void put_line(char *to, const void *line, size_t bytes, bool streams)
{
#ifdef __SSE2__
    const __m128i *from = line;
    for (size_t i = 0; streams && i < bytes / 16; i++) _mm_stream_si128((__m128i *)(void *)to + i, from[i]);
    if (streams) return;
#endif
    (void)streams;
    memcpy(to, line, bytes);
}

/* What streamed is there for all threads. */
static inline void end_streams(void)
{
#ifdef __SSE2__
    _mm_sfence();
#endif
}

#define TURN_TILES(T, V, U, DTYPE, SUFFIX, A, B)                                                                       \
    static void part_##SUFFIX(const tiles *t, char *to, const char *from, int64_t across, int64_t run)                 \
    {                                                                                                                  \
        _Alignas(16) T lines[LINE][LINE];                                                                              \
        if (across < LINE || run < LINE) {                                                                             \
            for (int64_t a = 0; a < across; a++)                                                                       \
                for (int64_t r = 0; r < run; r++)                                                                      \
                    ((T *)(void *)(to + a * t->to_step))[r] = ((const T *)(const void *)(from + r * t->from_step))[a]; \
            return;                                                                                                    \
        }                                                                                                              \
        for (int r = 0; t->streams && r < LINE; r++) __builtin_prefetch(from + (r + AHEAD) * t->from_step);            \
        turn_##SUFFIX(lines, from, t->from_step);                                                                      \
        for (int a = 0; a < LINE; a++) put_line(to + a * t->to_step, lines[a], sizeof lines[a], t->streams);           \
    }                                                                                                                  \
    static void tiles_##SUFFIX(char *const *at, const int64_t *step, int64_t n, const void *user)                      \
    {                                                                                                                  \
        const tiles *t = user;                                                                                         \
        const int64_t size = sizeof(T);                                                                                \
        for (int64_t i = 0; i < n; i++)                                                                                \
            for (int64_t a = 0; a < t->across; a += LINE)                                                              \
                for (int64_t r = 0; r < t->run; r += LINE)                                                             \
                    part_##SUFFIX(t, at[0] + i * step[0] + a * t->to_step + r * size,                                  \
                                  at[1] + i * step[1] + r * t->from_step + a * size,                                   \
                                  t->across - a < LINE ? t->across - a : LINE, t->run - r < LINE ? t->run - r : LINE); \
        if (t->streams) end_streams();                                                                                 \
    }
HR_EACH_TYPE(TURN_TILES, ~, ~, widths)

#define OF_WIDTH(NAME, size)                                                                                           \
    ((size) == 1 ? NAME##_w1 : (size) == 2 ? NAME##_w2 : (size) == 4 ? NAME##_w4 : (size) == 8 ? NAME##_w8 : NAME##_w16)

/* Dimension `d` becomes the last but one. */
static void walk_move_in(hr_walk *w, int d)
{
    const int64_t length = w->dims[d];
    int64_t step[HR_WALK_OPERANDS];
    memcpy(step, w->step[d], sizeof step);
    for (; d < w->rank - 2; d++) {
        w->dims[d] = w->dims[d + 1];
        memcpy(w->step[d], w->step[d + 1], sizeof step);
    }
    w->dims[d] = length;
    memcpy(w->step[d], step, sizeof step);
}

/* The values of the last two dimensions from these on, so many of each, in tiles. */
static void walk_turn(hr_kernel *k, const hr_walk *all, const int64_t *from, const int64_t *count, const int64_t *tile,
                      size_t size)
{
    hr_walk w = *all;
    const int run = w.rank - 1, across = run - 1;
    if (count[0] == 0 || count[1] == 0) return;
    for (int i = 0; i < 2; i++) {
        w.at[i] += from[0] * w.step[across][i] + from[1] * w.step[run][i];
        w.step[across][i] *= tile[0];
        w.step[run][i] *= tile[1];
    }
    w.dims[across] = count[0] / tile[0];
    w.dims[run] = count[1] / tile[1];
    tiles t = {tile[0], tile[1], all->step[across][0], all->step[run][1], count[0] * count[1] >= MANY};
    for (int d = 0; d < w.rank; d++) t.streams &= w.step[d][0] % 16 == 0;
    t.streams &= (uintptr_t)w.at[0] % 16 == 0 && t.to_step % 16 == 0;
    hr_walk_run(k, &w, .5 * (double)(tile[0] * tile[1]), OF_WIDTH(tiles, size), &t);
}

void hr_walk_copy(hr_kernel *k, hr_walk *w, size_t size)
{
    if (!walk_join(w)) return;
    const int run = w->rank - 1;
    int across = -1; /* along which the input is contiguous, where the runs are not */
    for (int d = 0; d < run && w->step[run][1] != (int64_t)size && w->step[run][1] != 0; d++)
        if (w->step[d][1] == (int64_t)size) across = d;
    if (across < 0 || w->dims[run] < LINE || w->step[run][0] != (int64_t)size) {
        hr_walk_run(k, w, .3, OF_WIDTH(copy, size), NULL);
        return;
    }
    walk_move_in(w, across);
    int64_t whole[2], rest[2];
    for (int d = 0; d < 2; d++) {
        rest[d] = w->dims[run - 1 + d] % TILE;
        whole[d] = w->dims[run - 1 + d] - rest[d];
    }
    for (int part = 0; part < 4; part++) {
        const bool last[2] = {part & 1, part & 2};
        int64_t from[2], count[2], tile[2];
        for (int d = 0; d < 2; d++) {
            from[d] = last[d] ? whole[d] : 0;
            count[d] = last[d] ? rest[d] : whole[d];
            tile[d] = last[d] ? rest[d] : TILE;
        }
        walk_turn(k, w, from, count, tile, size);
    }
}

static const char *block_begin(const hr_tensor *t, const int64_t *at, int64_t *step)
{
    const char *first = t->data;
    hr_walk_steps(t, step);
    for (int d = 0; d < t->shape.rank; d++) first += at[d] * step[d];
    return first;
}

void hr_copy_block(hr_kernel *k, const hr_tensor *from, const int64_t *from_at, hr_tensor *to, const int64_t *to_at,
                   hr_shape block)
{
    hr_walk w;
    int64_t step[HR_MAX_RANK];
    if (hr_shape_count(block) == 0) return;
    hr_walk_begin(&w, block);
    const char *first = block_begin(to, to_at, step);
    hr_walk_add_strided(&w, first, step);
    first = block_begin(from, from_at, step);
    hr_walk_add_strided(&w, first, step);
    hr_walk_copy(k, &w, hr_dtype_size(from->dtype));
}

/* ---- element-wise ops ---- */

hr_status hr_broadcast_inputs(const hr_kernel *k, hr_shape *out, hr_error *err)
{
    char x[128], y[128];
    *out = k->input[0]->shape;
    for (int i = 1; i < k->inputs; i++) {
        const hr_shape before = *out, in = k->input[i]->shape;
        if (hr_shape_equal(before, in)) continue;
        if (!hr_shape_broadcast(before, in, out) || hr_shape_count(*out) < 0)
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "Incompatible shapes: %s vs. %s",
                           hr_shape_text(before, x, sizeof x), hr_shape_text(in, y, sizeof y));
    }
    return HR_OK;
}

/* Over the first input that is free and as large. Strings are only viewed until the end. */
static hr_status element_wise_output(hr_kernel *k, hr_shape shape, hr_tensor *scratch, hr_tensor **out, hr_error *err)
{
    const hr_dtype dtype = hr_node_dtype(hr_node_output(k->node, 0));
    if (dtype == HR_STRING) return hr_kernel_begin_output(k, 0, shape, scratch, out, err);
    for (int i = 0; i < k->inputs; i++)
        if (hr_dtype_size(k->input[i]->dtype) == hr_dtype_size(dtype) && k->input[i]->count == hr_shape_count(shape) &&
            hr_kernel_may_write(k, i))
            return hr_kernel_output_over(k, 0, i, shape, out, err);
    return hr_kernel_output(k, 0, shape, out, err);
}

hr_status hr_compute_walk(hr_kernel *k, const hr_tensor *const *inputs, hr_shape shape, hr_error *err)
{
    hr_walk w;
    hr_tensor scratch, *out;
    bool same = true;
    if (!hr_kernel_chosen(k))
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.kernel", "expected a descriptor with kernels");
    if (k->inputs >= HR_WALK_OPERANDS)
        return hr_fail(err, HR_INTERNAL, "graph.failed", "expected at most %d inputs", HR_WALK_OPERANDS - 1);
    for (int i = 0; i < k->inputs; i++) same &= hr_shape_equal(inputs[i]->shape, shape);
    HR_TRY(element_wise_output(k, shape, &scratch, &out, err));
    hr_walk_begin(&w, same ? HR_SHAPE(out->count) : shape);
    for (int i = -1; i < k->inputs; i++) {
        const hr_tensor *t = i < 0 ? out : inputs[i];
        const int64_t size = (int64_t)hr_dtype_size(t->dtype);
        if (same)
            hr_walk_add_strided(&w, t->data, &size);
        else
            hr_walk_add(&w, t);
    }
    hr_walk_run(k, &w, hr_kernel_op(k)->nanoseconds, (hr_loop *)hr_kernel_chosen(k)->run, k->state);
    return hr_kernel_end_output(k, 0, &scratch, out, err);
}

hr_status hr_compute_broadcast(hr_kernel *k, hr_error *err)
{
    hr_shape shape;
    HR_TRY(hr_broadcast_inputs(k, &shape, err));
    return hr_compute_walk(k, k->input, shape, err);
}

hr_status hr_compute_same_shape(hr_kernel *k, hr_error *err)
{
    char x[128], y[128];
    const hr_shape shape = k->input[0]->shape;
    for (int i = 1; i < k->inputs; i++)
        if (!hr_shape_equal(k->input[i]->shape, shape))
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected inputs of one shape, got %s and %s",
                           hr_shape_text(shape, x, sizeof x), hr_shape_text(k->input[i]->shape, y, sizeof y));
    return hr_compute_walk(k, k->input, shape, err);
}
