/* The smallest model: y = 2 x - 1 from six points, by a layer of one unit.
 *
 *     cc fit_line.c $(pkg-config --cflags --libs headrace_train) -o fit_line
 *     ./fit_line
 */
#include <headrace/headrace.h>
#include <stdio.h>

int main(void)
{
    static const float xs[] = {-1, 0, 1, 2, 3, 4}, ys[] = {-3, -1, 1, 3, 5, 7}, ten = 10;
    const hr_tensor points[] = {hr_tensor_of(HR_FLOAT, HR_SHAPE(6, 1), xs), hr_tensor_of(HR_FLOAT, HR_SHAPE(6, 1), ys)};
    const hr_tensor asked = hr_tensor_of(HR_FLOAT, HR_SHAPE(1, 1), &ten);
    hr_tensor y = {0};

    hr_model *m = hr_sequential(HR_LAYERS(hr_dense_layer(1)), .input_shape = HR_SHAPE(1), .seed = 1);
    hr_compile(m, .optimizer = hr_sgd(0.01f), .loss = "mean_squared_error");
    const hr_history *h = hr_fit(m, hr_from_tensor_slices(points, NULL, 2), .epochs = 500);
    if (h && hr_predict_on_batch(m, &asked, NULL, 1, &y) == HR_OK)
        printf("loss %.5f, y of 10 is %.2f\n", hr_history_last(h, "loss"), (double)*(const float *)y.data);
    else
        fprintf(stderr, "%s\n", hr_model_error(m)->text);
    hr_tensor_clear(&y);
    hr_model_free(m);
    return !h;
}
