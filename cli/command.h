/* What a subcommand is made of: one file that ends in a descriptor, and a line in commands.def. The command line is read
 * by the flags it declares; the help text is made from the same lines.
 *
 * Exit codes: 0 it worked, 1 it failed, 2 the command line was wrong. */
#ifndef COMMAND_H
#define COMMAND_H

#include <headrace/base.h>
#include <stdio.h>

typedef struct command command;
typedef struct command_call command_call;

typedef enum flag_kind { FLAG_NONE /* ends the list */, FLAG_SWITCH, FLAG_TEXT, FLAG_INT, FLAG_REPEATED } flag_kind;

typedef struct flag {
    flag_kind kind;
    const char *name;  /* "shards" for --shards */
    char letter;       /* 'n' for -n; 0: none */
    const char *value; /* its name in the help: "N" */
    const char *help;
} flag;

struct command {
    const char *name;
    const char *arguments; /* "FILE..." in the usage line */
    const char *summary;   /* a line of `headrace --help` */
    const char *text;      /* what it does, in paragraphs */
    const char *examples;  /* whole lines */
    const flag *flags;
    int least_arguments, most_arguments; /* most: -1 is any number */
    int (*run)(command_call *call);
};

/* ---- the command line ---- */

int call_arguments(const command_call *call);
const char *call_argument(const command_call *call, int i);
bool flag_given(const command_call *call, const char *name);
const char *flag_text(const command_call *call, const char *name); /* NULL: not given */
int64_t flag_int(const command_call *call, const char *name, int64_t fallback);
int flag_count(const command_call *call, const char *name); /* of a FLAG_REPEATED */
const char *flag_nth(const command_call *call, const char *name, int i);

/* ---- saying what is wrong; all go to standard error ---- */

int usage_error(const command_call *call, const char *format, ...) HR_PRINTF(2, 3); /* gives 2 */
int failed(const command_call *call, const hr_error *err);                          /* gives 1 */

/* ---- the terminal ---- */

/* A line that is drawn again and again while a terminal watches standard error; nothing otherwise. */
typedef struct progress {
    const char *title;
    double started, drawn;
    bool watched;
} progress;
void progress_start(progress *p, const char *title);
/* `share` is 0 .. 1, below 0: unknown. Draws at most ten times a second. `detail`: "step 400, loss 0.42". */
void progress_show(progress *p, double share, const char *detail);
void progress_end(progress *p); /* clears the line */

double now_seconds(void); /* monotonic */
/* "1,234,567"; in one of a few rotating buffers, for use within one printf. */
const char *with_commas(int64_t n);
const char *human_bytes(double bytes);     /* "12.4 MB" */
const char *human_seconds(double seconds); /* "1:05" */

/* ---- Ctrl-C ---- */

/* From now on the first SIGINT or SIGTERM sets a flag and calls `fn`, on a thread of its own; the second ends the process. */
void catch_interrupt(void (*fn)(void *user), void *user);
bool interrupted(void);

/* One line of JSON on standard output: takes the cJSON object. */
struct cJSON;
void print_json(struct cJSON *object);

#endif
