/* Private calls on an hr_input, for the rooms above. */
#ifndef HR_INPUT_H
#define HR_INPUT_H

#include <headrace/io.h>

/* True if the file is regular and uncompressed: hr__input_read_at may be used. */
bool hr__input_is_file(const hr_input *in); /* it has a size, and can be opened again */
bool hr__input_has_places(const hr_input *in);
/* Reads `size` bytes at `offset` (*got says how many; fewer only at the end), without moving `in`. */
hr_status hr__input_read_at(const hr_input *in, int64_t offset, void *to, size_t size, size_t *got, hr_error *err);
/* How it is compressed, as it was asked for or found: never HR_COMPRESSION_AUTO. */
hr_compression hr__input_compression(const hr_input *in);
/* Size of the file itself, as it is now; -1: not known (a pipe). */
int64_t hr__input_file_size(const hr_input *in);

/* `begins` is told of every part that can be decoded by itself, as it is met; nothing where the file is plain. */
void hr__input_watch(hr_input *in, void (*begins)(void *user, int64_t offset, int64_t made), void *user);
/* Goes to such a part: the next byte is the `made`th, inflated, and lies at `offset` of the file. */
hr_status hr__input_begin_at(hr_input *in, int64_t offset, int64_t made, hr_error *err);
/* The same file opened once more, from its front: what the system's cache has of it from byte `from` on is dropped,
 * so that it is read from the storage itself. HR_FAILED_PRECONDITION: it cannot be read twice. */
hr_status hr__input_reopen(const hr_input *in, int64_t from, hr_input **out, hr_error *err);
/* Size and time of change (nanoseconds since 1970) of the file, as they are now. HR_FAILED_PRECONDITION: no regular
 * file. */
hr_status hr__input_about(const hr_input *in, int64_t *size, int64_t *changed, hr_error *err);

/* How messages call the file from now on, if it was opened under another name. */
hr_status hr__input_name(hr_input *in, const char *path, hr_error *err);

/* After damage that a decoder met: continues with the next stream that may begin in the file, as if its bytes followed
 * those before the damage; what was lent is dropped. HR_END: none begins. Otherwise what was wrong, if it was
 * something else. */
hr_status hr__input_resync(hr_input *in, hr_error *err);

/* For a search for records after damage. The byte at offset `at` was lent; the stream of a compressed file that holds
 * it goes up to offset *end (INT64_MAX: not known yet). True: that stream is damaged, or cannot be read once more to
 * see. What a decoder gives after damage may be anything, even whole records with right checksums: copies of those that
 * it gave before. */
bool hr__input_is_misread(hr_input *in, int64_t at, int64_t *end);

#endif
