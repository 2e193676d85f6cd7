/* Ctrl-C: the first one asks for a clean stop, the second ends the process. A thread waits for the signals, so that what
 * is called may take locks. */
#include "cli/command.h"
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>
#include <uv.h>

static atomic_bool seen;
static void (*asked)(void *user);
static void *asked_user;

static void wait_for_signals(void *arg)
{
    const sigset_t *set = arg;
    int number;
    while (sigwait(set, &number) == 0) {
        if (atomic_exchange(&seen, true)) _exit(130);
        asked(asked_user);
    }
}

void catch_interrupt(void (*fn)(void *user), void *user)
{
    static sigset_t set;
    static uv_thread_t thread;
    asked = fn;
    asked_user = user;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &set, NULL); /* before any worker starts: they inherit it */
    uv_thread_create(&thread, wait_for_signals, &set);
}

bool interrupted(void) { return atomic_load(&seen); }
