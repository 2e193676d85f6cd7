/* TFRecord files record by record, without a pipeline. Both checksums of every record are looked at; an end anywhere but
 * behind a whole record is an error, and an error is final. */
#include "io/framing.h"
#include <headrace/io.h>

struct hr_record_reader {
    hr_input *in;
    size_t lent;         /* bytes to pass over at the next call */
    int64_t record;      /* number of the next one */
    int64_t last_offset; /* of the one given last */
    hr_status status;    /* sticks when it is no longer HR_OK */
    hr_error error;
};

hr_status hr_record_reader_open(const char *path, const hr_input_opts *opts, hr_record_reader **out, hr_error *err)
{
    hr_record_reader *reader = hr_calloc(1, sizeof *reader);
    if (!reader) return hr_no_memory(err, "reading records");
    hr_status status = hr_input_open_with(path, opts, &reader->in, err);
    if (status == HR_OK)
        *out = reader;
    else
        hr_free(reader);
    return status;
}

/* The next frame, whole; its data's checksum is not looked at. */
static hr_status next_frame(hr_record_reader *r, hr__record_place at, hr_view *record, hr_error *err)
{
    const char *data;
    size_t size;
    hr_status status = hr_input_peek(r->in, HR__RECORD_HEADER, &data, &size, err);
    if (status != HR_OK) return hr__record_fail_below(at, status, err);
    if (size == 0) return HR_END;
    if (size < HR__RECORD_HEADER) return hr__record_fail_truncated(at, NULL, size, err);

    uint64_t length;
    if (!hr__record_length(data, &length)) return hr__record_fail_length_crc(at, data, err);
    if (length > HR__RECORD_LIMIT) return hr__record_fail_limit(at, length, HR__RECORD_LIMIT, err);
    size_t whole = (size_t)length + HR__RECORD_FRAME;
    if (size < whole) {
        status = hr_input_peek(r->in, whole, &data, &size, err);
        if (status != HR_OK) return hr__record_fail_below(at, status, err);
        if (size < whole) return hr__record_fail_truncated(at, data, size, err);
    }
    *record = (hr_view){data + HR__RECORD_HEADER, (int64_t)length};
    return HR_OK;
}

/* Goes behind the record that was lent, and lends the next one. */
static hr_status advance(hr_record_reader *r, bool check, hr_view *record, hr_error *err)
{
    *record = (hr_view){NULL, 0};
    if (r->status == HR_OK) {
        hr_input_consume(r->in, r->lent);
        r->lent = 0;
        hr__record_place at = {hr_input_path(r->in), r->record, hr_input_offset(r->in)};
        r->status = next_frame(r, at, record, &r->error);
        if (r->status == HR_OK && check && !hr__record_sound(record->data, (size_t)record->size))
            r->status = hr__record_fail_data_crc(at, record->data, (size_t)record->size, &r->error);
        if (r->status == HR_OK) {
            r->lent = (size_t)record->size + HR__RECORD_FRAME;
            r->last_offset = at.offset;
            r->record++;
        }
    }
    if (r->status < 0 && err) *err = r->error;
    return r->status;
}

hr_status hr_record_read(hr_record_reader *reader, hr_view *record, hr_error *err)
{
    return advance(reader, true, record, err);
}

hr_status hr_record_skip(hr_record_reader *reader, int64_t count, hr_error *err)
{
    hr_view record;
    for (int64_t i = 0; i < count; i++) HR_TRY(advance(reader, false, &record, err));
    return HR_OK;
}

int64_t hr_record_offset(const hr_record_reader *reader) { return reader->last_offset; }

int64_t hr_record_trailing_zeros(const hr_record_reader *reader) { return hr_input_trailing_zeros(reader->in); }

void hr_record_reader_free(hr_record_reader *reader)
{
    if (!reader) return;
    hr_input_free(reader->in);
    hr_free(reader);
}

/* ---- writing ---- */

struct hr_record_writer {
    hr_output *out;
};

hr_status hr__record_put(hr_output *out, const void *data, size_t size, hr_error *err)
{
    char header[HR__RECORD_HEADER], footer[HR__RECORD_FOOTER];
    hr__record_header(header, size);
    hr__record_footer(footer, data, size);
    HR_TRY(hr_output_write(out, header, sizeof header, err));
    HR_TRY(hr_output_write(out, data, size, err));
    return hr_output_write(out, footer, sizeof footer, err);
}

hr_status hr_record_writer_open(const char *path, const hr_output_opts *opts, hr_record_writer **out, hr_error *err)
{
    hr_record_writer *writer = hr_calloc(1, sizeof *writer);
    if (!writer) return hr_no_memory(err, "writing records");
    hr_status status = hr_output_open_with(path, opts, &writer->out, err);
    if (status == HR_OK)
        *out = writer;
    else
        hr_free(writer);
    return status;
}

hr_status hr_record_write(hr_record_writer *writer, const void *data, size_t size, hr_error *err)
{
    return hr__record_put(writer->out, data, size, err);
}

hr_status hr_record_writer_commit(hr_record_writer *writer, hr_error *err)
{
    hr_status status = hr_output_commit(writer->out, err);
    hr_free(writer);
    return status;
}

void hr_record_writer_discard(hr_record_writer *writer)
{
    if (!writer) return;
    hr_output_discard(writer->out);
    hr_free(writer);
}
