/* With a schema, a record keeps the features that it names, each of the schema's type; without, all of them, to the
 * byte. */
#include "io/convert/example_rows_out.h"
#include "base/text.h"
#include "io/example/example_wire.h"
#include "io/framing.h"
#include <headrace/examples.h>
#include <string.h>

enum { PIECE_RECORDS = HR__CONVERT_PIECE / 16 };

typedef struct examples {
    const char *path;
    hr__text bytes;
    size_t end[PIECE_RECORDS]; /* of each record in `bytes` */
    int count;
    hr__row_keeper keeper;
} examples;

static hr_status example_make(hr__convert_piece *piece, hr_error *err)
{
    examples *own = piece->own = hr_calloc(1, sizeof *own);
    if (!own) return hr_no_memory(err, "convert");
    return hr__row_keeper_make(&own->keeper, err);
}

void hr__examples_free(void *memory)
{
    examples *own = memory;
    if (!own) return;
    hr__text_free(&own->bytes);
    hr__row_keeper_clear(&own->keeper);
    hr_free(own);
}

/* What comes before a failure or the end is a piece; the failure comes again with the next one. */
hr_status hr__examples_read(hr__example_read_fn *read, void *source, const char *path, hr__convert_piece *piece,
                            int64_t *number, hr_error *err)
{
    if (!piece->own) HR_TRY(example_make(piece, err));
    examples *own = piece->own;
    hr_view example;
    hr_status st = HR_OK;
    own->path = path;
    own->count = 0;
    hr__text_clear(&own->bytes);
    while (own->count < PIECE_RECORDS && own->bytes.size < HR__CONVERT_PIECE &&
           (st = read(source, &example, err)) == HR_OK) {
        hr__text_bytes(&own->bytes, example.data, (size_t)example.size);
        own->end[own->count++] = own->bytes.size;
    }
    HR_TRY(hr__text_status(&own->bytes, "convert: records", err));
    piece->first = *number;
    piece->rows = own->count;
    piece->blank = 0;
    *number += own->count;
    return own->count > 0 ? HR_OK : st;
}

/* ---- one record ---- */

static bool is_missing(const hr__values *values) { return !values || values->count == 0; }

static hr_status fail_at(hr__convert_piece *piece, const char *path, int64_t row, hr_status st)
{
    hr_error_prefix(&piece->err, "%s: record %lld: ", path, (long long)(piece->first + row));
    hr_error_file(&piece->err, path);
    piece->err.record = piece->first + row;
    return st;
}

static hr_status wrong_type(const hr__schema_field *field, const hr__values *values, hr_error *err)
{
    return hr_fail(err, HR_INVALID_ARGUMENT, "convert.type",
                   "feature '%.60s': expected %s, as the schema says, found %s", field->name,
                   hr_dtype_name(field->stored), hr_dtype_name(values->dtype));
}

hr_status hr__row_keeper_make(hr__row_keeper *k, hr_error *err)
{
    *k = (hr__row_keeper){.walk = hr_example_walk_new(), .kept = hr_example_new()};
    return k->walk && k->kept ? HR_OK : hr_no_memory(err, "convert");
}

void hr__row_keeper_clear(hr__row_keeper *k)
{
    hr_example_walk_free(k->walk);
    hr_example_free(k->kept);
    hr_free(k->values);
}

hr_status hr__row_look(hr__row_keeper *k, hr_view example, const char *const *require, int count, bool *dropped,
                       hr_error *err)
{
    *dropped = false;
    HR_TRY(hr__example_walk_record(k->walk, example, &k->contents, err));
    for (int i = 0; i < count; i++) *dropped |= is_missing(hr__convert_values(&k->contents, require[i]));
    return HR_OK;
}

hr_status hr__row_keep(hr__row_keeper *k, const hr__schema_file *schema, int64_t *missing, hr_error *err)
{
    if (k->contents.has_lists)
        return hr_fail(err, HR_INVALID_ARGUMENT, "convert.type",
                       "expected a tf.Example, whose features a schema can name, found a SequenceExample");
    if (!k->values) k->values = hr_malloc(((size_t)schema->fields + 1) * sizeof *k->values);
    if (!k->values) return hr_no_memory(err, "convert");
    hr_example_clear(k->kept);
    hr__convert_fields(schema, &k->contents, k->values);
    for (int i = 0; i < schema->fields; i++) {
        const hr__values *values = k->values[i];
        const bool fits = is_missing(values) || values->dtype == schema->field[i].stored;
        if (!fits) return wrong_type(&schema->field[i], values, err);
    }
    for (int i = 0; i < schema->fields; i++) {
        const hr__schema_field *field = &schema->field[i];
        const hr__values *values = k->values[i];
        if (missing) missing[i] += is_missing(values);
        if (is_missing(values)) continue;
        hr__example_add_values(k->kept, (hr_view){field->name, (int64_t)strlen(field->name)}, values);
    }
    return HR_OK;
}

/* What was kept, as a record. A long one is the last of its piece: its bytes go before those of the record come. */
static hr_status add_kept(examples *own, hr__convert_piece *piece, int64_t row, bool test)
{
    size_t size;
    HR_TRY(hr__example_measure(own->keeper.kept, &size, &piece->err));
    if (row == own->count - 1) hr__text_clear(&own->bytes);
    HR_TRY(hr__piece_reserve(piece, size + HR__RECORD_FRAME, 1, &piece->err));
    hr__example_put(own->keeper.kept, hr__piece_data(piece));
    hr__piece_add(piece, row, size, test);
    return HR_OK;
}

/* Of a whole number that is alone. */
static int64_t only_number(const hr__values *values)
{
    hr__blocks blocks;
    hr__blocks_begin(&blocks, values);
    return *(const int64_t *)hr__blocks_next(&blocks)->data;
}

static hr_status encode_row(const hr_convert_opts *o, hr__convert_piece *piece, int64_t row, hr_view example)
{
    examples *own = piece->own;
    bool test = false, dropped;
    if (o->schema || o->split_column || o->require_count) {
        hr_status st = hr__row_look(&own->keeper, example, o->require, o->require_count, &dropped, &piece->err);
        if (st != HR_OK) return fail_at(piece, own->path, row, st);
        if (dropped) {
            piece->dropped++;
            return HR_OK;
        }
        const hr__values *by = o->split_column ? hr__convert_values(&own->keeper.contents, o->split_column) : NULL;
        if (o->split_column && (is_missing(by) || by->dtype != HR_INT64 || by->count != 1))
            return hr__convert_no_split(o, own->path, piece, row);
        test = by && hr__convert_is_test(o, only_number(by));
        if (o->schema) {
            st = hr__row_keep(&own->keeper, o->schema, piece->missing, &piece->err);
            return st == HR_OK ? add_kept(own, piece, row, test) : fail_at(piece, own->path, row, st);
        }
    }
    HR_TRY(hr__piece_reserve(piece, (size_t)example.size + HR__RECORD_FRAME, 1, &piece->err));
    if (example.size > 0) memcpy(hr__piece_data(piece), example.data, (size_t)example.size);
    hr__piece_add(piece, row, (size_t)example.size, test);
    return HR_OK;
}

/* Reports a record that the policy skips, with its bytes. */
static hr_status example_reject(const hr__convert_plan *plan, hr__convert_piece *piece, hr_view example)
{
    if (!hr__policy_covers(plan->policy, &piece->err)) return piece->status;
    const hr_error why = piece->err;
    piece->rejected++;
    return hr__policy_take(plan->policy, &why, example, &piece->err);
}

void hr__examples_encode(const hr__convert_plan *plan, hr__convert_piece *piece)
{
    examples *own = piece->own;
    size_t begin = 0;
    piece->status = HR_OK;
    for (int i = 0; i < own->count && piece->status == HR_OK; i++) {
        const hr_view example = {own->bytes.data + begin, (int64_t)(own->end[i] - begin)};
        piece->status = encode_row(plan->opts, piece, i, example);
        if (piece->status != HR_OK) piece->status = example_reject(plan, piece, example);
        begin = own->end[i];
    }
    hr__text_clear(&own->bytes); /* a long record is not kept twice */
    hr_example_clear(own->keeper.kept);
}
