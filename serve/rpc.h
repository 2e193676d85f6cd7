/* The methods of TensorFlow Serving's gRPC services, without gRPC: bytes in, bytes or a fault out. Not a public
 * header. */
#ifndef HR_SERVE_RPC_H
#define HR_SERVE_RPC_H

#include "serve/internal.h"

typedef struct hr__rpc hr__rpc;

typedef struct hr__method {
    const char *path;
    bool slow; /* it may wait for models: in a thread of its own */
    /* Sets the fault, or writes the answer, or makes calls. */
    hr_status (*begin)(hr__rpc *rpc, hr_view request);
} hr__method;

const hr__method *hr__method_named(const char *path, size_t size); /* NULL: there is none */

/* Begin with {.server, .method, .done, .owner}; hr__rpc_clear. */
struct hr__rpc {
    hr_server *server; /* NULL: a record of warm-up */
    const hr__method *method;
    hr__version *warmed; /* that is warmed up; NULL: the request says which one */
    void *request;       /* the message, which the calls' inputs borrow from */
    hr__call *calls;
    int call_count;
    _Atomic int left;
    _Atomic bool cancelled; /* by the client: tasks that did not begin are passed over */
    double timeout;         /* seconds; 0: none */
    hr__fault fault;
    hr__text answer;
    uint64_t begun;
    void (*done)(hr__rpc *rpc); /* all calls ran; in the thread of the last one */
    void *owner;
};

/* Reads a request. True: `done` is called, perhaps before this returns, and hr__pool_help should be. False: the answer
 * or the fault is there already. */
bool hr__rpc_begin(hr__rpc *rpc, hr_view request);
/* Makes the answer of calls that ran, and counts and logs them. */
void hr__rpc_end(hr__rpc *rpc);
/* Both for warm-up: runs the calls in this thread. */
hr_status hr__rpc_run(hr__rpc *rpc, hr_view request);
void hr__rpc_clear(hr__rpc *rpc);

#endif
