/* TensorFlow's three ways from a string to a bucket, none of which ever changes. Not a public header. */
#ifndef HR_STRING_HASH_H
#define HR_STRING_HASH_H

#include <headrace/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum hr__string_hash {
    HR__HASH_FAST,   /* StringToHashBucketFast: Fingerprint64 */
    HR__HASH_STRONG, /* StringToHashBucketStrong: SipHash-2-4 with a key */
    HR__HASH_OLD,    /* StringToHashBucket: Hash64 */
} hr__string_hash;

uint64_t hr__siphash64(const uint64_t key[2], const void *data, size_t size);

/* The bucket of each string: its hash, unsigned, modulo num_buckets, which must be 1 or more. `key`: of the strong one
 * only. Kind of the failure: hash.num_buckets. */
HR_API hr_status hr__string_to_hash_bucket(hr__string_hash hash, const uint64_t *key, const hr_view *strings,
                                           int64_t count, int64_t num_buckets, int64_t *buckets, hr_error *err);

#ifdef __cplusplus
}
#endif
#endif
