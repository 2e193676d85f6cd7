/* An error's fields as members of a JSON object: the one form of quarantine files and of all that reports damage to
 * programs (docs/formats.md, "A quarantine file"). Not a public header. */
#ifndef HR_ERROR_JSON_H
#define HR_ERROR_JSON_H

#include "io/json/json_writer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Adds file, record, line, offset, length, compressed_offset, column, feature and kind to the open object: those that
 * are known. Together they tell one piece of damage from another. */
void hr__error_json_place(hr__json_writer *w, const hr_error *error);
/* Adds reason, the text for people. */
void hr__error_json_reason(hr__json_writer *w, const hr_error *error);

#ifdef __cplusplus
}
#endif
#endif
