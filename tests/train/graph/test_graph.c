/* Building graphs: names, scopes, variables, inference, and errors that stick. */
#include "tests/testing.h"

#include <headrace/graph_op.h>
#include <headrace/ops.h>

#include <stdio.h>
#include <string.h>

static hr_graph *g;

static int make_graph(void **state)
{
    (void)state;
    g = hr_graph_new();
    return g ? 0 : -1;
}

static int free_graph(void **state)
{
    (void)state;
    hr_graph_free(g);
    return 0;
}

static hr_node one(const char *name)
{
    const hr_tensor t = hr_tensor_of(HR_FLOAT, HR_SCALAR, &(float){1});
    return hr_const(g, &t, .name = name);
}

static void has_name(hr_node node, const char *name) { assert_string_equal(hr_node_name(node), name); }

/* ---- names ---- */

static void names_are_made_unique_as_tensorflow_does(void **state)
{
    (void)state;
    has_name(one("a"), "a");
    has_name(one("a"), "a_1");
    has_name(one("A"), "A_2");
    has_name(one("a_1"), "a_1_1");
    has_name(one("a"), "a_3");
    has_name(one(NULL), "Const");
    has_name(one(NULL), "Const_1");
}

static void scopes_nest_end_and_are_unique(void **state)
{
    (void)state;
    hr_name_scope(g, "dnn");
    has_name(one("a"), "dnn/a");
    hr_name_scope(g, "layer");
    has_name(one("a"), "dnn/layer/a");
    hr_scope_end(g);
    has_name(one("b"), "dnn/b");
    hr_scope_end(g);
    hr_name_scope(g, "dnn");
    has_name(one("a"), "dnn_1/a");
    hr_name_scope(g, "dnn/");
    has_name(one("c"), "dnn/c");
    hr_scope_end(g);
    has_name(one("d"), "dnn_1/d");
    hr_scope_end(g);
    has_name(one("e"), "e");
}

static void impossible_names_are_refused(void **state)
{
    (void)state;
    assert_false(hr_node_exists(one("a b")));
    assert_string_equal(hr_graph_error(g)->kind, "graph.name");
}

static void nodes_are_found_by_name_and_output(void **state)
{
    (void)state;
    hr_node a = one("a");
    assert_int_equal(hr_graph_node(g, "a").id, a.id);
    assert_int_equal(hr_graph_node(g, "a:0").id, a.id);
    assert_false(hr_node_exists(hr_graph_node(g, "a:1")));
    assert_false(hr_node_exists(hr_graph_node(g, "b")));
}

/* ---- variables ---- */

static void variables_have_tensorflows_names(void **state)
{
    (void)state;
    hr_variable_scope(g, "dnn");
    hr_node w = hr_get_variable(g, "w", HR_FLOAT, HR_SHAPE(3, 1), .initializer = hr_zeros());
    hr_scope_end(g);
    const hr_variable_info *v = hr_variable_named(g, "dnn/w");
    assert_non_null(v);
    has_name(w, "dnn/w");
    has_name(v->read, "dnn/w/Read/ReadVariableOp");
    has_name(v->initializer, "dnn/w/Assign");
    has_name(v->initial_value, "dnn/w/Initializer/zeros");
    has_name(v->is_initialized, "dnn/w/IsInitialized/VarIsInitializedOp");
    assert_int_equal(v->sets, HR_GLOBAL_VARIABLES | HR_TRAINABLE_VARIABLES);
}

static void a_variable_is_shared_only_where_the_scope_says_so(void **state)
{
    (void)state;
    hr_variable_scope(g, "a");
    hr_node w = hr_get_variable(g, "w", HR_FLOAT, HR_SHAPE(2));
    hr_scope_end(g);
    hr_variable_scope(g, "a", .reuse = HR_AUTO_REUSE);
    assert_int_equal(hr_get_variable(g, "w", HR_FLOAT, HR_SHAPE(2)).id, w.id);
    hr_scope_end(g);
    assert_null(hr_graph_error(g));
    hr_variable_scope(g, "a");
    assert_false(hr_node_exists(hr_get_variable(g, "w", HR_FLOAT, HR_SHAPE(2))));
    hr_scope_end(g);
    assert_string_equal(hr_graph_error(g)->kind, "variable.exists");
}

static void reuse_of_a_variable_of_another_shape_is_refused(void **state)
{
    (void)state;
    hr_get_variable(g, "w", HR_FLOAT, HR_SHAPE(2));
    hr_variable_scope(g, "s", .reuse = HR_REUSE);
    assert_false(hr_node_exists(hr_get_variable(g, "w", HR_FLOAT, HR_SHAPE(2))));
    assert_string_equal(hr_graph_error(g)->kind, "variable.unknown");
}

static void an_op_reads_a_variable_that_is_its_input(void **state)
{
    (void)state;
    hr_node w = hr_get_variable(g, "w", HR_FLOAT, HR_SHAPE(2));
    hr_node y = hr_square(w);
    assert_int_equal(hr_node_input(y, 0).id, hr_variable_named(g, "w")->read.id);
    assert_int_equal(hr_node_dtype(y), HR_FLOAT);
}

static void a_read_under_control_dependencies_is_a_new_one(void **state)
{
    (void)state;
    hr_node w = hr_get_variable(g, "w", HR_FLOAT, HR_SCALAR, .initializer = hr_zeros());
    hr_node add = hr_assign_add(w, one("d"));
    hr_control_dependencies(g, &add, 1);
    hr_node y = hr_square(w);
    hr_control_end(g);
    hr_node read = hr_node_input(y, 0);
    assert_int_not_equal(read.id, hr_variable_named(g, "w")->read.id);
    assert_int_equal(hr_node_controls(read), 1);
    assert_int_equal(hr_node_control(read, 0).id, add.id);
}

/* ---- types and shapes ---- */

static void shapes_are_inferred_as_far_as_they_are_known(void **state)
{
    (void)state;
    hr_node x = hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1, 3), .name = "x");
    hr_node w = hr_get_variable(g, "w", HR_FLOAT, HR_SHAPE(3, 5));
    hr_node y = hr_matmul(x, w);
    assert_shape(hr_node_shape(y), HR_SHAPE(-1, 5));
    assert_shape(hr_node_shape(hr_reduce_mean(y)), HR_SCALAR);
    assert_shape(hr_node_shape(hr_reduce_sum(y, .axes = HR_I64(0), .axis_count = 1)), HR_SHAPE(5));
}

static void shapes_that_are_computed_from_shapes_are_known_as_far_as_these_are(void **state)
{
    (void)state;
    const hr_node x = hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1, 6)), shape = hr_shape_of(x);
    const hr_node columns = hr_slice(shape, hr_ints(g, HR_I64(1), 1), hr_ints(g, HR_I64(1), 1));
    const hr_node five = hr_ints(g, HR_I64(5), 1), two_d[] = {five, columns};
    assert_shape(hr_node_shape(hr_fill(shape, hr_scalar(g, HR_FLOAT, 1))), HR_SHAPE(-1, 6));
    assert_shape(hr_node_shape(hr_fill(hr_concat(two_d, 2, 0), hr_scalar(g, HR_FLOAT, 1))), HR_SHAPE(5, 6));
    const hr_node scalar = hr_reshape(columns, hr_ints(g, NULL, 0));
    const hr_node packed = hr_new_node(g, "Pack", HR_INPUTS(hr_cast_to(scalar, HR_INT64), hr_scalar(g, HR_INT64, -1)));
    assert_shape(hr_node_shape(hr_reshape(hr_placeholder(g, HR_FLOAT, HR_SHAPE(4, 3)), packed)), HR_SHAPE(6, 2));
    assert_shape(hr_node_shape(hr_reshape(x, packed)), HR_SHAPE(6, -1));
    const hr_node rank = hr_rank_of(x);
    assert_shape(hr_node_shape(hr_expand_dims(x, rank)), HR_SHAPE(-1, 6, 1));
    /* A chain that is too long to follow is unknown, not an error. */
    hr_node far = shape;
    for (int i = 0; i < 100; i++) far = hr_cast_to(far, i % 2 ? HR_INT32 : HR_INT64);
    assert_shape(hr_node_shape(hr_fill(far, hr_scalar(g, HR_FLOAT, 1))), HR_SHAPE(-1, -1));
    assert_null(hr_graph_error(g));
}

static hr_status patterns_compute(hr_kernel *k, hr_error *err)
{
    return hr_kernel_pass(k, 0, 0, k->input[0]->shape, err);
}

/* The shape of a node of an op with the pattern, for inputs of these shapes. */
static hr_shape by_pattern(const char *shapes, hr_shape a, hr_shape b, const char **error)
{
    hr_graph *own = hr_graph_new();
    const hr_graph_op op = {.head = HR_GRAPH_OP_HEAD,
                            .name = "Test>Pattern",
                            .inputs = "a:float, b:float",
                            .outputs = "c:float",
                            .compute = patterns_compute,
                            .shapes = shapes};
    hr_graph_use(own, &op);
    const hr_node x = hr_placeholder(own, HR_FLOAT, a), y = hr_placeholder(own, HR_FLOAT, b);
    const hr_shape out = hr_node_shape(hr_new_node(own, "Test>Pattern", HR_INPUTS(x, y)));
    static char text[512];
    snprintf(text, sizeof text, "%s", hr_graph_error(own) ? hr_graph_error(own)->text : "");
    *error = text;
    hr_graph_free(own);
    return out;
}

static void shapes_are_declared_by_patterns(void **state)
{
    (void)state;
    const hr_shape unknown = HR_UNKNOWN_SHAPE;
    const struct {
        const char *shapes;
        hr_shape a, b, out;
        const char *error; /* or a part of it */
    } cases[] = {
        {"=1", HR_SHAPE(2), HR_SHAPE(3, -1), HR_SHAPE(3, -1), NULL},
        {"[]", HR_SHAPE(2), unknown, HR_SCALAR, NULL},
        {"?", HR_SHAPE(2), HR_SHAPE(2), unknown, NULL},
        {"[m,k], [k,n] -> [m,n]", HR_SHAPE(2, 3), HR_SHAPE(3, 4), HR_SHAPE(2, 4), NULL},
        {"[m,k], [k,n] -> [m,n]", unknown, HR_SHAPE(3, 4), HR_SHAPE(-1, 4), NULL},
        {"[m,k], [k,n] -> [m,k]", HR_SHAPE(2, -1), HR_SHAPE(3, 4), HR_SHAPE(2, 3), NULL},
        {"[m,k], [k,n] -> [m,n]", HR_SHAPE(2, 3), HR_SHAPE(4, 5), unknown,
         "Dimensions must be equal, but are 3 and 4, with input shapes: [2,3], [4,5]"},
        {"[m,k], [k,n] -> [m,n]", HR_SHAPE(2), HR_SHAPE(4, 5), unknown, "Shape must be rank 2 but is rank 1"},
        {"[n,...], [n] -> [...]", HR_SHAPE(2, 3, 4), HR_SHAPE(2), HR_SHAPE(3, 4), NULL},
        {"[...,n], [...] -> [n,...]", HR_SHAPE(-1, 3, 4), HR_SHAPE(5, 3), HR_SHAPE(4, 5, 3), NULL},
        {"[...,n], [...] -> [n,...]", HR_SHAPE(6, 3, 4), HR_SHAPE(5, 3), unknown, "same in all inputs"},
        {"[n,...], ? -> [...]", HR_SCALAR, HR_SHAPE(2), unknown, "at least rank 1"},
        {"[?,2], ? -> [7,?]", HR_SHAPE(9, 2), unknown, HR_SHAPE(7, -1), NULL},
        {"[?,2], ? -> [7,?]", HR_SHAPE(9, 3), unknown, unknown, "2 and 3"},
        {"bcast", HR_SHAPE(2, 1), HR_SHAPE(3), HR_SHAPE(2, 3), NULL},
        {"bcast(1,0)", HR_SHAPE(2), HR_SHAPE(3), unknown, "broadcast"},
        {"merge", HR_SHAPE(-1, 1), HR_SHAPE(3, -1), HR_SHAPE(3, 1), NULL},
        {"merge", HR_SHAPE(2, 1), HR_SHAPE(3, 1), unknown, "one shape"},
        {"[a,", HR_SCALAR, HR_SCALAR, unknown, "expected a letter"},
        {"=", HR_SCALAR, HR_SCALAR, unknown, "number of an input"},
        {"=2", HR_SCALAR, HR_SCALAR, unknown, "expected input 2"},
        {"reduce(0)", HR_SCALAR, HR_SCALAR, unknown, "as many inputs"},
        {"[m] [n]", HR_SCALAR, HR_SCALAR, unknown, "',' or '->'"},
        {"[...,...]", HR_SCALAR, HR_SCALAR, unknown, "one '...'"},
        {"[a,b,c,d,e,f,g,h,i]", HR_SCALAR, HR_SCALAR, unknown, "fewer dimensions"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *error;
        const hr_shape out = by_pattern(cases[i].shapes, cases[i].a, cases[i].b, &error);
        if (cases[i].error)
            assert_text_contains(error, cases[i].error);
        else
            assert_string_equal(error, "");
        assert_shape(out, cases[i].out);
    }
}

static void an_error_names_node_and_shapes_and_sticks(void **state)
{
    (void)state;
    hr_node a = hr_placeholder(g, HR_FLOAT, HR_SHAPE(512, 3), .name = "a");
    hr_node b = hr_placeholder(g, HR_FLOAT, HR_SHAPE(4, 1), .name = "b");
    hr_name_scope(g, "dnn");
    hr_node bad = hr_matmul(a, b);
    hr_scope_end(g);
    hr_node after = hr_relu(hr_add(bad, a));
    assert_false(hr_node_exists(bad));
    assert_false(hr_node_exists(after));
    assert_text_begins(hr_graph_error(g)->text, "node 'dnn/MatMul' (MatMul), made at test_graph.c:");
    assert_text_contains(hr_graph_error(g)->text,
                         ": expected matrices whose inner dimensions agree, with input shapes: [512,3], [4,1]");
    hr_session *s = hr_session_new(g, .workers = &(int){0});
    hr_error err;
    assert_status(hr_session_run(s, NULL, 0, &a, 1, NULL, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.text, hr_graph_error(g)->text);
    hr_session_free(s);
}

static void mixed_types_are_refused(void **state)
{
    (void)state;
    hr_node a = hr_placeholder(g, HR_FLOAT, HR_SCALAR), b = hr_placeholder(g, HR_DOUBLE, HR_SCALAR);
    assert_false(hr_node_exists(hr_add(a, b)));
    assert_string_equal(hr_graph_error(g)->kind, "graph.type");
}

static void unknown_ops_and_attributes_are_refused(void **state)
{
    (void)state;
    assert_false(hr_node_exists(hr_new_node(g, "Nonsense")));
    assert_string_equal(hr_graph_error(g)->kind, "graph.op");
}

static void nodes_of_two_graphs_do_not_mix(void **state)
{
    (void)state;
    hr_graph *other = hr_graph_new();
    hr_node here = hr_placeholder(g, HR_FLOAT, HR_SCALAR), there = hr_placeholder(other, HR_FLOAT, HR_SCALAR);
    assert_false(hr_node_exists(hr_add(here, there)));
    assert_string_equal(hr_graph_error(g)->kind, "graph.input");
    hr_graph_free(other);
}

static void nodes_and_their_attributes_are_counted(void **state)
{
    (void)state;
    assert_int_equal(hr_graph_size(g), 0);
    const hr_node a = hr_placeholder(g, HR_FLOAT, HR_SHAPE(2, 3)), b = hr_placeholder(g, HR_FLOAT, HR_SHAPE(2, 4));
    const hr_node product = hr_matmul(a, b, .transpose_a = true);
    assert_int_equal(hr_graph_size(g), 3);
    const int count = hr_node_attrs(product);
    bool found = false;
    for (int i = 0; i < count; i++) {
        const hr_attr *attr = hr_node_attr_at(product, i);
        assert_ptr_equal(attr, hr_node_attr(product, attr->name));
        found |= strcmp(attr->name, "transpose_a") == 0 && attr->kind == HR_ATTR_BOOL && attr->b;
    }
    assert_true(found);
    assert_at_least(count, 3); /* T, transpose_a, transpose_b */
    assert_null(hr_node_attr_at(product, count));
    assert_null(hr_node_attr_at(product, -1));
}

/* ---- an op from outside ---- */

static hr_status twice_compute(hr_kernel *k, hr_error *err)
{
    hr_tensor *out;
    HR_TRY(hr_kernel_output_over(k, 0, 0, k->input[0]->shape, &out, err));
    const float *in = k->input[0]->data;
    for (int64_t i = 0; i < out->count; i++) ((float *)out->data)[i] = 2 * in[i];
    return HR_OK;
}

static const hr_graph_op twice = {
    .head = HR_GRAPH_OP_HEAD,
    .name = "Test>Twice",
    .inputs = "x:float",
    .outputs = "y:float",
    .shape = hr_infer_unchanged,
    .compute = twice_compute,
};

static void an_op_from_outside_works_as_the_built_in_ones(void **state)
{
    (void)state;
    hr_tensor out;
    hr_error err;
    hr_graph_use(g, &twice);
    hr_node y = hr_new_node(g, "Test>Twice", HR_INPUTS(one("x")));
    has_name(y, "Twice");
    hr_session *s = hr_session_new(g, .workers = &(int){0});
    assert_ok(hr_session_run(s, NULL, 0, &y, 1, &out, &err), &err);
    assert_exactly(*(float *)out.data, 2);
    hr_tensor_clear(&out);
    hr_session_free(s);
}

static void every_built_in_op_has_a_sound_signature(void **state)
{
    (void)state;
    for (int i = 0; hr_graph_op_at(i); i++) {
        const hr_graph_op *op = hr_graph_op_at(i);
        assert_ptr_equal(hr_graph_op_named(op->name), op);
        hr_graph *fresh = hr_graph_new();
        hr_node node = hr_new_node(fresh, op->name);
        if (!hr_node_exists(node) && hr_graph_error(fresh) &&
            strcmp(hr_graph_error(fresh)->kind, "graph.signature") == 0)
            fail_msg("%s: %s", op->name, hr_graph_error(fresh)->text);
        hr_graph_free(fresh);
    }
}

/* ---- attributes ---- */

static hr_node convolution(const hr_attr *attrs, int count)
{
    hr_node x = hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1, 28, 28, 1)),
            w = hr_placeholder(g, HR_FLOAT, HR_SHAPE(3, 3, 1, 4));
    return hr_new_node(g, "Conv2D", HR_INPUTS(x, w), .attrs = attrs, .attr_count = count);
}

static void defaults_of_lists_and_words_are_tensorflows(void **state)
{
    int count;
    (void)state;
    const int64_t strides[] = {1, 2, 2, 1};
    hr_node y = convolution((hr_attr[]){HR_STRING_ATTR("padding", "SAME"), HR_INTS_ATTR("strides", strides, 4),
                                        HR_BOOL_ATTR("_mine", true)},
                            3);
    assert_true(hr_node_exists(y));
    const int64_t *dilations = hr_attr_ints(y, "dilations", &count);
    assert_int_equal(count, 4);
    for (int i = 0; i < count; i++) assert_int_equal(dilations[i], 1);
    hr_attr_ints(y, "explicit_paddings", &count);
    assert_int_equal(count, 0);
    assert_memory_equal(hr_attr_string(y, "data_format").data, "NHWC", 5);
    assert_true(hr_attr_bool(y, "use_cudnn_on_gpu"));
    assert_true(hr_attr_bool(y, "_mine"));
    assert_string_equal(hr_node_attr_at(y, hr_node_attrs(y) - 1)->name, "_mine");
}

static void a_word_that_the_op_does_not_know_is_refused(void **state)
{
    (void)state;
    const int64_t strides[] = {1, 1, 1, 1};
    convolution((hr_attr[]){HR_STRING_ATTR("padding", "SANE"), HR_INTS_ATTR("strides", strides, 4)}, 2);
    assert_text_contains(hr_graph_error(g)->text,
                         "expected as padding one of 3 words, the first is 'SAME', got 'SANE'");
}

static void an_attribute_that_the_op_does_not_know_is_refused(void **state)
{
    (void)state;
    hr_new_node(g, "Neg", HR_INPUTS(one("x")), HR_ATTRS(HR_BOOL_ATTR("fast", true)));
    assert_text_contains(hr_graph_error(g)->text, "expected an attribute of the op, got 'fast'");
}

static void a_node_without_a_kernel_is_made_and_does_not_run(void **state)
{
    hr_error err;
    (void)state;
    const hr_func body = {"body", NULL, 0}, condition = {"condition", NULL, 0};
    hr_node fft = hr_new_node(g, "FFT", HR_INPUTS(hr_placeholder(g, HR_COMPLEX64, HR_SHAPE(4))));
    hr_node call = hr_new_node(g, "While", HR_INPUTS(one("x")),
                               HR_ATTRS(HR_FUNC_ATTR("body", &body), HR_FUNC_ATTR("cond", &condition)));
    assert_string_equal(hr_attr_func(call, "body"), "body");
    hr_session *s = hr_session_new(g);
    assert_status(hr_session_run(s, NULL, 0, &fft, 1, &(hr_tensor){0}, &err), HR_UNIMPLEMENTED);
    assert_text_contains(err.text, ": no kernel for this op");
    hr_session_free(s);
}

static void an_op_without_a_kernel_has_its_default_values(void **state)
{
    (void)state;
    const hr_node size = hr_placeholder(g, HR_INT32, HR_SHAPE(3)),
                  boxes = hr_placeholder(g, HR_FLOAT, HR_SHAPE(1, 1, 4));
    const hr_node crop = hr_new_node(g, "SampleDistortedBoundingBox", HR_INPUTS(size, boxes));
    const hr_attr *ratios = hr_node_attr(crop, "aspect_ratio_range");
    assert_int_equal(hr_attr_int(crop, "max_attempts"), 100);
    assert_non_null(ratios);
    assert_int_equal(ratios->count, 2);
    assert_true(ratios->floats[0] == .75F && ratios->floats[1] == 1.33F);
}

static void collections_keep_their_order(void **state)
{
    (void)state;
    int count;
    hr_node a = one("a"), b = one("b");
    hr_add_to_collection(g, "losses", a);
    hr_add_to_collection(g, "losses", b);
    const hr_node *all = hr_get_collection(g, "losses", &count);
    assert_int_equal(count, 2);
    assert_int_equal(all[0].id, a.id);
    assert_int_equal(all[1].id, b.id);
    hr_get_collection(g, "none", &count);
    assert_int_equal(count, 0);
}

static void seeds_follow_tensorflows_rule(void **state)
{
    (void)state;
    int64_t a, b;
    hr_random_seeds(g, 0, &a, &b);
    assert_int_equal(a, 0);
    assert_int_equal(b, 0);
    hr_random_seeds(g, 7, &a, &b);
    assert_int_equal(a, 87654321);
    assert_int_equal(b, 7);
    hr_set_random_seed(g, 5);
    hr_random_seeds(g, 0, &a, &b);
    assert_int_equal(a, 5);
    assert_int_equal(b, 0);
    hr_random_seeds(g, 0, &a, &b);
    assert_int_equal(b, 1);
}

static void sizes_have_an_end(void **state)
{
    (void)state;
    hr_error err = {0};
    int64_t size = 0;
    assert_status(hr_dim_add(HR_MAX_VALUES - 1, 1, &size, &err), HR_OK);
    assert_int_equal(size, HR_MAX_VALUES);
    assert_status(hr_dim_add(HR_MAX_VALUES, 1, &size, &err), HR_INVALID_ARGUMENT);
    assert_status(hr_dim_mul(HR_MAX_VALUES, 1, &size, &err), HR_OK);
    assert_int_equal(size, HR_MAX_VALUES);
    assert_status(hr_dim_mul(HR_MAX_VALUES / 2 + 1, 2, &size, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "graph.shape");
    assert_status(hr_dim_mul(HR_MAX_VALUES, 0, &size, &err), HR_OK);
    assert_int_equal(size, 0);
    assert_status(hr_dim_add(-1, HR_MAX_VALUES, &size, &err), HR_OK);
    assert_int_equal(size, -1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_graph, free_graph)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(sizes_have_an_end),
        TEST(names_are_made_unique_as_tensorflow_does),
        TEST(scopes_nest_end_and_are_unique),
        TEST(impossible_names_are_refused),
        TEST(nodes_are_found_by_name_and_output),
        TEST(variables_have_tensorflows_names),
        TEST(a_variable_is_shared_only_where_the_scope_says_so),
        TEST(reuse_of_a_variable_of_another_shape_is_refused),
        TEST(an_op_reads_a_variable_that_is_its_input),
        TEST(a_read_under_control_dependencies_is_a_new_one),
        TEST(shapes_are_inferred_as_far_as_they_are_known),
        TEST(shapes_that_are_computed_from_shapes_are_known_as_far_as_these_are),
        TEST(shapes_are_declared_by_patterns),
        TEST(an_error_names_node_and_shapes_and_sticks),
        TEST(mixed_types_are_refused),
        TEST(unknown_ops_and_attributes_are_refused),
        TEST(nodes_of_two_graphs_do_not_mix),
        TEST(nodes_and_their_attributes_are_counted),
        TEST(an_op_from_outside_works_as_the_built_in_ones),
        TEST(defaults_of_lists_and_words_are_tensorflows),
        TEST(a_word_that_the_op_does_not_know_is_refused),
        TEST(an_attribute_that_the_op_does_not_know_is_refused),
        TEST(a_node_without_a_kernel_is_made_and_does_not_run),
        TEST(an_op_without_a_kernel_has_its_default_values),
        TEST(every_built_in_op_has_a_sound_signature),
        TEST(collections_keep_their_order),
        TEST(seeds_follow_tensorflows_rule),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
