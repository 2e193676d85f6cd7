/* Lower and upper case: what TensorFlow 2.15.1 gave for the same inputs. */
#include "tests/train/ops/node_text.h"

#include <stdlib.h>
#include <string.h>

static void letters_change_their_case(void **state)
{
    (void)state;
    EXPECT_NODE_WITH("StringLower", "string[1] '\\xc3\\x84B\\xc4\\xb0\\xe1\\xba\\x9e\\xce\\xa3 \\xce\\x91\\xce\\xa3'",
                     "string[1] '\\xc3\\xa4bi\\xcc\\x87\\xc3\\x9f\\xcf\\x82 \\xce\\xb1\\xcf\\x82'",
                     HR_STRING_ATTR("encoding", "utf-8"));
    EXPECT_NODE_WITH("StringLower", "string[1] '\\xc3\\x84B\\xc4\\xb0\\xe1\\xba\\x9e\\xce\\xa3 \\xce\\x91\\xce\\xa3'",
                     "string[1] '\\xc3\\x84b\\xc4\\xb0\\xe1\\xba\\x9e\\xce\\xa3 \\xce\\x91\\xce\\xa3'",
                     HR_STRING_ATTR("encoding", ""));
    EXPECT_NODE_WITH("StringUpper", "string[1] '\\xc3\\xa4b\\xc3\\x9f\\xc4\\xb1\\xef\\xac\\x81\\xcf\\x82'",
                     "string[1] '\\xc3\\x84BSSIFI\\xce\\xa3'", HR_STRING_ATTR("encoding", "utf-8"));
    EXPECT_NODE_WITH("StringUpper", "string[1] '\\xc3\\xa4b\\xc3\\x9f\\xc4\\xb1\\xef\\xac\\x81\\xcf\\x82'",
                     "string[1] '\\xc3\\xa4B\\xc3\\x9f\\xc4\\xb1\\xef\\xac\\x81\\xcf\\x82'",
                     HR_STRING_ATTR("encoding", ""));
    EXPECT_NODE_WITH("StringUpper", "string[1] '\\xf4\\x90\\x80\\x80a'",
                     "string[1] '\\xef\\xbf\\xbd\\xef\\xbf\\xbd\\xef\\xbf\\xbd\\xef\\xbf\\xbdA'",
                     HR_STRING_ATTR("encoding", "utf-8"));
    EXPECT_NODE_WITH("StringLower", "string[1] '\\xffA\\xc3'", "string[1] '\\xef\\xbf\\xbda\\xef\\xbf\\xbd'",
                     HR_STRING_ATTR("encoding", "utf-8"));
}

static char *put(char *to, uint32_t c)
{
    if (c < 0x80) {
        *to++ = (char)c;
    } else {
        const int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
        *to++ = (char)((more == 1 ? 0xc0 : more == 2 ? 0xe0 : 0xf0) | c >> 6 * more);
        for (int i = more - 1; i >= 0; i--) *to++ = (char)(0x80 | (c >> 6 * i & 0x3f));
    }
    return to;
}

/* Each character of Unicode alone, and around a sigma: a line each. The results are told by their fingerprints. */
static void all_characters_are_changed_as_tensorflow_does(void **state)
{
    (void)state;
    char *text = malloc(32u << 20), *end = text;
    assert_non_null(text);
    for (uint32_t c = 1; c < 0x110000; c++) {
        if (c >= 0xd800 && c < 0xe000) continue;
        end = put(put(end, c), '\n');
        end = put(put(put(put(put(put(end, 'a'), c), 0x3a3), c), 'b'), '\n');
        end = put(put(put(end, c), 0x3a3), '\n');
    }
    const hr_view all = {text, end - text};
    const hr_tensor t = hr_tensor_of(HR_STRING, HR_SCALAR, &all);
    hr_graph *g = hr_graph_new();
    hr_node fetch[2];
    const char *ops[] = {"StringLower", "StringUpper"};
    hr_tensor out[2] = {0};
    hr_error err;
    for (int i = 0; i < 2; i++)
        fetch[i] = hr_new_node(g, "StringToHashBucketFast",
                               HR_INPUTS(hr_new_node(g, ops[i], HR_INPUTS(hr_const(g, &t)),
                                                     HR_ATTRS(HR_STRING_ATTR("encoding", "utf-8")))),
                               HR_ATTRS(HR_INT_ATTR("num_buckets", INT64_MAX)));
    hr_session *s = hr_session_new(g);
    assert_ok(hr_session_run(s, NULL, 0, fetch, 2, out, &err), &err);
    assert_int_equal(*(const int64_t *)out[0].data, INT64_C(5969712528945055532));
    assert_int_equal(*(const int64_t *)out[1].data, INT64_C(6697112814183570147));
    for (int i = 0; i < 2; i++) hr_tensor_clear(&out[i]);
    hr_session_free(s);
    hr_graph_free(g);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(letters_change_their_case),
                                       cmocka_unit_test(all_characters_are_changed_as_tensorflow_does)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
