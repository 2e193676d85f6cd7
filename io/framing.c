/* TFRecord's framing: makes headers and footers, and tells kinds of damage apart. */
#include "io/framing.h"
#include <inttypes.h>

void hr__record_header(char *header, uint64_t length)
{
    hr__put64(header, length);
    hr__put32(header + 8, hr_crc32c_mask(hr_crc32c(0, header, 8)));
}

void hr__record_footer(char *footer, const void *data, size_t size)
{
    hr__put32(footer, hr_crc32c_mask(hr_crc32c(0, data, size)));
}

/* "train-00003.tfrecord:1048576: record 211: " in front, and the same in fields. */
static hr_status framing_place(hr__record_place at, int64_t length, hr_error *err)
{
    if (!err) return HR_DATA_LOSS;
    hr_error_prefix(err, "%s:%" PRId64 ": record %" PRId64 ": ", at.file, at.offset, at.record);
    hr_error_file(err, at.file);
    err->record = at.record;
    err->offset = at.offset;
    err->length = length;
    return HR_DATA_LOSS;
}

/* As the first bytes of a CSV are. */
static bool framing_is_text(const char *header)
{
    for (int i = 0; i < HR__RECORD_HEADER; i++)
        if ((unsigned char)header[i] < ' ' && header[i] != '\t' && header[i] != '\r' && header[i] != '\n') return false;
    return true;
}

/* Of the first line, as far as the header goes. */
static int framing_line_size(const char *header)
{
    int size = 0;
    while (size < HR__RECORD_HEADER && header[size] != '\r' && header[size] != '\n') size++;
    return size;
}

hr_status hr__record_fail_length_crc(hr__record_place at, const char *header, hr_error *err)
{
    if (at.offset == 0 && framing_is_text(header))
        hr_fail(
            err, HR_DATA_LOSS, "tfrecord.length_crc",
            "expected a record's length and checksum, found the text \"%.*s\"; the file is not a TFRecord file: name "
            "its format, as csv or jsonl",
            framing_line_size(header), header);
    else
        hr_fail(err, HR_DATA_LOSS, "tfrecord.length_crc",
                "expected length checksum 0x%08" PRIx32 ", got 0x%08" PRIx32 "; %s",
                hr_crc32c_mask(hr_crc32c(0, header, 8)), hr__get32(header + 8),
                at.offset == 0 ? "the file is corrupt, or is not a TFRecord file" : "the file is corrupt from here on");
    return framing_place(at, HR__RECORD_HEADER, err);
}

hr_status hr__record_fail_data_crc(hr__record_place at, const char *data, size_t size, hr_error *err)
{
    hr_fail(err, HR_DATA_LOSS, "tfrecord.data_crc",
            "expected data checksum 0x%08" PRIx32 ", got 0x%08" PRIx32 "; the file is truncated or corrupt",
            hr__get32(data + size), hr_crc32c_mask(hr_crc32c(0, data, size)));
    return framing_place(at, (int64_t)size + HR__RECORD_FRAME, err);
}

hr_status hr__record_fail_truncated(hr__record_place at, const char *header, uint64_t have, hr_error *err)
{
    uint64_t length = header ? hr__get64(header) : 0;
    if (!header)
        hr_fail(err, HR_DATA_LOSS, "tfrecord.truncated",
                "expected a header of %d bytes, got %" PRIu64 " and the end of the file; the file is truncated",
                HR__RECORD_HEADER, have);
    else
        hr_fail(err, HR_DATA_LOSS, "tfrecord.truncated",
                "expected %" PRIu64 " bytes of data and a checksum, got the end of the file %" PRIu64
                " bytes into them; the file is truncated",
                length, have - HR__RECORD_HEADER);
    return framing_place(at, (int64_t)have, err);
}

hr_status hr__record_fail_limit(hr__record_place at, uint64_t length, uint64_t limit, hr_error *err)
{
    hr_fail(err, HR_DATA_LOSS, "tfrecord.length_limit",
            "expected at most %" PRIu64 " bytes of data, got a length of %" PRIu64
            "; give a larger .max_record_bytes if that is right",
            limit, length);
    return framing_place(at, HR__RECORD_HEADER, err);
}

hr_status hr__record_fail_below(hr__record_place at, hr_status status, hr_error *err)
{
    if (!err) return status;
    err->record = at.record;
    if (status == HR_DATA_LOSS) err->offset = at.offset;
    return status;
}
