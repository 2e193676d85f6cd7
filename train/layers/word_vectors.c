/* Vectors of words from files of word2vec and GloVe, read once from front to back: what is kept is as large as the
 * vocabulary asked for, whatever the size of the file. */
#include "base/number.h"
#include "train/layers/layers_internal.h"
#include <headrace/column_kernels.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_DIMENSION = 1 << 16, MAX_WORD = 4096, MAX_NUMBER = 64 };

typedef struct vectors_file {
    FILE *f;
    const char *path;
    bool binary;
    int64_t line, offset; /* of what is read next; line from 1 */
    int64_t rows;         /* that its first line claims; -1: it has no such line */
    int64_t dimension;    /* 0: not known yet */
    char word[MAX_WORD];
    size_t word_size;
    float *vector;
} vectors_file;

/* ---- bytes ---- */

static int next_byte(vectors_file *in)
{
    const int c = getc(in->f);
    if (c == EOF) return c;
    in->offset++;
    in->line += c == '\n';
    return c;
}

static void put_back(vectors_file *in, int c)
{
    if (c == EOF) return;
    ungetc(c, in->f);
    in->offset--;
    in->line -= c == '\n';
}

static hr_status vectors_refuse(const vectors_file *in, const char *expected, const char *found, hr_error *err)
{
    hr_fail(err, HR_DATA_LOSS, "layers.word_vectors", "%.200s:%lld: byte %lld: expected %s, found %.60s", in->path,
            (long long)in->line, (long long)in->offset, expected, found);
    if (!err) return HR_DATA_LOSS;
    err->line = in->line;
    err->offset = in->offset;
    snprintf(err->file, sizeof err->file, "%s", in->path);
    return HR_DATA_LOSS;
}

/* Bytes up to a blank or the end of the line, which stay there. Words may have any other bytes. */
static hr_status read_token(vectors_file *in, char *to, size_t room, size_t *size, const char *what, hr_error *err)
{
    int c;
    *size = 0;
    while ((c = next_byte(in)) != EOF && c != ' ' && c != '\n' && c != '\t') {
        if (*size + 1 == room) return vectors_refuse(in, what, "one that is too long", err);
        to[(*size)++] = (char)c;
    }
    to[*size] = '\0';
    put_back(in, c);
    return HR_OK;
}

/* A '\r' before the end of a line belongs to neither. */
static int skip_blanks(vectors_file *in)
{
    int c;
    while ((c = next_byte(in)) == ' ' || c == '\t' || c == '\r') {}
    put_back(in, c);
    return c;
}

/* ---- the first line ---- */

/* "COUNT DIMENSION" alone in its line; GloVe's files have none, and begin with a word. */
static hr_status read_header(vectors_file *in, hr_error *err)
{
    char text[2][MAX_NUMBER + 1] = {"", ""};
    size_t size[2] = {0, 0};
    int64_t count = 0, dimension = 0;
    for (int i = 0; i < 2; i++) {
        size_t n = 0;
        int c;
        while (n < MAX_NUMBER && (c = getc(in->f)) != EOF && c != ' ' && c != '\n') text[i][n++] = (char)c;
        size[i] = n;
    }
    while (size[1] > 0 && text[1][size[1] - 1] == '\r') size[1]--;
    const bool numbers = hr__parse_int64(text[0], size[0], HR__NUMBER_DEFAULT, &count) == HR__PARSED &&
                         hr__parse_int64(text[1], size[1], HR__NUMBER_DEFAULT, &dimension) == HR__PARSED;
    rewind(in->f);
    in->rows = -1;
    if (!numbers && in->binary) return vectors_refuse(in, "a first line \"COUNT DIMENSION\"", text[0], err);
    if (!numbers) return HR_OK;
    if (count < 0 || dimension < 1 || dimension > MAX_DIMENSION)
        return vectors_refuse(in, "a count of 0 or more and a dimension from 1 to 65536", text[1], err);
    in->rows = count;
    in->dimension = dimension;
    int c;
    while ((c = next_byte(in)) != EOF && c != '\n') {}
    return HR_OK;
}

/* The first line of a file without header says how many numbers a word has. */
static hr_status count_numbers(vectors_file *in, hr_error *err)
{
    int c, before = ' ';
    int64_t tokens = 0;
    while ((c = getc(in->f)) != EOF && c != '\n') {
        tokens += c != ' ' && c != '\t' && c != '\r' && (before == ' ' || before == '\t');
        before = c;
    }
    rewind(in->f);
    if (tokens < 2 || tokens > MAX_DIMENSION + 1)
        return vectors_refuse(in, "a word and 1 to 65536 numbers in the first line", "another number of them", err);
    in->dimension = tokens - 1;
    return HR_OK;
}

/* ---- a word and its vector ---- */

static hr_status read_numbers(vectors_file *in, hr_error *err)
{
    char text[MAX_NUMBER + 1];
    size_t size;
    for (int64_t i = 0; i < in->dimension; i++) {
        skip_blanks(in);
        HR_TRY(read_token(in, text, sizeof text, &size, "a number", err));
        while (size > 0 && text[size - 1] == '\r') size--;
        if (size == 0 || hr__parse_float(text, size, HR__NUMBER_DEFAULT, &in->vector[i]) != HR__PARSED ||
            !isfinite(in->vector[i]))
            return vectors_refuse(in, "a finite number for each dimension", size ? text : "the end of the line", err);
    }
    const int c = skip_blanks(in);
    if (c != '\n' && c != EOF) return vectors_refuse(in, "as many numbers in each line", "more of them", err);
    next_byte(in);
    return HR_OK;
}

/* Little-endian floats. Some writers end the vector with a newline, some do not. */
static hr_status read_floats(vectors_file *in, hr_error *err)
{
    if (next_byte(in) != ' ') return vectors_refuse(in, "a blank after a word", "another byte", err);
    for (int64_t i = 0; i < in->dimension; i++) {
        unsigned char b[4];
        if (fread(b, 1, 4, in->f) != 4) return vectors_refuse(in, "the bytes of a vector", "the end of the file", err);
        const uint32_t bits = (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
        memcpy(&in->vector[i], &bits, sizeof bits);
        in->offset += 4;
        if (!isfinite(in->vector[i])) return vectors_refuse(in, "finite numbers", "NaN or infinity", err);
    }
    return HR_OK;
}

/* HR_END: there is no other word. Empty lines are passed over. */
static hr_status read_row(vectors_file *in, hr_error *err)
{
    int c;
    while ((c = next_byte(in)) == '\n' || c == '\r') {}
    put_back(in, c);
    if (c == EOF) return HR_END;
    HR_TRY(read_token(in, in->word, sizeof in->word, &in->word_size, "a word of at most 4095 bytes", err));
    return in->binary ? read_floats(in, err) : read_numbers(in, err);
}

/* ---- the rows of a vocabulary ---- */

/* The first vector of a word counts. */
static void keep_row(const vectors_file *in, const hr_words *words, hr_tensor *out, bool *found, int64_t *count)
{
    const hr_view word = {in->word, (int64_t)in->word_size};
    const hr_column_values one = {.dtype = HR_STRING, .values = &word, .count = 1};
    int64_t at;
    hr_words_look_up(words, &one, -1, 0, &at);
    if (at < 0 || found[at]) return;
    found[at] = true;
    ++*count;
    memcpy((float *)out->data + at * in->dimension, in->vector, (size_t)in->dimension * sizeof(float));
}

static hr_status read_rows(vectors_file *in, const hr_words *words, hr_tensor *out, bool *found, int64_t *count,
                           hr_error *err)
{
    hr_status st;
    int64_t rows = 0;
    *count = 0;
    for (; (st = read_row(in, err)) == HR_OK; rows++) keep_row(in, words, out, found, count);
    if (st != HR_END) return st;
    if (ferror(in->f)) return vectors_refuse(in, "a file that can be read", "an error", err);
    if (in->rows < 0 || in->rows == rows) return HR_OK;
    char text[96];
    snprintf(text, sizeof text, "%lld, but its first line says %lld", (long long)rows, (long long)in->rows);
    return vectors_refuse(in, "as many words as the first line says", text, err);
}

hr_status hr__initial_values(hr_initializer initializer, hr_shape shape, int64_t seed, hr_tensor *out, hr_error *err)
{
    hr_graph *g = hr_graph_new();
    if (!g) return hr_no_memory(err, "a graph");
    if (seed) hr_set_random_seed(g, seed);
    const hr_node variable =
        hr_get_variable(g, "values", HR_FLOAT, shape, .initializer = initializer.make ? initializer : hr_zeros());
    const hr_node init = hr_target(hr_global_variables_initializer(g));
    hr_session *s = hr_session_new(g);
    hr_tensor value;
    hr_status st = s ? hr_session_run(s, NULL, 0, &init, 1, NULL, err) : hr_no_memory(err, "a session");
    if (st == HR_OK) st = hr_session_get(s, variable, &value, err);
    if (st == HR_OK) {
        st = hr_tensor_new(out, HR_FLOAT, shape, err); /* the session's may be seen by others */
        if (st == HR_OK && value.count) memcpy(out->data, value.data, (size_t)value.count * sizeof(float));
        hr_tensor_clear(&value);
    }
    hr_session_free(s);
    hr_graph_free(g);
    return st;
}

static hr_status read_open(vectors_file *in, const hr_words *words, const hr_word_vectors_opts *o, hr_tensor *out,
                           int64_t *count, hr_error *err)
{
    const int64_t size = hr_words_size(words);
    HR_TRY(read_header(in, err));
    if (!in->dimension) HR_TRY(count_numbers(in, err));
    in->vector = hr_malloc((size_t)in->dimension * sizeof(float));
    bool *found = hr_calloc((size_t)size + 1, sizeof *found);
    hr_status st = in->vector && found ? HR_OK : hr_no_memory(err, "word vectors");
    if (st == HR_OK)
        st = hr__initial_values(o->initializer, HR_SHAPE(size + o->num_oov_buckets, in->dimension), 0, out, err);
    if (st == HR_OK) {
        st = read_rows(in, words, out, found, count, err);
        if (st != HR_OK) hr_tensor_clear(out);
    }
    hr_free(found);
    hr_free(in->vector);
    return st;
}

hr_status hr_word_vectors_with(const char *file, hr_vocabulary_list words, hr_tensor *out, hr_error *err,
                               const hr_word_vectors_opts *opts)
{
    const hr_word_vectors_opts o = HR_OPTIONS(hr_word_vectors_opts, opts);
    hr_words *wanted;
    int64_t count;
    if (!file || !out || (!words.strings && !words.views) || words.count < 1 || o.num_oov_buckets < 0 ||
        o.num_oov_buckets > INT32_MAX)
        return hr_fail(
            err, HR_INVALID_ARGUMENT, "layers.argument",
            "word vectors: expected a file, a vocabulary of strings, a tensor to fill, and num_oov_buckets of "
            "0 or more");
    HR_TRY(hr_words_of_list("word vectors", words, &wanted, err));
    vectors_file in = {.f = fopen(file, "rb"), .path = file, .binary = o.binary, .line = 1};
    hr_status st = in.f ? read_open(&in, wanted, &o, out, o.found ? o.found : &count, err)
                        : hr_fail(err, HR_NOT_FOUND, "layers.word_vectors",
                                  "word vectors: expected a file '%.200s' that can be read, found none", file);
    if (in.f) fclose(in.f);
    hr_words_unref(wanted);
    return st;
}
