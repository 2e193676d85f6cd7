/* What is wrong with a trial, in words; and its memory, of which there may be none. */
#include "train/conformance/trial.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory: the end of a block is where its bytes end, so that reading on is seen ---- */

struct trial_block {
    struct trial_block *next;
    uint64_t align;
};

void *hr__trial_memory(trial *t, size_t size)
{
    struct trial_block *block = malloc(sizeof *block + size);
    if (!block) {
        hr__trial_wrong(t, "conformance.sample", "expected %zu bytes for the suite itself, got none", size);
        return NULL;
    }
    block->next = t->memory;
    t->memory = block;
    return memset(block + 1, 0, size);
}

void hr__trial_free_memory(trial *t)
{
    while (t->memory) {
        struct trial_block *next = t->memory->next;
        free(t->memory);
        t->memory = next;
    }
}

/* ---- what is wrong ---- */

/* Adds to the text of an error; the rest is left out. */
static void add(char *text, size_t size, const char *format, ...) HR_PRINTF(3, 4);
static void add(char *text, size_t size, const char *format, ...)
{
    const size_t used = strlen(text);
    va_list args;
    va_start(args, format);
    vsnprintf(text + used, size - used, format, args);
    va_end(args);
}

static void add_attrs(const trial *t, char *text, size_t size)
{
    char shape[256];
    for (int i = 0; i < t->attrs; i++) {
        const hr_attr *a = &t->attr[i];
        add(text, size, "%s%s", i ? ", " : "; ", a->name ? a->name : "");
        if (a->kind == HR_ATTR_INT) add(text, size, " = %" PRId64, a->i);
        if (a->kind == HR_ATTR_BOOL) add(text, size, " = %s", a->b ? "true" : "false");
        if (a->kind == HR_ATTR_TYPE) add(text, size, " = %s", hr_dtype_name(a->type));
        if (a->kind == HR_ATTR_SHAPE) add(text, size, " = %s", hr_shape_text(a->shape, shape, sizeof shape));
        if (a->kind == HR_ATTR_INTS) add(text, size, " of %d", a->count);
    }
}

static void add_values(const hr_tensor *v, char *text, size_t size)
{
    for (int64_t j = 0; j < v->count && j < 6 && v->data; j++) {
        if (v->dtype == HR_FLOAT) add(text, size, " %g", (double)((const float *)v->data)[j]);
        if (v->dtype == HR_DOUBLE) add(text, size, " %g", ((const double *)v->data)[j]);
        if (v->dtype == HR_INT32) add(text, size, " %d", ((const int32_t *)v->data)[j]);
        if (v->dtype == HR_INT64) add(text, size, " %" PRId64, ((const int64_t *)v->data)[j]);
    }
}

static void add_inputs(const trial *t, char *text, size_t size)
{
    char shape[256];
    for (int i = 0; i < t->inputs; i++) {
        const hr_tensor *v = &t->value[i];
        add(text, size, "; input %d: %s %s", i, hr_dtype_name(v->dtype), hr_shape_text(v->shape, shape, sizeof shape));
        add_values(v, text, size);
    }
}

void hr__trial_wrong(trial *t, const char *kind, const char *format, ...)
{
    char text[sizeof t->error.text] = "";
    if (t->found != HR_OK) return;
    add(text, sizeof text, "%s: %s %" PRId64 ": ", t->op->name, t->smooth ? "smooth trial" : "trial", t->plan.number);
    va_list args;
    va_start(args, format);
    vsnprintf(text + strlen(text), sizeof text - strlen(text), format, args);
    va_end(args);
    add_attrs(t, text, sizeof text);
    add_inputs(t, text, sizeof text);
    t->found = hr_fail(&t->error, HR_INTERNAL, kind, "%s", text);
}
