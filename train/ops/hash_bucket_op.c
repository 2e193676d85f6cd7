/* Strings as numbers below a bound, by their fingerprint. */
#include <headrace/kernels.h>

typedef struct buckets {
    const hr_view *in;
    int64_t *out;
    uint64_t count;
} buckets;

static void bucket_some(int64_t first, int64_t last, void *user)
{
    const buckets *b = user;
    for (int64_t i = first; i < last; i++)
        b->out[i] = (int64_t)(hr_fingerprint64(b->in[i].data, (size_t)b->in[i].size) % b->count);
}

static hr_status bucket_compute(hr_kernel *k, hr_error *err)
{
    hr_tensor *out;
    HR_TRY(hr_kernel_output(k, 0, k->input[0]->shape, &out, err));
    buckets b = {k->input[0]->data, out->data, (uint64_t)hr_attr_int(k->node, "num_buckets")};
    hr_kernel_parallel(k, out->count, 15, bucket_some, &b);
    return HR_OK;
}

const hr_graph_op hr_graph_ops_hash_bucket_op[] = {
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "StringToHashBucketFast",
        .traits = HR_NO_GRADIENT,
        .shape = hr_infer_unchanged,
        .compute = bucket_compute,
    },
    HR_GRAPH_OPS_END,
};
