/* What of a CSV format makes other rows of the same file: a saved state, or rows kept in a file, belong to no other.
 * Names, types and shapes are the schema's. */
#include "data/sources/csv_source.h"
#include <string.h>

static void identify_words(const hr__csv_words *words, uint64_t *sum)
{
    hr_identify_i64(sum, words->count);
    for (int i = 0; i < words->count; i++) hr_identify_text(sum, words->word[i].data);
}

static void identify_places(const int *place, int count, uint64_t *sum)
{
    hr_identify_i64(sum, count);
    for (int i = 0; i < count; i++) hr_identify_i64(sum, place[i]);
}

static void identify_column(const hr__csv_column *c, uint64_t *sum)
{
    const char bytes[] = {(char)c->time, c->separator, c->has_default};
    hr_view text;
    hr_identify(sum, bytes, sizeof bytes);
    if (c->dtype != HR_STRING) {
        hr_identify(sum, c->fill, c->width);
        return;
    }
    memcpy(&text, c->fill, sizeof text);
    hr_identify_i64(sum, text.size);
    hr_identify(sum, text.data, (size_t)text.size);
}

void hr__csv_identify(const hr__csv_format *f, uint64_t *sum)
{
    const char bytes[] = {f->header,     f->by_name,  f->keep_missing, f->keep_blank, f->quoted_never_missing,
                          f->fill_short, f->cut_long, f->check_utf8,   f->tf_compat,  f->strings_never_missing};
    const hr__csv_dialect *d = &f->dialect;
    const char dialect[] = {d->delimiter, d->quote, d->escape, d->quotes, d->escapes, d->tf_compat};
    hr_identify(sum, dialect, sizeof dialect);
    hr_identify_text(sum, d->comment);
    identify_words(&f->na, sum);
    identify_words(&f->yes, sum);
    identify_words(&f->no, sum);
    hr_identify(sum, bytes, sizeof bytes);
    hr_identify_i64(sum, f->optional);
    hr_identify_i64(sum, f->skip_lines);
    hr_identify_i64(sum, f->skip_rows);
    hr_identify_i64(sum, f->naming.names);
    for (int i = 0; i < f->naming.names; i++) hr_identify_text(sum, f->naming.name[i]);
    hr_identify_i64(sum, f->naming.renames);
    for (int i = 0; i < f->naming.renames; i++) {
        hr_identify_text(sum, f->naming.rename[i].from);
        hr_identify_text(sum, f->naming.rename[i].to);
    }
    identify_places(f->select, f->selects, sum);
    identify_places(f->exclude, f->excludes, sum);
    for (int c = 0; c < f->columns; c++) identify_column(&f->column[c], sum);
}
