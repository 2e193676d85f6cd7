/* Reads event files value by value. What a summary holds is told in one form, whether TensorFlow 1 or 2 wrote it. */
#include <headrace/io.h>
#include <headrace/summary.h>
#include "base/bytes.h"
#include "base/hash_map.h"
#include "io/match.h"
#include "proto/event.pb-c.h"
#include "proto/message.h"
#include <float.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

typedef Headrace__Proto__Summary__Value proto_value;

struct hr_event_reader {
    hr_file_list files;
    int64_t next_file, record; /* of the file that is open: records read so far */
    hr_policy policy;
    hr_record_reader *records; /* NULL: none is open */
    ProtobufCMessage *message; /* the event in hand */
    size_t value;              /* of its summary: those before it were given */
    hr__map kinds;             /* a tag to the hr_event_kind that its first metadata said */
    hr_event event;            /* what is lent */
    double *buckets;
    hr_view *texts;
    char *tensor;
};

bool hr_is_event_file(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    return path && strstr(slash ? slash : path, "tfevents");
}

/* ---- values ---- */

static hr_event_kind kind_of_plugin(const char *plugin)
{
    static const struct {
        const char *name;
        hr_event_kind kind;
    } plugins[] = {{"scalars", HR_EVENT_SCALAR},
                   {"histograms", HR_EVENT_HISTOGRAM},
                   {"images", HR_EVENT_IMAGES},
                   {"audio", HR_EVENT_AUDIO},
                   {"text", HR_EVENT_TEXT}};
    for (size_t i = 0; i < sizeof plugins / sizeof *plugins; i++)
        if (strcmp(plugin, plugins[i].name) == 0) return plugins[i].kind;
    return HR_EVENT_TENSOR;
}

/* Only the first value of a tag has metadata in files of TensorFlow 1. */
static hr_status event_reader_kind(hr_event_reader *r, const proto_value *v, hr_event_kind *kind, hr_error *err)
{
    const Headrace__Proto__SummaryMetadata *m = v->metadata;
    const size_t size = strlen(v->tag);
    const int64_t *known = hr__map_find(&r->kinds, v->tag, size);
    *kind = known ? (hr_event_kind)*known : HR_EVENT_TENSOR;
    if (!m) return HR_OK;
    r->event.plugin = m->plugin_data ? m->plugin_data->plugin_name : "";
    r->event.display_name = m->display_name;
    r->event.description = m->summary_description;
    *kind = kind_of_plugin(r->event.plugin);
    return hr__map_set(&r->kinds, v->tag, size, (int64_t)*kind, err);
}

static hr_status event_reader_histogram(hr_event_reader *r, const Headrace__Proto__Histogram *h, hr_error *err)
{
    hr_event *e = &r->event;
    const size_t count = h->n_bucket < h->n_bucket_limit ? h->n_bucket : h->n_bucket_limit;
    r->buckets = hr_malloc((count + 1) * 3 * sizeof *r->buckets);
    if (!r->buckets) return hr_no_memory(err, "a histogram");
    for (size_t i = 0; i < count; i++) {
        r->buckets[3 * i] = i ? h->bucket_limit[i - 1] : -DBL_MAX;
        r->buckets[3 * i + 1] = h->bucket_limit[i];
        r->buckets[3 * i + 2] = h->bucket[i];
    }
    e->kind = HR_EVENT_HISTOGRAM;
    e->buckets = r->buckets;
    e->bucket_count = (int64_t)count;
    e->min = h->min;
    e->max = h->max;
    e->num = h->num;
    e->sum = h->sum;
    e->sum_squares = h->sum_squares;
    return HR_OK;
}

/* The one number of a tensor of floats; NaN: it is none. */
static double scalar_of(const Headrace__Proto__Tensor *t)
{
    double wide;
    float narrow;
    const ProtobufCBinaryData *raw = &t->tensor_content;
    if (t->dtype == HEADRACE__PROTO__DATA_TYPE__DT_FLOAT && t->n_float_val) return (double)t->float_val[0];
    if (t->dtype == HEADRACE__PROTO__DATA_TYPE__DT_DOUBLE && t->n_double_val) return t->double_val[0];
    if (t->dtype == HEADRACE__PROTO__DATA_TYPE__DT_FLOAT && raw->len == sizeof narrow) {
        memcpy(&narrow, raw->data, sizeof narrow);
        return (double)narrow;
    }
    if (t->dtype == HEADRACE__PROTO__DATA_TYPE__DT_DOUBLE && raw->len == sizeof wide) {
        memcpy(&wide, raw->data, sizeof wide);
        return wide;
    }
    return NAN;
}

/* Rows of three doubles. */
static hr_status event_reader_rows(hr_event_reader *r, const Headrace__Proto__Tensor *t, hr_error *err)
{
    hr_event *e = &r->event;
    const bool raw = t->tensor_content.len > 0;
    const size_t numbers = raw ? t->tensor_content.len / sizeof(double) : t->n_double_val;
    if (t->dtype != HEADRACE__PROTO__DATA_TYPE__DT_DOUBLE) return HR_OK;
    r->buckets = hr_malloc((numbers + 1) * sizeof *r->buckets);
    if (!r->buckets) return hr_no_memory(err, "a histogram");
    if (numbers)
        memcpy(r->buckets, raw ? (const void *)t->tensor_content.data : t->double_val, numbers * sizeof(double));
    e->buckets = r->buckets;
    e->bucket_count = (int64_t)numbers / 3;
    for (int64_t i = 0; i < e->bucket_count; i++) e->num += e->buckets[3 * i + 2];
    if (e->bucket_count) {
        e->min = e->buckets[0];
        e->max = e->buckets[3 * e->bucket_count - 2];
    }
    e->sum = e->sum_squares = NAN;
    return HR_OK;
}

static hr_status event_reader_texts(hr_event_reader *r, const Headrace__Proto__Tensor *t, hr_error *err)
{
    r->texts = hr_malloc((t->n_string_val + 1) * sizeof *r->texts);
    if (!r->texts) return hr_no_memory(err, "strings");
    for (size_t i = 0; i < t->n_string_val; i++)
        r->texts[i] = (hr_view){(const char *)t->string_val[i].data, (int64_t)t->string_val[i].len};
    r->event.texts = r->texts;
    r->event.text_count = (int64_t)t->n_string_val;
    return HR_OK;
}

static hr_status event_reader_tensor(hr_event_reader *r, const proto_value *v, hr_error *err)
{
    hr_event *e = &r->event;
    HR_TRY(event_reader_kind(r, v, &e->kind, err));
    const size_t size = headrace__proto__tensor__get_packed_size(v->tensor);
    r->tensor = hr_malloc(size + 1);
    if (!r->tensor) return hr_no_memory(err, "a tensor");
    headrace__proto__tensor__pack(v->tensor, (uint8_t *)r->tensor);
    e->bytes = (hr_view){r->tensor, (int64_t)size};
    if (e->kind == HR_EVENT_SCALAR) e->scalar = scalar_of(v->tensor);
    if (e->kind == HR_EVENT_HISTOGRAM) return event_reader_rows(r, v->tensor, err);
    return event_reader_texts(r, v->tensor, err);
}

static hr_view view_of(ProtobufCBinaryData bytes) { return (hr_view){(const char *)bytes.data, (int64_t)bytes.len}; }

static hr_status event_reader_media(hr_event_reader *r, hr_event_kind kind, ProtobufCBinaryData file)
{
    r->event.kind = kind;
    r->event.bytes = view_of(file);
    return HR_OK;
}

static hr_status event_reader_value(hr_event_reader *r, const proto_value *v, hr_error *err)
{
    hr_event *e = &r->event;
    e->tag = v->tag;
    switch (v->value_case) {
    case HEADRACE__PROTO__SUMMARY__VALUE__VALUE_SIMPLE_VALUE:
        e->kind = HR_EVENT_SCALAR;
        e->scalar = (double)v->simple_value;
        return HR_OK;
    case HEADRACE__PROTO__SUMMARY__VALUE__VALUE_HISTO:
        return event_reader_histogram(r, v->histo, err);
    case HEADRACE__PROTO__SUMMARY__VALUE__VALUE_TENSOR:
        return event_reader_tensor(r, v, err);
    case HEADRACE__PROTO__SUMMARY__VALUE__VALUE_IMAGE:
        e->height = v->image->height;
        e->width = v->image->width;
        e->channels = v->image->colorspace;
        return event_reader_media(r, HR_EVENT_IMAGE, v->image->encoded_image_string);
    case HEADRACE__PROTO__SUMMARY__VALUE__VALUE_AUDIO:
        return event_reader_media(r, HR_EVENT_AUDIO, v->audio->encoded_audio_string);
    default:
        return HR_OK;
    }
}

/* ---- events ---- */

static hr_view text_of(const char *text) { return (hr_view){text, (int64_t)strlen(text)}; }

static void event_reader_other(hr_event_reader *r, const Headrace__Proto__Event *p)
{
    hr_event *e = &r->event;
    switch (p->what_case) {
    case HEADRACE__PROTO__EVENT__WHAT_FILE_VERSION:
        e->kind = HR_EVENT_VERSION;
        e->bytes = text_of(p->file_version);
        return;
    case HEADRACE__PROTO__EVENT__WHAT_GRAPH_DEF:
        e->kind = HR_EVENT_GRAPH;
        e->bytes = view_of(p->graph_def);
        return;
    case HEADRACE__PROTO__EVENT__WHAT_META_GRAPH_DEF:
        e->kind = HR_EVENT_META_GRAPH;
        e->bytes = view_of(p->meta_graph_def);
        return;
    case HEADRACE__PROTO__EVENT__WHAT_LOG_MESSAGE:
        e->kind = HR_EVENT_LOG;
        e->bytes = text_of(p->log_message->message);
        return;
    case HEADRACE__PROTO__EVENT__WHAT_SESSION_LOG:
        e->kind = HR_EVENT_SESSION;
        e->session = (hr_session_status)p->session_log->status;
        e->bytes = text_of(p->session_log->checkpoint_path);
        return;
    case HEADRACE__PROTO__EVENT__WHAT_TAGGED_RUN_METADATA:
        e->kind = HR_EVENT_RUN_METADATA;
        e->tag = p->tagged_run_metadata->tag;
        e->bytes = view_of(p->tagged_run_metadata->run_metadata);
        return;
    default:
        return;
    }
}

static void event_reader_drop_value(hr_event_reader *r)
{
    hr_free(r->buckets);
    hr_free(r->texts);
    hr_free(r->tensor);
    r->buckets = NULL;
    r->texts = NULL;
    r->tensor = NULL;
}

static void event_reader_drop_event(hr_event_reader *r)
{
    event_reader_drop_value(r);
    hr__message_free(r->message);
    r->message = NULL;
    r->value = 0;
}

/* The next value of the event in hand. */
static hr_status event_reader_lend(hr_event_reader *r, const hr_event **out, hr_error *err)
{
    const Headrace__Proto__Event *p = (const void *)r->message;
    const bool summary = p->what_case == HEADRACE__PROTO__EVENT__WHAT_SUMMARY;
    event_reader_drop_value(r);
    r->event = (hr_event){.step = p->step, .wall_time = p->wall_time, .file = r->event.file};
    r->event.tag = r->event.plugin = r->event.display_name = r->event.description = "";
    r->event.value_count = summary ? (int)p->summary->n_value : 0;
    r->event.value = (int)r->value;
    hr_status st = HR_OK;
    if (!summary)
        event_reader_other(r, p);
    else if (r->value < p->summary->n_value)
        st = event_reader_value(r, p->summary->value[r->value], err);
    r->value++;
    if (st == HR_OK) *out = &r->event;
    return st;
}

static bool event_reader_has_more(const hr_event_reader *r)
{
    const Headrace__Proto__Event *p = (const void *)r->message;
    return p && p->what_case == HEADRACE__PROTO__EVENT__WHAT_SUMMARY && r->value < p->summary->n_value;
}

/* ---- files ---- */

/* A sound record that is no event: told to whoever asked, and passed over unless the policy is to fail. */
static hr_status event_reader_no_event(hr_event_reader *r, hr_view record, hr_error *err)
{
    hr_error why;
    const int64_t at = hr_record_offset(r->records);
    hr_fail(&why, HR_DATA_LOSS, "event.record",
            "%.200s:%lld: record %lld: expected an event, got %lld bytes that are none; the file was not written by a "
            "summary writer",
            r->event.file, (long long)at, (long long)r->record, (long long)record.size);
    why.record = r->record;
    why.offset = at;
    why.length = record.size;
    strncpy(why.file, r->event.file, sizeof why.file - 1);
    if (r->policy.on_error == HR_FAIL) {
        if (err) *err = why;
        return HR_DATA_LOSS;
    }
    if (r->policy.on_damage) r->policy.on_damage(&why, record, r->policy.user);
    return HR_OK;
}

static hr_status event_reader_open_next(hr_event_reader *r, hr_error *err)
{
    if (r->next_file >= r->files.count) return HR_END;
    const hr_record_opts opts = {.struct_size = sizeof opts, .compression = HR_NONE, .policy = r->policy};
    r->event.file = r->files.path[r->next_file];
    r->record = -1;
    HR_TRY(hr_record_reader_open_with(r->event.file, &opts, &r->records, err));
    r->next_file++;
    return HR_OK;
}

/* The next event of all files. */
static hr_status event_reader_next(hr_event_reader *r, hr_error *err)
{
    hr_view record;
    event_reader_drop_event(r);
    while (!r->message) {
        if (!r->records) HR_TRY(event_reader_open_next(r, err));
        hr_status st = hr_record_read(r->records, &record, err);
        if (st == HR_END) {
            hr_record_reader_free(r->records);
            r->records = NULL;
            continue;
        }
        HR_TRY(st);
        r->record++;
        st = hr__message_read(&headrace__proto__event__descriptor, record, &r->message, err);
        if (st == HR_DATA_LOSS) st = event_reader_no_event(r, record, err);
        HR_TRY(st);
    }
    return HR_OK;
}

static hr_status event_reader_find_files(hr_event_reader *r, const char *path, hr_error *err)
{
    struct stat about;
    if (stat(path, &about) != 0 || !S_ISDIR(about.st_mode)) return hr_file_list_add(&r->files, path, err);
    char *pattern = hr__pattern_in(path, "*tfevents*");
    if (!pattern) return hr_no_memory(err, "a path");
    const hr_status st = hr_match_files(pattern, &r->files, err);
    hr_free(pattern);
    return st;
}

static hr_status reader_lacks(const char *what, hr_error *err)
{
    return hr_fail(err, HR_INVALID_ARGUMENT, "summary.argument", "event reader: expected %s, got NULL", what);
}

hr_status hr_event_reader_open(const char *path, const hr_policy *policy, hr_event_reader **out, hr_error *err)
{
    if (out) *out = NULL;
    if (!path || !out) return reader_lacks("a path, and a place for the reader", err);
    hr_event_reader *r = hr_calloc(1, sizeof *r);
    if (!r) return hr_no_memory(err, "an event reader");
    if (policy) r->policy = *policy;
    r->event.file = "";
    hr_status st = event_reader_find_files(r, path, err);
    if (st == HR_OK) st = event_reader_open_next(r, err);
    if (st == HR_OK)
        *out = r;
    else
        hr_event_reader_free(r);
    return st;
}

hr_status hr_event_read(hr_event_reader *r, const hr_event **event, hr_error *err)
{
    if (event) *event = NULL;
    if (!r || !event) return reader_lacks("a reader, and a place for the event", err);
    if (!event_reader_has_more(r)) HR_TRY(event_reader_next(r, err));
    return event_reader_lend(r, event, err);
}

void hr_event_reader_free(hr_event_reader *r)
{
    if (!r) return;
    event_reader_drop_event(r);
    hr_record_reader_free(r->records);
    hr_file_list_clear(&r->files);
    hr__map_free(&r->kinds);
    hr_free(r);
}

/* ---- the points of one scalar ---- */

typedef struct points {
    hr_scalar_point *at;
    int64_t count, capacity;
} points;

static hr_status points_add(points *p, const hr_event *e, hr_error *err)
{
    if (p->count == p->capacity) {
        const int64_t capacity = p->capacity ? 2 * p->capacity : 64;
        hr_scalar_point *more = hr_realloc(p->at, (size_t)capacity * sizeof *more);
        if (!more) return hr_no_memory(err, "points");
        p->at = more;
        p->capacity = capacity;
    }
    p->at[p->count++] = (hr_scalar_point){e->step, e->wall_time, e->scalar};
    return HR_OK;
}

/* After a restart from `step`: what the run before wrote from there on no longer counts. */
static void points_drop(points *p, int64_t step)
{
    int64_t kept = 0;
    for (int64_t i = 0; i < p->count; i++)
        if (p->at[i].step < step) p->at[kept++] = p->at[i];
    p->count = kept;
}

hr_status hr_event_scalars(const char *path, const char *tag, hr_scalar_point **out, int64_t *count, hr_error *err)
{
    hr_event_reader *r;
    const hr_event *e;
    points p = {0};
    if (out) *out = NULL;
    if (count) *count = 0;
    if (!tag || !out || !count) return reader_lacks("a tag, and a place for its points", err);
    HR_TRY(hr_event_reader_open(path, NULL, &r, err));
    hr_status st;
    while ((st = hr_event_read(r, &e, err)) == HR_OK) {
        if (e->kind == HR_EVENT_SESSION && e->session == HR_SESSION_START) points_drop(&p, e->step);
        if (e->kind == HR_EVENT_SCALAR && strcmp(e->tag, tag) == 0) st = points_add(&p, e, err);
        if (st != HR_OK) break;
    }
    hr_event_reader_free(r);
    if (st == HR_END) {
        *out = p.at;
        *count = p.count;
        return HR_OK;
    }
    hr_free(p.at);
    return st;
}
