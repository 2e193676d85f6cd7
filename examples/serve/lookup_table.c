/* A plug-in: a kind of model of one's own behind the server, here a table of words and numbers.
 *
 *     cc -shared -fPIC -o lookup_table.so lookup_table.c $(pkg-config --cflags headrace_train)
 *     mkdir -p words/1 && printf 'cat\t7\ndog\t11\n' > words/1/table.tsv
 *     headrace serve --servable=./lookup_table.so --model_platform=lookup_table --model_base_path=$PWD/words
 *     curl -d '{"instances": ["dog", "gnu"]}' http://127.0.0.1:8501/v1/models/default:predict
 *
 * The folder of a version has a file table.tsv: a word, a tab, a number a line. The one signature takes words, and gives
 * their numbers; -1 for those that are not there. */
#include <headrace/servable.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct table_row {
    char word[56];
    int64_t number;
} table_row;

typedef struct table {
    table_row *rows; /* by their words */
    size_t count;
} table;

static int compare_rows(const void *a, const void *b)
{
    return strcmp(((const table_row *)a)->word, ((const table_row *)b)->word);
}

static void table_unload(void *model)
{
    table *t = model;
    hr_free(t->rows);
    hr_free(t);
}

static hr_status read_rows(table *t, FILE *f, hr_error *err)
{
    char line[200];
    while (fgets(line, sizeof line, f)) {
        table_row row = {.word = ""};
        char *tab = strchr(line, '\t');
        if (!tab || tab - line >= (long)sizeof row.word)
            return hr_fail(err, HR_INVALID_ARGUMENT, "lookup_table.line", "line %zu: expected a word, a tab, a number",
                           t->count + 1);
        memcpy(row.word, line, (size_t)(tab - line));
        row.number = atoll(tab + 1);
        table_row *more = hr_realloc(t->rows, (t->count + 1) * sizeof *more);
        if (!more) return hr_no_memory(err, "a table");
        t->rows = more;
        t->rows[t->count++] = row;
    }
    if (t->count) qsort(t->rows, t->count, sizeof *t->rows, compare_rows);
    return HR_OK;
}

static hr_status table_load(const hr_servable_load *load, void **model, hr_error *err)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/table.tsv", load->path);
    FILE *f = fopen(path, "r");
    if (!f) return hr_fail(err, HR_NOT_FOUND, "lookup_table.file", "%s: it cannot be opened", path);
    table *t = hr_calloc(1, sizeof *t);
    hr_status st = t ? read_rows(t, f, err) : hr_no_memory(err, "a table");
    fclose(f);
    if (st == HR_OK)
        *model = t;
    else if (t)
        table_unload(t);
    return st;
}

static const hr_meta_signature *table_signature(const void *model, int i)
{
    static const hr_meta_tensor word = {.key = "word", .name = "word:0", .dtype = HR_STRING, .shape = {1, {-1}}};
    static const hr_meta_tensor number = {.key = "number", .name = "number:0", .dtype = HR_INT64, .shape = {1, {-1}}};
    static const hr_meta_signature signature = {.key = "serving_default",
                                                .method = "tensorflow/serving/predict",
                                                .inputs = &word,
                                                .outputs = &number,
                                                .input_count = 1,
                                                .output_count = 1};
    (void)model;
    return i == 0 ? &signature : NULL;
}

static int64_t look_up(const table *t, hr_view word)
{
    table_row key = {.word = ""};
    if (word.size >= (int64_t)sizeof key.word) return -1;
    if (word.size) memcpy(key.word, word.data, (size_t)word.size);
    const table_row *found = t->count ? bsearch(&key, t->rows, t->count, sizeof key, compare_rows) : NULL;
    return found ? found->number : -1;
}

static hr_status table_run(void *model, const hr_servable_run *run, hr_tensor *out, hr_error *err)
{
    const table *t = model;
    const hr_tensor *words = &run->inputs[0];
    if (words->dtype != HR_STRING)
        return hr_fail(err, HR_INVALID_ARGUMENT, "lookup_table.type", "word: expected strings, got %s",
                       hr_dtype_name(words->dtype));
    if (run->output_count == 0) return HR_OK;
    HR_TRY(hr_tensor_new(&out[0], HR_INT64, words->shape, err));
    for (int64_t i = 0; i < words->count; i++)
        ((int64_t *)out[0].data)[i] = look_up(t, ((const hr_view *)words->data)[i]);
    return HR_OK;
}

static const hr_servable_kind table_kind = {
    .head = HR_SERVABLE_HEAD,
    .name = "lookup_table",
    .load = table_load,
    .unload = table_unload,
    .signature = table_signature,
    .run = table_run,
};

HR_API hr_servable_plugin_fn hr_servable_plugin;
const hr_servable_kind *hr_servable_plugin(void) { return &table_kind; }
