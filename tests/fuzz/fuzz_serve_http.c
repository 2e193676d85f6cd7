/* Any bytes on a connection to a server: a byte 0xff is the end of a packet. Whatever comes, the server answers the
 * next client. */
#include "tests/fuzz/temporary.h"
#include "tests/serve/client.h"
#include "tests/fuzz/served.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int server_port(void)
{
    static hr_server *server;
    const int any = 0, none = -1;
    const double once = 0;
    char folder[TEMPORARY], version[TEMPORARY + 2];
    hr_error err;
    if (server) return hr_server_rest_port(server);
    temporary_path(folder, "served");
    snprintf(version, sizeof version, "%s/1", folder);
    mkdir(folder, 0777);
    mkdir(version, 0777);
    if (hr_servable_register(&served_kind, &err) != HR_OK ||
        hr_server_start(&server, &err, .model_name = "served", .model_base_path = folder, .model_platform = "served",
                        .rest_api_port = &any, .port = &none, .file_system_poll_wait_seconds = &once, .rest_threads = 1,
                        .session_parallelism = 1, .max_body = 1 << 16) != HR_OK)
        abort();
    rmdir(version);
    rmdir(folder);
    return hr_server_rest_port(server);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const int port = server_port(), fd = client_connect(port);
    char bytes[4096];
    size_t at = 0;
    if (fd < 0) abort();
    while (at < size) {
        const uint8_t *end = memchr(data + at, 0xff, size - at);
        const size_t piece = end ? (size_t)(end - data) - at : size - at;
        if (piece && !client_send(fd, (const char *)data + at, piece)) break;
        at += piece + 1;
    }
    shutdown(fd, SHUT_WR);
    while (recv(fd, bytes, sizeof bytes, 0) > 0) continue;
    close(fd);
    client_answer a = client_ask(port, "GET", "/healthz", NULL, NULL, 0);
    if (a.status != 200) abort();
    client_answer_clear(&a);
    return 0;
}
