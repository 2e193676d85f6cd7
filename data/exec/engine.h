/* The engine from the inside: ordered stages. Operators never see this.
 *
 * A stage is plan operators that pull from each other directly (nodes), and the work operators above them. Its units
 * are planned in order by one thread at a time, worked by any, and delivered in order through a ring. One lock an
 * iterator guards the rings' counters and flags; nobody plans, works or wakes under it.
 *
 *   store.c     recycled memory            token.c     where a stage stands: the object
 *   rows.c      units of rows, spans       position.c  nodes and inputs into tokens, and back
 *   stage.c     cutting the chain, a plan  log.c       where held elements were read
 *   input.c     pulling                    flatten.c   a tree of tokens as bytes
 *   emit.c      emitting, rows of sources  schedule.c  who does what next; waking
 *   opening.c   inputs that come and go    gather.c    spans into rows
 *   pass.c      many spans in one call     alias.c     units without a copy
 *   records.c   rows that lie as records
 *   work.c      work on a unit             budget.c    what fits
 *   view.c      elements for functions     explain.c   what it was like
 *   cancel.c    calling it off             explain_dataset.c  what it will be like
 *   trace.c     every unit, for a viewer   noted.c     the files that were read
 *   order.c     which unit leaves next */
#ifndef HR_ENGINE_H
#define HR_ENGINE_H

#include "base/map.h"
#include "base/pool.h"
#include "data/dataset.h"
#include "data/exec/store.h"
#include "data/exec/trace.h"
#include "data/row_records.h"
#include <headrace/data.h>

enum {
    MAX_WORKS = 32,
    MAX_THREADS = 257 /* the pool's, and the caller as number 0 */,
    MAX_REPORT = 64,
    MAX_WINDOW = 64,
    MAX_LINES = 32, /* of hr_explain */
    MAX_UNIT_ROWS = 2048,
    UNIT_NS = 120000, /* what a unit should take */
};

typedef struct engine engine;
typedef struct stage stage;
typedef struct rows rows;

/* ---- rows ---- */

/* The spans that a unit was gathered from: held as long as its strings point into their rows. They are counted by the
 * plan of `home`, so that is where they go back to. */
typedef struct parts {
    struct parts *next;
    struct returns *home;
    hr_span *span; /* the first element's, the next one's, ...: one each, but `sides` of zip */
    int64_t count, room;
    int sides;
} parts;

/* Where parts wait for their plan to drop them. Outlives the stage if rows do. Guarded by the engine's lock. */
typedef struct returns {
    engine *engine;
    parts *list;
    int64_t out;  /* parts that have not come back */
    bool dead;    /* the stage is gone: its parts are orphans */
    parts *spare; /* of the plan alone: to be used again */
} returns;

struct rows {
    hr_columns c; /* first: operators see only this */
    int32_t refs; /* spans, and the ring; touched by the plan of the one stage that reads these rows: no atomic */
    bool aliases; /* columns are those of `parts` */
    rows *next;   /* of the free list */
    engine *engine;
    hr_dataset *keeps;       /* the schemas' owner: rows may outlive the input that made them */
    const hr_dataset *shape; /* whose schema these rows have */
    block *arrays, *bytes;   /* what lives as long as the rows; what cells replace */
    char *array_at, *byte_at;
    size_t array_left, byte_left;
    parts *parts;
    cell *cell; /* one a row, once its strings have moved there; NULL: they have not */
    size_t cell_bytes;
    const char
        *record; /* the rows as records of that form; NULL: they are not. Without c.column they are nothing else */
    const hr__record_form *form;
    block *held; /* cells and records: what stays when columns go */
    int64_t room, *value_room;
};

/* Rows that are records alone. Only gathering sees them: see stage.blind. */
static inline bool are_bare(const hr_columns *c) { return !c->column; }

rows *hr__rows_new(engine *e, hr_dataset *keeps, const hr_dataset *shape);
/* Bytes of a column, rounded up to odd multiples of a cache line: no two of 64 neighbours lie a multiple of 4096 bytes
 * apart, where writing rows would have all of them in one set of the cache. */
size_t hr__column_stride(size_t width, int64_t room);
void *hr__rows_array(rows *r, size_t size);                                /* on a cache line; NULL: no memory */
void *hr__rows_bytes(rows *r, size_t size);                                /* for strings */
void *hr__rows_held(rows *r, size_t size);                                 /* stays when columns go */
bool hr__rows_columns(rows *r, const hr_dataset *shape, int64_t room);     /* new columns; sets room */
void hr__rows_share(rows *r, int64_t first, int64_t count, int32_t spans); /* so many together; counts their cells */
void hr__rows_drop(rows *r); /* one reference to all of them. NULL: nothing */
bool hr__rows_to_cells(rows *r, hr_work *w);
int64_t hr__span_rows(hr_span span);

/* Neighbours become one again: a unit that is a whole run of another need not be copied. */
static inline bool span_joins(hr_span *last, hr_span span)
{
    if (last->in != span.in || last->first + last->count != span.first) return false;
    ((rows *)span.in)->refs--;
    last->count += span.count;
    return true;
}

/* Makes an array longer and gives the first of `more` new ones, to be filled in; NULL: no memory, and it is as it was. */
hr_span *hr__spans_add(hr_span **span, int64_t *count, int64_t *room, int64_t more);

parts *hr__parts_new(returns *home);
bool hr__parts_add(parts *p, hr_span span);      /* takes the span if there is memory */
void hr__parts_return(parts *p);                 /* from anywhere, without the lock. NULL: nothing */
void hr__parts_drop(returns *home, parts *list); /* by the plan that counts them */
returns *hr__returns_new(engine *e);
void hr__returns_close(returns *home); /* the stage goes: no thread is inside it */

/* ---- tokens: where a stage stands, immutable, shared ---- */

typedef struct token token;
typedef struct log_entry log_entry;
void hr__token_ref(token *t);
void hr__token_unref(token *t); /* NULL: nothing */

/* ---- stages ---- */

typedef struct unit {
    bool started, ready; /* ready: guarded by the lock */
    bool last;           /* nothing follows but `error` */
    bool partial;        /* its last element is short because of `error` */
    bool gathered;       /* its rows are there since plan */
    parts *parts;
    int64_t elements;  /* planned */
    int64_t first_row; /* its planned number; -1: the rows have theirs */
    int32_t *cut;      /* elements emitted when each element of the next level was closed */
    int64_t cuts, cut_room;
    void *blob; /* the plan operator's message to its own work */
    rows *rows;
    token *before;  /* where the stage stood when it opened: of the first unit alone */
    token *after;   /* where the stage stands behind this unit */
    hr_error error; /* what follows the last row; code 0: nothing */
} unit;

/* What an operator pulls from: a stage, or a node of the same stage. */
typedef struct input {
    bool own;       /* one of the dataset's, not opened by the operator */
    bool open;      /* opened by the operator, not closed since */
    bool known;     /* has a position */
    int64_t number; /* the operator's, if it opened this input */
    hr_error error; /* of the dataset: comes out at the first pull */
    stage *stage;   /* NULL: not opened yet, or closed; or `node` stands for it */
    hr_plan *node;
    unit *head;
    int64_t next, count;        /* element in head; how many it has */
    int64_t first;              /* number of head's first element; of a node: of the next one */
    int64_t skip_to;            /* after a load: elements before this number were used */
    token *before;              /* where the stage stands before head */
    log_entry *oldest, *newest; /* of held_from: where each unit since the oldest element held begins */
    int64_t logs, log_limit;
} input;

struct hr_plan {
    stage *stage;
    hr_plan *above; /* the node that pulls from this one; NULL: the stage's top */
    int above_input;
    hr_dataset *ds, *below;
    hr_settings settings, below_settings; /* of options that stand above; and of those between this and `below` too */
    void *state, *blob;
    input **in;
    int ins;
    input *saved; /* loaded positions of inputs that the operator has yet to open again */
    int saves;
    bool opened, ended, top, groups;
    bool lost;             /* a span, for lack of memory */
    bool cut;              /* it made rows of its own: they are a unit */
    bool partial;          /* the last element that it gave is short because of `error` */
    hr_error error;        /* follows what this node still gives; code 0: nothing */
    hr_element *element;   /* what a user's function looks at */
    struct holder *holder; /* of an operator that holds rows: what its log entries share */
    int64_t room, emitted;
    hr_span *out; /* of a node below the top */
    int64_t outs, out_room, taken;
    int64_t closed; /* so many of the elements emitted are in closed ones */
    rows *filling;
    int64_t fill_rows; /* how many rows a source's unit had lately */
};

typedef struct applied {
    hr_dataset *ds;
    hr_settings settings;
    const hr_dataset *ignores; /* the ignore_errors above it, which drops its errors; NULL: none */
} applied;

typedef struct stage_times {
    _Atomic uint64_t plan_ns, work_ns;
    _Atomic int64_t units, elements, rows, waits, errors;
} stage_times;

struct stage {
    engine *engine;
    stage *reader; /* the stage that pulls from this one */
    hr_dataset *ds;
    applied work[MAX_WORKS];
    int works, depth;
    const hr_dataset *ignores; /* the ignore_errors above plan, and above all stages below; NULL: none */
    bool numbered;             /* rows carry their planned numbers */
    bool cells;                /* the reader holds single rows: their strings move into cells */
    bool blind;                /* the reader's plan never looks at rows: they may be records alone */
    int64_t rows_planned;      /* saved, if numbered */
    uint64_t path;             /* key of all randomness in this opening */
    uint64_t lasting;          /* the same, but alike in all epochs of a repeat */
    token *from;               /* loaded: where to begin */
    hr_plan *top;
    returns *returns;
    unit *ring;
    uint8_t place[MAX_WINDOW]; /* which unit stands at number % ring_units; guarded by the lock */
    int ring_units;            /* how many it has; those beyond the window are there for it to grow */
    int64_t group, given;      /* elements that its reader takes together, 0: any number; elements planned so far */
    bool unordered;            /* what is ready may leave before what is not */
    stage *waits_for;          /* set by the plan, read after it */
    hr_work *planner;          /* the thread that plans now */
    unit *current;             /* what it plans */
    hr_token_writer *writer;
    int64_t plan_room; /* of the unit being planned */
    stage_times times;

    /* Guarded by the engine's lock. */
    int64_t planned, taken;
    int window, grown;                            /* how many units it may be ahead; how often that was made more */
    bool planning, ended, closed, full, was_full; /* was_full: since its reader last found nothing */
    bool severed;                                 /* closed as the top of what goes with it */
    int busy;                                     /* threads inside plan or work */
    size_t unit_bytes;
    int64_t unit_elements; /* how many make a unit of a good size */
    int64_t element_rows;  /* how many rows one has, lately */
    stage *blocked_on;
    stage *next_dead;
};

/* One thread's. */
struct hr_work {
    engine *engine;
    int thread;
    block *scratch; /* operators' */
    block *runs;    /* gather's */
    block *hot;     /* a block of bytes that this thread used last */
    stage *stage;
    unit *unit;
    hr_element *element; /* what a user's function looks at */
    const applied *op;   /* the operator at work */
    uint64_t *failed;    /* a bit a row that did; NULL: none */
};

/* What all openings of an operator in one place share. */
typedef struct shared {
    struct shared *next;
    uint64_t place;
    void (*unmake)(void *data);
    _Alignas(16) char data[];
} shared;

typedef struct noted_file {
    char *name;
    int64_t size, mtime; /* -1: could not be told */
    uint64_t digest;     /* of its size and a sample of its bytes */
    bool opened;         /* by this iterator */
} noted_file;

/* A line of hr_explain: a stage, or all that are alike, such as files read side by side. */
typedef struct line {
    char kind[120]; /* names of its operators */
    char name[400]; /* the same with their arguments, as far as those are alike in all */
    int depth, stages, window, grown;
    int64_t units, elements, rows, waits, queued, errors;
    uint64_t plan_ns, work_ns;
    size_t unit_bytes;
} line;

struct engine {
    hr__client client; /* first: the pool's hook */
    uv_mutex_t lock;
    uv_cond_t head_ready;
    store store;
    rows *free_rows; /* guarded by the store's lock */
    stage root;      /* never planned: the consumer, as a reader of the last stage */
    stage **stage;
    int stages, stage_room;
    hr_work *work[MAX_THREADS]; /* made when first needed */
    int max_workers, window;
    int64_t unit_rows;
    size_t unit_size;
    uint64_t seed, stall;
    size_t budget;

    shared *shared;
    struct place_forms *forms; /* of records, each place's; guarded by the lock */
    noted_file *file;          /* known to this iterator: those that were met, by the order of meeting */
    int32_t files, file_room;
    hr__map file_number; /* by name */
    hr_report_line report[MAX_REPORT];
    int reports;
    line past[MAX_LINES]; /* of stages that were closed */
    int pasts;
    parts *orphans;                                   /* of stages that are gone; guarded by the lock */
    bool drops_orphans;                               /* some thread does */
    bool severed;                                     /* some stage is */
    bool consumer_sleeps, consumer_listens;           /* on head_ready; for `notify` */
    bool wake_consumer, notify_consumer, wake_worker; /* asked for; done when the lock is given up */
    void (*notify)(engine *e);
    trace *trace; /* NULL: none was asked for */
    bool has_wake;
    uv_file wake[2]; /* a pipe that has something in it once cancelled */
    atomic_bool cancelled, seed_told;
    uint64_t started;
    uint64_t consumer_waits, consumer_wait_ns;
    size_t over_budget; /* the most that was held beyond the budget, because it had to be */
    size_t reserved;    /* for units that are being planned and worked on */
    size_t largest_unit;
    bool seed_drawn;
    bool restored;   /* what is read again must come as it came then: nothing is brought forward */
    bool disordered; /* some unit has left before those in front of it */
    atomic_bool no_memory;
};

/* Keys of an opened input. */
typedef struct opening {
    uint64_t path, lasting; /* as in stage */
} opening;

/* stage.c */
stage *hr__stage_new(hr_plan *puller, int input, hr_dataset *ds, opening key,
                     token *from); /* takes ds, from; NULL: no memory */
void hr__stage_free(stage *s);
bool hr__stage_cut(stage *s, hr_settings settings); /* s->ds: into its top and its works. False: no memory */
hr_status hr__stage_plan(stage *s, unit *u, parts *returned);
void hr__unit_clear(unit *u);
void hr__plan_node_fail(hr_plan *p, const hr_error *err); /* the first error stays */
void hr__plan_node_no_memory(hr_plan *p);
void hr__engine_note(engine *e, const hr_error *err); /* of a plan or a unit, as it fails; without the lock as well */
hr_plan *hr__plan_node_new(stage *s, hr_plan *above, int above_input, hr_dataset *ds, hr_dataset *below,
                           const hr_settings *settings);
void hr__plan_node_free(hr_plan *p);
hr_status hr__plan_node_open(hr_plan *p, hr_token_reader *from, hr_error *err);
hr_status hr__plan_node_run(hr_plan *p);    /* one call of the operator */
bool hr__input_open_own(hr_plan *p, int i); /* false: no memory */
bool hr__input_is_node(const hr_plan *p, int i);
bool hr__dataset_is_node(const hr_dataset *ds, const hr_dataset *below); /* is called directly by `ds` */
void hr__input_clear(input *in);
int64_t hr__whole_groups(const stage *s, int64_t room, int64_t most); /* instead of about `room` elements */
const hr_dataset *hr__stage_shape(const stage *s);

/* input.c */
bool hr__input_find(hr_plan *p, input *in, hr_status *none);

/* noted.c */
int32_t hr__file_known(engine *e, const char *name);  /* its number; -1: it was not met yet */
int32_t hr__file_number(engine *e, const char *name); /* meets it, if need be; -1: no memory */
noted_file hr__file_noted(engine *e, int32_t number); /* the name lives as long as the engine */
void hr__files_free(engine *e);
void hr__shared_free(shared *s);

/* work.c */
void hr__unit_work(stage *s, unit *u, hr_work *w);
void *hr__work_scratch(hr_work *w, block **kept, size_t bytes);
int64_t hr__count(engine *e, const char *what, int64_t count);
bool hr__ignorable(const hr_error *err);
void hr__tell_ignored(const hr_dataset *by, const hr_error *err);

/* view.c */
void hr__element_drop(hr_element *e); /* NULL: nothing */

/* records.c. False: no memory. */
bool hr__rows_to_records(rows *r, hr_work *w, bool alone);                        /* alone: the columns go */
bool hr__gather_records(rows *r, const hr_span *span, int64_t spans, hr_work *w); /* r->c.rows of them */
void hr__forms_free(engine *e);

/* alias.c */
bool hr__unit_can_alias(const stage *s, const unit *u);
bool hr__unit_alias(rows *r, const unit *u); /* false: no memory */
bool hr__unit_take_over(stage *s, unit *u);

/* gather.c */
bool hr__unit_gather(stage *s, unit *u, hr_work *w);
bool hr__rows_drop_failed(rows *r, const uint64_t *failed, hr_work *w); /* and their elements; false: no memory */
bool hr__rows_unfold(rows *r, hr_work *w);      /* of bare ones: into columns; false: no memory */
bool hr__rows_cut(hr_columns *c, int64_t rows); /* true: the last element is short now */

/* token.c */
token *hr__stage_token(stage *s); /* NULL: no memory */
bool hr__log_nodes(hr_plan *p);   /* false: no memory */
bool hr__log_input(hr_plan *p, input *in);
void hr__log_clear(input *in);
void hr__holder_drop(hr_plan *p);

/* schedule.c. With the lock held: all but the first two and the last two. */
void hr__engine_lock(engine *e);
void hr__engine_unlock(engine *e);              /* and sends the wakes that were asked for */
bool hr__engine_run_one(engine *e, int thread); /* plans and works one unit; false: there is none */
bool hr__stage_is_over(const stage *s);
void hr__engine_taken(stage *s);  /* a unit of it was taken */
void hr__stage_starves(stage *s); /* its reader found nothing */
void hr__engine_sever(stage *s);  /* closes it and all below */
void hr__engine_sweep(engine *e);
void hr__engine_wake_consumer(engine *e);
void hr__engine_wake(engine *e); /* whoever sleeps, if there is a unit to take */
uint64_t hr__engine_seed(engine *e);
void hr__engine_stall(engine *e);

/* order.c. With the lock held: all but the last. */
unit *hr__stage_unit(const stage *s, int64_t number);
bool hr__stage_head_ready(stage *s); /* if its order is free, brings forward what is ready */
hr_status hr__order_kept(engine *e, hr_error *err);

/* cancel.c */
void hr__engine_cancel(engine *e); /* from any thread; waits for nothing */
void hr__engine_close_wake(engine *e);

/* explain.c. With the lock held. */
void hr__explain_remember(const stage *s); /* it will be closed */
line hr__line_of(const stage *s);

/* budget.c. With the lock held. */
bool hr__budget_fits(engine *e, const stage *s);
void hr__budget_learn(stage *s, const unit *u); /* how large its units are */
size_t hr__rows_size(const rows *r);            /* what they hold themselves */
size_t hr__strings_size(const rows *r);         /* what their strings take, whoever holds them: about */

static inline bool engine_cancelled(const engine *e)
{
    return atomic_load_explicit(&e->cancelled, memory_order_relaxed);
}

#endif
