/* Grows expressions top down, keeping of each what the language says of its labels and their order. */
#include "spec_gen.h"

#include <string.h>

uint64_t random_next(uint64_t *state) {
    *state ^= *state >> 12, *state ^= *state << 25, *state ^= *state >> 27;
    return *state * 0x2545F4914F6CDD1Du;
}
int random_below(uint64_t *state, int n) { return (int)((random_next(state) >> 33) % (unsigned)n); }

enum { N_LABELS = 6 };

static const char *const label_names[N_LABELS] = {"M", "N", "K", "B", "P", "Q"};

int spec_extent(const struct spec *s, const char *label, size_t len) {
    for (int i = 0; i < s->n_labels; i++)
        if (strlen(s->names[i]) == len && memcmp(s->names[i], label, len) == 0) return s->extents[i];
    return -1;
}

/* ---- expressions ---- */

struct scope_name { /* a name and what it stands for now */
    const char *name;
    const struct spec_expr *value; /* its labels and order */
};

struct gen {
    struct arena *arena;
    uint64_t random;
    struct spec *spec;
    bool is_smooth;   /* nothing that jumps: no conditions, casts, integers, rounding to whole numbers */
    struct scope_name scope[SPEC_MAX_PARAMS + SPEC_MAX_STMTS];
    int n_scope;
};

static int below(struct gen *g, int n) { return random_below(&g->random, n); }
static bool chance(struct gen *g, int percent) { return below(g, 100) < percent; }
#define PICK(g, array) ((array)[below((g), (int)(sizeof(array) / sizeof *(array)))])

static bool has_label(const struct spec_expr *e, int label) {
    for (int i = 0; i < e->n_labels; i++)
        if (e->labels[i] == label) return true;
    return false;
}

/* Labels and order of a pointwise value: those of the operand that has all of them, else the union,
 * its last undecided. */
static void join(struct spec_expr *e) {
    const struct spec_expr *order = NULL;
    bool agree = true;
    e->n_labels = 0;
    for (int i = 0; i < e->n_args; i++)
        for (int j = 0; j < e->args[i]->n_labels; j++)
            if (!has_label(e, e->args[i]->labels[j])) e->labels[e->n_labels++] = e->args[i]->labels[j];
    for (int i = 0; i < e->n_args && e->n_labels; i++) {
        const struct spec_expr *a = e->args[i];
        if (a->n_labels != e->n_labels || !a->is_decided) continue;
        if (!order) order = a;
        else agree &= order->labels[e->n_labels - 1] == a->labels[e->n_labels - 1];
    }
    e->is_decided = e->n_labels == 0 || (order && agree);
    if (order && agree) memcpy(e->labels, order->labels, sizeof e->labels);
}

static struct spec_expr *make(struct gen *g, enum spec_shape shape, const char *text, int n_args, struct spec_expr *a,
    struct spec_expr *b, struct spec_expr *c) {
    struct spec_expr *e = NEW(g->arena, struct spec_expr);
    *e = (struct spec_expr){.shape = shape, .text = text, .tail = "", .n_args = n_args, .args = {a, b, c}};
    join(e);
    for (int i = 0; i < n_args; i++)
        if (e->args[i]->type == SPEC_FLOAT || (e->args[i]->type == SPEC_INT && e->type == SPEC_WEAK))
            e->type = e->args[i]->type;
    return e;
}

static struct spec_expr *typed(struct spec_expr *e, enum spec_type type) {
    e->type = type;
    return e;
}

static struct spec_expr *literal(struct gen *g) {
    static const char *const texts[] = {"0", "1", "2", "3", "0.5", "4", "1.0", "0.25"};
    return make(g, SPEC_ATOM, PICK(g, texts), 0, NULL, NULL, NULL);
}

/* A name in scope of a type, or NULL where there is none; of numbers also one whose type is open. */
static struct spec_expr *name_of(struct gen *g, enum spec_type type) {
    const struct scope_name *found[SPEC_MAX_PARAMS + SPEC_MAX_STMTS];
    int n = 0;
    for (int i = 0; i < g->n_scope; i++)
        if (g->scope[i].value->type == type || (type == SPEC_FLOAT && g->scope[i].value->type == SPEC_WEAK))
            found[n++] = &g->scope[i];
    if (!n) return NULL;
    const struct scope_name *name = found[below(g, n)];
    struct spec_expr *e = NEW(g->arena, struct spec_expr);
    *e = *name->value;
    e->shape = SPEC_ATOM, e->text = name->name, e->n_args = 0;
    return e;
}

static struct spec_expr *name_in_scope(struct gen *g) {
    struct spec_expr *e = name_of(g, SPEC_FLOAT);
    return e ? e : literal(g);
}

static struct spec_expr *whole(struct gen *g, int depth);
static struct spec_expr *reshaped(struct gen *g, struct spec_expr *e, int depth);

static struct spec_expr *number(struct gen *g, int depth);

/* One label of e in brackets, which is taken off e's labels by the caller's expression `out`. */
static const char *reduce_labels(struct gen *g, const struct spec_expr *e, struct spec_expr *out, bool one) {
    bool is_gone[SPEC_MAX_LABELS] = {0};
    const char *labels = "";
    int first = below(g, e->n_labels);
    for (int i = 0; i < e->n_labels; i++) {
        if (i != first && (one || chance(g, 70))) continue;
        is_gone[e->labels[i]] = true;
        labels = arena_printf(g->arena, "%s%s%s", labels, *labels ? "," : "", label_names[e->labels[i]]);
    }
    out->n_labels = 0;
    for (int i = 0; i < e->n_labels; i++)
        if (!is_gone[e->labels[i]]) out->labels[out->n_labels++] = e->labels[i];
    out->is_decided = e->is_decided;
    return labels;
}

static struct spec_expr *reduced(struct gen *g, const char *name, struct spec_expr *e, bool one) {
    if (e->n_labels == 0) return e;
    struct spec_expr *r = make(g, SPEC_CALL, name, 1, e, NULL, NULL);
    r->type = e->type;
    r->text = arena_printf(g->arena, "%s[%s]", name, reduce_labels(g, e, r, one));
    return r;
}

static struct spec_expr *condition(struct gen *g, int depth) {
    static const char *const compares[] = {" < ", " <= ", " > ", " >= ", " == ", " != "};
    if (depth > 0 && chance(g, 25)) {
        if (chance(g, 40)) return typed(make(g, SPEC_PREFIX, "!", 1, condition(g, depth - 1), NULL, NULL), SPEC_BOOL);
        struct spec_expr *a = condition(g, depth - 1);
        struct spec_expr *b = chance(g, 15) ? a : condition(g, depth - 1);
        return typed(make(g, SPEC_INFIX, chance(g, 50) ? " && " : " || ", 2, a, b, NULL), SPEC_BOOL);
    }
    if (chance(g, 8)) {
        struct spec_expr *name = name_of(g, SPEC_BOOL);
        if (name) return reshaped(g, name, depth);
    }
    if (depth > 0 && chance(g, 8)) {
        struct spec_expr *a = condition(g, depth - 1);
        return reduced(g, chance(g, 50) ? "any" : "all", a, false);
    }
    if (chance(g, 10)) {
        struct spec_expr *a = number(g, depth - 1);
        if (a->type == SPEC_FLOAT) return typed(make(g, SPEC_CALL, "isnan", 1, a, NULL, NULL), SPEC_BOOL);
    }
    bool of_wholes = chance(g, 20);
    struct spec_expr *a = chance(g, 8) ? literal(g) : of_wholes ? whole(g, depth - 1) : number(g, depth - 1);
    struct spec_expr *b = chance(g, 50) ? literal(g) : of_wholes ? whole(g, depth - 1) : number(g, depth - 1);
    return typed(make(g, SPEC_INFIX, PICK(g, compares), 2, a, b, NULL), SPEC_BOOL);
}

/* ---- integers, labels ---- */

static struct spec_expr *atom_of_label(struct gen *g, const char *fn, int label) {
    struct spec_expr *e = NEW(g->arena, struct spec_expr);
    *e = (struct spec_expr){.shape = SPEC_ATOM,
        .type = SPEC_INT,
        .text = arena_printf(g->arena, "%s(%s)", fn, label_names[label]),
        .tail = "",
        .is_decided = true};
    if (strcmp(fn, "idx") == 0) e->n_labels = 1, e->labels[0] = label;
    return e;
}

/* A label that some tensor has. */
static int some_label(struct gen *g) {
    int l;
    do l = below(g, g->spec->n_labels);
    while (!g->spec->is_bound[l]);
    return l;
}

static struct spec_expr *text_atom(struct gen *g, const char *text) {
    return make(g, SPEC_ATOM, text, 0, NULL, NULL, NULL);
}

static struct spec_expr *whole(struct gen *g, int depth) {
    static const char *const infixes[] = {" + ", " - ", " * ", " // ", " % ", " + "}, *const casts[] = {"i32", "i64",
                                                                                          "i8", "u8", "i16"};
    static const char *const wholes[] = {"0", "1", "2", "3", "5"};
    struct spec_expr *name = name_of(g, SPEC_INT), *a, *b;
    int kind = below(g, 100);
    if (depth <= 0) {
        if (name && chance(g, 60)) return name;
        return atom_of_label(g, chance(g, 75) ? "idx" : "size", some_label(g));
    }
    if (kind < 35) {
        a = whole(g, depth - 1);
        b = chance(g, 45) ? text_atom(g, PICK(g, wholes)) : whole(g, depth - 1);
        return make(g, SPEC_INFIX, PICK(g, infixes), 2, a, b, NULL);
    }
    if (kind < 45) {
        a = whole(g, depth - 1), b = whole(g, depth - 1);
        return make(g, SPEC_CALL, chance(g, 50) ? "max" : "min", 2, a, b, NULL);
    }
    if (kind < 52) return make(g, SPEC_CALL, PICK(g, casts), 1, whole(g, depth - 1), NULL, NULL);
    if (kind < 58) {
        a = number(g, depth - 1);
        return a->type == SPEC_FLOAT ? typed(make(g, SPEC_CALL, PICK(g, casts), 1, a, NULL, NULL), SPEC_INT)
                                     : whole(g, depth - 1);
    }
    if (kind < 66)
        return reduced(g,
            chance(g, 50)   ? "sum"
            : chance(g, 50) ? "max"
            : chance(g, 50) ? "min"
                            : "prod",
            whole(g, depth - 1), false);
    if (kind < 72) {
        a = chance(g, 50) ? whole(g, depth - 1) : number(g, depth - 1);
        return a->n_labels && a->type != SPEC_WEAK
                   ? typed(reduced(g, chance(g, 50) ? "argmax" : "argmin", a, true), SPEC_INT)
                   : whole(g, depth - 1);
    }
    if (kind < 78) {
        struct spec_expr *c = condition(g, depth - 1);
        a = whole(g, depth - 1), b = whole(g, depth - 1);
        return typed(make(g, SPEC_CALL, "where", 3, c, a, b), SPEC_INT);
    }
    if (kind < 82) return make(g, SPEC_PREFIX, "-", 1, whole(g, depth - 1), NULL, NULL);
    return reshaped(g, whole(g, depth - 1), depth);
}

/* e with the labels of `from`, the first in its place, replaced by those of `to`. */
static struct spec_expr *relabelled(
    struct gen *g, struct spec_expr *e, const int *from, int n_from, const int *to, int n_to, const char *text) {
    struct spec_expr *r = make(g, SPEC_RELABEL, text, 1, e, NULL, NULL);
    bool is_put = false;
    r->type = e->type;
    r->n_labels = 0;
    for (int i = 0; i < e->n_labels; i++) {
        bool is_from = e->labels[i] == from[0] || (n_from > 1 && e->labels[i] == from[1]);
        if (!is_from) r->labels[r->n_labels++] = e->labels[i];
        for (int j = 0; is_from && !is_put && j < n_to; j++) r->labels[r->n_labels++] = to[j];
        is_put |= is_from;
    }
    r->is_decided = e->is_decided || r->n_labels <= 1;
    return r;
}

static struct spec_expr *renamed(struct gen *g, struct spec_expr *e) {
    struct spec *s = g->spec;
    int whole_label = s->n_labels - 1, a = e->labels[below(g, e->n_labels)];
    if (s->parts[0] >= 0 && !s->is_joined && chance(g, 60)) {
        const char *m = label_names[s->parts[0]], *n = label_names[s->parts[1]], *p = label_names[whole_label];
        bool has_m = has_label(e, s->parts[0]), has_n = has_label(e, s->parts[1]), has_p = has_label(e, whole_label);
        if (has_m && has_n && !has_p)
            return relabelled(g, e, s->parts, 2, &whole_label, 1, arena_printf(g->arena, "{(%s,%s)->%s}", m, n, p));
        if (!has_m && !has_n && has_p)
            return relabelled(g, e, &whole_label, 1, s->parts, 2, arena_printf(g->arena, "{%s->(%s,%s)}", p, m, n));
    }
    for (int b = 0; b < s->n_labels; b++)
        if (s->is_bound[b] && !has_label(e, b) && s->extents[a] == s->extents[b] && !(s->is_joined && b == whole_label))
            return relabelled(g, e, &a, 1, &b, 1, arena_printf(g->arena, "{%s->%s}", label_names[a], label_names[b]));
    return e;
}

/* A position: affine over one or two labels, or any integer. */
static struct spec_expr *position(struct gen *g, int label, int depth) {
    struct spec_expr *i = atom_of_label(g, "idx", chance(g, 60) ? label : some_label(g)),
                     *j = atom_of_label(g, "idx", some_label(g));
    switch (below(g, 9)) {
    case 0: return make(g, SPEC_INFIX, " + ", 2, i, text_atom(g, "1"), NULL);
    case 1: return make(g, SPEC_INFIX, " - ", 2, i, text_atom(g, "1"), NULL);
    case 2:
        return make(g, SPEC_INFIX, " - ", 2,
            make(g, SPEC_INFIX, " - ", 2, atom_of_label(g, "size", label), text_atom(g, "1"), NULL), i, NULL);
    case 3: return make(g, SPEC_INFIX, " + ", 2, make(g, SPEC_INFIX, " * ", 2, i, text_atom(g, "2"), NULL), j, NULL);
    case 4: return make(g, SPEC_INFIX, " - ", 2, make(g, SPEC_INFIX, " + ", 2, i, j, NULL), text_atom(g, "1"), NULL);
    case 5: return make(g, SPEC_INFIX, chance(g, 50) ? " // " : " % ", 2, i, text_atom(g, "2"), NULL);
    case 6:
        return make(g, SPEC_INFIX, " + ", 2,
            make(g, SPEC_INFIX, " * ", 2, i, atom_of_label(g, "size", j->labels[0]), NULL), j, NULL);
    case 7: return typed(text_atom(g, chance(g, 50) ? "0" : "1"), SPEC_INT);
    default: return whole(g, depth - 1);
    }
}

static struct spec_expr *read_at(struct gen *g, struct spec_expr *e, int depth) {
    struct spec_expr *r = NEW(g->arena, struct spec_expr), *order[SPEC_MAX_LABELS] = {0};
    int n = 1 + (e->n_labels > 1 && chance(g, 25)), first = below(g, e->n_labels);
    *r = (struct spec_expr){.shape = SPEC_ACCESS,
        .type = e->type,
        .text = label_names[e->labels[first]],
        .tail = "",
        .n_args = n + 2,
        .args = {e}};
    r->is_decided = e->is_decided;
    for (int i = 0; i < n; i++) {
        int at = (first + i) % e->n_labels;
        if (i) r->tail = label_names[e->labels[at]];
        r->args[1 + i] = order[at] = position(g, e->labels[at], depth);
        r->is_decided = r->is_decided && order[at]->is_decided;
    }
    static const char *const fills[] = {"0", "1", "2", "-1"};
    r->args[1 + n] = e->type == SPEC_BOOL                     ? text_atom(g, chance(g, 50) ? "true" : "false")
                     : e->type == SPEC_FLOAT && chance(g, 20) ? number(g, depth - 1)
                                                              : text_atom(g, PICK(g, fills));
    if (r->args[1 + n]->type != SPEC_FLOAT && r->args[1 + n]->type != SPEC_WEAK) r->args[1 + n] = text_atom(g, "0");
    for (int i = 0; i < e->n_labels; i++)
        for (int j = 0; j < (order[i] ? order[i]->n_labels : 1); j++) {
            int label = order[i] ? order[i]->labels[j] : e->labels[i];
            if (!has_label(r, label)) r->labels[r->n_labels++] = label;
        }
    const struct spec_expr *fill = r->args[1 + n];
    for (int j = 0; j < fill->n_labels; j++)
        if (!has_label(r, fill->labels[j])) r->labels[r->n_labels++] = fill->labels[j];
    r->is_decided = r->is_decided || r->n_labels <= 1;
    return r;
}

static struct spec_expr *scanned(struct gen *g, struct spec_expr *e) {
    struct spec_expr *r = make(g, SPEC_CALL, "", 1, e, NULL, NULL);
    int kind = below(g, 100), label = e->labels[below(g, e->n_labels)];
    bool is_recurrence = kind < 20 && e->type == SPEC_FLOAT;
    const char *name = is_recurrence                  ? "recur"
                       : kind < 75                    ? "cumsum"
                       : kind < 85 || g->is_smooth    ? "cumprod"
                       : kind < 95                    ? "cummax"
                                                      : "cummin";
    if (is_recurrence) {
        r->args[1] = e;
        r->args[0] = text_atom(g, kind < 10 ? "-1" : "0.5");
        r->n_args = 2;
    }
    r->text = arena_printf(g->arena, "%s[%s]", name, label_names[label]);
    r->n_labels = e->n_labels, r->is_decided = e->is_decided;
    memcpy(r->labels, e->labels, sizeof r->labels);
    return r;
}

/* e renamed, read at other places, or as its running sum; as it is where it has no label. */
static struct spec_expr *reshaped(struct gen *g, struct spec_expr *e, int depth) {
    int kind = below(g, 100);
    if (e->n_labels == 0 || e->type == SPEC_WEAK || depth < 0) return e;
    if (kind < 40) return renamed(g, e);
    if (kind < 88 || e->type == SPEC_BOOL) return read_at(g, e, depth);
    return scanned(g, e);
}

/* a, then b, along the label made of two; NULL where there is none. */
static struct spec_expr *joined(struct gen *g, int depth) {
    struct spec *s = g->spec;
    int p = s->n_labels - 1;
    if (!s->is_joined) return NULL;
    struct spec_expr *parts[2], *r;
    for (int i = 0; i < 2; i++) {
        parts[i] = number(g, depth - 1);
        if (parts[i]->type != SPEC_FLOAT || !has_label(parts[i], s->parts[i]) || has_label(parts[i], p)) return NULL;
        parts[i] = relabelled(g, parts[i], &s->parts[i], 1, &p, 1,
            arena_printf(g->arena, "{%s->%s}", label_names[s->parts[i]], label_names[p]));
    }
    r = make(g, SPEC_CALL, arena_printf(g->arena, "concat[%s]", label_names[p]), 2, parts[0], parts[1], NULL);
    r->n_labels = parts[0]->n_labels, r->is_decided = parts[0]->is_decided;
    memcpy(r->labels, parts[0]->labels, sizeof r->labels);
    for (int i = 0; i < parts[1]->n_labels; i++)
        if (!has_label(r, parts[1]->labels[i])) r->labels[r->n_labels++] = parts[1]->labels[i];
    r->is_decided = r->is_decided || r->n_labels <= 1;
    return r;
}

/* a @ b where that is allowed, a @[..] b where they share labels, else a product. */
static struct spec_expr *contract(struct gen *g, int depth) {
    struct spec_expr *a = number(g, depth - 1), *b = NULL;
    bool is_shared[SPEC_MAX_LABELS] = {0};
    int n_shared = 0;
    for (int attempt = 0; attempt < 6 && !n_shared; attempt++) {
        b = attempt < 3 ? name_in_scope(g) : number(g, depth - 1);
        for (int i = 0; i < a->n_labels; i++) n_shared += is_shared[a->labels[i]] = has_label(b, a->labels[i]);
    }
    struct spec_expr *e = make(g, SPEC_INFIX, " * ", 2, a, b, NULL);
    if (!n_shared) return e;
    bool is_summed[SPEC_MAX_LABELS] = {0};
    int last = a->labels[a->n_labels - 1];
    if (a->is_decided && is_shared[last] && chance(g, 60)) {
        is_summed[last] = true;
        e->text = " @ ";
    } else {
        const char *labels = "";
        for (int i = 0; i < g->spec->n_labels; i++) {
            if (!is_shared[i] || (*labels && chance(g, 60))) continue;
            is_summed[i] = true;
            labels = arena_printf(g->arena, "%s%s%s", labels, *labels ? "," : "", label_names[i]);
        }
        e->text = arena_printf(g->arena, " @[%s] ", labels);
    }
    e->is_decided = a->is_decided && b->is_decided;
    e->n_labels = 0;
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < (side ? b : a)->n_labels; i++) {
            int label = (side ? b : a)->labels[i];
            if (!is_summed[label] && !has_label(e, label)) e->labels[e->n_labels++] = label;
        }
    return e;
}

static struct spec_expr *over(
    struct gen *g, struct spec_expr *product, const struct spec_expr *a, const struct spec_expr *b, int label) {
    product->text = arena_printf(g->arena, " @[%s] ", label_names[label]);
    product->is_decided = a->is_decided && b->is_decided;
    product->n_labels = 0;
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < (side ? b : a)->n_labels; i++) {
            int l = (side ? b : a)->labels[i];
            if (l != label && !has_label(product, l)) product->labels[product->n_labels++] = l;
        }
    return product;
}

/* Two contractions with the same labels, one perhaps scaled, added. */
static struct spec_expr *two_contractions(struct gen *g) {
    struct spec_expr *a = name_in_scope(g), *b = name_in_scope(g);
    int shared = -1;
    for (int i = 0; i < a->n_labels; i++)
        if (has_label(b, a->labels[i])) shared = a->labels[i];
    if (shared < 0) return a;
    struct spec_expr *c = make(g, SPEC_CALL, "relu", 1, a, NULL, NULL),
                     *d = make(g, SPEC_CALL, "abs", 1, b, NULL, NULL);
    struct spec_expr *first = over(g, make(g, SPEC_INFIX, "", 2, a, b, NULL), a, b, shared);
    struct spec_expr *second = chance(g, 50) ? over(g, make(g, SPEC_INFIX, "", 2, c, d, NULL), c, d, shared)
                                             : over(g, make(g, SPEC_INFIX, "", 2, d, c, NULL), d, c, shared);
    if (chance(g, 30)) second = make(g, SPEC_INFIX, " * ", 2, text_atom(g, "0.5"), second, NULL);
    return make(g, SPEC_INFIX, " + ", 2, first, second, NULL);
}

static struct spec_expr *infix(struct gen *g, int depth) {
    static const char *const texts[] = {" + ", " - ", " * ", " + ", " - ", " * ", " / "};
    const char *text = g->is_smooth ? texts[below(g, 6)] : PICK(g, texts);
    struct spec_expr *a = number(g, depth - 1), *b;
    if (strcmp(text, " / ") == 0) {
        static const char *const divisors[] = {"2.0", "4.0", "1.0", "0.5", "3.0"};
        b = make(g, SPEC_ATOM, PICK(g, divisors), 0, NULL, NULL, NULL); /* two whole numbers do not divide */
        if (*b->text == '3') g->spec->is_exact = false;
    } else b = chance(g, 12) ? a : chance(g, 25) ? literal(g) : number(g, depth - 1);
    return chance(g, 8) && strcmp(text, " / ") != 0 ? make(g, SPEC_INFIX, text, 2, b, a, NULL)
                                                    : make(g, SPEC_INFIX, text, 2, a, b, NULL);
}

static struct spec_expr *exact_call(struct gen *g, int depth) {
    static const struct {
        const char *text, *tail;
        int n_args;
    } calls[] = {
        {"max", "", 2},
        {"min", "", 2},
        {"relu", "", 1},
        {"abs", "", 1},
        {"floor", "", 1},
        {"ceil", "", 1},
        {"round", "", 1},
        {"sign", "", 1},
        {"fma", "", 3},
        {"clamp", ", -1, 3", 1},
        {"relu6", "", 1},
        {"hardtanh", "", 1},
        {"hardtanh", ", -2, 2", 1},
        {"leaky_relu", ", slope: 0.5", 1},
        {"max", "", 2},
        {"relu", "", 1},
        {"max", ", 0", 1},
        {"min", ", 2", 1},
    };
    int i = below(g, (int)(sizeof calls / sizeof *calls));
    while (g->is_smooth && strchr("fcsrl", *calls[i].text) && strcmp(calls[i].text, "relu") != 0 &&
           strcmp(calls[i].text, "clamp") != 0)
        i = below(g, 3);
    struct spec_expr *args[3] = {0};
    for (int a = 0; a < calls[i].n_args; a++) args[a] = a && chance(g, 15) ? args[0] : number(g, depth - 1);
    struct spec_expr *e = make(g, SPEC_CALL, calls[i].text, calls[i].n_args, args[0], args[1], args[2]);
    e->tail = calls[i].tail;
    return e;
}

static struct spec_expr *rounding_call(struct gen *g, int depth) {
    static const char *const texts[] = {"gelu", "exp", "tanh", "sigmoid", "silu", "sqrt", "log", "erf", "sin", "cos",
        "exp2", "log2", "rsqrt", "gelu_tanh", "elu", "selu", "softplus", "mish", "hardswish", "hardsigmoid",
        "leaky_relu"};
    g->spec->is_exact = false;
    static const char *const smooth[] = {"exp", "tanh", "sigmoid", "gelu", "exp", "erf", "sin"};
    if (g->is_smooth) return make(g, SPEC_CALL, PICK(g, smooth), 1, number(g, depth - 1), NULL, NULL);
    struct spec_expr *a = number(g, depth - 1); /* not within a call: C leaves the order of arguments open */
    if (chance(g, 5)) return make(g, SPEC_CALL, "pow", 2, a, literal(g), NULL);
    return make(g, SPEC_CALL, PICK(g, texts), 1, a, NULL, NULL);
}

static struct spec_expr *number(struct gen *g, int depth) {
    int kind = below(g, 141);
    if (depth <= 0) return chance(g, 85) ? name_in_scope(g) : literal(g);
    if (g->is_smooth && (kind >= 124 || (kind >= 85 && kind < 97))) kind = 98;
    if (kind >= 138) return reduced(g, "sum", contract(g, 1), false);
    if (kind >= 135) return two_contractions(g);
    if (kind >= 100) {
        struct spec_expr *e = number(g, depth - 1), *both = kind >= 133 ? joined(g, depth) : NULL;
        if (both) return both;
        if (kind < 112) return reshaped(g, e, depth);
        if (kind < 124 && e->type == SPEC_FLOAT)
            return reduced(g, chance(g, 60) ? "sum" : chance(g, 45) ? "max" : chance(g, 50) ? "min" : "prod", e, false);
        return typed(make(g, SPEC_CALL, "f32", 1, whole(g, depth - 1), NULL, NULL), SPEC_FLOAT);
    }
    if (kind < 12) return name_in_scope(g);
    if (kind < 15) return literal(g);
    if (kind < 42) return infix(g, depth);
    if (kind < 60) return contract(g, depth);
    if (kind < 80) return exact_call(g, depth);
    if (kind < 85) {
        struct spec_expr *a = number(g, depth - 1);
        return chance(g, 30) ? make(g, SPEC_PREFIX, "-", 1, make(g, SPEC_PREFIX, "-", 1, a, NULL, NULL), NULL, NULL)
                             : make(g, SPEC_PREFIX, "-", 1, a, NULL, NULL);
    }
    if (kind < 90) {
        static const char *const casts[] = {"f16", "bf16", "f32", "f16", "bf16"};
        const char *text = PICK(g, casts);
        struct spec_expr *e = make(g, SPEC_CALL, text, 1, number(g, depth - 1), NULL, NULL);
        return chance(g, 20) ? make(g, SPEC_CALL, text, 1, e, NULL, NULL) : e;
    }
    if (kind < 97) {
        struct spec_expr *c = condition(g, depth - 1), *a = number(g, depth - 1),
                         *b = chance(g, 15) ? a : number(g, depth - 1);
        if (chance(g, 30)) return make(g, SPEC_CHOICE, "", 3, c, a, b);
        return make(g, SPEC_CALL, "where", 3, c, a, b);
    }
    return rounding_call(g, depth);
}

/* ---- the kernel ---- */

static void shuffle(struct gen *g, int *labels, int n) {
    for (int i = n - 1; i > 0; i--) {
        int j = below(g, i + 1), t = labels[i];
        labels[i] = labels[j];
        labels[j] = t;
    }
}

static void bind(struct gen *g, const char *name, const struct spec_expr *value) {
    for (int i = 0; i < g->n_scope; i++)
        if (strcmp(g->scope[i].name, name) == 0) {
            g->scope[i].value = value;
            return;
        }
    g->scope[g->n_scope++] = (struct scope_name){name, value};
}

static enum spec_type type_of(const char *dtype) {
    return *dtype == 'b' && dtype[1] == 'o' ? SPEC_BOOL : *dtype == 'i' || *dtype == 'u' ? SPEC_INT : SPEC_FLOAT;
}

static void add_param(struct gen *g, bool is_scalar) {
    static const char *const dtypes[] = {"f32", "f16", "bf16", "f32", "f32", "f16", "i32", "i64", "u8", "bool"};
    struct spec *s = g->spec;
    int i = s->n_params++, all[SPEC_MAX_LABELS];
    struct spec_param *p = &s->params[i];
    struct spec_expr *e = NEW(g->arena, struct spec_expr);
    p->name = arena_printf(g->arena, is_scalar ? "s%d" : "x%d", i);
    p->dtype = is_scalar ? "f32" : i == 0 ? "f32" : PICK(g, dtypes);
    e->type = type_of(p->dtype);
    p->is_scalar = is_scalar;
    if (is_scalar && chance(g, 50)) p->value = "2";
    for (int l = 0; l < s->n_labels; l++) all[l] = l;
    shuffle(g, all, s->n_labels);
    p->n_labels = is_scalar ? 0 : i > 0 && chance(g, 6) ? 0 : 1 + below(g, s->n_labels < 4 ? s->n_labels : 4);
    memcpy(p->labels, all, sizeof all);
    e->n_labels = p->n_labels, e->is_decided = true;
    memcpy(e->labels, p->labels, sizeof e->labels);
    for (int l = 0; l < p->n_labels; l++) s->is_bound[p->labels[l]] = true;
    bind(g, p->name, e);
}

/* An output declared for a value: its labels in any order, sometimes one more. */
static const char *add_out(struct gen *g, const struct spec_expr *value) {
    static const char *const dtypes[] = {"f32", "f16", "bf16"};
    struct spec *s = g->spec;
    struct spec_param *o = &s->outs[s->n_outs];
    o->name = arena_printf(g->arena, "y%d", s->n_outs++);
    o->dtype = value->type == SPEC_INT ? "i64" : value->type == SPEC_BOOL ? "bool" : PICK(g, dtypes);
    o->n_labels = value->n_labels;
    memcpy(o->labels, value->labels, sizeof o->labels);
    for (int p = 0; p < s->n_params && chance(g, 15); p++)
        for (int l = 0; l < s->params[p].n_labels; l++)
            if (!has_label(value, s->params[p].labels[l])) {
                o->labels[o->n_labels++] = s->params[p].labels[l];
                p = s->n_params - 1;
                break;
            }
    if (chance(g, 60)) shuffle(g, o->labels, o->n_labels);
    return o->name;
}

static void add_stmt(struct gen *g, bool is_output) {
    struct spec *s = g->spec;
    int depth = 1 + below(g, 4), kind = below(g, 100);
    struct spec_expr *e = kind < 80 || g->is_smooth ? number(g, depth)
                          : kind < 95               ? whole(g, depth)
                                                    : condition(g, depth);
    int n_temps = 0;
    for (int i = 0; i < g->n_scope; i++) n_temps += g->scope[i].name[0] == 'h';
    const char *name = is_output
                           ? add_out(g, e)
                           : arena_printf(g->arena, "h%d", n_temps && chance(g, 30) ? below(g, n_temps) : n_temps);
    s->stmts[s->n_stmts++] = (struct spec_stmt){name, e};
    bind(g, name, e);
}

struct spec *spec_generate(struct arena *a, uint64_t seed) {
    struct gen g = {.arena = a, .random = (seed + 1) * 0x9E3779B97F4A7C15u, .spec = NEW(a, struct spec)};
    struct spec *s = g.spec;
    s->is_exact = true;
    g.is_smooth = chance(&g, 15);
    s->names = label_names;
    s->n_labels = 1 + below(&g, N_LABELS);
    for (int i = 0; i < s->n_labels; i++) {
        s->extents[i] = chance(&g, 4) ? 0 : 1 + below(&g, 4);
        s->is_fixed[i] = chance(&g, 20) && s->extents[i] > 0;
        if (i && chance(&g, 40)) s->extents[i] = s->extents[i - 1];
    }
    s->parts[0] = s->parts[1] = -1;
    if (s->n_labels >= 3 && chance(&g, 50)) {
        int last = s->n_labels - 1;
        s->is_joined = chance(&g, 35);
        s->parts[0] = below(&g, last), s->parts[1] = (s->parts[0] + 1 + below(&g, last - 1)) % last;
        int m = s->extents[s->parts[0]], n = s->extents[s->parts[1]];
        s->extents[last] = s->is_joined ? m + n : m * n;
    }
    int n_tensors = 1 + below(&g, 4), n_scalars = chance(&g, 35) ? 1 : 0, n_outs = 1 + below(&g, 3),
        n_temps = below(&g, 5);
    for (int i = 0; i < n_tensors; i++) add_param(&g, false);
    for (int i = 0; i < n_scalars; i++) add_param(&g, true);
    if (s->parts[0] >= 0 && !(s->is_bound[s->parts[0]] && s->is_bound[s->parts[1]] && s->is_bound[s->n_labels - 1]))
        s->parts[0] = -1, s->is_joined = false;
    while (n_outs + n_temps > 0) {
        bool is_output = n_temps == 0 || (n_outs > 1 && chance(&g, 30));
        add_stmt(&g, is_output);
        *(is_output ? &n_outs : &n_temps) -= 1;
    }
    if (chance(&g, 12)) s->attributes = "precision: ieee";
    spec_mark_constants(s, seed);
    return s;
}

void spec_mark_constants(struct spec *s, uint64_t seed) {
    uint64_t random = (seed + 1) * 0xA24BAED4963EE407u;
    for (int i = 0; i < 8; i++) random_next(&random);
    if (random_below(&random, 2)) return;
    for (int i = 0; i < s->n_params; i++)
        s->params[i].is_const = random_below(&random, 5) < 3 && !s->params[i].is_scalar && !s->params[i].is_inout;
}

/* ---- text ---- */

static void print_expr(struct buf *out, const struct spec_expr *e);

static void print_operand(struct buf *out, const struct spec_expr *e) {
    bool is_open = e->shape != SPEC_ATOM && e->shape != SPEC_CALL;
    buf_puts(out, is_open ? "(" : "");
    print_expr(out, e);
    buf_puts(out, is_open ? ")" : "");
}

static void print_expr(struct buf *out, const struct spec_expr *e) {
    switch (e->shape) {
    case SPEC_ATOM: buf_puts(out, e->text); break;
    case SPEC_PREFIX:
        buf_puts(out, e->text);
        print_operand(out, e->args[0]);
        break;
    case SPEC_INFIX:
        print_operand(out, e->args[0]);
        buf_puts(out, e->text);
        print_operand(out, e->args[1]);
        break;
    case SPEC_CALL:
        for (int i = 0; i < e->n_args; i++) {
            buf_printf(out, i ? ", " : "%s(", e->text);
            print_expr(out, e->args[i]);
        }
        buf_printf(out, "%s)", e->tail);
        break;
    case SPEC_RELABEL:
        print_operand(out, e->args[0]);
        buf_puts(out, e->text);
        break;
    case SPEC_ACCESS:
        print_operand(out, e->args[0]);
        for (int i = 1; i < e->n_args - 1; i++) {
            buf_printf(out, i == 1 ? "[%s: " : ", %s: ", i == 1 ? e->text : e->tail);
            print_expr(out, e->args[i]);
        }
        buf_puts(out, "] ?? ");
        print_operand(out, e->args[e->n_args - 1]);
        break;
    case SPEC_CHOICE:
        print_operand(out, e->args[0]);
        buf_puts(out, " ? ");
        print_operand(out, e->args[1]);
        buf_puts(out, " : ");
        print_operand(out, e->args[2]);
        break;
    }
}

static bool is_assigned(const struct spec *s, const char *name) {
    for (int i = 0; i < s->n_stmts; i++)
        if (strcmp(s->stmts[i].name, name) == 0) return true;
    return false;
}

/* The labels that stand in the declarations. */
static unsigned declared(const struct spec *s) {
    unsigned set = 0;
    for (int i = 0; i < s->n_params; i++)
        for (int j = 0; j < s->params[i].n_labels; j++) set |= 1u << s->params[i].labels[j];
    for (int i = 0; i < s->n_outs; i++)
        for (int j = 0; j < s->outs[i].n_labels && is_assigned(s, s->outs[i].name); j++)
            set |= 1u << s->outs[i].labels[j];
    return set;
}

/* A fixed extent, or what it follows from, is written where its label first stands. */
static void print_param(struct buf *out, const struct spec *s, const struct spec_param *p, bool *is_written) {
    buf_printf(out, "%s: %s%s", p->name, p->is_inout ? "inout " : p->is_const ? "const " : "", p->dtype);
    if (!p->is_scalar) buf_putc(out, '[');
    for (int i = 0; i < p->n_labels; i++) {
        int l = p->labels[i];
        buf_printf(out, "%s%s", i ? "," : "", s->names[l]);
        if (s->rules[l].equation && !is_written[l] && !(s->rules[l].needs & ~declared(s)))
            buf_printf(out, "=%s", s->rules[l].equation);
        else if (s->is_fixed[l] && !is_written[l]) buf_printf(out, "=%d", s->extents[l]);
        is_written[l] = true;
    }
    if (!p->is_scalar) buf_putc(out, ']');
    if (p->suffix) buf_puts(out, p->suffix);
    if (p->value) buf_printf(out, " = %s", p->value);
}

void spec_print(struct buf *out, const struct spec *s) {
    bool is_written[SPEC_MAX_LABELS] = {0};
    int n = 0;
    buf_puts(out, "kernel g");
    for (int l = 0; l < s->n_labels; l++) {
        const struct spec_label *r = &s->rules[l];
        if (r->axis && !(declared(s) >> l & 1) && !(r->axis_needs & ~declared(s)))
            buf_printf(out, "%s%s=%s", n++ ? "," : "[", s->names[l], r->axis);
    }
    buf_puts(out, n ? "](" : "(");
    n = 0;
    for (int i = 0; i < s->n_params; i++) {
        buf_puts(out, i ? ", " : "");
        print_param(out, s, &s->params[i], is_written);
    }
    buf_puts(out, ")");
    for (int i = 0; i < s->n_outs; i++) {
        if (!is_assigned(s, s->outs[i].name)) continue; /* dropped by the shrinker */
        buf_puts(out, n++ ? ", " : " -> (");
        print_param(out, s, &s->outs[i], is_written);
    }
    buf_puts(out, n ? ")" : "");
    if (s->attributes) buf_printf(out, " with { %s }", s->attributes);
    buf_puts(out, " {\n");
    for (int i = 0; i < s->n_stmts; i++) {
        buf_printf(out, "  %s = ", s->stmts[i].name);
        print_expr(out, s->stmts[i].value);
        buf_putc(out, '\n');
    }
    buf_puts(out, "}\n");
}

/* ---- shrinking ---- */

struct shrinker {
    struct arena *arena;
    bool (*fails)(void *user, const struct spec *s);
    void *user;
    struct spec *best;
};

static bool take(struct shrinker *k, const struct spec *candidate) {
    if (!k->fails(k->user, candidate)) return false;
    *k->best = *candidate;
    return true;
}

/* The expression with its `target`-th part, counted from the root, replaced by that part's operand `arg`, or by 1. */
static struct spec_expr *replaced(struct shrinker *k, const struct spec_expr *e, int *target, int arg, bool *is_done) {
    static const struct spec_expr one = {.shape = SPEC_ATOM, .text = "1", .tail = ""};
    struct spec_expr *copy = NEW(k->arena, struct spec_expr);
    *copy = *e;
    if ((*target)-- == 0) {
        *is_done = arg < e->n_args || (arg == 3 && strcmp(e->text, "1") != 0);
        if (*is_done) *copy = arg < e->n_args ? *e->args[arg] : one;
        return copy;
    }
    for (int i = 0; i < e->n_args && *target >= 0; i++) copy->args[i] = replaced(k, e->args[i], target, arg, is_done);
    return copy;
}

/* The expression with `value` for every use of `name`. */
static struct spec_expr *substituted(
    struct shrinker *k, struct spec_expr *e, const char *name, struct spec_expr *value) {
    if (e->shape == SPEC_ATOM) return strcmp(e->text, name) == 0 ? value : e;
    struct spec_expr *copy = NEW(k->arena, struct spec_expr);
    *copy = *e;
    for (int i = 0; i < e->n_args; i++) copy->args[i] = substituted(k, e->args[i], name, value);
    return copy;
}

/* Drops statement i; those after it say what it said, until its name is bound again. */
static struct spec without(struct shrinker *k, const struct spec *s, int i) {
    struct spec less = *s;
    const struct spec_stmt gone = s->stmts[i];
    bool is_bound = true;
    for (int j = i + 1; j < s->n_stmts; j++) {
        less.stmts[j - 1] = s->stmts[j];
        if (is_bound) less.stmts[j - 1].value = substituted(k, s->stmts[j].value, gone.name, gone.value);
        is_bound &= strcmp(s->stmts[j].name, gone.name) != 0;
    }
    less.n_stmts--;
    return less;
}

static bool shrink_once(struct shrinker *k) {
    struct spec s = *k->best;
    for (int i = 0; i < s.n_stmts; i++) {
        struct spec less = without(k, &s, i);
        if (take(k, &less)) return true;
    }
    for (int i = 0; i < s.n_params; i++) {
        struct spec less = s;
        memmove(&less.params[i], &less.params[i + 1], (size_t)(s.n_params - i - 1) * sizeof *less.params);
        less.n_params--;
        if (take(k, &less)) return true;
    }
    for (int i = 0; i < s.n_stmts; i++)
        for (int part = 0, left = -1; left < 0; part++)
            for (int arg = 0; arg < 4; arg++) {
                struct spec less = s;
                bool is_done = false;
                left = part;
                less.stmts[i].value = replaced(k, s.stmts[i].value, &left, arg, &is_done);
                if (is_done && take(k, &less)) return true;
            }
    return false;
}

struct spec *spec_shrink(
    struct arena *a, const struct spec *s, bool (*fails)(void *user, const struct spec *s), void *user) {
    struct shrinker k = {a, fails, user, NEW(a, struct spec)};
    *k.best = *s;
    while (shrink_once(&k)) {}
    return k.best;
}
