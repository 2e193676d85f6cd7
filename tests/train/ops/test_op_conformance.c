/* Every op of the library goes through the conformance suite (<headrace/graph_op_conformance.h>), which knows it by its
 * descriptor alone, as it does one from outside.
 *
 * HEADRACE_ROUNDS says how many trials there are for each op, HEADRACE_FIRST which is the first; HEADRACE_OP=NAME checks
 * one op alone. */
#include "tests/testing.h"

#include "train/graph/graph_internal.h"

#include <headrace/graph_op_conformance.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_OPS = 1024, LARGEST = 1 << 24 /* bytes */ };

static bool reached[MAX_OPS]; /* by a gradient that has run */
static hr_graph_op_report report[MAX_OPS];
static const hr_graph_op *ops[MAX_OPS]; /* hr_graph_op_at(0), ... */
static int op_count;

static int find_ops(void **state)
{
    (void)state;
    while (op_count < MAX_OPS && (ops[op_count] = hr_graph_op_at(op_count))) op_count++;
    return 0;
}

/* Before main, after that of testing.c. */
__attribute__((constructor)) static void count_allocations(void)
{
    hr_conformance_count_allocations(&testing_allocator);
}

static int64_t asked(const char *name, int64_t otherwise)
{
    const char *text = getenv(name);
    return text ? strtoll(text, NULL, 10) : otherwise;
}

static bool is_asked(const hr_graph_op *op)
{
    const char *name = getenv("HEADRACE_OP");
    return !name || strcmp(name, op->name) == 0;
}

static void reach(const char *name, void *user)
{
    (void)user;
    for (int i = 0; i < op_count; i++)
        if (strcmp(ops[i]->name, name) == 0) reached[i] = true;
}

/* Ops whose derivative is not that of what they compute, or cannot be seen here. */
static const struct {
    const char *op, *why;
} no_differences[] = {
    {"StopGradient", "it has none on purpose"},
    {"PreventGradient", "it refuses to be derived"},
    {"ReadVariableOp", "its input is a variable, which is not fed"},
    {"ResourceGather", "its input is a variable, which is not fed"},
    {"ResourceGatherNd", "its input is a variable, which is not fed"},
    {"Headrace>EmbeddingLookupSparse", "its table is a variable, which is not fed"},
    {"TensorListGather", "of an element that is taken twice TensorFlow keeps one gradient"},
    {"TensorListScatter", "of two elements in one place TensorFlow derives both, though one is lost"},
    {"TensorListScatterV2", "of two elements in one place TensorFlow derives both, though one is lost"},
    {"TensorListScatterIntoExistingList", "of two elements in one place TensorFlow derives both, though one is lost"},
    {"TensorScatterUpdate", "of two updates in one place TensorFlow derives both, though one is lost"},
    {"TensorListResize", "its node does not say the type of its elements, so nothing here looks at them"},
    {"TensorArrayReadV3", "its tensors are in a resource of the run, which is not fed"},
    {"TensorArrayWriteV3", "its tensors are in a resource of the run, which is not fed"},
    {"TensorArrayGatherV3", "its tensors are in a resource of the run, which is not fed"},
    {"TensorArrayScatterV3", "its tensors are in a resource of the run, which is not fed"},
    {"TensorArrayConcatV3", "its tensors are in a resource of the run, which is not fed"},
    {"TensorArraySplitV3", "its tensors are in a resource of the run, which is not fed"},
    {"OptionalFromValue", "its output is a variant: golden gradients of cond_v2 have it"},
    {"OptionalGetValue", "its input is a variant, which is not fed"},
    {"SparseAdd", "of an index that is there twice it cannot say which sum was left out: test_sparse_reduce_ops.c"},
    {"DynamicStitch", "of two rows in one place TensorFlow derives both, though one is lost"},
    {"ParallelDynamicStitch", "of two rows in one place TensorFlow derives both, though one is lost"},
    {"Complex", "of complex numbers no differences are taken: test_complex_gradients.c"},
    {"Real", "of complex numbers no differences are taken: test_complex_gradients.c"},
    {"Imag", "of complex numbers no differences are taken: test_complex_gradients.c"},
    {"Angle", "of complex numbers no differences are taken: test_complex_gradients.c"},
    {"ComplexAbs", "of complex numbers no differences are taken: test_complex_gradients.c"},
    {"Conj", "of complex numbers no differences are taken: test_complex_gradients.c"},
    {"Polygamma", "its first input is a whole number: test_math_ops.c"},
    {"ClipByValue", "where the least is above the greatest, TensorFlow derives both"},
    {"RaggedGather", "no random splits fit: test_ragged_ops.c"},
    {"RaggedTensorToTensor", "no random partitions fit: test_ragged_ops.c"},
    {"ResizeBilinear", "it gives float32, of which no differences are taken: test_resize_ops.c"},
    {"ResizeBicubic", "it gives float32, of which no differences are taken: test_resize_ops.c"},
    {"CropAndResize", "it gives float32, of which no differences are taken: test_resize_ops.c"},
    {"FusedBatchNorm", "it takes float32, of which no differences are taken: golden cases have it"},
    {"FusedBatchNormV2", "it takes float32, of which no differences are taken: golden cases have it"},
    {"FusedBatchNormV3", "it takes float32, of which no differences are taken: golden cases have it"},
    {"BlockLSTM", "it takes float32, of which no differences are taken: test_lstm_ops.c"},
    {"BlockLSTMV2", "it takes float32, of which no differences are taken: test_lstm_ops.c"},
    {"GRUBlockCell", "it takes float32, of which no differences are taken: test_gru_ops.c"},
    {"RaggedGather", "its ranks, splits and indices must fit: test_ragged_ops.c"},
    {"LRN", "it takes float32, of which no differences are taken: golden cases have it"},
    {"QuantizeAndDequantizeV2", "it makes steps, and its derivative is as if it made none"},
    {"QuantizeAndDequantizeV3", "it makes steps, and its derivative is as if it made none"},
    {"SpaceToBatchND", "no random blocks fit: test_space_ops.c"},
    {"BatchToSpaceND", "no random blocks fit: test_space_ops.c"},
    {"MaxPoolGrad", "no random shapes fit: test_max_pools.c"},
    {"MaxPoolGradV2", "no random shapes fit: test_max_pools.c"},
    {"MaxPoolGradGrad", "no random shapes fit: test_max_pools.c"},
    {"MaxPoolGradGradV2", "no random shapes fit: test_max_pools.c"},
    {"AvgPoolGrad", "no random shapes fit; its derivative is AvgPool, which is compared"},
    {"DepthwiseConv2dNativeBackpropFilter", "no random shapes fit; it is DepthwiseConv2dNative's, which is compared"},
    {"DepthwiseConv2dNativeBackpropInput", "no random shapes fit; it is DepthwiseConv2dNative's, which is compared"},
    {"Conv2DBackpropFilter", "no random shapes fit; it and what it is made of are Conv2D's, which is compared"},
    {"Conv2DBackpropInput", "no random shapes fit; it and what it is made of are Conv2D's, which is compared"},
    {"Conv3DBackpropFilterV2", "no random shapes fit; it and what it is made of are Conv3D's, which is compared"},
    {"Conv3DBackpropInputV2", "no random shapes fit; it and what it is made of are Conv3D's, which is compared"},
    {"MaxPool3D", "it takes float32, of which no differences are taken: test_layer_ops.c"},
    {"AvgPool3D", "it takes float32, of which no differences are taken: test_layer_ops.c"},
    {"AvgPool3DGrad", "it takes float32, of which no differences are taken: test_layer_ops.c"},
    {"FakeQuantWithMinMaxArgs", "it makes steps, and its derivative is as if it made none"},
    {"SoftmaxCrossEntropyWithLogits", "TensorFlow derives its second output by the logits alone"},
};

static const char *why_no_differences(const char *op)
{
    for (size_t i = 0; i < sizeof no_differences / sizeof *no_differences; i++)
        if (strcmp(no_differences[i].op, op) == 0) return no_differences[i].why;
    return NULL;
}

/* Ops of which no random node has a result. */
static const struct {
    const char *op, *why;
} no_results[] = {
    {"BlockLSTM", "four values of the bias for each unit: test_lstm_ops.c"},
    {"BlockLSTMV2", "four values of the bias for each unit: test_lstm_ops.c"},
    {"BlockLSTMGrad", "four values of the bias for each unit: test_lstm_ops.c"},
    {"BlockLSTMGradV2", "four values of the bias for each unit: test_lstm_ops.c"},
    {"FixedUnigramCandidateSampler", "as many weights as classes: test_candidate_ops.c"},
    {"LSTMBlockCell", "four values of the bias for each unit: test_lstm_ops.c"},
    {"LSTMBlockCellGrad", "four values of the bias for each unit: test_lstm_ops.c"},
    {"FusedBatchNormV2", "images, and vectors of their channels"},
    {"FusedBatchNormGradV2", "images, and vectors of their channels"},
    {"FusedBatchNormV3", "images, and vectors of their channels"},
    {"RaggedGather", "its ranks, splits and indices must fit: test_ragged_ops.c"},
    {"RaggedTensorToTensor", "words that say what partitions are: test_ragged_ops.c"},
    {"DecodePng", "files of images: test_decode_ops.c"},
    {"DecodeJpeg", "files of images: test_decode_ops.c"},
    {"DecodeImage", "files of images: test_decode_ops.c"},
    {"ExtractJpegShape", "files of images: test_decode_ops.c"},
    {"SparseConcat", "indices, values and shapes of two sparse tensors"},
    {"SparseCross", "indices in order, of columns of as many rows"},
    {"SparseCrossV2", "indices in order, of columns of as many rows"},
    {"ResourceScatterNdAdd", "variable, indices and updates must fit, as of ResourceScatterNdSub: test_variables.c"},
    {"MutableDenseHashTable", "it gives a reference to a table, which is no value; else as MutableDenseHashTableV2"},
    {"ParseExampleV2", "four vectors and five lists must have the same lengths: test_parse_example_op.c, golden cases"},
    {"SaveV2", "names and parts of as many tensors: test_checkpoint_ops.c"},
    {"RestoreV2", "a checkpoint: test_checkpoint_ops.c"},
    {"MergeV2Checkpoints", "checkpoints: test_checkpoint_ops.c"},
    {"ImageSummary", "pictures of 1, 3 or 4 channels, and a colour: test_summary_ops.c"},
    {"WriteImageSummary", "pictures of 1, 3 or 4 channels, and a colour: test_summary_ops.c"},
    {"DeserializeSparse", "serialized tensors: test_sparse_bytes_ops.c"},
    {"DeserializeManySparse", "serialized tensors: test_sparse_bytes_ops.c"},
    {"ParseTensor", "a serialized tensor: test_bytes_ops.c"},
    {"ParseSequenceExample", "many lists must have the same lengths: test_parse_sequence_op.c"},
    {"ParseSequenceExampleV2", "many lists must have the same lengths: test_parse_sequence_op.c"},
    {"UnicodeDecode", "a word that says the encoding: test_unicode_ops.c"},
    {"UnicodeDecodeWithOffsets", "a word that says the encoding: test_unicode_ops.c"},
    {"UnicodeTranscode", "a word that says the encoding: test_unicode_ops.c"},
    {"SpaceToBatchND", "a block and edges must fit the shape: test_space_ops.c"},
    {"BatchToSpaceND", "a block and edges must fit the shape: test_space_ops.c"},
    {"Abort", "it ends the run: test_nodes.c"},
    {"MaxPoolGradGradV2", "two sizes and three tensors that fit each other: test_max_pools.c"},
    {"_FusedConv2D", "words that say what is fused: test_layer_passes.c"},
    {"_FusedMatMul", "words that say what is fused: test_layer_passes.c"},
    {"Headrace>LookupMatMul", "rows, tables and weights must fit each other: test_lookup_matmul.c"},
    {"Headrace>LookupMatMulGrad", "rows, tables and weights must fit each other: test_lookup_matmul.c"},
    {"Headrace>LookupSum", "rows and tables must fit each other: test_lookup_sum.c"},
    {"Headrace>LookupSumGrad", "rows and tables must fit each other: test_lookup_sum.c"},
};

static bool has_no_result(const char *op)
{
    for (size_t i = 0; i < sizeof no_results / sizeof *no_results; i++)
        if (strcmp(no_results[i].op, op) == 0) return true;
    return false;
}

/* Under TSan only what runs with threads; it does not look for a result. */
enum { ROUNDS = 16, CHECKS = UNDER_TSAN ? HR_CONFORM_RESULTS | HR_CONFORM_REPEATS : ~0 };

static unsigned checks_of(const char *op)
{
    return (unsigned)CHECKS & (why_no_differences(op) ? ~(unsigned)HR_CONFORM_DIFFERENCES : ~0u);
}

static void write_words(void)
{
    const char words[] = "0\t0\nw1\t10\n2\t20\nw3\t30\n";
    write_file("words", words, sizeof words - 1);
}

static void every_op_conforms(void **state)
{
    (void)state;
    int failed = 0;
    hr_graph_op_report all = {0};
    write_words();
    limit_allocation(LARGEST);
    for (int i = 0; i < op_count; i++) {
        const hr_graph_op *op = ops[i];
        hr_error err;
        const hr_graph_op_conformance_opts opts = {
            .struct_size = sizeof opts,
            .first = asked("HEADRACE_FIRST", UNDER_TSAN || has_no_result(op->name)), /* after 0: looks for no result */
            .trials = asked("HEADRACE_ROUNDS", ROUNDS),
            .checks = checks_of(op->name),
            .quick = true,
            .may_be_idle = true,
            .text_file = strstr(op->name, "FromTextFile") || strcmp(op->name, "ReadFile") == 0 ? "words" : NULL,
            .report = &report[i],
            .reached = reach,
        };
        if (!is_asked(op)) continue;
        if (hr_conformance_graph_op(op, &opts, &err) != HR_OK) print_message("%s: %s\n", err.kind, err.text), failed++;
        all.trials += report[i].trials;
        all.results += report[i].results;
        all.gradients += report[i].gradients;
        all.comparisons += report[i].comparisons;
        all.eager += report[i].eager;
    }
    print_message("%" PRId64 " trials: %" PRId64 " with a result, %" PRId64 " with a gradient; %" PRId64
                  " derivatives compared, %" PRId64 " results the same eagerly\n",
                  all.trials, all.results, all.gradients, all.comparisons, all.eager);
    assert_int_equal(failed, 0);
}

/* Its own trials have a result, or it ran in a gradient of another: no random node of Conv2DBackpropFilter has inputs
 * that fit. And what has a derivative was compared with differences. */
static void every_op_was_seen_at_work(void **state)
{
    (void)state;
    int idle = 0;
    if (asked("HEADRACE_FIRST", UNDER_TSAN) > 0) return;
    for (int i = 0; i < op_count; i++) {
        const hr_graph_op *op = ops[i];
        if (!is_asked(op) || op->traits & HR_CALLS) continue; /* their results are functions: test_control_flow.c */
        const bool worked = report[i].results > 0 || reached[i] || has_no_result(op->name);
        const bool compared = !op->gradient || report[i].comparisons > 0 || why_no_differences(op->name);
        if (!worked) print_message("%s: no trial has a result\n", op->name);
        if (!compared) print_message("%s: no derivative was compared\n", op->name);
        idle += !worked || !compared;
    }
    assert_int_equal(idle, 0);
}

/* TensorFlow's own, with or without a kernel here; and what is built in says none of its own for those. */
static void every_signature_is_read(void **state)
{
    static const char *const names[] = {
#define HR_OPDEF(name, inputs, outputs, attrs, flags) name,
#include "train/graph/opdefs.def"
#undef HR_OPDEF
    };
    (void)state;
    hr__arena signatures = {0};
    hr__signature *sig = hr__arena_get(&signatures, sizeof *sig);
    assert_non_null(sig);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        hr_error err = {0};
        const hr_graph_op bare = {.head = HR_GRAPH_OP_HEAD, .name = names[i]}, *op = hr_graph_op_named(names[i]);
        hr__opdef def;
        assert_true(hr__opdef_named(names[i], &def));
        assert_string_equal(def.name, names[i]);
        assert_ok(hr__signature_parse(&signatures, op ? op : &bare, &def, sig, &err), &err);
        if (op && (op->inputs || op->outputs || op->attrs)) fail_msg("%s has a signature of its own", names[i]);
    }
    hr__arena_free(&signatures);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_signature_is_read), cmocka_unit_test(every_op_conforms),
                                       cmocka_unit_test(every_op_was_seen_at_work)};
    return cmocka_run_group_tests(tests, find_ops, NULL);
}
