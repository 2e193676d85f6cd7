/* Messages from outside: read within bounds of depth and memory, as bytes or as text. Not a public header. */
#ifndef HR_MESSAGE_H
#define HR_MESSAGE_H

#include <headrace/base.h>
#include <protobuf-c/protobuf-c.h>

/* The most messages within messages. protobuf-c calls itself for each. */
enum { HR__MESSAGE_DEPTH = 100 };

/* Gives a message of that type, from its bytes or from its text (pbtxt). HR_DATA_LOSS, kind "proto.bytes": no such
 * message; HR_INVALID_ARGUMENT, "proto.text": a wrong text, by line and column; HR_RESOURCE_EXHAUSTED, "proto.depth",
 * or "proto.memory": more than 64 times the size of `bytes`, and 16 MiB, would be needed. */
HR_API hr_status hr__message_read(const ProtobufCMessageDescriptor *type, hr_view bytes, ProtobufCMessage **out,
                                  hr_error *err);
HR_API hr_status hr__message_read_text(const ProtobufCMessageDescriptor *type, hr_view text, ProtobufCMessage **out,
                                       hr_error *err);
HR_API void hr__message_free(ProtobufCMessage *message); /* of either. NULL: nothing */

/* Gives the text of a message, as TensorFlow writes it: a field a line, two blanks a level. hr_free it.
 * HR_UNIMPLEMENTED, "proto.unknown": it came with fields that its type lacks, and that have no names. */
hr_status hr__message_text(const ProtobufCMessage *message, char **text, size_t *size, hr_error *err);

/* ---- for both readers ---- */

/* Memory of one message, counted. */
typedef struct hr__message_memory {
    size_t left;
    bool exhausted; /* there was none, or no more than `left` */
    bool lacking;   /* there was none */
} hr__message_memory;

ProtobufCAllocator hr__message_allocator(hr__message_memory *memory, size_t bytes);
hr_status hr__message_exhausted(const hr__message_memory *memory, hr_error *err);

#endif
