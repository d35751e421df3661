/* A hash table from names to values of any kind: open addressing, probed linearly, doubled when half full. Also names
 * of a spec as C identifiers.
 *
 * In: names, which are not copied. Out: the value given last. Invariant: an empty slot has no bytes of a name. */
#include "base/names.h"

#include <string.h>

struct names_slot {
    struct name name; /* s NULL: empty */
    void *meaning;
};

enum { FIRST_SLOTS = 16 };

static uint32_t hash(struct name n) { /* FNV-1a */
    uint32_t h = 2166136261u;
    for (uint32_t i = 0; i < n.len; i++) h = (h ^ (unsigned char)n.s[i]) * 16777619u;
    return h;
}

/* The slot of the name, or the empty one where it belongs. */
static struct names_slot *find(const struct names *t, struct name name) {
    uint32_t mask = (uint32_t)t->n_slots - 1, i = hash(name) & mask;
    while (t->slots[i].name.s && !name_eq(t->slots[i].name, name)) i = (i + 1) & mask;
    return &t->slots[i];
}

static void grow(struct names *t, struct arena *a) {
    struct names old = *t;
    t->n_slots = old.n_slots ? 2 * old.n_slots : FIRST_SLOTS;
    t->slots = NEW_ARRAY(a, struct names_slot, t->n_slots);
    for (int i = 0; i < old.n_slots; i++)
        if (old.slots[i].name.s) *find(t, old.slots[i].name) = old.slots[i];
}

void *names_get(const struct names *t, struct name name) { return t->n_slots ? find(t, name)->meaning : NULL; }

void *names_put(struct names *t, struct arena *a, struct name name, void *meaning) {
    if (2 * t->n >= t->n_slots) grow(t, a);
    struct names_slot *slot = find(t, name);
    void *before = slot->meaning;
    if (!slot->name.s) t->n++;
    *slot = (struct names_slot){name, meaning};
    return before;
}

bool names_next(const struct names *t, int *at, struct name *name) {
    while (*at < t->n_slots && !t->slots[*at].name.s) ++*at;
    if (*at >= t->n_slots) return false;
    *name = t->slots[(*at)++].name;
    return true;
}

bool is_word_byte(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

const char *name_encoded(struct arena *a, struct name name) {
    struct buf b;
    buf_init(&b, a);
    for (uint32_t i = 0; i < name.len; i++) {
        if (name.s[i] == '_' && (i == 0 || name.s[i - 1] == '_')) buf_putc(&b, 'x');
        buf_putc(&b, is_word_byte(name.s[i]) ? name.s[i] : 'x');
    }
    if (!name.len || name.s[name.len - 1] == '_') buf_putc(&b, 'x'); /* what follows begins with one */
    return b.s;
}

struct identifier { /* a name that was asked for */
    bool is_taken;
    int next; /* the number to try first where it is the base of another; 0: 2 */
};

struct taken_name {
    struct identifier *it, *base; /* base NULL: it is its own */
    int next;                     /* base's before */
};

static struct name named(const char *s) { return (struct name){s, (uint32_t)strlen(s)}; }

static struct identifier *identifier(struct identifiers *s, const char *name) {
    struct identifier *i = names_get(&s->table, named(name));
    if (i) return i;
    i = NEW(s->arena, struct identifier);
    names_put(&s->table, s->arena, named(name), i);
    return i;
}

bool identifiers_have(const struct identifiers *s, const char *name) {
    const struct identifier *i = names_get(&s->table, named(name));
    return (i && i->is_taken) || (s->around && identifiers_have(s->around, name));
}

const char *identifiers_take(struct identifiers *s, const char *base) {
    const char *name = base, *end = base[strlen(base) - 1] == '_' ? "_" : "";
    struct identifier *b = identifier(s, base);
    int next = b->next, i = next ? next : 2;
    while (identifiers_have(s, name)) name = arena_printf(s->arena, "%s%d%s", base, i++, end);
    struct identifier *it = name == base ? b : identifier(s, name);
    it->is_taken = true;
    if (it != b) b->next = i;
    if (s->n == s->most) { /* room is kept when names are given back */
        struct taken_name *more = NEW_ARRAY(s->arena, struct taken_name, s->most = s->most ? 2 * s->most : FIRST_SLOTS);
        if (s->n) memcpy(more, s->taken, (size_t)s->n * sizeof *more);
        s->taken = more;
    }
    s->taken[s->n++] = (struct taken_name){it, it == b ? NULL : b, next};
    return name;
}

void identifiers_give_back(struct identifiers *s, int n) {
    while (s->n > n) {
        const struct taken_name *t = &s->taken[--s->n];
        t->it->is_taken = false;
        if (t->base) t->base->next = t->next;
    }
}
