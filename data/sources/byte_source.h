/* A source of rows that follow each other in the bytes of files: where it stands, which file is open. What cuts the
 * bytes into rows is the operator's own. Its state begins with a byte_source, of which BYTE_SOURCE_SAVED numbers are
 * saved. */
#ifndef HR_BYTE_SOURCE_H
#define HR_BYTE_SOURCE_H

#include "data/sources/source_files.h"
#include <headrace/data.h>

typedef struct byte_source {
    int64_t list, file, record, offset; /* saved: which list of files; where the next row is */
    source_files files;
    hr_input *in;   /* the current file; NULL: to be opened */
    int32_t number; /* its, for the rows' origin */
} byte_source;
enum { BYTE_SOURCE_SAVED = 4 };

/* What all such operators are given. */
typedef struct byte_source_spec {
    const char *pattern;
    bool literal; /* one file's name, whatever characters are in it */
    hr_compression compression;
    size_t longest; /* of rows, if they have ends: a limit, no argument that changes what the rows are */
} byte_source_spec;

hr_status hr__byte_source_copy(byte_source_spec *spec, hr_error *err);
void hr__byte_source_free_spec(byte_source_spec *spec);
/* A source without a pattern, or with an invalid compression, is refused. */
hr_status hr__byte_source_check(const byte_source_spec *spec, const char *op, hr_error *err);

hr_op_files hr__byte_source_files(const byte_source_spec *spec);
hr_status hr__byte_source_open(byte_source *s, const byte_source_spec *spec, const char *op, hr_plan *p, hr_error *err);
hr_status hr__byte_source_load(const byte_source *s, const byte_source_spec *spec, const char *op, hr_error *err);
void hr__byte_source_close(byte_source *s);

/* Opens the current file where the next row is, unless it is open. HR_END: there is none. What cannot be read twice,
 * such as a pipe, is refused where it would have to be. */
hr_status hr__byte_source_file(byte_source *s, const byte_source_spec *spec, const char *op, hr_plan *p, hr_error *err);
void hr__byte_source_next(byte_source *s); /* to the beginning of the next file */
/* Consumes `rows` rows of `bytes` bytes, from s->offset on. */
void hr__byte_source_pass(byte_source *s, int64_t rows, size_t bytes);
const char *hr__byte_source_path(const byte_source *s); /* of the current file */
/* The name of the file in a lone string of an element, as a function of the user is given it. NULL: there is none. */
const char *hr__byte_source_name(const hr_element *element, char *buffer, size_t size);

#endif
