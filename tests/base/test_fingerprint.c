/* The hashes that decide buckets: known values of every branch. More are in the golden topic crc_hash. */
#include "base/fingerprint.h"
#include "base/string_hash.h"
#include "tests/testing.h"
#include <stdlib.h>
#include <string.h>

static void known_texts_have_known_fingerprints(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t fingerprint;
    } known[] = {
        {"", UINT64_C(11160318154034397263)},
        {"a", UINT64_C(12917804110809363939)},
        {"abc", UINT64_C(2640714258260161385)},
        {"abcd", UINT64_C(1897425971756105985)},
        {"hello", UINT64_C(13009744463427800296)},
        {"12345678", UINT64_C(3430003927990384362)},
        {"0123456789abcdef", UINT64_C(6105018409752412263)},
        {"0123456789abcdef0", UINT64_C(7920484519069722889)},
        {"9223372036854775807", UINT64_C(12739833532913062319)},
        {"-1", UINT64_C(7333874265151076430)},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        assert_int_equal(hr_fingerprint64(known[i].text, strlen(known[i].text)), known[i].fingerprint);
}

static void long_texts_have_known_fingerprints(void **state)
{
    (void)state;
    static const struct {
        size_t size;
        uint64_t fingerprint;
    } known[] = {
        {32, UINT64_C(12901576723999808517)}, {33, UINT64_C(12270365409943098935)},
        {64, UINT64_C(6916188127298655160)},  {65, UINT64_C(4935023790501551929)},
        {128, UINT64_C(5868382771906808855)}, {129, UINT64_C(17793147381016297142)},
    };
    char text[129];
    memset(text, 'x', sizeof text);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        assert_int_equal(hr_fingerprint64(text, known[i].size), known[i].fingerprint);
}

static void joining_two_depends_on_their_order(void **state)
{
    (void)state;
    uint64_t hello = hr_fingerprint64("Hello", 5), world = hr_fingerprint64("World", 5);
    assert_int_equal(hello, UINT64_C(15404698994557526151));
    assert_int_equal(world, UINT64_C(18308117990299812472));
    assert_int_equal(hr_fingerprint_cat64(hello, world), UINT64_C(16877292868973613377));
    assert_int_equal(hr_fingerprint_cat64(world, hello), UINT64_C(7158413233176775252));
}

/* Exact blocks at odd addresses: a sanitizer sees reads beside them, and unaligned ones. */
static void every_length_reads_only_its_bytes_at_any_address(void **state)
{
    (void)state;
    for (size_t size = 1; size < 300; size++) {
        char *block = malloc(size + 1), *exact = malloc(size);
        assert_non_null(block);
        assert_non_null(exact);
        for (size_t i = 0; i < size; i++) exact[i] = block[i + 1] = (char)hr_random(size, i);
        assert_int_equal(hr_fingerprint64(exact, size), hr_fingerprint64(block + 1, size));
        assert_int_equal(hr_fingerprint64(exact, size), hr__fingerprint64_inline(block + 1, size));
        free(block);
        free(exact);
    }
}

/* The first values of the reference implementation's table. */
static void siphash_gives_its_published_values(void **state)
{
    (void)state;
    const uint64_t key[2] = {UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908)};
    const unsigned char text[15] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14};
    assert_int_equal(hr__siphash64(key, text, 0), UINT64_C(0x726fdb47dd0e0e31));
    assert_int_equal(hr__siphash64(key, text, 1), UINT64_C(0x74f839c593dc67fd));
    assert_int_equal(hr__siphash64(key, text, 15), UINT64_C(0xa129ca6149be45e5));
}

static void buckets_are_the_hash_modulo_their_number(void **state)
{
    (void)state;
    const hr_view hello = {"hello", 5};
    hr_error err;
    int64_t bucket = -1;
    assert_ok(hr__string_to_hash_bucket(HR__HASH_FAST, NULL, &hello, 1, 1000, &bucket, &err), &err);
    assert_int_equal(bucket, UINT64_C(13009744463427800296) % 1000);
    assert_status(hr__string_to_hash_bucket(HR__HASH_FAST, NULL, &hello, 1, 0, &bucket, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.text, "hash: expected num_buckets >= 1, got 0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_texts_have_known_fingerprints),
        cmocka_unit_test(long_texts_have_known_fingerprints),
        cmocka_unit_test(joining_two_depends_on_their_order),
        cmocka_unit_test(every_length_reads_only_its_bytes_at_any_address),
        cmocka_unit_test(siphash_gives_its_published_values),
        cmocka_unit_test(buckets_are_the_hash_modulo_their_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
