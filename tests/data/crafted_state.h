/* States as somebody might craft them: while one is restored, chosen numbers of it are read as others. All sizes and
 * checksums stay right, so that nothing but the reader's own checks stands in the way. Link with the option that
 * tests/data/CMakeLists.txt gives to hr_crafted_state. One thread: restore without workers. */
#ifndef CRAFTED_STATE_H
#define CRAFTED_STATE_H

#include <headrace/op.h>

typedef struct crafted_number {
    int64_t read; /* which of the numbers that a restore reads, from 0 */
    int64_t value;
    bool added; /* to what was saved, instead of in its place */
} crafted_number;

/* From now on, until a call with 0 numbers. Borrows them. */
void craft_state(const crafted_number *number, int numbers);
int64_t crafted_reads(void); /* numbers read since then */

#endif
