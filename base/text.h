/* A growing text: reports, JSON, messages. Failure to get memory sticks, so that only the end looks for it. Not a
 * public header. */
#ifndef HR_TEXT_H
#define HR_TEXT_H

#include <headrace/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Begin with {0}. Open to read: `data` is NULL or ends in a NUL that `size` does not count. */
typedef struct hr__text {
    char *data;
    size_t size, capacity;
    bool failed;
} hr__text;

HR_API void hr__text_bytes(hr__text *text, const void *data, size_t size);
HR_API void hr__text_add(hr__text *text, const char *string);
HR_API void hr__text_byte(hr__text *text, char byte);
HR_API void hr__text_printf(hr__text *text, const char *format, ...) HR_PRINTF(2, 3);
/* "..." as JSON writes it: control characters are escaped, and bytes that are not UTF-8 become U+FFFD. */
HR_API void hr__text_json(hr__text *text, const char *data, size_t size);
/* How many bytes at the beginning of the text are whole UTF-8 characters: all, if it is UTF-8. Overlong forms and
 * surrogates are none. */
size_t hr__utf8_sound(const char *text, size_t size);
HR_API bool hr__is_utf8(const char *data, size_t size);
/* Space for `size` bytes more, which the caller fills and adds to text->size; NULL: no memory. */
HR_API char *hr__text_reserve(hr__text *text, size_t size);
HR_API void hr__text_clear(hr__text *text); /* empties it, keeps the memory up to 4 MiB, forgets a failure */
/* HR_OK, or no memory for `what`. */
HR_API hr_status hr__text_status(const hr__text *text, const char *what, hr_error *err);
/* Gives the text, never NULL but for no memory, and leaves an empty one. */
HR_API char *hr__text_take(hr__text *text);
HR_API void hr__text_free(hr__text *text);

/* "folder/name", or the name itself if it is absolute or there is no folder. Gives; NULL: no memory, or no name. */
HR_API char *hr__path_in(const char *folder, const char *name);

#ifdef __cplusplus
}
#endif
#endif
