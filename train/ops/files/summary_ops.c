/* Summaries: as bytes (ScalarSummary and its kin), and into event files (WriteScalarSummary and its kin). What a writer is
 * given is the bytes of the other. */
#include <headrace/graphdef.h>
#include <headrace/kernels.h>
#include <headrace/ops.h>
#include <headrace/summary.h>
#include <math.h>
#include <stdio.h>

/* A summary in the making: makes it of the inputs from `first` on. */
typedef hr_status make_fn(hr_kernel *k, int first, hr_strings *summary, hr_error *err);

/* Adds bytes that a function of summary.h gave. */
static hr_status add_bytes(hr_strings *summary, hr_status st, char *bytes, size_t size)
{
    if (st == HR_OK) hr_strings_add(summary, (hr_view){bytes, (int64_t)size});
    hr_free(st == HR_OK ? bytes : NULL);
    return st;
}

static hr_view text_at(const hr_tensor *t, int64_t i) { return ((const hr_view *)t->data)[i]; }

/* ---- numbers ---- */

typedef double number_fn(const void *data, int64_t i);
#define NUMBER(T, V, U, DTYPE, SUFFIX, A, B)                                                                           \
    static double number_##SUFFIX(const void *data, int64_t i) { return (double)HR_GET(SUFFIX, ((const T *)data)[i]); }
HR_EACH_TYPE(NUMBER, ~, ~, floats, halves, ints, bools)
#define NUMBERS HR_KERNELS(number, floats, halves, ints)

static hr_status make_scalars(hr_kernel *k, int first, hr_strings *summary, hr_error *err)
{
    const hr_tensor *tags = k->input[first], *values = k->input[first + 1];
    number_fn *const number = (number_fn *)hr_kernel_chosen(k)->run;
    char a[128], b[128], *bytes;
    size_t size;
    if (!hr_shape_equal(tags->shape, values->shape))
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "tags and values are not the same shape: %s != %s",
                       hr_shape_text(tags->shape, a, sizeof a), hr_shape_text(values->shape, b, sizeof b));
    for (int64_t i = 0; i < tags->count; i++) {
        const hr_status st = hr_summary_scalar(text_at(tags, i), (float)number(values->data, i), &bytes, &size, err);
        HR_TRY(add_bytes(summary, st, bytes, size));
    }
    return HR_OK;
}

static hr_status make_histogram(hr_kernel *k, int first, hr_strings *summary, hr_error *err)
{
    const hr_tensor *tag = k->input[first], *values = k->input[first + 1];
    number_fn *const number = (number_fn *)hr_kernel_chosen(k)->run;
    char *bytes;
    size_t size;
    HR_TRY(hr_expect_rank("tags", tag->shape, 0, err));
    double *wide;
    HR_TRY(hr_kernel_array(k, values->count + 1, sizeof *wide, "a histogram", &wide, err));
    for (int64_t i = 0; i < values->count; i++) wide[i] = number(values->data, i);
    const hr_status st = hr_summary_histogram(text_at(tag, 0), wide, values->count, &bytes, &size, err);
    return add_bytes(summary, st, bytes, size);
}

/* ---- pictures ---- */

/* Pixels of floats as bytes: from the least to the greatest, or, if some are negative, around 128. A pixel with a value
 * that is not finite gets `bad`. */
typedef void pixels_fn(const void *data, int64_t count, int channels, const uint8_t *bad, uint8_t *out);
#define PIXELS(T, V, U, DTYPE, SUFFIX, A, B)                                                                           \
    static bool finite_##SUFFIX(const T *pixel, int channels)                                                          \
    {                                                                                                                  \
        bool finite = true;                                                                                            \
        for (int c = 0; c < channels; c++) finite &= isfinite(HR_GET(SUFFIX, pixel[c]));                               \
        return finite;                                                                                                 \
    }                                                                                                                  \
    static void pixels_##SUFFIX(const void *data, int64_t count, int channels, const uint8_t *bad, uint8_t *out)       \
    {                                                                                                                  \
        const T *in = data;                                                                                            \
        V low = (V)INFINITY, high = (V)-INFINITY;                                                                      \
        for (int64_t i = 0; i < count * channels; i++) {                                                               \
            const V v = HR_GET(SUFFIX, in[i]);                                                                         \
            if (!finite_##SUFFIX(in + i / channels * channels, channels)) continue;                                    \
            low = v < low ? v : low;                                                                                   \
            high = v > high ? v : high;                                                                                \
        }                                                                                                              \
        const V most = low < 0 && -low > high ? -low : high;                                                           \
        const V scale = most < (V)1e-6f ? 0 : (low < 0 ? 127 : 255) / most, offset = low < 0 ? 128 : 0;                \
        for (int64_t i = 0; i < count * channels; i++) {                                                               \
            const V v = HR_GET(SUFFIX, in[i]) * scale + offset;                                                        \
            const bool finite = finite_##SUFFIX(in + i / channels * channels, channels);                               \
            out[i] = !finite ? bad[i % channels] : v >= 255 ? 255 : v > 0 ? (uint8_t)v : 0;                            \
        }                                                                                                              \
    }
HR_EACH_TYPE(PIXELS, ~, ~, floats, halves)

static void pixels_u8(const void *data, int64_t count, int channels, const uint8_t *bad, uint8_t *out)
{
    (void)bad;
    memcpy(out, data, (size_t)(count * channels));
}
#define HR_SET_bytes(X, ...) X(uint8_t, uint8_t, uint32_t, HR_UINT8, u8, __VA_ARGS__)
#define PICTURES HR_KERNELS(pixels, floats, halves, bytes)

static hr_status check_pictures(const hr_tensor *in, const hr_tensor *bad, hr_error *err)
{
    const int64_t channels = in->shape.rank == 4 ? in->shape.dims[3] : 0;
    if (channels != 1 && channels != 3 && channels != 4)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                       "Tensor must be 4-D with last dim 1, 3, or 4, got rank %d and last dim %lld", in->shape.rank,
                       (long long)channels);
    if (bad->dtype == HR_UINT8 && bad->shape.rank == 1 && bad->count >= channels) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                   "expected bad_color to have at least %lld values of uint8, got %lld of %s", (long long)channels,
                   (long long)bad->count, hr_dtype_name(bad->dtype));
}

static hr_status make_images(hr_kernel *k, int first, hr_strings *summary, hr_error *err)
{
    const hr_tensor *tag = k->input[first], *in = k->input[first + 1];
    const hr_attr *attr = hr_node_attr(k->node, "bad_color");
    const hr_tensor *bad = attr ? attr->tensor : k->input[first + 2];
    const int64_t most = hr_attr_int(k->node, "max_images");
    HR_TRY(hr_expect_rank("Tags", tag->shape, 0, err));
    HR_TRY(check_pictures(in, bad, err));
    const int64_t height = in->shape.dims[1], width = in->shape.dims[2], channels = in->shape.dims[3];
    const int64_t values = height * width * channels, images = in->shape.dims[0] < most ? in->shape.dims[0] : most;
    const size_t tag_size = (size_t)text_at(tag, 0).size + 32;
    uint8_t *pixels = hr_kernel_temp(k, (size_t)values + 1);
    char *name = hr_kernel_temp(k, tag_size);
    if (!pixels || !name) return hr_no_memory(err, "a picture");
    if (text_at(tag, 0).size) memcpy(name, text_at(tag, 0).data, tag_size - 32);
    for (int64_t i = 0; i < images; i++) {
        char *bytes, *end = name + tag_size - 32;
        size_t size;
        end += snprintf(end, 32, most > 1 ? "/image/%lld" : "/image", (long long)i);
        const char *from = (const char *)in->data + (size_t)(i * values) * hr_dtype_size(in->dtype);
        ((pixels_fn *)hr_kernel_chosen(k)->run)(from, height * width, (int)channels, bad->data, pixels);
        const hr_status st =
            hr_summary_image((hr_view){name, end - name}, height, width, (int)channels, pixels, &bytes, &size, err);
        HR_TRY(add_bytes(summary, st, bytes, size));
    }
    return HR_OK;
}

/* ---- sounds: [n, frames] or [n, frames, channels] ---- */

static hr_status make_audio(hr_kernel *k, int first, hr_strings *summary, hr_error *err)
{
    const hr_tensor *tag = k->input[first], *in = k->input[first + 1], *rate = k->input[first + 2];
    const int64_t most = hr_attr_int(k->node, "max_outputs");
    HR_TRY(hr_expect_rank("tag", tag->shape, 0, err));
    HR_TRY(hr_expect_rank("sample_rate", rate->shape, 0, err));
    if (in->shape.rank != 2 && in->shape.rank != 3)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "Tensor must be 3-D or 2-D, got rank %d",
                       in->shape.rank);
    const int64_t frames = in->shape.dims[1], channels = in->shape.rank == 3 ? in->shape.dims[2] : 1;
    const int64_t sounds = in->shape.dims[0] < most ? in->shape.dims[0] : most;
    const size_t size = (size_t)text_at(tag, 0).size;
    char *name = hr_kernel_temp(k, size + 32);
    if (!name) return hr_no_memory(err, "a sound");
    if (size) memcpy(name, text_at(tag, 0).data, size);
    for (int64_t i = 0; i < sounds; i++) {
        char *bytes;
        size_t bytes_size;
        const int end = snprintf(name + size, 32, most > 1 ? "/audio/%lld" : "/audio", (long long)i);
        const hr_status st =
            hr_summary_audio((hr_view){name, (int64_t)size + end}, frames, channels, *(const float *)rate->data,
                             (const float *)in->data + i * frames * channels, &bytes, &bytes_size, err);
        HR_TRY(add_bytes(summary, st, bytes, bytes_size));
    }
    return HR_OK;
}

/* ---- tensors, and what is a summary already ---- */

static hr_status make_tensor_of(const hr_tensor *tag, const hr_tensor *value, const hr_tensor *metadata,
                                hr_strings *summary, hr_error *err)
{
    char *tensor, *bytes;
    size_t tensor_size, size;
    HR_TRY(hr_expect_rank("tag", tag->shape, 0, err));
    HR_TRY(hr_expect_rank("serialized_summary_metadata", metadata->shape, 0, err));
    HR_TRY(hr_tensor_export(value, &tensor, &tensor_size, err));
    const hr_status st = hr_summary_tensor(text_at(tag, 0), (hr_view){tensor, (int64_t)tensor_size},
                                           text_at(metadata, 0), &bytes, &size, err);
    hr_free(tensor);
    return add_bytes(summary, st, bytes, size);
}

static hr_status make_tensor(hr_kernel *k, int first, hr_strings *summary, hr_error *err)
{
    (void)first;
    return make_tensor_of(k->input[0], k->input[1], k->input[2], summary, err);
}

/* WriteSummary has the value before its tag. */
static hr_status make_tensor_after(hr_kernel *k, int first, hr_strings *summary, hr_error *err)
{
    return make_tensor_of(k->input[first + 1], k->input[first], k->input[first + 2], summary, err);
}

static hr_status make_given(hr_kernel *k, int first, hr_strings *summary, hr_error *err)
{
    HR_TRY(hr_expect_rank("tensor", k->input[first]->shape, 0, err));
    hr_strings_add(summary, text_at(k->input[first], 0));
    return HR_OK;
}

static hr_status make_merged(hr_kernel *k, int first, hr_strings *summary, hr_error *err)
{
    int64_t count = 0;
    char *bytes;
    size_t size;
    for (int i = first; i < k->inputs; i++) count += k->input[i]->count;
    hr_view *all = hr_kernel_temp(k, sizeof *all * (size_t)(count + 1)), *next = all;
    if (!all) return hr_no_memory(err, "a summary");
    for (int i = first; i < k->inputs; next += k->input[i++]->count)
        if (k->input[i]->count) memcpy(next, k->input[i]->data, sizeof *next * (size_t)k->input[i]->count);
    const hr_status st = hr_summary_merge(all, count, &bytes, &size, err);
    return add_bytes(summary, st, bytes, size);
}

static hr_status summary_give(hr_kernel *k, make_fn *make, hr_error *err)
{
    hr_strings summary = {0};
    const hr_status st = make(k, 0, &summary, err);
    hr_strings_end(&summary);
    if (st == HR_OK) return hr_strings_give(&summary, k, 0, HR_SCALAR, err);
    hr_strings_free(&summary);
    return st;
}

/* ---- writers of event files: resources, which are without a file at first ---- */

typedef struct summary_writer {
    hr_event_writer *events;
} summary_writer;

static void writer_release(void *resource) { hr_event_writer_free(((summary_writer *)resource)->events); }

static const hr_resource_kind writer_kind = {
    .name = "SummaryWriter", .size = sizeof(summary_writer), .release = writer_release};

static hr_status writer_prepare(hr_node node, hr_session *session, void *state, hr_error *err)
{
    return hr_session_resource(session, &writer_kind, hr_attr_or_name(node, "shared_name"), state, err);
}

static hr_status writer_of(hr_kernel *k, summary_writer **writer, hr_error *err)
{
    void *thing;
    HR_TRY(hr_kernel_resource(k, 0, &writer_kind, &thing, err));
    *writer = thing;
    return HR_OK;
}

static hr_status open_writer_of(hr_kernel *k, summary_writer **writer, hr_error *err)
{
    HR_TRY(writer_of(k, writer, err));
    if ((*writer)->events) return HR_OK;
    return hr_fail(err, HR_NOT_FOUND, "summary.writer", "the summary writer '%s' has no file, or was closed",
                   hr_kernel_variable_name(k, 0));
}

/* A writer that has a file keeps it. */
static hr_status create_compute(hr_kernel *k, hr_error *err)
{
    summary_writer *w;
    HR_TRY(writer_of(k, &w, err));
    for (int i = 1; i < k->inputs; i++) HR_TRY(hr_expect_rank("an input", k->input[i]->shape, 0, err));
    if (w->events) return HR_OK;
    char *folder, *suffix;
    HR_TRY(hr_kernel_text(k, text_at(k->input[1], 0), &folder, err));
    HR_TRY(hr_kernel_writes_file(k, folder, err));
    HR_TRY(hr_kernel_text(k, text_at(k->input[4], 0), &suffix, err));
    const int64_t max_queue = *(const int32_t *)k->input[2]->data;
    const double flush_secs = *(const int32_t *)k->input[3]->data * 1e-3;
    const hr_event_writer_opts opts = {sizeof opts, &max_queue, &flush_secs, suffix, 0};
    return hr_event_writer_open_with(folder, &opts, &w->events, err);
}

static hr_status flush_compute(hr_kernel *k, hr_error *err)
{
    summary_writer *w;
    HR_TRY(open_writer_of(k, &w, err));
    return hr_event_writer_flush(w->events, err);
}

static hr_status close_compute(hr_kernel *k, hr_error *err)
{
    summary_writer *w;
    HR_TRY(open_writer_of(k, &w, err));
    const hr_status st = hr_event_writer_flush(w->events, err);
    hr_event_writer_free(w->events);
    w->events = NULL;
    return st;
}

static hr_status summary_write(hr_kernel *k, make_fn *make, hr_error *err)
{
    summary_writer *w;
    hr_strings summary = {0};
    HR_TRY(hr_expect_rank("step", k->input[1]->shape, 0, err));
    HR_TRY(open_writer_of(k, &w, err));
    hr_status st = make(k, 2, &summary, err);
    if (st == HR_OK && summary.failed) st = hr_no_memory(err, "a summary");
    if (st == HR_OK)
        st = hr_event_summary_bytes(w->events, (hr_view){summary.bytes, (int64_t)summary.size},
                                    *(const int64_t *)k->input[1]->data, err);
    hr_strings_free(&summary);
    return st;
}

static hr_status write_graph_compute(hr_kernel *k, hr_error *err)
{
    summary_writer *w;
    HR_TRY(hr_expect_rank("tensor", k->input[2]->shape, 0, err));
    HR_TRY(open_writer_of(k, &w, err));
    return hr_event_graph(w->events, text_at(k->input[2], 0), err);
}

#define GIVES(NAME, MAKE)                                                                                              \
    static hr_status give_##NAME(hr_kernel *k, hr_error *err) { return summary_give(k, MAKE, err); }
#define WRITES(NAME, MAKE)                                                                                             \
    static hr_status write_##NAME(hr_kernel *k, hr_error *err) { return summary_write(k, MAKE, err); }
GIVES(scalars, make_scalars)
GIVES(histogram, make_histogram)
GIVES(images, make_images)
GIVES(audio, make_audio)
GIVES(tensor, make_tensor)
GIVES(merged, make_merged)
WRITES(scalars, make_scalars)
WRITES(histogram, make_histogram)
WRITES(images, make_images)
WRITES(audio, make_audio)
WRITES(tensor, make_tensor_after)
WRITES(given, make_given)

#define SUMMARY(NAME, SHAPES, COMPUTE, ...)                                                                            \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = (NAME), .traits = HR_NO_GRADIENT, .shapes = SHAPES " -> []",                 \
        .compute = (COMPUTE), __VA_ARGS__                                                                              \
    }
#define WRITER(NAME, SHAPES, COMPUTE, ...)                                                                             \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = (NAME), .traits = HR_STATEFUL | HR_NO_GRADIENT, .shapes = "[]" SHAPES,       \
        .compute = (COMPUTE), __VA_ARGS__                                                                              \
    }

const hr_graph_op hr_graph_ops_summary_ops[] = {
    SUMMARY("ScalarSummary", "?, ?", give_scalars, .kernels = NUMBERS),
    SUMMARY("HistogramSummary", "[], ?", give_histogram, .kernels = NUMBERS),
    SUMMARY("ImageSummary", "[], [b,h,w,c]", give_images, .kernels = PICTURES),
    SUMMARY("AudioSummaryV2", "[], ?, []", give_audio, .types = NULL),
    SUMMARY("TensorSummaryV2", "[], ?, []", give_tensor, .types = "T:any"),
    SUMMARY("MergeSummary", "?", give_merged, .types = NULL),
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "SummaryWriter",
        .traits = HR_STATEFUL | HR_FIXED | HR_NO_GRADIENT,
        .state_size = sizeof(hr_resource *),
        .shape = hr_infer_scalar,
        .prepare = writer_prepare,
        .compute = hr_compute_handle,
    },
    WRITER("CreateSummaryFileWriter", ", [], [], [], []", create_compute, .types = NULL),
    WRITER("FlushSummaryWriter", "", flush_compute, .types = NULL),
    WRITER("CloseSummaryWriter", "", close_compute, .types = NULL),
    WRITER("WriteScalarSummary", ", [], ?, ?", write_scalars, .kernels = NUMBERS),
    WRITER("WriteHistogramSummary", ", [], [], ?", write_histogram,
           .kernels = HR_KERNELS(number, floats, halves, ints, bools)),
    WRITER("WriteImageSummary", ", [], [], [b,h,w,c], [?]", write_images, .kernels = PICTURES),
    WRITER("WriteAudioSummary", ", [], [], ?, []", write_audio, .types = NULL),
    WRITER("WriteSummary", ", [], ?, [], []", write_tensor, .types = "T:any"),
    WRITER("WriteRawProtoSummary", ", [], ?", write_given, .types = NULL),
    WRITER("WriteGraphSummary", ", [], []", write_graph_compute, .types = NULL),
    HR_GRAPH_OPS_END,
};

/* ---- nodes of summaries, named as TensorFlow 1 names them ---- */

/* The scope's name without its slash, after the family: one malloc. An eager graph has no scopes. */
static char *summary_tag(const char *family, const char *scope, const char *base)
{
    const char *named = *scope ? scope : base;
    const size_t size = strlen(named) - (*scope ? 1 : 0), before = family ? strlen(family) + 1 : 0;
    char *tag = hr_malloc(before + size + 1);
    if (tag) snprintf(tag, before + size + 1, "%s%s%.*s", family ? family : "", family ? "/" : "", (int)size, named);
    return tag;
}

static hr_node summary_text(hr_graph *g, hr_view text, const char *name)
{
    const hr_tensor t = {.dtype = HR_STRING, .shape = HR_SCALAR, .count = 1, .data = &text};
    return hr_const(g, &t, .name = name);
}

typedef struct summary_call {
    const char *op, *tag_input; /* what the op calls its tag: the name of that constant */
    const char *plugin;         /* of a tensor's metadata */
    hr_attr attr[2];
    int attrs;
    bool tensor; /* has metadata */
} summary_call;

static hr_node summary_metadata(hr_graph *g, const summary_call *call, const hr_summary_opts *o)
{
    char *bytes;
    size_t size;
    hr_error err;
    if (hr_summary_metadata(call->plugin, o->display_name, o->description, 0, &bytes, &size, &err) != HR_OK)
        return hr_node_fail(g, err.code, err.kind, "%s", err.text);
    const hr_node node = summary_text(g, (hr_view){bytes, (int64_t)size}, "serialized_summary_metadata");
    hr_free(bytes);
    return node;
}

/* The node, in a scope of its own that it has the name of. */
static hr_node summary_in_scope(const summary_call *call, const char *family, const char *base, hr_node x,
                                const hr_summary_opts *o)
{
    hr_graph *g = x.graph;
    const hr_error *before = hr_graph_error(g);
    hr_name_scope(g, base);
    const bool refused = hr_graph_error(g) != before;
    char *tag = summary_tag(family, hr_name_scope_name(g), base);
    hr_node node = hr_failed_node(g);
    if (tag && !refused) {
        const hr_node tagged = summary_text(g, hr_text_view(tag), call->tag_input);
        const hr_node inputs[] = {tagged, x, call->tensor ? summary_metadata(g, call, o) : tagged};
        const char *scope = hr_name_scope_name(g);
        node = hr_new_node(g, call->op, .name = *scope ? scope : NULL, .inputs = inputs,
                           .input_count = call->tensor ? 3 : 2, .attrs = call->attr, .attr_count = call->attrs);
    } else if (!tag) {
        hr_node_fail(g, HR_RESOURCE_EXHAUSTED, "memory", "out of memory for a summary's tag");
    }
    hr_free(tag);
    hr_scope_end(g);
    return node;
}

static hr_node summary_make(const summary_call *call, const char *name, hr_node x, const hr_summary_opts *opts)
{
    const hr_summary_opts o = HR_OPTIONS(hr_summary_opts, opts);
    if (!name)
        return hr_node_fail(x.graph, HR_INVALID_ARGUMENT, "graph.name", "%s: expected a name, got NULL", call->op);
    if (!hr_node_exists(x)) return hr_failed_node(x.graph);
    char *clean = hr_summary_tag(name), *family = o.family ? hr_summary_tag(o.family) : NULL;
    char *base = clean && (family || !o.family) ? summary_tag(family, "", clean) : NULL;
    const hr_node node = base ? summary_in_scope(call, family, base, x, &o)
                              : hr_node_fail(x.graph, HR_RESOURCE_EXHAUSTED, "memory", "out of memory for a summary");
    const char *collection = o.collection ? o.collection : "summaries";
    if (*collection) hr_add_to_collection(x.graph, collection, node);
    hr_free(base);
    hr_free(family);
    hr_free(clean);
    return node;
}

hr_node hr_scalar_summary_with(const char *name, hr_node x, const hr_summary_opts *opts)
{
    return summary_make(&(summary_call){.op = "ScalarSummary", .tag_input = "tags"}, name, x, opts);
}

hr_node hr_histogram_summary_with(const char *name, hr_node x, const hr_summary_opts *opts)
{
    return summary_make(&(summary_call){.op = "HistogramSummary", .tag_input = "tag"}, name, x, opts);
}

hr_node hr_image_summary_with(const char *name, hr_node x, const hr_summary_opts *opts)
{
    const hr_summary_opts o = HR_OPTIONS(hr_summary_opts, opts);
    const hr_tensor color = {
        .dtype = HR_UINT8, .shape = {.rank = 1, .dims = {4}}, .count = 4, .data = (void *)o.bad_color};
    summary_call call = {.op = "ImageSummary", .tag_input = "tag"};
    if (o.max_outputs) call.attr[call.attrs++] = HR_INT_ATTR("max_images", o.max_outputs);
    if (o.bad_color) call.attr[call.attrs++] = HR_TENSOR_ATTR("bad_color", &color);
    return summary_make(&call, name, x, opts);
}

hr_node hr_tensor_summary_with(const char *name, hr_node x, const hr_summary_opts *opts)
{
    return summary_make(&(summary_call){.op = "TensorSummaryV2", .tag_input = "tag", .tensor = true}, name, x, opts);
}

hr_node hr_text_summary_with(const char *name, hr_node x, const hr_summary_opts *opts)
{
    if (hr_node_exists(x) && hr_node_dtype(hr_node_value(x)) != HR_STRING)
        return hr_node_fail(x.graph, HR_INVALID_ARGUMENT, "graph.type",
                            "text summary '%.60s': expected a node of strings, got %s", name ? name : "",
                            hr_dtype_name(hr_node_dtype(hr_node_value(x))));
    const summary_call call = {.op = "TensorSummaryV2", .tag_input = "tag", .plugin = "text", .tensor = true};
    return summary_make(&call, name, x, opts);
}

hr_node hr_merge_summary(const hr_node *summaries, int count, const char *name)
{
    hr_graph *g = summaries && count > 0 ? summaries[0].graph : NULL;
    hr_name_scope(g, name ? name : "Merge");
    const hr_node node = hr_new_node(g, "MergeSummary", .name = name, .inputs = summaries, .input_count = count);
    hr_scope_end(g);
    return node;
}

hr_node hr_merge_all_summaries(hr_graph *g, const char *collection)
{
    int count;
    const hr_node *all = hr_get_collection(g, collection ? collection : "summaries", &count);
    return count ? hr_merge_summary(all, count, NULL) : (hr_node){NULL, -1, 0};
}
