/* Where a stage stands: what its operators say of themselves and their inputs' positions, as one immutable object a
 * unit. A token refers to those of the units below instead of copying them; a saved state is such a tree written out.
 *
 * What an operator holds (shuffle's buffer) is found again by reading its input anew, from the newest logged position
 * in front of the oldest element it still needs. Which one that is costs time to tell, so it is asked only when a user
 * saves; until then a token keeps the whole log from a safe place on. */
#ifndef HR_TOKEN_H
#define HR_TOKEN_H

#include "data/exec/engine.h"

struct hr_token_reader {
    const unsigned char *at, *end;
};

hr_token_writer *token_writer_new(void);
void token_writer_free(hr_token_writer *w);
void token_reader_init(hr_token_reader *r, const token *t); /* NULL: empty */

token *token_from_bytes(engine *e, const unsigned char *bytes, size_t size);

/* The position of an input, tokens below included, as bytes (gives: hr_free), and back. */
hr_status position_write(engine *e, input *in, unsigned char **bytes, size_t *size, hr_error *err);
hr_status position_read(engine *e, input *in, hr_token_reader *from, hr_error *err);

#endif
