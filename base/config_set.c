/* Changes a config before it is read: "train.learning_rate=0.01". Nodes are read-only and aliases share them, so the
 * mappings and lists on the path are copied, and the root is another one afterwards. */
#include "base/config_tree.h"
#include "base/number.h"
#include <stdio.h>
#include <string.h>

enum { MAX_PATH = 32 /* names in a path */ };

/* ---- errors ---- */

static hr_status set_fail(const char *option, hr_error *err, const char *kind, const char *text)
{
    return hr_fail(err, HR_INVALID_ARGUMENT, kind, ".set \"%.120s\": %s", option, text);
}

static hr_status set_no_memory(hr_error *err) { return hr_no_memory(err, "a config file"); }

/* ---- nodes ---- */

static hr__node *set_new_node(hr__config *c, const hr__node *parent, unsigned place, hr__node_kind kind)
{
    hr__node *node = hr__config_take(c, sizeof *node);
    if (node)
        *node = (hr__node){.config = c,
                           .parent = parent,
                           .kind = kind,
                           .place = place & INT32_MAX,
                           .text = "",
                           .line = 1,
                           .column = 1};
    return node;
}

/* A copy of a mapping or list with memory for one item more. NULL: none. */
static hr__node *set_copy(hr__config *c, const hr__node *from, const hr__node *parent, unsigned place)
{
    hr__node *to = set_new_node(c, parent, place, from->kind);
    const size_t bytes = (size_t)from->count * sizeof *from->item, more = sizeof *from->item;
    if (!to) return NULL;
    to->config = from->config;
    to->line = from->line;
    to->column = from->column;
    to->count = from->count;
    to->names = from->names;
    to->item = hr__config_take(c, bytes + more);
    to->key = from->kind == HR__MAPPING ? hr__config_take(c, bytes + more) : NULL;
    if (!to->item || (from->kind == HR__MAPPING && !to->key)) return NULL;
    if (bytes) memcpy(to->item, from->item, bytes);
    if (bytes && to->key) memcpy(to->key, from->key, bytes);
    return to;
}

/* The place of a key, which is added where there is none: -1, no memory. */
static int64_t set_place_of(hr__config *values, hr__node *map, const char *name, size_t size)
{
    for (int64_t i = 0; i < map->count; i++)
        if (map->key[i]->size == size && memcmp(map->key[i]->text, name, size) == 0) return i;
    hr__node *key = set_new_node(values, map, (unsigned)map->count, HR__SCALAR);
    char *text = hr__config_take(values, size + 1);
    if (!key || !text) return -1;
    memcpy(text, name, size);
    text[size] = '\0';
    key->text = text;
    key->size = size;
    map->key[map->count] = key;
    map->item[map->count] = NULL;
    map->names = NULL;
    return map->count++;
}

/* ---- the path ---- */

/* The next name of a path, "dnn_hidden_units" or, of an index in brackets, "0". */
typedef struct step {
    const char *name;
    size_t size;
    int64_t index; /* -1: it is a name */
} step;

/* Splits "model.dnn_hidden_units[0]"; 0: it is not written so. */
static int set_split(const char *at, const char *end, step *out)
{
    int count = 0;
    while (at < end && count < MAX_PATH) {
        const bool index = *at == '[';
        size_t size = 0;
        at += index;
        while (at + size < end && at[size] != '[' && at[size] != ']' && (index || at[size] != '.')) size++;
        out[count] = (step){at, size, -1};
        if (size == 0) return 0;
        if (index &&
            (at + size == end || at[size] != ']' ||
             hr__parse_int64(at, size, HR__NUMBER_DEFAULT, &out[count].index) != HR__PARSED || out[count].index < 0))
            return 0;
        count++;
        at += size + index;
        if (at < end && *at == '.' && ++at == end) return 0;
    }
    return at == end ? count : 0;
}

/* Where the next step leads from `*node`, a copy or new: *place is that of the step in it. */
static hr_status set_enter(hr__config *c, const char *option, const step *s, const hr__node *was,
                           const hr__node *parent, unsigned at, hr__node **node, int64_t *place, hr_error *err)
{
    const hr__node nothing = {.config = c->values, .kind = HR__MAPPING, .line = 1, .column = 1};
    if (!was || hr__node_is_null(was)) was = &nothing;
    if (s->index >= 0 && (was->kind != HR__SEQUENCE || s->index >= was->count))
        return set_fail(option, err, "config.value", "expected the index of an item that the file has");
    if (s->index < 0 && was->kind != HR__MAPPING)
        return set_fail(option, err, "config.value", "expected a path of keys, found a value or a list on the way");
    *node = set_copy(c, was, parent, at);
    *place = !*node ? -1 : s->index >= 0 ? s->index : set_place_of(c->values, *node, s->name, s->size);
    return *place >= 0 ? HR_OK : set_no_memory(err);
}

static hr_status set_at(hr__config *c, const char *option, const step *path, int count, hr__node *value, hr_error *err)
{
    const hr__node *was = c->root, *parent = NULL;
    const hr__node **slot = &c->root;
    unsigned at = 0;
    for (int i = 0; i < count; i++) {
        hr__node *node = NULL;
        int64_t place = -1;
        HR_TRY(set_enter(c, option, &path[i], was, parent, at, &node, &place, err));
        *slot = parent = node;
        slot = &node->item[place];
        was = *slot;
        at = (unsigned)place;
    }
    value->parent = parent;
    value->place = at & INT32_MAX;
    *slot = value;
    return HR_OK;
}

hr_status hr__config_set(hr__config *c, const char *option, hr_error *err)
{
    char name[160];
    step path[MAX_PATH];
    hr__config *values;
    const char *equals = option ? strchr(option, '=') : NULL;
    const int count = equals ? set_split(option, equals, path) : 0;
    if (!count)
        return set_fail(option ? option : "", err, "config.set",
                        "expected KEY.PATH=VALUE, such as train.learning_rate=0.01");
    snprintf(name, sizeof name, ".set \"%.120s\"", option);
    HR_TRY(hr__config_parse(name, equals + 1, strlen(equals + 1), &values, err));
    values->is_option = true;
    values->values = c->values;
    c->values = values;
    hr__node *value = (hr__node *)(uintptr_t)values->root; /* of this config, which nobody else has seen */
    if (equals[1 + strspn(equals + 1, " ")] == '\0') value->kind = HR__SCALAR; /* null, not an empty mapping */
    return set_at(c, option, path, count, value, err);
}

hr_status hr__config_set_all(hr__config *c, const char *const *options, int count, hr_error *err)
{
    if (count < 0 || (count > 0 && !options))
        return hr_fail(err, HR_INVALID_ARGUMENT, "config.set", ".set: expected an array of %d options, got NULL",
                       count);
    for (int i = 0; i < count; i++) HR_TRY(hr__config_set(c, options[i], err));
    return HR_OK;
}
