/* Summaries: what golden cases do not show. */
#include "tests/testing.h"

#include <headrace/models.h>
#include <string.h>

static void widths_and_places_of_columns_are_given(void **state)
{
    (void)state;
    hr_model *m = hr_sequential(HR_LAYERS(hr_dense_layer(3)), .input_shape = HR_SHAPE(2), .name = "m");
    char *text = hr_model_summary(m, .line_length = 40, .positions = (const double[]){20, 32, 40});
    assert_non_null(text);
    assert_non_null(strstr(text, "\n Layer (type)       Output Sh   Param # \n"));
    assert_non_null(strstr(text, "\n dense (Dense)      (None, 3)   9       \n"));
    hr_free(text);
    text = hr_model_summary(m, .line_length = 3); /* one character of each cell in each line */
    assert_non_null(text);
    hr_free(text);
    hr_model_free(m);
}

static void shared_layers_have_all_connections_and_perhaps_several_shapes(void **state)
{
    (void)state;
    hr_model *m = hr_model_new();
    const hr_symbol x = hr_model_input(m, HR_SHAPE(4, 2), .name = "x"), y = hr_model_input(m, HR_SHAPE(2), .name = "y");
    hr_layer *shared = hr_dense_layer(3, .name = "d");
    hr_model_outputs(m, hr_connect(shared, x), hr_connect(shared, y));
    char *text = hr_model_summary(m, .line_length = 120);
    assert_non_null(text);
    assert_non_null(strstr(text, " d (Dense)  "));
    assert_non_null(strstr(text, " multiple "));
    assert_non_null(strstr(text, "['x[0][0]',"));
    assert_non_null(strstr(text, "'y[0][0]']"));
    hr_free(text);
    hr_model_free(m);
}

static void a_model_that_is_not_built_has_none(void **state)
{
    (void)state;
    hr_model *m = hr_sequential(HR_LAYERS(hr_dense_layer(1)));
    assert_null(hr_model_summary(m));
    assert_string_equal(hr_model_error(m)->kind, "models.not_built");
    assert_null(hr_model_summary(NULL));
    hr_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(widths_and_places_of_columns_are_given),
        cmocka_unit_test(shared_layers_have_all_connections_and_perhaps_several_shapes),
        cmocka_unit_test(a_model_that_is_not_built_has_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
