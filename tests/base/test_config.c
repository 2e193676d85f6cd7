/* What people write: trees, places, and a good word for every mistake. */
#include "io/config_file.h"
#include "tests/testing.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static hr__config *parse(const char *text)
{
    hr_error err = {0};
    hr__config *c;
    assert_ok(hr__config_parse("a.yaml", text, strlen(text), &c, &err), &err);
    return c;
}

static void assert_refused(const char *text, const char *kind, const char *message)
{
    hr_error err = {0};
    hr__config *c;
    assert_status(hr__config_parse("a.yaml", text, strlen(text), &c, &err), HR_INVALID_ARGUMENT);
    assert_null(c);
    assert_string_equal(err.kind, kind);
    assert_string_equal(err.text, message);
    assert_string_equal(err.file, "a.yaml");
}

static void a_tree_has_kinds_places_and_order(void **state)
{
    (void)state;
    hr__config *c = parse("# comment\nb: {x: 1, y: [2, 'three', ]}\na:\n  - column hour\n  - {k: v}\n");
    const hr__node *root = hr__config_root(c);
    assert_int_equal(root->kind, HR__MAPPING);
    assert_int_equal(root->count, 2);
    assert_string_equal(root->key[0]->text, "b");
    assert_int_equal(root->key[0]->line, 2);
    const hr__node *y = hr__node_get(hr__node_get(root, "b"), "y");
    assert_int_equal(y->kind, HR__SEQUENCE);
    assert_int_equal(y->count, 2);
    assert_false(y->item[0]->quoted);
    assert_true(y->item[1]->quoted);
    assert_int_equal(y->item[1]->line, 2);
    assert_int_equal(y->item[1]->column, 18);
    const hr__node *a = hr__node_get(root, "a");
    assert_string_equal(a->item[0]->text, "column hour");
    assert_int_equal(a->item[0]->line, 4);
    assert_int_equal(a->item[0]->column, 5);
    hr__text path = {0};
    hr__text_add(&path, "in ");
    hr__node_path(hr__node_get(a->item[1], "k"), &path);
    assert_string_equal(path.data, "in a[1].k");
    hr__text_free(&path);
    assert_null(hr__node_get(root, "c"));
    assert_null(hr__node_get(NULL, "c"));
    hr__config_free(c);
}

static void nothing_is_an_empty_mapping(void **state)
{
    (void)state;
    const char *const empty[] = {"", "# only a comment\n", "---\n{}\n"};
    for (int i = 0; i < 3; i++) {
        hr__config *c = parse(empty[i]);
        assert_int_equal(hr__config_root(c)->kind, HR__MAPPING);
        assert_int_equal(hr__config_root(c)->count, 0);
        hr__config_free(c);
    }
}

static void json_is_read(void **state)
{
    (void)state;
    hr__config *c = parse("{\"a\": [1, -2.5e3, true, null, \"x\\ny\"], \"b\": {}}");
    const hr__node *a = hr__node_get(hr__config_root(c), "a");
    double number;
    bool flag;
    const char *text;
    assert_status(hr__node_double(a->item[1], &number, NULL), HR_OK);
    assert_exactly(number, -2500);
    assert_status(hr__node_bool(a->item[2], &flag, NULL), HR_OK);
    assert_true(flag);
    assert_true(hr__node_is_null(a->item[3]));
    assert_status(hr__node_text(a->item[4], &text, NULL), HR_OK);
    assert_string_equal(text, "x\ny");
    hr__config_free(c);
}

static void aliases_stand_for_what_they_name(void **state)
{
    (void)state;
    hr__config *c = parse("a: &x [1, 2]\nb: *x\nc: &x 3\nd: *x\n");
    const hr__node *root = hr__config_root(c);
    assert_ptr_equal(hr__node_get(root, "a"), hr__node_get(root, "b"));
    assert_string_equal(hr__node_get(root, "d")->text, "3");
    hr__config_free(c);
}

static void what_is_no_tree_is_refused_with_its_place(void **state)
{
    (void)state;
    assert_refused("a: 1\nb: 2\na: 3\n", "config.duplicate_key",
                   "a.yaml:3:1: expected each key once, found 'a' twice; the first is in line 1");
    assert_refused(
        "a: [1, 2\nb: 3\n", "config.syntax",
        "a.yaml:2:2: expected YAML, but libyaml says: did not find expected ',' or ']' (while parsing a flow "
        "sequence that begins in line 1)");
    assert_refused("a:\n\tb: 1\n", "config.syntax",
                   "a.yaml:2:1: expected blanks, found a tab; YAML is indented with blanks only");
    assert_refused("? [a]\n: 1\n", "config.syntax",
                   "a.yaml:1:3: expected a name as the key, found a list or a mapping");
    assert_refused("a: !!int 3\n", "config.syntax",
                   "a.yaml:1:4: expected a plain or quoted value, found a tag (!); leave it out");
    assert_refused("a: 1\n---\nb: 1\n", "config.syntax", "a.yaml:2:1: expected one document, found a second one (---)");
    assert_refused("a: *x\n", "config.syntax", "a.yaml:1:4: expected an anchor &x above, found none");
    assert_refused("a: &x [1, *x]\n", "config.syntax",
                   "a.yaml:1:11: expected something complete, found *x inside of &x");
    assert_refused("a: b\n  c: \xff\n", "config.syntax",
                   "a.yaml:2:6: expected YAML, but libyaml says: invalid leading UTF-8 octet");
}

static void depth_and_size_are_bounded(void **state)
{
    (void)state;
    char text[256] = "";
    for (int i = 0; i < 65; i++) strcat(text, "[");
    assert_refused(text, "config.limit", "a.yaml:1:65: expected at most 64 levels inside each other, found more");

    /* Ten lists, each of ten times the one before: 10^10 values in some hundred bytes. */
    char laughs[1024] = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n", line[128];
    for (int i = 1; i < 10; i++) {
        int used = snprintf(line, sizeof line, "a%d: &a%d [", i, i);
        for (int k = 0; k < 10; k++) used += snprintf(line + used, sizeof line - (size_t)used, "*a%d,", i - 1);
        strcat(strcat(laughs, line), "]\n");
    }
    assert_refused(laughs, "config.limit", "a.yaml:6:38: expected at most 1000000 values, aliases counted, found more");
}

/* A schema of a million fields has a text as long. Values are counted by aliases here, which is quick. */
static void long_texts_may_have_as_many_values_as_schemas_have(void **state)
{
    (void)state;
    enum { LISTS = 1100, VALUES = 1000, LINES = 150000, LINE = 128 };
    hr__text text = {0};
    char comment[LINE + 1] = "#";
    hr_error err;
    hr__config *c;
    hr__text_add(&text, "a: &a [");
    for (int i = 0; i < VALUES; i++) hr__text_add(&text, "x, ");
    hr__text_add(&text, "]\nb: [");
    for (int i = 0; i < LISTS; i++) hr__text_add(&text, "*a, ");
    hr__text_add(&text, "]\n");
    assert_status(hr__config_parse("a.yaml", text.data, text.size, &c, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.text, "a.yaml:2:3993: expected at most 1000000 values, aliases counted, found more");

    memset(comment + 1, '-', LINE - 2);
    comment[LINE - 1] = '\n';
    for (int i = 0; i < LINES; i++) hr__text_add(&text, comment);
    assert_more(text.size, 16 << 20);
    assert_ok(hr__config_parse("a.yaml", text.data, text.size, &c, &err), &err);
    assert_int_equal(hr__node_get(hr__config_root(c), "b")->item[LISTS - 1]->count, VALUES);
    hr__config_free(c);
    hr__text_free(&text);
}

static void many_keys_are_found_and_told(void **state)
{
    (void)state;
    enum { KEYS = 20000 };
    hr__text text = {0}, path = {0};
    hr_error err;
    hr__config *c;
    char key[32];
    for (int i = 0; i < KEYS; i++) hr__text_printf(&text, "key_%d: [a, %d]\n", i, i);
    assert_ok(hr__config_parse("a.yaml", text.data, text.size, &c, &err), &err);
    const hr__node *root = hr__config_root(c);
    for (int i = 0; i < KEYS; i++) {
        snprintf(key, sizeof key, "key_%d", i);
        const hr__node *list = hr__node_get(root, key);
        int64_t number;
        assert_ok(hr__node_int64(list->item[1], 0, KEYS, &number, &err), &err);
        assert_int_equal(number, i);
        hr__text_clear(&path);
        hr__node_path(list->item[1], &path);
        strcat(key, "[1]");
        assert_string_equal(path.data, key);
    }
    assert_null(hr__node_get(root, "key_20000"));
    hr__config_free(c);

    hr__text_printf(&text, "key_7: 1\n");
    assert_status(hr__config_parse("a.yaml", text.data, text.size, &c, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.text,
                        "a.yaml:20001:1: expected each key once, found 'key_7' twice; the first is in line 8");
    hr__text_free(&text);
    hr__text_free(&path);
}

static void mistakes_are_told_with_place_path_and_suggestion(void **state)
{
    (void)state;
    hr__config *c =
        parse("model:\n  hiden_units: [1]\ntrain: {batch_size: abc, seed: '5', epochs: 0, rate: [], late: maybe}\n");
    const hr__node *root = hr__config_root(c), *model = hr__node_get(root, "model"),
                   *train = hr__node_get(root, "train");
    hr_error err;
    int64_t number = 7;
    double rate;
    bool late;
    const hr__node *node;
    assert_status(hr__config_check_keys(model, (const char *const[]){"estimator", "hidden_units", NULL}, &err),
                  HR_INVALID_ARGUMENT);
    assert_string_equal(err.text, "a.yaml:2:3: model: unknown key 'hiden_units'; did you mean 'hidden_units'?");
    assert_string_equal(err.kind, "config.unknown_key");
    assert_int_equal(err.line, 2);
    assert_status(hr__config_check_keys(root, (const char *const[]){"model", "train", NULL}, &err), HR_OK);
    hr__config_check_keys(root, (const char *const[]){"x", "y", NULL}, &err);
    assert_string_equal(err.text, "a.yaml:1:1: unknown key 'model'; expected one of x, y");

    assert_status(hr__config_int64(train, "batch_size", 1, 100, &number, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.text,
                        "a.yaml:3:21: train.batch_size: expected a whole number from 1 to 100, found \"abc\"");
    hr__config_int64(train, "seed", 0, INT64_MAX, &number, &err);
    assert_string_equal(err.text,
                        "a.yaml:3:32: train.seed: expected a whole number of at least 0, found the string \"5\"");
    hr__config_int64(train, "epochs", 1, INT64_MAX, &number, &err);
    assert_string_equal(err.text, "a.yaml:3:45: train.epochs: expected a whole number of at least 1, found 0");
    assert_string_equal(err.kind, "config.value");
    hr__config_double(train, "rate", &rate, &err);
    assert_string_equal(err.text, "a.yaml:3:54: train.rate: expected a number, found a list");
    hr__config_bool(train, "late", &late, &err);
    assert_string_equal(err.text, "a.yaml:3:64: train.late: expected true or false, found \"maybe\"");
    assert_status(hr__config_int64(train, "none", 1, 2, &number, &err), HR_OK);
    assert_int_equal(number, 7);
    assert_status(hr__node_need(model, "estimator", &node, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.text, "a.yaml:2:3: model: expected the key 'estimator', found none");
    hr__config_free(c);
}

static void numbers_have_their_usual_forms(void **state)
{
    (void)state;
    hr__config *c = parse("[3e5, 18446744073709551615, -.inf, .NaN, 1.5, -9223372036854775808, off]");
    const hr__node *n = hr__config_root(c);
    int64_t i;
    uint64_t u;
    double d;
    bool b;
    assert_status(hr__node_int64(n->item[0], 0, INT64_MAX, &i, NULL), HR_OK);
    assert_int_equal(i, 300000);
    assert_status(hr__node_uint64(n->item[1], &u, NULL), HR_OK);
    assert_int_equal(u, UINT64_MAX);
    assert_status(hr__node_double(n->item[2], &d, NULL), HR_OK);
    assert_exactly(d, -HUGE_VAL);
    assert_status(hr__node_double(n->item[3], &d, NULL), HR_OK);
    assert_nan(d);
    assert_status(hr__node_int64(n->item[4], 0, 9, &i, NULL), HR_INVALID_ARGUMENT);
    assert_status(hr__node_int64(n->item[5], INT64_MIN, 0, &i, NULL), HR_OK);
    assert_int_equal(i, INT64_MIN);
    assert_status(hr__node_bool(n->item[6], &b, NULL), HR_OK);
    assert_false(b);
    hr__config_free(c);
}

static void the_nearest_name_is_suggested(void **state)
{
    (void)state;
    const char *const names[] = {"batch_size", "shuffle", "epochs", "dnn_hidden_units", "seed"};
    const struct {
        const char *name, *suggestion;
    } cases[] = {{"batchsize", "batch_size"},
                 {"Shufle", "shuffle"},
                 {"epcohs", "epochs"},
                 {"hidden_units", "dnn_hidden_units"},
                 {"sed", "seed"},
                 {"learning_rate", NULL},
                 {"", NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *got = hr_suggest(cases[i].name, names, 5);
        if (!cases[i].suggestion)
            assert_null(got);
        else
            assert_string_equal(got, cases[i].suggestion);
    }
}

static void a_choice_gives_the_number_of_the_name(void **state)
{
    (void)state;
    hr__config *c = parse("[adam, adan, {}]");
    const char *const names[] = {"sgd", "adam"};
    const hr__node *root = hr__config_root(c);
    int64_t number = 0;
    hr_error err;
    assert_status(hr__node_choice(root->item[0], "optimizer", names, 2, &number, &err), HR_OK);
    assert_int_equal(number, 1);
    assert_status(hr__node_choice(root->item[1], "optimizer", names, 2, &number, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.text, "a.yaml:1:8: [1]: unknown optimizer 'adan'; did you mean 'adam'?");
    assert_status(hr__node_choice(root->item[2], "optimizer", names, 2, &number, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.text, "a.yaml:1:14: [2]: expected the name of a known optimizer, found a mapping");
    hr__config_free(c);
}

static void files_are_read_and_missing_ones_are_named(void **state)
{
    (void)state;
    hr_error err;
    hr__config *c;
    write_file("good.yaml", "a: 1\n", 5);
    assert_ok(hr__config_open("good.yaml", &c, &err), &err);
    assert_string_equal(hr__config_name(c), "good.yaml");
    hr__config_free(c);
    assert_status(hr__config_open("no.yaml", &c, &err), HR_NOT_FOUND);
    assert_string_equal(err.text, "no.yaml: cannot be opened: No such file or directory");
    assert_string_equal(err.file, "no.yaml");
    assert_status(hr__config_open(".", &c, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.text, ".: expected a file, got a folder; name the files in it");
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    const char text[] = "a: &x {b: [1, 2, 3], c: \"a text that is longer than sixteen bytes\"}\nd: *x\n";
    const int64_t before = allocations_alive();
    hr_status st = HR_RESOURCE_EXHAUSTED;
    for (int64_t n = 0; st != HR_OK; n++) {
        hr__config *c;
        hr_error err;
        fail_allocation(n);
        st = hr__config_parse("a.yaml", text, sizeof text - 1, &c, &err);
        allocations_since();
        assert_status_either(st, HR_OK, HR_RESOURCE_EXHAUSTED);
        hr__config_free(c);
        assert_int_equal(allocations_alive(), before);
    }
}

/* ---- values set from outside ---- */

static void sets(hr__config *c, const char *option)
{
    hr_error err = {0};
    assert_ok(hr__config_set(c, option, &err), &err);
}

static void assert_value(const hr__config *c, const char *section, const char *key, const char *expected)
{
    const hr__node *node = hr__node_get(hr__node_get(hr__config_root(c), section), key);
    hr__text path = {0}, both = {0};
    assert_non_null(node);
    assert_string_equal(node->text, expected);
    hr__node_path(node, &path);
    hr__text_printf(&both, "%s.%s", section, key);
    assert_string_equal(path.data, both.data);
    hr__text_free(&path);
    hr__text_free(&both);
}

static void values_are_set_added_and_taken_away(void **state)
{
    (void)state;
    hr__config *c = parse("model: {units: [8, 4], rate: 0.1}\nsame: &s {x: 1}\nother: *s\n");
    sets(c, "model.rate=0.25");
    sets(c, "model.units[1]=2");
    sets(c, "train.steps=7");
    sets(c, "train.names=[a, {b: c}]");
    sets(c, "other.x=2");
    assert_value(c, "model", "rate", "0.25");
    assert_value(c, "train", "steps", "7");
    assert_value(c, "same", "x", "1"); /* an alias does not carry it over */
    assert_value(c, "other", "x", "2");
    const hr__node *root = hr__config_root(c), *units = hr__node_get(hr__node_get(root, "model"), "units");
    const hr__node *names = hr__node_get(hr__node_get(root, "train"), "names");
    assert_int_equal(root->count, 4);
    assert_string_equal(units->item[0]->text, "8");
    assert_string_equal(units->item[1]->text, "2");
    assert_string_equal(hr__node_get(names->item[1], "b")->text, "c");
    hr__text path = {0};
    hr__node_path(hr__node_get(names->item[1], "b"), &path);
    assert_string_equal(path.data, "train.names[1].b");
    hr__text_free(&path);
    sets(c, "model.rate=");
    assert_true(hr__node_is_null(hr__node_get(hr__node_get(hr__config_root(c), "model"), "rate")));
    hr__config_free(c);
}

static void a_large_mapping_finds_what_was_set(void **state)
{
    (void)state;
    hr__text text = {0};
    for (int i = 0; i < 40; i++) hr__text_printf(&text, "k%d: %d\n", i, i);
    hr__config *c = parse(text.data);
    hr__text_free(&text);
    sets(c, "k7=seven");
    sets(c, "new=1");
    const hr__node *root = hr__config_root(c);
    assert_string_equal(hr__node_get(root, "k7")->text, "seven");
    assert_string_equal(hr__node_get(root, "k39")->text, "39");
    assert_string_equal(hr__node_get(root, "new")->text, "1");
    hr__config_free(c);
}

/* By its text, not by a line and column, which it does not have. */
static void what_is_set_wrongly_names_the_option(void **state)
{
    (void)state;
    static const struct {
        const char *option, *says;
    } wrong[] = {
        {"", "expected KEY.PATH=VALUE"},          {"steps", "expected KEY.PATH=VALUE"},
        {"=1", "expected KEY.PATH=VALUE"},        {"a..b=1", "expected KEY.PATH=VALUE"},
        {"a.=1", "expected KEY.PATH=VALUE"},      {"list[=1", "expected KEY.PATH=VALUE"},
        {"list[x]=1", "expected KEY.PATH=VALUE"}, {"list[2]=1", "expected the index"},
        {"a.b[0]=1", "expected the index"},       {"a.b.c=1", "expected a path of keys"},
        {"list.x=1", "expected a path of keys"},  {"a.b=[1", ".set \"a.b=[1\":"},
        {"a.b=!t 1", "expected a plain"},
    };
    hr_error err = {0};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        hr__config *c = parse("a: {b: 1}\nlist: [1, 2]\n");
        assert_status(hr__config_set(c, wrong[i].option, &err), HR_INVALID_ARGUMENT);
        assert_text_contains(err.text, wrong[i].says);
        assert_text_contains(err.text, ".set \"");
        hr__config_free(c);
    }
    static const char *const keys[] = {"b", "steps", NULL};
    hr__config *c = parse("a: {b: 1}\n");
    int64_t number;
    sets(c, "a.step=1");
    const hr__node *a = hr__node_get(hr__config_root(c), "a");
    assert_status(hr__config_check_keys(a, keys, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.text, ".set \"a.step=1\": unknown key 'step'; did you mean 'steps'?");
    assert_status(hr__node_int64(hr__node_get(a, "step"), 2, 3, &number, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.text, ".set \"a.step=1\": expected a whole number from 2 to 3, found 1");
    assert_status(hr__config_set_all(c, NULL, 1, &err), HR_INVALID_ARGUMENT);
    hr__config_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_set_added_and_taken_away),
        cmocka_unit_test(a_large_mapping_finds_what_was_set),
        cmocka_unit_test(what_is_set_wrongly_names_the_option),
        cmocka_unit_test(a_tree_has_kinds_places_and_order),
        cmocka_unit_test(nothing_is_an_empty_mapping),
        cmocka_unit_test(json_is_read),
        cmocka_unit_test(aliases_stand_for_what_they_name),
        cmocka_unit_test(what_is_no_tree_is_refused_with_its_place),
        cmocka_unit_test(depth_and_size_are_bounded),
        cmocka_unit_test(long_texts_may_have_as_many_values_as_schemas_have),
        cmocka_unit_test(many_keys_are_found_and_told),
        cmocka_unit_test(mistakes_are_told_with_place_path_and_suggestion),
        cmocka_unit_test(numbers_have_their_usual_forms),
        cmocka_unit_test(the_nearest_name_is_suggested),
        cmocka_unit_test(a_choice_gives_the_number_of_the_name),
        cmocka_unit_test(files_are_read_and_missing_ones_are_named),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
