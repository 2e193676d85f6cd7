/* What merge, shuffle and split share: the files of the command line, where records go, the bar, the summary. */
#ifndef RECORDS_COMMAND_H
#define RECORDS_COMMAND_H

#include "cli/command.h"
#include <headrace/record_sets.h>

#define RECORDS_FLAGS                                                                                                  \
    {FLAG_COUNT, "shards", 0, "N", "write N shards; record i goes to shard i mod N"},                                  \
        {FLAG_BYTES, "max-shard-bytes", 0, "SIZE", "write shards of at most SIZE bytes, one after the other"},         \
        {FLAG_TEXT, "compression", 0, "TYPE", "default: by the name, else none"}, MAX_RECORD_FLAG,                     \
    {                                                                                                                  \
        FLAG_SWITCH, "json", 0, NULL, "the summary as a line of JSON"                                                  \
    }

/* For the text of their help. */
#define RECORDS_TEXT                                                                                                   \
    "\n\nAn output with an extension is one file, out.tfrecord or out.tfrecord.gz. With --shards or "                  \
    "--max-shard-bytes, or without an extension, it is the beginning of names: out-00000-of-00004.tfrecord. The "      \
    "output appears when it is complete, and replaces an existing file. A FILE may be a pattern in quotes; - is "      \
    "standard input."

typedef struct records_run {
    hr_file_list files;
    char **out; /* the library's names of the outputs: a file each, or the beginning of shards' names */
    int outs;
    char *suffix;
    hr_output_opts output;
    hr_shard_writer_opts shards;
    hr_records_opts opts;
    progress bar;
    hr_records_report report;
    double started;
} records_run;

/* Reads the flags above and the names. 0, or the exit code of a wrong command line; clear_records_run also then. */
int read_records_flags(const command_call *call, const char *const *outs, int count, records_run *run);
/* Finds the files that the arguments mean, and begins: the bar is drawn, Ctrl-C asks for an end. */
hr_status begin_records_run(const command_call *call, const char *title, records_run *run, hr_error *err);
/* Says what came of it: gives the exit code. The counts of `parts` are said, too; NULL: there are none. */
int end_records_run(const command_call *call, hr_status st, const hr_split_part *parts, records_run *run,
                    const hr_error *err);
void clear_records_run(records_run *run);

#endif
