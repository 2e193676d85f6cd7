/* MultiHead: several heads over one network. Each has its slice of the logits, its labels, and a weight of its loss. */
#include <headrace/heads.h>
#include <stdio.h>
#include <string.h>

typedef struct multi_head {
    hr_head **head; /* its own */
    float *weight;
    int count;
} multi_head;

static const multi_head *parts_of(const hr_head *head) { return hr_head_state(head); }

static int64_t multi_dimension(const hr_head *head)
{
    int64_t sum = 0;
    for (int i = 0; i < parts_of(head)->count; i++) sum += hr_head_logits_dimension(parts_of(head)->head[i]);
    return sum;
}

static hr_head *const *multi_parts(const hr_head *head, int *count)
{
    *count = parts_of(head)->count;
    return parts_of(head)->head;
}

static hr_status multi_refuse(hr_error *err, const char *expected, const char *got)
{
    return hr_fail(err, HR_INVALID_ARGUMENT, "head.argument", "head 'multi_head': expected %s, got '%.60s'", expected,
                   got ? got : "NULL");
}

static hr_status check_names(const multi_head *m, int i, hr_error *err)
{
    const char *name = hr_head_options(m->head[i])->name;
    if (!name || !*name) return multi_refuse(err, "a name of each head", name);
    for (int k = 0; k < i; k++)
        if (strcmp(name, hr_head_options(m->head[k])->name) == 0)
            return multi_refuse(err, "heads of different names", name);
    return HR_OK;
}

static hr_status multi_check(const hr_head *head, hr_error *err)
{
    const multi_head *m = parts_of(head);
    if (m->count < 1) return multi_refuse(err, "one head or more", "none");
    for (int i = 0; i < m->count; i++) {
        const hr_error *wrong = hr_head_error(m->head[i]);
        if (wrong) {
            *err = *wrong;
            return wrong->code;
        }
        HR_TRY(check_names(m, i, err));
        if (!(m->weight[i] > 0)) return multi_refuse(err, "head_weights above 0", hr_head_options(m->head[i])->name);
    }
    return HR_OK;
}

static void multi_clear(void *state)
{
    multi_head *m = state;
    for (int i = 0; m->head && i < m->count; i++) hr_head_free(m->head[i]);
    hr_free(m->head);
    hr_free(m->weight);
}

/* The columns of part i: from column `at` on. */
static hr_node logits_of(const hr_head_call *c, int64_t at, int64_t width)
{
    hr_graph *g = c->model->graph;
    const int64_t from[] = {0, at}, size[] = {-1, width};
    return hr_slice(c->logits, hr_ints(g, from, 2), hr_ints(g, size, 2));
}

static void add_loss_metric(const hr_head_call *c, const char *name, hr_node loss)
{
    char key[256];
    if (c->model->mode != HR_MODE_EVAL) return;
    snprintf(key, sizeof key, "loss/%.120s", name);
    hr_head_metric(c, key, hr_metric_mean(loss, .name = key));
}

static hr_node multi_build(hr_head_call *c)
{
    const multi_head *m = parts_of(c->head);
    hr_node sum = {0};
    int64_t at = 0;
    for (int i = 0; i < m->count; i++) {
        const int64_t width = hr_head_logits_dimension(m->head[i]);
        const hr_node loss = hr_head_build_part(m->head[i], c->model, logits_of(c, at, width));
        at += width;
        if (c->model->mode == HR_MODE_PREDICT) continue;
        add_loss_metric(c, hr_head_options(m->head[i])->name, loss);
        const hr_node weighted = hr_mul(loss, hr_scalar_like(loss, (double)m->weight[i]));
        sum = i == 0 ? weighted : hr_add(sum, weighted);
    }
    if (hr_node_exists(sum)) hr_add_to_collection(c->model->graph, "losses", sum);
    return sum;
}

static const hr_head_kind multi_kind = {
    .head = HR_HEAD_HEAD,
    .name = "multi_head",
    .state_size = sizeof(multi_head),
    .logits_dimension = multi_dimension,
    .check = multi_check,
    .parts = multi_parts,
    .build = multi_build,
    .clear = multi_clear,
};

static bool take_heads(multi_head *m, hr_head_list heads, const float *weights)
{
    const size_t count = heads.count > 0 && heads.head ? (size_t)heads.count : 0;
    *m = (multi_head){hr_calloc(count + 1, sizeof *m->head), hr_calloc(count + 1, sizeof *m->weight), 0};
    for (size_t i = 0; i < count; i++) {
        if (!m->head || !m->weight) {
            hr_head_free(heads.head[i]);
            continue;
        }
        m->head[m->count] = heads.head[i];
        m->weight[m->count++] = weights ? weights[i] : 1;
    }
    return m->head && m->weight;
}

hr_head *hr_multi_head_with(hr_head_list heads, const hr_multi_head_opts *opts)
{
    const hr_multi_head_opts o = HR_OPTIONS(hr_multi_head_opts, opts);
    multi_head state;
    hr_head *head = take_heads(&state, heads, o.head_weights) ? hr_head_new(&multi_kind, &state, NULL) : NULL;
    if (!head || !hr_head_state(head)) multi_clear(&state);
    return head;
}
