/* headrace saved-model run: one call of a signature. */
#include "cli/command.h"
#include "cli/graph_values.h"
#include "cli/saved_model_inputs.h"
#include <headrace/saved_model.h>
#include <string.h>

typedef struct model_run {
    hr_saved_model *model;
    const hr_meta_signature *signature;
    model_inputs inputs;
    hr_predictor *predictor;
    hr_tensor *in, *out;
    int outputs;
} model_run;

static void clear_run(model_run *r)
{
    for (int i = 0; r->out && i < r->outputs; i++) hr_tensor_clear(&r->out[i]);
    hr_free(r->out);
    hr_free(r->in);
    clear_model_inputs(&r->inputs);
    hr_predictor_free(r->predictor);
    hr_saved_model_unref(r->model);
}

static hr_status prepare_run(const command_call *call, model_run *r, hr_error *err)
{
    int count = 0;
    const char *const *outputs = flag_words(call, "outputs", &count);
    HR_TRY(hr_predictor_new(r->model, flag_text(call, "signature-def"), outputs, count, &r->predictor, err));
    r->signature = hr_predictor_signature(r->predictor);
    r->in = hr_calloc((size_t)r->signature->input_count + 1, sizeof *r->in);
    r->out = hr_calloc((size_t)hr_predictor_outputs(r->predictor) + 1, sizeof *r->out);
    if (!r->in || !r->out) return hr_no_memory(err, "a run");
    HR_TRY(read_model_inputs(call, r->signature, &r->inputs, err));
    for (int i = 0; i < r->signature->input_count; i++) r->in[i] = r->inputs.value[i];
    return HR_OK;
}

static hr_status print_outputs(const model_run *r, bool json, hr_error *err)
{
    text_buffer text = {0};
    if (json) text_byte(&text, '{');
    for (int i = 0; i < r->outputs; i++)
        text_named_value(&text, hr_predictor_output(r->predictor, i)->key, &r->out[i], json, i == 0);
    if (json) text_add(&text, "}\n");
    return print_values(&text, err);
}

/* "OUT/NAME.npy" for each output; '_' replaces slashes of names. */
static hr_status save_outputs(const command_call *call, const model_run *r, hr_error *err)
{
    const char *folder = flag_text(call, "outdir");
    for (int i = 0; folder && i < r->outputs; i++) {
        char path[4096];
        const size_t at = (size_t)snprintf(path, sizeof path, "%s/", folder);
        if (at + strlen(hr_predictor_output(r->predictor, i)->key) + 5 >= sizeof path)
            return hr_fail(err, HR_INVALID_ARGUMENT, "file.name", "--outdir: expected a shorter path");
        snprintf(path + at, sizeof path - at, "%s.npy", hr_predictor_output(r->predictor, i)->key);
        for (char *p = path + at; *p; p++)
            if (*p == '/') *p = '_';
        HR_TRY(hr_make_folders_above(path, err));
        HR_TRY(write_npy(path, &r->out[i], err));
    }
    return HR_OK;
}

static int saved_model_run_run(command_call *call)
{
    model_run r = {.outputs = 0};
    hr_error err = {0};
    const hr_session_opts session = {.struct_size = sizeof session,
                                     .memory_limit = flag_number(call, "memory-limit", 0)};
    hr_status st = hr_saved_model_load(call_argument(call, 0), &r.model, &err, .tags = flag_text(call, "tag-set"),
                                       .any_file = flag_given(call, "any-file"), .session = &session);
    if (st == HR_OK) st = prepare_run(call, &r, &err);
    if (st == HR_OK) st = hr_predictor_run(r.predictor, r.in, r.out, &err);
    if (st == HR_OK) r.outputs = hr_predictor_outputs(r.predictor);
    if (st == HR_OK) st = save_outputs(call, &r, &err);
    if (st == HR_OK && !flag_given(call, "quiet")) st = print_outputs(&r, flag_given(call, "json"), &err);
    clear_run(&r);
    return st == HR_OK ? WORKED : failed(call, &err);
}

static const flag flags[] = {
    {FLAG_TEXT, "tag-set", 0, "TAGS", "of several graphs, that of these tags, such as serve,gpu"},
    {FLAG_TEXT, "signature-def", 0, "NAME", "the signature to run; default serving_default"},
    {FLAG_REPEATED, "inputs", 0, "NAME=VALUE", "an input's value: JSON, or a file that ends in .npy"},
    {FLAG_REPEATED, "input-examples", 0, "NAME=LIST",
     "an input of serialized Examples: a list of objects, such as 'examples=[{\"age\": [22], \"sex\": [\"f\"]}]'"},
    {FLAG_LIST, "outputs", 0, "NAMES", "only these outputs; default all"},
    {FLAG_TEXT, "outdir", 0, "DIR", "write each output to a .npy file of its name in this folder"},
    {FLAG_BYTES, "memory-limit", 0, "SIZE", "a run whose tensors take more memory at a time fails; default none"},
    {FLAG_SWITCH, "any-file", 0, NULL, "let the model read and write any file, not only read those of its folder"},
    {FLAG_SWITCH, "json", 0, NULL, "print the values as one line of JSON"},
    {FLAG_SWITCH, "quiet", 'q', NULL, "print no values"},
    {0},
};

const command command_saved_model_run = {
    .name = "saved-model run",
    .arguments = "DIR",
    .summary = "runs a signature of a SavedModel on values from the command line",
    .text = "Loads a SavedModel, restores its variables, fills its tables, and runs a signature once. A value has the "
            "type of its input: \"3\", \"[[1, 2], [3, 4]]\", \"[\\\"a\\\"]\", or the name of a .npy file. Features of "
            "Examples are lists: numbers with a point are floats, others integers. The model reads files of its folder "
            "alone, and writes none.",
    .examples = "  headrace saved-model run model --inputs 'x=[[1, 2, 3]]'\n"
                "  headrace saved-model run export/1700000000 --signature-def predict --input-examples "
                "'examples=[{\"age\": [35.0], \"sex\": [\"female\"]}]' --json\n",
    .flags = flags,
    .min_arguments = 1,
    .max_arguments = 1,
    .run = saved_model_run_run,
    .underscores = true,
};
