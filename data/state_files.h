/* The part of a saved state that is about files. */
#ifndef HR_STATE_FILES_H
#define HR_STATE_FILES_H

#include "data/iterator.h"
#include "data/rows/varint.h"

hr_status hr__state_put_files(hr__text *to, hr_iterator *it, hr_error *err);
/* Refuses files that are others than those of the state, or that have changed: state.files, state.file_changed. */
hr_status hr__state_check_files(hr__wire *from, hr_iterator *it, hr_error *err);

#endif
