/* Optimizers as objects: a kind, its parameters, a text that says both; by constructor or by name. */
#include "base/constructor.h"
#include "base/descriptor.h"
#include "train/optimizers/optimizers_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define HR_OPTIMIZER(name) extern const hr_optimizer_kind hr_optimizer_kind_##name;
#include "train/optimizers/optimizers.def"
#undef HR_OPTIMIZER

static const hr_optimizer_kind *const kinds[] = {
#define HR_OPTIMIZER(name) &hr_optimizer_kind_##name,
#include "train/optimizers/optimizers.def"
#undef HR_OPTIMIZER
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* What there is when there is no memory: immortal. */
static hr_optimizer no_memory = {
    .references = 1,
    .error = HR__NO_MEMORY_FOR("an optimizer"),
};

hr_optimizer *hr_optimizer_ref(hr_optimizer *optimizer)
{
    if (optimizer && optimizer != &no_memory)
        atomic_fetch_add_explicit(&optimizer->references, 1, memory_order_relaxed);
    return optimizer;
}

void hr_optimizer_free(hr_optimizer *optimizer)
{
    if (!optimizer || optimizer == &no_memory) return;
    if (atomic_fetch_sub_explicit(&optimizer->references, 1, memory_order_acq_rel) != 1) return;
    hr_free(optimizer->excluded);
    hr_free(optimizer);
}

const hr_error *hr_optimizer_error(const hr_optimizer *optimizer)
{
    static const hr_error missing =
        HR__ERROR_OF(HR_INVALID_ARGUMENT, "optimizer.kind", "optimizer: expected an optimizer, got NULL");
    if (!optimizer) return &missing;
    return optimizer->kind ? NULL : &optimizer->error;
}

const char *hr_optimizer_text(const hr_optimizer *optimizer) { return optimizer ? optimizer->text : ""; }

const char *hr_optimizer_kind_of(const hr_optimizer *optimizer)
{
    return optimizer && optimizer->kind ? hr__optimizer_title(optimizer) : "";
}

const char *hr__optimizer_title(const hr_optimizer *o)
{
    if (o->common.name) return o->common.name;
    return o->kind->title ? o->kind->title(o) : o->kind->name;
}

double hr_optimizer_value(const hr_optimizer *optimizer, int parameter) { return optimizer->value[parameter]; }

bool hr_optimizer_is_v1(const hr_optimizer *optimizer) { return optimizer->common.v1; }

bool hr_optimizer_is_keras(const hr_optimizer *optimizer) { return optimizer->common.keras; }

hr_node hr_optimizer_learning_rate_node(const hr_optimizer *optimizer) { return optimizer->common.learning_rate_node; }

/* ---- options of every kind, by name ---- */

static const struct {
    const char *name;
    size_t at; /* of the double in hr_optimizer_common */
} common_numbers[] = {
    {"clipnorm", offsetof(hr_optimizer_common, clipnorm)},
    {"clipvalue", offsetof(hr_optimizer_common, clipvalue)},
    {"global_clipnorm", offsetof(hr_optimizer_common, global_clipnorm)},
    {"weight_decay", offsetof(hr_optimizer_common, weight_decay)},
    {"use_ema", offsetof(hr_optimizer_common, use_ema)},
    {"ema_momentum", offsetof(hr_optimizer_common, ema_momentum)},
    {"ema_overwrite_frequency", offsetof(hr_optimizer_common, ema_overwrite_frequency)},
};
enum { COMMON_NUMBERS = sizeof common_numbers / sizeof *common_numbers };
static const char *const common_names[COMMON_NUMBERS + 1] = {
    "clipnorm", "clipvalue", "global_clipnorm", "weight_decay", "use_ema", "ema_momentum", "ema_overwrite_frequency"};

static double *common_number(hr_optimizer_common *common, int i)
{
    return (double *)(void *)((char *)common + common_numbers[i].at);
}

/* ---- making one ---- */

static hr_optimizer *fresh(void)
{
    hr_optimizer *o = hr_calloc(1, sizeof *o);
    if (!o) return &no_memory;
    atomic_init(&o->references, 1);
    return o;
}

hr_optimizer *hr_optimizer_with_rate(hr_optimizer *optimizer, hr_node learning_rate)
{
    if (!optimizer || !optimizer->kind) return optimizer;
    hr_optimizer *o = hr_memdup(optimizer, sizeof *o);
    if (o) {
        size_t size = 1;
        for (const char *x = optimizer->excluded; x && *x; x += strlen(x) + 1) size += strlen(x) + 1;
        atomic_init(&o->references, 1);
        o->common.learning_rate_node = learning_rate;
        if (o->common.name) o->common.name = o->own_name;
        if (optimizer->kind == &optimizer->own_kind) o->kind = &o->own_kind;
        o->excluded = optimizer->excluded ? hr_memdup(optimizer->excluded, size) : NULL;
    }
    if (o && optimizer->excluded && !o->excluded) {
        hr_optimizer_free(o);
        o = NULL;
    }
    hr_optimizer_free(optimizer);
    return o ? o : &no_memory;
}

static void optimizer_describe(hr_optimizer *o)
{
    const char *generation = o->common.v1 ? ", v1" : o->common.keras ? ", keras" : "";
    size_t at = (size_t)snprintf(o->text, sizeof o->text, "%s(", hr__optimizer_title(o));
    for (int i = 0; o->kind->parameters[i] && at < sizeof o->text; i++)
        at += (size_t)snprintf(o->text + at, sizeof o->text - at, "%s=%.9g, ", o->kind->parameters[i], o->value[i]);
    for (int i = 0; i < COMMON_NUMBERS && at < sizeof o->text; i++)
        if (*common_number(&o->common, i) != 0)
            at += (size_t)snprintf(o->text + at, sizeof o->text - at, "%s=%.9g, ", common_numbers[i].name,
                                   *common_number(&o->common, i));
    for (const char *x = o->excluded; x && *x && at < sizeof o->text; x += strlen(x) + 1)
        at += (size_t)snprintf(o->text + at, sizeof o->text - at, "exclude_from_weight_decay=%s, ", x);
    if (at < sizeof o->text) snprintf(o->text + at - 2, sizeof o->text - at + 2, "%s)", generation);
}

static const hr__descriptor_kind optimizer_kinds = {
    .what = "optimizer",
    .status = HR_FAILED_PRECONDITION,
    .error = "optimizer.abi",
    .version = HR_OPTIMIZER_ABI,
    .size = sizeof(hr_optimizer_kind),
    .min_size = offsetof(hr_optimizer_kind, finish),
};

/* What no kind can do without, and what the library has no space for. */
static hr_status optimizer_check_kind(hr_optimizer *o, const hr_optimizer_kind *kind)
{
    int n = 0;
    while (kind->parameters && n <= HR_MAX_PARAMETERS && kind->parameters[n]) n++;
    if (kind->name && kind->parameter && kind->update && n >= HR_OWN_PARAMETER && n <= HR_MAX_PARAMETERS) return HR_OK;
    return hr_fail(&o->error, HR_INVALID_ARGUMENT, "optimizer.kind",
                   "optimizer '%.60s': expected a kind with a name, an update, and %d to %d parameters, got %d%s",
                   kind->name ? kind->name : "", HR_OWN_PARAMETER, HR_MAX_PARAMETERS, n,
                   kind->update ? "" : " and no update");
}

static hr_status optimizer_check_value(hr_optimizer *o, int i)
{
    const hr_parameter_spec *p = &o->kind->parameter[i];
    const double value = o->value[i];
    if (value >= p->least && value <= p->most) return HR_OK;
    char range[64];
    snprintf(range, sizeof range, p->most < HUGE_VAL ? "from %g to %g" : "of at least %g", p->least, p->most);
    if (p->least == -HUGE_VAL) snprintf(range, sizeof range, "of at most %g", p->most);
    return hr_fail(&o->error, HR_INVALID_ARGUMENT, "optimizer.parameter", "%s: expected %s %s, got %g",
                   hr__optimizer_title(o), o->kind->parameters[i], range, value);
}

static hr_status optimizer_check_common(hr_optimizer *o)
{
    for (int i = 0; i < COMMON_NUMBERS; i++) {
        const double value = *common_number(&o->common, i);
        if (value >= 0 && value < HUGE_VAL) continue;
        return hr_fail(&o->error, HR_INVALID_ARGUMENT, "optimizer.parameter", "%s: expected %s of at least 0, got %g",
                       hr__optimizer_title(o), common_numbers[i].name, value);
    }
    if (o->common.ema_momentum > 1)
        return hr_fail(&o->error, HR_INVALID_ARGUMENT, "optimizer.parameter",
                       "%s: expected ema_momentum from 0 to 1, got %g", hr__optimizer_title(o), o->common.ema_momentum);
    if (o->common.clipnorm == 0 || o->common.global_clipnorm == 0) return HR_OK;
    return hr_fail(&o->error, HR_INVALID_ARGUMENT, "optimizer.parameter",
                   "%s: expected clipnorm or global_clipnorm, got both", hr__optimizer_title(o));
}

/* Each generation has its kinds and options. */
static hr_status optimizer_check_generation(hr_optimizer *o)
{
    const hr_optimizer_common *c = &o->common;
    const char *wrong = c->v1 && c->keras             ? "v1 or keras, got both"
                        : c->keras && !o->kind->keras ? "no keras: the kind has no such generation"
                        : c->keras && o->value[HR_DECAY] != 0
                            ? "no decay with keras; give a schedule as learning_rate_node"
                        : !c->keras && c->use_ema != 0 ? "keras with use_ema"
                                                       : NULL;
    if (!wrong) return HR_OK;
    return hr_fail(&o->error, HR_INVALID_ARGUMENT, "optimizer.parameter", "%s: expected %s", hr__optimizer_title(o),
                   wrong);
}

/* Keeps words from weight decay; an empty one would be in every name. */
static bool take_excluded(hr_optimizer *o, const char *const *words)
{
    size_t size = 1;
    for (int i = 0; words && words[i]; i++) size += strlen(words[i]) + 1;
    o->common.exclude_from_weight_decay = NULL;
    if (size == 1) return true;
    char *at = o->excluded = hr_malloc(size);
    if (!at) return false;
    for (int i = 0; words[i]; i++)
        if (*words[i]) at = strcpy(at, words[i]) + strlen(words[i]) + 1;
    *at = 0;
    return true;
}

bool hr__optimizer_excludes(const hr_optimizer *o, const char *name)
{
    for (const char *x = o->excluded; x && *x; x += strlen(x) + 1)
        if (strstr(name, x)) return true;
    return false;
}

static hr_status take_common(hr_optimizer *o, const hr_optimizer_common *common)
{
    if (common) o->common = *common;
    if (o->kind->v1_only) o->common.v1 = true;
    if (o->kind->keras_only) o->common.keras = true;
    if (o->common.ema_overwrite_frequency == 0) o->common.ema_overwrite_frequency = o->kind->ema_overwrite_frequency;
    if (o->common.use_ema == 0) o->common.ema_momentum = o->common.ema_overwrite_frequency = 0;
    if (!take_excluded(o, o->common.exclude_from_weight_decay)) return hr_no_memory(&o->error, "an optimizer");
    if (!o->common.name) return HR_OK;
    snprintf(o->own_name, sizeof o->own_name, "%s", o->common.name);
    o->common.name = o->own_name;
    return HR_OK;
}

hr_optimizer *hr_optimizer_new(const hr_optimizer_kind *kind, const double *const *given,
                               const hr_optimizer_common *common)
{
    hr_optimizer *o = fresh();
    if (o == &no_memory) return o;
    const void *fits = NULL;
    if (hr__descriptor_fit(&optimizer_kinds, kind, &o->own_kind, &fits, &o->error) != HR_OK) return o;
    if (optimizer_check_kind(o, kind = fits) != HR_OK) return o;
    o->kind = kind;
    hr_status st = take_common(o, common);
    for (int i = 0; kind->parameters[i]; i++)
        o->value[i] = given && given[i] ? *given[i]
                      : o->common.v1    ? kind->parameter[i].v1_usual
                                        : kind->parameter[i].usual;
    optimizer_describe(o);
    if (st == HR_OK) st = optimizer_check_common(o);
    if (st == HR_OK) st = optimizer_check_generation(o);
    for (int i = 0; kind->parameters[i] && st == HR_OK; i++) st = optimizer_check_value(o, i);
    if (st == HR_OK && kind->check) st = kind->check(o, &o->error);
    if (st != HR_OK) o->kind = NULL;
    return o;
}

void hr_optimizer_name_slot(hr_optimizer *optimizer, int slot, const char *name)
{
    if (!optimizer || optimizer == &no_memory || !name || slot < 0 || slot >= HR_MAX_SLOTS) return;
    snprintf(optimizer->slot_name[slot], sizeof optimizer->slot_name[slot], "%s", name);
}

/* ---- by name ---- */

const char *hr_optimizer_kind_at(int i) { return i >= 0 && i < KINDS ? kinds[i]->name : NULL; }

static const hr_optimizer_kind *kind_named(const char *name)
{
    for (int i = 0; i < KINDS; i++)
        if (name && strcasecmp(kinds[i]->name, name) == 0) return kinds[i];
    return NULL;
}

const char *const *hr_optimizer_parameters(const char *kind)
{
    if (!kind) return common_names;
    const hr_optimizer_kind *k = kind_named(kind);
    return k ? k->parameters : NULL;
}

/* "adagrad, adam, ...": the words of a list. */
static const char *listed(char *text, size_t size, const char *(*word)(const void *list, int i), const void *list)
{
    size_t at = 0;
    text[0] = 0;
    for (int i = 0; word(list, i) && at < size; i++)
        at += (size_t)snprintf(text + at, size - at, "%s%s", i ? ", " : "", word(list, i));
    return text;
}

static const char *optimizer_kind_word(const void *list, int i)
{
    (void)list;
    return hr_optimizer_kind_at(i);
}

static const char *parameter_word(const void *list, int i) { return ((const char *const *)list)[i]; }

static hr_optimizer *optimizer_refuse_name(const char *what, const char *name, const char *choice)
{
    hr_optimizer *o = fresh();
    if (o != &no_memory)
        hr_fail(&o->error, HR_INVALID_ARGUMENT, "optimizer.name", "%s: expected one of %s, got \"%.60s\"", what, choice,
                name ? name : "NULL");
    return o;
}

/* Which of the names; -1: none. */
static int place_of(const char *const *names, const char *name)
{
    for (int i = 0; name && names[i]; i++)
        if (strcmp(names[i], name) == 0) return i;
    return -1;
}

hr_optimizer *hr_optimizer_named(const char *kind, const hr_parameter *parameters, int count,
                                 hr_optimizer_generation generation)
{
    const double *given[HR_MAX_PARAMETERS] = {NULL};
    hr_optimizer_common common = {.v1 = generation == HR_V1_OPTIMIZERS,
                                  .keras = generation == HR_KERAS_OPTIMIZERS,
                                  .ema_momentum = HR_EMA_MOMENTUM};
    char choice[256];
    const hr_optimizer_kind *k = kind_named(kind);
    if (!k) return optimizer_refuse_name("optimizer", kind, listed(choice, sizeof choice, optimizer_kind_word, NULL));
    common.weight_decay = k->weight_decay;
    for (int i = 0; i < count; i++) {
        const int own = place_of(k->parameters, parameters[i].name);
        const int shared = place_of(common_names, parameters[i].name);
        if (own < 0 && shared < 0)
            return optimizer_refuse_name(k->name, parameters[i].name,
                                         listed(choice, sizeof choice, parameter_word, k->parameters));
        if (own >= 0)
            given[own] = &parameters[i].value;
        else
            *common_number(&common, shared) = parameters[i].value;
    }
    return hr_optimizer_new(k, given, &common);
}
