/* TensorFlow Serving's protocol: each case over a real socket, to a server in either mode. */
#include "tests/golden/golden.h"
#include "tests/serve/client.h"
#include <headrace/graphdef.h>
#include <headrace/serve.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static hr_server *servers[2]; /* default, tf_compat */
static char *config_path;

/* ---- the servers ---- */

/* models.config with the folder in the place of @DIR@. */
static bool write_config(const golden_case *c)
{
    char folder[2048];
    hr_view text = golden_file(c, "models.config");
    if (text.size < 0 || !realpath(c->folder, folder)) return false;
    FILE *f = fopen("models.config", "w");
    const char *at = text.data, *next;
    for (; f && (next = strstr(at, "@DIR@")); at = next + 5) fprintf(f, "%.*s%s", (int)(next - at), at, folder);
    if (f) fputs(at, f);
    free((char *)(uintptr_t)text.data);
    return f && fclose(f) == 0;
}

static hr_server *server_of(golden_case *c, bool compat)
{
    hr_error err;
    const int any = 0;
    if (servers[compat]) return servers[compat];
    if (!config_path && !write_config(c)) return NULL;
    config_path = "models.config";
    if (hr_server_start(&servers[compat], &err, .model_config_file = config_path, .rest_api_port = &any, .port = &any,
                        .allow_version_labels_for_unavailable_models = true, .tf_compat = compat) != HR_OK)
        golden_differs(c, "the server does not start: %s", err.text);
    return servers[compat];
}

/* ---- REST ---- */

static bool same_number(double a, double b)
{
    if (isnan(a) || isnan(b)) return isnan(a) && isnan(b);
    return a == b || fabs(a - b) <= 1e-6 * fmax(fabs(a), fabs(b));
}

/* The answer's JSON is compared as text with the value that is expected, since cJSON reads neither NaN nor bytes that
 * are no UTF-8, and rounds large integers. Gives where it ends; NULL: it is another one. */
static const char *skip_white(const char *p) { return p + strspn(p, " \n\r\t"); }

static const char *compare_json(const cJSON *expected, const char *p, const char *end);

static const char *compare_string(const char *bytes, size_t size, const char *p, const char *end)
{
    size_t at = 0;
    if (*p++ != '"') return NULL;
    while (p < end && *p != '"') {
        char got[4];
        int count = 1;
        got[0] = *p++;
        if (got[0] == '\\') {
            static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
            const char *found = strchr(from, *p);
            if (*p == 'u') { /* the answers escape control characters alone */
                got[0] = (char)strtol((char[]){p[1], p[2], p[3], p[4], 0}, NULL, 16);
                p += 5;
            } else if (found) {
                got[0] = into[found - from];
                p++;
            }
        }
        if (got[0] == 0 && at == size) return strchr(p, '"') + 1; /* cJSON ends an expected string at a NUL */
        if (at + (size_t)count > size || memcmp(bytes + at, got, (size_t)count) != 0) return NULL;
        at += (size_t)count;
    }
    return at == size && p < end ? p + 1 : NULL;
}

static const char *compare_array(const cJSON *expected, const char *p, const char *end)
{
    const cJSON *item;
    bool first = true;
    if (*p++ != '[') return NULL;
    cJSON_ArrayForEach(item, expected)
    {
        p = skip_white(p);
        if (!first && *p++ != ',') return NULL;
        first = false;
        p = compare_json(item, skip_white(p), end);
        if (!p) return NULL;
    }
    p = skip_white(p);
    return *p == ']' ? p + 1 : NULL;
}

/* The name at p, without escapes. */
static const cJSON *member_at(const cJSON *object, const char *p, const char **after)
{
    char name[256];
    const char *close = *p == '"' ? strchr(p + 1, '"') : NULL;
    if (!close || close - p - 1 >= (long)sizeof name) return NULL;
    snprintf(name, sizeof name, "%.*s", (int)(close - p - 1), p + 1);
    *after = close + 1;
    return cJSON_GetObjectItemCaseSensitive(object, name);
}

static const char *compare_object(const cJSON *expected, const char *p, const char *end)
{
    int left = cJSON_GetArraySize(expected);
    if (*p++ != '{') return NULL;
    for (p = skip_white(p); *p != '}'; p = skip_white(p)) {
        const cJSON *member = member_at(expected, p, &p);
        if (!member || left-- == 0) return NULL;
        p = skip_white(p);
        if (*p++ != ':') return NULL;
        p = compare_json(member, skip_white(p), end);
        if (!p) return NULL;
        p = skip_white(p);
        if (*p == ',') p = skip_white(p + 1);
    }
    return left == 0 ? p + 1 : NULL;
}

static const char *compare_word(const char *word, const char *p)
{
    return strncmp(p, word, strlen(word)) == 0 ? p + strlen(word) : NULL;
}

static const char *compare_special(const cJSON *special, const char *p, const char *end)
{
    const char *text = special->valuestring;
    if (strcmp(special->string, "$int") == 0) return compare_word(text, p);
    if (strcmp(special->string, "$hex") == 0) {
        const hr_view bytes = golden_hex(special);
        const char *after = compare_string(bytes.data, (size_t)bytes.size, p, end);
        free((char *)(uintptr_t)bytes.data);
        return after;
    }
    return compare_word(strcmp(text, "nan") == 0 ? "NaN" : strcmp(text, "inf") == 0 ? "Infinity" : "-Infinity", p);
}

static const char *compare_json(const cJSON *expected, const char *p, const char *end)
{
    char *after;
    if (cJSON_IsObject(expected)) {
        const cJSON *only = cJSON_GetArraySize(expected) == 1 ? expected->child : NULL;
        return only && only->string[0] == '$' ? compare_special(only, p, end) : compare_object(expected, p, end);
    }
    if (cJSON_IsArray(expected)) return compare_array(expected, p, end);
    if (cJSON_IsString(expected)) return compare_string(expected->valuestring, strlen(expected->valuestring), p, end);
    if (cJSON_IsBool(expected)) return compare_word(cJSON_IsTrue(expected) ? "true" : "false", p);
    if (cJSON_IsNull(expected)) return compare_word("null", p);
    const double got = strtod(p, &after);
    return after > p && same_number(got, expected->valuedouble) ? after : NULL;
}

static golden_result check_error(golden_case *c, const cJSON *e, const client_answer *a)
{
    const char *text = golden_text(e, "error", ""), *how = golden_text(e, "error_text", "any");
    golden_text(e, "code", "");
    cJSON *answer = cJSON_Parse(a->body);
    const cJSON *error = cJSON_GetObjectItemCaseSensitive(answer, "error");
    const char *got = cJSON_IsString(error) ? error->valuestring : NULL;
    golden_result result = GOLDEN_AGREES;
    if (!got)
        result = golden_differs(c, "expected an error, got %.300s", a->body);
    else if (strcmp(how, "exact") == 0 && strcmp(got, text) != 0)
        result = golden_differs(c, "expected \"%.200s\", got \"%.200s\"", text, got);
    else if (strcmp(how, "prefix") == 0 && strncmp(got, text, strlen(text)) != 0)
        result = golden_differs(c, "expected \"%.200s\"..., got \"%.200s\"", text, got);
    cJSON_Delete(answer);
    return result;
}

static golden_result check_rest(golden_case *c, const cJSON *e, const client_answer *a)
{
    const char *type = golden_text(e, "content_type", NULL), *body = golden_text(e, "body", NULL);
    const char *connection = golden_text(e, "connection", "");
    const int64_t status = golden_int(e, "status", 200);
    const cJSON *json = golden_whole(golden_get(e, "json"));
    /* Digits and blanks are TensorFlow Serving's where numbers are the same; the value counts. */
    golden_whole(golden_get(e, "layout"));
    golden_whole(golden_get(e, "layout_hex"));
    if (a->status != status)
        return golden_differs(c, "expected status %lld, got %d: %.400s", (long long)status, a->status,
                              a->body ? a->body : "");
    if (type && strcmp(type, a->type) != 0) return golden_differs(c, "expected type %s, got %s", type, a->type);
    if (strcmp(connection, "close") == 0 && !a->closes) return golden_differs(c, "expected Connection: close");
    if (body && (strlen(body) != a->size || memcmp(body, a->body, a->size) != 0))
        return golden_differs(c, "expected the body \"%s\", got \"%.300s\"", body, a->body);
    if (golden_get(e, "error")) return check_error(c, e, a);
    if (!json) return GOLDEN_AGREES;
    const char *end = compare_json(json, skip_white(a->body), a->body + a->size);
    if (!end || *skip_white(end)) return golden_differs(c, "expected another JSON than %.600s", a->body);
    return GOLDEN_AGREES;
}

static client_answer ask(const golden_case *c, int port)
{
    char headers[2048] = "";
    const cJSON *header;
    cJSON_ArrayForEach(header, golden_fields(golden_get(c->json, "headers")))
    {
        const size_t at = strlen(headers);
        snprintf(headers + at, sizeof headers - at, "%s: %s\r\n", header->string, header->valuestring);
    }
    const char *text = golden_text(c->json, "body", NULL);
    const cJSON *hex = golden_get(c->json, "body_hex");
    hr_view body = {text, text ? (int64_t)strlen(text) : 0};
    if (hex) body = golden_hex(hex);
    const client_answer a = client_ask(port, golden_text(c->json, "method", "GET"), golden_text(c->json, "target", "/"),
                                       headers, body.data, (size_t)body.size);
    if (hex) free((char *)(uintptr_t)body.data);
    return a;
}

/* What the mode must answer: an `expect`, or an `error` with its status. */
static golden_result check_mode(golden_case *c, const cJSON *e, const client_answer *a)
{
    const cJSON *error = golden_get(e, "error");
    if (!cJSON_IsObject(error)) return check_rest(c, e, a);
    golden_text(error, "class", "");
    const int64_t status = golden_int(error, "status", 400);
    return a->status == status ? GOLDEN_AGREES
                               : golden_differs(c, "expected status %lld, got %d: %.300s", (long long)status, a->status,
                                                a->body ? a->body : "");
}

static golden_result run_rest(golden_case *c, bool compat)
{
    hr_server *server = server_of(c, compat);
    if (!server) return GOLDEN_DIFFERS;
    const cJSON *expect = golden_get(c->json, "expect"), *other = golden_get(c->json, "default");
    const cJSON *both = golden_get(c->json, "headrace_expect");
    if (both) expect = both;
    if (other && !compat) expect = golden_get(other, "error") ? other : golden_get(other, "expect");
    client_answer a = ask(c, hr_server_rest_port(server));
    const golden_result result = check_mode(c, expect, &a);
    client_answer_clear(&a);
    return result;
}

/* ---- gRPC: messages are compared field by field, those of maps in any order ---- */

typedef struct wire_field {
    uint64_t number, value;
    int type;
    hr_view bytes;
    bool used;
} wire_field;

enum { MOST_FIELDS = 512 };

static bool take_varint(hr_view *from, uint64_t *value)
{
    *value = 0;
    for (int shift = 0; from->size > 0 && shift < 64; shift += 7) {
        const unsigned char byte = (unsigned char)*from->data++;
        from->size--;
        *value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) return true;
    }
    return false;
}

static bool take_fixed(hr_view *from, size_t size, uint64_t *value)
{
    if (from->size < (int64_t)size) return false;
    *value = 0;
    memcpy(value, from->data, size);
    from->data += size;
    from->size -= (int64_t)size;
    return true;
}

/* False: it is no message. */
static bool read_fields(hr_view from, wire_field *fields, int *count)
{
    for (*count = 0; from.size > 0; ++*count) {
        uint64_t tag, size;
        if (*count == MOST_FIELDS || !take_varint(&from, &tag) || tag >> 3 == 0) return false;
        wire_field *f = &fields[*count];
        *f = (wire_field){.number = tag >> 3, .type = (int)(tag & 7)};
        if (f->type == 0 && !take_varint(&from, &f->value)) return false;
        if (f->type == 1 && !take_fixed(&from, 8, &f->value)) return false;
        if (f->type == 5 && !take_fixed(&from, 4, &f->value)) return false;
        if (f->type == 3 || f->type == 4 || f->type > 5) return false;
        if (f->type != 2) continue;
        if (!take_varint(&from, &size) || size > (uint64_t)from.size) return false;
        f->bytes = (hr_view){from.data, (int64_t)size};
        from.data += size;
        from.size -= (int64_t)size;
    }
    return true;
}

static bool same_message(hr_view a, hr_view b, bool any_order, int depth);

static bool same_tensor(hr_view a, hr_view b)
{
    hr_tensor x, y;
    golden_case unused = {.name = ""};
    if (hr_tensor_import(a, &x, NULL) != HR_OK) return false;
    const bool read = x.dtype != HR_INVALID_DTYPE && hr_tensor_import(b, &y, NULL) == HR_OK;
    const bool same = read && golden_equal(&unused, "", &x, &y, 1e-6, 0);
    hr_tensor_clear(&x);
    if (read) hr_tensor_clear(&y);
    return same;
}

static bool same_field(const wire_field *a, const wire_field *b, bool any_order, int depth)
{
    if (a->number != b->number || a->type != b->type) return false;
    if (a->type == 5) {
        float x, y;
        memcpy(&x, &a->value, sizeof x);
        memcpy(&y, &b->value, sizeof y);
        return same_number((double)x, (double)y);
    }
    if (a->type != 2) return a->value == b->value;
    if (a->bytes.size == b->bytes.size && memcmp(a->bytes.data, b->bytes.data, (size_t)a->bytes.size) == 0) return true;
    return same_tensor(a->bytes, b->bytes) || same_message(a->bytes, b->bytes, any_order, depth + 1);
}

static bool same_message(hr_view a, hr_view b, bool any_order, int depth)
{
    wire_field *x = malloc(2 * MOST_FIELDS * sizeof *x), *y = x + MOST_FIELDS;
    int xs, ys;
    bool same = x && depth < 16 && read_fields(a, x, &xs) && read_fields(b, y, &ys) && xs == ys;
    for (int i = 0; same && i < xs; i++) {
        int k = any_order ? 0 : i;
        for (; any_order && k < ys; k++)
            if (!y[k].used && same_field(&x[i], &y[k], any_order, depth)) break;
        same = k < ys && same_field(&x[i], &y[k], any_order, depth);
        if (same) y[k].used = true;
    }
    free(x);
    return same;
}

static const char *const codes[] = {
    "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
    "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
    "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
    "DATA_LOSS"};

static golden_result check_rpc(golden_case *c, const cJSON *e, int code, hr_view answer, const char *text)
{
    const char *wanted = golden_text(e, "code", "OK"), *message = golden_text(e, "message", "");
    const char *how = golden_text(e, "text", "any"), *path = golden_text(c->json, "method", "");
    const cJSON *hex = golden_get(e, "response_hex");
    const bool maps = strstr(path, "Predict") || strstr(path, "Metadata");
    if (code < 0 || code > 15 || strcmp(codes[code], wanted) != 0)
        return golden_differs(c, "expected %s, got %d: %.300s", wanted, code, text);
    if (strcmp(how, "exact") == 0 && strcmp(message, text) != 0)
        return golden_differs(c, "expected \"%.300s\", got \"%.300s\"", message, text);
    if (strcmp(how, "prefix") == 0 && strncmp(message, text, strlen(message)) != 0)
        return golden_differs(c, "expected \"%.300s\"..., got \"%.300s\"", message, text);
    if (!hex) return GOLDEN_AGREES;
    const hr_view bytes = golden_hex(hex);
    const bool same = bytes.size >= 0 && same_message(bytes, answer, maps, 0);
    free((char *)(uintptr_t)bytes.data);
    return same ? GOLDEN_AGREES : golden_differs(c, "expected another message of %lld bytes", (long long)answer.size);
}

#ifndef HR_TEST_GRPC
static golden_result run_rpc(golden_case *c, bool compat)
{
    (void)compat;
    (void)check_rpc;
    return golden_not_built(c, "gRPC");
}
static void client_rpc_end(void) {}
#else
static golden_result run_rpc(golden_case *c, bool compat)
{
    hr_server *server = server_of(c, compat);
    if (!server) return GOLDEN_DIFFERS;
    char *answer, *text;
    size_t size;
    const hr_view request = golden_hex(golden_get(c->json, "request_hex"));
    const int code = client_rpc(hr_server_grpc_port(server), golden_text(c->json, "method", ""), request.data,
                                (size_t)request.size, &answer, &size, &text);
    const golden_result result = check_rpc(c, golden_get(c->json, "expect"), code,
                                           (hr_view){answer ? answer : "", (int64_t)size}, text ? text : "");
    free((char *)(uintptr_t)request.data);
    free(answer);
    free(text);
    return result;
}
#endif

static void end_servers(void)
{
    client_rpc_end();
    hr_server_stop(servers[0], 5);
    hr_server_stop(servers[1], 5);
}

static golden_result run_case(golden_case *c)
{
    const char *protocol = golden_text(c->json, "protocol", "rest");
    golden_text(c->json, "what", "");
    golden_whole(golden_get(c->json, "marks"));
    golden_whole(golden_get(c->json, "default"));
    golden_whole(golden_get(c->json, "expect"));
    golden_result (*run)(golden_case *, bool) = strcmp(protocol, "grpc") == 0 ? run_rpc : run_rest;
    c->mode = "tf_compat";
    const golden_result result = run(c, true);
    if (result != GOLDEN_AGREES) return result;
    c->mode = "default";
    return run(c, false);
}

int main(void)
{
    atexit(end_servers);
    return golden_main("serving", GOLDEN_ROOT, run_case);
}
