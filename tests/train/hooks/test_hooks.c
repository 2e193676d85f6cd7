/* The monitored session and its hooks: order of calls, feeds and fetches, failures, saving and restoring. */
#include "tests/testing.h"
#include <dirent.h>
#include <headrace/checkpoint.h>
#include <headrace/hooks.h>
#include <headrace/meta_graph.h>
#include <headrace/ops.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- a graph that counts ---- */

typedef struct counting {
    hr_graph *graph;
    hr_node train, loss, total; /* total: a variable that grows by loss at each run */
} counting;

static counting new_counting(void)
{
    counting c = {.graph = hr_graph_new()};
    hr_graph *g = c.graph;
    if (!g) return c; /* no memory */
    c.loss = hr_scalar(g, HR_FLOAT, 0.5);
    c.total = hr_get_variable(g, "total", HR_FLOAT, HR_SCALAR, .initializer = hr_zeros());
    hr_node both[] = {hr_assign_add(hr_global_step(g), hr_scalar(g, HR_INT64, 1)), hr_assign_add(c.total, c.loss)};
    c.train = hr_group(g, both, 2, "train");
    return c;
}

static hr_status run(hr_monitored_session *m, const counting *c, hr_error *err)
{
    return hr_monitored_run(m, NULL, 0, &c->train, 1, NULL, err);
}

static int64_t step_of(hr_monitored_session *m)
{
    int64_t step = -1;
    hr_error err = {0};
    assert_ok(hr_monitored_step(m, &step, &err), &err);
    return step;
}

static void empty_folder(const char *folder)
{
    char command[512];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    assert_int_equal(system(command), 0);
}

/* ---- a hook that fetches `fetch`, fails where it is told to, and counts its calls ---- */

typedef struct probe {
    hr_node fetch;
    float seen[8];
    int begun, created, before, after, ended, released;
    hr_status fail_before, fail_after;
} probe;

static hr_status probe_begin(void *state, hr_graph *g, hr_error *err)
{
    (void)g, (void)err;
    (*(probe **)state)->begun++;
    return HR_OK;
}

static hr_status probe_created(void *state, hr_monitored_session *m, hr_error *err)
{
    (void)m, (void)err;
    (*(probe **)state)->created++;
    return HR_OK;
}

static hr_status probe_before(void *state, hr_monitored_session *m, hr_run_request *request, hr_error *err)
{
    probe *p = *(probe **)state;
    (void)m;
    p->before++;
    if (p->fail_before) return p->fail_before < 0 ? hr_fail(err, p->fail_before, "test.before", "no") : p->fail_before;
    return hr_node_exists(p->fetch) ? hr_request_fetch(request, p->fetch, err) : HR_OK;
}

static hr_status probe_after(void *state, hr_monitored_session *m, const hr_tensor *results, hr_error *err)
{
    probe *p = *(probe **)state;
    (void)m;
    if (hr_node_exists(p->fetch)) p->seen[p->after % 8] = *(const float *)results[0].data;
    p->after++;
    if (p->fail_after) return p->fail_after < 0 ? hr_fail(err, p->fail_after, "test.after", "no") : p->fail_after;
    return HR_OK;
}

static hr_status probe_end(void *state, hr_monitored_session *m, hr_error *err)
{
    (void)m, (void)err;
    (*(probe **)state)->ended++;
    return HR_OK;
}

static void probe_release(void *state) { (*(probe **)state)->released++; }

static const hr_hook_kind probe_kind = {
    .head = HR_HOOK_HEAD,
    .name = "probe",
    .state_size = sizeof(probe *),
    .begin = probe_begin,
    .after_create_session = probe_created,
    .before_run = probe_before,
    .after_run = probe_after,
    .end = probe_end,
    .release = probe_release,
};

static hr_hook *new_probe(probe *p) { return hr_hook_new(&probe_kind, &p); }

/* ---- sessions ---- */

static void hooks_see_each_run_and_are_released_once(void **state)
{
    (void)state;
    hr_error err = {0};
    counting c = new_counting();
    probe p = {.fetch = c.loss};
    hr_hook *hook = new_probe(&p);
    assert_string_equal(hr_hook_name(hook), "probe");
    hr_monitored_session *m = hr_monitored_session_new(c.graph, &hook, 1);
    for (int i = 0; i < 3; i++) assert_ok(run(m, &c, &err), &err);
    assert_int_equal(step_of(m), 3);
    assert_ok(hr_monitored_session_close(m, false, &err), &err);
    assert_int_equal(p.begun, 1);
    assert_int_equal(p.created, 1);
    assert_int_equal(p.before, 3);
    assert_int_equal(p.after, 3);
    assert_int_equal(p.ended, 1);
    assert_int_equal(p.released, 1);
    assert_exactly(p.seen[2], 0.5f);
    hr_graph_free(c.graph);
}

static void a_hundred_hooks_have_their_own_results(void **state)
{
    (void)state;
    enum { HOOKS = 100 };
    static probe p[HOOKS];
    hr_hook *hook[HOOKS];
    hr_error err = {0};
    counting c = new_counting();
    for (int i = 0; i < HOOKS; i++) {
        p[i] = (probe){.fetch = i % 3 == 0 ? (hr_node){0} : hr_scalar(c.graph, HR_FLOAT, i)};
        hook[i] = new_probe(&p[i]);
    }
    hr_monitored_session *m = hr_monitored_session_new(c.graph, hook, HOOKS);
    hr_tensor out[2] = {{0}};
    const hr_node fetch[] = {c.loss, c.train};
    assert_ok(hr_monitored_run(m, NULL, 0, fetch, 2, out, &err), &err);
    assert_exactly(*(const float *)out[0].data, 0.5f);
    hr_tensor_clear(&out[0]);
    for (int i = 0; i < HOOKS; i++) assert_exactly(p[i].seen[0], (i % 3 == 0 ? 0 : (float)i));
    assert_ok(hr_monitored_session_close(m, false, &err), &err);
    hr_graph_free(c.graph);
}

static void a_node_is_fed_once_in_a_run(void **state)
{
    (void)state;
    hr_graph *g = hr_graph_new();
    hr_node x = hr_placeholder(g, HR_FLOAT, HR_SCALAR), y = hr_placeholder(g, HR_FLOAT, HR_SCALAR);
    hr_node sum = hr_add(x, y);
    const hr_tensor one = hr_tensor_of(HR_FLOAT, HR_SCALAR, HR_F32(1));
    const hr_feed feeds[] = {{x, one}, {y, one}}, swapped[] = {{y, one}, {x, one}},
                  twice[] = {{x, one}, {y, one}, {x, one}};
    hr_tensor out;
    hr_error err = {0};
    hr_monitored_session *m = hr_monitored_session_new(g, NULL, 0);
    for (int i = 0; i < 4; i++) {
        assert_ok(hr_monitored_run(m, i % 2 ? swapped : feeds, 2, &sum, 1, &out, &err), &err);
        hr_tensor_clear(&out);
    }
    assert_status(hr_monitored_run(m, twice, 3, &sum, 1, &out, &err), HR_FAILED_PRECONDITION);
    assert_string_equal(err.kind, "hooks.feed");
    hr_monitored_session_close(m, true, &err);
    hr_graph_free(g);
}

static void a_failure_sticks_and_no_hook_ends(void **state)
{
    (void)state;
    for (int where = 0; where < 2; where++) {
        hr_error err = {0};
        counting c = new_counting();
        probe p = {.fail_before = where ? HR_OK : HR_DATA_LOSS, .fail_after = where ? HR_DATA_LOSS : HR_OK}, q = {0};
        hr_hook *hook[] = {new_probe(&p), new_probe(&q)};
        hr_monitored_session *m = hr_monitored_session_new(c.graph, hook, 2);
        assert_status(run(m, &c, &err), HR_DATA_LOSS);
        assert_string_equal(err.kind, where ? "test.after" : "test.before");
        assert_true(hr_should_stop(m));
        assert_status(run(m, &c, &err), HR_DATA_LOSS);
        assert_int_equal(p.before, 1);
        assert_string_equal(hr_monitored_session_error(m)->kind, err.kind);
        assert_status(hr_monitored_session_close(m, false, &err), HR_DATA_LOSS);
        assert_int_equal(p.ended, 0);
        assert_int_equal(q.ended, 0);
        assert_int_equal(q.released, 1);
        hr_graph_free(c.graph);
    }
}

static void the_end_of_data_ends_hooks_well(void **state)
{
    (void)state;
    hr_error err = {0};
    counting c = new_counting();
    probe p = {.fail_before = HR_END};
    hr_hook *hook = new_probe(&p);
    hr_monitored_session *m = hr_monitored_session_new(c.graph, &hook, 1);
    assert_status(run(m, &c, &err), HR_END);
    assert_null(hr_monitored_session_error(m));
    assert_true(hr_should_stop(m));
    assert_ok(hr_monitored_session_close(m, false, &err), &err);
    assert_int_equal(p.ended, 1);
    hr_graph_free(c.graph);
}

static void a_request_to_stop_counts_when_it_is_asked_for(void **state)
{
    (void)state;
    hr_error err = {0};
    counting c = new_counting();
    hr_monitored_session *m = hr_monitored_session_new(c.graph, NULL, 0);
    assert_false(hr_should_stop(m));
    hr_request_stop(m);
    assert_true(hr_stop_requested(m));
    assert_ok(run(m, &c, &err), &err); /* its input may have been taken already */
    assert_true(hr_should_stop(m));
    assert_status(run(m, &c, &err), HR_END);
    assert_int_equal(step_of(m), 1);
    assert_ok(hr_monitored_session_close(m, false, &err), &err);
    hr_graph_free(c.graph);
}

static void a_broken_graph_is_told_when_the_session_is_made(void **state)
{
    (void)state;
    hr_error err = {0};
    counting c = new_counting();
    hr_add(c.loss, hr_scalar(c.graph, HR_INT32, 1));
    probe p = {0};
    hr_hook *hook = new_probe(&p);
    hr_monitored_session *m = hr_monitored_session_new(c.graph, &hook, 1);
    assert_non_null(hr_monitored_session_error(m));
    assert_not_ok(run(m, &c, &err));
    assert_not_ok(hr_monitored_session_close(m, false, &err));
    assert_int_equal(p.created, 0);
    assert_int_equal(p.ended, 0);
    assert_int_equal(p.released, 1);
    hr_graph_free(c.graph);
}

/* ---- saving ---- */

typedef struct note {
    char text[64];
    int64_t size; /* -2: never restored */
} note;

static hr_status save_note(void *user, void **data, size_t *size, hr_error *err)
{
    const note *n = user;
    *size = strlen(n->text);
    *data = *size ? hr_memdup(n->text, *size) : NULL;
    return *data || !*size ? HR_OK : hr_no_memory(err, "a note");
}

static hr_status restore_note(void *user, hr_view data, hr_error *err)
{
    note *n = user;
    (void)err;
    n->size = data.size;
    if (data.size > 0) memcpy(n->text, data.data, (size_t)data.size);
    return HR_OK;
}

static void variables_and_extras_come_back(void **state)
{
    (void)state;
    hr_error err = {0};
    float total = 0;
    note n = {.text = "where the input stands", .size = -2}, again = {.size = -2};
    empty_folder("saved");
    for (int round = 0; round < 2; round++) {
        counting c = new_counting();
        hr_checkpointed extra = {"test/note", save_note, restore_note, round ? &again : &n};
        hr_hook *hook = hr_checkpoint_saver_hook("saved", .save_steps = 100);
        hr_monitored_session *m =
            hr_monitored_session_new(c.graph, &hook, 1, .checkpoint_dir = "saved", .extra = &extra, .extras = 1);
        if (hr_monitored_session_error(m)) fail_msg("%s", hr_monitored_session_error(m)->text);
        assert_int_equal(hr_monitored_restored(m), round);
        assert_int_equal(step_of(m), round * 5);
        for (int i = 0; i < 5; i++) assert_ok(run(m, &c, &err), &err);
        hr_tensor value;
        assert_ok(hr_session_get(hr_monitored_raw(m), c.total, &value, &err), &err);
        total = *(const float *)value.data;
        hr_tensor_clear(&value);
        assert_ok(hr_monitored_session_close(m, false, &err), &err);
        hr_graph_free(c.graph);
    }
    assert_exactly(total, 5);
    assert_int_equal(n.size, -1);
    assert_string_equal(again.text, n.text);
}

/* The step and the total go on under names of the session's list; what the list leaves out begins again. */
static void a_session_saves_and_restores_the_variables_of_its_list(void **state)
{
    (void)state;
    hr_error err = {0};
    for (int async = 0; async < 2; async++) {
        empty_folder("listed");
        for (int round = 0; round < 2; round++) {
            counting c = new_counting();
            hr_hook *hook = hr_checkpoint_saver_hook("listed", .save_steps = 100, .async = async);
            const hr_node left_out =
                hr_get_variable(c.graph, "left_out", HR_FLOAT, HR_SCALAR, .initializer = hr_zeros());
            const hr_variable_info *step = hr_variable_named(c.graph, "global_step");
            hr_monitored_session *m =
                hr_monitored_session_new(c.graph, &hook, 1, .checkpoint_dir = "listed",
                                         .var_list = HR_VAR_LIST({"sum/of/all", c.total}, {"at", step->handle}));
            if (hr_monitored_session_error(m)) fail_msg("%s", hr_monitored_session_error(m)->text);
            assert_int_equal(step_of(m), round * 3);
            hr_tensor value;
            assert_ok(hr_session_get(hr_monitored_raw(m), left_out, &value, &err), &err);
            assert_exactly(*(const float *)value.data, 0);
            hr_tensor_clear(&value);
            const hr_tensor seven = hr_tensor_of(HR_FLOAT, HR_SCALAR, &(float){7});
            assert_ok(hr_session_set(hr_monitored_raw(m), left_out, &seven, &err), &err);
            for (int i = 0; i < 3; i++) assert_ok(run(m, &c, &err), &err);
            assert_ok(hr_monitored_session_close(m, false, &err), &err);
            hr_graph_free(c.graph);
        }
        hr_bundle *b;
        const hr_bundle_entry *entry;
        int count;
        assert_ok(hr_bundle_open("listed/model.ckpt-6", &b, &err), &err);
        assert_ok(hr_bundle_list(b, &entry, &count, &err), &err);
        assert_int_equal(count, 2);
        assert_string_equal(entry[0].name, "at");
        assert_string_equal(entry[1].name, "sum/of/all");
        hr_bundle_free(b);
    }
}

static void a_list_of_a_session_that_is_none_is_an_error(void **state)
{
    (void)state;
    counting c = new_counting();
    hr_monitored_session *m = hr_monitored_session_new(c.graph, NULL, 0, .var_list = {NULL, 2});
    assert_string_equal(hr_monitored_session_error(m)->kind, "graphdef.var_list");
    hr_monitored_session_close(m, true, NULL);
    hr_graph_free(c.graph);
}

/* Saved in two pieces along one axis, restored in three along another, and whole. */
static void pieces_of_a_variable_are_saved_as_parts_of_it(void **state)
{
    (void)state;
    hr_error err = {0};
    static const float numbers[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    const hr_tensor value = hr_tensor_of(HR_FLOAT, HR_SHAPE(4, 3), numbers);
    const hr_partitioner cuts[] = {hr_fixed_size_partitioner(2, 0), hr_fixed_size_partitioner(3, 1), {0}};
    hr_bundle *b;
    const hr_bundle_entry *entry;
    int count;
    empty_folder("pieces");
    for (int round = 0; round < 3; round++) {
        counting c = new_counting();
        hr_hook *hook = hr_checkpoint_saver_hook("pieces", .save_steps = 100);
        const hr_node w = hr_get_variable(c.graph, "w", HR_FLOAT, HR_SHAPE(4, 3), .initializer = hr_zeros(),
                                          .partitioner = cuts[round]);
        hr_node piece[3] = {w};
        hr_variable_pieces(c.graph, "w", piece, 3);
        hr_monitored_session *m = hr_monitored_session_new(c.graph, &hook, 1, .checkpoint_dir = "pieces");
        if (hr_monitored_session_error(m)) fail_msg("%s", hr_monitored_session_error(m)->text);
        for (int i = 0; round == 0 && i < 2; i++) {
            const hr_tensor half = hr_tensor_of(HR_FLOAT, HR_SHAPE(2, 3), numbers + 6 * i);
            assert_ok(hr_session_set(hr_monitored_raw(m), piece[i], &half, &err), &err);
        }
        const hr_node fetch = hr_identity(w);
        hr_tensor got;
        assert_ok(hr_session_run(hr_monitored_raw(m), NULL, 0, &fetch, 1, &got, &err), &err);
        assert_memory_equal(got.data, value.data, sizeof numbers);
        hr_tensor_clear(&got);
        assert_ok(run(m, &c, &err), &err);
        assert_ok(hr_monitored_session_close(m, false, &err), &err);
        hr_graph_free(c.graph);
        if (round > 0) continue;
        char *prefix;
        assert_ok(hr_latest_checkpoint("pieces", &prefix, &err), &err);
        assert_non_null(prefix);
        assert_ok(hr_bundle_open(prefix, &b, &err), &err);
        assert_ok(hr_bundle_list(b, &entry, &count, &err), &err);
        int found = 0;
        for (int i = 0; i < count; i++) found += strcmp(entry[i].name, "w") == 0 ? entry[i].slices : 0;
        assert_int_equal(found, 2);
        hr_bundle_free(b);
        hr_free(prefix);
    }
}

/* The same folder may be given with slashes at its end, and without: its checkpoints have one name each. */
static void slashes_after_a_folder_change_no_name(void **state)
{
    (void)state;
    static const char *const given[] = {"slash", "slash//", "slash/", "./slash"};
    hr_error err = {0};
    empty_folder("slash");
    for (int round = 0; round < 4; round++) {
        counting c = new_counting();
        hr_summary_writer *w = hr_summary_writer_new(given[round]);
        hr_hook *hook = hr_checkpoint_saver_hook(given[round], .save_steps = 1, .max_to_keep = HR_I64(2), .writer = w);
        hr_summary_writer_unref(w);
        hr_monitored_session *m = hr_monitored_session_new(c.graph, &hook, 1, .checkpoint_dir = given[round]);
        for (int i = 0; i < 3; i++) assert_ok(run(m, &c, &err), &err);
        assert_int_equal(step_of(m), 3 * round + 3);
        assert_ok(hr_monitored_session_close(m, false, &err), &err);
        hr_graph_free(c.graph);
        size_t size;
        char *text = read_whole_file("slash/checkpoint", &size);
        text[size] = '\0';
        assert_null(strchr(text, '/'));
        free(text);
        /* two checkpoints of three files, the state file, the graph, an event file of each round */
        assert_int_equal(files_in("slash", true), 2 * 3 + 2 + round + 1);
    }
}

static void a_checkpoint_of_another_model_is_refused_by_name(void **state)
{
    (void)state;
    hr_error err = {0};
    counting c = new_counting();
    empty_folder("other");
    hr_hook *hook = hr_checkpoint_saver_hook("other", .save_steps = 100);
    hr_monitored_session *m = hr_monitored_session_new(c.graph, &hook, 1);
    assert_ok(hr_monitored_session_close(m, false, &err), &err);
    hr_graph_free(c.graph);
    for (int which = 0; which < 2; which++) {
        c = new_counting();
        if (which == 0) hr_get_variable(c.graph, "more", HR_FLOAT, HR_SHAPE(2));
        m = hr_monitored_session_new(c.graph, NULL, 0,
                                     .checkpoint_path = which ? "other/none-1" : "other/model.ckpt-0");
        assert_status(hr_monitored_session_error(m)->code, HR_NOT_FOUND);
        assert_text_contains(hr_monitored_session_error(m)->text, which ? "other/none-1" : "more");
        hr_monitored_session_close(m, true, NULL);
        hr_graph_free(c.graph);
    }
}

static hr_status count_saves(void *user, hr_monitored_session *m, int64_t step, hr_error *err)
{
    (void)m, (void)err;
    *(int64_t *)user = *(int64_t *)user * 100 + step;
    return HR_OK;
}

static hr_status stop_at_second(void *user, hr_monitored_session *m, int64_t step, hr_error *err)
{
    (void)user, (void)err;
    if (step == 2) hr_request_stop(m);
    return HR_OK;
}

static void listeners_hear_of_saves_and_may_stop(void **state)
{
    (void)state;
    hr_error err = {0};
    int64_t heard = 0;
    int runs = 0;
    counting c = new_counting();
    hr_hook *hook = hr_checkpoint_saver_hook(
        "heard", .save_steps = 2,
        .listener = {.before_save = count_saves, .after_save = stop_at_second, .user = &heard});
    hr_monitored_session *m = hr_monitored_session_new(c.graph, &hook, 1);
    while (!hr_should_stop(m) && runs++ < 10) assert_ok(run(m, &c, &err), &err);
    assert_int_equal(runs, 2);
    assert_int_equal(heard, 2); /* steps 0 and 2 */
    assert_ok(hr_monitored_session_close(m, false, &err), &err);
    hr_graph_free(c.graph);
}

static void a_folder_that_cannot_be_written_ends_the_session(void **state)
{
    (void)state;
    hr_error err = {0};
    counting c = new_counting();
    write_file("a_file", "x", 1);
    hr_hook *hook = hr_checkpoint_saver_hook("a_file/model", .save_steps = 2);
    hr_monitored_session *m = hr_monitored_session_new(c.graph, &hook, 1);
    assert_non_null(hr_monitored_session_error(m));
    assert_text_contains(hr_monitored_session_error(m)->text, "a_file");
    assert_not_ok(hr_monitored_session_close(m, false, &err));
    hr_graph_free(c.graph);
}

/* ---- hooks ---- */

static char logged[4096];
static void keep(hr_level level, const char *text, void *user)
{
    (void)user;
    if (level != HR_DEBUG) snprintf(logged + strlen(logged), sizeof logged - strlen(logged), "%s\n", text);
}

static double clock_of_tests(void *user) { return *(double *)user; }

static void run_hook(hr_hook *hook, const counting *c, int runs)
{
    hr_error err = {0};
    double now = 100;
    logged[0] = '\0';
    hr_set_log(keep, NULL);
    hr_monitored_session *m = hr_monitored_session_new(c->graph, &hook, 1, .now = clock_of_tests, .user = &now);
    for (int i = 0; i < runs && !hr_should_stop(m); i++, now += 0.5) assert_ok(run(m, c, &err), &err);
    assert_ok(hr_monitored_session_close(m, false, &err), &err);
    hr_set_log(NULL, NULL);
}

static void logging_prints_numbers_as_numpy_does(void **state)
{
    (void)state;
    const double doubles[] = {0.1, 1e16, 123456789.125, -0.0001, 0.00001};
    const bool flag = true;
    counting c = new_counting();
    hr_tensor d = hr_tensor_of(HR_DOUBLE, HR_SHAPE(5), doubles), b = hr_tensor_of(HR_BOOL, HR_SCALAR, &flag);
    hr_logged what[] = {{"d", hr_const(c.graph, &d)},
                        {"b", hr_const(c.graph, &b)},
                        {"i", hr_scalar(c.graph, HR_INT32, -3)},
                        {"f", hr_scalar(c.graph, HR_FLOAT, 16777216)}};
    run_hook(hr_logging_tensor_hook(what, 4, .every_n_iter = 2), &c, 3);
    assert_string_equal(logged, "d = [0.1 1e+16 123456789.125 -0.0001 1e-05], b = True, i = -3, f = 16777216.0\n"
                                "d = [0.1 1e+16 123456789.125 -0.0001 1e-05], b = True, i = -3, f = 16777216.0 "
                                "(1.000 sec)\n");
    hr_graph_free(c.graph);
}

static void the_counter_logs_steps_a_second(void **state)
{
    (void)state;
    counting c = new_counting();
    run_hook(hr_step_counter_hook(.every_n_steps = 2), &c, 5);
    assert_string_equal(logged, "global_step/sec: 2\nglobal_step/sec: 2\n");
    hr_graph_free(c.graph);
}

static void intervals_are_checked(void **state)
{
    (void)state;
    counting c = new_counting();
    hr_summary_writer *w = hr_summary_writer_new("unused");
    hr_logged what = {"loss", c.loss};
    hr_summarised summary = {.tag = "loss", .node = c.loss};
    hr_hook *hooks[] = {
        hr_checkpoint_saver_hook("unused", .save_secs = 0),
        hr_checkpoint_saver_hook("unused", .save_secs = 1, .save_steps = 1),
        hr_checkpoint_saver_hook("unused", .save_steps = -1),
        hr_logging_tensor_hook(&what, 1, .at_end = false),
        hr_logging_tensor_hook(&what, 1, .every_n_iter = -2, .at_end = true),
        hr_summary_saver_hook(w, &summary, 1, .save_steps = 0),
        hr_step_counter_hook(.every_n_steps = 1, .every_n_secs = 1),
        hr_profiler_hook("unused", .save_steps = 1, .save_secs = 1),
        hr_profiler_hook(NULL, .save_steps = 1),
        hr_feed_fn_hook(NULL, NULL),
        hr_final_ops_hook(NULL, 1, NULL),
        hr_final_ops_hook(&c.loss, 1, NULL, .feed_count = 1),
        hr_stop_at_step_hook(.num_steps = 1, .last_step = 1),
    };
    hr_summary_writer_unref(w);
    for (size_t i = 0; i < sizeof hooks / sizeof *hooks; i++) {
        hr_monitored_session *m = hr_monitored_session_new(c.graph, &hooks[i], 1);
        assert_non_null(hr_monitored_session_error(m));
        assert_status(hr_monitored_session_error(m)->code, HR_INVALID_ARGUMENT);
        hr_monitored_session_close(m, true, NULL);
    }
    struct stat about;
    assert_int_not_equal(stat("unused", &about), 0);
    hr_graph_free(c.graph);
}

static void expect_text_of(hr_summary_writer *w, hr_graph *g)
{
    hr_error err = {0};
    char *text, *expected;
    size_t size, expected_size;
    assert_ok(hr_summary_writer_graph_text(w, g, &text, &size, &err), &err);
    assert_ok(hr_graph_export(g, &expected, &expected_size, &err, .text = true), &err);
    assert_int_equal(size, expected_size);
    assert_memory_equal(text, expected, size);
    hr_free(text);
    hr_free(expected);
}

/* The bytes are kept, until the graph has other nodes or is another one. They are those of an export without them. */
static void the_meta_graph_of_events_is_made_once(void **state)
{
    (void)state;
    hr_error err = {0};
    char *bytes;
    size_t size;
    hr_view first, again;
    hr_summary_writer *w = hr_summary_writer_new("unused");
    for (int round = 0; round < 2; round++) { /* the second graph may lie where the first one lay */
        counting c = new_counting();
        assert_ok(hr_summary_writer_meta_graph(w, c.graph, &first, &err), &err);
        assert_ok(hr_summary_writer_meta_graph(w, c.graph, &again, &err), &err);
        assert_ptr_equal(first.data, again.data);
        if (round) hr_identity(hr_scalar(c.graph, HR_INT64, 7), .name = "added");
        assert_ok(hr_summary_writer_meta_graph(w, c.graph, &again, &err), &err);
        assert_ok(hr_meta_graph_export(c.graph, NULL, &bytes, &size, &err), &err);
        assert_int_equal(again.size, size);
        assert_memory_equal(again.data, bytes, size);
        assert_true((memmem(bytes, size, "added", 5) != NULL) == (round == 1));
        hr_free(bytes);
        expect_text_of(w, c.graph);
        hr_graph_free(c.graph);
    }
    assert_status(hr_summary_writer_meta_graph(NULL, NULL, &again, &err), HR_INVALID_ARGUMENT);
    assert_status(hr_summary_writer_meta_graph(w, NULL, &again, &err), HR_INVALID_ARGUMENT);
    assert_status(hr_summary_writer_graph_text(NULL, NULL, &bytes, &size, &err), HR_INVALID_ARGUMENT);
    assert_status(hr_summary_writer_graph_text(w, NULL, &bytes, &size, &err), HR_INVALID_ARGUMENT);
    hr_summary_writer_unref(w);
}

static void summaries_must_be_floats(void **state)
{
    (void)state;
    hr_error err = {0};
    counting c = new_counting();
    hr_summary_writer *w = hr_summary_writer_new("summaries");
    hr_hook *hook = hr_summary_saver_hook(w, (&(hr_summarised){.tag = "step", .node = hr_scalar(c.graph, HR_INT64, 1)}),
                                          1, .save_steps = 1);
    hr_summary_writer_unref(w);
    hr_monitored_session *m = hr_monitored_session_new(c.graph, &hook, 1);
    assert_status(run(m, &c, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "hooks.summary");
    hr_monitored_session_close(m, true, NULL);
    hr_graph_free(c.graph);
}

/* ---- graphs, feeds, final values, profiles ---- */

static void a_graph_beside_checkpoints_runs_with_their_values(void **state)
{
    (void)state;
    hr_error err = {0};
    counting c = new_counting();
    hr_hook *hook = hr_checkpoint_saver_hook("graphs", .save_steps = 2);
    hr_monitored_session *m = hr_monitored_session_new(c.graph, &hook, 1);
    for (int i = 0; i < 4; i++) assert_ok(run(m, &c, &err), &err);
    assert_ok(hr_monitored_session_close(m, false, &err), &err);
    hr_graph_free(c.graph);
    hr_graph *g = hr_graph_new();
    assert_ok(hr_meta_graph_read(g, "graphs/model.ckpt-4.meta", NULL, &err), &err);
    hr_session *s = hr_session_new(g);
    assert_ok(hr_session_restore(s, "graphs/model.ckpt-4", NULL, &err), &err);
    hr_tensor total;
    assert_ok(hr_session_get(s, hr_variable_named(g, "total")->handle, &total, &err), &err);
    assert_exactly(*(const float *)total.data, 2);
    hr_tensor_clear(&total);
    hr_session_free(s);
    hr_graph_free(g);
    g = hr_graph_new();
    assert_ok(hr_graph_read(g, "graphs/graph.pbtxt", &err), &err);
    assert_true(hr_node_exists(hr_graph_node(g, "total")));
    hr_graph_free(g);
}

static hr_status feed_two(hr_run_request *request, void *user, hr_error *err)
{
    static const float two = 2;
    const counting *c = user;
    return hr_request_feed(request, c->loss, hr_tensor_of(HR_FLOAT, HR_SCALAR, &two), err);
}

static hr_status feed_nothing_more(hr_run_request *request, void *user, hr_error *err)
{
    (void)request, (void)user, (void)err;
    return HR_END;
}

static void final_values_are_those_of_fed_runs(void **state)
{
    (void)state;
    hr_error err = {0};
    const float ten = 10;
    hr_tensor out[2];
    counting c = new_counting();
    const hr_node ops[] = {hr_add(c.total, c.loss), hr_target(c.train)};
    const hr_feed feed = {c.loss, hr_tensor_of(HR_FLOAT, HR_SCALAR, &ten)};
    hr_hook *hooks[] = {hr_feed_fn_hook(feed_two, &c), hr_final_ops_hook(ops, 1, out, .feeds = &feed, .feed_count = 1)};
    assert_null(out[0].data);
    hr_monitored_session *m = hr_monitored_session_new(c.graph, hooks, 2);
    for (int i = 0; i < 3; i++) assert_ok(run(m, &c, &err), &err);
    assert_ok(hr_monitored_session_close(m, false, &err), &err);
    assert_exactly(*(const float *)out[0].data, 3 * 2 + 10);
    hr_tensor_clear(&out[0]);
    hr_graph_free(c.graph);
}

static void a_feed_function_may_end_the_training(void **state)
{
    (void)state;
    hr_error err = {0};
    counting c = new_counting();
    hr_hook *hook = hr_feed_fn_hook(feed_nothing_more, NULL);
    hr_monitored_session *m = hr_monitored_session_new(c.graph, &hook, 1);
    assert_status(run(m, &c, &err), HR_END);
    assert_true(hr_should_stop(m));
    assert_ok(hr_monitored_session_close(m, false, &err), &err);
    hr_graph_free(c.graph);
}

static void a_profile_names_the_nodes_of_its_step(void **state)
{
    (void)state;
    hr_error err = {0};
    counting c = new_counting();
    empty_folder("profiles");
    run_hook(hr_profiler_hook("profiles", .save_secs = 1), &c, 5); /* half a second a run */
    assert_int_equal(files_in("profiles", true), 2);
    size_t size;
    char *text = read_whole_file("profiles/timeline-3.json", &size);
    text[size] = '\0';
    assert_text_contains(text, "AssignAddVariableOp");
    free(text);
    text = read_whole_file("profiles/timeline-5.json", &size);
    free(text);
    hr_graph_free(c.graph);
    assert_null(hr_monitored_stats(NULL));
    assert_status(hr_request_stats(NULL, &err), HR_INVALID_ARGUMENT);
}

/* TensorFlow asks about the step after the one before the run, and about the true one only if that is due. */
static void runs_of_three_steps_are_seen_as_tensorflow_sees_them(void **state)
{
    (void)state;
    hr_error err = {0};
    struct stat about;
    counting c = new_counting();
    c.train = hr_target(hr_assign_add(hr_global_step(c.graph), hr_scalar(c.graph, HR_INT64, 3)));
    empty_folder("threes");
    hr_hook *hooks[] = {hr_checkpoint_saver_hook("threes", .save_steps = 2), hr_stop_at_step_hook(.last_step = 9)};
    hr_monitored_session *m = hr_monitored_session_new(c.graph, hooks, 2);
    int runs = 0;
    for (; !hr_should_stop(m); runs++) assert_ok(run(m, &c, &err), &err);
    assert_int_equal(runs, 4); /* 9 is seen before the fourth run */
    assert_ok(hr_monitored_session_close(m, false, &err), &err);
    assert_int_not_equal(stat("threes/model.ckpt-3.index", &about), 0);
    assert_int_equal(stat("threes/model.ckpt-6.index", &about), 0);
    hr_graph_free(c.graph);
}

/* ---- sessions that recover ---- */

/* Fails at chosen runs, before or after them. */
typedef struct preemption {
    int created, runs, fail_at, fail_again_at;
    hr_status with;
} preemption;

static hr_status preempt_created(void *state, hr_monitored_session *m, hr_error *err)
{
    (void)m, (void)err;
    (*(preemption **)state)->created++;
    return HR_OK;
}

static hr_status preempt_after(void *state, hr_monitored_session *m, const hr_tensor *results, hr_error *err)
{
    preemption *p = *(preemption **)state;
    (void)m, (void)results;
    p->runs++;
    if (p->runs != p->fail_at && p->runs != p->fail_again_at) return HR_OK;
    return hr_fail(err, p->with, "test.preempted", "preempted");
}

static const hr_hook_kind preemption_kind = {
    .head = HR_HOOK_HEAD,
    .name = "preemption",
    .state_size = sizeof(preemption *),
    .after_create_session = preempt_created,
    .after_run = preempt_after,
};

static void a_session_goes_on_from_its_checkpoint(void **state)
{
    (void)state;
    hr_error err = {0};
    counting c = new_counting();
    preemption p = {.fail_at = 4, .fail_again_at = 5, .with = HR_UNAVAILABLE}, *pointer = &p;
    empty_folder("recovers");
    hr_hook *hooks[] = {hr_checkpoint_saver_hook("recovers", .save_steps = 2), hr_hook_new(&preemption_kind, &pointer)};
    hr_monitored_session *m =
        hr_monitored_session_new(c.graph, hooks, 2, .checkpoint_dir = "recovers", .recovers = true);
    for (int i = 0; i < 3; i++) assert_ok(run(m, &c, &err), &err);
    assert_ok(run(m, &c, &err), &err); /* at step 4, saved, then at 5, lost; 4 and 5 again */
    assert_int_equal(step_of(m), 5);
    assert_int_equal(p.created, 3);
    assert_int_equal(p.runs, 6);
    assert_string_equal(hr_monitored_checkpoint(m), "recovers/model.ckpt-4");
    assert_ok(hr_monitored_session_close(m, false, &err), &err);
    hr_graph_free(c.graph);
}

/* A stop that was asked for outlives the recovery, and ends a session that fails again and again. */
static void a_session_that_never_recovers_can_be_stopped(void **state)
{
    (void)state;
    hr_error err = {0};
    counting c = new_counting();
    preemption p = {.fail_at = 1, .fail_again_at = 2, .with = HR_ABORTED}, *pointer = &p;
    hr_hook *hook = hr_hook_new(&preemption_kind, &pointer);
    hr_monitored_session *m = hr_monitored_session_new(c.graph, &hook, 1, .recovers = true);
    hr_request_stop(m);
    assert_status(run(m, &c, &err), HR_ABORTED);
    assert_int_equal(p.runs, 2);
    assert_status(hr_monitored_session_close(m, false, &err), HR_ABORTED);
    hr_graph_free(c.graph);
}

/* ---- saved by a thread ---- */

typedef struct heard {
    int64_t before, after; /* two digits a step */
} heard;

static hr_status hear_before(void *user, hr_monitored_session *m, int64_t step, hr_error *err)
{
    (void)m, (void)err;
    ((heard *)user)->before = ((heard *)user)->before * 100 + step;
    return HR_OK;
}

/* The files are there when a listener hears of them. */
static hr_status hear_after(void *user, hr_monitored_session *m, int64_t step, hr_error *err)
{
    (void)m;
    hr_bundle *b;
    char prefix[64];
    ((heard *)user)->after = ((heard *)user)->after * 100 + step;
    snprintf(prefix, sizeof prefix, "threads/model.ckpt-%d", (int)step);
    HR_TRY(hr_bundle_open(prefix, &b, err));
    const hr_status st = hr_bundle_check(b, err);
    hr_bundle_free(b);
    return st;
}

static hr_hook *async_saver(heard *h)
{
    return hr_checkpoint_saver_hook("threads", .save_steps = 2, .async = true,
                                    .listener = {.before_save = hear_before, .after_save = hear_after, .user = h});
}

static void assert_same_file(const char *a, const char *b)
{
    size_t size, other;
    char *one = read_whole_file(a, &size), *two = read_whole_file(b, &other);
    assert_int_equal(size, other);
    assert_memory_equal(one, two, size);
    free(one);
    free(two);
}

static void a_thread_writes_what_the_session_would_have_written(void **state)
{
    (void)state;
    hr_error err = {0};
    heard h = {0};
    empty_folder("threads");
    empty_folder("threadless");
    for (int async = 0; async < 2; async++) {
        counting c = new_counting();
        hr_get_variable(c.graph, "words", HR_STRING, HR_SHAPE(3));
        hr_hook *hook = async ? async_saver(&h) : hr_checkpoint_saver_hook("threadless", .save_steps = 2);
        hr_monitored_session *m = hr_monitored_session_new(c.graph, &hook, 1);
        for (int i = 0; i < 5; i++) assert_ok(run(m, &c, &err), &err);
        assert_ok(hr_monitored_session_close(m, false, &err), &err);
        hr_graph_free(c.graph);
    }
    assert_int_equal(h.before, 20405); /* steps 0, 2, 4, 5 */
    assert_int_equal(h.after, 20405);
    assert_int_equal(files_in("threads", true), files_in("threadless", true));
    assert_same_file("threads/model.ckpt-5.data-00000-of-00001", "threadless/model.ckpt-5.data-00000-of-00001");
    assert_same_file("threads/model.ckpt-5.index", "threadless/model.ckpt-5.index");
    assert_same_file("threads/model.ckpt-2.meta", "threadless/model.ckpt-2.meta");
    assert_same_file("threads/checkpoint", "threadless/checkpoint");
}

static void what_a_thread_cannot_write_comes_out_at_the_next_save_or_the_end(void **state)
{
    (void)state;
    for (int runs = 1; runs < 6; runs += 3) {
        hr_error err = {0};
        counting c = new_counting();
        empty_folder("unwritable");
        hr_hook *hook = hr_checkpoint_saver_hook("unwritable", .save_steps = 2, .async = true);
        hr_monitored_session *m = hr_monitored_session_new(c.graph, &hook, 1);
        assert_null(hr_monitored_session_error(m));
        hr_status st = run(m, &c, &err);
        empty_folder("moved");
        assert_int_equal(rename("unwritable", "moved"), 0); /* the thread may be at work in it */
        write_file("unwritable", "x", 1);
        for (int i = 1; i < runs && st == HR_OK; i++) st = run(m, &c, &err);
        const hr_status closed = hr_monitored_session_close(m, st != HR_OK, &err);
        assert_true(st != HR_OK || closed != HR_OK);
        assert_text_contains(err.text, "unwritable");
        assert_int_equal(remove("unwritable"), 0);
        hr_graph_free(c.graph);
    }
}

static void a_session_made_anew_begins_with_what_its_thread_has_written(void **state)
{
    (void)state;
    hr_error err = {0};
    for (int with = 0; with < 2; with++) {
        counting c = new_counting();
        preemption p = {.fail_at = 4, .fail_again_at = 5, .with = with ? HR_ABORTED : HR_UNAVAILABLE}, *pointer = &p;
        heard h = {0};
        empty_folder("threads");
        hr_hook *hooks[] = {async_saver(&h), hr_hook_new(&preemption_kind, &pointer)};
        hr_monitored_session *m =
            hr_monitored_session_new(c.graph, hooks, 2, .checkpoint_dir = "threads", .recovers = true);
        for (int i = 0; i < 4; i++) assert_ok(run(m, &c, &err), &err);
        assert_int_equal(step_of(m), 5);
        assert_int_equal(p.runs, 6);
        assert_string_equal(hr_monitored_checkpoint(m), "threads/model.ckpt-4");
        assert_ok(hr_monitored_session_close(m, false, &err), &err);
        hr_graph_free(c.graph);
    }
}

static void a_session_that_fails_leaves_the_checkpoint_of_its_thread_whole(void **state)
{
    (void)state;
    char *prefix;
    hr_error err = {0};
    heard h = {0};
    counting c = new_counting();
    empty_folder("threads");
    hr_hook *hook = async_saver(&h);
    hr_monitored_session *m = hr_monitored_session_new(c.graph, &hook, 1);
    for (int i = 0; i < 2; i++) assert_ok(run(m, &c, &err), &err);
    assert_ok(hr_monitored_session_close(m, true, &err), &err);
    assert_ok(hr_whole_checkpoint("threads", &prefix, &err), &err);
    assert_string_equal(prefix, "threads/model.ckpt-2");
    hr_free(prefix);
    hr_graph_free(c.graph);
}

static void a_training_session_saves_and_goes_on(void **state)
{
    (void)state;
    hr_error err = {0};
    preemption p = {.fail_at = 2, .with = HR_ABORTED}, *pointer = &p;
    empty_folder("training");
    for (int round = 0; round < 2; round++) {
        counting c = new_counting();
        hr_hook *hook = hr_hook_new(&preemption_kind, &pointer);
        const hr_summarised summary = {.tag = "loss", .node = c.loss};
        hr_monitored_session *m =
            hr_monitored_training_session(c.graph, &hook, 1, .checkpoint_dir = "training", .save_checkpoint_steps = 1,
                                          .summaries = &summary, .summary_count = 1);
        assert_null(hr_monitored_session_error(m));
        assert_int_equal(step_of(m), 3 * round);
        for (int i = 0; i < 2 + round; i++) assert_ok(run(m, &c, &err), &err);
        assert_int_equal(step_of(m), 3 + 3 * round);
        assert_ok(hr_monitored_session_close(m, false, &err), &err);
        hr_graph_free(c.graph);
    }
    /* five checkpoints of three files, the state file, the graph, an event file of each round */
    assert_int_equal(files_in("training", true), 5 * 3 + 2 + 2);
}

static void a_training_session_without_folders_writes_nothing(void **state)
{
    (void)state;
    hr_error err = {0};
    counting c = new_counting();
    hr_monitored_session *m = hr_monitored_training_session(c.graph, NULL, 0, .log_step_count_steps = 1);
    logged[0] = '\0';
    hr_set_log(keep, NULL);
    for (int i = 0; i < 3; i++) assert_ok(run(m, &c, &err), &err);
    hr_set_log(NULL, NULL);
    assert_string_equal(logged, "");
    assert_ok(hr_monitored_session_close(m, false, &err), &err);
    hr_graph_free(c.graph);
    m = hr_monitored_training_session(NULL, NULL, 2, .checkpoint_dir = "nowhere");
    assert_status(hr_monitored_session_error(m)->code, HR_INVALID_ARGUMENT);
    hr_monitored_session_close(m, true, NULL);
}

typedef struct two_runs {
    const counting *c;
    int calls;
    bool end, hides;
} two_runs;

static hr_status run_twice(hr_monitored_session *m, void *user, hr_error *err)
{
    two_runs *t = user;
    t->calls++;
    HR_TRY(hr_session_run(hr_monitored_raw(m), NULL, 0, &t->c->train, 1, NULL, err));
    const hr_status st = run(m, t->c, err);
    if (t->hides) return HR_OK;
    return t->end && st == HR_OK ? HR_END : st;
}

static void a_step_function_is_repeated_as_a_whole(void **state)
{
    (void)state;
    hr_error err = {0};
    for (int hides = 0; hides < 2; hides++) {
        counting c = new_counting();
        preemption p = {.fail_at = 2, .with = HR_ABORTED}, *pointer = &p;
        two_runs t = {.c = &c, .hides = hides};
        hr_hook *hook = hr_hook_new(&preemption_kind, &pointer);
        hr_monitored_session *m = hr_monitored_session_new(c.graph, &hook, 1, .recovers = true);
        assert_ok(hr_run_step_fn(m, run_twice, &t, &err), &err);
        assert_int_equal(step_of(m), 2);
        assert_ok(hr_run_step_fn(m, run_twice, &t, &err), &err); /* begins again: there is no checkpoint */
        assert_int_equal(step_of(m), 2);
        assert_int_equal(t.calls, 3);
        t.end = true;
        t.hides = false;
        assert_status(hr_run_step_fn(m, run_twice, &t, &err), HR_END);
        assert_true(hr_should_stop(m));
        assert_status(hr_run_step_fn(m, run_twice, &t, &err), HR_END);
        assert_int_equal(t.calls, 4);
        assert_status(hr_run_step_fn(m, NULL, NULL, &err), HR_INVALID_ARGUMENT);
        assert_ok(hr_monitored_session_close(m, false, &err), &err);
        hr_graph_free(c.graph);
    }
}

static void ops_of_the_callers_own_make_a_session_ready(void **state)
{
    (void)state;
    hr_error err = {0};
    for (int all = 0; all < 2; all++) {
        counting c = new_counting();
        hr_node init[] = {hr_assign(c.total, hr_scalar(c.graph, HR_FLOAT, 7)),
                          hr_assign(hr_global_step(c.graph), hr_scalar(c.graph, HR_INT64, 3))};
        const hr_node group = hr_target(hr_group(c.graph, init, 1 + all, "my_init"));
        const hr_node missing = hr_report_uninitialized_variables(c.graph, HR_GLOBAL_VARIABLES);
        hr_monitored_session *m = hr_monitored_session_new(c.graph, NULL, 0, .init_op = &group, .ready_op = &missing);
        if (all) {
            assert_int_equal(step_of(m), 3);
            assert_ok(hr_monitored_session_close(m, false, &err), &err);
        } else {
            assert_status(hr_monitored_session_close(m, false, &err), HR_FAILED_PRECONDITION);
            assert_string_equal(err.kind, "hooks.ready");
            assert_text_contains(err.text, "global_step");
        }
        hr_graph_free(c.graph);
    }
}

/* ---- lack of memory ---- */

static char *first_text(const hr_logged_value *values, int count, void *user)
{
    (void)user;
    return hr_strdup(count ? values[0].text : "");
}

static hr_status use_everything(hr_error *err)
{
    counting c = new_counting();
    if (!c.graph) return HR_RESOURCE_EXHAUSTED;
    hr_logged what = {"loss", c.loss};
    hr_summarised summary = {.tag = "loss", .node = c.loss};
    hr_summary_writer *w = hr_summary_writer_new("memory");
    hr_tensor final;
    hr_hook *hooks[] = {hr_profiler_hook("memory", .save_steps = 1, .writer = w),
                        hr_final_ops_hook(&c.loss, 1, &final),
                        hr_logging_tensor_hook(&what, 1, .every_n_iter = 1, .formatter = first_text),
                        hr_nan_tensor_hook(c.loss),
                        hr_logging_tensor_hook(&what, 1, .every_n_iter = 1),
                        hr_stop_at_step_hook(.num_steps = 2)};
    hr_summary_writer_unref(w);
    hr_monitored_session *m = hr_monitored_training_session(
        c.graph, hooks, 6, .checkpoint_dir = "memory", .save_checkpoint_steps = 1, .save_summaries_steps = 1,
        .log_step_count_steps = 1, .summaries = &summary, .summary_count = 1);
    hr_status st = m ? HR_OK : HR_RESOURCE_EXHAUSTED;
    while (m && st == HR_OK && !hr_should_stop(m)) st = run(m, &c, err);
    if (m) st = hr_monitored_session_close(m, false, err);
    hr_tensor_clear(&final);
    hr_graph_free(c.graph);
    return st;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    hr_error err = {0};
    empty_folder("memory");
    fail_allocation(-1);
    assert_ok(use_everything(&err), &err);
    int64_t before = allocations_alive(), count = 1000, failures = 0;
    for (int64_t i = 0; i < count; i += i < 60 ? 1 : 5) {
        empty_folder("memory");
        fail_allocation(i);
        hr_status st = use_everything(&err);
        count = allocations_since() > i ? count : i; /* it needs fewer than that */
        if (st != HR_OK && st != HR_RESOURCE_EXHAUSTED) fail_msg("allocation %d: %s", (int)i, err.text);
        failures += st != HR_OK;
        if (allocations_alive() != before) fail_msg("allocation %d leaves memory behind", (int)i);
    }
    assert_more(failures, 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hooks_see_each_run_and_are_released_once),
        cmocka_unit_test(a_hundred_hooks_have_their_own_results),
        cmocka_unit_test(a_node_is_fed_once_in_a_run),
        cmocka_unit_test(a_failure_sticks_and_no_hook_ends),
        cmocka_unit_test(the_end_of_data_ends_hooks_well),
        cmocka_unit_test(a_request_to_stop_counts_when_it_is_asked_for),
        cmocka_unit_test(a_broken_graph_is_told_when_the_session_is_made),
        cmocka_unit_test(variables_and_extras_come_back),
        cmocka_unit_test(pieces_of_a_variable_are_saved_as_parts_of_it),
        cmocka_unit_test(a_session_saves_and_restores_the_variables_of_its_list),
        cmocka_unit_test(a_list_of_a_session_that_is_none_is_an_error),
        cmocka_unit_test(slashes_after_a_folder_change_no_name),
        cmocka_unit_test(a_checkpoint_of_another_model_is_refused_by_name),
        cmocka_unit_test(listeners_hear_of_saves_and_may_stop),
        cmocka_unit_test(a_folder_that_cannot_be_written_ends_the_session),
        cmocka_unit_test(logging_prints_numbers_as_numpy_does),
        cmocka_unit_test(the_counter_logs_steps_a_second),
        cmocka_unit_test(intervals_are_checked),
        cmocka_unit_test(the_meta_graph_of_events_is_made_once),
        cmocka_unit_test(summaries_must_be_floats),
        cmocka_unit_test(a_graph_beside_checkpoints_runs_with_their_values),
        cmocka_unit_test(final_values_are_those_of_fed_runs),
        cmocka_unit_test(a_feed_function_may_end_the_training),
        cmocka_unit_test(a_profile_names_the_nodes_of_its_step),
        cmocka_unit_test(runs_of_three_steps_are_seen_as_tensorflow_sees_them),
        cmocka_unit_test(a_session_goes_on_from_its_checkpoint),
        cmocka_unit_test(a_session_that_never_recovers_can_be_stopped),
        cmocka_unit_test(a_thread_writes_what_the_session_would_have_written),
        cmocka_unit_test(what_a_thread_cannot_write_comes_out_at_the_next_save_or_the_end),
        cmocka_unit_test(a_session_made_anew_begins_with_what_its_thread_has_written),
        cmocka_unit_test(a_session_that_fails_leaves_the_checkpoint_of_its_thread_whole),
        cmocka_unit_test(a_training_session_saves_and_goes_on),
        cmocka_unit_test(a_training_session_without_folders_writes_nothing),
        cmocka_unit_test(a_step_function_is_repeated_as_a_whole),
        cmocka_unit_test(ops_of_the_callers_own_make_a_session_ready),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
