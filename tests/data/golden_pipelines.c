/* Pipelines from their JSON: one builder an operator, by name, and the functions that the cases name. */
#include "tests/data/golden_dataset_order.h"
#include <stdlib.h>
#include <string.h>

/* A function of a case with its argument. They live until the case is over: a list. */
typedef struct note {
    const cJSON *fn;
    int64_t value;
    struct note *next;
} note;

struct golden_notes {
    note *first;
};

golden_notes *golden_notes_new(void) { return calloc(1, sizeof(golden_notes)); }

void golden_notes_free(golden_notes *notes)
{
    for (note *n = notes ? notes->first : NULL; n;) {
        note *next = n->next;
        free(n);
        n = next;
    }
    free(notes);
}

static note *new_note(golden_notes *notes, const cJSON *fn)
{
    note *n = calloc(1, sizeof *n);
    if (!n) abort();
    *n = (note){.fn = fn, .value = golden_int(fn, "value", 0), .next = notes->first};
    return notes->first = n;
}

/* ---- functions: to an element, a predicate, a dataset ---- */

static const char *name_of(const hr_element *e) { return hr_element_schema(e)->field[0].name; }
static const int64_t *values_of(const hr_element *e) { return hr_get_at(e, 0)->data; }

/* Where the values go that a function makes of as many: a vector's own length is said. */
static int64_t *as_many(const hr_element *in, hr_builder *out)
{
    int64_t *value = hr_set(out, name_of(in));
    return value ? value : hr_set_count(out, name_of(in), hr_get_at(in, 0)->count);
}

static hr_status add(const hr_element *in, hr_builder *out, hr_call *call, void *user)
{
    (void)call;
    int64_t *value = as_many(in, out);
    for (int64_t i = 0; i < hr_get_at(in, 0)->count; i++) value[i] = values_of(in)[i] + ((note *)user)->value;
    return HR_OK;
}

static hr_status mul(const hr_element *in, hr_builder *out, hr_call *call, void *user)
{
    (void)call;
    int64_t *value = as_many(in, out);
    for (int64_t i = 0; i < hr_get_at(in, 0)->count; i++) value[i] = values_of(in)[i] * ((note *)user)->value;
    return HR_OK;
}

static hr_status fail_if_equal(const hr_element *in, hr_builder *out, hr_call *call, void *user)
{
    const int64_t refused = ((note *)user)->value, value = values_of(in)[0];
    if (value == refused) return hr_call_fail(call, HR_INVALID_ARGUMENT, "value %lld", (long long)refused);
    *(int64_t *)hr_set(out, name_of(in)) = value;
    return HR_OK;
}

static const hr_field pair_fields[] = {{.name = "0", .dtype = HR_INT64}, {.name = "1", .dtype = HR_INT64}};
static const hr_schema pair_schema = {.levels = 0, .fields = 2, .field = pair_fields};

static hr_status pair(const hr_element *in, hr_builder *out, hr_call *call, void *user)
{
    (void)call;
    *(int64_t *)hr_set(out, "0") = values_of(in)[0];
    *(int64_t *)hr_set(out, "1") = values_of(in)[0] * ((note *)user)->value;
    return HR_OK;
}

static hr_status copies(const hr_element *in, hr_builder *out, hr_call *call, void *user)
{
    (void)call;
    const int64_t mod = golden_int(((note *)user)->fn, "mod", 1), rest = values_of(in)[0] % mod;
    const int64_t count = rest < 0 ? rest + mod : rest;
    int64_t *value = hr_set_count(out, "value", count);
    for (int64_t i = 0; i < count; i++) value[i] = values_of(in)[0];
    return HR_OK;
}

static hr_status cumsum(void *state, const hr_element *in, hr_builder *out, hr_call *call, void *user)
{
    (void)call, (void)user;
    *(int64_t *)hr_set(out, name_of(in)) = *(int64_t *)state += values_of(in)[0];
    return HR_OK;
}

static hr_status difference(void *state, const hr_element *in, hr_builder *out, hr_call *call, void *user)
{
    (void)call, (void)user;
    *(int64_t *)hr_set(out, name_of(in)) = values_of(in)[0] - *(int64_t *)state;
    *(int64_t *)state = values_of(in)[0];
    return HR_OK;
}

static bool mod_eq(const hr_element *in, void *user)
{
    const cJSON *fn = ((note *)user)->fn;
    const int64_t mod = golden_int(fn, "mod", 1), rest = values_of(in)[0] % mod;
    return (rest < 0 ? rest + mod : rest) == golden_int(fn, "equal", 0);
}

static bool less(const hr_element *in, void *user) { return values_of(in)[0] < ((note *)user)->value; }

static hr_dataset *of_values(const int64_t *value, int64_t count)
{
    static const int64_t none;
    const hr_tensor t = hr_tensor_of(HR_INT64, HR_SHAPE(count), count ? value : &none);
    return hr_from_tensor_slices(&t, (const char *const[]){"value"}, 1);
}

static hr_dataset *table(const hr_element *in, void *user)
{
    const cJSON *rows = golden_get(((note *)user)->fn, "rows");
    const int size = cJSON_GetArraySize(rows), i = (int)(values_of(in)[0] % size);
    const cJSON *row = cJSON_GetArrayItem(rows, i < 0 ? i + size : i);
    const int count = cJSON_GetArraySize(row);
    int64_t *value = calloc((size_t)count + 1, sizeof *value);
    if (!value) abort();
    for (int k = 0; k < count; k++) value[k] = golden_number_int64(cJSON_GetArrayItem(row, k));
    hr_dataset *ds = of_values(value, count);
    free(value);
    return ds;
}

static hr_dataset *repeat_value(const hr_element *in, void *user)
{
    const int64_t count = golden_int(((note *)user)->fn, "count", 1);
    return hr_repeat(of_values(values_of(in), 1), .count = &count);
}

static hr_dataset *range_to(const hr_element *in, void *user)
{
    (void)user;
    return hr_range(values_of(in)[0]);
}

static hr_dataset *slices(const hr_element *in, void *user)
{
    (void)user;
    return of_values(values_of(in), hr_get_at(in, 0)->count);
}

static bool is(const cJSON *fn, const char *name) { return strcmp(golden_text(fn, "name", ""), name) == 0; }

static hr_map_fn *map_named(const cJSON *fn)
{
    return is(fn, "add")             ? add
           : is(fn, "mul")           ? mul
           : is(fn, "pair")          ? pair
           : is(fn, "fail_if_equal") ? fail_if_equal
           : is(fn, "copies")        ? copies
                                     : NULL;
}

static hr_filter_fn *filter_named(const cJSON *fn) { return is(fn, "mod_eq") ? mod_eq : is(fn, "less") ? less : NULL; }

static hr_dataset_fn *datasets_named(const cJSON *fn)
{
    if (is(fn, "table")) return table;
    if (is(fn, "repeat_value")) return repeat_value;
    return is(fn, "range_to") ? range_to : is(fn, "slices") ? slices : NULL;
}

/* ---- operators: NULL for a form that is not built; `in` is then dropped by the caller ---- */

typedef struct step {
    const cJSON *json;
    golden_notes *notes;
    hr_dataset *in; /* NULL: a source */
    const char **missing;
} step;

static hr_dataset *build_range(const step *s)
{
    const cJSON *json = s->json;
    const int64_t by = golden_int(json, "step", 1);
    if (by == 0) return NULL; /* no argument of hr_range: 0 is its default */
    return hr_range(golden_int(json, "stop", 0), .start = golden_int(json, "start", 0), .step = by);
}

static hr_dataset *build_from_tensor_slices(const step *s)
{
    hr_tensor t;
    if (!golden_tensor(golden_get(s->json, "tensor"), &t)) return NULL;
    hr_dataset *ds = hr_from_tensor_slices(&t, (const char *const[]){"value"}, 1);
    golden_tensor_clear(&t);
    return ds;
}

static hr_dataset *build_from_tensors(const step *s)
{
    hr_tensor t;
    if (!golden_tensor(golden_get(s->json, "tensor"), &t)) return NULL;
    hr_dataset *ds = hr_from_tensors(&t, (const char *const[]){"value"}, 1);
    golden_tensor_clear(&t);
    return ds;
}

static const hr_field vector_field = {.name = "value", .dtype = HR_INT64, .shape = {1, {-1}}};
static const hr_schema vector_schema = {.levels = 0, .fields = 1, .field = &vector_field};

static hr_status row_number(int64_t number, hr_builder *out, hr_call *call, void *user)
{
    (void)call;
    const cJSON *row = cJSON_GetArrayItem(golden_get(((note *)user)->fn, "rows"), (int)number);
    if (!row) return HR_END;
    const int count = cJSON_GetArraySize(row);
    int64_t *value = hr_set_count(out, "value", count);
    for (int i = 0; value && i < count; i++) value[i] = golden_number_int64(cJSON_GetArrayItem(row, i));
    return HR_OK;
}

static hr_dataset *build_from_rows(const step *s)
{
    const int64_t count = cJSON_GetArraySize(golden_get(s->json, "rows"));
    return hr_from_generator(row_number, new_note(s->notes, s->json), .output = &vector_schema, .count = &count,
                             .by_number = true);
}

static hr_dataset *build_take(const step *s) { return hr_take(s->in, golden_int(s->json, "count", 0)); }
static hr_dataset *build_skip(const step *s) { return hr_skip(s->in, golden_int(s->json, "count", 0)); }

static hr_dataset *build_shard(const step *s)
{
    return hr_shard(s->in, golden_int(s->json, "num_shards", 0), golden_int(s->json, "index", 0));
}

static hr_dataset *build_repeat(const step *s)
{
    const cJSON *count = golden_get(s->json, "count");
    const int64_t times = cJSON_IsNull(count) || !count ? -1 : golden_number_int64(count);
    return hr_repeat(s->in, .count = &times);
}

static hr_dataset *build_batch(const step *s)
{
    return hr_batch(s->in, golden_int(s->json, "batch_size", 0),
                    .drop_remainder = golden_bool(s->json, "drop_remainder", false));
}

/* Shapes of at most one component: null where a dimension is the longest of its batch. */
static hr_shape padded_shape(const cJSON *dims)
{
    const cJSON *dim;
    hr_shape shape = {0};
    cJSON_ArrayForEach(dim, dims) shape.dims[shape.rank++] = cJSON_IsNull(dim) ? -1 : golden_number_int64(dim);
    return shape;
}

static hr_dataset *build_assert_cardinality(const step *s)
{
    return hr_assert_cardinality(s->in, golden_int(s->json, "count", 0));
}

static hr_dataset *build_padded_batch(const step *s)
{
    const cJSON *dims = golden_get(s->json, "padded_shapes"), *given = golden_get(s->json, "padding_values");
    const int64_t value = golden_int(s->json, "padding_values", 0);
    const hr_shape shape = padded_shape(dims);
    const hr_tensor pad = hr_tensor_of(HR_INT64, HR_SCALAR, &value);
    return hr_padded_batch(s->in, golden_int(s->json, "batch_size", 0), .padded_shapes = dims ? &shape : NULL,
                           .padding_values = given ? &pad : NULL,
                           .drop_remainder = golden_bool(s->json, "drop_remainder", false));
}

static hr_dataset *build_ragged_batch(const step *s)
{
    return hr_ragged_batch(s->in, golden_int(s->json, "batch_size", 0),
                           .drop_remainder = golden_bool(s->json, "drop_remainder", false));
}

static int64_t key_mod(const hr_element *e, void *user)
{
    const int64_t mod = golden_int(((note *)user)->fn, "key_mod", 1), rest = values_of(e)[0] % mod;
    return rest < 0 ? rest + mod : rest;
}

static int64_t key_plus(int64_t key, void *user)
{
    return key + golden_int(((note *)user)->fn, "window_size_is_key_plus", 0);
}

static hr_dataset *build_group_by_window(const step *s)
{
    const bool function = golden_get(s->json, "window_size_is_key_plus") != NULL;
    return hr_group_by_window(s->in, key_mod, new_note(s->notes, s->json), golden_int(s->json, "window_size", 0),
                              .window_size_fn = function ? key_plus : NULL,
                              .batch_size = golden_int(s->json, "reduce_batch", 0));
}

static int64_t vector_length(const hr_element *e, void *user)
{
    (void)user;
    return hr_get_at(e, 0)->count;
}

enum { MOST_BUCKETS = 64 };

static int numbers(const cJSON *list, int64_t *number)
{
    const cJSON *item;
    int count = 0;
    cJSON_ArrayForEach(item, list) if (count < MOST_BUCKETS) number[count++] = golden_number_int64(item);
    return count;
}

static hr_dataset *build_bucket_by_sequence_length(const step *s)
{
    int64_t boundary[MOST_BUCKETS], size[MOST_BUCKETS];
    const int boundaries = numbers(golden_get(s->json, "bucket_boundaries"), boundary);
    const int sizes = numbers(golden_get(s->json, "bucket_batch_sizes"), size);
    const int64_t value = golden_int(s->json, "padding_values", 0);
    const hr_tensor pad = hr_tensor_of(HR_INT64, HR_SCALAR, &value);
    return hr_bucket_by_sequence_length(s->in, vector_length, NULL, boundary, boundaries,
                                        .batch_sizes = sizes == boundaries + 1 ? size : NULL,
                                        .padding_values = golden_get(s->json, "padding_values") ? &pad : NULL,
                                        .pad_to_bucket_boundary = golden_bool(s->json, "pad_to_bucket_boundary", false),
                                        .no_padding = golden_bool(s->json, "no_padding", false),
                                        .drop_remainder = golden_bool(s->json, "drop_remainder", false));
}

static hr_dataset *build_map(const step *s)
{
    const cJSON *fn = golden_get(s->json, "fn");
    hr_map_fn *named = map_named(fn);
    if (!named) return NULL;
    const hr_schema *output = named == pair ? &pair_schema : named == copies ? &vector_schema : NULL;
    return hr_map(s->in, named, new_note(s->notes, fn), .output = output,
                  .num_parallel_calls = golden_int(s->json, "num_parallel_calls", 0));
}

static hr_dataset *build_scan(const step *s)
{
    const cJSON *fn = golden_get(s->json, "fn");
    const int64_t initial = golden_int(s->json, "initial", 0);
    hr_scan_fn *named = is(fn, "cumsum") ? cumsum : is(fn, "difference") ? difference : NULL;
    return named ? hr_scan(s->in, &initial, sizeof initial, named, NULL) : NULL;
}

static hr_dataset *build_filter(const step *s)
{
    const cJSON *fn = golden_get(s->json, "fn");
    return filter_named(fn) ? hr_filter(s->in, filter_named(fn), new_note(s->notes, fn)) : NULL;
}

/* In C a length of 0 is the default: what TensorFlow refuses is said by a negative one. */
static int64_t length(const cJSON *json, const char *key)
{
    const cJSON *given = golden_get(json, key);
    const int64_t value = given ? golden_number_int64(given) : 0;
    return given && value == 0 ? -1 : value;
}

static hr_dataset *build_flat_map(const step *s)
{
    const cJSON *fn = golden_get(s->json, "fn");
    return datasets_named(fn) ? hr_flat_map(s->in, datasets_named(fn), new_note(s->notes, fn)) : NULL;
}

static hr_dataset *build_interleave(const step *s)
{
    const cJSON *fn = golden_get(s->json, "fn");
    const int64_t cycle = length(s->json, "cycle_length");
    if (!datasets_named(fn)) return NULL;
    return hr_interleave(s->in, datasets_named(fn), new_note(s->notes, fn), .cycle_length = cycle,
                         .block_length = length(s->json, "block_length"),
                         .num_parallel_calls = golden_int(s->json, "num_parallel_calls", 0));
}

static hr_dataset *build_take_while(const step *s)
{
    const cJSON *fn = golden_get(s->json, "fn");
    return filter_named(fn) ? hr_take_while(s->in, filter_named(fn), new_note(s->notes, fn)) : NULL;
}

static hr_dataset *build_ignore_errors(const step *s) { return hr_ignore_errors(s->in); }
static hr_dataset *build_unbatch(const step *s) { return hr_unbatch(s->in); }
static hr_dataset *build_unique(const step *s) { return hr_unique(s->in); }

/* TensorFlow makes empty batches for ever of a size of 0: no pipeline of ours. */
static hr_dataset *build_rebatch(const step *s)
{
    const int64_t size = golden_int(s->json, "batch_size", 0);
    const bool drop = golden_bool(s->json, "drop_remainder", false);
    return size == 0 ? NULL : hr_rebatch(s->in, size, .drop_remainder = drop);
}

static hr_dataset *build_concatenate(const step *s)
{
    hr_dataset *other = golden_pipeline(golden_get(s->json, "with"), s->notes, s->missing);
    return other ? hr_concatenate(s->in, other) : NULL;
}

static hr_dataset *build_enumerate(const step *s)
{
    return hr_enumerate(s->in, .start = golden_int(s->json, "start", 0));
}

/* The pipelines of a list after those that are there already. False: one is not built, and all are dropped. */
static bool add_inputs(const step *s, const char *key, hr_dataset **in, int *inputs)
{
    const cJSON *other;
    const int first = *inputs;
    cJSON_ArrayForEach(other, golden_get(s->json, key))
    {
        in[*inputs] = *inputs < HR_MAX_INPUTS ? golden_pipeline(other, s->notes, s->missing) : NULL;
        if (in[(*inputs)++]) continue;
        for (int i = first; i < *inputs; i++) hr_dataset_unref(in[i]);
        return false;
    }
    return true;
}

static hr_dataset *build_zip(const step *s)
{
    hr_dataset *in[HR_MAX_INPUTS + 1] = {s->in};
    int inputs = 1;
    return add_inputs(s, "with", in, &inputs) ? hr_zip(in, inputs) : NULL;
}

static hr_dataset *build_choose_from_datasets(const step *s)
{
    hr_dataset *in[HR_MAX_INPUTS + 1];
    int inputs = 0;
    if (!add_inputs(s, "inputs", in, &inputs)) return NULL;
    hr_dataset *choice = golden_pipeline(golden_get(s->json, "choice"), s->notes, s->missing);
    if (choice)
        return hr_choose_from_datasets(in, inputs, choice,
                                       .go_on = !golden_bool(s->json, "stop_on_empty_dataset", true));
    for (int i = 0; i < inputs; i++) hr_dataset_unref(in[i]);
    return NULL;
}

static hr_dataset *build_window(const step *s)
{
    const cJSON *shift = golden_get(s->json, "shift");
    return hr_window(s->in, golden_int(s->json, "size", 0), .shift = cJSON_IsNull(shift) ? 0 : length(s->json, "shift"),
                     .stride = length(s->json, "stride"),
                     .drop_remainder = golden_bool(s->json, "drop_remainder", false));
}

static hr_dataset *build_cache(const step *s) { return hr_cache(s->in); }

static hr_dataset *build_prefetch(const step *s)
{
    return hr_prefetch(s->in, golden_int(s->json, "buffer_size", HR_AUTOTUNE));
}

static hr_dataset *build_shuffle(const step *s)
{
    return hr_shuffle(s->in, golden_int(s->json, "buffer_size", 0), .seed = (uint64_t)golden_int(s->json, "seed", 0),
                      .same_each_epoch = !golden_bool(s->json, "reshuffle_each_iteration", true));
}

static hr_dataset *build_shuffle_and_repeat(const step *s)
{
    return hr_shuffle_and_repeat(s->in, golden_int(s->json, "buffer_size", 0),
                                 .count = golden_int(s->json, "count", -1),
                                 .seed = (uint64_t)golden_int(s->json, "seed", 0));
}

static const struct {
    const char *name;
    hr_dataset *(*build)(const step *s);
} builders[] = {
    {"assert_cardinality", build_assert_cardinality},
    {"batch", build_batch},
    {"bucket_by_sequence_length", build_bucket_by_sequence_length},
    {"cache", build_cache},
    {"choose_from_datasets", build_choose_from_datasets},
    {"concatenate", build_concatenate},
    {"enumerate", build_enumerate},
    {"filter", build_filter},
    {"flat_map", build_flat_map},
    {"from_rows", build_from_rows},
    {"from_tensor_slices", build_from_tensor_slices},
    {"from_tensors", build_from_tensors},
    {"ignore_errors", build_ignore_errors},
    {"group_by_window", build_group_by_window},
    {"interleave", build_interleave},
    {"map", build_map},
    {"padded_batch", build_padded_batch},
    {"prefetch", build_prefetch},
    {"ragged_batch", build_ragged_batch},
    {"range", build_range},
    {"rebatch", build_rebatch},
    {"repeat", build_repeat},
    {"scan", build_scan},
    {"shard", build_shard},
    {"shuffle", build_shuffle},
    {"shuffle_and_repeat", build_shuffle_and_repeat},
    {"skip", build_skip},
    {"take", build_take},
    {"take_while", build_take_while},
    {"unbatch", build_unbatch},
    {"unique", build_unique},
    {"window", build_window},
    {"zip", build_zip},
};

static hr_dataset *build_step(const step *s)
{
    *s->missing = golden_text(s->json, "op", "?");
    for (size_t b = 0; b < sizeof builders / sizeof *builders; b++)
        if (strcmp(builders[b].name, *s->missing) == 0) return builders[b].build(s);
    return NULL;
}

hr_dataset *golden_pipeline(const cJSON *steps, golden_notes *notes, const char **missing)
{
    const cJSON *json;
    hr_dataset *ds = NULL;
    cJSON_ArrayForEach(json, steps)
    {
        hr_dataset *next = build_step(&(step){json, notes, ds, missing});
        if (!next) {
            hr_dataset_unref(ds);
            return NULL;
        }
        ds = next;
    }
    return ds;
}
