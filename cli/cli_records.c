/* Merge, shuffle and split differ in one call of the library; all around it is here. */
#include "cli/cli_records.h"
#include "cli/json_line.h"
#include <inttypes.h>
#include <string.h>

/* ---- names of outputs ---- */

static const char *extension_of(const char *out)
{
    const char *slash = strrchr(out, '/'), *base = slash ? slash + 1 : out;
    const char *extension = strstr(base, ".tfrecord");
    if (!extension) extension = strrchr(base, '.');
    return extension && extension > base ? extension : out + strlen(out);
}

static bool is_sharded(const command_call *call, const char *out)
{
    if (flag_given(call, "shards") || flag_given(call, "max-shard-bytes")) return true;
    return !*extension_of(out) && !hr_path_is_special(out);
}

/* "out.tfrecord.gz" as shards is "out-" and ".tfrecord.gz". */
static char *prefix_of(const char *out)
{
    const size_t size = (size_t)(extension_of(out) - out);
    char *prefix = hr_malloc(size + 2);
    if (prefix) snprintf(prefix, size + 2, "%.*s-", (int)size, out);
    return prefix;
}

static int cli_records_read_names(const command_call *call, const char *const *outs, int count, records_run *r)
{
    const bool sharded = is_sharded(call, outs[0]);
    const char *suffix = extension_of(outs[0]);
    r->out = hr_calloc((size_t)count, sizeof *r->out);
    r->suffix = hr_strdup(*suffix ? suffix : ".tfrecord");
    for (r->outs = 0; r->out && r->outs < count; r->outs++) {
        const char *out = outs[r->outs];
        if (!*out || out[strlen(out) - 1] == '/')
            return usage_error(call, "expected a name for the output, found \"%s\"", out);
        const int code = check_output_name(call, out);
        if (code != 0) return code;
        if (is_sharded(call, out) != sharded || (sharded && strcmp(extension_of(out), suffix) != 0))
            return usage_error(call, "expected outputs with one extension, found \"%s\" and \"%s\"", outs[0], out);
        r->out[r->outs] = sharded ? prefix_of(out) : hr_strdup(out);
    }
    if (sharded) r->opts.shards = &r->shards;
    return 0;
}

int read_records_flags(const command_call *call, const char *const *outs, int count, records_run *r)
{
    hr_compression compression;
    const int64_t shards = flag_number(call, "shards", 0);
    *r = (records_run){0};
    if (!flag_compression(call, &compression)) return WRONG_USE;
    if (shards > 10000) return usage_error(call, "--shards: expected at most 10000, found %" PRId64, shards);
    if (shards && flag_given(call, "max-shard-bytes"))
        return usage_error(call, "--shards and --max-shard-bytes: expected one of them, found both");
    const int code = cli_records_read_names(call, outs, count, r);
    r->output = (hr_output_opts){.struct_size = sizeof r->output, .compression = compression};
    r->shards = (hr_shard_writer_opts){.struct_size = sizeof r->shards, .compression = compression};
    r->shards.shards = (int)shards;
    r->shards.max_shard_bytes = flag_number(call, "max-shard-bytes", 0);
    r->shards.suffix = r->suffix;
    r->opts.max_record_bytes = flag_max_record(call);
    return code;
}

/* ---- running ---- */

static bool cli_records_show(const hr_progress *now, void *user)
{
    progress *p = user;
    progress_count(p, now->total > 0 ? (double)now->bytes / (double)now->total : -1, now->records, "records");
    return !interrupted();
}

hr_status begin_records_run(const command_call *call, const char *title, records_run *r, hr_error *err)
{
    bool named = r->out && r->suffix;
    for (int i = 0; i < r->outs; i++) named &= r->out[i] != NULL;
    if (!named) return hr_no_memory(err, "names of files");
    r->opts.struct_size = sizeof r->opts;
    r->opts.output = &r->output;
    r->opts.progress = cli_records_show;
    r->opts.user = &r->bar;
    r->started = now_seconds();
    catch_interrupt();
    progress_start(&r->bar, title);
    HR_TRY(match_arguments(call, call_arguments(call), &r->files, err));
    return need_tfrecords(&r->files, err);
}

static void cli_records_print_summary(const records_run *r, const hr_split_part *parts, double seconds)
{
    printf("%s record%s of %" PRId64 " file%s, %s, in %.2f s\n", with_commas(r->report.records),
           r->report.records == 1 ? "" : "s", r->files.count, r->files.count == 1 ? "" : "s",
           human_bytes((double)r->report.bytes), seconds);
    if (r->report.trailing_zeros)
        printf("%s zero bytes after compressed data\n", with_commas(r->report.trailing_zeros));
    if (r->report.spilled) printf("%s went through a temporary file\n", human_bytes((double)r->report.spilled));
    for (int i = 0; i < r->outs; i++) {
        const char *rest = r->opts.shards ? "*" : "";
        if (parts)
            printf("  %s%s%s: %s records\n", r->out[i], rest, r->opts.shards ? r->suffix : "",
                   with_commas(parts[i].records));
        else
            printf("  %s%s%s\n", r->out[i], rest, r->opts.shards ? r->suffix : "");
    }
}

static void cli_records_print_as_json(const records_run *r, const hr_split_part *parts, double seconds)
{
    json_line top;
    json_begin(&top);
    json_count(&top, "files", r->files.count);
    json_count(&top, "records", r->report.records);
    json_count(&top, "record_bytes", r->report.bytes);
    json_count(&top, "trailing_zeros", r->report.trailing_zeros);
    json_count(&top, "spilled_bytes", r->report.spilled);
    json_number(&top, "seconds", seconds);
    if (parts) json_open(&top, "parts", '[');
    for (int i = 0; parts && i < r->outs; i++) {
        json_open(&top, NULL, '{');
        json_text(&top, "output", r->out[i]);
        json_count(&top, "records", parts[i].records);
        json_close(&top, '}');
    }
    if (parts) json_close(&top, ']');
    json_end(&top);
}

int end_records_run(const command_call *call, hr_status st, const hr_split_part *parts, records_run *r,
                    const hr_error *err)
{
    const double seconds = now_seconds() - r->started;
    bool to_output = false; /* the records are there: no word between them */
    for (int i = 0; i < r->outs; i++) to_output |= is_standard_output(r->out[i]);
    progress_end(&r->bar);
    if (st != HR_OK) return failed(call, err);
    if (to_output) return WORKED;
    if (flag_given(call, "json"))
        cli_records_print_as_json(r, parts, seconds);
    else
        cli_records_print_summary(r, parts, seconds);
    return WORKED;
}

void clear_records_run(records_run *r)
{
    for (int i = 0; i < r->outs; i++) hr_free(r->out[i]);
    hr_free(r->out);
    hr_free(r->suffix);
    hr_file_list_clear(&r->files);
}
