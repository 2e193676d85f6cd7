/* The `derived:` section of a config file. Not a public header.
 *
 *     derived:
 *       speed: {ratio: [distance, air_time], default: 0}
 *       far: {at_least: [distance, 1000]}
 *       weekday: {weekday: date}
 *
 * What the mapping of a kind may hold is said in the kind's own file: the words and keys of its hr_derived_kind. */
#ifndef HR__DERIVED_SECTION_H
#define HR__DERIVED_SECTION_H

#include "base/config.h"
#include <headrace/derived.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Makes every feature of the mapping (NULL: none), in the order of the file. `schema`: the fields that records have;
 * `defaults`: the mapping from fields to values for missing ones (NULL: none): a feature that reads such a field reads
 * this value where a row has none. Gives *out (hr__derived_list_free); also empty after a failure. Errors have the line
 * and column of the mistake: config.*, and those of hr_derived_schema. */
HR_API hr_status hr__derived_from_config(const hr__node *section, const hr_schema *schema, const hr__node *defaults,
                                         hr_derived_list *out, hr_error *err);
/* Whether the feature is a field under another name, with all that this has. */
HR_API bool hr__derived_renames(const hr_derived_feature *feature);
HR_API void hr__derived_list_free(hr_derived_list *list); /* zeroes it. An empty one: nothing */

#ifdef __cplusplus
}
#endif
#endif
