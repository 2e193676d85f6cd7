/* The ops that a graph knows: given to hr_graph_use, registered, built in, or known by TensorFlow's signature alone. */
#include "train/graph/graph_internal.h"

#include <stdlib.h>
#include <string.h>

/* The lines of opdefs.def, each five strings one after the other, found by offset: pointers to them would have to be
 * relocated whenever the library is loaded. */
#define OPDEF_FIELD(line) OPDEF_FIELD_(line)
#define OPDEF_FIELD_(line) line_##line
typedef struct opdef_texts {
#define HR_OPDEF(name, inputs, outputs, attrs, flags)                                                                  \
    char OPDEF_FIELD(__LINE__)[sizeof(name "\0" inputs "\0" outputs "\0" attrs "\0" flags)];
#include "train/graph/opdefs.def"
#undef HR_OPDEF
} opdef_texts;

static const opdef_texts opdefs = {
#define HR_OPDEF(name, inputs, outputs, attrs, flags) name "\0" inputs "\0" outputs "\0" attrs "\0" flags,
#include "train/graph/opdefs.def"
#undef HR_OPDEF
};

static const uint32_t opdef_at[] = {
#define HR_OPDEF(name, inputs, outputs, attrs, flags) offsetof(opdef_texts, OPDEF_FIELD(__LINE__)),
#include "train/graph/opdefs.def"
#undef HR_OPDEF
};

static const char *opdef_text(const uint32_t *at) { return (const char *)&opdefs + *at; }

static int by_name(const void *name, const void *at) { return strcmp(name, opdef_text(at)); }

bool hr__opdef_named(const char *name, hr__opdef *out)
{
    const uint32_t *at = bsearch(name, opdef_at, sizeof opdef_at / sizeof *opdef_at, sizeof *opdef_at, by_name);
    const char **const string[] = {&out->name, &out->inputs, &out->outputs, &out->attrs, &out->flags};
    const char *next = at ? opdef_text(at) : NULL;
    for (size_t i = 0; next && i < sizeof string / sizeof *string; i++) {
        *string[i] = next;
        next += strlen(next) + 1;
    }
    return at != NULL;
}

int hr__op_removed_in(const char *name)
{
    hr__opdef def;
    const char *since = hr__opdef_named(name, &def) ? strchr(def.flags, 'D') : NULL;
    return since ? atoi(since + 1) : 0;
}

/* ---- ops from outside ---- */

const hr__descriptor_kind hr__graph_ops = {
    .what = "op",
    .status = HR_FAILED_PRECONDITION,
    .error = "graph.abi",
    .version = HR_GRAPH_OP_ABI,
    .size = sizeof(hr_graph_op),
    .min_size = offsetof(hr_graph_op, gradient),
};

void hr_graph_use(hr_graph *g, const hr_graph_op *op)
{
    hr_error err;
    const void *fits = NULL;
    if (!g) return;
    hr_graph_op *own = hr__arena_get(&g->arena, sizeof *own);
    if (!own || hr__grow(&g->foreign, g->foreign_count, &g->foreign_capacity, sizeof *g->foreign, NULL) != HR_OK) {
        hr__graph_no_memory(g, "an op");
        return;
    }
    const hr_status st = hr__descriptor_fit(&hr__graph_ops, op, own, &fits, &err);
    if (st == HR_OK)
        g->foreign[g->foreign_count++] = fits;
    else
        hr_node_fail(g, st, err.kind, "%s", err.text);
}

/* A function knows what the graphs around it know. */
static const hr_graph_op *op_named(const hr_graph *g, const char *name)
{
    for (; g; g = g->outer)
        for (int i = 0; i < g->foreign_count; i++)
            if (strcmp(g->foreign[i]->name, name) == 0) return g->foreign[i];
    const hr_graph_op *op = hr_graph_op_named(name);
    return op ? op : hr__registered_op(name);
}

/* An op without a kernel: its nodes can be made, looked at and written, not run. */
static const hr_graph_op *op_of_def(hr_graph *g, const hr__opdef *def, hr_error *err)
{
    hr_graph_op *op = hr__arena_get(&g->arena, sizeof *op);
    if (!op) {
        hr_no_memory(err, "an op");
        return NULL;
    }
    *op = (hr_graph_op){.head = HR_GRAPH_OP_HEAD, .name = def->name};
    op->traits = (strchr(def->flags, 'S') ? HR_STATEFUL : 0) | (strchr(def->flags, 'C') ? HR_COMMUTATIVE : 0);
    return op;
}

const hr__signature *hr__graph_signature(hr_graph *g, const char *name, hr_error *err)
{
    const int known = hr__map_index(&g->signature_names, name);
    if (known >= 0) return g->signatures[known];
    hr__opdef known_def;
    const hr__opdef *def = hr__opdef_named(name, &known_def) ? &known_def : NULL;
    const hr_graph_op *op = op_named(g, name);
    if (!op && !def) {
        hr_fail(err, HR_NOT_FOUND, "graph.op",
                "expected one of TensorFlow's ops, of a library of ops, or of hr_graph_use, got '%.60s'", name);
        return NULL;
    }
    if (!op && !(op = op_of_def(g, def, err))) return NULL;
    hr__signature *sig = hr__arena_get(&g->arena, sizeof *sig);
    if (!sig || hr__grow(&g->signatures, g->signature_count, &g->signature_capacity, sizeof sig, err) != HR_OK ||
        hr__map_set(&g->signature_names, name, strlen(name), g->signature_count, err) != HR_OK) {
        hr_no_memory(err, "a signature");
        return NULL;
    }
    g->signatures[g->signature_count] = sig;
    if (hr__signature_parse(&g->arena, op, def, sig, err) != HR_OK) {
        hr__map_set(&g->signature_names, name, strlen(name), -1, NULL);
        return NULL;
    }
    g->signature_count++;
    return sig;
}

hr_status hr_graph_signature(hr_graph *g, const char *op, const hr_signature **out, hr_error *err)
{
    hr_error why = {0};
    if (!g || !op || !out)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.argument",
                       "hr_graph_signature: expected a graph, an op's name, and a place for its signature, got NULL");
    *out = hr__graph_signature(g, op, &why);
    if (!*out && err) *err = why;
    return *out ? HR_OK : why.code;
}
