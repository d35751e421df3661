/* Test and bench blocks: what each gives its kernel and asks of the harness.
 *
 * In: the blocks of the file. Out: a struct fx_test each, whose texts -D and -i would take. Invariant: only the
 * declaration of a kernel is looked at, so a block is understood whether or not its kernel compiles. */
#include "check/check_internal.h"

#include <math.h>

enum { MAX_PLACES = 512 }; /* beyond which equations are not followed: a kernel of so many labels is refused */

struct taken { /* an input or output */
    const char *name;
    const struct ast_type *type; /* NULL: no such input */
};

struct signature { /* of a kernel, or of a gradient: then what follows from the kernel it is of */
    struct taken *inputs, *outputs;
    int n_inputs, n_outputs;
};

struct block_place;
struct test_block { /* being checked */
    struct checker *c;
    const struct ast_item *item;
    struct signature takes;
    struct block_place *places;          /* of labels in the declaration */
    int n_places;
    struct fx_test test;           /* what has been understood so far, but for the lists */
    const char **defines, **extents, **inputs, **beside; /* its lists */
};

static void define(struct test_block *b, struct name n, const char *value) {
    PUSH(&b->c->cx->arena, b->defines, b->test.n_defines) = arena_printf(
        &b->c->cx->arena, NAME_FMT "=%s", NAME_ARG(n), value);
}

static void extent(struct test_block *b, struct name n, const char *value) {
    PUSH(&b->c->cx->arena, b->extents, b->test.n_extents) = arena_printf(
        &b->c->cx->arena, NAME_FMT "=%s", NAME_ARG(n), value);
}

static void input(struct test_block *b, const char *name, const char *source) {
    PUSH(&b->c->cx->arena, b->inputs, b->test.n_inputs) = arena_printf(&b->c->cx->arena, "%s=%s", name, source);
}

/* ---- what the kernel declares ---- */

static const struct ast_item *find_kernel(const struct checker *c, struct name n) {
    for (const struct ast_item *i = c->file->items; i; i = i->next)
        if ((i->kind == ITEM_KERNEL || i->kind == ITEM_GRAD) && name_eq(i->name, n)) return i;
    return NULL;
}

static const struct taken *find_taken(const struct taken *all, int n, struct name name) {
    for (int i = 0; i < n; i++)
        if (name_is(name, all[i].name)) return &all[i];
    return NULL;
}

static void add_declared(struct checker *c, struct signature *s, const struct ast_param *p, bool is_input) {
    struct taken t = {check_cstr(c, p->name), &p->type};
    if (is_input) PUSH(&c->cx->arena, s->inputs, s->n_inputs) = t;
    if (!is_input || p->is_inout) PUSH(&c->cx->arena, s->outputs, s->n_outputs) = t;
}

/* Names as grad.c gives them. What a gradient is of may be one itself. */
static void add_adjoint(struct checker *c, struct signature *s, const struct taken *of, bool is_input) {
    struct arena *a = &c->cx->arena;
    struct ast_type *type = NEW(a, struct ast_type);
    struct taken t = {arena_printf(a, "d%s", of->name), type};
    for (struct name n; n = (struct name){t.name, (uint32_t)strlen(t.name)},
                        find_taken(s->inputs, s->n_inputs, n) || find_taken(s->outputs, s->n_outputs, n);)
        t.name = arena_printf(a, "%s_", t.name);
    *type = *of->type;
    type->has_axes = true; /* of a scalar a tensor of rank 0 */
    if (is_input) PUSH(a, s->inputs, s->n_inputs) = t;
    else PUSH(a, s->outputs, s->n_outputs) = t;
}

static void differentiate(struct checker *c, struct signature *s, const struct ast_item *grad) {
    const struct signature of = *s;
    s->outputs = NULL, s->n_outputs = 0;
    for (const struct ast_ids *id = grad->saved; id; id = id->next) {
        const struct taken *o = find_taken(of.outputs, of.n_outputs, id->name);
        if (o) PUSH(&c->cx->arena, s->inputs, s->n_inputs) = *o;
    }
    for (int i = 0; i < of.n_outputs; i++)
        if (fx_is_float(of.outputs[i].type->dtype)) add_adjoint(c, s, &of.outputs[i], true);
    for (const struct ast_ids *id = grad->wrt; id; id = id->next) {
        const struct taken *in = find_taken(of.inputs, of.n_inputs, id->name);
        if (in) add_adjoint(c, s, in, false);
    }
}

/* What item takes and gives. The kernel behind its gradients, or NULL where there is none. */
static const struct ast_item *find_signature(struct checker *c, const struct ast_item *item, struct signature *s) {
    struct gradient { const struct ast_item *item; } *gradients = NULL;
    int n = 0, n_items = 0;
    for (const struct ast_item *i = c->file->items; i; i = i->next) n_items++;
    for (; item && item->kind == ITEM_GRAD; item = find_kernel(c, item->grad_of)) {
        if (n == n_items) return NULL; /* a gradient of itself */
        PUSH(&c->cx->arena, gradients, n).item = item;
    }
    if (!item) return NULL;
    for (const struct ast_param *p = item->params; p; p = p->next) add_declared(c, s, p, true);
    for (const struct ast_param *p = item->outs; p; p = p->next) add_declared(c, s, p, false);
    while (n) differentiate(c, s, gradients[--n].item);
    return item;
}

struct block_place { /* where the kernel's declaration names a label */
    const struct ast_axis *axis;
    bool is_bound; /* some argument, or an equation of the declaration, gives the label its extent */
};

struct label { /* of the kernel, over all places that name it */
    bool is_found;
    bool is_bound;
    const struct ast_expr *written; /* the extent where one is written, or NULL */
};

static void add_places(struct test_block *b, const struct ast_axis *axes, bool is_input) {
    for (; axes; axes = axes->next)
        PUSH(&b->c->cx->arena, b->places, b->n_places) = (struct block_place){axes, is_input};
}

static bool is_bound(const struct test_block *b, struct name n) {
    for (int i = 0; i < b->n_places; i++)
        if (b->places[i].is_bound && name_eq(b->places[i].axis->name, n)) return true;
    return false;
}

/* Counts, up to 2, the labels of e that nothing is known to bind; *n is the last of them. Every label bound is no
 * count. */
static int count_unbound(const struct test_block *b, const struct ast_expr *e, struct name *n) {
    if (!e) return 0;
    if (e->kind != AST_ID) {
        int count = count_unbound(b, e->a, n);
        struct name other = {0};
        int more = count < 2 ? count_unbound(b, e->b, &other) : 0;
        if (count == 1 && more == 1 && name_eq(*n, other)) return 1;
        if (more) *n = other;
        return count + more;
    }
    if (check_find_const(b->c, e->name) || is_bound(b, e->name)) return 0;
    *n = e->name;
    return 1;
}

/* Whether any place has that label: one that stands in equations alone is an error of the kernel, told with it. */
static bool bind_name(struct test_block *b, struct name n) {
    bool is_found = false;
    for (int i = 0; i < b->n_places; i++)
        if (name_eq(b->places[i].axis->name, n)) is_found = b->places[i].is_bound = true;
    return is_found;
}

/* What inputs carry is bound; so is what is written, or what an equation leaves as its one unknown. */
static void find_places(struct test_block *b, const struct ast_item *kernel) {
    add_places(b, kernel->kernel_axes, false);
    for (int i = 0; i < b->takes.n_inputs; i++) add_places(b, b->takes.inputs[i].type->axes, true);
    for (const struct ast_param *p = kernel->outs; p; p = p->next) add_places(b, p->type.axes, false);
    for (bool progress = b->n_places <= MAX_PLACES; progress;) {
        progress = false;
        for (int i = 0; i < b->n_places; i++) {
            const struct ast_axis *a = b->places[i].axis;
            struct name n = {0};
            int unknown = a->extent ? count_unbound(b, a->extent, &n) : 2;
            bool is_known = is_bound(b, a->name);
            if (unknown + !is_known != 1) continue;
            progress |= bind_name(b, unknown ? n : a->name);
        }
    }
}

static struct label find_label(const struct test_block *b, struct name n) {
    struct label l = {0};
    for (int i = 0; i < b->n_places; i++) {
        const struct block_place *p = &b->places[i];
        if (!name_eq(p->axis->name, n)) continue;
        l.is_found = true;
        l.is_bound = l.is_bound || p->is_bound;
        if (p->axis->extent) l.written = p->axis->extent;
    }
    return l;
}

static struct taken find_input(const struct test_block *b, struct name n) {
    const struct taken *t = find_taken(b->takes.inputs, b->takes.n_inputs, n);
    return t ? *t : (struct taken){0};
}

/* ---- `=`: what the kernel is given ---- */

static const char *number_text(struct test_block *b, const struct ast_val *v) {
    struct buf out;
    if (v->num.is_bool) return v->num.value != 0 ? "1" : "0";
    buf_init(&out, &b->c->cx->arena);
    ast_print_num(&out, &v->num);
    return out.s;
}

static void give_label(struct test_block *b, const struct ast_entry *e, const struct label *l) {
    const struct ast_val *v = e->value;
    double fixed;
    if (v->kind != VAL_NUM || !v->num.is_integer || v->num.value < 0 || v->num.value > 0x1p40) {
        diag_error(b->c->cx, v->span, D_TEST_VALUE, "the extent of " NAME_FMT " is an integer from 0 to 2^40",
            NAME_ARG(e->name));
        return;
    }
    if (l->written && !extent_mentions_label(b->c, l->written)) {
        if (!check_const(b->c, l->written, 0, &fixed) || fixed == v->num.value) return;
        diag_error(b->c->cx, e->span, D_TEST_EXTENT, NAME_FMT " is %s here and %.17g in kernel " NAME_FMT,
            NAME_ARG(e->name), number_text(b, v), fixed, NAME_ARG(b->item->name));
        diag_fix(b->c->cx, "leave it out: the kernel fixes it");
        return;
    }
    /* What the arguments bind stays free, so that the code tested is the code that ships. */
    (l->is_bound ? extent : define)(b, e->name, number_text(b, v));
}

static void give_scalar(struct test_block *b, const struct ast_entry *e, const struct taken *t) {
    const struct ast_val *v = e->value;
    enum fx_dtype type = t->type->dtype;
    bool is_float = fx_dtype_class_of(type) == FX_CLASS_F,
         is_number = v->kind == VAL_NUM && (is_float || v->num.is_integer || v->num.is_bool);
    if (is_number && !is_float && fx_dtype_bits(type) < 64) is_number = fx_round_to(type, v->num.value) == v->num.value;
    if (is_number && type == FX_U64) is_number = v->num.value >= 0;
    if (is_number) input(b, t->name, number_text(b, v));
    else
        diag_error(b->c->cx, v->span, D_TEST_VALUE, "%s is a scalar of %s: a %s is expected", t->name,
            fx_dtype_name(type),
            is_float          ? "number"
            : type == FX_BOOL ? "truth value"
                              : "whole number that it holds");
}

static void give_const(struct test_block *b, const struct ast_entry *e) {
    if (e->value->kind == VAL_NUM) define(b, e->name, number_text(b, e->value));
    else
        diag_error(
            b->c->cx, e->value->span, D_TEST_VALUE, NAME_FMT " is a constant: a number is expected", NAME_ARG(e->name));
}

static void give_fn(struct test_block *b, const struct ast_entry *e) {
    struct name n = e->value->name;
    enum op op;
    if (e->value->kind == VAL_ID && (check_find_fn(b->c, n) || op_find(n.s, n.len, &op)))
        define(b, e->name, check_cstr(b->c, n));
    else
        diag_error(b->c->cx, e->value->span, D_TEST_VALUE, NAME_FMT " is a fn: the name of another is expected",
            NAME_ARG(e->name));
}

/* The labels of the kernel, each once. */
static const char *labels_text(const struct test_block *b) {
    struct buf out;
    buf_init(&out, &b->c->cx->arena);
    for (int i = 0; i < b->n_places && i < MAX_PLACES; i++) {
        bool is_first = true;
        for (int j = 0; j < i; j++) is_first = is_first && !name_eq(b->places[j].axis->name, b->places[i].axis->name);
        if (is_first) buf_printf(&out, "%s" NAME_FMT, out.len ? "," : "", NAME_ARG(b->places[i].axis->name));
    }
    return out.s;
}

static bool is_setting(struct name n);

static void give(struct test_block *b, const struct ast_entry *e) {
    struct label l = find_label(b, e->name);
    struct taken t = find_input(b, e->name);
    if (e->sub.len) {
        diag_error(b->c->cx, e->span, D_TEST_NAME,
            "`=` gives a value to a label, a scalar, a constant or a fn: " NAME_FMT "." NAME_FMT " is none",
            NAME_ARG(e->name), NAME_ARG(e->sub));
        diag_fix(
            b->c->cx, "a setting stands with `:`: " NAME_FMT "." NAME_FMT ": ..", NAME_ARG(e->name), NAME_ARG(e->sub));
    } else if (l.is_found) {
        give_label(b, e, &l);
    } else if (t.type && !t.type->has_axes) {
        give_scalar(b, e, &t);
    } else if (check_find_const(b->c, e->name)) {
        give_const(b, e);
    } else if (check_find_fn(b->c, e->name)) {
        give_fn(b, e);
    } else {
        diag_error(b->c->cx, e->span, D_TEST_NAME, "kernel " NAME_FMT " has no label, scalar, constant or fn " NAME_FMT,
            NAME_ARG(b->item->name), NAME_ARG(e->name));
        if (t.type) diag_fix(b->c->cx, "%s is a tensor: %s.init: says what it is drawn from", t.name, t.name);
        else if (is_setting(e->name))
            diag_fix(b->c->cx, "a setting stands with `:`: " NAME_FMT ": ..", NAME_ARG(e->name));
        else if (b->n_places) diag_fix(b->c->cx, "its labels are %s", labels_text(b));
    }
}

/* ---- `:`: what the harness is asked ---- */

static bool is_plain(const struct ast_entry *e, int kind) { return e->relation == ':' && (int)e->value->kind == kind; }

/* Whether a distribution's two numbers are in order. */
static bool is_drawable(struct name n, double x, double y) {
    if (!isfinite(x) || !isfinite(y)) return false;
    if (name_is(n, "normal")) return y >= 0;
    if (name_is(n, "uniform")) return x <= y;
    if (name_is(n, "outlier")) return true;
    return name_is(n, "integers") && x <= y && x == floor(x) && y == floor(y) && fabs(x) <= 0x1p52 && fabs(y) <= 0x1p52;
}

/* The text of a distribution as -i takes it, or NULL. */
static const char *draw_text(struct test_block *b, const struct ast_entry *e) {
    const struct ast_val *v = e->value, *x = v->items, *y = x ? x->next : NULL;
    if (e->relation != ':') return NULL;
    if (v->kind == VAL_NUM) return number_text(b, v);
    if (v->kind == VAL_ID && (name_is(v->name, "normal") || name_is(v->name, "ones"))) return check_cstr(b->c, v->name);
    if (v->kind != VAL_CALL || !y || y->next || x->kind != VAL_NUM || y->kind != VAL_NUM) return NULL;
    if (!is_drawable(v->name, x->num.value, y->num.value)) return NULL;
    return arena_printf(&b->c->cx->arena, NAME_FMT "(%s,%s)", NAME_ARG(v->name), number_text(b, x), number_text(b, y));
}

/* Draws the tensors that have no source of their own; of the kinds whose values are seldom whole, those of floats
 * alone. */
static void draw_all(struct test_block *b, const struct ast_entry *general) {
    bool is_for_floats = general->value->kind != VAL_NUM && !name_is(general->value->name, "integers") &&
                         !name_is(general->value->name, "ones");
    for (int i = 0; i < b->takes.n_inputs; i++) {
        struct taken t = b->takes.inputs[i];
        bool has_own = false;
        for (const struct ast_entry *e = b->item->entries; e; e = e->next)
            has_own = has_own || (e->relation != '=' && e->sub.len && name_is(e->name, t.name));
        if (has_own || !t.type->has_axes || (is_for_floats && fx_dtype_class_of(t.type->dtype) != FX_CLASS_F)) continue;
        input(b, t.name, draw_text(b, general));
    }
}

static const char *set_init(struct test_block *b, const struct ast_entry *e) {
    const char *source = draw_text(b, e);
    if (!source)
        return "normal, normal(mean,deviation), uniform(low,high), integers(low,high), outlier(mean,distance), ones or a number, its numbers in order";
    if (e->sub.len) input(b, check_cstr(b->c, e->name), source);
    else draw_all(b, e);
    return NULL;
}

static const char *set_seed(struct test_block *b, const struct ast_entry *e) {
    if (!is_plain(e, VAL_NUM) || !e->value->num.is_integer || e->value->num.value < 0)
        return "a whole number from 0 up";
    b->test.has_seed = true;
    b->test.seed = e->value->num.integer;
    return NULL;
}

static const char *set_tolerance(struct test_block *b, const struct ast_entry *e) {
    static const struct {
        const char *name;
        enum fx_tolerance_kind kind;
    } kinds[] = {
        {"abs", FX_TOL_ABS},
        {"rel", FX_TOL_REL},
        {"f16_ulp", FX_TOL_F16_ULP},
    };
    bool is_exact = is_plain(e, VAL_ID) && name_is(e->value->name, "exact");
    bool is_worst = is_plain(e, VAL_ID) && name_is(e->value->name, "worst");
    b->test.tolerance.kind = is_exact ? FX_TOL_EXACT : is_worst ? FX_TOL_WORST : FX_TOL_DERIVED;
    for (size_t i = 0; e->relation == '<' && i < sizeof kinds / sizeof *kinds; i++)
        if (name_is(e->what, kinds[i].name))
            b->test.tolerance = (struct fx_tolerance){kinds[i].kind, e->value->num.value};
    if (is_exact || is_worst || (b->test.tolerance.kind != FX_TOL_DERIVED && isfinite(e->value->num.value)))
        return NULL;
    return "exact or worst, or abs, rel or f16_ulp <= a finite number";
}

static const char *read_count(const struct ast_entry *e, int64_t *out) {
    double n = is_plain(e, VAL_NUM) && e->value->num.is_integer ? e->value->num.value : 0;
    if (!(n >= 1 && n <= 1e6)) return "a number of launches from 1 to 1000000";
    *out = (int64_t)n;
    return NULL;
}

static const char *set_warmup(struct test_block *b, const struct ast_entry *e) {
    return read_count(e, &b->test.warmup);
}
static const char *set_rep(struct test_block *b, const struct ast_entry *e) { return read_count(e, &b->test.rep); }

static const char *set_beside(struct test_block *b, const struct ast_entry *e) {
    static const char *const known[] = {"unfused", "cublas", "cublaslt", "cudnn"};
    static const char expected[] = "unfused, cublas, cublaslt or cudnn, or a list of them: [unfused, cublaslt]";
    if (!is_plain(e, VAL_ID) && !is_plain(e, VAL_LIST)) return expected;
    for (const struct ast_val *v = e->value->kind == VAL_LIST ? e->value->items : e->value; v; v = v->next) {
        size_t i = 0;
        while (v->kind == VAL_ID && i < sizeof known / sizeof *known && !name_is(v->name, known[i])) i++;
        if (v->kind != VAL_ID || i == sizeof known / sizeof *known) return expected;
        PUSH(&b->c->cx->arena, b->beside, b->test.n_beside) = known[i];
        if (e->value->kind == VAL_ID) break;
    }
    return NULL;
}

static const struct setting {
    const char *name;
    bool is_benchs; /* a test does not have it */
    const char *(*set)(
        struct test_block *b, const struct ast_entry *e); /* -> what was expected instead, NULL when it is set */
} settings[] = {
    {"init", false, set_init},
    {"seed", false, set_seed},
    {"tol", false, set_tolerance},
    {"warmup", true, set_warmup},
    {"rep", true, set_rep},
    {"vs", true, set_beside},
};

static const struct setting *find_setting(struct name n) {
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        if (name_is(n, settings[i].name)) return &settings[i];
    return NULL;
}

static bool is_setting(struct name n) { return find_setting(n) != NULL; }

/* Whether e names a setting of this block, with an input where it has one; says so if not. */
static bool names_setting(struct test_block *b, const struct ast_entry *e, const struct setting *s) {
    struct cx *cx = b->c->cx;
    struct name n = e->sub.len ? e->sub : e->name;
    if (!s || (e->sub.len && s->set != set_init)) {
        diag_error(cx, e->span, D_TEST_SETTING, "there is no setting %s" NAME_FMT, s ? "of an input called " : "",
            NAME_ARG(n));
        if (!s && find_label(b, n).is_found) diag_fix(cx, "an extent is given with `=`: " NAME_FMT "=..", NAME_ARG(n));
        else
            diag_fix(cx,
                "there are init, seed and tol, in a bench warmup, rep and vs as well; for one input there is init: x.init: ..");
        return false;
    }
    if (s->is_benchs && !b->test.is_bench) {
        diag_error(cx, e->span, D_TEST_SETTING, "%s is a setting of bench blocks, this is a test", s->name);
        diag_fix(cx, "leave it out, or write a bench block: bench " NAME_FMT " { .. }", NAME_ARG(b->item->name));
        return false;
    }
    if (!e->sub.len || find_input(b, e->name).type) return true;
    diag_error(cx, e->span, D_TEST_NAME, "kernel " NAME_FMT " has no input " NAME_FMT, NAME_ARG(b->item->name),
        NAME_ARG(e->name));
    return false;
}

static void set(struct test_block *b, const struct ast_entry *e) {
    const struct setting *s = find_setting(e->sub.len ? e->sub : e->name);
    if (!names_setting(b, e, s)) return;
    const char *expected = s->set(b, e);
    if (expected) diag_error(b->c->cx, e->span, D_TEST_VALUE, "%s takes %s", s->name, expected);
}

/* ---- blocks ---- */

static bool is_repeated(const struct test_block *b, const struct ast_entry *e) {
    for (const struct ast_entry *f = b->item->entries; f != e; f = f->next)
        if (name_eq(f->name, e->name) && name_eq(f->sub, e->sub) && (f->relation == '=') == (e->relation == '=')) {
            diag_error(b->c->cx, e->span, D_TEST_TWICE,
                NAME_FMT "%s" NAME_FMT " stands a second time in this block; first on line %d", NAME_ARG(e->name),
                e->sub.len ? "." : "", NAME_ARG(e->sub), span_line(b->c->cx, f->span));
            diag_fix(b->c->cx, "leave one of them out");
            return true;
        }
    return false;
}

static void refuse_kernel(struct checker *c, const struct ast_item *item) {
    struct buf known;
    buf_init(&known, &c->cx->arena);
    for (const struct ast_item *i = c->file->items; i; i = i->next)
        if ((i->kind == ITEM_KERNEL || i->kind == ITEM_GRAD) && known.len < 200)
            buf_printf(&known, "%s" NAME_FMT, known.len ? ", " : "", NAME_ARG(i->name));
    diag_error(c->cx, item->name_span, D_TEST_KERNEL, "there is no kernel " NAME_FMT " to %s", NAME_ARG(item->name),
               item->kind == ITEM_TEST ? "test" : "bench");
    if (known.len) diag_fix(c->cx, "the file has %s", known.s);
}

static void check_block(struct checker *c, struct program *p, const struct ast_item *item) {
    struct test_block b = {.c = c, .item = item};
    const struct ast_item *kernel = find_signature(c, find_kernel(c, item->name), &b.takes);
    if (!kernel) {
        refuse_kernel(c, item);
        return;
    }
    find_places(&b, kernel);
    b.test = (struct fx_test){.kernel = check_cstr(c, item->name),
        .file = c->cx->files[item->span.file].name,
        .line = span_line(c->cx, item->span),
        .is_bench = item->kind == ITEM_BENCH};
    for (const struct ast_entry *e = item->entries; e; e = e->next)
        if (!is_repeated(&b, e)) (e->relation == '=' ? give : set)(&b, e);
    b.test.defines = b.defines;
    b.test.extents = b.extents;
    b.test.inputs = b.inputs;
    b.test.beside = b.beside;
    PUSH(&c->cx->arena, p->tests, p->n_tests) = b.test;
}

void check_tests(struct checker *c, struct program *p, const char *kernel) {
    for (const struct ast_item *i = c->file->items; i; i = i->next)
        if ((i->kind == ITEM_TEST || i->kind == ITEM_BENCH) && (!kernel || name_is(i->name, kernel)))
            check_block(c, p, i);
}
