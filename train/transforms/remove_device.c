/* remove_device: nodes run anywhere. */
#include "train/transforms/transform.h"

static hr_status remove_device_run(hr__draft *d, const transform_arguments *a, hr_error *err)
{
    (void)a, (void)err;
    for (int i = 0; i < d->count; i++) d->node[i]->device = "";
    return HR_OK;
}

const hr__transform hr__transform_remove_device = {
    .info = {"remove_device", "", "nodes say no device any more"},
    .run = remove_device_run,
};
