/* The column object: reference-counted and immutable; its first error sticks to it. One block of memory holds the
 * object and its spec. Columns are equal if the digests of all their arguments are. */
#include "base/constructor.h"
#include "base/descriptor.h"
#include "feature_columns/columns_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct hr_feature_column {
    atomic_int refs;
    const hr_column_kind *kind; /* in a descriptor of this library's size: `given`, or `own` if that is shorter */
    const hr_column_kind *given;
    hr_column_kind own;
    hr_column_info info;
    char *name, *scope, *table_scope, *component, *weights;
    uint64_t digest;
    hr_feature_column **source;
    int sources;
    hr_feature *read;
    int reads;
    bool failed;
    hr_error error;
    _Alignas(max_align_t) char spec[];
};

struct hr_column_builder {
    hr_feature_column *column;
    bool has_weights;
};

/* Immortal: what constructors give when there is no memory for anything else. */
static hr_feature_column no_memory = {
    .refs = 1,
    .failed = true,
    .error = HR__NO_MEMORY_FOR("a feature column"),
};

/* Immortal, too: what stands in for a column that is NULL, as hr_column_set_find gives for a name that is not there. */
static hr_feature_column missing = {
    .refs = 1,
    .failed = true,
    .error = HR__ERROR_OF(HR_INVALID_ARGUMENT, "column.null", "feature columns: expected a column, got NULL"),
};

static bool is_immortal(const hr_feature_column *column) { return column == &no_memory || column == &missing; }

hr_feature_column *hr_feature_column_ref(hr_feature_column *column)
{
    if (column && !is_immortal(column)) atomic_fetch_add(&column->refs, 1);
    return column;
}

static void free_reads(hr_feature_column *column)
{
    for (int i = 0; i < column->reads; i++) {
        hr_feature *f = &column->read[i];
        hr_free((void *)(uintptr_t)f->key);
        if (f->default_value) {
            hr_tensor *value = (hr_tensor *)(uintptr_t)f->default_value;
            hr_tensor_clear(value);
            hr_free(value);
        }
    }
    hr_free(column->read);
}

void hr_feature_column_unref(hr_feature_column *column)
{
    if (!column || is_immortal(column) || atomic_fetch_sub(&column->refs, 1) > 1) return;
    if (column->kind && column->kind->spec_free) column->kind->spec_free(column->spec);
    for (int i = 0; i < column->sources; i++) hr_feature_column_unref(column->source[i]);
    free_reads(column);
    hr_free(column->source);
    hr_free(column->name);
    hr_free(column->scope);
    hr_free(column->table_scope);
    hr_free(column->component);
    hr_free(column->weights);
    hr_free(column);
}

const hr_error *hr_feature_column_error(const hr_feature_column *column)
{
    if (!column) return &missing.error;
    return column->failed ? &column->error : NULL;
}

const hr_column_info *hr_feature_column_info(const hr_feature_column *column)
{
    return !column || column->failed ? NULL : &column->info;
}

const hr_column_kind *hr_feature_column_kind(const hr_feature_column *column)
{
    return column->failed ? NULL : column->given;
}

const hr_column_kind *hr__column_kind_of(const hr_feature_column *column) { return column->kind; }

const void *hr_feature_column_spec(const hr_feature_column *column) { return column->spec; }

hr_feature_column *hr_feature_column_source(const hr_feature_column *column, int i)
{
    return i >= 0 && i < column->sources ? column->source[i] : NULL;
}

const hr_feature *hr_feature_column_read(const hr_feature_column *column, int i)
{
    return i >= 0 && i < column->reads ? &column->read[i] : NULL;
}

uint64_t hr__column_digest(const hr_feature_column *column) { return column->digest; }

bool hr_feature_columns_equal(const hr_feature_column *a, const hr_feature_column *b)
{
    return a && b && !a->failed && !b->failed && a->digest == b->digest;
}

/* ---- for describe ---- */

hr_column_info *hr_column_describe(hr_column_builder *out) { return &out->column->info; }

void hr_column_has_weights(hr_column_builder *out) { out->has_weights = true; }

void hr_column_mix(hr_column_builder *out, const void *data, size_t size)
{
    out->column->digest = hr_fingerprint_cat64(out->column->digest, hr_fingerprint64(size ? data : "", size));
}

hr_status hr_column_name(hr_column_builder *out, hr_error *err, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *name = length < 0 ? NULL : hr_malloc((size_t)length + 1);
    if (!name) return hr_no_memory(err, "the name of a feature column");
    va_start(args, format);
    vsnprintf(name, (size_t)length + 1, format, args);
    va_end(args);
    hr_free(out->column->name);
    out->column->name = name;
    return HR_OK;
}

static hr_status column_copy_default(hr_feature *copy, const hr_tensor *value, hr_error *err)
{
    hr_tensor *own = hr_calloc(1, sizeof *own);
    if (!own) return hr_no_memory(err, "the default value of a feature");
    hr_status st = value->dtype == HR_STRING ? hr_tensor_strings(own, value->shape, value->data, err)
                                             : hr_tensor_new(own, value->dtype, value->shape, err);
    if (st != HR_OK) {
        hr_free(own);
        return st;
    }
    size_t bytes = (size_t)value->count * hr_dtype_size(value->dtype);
    if (value->dtype != HR_STRING && bytes > 0) memcpy(own->data, value->data, bytes);
    copy->default_value = own;
    return HR_OK;
}

hr_status hr_column_read(hr_column_builder *out, const hr_feature *feature, hr_error *err)
{
    hr_feature_column *column = out->column;
    hr_feature *grown = hr_realloc(column->read, ((size_t)column->reads + 1) * sizeof *grown);
    if (!grown) return hr_no_memory(err, "the features of a column");
    column->read = grown;
    hr_feature *copy = &grown[column->reads];
    *copy = *feature;
    copy->default_value = NULL;
    copy->name = NULL;
    copy->key = hr_strdup(feature->key);
    if (!copy->key) return hr_no_memory(err, "the features of a column");
    column->reads++; /* from here on it is freed with the column */
    hr_column_mix(out, feature->key, strlen(feature->key));
    hr_column_mix(out, &(int[]){(int)feature->kind, (int)feature->dtype}, 2 * sizeof(int));
    for (int i = 0; i < feature->shape.rank; i++) hr_column_mix(out, &feature->shape.dims[i], sizeof(int64_t));
    if (!feature->default_value) return HR_OK;
    HR_TRY(column_copy_default(copy, feature->default_value, err));
    const hr_tensor *value = copy->default_value;
    if (value->dtype != HR_STRING) hr_column_mix(out, value->data, (size_t)value->count * hr_dtype_size(value->dtype));
    return HR_OK;
}

hr_status hr_column_read_var_len(hr_column_builder *out, const char *key, hr_dtype dtype, hr_error *err)
{
    return hr_column_read(out, &(hr_feature){.key = key, .kind = HR_VAR_LEN, .dtype = dtype}, err);
}

/* ---- making one ---- */

static bool scope_char(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
           c == '-';
}

/* What variable scopes do not allow becomes '_', a character of several bytes a single one. The input layers' own rule
 * is wider by '/' and '>'. */
static char *sanitised(const char *name, bool *legal)
{
    char *scope = hr_malloc(strlen(name) + 1), *to = scope;
    if (!scope) return NULL;
    *legal = true;
    for (const char *c = name; *c; c++) {
        if (((unsigned char)*c & 0xc0) == 0x80 && c > name) continue; /* inside a UTF-8 character */
        bool allowed = scope_char((unsigned char)*c);
        *to++ = allowed ? *c : '_';
        if (!allowed && *c != '/' && *c != '>') *legal = false;
    }
    *to = '\0';
    return scope;
}

/* Variables of input layers are called as the table, or as TensorFlow calls those of a linear model if that is no name
 * for a scope. */
static char *table_scope_of(const hr_column_info *info, const char *name)
{
    bool legal;
    const char *table = info->table.shared_name ? info->table.shared_name : name;
    char *scope = sanitised(table, &legal);
    if (!scope || !legal) return scope;
    hr_free(scope);
    return hr_strdup(table);
}

static const hr_feature_column *component_of(const hr_feature_column *column)
{
    const hr_feature_column *ids = column->info.categorical_column;
    return ids && ids != column ? ids : column;
}

static hr_status set_components(hr_feature_column *column, bool has_weights, hr_error *err)
{
    const hr_feature_column *shown = component_of(column);
    column->component = hr_strdup(shown->name);
    if (!column->component) return hr_no_memory(err, "a feature column");
    if (shown != column) has_weights = shown->info.weights != NULL;
    if (has_weights) {
        size_t size = strlen(shown->name) + sizeof "/weights";
        column->weights = hr_malloc(size);
        if (!column->weights) return hr_no_memory(err, "a feature column");
        snprintf(column->weights, size, "%s/weights", shown->name);
    }
    return HR_OK;
}

/* What the kit adds to a column that describe has filled in. */
static hr_status column_finish(hr_feature_column *column, bool has_weights, hr_error *err)
{
    hr_column_info *info = &column->info;
    column->scope = sanitised(column->name, &info->scope_is_legal);
    column->table_scope = table_scope_of(info, column->name);
    if (!column->scope || !column->table_scope) return hr_no_memory(err, "a feature column");
    if (info->categorical && !info->categorical_column) info->categorical_column = column;
    if (info->categorical_column && info->categorical_column != column)
        info->sequence = info->categorical_column->info.sequence;
    if (info->dense == HR_COLUMN_VALUES && info->dtype == HR_INVALID_DTYPE) info->dtype = HR_FLOAT;
    HR_TRY(set_components(column, has_weights, err));
    info->kind = column->kind->name;
    info->name = column->name;
    info->scope = column->scope;
    info->table.scope = column->table_scope;
    info->component = column->component;
    info->weights = column->weights;
    return HR_OK;
}

hr_status hr__column_answer(const char *kind, hr_status returned, hr_error *err)
{
    return hr__descriptor_answer(kind, "column.kind", returned, err);
}

/* Sizes that describe has set, from which others are computed. */
static hr_status check_sizes(const hr_feature_column *column, hr_error *err)
{
    const hr_column_info *info = &column->info;
    const bool values = info->dense == HR_COLUMN_VALUES;
    const int64_t least = values ? 1 : 0;
    if (info->width >= least && info->width <= HR_MAX_VALUES && info->num_buckets >= 0 && info->table.dimension >= 0)
        return HR_OK;
    return hr_fail(err, HR_INTERNAL, "column.kind",
                   "%s: expected a width of %lld or more, and no negative size, got width %lld, num_buckets %lld and "
                   "dimension %lld",
                   column->kind->name, (long long)least, (long long)info->width, (long long)info->num_buckets,
                   (long long)info->table.dimension);
}

static hr_status column_describe(hr_feature_column *column, hr_error *err)
{
    hr_column_builder builder = {.column = column};
    hr_column_mix(&builder, column->kind->name, strlen(column->kind->name));
    for (int i = 0; i < column->sources; i++) {
        uint64_t digest = column->source[i]->digest;
        hr_column_mix(&builder, &digest, sizeof digest);
    }
    HR_TRY(hr__column_answer(
        column->kind->name,
        column->kind->describe(column->spec, (const hr_feature_column *const *)column->source, &builder, err), err));
    if (!column->name)
        return hr_fail(err, HR_INTERNAL, "column.kind", "%s: expected a name, got none; describe calls hr_column_name",
                       column->kind->name);
    hr_column_mix(&builder, column->name, strlen(column->name));
    HR_TRY(check_sizes(column, err));
    return column_finish(column, builder.has_weights, err);
}

static void drop_sources(hr_feature_column *const *source, int sources)
{
    for (int i = 0; i < sources; i++) hr_feature_column_unref(source[i]);
}

/* The first failed source, which stands for the whole; the others are dropped. */
static hr_feature_column *failed_source(hr_feature_column *const *source, int sources)
{
    for (int i = 0; i < sources; i++) {
        if (source[i] && !source[i]->failed) continue;
        hr_feature_column *failed = hr_feature_column_ref(source[i] ? source[i] : &missing);
        drop_sources(source, sources);
        return failed;
    }
    return NULL;
}

static const hr__descriptor_kind kinds = {
    .what = "feature column",
    .status = HR_INTERNAL,
    .error = "column.kind",
    .version = HR_COLUMN_ABI,
    .size = sizeof(hr_column_kind),
    .min_size = offsetof(hr_column_kind, config),
};

hr_status hr__column_kind_fit(const hr_column_kind *given, hr_column_kind *own, const hr_column_kind **fits,
                              hr_error *err)
{
    const void *kind;
    HR_TRY(hr__descriptor_fit(&kinds, given, own, &kind, err));
    *fits = kind;
    if ((*fits)->name && (*fits)->describe) return HR_OK;
    return hr_fail(err, HR_INTERNAL, "column.kind", "feature column: expected a kind with name and describe");
}

hr_feature_column *hr_feature_column_new(const hr_column_kind *given, const void *spec,
                                         hr_feature_column *const *source, int sources)
{
    hr_column_kind whole;
    const hr_column_kind *kind;
    hr_feature_column *failed = failed_source(source, sources);
    if (failed) return failed;
    hr_error wrong;
    if (hr__column_kind_fit(given, &whole, &kind, &wrong) != HR_OK) {
        drop_sources(source, sources);
        return hr_feature_column_failed(&wrong);
    }
    hr_feature_column *column = hr_calloc(1, sizeof *column + kind->spec_size);
    hr_feature_column **own = hr_calloc((size_t)sources + 1, sizeof(hr_feature_column *));
    if (!column || !own) {
        drop_sources(source, sources);
        hr_free(column);
        hr_free(own);
        return &no_memory;
    }
    atomic_init(&column->refs, 1);
    column->given = given;
    if (kind == &whole) column->own = whole;
    column->kind = kind == &whole ? &column->own : kind;
    column->source = own;
    column->sources = sources;
    for (int i = 0; i < sources; i++) own[i] = source[i];
    memcpy(column->spec, spec, kind->spec_size);

    hr_status st = kind->spec_copy ? kind->spec_copy(column->spec, &column->error) : HR_OK;
    st = hr__column_answer(kind->name, st, &column->error);
    if (st == HR_OK) st = column_describe(column, &column->error);
    column->failed = st != HR_OK;
    return column;
}

hr_feature_column *hr_feature_column_failed(const hr_error *err)
{
    hr_feature_column *column = hr_calloc(1, sizeof *column);
    if (!column) return &no_memory;
    atomic_init(&column->refs, 1);
    column->failed = true;
    column->error = *err;
    return column;
}
