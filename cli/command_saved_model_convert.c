/* headrace saved-model convert: the file of a SavedModel as text or bytes, or its graph as an event file. */
#include "cli/command.h"
#include <headrace/saved_model.h>
#include <headrace/summary.h>
#include <string.h>

static hr_status write_events(const char *folder, const char *tags, const char *to, hr_error *err)
{
    hr_event_writer *events;
    char *bytes = NULL;
    size_t size;
    hr_graph *g = hr_graph_new();
    hr_status st = g ? hr_saved_model_read(g, folder, tags, NULL, err) : hr_no_memory(err, "a graph");
    if (st == HR_OK) st = hr_graph_export(g, &bytes, &size, err);
    hr_graph_free(g);
    if (st == HR_OK) st = hr_event_writer_open(to, &events, err);
    if (st == HR_OK) {
        st = hr_event_graph(events, (hr_view){bytes, (int64_t)size}, err);
        if (st == HR_OK) st = hr_event_writer_flush(events, err);
        hr_event_writer_free(events);
    }
    hr_free(bytes);
    return st;
}

static int saved_model_convert_run(command_call *call)
{
    hr_error err = {0};
    hr_status st = HR_OK;
    const char *from = call_argument(call, 0), *out = flag_text(call, "output"), *logdir = flag_text(call, "logdir");
    if (!out == !logdir) return usage_error(call, "expected one of --output and --logdir");
    if (out && flag_given(call, "tag-set")) return usage_error(call, "expected --tag-set with --logdir alone");
    if (out)
        st = hr_saved_model_convert(from, out, &err);
    else
        st = write_events(from, flag_text(call, "tag-set"), logdir, &err);
    return st == HR_OK ? WORKED : failed(call, &err);
}

static const flag flags[] = {
    {FLAG_TEXT, "output", 'o', "OUT", "the file to write, as text if its name ends in .pbtxt, else as bytes"},
    {FLAG_TEXT, "logdir", 0, "DIR", "write an event file for TensorBoard's page of graphs into this folder instead"},
    {FLAG_TEXT, "tag-set", 0, "TAGS", "with --logdir, of several graphs, that of these tags, such as serve,gpu"},
    {0},
};

const command command_saved_model_convert = {
    .name = "saved-model convert",
    .arguments = "DIR",
    .summary = "the file of a SavedModel as text, as bytes, or for TensorBoard",
    .text = "Writes saved_model.pb as saved_model.pbtxt, or the other way round: a loader takes either. All that the "
            "file says is kept, ops that are not known here, too. Or writes one of its graphs as an event file.",
    .examples = "  headrace saved-model convert model -o model/saved_model.pbtxt && rm model/saved_model.pb\n"
                "  headrace saved-model convert model --logdir logs/model\n",
    .flags = flags,
    .min_arguments = 1,
    .max_arguments = 1,
    .run = saved_model_convert_run,
    .underscores = true,
};
