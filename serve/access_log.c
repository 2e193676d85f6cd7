/* The access log: a line of JSON a request. */
#include "serve/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct hr__access_log {
    int fd; /* -1: lines go to hr_log_message */
};

hr_status hr__access_open(const char *path, struct hr__access_log **out, hr_error *err)
{
    struct hr__access_log *log = hr_malloc(sizeof *log);
    if (!log) return hr_no_memory(err, "a log");
    log->fd = strcmp(path, "-") == 0 ? -1 : open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
    if (log->fd < 0 && strcmp(path, "-") != 0) {
        hr_free(log);
        return hr_fail(err, HR_NOT_FOUND, "serve.file", "%s: %s", path, strerror(errno));
    }
    *out = log;
    return HR_OK;
}

void hr__access_write(struct hr__access_log *log, const hr__access_entry *e)
{
    hr__text line = {0};
    struct timespec now;
    struct tm parts;
    char when[40] = "";
    if (!log) return;
    clock_gettime(CLOCK_REALTIME, &now);
    if (gmtime_r(&now.tv_sec, &parts)) strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%S", &parts);
    hr__text_printf(
        &line,
        "{\"time\": \"%s.%06ldZ\", \"protocol\": \"%s\", \"peer\": \"%s\", \"method\": \"%s\", \"target\": ", when,
        now.tv_nsec / 1000, e->protocol, e->peer, e->method);
    hr__text_json(&line, e->target.data, (size_t)(e->target.size > 2048 ? 2048 : e->target.size));
    hr__text_printf(&line, ", \"status\": %d, \"bytes_in\": %zu, \"bytes_out\": %zu, \"us\": %.1f}", e->status,
                    e->bytes_in, e->bytes_out, (double)e->nanoseconds / 1000);
    if (log->fd < 0) {
        hr_log_message(HR_INFO, "%s", line.data ? line.data : "");
    } else {
        hr__text_byte(&line, '\n');
        /* One write of a file opened for appending: lines of several threads do not mix. */
        if (line.data && write(log->fd, line.data, line.size) < 0) errno = 0;
    }
    hr__text_free(&line);
}

void hr__access_close(struct hr__access_log *log)
{
    if (!log) return;
    if (log->fd >= 0) close(log->fd);
    hr_free(log);
}
