/* A trial: one random node of the op under check, with its inputs, in a graph and a session of its own. Trial number n
 * of an op is the same on every machine, whatever other ops there are. The suite's own memory comes from malloc, so it
 * is neither counted nor made to fail. */
#ifndef HR_TRIAL_H
#define HR_TRIAL_H

#include <headrace/control_flow.h>
#include <headrace/eager.h>
#include <headrace/ops.h>
#include <headrace/signature.h>

enum {
    MAX_INPUTS = 64,
    MAX_FETCHES = 16,
    MAX_VALUES = 1 << 12, /* of an input */
};

/* What is to be made. */
typedef struct trial_plan {
    const hr_graph_op *op;
    int64_t number;
    bool smooth;           /* doubles that are fed, and numbers without malice: differences are to be taken */
    int workers;           /* of the session */
    const char *text_file; /* the name that inputs of strings mostly are; NULL: any words */
    bool starving;         /* an allocation fails: what is refused for that is not wrong */
    bool eager;            /* in an eager graph: what would be fed is a constant */
} trial_plan;

typedef struct trial {
    trial_plan plan;
    const hr_graph_op *op;
    const hr_signature *sig;
    uint64_t key, drawn;
    hr_graph *g;
    hr_session *s;
    struct trial_block *memory;
    hr_shape common; /* most inputs are shaped after this one */
    int alone;       /* the one input that is, if all others are scalars; -1: any may be */
    bool in_tune;    /* vectors of indices have a number for each dimension of it, or for each row */
    bool by_row;
    hr_dtype type[HR_MAX_OP_ATTRS]; /* chosen, whether given or to be inferred */
    int64_t number_of[HR_MAX_OP_ATTRS];
    hr_attr attr[HR_MAX_OP_ATTRS];
    int attrs;
    hr_node input[MAX_INPUTS];
    hr_node from[MAX_INPUTS];    /* of a list: the tensor that its elements come from; none: the input itself */
    hr_tensor value[MAX_INPUTS]; /* of each input; without data: it is not known */
    int inputs;
    hr_feed feed[MAX_INPUTS + 1];
    int feeds;
    bool refuse_feeds; /* one of them is not to be accepted */
    bool smooth;
    hr_node node;               /* none: it was refused, and the graph has the error */
    hr_node fetch[MAX_FETCHES]; /* its outputs, or itself */
    int fetches;
    bool lacks_memory; /* starving: an input could not be made, so that anything may be refused */
    hr_status found;   /* the first thing that is wrong, with its error */
    hr_error error;
} trial;

/* ---- trial.c ---- */

/* Makes the node and all that it needs. False: there is no memory for it, or something is wrong already. */
bool hr__trial_begin(trial *t, const trial_plan *plan);
void hr__trial_end(trial *t);
/* A trial has ended: its error, or HR_OK. Ends it. */
hr_status hr__trial_answer(trial *t, hr_error *err);

/* ---- trial_faults.c ---- */

/* What is wrong: "NAME: trial 7: " and the text, then the attributes and inputs. Only the first one is kept. */
void hr__trial_wrong(trial *t, const char *kind, const char *format, ...) HR_PRINTF(3, 4);
void *hr__trial_memory(trial *t,
                       size_t size); /* exactly so many bytes, until the trial ends; NULL: none, and said so */
void hr__trial_free_memory(trial *t);

/* ---- trial_draws.c ---- */

int64_t hr__trial_hostile(trial *t);
hr_dtype hr__trial_type(trial *t, uint32_t types); /* one of these, mostly */

static inline int64_t below(trial *t, int64_t bound) { return hr_random_below(t->key, t->drawn++, bound); }
static inline bool one_in(trial *t, int64_t n) { return below(t, n) == 0; }

/* ---- trial_shapes.c ---- */

hr_shape hr__trial_random_shape(trial *t);
hr_shape hr__trial_input_shape(trial *t, bool index);  /* of the next input */
hr_shape hr__trial_declared(trial *t, hr_shape shape); /* what is said of it before the run */
hr_shape hr__trial_any_shape(trial *t);                /* for attributes: hostile ones among them */

/* ---- trial_values.c ---- */

/* What the numbers of a tensor are like. */
typedef enum meaning { SMALL, PLACE, SHAPE, ORDER, SPLITS, HOSTILE, ONE_HOSTILE, ZEROS, AXIS, MEANINGS } meaning;

meaning hr__trial_meaning(trial *t);
int64_t hr__trial_whole_number(trial *t, meaning m, int64_t i, int64_t count, int64_t *last);
double hr__trial_real_number(trial *t, meaning m);
double hr__trial_hostile_float(trial *t);
hr_view hr__trial_text(trial *t);
hr_tensor hr__trial_tensor(trial *t, hr_dtype dtype, hr_shape shape);

/* ---- trial_attrs.c ---- */

void hr__trial_choose_attrs(trial *t);
bool hr__trial_types_inputs(const trial *t, int attr); /* the attribute says the type of an input */

/* ---- trial_inputs.c ---- */

void hr__trial_choose_inputs(trial *t);

/* ---- trial_variables.c ---- */

/* A placeholder that is fed the value. */
hr_node hr__trial_fed(trial *t, hr_tensor value);
hr_node hr__trial_variable(trial *t, hr_dtype dtype, const hr_tensor *value); /* NULL: of random values */
hr_node hr__trial_reference(trial *t, hr_dtype dtype, const hr_tensor *value);

/* ---- trial_resources.c: inputs that are no values ---- */

hr_node hr__trial_resource_input(trial *t);
hr_node hr__trial_list_input(trial *t);
hr_node hr__trial_list_node(trial *t, const char *op, hr_node a, hr_node b, hr_dtype dtype);

/* ---- trial_results.c: what came out ---- */

bool hr__trial_is_float(hr_dtype dtype);
/* What is derived: an output of floats, or the elements of a list of floats. */
hr_node hr__trial_derivable(trial *t, hr_node output);
void hr__trial_check_error(trial *t, hr_status st, const hr_error *err);
void hr__trial_check_result(trial *t, hr_node fetched, const hr_tensor *out);
/* Runs the fetches. False: it was refused; then nothing is given. */
bool hr__trial_run(trial *t, hr_tensor *out);
void hr__trial_clear(trial *t, hr_tensor *out); /* what the run gave */
/* A gradient has the type and the shape of what it is the gradient by. False: there is none. */
bool hr__trial_run_gradients(trial *t);

/* ---- repeats.c, round_trip.c, eagerly.c, starvation.c, differences.c: more checks of a trial that works ---- */

/* The same results again, in the same session and with threads in another one; inputs as before; nothing written after
 * the end of an output. */
hr_status hr__trial_repeats(const trial_plan *plan, hr_error *err);
/* The same results of a graph that was written as a GraphDef and read again. */
hr_status hr__trial_round_trip(const trial_plan *plan, hr_error *err);
/* The same results in an eager graph. *compared: they could be compared. */
hr_status hr__trial_eagerly(const trial_plan *plan, bool *compared, hr_error *err);
/* Each allocation fails once: it is reported, or makes no difference. Every `step`-th one. */
hr_status hr__trial_starvation(const trial_plan *plan, int step, hr_error *err);
/* A hash of each result, equal for equal ones. */
void hr__trial_digest(const trial *t, const hr_tensor *out, uint64_t *digest);
typedef enum hr__trial_seeds { NO_SEEDS, UNSEEDED, SEEDED } hr__trial_seeds;
hr__trial_seeds hr__trial_has_seeds(const trial *t); /* attributes of the node that are seeds */
bool hr__trial_is_repeatable(const trial *t);        /* a function of its inputs, or of its seeds in a new session */

/* Whether the derivative is the one that central differences have. */
typedef enum verdict { NOT_SEEN, FITS, DIFFERS } verdict;
verdict hr__trial_differences(const trial_plan *plan, hr_error *err);

#endif
