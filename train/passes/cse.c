/* Common subexpressions: of nodes of one op with the same attributes and inputs, the oldest one stands for all.
 * Constants of the same bytes are such, too. */
#include <headrace/pass.h>
#include <string.h>

typedef struct subexpressions {
    hr_rewrite *r;
    hr_graph *g;
    uint32_t *table; /* 1 + a node; 0: free */
    uint64_t *hash;  /* by node */
    size_t mask;
} subexpressions;

/* ---- hashes ---- */

enum { HASHED = 256 /* bytes of a long constant */ };

static uint64_t cse_mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 32;
}

static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) hash = cse_mix(hash, ((const unsigned char *)bytes)[i]);
    return hash;
}

static uint64_t hash_tensor(uint64_t hash, const hr_tensor *t)
{
    hash = cse_mix(cse_mix(hash, t->dtype), (uint64_t)t->count);
    if (t->dtype == HR_STRING) return hash;
    const size_t bytes = (size_t)t->count * hr_dtype_size(t->dtype);
    return hash_bytes(hash, t->data, bytes < HASHED ? bytes : HASHED);
}

/* Two inputs that may be exchanged, in an order of their own. */
static void cse_inputs(const subexpressions *s, hr_node node, hr_node two[2])
{
    for (int i = 0; i < 2; i++) two[i] = hr_rewrite_input(s->r, node, i);
    const bool behind = two[0].id > two[1].id || (two[0].id == two[1].id && two[0].output > two[1].output);
    if (!behind) return;
    const hr_node first = two[0];
    two[0] = two[1];
    two[1] = first;
}

static bool cse_exchanges(hr_node node)
{
    return hr_node_descriptor(node)->traits & HR_COMMUTATIVE && hr_node_inputs(node) == 2;
}

static hr_node cse_input(const subexpressions *s, hr_node node, int i)
{
    hr_node two[2];
    if (!cse_exchanges(node)) return hr_rewrite_input(s->r, node, i);
    cse_inputs(s, node, two);
    return two[i];
}

static uint64_t hash_node(const subexpressions *s, hr_node node)
{
    const char *op = hr_node_op(node);
    uint64_t hash = hash_bytes(0, op, strlen(op));
    for (int i = 0; i < hr_node_inputs(node); i++) {
        const hr_node input = cse_input(s, node, i);
        hash = cse_mix(cse_mix(hash, (uint64_t)input.id), (uint64_t)input.output);
    }
    for (int i = 0; i < hr_node_attrs(node); i++) {
        const hr_attr *a = hr_node_attr_at(node, i);
        if (a->kind == HR_ATTR_TENSOR) hash = hash_tensor(hash, a->tensor);
        if (a->kind == HR_ATTR_INT) hash = cse_mix(hash, (uint64_t)a->i);
        if (a->kind == HR_ATTR_TYPE) hash = cse_mix(hash, a->type);
    }
    return hash;
}

/* ---- what is the same ---- */

static bool same_bytes(const void *a, const void *b, size_t size) { return size == 0 || memcmp(a, b, size) == 0; }

static bool same_views(const hr_view *a, const hr_view *b, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if (a[i].size != b[i].size || !same_bytes(a[i].data, b[i].data, (size_t)a[i].size)) return false;
    return true;
}

static bool same_tensor(const hr_tensor *a, const hr_tensor *b)
{
    if (a->dtype != b->dtype || !hr_shape_equal(a->shape, b->shape)) return false;
    return a->dtype == HR_STRING ? same_views(a->data, b->data, a->count)
                                 : same_bytes(a->data, b->data, (size_t)a->count * hr_dtype_size(a->dtype));
}

static bool same_shapes(const hr_shape *a, const hr_shape *b, int count)
{
    for (int i = 0; i < count; i++)
        if (!hr_shape_equal(a[i], b[i])) return false;
    return true;
}

/* Functions are taken as different. */
static bool same_attr(const hr_attr *a, const hr_attr *b)
{
    const size_t n = (size_t)a->count;
    if (strcmp(a->name, b->name) != 0 || a->kind != b->kind || a->count != b->count) return false;
    switch (a->kind) {
    case HR_ATTR_INT:
        return a->i == b->i;
    case HR_ATTR_FLOAT:
        return same_bytes(&a->f, &b->f, sizeof a->f);
    case HR_ATTR_BOOL:
        return a->b == b->b;
    case HR_ATTR_STRING:
        return same_views(&a->s, &b->s, 1);
    case HR_ATTR_TYPE:
        return a->type == b->type;
    case HR_ATTR_SHAPE:
        return hr_shape_equal(a->shape, b->shape);
    case HR_ATTR_TENSOR:
        return same_tensor(a->tensor, b->tensor);
    case HR_ATTR_INTS:
        return same_bytes(a->ints, b->ints, n * sizeof *a->ints);
    case HR_ATTR_FLOATS:
        return same_bytes(a->floats, b->floats, n * sizeof *a->floats);
    case HR_ATTR_BOOLS:
        return same_bytes(a->bools, b->bools, n * sizeof *a->bools);
    case HR_ATTR_TYPES:
        return same_bytes(a->types, b->types, n * sizeof *a->types);
    case HR_ATTR_STRINGS:
        return same_views(a->strings, b->strings, a->count);
    case HR_ATTR_SHAPES:
        return same_shapes(a->shapes, b->shapes, a->count);
    default:
        return false;
    }
}

static bool same_node(const subexpressions *s, hr_node a, hr_node b)
{
    if (strcmp(hr_node_op(a), hr_node_op(b)) != 0 || hr_node_inputs(a) != hr_node_inputs(b) ||
        hr_node_outputs(a) != hr_node_outputs(b) || hr_node_controls(a) != hr_node_controls(b) ||
        hr_node_attrs(a) != hr_node_attrs(b))
        return false;
    for (int i = 0; i < hr_node_inputs(a); i++) {
        const hr_node x = cse_input(s, a, i), y = cse_input(s, b, i);
        if (x.id != y.id || x.output != y.output) return false;
    }
    for (int i = 0; i < hr_node_controls(a); i++)
        if (hr_node_control(a, i).id != hr_node_control(b, i).id) return false;
    for (int i = 0; i < hr_node_attrs(a); i++)
        if (!same_attr(hr_node_attr_at(a, i), hr_node_attr_at(b, i))) return false;
    return true;
}

/* ---- all nodes ---- */

static hr_status cse_replace(hr_rewrite *r, hr_node old, hr_node by, hr_error *err)
{
    for (int i = 0; i < hr_node_outputs(old); i++)
        HR_TRY(hr_rewrite_replace(r, hr_node_output(old, i), hr_node_output(by, i), err));
    return hr_rewrite_replace(r, hr_target(old), by, err);
}

/* The node that stands for it, or itself, entered in the table. */
static int32_t cse_find(const subexpressions *s, int32_t id)
{
    s->hash[id] = hash_node(s, (hr_node){s->g, id, 0});
    for (size_t at = s->hash[id] & s->mask;; at = (at + 1) & s->mask) {
        const int32_t known = (int32_t)s->table[at] - 1;
        if (known >= 0 && s->hash[known] == s->hash[id] &&
            same_node(s, (hr_node){s->g, known, 0}, (hr_node){s->g, id, 0}))
            return known;
        if (known >= 0) continue;
        s->table[at] = (uint32_t)id + 1;
        return id;
    }
}

static hr_status cse_run(hr_rewrite *r, hr_error *err)
{
    subexpressions s = {.r = r, .g = hr_rewrite_graph(r)};
    const int32_t size = hr_graph_size(s.g);
    hr_status st = HR_OK;
    while (s.mask < 2 * (size_t)size) s.mask = 2 * s.mask + 1;
    s.table = hr_calloc(s.mask + 1, sizeof *s.table);
    s.hash = hr_malloc(sizeof *s.hash * ((size_t)size + 1));
    if (!s.table || !s.hash) st = hr_no_memory(err, "a pass");
    for (int32_t id = 0; st == HR_OK && id < size; id++) {
        const hr_node node = {s.g, id, 0};
        if (hr_rewrite_is_fed(r, node) || !hr_node_is_pure(node) || hr_node_outputs(node) == 0) continue;
        const int32_t first = cse_find(&s, id);
        if (first != id) st = cse_replace(r, node, (hr_node){s.g, first, 0}, err);
    }
    hr_free(s.table);
    hr_free(s.hash);
    return st;
}

const hr_graph_pass hr_graph_pass_cse = {
    .head = HR_GRAPH_PASS_HEAD,
    .name = "cse",
    .text = "computes once what several nodes compute",
    .traits = HR_PASS_EXACT,
    .run = cse_run,
};
