/* An iterator: an engine, and the consumer as the reader of its last stage. */
#ifndef HR_ITERATOR_H
#define HR_ITERATOR_H

#include "data/element.h"
#include "data/exec/engine.h"
#include "data/exec/token.h"

/* Of hr_next_async. Outlives the iterator until the loop has closed the handle. */
typedef struct listener {
    uv_async_t async; /* data: the listener */
    hr_iterator *it;  /* NULL: it was freed */
    hr_next_cb *cb;   /* NULL: nobody asks */
    void *user;
} listener;

struct hr_iterator {
    engine engine; /* first */
    hr_plan node;  /* the consumer's view of the last stage: input 0 */
    input input;
    input *inputs[1];
    hr_dataset *ds;
    hr_element element;
    hr_error error; /* final; code 0: none */
    bool open;      /* false: the one that stands for lack of memory */
    bool ended;
    listener *listener;                    /* NULL: hr_next_async was never called */
    hr_report_line report[MAX_REPORT + 2]; /* as of the last hr_iterator_report */
};

/* hr_next without waiting: HR_WAIT if there is nothing yet. */
hr_status hr__iterator_try(hr_iterator *it, const hr_element **out);

/* A saved state: where the consumer stands, whose pipeline it is, which files it read. */
hr_status hr__state_save(hr_iterator *it, void **state, size_t *size, hr_error *err);
hr_status hr__state_load(hr_iterator *it, const void *state, size_t size, hr_error *err);

#endif
