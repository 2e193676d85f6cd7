/* Constructors of what is made of several nodes. */
#include <headrace/kernels.h>
#include <headrace/linalg.h>
#include <stdio.h>
#include <string.h>

enum { TEXT = 64 };

/* Adds a character to a short text. */
static void write_char(char *term, char c)
{
    const size_t size = strlen(term);
    if (size + 1 < TEXT) term[size] = c, term[size + 1] = 0;
}

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

hr_node hr_matrix_transpose_with(hr_node x, const hr_name_opts *opts)
{
    const hr_name_opts o = HR_OPTIONS(hr_name_opts, opts);
    const int rank = hr_node_shape(x).rank;
    int64_t order[HR_MAX_RANK];
    if (rank < 2)
        return hr_new_node(x.graph, "Einsum", .name = o.name, HR_INPUTS(x),
                           HR_ATTRS(HR_STRING_ATTR("equation", "...ab->...ba")));
    for (int i = 0; i < rank; i++) order[i] = i < rank - 2 ? i : 2 * rank - 3 - i;
    return hr_transpose_with(x, hr_ints(x.graph, order, rank), opts);
}

hr_node hr_matrix_trace_with(hr_node x, const hr_name_opts *opts)
{
    const hr_name_opts o = HR_OPTIONS(hr_name_opts, opts);
    return hr_reduce_sum(hr_matrix_diag_part(x), .name = o.name, .axes = HR_I64(-1), .axis_count = 1);
}

/* As an equation: letters from 'a' on for `a`, from 'A' on for what only `b` has. */
hr_node hr_tensordot(hr_node a, hr_node b, const int64_t *axes_a, const int64_t *axes_b, int count)
{
    const int rank_a = hr_node_shape(a).rank, rank_b = hr_node_shape(b).rank;
    char text[TEXT] = "", of_b[HR_MAX_RANK + 1] = "", output[2 * HR_MAX_RANK + 1] = "";
    bool summed[HR_MAX_RANK] = {false};
    if (!a.graph || rank_a < 0 || rank_b < 0 || count < 0 || (count > 0 && (!axes_a || !axes_b)))
        return hr_node_fail(a.graph, HR_INVALID_ARGUMENT, "graph.shape",
                            "hr_tensordot: expected two tensors of known ranks, and axes of both");
    for (int i = 0; i < rank_b; i++) of_b[i] = (char)('A' + i);
    for (int i = 0; i < count; i++) {
        int x, y;
        hr_error err;
        if (hr_axis(axes_a[i], rank_a, &x, &err) != HR_OK || hr_axis(axes_b[i], rank_b, &y, &err) != HR_OK ||
            summed[x] || of_b[y] != 'A' + y)
            return hr_node_fail(a.graph, HR_INVALID_ARGUMENT, "graph.axis",
                                "hr_tensordot: expected axes of ranks %d and %d, each once, got %lld and %lld", rank_a,
                                rank_b, (long long)axes_a[i], (long long)axes_b[i]);
        summed[x] = true;
        of_b[y] = (char)('a' + x);
    }
    for (int i = 0; i < rank_a; i++) {
        write_char(text, (char)('a' + i));
        if (!summed[i]) write_char(output, (char)('a' + i));
    }
    for (int i = 0; i < rank_b; i++)
        if (of_b[i] == 'A' + i) write_char(output, of_b[i]);
    write_char(text, ',');
    (void)snprintf(text + strlen(text), sizeof text - strlen(text), "%s->%s", of_b, output);
    return hr_einsum_with(text, (const hr_node[]){a, b}, 2);
}

/* ---- hr_einsum ---- */

typedef struct written {
    int count;
    char term[HR_MAX_EINSUM_INPUTS][TEXT], output[TEXT];
} written;

/* Without "->", the output has the dimensions of "...", then the letters that are written once, in order. */
static void write_output(written *w)
{
    int times[128] = {0};
    for (int i = 0; i < w->count; i++)
        for (const char *c = w->term[i]; *c; c++) times[*c & 127]++;
    if (times['.']) memcpy(w->output, "...", 4);
    for (int c = 'A'; c <= 'z'; c++)
        if (times[c] == 1) write_char(w->output, (char)c);
}

static bool read_written(const char *equation, int count, written *w)
{
    int at = 0;
    bool arrow = false;
    *w = (written){.count = count};
    for (const char *c = equation; *c; c++) {
        if (*c == ' ') continue;
        if (*c == ',' && !arrow) {
            if (++at == count) return false;
        } else if (*c == '-' && c[1] == '>' && !arrow) {
            arrow = true;
            c++;
        } else if (!is_letter(*c) && *c != '.') {
            return false;
        } else {
            write_char(arrow ? w->output : w->term[at], *c);
        }
    }
    if (!arrow) write_output(w);
    return at == count - 1;
}

/* Terms 0 and `next` as one: letters that a later term or the output has stay. */
static void combine(const written *w, int next, char *out)
{
    const char *const both[] = {w->term[0], w->term[next]};
    bool dots = false;
    *out = 0;
    for (int i = 0; i < 2; i++) dots |= strchr(both[i], '.') != NULL;
    if (dots) memcpy(out, "...", 4);
    for (int i = 0; i < 2; i++)
        for (const char *c = both[i]; *c; c++) {
            bool stays = strchr(w->output, *c) != NULL;
            for (int later = next + 1; later < w->count; later++) stays |= strchr(w->term[later], *c) != NULL;
            if (stays && *c != '.' && !strchr(out, *c)) write_char(out, *c);
        }
}

hr_node hr_einsum_with(const char *equation, const hr_node *inputs, int count)
{
    written w;
    char text[4 * TEXT], result[TEXT];
    hr_graph *g = inputs && count > 0 ? inputs[0].graph : NULL;
    if (!g) return hr_failed_node(g);
    if (!equation || count > HR_MAX_EINSUM_INPUTS || !read_written(equation, count, &w))
        return hr_node_fail(g, HR_INVALID_ARGUMENT, "graph.equation",
                            "hr_einsum: expected a term of letters for each of at most %d inputs, such as "
                            "'ij,jk->ik' for two, got '%.200s' for %d",
                            HR_MAX_EINSUM_INPUTS, equation ? equation : "", count);
    if (count == 1) {
        (void)snprintf(text, sizeof text, "%s->%s", w.term[0], w.output);
        return hr_new_node(g, "Einsum", HR_INPUTS(inputs[0]), HR_ATTRS(HR_STRING_ATTR("equation", text)));
    }
    hr_node sum = inputs[0];
    for (int i = 1; i < count; i++) {
        combine(&w, i, result);
        if (i == count - 1) memcpy(result, w.output, sizeof result);
        (void)snprintf(text, sizeof text, "%s,%s->%s", w.term[0], w.term[i], result);
        sum = hr_new_node(g, "Einsum", HR_INPUTS(sum, inputs[i]), HR_ATTRS(HR_STRING_ATTR("equation", text)));
        memcpy(w.term[0], result, sizeof result);
    }
    return sum;
}
