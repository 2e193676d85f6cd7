/* CSV, inside: a format (what is wanted, from hr_csv_opts), a file read in blocks of whole rows, and blocks parsed into
 * columns. Cutting blocks is sequential and quick; parsing is a function of the block alone and may run on any thread.
 * Used by the csv operator, by decode_csv and by convert. Not a public header. */
#ifndef HR_CSV_H
#define HR_CSV_H

#include "base/number.h"
#include "io/io.h"

/* How text is cut into fields. */
typedef struct hr__csv_dialect {
    char delimiter, quote, escape;
    bool quotes;         /* a quote at the beginning of a field is special */
    bool escapes;        /* there is an escape byte */
    bool tf_compat;      /* after a fault in a quoted field: go on within the quotes, instead of ending the row */
    bool exact_only;     /* no masks: the delimiter is a quote or a line end, which only TensorFlow allows, or there are
                        escapes or comments */
    const char *comment; /* lines that begin with it are no rows; the format's */
    size_t comment_size; /* 0: none */
} hr__csv_dialect;

hr_status hr__csv_dialect_make(const hr_csv_opts *opts, hr__csv_dialect *out, hr_error *err); /* csv_dialect.c */
/* How a file is to be read whose columns others choose: as `how` says (NULL: by default) of its text, but .tsv has
 * tabs, and columns are found by name, also without a header. */
hr_csv_opts hr__csv_opts_of(const char *path, const hr_csv_opts *how);
/* The byte that an option gives, or `otherwise`. */
hr_status hr__csv_one_byte(const char *option, const char *text, char otherwise, char *out, hr_error *err);

/* ---- exact scanning: one field at a time, the meaning of everything (csv_scan.c) ---- */

typedef enum hr__csv_fault {
    HR__CSV_SOUND,
    HR__CSV_QUOTE_INSIDE,   /* neither doubled nor closing */
    HR__CSV_QUOTE_UNQUOTED, /* in a field that does not begin with one */
    HR__CSV_UNTERMINATED,   /* the data ends within quotes */
    HR__CSV_DANGLING,       /* the data ends after an escape */
} hr__csv_fault;

typedef struct hr__csv_field {
    size_t begin, end;    /* the content; of a quoted field without its quotes, doubled ones within */
    size_t next;          /* where the next field, or the next row, begins */
    bool quoted, doubled; /* doubled: hr__csv_unquote makes another text of it */
    bool last;            /* of its row */
    bool closed;          /* a delimiter or a line end was seen, not only the end of the data */
    hr__csv_fault fault;
} hr__csv_field;

void hr__csv_scan_field(const hr__csv_dialect *d, const char *data, size_t size, size_t at, hr__csv_field *field);
/* Where the row at `at` ends; *closed as above. */
size_t hr__csv_scan_row(const hr__csv_dialect *d, const char *data, size_t size, size_t at, bool *closed);

typedef enum hr__csv_line { HR__CSV_ROW, HR__CSV_BLANK, HR__CSV_COMMENT } hr__csv_line;
/* What begins at `at`, and where it ends. */
hr__csv_line hr__csv_scan_line(const hr__csv_dialect *d, const char *data, size_t size, size_t at, bool skip_blank,
                               size_t *end, bool *closed);
/* Line ends in the bytes: LF, CR, CRLF. */
int64_t hr__csv_count_lines(const char *data, size_t size);
/* Halves doubled quotes, takes escapes off; gives the size. */
size_t hr__csv_unquote(const hr__csv_dialect *d, const char *from, size_t size, char *to);

/* ---- masks: 64 bytes at a time (csv_kernels.c) ---- */

/* Rows at the beginning of data that begins with a row. Both kernels stop before the row in which quotes are not as
 * they should be (fault), which hr__csv_scan_field then judges. */
typedef struct hr__csv_count {
    int64_t rows, blank, comments, lines; /* whole rows; those that are none; line ends in them */
    size_t size;                          /* bytes of these rows */
    bool fault;
} hr__csv_count;

/* Counts whole rows, at most `max_rows`, besides blank lines if these are none. */
void hr__csv_count_rows(const hr__csv_dialect *d, const char *data, size_t size, int64_t max_rows, bool skip_blank,
                        hr__csv_count *out);

/* Where a row ends: the bytes up to there, the line ends and blank lines among them. */
typedef struct hr__csv_end {
    uint32_t size, lines, blank;
} hr__csv_end;

/* The same, and puts where each row ends into `ends`, which has space for max_rows; NULL: nowhere. */
void hr__csv_find_rows(const hr__csv_dialect *d, const char *data, size_t size, int64_t max_rows, bool skip_blank,
                       hr__csv_end *ends, hr__csv_count *out);

/* ---- bytes from anywhere in a file (csv_ends.c) ---- */

/* Where rows begin and end in some bytes of a file, if one begins with the first byte; if not, then perhaps nowhere,
 * but as a rule from the next line end on. What begins where a row begins is right from there on. */
typedef struct hr__csv_ends {
    hr__csv_end *at; /* that of the first byte, then of each whole row; NULL: not looked for */
    int64_t rows;
    int64_t capacity;
    void *(*memory)(size_t size, void *user); /* for `at`; NULL: none */
    void *user;
} hr__csv_ends;

/* Finds those of rows that begin before `until`; 64 bytes after `size` can be read. False: no memory. */
bool hr__csv_find_ends(const hr__csv_dialect *d, const char *data, size_t size, size_t until, bool skip_blank,
                       hr__csv_ends *out);

/* Where fields end: offsets of delimiters and line ends (of CRLF, the LF), without those in quotes. row[r] is the index
 * of the token that ends row r. */
typedef struct hr__csv_tokens {
    uint32_t *token, *row;
    size_t tokens, rows;
    size_t token_capacity, row_capacity; /* at least 64 more than are there, or nothing is done */
    size_t done;                         /* after the last whole row */
    bool fault;
    bool quotes; /* there was one, perhaps; never taken back */
} hr__csv_tokens;

/* Adds tokens of whole rows from `from` on, which is the beginning of a row. 64 bytes after `size` can be read. */
void hr__csv_tokenise(const hr__csv_dialect *d, const char *data, size_t size, size_t from, hr__csv_tokens *out);

/* ---- format (csv_format.c) ---- */

typedef struct hr__csv_column {
    char *name;
    hr_dtype dtype;
    size_t width;
    hr_csv_time time;
    char separator; /* 0: the field is one value */
    bool has_default;
    bool nameless;              /* the file gives it no name: it is called after its place */
    char fill[sizeof(hr_view)]; /* the default value, or zero, as it lies in memory */
    char *text;                 /* bytes of a string's */
} hr__csv_column;

/* Texts that mean something. */
typedef struct hr__csv_words {
    hr_view *word;
    int count;
    uint64_t sizes; /* bit n: one of them has n bytes, or n + 64, ...: few texts are looked at twice */
} hr__csv_words;

hr_status hr__csv_words_add(hr__csv_words *words, const char *const *text, int count, hr_error *err);
bool hr__csv_words_have(const hr__csv_words *words, const char *text, size_t size);
void hr__csv_words_clear(hr__csv_words *words);

/* What .names, .rename and .drop say. */
typedef struct hr__csv_rename {
    char *from;
    const char *to; /* within the memory of `from`; NULL: the column is dropped */
} hr__csv_rename;

typedef struct hr__csv_naming {
    char **name; /* .names; none: names come from the header, or from places */
    int names;
    hr__csv_rename *rename;
    int renames;
} hr__csv_naming;

typedef struct hr__csv_format {
    hr__csv_dialect dialect;
    hr__csv_naming naming;
    hr__csv_column *column;
    int columns;
    hr__csv_words na, yes, no; /* beside the empty text; of bools, no words: the default ones */
    bool header, by_name, keep_missing, keep_blank, quoted_never_missing, strings_never_missing, check_utf8, tf_compat;
    bool fill_short, cut_long; /* rows of another number of fields */
    bool lists;                /* a column has a separator */
    int optional;   /* 1 + a column that the header of a file may lack, under keep_missing; 0: all must be there */
    char separator; /* of columns that were not described; 0: none */
    int64_t skip_lines, skip_rows;
    char *comment;         /* what the dialect borrows */
    char *label;           /* name of the component that is the label; NULL: none */
    int *select, *exclude; /* places in the file, NULL: none given */
    int selects, excludes;
    hr_compression compression;
    size_t max_row;    /* bytes */
    bool number_rules; /* "Numbers in text" of docs/formats.md, unless tf_compat; false: the bare grammar of numbers */
    const int *wake;   /* as in hr_input_opts. Borrowed */
    hr_error *refused; /* why tf_compat does not take the files at all; NULL: it does */
} hr__csv_format;

hr_status hr__csv_format_new(const hr_csv_opts *opts, hr__csv_format **out, hr_error *err); /* gives */
bool hr__csv_has_type(hr_dtype dtype);            /* a column may be of it, to read and to write */
void hr__csv_format_free(hr__csv_format *format); /* NULL: nothing */
/* The place in the file is one of those that are not wanted. */
bool hr__csv_excludes(const hr__csv_format *format, int place);
int hr__csv_compare_places(const void *a, const void *b); /* for qsort, of int */
/* Names all columns after the header of `path`, as strings, where no column was given, but those that are excluded or
 * dropped; or after these bytes of it, none where the file is empty. Without a header its first row says how many there
 * are. */
hr_status hr__csv_format_from_header(hr__csv_format *format, const char *path, hr_error *err);
hr_status hr__csv_format_name(hr__csv_format *format, const char *path, const char *header, size_t size, hr_error *err);

/* ---- values (csv_value.c, csv_time.c) ---- */

/* A column's value as CSV has them: white space around numbers is allowed. By default also a leading +, hexadecimal
 * floats, nan(...), any length; tf_compat: as TensorFlow 2.15. False: none, or out of range. `out` is of the dtype. */
bool hr__csv_parse_value(const hr__csv_format *f, const hr__csv_column *column, const char *text, size_t size,
                         void *out);
/* The text, or no text, stands for a value that is not there. */
bool hr__csv_is_missing(const hr__csv_format *f, const hr__csv_column *column, const char *text, size_t size,
                        bool quoted);
bool hr__csv_parse_time(hr_csv_time unit, const char *text, size_t size, int64_t *out);

/* ---- columns of integers (csv_integers.c) ---- */

/* One field of each row: row r's lies between token[first[r]] and token[first[r] + 1]. 64 bytes after can be read. */
typedef struct hr__csv_fields {
    const char *data;
    const uint32_t *token, *first;
    int64_t rows;
} hr__csv_fields;

/* Puts row r's integer into out[r] and sets bit r of `plain`, where the field has 1 to 8 digits and nothing else, or is
 * empty: *empty (NULL: then it is not plain). What is put where it is not plain means nothing. */
void hr__csv_put_integers(const hr__csv_fields *f, const int64_t *empty, int64_t *out, uint64_t *plain);

/* ---- names of columns (csv_names.c) ---- */

hr_status hr__csv_naming_make(const hr_csv_opts *opts, hr__csv_naming *out,
                              hr_error *err); /* clear also after it failed */
void hr__csv_naming_clear(hr__csv_naming *naming);

/* What the columns of a file are called, in its order. */
typedef struct hr__csv_names {
    const char **name; /* "": the column is dropped; the format's, or bytes after the pointers, or in `made` */
    int count;
    char *made; /* names after places */
    size_t made_size;
} hr__csv_names;

/* Of the file whose header, or first row, is `row`; `file` stands in errors. */
hr_status hr__csv_names_make(const hr__csv_format *f, const char *file, const char *row, size_t size,
                             hr__csv_names *out, hr_error *err);
void hr__csv_names_clear(hr__csv_names *names);
bool hr__csv_name_is_made(const hr__csv_names *names, int place);
/* Fails if two columns that are wanted have one name. */
hr_status hr__csv_names_differ(const hr__csv_format *f, const char *file, const hr__csv_names *names, hr_error *err);
/* How many fields the row has, if their quotes are sound. */
hr_status hr__csv_count_names(const hr__csv_dialect *d, const char *file, const char *row, size_t size, int *count,
                              hr_error *err);
/* Both fail. */
hr_status hr__csv_no_such_column(const hr__csv_format *f, const char *file, const char *name, const hr__csv_names *n,
                                 hr_error *err);
hr_status hr__csv_called_alike(const hr__csv_format *f, const char *file, const char *name, int a, int b,
                               hr_error *err);

/* ---- layout (csv_layout.c) ---- */

/* Where a file has the columns. */
typedef struct hr__csv_layout {
    int fields, max; /* of a row: at least, at most; more are skipped if columns were selected, or are excluded */
    bool skip_blank; /* an empty line is no row */
    int *place;      /* a column's field, one a column of the format; -1: the file lacks it */
    int absent;      /* 1 + the column that it lacks, whose values all are missing; 0: none */
    int *column_at;  /* a field's column, -1: not wanted; `fields` of them */
} hr__csv_layout;

/* Whether a row may have so many fields. */
static inline bool hr__csv_fits(const hr__csv_layout *l, int fields) { return fields >= l->fields && fields <= l->max; }

/* Makes the layout of a file, given its header or the row that names are counted by (NULL: there is none). `place` and
 * `column_at` are one allocation. */
hr_status hr__csv_layout_make(const hr__csv_format *f, const char *file, const char *row, size_t size,
                              hr__csv_layout *out, hr_error *err);
void hr__csv_layout_clear(hr__csv_layout *layout);

/* ---- a file (csv_reader.c) ---- */

typedef struct hr__csv_block {
    const char *data; /* whole rows; 64 readable bytes follow */
    size_t size;
    int64_t rows; /* without blank lines that are none */
    int64_t blank, comments;
    int64_t offset, line, record; /* of the first row; line from 1 */
} hr__csv_block;

typedef struct hr__csv_file hr__csv_file;
/* The header of a file, or its first row if it has none, without a byte order mark: gives the bytes (hr_free); size 0:
 * the file is empty. */
hr_status hr__csv_copy_header(const hr__csv_format *format, const char *path, char **header, size_t *size,
                              hr_error *err);
hr_status hr__csv_open(const hr__csv_format *format, const char *path, hr__csv_file **out, hr_error *err);
/* The same for a format without columns: they are named after this file's header, which is read only once. */
hr_status hr__csv_open_all(hr__csv_format *format, const char *path, hr__csv_file **out, hr_error *err);
const hr__csv_layout *hr__csv_file_layout(const hr__csv_file *file);
/* The next rows, about `bytes` of them, at most `max_rows`. HR_END: there are no more. Lends the bytes until the next
 * call. Rows before damage come first, then the error. A block may have blank lines and no row. */
hr_status hr__csv_read(hr__csv_file *file, size_t bytes, int64_t max_rows, hr__csv_block *block, hr_error *err);
/* Ends the lending: the memory of a long row is given back. */
void hr__csv_release(hr__csv_file *file);
/* The bytes are the file's own: hr__csv_read_into may be used, and then hr__csv_read only after hr__csv_seek. */
bool hr__csv_is_plain(const hr__csv_file *file);
/* The whole rows in the next `size` bytes, read straight into the caller's memory. None (block->size 0): the first
 * one is longer; give more space, or read it from the file's window. */
hr_status hr__csv_read_into(hr__csv_file *file, char *to, size_t size, int64_t max_rows, hr__csv_block *block,
                            hr_error *err);
/* Goes to where a row begins, as some block said, or hr__csv_tell. */
hr_status hr__csv_seek(hr__csv_file *file, int64_t offset, int64_t line, int64_t record, hr_error *err);
void hr__csv_tell(const hr__csv_file *file, int64_t *offset, int64_t *line, int64_t *record);
int64_t hr__csv_compressed_offset(const hr__csv_file *file); /* -1: not compressed */
bool hr__csv_lacks_header(const hr__csv_file *file);         /* an empty file, though a header was expected */
void hr__csv_close(hr__csv_file *file);                      /* NULL: nothing */

/* ---- rows into columns (csv_rows.c) ---- */

/* Where the values go. */
typedef struct hr__csv_sink {
    hr_column *column;                       /* one a column of the format; values have space for all rows */
    hr_origin *origin;                       /* NULL, or space for all rows */
    int32_t file;                            /* for origin */
    void *(*bytes)(size_t size, void *user); /* memory that lives as long as the rows; NULL: none */
    void *(*text)(size_t size, void *user);  /* the same for strings alone; NULL: bytes gives it */
    /* Columns with a separator have splits of all rows + 1 and ask for space for `count` values. False: no memory. */
    bool (*grow)(int column, int64_t count, void *user);
    void (*failed)(int64_t row, const hr_error *error, void *user); /* in rising order */
    void *user;
    int64_t first, rows;  /* of several blocks: rows before this one's, which `record` of the block counts from; all
                           of them. Zeros: it is the only one */
    int64_t filled, cut;  /* rows that were too short, too long: counted by the parser */
    hr__rounded *rounded; /* NULL, or one a column: values that float32 rounds, in good rows; added to */
} hr__csv_sink;

size_t hr__csv_scratch_size(void);
/* Parses a block. `path` stands in errors. Strings point into the block, or into what sink->text gave. With
 * keep_missing, columns with missing values get `present`. Fails only for lack of memory. */
hr_status hr__csv_parse(const hr__csv_format *f, const hr__csv_layout *layout, const char *path,
                        const hr__csv_block *block, void *scratch, hr__csv_sink *sink, hr_error *err);

#endif
