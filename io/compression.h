/* The codecs: the library's own and those that are registered. Not a public header. */
#ifndef HR_COMPRESSION_H
#define HR_COMPRESSION_H

#include <headrace/codec.h>

int hr__codec_count(void);
const hr_codec *hr__codec_at(int i);             /* in the order of codecs.def, then as they were registered */
const hr_codec *hr__codec_of(hr_compression id); /* NULL: no such codec (HR_COMPRESSION_AUTO, too) */
/* The codec of a file to read that begins with `head`: the one asked for, or what name and bytes say. HR_DATA_LOSS if
 * they disagree; with `may_be_damaged` only if the bytes are surely something else. */
hr_status hr__codec_for_reading(hr_compression asked, bool may_be_damaged, const char *path, const char *head,
                                size_t size, const hr_codec **out, hr_error *err);
/* What a function of a codec has returned, with the error that it has left: *err gets that one, or one that says that
 * there is none. HR_OK and `also` pass; what is no status of a codec is HR_INTERNAL. Kind codec.failed. */
hr_status hr__codec_answer(const hr_codec *codec, const char *path, hr_status returned, hr_status also,
                           const hr_error *why, hr_error *err);
/* HR_INTERNAL, codec.failed: the codec did what the kit forbids. */
hr_status hr__codec_broke(const hr_codec *codec, const char *path, const char *what, hr_error *err);
hr_status hr__codec_for_writing(hr_compression asked, const char *path, const hr_codec **out, hr_error *err);

#endif
