/* What a work is: something that is done over and over, and timed. What exactly each must do, and when its clock starts
 * and stops: bench/peers/README.md, "Contract". */
#ifndef BENCH_H
#define BENCH_H

#include <headrace/base.h>
#include <headrace/data.h>

enum { MAX_EXTRA = 12 };

/* One pass. */
typedef struct pass {
    const char *folder; /* of the data */
    int threads;        /* workers and caller together */
    /* what the pass gives */
    int64_t rows;
    double seconds; /* the pass may measure itself; 0: all of it counts */
    double bytes;   /* for mb_per_s */
    struct {
        const char *name;
        double value;
    } extra[MAX_EXTRA]; /* further fields of the line: the best pass's */
    hr_error error;
} pass;

typedef struct work {
    const char *name; /* NULL ends a list */
    /* HR_OK, or what went wrong in p->error. `memory` is what prepare gave. */
    hr_status (*run)(pass *p, void *memory);
    void *(*prepare)(const char *folder, hr_error *err); /* once, before all passes; NULL: an error */
    void (*release)(void *memory);
    int threads;      /* default 1 */
    int also_threads; /* a second line with so many, in alternating rounds; 0: none */
    int unit;         /* also tells the nanoseconds of so many rows, where one alone says little; 0: no */
    bool per_run;     /* us_per_row is null: start, state */
    bool once;        /* a single pass, without one to warm up: it has rounds of its own */
} work;

double bench_seconds(void); /* monotonic */
/* The path of a file of this process, in TMPDIR or else /tmp. */
enum { BENCH_PATH = 256 };
void bench_temporary(char path[BENCH_PATH], const char *name);
/* "VmRSS" or "VmHWM" of this process. (getrusage would count what its parent had before exec as well.) */
long bench_kilobytes(const char *field);
/* Gives free memory back, and forgets the peak: VmHWM is one from now on. Gives VmRSS. */
long bench_begin_peak(void);
void add_extra(pass *p, const char *name, double value);

/* ---- the data: four shards as make-data writes them ---- */

/* The data: four shards of Criteo-like rows, and a file of census-like ones. */
#define CRITEO "criteo-*.tfrecord"
#define CRITEO_CSV "criteo-*.csv"
#define CENSUS "census.tfrecord"

/* Reads the text of a schema: section. Clear it with hr__schema_clear. */
struct hr__schema_file;
hr_status bench_schema(const char *text, struct hr__schema_file *out, hr_error *err);
/* Gives the list of the files with such names. */
hr_status bench_files(const char *folder, const char *names, hr_file_list *out, hr_error *err);
/* label, I1..I13 (default 0), C1..C26 (default ""); static. */
const hr_parse_spec *bench_spec(void);
/* Their columns, of CSV files. */
hr_dataset *bench_text_rows(const char *pattern);
/* list_files > interleave(4) > shuffle(10000, seed 7). */
hr_dataset *bench_shuffled(const char *folder);
/* The same > batch(512) > parse > prefetch. */
hr_dataset *bench_pipeline(const char *folder);
/* Options of one iterator with p->threads. */
hr_iterator *bench_iterate(hr_dataset *ds, const pass *p);
/* Sums the label of every batch, as the contract's consumer does. */
hr_status bench_drain(hr_iterator *it, pass *p);

#endif
