/* From YAML's events to a tree. All memory is one arena; depth and size are bounded, counting what aliases stand for,
 * so that walking a tree is always cheap. */
#include "base/config_tree.h"
#include "base/hash_map.h"
#include "base/text.h"
#include <stdalign.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>

/* What `schema infer` writes for a million columns fits. A tree of the most nodes that a text of its size may have is
 * about 20 times as large as the text. */
enum { MAX_DEPTH = 64, FREE_NODES = 1000000, BYTES_A_NODE = 6, BLOCK = 1 << 14 };
enum { FEW_KEYS = 16 /* of a mapping that are looked through */ };

typedef struct hr__config_block {
    struct hr__config_block *next;
    size_t used, size;
    alignas(max_align_t) char bytes[];
} block;

/* Keys of a mapping that has many: their places. */
typedef struct hr__config_names {
    struct hr__config_names *next;
    hr__map map;
} names;

/* A node and what an alias to it must know. */
typedef struct built {
    hr__node node;
    bool open;      /* its end has not come */
    int height;     /* levels below it */
    int64_t weight; /* nodes in it, aliases counted as what they stand for */
} built;

/* A sequence or mapping whose end has not come. */
typedef struct level {
    built *node;
    const hr__node **item, **key; /* count of them is node.count, and one key more before its value */
    int64_t capacity, keys;
    hr__map names;
    int64_t weight_before;
} level;

typedef struct reader {
    hr__config *config;
    hr_error *err;
    level levels[MAX_DEPTH];
    int depth;
    int64_t weight, max_weight;
    hr__map anchors; /* name to the address of its built */
} reader;

void *hr__config_take(hr__config *c, size_t size)
{
    const size_t align = alignof(built) > alignof(names) ? alignof(built) : alignof(names);
    size = (size + align - 1) / align * align;
    if (!c->blocks || c->blocks->size - c->blocks->used < size) {
        size_t space = size > BLOCK ? size : BLOCK;
        block *b = hr_malloc(sizeof *b + space);
        if (!b) return NULL;
        *b = (block){.next = c->blocks, .size = space};
        c->blocks = b;
    }
    void *p = c->blocks->bytes + c->blocks->used;
    c->blocks->used += size;
    return p;
}

static const char *take_text(hr__config *c, const void *text, size_t size)
{
    char *copy = hr__config_take(c, size + 1);
    if (!copy) return NULL;
    if (size) memcpy(copy, text, size);
    copy[size] = '\0';
    return copy;
}

static hr_status config_fail_at(reader *r, yaml_mark_t mark, const char *kind, const char *text)
{
    hr_status st = hr_fail(r->err, HR_INVALID_ARGUMENT, kind, "%s:%zu:%zu: %s", r->config->name, mark.line + 1,
                           mark.column + 1, text);
    hr_error_file(r->err, r->config->name);
    if (r->err) r->err->line = (int64_t)mark.line + 1;
    return st;
}

static built *new_node(reader *r, hr__node_kind kind, yaml_mark_t mark)
{
    built *b = hr__config_take(r->config, sizeof *b);
    if (!b) return NULL;
    *b =
        (built){.node = {.config = r->config, .kind = kind, .line = (int)mark.line + 1, .column = (int)mark.column + 1},
                .weight = 1};
    b->node.text = "";
    if (r->depth == 0) return b;
    b->node.parent = &r->levels[r->depth - 1].node->node;
    b->node.place = (unsigned)b->node.parent->count & INT32_MAX;
    return b;
}

static bool config_grow(level *l)
{
    int64_t capacity = l->capacity ? l->capacity * 2 : 8;
    const hr__node **item = hr_realloc(l->item, (size_t)capacity * sizeof *item);
    if (item) l->item = item;
    if (!item) return false;
    l->capacity = capacity;
    if (l->node->node.kind != HR__MAPPING) return true;
    const hr__node **key = hr_realloc(l->key, (size_t)capacity * sizeof *key);
    if (key) l->key = key;
    return key != NULL;
}

static hr_status config_add_key(reader *r, level *l, const hr__node *node, yaml_mark_t mark)
{
    if (node->kind != HR__SCALAR)
        return config_fail_at(r, mark, "config.syntax", "expected a name as the key, found a list or a mapping");
    hr_status st = hr__map_add(&l->names, node->text, node->size, l->keys, r->err);
    if (st == HR_ALREADY_EXISTS) {
        char text[256];
        int line = l->key[*hr__map_find(&l->names, node->text, node->size)]->line;
        snprintf(text, sizeof text, "expected each key once, found '%.60s' twice; the first is in line %d", node->text,
                 line);
        return config_fail_at(r, mark, "config.duplicate_key", text);
    }
    if (st == HR_OK) l->key[l->keys++] = node;
    return st;
}

/* Puts a complete or a just opened node where it belongs. */
static hr_status attach(reader *r, const built *child, yaml_mark_t mark)
{
    if (r->depth == 0) {
        r->config->root = &child->node;
        return HR_OK;
    }
    level *l = &r->levels[r->depth - 1];
    built *parent = l->node;
    if (l->keys == l->capacity || parent->node.count == l->capacity)
        if (!config_grow(l)) return hr_no_memory(r->err, "a config file");
    if (parent->node.kind == HR__MAPPING && l->keys == parent->node.count)
        return config_add_key(r, l, &child->node, mark);
    l->item[parent->node.count++] = &child->node;
    if (child->height >= parent->height) parent->height = child->height + 1;
    return HR_OK;
}

static hr_status config_weigh(reader *r, int64_t weight, int height, yaml_mark_t mark)
{
    r->weight += weight;
    if (r->weight > r->max_weight) {
        char text[128];
        snprintf(text, sizeof text, "expected at most %lld values, aliases counted, found more",
                 (long long)r->max_weight);
        return config_fail_at(r, mark, "config.limit", text);
    }
    if (r->depth + height > MAX_DEPTH)
        return config_fail_at(r, mark, "config.limit", "expected at most 64 levels inside each other, found more");
    return HR_OK;
}

/* Remembers the node under its anchor, if it has one. */
static hr_status name_anchor(reader *r, const yaml_char_t *anchor, built *b)
{
    if (!anchor) return HR_OK;
    return hr__map_set(&r->anchors, (const char *)anchor, strlen((const char *)anchor), (int64_t)(intptr_t)b, r->err);
}

static hr_status on_scalar(reader *r, const yaml_event_t *e)
{
    HR_TRY(config_weigh(r, 1, 0, e->start_mark));
    if (e->data.scalar.tag)
        return config_fail_at(r, e->start_mark, "config.syntax",
                              "expected a plain or quoted value, found a tag (!); leave it out");
    built *b = new_node(r, HR__SCALAR, e->start_mark);
    const char *text = b ? take_text(r->config, e->data.scalar.value, e->data.scalar.length) : NULL;
    if (!text) return hr_no_memory(r->err, "a config file");
    b->node.text = text;
    b->node.size = e->data.scalar.length;
    b->node.quoted = e->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    HR_TRY(name_anchor(r, e->data.scalar.anchor, b));
    return attach(r, b, e->start_mark);
}

static hr_status on_alias(reader *r, const yaml_event_t *e)
{
    const char *name = (const char *)e->data.alias.anchor;
    const int64_t *found = hr__map_find(&r->anchors, name, strlen(name));
    char text[256];
    if (!found) {
        snprintf(text, sizeof text, "expected an anchor &%.60s above, found none", name);
        return config_fail_at(r, e->start_mark, "config.syntax", text);
    }
    const built *b = (const built *)(intptr_t)*found;
    if (b->open) {
        snprintf(text, sizeof text, "expected something complete, found *%.60s inside of &%.60s", name, name);
        return config_fail_at(r, e->start_mark, "config.syntax", text);
    }
    HR_TRY(config_weigh(r, b->weight, b->height, e->start_mark));
    return attach(r, b, e->start_mark);
}

static hr_status on_open(reader *r, hr__node_kind kind, const yaml_char_t *tag, const yaml_char_t *anchor,
                         yaml_mark_t mark)
{
    HR_TRY(config_weigh(r, 1, 1, mark));
    if (tag)
        return config_fail_at(r, mark, "config.syntax", "expected a list or a mapping, found a tag (!); leave it out");
    built *b = new_node(r, kind, mark);
    if (!b) return hr_no_memory(r->err, "a config file");
    b->open = true;
    HR_TRY(name_anchor(r, anchor, b));
    HR_TRY(attach(r, b, mark));
    r->levels[r->depth++] = (level){.node = b, .weight_before = r->weight - 1};
    return HR_OK;
}

static void drop_level(level *l)
{
    hr_free(l->item);
    hr_free(l->key);
    hr__map_free(&l->names);
    *l = (level){0};
}

/* Of a mapping with many keys, the map that found duplicates goes on to find values. */
static hr_status config_keep_names(reader *r, level *l)
{
    if (l->node->node.kind != HR__MAPPING || l->keys <= FEW_KEYS) return HR_OK;
    names *n = hr__config_take(r->config, sizeof *n);
    if (!n) return hr_no_memory(r->err, "a config file");
    *n = (names){r->config->names, l->names};
    l->names = (hr__map){0};
    r->config->names = n;
    l->node->node.names = &n->map;
    return HR_OK;
}

static hr_status on_close(reader *r)
{
    level *l = &r->levels[r->depth - 1];
    built *b = l->node;
    size_t bytes = (size_t)b->node.count * sizeof *l->item;
    const bool mapping = b->node.kind == HR__MAPPING;
    b->node.item = hr__config_take(r->config, bytes);
    if (mapping) b->node.key = hr__config_take(r->config, bytes);
    if (!b->node.item || (mapping && !b->node.key)) return hr_no_memory(r->err, "a config file");
    if (bytes) memcpy(b->node.item, l->item, bytes);
    if (bytes && mapping) memcpy(b->node.key, l->key, bytes);
    b->open = false;
    b->weight = r->weight - l->weight_before;
    HR_TRY(config_keep_names(r, l));
    drop_level(l);
    r->depth--;
    if (r->depth && r->levels[r->depth - 1].node->height <= b->height)
        r->levels[r->depth - 1].node->height = b->height + 1;
    return HR_OK;
}

static hr_status on_event(reader *r, const yaml_event_t *e)
{
    switch (e->type) {
    case YAML_DOCUMENT_START_EVENT:
        if (r->config->root)
            return config_fail_at(r, e->start_mark, "config.syntax", "expected one document, found a second one (---)");
        return HR_OK;
    case YAML_SCALAR_EVENT:
        return on_scalar(r, e);
    case YAML_ALIAS_EVENT:
        return on_alias(r, e);
    case YAML_SEQUENCE_START_EVENT:
        return on_open(r, HR__SEQUENCE, e->data.sequence_start.tag, e->data.sequence_start.anchor, e->start_mark);
    case YAML_MAPPING_START_EVENT:
        return on_open(r, HR__MAPPING, e->data.mapping_start.tag, e->data.mapping_start.anchor, e->start_mark);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        return on_close(r);
    default:
        return HR_OK;
    }
}

/* Where the bytes themselves are no text, libyaml knows the offset only. */
static yaml_mark_t mark_of_offset(const char *text, size_t size, size_t offset)
{
    yaml_mark_t mark = {0};
    for (size_t i = 0; i < offset && i < size; i++) {
        mark.column = text[i] == '\n' ? 0 : mark.column + 1;
        mark.line += text[i] == '\n';
    }
    return mark;
}

static hr_status syntax_error(reader *r, const yaml_parser_t *p, const char *text, size_t size)
{
    if (p->error == YAML_MEMORY_ERROR) return hr_no_memory(r->err, "a config file");
    bool bytes = p->error == YAML_READER_ERROR;
    yaml_mark_t mark = bytes ? mark_of_offset(text, size, p->problem_offset) : p->problem_mark;
    size_t at = bytes ? p->problem_offset : mark.index;
    char told[400];
    int used =
        snprintf(told, sizeof told, "expected YAML, but libyaml says: %s", p->problem ? p->problem : "unreadable");
    if (!bytes && at < size && text[at] == '\t')
        snprintf(told, sizeof told, "expected blanks, found a tab; YAML is indented with blanks only");
    else if (p->context && !bytes)
        snprintf(told + used, sizeof told - (size_t)used, " (%s that begins in line %zu)", p->context,
                 p->context_mark.line + 1);
    return config_fail_at(r, mark, "config.syntax", told);
}

static hr_status read_events(reader *r, const char *text, size_t size)
{
    yaml_parser_t parser;
    if (!yaml_parser_initialize(&parser)) return hr_no_memory(r->err, "a config file");
    yaml_parser_set_input_string(&parser, (const unsigned char *)(size ? text : ""), size);
    hr_status st = HR_OK;
    for (bool end = false; st == HR_OK && !end;) {
        yaml_event_t event;
        if (!yaml_parser_parse(&parser, &event)) {
            st = syntax_error(r, &parser, text, size);
            break;
        }
        st = on_event(r, &event);
        end = event.type == YAML_STREAM_END_EVENT;
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
    return st;
}

/* A file of comments, or of nothing, is an empty mapping. */
static hr_status fill_empty(reader *r)
{
    if (r->config->root) return HR_OK;
    built *b = new_node(r, HR__MAPPING, (yaml_mark_t){0});
    if (!b) return hr_no_memory(r->err, "a config file");
    r->config->root = &b->node;
    return HR_OK;
}

hr_status hr__config_parse(const char *name, const char *text, size_t size, hr__config **out, hr_error *err)
{
    *out = NULL;
    hr__config *c = hr_calloc(1, sizeof *c);
    reader *r = c ? hr_calloc(1, sizeof *r) : NULL;
    if (r) c->name = take_text(c, name, strlen(name));
    hr_status st = HR_RESOURCE_EXHAUSTED;
    if (!r || !c->name) {
        hr_no_memory(err, "a config file");
        goto done;
    }
    r->config = c;
    r->err = err;
    r->max_weight = size / BYTES_A_NODE > FREE_NODES ? (int64_t)(size / BYTES_A_NODE) : FREE_NODES;
    st = size > HR__CONFIG_BYTES ? hr_fail(err, HR_INVALID_ARGUMENT, "config.limit",
                                           "%s: expected at most 256 MiB of configuration, found %zu bytes", name, size)
                                 : read_events(r, text, size);
    if (st == HR_OK) st = fill_empty(r);
    while (r->depth) drop_level(&r->levels[--r->depth]);
    hr__map_free(&r->anchors);
done:
    hr_free(r);
    if (st == HR_OK)
        *out = c;
    else
        hr__config_free(c);
    return st;
}

void hr__config_free(hr__config *c)
{
    if (!c) return;
    for (names *n = c->names; n; n = n->next) hr__map_free(&n->map);
    while (c->blocks) {
        block *next = c->blocks->next;
        hr_free(c->blocks);
        c->blocks = next;
    }
    hr__config_free(c->values);
    hr_free(c);
}

const hr__node *hr__config_root(const hr__config *c) { return c->root; }
const char *hr__config_name(const hr__config *c) { return c->name; }
