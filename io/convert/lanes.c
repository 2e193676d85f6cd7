/* The outputs of a conversion: shards of one or two splits, or one file. Each lane has its own writer. */
#include "io/convert/lanes.h"
#include "base/text.h"
#include "io/compression.h"
#include "io/file_system.h"
#include "io/framing.h"
#include "io/record_sets/shards.h"
#include <inttypes.h>

/* ---- opening ---- */

static const char *lanes_text_of(const char *option) { return option ? option : ""; }

static void add_csv(hr__text *key, const hr_csv_opts *how)
{
    const hr_csv_opts o = HR_OPTIONS(hr_csv_opts, how);
    hr__text_printf(key, "%s %s %s %s %s %" PRId64 " %d %d %d\n", lanes_text_of(o.delimiter), lanes_text_of(o.na_value),
                    o.no_quotes ? "none" : lanes_text_of(o.quote), lanes_text_of(o.escape), lanes_text_of(o.comment),
                    o.skip_lines, o.fill_short_rows, o.cut_long_rows, o.check_utf8);
    for (int i = 0; i < o.na_value_count; i++) hr__text_printf(key, "missing %s\n", o.na_values[i]);
    hr__text_printf(key, "%" PRId64 " %d %d %d %s\n", o.skip_rows, o.keep_blank_lines, o.quoted_never_missing,
                    o.strings_never_missing, lanes_text_of(o.separator));
    for (int i = 0; i < o.true_value_count; i++) hr__text_printf(key, "true %s\n", o.true_values[i]);
    for (int i = 0; i < o.false_value_count; i++) hr__text_printf(key, "false %s\n", o.false_values[i]);
    hr__text_printf(key, "%d %d\n", o.no_header, o.names != NULL);
    for (int i = 0; i < o.name_count; i++) hr__text_printf(key, "column %s\n", o.names[i]);
    for (int i = 0; i < o.rename_count; i++) hr__text_printf(key, "rename %s\n", o.rename[i]);
    for (int i = 0; i < o.drop_count; i++) hr__text_printf(key, "drop %s\n", o.drop[i]);
}

/* All that decides what the rows are, so that no run continues with another's. */
static char *resume_key(const hr__convert_plan *plan)
{
    const hr_convert_opts *o = plan->opts;
    hr__text key = {0};
    for (int64_t i = 0; i < plan->inputs->count; i++) {
        hr_file_about about;
        hr__path_about(plan->inputs->path[i], &about);
        hr__text_printf(&key, "%s %" PRId64 " %" PRId64 "\n", plan->inputs->path[i], about.size, about.changed);
    }
    hr__text_printf(&key, "%s %s %s:%" PRId64 " %s\n", plan->from->name, plan->to->name, lanes_text_of(o->split_column),
                    o->split_folds, lanes_text_of(o->separator));
    if (o->csv) add_csv(&key, o->csv);
    for (int i = 0; o->schema && i < o->schema->fields; i++)
        hr__text_printf(&key, "%s %s\n", o->schema->field[i].name, hr_dtype_name(o->schema->field[i].dtype));
    if (o->max_rows) hr__text_printf(&key, "rows %" PRId64 "\n", o->max_rows);
    if (o->policy.on_error != HR_FAIL) hr__text_printf(&key, "longest %zu\n", o->max_record_bytes);
    for (int i = 0; i < o->require_count; i++) hr__text_printf(&key, "require %s\n", o->require[i]);
    return hr__text_take(&key);
}

/* ".tfrecord", ".csv.gz": the name of TFRecords never includes the compression. Gives. */
static char *suffix_of(const hr__convert_plan *plan, hr_compression compression)
{
    const char *extensions = plan->to->extensions;
    const hr_codec *codec = hr__codec_of(compression);
    hr__text suffix = {0};
    hr__text_bytes(&suffix, extensions, strcspn(extensions, " "));
    if (plan->to->is_text && codec && codec->extension) hr__text_add(&suffix, codec->extension);
    return hr__text_take(&suffix);
}

static hr_status open_shards(const hr__convert_plan *plan, hr__lanes *l, bool test, const hr_shard_writer_opts *opts,
                             hr_error *err)
{
    const hr_convert_opts *o = plan->opts;
    const char *prefix = o->split_column ? (test ? "test-" : "train-") : o->prefix ? o->prefix : "data-";
    hr__text path = {0};
    hr__text_printf(&path, "%s/%s", plan->out, prefix);
    hr_status st = hr__text_status(&path, "convert", err);
    if (st == HR_OK) st = hr_shard_writer_open_with(path.data, opts, &l->shards[l->writers], err);
    if (st == HR_OK) l->count[l->writers] = hr__shard_lanes(l->shards[l->writers]);
    if (st == HR_OK) l->all += l->count[l->writers++];
    hr__text_free(&path);
    return st;
}

static hr_shard_writer_opts shard_opts(const hr_convert_opts *o)
{
    return (hr_shard_writer_opts){.struct_size = sizeof(hr_shard_writer_opts),
                                  .compression = o->compression,
                                  .no_sync = o->no_sync,
                                  .index = o->index,
                                  .resume = o->resume,
                                  .cut_bytes = o->cut_bytes};
}

static hr_status open_all_shards(const hr__convert_plan *plan, hr__lanes *l, hr_error *err)
{
    const hr_convert_opts *o = plan->opts;
    hr_shard_writer_opts opts = shard_opts(o);
    opts.shards = o->shards;
    opts.max_shard_bytes = o->max_shard_bytes;
    if (!opts.compression) opts.compression = HR_NONE;
    char *key = resume_key(plan), *suffix = suffix_of(plan, opts.compression);
    opts.resume_key = key;
    opts.suffix = suffix;
    hr_status st = key && suffix ? HR_OK : hr_no_memory(err, "convert");
    if (st == HR_OK) st = open_shards(plan, l, false, &opts, err);
    if (st == HR_OK && o->split_column) st = open_shards(plan, l, true, &opts, err);
    hr_free(key);
    hr_free(suffix);
    return st;
}

/* One file is a shard of its own name. */
static hr_status lanes_open_file(const hr__convert_plan *plan, hr__lanes *l, hr_error *err)
{
    hr_shard_writer_opts opts = shard_opts(plan->opts);
    char *key = resume_key(plan);
    if (!key) return hr_no_memory(err, "convert");
    opts.resume_key = key;
    const hr_status st = hr__shard_file_open(plan->out, &opts, &l->shards[0], err);
    hr_free(key);
    if (st == HR_OK) l->writers = 1;
    return st;
}

static hr_status open_device(const hr__convert_plan *plan, hr__lanes *l, hr_error *err)
{
    const hr_convert_opts *o = plan->opts;
    const hr_output_opts opts = {.struct_size = sizeof opts, .compression = o->compression, .no_sync = o->no_sync};
    if (o->resume || o->index)
        return hr_fail(err, HR_INVALID_ARGUMENT, "convert.out",
                       "convert: expected a file or a folder for .resume and .index, got '%.80s'", plan->out);
    return hr_output_open_with(plan->out, &opts, &l->file, err);
}

static hr_status open_one(const hr__convert_plan *plan, hr__lanes *l, hr_error *err)
{
    const hr_convert_opts *o = plan->opts;
    if (o->shards > 1 || o->max_shard_bytes || o->split_column || o->prefix)
        return hr_fail(err, HR_INVALID_ARGUMENT, "convert.out",
                       "convert: expected a folder for shards, splits and .prefix, got one file, '%.80s'", plan->out);
    l->count[0] = l->all = 1;
    return hr_path_is_special(plan->out) ? open_device(plan, l, err) : lanes_open_file(plan, l, err);
}

/* What a format begins its files with. */
static hr_status lanes_write_head(const hr__convert_plan *plan, hr__lane *lane, hr_error *err)
{
    void *writer;
    hr_view head = {0};
    HR_TRY(plan->to->writer_new(plan, &writer, &head, err));
    hr_status st = HR_OK;
    if (head.size > 0)
        st = lane->file ? hr_output_write(lane->file, head.data, (size_t)head.size, err)
                        : hr__shard_begin(lane->shards, lane->number, head, err);
    plan->to->writer_free(writer);
    return st;
}

static hr_status open_lane(const hr__convert_plan *plan, hr__lanes *l, int i, hr_error *err)
{
    const bool second = i >= l->count[0];
    hr__lane *lane = &l->lane[i];
    *lane = (hr__lane){.shards = l->shards[second], .number = i - (second ? l->count[0] : 0), .file = l->file};
    return plan->to->write ? lanes_write_head(plan, lane, err) : HR_OK;
}

hr_status hr__lanes_open(const hr__convert_plan *plan, hr__lanes *l, hr_error *err)
{
    *l = (hr__lanes){0};
    const bool one = hr__convert_is_file(plan->out);
    HR_TRY(one ? open_one(plan, l, err) : open_all_shards(plan, l, err));
    l->lane = hr_calloc((size_t)l->all, sizeof *l->lane);
    if (!l->lane) return hr_no_memory(err, "convert");
    for (int i = 0; i < l->all; i++) HR_TRY(open_lane(plan, l, i, err));
    return HR_OK;
}

bool hr__lanes_have(const hr__lanes *l, int split, int64_t n)
{
    return !l->file && hr__shards_have(l->shards[split], n);
}

hr_status hr__lanes_note(hr__lanes *l, hr_error *err)
{
    for (int i = 0; i < l->writers; i++) HR_TRY(hr__shards_note(l->shards[i], err));
    return HR_OK;
}

/* ---- writing ---- */

void hr__lane_write(hr__lane *lane, const char *bytes, size_t size)
{
    lane->status = lane->file ? hr_output_write(lane->file, bytes, size, &lane->err)
                              : hr__shard_append(lane->shards, lane->number, bytes, size, &lane->err);
}

hr_status hr__lanes_commit(hr__lanes *l, hr_convert_result *result, hr_error *err)
{
    if (l->file) {
        hr_output *file = l->file;
        l->file = NULL;
        result->files = 1;
        return hr_output_commit(file, err);
    }
    const int writers = l->writers;
    for (int i = 0; i < writers; i++) result->resumed += hr__shards_kept(l->shards[i]);
    l->writers = 0;
    return hr__shards_commit(l->shards, writers, &result->files, err);
}

void hr__lanes_close(hr__lanes *l)
{
    hr_output_discard(l->file);
    for (int i = l->writers - 1; i >= 0; i--) hr_shard_writer_discard(l->shards[i]); /* the first made the folder */
    hr_free(l->lane);
    *l = (hr__lanes){0};
}
