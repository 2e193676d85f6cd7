/* What people see while they wait: one line on standard error, drawn again while a terminal watches. */
#include "cli/command.h"
#include <cjson/cJSON.h>
#include <inttypes.h>
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

const char *human_seconds(double seconds)
{
    char *text = next_text();
    int64_t s = (int64_t)(seconds + 0.5);
    if (s >= 3600)
        snprintf(text, 48, "%" PRId64 ":%02d:%02d", s / 3600, (int)(s / 60 % 60), (int)(s % 60));
    else
        snprintf(text, 48, "%d:%02d", (int)(s / 60), (int)(s % 60));
    return text;
}

static int terminal_width(void)
{
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col : 80;
}

void progress_start(progress *p, const char *title)
{
    const char *term = getenv("TERM");
    *p = (progress){.title = title, .started = now_seconds()};
    p->watched = isatty(STDERR_FILENO) && !(term && strcmp(term, "dumb") == 0);
}

enum { BAR = 24 };

void progress_show(progress *p, double share, const char *detail)
{
    double now = now_seconds();
    if (!p->watched || now - p->drawn < 0.1) return;
    p->drawn = now;
    char bar[BAR + 1], line[512];
    int full = share < 0 ? 0 : (int)(share * BAR + 0.5);
    for (int i = 0; i < BAR; i++) bar[i] = i < full ? '#' : '.';
    bar[BAR] = '\0';
    const char *left = share > 0.01 ? human_seconds((now - p->started) * (1 - share) / share) : "-:--";
    if (share >= 0)
        snprintf(line, sizeof line, "%s [%s] %3.0f %%, %s left, %s", p->title, bar, share * 100, left, detail);
    else
        snprintf(line, sizeof line, "%s %s, %s", p->title, human_seconds(now - p->started), detail);
    fprintf(stderr, "\r\033[K%.*s", terminal_width() - 1, line);
    fflush(stderr);
}

void progress_end(progress *p)
{
    if (p->watched && p->drawn > 0) fprintf(stderr, "\r\033[K");
}

void print_json(cJSON *object)
{
    char *text = cJSON_PrintUnformatted(object);
    if (text) puts(text);
    cJSON_free(text);
    cJSON_Delete(object);
}
