/* headrace vocab: the words of a feature, the most frequent first. */
#include "cli/cli_survey.h"
#include "cli/json_line.h"
#include <inttypes.h>
#include <string.h>

static void print_counts(const hr_vocabulary *v)
{
    for (int64_t i = 0; i < hr_vocabulary_size(v); i++) {
        const hr_vocabulary_word w = hr_vocabulary_at(v, i);
        printf("%" PRId64 "\t", w.count);
        fwrite(w.word.data, 1, (size_t)w.word.size, stdout);
        putchar('\n');
    }
}

static void vocab_print_words(const hr_vocabulary *v)
{
    for (int64_t i = 0; i < hr_vocabulary_size(v); i++) {
        const hr_view word = hr_vocabulary_at(v, i).word;
        fwrite(word.data, 1, (size_t)word.size, stdout);
        putchar('\n');
    }
}

/* A word a line, any bytes. */
static hr_status print_json_lines(const hr_vocabulary *v, hr_error *err)
{
    hr_status st = HR_OK;
    for (int64_t i = 0; st == HR_OK && i < hr_vocabulary_size(v); i++) {
        const hr_vocabulary_word word = hr_vocabulary_at(v, i);
        json_line line;
        json_begin(&line);
        line.spaced = true;
        hr_is_utf8(word.word) ? json_view(&line, "word", word.word) : json_base64(&line, "b64", word.word);
        json_count(&line, "count", word.count);
        st = json_print(&line, err);
    }
    return st;
}

static hr_status vocab_show(const command_call *call, const hr_vocabulary *v, hr_error *err)
{
    if (flag_given(call, "json")) return print_json_lines(v, err);
    HR_TRY(hr_vocabulary_check(v, err));
    if (flag_given(call, "output")) {
        const char *out = flag_text(call, "output");
        const bool to_output = is_standard_output(out); /* before a new file has its name */
        HR_TRY(hr_vocabulary_write(v, out, err));
        if (to_output) return HR_OK; /* the words are there: no other between them */
        printf("%s words of %s written to %s\n", with_commas(hr_vocabulary_size(v)),
               with_commas(hr_vocabulary_distinct(v)), out);
    } else {
        flag_given(call, "counts") ? print_counts(v) : vocab_print_words(v);
    }
    return HR_OK;
}

static int vocab_run(command_call *call)
{
    survey_run survey;
    hr_vocabulary *v = NULL;
    hr_schema_file *schema = NULL;
    hr_error err = {0};
    if (!flag_text(call, "feature")) return usage_error(call, "--feature is missing: whose words to count");
    if (flag_given(call, "output") && (flag_given(call, "json") || flag_given(call, "counts")))
        return usage_error(call, "--output: expected words alone, found --json or --counts, which are for the screen");
    int code = read_survey_flags(call, &survey);
    if (code != 0) return code;
    hr_status st = HR_OK;
    if (flag_given(call, "schema")) st = hr_schema_file_open(flag_text(call, "schema"), &schema, &err);
    survey.opts.schema = schema;
    if (st == HR_OK) st = begin_survey(call, 0, &survey, &err);
    const hr_count_vocabulary_opts opts = {.struct_size = sizeof opts,
                                           .top_k = flag_number(call, "top-k", 0),
                                           .min_count = flag_number(call, "min-count", 0),
                                           .survey = &survey.opts};
    if (st == HR_OK) st = hr_count_vocabulary_with(&survey.files, flag_text(call, "feature"), &opts, &v, &err);
    end_survey(&survey);
    if (st == HR_OK) st = vocab_show(call, v, &err);
    hr_vocabulary_free(v);
    hr_schema_file_free(schema);
    return st == HR_OK ? WORKED : failed(call, &err);
}

static const flag flags[] = {
    {FLAG_TEXT, "feature", 'f', "NAME", "the feature whose words are counted: strings or int64"},
    {FLAG_COUNT, "top-k", 'k', "N", "only the N most frequent words"},
    {FLAG_COUNT, "min-count", 0, "N", "only words that occur N times or more"},
    {FLAG_TEXT, "output", 'o', "FILE", "write the words to FILE, one on each line; default: standard output"},
    {FLAG_SWITCH, "counts", 0, NULL, "print the count and a tab before each word"},
    {FLAG_SWITCH, "json", 0, NULL, "print a line of JSON for each word, with its count"},
    {FLAG_TEXT, "schema", 's', "FILE", "types of CSV and JSON fields"},
    SURVEY_FLAGS,
    {0},
};

const command command_vocab = {
    .name = "vocab",
    .arguments = "FILE...",
    .summary = "counts the words of a feature, for a vocabulary file",
    .text = "Counts every value of the feature and prints the words, the most frequent first; words of the same count "
            "are in the order of their bytes. vocabulary_file: of a config file and "
            "categorical_column_with_vocabulary_file read this file. A word that a line cannot hold (empty, or with a "
            "line end) is an error; --json can print it." SURVEY_TEXT,
    .examples = "  headrace vocab 'data/train-*' --feature tailnum --min-count 10 -o tailnum.txt\n"
                "  headrace vocab clicks.jsonl -f words -k 20 --counts\n",
    .flags = flags,
    .min_arguments = 1,
    .max_arguments = -1,
    .run = vocab_run,
};
