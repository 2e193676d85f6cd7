/* The operators that a `pipeline:` section may name, and their options. Operators that take a user's function are not
 * among them. To add one, write a function and a line of the table. */
#include "feature_columns/files/pipeline_steps.h"

static const char *const compressions[] = {"AUTO", "NONE", "GZIP", "ZLIB", "LZ4", "ZSTD", NULL};
static const char *const policies[] = {"fail", "skip", "resync", NULL};
static const char *const formats[] = {[HR_FORMAT_BY_NAME] = "auto",
                                      [HR_FORMAT_TFRECORD] = "tfrecord",
                                      [HR_FORMAT_JSON] = "jsonl",
                                      [HR_FORMAT_CSV] = "csv",
                                      NULL};
enum { TFRECORDS, TEXT_LINES };
static const char *const readers[] = {[TFRECORDS] = "tfrecord", [TEXT_LINES] = "text_lines", NULL};

/* ---- sources ---- */

static hr_dataset *source_fixed_length_records(const hr__given *o)
{
    return hr_fixed_length_records(o[0].path, o[1].number, .header_bytes = o[2].number, .footer_bytes = o[3].number,
                                   .compression = (hr_compression)o[4].number);
}
static hr_dataset *source_idx(const hr__given *o)
{
    return hr_idx(o[0].path, .compression = (hr_compression)o[1].number);
}
static hr_dataset *source_list_files(const hr__given *o)
{
    return hr_list_files(o[0].path, .shuffle = o[1].flag, .seed = o[2].seed, .extended = o[3].flag);
}
static hr_dataset *source_load(const hr__given *o) { return hr_load(o[0].path); }
static hr_dataset *source_range(const hr__given *o)
{
    return hr_range(o[0].number, .start = o[1].number, .step = o[2].number);
}
static hr_dataset *source_sharded_records(const hr__given *o)
{
    return hr_sharded_records(o[0].path, o[1].number, o[2].number);
}
static hr_dataset *source_shuffled_records(const hr__given *o)
{
    return hr_shuffled_records(o[0].path, .seed = o[1].seed, .same_each_epoch = o[2].flag);
}
static hr_dataset *source_text_lines(const hr__given *o)
{
    return hr_text_lines(o[0].path, .compression = (hr_compression)o[1].number);
}
static hr_dataset *source_tfrecord(const hr__given *o)
{
    return hr_tfrecord(o[0].path, .compression = (hr_compression)o[1].number,
                       .policy.on_error = (hr_on_error)o[2].number, .first = o[3].number,
                       .count = o[4].node ? &o[4].number : NULL);
}

/* ---- operators ---- */

static hr_dataset *put_assert_cardinality(hr_dataset *in, const hr__given *o)
{
    return hr_assert_cardinality(in, o[0].number);
}
static hr_dataset *pipeline_steps_put_batch(hr_dataset *in, const hr__given *o)
{
    return hr_batch(in, o[0].number, .drop_remainder = o[1].flag, .unordered = o[2].flag);
}
static hr_dataset *put_cache(hr_dataset *in, const hr__given *o)
{
    return hr_cache(in, .file = o[0].path, .max_bytes = (size_t)o[1].number);
}
static hr_dataset *put_enumerate(hr_dataset *in, const hr__given *o) { return hr_enumerate(in, .start = o[0].number); }
static hr_dataset *put_ignore_errors(hr_dataset *in, const hr__given *o)
{
    return hr_ignore_errors(in, .log_warning = o[0].flag);
}
static hr_dataset *put_interleave(hr_dataset *in, const hr__given *o)
{
    return hr_interleave(in, o[3].number == TEXT_LINES ? hr_text_lines_fn : hr_tfrecord_fn, NULL,
                         .cycle_length = o[0].number, .block_length = o[1].number, .unordered = o[2].flag);
}
static hr_dataset *put_options(hr_dataset *in, const hr__given *o)
{
    return hr_options(in, .tf_compat = o[0].flag, .seed = o[1].seed, .unordered = o[2].flag);
}
static hr_dataset *put_pad_to_cardinality(hr_dataset *in, const hr__given *o)
{
    return hr_pad_to_cardinality(in, o[0].number, .mask_key = o[1].text);
}
static hr_dataset *put_padded_batch(hr_dataset *in, const hr__given *o)
{
    return hr_padded_batch(in, o[0].number, .drop_remainder = o[1].flag);
}
static hr_dataset *put_prefetch(hr_dataset *in, const hr__given *o)
{
    return hr_prefetch(in, o[0].node ? o[0].number : HR_AUTOTUNE);
}
static hr_dataset *put_ragged_batch(hr_dataset *in, const hr__given *o)
{
    return hr_ragged_batch(in, o[0].number, .drop_remainder = o[1].flag);
}
static hr_dataset *put_rebatch(hr_dataset *in, const hr__given *o)
{
    return hr_rebatch(in, o[0].number, .drop_remainder = o[1].flag);
}
static hr_dataset *put_repeat(hr_dataset *in, const hr__given *o)
{
    return hr_repeat(in, .count = o[0].node ? &o[0].number : NULL);
}
static hr_dataset *put_sample_by_weight(hr_dataset *in, const hr__given *o)
{
    return hr_sample_by_weight(in, o[0].text, .seed = o[1].seed, .same_each_epoch = o[2].flag);
}
static hr_dataset *put_shard(hr_dataset *in, const hr__given *o) { return hr_shard(in, o[0].number, o[1].number); }
static hr_dataset *put_shuffle(hr_dataset *in, const hr__given *o)
{
    return hr_shuffle(in, o[0].number, .seed = o[1].seed, .same_each_epoch = o[2].flag);
}
static hr_dataset *put_shuffle_and_repeat(hr_dataset *in, const hr__given *o)
{
    return hr_shuffle_and_repeat(in, o[0].number, .count = o[1].number, .seed = o[2].seed);
}
static hr_dataset *put_skip(hr_dataset *in, const hr__given *o) { return hr_skip(in, o[0].number); }
static hr_dataset *put_snapshot(hr_dataset *in, const hr__given *o) { return hr_snapshot(in, o[0].path); }
static hr_dataset *put_take(hr_dataset *in, const hr__given *o) { return hr_take(in, o[0].number); }
static hr_dataset *put_unbatch(hr_dataset *in, const hr__given *o) { return (void)o, hr_unbatch(in); }
static hr_dataset *put_unique(hr_dataset *in, const hr__given *o) { return (void)o, hr_unique(in); }
static hr_dataset *put_window(hr_dataset *in, const hr__given *o)
{
    return hr_window(in, o[0].number, .shift = o[1].number, .stride = o[2].number, .drop_remainder = o[3].flag);
}

/* ---- the table ---- */

#define NEED(word, what)                                                                                               \
    {                                                                                                                  \
        .name = word, .kind = HR__OPTION_##what, .needed = true                                                        \
    }
#define MAY(word, what)                                                                                                \
    {                                                                                                                  \
        .name = word, .kind = HR__OPTION_##what                                                                        \
    }
#define ONE_OF(word, list)                                                                                             \
    {                                                                                                                  \
        .name = word, .kind = HR__OPTION_WORD, .words = list                                                           \
    }

const hr__pipeline_step hr__pipeline_steps[] = {
    {"assert_cardinality", {NEED("cardinality", NUMBER)}, .put = put_assert_cardinality},
    {"batch",
     {NEED("batch_size", NUMBER), MAY("drop_remainder", FLAG), MAY("unordered", FLAG)},
     .put = pipeline_steps_put_batch},
    {"cache", {MAY("file", PATH), MAY("max_bytes", NUMBER)}, .put = put_cache},
    {"csv",
     {NEED("pattern", PATTERN), MAY("delimiter", TEXT), MAY("na_value", TEXT), MAY("no_header", FLAG),
      ONE_OF("compression", compressions), ONE_OF("on_error", policies)},
     .make = hr__pipeline_csv,
     .first = true},
    {"enumerate", {MAY("start", NUMBER)}, .put = put_enumerate},
    {"example_rows",
     {NEED("pattern", PATTERN), ONE_OF("format", formats), MAY("delimiter", TEXT), MAY("na_value", TEXT),
      ONE_OF("compression", compressions), ONE_OF("on_error", policies)},
     .make = hr__pipeline_example_rows,
     .first = true},
    {"filter",
     {NEED("feature", TEXT), MAY("equals", TEXT), MAY("at_least", TEXT), MAY("below", TEXT)},
     .make = hr__pipeline_filter},
    {"fixed_length_records",
     {NEED("pattern", PATTERN), NEED("record_bytes", NUMBER), MAY("header_bytes", NUMBER), MAY("footer_bytes", NUMBER),
      ONE_OF("compression", compressions)},
     .source = source_fixed_length_records},
    {"idx", {NEED("pattern", PATTERN), ONE_OF("compression", compressions)}, .source = source_idx},
    {"ignore_errors", {MAY("log_warning", FLAG)}, .put = put_ignore_errors},
    {"interleave",
     {MAY("cycle_length", NUMBER), MAY("block_length", NUMBER), MAY("unordered", FLAG), ONE_OF("of", readers)},
     .put = put_interleave},
    {"jsonl",
     {NEED("pattern", PATTERN), ONE_OF("compression", compressions), ONE_OF("on_error", policies)},
     .make = hr__pipeline_jsonl,
     .first = true},
    {"list_files",
     {NEED("pattern", PATTERN), MAY("shuffle", FLAG), MAY("seed", SEED), MAY("extended", FLAG)},
     .source = source_list_files},
    {"load", {NEED("file", PATH)}, .source = source_load},
    {"options", {MAY("tf_compat", FLAG), MAY("seed", SEED), MAY("unordered", FLAG)}, .put = put_options},
    {"pad_to_cardinality", {NEED("cardinality", NUMBER), MAY("mask_key", TEXT)}, .put = put_pad_to_cardinality},
    {"padded_batch", {NEED("batch_size", NUMBER), MAY("drop_remainder", FLAG)}, .put = put_padded_batch},
    {"parse_example", {MAY("tf_compat", FLAG), ONE_OF("on_error", policies)}, .make = hr__pipeline_parse_example},
    {"prefetch", {MAY("buffer_size", NUMBER)}, .put = put_prefetch},
    {"ragged_batch", {NEED("batch_size", NUMBER), MAY("drop_remainder", FLAG)}, .put = put_ragged_batch},
    {"range", {NEED("stop", NUMBER), MAY("start", NUMBER), MAY("step", NUMBER)}, .source = source_range},
    {"rebatch", {NEED("batch_size", NUMBER), MAY("drop_remainder", FLAG)}, .put = put_rebatch},
    {"repeat", {MAY("count", NUMBER)}, .put = put_repeat},
    {"sample_by_weight",
     {NEED("component", TEXT), MAY("seed", SEED), MAY("same_each_epoch", FLAG)},
     .put = put_sample_by_weight},
    {"shard", {NEED("num_shards", NUMBER), NEED("index", NUMBER)}, .put = put_shard},
    {"sharded_records",
     {NEED("pattern", PATTERN), NEED("num_shards", NUMBER), NEED("index", NUMBER)},
     .source = source_sharded_records},
    {"shuffle", {NEED("buffer_size", NUMBER), MAY("seed", SEED), MAY("same_each_epoch", FLAG)}, .put = put_shuffle},
    {"shuffle_and_repeat",
     {NEED("buffer_size", NUMBER), MAY("count", NUMBER), MAY("seed", SEED)},
     .put = put_shuffle_and_repeat},
    {"shuffled_records",
     {NEED("pattern", PATTERN), MAY("seed", SEED), MAY("same_each_epoch", FLAG)},
     .source = source_shuffled_records},
    {"skip", {NEED("count", NUMBER)}, .put = put_skip},
    {"snapshot", {NEED("folder", PATH)}, .put = put_snapshot},
    {"sql", {NEED("data_source_name", PATH), NEED("query", TEXT)}, .make = hr__pipeline_sql, .first = true},
    {"take", {NEED("count", NUMBER)}, .put = put_take},
    {"text_lines", {NEED("pattern", PATTERN), ONE_OF("compression", compressions)}, .source = source_text_lines},
    {"tfrecord",
     {NEED("pattern", PATTERN), ONE_OF("compression", compressions), ONE_OF("on_error", policies), MAY("first", NUMBER),
      MAY("count", NUMBER)},
     .source = source_tfrecord},
    {"derive_features", {{0}}, .make = hr__pipeline_derive_features},
    {"transform_features", {{0}}, .make = hr__pipeline_transform_features},
    {"unbatch", {{0}}, .put = put_unbatch},
    {"unique", {{0}}, .put = put_unique},
    {"window",
     {NEED("size", NUMBER), MAY("shift", NUMBER), MAY("stride", NUMBER), MAY("drop_remainder", FLAG)},
     .put = put_window},
};
const int hr__pipeline_step_count = sizeof hr__pipeline_steps / sizeof *hr__pipeline_steps;
