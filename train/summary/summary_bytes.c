/* Serialized summaries of one value: the tag, then the field of the value, which other code has packed. */
#include <headrace/summary.h>
#include "base/hash_map.h"
#include "io/example/example_wire.h"
#include "proto/event.pb-c.h"
#include "proto/message.h"
#include "train/summary/histogram.h"
#include "train/summary/png.h"
#include <math.h>
#include <string.h>

/* Fields of tensorflow.Summary.Value and Summary.Image: the number and, below, the type of what follows. */
enum {
    VARINT = 0,
    BYTES = 2,
    FIXED32 = 5,
    VALUE = 1,
    TAG = 1,
    SIMPLE = 2,
    IMAGE = 4,
    HISTO = 5,
    AUDIO = 6,
    TENSOR = 8,
    META = 9
};

typedef struct field {
    int number, type;
    uint64_t whole; /* a VARINT or FIXED32 */
    hr_view bytes;
} field;

static size_t field_size(const field *f)
{
    if (f->type == FIXED32) return 5;
    return 1 + (f->type == VARINT ? hr__varint_size(f->whole)
                                  : hr__varint_size((uint64_t)f->bytes.size) + (size_t)f->bytes.size);
}

static char *put_field(char *to, const field *f)
{
    *to++ = (char)(f->number << 3 | f->type);
    if (f->type == VARINT) return hr__put_varint(to, f->whole);
    if (f->type == FIXED32) {
        for (int i = 0; i < 4; i++) *to++ = (char)(f->whole >> 8 * i);
        return to;
    }
    to = hr__put_varint(to, (uint64_t)f->bytes.size);
    if (f->bytes.size) memcpy(to, f->bytes.data, (size_t)f->bytes.size);
    return to + f->bytes.size;
}

static hr_status pack(const field *fields, int count, char **bytes, size_t *size, hr_error *err)
{
    *size = 0;
    for (int i = 0; i < count; i++) *size += field_size(&fields[i]);
    char *to = *bytes = hr_malloc(*size + 1);
    if (!to) return hr_no_memory(err, "a summary");
    for (int i = 0; i < count; i++) to = put_field(to, &fields[i]);
    return HR_OK;
}

static hr_status lacks(const char *what, hr_error *err)
{
    return hr_fail(err, HR_INVALID_ARGUMENT, "summary.argument", "summary: expected %s, got NULL", what);
}

/* A summary of one value: its tag and these fields. */
static hr_status pack_value(hr_view tag, field a, const field *b, char **bytes, size_t *size, hr_error *err)
{
    char *value;
    size_t value_size;
    if (!bytes || !size) return lacks("a place for the bytes", err);
    const field fields[] = {{TAG, BYTES, 0, tag}, a, b ? *b : a};
    *bytes = NULL;
    HR_TRY(pack(fields + (tag.size ? 0 : 1), (b ? 3 : 2) - (tag.size ? 0 : 1), &value, &value_size, err));
    const hr_status st = pack(&(const field){VALUE, BYTES, 0, {value, (int64_t)value_size}}, 1, bytes, size, err);
    hr_free(value);
    return st;
}

hr_status hr_summary_scalar(hr_view tag, float value, char **bytes, size_t *size, hr_error *err)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return pack_value(tag, (field){SIMPLE, FIXED32, bits, {NULL, 0}}, NULL, bytes, size, err);
}

hr_status hr_summary_histogram(hr_view tag, const double *values, int64_t count, char **bytes, size_t *size,
                               hr_error *err)
{
    hr__histogram h;
    Headrace__Proto__Histogram message;
    if (!bytes || !size || count < 0 || (count > 0 && !values)) return lacks("values, and a place for the bytes", err);
    *bytes = NULL;
    HR_TRY(hr__histogram_of(values, count, &h, err));
    hr__histogram_message(&h, &message);
    const size_t packed = headrace__proto__histogram__get_packed_size(&message);
    uint8_t *histo = hr_malloc(packed + 1);
    hr_status st = histo ? HR_OK : hr_no_memory(err, "a histogram");
    if (st == HR_OK) {
        headrace__proto__histogram__pack(&message, histo);
        st = pack_value(tag, (field){HISTO, BYTES, 0, {(const char *)histo, (int64_t)packed}}, NULL, bytes, size, err);
    }
    hr_free(histo);
    hr__histogram_clear(&h);
    return st;
}

hr_status hr_summary_tensor(hr_view tag, hr_view tensor, hr_view metadata, char **bytes, size_t *size, hr_error *err)
{
    return pack_value(tag, (field){TENSOR, BYTES, 0, tensor}, &(const field){META, BYTES, 0, metadata}, bytes, size,
                      err);
}

static field text_field(int number, const char *text)
{
    return (field){number, BYTES, 0, {text, text ? (int64_t)strlen(text) : 0}};
}

hr_status hr_summary_metadata(const char *plugin, const char *display_name, const char *description, int data_class,
                              char **bytes, size_t *size, hr_error *err)
{
    char *name = NULL;
    size_t name_size = 0;
    field fields[4];
    int count = 0;
    if (!bytes || !size) return lacks("a place for the bytes", err);
    *bytes = NULL;
    const field named = text_field(1, plugin);
    if (plugin) {
        HR_TRY(pack(&named, 1, &name, &name_size, err));
        fields[count++] = (field){1, BYTES, 0, {name, (int64_t)name_size}};
    }
    if (display_name) fields[count++] = text_field(2, display_name);
    if (description) fields[count++] = text_field(3, description);
    if (data_class) fields[count++] = (field){4, VARINT, (uint64_t)data_class, {NULL, 0}};
    const hr_status st = pack(fields, count, bytes, size, err);
    hr_free(name);
    return st;
}

/* A TensorProto of doubles [rows, 3]. */
static hr_status pack_rows(const double *rows, int64_t count, char **bytes, size_t *size, hr_error *err)
{
    char shape[32], *to = shape;
    for (int i = 0; i < 2; i++) {
        const uint64_t dim = i ? 3 : (uint64_t)count;
        *to++ = 2 << 3 | BYTES;
        *to++ = (char)(1 + hr__varint_size(dim));
        *to++ = 1 << 3 | VARINT;
        to = hr__put_varint(to, dim);
    }
    const field tensor[] = {{1, VARINT, 2, {NULL, 0}}, /* DT_DOUBLE */
                            {2, BYTES, 0, {shape, to - shape}},
                            {4, BYTES, 0, {(const char *)rows, count * 3 * (int64_t)sizeof *rows}}};
    return pack(tensor, 3, bytes, size, err);
}

hr_status hr_summary_histogram_v2(hr_view tag, const double *values, int64_t count, int64_t buckets, char **bytes,
                                  size_t *size, hr_error *err)
{
    char *tensor = NULL, *metadata = NULL;
    size_t tensor_size, metadata_size;
    if (!bytes || !size || count < 0 || (count > 0 && !values)) return lacks("values, and a place for the bytes", err);
    *bytes = NULL;
    if (buckets < 0 || buckets > 1 << 20)
        return hr_fail(err, HR_INVALID_ARGUMENT, "summary.histogram", "histogram: expected 1 to %d buckets, got %lld",
                       1 << 20, (long long)buckets);
    if (buckets == 0) buckets = 30;
    double *rows = hr_malloc((size_t)buckets * 3 * sizeof *rows);
    hr_status st = rows ? hr__histogram_rows(values, count, buckets, rows, err) : hr_no_memory(err, "a histogram");
    if (st == HR_OK) st = pack_rows(rows, buckets, &tensor, &tensor_size, err);
    if (st == HR_OK) st = hr_summary_metadata("histograms", NULL, NULL, 2, &metadata, &metadata_size, err);
    if (st == HR_OK)
        st = hr_summary_tensor(tag, (hr_view){tensor, (int64_t)tensor_size},
                               (hr_view){metadata, (int64_t)metadata_size}, bytes, size, err);
    hr_free(metadata);
    hr_free(tensor);
    hr_free(rows);
    return st;
}

hr_status hr_summary_image(hr_view tag, int64_t height, int64_t width, int channels, const uint8_t *pixels,
                           char **bytes, size_t *size, hr_error *err)
{
    char *png, *image = NULL;
    size_t png_size, image_size;
    if (!bytes || !size || !pixels) return lacks("pixels, and a place for the bytes", err);
    *bytes = NULL;
    if (channels != 1 && channels != 3 && channels != 4)
        return hr_fail(err, HR_INVALID_ARGUMENT, "summary.image", "a picture: expected 1, 3 or 4 channels, got %d",
                       channels);
    const hr__pixels picture = {pixels, height, width, channels, 8};
    HR_TRY(hr__png_write(&picture, -1, &png, &png_size, err));
    const field fields[] = {{1, VARINT, (uint64_t)height, {NULL, 0}},
                            {2, VARINT, (uint64_t)width, {NULL, 0}},
                            {3, VARINT, (uint64_t)channels, {NULL, 0}},
                            {4, BYTES, 0, {png, (int64_t)png_size}}};
    hr_status st = pack(fields, 4, &image, &image_size, err);
    if (st == HR_OK)
        st = pack_value(tag, (field){IMAGE, BYTES, 0, {image, (int64_t)image_size}}, NULL, bytes, size, err);
    hr_free(image);
    hr_free(png);
    return st;
}

/* ---- sounds ---- */

enum { WAV_HEADER = 44 };

static char *put_number(char *to, uint64_t number, int size)
{
    for (int i = 0; i < size; i++) *to++ = (char)(number >> 8 * i);
    return to;
}

static char *put_text(char *to, const char *four)
{
    memcpy(to, four, 4);
    return to + 4;
}

/* Rounded, halves away from zero. */
static int16_t sample_of(float v)
{
    const float scaled = roundf(v * 32768.0f);
    return (int16_t)(isnan(scaled) ? 0 : scaled < -32768.0f ? -32768.0f : scaled > 32767.0f ? 32767.0f : scaled);
}

static void wav_write(char *to, uint64_t rate, int64_t channels, int64_t samples, const float *sample)
{
    const uint64_t data = 2 * (uint64_t)samples, frame = 2 * (uint64_t)channels;
    to = put_number(put_text(to, "RIFF"), WAV_HEADER - 8 + data, 4);
    to = put_number(put_text(put_text(to, "WAVE"), "fmt "), 16, 4);
    to = put_number(put_number(to, 1, 2), (uint64_t)channels, 2); /* not compressed */
    to = put_number(put_number(to, rate, 4), rate * frame, 4);
    to = put_number(put_number(to, frame, 2), 16, 2);
    to = put_number(put_text(to, "data"), data, 4);
    for (int64_t i = 0; i < samples; i++) to = put_number(to, (uint16_t)sample_of(sample[i]), 2);
}

static hr_status audio_check(int64_t frames, int64_t channels, float rate, int64_t *samples, hr_error *err)
{
    if (!(rate >= 1 && rate < 4294967296.0f))
        return hr_fail(err, HR_INVALID_ARGUMENT, "summary.audio", "a sound: expected a rate of 1 to 2^32 - 1, got %g",
                       (double)rate);
    const bool fits = frames > 0 && frames <= INT32_MAX && channels >= 0 && channels <= INT16_MAX;
    *samples = fits ? frames * channels : 0; /* less than 2^47 */
    if (fits && *samples <= INT32_MAX) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "summary.audio",
                   "a sound: expected 1 or more frames, at most %d channels and %d samples, got %lld frames of %lld",
                   INT16_MAX, INT32_MAX, (long long)frames, (long long)channels);
}

hr_status hr_summary_audio(hr_view tag, int64_t frames, int64_t channels, float rate, const float *samples,
                           char **bytes, size_t *size, hr_error *err)
{
    int64_t count;
    uint32_t bits;
    size_t audio_size;
    char *audio = NULL;
    if (!bytes || !size || !samples) return lacks("samples, and a place for the bytes", err);
    *bytes = NULL;
    HR_TRY(audio_check(frames, channels, rate, &count, err));
    memcpy(&bits, &rate, sizeof bits);
    const int64_t wav_size = WAV_HEADER + 2 * count;
    char *wav = hr_malloc((size_t)wav_size);
    if (!wav) return hr_no_memory(err, "a sound");
    wav_write(wav, (uint64_t)llrintf(rate), channels, count, samples);
    const field fields[] = {{1, FIXED32, bits, {NULL, 0}},
                            {2, VARINT, (uint64_t)channels, {NULL, 0}},
                            {3, VARINT, (uint64_t)frames, {NULL, 0}},
                            {4, BYTES, 0, {wav, wav_size}},
                            {5, BYTES, 0, {"audio/wav", 9}}};
    hr_status st = pack(fields, 5, &audio, &audio_size, err);
    if (st == HR_OK)
        st = pack_value(tag, (field){AUDIO, BYTES, 0, {audio, (int64_t)audio_size}}, NULL, bytes, size, err);
    hr_free(audio);
    hr_free(wav);
    return st;
}

/* ---- several as one ---- */

static hr_status note_tags(hr__map *tags, hr_view summary, hr_error *err)
{
    ProtobufCMessage *message;
    hr_status st = hr__message_read(&headrace__proto__summary__descriptor, summary, &message, NULL);
    if (st != HR_OK)
        return hr_fail(err, st == HR_RESOURCE_EXHAUSTED ? st : HR_INVALID_ARGUMENT, "summary.merge",
                       "Could not parse one of the summary inputs");
    const Headrace__Proto__Summary *s = (const void *)message;
    for (size_t i = 0; i < s->n_value && st == HR_OK; i++) {
        const char *tag = s->value[i]->tag;
        if (tag[0]) st = hr__map_add(tags, tag, strlen(tag), 0, err);
        if (st == HR_ALREADY_EXISTS)
            st =
                hr_fail(err, HR_INVALID_ARGUMENT, "summary.merge", "Duplicate tag %.200s found in summary inputs", tag);
    }
    hr__message_free(message);
    return st;
}

hr_status hr_summary_merge(const hr_view *summaries, int64_t count, char **bytes, size_t *size, hr_error *err)
{
    hr__map tags = {0};
    hr_status st = HR_OK;
    if (!bytes || !size || count < 0 || (count > 0 && !summaries))
        return lacks("summaries, and a place for the bytes", err);
    *bytes = NULL;
    *size = 0;
    for (int64_t i = 0; i < count && st == HR_OK; i++) {
        st = note_tags(&tags, summaries[i], err);
        *size += (size_t)summaries[i].size;
    }
    hr__map_free(&tags);
    if (st != HR_OK) return st;
    char *to = *bytes = hr_malloc(*size + 1);
    if (!to) return hr_no_memory(err, "a summary");
    for (int64_t i = 0; i < count; to += summaries[i++].size)
        if (summaries[i].size) memcpy(to, summaries[i].data, (size_t)summaries[i].size);
    return HR_OK;
}
