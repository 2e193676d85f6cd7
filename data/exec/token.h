/* Where a stage stands: what its operators say of themselves and their inputs' positions, as one immutable object a
 * unit. A token refers to those of the units below instead of copying them; a saved state is such a tree written out.
 *
 * What an operator holds (shuffle's buffer) is found again by reading its input again, from the newest logged position
 * before the oldest element it still needs. Which one that is costs time to tell, so it is asked only when a user
 * saves; until then a token keeps the whole log from a safe place on.
 *
 *   token.c     the object, its numbers, and the log of where held elements were read
 *   position.c  nodes and inputs into tokens, a tree of tokens as bytes, and back */
#ifndef HR_TOKEN_H
#define HR_TOKEN_H

#include "data/exec/stage.h"

/* What is needed to ask an operator, long after it may have been closed, which elements a state of it still needs. */
typedef struct holder {
    atomic_int refs;
    hr_dataset *ds;
    uint64_t path;
    hr_settings settings;
} holder;

/* A place in an input: entries know the next newer one and keep it, so that who keeps one keeps all since. */
struct log_entry {
    atomic_int refs;
    engine *engine;
    _Atomic(log_entry *) next;
    int64_t first; /* number of the element that comes there */
    token *before; /* NULL: the start */
    holder *holder;
};

/* Where in a token's bytes another one stands: `to`, or the entry of `log` that the state's numbers, which begin at
 * `state`, ask for. */
typedef struct token_link {
    uint32_t at, state;
    token *to;
    log_entry *log;
} token_link;

struct token {
    atomic_int refs;
    engine *engine;
    int links;
    uint32_t size;
    token_link link[]; /* then the bytes */
};

struct hr_token_writer {
    unsigned char *data;
    size_t size, capacity;
    token_link *link;
    int links, link_capacity;
    const input **opened; /* those of an operator, for its turn */
    int64_t opened_capacity;
    bool failed;
    bool at_end; /* inputs whose stages are over say where these ended, not where their last unit began */
};

struct hr_token_reader {
    const unsigned char *at, *end;
    const engine *engine; /* of the iterator that is restored, whose `change` the numbers pass; NULL: as they stand */
};

static inline bool unref(atomic_int *refs) { return atomic_fetch_sub_explicit(refs, 1, memory_order_acq_rel) == 1; }
static inline unsigned char *token_bytes(const token *t) { return (unsigned char *)(t->link + t->links); }

/* token.c */
void hr__token_give_back(engine *e, void *bytes); /* of a block */
hr_token_writer *hr__token_writer_new(void);
void hr__token_writer_free(hr_token_writer *w);
void hr__token_bytes(hr_token_writer *w, const void *bytes, size_t size);
void hr__token_link(hr_token_writer *w, token_link link);
token *hr__token_new(engine *e, hr_token_writer *w); /* empties the writer; NULL: no memory, now or before */
token *hr__token_from_bytes(engine *e, const unsigned char *bytes, size_t size);
void hr__token_reader_init(hr_token_reader *r, const token *t); /* NULL: empty */
hr_status hr__state_damaged(hr_error *err);
hr_status hr__token_nested(hr_token_reader *r, hr_token_reader *nested, hr_error *err);
hr_status hr__token_read(engine *e, hr_token_reader *r, token **out, hr_error *err); /* empty: NULL */

log_entry *hr__log_ref(log_entry *l);
void hr__log_unref(log_entry *l);
log_entry *hr__log_entry_for(log_entry *l, int64_t element); /* the newest before it */
bool hr__log_add(hr_plan *p, input *in, token *before);      /* takes `before`; false: no memory */
void hr__log_trim(hr_plan *p, input *in);

/* position.c */
void hr__plan_node_save(hr_plan *p, hr_token_writer *to);
int64_t hr__input_used(const input *in); /* elements since `before` */
bool hr__input_is_over(const input *in); /* its stage has ended well, and all that it gave is used */
token *hr__stage_end_token(stage *s);    /* of one that is over; NULL: no memory */
hr_status hr__position_read(engine *e, input *in, hr_token_reader *from, hr_error *err);
hr_status hr__saved_numbers_read(const hr_op *op, void *state, hr_token_reader *from, hr_error *err);
hr_status hr__token_end(const hr_token_reader *r, hr_error *err); /* refuses a token with bytes after its end */

/* The position of an input, tokens below included. Gives the bytes. */
hr_status hr__position_write(engine *e, input *in, unsigned char **bytes, size_t *size, hr_error *err);

#endif
