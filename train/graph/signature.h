/* What the signature of an op says, and what is said of its shapes: for tools and tests that make nodes of any op. */
#ifndef HR_SIGNATURE_H
#define HR_SIGNATURE_H

#include <headrace/graph_op.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The most arguments on one side, and the most attributes, that an op may have. */
enum { HR_MAX_OP_ARGS = 24, HR_MAX_OP_ATTRS = 24 };

/* An input or an output. */
typedef struct hr_arg_def {
    const char *name;
    hr_dtype type; /* where no attribute says it */
    int type_attr, number_attr,
        list_attr; /* which attributes say its type, how many there are, their types; -1: none */
    bool ref;      /* takes or gives a variable itself, not its value */
} hr_arg_def;

/* An attribute. */
typedef struct hr_attr_def {
    const char *name;
    hr_attr_kind kind;
    uint32_t types;     /* bits of the types that the signature allows: 1 << HR_FLOAT and so on */
    uint32_t kernels;   /* and of those that the kernel takes */
    int64_t min;        /* of an int, of a list's length; INT64_MIN: none */
    const char **words; /* of a string: what it may be; NULL: anything */
    int word_count;
    bool has_default;
    hr_attr value;
} hr_attr_def;

/* Dimensions by pattern: "[n,3,...]". */
enum { HR_DIM_LETTER = -2 /* letters: a is this one, b one less */ };
typedef struct hr_dims_pattern {
    int rank, dim[HR_MAX_RANK]; /* a number, -1 for any, or a letter */
    int rest;                   /* before which dimension "..." stands; -1: nowhere */
} hr_dims_pattern;

typedef struct hr_signature hr_signature;

/* The signature of an op that the graph knows. Borrows from the graph. HR_NOT_FOUND, "graph.op". */
HR_API hr_status hr_graph_signature(hr_graph *g, const char *op, const hr_signature **out, hr_error *err);
HR_API int hr_signature_inputs(const hr_signature *sig);
HR_API int hr_signature_outputs(const hr_signature *sig);
HR_API int hr_signature_attrs(const hr_signature *sig);
/* Numbers from 0; borrow from the graph. NULL: there is none of that number. */
HR_API const hr_arg_def *hr_signature_input(const hr_signature *sig, int i);
HR_API const hr_arg_def *hr_signature_output(const hr_signature *sig, int i);
HR_API const hr_attr_def *hr_signature_attr(const hr_signature *sig, int i);
/* What the op's .shapes say of an input. False: no dimensions. */
HR_API bool hr_signature_input_dims(const hr_signature *sig, int input, hr_dims_pattern *out);

#ifdef __cplusplus
}
#endif
#endif
