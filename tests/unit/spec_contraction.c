/* Specs around contractions: what is computed of their operands as they are loaded, what is made of their results,
 * several of them in one kernel.
 *
 * In: a seed. Out: a kernel as spec_gen.h has it. Labels are a fixed list; those that follow from others state how,
 * once as text and once as a rule. Every expression knows its set of labels alone, as all contractions and accesses
 * name theirs. Invariant: every label that is used is bound by a tensor. */
#include "spec_gen.h"

#include <string.h>

enum label { /* names in the order of label_names */
    L_B, L_M, L_N, L_K, /* batch, the two sides of a result, what is summed */
    L_R, L_P,           /* summed by a second contraction, columns of a later one */
    L_G,                /* groups along K */
    L_F,                /* two Ns */
    L_J, L_L,           /* the two parts of K */
    L_C, L_U,           /* channels and window, summed together */
    L_D,                /* K once more: the other factor of an outer product */
    L_V,                /* rows of a table */
    L_X,                /* M once more, for renaming */
    L_T, L_E, L_W, L_Z, /* groups of a result, elements of one, of a group along K, a pair */
    L_H,                /* summed beside K */
    N_LABELS,
};
static const char *const label_names[N_LABELS] = {
    "B", "M", "N", "K", "R", "P", "G", "F", "J", "L", "C", "U", "D", "V", "X", "T", "E", "W", "Z", "H"};

enum arithmetic {
    A_NARROW,
    A_FLOAT,
    A_DOUBLE,
    A_WHOLE,
    A_MIXED
}; /* 16-bit and f8; f32; f64; integers; whatever meets */

struct maker {
    struct arena *arena;
    uint64_t random;
    struct spec *spec;
    enum arithmetic arithmetic;
    const char *dtype;  /* of most tensors */
    bool has_batch;
    int n_names;        /* given to statements */
    bool has_group, has_parts; /* K is groups; K is two parts */
    int run;            /* elements of a group of a result */
};

typedef struct spec_expr *expr;

static int below(struct maker *g, int n) { return random_below(&g->random, n); }
static bool chance(struct maker *g, int percent) { return below(g, 100) < percent; }
#define PICK(g, array) ((array)[below((g), (int)(sizeof(array) / sizeof *(array)))])

/* ---- sets of labels, expressions ---- */

static unsigned labels_of(const struct spec_expr *e) {
    unsigned set = 0;
    for (int i = 0; i < e->n_labels; i++) set |= 1u << e->labels[i];
    return set;
}

static void set_labels(struct spec_expr *e, unsigned set) {
    e->n_labels = 0;
    for (int l = 0; l < N_LABELS; l++)
        if (set >> l & 1) e->labels[e->n_labels++] = l;
}

static expr make(struct maker *g, enum spec_shape shape, const char *text, int n_args, expr a, expr b, expr c) {
    expr e = NEW(g->arena, struct spec_expr);
    unsigned set = 0;
    *e = (struct spec_expr){.shape = shape, .text = text, .tail = "", .n_args = n_args, .args = {a, b, c}};
    for (int i = 0; i < n_args; i++) {
        set |= labels_of(e->args[i]);
        if (e->args[i]->type == SPEC_FLOAT || e->type == SPEC_WEAK) e->type = e->args[i]->type;
    }
    set_labels(e, set);
    return e;
}

static expr atom(struct maker *g, const char *text) { return make(g, SPEC_ATOM, text, 0, NULL, NULL, NULL); }
static expr infix(struct maker *g, expr a, const char *op, expr b) { return make(g, SPEC_INFIX, op, 2, a, b, NULL); }
static expr call(struct maker *g, const char *fn, expr a) { return make(g, SPEC_CALL, fn, 1, a, NULL, NULL); }

/* Either order. */
static expr commuted(struct maker *g, expr a, const char *op, expr b) {
    return chance(g, 50) ? infix(g, a, op, b) : infix(g, b, op, a);
}

static expr idx(struct maker *g, int label) {
    expr e = atom(g, arena_printf(g->arena, "idx(%s)", label_names[label]));
    e->type = SPEC_INT;
    set_labels(e, 1u << label);
    return e;
}

static expr choice(struct maker *g, expr c, expr a, expr b) {
    expr e = make(g, SPEC_CALL, "where", 3, c, a, b);
    e->type = a->type == SPEC_WEAK ? b->type : a->type;
    return e;
}

static expr relabelled(struct maker *g, expr e, unsigned from, unsigned to, const char *text) {
    expr r = make(g, SPEC_RELABEL, text, 1, e, NULL, NULL);
    set_labels(r, (labels_of(e) & ~from) | to);
    return r;
}

/* e read along `label` at a position, 0 outside. */
static expr read_at(struct maker *g, expr e, int label, expr position) {
    expr r = make(g, SPEC_ACCESS, label_names[label], 3, e, position, atom(g, "0"));
    r->type = e->type;
    set_labels(r, (labels_of(e) & ~(1u << label)) | labels_of(position));
    return r;
}

static const char *list_of(struct maker *g, unsigned set) {
    const char *text = "";
    for (int l = 0; l < N_LABELS; l++)
        if (set >> l & 1) text = arena_printf(g->arena, "%s%s%s", text, *text ? "," : "", label_names[l]);
    return text;
}

static void add_nest(struct maker *g, unsigned set) {
    struct spec *s = g->spec;
    if (s->n_nests < SPEC_MAX_NESTS) s->nests[s->n_nests++] = set;
}

/* fn[labels](e), those labels gone, or kept where `keeps`. */
static expr over(struct maker *g, const char *fn, unsigned set, expr e, bool keeps) {
    expr r = call(g, arena_printf(g->arena, "%s[%s]", fn, list_of(g, set)), e);
    add_nest(g, labels_of(e));
    if (!keeps) set_labels(r, labels_of(e) & ~set);
    return r;
}

static expr inexact(struct maker *g, expr e) {
    g->spec->is_exact = false;
    return e;
}

/* ---- parameters ---- */

static bool has_room(const struct maker *g) { return g->spec->n_params < SPEC_MAX_PARAMS - 8; }

static bool is_whole(const char *dtype) { return *dtype == 'i' || *dtype == 'u'; }

static struct spec_param *add_param(struct maker *g, const char *prefix, const char *dtype, unsigned set) {
    struct spec *s = g->spec;
    struct spec_param *p = &s->params[s->n_params];
    p->name = arena_printf(g->arena, "%s%d", prefix, s->n_params++);
    p->dtype = dtype;
    for (int l = 0; l < N_LABELS; l++)
        if (set >> l & 1) p->labels[p->n_labels++] = l, s->is_bound[l] = true;
    for (int i = p->n_labels - 1; i > 0; i--) {
        int j = below(g, i + 1), t = p->labels[i];
        p->labels[i] = p->labels[j], p->labels[j] = t;
    }
    return p;
}

static expr use(struct maker *g, const struct spec_param *p) {
    expr e = atom(g, p->name);
    e->type = strcmp(p->dtype, "bool") == 0 ? SPEC_BOOL : is_whole(p->dtype) ? SPEC_INT : SPEC_FLOAT;
    unsigned set = 0;
    for (int i = 0; i < p->n_labels; i++) set |= 1u << p->labels[i];
    set_labels(e, set);
    return e;
}

/* Nothing here draws twice among the arguments of one call: C leaves their order open. */
static expr tensor(struct maker *g, const char *dtype, unsigned set) { return use(g, add_param(g, "x", dtype, set)); }

static expr typed(expr e, enum spec_type type) {
    e->type = type;
    return e;
}

static expr scalar(struct maker *g) {
    if (g->arithmetic == A_WHOLE) return atom(g, chance(g, 50) ? "2" : "3");
    if (chance(g, 50)) return chance(g, 30) ? atom(g, "2") : typed(atom(g, chance(g, 50) ? "0.5" : "0.25"), SPEC_FLOAT);
    struct spec_param *p = add_param(g, "s", "f32", 0);
    p->is_scalar = true;
    if (chance(g, 50)) p->value = "2";
    return use(g, p);
}

static const char *side_dtype(struct maker *g) { /* of what stands beside a result or an operand */
    static const char *const floats[] = {"f32", "f16", "bf16", "f32"}, *const wholes[] = {"i32", "i8", "i32", "u8"};
    return g->arithmetic == A_WHOLE                     ? PICK(g, wholes)
           : g->arithmetic == A_DOUBLE && chance(g, 50) ? "f64"
           : chance(g, 40)                              ? g->dtype
                                                        : PICK(g, floats);
}

static const char *operand_dtype(struct maker *g) {
    static const char *const any[] = {"f16", "bf16", "f32", "i8", "u8", "f8e4m3", "f8e5m2", "i32"}, *const wholes[] = {
                                                                                                        "i8", "u8",
                                                                                                        "i8", "i16",
                                                                                                        "i32"};
    if (g->arithmetic == A_MIXED) return PICK(g, any);
    return g->arithmetic == A_WHOLE && chance(g, 40) ? PICK(g, wholes) : g->dtype;
}

static expr beside(struct maker *g, unsigned set) { return tensor(g, side_dtype(g), set); }

static void rule(struct maker *g, int label, enum spec_extent_kind kind, int a, int b, int n) {
    g->spec->rules[label].kind = kind;
    g->spec->rules[label].a = a, g->spec->rules[label].b = b, g->spec->rules[label].n = n;
}

static void equation(struct maker *g, int label, const char *text, unsigned needs) {
    g->spec->rules[label].equation = text;
    g->spec->rules[label].needs = needs;
}

/* What the label is where no tensor carries it and it follows from `from` alone. */
static void axis(struct maker *g, int label, const char *text, unsigned from) {
    g->spec->rules[label].axis = text;
    g->spec->rules[label].axis_needs = from;
}

/* F is two Ns. */
static void two_columns(struct maker *g) {
    equation(g, L_F, "2*N", 1u << L_N), axis(g, L_N, "F/2", 1u << L_F);
    rule(g, L_F, SPEC_TIMES, L_N, 0, 2);
}

/* ---- operands ---- */

static expr mask(struct maker *g, expr e, unsigned r, unsigned k) {
    static const char *const compares[] = {" <= ", " < ", " >= ", " != "};
    int row = r ? __builtin_ctz(r) : -1, column = __builtin_ctz(k);
    expr c;
    switch (below(g, 4)) {
    case 0:
        if (row >= 0) {
            c = infix(g, idx(g, column), PICK(g, compares), idx(g, row));
            break;
        } /* fallthrough */
    case 1:
        c = infix(g, infix(g, idx(g, column), " % ", atom(g, "3")), chance(g, 50) ? " == " : " != ", atom(g, "0"));
        break;
    case 2: c = tensor(g, "bool", chance(g, 50) ? r | k : chance(g, 50) && r ? r : k); break;
    default: c = infix(g, e, " > ", atom(g, "0")); break;
    }
    c->type = SPEC_BOOL;
    return chance(g, 70) ? choice(g, c, e, atom(g, "0")) : choice(g, c, atom(g, "1"), e);
}

static expr decorated_float(struct maker *g, expr e, unsigned r, unsigned k, bool one_k) {
    static const char *const casts[] = {"f16", "bf16", "f32", "f8e4m3", "f8e5m2"}, *const rounding[] = {"gelu",
                                                                                       "sigmoid", "tanh", "silu", "exp",
                                                                                       "gelu_tanh"};
    static const char *const norms[] = {"rmsnorm", "layernorm", "softmax"};
    switch (below(g, 12)) {
    case 0: return typed(call(g, PICK(g, casts), e), SPEC_FLOAT);
    case 1: return commuted(g, e, " * ", scalar(g));
    case 2: return commuted(g, e, " * ", beside(g, r ? r : k));
    case 3: return commuted(g, e, " * ", beside(g, k));
    case 4: return mask(g, e, r, k);
    case 5: return call(g, chance(g, 70) ? "relu" : "abs", e);
    case 6: return commuted(g, e, g->spec->n_params % 3 ? " + " : " - ", beside(g, k));
    case 7: return commuted(g, e, " * ", beside(g, r | k));
    case 8: return inexact(g, typed(call(g, PICK(g, rounding), e), SPEC_FLOAT));
    case 9: return one_k ? inexact(g, over(g, PICK(g, norms), k, e, true)) : e;
    case 10:
        return one_k && chance(g, 50) ? commuted(g, e, " - ", over(g, chance(g, 50) ? "max" : "sum", k, e, false))
                                      : typed(call(g, PICK(g, casts), e), SPEC_FLOAT);
    default: return typed(infix(g, e, " / ", atom(g, "4.0")), SPEC_FLOAT);
    }
}

static expr decorated_whole(struct maker *g, expr e, unsigned r, unsigned k) {
    switch (below(g, 6)) {
    case 0: return call(g, chance(g, 50) ? "i32" : "i8", e);
    case 1: return commuted(g, e, " * ", scalar(g));
    case 2: return commuted(g, e, " * ", beside(g, r && g->spec->n_params % 2 ? r : k));
    case 3: return mask(g, e, r, k);
    case 4: return infix(g, e, " - ", beside(g, r && g->spec->n_params % 2 ? r : k));
    default: return call(g, "abs", e);
    }
}

static expr decorated(struct maker *g, expr e, unsigned r, unsigned k) {
    bool one_k = (k & (k - 1)) == 0;
    int n = chance(g, 45) ? 0 : chance(g, 70) ? 1 : 2;
    for (int i = 0; i < n && has_room(g); i++) {
        if (e->type == SPEC_INT && g->arithmetic == A_WHOLE) e = decorated_whole(g, e, r, k);
        else e = decorated_float(g, e, r, k, one_k && e->type == SPEC_FLOAT);
    }
    return e;
}

/* sc[G: K/8] * (wq - zp[G: K/8]), likewise by splitting K, or without the zero point. */
static expr dequantised(struct maker *g, unsigned r) {
    static const char *const narrow[] = {"u4", "i4", "u4", "i8", "u8"}, *const orders[] = {"lsb", "msb"};
    const char *dtype = PICK(g, narrow), *word = chance(g, 70) ? "i32" : "u8";
    bool is_packed = dtype[1] == '4', is_split = chance(g, 40);
    int n = g->spec->rules[L_K].n, along = chance(g, 70) || !r ? L_K : __builtin_ctz(r);
    unsigned groups = r | 1u << L_G;
    struct spec_param *q = add_param(g, "q", dtype, r | 1u << L_K);
    if (is_packed) q->suffix = arena_printf(g->arena, " packed(%s, %s, %s)", word, label_names[along], PICK(g, orders));
    expr w = use(g, q), scale = tensor(g, chance(g, 60) ? "f32" : "f16", groups), zero = NULL,
         at = infix(g, idx(g, L_K), " // ", atom(g, arena_printf(g->arena, "%d", n)));
    if (chance(g, 60)) zero = tensor(g, chance(g, 50) ? "i8" : "u8", groups);
    if (is_split) w = relabelled(g, w, 1u << L_K, 1u << L_G | 1u << L_W, arena_printf(g->arena, "{K->(G,W=%d)}", n));
    if (zero) w = infix(g, w, " - ", is_split ? zero : read_at(g, zero, L_G, at));
    w = commuted(g, w, " * ", is_split ? scale : read_at(g, scale, L_G, at));
    return is_split ? relabelled(g, w, 1u << L_G | 1u << L_W, 1u << L_K, "{(G,W)->K}") : w;
}

/* A tensor over r and k, or what stands for one: read through an index, joined of two, one half of a wider one,
 * renamed, unpacked. */
static expr base(struct maker *g, unsigned r, unsigned k) {
    const char *dtype = operand_dtype(g);
    bool has_k = k == 1u << L_K, is_float = g->arithmetic != A_WHOLE;
    int kind = below(g, 100);
    if (has_k && g->has_group && is_float && kind < 70) return dequantised(g, r);
    if (has_k && g->has_parts && kind < 70) {
        expr parts[2];
        for (int i = 0; i < 2; i++) {
            int part = i ? L_L : L_J;
            unsigned own = i && r && chance(g, 10) ? 0 : r;
            parts[i] = i && chance(g, 30) ? beside(g, own | 1u << part) : tensor(g, dtype, own | 1u << part);
            if (chance(g, 25) && is_float) parts[i] = call(g, "relu", parts[i]);
            parts[i] = relabelled(g, parts[i], 1u << part, k, arena_printf(g->arena, "{%s->K}", label_names[part]));
        }
        return make(g, SPEC_CALL, "concat[K]", 2, parts[0], parts[1], NULL);
    }
    if (k & 1u << L_U && r & 1u << L_M) { /* a window along M */
        expr at = infix(g, idx(g, L_M), " + ", idx(g, L_U));
        if (chance(g, 60)) at = infix(g, at, " - ", atom(g, "1"));
        return read_at(g, tensor(g, dtype, r | (k & ~(1u << L_U))), L_M, at);
    }
    if (k & 1u << L_D && r & 1u << L_M) {
        expr c = tensor(g, dtype, r | 1u << L_K);
        if (chance(g, 40)) c = call(g, "abs", c);
        return infix(g, c, " * ", relabelled(g, c, 1u << L_K, 1u << L_D, "{K->D}"));
    }
    if (kind < 12 && r & 1u << L_M) { /* rows of a table */
        struct spec_param *ids = add_param(g, "ids", chance(g, 50) ? "i32" : "i64", r & (1u << L_M | 1u << L_B));
        return read_at(g, tensor(g, dtype, (r & ~(1u << L_M | 1u << L_B)) | 1u << L_V | k), L_V, use(g, ids));
    }
    if (kind < 20 && r == 1u << L_N) { /* half of a weight */
        two_columns(g);
        expr w = tensor(g, dtype, 1u << L_F | k);
        w = relabelled(g, w, 1u << L_F, 1u << L_N | 1u << L_Z, chance(g, 50) ? "{F->(Z=2,N)}" : "{F->(N,Z=2)}");
        return read_at(g, w, L_Z, atom(g, chance(g, 50) ? "0" : "1"));
    }
    if (kind < 26 && r & 1u << L_M) {
        equation(g, L_X, "M", 1u << L_M), axis(g, L_M, "X", 1u << L_X), rule(g, L_X, SPEC_TIMES, L_M, 0, 1);
        return relabelled(g, tensor(g, dtype, (r & ~(1u << L_M)) | 1u << L_X | k), 1u << L_X, 1u << L_M, "{X->M}");
    }
    return tensor(g, dtype, r | k);
}

static expr operand(struct maker *g, unsigned r, unsigned k) { return decorated(g, base(g, r, k), r, k); }

/* ---- contractions ---- */

static expr contract(struct maker *g, expr a, expr b, unsigned k) {
    expr e;
    add_nest(g, labels_of(a) | labels_of(b));
    if (chance(g, 60)) e = infix(g, a, arena_printf(g->arena, " @[%s] ", list_of(g, k)), b);
    else e = call(g, arena_printf(g->arena, "sum[%s]", list_of(g, k)), commuted(g, a, " * ", b));
    set_labels(e, (labels_of(a) | labels_of(b)) & ~k);
    return e;
}

/* Which labels are summed: K alone, in groups or parts, twice, or with others. */
static unsigned choose_k(struct maker *g) {
    struct spec *s = g->spec;
    int kind = below(g, 100);
    if (kind < 14) { /* K = 8 * G */
        static const int sizes[] = {8, 4, 2, 16};
        int n = PICK(g, sizes);
        g->has_group = true;
        rule(g, L_K, SPEC_TIMES, L_G, 0, n), equation(g, L_G, arena_printf(g->arena, "K/%d", n), 1u << L_K);
        s->rules[L_G].size = SPEC_MIDDLE;
    } else if (kind < 26) {
        g->has_parts = true;
        rule(g, L_K, SPEC_PLUS, L_J, L_L, 0), equation(g, L_K, "J+L", 1u << L_J | 1u << L_L),
            axis(g, L_K, "J+L", 1u << L_J | 1u << L_L);
        s->rules[L_J].size = s->rules[L_L].size = SPEC_MIDDLE;
    } else if (kind < 36) {
        s->rules[L_U].size = SPEC_SHORT, s->rules[L_C].size = SPEC_MIDDLE;
        if (chance(g, 50)) s->is_fixed[L_U] = true, s->extents[L_U] = 3;
        return 1u << L_C | 1u << L_U;
    } else if (kind < 42) {
        s->rules[L_K].size = SPEC_MIDDLE;
        rule(g, L_D, SPEC_TIMES, L_K, 0, 1), equation(g, L_D, "K", 1u << L_K);
        return 1u << L_K | 1u << L_D;
    } else if (kind < 48) {
        s->rules[L_H].size = SPEC_SHORT;
        return 1u << L_H | 1u << L_K;
    }
    return 1u << L_K;
}

static unsigned side(const struct maker *g, int label) { return 1u << label | (g->has_batch ? 1u << L_B : 0); }

static const char *new_name(struct maker *g) { return arena_printf(g->arena, "h%d", g->n_names++); }

/* e under a name of its own. */
static expr named(struct maker *g, expr e) {
    struct spec *s = g->spec;
    if (s->n_stmts >= SPEC_MAX_STMTS - 6) return e;
    struct spec_stmt *t = &s->stmts[s->n_stmts++];
    *t = (struct spec_stmt){new_name(g), e};
    expr n = atom(g, t->name);
    n->type = e->type;
    set_labels(n, labels_of(e));
    return n;
}

static expr sometimes_named(struct maker *g, expr e) { return chance(g, 60) ? named(g, e) : e; }

/* Pointwise work on a result over labels that end in `column`. */
static expr epilogue(struct maker *g, expr e, int column) {
    static const char *const rounding[] = {"gelu", "sigmoid", "tanh", "silu", "exp2", "gelu_tanh"}, *const casts[] = {
                                                                                                        "f16", "bf16",
                                                                                                        "f32"};
    unsigned all = labels_of(e), c = 1u << column;
    int n = chance(g, 30) ? 0 : 1 + below(g, 3);
    if (e->type == SPEC_INT && g->arithmetic != A_WHOLE && chance(g, 60)) e = call(g, "f32", e), e->type = SPEC_FLOAT;
    for (int i = 0; i < n && has_room(g); i++) {
        bool is_float = e->type == SPEC_FLOAT;
        switch (below(g, 9)) {
        case 0:
        case 1: e = commuted(g, e, " + ", beside(g, c)); break;
        case 2: e = call(g, is_float ? "relu" : "abs", e); break;
        case 3: e = commuted(g, e, " * ", scalar(g)); break;
        case 4: e = commuted(g, e, i ? " + " : " * ", beside(g, all)); break;
        case 5: e = mask(g, e, all & ~c, c); break;
        case 6: e = commuted(g, e, i ? " * " : " + ", beside(g, all & ~c ? all & ~c : c)); break;
        case 7: e = is_float ? inexact(g, call(g, PICK(g, rounding), e)) : infix(g, e, " // ", atom(g, "2")); break;
        default: e = is_float ? call(g, PICK(g, casts), e) : call(g, "max", e), e->tail = is_float ? "" : ", 0"; break;
        }
    }
    return e;
}

static expr joined(struct maker *g, expr a, expr b) {
    static const char *const ops[] = {" + ", " * ", " - "};
    if (a->type == SPEC_FLOAT && chance(g, 40))
        b = chance(g, 50) ? inexact(g, call(g, "sigmoid", b)) : call(g, "relu", b);
    return infix(g, a, PICK(g, ops), b);
}

/* x @ w, which may be several contractions: with a shared operand, over other labels, in halves of one result. */
static expr result(struct maker *g, int column) {
    unsigned k = choose_k(g), m = side(g, L_M), n = g->has_batch && chance(g, 50) ? side(g, column) : 1u << column;
    expr a = sometimes_named(g, operand(g, m, k));
    int kind = below(g, 100);
    if (kind < 10 && column == L_N) { /* halves, or every second */
        unsigned wide = (n & ~(1u << L_N)) | 1u << L_F;
        two_columns(g);
        expr h = contract(g, a, decorated(g, tensor(g, operand_dtype(g), wide | k), wide, k), k);
        if (chance(g, 50)) h = infix(g, h, " + ", beside(g, 1u << L_F));
        h = named(
            g, relabelled(g, h, 1u << L_F, 1u << L_N | 1u << L_Z, chance(g, 50) ? "{F->(Z=2,N)}" : "{F->(N,Z=2)}"));
        return joined(g, read_at(g, h, L_Z, atom(g, "0")), read_at(g, h, L_Z, atom(g, "1")));
    }
    expr h = contract(g, a, sometimes_named(g, operand(g, n, k)), k);
    if (kind < 22) return joined(g, h, contract(g, a, operand(g, n, k), k));
    if (kind < 30) { /* segments of k */
        expr x = operand(g, m, 1u << L_R), b = contract(g, x, operand(g, n, 1u << L_R), 1u << L_R);
        if (chance(g, 70)) b = commuted(g, scalar(g), " * ", b);
        return commuted(g, h, " + ", b);
    }
    if (kind < 38) { /* a detour of low rank */
        g->spec->rules[L_R].size = SPEC_MIDDLE;
        expr b = contract(g, a, tensor(g, g->dtype, 1u << L_R | k), k);
        b = contract(g, b, tensor(g, g->dtype, 1u << L_R | 1u << column), 1u << L_R);
        return commuted(g, h, " + ", chance(g, 70) ? commuted(g, scalar(g), " * ", b) : b);
    }
    return h;
}

/* ---- around them ---- */

/* What a chain has between its contractions. */
static expr middle(struct maker *g, expr h) {
    static const char *const norms[] = {"softmax", "rmsnorm", "layernorm"};
    if (h->type == SPEC_FLOAT && chance(g, 35)) {
        if (chance(g, 40))
            h = choice(g, infix(g, idx(g, L_N), " <= ", idx(g, L_M)), h, atom(g, "-inf")), h->type = SPEC_FLOAT;
        return inexact(g, over(g, h->shape == SPEC_CALL && strcmp(h->text, "where") == 0 ? "softmax" : PICK(g, norms),
                              1u << L_N, named(g, h), true));
    }
    return epilogue(g, h, L_N);
}

static const char *out_dtype(struct maker *g, const struct spec_expr *e) {
    static const char *const floats[] = {"f32", "f16", "bf16", "f32", "f8e4m3"}, *const wholes[] = {"i32", "i64"};
    if (e->type == SPEC_BOOL) return "bool";
    if (e->type == SPEC_INT) return g->arithmetic == A_WHOLE || g->arithmetic == A_MIXED ? "i64" : PICK(g, wholes);
    return g->arithmetic == A_DOUBLE && chance(g, 60) ? "f64"
           : chance(g, 40) && !is_whole(g->dtype)     ? g->dtype
                                                      : PICK(g, floats);
}

static void output(struct maker *g, expr e) {
    struct spec *s = g->spec;
    struct spec_param *o = &s->outs[s->n_outs];
    o->name = arena_printf(g->arena, "y%d", s->n_outs++);
    o->dtype = e->type == SPEC_INT ? "i64" : out_dtype(g, e);
    o->n_labels = e->n_labels;
    memcpy(o->labels, e->labels, sizeof o->labels);
    for (int i = o->n_labels - 1; i > 0 && chance(g, 25); i--) {
        int j = below(g, i + 1), t = o->labels[i];
        o->labels[i] = o->labels[j], o->labels[j] = t;
    }
    s->stmts[s->n_stmts++] = (struct spec_stmt){o->name, e};
}

/* e over N as groups. */
static expr in_runs(struct maker *g, expr e) {
    return relabelled(g, e, 1u << L_N, 1u << L_T | 1u << L_E, arena_printf(g->arena, "{N->(T,E=%d)}", g->run));
}

/* A reduction of a result, in all the ways there are. */
static expr reduced(struct maker *g, expr h, int column) {
    static const char *const sums[] = {"sum", "max", "min", "sum"};
    unsigned all = labels_of(h), c = 1u << column, rows = all & ~c;
    expr e = chance(g, 30) && h->type == SPEC_FLOAT ? call(g, "abs", h) : chance(g, 20) ? infix(g, h, " * ", h) : h;
    switch (below(g, 7)) {
    case 0: return over(g, PICK(g, sums), c, e, false);
    case 1:
        return rows ? over(g, PICK(g, sums), 1u << (31 - __builtin_clz(rows)), e, false) : over(g, "sum", c, e, false);
    case 2: return over(g, PICK(g, sums), all, e, false);
    case 3:
        if (h->type == SPEC_FLOAT) return inexact(g, over(g, "logsumexp", c, h, false));
        return over(g, "sum", all, e, false);
    case 4:
        if (column == L_N && g->spec->rules[L_N].kind == SPEC_TIMES) {
            e = in_runs(g, e);
            return over(g, PICK(g, sums), 1u << L_E, e, false);
        }
        return over(g, "max", rows ? rows : c, e, false);
    case 5: {
        expr r = over(g, chance(g, 50) ? "argmax" : "argmin", c, h, false);
        r->type = SPEC_INT;
        return r;
    }
    default:
        return h->type == SPEC_FLOAT ? inexact(g, over(g, chance(g, 50) ? "rmsnorm" : "softmax", c, h, true))
                                     : over(g, "sum", c, e, false);
    }
}

/* All that a spec may do with a result: what its runs have in common, alone or with each element, or sums of rows of it
 * and of what is added. */
static expr taken_whole(struct maker *g, expr h) {
    static const char *const sums[] = {"sum", "max", "min", "sum"};
    unsigned n = 1u << L_N, parts = 1u << L_T | 1u << L_E;
    if (g->spec->rules[L_N].kind != SPEC_TIMES) {
        h = infix(g, h, chance(g, 50) ? " + " : " - ", beside(g, chance(g, 50) ? n : labels_of(h)));
        return over(g, "sum", n, h, false);
    }
    expr e = named(g, in_runs(g, epilogue(g, h, L_N)));
    if (chance(g, 25)) return over(g, PICK(g, sums), 1u << L_E, e, false);
    for (int times = chance(g, 50) ? 2 : 1; times > 0; times--) {
        expr r = over(
            g, PICK(g, sums), 1u << L_E, chance(g, 50) && e->type == SPEC_FLOAT ? call(g, "abs", e) : e, false);
        e = named(g, chance(g, 50) ? infix(g, e, " - ", r) : infix(g, r, " + ", e));
    }
    return relabelled(g, e, parts, n, "{(T,E)->N}");
}

static void choose_arithmetic(struct maker *g) {
    static const char *const narrow[] = {"f16", "bf16", "f16", "bf16", "f8e4m3"}, *const wholes[] = {
                                                                                      "i8", "u8", "i8", "i32"};
    int kind = below(g, 100);
    g->arithmetic = kind < 45 ? A_NARROW : kind < 68 ? A_FLOAT : kind < 73 ? A_DOUBLE : kind < 83 ? A_WHOLE : A_MIXED;
    g->dtype = g->arithmetic == A_NARROW                              ? PICK(g, narrow)
               : g->arithmetic == A_FLOAT || g->arithmetic == A_MIXED ? "f32"
               : g->arithmetic == A_DOUBLE                            ? "f64"
                                                                      : PICK(g, wholes);
}

static void choose_attributes(struct maker *g) {
    int kind = below(g, 100);
    g->spec->attributes = kind < 8                                ? "precision: ieee"
                          : kind < 18 && g->arithmetic == A_FLOAT ? "precision: tf32"
                          : kind >= 94                            ? "round: op"
                                                                  : NULL;
}

/* A residual written where it was read. */
static void in_place(struct maker *g, expr h) {
    struct spec *s = g->spec;
    bool is_placed = !(labels_of(h) & 1u << L_Z) && chance(g, 40); /* beside something that stays */
    struct spec_param *p = add_param(
        g, "r", g->arithmetic == A_NARROW ? g->dtype : "f32", labels_of(h) | (is_placed ? 1u << L_Z : 0));
    p->is_inout = true;
    if (is_placed) {
        s->stmts[s->n_stmts++] = (struct spec_stmt){arena_printf(g->arena, "%s[Z: %d]", p->name, below(g, 3)), h};
        return;
    }
    s->stmts[s->n_stmts++] = (struct spec_stmt){p->name, commuted(g, use(g, p), " + ", h)};
}

/* Extents as unit tests evaluate at: 1 to 4, those that follow from others larger. */
static void small_extents(struct maker *g);

struct spec *spec_generate_contraction(struct arena *a, uint64_t seed) {
    struct maker g = {.arena = a, .random = (seed + 1) * 0xD1B54A32D192ED03u, .spec = NEW(a, struct spec)};
    struct spec *s = g.spec;
    static const int runs[] = {4, 8, 2, 4, 16, 32, 4, 3};
    g.run = runs[seed % 8]; /* drawn apart, so that other specs stay what they were */
    s->names = label_names, s->n_labels = N_LABELS, s->is_exact = s->is_contraction = true;
    s->parts[0] = s->parts[1] = -1;
    s->rules[L_B].size = s->rules[L_V].size = SPEC_SHORT;
    for (int i = 0; i < 8; i++) random_next(&g.random);
    choose_arithmetic(&g);
    choose_attributes(&g);
    g.has_batch = chance(&g, 18);
    if (chance(&g, 28))
        rule(&g, L_N, SPEC_TIMES, L_T, 0, g.run), /* before others lean on N */
            equation(&g, L_T, arena_printf(a, "N/%d", g.run), 1u << L_N);
    s->is_fixed[L_E] = s->is_fixed[L_W] = s->is_fixed[L_Z] = true;
    expr h = result(&g, L_N);
    if (chance(&g, s->rules[L_N].kind == SPEC_TIMES ? 40 : 8)) {
        output(&g, taken_whole(&g, h));
        small_extents(&g);
        spec_mark_constants(s, seed);
        return s;
    }
    bool is_chain = chance(&g, 22);
    h = named(&g, is_chain ? middle(&g, h) : epilogue(&g, h, L_N));
    int column = L_N;
    if (is_chain) {
        unsigned batch = g.has_batch && chance(&g, 50) ? 1u << L_B : 0;
        expr v = decorated(&g, tensor(&g, operand_dtype(&g), batch | 1u << L_N | 1u << L_P), 1u << L_P, 1u << L_N);
        if (chance(&g, 25)) output(&g, h);
        h = named(&g, epilogue(&g, contract(&g, h, v, 1u << L_N), L_P)), column = L_P;
    }
    bool is_reduced = chance(&g, 40);
    if (h->type == SPEC_FLOAT && chance(&g, 4)) in_place(&g, h);
    else if (!is_reduced || chance(&g, 60)) output(&g, h);
    if (is_reduced || s->n_outs == 0) output(&g, reduced(&g, h, column));
    if (is_reduced && chance(&g, 30)) output(&g, reduced(&g, h, column));
    small_extents(&g);
    spec_mark_constants(s, seed);
    return s;
}

/* ---- extents ---- */

static int64_t points_of(const struct spec *s, unsigned nest) {
    int64_t points = 1;
    for (int l = 0; l < N_LABELS; l++)
        if (nest >> l & 1 && s->extents[l] > 1) points *= s->extents[l];
    return points;
}

/* Labels that follow from others, which may follow themselves. */
static void follow(struct spec *s) {
    for (int round = 0; round < 4; round++)
        for (int l = 0; l < N_LABELS; l++) {
            const struct spec_label *r = &s->rules[l];
            if (r->kind == SPEC_TIMES) s->extents[l] = s->extents[r->a] * r->n;
            if (r->kind == SPEC_PLUS) s->extents[l] = s->extents[r->a] + s->extents[r->b];
        }
}

/* The free label of the nest that is best made smaller: the largest of those that stand in it or that its labels follow
 * from. */
static int largest_of(const struct spec *s, unsigned nest) {
    for (int round = 0; round < 4; round++)
        for (int l = 0; l < N_LABELS; l++)
            if (nest >> l & 1 && s->rules[l].kind != SPEC_FREE)
                nest |= 1u << s->rules[l].a | (s->rules[l].kind == SPEC_PLUS ? 1u << s->rules[l].b : 0);
    int best = -1;
    for (int l = 0; l < N_LABELS; l++)
        if (nest >> l & 1 && s->rules[l].kind == SPEC_FREE && !s->is_fixed[l] &&
            (best < 0 || s->extents[l] > s->extents[best]))
            best = l;
    return best;
}

void spec_draw_extents(struct spec *s, int shape, int64_t most, uint64_t *random) {
    static const int odd[] = {1, 7, 63, 65, 3, 17}, medium[] = {16, 32, 48, 64, 96, 100, 24, 40},
                     edges[] = {127, 128, 129, 160, 192, 255, 256, 257, 130, 144};
    static const int middle[] = {1, 3, 5, 8, 12, 16, 20, 32}, few[] = {1, 2, 3, 4, 5};
    for (int l = 0; l < N_LABELS; l++) {
        if (s->is_fixed[l] || s->rules[l].kind != SPEC_FREE) continue;
        bool is_long = s->rules[l].size == SPEC_LONG;
        if (!is_long)
            s->extents[l] = s->rules[l].size == SPEC_MIDDLE ? middle[random_below(random, 8)]
                                                            : few[random_below(random, 5)];
        else
            s->extents[l] = shape == 0   ? odd[random_below(random, 6)]
                            : shape == 1 ? medium[random_below(random, 8)]
                                         : edges[random_below(random, 10)];
        if (shape == 0 && random_below(random, 60) == 0) s->extents[l] = 0;
    }
    follow(s);
    for (int i = 0; i < s->n_nests; i++)
        while (points_of(s, s->nests[i]) > most) {
            /* one label of several keeps its place beyond the edge as long as another can give way */
            int l = largest_of(s, s->nests[i]), other = random_below(random, N_LABELS);
            if (l < 0) break;
            if (s->nests[i] >> other & 1 && s->rules[other].kind == SPEC_FREE && !s->is_fixed[other] &&
                s->extents[other] > 8)
                l = other;
            s->extents[l] = s->extents[l] / 2 + (s->extents[l] > 32 ? random_below(random, 3) - 1 : 0);
            if (s->extents[l] < 1) s->extents[l] = 1;
            follow(s);
        }
}

static void small_extents(struct maker *g) {
    struct spec *s = g->spec;
    for (int l = 0; l < N_LABELS; l++)
        if (!s->is_fixed[l]) s->extents[l] = s->rules[l].size == SPEC_LONG ? 1 + below(g, 4) : 1 + below(g, 3);
    s->extents[L_Z] = 2;
    s->extents[L_E] = g->run, s->extents[L_W] = s->rules[L_K].n;
    follow(s);
}
