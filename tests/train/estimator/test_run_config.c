/* TF_CONFIG: what follows from it, and that what is wrong with it is refused. */
#include "tests/testing.h"
#include <headrace/estimator.h>
#include <stdio.h>
#include <string.h>

static hr_cluster *parsed(const char *text)
{
    hr_cluster *c;
    hr_error err = {0};
    assert_ok(hr_run_config_from_tf_config(text, &c, &err), &err);
    return c;
}

static void nothing_is_one_worker_that_is_the_chief(void **state)
{
    (void)state;
    const char *const texts[] = {NULL, "", "{}", "{\"task\": {\"type\": \"worker\", \"index\": \"0\"}, \"more\": [1]}"};
    for (int i = 0; i < 4; i++) {
        hr_cluster *c = parsed(texts[i]);
        assert_string_equal(c->task_type, "worker");
        assert_int_equal(c->task_id, 0);
        assert_true(c->is_chief);
        assert_int_equal(c->num_ps_replicas, 0);
        assert_int_equal(c->num_worker_replicas, 1);
        assert_int_equal(c->global_id, 0);
        assert_string_equal(c->master, "");
        assert_null(c->model_dir);
        assert_null(c->service);
        assert_int_equal(c->job_count, 0);
        hr_cluster_free(c);
    }
}

#define CLUSTER                                                                                                        \
    "{\"cluster\": {\"worker\": [\"w0:1\", \"w1:1\"], \"ps\": [\"p0:1\", \"p1:1\", \"p2:1\"], \"chief\": [\"c:1\"]}, "

/* As TensorFlow counts them. */
static void tasks_have_their_places_in_the_cluster(void **state)
{
    (void)state;
    static const struct {
        const char *type, *master;
        int index, global_id;
    } tasks[] = {{"chief", "grpc://c:1", 0, 0},
                 {"worker", "grpc://w0:1", 0, 1},
                 {"worker", "grpc://w1:1", 1, 2},
                 {"ps", "grpc://p0:1", 0, 3},
                 {"ps", "grpc://p2:1", 2, 5}};
    char text[512];
    for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++) {
        snprintf(text, sizeof text,
                 CLUSTER
                 "\"task\": {\"type\": \"%s\", \"index\": %d}, \"service\": {\"a\": [1, 2]}, \"model_dir\": \"m\"}",
                 tasks[i].type, tasks[i].index);
        hr_cluster *c = parsed(text);
        assert_string_equal(c->task_type, tasks[i].type);
        assert_int_equal(c->task_id, tasks[i].index);
        assert_int_equal(c->is_chief, i == 0);
        assert_int_equal(c->num_ps_replicas, 3);
        assert_int_equal(c->num_worker_replicas, 3);
        assert_int_equal(c->global_id, tasks[i].global_id);
        assert_string_equal(c->master, tasks[i].master);
        assert_string_equal(c->service, "{\"a\": [1, 2]}");
        assert_string_equal(c->model_dir, "m");
        assert_int_equal(c->job_count, 3);
        assert_string_equal(c->jobs[2].name, "worker");
        assert_string_equal(c->jobs[2].addresses[1], "w1:1");
        hr_cluster_free(c);
    }
}

static void an_evaluator_is_no_part_of_the_cluster(void **state)
{
    (void)state;
    hr_cluster *c =
        parsed(CLUSTER "\"task\": {\"type\": \"evaluator\", \"index\": 7}, \"eval_session_master\": \"e\"}");
    assert_false(c->is_chief);
    assert_int_equal(c->task_id, 7);
    assert_int_equal(c->num_worker_replicas, 0);
    assert_int_equal(c->global_id, -1);
    assert_int_equal(c->job_count, 0);
    assert_string_equal(c->master, "");
    assert_string_equal(c->evaluation_master, "e");
    hr_cluster_free(c);
}

static void what_is_wrong_is_refused_and_said(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {
        {"[1]", "an object"},
        {"{\"cluster\": 5}", "an object"},
        {"{\"cluster\": {\"chief\": \"c:1\"}}", "a list"},
        {"{\"cluster\": {\"chief\": [1]}}", "an address"},
        {"{\"cluster\": {\"worker\": [\"w\"]}, \"task\": {\"type\": \"worker\", \"index\": 0}}", "exactly one chief"},
        {"{\"cluster\": {\"chief\": [\"a\", \"b\"]}, \"task\": {\"type\": \"chief\", \"index\": 0}}",
         "exactly one chief"},
        {"{\"cluster\": {\"chief\": [\"a\"], \"master\": [\"b\"]}, \"task\": {\"type\": \"chief\", \"index\": 0}}",
         "both"},
        {CLUSTER "\"task\": {\"index\": 0}}", "task type"},
        {CLUSTER "\"task\": {\"type\": \"chief\"}}", "task index"},
        {CLUSTER "\"task\": {\"type\": \"chief\", \"index\": -1}}", "0 or more"},
        {CLUSTER "\"task\": {\"type\": \"chief\", \"index\": \"x\"}}", "whole number"},
        {CLUSTER "\"task\": {\"type\": \"worker\", \"index\": 2}}", "below"},
        {CLUSTER "\"task\": {\"type\": \"gardener\", \"index\": 0}}", "gardener"},
        {"{\"cluster\": {\"master\": [\"m\"]}, \"task\": {\"type\": \"evaluator\", \"index\": 0}}", "evaluator"},
        {"{\"task\": {\"type\": \"chief\", \"index\": 0}}", "worker"},
        {"{\"task\": {\"type\": \"worker\", \"index\": 1}}", "index 0"},
        {"{\"model_dir\": \"\"}", "model_dir"},
        {"{\"service\": 3}", "an object"},
        {"{} {}", "one object"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        hr_cluster *c;
        hr_error err = {0};
        assert_status(hr_run_config_from_tf_config(wrong[i][0], &c, &err), HR_INVALID_ARGUMENT);
        assert_null(c);
        assert_string_equal(err.kind, "estimator.tf_config");
        if (!strstr(err.text, wrong[i][1])) fail_msg("%s: %s", wrong[i][0], err.text);
    }
}

static hr_status no_model(const hr_model_call *call, void *user, hr_error *err)
{
    (void)call, (void)user;
    return hr_fail(err, HR_INTERNAL, "test.called", "nobody calls it");
}

static hr_status status_with(const char *model_dir, const char *tf_config, const char *kind)
{
    char *prefix;
    hr_estimator *e = hr_estimator_new(no_model, NULL, .model_dir = model_dir, .config = {.tf_config = tf_config});
    const hr_status st = hr_estimator_latest_checkpoint(e, &prefix);
    if (st != HR_OK) assert_string_equal(hr_estimator_error(e)->kind, kind);
    hr_estimator_free(e);
    return st;
}

static void an_estimator_takes_the_folder_and_refuses_a_cluster(void **state)
{
    (void)state;
    const char *const alone =
        "{\"cluster\": {\"chief\": [\"c:1\"]}, \"task\": {\"type\": \"chief\", \"index\": 0}, \"model_dir\": \"here\"}";
    assert_status(status_with(NULL, alone, ""), HR_OK);
    assert_status(status_with("here", alone, ""), HR_OK);
    assert_status(status_with("there", alone, "estimator.model_dir"), HR_INVALID_ARGUMENT);
    assert_status(status_with("there", "{", "json.syntax"), HR_INVALID_ARGUMENT);
    assert_status(status_with("there", CLUSTER "\"task\": {\"type\": \"chief\", \"index\": 0}}", "estimator.cluster"),
                  HR_UNIMPLEMENTED);
    assert_status(
        status_with("there", CLUSTER "\"task\": {\"type\": \"evaluator\", \"index\": 0}}", "estimator.cluster"),
        HR_UNIMPLEMENTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_one_worker_that_is_the_chief),
        cmocka_unit_test(tasks_have_their_places_in_the_cluster),
        cmocka_unit_test(an_evaluator_is_no_part_of_the_cluster),
        cmocka_unit_test(what_is_wrong_is_refused_and_said),
        cmocka_unit_test(an_estimator_takes_the_folder_and_refuses_a_cluster),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
