/* What the strings of a signature say, by TensorFlow's grammar: arguments "a:T, v:N*T, d:list:Tdata, i:int64, r:ref T"
 * and attributes "T: type in {float32,float64}; N: int >= 1; keep_dims: bool = false". Parsed once a graph. */
#include "train/graph/graph_internal.h"

#include <stdlib.h>
#include <string.h>

typedef struct cursor {
    hr__arena *arena;
    const char *at;
    const hr_graph_op *op;
    hr_error *err;
} cursor;

static hr_status signature_refuse(const cursor *c, const char *expected)
{
    return hr_fail(c->err, HR_INVALID_ARGUMENT, "graph.signature",
                   "op '%s': expected %s in its signature, got \"%.40s\"", c->op->name, expected, c->at);
}

static void blanks(cursor *c)
{
    while (*c->at == ' ') c->at++;
}

static bool signature_take(cursor *c, char byte)
{
    blanks(c);
    if (*c->at != byte) return false;
    c->at++;
    blanks(c);
    return true;
}

/* A word, up to any byte of the grammar. */
static const char *word(cursor *c, size_t *size)
{
    blanks(c);
    const char *begin = c->at;
    *size = strcspn(begin, " :;,*=>{}()[]");
    c->at += *size;
    return begin;
}

static const char *word_copy(cursor *c)
{
    size_t size;
    const char *text = word(c, &size);
    return hr__arena_text(c->arena, text, size);
}

static bool is(const char *word, size_t size, const char *text)
{
    return strlen(text) == size && memcmp(word, text, size) == 0;
}

static bool take_word(cursor *c, const char *text)
{
    size_t size;
    cursor ahead = *c;
    const char *begin = word(&ahead, &size);
    if (!is(begin, size, text)) return false;
    *c = ahead;
    blanks(c);
    return true;
}

static hr_dtype type_named(const char *word, size_t size)
{
    char name[24] = "";
    if (size >= sizeof name) return HR_INVALID_DTYPE;
    memcpy(name, word, size);
    return hr_dtype_named(name);
}

int hr__signature_attr(const hr__signature *sig, const char *name, size_t size)
{
    for (int i = 0; i < sig->attrs; i++)
        if (is(name, size, sig->attr[i].name)) return i;
    return -1;
}

/* ---- sets of types ---- */

static uint32_t signature_bit(hr_dtype type) { return 1u << type; }

static const uint32_t FLOATS = 1u << HR_FLOAT | 1u << HR_DOUBLE;
static const uint32_t INDICES = 1u << HR_INT32 | 1u << HR_INT64;
static const uint32_t NUMBERS = 1u << HR_FLOAT | 1u << HR_DOUBLE | 1u << HR_INT32 | 1u << HR_INT64 | 1u << HR_UINT8 |
                                1u << HR_INT8 | 1u << HR_INT16 | 1u << HR_UINT16 | 1u << HR_UINT32 | 1u << HR_UINT64;

static const uint32_t VALUES = UINT32_MAX & ~(1u << HR_RESOURCE) & ~(1u << HR_VARIANT);

static uint32_t set_named(const char *text, size_t size)
{
    if (is(text, size, "floats")) return FLOATS;
    if (is(text, size, "indices")) return INDICES;
    if (is(text, size, "numbers")) return NUMBERS;
    if (is(text, size, "any")) return VALUES;
    if (is(text, size, "type")) return UINT32_MAX;
    return 0;
}

/* "{float32,float64}", "floats", "type", "type in {float32}". */
static hr_status parse_types(cursor *c, uint32_t *types)
{
    size_t size;
    *types = 0;
    if (!signature_take(c, '{')) {
        const char *text = word(c, &size);
        *types = set_named(text, size);
        if (!*types) return signature_refuse(c, "a set of types");
        return *types == UINT32_MAX && take_word(c, "in") ? parse_types(c, types) : HR_OK;
    }
    do {
        const char *text = word(c, &size);
        const hr_dtype type = type_named(text, size);
        const uint32_t set = set_named(text, size);
        if (type == HR_INVALID_DTYPE && !set) return signature_refuse(c, "a type");
        *types |= set | (type != HR_INVALID_DTYPE ? signature_bit(type) : 0);
    } while (signature_take(c, ','));
    return signature_take(c, '}') ? HR_OK : signature_refuse(c, "'}'");
}

/* ---- attributes ---- */

/* "string in {SAME,VALID}". */
static hr_status parse_words(cursor *c, hr_attr_def *a)
{
    if (!take_word(c, "in")) return HR_OK;
    if (!signature_take(c, '{')) return signature_refuse(c, "'{'");
    const char *words[16];
    do {
        if (a->word_count == 16) return signature_refuse(c, "fewer words");
        if (!(words[a->word_count++] = word_copy(c))) return hr_no_memory(c->err, "a signature");
    } while (signature_take(c, ','));
    a->words = hr__arena_copy(c->arena, words, sizeof *words * (size_t)a->word_count);
    if (!a->words) return hr_no_memory(c->err, "a signature");
    return signature_take(c, '}') ? HR_OK : signature_refuse(c, "'}'");
}

static hr_status parse_kind(cursor *c, hr_attr_def *a)
{
    static const struct {
        const char *name;
        hr_attr_kind kind, list;
    } kinds[] = {{"int", HR_ATTR_INT, HR_ATTR_INTS},       {"float", HR_ATTR_FLOAT, HR_ATTR_FLOATS},
                 {"bool", HR_ATTR_BOOL, HR_ATTR_BOOLS},    {"string", HR_ATTR_STRING, HR_ATTR_STRINGS},
                 {"shape", HR_ATTR_SHAPE, HR_ATTR_SHAPES}, {"tensor", HR_ATTR_TENSOR, HR_ATTR_TENSORS},
                 {"func", HR_ATTR_FUNC, HR_ATTR_FUNCS}};
    size_t size;
    cursor ahead = *c;
    const char *text = word(&ahead, &size);
    const bool list = is(text, size, "list") && signature_take(&ahead, '(');
    if (list) {
        *c = ahead;
        text = word(&ahead, &size);
    }
    a->types = UINT32_MAX;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (!is(text, size, kinds[i].name)) continue;
        a->kind = list ? kinds[i].list : kinds[i].kind;
        *c = ahead;
        if (a->kind == HR_ATTR_STRING) HR_TRY(parse_words(c, a));
        return !list || signature_take(c, ')') ? HR_OK : signature_refuse(c, "')'");
    }
    a->kind = list ? HR_ATTR_TYPES : HR_ATTR_TYPE;
    HR_TRY(parse_types(c, &a->types));
    if (!list) return HR_OK;
    if (!signature_take(c, ')')) return signature_refuse(c, "')'");
    return take_word(c, "in") ? parse_types(c, &a->types) : HR_OK;
}

/* "text", or a word without quotes. */
static hr_status parse_string(cursor *c, hr_view *out)
{
    const bool quoted = *c->at == '"';
    const char *from = quoted ? c->at + 1 : c->at;
    char *copy = hr__arena_text(c->arena, from, strlen(from)), *to = copy;
    if (!copy) return hr_no_memory(c->err, "a signature");
    while (*from && (quoted ? *from != '"' : *from != ' ' && *from != ';')) {
        char byte = *from++;
        if (byte == '\\' && quoted && *from) {
            byte = *from++;
            byte = byte == 't' ? '\t' : byte == 'n' ? '\n' : byte;
        }
        *to++ = byte;
    }
    *to = 0;
    c->at = from + (quoted && *from == '"');
    blanks(c);
    *out = (hr_view){copy, to - copy};
    return HR_OK;
}

/* "[1, 1, 1, 1]", "[0.75, 1.33]"; of other lists only "[]". */
static hr_status parse_list(cursor *c, hr_attr_def *a)
{
    int64_t ints[17] = {0};
    float floats[17] = {0};
    const bool whole = a->kind == HR_ATTR_INTS;
    while (!signature_take(c, ']')) {
        char *end;
        if ((!whole && a->kind != HR_ATTR_FLOATS) || a->value.count == 16) return signature_refuse(c, "']'");
        if (whole)
            ints[a->value.count++] = strtoll(c->at, &end, 10);
        else
            floats[a->value.count++] = strtof(c->at, &end);
        if (end == c->at) return signature_refuse(c, "a number");
        c->at = end;
        signature_take(c, ',');
    }
    const size_t count = (size_t)(a->value.count + 1);
    a->value.ints = whole ? hr__arena_copy(c->arena, ints, sizeof *ints * count)
                          : hr__arena_copy(c->arena, floats, sizeof *floats * count);
    return a->value.ints ? HR_OK : hr_no_memory(c->err, "a signature");
}

/* "uint8[255, 0, 0, 255]": a vector of bytes, the one default that tensors have. */
static hr_status parse_bytes(cursor *c, hr_attr_def *a)
{
    uint8_t bytes[17] = {0};
    int64_t count = 0;
    if (!take_word(c, "uint8") || !signature_take(c, '[')) return signature_refuse(c, "'uint8['");
    while (!signature_take(c, ']')) {
        char *end;
        if (count == 16) return signature_refuse(c, "']'");
        bytes[count++] = (uint8_t)strtol(c->at, &end, 10);
        if (end == c->at) return signature_refuse(c, "a number");
        c->at = end;
        signature_take(c, ',');
    }
    const hr_tensor value = hr_tensor_of(HR_UINT8, HR_SHAPE(count), hr__arena_copy(c->arena, bytes, sizeof bytes));
    a->value.tensor = hr__arena_copy(c->arena, &value, sizeof value);
    return value.data && a->value.tensor ? HR_OK : hr_no_memory(c->err, "a signature");
}

static hr_status parse_default(cursor *c, hr_attr_def *a)
{
    size_t size;
    a->has_default = true;
    a->value = (hr_attr){.name = a->name, .kind = a->kind};
    if (a->kind == HR_ATTR_STRING) return parse_string(c, &a->value.s);
    if (a->kind == HR_ATTR_TENSOR) return parse_bytes(c, a);
    if (a->kind == HR_ATTR_SHAPE) a->value.shape = *c->at == '[' ? HR_SCALAR : HR_UNKNOWN_SHAPE;
    if (a->kind != HR_ATTR_SHAPE && signature_take(c, '[')) return parse_list(c, a);
    if (signature_take(c, '[')) return signature_take(c, ']') ? HR_OK : signature_refuse(c, "']'");
    const char *text = word(c, &size);
    switch (a->kind) {
    case HR_ATTR_INT:
        a->value.i = strtoll(text, NULL, 10);
        break;
    case HR_ATTR_FLOAT:
        a->value.f = strtof(text, NULL);
        break;
    case HR_ATTR_BOOL:
        a->value.b = is(text, size, "true");
        break;
    case HR_ATTR_TYPE:
        a->value.type = type_named(text, size);
        break;
    case HR_ATTR_SHAPE:
        break;
    default:
        return signature_refuse(c, "an attribute that may have this default");
    }
    return HR_OK;
}

static hr_status parse_minimum(cursor *c, hr_attr_def *a)
{
    char *end;
    if (!signature_take(c, '=')) return signature_refuse(c, "'>='");
    blanks(c);
    a->min = strtoll(c->at, &end, 10);
    if (end == c->at) return signature_refuse(c, "a number");
    c->at = end;
    return HR_OK;
}

static hr_status parse_attr(cursor *c, hr__signature *sig)
{
    if (sig->attrs == HR_MAX_OP_ATTRS) return signature_refuse(c, "fewer attributes");
    hr_attr_def *a = &sig->attr[sig->attrs];
    *a = (hr_attr_def){.name = word_copy(c), .min = INT64_MIN};
    if (!a->name) return hr_no_memory(c->err, "a signature");
    if (!signature_take(c, ':')) return signature_refuse(c, "':'");
    HR_TRY(parse_kind(c, a));
    blanks(c);
    if (signature_take(c, '>')) HR_TRY(parse_minimum(c, a));
    if (signature_take(c, '=')) HR_TRY(parse_default(c, a));
    sig->attrs++;
    return HR_OK;
}

/* The attribute whose type chooses the kernel: "T", "dtype", or that of the first input or output. */
static int chooses_kernel(const hr__signature *sig)
{
    int at = hr__signature_attr(sig, "T", 1);
    if (at < 0) at = hr__signature_attr(sig, "dtype", 5);
    if (at < 0 && sig->inputs > 0) at = sig->input[0].type_attr;
    if (at < 0 && sig->outputs > 0) at = sig->output[0].type_attr;
    return at;
}

/* The types of the kernel, within those that the signature allows. */
static hr_status parse_kernels(cursor *c, const char *types, hr__signature *sig)
{
    uint32_t table = 0;
    for (int i = 0; i < sig->attrs; i++) sig->attr[i].kernels = sig->attr[i].types;
    for (const hr_type_kernel *k = sig->op->kernels; k && k->dtype != HR_INVALID_DTYPE; k++)
        table |= signature_bit(k->dtype);
    sig->kernel_attr = table ? chooses_kernel(sig) : -1;
    if (sig->kernel_attr >= 0) sig->attr[sig->kernel_attr].kernels &= table;
    c->at = types ? types : "";
    blanks(c);
    while (*c->at) {
        size_t size;
        uint32_t set;
        const char *name = word(c, &size);
        const int at = hr__signature_attr(sig, name, size);
        if (at < 0 || !signature_take(c, ':')) return signature_refuse(c, "a type attribute of the op and ':'");
        HR_TRY(parse_types(c, &set));
        sig->attr[at].kernels &= set;
        if (!signature_take(c, ';') && *c->at) return signature_refuse(c, "';'");
    }
    return HR_OK;
}

/* ---- arguments ---- */

static hr_status parse_type(cursor *c, const hr__signature *sig, hr_arg_def *arg)
{
    size_t size;
    arg->ref = take_word(c, "ref");
    const char *text = word(c, &size);
    if (is(text, size, "list") && signature_take(c, ':')) {
        text = word(c, &size);
        arg->list_attr = hr__signature_attr(sig, text, size);
        return arg->list_attr >= 0 ? HR_OK : signature_refuse(c, "the name of a list attribute");
    }
    if (signature_take(c, '*')) {
        arg->number_attr = hr__signature_attr(sig, text, size);
        if (arg->number_attr < 0) return signature_refuse(c, "the name of an int attribute");
        text = word(c, &size);
    }
    arg->type_attr = hr__signature_attr(sig, text, size);
    if (arg->type_attr < 0) arg->type = type_named(text, size);
    return arg->type_attr >= 0 || arg->type != HR_INVALID_DTYPE ? HR_OK : signature_refuse(c, "a type");
}

static hr_status parse_args(cursor *c, const char *text, const hr__signature *sig, hr_arg_def *args, int *count)
{
    c->at = text ? text : "";
    blanks(c);
    while (*c->at) {
        if (*count == HR_MAX_OP_ARGS) return signature_refuse(c, "fewer arguments");
        hr_arg_def *arg = &args[*count];
        *arg = (hr_arg_def){.name = word_copy(c), .type_attr = -1, .number_attr = -1, .list_attr = -1};
        if (!arg->name) return hr_no_memory(c->err, "a signature");
        if (!signature_take(c, ':')) return signature_refuse(c, "':'");
        HR_TRY(parse_type(c, sig, arg));
        ++*count;
        if (!signature_take(c, ',') && *c->at) return signature_refuse(c, "','");
    }
    return HR_OK;
}

static hr_status parse_signature(cursor *c, const hr__opdef *said, hr__signature *out)
{
    blanks(c);
    while (*c->at) {
        HR_TRY(parse_attr(c, out));
        if (!signature_take(c, ';') && *c->at) return signature_refuse(c, "';'");
    }
    HR_TRY(parse_args(c, said->inputs, out, out->input, &out->inputs));
    HR_TRY(parse_args(c, said->outputs, out, out->output, &out->outputs));
    HR_TRY(hr__shapes_parse(c->arena, out->op, &out->shapes, c->err));
    return parse_kernels(c, out->op->types, out);
}

hr_status hr__signature_parse(hr__arena *arena, const hr_graph_op *op, const hr__opdef *def, hr__signature *out,
                              hr_error *err)
{
    const bool own = op->inputs || op->outputs || op->attrs || !def;
    const hr__opdef said = own ? (hr__opdef){op->name, op->inputs, op->outputs, op->attrs, ""} : *def;
    cursor c = {arena, said.attrs ? said.attrs : "", op, err};
    hr_arg_def input[HR_MAX_OP_ARGS], output[HR_MAX_OP_ARGS];
    hr_attr_def attr[HR_MAX_OP_ATTRS];
    if (op->head.abi_version != HR_GRAPH_OP_ABI || (!op->compute && !def))
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.signature",
                       "op '%s': expected HR_GRAPH_OP_HEAD of version %d and a compute function", op->name,
                       HR_GRAPH_OP_ABI);
    *out = (hr__signature){.op = op, .inputs_text = said.inputs, .input = input, .output = output, .attr = attr};
    const hr_status st = parse_signature(&c, &said, out);
    out->input = hr__arena_copy(arena, input, sizeof *input * (size_t)out->inputs);
    out->output = hr__arena_copy(arena, output, sizeof *output * (size_t)out->outputs);
    out->attr = hr__arena_copy(arena, attr, sizeof *attr * (size_t)out->attrs);
    if (st == HR_OK && (!out->input || !out->output || !out->attr)) return hr_no_memory(err, "a signature");
    return st;
}

/* ---- looking at one ---- */

int hr_signature_inputs(const hr_signature *sig) { return sig ? sig->inputs : 0; }
int hr_signature_outputs(const hr_signature *sig) { return sig ? sig->outputs : 0; }
int hr_signature_attrs(const hr_signature *sig) { return sig ? sig->attrs : 0; }

const hr_arg_def *hr_signature_input(const hr_signature *sig, int i)
{
    return sig && i >= 0 && i < sig->inputs ? &sig->input[i] : NULL;
}

const hr_arg_def *hr_signature_output(const hr_signature *sig, int i)
{
    return sig && i >= 0 && i < sig->outputs ? &sig->output[i] : NULL;
}

const hr_attr_def *hr_signature_attr(const hr_signature *sig, int i)
{
    return sig && i >= 0 && i < sig->attrs ? &sig->attr[i] : NULL;
}

bool hr_signature_input_dims(const hr_signature *sig, int input, hr_dims_pattern *out)
{
    if (!sig || !sig->shapes || input < 0 || input >= sig->shapes->inputs) return false;
    const hr__shape_pattern *p = &sig->shapes->input[input];
    *out = (hr_dims_pattern){.rank = p->rank, .rest = p->rest};
    memcpy(out->dim, p->dim, sizeof out->dim);
    return p->kind == HR__DIMS;
}

/* ---- two of them ---- */

/* An attribute by its name; none: the type itself. */
static bool same_name(const hr__signature *a, int at_a, const hr__signature *b, int at_b)
{
    if (at_a < 0 || at_b < 0) return at_a == at_b;
    return strcmp(a->attr[at_a].name, b->attr[at_b].name) == 0;
}

static bool same_args(const hr__signature *a, const hr_arg_def *args_a, int count_a, const hr__signature *b,
                      const hr_arg_def *args_b, int count_b)
{
    for (int i = 0; i < count_a && i < count_b; i++) {
        const hr_arg_def *x = &args_a[i], *y = &args_b[i];
        if (strcmp(x->name, y->name) != 0 || x->type != y->type || x->ref != y->ref ||
            !same_name(a, x->type_attr, b, y->type_attr) || !same_name(a, x->number_attr, b, y->number_attr) ||
            !same_name(a, x->list_attr, b, y->list_attr))
            return false;
    }
    return count_a == count_b;
}

static bool same_default(const hr_attr_def *a, const hr_attr_def *b)
{
    const hr_attr *x = &a->value, *y = &b->value;
    if (a->has_default != b->has_default || !a->has_default) return a->has_default == b->has_default;
    switch (a->kind) {
    case HR_ATTR_INT:
        return x->i == y->i;
    case HR_ATTR_FLOAT:
        return x->f == y->f;
    case HR_ATTR_BOOL:
        return x->b == y->b;
    case HR_ATTR_TYPE:
        return x->type == y->type;
    case HR_ATTR_STRING:
        return x->s.size == y->s.size && memcmp(x->s.data, y->s.data, (size_t)x->s.size) == 0;
    case HR_ATTR_SHAPE:
        return hr_shape_equal(x->shape, y->shape);
    case HR_ATTR_INTS:
        return x->count == y->count && memcmp(x->ints, y->ints, (size_t)x->count * sizeof *x->ints) == 0;
    default:
        return x->count == y->count;
    }
}

static bool same_attr(const hr_attr_def *a, const hr_attr_def *b)
{
    bool same = a->kind == b->kind && a->types == b->types && a->min == b->min && a->word_count == b->word_count;
    for (int i = 0; same && i < a->word_count; i++) same = strcmp(a->words[i], b->words[i]) == 0;
    return same && same_default(a, b);
}

const char *hr__signature_difference(const hr__signature *a, const hr__signature *b)
{
    if (!same_args(a, a->input, a->inputs, b, b->input, b->inputs)) return "inputs";
    if (!same_args(a, a->output, a->outputs, b, b->output, b->outputs)) return "outputs";
    for (int i = 0; i < a->attrs; i++) {
        const int at = hr__signature_attr(b, a->attr[i].name, strlen(a->attr[i].name));
        if (at < 0 || !same_attr(&a->attr[i], &b->attr[at])) return "attributes";
    }
    return a->attrs == b->attrs ? NULL : "attributes";
}
