/* headrace head: the first records of files as lines of JSON. */
#include "cli/show_records.h"

static int head_run(command_call *call) { return show_records(call, 10); }

static const flag flags[] = {SHOW_FLAGS("show at most N records; default 10"), {0}};

const command command_head = {
    .name = "head",
    .arguments = "FILE...",
    .summary = "shows the first records of files as JSON lines",
    .text = "Shows the first Examples or SequenceExamples, one on each line. Rows of CSV and JSON are shown as the "
            "Examples that convert makes of them. " SHOW_TEXT,
    .examples = "  headrace head -n 3 data/train-00000-of-00008.tfrecord\n"
                "  headrace head -n 100 'data/train-*' | jq .tailnum\n",
    .flags = flags,
    .min_arguments = 1,
    .max_arguments = -1,
    .run = head_run,
};
