/* Saved states: a header that says whose state it is (the operators and their arguments, the files that were read),
 * where the consumer stands, and a checksum. A state fits its own pipeline and unchanged files only. */
#include "data/iterator.h"
#include "data/rows/varint.h"
#include "base/bytes.h"
#include "io/file_system.h"
#include "io/match.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    VERSION = 4,
    VERSION_OF_EPOCH = 5, /* the same, with the number of an epoch after the seed */
    HEADER = 8,
    FOOTER = 4
};
static const char MAGIC[4] = {'H', 'R', 'I', 'T'};

enum {
    MAX_GROUPS = 192, /* of all lists together; a longer list has several files in a group */
    MAX_OTHERS = 32,
    MAX_NAMES = 1024, /* bytes of their names */
    MAX_LISTED = 512  /* bytes of the names of a list; of a longer one only a checksum is kept */
};

/* ---- whose state it is: each operator's name and arguments, top down ---- */

static uint64_t count_operators(const hr_dataset *ds)
{
    uint64_t count = 1;
    for (int i = 0; i < ds->inputs; i++) count += count_operators(ds->in[i]);
    return count;
}

static void put_operators(hr__text *to, const hr_dataset *ds)
{
    hr__put_text(to, ds->op->name, strlen(ds->op->name));
    hr__put_u32(to, hr__dataset_arguments(ds));
    for (int i = 0; i < ds->inputs; i++) put_operators(to, ds->in[i]);
}

static hr_status check_operators(hr__wire *from, const hr_dataset *ds, hr_error *err)
{
    const hr_view name = hr__get_text(from);
    const uint32_t arguments = hr__get_u32(from);
    if (from->damaged) return hr__state_damaged(err);
    if ((size_t)name.size != strlen(ds->op->name) || memcmp(name.data, ds->op->name, (size_t)name.size) != 0)
        return hr_fail(err, HR_FAILED_PRECONDITION, "state.other_pipeline",
                       "saved state: expected operator '%s' here, the state was saved with '%.*s'; restore it into the "
                       "pipeline that saved it",
                       ds->op->name, name.size < 60 ? (int)name.size : 60, name.data);
    if (arguments != hr__dataset_arguments(ds))
        return hr_fail(err, HR_FAILED_PRECONDITION, "state.other_arguments",
                       "saved state: operator '%s' has other arguments or components than when the state was saved; "
                       "give it the same ones, or start from the beginning",
                       ds->op->name);
    for (int i = 0; i < ds->inputs; i++) HR_TRY(check_operators(from, ds->in[i], err));
    return HR_OK;
}

/* ---- files: of each list that a source of the pipeline made, which names it has below the folder that all share, and
 * which of these files were opened, with a checksum of what is known of them; of files that only data or functions
 * named, those met last. So a state is of bounded size, and fits files wherever they lie now. ---- */

static bool has_files(const hr_dataset *ds) { return ds->op->files && ds->op->files(ds->spec).pattern; }

static int64_t count_lists(const hr_dataset *ds)
{
    int64_t count = has_files(ds);
    for (int i = 0; i < ds->inputs; i++) count += count_lists(ds->in[i]);
    return count;
}

static int64_t groups_of(int64_t files, int64_t lists)
{
    const int64_t max = lists < MAX_GROUPS ? MAX_GROUPS / lists : 1;
    return files < max ? files : max;
}

/* Each name says only where it differs from the one before. */
static void put_name(hr__text *to, const char *name, const char *before)
{
    size_t same = 0;
    while (name[same] && name[same] == before[same]) same++;
    hr__put_number(to, same);
    hr__put_text(to, name + same, strlen(name + same));
}

/* `name`: the one before; the new one takes its place. */
static hr_status get_name(hr__wire *from, hr__text *name, hr_error *err)
{
    const uint64_t same = hr__get_number(from);
    const hr_view rest = hr__get_text(from);
    if (from->damaged || same > name->size) return hr__state_damaged(err);
    name->size = (size_t)same;
    hr__text_bytes(name, rest.data, (size_t)rest.size);
    return hr__text_status(name, "a saved state", err);
}

/* A list that cannot be made any more has no files. */
static hr_status find_list(const hr_dataset *ds, hr_file_list *list, hr_error *err)
{
    hr_error why;
    const hr_op_files files = ds->op->files(ds->spec);
    *list = (hr_file_list){0};
    const hr_status st = files.find(files.pattern, list, &why);
    if (st != HR_RESOURCE_EXHAUSTED) return HR_OK;
    if (err) *err = why;
    return st;
}

static uint32_t add_digest(uint32_t sum, uint64_t digest)
{
    unsigned char bytes[8];
    for (int i = 0; i < 8; i++) bytes[i] = (unsigned char)(digest >> 8 * i);
    return hr_crc32c(sum, bytes, sizeof bytes);
}

/* ---- files, saved ---- */

typedef struct saving {
    hr__text *to;
    engine *e;
    int64_t lists;
    bool *listed; /* a file each that the engine knows */
    int32_t files;
    hr_error *err;
} saving;

/* Of some files that follow each other in a list: how many of them were opened, up to the first that was not. */
static void put_group(saving *s, char *const *path, int64_t files)
{
    int64_t opened = 0;
    uint32_t sum = 0;
    for (bool all = true; all && opened < files; opened += all) {
        const int32_t number = hr__file_known(s->e, path[opened]);
        all = number >= 0 && number < s->files;
        if (all) sum = add_digest(sum, hr__file_noted(s->e, number).digest);
    }
    hr__put_number(s->to, (uint64_t)opened);
    if (opened) hr__put_u32(s->to, sum);
}

/* All or, if they are too long, none. */
static void put_names(saving *s, const hr_file_list *list)
{
    hr__text names = {0};
    const size_t folder = hr__file_list_folder(list);
    const char *before = "";
    for (int64_t i = 0; i < list->count && names.size <= MAX_LISTED; i++) {
        put_name(&names, list->path[i] + folder, before);
        before = list->path[i] + folder;
    }
    const bool all = names.size <= MAX_LISTED;
    hr__put_number(s->to, all ? (uint64_t)list->count : 0);
    if (all) hr__text_bytes(s->to, names.data, names.size);
    s->to->failed |= names.failed;
    hr__text_free(&names);
}

/* Which files are opened early follows from timing. So a short list is looked at as a whole, at the first save; not one
 * of another file system, where that may take long. */
static hr_status look_at_all(saving *s, const hr_file_list *list)
{
    for (int64_t i = 0; i < list->count && !hr__file_system_of(list->path[i]); i++)
        if (hr__file_number(s->e, list->path[i]) < 0) return hr_no_memory(s->err, "a file's name");
    hr__engine_lock(s->e);
    const int32_t files = s->e->files;
    hr__engine_unlock(s->e);
    bool *listed = hr_realloc(s->listed, ((size_t)files + 1) * sizeof *listed);
    if (!listed) return hr_no_memory(s->err, "a saved state");
    memset(listed + s->files, 0, (size_t)(files - s->files) * sizeof *listed);
    s->listed = listed;
    s->files = files;
    return HR_OK;
}

static hr_status put_found(saving *s, const hr_file_list *list)
{
    const int64_t groups = groups_of(list->count, s->lists);
    if (groups == list->count) HR_TRY(look_at_all(s, list));
    hr__put_number(s->to, (uint64_t)list->count);
    hr__put_number(s->to, hr_file_list_identity(list));
    put_names(s, list);
    hr__put_number(s->to, (uint64_t)groups);
    for (int64_t g = 0; g < groups; g++) {
        const int64_t first = list->count * g / groups;
        put_group(s, list->path + first, list->count * (g + 1) / groups - first);
    }
    for (int64_t i = 0; i < list->count; i++) {
        const int32_t number = hr__file_known(s->e, list->path[i]);
        if (number >= 0 && number < s->files) s->listed[number] = true;
    }
    return HR_OK;
}

static hr_status put_list(saving *s, const hr_dataset *ds)
{
    hr_file_list list;
    HR_TRY(find_list(ds, &list, s->err));
    const hr_status st = put_found(s, &list);
    hr_file_list_clear(&list);
    return st;
}

static hr_status put_lists(saving *s, const hr_dataset *ds)
{
    if (has_files(ds)) HR_TRY(put_list(s, ds));
    for (int i = 0; i < ds->inputs; i++) HR_TRY(put_lists(s, ds->in[i]));
    return HR_OK;
}

/* The first of those to be told; their number in *count. */
static int32_t first_other(const saving *s, int64_t *count)
{
    int32_t first = s->files;
    size_t bytes = 0;
    *count = 0;
    for (int32_t i = s->files - 1; i >= 0 && *count < MAX_OTHERS && bytes < MAX_NAMES; i--) {
        if (s->listed[i]) continue;
        bytes += strlen(hr__file_noted(s->e, i).name);
        if (bytes > MAX_NAMES) break;
        first = i;
        ++*count;
    }
    return first;
}

static void put_others(saving *s)
{
    int64_t count;
    const char *before = "";
    const int32_t first = first_other(s, &count);
    hr__put_number(s->to, (uint64_t)count);
    for (int32_t i = first; i < s->files; i++) {
        if (s->listed[i]) continue;
        const noted_file f = hr__file_noted(s->e, i);
        put_name(s->to, f.name, before);
        hr__put_number(s->to, f.digest);
        before = f.name;
    }
}

static hr_status put_files(hr__text *to, hr_iterator *it, hr_error *err)
{
    saving s = {.to = to, .e = &it->engine, .lists = count_lists(it->ds), .err = err};
    hr__engine_lock(s.e);
    s.files = s.e->files;
    hr__engine_unlock(s.e);
    s.listed = hr_calloc((size_t)s.files + 1, sizeof *s.listed);
    if (!s.listed) return hr_no_memory(err, "a saved state");
    const hr_status st = put_lists(&s, it->ds);
    if (st == HR_OK) put_others(&s);
    hr_free(s.listed);
    return st;
}

/* ---- files, checked ---- */

typedef struct checking {
    hr__wire *from;
    engine *e;
    int64_t lists;
    hr_error *err;
} checking;

static hr_status fail_changed(const char *path, bool gone, hr_error *err)
{
    hr_fail(err, HR_FAILED_PRECONDITION, "state.file_changed",
            "saved state: file '%.200s' %s since the state was saved; restore the file, or start from the beginning",
            path, gone ? "is gone" : "has changed");
    hr_error_file(err, path);
    return HR_FAILED_PRECONDITION;
}

static hr_status fail_group(const checking *c, char *const *path, int64_t files)
{
    if (files == 1) return fail_changed(path[0], hr__file_noted(c->e, hr__file_known(c->e, path[0])).size < 0, c->err);
    return hr_fail(c->err, HR_FAILED_PRECONDITION, "state.file_changed",
                   "saved state: one of %" PRId64
                   " files, '%.150s' to '%.150s', has changed since the state was saved, "
                   "or is gone; restore the file, or start from the beginning",
                   files, path[0], path[files - 1]);
}

static hr_status check_group(checking *c, char *const *path, int64_t files)
{
    const uint64_t opened = hr__get_number(c->from);
    const uint32_t then = opened ? hr__get_u32(c->from) : 0;
    uint32_t now = 0;
    if (c->from->damaged || opened > (uint64_t)files) return hr__state_damaged(c->err);
    for (uint64_t i = 0; i < opened; i++) {
        const int32_t number = hr__file_number(c->e, path[i]);
        if (number < 0) return hr_no_memory(c->err, "a file's name");
        now = add_digest(now, hr__file_noted(c->e, number).digest);
    }
    return now == then ? HR_OK : fail_group(c, path, (int64_t)opened);
}

static bool is_listed(const hr_file_list *list, size_t folder, const char *name)
{
    bool listed = false;
    for (int64_t i = 0; i < list->count && !listed; i++) listed = strcmp(list->path[i] + folder, name) == 0;
    return listed;
}

/* The first name of the saved list that is missing in this one, if the state knows names. */
static hr_status check_names(checking *c, const hr_file_list *list)
{
    hr__text name = {0};
    hr_status st = HR_OK;
    const size_t folder = hr__file_list_folder(list);
    const int64_t names = hr__get_count(c->from);
    for (int64_t i = 0; i < names && st == HR_OK; i++) {
        char path[512];
        st = get_name(c->from, &name, c->err);
        if (st != HR_OK || is_listed(list, folder, name.data)) continue;
        snprintf(path, sizeof path, "%.*s%s", (int)folder, list->count > 0 ? list->path[0] : "", name.data);
        st = fail_changed(path, true, c->err);
    }
    hr__text_free(&name);
    return st;
}

static hr_status check_found(checking *c, const hr_dataset *ds, const hr_file_list *list)
{
    const uint64_t count = hr__get_number(c->from), names = hr__get_number(c->from);
    HR_TRY(check_names(c, list));
    const uint64_t groups = hr__get_number(c->from);
    if (c->from->damaged) return hr__state_damaged(c->err);
    if (count != (uint64_t)list->count || names != hr_file_list_identity(list))
        return hr_fail(c->err, HR_FAILED_PRECONDITION, "state.files",
                       "saved state: %s: expected the %" PRIu64 " files that \"%.200s\" gave when the state was saved, "
                       "got %" PRId64 ", or others; restore them, or start from the beginning",
                       ds->op->name, count, ds->op->files(ds->spec).pattern, list->count);
    if (groups != (uint64_t)groups_of(list->count, c->lists)) return hr__state_damaged(c->err);
    for (int64_t g = 0; g < (int64_t)groups; g++) {
        const int64_t first = list->count * g / (int64_t)groups;
        HR_TRY(check_group(c, list->path + first, list->count * (g + 1) / (int64_t)groups - first));
    }
    return HR_OK;
}

static hr_status check_list(checking *c, const hr_dataset *ds)
{
    hr_file_list list;
    HR_TRY(find_list(ds, &list, c->err));
    const hr_status st = check_found(c, ds, &list);
    hr_file_list_clear(&list);
    return st;
}

static hr_status check_lists(checking *c, const hr_dataset *ds)
{
    if (has_files(ds)) HR_TRY(check_list(c, ds));
    for (int i = 0; i < ds->inputs; i++) HR_TRY(check_lists(c, ds->in[i]));
    return HR_OK;
}

/* *before: the name of the file before; the new one takes its place. */
static hr_status check_other(checking *c, hr__text *before)
{
    HR_TRY(get_name(c->from, before, c->err));
    const uint64_t then = hr__get_number(c->from);
    if (c->from->damaged) return hr__state_damaged(c->err);
    const int32_t number = hr__file_number(c->e, before->data);
    if (number < 0) return hr_no_memory(c->err, "a file's name");
    const noted_file now = hr__file_noted(c->e, number);
    return now.digest == then ? HR_OK : fail_changed(now.name, now.size < 0, c->err);
}

static hr_status check_files(hr__wire *from, hr_iterator *it, hr_error *err)
{
    checking c = {from, &it->engine, count_lists(it->ds), err};
    hr__text name = {0};
    HR_TRY(check_lists(&c, it->ds));
    hr_status st = HR_OK;
    const int64_t others = hr__get_count(from);
    for (int64_t i = 0; st == HR_OK && i < others; i++) st = check_other(&c, &name);
    hr__text_free(&name);
    return st == HR_OK && from->damaged ? hr__state_damaged(err) : st;
}

/* ---- saving ---- */

static hr_status put_position(hr__text *to, hr_iterator *it, hr_error *err)
{
    unsigned char *position = NULL;
    size_t size = 0;
    HR_TRY(hr__position_write(&it->engine, &it->input, &position, &size, err));
    hr__text_bytes(to, position, size);
    hr_free(position);
    return HR_OK;
}

hr_status hr__state_save(hr_iterator *it, void **state, size_t *size, hr_error *err)
{
    hr__text b = {0};
    HR_TRY(hr__order_unchanged(&it->engine, err));
    hr__text_bytes(&b, MAGIC, sizeof MAGIC);
    const int64_t epoch = it->engine.epoch;
    hr__put_u32(&b, epoch ? VERSION_OF_EPOCH : VERSION);
    hr__put_number(&b, it->engine.seed);
    if (epoch) hr__put_number(&b, (uint64_t)epoch);
    hr__put_number(&b, count_operators(it->ds));
    put_operators(&b, it->ds);
    hr_status st = put_files(&b, it, err);
    if (st == HR_OK) st = put_position(&b, it, err);
    hr__put_u32(&b, hr_crc32c(0, b.data, b.size));
    if (st == HR_OK) st = hr__text_status(&b, "a saved state", err);
    if (st == HR_OK) {
        *size = b.size;
        *state = hr__text_take(&b);
    }
    hr__text_free(&b);
    return st;
}

/* ---- restoring ---- */

static hr_status check_frame(const unsigned char *state, size_t size, hr_error *err)
{
    if (size < HEADER + FOOTER || memcmp(state, MAGIC, sizeof MAGIC) != 0) return hr__state_damaged(err);
    const uint32_t version = hr__get32(state + 4);
    if (version != VERSION && version != VERSION_OF_EPOCH)
        return hr_fail(err, HR_FAILED_PRECONDITION, "state.version",
                       "saved state: expected version %d or %d, got %" PRIu32 "; it was saved by another Headrace",
                       VERSION, VERSION_OF_EPOCH, version);
    if (hr_crc32c(0, state, size - FOOTER) != hr__get32(state + size - FOOTER)) return hr__state_damaged(err);
    return HR_OK;
}

/* Which random numbers it draws. */
static hr_status read_draws(hr__wire *from, bool numbered, engine *e, hr_error *err)
{
    e->seed = hr__get_number(from);
    e->seed_drawn = false;
    const uint64_t epoch = numbered ? hr__get_number(from) : 0;
    if (from->damaged || epoch > (uint64_t)HR_LARGEST_COUNT || (numbered && epoch == 0)) return hr__state_damaged(err);
    e->epoch = (int64_t)epoch;
    return HR_OK;
}

hr_status hr__state_load(hr_iterator *it, const void *state, size_t size, hr_error *err)
{
    HR_TRY(check_frame(state, size, err));
    hr__wire from = {.at = (const unsigned char *)state + HEADER, .end = (const unsigned char *)state + size - FOOTER};
    HR_TRY(read_draws(&from, hr__get32((const unsigned char *)state + 4) == VERSION_OF_EPOCH, &it->engine, err));
    const uint64_t operators = hr__get_number(&from);
    if (from.damaged) return hr__state_damaged(err);
    if (operators != count_operators(it->ds))
        return hr_fail(err, HR_FAILED_PRECONDITION, "state.other_pipeline",
                       "saved state: expected a pipeline of %" PRIu64
                       " operators, as the one that saved it, got one of "
                       "%" PRIu64,
                       operators, count_operators(it->ds));
    HR_TRY(check_operators(&from, it->ds, err));
    HR_TRY(check_files(&from, it, err));
    return hr__position_read(&it->engine, &it->input, &(hr_token_reader){from.at, from.end, &it->engine}, err);
}
