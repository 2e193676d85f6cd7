/* How TFRecord frames a record: length (8 bytes, little endian), its masked CRC-32C (4), data, the data's masked
 * CRC-32C (4). Shared by the record reader and the tfrecord operator, so that both say the same of the same damage. */
#ifndef HR_FRAMING_H
#define HR_FRAMING_H

#include "base/bytes.h"
#include <headrace/io.h>

enum { HR__RECORD_HEADER = 12, HR__RECORD_FOOTER = 4, HR__RECORD_FRAME = 16 };
#define HR__RECORD_LIMIT ((uint64_t)256 << 20)   /* default of .max_record_bytes and .max_row_bytes */
#define HR__RECORD_MAX ((uint64_t)INT64_MAX / 2) /* more than any file holds */

/* What .max_record_bytes and .max_row_bytes mean. */
static inline uint64_t hr__record_limit(size_t max_record_bytes)
{
    const uint64_t limit = max_record_bytes ? max_record_bytes : HR__RECORD_LIMIT;
    return limit < HR__RECORD_MAX ? limit : HR__RECORD_MAX;
}

/* The length in a header of HR__RECORD_HEADER bytes. False: its checksum is wrong, and nothing after it can be
 * trusted. */
static inline bool hr__record_length(const char *header, uint64_t *length)
{
    *length = hr__get64(header);
    return hr_crc32c_mask(hr_crc32c(0, header, 8)) == hr__get32(header + 8);
}

/* The checksum after `size` bytes of data is theirs. */
static inline bool hr__record_sound(const char *data, size_t size)
{
    return hr_crc32c_mask(hr_crc32c(0, data, size)) == hr__get32(data + size);
}

HR_API void hr__record_header(char *header, uint64_t length);               /* fills it */
HR_API void hr__record_footer(char *footer, const void *data, size_t size); /* fills it */

/* Header, data, footer. */
hr_status hr__record_put(hr_output *out, const void *data, size_t size, hr_error *err);
/* As hr__output_finish, of the writer's file. */
hr_status hr__record_writer_finish(hr_record_writer *writer, hr_error *err);

/* Where a record begins, for messages. `file` may be "". */
typedef struct hr__record_place {
    const char *file;
    int64_t record, offset;
} hr__record_place;

/* The errors of this format; each says what was expected and found. */
hr_status hr__record_fail_length_crc(hr__record_place at, const char *header, hr_error *err);
hr_status hr__record_fail_data_crc(hr__record_place at, const char *data, size_t size, hr_error *err);
/* The file ends `have` bytes after the record's start; `header` is NULL if it is not whole. */
hr_status hr__record_fail_truncated(hr__record_place at, const char *header, uint64_t have, hr_error *err);
hr_status hr__record_fail_limit(hr__record_place at, uint64_t length, uint64_t limit, hr_error *err);
/* Names the record in an error of the file below it, such as that of a cut gzip stream. */
hr_status hr__record_fail_below(hr__record_place at, hr_status status, hr_error *err);

#endif
