/* A hook: its kind, and a state of its own. */
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

hr_hook *hr__hook_lost(void) { return &lost; }

static hr_status say_argument(void *state, hr_graph *g, hr_error *err)
{
    (void)state, (void)g;
    return hr_fail(err, HR_INVALID_ARGUMENT, "hooks.argument",
                   "hook: expected a kind, a folder or an array of what it is about, got NULL");
}

static const hr_hook_kind refused_kind = {.head = HR_HOOK_HEAD, .name = "refused", .begin = say_argument};

hr_hook *hr__hook_refused(void) { return hr_hook_new(&refused_kind, NULL); }

hr_hook *hr_hook_new(const hr_hook_kind *kind, const void *state)
{
    if (!kind || (kind->state_size && !state)) kind = &refused_kind;
    hr_hook *hook = hr_calloc(1, sizeof *hook);
    if (hook) hook->state = kind->state_size ? hr_memdup(state, kind->state_size) : NULL;
    if (hook && (hook->state || kind->state_size == 0)) {
        hook->kind = kind;
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
