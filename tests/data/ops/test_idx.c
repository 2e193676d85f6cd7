/* idx: every type, items of any rank, compressed files; headers that do not fit what follows. */
#include "tests/data/strings.h"
#include <sys/stat.h>

static const unsigned char images[] = {0, 0, 8, 3, 0, 0, 0, 3, 0, 0, 0, 2,  0,  0,
                                       0, 2, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};

static int write_idx(void **state)
{
    (void)state;
    static unsigned char labels[8 + 400] = {0, 0, 8, 1, 0, 0, 1, 144};
    for (int i = 0; i < 400; i++) labels[8 + i] = (unsigned char)(i % 10);
    write_file("labels-0", labels, sizeof labels);
    write_gzip("labels-1.gz", labels, sizeof labels);
    return 0;
}

HR_SAMPLE(idx) { return hr_batch(hr_shuffle(hr_idx("labels-*"), 30), 7); }

static void items_have_the_shape_of_the_header(void **state)
{
    (void)state;
    const hr_element *e;
    write_file("images", images, sizeof images);
    hr_dataset *ds = hr_idx("images");
    assert_int_equal(hr_dataset_schema(ds)->field[0].shape.rank, 2);
    hr_iterator *it = iterate(hr_batch(ds, 2), (way){0});
    assert_status(hr_next(it, &e), HR_OK);
    const hr_tensor *value = hr_get(e, "value");
    assert_int_equal(value->dtype, HR_UINT8);
    assert_int_equal(value->shape.rank, 3);
    assert_int_equal(value->count, 8);
    assert_memory_equal(value->data, images + 16, 8);
    assert_status(hr_next(it, &e), HR_OK);
    assert_memory_equal(hr_get(e, "value")->data, images + 24, 4);
    assert_status(hr_next(it, &e), HR_END);
    hr_iterator_free(it);
}

static void numbers_are_turned_to_the_order_of_the_machine(void **state)
{
    (void)state;
    const hr_element *e;
    static const unsigned char shorts[] = {0, 0, 0x0b, 1, 0, 0, 0, 2, 0xff, 0xfe, 1, 0};
    static const unsigned char ints[] = {0, 0, 0x0c, 1, 0, 0, 0, 1, 0x80, 0, 0, 1};
    static const unsigned char floats[] = {0, 0, 0x0d, 1, 0, 0, 0, 1, 0x3f, 0x80, 0, 0};
    static const unsigned char doubles[] = {0, 0, 0x0e, 1, 0, 0, 0, 1, 0xc0, 0, 0, 0, 0, 0, 0, 0};
    write_file("shorts", shorts, sizeof shorts);
    write_file("ints", ints, sizeof ints);
    write_file("floats", floats, sizeof floats);
    write_file("doubles", doubles, sizeof doubles);
    hr_dataset *parts[] = {hr_idx("shorts"), hr_idx("ints"), hr_idx("floats"), hr_idx("doubles")};
    hr_iterator *it = iterate(hr_zip(parts, 4), (way){0});
    assert_status(hr_next(it, &e), HR_OK);
    assert_int_equal(*(const int16_t *)hr_get_at(e, 0)->data, -2);
    assert_int_equal(*(const int32_t *)hr_get_at(e, 1)->data, INT32_MIN + 1);
    assert_exactly(*(const float *)hr_get_at(e, 2)->data, 1.0f);
    assert_exactly(*(const double *)hr_get_at(e, 3)->data, -2.0);
    hr_iterator_free(it);
}

static void fails_with(const unsigned char *bytes, size_t size, const char *kind)
{
    write_file("bad", bytes, size);
    assert_fails(hr_idx("bad"), HR_DATA_LOSS, kind);
}

static void headers_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    unsigned char bytes[sizeof images + 1];
    memcpy(bytes, images, sizeof images);
    fails_with(bytes, sizeof images - 1, "idx.size");
    bytes[sizeof images] = 0;
    fails_with(bytes, sizeof images + 1, "idx.size");
    fails_with(bytes, 10, "idx.size");
    fails_with(bytes, 3, "idx.header");
    bytes[8] = 0xff;
    bytes[12] = 0xff;
    fails_with(bytes, sizeof images, "idx.header");
    bytes[2] = 7;
    fails_with(bytes, sizeof images, "idx.header");
    write_file("labels-2", images, sizeof images);
    assert_fails(hr_idx("labels-[02]"), HR_DATA_LOSS, "idx.shape");
    unlink("labels-2");
    assert_fails(hr_idx(NULL), HR_INVALID_ARGUMENT, "source.pattern");
    assert_fails(hr_idx("-"), HR_FAILED_PRECONDITION, "source.once");
    assert_int_equal(mkfifo("pipe", 0600), 0);
    assert_fails(hr_idx("pipe"), HR_FAILED_PRECONDITION, "source.once");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HR_CONFORMANCE(idx),
        cmocka_unit_test(items_have_the_shape_of_the_header),
        cmocka_unit_test(numbers_are_turned_to_the_order_of_the_machine),
        cmocka_unit_test(headers_that_do_not_fit_are_refused),
    };
    return cmocka_run_group_tests(tests, write_idx, NULL);
}
