/* The test of both ops: the conformance suite, which holds the library's own ops, and what ZeroOut gives. It says nothing
 * if all is well.
 *
 *     cc -o test_ops test_ops.c library.c zero_out.c shuffle_rows.c \
 *         $(pkg-config --cflags --libs headrace_train_conformance)
 *     ./test_ops
 */
#include "example_ops.h"

#include <headrace/graph_op_conformance.h>
#include <headrace/ops.h>
#include <stdio.h>

/* What the suite cannot know. */
static hr_status check_zero_out(hr_error *err)
{
    const int32_t values[] = {5, 4, 3};
    const hr_tensor tensor = hr_tensor_of(HR_INT32, HR_SHAPE(3), values);
    hr_tensor out = {0};
    hr_graph *g = hr_graph_new();
    hr_graph_use(g, &zero_out_ops[0]);
    const hr_node zeroed = hr_new_node(g, "ZeroOut", HR_INPUTS(hr_const(g, &tensor)));
    hr_session *s = hr_session_new(g);
    hr_status st = hr_session_run(s, NULL, 0, &zeroed, 1, &out, err);
    const int32_t *found = out.data;
    if (st == HR_OK && (found[0] != 5 || found[1] != 0 || found[2] != 0))
        st = hr_fail(err, HR_INTERNAL, "test.values", "ZeroOut: expected 5 0 0, got %d %d %d", found[0], found[1],
                     found[2]);
    hr_tensor_clear(&out);
    hr_session_free(s);
    hr_graph_free(g);
    return st;
}

int main(void)
{
    hr_error err;
    hr_conformance_count_allocations(NULL); /* before all else */
    hr_status st = check_zero_out(&err);
    if (st == HR_OK) st = hr_conformance_graph_op(&zero_out_ops[0], NULL, &err);
    if (st == HR_OK) st = hr_conformance_graph_op(&shuffle_rows_ops[0], NULL, &err);
    if (st != HR_OK) fprintf(stderr, "%s\n", err.text);
    return st != HR_OK;
}
