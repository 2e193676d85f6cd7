/* A user's program: a pipeline, and one product of the trainer. */
#include <headrace/headrace.h>
#include <headrace/train.h>

#include <stdio.h>

static int count_range(void)
{
    hr_iterator *it = hr_iterate(hr_batch(hr_range(10), 4));
    const hr_element *e;
    int elements = 0;
    while (hr_next(it, &e) == HR_OK) elements++;
    hr_iterator_free(it);
    return elements;
}

static float square(float value)
{
    hr_graph *g = hr_graph_new();
    hr_session *s = hr_session_new(g);
    const hr_tensor matrix = hr_tensor_of(HR_FLOAT, HR_SHAPE(1, 1), &value);
    const hr_node x = hr_const(g, &matrix), y = hr_matmul(x, x);
    hr_tensor out = {0};
    hr_session_run(s, NULL, 0, &y, 1, &out, NULL);
    const float squared = out.data ? *(const float *)out.data : 0;
    hr_tensor_clear(&out);
    hr_session_free(s);
    hr_graph_free(g);
    return squared;
}

int main(void)
{
    printf("%d %g\n", count_range(), (double)square(3));
    return 0;
}
