/* What interleave stands in: the slots that take turns, and the datasets that were opened for them. */
#ifndef HR_INTERLEAVE_H
#define HR_INTERLEAVE_H

#include "data/user.h"

enum { MOST_AHEAD = 8 };

typedef struct interleave_spec {
    hr__user user; /* first */
    hr_dataset_fn *fn;
    int64_t cycle_length, block_length, parallel_calls;
    int64_t ahead;            /* datasets opened before their turn, at most */
    bool unordered;           /* a slot that has nothing yet may be passed over */
    bool older;               /* parallel_interleave's order */
    const hr_dataset *sample; /* what the function gives for zeros. Read in check only */
    bool asked;               /* the function was called for it */
} interleave_spec;

typedef struct slot {
    int64_t element; /* of the input; -1: the slot is empty */
    int input;       /* the dataset made of it; -1: not opened (again) yet */
} slot;

typedef struct interleave_state {
    int64_t turn, in_block;  /* whose turn it is, how many elements of its block have passed. Saved */
    int64_t next;            /* the first input element that never had a slot. Saved */
    slot *slot;              /* their elements are saved. As many as ever had one: the others cost nothing */
    int *round;              /* the inputs of a round. As much room as slots */
    int64_t turns_to_rounds; /* turns before whole rounds are tried again */
    int64_t slots, room, used;
    slot ahead[MOST_AHEAD]; /* opened before their turn, so that they are read ahead; a state does not know them */
    int64_t aheads;
    bool exhausted; /* the input has ended */
} interleave_state;

static const slot EMPTY = {-1, -1};
/* One more slot. */
hr_status hr__interleave_add(interleave_state *st, slot s, hr_error *err);
/* After a load the slots know the numbers of their elements, which are read again. */
hr_status hr__interleave_reopen(const interleave_spec *sp, interleave_state *st, hr_plan *p, hr_error *err);
/* The dataset that was opened ahead, or the next element's. HR_END: there is none. */
hr_status hr__interleave_next(const interleave_spec *sp, interleave_state *st, hr_plan *p, slot *opened, hr_error *err);
/* Gives the slot whose turn it is its dataset. */
hr_status hr__interleave_fill(const interleave_spec *sp, interleave_state *st, hr_plan *p, hr_error *err);
/* Opens datasets before their turn: one more than the empty slots need, for when one ends. */
hr_status hr__interleave_open_ahead(const interleave_spec *sp, interleave_state *st, hr_plan *p, hr_error *err);

#endif
