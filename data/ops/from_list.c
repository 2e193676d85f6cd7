/* from_list: the elements of a list in memory, one after the other. The components of an element have the types of those
 * of the first one; their first dimension may be another in each. The dataset holds copies, a component in one piece. */
#include <headrace/data.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef struct list_component {
    char *name;
    hr_shape shape;   /* of an element; dims[0] -1: it varies */
    hr_tensor values; /* of all elements, in one dimension */
    int64_t *first;   /* of each element, and the end */
} list_component;

typedef struct list_spec {
    const hr_tensor *tensor; /* element by element; borrowed until spec_copy */
    const char *const *name; /* NULL, also for one of them: its number */
    int components;
    int64_t count;
    list_component *own;
} list_spec;

typedef struct list_state {
    int64_t given; /* saved */
} list_state;

/* ---- the dataset's own copy ---- */

static const hr_tensor *tensor_of(const list_spec *sp, int component, int64_t element)
{
    return &sp->tensor[element * sp->components + component];
}

static bool may_join(const hr_tensor *a, const hr_tensor *b)
{
    if (b->dtype != a->dtype || b->layout != HR_DENSE || b->shape.rank != a->shape.rank) return false;
    for (int d = 0; d < a->shape.rank; d++)
        if (b->shape.dims[d] < 0 || (d > 0 && b->shape.dims[d] != a->shape.dims[d])) return false;
    return b->data || hr_shape_count(b->shape) == 0;
}

/* The shape that all elements have, and where each begins. */
static hr_status measure_component(const list_spec *sp, int c, hr_error *err)
{
    list_component *own = &sp->own[c];
    const hr_tensor *first = tensor_of(sp, c, 0);
    own->shape = first->shape;
    own->first = hr_malloc(((size_t)sp->count + 1) * sizeof *own->first);
    if (!own->first) return hr_no_memory(err, "from_list");
    own->first[0] = 0;
    for (int64_t e = 0; e < sp->count; e++) {
        const hr_tensor *t = tensor_of(sp, c, e);
        const int64_t size = hr_shape_count(t->shape);
        char here[96], there[96];
        if (!may_join(first, t) || size < 0 || own->first[e] > INT64_MAX / 16 - size)
            return hr_fail(err, HR_INVALID_ARGUMENT, "from_list.shape",
                           "from_list: component '%.60s': expected dense tensors of %s, of shape %s in all but the "
                           "first dimension, got %s of shape %s in element %" PRId64,
                           own->name, hr_dtype_name(first->dtype), hr_shape_text(first->shape, here, sizeof here),
                           hr_dtype_name(t->dtype), hr_shape_text(t->shape, there, sizeof there), e);
        if (t->shape.rank > 0 && t->shape.dims[0] != own->shape.dims[0]) own->shape.dims[0] = -1;
        own->first[e + 1] = own->first[e] + size;
    }
    return HR_OK;
}

static hr_status join_strings(const list_spec *sp, int c, hr_error *err)
{
    list_component *own = &sp->own[c];
    const int64_t total = own->first[sp->count];
    hr_view *all = hr_malloc(((size_t)total + 1) * sizeof *all);
    if (!all) return hr_no_memory(err, "from_list");
    for (int64_t e = 0; e < sp->count; e++)
        if (own->first[e + 1] > own->first[e])
            memcpy(all + own->first[e], tensor_of(sp, c, e)->data,
                   (size_t)(own->first[e + 1] - own->first[e]) * sizeof *all);
    const hr_status st = hr_tensor_strings(&own->values, HR_SHAPE(total), all, err);
    hr_free(all);
    return st;
}

static hr_status join_component(const list_spec *sp, int c, hr_error *err)
{
    list_component *own = &sp->own[c];
    const hr_dtype dtype = tensor_of(sp, c, 0)->dtype;
    const size_t width = hr_dtype_size(dtype);
    if (dtype == HR_STRING) return join_strings(sp, c, err);
    HR_TRY(hr_tensor_new(&own->values, dtype, HR_SHAPE(own->first[sp->count]), err));
    for (int64_t e = 0; e < sp->count; e++)
        if (own->first[e + 1] > own->first[e])
            memcpy((char *)own->values.data + (size_t)own->first[e] * width, tensor_of(sp, c, e)->data,
                   (size_t)(own->first[e + 1] - own->first[e]) * width);
    return HR_OK;
}

static hr_status list_copy(void *spec, hr_error *err)
{
    list_spec *sp = spec;
    if (!sp->tensor || sp->components < 1 || sp->count < 1)
        return hr_fail(err, HR_INVALID_ARGUMENT, "from_list.count",
                       "from_list: expected at least one element of at least one component, got %" PRId64 " of %d",
                       sp->count, sp->components);
    sp->own = hr_calloc((size_t)sp->components, sizeof *sp->own);
    if (!sp->own) return hr_no_memory(err, "from_list");
    for (int c = 0; c < sp->components; c++) {
        char number[16];
        snprintf(number, sizeof number, "%d", c);
        sp->own[c].name = hr_strdup(sp->name && sp->name[c] ? sp->name[c] : number);
        if (!sp->own[c].name) return hr_no_memory(err, "from_list");
        HR_TRY(measure_component(sp, c, err));
        HR_TRY(join_component(sp, c, err));
    }
    return HR_OK;
}

static void list_free(void *spec)
{
    const list_spec *sp = spec;
    for (int c = 0; sp->own && c < sp->components; c++) {
        hr_free(sp->own[c].name);
        hr_free(sp->own[c].first);
        hr_tensor_clear(&sp->own[c].values);
    }
    hr_free(sp->own);
}

static hr_status list_check(const void *spec, const hr_schema *const *in, hr_schema_builder *out, hr_error *err)
{
    (void)in;
    const list_spec *sp = spec;
    for (int c = 0; c < sp->components; c++) {
        const list_component *own = &sp->own[c];
        HR_TRY(hr_schema_add(out, (hr_field){.name = own->name, .dtype = own->values.dtype, .shape = own->shape}, err));
    }
    return HR_OK;
}

/* ---- plan ---- */

static hr_status put_elements(const list_component *own, hr_columns *rows, int c, int64_t first, int64_t count,
                              hr_error *err)
{
    hr_column *to = &rows->column[c];
    const size_t width = hr_dtype_size(own->values.dtype);
    const int64_t from = own->first[first], values = own->first[first + count] - from;
    if (!hr_field_fixed(&rows->schema->field[c])) {
        if (values > INT32_MAX) return hr_no_memory(err, "from_list");
        HR_TRY(hr_grow_column(NULL, rows, c, values + 1, err));
        for (int64_t r = 0; r <= count; r++) to->splits[0][r] = (int32_t)(own->first[first + r] - from);
        to->count = values;
    }
    if (values > 0) memcpy(to->values, (const char *)own->values.data + (size_t)from * width, (size_t)values * width);
    return HR_OK;
}

static hr_status list_plan(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    const list_spec *sp = spec;
    list_state *st = state;
    const int64_t left = sp->count - st->given, count = left < hr_room(p) ? left : hr_room(p);
    if (left <= 0) return HR_END;
    hr_columns *rows = hr_unit_rows(p, count);
    if (!rows) return hr_no_memory(err, "from_list");
    for (int c = 0; c < sp->components; c++) HR_TRY(put_elements(&sp->own[c], rows, c, st->given, count, err));
    rows->origin = NULL;
    rows->rows = count;
    st->given += count;
    return HR_OK;
}

static hr_status list_load(const void *spec, void *state, hr_token_reader *token, hr_error *err)
{
    (void)token;
    return hr_saved_between("from_list", ((const list_state *)state)->given, 0, ((const list_spec *)spec)->count, err);
}

static void list_identity(const void *spec, uint64_t *sum)
{
    const list_spec *sp = spec;
    hr_identify_i64(sum, sp->count);
    for (int c = 0; c < sp->components; c++) {
        const hr_tensor *t = &sp->own[c].values;
        const hr_view *view = t->data;
        hr_identify(sum, sp->own[c].first, ((size_t)sp->count + 1) * sizeof *sp->own[c].first);
        if (t->dtype != HR_STRING) hr_identify(sum, t->data, (size_t)t->count * hr_dtype_size(t->dtype));
        for (int64_t i = 0; t->dtype == HR_STRING && i < t->count; i++) {
            hr_identify_i64(sum, view[i].size);
            hr_identify(sum, view[i].data, (size_t)view[i].size);
        }
    }
}

static int64_t list_cardinality(const void *spec, const int64_t *in)
{
    (void)in;
    return ((const list_spec *)spec)->count;
}

static void list_describe(const void *spec, hr_description *to)
{
    hr_describe_number(to, "elements", ((const list_spec *)spec)->count);
}

static hr_status list_at(const void *spec, void *state, int64_t index, const int64_t *have, int64_t *in)
{
    (void)have, (void)in;
    const int64_t count = ((const list_spec *)spec)->count;
    ((list_state *)state)->given = index < count ? index : count;
    return HR_OK;
}

const hr_op hr_op_from_list = {
    .head = HR_OP_HEAD,
    .name = "from_list",
    .spec_size = sizeof(list_spec),
    .state_size = sizeof(list_state),
    .saved = 1, /* given */
    .spec_copy = list_copy,
    .spec_free = list_free,
    .check = list_check,
    .plan = list_plan,
    .load = list_load,
    .identity = list_identity,
    .cardinality = list_cardinality,
    .describe = list_describe,
    .at = list_at,
};

hr_dataset *hr_from_list(const hr_tensor *elements, const char *const *names, int components, int64_t count)
{
    const list_spec spec = {.tensor = elements, .name = names, .components = components, .count = count};
    return hr_dataset_new(&hr_op_from_list, &spec, NULL, 0);
}
