/* Strings as numbers below a bound, by one of TensorFlow's three hashes. */
#include "base/string_hash.h"
#include <headrace/kernels.h>
#include <headrace/text_ops.h>

typedef struct buckets {
    hr__string_hash hash;
    uint64_t key[2];
    const hr_view *in;
    int64_t *out;
    int64_t count;
} buckets;

/* The bound is at least 1, as the signature says, so that nothing fails. */
static void bucket_some(int64_t first, int64_t last, void *user)
{
    const buckets *b = user;
    hr__string_to_hash_bucket(b->hash, b->key, b->in + first, last - first, b->count, b->out + first, NULL);
}

static hr_status bucket_run(hr_kernel *k, hr__string_hash hash, const uint64_t *key, hr_error *err)
{
    hr_tensor *out;
    HR_TRY(hr_kernel_output(k, 0, k->input[0]->shape, &out, err));
    buckets b = {
        hash, {key ? key[0] : 0, key ? key[1] : 0}, k->input[0]->data, out->data, hr_attr_int(k->node, "num_buckets")};
    hr_kernel_parallel(k, out->count, 15, bucket_some, &b);
    return HR_OK;
}

static hr_status fast_compute(hr_kernel *k, hr_error *err) { return bucket_run(k, HR__HASH_FAST, NULL, err); }
static hr_status old_compute(hr_kernel *k, hr_error *err) { return bucket_run(k, HR__HASH_OLD, NULL, err); }

static hr_status strong_compute(hr_kernel *k, hr_error *err)
{
    int count;
    const int64_t *key = hr_attr_ints(k->node, "key", &count);
    if (count != 2) return hr_fail(err, HR_INVALID_ARGUMENT, "graph.attr", "Key must have 2 elements, got %d", count);
    return bucket_run(k, HR__HASH_STRONG, (const uint64_t[]){(uint64_t)key[0], (uint64_t)key[1]}, err);
}

#define BUCKET_OP(NAME, COMPUTE)                                                                                       \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = (NAME), .traits = HR_NO_GRADIENT, .shapes = "=0", .compute = (COMPUTE),      \
    }

const hr_graph_op hr_graph_ops_hash_bucket_op[] = {
    BUCKET_OP("StringToHashBucket", old_compute),
    BUCKET_OP("StringToHashBucketFast", fast_compute),
    BUCKET_OP("StringToHashBucketStrong", strong_compute),
    HR_GRAPH_OPS_END,
};

hr_node hr_string_to_hash_bucket(hr_node texts, int64_t buckets)
{
    return hr_new_node(NULL, "StringToHashBucketFast", HR_INPUTS(texts), HR_ATTRS(HR_INT_ATTR("num_buckets", buckets)));
}
