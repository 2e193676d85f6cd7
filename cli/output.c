/* Standard output, and why it could not be written. */
#include "cli/command.h"
#include <errno.h>
#include <string.h>

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

bool output_is_unwanted(void) { return first_failure == EPIPE; }
