/* Features that were asked for by name, and whether any record has them: a name in no record is most likely a
 * slip, and the nearest name that was seen is the advice. Not a public header. */
#ifndef HR_WANTED_FEATURES_H
#define HR_WANTED_FEATURES_H

#include "base/hash_map.h"
#include "io/example/example_walk.h"

typedef struct hr__wanted {
    hr_view *name; /* borrowed bytes */
    bool *seen;
    int *next;     /* of each name: 1 + another one that is equal; 0: none */
    hr__map place; /* 1 + the newest of a name */
    int count, unseen;
    int64_t records;
    hr__map others; /* names in the first records, for the advice */
} hr__wanted;

hr_status hr__wanted_make(hr__wanted *w, int count,
                          hr_error *err); /* room; then add them. Clear also after a failure */
hr_status hr__wanted_add(hr__wanted *w, hr_view name, hr_error *err);
void hr__wanted_clear(hr__wanted *w);
/* Looks which of them a record has; costs nothing once all were seen. */
hr_status hr__wanted_note(hr__wanted *w, const hr__walk_contents *contents, hr_error *err);
hr_status hr__wanted_merge(hr__wanted *to, const hr__wanted *from, hr_error *err); /* of the same names */
/* Name number i is in no record, though there were some, and is no field of `known` (NULL: no schema). */
bool hr__wanted_is_absent(const hr__wanted *w, int i, const hr_schema_file *known);
/* "; did you mean 'name'?", or "": what the name most likely stands for. False: nothing is near. */
bool hr__wanted_advice(const hr__wanted *w, int i, const hr_schema_file *known, char *text, size_t size);
/* HR_NOT_FOUND: name number i is absent. `kind` is the error's. */
hr_status hr__wanted_refuse(const hr__wanted *w, int i, const hr_schema_file *known, const char *kind, hr_error *err);

#endif
