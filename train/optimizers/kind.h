/* What a kind of optimizer is made of: one descriptor a file, NAME.c, and a line in optimizers.def. Not a public
 * header. */
#ifndef HR_OPTIMIZERS_KIND_H
#define HR_OPTIMIZERS_KIND_H

#include "train/graph/graph_op.h"
#include "train/ops/ops.h"
#include "train/optimizers/optimizers.h"

#include <stdatomic.h>

enum { HR__PARAMETERS = 10, HR__SLOTS = 2, HR__SCOPE = 512 };
/* The first two parameters of every kind. */
enum { HR__LEARNING_RATE, HR__DECAY, HR__OWN_PARAMETER };

typedef struct hr__parameter {
    const char *hyper;      /* the variable that keeps it (v2); NULL: a constant */
    double usual, v1_usual; /* defaults */
    double least, most;     /* what is accepted */
} hr__parameter;

typedef struct hr__slot {
    const char *name;
    int initial; /* the parameter that it begins with; 0: it begins with 0 */
} hr__slot;

/* One minimize: nodes that all variables share. */
typedef struct hr__training {
    hr_graph *g;
    const hr_optimizer *optimizer;
    const char *prefix;            /* "training/", or "" */
    char scope[HR__SCOPE];         /* "training/Adagrad" */
    hr_node hyper[HR__PARAMETERS]; /* float32 values of the parameters that are variables; none: constants */
    hr_node learning_rate;         /* after decay */
    hr_node iterations;            /* an int64 variable; none: nobody counts */
    hr_node power[2];              /* Adam's: of both betas, for this step */
    hr_node power_variable[2];
} hr__training;

/* One variable to update. */
typedef struct hr__target {
    hr_node variable;
    hr_dtype dtype;
    hr_gradient gradient; /* indices: none if dense */
    hr_node slot[HR__SLOTS];
} hr__target;

typedef struct hr__optimizer_kind {
    const char *word;               /* "ftrl" */
    const char *const *parameters;  /* their names, "learning_rate" and "decay" first; ends with NULL */
    const hr__parameter *parameter; /* one each */
    /* Kinds have a name in each family: "SGD", or "GradientDescent" or "Momentum" (v1). */
    const char *(*name)(const hr_optimizer *o);
    int (*slots)(const hr_optimizer *o, const hr__slot **slot);
    void (*begin)(hr__training *t); /* NULL: nothing to share */
    hr_node (*update)(hr__training *t, const hr__target *v);
    int (*finish)(hr__training *t, hr_node *out); /* nodes to run after all updates, at most 2; NULL: none */
} hr__optimizer_kind;

struct hr_optimizer {
    _Atomic int references;
    const hr__optimizer_kind *kind; /* NULL: it failed */
    bool v1;
    double value[HR__PARAMETERS];
    hr_node learning_rate_node;
    hr_error error;
    char text[512];
};

#define HR_OPTIMIZER(name) extern const hr__optimizer_kind hr__optimizer_##name;
#include "train/optimizers/optimizers.def"
#undef HR_OPTIMIZER

/* ---- for constructors ---- */

/* `given[i]`: parameter i, NULL: its default. */
hr_optimizer *hr__optimizer_new(const hr__optimizer_kind *kind, const double *const *given, bool v1,
                                hr_node learning_rate_node);
/* An option of the caller as a double in `room`; NULL stays NULL. */
static inline const double *hr__given(const float *option, double *room)
{
    if (!option) return NULL;
    *room = (double)*option;
    return room;
}

/* ---- for kinds ---- */

/* Parameter `i` in the variable's type; the learning rate after decay. */
hr_node hr__number(hr__training *t, const hr__target *v, int i);
hr_node hr__in_type(hr_node number, const hr__target *v);
/* A variable of the optimizer's own: "<scope>/<name>". */
hr_node hr__training_variable(hr__training *t, const char *scope, const char *name, hr_dtype dtype, hr_shape shape,
                              double initial);
static inline bool hr__is_sparse(const hr__target *v) { return v->gradient.indices.graph != NULL; }

/* ---- minimize's steps ---- */

/* Finds the scope, makes hyper-parameters and the learning rate. */
void hr__training_begin(hr__training *t, const hr_minimize_opts *opts);
/* Makes the slots of one variable, and its update. */
hr_node hr__training_update(hr__training *t, const hr_variable_gradient *v);

#endif
