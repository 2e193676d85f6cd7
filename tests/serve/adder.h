/* A kind of model for tests of the server: y = x + what the file `plus` of the version's folder says.
 * Its signature "half" gives numbers of float16 back as they are. */
#ifndef ADDER_H
#define ADDER_H

#include <headrace/serve.h>

/* Values of x that do more: below 0, the run fails; ADDER_SLOW, it takes 300 ms. */
enum { ADDER_SLOW = 1000 };

extern _Atomic int adder_runs, adder_most_rows, adder_loaded; /* loaded: and not unloaded */
extern _Atomic int adder_rests;                               /* how often one was let rest */
extern _Atomic int adder_load_ms;                             /* how long a load takes */

void adder_register(void);
/* Makes a version: BASE/NUMBER, complete at once. */
void adder_version(const char *base, int number, float plus);
/* Starts a server of the model "adder" in the folder "adder" (absolute), with a REST port of its own. */
hr_server *adder_server(const hr_server_opts *more);
#define ADDER_SERVER(...) adder_server(&(hr_server_opts){__VA_ARGS__, .struct_size = sizeof(hr_server_opts)})

#endif
