/* The engine from the inside: ordered stages. Operators never see this.
 *
 * A stage is plan operators that pull from each other directly (nodes), and the work operators above them. Its units
 * are planned in order by one thread at a time, worked by any, and delivered in order through a ring. One lock an
 * iterator guards the rings' counters and flags; nobody plans, works or wakes under it. Rows and their spans are told in
 * unit_rows.h, stages and their units in stage.h, which this includes; here are the iterator's threads and what all stages share.
 *
 *   store.c         recycled memory             token.c           where a stage stands: the object, the log
 *   unit_rows.c     units of rows, spans        position.c        nodes and inputs into tokens, into bytes, and back
 *   stage.c         cutting the chain           engine.c          opening and closing
 *   stage_plan.c    planning a unit             next_stage.c      the lock; which stage moves next; waking
 *   stage_input.c   pulling                     schedule.c        one unit; stages that are closed
 *   emit.c          emitting, rows of sources   order.c           which unit leaves next
 *   opening.c       inputs that come and go     cancel.c          calling it off
 *   shared.c        what openings share         budget.c          what fits
 *   pass.c          many spans in one call      explain_stages.c  what it was like
 *   gather_spans.c  spans into rows             explain_dataset.c what it will be like
 *   alias.c         units without a copy        trace.c           every unit, for a viewer
 *   waiting_rows.c  rows that wait, in cells    opened_files.c    the files that were read
 *   work.c          work on a unit              view.c            elements for functions
 *   usage.*         time asleep                 verdict.c         what binds a run, and what would help */
#ifndef HR_ENGINE_H
#define HR_ENGINE_H

#include "base/hash_map.h"
#include "base/pool.h"
#include "base/text.h"
#include "data/exec/stage.h"
#include "data/exec/trace.h"
#include <headrace/data.h>

enum {
    MAX_THREADS = 257 /* the pool's, and the caller as number 0 */,
    MAX_REPORT = 64,
    MAX_LINES = HR_MAX_STAGE_STATS,
    MAX_UNIT_ROWS = 2048, /* more where a plan has more parts */
    UNIT_NS = 120000,     /* what a unit should take */
    TOKEN_ROWS = 2048,    /* about so many rows lie between two tokens of a stage; no unit reaches beyond one */
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
    hr_dataset *seen;    /* whose element it is: held */
    const applied *op;   /* the operator at work */
    uint64_t *failed;    /* a bit a row that did; NULL: none */
};

/* What the openings of a dataset share, or those that give one name. */
typedef struct shared {
    struct shared *next; /* of its chain */
    hr_dataset *ds;      /* held, so that its address is nobody else's */
    char *name;          /* NULL: it is shared by openings of `ds` alone */
    uint64_t key;        /* of all randomness below */
    int64_t users;       /* openings that have it */
    void *data;          /* NULL: nobody has asked for it */
    void (*unmake)(void *data);
} shared;

typedef struct shared_table {
    shared **chain; /* NULL: none yet */
    uint64_t chains, count, hand;
    uint64_t changes; /* calls of hr__shared_changed */
    bool awaited;     /* some stage is blocked until the next one, or until its turn */
    stage at, turn;   /* what such a stage is blocked on: they never have a unit */
} shared_table;

typedef struct noted_file {
    char *name;
    int64_t size, mtime; /* -1: could not be told */
    uint64_t digest;     /* of its size and a sample of its bytes */
    bool opened;         /* by this iterator */
    bool has_lines;      /* places in it are told by lines */
} noted_file;

/* Why a thread has nothing to do: none is idle; all is being done; the consumer has what it can take; the unit that is
 * awaited is slow, and its stage may not run further ahead; the budget. */
typedef enum idle_reason { IDLE_NONE, IDLE_OTHERS, IDLE_CONSUMER, IDLE_WINDOW, IDLE_BUDGET, IDLE_REASONS } idle_reason;

/* A line of hr_explain: a stage, or all that are alike, such as files read side by side. */
typedef struct line {
    char kind[120]; /* names of its operators */
    char name[400]; /* the same with their arguments, as far as those are alike in all */
    int depth, stages, window, grown;
    int64_t units, elements, rows, waits, queued, errors;
    uint64_t plan_ns, work_ns, alive_ns;
    asleep plan_asleep, work_asleep;
    size_t unit_bytes;
} line;

/* Stages of one depth that may plan a unit, as far as the budget lets them: those with so many units ahead of their
 * reader in a ring each, who became so first in front. The last ring has those with more, too. */
enum { MOVING_RINGS = 64 };
typedef struct moving {
    uint64_t some; /* a bit for each ring that has a stage */
    stage *first[MOVING_RINGS];
} moving;

struct engine {
    hr__client client; /* first: the pool's hook */
    uv_mutex_t lock;
    uv_cond_t head_ready;
    store store;
    rows *free_rows; /* guarded by the store's lock */
    stage root;      /* never planned: the consumer, as a reader of the last stage */
    stage **stage;
    moving *moving; /* by depth: as many as `depths` */
    int depths;
    int stages, stage_capacity;
    hr_work *work[MAX_THREADS]; /* made when first needed */
    bool begun;                 /* the pool's workers know it: not before somebody asks for the first element */
    int max_workers, window;
    int64_t unit_rows;
    size_t unit_size;
    uint64_t seed, stall;
    int64_t epoch; /* 0: the run has no number */
    size_t budget;

    shared_table shared;      /* guarded by the lock */
    struct alike_rows *forms; /* the row layouts of rows that wait; guarded by the lock */
    noted_file *file;         /* known to this iterator: those that were met, by the order of meeting */
    int32_t files, file_capacity;
    hr__map file_number; /* by name */
    hr_report_line report[MAX_REPORT];
    int reports;
    line *past; /* of stages that were closed, MAX_LINES of them; NULL: none was */
    int pasts;
    parts *orphans;                                   /* of stages that are gone; guarded by the lock */
    bool drops_orphans;                               /* some thread does */
    stage *severed;                                   /* those that are, chained by next_dead */
    int leaving;                                      /* threads that free such stages */
    bool consumer_sleeps, consumer_listens;           /* on head_ready; for `notify` */
    bool wake_consumer, notify_consumer, wake_worker; /* asked for; done when the lock is given up */
    void (*notify)(engine *e);
    trace *trace; /* NULL: none was asked for */
    bool has_wake;
    uv_file wake[2]; /* a pipe that has something in it once cancelled */
    atomic_bool cancelled, seed_told;
    uint64_t started;
    _Atomic uint64_t ended; /* 0 until the consumer has had the last element */
    uint64_t consumer_waits, consumer_wait_ns;
    idle_reason idle; /* as last looked, and since when */
    uint64_t idle_since, idle_ns[IDLE_REASONS];
    uint64_t consumer_ns; /* that it was in calls for an element which was not there: its waits, and its own work */
    size_t over_budget;   /* the most that was held beyond the budget, because it had to be */
    size_t reserved;      /* for units that are being planned and worked on */
    size_t largest_unit, largest_row; /* so far */
    size_t stages_bytes;              /* a unit of each stage */
    bool seed_drawn;
    bool restored;   /* what is read again must come as it came then: nothing is brought forward */
    bool disordered; /* some unit has left before those before it */
    atomic_bool no_memory;
    hr_change_number_fn *change; /* of hr_iterate_changed; NULL: the numbers of a saved state stay as they are */
    void *change_user;
};

/* opened_files.c */
int32_t hr__file_known(engine *e, const char *name);  /* its number; -1: it was not met yet */
int32_t hr__file_number(engine *e, const char *name); /* meets it, if need be; -1: no memory */
noted_file hr__file_noted(engine *e, int32_t number); /* the name lives as long as the engine */
void hr__files_free(engine *e);

/* shared.c */
bool hr__shared_open(engine *e, hr_dataset *ds); /* of all that runs: before anything else. False: no memory */
void hr__shared_close(engine *e);
uint64_t hr__shared_key(const hr_plan *p);
void hr__shared_leave(hr_plan *p);
bool hr__shared_is_sole(const hr_dataset *ds); /* nobody holds it, or what is below, but the caller */

/* work.c */
void hr__unit_work(stage *s, unit *u, hr_work *w);
int64_t hr__count(engine *e, const char *what, int64_t count);
bool hr__ignorable(const hr_error *err);
void hr__tell_ignored(const hr_dataset *by, const hr_error *err);
/* Says before an error where a row was read, if that is known and the error names no file yet. The second one reads a
 * file of lines up to there, so it is for errors that end something. */
void hr__name_place(engine *e, const hr_columns *c, int64_t row, hr_error *err);
void hr__name_line(engine *e, const hr_columns *c, int64_t row, hr_error *err);

/* view.c */
void hr__element_drop(hr_element *e); /* NULL: nothing */
void hr__seen_drop(hr_work *w);       /* what its functions look at */

/* waiting_rows.c */
void hr__row_layouts_free(engine *e);

/* engine.c */
bool hr__engine_open(engine *e, const hr_iterate_opts *opts); /* false: no memory */
void hr__engine_close(engine *e);                             /* nobody is inside any more */

/* next_stage.c. With the lock held: all but the first two and the last three. */
void hr__engine_lock(engine *e);
void hr__engine_unlock(engine *e);                         /* and sends the wakes that were asked for */
void hr__stage_moves(stage *s);                            /* after a change of what decides whether it may move */
stage *hr__engine_pick(engine *e);                         /* the stage to move next; NULL: none can */
void hr__engine_note_idle(engine *e, const stage *picked); /* NULL: a thread that would work is idle; why, since when */
void hr__engine_taken(stage *s);                           /* a unit of it was taken */
void hr__stage_starves(stage *s);                          /* its reader found nothing */
void hr__shared_changed(engine *e);                        /* what openings share */
stage *hr__shared_waited_stage(const engine *e);           /* NULL: none */
bool hr__shared_is_stuck(const engine *e);                 /* if no stage may move */
void hr__engine_wake_consumer(engine *e);
void hr__engine_wake(engine *e); /* whoever sleeps, if there is a unit to take */
/* A worker goes to another client. Wakes a caller that sleeps if there is a unit to take; says if there is. */
bool hr__engine_leave(engine *e);
void hr__engine_note(engine *e, const hr_error *err); /* of a plan or a unit, as it fails; with or without the lock */
void hr__engine_stall(engine *e);
uint64_t hr__engine_seed(engine *e);

/* opening.c */
/* The path of a stage that runs `ds` as a whole: as if a repeat over it, which is on top of all, had opened this epoch.
 * 0: there is none. */
uint64_t hr__epoch_path(const hr_dataset *ds, int64_t epoch);

/* schedule.c. With the lock held: all but the last one. */
bool hr__engine_run_one(engine *e, int thread); /* plans and works one unit; false: there is none */
void hr__engine_sever(stage *s);                /* closes it and all below */
void hr__engine_sweep(engine *e);
void hr__engine_free_stages(engine *e); /* nobody else is here any more */

/* order.c */
hr_status hr__order_unchanged(engine *e, hr_error *err);

/* cancel.c */
void hr__engine_cancel(engine *e); /* from any thread; waits for nothing */
void hr__engine_close_wake(engine *e);

/* explain_stages.c. With the lock held. */
void hr__explain_remember(const stage *s); /* it will be closed */
line hr__line_of(const stage *s);

/* verdict.c */
void hr__verdict_write(hr__text *t, const hr_iterator_stats *stats, const hr_verdict *verdict);

/* budget.c */
size_t hr__budget_of_unit(const engine *e);     /* what a unit may take, so that several fit */
bool hr__budget_ends(const engine *e, unit *u); /* while it is planned: its parts take as much already */
/* With the lock held. */
bool hr__budget_fits(engine *e, const stage *s);
bool hr__budget_fits_more(const engine *e);     /* beyond a stage's first unit */
void hr__budget_learn(stage *s, const unit *u); /* how large its units are */

static inline bool engine_cancelled(const engine *e)
{
    return atomic_load_explicit(&e->cancelled, memory_order_relaxed);
}

#endif
