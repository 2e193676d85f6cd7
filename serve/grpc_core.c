/* See grpc_core.h. */
#include "serve/grpc_core.h"
#include "base/loaded.h"

#include <uv.h>

hr__grpc_core hr__grpc_calls;
static hr_error failure;

static void core_find(void *library, const char *name, void *function)
{
    if (!hr__loaded_call(library, name, function) && failure.code == HR_OK)
        hr_fail(&failure, HR_UNIMPLEMENTED, "serve.grpc_library", "%s: expected a call %s, found none", HR_GRPC_LIBRARY,
                name);
}

static void core_load(void)
{
    void *library = dlopen(HR_GRPC_LIBRARY, RTLD_LAZY | RTLD_LOCAL);
    if (!library) {
        const char *why = dlerror();
        hr_fail(&failure, HR_UNIMPLEMENTED, "serve.grpc_library", "gRPC: expected the library " HR_GRPC_LIBRARY ": %s",
                why ? why : "it cannot be loaded");
        return;
    }
#define HR__GRPC_CALL(name) core_find(library, #name, &hr__grpc_calls.name);
    HR__GRPC_CALLS(HR__GRPC_CALL)
#undef HR__GRPC_CALL
}

hr_status hr__grpc_core_load(hr_error *err)
{
    static uv_once_t once = UV_ONCE_INIT;
    uv_once(&once, core_load);
    if (failure.code != HR_OK && err) *err = failure;
    return failure.code;
}
