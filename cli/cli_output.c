/* Standard output, and why it could not be written. All that prints goes through one stream, whose writes wait for the
 * reader of a pipe as the library does: a signal ends the wait. */
#include "cli/command.h"
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int first_failure; /* errno of what failed first; 0: nothing did */

void fail_output(int number)
{
    if (!first_failure) first_failure = number;
}

/* False, with EINTR: a signal came while the pipe had no reader. */
static bool wait_for_output(void)
{
    struct pollfd waits[2] = {{.fd = STDOUT_FILENO, .events = POLLOUT},
                              {.fd = interrupt_descriptor(), .events = POLLIN}};
    int ready;
    do ready = poll(waits, 2, -1);
    while (ready < 0 && errno == EINTR);
    if (ready <= 0 || waits[0].revents || !waits[1].revents) return true;
    errno = EINTR;
    return false;
}

/* After poll, a pipe takes PIPE_BUF bytes at once. Gives how many were written. */
static ssize_t write_output(void *cookie, const char *bytes, size_t size)
{
    (void)cookie;
    for (size_t done = 0; done < size;) {
        const size_t piece = size - done < PIPE_BUF ? size - done : PIPE_BUF;
        if (!wait_for_output()) return (ssize_t)done;
        const ssize_t wrote = write(STDOUT_FILENO, bytes + done, piece);
        if (wrote < 0 && errno != EINTR && errno != EAGAIN) return (ssize_t)done;
        if (wrote > 0) done += (size_t)wrote;
    }
    return (ssize_t)size;
}

void begin_output(void)
{
    signal(SIGPIPE, SIG_IGN); /* a reader who leaves does not end the process: a write says so */
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
