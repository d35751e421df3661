/* Hints: words of other languages by table, mistyped names by edit distance.
 *
 * In: a word that means nothing where it stands. Out: text for the fix of a message. */
#include "front/hints.h"

#include <string.h>

#include "dtype.h"

static const struct hint {
    enum hint_kind kind;
    const char *words, *fix;
} hints[] = {
#define HINT(kind, words, fix) {HINT_##kind, words, fix},
#include "front/hints.def"
#undef HINT
};

static bool is_among(struct name word, const char *words) {
    for (size_t len; *words; words += len + (words[len] == ' ')) {
        len = strcspn(words, " ");
        if (name_eq(word, (struct name){words, (uint32_t)len})) return true;
    }
    return false;
}

const char *hint_for(enum hint_kind kind, struct name word) {
    for (size_t i = 0; i < sizeof hints / sizeof *hints; i++)
        if (hints[i].kind == kind && is_among(word, hints[i].words)) return hints[i].fix;
    return NULL;
}

bool hint_is_dtype(const char *fix) {
    for (int t = 0; t < FX_N_DTYPES; t++)
        if (strcmp(fix, fx_dtype_name(t)) == 0) return true;
    return false;
}

/* ---- mistyped names ---- */

enum { MAX_LENGTH = 64 };

static int lower(char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; }

/* Letters to insert, drop, replace or swap with the next to make a of b; case counts for nothing. */
static int distance(struct name a, struct name b) {
    int rows[3][MAX_LENGTH + 1], *last = rows[0], *row = rows[1], *next = rows[2];
    for (uint32_t j = 0; j <= b.len; j++) row[j] = (int)j;
    for (uint32_t i = 1; i <= a.len; i++) {
        next[0] = (int)i;
        for (uint32_t j = 1; j <= b.len; j++) {
            bool is_same = lower(a.s[i - 1]) == lower(b.s[j - 1]);
            int best = row[j - 1] + !is_same;
            if (row[j] + 1 < best) best = row[j] + 1;
            if (next[j - 1] + 1 < best) best = next[j - 1] + 1;
            bool is_swap = i > 1 && j > 1 && lower(a.s[i - 1]) == lower(b.s[j - 2]) &&
                           lower(a.s[i - 2]) == lower(b.s[j - 1]);
            if (is_swap && last[j - 2] + 1 < best) best = last[j - 2] + 1;
            next[j] = best;
        }
        int *free_row = last;
        last = row, row = next, next = free_row;
    }
    return row[b.len];
}

void nearest_offer(struct nearest *n, struct name candidate) {
    uint32_t len = n->wanted.len;
    int most = len < 3 ? 0 : len < 6 ? 1 : 2; /* of two letters any is near any other */
    if (len > MAX_LENGTH || candidate.len > MAX_LENGTH || name_eq(n->wanted, candidate)) return;
    int d = distance(n->wanted, candidate);
    if (d > most || (n->name.len && d >= n->distance)) return;
    n->name = candidate;
    n->distance = d;
}
