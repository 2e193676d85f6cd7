/* Before main, a test program goes to a folder of its own, so that it leaves no file where it was started: the empty one
 * that HEADRACE_TEST_FOLDER names, or else one below TMPDIR, which is removed at the end. And a sanitizer tells its
 * signals. */
#include "base/sanitizers.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

static char folder[PATH_MAX];
static pid_t owner;

static void remove_own_folder(void)
{
    char command[PATH_MAX + 16];
    if (getpid() != owner || chdir("/") != 0) return; /* a child of fork shares it */
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command) != 0) fprintf(stderr, "%s cannot be removed\n", folder);
}

/* The paths of golden cases count from where the program was started. */
static void keep_golden(void)
{
    char path[PATH_MAX];
    const char *golden = getenv("HEADRACE_GOLDEN");
    if (golden && realpath(golden, path)) setenv("HEADRACE_GOLDEN", path, 1);
}

/* Global, so that the linker is told to take this file (tests/CMakeLists.txt). */
__attribute__((constructor)) void own_folder(void);
void own_folder(void)
{
    const char *given = getenv("HEADRACE_TEST_FOLDER"), *temporary = getenv("TMPDIR");
    keep_golden();
    if (given)
        snprintf(folder, sizeof folder, "%s", given);
    else
        snprintf(folder, sizeof folder, "%s/headrace-test-XXXXXX", temporary && temporary[0] ? temporary : "/tmp");
    if ((!given && !mkdtemp(folder)) || chdir(folder) != 0 || !getcwd(folder, sizeof folder)) {
        perror(folder);
        exit(1);
    }
    owner = getpid();
    if (!given) atexit(remove_own_folder);
}

/* A signal on a thread is told with its place. cmocka, which else takes it, ends the program there without a word. */
#define TAKES_SIGNALS "handle_segv=2:handle_sigbus=2:handle_sigfpe=2:handle_sigill=2"
#if HR__UNDER_ASAN
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void) { return TAKES_SIGNALS; }
#elif HR__UNDER_TSAN
__attribute__((visibility("default"))) const char *__tsan_default_options(void);
const char *__tsan_default_options(void) { return TAKES_SIGNALS; }
#endif
