/* headrace shuffle: an order drawn from all permutations, of more records than memory holds. The work is
 * hr_shuffle_records. */
#include "cli/cli_records.h"

static int shuffle_run(command_call *call)
{
    hr_error err = {0};
    records_run r;
    hr_shuffle_records_opts o = {.struct_size = sizeof o};
    const char *out = flag_text(call, "output");
    if (!out) return usage_error(call, "--output is missing: the file, or the beginning of the shards' names");
    o.seed = (uint64_t)flag_number(call, "seed", 0);
    o.memory = flag_number(call, "memory", 0);
    o.temp = flag_text(call, "temp");
    if (flag_given(call, "memory") && o.memory < 1 << 20)
        return usage_error(call, "--memory: expected 1M or more, found \"%s\"", flag_text(call, "memory"));
    int code = read_records_flags(call, &out, 1, &r);
    if (code == 0) {
        hr_status st = begin_records_run(call, "shuffling", &r, &err);
        o.records = &r.opts;
        if (st == HR_OK) st = hr_shuffle_records_with(&r.files, r.out[0], &o, &r.report, &err);
        code = end_records_run(call, st, NULL, &r, &err);
    }
    clear_records_run(&r);
    return code;
}

static const flag flags[] = {
    {FLAG_TEXT, "output", 'o', "OUT", "a file, or the beginning of the shards' names"},
    {FLAG_NUMBER, "seed", 0, "N", "the seed of the order; default 0"},
    {FLAG_BYTES, "memory", 0, "SIZE", "memory for records; default 512M. It does not change the order"},
    {FLAG_TEXT, "temp", 0, "DIR", "folder for the temporary file; default: the output's"},
    RECORDS_FLAGS,
    {0},
};

const command command_shuffle = {
    .name = "shuffle",
    .arguments = "FILE...",
    .summary = "writes the records of TFRecord files in a random order",
    .text = "Writes all records of all files in one random order; every order is equally likely. If the records do "
            "not fit into memory, they go through a temporary file as large as they are. The order depends on the "
            "records and the seed alone." RECORDS_TEXT,
    .examples = "  headrace shuffle 'data/train-*' --output mixed/train --shards 16 --seed 7\n"
                "  headrace shuffle clicks.tfrecord -o mixed.tfrecord --memory 2G --temp /scratch\n",
    .flags = flags,
    .min_arguments = 1,
    .max_arguments = -1,
    .run = shuffle_run,
};
