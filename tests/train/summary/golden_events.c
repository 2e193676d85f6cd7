/* Event files that TensorFlow wrote, and what an event file must hold when the same things are written here. */
#include "tests/golden/golden.h"
#include "tests/train/summary/read_events.h"
#include "train/summary/histogram.h"
#include <headrace/arrays.h>
#include <headrace/images.h>
#include <headrace/ops.h>
#include <headrace/summary.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool same_float(double expected, float got) { return isnan(expected) ? isnan(got) : (float)expected == got; }

static bool close_to(double expected, double got)
{
    return expected == got || fabs(expected - got) <= 1e-12 * fabs(expected);
}

/* ---- values ---- */

static golden_result compare_histogram(golden_case *c, const cJSON *expected, const double *limit, const double *bucket,
                                       size_t buckets, const double five[5])
{
    static const char *const names[] = {"min", "max", "num", "sum", "sum_squares"};
    const cJSON *limits = golden_get(expected, "bucket_limit"), *counts = golden_get(expected, "bucket");
    for (int i = 0; i < 5; i++) {
        double e = golden_number_double(golden_get(expected, names[i]));
        if (i < 3 ? e != five[i] : !close_to(e, five[i]))
            return golden_differs(c, "%s is %.17g, expected %.17g", names[i], five[i], e);
    }
    if ((size_t)cJSON_GetArraySize(limits) != buckets)
        return golden_differs(c, "%zu buckets, expected %d", buckets, cJSON_GetArraySize(limits));
    for (size_t i = 0; i < buckets; i++)
        if (golden_number_double(cJSON_GetArrayItem(limits, (int)i)) != limit[i] ||
            golden_number_double(cJSON_GetArrayItem(counts, (int)i)) != bucket[i])
            return golden_differs(c, "bucket %zu: %.17g below %.17g", i, bucket[i], limit[i]);
    return GOLDEN_AGREES;
}

static double number_at(const hr_tensor *t, int64_t i)
{
    return t->dtype == HR_DOUBLE  ? ((const double *)t->data)[i]
           : t->dtype == HR_FLOAT ? (double)((const float *)t->data)[i]
                                  : (double)((const int64_t *)t->data)[i];
}

/* The form of summaries v2. */
static golden_result compare_rows(golden_case *c, const cJSON *expected, const double *values, int64_t count)
{
    hr_tensor rows;
    hr_error err;
    golden_result result = GOLDEN_AGREES;
    if (!golden_tensor(expected, &rows)) return golden_differs(c, "modern is no tensor");
    double *got = calloc((size_t)rows.count + 1, sizeof *got);
    if (hr__histogram_rows(values, count, rows.shape.dims[0], got, &err) != HR_OK)
        result = golden_differs(c, "%s", err.text);
    for (int64_t i = 0; i < rows.count && result == GOLDEN_AGREES; i++)
        if (got[i] != number_at(&rows, i))
            result = golden_differs(c, "row %lld, number %lld: %.17g, expected %.17g", (long long)i / 3,
                                    (long long)i % 3, got[i], number_at(&rows, i));
    free(got);
    golden_tensor_clear(&rows);
    return result;
}

static golden_result run_histogram(golden_case *c)
{
    hr_tensor values;
    hr__histogram h;
    hr_error err;
    if (!golden_tensor(golden_get(c->json, "values"), &values)) return golden_differs(c, "no values");
    double *wide = calloc((size_t)values.count + 1, sizeof *wide);
    for (int64_t i = 0; i < values.count; i++) wide[i] = number_at(&values, i);
    hr_status st = hr__histogram_of(wide, values.count, &h, &err);
    golden_result result = GOLDEN_AGREES;
    const char *class = golden_error_class(c->json);
    if (class)
        result = strcmp(hr_status_name(st), class) == 0 ? GOLDEN_AGREES : golden_differs(c, "%s", hr_status_name(st));
    else if (st != HR_OK)
        result = golden_differs(c, "%s", err.text);
    else
        result = compare_histogram(c, golden_get(golden_get(c->json, "expect"), "histo"), h.limit, h.bucket, h.buckets,
                                   (const double[]){h.min, h.max, h.num, h.sum, h.sum_squares});
    const cJSON *modern = golden_get(golden_get(c->json, "expect"), "modern");
    if (result == GOLDEN_AGREES && modern) result = compare_rows(c, modern, wide, values.count);
    if (st == HR_OK) hr__histogram_clear(&h);
    free(wide);
    golden_tensor_clear(&values);
    return result;
}

/* ---- events ---- */

/* The hex may be of the first bytes alone. */
static golden_result same_bytes(golden_case *c, const cJSON *hex, ProtobufCBinaryData got)
{
    const hr_view expected = golden_hex(hex);
    const bool same = expected.size >= 0 && (size_t)expected.size <= got.len &&
                      memcmp(expected.data, got.data, (size_t)expected.size) == 0;
    free((void *)expected.data);
    return same ? GOLDEN_AGREES : golden_differs(c, "other bytes");
}

static golden_result compare_value(golden_case *c, const cJSON *expected, const summary_value *v)
{
    const char *kind = golden_text(expected, "kind", "");
    if (strcmp(golden_text(expected, "tag", ""), v->tag) != 0) return golden_differs(c, "tag '%s'", v->tag);
    if (strcmp(kind, "simple_value") == 0) {
        double e = golden_number_double(golden_get(expected, "simple_value"));
        if (v->value_case != HEADRACE__PROTO__SUMMARY__VALUE__VALUE_SIMPLE_VALUE || !same_float(e, v->simple_value))
            return golden_differs(c, "'%s' is %.9g, expected %.9g", v->tag, (double)v->simple_value, e);
        return GOLDEN_AGREES;
    }
    if (strcmp(kind, "histo") == 0) {
        const cJSON *histo = golden_get(expected, "histo");
        if (v->value_case != HEADRACE__PROTO__SUMMARY__VALUE__VALUE_HISTO)
            return golden_differs(c, "'%s' is no histogram", v->tag);
        const Headrace__Proto__Histogram *h = v->histo;
        if (!golden_get(histo, "bucket")) {
            golden_whole(histo); /* the values are random */
            return GOLDEN_AGREES;
        }
        return compare_histogram(c, histo, h->bucket_limit, h->bucket, h->n_bucket,
                                 (const double[]){h->min, h->max, h->num, h->sum, h->sum_squares});
    }
    if (strcmp(kind, "image") == 0) {
        const cJSON *image = golden_get(expected, "image");
        const Headrace__Proto__Image *i = v->image;
        if (v->value_case != HEADRACE__PROTO__SUMMARY__VALUE__VALUE_IMAGE ||
            i->height != golden_int(image, "height", 0) || i->width != golden_int(image, "width", 0) ||
            i->colorspace != golden_int(image, "colorspace", 0))
            return golden_differs(c, "'%s' is another picture", v->tag);
        return same_bytes(c, golden_get(image, "png"), i->encoded_image_string);
    }
    if (strcmp(kind, "audio") == 0) {
        const cJSON *audio = golden_get(expected, "audio");
        const Headrace__Proto__Audio *a = v->audio;
        if (v->value_case != HEADRACE__PROTO__SUMMARY__VALUE__VALUE_AUDIO ||
            golden_number_double(golden_get(audio, "sample_rate")) != (double)a->sample_rate ||
            golden_int(audio, "num_channels", 0) != a->num_channels ||
            golden_int(audio, "length_frames", 0) != a->length_frames ||
            strcmp(golden_text(audio, "content_type", ""), a->content_type) != 0)
            return golden_differs(c, "'%s' is another sound", v->tag);
        return same_bytes(c, golden_get(audio, "bytes"), a->encoded_audio_string);
    }
    if (strcmp(kind, "tensor") == 0) golden_whole(expected); /* the second form of summaries is not written here */
    if (strcmp(kind, "tensor") == 0)
        return v->value_case == HEADRACE__PROTO__SUMMARY__VALUE__VALUE_TENSOR
                   ? GOLDEN_AGREES
                   : golden_differs(c, "'%s' is no tensor", v->tag);
    return golden_not_built(c, "summaries of kind %s", kind);
}

static const char *what_of(const event *e)
{
    static const char *const names[] = {[HEADRACE__PROTO__EVENT__WHAT_FILE_VERSION] = "file_version",
                                        [HEADRACE__PROTO__EVENT__WHAT_GRAPH_DEF] = "graph_def",
                                        [HEADRACE__PROTO__EVENT__WHAT_SUMMARY] = "summary",
                                        [HEADRACE__PROTO__EVENT__WHAT_SESSION_LOG] = "session_log",
                                        [HEADRACE__PROTO__EVENT__WHAT_META_GRAPH_DEF] = "meta_graph_def",
                                        [HEADRACE__PROTO__EVENT__WHAT_TAGGED_RUN_METADATA] = "tagged_run_metadata"};
    size_t which = (size_t)e->what_case;
    return which < sizeof names / sizeof *names && names[which] ? names[which] : "";
}

static golden_result compare_summary(golden_case *c, const cJSON *expected, const event *e)
{
    if ((size_t)cJSON_GetArraySize(expected) != e->summary->n_value)
        return golden_differs(c, "step %lld: %zu values, expected %d", (long long)e->step, e->summary->n_value,
                              cJSON_GetArraySize(expected));
    for (size_t i = 0; i < e->summary->n_value; i++) {
        golden_result result = compare_value(c, cJSON_GetArrayItem(expected, (int)i), e->summary->value[i]);
        if (result != GOLDEN_AGREES) return result;
    }
    return GOLDEN_AGREES;
}

static golden_result compare_event(golden_case *c, const cJSON *expected, const event *e)
{
    static const char *const statuses[] = {"", "START", "STOP", "CHECKPOINT"};
    const char *what = golden_text(expected, "what", "");
    if (golden_int(expected, "step", 0) != e->step)
        return golden_differs(c, "%s at step %lld", what, (long long)e->step);
    const double wall_time = golden_number_double(golden_get(expected, "wall_time"));
    if (golden_get(expected, "wall_time") && fabs(wall_time - e->wall_time) > 1e-6)
        return golden_differs(c, "%s: %.6f seconds since 1970, expected %.6f", what, e->wall_time, wall_time);
    if (strcmp(what, what_of(e)) != 0) return golden_differs(c, "'%s', expected '%s'", what_of(e), what);
    if (strcmp(what, "file_version") == 0 && strcmp(e->file_version, golden_text(expected, what, "")) != 0)
        return golden_differs(c, "file_version %s", e->file_version);
    if (strcmp(what, "summary") == 0) return compare_summary(c, golden_get(expected, what), e);
    if (strncmp(what, "graph", 5) == 0 || strncmp(what, "meta_graph", 10) == 0)
        golden_whole(golden_get(expected, what)); /* graphs are not written into event files yet */
    if (strcmp(what, "tagged_run_metadata") == 0) {
        const cJSON *tagged = golden_get(expected, what);
        golden_whole(golden_get(tagged, "devices")); /* read where run metadata is */
        if (strcmp(golden_text(tagged, "tag", ""), e->tagged_run_metadata->tag) != 0 ||
            golden_int(tagged, "bytes", -1) != (int64_t)e->tagged_run_metadata->run_metadata.len)
            return golden_differs(c, "run metadata '%s'", e->tagged_run_metadata->tag);
    }
    if (strcmp(what, "session_log") != 0) return GOLDEN_AGREES;
    const cJSON *log = golden_get(expected, what);
    const Headrace__Proto__SessionLog *l = e->session_log;
    if (l->status < 0 || l->status > 3 || strcmp(golden_text(log, "status", ""), statuses[l->status]) != 0 ||
        strcmp(golden_text(log, "checkpoint_path", ""), l->checkpoint_path) != 0 ||
        strcmp(golden_text(log, "msg", ""), l->msg) != 0)
        return golden_differs(c, "session log %d '%s'", (int)l->status, l->checkpoint_path);
    return GOLDEN_AGREES;
}

/* The public reader must give each value of each event, and end in the same way. */
static golden_result compare_reader(golden_case *c, const char *path, const event_list *list, hr_status end)
{
    hr_event_reader *r;
    const hr_event *e;
    hr_error err;
    hr_status st = hr_event_reader_open(path, NULL, &r, &err);
    if (st != HR_OK) return golden_differs(c, "%s", err.text);
    golden_result result = GOLDEN_AGREES;
    for (int i = 0; i < list->count && result == GOLDEN_AGREES; i++) {
        const event *x = list->event[i];
        const bool summary = x->what_case == HEADRACE__PROTO__EVENT__WHAT_SUMMARY;
        const size_t values = summary && x->summary->n_value ? x->summary->n_value : 1;
        for (size_t k = 0; k < values && result == GOLDEN_AGREES; k++) {
            const char *tag = summary && x->summary->n_value ? x->summary->value[k]->tag : NULL;
            st = hr_event_read(r, &e, &err);
            if (st != HR_OK || e->step != x->step || e->wall_time != x->wall_time || e->kind == HR_EVENT_EMPTY ||
                (tag && strcmp(tag, e->tag) != 0))
                result = golden_differs(c, "event %d, value %zu, of the public reader", i, k);
        }
    }
    if (result == GOLDEN_AGREES) {
        st = hr_event_read(r, &e, &err);
        if (st != (end == HR_OK ? HR_END : end)) result = golden_differs(c, "the public reader ends otherwise");
        if (st != HR_END && !strstr(err.file, "tfevents")) result = golden_differs(c, "the error lacks its file");
    }
    hr_event_reader_free(r);
    return result;
}

/* The points of each scalar as TensorBoard has them. */
static golden_result compare_points(golden_case *c, const char *path, const cJSON *accumulator)
{
    const cJSON *series, *point;
    golden_result result = GOLDEN_AGREES;
    cJSON_ArrayForEach(series, golden_fields(golden_get(accumulator, "scalars")))
    {
        hr_scalar_point *points;
        int64_t count, i = 0;
        hr_error err;
        const hr_status st = hr_event_scalars(path, series->string, &points, &count, &err);
        if (st != HR_OK || count != cJSON_GetArraySize(series)) {
            result = golden_differs(c, "'%s': %lld points, %s", series->string, (long long)count, hr_status_name(st));
        } else {
            cJSON_ArrayForEach(point, series)
            {
                const double step = golden_number_double(cJSON_GetArrayItem(point, 0));
                if (step != (double)points[i].step ||
                    !same_float(golden_number_double(cJSON_GetArrayItem(point, 1)), points[i].value))
                    result = golden_differs(c, "'%s': point %lld", series->string, (long long)i);
                i++;
            }
        }
        hr_free(points);
    }
    return result;
}

static golden_result run_file(golden_case *c)
{
    char path[1024];
    event_list list;
    hr_error err = {0};
    golden_result result = GOLDEN_AGREES;
    const cJSON *expect = golden_get(c->json, "expect"), *events = golden_get(expect, "events");
    snprintf(path, sizeof path, "%s/%s", c->folder, golden_text(c->json, "file", ""));
    hr_status st = read_events(path, &list, &err);
    const char *class = golden_error_class(expect);
    if (strcmp(golden_text(c->json, "compare", "steps_tags_kinds"), "steps_tags_kinds") != 0)
        return golden_not_built(c, "comparing %s", golden_text(c->json, "compare", ""));
    golden_whole(golden_get(expect, "accumulator"));
    golden_whole(golden_get(expect, "accumulator_error"));
    golden_get(golden_get(c->json, "default"), "report");             /* is the error below */
    if (!class && golden_get(c->json, "default")) class = "DataLoss"; /* what TensorFlow does not notice */
    if (list.count != cJSON_GetArraySize(events))
        result = golden_differs(c, "%d events, expected %d", list.count, cJSON_GetArraySize(events));
    for (int i = 0; i < list.count && result == GOLDEN_AGREES; i++)
        result = compare_event(c, cJSON_GetArrayItem(events, i), list.event[i]);
    if (result == GOLDEN_AGREES && strcmp(hr_status_name(st), class ? class : "OK") != 0)
        result = golden_differs(c, "the file ends with %s", hr_status_name(st));
    if (result == GOLDEN_AGREES) result = compare_reader(c, path, &list, st);
    if (result == GOLDEN_AGREES && st == HR_OK) result = compare_points(c, path, golden_get(expect, "accumulator"));
    free_events(&list);
    return result;
}

/* ---- runs of several files ---- */

static hr_status write_run_file(const char *folder, const cJSON *items, hr_error *err)
{
    hr_event_writer *w;
    const cJSON *item;
    HR_TRY(hr_event_writer_open_with(folder, NULL, &w, err));
    hr_status st = HR_OK;
    cJSON_ArrayForEach(item, items)
    {
        const char *tag = cJSON_GetArrayItem(item, 0)->valuestring;
        const int64_t step = golden_number_int64(cJSON_GetArrayItem(item, 1));
        const cJSON *value = cJSON_GetArrayItem(item, 2);
        if (st == HR_OK)
            st = value ? hr_event_scalar(w, tag, (float)golden_number_double(value), step, err)
                       : hr_event_session(w, HR_SESSION_START, NULL, step, err);
    }
    hr_event_writer_free(w);
    return st;
}

/* TensorFlow's folder, and one that is written here. */
static golden_result run_directory(golden_case *c)
{
    char theirs[1024], ours[256];
    hr_error err;
    const cJSON *items, *accumulator = golden_get(golden_get(c->json, "expect"), "accumulator");
    golden_whole(accumulator);
    snprintf(theirs, sizeof theirs, "%s/%s", c->folder, golden_text(c->json, "directory", ""));
    snprintf(ours, sizeof ours, "%s-here", c->name);
    cJSON_ArrayForEach(items, golden_get(c->json, "items"))
    {
        if (write_run_file(ours, items, &err) != HR_OK) return golden_differs(c, "%s", err.text);
    }
    const golden_result result = compare_points(c, theirs, accumulator);
    return result == GOLDEN_AGREES ? compare_points(c, ours, accumulator) : result;
}

static golden_result run_names(golden_case *c)
{
    const cJSON *names = golden_get(c->json, "names"),
                *expected = golden_get(golden_get(c->json, "expect"), "is_event_file");
    for (int i = 0; i < cJSON_GetArraySize(names); i++) {
        const char *name = cJSON_GetArrayItem(names, i)->valuestring;
        if (hr_is_event_file(name) != cJSON_IsTrue(cJSON_GetArrayItem(expected, i)))
            return golden_differs(c, "'%s'", name);
    }
    return GOLDEN_AGREES;
}

/* ---- writing ---- */

static hr_status write_items(hr_event_writer *w, const cJSON *items, hr_error *err)
{
    const cJSON *item, *pair;
    cJSON_ArrayForEach(item, items)
    {
        hr_summary_value value[16];
        float number[16];
        int count = 0;
        cJSON_ArrayForEach(pair, golden_get(item, "scalars"))
        {
            number[count] = (float)golden_number_double(cJSON_GetArrayItem(pair, 1));
            value[count] = (hr_summary_value){
                .tag = cJSON_GetArrayItem(pair, 0)->valuestring, .values = &number[count], .count = 1};
            count++;
        }
        HR_TRY(hr_event_summary(w, value, count, golden_int(item, "step", 0), err));
    }
    return HR_OK;
}

static golden_result compare_written(golden_case *c, const char *path, const cJSON *items)
{
    event_list list;
    hr_error err;
    if (read_events(path, &list, &err) != HR_OK) return golden_differs(c, "%s", err.text);
    golden_result result = GOLDEN_AGREES;
    if (list.count != cJSON_GetArraySize(items) + 1 || strcmp(what_of(list.event[0]), "file_version") != 0)
        result = golden_differs(c, "%d events", list.count);
    for (int i = 1; i < list.count && result == GOLDEN_AGREES; i++) {
        const cJSON *item = cJSON_GetArrayItem(items, i - 1), *scalars = golden_get(item, "scalars");
        const event *e = list.event[i];
        if (strcmp(what_of(e), "summary") != 0 || e->step != golden_int(item, "step", 0) ||
            e->summary->n_value != (size_t)cJSON_GetArraySize(scalars))
            result = golden_differs(c, "event %d", i);
        for (size_t k = 0; result == GOLDEN_AGREES && k < e->summary->n_value; k++) {
            const cJSON *pair = cJSON_GetArrayItem(scalars, (int)k);
            const summary_value *v = e->summary->value[k];
            if (strcmp(v->tag, cJSON_GetArrayItem(pair, 0)->valuestring) != 0 ||
                !same_float(golden_number_double(cJSON_GetArrayItem(pair, 1)), v->simple_value))
                result = golden_differs(c, "event %d: '%s'", i, v->tag);
        }
    }
    free_events(&list);
    return result;
}

/* Nothing but an error to expect: run metadata whose tag is used twice. */
static golden_result run_metadata_twice(golden_case *c)
{
    hr_event_writer *w;
    hr_error err;
    const hr_view metadata = {"\x0a\x00", 2};
    const char *class = golden_error_class(c->json);
    if (hr_event_writer_open("run_metadata", &w, &err) != HR_OK) return golden_differs(c, "%s", err.text);
    hr_status st = hr_event_run_metadata(w, "step_5", metadata, 5, &err);
    if (st == HR_OK) st = hr_event_run_metadata(w, "step_6", metadata, 5, &err);
    if (st == HR_OK) st = hr_event_run_metadata(w, "step_5", metadata, 6, &err) == HR_OK ? HR_OK : err.code;
    hr_event_writer_free(w);
    return class && strcmp(hr_status_name(st), class) == 0 ? GOLDEN_AGREES
                                                           : golden_differs(c, "%s", hr_status_name(st));
}

static golden_result run_write(golden_case *c)
{
    hr_event_writer *w;
    hr_error err;
    char path[4096];
    const cJSON *items = golden_get(c->json, "items");
    if (cJSON_GetArraySize(items) == 0) return run_metadata_twice(c);
    golden_whole(golden_get(c->json, "expect")); /* the items again, as TensorFlow reads them */
    if (hr_event_writer_open("written", &w, &err) != HR_OK) return golden_differs(c, "%s", err.text);
    snprintf(path, sizeof path, "%s", hr_event_writer_path(w));
    hr_status st = write_items(w, items, &err);
    hr_event_writer_free(w);
    golden_result result = st == HR_OK ? compare_written(c, path, items) : golden_differs(c, "%s", err.text);
    unlink(path);
    return result;
}

/* ---- summaries of graphs ---- */

/* What the node computes: *out is a string. */
static hr_status run_summary(hr_graph *g, hr_node node, hr_tensor *out, hr_error *err)
{
    hr_session *session = hr_session_new(g, .workers = &(int){0});
    const hr_status st = hr_session_run(session, NULL, 0, &node, 1, out, err);
    hr_session_free(session);
    return st;
}

static Headrace__Proto__Summary *summary_of(const hr_tensor *t)
{
    const hr_view bytes = *(const hr_view *)t->data;
    return headrace__proto__summary__unpack(NULL, (size_t)bytes.size, (const uint8_t *)bytes.data);
}

/* A sound name whose case is an error: the summary is merged with another of its tag. */
static golden_result compare_tag(golden_case *c, hr_graph *g, hr_node summary)
{
    hr_tensor bytes = {0};
    hr_error err = {0};
    golden_result result = GOLDEN_AGREES;
    const char *class = golden_error_class(c->json);
    hr_status st = hr_graph_error(g) ? hr_graph_error(g)->code : HR_OK;
    if (st == HR_OK && class) summary = hr_merge_summary((hr_node[]){summary, summary}, 2, NULL);
    if (st == HR_OK) st = run_summary(g, summary, &bytes, &err);
    if (st != HR_OK || class) {
        if (!class || strcmp(hr_status_name(st), class) != 0)
            result =
                golden_differs(c, "%s: %s", hr_status_name(st), hr_graph_error(g) ? hr_graph_error(g)->text : err.text);
    } else {
        Headrace__Proto__Summary *s = summary_of(&bytes);
        const char *expected = golden_text(golden_get(c->json, "expect"), "tag", "");
        if (!s || s->n_value != 1 || strcmp(s->value[0]->tag, expected) != 0)
            result = golden_differs(c, "'%s', expected '%s'", s && s->n_value ? s->value[0]->tag : "", expected);
        headrace__proto__summary__free_unpacked(s, NULL);
    }
    hr_tensor_clear(&bytes);
    return result;
}

static golden_result run_tag(golden_case *c)
{
    const char *scope = golden_text(c->json, "scope", NULL);
    const int64_t times = golden_int(c->json, "nth", 1);
    hr_graph *g = hr_graph_new();
    hr_node summary = {0};
    if (scope) hr_name_scope(g, scope);
    for (int64_t i = 0; i < times; i++)
        summary = hr_scalar_summary(golden_text(c->json, "summary", ""), hr_scalar(g, HR_FLOAT, 1.5),
                                    .family = golden_text(c->json, "family", NULL));
    if (scope) hr_scope_end(g);
    const golden_result result = compare_tag(c, g, summary);
    hr_graph_free(g);
    return result;
}

/* ---- pictures ---- */

static golden_result compare_picture(golden_case *c, int i, const summary_value *v)
{
    const cJSON *expect = golden_get(c->json, "expect"), *about = cJSON_GetArrayItem(golden_get(expect, "images"), i);
    const cJSON *tag = cJSON_GetArrayItem(golden_get(expect, "tags"), i);
    if (strcmp(v->tag, tag ? tag->valuestring : "") != 0) return golden_differs(c, "tag '%s'", v->tag);
    if (v->value_case != HEADRACE__PROTO__SUMMARY__VALUE__VALUE_IMAGE) return golden_differs(c, "no picture");
    const Headrace__Proto__Image *image = v->image;
    if (image->height != golden_int(about, "height", 0) || image->width != golden_int(about, "width", 0) ||
        image->colorspace != golden_int(about, "colorspace", 0))
        return golden_differs(c, "picture %d: %d x %d, colorspace %d", i, image->height, image->width,
                              image->colorspace);
    hr_tensor pixels = {0};
    hr_error err = {0};
    hr_graph *g = hr_graph_new();
    const hr_view png = {(const char *)image->encoded_image_string.data, (int64_t)image->encoded_image_string.len};
    const hr_tensor file = {.dtype = HR_STRING, .count = 1, .data = (void *)&png};
    const hr_status st = run_summary(g, hr_decode_png(hr_const(g, &file)), &pixels, &err);
    golden_result result =
        st == HR_UNIMPLEMENTED ? golden_not_built(c, "PNG, which this build lacks")
        : st != HR_OK          ? golden_differs(c, "%s", err.text)
        : golden_equal_json(c, "pixels", cJSON_GetArrayItem(golden_get(expect, "decoded"), i), &pixels)
            ? GOLDEN_AGREES
            : GOLDEN_DIFFERS;
    hr_tensor_clear(&pixels);
    hr_graph_free(g);
    return result;
}

static golden_result run_image(golden_case *c)
{
    hr_tensor values, bytes = {0};
    hr_error err = {0};
    if (!golden_tensor(golden_get(c->json, "values"), &values)) return golden_differs(c, "no values");
    hr_graph *g = hr_graph_new();
    const hr_node summary = hr_image_summary("x", hr_const(g, &values));
    golden_result result = GOLDEN_AGREES;
    if (run_summary(g, summary, &bytes, &err) != HR_OK) {
        result = golden_differs(c, "%s", err.text);
    } else {
        Headrace__Proto__Summary *s = summary_of(&bytes);
        const int count = cJSON_GetArraySize(golden_get(golden_get(c->json, "expect"), "decoded"));
        if (!s || s->n_value != (size_t)count) result = golden_differs(c, "%zu pictures", s ? s->n_value : 0);
        for (int i = 0; i < count && result == GOLDEN_AGREES; i++) result = compare_picture(c, i, s->value[i]);
        headrace__proto__summary__free_unpacked(s, NULL);
    }
    hr_tensor_clear(&bytes);
    golden_tensor_clear(&values);
    hr_graph_free(g);
    return result;
}

static golden_result run_case(golden_case *c)
{
    const char *kind = golden_text(c->json, "kind", "");
    if (strcmp(kind, "histogram") == 0) return run_histogram(c);
    if (strcmp(kind, "file") == 0) return run_file(c);
    if (strcmp(kind, "write") == 0) return run_write(c);
    if (strcmp(kind, "tag") == 0) return run_tag(c);
    if (strcmp(kind, "image") == 0) return run_image(c);
    if (strcmp(kind, "directory") == 0) return run_directory(c);
    if (strcmp(kind, "names") == 0) return run_names(c);
    return golden_not_built(c, "%s", kind);
}

int main(void) { return golden_main("events", GOLDEN_ROOT, run_case); }
