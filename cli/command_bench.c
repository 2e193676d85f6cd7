/* headrace bench: how fast an input is by itself, without a model: that of a training file, or a pipeline. */
#include "cli/cli_training.h"
#include "cli/json_line.h"

typedef struct figures {
    int64_t rows, batches;
    double seconds, first_batch;
    char *explain;
} figures;

static void bench_show(progress *p, const figures *f, double seconds)
{
    char detail[96];
    snprintf(detail, sizeof detail, "%s rows, %s rows/s", with_commas(f->rows),
             with_commas((int64_t)((double)f->rows / (seconds + 1e-9))));
    progress_show(p, -1, detail);
}

static hr_status drain(hr_dataset *ds, int64_t max, const hr_iterate_opts *opts, figures *f, hr_error *err)
{
    const hr_element *e;
    hr_status st = HR_OK;
    progress p;
    progress_start(&p, "reading");
    hr_iterator *it = hr_iterate_with(ds, opts);
    while (!interrupted() && (max <= 0 || f->batches < max) && (st = hr_next(it, &e)) == HR_OK) {
        const hr_tensor *first = hr_get_at(e, 0);
        f->rows += first && first->shape.rank > 0 ? first->shape.dims[0] : 1;
        if (f->batches++ == 0) f->first_batch = now_seconds() - p.started;
        if (progress_due(&p)) bench_show(&p, f, now_seconds() - p.started);
    }
    f->seconds = now_seconds() - p.started;
    progress_end(&p);
    f->explain = hr_explain(it);
    if (st != HR_OK && st != HR_END) *err = *hr_iterator_error(it);
    hr_iterator_free(it);
    return st == HR_END ? HR_OK : st;
}

static double bench_ratio(double a, double b) { return b > 0 ? a / b : 0; }

static void bench_print_as_json(const figures *f)
{
    json_line top;
    json_begin(&top);
    json_count(&top, "rows", f->rows);
    json_count(&top, "batches", f->batches);
    json_number(&top, "seconds", f->seconds);
    json_number(&top, "rows_per_s", bench_ratio((double)f->rows, f->seconds));
    json_number(&top, "us_per_row", bench_ratio(f->seconds * 1e6, (double)f->rows));
    json_number(&top, "first_batch_s", f->first_batch);
    json_end(&top);
}

static void bench_print_text(const figures *f, bool explain)
{
    printf("%s rows in %s batches, %.2f s: %s rows/s, %.3f us a row; first batch after %.1f ms\n", with_commas(f->rows),
           with_commas(f->batches), f->seconds, with_commas((int64_t)bench_ratio((double)f->rows, f->seconds)),
           bench_ratio(f->seconds * 1e6, (double)f->rows), f->first_batch * 1e3);
    if (explain && f->explain) printf("\n%s", f->explain);
}

static int bench_run(command_call *call)
{
    input in;
    hr_error err = {0};
    figures f = {0};
    catch_interrupt();
    interrupt_at_once("bench");
    int code = open_input(call, &in);
    interrupt_at_once(NULL);
    if (code != 0) return code;
    const hr_iterate_opts opts = {.struct_size = sizeof opts, .seed = in.seed, .trace = flag_text(call, "trace")};
    hr_status st = drain(in.dataset, flag_number(call, "batches", 0), &opts, &f, &err);
    if (st != HR_OK)
        code = failed(call, &err);
    else if (flag_given(call, "json"))
        bench_print_as_json(&f);
    else
        bench_print_text(&f, flag_given(call, "explain"));
    hr_free(f.explain);
    close_input(&in);
    return code == WORKED && interrupted() ? INTERRUPTED : code;
}

static const flag flags[] = {
    PIPELINE_FLAG,
    TRAINING_FLAGS,
    {FLAG_COUNT, "batches", 'n', "N", "stop after N batches"},
    {FLAG_SWITCH, "explain", 0, NULL, "show what each stage did, and which one is the bottleneck"},
    {FLAG_TEXT, "trace", 0, "OUT", "write each unit of work as a span of time, for chrome://tracing or Perfetto"},
    {FLAG_SWITCH, "json", 0, NULL, "one line of JSON"},
    {0},
};

const command command_bench = {
    .name = "bench",
    .arguments = "FILE.yaml",
    .summary = "measures the input of a training, or a pipeline in a file",
    .text = "Runs the pipeline that feeds `headrace train` (list_files, interleave, shuffle_and_repeat, batch, "
            "parse_example, prefetch), and nothing else. Training cannot be faster than this. With --pipeline, or if "
            "the file describes no training, it runs the section pipeline:, a list of operators that begins with the "
            "files.",
    .examples = "  headrace bench flights.yaml --data data --explain\n"
                "  headrace bench flights.yaml -d data -n 1000 --json\n"
                "  headrace bench --pipeline flights.yaml -d data\n",
    .flags = flags,
    .min_arguments = 1,
    .max_arguments = 1,
    .run = bench_run,
};
