/* set_device: nodes run on a device, all or those that say none. */
#include "train/transforms/transform.h"

#include <string.h>

static hr_status set_device_run(hr__draft *d, const transform_arguments *a, hr_error *err)
{
    bool if_default = false;
    const char *device = hr__transform_text(a, "device", 0);
    HR_TRY(hr__transform_bool(a, "if_default", &if_default, err));
    if (!device) return hr__transform_wrong(err, "device", "a device", "none");
    char *own = hr__arena_copy(&d->arena, device, strlen(device) + 1);
    if (!own) return hr__draft_no_memory(err);
    for (int i = 0; i < d->count; i++)
        if (!if_default || !*d->node[i]->device) d->node[i]->device = own;
    return HR_OK;
}

const hr__transform hr__transform_set_device = {
    .info = {"set_device", "device, if_default", "nodes say this device; if_default: those that say none"},
    .run = set_device_run,
};
