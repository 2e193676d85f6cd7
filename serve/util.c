/* Small things of the server: faults, memory of a request, histograms, names of types and statuses. */
#include "serve/http.h"

#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

const char hr__answer_type[] = "application/json";

uint64_t hr__serve_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

void hr__no_broken_pipes(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
}

/* ---- faults ---- */

hr_status hr__fault_set(hr__fault *fault, hr_status status, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fault->status = status;
    hr__text_clear(&fault->text);
    hr__text_add(&fault->text, text);
    return status;
}

hr_status hr__fault_error(hr__fault *fault, hr_status status, const hr_error *err)
{
    return hr__fault_set(fault, status, "%s", err->text[0] ? err->text : hr_status_name(status));
}

const char *hr__status_code(hr_status status)
{
    static const char *const codes[] = {
        "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
        "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
        "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
        "DATA_LOSS"};
    return status <= 0 && status >= HR_DATA_LOSS ? codes[-status] : "UNKNOWN";
}

/* ---- memory ---- */

struct hr__memory_block {
    struct hr__memory_block *next;
    size_t size;
};

enum { FIRST_BLOCK = 4 << 10, MOST_BLOCK = 32 << 10 /* larger ones would be half empty, in each request under way */ };

void *hr__memory_take(hr__pool_memory *memory, size_t size)
{
    if (size > SIZE_MAX / 2) return NULL;
    size = size ? (size + 15) & ~(size_t)15 : 16;
    if (size > (size_t)(memory->end - memory->at)) {
        const size_t least = memory->blocks ? memory->blocks->size * 2 : FIRST_BLOCK;
        size_t bytes = least > MOST_BLOCK ? MOST_BLOCK : least;
        if (bytes < size) bytes = size;
        struct hr__memory_block *block = hr_malloc(sizeof *block + bytes);
        if (!block) return NULL;
        *block = (struct hr__memory_block){memory->blocks, bytes};
        memory->blocks = block;
        memory->at = (char *)(block + 1);
        memory->end = memory->at + bytes;
    }
    void *taken = memory->at;
    memory->at += size;
    return taken;
}

void hr__memory_free(hr__pool_memory *memory)
{
    while (memory->blocks) {
        struct hr__memory_block *block = memory->blocks;
        memory->blocks = block->next;
        hr_free(block);
    }
    *memory = (hr__pool_memory){0};
}

/* ---- histograms ---- */

/* 10 * 1.8^i microseconds. */
static const double bucket_bound[HR__BUCKETS] = {
    10.000000,     18.000000,     32.400000,     58.320000,     104.976000,     188.956800,    340.122240,
    612.220032,    1101.996058,   1983.592904,   3570.467227,   6426.841008,    11568.313814,  20822.964866,
    37481.336758,  67466.406165,  121439.531097, 218591.155974, 393464.080753,  708235.345355, 1274823.622,
    2294682.519,   4130428.534,   7434771.361,   13382588.451,  24088659.211,   43359586.580,  78047255.843,
    140485060.518, 252873108.933, 455171596.079, 819308872.942, 1474755971.296,
};

void hr__histogram_add(hr__histogram *h, uint64_t microseconds)
{
    int i = 0;
    while (i < HR__BUCKETS && (double)microseconds >= bucket_bound[i]) i++;
    atomic_fetch_add_explicit(&h->bucket[i], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&h->sum, microseconds, memory_order_relaxed);
}

double hr__histogram_share(const hr__histogram *h, double share)
{
    uint64_t count = 0, seen = 0;
    for (int i = 0; i <= HR__BUCKETS; i++) count += atomic_load_explicit(&h->bucket[i], memory_order_relaxed);
    for (int i = 0; i < HR__BUCKETS && count; i++) {
        seen += atomic_load_explicit(&h->bucket[i], memory_order_relaxed);
        if ((double)seen >= share * (double)count) return bucket_bound[i];
    }
    return count ? INFINITY : 0;
}

/* ---- types ---- */

const char *hr__dtype_proto_name(hr_dtype dtype)
{
    static const char *const names[] = {"DT_INVALID",  "DT_FLOAT",   "DT_DOUBLE", "DT_INT32",      "DT_UINT8",
                                        "DT_INT16",    "DT_INT8",    "DT_STRING", "DT_COMPLEX64",  "DT_INT64",
                                        "DT_BOOL",     "DT_QINT8",   "DT_QUINT8", "DT_QINT32",     "DT_BFLOAT16",
                                        "DT_QINT16",   "DT_QUINT16", "DT_UINT16", "DT_COMPLEX128", "DT_HALF",
                                        "DT_RESOURCE", "DT_VARIANT", "DT_UINT32", "DT_UINT64"};
    return (unsigned)dtype < sizeof names / sizeof *names ? names[dtype] : names[0];
}

const char *hr__dtype_word(hr_dtype dtype)
{
    switch (dtype) {
    case HR_FLOAT:
        return "float";
    case HR_DOUBLE:
        return "double";
    case HR_HALF:
        return "half";
    default:
        return hr_dtype_name(dtype);
    }
}
