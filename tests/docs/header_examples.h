/* What the examples in public headers take for granted. */
#include <headrace/conformance.h>
#include <headrace/graph_op_conformance.h>
#include <headrace/headrace.h>
#include <headrace/op_functions.h>
#if __has_include(<headrace/serve.h>)
#include <headrace/servable.h>
#include <headrace/serve.h>
extern const hr_servable_kind table_kind;
extern hr_server *server;
#endif
#include <stdio.h>

extern hr_dataset *ds, *rows, *test;
extern hr_iterator *it;
extern const hr_element *element;
extern hr_error err;
extern hr_status st;
extern hr_graph *g;
extern hr_session *s;
extern hr_node loss, train, images, lines;
extern bool training;
extern hr_tensor batch, result;
extern hr_feed feeds[8];
extern int n, count;
extern hr_column_list wide, deep, columns;
extern hr_schema file; /* the fields of records */

extern const hr_op my_op;
extern const hr_graph_op zero_out_ops[];
hr_dataset *every_nth(hr_dataset *in, int64_t n);
hr_dataset *my(hr_dataset *in, hr_map_fn *fn, void *user, void (*user_free)(void *));

void use(const void *data);
hr_dataset *train_input(void *user);
hr_dataset *eval_input(void *user);
bool show(const hr_training_progress *now, void *user);
