/* Embedding: rows of a table by ids; id 0 may stand for a step that is not there. */
#include <headrace/model_layers.h>

typedef struct embedding_config {
    int64_t count, width;
    hr_embedding_layer_opts o;
} embedding_config;

static hr_node embedding_call(hr_layer_call *c, void *config)
{
    const embedding_config *e = config;
    const hr_dtype dtype = hr_node_dtype(c->input[0]);
    const hr_node ids = dtype == HR_INT32 || dtype == HR_INT64 ? c->input[0] : hr_cast_to(c->input[0], HR_INT32);
    hr_layer_constrain(c, "embeddings", e->o.embeddings_constraint);
    if (e->o.mask_zero) c->output_mask[0] = hr_not_equal(ids, hr_scalar_like(ids, 0));
    return hr_embedding(ids, e->count, e->width, .name = hr_layer_scope(c), .initializer = e->o.embeddings_initializer,
                        .regularizer = e->o.embeddings_regularizer);
}

static hr_status embedding_check(const void *config, hr_error *err)
{
    const embedding_config *e = config;
    if (e->count > 0 && e->width > 0) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "models.argument",
                   "expected input_dim and output_dim of 1 or more, got %lld and %lld", (long long)e->count,
                   (long long)e->width);
}

static const hr_layer_kind embedding_kind = {
    .head = HR_LAYER_HEAD,
    .name = "Embedding",
    .config_size = sizeof(embedding_config),
    .call = embedding_call,
    .traits = HR_LAYER_TAKES_IDS,
    .min_rank = 1,
    .check = embedding_check,
};

hr_layer *hr_embedding_layer_with(int64_t input_dim, int64_t output_dim, const hr_embedding_layer_opts *opts)
{
    const embedding_config e = {input_dim, output_dim, HR_OPTIONS(hr_embedding_layer_opts, opts)};
    return hr_layer_new(&embedding_kind, &e, HR_LAYER_COMMON(&e.o));
}
