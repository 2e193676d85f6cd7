/* The ops and passes that were registered from outside, for all graphs of the process. The list only grows, and what is
 * in it never changes, so it is read without a lock; whoever adds to it holds that of op_library.c. */
#include "train/graph/graph_internal.h"
#include "train/graph/pass.h"

#include <string.h>

static _Atomic(hr__registered *) first_library;

static _Atomic(hr__registered *) *link_after(hr__registered *r) { return r ? &r->next : &first_library; }

static hr__registered *next_library(hr__registered *r)
{
    return atomic_load_explicit(link_after(r), memory_order_acquire);
}

const hr_graph_op *hr__registered_op(const char *name)
{
    for (hr__registered *r = next_library(NULL); r; r = next_library(r))
        for (int i = 0; i < r->ops; i++)
            if (strcmp(r->op[i].name, name) == 0) return &r->op[i];
    return NULL;
}

const hr_graph_pass *hr__registered_pass_at(int i)
{
    for (hr__registered *r = next_library(NULL); r; i -= r->passes, r = next_library(r))
        if (i < r->passes) return &r->pass[i];
    return NULL;
}

bool hr__is_registered(const void *table)
{
    for (hr__registered *r = next_library(NULL); r; r = next_library(r))
        if (r->table == table) return true;
    return false;
}

void hr__registered_add(hr__registered *added)
{
    hr__registered *last = NULL;
    for (hr__registered *r = next_library(NULL); r; r = next_library(r)) last = r;
    atomic_store_explicit(link_after(last), added, memory_order_release);
}
