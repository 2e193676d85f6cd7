/* Shapes by pattern, "[m,k], [k,n] -> [m,n]", as they are parsed with the signature. */
#include "train/graph/graph_internal.h"

#include <string.h>

typedef struct reader {
    const char *at;
    const hr_graph_op *op;
    hr_error *err;
} reader;

static hr_status pattern_refuse(const reader *r, const char *expected)
{
    return hr_fail(r->err, HR_INVALID_ARGUMENT, "graph.signature", "op '%s': expected %s in its shapes, got \"%.40s\"",
                   r->op->name, expected, r->at);
}

static void pattern_blanks(reader *r)
{
    while (*r->at == ' ') r->at++;
}

static bool pattern_take(reader *r, const char *text)
{
    const size_t size = strlen(text);
    if (strncmp(r->at, text, size) != 0) return false;
    r->at += size;
    pattern_blanks(r);
    return true;
}

static bool pattern_number(reader *r, int *out)
{
    if (*r->at < '0' || *r->at > '9') return false;
    for (*out = 0; *r->at >= '0' && *r->at <= '9' && *out < 100000; r->at++) *out = *out * 10 + (*r->at - '0');
    pattern_blanks(r);
    return true;
}

/* "[m,k]", "[n,...]": after the bracket. */
static hr_status pattern_dims(reader *r, hr__shape_pattern *p)
{
    p->kind = HR__DIMS;
    p->rest = -1;
    while (!pattern_take(r, "]")) {
        int number;
        if (p->rank == HR_MAX_RANK) return pattern_refuse(r, "fewer dimensions");
        if (pattern_take(r, "...")) {
            if (p->rest >= 0) return pattern_refuse(r, "one '...'");
            p->rest = p->rank;
        } else if (*r->at >= 'a' && *r->at <= 'z') {
            p->dim[p->rank++] = HR_DIM_LETTER - (*r->at++ - 'a');
        } else if (pattern_take(r, "?")) {
            p->dim[p->rank++] = -1;
        } else if (pattern_number(r, &number)) {
            p->dim[p->rank++] = number;
        } else {
            return pattern_refuse(r, "a letter, a number, '?' or '...'");
        }
        pattern_blanks(r);
        if (!pattern_take(r, ",") && *r->at != ']') return pattern_refuse(r, "']'");
    }
    return HR_OK;
}

/* "(0,1)"; nothing: all inputs. */
static hr_status pattern_arguments(reader *r, hr__shape_pattern *p)
{
    if (!pattern_take(r, "(")) return HR_OK;
    do {
        if (p->rank == HR_MAX_RANK) return pattern_refuse(r, "fewer inputs");
        if (!pattern_number(r, &p->dim[p->rank++])) return pattern_refuse(r, "the number of an input");
    } while (pattern_take(r, ","));
    return pattern_take(r, ")") ? HR_OK : pattern_refuse(r, "')'");
}

static hr_status pattern_one(reader *r, hr__shape_pattern *p)
{
    static const struct {
        const char *name;
        hr__shape_kind kind;
        int arguments; /* -1: any number */
    } functions[] = {{"bcast", HR__BROADCAST, -1},
                     {"merge", HR__MERGE, -1},
                     {"reduce", HR__REDUCE, 2},
                     {"shape", HR__SHAPE_VALUE, 1}};
    *p = (hr__shape_pattern){.kind = HR__ANY};
    if (pattern_take(r, "?")) return HR_OK;
    if (pattern_take(r, "[")) return pattern_dims(r, p);
    if (pattern_take(r, "=")) {
        p->kind = HR__MERGE;
        p->rank = 1;
        return pattern_number(r, &p->dim[0]) ? HR_OK : pattern_refuse(r, "the number of an input");
    }
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        if (!pattern_take(r, functions[i].name)) continue;
        p->kind = functions[i].kind;
        HR_TRY(pattern_arguments(r, p));
        if (functions[i].arguments >= 0 && functions[i].arguments != p->rank)
            return pattern_refuse(r, "as many inputs as it takes");
        return HR_OK;
    }
    return pattern_refuse(r, "a pattern");
}

static hr_status pattern_list(reader *r, hr__shape_pattern *list, int *count)
{
    *count = 0;
    do {
        if (*count == HR_MAX_OP_ARGS) return pattern_refuse(r, "fewer patterns");
        HR_TRY(pattern_one(r, &list[(*count)++]));
    } while (pattern_take(r, ","));
    return HR_OK;
}

hr_status hr__shapes_parse(hr__arena *arena, const hr_graph_op *op, const hr__shapes **out, hr_error *err)
{
    *out = NULL;
    if (!op->shapes) return HR_OK;
    hr__shapes *s = hr__arena_get(arena, sizeof *s);
    reader r = {op->shapes, op, err};
    if (!s) return hr_no_memory(err, "a signature");
    pattern_blanks(&r);
    HR_TRY(pattern_list(&r, s->output, &s->outputs));
    if (pattern_take(&r, "->")) {
        memcpy(s->input, s->output, sizeof s->input);
        s->inputs = s->outputs;
        HR_TRY(pattern_list(&r, s->output, &s->outputs));
    }
    if (*r.at) return pattern_refuse(&r, "',' or '->'");
    *out = s;
    return HR_OK;
}
