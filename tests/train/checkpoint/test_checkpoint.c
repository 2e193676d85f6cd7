/* Checkpoints written and read back, in whole or not at all. */
#include "tests/io/faults.h"
#include "tests/testing.h"
#include "train/checkpoint/folder.h"
#include <headrace/checkpoint.h>
#include <headrace/io.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const float weights[] = {1, -2.5f, 3, 4, 5, 6};

static hr_status write_sample(const char *prefix, hr_error *err)
{
    hr_bundle_writer *w;
    hr_tensor kernel = hr_tensor_of(HR_FLOAT, HR_SHAPE(3, 2), weights);
    hr_tensor step = hr_tensor_of(HR_INT64, HR_SCALAR, HR_I64(7));
    const hr_view words[] = {{"ab", 2}, {"", 0}, {"xyz", 3}};
    hr_tensor vocabulary = hr_tensor_of(HR_STRING, HR_SHAPE(3), words);
    HR_TRY(hr_bundle_writer_open(prefix, &w, err));
    hr_status st = hr_bundle_add(w, "z/kernel", &kernel, err);
    if (st == HR_OK) st = hr_bundle_add(w, "global_step", &step, err);
    if (st == HR_OK) st = hr_bundle_add(w, "vocab", &vocabulary, err);
    if (st == HR_OK) return hr_bundle_writer_commit(w, err);
    hr_bundle_writer_discard(w);
    return st;
}

static void checkpoint_gives_back_what_was_written(void **state)
{
    (void)state;
    hr_error err;
    hr_bundle *b;
    hr_tensor t;
    assert_ok(write_sample("m-7", &err), &err);
    assert_ok(hr_bundle_open("m-7", &b, &err), &err);
    assert_int_equal(hr_bundle_shards(b), 1);
    assert_ok(hr_bundle_read(b, "z/kernel", &t, &err), &err);
    assert_memory_equal(t.data, weights, sizeof weights);
    assert_int_equal(t.shape.dims[0], 3);
    hr_tensor_clear(&t);
    assert_ok(hr_bundle_read(b, "vocab", &t, &err), &err);
    const hr_view *word = t.data;
    assert_int_equal(word[2].size, 3);
    assert_memory_equal(word[2].data, "xyz", 3);
    hr_tensor_clear(&t);
    assert_status(hr_bundle_read(b, "absent", &t, &err), HR_NOT_FOUND);
    hr_bundle_free(b);
}

static void parts_of_a_variable_read_as_one(void **state)
{
    (void)state;
    hr_error err;
    hr_bundle_writer *w;
    hr_bundle *b;
    hr_tensor t, top = hr_tensor_of(HR_FLOAT, HR_SHAPE(1, 2), weights),
                 rest = hr_tensor_of(HR_FLOAT, HR_SHAPE(2, 2), weights + 2);
    assert_ok(hr_bundle_writer_open("parts", &w, &err), &err);
    assert_ok(hr_bundle_add_slice(w, "v", HR_SHAPE(3, 2), HR_I64(0, 0), HR_I64(1, -1), &top, &err), &err);
    assert_ok(hr_bundle_add_slice(w, "v", HR_SHAPE(3, 2), HR_I64(1, 0), HR_I64(2, -1), &rest, &err), &err);
    assert_ok(hr_bundle_writer_commit(w, &err), &err);
    assert_ok(hr_bundle_open("parts", &b, &err), &err);
    assert_ok(hr_bundle_read(b, "v", &t, &err), &err);
    assert_memory_equal(t.data, weights, sizeof weights);
    hr_tensor_clear(&t);
    assert_ok(hr_bundle_read_slice(b, "v", "3 2 1,2:1,1", &t, &err), &err);
    assert_exactly(((float *)t.data)[0], weights[3]);
    assert_exactly(((float *)t.data)[1], weights[5]);
    hr_tensor_clear(&t);
    assert_status(hr_bundle_read_slice(b, "v", "3 2 1,9:1,1", &t, &err), HR_INVALID_ARGUMENT);
    hr_bundle_free(b);
}

/* Together they have as many values as the variable, and yet row 2 is in none. */
static void parts_that_overlap_are_refused(void **state)
{
    (void)state;
    hr_error err;
    hr_bundle_writer *w;
    hr_bundle *b;
    hr_tensor t, one = hr_tensor_of(HR_FLOAT, HR_SHAPE(1, 2), weights),
                 two = hr_tensor_of(HR_FLOAT, HR_SHAPE(2, 2), weights + 2);
    assert_ok(hr_bundle_writer_open("overlap", &w, &err), &err);
    assert_ok(hr_bundle_add_slice(w, "v", HR_SHAPE(3, 2), HR_I64(0, 0), HR_I64(2, -1), &two, &err), &err);
    assert_ok(hr_bundle_add_slice(w, "v", HR_SHAPE(3, 2), HR_I64(1, 0), HR_I64(1, -1), &one, &err), &err);
    assert_ok(hr_bundle_writer_commit(w, &err), &err);
    assert_ok(hr_bundle_open("overlap", &b, &err), &err);
    assert_status(hr_bundle_read(b, "v", &t, &err), HR_DATA_LOSS);
    assert_string_equal(err.kind, "checkpoint.entry");
    hr_bundle_free(b);
}

/* Every byte of both files, flipped: an error or the same values, never a crash or other values; and of the index a check
 * misses none. */
static void no_flipped_byte_goes_unseen(void **state)
{
    (void)state;
    static const char *const file[] = {"f.index", "f.data-00000-of-00001"};
    hr_error err;
    assert_ok(write_sample("f", &err), &err);
    for (int f = 0; f < 2; f++) {
        size_t size;
        char *bytes = read_whole_file(file[f], &size);
        for (size_t i = 0; i < size; i++) {
            hr_bundle *b;
            hr_tensor t = {0};
            bytes[i] ^= 0x10;
            write_file(file[f], bytes, size);
            hr_status st = hr_bundle_open("f", &b, &err);
            if (st == HR_OK) st = hr_bundle_read(b, "z/kernel", &t, &err);
            if (st == HR_OK) assert_memory_equal(t.data, weights, sizeof weights);
            if (st == HR_OK && f == 0) assert_status(hr_bundle_check(b, &err), HR_DATA_LOSS);
            hr_tensor_clear(&t);
            hr_bundle_free(b);
            bytes[i] ^= 0x10;
        }
        write_file(file[f], bytes, size);
        free(bytes);
    }
}

static void bytes_after_the_last_tensor_are_told(void **state)
{
    (void)state;
    static const char file[] = "m-7.data-00000-of-00001";
    size_t size;
    hr_error err;
    hr_bundle *b;
    hr_tensor t;
    char *prefix;
    assert_ok(write_sample("m-7", &err), &err);
    assert_ok(hr_bundle_open("m-7", &b, &err), &err);
    assert_ok(hr_bundle_check(b, &err), &err);
    char *bytes = read_whole_file(file, &size);
    bytes = realloc(bytes, size + 3);
    assert_non_null(bytes);
    memset(bytes + size, 0, 3);
    write_file(file, bytes, size + 3);
    assert_status(hr_bundle_check(b, &err), HR_DATA_LOSS);
    assert_string_equal(err.kind, "checkpoint.trailing");
    assert_int_equal(err.offset, size);
    assert_int_equal(err.length, 3);
    assert_ok(hr_bundle_read(b, "z/kernel", &t, &err), &err); /* nothing is missing */
    hr_tensor_clear(&t);
    assert_ok(hr_whole_checkpoint(".", &prefix, &err), &err);
    hr_free(prefix);
    write_file(file, bytes, size - 1);
    assert_status(hr_bundle_check(b, &err), HR_OUT_OF_RANGE);
    free(bytes);
    hr_bundle_free(b);
}

static void every_refused_allocation_leaves_a_whole_checkpoint_or_none(void **state)
{
    (void)state;
    hr_error err;
    int64_t alive = allocations_alive();
    fail_allocation(INT64_MAX);
    assert_ok(write_sample("a", &err), &err);
    int64_t needed = allocations_since();
    for (int64_t n = 0; n < needed; n++) {
        unlink("a.index");
        fail_allocation(n);
        hr_status st = write_sample("a", &err);
        allocations_since();
        assert_status_either(st, HR_OK, HR_RESOURCE_EXHAUSTED);
        if (access("a.index", F_OK) != 0) continue;
        hr_bundle *b;
        assert_ok(hr_bundle_open("a", &b, &err), &err);
        bool has;
        assert_ok(hr_bundle_has(b, "z/kernel", &has, &err), &err);
        assert_true(has);
        hr_bundle_free(b);
    }
    assert_int_equal(allocations_alive(), alive);
}

static void two_tensors_of_one_name_are_refused(void **state)
{
    (void)state;
    hr_error err;
    hr_bundle_writer *w;
    hr_tensor t = hr_tensor_of(HR_FLOAT, HR_SHAPE(2), weights);
    assert_ok(hr_bundle_writer_open("twice", &w, &err), &err);
    assert_ok(hr_bundle_add(w, "w", &t, &err), &err);
    assert_ok(hr_bundle_add(w, "w", &t, &err), &err);
    assert_status(hr_bundle_writer_commit(w, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "checkpoint.twice");
    assert_int_not_equal(access("twice.index", F_OK), 0);
    assert_int_not_equal(access("twice.data-00000-of-00001", F_OK), 0);
}

/* ---- which are kept ---- */

static void save_steps(const char *folder, const int *steps, int count)
{
    hr_error err = {0};
    hr_saver *saver;
    char prefix[256];
    mkdir(folder, 0777);
    assert_ok(hr_saver_open(folder, &saver, &err, .max_to_keep = HR_I64(2), .relative_paths = true), &err);
    assert_ok(hr_saver_recover(saver, NULL, &err), &err);
    for (int i = 0; i < count; i++) {
        snprintf(prefix, sizeof prefix, "%s/model.ckpt-%d", folder, steps[i]);
        assert_ok(write_sample(prefix, &err), &err);
        assert_ok(hr_saver_saved(saver, prefix, &err), &err);
    }
    hr_saver_free(saver);
}

static bool is_there(const char *path) { return access(path, F_OK) == 0; }

static double manager_clock(void *now) { return *(double *)now; }

static hr_saver *open_manager(int64_t keep, double *now)
{
    hr_error err = {0};
    hr_saver *saver;
    assert_ok(hr_saver_open("managed", &saver, &err, .max_to_keep = &keep, .relative_paths = true, .make_folder = true,
                            .manager = true, .now = manager_clock, .user = now),
              &err);
    assert_ok(hr_saver_recover(saver, NULL, &err), &err);
    return saver;
}

static void save_managed(hr_saver *saver, int step)
{
    hr_error err = {0};
    char prefix[64];
    snprintf(prefix, sizeof prefix, "managed/ckpt-%d", step);
    assert_ok(write_sample(prefix, &err), &err);
    assert_ok(hr_saver_saved(saver, prefix, &err), &err);
}

/* Its list has this text. */
static void assert_managed(const char *part)
{
    size_t size;
    char *text = read_whole_file("managed/checkpoint", &size);
    if (!strstr(text, part)) fail_msg("expected %s, got %s", part, text);
    free(text);
}

/* The second manager keeps fewer than the first, and its clock has gone back. */
static void a_manager_removes_as_many_as_are_too_many(void **state)
{
    (void)state;
    double now = 1000;
    hr_saver *saver = open_manager(0, &now);
    for (int step = 1; step <= 4; step++, now += 10.125) save_managed(saver, step);
    hr_saver_free(saver);
    assert_int_equal(files_in("managed", true), 9);
    now = 1005;
    saver = open_manager(2, &now);
    save_managed(saver, 5);
    hr_saver_free(saver);
    assert_int_equal(files_in("managed", true), 5);
    assert_true(is_there("managed/ckpt-4.index"));
    assert_managed("all_model_checkpoint_timestamps: 1005.0\nall_model_checkpoint_timestamps: 1005.0\n"
                   "last_preserved_timestamp: 999.0\n");
}

/* Those in its list are as old as it, then, so they stay for good. */
static void a_manager_whose_clock_goes_far_back_begins_again(void **state)
{
    (void)state;
    double now = 500;
    remove_folder("managed");
    hr_saver *saver = open_manager(2, &now);
    for (int step = 1; step <= 2; step++) now++, save_managed(saver, step);
    hr_saver_free(saver);
    now = 100;
    saver = open_manager(1, &now);
    now++;
    save_managed(saver, 3);
    hr_saver_free(saver);
    assert_int_equal(files_in("managed", true), 7);
    assert_managed("ckpt-3\"\nall_model_checkpoint_paths: \"ckpt-3\"\nall_model_checkpoint_timestamps: 101.0\n"
                   "last_preserved_timestamp: 100.0\n");
}

static void a_manager_forgets_what_is_gone(void **state)
{
    (void)state;
    double now = 500;
    remove_folder("managed");
    hr_saver *saver = open_manager(3, &now);
    for (int step = 1; step <= 2; step++) now++, save_managed(saver, step);
    hr_saver_free(saver);
    assert_int_equal(unlink("managed/ckpt-1.index"), 0);
    now = 600.25;
    saver = open_manager(3, &now);
    save_managed(saver, 3);
    hr_saver_free(saver);
    assert_managed("all_model_checkpoint_paths: \"ckpt-2\"\nall_model_checkpoint_paths: \"ckpt-3\"\n"
                   "all_model_checkpoint_timestamps: 502.0\nall_model_checkpoint_timestamps: 600.25\n");
}

/* TensorFlow reads points, and writes them. */
static void times_are_the_same_under_any_locale(void **state)
{
    (void)state;
    static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "C"};
    for (int i = 0; i < 3; i++) {
        if (!setlocale(LC_NUMERIC, names[i])) continue;
        double now = 500.5;
        remove_folder("managed");
        hr_saver *saver = open_manager(3, &now);
        save_managed(saver, 1);
        hr_saver_free(saver);
        saver = open_manager(3, &now);
        now = 600;
        save_managed(saver, 2);
        hr_saver_free(saver);
        assert_managed("all_model_checkpoint_timestamps: 500.5\nall_model_checkpoint_timestamps: 600.0\n");
    }
    setlocale(LC_NUMERIC, "C");
}

static void a_folders_name_is_no_pattern(void **state)
{
    (void)state;
    mkdir("g", 0777);
    for (int i = 1; i <= 3; i++) {
        char folder[32];
        snprintf(folder, sizeof folder, "g/m%d", i);
        save_steps(folder, (int[]){1, 2}, 2);
    }
    save_steps("g/m[123]", (int[]){1, 2, 3, 4}, 4);
    for (int i = 1; i <= 3; i++) {
        char path[64];
        snprintf(path, sizeof path, "g/m%d/model.ckpt-1.index", i);
        assert_true(is_there(path));
    }
    assert_int_equal(files_in("g/m[123]", true), 5); /* two checkpoints of two files, the state file */
    assert_true(is_there("g/m[123]/model.ckpt-4.index"));
}

static void what_a_state_file_names_elsewhere_stays(void **state)
{
    (void)state;
    char here[256], text[1024];
    assert_non_null(getcwd(here, sizeof here));
    save_steps("other", (int[]){1, 2}, 2);
    save_steps("moved", (int[]){1, 2}, 2);
    /* the first two lie elsewhere, the third is the folder's own by its whole path */
    snprintf(text, sizeof text,
             "model_checkpoint_path: \"model.ckpt-2\"\nall_model_checkpoint_paths: \"%s/other/model.ckpt-1\"\n"
             "all_model_checkpoint_paths: \"../other/model.ckpt-0\"\n"
             "all_model_checkpoint_paths: \"../other/model.ckpt-2\"\n"
             "all_model_checkpoint_paths: \"%s/moved/model.ckpt-1\"\n"
             "all_model_checkpoint_paths: \"model.ckpt-2\"\n",
             here, here);
    write_file("moved/checkpoint", text, strlen(text));
    write_file("moved/model.ckpt-0.index", "", 0); /* is not the one that is listed */
    write_file("moved/model.ckpt-1.notes", "", 0);
    write_file("moved/model.ckpt-1.data-1-of-1", "", 0);
    write_file("moved/model.ckpt-1.data-00000-by-00001", "", 0);
    write_file("moved/model.ckpt-1.meta", "", 0);
    save_steps("moved", (int[]){3, 4, 5}, 3);
    assert_int_equal(files_in("other", true), 5);
    assert_false(is_there("moved/model.ckpt-1.index"));
    assert_false(is_there("moved/model.ckpt-3.index"));
    assert_true(is_there("moved/model.ckpt-0.index"));
    assert_true(is_there("moved/model.ckpt-1.notes"));
    assert_true(is_there("moved/model.ckpt-1.data-1-of-1"));
    assert_true(is_there("moved/model.ckpt-1.data-00000-by-00001"));
    assert_false(is_there("moved/model.ckpt-1.meta"));
    assert_true(is_there("moved/model.ckpt-5.index"));
}

static void what_lies_in_a_folder_is_told_by_its_whole_name(void **state)
{
    (void)state;
    static const char *const inside[][2] = {
        {"a/m", "a/m/x"}, {"a/m/", "a/m/x"}, {"a/m//", "a/m/x"}, {"", "x"}, {"/", "/x"}};
    static const char *const outside[][2] = {{"a/m", "a/m-1"},   {"a/m", "a/m2/x"}, {"a/m", "a/m/"},
                                             {"a/m", "a/m/b/x"}, {"a/m", "a/n/x"},  {"", "b/x"}};
    for (size_t i = 0; i < sizeof inside / sizeof *inside; i++)
        assert_true(hr__checkpoint_lies_in(inside[i][0], inside[i][1]));
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++)
        assert_false(hr__checkpoint_lies_in(outside[i][0], outside[i][1]));
}

/* ---- the newest whole one ---- */

static char warnings[4096];
static void keep_warnings(hr_level level, const char *text, void *user)
{
    (void)user;
    size_t used = strlen(warnings);
    if (level == HR_WARNING) snprintf(warnings + used, sizeof warnings - used, "%s\n", text);
}

static void assert_whole(const char *folder, const char *expected)
{
    char *prefix;
    hr_error err = {0};
    warnings[0] = '\0';
    hr_set_log(keep_warnings, NULL);
    assert_ok(hr_whole_checkpoint(folder, &prefix, &err), &err);
    hr_set_log(NULL, NULL);
    if (!expected)
        assert_null(prefix);
    else
        assert_string_equal(prefix ? prefix : "none", expected);
    hr_free(prefix);
}

static void keep_all(const char *folder)
{
    hr_error err = {0};
    char prefix[64], text[512] = "model_checkpoint_path: \"model.ckpt-30\"\n";
    remove_folder(folder);
    mkdir(folder, 0777);
    for (int step = 10; step <= 30; step += 10) {
        size_t used = strlen(text);
        snprintf(prefix, sizeof prefix, "%s/model.ckpt-%d", folder, step);
        assert_ok(write_sample(prefix, &err), &err);
        snprintf(text + used, sizeof text - used, "all_model_checkpoint_paths: \"model.ckpt-%d\"\n", step);
    }
    snprintf(prefix, sizeof prefix, "%s/checkpoint", folder);
    write_file(prefix, text, strlen(text));
}

static void the_newest_whole_checkpoint_is_found(void **state)
{
    (void)state;
    char *latest;
    hr_error err = {0};
    keep_all("w");
    assert_whole("w", "w/model.ckpt-30");
    assert_string_equal(warnings, "");
    assert_int_equal(truncate("w/model.ckpt-30.data-00000-of-00001", 10), 0);
    assert_whole("w", "w/model.ckpt-20");
    assert_text_contains(warnings, "w/model.ckpt-30 is incomplete");
    assert_text_contains(warnings, "w/model.ckpt-20 is the newest complete checkpoint");
    assert_ok(hr_latest_checkpoint("w", &latest, &err), &err); /* TensorFlow looks for the index alone */
    assert_string_equal(latest, "w/model.ckpt-30");
    hr_free(latest);
    unlink("w/model.ckpt-20.data-00000-of-00001");
    assert_whole("w", "w/model.ckpt-10");
    assert_int_equal(truncate("w/model.ckpt-10.index", 60), 0);
    assert_status(hr_whole_checkpoint("w", &latest, &err), HR_DATA_LOSS);
    assert_string_equal(err.kind, "checkpoint.incomplete");
    assert_text_contains(err.text, "w/model.ckpt-30");

    keep_all("w");
    unlink("w/model.ckpt-30.index"); /* TensorFlow finds no checkpoint then */
    assert_whole("w", "w/model.ckpt-20");
    assert_ok(hr_latest_checkpoint("w", &latest, &err), &err);
    assert_null(latest);

    keep_all("w");
    write_file("w/checkpoint", "", 0);
    assert_whole("w", "w/model.ckpt-30");
    unlink("w/checkpoint");
    unlink("w/model.ckpt-30.index");
    unlink("w/model.ckpt-30.data-00000-of-00001");
    assert_whole("w", "w/model.ckpt-20");

    keep_all("w");
    for (int step = 10; step <= 30; step += 10) {
        char path[64];
        snprintf(path, sizeof path, "w/model.ckpt-%d.index", step);
        unlink(path);
        snprintf(path, sizeof path, "w/model.ckpt-%d.data-00000-of-00001", step);
        unlink(path);
    }
    assert_whole("w", NULL);
    assert_text_contains(warnings, "all checkpoints are gone");
    assert_whole("nowhere", NULL);
    assert_string_equal(warnings, "");
}

static void newer_ones_that_are_not_whole_are_set_aside(void **state)
{
    (void)state;
    hr_error err = {0};
    hr_saver *saver;
    keep_all("aside");
    unlink("aside/model.ckpt-30.data-00000-of-00001");
    write_file("aside/model.ckpt-30.index.aside", "", 0);
    assert_ok(hr_saver_open("aside", &saver, &err, .max_to_keep = HR_I64(1)), &err);
    assert_ok(hr_saver_recover(saver, "aside/model.ckpt-20", &err), &err);
    assert_false(is_there("aside/model.ckpt-30.index"));
    assert_true(is_there("aside/model.ckpt-30.index.aside-2"));
    assert_ok(hr_saver_saved(saver, "aside/model.ckpt-20", &err), &err);
    assert_false(is_there("aside/model.ckpt-10.index"));
    assert_true(is_there("aside/model.ckpt-20.index"));
    hr_saver_free(saver);

    assert_ok(hr_saver_open("aside", &saver, &err, .max_to_keep = HR_I64(1)), &err);
    assert_ok(hr_saver_recover(saver, "elsewhere/model.ckpt-7", &err), &err);
    assert_true(is_there("aside/model.ckpt-20.index"));
    hr_saver_free(saver);
}

static void what_lies_elsewhere_is_not_set_aside(void **state)
{
    (void)state;
    static const char text[] = "model_checkpoint_path: \"../other2/model.ckpt-2\"\n"
                               "all_model_checkpoint_paths: \"model.ckpt-1\"\n";
    hr_error err = {0};
    hr_saver *saver;
    save_steps("other2", (int[]){2}, 1);
    save_steps("here2", (int[]){1}, 1);
    write_file("here2/checkpoint", text, sizeof text - 1);
    assert_ok(hr_saver_open("here2", &saver, &err), &err);
    assert_ok(hr_saver_recover(saver, "here2/model.ckpt-1", &err), &err);
    assert_true(is_there("other2/model.ckpt-2.index"));
    hr_saver_free(saver);
}

static void checkpoints_that_no_file_lists_are_ordered_by_number(void **state)
{
    (void)state;
    save_steps("unlisted", (int[]){9, 10}, 2);
    unlink("unlisted/checkpoint");
    assert_whole("unlisted", "unlisted/model.ckpt-10");
}

/* A state file that cannot be written still names the oldest one, which therefore stays. */
static void nothing_is_removed_that_the_state_file_names(void **state)
{
    (void)state;
    hr_error err = {0};
    hr_saver *saver;
    save_steps("named", (int[]){1, 2}, 2);
    assert_ok(hr_saver_open("named", &saver, &err, .max_to_keep = HR_I64(2)), &err);
    assert_ok(hr_saver_recover(saver, NULL, &err), &err);
    assert_int_equal(rename("named/checkpoint", "named/before"), 0);
    mkdir("named/checkpoint", 0777);
    assert_ok(write_sample("named/model.ckpt-3", &err), &err);
    assert_int_not_equal(hr_saver_saved(saver, "named/model.ckpt-3", &err), HR_OK);
    assert_true(is_there("named/model.ckpt-1.index"));
    hr_saver_free(saver);
}

/* One that is gone is not listed again, and takes no place among those that are kept. */
static void what_is_gone_is_not_listed_again(void **state)
{
    (void)state;
    save_steps("gone", (int[]){1, 2}, 2);
    unlink("gone/model.ckpt-2.index");
    save_steps("gone", (int[]){3}, 1);
    assert_true(is_there("gone/model.ckpt-1.index"));
}

static void every_refused_allocation_finds_the_same_checkpoint_or_says_so(void **state)
{
    (void)state;
    hr_error err;
    char *prefix;
    keep_all("lean");
    unlink("lean/model.ckpt-30.data-00000-of-00001");
    int64_t alive = allocations_alive(), needed = 1;
    for (int64_t n = -1; n < needed; n++) {
        fail_allocation(n);
        hr_status st = hr_whole_checkpoint("lean", &prefix, &err);
        const int64_t made = allocations_since();
        if (n < 0) needed = made;
        if (st != HR_OK) assert_status(st, HR_RESOURCE_EXHAUSTED);
        if (st == HR_OK) assert_string_equal(prefix ? prefix : "none", "lean/model.ckpt-20");
        hr_free(prefix);
    }
    assert_int_equal(allocations_alive(), alive);
}

/* ---- other models in the folder ---- */

/* Another model saves into the same folder and has a state file of its own name. */
static void checkpoints_of_other_names_are_not_taken_for_ones_of_the_model(void **state)
{
    (void)state;
    hr_error err = {0};
    hr_saver *saver;
    keep_all("shared");
    assert_ok(write_sample("shared/other-40", &err), &err);
    assert_ok(write_sample("shared/model.ckpt.best-50", &err), &err);
    write_file("shared/other-60.index", "", 0);
    save_steps("shared", (int[]){40, 50, 60}, 3);
    assert_true(is_there("shared/other-40.index"));
    assert_true(is_there("shared/other-60.index"));
    assert_true(is_there("shared/model.ckpt.best-50.index"));
    assert_false(is_there("shared/model.ckpt-10.index"));

    /* all of the model's own are damaged, and then gone */
    keep_all("shared");
    assert_ok(write_sample("shared/other-40", &err), &err);
    for (int step = 10; step <= 30; step += 10) {
        char path[64];
        char *prefix;
        snprintf(path, sizeof path, "shared/model.ckpt-%d.data-00000-of-00001", step);
        unlink(path);
        if (step == 30) assert_status(hr_whole_checkpoint("shared", &prefix, &err), HR_DATA_LOSS);
    }
    for (int step = 10; step <= 30; step += 10) {
        char path[64];
        snprintf(path, sizeof path, "shared/model.ckpt-%d.index", step);
        unlink(path);
    }
    assert_whole("shared", NULL);

    /* without a state file */
    unlink("shared/checkpoint");
    assert_whole("shared", NULL);
    assert_ok(write_sample("shared/model.ckpt-20", &err), &err);
    assert_whole("shared", "shared/model.ckpt-20");
    assert_text_contains(warnings, "shared/model.ckpt-20 is the newest complete checkpoint");
    assert_ok(hr_saver_open("shared", &saver, &err), &err);
    assert_ok(hr_saver_recover(saver, "shared/model.ckpt-20", &err), &err);
    assert_true(is_there("shared/other-40.index"));
    hr_saver_free(saver);
}

static void unlisted_checkpoints_bear_the_name_of_a_listed_one(void **state)
{
    (void)state;
    static const char text[] = "model_checkpoint_path: \"own-9\"\nall_model_checkpoint_paths: \"own-9\"\n";
    hr_error err = {0};
    keep_all("named2");
    assert_ok(write_sample("named2/own-7", &err), &err);
    write_file("named2/checkpoint", text, sizeof text - 1);
    assert_whole("named2", "named2/own-7");
}

/* ---- what a kill leaves ---- */

static void save_with(hr_saver *saver, const char *prefix)
{
    hr_error err = {0};
    assert_ok(hr_saver_saving(saver, prefix, &err), &err);
    assert_ok(write_sample(prefix, &err), &err);
    assert_ok(hr_saver_saved(saver, prefix, &err), &err);
}

/* A training goes on from the newest whole checkpoint, and saves it again, as the hook does, and then others. */
static void go_on(const char *folder, const int *steps, int count)
{
    hr_error err = {0};
    hr_saver *saver;
    char *restored, prefix[256];
    assert_ok(hr_whole_checkpoint(folder, &restored, &err), &err);
    assert_ok(hr_saver_open(folder, &saver, &err, .max_to_keep = HR_I64(2), .relative_paths = true), &err);
    if (restored) {
        assert_ok(hr_saver_recover(saver, restored, &err), &err);
        save_with(saver, restored);
    }
    for (int i = 0; i < count; i++) {
        snprintf(prefix, sizeof prefix, "%s/model.ckpt-%d", folder, steps[i]);
        save_with(saver, prefix);
    }
    hr_free(restored);
    hr_saver_free(saver);
}

static int changes, killed_at; /* renamed and removed files so far; the process ends before this one, -1: not at all */

static void count_change(void)
{
    if (changes++ == killed_at) _exit(9);
}

static int counted_rename(const char *from, const char *to)
{
    count_change();
    return rename(from, to);
}

static int counted_unlink(const char *path)
{
    count_change();
    return unlink(path);
}

static int quick_fsync(int fd) { return fd < 0 ? -1 : 0; }

static void use_counted_calls(int kill)
{
    static hr__sys counted;
    counted = *hr__sys_get();
    counted.rename = counted_rename;
    counted.unlink = counted_unlink;
    counted.fsync = quick_fsync;
    hr__sys_set(&counted);
    changes = 0;
    killed_at = kill;
}

/* True: it was killed before that change of the folder; false: it made fewer. */
static bool is_killed_at(int change, const char *folder, int step)
{
    int status;
    const pid_t child = fork();
    if (child == 0) {
        use_counted_calls(change);
        go_on(folder, &step, 1);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) != 0) assert_int_equal(WEXITSTATUS(status), 9);
    return WEXITSTATUS(status) == 9;
}

/* Three runs are killed before each change that a save makes in the folder, each at a step that is never saved again. The last run ends: two
 * whole checkpoints are there, what was there before for good reasons, and nothing else. (Hidden files are removed once a
 * process: test_temporary.) */
static void no_kill_leaves_files_that_stay(void **state)
{
    (void)state;
    bool killed = true;
    int change = 0;
    use_counted_calls(-1);
    for (; killed; change++) {
        remove_folder("killed");
        mkdir("killed", 0777);
        go_on("killed", (int[]){10, 20, 30}, 3);
        write_file("killed/model.ckpt-5.index", "kept for ever", 13);
        write_file("killed/model.ckpt-35.data-00000-of-00001", "somebody copies it", 18);
        killed = false;
        for (int step = 41; step <= 43; step++) killed |= is_killed_at(change, "killed", step);
        go_on("killed", (int[]){50, 60}, 2);
        assert_whole("killed", "killed/model.ckpt-60");
        assert_int_equal(files_in("killed", false), 2 * 2 + 1 + 2);
        assert_true(is_there("killed/model.ckpt-50.index"));
        assert_true(is_there("killed/model.ckpt-5.index"));
        assert_true(is_there("killed/model.ckpt-35.data-00000-of-00001"));
    }
    hr__sys_set(NULL);
    assert_more(change, 10);
}

static hr_status save_once(const char *folder, const char *prefix, hr_error *err)
{
    hr_saver *saver;
    HR_TRY(hr_saver_open(folder, &saver, err, .max_to_keep = HR_I64(2), .relative_paths = true));
    hr_status st = hr_saver_recover(saver, NULL, err);
    if (st == HR_OK) st = hr_saver_saving(saver, prefix, err);
    if (st == HR_OK) st = hr_saver_saved(saver, prefix, err);
    hr_saver_free(saver);
    return st;
}

static void every_refused_allocation_of_a_save_is_an_error(void **state)
{
    (void)state;
    static const char text[] = "# unlisted: \"model.ckpt-25\"\nmodel_checkpoint_path: \"model.ckpt-30\"\n"
                               "all_model_checkpoint_paths: \"model.ckpt-20\"\n"
                               "all_model_checkpoint_paths: \"model.ckpt-30\"\n";
    hr_error err = {0};
    keep_all("scant");
    write_file("scant/model.ckpt-25.index", "", 0);
    const int64_t alive = allocations_alive();
    int64_t needed = 1;
    use_counted_calls(-1);
    for (int64_t n = -1; n < needed; n++) {
        write_file("scant/checkpoint", text, sizeof text - 1);
        fail_allocation(n);
        const hr_status st = save_once("scant", "scant/model.ckpt-30", &err);
        const int64_t made = allocations_since();
        if (n < 0) needed = made;
        if (st != HR_OK) assert_status(st, HR_RESOURCE_EXHAUSTED);
        if (n < 0) assert_ok(st, &err);
    }
    hr__sys_set(NULL);
    assert_int_equal(allocations_alive(), alive);
}

/* The comment is no field: other readers pass over it. An old one says nothing about checkpoints that are listed. */
static void a_save_that_is_announced_changes_nothing_else(void **state)
{
    (void)state;
    hr_error err = {0};
    hr_saver *saver;
    char *latest, *text;
    size_t size;
    keep_all("told");
    for (int i = 0; i < 2; i++) {
        assert_ok(hr_saver_open("told", &saver, &err, .relative_paths = true), &err);
        assert_ok(hr_saver_recover(saver, NULL, &err), &err);
        assert_ok(hr_saver_saving(saver, i ? "told/model.ckpt-20" : "elsewhere/m-1", &err), &err);
        hr_saver_free(saver);
        text = read_whole_file("told/checkpoint", &size);
        assert_memory_equal(text, "# unlisted: \"", 13);
        free(text);
    }
    assert_ok(hr_latest_checkpoint("told", &latest, &err), &err);
    assert_string_equal(latest, "told/model.ckpt-30");
    hr_free(latest);
    save_steps("told", NULL, 0);
    assert_int_equal(files_in("told", true), 7);

    /* without a state file nothing is written */
    mkdir("untold", 0777);
    assert_ok(hr_saver_open("untold", &saver, &err), &err);
    assert_ok(hr_saver_saving(saver, "untold/model.ckpt-0", &err), &err);
    assert_int_equal(files_in("untold", true), 0);
    hr_saver_free(saver);
}

/* It does not recover, so that the killed save is no affair of its list; but the next save names another one. */
static void a_training_that_begins_anew_removes_what_a_kill_left(void **state)
{
    (void)state;
    static const char text[] = "# unlisted: \"model.ckpt-5\"\nmodel_checkpoint_path: \"model.ckpt-0\"\n"
                               "all_model_checkpoint_paths: \"model.ckpt-0\"\n";
    hr_error err = {0};
    hr_saver *saver;
    save_steps("anew", (int[]){0}, 1);
    write_file("anew/checkpoint", text, sizeof text - 1);
    write_file("anew/model.ckpt-5.data-00000-of-00001", "", 0);
    assert_ok(hr_saver_open("anew", &saver, &err), &err);
    save_with(saver, "anew/model.ckpt-0");
    assert_int_equal(files_in("anew", true), 3);
    hr_saver_free(saver);
}

/* The data has its name already where the index cannot have its own. */
static void a_checkpoint_whose_index_cannot_be_named_leaves_nothing(void **state)
{
    (void)state;
    hr_error err;
    hr_status st = HR_OK;
    mkdir("full", 0777);
    for (int call = 0; call == 0 || st != HR_OK; call++) {
        faults f = {.call = call, .number = 28 /* ENOSPC */};
        use_faults(&f);
        st = write_sample("full/m-1", &err);
        use_faults(NULL);
        if (st != HR_OK && !is_there("full/m-1.index")) assert_int_equal(files_in("full", true), 0);
        remove_folder("full");
        mkdir("full", 0777);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(checkpoint_gives_back_what_was_written),
        cmocka_unit_test(parts_of_a_variable_read_as_one),
        cmocka_unit_test(parts_that_overlap_are_refused),
        cmocka_unit_test(no_flipped_byte_goes_unseen),
        cmocka_unit_test(bytes_after_the_last_tensor_are_told),
        cmocka_unit_test(every_refused_allocation_leaves_a_whole_checkpoint_or_none),
        cmocka_unit_test(two_tensors_of_one_name_are_refused),
        cmocka_unit_test(a_manager_removes_as_many_as_are_too_many),
        cmocka_unit_test(a_manager_whose_clock_goes_far_back_begins_again),
        cmocka_unit_test(a_manager_forgets_what_is_gone),
        cmocka_unit_test(times_are_the_same_under_any_locale),
        cmocka_unit_test(a_folders_name_is_no_pattern),
        cmocka_unit_test(what_a_state_file_names_elsewhere_stays),
        cmocka_unit_test(what_lies_in_a_folder_is_told_by_its_whole_name),
        cmocka_unit_test(the_newest_whole_checkpoint_is_found),
        cmocka_unit_test(newer_ones_that_are_not_whole_are_set_aside),
        cmocka_unit_test(what_lies_elsewhere_is_not_set_aside),
        cmocka_unit_test(checkpoints_that_no_file_lists_are_ordered_by_number),
        cmocka_unit_test(nothing_is_removed_that_the_state_file_names),
        cmocka_unit_test(what_is_gone_is_not_listed_again),
        cmocka_unit_test(every_refused_allocation_finds_the_same_checkpoint_or_says_so),
        cmocka_unit_test(checkpoints_of_other_names_are_not_taken_for_ones_of_the_model),
        cmocka_unit_test(unlisted_checkpoints_bear_the_name_of_a_listed_one),
        cmocka_unit_test(no_kill_leaves_files_that_stay),
        cmocka_unit_test(every_refused_allocation_of_a_save_is_an_error),
        cmocka_unit_test(a_save_that_is_announced_changes_nothing_else),
        cmocka_unit_test(a_training_that_begins_anew_removes_what_a_kill_left),
        cmocka_unit_test(a_checkpoint_whose_index_cannot_be_named_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
