/* The table of a model's layers, line by line as Keras's model.summary() prints it. */
#include "base/text.h"
#include "train/models/models_internal.h"

#include <stdio.h>
#include <string.h>

enum { SUMMARY_COLUMNS = 5, SUMMARY_TRAINABLE = 11 };

typedef struct summary {
    hr_model *m;
    hr__text text;
    bool *relevant; /* calls that lead to the outputs */
    bool branches, show_trainable, expand_nested;
    int64_t length;
    int columns;
    int64_t end[SUMMARY_COLUMNS]; /* of each column */
} summary;

/* ---- lines ---- */

static void summary_repeat(summary *s, const char *text, int64_t times)
{
    while (times-- > 0) hr__text_add(&s->text, text);
}

static void summary_rule(summary *s, const char *text)
{
    summary_repeat(s, text, s->length);
    hr__text_byte(&s->text, '\n');
}

/* A line of `text` within the frames of models around it. */
static void summary_framed(summary *s, const char *text, int level)
{
    summary_repeat(s, "|", level);
    summary_repeat(s, text, s->length - 2 * level);
    summary_repeat(s, "|", level);
    hr__text_byte(&s->text, '\n');
}

/* How much of a cell stands in its next line: what has place, or less, up to the end of a tuple or a string. */
static int64_t summary_cut(const char *left, int64_t place)
{
    static const char *const ends[] = {"),", "},", "],", "',"};
    int64_t n = (int64_t)strlen(left);
    if (n > place) n = place;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        const char *at = strstr(left, ends[i]);
        if (at && at - left + 2 < n) n = at - left + 2;
    }
    return n;
}

static bool summary_any(const summary *s, const char *const *left)
{
    for (int i = 0; i < s->columns; i++)
        if (*left[i]) return true;
    return false;
}

/* A cell has two spaces between it and the next one; what has no place goes on below. */
static void summary_row(summary *s, const char *const *fields, int level)
{
    const char *left[SUMMARY_COLUMNS];
    (void)memcpy(left, fields, (size_t)s->columns * sizeof *left);
    while (summary_any(s, left)) {
        int64_t width = 0;
        for (int i = 0; i < s->columns; i++) {
            const bool last = i == s->columns - 1;
            const int64_t place = s->end[i] - (i > 0 ? s->end[i - 1] : 0) - (last ? 0 : 3) - (i == 0 ? level : 0);
            const int64_t n = summary_cut(left[i], place < 1 ? 1 : place), end = last ? s->end[i] - level : s->end[i];
            if (i == 0) {
                summary_repeat(s, "|", level);
                hr__text_byte(&s->text, ' ');
                width += level + 1;
            }
            hr__text_bytes(&s->text, left[i], (size_t)n);
            summary_repeat(s, " ", last ? 0 : 2);
            width += n + (last ? 0 : 2);
            summary_repeat(s, " ", end - width);
            if (end > width) width = end;
            left[i] += n;
        }
        summary_repeat(s, "|", level);
        hr__text_byte(&s->text, '\n');
    }
}

/* ---- what is said of a layer ---- */

static void summary_shape(hr__text *text, hr_shape shape)
{
    if (shape.rank < 0) {
        hr__text_add(text, "None");
        return;
    }
    hr__text_byte(text, '(');
    for (int i = 0; i < shape.rank; i++) {
        if (i > 0) hr__text_add(text, ", ");
        if (shape.dims[i] < 0)
            hr__text_add(text, "None");
        else
            hr__text_printf(text, "%lld", (long long)shape.dims[i]);
    }
    hr__text_add(text, shape.rank == 1 ? ",)" : ")");
}

static void summary_call_shapes(hr__text *text, const hr__body *b, const hr__call *c)
{
    const bool list = c->outputs > 1 || c->layer->input;
    if (list) hr__text_byte(text, '[');
    for (int i = 0; i < c->outputs; i++) {
        if (i > 0) hr__text_add(text, ", ");
        summary_shape(text, hr_node_shape(b->values.at[c->first + i].node));
    }
    if (list) hr__text_byte(text, ']');
}

static bool summary_same_shapes(const hr__body *b, const hr__call *x, const hr__call *y)
{
    for (int i = 0; i < x->outputs && i < y->outputs; i++)
        if (!hr_shape_equal(hr_node_shape(b->values.at[x->first + i].node),
                            hr_node_shape(b->values.at[y->first + i].node)))
            return false;
    return x->outputs == y->outputs;
}

/* The shapes of what a layer makes; "multiple" if its calls do not agree. */
static void summary_shapes(hr__text *text, const hr_layer *layer)
{
    const hr__body *b = layer->body;
    const hr__call *first = NULL;
    for (int i = 0; i < b->calls.count; i++) {
        const hr__call *c = &b->calls.at[i];
        if (c->layer != layer) continue;
        if (first && !summary_same_shapes(b, first, c)) {
            hr__text_add(text, "multiple");
            return;
        }
        if (!first) first = c;
    }
    if (first) summary_call_shapes(text, b, first);
}

/* The number of this call among those of its layer. */
static int summary_call_number(const hr__body *b, int call)
{
    int n = 0;
    for (int i = 0; i < call; i++) n += b->calls.at[i].layer == b->calls.at[call].layer;
    return n;
}

/* Where the values come from that the layer reads in this model: "['age[0][0]', 'dense[0][0]']". */
static void summary_connections(const summary *s, hr__text *text, const hr_layer *layer)
{
    const hr__body *b = s->m->body;
    bool any = false;
    hr__text_byte(text, '[');
    for (int i = 0; i < b->calls.count && layer->body == b; i++) {
        const hr__call *c = &b->calls.at[i];
        for (int k = 0; k < c->inputs && c->layer == layer && s->relevant[i]; k++) {
            const int value = c->input[k], from = b->values.at[value].call;
            hr__text_printf(text, "%s'%s[%d][%d]'", any ? ", " : "", b->calls.at[from].layer->name,
                            summary_call_number(b, from), value - b->calls.at[from].first);
            any = true;
        }
    }
    hr__text_byte(text, ']');
}

typedef struct summary_weights {
    hr_graph *graph;
    int64_t count[2], bytes[2]; /* those that are trained first */
} summary_weights;

static hr_status summary_weigh(void *user, hr_layer *layer, hr__layer_variable *weight, bool frozen)
{
    summary_weights *w = user;
    (void)layer;
    const hr_variable_info *v = hr_variable_named(w->graph, weight->name);
    const int of = weight->trainable && !frozen ? 0 : 1;
    const int64_t count = v ? hr_shape_count(v->shape) : 0;
    w->count[of] += count;
    w->bytes[of] += count * (int64_t)(v ? hr_dtype_size(v->dtype) : 0);
    return HR_OK;
}

static int64_t summary_params(const summary *s, hr_layer *layer)
{
    summary_weights w = {.graph = s->m->body->graph};
    hr_model *inner = layer->model;
    if (inner) (void)hr__each_weight(inner, summary_weigh, &w);
    for (int i = 0; i < layer->variables.count; i++)
        if (!layer->variables.at[i].state) (void)summary_weigh(&w, layer, &layer->variables.at[i], false);
    return w.count[0] + w.count[1];
}

static const char *summary_class(const hr_layer *layer)
{
    const hr_model *inner = layer->model;
    return inner && !inner->functional && layer->inner.count == 0 ? "Sequential" : layer->kind->name;
}

static hr_status summary_layer_row(summary *s, hr_layer *layer, int level, bool frozen, hr_error *err)
{
    hr__text name = {0}, shapes = {0}, params = {0}, from = {0};
    int columns = 3;
    hr__text_printf(&name, "%s (%s)", layer->name, summary_class(layer));
    summary_shapes(&shapes, layer);
    hr__text_printf(&params, "%lld", (long long)summary_params(s, layer));
    if (s->branches) summary_connections(s, &from, layer);
    const hr__text *all[] = {&name, &shapes, &params, &from};
    hr_status st = HR_OK;
    for (size_t i = 0; i < sizeof all / sizeof *all && st == HR_OK; i++) st = hr__text_status(all[i], "a summary", err);
    if (st == HR_OK) {
        const char *fields[SUMMARY_COLUMNS] = {name.data, shapes.data ? shapes.data : "", params.data};
        if (s->branches) fields[columns++] = from.data;
        if (s->show_trainable) fields[columns] = frozen ? "N" : "Y";
        summary_row(s, fields, level);
    }
    hr__text_free(&name);
    hr__text_free(&shapes);
    hr__text_free(&params);
    hr__text_free(&from);
    return st;
}

/* A layer, then those within it in a frame; the last line within a frame has no empty line after it. */
static hr_status summary_layer(summary *s, hr_layer *layer, int level, bool frozen, bool last, hr_error *err)
{
    const hr_model *inner = s->expand_nested && layer->inner.count == 0 ? layer->model : NULL;
    frozen = frozen || layer->frozen;
    HR_TRY(summary_layer_row(s, layer, level, frozen, err));
    if (inner && inner->order.count > 0) {
        summary_repeat(s, "|", level + 1);
        summary_repeat(s, "¯", s->length - 2 * level - 2);
        summary_repeat(s, "|", level + 1);
        hr__text_byte(&s->text, '\n');
        for (int i = 0; i < inner->order.count; i++)
            HR_TRY(summary_layer(s, inner->order.at[i], level + 1, frozen, i == inner->order.count - 1, err));
        summary_framed(s, "¯", level);
        last = true;
    }
    if (!last) summary_framed(s, " ", level);
    return HR_OK;
}

/* ---- the whole ---- */

/* A model of layers in a row, each of which reads one value and is called once, needs no column for connections. */
static bool summary_in_a_row(const hr_model *m, const bool *relevant, int *reads, int *calls)
{
    const hr__body *b = m->body;
    int ends = 0;
    for (int i = 0; i < b->calls.count; i++) {
        const hr__call *c = &b->calls.at[i];
        if (!relevant[i]) continue;
        if (c->inputs > 1 || ++calls[c->layer->index] > 1) return false;
        for (int k = 0; k < c->inputs; k++) reads[b->values.at[c->input[k]].call]++;
    }
    for (int i = 0; i < b->calls.count; i++) ends += relevant[i] && reads[i] == 0;
    return ends <= 1;
}

static hr_status summary_look(summary *s, hr_error *err)
{
    const hr_model *m = s->m;
    hr__body *b = m->body;
    int *reads = hr_calloc((size_t)b->calls.count + 1, sizeof *reads);
    int *calls = hr_calloc((size_t)b->layers.count + 1, sizeof *calls);
    s->relevant = hr_calloc((size_t)b->calls.count + 1, sizeof *s->relevant);
    hr_status st = s->relevant && reads && calls ? HR_OK : hr_no_memory(err, "a summary");
    if (st == HR_OK)
        st = hr__body_needed(b, m->inputs.at, m->inputs.count, m->outputs.at, m->outputs.count, s->relevant, err);
    for (int i = 0; i < m->inputs.count && st == HR_OK; i++) s->relevant[b->values.at[m->inputs.at[i]].call] = true;
    if (st == HR_OK) s->branches = m->functional && !summary_in_a_row(m, s->relevant, reads, calls);
    hr_free(reads);
    hr_free(calls);
    return st;
}

static void summary_columns(summary *s, const hr_summary_text_opts *o)
{
    static const double row[] = {0.45, 0.85, 1}, branches[] = {0.3, 0.6, 0.7, 1};
    const double *at = o->positions ? o->positions : s->branches ? branches : row;
    s->columns = s->branches ? 4 : 3;
    s->length = o->line_length > 0 ? o->line_length : s->branches ? 98 : 65;
    if (s->length > 10000) s->length = 10000;
    for (int i = 0; i < s->columns; i++) {
        const double end = at[s->columns - 1] <= 1 ? (double)s->length * at[i] : at[i];
        s->end[i] = end >= 0 && end <= 10000 ? (int64_t)end : s->length;
    }
    if (!s->show_trainable) return;
    s->length += SUMMARY_TRAINABLE;
    s->end[s->columns++] = s->length;
}

static void summary_total(summary *s, const char *what, int64_t params, int64_t bytes)
{
    static const char *const units[] = {"Byte", "KB", "MB", "GB", "TB", "PB"};
    double size = (double)bytes;
    size_t unit = 0;
    for (; size >= 1024 && unit + 1 < sizeof units / sizeof *units; unit++) size /= 1024;
    hr__text_printf(&s->text, "%s params: %lld (%.2f %s)\n", what, (long long)params, size, units[unit]);
}

static hr_status summary_write(summary *s, hr_error *err)
{
    hr_model *m = s->m;
    const char *heads[SUMMARY_COLUMNS] = {"Layer (type)", "Output Shape", "Param #"};
    summary_weights w = {.graph = m->body->graph};
    int heading = 3;
    if (s->branches) heads[heading++] = "Connected to";
    if (s->show_trainable) heads[heading] = "Trainable";
    hr__text_printf(&s->text, "Model: \"%s\"\n", m->name);
    summary_rule(s, "_");
    summary_row(s, heads, 0);
    summary_rule(s, "=");
    for (int i = 0; i < m->order.count; i++) HR_TRY(summary_layer(s, m->order.at[i], 0, false, false, err));
    summary_rule(s, "=");
    (void)hr__each_weight(m, summary_weigh, &w);
    summary_total(s, "Total", w.count[0] + w.count[1], w.bytes[0] + w.bytes[1]);
    summary_total(s, "Trainable", w.count[0], w.bytes[0]);
    summary_total(s, "Non-trainable", w.count[1], w.bytes[1]);
    summary_rule(s, "_");
    return hr__text_status(&s->text, "a summary", err);
}

char *hr_model_summary_with(hr_model *m, const hr_summary_text_opts *opts)
{
    const hr_summary_text_opts o = HR_OPTIONS(hr_summary_text_opts, opts);
    summary s = {.m = m, .show_trainable = o.show_trainable, .expand_nested = o.expand_nested};
    hr_error err = {0};
    if (!m) return NULL;
    hr_status st = hr__model_begin(m, &err);
    if (st == HR_OK && !m->built)
        st = hr_fail(&err, HR_INVALID_ARGUMENT, "models.not_built",
                     "model '%.60s': it is not built yet, so its shapes and weights are not known; give .input_shape, "
                     "or call hr_model_build",
                     m->name);
    if (st == HR_OK) st = summary_look(&s, &err);
    if (st == HR_OK) {
        summary_columns(&s, &o);
        st = summary_write(&s, &err);
    }
    hr_free(s.relevant);
    char *text = st == HR_OK ? hr__text_take(&s.text) : NULL;
    hr__text_free(&s.text);
    if (st != HR_OK) hr__model_failed(m, &err);
    return text;
}
