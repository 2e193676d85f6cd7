/* House prices from square feet and bedrooms, by gradient descent on all 47 rows at once: a CSV without a header,
 * columns brought to mean 0 and deviation 1, and the course's loss, half the mean squared error.
 *
 *     cc house_prices.c $(pkg-config --cflags --libs headrace_train) -lm -o house_prices
 *     ./house_prices data/houses47.csv
 */
#include <headrace/headrace.h>
#include <math.h>
#include <stdio.h>

enum { ROWS = 47, STEPS = 100 };

/* (x - mean) / deviation, with n - 1 in the deviation. */
static void normalize(const float *from, float *to, int stride)
{
    double mean = 0, squares = 0;
    for (int i = 0; i < ROWS; i++) mean += (double)from[i] / ROWS;
    for (int i = 0; i < ROWS; i++) squares += ((double)from[i] - mean) * ((double)from[i] - mean);
    const double deviation = sqrt(squares / (ROWS - 1));
    for (int i = 0; i < ROWS; i++) to[i * stride] = (float)(((double)from[i] - mean) / deviation);
}

/* All rows are one batch: {square, bedrooms} and prices. */
static hr_status read_houses(const char *path, float houses[][2], float *prices, hr_error *err)
{
    const hr_csv_column columns[] = {{.name = "square", .dtype = HR_FLOAT},
                                     {.name = "bedrooms", .dtype = HR_FLOAT},
                                     {.name = "price", .dtype = HR_FLOAT}};
    const hr_element *all;
    hr_dataset *rows = hr_csv(path, .columns = columns, .column_count = 3, .no_header = true);
    hr_iterator *it = hr_get_single_element(hr_batch(rows, ROWS), &all);
    const hr_status st = all ? HR_OK : hr_iterator_error(it)->code;
    if (st == HR_OK) {
        normalize(hr_get(all, "square")->data, &houses[0][0], 2);
        normalize(hr_get(all, "bedrooms")->data, &houses[0][1], 2);
        normalize(hr_get(all, "price")->data, prices, 1);
    } else {
        *err = *hr_iterator_error(it);
    }
    hr_iterator_free(it);
    return st;
}

int main(int argc, char **argv)
{
    float houses[ROWS][2], prices[ROWS];
    hr_error err = {0};
    hr_tensor found[3] = {{0}};
    if (argc != 2) return fprintf(stderr, "usage: house_prices HOUSES.csv\n"), 2;
    hr_status st = read_houses(argv[1], houses, prices, &err);

    hr_graph *g = hr_graph_new();
    const hr_node x = hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1, 2)), y = hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1, 1));
    const hr_node price = hr_dense(x, 1, .name = "price", .kernel_initializer = hr_zeros());
    const hr_node loss = hr_mul(hr_mean_squared_error(y, price), hr_scalar(g, HR_FLOAT, 0.5));
    const hr_node train = hr_minimize(hr_sgd(0.1f), loss), init = hr_global_variables_initializer(g);
    const hr_node fetches[] = {hr_variable_named(g, "price/bias")->read, hr_variable_named(g, "price/kernel")->read,
                               loss};
    const hr_feed all[] = {{x, hr_tensor_of(HR_FLOAT, HR_SHAPE(ROWS, 2), houses)},
                           {y, hr_tensor_of(HR_FLOAT, HR_SHAPE(ROWS, 1), prices)}};
    hr_session *s = hr_session_new(g);
    if (st == HR_OK) st = hr_session_run(s, NULL, 0, &init, 1, NULL, &err);
    for (int step = 0; step < STEPS && st == HR_OK; step++) st = hr_session_run(s, all, 2, &train, 1, NULL, &err);
    if (st == HR_OK) st = hr_session_run(s, all, 2, fetches, 3, found, &err);
    if (st == HR_OK) {
        const float *w0 = found[0].data, *w = found[1].data, *last = found[2].data;
        printf("price = %.5f square %+.5f bedrooms %+.5f, loss %.5f\n", (double)w[0], (double)w[1], (double)*w0,
               (double)*last);
    } else {
        fprintf(stderr, "%s\n", err.text);
    }
    for (int i = 0; i < 3; i++) hr_tensor_clear(&found[i]);
    hr_session_free(s);
    hr_graph_free(g);
    return st != HR_OK;
}
