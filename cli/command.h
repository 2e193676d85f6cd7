/* What a subcommand is made of: one file that ends in a descriptor, and a line in commands.def. The command line is
 * read by the flags it declares; the help text is made from the same lines.
 *
 * Exit codes: 0 success, 1 failure, 2 wrong command line, 130 ended by Ctrl-C. */
#ifndef COMMAND_H
#define COMMAND_H

#include <headrace/examples.h>
#include <headrace/io.h>
#include <stdio.h>

enum { WORKED = 0, FAILED = 1, WRONG_USE = 2, INTERRUPTED = 130 };

typedef struct command command;
typedef struct command_call command_call;

typedef enum flag_kind {
    FLAG_NONE, /* ends the list */
    FLAG_SWITCH,
    FLAG_TEXT,
    FLAG_COUNT,  /* a whole number from 1 on */
    FLAG_NUMBER, /* from 0 on */
    FLAG_BYTES,  /* from 1 on; K, M, G and T after it are powers of 1024 */
    FLAG_LIST,   /* words with commas between them */
    FLAG_REPEATED
} flag_kind;

typedef struct flag {
    flag_kind kind;
    const char *name;  /* "shards" for --shards */
    char letter;       /* 'n' for -n; 0: none */
    const char *value; /* its name in the help: "N". FILE, OUT, DIR, TYPE (of compression), FORMAT are completed */
    const char *help;  /* after the names of all, of a TYPE or a FORMAT: those come by themselves */
} flag;

/* Of whatever reads records or rows: as .max_record_bytes, and .max_row_bytes. */
#define MAX_RECORD_FLAG                                                                                                \
    {                                                                                                                  \
        FLAG_BYTES, "max-record-bytes", 0, "SIZE", "a longer record, row or JSON object is an error; default 256M"     \
    }
size_t flag_max_record(const command_call *call); /* 0: not given */

struct command {
    const char *name;                 /* "info"; of two words, "schema infer", it is one of a group */
    const char *arguments;            /* "FILE..." in the usage line; "bash": that word; "" for none */
    const char *summary;              /* a line of `headrace --help` */
    const char *text;                 /* what it does, in paragraphs */
    const char *examples;             /* whole lines */
    const flag *flags;                /* NULL: it has none */
    int min_arguments, max_arguments; /* max: -1 is any number */
    int (*run)(command_call *call);
    bool underscores; /* its flags may be written as those of TensorFlow's tools: --tag_set */
};

/* ---- the command line ---- */

int call_arguments(const command_call *call);
const char *call_argument(const command_call *call, int i);
bool flag_given(const command_call *call, const char *name);
const char *flag_text(const command_call *call, const char *name); /* NULL: not given */
/* Of a FLAG_COUNT, FLAG_NUMBER, FLAG_BYTES. */
int64_t flag_number(const command_call *call, const char *name, int64_t fallback);
/* The words of a FLAG_LIST, which live as long as the call. NULL: not given. */
const char *const *flag_words(const command_call *call, const char *name, int *count);
int flag_count(const command_call *call, const char *name); /* of a FLAG_REPEATED */
const char *flag_nth(const command_call *call, const char *name, int i);
/* Values in the place of those of a config file: all of --set. 0, or the exit code. */
enum { MOST_SETS = 256 };
#define SET_FLAG(example)                                                                                              \
    {                                                                                                                  \
        FLAG_REPEATED, "set", 0, "KEY=VALUE", "a value in the place of the file's, as " example "; may be repeated"    \
    }
int read_sets(const command_call *call, const char *set[MOST_SETS], int *count);
/* The value of --compression, in any case of letters; HR_COMPRESSION_AUTO if it is not given. False: there is no such
 * one, which has been said. */
bool flag_compression(const command_call *call, hr_compression *out);
bool flag_compression_of(const command_call *call, const char *flag, hr_compression *out); /* of another flag */
const char *compression_words(const char *between); /* "GZIP, ZLIB" for between ", ": all that are not none */
/* The files that an argument means: "-" is standard input, a name that exists or is no pattern is itself. */
hr_status match_argument(const char *argument, hr_file_list *out, hr_error *err);
/* Those of the arguments from number `first` up to `end`, one after the other. hr_file_list_clear also after a
 * failure. */
hr_status match_arguments_from(const command_call *call, int first, int end, hr_file_list *out, hr_error *err);
hr_status match_arguments(const command_call *call, int count, hr_file_list *out, hr_error *err); /* from 0 on */
/* The format asked for, or that of the name; names that say none are TFRecords. */
hr_file_format format_of_file(const char *path, hr_file_format asked);
/* Refuses files that are there, and CSV or JSON by their names: for commands that take records as they are. */
hr_status need_tfrecords(const hr_file_list *files, hr_error *err);
/* 0, or the exit code: records are not written under a name that says CSV or JSON. */
int check_output_name(const command_call *call, const char *out);

/* ---- saying what is wrong; all go to standard error ---- */

int usage_error(const command_call *call, const char *format, ...) HR_PRINTF(2, 3); /* gives 2 */
/* Says what failed, with the library's options named as flags, and gives 1; 130 after Ctrl-C; 0, without a word, if the
 * reader of standard output has left. */
int failed(const command_call *call, const hr_error *err);
/* What the library says, on standard error, with its options named as flags or keys of the config file. */
void print_message(const char *text);

/* ---- the terminal ---- */

/* A line that is drawn again and again while a terminal watches standard error; nothing otherwise. */
typedef struct progress {
    const char *title;
    double started, drawn;
    double first; /* the share done when it was first shown: a training may continue from the middle */
    bool watched;
    const char *then; /* the title of the next pass; NULL: this is the last one */
    int64_t count;    /* as progress_count saw it last */
} progress;
void progress_start(progress *p, const char *title);
/* What is shown now is a first pass, "counting", over what is gone over again: it is called so until progress_count
 * sees fewer than before. */
void progress_first_pass(progress *p, const char *title);
/* Whether a terminal watches, and it is time to draw again: ten times a second. */
bool progress_due(const progress *p);
/* Draws if it is due. `share` is 0 .. 1, below 0: unknown. `detail`: "step 400, loss 0.42". */
void progress_show(progress *p, double share, const char *detail);
/* Draws how many there are so far, if it is due: "1,234 records". */
void progress_count(progress *p, double share, int64_t count, const char *what);
void progress_end(progress *p); /* clears the line */
/* A line of its own on standard error, whatever is drawn there. For hr_set_log. */
void print_log(hr_level level, const char *text, void *user);

double now_seconds(void); /* monotonic */
/* "1,234,567"; in one of a few rotating buffers, for use within one printf. */
const char *with_commas(int64_t n);
const char *human_bytes(double bytes); /* "12.4 MB" */

/* ---- Ctrl-C ---- */

/* From now on the first SIGINT, SIGTERM or SIGHUP makes interrupted() true, and the second ends the process. Before any
 * thread is made. */
void catch_interrupt(void);
/* Until this is NULL again the first one ends the process, too, in the name of `command`: while nothing has been begun that an end would lose,
 * such as when a long file of columns is read and a model built. */
void interrupt_at_once(const char *command);
bool interrupted(void);
int interrupt_descriptor(void);           /* something can be read there once it is true; -1: nothing is caught yet */
hr_status check_interrupt(hr_error *err); /* HR_CANCELLED once it is true */

/* ---- standard output ---- */

void begin_output(void);               /* before anything is printed */
hr_status output_error(hr_error *err); /* HR_OK, or why standard output could not be written */
void fail_output(int number);          /* something could not be printed at all, for this errno */
/* `out` is "-", or another name of what standard output is: /dev/stdout of a pipe. */
bool is_standard_output(const char *out);
bool output_is_unwanted(void); /* the reader has left: what it did not want is no failure */
hr_status print_line(hr_view line, hr_error *err);
/* Columns of the terminal that standard output is, or what COLUMNS says; 0: it is none, lines may be of any width. */
int output_width(void);

#endif
