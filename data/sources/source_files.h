/* The files that a source reads one after another: found when it opens, refused after a restore if they are others. */
#ifndef HR_SOURCE_FILES_H
#define HR_SOURCE_FILES_H

#include "io/file_system.h"
#include "io/match.h"
#include <headrace/op.h>
#include <string.h>
#include <sys/stat.h>

typedef struct source_files {
    hr_file_list list;
    int64_t identity; /* what a state that is saved over these files says */
    bool literal;     /* one file, whose bytes are part of it */
} source_files;

/* `literal`: the pattern is one file's name, whatever characters are in it. */
static inline hr_op_files source_files_of(const char *pattern, bool literal)
{
    return (hr_op_files){pattern, literal ? hr__one_file : hr__source_files};
}

static inline hr_status source_files_find(source_files *files, const char *op, const char *pattern, bool literal,
                                          hr_error *err)
{
    hr_status st = source_files_of(pattern, literal).find(pattern, &files->list, err);
    if (st != HR_OK) hr_error_prefix(err, "%s: ", op);
    files->identity = (int64_t)hr_file_list_identity(&files->list);
    return st;
}

/* As an operator opens. The file of a function's dataset is known nowhere else, so what is in it is part of the
 * identity. */
static inline hr_status source_files_open(source_files *files, const char *op, const char *pattern, bool literal,
                                          hr_plan *p, hr_error *err)
{
    HR_TRY(source_files_find(files, op, pattern, literal, err));
    if (!literal) return HR_OK;
    const int32_t number = hr_file_number(p, pattern);
    if (number < 0) return hr_no_memory(err, "a file's name");
    files->identity = (int64_t)hr_fingerprint_cat64((uint64_t)files->identity, hr_file_digest(p, number));
    files->literal = true;
    return HR_OK;
}

static inline hr_status source_files_fail_once(const char *op, const char *path, hr_error *err)
{
    hr_fail(
        err, HR_FAILED_PRECONDITION, "source.once",
        "%s: %s: expected a file, which can be read again from any offset, got a pipe, which can be read only once; "
        "copy it to a file to repeat it or to resume in it",
        op, path);
    hr_error_file(err, path);
    return HR_FAILED_PRECONDITION;
}

/* Refuses to open such a one a second time, as repeat does. `number`: of the file in this iterator. */
static inline hr_status source_files_once(const char *op, const char *path, hr_plan *p, int32_t number, hr_error *err)
{
    if (!hr_path_reads_once(path) || hr_file_first_opening(p, number)) return HR_OK;
    return source_files_fail_once(op, path, err);
}

static inline hr_status source_files_fail_changed(const char *op, const char *path, hr_error *err)
{
    hr_fail(err, HR_FAILED_PRECONDITION, "state.file_changed",
            "%s: file '%.200s' has changed since the state was saved, or is gone; restore the file, or start from the "
            "beginning",
            op, path);
    hr_error_file(err, path);
    return HR_FAILED_PRECONDITION;
}

/* Of a source whose first saved number is the identity of its list. */
#define SOURCE_RANGES .range = (const hr_saved_range[]){HR_SAVED_ANY}, .ranges = 1

/* A loaded state stands in file `file` of files with this identity: one in which it can go on. */
static inline hr_status source_files_check(const source_files *files, const char *op, const char *pattern,
                                           int64_t identity, int64_t file, hr_error *err)
{
    const bool same = identity == files->identity && file >= 0 && file <= files->list.count;
    if (same && file < files->list.count && hr_path_reads_once(files->list.path[file]))
        return source_files_fail_once(op, files->list.path[file], err);
    if (same) return HR_OK;
    if (files->literal) return source_files_fail_changed(op, pattern, err);
    return hr_fail(err, HR_FAILED_PRECONDITION, "state.files",
                   "%s: expected the files that \"%.200s\" matched when the state was saved, got others", op, pattern);
}

#endif
