/* Where a fuzz target keeps files: the path of one of this process, in TMPDIR or else /tmp. */
#ifndef FUZZ_TEMPORARY_H
#define FUZZ_TEMPORARY_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { TEMPORARY = 256 };

static void temporary_path(char path[TEMPORARY], const char *name)
{
    const char *folder = getenv("TMPDIR");
    snprintf(path, TEMPORARY, "%s/headrace-fuzz-%ld-%s", folder && folder[0] ? folder : "/tmp", (long)getpid(), name);
}

#endif
