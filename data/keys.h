/* Keys that were met, numbered in the order in which they came: what operators that group by a key look up. */
#ifndef HR_KEYS_H
#define HR_KEYS_H

#include <headrace/base.h>

typedef struct hr__keys {
    int64_t *key;
    int64_t count, room;
    int64_t *place; /* hash table: 1 + number of the key, 0: free. At least half of it is free */
    int64_t places; /* a power of two */
} hr__keys;

int64_t hr__keys_find(const hr__keys *keys, int64_t key); /* -1: it was not met */
int64_t hr__keys_add(hr__keys *keys, int64_t key);        /* its number, also if it was met; -1: no memory */
int64_t *hr__keys_sorted(const hr__keys *keys); /* gives the numbers by rising key (hr_free); NULL: no memory */
void hr__keys_clear(hr__keys *keys);

#endif
