/* Any bytes as a serialized tensor. What is read is written, in both forms, and read again to the same bytes. */
#include "tests/fuzz/graphs.h"

#include <stdlib.h>
#include <string.h>

static void write_and_read(const hr_tensor *t, hr_status (*export_as)(const hr_tensor *, char **, size_t *, hr_error *))
{
    char *first = NULL, *second = NULL;
    size_t size, again_size;
    hr_tensor again = {0};
    if (export_as(t, &first, &size, NULL) != HR_OK) return;
    if (hr_tensor_import((hr_view){first, (int64_t)size}, &again, NULL) != HR_OK) abort();
    if (export_as(&again, &second, &again_size, NULL) != HR_OK) abort();
    if (size != again_size || memcmp(first, second, size) != 0) abort();
    hr_tensor_clear(&again);
    hr_free(first);
    hr_free(second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hr_tensor t = {0};
    graphs_bound_memory();
    if (hr_tensor_import((hr_view){(const char *)data, (int64_t)size}, &t, NULL) == HR_OK) {
        write_and_read(&t, hr_tensor_export);
        write_and_read(&t, hr_tensor_export_packed);
    }
    hr_tensor_clear(&t);
    return 0;
}
