/* from_arrow_stream: struct arrays one after the other, made here by hand; each is released once, whatever becomes of
 * it. */
#include "tests/data/arrow_arrays.h"
#include <errno.h>
#include <string.h>

enum { ROWS = 60 };

static int64_t number[ROWS];
static int32_t offsets[ROWS + 1];
static char letters[2 * ROWS];

static void fill_rows(void)
{
    for (int r = 0; r < ROWS; r++) {
        number[r] = 100 + r;
        offsets[r + 1] = offsets[r] + r % 3;
    }
    for (int i = 0; i < 2 * ROWS; i++) letters[i] = (char)('a' + i % 26);
}

/* ---- a stream ---- */

/* Rows 0 .. ROWS - 1, in arrays of 0, 1, 2, ... rows. */
typedef struct rows_stream {
    int64_t given, size;
    int64_t fails_at; /* get_next fails there; -1: never */
    bool other_type;
} rows_stream;

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    const rows_stream *s = stream->private_data;
    struct ArrowArray array;
    const arrow_column text = {"u", "text", 0, 0, 3, .buffer = {NULL, offsets, letters}};
    const arrow_column children[] = {{s->other_type ? "i" : "l", "n", 0, 0, 2, .buffer = {NULL, number}}, text};
    arrow_make(&(arrow_column){"+s", "", 0, 0, 1, .buffer = {NULL}}, children, 2, out, &array);
    array.release(&array);
    return 0;
}

static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    rows_stream *s = stream->private_data;
    if (s->given == s->fails_at) return EIO;
    memset(out, 0, sizeof *out);
    if (s->given == ROWS) return 0;
    struct ArrowSchema schema;
    const int64_t count = s->size < ROWS - s->given ? s->size : ROWS - s->given;
    const arrow_column children[] = {
        {"l", "n", count, s->given, 2, .buffer = {NULL, number}},
        {"u", "text", count, s->given, 3, .buffer = {NULL, offsets, letters}},
    };
    arrow_make(&(arrow_column){"+s", "", count, 0, 1, .buffer = {NULL}}, children, 2, &schema, out);
    schema.release(&schema);
    s->given += count;
    s->size++;
    return 0;
}

static const char *get_last_error(struct ArrowArrayStream *stream)
{
    (void)stream;
    return "the disk is gone";
}

static void release_stream(struct ArrowArrayStream *stream)
{
    free(stream->private_data);
    stream->release = NULL;
    arrow_live--;
}

static void make_stream(struct ArrowArrayStream *out, rows_stream how)
{
    *out = (struct ArrowArrayStream){get_schema, get_next, get_last_error, release_stream, malloc(sizeof how)};
    memcpy(out->private_data, &how, sizeof how);
    arrow_live++;
}

static int reopen(struct ArrowArrayStream *out, void *user)
{
    (void)user;
    make_stream(out, (rows_stream){.fails_at = -1});
    return 0;
}

static hr_dataset *dataset_of(rows_stream how, hr_arrow_stream_fn *again)
{
    struct ArrowArrayStream stream;
    fill_rows();
    make_stream(&stream, how);
    hr_dataset *ds = hr_from_arrow_stream(&stream, .open = again);
    assert_null(stream.release); /* moved */
    return ds;
}

HR_SAMPLE(from_arrow_stream) { return hr_batch(hr_shuffle(dataset_of((rows_stream){.fails_at = -1}, reopen), 20), 4); }

static void check_row(const hr_element *e, int r)
{
    const hr_view *text = hr_get(e, "text")->data;
    assert_int_equal(*(const int64_t *)hr_get(e, "n")->data, 100 + r);
    assert_int_equal(text->size, r % 3);
    assert_memory_equal(text->data, letters + offsets[r], (size_t)text->size);
}

static void arrays_follow_each_other_and_are_released(void **state)
{
    (void)state;
    const hr_element *e;
    for (int workers = 0; workers <= 2; workers++) {
        hr_iterator *it =
            iterate(dataset_of((rows_stream){.fails_at = -1}, NULL), (way){.unit_rows = 7, .workers = workers});
        for (int r = 0; r < ROWS; r++) {
            assert_status(hr_next(it, &e), HR_OK);
            check_row(e, r);
        }
        assert_status(hr_next(it, &e), HR_END);
        hr_iterator_free(it);
        assert_int_equal(arrow_live, 0);
    }
}

static void what_is_not_read_to_its_end_is_released_as_well(void **state)
{
    (void)state;
    const hr_element *e;
    hr_iterator *it = iterate(dataset_of((rows_stream){.fails_at = -1}, NULL), (way){.workers = 2});
    assert_status(hr_next(it, &e), HR_OK);
    hr_iterator_free(it);
    assert_int_equal(arrow_live, 0);
    hr_dataset_unref(dataset_of((rows_stream){.fails_at = -1}, NULL));
    assert_int_equal(arrow_live, 0);
}

static void a_stream_is_read_once_unless_it_can_be_opened_again(void **state)
{
    (void)state;
    static run got;
    const hr_element *e;
    run_all(&got, hr_repeat(dataset_of((rows_stream){.fails_at = -1}, NULL), .count = HR_I64(2)), (way){0});
    assert_string_equal(got.error.kind, "source.once");
    hr_iterator *it =
        iterate(hr_repeat(dataset_of((rows_stream){.fails_at = -1}, reopen), .count = HR_I64(3)), (way){0});
    for (int r = 0; r < 3 * ROWS; r++) {
        assert_status(hr_next(it, &e), HR_OK);
        check_row(e, r % ROWS);
    }
    assert_status(hr_next(it, &e), HR_END);
    hr_iterator_free(it);
    assert_int_equal(arrow_live, 0);
}

/* ---- what goes wrong ---- */

static void a_stream_that_fails_says_why_after_the_rows_before(void **state)
{
    (void)state;
    const hr_element *e;
    hr_iterator *it = iterate(dataset_of((rows_stream){.fails_at = 10}, NULL), (way){0});
    for (int r = 0; r < 10; r++) {
        assert_status(hr_next(it, &e), HR_OK);
        check_row(e, r);
    }
    assert_status(hr_next(it, &e), HR_UNAVAILABLE);
    assert_string_equal(hr_iterator_error(it)->kind, "from_arrow.stream");
    assert_text_contains(hr_iterator_error(it)->text, "the disk is gone");
    hr_iterator_free(it);
    assert_int_equal(arrow_live, 0);
}

static int open_other(struct ArrowArrayStream *out, void *user)
{
    (void)user;
    make_stream(out, (rows_stream){.fails_at = -1, .other_type = true});
    return 0;
}

static int open_nothing(struct ArrowArrayStream *out, void *user)
{
    (void)out;
    (void)user;
    return ENOENT;
}

static void assert_fails_again(hr_arrow_stream_fn *open, const char *kind)
{
    static run got;
    run_all(&got, hr_repeat(dataset_of((rows_stream){.fails_at = -1}, open), .count = HR_I64(2)), (way){0});
    assert_string_equal(got.error.kind, kind);
    assert_int_equal(arrow_live, 0);
}

static void what_is_opened_again_must_be_the_same(void **state)
{
    (void)state;
    assert_fails_again(open_other, "from_arrow.array");
    assert_fails_again(open_nothing, "from_arrow.stream");
}

static void streams_that_are_none_are_refused(void **state)
{
    (void)state;
    struct ArrowArrayStream released = {0};
    hr_dataset *wrong[] = {hr_from_arrow_stream(NULL), hr_from_arrow_stream(&released)};
    for (int i = 0; i < 2; i++) {
        assert_string_equal(hr_dataset_error(wrong[i])->kind, "from_arrow.stream");
        hr_dataset_unref(wrong[i]);
    }
}

static hr_dataset *labelled(const char *label)
{
    struct ArrowArrayStream stream;
    fill_rows();
    make_stream(&stream, (rows_stream){.fails_at = -1});
    return hr_from_arrow_stream(&stream, .open = reopen, .label = label);
}

HR_ARGUMENTS(from_arrow_stream, labelled(NULL), labelled("n"), labelled("text"));

int main(void)
{
    const struct CMUnitTest tests[] = {
        HR_CONFORMANCE(from_arrow_stream),
        HR_CONFORMANCE_OF_ARGUMENTS(from_arrow_stream),
        cmocka_unit_test(arrays_follow_each_other_and_are_released),
        cmocka_unit_test(what_is_not_read_to_its_end_is_released_as_well),
        cmocka_unit_test(a_stream_is_read_once_unless_it_can_be_opened_again),
        cmocka_unit_test(a_stream_that_fails_says_why_after_the_rows_before),
        cmocka_unit_test(what_is_opened_again_must_be_the_same),
        cmocka_unit_test(streams_that_are_none_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
