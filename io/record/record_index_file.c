/* FILE.hridx: the index as bytes (docs/formats.md), its checksum last. It is of the file beside it only if
 * size, time of change and the bytes at sampled headers are the same. */
#include "io/framing.h"
#include "io/input.h"
#include "io/record/record_index.h"
#include "base/text.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { VERSION = 1, HEAD = 80, PROBE = 8 + HR__INDEX_PROBE, CRC = 4 };
static const char magic[8] = "hr.index";

char *hr__record_index_name(const char *path)
{
    hr__text name = {0};
    hr__text_printf(&name, "%s.hridx", path);
    return hr__text_take(&name);
}

/* ---- writing ---- */

static void put64(hr__text *text, int64_t value)
{
    char bytes[8];
    hr__put64(bytes, (uint64_t)value);
    hr__text_bytes(text, bytes, sizeof bytes);
}

static void put_index(hr__text *text, const hr_record_index *index)
{
    const int64_t head[] = {(int64_t)VERSION | (int64_t)index->compression << 32,
                            index->size,
                            index->changed,
                            index->records,
                            index->bytes,
                            index->every,
                            index->probes,
                            index->samples,
                            index->places};
    hr__text_bytes(text, magic, sizeof magic);
    for (size_t i = 0; i < sizeof head / sizeof *head; i++) put64(text, head[i]);
    for (int i = 0; i < index->probes; i++) {
        put64(text, index->probe[i].offset);
        hr__text_bytes(text, index->probe[i].bytes, HR__INDEX_PROBE);
    }
    for (int64_t i = 0; i < index->samples; i++) put64(text, index->sample[i]);
    for (int64_t i = 0; i < index->places; i++) {
        put64(text, index->place[i].offset);
        put64(text, index->place[i].made);
    }
    char crc[CRC] = {0};
    hr__record_footer(crc, text->data, text->size);
    hr__text_bytes(text, crc, sizeof crc);
}

static hr_status index_file_write_bytes(const char *path, const hr__text *text, hr_error *err)
{
    hr_output *out;
    const hr_output_opts opts = {.struct_size = sizeof opts, .compression = HR_NONE};
    HR_TRY(hr_output_open_with(path, &opts, &out, err));
    hr_output_write(out, text->data, text->size, NULL); /* a failure sticks */
    return hr_output_commit(out, err);
}

hr_status hr_record_index_write(const hr_record_index *index, hr_error *err)
{
    hr__text text = {0};
    char *path = hr__record_index_name(index->path);
    put_index(&text, index);
    hr_status st = path ? hr__text_status(&text, "an index", err) : hr_no_memory(err, "an index");
    if (st == HR_OK) st = index_file_write_bytes(path, &text, err);
    hr__text_free(&text);
    hr_free(path);
    return st;
}

/* ---- reading ---- */

static hr_status index_file_damaged(const char *name, const char *what, hr_error *err)
{
    hr_fail(err, HR_DATA_LOSS, "index.damaged", "%s: expected an index, got %s; remove it, or make it again", name,
            what);
    hr_error_file(err, name);
    return HR_DATA_LOSS;
}

static int64_t take64(const char **p)
{
    const uint64_t value = hr__get64(*p);
    *p += 8;
    return (int64_t)value;
}

static hr_status check_bytes(const char *name, const char *bytes, size_t size, hr_error *err)
{
    if (size < HEAD + CRC || memcmp(bytes, magic, sizeof magic) != 0)
        return index_file_damaged(name, "other bytes", err);
    if (hr__get32(bytes + sizeof magic) != VERSION) {
        hr_fail(err, HR_FAILED_PRECONDITION, "index.version", "%s: expected an index of version %d, got %" PRIu32, name,
                VERSION, hr__get32(bytes + sizeof magic));
        hr_error_file(err, name);
        return HR_FAILED_PRECONDITION;
    }
    return hr__record_sound(bytes, size - CRC) ? HR_OK : index_file_damaged(name, "a wrong checksum", err);
}

/* The counts are those of the bytes that are there, so that nothing is read or allocated beyond them. */
static bool counts_fit(const hr_record_index *index, int64_t probes, size_t size)
{
    const int64_t every = index->every;
    const int64_t max = (int64_t)(size / 8);
    if ((every != 1 && every != HR__INDEX_EVERY) || probes < 0 || probes > HR__INDEX_PROBES) return false;
    if (index->samples < 0 || index->samples > max || index->places < 0 || index->places > max) return false;
    if (index->bytes < 0 || index->bytes > INT64_MAX / 2) return false;
    if (index->records < 0 || index->records > index->bytes / HR__RECORD_FRAME) return false;
    if (index->samples != (index->records + every - 1) / every) return false;
    return (size_t)(HEAD + PROBE * probes + 8 * index->samples + 16 * index->places + CRC) == size;
}

static bool offsets_rise(const hr_record_index *index)
{
    int64_t min = 0;
    for (int64_t i = 0; i < index->samples; i++) {
        if (index->sample[i] < min || index->sample[i] > index->bytes - HR__RECORD_FRAME) return false;
        min = index->sample[i] + index->every * HR__RECORD_FRAME;
    }
    hr__index_place before = {-1, 0};
    for (int64_t i = 0; i < index->places; before = index->place[i++])
        if (index->place[i].offset <= before.offset || index->place[i].made < before.made) return false;
    const bool begins = index->samples == 0 || index->sample[0] == 0;
    return begins && (index->places == 0 || (index->place[0].offset == 0 && index->place[0].made == 0));
}

static hr_status take_arrays(hr_record_index *index, const char *p, hr_error *err)
{
    for (int i = 0; i < index->probes; i++) {
        index->probe[i].offset = take64(&p);
        memcpy(index->probe[i].bytes, p, HR__INDEX_PROBE);
        p += HR__INDEX_PROBE;
    }
    index->sample = hr_malloc((size_t)index->samples * sizeof *index->sample);
    index->place = hr_malloc((size_t)index->places * sizeof *index->place);
    if (!index->sample || !index->place) return hr_no_memory(err, "an index");
    for (int64_t i = 0; i < index->samples; i++) index->sample[i] = take64(&p);
    for (int64_t i = 0; i < index->places; i++) {
        index->place[i].offset = take64(&p);
        index->place[i].made = take64(&p);
    }
    return HR_OK;
}

hr_status hr__record_index_parse(const char *name, const char *bytes, size_t size, hr_record_index *index,
                                 hr_error *err)
{
    HR_TRY(check_bytes(name, bytes, size, err));
    const char *p = bytes + sizeof magic + 4;
    index->compression = (hr_compression)hr__get32(p);
    p += 4;
    int64_t *const head[] = {&index->size, &index->changed, &index->records, &index->bytes};
    for (int i = 0; i < 4; i++) *head[i] = take64(&p);
    index->every = take64(&p);
    const int64_t probes = take64(&p);
    index->samples = take64(&p);
    index->places = take64(&p);
    if (!counts_fit(index, probes, size)) return index_file_damaged(name, "counts that do not fit its size", err);
    index->probes = (int)probes;
    HR_TRY(take_arrays(index, p, err));
    return offsets_rise(index) ? HR_OK : index_file_damaged(name, "offsets that do not rise", err);
}

static hr_status stale(const char *name, const char *what, int64_t expected, int64_t found, hr_error *err)
{
    hr_fail(err, HR_FAILED_PRECONDITION, "index.stale",
            "%s: expected a file whose %s is %" PRId64 ", got %" PRId64 ": it has changed since; make the index again",
            name, what, expected, found);
    hr_error_file(err, name);
    return HR_FAILED_PRECONDITION;
}

static hr_status check_file(const hr_record_index *index, const char *name, hr_error *err)
{
    hr_input *in;
    bool same = false;
    int64_t size, changed;
    const hr_input_opts opts = {.struct_size = sizeof opts, .compression = index->compression};
    HR_TRY(hr_input_open_with(index->path, &opts, &in, err));
    hr_status st = hr__input_about(in, &size, &changed, err);
    if (st == HR_OK && size != index->size) st = stale(name, "size", index->size, size, err);
    if (st == HR_OK && changed != index->changed) st = stale(name, "time of change", index->changed, changed, err);
    if (st == HR_OK) st = hr__record_index_same(index, in, &same, err);
    hr_input_free(in);
    if (st != HR_OK || same) return st;
    hr_fail(err, HR_FAILED_PRECONDITION, "index.stale",
            "%s: expected other bytes at the sampled headers of the file: it has changed since; make the index again",
            name);
    hr_error_file(err, name);
    return HR_FAILED_PRECONDITION;
}

/* Lends all of a file. */
static hr_status index_file_read_whole(const char *path, hr_input **in, const char **bytes, size_t *size, hr_error *err)
{
    const hr_input_opts opts = {.struct_size = sizeof opts, .compression = HR_NONE};
    HR_TRY(hr_input_open_with(path, &opts, in, err));
    const int64_t all = hr__input_file_size(*in);
    if (all < 0) return index_file_damaged(path, "a pipe or a device", err);
    return hr_input_peek(*in, (size_t)all, bytes, size, err);
}

hr_status hr_record_index_read(const char *path, hr_record_index **out, hr_error *err)
{
    hr_input *in = NULL;
    const char *bytes;
    size_t size;
    char *name = hr__record_index_name(path);
    hr_record_index *index = hr__record_index_new(path);
    hr_status st = name && index ? HR_OK : hr_no_memory(err, "an index");
    if (st == HR_OK) st = index_file_read_whole(name, &in, &bytes, &size, err);
    if (st == HR_OK) st = hr__record_index_parse(name, bytes, size, index, err);
    if (st == HR_OK) st = check_file(index, name, err);
    hr_input_free(in);
    hr_free(name);
    if (st == HR_OK)
        *out = index;
    else
        hr_record_index_free(index);
    return st;
}
