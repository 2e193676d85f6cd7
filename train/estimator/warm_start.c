/* Warm starts: which variables get a value of a checkpoint, under which name, and how values follow the words of a
 * vocabulary. All values are made before the first is set. */
#include "train/checkpoint/folder.h"
#include "train/estimator/estimator_internal.h"
#include "train/layers/layers_internal.h"
#include "train/ops/text/pattern.h"
#include <headrace/column_kernels.h>
#include <stdio.h>
#include <string.h>

typedef struct warm_start {
    const hr_warm_start_settings *settings;
    hr_graph *graph;
    hr_session *session;
    int64_t seed;  /* of backup initializers without one */
    bool v1_names; /* of a canned estimator of TensorFlow 1 */
    hr_bundle *bundle;
    bool *chosen;     /* of the graph's variables */
    hr_tensor *value; /* of each; empty: it keeps its own */
    int variables;
} warm_start;

/* ---- settings ---- */

static hr_status warm_refuse(hr_error *err, const char *what, const char *name)
{
    return hr_fail(err, HR_INVALID_ARGUMENT, "warm_start.argument", "warm start: expected %s, got '%.100s'", what,
                   name ? name : "NULL");
}

static hr_status check_settings(const hr_warm_start_settings *w, hr_error *err)
{
    const hr_vocab_info_list *vocabularies = &w->var_name_to_vocab_info;
    const hr_prev_var_names *names = &w->var_name_to_prev_var_name;
    if (!w->ckpt_to_initialize_from || !*w->ckpt_to_initialize_from)
        return warm_refuse(err, "ckpt_to_initialize_from", w->ckpt_to_initialize_from);
    if (w->var_list.count < 0 || (w->var_list.count && !w->var_list.strings))
        return warm_refuse(err, "var_list to be strings", NULL);
    for (int64_t i = 0; i < w->var_list.count; i++)
        if (!w->var_list.strings[i]) return warm_refuse(err, "var_list to be strings", NULL);
    if (vocabularies->count < 0 || (vocabularies->count && !vocabularies->info))
        return warm_refuse(err, "an array of var_name_to_vocab_info", NULL);
    for (int i = 0; i < vocabularies->count; i++) {
        const hr_vocab_info *v = &vocabularies->info[i];
        if (!v->var_name || !v->new_vocab || !v->old_vocab)
            return warm_refuse(err, "a var_name, a new_vocab and an old_vocab of each vocabulary", v->var_name);
        if (v->axis < 0 || v->axis > 1) return warm_refuse(err, "axis 0 or 1 of a vocabulary", v->var_name);
        if (v->new_vocab_size < 0 || v->old_vocab_size < 0 || v->num_oov_buckets < 0)
            return warm_refuse(err, "sizes of 0 or more of a vocabulary", v->var_name);
    }
    if (names->count < 0 || (names->count && !names->name))
        return warm_refuse(err, "an array of var_name_to_prev_var_name", NULL);
    for (int i = 0; i < names->count; i++)
        if (!names->name[i].var_name || !names->name[i].prev_var_name)
            return warm_refuse(err, "both names of each of var_name_to_prev_var_name", names->name[i].var_name);
    return HR_OK;
}

/* ---- which variables ---- */

static const hr_variable_info *variable_at(const warm_start *w, int i) { return hr_graph_variable(w->graph, i); }

/* Its key in checkpoints. */
static const char *name_of(const hr_variable_info *v) { return v->piece ? v->piece->full_name : v->name; }

static const hr_vocab_info *vocabulary_of(const warm_start *w, const char *name)
{
    const hr_vocab_info_list *list = &w->settings->var_name_to_vocab_info;
    for (int i = 0; i < list->count; i++)
        if (strcmp(list->info[i].var_name, name) == 0) return &list->info[i];
    return NULL;
}

static const char *previous_name(const warm_start *w, const char *name)
{
    const hr_prev_var_names *list = &w->settings->var_name_to_prev_var_name;
    for (int i = 0; i < list->count; i++)
        if (strcmp(list->name[i].var_name, name) == 0) return list->name[i].prev_var_name;
    return name;
}

/* Whether it is a slot of an optimizer: its name goes on after that of a trainable variable. */
static bool is_slot(const warm_start *w, const hr_variable_info *v)
{
    for (int i = 0; i < w->variables; i++) {
        const hr_variable_info *of = variable_at(w, i);
        const size_t size = strlen(of->name);
        if (of != v && (of->sets & HR_TRAINABLE_VARIABLES) && strncmp(v->name, of->name, size) == 0 &&
            v->name[size] == '/')
            return true;
    }
    return false;
}

/* The name that an expression sees: TensorFlow's names of variables end in ":0". The canned estimators of TensorFlow 1
 * have variables in pieces of one, whose slots lie below the estimator's scope once more. */
static void seen_name(const warm_start *w, const hr_variable_info *v, char *text, size_t size)
{
    const char *scope_end = w->v1_names ? strchr(v->name, '/') : NULL;
    if (scope_end && is_slot(w, v))
        snprintf(text, size, "%.*s%.1000s:0", (int)(scope_end + 1 - v->name), v->name, v->name);
    else
        snprintf(text, size, "%.1000s%s:0", v->name, scope_end && !v->piece ? "/part_0" : "");
}

/* Adds those of `sets` that the expression matches. */
static hr_status choose_matching(warm_start *w, const char *pattern, unsigned sets, hr_error *err)
{
    const size_t count = (size_t)w->variables;
    char(*text)[2048] = hr_malloc((count + 1) * sizeof *text);
    hr_view *view = hr_calloc(count + 1, sizeof *view);
    bool *matches = hr_calloc(count + 1, sizeof *matches);
    hr_status st = text && view && matches ? HR_OK : hr_no_memory(err, "a warm start");
    for (int i = 0; i < w->variables && st == HR_OK; i++) {
        seen_name(w, variable_at(w, i), text[i], sizeof text[i]);
        view[i] = (hr_view){text[i], (int64_t)strlen(text[i])};
    }
    const hr_tensor names = hr_tensor_of(HR_STRING, HR_SHAPE(w->variables), view);
    if (st == HR_OK && w->variables)
        st = hr__pattern_begins((hr_view){pattern, (int64_t)strlen(pattern)}, &names, matches, err);
    for (int i = 0; i < w->variables && st == HR_OK; i++)
        w->chosen[i] |= matches[i] && (variable_at(w, i)->sets & sets);
    hr_free(text);
    hr_free(view);
    hr_free(matches);
    return st;
}

static hr_status choose(warm_start *w, hr_error *err)
{
    const hr_warm_start_settings *s = w->settings;
    const char *pattern = s->vars_to_warm_start && !s->vocab_info_only ? s->vars_to_warm_start : ".*";
    if (!s->var_list.count) HR_TRY(choose_matching(w, pattern, HR_TRAINABLE_VARIABLES, err));
    for (int64_t i = 0; i < s->var_list.count; i++)
        HR_TRY(choose_matching(w, s->var_list.strings[i], HR_GLOBAL_VARIABLES, err));
    return HR_OK;
}

/* A name that is none of the chosen variables' is a mistake that would pass without a trace. */
static hr_status check_used(const warm_start *w, const char *map, const char *name, hr_error *err)
{
    const char *first = NULL;
    for (int i = 0; i < w->variables; i++) {
        if (!w->chosen[i]) continue;
        if (strcmp(name_of(variable_at(w, i)), name) == 0) return HR_OK;
        if (!first) first = name_of(variable_at(w, i));
    }
    return hr_fail(err, HR_INVALID_ARGUMENT, "warm_start.unused",
                   "warm start: %s names '%.100s', which is none of the variables to warm-start%s%.100s; is it "
                   "misspelled?",
                   map, name, first ? ", such as " : ": there is none", first ? first : "");
}

static hr_status check_all_used(const warm_start *w, hr_error *err)
{
    const hr_vocab_info_list *vocabularies = &w->settings->var_name_to_vocab_info;
    const hr_prev_var_names *names = &w->settings->var_name_to_prev_var_name;
    for (int i = 0; i < names->count; i++)
        HR_TRY(check_used(w, "var_name_to_prev_var_name", names->name[i].var_name, err));
    for (int i = 0; i < vocabularies->count; i++)
        HR_TRY(check_used(w, "var_name_to_vocab_info", vocabularies->info[i].var_name, err));
    return HR_OK;
}

/* ---- values of the checkpoint ---- */

static hr_shape full_shape(const hr_variable_info *v) { return v->piece ? v->piece->full_shape : v->shape; }

static hr_status read_previous(const warm_start *w, const hr_variable_info *v, hr_tensor *out, hr_error *err)
{
    const char *from = w->settings->ckpt_to_initialize_from, *name = name_of(v), *previous = previous_name(w, name);
    bool has;
    HR_TRY(hr_bundle_has(w->bundle, previous, &has, err));
    if (!has)
        return hr_fail(err, HR_INVALID_ARGUMENT, "warm_start.variable",
                       "warm start: variable '%.100s': expected '%.100s' in the checkpoint %.200s, found none", name,
                       previous, from);
    HR_TRY(hr_bundle_read(w->bundle, previous, out, err));
    if (out->dtype == v->dtype) return HR_OK;
    const hr_dtype found = out->dtype;
    hr_tensor_clear(out);
    return hr_fail(err, HR_INVALID_ARGUMENT, "warm_start.variable",
                   "warm start: variable '%.100s': expected %s, found %s as '%.100s' in the checkpoint %.200s", name,
                   hr_dtype_name(v->dtype), hr_dtype_name(found), previous, from);
}

static hr_status check_shape(const warm_start *w, const hr_variable_info *v, hr_shape found, hr_error *err)
{
    char a[128], b[128];
    const hr_shape shape = full_shape(v);
    if (hr_shape_equal(shape, found)) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "warm_start.variable",
                   "warm start: variable '%.100s' has the shape %s, but '%.100s' has %s in the checkpoint %.200s; give "
                   "its vocabularies in var_name_to_vocab_info, or leave it out",
                   name_of(v), hr_shape_text(shape, a, sizeof a), previous_name(w, name_of(v)),
                   hr_shape_text(found, b, sizeof b), w->settings->ckpt_to_initialize_from);
}

/* ---- values that follow words ---- */

static hr_status vocabulary_refuse(const hr_vocab_info *v, const char *what, int64_t expected, int64_t found,
                                   hr_error *err)
{
    return hr_fail(err, HR_INVALID_ARGUMENT, "warm_start.vocabulary",
                   "warm start: variable '%.100s', axis %d: expected %s %lld, found %lld", v->var_name, v->axis, what,
                   (long long)expected, (long long)found);
}

/* from[i]: the old place of new word i, or -1. Buckets after the words have none. */
static void old_places(const hr_words *new_words, const hr_words *old_words, hr_view *room, int64_t *from)
{
    const int64_t count = hr_words_size(new_words);
    for (int64_t i = 0; i < count; i++) room[i] = hr_words_at(new_words, i);
    const hr_column_values words = {.dtype = HR_STRING, .values = room, .count = count};
    hr_words_look_up(old_words, &words, -1, 0, from);
}

/* The vocabularies of a variable, and where each of its rows or columns was before. */
typedef struct move {
    const hr_vocab_info *vocabulary;
    hr_words *new_words, *old_words;
    hr_view *room;
    int64_t *from; /* new words, then buckets; -1: it is new */
    int64_t count;
} move;

static void move_clear(move *m)
{
    hr_words_unref(m->new_words);
    hr_words_unref(m->old_words);
    hr_free(m->room);
    hr_free(m->from);
}

static hr_status move_fill(move *m, hr_error *err)
{
    const hr_vocab_info *v = m->vocabulary;
    HR_TRY(hr_words_of_file(v->var_name, v->new_vocab, false, false, v->new_vocab_size ? v->new_vocab_size : -1,
                            &m->new_words, err));
    HR_TRY(hr_words_of_file(v->var_name, v->old_vocab, false, false, v->old_vocab_size ? v->old_vocab_size : -1,
                            &m->old_words, err));
    const int64_t words = hr_words_size(m->new_words);
    if (v->num_oov_buckets > INT32_MAX) return warm_refuse(err, "fewer num_oov_buckets", v->var_name);
    m->count = words + v->num_oov_buckets;
    m->room = hr_calloc((size_t)words + 1, sizeof *m->room);
    m->from = hr_malloc(((size_t)m->count + 1) * sizeof *m->from);
    if (!m->room || !m->from) return hr_no_memory(err, "a vocabulary");
    for (int64_t i = words; i < m->count; i++) m->from[i] = -1;
    old_places(m->new_words, m->old_words, m->room, m->from);
    return HR_OK;
}

/* Rows or columns of both must be those of their vocabularies. */
static hr_status move_check(const move *m, hr_shape now, hr_shape before, hr_error *err)
{
    const hr_vocab_info *v = m->vocabulary;
    if (now.rank != 2 || before.rank != 2)
        return vocabulary_refuse(v, "a variable of rank", 2, now.rank != 2 ? now.rank : before.rank, err);
    if (now.dims[v->axis] != m->count)
        return vocabulary_refuse(v, "words and buckets of the new vocabulary, as the variable is long,",
                                 now.dims[v->axis], m->count, err);
    if (now.dims[1 - v->axis] != before.dims[1 - v->axis])
        return vocabulary_refuse(v, "along the other axis, as in the checkpoint,", before.dims[1 - v->axis],
                                 now.dims[1 - v->axis], err);
    if (hr_words_size(m->old_words) <= before.dims[v->axis]) return HR_OK;
    return vocabulary_refuse(v, "at most as many old words as the checkpoint's variable is long,", before.dims[v->axis],
                             hr_words_size(m->old_words), err);
}

static void move_values(const move *m, const hr_tensor *before, hr_tensor *now)
{
    const bool rows = m->vocabulary->axis == 0;
    const int64_t height = now->shape.dims[0], width = now->shape.dims[1], old_width = before->shape.dims[1];
    const float *in = before->data;
    float *out = now->data;
    for (int64_t r = 0; r < height; r++)
        for (int64_t c = 0; c < width; c++) {
            const int64_t from = m->from[rows ? r : c];
            if (from >= 0) out[r * width + c] = in[(rows ? from : r) * old_width + (rows ? c : from)];
        }
}

/* The whole variable's value, by its vocabularies. */
static hr_status move_all(const warm_start *w, const hr_variable_info *v, move *m, const hr_tensor *before,
                          hr_tensor *out, hr_error *err)
{
    const hr_shape shape = full_shape(v);
    if (v->dtype != HR_FLOAT)
        return hr_fail(err, HR_INVALID_ARGUMENT, "warm_start.vocabulary",
                       "warm start: variable '%.100s': expected float32 for a vocabulary, found %s", name_of(v),
                       hr_dtype_name(v->dtype));
    HR_TRY(move_fill(m, err));
    HR_TRY(move_check(m, shape, before->shape, err));
    const hr_status st = hr__initial_values(m->vocabulary->backup_initializer, shape, w->seed, out, err);
    if (st == HR_OK) move_values(m, before, out);
    return st;
}

/* Gives the whole variable's value. */
static hr_status whole_value(const warm_start *w, const hr_variable_info *v, hr_tensor *out, hr_error *err)
{
    hr_tensor before;
    move m = {.vocabulary = vocabulary_of(w, name_of(v))};
    HR_TRY(read_previous(w, v, &before, err));
    if (!m.vocabulary) {
        const hr_status st = check_shape(w, v, before.shape, err);
        if (st == HR_OK)
            *out = before;
        else
            hr_tensor_clear(&before);
        return st;
    }
    const hr_status st = move_all(w, v, &m, &before, out, err);
    move_clear(&m);
    hr_tensor_clear(&before);
    return st;
}

/* ---- pieces ---- */

/* The part of `whole` that a piece is: one run of values for each place before its axis. */
static hr_status cut_piece(const hr_variable_info *v, const hr_tensor *whole, hr_tensor *out, hr_error *err)
{
    const int axis = v->piece->axis;
    size_t before = 1, after = hr_dtype_size(v->dtype);
    for (int i = 0; i < axis; i++) before *= (size_t)v->shape.dims[i];
    for (int i = axis + 1; i < v->shape.rank; i++) after *= (size_t)v->shape.dims[i];
    const size_t run = after * (size_t)v->shape.dims[axis], all = after * (size_t)whole->shape.dims[axis];
    HR_TRY(hr_tensor_new(out, v->dtype, v->shape, err));
    for (size_t i = 0; i < before; i++)
        memcpy((char *)out->data + i * run,
               (const char *)whole->data + i * all + after * (size_t)v->piece->offset[axis], run);
    return HR_OK;
}

/* Its strings borrow from the whole, which lives only now. */
static hr_status piece_value(const warm_start *w, const hr_variable_info *v, hr_tensor *out, hr_error *err)
{
    hr_tensor whole;
    if (v->dtype == HR_STRING) return warm_refuse(err, "no variable of strings in pieces", name_of(v));
    HR_TRY(whole_value(w, v, &whole, err));
    const hr_status st = cut_piece(v, &whole, out, err);
    hr_tensor_clear(&whole);
    return st;
}

/* ---- all of it ---- */

/* Without a vocabulary, a variable of vocab_info_only keeps its own value. */
static bool starts_warm(const warm_start *w, int i)
{
    return w->chosen[i] && (!w->settings->vocab_info_only || vocabulary_of(w, name_of(variable_at(w, i))));
}

static hr_status read_values(warm_start *w, hr_error *err)
{
    for (int i = 0; i < w->variables; i++) {
        const hr_variable_info *v = variable_at(w, i);
        if (starts_warm(w, i)) HR_TRY((v->piece ? piece_value : whole_value)(w, v, &w->value[i], err));
    }
    return HR_OK;
}

static hr_status set_values(const warm_start *w, hr_error *err)
{
    int count = 0;
    for (int i = 0; i < w->variables; i++) {
        if (!starts_warm(w, i)) continue;
        HR_TRY(hr_session_set(w->session, variable_at(w, i)->handle, &w->value[i], err));
        count++;
    }
    hr_log_message(count ? HR_INFO : HR_WARNING, "Warm-started %d variables from %s.", count,
                   w->settings->ckpt_to_initialize_from);
    return HR_OK;
}

static hr_status warm_start_run(warm_start *w, hr_error *err)
{
    w->chosen = hr_calloc((size_t)w->variables + 1, sizeof *w->chosen);
    w->value = hr_calloc((size_t)w->variables + 1, sizeof *w->value);
    if (!w->chosen || !w->value) return hr_no_memory(err, "a warm start");
    HR_TRY(hr__checkpoint_open(w->settings->ckpt_to_initialize_from, &w->bundle, err));
    HR_TRY(choose(w, err));
    HR_TRY(check_all_used(w, err));
    HR_TRY(read_values(w, err));
    return set_values(w, err);
}

static hr_status warm_start_with(warm_start *w, const hr_warm_start_settings *settings, hr_error *err)
{
    const hr_warm_start_settings own = HR_OPTIONS(hr_warm_start_settings, settings);
    if (!w->graph || !w->session) return warm_refuse(err, "a graph and a session", NULL);
    HR_TRY(check_settings(&own, err));
    w->settings = &own;
    w->variables = hr_graph_variables(w->graph);
    const hr_status st = warm_start_run(w, err);
    for (int i = 0; w->value && i < w->variables; i++) hr_tensor_clear(&w->value[i]);
    hr_free(w->value);
    hr_free(w->chosen);
    hr_bundle_free(w->bundle);
    return st;
}

hr_status hr_warm_start(hr_graph *g, hr_session *s, const hr_warm_start_settings *settings, hr_error *err)
{
    warm_start w = {.graph = g, .session = s};
    return warm_start_with(&w, settings, err);
}

hr_status hr__model_warm_start(hr_session *s, void *user, hr_error *err)
{
    const model *m = user;
    const hr_estimator *e = m->e;
    warm_start w = {.graph = m->graph, .session = s, .seed = e->config.tf_random_seed, .v1_names = e->v1_names};
    return e->warm_start_from ? warm_start_with(&w, e->warm_start_from, err) : HR_OK;
}

/* ---- a copy ---- */

static bool warm_copy_text(const char *from, const char **to)
{
    *to = from ? hr_strdup(from) : NULL;
    return !from || *to;
}

static bool copy_var_list(const hr_vocabulary_list *from, hr_vocabulary_list *to)
{
    const char **copy = hr_calloc((size_t)from->count + 1, sizeof *copy);
    *to = (hr_vocabulary_list){.count = from->count, .strings = copy};
    if (!copy) return false;
    for (int64_t i = 0; i < from->count; i++)
        if (!warm_copy_text(from->strings[i], &copy[i])) return false;
    return true;
}

static bool copy_vocabularies(const hr_vocab_info_list *from, hr_vocab_info_list *to)
{
    hr_vocab_info *copy = hr_calloc((size_t)from->count + 1, sizeof *copy);
    *to = (hr_vocab_info_list){copy, copy ? from->count : 0};
    if (!copy) return false;
    for (int i = 0; i < from->count; i++) {
        const hr_vocab_info *v = &from->info[i];
        copy[i] = *v;
        copy[i].var_name = copy[i].new_vocab = copy[i].old_vocab = NULL;
        if (!warm_copy_text(v->var_name, &copy[i].var_name) || !warm_copy_text(v->new_vocab, &copy[i].new_vocab) ||
            !warm_copy_text(v->old_vocab, &copy[i].old_vocab)) {
            to->count = i + 1;
            return false;
        }
    }
    return true;
}

static bool copy_names(const hr_prev_var_names *from, hr_prev_var_names *to)
{
    hr_prev_var_name *copy = hr_calloc((size_t)from->count + 1, sizeof *copy);
    *to = (hr_prev_var_names){copy, copy ? from->count : 0};
    if (!copy) return false;
    for (int i = 0; i < from->count; i++)
        if (!warm_copy_text(from->name[i].var_name, &copy[i].var_name) ||
            !warm_copy_text(from->name[i].prev_var_name, &copy[i].prev_var_name))
            return false;
    return true;
}

hr_status hr__warm_start_copy(const hr_warm_start_settings *given, hr_warm_start_settings **out, hr_error *err)
{
    const hr_warm_start_settings from = HR_OPTIONS(hr_warm_start_settings, given);
    HR_TRY(check_settings(&from, err));
    hr_warm_start_settings *to = hr_calloc(1, sizeof *to);
    if (!to) return hr_no_memory(err, "a warm start");
    *to = (hr_warm_start_settings){.struct_size = sizeof *to, .vocab_info_only = from.vocab_info_only};
    if (warm_copy_text(from.ckpt_to_initialize_from, &to->ckpt_to_initialize_from) &&
        warm_copy_text(from.vars_to_warm_start, &to->vars_to_warm_start) &&
        copy_var_list(&from.var_list, &to->var_list) &&
        copy_vocabularies(&from.var_name_to_vocab_info, &to->var_name_to_vocab_info) &&
        copy_names(&from.var_name_to_prev_var_name, &to->var_name_to_prev_var_name)) {
        *out = to;
        return HR_OK;
    }
    hr__warm_start_free(to);
    return hr_no_memory(err, "a warm start");
}

void hr__warm_start_free(hr_warm_start_settings *w)
{
    if (!w) return;
    for (int64_t i = 0; w->var_list.strings && i < w->var_list.count; i++) hr_free((void *)w->var_list.strings[i]);
    for (int i = 0; i < w->var_name_to_vocab_info.count; i++) {
        const hr_vocab_info *v = &w->var_name_to_vocab_info.info[i];
        hr_free((void *)v->var_name);
        hr_free((void *)v->new_vocab);
        hr_free((void *)v->old_vocab);
    }
    for (int i = 0; i < w->var_name_to_prev_var_name.count; i++) {
        hr_free((void *)w->var_name_to_prev_var_name.name[i].var_name);
        hr_free((void *)w->var_name_to_prev_var_name.name[i].prev_var_name);
    }
    hr_free((void *)w->ckpt_to_initialize_from);
    hr_free((void *)w->vars_to_warm_start);
    hr_free((void *)w->var_list.strings);
    hr_free((void *)w->var_name_to_vocab_info.info);
    hr_free((void *)w->var_name_to_prev_var_name.name);
    hr_free(w);
}
