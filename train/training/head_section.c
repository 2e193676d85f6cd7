/* The head of a model in a file: its kind, and what labels and weights are. */
#include "io/input.h"
#include "io/match.h"
#include "train/training/training_internal.h"
#include <string.h>

/* ---- kinds ---- */

static const char *const binary_keys[] = {"label_vocabulary", "class_weights", "thresholds", NULL};
static const char *const class_keys[] = {"n_classes", "label_vocabulary", "class_weights", "thresholds", NULL};
static const char *const label_keys[] = {"n_classes", "thresholds", "metric_classes", NULL};
static const char *const number_keys[] = {"label_dimension", NULL};
static const char *const no_keys[] = {NULL};

enum { BINARY, MULTI_CLASS, KINDS = 6 };
static const hr__head_words kinds[KINDS] = {
    {"binary_class", binary_keys, .make = hr_binary_class_head_with, .exact = true, .answer = "logistic"},
    {"multi_class", class_keys, .make_of = hr_multi_class_head_with, .answer = "classes"},
    {"multi_label", label_keys, .make_of = hr_multi_label_head_with, .many = true, .answer = "probabilities"},
    {"regression", number_keys, .make = hr_regression_head_with, .answer = "predictions"},
    {"poisson_regression", number_keys, .make = hr_poisson_regression_head_with, .answer = "predictions"},
    {"logistic_regression", no_keys, .make = hr_logistic_regression_head_with, .answer = "predictions"},
};

hr_head *hr__training_head_new(const hr_training *t)
{
    const hr__training_head *h = &t->head;
    return h->kind->make ? h->kind->make(&h->opts) : h->kind->make_of(h->n_classes, &h->opts);
}

void hr__training_head_free(hr__training_head *h)
{
    hr_free(h->word);
    hr_free(h->words);
    hr_free(h->threshold);
    hr_free(h->metric_class);
}

/* ---- the vocabulary of labels ---- */

static hr_status head_words_of_list(hr__training_head *h, const hr__node *list, hr_error *err)
{
    for (int64_t i = 0; i < list->count; i++) {
        const char *text;
        HR_TRY(hr__node_text(list->item[i], &text, err));
        h->word[i] = (hr_view){text, (int64_t)list->item[i]->size};
    }
    return HR_OK;
}

/* One on each line; a last line end is none. */
static hr_status head_read_lines(hr_training *t, const hr__node *node, const char *bytes, size_t size, hr_error *err)
{
    hr__training_head *h = &t->head;
    int64_t lines = size > 0 && bytes[size - 1] != '\n';
    for (size_t i = 0; i < size; i++) lines += bytes[i] == '\n';
    if (lines < 2) return hr__node_expected(node, "a file of two classes or more, one on each line", err);
    h->words = hr_malloc(size + 1);
    h->word = hr_calloc((size_t)lines, sizeof *h->word);
    if (!h->words || !h->word) return hr_no_memory(err, "a label vocabulary");
    memcpy(h->words, bytes, size);
    h->words[size] = '\n';
    const char *at = h->words;
    for (int64_t i = 0; i < lines; i++) {
        const char *end = memchr(at, '\n', size + 1 - (size_t)(at - h->words));
        const bool crlf = end > at && end[-1] == '\r';
        h->word[i] = (hr_view){at, end - at - crlf};
        at = end + 1;
    }
    h->opts.label_vocabulary = (hr_vocabulary_list){.count = lines, .views = h->word};
    return HR_OK;
}

static hr_status head_read_file(hr_training *t, const hr__node *node, hr_error *err)
{
    enum { MOST = 16 << 20 /* bytes: more are no classes */ };
    const char *name, *bytes;
    hr_input *in;
    size_t size;
    HR_TRY(hr__node_text(node, &name, err));
    char *path = hr__path_in(t->data, name);
    if (!path) return hr_no_memory(err, "a path");
    hr_error failed = {0};
    hr_status st = hr_input_open_with(path, NULL, &in, &failed);
    hr_free(path);
    if (st != HR_OK) return hr__node_fail(node, err, st, failed.kind, "%s", failed.text);
    st = hr_input_peek(in, MOST, &bytes, &size, err);
    if (st == HR_OK && size == MOST) st = hr__node_expected(node, "a file of less than 16 MiB", err);
    if (st == HR_OK) st = head_read_lines(t, node, bytes, size, err);
    hr_input_free(in);
    return st;
}

static hr_status head_read_vocabulary(hr_training *t, const hr__node *map, hr_error *err)
{
    hr__training_head *h = &t->head;
    const hr__node *node = h->vocabulary = hr__node_get(map, "label_vocabulary");
    if (!node) return HR_OK;
    HR_TRY(hr__node_is(node, HR__SCALAR | HR__SEQUENCE, err));
    if (node->kind == HR__SCALAR) return head_read_file(t, node, err);
    if (node->count < 2) return hr__node_expected(node, "two classes or more", err);
    h->word = hr_calloc((size_t)node->count, sizeof *h->word);
    if (!h->word) return hr_no_memory(err, "a label vocabulary");
    h->opts.label_vocabulary = (hr_vocabulary_list){.count = node->count, .views = h->word};
    return head_words_of_list(h, node, err);
}

/* ---- the other keys ---- */

static hr_status head_read_thresholds(hr__training_head *h, const hr__node *map, hr_error *err)
{
    const hr__node *list = hr__node_get(map, "thresholds");
    if (!list) return HR_OK;
    HR_TRY(hr__node_is(list, HR__SEQUENCE, err));
    h->threshold = hr_calloc((size_t)list->count + 1, sizeof *h->threshold);
    if (!h->threshold) return hr_no_memory(err, "thresholds");
    for (int64_t i = 0; i < list->count; i++) {
        double value;
        HR_TRY(hr__node_double(list->item[i], &value, err));
        if (!(value > 0 && value < 1)) return hr__node_expected(list->item[i], "a number between 0 and 1", err);
        h->threshold[i] = (float)value;
    }
    h->opts.thresholds = h->threshold;
    h->opts.threshold_count = (int)list->count;
    return HR_OK;
}

static hr_status head_read_metric_classes(hr__training_head *h, const hr__node *map, hr_error *err)
{
    const hr__node *list = hr__node_get(map, "metric_classes");
    if (!list) return HR_OK;
    HR_TRY(hr__node_is(list, HR__SEQUENCE, err));
    h->metric_class = hr_calloc((size_t)list->count + 1, sizeof *h->metric_class);
    if (!h->metric_class) return hr_no_memory(err, "classes");
    for (int64_t i = 0; i < list->count; i++)
        HR_TRY(hr__node_int64(list->item[i], 0, h->n_classes - 1, &h->metric_class[i], err));
    h->opts.metric_classes = h->metric_class;
    h->opts.metric_class_count = (int)list->count;
    return HR_OK;
}

static hr_status head_read_reduction(hr_training *t, const hr__node *map, hr_error *err)
{
    static const char *const names[] = {"sum_over_batch_size", "sum", "sum_by_nonzero_weights", "mean"};
    static const hr_reduction values[] = {HR_SUM_OVER_BATCH_SIZE, HR_REDUCTION_SUM, HR_SUM_BY_NONZERO_WEIGHTS,
                                          HR_REDUCTION_MEAN};
    const hr__node *node = hr__node_get(map, "loss_reduction");
    int64_t which;
    if (!node) return HR_OK;
    HR_TRY(hr__node_choice(node, "reduction", names, t->v1 ? 4 : 2, &which, err));
    t->head.reduction = values[which];
    t->head.opts.loss_reduction = &t->head.reduction;
    return HR_OK;
}

static hr_status head_read_weight_column(hr_training *t, const hr__node *map, hr_error *err)
{
    hr__training_head *h = &t->head;
    const hr__node *node = h->weights = hr__node_get(map, "weight_column");
    const char *name;
    if (!node) return HR_OK;
    HR_TRY(hr__node_text(node, &name, err));
    h->opts.weight_column = name;
    HR_TRY(hr__training_need_field(node, &t->all, err));
    for (int i = 0; i < t->all.fields; i++)
        if (strcmp(t->all.field[i].name, name) == 0 && t->all.field[i].dtype == HR_STRING)
            return hr__node_expected(node, "a field of numbers", err);
    return HR_OK;
}

/* ---- weights of classes ---- */

/* The class is one of the vocabulary, or a number below the number of classes. */
static hr_status head_check_class(const hr__training_head *h, const hr__node *key, hr_error *err)
{
    const hr_vocabulary_list *v = &h->opts.label_vocabulary;
    int64_t number;
    if (!v->count) return hr__node_int64(key, 0, h->n_classes - 1, &number, err);
    for (int64_t i = 0; i < v->count; i++)
        if (v->views[i].size == (int64_t)key->size && memcmp(v->views[i].data, key->text, key->size) == 0) return HR_OK;
    return hr__node_expected(key, "a word of label_vocabulary", err);
}

static hr_status head_read_table(const hr__training_head *h, const hr__node *map, hr_value_number *pair, hr_error *err)
{
    for (int64_t i = 0; i < map->count; i++) {
        HR_TRY(head_check_class(h, map->key[i], err));
        pair[i].value = map->key[i]->text;
        HR_TRY(hr__node_double(map->item[i], &pair[i].number, err));
        if (!(pair[i].number >= 0 && pair[i].number <= 1e30))
            return hr__node_expected(map->item[i], "a weight of 0 or more", err);
    }
    return HR_OK;
}

/* The weights are a derived feature, by the label; with a weight column, the product of both is another one. */
static hr_status head_read_class_weights(hr_training *t, const hr__node *map, hr_error *err)
{
    hr__training_head *h = &t->head;
    const hr__node *node = hr__node_get(map, "class_weights");
    if (!node || hr__node_is_null(node)) return HR_OK;
    HR_TRY(hr__node_is(node, HR__MAPPING, err));
    hr_value_number *pair = hr_calloc((size_t)node->count + 1, sizeof *pair);
    if (!pair) return hr_no_memory(err, "weights of classes");
    hr_status st = head_read_table(h, node, pair, err);
    const char *const column = h->opts.weight_column;
    const hr_value_numbers table = {pair, (int)node->count};
    if (st == HR_OK)
        st = hr__training_derive(t, node, hr_derived_map("weight of class", t->label, table, .default_value = 1), err);
    hr_free(pair);
    HR_TRY(st);
    h->weights = node;
    h->opts.weight_column = column ? "weight of row" : "weight of class";
    if (!column) return HR_OK;
    return hr__training_derive(
        t, node, hr_derived_product("weight of row", HR_FIELDS(column, "weight of class"), .default_value = 1), err);
}

/* Classes count from the vocabulary, where no number is given. */
static hr_status head_read_classes(hr__training_head *h, const hr__node *map, hr_error *err)
{
    const int64_t words = h->opts.label_vocabulary.count;
    const hr__node *node = hr__node_get(map, "n_classes");
    h->n_classes = words ? words : 2;
    HR_TRY(hr__config_int64(map, "n_classes", 2, 1 << 24, &h->n_classes, err));
    if (!words || h->n_classes == words) return HR_OK;
    return hr__node_fail(node, err, HR_INVALID_ARGUMENT, "config.value",
                         "expected the number of words in label_vocabulary, %lld, found %lld", (long long)words,
                         (long long)h->n_classes);
}

/* What the head itself refuses is refused here, at its place. */
static hr_status head_check(const hr_training *t, const hr__node *map, hr_error *err)
{
    hr_head *made = hr__training_head_new(t);
    hr_error refused = {0};
    const hr_error *wrong = hr_head_error(made);
    if (wrong) refused = *wrong;
    hr_head_free(made);
    if (!wrong) return HR_OK;
    return hr__node_fail(map, err, refused.code, refused.kind, "%s", refused.text);
}

static int head_add_keys(const char **to, int count, const char *const *keys)
{
    while (*keys) to[count++] = *keys++;
    return count;
}

static hr_status head_check_keys(const hr__node *map, const hr__head_words *kind, const char *const *others,
                                 hr_error *err)
{
    static const char *const every[] = {"weight_column", "loss_reduction", NULL};
    const char *allowed[48];
    int count = head_add_keys(allowed, 0, others);
    count = head_add_keys(allowed, count, kind->keys);
    count = head_add_keys(allowed, count, every);
    allowed[count] = NULL;
    return hr__config_check_keys(map, allowed, err);
}

hr_status hr__training_read_head(hr_training *t, const hr__node *map, const char *named, const char *const *others,
                                 hr_error *err)
{
    hr__training_head *h = &t->head;
    const bool classes = strcmp(named, "class") == 0;
    h->kind = &kinds[MULTI_CLASS];
    for (int i = 0; i < KINDS && !classes; i++)
        if (strcmp(kinds[i].name, named) == 0) h->kind = &kinds[i];
    h->opts = (hr_head_opts){.struct_size = sizeof h->opts, .v1 = t->v1};
    HR_TRY(head_check_keys(map, h->kind, others, err));
    HR_TRY(head_read_vocabulary(t, map, err));
    HR_TRY(head_read_classes(h, map, err));
    if (h->kind == &kinds[MULTI_CLASS] && h->n_classes == 2) {
        if (!classes)
            return hr__node_fail(map, err, HR_INVALID_ARGUMENT, "config.value",
                                 "expected n_classes of 3 or more; two classes are a binary_class head");
        h->kind = &kinds[BINARY];
    }
    HR_TRY(hr__config_int64(map, "label_dimension", 1, 1 << 20, &h->opts.label_dimension, err));
    HR_TRY(head_read_thresholds(h, map, err));
    HR_TRY(head_read_metric_classes(h, map, err));
    HR_TRY(head_read_reduction(t, map, err));
    HR_TRY(head_read_weight_column(t, map, err));
    HR_TRY(head_read_class_weights(t, map, err));
    return head_check(t, map, err);
}

/* `head: poisson_regression` or `head: {multi_class: {n_classes: 3}}`. */
hr_status hr__training_read_head_section(hr_training *t, const hr__node *model, hr_error *err)
{
    static const char *const none[] = {NULL};
    const char *names[KINDS];
    const hr__node *node;
    int64_t which;
    for (int i = 0; i < KINDS; i++) names[i] = kinds[i].name;
    HR_TRY(hr__node_need(model, "head", &node, err));
    if (node->kind != HR__SCALAR && (node->kind != HR__MAPPING || node->count != 1))
        return hr__node_expected(node, "one head, such as {multi_class: {n_classes: 3}}", err);
    HR_TRY(hr__node_choice(node->kind == HR__SCALAR ? node : node->key[0], "head", names, KINDS, &which, err));
    hr__node options = node->kind == HR__SCALAR ? *node : *node->item[0];
    if (hr__node_is_null(&options) || node->kind == HR__SCALAR) options.kind = HR__MAPPING; /* without any */
    return hr__training_read_head(t, &options, names[which], none, err);
}
