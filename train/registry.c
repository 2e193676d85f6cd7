/* Every op and every pass that is built in, from the lists of the rooms that have some. */
#include "train/graph/graph_internal.h"
#include "train/graph/pass.h"

#include <string.h>

#define HR_GRAPH_OPS(file) extern const hr_graph_op hr_graph_ops_##file[];
#include "train/rooms.def"
#undef HR_GRAPH_OPS

static const hr_graph_op *const files[] = {
#define HR_GRAPH_OPS(file) hr_graph_ops_##file,
#include "train/rooms.def"
#undef HR_GRAPH_OPS
};
enum { FILES = sizeof files / sizeof *files };

const hr_graph_op *hr_graph_op_named(const char *name)
{
    for (int f = 0; f < FILES && name; f++)
        for (const hr_graph_op *op = files[f]; op->name; op++)
            if (strcmp(op->name, name) == 0) return op;
    return NULL;
}

const hr_graph_op *hr_graph_op_at(int i)
{
    for (int f = 0; f < FILES && i >= 0; f++)
        for (const hr_graph_op *op = files[f]; op->name; op++)
            if (i-- == 0) return op;
    return NULL;
}

#define HR_GRAPH_PASS(name) extern const hr_graph_pass hr_graph_pass_##name;
#include "train/passes/passes.def"
#undef HR_GRAPH_PASS

static const hr_graph_pass *const passes[] = {
#define HR_GRAPH_PASS(name) &hr_graph_pass_##name,
#include "train/passes/passes.def"
#undef HR_GRAPH_PASS
};

const hr_graph_pass *hr_graph_pass_at(int i)
{
    enum { PASSES = sizeof passes / sizeof *passes };
    if (i < 0) return NULL;
    return i < PASSES ? passes[i] : hr__registered_pass_at(i - PASSES);
}
