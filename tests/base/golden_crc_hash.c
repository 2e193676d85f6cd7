/* The golden topic crc_hash: checksums, and the hashes that decide buckets. Crosses are enumerated here, naively: the
 * oracle of the chain, whatever the crossed column does. */
#include "base/number.h"
#include "base/string_hash.h"
#include "base/text.h"
#include "tests/golden/golden.h"
#include <stdlib.h>
#include <string.h>

enum { MAX_COLUMNS = 16 };

typedef struct numbers {
    hr_tensor tensor;
    int64_t *at;
} numbers;

/* A dense int64 tensor for the answer. */
static numbers answer_for(hr_shape shape)
{
    numbers n;
    if (hr_tensor_new(&n.tensor, HR_INT64, shape, NULL) != HR_OK) abort();
    n.at = n.tensor.data;
    return n;
}

static golden_result compare(golden_case *c, const char *field, numbers n)
{
    const cJSON *expected = golden_get(golden_expectation(c->json, true), "expect");
    bool same = golden_equal_json(c, field, golden_get(expected, field), &n.tensor);
    hr_tensor_clear(&n.tensor);
    return same ? GOLDEN_AGREES : GOLDEN_DIFFERS;
}

/* An error, or none, as the case expects. */
static golden_result compare_status(golden_case *c, hr_status got)
{
    const char *expected = golden_error_class(golden_expectation(c->json, true));
    if (expected ? strcmp(expected, hr_status_name(got)) == 0 : got == HR_OK) return GOLDEN_AGREES;
    return golden_differs(c, "expected %s, got %s", expected ? expected : "OK", hr_status_name(got));
}

/* ---- checksums ---- */

static golden_result run_crc32c(golden_case *c, const hr_tensor *input)
{
    const hr_view *s = input->data;
    numbers plain = answer_for(input->shape), masked = answer_for(input->shape);
    for (int64_t i = 0; i < input->count; i++) {
        plain.at[i] = hr_crc32c(0, s[i].data, (size_t)s[i].size);
        masked.at[i] = hr_crc32c_mask((uint32_t)plain.at[i]);
        if (hr_crc32c_unmask((uint32_t)masked.at[i]) != (uint32_t)plain.at[i]) masked.at[i] = -1;
    }
    golden_result first = compare(c, "crc32c", plain), second = compare(c, "masked", masked);
    return first != GOLDEN_AGREES ? first : second;
}

static golden_result run_crc32c_length(golden_case *c, const hr_tensor *input)
{
    (void)input;
    hr_tensor lengths;
    if (!golden_tensor(golden_get(c->json, "lengths"), &lengths)) return golden_differs(c, "no lengths");
    numbers masked = answer_for(lengths.shape);
    for (int64_t i = 0; i < lengths.count; i++) {
        unsigned char bytes[8];
        for (int k = 0; k < 8; k++) bytes[k] = (unsigned char)(((const uint64_t *)lengths.data)[i] >> 8 * k);
        masked.at[i] = hr_crc32c_mask(hr_crc32c(0, bytes, 8));
    }
    golden_tensor_clear(&lengths);
    return compare(c, "masked", masked);
}

static golden_result run_crc32c_extend(golden_case *c, const hr_tensor *input)
{
    numbers crc = answer_for(input->shape);
    for (int64_t i = 0; i < input->count; i++) {
        hr_view s = ((const hr_view *)input->data)[i];
        uint32_t sum = 0;
        int64_t from = 0;
        const cJSON *cut;
        cJSON_ArrayForEach(cut, golden_get(c->json, "cuts"))
        {
            int64_t to = golden_number_int64(cut);
            sum = hr_crc32c(sum, s.data + from, (size_t)(to - from));
            from = to;
        }
        crc.at[i] = hr_crc32c(sum, s.data + from, (size_t)(s.size - from));
    }
    return compare(c, "crc32c", crc);
}

/* ---- hashes ---- */

static golden_result compare_uint64(golden_case *c, numbers n)
{
    n.tensor.dtype = HR_UINT64;
    return compare(c, "output", n);
}

static golden_result run_fingerprint64(golden_case *c, const hr_tensor *input)
{
    numbers out = answer_for(input->shape);
    for (int64_t i = 0; i < input->count; i++) {
        hr_view s = ((const hr_view *)input->data)[i];
        out.at[i] = (int64_t)hr_fingerprint64(s.data, (size_t)s.size);
    }
    return compare_uint64(c, out);
}

static golden_result run_fingerprint_cat64(golden_case *c, const hr_tensor *input)
{
    (void)input;
    hr_tensor a, b;
    if (!golden_tensor(golden_get(c->json, "a"), &a) || !golden_tensor(golden_get(c->json, "b"), &b))
        return golden_differs(c, "no a and b");
    numbers out = answer_for(a.shape);
    for (int64_t i = 0; i < a.count; i++)
        out.at[i] = (int64_t)hr_fingerprint_cat64(((const uint64_t *)a.data)[i], ((const uint64_t *)b.data)[i]);
    golden_tensor_clear(&a);
    golden_tensor_clear(&b);
    return compare_uint64(c, out);
}

static golden_result run_buckets(golden_case *c, const hr_tensor *input, hr__string_hash hash)
{
    uint64_t key[2] = {0};
    const cJSON *keys = golden_get(c->json, "key");
    for (int i = 0; keys && i < 2; i++) key[i] = golden_number_uint64(cJSON_GetArrayItem(keys, i));
    numbers out = answer_for(input->shape);
    hr_status st = hr__string_to_hash_bucket(hash, key, input->data, input->count,
                                             golden_int(c->json, "num_buckets", 0), out.at, NULL);
    golden_result result = compare_status(c, st);
    if (result == GOLDEN_AGREES && st == HR_OK) return compare(c, "output", out);
    hr_tensor_clear(&out.tensor);
    return result;
}

static golden_result run_fast(golden_case *c, const hr_tensor *input) { return run_buckets(c, input, HR__HASH_FAST); }
static golden_result run_strong(golden_case *c, const hr_tensor *input)
{
    return run_buckets(c, input, HR__HASH_STRONG);
}
static golden_result run_old(golden_case *c, const hr_tensor *input) { return run_buckets(c, input, HR__HASH_OLD); }

/* Integers are written in decimal first. */
static golden_result run_integers(golden_case *c, const hr_tensor *input)
{
    char(*text)[HR__NUMBER_TEXT] = calloc((size_t)input->count + 1, sizeof *text);
    hr_view *views = calloc((size_t)input->count + 1, sizeof *views);
    if (!text || !views) abort();
    for (int64_t i = 0; i < input->count; i++)
        views[i] = (hr_view){text[i], hr__format_int64(((const int64_t *)input->data)[i], text[i])};
    hr_tensor strings = hr_tensor_of(HR_STRING, input->shape, views);
    golden_result result = run_fast(c, &strings);
    free(views);
    free(text);
    return result;
}

/* ---- crosses ---- */

/* What is crossed, sparse inputs first. */
typedef struct cross {
    hr_tensor in[MAX_COLUMNS];
    int columns;
    int64_t rows;
} cross;

static bool is_sparse(const hr_tensor *t) { return t->layout == HR_SPARSE; }

static bool read_cross(const cJSON *json, cross *x)
{
    for (int pass = 0; pass < 2; pass++) {
        const cJSON *in;
        cJSON_ArrayForEach(in, golden_get(json, "inputs"))
        {
            hr_tensor t;
            bool good = golden_tensor(in, &t) && x->columns < MAX_COLUMNS;
            if (good && is_sparse(&t) == (pass == 0))
                x->in[x->columns++] = t;
            else
                golden_tensor_clear(&t);
            if (!good) return false;
        }
    }
    x->rows = x->columns ? x->in[0].shape.dims[0] : 0;
    return true;
}

/* The values of one row lie together: where they begin, and how many there are. */
static int64_t row_values(const hr_tensor *t, int64_t row, int64_t *begin)
{
    if (!is_sparse(t)) {
        *begin = row * t->shape.dims[1];
        return t->shape.dims[1];
    }
    int64_t count = 0;
    *begin = 0;
    for (int64_t i = 0; i < t->count; i++) {
        *begin += t->indices[2 * i] < row;
        count += t->indices[2 * i] == row;
    }
    return count;
}

/* Sets which[] to the next combination, the last column fastest; false after the last one. */
static bool next_combination(const cross *x, const int64_t *counts, int64_t *which)
{
    for (int k = x->columns - 1; k >= 0; k--) {
        if (++which[k] < counts[k]) return true;
        which[k] = 0;
    }
    return false;
}

/* What comes of the combinations, in the order of rows. */
typedef struct crossed {
    int64_t count, width, *indices, *ids;
    hr_view *joined;
} crossed;

static uint64_t value_of(const hr_tensor *t, int64_t i)
{
    if (t->dtype != HR_STRING) return (uint64_t)((const int64_t *)t->data)[i];
    hr_view s = ((const hr_view *)t->data)[i];
    return hr_fingerprint64(s.data, (size_t)s.size);
}

static int64_t hash_combination(const cross *x, const int64_t *at, uint64_t key, uint64_t buckets)
{
    uint64_t h = key;
    for (int k = 0; k < x->columns; k++) h = hr_fingerprint_cat64(h, value_of(&x->in[k], at[k]));
    return (int64_t)(h % (buckets ? buckets : (uint64_t)INT64_MAX));
}

static hr_view join_combination(const cross *x, const int64_t *at)
{
    hr__text text = {0};
    for (int k = 0; k < x->columns; k++) {
        if (k) hr__text_add(&text, "_X_");
        hr_view s = x->in[k].dtype == HR_STRING ? ((const hr_view *)x->in[k].data)[at[k]] : (hr_view){0};
        if (x->in[k].dtype == HR_STRING)
            hr__text_bytes(&text, s.data, (size_t)s.size);
        else
            hr__text_printf(&text, "%lld", (long long)((const int64_t *)x->in[k].data)[at[k]]);
    }
    int64_t size = (int64_t)text.size;
    return (hr_view){hr__text_take(&text), size};
}

static void add_combination(crossed *out, int64_t row, int64_t inner)
{
    size_t n = (size_t)out->count + 1;
    out->indices = realloc(out->indices, n * 2 * sizeof *out->indices);
    out->ids = realloc(out->ids, n * sizeof *out->ids);
    out->joined = realloc(out->joined, n * sizeof *out->joined);
    if (!out->indices || !out->ids || !out->joined) abort();
    out->indices[2 * out->count] = row;
    out->indices[2 * out->count + 1] = inner;
    out->count++;
    if (inner >= out->width) out->width = inner + 1;
}

static void cross_row(const cross *x, int64_t row, uint64_t key, uint64_t buckets, bool join, crossed *out)
{
    int64_t begin[MAX_COLUMNS], counts[MAX_COLUMNS], which[MAX_COLUMNS] = {0}, at[MAX_COLUMNS], inner = 0;
    for (int k = 0; k < x->columns; k++)
        if ((counts[k] = row_values(&x->in[k], row, &begin[k])) == 0) return;
    do {
        for (int k = 0; k < x->columns; k++) at[k] = begin[k] + which[k];
        add_combination(out, row, inner++);
        out->ids[out->count - 1] = join ? 0 : hash_combination(x, at, key, buckets);
        out->joined[out->count - 1] = join ? join_combination(x, at) : (hr_view){0};
    } while (next_combination(x, counts, which));
}

static golden_result compare_cross(golden_case *c, const cross *x, const crossed *out, bool join)
{
    static const int64_t none[2];
    hr_tensor got = {.dtype = join ? HR_STRING : HR_INT64, .layout = HR_SPARSE, .count = out->count};
    got.shape = HR_SHAPE(x->rows, out->width);
    got.data = join ? (void *)out->joined : out->ids;
    got.indices = out->indices ? out->indices : none;
    if (!got.data) got.data = (void *)none;
    const cJSON *expected = golden_get(golden_expectation(c->json, true), "expect");
    return golden_equal_json(c, "output", golden_get(expected, "output"), &got) ? GOLDEN_AGREES : GOLDEN_DIFFERS;
}

static golden_result run_any_cross(golden_case *c, bool join)
{
    cross x = {0};
    crossed out = {0};
    const cJSON *given = golden_get(c->json, "hash_key");
    uint64_t key = given && !cJSON_IsNull(given) ? golden_number_uint64(given) : 0;
    uint64_t buckets = (uint64_t)golden_int(c->json, "num_buckets", 0);
    bool read = read_cross(c->json, &x);
    for (int64_t row = 0; read && row < x.rows; row++)
        cross_row(&x, row, key ? key : UINT64_C(0xDECAFCAFFE), buckets, join, &out);
    golden_result result = read ? compare_cross(c, &x, &out, join) : golden_differs(c, "cannot read the inputs");
    for (int64_t i = 0; i < out.count; i++) hr_free((char *)out.joined[i].data);
    for (int k = 0; k < x.columns; k++) golden_tensor_clear(&x.in[k]);
    free(out.indices);
    free(out.ids);
    free(out.joined);
    return result;
}

static golden_result run_cross(golden_case *c, const hr_tensor *input)
{
    (void)input;
    return run_any_cross(c, false);
}

static golden_result run_joined(golden_case *c, const hr_tensor *input)
{
    (void)input;
    return run_any_cross(c, true);
}

/* ---- */

static golden_result run_case(golden_case *c)
{
    static const struct {
        const char *name;
        golden_result (*run)(golden_case *c, const hr_tensor *input);
    } ops[] = {{"crc32c", run_crc32c},
               {"crc32c_length", run_crc32c_length},
               {"crc32c_extend", run_crc32c_extend},
               {"fingerprint64", run_fingerprint64},
               {"fingerprint_cat64", run_fingerprint_cat64},
               {"string_to_hash_bucket_fast", run_fast},
               {"string_to_hash_bucket_strong", run_strong},
               {"string_to_hash_bucket", run_old},
               {"integer_to_hash_bucket_fast", run_integers},
               {"sparse_cross_hashed", run_cross},
               {"sparse_cross", run_joined}};
    const char *op = golden_text(c->json, "op", "");
    golden_whole(golden_get(c->json, "as_string")); /* the decimal text between, for people */
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        if (strcmp(ops[i].name, op) != 0) continue;
        hr_tensor input = {0};
        bool has_input = golden_tensor(golden_get(c->json, "input"), &input);
        golden_result result = ops[i].run(c, &input);
        if (has_input) golden_tensor_clear(&input);
        return result;
    }
    return golden_not_built(c, "no op '%s'", op);
}

int main(void) { return golden_main("crc_hash", GOLDEN_ROOT, run_case); }
