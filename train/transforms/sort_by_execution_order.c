/* sort_by_execution_order: inputs come before what takes them, so that a reader can make node after node. */
#include "train/transforms/transform.h"

#include <stdlib.h>
#include <string.h>

static hr_status sort_run(hr__draft *d, const transform_arguments *a, hr_error *err)
{
    (void)a;
    int *order, count;
    HR_TRY(hr__draft_order(d, &order, &count, err));
    int *number = hr_malloc(sizeof *number * ((size_t)d->count + 1));
    draft_node **sorted = hr_malloc(sizeof *sorted * ((size_t)d->count + 1));
    hr_status st = number && sorted ? HR_OK : hr__draft_no_memory(err);
    for (int i = 0; st == HR_OK && i < d->count; i++)
        if (d->node[i]->gone) order[count++] = i;
    for (int i = 0; st == HR_OK && i < count; i++) {
        number[order[i]] = i;
        sorted[i] = d->node[order[i]];
    }
    for (int i = 0; st == HR_OK && i < count; i++)
        for (int j = 0; j < sorted[i]->inputs; j++) sorted[i]->input[j].node = number[sorted[i]->input[j].node];
    for (int i = 0; st == HR_OK && i < d->outputs; i++) d->output[i].node = number[d->output[i].node];
    for (int i = 0; st == HR_OK && i < d->feds; i++) d->fed[i].node = number[d->fed[i].node];
    if (st == HR_OK) memcpy(d->node, sorted, sizeof *sorted * (size_t)count);
    for (int i = 0; st == HR_OK && i < count; i++)
        if (!d->node[i]->gone) st = hr__map_set(&d->names, d->node[i]->name, strlen(d->node[i]->name), i, err);
    hr_free(order);
    hr_free(number);
    hr_free(sorted);
    return st;
}

const hr__transform hr__transform_sort_by_execution_order = {
    .info = {"sort_by_execution_order", "", "inputs come before what takes them"},
    .run = sort_run,
};
