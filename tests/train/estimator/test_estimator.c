/* Trainings from records to results. */
#include "tests/testing.h"
#include "tests/train/estimator/trainings.h"
#include <dirent.h>
#include <headrace/checkpoint.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- helpers ---- */

static hr_status train_some(const classifier_spec *spec, test_input *in, int64_t steps, hr_train_result *result)
{
    hr_error err = {0};
    hr_estimator *e = new_test_classifier(spec);
    hr_status st = hr_estimator_train(e, test_input_fn, in, .steps = steps, .result = result);
    if (st != HR_OK) print_message("%s\n", hr_estimator_error(e)->text);
    hr_estimator_free(e);
    (void)err;
    return st;
}

static void every_kind_learns(void **state)
{
    (void)state;
    write_rows("data", ROWS);
    for (which kind = LINEAR; kind <= COMBINED; kind++) {
        hr_train_result first = {0}, last = {0};
        test_input in = {.folder = "data", .epochs = -1, .batch = 20}, all = {.folder = "data", .batch = 50};
        classifier_spec spec = {.kind = kind, .model_dir = "learns"};
        remove_folder("learns");
        assert_int_equal(train_some(&spec, &in, 1, &first), HR_OK);
        assert_int_equal(train_some(&spec, &in, 300, &last), HR_OK);
        assert_int_equal(last.first_step, 1);
        assert_int_equal(last.last_step, 301);
        assert_true(last.resumed && !last.finished);
        hr_estimator *e = new_test_classifier(&spec);
        hr_status st = hr_estimator_evaluate(e, test_eval_fn, &all);
        if (st != HR_OK) fail_msg("%s", hr_estimator_error(e)->text);
        for (int i = 0; i < hr_estimator_results(e); i++)
            print_message("%s %g\n", hr_estimator_result_name(e, i),
                          hr_estimator_result(e, hr_estimator_result_name(e, i)));
        assert_true(hr_estimator_result(e, "auc") > 0.9);
        hr_estimator_free(e);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_learns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
