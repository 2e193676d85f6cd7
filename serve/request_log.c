/* Request logs: PredictionLogs of a share of the requests, as TFRecords. Such a file is a warm-up file as it is, and a
 * set of tests: each record has the request and its answer. */
#include "serve/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

hr_status hr__request_log_open(const hr__model_config *config, hr__request_log **out, hr_error *err)
{
    hr__text path = {0};
    hr__request_log *log = hr_calloc(1, sizeof *log);
    hr__text_printf(&path, "%s-%lld-%d.tfrecord", config->log_prefix, (long long)time(NULL), (int)getpid());
    if (!log || path.failed) {
        hr_free(log);
        hr__text_free(&path);
        return hr_no_memory(err, "a log");
    }
    log->rate = config->log_rate;
    log->fd = open(path.data, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
    const hr_status st =
        log->fd >= 0 ? HR_OK : hr_fail(err, HR_NOT_FOUND, "serve.file", "%s: %s", path.data, strerror(errno));
    hr__text_free(&path);
    if (st == HR_OK)
        *out = log;
    else
        hr_free(log);
    return st;
}

void hr__request_log_close(hr__request_log *log)
{
    if (!log) return;
    close(log->fd);
    hr_free(log);
}
