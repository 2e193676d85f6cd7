/* Conditions on features: "age>=18", "name~^ann". */
#include "base/number.h"
#include "io/example/wanted_features.h"
#include <headrace/examples.h>
#include <regex.h>
#include <string.h>

typedef enum relation { PRESENT, EQUAL, LESS, AT_MOST, MORE, AT_LEAST, BETWEEN, FOUND } relation;

/* A value in all the forms in which it may be compared. */
typedef struct bound {
    char *text;
    size_t size;
    bool is_whole, is_real;
    int64_t whole;
    float real;
} bound;

typedef struct condition {
    char *key;
    size_t key_size;
    relation relation;
    bool opposite;
    bound low, high; /* high: of a range */
    regex_t regex;
    bool compiled;
} condition;

struct hr_example_filter {
    hr_example_walk *walk;
    condition *condition;
    int conditions;
    hr__wanted wanted; /* the features of all conditions, in their order */
    char *copy;        /* of a string, for the expression */
    size_t capacity;
};

/* ---- reading ---- */

static hr_status unreadable(const char *text, const char *why, hr_error *err)
{
    return hr_fail(
        err, HR_INVALID_ARGUMENT, "filter.condition",
        "condition \"%.60s\": expected FEATURE, !FEATURE, or FEATURE and one of = != < <= > >= ~ with a value, "
        "but %s",
        text, why);
}

static hr_status set_bound(bound *b, const char *text, size_t size, hr_error *err)
{
    if (!(b->text = hr_calloc(size + 1, 1))) return hr_no_memory(err, "a condition");
    memcpy(b->text, text, size);
    b->size = size;
    b->is_whole = hr__parse_int64(text, size, HR__NUMBER_DEFAULT, &b->whole) == HR__PARSED;
    b->is_real = hr__parse_float(text, size, HR__NUMBER_DEFAULT, &b->real) == HR__PARSED;
    return HR_OK;
}

/* Copies the name up to an operator, without backslashes; gives where the operator begins. */
static const char *read_key(condition *c, const char *text)
{
    for (; *text && !strchr("=!<>~", *text); text++) {
        if (*text == '\\' && text[1] && strchr("=!<>~\\", text[1])) text++;
        c->key[c->key_size++] = *text;
    }
    return text;
}

static bool read_relation(condition *c, const char **at)
{
    static const struct {
        const char *sign;
        relation relation;
        bool opposite;
    } relations[] = {{"!=", EQUAL, true}, {"<=", AT_MOST, false}, {">=", AT_LEAST, false}, {"=", EQUAL, false},
                     {"<", LESS, false},  {">", MORE, false},     {"~", FOUND, false}};
    for (size_t i = 0; i < sizeof relations / sizeof *relations; i++) {
        const size_t size = strlen(relations[i].sign);
        if (strncmp(*at, relations[i].sign, size) != 0) continue;
        c->relation = relations[i].relation;
        c->opposite = relations[i].opposite;
        *at += size;
        return true;
    }
    return false;
}

static hr_status read_value(condition *c, const char *text, const char *value, hr_error *err)
{
    const char *dots = c->relation == EQUAL ? strstr(value, "..") : NULL;
    if (dots) {
        c->relation = BETWEEN;
        HR_TRY(set_bound(&c->low, value, (size_t)(dots - value), err));
        return set_bound(&c->high, dots + 2, strlen(dots + 2), err);
    }
    if (c->relation != FOUND) return set_bound(&c->low, value, strlen(value), err);
    char why[128] = "it is no regular expression: ";
    const size_t used = strlen(why);
    const int code = regcomp(&c->regex, value, REG_EXTENDED | REG_NOSUB);
    c->compiled = code == 0;
    if (code == 0) return HR_OK;
    regerror(code, &c->regex, why + used, sizeof why - used);
    return code == REG_ESPACE ? hr_no_memory(err, "a regular expression") : unreadable(text, why, err);
}

static hr_status read_condition(condition *c, const char *text, hr_error *err)
{
    const char *at = text;
    c->opposite = *at == '!';
    if (!(c->key = hr_calloc(strlen(text) + 1, 1))) return hr_no_memory(err, "a condition");
    at = read_key(c, at + c->opposite);
    if (c->key_size == 0) return unreadable(text, "the name is missing", err);
    if (!*at) return HR_OK;
    if (c->opposite) return unreadable(text, "! stands in front of more than a name", err);
    return read_relation(c, &at) ? read_value(c, text, at, err) : unreadable(text, "! stands alone", err);
}

void hr_example_filter_free(hr_example_filter *f)
{
    if (!f) return;
    for (int i = 0; i < f->conditions; i++) {
        condition *c = &f->condition[i];
        hr_free(c->key);
        hr_free(c->low.text);
        hr_free(c->high.text);
        if (c->compiled) regfree(&c->regex);
    }
    hr_free(f->condition);
    hr__wanted_clear(&f->wanted);
    hr_free(f->copy);
    hr_example_walk_free(f->walk);
    hr_free(f);
}

hr_status hr_example_filter_new(const char *const *conditions, int count, hr_example_filter **out, hr_error *err)
{
    *out = NULL;
    bool there = count == 0 || (count > 0 && conditions);
    for (int i = 0; i < count && there; i++) there = conditions[i] != NULL;
    if (!there) return hr_fail(err, HR_INVALID_ARGUMENT, "filter.condition", "expected %d conditions, got NULL", count);
    hr_example_filter *f = hr_calloc(1, sizeof *f);
    hr_status st = HR_OK;
    if (!f || !(f->walk = hr_example_walk_new()) ||
        !(f->condition = hr_calloc((size_t)count + 1, sizeof *f->condition)))
        st = hr_no_memory(err, "conditions");
    if (st == HR_OK) st = hr__wanted_make(&f->wanted, count, err);
    for (int i = 0; i < count && st == HR_OK; i++) {
        condition *c = &f->condition[f->conditions++];
        st = read_condition(c, conditions[i], err);
        if (st == HR_OK) st = hr__wanted_add(&f->wanted, (hr_view){c->key, (int64_t)c->key_size}, err);
    }
    if (st == HR_OK)
        *out = f;
    else
        hr_example_filter_free(f);
    return st;
}

/* ---- comparing ---- */

/* Below, equal to, or above 0, as the value is to the bound; *comparable: they are of one kind. */
static int example_filter_compare(const hr__values *t, int64_t i, const bound *b, bool *comparable)
{
    *comparable = true;
    if (t->dtype == HR_STRING) {
        const hr_view v = ((const hr_view *)t->data)[i];
        const size_t size = (size_t)v.size < b->size ? (size_t)v.size : b->size;
        const int order = size ? memcmp(v.data, b->text, size) : 0;
        return order ? order : ((size_t)v.size > b->size) - ((size_t)v.size < b->size);
    }
    if (t->dtype == HR_INT64 && b->is_whole) {
        const int64_t v = ((const int64_t *)t->data)[i];
        return (v > b->whole) - (v < b->whole);
    }
    const double v = t->dtype == HR_INT64 ? (double)((const int64_t *)t->data)[i] : ((const float *)t->data)[i];
    *comparable = b->is_real && v == v && b->real == b->real;
    return (v > b->real) - (v < b->real);
}

static bool is_found(hr_example_filter *f, const condition *c, hr_view v, hr_status *st, hr_error *err)
{
    const size_t size = (size_t)v.size + 1;
    if (size > f->capacity) {
        char *copy = hr_realloc(f->copy, 2 * size);
        if (!copy) {
            *st = hr_no_memory(err, "a string");
            return false;
        }
        f->copy = copy;
        f->capacity = 2 * size;
    }
    if (v.size) memcpy(f->copy, v.data, (size_t)v.size);
    f->copy[v.size] = '\0';
#ifdef REG_STARTEND
    regmatch_t range = {0, (regoff_t)v.size}; /* NUL bytes and all */
    return regexec(&c->regex, f->copy, 1, &range, REG_STARTEND) == 0;
#else
    return regexec(&c->regex, f->copy, 0, NULL, 0) == 0;
#endif
}

static bool example_filter_fits(hr_example_filter *f, const condition *c, const hr__values *t, int64_t i, hr_status *st,
                                hr_error *err)
{
    if (c->relation == FOUND) return t->dtype == HR_STRING && is_found(f, c, ((const hr_view *)t->data)[i], st, err);
    bool comparable;
    const int order = example_filter_compare(t, i, &c->low, &comparable);
    if (!comparable) return false;
    if (c->relation == LESS) return order < 0;
    if (c->relation == AT_MOST) return order <= 0;
    if (c->relation == MORE) return order > 0;
    if (c->relation == AT_LEAST) return order >= 0;
    if (c->relation == EQUAL) return order == 0;
    return order >= 0 && example_filter_compare(t, i, &c->high, &comparable) <= 0 && comparable;
}

static bool some_value_fits(hr_example_filter *f, const condition *c, const hr__values *values, hr_status *st,
                            hr_error *err)
{
    if (c->relation == PRESENT) return true;
    hr__blocks blocks;
    hr__blocks_begin(&blocks, values);
    for (const hr__values *t; (t = hr__blocks_next(&blocks));)
        for (int64_t i = 0; i < t->count && *st == HR_OK; i++)
            if (example_filter_fits(f, c, t, i, st, err)) return true;
    return false;
}

static bool example_filter_is_key(const condition *c, hr_view key)
{
    return (size_t)key.size == c->key_size && memcmp(key.data, c->key, c->key_size) == 0;
}

static bool holds(hr_example_filter *f, const condition *c, const hr__walk_contents *in, hr_status *st, hr_error *err)
{
    bool found = false;
    for (int64_t i = 0; i < in->features && !found; i++)
        found = example_filter_is_key(c, in->feature[i].key) && some_value_fits(f, c, &in->feature[i].values, st, err);
    for (int64_t i = 0; i < in->lists && !found; i++) {
        if (!example_filter_is_key(c, in->list[i].key)) continue;
        found = c->relation == PRESENT;
        for (int64_t s = 0; s < in->list[i].steps && !found; s++)
            found = some_value_fits(f, c, &in->list[i].step[s], st, err);
    }
    return found != c->opposite;
}

hr_status hr_example_filter_holds(hr_example_filter *f, hr_view record, bool *out, hr_error *err)
{
    hr__walk_contents contents;
    hr_status st = HR_OK;
    HR_TRY(hr__example_walk_record(f->walk, record, &contents, err));
    HR_TRY(hr__wanted_note(&f->wanted, &contents, err));
    *out = true;
    for (int i = 0; i < f->conditions && *out && st == HR_OK; i++)
        *out = holds(f, &f->condition[i], &contents, &st, err);
    return st;
}

hr_status hr_example_filter_check(const hr_example_filter *f, const hr_schema_file *known, hr_error *err)
{
    char advice[80];
    for (int i = 0; i < f->conditions; i++) {
        const condition *c = &f->condition[i];
        if (!hr__wanted_is_absent(&f->wanted, i, known)) continue;
        if (!c->opposite) return hr__wanted_refuse(&f->wanted, i, known, "example.absent", err);
        if (hr__wanted_advice(&f->wanted, i, known, advice, sizeof advice))
            hr_log_message(HR_WARNING, "no record has a feature '%.60s'%s", c->key, advice);
    }
    return HR_OK;
}
