/* Compiling a parsing spec. What contradicts itself is refused when the dataset is made, as TensorFlow refuses it: one
 * key with two types, or read both as a dense and as a sparse or ragged feature. */
#include "data/parse/parse_spec.h"
#include "data/dataset.h"
#include <stdio.h>
#include <string.h>

#define SPEC_KIND "parse_example.spec"

enum { DENSE_USER = 1, SPARSE_USER = 2, RAGGED_USER = 4 };

/* ---- slots ---- */

static hr_status share_slot(hr__parse_plan *p, int slot, const hr__example_feature *feature, unsigned user,
                            hr_error *err)
{
    const char *key = feature->key.data;
    if (p->asked[slot].dtype != feature->dtype)
        return hr_fail(err, HR_INVALID_ARGUMENT, SPEC_KIND, "%s: expected one type for the key '%.60s', got %s and %s",
                       p->who, key, hr_dtype_name(p->asked[slot].dtype), hr_dtype_name(feature->dtype));
    if (p->users[slot] != user || user == DENSE_USER)
        return hr_fail(err, HR_INVALID_ARGUMENT, SPEC_KIND,
                       "%s: expected the key '%.60s' in one dense feature, or in sparse or in ragged ones, got "
                       "it in several",
                       p->who, key);
    p->asked[slot].widen |= feature->widen;
    return HR_OK;
}

/* The slot of a key, a new one if it was not asked for before. */
static hr_status add_slot(hr__parse_plan *p, hr__example_feature feature, unsigned user, int *slot, hr_error *err)
{
    *slot = hr__map_index(&p->slot_of, feature.key.data);
    p->widens |= feature.widen;
    if (*slot >= 0) return share_slot(p, *slot, &feature, user, err);
    HR_TRY(hr__map_add(&p->slot_of, feature.key.data, (size_t)feature.key.size, p->slots, err));
    *slot = p->slots++;
    p->home[*slot] = -1;
    p->users[*slot] = user;
    p->asked[*slot] = feature;
    return HR_OK;
}

static hr__example_feature parse_spec_list_of(const char *key, hr_dtype dtype, bool widen)
{
    return (hr__example_feature){.key = {key, (int64_t)strlen(key)}, .dtype = dtype, .widen = widen, .count = -1};
}

static hr_status add_int64_list(hr__parse_plan *p, const hr_feature *f, const char *key, unsigned user, int *slot,
                                hr_error *err)
{
    if (!key)
        return hr_fail(err, HR_INVALID_ARGUMENT, SPEC_KIND,
                       "%s: feature '%.60s': expected a key for each of its indices and partitions, got NULL", p->who,
                       f->key);
    return add_slot(p, parse_spec_list_of(key, HR_INT64, false), user, slot, err);
}

/* ---- default values ---- */

/* A copy of `count` values; 64 bytes after each string are readable. */
static void *parse_spec_copy_values(const hr_tensor *t)
{
    const size_t size = (size_t)t->count * hr_dtype_size(t->dtype);
    size_t bytes = size + 64;
    const hr_view *view = t->data;
    for (int64_t i = 0; t->dtype == HR_STRING && i < t->count; i++) bytes += (size_t)view[i].size;
    char *copy = hr_calloc(1, bytes), *at = copy + size;
    if (!copy) return NULL;
    if (size) memcpy(copy, t->data, size);
    for (int64_t i = 0; t->dtype == HR_STRING && i < t->count; i++) {
        hr_view own = {at, view[i].size};
        if (own.size) memcpy(at, view[i].data, (size_t)own.size);
        memcpy(copy + (size_t)i * sizeof own, &own, sizeof own);
        at += own.size;
    }
    return copy;
}

typedef struct target {
    hr__parse_plan *plan;
    hr__parse_output *output;
    hr_field *field;
} target;

static hr_status parse_spec_copy_default(target t, const hr_feature *f, int64_t count, hr_error *err)
{
    hr__parse_output *o = t.output;
    const hr_tensor *value = f->default_value;
    if (!value) return HR_OK;
    if (value->dtype != f->dtype || value->layout != HR_DENSE)
        return hr_fail(err, HR_INVALID_ARGUMENT, SPEC_KIND,
                       "%s: feature '%.60s': expected a default value of %s, got %s", t.plan->who, f->key,
                       hr_dtype_name(f->dtype), hr_dtype_name(value->dtype));
    if (value->count != count)
        return hr_fail(err, HR_INVALID_ARGUMENT, SPEC_KIND,
                       "%s: feature '%.60s': expected %lld default values, got %lld; give one for each value",
                       t.plan->who, f->key, (long long)count, (long long)value->count);
    o->default_count = count;
    o->default_values = parse_spec_copy_values(value);
    return o->default_values ? HR_OK : hr_no_memory(err, "a default value");
}

/* ---- one kind of feature each ---- */

static hr_status known_shape(target t, const hr_feature *f, int64_t *count, hr_error *err)
{
    char text[128];
    *count = hr_shape_count(f->shape);
    if (*count >= 0) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, SPEC_KIND,
                   "%s: feature '%.60s': expected a known shape, got %s; ask for a sequence or a list instead",
                   t.plan->who, f->key, hr_shape_text(f->shape, text, sizeof text));
}

static hr_status add_fixed_len(target t, const hr_feature *f, hr_error *err)
{
    int64_t count;
    HR_TRY(known_shape(t, f, &count, err));
    HR_TRY(parse_spec_copy_default(t, f, count, err));
    t.field->shape = f->shape;
    hr__example_feature slot = parse_spec_list_of(f->key, f->dtype, f->widen);
    slot.count = count;
    slot.required = !f->default_value || count == 0; /* no values are no default */
    slot.default_value = t.output->default_values;
    return add_slot(t.plan, slot, DENSE_USER, &t.output->slot, err);
}

static hr_status add_sequence(target t, const hr_feature *f, hr_error *err)
{
    int64_t count;
    HR_TRY(known_shape(t, f, &count, err));
    HR_TRY(parse_spec_copy_default(t, f, 1, err));
    const bool of_list = t.plan->role == HR__PARSE_LISTS;
    if (of_list && f->default_value)
        return hr_fail(err, HR_INVALID_ARGUMENT, SPEC_KIND,
                       "%s: feature list '%.60s': expected no default value, got one; steps that are missing are "
                       "padded with zeros",
                       t.plan->who, f->key);
    if ((f->required && !of_list) || count == 0 || f->shape.rank == HR_MAX_RANK)
        return hr_fail(err, HR_INVALID_ARGUMENT, SPEC_KIND,
                       "%s: feature '%.60s': expected a sequence of at least one value a step that may be "
                       "missing, got %s",
                       t.plan->who, f->key, f->required ? "a required one" : "a shape that does not allow it");
    t.field->shape = (hr_shape){f->shape.rank + 1, {-1}};
    memcpy(t.field->shape.dims + 1, f->shape.dims, (size_t)f->shape.rank * sizeof f->shape.dims[0]);
    t.field->pad = t.output->default_values ? t.output->default_values : hr_zero_value(f->dtype);
    hr__example_feature slot = parse_spec_list_of(f->key, f->dtype, f->widen);
    slot.group = count;
    slot.required = f->required;
    return add_slot(t.plan, slot, DENSE_USER, &t.output->slot, err);
}

static hr_status add_var_len(target t, const hr_feature *f, hr_error *err)
{
    t.field->layout = HR_SPARSE;
    t.field->shape = HR_SHAPE(-1);
    return add_slot(t.plan, parse_spec_list_of(f->key, f->dtype, f->widen), SPARSE_USER, &t.output->slot, err);
}

static hr_status add_sparse(target t, const hr_feature *f, hr_error *err)
{
    int64_t count;
    HR_TRY(known_shape(t, f, &count, err));
    if (f->shape.rank < 1 || !f->index_keys)
        return hr_fail(err, HR_INVALID_ARGUMENT, SPEC_KIND,
                       "%s: feature '%.60s': expected index_keys and a shape with a dimension for each, got "
                       "%d dimensions",
                       t.plan->who, f->key, f->shape.rank);
    t.field->layout = HR_SPARSE;
    t.field->shape = f->shape;
    t.output->already_sorted = f->already_sorted;
    t.output->indices = f->shape.rank;
    for (int i = 0; i < f->shape.rank; i++)
        HR_TRY(add_int64_list(t.plan, f, f->index_keys[i], SPARSE_USER, &t.output->index_slot[i], err));
    return add_slot(t.plan, parse_spec_list_of(f->key, f->dtype, f->widen), SPARSE_USER, &t.output->slot, err);
}

static hr_status add_ragged(target t, const hr_feature *f, hr_error *err)
{
    if (f->partition_count < 0 || (f->partition_count > 0 && !f->partitions))
        return hr_fail(err, HR_INVALID_ARGUMENT, SPEC_KIND, "%s: feature '%.60s': expected %d partitions, got NULL",
                       t.plan->who, f->key, f->partition_count);
    /* Uniform partitions innermost are no levels but the shape of what the innermost splits count. */
    int levels = f->partition_count;
    while (levels > 0 && f->partitions[levels - 1].kind == HR_UNIFORM_ROW_LENGTH) levels--;
    const int outer = t.plan->role == HR__PARSE_LISTS ? 2 : 1; /* levels of the rows themselves */
    if (f->partition_count > HR__MAX_PARTITIONS || levels + outer > HR_MAX_RAGGED ||
        f->partition_count + outer > HR_MAX_RANK)
        return hr_fail(err, HR_INVALID_ARGUMENT, SPEC_KIND,
                       "%s: feature '%.60s': expected at most %d partitions, got %d", t.plan->who, f->key,
                       HR_MAX_RAGGED - outer, f->partition_count);
    t.field->layout = HR_RAGGED;
    t.field->shape = (hr_shape){f->partition_count + 1, {-1}};
    t.output->validate = f->validate;
    t.output->partitions = levels;
    for (int i = 0; i < f->partition_count; i++) {
        const hr_partition *from = &f->partitions[i];
        hr__parse_partition *to = &t.output->partition[i];
        *to = (hr__parse_partition){from->kind, -1, from->length};
        t.field->shape.dims[i + 1] = i < levels ? -1 : from->length;
        if (from->kind != HR_UNIFORM_ROW_LENGTH) {
            HR_TRY(add_int64_list(t.plan, f, from->key, RAGGED_USER, &to->slot, err));
        } else if (from->length < 1) {
            return hr_fail(err, HR_INVALID_ARGUMENT, SPEC_KIND,
                           "%s: feature '%.60s': expected a row length above 0, got %lld", t.plan->who, f->key,
                           (long long)from->length);
        } else if (i >= levels) {
            t.output->inner *= from->length;
        }
    }
    return add_slot(t.plan, parse_spec_list_of(f->key, f->dtype, f->widen), RAGGED_USER, &t.output->slot, err);
}

/* ---- the plan ---- */

static bool allowed(hr__parse_role role, hr_feature_kind kind)
{
    static const unsigned kinds[] = {
        [HR__PARSE_EXAMPLE] = ~0u,
        [HR__PARSE_CONTEXT] = 1u << HR_FIXED_LEN | 1u << HR_VAR_LEN | 1u << HR_RAGGED_FEATURE,
        [HR__PARSE_LISTS] = 1u << HR_FIXED_LEN_SEQUENCE | 1u << HR_VAR_LEN | 1u << HR_RAGGED_FEATURE,
    };
    return kinds[role] >> kind & 1;
}

/* What a list has before a step's shape: any number of steps. A sequence has it already. */
static void add_steps(hr_shape *shape)
{
    memmove(shape->dims + 1, shape->dims, (size_t)shape->rank++ * sizeof shape->dims[0]);
    shape->dims[0] = -1;
}

static hr_status add_output(hr__parse_plan *p, const hr_feature *f, const char *label, hr_error *err)
{
    static hr_status (*const add[])(target, const hr_feature *, hr_error *) = {
        [HR_FIXED_LEN] = add_fixed_len,   [HR_FIXED_LEN_SEQUENCE] = add_sequence, [HR_VAR_LEN] = add_var_len,
        [HR_RAGGED_FEATURE] = add_ragged, [HR_SPARSE_FEATURE] = add_sparse,
    };
    const int number = p->outputs++;
    hr__parse_output *o = &p->output[number];
    hr_field *field = &p->field[number];
    if (!f->key || (unsigned)f->kind >= sizeof add / sizeof *add)
        return hr_fail(err, HR_INVALID_ARGUMENT, SPEC_KIND, "%s: feature %d has no key, or an unknown kind", p->who,
                       number);
    if (!allowed(p->role, f->kind))
        return hr_fail(err, HR_INVALID_ARGUMENT, SPEC_KIND,
                       "%s: %s '%.60s': expected %s, a list of any length or a ragged one, got another kind of feature",
                       p->who, p->role == HR__PARSE_LISTS ? "feature list" : "context feature", f->key,
                       p->role == HR__PARSE_LISTS ? "a sequence" : "a feature of a fixed length");
    o->name = hr_strdup(f->name ? f->name : f->key);
    if (!o->name) return hr_no_memory(err, "a parsing spec");
    o->kind = f->kind;
    o->inner = 1;
    *field = (hr_field){.name = o->name, .dtype = f->dtype, .label = label && strcmp(label, o->name) == 0};
    HR_TRY(add[f->kind]((target){p, o, field}, f, err));
    if (p->role == HR__PARSE_LISTS && f->kind != HR_FIXED_LEN_SEQUENCE) add_steps(&field->shape);
    if (f->kind == HR_SPARSE_FEATURE || p->home[o->slot] >= 0) return HR_OK;
    p->home[o->slot] = number;
    o->own_slot = true;
    return HR_OK;
}

static bool has_label(const hr__parse_plan *p)
{
    for (int i = 0; i < p->outputs; i++)
        if (p->field[i].label) return true;
    return false;
}

static hr_status compile(hr__parse_plan *p, const hr_parse_spec *spec, const char *label, hr_error *err)
{
    size_t slots = 1;
    static const hr_parse_spec none = {0};
    if (!spec) spec = &none;
    if (p->role == HR__PARSE_EXAMPLE && spec->features < 1)
        return hr_fail(err, HR_INVALID_ARGUMENT, SPEC_KIND, "%s: expected at least one feature, got none", p->who);
    for (int i = 0; i < spec->features; i++) slots += 1 + HR_MAX_RANK + HR__MAX_PARTITIONS;
    const size_t outputs = (size_t)spec->features + 1;
    p->home = hr_calloc(slots, sizeof *p->home);
    p->asked = hr_calloc(slots, sizeof *p->asked);
    p->users = hr_calloc(slots, sizeof *p->users);
    p->output = hr_calloc(outputs, sizeof *p->output);
    p->field = hr_calloc(outputs, sizeof *p->field);
    if (!p->home || !p->asked || !p->users || !p->output || !p->field) return hr_no_memory(err, "a parsing spec");
    for (int i = 0; i < spec->features; i++) HR_TRY(add_output(p, &spec->feature[i], label, err));
    if (label && !has_label(p))
        return hr_fail(err, HR_INVALID_ARGUMENT, SPEC_KIND, "%s: no feature is called '%.60s', the label", p->who,
                       label);
    return hr__example_parser_new(p->asked, p->slots, &p->parser, err);
}

/* The keys in `asked` are the caller's: it is gone when the plan is made. */
static void forget_asked(hr__parse_plan *p)
{
    hr_free(p->asked);
    hr_free(p->users);
    hr__map_free(&p->slot_of);
    p->asked = NULL;
    p->users = NULL;
}

hr_status hr__parse_plan_new(const hr_parse_spec *spec, hr__parse_role role, const char *label, hr__parse_plan **out,
                             hr_error *err)
{
    *out = NULL;
    hr__parse_plan *p = hr_calloc(1, sizeof *p);
    if (!p) return hr_no_memory(err, "a parsing spec");
    p->role = role;
    p->who = role == HR__PARSE_EXAMPLE ? "parse_example" : "parse_sequence_example";
    hr_status status = compile(p, spec, label, err);
    forget_asked(p);
    if (status == HR_OK)
        *out = p;
    else
        hr__parse_plan_free(p);
    return status;
}

void hr__parse_plan_free(hr__parse_plan *plan)
{
    if (!plan) return;
    for (int i = 0; i < HR__SPARE_ORDERS; i++) hr__example_order_free(atomic_load(&plan->spare[i]));
    for (int i = 0; i < plan->outputs; i++) {
        hr_free(plan->output[i].name);
        hr_free(plan->output[i].default_values);
    }
    hr_free(plan->output);
    hr_free(plan->field);
    hr_free(plan->home);
    hr__example_parser_free(plan->parser);
    hr_free(plan);
}

hr__example_order *hr__parse_plan_order(hr__parse_plan *plan)
{
    for (int i = 0; i < HR__SPARE_ORDERS; i++) {
        if (!atomic_load_explicit(&plan->spare[i], memory_order_relaxed)) continue;
        hr__example_order *order = atomic_exchange(&plan->spare[i], NULL);
        if (order) return order;
    }
    return hr__example_order_new(plan->parser);
}

void hr__parse_plan_spare(hr__parse_plan *plan, hr__example_order *order)
{
    for (int i = 0; i < HR__SPARE_ORDERS; i++) {
        hr__example_order *none = NULL;
        if (atomic_compare_exchange_strong(&plan->spare[i], &none, order)) return;
    }
    hr__example_order_free(order);
}
