/* Quarantine files. A line says first where the bytes lay, then why and what they are; where they lay is what tells one
 * line from another, so that nothing is kept twice, however often it is read. */
#include "io/policy/quarantine.h"
#include "io/policy/error_json.h"
#include "io/file_system.h"
#include "io/io.h"
#include "io/sys.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>

/* ---- what was met before ---- */

/* Where a line's place ends: a quote in a string is escaped, so these bytes stand in no string. */
static const char quarantine_after_place[] = ",\"reason\":";

static hr_status quarantine_note(hr__quarantine *q, const char *place, size_t size, hr_error *err)
{
    const uint64_t key[] = {hr__map_hash(place, size), (uint64_t)hr_crc32c(0, place, size) << 32 | (uint32_t)size};
    return hr__map_add(&q->seen, (const char *)key, sizeof key, 0, err);
}

static hr_status note_line(hr__quarantine *q, const char *line, size_t size, hr_error *err)
{
    const char *end = memmem(line, size, quarantine_after_place, sizeof quarantine_after_place - 1);
    const hr_status status = end ? quarantine_note(q, line, (size_t)(end - line), err) : HR_OK;
    return status == HR_ALREADY_EXISTS ? HR_OK : status;
}

/* Reads all lines; *cut: the last one was never finished. */
static hr_status note_lines(hr__quarantine *q, hr_input *in, bool *cut, hr_error *err)
{
    const char *data;
    size_t size, want = 1;
    for (;;) {
        HR_TRY(hr_input_peek(in, want, &data, &size, err));
        const char *end = size ? memchr(data, '\n', size) : NULL;
        *cut = size > 0;
        if (!end && size < want) return HR_OK;
        want = end ? 1 : 2 * size;
        if (!end) continue;
        HR_TRY(note_line(q, data, (size_t)(end - data), err));
        hr_input_consume(in, (size_t)(end - data) + 1);
    }
}

/* A killed writer may have left half a line: the next line begins after a line end. */
static hr_status quarantine_open_file(hr__quarantine *q, hr_error *err)
{
    const hr_input_opts plain = {.struct_size = sizeof plain, .compression = HR_NONE};
    hr_input *in;
    bool cut = false;
    q->fd = hr__open(q->path, O_WRONLY | O_CREAT | O_APPEND, 0666);
    if (q->fd < 0) return hr__sys_fail(err, errno, "file.open", q->path, "written");
    if (hr_path_is_special(q->path)) return HR_OK; /* nothing stands in a pipe or a terminal */
    HR_TRY(hr_input_open_with(q->path, &plain, &in, err));
    const hr_status status = note_lines(q, in, &cut, err);
    hr_input_free(in);
    HR_TRY(status);
    if (cut && !hr__write_all(q->fd, "\n", 1)) return hr__sys_fail(err, errno, "file.write", q->path, "written");
    return HR_OK;
}

/* ---- a line ---- */

static void put_bytes(hr__json_writer *line, hr_view bytes)
{
    const bool text = hr__is_utf8(bytes.data, (size_t)bytes.size);
    hr__json_key(line, text ? "text" : "base64");
    text ? hr__json_string(line, bytes) : hr__json_base64(line, bytes);
}

hr_status hr__quarantine_add(hr__quarantine *q, const hr_error *damage, hr_view bytes, hr_error *err)
{
    hr__json_writer line = {.to = &q->line, .compact = true};
    if (q->fd < 0) HR_TRY(quarantine_open_file(q, err));
    hr__text_clear(&q->line);
    hr__json_begin(&line, '{');
    hr__error_json_place(&line, damage);
    HR_TRY(hr__text_status(&q->line, "a line of quarantine", err));
    const hr_status known = quarantine_note(q, q->line.data, q->line.size, err);
    if (known != HR_OK) return known == HR_ALREADY_EXISTS ? HR_OK : known;
    hr__error_json_reason(&line, damage);
    put_bytes(&line, bytes);
    hr__json_end(&line, '}');
    hr__text_byte(&q->line, '\n');
    HR_TRY(hr__text_status(&q->line, "a line of quarantine", err));
    if (hr__write_all(q->fd, q->line.data, q->line.size)) return HR_OK;
    return hr__sys_fail(err, errno, "file.write", q->path, "written");
}

void hr__quarantine_close(hr__quarantine *q)
{
    if (q->fd >= 0) hr__sys_get()->close(q->fd);
    q->fd = -1;
    hr__map_free(&q->seen);
    hr__text_free(&q->line);
}
