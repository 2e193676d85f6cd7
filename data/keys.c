/* The table of keys that operators which group by one look up. */
#include <headrace/op_functions.h>
#include <stdlib.h>

enum { FIRST_PLACES = 32 };

/* Where the key is, or the free place where it should be. */
static int64_t keys_find(const hr_keys *keys, int64_t key)
{
    int64_t i = (int64_t)(hr_random((uint64_t)key, 0) & (uint64_t)(keys->places - 1));
    while (keys->place[i] && keys->key[keys->place[i] - 1] != key) i = (i + 1) & (keys->places - 1);
    return i;
}

int64_t hr_keys_find(const hr_keys *keys, int64_t key)
{
    return keys->places ? keys->place[keys_find(keys, key)] - 1 : -1;
}

static bool grow_places(hr_keys *keys)
{
    hr_keys grown = *keys;
    grown.places = keys->places ? 2 * keys->places : FIRST_PLACES;
    grown.place = hr_calloc((size_t)grown.places, sizeof *grown.place);
    if (!grown.place) return false;
    for (int64_t i = 0; i < keys->count; i++) grown.place[keys_find(&grown, keys->key[i])] = i + 1;
    hr_free(keys->place);
    *keys = grown;
    return true;
}

static bool keys_reserve(hr_keys *keys)
{
    if (2 * (keys->count + 1) > keys->places && !grow_places(keys)) return false;
    if (keys->count < keys->capacity) return true;
    const int64_t capacity = keys->capacity ? 2 * keys->capacity : FIRST_PLACES / 2;
    int64_t *grown = hr_realloc(keys->key, (size_t)capacity * sizeof *grown);
    if (!grown) return false;
    keys->key = grown;
    keys->capacity = capacity;
    return true;
}

int64_t hr_keys_add(hr_keys *keys, int64_t key)
{
    const int64_t known = hr_keys_find(keys, key);
    if (known >= 0) return known;
    if (!keys_reserve(keys)) return -1;
    keys->place[keys_find(keys, key)] = keys->count + 1;
    keys->key[keys->count] = key;
    return keys->count++;
}

typedef struct numbered {
    int64_t key, number;
} numbered;

static int keys_by_key(const void *a, const void *b)
{
    const int64_t x = ((const numbered *)a)->key, y = ((const numbered *)b)->key;
    return (x > y) - (x < y);
}

int64_t *hr_keys_sorted(const hr_keys *keys)
{
    numbered *order = hr_malloc(((size_t)keys->count + 1) * sizeof *order);
    int64_t *number = order ? hr_malloc(((size_t)keys->count + 1) * sizeof *number) : NULL;
    for (int64_t i = 0; number && i < keys->count; i++) order[i] = (numbered){keys->key[i], i};
    if (number) qsort(order, (size_t)keys->count, sizeof *order, keys_by_key);
    for (int64_t i = 0; number && i < keys->count; i++) number[i] = order[i].number;
    hr_free(order);
    return number;
}

void hr_keys_clear(hr_keys *keys)
{
    hr_free(keys->key);
    hr_free(keys->place);
    *keys = (hr_keys){0};
}
