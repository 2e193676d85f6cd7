/* Which codec a file has: by the caller's word, its name, its first bytes; what disagrees is an error. */
#include "io/compression.h"
#include "base/descriptor.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define HR_CODEC(name) extern const hr_codec hr_codec_##name;
#include "io/codecs/codecs.def"
#undef HR_CODEC

static const hr_codec *const built_in[] = {
#define HR_CODEC(name) &hr_codec_##name,
#include "io/codecs/codecs.def"
#undef HR_CODEC
};

enum { BUILT_IN = sizeof built_in / sizeof *built_in, MAX_REGISTERED = 32 };

/* ---- the list: it only grows, and what is in it never changes, so it is read without a lock ---- */

/* A registered codec, in descriptors of this library's size. */
static struct registered {
    hr_codec codec;
    hr_coding coding;
} registered[MAX_REGISTERED];
static atomic_int registered_count;
static pthread_mutex_t registering = PTHREAD_MUTEX_INITIALIZER;

int hr__codec_count(void) { return BUILT_IN + atomic_load_explicit(&registered_count, memory_order_acquire); }

const hr_codec *hr__codec_at(int i) { return i < BUILT_IN ? built_in[i] : &registered[i - BUILT_IN].codec; }

const hr_codec *hr__codec_of(hr_compression id)
{
    for (int i = 0; i < hr__codec_count(); i++)
        if (hr__codec_at(i)->id == id) return hr__codec_at(i);
    return NULL;
}

static const hr__descriptor_kind codecs = {
    .what = "codec",
    .status = HR_FAILED_PRECONDITION,
    .error = "codec.registered",
    .version = HR_CODEC_ABI,
    .size = sizeof(hr_codec),
    .min_size = sizeof(hr_codec),
};

static const hr__descriptor_kind codings = {
    .what = "coding",
    .status = HR_FAILED_PRECONDITION,
    .error = "codec.registered",
    .version = HR_CODEC_ABI,
    .size = sizeof(hr_coding),
    .min_size = offsetof(hr_coding, zeros),
};

static bool is_whole(const hr_codec *codec, const hr_coding *coding)
{
    const bool decodes = coding->decoder_new && coding->decode && coding->decoder_free;
    const bool encodes = !coding->encoder_new || (coding->encode && coding->encoder_free);
    return codec->name && codec->tf_name && codec->tf_name[0] && codec->bid && codec->accepts && decodes && encodes &&
           codec->id >= HR_COMPRESSION_OUTSIDE;
}

/* The new entry, if it is whole and another than those in the list. */
static hr_status compression_fill(struct registered *to, const hr_codec *given, hr_error *err)
{
    const void *codec, *coding;
    HR_TRY(hr__descriptor_fit(&codecs, given, &to->codec, &codec, err));
    to->codec = *(const hr_codec *)codec;
    if (to->codec.coding) {
        HR_TRY(hr__descriptor_fit(&codings, to->codec.coding, &to->coding, &coding, err));
        to->coding = *(const hr_coding *)coding;
    }
    if (!to->codec.coding || !is_whole(&to->codec, &to->coding))
        return hr_fail(err, HR_INVALID_ARGUMENT, "codec.registered",
                       "codec '%.60s': expected names, an id from %d on, bid, accepts and a coding that decodes, got "
                       "none of one",
                       to->codec.name ? to->codec.name : "", HR_COMPRESSION_OUTSIDE);
    to->codec.coding = &to->coding;
    for (int i = 0; i < hr__codec_count(); i++) {
        const hr_codec *other = hr__codec_at(i);
        const bool same_extension =
            other->extension && to->codec.extension && strcmp(other->extension, to->codec.extension) == 0;
        if (other->id == to->codec.id || strcmp(other->tf_name, to->codec.tf_name) == 0 || same_extension)
            return hr_fail(err, HR_ALREADY_EXISTS, "codec.registered",
                           "codec '%.60s': expected an id, a name and an extension of its own, got one of '%.60s'",
                           to->codec.name, other->name);
    }
    return HR_OK;
}

hr_status hr_codec_register(const hr_codec *codec, hr_error *err)
{
    pthread_mutex_lock(&registering);
    const int count = atomic_load(&registered_count);
    hr_status st = count < MAX_REGISTERED ? compression_fill(&registered[count], codec, err)
                                          : hr_fail(err, HR_RESOURCE_EXHAUSTED, "codec.registered",
                                                    "expected at most %d registered codecs, got more", MAX_REGISTERED);
    if (st == HR_OK) atomic_store_explicit(&registered_count, count + 1, memory_order_release);
    pthread_mutex_unlock(&registering);
    return st;
}

/* ---- names ---- */

bool hr_compression_named(const char *name, hr_compression *out)
{
    for (int i = 0; i < hr__codec_count(); i++) {
        if (strcmp(hr__codec_at(i)->tf_name, name) != 0) continue;
        *out = hr__codec_at(i)->id;
        return true;
    }
    return false;
}

const char *hr_compression_name(hr_compression compression)
{
    const hr_codec *codec = hr__codec_of(compression);
    return codec ? codec->tf_name : "AUTO";
}

hr_compression hr_compression_at(int i)
{
    return i >= 0 && i < hr__codec_count() ? hr__codec_at(i)->id : HR_COMPRESSION_AUTO;
}

/* ---- which one a file has ---- */

static const hr_codec *compression_by_name(const char *path)
{
    size_t size = strlen(path);
    for (int i = 0; i < hr__codec_count(); i++) {
        size_t extension = hr__codec_at(i)->extension ? strlen(hr__codec_at(i)->extension) : 0;
        if (extension && size > extension && strcmp(path + size - extension, hr__codec_at(i)->extension) == 0)
            return hr__codec_at(i);
    }
    return NULL;
}

/* *highest 0: they say nothing. */
static hr_status by_bytes(const unsigned char *head, size_t size, const hr_codec **best, int *highest, hr_error *err)
{
    *best = hr__codec_of(HR_NONE);
    *highest = 0;
    for (int i = 0; i < hr__codec_count(); i++) {
        int bid = hr__codec_at(i)->bid(head, size);
        if (bid < 0) return hr_no_memory(err, "telling what kind of file it is");
        if (bid > *highest) *best = hr__codec_at(i);
        if (bid > *highest) *highest = bid;
    }
    return HR_OK;
}

static hr_status disagree(const char *path, const hr_codec *expected, bool asked, const hr_codec *found,
                          const unsigned char *head, size_t size, hr_error *err)
{
    char bytes[16] = "";
    for (size_t i = 0; i < size && i < 4; i++) snprintf(bytes + 3 * i, sizeof bytes - 3 * i, "%02x ", head[i]);
    const char *remedy = asked ? "leave .compression out to have it detected"
                               : "give .compression if the file's name says the wrong thing";
    if (found->coding)
        hr_fail(err, HR_DATA_LOSS, "compression.wrong", "%s: expected compression %s, got a %s file; %s", path,
                expected->name, found->name, remedy);
    else
        hr_fail(err, HR_DATA_LOSS, "compression.wrong", "%s: expected compression %s, got a file that begins %s; %s",
                path, expected->name, bytes, remedy);
    if (err) err->offset = err->compressed_offset = 0;
    hr_error_file(err, path);
    return HR_DATA_LOSS;
}

static hr_status compression_unknown(const char *path, hr_compression asked, hr_error *err)
{
    return hr_fail(err, HR_INVALID_ARGUMENT, "compression.unknown",
                   "%s: expected a compression of hr_compression, got %d", path, (int)asked);
}

static void tell_damaged_head(const char *path, const hr_codec *codec, bool asked)
{
    hr_log_message(HR_WARNING, "%s: its first bytes are of no known compression; it is read as %s, as %s", path,
                   codec->name, asked ? "was asked for" : "its name says");
}

/* What other programs compress, and no codec here reads: as text or records it would only look damaged. */
static hr_status refuse_foreign(const char *path, const char *head, size_t size, hr_error *err)
{
    static const struct {
        const char *magic, *name, *remedy;
        size_t at, size;
    } foreign[] = {
        {"\xfd"
         "7zXZ\0",
         "xz", "unpack it, xz -d, or pipe it: xz -dc FILE", 0, 6},
        {"1AY&SY", "bzip2", "unpack it, bzip2 -d, or pipe it: bzip2 -dc FILE", 4, 6}, /* after BZh and a digit */
        {"PK\3\4", "zip", "unpack it; of a workbook (.xlsx) save its sheet as CSV", 0, 4},
    };
    for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++) {
        const size_t end = foreign[i].at + foreign[i].size;
        if (size >= 8 && memcmp(head + 4, "\0\0\0\0", 4) == 0) break; /* the length of a record, by chance */
        if (size < end || memcmp(head + foreign[i].at, foreign[i].magic, foreign[i].size) != 0) continue;
        hr_fail(err, HR_INVALID_ARGUMENT, "compression.unknown",
                "%s: expected a file that is not compressed, or with gzip, zlib, LZ4 or Zstandard, found %s; %s", path,
                foreign[i].name, foreign[i].remedy);
        hr_error_file(err, path);
        return HR_INVALID_ARGUMENT;
    }
    return HR_OK;
}

hr_status hr__codec_for_reading(hr_compression asked, bool may_be_damaged, const char *path, const char *head_,
                                size_t size, const hr_codec **out, hr_error *err)
{
    const unsigned char *head = (const unsigned char *)head_;
    const hr_codec *found;
    int bid;
    HR_TRY(by_bytes(head, size, &found, &bid, err));
    const hr_codec *expected = asked == HR_COMPRESSION_AUTO ? compression_by_name(path) : hr__codec_of(asked);
    if (!expected && asked != HR_COMPRESSION_AUTO) return compression_unknown(path, asked, err);
    *out = expected ? expected : found;
    if (!expected && !found->coding) HR_TRY(refuse_foreign(path, head_, size, err));
    if (size == 0 || *out == found) return HR_OK;
    bool agrees = expected->coding ? expected->accepts(head, size) : !found->coding;
    if (agrees) return HR_OK;
    if (!may_be_damaged || bid > 0)
        return disagree(path, expected, asked != HR_COMPRESSION_AUTO, found, head, size, err);
    tell_damaged_head(path, expected, asked != HR_COMPRESSION_AUTO);
    return HR_OK;
}

hr_status hr__codec_for_writing(hr_compression asked, const char *path, const hr_codec **out, hr_error *err)
{
    *out = asked == HR_COMPRESSION_AUTO ? compression_by_name(path) : hr__codec_of(asked);
    if (!*out && asked != HR_COMPRESSION_AUTO) return compression_unknown(path, asked, err);
    if (!*out) *out = hr__codec_of(HR_NONE);
    return HR_OK;
}

/* ---- what codecs answer ---- */

hr_status hr__codec_broke(const hr_codec *codec, const char *path, const char *what, hr_error *err)
{
    hr_fail(err, HR_INTERNAL, "codec.failed", "%s: codec '%.60s': %s", path, codec->name, what);
    hr_error_file(err, path);
    return HR_INTERNAL;
}

hr_status hr__codec_answer(const hr_codec *codec, const char *path, hr_status returned, hr_status also,
                           const hr_error *why, hr_error *err)
{
    if (returned == HR_OK || returned == also) return returned;
    if (returned > 0 || returned < HR_DATA_LOSS) return hr__codec_broke(codec, path, "returned no status", err);
    if (why->code < 0 && why->kind && why->text[0]) {
        if (err) *err = *why;
        if (err) err->code = returned;
        return returned;
    }
    hr_fail(err, returned, "codec.failed", "%s: codec '%.60s': failed without an error", path, codec->name);
    hr_error_file(err, path);
    return returned;
}
