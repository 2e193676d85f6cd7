/* Files of weights that a training leaves: which, where, and that they are the weights. */
#include "tests/io/faults.h"
#include "tests/train/models/line_model.h"

#include <errno.h>
#include <unistd.h>

static float weight_in(const char *path)
{
    hr_error err = {0};
    hr_model *m = line_model(false);
    assert_ok(hr_load_weights(m, path, &err), &err);
    const float found = line_weight(m);
    hr_model_free(m);
    return found;
}

static void check_weight(const char *path, float expected)
{
    const float found = weight_in(path);
    assert_exactly(found, expected);
}

static bool is_there(const char *path)
{
    char index[256];
    snprintf(index, sizeof index, "%s.index", path);
    return access(index, F_OK) == 0;
}

static void trained(script *s, int epochs, hr_callback *c)
{
    hr_model *m = line_model(false);
    if (!hr_fit(m, line(), .batch_size = 2, .epochs = epochs, .callbacks = HR_CALLBACKS(scripted(s), c)))
        fail_msg("%s", hr_model_error(m)->text);
    hr_model_free(m);
}

static void each_epoch_has_its_file_with_what_the_path_says(void **state)
{
    (void)state;
    script s = {.key = "val_loss", .values = (const double[]){0.5, -12.3456, 1e-7}, .count = 3};
    trained(&s, 3, hr_model_checkpoint("a/b/w-{epoch:03d}-{val_loss:.2f}-{{x}}"));
    assert_true(is_there("a/b/w-001-0.50-{x}"));
    assert_true(is_there("a/b/w-002--12.35-{x}"));
    check_weight("a/b/w-003-0.00-{x}", s.weight[2]);
    trained(&s, 3, hr_model_checkpoint("b/{epoch}-{val_loss}-{val_loss:08.3f}-{val_loss:.1e}"));
    assert_true(is_there("b/1-0.5-0000.500-5.0e-01"));
    assert_true(is_there("b/2--12.3456--012.346--1.2e+01"));
    assert_true(is_there("b/3-1e-07-0000.000-1.0e-07"));
    assert_int_equal(files_in("b", true), 7); /* with the one that names the newest */
}

static void only_the_best_are_saved(void **state)
{
    (void)state;
    script s = {.key = "val_loss", .values = (const double[]){5, 3, 4, 2}, .count = 4};
    trained(&s, 4, hr_model_checkpoint("best", .save_best_only = true));
    check_weight("best", s.weight[3]);
    trained(&s, 3, hr_model_checkpoint("least-{epoch}", .save_best_only = true));
    assert_true(is_there("least-1") && is_there("least-2") && !is_there("least-3"));
    trained(&s, 4, hr_model_checkpoint("most-{epoch}", .save_best_only = true, .mode = HR_MAX_MODE));
    assert_true(is_there("most-1") && !is_there("most-2") && !is_there("most-3"));
    trained(&s, 4, hr_model_checkpoint("below-{epoch}", .save_best_only = true, .initial_value_threshold = HR_F64(3)));
    assert_true(!is_there("below-1") && !is_there("below-2") && is_there("below-4"));
    s.key = "val_acc";
    trained(&s, 4, hr_model_checkpoint("acc-{epoch}", .monitor = "val_acc", .save_best_only = true));
    assert_true(is_there("acc-1") && !is_there("acc-2") && !is_there("acc-4"));
    noted n = {0};
    hr_set_log(note_warning, &n);
    trained(&s, 4, hr_model_checkpoint("none", .save_best_only = true));
    hr_set_log(NULL, NULL);
    assert_int_equal(n.warnings, 1);
    assert_false(is_there("none"));
}

static void some_batches_have_files(void **state)
{
    (void)state;
    script s = {.key = "x"};
    trained(&s, 2, hr_model_checkpoint("every/{epoch}.{batch}", .save_freq = 4));
    assert_true(is_there("every/2.1"));
    assert_int_equal(files_in("every", true), 3);
}

static void paths_that_cannot_be_are_refused(void **state)
{
    (void)state;
    const char *const paths[] = {"w-{epoch", "w-}", "w-{}", "w-{epoch:0x}", "w-{epoch:.f}", "w-{a{b}}"};
    hr_model *m = line_model(false);
    for (int i = 0; i < 6; i++) {
        assert_null(hr_fit(m, line(), .callbacks = HR_CALLBACKS(hr_model_checkpoint(paths[i]))));
        assert_string_equal(hr_model_error(m)->kind, "models.path");
    }
    assert_null(hr_fit(m, line(), .callbacks = HR_CALLBACKS(hr_model_checkpoint("w-{val_loss:.2f}"))));
    assert_string_equal(hr_model_error(m)->kind, "models.path");
    assert_text_contains(hr_model_error(m)->text, "{val_loss}");
    assert_null(hr_fit(m, line(), .callbacks = HR_CALLBACKS(hr_model_checkpoint(NULL))));
    assert_string_equal(hr_model_error(m)->kind, "models.argument");
    assert_null(hr_fit(m, line(), .callbacks = HR_CALLBACKS(hr_model_checkpoint("w", .save_freq = -1))));
    assert_string_equal(hr_model_error(m)->kind, "models.argument");
    hr_model_free(m);
}

static void a_full_disk_leaves_the_file_before(void **state)
{
    (void)state;
    int failed = 0;
    hr_model *m = line_model(false);
    assert_non_null(hr_fit(m, line(), .callbacks = HR_CALLBACKS(hr_model_checkpoint("full/w"))));
    float saved = line_weight(m);
    for (int call = 0; call < 20; call++) {
        faults f = {.call = call, .number = ENOSPC};
        use_faults(&f);
        const hr_history *h = hr_fit(m, line(), .callbacks = HR_CALLBACKS(hr_model_checkpoint("full/w")));
        use_faults(NULL);
        if (h) saved = line_weight(m);
        failed += !h;
        if (!h) assert_text_contains(hr_model_error(m)->text, "full/");
        const float found = weight_in("full/w");
        assert_true(found == saved || found == line_weight(m)); /* where only the `checkpoint` file has failed */
        saved = found;
    }
    assert_more(failed, 5);
    hr_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_epoch_has_its_file_with_what_the_path_says),
        cmocka_unit_test(only_the_best_are_saved),
        cmocka_unit_test(some_batches_have_files),
        cmocka_unit_test(paths_that_cannot_be_are_refused),
        cmocka_unit_test(a_full_disk_leaves_the_file_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
