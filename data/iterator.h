/* An iterator: an engine, and the consumer as the reader of its last stage. */
#ifndef HR_ITERATOR_H
#define HR_ITERATOR_H

#include "data/element.h"
#include "data/exec/token.h"

struct hr_iterator {
    engine engine;
    hr_plan node; /* the consumer's view of the last stage: input 0 */
    input input;
    input *inputs[1];
    hr_dataset *ds;
    hr_element element;
    hr_error error; /* final; code 0: none */
    bool open;      /* false: the one that stands for lack of memory */
    bool ended;
    hr_report_line report[MAX_REPORT + 2]; /* as of the last hr_iterator_report */
};

/* A saved state: where the consumer stands, whose pipeline it is, which files it read. */
hr_status hr__state_load(hr_iterator *it, const void *state, size_t size, hr_error *err);

#endif
