/* The loop over a topic's cases, and JSON to tensors. Numbers keep all their digits: integers beyond 2^53 are strings
 * in the cases. */
#include "tests/golden/golden.h"
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- files ---- */

static hr_view read_file(const char *path)
{
    hr_view none = {NULL, -1};
    FILE *f = fopen(path, "rb");
    if (!f) return none;
    fseek(f, 0, SEEK_END);
    long size = ftell(f);
    rewind(f);
    char *data = malloc((size_t)size + 65);
    bool whole = data && fread(data, 1, (size_t)size, f) == (size_t)size;
    fclose(f);
    if (!whole) {
        free(data);
        return none;
    }
    memset(data + size, 0, 65);
    return (hr_view){data, size};
}

hr_view golden_file(const golden_case *c, const char *name)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", c->folder, name);
    return read_file(path);
}

static bool exists(const char *path) { return access(path, R_OK) == 0; }

/* The folder that holds the topic's cases.json, unpacking it if need be. */
static bool find_folder(const char *topic, const char *root, char *folder, size_t size)
{
    char path[1024], command[4096];
    const char *other = getenv("HEADRACE_GOLDEN");
    snprintf(folder, size, "%s/%s", other ? other : root, topic);
    snprintf(path, sizeof path, "%s/cases.json", folder);
    if (exists(path)) return true;
    snprintf(path, sizeof path, "%s/%s.tar.gz", other ? other : root, topic);
    if (!other || !exists(path)) return false;
    snprintf(folder, size, "unpacked-%s", topic);
    snprintf(command, sizeof command, "mkdir -p '%s' && tar xzf '%s' -C '%s'", folder, path, folder);
    if (system(command) != 0) return false;
    snprintf(path, sizeof path, "%s/cases.json", folder);
    if (exists(path)) return true;
    size_t used = strlen(folder); /* the archive may hold the folder itself */
    snprintf(folder + used, size - used, "/%s", topic);
    snprintf(path, sizeof path, "%s/cases.json", folder);
    return exists(path);
}

/* ---- which fields were asked for ---- */

enum { WAS_READ = 1 << 16 }; /* of cJSON's `type`, whose own flags are below it */

static void asked_for(const cJSON *item)
{
    if (item) ((cJSON *)(uintptr_t)item)->type |= WAS_READ;
}

const cJSON *golden_fields(const cJSON *object)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, object) asked_for(item);
    return object;
}

const cJSON *golden_whole(const cJSON *json)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, golden_fields(json)) golden_whole(item);
    return json;
}

/* ---- the loop ---- */

typedef struct tally {
    int cases, agree, not_built;
} tally;

static bool is_for_people(const char *field)
{
    static const char *const known[] = {"name",      "what",         "note",
                                        "notes",     "python",       "tf_message",
                                        "tf_aborts", "python_class", "measured_mean_std_min_max",
                                        "gram"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i], field) == 0) return true;
    return false;
}

/* The path of a field that nobody has asked for, in `path`. */
static bool find_unread(const cJSON *in, char *path, size_t size)
{
    const cJSON *item;
    const size_t used = strlen(path);
    int number = 0;
    cJSON_ArrayForEach(item, in)
    {
        const char *field = item->string;
        if (field && is_for_people(field)) continue;
        if (field) snprintf(path + used, size - used, "%s%s", used ? "." : "", field);
        if (!field) snprintf(path + used, size - used, "[%d]", number++);
        if (field && !(item->type & WAS_READ)) return true;
        if (find_unread(item, path, size)) return true;
    }
    path[used] = 0;
    return false;
}

static void run_one(const cJSON *json, const char *folder, golden_fn *fn, tally *t)
{
    char unread[256] = "";
    golden_case c = {.json = json, .name = golden_text(json, "name", "?"), .folder = folder};
    golden_result result = fn(&c);
    if (result == GOLDEN_AGREES && find_unread(json, unread, sizeof unread)) {
        c.mode = NULL;
        result = golden_differs(&c, "nobody asked for its field '%s'", unread);
    }
    t->cases++;
    t->agree += result == GOLDEN_AGREES;
    t->not_built += result == GOLDEN_NOT_BUILT;
    if (result == GOLDEN_DIFFERS)
        printf("  differs: %s: %s%s%s\n", c.name, c.mode ? c.mode : "", c.mode ? ": " : "", c.why);
    if (result == GOLDEN_NOT_BUILT) printf("  not built: %s: %s\n", c.name, c.why);
}

int golden_main(const char *topic, const char *root, golden_fn *fn)
{
    char folder[512], path[1024];
    if (!find_folder(topic, root, folder, sizeof folder)) {
        printf("%s: there is no such topic in %s\n", topic,
               getenv("HEADRACE_GOLDEN") ? getenv("HEADRACE_GOLDEN") : root);
        return 77;
    }
    snprintf(path, sizeof path, "%s/cases.json", folder);
    hr_view text = read_file(path);
    cJSON *all = text.size >= 0 ? cJSON_ParseWithLength(text.data, (size_t)text.size) : NULL;
    const cJSON *json, *cases = golden_get(all, "cases");
    tally t = {0};
    cJSON_ArrayForEach(json, cases) run_one(json, folder, fn, &t);
    printf("%s: %d of %d cases agree", topic, t.agree, t.cases);
    if (t.not_built) printf(", %d need what is not built yet", t.not_built);
    printf("\n");
    cJSON_Delete(all);
    free((char *)text.data);
    bool strict = getenv("HEADRACE_GOLDEN_STRICT") != NULL;
    return t.cases == 0 || t.agree + (strict ? 0 : t.not_built) < t.cases;
}

static golden_result say(golden_case *c, golden_result result, const char *format, va_list args)
{
    vsnprintf(c->why, sizeof c->why, format, args);
    return result;
}

golden_result golden_differs(golden_case *c, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    golden_result result = say(c, GOLDEN_DIFFERS, format, args);
    va_end(args);
    return result;
}

golden_result golden_not_built(golden_case *c, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    golden_result result = say(c, GOLDEN_NOT_BUILT, format, args);
    va_end(args);
    return result;
}

/* ---- fields ---- */

const cJSON *golden_get(const cJSON *object, const char *key)
{
    const cJSON *item = object ? cJSON_GetObjectItemCaseSensitive(object, key) : NULL;
    asked_for(item);
    return item;
}

const char *golden_text(const cJSON *object, const char *key, const char *fallback)
{
    const cJSON *item = golden_get(object, key);
    return cJSON_IsString(item) ? item->valuestring : fallback;
}

int64_t golden_int(const cJSON *object, const char *key, int64_t fallback)
{
    const cJSON *item = golden_get(object, key);
    return cJSON_IsNumber(item) || cJSON_IsString(item) ? golden_number_int64(item) : fallback;
}

bool golden_bool(const cJSON *object, const char *key, bool fallback)
{
    const cJSON *item = golden_get(object, key);
    return cJSON_IsBool(item) ? cJSON_IsTrue(item) : fallback;
}

int64_t golden_number_int64(const cJSON *number)
{
    if (cJSON_IsString(number)) return strtoll(number->valuestring, NULL, 10);
    if (cJSON_IsBool(number)) return cJSON_IsTrue(number);
    return (int64_t)number->valuedouble;
}

uint64_t golden_number_uint64(const cJSON *number)
{
    if (!cJSON_IsString(number)) return (uint64_t)number->valuedouble;
    if (number->valuestring[0] == '-') return (uint64_t)strtoll(number->valuestring, NULL, 10);
    return strtoull(number->valuestring, NULL, 10);
}

double golden_number_double(const cJSON *number)
{
    if (!cJSON_IsString(number)) return cJSON_IsBool(number) ? cJSON_IsTrue(number) : number->valuedouble;
    return strtod(number->valuestring, NULL);
}

static int nibble(char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; }

hr_view golden_hex(const cJSON *text)
{
    if (!cJSON_IsString(text)) return (hr_view){NULL, -1};
    size_t size = strlen(text->valuestring) / 2;
    char *data = calloc(size + 65, 1);
    for (size_t i = 0; data && i < size; i++)
        data[i] = (char)(nibble(text->valuestring[2 * i]) << 4 | nibble(text->valuestring[2 * i + 1]));
    return (hr_view){data, data ? (int64_t)size : -1};
}

/* ---- tensors ---- */

/* IEEE half precision of a number that has one. */
static uint16_t half_bits(double v)
{
    uint16_t sign = signbit(v) ? 0x8000 : 0;
    int exponent;
    if (isnan(v)) return 0x7e00;
    if (isinf(v)) return sign | 0x7c00;
    double fraction = frexp(fabs(v), &exponent); /* 0.5 .. 1 */
    if (fraction == 0) return sign;
    if (exponent < -13) return sign | (uint16_t)ldexp(fraction, exponent + 24);
    return sign | (uint16_t)((exponent + 14) << 10) | (uint16_t)((int)ldexp(fraction, 11) & 0x3ff);
}

static uint16_t bfloat16_bits(double v)
{
    float f = (float)v;
    uint32_t bits;
    memcpy(&bits, &f, 4);
    return (uint16_t)(bits >> 16);
}

static float float_of(const cJSON *n)
{
    return cJSON_IsString(n) ? strtof(n->valuestring, NULL) : (float)n->valuedouble;
}

#define PUT(type, value) ((type *)t->data)[i] = (type)(value)
static void put_number(hr_tensor *t, int64_t i, const cJSON *n)
{
    switch (t->dtype) {
    case HR_COMPLEX64:
    case HR_FLOAT:
        PUT(float, float_of(n));
        break;
    case HR_COMPLEX128:
    case HR_DOUBLE:
        PUT(double, golden_number_double(n));
        break;
    case HR_HALF:
        PUT(uint16_t, half_bits(golden_number_double(n)));
        break;
    case HR_BFLOAT16:
        PUT(uint16_t, bfloat16_bits(golden_number_double(n)));
        break;
    case HR_INT32:
    case HR_QINT32:
        PUT(int32_t, golden_number_int64(n));
        break;
    case HR_INT64:
        PUT(int64_t, golden_number_int64(n));
        break;
    case HR_UINT64:
        PUT(uint64_t, golden_number_uint64(n));
        break;
    case HR_UINT32:
        PUT(uint32_t, golden_number_int64(n));
        break;
    case HR_INT16:
    case HR_QINT16:
        PUT(int16_t, golden_number_int64(n));
        break;
    case HR_UINT16:
    case HR_QUINT16:
        PUT(uint16_t, golden_number_int64(n));
        break;
    case HR_INT8:
    case HR_QINT8:
        PUT(int8_t, golden_number_int64(n));
        break;
    case HR_UINT8:
    case HR_QUINT8:
        PUT(uint8_t, golden_number_int64(n));
        break;
    case HR_BOOL:
        PUT(bool, golden_number_int64(n) != 0);
        break;
    default:
        break;
    }
}
#undef PUT

static bool put_values(hr_tensor *t, const cJSON *values, const cJSON *hex)
{
    const cJSON *item, *list = hex ? hex : values;
    int64_t i = 0;
    cJSON_ArrayForEach(item, list)
    {
        if (i >= t->count) return false;
        if (t->dtype != HR_STRING) {
            put_number(t, i++, item);
            continue;
        }
        hr_view *view = (hr_view *)t->data + i++;
        *view = hex ? golden_hex(item) : (hr_view){strdup(item->valuestring), (int64_t)strlen(item->valuestring)};
    }
    return i == t->count;
}

/* The numbers of a list, or of a tensor: indices, splits and dense shapes come as either. */
static const cJSON *numbers_of(const cJSON *json)
{
    golden_whole(json); /* it has a type and a shape as well */
    return cJSON_IsObject(json) ? golden_get(json, "values") : json;
}

/* Row by row, or flat. */
static bool put_indices(hr_tensor *t, const cJSON *json)
{
    const int64_t count = t->count * t->shape.rank;
    int64_t *indices = calloc((size_t)count + 1, sizeof *indices);
    const cJSON *row, *n;
    int64_t k = 0;
    t->indices = indices;
    cJSON_ArrayForEach(row, numbers_of(json))
    {
        if (!cJSON_IsArray(row) && k < count) indices[k++] = golden_number_int64(row);
        if (cJSON_IsArray(row)) cJSON_ArrayForEach(n, row) if (k < count) indices[k++] = golden_number_int64(n);
    }
    return k == count;
}

static bool put_splits(hr_tensor *t, const cJSON *levels)
{
    const cJSON *level, *n;
    cJSON_ArrayForEach(level, levels)
    {
        if (t->ragged_rank == HR_MAX_RAGGED) return false;
        const cJSON *list = numbers_of(level);
        int32_t *splits = calloc((size_t)cJSON_GetArraySize(list) + 1, sizeof *splits), k = 0;
        cJSON_ArrayForEach(n, list) splits[k++] = (int32_t)golden_number_int64(n);
        if (t->ragged_rank == 0) t->shape.dims[0] = k - 1;
        t->splits[t->ragged_rank++] = splits;
    }
    return true;
}

static hr_shape shape_of(const cJSON *json)
{
    hr_shape shape = {0};
    const cJSON *n;
    cJSON_ArrayForEach(n, numbers_of(json)) if (shape.rank < HR_MAX_RANK) shape.dims[shape.rank++] =
        golden_number_int64(n);
    return shape;
}

bool golden_tensor(const cJSON *json, hr_tensor *out)
{
    *out = (hr_tensor){0};
    const char *dtype = golden_text(json, "dtype", NULL);
    const cJSON *values = golden_get(json, "values"), *hex = golden_get(json, "hex");
    bool nested = values && golden_get(values, "dtype"); /* the values of a sparse or ragged one as a tensor */
    if (nested) {
        golden_get(values, "shape"); /* one dimension, as many as there are */
        dtype = golden_text(values, "dtype", NULL);
        hex = golden_get(values, "hex");
        values = golden_get(values, "values");
    }
    if (!dtype || (!values && !hex)) return false;
    bool sparse = golden_bool(json, "sparse", false), ragged = golden_bool(json, "ragged", false);
    out->dtype = hr_dtype_named(dtype);
    out->layout = sparse ? HR_SPARSE : ragged ? HR_RAGGED : HR_DENSE;
    out->shape = shape_of(golden_get(json, sparse ? "dense_shape" : "shape"));
    out->count = cJSON_GetArraySize(hex ? hex : values); /* of a complex tensor: parts, until they are there */
    out->data = calloc((size_t)out->count + 1, hr_dtype_size(out->dtype) + 1);
    bool good = put_values(out, values, hex);
    if (out->dtype == HR_COMPLEX64 || out->dtype == HR_COMPLEX128) out->count /= 2;
    if (sparse) good &= put_indices(out, golden_get(json, "indices"));
    if (ragged && out->shape.rank == 0) out->shape.rank = 1; /* its first dimension is what the splits say */
    if (ragged) good &= put_splits(out, golden_get(json, "row_splits"));
    return good;
}

void golden_tensor_clear(hr_tensor *t)
{
    for (int64_t i = 0; t->dtype == HR_STRING && i < t->count; i++) free((char *)((hr_view *)t->data)[i].data);
    for (int i = 0; i < t->ragged_rank; i++) free((int32_t *)t->splits[i]);
    free((int64_t *)t->indices);
    free(t->data);
    *t = (hr_tensor){0};
}

static double value_at(const hr_tensor *t, int64_t i)
{
    switch (t->dtype) {
    case HR_FLOAT:
        return ((float *)t->data)[i];
    case HR_DOUBLE:
        return ((double *)t->data)[i];
    case HR_INT32:
        return ((int32_t *)t->data)[i];
    case HR_INT64:
        return (double)((int64_t *)t->data)[i];
    case HR_UINT64:
        return (double)((uint64_t *)t->data)[i];
    case HR_UINT8:
        return ((uint8_t *)t->data)[i];
    case HR_BOOL:
        return ((bool *)t->data)[i];
    default:
        return 0;
    }
}

static bool same_value(const hr_tensor *a, const hr_tensor *b, int64_t i, double rtol, double atol)
{
    if (a->dtype == HR_STRING) {
        hr_view x = ((hr_view *)a->data)[i], y = ((hr_view *)b->data)[i];
        return x.size == y.size && (x.size == 0 || memcmp(x.data, y.data, (size_t)x.size) == 0);
    }
    size_t width = hr_dtype_size(a->dtype);
    if (memcmp((char *)a->data + (size_t)i * width, (char *)b->data + (size_t)i * width, width) == 0) return true;
    if (a->dtype != HR_FLOAT && a->dtype != HR_DOUBLE) return false;
    double x = value_at(a, i), y = value_at(b, i);
    if (isnan(x) || isnan(y)) return isnan(x) && isnan(y);
    return x == y ? rtol + atol > 0 || x != 0 : fabs(x - y) <= atol + rtol * fabs(x);
}

static bool unequal(golden_case *c, const char *what, const char *format, ...)
{
    va_list args;
    int used = snprintf(c->why, sizeof c->why, "%s: ", what);
    va_start(args, format);
    vsnprintf(c->why + used, sizeof c->why - (size_t)used, format, args);
    va_end(args);
    return false;
}

static bool same_structure(golden_case *c, const char *what, const hr_tensor *e, const hr_tensor *g)
{
    char a[128], b[128];
    if (e->dtype != g->dtype)
        return unequal(c, what, "dtype %s, expected %s", hr_dtype_name(g->dtype), hr_dtype_name(e->dtype));
    if (e->layout != g->layout) return unequal(c, what, "layout %d, expected %d", (int)g->layout, (int)e->layout);
    if (e->layout != HR_RAGGED && !hr_shape_equal(e->shape, g->shape))
        return unequal(c, what, "shape %s, expected %s", hr_shape_text(g->shape, a, sizeof a),
                       hr_shape_text(e->shape, b, sizeof b));
    if (e->count != g->count) return unequal(c, what, "%" PRId64 " values, expected %" PRId64, g->count, e->count);
    for (int64_t i = 0; e->indices && i < e->count * e->shape.rank; i++)
        if (e->indices[i] != g->indices[i])
            return unequal(c, what, "index %" PRId64 " is %" PRId64 ", expected %" PRId64, i, g->indices[i],
                           e->indices[i]);
    return true;
}

static bool same_splits(golden_case *c, const char *what, const hr_tensor *e, const hr_tensor *g)
{
    if (e->ragged_rank != g->ragged_rank || e->shape.dims[0] != g->shape.dims[0])
        return unequal(c, what, "%d levels over %" PRId64 " rows, expected %d over %" PRId64, g->ragged_rank,
                       g->shape.dims[0], e->ragged_rank, e->shape.dims[0]);
    int64_t rows = e->shape.dims[0]; /* the last split of a level says how many rows the next one has */
    for (int l = 0; l < e->ragged_rank; l++) {
        for (int64_t i = 0; i <= rows; i++)
            if (e->splits[l][i] != g->splits[l][i])
                return unequal(c, what, "split %" PRId64 " of level %d is %d, expected %d", i, l, g->splits[l][i],
                               e->splits[l][i]);
        rows = e->splits[l][rows];
    }
    return true;
}

bool golden_equal(golden_case *c, const char *what, const hr_tensor *e, const hr_tensor *g, double rtol, double atol)
{
    if (!same_structure(c, what, e, g)) return false;
    if (e->layout == HR_RAGGED && !same_splits(c, what, e, g)) return false;
    for (int64_t i = 0; i < e->count; i++) {
        if (same_value(e, g, i, rtol, atol)) continue;
        if (e->dtype != HR_STRING)
            return unequal(c, what, "value %" PRId64 " is %.17g, expected %.17g", i, value_at(g, i), value_at(e, i));
        hr_view x = ((hr_view *)e->data)[i], y = ((hr_view *)g->data)[i];
        return unequal(c, what, "value %" PRId64 " is \"%.*s\" (%d bytes), expected \"%.*s\" (%d bytes)", i,
                       (int)(y.size < 60 ? y.size : 60), y.data, (int)y.size, (int)(x.size < 60 ? x.size : 60), x.data,
                       (int)x.size);
    }
    return true;
}

bool golden_equal_json(golden_case *c, const char *what, const cJSON *expected, const hr_tensor *got)
{
    hr_tensor e;
    if (!golden_tensor(expected, &e)) {
        golden_tensor_clear(&e);
        return unequal(c, what, "the case has no tensor there");
    }
    const cJSON *tolerance = golden_get(c->json, "tolerance");
    double rtol = tolerance ? golden_number_double(golden_get(tolerance, "rtol")) : 0;
    double atol = tolerance ? golden_number_double(golden_get(tolerance, "atol")) : 0;
    bool same = golden_equal(c, what, &e, got, rtol, atol);
    golden_tensor_clear(&e);
    return same;
}

/* ---- the two modes ---- */

const cJSON *golden_expectation(const cJSON *json, bool tf_compat)
{
    const cJSON *ours = golden_get(json, "headrace_expect"), *by_default = golden_get(json, "default");
    if (ours) { /* what TensorFlow does instead is no matter */
        golden_whole(golden_get(json, "expect"));
        golden_whole(golden_get(json, "error"));
        return ours;
    }
    if (!tf_compat && by_default && !golden_bool(by_default, "report", false)) {
        if (golden_get(by_default, "error"))
            golden_whole(golden_get(json, "expect")), golden_whole(golden_get(json, "tolerance"));
        return by_default;
    }
    return json;
}

const char *golden_error_class(const cJSON *expectation)
{
    return golden_text(golden_get(expectation, "error"), "class", NULL);
}
