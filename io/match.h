/* File patterns: what the sources share with hr_match_files. */
#ifndef HR_MATCH_H
#define HR_MATCH_H

#include <headrace/io.h>

/* A name matches a pattern of tf.io.gfile.glob: * ? [a-z] [!a] and \ before what is meant as it stands. None of them
 * stands for a slash; bytes, not characters, in any locale. */
HR_API bool hr__glob_matches(const char *pattern, const char *name);
/* The files that a source reads: the patterns in their order, the files of each sorted; a pattern without special
 * characters names its file whether it exists or not, so that it is missed at its turn. HR_NOT_FOUND if there is
 * none. */
hr_status hr__source_files(const char *pattern, hr_file_list *out, hr_error *err);
/* Patterns, a line each, that count from a folder, whose name is none: what is special in it is escaped. A pattern that
 * begins with a slash stays. Gives; NULL: no memory, or no patterns. */
HR_API char *hr__pattern_in(const char *folder, const char *patterns);
/* The list of this one name. */
hr_status hr__one_file(const char *path, hr_file_list *out, hr_error *err);
/* Adds what one pattern matches, in no order: perhaps nothing. */
hr_status hr__match_one(const char *pattern, hr_file_list *out, hr_error *err);
void hr__file_list_sort(hr_file_list *list);
/* Bytes of the folder, its slash included, that all names begin with. */
size_t hr__file_list_folder(const hr_file_list *list);

#endif
