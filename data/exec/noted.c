/* What is known of a file that a run reads, so that a later one can tell whether it is the same. */
#include "data/exec/engine.h"
#include "io/file_system.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SAMPLE = 4096 };

/* Of the first and the last bytes. 0: none can be had; nobody opens a pipe for that, whose writer would take it for its
 * reader. */
static uint32_t sample_of(const char *name, int64_t size)
{
    char bytes[SAMPLE];
    struct stat about;
    if (stat(name, &about) != 0 || !S_ISREG(about.st_mode)) return 0;
    const int fd = open(name, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    uint32_t sum = 0;
    ssize_t got = pread(fd, bytes, sizeof bytes, 0);
    if (got > 0) sum = hr_crc32c(sum, bytes, (size_t)got);
    if (got > 0 && size > SAMPLE) got = pread(fd, bytes, sizeof bytes, (off_t)(size - SAMPLE));
    if (got > 0 && size > SAMPLE) sum = hr_crc32c(sum, bytes, (size_t)got);
    close(fd);
    return sum;
}

noted_file hr__note_file(const char *name)
{
    hr_file_about about;
    if (!hr__path_about(name, &about)) return (noted_file){.size = -1, .mtime = -1};
    return (noted_file){.size = about.size, .mtime = about.changed, .sample = sample_of(name, about.size)};
}

bool hr__same_file(const noted_file *then, const noted_file *now)
{
    const bool copied = then->sample && then->sample == now->sample;
    return then->size == now->size && (then->mtime == now->mtime || copied);
}
