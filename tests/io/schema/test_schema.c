/* The schema section: what it says, and what each mistake says. */
#include "io/schema/schema.h"
#include "tests/testing.h"
#include <string.h>

static hr_status read(const char *text, hr__schema_file *out, hr_error *err)
{
    hr__config *config;
    assert_ok(hr__config_parse("s.yaml", text, strlen(text), &config, err), err);
    hr_status st = hr__schema_read(hr__config_root(config), out, err);
    hr__config_free(config);
    return st;
}

static void fields_types_defaults_and_label_are_read(void **state)
{
    (void)state;
    hr__schema_file s;
    hr_error err;
    assert_ok(read("int64: [row, late]\nfloat: [temp]\nstring:\n  - origin\ndouble: [x]\nbool: [b]\n"
                   "default: {temp: 57.5, row: -3, origin: \"\", b: true}\nlabel: late\n",
                   &s, &err),
              &err);
    assert_int_equal(s.fields, 6);
    assert_string_equal(s.field[0].name, "row");
    assert_int_equal(s.field[0].dtype, HR_INT64);
    assert_true(s.field[0].has_default);
    assert_int_equal(s.field[0].default_int64, -3);
    assert_int_equal(s.label, 1);
    assert_false(s.field[1].has_default);
    assert_exactly(s.field[2].default_float, 57.5f);
    assert_int_equal(s.field[3].default_string.size, 0);
    assert_int_equal(s.field[3].line, 4);
    assert_int_equal(s.field[4].dtype, HR_DOUBLE);
    assert_int_equal(s.field[4].stored, HR_FLOAT);
    assert_int_equal(s.field[5].default_int64, 1);
    assert_int_equal(hr__schema_find(&s, "origin"), 3);
    assert_int_equal(hr__schema_find(&s, "origi"), -1);
    hr__schema_clear(&s);
}

static void every_mistake_has_its_place(void **state)
{
    (void)state;
    static const struct {
        const char *text, *kind, *place, *said;
    } mistakes[] = {
        {"int65: [a]\n", "config.unknown_key", "s.yaml:1:1", "did you mean 'int64'?"},
        {"int64: [a]\nfloat: [b, a]\n", "schema.field", "s.yaml:2:12", "'a' twice; the first is in line 1"},
        {"int64: [a]\ndefault: {b: 1}\n", "config.unknown_name", "s.yaml:2:11", "'b'"},
        {"int64: [a]\ndefault: {a: 1.5}\n", "config.type", "s.yaml:2:14", "1.5"},
        {"float: [temp]\nlabel: tmp\n", "config.unknown_name", "s.yaml:2:8", "did you mean 'temp'?"},
        {"int64: a\n", "config.type", "s.yaml:1:8", "a"},
        {"int32: [a]\ndefault: {a: 3000000000}\n", "config.value", "s.yaml:2:14", "3000000000"},
        {"label: a\n", "schema.empty", "s.yaml:1:1", "list them by type"},
    };
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        hr__schema_file s;
        hr_error err;
        assert_status(read(mistakes[i].text, &s, &err), HR_INVALID_ARGUMENT);
        hr__schema_clear(&s);
        if (strcmp(err.kind, mistakes[i].kind) != 0) fail_msg("kind %s: %s", err.kind, err.text);
        if (strncmp(err.text, mistakes[i].place, strlen(mistakes[i].place)) != 0) fail_msg("%s", err.text);
        if (!strstr(err.text, mistakes[i].said)) fail_msg("%s", err.text);
    }
}

static void a_file_may_be_the_section_alone_or_have_others(void **state)
{
    (void)state;
    static const char *const texts[] = {"int64: [a]\n", "schema:\n  int64: [a]\nmodel: {}\n"};
    for (int i = 0; i < 2; i++) {
        hr__schema_file s;
        hr_error err;
        write_file("s.yaml", texts[i], strlen(texts[i]));
        assert_ok(hr__schema_open("s.yaml", &s, &err), &err);
        assert_int_equal(s.fields, 1);
        assert_int_equal(s.label, -1);
        hr__schema_clear(&s);
    }
    hr__schema_file s;
    assert_status(hr__schema_open("none.yaml", &s, NULL), HR_NOT_FOUND);
    hr__schema_clear(&s);
}

static void a_lack_of_memory_leaks_nothing(void **state)
{
    (void)state;
    const char *text = "int64: [a]\nstring: [s]\ndefault: {s: x}\nlabel: a\n";
    hr__schema_file s;
    hr_error err;
    hr__config *config;
    assert_ok(hr__config_parse("s.yaml", text, strlen(text), &config, &err), &err);
    const int64_t alive = allocations_alive();
    for (int64_t n = 0; n < 8; n++) {
        fail_allocation(n);
        hr_status st = hr__schema_read(hr__config_root(config), &s, &err);
        allocations_since();
        assert_int_equal(st, n < 6 ? HR_RESOURCE_EXHAUSTED : HR_OK);
        hr__schema_clear(&s);
        assert_int_equal(allocations_alive(), alive);
    }
    hr__config_free(config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_types_defaults_and_label_are_read),
        cmocka_unit_test(every_mistake_has_its_place),
        cmocka_unit_test(a_file_may_be_the_section_alone_or_have_others),
        cmocka_unit_test(a_lack_of_memory_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
