/* Any file as vectors of words. The first byte says in which form; what is read is finite, and of one width. */
#include "tests/fuzz/temporary.h"

#include <headrace/layers.h>
#include <math.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[TEMPORARY];
    hr_tensor out;
    hr_error err;
    if (size == 0) return 0;
    temporary_path(path, "vectors");
    FILE *f = fopen(path, "wb");
    if (!f) return 0;
    fwrite(data + 1, 1, size - 1, f);
    fclose(f);
    if (hr_word_vectors(path, HR_VOCABULARY("a", "the", "b"), &out, &err, .binary = data[0] & 1) == HR_OK) {
        if (out.shape.rank != 2 || out.shape.dims[0] != 3) abort();
        for (int64_t i = 0; i < out.count; i++)
            if (!isfinite(((const float *)out.data)[i])) abort();
        hr_tensor_clear(&out);
    }
    unlink(path);
    return 0;
}
