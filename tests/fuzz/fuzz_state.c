/* Saved states that somebody changed, each with a checksum that is right: restored onto its pipeline it is refused, or
 * gives a few elements. The first byte names the pipeline; what follows is, by its highest bit,
 *   0   how many elements come before the state is saved, then changes of numbers that the restore reads: which one,
 *       and one of the values below;
 *   1   the state itself, without magic, version and checksum. */
#include "tests/fuzz/temporary.h"
#include <headrace/data.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ELEMENTS = 200, MOST_CHANGES = 6, HEAD = 8, RECORDS = 40 };
static char folder[TEMPORARY];

/* ---- what users hand over ---- */

static int64_t value_of(const hr_element *e) { return *(const int64_t *)hr_get(e, "value")->data; }

static hr_dataset *few(const hr_element *e, void *user)
{
    (void)user;
    return hr_shuffle(hr_range(value_of(e) % 5 + 2), 2);
}

static int64_t modulo_4(const hr_element *e, void *user)
{
    (void)user;
    return value_of(e) % 4;
}

static bool below_30(const hr_element *e, void *user)
{
    (void)user;
    return value_of(e) < 30;
}

static hr_status add_up(void *sum, const hr_element *in, hr_builder *out, hr_call *call, void *user)
{
    (void)call, (void)user;
    *(uint64_t *)sum += (uint64_t)value_of(in);
    *(uint64_t *)hr_set(out, "value") = *(uint64_t *)sum;
    return HR_OK;
}

static hr_status add_to_key(void *sum, const hr_element *in, void *user)
{
    (void)user;
    *(int64_t *)sum += value_of(in);
    return HR_OK;
}

static hr_status sum_of_key(int64_t key, const void *sum, hr_builder *out, hr_call *call, void *user)
{
    (void)call, (void)user;
    *(int64_t *)hr_set(out, "value") = *(const int64_t *)sum + key;
    return HR_OK;
}

static const hr_field list_field = {.name = "value", .dtype = HR_INT64, .shape = {1, {-1}}};
static const hr_schema list_schema = {.fields = 1, .field = &list_field};

static hr_status make_list(const hr_element *in, hr_builder *out, hr_call *call, void *user)
{
    (void)call, (void)user;
    const int64_t n = value_of(in);
    int64_t *value = hr_set_count(out, "value", n % 5);
    for (int64_t i = 0; value && i < n % 5; i++) value[i] = n;
    return HR_OK;
}

/* ---- the pipelines: every operator whose state is more than a place in its input ---- */

static hr_dataset *numbers(void) { return hr_shuffle(hr_range(60), 9, .seed = 3); }
static hr_dataset *shuffles(void)
{
    return hr_batch(hr_shuffle(hr_skip(numbers(), 4), 7), 3, .next_sizes = HR_I64(2), .next_size_count = 1);
}
static hr_dataset *epochs(void)
{
    return hr_repeat(hr_shuffle(hr_take(hr_repeat(hr_range(9)), 25), 6), .count = HR_I64(3));
}
static hr_dataset *turns(void)
{
    return hr_shuffle(hr_interleave(hr_shuffle(hr_range(12), 4), few, NULL, .cycle_length = 3, .block_length = 2), 5);
}
static hr_dataset *older_turns(void)
{
    return hr_repeat(hr_parallel_interleave(hr_range(12), few, NULL, .cycle_length = 3), .count = HR_I64(2));
}
static hr_dataset *cached(void) { return hr_repeat(hr_batch(hr_cache(numbers()), 4), .count = HR_I64(3)); }
static hr_dataset *windows(void) { return hr_unbatch(hr_window(numbers(), 5, .shift = 2, .stride = 2)); }
static hr_dataset *groups(void) { return hr_group_by_window(numbers(), modulo_4, NULL, 5, .batch_size = 2); }
static hr_dataset *different(void) { return hr_unique(hr_repeat(hr_range(30), .count = HR_I64(2))); }

static hr_dataset *side_by_side(void)
{
    return hr_batch(hr_zip((hr_dataset *[]){numbers(), hr_concatenate(hr_take(numbers(), 9), hr_range(50))}, 2), 4);
}

static hr_dataset *scanned(void)
{
    static const uint64_t zero;
    return hr_scan(hr_take_while(numbers(), below_30, NULL), &zero, sizeof zero, add_up, NULL);
}

static hr_dataset *chosen(void)
{
    hr_dataset *in[] = {numbers(), hr_shard(hr_range(90), 3, 1)};
    return hr_choose_from_datasets(in, 2, hr_take(hr_repeat(hr_range(2)), 70), .go_on = true);
}

static hr_dataset *sampled(void)
{
    hr_dataset *in[] = {numbers(), hr_assert_cardinality(hr_range(50), 50)};
    return hr_sample_from_datasets(in, 2, .seed = 3, .exact_proportions = true);
}

static hr_dataset *packed(void)
{
    return hr_pack_sequences(hr_map(numbers(), make_list, NULL, .output = &list_schema), 7, .open_rows = 3);
}

static hr_dataset *resampled(void)
{
    static const double target[] = {1, 2, 1, 2};
    return hr_rejection_resample(numbers(), modulo_4, NULL, target, 4, .seed = 3);
}

static hr_dataset *reduced(void)
{
    return hr_group_by_reducer(numbers(), modulo_4, NULL, .reduce = add_to_key, .finalize = sum_of_key,
                               .output = &hr_int64_schema, .state_size = sizeof(int64_t));
}

static hr_dataset *of_files(hr_dataset *(*source)(const char *pattern), const char *name)
{
    char pattern[512];
    snprintf(pattern, sizeof pattern, "%s/%s", folder, name);
    return hr_batch(hr_shuffle(source(pattern), 5), 3);
}

static hr_dataset *tfrecord(const char *pattern) { return hr_tfrecord(pattern); }
static hr_dataset *lines(const char *pattern) { return hr_text_lines(pattern); }
static hr_dataset *shuffled(const char *pattern) { return hr_shuffled_records(pattern, .seed = 3); }
static hr_dataset *rows(const char *pattern) { return hr_load(pattern); }
static hr_dataset *items(const char *pattern) { return hr_idx(pattern); }
static hr_dataset *blocks(const char *pattern) { return hr_fixed_length_records(pattern, 3); }
static hr_dataset *listed(const char *pattern)
{
    return hr_interleave(hr_list_files(pattern, .shuffle = true, .seed = 3), hr_tfrecord_fn, NULL, .cycle_length = 2);
}

static hr_dataset *records(void) { return of_files(tfrecord, "r-*"); }
static hr_dataset *text(void) { return of_files(lines, "text"); }
static hr_dataset *any_record(void) { return of_files(shuffled, "r-*"); }
static hr_dataset *kept(void) { return of_files(rows, "rows"); }
static hr_dataset *numbers_of_a_file(void) { return of_files(items, "items"); }
static hr_dataset *fixed(void) { return of_files(blocks, "text"); }
static hr_dataset *numbered(void) { return hr_batch(hr_shuffle(numbers(), 7, .seed = 4), 3); } /* its run is */
static hr_dataset *files(void) { return of_files(listed, "r-*"); }

typedef struct pipeline {
    const char *name;
    hr_dataset *(*make)(void);
} pipeline;
#define PIPELINE(name)                                                                                                 \
    {                                                                                                                  \
#name, name                                                                                                    \
    }
static const pipeline pipelines[] = {
    PIPELINE(shuffles), PIPELINE(epochs),  PIPELINE(turns),      PIPELINE(older_turns),  PIPELINE(cached),
    PIPELINE(windows),  PIPELINE(groups),  PIPELINE(different),  PIPELINE(side_by_side), PIPELINE(scanned),
    PIPELINE(chosen),   PIPELINE(sampled), PIPELINE(packed),     PIPELINE(resampled),    PIPELINE(reduced),
    PIPELINE(records),  PIPELINE(text),    PIPELINE(any_record), PIPELINE(kept),         PIPELINE(numbers_of_a_file),
    PIPELINE(fixed),    PIPELINE(files),   PIPELINE(numbered),
};
enum { PIPELINES = sizeof pipelines / sizeof *pipelines };

/* ---- their files, in a folder that goes with the process ---- */

static void must(bool done)
{
    if (!done) abort();
}

static void write_records(const char *name, int first)
{
    char path[512], record[16];
    hr_record_writer *writer;
    const hr_output_opts opts = {.struct_size = sizeof opts, .no_sync = true};
    snprintf(path, sizeof path, "%s/%s", folder, name);
    must(hr_record_writer_open(path, &opts, &writer, NULL) == HR_OK);
    for (int r = 0; r < RECORDS; r++) {
        const int size = snprintf(record, sizeof record, "record %d", first + r);
        must(hr_record_write(writer, record, (size_t)size, NULL) == HR_OK);
    }
    must(hr_record_writer_commit(writer, NULL) == HR_OK);
}

static void write_bytes(const char *name, const void *bytes, size_t size)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "wb");
    must(f && fwrite(bytes, 1, size, f) == size && fclose(f) == 0);
}

static void remove_folder(void)
{
    char command[512];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    must(system(command) == 0);
}

static void make_files(void)
{
    char path[512];
    static const char digits[] = "11\n22\n33\n44\n55\n66\n77\n88\n99\n00\n";
    const unsigned char header[] = {0, 0, 8, 1, 0, 0, 0, 24};
    unsigned char idx[sizeof header + 24] = {0};
    temporary_path(folder, "state-XXXXXX");
    must(mkdtemp(folder) != NULL);
    atexit(remove_folder);
    write_records("r-1", 0);
    write_records("r-2", 100);
    write_bytes("text", digits, sizeof digits - 1);
    memcpy(idx, header, sizeof header);
    write_bytes("items", idx, sizeof idx);
    snprintf(path, sizeof path, "%s/rows", folder);
    must(hr_save(hr_batch(hr_range(51), 3), path, NULL) == HR_OK);
}

/* ---- a run ---- */

/* What to make of some of the numbers that a restore reads. */
typedef struct changed_number {
    int64_t at, value;
    bool added; /* to what was saved, instead of in its place */
} changed_number;

typedef struct change {
    changed_number number[MOST_CHANGES];
    int numbers;
    int64_t reads;
} change;

static int64_t change_number(int64_t saved, void *user)
{
    change *c = user;
    uint64_t number = (uint64_t)saved;
    for (int i = 0; i < c->numbers; i++)
        if (c->number[i].at == c->reads) number = (c->number[i].added ? number : 0) + (uint64_t)c->number[i].value;
    c->reads++;
    return (int64_t)number;
}

static hr_iterator *begin(const pipeline *p, const void *state, size_t size, change *c)
{
    const hr_iterate_opts opts = {.struct_size = sizeof opts,
                                  .workers = &(int){0},
                                  .window = 2,
                                  .unit_rows = 7,
                                  .seed = 7,
                                  .state = state,
                                  .state_size = size,
                                  .epoch = p->make == numbered ? 300 : 0};
    return hr_iterate_changed(p->make(), c ? change_number : NULL, c, &opts);
}

static volatile uint64_t sum;

static void read_all(const hr_element *e)
{
    for (int i = 0; i < hr_element_schema(e)->fields; i++) {
        const hr_tensor *t = hr_get_at(e, i);
        const hr_view *view = t->data;
        for (int64_t v = 0; v < t->count; v++) {
            const bool is_text = t->dtype == HR_STRING;
            const unsigned char *bytes = is_text ? (const void *)view[v].data : t->data;
            const size_t size = hr_dtype_size(t->dtype), from = is_text ? 0 : (size_t)v * size;
            for (size_t b = from; b < (is_text ? (size_t)view[v].size : from + size); b++) sum += bytes[b];
        }
    }
}

static void restore(const pipeline *p, const void *state, size_t size, change *c)
{
    const hr_element *e;
    hr_iterator *it = begin(p, state, size, c);
    for (int n = 0; n < ELEMENTS && hr_next(it, &e) == HR_OK; n++) read_all(e);
    void *again = NULL;
    if (hr_iterator_save(it, &again, &size, NULL) == HR_OK) hr_free(again);
    hr_iterator_free(it);
}

static void *save_after(const pipeline *p, int elements, size_t *size)
{
    void *state = NULL;
    const hr_element *e;
    hr_iterator *it = begin(p, NULL, 0, NULL);
    for (int n = 0; n < elements && hr_next(it, &e) == HR_OK; n++) {}
    must(hr_iterator_save(it, &state, size, NULL) == HR_OK);
    hr_iterator_free(it);
    return state;
}

static void restore_changed(const pipeline *p, const uint8_t *data, size_t size)
{
    static const changed_number other[] = {
        {.value = -1},     {.value = 0},         {.value = 1},          {.value = 7},
        {.value = 100},    {.value = INT64_MIN}, {.value = 1 << 12},    {.value = INT64_MAX},
        {.value = 1 << 8}, {.value = 60},        {.value = UINT32_MAX}, {.value = 3},
    };
    enum { OTHERS = sizeof other / sizeof *other };
    change c = {0};
    size_t state_size;
    void *state = save_after(p, size > 0 ? data[0] % 64 : 0, &state_size);
    for (size_t at = 1; at + 2 <= size && c.numbers < MOST_CHANGES; at += 2, c.numbers++) {
        const int how = data[at + 1];
        c.number[c.numbers] = how < OTHERS ? other[how] : (changed_number){.value = how - 128, .added = true};
        c.number[c.numbers].at = data[at];
    }
    restore(p, state, state_size, &c);
    hr_free(state);
}

/* Magic and version are those of a real state. */
static void restore_bytes(const pipeline *p, const uint8_t *data, size_t size)
{
    size_t real_size;
    char *real = save_after(p, 0, &real_size);
    unsigned char *state = malloc(HEAD + size + 4); /* its end is where the bytes end */
    must(state != NULL);
    memcpy(state, real, HEAD);
    if (size) memcpy(state + HEAD, data, size);
    const uint32_t crc = hr_crc32c(0, state, HEAD + size);
    for (int i = 0; i < 4; i++) state[HEAD + size + (size_t)i] = (unsigned char)(crc >> 8 * i);
    restore(p, state, HEAD + size + 4, NULL);
    free(state);
    hr_free(real);
}

/* HEADRACE_FUZZ_CORPUS names a folder that gets real states: of every pipeline one, after 20 elements. */
static void write_corpus(const char *to)
{
    for (int i = 0; i < PIPELINES; i++) {
        char path[512];
        size_t size;
        char *state = save_after(&pipelines[i], 20, &size);
        snprintf(path, sizeof path, "%s/%s", to, pipelines[i].name);
        FILE *f = fopen(path, "wb");
        must(f && putc(128 | i, f) != EOF && fwrite(state + HEAD, 1, size - HEAD - 4, f) > 0 && fclose(f) == 0);
        hr_free(state);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!folder[0]) {
        make_files();
        if (getenv("HEADRACE_FUZZ_CORPUS")) write_corpus(getenv("HEADRACE_FUZZ_CORPUS"));
    }
    if (size < 1) return 0;
    const pipeline *p = &pipelines[(data[0] & 127) % PIPELINES];
    (data[0] & 128 ? restore_bytes : restore_changed)(p, data + 1, size - 1);
    return 0;
}
