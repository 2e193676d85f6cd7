/* The object: reference-counted and immutable; its first error sticks to it. One block of memory holds the object and
 * its spec. */
#include "base/constructor.h"
#include "base/descriptor.h"
#include "feature_columns/derived/derived_internal.h"
#include <string.h>

struct hr_derived_feature {
    atomic_int refs;
    const hr_derived_kind *kind; /* in a descriptor of this library's size: as it was given, or `own` */
    hr_derived_kind own;
    char *name, **field;
    hr_tensor *fill; /* one a field; of HR_INVALID_DTYPE: none */
    int fields;
    double default_value;
    bool failed;
    hr_error error;
    _Alignas(max_align_t) char spec[];
};

static hr_derived_feature no_memory = {
    .refs = 1, .name = (char *)"", .failed = true, .error = HR__NO_MEMORY_FOR("a derived feature")};
static hr_derived_feature missing_one = {
    .refs = 1,
    .name = (char *)"",
    .failed = true,
    .error = HR__ERROR_OF(HR_INVALID_ARGUMENT, "derived.null", "derived features: expected a feature, got NULL"),
};

static const hr_derived_kind *const kinds[] = {
#define HR_DERIVED_KIND(name) &hr_derived_kind_##name,
#include "feature_columns/derived/derived.def"
#undef HR_DERIVED_KIND
};

const hr_derived_kind *hr__derived_kind_at(int i) { return i < (int)(sizeof kinds / sizeof *kinds) ? kinds[i] : NULL; }

static bool derived_is_immortal(const hr_derived_feature *f) { return f == &no_memory || f == &missing_one; }

hr_derived_feature *hr_derived_ref(hr_derived_feature *f)
{
    if (f && !derived_is_immortal(f)) atomic_fetch_add(&f->refs, 1);
    return f;
}

void hr_derived_unref(hr_derived_feature *f)
{
    if (!f || derived_is_immortal(f) || atomic_fetch_sub(&f->refs, 1) > 1) return;
    if (f->kind && f->kind->spec_free) f->kind->spec_free(f->spec);
    for (int i = 0; i < f->fields; i++) {
        hr_free(f->field[i]);
        if (f->fill[i].dtype) hr_tensor_clear(&f->fill[i]);
    }
    hr_free(f->field);
    hr_free(f->fill);
    hr_free(f->name);
    hr_free(f);
}

const hr_error *hr_derived_error(const hr_derived_feature *f)
{
    if (!f) return &missing_one.error;
    return f->failed ? &f->error : NULL;
}

const char *hr_derived_name(const hr_derived_feature *f) { return f && f->name ? f->name : ""; }

const char *hr_derived_field(const hr_derived_feature *f, int i)
{
    return f && i >= 0 && i < f->fields ? f->field[i] : NULL;
}

const hr_derived_kind *hr__derived_kind_of(const hr_derived_feature *f) { return f->kind; }
const void *hr__derived_spec(const hr_derived_feature *f) { return f->spec; }
double hr__derived_default(const hr_derived_feature *f) { return f->default_value; }
bool hr__derived_renames(const hr_derived_feature *f) { return f->kind == &hr_derived_kind_rename; }

const hr_tensor *hr__derived_fill(const hr_derived_feature *f, int i) { return f->fill[i].dtype ? &f->fill[i] : NULL; }

hr_status hr__derived_set_fill(hr_derived_feature *f, int i, hr_dtype dtype, const void *value, hr_error *err)
{
    hr_tensor made;
    HR_TRY(hr_tensor_new(&made, dtype, HR_SHAPE(1), err));
    memcpy(made.data, value, hr_dtype_size(dtype));
    if (f->fill[i].dtype) hr_tensor_clear(&f->fill[i]);
    f->fill[i] = made;
    return HR_OK;
}

/* ---- making one ---- */

static hr_status copy_names(hr_derived_feature *f, const char *name, hr_field_names fields, hr_error *err)
{
    if (!name || !*name)
        return hr_fail(err, HR_INVALID_ARGUMENT, "derived.name", "%s: expected the name of the feature, got none",
                       f->kind->name);
    f->name = hr_strdup(name);
    f->field = hr_calloc((size_t)fields.count + 1, sizeof *f->field);
    f->fill = hr_calloc((size_t)fields.count + 1, sizeof *f->fill);
    if (!f->name || !f->field || !f->fill) return hr_no_memory(err, "a derived feature");
    for (; f->fields < fields.count; f->fields++) {
        const char *field = fields.name[f->fields];
        if (!field || !*field)
            return hr_fail(err, HR_INVALID_ARGUMENT, "derived.name",
                           "%s '%.60s': expected the name of a field, got none", f->kind->name, name);
        f->field[f->fields] = hr_strdup(field);
        if (!f->field[f->fields]) return hr_no_memory(err, "a derived feature");
    }
    return HR_OK;
}

static hr_status check_fields(const hr_derived_kind *kind, const char *name, hr_field_names fields, hr_error *err)
{
    enum { MOST = 1 << 16 };
    if (fields.count > 0 && fields.count <= MOST && fields.name) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "derived.name", "%s '%.60s': expected 1 to %d fields, got %d", kind->name,
                   name ? name : "", MOST, fields.name ? fields.count : 0);
}

static hr_status fit_kind(hr_derived_feature *f, const hr_derived_kind *given, hr_error *err)
{
    static const hr__descriptor_kind what = {
        .what = "derived feature",
        .status = HR_INTERNAL,
        .error = "derived.kind",
        .version = HR_DERIVED_ABI,
        .size = sizeof(hr_derived_kind),
        .min_size = offsetof(hr_derived_kind, words),
    };
    const void *fits;
    HR_TRY(hr__descriptor_fit(&what, given, &f->own, &fits, err));
    const hr_derived_kind *kind = fits;
    if (!kind->name || !kind->type || (!kind->compute && kind != &hr_derived_kind_rename))
        return hr_fail(err, HR_INTERNAL, "derived.kind",
                       "derived feature: expected a kind with name, type and compute");
    f->kind = kind;
    return HR_OK;
}

hr_derived_feature *hr_derived_new(const hr_derived_kind *kind, const void *spec, const char *name,
                                   hr_field_names fields, double default_value)
{
    const size_t size = kind && kind->head.struct_size > offsetof(hr_derived_kind, spec_size) ? kind->spec_size : 0;
    hr_derived_feature *f = hr_calloc(1, sizeof *f + size);
    if (!f) return &no_memory;
    f->refs = 1;
    f->default_value = default_value;
    hr_status st = fit_kind(f, kind, &f->error);
    if (st == HR_OK) {
        if (size > 0) memcpy(f->spec, spec, size);
        if (f->kind->spec_copy) st = f->kind->spec_copy(f->spec, &f->error);
    }
    if (st == HR_OK) st = check_fields(f->kind, name, fields, &f->error);
    if (st == HR_OK) st = copy_names(f, name, fields, &f->error);
    f->failed = st != HR_OK;
    return f;
}
