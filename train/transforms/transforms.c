/* The list of transforms, and the text that says which ones run. */
#include "train/transforms/transform.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HR_TRANSFORM(name) extern const hr__transform hr__transform_##name;
#include "train/transforms/transforms.def"
#undef HR_TRANSFORM

static const hr__transform *const transforms[] = {
#define HR_TRANSFORM(name) &hr__transform_##name,
#include "train/transforms/transforms.def"
#undef HR_TRANSFORM
};
enum { TRANSFORMS = sizeof transforms / sizeof *transforms, MOST_ARGUMENTS = 64 };

const hr_transform_info *hr_transform_at(int i) { return i >= 0 && i < TRANSFORMS ? &transforms[i]->info : NULL; }

/* ---- arguments ---- */

const char *hr__transform_text(const transform_arguments *a, const char *name, int i)
{
    for (int j = 0; j < a->count; j++)
        if (strcmp(a->item[j].name, name) == 0 && i-- == 0) return a->item[j].value;
    return NULL;
}

hr_status hr__transform_wrong(hr_error *err, const char *name, const char *expected, const char *got)
{
    return hr_fail(err, HR_INVALID_ARGUMENT, "transform.argument", "argument '%.60s': expected %s, got '%.60s'", name,
                   expected, got);
}

hr_status hr__transform_bool(const transform_arguments *a, const char *name, bool *out, hr_error *err)
{
    const char *text = hr__transform_text(a, name, 0);
    if (!text) return HR_OK;
    *out = strcmp(text, "true") == 0;
    return *out || strcmp(text, "false") == 0 ? HR_OK : hr__transform_wrong(err, name, "true or false", text);
}

hr_status hr__transform_int(const transform_arguments *a, const char *name, int64_t *out, hr_error *err)
{
    char *end;
    const char *text = hr__transform_text(a, name, 0);
    if (!text) return HR_OK;
    *out = strtoll(text, &end, 10);
    return *text && !*end ? HR_OK : hr__transform_wrong(err, name, "a whole number", text);
}

/* ---- the text ---- */

typedef struct text_scanner {
    const char *begin, *at;
    hr__arena *arena;
    hr_error *err;
} text_scanner;

static hr_status scanner_wrong(const text_scanner *s, const char *expected)
{
    return hr_fail(s->err, HR_INVALID_ARGUMENT, "transform.argument", "column %d: expected %s, got '%.20s'",
                   (int)(s->at - s->begin) + 1, expected, s->at);
}

static void scanner_blanks(text_scanner *s)
{
    while (isspace((unsigned char)*s->at)) s->at++;
}

static bool scanner_take(text_scanner *s, char byte)
{
    scanner_blanks(s);
    if (*s->at != byte) return false;
    s->at++;
    return true;
}

static hr_status scanner_copy(const text_scanner *s, const char *from, const char *end, const char **out)
{
    *out = hr__arena_text(s->arena, from, (size_t)(end - from));
    return *out ? HR_OK : hr__draft_no_memory(s->err);
}

static hr_status scan_name(text_scanner *s, const char **out)
{
    scanner_blanks(s);
    const char *begin = s->at;
    while (isalnum((unsigned char)*s->at) || *s->at == '_') s->at++;
    return s->at > begin ? scanner_copy(s, begin, s->at, out) : scanner_wrong(s, "a name");
}

/* In quotes, or up to a comma, a bracket or a blank. */
static hr_status scan_value(text_scanner *s, const char **out)
{
    scanner_blanks(s);
    if (*s->at == '"' || *s->at == '\'') {
        const char quote = *s->at++, *end = strchr(s->at, quote), *begin = s->at;
        if (!end) return scanner_wrong(s, "the end of a value in quotes");
        s->at = end + 1;
        return scanner_copy(s, begin, end, out);
    }
    const char *begin = s->at;
    while (*s->at && !isspace((unsigned char)*s->at) && !strchr(",()\"'", *s->at)) s->at++;
    return scanner_copy(s, begin, s->at, out);
}

static bool takes_argument(const hr__transform *t, const char *name)
{
    const size_t size = strlen(name);
    for (const char *at = t->info.arguments; *at;) {
        const size_t length = strcspn(at, ", ");
        if (length == size && memcmp(at, name, size) == 0) return true;
        at += length;
        at += strspn(at, ", ");
    }
    return false;
}

static hr_status scan_arguments(text_scanner *s, const hr__transform *t, transform_argument *item, int *count)
{
    *count = 0;
    if (!scanner_take(s, '(')) return HR_OK;
    while (!scanner_take(s, ')')) {
        if (*count > 0 && !scanner_take(s, ',')) return scanner_wrong(s, "',' or ')'");
        if (*count == MOST_ARGUMENTS) return scanner_wrong(s, "at most 64 arguments");
        transform_argument *a = &item[(*count)++];
        HR_TRY(scan_name(s, &a->name));
        if (!takes_argument(t, a->name))
            return hr_fail(s->err, HR_INVALID_ARGUMENT, "transform.argument",
                           "%s: expected one of its arguments (%s), got '%.60s'", t->info.name,
                           *t->info.arguments ? t->info.arguments : "it has none", a->name);
        if (!scanner_take(s, '=')) return scanner_wrong(s, "'='");
        HR_TRY(scan_value(s, &a->value));
    }
    return HR_OK;
}

static hr_status scan_transform(text_scanner *s, const hr__transform **out)
{
    const char *name;
    HR_TRY(scan_name(s, &name));
    for (int i = 0; i < TRANSFORMS; i++) {
        *out = transforms[i];
        if (strcmp(name, transforms[i]->info.name) == 0) return HR_OK;
    }
    return hr_fail(s->err, HR_INVALID_ARGUMENT, "transform.name",
                   "expected the name of a transform, such as fold_constants, got '%.60s'", name);
}

/* One after the other, on `d`, or, if that is NULL, none: the text alone is read. */
static hr_status scan_all(hr__draft *d, const char *text, hr__arena *arena, hr_error *err)
{
    text_scanner s = {text, text, arena, err};
    for (scanner_blanks(&s); *s.at; scanner_blanks(&s)) {
        const hr__transform *t;
        transform_argument item[MOST_ARGUMENTS];
        transform_arguments a = {item, 0};
        HR_TRY(scan_transform(&s, &t));
        HR_TRY(scan_arguments(&s, t, item, &a.count));
        const hr_status st = d ? t->run(d, &a, err) : HR_OK;
        if (st != HR_OK) hr_error_prefix(err, "%s: ", t->info.name);
        HR_TRY(st);
    }
    return HR_OK;
}

hr_status hr_transforms_check(const char *text, hr_error *err)
{
    hr__arena arena = {0};
    const hr_status st =
        text ? scan_all(NULL, text, &arena, err)
             : hr_fail(err, HR_INVALID_ARGUMENT, "transform.name", "expected names of transforms, got NULL");
    hr__arena_free(&arena);
    return st;
}

hr_status hr_graph_transform_with(hr_graph *g, const char *text, const hr_node *outputs, int output_count,
                                  const hr_transform_opts *given, hr_graph **out, hr_error *err)
{
    const hr_transform_opts opts = HR_OPTIONS(hr_transform_opts, given);
    hr__draft d;
    hr__arena arena = {0};
    if (!out || output_count < 0 || opts.input_count < 0 || (output_count > 0 && !outputs) ||
        (opts.input_count > 0 && !opts.inputs))
        return hr_fail(err, HR_INVALID_ARGUMENT, "transform.output",
                       "hr_graph_transform: expected outputs and a place for the graph, got NULL");
    *out = NULL;
    HR_TRY(hr_transforms_check(text, err));
    hr_status st = hr__draft_begin(&d, g, outputs, output_count, opts.inputs, opts.input_count, err);
    if (st == HR_OK) st = scan_all(&d, text, &arena, err);
    if (st == HR_OK) st = hr__draft_build(&d, out, err);
    hr__draft_end(&d);
    hr__arena_free(&arena);
    return st;
}
