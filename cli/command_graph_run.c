/* headrace graph run: feeds and fetches of a graph from the command line. */
#include "cli/graph_files.h"
#include "cli/graph_values.h"
#include <headrace/pass.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct graph_run {
    graph_file file;
    hr_session *session;
    hr_feed *feed;
    int feeds;
    hr_node *fetch; /* those of --fetch, then the targets */
    const char **name;
    hr_tensor *out;
    int fetches, targets;
} graph_run;

static void clear_run(graph_run *r)
{
    for (int i = 0; r->feed && i < r->feeds; i++) hr_tensor_clear(&r->feed[i].value);
    for (int i = 0; r->out && i < r->fetches; i++) hr_tensor_clear(&r->out[i]);
    hr_free(r->feed);
    hr_free(r->fetch);
    hr_free(r->name);
    hr_free(r->out);
    hr_session_free(r->session);
    clear_graph_file(&r->file);
}

/* ---- what is asked for ---- */

/* "x=[1, 2]": the name before the first '=' in `name`, which has `size` bytes; NULL: there is no '='. */
static const char *split_pair(const char *text, char *name, size_t size)
{
    const char *equals = strchr(text, '=');
    if (!equals || equals == text || (size_t)(equals - text) >= size) return NULL;
    memcpy(name, text, (size_t)(equals - text));
    name[equals - text] = 0;
    return equals + 1;
}

static hr_status find_feed(graph_run *r, const char *text, hr_error *err)
{
    char name[1024];
    hr_feed *feed = &r->feed[r->feeds];
    const char *value = split_pair(text, name, sizeof name);
    if (!value)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.value", "--feed: expected NAME=VALUE, got '%.60s'", text);
    HR_TRY(node_by_name(r->file.graph, name, &feed->node, err));
    const hr_status st = read_graph_value(value, hr_node_dtype(feed->node), &feed->value, err);
    if (st != HR_OK) hr_error_prefix(err, "--feed %s: ", name);
    r->feeds += st == HR_OK;
    return st;
}

static hr_status find_fetch(graph_run *r, const char *name, bool target, hr_error *err)
{
    hr_node *node = &r->fetch[r->fetches + r->targets];
    HR_TRY(node_by_name(r->file.graph, name, node, err));
    if (target) *node = hr_target(*node);
    if (!target && node->output < 0)
        return hr_fail(err, HR_INVALID_ARGUMENT, "session.fetch",
                       "--fetch: expected a node with a value, got '%.100s', which has none; use --target", name);
    r->name[r->fetches] = name;
    *(target ? &r->targets : &r->fetches) += 1;
    return HR_OK;
}

static hr_status find_all(const command_call *call, graph_run *r, hr_error *err)
{
    const int feeds = flag_count(call, "feed"), fetches = flag_count(call, "fetch");
    const int targets = flag_count(call, "target");
    r->feed = hr_calloc((size_t)feeds + 1, sizeof *r->feed);
    r->fetch = hr_calloc((size_t)fetches + (size_t)targets + 1, sizeof *r->fetch);
    r->name = hr_calloc((size_t)fetches + 1, sizeof *r->name);
    r->out = hr_calloc((size_t)fetches + (size_t)targets + 1, sizeof *r->out);
    if (!r->feed || !r->fetch || !r->name || !r->out) return hr_no_memory(err, "a run");
    for (int i = 0; i < feeds; i++) HR_TRY(find_feed(r, flag_nth(call, "feed", i), err));
    for (int i = 0; i < fetches; i++) HR_TRY(find_fetch(r, flag_nth(call, "fetch", i), false, err));
    for (int i = 0; i < targets; i++) HR_TRY(find_fetch(r, flag_nth(call, "target", i), true, err));
    return HR_OK;
}

/* ---- the run ---- */

static hr_status prepare(const command_call *call, graph_run *r, double timeout, hr_error *err)
{
    r->session = hr_session_new(r->file.graph, .passes = flag_text(call, "passes"), .timeout = timeout,
                                .memory_limit = flag_number(call, "memory-limit", 0));
    if (!r->session) return hr_no_memory(err, "a session");
    HR_TRY(run_initializers(call, r->session, r->file.graph, err));
    const char *checkpoint = flag_text(call, "checkpoint");
    return checkpoint ? hr_session_restore(r->session, checkpoint, NULL, err) : HR_OK;
}

static int by_time(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The results are those of the last run. */
static hr_status run_often(const command_call *call, graph_run *r, hr_error *err)
{
    const int64_t times = flag_number(call, "repeat", 1);
    double *seconds = hr_calloc((size_t)times, sizeof *seconds);
    hr_status st = seconds ? HR_OK : hr_no_memory(err, "times");
    for (int64_t i = 0; st == HR_OK && i < times; i++) {
        for (int k = 0; k < r->fetches; k++) hr_tensor_clear(&r->out[k]);
        const double start = now_seconds();
        st = hr_session_run(r->session, r->feed, r->feeds, r->fetch, r->fetches + r->targets, r->out, err);
        seconds[i] = now_seconds() - start;
    }
    if (st == HR_OK && flag_given(call, "repeat")) {
        const double first = seconds[0];
        qsort(seconds, (size_t)times, sizeof *seconds, by_time);
        fprintf(stderr, "first run %.3f ms; of %lld runs: best %.3f ms, median %.3f ms\n", first * 1e3,
                (long long)times, seconds[0] * 1e3, seconds[times / 2] * 1e3);
    }
    hr_free(seconds);
    return st;
}

/* ---- results ---- */

static hr_status print_results(const graph_run *r, bool json, hr_error *err)
{
    text_buffer text = {0};
    if (json) text_byte(&text, '{');
    for (int i = 0; i < r->fetches; i++) text_named_value(&text, r->name[i], &r->out[i], json, i == 0);
    if (json) text_add(&text, "}\n");
    return print_values(&text, err);
}

static int fetch_named(const graph_run *r, const char *name)
{
    for (int i = 0; i < r->fetches; i++)
        if (strcmp(r->name[i], name) == 0) return i;
    return -1;
}

static hr_status find_result(const graph_run *r, const char *flag, const char *text, int *fetch, const char **value,
                             hr_error *err)
{
    char name[1024];
    *value = split_pair(text, name, sizeof name);
    *fetch = *value ? fetch_named(r, name) : -1;
    if (*fetch >= 0) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "graph.value",
                   "--%s: expected NAME=VALUE with a name as --fetch has it, got '%.60s'", flag, text);
}

static hr_status save_results(const command_call *call, const graph_run *r, hr_error *err)
{
    for (int i = 0; i < flag_count(call, "save"); i++) {
        int fetch;
        const char *path;
        HR_TRY(find_result(r, "save", flag_nth(call, "save", i), &fetch, &path, err));
        HR_TRY(write_npy(path, &r->out[fetch], err));
    }
    return HR_OK;
}

static double value_at(const hr_tensor *t, int64_t i)
{
    return t->dtype == HR_FLOAT ? (double)((const float *)t->data)[i] : ((const double *)t->data)[i];
}

/* Floats within tolerance * (1 + |expected|), NaN as NaN; all else exactly. */
static bool same_value(const hr_tensor *a, const hr_tensor *b, int64_t i, double tolerance)
{
    const size_t size = hr_dtype_size(a->dtype);
    if (a->dtype == HR_STRING) {
        const hr_view x = ((const hr_view *)a->data)[i], y = ((const hr_view *)b->data)[i];
        return x.size == y.size && memcmp(x.data, y.data, (size_t)x.size) == 0;
    }
    if (a->dtype != HR_FLOAT && a->dtype != HR_DOUBLE)
        return memcmp((const char *)a->data + (size_t)i * size, (const char *)b->data + (size_t)i * size, size) == 0;
    const double x = value_at(a, i), y = value_at(b, i);
    if (isnan(x) || isnan(y)) return isnan(x) && isnan(y);
    return (x <= y && x >= y) || fabs(x - y) <= tolerance * (1 + fabs(y));
}

static hr_status check_result(const char *name, const hr_tensor *got, const hr_tensor *expected, double tolerance,
                              hr_error *err)
{
    char a[256], b[256];
    if (!hr_shape_equal(got->shape, expected->shape))
        return hr_fail(err, HR_FAILED_PRECONDITION, "graph.check", "%s: expected shape %s, got %s", name,
                       hr_shape_text(expected->shape, a, sizeof a), hr_shape_text(got->shape, b, sizeof b));
    for (int64_t i = 0; i < got->count; i++)
        if (!same_value(got, expected, i, tolerance))
            return hr_fail(err, HR_FAILED_PRECONDITION, "graph.check",
                           "%s: value %lld of %lld is another one than expected", name, (long long)i,
                           (long long)got->count);
    return HR_OK;
}

static hr_status check_results(const command_call *call, const graph_run *r, double tolerance, hr_error *err)
{
    for (int i = 0; i < flag_count(call, "check"); i++) {
        int fetch;
        const char *value;
        hr_tensor expected;
        HR_TRY(find_result(r, "check", flag_nth(call, "check", i), &fetch, &value, err));
        HR_TRY(read_graph_value(value, r->out[fetch].dtype, &expected, err));
        const hr_status st = check_result(r->name[fetch], &r->out[fetch], &expected, tolerance, err);
        hr_tensor_clear(&expected);
        HR_TRY(st);
    }
    return HR_OK;
}

/* ---- the command ---- */

/* 0, or the exit code of a wrong command line. */
static int read_real(const command_call *call, const char *flag, double otherwise, double *out)
{
    char *end;
    const char *text = flag_text(call, flag);
    *out = text ? strtod(text, &end) : otherwise;
    if (!text || (*text && !*end && *out >= 0)) return 0;
    return usage_error(call, "--%s: expected a number from 0 on, found \"%s\"", flag, text);
}

static int check_flags(const command_call *call, double *tolerance, double *timeout)
{
    hr_error err;
    int code = read_real(call, "tolerance", 1e-5, tolerance);
    if (code == 0) code = read_real(call, "timeout", 0, timeout);
    if (code != 0) return code;
    if (flag_count(call, "fetch") + flag_count(call, "target") == 0)
        return usage_error(call, "expected --fetch or --target with what to compute");
    if (flag_given(call, "passes") && hr_rewrite_check(flag_text(call, "passes"), &err) != HR_OK)
        return usage_error(call, "--passes: %s", err.text);
    return 0;
}

static int graph_run_run(command_call *call)
{
    graph_run r = {.feeds = 0};
    hr_error err = {0};
    double tolerance, timeout;
    const int code = check_flags(call, &tolerance, &timeout);
    if (code != 0) return code;
    hr_status st = read_graph_file(call, &r.file, &err);
    if (st == HR_OK) st = find_all(call, &r, &err);
    if (st == HR_OK) st = prepare(call, &r, timeout, &err);
    if (st == HR_OK) st = run_often(call, &r, &err);
    if (st == HR_OK) st = save_results(call, &r, &err);
    if (st == HR_OK && !flag_given(call, "quiet")) st = print_results(&r, flag_given(call, "json"), &err);
    if (st == HR_OK) st = check_results(call, &r, tolerance, &err);
    clear_run(&r);
    return st == HR_OK ? WORKED : failed(call, &err);
}

static const flag flags[] = {
    {FLAG_REPEATED, "feed", 0, "NAME=VALUE", "a node's value: JSON, or a file that ends in .npy"},
    {FLAG_REPEATED, "fetch", 0, "NAME", "compute and print this node's value"},
    {FLAG_REPEATED, "target", 0, "NAME", "run this node for its effect"},
    {FLAG_REPEATED, "init", 0, "NAME", "run this node first, in a run of its own, such as an initializer"},
    {FLAG_TEXT, "checkpoint", 0, "CHECKPOINT", "then take the values of variables from there"},
    {FLAG_REPEATED, "save", 0, "NAME=OUT", "write what was fetched as that name to a .npy file"},
    {FLAG_REPEATED, "check", 0, "NAME=VALUE", "the exit code is 1 if what was fetched is another value"},
    {FLAG_TEXT, "tolerance", 0, "T", "with --check, floats may differ by T * (1 + their size); default 1e-5"},
    {FLAG_TEXT, "passes", 0, "NAMES",
     "which passes rewrite the graph: names with commas, exact, all, none; default exact"},
    {FLAG_TEXT, "timeout", 0, "SECONDS", "a run that takes longer fails, such as one of an endless loop; default none"},
    {FLAG_BYTES, "memory-limit", 0, "SIZE", "a run whose tensors take more memory at a time fails; default none"},
    {FLAG_COUNT, "repeat", 0, "N", "run N times, and say how long a run takes"},
    {FLAG_SWITCH, "json", 0, NULL, "print the values as one line of JSON"},
    {FLAG_SWITCH, "quiet", 'q', NULL, "print no values"},
    TAG_SET_FLAG,
    {0},
};

const command command_graph_run = {
    .name = "graph run",
    .arguments = "FILE",
    .summary = "runs a graph: feeds from the command line, values to the terminal",
    .text = "Reads a GraphDef, a MetaGraphDef or a SavedModel, as bytes, or as text if the name ends in .pbtxt, feeds "
            "values to nodes, and computes others. A value has the type of its node: \"3\", \"[[1, 2], [3, 4]]\", "
            "\"true\", "
            "\"[\\\"a\\\", \\\"b\\\"]\", or the name of a .npy file. Nodes that are fed are not computed.",
    .examples = "  headrace graph run frozen.pb --feed 'x=[[1, 2]]' --fetch y\n"
                "  headrace graph run model.ckpt-1000.meta --checkpoint model.ckpt-1000 --feed x=batch.npy --fetch y "
                "--save y=y.npy -q\n"
                "  headrace graph run frozen.pb --feed x=batch.npy --fetch y --check y=y.npy --passes none -q\n",
    .flags = flags,
    .min_arguments = 1,
    .max_arguments = 1,
    .run = graph_run_run,
};
