/* The kernels of CRC32C: all give the same numbers, and differ in what they ask of the processor. Not a public
 * header. */
#ifndef HR_CRC32C_H
#define HR_CRC32C_H

#include <headrace/base.h>

/* As hr_crc32c. */
typedef uint32_t hr__crc32c_fn(uint32_t crc, const void *data, size_t size);

typedef struct hr__crc32c_kernel {
    const char *name;
    unsigned features; /* of base/cpu.h */
    hr__crc32c_fn *fn;
} hr__crc32c_kernel;

/* From the slowest to the fastest; the last one whose features are there is used. */
extern const hr__crc32c_kernel hr__crc32c_kernels[];
extern const int hr__crc32c_kernel_count;

/* The next call chooses among the features that are allowed then. */
void hr__crc32c_rechoose(void);

uint32_t hr__crc32c_portable(uint32_t crc, const void *data, size_t size); /* slice-by-8 */
#if defined(__x86_64__)
uint32_t hr__crc32c_sse42(uint32_t crc, const void *data, size_t size);
uint32_t hr__crc32c_vpclmul(uint32_t crc, const void *data, size_t size);
#endif

#endif
