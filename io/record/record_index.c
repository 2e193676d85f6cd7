/* The index of a file's records: its parts, whether it still matches its file, and seeking to a record. */
#include "io/record/record_index.h"
#include "io/framing.h"
#include "io/input.h"
#include <inttypes.h>
#include <string.h>

/* ---- its parts ---- */

hr_record_index *hr__record_index_new(const char *path)
{
    hr_record_index *index = hr_calloc(1, sizeof *index);
    if (index && !(index->path = hr_strdup(path))) {
        hr_free(index);
        return NULL;
    }
    if (index) index->every = HR__INDEX_EVERY;
    return index;
}

void hr_record_index_free(hr_record_index *index)
{
    if (!index) return;
    hr_free(index->path);
    hr_free(index->sample);
    hr_free(index->place);
    hr_free(index);
}

int64_t hr_record_index_count(const hr_record_index *index) { return index->records; }

int64_t hr_record_index_bytes(const hr_record_index *index) { return index->bytes; }

bool hr_record_index_was_made(const hr_record_index *index) { return index->made; }

/* Space for one more of `width` bytes. False, for ever: no memory. */
static bool index_grow(hr_record_index *index, void *array, int64_t count, int64_t *capacity, size_t width)
{
    void *p;
    if (index->failed || count < *capacity) return !index->failed;
    const int64_t more = *capacity ? 2 * *capacity : 64;
    memcpy(&p, array, sizeof p);
    p = hr_realloc(p, (size_t)more * width);
    index->failed = !p;
    if (!p) return false;
    memcpy(array, &p, sizeof p);
    *capacity = more;
    return true;
}

void hr__record_index_add_record(hr_record_index *index, int64_t offset, int64_t size)
{
    if (index->records++ % index->every == 0 &&
        index_grow(index, &index->sample, index->samples, &index->sample_capacity, sizeof *index->sample))
        index->sample[index->samples++] = offset;
    index->bytes = offset + size;
}

void hr__record_index_add_place(hr_record_index *index, int64_t offset, int64_t made)
{
    if (index_grow(index, &index->place, index->places, &index->place_capacity, sizeof *index->place))
        index->place[index->places++] = (hr__index_place){offset, made};
}

/* ---- the file it is of ---- */

/* Offset of probe i of the file: the headers are spread evenly, the last one is the file's end. */
static int64_t probe_offset(const hr_record_index *index, int i)
{
    const int64_t headers = index->places ? index->places : index->samples;
    if (i == HR__INDEX_PROBES - 1 || headers == 0)
        return index->size > HR__INDEX_PROBE ? index->size - HR__INDEX_PROBE : 0;
    const int64_t n = headers * i / (HR__INDEX_PROBES - 1);
    return index->places ? index->place[n].offset : index->sample[n];
}

static hr_status take_probe(const hr_input *in, int64_t offset, hr__index_probe *probe, hr_error *err)
{
    size_t got;
    memset(probe, 0, sizeof *probe);
    probe->offset = offset;
    return hr__input_read_at(in, offset, probe->bytes, sizeof probe->bytes, &got, err);
}

hr_status hr__record_index_probe(hr_record_index *index, const hr_input *in, hr_error *err)
{
    index->probes = HR__INDEX_PROBES;
    for (int i = 0; i < index->probes; i++) HR_TRY(take_probe(in, probe_offset(index, i), &index->probe[i], err));
    return HR_OK;
}

hr_status hr__record_index_same(const hr_record_index *index, const hr_input *in, bool *same, hr_error *err)
{
    *same = true;
    for (int i = 0; i < index->probes && *same; i++) {
        hr__index_probe now;
        HR_TRY(take_probe(in, index->probe[i].offset, &now, err));
        *same = memcmp(now.bytes, index->probe[i].bytes, sizeof now.bytes) == 0;
    }
    return HR_OK;
}

/* ---- going to a record ---- */

hr_status hr__record_index_beyond(const char *path, int64_t first, int64_t count, int64_t records, hr_error *err)
{
    int64_t last = first;
    if (count > 0 && __builtin_add_overflow(first, count - 1, &last)) last = INT64_MAX;
    hr_fail(err, HR_OUT_OF_RANGE, "index.range", "%s: expected records of its %" PRId64 ", got %" PRId64 " to %" PRId64,
            path, records, first, last);
    hr_error_file(err, path);
    return HR_OUT_OF_RANGE;
}

static hr_status index_check_file(const hr_record_index *index, const hr_input *in, hr_error *err)
{
    if (hr__input_file_size(in) == index->size && hr__input_compression(in) == index->compression) return HR_OK;
    hr_fail(err, HR_FAILED_PRECONDITION, "index.stale",
            "%s: expected the file that the index is of, '%.200s', got another", hr_input_path(in), index->path);
    hr_error_file(err, hr_input_path(in));
    return HR_FAILED_PRECONDITION;
}

/* The last place at or before byte `offset`. */
static hr__index_place place_before(const hr_record_index *index, int64_t offset)
{
    int64_t low = 0, high = index->places;
    while (low + 1 < high) {
        const int64_t middle = low + (high - low) / 2;
        if (index->place[middle].made <= offset)
            low = middle;
        else
            high = middle;
    }
    return index->places ? index->place[low] : (hr__index_place){0, 0};
}

static hr_status go_to_offset(const hr_record_index *index, hr_input *in, int64_t offset, hr_error *err)
{
    if (!hr__input_has_places(in)) {
        const hr__index_place place = place_before(index, offset);
        const int64_t here = hr_input_offset(in);
        if (here > offset || here < place.made) HR_TRY(hr__input_begin_at(in, place.offset, place.made, err));
    }
    return hr_input_seek(in, offset, err);
}

/* Where the sampled record at or before `record` begins, inflated; its number in *near. */
static int64_t record_index_near(const hr_record_index *index, int64_t record, int64_t *near)
{
    *near = record / index->every * index->every;
    return index->sample[record / index->every];
}

hr_status hr__record_index_seek(const hr_record_index *index, hr_input *in, int64_t first, int64_t count, int64_t *near,
                                hr_error *err)
{
    *near = 0;
    if (!index)
        return first < 0 ? hr__record_index_beyond(hr_input_path(in), first, count, 0, err) : hr_input_seek(in, 0, err);
    HR_TRY(index_check_file(index, in, err));
    if (first < 0 || first > index->records || count > index->records - first)
        return hr__record_index_beyond(hr_input_path(in), first, count, index->records, err);
    if (first == index->records) {
        *near = first;
        return go_to_offset(index, in, index->bytes, err);
    }
    return go_to_offset(index, in, record_index_near(index, first, near), err);
}
