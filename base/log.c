/* The library never prints: what it has to say goes to one callback. */
#include <headrace/base.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>

static hr_log_fn *_Atomic current;
static void *_Atomic current_user;

void hr_set_log(hr_log_fn *fn, void *user)
{
    atomic_store(&current_user, user);
    atomic_store(&current, fn);
}

void hr_log_message(hr_level level, const char *format, ...)
{
    hr_log_fn *fn = atomic_load(&current);
    if (!fn) return;
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fn(level, text, atomic_load(&current_user));
}
