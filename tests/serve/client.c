#include "tests/serve/client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

int client_connect(int port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    const struct timeval patience = {.tv_sec = 60};
    const int on = 1;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return -1;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connect(fd, (struct sockaddr *)&to, sizeof to) == 0) return fd;
    close(fd);
    return -1;
}

bool client_send(int fd, const char *bytes, size_t size)
{
    while (size) {
        const ssize_t sent = send(fd, bytes, size, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) return false;
        bytes += sent;
        size -= (size_t)sent;
    }
    return true;
}

/* The value of a header; NULL: there is none. */
static const char *header_of(const char *head, const char *end, const char *name)
{
    const size_t size = strlen(name);
    for (const char *line = strstr(head, "\r\n"); line && line < end; line = strstr(line + 2, "\r\n")) {
        if (strncasecmp(line + 2, name, size) != 0 || line[2 + size] != ':') continue;
        line += 3 + size;
        return line + strspn(line, " ");
    }
    return NULL;
}

static bool read_more(int fd, char **all, size_t *size)
{
    char *bigger = realloc(*all, *size + (64 << 10) + 1);
    if (!bigger) return false;
    *all = bigger;
    ssize_t got = -1;
    do got = recv(fd, *all + *size, 64 << 10, 0); /* with a time-out a signal, as a fuzzer's alarm, ends it */
    while (got < 0 && errno == EINTR);
    if (got <= 0) return false;
    *size += (size_t)got;
    (*all)[*size] = 0;
    return true;
}

client_answer client_receive(int fd, char **more, size_t *more_size, bool head)
{
    client_answer a = {.status = -1};
    char *all = more ? *more : NULL;
    size_t size = more ? *more_size : 0, body = 0;
    if (more) *more = NULL, *more_size = 0;
    char *end = all ? strstr(all, "\r\n\r\n") : NULL;
    while (!end && read_more(fd, &all, &size)) end = strstr(all, "\r\n\r\n");
    if (!end) {
        free(all);
        return a;
    }
    const char *length = header_of(all, end, "Content-Length"), *type = header_of(all, end, "Content-Type");
    const char *connection = header_of(all, end, "Connection");
    if (length && !head) body = (size_t)atoll(length);
    a.status = atoi(all + 9);
    a.has_type = type != NULL;
    if (type) snprintf(a.type, sizeof a.type, "%.*s", (int)strcspn(type, "\r"), type);
    a.closes = connection && strncasecmp(connection, "close", 5) == 0;
    const size_t begin = (size_t)(end + 4 - all);
    while (size < begin + body && read_more(fd, &all, &size)) continue;
    a.size = size < begin + body ? size - begin : body;
    a.body = calloc(1, a.size + 1);
    if (a.body) memcpy(a.body, all + begin, a.size);
    if (more && size > begin + body) {
        *more_size = size - begin - body;
        *more = calloc(1, *more_size + 1);
        if (*more) memcpy(*more, all + begin + body, *more_size);
    }
    free(all);
    return a;
}

void client_answer_clear(client_answer *a)
{
    free(a->body);
    *a = (client_answer){.status = -1};
}

client_answer client_ask(int port, const char *method, const char *target, const char *headers, const char *body,
                         size_t size)
{
    client_answer a = {.status = -1};
    char head[8192];
    const int fd = client_connect(port);
    if (fd < 0) return a;
    const bool sized = size || strcmp(method, "POST") == 0;
    int length =
        snprintf(head, sizeof head, "%s %s HTTP/1.1\r\nHost: test\r\n%s", method, target, headers ? headers : "");
    if (sized) length += snprintf(head + length, sizeof head - (size_t)length, "Content-Length: %zu\r\n", size);
    length += snprintf(head + length, sizeof head - (size_t)length, "\r\n");
    if (client_send(fd, head, (size_t)length) && client_send(fd, body ? body : "", size))
        a = client_receive(fd, NULL, NULL, strcmp(method, "HEAD") == 0);
    close(fd);
    return a;
}
