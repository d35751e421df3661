/* Grows expressions top down, keeping of each what the language says of its labels and their order. */
#include "spec_gen.h"

#include <string.h>

uint64_t random_next(uint64_t *state) {
    *state ^= *state >> 12, *state ^= *state << 25, *state ^= *state >> 27;
    return *state * 0x2545F4914F6CDD1Du;
}
int random_below(uint64_t *state, int n) { return (int)((random_next(state) >> 33) % (unsigned)n); }

static const char *const label_names[SPEC_MAX_LABELS] = {"M", "N", "K", "B", "P"};

int spec_extent(const struct spec *s, const char *label, size_t len) {
    for (int i = 0; i < s->n_labels; i++)
        if (len == 1 && *label_names[i] == *label) return s->extents[i];
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

/* Labels and order of a pointwise value: those of the operand that has all of them, else the union, its last undecided. */
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

static struct spec_expr *make(struct gen *g, enum spec_shape shape, const char *text, int n_args, struct spec_expr *a, struct spec_expr *b,
                              struct spec_expr *c) {
    struct spec_expr *e = NEW(g->arena, struct spec_expr);
    *e = (struct spec_expr){.shape = shape, .text = text, .tail = "", .n_args = n_args, .args = {a, b, c}};
    join(e);
    return e;
}

static struct spec_expr *literal(struct gen *g) {
    static const char *const texts[] = {"0", "1", "2", "3", "0.5", "4", "1.0", "0.25"};
    return make(g, SPEC_ATOM, PICK(g, texts), 0, NULL, NULL, NULL);
}

static struct spec_expr *name_in_scope(struct gen *g) {
    const struct scope_name *n = &g->scope[below(g, g->n_scope)];
    struct spec_expr *e = NEW(g->arena, struct spec_expr);
    *e = *n->value;
    e->shape = SPEC_ATOM, e->text = n->name, e->n_args = 0;
    return e;
}

static struct spec_expr *number(struct gen *g, int depth);

static struct spec_expr *condition(struct gen *g, int depth) {
    static const char *const compares[] = {" < ", " <= ", " > ", " >= ", " == ", " != "};
    if (depth > 0 && chance(g, 25)) {
        if (chance(g, 40)) return make(g, SPEC_PREFIX, "!", 1, condition(g, depth - 1), NULL, NULL);
        struct spec_expr *a = condition(g, depth - 1);
        struct spec_expr *b = chance(g, 15) ? a : condition(g, depth - 1);
        return make(g, SPEC_INFIX, chance(g, 50) ? " && " : " || ", 2, a, b, NULL);
    }
    if (chance(g, 10)) return make(g, SPEC_CALL, "isnan", 1, number(g, depth - 1), NULL, NULL);
    struct spec_expr *a = chance(g, 8) ? literal(g) : number(g, depth - 1);
    struct spec_expr *b = chance(g, 50) ? literal(g) : number(g, depth - 1);
    return make(g, SPEC_INFIX, PICK(g, compares), 2, a, b, NULL);
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

static struct spec_expr *infix(struct gen *g, int depth) {
    static const char *const texts[] = {" + ", " - ", " * ", " + ", " - ", " * ", " / "};
    const char *text = PICK(g, texts);
    struct spec_expr *a = number(g, depth - 1), *b;
    if (strcmp(text, " / ") == 0) {
        static const char *const divisors[] = {"2", "4", "1", "0.5", "3"};
        bool is_literal = a->shape == SPEC_ATOM && *a->text <= '9'; /* two whole literals do not divide */
        b = make(g, SPEC_ATOM, is_literal ? "0.5" : PICK(g, divisors), 0, NULL, NULL, NULL);
        if (*b->text == '3') g->spec->is_exact = false;
    } else b = chance(g, 12) ? a : chance(g, 25) ? literal(g) : number(g, depth - 1);
    return chance(g, 8) && strcmp(text, " / ") != 0 ? make(g, SPEC_INFIX, text, 2, b, a, NULL) : make(g, SPEC_INFIX, text, 2, a, b, NULL);
}

static struct spec_expr *exact_call(struct gen *g, int depth) {
    static const struct {
        const char *text, *tail;
        int n_args;
    } calls[] = {
        {"max", "", 2}, {"min", "", 2}, {"relu", "", 1}, {"abs", "", 1}, {"floor", "", 1}, {"ceil", "", 1}, {"round", "", 1}, {"sign", "", 1},
        {"fma", "", 3}, {"clamp", ", -1, 3", 1}, {"relu6", "", 1}, {"hardtanh", "", 1}, {"hardtanh", ", -2, 2", 1}, {"leaky_relu", ", slope: 0.5", 1},
        {"max", "", 2}, {"relu", "", 1}, {"max", ", 0", 1}, {"min", ", 2", 1},
    };
    int i = below(g, (int)(sizeof calls / sizeof *calls));
    struct spec_expr *args[3] = {0};
    for (int a = 0; a < calls[i].n_args; a++) args[a] = a && chance(g, 15) ? args[0] : number(g, depth - 1);
    struct spec_expr *e = make(g, SPEC_CALL, calls[i].text, calls[i].n_args, args[0], args[1], args[2]);
    e->tail = calls[i].tail;
    return e;
}

static struct spec_expr *rounding_call(struct gen *g, int depth) {
    static const char *const texts[] = {"gelu", "exp", "tanh", "sigmoid", "silu", "sqrt", "log", "erf", "sin", "cos", "exp2", "log2", "rsqrt",
                                        "gelu_tanh", "elu", "selu", "softplus", "mish", "hardswish", "hardsigmoid", "leaky_relu"};
    g->spec->is_exact = false;
    struct spec_expr *a = number(g, depth - 1); /* not within a call: C leaves the order of arguments open */
    if (chance(g, 5)) return make(g, SPEC_CALL, "pow", 2, a, literal(g), NULL);
    return make(g, SPEC_CALL, PICK(g, texts), 1, a, NULL, NULL);
}

static struct spec_expr *number(struct gen *g, int depth) {
    int kind = below(g, 100);
    if (depth <= 0) return chance(g, 85) ? name_in_scope(g) : literal(g);
    if (kind < 12) return name_in_scope(g);
    if (kind < 15) return literal(g);
    if (kind < 42) return infix(g, depth);
    if (kind < 60) return contract(g, depth);
    if (kind < 80) return exact_call(g, depth);
    if (kind < 85) {
        struct spec_expr *a = number(g, depth - 1);
        return chance(g, 30) ? make(g, SPEC_PREFIX, "-", 1, make(g, SPEC_PREFIX, "-", 1, a, NULL, NULL), NULL, NULL) : make(g, SPEC_PREFIX, "-", 1, a, NULL, NULL);
    }
    if (kind < 90) {
        static const char *const casts[] = {"f16", "bf16", "f32", "f16", "bf16"};
        const char *text = PICK(g, casts);
        struct spec_expr *e = make(g, SPEC_CALL, text, 1, number(g, depth - 1), NULL, NULL);
        return chance(g, 20) ? make(g, SPEC_CALL, text, 1, e, NULL, NULL) : e;
    }
    if (kind < 97) {
        struct spec_expr *c = condition(g, depth - 1), *a = number(g, depth - 1), *b = chance(g, 15) ? a : number(g, depth - 1);
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

static void add_param(struct gen *g, bool is_scalar) {
    static const char *const dtypes[] = {"f32", "f16", "bf16", "f32"};
    struct spec *s = g->spec;
    int i = s->n_params++, all[SPEC_MAX_LABELS];
    struct spec_param *p = &s->params[i];
    struct spec_expr *e = NEW(g->arena, struct spec_expr);
    p->name = arena_printf(g->arena, is_scalar ? "s%d" : "x%d", i);
    p->dtype = is_scalar ? "f32" : PICK(g, dtypes);
    p->is_scalar = is_scalar;
    if (is_scalar && chance(g, 50)) p->value = "2";
    for (int l = 0; l < s->n_labels; l++) all[l] = l;
    shuffle(g, all, s->n_labels);
    p->n_labels = is_scalar ? 0 : chance(g, 6) ? 0 : 1 + below(g, s->n_labels < 4 ? s->n_labels : 4);
    memcpy(p->labels, all, sizeof all);
    e->n_labels = p->n_labels, e->is_decided = true;
    memcpy(e->labels, p->labels, sizeof e->labels);
    bind(g, p->name, e);
}

/* An output declared for a value: its labels in any order, sometimes one more. */
static const char *add_out(struct gen *g, const struct spec_expr *value) {
    static const char *const dtypes[] = {"f32", "f16", "bf16"};
    struct spec *s = g->spec;
    struct spec_param *o = &s->outs[s->n_outs];
    o->name = arena_printf(g->arena, "y%d", s->n_outs++);
    o->dtype = PICK(g, dtypes);
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
    struct spec_expr *e = number(g, 1 + below(g, 4));
    int n_temps = 0;
    for (int i = 0; i < g->n_scope; i++) n_temps += g->scope[i].name[0] == 'h';
    const char *name = is_output ? add_out(g, e) : arena_printf(g->arena, "h%d", n_temps && chance(g, 30) ? below(g, n_temps) : n_temps);
    s->stmts[s->n_stmts++] = (struct spec_stmt){name, e};
    bind(g, name, e);
}

struct spec *spec_generate(struct arena *a, uint64_t seed) {
    struct gen g = {.arena = a, .random = (seed + 1) * 0x9E3779B97F4A7C15u, .spec = NEW(a, struct spec)};
    struct spec *s = g.spec;
    s->is_exact = true;
    s->n_labels = 1 + below(&g, SPEC_MAX_LABELS);
    for (int i = 0; i < s->n_labels; i++) {
        s->extents[i] = chance(&g, 4) ? 0 : 1 + below(&g, 4);
        s->is_fixed[i] = chance(&g, 20);
    }
    int n_tensors = 1 + below(&g, 4), n_scalars = chance(&g, 35) ? 1 : 0, n_outs = 1 + below(&g, 3), n_temps = below(&g, 5);
    for (int i = 0; i < n_tensors; i++) add_param(&g, false);
    for (int i = 0; i < n_scalars; i++) add_param(&g, true);
    while (n_outs + n_temps > 0) {
        bool is_output = n_temps == 0 || (n_outs > 1 && chance(&g, 30));
        add_stmt(&g, is_output);
        *(is_output ? &n_outs : &n_temps) -= 1;
    }
    if (chance(&g, 12)) s->attributes = "precision: ieee";
    return s;
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
    case SPEC_CHOICE:
        print_operand(out, e->args[0]);
        buf_puts(out, " ? ");
        print_operand(out, e->args[1]);
        buf_puts(out, " : ");
        print_operand(out, e->args[2]);
        break;
    }
}

/* A fixed extent is written where its label first stands. */
static void print_param(struct buf *out, const struct spec *s, const struct spec_param *p, bool *is_written) {
    buf_printf(out, "%s: %s", p->name, p->dtype);
    if (!p->is_scalar) buf_putc(out, '[');
    for (int i = 0; i < p->n_labels; i++) {
        int l = p->labels[i];
        buf_printf(out, "%s%s", i ? "," : "", label_names[l]);
        if (s->is_fixed[l] && !is_written[l]) buf_printf(out, "=%d", s->extents[l]);
        is_written[l] = true;
    }
    if (!p->is_scalar) buf_putc(out, ']');
    if (p->value) buf_printf(out, " = %s", p->value);
}

static bool is_assigned(const struct spec *s, const char *name) {
    for (int i = 0; i < s->n_stmts; i++)
        if (strcmp(s->stmts[i].name, name) == 0) return true;
    return false;
}

void spec_print(struct buf *out, const struct spec *s) {
    bool is_written[SPEC_MAX_LABELS] = {0};
    int n = 0;
    buf_puts(out, "kernel g(");
    for (int i = 0; i < s->n_params; i++) {
        buf_puts(out, i ? ", " : "");
        print_param(out, s, &s->params[i], is_written);
    }
    buf_puts(out, ") -> (");
    for (int i = 0; i < s->n_outs; i++) {
        if (!is_assigned(s, s->outs[i].name)) continue; /* dropped by the shrinker */
        buf_puts(out, n++ ? ", " : "");
        print_param(out, s, &s->outs[i], is_written);
    }
    buf_puts(out, ")");
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
static struct spec_expr *substituted(struct shrinker *k, struct spec_expr *e, const char *name, struct spec_expr *value) {
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

struct spec *spec_shrink(struct arena *a, const struct spec *s, bool (*fails)(void *user, const struct spec *s), void *user) {
    struct shrinker k = {a, fails, user, NEW(a, struct spec)};
    *k.best = *s;
    while (shrink_once(&k)) {}
    return k.best;
}
