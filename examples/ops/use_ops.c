/* A program that trains through ops of its own. With a path it loads them at run time; without one it has them by
 * itself, if it is compiled with -DLINKED and linked with them:
 *
 *     cc -o use_ops use_ops.c $(pkg-config --cflags --libs headrace_train)
 *     ./use_ops ./example_ops.so
 *     cc -DLINKED -o use_linked use_ops.c library.c zero_out.c shuffle_rows.c \
 *         $(pkg-config --cflags --libs headrace_train)
 *     ./use_linked
 *
 * Two variables of four zeros are trained until 1, 2, 3, 4 is what their ops make of them. Of the first ZeroOut leaves
 * one value, so that only one is trained. The rows of the second are shuffled, the wanted ones in the same order, so
 * that each is trained, provided that the gradient finds its way back. */
#include "example_ops.h"

#include <headrace/train.h>
#include <stdio.h>

static hr_status make_ops_known(const char *path, hr_error *err)
{
    if (path) return hr_load_op_library(path, err);
#ifdef LINKED
    return hr_register_op_library(&example_ops, err);
#else
    return hr_fail(err, HR_INVALID_ARGUMENT, "use_ops.argument", "expected the path of a library of ops");
#endif
}

typedef struct model {
    hr_node first, second, train, init;
} model;

static hr_node variable(hr_graph *g, const char *name)
{
    return hr_get_variable(g, name, HR_FLOAT, HR_SHAPE(4), .initializer = hr_zeros());
}

static model build(hr_graph *g)
{
    const float wanted_values[] = {1, 2, 3, 4};
    const hr_tensor wanted_tensor = hr_tensor_of(HR_FLOAT, HR_SHAPE(4), wanted_values);
    const hr_node wanted = hr_const(g, &wanted_tensor);
    model m = {.first = variable(g, "first"), .second = variable(g, "second")};

    const hr_node zeroed = hr_new_node(g, "ZeroOut", HR_INPUTS(m.first));
    const hr_node shuffled =
        hr_new_node(g, "Example>ShuffleRows", HR_INPUTS(m.second), HR_ATTRS(HR_INT_ATTR("seed", 7)));
    const hr_node order = hr_node_output(shuffled, 1);
    const hr_node loss = hr_reduce_sum(
        hr_add(hr_squared_difference(zeroed, wanted), hr_squared_difference(shuffled, hr_gather(wanted, order, 0))));
    m.train = hr_minimize(hr_sgd(0.2f), loss);
    m.init = hr_global_variables_initializer(g);
    return m;
}

static hr_status train(hr_session *s, const model *m, hr_error *err)
{
    HR_TRY(hr_session_run(s, NULL, 0, &m->init, 1, NULL, err));
    for (int step = 0; step < 40; step++) HR_TRY(hr_session_run(s, NULL, 0, &m->train, 1, NULL, err));
    hr_tensor value[2];
    HR_TRY(hr_session_run(s, NULL, 0, (const hr_node[]){m->first, m->second}, 2, value, err));
    for (int v = 0; v < 2; v++) {
        for (int i = 0; i < 4; i++) printf("%.3f%s", (double)((const float *)value[v].data)[i], i < 3 ? " " : "\n");
        hr_tensor_clear(&value[v]);
    }
    return HR_OK;
}

int main(int argc, char **argv)
{
    hr_error err = {0};
    hr_status st = make_ops_known(argc > 1 ? argv[1] : NULL, &err);
    if (st == HR_OK) {
        hr_graph *g = hr_graph_new();
        const model m = build(g);
        hr_session *s = hr_session_new(g);
        st = train(s, &m, &err);
        hr_session_free(s);
        hr_graph_free(g);
    }
    if (st != HR_OK) fprintf(stderr, "%s\n", err.text);
    return st != HR_OK;
}
