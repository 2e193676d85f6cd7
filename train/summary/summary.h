/* Headrace, event files for TensorBoard. Each writer has a file of its own and appends each record in one write,
 * because others may read the file at the same time. Format: TFRecords of tensorflow.Event. */
#ifndef HR_SUMMARY_H
#define HR_SUMMARY_H

#include <headrace/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hr_event_writer hr_event_writer;
/* Creates events.out.tfevents.<seconds>.<host> in `folder`, which is created if it is absent, and writes the first
 * record. If the name is taken, adds .1, .2, ... Gives *out (hr_event_writer_free). */
HR_API hr_status hr_event_writer_open(const char *folder, hr_event_writer **out, hr_error *err);
/* The same with `suffix` after the host's name, as ".v2" of TensorFlow 2's writers. NULL: none. */
HR_API hr_status hr_event_writer_open_named(const char *folder, const char *suffix, hr_event_writer **out,
                                            hr_error *err);
HR_API const char *hr_event_writer_path(const hr_event_writer *writer); /* borrows */

/* Each call of the functions below writes one event with the time of day. */

/* A scalar, or the values of a histogram, under a tag. */
typedef struct hr_summary_value {
    const char *tag;
    const float *values;
    int64_t count;  /* of values; 1 for a scalar */
    bool histogram; /* default: a scalar */
} hr_summary_value;
/* Writes several values of one step as one event, like merged summaries. Values of a histogram must be finite,
 * "summary.histogram". */
HR_API hr_status hr_event_summary(hr_event_writer *writer, const hr_summary_value *values, int count, int64_t step,
                                  hr_error *err);
HR_API hr_status hr_event_scalar(hr_event_writer *writer, const char *tag, float value, int64_t step, hr_error *err);
HR_API hr_status hr_event_histogram(hr_event_writer *writer, const char *tag, const float *values, int64_t count,
                                    int64_t step, hr_error *err);
/* Writes a string for TensorBoard's text plugin. */
HR_API hr_status hr_event_text(hr_event_writer *writer, const char *tag, const char *text, int64_t step, hr_error *err);
/* Writes a graph; `graph_def` is a serialized GraphDef. */
HR_API hr_status hr_event_graph(hr_event_writer *writer, hr_view graph_def, hr_error *err);

/* Writes a serialized tensorflow.Summary. DataLoss, "proto.bytes": it is none. */
HR_API hr_status hr_event_summary_bytes(hr_event_writer *writer, hr_view summary, int64_t step, hr_error *err);

/* The meaning of a session event. */
typedef enum hr_session_status {
    HR_SESSION_START = 1,
    HR_SESSION_STOP = 2,
    HR_SESSION_CHECKPOINT = 3
} hr_session_status;
/* After START at a step, readers drop the events of later steps, as after a restart. `path`: of a checkpoint, or
 * NULL. */
HR_API hr_status hr_event_session(hr_event_writer *writer, hr_session_status status, const char *path, int64_t step,
                                  hr_error *err);
HR_API void hr_event_writer_free(hr_event_writer *writer); /* NULL: nothing */

/* ---- summaries as bytes ----
 *
 * A serialized tensorflow.Summary of one value under a tag of any bytes, as TensorFlow's summary ops give them; several
 * one after the other are one summary. Each function gives *bytes (hr_free). */

/* One number. */
HR_API hr_status hr_summary_scalar(hr_view tag, float value, char **bytes, size_t *size, hr_error *err);
/* Values must be finite, "summary.histogram". */
HR_API hr_status hr_summary_histogram(hr_view tag, const double *values, int64_t count, char **bytes, size_t *size,
                                      hr_error *err);
/* `tensor` and `metadata`: a serialized TensorProto and SummaryMetadata, which are not looked at. */
HR_API hr_status hr_summary_tensor(hr_view tag, hr_view tensor, hr_view metadata, char **bytes, size_t *size,
                                   hr_error *err);
/* A picture as PNG: rows of pixels, of `channels` bytes each: 1 grey, 3 red, green and blue, 4 with an alpha. Other
 * sizes are refused, "summary.image". */
HR_API hr_status hr_summary_image(hr_view tag, int64_t height, int64_t width, int channels, const uint8_t *pixels,
                                  char **bytes, size_t *size, hr_error *err);
/* One of all values of several summaries. Refuses what is no summary, and a tag that is there twice, "summary.merge". */
HR_API hr_status hr_summary_merge(const hr_view *summaries, int64_t count, char **bytes, size_t *size, hr_error *err);

/* A serialized SummaryMetadata: which plugin of TensorBoard shows the value, "text" for example, and what it says about
 * it. NULL: nothing. `data_class`: 0 unknown, 1 scalar, 2 tensor, 3 blob sequence. */
HR_API hr_status hr_summary_metadata(const char *plugin, const char *display_name, const char *description,
                                     int data_class, char **bytes, size_t *size, hr_error *err);

/* Gives a summary's tag made of `name`: a character of ASCII other than letters, digits and -/_. becomes _; leading
 * slashes are removed. NULL: no memory, or no name. */
HR_API char *hr_summary_tag(const char *name);

#ifdef __cplusplus
}
#endif
#endif
