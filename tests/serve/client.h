/* A client of HTTP on plain sockets, for tests of the server. */
#ifndef CLIENT_H
#define CLIENT_H

#include <headrace/base.h>

typedef struct client_answer {
    int status; /* -1: there was none */
    char type[128];
    bool has_type, closes;
    char *body; /* free */
    size_t size;
} client_answer;

int client_connect(int port); /* -1: refused */
bool client_send(int fd, const char *bytes, size_t size);
/* Reads one answer; `head`: it has no body. Bytes after it are kept for the next one of this connection in *more (free;
 * may be NULL: there is nothing more). */
client_answer client_receive(int fd, char **more, size_t *more_size, bool head);
void client_answer_clear(client_answer *a);

/* One request on a connection of its own. `headers`: whole lines, or NULL. */
client_answer client_ask(int port, const char *method, const char *target, const char *headers, const char *body,
                         size_t size);

#ifdef HR_TEST_GRPC
/* One unary call by gRPC. Gives the status; *answer (free) if it is 0, else *text (free). */
int client_rpc(int port, const char *path, const char *request, size_t size, char **answer, size_t *answer_size,
               char **text);
void client_rpc_end(void); /* after the last one */
#endif

#endif
