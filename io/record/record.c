/* TFRecord files record by record, without a pipeline. Both checksums of every record are looked at unless the caller
 * says otherwise; an end anywhere but after a whole record is an error, and what no policy skips is final. */
#include "io/framing.h"
#include "io/output.h"
#include "io/record/record_index.h"
#include "io/input.h"
#include "io/record/reread.h"
#include "io/record/resync.h"

struct hr_record_reader {
    hr_input *in;
    uint64_t limit;
    hr_checks checks;
    hr__policy *policy;
    hr_damage_count damage;
    bool damaged;        /* a compressed file was read again in vain, from its front: not once more */
    size_t lent;         /* bytes to skip at the next call */
    int64_t record;      /* number of the next one */
    int64_t end;         /* number of the first one that is not wanted; -1: all are */
    int64_t last_offset; /* of the one given last */
    hr_status status;    /* sticks when it is no longer HR_OK */
    hr_error error;
};

hr_status hr_record_reader_open_with(const char *path, const hr_record_opts *opts, hr_record_reader **out,
                                     hr_error *err)
{
    const hr_record_opts o = HR_OPTIONS(hr_record_opts, opts);
    hr_record_reader *reader = hr_calloc(1, sizeof *reader);
    if (!reader) return hr_no_memory(err, "reading records");
    const hr_input_opts how = {.struct_size = sizeof how,
                               .compression = o.compression,
                               .buffer_size = o.buffer_size,
                               .may_be_damaged = o.policy.on_error >= HR_RESYNC};
    reader->checks = o.checks;
    reader->end = -1;
    reader->limit = hr__record_limit(o.max_record_bytes);
    hr_status status = hr__policy_new(&o.policy, path, &reader->policy, err);
    if (status == HR_OK) status = hr_input_open_with(path, &how, &reader->in, err);
    if (status == HR_OK)
        *out = reader;
    else
        hr_record_reader_free(reader);
    return status;
}

hr_status hr_record_reader_open(const char *path, const hr_input_opts *opts, hr_record_reader **out, hr_error *err)
{
    const hr_input_opts o = HR_OPTIONS(hr_input_opts, opts);
    const hr_record_opts records = {
        .struct_size = sizeof records, .compression = o.compression, .buffer_size = o.buffer_size};
    return hr_record_reader_open_with(path, &records, out, err);
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
    if (!hr__record_length(data, &length) && r->checks != HR_CHECKS_NONE)
        return hr__record_fail_length_crc(at, data, err);
    if (length > r->limit) return hr__record_fail_limit(at, length, r->limit, err);
    size_t whole = (size_t)length + HR__RECORD_FRAME;
    if (size < whole) {
        status = hr_input_peek(r->in, whole, &data, &size, err);
        if (status != HR_OK) return hr__record_fail_below(at, status, err);
        if (size < whole) return hr__record_fail_truncated(at, data, size, err);
    }
    *record = (hr_view){data + HR__RECORD_HEADER, (int64_t)length};
    return HR_OK;
}

static hr_status record_look(hr_record_reader *r, hr__record_place at, bool check, hr_view *record)
{
    HR_TRY(next_frame(r, at, record, &r->error));
    if (!check || hr__record_sound(record->data, (size_t)record->size)) return HR_OK;
    return hr__record_fail_data_crc(at, record->data, (size_t)record->size, &r->error);
}

/* The same of a file opened again, which takes the place of the other one if the record is sound there. */
static hr_status record_reread(hr_record_reader *r, hr__record_place at, bool check, hr_view *record)
{
    const hr_error first = r->error;
    hr_input *before = r->in, *again;
    if (r->damaged || !hr__may_be_misread(&first)) return first.code;
    hr_status status = hr__reread(before, r->policy, at.offset, &again, &r->error);
    if (status == HR_OK) {
        r->in = again;
        status = record_look(r, at, check, record);
        r->in = status == HR_OK ? again : before;
        hr_input_free(status == HR_OK ? before : again);
    }
    if (status == HR_OK) {
        r->damage.misread++;
        hr__report_misread(hr_input_path(r->in), at.offset);
        return HR_OK;
    }
    if (hr__is_of_system(&r->error)) return r->error.code;
    r->damaged = !hr__input_has_places(r->in);
    r->error = first;
    return first.code;
}

/* At the end of the file, or at damage, which the policy may skip: then HR_OK. */
static hr_status meet(hr_record_reader *r, hr_status status)
{
    const hr_error damage = r->error;
    const char *path = hr_input_path(r->in);
    if (status < 0) {
        status = hr__record_pass_over(r->in, r->policy, r->limit, &damage, &r->damage, &r->error);
        if (status < 0) return status;
        r->record++;
        HR_TRY(hr__policy_budget(r->policy, path, r->damage.errors, r->record, &damage, &r->error));
    }
    if (status == HR_END) HR_TRY(hr__policy_budget(r->policy, path, r->damage.errors, r->record, NULL, &r->error));
    return status;
}

/* The next record, after all damage that is skipped. */
static hr_status record_find(hr_record_reader *r, bool check, hr_view *record)
{
    for (;;) {
        const hr__record_place at = {hr_input_path(r->in), r->record, hr_input_offset(r->in)};
        hr_status status = record_look(r, at, check, record);
        if (status == HR_DATA_LOSS) status = record_reread(r, at, check, record);
        r->last_offset = at.offset;
        if (status == HR_OK || (status < 0 && !r->policy)) return status;
        HR_TRY(meet(r, status));
    }
}

/* Skips the record that was lent, and lends the next one. */
static hr_status record_advance(hr_record_reader *r, bool check, hr_view *record, hr_error *err)
{
    *record = (hr_view){NULL, 0};
    if (r->status == HR_OK) {
        hr_input_consume(r->in, r->lent);
        r->lent = 0;
        r->status = r->record == r->end ? HR_END : record_find(r, check, record);
        if (r->status == HR_OK) {
            r->lent = (size_t)record->size + HR__RECORD_FRAME;
            r->record++;
        }
    }
    if (r->status < 0 && err) *err = r->error;
    return r->status;
}

hr_status hr_record_read(hr_record_reader *reader, hr_view *record, hr_error *err)
{
    return record_advance(reader, reader->checks == HR_CHECKS_ALL, record, err);
}

hr_status hr_record_skip(hr_record_reader *reader, int64_t count, hr_error *err)
{
    hr_view record;
    for (int64_t i = 0; i < count; i++) HR_TRY(record_advance(reader, false, &record, err));
    return HR_OK;
}

hr_status hr_record_reader_range(hr_record_reader *r, const hr_record_index *index, int64_t first, int64_t count,
                                 hr_error *err)
{
    int64_t near = 0;
    r->lent = 0;
    r->end = -1;
    r->status = hr__record_index_seek(index, r->in, first, count, &near, &r->error);
    r->record = near;
    hr_status st = r->status == HR_OK ? hr_record_skip(r, first - near, err) : HR_OK;
    if (st == HR_END) /* without an index */
        r->status = hr__record_index_beyond(hr_input_path(r->in), first, count, r->record, &r->error);
    if (r->status < 0 && err) *err = r->error;
    if (count >= 0) r->end = first > 0 && count > INT64_MAX - first ? INT64_MAX : first + count;
    return r->status;
}

int64_t hr_record_offset(const hr_record_reader *reader) { return reader->last_offset; }

hr_input *hr__record_input(const hr_record_reader *reader) { return reader->in; }

hr_compression hr_record_compression(const hr_record_reader *reader) { return hr__input_compression(reader->in); }

hr_damage_count hr_record_damage(const hr_record_reader *reader) { return reader->damage; }

int64_t hr_record_trailing_zeros(const hr_record_reader *reader) { return hr_input_trailing_zeros(reader->in); }

void hr_record_reader_free(hr_record_reader *reader)
{
    if (!reader) return;
    hr_input_free(reader->in);
    hr__policy_free(reader->policy);
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

hr_status hr__record_writer_finish(hr_record_writer *writer, hr_error *err)
{
    return hr__output_finish(writer->out, err);
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
