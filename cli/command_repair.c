/* headrace repair: the good records of a damaged file into a new one. The work is hr_repair_records_with. */
#include "cli/cli_damage.h"
#include "cli/json_line.h"
#include <headrace/record_sets.h>
#include <string.h>

typedef struct repairing {
    damage lost; /* first: the user of both callbacks */
    progress bar;
} repairing;

static bool show_progress(const hr_progress *now, void *user)
{
    repairing *r = user;
    progress_count(&r->bar, -1, now->records, "records");
    return !interrupted();
}

static void repair_print_summary(const damage *lost, const hr_repair_report *report, const char *out)
{
    if (lost->json) {
        json_line line;
        json_begin(&line);
        json_count(&line, "records", report->records);
        json_count(&line, "errors", report->lost.errors);
        json_count(&line, "lost_bytes", report->lost.bytes);
        json_count(&line, "undecoded_bytes", report->lost.undecoded);
        json_end(&line);
        return;
    }
    FILE *to = lost->to ? lost->to : stdout;
    if (!report->lost.errors)
        fprintf(to, "%s records; nothing is damaged", with_commas(report->records));
    else
        fprintf(to, "%s records saved, %s damaged place%s with %s bytes lost", with_commas(report->records),
                with_commas(report->lost.errors), report->lost.errors == 1 ? "" : "s", with_commas(report->lost.bytes));
    print_undecoded(to, report->lost.undecoded);
    fprintf(to, "%s%s\n", out ? ", written to " : "", out ? out : "");
}

static int repair(const command_call *call, const char *out, hr_repair_opts *opts)
{
    hr_error err = {0};
    hr_repair_report report;
    const bool to_output = out && is_standard_output(out); /* the records are there: no word between them */
    repairing r = {.lost.json = flag_given(call, "json"), .lost.to = to_output ? stderr : NULL};
    opts->quarantine_file = flag_text(call, "quarantine");
    opts->on_damage = damage_tell;
    opts->progress = show_progress;
    opts->user = &r;
    char *path = (char *)(uintptr_t)call_argument(call, 0);
    catch_interrupt();
    progress_start(&r.bar, "repairing");
    hr_status st = need_tfrecords(&(hr_file_list){&path, 1}, &err);
    if (st == HR_OK) st = hr_repair_records_with(path, out, opts, &report, &err);
    progress_end(&r.bar);
    damage_end(&r.lost);
    if (st != HR_OK) return failed(call, &err);
    if (report.records == 0 && report.lost.errors > 0 && !opts->compression) damage_of_all(path, "input-compression");
    if (!to_output || report.lost.errors) repair_print_summary(&r.lost, &report, to_output ? NULL : out);
    return WORKED;
}

static int repair_run(command_call *call)
{
    hr_repair_opts opts = {.struct_size = sizeof opts, .max_record_bytes = flag_max_record(call)};
    const char *out = flag_text(call, "output");
    if (flag_given(call, "in-place") == (out && *out))
        return usage_error(call, out ? "--in-place and --output: expected one of them, found both"
                                     : "--output is missing: the file for the intact records; or give --in-place");
    if (!flag_compression(call, &opts.out_compression) ||
        !flag_compression_of(call, "input-compression", &opts.compression))
        return WRONG_USE;
    const int code = out ? check_output_name(call, out) : 0;
    if (code != 0) return code;
    if (out && is_standard_output(out) && flag_given(call, "json"))
        return usage_error(call, "--json: expected another --output than -, where the records go");
    return repair(call, out, &opts);
}

static const flag flags[] = {
    {FLAG_TEXT, "output", 'o', "OUT", "the file for the intact records, or -"},
    {FLAG_TEXT, "quarantine", 0, "FILE", "append what is lost to this file, with its bytes, as lines of JSON"},
    {FLAG_SWITCH, "in-place", 0, NULL, "replace the damaged file by the repaired one"},
    {FLAG_TEXT, "compression", 0, "TYPE", "default: by the name of OUT"},
    {FLAG_TEXT, "input-compression", 0, "TYPE",
     "the compression of FILE; default: by its first bytes, or by its name if they are damaged"},
    MAX_RECORD_FLAG,
    {FLAG_SWITCH, "json", 0, NULL, "print a line of JSON for each damage, and one for the total"},
    {0},
};

const command command_repair = {
    .name = "repair",
    .arguments = "FILE",
    .summary = "saves the intact records of a damaged TFRecord file",
    .text = "Writes every record of FILE whose checksums are right to OUT, and reports what is lost: which bytes, and "
            "why. After a damaged length it searches for the next intact record. A damaged gzip member (or zlib "
            "stream, or frame) gives its records up to the damage, and none after it, since a decoder repeats parts "
            "of earlier records there; repair continues with the next member. If the first bytes of a compressed file "
            "are damaged, its compression is known by its name (.gz, .zlib, .lz4, .zst) or by --input-compression. "
            "OUT appears when it is complete. With --in-place, FILE itself is replaced, but only if something was "
            "damaged.",
    .examples = "  headrace repair broken.tfrecord -o good.tfrecord\n"
                "  headrace repair --in-place --quarantine lost.jsonl train-00003.tfrecord.gz\n",
    .flags = flags,
    .min_arguments = 1,
    .max_arguments = 1,
    .run = repair_run,
};
