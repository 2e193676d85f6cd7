/* Words to ids. The map's hash is Fingerprint64, which the buckets for unknown words need as well: each word is hashed
 * once. Integers are looked up by their 8 bytes; in those buckets they count as decimal text. */
#include "base/number.h"
#include "feature_columns/kernels/vocabulary_table.h"

enum { BLOCK = 32 };

/* A block of words on its way. Each step is done for a whole block, so that misses of the cache overlap; and for other
 * blocks before the next step, so that what one step asks memory for is there when the next one looks. */
typedef struct block {
    const hr_view *word; /* of integers: `own`, their 8 bytes each */
    int64_t n, *ids;
    hr_view own[BLOCK];
    int64_t integer[BLOCK];
    uint64_t hash[BLOCK];
    const hr__map_entry *likely[BLOCK];
} block;

static void view_integers(block *b, const hr_column_values *in, int64_t at)
{
    for (int64_t i = 0; i < b->n; i++) {
        b->integer[i] = hr_column_integer_at(in, at + i);
        b->own[i] = (hr_view){(const char *)&b->integer[i], sizeof b->integer[i]};
    }
    b->word = b->own;
}

static void begin_block(const hr__map *map, block *b, const hr_column_values *in, int64_t at, int64_t *ids)
{
    b->n = in->count - at < BLOCK ? in->count - at : BLOCK;
    b->ids = ids + at;
    if (in->dtype == HR_STRING)
        b->word = (const hr_view *)in->values + at;
    else
        view_integers(b, in, at);
    hr_fingerprint64_many(b->word, b->n, b->hash);
    for (int64_t i = 0; i < b->n; i++) hr__map_prefetch(map, b->hash[i]);
}

static void find_likely(const hr__map *map, block *b)
{
    for (int64_t i = 0; i < b->n; i++) b->likely[i] = hr__map_candidate(map, b->hash[i]);
}

/* What to make of a word that is not there. */
typedef struct unknown {
    int64_t id;      /* without buckets */
    int64_t buckets; /* 0: none */
    hr_divisor divisor;
} unknown;

static int64_t unknown_id(const hr_words *words, const unknown *u, const block *b, int64_t i)
{
    char text[HR__NUMBER_TEXT];
    if (u->buckets == 0) return u->id;
    uint64_t hash = b->hash[i];
    if (b->word == b->own) hash = hr_fingerprint64(text, (size_t)hr__format_int64(b->integer[i], text));
    return words->size + (int64_t)hr_remainder(u->divisor, hash);
}

static void read_ids(const hr_words *words, const unknown *u, const block *b)
{
    for (int64_t i = 0; i < b->n; i++) {
        const hr__map_entry *likely = b->likely[i];
        const char *word = b->word[i].data;
        const size_t size = (size_t)b->word[i].size;
        if (likely && hr__map_entry_is(likely, word, size)) {
            b->ids[i] = likely->value;
            continue;
        }
        const int64_t *id = likely ? hr__map_find_hashed(&words->ids, b->hash[i], word, size) : NULL;
        b->ids[i] = id ? *id : unknown_id(words, u, b, i);
    }
}

/* Block number k is hashed while number k - 1 is looked for and number k - 2 is read. */
void hr_words_look_up(const hr_words *words, const hr_column_values *in, int64_t default_value, int64_t oov_buckets,
                      int64_t *ids)
{
    enum { STEPS = 3 };
    block ring[STEPS];
    const hr__map *map = &words->ids;
    const unknown u = {.id = default_value,
                       .buckets = oov_buckets,
                       .divisor = hr_divisor_of(oov_buckets > 0 ? (uint64_t)oov_buckets : 1)};
    const int64_t blocks = (in->count + BLOCK - 1) / BLOCK;
    for (int64_t k = 0; blocks > 0 && k < blocks + STEPS - 1; k++) {
        if (k < blocks) begin_block(map, &ring[k % STEPS], in, k * BLOCK, ids);
        if (k >= 1 && k <= blocks) find_likely(map, &ring[(k - 1) % STEPS]);
        if (k >= 2) read_ids(words, &u, &ring[(k - 2) % STEPS]);
    }
}
