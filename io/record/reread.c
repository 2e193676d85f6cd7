/* See reread.h. Tells unreliable storage and memory from damaged files: a record that is right when re-read is
 * delivered, counted, and named in the log. */
#include "io/record/reread.h"
#include "io/framing.h"
#include "io/input.h"
#include "io/record/resync.h"
#include <inttypes.h>
#include <string.h>

bool hr__may_be_misread(const hr_error *damage)
{
    static const char *const kinds[] = {"tfrecord.length_crc", "tfrecord.data_crc", "stream.corrupt",
                                        "stream.checksum"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(damage->kind, kinds[i]) == 0) return true;
    return false;
}

hr_status hr__reread(const hr_input *in, const hr__policy *policy, int64_t offset, hr_input **out, hr_error *err)
{
    const int64_t from = hr__input_has_places(in) ? offset : 0;
    HR_TRY(hr__input_reopen(in, from, out, err));
    const hr_status st = hr__record_seek(*out, policy, offset, err);
    if (st == HR_OK) return HR_OK;
    hr_input_free(*out);
    *out = NULL;
    return st;
}

bool hr__is_of_system(const hr_error *error)
{
    return error->code == HR_RESOURCE_EXHAUSTED ||
           (error->code == HR_DATA_LOSS && strncmp(error->kind, "file.", 5) == 0);
}

bool hr__frame_reread(const char *path, hr_compression compression, int64_t offset, char *frame, size_t size)
{
    const hr_input_opts opts = {.struct_size = sizeof opts, .compression = compression};
    hr_input *in, *again = NULL;
    const char *data;
    uint64_t length;
    size_t got = 0;
    if (hr_input_open_with(path, &opts, &in, NULL) != HR_OK) return false;
    bool sound = hr__reread(in, NULL, offset, &again, NULL) == HR_OK &&
                 hr_input_peek(again, size, &data, &got, NULL) == HR_OK && got >= size &&
                 hr__record_length(data, &length) && length == size - HR__RECORD_FRAME &&
                 hr__record_sound(data + HR__RECORD_HEADER, (size_t)length);
    if (sound) memcpy(frame, data, size);
    hr_input_free(again);
    hr_input_free(in);
    return sound;
}

void hr__report_misread(const char *path, int64_t offset)
{
    hr_log_message(HR_WARNING,
                   "%s:%" PRId64
                   ": a record was wrong when it was first read, and right when it was re-read; the storage "
                   "or the memory may be faulty",
                   path, offset);
}
