/* The input of a training: the rows of its files, parsed as its columns need them. */
#include "train/training/training_internal.h"
#include <string.h>

/* ---- what is parsed ---- */

/* A baseline sees no column, but its input has rows by one. */
static int input_add_columns(const hr_training *t, hr_feature_column **all)
{
    int n = 0;
    const hr_column_list every = hr__config_columns_list(t->columns);
    for (int i = 0; i < t->linear.count; i++) all[n++] = t->linear.column[i];
    for (int i = 0; i < t->dnn.count; i++) all[n++] = t->dnn.column[i];
    for (int i = 0; i < t->sequence.count; i++) all[n++] = t->sequence.column[i];
    for (int i = 0; i < t->context.count; i++) all[n++] = t->context.column[i];
    if (t->kind->baseline && every.count > 0) all[n++] = every.column[0];
    return n;
}

static hr_status input_parsed(const hr_training *t, hr__training_spec *spec, hr_error *err)
{
    return hr_derived_parse_spec(t->derived, spec->wanted, &t->schema, &spec->parsed, err);
}

/* The columns' features with one head's label and weights. */
static hr_status input_head_spec(const hr_training *t, hr__training_head *h, hr_column_list columns, hr_error *err)
{
    hr_error refused = {0};
    const hr_status st =
        hr_make_parse_example_spec(columns, &h->spec, &refused, .file = &t->all, .label = h->label,
                                   .label_dimension = h->kind->many ? h->n_classes : h->opts.label_dimension,
                                   .weight_column = h->opts.weight_column);
    if (st == HR_OK) return HR_OK;
    const bool weights = h->weights && strstr(refused.text, "weight_column");
    return hr__node_fail(weights ? h->weights : h->label_node, err, st, refused.kind, "%s", refused.text);
}

static bool input_same_feature(const hr_feature *a, const hr_feature *b)
{
    return a->kind == b->kind && a->dtype == b->dtype && a->shape.rank == b->shape.rank &&
           memcmp(a->shape.dims, b->shape.dims, sizeof *a->shape.dims * (size_t)a->shape.rank) == 0;
}

/* Adds those that are not there; what two heads read, they read in one form. */
static hr_status input_join_spec(hr_parse_spec *joined, hr_feature *all, const hr__training_head *h, hr_error *err)
{
    for (int i = 0; i < h->spec->features; i++) {
        const hr_feature *f = &h->spec->feature[i];
        int at = 0;
        while (at < joined->features && strcmp(all[at].key, f->key) != 0) at++;
        if (at == joined->features)
            all[joined->features++] = *f;
        else if (!input_same_feature(&all[at], f))
            return hr__node_fail(h->label_node, err, HR_INVALID_ARGUMENT, "training.label",
                                 "expected '%.60s' in the form in which a head before reads it", f->key);
    }
    return HR_OK;
}

static hr_status input_join_heads(hr_training *t, hr_error *err)
{
    size_t most = 1;
    for (int i = 0; i < t->heads; i++) most += (size_t)t->head[i].spec->features;
    hr_feature *all = hr_calloc(most, sizeof *all);
    t->joined = (hr_parse_spec){all, 0};
    if (!all) return hr_no_memory(err, "a parsing spec");
    for (int i = 0; i < t->heads; i++) HR_TRY(input_join_spec(&t->joined, all, &t->head[i], err));
    t->spec.wanted = &t->joined;
    return HR_OK;
}

static hr_status input_make_spec(hr_training *t, hr_column_list columns, hr_error *err)
{
    HR_TRY(hr_make_parse_example_spec(columns, &t->unlabelled.wanted, err, .file = &t->all));
    HR_TRY(input_parsed(t, &t->unlabelled, err));
    for (int i = 0; i < t->heads; i++) HR_TRY(input_head_spec(t, &t->head[i], columns, err));
    t->spec.wanted = t->head[0].spec;
    if (t->heads > 1) HR_TRY(input_join_heads(t, err));
    return input_parsed(t, &t->spec, err);
}

static bool input_has_key(const hr_parse_spec *spec, const char *key)
{
    for (int i = 0; i < spec->features; i++)
        if (strcmp(spec->feature[i].key, key) == 0) return true;
    return false;
}

/* Only the label is made of it: rows without labels may lack it. */
static bool input_is_of_label(const hr_training *t, const char *field)
{
    return input_has_key(t->spec.parsed, field) && !input_has_key(t->unlabelled.parsed, field);
}

static hr_status input_copy_required(hr_training *t, hr_error *err)
{
    const char **kept = hr_calloc((size_t)t->rows.require_count + 1, sizeof *kept);
    if (!kept) return hr_no_memory(err, "required fields");
    t->whole_rows = t->rows;
    t->whole_rows.require = kept;
    t->whole_rows.require_count = 0;
    for (int i = 0; i < t->rows.require_count; i++)
        if (!input_is_of_label(t, t->rows.require[i])) kept[t->whole_rows.require_count++] = t->rows.require[i];
    t->unlabelled_rows = t->whole_rows;
    t->unlabelled_rows.schema = &t->unlabelled_file;
    return HR_OK;
}

static hr_status input_make_unlabelled_rows(hr_training *t, hr_error *err)
{
    const hr__schema_file *all = &t->schema_file;
    hr__schema_field *kept = hr_calloc((size_t)all->fields + 1, sizeof *kept);
    if (!kept) return hr_no_memory(err, "the fields of rows");
    t->unlabelled_file = *all;
    t->unlabelled_file.field = kept;
    t->unlabelled_file.fields = 0;
    t->unlabelled_file.label = -1;
    for (int i = 0; i < all->fields; i++) {
        if (input_is_of_label(t, all->field[i].name) && i != all->label) continue;
        if (i == all->label) t->unlabelled_file.label = t->unlabelled_file.fields;
        kept[t->unlabelled_file.fields++] = all->field[i];
    }
    return input_copy_required(t, err);
}

void hr__training_free_specs(hr_training *t)
{
    hr_free(t->unlabelled_file.field);
    hr_free((void *)(uintptr_t)t->whole_rows.require);
    hr_free((void *)(uintptr_t)t->joined.feature);
    hr_parse_spec_free(t->spec.parsed);
    hr_parse_spec_free(t->unlabelled.wanted);
    hr_parse_spec_free(t->unlabelled.parsed);
}

hr_status hr__training_make_specs(hr_training *t, hr_error *err)
{
    const int count = t->linear.count + t->dnn.count + t->sequence.count + t->context.count;
    hr_feature_column **all = hr_calloc((size_t)count + 2, sizeof *all);
    if (!all) return hr_no_memory(err, "a list of columns");
    const hr_column_list columns = {all, input_add_columns(t, all)};
    const hr_status st = input_make_spec(t, columns, err);
    hr_free(all);
    return st == HR_OK ? input_make_unlabelled_rows(t, err) : st;
}

/* ---- datasets ---- */

/* The rows of files, `cycle_length` at a time. */
static hr_dataset *input_rows(const hr_example_rows_opts *rows, hr_dataset *files, int64_t cycle_length)
{
    return hr_interleave(files, hr_example_rows_fn, (void *)(uintptr_t)rows, .cycle_length = cycle_length);
}

static bool input_is_derived(const hr_training *t, const char *name)
{
    for (int i = t->schema.fields; i < t->all.fields; i++)
        if (strcmp(t->all.field[i].name, name) == 0) return true;
    return false;
}

static hr_dataset *input_parse(const hr_training *t, hr_dataset *ds, bool labelled, bool drop_remainder)
{
    const hr__training_spec *spec = labelled ? &t->spec : &t->unlabelled;
    ds = hr_batch(ds, t->batch_size, .drop_remainder = drop_remainder);
    const char *label = labelled ? t->label : NULL;
    const bool derived = label && input_is_derived(t, label);
    ds = hr_parse_example(ds, spec->parsed, .label = derived ? NULL : label);
    if (t->derived.count)
        ds = hr_derive_features(ds, t->derived, .wanted = spec->wanted, .label = derived ? label : NULL);
    return hr_prefetch(ds, HR_AUTOTUNE);
}

/* Records as they came may be read in any order: none of them waits in a buffer. */
static bool input_mixes_numbers(const hr_training *t)
{
    const hr_file_format format = t->rows.format ? t->rows.format : hr_file_format_of(t->files);
    const bool records = format == HR_FORMAT_TFRECORD || format == HR_FORMAT_BY_NAME;
    return t->shuffle == HR__ALL_ROWS && records && t->rows.require_count == 0;
}

static hr_dataset *input_mix_numbers(const hr_training *t)
{
    hr_dataset *ds = hr_shuffled_records(t->files, .seed = (uint64_t)t->seed);
    return hr_repeat(ds, .count = &t->epochs, .extendable = true);
}

hr_dataset *hr_training_input(void *user)
{
    const hr_training *t = user;
    if (!t) return hr_list_files(NULL); /* which says what is missing */
    if (input_mixes_numbers(t)) return input_parse(t, input_mix_numbers(t), true, t->drop_remainder);
    hr_dataset *ds = hr_list_files(t->files, .shuffle = t->shuffle != 0, .seed = (uint64_t)t->seed);
    ds = input_rows(&t->rows, ds, t->cycle_length);
    if (t->shuffle != 0)
        ds = hr_shuffle_and_repeat(ds, t->shuffle, .count = t->epochs, .seed = (uint64_t)t->seed, .extendable = true);
    else
        ds = hr_repeat(ds, .count = &t->epochs, .extendable = true);
    return input_parse(t, ds, true, t->drop_remainder);
}

/* One file after the other, so that lines of output follow their rows. */
static hr_dataset *input_rows_in_order(const hr_training_predicted *p, const hr_example_rows_opts *rows)
{
    hr_dataset *ds = p->files ? hr_from_tensor_slices(p->files, NULL, 1) : hr_list_files(p->training->eval_files);
    return input_rows(rows, ds, 1);
}

/* Records that are scored are all scored. */
hr_dataset *hr_training_eval_input(void *user)
{
    const hr_training *t = user;
    if (!t) return hr_list_files(NULL);
    hr_dataset *ds = hr_list_files(t->eval_files);
    return input_parse(t, input_rows(&t->rows, ds, t->cycle_length), true, false);
}

hr_dataset *hr__training_scored_input(void *user)
{
    const hr_training_predicted *p = user;
    if (!p->files) return hr_training_eval_input((void *)(uintptr_t)p->training);
    return input_parse(p->training, input_rows_in_order(p, &p->training->rows), true, false);
}

hr_dataset *hr_training_predict_input(void *user)
{
    const hr_training_predicted *p = user;
    if (!p || !p->training) return hr_list_files(NULL);
    return input_parse(p->training, input_rows_in_order(p, &p->training->unlabelled_rows), false, false);
}

/* Fields of the rows as lists, since a row may lack them; what is derived always has a value. */
/* A derived feature that is computed has one value a row; one that is renamed has what its field has. */
static bool input_is_computed(const hr_training *t, int field)
{
    return field >= t->schema.fields && !hr__derived_renames(t->derived.feature[field - t->schema.fields]);
}

static hr_status input_field_spec(const hr_training *t, const char *const *names, int count, hr__training_spec *spec,
                                  hr_feature *feature, hr_error *err)
{
    for (int i = 0; i < count; i++)
        for (int f = 0; f < t->all.fields; f++)
            if (strcmp(t->all.field[f].name, names[i]) == 0)
                feature[i] = (hr_feature){.key = names[i],
                                          .kind = input_is_computed(t, f) ? HR_FIXED_LEN : HR_RAGGED_FEATURE,
                                          .dtype = t->all.field[f].dtype,
                                          .shape = HR_SHAPE(input_is_computed(t, f) ? 1 : 0)};
    *spec->wanted = (hr_parse_spec){feature, count};
    return hr_derived_parse_spec(t->derived, spec->wanted, &t->schema, &spec->parsed, err);
}

hr_dataset *hr__training_fields_input(const hr_training_predicted *p, const char *const *names, int count,
                                      hr_error *err)
{
    const hr_training *t = p->training;
    hr_feature *feature = hr_calloc((size_t)count + 1, sizeof *feature);
    hr_parse_spec wanted;
    hr__training_spec spec = {.wanted = &wanted};
    hr_dataset *ds = NULL;
    const hr_status st = feature ? input_field_spec(t, names, count, &spec, feature, err) : hr_no_memory(err, "fields");
    if (st == HR_OK) {
        bool whole = false; /* one of them is what the label is made of */
        for (int i = 0; i < spec.parsed->features; i++) whole |= input_is_of_label(t, spec.parsed->feature[i].key);
        ds = hr_batch(input_rows_in_order(p, whole ? &t->whole_rows : &t->unlabelled_rows), t->batch_size);
        ds = hr_parse_example(ds, spec.parsed);
        if (t->derived.count) ds = hr_derive_features(ds, t->derived, .wanted = &wanted);
    }
    hr_parse_spec_free(spec.parsed);
    hr_free(feature);
    return ds;
}

hr_status hr__training_need_files(const hr_training *t, const hr_file_list *files, const char *verb, hr_error *err)
{
    if (files || t->eval_files) return HR_OK;
    return hr__node_fail(hr__node_get(hr__config_root(t->config), "train"), err, HR_INVALID_ARGUMENT,
                         "training.eval_files", "expected a key 'eval_files': the rows to %s", verb);
}

hr_status hr__training_file_names(const hr_file_list *files, hr_tensor *out, hr_error *err)
{
    hr_view *name = hr_calloc((size_t)files->count + 1, sizeof *name);
    if (!name) return hr_no_memory(err, "names of files");
    for (int64_t i = 0; i < files->count; i++) name[i] = (hr_view){files->path[i], (int64_t)strlen(files->path[i])};
    const hr_status st = hr_tensor_strings(out, HR_SHAPE(files->count), name, err);
    hr_free(name);
    return st;
}
