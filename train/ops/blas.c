/* See blas.h. An OpenBLAS that is loaded already, by numpy for one, is shared. */
#include "train/ops/blas.h"
#include "train/ops/kernels.h"
#include "base/cpu.h"
#include "base/loaded.h"
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <uv.h>

static hr__blas blas;
static hr__lapack lapack[4]; /* by letter: s, d, c, z */
static hr_error failure, lapack_failure;
static atomic_bool is_loaded;

/* OpenBLAS takes the kernels of its oldest processor where it does not know this one, which is newer than it: a fifth of
 * the speed, seen with 0.3.21 on Intel's fifth Xeon. */
static bool is_unknown_processor(void *library)
{
    char *(*name)(void);
    return hr__cpu_has(HR__AVX2) && hr__loaded_call(library, "openblas_get_corename", &name) &&
           strcasecmp(name(), "Prescott") == 0;
}

/* libquadmath, which comes with Fortran's runtime, adds conversions to printf when it is loaded, and leaves them there
 * when it goes: whoever prints a number then, on any thread, calls what is gone. So it stays. */
static bool keep_conversions(void *library)
{
    Dl_info found;
    const void *call = dlsym(library, "quadmath_snprintf");
    return !call || (dladdr(call, &found) && dlopen(found.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE));
}

/* A processor that OpenBLAS does not know is told to it by the variable that it reads when it is loaded. One that the
 * user has set stays. Its thousands of symbols are looked up when they are called: at once that takes 5 ms. */
static void *open_blas(void)
{
    static const char variable[] = "OPENBLAS_CORETYPE";
    void *library = dlopen(HR_BLAS_LIBRARY, RTLD_LAZY | RTLD_LOCAL); /* for good */
    const char *set = getenv(variable);
    if (set)
        hr_log_message(HR_WARNING, "%s is set: OpenBLAS computes as on a processor of type '%.40s'", variable, set);
    if (!library || set || !is_unknown_processor(library) || !keep_conversions(library)) return library;
    dlclose(library);
    setenv(variable, hr__cpu_has(HR__AVX512) ? "SkylakeX" : "Haswell", 1);
    library = dlopen(HR_BLAS_LIBRARY, RTLD_LAZY | RTLD_LOCAL);
    unsetenv(variable);
    return library;
}

static bool lapack_find(void *library, int letter, const char *name, void *function)
{
    char whole[32];
    (void)snprintf(whole, sizeof whole, "%c%s_", "sdcz"[letter], name);
    return hr__loaded_call(library, whole, function);
}

static void lapack_load(void *library)
{
    bool whole = true;
    for (int i = 0; i < 4; i++) {
        hr__lapack *l = &lapack[i];
        l->is_complex = i >= 2;
        whole =
            whole && lapack_find(library, i, "potrf", &l->potrf) && lapack_find(library, i, "getrf", &l->getrf) &&
            lapack_find(library, i, "getrs", &l->getrs) && lapack_find(library, i, "getri", &l->getri) &&
            lapack_find(library, i, "gels", &l->gels) && lapack_find(library, i, "trsm", &l->trsm) &&
            (l->is_complex ? lapack_find(library, i, "heev", &l->heev) : lapack_find(library, i, "syev", &l->syev)) &&
            (l->is_complex ? lapack_find(library, i, "gesdd", &l->complex_gesdd)
                           : lapack_find(library, i, "gesdd", &l->gesdd));
    }
    if (!whole)
        hr_fail(&lapack_failure, HR_UNAVAILABLE, "linalg.lapack",
                "expected LAPACK's routines in %s, got an OpenBLAS without them; install one that has them, on Debian: "
                "apt-get install libopenblas0-pthread",
                HR_BLAS_LIBRARY);
}

/* From "OpenBLAS 0.3.21 DYNAMIC_ARCH ... Cooperlake MAX_THREADS=64" and "Cooperlake". */
static void blas_describe(void *library)
{
    char *(*config)(void), *(*processor)(void);
    if (!hr__loaded_call(library, "openblas_get_config", &config) ||
        !hr__loaded_call(library, "openblas_get_corename", &processor)) {
        (void)snprintf(blas.text, sizeof blas.text, "OpenBLAS");
        return;
    }
    const char *text = config(), *name_end = strchr(text, ' '), *end = name_end ? strchr(name_end + 1, ' ') : NULL;
    (void)snprintf(blas.text, sizeof blas.text, "%.*s %.40s", (int)(end ? end - text : 40), text, processor());
}

static void blas_load(void)
{
    void *library = open_blas();
    const bool whole = library && hr__loaded_call(library, "cblas_sgemm", &blas.sgemm) &&
                       hr__loaded_call(library, "cblas_dgemm", &blas.dgemm) &&
                       hr__loaded_call(library, "cblas_sdot", &blas.sdot) &&
                       hr__loaded_call(library, "openblas_set_num_threads", &blas.set_num_threads) &&
                       hr__loaded_call(library, "openblas_get_parallel", &blas.get_parallel);
    const char *why = whole ? NULL : dlerror();
    if (!whole)
        hr_fail(&failure, HR_UNAVAILABLE, "matmul.blas",
                "expected OpenBLAS as %s, got: %.200s; install it, on Debian: apt-get install libopenblas0-pthread",
                HR_BLAS_LIBRARY, why ? why : "nothing");
    else {
        lapack_load(library);
        blas_describe(library);
        atomic_store_explicit(&is_loaded, true, memory_order_release);
    }
}

const char *hr__blas_loaded(void) { return atomic_load_explicit(&is_loaded, memory_order_acquire) ? blas.text : NULL; }

hr_status hr__blas_load(const hr__blas **out, hr_error *err)
{
    static uv_once_t once = UV_ONCE_INIT;
    uv_once(&once, blas_load);
    *out = &blas;
    if (failure.code != HR_OK && err) *err = failure;
    return failure.code;
}

void hr__blas_load_early(void)
{
    const hr__blas *unused;
    (void)hr__blas_load(&unused, NULL);
}

hr_status hr__lapack_load(hr_dtype dtype, const hr__lapack **out, hr_error *err)
{
    const hr__blas *unused;
    HR_TRY(hr__blas_load(&unused, err));
    *out = &lapack[dtype == HR_FLOAT || dtype == HR_HALF ? 0 : dtype == HR_DOUBLE ? 1 : dtype == HR_COMPLEX64 ? 2 : 3];
    if (lapack_failure.code != HR_OK && err) *err = lapack_failure;
    return lapack_failure.code;
}

/* Builds of OpenBLAS for one thread have no locks: two products at once may be given the same memory to pack into, and
 * come out wrong. Where the loader has found such a build, there is one call at a time in the process. */
static uv_once_t lock_once = UV_ONCE_INIT;
static uv_mutex_t lock;

static void make_lock(void) { (void)!uv_mutex_init(&lock); /* fails of no mutex that has no attributes */ }

/* OpenBLAS keeps its number of threads for the process, or, in its OpenMP build, for each thread: so each thread says
 * it, once. */
bool hr__blas_begin(const hr__blas *b)
{
    static _Thread_local bool told;
    if (!told) b->set_num_threads(1);
    told = true;
    if (b->get_parallel() != OPENBLAS_SEQUENTIAL) return false;
    uv_once(&lock_once, make_lock);
    uv_mutex_lock(&lock);
    return true;
}

void hr__blas_end(bool alone)
{
    if (alone) uv_mutex_unlock(&lock);
}

hr_status hr_product_prepare(hr_error *err)
{
    const hr__blas *loaded;
    return hr__blas_load(&loaded, err);
}

void hr_product_run(const hr_product *p)
{
    if (p->rows == 0 || p->columns == 0) return;
    if (p->inner == 0) {
        for (int64_t i = 0; !p->add && i < p->rows; i++)
            memset(p->out + i * p->out_row, 0, (size_t)p->columns * sizeof *p->out);
        return;
    }
    const bool alone = hr__blas_begin(&blas);
    blas.sgemm(CblasRowMajor, p->transpose_a ? CblasTrans : CblasNoTrans, p->transpose_b ? CblasTrans : CblasNoTrans,
               (blasint)p->rows, (blasint)p->columns, (blasint)p->inner, 1, p->a, (blasint)p->a_row, p->b,
               (blasint)p->b_row, p->add ? 1 : 0, p->out, (blasint)p->out_row);
    hr__blas_end(alone);
}
