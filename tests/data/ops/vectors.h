/* Rows of varying length for tests: element n is a vector of n % 5 times the value n. */
#ifndef VECTORS_H
#define VECTORS_H

#include "tests/data/conformance.h"

static const hr_field vector_field = {.name = "value", .dtype = HR_INT64, .shape = {1, {-1}}};
static const hr_schema vector_schema = {.levels = 0, .fields = 1, .field = &vector_field};

static inline hr_status make_vector(const hr_element *in, hr_builder *out, hr_call *call, void *user)
{
    (void)call, (void)user;
    const int64_t n = *(const int64_t *)hr_get(in, "value")->data;
    int64_t *value = hr_set_count(out, "value", n % 5);
    for (int64_t i = 0; value && i < n % 5; i++) value[i] = n;
    return HR_OK;
}

static inline hr_dataset *vectors(hr_dataset *numbers)
{
    return hr_map(numbers, make_vector, NULL, .output = &vector_schema);
}

#endif
