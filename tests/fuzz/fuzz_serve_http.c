/* Any bytes on a connection to a server: a byte 0xff is the end of a packet. Whatever comes, the server answers the
 * next client. */
#include "tests/fuzz/temporary.h"
#include "tests/serve/client.h"
#include "tests/fuzz/served.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char socket_path[TEMPORARY];

static void remove_socket(void) { unlink(socket_path); }

/* On a Unix socket, since ports would run out. */
static void begin_server(void)
{
    static hr_server *server;
    const int none = -1;
    const double once = 0;
    char folder[TEMPORARY], version[TEMPORARY + 2];
    hr_error err;
    if (server) return;
    temporary_path(folder, "served");
    temporary_path(socket_path, "socket");
    snprintf(version, sizeof version, "%s/1", folder);
    mkdir(folder, 0777);
    mkdir(version, 0777);
    if (hr_servable_register(&served_kind, &err) != HR_OK ||
        hr_server_start(&server, &err, .model_name = "served", .model_base_path = folder, .model_platform = "served",
                        .rest_api_port = &none, .port = &none, .rest_socket = socket_path,
                        .file_system_poll_wait_seconds = &once, .rest_threads = 1, .session_parallelism = 1,
                        .max_body = 1 << 16) != HR_OK)
        abort();
    rmdir(version);
    rmdir(folder);
    atexit(remove_socket);
}

static int connect_socket(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const struct timeval patience = {.tv_sec = 30};
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(address.sun_path, sizeof address.sun_path, "%.100s", socket_path);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) != 0) abort();
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    return fd;
}

static void expect_health(void)
{
    static const char request[] = "GET /healthz HTTP/1.1\r\n\r\n";
    const int fd = connect_socket();
    client_send(fd, request, sizeof request - 1);
    client_answer a = client_receive(fd, NULL, NULL, false);
    if (a.status != 200) abort();
    client_answer_clear(&a);
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char bytes[4096];
    size_t at = 0;
    begin_server();
    const int fd = connect_socket();
    while (at < size) {
        const uint8_t *end = memchr(data + at, 0xff, size - at);
        const size_t piece = end ? (size_t)(end - data) - at : size - at;
        if (piece && !client_send(fd, (const char *)data + at, piece)) break;
        at += piece + 1;
    }
    shutdown(fd, SHUT_WR);
    while (recv(fd, bytes, sizeof bytes, 0) > 0) continue;
    close(fd);
    expect_health();
    return 0;
}
