/* The sorted table of LevelDB, as the index of a V2 checkpoint is written: blocks of entries whose keys share
 * prefixes, an index of the blocks, a footer. Written without compression; snappy blocks are read, too. Not a public
 * header. */
#ifndef HR_TABLE_H
#define HR_TABLE_H

#include <headrace/io.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- writing ---- */

typedef struct hr__table_writer hr__table_writer;
HR_API hr__table_writer *hr__table_writer_new(hr_output *out); /* borrows `out` until it is freed; NULL: no memory */
/* Keys come in the order of their bytes, each once: otherwise HR_INVALID_ARGUMENT. */
HR_API hr_status hr__table_add(hr__table_writer *w, hr_view key, hr_view value, hr_error *err);
HR_API hr_status hr__table_finish(hr__table_writer *w, hr_error *err); /* the index and the footer */
HR_API void hr__table_writer_free(hr__table_writer *w);                /* NULL: nothing */

/* ---- reading ---- */

typedef struct hr__table hr__table;
/* Reads footer, index and first block. HR_NOT_FOUND; HR_DATA_LOSS for a cut file, a bad magic number or checksum;
 * HR_OUT_OF_RANGE for a block that lies beyond the file. Gives *out. */
HR_API hr_status hr__table_open(const char *path, hr__table **out, hr_error *err);
HR_API void hr__table_free(hr__table *t); /* NULL: nothing */
/* Calls fn for each entry, in order. A damaged block ends it with HR_DATA_LOSS, a failure of fn with that. Key and
 * value are borrowed until fn returns. */
typedef hr_status hr__table_fn(hr_view key, hr_view value, void *user, hr_error *err);
HR_API hr_status hr__table_each(hr__table *t, hr__table_fn *fn, void *user, hr_error *err);
/* Looks at every byte of the file: all blocks, also those that hold no entry, what lies between them, and the padding of
 * the footer. HR_DATA_LOSS, "table.damaged": one is not as it was written, though no entry may be the worse for it. */
HR_API hr_status hr__table_check(hr__table *t, hr_error *err);
/* The value of a key: gives *value (hr_free its data). HR_NOT_FOUND, or HR_DATA_LOSS for a damaged block. */
HR_API hr_status hr__table_get(hr__table *t, hr_view key, hr_view *value, hr_error *err);

#ifdef __cplusplus
}
#endif
#endif
