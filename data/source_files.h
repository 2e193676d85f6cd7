/* The files that a source reads one after another: found when it opens, refused after a restore if they are others. */
#ifndef HR_SOURCE_FILES_H
#define HR_SOURCE_FILES_H

#include "io/match.h"

typedef struct source_files {
    hr_file_list list;
    int64_t identity; /* what a state that is saved over these files says */
} source_files;

/* `literal`: the pattern is one file's name, whatever characters are in it. */
static inline hr_status source_files_find(source_files *files, const char *op, const char *pattern, bool literal,
                                          hr_error *err)
{
    hr_status st = literal ? hr__one_file(pattern, &files->list, err) : hr__source_files(pattern, &files->list, err);
    if (st != HR_OK) hr_error_prefix(err, "%s: ", op);
    files->identity = (int64_t)hr__file_list_identity(&files->list);
    return st;
}

/* A loaded state stands in file `file` of files with this identity. */
static inline hr_status source_files_check(const source_files *files, const char *op, const char *pattern,
                                           int64_t identity, int64_t file, hr_error *err)
{
    if (identity == files->identity && file >= 0 && file <= files->list.count) return HR_OK;
    return hr_fail(err, HR_FAILED_PRECONDITION, "state.files",
                   "%s: expected the files that \"%.200s\" matched when the state was saved, got others", op, pattern);
}

#endif
