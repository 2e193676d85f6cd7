/* A growing text. A failure to get memory sticks, so that only the end looks for it. */
#ifndef TEXT_H
#define TEXT_H

#include <headrace/base.h>

/* Begin with {0}. `data` is NULL or ends in a NUL that `size` does not count. */
typedef struct text_buffer {
    char *data;
    size_t size, capacity;
    bool failed;
} text_buffer;

void text_add(text_buffer *t, const char *string);
void text_byte(text_buffer *t, char byte);
void text_quoted(text_buffer *t, hr_view bytes); /* as a string of JSON; bytes that are not UTF-8 become U+FFFD */
void text_base64(text_buffer *t, hr_view bytes);
/* A name or value as it is if that is one plain word, else as JSON writes it. */
void text_word(text_buffer *t, hr_view word);
void text_free(text_buffer *t);

#endif
