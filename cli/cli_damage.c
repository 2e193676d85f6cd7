/* Damage on standard output: what it is, where, how much is lost. */
#include "cli/cli_damage.h"
#include "cli/command.h"
#include <errno.h>
#include <string.h>

static void cli_damage_print_as_json(const hr_error *error)
{
    char *json = NULL;
    if (hr_error_json(error, &json, NULL) == HR_OK)
        puts(json);
    else
        fail_output(ENOMEM);
    hr_free(json);
}

void damage_end(damage *d)
{
    if (!d->waits) return;
    d->waits = false;
    d->errors++;
    if (d->json)
        cli_damage_print_as_json(&d->last);
    else
        fprintf(d->to ? d->to : stdout, "%s: %s byte%s lost%s\n", d->last.text, with_commas(d->last.length),
                d->last.length == 1 ? "" : "s",
                strcmp(d->last.kind, "stream.corrupt") == 0 ? ", and what could not be decompressed" : "");
}

void print_undecoded(FILE *to, int64_t undecoded)
{
    if (undecoded > 0)
        fprintf(to, ", and the content of %s compressed byte%s that could not be decompressed", with_commas(undecoded),
                undecoded == 1 ? "" : "s");
}

void damage_of_all(const char *path, const char *compression)
{
    fprintf(stderr,
            "headrace: %s: no record was found; if the file is compressed, its first bytes are damaged, too: "
            "--%s says how\n",
            path, compression);
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
