/* The kinds of servables that this process knows. */
#include "serve/internal.h"

#include <string.h>

enum { MOST_KINDS = 64 };

extern const hr_servable_kind hr__servable_saved_model;

static const hr_servable_kind *kinds[MOST_KINDS];
static int kind_count;
static uv_once_t kinds_once = UV_ONCE_INIT;
static uv_mutex_t kinds_lock;

static void kinds_begin(void)
{
    uv_mutex_init(&kinds_lock);
    kinds[kind_count++] = &hr__servable_saved_model;
}

static const hr_servable_kind *kind_named(const char *name)
{
    for (int i = 0; i < kind_count; i++)
        if (strcmp(kinds[i]->name, name) == 0) return kinds[i];
    return NULL;
}

const hr_servable_kind *hr__servable_kind(const char *platform)
{
    uv_once(&kinds_once, kinds_begin);
    uv_mutex_lock(&kinds_lock);
    const hr_servable_kind *kind = kind_named(platform);
    uv_mutex_unlock(&kinds_lock);
    return kind;
}

hr_status hr_servable_register(const hr_servable_kind *kind, hr_error *err)
{
    if (!kind) return hr_fail(err, HR_INVALID_ARGUMENT, "serve.abi", "a servable: expected a descriptor, got NULL");
    if (kind->head.abi_version != HR_SERVABLE_ABI || kind->head.struct_size < sizeof *kind)
        return hr_fail(err, HR_INVALID_ARGUMENT, "serve.abi",
                       "a servable: expected a descriptor of version %d and %zu bytes, got version %u and %u bytes; "
                       "compile it with this library's headers",
                       HR_SERVABLE_ABI, sizeof *kind, kind->head.abi_version, kind->head.struct_size);
    if (!kind->name || !kind->name[0] || !kind->load || !kind->unload || !kind->signature || !kind->run)
        return hr_fail(err, HR_INVALID_ARGUMENT, "serve.abi",
                       "a servable '%.60s': expected a name, load, unload, signature and run",
                       kind->name ? kind->name : "");
    uv_once(&kinds_once, kinds_begin);
    uv_mutex_lock(&kinds_lock);
    const hr_servable_kind *there = kind_named(kind->name);
    const bool full = kind_count == MOST_KINDS;
    if (!there && !full) kinds[kind_count++] = kind;
    uv_mutex_unlock(&kinds_lock);
    if (there == kind) return HR_OK;
    if (there)
        return hr_fail(err, HR_ALREADY_EXISTS, "serve.platform", "a servable '%.60s': there is one of that name",
                       kind->name);
    if (full)
        return hr_fail(err, HR_RESOURCE_EXHAUSTED, "serve.platform", "a servable '%.60s': there are %d kinds already",
                       kind->name, MOST_KINDS);
    return HR_OK;
}
