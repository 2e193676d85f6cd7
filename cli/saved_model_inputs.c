/* See saved_model_inputs.h. */
#include "cli/saved_model_inputs.h"
#include "cli/graph_values.h"
#include <string.h>

/* "x=[1, 2]": which input, and the text after the first '='. */
static hr_status find_input(const char *flag, const char *text, const hr_meta_signature *s, int *input,
                            const char **value, hr_error *err)
{
    const char *equals = strchr(text, '=');
    const size_t size = equals ? (size_t)(equals - text) : 0;
    for (*input = 0; equals && *input < s->input_count; ++*input) {
        const char *key = s->inputs[*input].key;
        if (strlen(key) != size || memcmp(key, text, size) != 0) continue;
        *value = equals + 1;
        return HR_OK;
    }
    return hr_fail(err, HR_INVALID_ARGUMENT, "savedmodel.input",
                   "--%s: expected NAME=VALUE with an input of signature '%.60s', such as '%.60s', got '%.60s'", flag,
                   s->key, s->input_count ? s->inputs[0].key : "", text);
}

static hr_status take_input(model_inputs *in, const hr_meta_signature *s, int input, hr_tensor *value, hr_error *err)
{
    if (in->given[input]) {
        hr_tensor_clear(value);
        return hr_fail(err, HR_INVALID_ARGUMENT, "savedmodel.input", "expected a value for '%.60s' once, got two",
                       s->inputs[input].key);
    }
    in->given[input] = true;
    in->value[input] = *value;
    return HR_OK;
}

static hr_status read_input(const char *text, const hr_meta_signature *s, model_inputs *in, hr_error *err)
{
    int input;
    const char *value;
    hr_tensor tensor;
    HR_TRY(find_input("inputs", text, s, &input, &value, err));
    if (s->inputs[input].indices)
        return hr_fail(err, HR_UNIMPLEMENTED, "savedmodel.input",
                       "--inputs: expected a dense input, but '%.60s' is sparse", s->inputs[input].key);
    const hr_status st = read_graph_value(value, s->inputs[input].dtype, &tensor, err);
    if (st != HR_OK) hr_error_prefix(err, "--inputs %s: ", s->inputs[input].key);
    return st == HR_OK ? take_input(in, s, input, &tensor, err) : st;
}

/* ---- Examples ---- */

/* The objects of a list, one after the other, without the commas between them: in place. False: it is none. */
static bool objects_of_list(char *text)
{
    int depth = 0;
    bool quoted = false;
    char *end = text + strlen(text);
    while (end > text && strchr(" \t\r\n", end[-1])) end--;
    text += strspn(text, " \t\r\n");
    if (*text != '[' || end <= text + 1 || end[-1] != ']') return false;
    *text = end[-1] = ' ';
    for (char *p = text; *p; p++) {
        if (quoted && *p == '\\' && p[1]) {
            p++;
        } else if (*p == '"') {
            quoted = !quoted;
        } else if (!quoted) {
            depth += (*p == '{' || *p == '[') - (*p == '}' || *p == ']');
            if (*p == ',' && depth == 0) *p = ' ';
        }
    }
    return depth == 0 && !quoted;
}

/* All records of the text as one vector of strings. */
static hr_status read_examples(const char *text, hr_tensor *out, hr_error *err)
{
    hr_json_reader *reader;
    hr_view record, *all = NULL;
    text_buffer bytes = {0};
    int64_t count = 0;
    HR_TRY(hr_json_reader_text_with("--input-examples", (hr_view){text, (int64_t)strlen(text)}, NULL, &reader, err));
    hr_status st;
    while ((st = hr_json_read(reader, &record, err)) == HR_OK) {
        hr_view *grown = hr_realloc(all, sizeof *all * ((size_t)count + 1));
        if (grown) all = grown;
        if (grown) all[count++] = (hr_view){(const char *)(uintptr_t)bytes.size, record.size};
        for (int64_t i = 0; i < record.size; i++) text_byte(&bytes, record.data[i]);
        if (grown && !bytes.failed) continue;
        st = hr_no_memory(err, "Examples");
        break;
    }
    hr_json_reader_free(reader);
    for (int64_t i = 0; i < count; i++) all[i].data = (bytes.data ? bytes.data : "") + (size_t)(uintptr_t)all[i].data;
    if (st == HR_END) st = hr_tensor_strings(out, HR_SHAPE(count), all, err);
    hr_free(all);
    text_free(&bytes);
    return st;
}

static hr_status read_input_examples(const char *text, const hr_meta_signature *s, model_inputs *in, hr_error *err)
{
    int input;
    const char *value;
    hr_tensor tensor = {0};
    HR_TRY(find_input("input-examples", text, s, &input, &value, err));
    char *copy = hr_strdup(value);
    if (!copy) return hr_no_memory(err, "Examples");
    hr_status st = objects_of_list(copy) ? read_examples(copy, &tensor, err)
                                         : hr_fail(err, HR_INVALID_ARGUMENT, "savedmodel.input",
                                                   "--input-examples %s: expected a list of objects, [{...}, ...], got "
                                                   "'%.60s'",
                                                   s->inputs[input].key, value);
    hr_free(copy);
    return st == HR_OK ? take_input(in, s, input, &tensor, err) : st;
}

/* ---- all of them ---- */

hr_status read_model_inputs(const command_call *call, const hr_meta_signature *s, model_inputs *out, hr_error *err)
{
    *out = (model_inputs){hr_calloc((size_t)s->input_count + 1, sizeof *out->value),
                          hr_calloc((size_t)s->input_count + 1, sizeof *out->given), s->input_count};
    if (!out->value || !out->given) return hr_no_memory(err, "inputs");
    for (int i = 0; i < flag_count(call, "inputs"); i++) HR_TRY(read_input(flag_nth(call, "inputs", i), s, out, err));
    for (int i = 0; i < flag_count(call, "input-examples"); i++)
        HR_TRY(read_input_examples(flag_nth(call, "input-examples", i), s, out, err));
    for (int i = 0; i < s->input_count; i++) {
        char shape[256];
        if (out->given[i]) continue;
        return hr_fail(err, HR_INVALID_ARGUMENT, "savedmodel.input",
                       "expected --inputs '%.60s=VALUE' for an input of %s%s of signature '%.60s', got none",
                       s->inputs[i].key, hr_dtype_name(s->inputs[i].dtype),
                       hr_shape_text(s->inputs[i].shape, shape, sizeof shape), s->key);
    }
    return HR_OK;
}

void clear_model_inputs(model_inputs *in)
{
    for (int i = 0; in->value && i < in->count; i++) hr_tensor_clear(&in->value[i]);
    hr_free(in->value);
    hr_free(in->given);
}
