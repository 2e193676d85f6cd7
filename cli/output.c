/* Standard output, and why it could not be written. */
#include "base/text.h"
#include "cli/command.h"
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int first_failure; /* errno of what failed first; 0: nothing did */

void fail_output(int number)
{
    if (!first_failure) first_failure = number;
}

hr_status output_error(hr_error *err)
{
    if (!first_failure && !ferror(stdout) && fflush(stdout) == 0) return HR_OK;
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
