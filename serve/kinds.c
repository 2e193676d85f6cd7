/* The kinds of servables that this process knows. */
#include "base/descriptor.h"
#include "serve/internal.h"

#include <string.h>

enum { MOST_KINDS = 64 };

extern const hr_servable_kind hr__servable_saved_model;

static const hr_servable_kind *kinds[MOST_KINDS], *given[MOST_KINDS]; /* given: as they were registered */
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

static const hr__descriptor_kind servable_descriptor = {
    .what = "servable",
    .status = HR_INVALID_ARGUMENT,
    .error = "serve.abi",
    .version = HR_SERVABLE_ABI,
    .size = sizeof(hr_servable_kind),
    .min_size = offsetof(hr_servable_kind, feature),
};

/* Under the lock. */
static hr_status add_kind(const hr_servable_kind *kind, hr_error *err)
{
    const hr_servable_kind *there = kind_named(kind->name);
    if (there)
        return hr_fail(err, HR_ALREADY_EXISTS, "serve.platform", "a servable '%.60s': there is one of that name",
                       kind->name);
    if (kind_count == MOST_KINDS)
        return hr_fail(err, HR_RESOURCE_EXHAUSTED, "serve.platform", "a servable '%.60s': there are %d kinds already",
                       kind->name, MOST_KINDS);
    given[kind_count] = NULL;
    kinds[kind_count++] = kind;
    return HR_OK;
}

static bool is_given(const hr_servable_kind *kind)
{
    for (int i = 0; i < kind_count; i++)
        if (given[i] == kind) return true;
    return false;
}

hr_status hr_servable_register(const hr_servable_kind *kind, hr_error *err)
{
    hr_servable_kind *own = hr_malloc(sizeof *own); /* of a shorter descriptor, for ever */
    const void *fits = NULL;
    if (!own) return hr_no_memory(err, "a servable");
    hr_status st = hr__descriptor_fit(&servable_descriptor, kind, own, &fits, err);
    const hr_servable_kind *fit = fits;
    if (st == HR_OK && (!fit->name || !fit->name[0] || !fit->load || !fit->unload || !fit->signature || !fit->run))
        st =
            hr_fail(err, HR_INVALID_ARGUMENT, "serve.abi",
                    "a servable '%.60s': expected a name, load, unload, signature and run", fit->name ? fit->name : "");
    if (st == HR_OK) {
        uv_once(&kinds_once, kinds_begin);
        uv_mutex_lock(&kinds_lock);
        if (is_given(kind)) {
            fit = NULL; /* it is known already */
        } else {
            st = add_kind(fit, err);
            if (st == HR_OK) given[kind_count - 1] = kind;
        }
        uv_mutex_unlock(&kinds_lock);
    }
    if (st != HR_OK || fit != own) hr_free(own);
    return st;
}
