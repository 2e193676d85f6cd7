/* A conversion as one value, so that tests can change a part of it and try again. */
#ifndef HR_TEST_CONVERSION_H
#define HR_TEST_CONVERSION_H

#include <headrace/convert.h>

typedef struct conversion {
    hr_file_list inputs;
    const char *out;
    hr_convert_opts opts;
} conversion;

static inline hr_status run_conversion(const conversion *c, hr_convert_result *result, hr_error *err)
{
    return hr_convert_with(&c->inputs, c->out, &c->opts, result, err);
}

#endif
