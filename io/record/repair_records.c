/* Repairing a TFRecord file: its good records into a new one, which takes its name when all are written. */
#include "io/input.h"
#include "io/record/record_index.h"
#include "io/sys.h"
#include <headrace/record_sets.h>
#include <string.h>

enum { LOOK = 4096 /* records between two looks at the progress */ };

/* The new file would be read while it is written, or the only copy of what is damaged be lost by a slip. */
static hr_status repair_check_names(const char *path, const char *out, hr_error *err)
{
    struct stat in, to;
    const bool same =
        out && stat(path, &in) == 0 && stat(out, &to) == 0 && in.st_dev == to.st_dev && in.st_ino == to.st_ino;
    if (!same) return HR_OK;
    hr_fail(err, HR_INVALID_ARGUMENT, "repair.out",
            "%s: expected another file to write to, got the one that is damaged", path);
    hr_error_file(err, path);
    return HR_INVALID_ARGUMENT;
}

static hr_status open_reader(const char *path, const hr_repair_opts *o, hr_record_reader **out, hr_error *err)
{
    const hr_record_opts opts = {
        .struct_size = sizeof opts,
        .compression = o->compression,
        .max_record_bytes = o->max_record_bytes,
        .policy = {.on_error = o->quarantine_file ? HR_QUARANTINE : HR_RESYNC,
                   .quarantine_file = o->quarantine_file,
                   .on_damage = o->on_damage,
                   .user = o->user},
    };
    return hr_record_reader_open_with(path, &opts, out, err);
}

static bool repair_goes_on(const char *path, const hr_record_reader *reader, const hr_repair_opts *o, int64_t records)
{
    if (!o->progress) return true;
    const hr_input *in = hr__record_input(reader);
    const int64_t compressed = hr_input_compressed_offset(in);
    const hr_progress now = {compressed >= 0 ? compressed : hr_input_offset(in), hr_path_size(path), records};
    return o->progress(&now, o->user);
}

static hr_status copy_records(const char *path, hr_record_reader *reader, hr_record_writer *writer,
                              const hr_repair_opts *o, hr_repair_report *report, hr_error *err)
{
    hr_view record;
    hr_status status;
    while ((status = hr_record_read(reader, &record, err)) == HR_OK) {
        HR_TRY(hr_record_write(writer, record.data, (size_t)record.size, err));
        if (++report->records % LOOK == 0 && !repair_goes_on(path, reader, o, report->records))
            return hr_fail(err, HR_CANCELLED, "cancelled", "%s: repairing was called off", path);
    }
    report->lost = hr_record_damage(reader);
    return status == HR_END ? HR_OK : status;
}

static hr_status repair(const char *path, const char *out, hr_record_reader *reader, const hr_repair_opts *o,
                        hr_repair_report *report, hr_error *err)
{
    hr_record_writer *writer;
    hr_output_opts how = {.struct_size = sizeof how, .compression = o->out_compression};
    if (!out && !how.compression) how.compression = hr__input_compression(hr__record_input(reader));
    HR_TRY(hr_record_writer_open(out ? out : path, &how, &writer, err));
    const hr_status status = copy_records(path, reader, writer, o, report, err);
    if (status == HR_OK && (out || report->lost.errors > 0)) return hr_record_writer_commit(writer, err);
    hr_record_writer_discard(writer);
    return status;
}

hr_status hr_repair_records_with(const char *path, const char *out, const hr_repair_opts *opts,
                                 hr_repair_report *report, hr_error *err)
{
    const hr_repair_opts o = HR_OPTIONS(hr_repair_opts, opts);
    hr_record_reader *reader;
    hr_repair_report unasked;
    if (!path)
        return hr_fail(err, HR_INVALID_ARGUMENT, "records.argument", "repair: expected the name of a file, got NULL");
    if (!report) report = &unasked;
    *report = (hr_repair_report){0};
    HR_TRY(repair_check_names(path, out, err));
    HR_TRY(open_reader(path, &o, &reader, err));
    const hr_status status = repair(path, out, reader, &o, report, err);
    hr_record_reader_free(reader);
    return status;
}
