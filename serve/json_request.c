/* Bodies of requests into tensors and Examples, with the checks of TensorFlow Serving in their order. */
#include "serve/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- errors that show a value ---- */

/* BEFORE + the value + AFTER */
static hr_status value_fault(hr__fault *fault, hr_status status, const char *before, const hr__doc *value,
                             const char *after)
{
    fault->status = status;
    hr__text_clear(&fault->text);
    hr__text_add(&fault->text, before);
    hr__doc_print(value, &fault->text);
    hr__text_add(&fault->text, after);
    return status;
}

/* Puts a text before that of the fault; the status becomes INVALID_ARGUMENT, and is named in between. */
static hr_status wrap_fault(hr__fault *fault, const char *before)
{
    hr__text inner = fault->text;
    fault->text = (hr__text){0};
    hr__text_add(&fault->text, before);
    hr__text_printf(&fault->text, "%s: ", hr__status_code(fault->status));
    hr__text_bytes(&fault->text, inner.data ? inner.data : "", inner.size);
    hr__text_free(&inner);
    return fault->status = HR_INVALID_ARGUMENT;
}

hr_status hr__doc_request_read(hr_view body, bool tf_compat, hr__pool_memory *memory, hr__doc_request *out,
                               hr__fault *fault)
{
    const hr__doc_options options = {.lenient = tf_compat, .items = &out->items};
    *out = (hr__doc_request){.signature = {"", 0}};
    HR_TRY(hr__doc_parse(body, &options, memory, &out->root, fault));
    if (out->root.type != HR__IS_OBJECT)
        return value_fault(fault, HR_INVALID_ARGUMENT, "JSON Value: ", &out->root, " Is not object");
    const hr__doc *name = hr__doc_member(&out->root, "signature_name");
    if (name && name->type != HR__IS_STRING)
        return value_fault(fault, HR_INVALID_ARGUMENT, "JSON Value: ", &out->root,
                           " not formatted correctly. 'signature_name' key must be a string value.");
    if (name) out->signature = (hr_view){name->is.text, (int64_t)name->size};
    return HR_OK;
}

/* ---- values of tensors ---- */

/* A tensor that grows, row by row or at once. */
typedef struct json_tensor {
    hr_dtype dtype;
    size_t size; /* bytes of a value */
    char *data;
    int64_t count, space;
    bool begun;
    hr_shape row;      /* the shape of the first row, or of all */
    int64_t row_count; /* its values */
} json_tensor;

typedef struct json_filler {
    hr__call *call;
    bool tf_compat;
    json_tensor *tensors; /* by the signature's own order */
    int64_t rows;         /* that a tensor will probably have */
} json_filler;

static hr_status no_request_memory(json_filler *f)
{
    return hr__fault_set(&f->call->fault, HR_RESOURCE_EXHAUSTED, "no memory for the request");
}

static char *tensor_place(json_filler *f, json_tensor *t)
{
    if (t->count == t->space) {
        const int64_t first = f->rows > 1024 ? 1024 : f->rows > 0 ? f->rows : 1;
        const int64_t space = t->space ? t->space * 2 : first;
        char *data = hr__memory_take(&f->call->memory, (size_t)space * t->size);
        if (!data) return NULL;
        if (t->count) memcpy(data, t->data, (size_t)t->count * t->size);
        t->data = data;
        t->space = space;
    }
    return t->data + (size_t)t->count++ * t->size;
}

static hr_status wrong_type(json_filler *f, const hr__doc *v, hr_dtype dtype)
{
    char after[100];
    snprintf(after, sizeof after, " Type: %s is not of expected type: %s", hr__doc_type_name(v), hr__dtype_word(dtype));
    return value_fault(&f->call->fault, HR_INVALID_ARGUMENT, "JSON Value: ", v, after);
}

static hr_status no_conversion(json_filler *f, const hr__doc *v, hr_dtype dtype)
{
    char after[100];
    snprintf(after, sizeof after, " to type: %s", hr__dtype_word(dtype));
    return value_fault(&f->call->fault, HR_UNIMPLEMENTED, "Conversion of JSON Value: ", v, after);
}

static double as_double(const hr__doc *v)
{
    return v->number == HR__IS_DOUBLE ? v->is.d : v->number == HR__IS_INT ? (double)v->is.i : (double)v->is.u;
}

/* The bits of a float, rounded half to even to those of float16 (5 bits of exponent) or bfloat16. */
static uint16_t half_bits(float value, bool brain)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    if (brain) {
        if (isnan(value)) return 0x7fc0;
        return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
    }
    const uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    const double size = fabs((double)value);
    if (isnan(value)) return sign | 0x7e00;
    if (size >= 65520) return sign | 0x7c00;
    int exponent;
    frexp(size, &exponent);
    if (size == 0 || exponent < -13) exponent = -13; /* subnormal: multiples of 2^-24 */
    const double unit = ldexp(1, exponent - 11);
    const uint32_t units = (uint32_t)rint(size / unit);
    return (uint16_t)(sign | (units + ((uint32_t)(exponent + 13) << 10)));
}

/* A whole number within the limits of a type. False: it is none. */
static bool whole_within(const hr__doc *v, int64_t least, uint64_t most)
{
    if (v->number == HR__IS_UINT) return v->is.u <= most;
    return v->number == HR__IS_INT && v->is.i >= least && (v->is.i < 0 || (uint64_t)v->is.i <= most);
}

static bool put_integer(hr_dtype dtype, bool wraps, const hr__doc *v, char *to)
{
    static const struct {
        hr_dtype dtype;
        int64_t least;
        uint64_t most;
        bool small; /* TensorFlow Serving takes any int32 */
    } limits[] = {{HR_INT8, INT8_MIN, INT8_MAX, true},     {HR_INT16, INT16_MIN, INT16_MAX, true},
                  {HR_INT32, INT32_MIN, INT32_MAX, false}, {HR_INT64, INT64_MIN, INT64_MAX, false},
                  {HR_UINT8, 0, UINT8_MAX, true},          {HR_UINT16, 0, UINT16_MAX, false},
                  {HR_UINT32, 0, UINT32_MAX, false},       {HR_UINT64, 0, UINT64_MAX, false}};
    size_t i = 0;
    while (limits[i].dtype != dtype) i++;
    const bool wide = wraps && limits[i].small;
    if (!whole_within(v, wide ? INT32_MIN : limits[i].least, wide ? INT32_MAX : limits[i].most)) return false;
    memcpy(to, &v->is.u, hr_dtype_size(dtype)); /* the low bytes: little-endian, as tensors in memory are */
    return true;
}

static hr_status put_number(json_filler *f, const hr__doc *v, hr_dtype dtype, char *to)
{
    if (v->type != HR__IS_NUMBER) return wrong_type(f, v, dtype);
    const double d = as_double(v);
    const float narrow = (float)d;
    uint16_t bits;
    switch (dtype) {
    case HR_FLOAT:
        memcpy(to, &narrow, sizeof narrow);
        return HR_OK;
    case HR_DOUBLE:
        memcpy(to, &d, sizeof d);
        return HR_OK;
    case HR_HALF:
    case HR_BFLOAT16:
        bits = half_bits(narrow, dtype == HR_BFLOAT16);
        memcpy(to, &bits, sizeof bits);
        return HR_OK;
    default:
        return put_integer(dtype, f->tf_compat, v, to) ? HR_OK : wrong_type(f, v, dtype);
    }
}

static hr_status put_string(json_filler *f, const hr__doc *v, char *to)
{
    hr_view view = {v->is.text, (int64_t)v->size};
    if (v->type != HR__IS_STRING) {
        if (!hr__doc_is_base64(v)) return wrong_type(f, v, HR_STRING);
        const hr__doc *text = &v->is.items[1];
        if (!hr__doc_base64((hr_view){text->is.text, (int64_t)text->size}, &f->call->memory, &view))
            return hr__fault_set(&f->call->fault, HR_INVALID_ARGUMENT, "Unable to base64 decode");
    }
    memcpy(to, &view, sizeof view);
    return HR_OK;
}

static hr_status put_value(json_filler *f, const hr__doc *v, json_tensor *t)
{
    char spare[16];
    char *to = t->size ? tensor_place(f, t) : spare;
    if (!to) return no_request_memory(f);
    switch (t->dtype) {
    case HR_STRING:
        return put_string(f, v, to);
    case HR_BOOL:
        if (v->type != HR__IS_TRUE && v->type != HR__IS_FALSE) return wrong_type(f, v, HR_BOOL);
        *to = v->type == HR__IS_TRUE;
        return HR_OK;
    case HR_HALF:
    case HR_BFLOAT16:
    case HR_UINT16:
        if (f->tf_compat) return no_conversion(f, v, t->dtype);
        return put_number(f, v, t->dtype, to);
    case HR_FLOAT:
    case HR_DOUBLE:
    case HR_INT8:
    case HR_INT16:
    case HR_INT32:
    case HR_INT64:
    case HR_UINT8:
    case HR_UINT32:
    case HR_UINT64:
        return put_number(f, v, t->dtype, to);
    default:
        return no_conversion(f, v, t->dtype);
    }
}

/* ---- shapes ---- */

typedef struct json_shape {
    int rank;
    int64_t dims[HR__DOC_LEVELS];
} json_shape;

static void shape_of(const hr__doc *v, json_shape *shape)
{
    for (shape->rank = 0; v->type == HR__IS_ARRAY && shape->rank < HR__DOC_LEVELS; v = v->is.items) {
        shape->dims[shape->rank++] = v->count;
        if (v->count == 0) return;
    }
}

static hr_status fill_value(json_filler *f, const hr__doc *v, int level, const json_shape *shape, json_tensor *t)
{
    hr__fault *fault = &f->call->fault;
    if (v->type != HR__IS_ARRAY) {
        char after[100];
        if (level == shape->rank) return put_value(f, v, t);
        snprintf(after, sizeof after, " found at incorrect level: %d in the JSON DOM. Expected at level: %d", level + 1,
                 shape->rank);
        return value_fault(fault, HR_INVALID_ARGUMENT, "JSON Value: ", v, after);
    }
    if (level >= shape->rank)
        return hr__fault_set(fault, HR_INVALID_ARGUMENT, "Encountered list at unexpected level: %d expected < %d",
                             level, shape->rank);
    if (v->count != shape->dims[level])
        return hr__fault_set(fault, HR_INVALID_ARGUMENT,
                             "Encountered list at unexpected size: %u at level: %d expected size: %lld", v->count,
                             level, (long long)shape->dims[level]);
    for (uint32_t i = 0; i < v->count; i++) HR_TRY(fill_value(f, &v->is.items[i], level + 1, shape, t));
    return HR_OK;
}

static hr_status fill_all(json_filler *f, const hr__doc *v, json_tensor *t, hr_shape *out)
{
    json_shape shape;
    shape_of(v, &shape);
    HR_TRY(fill_value(f, v, 0, &shape, t));
    if (shape.rank > HR_MAX_RANK)
        return hr__fault_set(&f->call->fault, HR_INVALID_ARGUMENT,
                             "Expecting at most %d levels of lists in a value but got: %d", HR_MAX_RANK, shape.rank);
    out->rank = shape.rank;
    for (int i = 0; i < shape.rank; i++) out->dims[i] = shape.dims[i];
    return HR_OK;
}

/* ---- rows ---- */

static void add_shape(hr__text *to, const hr_shape *shape)
{
    hr__text_byte(to, '[');
    for (int i = 0; i < shape->rank; i++) hr__text_printf(to, "%s%lld", i ? "," : "", (long long)shape->dims[i]);
    hr__text_byte(to, ']');
}

static hr_status add_row(json_filler *f, const hr__doc *v, json_tensor *t)
{
    hr__fault *fault = &f->call->fault;
    hr_shape shape = {0};
    const int64_t before = t->count;
    HR_TRY(fill_all(f, v, t, &shape));
    const int64_t count = t->count - before;
    if (!t->begun) {
        if (shape.rank >= HR_MAX_RANK)
            return hr__fault_set(fault, HR_INVALID_ARGUMENT,
                                 "Expecting at most %d levels of lists in a row but got: %d", HR_MAX_RANK - 1,
                                 shape.rank);
        t->begun = true;
        t->row = shape;
        t->row_count = count;
        return HR_OK;
    }
    if (count != t->row_count)
        return hr__fault_set(fault, HR_INVALID_ARGUMENT, "Expecting tensor size: %lld but got: %lld",
                             (long long)t->row_count, (long long)count);
    if (shape.rank == t->row.rank && memcmp(shape.dims, t->row.dims, (size_t)shape.rank * sizeof *shape.dims) == 0)
        return HR_OK;
    fault->status = HR_INVALID_ARGUMENT;
    hr__text_clear(&fault->text);
    hr__text_add(&fault->text, "Expecting shape ");
    add_shape(&fault->text, &t->row);
    hr__text_add(&fault->text, " but got: ");
    add_shape(&fault->text, &shape);
    return HR_INVALID_ARGUMENT;
}

/* The number of an input in the signature, by its name; -1: there is none. `hint`: where it is most likely. */
static int input_named(const hr__signature *s, hr_view name, int hint)
{
    const hr_meta_signature *said = s->said;
    for (int i = 0; i < said->input_count; i++) {
        const int number = s->inputs[(hint + i) % said->input_count];
        const char *key = said->inputs[number].key;
        if (strlen(key) == (size_t)name.size && memcmp(key, name.data, (size_t)name.size) == 0) return number;
    }
    return -1;
}

static hr_status keys_fault(json_filler *f, const hr__doc *row, uint32_t at)
{
    const hr__signature *s = f->call->signature;
    char before[100];
    hr__text keys = {0};
    hr__text_add(&keys, " keys must be equal to: ");
    for (int i = 0; i < s->said->input_count; i++)
        hr__text_printf(&keys, "%s%s", i ? "," : "", s->said->inputs[s->inputs[i]].key);
    snprintf(before, sizeof before, "Failed to process element: %u of 'instances' list. JSON object: ", at);
    const hr_status st = value_fault(&f->call->fault, HR_INVALID_ARGUMENT, before, row, keys.data ? keys.data : "");
    hr__text_free(&keys);
    return st;
}

static hr_status add_object(json_filler *f, const hr__doc *row, uint32_t at, uint64_t *seen)
{
    const hr__signature *s = f->call->signature;
    const int inputs = s->said->input_count;
    int found = 0;
    memset(seen, 0, (size_t)(inputs + 63) / 64 * sizeof *seen);
    for (uint32_t i = 0; i < row->count; i++) {
        const hr__doc *key = &row->is.items[2 * i];
        const hr_view name = {key->is.text, (int64_t)key->size};
        const int number = input_named(s, name, (int)(i % (uint32_t)inputs));
        hr_status st = HR_OK;
        if (number < 0) {
            hr__text_clear(&f->call->fault.text);
            hr__text_add(&f->call->fault.text, "JSON object: does not have named input: ");
            hr__text_bytes(&f->call->fault.text, name.data, key->size);
            st = f->call->fault.status = HR_INVALID_ARGUMENT;
        } else if (seen[number / 64] >> number % 64 & 1) {
            continue; /* of two the first counts */
        } else {
            seen[number / 64] |= (uint64_t)1 << number % 64;
            found++;
            st = add_row(f, key + 1, &f->tensors[number]);
        }
        if (st == HR_OK) continue;
        hr__text before = {0};
        hr__text_printf(&before, "Failed to process element: %u key: %.*s of 'instances' list. Error: ", at,
                        (int)(key->size > 200 ? 200 : key->size), key->is.text);
        st = wrap_fault(&f->call->fault, before.data ? before.data : "");
        hr__text_free(&before);
        return st;
    }
    return found == inputs ? HR_OK : keys_fault(f, row, at);
}

static hr_status add_plain(json_filler *f, const hr__doc *row, uint32_t at)
{
    char before[100];
    if (add_row(f, row, &f->tensors[0]) == HR_OK) return HR_OK;
    snprintf(before, sizeof before, "Failed to process element: %u of 'instances' list. Error: ", at);
    return wrap_fault(&f->call->fault, before);
}

static bool is_row_object(const hr__doc *v) { return v->type == HR__IS_OBJECT && !hr__doc_is_base64(v); }

static hr_status fill_rows(json_filler *f, const hr__doc *root, const hr__doc *rows)
{
    hr__fault *fault = &f->call->fault;
    const int inputs = f->call->signature->said->input_count;
    if (rows->type != HR__IS_ARRAY)
        return value_fault(fault, HR_INVALID_ARGUMENT, "JSON Value: ", root,
                           " Expecting 'instances' to be an list/array");
    if (rows->count == 0)
        return value_fault(fault, HR_INVALID_ARGUMENT, "JSON Value: ", root, " No values in 'instances' array");
    const bool objects = is_row_object(&rows->is.items[0]);
    if (!objects && inputs > 1)
        return hr__fault_set(fault, HR_INVALID_ARGUMENT,
                             "instances is a plain list, but expecting list of objects as multiple input tensors "
                             "required as per tensorinfo_map");
    uint64_t *seen = hr__memory_take(&f->call->memory, (size_t)(inputs + 63) / 64 * sizeof *seen);
    if (!seen) return no_request_memory(f);
    f->rows = rows->count;
    for (uint32_t i = 0; i < rows->count; i++) {
        const hr__doc *row = &rows->is.items[i];
        if (is_row_object(row) != objects)
            return hr__fault_set(fault, HR_INVALID_ARGUMENT, "Expecting %s but got %s at item %u of input list",
                                 objects ? "object" : "value/list", objects ? "list" : "object", i);
        HR_TRY(objects ? add_object(f, row, i, seen) : add_plain(f, row, i));
    }
    for (int i = 0; i < inputs; i++) {
        json_tensor *t = &f->tensors[i];
        memmove(t->row.dims + 1, t->row.dims, (size_t)t->row.rank * sizeof *t->row.dims);
        t->row.dims[0] = rows->count;
        t->row.rank++;
    }
    return HR_OK;
}

/* ---- columns ---- */

static hr_status fill_columns(json_filler *f, const hr__doc *columns)
{
    const hr__signature *s = f->call->signature;
    hr__fault *fault = &f->call->fault;
    if (!is_row_object(columns)) {
        if (s->said->input_count > 1)
            return hr__fault_set(fault, HR_INVALID_ARGUMENT,
                                 "inputs is a plain value/list, but expecting an object as multiple input tensors "
                                 "required as per tensorinfo_map");
        return fill_all(f, columns, &f->tensors[0], &f->tensors[0].row);
    }
    for (int i = 0; i < s->said->input_count; i++) {
        const int number = s->inputs[i];
        const hr__doc *column = hr__doc_member(columns, s->said->inputs[number].key);
        if (!column)
            return hr__fault_set(fault, HR_INVALID_ARGUMENT, "Missing named input: %s in 'inputs' object.",
                                 s->said->inputs[number].key);
        f->rows = column->count;
        HR_TRY(fill_all(f, column, &f->tensors[number], &f->tensors[number].row));
    }
    return HR_OK;
}

/* ---- predict ---- */

static hr_status begin_tensors(json_filler *f)
{
    const hr_meta_signature *said = f->call->signature->said;
    const size_t count = (size_t)said->input_count + 1;
    f->tensors = hr__memory_take(&f->call->memory, count * sizeof *f->tensors);
    f->call->inputs = hr__memory_take(&f->call->memory, count * sizeof *f->call->inputs);
    if (!f->tensors || !f->call->inputs) return no_request_memory(f);
    memset(f->tensors, 0, count * sizeof *f->tensors);
    memset(f->call->inputs, 0, count * sizeof *f->call->inputs);
    for (int i = 0; i < said->input_count; i++) {
        f->tensors[i].dtype = said->inputs[i].dtype;
        f->tensors[i].size = hr_dtype_size(said->inputs[i].dtype);
    }
    return HR_OK;
}

hr_status hr__doc_predict_inputs(const hr__doc_request *request, bool tf_compat, hr__call *call, bool *rows)
{
    json_filler f = {.call = call, .tf_compat = tf_compat};
    const hr_meta_signature *said = call->signature->said;
    const hr__doc *root = &request->root;
    if (said->input_count == 0)
        return hr__fault_set(&call->fault, HR_INVALID_ARGUMENT, "Failed to get input map for signature: %s",
                             request->signature.size ? said->key : "DEFAULT");
    const hr__doc *instances = hr__doc_member(root, "instances"), *inputs = hr__doc_member(root, "inputs");
    if (instances && inputs)
        return value_fault(&call->fault, HR_INVALID_ARGUMENT, "JSON Value: ", root,
                           " Not formatted correctly expecting only one of 'inputs' or 'instances' keys to exist ");
    if (!instances && !inputs)
        return hr__fault_set(&call->fault, HR_INVALID_ARGUMENT, "Missing 'inputs' or 'instances' key");
    HR_TRY(begin_tensors(&f));
    *rows = instances != NULL;
    HR_TRY(instances ? fill_rows(&f, root, instances) : fill_columns(&f, inputs));
    for (int i = 0; i < said->input_count; i++) {
        const json_tensor *t = &f.tensors[i];
        call->inputs[i] = hr_tensor_of(t->dtype, t->row, t->data ? t->data : (void *)f.tensors);
    }
    return HR_OK;
}

/* ---- Examples ---- */

typedef enum feature_kind { FEATURE_BYTES = 1, FEATURE_FLOAT, FEATURE_INT64 } feature_kind;

static const char *feature_word(feature_kind kind)
{
    return kind == FEATURE_BYTES ? "bytes" : kind == FEATURE_FLOAT ? "float" : "int64";
}

static void put_varint(hr__text *to, uint64_t value)
{
    char bytes[10];
    int size = 0;
    for (; value >= 0x80; value >>= 7) bytes[size++] = (char)(value | 0x80);
    bytes[size++] = (char)value;
    hr__text_bytes(to, bytes, (size_t)size);
}

static void put_field(hr__text *to, int field, const char *bytes, size_t size)
{
    put_varint(to, (uint64_t)field << 3 | 2);
    put_varint(to, size);
    hr__text_bytes(to, bytes, size);
}

typedef struct example_writer {
    hr__call *call;
    bool tf_compat;
    hr__text values, feature, entry, all;
} example_writer;

/* The kind that one value makes; 0: none, and the fault is set. */
static feature_kind value_kind(example_writer *w, const hr__doc *v, hr_view name)
{
    hr__fault *fault = &w->call->fault;
    if (v->type == HR__IS_STRING || hr__doc_is_base64(v)) return FEATURE_BYTES;
    if (v->type == HR__IS_TRUE || v->type == HR__IS_FALSE) return FEATURE_INT64;
    if (v->type == HR__IS_NUMBER && v->number == HR__IS_DOUBLE) return FEATURE_FLOAT;
    if (v->type == HR__IS_NUMBER && v->number == HR__IS_INT) return FEATURE_INT64;
    hr__text_clear(&fault->text);
    fault->status = HR_INVALID_ARGUMENT;
    hr__text_add(&fault->text, "Feature: ");
    hr__text_bytes(&fault->text, name.data, (size_t)name.size);
    if (v->type == HR__IS_NUMBER)
        hr__text_add(&fault->text, " has uint64_t element. Only int64_t is supported.");
    else
        hr__text_printf(&fault->text, " has element with unexpected JSON type: %s", hr__doc_type_name(v));
    return 0;
}

static hr_status put_feature_value(example_writer *w, const hr__doc *v, feature_kind kind, bool as_float)
{
    hr_view bytes = {v->is.text, (int64_t)v->size};
    float real;
    if (kind == FEATURE_FLOAT || as_float) {
        real = (float)as_double(v);
        hr__text_bytes(&w->values, &real, sizeof real); /* little-endian, as the wire is */
        return HR_OK;
    }
    if (kind == FEATURE_INT64) {
        put_varint(&w->values, v->type == HR__IS_NUMBER ? v->is.u : v->type == HR__IS_TRUE);
        return HR_OK;
    }
    if (v->type != HR__IS_STRING) {
        const hr__doc *text = &v->is.items[1];
        if (!hr__doc_base64((hr_view){text->is.text, (int64_t)text->size}, &w->call->memory, &bytes))
            return hr__fault_set(&w->call->fault, HR_INVALID_ARGUMENT, "Unable to base64 decode");
    }
    put_field(&w->values, 1, bytes.data, (size_t)bytes.size);
    return HR_OK;
}

/* Whole numbers for a feature that the graph reads as float. */
static bool wants_floats(const example_writer *w, const hr__doc *items, uint32_t count, hr_view name)
{
    const hr__version *version = w->call->version;
    char text[256];
    if (w->tf_compat || !version || !version->kind->feature || !w->call->signature) return false;
    if ((size_t)name.size >= sizeof text) return false;
    for (uint32_t i = 0; i < count; i++)
        if (items[i].type != HR__IS_NUMBER) return false;
    memcpy(text, name.data, (size_t)name.size);
    text[name.size] = 0;
    return version->kind->feature(version->loaded, w->call->signature->number, text) == HR_FLOAT;
}

static hr_status add_feature(example_writer *w, hr_view name, const hr__doc *value)
{
    const bool list = value->type == HR__IS_ARRAY;
    const hr__doc *items = list ? value->is.items : value;
    const uint32_t count = list ? value->count : 1;
    feature_kind kind = 0;
    hr__text_clear(&w->values);
    hr__text_clear(&w->feature);
    hr__text_clear(&w->entry);
    for (uint32_t i = 0; i < count; i++) {
        const feature_kind found = value_kind(w, &items[i], name);
        if (!found) return HR_INVALID_ARGUMENT;
        if (!kind) kind = found;
        if (found == kind) continue;
        hr__text_clear(&w->call->fault.text);
        hr__text_add(&w->call->fault.text, "Unexpected element type in feature: ");
        hr__text_bytes(&w->call->fault.text, name.data, (size_t)name.size);
        hr__text_printf(&w->call->fault.text, " expecting type: %s", feature_word(kind));
        return w->call->fault.status = HR_INVALID_ARGUMENT;
    }
    const bool as_float = kind == FEATURE_INT64 && wants_floats(w, items, count, name);
    for (uint32_t i = 0; i < count; i++) HR_TRY(put_feature_value(w, &items[i], kind, as_float));
    put_field(&w->entry, 1, name.data, (size_t)name.size);
    if (kind == FEATURE_BYTES) {
        put_field(&w->feature, 1, w->values.data ? w->values.data : "", w->values.size);
    } else if (kind) {
        hr__text packed = {0};
        put_field(&packed, 1, w->values.data ? w->values.data : "", w->values.size);
        put_field(&w->feature, as_float ? FEATURE_FLOAT : kind, packed.data ? packed.data : "", packed.size);
        w->feature.failed |= packed.failed;
        hr__text_free(&packed);
    }
    put_field(&w->entry, 2, w->feature.data ? w->feature.data : "", w->feature.size);
    put_field(&w->all, 1, w->entry.data ? w->entry.data : "", w->entry.size);
    return HR_OK;
}

/* Gives an Example's bytes. */
static hr_status make_example(example_writer *w, const hr__doc *v, hr_view *out)
{
    if (v->type != HR__IS_OBJECT)
        return hr__fault_set(&w->call->fault, HR_INVALID_ARGUMENT, "Example must be JSON object but got JSON %s",
                             hr__doc_type_name(v));
    hr__text_clear(&w->all);
    for (uint32_t i = 0; i < v->count; i++) {
        const hr__doc *key = &v->is.items[2 * i];
        HR_TRY(add_feature(w, (hr_view){key->is.text, (int64_t)key->size}, key + 1));
    }
    char head[12] = {0x0a};
    int size = 1;
    uint64_t left = w->all.size;
    for (; left >= 0x80; left >>= 7) head[size++] = (char)(left | 0x80);
    head[size++] = (char)left;
    char *bytes = hr__memory_take(&w->call->memory, w->all.size + (size_t)size);
    if (!bytes || w->all.failed || w->entry.failed || w->feature.failed || w->values.failed)
        return hr__fault_set(&w->call->fault, HR_RESOURCE_EXHAUSTED, "no memory for the request");
    memcpy(bytes, head, (size_t)size);
    if (w->all.size) memcpy(bytes + size, w->all.data, w->all.size);
    *out = (hr_view){bytes, (int64_t)w->all.size + size};
    return HR_OK;
}

static hr_status check_examples(const hr__doc *root, const hr__doc *examples, hr__fault *fault)
{
    if (!examples)
        return value_fault(fault, HR_INVALID_ARGUMENT, "JSON Value: ", root,
                           " When method is classify, key 'examples' is expected and was not found");
    if (examples->type != HR__IS_ARRAY)
        return value_fault(fault, HR_INVALID_ARGUMENT, "JSON Value: ", root,
                           " Expecting 'examples' value to be an list/array");
    if (examples->count == 0)
        return value_fault(fault, HR_INVALID_ARGUMENT, "JSON Value: ", root, " 'examples' value is an empty array");
    return HR_OK;
}

static hr_status write_examples(example_writer *w, const hr__doc *context, const hr__doc *root)
{
    hr__call *call = w->call;
    hr_view shared = {"", 0};
    if (context) HR_TRY(make_example(w, context, &shared));
    const hr__doc *examples = hr__doc_member(root, "examples");
    HR_TRY(check_examples(root, examples, &call->fault));
    call->examples = hr__memory_take(&call->memory, examples->count * sizeof *call->examples);
    if (!call->examples) return hr__fault_set(&call->fault, HR_RESOURCE_EXHAUSTED, "no memory for the request");
    call->example_count = examples->count;
    for (uint32_t i = 0; i < examples->count; i++) {
        hr_view own;
        HR_TRY(make_example(w, &examples->is.items[i], &own));
        if (shared.size) { /* the last of two features of one name counts */
            char *both = hr__memory_take(&call->memory, (size_t)(shared.size + own.size));
            if (!both) return hr__fault_set(&call->fault, HR_RESOURCE_EXHAUSTED, "no memory for the request");
            memcpy(both, shared.data, (size_t)shared.size);
            memcpy(both + shared.size, own.data, (size_t)own.size);
            own = (hr_view){both, shared.size + own.size};
        }
        call->examples[i] = own;
    }
    return HR_OK;
}

hr_status hr__doc_examples(const hr__doc_request *request, bool tf_compat, hr__call *call)
{
    example_writer w = {.call = call, .tf_compat = tf_compat};
    const hr_status st = write_examples(&w, hr__doc_member(&request->root, "context"), &request->root);
    hr__text_free(&w.values);
    hr__text_free(&w.feature);
    hr__text_free(&w.entry);
    hr__text_free(&w.all);
    return st;
}
