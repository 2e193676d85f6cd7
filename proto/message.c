/* Reads a message from its bytes. A walk comes first: protobuf-c calls itself for each message within another, without
 * a bound, and memory is counted, since two bytes may ask for a hundred. */
#include "proto/message.h"

#include <stdlib.h>

/* ---- memory ---- */

enum { TIMES = 64, AT_LEAST = 16 << 20 };

static void *message_alloc(void *user, size_t size)
{
    hr__message_memory *memory = user;
    void *p = size <= memory->left ? hr_malloc(size) : NULL;
    memory->exhausted |= !p;
    memory->lacking |= !p && size <= memory->left;
    if (p) memory->left -= size;
    return p;
}

static void message_free(void *user, void *p) { (void)user, hr_free(p); }

ProtobufCAllocator hr__message_allocator(hr__message_memory *memory, size_t bytes)
{
    *memory = (hr__message_memory){.left = bytes > (SIZE_MAX - AT_LEAST) / TIMES ? SIZE_MAX : bytes * TIMES + AT_LEAST};
    return (ProtobufCAllocator){message_alloc, message_free, memory};
}

hr_status hr__message_exhausted(const hr__message_memory *memory, hr_error *err)
{
    if (memory->lacking) return hr_no_memory(err, "a message");
    return hr_fail(err, HR_RESOURCE_EXHAUSTED, "proto.memory",
                   "a message: it would take more memory than %d times its size and %d MiB; %zu bytes were left", TIMES,
                   AT_LEAST >> 20, memory->left);
}

void hr__message_free(ProtobufCMessage *message)
{
    hr__message_memory unused;
    ProtobufCAllocator memory = hr__message_allocator(&unused, 0);
    if (message) protobuf_c_message_free_unpacked(message, &memory);
}

/* ---- the walk ---- */

typedef struct walk {
    const uint8_t *begin, *p, *end;
    hr_error *err;
} walk;

static hr_status no_message(const walk *w, const char *what)
{
    return hr_fail(w->err, HR_DATA_LOSS, "proto.bytes", "expected the bytes of a message, got %s at byte %lld", what,
                   (long long)(w->p - w->begin));
}

static hr_status walk_varint(walk *w, uint64_t *value)
{
    *value = 0;
    for (int i = 0; i < 10; i++) {
        if (w->p == w->end) return no_message(w, "the end");
        const uint8_t byte = *w->p++;
        *value |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (byte < 0x80) return HR_OK;
    }
    return no_message(w, "a number of more than ten bytes");
}

static hr_status walk_bytes(walk *w, uint64_t size)
{
    if (size > (uint64_t)(w->end - w->p)) return no_message(w, "a length beyond the end");
    w->p += size;
    return HR_OK;
}

static const ProtobufCFieldDescriptor *message_field(const ProtobufCMessageDescriptor *type, uint64_t number)
{
    if (!type || number > UINT32_MAX) return NULL;
    const ProtobufCFieldDescriptor *field = protobuf_c_message_descriptor_get_field(type, (unsigned)number);
    return field && field->type == PROTOBUF_C_TYPE_MESSAGE ? field : NULL;
}

static hr_status walk_message(walk *w, const ProtobufCMessageDescriptor *type, int depth)
{
    if (depth > HR__MESSAGE_DEPTH)
        return hr_fail(w->err, HR_RESOURCE_EXHAUSTED, "proto.depth",
                       "expected at most %d messages within each other, got more at byte %lld", HR__MESSAGE_DEPTH,
                       (long long)(w->p - w->begin));
    while (w->p < w->end) {
        uint64_t tag, size = 0;
        HR_TRY(walk_varint(w, &tag));
        const ProtobufCFieldDescriptor *field = message_field(type, tag >> 3);
        switch (tag & 7) {
        case 0:
            HR_TRY(walk_varint(w, &size));
            continue;
        case 1:
            HR_TRY(walk_bytes(w, 8));
            continue;
        case 5:
            HR_TRY(walk_bytes(w, 4));
            continue;
        case 2:
            break;
        default:
            return no_message(w, "a field of an unknown kind");
        }
        HR_TRY(walk_varint(w, &size));
        walk inner = *w;
        HR_TRY(walk_bytes(w, size));
        inner.end = w->p;
        if (field) HR_TRY(walk_message(&inner, field->descriptor, depth + 1));
    }
    return HR_OK;
}

hr_status hr__message_read(const ProtobufCMessageDescriptor *type, hr_view bytes, ProtobufCMessage **out, hr_error *err)
{
    const uint8_t *begin = (const uint8_t *)(bytes.size > 0 ? bytes.data : "");
    walk w = {begin, begin, begin + bytes.size, err};
    hr__message_memory memory;
    ProtobufCAllocator allocator = hr__message_allocator(&memory, (size_t)bytes.size);
    HR_TRY(walk_message(&w, type, 0));
    *out = protobuf_c_message_unpack(type, &allocator, (size_t)bytes.size, begin);
    if (*out) return HR_OK;
    if (memory.exhausted) return hr__message_exhausted(&memory, err);
    return hr_fail(err, HR_DATA_LOSS, "proto.bytes", "expected a %s, got bytes that are none", type->name);
}
