/* See blas.h. An OpenBLAS that is loaded already, by numpy for one, is shared. */
#include "train/ops/blas.h"
#include "base/cpu.h"
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
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

/* OpenBLAS takes the kernels of its oldest processor where it does not know this one, which is newer than it: a fifth of
 * the speed, seen with 0.3.21 on Intel's fifth Xeon. */
static bool is_unknown_processor(void *library)
{
    char *(*name)(void);
    return hr__cpu_has(HR__AVX2) && blas_find(library, "openblas_get_corename", &name) &&
           strcasecmp(name(), "Prescott") == 0;
}

/* A processor that OpenBLAS does not know is told to it by the variable that it reads when it is loaded. One that the
 * user has set stays. */
static void *open_blas(void)
{
    static const char variable[] = "OPENBLAS_CORETYPE";
    void *library = dlopen(HR_BLAS_LIBRARY, RTLD_NOW | RTLD_LOCAL); /* for good */
    if (!library || getenv(variable) || !is_unknown_processor(library)) return library;
    dlclose(library);
    setenv(variable, hr__cpu_has(HR__AVX512) ? "SkylakeX" : "Haswell", 1);
    library = dlopen(HR_BLAS_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    unsetenv(variable);
    return library;
}

static void blas_load(void)
{
    void *library = open_blas();
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
