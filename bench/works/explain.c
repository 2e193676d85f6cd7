/* The verdict of hr_explain on pipelines whose bottleneck is known, because it was put there: how many of them it names,
 * and what it says that one more thread would bring, against what it does bring. */
#include "bench/bench.h"
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static void busy_for(double seconds)
{
    for (const double end = bench_seconds() + seconds; bench_seconds() < end;) continue;
}

static void sleep_for(double seconds) { nanosleep(&(struct timespec){.tv_nsec = (long)(seconds * 1e9)}, NULL); }

static const hr_schema number_schema = {.fields = 1, .field = &(hr_field){.name = "value", .dtype = HR_INT64}};

/* ---- functions that take long ---- */

static hr_status slow_map(const hr_element *in, hr_builder *out, hr_call *call, void *user)
{
    (void)in, (void)out, (void)call, (void)user;
    busy_for(50e-6);
    return HR_OK;
}

static hr_status sleeping_map(const hr_element *in, hr_builder *out, hr_call *call, void *user)
{
    (void)in, (void)out, (void)call, (void)user;
    sleep_for(500e-6);
    return HR_OK;
}

/* One element of sixty-four holds up all behind it. */
static hr_status uneven_map(const hr_element *in, hr_builder *out, hr_call *call, void *user)
{
    (void)out, (void)call, (void)user;
    if (*(const int64_t *)hr_get_at(in, 0)->data % 64 == 0) sleep_for(5e-3);
    return HR_OK;
}

static hr_status slow_generator(int64_t number, hr_builder *out, hr_call *call, void *user)
{
    (void)call, (void)user;
    busy_for(20e-6);
    *(int64_t *)hr_set(out, "value") = number;
    return HR_OK;
}

static hr_status draw_image(const hr_element *in, hr_builder *out, hr_call *call, void *user)
{
    (void)in, (void)call, (void)user;
    memset(hr_set(out, "image"), 1, 4 << 18);
    busy_for(2e-3);
    return HR_OK;
}

static bool slow_filter(const hr_element *in, void *user)
{
    (void)in, (void)user;
    busy_for(20e-6);
    return true;
}

/* ---- pipelines ---- */

static hr_dataset *consumed_slowly(const char *folder) { return bench_pipeline(folder); }
static hr_dataset *mapped_slowly(const char *folder)
{
    (void)folder;
    return hr_batch(hr_map(hr_range(8000), slow_map, NULL), 64);
}
static hr_dataset *mapped_asleep(const char *folder)
{
    (void)folder;
    return hr_batch(hr_map(hr_range(1500), sleeping_map, NULL), 64);
}
static hr_dataset *generated_slowly(const char *folder)
{
    (void)folder;
    return hr_batch(hr_from_generator(slow_generator, NULL, .output = &number_schema, .count = HR_I64(20000)), 64);
}
static hr_dataset *filtered_slowly(const char *folder)
{
    (void)folder;
    return hr_batch(hr_filter(hr_range(20000), slow_filter, NULL), 64);
}
static hr_dataset *parsed(const char *folder)
{
    char names[BENCH_PATH];
    snprintf(names, sizeof names, "%s/" CRITEO, folder);
    hr_dataset *batches = hr_batch(hr_take(hr_tfrecord(names), 20000), 512);
    return hr_parse_example(hr_repeat(hr_cache(batches), .count = HR_I64(40)), bench_spec());
}
static hr_dataset *inflated(const char *folder)
{
    char name[BENCH_PATH];
    snprintf(name, sizeof name, "%s/criteo-00000-of-00004.tfrecord.gz", folder);
    return hr_batch(hr_tfrecord(name), 512);
}
static hr_dataset *in_a_narrow_window(const char *folder)
{
    (void)folder;
    return hr_batch(hr_map(hr_range(4000), uneven_map, NULL), 4);
}

/* Elements of a megabyte, of which the budget has no room for two. */
static hr_dataset *within_a_small_budget(const char *folder)
{
    static const hr_field large = {.name = "image", .dtype = HR_FLOAT, .shape = {.rank = 1, .dims = {1 << 18}}};
    static const hr_schema schema = {.fields = 1, .field = &large};
    (void)folder;
    return hr_map(hr_range(200), draw_image, NULL, .output = &schema);
}
static hr_dataset *without_an_index(const char *folder)
{
    char names[BENCH_PATH];
    snprintf(names, sizeof names, "%s/" CRITEO, folder);
    return hr_batch(hr_take(hr_shuffled_records(names), 100), 10);
}

/* ---- a pipe that gives a line a millisecond ---- */

static char fifo[BENCH_PATH];

static void *feed(void *user)
{
    enum { LINES = 500 };
    (void)user;
    const int to = open(fifo, O_WRONLY);
    for (int i = 0; to >= 0 && i < LINES && write(to, "a line\n", 7) == 7; i++) sleep_for(1e-3);
    if (to >= 0) close(to);
    return NULL;
}

static hr_dataset *from_a_slow_pipe(const char *folder)
{
    (void)folder;
    return hr_batch(hr_text_lines(fifo), 1);
}

/* ---- what is known of each ---- */

typedef struct known {
    const char *name;
    hr_dataset *(*make)(const char *folder);
    hr_bound by;
    const char *stage;       /* a part of its name; NULL: none */
    double consumer_seconds; /* at an element */
    int window;
    size_t budget;
} known;

static const known pipelines[] = {
    {.name = "consumer", .make = consumed_slowly, .by = HR_BOUND_CONSUMER, .consumer_seconds = 2e-3},
    {.name = "map", .make = mapped_slowly, .by = HR_BOUND_WORK, .stage = "map"},
    {.name = "map_asleep", .make = mapped_asleep, .by = HR_BOUND_WORK, .stage = "map"},
    {.name = "generator", .make = generated_slowly, .by = HR_BOUND_PLAN, .stage = "from_generator"},
    {.name = "filter", .make = filtered_slowly, .by = HR_BOUND_WORK, .stage = "filter"},
    {.name = "parse", .make = parsed, .by = HR_BOUND_WORK, .stage = "parse_example"},
    {.name = "gzip", .make = inflated, .by = HR_BOUND_PLAN, .stage = "tfrecord"},
    {.name = "pipe", .make = from_a_slow_pipe, .by = HR_BOUND_PLAN, .stage = "text_lines"},
    {.name = "window", .make = in_a_narrow_window, .by = HR_BOUND_WINDOW, .window = 1},
    {.name = "budget", .make = within_a_small_budget, .by = HR_BOUND_BUDGET, .budget = 1 << 20},
    {.name = "index", .make = without_an_index, .by = HR_BOUND_INDEX},
};
enum { PIPELINES = sizeof pipelines / sizeof *pipelines };

/* Runs it to its end. */
static hr_status judged(const known *k, int threads, pass *p, hr_iterator_stats *stats, hr_verdict *verdict)
{
    const int workers = threads - 1;
    pthread_t feeder;
    const hr_element *e;
    hr_status st;
    const bool piped = k->make == from_a_slow_pipe;
    if (piped && pthread_create(&feeder, NULL, feed, NULL) != 0) return HR_UNAVAILABLE;
    hr_iterator *it =
        hr_iterate(k->make(p->folder), .workers = &workers, .seed = 7, .window = k->window, .budget = k->budget);
    while ((st = hr_next(it, &e)) == HR_OK)
        if (k->consumer_seconds > 0) busy_for(k->consumer_seconds);
    if (st != HR_END) p->error = *hr_iterator_error(it);
    hr_iterator_stats_of(it, stats);
    hr_judge(stats, verdict);
    if (getenv("HEADRACE_BENCH_TEXT")) {
        char *text = hr_explain(it);
        fprintf(stderr, "%s\n", text ? text : "");
        hr_free(text);
    }
    hr_iterator_free(it);
    if (piped) pthread_join(feeder, NULL);
    return p->error.code;
}

static bool as_known(const known *k, const hr_iterator_stats *stats, const hr_verdict *v)
{
    return v->by == k->by && (!k->stage || (v->stage >= 0 && strstr(stats->stage[v->stage].name, k->stage)));
}

static hr_status run_verdicts(pass *p, void *memory)
{
    (void)memory;
    hr_iterator_stats stats;
    hr_verdict verdict;
    int right = 0;
    bench_temporary(fifo, "lines");
    if (mkfifo(fifo, 0600) != 0) return hr_fail(&p->error, HR_UNAVAILABLE, "bench.explain", "no named pipe");
    for (int i = 0; i < PIPELINES && p->error.code == HR_OK; i++) {
        if (judged(&pipelines[i], p->threads, p, &stats, &verdict) != HR_OK) break;
        const bool is_right = as_known(&pipelines[i], &stats, &verdict);
        right += is_right;
        if (!is_right)
            fprintf(stderr, "%s: bound %d, stage %s\n", pipelines[i].name, verdict.by,
                    verdict.stage >= 0 ? stats.stage[verdict.stage].name : "-");
        p->seconds += stats.seconds;
        p->rows++;
    }
    unlink(fifo);
    add_extra(p, "right", right);
    add_extra(p, "of", PIPELINES);
    return p->error.code;
}

/* ---- one more thread ---- */

/* How much faster two threads are than one, and what the run on one has said of it. */
static hr_status run_next_thread(pass *p, void *memory)
{
    (void)memory;
    static const int asked[] = {1, 3, 5, 6};
    static const char *const said_names[][2] = {{"map_said", "map_seen"},
                                                {"generator_said", "generator_seen"},
                                                {"parse_said", "parse_seen"},
                                                {"gzip_said", "gzip_seen"}};
    hr_iterator_stats one, two;
    hr_verdict verdict, with_two;
    double worst = 0;
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        const known *k = &pipelines[asked[i]];
        if (judged(k, 1, p, &one, &verdict) != HR_OK || judged(k, 2, p, &two, &with_two) != HR_OK) break;
        const double said = verdict.next_thread, seen = one.seconds / two.seconds;
        const double off = said > seen ? said / seen : seen / said;
        if (off > worst) worst = off;
        add_extra(p, said_names[i][0], said);
        add_extra(p, said_names[i][1], seen);
        p->seconds += one.seconds + two.seconds;
        p->rows += 2;
    }
    add_extra(p, "worst_ratio", worst);
    return p->error.code;
}

const work work_explain[] = {
    {.name = "explain_verdicts", .run = run_verdicts, .threads = 2, .per_run = true, .once = true},
    {.name = "explain_next_thread", .run = run_next_thread, .threads = 2, .per_run = true, .once = true},
    {0},
};
