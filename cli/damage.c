/* Damage on standard output: what it is, where, how much is lost. */
#include "cli/damage.h"
#include <cjson/cJSON.h>
#include <string.h>

static void add_number(cJSON *to, const char *name, int64_t value)
{
    if (value >= 0) cJSON_AddNumberToObject(to, name, (double)value);
}

static void print_line_of_json(const hr_error *e)
{
    cJSON *line = cJSON_CreateObject();
    add_text(line, "file", e->file, strlen(e->file));
    add_number(line, "record", e->record);
    add_number(line, "line", e->line);
    add_number(line, "offset", e->offset);
    add_number(line, "length", e->length);
    add_number(line, "compressed_offset", e->compressed_offset);
    add_number(line, "column", e->column);
    cJSON_AddStringToObject(line, "kind", e->kind);
    add_text(line, "reason", e->text, strlen(e->text));
    print_json(line);
}

void damage_end(damage *d)
{
    if (!d->waits) return;
    d->waits = false;
    d->errors++;
    if (d->json)
        print_line_of_json(&d->last);
    else
        printf("%s: %s byte%s lost\n", d->last.text, with_commas(d->last.length), d->last.length == 1 ? "" : "s");
}

void damage_tell(const hr_error *error, hr_view bytes, void *user)
{
    damage *d = user;
    const hr_error *last = &d->last;
    d->bytes += bytes.size;
    if (d->waits && last->record == error->record && last->line == error->line &&
        last->offset + last->length == error->offset) {
        d->last.length += error->length;
        return;
    }
    damage_end(d);
    d->last = *error;
    d->waits = true;
}
