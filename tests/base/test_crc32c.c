/* Every kernel gives the same checksums, and those are the known ones. */
#include "base/cpu.h"
#include "base/crc32c.h"
#include "tests/testing.h"
#include <stdlib.h>
#include <string.h>

static void known_texts_have_known_checksums(void **state)
{
    (void)state;
    unsigned char bytes[256];
    assert_int_equal(hr_crc32c(0, "123456789", 9), 0xe3069283);
    assert_int_equal(hr_crc32c(0, NULL, 0), 0);
    memset(bytes, 0, 32);
    assert_int_equal(hr_crc32c(0, bytes, 32), 0x8a9136aa);
    memset(bytes, 0xff, 32);
    assert_int_equal(hr_crc32c(0, bytes, 32), 0x62a8ab43);
    memset(bytes, 'a', 256);
    assert_int_equal(hr_crc32c_mask(hr_crc32c(0, bytes, 256)), 0x1dc267ef);
    assert_int_equal(hr_crc32c_mask(hr_crc32c(0, "\x03\0\0\0\0\0\0\0", 8)), 0x0e4999b0);
    assert_int_equal(hr_crc32c_mask(hr_crc32c(0, "abc", 3)), 0x21f1576e);
    assert_int_equal(hr_crc32c_mask(hr_crc32c(0, "\0\1\0\0\0\0\0\0", 8)), 0xdf08b32f);
}

static void masking_is_undone_by_unmasking(void **state)
{
    (void)state;
    assert_int_equal(hr_crc32c_mask(0), 0xa282ead8);
    assert_int_equal(hr_crc32c_mask(0xe3069283), 0xc78ab0e5);
    for (uint32_t i = 0; i < 1000; i++) {
        uint32_t crc = i * 2654435761u;
        assert_int_equal(hr_crc32c_unmask(hr_crc32c_mask(crc)), crc);
    }
}

/* The definition, a bit at a time. */
static uint32_t naive(uint32_t crc, const unsigned char *p, size_t size)
{
    crc = ~crc;
    for (size_t i = 0; i < size; i++) {
        crc ^= p[i];
        for (int bit = 0; bit < 8; bit++) crc = crc & 1 ? crc >> 1 ^ 0x82f63b78u : crc >> 1;
    }
    return ~crc;
}

static void fill(unsigned char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) bytes[i] = (unsigned char)hr_random(1, i);
}

static void all_kernels_agree_for_every_length_and_alignment(void **state)
{
    (void)state;
    enum { LONGEST = 5000, SHIFTS = 67 };
    unsigned char *bytes = malloc(LONGEST + SHIFTS);
    assert_non_null(bytes);
    fill(bytes, LONGEST + SHIFTS);
    for (size_t size = 0; size <= LONGEST; size++) {
        const unsigned char *p = bytes + size % SHIFTS;
        uint32_t seed = size % 3 ? (uint32_t)hr_random(2, size) : 0, expected = hr__crc32c_portable(seed, p, size);
        if (size % 97 == 0) assert_int_equal(expected, naive(seed, p, size));
        for (int k = 0; k < hr__crc32c_kernel_count; k++) {
            const hr__crc32c_kernel *kernel = &hr__crc32c_kernels[k];
            if (hr__cpu_has(kernel->features) && kernel->fn(seed, p, size) != expected)
                fail_msg("%s: %zu bytes", kernel->name, size);
        }
    }
    free(bytes);
}

/* Blocks of exactly the size: a sanitizer sees what is read beside them. */
static void kernels_read_nothing_beside_their_bytes(void **state)
{
    (void)state;
    for (size_t size = 1; size < 700; size++) {
        unsigned char *exact = malloc(size);
        assert_non_null(exact);
        fill(exact, size);
        for (int k = 0; k < hr__crc32c_kernel_count; k++)
            if (hr__cpu_has(hr__crc32c_kernels[k].features))
                assert_int_equal(hr__crc32c_kernels[k].fn(0, exact, size), hr__crc32c_portable(0, exact, size));
        free(exact);
    }
}

static void pieces_give_the_checksum_of_the_whole(void **state)
{
    (void)state;
    unsigned char bytes[3000];
    fill(bytes, sizeof bytes);
    const uint32_t whole = hr_crc32c(0, bytes, sizeof bytes);
    for (size_t cut = 0; cut <= sizeof bytes; cut += 13)
        assert_int_equal(hr_crc32c(hr_crc32c(0, bytes, cut), bytes + cut, sizeof bytes - cut), whole);
}

static void a_limit_takes_the_fast_kernels_away_and_gives_them_back(void **state)
{
    (void)state;
    unsigned char bytes[1000];
    fill(bytes, sizeof bytes);
    const uint32_t expected = naive(0, bytes, sizeof bytes);
    const unsigned limits[] = {0, HR__SSE42, HR__SSE42 | HR__AVX2, ~0u};
    for (int i = 0; i < 4; i++) {
        hr__cpu_limit(limits[i]);
        if (limits[i] == 0) assert_false(hr__cpu_has(HR__SSE42));
        assert_true(hr__cpu_has(0));
        assert_int_equal(hr_crc32c(0, bytes, sizeof bytes), expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_texts_have_known_checksums),
        cmocka_unit_test(masking_is_undone_by_unmasking),
        cmocka_unit_test(all_kernels_agree_for_every_length_and_alignment),
        cmocka_unit_test(kernels_read_nothing_beside_their_bytes),
        cmocka_unit_test(pieces_give_the_checksum_of_the_whole),
        cmocka_unit_test(a_limit_takes_the_fast_kernels_away_and_gives_them_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
