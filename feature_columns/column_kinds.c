/* The kinds of columns: the library's own, and those that are registered. The list only grows, and what is in it never
 * changes, so it is read without a lock. */
#include "base/descriptor.h"
#include "feature_columns/columns_internal.h"
#include <headrace/column_config.h>

#include <pthread.h>
#include <string.h>

static const hr_column_kind *const built_in[] = {
#define HR_COLUMN_KIND(name) &hr_column_kind_##name,
#include "feature_columns/kinds/columns.def"
#undef HR_COLUMN_KIND
};

enum { BUILT_IN = sizeof built_in / sizeof *built_in, MAX_REGISTERED = 128 };

/* A registered kind: as it was given, and in a descriptor of this library's size. */
static struct registered {
    const hr_column_kind *given;
    hr_column_kind kind;
    hr_column_config config;
} registered[MAX_REGISTERED];
static atomic_int registered_count;
static pthread_mutex_t registering = PTHREAD_MUTEX_INITIALIZER;

static const hr__descriptor_kind configs = {
    .what = "column in a config file",
    .status = HR_INTERNAL,
    .error = "column.kind",
    .version = HR_COLUMN_CONFIG_ABI,
    .size = sizeof(hr_column_config),
    .min_size = offsetof(hr_column_config, columns),
};

const hr_column_kind *hr__column_kind_at(int i)
{
    if (i < BUILT_IN) return built_in[i];
    i -= BUILT_IN;
    return i < atomic_load_explicit(&registered_count, memory_order_acquire) ? &registered[i].kind : NULL;
}

bool hr__column_kind_is_own(const hr_column_kind *kind)
{
    for (int i = 0; i < BUILT_IN; i++)
        if (kind == built_in[i]) return true;
    return false;
}

const hr_column_kind *hr__column_kind_listed(const hr_feature_column *column)
{
    const hr_column_kind *own = hr_feature_column_kind(column), *kind;
    for (int i = 0; (kind = hr__column_kind_at(i)); i++)
        if (own == (i < BUILT_IN ? kind : registered[i - BUILT_IN].given)) return kind;
    return NULL;
}

bool hr_feature_column_is(const hr_feature_column *column, const char *name)
{
    const hr_column_kind *kind = hr__column_kind_listed(column);
    return kind && strcmp(kind->name, name) == 0;
}

/* The new entry, if it is another than those in the list. */
static hr_status fill_entry(struct registered *to, const hr_column_kind *given, hr_error *err)
{
    const hr_column_kind *kind, *other;
    const void *config;
    *to = (struct registered){.given = given};
    HR_TRY(hr__column_kind_fit(given, &to->kind, &kind, err));
    to->kind = *kind;
    if (!kind->config)
        return hr_fail(err, HR_INVALID_ARGUMENT, "column.registered", "%s: expected a kind with .config, got none",
                       kind->name);
    HR_TRY(hr__descriptor_fit(&configs, kind->config, &to->config, &config, err));
    to->config = *(const hr_column_config *)config;
    to->kind.config = &to->config;
    if (!to->config.word || !to->config.keys || !to->config.read)
        return hr_fail(err, HR_INVALID_ARGUMENT, "column.registered",
                       "%s: expected a .config with word, keys and read, got NULL for one", kind->name);
    for (int i = 0; (other = hr__column_kind_at(i)); i++)
        if (strcmp(other->name, kind->name) == 0 || strcmp(other->config->word, to->config.word) == 0)
            return hr_fail(err, HR_ALREADY_EXISTS, "column.registered",
                           "%s: expected a name and a word of its own, got those of %s ('%s')", kind->name, other->name,
                           other->config->word);
    return HR_OK;
}

hr_status hr_column_kind_register(const hr_column_kind *kind, hr_error *err)
{
    pthread_mutex_lock(&registering);
    const int count = atomic_load(&registered_count);
    hr_status st = count < MAX_REGISTERED
                       ? fill_entry(&registered[count], kind, err)
                       : hr_fail(err, HR_RESOURCE_EXHAUSTED, "column.registered",
                                 "expected at most %d registered kinds of columns, got more", MAX_REGISTERED);
    if (st == HR_OK) atomic_store_explicit(&registered_count, count + 1, memory_order_release);
    pthread_mutex_unlock(&registering);
    return st;
}
