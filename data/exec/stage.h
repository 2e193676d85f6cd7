/* Stages from the inside: units on their way through a ring, the nodes that plan them, what these pull from. */
#ifndef HR_STAGE_H
#define HR_STAGE_H

#include "data/exec/unit_rows.h"

enum {
    MAX_WINDOW = 256, /* a number of one fits into stage.place */
};

typedef struct stage stage;

/* How much of its time a thread slept, of a sample of all units. */
typedef struct asleep {
    uint64_t sampled_ns, asleep_ns;
} asleep;

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
    bool ignored;        /* an error that is ignored has ended it */
    bool gathered;       /* its rows are there since plan */
    parts *parts;
    int64_t elements;  /* planned */
    int64_t first_row; /* its planned number; -1: the rows have theirs */
    int32_t *cut;      /* elements emitted when each element of the next level was closed */
    int64_t cuts, cut_capacity;
    int64_t weighed; /* parts that were looked at for what they take, */
    size_t weight;   /* and that */
    void *blob;      /* the plan operator's message to its own work */
    rows *rows;
    token *before;  /* where the stage stood when it opened: of the first unit alone */
    token *after;   /* where the stage stands after this unit; NULL: its reader counts on from the token before */
    hr_error error; /* what follows the last row; code 0: nothing */
} unit;

/* What an operator pulls from: a stage, or a node of the same stage. There may be thousands: what each pull reads comes
 * first, and the rest is short. */
typedef struct input {
    bool own;     /* one of the dataset's, not opened by the operator */
    bool open;    /* opened by the operator, not closed since */
    bool known;   /* has a position */
    bool sole;    /* nobody else can open its dataset, or one below it */
    stage *stage; /* NULL: not opened yet, or closed; or `node` stands for it */
    hr_plan *node;
    rows *rows;          /* of head; NULL: there are none */
    int64_t next, count; /* element in head; how many it has */
    int64_t first;       /* number of head's first element; of a node: of the next one */
    unit *head;
    int64_t skip_to; /* after a load: elements before this number were used */
    int64_t start;   /* its stage begins with the element of this number, by hr_op.at */
    token *before;   /* where the stage stood `since` elements before head */
    int64_t since;
    int64_t number;             /* the operator's, if it opened this input */
    hr_error *error;            /* of the dataset: comes out at the first pull; NULL: none */
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
    int ins, in_capacity;
    int *closed_input, closed_inputs; /* numbers of those that were closed; as much room as `in` */
    int64_t opened_elements;          /* how many made a good unit of the one that was closed last; 0: not known */
    input *saved;                     /* loaded positions of inputs that the operator has yet to open again */
    int saves;
    bool opened, ended, top, groups;
    bool lost;             /* a span, for lack of memory */
    bool cut;              /* it made rows of its own: they are a unit */
    bool partial;          /* the last element that it gave is short because of `error` */
    hr_error error;        /* follows what this node still gives; code 0: nothing */
    hr_element *element;   /* what a user's function looks at */
    struct holder *holder; /* of an operator that holds rows: what its log entries share */
    struct shared *shared; /* with other openings; NULL: nothing */
    int64_t room, emitted;
    int64_t idle, idle_at; /* calls in a row that came to nothing; what was pulled when that was last looked at */
    hr_span *out;          /* of a node below the top */
    int64_t outs, out_capacity, taken;
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
    asleep plan_asleep, work_asleep;
} stage_times;

struct stage {
    engine *engine;
    stage *reader; /* the stage that pulls from this one */
    hr_dataset *ds;
    applied *work;
    int works, work_capacity, depth;
    const hr_dataset *ignores; /* the ignore_errors above plan, and above all stages below; NULL: none */
    bool numbered;             /* rows carry their planned numbers */
    bool cells;                /* the reader holds single rows: their strings move into cells */
    bool blind;                /* the reader's plan never looks at rows: they may be in row layout alone */
    int64_t rows_planned;      /* saved, if numbered */
    uint64_t path;             /* key of all randomness in this opening */
    token *from;               /* loaded: where to begin */
    int64_t start;             /* else: with the element of this number */
    hr_plan *top;
    returns *returns;
    unit *ring;                /* NULL: nothing was planned yet */
    uint8_t place[MAX_WINDOW]; /* which unit stands at number % ring_units; guarded by the lock */
    int ring_units;            /* how many it has; those beyond the window are there for it to grow */
    int64_t apart, tell_at;  /* tokens stand at multiples of so many elements; the next one is made at so many given */
    bool told;               /* the last unit ended with a token, or there was none yet */
    int64_t group, given;    /* elements that its reader takes together, 0: any number; elements planned so far */
    bool placeless;          /* read ahead by a reader that keeps the place of both: see HR_KNOWS_ITS_PLACE */
    bool unordered;          /* what is ready may leave before what is not */
    stage *waits_for;        /* set by the plan, read after it */
    bool sole;               /* nobody else can open its datasets */
    bool alone;              /* what its plan would await cannot come before it goes on */
    bool needed;             /* its turn has come: the consumer waits for what it gives */
    uint64_t shared_changes; /* the engine's when the plan was called */
    hr_work *planner;        /* the thread that plans now */
    uint64_t opened_at;      /* uv_hrtime */
    unit *current;           /* what it plans */
    hr_token_writer *writer;
    int64_t plan_room; /* of the unit being planned */
    stage_times times;

    /* Guarded by the engine's lock. */
    int64_t planned, taken;
    int window, grown;                            /* how many units it may be ahead; how often that was made more */
    bool planning, ended, closed, full, was_full; /* was_full: since its reader last found nothing */
    bool severed;                                 /* closed as the top of what goes with it */
    int busy;                                     /* threads inside plan or work */
    size_t unit_bytes, input_bytes; /* what a unit takes, about; the most that one of an input's stage took */
    int64_t unit_elements;          /* how many make a unit of a good size */
    int64_t element_rows;           /* how many rows one has, lately */
    stage *blocked_on;
    int at;    /* in the engine's list; -1: the consumer */
    int moves; /* 1 + which of the engine's rings of those that may move it is in; 0: none */
    stage *moves_after, *moves_before;
    stage *below, *beside, *before; /* the first stage that this one reads; neighbours that have the same reader */
    stage *next_dead;
};

static inline int64_t stage_in_flight(const stage *s) { return s->planned - s->taken; }
static inline bool hr__stage_is_over(const stage *s) { return s->ended && s->taken == s->planned; }

/* How many elements were pulled from an input so far. */
static inline int64_t input_pulled(const input *in)
{
    return in->first + in->next > in->skip_to ? in->first + in->next : in->skip_to;
}

/* stage.c */
/* `path`: as in stage. Takes ds, from. NULL: no memory. */
stage *hr__stage_new(hr_plan *puller, int input, hr_dataset *ds, uint64_t path, token *from);
bool hr__stage_make_ring(stage *s); /* before its first plan, by the thread that plans. False: no memory */
void hr__stage_free(stage *s);
bool hr__stage_cut(stage *s, hr_settings settings); /* s->ds: into its top and its works. False: no memory */
void hr__unit_clear(unit *u);
void hr__plan_node_fail(hr_plan *p, const hr_error *err); /* the first error stays */
void hr__plan_node_no_memory(hr_plan *p);
hr_plan *hr__plan_node_new(stage *s, hr_plan *above, int above_input, hr_dataset *ds, hr_dataset *below,
                           const hr_settings *settings);
void hr__plan_node_free(hr_plan *p);
hr_status hr__plan_node_open(hr_plan *p, hr_token_reader *from, hr_error *err);
/* Moves a node that was just opened to its element `index`, and its inputs with it. */
hr_status hr__plan_node_at(hr_plan *p, int64_t index, hr_error *err);
hr_status hr__plan_node_run(hr_plan *p);    /* one call of the operator */
bool hr__input_open_own(hr_plan *p, int i); /* false: no memory */
bool hr__input_is_node(const hr_plan *p, int i);
bool hr__dataset_is_node(const hr_dataset *ds, const hr_dataset *below); /* is called directly by `ds` */
void hr__input_clear(input *in);
const hr_dataset *hr__stage_shape(const stage *s);

/* stage_plan.c */
hr_status hr__stage_plan(stage *s, parts *returned);

/* emit.c */
int64_t hr__whole_groups(const stage *s, int64_t room, int64_t max); /* instead of about `room` elements */

/* stage_input.c */
bool hr__input_find(hr_plan *p, input *in, hr_status *none);
/* An element that is short because of an error is the last that a node takes or gives: it never passes without that
 * error, even if the operator wants no more, as take, and nothing of another input passes after it. What an operator
 * holds comes later anyway, followed by the error. */
bool hr__input_ends_short(const hr_plan *p, int i, int64_t ahead); /* such an element is the last of the next `ahead` */
void hr__input_notice_short(hr_plan *p, int i);                    /* after a pull: fails if it was such an element */

/* alias.c */
bool hr__unit_can_alias(const stage *s, const unit *u);
bool hr__unit_alias(rows *r, const unit *u); /* false: no memory */
bool hr__unit_take_over(stage *s, unit *u);

/* gather_spans.c */
bool hr__unit_gather(stage *s, unit *u, hr_work *w);

/* position.c */
token *hr__stage_token(stage *s); /* NULL: no memory */
bool hr__log_nodes(hr_plan *p);   /* false: no memory */

/* token.c */
bool hr__log_input(hr_plan *p, input *in);
void hr__log_clear(input *in);
void hr__holder_drop(hr_plan *p);

/* order.c. With the lock held. */
unit *hr__stage_unit(const stage *s, int64_t number);
bool hr__stage_head_ready(stage *s); /* if its order is free, brings forward what is ready */

#endif
