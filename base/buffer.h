/* Buffers whose memory is reused, for code that hands out buffers again and again. Not a public header. */
#ifndef HR_BUFFER_H
#define HR_BUFFER_H

#include <headrace/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Called from any thread with a buffer that has no reference left: to hand it out again, or to free it. `owner` is what
 * the buffer was renewed for. */
typedef void hr__recycle_fn(hr_buffer *buffer, void *owner, void *user);

HR_API hr_buffer *hr__buffer_new_recycled(size_t size, hr__recycle_fn *recycle, void *user); /* NULL: no memory */
/* A buffer in memory of the caller, HR__BUFFER_HEAD bytes before a multiple of 64, with HR__BUFFER_EXTRA bytes besides
 * those of `size`. `recycle` gets it back; hr__buffer_free is not for it. */
enum { HR__BUFFER_HEAD = 48, HR__BUFFER_EXTRA = HR__BUFFER_HEAD + 64 };
HR_API hr_buffer *hr__buffer_in(void *memory, size_t size, hr__recycle_fn *recycle, void *user);
/* What is called instead from now on. For the one who holds the only reference. */
HR_API void hr__buffer_recycle_by(hr_buffer *buffer, hr__recycle_fn *recycle, void *user);
HR_API void hr__buffer_renew(hr_buffer *buffer, void *owner); /* one reference, as if new */
HR_API void hr__buffer_free(hr_buffer *buffer);

#ifdef __cplusplus
}
#endif
#endif
