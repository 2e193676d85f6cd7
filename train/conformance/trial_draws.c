/* Draws of whole numbers and of types, for all that is chosen. */
#include "train/conformance/trial.h"

int64_t hr__trial_hostile(trial *t)
{
    static const int64_t numbers[] = {0,
                                      -1,
                                      1,
                                      2,
                                      -2,
                                      8,
                                      9,
                                      255,
                                      65536,
                                      INT32_MAX,
                                      INT64_C(1) << 31,
                                      INT32_MIN,
                                      (INT64_C(1) << 32) + 1,
                                      INT64_C(1) << 40,
                                      INT64_C(1) << 59,
                                      INT64_C(1) << 62,
                                      INT64_MAX,
                                      INT64_MIN,
                                      INT64_MIN + 1,
                                      -(INT64_C(1) << 32)};
    return numbers[below(t, sizeof numbers / sizeof *numbers)];
}

hr_dtype hr__trial_type(trial *t, uint32_t types)
{
    uint32_t sized = 0;
    for (int type = 0; type < 32; type++)
        if (types >> type & 1 && hr_dtype_size((hr_dtype)type) > 0) sized |= 1u << type;
    if (t->smooth && types >> HR_DOUBLE & 1) return HR_DOUBLE;
    if (one_in(t, 40) || !sized) return (hr_dtype)below(t, 32);
    if (types >> HR_FLOAT & 1 && one_in(t, 2)) return HR_FLOAT;
    if (types >> HR_DOUBLE & 1 && one_in(t, 4)) return HR_DOUBLE;
    for (;;) {
        const hr_dtype type = (hr_dtype)below(t, 32);
        if (sized >> type & 1) return type;
    }
}
