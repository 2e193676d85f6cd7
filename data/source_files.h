/* The files that a source reads one after another: found when it opens, refused after a restore if they are others. */
#ifndef HR_SOURCE_FILES_H
#define HR_SOURCE_FILES_H

#include "io/match.h"
#include <headrace/op.h>
#include <string.h>
#include <sys/stat.h>

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

/* Standard input, a pipe, a socket: what was read is gone. */
static inline bool source_reads_once(const char *path)
{
    struct stat about;
    if (strcmp(path, "-") == 0) return true;
    return stat(path, &about) == 0 && (S_ISFIFO(about.st_mode) || S_ISSOCK(about.st_mode));
}

static inline hr_status source_files_fail_once(const char *op, const char *path, hr_error *err)
{
    hr_fail(err, HR_FAILED_PRECONDITION, "source.once",
            "%s: %s: expected a file, which can be read again from any place, got a pipe, to be read once from its "
            "beginning; copy it to a file to repeat it or to go on in it",
            op, path);
    hr_error_file(err, path);
    return HR_FAILED_PRECONDITION;
}

/* Refuses to open such a one a second time, as repeat does. `number`: of the file in this iterator. */
static inline hr_status source_files_once(const char *op, const char *path, hr_plan *p, int32_t number, hr_error *err)
{
    if (!source_reads_once(path) || hr_file_first_opening(p, number)) return HR_OK;
    return source_files_fail_once(op, path, err);
}

/* A loaded state stands in file `file` of files with this identity: one in which it can go on. */
static inline hr_status source_files_check(const source_files *files, const char *op, const char *pattern,
                                           int64_t identity, int64_t file, hr_error *err)
{
    const bool same = identity == files->identity && file >= 0 && file <= files->list.count;
    if (same && file < files->list.count && source_reads_once(files->list.path[file]))
        return source_files_fail_once(op, files->list.path[file], err);
    if (same) return HR_OK;
    return hr_fail(err, HR_FAILED_PRECONDITION, "state.files",
                   "%s: expected the files that \"%.200s\" matched when the state was saved, got others", op, pattern);
}

#endif
