/* What the floors above may ask of an hr_output beside the public calls. Not a public header. */
#ifndef HR_OUTPUT_H
#define HR_OUTPUT_H

#include <headrace/io.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Goes on with a file after its first `size` bytes, as hr__output_cut gave them, under its own name: it is there
 * whether it is committed or discarded. Size 0: it is made, if there is none. */
hr_status hr__output_open_part(const char *path, const hr_output_opts *opts, int64_t size, hr_output **out,
                               hr_error *err);
/* The file may end here, and more may follow: what is compressed ends, and a new stream begins with the next byte.
 * *size: of the file up to here, once all is written. */
hr_status hr__output_cut(hr_output *out, int64_t *size, hr_error *err);
/* All that was written so far is on the disk, unless it is not to be synced. */
hr_status hr__output_sync(hr_output *out, hr_error *err);
/* All of it is on the disk, unless it is not to be synced; only the name is still missing. Nothing can be written any
 * more. What is left to fail in hr_output_commit is the renaming. */
hr_status hr__output_finish(hr_output *out, hr_error *err);
/* All that was written so far, to be read: by a descriptor of its own, which stays with these bytes whatever becomes of
 * their name. Of a file without compression. Gives *in. */
hr_status hr__output_open_written(hr_output *out, hr_input **in, hr_error *err);
/* The file that a name means, links followed. Gives; NULL: no memory. */
char *hr__output_target(const char *path);

#ifdef __cplusplus
}
#endif
#endif
