/* Libraries of ops: what a table says is copied and checked whole before it is put into the list of registered_ops.c. */
#include "train/graph/op_library.h"
#include "base/descriptor.h"
#include "train/graph/graph_internal.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t registering = PTHREAD_MUTEX_INITIALIZER;

/* ---- what a table says ---- */

static const hr__descriptor_kind tables = {
    .what = "library of ops",
    .status = HR_FAILED_PRECONDITION,
    .error = "graph.abi",
    .version = HR_GRAPH_OP_ABI,
    .size = sizeof(hr_op_library),
    .min_size = sizeof(hr_op_library),
};

static const hr__descriptor_kind passes_of_tables = {
    .what = "pass",
    .status = HR_FAILED_PRECONDITION,
    .error = "graph.abi",
    .version = HR_GRAPH_OP_ABI,
    .size = sizeof(hr_graph_pass),
    .min_size = sizeof(hr_graph_pass),
};

/* The descriptors of a file lie as far apart as the first one says: the file may be made for an older header. */
static const hr_graph_op *op_of_file(const hr_graph_op *file, int i)
{
    return (const hr_graph_op *)(const void *)((const char *)file + (size_t)i * file->head.struct_size);
}

static int count_ops(const hr_op_library *table)
{
    int count = 0;
    for (int f = 0; table->ops && table->ops[f]; f++)
        for (int i = 0; op_of_file(table->ops[f], i)->name; i++) {
            count++;
            if (table->ops[f]->head.struct_size < sizeof(hr__descriptor_head)) break; /* refused when it is copied */
        }
    return count;
}

static hr_status copy_ops(hr__registered *r, const hr_op_library *table, hr_error *err)
{
    for (int f = 0; table->ops && table->ops[f]; f++) {
        const hr_graph_op *op;
        for (int i = 0; (op = op_of_file(table->ops[f], i))->name; i++) {
            const void *fits;
            if (op->head.struct_size != table->ops[f]->head.struct_size)
                return hr_fail(err, HR_FAILED_PRECONDITION, "graph.abi",
                               "expected descriptors of one size in a file of ops, got %u and %u bytes; set the head "
                               "of each",
                               table->ops[f]->head.struct_size, op->head.struct_size);
            HR_TRY(hr__descriptor_fit(&hr__graph_ops, op, &r->op[r->ops], &fits, err));
            if (fits == op) memcpy(&r->op[r->ops], op, sizeof *op);
            r->ops++;
        }
    }
    return HR_OK;
}

static hr_status copy_passes(hr__registered *r, const hr_op_library *table, hr_error *err)
{
    for (int i = 0; table->passes && table->passes[i]; i++) {
        const void *fits;
        HR_TRY(hr__descriptor_fit(&passes_of_tables, table->passes[i], &r->pass[i], &fits, err));
        r->pass[i] = *table->passes[i];
        if (!r->pass[i].name || !r->pass[i].run)
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.signature", "expected a name and a function of pass %d", i);
        r->passes++;
    }
    return HR_OK;
}

/* ---- what it may not say ---- */

static hr_status taken(const char *what, const char *name, const char *by, hr_error *err)
{
    return hr_fail(err, HR_ALREADY_EXISTS, "op_library.name",
                   "%s '%.60s': expected a name of its own, got one that %s has", what, name, by);
}

static hr_status check_names(const hr__registered *r, hr_error *err)
{
    for (int i = 0; i < r->ops; i++) {
        const char *name = r->op[i].name;
        if (hr_graph_op_named(name)) return taken("op", name, "Headrace", err);
        if (hr__registered_op(name)) return taken("op", name, "another library", err);
        for (int j = 0; j < i; j++)
            if (strcmp(r->op[j].name, name) == 0) return taken("op", name, "another op of the library", err);
    }
    for (int i = 0; i < r->passes; i++) {
        const char *name = r->pass[i].name;
        for (int j = 0; hr_graph_pass_at(j); j++)
            if (strcmp(hr_graph_pass_at(j)->name, name) == 0) return taken("pass", name, "another pass", err);
        for (int j = 0; j < i; j++)
            if (strcmp(r->pass[j].name, name) == 0) return taken("pass", name, "another pass of the library", err);
    }
    return HR_OK;
}

/* Each op has a signature that can be read, and TensorFlow's own where it has the op. */
static hr_status check_signature(const hr_graph_op *op, hr_error *err)
{
    hr__arena arena = {0};
    hr__opdef known_def;
    const hr__opdef *def = hr__opdef_named(op->name, &known_def) ? &known_def : NULL;
    hr__signature *own = hr__arena_get(&arena, sizeof *own), *known = hr__arena_get(&arena, sizeof *known);
    hr_status st = own && known ? hr__signature_parse(&arena, op, def, own, err) : hr_no_memory(err, "a signature");
    if (st == HR_OK && def) {
        const hr_graph_op bare = {.head = HR_GRAPH_OP_HEAD, .name = op->name};
        st = hr__signature_parse(&arena, &bare, def, known, err);
        const char *differs = st == HR_OK ? hr__signature_difference(own, known) : NULL;
        if (differs)
            st = hr_fail(err, HR_INVALID_ARGUMENT, "op_library.signature",
                         "op '%.60s': expected the signature that TensorFlow's op of that name has, (%s) -> (%s), %s; "
                         "got other %s; leave it out, or choose another name",
                         op->name, def->inputs, def->outputs, def->attrs, differs);
    }
    hr__arena_free(&arena);
    return st;
}

static void free_registered(hr__registered *r)
{
    if (r) hr_free(r->op), hr_free(r->pass);
    hr_free(r);
}

static hr_status make_registered(const hr_op_library *table, hr__registered **out, hr_error *err)
{
    int passes = 0;
    while (table->passes && table->passes[passes]) passes++;
    hr__registered *r = *out = hr_calloc(1, sizeof *r);
    if (!r) return hr_no_memory(err, "a library of ops");
    r->table = table;
    r->op = hr_calloc((size_t)count_ops(table) + 1, sizeof *r->op);
    r->pass = hr_calloc((size_t)passes + 1, sizeof *r->pass);
    if (!r->op || !r->pass) return hr_no_memory(err, "a library of ops");
    HR_TRY(copy_ops(r, table, err));
    HR_TRY(copy_passes(r, table, err));
    HR_TRY(check_names(r, err));
    for (int i = 0; i < r->ops; i++) HR_TRY(check_signature(&r->op[i], err));
    return HR_OK;
}

/* ---- registering ---- */

hr_status hr_register_op_library(const hr_op_library *library, hr_error *err)
{
    const void *fits;
    hr_op_library own;
    hr_error why = {0};
    HR_TRY(hr__descriptor_fit(&tables, library, &own, &fits, err));
    hr__registered *r = NULL;
    hr_status st = HR_OK;
    pthread_mutex_lock(&registering);
    if (!hr__is_registered(library)) {
        st = make_registered(library, &r, &why);
        if (st == HR_OK)
            hr__registered_add(r);
        else
            free_registered(r);
    }
    pthread_mutex_unlock(&registering);
    if (st == HR_OK) return HR_OK;
    return hr_fail(err, st, why.kind, "library of ops '%.60s': %s", library->name ? library->name : "", why.text);
}

/* ---- loading ---- */

static hr_status register_exported(void *object, hr_error *err)
{
    const hr_op_library *const *exported = dlsym(object, "hr_exported_op_library");
    if (!exported)
        return hr_fail(err, HR_INVALID_ARGUMENT, "op_library.file",
                       "expected a shared object with HR_EXPORT_OP_LIBRARY, got one without it");
    return hr_register_op_library(*exported, err);
}

hr_status hr_load_op_library(const char *path, hr_error *err)
{
    char file[4096];
    hr_error why = {0};
    if (!path || !path[0])
        return hr_fail(err, HR_INVALID_ARGUMENT, "op_library.file", "expected the path of a shared object, got none");
    const int length = snprintf(file, sizeof file, "%s%s", strchr(path, '/') ? "" : "./", path);
    if (length < 0 || (size_t)length >= sizeof file)
        return hr_fail(err, HR_INVALID_ARGUMENT, "op_library.file", "expected a path of less than %zu bytes",
                       sizeof file);
    if (access(file, R_OK) != 0)
        return hr_fail(err, errno == ENOENT ? HR_NOT_FOUND : HR_INVALID_ARGUMENT, "op_library.file",
                       "%.200s: expected a shared object that can be read: %s", path, strerror(errno));
    void *object = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!object)
        return hr_fail(err, HR_INVALID_ARGUMENT, "op_library.file", "%.200s: expected a shared object: %s", path,
                       dlerror());
    const hr_status st = register_exported(object, &why);
    if (st == HR_OK) return HR_OK; /* it stays loaded for good */
    hr_fail(err, st, why.kind, "%.200s: %s", path, why.text);
    dlclose(object);
    return st;
}
