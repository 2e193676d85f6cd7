/* list_files: the files that patterns match, as strings; sorted, or in a random order that follows from seed and epoch.
 *
 * The list is made when an iterator opens. Where it stands is a number; a state is refused when the list has
 * changed. */
#include <headrace/data.h>
#include <string.h>

typedef struct list_files_spec {
    const char *pattern;
    bool shuffle, same_each_epoch, extended;
    uint64_t seed;
} list_files_spec;

typedef struct list_files_state {
    int64_t list, next; /* saved: which list; the next one of it */
    hr_file_list files;
    int64_t list_now;
} list_files_state;

static hr_status list_files_spec_copy(void *spec, hr_error *err)
{
    list_files_spec *sp = spec;
    if (!sp->pattern) return HR_OK;
    sp->pattern = hr_strdup(sp->pattern);
    return sp->pattern ? HR_OK : hr_no_memory(err, "list_files: the pattern");
}

static void list_files_spec_free(void *spec) { hr_free((char *)(uintptr_t)((list_files_spec *)spec)->pattern); }

static hr_status list_files_check(const void *spec, const hr_schema *const *in, hr_schema_builder *out, hr_error *err)
{
    (void)in;
    if (!((const list_files_spec *)spec)->pattern)
        return hr_fail(err, HR_INVALID_ARGUMENT, "list_files.pattern", "list_files: expected a pattern, got NULL");
    return hr_schema_set(out, &hr_string_schema, err);
}

/* Fisher and Yates, drawing by counter: draw i decides place i. */
static void shuffle(hr_file_list *files, uint64_t key)
{
    for (int64_t i = 0; i + 1 < files->count; i++) {
        int64_t other = i + hr_random_below(key, (uint64_t)i, files->count - i);
        char *path = files->path[i];
        files->path[i] = files->path[other];
        files->path[other] = path;
    }
}

static hr_status list_files_open(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    const list_files_spec *sp = spec;
    list_files_state *st = state;
    hr_status status = (sp->extended ? hr_match_files_extended : hr_match_files)(sp->pattern, &st->files, err);
    if (status == HR_NOT_FOUND && !sp->extended) /* TensorFlow's class for it, and its words */
        status = hr_fail(err, HR_INVALID_ARGUMENT, "list_files.no_match",
                         "list_files: No files matched pattern: %.200s; look for a wrong folder or a missing star",
                         sp->pattern);
    if (status != HR_OK) return status;
    st->list = st->list_now = (int64_t)hr_file_list_identity(&st->files);
    if (sp->shuffle) shuffle(&st->files, hr_plan_key(p, sp->seed, sp->same_each_epoch));
    return HR_OK;
}

static hr_status list_files_load(const void *spec, void *state, hr_token_reader *token, hr_error *err)
{
    (void)token;
    list_files_state *st = state;
    if (st->list == st->list_now && st->next >= 0 && st->next <= st->files.count) return HR_OK;
    return hr_fail(err, HR_FAILED_PRECONDITION, "state.files",
                   "list_files: expected the files that \"%.200s\" matched when the state was saved, got others",
                   ((const list_files_spec *)spec)->pattern);
}

static hr_status list_files_plan(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    (void)spec;
    list_files_state *st = state;
    int64_t left = st->files.count - st->next, capacity = hr_room(p) < left ? hr_room(p) : left;
    if (left == 0) return HR_END;
    hr_columns *rows = hr_unit_rows(p, capacity);
    if (!rows) return hr_no_memory(err, "list_files: a unit of names");
    hr_view *view = rows->column[0].values;
    for (; rows->rows < capacity; rows->rows++, st->next++) {
        const char *path = st->files.path[st->next];
        size_t size = strlen(path);
        char *copy = hr_unit_bytes(p, size);
        if (!copy) return hr_no_memory(err, "list_files: a name");
        memcpy(copy, path, size);
        view[rows->rows] = (hr_view){copy, (int64_t)size};
        rows->origin[rows->rows] = hr_origin_of(-1, HR_NO_RECORD, -1);
    }
    return HR_OK;
}

static void list_files_close(void *state) { hr_file_list_clear(&((list_files_state *)state)->files); }

static hr_op_files list_files_files(const void *spec)
{
    const list_files_spec *sp = spec;
    return (hr_op_files){sp->pattern, sp->extended ? hr_match_files_extended : hr_match_files};
}

static void list_files_identity(const void *spec, uint64_t *sum)
{
    const list_files_spec *sp = spec;
    hr_identify_i64(sum, sp->shuffle);
    hr_identify_i64(sum, (int64_t)sp->seed);
    hr_identify_i64(sum, sp->same_each_epoch);
    hr_identify_i64(sum, sp->extended);
}

static void list_files_describe(const void *spec, hr_description *to)
{
    const list_files_spec *sp = spec;
    hr_describe_text(to, NULL, sp->pattern);
    hr_describe_flag(to, "shuffle", sp->shuffle);
    hr_describe_seed(to, sp->seed, sp->same_each_epoch);
    hr_describe_flag(to, "extended", sp->extended);
}

const hr_op hr_op_list_files = {
    .head = HR_OP_HEAD,
    .name = "list_files",
    .spec_size = sizeof(list_files_spec),
    .state_size = sizeof(list_files_state),
    .saved = 2, /* list, next */
    .range = (const hr_saved_range[]){HR_SAVED_ANY},
    .ranges = 1,
    .spec_copy = list_files_spec_copy,
    .spec_free = list_files_spec_free,
    .check = list_files_check,
    .open = list_files_open,
    .plan = list_files_plan,
    .load = list_files_load,
    .close = list_files_close,
    .identity = list_files_identity,
    .files = list_files_files,
    .describe = list_files_describe,
};

hr_dataset *hr_list_files_with(const char *pattern, const hr_list_files_opts *opts)
{
    const hr_list_files_opts o = HR_OPTIONS(hr_list_files_opts, opts);
    const list_files_spec spec = {.pattern = pattern,
                                  .shuffle = o.shuffle,
                                  .extended = o.extended,
                                  .same_each_epoch = o.same_each_epoch,
                                  .seed = o.seed};
    return hr_dataset_new(&hr_op_list_files, &spec, NULL, 0);
}
