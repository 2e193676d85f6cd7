/* Ctrl-C: the first one asks for a clean stop, the second ends the process. A thread waits for the signals, so that
 * no call of any other thread is interrupted; but a library may have threads of its own since before main, which block
 * nothing: they run a handler that does the same. */
#include "cli/command.h"
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

static atomic_bool seen, at_once;
static char told[64]; /* at an end at once */

static int woken[2] = {-1, -1}; /* a pipe that ends the library's waits for other pipes */

static void end_at_once(void)
{
    (void)!write(2, told, strlen(told));
    _exit(INTERRUPTED);
}

static void note_signal(int number)
{
    (void)number;
    if (atomic_exchange(&seen, true)) _exit(INTERRUPTED);
    if (atomic_load(&at_once)) end_at_once();
    (void)!write(woken[1], "", 1);
}

static void wait_for_signals(void *arg)
{
    const sigset_t *set = arg;
    int number;
    while (sigwait(set, &number) == 0) note_signal(number);
}

static void catch_signal(int number, sigset_t *set)
{
    struct sigaction action = {.sa_handler = note_signal, .sa_flags = SA_RESTART};
    sigaddset(set, number);
    sigaction(number, &action, NULL);
}

/* Under nohup it is ignored, and stays so. */
static bool hangup_is_ignored(void)
{
    struct sigaction action;
    return sigaction(SIGHUP, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

void catch_interrupt(void)
{
    static sigset_t set;
    static uv_thread_t thread;
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is an error of its write */
    if (woken[0] < 0 && pipe2(woken, O_CLOEXEC) == 0) hr_interrupt_by(woken[0]);
    sigemptyset(&set);
    catch_signal(SIGINT, &set);
    catch_signal(SIGTERM, &set);
    if (!hangup_is_ignored()) catch_signal(SIGHUP, &set);
    pthread_sigmask(SIG_BLOCK, &set, NULL); /* before any worker starts: they inherit it */
    if (uv_thread_create(&thread, wait_for_signals, &set) != 0) pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

void interrupt_at_once(const char *command)
{
    if (command) snprintf(told, sizeof told, "headrace %s: interrupted\n", command);
    atomic_store(&at_once, command != NULL);
    if (command && atomic_load(&seen)) end_at_once();
}

bool interrupted(void) { return atomic_load(&seen); }

int interrupt_descriptor(void) { return woken[0]; }

hr_status check_interrupt(hr_error *err)
{
    return interrupted() ? hr_fail(err, HR_CANCELLED, "cli.interrupted", "interrupted") : HR_OK;
}
