/* Standard output, and why it could not be written. All that prints goes through one stream, whose writes wait for the
 * reader of a pipe as the library does: a signal ends the wait. */
#include "base/text.h"
#include "cli/command.h"
#include "io/sys.h"
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int first_failure; /* errno of what failed first; 0: nothing did */

void fail_output(int number)
{
    if (!first_failure) first_failure = number;
}

/* After poll, a pipe takes PIPE_BUF bytes at once. Gives how many were written. */
static ssize_t write_output(void *cookie, const char *bytes, size_t size)
{
    (void)cookie;
    for (size_t done = 0; done < size;) {
        const size_t piece = size - done < PIPE_BUF ? size - done : PIPE_BUF;
        const bool waited = hr__wait(STDOUT_FILENO, POLLOUT, -1, -1, "standard output", NULL) == HR_OK;
        if (!waited) errno = EINTR;
        if (!waited || !hr__write_all(STDOUT_FILENO, bytes + done, piece)) return (ssize_t)done;
        done += piece;
    }
    return (ssize_t)size;
}

void begin_output(void)
{
    FILE *waiting = fopencookie(NULL, "w", (cookie_io_functions_t){.write = write_output});
    if (!waiting) return;
    stdout = waiting;
    setvbuf(stdout, NULL, isatty(STDOUT_FILENO) ? _IOLBF : _IOFBF, 1 << 16);
}

hr_status output_error(hr_error *err)
{
    if (!first_failure && !ferror(stdout) && fflush(stdout) == 0) return HR_OK;
    if (interrupted()) return check_interrupt(err);
    fail_output(errno ? errno : EIO);
    return hr_fail(err, HR_RESOURCE_EXHAUSTED, "cli.output", "standard output cannot be written: %s",
                   strerror(first_failure));
}

/* A terminal or /dev/null may have both, the data and the words about them. */
bool is_standard_output(const char *out)
{
    struct stat named, open;
    if (strcmp(out, "-") == 0) return true;
    return stat(out, &named) == 0 && fstat(STDOUT_FILENO, &open) == 0 && !S_ISCHR(open.st_mode) &&
           named.st_dev == open.st_dev && named.st_ino == open.st_ino;
}

/* Of what the library writes to standard output only the descriptor tells. */
bool output_is_unwanted(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO};
    return first_failure == EPIPE || (poll(&out, 1, 0) > 0 && (out.revents & POLLERR));
}

hr_status print_line(hr_view line, hr_error *err)
{
    const size_t size = (size_t)line.size;
    return fwrite(line.data, 1, size, stdout) == size && putchar('\n') != EOF ? HR_OK : output_error(err);
}

void text_word(hr__text *text, hr_view word)
{
    bool plain = word.size > 0;
    for (int64_t i = 0; i < word.size; i++) plain &= word.data[i] > ' ' && word.data[i] < 127 && word.data[i] != '"';
    if (plain)
        hr__text_bytes(text, word.data, (size_t)word.size);
    else
        hr__text_json(text, word.data, (size_t)word.size);
}
