/* Event files. Whole records go to the file in one write, so that a reader sees whole ones; nothing is renamed. */
#include <headrace/summary.h>
#include "base/clock.h"
#include "base/hash_map.h"
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
    char *folder, *suffix, *path;
    int file;
    long long second; /* in the file's name */
    int64_t written;  /* whole records in the file, in bytes */
    int64_t max_bytes;
    char *queue; /* records that are not in the file yet */
    size_t queued, capacity;
    int64_t events, max_events; /* in the queue */
    double flushed, flush_secs; /* since 1970: when the queue was last empty */
    hr__map run_tags;           /* of run metadata */
};

static hr_status lacks(const char *what, hr_error *err)
{
    return hr_fail(err, HR_INVALID_ARGUMENT, "summary.argument", "event file: expected %s, got NULL", what);
}

/* All of the queue in one write. After a failure the file ends with a whole record, as before. */
static hr_status event_writer_flush_queue(hr_event_writer *w, double now, hr_error *err)
{
    if (w->queued && !hr__write_all(w->file, w->queue, w->queued)) {
        const hr_status st = hr__sys_fail(err, errno, "file.write", w->path, "written");
        if (hr__sys_get()->ftruncate(w->file, (off_t)w->written) != 0)
            hr_log_message(HR_WARNING, "%s: may end within a record: a write failed, and so did cutting it back",
                           w->path);
        return st;
    }
    w->written += (int64_t)w->queued;
    w->queued = 0;
    w->events = 0;
    w->flushed = now;
    return HR_OK;
}

static hr_status event_writer_reserve(hr_event_writer *w, size_t size, hr_error *err)
{
    if (w->capacity - w->queued >= size) return HR_OK;
    const size_t capacity = w->queued + size + w->queued / 2;
    char *queue = hr_realloc(w->queue, capacity);
    if (!queue) return hr_no_memory(err, "an event");
    w->queue = queue;
    w->capacity = capacity;
    return HR_OK;
}

/* The event at the end of the queue. If the queue cannot be written then, the event is taken back, and what came before
 * it is tried again with the next one. */
static hr_status event_writer_put(hr_event_writer *w, proto_event *event, bool at_once, hr_error *err)
{
    event->wall_time = hr__time_of_day(NULL);
    const size_t size = headrace__proto__event__get_packed_size(event), before = w->queued;
    HR_TRY(event_writer_reserve(w, size + HR__RECORD_FRAME, err));
    char *record = w->queue + w->queued;
    headrace__proto__event__pack(event, (uint8_t *)record + HR__RECORD_HEADER);
    hr__record_header(record, size);
    hr__record_footer(record + HR__RECORD_HEADER + size, record + HR__RECORD_HEADER, size);
    w->queued += size + HR__RECORD_FRAME;
    w->events++;
    const double waited = event->wall_time - w->flushed;
    if (!at_once && w->events <= w->max_events && waited >= 0 && waited < w->flush_secs) return HR_OK;
    const hr_status st = event_writer_flush_queue(w, event->wall_time, err);
    if (st != HR_OK) {
        w->queued = before;
        w->events--;
    }
    return st;
}

static hr_status event_writer_roll(hr_event_writer *w, hr_error *err);

static hr_status write_event(hr_event_writer *w, proto_event *event, hr_error *err)
{
    if (w->max_bytes && w->written + (int64_t)w->queued >= w->max_bytes) HR_TRY(event_writer_roll(w, err));
    return event_writer_put(w, event, false, err);
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
static hr_status event_writer_open_file(hr_event_writer *w, hr_error *err)
{
    char host[256] = "localhost";
    gethostname(host, sizeof host - 1);
    for (int n = 0; n < 1000; n++) {
        char number[16] = "", name[512];
        if (n) snprintf(number, sizeof number, ".%d", n);
        snprintf(name, sizeof name, "events.out.tfevents.%010lld.%s%s%.150s", w->second, host, number, w->suffix);
        hr_free(w->path);
        w->path = hr__path_in(w->folder, name);
        if (!w->path) return hr_no_memory(err, "a path");
        w->file = hr__open(w->path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
        if (w->file >= 0) return HR_OK;
        if (errno != EEXIST) break;
    }
    return hr__sys_fail(err, errno, "file.open", w->path, "written");
}

static hr_status event_writer_begin_file(hr_event_writer *w, hr_error *err)
{
    proto_event event;
    Headrace__Proto__SourceMetadata source;
    HR_TRY(event_writer_open_file(w, err));
    headrace__proto__event__init(&event);
    headrace__proto__source_metadata__init(&source);
    event.what_case = HEADRACE__PROTO__EVENT__WHAT_FILE_VERSION;
    event.file_version = "brain.Event:2";
    source.writer = "headrace";
    event.source_metadata = &source;
    w->written = 0;
    return event_writer_put(w, &event, true, err);
}

/* The next file has a later second in its name than this one: readers go by names. If it cannot be begun, this one goes
 * on. */
static hr_status event_writer_roll(hr_event_writer *w, hr_error *err)
{
    HR_TRY(event_writer_flush_queue(w, hr__time_of_day(NULL), err));
    const int file = w->file;
    const int64_t written = w->written;
    const long long second = w->second, now = (long long)time(NULL);
    char *path = w->path;
    w->path = NULL;
    w->second = now > second ? now : second + 1;
    const hr_status st = event_writer_begin_file(w, err);
    if (st == HR_OK) {
        hr__sys_get()->close(file);
        hr_free(path);
        return HR_OK;
    }
    if (w->file != file && w->file >= 0) hr__sys_get()->close(w->file);
    hr_free(w->path);
    w->path = path;
    w->file = file;
    w->second = second;
    w->written = written;
    return st;
}

hr_status hr_event_writer_open(const char *folder, hr_event_writer **out, hr_error *err)
{
    return hr_event_writer_open_with(
        folder, &(hr_event_writer_opts){sizeof(hr_event_writer_opts), HR_I64(0), NULL, NULL, 0}, out, err);
}

hr_status hr_event_writer_open_with(const char *folder, const hr_event_writer_opts *opts, hr_event_writer **out,
                                    hr_error *err)
{
    const hr_event_writer_opts o = HR_OPTIONS(hr_event_writer_opts, opts);
    if (out) *out = NULL;
    if (!folder || !out) return lacks("a folder, and a place for the file", err);
    hr_event_writer *w = hr_calloc(1, sizeof *w);
    if (!w) return hr_no_memory(err, "an event file");
    w->file = -1;
    w->second = (long long)time(NULL);
    w->max_events = o.max_queue ? *o.max_queue : 10;
    w->flush_secs = o.flush_secs ? *o.flush_secs : 120;
    w->max_bytes = o.max_file_bytes > 0 ? o.max_file_bytes : 0;
    w->folder = hr_strdup(folder);
    w->suffix = hr_strdup(o.filename_suffix ? o.filename_suffix : "");
    hr_status st = w->folder && w->suffix ? hr__make_folders(folder, err) : hr_no_memory(err, "an event file");
    if (st == HR_OK) st = event_writer_begin_file(w, err);
    if (st == HR_OK)
        *out = w;
    else
        hr_event_writer_free(w);
    return st;
}

hr_status hr_event_writer_flush(hr_event_writer *w, hr_error *err)
{
    if (!w) return lacks("an event file", err);
    return event_writer_flush_queue(w, hr__time_of_day(NULL), err);
}

void hr_event_writer_free(hr_event_writer *w)
{
    hr_error err;
    if (!w) return;
    if (w->file >= 0 && event_writer_flush_queue(w, 0, &err) != HR_OK)
        hr_log_message(HR_WARNING, "%lld events are lost: %s", (long long)w->events, err.text);
    if (w->file >= 0) hr__sys_get()->close(w->file);
    hr__map_free(&w->run_tags);
    hr_free(w->queue);
    hr_free(w->folder);
    hr_free(w->suffix);
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

hr_status hr_event_meta_graph(hr_event_writer *w, hr_view meta_graph_def, int64_t step, hr_error *err)
{
    proto_event event;
    if (!w) return lacks("an event file", err);
    headrace__proto__event__init(&event);
    event.step = step;
    event.what_case = HEADRACE__PROTO__EVENT__WHAT_META_GRAPH_DEF;
    event.meta_graph_def = (ProtobufCBinaryData){(size_t)meta_graph_def.size, (uint8_t *)meta_graph_def.data};
    return write_event(w, &event, err);
}

hr_status hr_event_run_metadata(hr_event_writer *w, const char *tag, hr_view run_metadata, int64_t step, hr_error *err)
{
    proto_event event;
    Headrace__Proto__TaggedRunMetadata tagged;
    if (!w || !tag) return lacks("an event file, and a tag", err);
    if (hr__map_find(&w->run_tags, tag, strlen(tag)))
        return hr_fail(
            err, HR_INVALID_ARGUMENT, "summary.tag",
            "run metadata: expected a tag of its own, but '%.60s' was used for an earlier run; add the step to it",
            tag);
    headrace__proto__event__init(&event);
    headrace__proto__tagged_run_metadata__init(&tagged);
    tagged.tag = (char *)tag;
    tagged.run_metadata = (ProtobufCBinaryData){(size_t)run_metadata.size, (uint8_t *)run_metadata.data};
    event.step = step;
    event.what_case = HEADRACE__PROTO__EVENT__WHAT_TAGGED_RUN_METADATA;
    event.tagged_run_metadata = &tagged;
    HR_TRY(write_event(w, &event, err));
    return hr__map_add(&w->run_tags, tag, strlen(tag), 0, err);
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
