/* A small wide and deep model with its training step. */
#include "tests/train/graph/model.h"

static hr_node layer(hr_graph *g, hr_node x, const char *scope, int64_t in, int64_t out, hr_node *w, hr_node *b)
{
    hr_variable_scope(g, scope);
    *w = hr_get_variable(g, "kernel", HR_FLOAT, HR_SHAPE(in, out), .initializer = hr_random_normal(0, 0.3, 1 + in));
    *b = hr_get_variable(g, "bias", HR_FLOAT, HR_SHAPE(out), .initializer = hr_constant_value(0.1));
    hr_node y = hr_bias_add(hr_matmul(x, *w), *b);
    hr_scope_end(g);
    return y;
}

static hr_node step(hr_graph *g, model *m)
{
    hr_node updates[MODEL_VARIABLES];
    const hr_node rate = hr_scalar(g, HR_FLOAT, 0.1);
    hr_gradients(&m->loss, 1, m->variable, MODEL_VARIABLES, m->gradient);
    for (int i = 0; i < MODEL_VARIABLES; i++)
        updates[i] = hr_assign_sub(m->variable[i], hr_mul(hr_gradient_dense(m->gradient[i]), rate));
    return hr_group(g, updates, MODEL_VARIABLES, "train");
}

model model_build(hr_graph *g, int width)
{
    model m = {
        .dense = hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1, MODEL_DENSE), .name = "dense"),
        .ids = hr_placeholder(g, HR_INT64, HR_SHAPE(-1), .name = "ids"),
        .splits = hr_placeholder(g, HR_INT32, HR_SHAPE(-1), .name = "splits"),
        .labels = hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1, 1), .name = "labels"),
    };
    hr_node *v = m.variable;
    v[4] = hr_get_variable(g, "table", HR_FLOAT, HR_SHAPE(MODEL_BUCKETS, MODEL_DIM),
                           .initializer = hr_truncated_normal(0, 0.5, 3));
    v[5] = hr_get_variable(g, "wide", HR_FLOAT, HR_SHAPE(MODEL_BUCKETS, 1), .initializer = hr_zeros());
    hr_node deep[] = {m.dense, hr_embedding_lookup_sparse(v[4], m.ids, m.splits)};
    hr_node h = hr_relu(layer(g, hr_concat(deep, 2, 1), "hidden", MODEL_DENSE + MODEL_DIM, width, &v[0], &v[1]));
    hr_node wide = hr_embedding_lookup_sparse(v[5], m.ids, m.splits, .combiner = HR_SUM);
    m.logits = hr_add(layer(g, h, "logits", width, 1, &v[2], &v[3]), wide);
    m.loss = hr_reduce_mean(hr_sigmoid_cross_entropy(m.logits, m.labels));
    m.train = step(g, &m);
    m.init = hr_global_variables_initializer(g);
    return m;
}

void model_fill(const model *m, model_batch *b, int number, int rows)
{
    const uint64_t key = hr_random(77, (uint64_t)number);
    uint64_t n = 0;
    int32_t ids = 0;
    for (int r = 0; r < rows; r++) {
        for (int i = 0; i < MODEL_DENSE; i++)
            b->dense[r * MODEL_DENSE + i] = (float)hr_random_below(key, n++, 1000) / 500 - 1;
        b->labels[r] = b->dense[r * MODEL_DENSE] + b->dense[r * MODEL_DENSE + 1] > 0;
        b->splits[r] = ids;
        for (int64_t i = hr_random_below(key, n++, MODEL_IDS + 1); i > 0; i--)
            b->ids[ids++] = hr_random_below(key, n++, MODEL_BUCKETS + 2) - 2;
    }
    b->splits[rows] = ids;
    b->feeds[0] = (hr_feed){m->dense, hr_tensor_of(HR_FLOAT, HR_SHAPE(rows, MODEL_DENSE), b->dense)};
    b->feeds[1] = (hr_feed){m->ids, hr_tensor_of(HR_INT64, HR_SHAPE(ids), b->ids)};
    b->feeds[2] = (hr_feed){m->splits, hr_tensor_of(HR_INT32, HR_SHAPE(rows + 1), b->splits)};
    b->feeds[3] = (hr_feed){m->labels, hr_tensor_of(HR_FLOAT, HR_SHAPE(rows, 1), b->labels)};
}
