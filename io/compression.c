/* Which codec a file has: by the caller's word, its name, its first bytes; what disagrees is an error. */
#include "io/codecs/codec.h"
#include <stdio.h>
#include <string.h>

#define HR_CODEC(name) extern const hr__codec hr__codec_##name;
#include "io/codecs/codecs.def"
#undef HR_CODEC

static const hr__codec *const codecs[] = {
#define HR_CODEC(name) &hr__codec_##name,
#include "io/codecs/codecs.def"
#undef HR_CODEC
};
enum { CODECS = sizeof codecs / sizeof *codecs };

bool hr_compression_named(const char *name, hr_compression *out)
{
    for (int i = 0; i < CODECS; i++) {
        if (strcmp(codecs[i]->tf_name, name) != 0) continue;
        *out = codecs[i]->id;
        return true;
    }
    return false;
}

const char *hr_compression_name(hr_compression compression)
{
    const hr__codec *codec = hr__codec_of(compression);
    return codec ? codec->tf_name : "AUTO";
}

hr_compression hr_compression_at(int i) { return i >= 0 && i < CODECS ? codecs[i]->id : HR_COMPRESSION_AUTO; }

int hr__codec_count(void) { return CODECS; }

const hr__codec *hr__codec_at(int i) { return codecs[i]; }

const hr__codec *hr__codec_of(hr_compression id)
{
    for (int i = 0; i < CODECS; i++)
        if (codecs[i]->id == id) return codecs[i];
    return NULL;
}

static const hr__codec *compression_by_name(const char *path)
{
    size_t size = strlen(path);
    for (int i = 0; i < CODECS; i++) {
        size_t extension = codecs[i]->extension ? strlen(codecs[i]->extension) : 0;
        if (extension && size > extension && strcmp(path + size - extension, codecs[i]->extension) == 0)
            return codecs[i];
    }
    return NULL;
}

/* *highest 0: they say nothing. */
static hr_status by_bytes(const unsigned char *head, size_t size, const hr__codec **best, int *highest, hr_error *err)
{
    *best = hr__codec_of(HR_NONE);
    *highest = 0;
    for (int i = 0; i < CODECS; i++) {
        int bid = codecs[i]->bid(head, size);
        if (bid < 0) return hr_no_memory(err, "telling what kind of file it is");
        if (bid > *highest) *best = codecs[i];
        if (bid > *highest) *highest = bid;
    }
    return HR_OK;
}

static hr_status disagree(const char *path, const hr__codec *expected, bool asked, const hr__codec *found,
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
                   "%s: expected a compression of hr_compression, got %d; there is no such one", path, (int)asked);
}

static void tell_damaged_head(const char *path, const hr__codec *codec, bool asked)
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
                                size_t size, const hr__codec **out, hr_error *err)
{
    const unsigned char *head = (const unsigned char *)head_;
    const hr__codec *found;
    int bid;
    HR_TRY(by_bytes(head, size, &found, &bid, err));
    const hr__codec *expected = asked == HR_COMPRESSION_AUTO ? compression_by_name(path) : hr__codec_of(asked);
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

hr_status hr__codec_for_writing(hr_compression asked, const char *path, const hr__codec **out, hr_error *err)
{
    *out = asked == HR_COMPRESSION_AUTO ? compression_by_name(path) : hr__codec_of(asked);
    if (!*out && asked != HR_COMPRESSION_AUTO) return compression_unknown(path, asked, err);
    if (!*out) *out = hr__codec_of(HR_NONE);
    return HR_OK;
}
