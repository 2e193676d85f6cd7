/* Headrace, event files: what TensorBoard shows. One file a writer, appended to record by record, since others read it
 * meanwhile. Format: TFRecords of tensorflow.Event. */
#ifndef HR_SUMMARY_H
#define HR_SUMMARY_H

#include <headrace/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hr_event_writer hr_event_writer;
/* Makes events.out.tfevents.<seconds>.<host> in `folder` (made if absent), and writes the first record. Gives *out. */
HR_API hr_status hr_event_writer_open(const char *folder, hr_event_writer **out, hr_error *err);
HR_API const char *hr_event_writer_path(const hr_event_writer *writer);
/* Each is one record, written at once, stamped with the time of day. */

/* A scalar, or the values of a histogram, under a tag. */
typedef struct hr_summary_value {
    const char *tag;
    const float *values;
    int64_t count;  /* 1 of a scalar */
    bool histogram; /* default: a scalar */
} hr_summary_value;
/* Several values of one step in one event, as merged summaries are. */
HR_API hr_status hr_event_summary(hr_event_writer *writer, const hr_summary_value *values, int count, int64_t step,
                                  hr_error *err);
HR_API hr_status hr_event_scalar(hr_event_writer *writer, const char *tag, float value, int64_t step, hr_error *err);
HR_API hr_status hr_event_histogram(hr_event_writer *writer, const char *tag, const float *values, int64_t count,
                                    int64_t step, hr_error *err);
/* A string shown by TensorBoard's text plugin. */
HR_API hr_status hr_event_text(hr_event_writer *writer, const char *tag, const char *text, int64_t step, hr_error *err);
/* `graph_def`: a serialized GraphDef. */
HR_API hr_status hr_event_graph(hr_event_writer *writer, hr_view graph_def, hr_error *err);

/* What a session mark says. */
typedef enum hr_session_status {
    HR_SESSION_START = 1,
    HR_SESSION_STOP = 2,
    HR_SESSION_CHECKPOINT = 3
} hr_session_status;
/* START at a step makes readers drop what they had of later steps: a restart. `path`: of a checkpoint, or NULL. */
HR_API hr_status hr_event_session(hr_event_writer *writer, hr_session_status status, const char *path, int64_t step,
                                  hr_error *err);
HR_API void hr_event_writer_free(hr_event_writer *writer); /* NULL: nothing */

/* A summary's tag from a name: what is not a letter, a digit or one of -/_. becomes _, a leading slash goes. Gives. */
HR_API char *hr_summary_tag(const char *name);

#ifdef __cplusplus
}
#endif
#endif
