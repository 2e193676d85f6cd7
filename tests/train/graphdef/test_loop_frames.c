/* Loops of TensorFlow 1 in unusual forms: what each node of one may wait for, and what is said of a loop that cannot run.
 * Values, and which forms fail, are those of TensorFlow 2.15.1. */
#include "tests/testing.h"
#include <headrace/graph.h>
#include <headrace/graph_op.h>
#include <headrace/graphdef.h>
#include <stdio.h>
#include <string.h>

/* i = start; j = 100; while i < 5: j -= i, i += 1. What is added: inputs of certain nodes, and other inputs of some. */
typedef struct form {
    const char *i_merge, *j_merge, *i_switch, *j_switch, *cond, *i_exit, *i_next;
    const char *next_of_j, *from_j, *frame_of_j, *more;
} form;

static char text[16384];

static const char *text_of(const char *said, const char *otherwise) { return said ? said : otherwise; }

static void add_constant(const char *name, int value, const char *control)
{
    const size_t at = strlen(text);
    snprintf(
        text + at, sizeof text - at,
        "node { name: '%s' op: 'Const' %s attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: 'value' value "
        "{ tensor { dtype: DT_FLOAT tensor_shape { } float_val: %d } } } }\n",
        name, control, value);
}

/* Inputs are separated by blanks. */
static void add_node(const char *name, const char *op, const char *inputs, const char *more, const char *attrs)
{
    char all[256], *rest = all;
    size_t at = strlen(text);
    snprintf(all, sizeof all, "%s %s", inputs, text_of(more, ""));
    at += (size_t)snprintf(text + at, sizeof text - at, "node { name: '%s' op: '%s'", name, op);
    for (char *input; (input = strtok_r(rest, " ", &rest));)
        at += (size_t)snprintf(text + at, sizeof text - at, " input: '%s'", input);
    snprintf(text + at, sizeof text - at, " attr { key: 'T' value { type: DT_FLOAT } } %s }\n", attrs);
}

static void add_variable(const char *name, const char *from, const char *frame, const char *merge, const char *turn,
                         const char *exit)
{
    char enter[64], merged[64], turns[64], id[64], exits[64], inputs[128], attrs[128];
    snprintf(enter, sizeof enter, "%s/Enter", name);
    snprintf(merged, sizeof merged, "%s/Merge", name);
    snprintf(turns, sizeof turns, "%s/Switch", name);
    snprintf(id, sizeof id, "%s/Id", name);
    snprintf(exits, sizeof exits, "%s/Exit", name);
    snprintf(attrs, sizeof attrs, "attr { key: 'frame_name' value { s: '%s' } }", frame);
    add_node(enter, "Enter", from, NULL, attrs);
    snprintf(inputs, sizeof inputs, "%s %s/Next", enter, name);
    add_node(merged, "Merge", inputs, merge, "attr { key: 'N' value { i: 2 } }");
    snprintf(inputs, sizeof inputs, "%s cond", merged);
    add_node(turns, "Switch", inputs, turn, "");
    snprintf(inputs, sizeof inputs, "%s:1", turns);
    add_node(id, "Identity", inputs, NULL, "");
    add_node(exits, "Exit", turns, exit, "");
}

static hr_graph *graph_of(const form *f, int start)
{
    hr_error err;
    hr_graph *g = hr_graph_new();
    text[0] = 0;
    add_constant("start", start, "");
    add_constant("hundred", 100, "");
    add_variable("i", "start", "f", f->i_merge, f->i_switch, f->i_exit);
    add_variable("j", "hundred", text_of(f->frame_of_j, "f"), f->j_merge, f->j_switch, NULL);
    add_constant("limit", 5, "input: '^i/Merge'");
    add_constant("step", 1, "input: '^i/Id'");
    add_node("less", "Less", "i/Merge limit", NULL, "");
    strcat(text, "node { name: 'cond' op: 'LoopCond' input: 'less' ");
    strcat(text, text_of(f->cond, ""));
    strcat(text, " }\n");
    add_node("i/Add", "AddV2", "i/Id step", NULL, "");
    add_node("j/Sub", "Sub", "j/Id", text_of(f->from_j, "i/Id"), "");
    add_node("i/Next", "NextIteration", "i/Add", f->i_next, "");
    add_node("j/Next", "NextIteration", text_of(f->next_of_j, "j/Sub"), NULL, "");
    strcat(text, text_of(f->more, ""));
    assert_ok(hr_graph_import(g, hr_text_view(text), &err, .text = true), &err);
    return g;
}

static hr_status run_loop(hr_graph *g, float *i, float *j, hr_error *err)
{
    hr_tensor out[2] = {{0}};
    hr_session *s = hr_session_new(g, .workers = &(int){0});
    const hr_node fetches[] = {hr_graph_node(g, "i/Exit"), hr_graph_node(g, "j/Exit")};
    const hr_status st = hr_session_run(s, NULL, 0, fetches, 2, out, err);
    if (st == HR_OK) {
        *i = *(const float *)out[0].data;
        *j = *(const float *)out[1].data;
    }
    hr_tensor_clear(&out[0]);
    hr_tensor_clear(&out[1]);
    hr_session_free(s);
    return st;
}

static void nodes_of_a_loop_may_wait_for_those_of_all_turns(void **state)
{
    (void)state;
    const form forms[] = {{0},
                          {.i_merge = "^j/Merge"},
                          {.j_merge = "^limit"},
                          {.j_merge = "^i/Add"},
                          {.j_switch = "^i/Merge"},
                          {.j_switch = "^i/Switch"},
                          {.cond = "input: '^j/Merge'"},
                          {.cond = "input: '^limit'"},
                          {.i_exit = "^j/Merge"},
                          {.i_exit = "^j/Switch"},
                          {.i_exit = "^cond"},
                          {.i_exit = "^j/Next"},
                          {.i_next = "^j/Sub"},
                          {.i_next = "^j/Switch"},
                          {.i_next = "^cond"},
                          {.i_next = "^j/Merge"},
                          /* A LoopCond that nobody takes is none. */
                          {.more = "node { name: 'idle' op: 'LoopCond' input: 'less' }"}};
    for (size_t n = 0; n < sizeof forms / sizeof *forms; n++) {
        hr_error err;
        float i = 0, j = 0;
        hr_graph *g = graph_of(&forms[n], 0);
        assert_ok(run_loop(g, &i, &j, &err), &err);
        assert_exactly(i, 5);
        assert_exactly(j, 90);
        hr_graph_free(g);
    }
}

#define ASSERT_NODE(op_inputs)                                                                                         \
    "node { name: 'low' op: 'Less' input: 'i/Merge' input: 'bound' attr { key: 'T' value { type: DT_FLOAT } } } "      \
    "node { name: 'bound' op: 'Const' input: '^i/Merge' attr { key: 'dtype' value { type: DT_FLOAT } } "               \
    "attr { key: 'value' value { tensor { dtype: DT_FLOAT tensor_shape { } float_val: " op_inputs " } } } } "          \
    "node { name: 'check' op: 'Assert' input: 'low' input: 'bound' "                                                   \
    "attr { key: 'T' value { list { type: DT_FLOAT } } } }"

/* In the last turn, i is 5. */
static void what_turns_wait_for_runs_in_the_last_one_as_well(void **state)
{
    (void)state;
    const form forms[] = {{.j_switch = "^check"},
                          {.i_merge = NULL, .j_merge = "^check"},
                          {.cond = "input: '^check'"},
                          {.i_exit = "^check"}};
    for (size_t n = 0; n < sizeof forms / sizeof *forms; n++)
        for (int fails = 0; fails < 2; fails++) {
            hr_error err;
            float i = 0, j = 0;
            form f = forms[n];
            f.more = fails ? ASSERT_NODE("5") : ASSERT_NODE("6");
            hr_graph *g = graph_of(&f, 0);
            const hr_status st = run_loop(g, &i, &j, &err);
            if (fails)
                assert_status(st, HR_INVALID_ARGUMENT);
            else
                assert_ok(st, &err);
            hr_graph_free(g);
        }
}

static void a_loop_that_cannot_run_says_why(void **state)
{
    (void)state;
    static const struct {
        form form;
        hr_status status;
        const char *says;
    } refused[] = {
        {{.i_merge = "^j/Enter"},
         HR_INVALID_ARGUMENT,
         "loop of frame 'f': at node 'j/Enter': expected a node of all turns"},
        {{.cond = "input: '^j/Enter'"}, HR_INVALID_ARGUMENT, "at node 'j/Enter'"},
        {{.i_next = "^j/Enter"}, HR_INVALID_ARGUMENT, "at node 'j/Enter'"},
        {{.j_switch = "^i/Add"}, HR_INVALID_ARGUMENT, "at node 'i/Id': expected a node of all turns"},
        {{.j_switch = "^i/Id"}, HR_INVALID_ARGUMENT, "at node 'i/Id'"},
        {{.i_exit = "^i/Add"}, HR_INVALID_ARGUMENT, "at node 'i/Id'"},
        {{.i_exit = "^j/Exit"}, HR_INVALID_ARGUMENT, "expected its Exit to wait for nodes of the loop alone"},
        {{.next_of_j = "j/Switch"}, HR_INVALID_ARGUMENT, "at node 'j/Next': expected a NextIteration of a value"},
        {{.frame_of_j = "g"}, HR_INVALID_ARGUMENT, "loop of frame 'g'"},
        {{.from_j = "seen",
          .more = "node { name: 'seen' op: 'Cast' input: 'j/Merge:1' attr { key: 'SrcT' value { type: DT_INT32 } } "
                  "attr { key: 'DstT' value { type: DT_FLOAT } } }"},
         HR_UNIMPLEMENTED,
         "at node 'j/Merge': expected no node of the loop to take more than the value of this Merge"},
    };
    for (size_t n = 0; n < sizeof refused / sizeof *refused; n++) {
        hr_error err;
        float i, j;
        hr_graph *g = graph_of(&refused[n].form, 0);
        assert_status(run_loop(g, &i, &j, &err), refused[n].status);
        assert_string_equal(err.kind, "graph.loop");
        assert_text_contains(err.text, refused[n].says);
        assert_null(hr_graph_error(g));
        hr_graph_free(g);
    }
}

/* As in TensorFlow, two loops cannot share a frame. */
static void a_frame_has_one_loop(void **state)
{
    (void)state;
    hr_error err;
    float i, j;
    const form f = {.more =
                        "node { name: 'k/Enter' op: 'Enter' input: 'start' attr { key: 'T' value { type: DT_FLOAT } } "
                        "attr { key: 'frame_name' value { s: 'f' } } } "
                        "node { name: 'k/Merge' op: 'Merge' input: 'k/Enter' input: 'k/Next' attr { key: 'N' value { "
                        "i: 2 } } attr { key: 'T' value { type: DT_FLOAT } } } "
                        "node { name: 'second' op: 'LoopCond' input: 'k/less' } "
                        "node { name: 'k/less' op: 'Less' input: 'k/Merge' input: 'k/Merge' attr { key: 'T' value { "
                        "type: DT_FLOAT } } } "
                        "node { name: 'k/Switch' op: 'Switch' input: 'k/Merge' input: 'second' attr { key: 'T' value "
                        "{ type: DT_FLOAT } } } "
                        "node { name: 'k/Next' op: 'NextIteration' input: 'k/Switch:1' attr { key: 'T' value { type: "
                        "DT_FLOAT } } }"};
    hr_graph *g = graph_of(&f, 0);
    assert_status(run_loop(g, &i, &j, &err), HR_INVALID_ARGUMENT);
    assert_text_contains(err.text, "expected one LoopCond, and this is another one");
    hr_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_of_a_loop_may_wait_for_those_of_all_turns),
        cmocka_unit_test(what_turns_wait_for_runs_in_the_last_one_as_well),
        cmocka_unit_test(a_loop_that_cannot_run_says_why),
        cmocka_unit_test(a_frame_has_one_loop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
