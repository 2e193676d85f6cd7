/* headrace split: records dealt out to parts, by hash or in exact numbers. The work is hr_split_records. */
#include "cli/cli_records.h"
#include <stdlib.h>
#include <string.h>

enum { PARTS = 64 };

typedef struct plan {
    hr_split_part part[PARTS];
    int parts;
} plan;

/* "0.8,0.2": 0, or the exit code of a wrong command line. */
static int read_shares(const command_call *call, plan *p)
{
    const char *at = flag_text(call, "shares");
    double sum = 0;
    for (char *end = NULL; at && p->parts < PARTS; at = *end ? end + 1 : NULL) {
        const double share = strtod(at, &end);
        if (end == at || (*end && *end != ',') || !(share > 0 && share <= 1))
            return usage_error(call, "--shares: expected numbers above 0, as in 0.8,0.2, found \"%s\"", at);
        p->part[p->parts++].share = share;
        sum += share;
    }
    if (at) return usage_error(call, "--shares: expected at most %d of them", PARTS);
    if (sum < 1 - 1e-6 || sum > 1 + 1e-6)
        return usage_error(call, "--shares: expected numbers that sum to 1, found \"%s\", which is %.9g",
                           flag_text(call, "shares"), sum);
    return 0;
}

static int split(const command_call *call, plan *p)
{
    hr_error err = {0};
    records_run r;
    int outs;
    const char *const *out = flag_words(call, "output", &outs);
    if (outs != p->parts)
        return usage_error(call, "--output: expected %d names, one for each share, found %d", p->parts, outs);
    int code = read_records_flags(call, out, outs, &r);
    if (code == 0) {
        hr_status st = begin_records_run(call, "splitting", &r, &err);
        const hr_split_records_opts o = {.struct_size = sizeof o,
                                         .seed = (uint64_t)flag_number(call, "seed", 0),
                                         .by = flag_text(call, "by"),
                                         .exact = flag_given(call, "exact"),
                                         .records = &r.opts};
        for (int i = 0; i < p->parts; i++) p->part[i].out = r.out[i];
        if (o.exact) progress_first_pass(&r.bar, "counting, first of two passes");
        if (st == HR_OK) st = hr_split_records_with(&r.files, p->part, p->parts, &o, &r.report, &err);
        code = end_records_run(call, st, p->part, &r, &err);
    }
    clear_records_run(&r);
    return code;
}

static int split_run(command_call *call)
{
    plan p = {.parts = 0};
    if (!flag_given(call, "shares")) return usage_error(call, "--shares is missing: 0.8,0.2 for two parts");
    if (!flag_given(call, "output")) return usage_error(call, "--output is missing: train,test for two parts");
    if (flag_given(call, "by") && flag_given(call, "exact"))
        return usage_error(call, "--by and --exact: expected one of them, found both");
    int code = read_shares(call, &p);
    return code ? code : split(call, &p);
}

static const flag flags[] = {
    {FLAG_TEXT, "shares", 0, "X,Y", "the share of the records for each part; they sum to 1"},
    {FLAG_LIST, "output", 'o', "OUT,OUT", "the outputs of the parts, one name for each"},
    {FLAG_TEXT, "by", 0, "FEATURE", "split by the value of this feature: records with the same value stay together"},
    {FLAG_SWITCH, "exact", 0, NULL, "give each part its exact number of records; the files are read twice"},
    {FLAG_NUMBER, "seed", 0, "N", "the seed of the split; default 0"},
    RECORDS_FLAGS,
    {0},
};

const command command_split = {
    .name = "split",
    .arguments = "FILE...",
    .summary = "divides records into parts, as train and test",
    .text = "Chooses the part of a record by a hash of its bytes and the seed. So equal records stay together, new "
            "records do not change the part of old ones, and the sizes are close to the shares. With --by, the hash "
            "is of one feature's value, so that, for example, all records of a user are in one part. With --exact, "
            "each part gets exactly its share, drawn at random. Within a part, records keep their order." RECORDS_TEXT,
    .examples =
        "  headrace split 'data/*.tfrecord' --shares 0.8,0.2 --output train,test\n"
        "  headrace split clicks.tfrecord --shares 0.9,0.05,0.05 -o train.tfrecord,eval.tfrecord,test.tfrecord\n"
        "  headrace split 'data/*' --shares 0.8,0.2 -o split/train,split/test --by user --shards 8\n",
    .flags = flags,
    .min_arguments = 1,
    .max_arguments = -1,
    .run = split_run,
};
