/* Event files. Each record goes to the file in one write, so that a reader sees whole ones; nothing is renamed. */
#include <headrace/summary.h>
#include "base/clock.h"
#include "base/text.h"
#include "io/framing.h"
#include "io/sys.h"
#include "proto/event.pb-c.h"
#include "proto/message.h"
#include "train/summary/histogram.h"
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef Headrace__Proto__Event proto_event;
typedef Headrace__Proto__Summary__Value proto_value;

struct hr_event_writer {
    char *path;
    int file;
};

static hr_status lacks(const char *what, hr_error *err)
{
    return hr_fail(err, HR_INVALID_ARGUMENT, "summary.argument", "event file: expected %s, got NULL", what);
}

static hr_status write_event(hr_event_writer *w, proto_event *event, hr_error *err)
{
    event->wall_time = hr__time_of_day(NULL);
    size_t size = headrace__proto__event__get_packed_size(event);
    char *record = hr_malloc(size + HR__RECORD_FRAME);
    if (!record) return hr_no_memory(err, "an event");
    headrace__proto__event__pack(event, (uint8_t *)record + HR__RECORD_HEADER);
    hr__record_header(record, size);
    hr__record_footer(record + HR__RECORD_HEADER + size, record + HR__RECORD_HEADER, size);
    hr_status st = hr__write_all(w->file, record, size + HR__RECORD_FRAME)
                       ? HR_OK
                       : hr__sys_fail(err, errno, "file.write", w->path, "written");
    hr_free(record);
    return st;
}

static hr_status event_writer_write_values(hr_event_writer *w, proto_value **values, size_t count, int64_t step,
                                           hr_error *err)
{
    Headrace__Proto__Summary summary;
    proto_event event;
    headrace__proto__summary__init(&summary);
    headrace__proto__event__init(&event);
    summary.n_value = count;
    summary.value = values;
    event.step = step;
    event.what_case = HEADRACE__PROTO__EVENT__WHAT_SUMMARY;
    event.summary = &summary;
    return write_event(w, &event, err);
}

/* ---- the file ---- */

/* The second may be taken by another writer of this process: the next number after the host's name is tried. */
static hr_status event_writer_open_file(hr_event_writer *w, const char *folder, const char *suffix, hr_error *err)
{
    char host[256] = "localhost";
    gethostname(host, sizeof host - 1);
    long long now = (long long)time(NULL);
    for (int n = 0; n < 1000; n++) {
        char number[16] = "", name[512];
        if (n) snprintf(number, sizeof number, ".%d", n);
        snprintf(name, sizeof name, "events.out.tfevents.%010lld.%s%s%.150s", now, host, number, suffix);
        hr_free(w->path);
        w->path = hr__path_in(folder, name);
        if (!w->path) return hr_no_memory(err, "a path");
        w->file = hr__open(w->path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
        if (w->file >= 0) return HR_OK;
        if (errno != EEXIST) break;
    }
    return hr__sys_fail(err, errno, "file.open", w->path, "written");
}

hr_status hr_event_writer_open(const char *folder, hr_event_writer **out, hr_error *err)
{
    return hr_event_writer_open_named(folder, NULL, out, err);
}

hr_status hr_event_writer_open_named(const char *folder, const char *suffix, hr_event_writer **out, hr_error *err)
{
    if (out) *out = NULL;
    if (!folder || !out) return lacks("a folder, and a place for the file", err);
    hr_event_writer *w = hr_calloc(1, sizeof *w);
    if (!w) return hr_no_memory(err, "an event file");
    w->file = -1;
    proto_event event;
    Headrace__Proto__SourceMetadata source;
    headrace__proto__event__init(&event);
    headrace__proto__source_metadata__init(&source);
    event.what_case = HEADRACE__PROTO__EVENT__WHAT_FILE_VERSION;
    event.file_version = "brain.Event:2";
    source.writer = "headrace";
    event.source_metadata = &source;
    hr_status st = hr__make_folders(folder, err);
    if (st == HR_OK) st = event_writer_open_file(w, folder, suffix ? suffix : "", err);
    if (st == HR_OK) st = write_event(w, &event, err);
    if (st == HR_OK)
        *out = w;
    else
        hr_event_writer_free(w);
    return st;
}

void hr_event_writer_free(hr_event_writer *w)
{
    if (!w) return;
    if (w->file >= 0) hr__sys_get()->close(w->file);
    hr_free(w->path);
    hr_free(w);
}

const char *hr_event_writer_path(const hr_event_writer *w) { return w ? w->path : NULL; }

/* ---- what is written ---- */

/* One value on its way into an event, with what it points to. */
typedef struct packed {
    proto_value value;
    Headrace__Proto__Histogram proto;
    hr__histogram histogram;
} packed;

static hr_status pack_histogram(packed *p, const hr_summary_value *v, hr_error *err)
{
    double *wide = hr_malloc((size_t)v->count * sizeof *wide);
    if (!wide) return hr_no_memory(err, "a histogram");
    for (int64_t i = 0; i < v->count; i++) wide[i] = (double)v->values[i];
    hr_status st = hr__histogram_of(wide, v->count, &p->histogram, err);
    hr_free(wide);
    if (st != HR_OK) {
        hr_error_prefix(err, "'%s': ", v->tag);
        return st;
    }
    hr__histogram_message(&p->histogram, &p->proto);
    p->value.value_case = HEADRACE__PROTO__SUMMARY__VALUE__VALUE_HISTO;
    p->value.histo = &p->proto;
    return HR_OK;
}

/* Scalars in the old form: evaluation, early stopping and exporters read this one only, TensorBoard both. */
static hr_status event_writer_pack(packed *p, const hr_summary_value *v, hr_error *err)
{
    if (!v->tag || !v->values || v->count < 0) return lacks("a tag, and its values", err);
    headrace__proto__summary__value__init(&p->value);
    p->value.tag = (char *)v->tag;
    if (v->histogram) return pack_histogram(p, v, err);
    if (v->count != 1)
        return hr_fail(err, HR_INVALID_ARGUMENT, "summary.scalar", "summary '%s': expected one value, got %lld", v->tag,
                       (long long)v->count);
    p->value.value_case = HEADRACE__PROTO__SUMMARY__VALUE__VALUE_SIMPLE_VALUE;
    p->value.simple_value = v->values[0];
    return HR_OK;
}

hr_status hr_event_summary(hr_event_writer *w, const hr_summary_value *values, int count, int64_t step, hr_error *err)
{
    if (!w || count < 0 || (count > 0 && !values)) return lacks("an event file, and values", err);
    packed *p = hr_calloc((size_t)count + 1, sizeof *p);
    proto_value **list = hr_calloc((size_t)count + 1, sizeof *list);
    hr_status st = p && list ? HR_OK : hr_no_memory(err, "an event");
    for (int i = 0; i < count && st == HR_OK; i++) {
        st = event_writer_pack(&p[i], &values[i], err);
        list[i] = &p[i].value;
    }
    if (st == HR_OK) st = event_writer_write_values(w, list, (size_t)count, step, err);
    for (int i = 0; i < count && p; i++) hr__histogram_clear(&p[i].histogram);
    hr_free(list);
    hr_free(p);
    return st;
}

hr_status hr_event_scalar(hr_event_writer *w, const char *tag, float value, int64_t step, hr_error *err)
{
    return hr_event_summary(w, &(hr_summary_value){.tag = tag, .values = &value, .count = 1}, 1, step, err);
}

hr_status hr_event_histogram(hr_event_writer *w, const char *tag, const float *values, int64_t count, int64_t step,
                             hr_error *err)
{
    return hr_event_summary(w, &(hr_summary_value){tag, values, count, true}, 1, step, err);
}

hr_status hr_event_text(hr_event_writer *w, const char *tag, const char *text, int64_t step, hr_error *err)
{
    Headrace__Proto__Tensor tensor;
    Headrace__Proto__TensorShape scalar;
    Headrace__Proto__SummaryMetadata metadata;
    Headrace__Proto__SummaryMetadata__PluginData plugin;
    proto_value v;
    if (!w || !tag || !text) return lacks("an event file, a tag and a text", err);
    ProtobufCBinaryData bytes = {strlen(text), (uint8_t *)text};
    headrace__proto__tensor__init(&tensor);
    headrace__proto__tensor_shape__init(&scalar);
    headrace__proto__summary_metadata__init(&metadata);
    headrace__proto__summary_metadata__plugin_data__init(&plugin);
    headrace__proto__summary__value__init(&v);
    tensor.dtype = HEADRACE__PROTO__DATA_TYPE__DT_STRING;
    tensor.tensor_shape = &scalar;
    tensor.n_string_val = 1;
    tensor.string_val = &bytes;
    plugin.plugin_name = "text";
    metadata.plugin_data = &plugin;
    metadata.data_class = 2;
    v.value_case = HEADRACE__PROTO__SUMMARY__VALUE__VALUE_TENSOR;
    v.tensor = &tensor;
    v.metadata = &metadata;
    v.tag = (char *)tag;
    return event_writer_write_values(w, &(proto_value *){&v}, 1, step, err);
}

hr_status hr_event_summary_bytes(hr_event_writer *w, hr_view summary, int64_t step, hr_error *err)
{
    ProtobufCMessage *message;
    proto_event event;
    if (!w) return lacks("an event file", err);
    HR_TRY(hr__message_read(&headrace__proto__summary__descriptor, summary, &message, err));
    headrace__proto__event__init(&event);
    event.step = step;
    event.what_case = HEADRACE__PROTO__EVENT__WHAT_SUMMARY;
    event.summary = (Headrace__Proto__Summary *)(void *)message;
    const hr_status st = write_event(w, &event, err);
    hr__message_free(message);
    return st;
}

hr_status hr_event_graph(hr_event_writer *w, hr_view graph_def, hr_error *err)
{
    proto_event event;
    if (!w) return lacks("an event file", err);
    headrace__proto__event__init(&event);
    event.what_case = HEADRACE__PROTO__EVENT__WHAT_GRAPH_DEF;
    event.graph_def = (ProtobufCBinaryData){(size_t)graph_def.size, (uint8_t *)graph_def.data};
    return write_event(w, &event, err);
}

hr_status hr_event_session(hr_event_writer *w, hr_session_status status, const char *path, int64_t step, hr_error *err)
{
    proto_event event;
    Headrace__Proto__SessionLog log;
    if (!w) return lacks("an event file", err);
    headrace__proto__event__init(&event);
    headrace__proto__session_log__init(&log);
    log.status = (int32_t)status;
    if (path) log.checkpoint_path = (char *)path;
    event.step = step;
    event.what_case = HEADRACE__PROTO__EVENT__WHAT_SESSION_LOG;
    event.session_log = &log;
    return write_event(w, &event, err);
}

char *hr_summary_tag(const char *name)
{
    char *tag = name ? hr_strdup(name + strspn(name, "/")) : NULL;
    for (char *c = tag; c && *c; c++)
        if ((unsigned char)*c < 0x80 && !isalnum((unsigned char)*c) && !strchr("-/_.", *c)) *c = '_';
    return tag;
}
