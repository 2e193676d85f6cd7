/* The smallest training: y = 2 x - 1 from six points, by gradient descent in a session.
 *
 *     cc straight_line.c $(pkg-config --cflags --libs headrace_train) -o straight_line
 *     ./straight_line
 */
#include <headrace/train.h>
#include <stdio.h>

int main(void)
{
    static const float xs[] = {-1, 0, 1, 2, 3, 4}, ys[] = {-3, -1, 1, 3, 5, 7};
    hr_graph *g = hr_graph_new();
    const hr_node x = hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1, 1), .name = "x");
    const hr_node y = hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1, 1), .name = "y");
    const hr_node loss = hr_mean_squared_error(y, hr_dense(x, 1, .name = "line"));
    const hr_node train = hr_minimize(hr_sgd(0.05f), loss), init = hr_global_variables_initializer(g);
    const hr_node line[] = {hr_variable_named(g, "line/kernel")->read, hr_variable_named(g, "line/bias")->read};
    const hr_feed points[] = {{x, hr_tensor_of(HR_FLOAT, HR_SHAPE(6, 1), xs)},
                              {y, hr_tensor_of(HR_FLOAT, HR_SHAPE(6, 1), ys)}};
    hr_error err;
    hr_tensor found[2] = {{0}};

    hr_session *s = hr_session_new(g);
    hr_status st = hr_session_run(s, NULL, 0, &init, 1, NULL, &err);
    for (int step = 0; step < 500 && st == HR_OK; step++) st = hr_session_run(s, points, 2, &train, 1, NULL, &err);
    if (st == HR_OK) st = hr_session_run(s, NULL, 0, line, 2, found, &err);
    if (st == HR_OK)
        printf("y = %.3f x %+.3f\n", (double)*(const float *)found[0].data, (double)*(const float *)found[1].data);
    else
        fprintf(stderr, "%s\n", err.text);

    for (int i = 0; i < 2; i++) hr_tensor_clear(&found[i]);
    hr_session_free(s);
    hr_graph_free(g);
    return st != HR_OK;
}
