/* What a kernel asks of the executor: outputs, in memory of their own or of an input that nobody else needs; scratch
 * memory; threads. */
#include "io/within.h"
#include "train/graph/graph_internal.h"

#include <string.h>

static hr_tensor *output_of(const hr_kernel *k, int i) { return &k->frame->slots[k->step->first_output + i]; }

/* What the op's signature does not have. */
static hr_status check_place(const char *what, int i, int count, hr_error *err)
{
    if (i >= 0 && i < count) return HR_OK;
    return hr_fail(err, HR_INTERNAL, "graph.failed", "expected one of %d %s, got number %d", count, what, i);
}

static hr_status refuse_shape(hr_shape shape, hr_error *err)
{
    hr__shape_name name;
    return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected a result of known and possible shape, got %s",
                   hr__shape_in(&name, shape));
}

const hr_type_kernel *hr_kernel_chosen(const hr_kernel *k) { return k->step->node->kernel; }

const hr_graph_op *hr_kernel_op(const hr_kernel *k) { return k->step->node->op; }

/* Shape and size of an output; its memory is still missing. */
static hr_status kernel_describe(const hr_kernel *k, int i, hr_shape shape, hr_tensor *out, size_t *bytes,
                                 hr_error *err)
{
    HR_TRY(check_place("outputs", i, k->outputs, err));
    const hr_dtype dtype = k->step->node->type[i];
    const int64_t count = hr_shape_count(shape);
    if (count < 0 || (uint64_t)count > (UINT64_C(1) << 46) / 16) return refuse_shape(shape, err);
    *bytes = (size_t)count * hr_dtype_size(dtype);
    hr_buffer_unref(out->buffer); /* of an output that is made twice */
    out->buffer = NULL;
    out->dtype = dtype;
    out->layout = HR_DENSE;
    out->shape = shape;
    out->count = count;
    return HR_OK;
}

hr_status hr_kernel_output(hr_kernel *k, int i, hr_shape shape, hr_tensor **out, hr_error *err)
{
    size_t bytes = 0;
    hr_tensor *t = output_of(k, i);
    HR_TRY(kernel_describe(k, i, shape, t, &bytes, err));
    *out = t;
    t->buffer = hr__buffers_get(k->session->buffers, k->frame->run->budget, bytes);
    if (!t->buffer) return hr_no_memory(err, "a tensor");
    t->data = hr_buffer_data(t->buffer);
    if (t->dtype == HR_STRING && bytes) memset(t->data, 0, bytes);
    return HR_OK;
}

/* Nobody else uses the slot in this run, and nobody holds its memory: neither a variable nor another slot. */
bool hr_kernel_may_write(const hr_kernel *k, int input)
{
    const hr_tensor *in = k->input[input];
    if (!in->buffer || in->data != hr_buffer_data(in->buffer)) return false;
    return atomic_load_explicit(&k->frame->uses[k->step->slot[input]], memory_order_acquire) == 1 &&
           !hr_buffer_is_shared(in->buffer);
}

hr_status hr_kernel_output_over(hr_kernel *k, int i, int over, hr_shape shape, hr_tensor **out, hr_error *err)
{
    size_t bytes = 0;
    hr_tensor *t = output_of(k, i);
    HR_TRY(kernel_describe(k, i, shape, t, &bytes, err));
    *out = t;
    hr_tensor *in = &k->frame->slots[k->step->slot[over]];
    if (t->dtype == HR_STRING || bytes != (size_t)in->count * hr_dtype_size(in->dtype) || !hr_kernel_may_write(k, over))
        return hr_kernel_output(k, i, shape, out, err);
    t->buffer = in->buffer;
    t->data = in->data;
    in->buffer = NULL;
    return HR_OK;
}

hr_status hr_kernel_pass(hr_kernel *k, int i, int input, hr_shape shape, hr_error *err)
{
    HR_TRY(check_place("outputs", i, k->outputs, err));
    HR_TRY(check_place("inputs", input, k->inputs, err));
    const hr_tensor *in = k->input[input];
    if (hr_shape_count(shape) != in->count) return refuse_shape(shape, err);
    hr_tensor *t = output_of(k, i);
    hr_buffer *before = t->buffer;
    *t = *in;
    t->shape = shape;
    hr_buffer_ref(t->buffer);
    hr_buffer_unref(before); /* of an output that is made twice */
    return HR_OK;
}

void hr_kernel_give(hr_kernel *k, int i, hr_tensor value)
{
    if (i < 0 || i >= k->outputs) {
        hr_buffer_unref(value.buffer);
        return;
    }
    hr_buffer_unref(output_of(k, i)->buffer); /* of an output that is made twice */
    *output_of(k, i) = value;
}

hr_tensor hr_kernel_take(hr_kernel *k, int i)
{
    if (i < 0 || i >= k->inputs) return (hr_tensor){0};
    hr_tensor taken = *k->input[i];
    hr_tensor *slot = &k->frame->slots[k->step->slot[i]];
    const bool last = atomic_load_explicit(&k->frame->uses[k->step->slot[i]], memory_order_acquire) == 1;
    if (last && k->input[i] == slot)
        slot->buffer = NULL;
    else
        hr_buffer_ref(taken.buffer);
    return taken;
}

void hr_kernel_leave_out(hr_kernel *k, int i)
{
    if (i < 0 || i >= k->outputs || !(k->step->node->op->traits & HR_SWITCHES)) return;
    hr_kernel_give(k, i, (hr_tensor){0});
    k->frame->dead_slot[k->step->first_output + i] = 1;
}

bool hr_kernel_has_input(const hr_kernel *k, int i)
{
    return !k->frame->plan->switches || !k->frame->dead_slot[k->step->slot[i]];
}

bool hr_tensor_is_true(const hr_tensor *t)
{
    if (t->shape.rank != 0) return t->count > 0;
    if (t->dtype == HR_STRING) return ((const hr_view *)t->data)->size > 0;
    if (t->dtype == HR_FLOAT) return *(const float *)t->data != 0;
    if (t->dtype == HR_DOUBLE) return *(const double *)t->data != 0;
    const size_t size = hr_dtype_size(t->dtype);
    for (size_t i = 0; i < size; i++)
        if (((const char *)t->data)[i]) return true;
    return false;
}

/* Before a temporary memory: the buffer of the one that was asked for before it. A cache line, so that what follows is
 * aligned. */
enum { LINK_BYTES = 64 };

void *hr_kernel_temp(hr_kernel *k, size_t bytes)
{
    if (bytes > SIZE_MAX - LINK_BYTES) return NULL;
    hr_buffer *buffer = hr__buffers_get(k->session->buffers, k->frame->run->budget, bytes + LINK_BYTES);
    if (!buffer) return NULL;
    memcpy(hr_buffer_data(buffer), &k->temps, sizeof k->temps);
    k->temps = buffer;
    return (char *)hr_buffer_data(buffer) + LINK_BYTES;
}

hr_buffer *hr_kernel_buffer(hr_kernel *k, size_t bytes)
{
    return hr__buffers_get(k->session->buffers, k->frame->run->budget, bytes);
}

void hr__kernel_end(hr_kernel *k)
{
    while (k->temps) {
        hr_buffer *last = k->temps;
        memcpy(&k->temps, hr_buffer_data(last), sizeof k->temps);
        hr_buffer_unref(last);
    }
}

bool hr_kernel_cancelled(const hr_kernel *k) { return hr__run_stops(k->frame->run); }
hr_products hr_kernel_products(const hr_kernel *k) { return k->session->products; }

/* ---- threads ---- */

typedef struct pieces {
    int64_t count, pieces;
    void (*fn)(int64_t first, int64_t last, void *user);
    void *user;
    const hr_kernel *kernel; /* of a profiled run: */
    int thread;              /* that waits for all */
} pieces;

static void kernel_run_piece(int64_t i, void *user)
{
    const pieces *p = user;
    const int64_t size = p->count / p->pieces, extra = p->count % p->pieces;
    const int64_t first = i * size + (i < extra ? i : extra);
    p->fn(first, first + size + (i < extra), p->user);
}

static void kernel_measure_piece(int64_t i, void *user)
{
    const pieces *p = user;
    const hr__frame *frame = p->kernel->frame;
    const uint64_t begin = uv_hrtime();
    kernel_run_piece(i, user);
    hr__profile_piece(frame->profiled, (int32_t)(p->kernel->step - frame->plan->steps), p->thread, begin);
}

enum { PIECE_NS = 10000, MAX_PIECES = 64 };

void hr_kernel_parallel(hr_kernel *k, int64_t count, double nanoseconds,
                        void (*fn)(int64_t first, int64_t last, void *user), void *user)
{
    if (count <= 0) return;
    const double wanted = (double)count * nanoseconds / PIECE_NS;
    if (wanted < 2 || count < 2) {
        fn(0, count, user);
        return;
    }
    pieces p = {count, wanted > MAX_PIECES ? MAX_PIECES : (int64_t)wanted, fn, user, NULL, 0};
    if (p.pieces > count) p.pieces = count;
    const int workers = k->frame->alone ? 0 : k->session->kernel_workers;
    if (!k->frame->profiled) {
        hr__parallel_for_group(k->session, workers, p.pieces, kernel_run_piece, &p);
        return;
    }
    const uint64_t begin = uv_hrtime();
    p.kernel = k;
    p.thread = hr__pool_thread();
    hr__parallel_for_group(k->session, workers, p.pieces, kernel_measure_piece, &p);
    k->elsewhere += (int64_t)(uv_hrtime() - begin);
}

/* ---- files ---- */

hr_status hr_kernel_reads_file(hr_kernel *k, const char *path, hr_error *err)
{
    return k->session->folder ? hr__path_within(k->session->folder, path, err) : HR_OK;
}

hr_status hr_kernel_writes_file(hr_kernel *k, const char *path, hr_error *err)
{
    if (!k->session->folder) return HR_OK;
    return hr_fail(err, HR_PERMISSION_DENIED, "file.outside",
                   "%s: a node would write a file, but this session's may only read, in %s", path, k->session->folder);
}
