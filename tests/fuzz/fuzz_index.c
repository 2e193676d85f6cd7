/* Any bytes as FILE.hridx, and the same with a checksum that fits: refused, or an index whose parts fit each other. */
#include "io/framing.h"
#include "io/record/record_index.h"
#include <stdlib.h>
#include <string.h>

static void parse(const char *bytes, size_t size)
{
    hr_error err;
    hr_record_index *index = hr__record_index_new("f");
    if (!index) return;
    if (hr__record_index_parse("f.hridx", bytes, size, index, &err) == HR_OK)
        for (int64_t i = 1; i < index->samples; i++)
            if (index->sample[i] <= index->sample[i - 1]) abort();
    hr_record_index_free(index);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    parse((const char *)data, size);
    char *copy = malloc(size + 4);
    if (!copy) return 0;
    memcpy(copy, data, size);
    hr__record_footer(copy + size, copy, size);
    parse(copy, size + 4);
    free(copy);
    return 0;
}
