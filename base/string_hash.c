/* From strings to buckets, and the two hashes that are not Fingerprint64: SipHash-2-4 as it is published, and
 * TensorFlow's old Hash64, a MurmurHash64A with a seed of its own. */
#include "base/string_hash.h"
#include "base/fingerprint.h"

static inline uint64_t rotate_left(uint64_t v, int by) { return v << by | v >> (64 - by); }

static void sip_round(uint64_t v[4])
{
    v[0] += v[1];
    v[2] += v[3];
    v[1] = rotate_left(v[1], 13) ^ v[0];
    v[3] = rotate_left(v[3], 16) ^ v[2];
    v[0] = rotate_left(v[0], 32);
    v[2] += v[1];
    v[0] += v[3];
    v[1] = rotate_left(v[1], 17) ^ v[2];
    v[3] = rotate_left(v[3], 21) ^ v[0];
    v[2] = rotate_left(v[2], 32);
}

static void sip_word(uint64_t v[4], uint64_t word)
{
    v[3] ^= word;
    sip_round(v);
    sip_round(v);
    v[0] ^= word;
}

/* Up to 7 bytes as a little-endian number. */
static uint64_t few_bytes(const unsigned char *p, size_t size)
{
    uint64_t word = 0;
    for (size_t i = 0; i < size; i++) word |= (uint64_t)p[i] << 8 * i;
    return word;
}

uint64_t hr__siphash64(const uint64_t key[2], const void *data, size_t size)
{
    uint64_t v[4] = {key[0] ^ UINT64_C(0x736f6d6570736575), key[1] ^ UINT64_C(0x646f72616e646f6d),
                     key[0] ^ UINT64_C(0x6c7967656e657261), key[1] ^ UINT64_C(0x7465646279746573)};
    const char *p = data;
    size_t left = size;
    for (; left >= 8; p += 8, left -= 8) sip_word(v, hr__get64(p));
    sip_word(v, (uint64_t)size << 56 | few_bytes((const unsigned char *)p, left));
    v[2] ^= 0xff;
    for (int i = 0; i < 4; i++) sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

static uint64_t string_hash64(const void *data, size_t size)
{
    const uint64_t mul = UINT64_C(0xc6a4a7935bd1e995), seed = UINT64_C(0xDECAFCAFFE);
    uint64_t h = seed ^ size * mul;
    const char *p = data;
    size_t left = size;
    for (; left >= 8; p += 8, left -= 8) h = (h ^ hr__shift_mix(hr__get64(p) * mul) * mul) * mul;
    if (left) h = (h ^ few_bytes((const unsigned char *)p, left)) * mul;
    return hr__shift_mix(hr__shift_mix(h) * mul);
}

static uint64_t hash_of(hr__string_hash hash, const uint64_t *key, hr_view s)
{
    if (hash == HR__HASH_STRONG) return hr__siphash64(key, s.data, (size_t)s.size);
    if (hash == HR__HASH_OLD) return string_hash64(s.data, (size_t)s.size);
    return hr__fingerprint64_inline(s.data, (size_t)s.size);
}

hr_status hr__string_to_hash_bucket(hr__string_hash hash, const uint64_t *key, const hr_view *strings, int64_t count,
                                    int64_t num_buckets, int64_t *buckets, hr_error *err)
{
    if (num_buckets < 1)
        return hr_fail(err, HR_INVALID_ARGUMENT, "hash.num_buckets", "hash: expected num_buckets >= 1, got %lld",
                       (long long)num_buckets);
    for (int64_t i = 0; i < count; i++) buckets[i] = (int64_t)(hash_of(hash, key, strings[i]) % (uint64_t)num_buckets);
    return HR_OK;
}
