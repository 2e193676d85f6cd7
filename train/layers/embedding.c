/* Rows of a table by their ids. */
#include "train/layers/layers_internal.h"

hr_node hr_embedding_with(hr_node ids, int64_t count, int64_t width, const hr_embedding_opts *opts)
{
    const hr_embedding_opts o = HR_OPTIONS(hr_embedding_opts, opts);
    if (!hr_node_exists(ids)) return ids;
    if (count < 1 || width < 1)
        return hr_node_fail(ids.graph, HR_INVALID_ARGUMENT, "layers.shape",
                            "embedding: expected a table of at least one row and column, got %lld x %lld",
                            (long long)count, (long long)width);
    const hr__weight table = {
        "embeddings",           o.dtype == HR_INVALID_DTYPE ? HR_FLOAT : o.dtype,
        HR_SHAPE(count, width), hr__initializer_or(o.initializer, hr_random_uniform(-0.05, 0.05, 0)),
        o.regularizer,          o.not_trainable};
    hr__layer_begin(ids.graph, o.name, "embedding");
    const hr_node rows = hr_gather(hr__layer_weight(ids.graph, &table), ids, 0);
    hr_scope_end(ids.graph);
    return rows;
}
