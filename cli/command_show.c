/* headrace show: the records of files as lines of JSON. */
#include "cli/show_records.h"

static int show_run(command_call *call) { return show_records(call, INT64_MAX); }

static const flag flags[] = {SHOW_FLAGS("show at most N records; default: all"), {0}};

const command command_show = {
    .name = "show",
    .arguments = "FILE...",
    .summary = "shows the records of files as JSON lines",
    .text = "Shows Examples and SequenceExamples, one on each line. Rows of CSV and JSON are shown as the Examples "
            "that convert makes of them. " SHOW_TEXT,
    .examples = "  headrace show data/train-00000-of-00008.tfrecord | jq .tailnum\n"
                "  headrace show -n 3 --features age,words 'data/train-*'\n"
                "  headrace show people.tfrecord > people.jsonl\n"
                "  headrace show people.csv.gz --delimiter ';' -f age\n",
    .flags = flags,
    .min_arguments = 1,
    .max_arguments = -1,
    .run = show_run,
};
