/* Headrace, event files for TensorBoard: written, and read. Each writer has a file of its own and appends whole records
 * in one write, because others may read the file at the same time. Format: TFRecords of tensorflow.Event. */
#ifndef HR_SUMMARY_H
#define HR_SUMMARY_H

#include <headrace/base.h>
#include <headrace/io.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hr_event_writer hr_event_writer;
/* Creates events.out.tfevents.<seconds>.<host> in `folder`, which is created if it is absent, and writes the first
 * record. If the name is taken, adds .1, .2, ... Each event is in the file when its call returns. Gives *out
 * (hr_event_writer_free). */
HR_API hr_status hr_event_writer_open(const char *folder, hr_event_writer **out, hr_error *err);
/* Options as of tf.compat.v1.summary.FileWriter. */
typedef struct hr_event_writer_opts {
    size_t struct_size;
    const int64_t *max_queue;    /* so many events wait in memory before all are written; default: 10; 0: none waits */
    const double *flush_secs;    /* the first of them waits so long; default: 120. The clock is looked at when an event
                                  * comes, by no thread of its own */
    const char *filename_suffix; /* after the host's name, as ".v2" of TensorFlow 2's writers; default: none */
    int64_t max_file_bytes;      /* an event that comes after so many begins another file; default: all go to one */
} hr_event_writer_opts;
/* The same, but events wait as the options say; NULL: the defaults. An event whose call fails is not written later; the
 * ones before it, which wait, are tried again, and the file always ends with a whole record. */
HR_API hr_status hr_event_writer_open_with(const char *folder, const hr_event_writer_opts *opts, hr_event_writer **out,
                                           hr_error *err);
/* The file that is written now; borrows until the next event. */
HR_API const char *hr_event_writer_path(const hr_event_writer *writer);
HR_API hr_status hr_event_writer_flush(hr_event_writer *writer, hr_error *err); /* writes what waits */

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
/* Writes a graph with its variables and collections; `meta_graph_def` is a serialized MetaGraphDef. */
HR_API hr_status hr_event_meta_graph(hr_event_writer *writer, hr_view meta_graph_def, int64_t step, hr_error *err);
/* Writes what a traced run took; `run_metadata` is a serialized RunMetadata, as hr_run_stats_export gives
 * it. A tag that this writer has used for another
 * is refused, "summary.tag". */
HR_API hr_status hr_event_run_metadata(hr_event_writer *writer, const char *tag, hr_view run_metadata, int64_t step,
                                       hr_error *err);

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
/* Writes what waits; if it cannot, the log says what is lost (hr_event_writer_flush fails). NULL: nothing. */
HR_API void hr_event_writer_free(hr_event_writer *writer);

/* ---- reading ----
 *
 *     hr_event_reader_open("model_dir", NULL, &reader, &err);
 *     while ((st = hr_event_read(reader, &e, &err)) == HR_OK)
 *         if (e->kind == HR_EVENT_SCALAR) printf("%lld %s %g\n", (long long)e->step, e->tag, e->scalar);
 */

/* What an event, or one value of its summary, is. */
typedef enum hr_event_kind {
    HR_EVENT_EMPTY,      /* nothing that is known here */
    HR_EVENT_VERSION,    /* the first of a file: .bytes is "brain.Event:2" */
    HR_EVENT_SCALAR,     /* .scalar */
    HR_EVENT_HISTOGRAM,  /* .buckets and what follows it */
    HR_EVENT_IMAGE,      /* .bytes is a file of PNG; .height, .width, .channels */
    HR_EVENT_IMAGES,     /* of TensorFlow 2: .texts are the width, the height, then files of PNG */
    HR_EVENT_AUDIO,      /* .bytes is a file of WAV; of TensorFlow 2: .texts are such files and their labels in turn */
    HR_EVENT_TEXT,       /* .texts */
    HR_EVENT_TENSOR,     /* .bytes; .texts if it has strings */
    HR_EVENT_GRAPH,      /* .bytes is a serialized GraphDef */
    HR_EVENT_META_GRAPH, /* a MetaGraphDef */
    HR_EVENT_RUN_METADATA, /* a RunMetadata, of .tag */
    HR_EVENT_SESSION,      /* .session; .bytes is the path of a checkpoint */
    HR_EVENT_LOG           /* .bytes is a message */
} hr_event_kind;

/* One value of a summary, or what else an event has. Values of TensorFlow 1 and 2 look the same, but where it is said.
 * What it points to is borrowed until the next hr_event_read. */
typedef struct hr_event {
    hr_event_kind kind;
    int64_t step;
    double wall_time; /* seconds since 1970 */
    const char *file;
    const char *tag;                                 /* "": it has none */
    const char *plugin, *display_name, *description; /* as its metadata says, which may be there the first time only */
    int value, value_count;                          /* which of how many of one event; 0 of 0: no value */
    double scalar;                                   /* NaN also where a tensor is not one number */
    /* Rows of three: left edge, right edge, how many. In the form of TensorFlow 1 the first left edge is -DBL_MAX; that
     * of TensorFlow 2 has no sums, NaN. */
    const double *buckets;
    int64_t bucket_count;
    double min, max, num, sum, sum_squares;
    hr_view bytes; /* of a value that is a tensor: a serialized TensorProto, for hr_tensor_import */
    const hr_view *texts;
    int64_t text_count;
    int height, width, channels;
    hr_session_status session;
} hr_event;

typedef struct hr_event_reader hr_event_reader;
/* Opens a file, or all event files of a folder (not those of folders in it), one after the other in the order of their
 * names. `policy`, NULL: HR_FAIL; it is for damaged records, and for records that are no events. Gives *out. Not found:
 * HR_NOT_FOUND. */
HR_API hr_status hr_event_reader_open(const char *path, const hr_policy *policy, hr_event_reader **out, hr_error *err);
/* HR_OK: the next one. HR_END: there are no more. HR_DATA_LOSS: a record is damaged, as by hr_record_read, also one that
 * a running writer has not finished; "event.record": it is no event, and the next call goes on after it. The error has
 * file, record and offset. */
HR_API hr_status hr_event_read(hr_event_reader *reader, const hr_event **event, hr_error *err);
HR_API void hr_event_reader_free(hr_event_reader *reader); /* NULL: nothing */

/* One point of a scalar: at `wall_time`, seconds since 1970. */
typedef struct hr_scalar_point {
    int64_t step;
    double wall_time, value;
} hr_scalar_point;
/* The points of a scalar in a file or folder as TensorBoard shows them: in the order in which they were written, without
 * those that a restart from an earlier step replaces (HR_SESSION_START). Gives *points (hr_free). Damage is an error. */
HR_API hr_status hr_event_scalars(const char *path, const char *tag, hr_scalar_point **points, int64_t *count,
                                  hr_error *err);
/* Whether TensorBoard takes a file of this name for an event file: its last part has "tfevents" in it. */
HR_API bool hr_is_event_file(const char *path);

/* ---- summaries as bytes ----
 *
 * A serialized tensorflow.Summary of one value under a tag of any bytes, as TensorFlow's summary ops give them; several
 * one after the other are one summary. Each function gives *bytes (hr_free). */

/* One number. */
HR_API hr_status hr_summary_scalar(hr_view tag, float value, char **bytes, size_t *size, hr_error *err);
/* Values must be finite, "summary.histogram". */
HR_API hr_status hr_summary_histogram(hr_view tag, const double *values, int64_t count, char **bytes, size_t *size,
                                      hr_error *err);
/* The same as TensorFlow 2 has it: `buckets` (0: 30) of one width from the least to the greatest value, as a tensor. */
HR_API hr_status hr_summary_histogram_v2(hr_view tag, const double *values, int64_t count, int64_t buckets,
                                         char **bytes, size_t *size, hr_error *err);
/* `tensor` and `metadata`: a serialized TensorProto and SummaryMetadata, which are not looked at. */
HR_API hr_status hr_summary_tensor(hr_view tag, hr_view tensor, hr_view metadata, char **bytes, size_t *size,
                                   hr_error *err);
/* A picture as PNG: rows of pixels, of `channels` bytes each: 1 grey, 3 red, green and blue, 4 with an alpha. Other
 * sizes are refused, "summary.image". */
HR_API hr_status hr_summary_image(hr_view tag, int64_t height, int64_t width, int channels, const uint8_t *pixels,
                                  char **bytes, size_t *size, hr_error *err);
/* A sound as WAV of 16 bits: frames of one sample from -1 to 1 for each channel; what is beyond is clipped, NaN is 0.
 * `rate`: frames a second. No frames, or another rate than 1 to 2^32 - 1, is refused, "summary.audio". */
HR_API hr_status hr_summary_audio(hr_view tag, int64_t frames, int64_t channels, float rate, const float *samples,
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
