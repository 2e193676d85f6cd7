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

static hr_head *head_new(const hr__training_head *h)
{
    return h->kind->make ? h->kind->make(&h->opts) : h->kind->make_of(h->n_classes, &h->opts);
}

/* A head of several takes its parts, also those that could not be made, which it refuses. */
hr_head *hr__training_head_new(const hr_training *t)
{
    if (!t->multi_head) return head_new(t->head);
    hr_head **part = hr_calloc((size_t)t->heads + 1, sizeof *part);
    float *share = hr_calloc((size_t)t->heads + 1, sizeof *share);
    hr_head *all = NULL;
    int made = 0;
    for (; part && share && made < t->heads && (part[made] = head_new(&t->head[made])); made++)
        share[made] = (float)t->head[made].share;
    const hr_head_list parts = {part, made};
    if (part && share && made == t->heads)
        all = hr_multi_head(parts, .head_weights = share);
    else
        for (int i = 0; i < made; i++) hr_head_free(part[i]);
    hr_free(part);
    hr_free(share);
    return all;
}

void hr__training_free_heads(hr_training *t)
{
    for (int i = 0; i < t->heads; i++) {
        hr__training_head *h = &t->head[i];
        hr_parse_spec_free(h->spec);
        hr_free(h->word);
        hr_free(h->words);
        hr_free(h->threshold);
        hr_free(h->metric_class);
    }
    hr_free(t->head);
}

/* ---- what is learned ---- */

hr_status hr__training_read_label(hr_training *t, const hr__node *root, hr_error *err)
{
    const hr__node *model = hr__node_get(root, "model"), *schema = hr__node_get(root, "schema");
    const hr__node *node = hr__node_get(model, "label"), *list = hr__node_get(model, "head");
    t->multi_head = list && list->kind == HR__SEQUENCE;
    t->heads = t->multi_head ? (int)list->count : 1;
    t->head = hr_calloc((size_t)t->heads + 1, sizeof *t->head);
    if (!t->head) {
        t->heads = 0;
        return hr_no_memory(err, "heads");
    }
    if (t->multi_head && node) return hr__node_expected(node, "no label beside a list of heads: each has its own", err);
    if (t->multi_head) return HR_OK;
    hr__training_head *h = t->head;
    h->label_node = node ? node : hr__node_get(schema, "label");
    if (!h->label_node)
        return hr__node_fail(schema, err, HR_INVALID_ARGUMENT, "training.label",
                             "expected a label: the field that the model learns to predict");
    if (node) HR_TRY(hr__training_need_field(node, &t->all, err));
    HR_TRY(hr__node_text(h->label_node, &h->label, err));
    t->label = h->label;
    return HR_OK;
}

static hr_status head_check_label(const hr_training *t, const hr__training_head *h, hr_error *err)
{
    bool text = false;
    const bool words = h->opts.label_vocabulary.count > 0;
    for (int i = 0; i < t->all.fields; i++)
        if (strcmp(t->all.field[i].name, h->label) == 0) text = t->all.field[i].dtype == HR_STRING;
    if (words == text) return HR_OK;
    if (words)
        return hr__node_fail(h->vocabulary, err, HR_INVALID_ARGUMENT, "training.label",
                             "expected a label of strings, but '%.60s' is a number; leave the vocabulary out",
                             h->label);
    return hr__node_fail(h->label_node, err, HR_INVALID_ARGUMENT, "training.label",
                         "expected a field of numbers, but '%.60s' is a string; name its classes in "
                         "%slabel_vocabulary",
                         h->label, t->multi_head ? "the head's " : "model.");
}

hr_status hr__training_check_labels(const hr_training *t, hr_error *err)
{
    for (int i = 0; i < t->heads; i++) HR_TRY(head_check_label(t, &t->head[i], err));
    return HR_OK;
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
static hr_status head_read_lines(hr__training_head *h, const hr__node *node, const char *bytes, size_t size,
                                 hr_error *err)
{
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

static hr_status head_read_file(const hr_training *t, hr__training_head *h, const hr__node *node, hr_error *err)
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
    if (st == HR_OK) st = head_read_lines(h, node, bytes, size, err);
    hr_input_free(in);
    return st;
}

static hr_status head_read_vocabulary(const hr_training *t, hr__training_head *h, const hr__node *map, hr_error *err)
{
    const hr__node *node = h->vocabulary = hr__node_get(map, "label_vocabulary");
    if (!node) return HR_OK;
    HR_TRY(hr__node_is(node, HR__SCALAR | HR__SEQUENCE, err));
    if (node->kind == HR__SCALAR) return head_read_file(t, h, node, err);
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

static hr_status head_read_reduction(const hr_training *t, hr__training_head *h, const hr__node *map, hr_error *err)
{
    static const char *const names[] = {"sum_over_batch_size", "sum", "sum_by_nonzero_weights", "mean"};
    static const hr_reduction values[] = {HR_SUM_OVER_BATCH_SIZE, HR_REDUCTION_SUM, HR_SUM_BY_NONZERO_WEIGHTS,
                                          HR_REDUCTION_MEAN};
    const hr__node *node = hr__node_get(map, "loss_reduction");
    int64_t which;
    if (!node) return HR_OK;
    HR_TRY(hr__node_choice(node, "reduction", names, t->v1 ? 4 : 2, &which, err));
    h->reduction = values[which];
    h->opts.loss_reduction = &h->reduction;
    return HR_OK;
}

static hr_status head_read_weight_column(const hr_training *t, hr__training_head *h, const hr__node *map, hr_error *err)
{
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

/* The derived feature `what`, of a head with a name "what, of name", which is the weight of rows from now on. */
static hr_status head_name_weight(const hr__training_head *h, const char *what, hr__text *name, hr_error *err)
{
    hr__text_printf(name, "%s%s%s", what, h->opts.name ? ", of " : "", h->opts.name ? h->opts.name : "");
    return hr__text_status(name, "the name of weights", err);
}

static hr_status head_derive_weight(hr_training *t, hr__training_head *h, const hr__node *node,
                                    hr_derived_feature *feature, hr_error *err)
{
    HR_TRY(hr__training_derive(t, node, feature, err));
    h->weights = node;
    h->opts.weight_column = hr_derived_name(t->derived.feature[t->derived.count - 1]);
    return HR_OK;
}

/* The weights are a derived feature, by the label; with a weight column, the product of both is another one. */
static hr_status head_add_weights(hr_training *t, hr__training_head *h, const hr__node *node, hr_value_numbers table,
                                  hr_error *err)
{
    hr__text of_class = {0}, of_row = {0};
    const char *const column = h->opts.weight_column;
    hr_status st = head_name_weight(h, "weight of class", &of_class, err);
    if (st == HR_OK) st = head_name_weight(h, "weight of row", &of_row, err);
    if (st == HR_OK)
        st = head_derive_weight(t, h, node, hr_derived_map(of_class.data, h->label, table, .default_value = 1), err);
    if (st == HR_OK && column)
        st = head_derive_weight(
            t, h, node, hr_derived_product(of_row.data, HR_FIELDS(column, of_class.data), .default_value = 1), err);
    hr__text_free(&of_class);
    hr__text_free(&of_row);
    return st;
}

static hr_status head_read_class_weights(hr_training *t, hr__training_head *h, const hr__node *map, hr_error *err)
{
    const hr__node *node = hr__node_get(map, "class_weights");
    if (!node || hr__node_is_null(node)) return HR_OK;
    HR_TRY(hr__node_is(node, HR__MAPPING, err));
    hr_value_number *pair = hr_calloc((size_t)node->count + 1, sizeof *pair);
    if (!pair) return hr_no_memory(err, "weights of classes");
    hr_status st = head_read_table(h, node, pair, err);
    if (st == HR_OK) st = head_add_weights(t, h, node, (hr_value_numbers){pair, (int)node->count}, err);
    hr_free(pair);
    return st;
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
static hr_status head_check(hr_head *made, const hr__node *map, hr_error *err)
{
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

static hr_status head_read(hr_training *t, hr__training_head *h, const hr__node *map, const char *named,
                           const char *const *others, hr_error *err)
{
    const bool classes = strcmp(named, "class") == 0;
    h->kind = &kinds[MULTI_CLASS];
    for (int i = 0; i < KINDS && !classes; i++)
        if (strcmp(kinds[i].name, named) == 0) h->kind = &kinds[i];
    h->opts.struct_size = sizeof h->opts;
    h->opts.v1 = t->v1;
    HR_TRY(head_check_keys(map, h->kind, others, err));
    HR_TRY(head_read_vocabulary(t, h, map, err));
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
    HR_TRY(head_read_reduction(t, h, map, err));
    HR_TRY(head_read_weight_column(t, h, map, err));
    HR_TRY(head_read_class_weights(t, h, map, err));
    return head_check(head_new(h), map, err);
}

hr_status hr__training_read_head(hr_training *t, const hr__node *map, const char *named, const char *const *others,
                                 hr_error *err)
{
    return head_read(t, t->head, map, named, others, err);
}

/* ---- the key `head:` ---- */

/* `regression` or `{multi_class: {n_classes: 3}}`. Gives the kind, and its options as a mapping. */
static hr_status head_read_kind(const hr__node *node, const char **kind, hr__node *options, hr_error *err)
{
    const char *names[KINDS];
    int64_t which;
    for (int i = 0; i < KINDS; i++) names[i] = kinds[i].name;
    if (node->kind != HR__SCALAR && (node->kind != HR__MAPPING || node->count != 1))
        return hr__node_expected(node, "one head, such as {multi_class: {n_classes: 3}}", err);
    HR_TRY(hr__node_choice(node->kind == HR__SCALAR ? node : node->key[0], "head", names, KINDS, &which, err));
    *kind = names[which];
    *options = node->kind == HR__SCALAR ? *node : *node->item[0];
    if (hr__node_is_null(options) || node->kind == HR__SCALAR) options->kind = HR__MAPPING; /* without any */
    return HR_OK;
}

/* Nodes are named after it. */
static bool head_name_is_scope(const char *name)
{
    static const char first[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    size_t size = strspn(name, first);
    if (size == 0) return false;
    while (name[size] && (strspn(name + size, first) > 0 || strchr("_.-/", name[size]))) size++;
    return !name[size];
}

/* Its name and its label are one where the other is not given. */
static hr_status head_read_part_names(const hr_training *t, hr__training_head *h, const hr__node *options,
                                      hr_error *err)
{
    const hr__node *name = hr__node_get(options, "name"), *label = hr__node_get(options, "label");
    h->label_node = label ? label : name;
    if (!h->label_node)
        return hr__node_fail(options, err, HR_INVALID_ARGUMENT, "training.label",
                             "expected a key 'label': the field that this head learns to predict");
    HR_TRY(hr__training_need_field(h->label_node, &t->all, err));
    HR_TRY(hr__node_text(h->label_node, &h->label, err));
    h->opts.label_key = h->opts.name = h->label;
    if (name) HR_TRY(hr__node_text(name, &h->opts.name, err));
    if (!head_name_is_scope(h->opts.name))
        return hr__node_expected(name ? name : label,
                                 name
                                     ? "letters, digits, '_', '.', '-' and '/', with a letter or digit first"
                                     : "a key 'name' beside it: a field's name with other characters is none of a head",
                                 err);
    h->share = 1;
    HR_TRY(hr__config_double(options, "head_weight", &h->share, err));
    if (h->share > 0 && h->share <= 1e30) return HR_OK;
    return hr__node_expected(hr__node_get(options, "head_weight"), "a weight above 0", err);
}

static hr_status head_read_part(hr_training *t, int i, const hr__node *node, hr_error *err)
{
    static const char *const part_keys[] = {"name", "label", "head_weight", NULL};
    hr__training_head *h = &t->head[i];
    const char *kind;
    hr__node options;
    HR_TRY(head_read_kind(node, &kind, &options, err));
    HR_TRY(hr__node_is(&options, HR__MAPPING, err));
    HR_TRY(head_read_part_names(t, h, &options, err));
    for (int k = 0; k < i; k++)
        if (strcmp(t->head[k].opts.name, h->opts.name) == 0)
            return hr__node_expected(hr__node_get(&options, hr__node_get(&options, "name") ? "name" : "label"),
                                     "a name that no head before has", err);
    return head_read(t, h, &options, kind, part_keys, err);
}

hr_status hr__training_read_head_section(hr_training *t, const hr__node *model, hr_error *err)
{
    static const char *const none[] = {NULL};
    const hr__node *node;
    const char *kind;
    hr__node options;
    HR_TRY(hr__node_need(model, "head", &node, err));
    if (t->multi_head) {
        if (t->heads == 0) return hr__node_expected(node, "a head or more", err);
        for (int i = 0; i < t->heads; i++) HR_TRY(head_read_part(t, i, node->item[i], err));
        t->label = t->head[0].label;
        return head_check(hr__training_head_new(t), node, err);
    }
    HR_TRY(head_read_kind(node, &kind, &options, err));
    return head_read(t, t->head, &options, kind, none, err);
}
