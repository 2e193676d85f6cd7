/* What operators say of their arguments: "shuffle(10000, seed 7)". */
#include "data/dataset.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct hr_description {
    char *text;
    size_t size, used;
    bool begun; /* an argument is there */
};

/* What does not fit is cut off, and every character of a file's name is one that shows. */
static void describe_add(hr_description *to, const char *text)
{
    for (; *text && to->used + 1 < to->size; text++) to->text[to->used++] = (unsigned char)*text < ' ' ? ' ' : *text;
    to->text[to->used] = '\0';
}

static void describe_begin(hr_description *to, const char *name)
{
    describe_add(to, to->begun ? ", " : "(");
    to->begun = true;
    if (name) describe_add(to, name);
}

void hr_describe_text(hr_description *to, const char *name, const char *text)
{
    char clipped[64];
    if (!text) return;
    snprintf(clipped, sizeof clipped, "%s%.40s%s", name ? " " : "", text, strlen(text) > 40 ? "..." : "");
    describe_begin(to, name);
    describe_add(to, clipped);
}

void hr_describe_number(hr_description *to, const char *name, int64_t value)
{
    char number[24];
    snprintf(number, sizeof number, "%" PRId64, value);
    hr_describe_text(to, name, number);
}

void hr_describe_option(hr_description *to, const char *name, int64_t value)
{
    if (value) hr_describe_number(to, name, value);
}

void hr_describe_flag(hr_description *to, const char *name, bool given)
{
    if (given) describe_begin(to, name);
}

void hr_describe_seed(hr_description *to, uint64_t seed, bool same_each_epoch)
{
    char number[24];
    snprintf(number, sizeof number, "%" PRIu64, seed);
    if (seed) hr_describe_text(to, "seed", number);
    hr_describe_flag(to, "same_each_epoch", same_each_epoch);
}

void hr__dataset_describe(const hr_dataset *ds, char *text, size_t size)
{
    hr_description to = {.text = text, .size = size};
    describe_add(&to, ds->op->name);
    if (ds->op->describe) ds->op->describe(ds->spec, &to);
    if (to.begun) describe_add(&to, ")");
}
