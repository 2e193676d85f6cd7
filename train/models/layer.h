/* Headrace, the layer kit, for new kinds of layers of models. The library's own kinds and those of users need this header
 * alone. A kind is one file: its arguments, the nodes that it makes, a descriptor, and last the constructor that users
 * call. The comment at the end of this file is a complete example.
 *
 * A layer makes nodes by the calls that everybody has: hr_dense, hr_conv2d, hr_matmul. A model calls it once for each
 * graph that it needs, for training, for evaluation and for predictions, and again where the layer is shared. Weights are
 * the variables that it makes by hr_layer_weight or by such calls with hr_layer_scope's name: made by the first
 * call, found by later ones.
 *
 * HR_LAYER_ABI is the version of the descriptor and of all declarations here. */
#ifndef HR_LAYER_H
#define HR_LAYER_H

#include <headrace/layers.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this kit. */
enum { HR_LAYER_ABI = 1 };
/* The max number of inputs and of outputs of a layer. */
enum { HR_MAX_LAYER_INPUTS = 64, HR_MAX_LAYER_OUTPUTS = 32 };

typedef struct hr_layer hr_layer;

/* What models must know of a kind. */
typedef enum hr_layer_traits {
    HR_LAYER_MERGES = 1,       /* takes two inputs or more; others take one, unless .max_inputs says so */
    HR_LAYER_KEEPS_MASK = 2,   /* its output has the mask of its input. Default: it has none */
    HR_LAYER_RECURRENT = 8,    /* steps after each other: it reads .direction and can be within a Bidirectional */
    HR_LAYER_TAKES_IDS = 4,    /* whole numbers stay what they are, such as those of an embedding */
    HR_LAYER_HOLDS_MODEL = 16, /* the one layer within it may be a model (hr_model_layer); it has no weights besides */
} hr_layer_traits;

/* Of a layer within a Bidirectional: its input's first step comes first, or its last one. Both give 0 at masked steps. */
typedef enum hr_layer_direction { HR_LAYER_ALONE, HR_LAYER_FORWARD, HR_LAYER_BACKWARD } hr_layer_direction;

/* One call of a layer: what it reads, and where it says what it made. */
typedef struct hr_layer_call {
    hr_graph *graph;
    const hr_layer *layer;
    const void *config; /* the kind's own arguments */
    int inputs;
    const hr_node *input;
    const hr_node *mask; /* for each input a bool [n, steps] of the steps that count; no node: all do */
    bool training;       /* the graph is for training */
    bool frozen;         /* optimizers leave its weights alone; a batch normalization then uses its moving averages */
    hr_layer_direction direction;
    /* What it makes besides its result: further outputs, and masks of outputs, where the traits do not say them. */
    int outputs; /* set to 1 before the call */
    hr_node output[HR_MAX_LAYER_OUTPUTS];
    hr_node output_mask[HR_MAX_LAYER_OUTPUTS];
    bool exported;                    /* the graph is for TensorFlow, which derives it if it trains the model further */
    struct hr_layer_placing *placing; /* for the library only */
} hr_layer_call;

/* A kind of layer: its arguments and what it makes. */
typedef struct hr_layer_kind {
    struct {
        uint32_t abi_version, struct_size;
    } head;           /* HR_LAYER_HEAD */
    const char *name; /* as the class in Keras, "Dense": layers without a name are called "dense", "dense_1", ... */
    size_t config_size;
    /* Makes the nodes and gives the result: output[0]. It need not set that. A failure is a failed node (hr_node_fail),
     * whose message begins with the layer's name and kind. */
    hr_node (*call)(hr_layer_call *c, void *config);
    unsigned traits;
    int max_inputs;         /* default 1; with HR_LAYER_MERGES any number */
    int min_rank, max_rank; /* of its first input, with HR_LAYER_MERGES of all, with the batch; 0: any. Another rank is
                             * refused, "models.rank" */
    /* Refuses arguments, when the layer is made; NULL: all are taken. Messages name the argument and its value. */
    hr_status (*check)(const void *config, hr_error *err);
    void (*release)(void *config); /* frees what the arguments own; NULL: nothing */
    /* Layers within it, such as that of a wrapper, by number; NULL: no more. They are the library's to free, and get
     * names as if they stood in the model themselves. A layer that is used already is refused, "models.shared". */
    hr_layer *(*inner)(const void *config, int i);
} hr_layer_kind;

#define HR_LAYER_HEAD                                                                                                  \
    {                                                                                                                  \
        HR_LAYER_ABI, sizeof(hr_layer_kind)                                                                            \
    }

/* A limit that each update of a weight keeps: tf.keras.constraints. Zeroed: none. */
typedef struct hr_constraint hr_constraint;
struct hr_constraint {
    hr_node (*apply)(const hr_constraint *self, hr_node weight); /* the value that it becomes */
    double low, high, rate;
    int axis;
};
HR_API hr_constraint hr_max_norm(double max, int axis); /* w * min(1, max / norm), of norms along an axis */
HR_API hr_constraint hr_non_neg(void);                  /* what is below 0 becomes 0 */
HR_API hr_constraint hr_unit_norm(int axis);
HR_API hr_constraint hr_min_max_norm(double min, double max, double rate, int axis);

/* The options of every layer, at the beginning of its options after struct_size. */
#define HR_LAYER_OPTIONS                                                                                               \
    const char *name;                    /* default: the kind's, with a number if it is taken in its model. Copied */  \
    bool not_trainable;                  /* optimizers leave its weights alone; hr_layer_freeze does so later */       \
    hr_regularizer activity_regularizer; /* the cost of its output, divided by the number of rows */
typedef struct hr_layer_common {
    const char *name;
    bool not_trainable;
    hr_regularizer activity_regularizer;
} hr_layer_common;
#define HR_LAYER_COMMON(opts) (&(hr_layer_common){(opts)->name, (opts)->not_trainable, (opts)->activity_regularizer})

/* Gives a layer of `kind`, which is borrowed for ever, with a copy of `config`, which it then owns (takes what it owns).
 * Never NULL. It keeps the first error: of kind->check, of a descriptor of another version, "models.layer_abi"; it comes
 * out of the model that it is put into. */
HR_API hr_layer *hr_layer_new(const hr_layer_kind *kind, const void *config, const hr_layer_common *common);

/* The layer's scope within its model: what a call that makes weights takes as its .name. */
HR_API const char *hr_layer_scope(const hr_layer_call *c);

/* An argument of a weight. */
typedef struct hr_layer_weight_opts {
    size_t struct_size;
    hr_initializer initializer; /* default: Glorot's uniform */
    hr_regularizer regularizer;
    hr_constraint constraint;
    bool not_trainable; /* such as a moving average */
} hr_layer_weight_opts;
/* A weight "SCOPE/NAME" of the type of the first input, or float: the handle of a variable. */
HR_API hr_node hr_layer_weight_with(hr_layer_call *c, const char *name, hr_shape shape,
                                    const hr_layer_weight_opts *opts);
#define hr_layer_weight(...)                                                                                           \
    HR_CALL3_(hr_layer_weight_with, hr_layer_weight_opts, __VA_ARGS__, .struct_size = sizeof(hr_layer_weight_opts))
/* The weight of that name, which a call such as hr_dense has made, keeps to this limit. */
HR_API void hr_layer_constrain(hr_layer_call *c, const char *name, hr_constraint constraint);
/* A variable "SCOPE/NAME" that is no weight and keeps its value from batch to batch: 0 at first and after
 * hr_reset_states. */
HR_API hr_node hr_layer_state(hr_layer_call *c, const char *name, hr_dtype dtype, hr_shape shape);
/* `op` runs whenever the graph does, such as an assignment to a state. */
HR_API void hr_layer_update(hr_layer_call *c, hr_node op);
/* Adds a scalar to the loss of the model (add_loss). */
HR_API void hr_layer_loss(hr_layer_call *c, hr_node loss);
/* `shape` as a vector, for hr_reshape and its kin; -1 stands for the dimension of x at that place. Ranks must agree. */
HR_API hr_node hr_layer_shape(hr_node x, hr_shape shape);
typedef struct hr_layer_inner_opts {
    size_t struct_size;
    const char *name;     /* its variables are in SCOPE/`name`; default: in SCOPE itself */
    const hr_node *masks; /* of its inputs; default: none */
    hr_layer_direction direction;
    hr_layer_call *made; /* gives all of its outputs and their masks */
} hr_layer_inner_opts;
/* Calls a layer within this one, one that kind->inner gives. Gives its result. */
HR_API hr_node hr_layer_inner_with(hr_layer_call *c, const hr_layer *inner, const hr_node *input, int inputs,
                                   const hr_layer_inner_opts *opts);
#define hr_layer_inner(...)                                                                                            \
    HR_CALL4_(hr_layer_inner_with, hr_layer_inner_opts, __VA_ARGS__, .struct_size = sizeof(hr_layer_inner_opts))
/* Files of weights have Keras's names for a layer's weights: those in SCOPE/`scope` ("": all) are there in `attribute`.
 * Default: they are called as in the layer's scope. A recurrent layer whose weights are in SCOPE/lstm_cell says ("lstm_cell",
 * "cell"), a wrapper that calls a layer by hr_layer_inner says the same of that one's scope: ("forward_r",
 * "forward_layer"), and of one without a scope ("", "layer"). */
HR_API void hr_layer_attribute(hr_layer_call *c, const char *scope, const char *attribute);
/* The kind of a layer, its own arguments and its name ("" where it has none yet), for wrappers. Borrow from it. */
HR_API const hr_layer_kind *hr_layer_kind_of(const hr_layer *layer);
HR_API const void *hr_layer_config(const hr_layer *layer);
HR_API const char *hr_layer_name(const hr_layer *layer);
/* A failed node: the model's error, whose text is "layer 'NAME' (KIND): ...". */
HR_API hr_node hr_layer_fail(hr_layer_call *c, const char *kind, const char *format, ...) HR_PRINTF(3, 4);
/* The same name, which lives for ever, if it is that of an activation; another one as it is: what a constructor keeps in
 * its arguments, and check then refuses by hr_activation_check. NULL: NULL. */
HR_API const char *hr_activation_kept(const char *activation);
HR_API hr_status hr_activation_check(const char *activation, hr_error *err);

#ifdef __cplusplus
}
#endif
#endif
