/* Fails where files need each other's symbols in a circle that is not in the list, or no longer do in one that is.
 * Includes point down (check_includes.cmake), but what is declared below may be defined above: only symbols show that.
 *
 * check_circles NM BUILD OBJECTS [LIST]: OBJECTS names the object files, one a line, all in the folder BUILD. LIST has
 * the circles that stand: a source a line, an empty line between two circles, '#' before comments. Without LIST, prints
 * one. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FILES = 2048, MAX_SYMBOLS = 1 << 16, MAX_LINE = 8192 };

typedef struct symbol {
    char *name;
    int file;
} symbol;

static char *file_name[MAX_FILES];
static int files;
static symbol defined[MAX_SYMBOLS], needed[MAX_SYMBOLS];
static int defines, needs;
static bool reaches[MAX_FILES][MAX_FILES];
static int listed[MAX_FILES]; /* which circle of the list a file is in, from 1; 0: none */
static int mistakes;

static void fail(const char *what, const char *which)
{
    fprintf(stderr, "check_circles: %s%s\n", what, which);
    exit(2);
}

static char *copy(const char *text)
{
    char *made = malloc(strlen(text) + 1);
    if (!made) fail("no memory", "");
    return strcpy(made, text);
}

/* The source of an object: BUILD/data/CMakeFiles/hr_room_data.dir/./exec/emit.c.o is data/exec/emit.c. */
static char *source_of(const char *object, const char *build)
{
    const size_t prefix = strlen(build);
    const char *path = strncmp(object, build, prefix) == 0 ? object + prefix + 1 : object;
    char *source = copy(path);
    char *cmake = strstr(source, "CMakeFiles/"), *below = cmake ? strstr(cmake, ".dir/") : NULL;
    if (below) memmove(cmake, below + 5, strlen(below + 5) + 1);
    for (char *dot; (dot = strstr(source, "/./")) != NULL;) memmove(dot, dot + 2, strlen(dot + 2) + 1);
    const size_t size = strlen(source);
    if (size > 2 && strcmp(source + size - 2, ".o") == 0) source[size - 2] = 0;
    return source;
}

static int file_number(const char *name)
{
    for (int i = files - 1; i >= 0; i--)
        if (strcmp(file_name[i], name) == 0) return i;
    if (files == MAX_FILES) fail("expected fewer files; raise MAX_FILES", "");
    file_name[files] = copy(name);
    return files++;
}

static void symbol_add(symbol *to, int *count, const char *name, int file)
{
    if (*count == MAX_SYMBOLS) fail("expected fewer symbols; raise MAX_SYMBOLS", "");
    to[(*count)++] = (symbol){copy(name), file};
}

/* Whether a symbol is the descriptor that a .def list names, hr_column_kind_weighted of weighted.c: whoever goes over
 * the list needs each of them, and that is no circle to be cut. */
static bool is_descriptor(const char *name, char type, int file)
{
    const char *slash = strrchr(file_name[file], '/'), *base = slash ? slash + 1 : file_name[file];
    const size_t stem = strcspn(base, "."), size = strlen(name);
    if (!strchr("DR", type) || size <= stem) return false; /* data */
    return name[size - stem - 1] == '_' && strncmp(name + size - stem, base, stem) == 0;
}

/* A line of nm -A -P: "object: name type value size". Small letters are symbols of the file's own, or weak. */
static void read_symbols(const char *nm, const char *build, const char *objects)
{
    char line[MAX_LINE], before[MAX_LINE] = "", object[4096], name[3072], type;
    int file = -1;
    if (snprintf(line, sizeof line, "'%s' -A -P '@%s'", nm, objects) >= (int)sizeof line) fail("too long: ", objects);
    FILE *f = popen(line, "r");
    if (!f) fail("cannot run ", nm);
    while (fgets(line, sizeof line, f)) {
        if (sscanf(line, "%4095[^:]: %3071s %c", object, name, &type) != 3) continue;
        if (file < 0 || strcmp(object, before) != 0) {
            char *source = source_of(object, build);
            file = file_number(source);
            free(source);
            strcpy(before, object);
        }
        if (type == 'U')
            symbol_add(needed, &needs, name, file);
        else if (type >= 'A' && type <= 'Z' && !is_descriptor(name, type, file))
            symbol_add(defined, &defines, name, file);
    }
    if (pclose(f) != 0) fail("cannot read the objects of ", objects);
    if (files == 0 || defines == 0) fail("no symbols in the objects of ", objects);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const symbol *)a)->name, ((const symbol *)b)->name);
}

static const symbol *definition_of(const symbol *s) { return bsearch(s, defined, (size_t)defines, sizeof *s, by_name); }

/* Which files each file needs, directly or through others. */
static void find_reach(void)
{
    qsort(defined, (size_t)defines, sizeof *defined, by_name);
    for (int i = 0; i < needs; i++) {
        const symbol *to = definition_of(&needed[i]);
        if (to && to->file != needed[i].file) reaches[needed[i].file][to->file] = true;
    }
    for (int by = 0; by < files; by++)
        for (int from = 0; from < files; from++)
            for (int to = 0; reaches[from][by] && to < files; to++) reaches[from][to] |= reaches[by][to];
}

static bool same_circle(int a, int b) { return a == b || (reaches[a][b] && reaches[b][a]); }

static void read_list(const char *path)
{
    char line[MAX_LINE];
    int circle = 1;
    FILE *f = fopen(path, "r");
    if (!f) fail("cannot open ", path);
    while (fgets(line, sizeof line, f)) {
        line[strcspn(line, "\r\n")] = 0;
        if (line[0] == '#') continue;
        if (!line[0])
            circle++;
        else
            listed[file_number(line)] = circle;
    }
    fclose(f);
}

/* The symbols that tie a file to a circle. */
static void print_ties(int file)
{
    for (int i = 0; i < needs; i++) {
        const symbol *to = definition_of(&needed[i]);
        const int from = needed[i].file;
        if (!to || from == to->file || (from != file && to->file != file) || !same_circle(from, to->file)) continue;
        fprintf(stderr, "    %s needs %s of %s\n", file_name[from], needed[i].name, file_name[to->file]);
    }
}

static void check_grown(int file)
{
    for (int other = 0; other < files; other++) {
        if (other == file || !same_circle(file, other) || (listed[file] && listed[file] == listed[other])) continue;
        fprintf(stderr, "%s: expected no circle but those of the list, found one with %s; cut one way of these:\n",
                file_name[file], file_name[other]);
        print_ties(file);
        mistakes++;
        return;
    }
}

static void check_shrunk(int file, const char *list)
{
    for (int other = 0; other < file; other++) {
        if (!listed[file] || listed[file] != listed[other] || same_circle(file, other)) continue;
        fprintf(stderr, "%s: expected a circle with %s, found that it is cut; take it out of %s too\n", file_name[file],
                file_name[other], list);
        mistakes++;
        return;
    }
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(file_name[*(const int *)a], file_name[*(const int *)b]);
}

static void print_list(void)
{
    static bool printed[MAX_FILES];
    int order[MAX_FILES];
    puts(
        "# Files that need each other's symbols, in a circle. tests/check_circles.c fails where one grows or appears.\n"
        "# That a list needs the descriptors that its .def file names does not count. What is new here is to be cut.\n"
        "# Written by: build/asan/tests/check_circles nm $PWD/build/asan build/asan/objects.txt > tests/circles.txt\n");
    for (int i = 0; i < files; i++) order[i] = i;
    qsort(order, (size_t)files, sizeof *order, compare_names);
    for (int i = 0; i < files; i++) {
        if (printed[order[i]] || !reaches[order[i]][order[i]]) continue;
        for (int j = i; j < files; j++)
            if (same_circle(order[i], order[j])) printed[order[j]] = puts(file_name[order[j]]) >= 0;
        puts("");
    }
}

int main(int argc, char **argv)
{
    if (argc != 4 && argc != 5) fail("expected NM BUILD OBJECTS [LIST]", "");
    read_symbols(argv[1], argv[2], argv[3]);
    if (argc == 5) read_list(argv[4]);
    find_reach();
    if (argc == 4) return print_list(), 0;
    for (int i = 0; i < files; i++) check_grown(i);
    for (int i = 0; i < files; i++) check_shrunk(i, argv[4]);
    return mistakes > 0;
}
