/* Predicts by a training: fields of the rows beside predictions, in the order of the rows. The model drops the fields
 * that it does not see, so they are read a second time, by an input of their own. */
#include "train/training/prediction_writer.h"
#include "train/training/training_internal.h"
#include <stdlib.h>
#include <string.h>

enum { MAX_COLUMNS = 256 };

typedef struct predicting {
    hr_training *training;
    hr_training_predict_opts opts;
    hr_training_predicted input;
    char *names;                   /* the text that `name` points into */
    const char *name[MAX_COLUMNS]; /* of the columns */
    bool is_field[MAX_COLUMNS];    /* a component of `it`; else it is a prediction */
    int columns;
    const char *read[MAX_COLUMNS]; /* the names of the fields */
    int fields;
    hr_iterator *it; /* NULL: no fields are asked for */
    hr__prediction_writer *writer;
    int64_t rows;
} predicting;

/* ---- what is asked for ---- */

static bool predict_has_field(const hr_training *t, const char *name)
{
    for (int i = 0; i < t->all.fields; i++)
        if (strcmp(t->all.field[i].name, name) == 0) return true;
    return false;
}

static hr_status predict_refuse(hr_error *err, const char *expected, const char *found)
{
    return hr_fail(err, HR_INVALID_ARGUMENT, "training.columns", "predict: .columns: expected %s, found \"%.60s\"",
                   expected, found);
}

static hr_status predict_add_column(predicting *p, const char *name, hr_error *err)
{
    for (int i = 0; i < p->columns; i++)
        if (strcmp(p->name[i], name) == 0) return predict_refuse(err, "each name once", name);
    if (p->columns == MAX_COLUMNS) return predict_refuse(err, "at most 256 names", name);
    p->is_field[p->columns] = predict_has_field(p->training, name);
    if (p->is_field[p->columns]) p->read[p->fields++] = name;
    p->name[p->columns++] = name;
    return HR_OK;
}

/* What the model is for; of several heads, of each. */
static void predict_answers(const hr_training *t, hr__text *names)
{
    for (int i = 0; i < t->heads; i++)
        hr__text_printf(names, "%s%s%s%s", i ? "," : "", t->multi_head ? t->head[i].opts.name : "",
                        t->multi_head ? "/" : "", t->head[i].kind->answer);
}

static hr_status predict_read_columns(predicting *p, hr_error *err)
{
    hr__text names = {0};
    if (p->opts.columns)
        hr__text_printf(&names, "%s", p->opts.columns);
    else
        predict_answers(p->training, &names);
    p->names = names.data;
    HR_TRY(hr__text_status(&names, "names of columns", err));
    for (char *at = p->names, *end; at; at = end) {
        end = strchr(at, ',');
        if (end) *end++ = '\0';
        if (!*at) return predict_refuse(err, "names with commas between them", p->opts.columns);
        HR_TRY(predict_add_column(p, at, err));
    }
    return HR_OK;
}

static hr_status predict_format(const predicting *p, hr_file_format *out, hr_error *err)
{
    char names[64];
    *out = p->opts.to ? hr_file_format_named(p->opts.to) : HR_FORMAT_BY_NAME;
    if (!p->opts.to || *out != HR_FORMAT_BY_NAME) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "training.format", "predict: .to: expected %s, found \"%.60s\"",
                   hr_file_format_names(names, sizeof names), p->opts.to);
}

/* ---- a batch ---- */

/* A prediction of that name; the names of all, if there is none. */
static hr_status predict_find(const predicting *p, const char *name, const char *const *names, int count, int *found,
                              hr_error *err)
{
    const hr_schema *schema = &p->training->all;
    for (*found = 0; *found < count; ++*found)
        if (strcmp(names[*found], name) == 0) return HR_OK;
    const char **all = hr_calloc((size_t)count + (size_t)schema->fields + 1, sizeof *all);
    if (!all) return hr_no_memory(err, "names of columns");
    for (int i = 0; i < count; i++) all[i] = names[i];
    for (int i = 0; i < schema->fields; i++) all[count + i] = schema->field[i].name;
    const char *near = hr_suggest(name, all, count + schema->fields);
    hr__text known = {0};
    for (int i = 0; i < count; i++) hr__text_printf(&known, "%s%s", i ? ", " : "", names[i]);
    const hr_status st =
        hr_fail(err, HR_INVALID_ARGUMENT, "training.columns",
                "predict: .columns: expected fields of the schema and predictions, found '%.60s'; %s%s%sthis model "
                "predicts %.300s",
                name, near ? "did you mean '" : "", near ? near : "", near ? "'? " : "", known.data ? known.data : "");
    hr__text_free(&known);
    hr_free(all);
    return st;
}

static hr_status predict_next_fields(predicting *p, int64_t rows, const hr_element **fields, hr_error *err)
{
    *fields = NULL;
    if (!p->it) return HR_OK;
    const hr_status st = hr_next(p->it, fields);
    const hr_error *failed = st < 0 ? hr_iterator_error(p->it) : NULL;
    if (failed && err) *err = *failed;
    if (failed) return st;
    const hr_tensor *first = st == HR_OK ? hr_get(*fields, p->read[0]) : NULL;
    if (first && first->shape.dims[0] == rows) return HR_OK;
    if (first && hr_next(p->it, fields) < 0 && hr_iterator_error(p->it)) { /* rows before a bad one come first */
        if (err) *err = *hr_iterator_error(p->it);
        return hr_iterator_error(p->it)->code;
    }
    return hr_fail(err, HR_DATA_LOSS, "training.columns",
                   "predict: expected the same rows when they were read again; the files have changed");
}

static hr_status predict_batch(const hr_element *element, const char *const *names, const hr_tensor *predictions,
                               int count, void *user, hr_error *err)
{
    predicting *p = user;
    const hr_element *fields;
    hr__prediction_column column[MAX_COLUMNS];
    (void)element;
    const int64_t rows = count > 0 && predictions[0].shape.rank > 0 ? predictions[0].shape.dims[0] : 0;
    HR_TRY(predict_next_fields(p, rows, &fields, err));
    for (int i = 0; i < p->columns; i++) {
        int found;
        column[i].name = p->name[i];
        if (p->is_field[i]) {
            const hr_tensor *values = hr_get(fields, p->name[i]);
            if (!values) return hr_no_memory(err, "a field");
            column[i].values = *values;
            continue;
        }
        HR_TRY(predict_find(p, p->name[i], names, count, &found, err));
        if (predictions[found].shape.rank < 1 || predictions[found].shape.dims[0] != rows)
            return predict_refuse(err, "predictions with a value for each row", p->name[i]);
        column[i].values = predictions[found];
    }
    HR_TRY(hr__prediction_writer_add(p->writer, column, p->columns, rows, err));
    p->rows += rows;
    if (!p->opts.progress || p->opts.progress(p->rows, p->opts.user)) return HR_OK;
    return hr_fail(err, HR_CANCELLED, "training.cancelled", "predict: .progress has ended it");
}

/* ---- the call ---- */

/* No file may be a pipe, where its fields are read beside what the model sees. */
static hr_status predict_open_fields(predicting *p, hr_error *err)
{
    if (p->fields == 0) return HR_OK;
    if (p->opts.files) HR_TRY(hr_need_files_again(p->opts.files, "leave fields out of .columns", err));
    hr_error refused = {0};
    hr_dataset *ds = hr__training_fields_input(&p->input, p->read, p->fields, &refused);
    if (!ds) {
        if (err) *err = refused;
        return refused.code;
    }
    p->it = hr_iterate(ds);
    return p->it ? HR_OK : hr_no_memory(err, "an iterator");
}

static hr_status predict_rows(predicting *p, hr_error *err)
{
    hr_estimator *e = hr_training_estimator(p->training);
    if (!e) return hr_no_memory(err, "an estimator");
    const hr_status st = hr_estimator_predict(e, hr_training_predict_input, &p->input, predict_batch, p);
    if (st != HR_OK && err) *err = *hr_estimator_error(e);
    hr_estimator_free(e);
    return st;
}

static hr_status predict_open(predicting *p, const char *out, hr_tensor *names, hr_error *err)
{
    hr_file_format format;
    HR_TRY(predict_read_columns(p, err));
    HR_TRY(predict_format(p, &format, err));
    HR_TRY(hr__training_need_files(p->training, p->opts.files, "predict", err));
    if (p->opts.files) HR_TRY(hr__training_file_names(p->opts.files, names, err));
    p->input = (hr_training_predicted){p->training, p->opts.files ? names : NULL};
    HR_TRY(predict_open_fields(p, err));
    return hr__prediction_writer_open(out, format, p->training->csv.separator, !p->opts.columns, &p->writer, err);
}

/* Files without rows give a CSV of names. */
static hr_status predict_close(predicting *p, hr_error *err)
{
    hr__prediction_column column[MAX_COLUMNS];
    for (int i = 0; i < p->columns; i++) column[i] = (hr__prediction_column){p->name[i], {.dtype = HR_INT64}};
    if (p->rows > 0) return HR_OK;
    return hr__prediction_writer_add(p->writer, column, p->columns, 0, err);
}

hr_status hr_training_predict_with(hr_training *t, const char *out, hr_error *err, const hr_training_predict_opts *opts)
{
    hr_tensor names = {0};
    if (!t || !out)
        return hr_fail(err, HR_INVALID_ARGUMENT, "training.argument", "predict: expected %s, got NULL",
                       t ? "the name of an output" : "a training");
    predicting *p = hr_calloc(1, sizeof *p);
    if (!p) return hr_no_memory(err, "a prediction");
    p->training = t;
    p->opts = HR_OPTIONS(hr_training_predict_opts, opts);
    hr_status st = predict_open(p, out, &names, err);
    if (st == HR_OK) st = predict_rows(p, err);
    if (st == HR_OK) st = predict_close(p, err);
    if (st == HR_OK)
        st = hr__prediction_writer_commit(p->writer, err);
    else
        hr__prediction_writer_discard(p->writer);
    hr_iterator_free(p->it);
    hr_tensor_clear(&names);
    hr_free(p->names);
    hr_free(p);
    return st;
}
