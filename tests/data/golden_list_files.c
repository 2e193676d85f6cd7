/* list_files of the golden topic dataset_order: files are made below a fresh folder, and matched by absolute patterns
 * and by relative ones. */
#include "tests/data/golden_dataset_order.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH = 2048, MAX = 256 };

static bool make_file(const char *root, hr_view name)
{
    char path[PATH];
    const int used = snprintf(path, sizeof path, "%s/%.*s", root, (int)name.size, name.data);
    if (used >= PATH) return false;
    for (char *slash = path + strlen(root) + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = '\0';
        mkdir(path, 0777);
        *slash = '/';
    }
    FILE *f = fopen(path, "wb");
    return f && fclose(f) == 0;
}

/* A folder of the case's own, with its files. */
static bool make_files(const cJSON *json, char *root, size_t size)
{
    char name[] = "list-XXXXXX", here[PATH / 2];
    hr_tensor files;
    if (!mkdtemp(name) || !getcwd(here, sizeof here) || !golden_tensor(json, &files)) return false;
    bool made = snprintf(root, size, "%s/%s", here, name) < (int)size;
    for (int64_t i = 0; made && i < files.count; i++) made = make_file(root, ((hr_view *)files.data)[i]);
    golden_tensor_clear(&files);
    return made;
}

/* All patterns, one a line, each below the root unless it is empty. */
static char *join_patterns(const hr_tensor *patterns, const char *root)
{
    char *text = calloc((size_t)patterns->count + 1, PATH);
    if (!text) abort();
    size_t used = 0;
    for (int64_t i = 0; i < patterns->count; i++) {
        const hr_view p = ((hr_view *)patterns->data)[i];
        const bool below = root && p.size > 0;
        used += (size_t)snprintf(text + used, PATH, "%s%s%s%.*s", i ? "\n" : "", below ? root : "", below ? "/" : "",
                                 (int)p.size, p.data);
    }
    return text;
}

static int by_bytes(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* What came, relative to the root again. Returns how many, or -1 with a status. */
static int collect(hr_dataset *ds, const char *root, char **name, hr_status *st)
{
    const hr_element *e;
    const size_t prefix = root ? strlen(root) + 1 : 0;
    int count = 0;
    hr_iterator *it = hr_iterate(ds, .seed = 7);
    while ((*st = hr_next(it, &e)) == HR_OK && count < MAX) {
        const hr_view *v = hr_get_at(e, 0)->data;
        const size_t skip = (size_t)v->size > prefix ? prefix : 0;
        name[count++] = strndup(v->data + skip, (size_t)v->size - skip);
    }
    hr_iterator_free(it);
    return count;
}

static golden_result same_names(golden_case *c, const char *how, const cJSON *json, char **name, int count)
{
    hr_tensor files;
    if (!golden_tensor(json, &files)) return golden_differs(c, "the case holds no files");
    golden_result result = GOLDEN_AGREES;
    if (files.count != count) result = golden_differs(c, "%s: %d files instead of %d", how, count, (int)files.count);
    for (int i = 0; result == GOLDEN_AGREES && i < count; i++) {
        const hr_view want = ((hr_view *)files.data)[i];
        if (strlen(name[i]) != (size_t)want.size || memcmp(name[i], want.data, (size_t)want.size) != 0)
            result = golden_differs(c, "%s: file %d is %s instead of %.*s", how, i, name[i], (int)want.size, want.data);
    }
    golden_tensor_clear(&files);
    return result;
}

static golden_result run_patterns(golden_case *c, const char *how, const char *root, const cJSON *expectation,
                                  bool tf_compat)
{
    hr_tensor patterns;
    hr_status st;
    char *name[MAX];
    if (!golden_tensor(golden_get(c->json, "patterns"), &patterns)) return golden_differs(c, "no patterns");
    char *text = join_patterns(&patterns, root);
    golden_tensor_clear(&patterns);
    const bool shuffle = golden_bool(c->json, "shuffle", true);
    hr_dataset *ds = hr_list_files(text, .shuffle = shuffle);
    if (tf_compat) ds = hr_options(ds, .tf_compat = true);
    const int count = collect(ds, root, name, &st);
    free(text);
    if (shuffle) qsort(name, (size_t)count, sizeof *name, by_bytes);

    const char *class = golden_error_class(expectation);
    if (!class) class = golden_text(expectation, "error", NULL);
    golden_result result;
    if (class)
        result = st < 0 && strcmp(hr_status_name(st), class) == 0
                     ? GOLDEN_AGREES
                     : golden_differs(c, "%s: %s instead of %s", how, hr_status_name(st), class);
    else
        result = st == HR_END ? same_names(c, how, golden_get(expectation, "files"), name, count)
                              : golden_differs(c, "%s: fails with %s", how, hr_status_name(st));
    for (int i = 0; i < count; i++) free(name[i]);
    return result;
}

static golden_result run_modes(golden_case *c, const char *how, const char *root, const cJSON *expectation)
{
    const bool differ = golden_bool(golden_get(c->json, "default"), "may_differ", false);
    golden_result result = differ ? GOLDEN_AGREES : run_patterns(c, how, root, expectation, false);
    return result == GOLDEN_AGREES ? run_patterns(c, how, root, expectation, true) : result;
}

golden_result golden_list_files(golden_case *c)
{
    char root[PATH], here[PATH];
    if (!getcwd(here, sizeof here) || !make_files(golden_get(c->json, "files"), root, sizeof root))
        return golden_differs(c, "the files cannot be made");
    const cJSON *expect = golden_get(c->json, "expect"), *relative = golden_get(c->json, "relative_patterns");
    if (!expect) expect = c->json;
    golden_result result = run_modes(c, "absolute", root, expect);
    if (result == GOLDEN_AGREES && chdir(root) == 0) {
        result = run_modes(c, "relative", NULL, relative ? relative : expect);
        if (chdir(here) != 0) result = golden_differs(c, "no way back to %s", here);
    }
    return result;
}
