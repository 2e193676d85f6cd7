/* headrace merge: records of several files into one, or into so many shards. The work is hr_merge_records. */
#include "cli/cli_records.h"

static int merge_run(command_call *call)
{
    hr_error err = {0};
    records_run r;
    const char *out = flag_text(call, "output");
    if (!out) return usage_error(call, "--output is missing: a file, or the beginning of the shards' names");
    int code = read_records_flags(call, &out, 1, &r);
    if (code == 0) {
        hr_status st = begin_records_run(call, "merging", &r, &err);
        if (st == HR_OK) st = hr_merge_records_with(&r.files, r.out[0], &r.opts, &r.report, &err);
        code = end_records_run(call, st, NULL, &r, &err);
    }
    clear_records_run(&r);
    return code;
}

static const flag flags[] = {
    {FLAG_TEXT, "output", 'o', "OUT", "a file, or the beginning of the shards' names"},
    RECORDS_FLAGS,
    {0},
};

const command command_merge = {
    .name = "merge",
    .arguments = "FILE...",
    .summary = "joins TFRecord files into one, or into other shards",
    .text = "Writes the records of all files, in order, to OUT. The files may have different compressions. Every "
            "checksum is verified." RECORDS_TEXT,
    .examples = "  headrace merge monday.tfrecord tuesday.tfrecord.gz -o week.tfrecord\n"
                "  headrace merge 'data/train-*' -o data/all --shards 16\n"
                "  headrace merge 'logs/*.gz' -o logs/part --max-shard-bytes 256M --compression GZIP\n",
    .flags = flags,
    .min_arguments = 1,
    .max_arguments = -1,
    .run = merge_run,
};
