/* Neighbours of words, and characters by number: what TensorFlow 2.15.1 gave for the same inputs. */
#include "tests/train/ops/node_text.h"

#include <headrace/graph.h>
#include <headrace/graph_op.h>
#include <headrace/ops.h>

static void neighbours_of_words_are_texts(void **state)
{
    (void)state;
    EXPECT_NODE_WITH("StringNGrams", "string[4] 'a' 'bb' 'c' 'd'; int64[4] 0 1 1 4",
                     "string[7] 'L a' 'a R' 'L R' 'L bb' 'bb c' 'c d' 'd R'; int64[4] 0 2 3 7",
                     HR_STRING_ATTR("separator", " "), HR_INTS_ATTR("ngram_widths", HR_I64(2), 1),
                     HR_STRING_ATTR("left_pad", "L"), HR_STRING_ATTR("right_pad", "R"), HR_INT_ATTR("pad_width", -1),
                     HR_BOOL_ATTR("preserve_short_sequences", false));
    EXPECT_NODE_WITH(
        "StringNGrams", "string[4] 'a' 'bb' 'c' 'd'; int64[4] 0 1 1 4", "string[2] 'bb c' 'c d'; int64[4] 0 0 0 2",
        HR_STRING_ATTR("separator", " "), HR_INTS_ATTR("ngram_widths", HR_I64(2), 1), HR_STRING_ATTR("left_pad", "L"),
        HR_STRING_ATTR("right_pad", "R"), HR_INT_ATTR("pad_width", 0), HR_BOOL_ATTR("preserve_short_sequences", false));
    EXPECT_NODE_WITH("StringNGrams", "string[4] 'a' 'bb' 'c' 'd'; int64[4] 0 1 1 4",
                     "string[8] 'a' 'L a R' 'bb' 'c' 'd' 'L bb c' 'bb c d' 'c d R'; int64[4] 0 2 2 8",
                     HR_STRING_ATTR("separator", " "), HR_INTS_ATTR("ngram_widths", HR_I64(1, 3), 2),
                     HR_STRING_ATTR("left_pad", "L"), HR_STRING_ATTR("right_pad", "R"), HR_INT_ATTR("pad_width", 1),
                     HR_BOOL_ATTR("preserve_short_sequences", false));
    EXPECT_NODE_WITH("StringNGrams", "string[4] 'a' 'bb' 'c' 'd'; int64[4] 0 1 1 4", "string[0]; int64[4] 0 0 0 0",
                     HR_STRING_ATTR("separator", " "), HR_INTS_ATTR("ngram_widths", HR_I64(4), 1),
                     HR_STRING_ATTR("left_pad", "L"), HR_STRING_ATTR("right_pad", "R"), HR_INT_ATTR("pad_width", 0),
                     HR_BOOL_ATTR("preserve_short_sequences", false));
    EXPECT_NODE_WITH(
        "StringNGrams", "string[4] 'a' 'bb' 'c' 'd'; int64[4] 0 1 1 4", "string[2] 'a' 'bb c d'; int64[4] 0 1 1 2",
        HR_STRING_ATTR("separator", " "), HR_INTS_ATTR("ngram_widths", HR_I64(4), 1), HR_STRING_ATTR("left_pad", "L"),
        HR_STRING_ATTR("right_pad", "R"), HR_INT_ATTR("pad_width", 0), HR_BOOL_ATTR("preserve_short_sequences", true));
    EXPECT_NODE_WITH("StringNGrams", "string[4] 'a' 'bb' 'c' 'd'; int64[4] 0 1 1 4",
                     "string[2] 'L a R' 'L bb c d R'; int64[4] 0 1 1 2", HR_STRING_ATTR("separator", " "),
                     HR_INTS_ATTR("ngram_widths", HR_I64(6), 1), HR_STRING_ATTR("left_pad", "L"),
                     HR_STRING_ATTR("right_pad", "R"), HR_INT_ATTR("pad_width", 1),
                     HR_BOOL_ATTR("preserve_short_sequences", true));
    EXPECT_NODE_WITH("StringNGrams", "string[4] 'a' 'bb' 'c' 'd'; int64[4] 0 1 1 4",
                     "string[16] 'L L L L a' 'L L L a R' 'L L a R R' 'L a R R R' 'a R R R R' 'L L L L R' 'L L L R R' "
                     "'L L R R R' 'L R R R R' 'L L L L bb' 'L L L bb c' 'L L bb c d' 'L bb c d R' 'bb c d R R' 'c d R "
                     "R R' 'd R R R R'; int64[4] 0 5 9 16",
                     HR_STRING_ATTR("separator", " "), HR_INTS_ATTR("ngram_widths", HR_I64(5), 1),
                     HR_STRING_ATTR("left_pad", "L"), HR_STRING_ATTR("right_pad", "R"), HR_INT_ATTR("pad_width", -1),
                     HR_BOOL_ATTR("preserve_short_sequences", false));
    EXPECT_NODE_WITH("StringNGrams", "string[4] 'a' 'bb' 'c' 'd'; int64[4] 0 1 1 4",
                     "string[10] 'LLa' 'LaR' 'aRR' 'LLR' 'LRR' 'LLbb' 'Lbbc' 'bbcd' 'cdR' 'dRR'; int64[4] 0 3 5 10",
                     HR_STRING_ATTR("separator", ""), HR_INTS_ATTR("ngram_widths", HR_I64(3), 1),
                     HR_STRING_ATTR("left_pad", "L"), HR_STRING_ATTR("right_pad", "R"), HR_INT_ATTR("pad_width", -1),
                     HR_BOOL_ATTR("preserve_short_sequences", false));
    EXPECT_NODE_WITH("StringNGrams", "string[4] 'a' 'bb' 'c' 'd'; int64[4] 0 1 1 4", "string[0]; int64[4] 0 0 0 0",
                     HR_STRING_ATTR("separator", " "), HR_INTS_ATTR("ngram_widths", NULL, 0),
                     HR_STRING_ATTR("left_pad", "L"), HR_STRING_ATTR("right_pad", "R"), HR_INT_ATTR("pad_width", -1),
                     HR_BOOL_ATTR("preserve_short_sequences", false));
    EXPECT_NODE_WITH(
        "StringNGrams", "string[4] 'a' 'bb' 'c' 'd'; int64[4] 0 1 1 4", "string[2] 'a' 'bb c d'; int64[4] 0 1 1 2",
        HR_STRING_ATTR("separator", " "), HR_INTS_ATTR("ngram_widths", NULL, 0), HR_STRING_ATTR("left_pad", "L"),
        HR_STRING_ATTR("right_pad", "R"), HR_INT_ATTR("pad_width", 0), HR_BOOL_ATTR("preserve_short_sequences", true));
    EXPECT_NODE_WITH("StringNGrams", "string[4] 'a' 'bb' 'c' 'd'; int64[4] 0 1 1 4", NULL,
                     HR_STRING_ATTR("separator", " "), HR_INTS_ATTR("ngram_widths", NULL, 0),
                     HR_STRING_ATTR("left_pad", "L"), HR_STRING_ATTR("right_pad", "R"), HR_INT_ATTR("pad_width", -1),
                     HR_BOOL_ATTR("preserve_short_sequences", true));
    EXPECT_NODE_WITH("StringNGrams", "string[4] 'a' 'bb' 'c' 'd'; int64[4] 0 1 1 4", NULL,
                     HR_STRING_ATTR("separator", " "), HR_INTS_ATTR("ngram_widths", HR_I64(0), 1),
                     HR_STRING_ATTR("left_pad", "L"), HR_STRING_ATTR("right_pad", "R"), HR_INT_ATTR("pad_width", 0),
                     HR_BOOL_ATTR("preserve_short_sequences", false));
    EXPECT_NODE_WITH("StringNGrams", "string[4] 'a' 'bb' 'c' 'd'; int64[4] 0 1 1 4", NULL,
                     HR_STRING_ATTR("separator", " "), HR_INTS_ATTR("ngram_widths", HR_I64(0, 1), 2),
                     HR_STRING_ATTR("left_pad", "L"), HR_STRING_ATTR("right_pad", "R"), HR_INT_ATTR("pad_width", -1),
                     HR_BOOL_ATTR("preserve_short_sequences", false));
    EXPECT_NODE_WITH("StringNGrams", "string[4] 'a' 'bb' 'c' 'd'; int64[4] 0 1 1 4",
                     "string[21] '  a' ' a ' 'a  ' ' a' 'a ' 'a' '  ' '  ' ' ' '  bb' ' bb c' 'bb c d' 'c d ' 'd  ' ' "
                     "bb' 'bb c' 'c d' 'd ' 'bb' 'c' 'd'; int64[4] 0 6 9 21",
                     HR_STRING_ATTR("separator", " "), HR_INTS_ATTR("ngram_widths", HR_I64(3, 2, 1), 3),
                     HR_STRING_ATTR("left_pad", ""), HR_STRING_ATTR("right_pad", ""), HR_INT_ATTR("pad_width", -1),
                     HR_BOOL_ATTR("preserve_short_sequences", false));
    EXPECT_NODE_WITH("StringNGrams", "string[4] 'a' 'bb' 'c' 'd'; int64[4] 0 1 1 4",
                     "string[13] 'L L L a' 'L L a R' 'L a R R' 'a R R R' 'L L L R' 'L L R R' 'L R R R' 'L L L bb' 'L L "
                     "bb c' 'L bb c d' 'bb c d R' 'c d R R' 'd R R R'; int64[4] 0 4 7 13",
                     HR_STRING_ATTR("separator", " "), HR_INTS_ATTR("ngram_widths", HR_I64(4), 1),
                     HR_STRING_ATTR("left_pad", "L"), HR_STRING_ATTR("right_pad", "R"), HR_INT_ATTR("pad_width", 7),
                     HR_BOOL_ATTR("preserve_short_sequences", false));
    EXPECT_NODE_WITH(
        "StringNGrams", "string[4] 'a' 'bb' 'c' 'd'; int32[3] 0 3 4", "string[2] 'a bb' 'bb c'; int32[3] 0 2 2",
        HR_STRING_ATTR("separator", " "), HR_INTS_ATTR("ngram_widths", HR_I64(2), 1), HR_STRING_ATTR("left_pad", "L"),
        HR_STRING_ATTR("right_pad", "R"), HR_INT_ATTR("pad_width", 0), HR_BOOL_ATTR("preserve_short_sequences", false));
    EXPECT_NODE_WITH("StringNGrams", "string[4] 'a' 'bb' 'c' 'd'; int64[2] 1 4", NULL, HR_STRING_ATTR("separator", " "),
                     HR_INTS_ATTR("ngram_widths", HR_I64(2), 1), HR_STRING_ATTR("left_pad", "L"),
                     HR_STRING_ATTR("right_pad", "R"), HR_INT_ATTR("pad_width", -1),
                     HR_BOOL_ATTR("preserve_short_sequences", false));
    EXPECT_NODE_WITH("StringNGrams", "string[4] 'a' 'bb' 'c' 'd'; int64[3] 0 5 4", NULL,
                     HR_STRING_ATTR("separator", " "), HR_INTS_ATTR("ngram_widths", HR_I64(2), 1),
                     HR_STRING_ATTR("left_pad", "L"), HR_STRING_ATTR("right_pad", "R"), HR_INT_ATTR("pad_width", -1),
                     HR_BOOL_ATTR("preserve_short_sequences", false));
    EXPECT_NODE_WITH("StringNGrams", "string[4] 'a' 'bb' 'c' 'd'; int64[2] 0 3", NULL, HR_STRING_ATTR("separator", " "),
                     HR_INTS_ATTR("ngram_widths", HR_I64(2), 1), HR_STRING_ATTR("left_pad", "L"),
                     HR_STRING_ATTR("right_pad", "R"), HR_INT_ATTR("pad_width", -1),
                     HR_BOOL_ATTR("preserve_short_sequences", false));
    EXPECT_NODE_WITH("StringNGrams", "string[4] 'a' 'bb' 'c' 'd'; int64[4] 0 3 2 4", NULL,
                     HR_STRING_ATTR("separator", " "), HR_INTS_ATTR("ngram_widths", HR_I64(2), 1),
                     HR_STRING_ATTR("left_pad", "L"), HR_STRING_ATTR("right_pad", "R"), HR_INT_ATTR("pad_width", -1),
                     HR_BOOL_ATTR("preserve_short_sequences", false));
    EXPECT_NODE_WITH("StringNGrams", "string[4] 'a' 'bb' 'c' 'd'; int64[1] 0", NULL, HR_STRING_ATTR("separator", " "),
                     HR_INTS_ATTR("ngram_widths", HR_I64(2), 1), HR_STRING_ATTR("left_pad", "L"),
                     HR_STRING_ATTR("right_pad", "R"), HR_INT_ATTR("pad_width", -1),
                     HR_BOOL_ATTR("preserve_short_sequences", false));
    EXPECT_NODE_WITH("StringNGrams", "string[0]; int64[0]", "string[0]; int64[0]", HR_STRING_ATTR("separator", " "),
                     HR_INTS_ATTR("ngram_widths", HR_I64(2), 1), HR_STRING_ATTR("left_pad", "L"),
                     HR_STRING_ATTR("right_pad", "R"), HR_INT_ATTR("pad_width", -1),
                     HR_BOOL_ATTR("preserve_short_sequences", false));
    EXPECT_NODE_WITH("StringNGrams", "string[0]; int64[1] 0", "string[0]; int64[1] 0", HR_STRING_ATTR("separator", " "),
                     HR_INTS_ATTR("ngram_widths", HR_I64(2), 1), HR_STRING_ATTR("left_pad", "L"),
                     HR_STRING_ATTR("right_pad", "R"), HR_INT_ATTR("pad_width", -1),
                     HR_BOOL_ATTR("preserve_short_sequences", false));
    EXPECT_NODE_WITH("StringNGrams", "string[0]; int64[3] 0 0 0", "string[0]; int64[3] 0 0 0",
                     HR_STRING_ATTR("separator", " "), HR_INTS_ATTR("ngram_widths", HR_I64(2), 1),
                     HR_STRING_ATTR("left_pad", "L"), HR_STRING_ATTR("right_pad", "R"), HR_INT_ATTR("pad_width", -1),
                     HR_BOOL_ATTR("preserve_short_sequences", false));
}

static void characters_are_decoded_as_tensorflow_does(void **state)
{
    (void)state;
    EXPECT_NODE_WITH("UnicodeDecodeWithOffsets", "string[2] 'a\\xf5\\x80\\x80\\x80b' '\\xff\\xc0\\x80'",
                     "int64[3] 0 6 9; int32[9] 97 65533 65533 65533 65533 98 65533 65533 65533; "
                     "int64[9] 0 1 2 3 4 5 0 1 2",
                     HR_STRING_ATTR("input_encoding", "UTF-8"));
    EXPECT_NODE_WITH(
        "UnicodeDecodeWithOffsets",
        "string[17] 'a\\xe2\\x82' '\\xe2\\x82a' '\\xf0\\x90\\x80b' '\\xc0\\xafx' '\\xed\\xa0\\x80' "
        "'\\xf4\\x90\\x80\\x80' '\\xf8\\x88\\x80\\x80\\x80z' '\\x80\\x80' '\\xe0\\x80\\x80' '\\xef\\xbf\\xbf' "
        "'\\xf0\\x80' '\\xc2' '\\xef\\xbb\\xbfa' '' '\\xf0\\x9f\\x98\\x80e\\xcc\\x81' '\\xf5a' '\\xe1\\x80\\xc2\\x80'",
        "int64[18] 0 2 4 6 9 12 16 22 24 27 28 30 31 33 33 36 38 40; int32[40] 97 65533 65533 97 65533 98 65533 65533 "
        "120 65533 65533 65533 65533 65533 65533 65533 65533 65533 65533 65533 65533 122 65533 65533 65533 65533 65533 "
        "65535 65533 65533 65533 65279 97 128512 101 769 65533 97 65533 128; int64[40] 0 1 0 2 0 3 0 1 2 0 1 2 0 1 2 3 "
        "0 1 2 3 4 5 0 1 0 1 2 0 0 1 0 0 3 0 4 5 0 1 0 2",
        HR_STRING_ATTR("input_encoding", "UTF-8"));
    EXPECT_NODE_WITH(
        "UnicodeDecodeWithOffsets",
        "string[17] 'a\\xe2\\x82' '\\xe2\\x82a' '\\xf0\\x90\\x80b' '\\xc0\\xafx' '\\xed\\xa0\\x80' "
        "'\\xf4\\x90\\x80\\x80' '\\xf8\\x88\\x80\\x80\\x80z' '\\x80\\x80' '\\xe0\\x80\\x80' '\\xef\\xbf\\xbf' "
        "'\\xf0\\x80' '\\xc2' '\\xef\\xbb\\xbfa' '' '\\xf0\\x9f\\x98\\x80e\\xcc\\x81' '\\xf5a' '\\xe1\\x80\\xc2\\x80'",
        "int64[18] 0 1 2 3 4 4 4 5 5 5 6 6 6 8 8 11 12 13; int32[13] 97 97 98 120 122 65535 65279 97 128512 101 769 97 "
        "128; int64[13] 0 2 3 2 5 0 0 3 0 4 5 1 2",
        HR_STRING_ATTR("input_encoding", "utf8"), HR_STRING_ATTR("errors", "ignore"));
    EXPECT_NODE_WITH(
        "UnicodeDecode",
        "string[17] 'a\\xe2\\x82' '\\xe2\\x82a' '\\xf0\\x90\\x80b' '\\xc0\\xafx' '\\xed\\xa0\\x80' "
        "'\\xf4\\x90\\x80\\x80' '\\xf8\\x88\\x80\\x80\\x80z' '\\x80\\x80' '\\xe0\\x80\\x80' '\\xef\\xbf\\xbf' "
        "'\\xf0\\x80' '\\xc2' '\\xef\\xbb\\xbfa' '' '\\xf0\\x9f\\x98\\x80e\\xcc\\x81' '\\xf5a' '\\xe1\\x80\\xc2\\x80'",
        "int64[18] 0 2 4 6 9 12 16 22 24 27 28 30 31 33 33 36 38 40; int32[40] 97 63 63 97 63 98 63 63 120 63 63 63 63 "
        "63 63 63 63 63 63 63 63 122 63 63 63 63 63 65535 63 63 63 65279 97 128512 101 769 63 97 63 128",
        HR_STRING_ATTR("input_encoding", "UTF_8"), HR_INT_ATTR("replacement_char", 63));
    EXPECT_NODE_WITH(
        "UnicodeDecodeWithOffsets",
        "string[10] '\\xdc\\xdf\\xff\\x10\\x00\\x01\\xd8\\xff\\x00' '\\x00\\xdf' '\\xd8a\\x10\\x00\\x11\\xd8\\x00' "
        "'a\\xdc\\x00' '\\x00\\x00\\x00\\x11\\x11\\x01' '\\x00\\x00' '' '\\xd8\\x00\\x00' '\\xdf\\xd8\\x10\\xff' "
        "'\\xd8\\x00\\xd8a\\xdc\\x00\\xdfa\\x00\\x00'",
        "int64[11] 0 4 5 9 11 14 15 15 16 18 22; int32[22] 65533 65296 1 65533 223 65533 4096 4568 65533 25052 65533 0 "
        "17 4353 0 65533 65533 4351 65533 164864 65533 0; int64[22] 0 2 4 6 0 0 2 4 6 0 2 0 2 4 0 0 0 2 0 2 6 8",
        HR_STRING_ATTR("input_encoding", "UTF-16-BE"));
    EXPECT_NODE_WITH(
        "UnicodeDecodeWithOffsets",
        "string[10] '\\x00\\xdf\\xdc\\x11' '\\x00\\x11\\xff\\xdf\\x00\\xdc\\xdf\\xdc\\x01' '\\x00\\x01\\x01\\x00\\x00' "
        "'\\x00\\xdfa\\x00' 'a\\xdfa\\x11\\x00\\x01\\x00\\x00' '\\xd8\\x00\\xd8\\x01\\xdf\\x10\\xdf\\x10\\xdc' "
        "'\\x00\\x11\\xdf\\xdc\\x00a\\x00' '\\xdf\\x10\\x11' '\\x00\\xdf\\xdc\\x10\\x00' '\\xff\\xdf\\xdc\\x00'",
        "int64[11] 0 2 7 10 12 16 20 24 26 29 31; int32[31] 223 65533 17 65503 220 65533 65533 1 256 65533 223 24832 "
        "25055 24849 1 0 65533 67344 65533 65533 17 65533 97 65533 65533 65533 223 65533 65533 65503 65533; int64[31] "
        "0 2 0 2 4 6 8 0 2 4 0 2 0 2 4 6 0 2 6 8 0 2 4 6 0 2 0 2 4 0 2",
        HR_STRING_ATTR("input_encoding", "UTF-16-BE"));
    EXPECT_NODE_WITH("UnicodeDecodeWithOffsets",
                     "string[10] '\\xff' '\\xdc\\x01' '\\x00\\x00' '\\x10a\\x00\\xd8\\x11\\xdf\\xdc\\x01\\xff' "
                     "'\\x00\\x00\\xff\\x00\\x01\\xdf' '\\x00\\x11\\x00' 'a\\x00\\x00a\\xdf\\x00\\x00a\\xdc\\x00' "
                     "'\\x11\\x00\\x10\\x01\\x01\\xdf\\x01' '\\xdc\\x01a\\x00' 'a'",
                     "int64[11] 0 1 2 3 7 10 12 17 21 23 24; int32[24] 65533 476 0 24848 66321 476 65533 0 255 65533 "
                     "4352 65533 97 24832 223 24832 220 17 272 65533 65533 476 97 65533; int64[24] 0 0 0 0 2 6 8 0 2 4 "
                     "0 2 0 2 4 6 8 0 2 4 6 0 2 0",
                     HR_STRING_ATTR("input_encoding", "utf-16le"));
    EXPECT_NODE_WITH(
        "UnicodeDecodeWithOffsets",
        "string[10] '\\x00\\xff\\x01\\xdf\\x00\\x00\\x01\\xdc' '\\x10\\x10\\xdf\\x00\\xdf\\x11\\xff\\x00' "
        "'\\xdf\\x10\\xff\\xdc' '\\xdc\\xdc\\xdf\\xff\\x00\\x11\\x00' '\\x10\\xdc\\xdf\\xff\\xdc\\x01\\xdc' "
        "'\\xff\\xff\\xdf\\xdf\\xdc\\xff\\xdfa' '\\x00\\x01\\xdf\\xdf\\x10' '\\x10\\x00' '\\xdf\\x01\\xdc' '\\xff'",
        "int64[11] 0 4 8 10 14 18 22 25 26 28 29; int32[29] 65280 65533 0 65533 4112 223 4575 255 4319 65533 65533 "
        "65503 4352 65533 65533 65503 476 65533 65535 65533 65500 25055 256 65533 65533 16 479 65533 65533; int64[29] "
        "0 2 4 6 0 2 4 6 0 2 0 2 4 6 0 2 4 6 0 2 4 6 0 2 4 0 0 2 0",
        HR_STRING_ATTR("input_encoding", "utf-16le"));
    EXPECT_NODE_WITH(
        "UnicodeDecodeWithOffsets",
        "string[10] '\\x00\\x11\\x11\\x10\\xffa' '\\x11\\x10\\xff\\xdc' '' '\\x00\\x11\\x01' "
        "'\\xff\\x00\\xd8\\xff\\x00\\xff\\x00\\x01\\xd8' '\\x00\\x00' '\\xdf' '\\x01\\xd8' "
        "'\\x00a\\x01\\xdfa\\xff\\x11\\x00' '\\xd8\\xd8\\xdf\\x00\\xdfa\\xdca\\x00'",
        "int64[11] 0 3 5 5 7 12 13 14 15 19 23; int32[23] 17 4368 65377 4368 65500 17 65533 65280 65533 255 1 65533 0 "
        "65533 472 97 479 25087 4352 287488 65533 65533 65533; int64[23] 0 2 4 0 2 0 2 0 2 4 6 8 0 0 0 0 2 4 6 0 4 6 8",
        HR_STRING_ATTR("input_encoding", "UTF-16"));
    EXPECT_NODE_WITH(
        "UnicodeDecodeWithOffsets",
        "string[10] '\\xdf\\x00\\x10\\x11\\xdc\\x00\\xdc\\x10' '\\xdf\\x11\\xdc\\xdf\\x00aa\\x11' "
        "'\\x10\\xdf\\x01\\x00\\x00\\x11a\\x11\\x01\\xd8' '\\x11\\x00' '\\xff\\x00a\\x00\\xdf' "
        "'\\x11\\x10\\x00\\xdf\\xff\\x11aaa' '\\x01\\xdc\\x01' 'a\\x00\\x11\\x11\\xdc\\xdc' "
        "'\\xdca\\x00\\xdf\\xdc\\x01\\xdc' '\\x01\\x00'",
        "int64[11] 0 4 8 13 14 17 22 24 27 31 32; int32[32] 65533 4113 65533 65533 65533 65533 97 24849 4319 256 17 "
        "24849 472 4352 65280 24832 65533 4368 223 65297 24929 65533 476 65533 24832 4369 65533 65533 223 65533 65533 "
        "256; int64[32] 0 2 4 6 0 2 4 6 0 2 4 6 8 0 0 2 4 0 2 4 6 8 0 2 0 2 4 0 2 4 6 0",
        HR_STRING_ATTR("input_encoding", "UTF-16"));
    EXPECT_NODE_WITH(
        "UnicodeDecodeWithOffsets",
        "string[10] '\\xff' '\\x01\\xd8\\xdc\\x00\\x00a\\x00\\x01\\x10' '\\xdc\\xd8\\x01\\x00\\xd8\\x01\\xdc\\x00' "
        "'\\xdc\\x01\\x11\\x01' '\\xff\\x11\\x00\\x00\\x00\\xdc\\xdc\\x10' '\\x11\\xdc\\x10\\x00\\x01' "
        "'\\xdf\\xff\\x11\\x00\\x00' '' '\\x10\\x01\\xff\\x00' '\\x10\\xd8\\x00aa\\x11\\x11\\xff\\xff\\x01'",
        "int64[11] 0 1 4 6 7 9 11 13 13 14 17; int32[17] 65533 65533 65533 65533 65533 65533 65533 65533 65533 65533 "
        "65533 65533 65533 65533 65533 65533 65533; int64[17] 0 0 4 8 0 4 0 0 4 0 4 0 4 0 0 4 8",
        HR_STRING_ATTR("input_encoding", "UTF-32-BE"));
    EXPECT_NODE_WITH("UnicodeDecodeWithOffsets",
                     "string[10] '\\x01a\\xff\\xd8\\xdc\\x01' '\\xdc' '' '\\x11\\xdc\\xff\\x01\\xdc\\x00' '\\x01\\x10' "
                     "'\\xdf\\x10\\x00a\\x11\\x10\\x00' '\\xd8' '\\x00\\x00\\xff\\x00' 'a\\x00a\\x01\\x00' '\\x00'",
                     "int64[11] 0 2 3 3 5 6 8 9 10 12 13; int32[13] 65533 65533 65533 65533 65533 65533 65533 65533 "
                     "65533 65533 65533 65533 65533; int64[13] 0 4 0 0 4 0 0 4 0 0 0 4 0",
                     HR_STRING_ATTR("input_encoding", "UTF32LE"));
    EXPECT_NODE_WITH(
        "UnicodeDecodeWithOffsets",
        "string[10] '\\x11\\xff\\x00' '\\xdc\\x01' '\\x00\\x11' 'a\\x00' '\\x11' '\\x00\\x10\\x00' "
        "'a\\x00\\xdc\\x00\\x11\\x11\\x00a\\x11\\x00' '' '\\x00\\xdf\\xff\\x11\\x01\\x01' '\\xff\\xdf\\x00\\x00\\xdc'",
        "int64[11] 0 1 2 3 4 5 6 9 9 11 13; int32[13] 65533 65533 65533 65533 65533 65533 65533 65533 65533 65533 "
        "65533 65533 65533; int64[13] 0 0 0 0 0 0 0 4 8 0 4 0 4",
        HR_STRING_ATTR("input_encoding", "UTF-32"));
    EXPECT_NODE_WITH("UnicodeDecodeWithOffsets", "string[1] '\\xff\\xfea\\x00b\\x00'",
                     "int64[2] 0 2; int32[2] 97 98; int64[2] 0 4", HR_STRING_ATTR("input_encoding", "UTF-16"));
    EXPECT_NODE_WITH("UnicodeDecodeWithOffsets", "string[1] '\\xfe\\xff\\x00a\\x00b'",
                     "int64[2] 0 2; int32[2] 97 98; int64[2] 0 4", HR_STRING_ATTR("input_encoding", "UTF-16"));
    EXPECT_NODE_WITH("UnicodeDecodeWithOffsets", "string[1] '\\xff\\xfea'", "int64[2] 0 1; int32[1] 65533; int64[1] 0",
                     HR_STRING_ATTR("input_encoding", "UTF-16"));
    EXPECT_NODE_WITH("UnicodeDecodeWithOffsets", "string[1] '\\xff\\xfe\\xff\\xfea\\x00'",
                     "int64[2] 0 2; int32[2] 65279 97; int64[2] 0 4", HR_STRING_ATTR("input_encoding", "UTF-16"));
    EXPECT_NODE_WITH("UnicodeDecodeWithOffsets", "string[1] '\\xff\\xfe=\\xd8\\x00\\xde'",
                     "int64[2] 0 1; int32[1] 128512; int64[1] 0", HR_STRING_ATTR("input_encoding", "UTF-16"));
    EXPECT_NODE_WITH("UnicodeDecodeWithOffsets", "string[1] '\\xff\\xfe\\x00\\x00a\\x00\\x00\\x00b\\x00\\x00\\x00'",
                     "int64[2] 0 2; int32[2] 97 98; int64[2] 0 8", HR_STRING_ATTR("input_encoding", "UTF-32"));
    EXPECT_NODE_WITH("UnicodeDecodeWithOffsets", "string[1] '\\x00\\x00\\xfe\\xff\\x00\\x00\\x00a\\x00\\x00\\x00b'",
                     "int64[2] 0 2; int32[2] 97 98; int64[2] 0 8", HR_STRING_ATTR("input_encoding", "UTF-32"));
    EXPECT_NODE_WITH("UnicodeDecodeWithOffsets", "string[1] '\\xff\\xfe\\x00\\x00\\x01'",
                     "int64[2] 0 1; int32[1] 65533; int64[1] 0", HR_STRING_ATTR("input_encoding", "UTF-32"));
    EXPECT_NODE_WITH("UnicodeDecode", "string[1] 'a\\x01\\x09b'", "int64[2] 0 4; int32[4] 97 65533 65533 98",
                     HR_STRING_ATTR("input_encoding", "UTF-8"), HR_STRING_ATTR("errors", "replace"),
                     HR_BOOL_ATTR("replace_control_characters", true));
    EXPECT_NODE_WITH("UnicodeDecode", "string[2] 'a\\x80b' 'c'", "int64[3] 0 3 4; int32[4] 97 65533 98 99",
                     HR_STRING_ATTR("input_encoding", "UTF-8"), HR_STRING_ATTR("errors", "replace"));
    EXPECT_NODE_WITH("UnicodeDecode", "string[1] 'a\\x01\\x09b'", "int64[2] 0 2; int32[2] 97 98",
                     HR_STRING_ATTR("input_encoding", "UTF-8"), HR_STRING_ATTR("errors", "ignore"),
                     HR_BOOL_ATTR("replace_control_characters", true));
    EXPECT_NODE_WITH("UnicodeDecode", "string[2] 'a\\x80b' 'c'", "int64[3] 0 2 3; int32[3] 97 98 99",
                     HR_STRING_ATTR("input_encoding", "UTF-8"), HR_STRING_ATTR("errors", "ignore"));
    EXPECT_NODE_WITH("UnicodeDecode", "string[1] 'a\\x01\\x09b'", "int64[2] 0 4; int32[4] 97 65533 65533 98",
                     HR_STRING_ATTR("input_encoding", "UTF-8"), HR_STRING_ATTR("errors", "strict"),
                     HR_BOOL_ATTR("replace_control_characters", true));
    EXPECT_NODE_WITH("UnicodeDecode", "string[2] 'a\\x80b' 'c'", NULL, HR_STRING_ATTR("input_encoding", "UTF-8"),
                     HR_STRING_ATTR("errors", "strict"));
    EXPECT_NODE_WITH("UnicodeDecode", "string[2,2] 'ab' '' 'c' 'd'", "int64[5] 0 2 2 3 4; int32[4] 97 98 99 100",
                     HR_STRING_ATTR("input_encoding", "UTF-8"));
    EXPECT_NODE_WITH("UnicodeDecode", "string[] 'ab'", "int64[2] 0 2; int32[2] 97 98",
                     HR_STRING_ATTR("input_encoding", "UTF-8"));
    EXPECT_NODE_WITH("UnicodeDecode", "string[0]", "int64[1] 0; int32[0]", HR_STRING_ATTR("input_encoding", "UTF-8"));
    EXPECT_NODE_WITH("UnicodeDecode", "string[1] '\\xff'", NULL, HR_STRING_ATTR("input_encoding", "UTF-8"),
                     HR_INT_ATTR("replacement_char", -1));
    EXPECT_NODE_WITH("UnicodeDecode", "string[1] '\\xff'", NULL, HR_STRING_ATTR("input_encoding", "UTF-8"),
                     HR_INT_ATTR("replacement_char", 1114112));
    EXPECT_NODE_WITH("UnicodeDecode", "string[1] '\\xff'", "int64[2] 0 1; int32[1] 55296",
                     HR_STRING_ATTR("input_encoding", "UTF-8"), HR_INT_ATTR("replacement_char", 55296));
    EXPECT_NODE_WITH("UnicodeDecode", "string[1] 'a'", NULL, HR_STRING_ATTR("input_encoding", "nope"));
    EXPECT_NODE_WITH("UnicodeDecode", "string[1] 'a'", NULL, HR_STRING_ATTR("input_encoding", ""));
    EXPECT_NODE_WITH("UnicodeDecode", "string[1] 'a'", NULL, HR_STRING_ATTR("input_encoding", "UTF"));
    EXPECT_NODE_WITH("UnicodeDecode", "string[1] 'a'", NULL, HR_STRING_ATTR("input_encoding", "UTF-8x"));
}

static void characters_are_encoded_as_tensorflow_does(void **state)
{
    (void)state;
    EXPECT_NODE_WITH(
        "UnicodeEncode",
        "int32[15] 97 233 8364 128512 55296 1114112 -5 65535 64976 55357 56832 131071 0 56320 55357; int64[4] 0 4 4 15",
        "string[3] 'a\\xc3\\xa9\\xe2\\x82\\xac\\xf0\\x9f\\x98\\x80' '' "
        "'\\xef\\xbf\\xbd\\xef\\xbf\\xbd\\xef\\xbf\\xbd\\xef\\xbf\\xbd\\xef\\xbf\\xbd\\xef\\xbf\\xbd\\xef\\xbf\\xbd\\xe"
        "f\\xbf\\xbd\\x00\\xef\\xbf\\xbd\\xef\\xbf\\xbd'",
        HR_STRING_ATTR("output_encoding", "UTF-8"), HR_STRING_ATTR("errors", "replace"));
    EXPECT_NODE_WITH(
        "UnicodeEncode",
        "int32[15] 97 233 8364 128512 55296 1114112 -5 65535 64976 55357 56832 131071 0 56320 55357; int64[4] 0 4 4 15",
        "string[3] 'a\\xc3\\xa9\\xe2\\x82\\xac\\xf0\\x9f\\x98\\x80' '' "
        "'\\xef\\xbf\\xbd\\xef\\xbf\\xbf\\xef\\xb7\\x90\\xf0\\x9f\\x98\\x80\\xf0\\x9f\\xbf\\xbf\\x00\\xef\\xbf\\xbd\\xe"
        "f\\xbf\\xbd'",
        HR_STRING_ATTR("output_encoding", "UTF-8"), HR_STRING_ATTR("errors", "ignore"));
    EXPECT_NODE_WITH("UnicodeEncode", "int32[1] 55296; int64[2] 0 1", "string[1] '\\xef\\xbf\\xbd'",
                     HR_STRING_ATTR("output_encoding", "UTF-8"), HR_STRING_ATTR("errors", "replace"),
                     HR_INT_ATTR("replacement_char", 55296));
    EXPECT_NODE_WITH(
        "UnicodeEncode",
        "int32[15] 97 233 8364 128512 55296 1114112 -5 65535 64976 55357 56832 131071 0 56320 55357; int64[4] 0 4 4 15",
        "string[3] '\\x00a\\x00\\xe9 \\xac\\xd8=\\xde\\x00' '' "
        "'\\xff\\xfd\\xff\\xfd\\xff\\xfd\\xff\\xfd\\xff\\xfd\\xff\\xfd\\xff\\xfd\\xff\\xfd\\x00\\x00\\xff\\xfd\\xff\\xf"
        "d'",
        HR_STRING_ATTR("output_encoding", "UTF-16-BE"), HR_STRING_ATTR("errors", "replace"));
    EXPECT_NODE_WITH(
        "UnicodeEncode",
        "int32[15] 97 233 8364 128512 55296 1114112 -5 65535 64976 55357 56832 131071 0 56320 55357; int64[4] 0 4 4 15",
        "string[3] '\\x00a\\x00\\xe9 \\xac\\xd8=\\xde\\x00' '' "
        "'\\xd8\\x00\\xff\\xff\\xfd\\xd0\\xd8=\\xde\\x00\\xd8?\\xdf\\xff\\x00\\x00\\xdc\\x00\\xd8='",
        HR_STRING_ATTR("output_encoding", "UTF-16-BE"), HR_STRING_ATTR("errors", "ignore"));
    EXPECT_NODE_WITH("UnicodeEncode", "int32[1] 55296; int64[2] 0 1", "string[1] '\\xd8\\x00'",
                     HR_STRING_ATTR("output_encoding", "UTF-16-BE"), HR_STRING_ATTR("errors", "replace"),
                     HR_INT_ATTR("replacement_char", 55296));
    EXPECT_NODE_WITH(
        "UnicodeEncode",
        "int32[15] 97 233 8364 128512 55296 1114112 -5 65535 64976 55357 56832 131071 0 56320 55357; int64[4] 0 4 4 15",
        "string[3] '\\x00\\x00\\x00a\\x00\\x00\\x00\\xe9\\x00\\x00 \\xac\\x00\\x01\\xf6\\x00' '' "
        "'\\x00\\x00\\xff\\xfd\\x00\\x00\\xff\\xfd\\x00\\x00\\xff\\xfd\\x00\\x00\\xff\\xfd\\x00\\x00\\xff\\xfd\\x00\\x0"
        "0\\xff\\xfd\\x00\\x00\\xff\\xfd\\x00\\x00\\xff\\xfd\\x00\\x00\\x00\\x00\\x00\\x00\\xff\\xfd\\x00\\x00\\xff\\xf"
        "d'",
        HR_STRING_ATTR("output_encoding", "UTF-32-BE"), HR_STRING_ATTR("errors", "replace"));
    EXPECT_NODE_WITH(
        "UnicodeEncode",
        "int32[15] 97 233 8364 128512 55296 1114112 -5 65535 64976 55357 56832 131071 0 56320 55357; int64[4] 0 4 4 15",
        "string[3] '\\x00\\x00\\x00a\\x00\\x00\\x00\\xe9\\x00\\x00 \\xac\\x00\\x01\\xf6\\x00' '' "
        "'\\x00\\x00\\xd8\\x00\\x00\\x00\\xff\\xff\\x00\\x00\\xfd\\xd0\\x00\\x01\\xf6\\x00\\x00\\x01\\xff\\xff\\x00\\x0"
        "0\\x00\\x00\\x00\\x00\\xdc\\x00\\x00\\x00\\xd8='",
        HR_STRING_ATTR("output_encoding", "UTF-32-BE"), HR_STRING_ATTR("errors", "ignore"));
    EXPECT_NODE_WITH("UnicodeEncode", "int32[1] 55296; int64[2] 0 1", "string[1] '\\x00\\x00\\xd8\\x00'",
                     HR_STRING_ATTR("output_encoding", "UTF-32-BE"), HR_STRING_ATTR("errors", "replace"),
                     HR_INT_ATTR("replacement_char", 55296));
    EXPECT_NODE_WITH("UnicodeEncode", "int32[4] 97 233 8364 128512; int32[3] 0 1 4",
                     "string[2] 'a' '\\xc3\\xa9\\xe2\\x82\\xac\\xf0\\x9f\\x98\\x80'",
                     HR_STRING_ATTR("output_encoding", "UTF-8"), HR_STRING_ATTR("errors", "strict"));
    EXPECT_NODE_WITH("UnicodeEncode", "int32[1] 55296; int64[2] 0 1", NULL, HR_STRING_ATTR("output_encoding", "UTF-8"),
                     HR_STRING_ATTR("errors", "strict"));
    EXPECT_NODE_WITH("UnicodeEncode", "int32[1] 1114112; int64[2] 0 1", NULL,
                     HR_STRING_ATTR("output_encoding", "UTF-8"), HR_STRING_ATTR("errors", "strict"));
    EXPECT_NODE_WITH("UnicodeEncode", "int32[1] 65535; int64[2] 0 1", NULL, HR_STRING_ATTR("output_encoding", "UTF-8"),
                     HR_STRING_ATTR("errors", "strict"));
    EXPECT_NODE_WITH("UnicodeEncode", "int32[1] 64976; int64[2] 0 1", NULL, HR_STRING_ATTR("output_encoding", "UTF-8"),
                     HR_STRING_ATTR("errors", "strict"));
    EXPECT_NODE_WITH("UnicodeEncode", "int32[1] -1; int64[2] 0 1", NULL, HR_STRING_ATTR("output_encoding", "UTF-8"),
                     HR_STRING_ATTR("errors", "strict"));
    EXPECT_NODE_WITH("UnicodeEncode", "int32[1] 97; int64[0]", NULL, HR_STRING_ATTR("output_encoding", "UTF-8"));
    EXPECT_NODE_WITH("UnicodeEncode", "int32[1] 97; int64[1] 0", NULL, HR_STRING_ATTR("output_encoding", "UTF-8"));
    EXPECT_NODE_WITH("UnicodeEncode", "int32[1] 97; int64[2] 1 1", NULL, HR_STRING_ATTR("output_encoding", "UTF-8"));
    EXPECT_NODE_WITH("UnicodeEncode", "int32[1] 97; int64[2] 0 2", NULL, HR_STRING_ATTR("output_encoding", "UTF-8"));
    EXPECT_NODE_WITH("UnicodeEncode", "int32[1] 97; int64[4] 0 1 0 1", NULL,
                     HR_STRING_ATTR("output_encoding", "UTF-8"));
    EXPECT_NODE_WITH("UnicodeEncode", "int32[1] 97; int64[3] 0 5 1", NULL, HR_STRING_ATTR("output_encoding", "UTF-8"));
    EXPECT_NODE_WITH("UnicodeEncode", "int32[1] 97; int64[2] 0 1", NULL, HR_STRING_ATTR("output_encoding", "UTF-8"),
                     HR_INT_ATTR("replacement_char", 1114112));
    EXPECT_NODE_WITH("UnicodeTranscode", "string[1,1] 'a\\xff\\xe2\\x82\\xac\\x07'",
                     "string[1,1] 'a\\xef\\xbf\\xbd\\xe2\\x82\\xac\\x07'", HR_STRING_ATTR("input_encoding", "UTF-8"),
                     HR_STRING_ATTR("output_encoding", "UTF-8"));
    EXPECT_NODE_WITH("UnicodeTranscode", "string[1,1] 'a\\xff\\xe2\\x82\\xac\\x07'",
                     "string[1,1] '\\x00a\\xff\\xfd \\xac\\x00\\x07'", HR_STRING_ATTR("input_encoding", "UTF-8"),
                     HR_STRING_ATTR("output_encoding", "UTF-16-BE"));
    EXPECT_NODE_WITH("UnicodeTranscode", "string[1,1] 'a\\xff\\xe2\\x82\\xac\\x07'",
                     "string[1,1] '\\x00\\x00\\x00a\\x00\\x00\\xff\\xfd\\x00\\x00 \\xac\\x00\\x00\\x00\\x07'",
                     HR_STRING_ATTR("input_encoding", "UTF-8"), HR_STRING_ATTR("output_encoding", "UTF-32-BE"));
    EXPECT_NODE_WITH("UnicodeTranscode", "string[1] 'a\\xff\\xe2\\x82\\xac\\x07'", "string[1] 'a\\xe2\\x82\\xac'",
                     HR_STRING_ATTR("input_encoding", "UTF-8"), HR_STRING_ATTR("output_encoding", "UTF-8"),
                     HR_STRING_ATTR("errors", "ignore"), HR_BOOL_ATTR("replace_control_characters", true));
    EXPECT_NODE_WITH("UnicodeTranscode", "string[1] 'a\\xff\\xe2\\x82\\xac\\x07'", NULL,
                     HR_STRING_ATTR("input_encoding", "UTF-8"), HR_STRING_ATTR("output_encoding", "UTF-8"),
                     HR_STRING_ATTR("errors", "strict"), HR_BOOL_ATTR("replace_control_characters", true));
    EXPECT_NODE_WITH("UnicodeTranscode", "string[1,1] '\\x00a\\xd8\\x00\\x00b'", "string[1,1] 'a\\xef\\xbf\\xbdb'",
                     HR_STRING_ATTR("input_encoding", "UTF-16-BE"), HR_STRING_ATTR("output_encoding", "UTF-8"));
    EXPECT_NODE_WITH("UnicodeTranscode", "string[1,1] '\\x00a\\xd8\\x00\\x00b'", "string[1,1] '\\x00a\\xff\\xfd\\x00b'",
                     HR_STRING_ATTR("input_encoding", "UTF-16-BE"), HR_STRING_ATTR("output_encoding", "UTF-16-BE"));
    EXPECT_NODE_WITH("UnicodeTranscode", "string[1,1] '\\x00a\\xd8\\x00\\x00b'",
                     "string[1,1] '\\x00\\x00\\x00a\\x00\\x00\\xff\\xfd\\x00\\x00\\x00b'",
                     HR_STRING_ATTR("input_encoding", "UTF-16-BE"), HR_STRING_ATTR("output_encoding", "UTF-32-BE"));
    EXPECT_NODE_WITH("UnicodeTranscode", "string[1] '\\x00a\\xd8\\x00\\x00b'", "string[1] 'ab'",
                     HR_STRING_ATTR("input_encoding", "UTF-16-BE"), HR_STRING_ATTR("output_encoding", "UTF-8"),
                     HR_STRING_ATTR("errors", "ignore"), HR_BOOL_ATTR("replace_control_characters", true));
    EXPECT_NODE_WITH("UnicodeTranscode", "string[1] '\\x00a\\xd8\\x00\\x00b'", NULL,
                     HR_STRING_ATTR("input_encoding", "UTF-16-BE"), HR_STRING_ATTR("output_encoding", "UTF-8"),
                     HR_STRING_ATTR("errors", "strict"), HR_BOOL_ATTR("replace_control_characters", true));
    EXPECT_NODE_WITH("UnicodeTranscode", "string[1,1] '\\xf0\\x9f\\x98\\x80\\xed\\xa0\\x80'",
                     "string[1,1] '\\xf0\\x9f\\x98\\x80\\xef\\xbf\\xbd\\xef\\xbf\\xbd\\xef\\xbf\\xbd'",
                     HR_STRING_ATTR("input_encoding", "UTF-8"), HR_STRING_ATTR("output_encoding", "UTF-8"));
    EXPECT_NODE_WITH("UnicodeTranscode", "string[1,1] '\\xf0\\x9f\\x98\\x80\\xed\\xa0\\x80'",
                     "string[1,1] '\\xd8=\\xde\\x00\\xff\\xfd\\xff\\xfd\\xff\\xfd'",
                     HR_STRING_ATTR("input_encoding", "UTF-8"), HR_STRING_ATTR("output_encoding", "UTF-16-BE"));
    EXPECT_NODE_WITH("UnicodeTranscode", "string[1,1] '\\xf0\\x9f\\x98\\x80\\xed\\xa0\\x80'",
                     "string[1,1] '\\x00\\x01\\xf6\\x00\\x00\\x00\\xff\\xfd\\x00\\x00\\xff\\xfd\\x00\\x00\\xff\\xfd'",
                     HR_STRING_ATTR("input_encoding", "UTF-8"), HR_STRING_ATTR("output_encoding", "UTF-32-BE"));
    EXPECT_NODE_WITH("UnicodeTranscode", "string[1] '\\xf0\\x9f\\x98\\x80\\xed\\xa0\\x80'",
                     "string[1] '\\xf0\\x9f\\x98\\x80'", HR_STRING_ATTR("input_encoding", "UTF-8"),
                     HR_STRING_ATTR("output_encoding", "UTF-8"), HR_STRING_ATTR("errors", "ignore"),
                     HR_BOOL_ATTR("replace_control_characters", true));
    EXPECT_NODE_WITH("UnicodeTranscode", "string[1] '\\xf0\\x9f\\x98\\x80\\xed\\xa0\\x80'", NULL,
                     HR_STRING_ATTR("input_encoding", "UTF-8"), HR_STRING_ATTR("output_encoding", "UTF-8"),
                     HR_STRING_ATTR("errors", "strict"), HR_BOOL_ATTR("replace_control_characters", true));
    EXPECT_NODE_WITH("UnicodeTranscode", "string[1] 'a\\x07'", NULL, HR_STRING_ATTR("input_encoding", "UTF-8"),
                     HR_STRING_ATTR("output_encoding", "UTF-8"), HR_STRING_ATTR("errors", "strict"),
                     HR_BOOL_ATTR("replace_control_characters", true));
    EXPECT_NODE_WITH("UnicodeTranscode", "string[2] 'a\\x07' ''", "string[2] 'a\\x07' ''",
                     HR_STRING_ATTR("input_encoding", "UTF-8"), HR_STRING_ATTR("output_encoding", "UTF-8"),
                     HR_STRING_ATTR("errors", "strict"));
    EXPECT_NODE_WITH("UnicodeTranscode", "string[1] '\\xff\\xff'", "string[1] '\\xd8\\x00\\xd8\\x00'",
                     HR_STRING_ATTR("input_encoding", "UTF-8"), HR_STRING_ATTR("output_encoding", "UTF-16-BE"),
                     HR_INT_ATTR("replacement_char", 55296));
    EXPECT_NODE_WITH("UnicodeTranscode", "string[1] 'a'", NULL, HR_STRING_ATTR("input_encoding", "nope"),
                     HR_STRING_ATTR("output_encoding", "UTF-8"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(neighbours_of_words_are_texts),
        cmocka_unit_test(characters_are_decoded_as_tensorflow_does),
        cmocka_unit_test(characters_are_encoded_as_tensorflow_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
