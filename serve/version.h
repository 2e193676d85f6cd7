/* Versions, for the manager of models. Not a public header. */
#ifndef HR_SERVE_VERSION_H
#define HR_SERVE_VERSION_H

#include "serve/internal.h"

/* Runs the records of assets.extra/tf_serving_warmup_requests, 1,000 at most. A record that fails fails the load. */
hr_status hr__warmup_replay(hr__version *version, hr_error *err);

/* What is in a base path: the numbers of the versions, the highest first, and prints of their files. */
typedef struct hr__found {
    int64_t number;
    char name[32];
    uint64_t print;
} hr__found;
/* Gives *found (hr_free it). `whole`: folders without saved_model.pb are none. */
hr_status hr__folder_scan(const char *base, bool saved_models, hr__found **found, int *count, hr_error *err);

#endif
