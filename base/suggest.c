/* The known name nearest to an unknown one: insertions, deletions, changes and swaps of neighbours, case aside. */
#include "base/config.h"
#include <string.h>

enum { LONGEST = 64, MAX = 4096 /* candidates that are looked at: a suggestion is not worth seconds */ };

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c; }

static int min(int a, int b) { return a < b ? a : b; }

/* Both at most LONGEST long. Row i of the table says what it takes to make the first j letters of b from i of a. */
static int distance(const char *a, int n, const char *b, int m)
{
    int rows[3][LONGEST + 1];
    for (int j = 0; j <= m; j++) rows[0][j] = j;
    for (int i = 1; i <= n; i++) {
        int *row = rows[i % 3], *above = rows[(i + 2) % 3], *above2 = rows[(i + 1) % 3];
        row[0] = i;
        for (int j = 1; j <= m; j++) {
            int change = above[j - 1] + (lower(a[i - 1]) != lower(b[j - 1]));
            row[j] = min(change, min(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]))
                row[j] = min(row[j], above2[j - 2] + 1);
        }
    }
    return rows[n % 3][m];
}

const char *hr_suggest(const char *name, const char *const *candidates, int64_t count)
{
    const char *best = NULL;
    const size_t length = name && candidates ? strlen(name) : 0;
    if (length == 0 || length > LONGEST) return NULL;
    int limit = length < 4 ? 1 : (int)length / 3 + 1, nearest = limit + 1;
    for (int64_t i = 0; i < count && i < MAX; i++) {
        size_t other = strlen(candidates[i]);
        if (other == 0 || other > LONGEST) continue;
        int d = distance(name, (int)length, candidates[i], (int)other);
        /* A part of a name stands for it, if nothing is nearer: hidden_units, dnn_hidden_units. */
        if (d > limit && length >= 4 && strstr(candidates[i], name)) d = limit;
        if (d < nearest && d < (int)other) {
            nearest = d;
            best = candidates[i];
        }
    }
    return best;
}
