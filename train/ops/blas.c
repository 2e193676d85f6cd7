/* See blas.h. An OpenBLAS that is loaded already, by numpy for one, is shared. */
#include "train/ops/blas.h"
#include <dlfcn.h>
#include <string.h>
#include <uv.h>

static hr__blas blas;
static hr_error failure;

/* Functions are found as data, which ISO C does not convert to them. */
static bool blas_find(void *library, const char *name, void *function)
{
    void *found = dlsym(library, name);
    if (found) memcpy(function, &found, sizeof found);
    return found;
}

static void blas_load(void)
{
    void *library = dlopen(HR_BLAS_LIBRARY, RTLD_NOW | RTLD_LOCAL); /* for good */
    const bool whole = library && blas_find(library, "cblas_sgemm", &blas.sgemm) &&
                       blas_find(library, "cblas_dgemm", &blas.dgemm) && blas_find(library, "cblas_sdot", &blas.sdot) &&
                       blas_find(library, "openblas_set_num_threads", &blas.set_num_threads) &&
                       blas_find(library, "openblas_get_parallel", &blas.get_parallel);
    const char *why = whole ? NULL : dlerror();
    if (!whole)
        hr_fail(&failure, HR_NOT_FOUND, "matmul.blas",
                "expected OpenBLAS as %s, got: %.200s; install it, on Debian: apt-get install libopenblas0-pthread",
                HR_BLAS_LIBRARY, why ? why : "nothing");
}

hr_status hr__blas_load(const hr__blas **out, hr_error *err)
{
    static uv_once_t once = UV_ONCE_INIT;
    uv_once(&once, blas_load);
    *out = &blas;
    if (failure.code != HR_OK && err) *err = failure;
    return failure.code;
}
