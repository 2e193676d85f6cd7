/* A file system in memory, mem://, for tests: four files of five records each, every record the name of its file. */
#ifndef MEMORY_FILES_H
#define MEMORY_FILES_H

#include <headrace/io.h>

enum { MEMORY_FILES = 4 };

/* Made by the test; names are whole. */
typedef struct memory_file {
    const char *name;
    char *bytes;
    size_t size;
} memory_file;
extern memory_file memory_files[MEMORY_FILES];

/* How its reads behave. */
typedef struct memory_reads {
    size_t max;             /* bytes that one gives */
    int64_t bad_offset;     /* here one fails without a word; -1: none does */
    int64_t flip_at;        /* the byte here is wrong */
    int flip_first, flips;  /* in so many of the reads that have it, from number flip_first on */
    size_t shrink_to;       /* the file ends here once a byte of it was wrong; 0: it stays */
    _Atomic int flip_reads; /* such reads so far */
    _Atomic int64_t open;   /* files that are */
} memory_reads;
extern memory_reads memory_read;
extern const hr_file_system memory_file_system;

/* Setup and teardown of a group: fills the files and registers it. */
int fill_memory_files(void **state);
int empty_memory_files(void **state);

#endif
