/* Any bytes as a TFRecord file of unknown compression: every record that comes has a right checksum, and the reader
 * ends with END or an error that names a place in the file. */
#include "io/framing.h"
#include <headrace/io.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static void require(bool holds)
{
    if (!holds) abort();
}

/* Whatever is damaged: all sound records come, and the bytes that are passed over are told one after another. */
static void tell(const hr_error *error, hr_view bytes, void *user)
{
    int64_t *end = user;
    require(error->offset >= *end && error->length == bytes.size);
    *end = error->offset + error->length;
}

static void read_on(const char *path, size_t buffer_size)
{
    hr_record_reader *reader;
    hr_view record;
    hr_status status;
    int64_t end = 0;
    const hr_record_opts opts = {.struct_size = sizeof opts,
                                 .buffer_size = buffer_size,
                                 .policy = {.on_error = HR_RESYNC, .on_damage = tell, .user = &end}};
    if (hr_record_reader_open_with(path, &opts, &reader, NULL) != HR_OK) return;
    while ((status = hr_record_read(reader, &record, NULL)) == HR_OK)
        require(hr__record_sound(record.data, (size_t)record.size));
    require(status == HR_END || status == HR_RESOURCE_EXHAUSTED);
    hr_record_reader_free(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    int fd = memfd_create("fuzz", 0);
    if (fd < 0 || (size && write(fd, data, size) != (ssize_t)size)) return 0;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    hr_record_reader *reader;
    hr_error err;
    const hr_input_opts opts = {.struct_size = sizeof opts, .buffer_size = 1 + (size ? data[size - 1] : 0)};
    hr_status status = hr_record_reader_open(path, &opts, &reader, &err);
    if (status == HR_OK) {
        hr_view record;
        while ((status = hr_record_read(reader, &record, &err)) == HR_OK)
            require(hr__record_sound(record.data, (size_t)record.size));
        hr_record_reader_free(reader);
    }
    require(status == HR_END || (status < 0 && err.text[0] && err.file[0]));
    read_on(path, opts.buffer_size);
    close(fd);
    return 0;
}
