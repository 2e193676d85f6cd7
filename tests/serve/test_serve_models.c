/* SavedModels that are served although something is not there: a kernel, OpenBLAS, the folder that they came from. */
#include "tests/serve/client.h"
#include "tests/testing.h"
#include <headrace/control_flow.h>
#include <headrace/graph_op.h>
#include <headrace/ops.h>
#include <headrace/saved_model.h>
#include <headrace/serve.h>

#include <dlfcn.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In the place of the loader's, which says that there is no OpenBLAS. */
HR_API void *dlopen(const char *file, int flags);
void *dlopen(const char *file, int flags)
{
    (void)flags;
    fprintf(stderr, "%s is not loaded\n", file ? file : "nothing");
    return NULL;
}

/* ---- what is logged ---- */

static char logged[4096]; /* warnings */

static void keep_warning(hr_level level, const char *text, void *user)
{
    (void)user;
    const size_t size = strlen(logged);
    if (level == HR_WARNING) (void)snprintf(logged + size, sizeof logged - size, "%s\n", text);
}

/* ---- the model ---- */

/* "serving_default": y = 2 x, of any number of rows of two; "product": x by a matrix of doubles; "script" and "fold": ops
 * that have no kernel, one of them in a function. */
static void write_served(void)
{
    hr_error err;
    hr_saved_model_writer *w;
    hr_graph *g = hr_graph_new();
    const hr_node x = hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1, 2), .name = "x");
    const hr_node y = hr_mul(x, hr_scalar(g, HR_FLOAT, 2), .name = "y");
    const double ones[4] = {1, 1, 1, 1};
    const hr_tensor matrix = hr_tensor_of(HR_DOUBLE, HR_SHAPE(2, 2), ones);
    const hr_node d = hr_placeholder(g, HR_DOUBLE, HR_SHAPE(-1, 2), .name = "d");
    const hr_node product = hr_matmul(d, hr_const(g, &matrix), .name = "product");
    const hr_node c = hr_placeholder(g, HR_INT32, HR_SHAPE(-1), .name = "c");
    const hr_node script = hr_new_node(g, "UnicodeScript", HR_INPUTS(c), .name = "script");
    hr_graph *body = hr_function_begin(g, "scripts");
    const hr_node in = hr_function_input(body, HR_INT32, HR_SHAPE(-1), "in");
    const hr_node within = hr_new_node(body, "UnicodeScript", HR_INPUTS(in));
    const hr_function *f = hr_function_end(body, &within, 1);
    hr_node called;
    hr_call_function(f, &c, 1, &called);
    hr_session *s = hr_session_new(g, .workers = &(int){0});
    assert_ok(hr_saved_model_writer_open("base/1", &w, &err), &err);
    assert_ok(hr_saved_model_writer_add(
                  w, s, &err,
                  HR_SAVED_SIGNATURES(
                      {HR_SAVED_INPUTS(HR_SAVED("x", x)), HR_SAVED_OUTPUTS(HR_SAVED("y", y))},
                      {.key = "product", HR_SAVED_INPUTS(HR_SAVED("d", d)), HR_SAVED_OUTPUTS(HR_SAVED("p", product))},
                      {.key = "script", HR_SAVED_INPUTS(HR_SAVED("c", c)), HR_SAVED_OUTPUTS(HR_SAVED("s", script))},
                      {.key = "called", HR_SAVED_INPUTS(HR_SAVED("c", c)), HR_SAVED_OUTPUTS(HR_SAVED("s", called))})),
              &err);
    assert_ok(hr_saved_model_writer_commit(w, &err), &err);
    hr_session_free(s);
    hr_graph_free(g);
}

static hr_server *serve_model(void)
{
    hr_error err = {0};
    hr_server *server;
    char here[PATH_MAX], base[PATH_MAX + 8];
    assert_non_null(realpath(".", here));
    (void)snprintf(base, sizeof base, "%s/base", here);
    remove_folder("base");
    write_served();
    logged[0] = 0;
    hr_set_log(keep_warning, NULL);
    const hr_server_opts opts = {.struct_size = sizeof opts,
                                 .model_name = "m",
                                 .model_base_path = base,
                                 .rest_api_port = &(int){0},
                                 .port = &(int){-1},
                                 .file_system_poll_wait_seconds = &(double){0}};
    assert_ok(hr_server_start_with(&server, &err, &opts), &err);
    return server;
}

static void expect_answer(hr_server *server, const char *body, int status, const char *part)
{
    client_answer a = client_ask(hr_server_rest_port(server), "POST", "/v1/models/m:predict", NULL, body, strlen(body));
    if (a.status != status || !a.body || !strstr(a.body, part))
        fail_msg("%s: expected %d and \"%s\", got %d: %s", body, status, part, a.status, a.body ? a.body : "");
    client_answer_clear(&a);
}

static void end_serving(hr_server *server)
{
    assert_true(hr_server_stop(server, 5));
    hr_set_log(NULL, NULL);
    remove_folder("base");
}

/* ---- tests ---- */

static void ops_without_a_kernel_are_told_of_when_a_model_is_loaded(void **state)
{
    (void)state;
    hr_server *server = serve_model();
    assert_text_contains(logged, "signature 'script' will fail: it needs ops that have no kernel: UnicodeScript\n");
    assert_text_contains(logged, "signature 'called' will fail: it needs ops that have no kernel: UnicodeScript\n");
    assert_null(strstr(logged, "serving_default"));
    assert_null(strstr(logged, "product"));
    expect_answer(server, "{\"instances\": [[1, 2]]}", 200, "4.0");
    expect_answer(server, "{\"signature_name\": \"script\", \"instances\": [97]}", 501, "no kernel");
    expect_answer(server, "{\"signature_name\": \"called\", \"instances\": [97]}", 501, "no kernel");
    end_serving(server);
}

static void a_missing_library_is_the_servers_fault(void **state)
{
    (void)state;
    hr_server *server = serve_model();
    expect_answer(server, "{\"signature_name\": \"product\", \"instances\": [[1, 2]]}", 503, "OpenBLAS");
    expect_answer(server, "{\"signature_name\": \"nobody\", \"instances\": [[1, 2]]}", 400, "nobody");
    end_serving(server);
}

/* A request of a shape that the placeholder does not have makes the server read the model once more. */
static void a_folder_that_has_gone_is_the_servers_fault(void **state)
{
    (void)state;
    hr_server *server = serve_model();
    assert_int_equal(rename("base/1", "gone"), 0);
    expect_answer(server, "{\"instances\": [[1, 2, 3]]}", 503, "base/1");
    expect_answer(server, "{\"instances\": [[1, 2]]}", 200, "4.0");
    assert_int_equal(rename("gone", "base/1"), 0);
    expect_answer(server, "{\"instances\": [[1, 2, 3]]}", 200, "6.0");
    end_serving(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ops_without_a_kernel_are_told_of_when_a_model_is_loaded),
        cmocka_unit_test(a_missing_library_is_the_servers_fault),
        cmocka_unit_test(a_folder_that_has_gone_is_the_servers_fault),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
