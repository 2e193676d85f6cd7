/* Errors live in objects that the caller owns, never in globals: workers have no "last error". */
#include <headrace/base.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const names[] = {
    "OK",       "Cancelled",     "Unknown",          "InvalidArgument",   "DeadlineExceeded",
    "NotFound", "AlreadyExists", "PermissionDenied", "ResourceExhausted", "FailedPrecondition",
    "Aborted",  "OutOfRange",    "Unimplemented",    "Internal",          "Unavailable",
    "DataLoss",
};

const char *hr_status_name(hr_status status)
{
    if (status == HR_END) return "End";
    if (status == HR_WAIT) return "Wait";
    int number = -(int)status;
    return number >= 0 && number < (int)(sizeof names / sizeof *names) ? names[number] : "Unknown";
}

hr_status hr_fail(hr_error *err, hr_status code, const char *kind, const char *format, ...)
{
    if (!err) return code;
    *err = (hr_error){.code = code,
                      .kind = kind,
                      .record = -1,
                      .line = -1,
                      .offset = -1,
                      .length = -1,
                      .compressed_offset = -1,
                      .column = -1};
    va_list args;
    va_start(args, format);
    vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    return code;
}

hr_status hr_no_memory(hr_error *err, const char *what)
{
    return hr_fail(err, HR_RESOURCE_EXHAUSTED, "memory", "no memory for %s", what);
}

void hr_error_prefix(hr_error *err, const char *format, ...)
{
    if (!err) return;
    char text[sizeof err->text];
    va_list args;
    va_start(args, format);
    int used = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (used < 0 || (size_t)used >= sizeof text) return;
    size_t left = sizeof text - (size_t)used - 1, size = strnlen(err->text, left);
    memcpy(text + used, err->text, size);
    text[(size_t)used + size] = '\0';
    memcpy(err->text, text, sizeof text);
}

void hr_error_file(hr_error *err, const char *file)
{
    if (err && !err->file[0]) snprintf(err->file, sizeof err->file, "%s", file);
}
