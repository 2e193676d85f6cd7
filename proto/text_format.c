/* Protobuf's text format (pbtxt), both ways, for any message by its descriptor. Reading: fields in any order and
 * spelling that protobuf takes, `field { }` and `field < >`, `[a, b]`, comments, strings in pieces. An Any may be
 * written out, if it is an AssetFileDef. Fields called experimental_... that a message lacks are passed over. */
#include "base/number.h"
#include "proto/message.h"
#include "proto/meta_graph.pb-c.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef ProtobufCFieldDescriptor proto_field;

/* ---- reading: words ---- */

typedef struct text_reader {
    const char *begin, *at, *end;
    ProtobufCAllocator memory;
    hr_error *err;
} text_reader;

static hr_status wrong_text(const text_reader *r, const char *expected)
{
    int line = 1;
    const char *start = r->begin;
    for (const char *p = r->begin; p < r->at; p++)
        if (*p == '\n') line++, start = p + 1;
    return hr_fail(r->err, HR_INVALID_ARGUMENT, "proto.text", "line %d, column %d: expected %s, got \"%.*s\"", line,
                   (int)(r->at - start) + 1, expected, (int)(r->end - r->at < 20 ? r->end - r->at : 20), r->at);
}

static void skip_blanks(text_reader *r)
{
    while (r->at < r->end && (isspace((unsigned char)*r->at) || *r->at == '#')) {
        if (*r->at == '#')
            while (r->at < r->end && *r->at != '\n') r->at++;
        else
            r->at++;
    }
}

static bool text_take(text_reader *r, char byte)
{
    skip_blanks(r);
    if (r->at == r->end || *r->at != byte) return false;
    r->at++;
    return true;
}

/* Letters, digits and what numbers have. */
static hr_view text_word(text_reader *r)
{
    skip_blanks(r);
    const char *begin = r->at;
    while (r->at < r->end && (isalnum((unsigned char)*r->at) || strchr("_.+-", *r->at)) && *r->at) r->at++;
    return (hr_view){begin, r->at - begin};
}

static bool word_is(hr_view word, const char *text)
{
    return (size_t)word.size == strlen(text) && memcmp(word.data, text, strlen(text)) == 0;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    return isxdigit((unsigned char)c) ? tolower((unsigned char)c) - 'a' + 10 : -1;
}

/* After a backslash: \n, \101, \x41 and the rest. */
static char escaped(text_reader *r)
{
    const char c = *r->at++;
    int value = 0, digits = 0;
    switch (c) {
    case 'n':
        return '\n';
    case 't':
        return '\t';
    case 'r':
        return '\r';
    case 'a':
        return '\a';
    case 'b':
        return '\b';
    case 'f':
        return '\f';
    case 'v':
        return '\v';
    case 'x':
    case 'X':
        for (; digits < 2 && r->at < r->end && hex_digit(*r->at) >= 0; digits++)
            value = value * 16 + hex_digit(*r->at++);
        return (char)value;
    default:
        break;
    }
    if (c < '0' || c > '7') return c;
    value = c - '0';
    for (; digits < 2 && r->at < r->end && *r->at >= '0' && *r->at <= '7'; digits++) value = value * 8 + *r->at++ - '0';
    return (char)value;
}

static bool at_quote(text_reader *r)
{
    skip_blanks(r);
    return r->at < r->end && (*r->at == '"' || *r->at == '\'');
}

/* Bytes of all pieces, escapes as they stand. */
static size_t string_bound(text_reader r)
{
    size_t size = 0;
    while (at_quote(&r)) {
        const char quote = *r.at++;
        for (; r.at < r.end && *r.at != quote && *r.at != '\n'; r.at++, size++)
            if (*r.at == '\\' && r.at + 1 < r.end) r.at++;
        if (r.at < r.end) r.at++;
    }
    return size;
}

/* "piece" 'piece' ...: their bytes, and a 0 after them. */
static hr_status text_string(text_reader *r, uint8_t **bytes, size_t *size)
{
    if (!at_quote(r)) return wrong_text(r, "a string in quotes");
    uint8_t *to = *bytes = r->memory.alloc(r->memory.allocator_data, string_bound(*r) + 1);
    if (!to) return hr__message_exhausted(r->memory.allocator_data, r->err);
    while (at_quote(r)) {
        const char quote = *r->at++;
        while (r->at < r->end && *r->at != quote && *r->at != '\n') {
            const char byte = *r->at++;
            *to++ = (uint8_t)(byte == '\\' && r->at < r->end ? escaped(r) : byte);
        }
        if (r->at == r->end || *r->at++ != quote) {
            r->memory.free(r->memory.allocator_data, *bytes);
            return wrong_text(r, "the end of a string");
        }
    }
    *to = 0;
    *size = (size_t)(to - *bytes);
    return HR_OK;
}

/* ---- reading: values ---- */

static hr_status text_integer(text_reader *r, uint64_t *bits)
{
    char digits[32] = "", *end;
    const char *begin = r->at;
    const hr_view word = text_word(r);
    if (word.size > 0 && word.size < (int64_t)sizeof digits) {
        memcpy(digits, word.data, (size_t)word.size);
        *bits = *digits == '-' ? (uint64_t)strtoll(digits, &end, 0) : strtoull(digits, &end, 0);
        if (*end == 0) return HR_OK;
    }
    r->at = begin;
    return wrong_text(r, "a whole number");
}

/* As TensorFlow's readers, a number may end in f. */
static hr_status text_real(text_reader *r, double *value, float *single)
{
    const char *begin = r->at;
    hr_view word = text_word(r);
    size_t size = (size_t)word.size;
    for (int i = 0; i < 2; i++) {
        const hr__parsed parsed = single ? hr__parse_float(word.data, size, HR__NUMBER_DEFAULT, single)
                                         : hr__parse_double(word.data, size, HR__NUMBER_DEFAULT, value);
        if (parsed == HR__PARSED) return HR_OK;
        if (size < 2 || (word.data[size - 1] | 0x20) != 'f') break;
        size--;
    }
    r->at = begin;
    return wrong_text(r, "a number");
}

static hr_status text_enum(text_reader *r, const ProtobufCEnumDescriptor *type, int32_t *value)
{
    uint64_t bits;
    const char *begin = r->at;
    skip_blanks(r);
    if (r->at < r->end && (isdigit((unsigned char)*r->at) || *r->at == '-')) {
        HR_TRY(text_integer(r, &bits));
        *value = (int32_t)bits;
        return HR_OK;
    }
    const hr_view word = text_word(r);
    for (unsigned i = 0; i < type->n_values; i++) {
        if (!word_is(word, type->values[i].name)) continue;
        *value = type->values[i].value;
        return HR_OK;
    }
    r->at = begin;
    return wrong_text(r, type->short_name);
}

static hr_status text_bool(text_reader *r, protobuf_c_boolean *value)
{
    const char *begin = r->at;
    const hr_view word = text_word(r);
    *value = word_is(word, "true") || word_is(word, "True") || word_is(word, "t") || word_is(word, "1");
    if (*value || word_is(word, "false") || word_is(word, "False") || word_is(word, "f") || word_is(word, "0"))
        return HR_OK;
    r->at = begin;
    return wrong_text(r, "true or false");
}

static hr_status text_message(text_reader *r, const ProtobufCMessageDescriptor *type, char close, int depth,
                              ProtobufCMessage **out);

static size_t value_size(const proto_field *field)
{
    switch (field->type) {
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_DOUBLE:
        return 8;
    case PROTOBUF_C_TYPE_BOOL:
        return sizeof(protobuf_c_boolean);
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_MESSAGE:
        return sizeof(void *);
    case PROTOBUF_C_TYPE_BYTES:
        return sizeof(ProtobufCBinaryData);
    default:
        return 4;
    }
}

static hr_status text_submessage(text_reader *r, const proto_field *field, int depth, void *at)
{
    const char close = text_take(r, '{') ? '}' : text_take(r, '<') ? '>' : 0;
    if (!close) return wrong_text(r, "'{'");
    return text_message(r, field->descriptor, close, depth + 1, at);
}

static hr_status text_value(text_reader *r, const proto_field *field, int depth, void *at)
{
    uint64_t bits;
    uint8_t *bytes;
    size_t size;
    switch (field->type) {
    case PROTOBUF_C_TYPE_MESSAGE:
        return text_submessage(r, field, depth, at);
    case PROTOBUF_C_TYPE_STRING:
        HR_TRY(text_string(r, &bytes, &size));
        *(char **)at = (char *)bytes;
        return HR_OK;
    case PROTOBUF_C_TYPE_BYTES:
        HR_TRY(text_string(r, &bytes, &size));
        *(ProtobufCBinaryData *)at = (ProtobufCBinaryData){size, bytes};
        return HR_OK;
    case PROTOBUF_C_TYPE_BOOL:
        return text_bool(r, at);
    case PROTOBUF_C_TYPE_ENUM:
        return text_enum(r, field->descriptor, at);
    case PROTOBUF_C_TYPE_FLOAT:
        return text_real(r, NULL, at);
    case PROTOBUF_C_TYPE_DOUBLE:
        return text_real(r, at, NULL);
    default:
        HR_TRY(text_integer(r, &bits));
        memcpy(at, &bits, value_size(field));
        return HR_OK;
    }
}

/* ---- reading: fields ---- */

/* Lists double: at a power of two there is no place left. */
static hr_status list_append(text_reader *r, const proto_field *field, ProtobufCMessage *message, void **at)
{
    size_t *count = (size_t *)((char *)message + field->quantifier_offset);
    void **list = (void **)((char *)message + field->offset);
    const size_t size = value_size(field);
    if ((*count & (*count - 1)) == 0) {
        void *grown = r->memory.alloc(r->memory.allocator_data, (*count ? *count * 2 : 1) * size);
        if (!grown) return hr__message_exhausted(r->memory.allocator_data, r->err);
        if (*count) memcpy(grown, *list, *count * size);
        if (*count) r->memory.free(r->memory.allocator_data, *list);
        *list = grown;
    }
    *at = (char *)*list + *count * size;
    memset(*at, 0, size);
    return HR_OK;
}

static hr_status text_element(text_reader *r, const proto_field *field, int depth, ProtobufCMessage *message)
{
    void *at;
    HR_TRY(list_append(r, field, message, &at));
    HR_TRY(text_value(r, field, depth, at));
    ++*(size_t *)((char *)message + field->quantifier_offset);
    return HR_OK;
}

static hr_status text_repeated(text_reader *r, const proto_field *field, int depth, ProtobufCMessage *message)
{
    if (!text_take(r, '[')) return text_element(r, field, depth, message);
    if (text_take(r, ']')) return HR_OK;
    do {
        HR_TRY(text_element(r, field, depth, message));
    } while (text_take(r, ','));
    return text_take(r, ']') ? HR_OK : wrong_text(r, "']'");
}

/* Of a oneof: which of its members there is. */
static uint32_t *case_of(const proto_field *field, ProtobufCMessage *message)
{
    return field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF ? (uint32_t *)((char *)message + field->quantifier_offset) : NULL;
}

static hr_status text_single(text_reader *r, const proto_field *field, int depth, ProtobufCMessage *message)
{
    void *at = (char *)message + field->offset;
    uint32_t *which = case_of(field, message);
    bool there = which && *which != 0;
    if (!which && field->type == PROTOBUF_C_TYPE_MESSAGE) there = *(void **)at != NULL;
    if (!which && field->type == PROTOBUF_C_TYPE_STRING) there = *(const char **)at != field->default_value;
    if (!which && field->type == PROTOBUF_C_TYPE_BYTES) there = ((ProtobufCBinaryData *)at)->data != NULL;
    if (there) return wrong_text(r, "a field once, not again");
    HR_TRY(text_value(r, field, depth, at));
    if (which) *which = field->id;
    return HR_OK;
}

static const proto_field *field_named(const ProtobufCMessageDescriptor *type, hr_view name)
{
    for (unsigned i = 0; i < type->n_fields; i++)
        if (word_is(name, type->fields[i].name)) return &type->fields[i];
    return NULL;
}

/* A value of a field that is passed over: a word, a string, or a block with all that is in it. */
static hr_status skip_value(text_reader *r)
{
    int depth = 0;
    do {
        skip_blanks(r);
        if (r->at == r->end) return wrong_text(r, "the end of a value");
        if (at_quote(r)) {
            uint8_t *bytes;
            size_t size;
            HR_TRY(text_string(r, &bytes, &size));
            r->memory.free(r->memory.allocator_data, bytes);
        } else if (text_word(r).size == 0) {
            const char byte = *r->at++;
            depth += (byte == '{' || byte == '<' || byte == '[') - (byte == '}' || byte == '>' || byte == ']');
        }
    } while (depth > 0);
    return HR_OK;
}

/* experimental_debug_info, experimental_type: hints, which TensorFlow makes anew. */
static bool is_hint(hr_view name) { return name.size > 13 && memcmp(name.data, "experimental_", 13) == 0; }

/* "[type.googleapis.com/tensorflow.AssetFileDef] { ... }": what an Any holds, written out. */
static hr_status text_any(text_reader *r, int depth, Headrace__Proto__AnyMessage *any)
{
    static const char known[] = "type.googleapis.com/tensorflow.AssetFileDef";
    ProtobufCMessage *message;
    const char *begin = r->at;
    while (r->at < r->end && *r->at != ']') r->at++;
    const hr_view url = {begin, r->at - begin};
    if (!word_is(url, known) || any->value.data || !text_take(r, ']')) {
        r->at = begin;
        return wrong_text(r, "type.googleapis.com/tensorflow.AssetFileDef, once, and ']'");
    }
    text_take(r, ':');
    if (!text_take(r, '{')) return wrong_text(r, "'{'");
    HR_TRY(text_message(r, &headrace__proto__asset_file_def__descriptor, '}', depth + 1, &message));
    const size_t size = protobuf_c_message_get_packed_size(message);
    any->value = (ProtobufCBinaryData){size, r->memory.alloc(r->memory.allocator_data, size + 1)};
    if (any->value.data) protobuf_c_message_pack(message, any->value.data);
    protobuf_c_message_free_unpacked(message, &r->memory);
    char *type = r->memory.alloc(r->memory.allocator_data, sizeof known);
    if (type && any->type_url == headrace__proto__any_message__descriptor.fields[0].default_value)
        any->type_url = memcpy(type, known, sizeof known);
    else if (type)
        r->memory.free(r->memory.allocator_data, type);
    return any->value.data && type ? HR_OK : hr__message_exhausted(r->memory.allocator_data, r->err);
}

static hr_status text_fields(text_reader *r, const ProtobufCMessageDescriptor *type, char close, int depth,
                             ProtobufCMessage *message)
{
    while (!(close ? text_take(r, close) : (skip_blanks(r), r->at == r->end))) {
        if (type == &headrace__proto__any_message__descriptor && text_take(r, '[')) {
            HR_TRY(text_any(r, depth, (Headrace__Proto__AnyMessage *)(void *)message));
            continue;
        }
        const char *begin = r->at;
        const hr_view name = text_word(r);
        const proto_field *field = field_named(type, name);
        if (!field && is_hint(name)) {
            text_take(r, ':');
            HR_TRY(skip_value(r));
            continue;
        }
        if (!field) {
            char expected[160];
            r->at = begin;
            snprintf(expected, sizeof expected, "a field of %s%s", type->name, close ? " or its end" : "");
            return wrong_text(r, expected);
        }
        if (!text_take(r, ':') && field->type != PROTOBUF_C_TYPE_MESSAGE) return wrong_text(r, "':'");
        HR_TRY(field->label == PROTOBUF_C_LABEL_REPEATED ? text_repeated(r, field, depth, message)
                                                         : text_single(r, field, depth, message));
        if (!text_take(r, ',')) text_take(r, ';');
    }
    return HR_OK;
}

static hr_status text_message(text_reader *r, const ProtobufCMessageDescriptor *type, char close, int depth,
                              ProtobufCMessage **out)
{
    if (depth > HR__MESSAGE_DEPTH)
        return hr_fail(r->err, HR_RESOURCE_EXHAUSTED, "proto.depth",
                       "expected at most %d messages within each other, got more at byte %lld", HR__MESSAGE_DEPTH,
                       (long long)(r->at - r->begin));
    ProtobufCMessage *message = r->memory.alloc(r->memory.allocator_data, type->sizeof_message);
    if (!message) return hr__message_exhausted(r->memory.allocator_data, r->err);
    type->message_init(message);
    const hr_status st = text_fields(r, type, close, depth, message);
    if (st == HR_OK)
        *out = message;
    else
        protobuf_c_message_free_unpacked(message, &r->memory);
    return st;
}

hr_status hr__message_read_text(const ProtobufCMessageDescriptor *type, hr_view text, ProtobufCMessage **out,
                                hr_error *err)
{
    hr__message_memory memory;
    const char *begin = text.size > 0 ? text.data : "";
    text_reader r = {begin, begin, begin + text.size, hr__message_allocator(&memory, (size_t)text.size), err};
    return text_message(&r, type, 0, 0, out);
}

/* ---- writing ---- */

typedef struct text_writer {
    char *text;
    size_t size, capacity;
    bool failed;                     /* no memory */
    const ProtobufCMessage *unknown; /* the first one that came with fields that its type lacks */
} text_writer;

static void put_bytes(text_writer *w, const char *bytes, size_t size)
{
    if (w->failed) return;
    if (size > w->capacity - w->size) {
        const size_t capacity = (w->capacity + size) * 2;
        char *grown = hr_realloc(w->text, capacity);
        w->failed = !grown;
        if (!grown) return;
        w->text = grown;
        w->capacity = capacity;
    }
    memcpy(w->text + w->size, bytes, size);
    w->size += size;
}

static void put_text(text_writer *w, const char *text) { put_bytes(w, text, strlen(text)); }

static void put_indent(text_writer *w, int depth)
{
    for (int i = 0; i < depth; i++) put_text(w, "  ");
}

/* Writes a byte that does not stand for itself in a quoted string. */
static void put_escaped(text_writer *w, uint8_t byte)
{
    static const char named[][2] = {{'\n', 'n'}, {'\r', 'r'}, {'\t', 't'}, {'"', '"'}, {'\'', '\''}, {'\\', '\\'}};
    const char octal[] = {'\\', (char)('0' + (byte >> 6)), (char)('0' + (byte >> 3 & 7)), (char)('0' + (byte & 7))};
    for (size_t i = 0; i < sizeof named / sizeof *named; i++)
        if (byte == (uint8_t)named[i][0]) {
            put_bytes(w, (const char[]){'\\', named[i][1]}, 2);
            return;
        }
    put_bytes(w, octal, sizeof octal);
}

static bool stands_for_itself(uint8_t byte)
{
    return byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\'' && byte != '\\';
}

static void put_quoted(text_writer *w, const uint8_t *bytes, size_t size)
{
    put_text(w, "\"");
    for (size_t i = 0; i < size; i++) {
        const size_t plain = i;
        while (i < size && stands_for_itself(bytes[i])) i++;
        put_bytes(w, (const char *)bytes + plain, i - plain);
        if (i < size) put_escaped(w, bytes[i]);
    }
    put_text(w, "\"");
}

static void put_enum(text_writer *w, const ProtobufCEnumDescriptor *type, int32_t value)
{
    char number[HR__NUMBER_TEXT];
    const ProtobufCEnumValue *named = protobuf_c_enum_descriptor_get_value(type, value);
    number[hr__format_int64(value, number)] = 0;
    put_text(w, named ? named->name : number);
}

static void put_message(text_writer *w, const ProtobufCMessage *message, int depth);

static void put_scalar(text_writer *w, const proto_field *field, const void *at)
{
    char number[HR__NUMBER_TEXT] = "";
    const ProtobufCBinaryData *bytes = at;
    switch (field->type) {
    case PROTOBUF_C_TYPE_STRING:
        put_quoted(w, *(uint8_t *const *)at, strlen(*(char *const *)at));
        return;
    case PROTOBUF_C_TYPE_BYTES:
        put_quoted(w, bytes->data, bytes->len);
        return;
    case PROTOBUF_C_TYPE_BOOL:
        put_text(w, *(const protobuf_c_boolean *)at ? "true" : "false");
        return;
    case PROTOBUF_C_TYPE_ENUM:
        put_enum(w, field->descriptor, *(const int32_t *)at);
        return;
    case PROTOBUF_C_TYPE_FLOAT:
        number[hr__format_float(*(const float *)at, number)] = 0;
        break;
    case PROTOBUF_C_TYPE_DOUBLE:
        number[hr__format_double(*(const double *)at, number)] = 0;
        break;
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
        number[hr__format_int64(*(const int64_t *)at, number)] = 0;
        break;
    case PROTOBUF_C_TYPE_UINT64:
        snprintf(number, sizeof number, "%" PRIu64, *(const uint64_t *)at);
        break;
    case PROTOBUF_C_TYPE_UINT32:
        number[hr__format_int64(*(const uint32_t *)at, number)] = 0;
        break;
    default:
        number[hr__format_int64(*(const int32_t *)at, number)] = 0;
        break;
    }
    put_text(w, number);
}

static void put_field(text_writer *w, const proto_field *field, const void *at, int depth)
{
    put_indent(w, depth);
    put_text(w, field->name);
    if (field->type == PROTOBUF_C_TYPE_MESSAGE) {
        put_text(w, " {\n");
        put_message(w, *(const ProtobufCMessage *const *)at, depth + 1);
        put_indent(w, depth);
        put_text(w, "}\n");
        return;
    }
    put_text(w, ": ");
    put_scalar(w, field, at);
    put_text(w, "\n");
}

/* A field of proto3 that is not there has its zero. */
static bool is_there(const proto_field *field, const ProtobufCMessage *message)
{
    static const char zeros[sizeof(ProtobufCBinaryData)];
    const char *at = (const char *)message + field->offset;
    if (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF)
        return *(const uint32_t *)((const char *)message + field->quantifier_offset) == field->id;
    if (field->type == PROTOBUF_C_TYPE_STRING) return *(char *const *)at && **(char *const *)at;
    if (field->type == PROTOBUF_C_TYPE_BYTES) return ((const ProtobufCBinaryData *)at)->len > 0;
    return memcmp(at, zeros, value_size(field)) != 0;
}

static void put_message(text_writer *w, const ProtobufCMessage *message, int depth)
{
    const ProtobufCMessageDescriptor *type = message->descriptor;
    if (message->n_unknown_fields > 0 && !w->unknown) w->unknown = message;
    for (unsigned i = 0; i < type->n_fields; i++) {
        const proto_field *field = &type->fields[i];
        const char *at = (const char *)message + field->offset;
        if (field->label != PROTOBUF_C_LABEL_REPEATED) {
            if (is_there(field, message)) put_field(w, field, at, depth);
            continue;
        }
        const size_t count = *(const size_t *)((const char *)message + field->quantifier_offset);
        const char *list = *(char *const *)at;
        for (size_t j = 0; j < count; j++) put_field(w, field, list + j * value_size(field), depth);
    }
}

hr_status hr__message_text(const ProtobufCMessage *message, char **text, size_t *size, hr_error *err)
{
    text_writer w = {0};
    put_message(&w, message, 0);
    put_bytes(&w, "", 1);
    if (w.failed || w.unknown) hr_free(w.text);
    if (w.failed) return hr_no_memory(err, "a text");
    if (w.unknown)
        return hr_fail(err, HR_UNIMPLEMENTED, "proto.unknown",
                       "expected a %s of known fields to write as text, got field %u; write it as bytes",
                       w.unknown->descriptor->short_name, w.unknown->unknown_fields[0].tag);
    *text = w.text;
    *size = w.size - 1;
    return HR_OK;
}
