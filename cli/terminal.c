/* What people see while they wait: one line on standard error, drawn again while a terminal watches. */
#include "cli/command.h"
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

double now_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static char *next_text(void)
{
    static char text[8][48];
    static int next;
    return text[next++ % 8];
}

const char *with_commas(int64_t n)
{
    char plain[32], *text = next_text();
    int digits = snprintf(plain, sizeof plain, "%" PRId64, n), used = 0;
    for (int i = 0; i < digits; i++) {
        if (i > 0 && plain[i - 1] != '-' && (digits - i) % 3 == 0) text[used++] = ',';
        text[used++] = plain[i];
    }
    text[used] = '\0';
    return text;
}

const char *human_bytes(double bytes)
{
    static const char *const unit[] = {"B", "kB", "MB", "GB", "TB"};
    int i = 0;
    while (bytes >= 1000 && i < 4) {
        bytes /= 1000;
        i++;
    }
    char *text = next_text();
    snprintf(text, 48, i == 0 ? "%.0f %s" : "%.1f %s", bytes, unit[i]);
    return text;
}

/* "1:05" */
static const char *human_seconds(double seconds)
{
    char *text = next_text();
    int64_t s = (int64_t)(seconds + 0.5);
    if (s >= 3600)
        snprintf(text, 48, "%" PRId64 ":%02d:%02d", s / 3600, (int)(s / 60 % 60), (int)(s % 60));
    else
        snprintf(text, 48, "%d:%02d", (int)(s / 60), (int)(s % 60));
    return text;
}

/* 0: it is no terminal. */
static int width_of_terminal(int descriptor)
{
    struct winsize size;
    return ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col : 0;
}

static int terminal_width(void)
{
    const int width = width_of_terminal(STDERR_FILENO);
    return width ? width : 80;
}

int output_width(void)
{
    const char *columns = getenv("COLUMNS");
    const int asked = columns ? atoi(columns) : 0;
    if (asked > 20) return asked;
    if (!isatty(STDOUT_FILENO)) return 0;
    const int width = width_of_terminal(STDOUT_FILENO);
    return width ? width : 80;
}

/* ---- the line ---- */

static atomic_bool line_is_drawn; /* a log line, of any thread, clears it */

void progress_start(progress *p, const char *title)
{
    const char *term = getenv("TERM");
    *p = (progress){.title = title, .started = now_seconds(), .first = -1};
    p->watched = isatty(STDERR_FILENO) && !(term && strcmp(term, "dumb") == 0);
}

void progress_first_pass(progress *p, const char *title)
{
    p->then = p->title;
    p->title = title;
}

static void progress_begin_next_pass(progress *p)
{
    p->title = p->then;
    p->then = NULL;
    p->started = now_seconds();
    p->first = -1;
}

bool progress_due(const progress *p) { return p->watched && now_seconds() - p->drawn >= 0.1; }

/* How long the rest takes at the pace since the line was first shown. */
static const char *time_left(const progress *p, double now, double share)
{
    double since = share - p->first;
    return since > 0.005 ? human_seconds((now - p->started) * (1 - share) / since) : "-:--";
}

enum { BAR = 24 };

void progress_show(progress *p, double share, const char *detail)
{
    if (!progress_due(p)) return;
    double now = p->drawn = now_seconds();
    char bar[BAR + 1], line[512];
    if (share > 1) share = 1; /* what it counts from may be an estimate */
    if (p->first < 0) p->first = share;
    for (int i = 0; i < BAR; i++) bar[i] = i < (int)(share * BAR + 0.5) ? '#' : '.';
    bar[BAR] = '\0';
    if (share >= 0)
        snprintf(line, sizeof line, "%s [%s] %3.0f %%, %s left, %s", p->title, bar, share * 100,
                 time_left(p, now, share), detail);
    else
        snprintf(line, sizeof line, "%s %s, %s", p->title, human_seconds(now - p->started), detail);
    fprintf(stderr, "\r\033[K%.*s", terminal_width() - 1, line);
    atomic_store(&line_is_drawn, true);
}

void progress_count(progress *p, double share, int64_t count, const char *what)
{
    char detail[64];
    if (p->then && count < p->count) progress_begin_next_pass(p);
    p->count = count;
    if (!progress_due(p)) return;
    snprintf(detail, sizeof detail, "%s %s", with_commas(count), what);
    progress_show(p, share, detail);
}

/* Clears what is drawn: the text before the next line. */
static const char *cleared(void) { return atomic_exchange(&line_is_drawn, false) ? "\r\033[K" : ""; }

void progress_end(progress *p)
{
    if (p->watched) fputs(cleared(), stderr);
}

void print_log(hr_level level, const char *text, void *user)
{
    (void)user;
    if (level == HR_DEBUG) return;
    fprintf(stderr, "%s%s", cleared(), level == HR_WARNING ? "warning: " : "");
    print_message(text);
    fputc('\n', stderr);
}
