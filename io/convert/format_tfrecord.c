/* TFRecords of tf.Examples, in and out: records are their own form. */
#include "io/convert/example_rows_out.h"
#include "io/record/record_index.h"

typedef struct tfrecord_source {
    const char *path;
    hr_record_reader *reader;
    int64_t number; /* of the next record */
} tfrecord_source;

static hr_status tfrecord_read_record(void *source, hr_view *example, hr_error *err)
{
    return hr_record_read(((tfrecord_source *)source)->reader, example, err);
}

static hr_status tfrecord_read_piece(void *source, hr__convert_piece *piece, hr_error *err)
{
    tfrecord_source *s = source;
    return hr__examples_read(tfrecord_read_record, s, s->path, piece, &s->number, err);
}

static void tfrecord_close_source(void *source)
{
    hr_record_reader_free(((tfrecord_source *)source)->reader);
    hr_free(source);
}

static hr_status tfrecord_open_source(const hr__convert_plan *plan, const char *path, void **source, hr_error *err)
{
    const hr_record_opts opts = {.struct_size = sizeof opts,
                                 .compression = plan->opts->input_compression,
                                 .max_record_bytes = plan->opts->max_record_bytes,
                                 .policy = plan->opts->policy};
    tfrecord_source *s = hr_calloc(1, sizeof *s);
    if (!s) return hr_no_memory(err, "convert");
    s->path = path;
    hr_status st = hr_record_reader_open_with(path, &opts, &s->reader, err);
    if (st == HR_OK)
        *source = s;
    else
        hr_free(s);
    return st;
}

static int64_t tfrecord_bytes_of(const void *source)
{
    return hr_input_offset(hr__record_input(((const tfrecord_source *)source)->reader));
}

static int64_t tfrecord_place_of(const void *source)
{
    const int64_t compressed = hr_input_compressed_offset(hr__record_input(((const tfrecord_source *)source)->reader));
    return compressed >= 0 ? compressed : tfrecord_bytes_of(source);
}

static int64_t tfrecord_damaged(const void *source)
{
    return hr_record_damage(((const tfrecord_source *)source)->reader).errors;
}

static hr_status tfrecord_count_records(const char *path, const hr_convert_opts *how, int64_t *count, hr_error *err)
{
    hr_record_reader *reader;
    hr_status st;
    const hr_record_opts opts = {
        .struct_size = sizeof opts, .compression = how->input_compression, .max_record_bytes = how->max_record_bytes};
    HR_TRY(hr_record_reader_open_with(path, &opts, &reader, err));
    while ((st = hr_record_skip(reader, 1, err)) == HR_OK) ++*count;
    hr_record_reader_free(reader);
    return st == HR_END ? HR_OK : st;
}

const hr__format hr__format_tfrecord = {
    .name = "tfrecord",
    .id = HR_FORMAT_TFRECORD,
    .extensions = ".tfrecord .tfrecords .tfrec .tfr",
    .open = tfrecord_open_source,
    .read = tfrecord_read_piece,
    .encode = hr__examples_encode,
    .place = tfrecord_place_of,
    .bytes = tfrecord_bytes_of,
    .damaged = tfrecord_damaged,
    .close = tfrecord_close_source,
    .count = tfrecord_count_records,
    .piece_free = hr__examples_free,
};
