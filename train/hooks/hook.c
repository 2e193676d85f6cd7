/* A hook: its kind, and a state of its own. */
#include "base/descriptor.h"
#include "train/hooks/hooks_internal.h"
#include <string.h>

/* What stands in for a hook that could not be made. */
static hr_status say_no_memory(void *state, hr_graph *g, hr_error *err)
{
    (void)state, (void)g;
    return hr_no_memory(err, "a hook");
}

static const hr_hook_kind lost_kind = {.head = HR_HOOK_HEAD, .name = "lost", .begin = say_no_memory};
static hr_hook lost = {.kind = &lost_kind};

hr_hook *hr_hook_lost(void) { return &lost; }

static hr_status say_argument(void *state, hr_graph *g, hr_error *err)
{
    (void)state, (void)g;
    return hr_fail(err, HR_INVALID_ARGUMENT, "hooks.argument", "hook: expected a kind, a folder or an array, got NULL");
}

static const hr_hook_kind refused_kind = {.head = HR_HOOK_HEAD, .name = "refused", .begin = say_argument};

hr_hook *hr_hook_refused(void) { return hr_hook_new(&refused_kind, NULL); }

static const hr__descriptor_kind hook_kinds = {
    .what = "hook",
    .status = HR_FAILED_PRECONDITION,
    .error = "hooks.abi",
    .version = HR_HOOK_ABI,
    .size = sizeof(hr_hook_kind),
    .min_size = offsetof(hr_hook_kind, begin),
};

/* What stands in for a hook whose descriptor does not fit: its state is the error. */
static hr_status say_misfit(void *state, hr_graph *g, hr_error *err)
{
    (void)g;
    if (err) *err = *(const hr_error *)state;
    return ((const hr_error *)state)->code;
}

static const hr_hook_kind misfit_kind = {
    .head = HR_HOOK_HEAD, .name = "misfit", .state_size = sizeof(hr_error), .begin = say_misfit};

hr_hook *hr_hook_new(const hr_hook_kind *given, const void *state)
{
    hr_hook_kind own;
    hr_error err;
    const void *fits = &refused_kind;
    if (given && hr__descriptor_fit(&hook_kinds, given, &own, &fits, &err) != HR_OK) {
        fits = &misfit_kind;
        state = &err;
    }
    const hr_hook_kind *kind = fits;
    if (kind->state_size && !state) kind = &refused_kind;
    hr_hook *hook = hr_calloc(1, sizeof *hook);
    if (hook) hook->state = kind->state_size ? hr_memdup(state, kind->state_size) : NULL;
    if (hook && (hook->state || kind->state_size == 0)) {
        if (kind == &own) hook->own_kind = own;
        hook->kind = kind == &own ? &hook->own_kind : kind;
        return hook;
    }
    hr_free(hook);
    if (kind->release) kind->release((void *)state);
    return &lost;
}

void hr_hook_free(hr_hook *hook)
{
    if (!hook || hook == &lost) return;
    if (hook->kind->release && hook->state) hook->kind->release(hook->state);
    hr_free(hook->state);
    hr_free(hook);
}

const char *hr_hook_name(const hr_hook *hook) { return hook ? hook->kind->name : ""; }
