/* The tf.Example reader on records in memory: the rules one by one on bytes made by hand, the fast path against the
 * generic walk (and TensorFlow's) on records in every order and encoding, damaged ones among them. */
#include "base/cpu.h"
#include "tests/io/example/example_table.h"
#include "tests/testing.h"
#include <stdio.h>

static hr_view key(const char *text) { return (hr_view){text, (int64_t)strlen(text)}; }

/* ---- one record ---- */

typedef struct one {
    table table;
    hr__example_parser *parser;
    hr__example_order *order;
    hr_error err;
    uint8_t record[256];
    hr__example_feature feature;
} one;

static void one_open(one *o, hr__example_feature feature)
{
    memset(o, 0, sizeof *o);
    o->feature = feature;
    o->feature.key = key("a");
    assert_ok(hr__example_parser_new(&o->feature, 1, &o->parser, &o->err), &o->err);
    o->order = hr__example_order_new(o->parser);
    assert_non_null(o->order);
    table_open(&o->table, &o->feature, 1);
}

static void one_close(one *o)
{
    table_close(&o->table);
    hr__example_order_free(o->order);
    hr__example_parser_free(o->parser);
}

static hr_status one_parse(one *o, const char *hex)
{
    size_t size = strlen(hex) / 2;
    for (size_t i = 0; i < size; i++) {
        unsigned byte;
        assert_int_equal(sscanf(hex + 2 * i, "%2x", &byte), 1);
        o->record[i] = (uint8_t)byte;
    }
    o->err = (hr_error){0};
    return hr__example_parse(o->parser, o->order, &o->table.rows, 0, (hr_view){(char *)o->record, (int64_t)size},
                             &o->err);
}

#define ONE_INT64 .dtype = HR_INT64, .count = 1, .required = true

static void plain_record_gives_its_value(void **state)
{
    (void)state;
    one o;
    one_open(&o, (hr__example_feature){ONE_INT64});
    assert_ok(one_parse(&o, "0a0c0a0a0a016112051a030a0105"), &o.err);
    assert_int_equal(*(int64_t *)o.table.column[0].values, 5);
    assert_ok(one_parse(&o, "0a150a130a0161120e1a0c0a0affffffffffffffffff01"), &o.err);
    assert_int_equal(*(int64_t *)o.table.column[0].values, -1);
    one_close(&o);
}

static void last_entry_of_a_key_counts(void **state)
{
    (void)state;
    one o;
    one_open(&o, (hr__example_feature){ONE_INT64});
    assert_ok(one_parse(&o, "0a180a0a0a016112051a030a01010a0a0a016112051a030a0102"), &o.err);
    assert_int_equal(*(int64_t *)o.table.column[0].values, 2);
    one_close(&o);
}

static void missing_feature_is_an_error_that_names_it(void **state)
{
    (void)state;
    one o;
    one_open(&o, (hr__example_feature){ONE_INT64});
    assert_status(one_parse(&o, "0a00"), HR_INVALID_ARGUMENT);
    assert_string_equal(o.err.kind, "example.missing");
    assert_string_equal(o.err.feature, "a");
    one_close(&o);
}

static void missing_feature_gets_its_default(void **state)
{
    (void)state;
    one o;
    one_open(&o, (hr__example_feature){.dtype = HR_INT64, .count = 1, .default_value = HR_I64(7)});
    assert_ok(one_parse(&o, ""), &o.err);
    assert_int_equal(*(int64_t *)o.table.column[0].values, 7);
    assert_ok(one_parse(&o, "0a070a050a01611200"), &o.err);
    assert_int_equal(*(int64_t *)o.table.column[0].values, 7);
    one_close(&o);
}

static void empty_list_is_no_value_and_no_default(void **state)
{
    (void)state;
    one o;
    one_open(&o, (hr__example_feature){.dtype = HR_INT64, .count = 1, .default_value = HR_I64(7)});
    assert_status(one_parse(&o, "0a090a070a016112021a00"), HR_INVALID_ARGUMENT);
    assert_string_equal(o.err.kind, "example.count");
    one_close(&o);
}

static void another_kind_is_refused(void **state)
{
    (void)state;
    one o;
    one_open(&o, (hr__example_feature){.dtype = HR_FLOAT, .count = 1});
    assert_status(one_parse(&o, "0a0c0a0a0a016112051a030a0105"), HR_INVALID_ARGUMENT);
    assert_string_equal(o.err.kind, "example.kind");
    one_close(&o);
}

static void int64_widens_where_that_was_asked_for(void **state)
{
    (void)state;
    one o;
    one_open(&o, (hr__example_feature){.dtype = HR_FLOAT, .widen = true, .count = 1});
    assert_ok(one_parse(&o, "0a0c0a0a0a016112051a030a0105"), &o.err);
    assert_exactly(*(float *)o.table.column[0].values, 5.0f);
    assert_ok(one_parse(&o, "0a0f0a0d0a0161120812060a040000c03f"), &o.err);
    assert_exactly(*(float *)o.table.column[0].values, 1.5f);
    one_close(&o);
    one_open(&o, (hr__example_feature){.dtype = HR_INT32, .widen = true, .count = 1});
    assert_ok(one_parse(&o, "0a150a130a0161120e1a0c0a0affffffffffffffffff01"), &o.err);
    assert_int_equal(*(int32_t *)o.table.column[0].values, -1);
    assert_status(one_parse(&o, "0a100a0e0a016112091a070a058080808010"), HR_INVALID_ARGUMENT);
    assert_string_equal(o.err.kind, "example.range");
    one_close(&o);
}

static void type_that_no_example_has_is_refused(void **state)
{
    (void)state;
    hr__example_feature f = {.key = key("a"), .dtype = HR_INT32, .count = 1};
    hr__example_parser *parser;
    hr_error err;
    assert_status(hr__example_parser_new(&f, 1, &parser, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "example.type");
    assert_null(parser);
}

static void too_many_values_are_counted_and_not_written(void **state)
{
    (void)state;
    one o;
    one_open(&o, (hr__example_feature){.dtype = HR_FLOAT, .count = 2});
    float *values = o.table.column[0].values;
    values[2] = 42;
    assert_status(one_parse(&o, "0a190a170a016112121210"
                                "0d0000803f0d0000803f0d0000803f"),
                  HR_INVALID_ARGUMENT);
    assert_exactly(values[2], 42);
    assert_exactly(values[0], 0);
    one_close(&o);
}

static void cut_record_is_an_error_here_and_shorter_to_tensorflow(void **state)
{
    (void)state;
    one o;
    one_open(&o, (hr__example_feature){.dtype = HR_INT64, .count = 1});
    assert_status(one_parse(&o, "0a0c"), HR_INVALID_ARGUMENT);
    assert_string_equal(o.err.kind, "example.wire");
    o.table.rows.tf_compat = true;
    assert_ok(one_parse(&o, "0a0c"), &o.err);
    one_close(&o);
}

/* TensorFlow passes over an unknown field as far as the bytes go, and over none whose length is negative in 32 bits. */
static void unknown_field_that_is_too_long_ends_a_record_to_tensorflow(void **state)
{
    (void)state;
    static const char *const records[] = {"0a0c0a0a0a016112051a030a0105227f0a0c0a0a0a016112051a030a0107",
                                          "22ffffffff0f0a0c0a0a0a016112051a030a0105"};
    one o;
    one_open(&o, (hr__example_feature){ONE_INT64});
    for (int i = 0; i < 2; i++) {
        o.table.rows.tf_compat = false;
        assert_status(one_parse(&o, records[i]), HR_INVALID_ARGUMENT);
        o.table.rows.tf_compat = true;
        assert_ok(one_parse(&o, records[i]), &o.err);
        assert_int_equal(*(int64_t *)o.table.column[0].values, 5);
    }
    one_close(&o);
}

static void failed_row_leaves_lists_as_they_were(void **state)
{
    (void)state;
    one o;
    one_open(&o, (hr__example_feature){.dtype = HR_INT64, .count = -1, .group = 2});
    assert_status(one_parse(&o, "0a0c0a0a0a016112051a030a0105"), HR_INVALID_ARGUMENT);
    assert_int_equal(o.table.column[0].splits[1], 0);
    assert_int_equal(o.table.column[0].count, 0);
    one_close(&o);
}

static void parser_survives_every_failed_allocation(void **state)
{
    (void)state;
    hr__example_feature f = {.key = key("a"), .dtype = HR_INT64, .count = 1};
    for (int n = 0; n < 16; n++) {
        int64_t alive = allocations_alive();
        hr_error err;
        hr__example_parser *parser = NULL;
        fail_allocation(n);
        hr_status status = hr__example_parser_new(&f, 1, &parser, &err);
        hr__example_order *order = status == HR_OK ? hr__example_order_new(parser) : NULL;
        allocations_since();
        assert_status_either(status, HR_OK, HR_RESOURCE_EXHAUSTED);
        hr__example_order_free(order);
        hr__example_parser_free(parser);
        assert_int_equal(allocations_alive(), alive);
    }
}

/* ---- the fast path against the walks ---- */

enum { FEATURES = 70 };

typedef struct generator {
    uint64_t seed, drawn;
    hr__example_feature feature[FEATURES];
    char name[FEATURES][96];
    int order[FEATURES]; /* in which this generator writes them */
    int features;
} generator;

static int64_t draw(generator *g, int64_t below) { return hr_random_below(g->seed, g->drawn++, below); }
static bool chance(generator *g, int64_t one_in) { return draw(g, one_in) == 0; }

static void shuffle_order(generator *g)
{
    for (int i = g->features - 1; i > 0; i--) {
        int j = (int)draw(g, i + 1), other = g->order[i];
        g->order[i] = g->order[j];
        g->order[j] = other;
    }
}

static void choose_features(generator *g)
{
    static const hr_dtype types[] = {HR_INT64, HR_FLOAT, HR_STRING, HR_FLOAT, HR_INT32};
    static const int64_t zeros[8];
    static const hr_view empty[8] = {{"", 0}, {"", 0}, {"", 0}, {"", 0}, {"", 0}, {"", 0}, {"", 0}, {"", 0}};
    g->features = 1 + (int)draw(g, chance(g, 3) ? FEATURES : 8);
    for (int i = 0; i < g->features; i++) {
        int type = (int)draw(g, 5), length = (int)draw(g, chance(g, 4) ? 60 : 12);
        snprintf(g->name[i], sizeof g->name[i], "%d%.*s", i, length,
                 "_a_long_name_that_goes_on_and_on_beyond_the_first_block_and_more");
        g->feature[i] = (hr__example_feature){.key = key(g->name[i]), .dtype = types[type], .widen = type >= 3};
        hr__example_feature *f = &g->feature[i];
        f->count = chance(g, 3) ? -1 : chance(g, 3) ? draw(g, 4) : 1;
        f->group = f->count < 0 && chance(g, 3) ? 1 + draw(g, 2) : 0;
        f->required = f->count >= 0 && chance(g, 20);
        f->default_value = f->dtype == HR_STRING ? (const void *)empty : zeros;
        g->order[i] = i;
    }
    if (chance(g, 2)) shuffle_order(g);
}

static void put_value(generator *g, wire *list, int kind, bool packed)
{
    static const uint64_t numbers[] = {0, 5, 127, 128, 300, 1ull << 35, ~0ull, 1ull << 55};
    uint32_t bits = (uint32_t)draw(g, 1 << 30);
    char text[200] = {0};
    switch (kind) {
    case 1:
        memset(text, 'a' + (int)draw(g, 26), (size_t)draw(g, chance(g, 10) ? 199 : 9));
        put_text(list, 0x0a, text);
        break;
    case 2:
        if (!packed) put_byte(list, 0x0d);
        put_bytes(list, &bits, 4);
        break;
    default:
        if (!packed) put_byte(list, 0x08);
        put_number(list, numbers[draw(g, chance(g, 4) ? 8 : 5)]);
    }
}

static void put_unknown(generator *g, wire *w)
{
    static const struct {
        const char *bytes;
        size_t size;
    } fields[] = {{"\x38\x05", 2},
                  {"\x3d"
                   "abcd",
                   5},
                  {"\x39"
                   "abcdefgh",
                   9},
                  {"\x3a\x02"
                   "ab",
                   4},
                  {"\x3b\x08\x01\x3c", 4}};
    int i = (int)draw(g, 5);
    put_bytes(w, fields[i].bytes, fields[i].size);
}

/* A list of `count` values, in chunks of one or the other form. */
static void put_list(generator *g, wire *feature, int kind, int64_t count)
{
    static wire list, chunk;
    list.size = 0;
    bool odd = chance(g, 8);
    while (count > 0 || (count == 0 && kind != 1 && chance(g, 30))) {
        bool packed = kind != 1 && !(odd && chance(g, 2));
        int64_t n = packed && odd ? draw(g, count + 1) : packed || kind == 1 ? count : 1;
        chunk.size = 0;
        for (int64_t i = 0; i < n; i++) put_value(g, packed ? &chunk : &list, kind, packed);
        if (packed) put_message(&list, 0x0a, &chunk);
        if (odd && chance(g, 4)) put_unknown(g, &list);
        count -= n;
    }
    put_message(feature, (unsigned)kind << 3 | 2, &list);
}

static void put_feature(generator *g, wire *features, const hr__example_feature *f)
{
    static wire feature, entry;
    int kind = f->dtype == HR_STRING ? 1 : f->dtype == HR_FLOAT ? 2 : 3;
    if (f->dtype == HR_FLOAT && f->widen && chance(g, 2)) kind = 3;
    if (chance(g, 300)) kind = 1 + (int)draw(g, 3);
    int64_t count = f->count >= 0 ? f->count : draw(g, chance(g, 10) ? 60 : 4) * (f->group > 1 ? f->group : 1);
    if (chance(g, 300)) count = draw(g, 4);
    feature.size = entry.size = 0;
    if (chance(g, 50)) put_unknown(g, &feature);
    if (chance(g, 60)) put_list(g, &feature, 1 + (int)draw(g, 3), 1);
    if (!chance(g, 60)) put_list(g, &feature, kind, count);
    if (chance(g, 50)) put_unknown(g, &feature);
    if (chance(g, 60)) {
        put_message(&entry, 0x12, &feature);
        put_text(&entry, 0x0a, f->key.data);
        if (chance(g, 3)) put_unknown(g, &entry);
        put_message(features, 0x0a, &entry);
    } else {
        put_entry(features, f->key.data, &feature);
    }
}

static void make_record(generator *g, wire *record)
{
    static wire features;
    bool absent = chance(g, 2), often = chance(g, 2);
    features.size = record->size = 0;
    if (g->seed % 3 == 0 || chance(g, 5)) shuffle_order(g); /* always: keys are found by their hash soon */
    for (int i = 0; i < g->features; i++) {
        const hr__example_feature *f = &g->feature[g->order[i]];
        if (absent && chance(g, 6) && !f->required) continue;
        if (often && chance(g, 10)) {
            hr__example_feature unknown = {.key = key(chance(g, 2) ? "unknown" : ""), .dtype = HR_STRING, .count = 1};
            put_feature(g, &features, &unknown);
        }
        put_feature(g, &features, f);
        if (chance(g, 400)) put_feature(g, &features, f);
        if (chance(g, 200)) {
            put_message(record, 0x0a, &features);
            features.size = 0;
        }
    }
    put_message(record, 0x0a, &features);
    if (chance(g, 20)) put_unknown(g, record);
    if (chance(g, 10) && record->size) record->bytes[draw(g, (int64_t)record->size)] ^= (uint8_t)(1 << draw(g, 8));
    if (chance(g, 40) && record->size) record->size -= (size_t)draw(g, (int64_t)record->size);
}

/* The same records by two ways. The bytes after each record are noise. */
static void compare_walks(uint64_t seed, bool tf_compat, unsigned cpu, int *good)
{
    static generator g;
    static wire record;
    static uint8_t bytes[TABLE_ROWS][1 << 14];
    memset(&g, 0, sizeof g);
    g.seed = seed;
    choose_features(&g);
    table fast, slow;
    table_open(&fast, g.feature, g.features);
    table_open(&slow, g.feature, g.features);
    fast.rows.tf_compat = slow.rows.tf_compat = tf_compat;
    slow.rows.generic_only = true;
    hr__example_parser *parser;
    hr_error a, b;
    assert_ok(hr__example_parser_new(g.feature, g.features, &parser, &a), &a);
    hr__example_order *order = hr__example_order_new(parser), *fresh = hr__example_order_new(parser);
    hr__cpu_limit(cpu);
    for (int64_t row = 0; row < TABLE_ROWS; row++) {
        make_record(&g, &record);
        memcpy(bytes[row], record.bytes, record.size);
        for (size_t i = 0; i < 64; i++) bytes[row][record.size + i] = (uint8_t)draw(&g, 256);
        hr_view view = {(char *)bytes[row], (int64_t)record.size};
        hr_status x = hr__example_parse(parser, order, &fast.rows, row, view, &a);
        hr_status y = hr__example_parse(parser, fresh, &slow.rows, row, view, &b);
        if (x != y || !same_row(&fast, &slow, row))
            fail_msg("seed %d row %d: %d %d %s", (int)seed, (int)row, x, y, y ? b.text : "");
        if (x != HR_OK) assert_string_equal(a.text, b.text);
        *good += x == HR_OK;
    }
    hr__cpu_limit(~0u);
    hr__example_order_free(order);
    hr__example_order_free(fresh);
    hr__example_parser_free(parser);
    table_close(&fast);
    table_close(&slow);
}

static void fast_path_equals_the_generic_walk(void **state)
{
    (void)state;
    int good = 0;
    for (uint64_t seed = 0; seed < 150; seed++) compare_walks(seed, false, ~0u, &good);
    assert_more(good, 1000);
}

static void portable_path_equals_the_generic_walk(void **state)
{
    (void)state;
    int good = 0;
    for (uint64_t seed = 0; seed < 150; seed++) compare_walks(seed, false, 0, &good);
    assert_more(good, 1000);
}

static void fast_path_equals_tensorflows_walk(void **state)
{
    (void)state;
    int good = 0;
    for (uint64_t seed = 0; seed < 150; seed++) compare_walks(seed, true, ~0u, &good);
    assert_more(good, 500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_record_gives_its_value),
        cmocka_unit_test(last_entry_of_a_key_counts),
        cmocka_unit_test(missing_feature_is_an_error_that_names_it),
        cmocka_unit_test(missing_feature_gets_its_default),
        cmocka_unit_test(empty_list_is_no_value_and_no_default),
        cmocka_unit_test(another_kind_is_refused),
        cmocka_unit_test(int64_widens_where_that_was_asked_for),
        cmocka_unit_test(type_that_no_example_has_is_refused),
        cmocka_unit_test(too_many_values_are_counted_and_not_written),
        cmocka_unit_test(cut_record_is_an_error_here_and_shorter_to_tensorflow),
        cmocka_unit_test(unknown_field_that_is_too_long_ends_a_record_to_tensorflow),
        cmocka_unit_test(failed_row_leaves_lists_as_they_were),
        cmocka_unit_test(parser_survives_every_failed_allocation),
        cmocka_unit_test(fast_path_equals_the_generic_walk),
        cmocka_unit_test(portable_path_equals_the_generic_walk),
        cmocka_unit_test(fast_path_equals_tensorflows_walk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
