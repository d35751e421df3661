/* Values of nodes in a scope, as C statements: the computation of one element by one thread, for any node.
 *
 * In: a node and a scope, which gives every label of it an index as a C expression. Out: the statements that compute
 * it, each node once in the innermost scope whose indices it depends on, and the text that then names it. A reduction
 * becomes loops, an access a read at its positions (guarded if a value outside is given), a scan a loop up to the
 * element. */
#include <string.h>

#include "emit/emit.h"
#include "emit/emit_address.h"

struct values values_open(struct buf *out, const struct scheduled_graph *c, const struct launch *l,
    struct value_names *names, value_available *available, void *user) {
    const struct graph *g = c->graph;
    return (struct values){.out = out,
        .g = g,
        .partition = c->partition,
        .group = l->kernel->group,
        .param_names = l->param_names,
        .axis_names = l->axis_names,
        .stride_names = l->stride_names,
        .available = available,
        .user = user,
        .names = names,
        .index = "index",
        .hoisted = NEW_ARRAY(&g->cx->arena, int, g->n_nodes + 1)};
}

struct arena *value_arena(const struct values *w) { return &w->g->cx->arena; }

void value_line(struct values *w, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    for (int i = 0; i < w->indent; i++) buf_puts(w->out, "  ");
    buf_vprintf(w->out, fmt, ap);
    va_end(ap);
    buf_putc(w->out, '\n');
}

void value_open_function(struct values *w, const char *fmt, ...) {
    struct buf head, *statements = NEW(value_arena(w), struct buf);
    va_list ap;
    buf_init(&head, value_arena(w));
    va_start(ap, fmt);
    buf_vprintf(&head, fmt, ap);
    va_end(ap);
    buf_init(statements, value_arena(w));
    w->head = head.s;
    w->around = w->out;
    w->out = statements;
    w->indent = (int)strspn(head.s, " ") / 2 + 1;
    emit_begin_function(w->names);
}

void value_close_function(struct values *w) {
    const char *statements = w->out->s;
    w->out = w->around;
    emit_function(w->out, w->head, statements ? statements : "");
}

/* ---- scopes ---- */

struct scope *scope_open(struct values *w, const struct scope *outer) {
    struct scope *p = NEW(value_arena(w), struct scope);
    p->outer = outer;
    p->at = NEW_ARRAY(value_arena(w), const char *, w->g->kernel->n_axes + 1);
    p->text = NEW_ARRAY(value_arena(w), const char *, w->g->n_nodes + 1);
    return p;
}

static void set(struct values *w, const char ***list, const struct node *n, const char *text) {
    if (!*list) *list = NEW_ARRAY(value_arena(w), const char *, w->g->n_nodes + 1);
    (*list)[n->id] = text;
}

void scope_set_place(struct values *w, struct scope *p, const struct node *n, const char *place) {
    set(w, &p->place, n, place);
}
void scope_set_known(struct values *w, struct scope *p, const struct node *n, const char *known) {
    set(w, &p->known, n, known);
}

const char *scope_index(const struct values *w, const struct scope *p, int axis) {
    for (; p; p = p->outer)
        if (p->at[axis]) return p->at[axis];
    return w->g->kernel->axes[axis].extent == 1 ? "0" : NULL;
}

/* Whether p itself gives a label of n an index: else n is what it is outside. */
static bool depends_on(const struct node *n, const struct scope *p) {
    for (int i = 0; i < n->n_axes; i++)
        if (p->at[n->axes[i]]) return true;
    return false;
}

static const char *text_at(const struct node *n, const struct scope *p) {
    for (;; p = p->outer) {
        if (p->text[n->id]) return p->text[n->id];
        if (!p->outer || depends_on(n, p)) return NULL;
    }
}

/* ---- memory ---- */

static const char *extent_name(const struct values *w, int axis) { return w->axis_names[axis]; }

const char *value_element(struct values *w, const struct scope *p, const char *name, const struct tensor *t) {
    if (t->is_split) return arena_printf(value_arena(w), "fx_split_value(%s + (%s))", name, address_offset(w, p, t));
    return value_of_element(w, t->dtype, arena_printf(value_arena(w), "%s[%s]", name, address_offset(w, p, t)));
}

/* The word that holds an element, and the field in it. */
static const char *load_packed(struct values *w, const struct scope *p, int param) {
    const struct param *t = &w->g->kernel->params[param];
    return arena_printf(value_arena(w), "fx_field<%d, %s, %s>(%s[%s], (int)((%s) %% %d))", fx_dtype_bits(t->dtype),
        fx_dtype_class_of(t->dtype) == FX_CLASS_S ? "true" : "false", t->packed.is_msb ? "true" : "false",
        w->param_names[param], address_word_offset(w, p, param), scope_index(w, p, t->axes[t->packed.axis]),
        t->packed.factor);
}

static const char *load_param(struct values *w, const struct scope *p, int param) {
    struct tensor t = tensor_of_param(w->g, param);
    return w->g->kernel->params[param].packed.factor ? load_packed(w, p, param)
                                                     : value_element(w, p, w->param_names[param], &t);
}

/* ---- positions in 32 bits ---- */

static bool is_narrow(const struct values *w, const struct node *n) { return w->narrow && w->narrow[n->id].is_narrow; }

/* The value of n as its own type, whatever it was computed in. */
static const char *wide_at(struct values *w, struct scope *p, struct node *n) {
    const char *text = value_at(w, p, n);
    return n->kind == N_OP && is_narrow(w, n) ? arena_printf(value_arena(w), "(long long)%s", text) : text;
}

/* The value of a narrow n as an `index`. */
static const char *narrow_at(struct values *w, struct scope *p, struct node *n) {
    struct arena *a = value_arena(w);
    if (n->kind == N_CONST) return arena_printf(a, "(%s)%lld", w->index, (long long)n->integer);
    if (n->kind == N_SIZE) return arena_printf(a, "(%s)%s", w->index, extent_name(w, n->axis));
    if (n->kind == N_INDEX) return arena_printf(a, "(%s)%s", w->index, scope_index(w, p, n->axis));
    return value_at(w, p, n);
}

/* ---- comments ---- */

/* Blanks run together: what was written may go over lines. */
static const char *on_one_line(struct arena *a, const char *text) {
    char *s = arena_printf(a, "%s", text), *to = s;
    for (const char *c = s; *c; c++)
        if (*c != ' ' || c[1] != ' ') *to++ = *c;
    *to = 0;
    return s;
}

const char *value_source(const struct graph *g, const struct node *n) {
    struct buf s;
    if (!n->source) return NULL;
    if (n->source->span.file != n->span.file) return on_one_line(&g->cx->arena, span_text(g->cx, n->span));
    buf_init(&s, &g->cx->arena);
    ast_print_expr_short(&s, n->source, 60);
    return s.s;
}

const char *value_comment(const struct graph *g, const struct node *n) {
    const char *source = value_source(g, n);
    return source ? arena_printf(&g->cx->arena, "  // line %d: %s", span_line(g->cx, n->span), source) : "";
}

/* ---- loops and guards ---- */

/* Computes in p what stands below n and does not depend on the axes that an inner scope will bind. */
static void hoist(struct values *w, struct scope *p, struct node *n, const bool *bound);

static void hoist_args(struct values *w, struct scope *p, struct node *n, const bool *bound) {
    for (int i = 0; i < n->n_args; i++) hoist(w, p, n->args[i], bound);
}

static void hoist(struct values *w, struct scope *p, struct node *n, const bool *bound) {
    struct tensor t;
    bool inside = false;
    if (n->kind == N_CONST || n->kind == N_SCALAR || w->hoisted[n->id] == w->n_hoists) return;
    w->hoisted[n->id] = w->n_hoists;
    for (int i = 0; i < n->n_axes; i++) inside |= bound[n->axes[i]];
    if (!inside) value_at(w, p, n);
    else if (node_is_loaded(w->g, w->partition, w->group, n, &t)) return; /* what it is made of is not read */
    else if (n->kind == N_OP || n->kind == N_CAST) hoist_args(w, p, n, bound);
    else if (n->kind == N_ACCESS && w->narrow)
        for (int i = 1; i < n->n_args; i++)
            hoist(w, p, n->args[i], bound); /* positions and what is outside: needed wherever it is */
}

/* Computes in p what stands below n and does not depend on the axes that an inner scope will bind. */
static void value_hoist(struct values *w, struct scope *p, struct node *n, const int *axes, int n_axes) {
    bool *bound = NEW_ARRAY(value_arena(w), bool, w->g->kernel->n_axes + 1);
    for (int i = 0; i < n_axes; i++) bound[axes[i]] = true;
    w->n_hoists++;
    hoist(w, p, n, bound);
}

int value_open_block(struct values *w) {
    w->indent++;
    return w->names->locals.n;
}

void value_close_block(struct values *w, int block, const char *end) {
    w->indent--;
    value_line(w, "%s", end);
    identifiers_give_back(&w->names->locals, block);
}

static const char *loop_variable(struct values *w, int axis) {
    return emit_local_as(
        w->names, arena_printf(value_arena(w), "i_%s_", name_encoded(value_arena(w), w->g->kernel->axes[axis].name)));
}

/* Opens a loop over the axis up to `end`; gives what closes it. */
static int open_loop(struct values *w, struct scope *inner, int axis, const char *end) {
    int block = w->names->locals.n;
    const char *i = loop_variable(w, axis);
    value_line(w, "for (long long %s = 0; %s < %s; ++%s) {", i, i, end, i);
    value_open_block(w);
    inner->at[axis] = i;
    return block;
}

static const char *reduce_at(struct values *w, struct scope *p, struct node *n) {
    const char *t = emit_local(w->names, n);
    enum fx_dtype of = n->args[0]->dtype;
    int blocks[MAX_AXES];
    value_hoist(w, p, n->args[0], n->reduced, n->n_reduced);
    value_line(w, "%s %s = %s;%s", value_ctype(n->dtype), t, value_start(w, n->reduction, of), value_comment(w->g, n));
    struct scope *inner = scope_open(w, p);
    for (int i = 0; i < n->n_reduced; i++)
        blocks[i] = open_loop(w, inner, n->reduced[i], extent_name(w, n->reduced[i]));
    const char *term = wide_at(w, inner, n->args[0]);
    value_line(w, "%s = %s;", t, value_combined(w, n->reduction, of, t, term));
    for (int i = n->n_reduced - 1; i >= 0; i--) value_close_block(w, blocks[i], "}");
    return t;
}

/* The index of the first extreme; the first NaN, once met, stays. */
static const char *extreme_at(struct values *w, struct scope *p, struct node *n) {
    const char *t = emit_local(w->names, n), *best = arena_printf(value_arena(w), "%sbest", t),
               *c = value_ctype(n->args[0]->dtype);
    int axis = n->reduced[0];
    value_hoist(w, p, n->args[0], &axis, 1);
    value_line(w, "long long %s = 0;%s", t, value_comment(w->g, n));
    value_line(w, "%s %s = 0;", c, best);
    struct scope *inner = scope_open(w, p);
    int block = open_loop(w, inner, axis, extent_name(w, axis));
    const char *term = wide_at(w, inner, n->args[0]), *i = inner->at[axis];
    value_line(w, "if (%s == 0 || (%s == %s && !(%s %s %s))) %s = %s, %s = %s;", i, best, best, term,
        n->reduction == RED_ARGMAX ? "<=" : ">=", best, t, i, best, term);
    value_close_block(w, block, "}");
    return t;
}

static const char *scan_at(struct values *w, struct scope *p, struct node *n) {
    const char *t = emit_local(w->names, n), *end = scope_index(w, p, n->axis);
    bool is_recurrence = n->reduction == RED_RECUR;
    for (int i = 0; i < n->n_args; i++) value_hoist(w, p, n->args[i], &n->axis, 1);
    value_line(w, "%s %s = %s;%s", value_ctype(n->dtype), t,
        value_start(w, is_recurrence ? RED_SUM : n->reduction, n->dtype), value_comment(w->g, n));
    struct scope *inner = scope_open(w, p);
    int block = open_loop(w, inner, n->axis, arena_printf(value_arena(w), "%s + 1", end));
    const char *term = wide_at(w, inner, n->args[0]);
    if (is_recurrence) {
        const char *factor = wide_at(w, inner, n->args[1]);
        value_line(w, "%s = %s == 0 ? %s : %s;", t, inner->at[n->axis], term, value_fma(w, n->dtype, factor, t, term));
    } else {
        value_line(w, "%s = %s;", t, value_combined(w, n->reduction, n->dtype, t, term));
    }
    value_close_block(w, block, "}");
    return t;
}

/* By a loop over the run that p stands in. */
static const char *share_at(struct values *w, struct scope *p, struct node *n) {
    const char *t = emit_local(w->names, n), *at = scope_index(w, p, n->axis);
    value_hoist(w, p, n->args[0], &n->axis, 1);
    value_line(
        w, "%s %s = %s;%s", value_ctype(n->dtype), t, value_start(w, n->reduction, n->dtype), value_comment(w->g, n));
    int block = w->names->locals.n;
    const char *i = loop_variable(w, n->axis);
    value_line(w, "for (long long %s = (%s) / %d * %dll, %send = %s + %d; %s < %send%s; ++%s) {", i, at, n->run, n->run,
        i, i, n->run, i, i,
        n->is_ragged ? arena_printf(value_arena(w), " && %s < %s", i, extent_name(w, n->axis)) : "", i);
    value_open_block(w);
    struct scope *inner = scope_open(w, p);
    inner->at[n->axis] = i;
    const char *term = wide_at(w, inner, n->args[0]);
    value_line(w, "%s = %s;", t, value_combined(w, n->reduction, n->dtype, t, term));
    value_close_block(w, block, "}");
    return t;
}

struct scope *value_open_access(struct values *w, struct scope *p, struct node *n, const char **inside) {
    struct arena *a = value_arena(w);
    const char *positions[MAX_AXES];
    struct buf all;
    buf_init(&all, a);
    for (int i = 0; i < n->n_at; i++) {
        /* Of a label fixed at 1 only one position lies inside, and no address has it. */
        bool narrow = (n->args[1 + i]->kind == N_OP || n->args[1 + i]->kind == N_INDEX) && is_narrow(w, n->args[1 + i]);
        const char *text = !n->has_fill && w->g->kernel->axes[n->at[i]].extent == 1 ? "0ll"
                           : narrow                                                 ? narrow_at(w, p, n->args[1 + i])
                                                                                    : value_at(w, p, n->args[1 + i]);
        positions[i] = n->has_fill || strpbrk(text, " (") ? emit_local_position(w->names, n->args[0], n->at[i]) : text;
        if (positions[i] == text) continue;
        bool is_u64 = n->args[1 + i]->dtype == FX_U64; /* of others every value is one of long long */
        value_line(w, "const %s %s = %s;",
            narrow   ? w->index
            : is_u64 ? "unsigned long long"
                     : "long long",
            positions[i], text);
        if (i) buf_puts(&all, " && ");
        if (!is_u64 && !(narrow && w->narrow[n->args[1 + i]->id].lo >= 0))
            buf_printf(&all, "%s >= 0 && ", positions[i]);
        buf_printf(&all, "%s < ", positions[i]);
        if (narrow) buf_printf(&all, "(%s)", w->index);
        buf_puts(&all, extent_name(w, n->at[i]));
    }
    struct scope *inner = scope_open(w, p);
    for (int i = 0; i < n->n_at; i++) inner->at[n->at[i]] = positions[i];
    *inside = n->has_fill ? all.s : NULL;
    return inner;
}

static const char *access_at(struct values *w, struct scope *p, struct node *n) {
    const char *inside, *fill = n->has_fill ? wide_at(w, p, n->args[1 + n->n_at]) : NULL;
    struct scope *inner = value_open_access(w, p, n, &inside);
    if (!inside) return wide_at(w, inner, n->args[0]);
    const char *t = emit_local(w->names, n);
    value_line(w, "%s %s = %s;%s", value_ctype(n->dtype), t, fill, value_comment(w->g, n));
    value_line(w, "if (%s) {", inside);
    int block = value_open_block(w);
    value_put(w, inner, n->args[0], t);
    value_close_block(w, block, "}");
    return t;
}

/* ---- the pass ---- */

static const char *leaf_at(struct values *w, struct scope *p, const struct node *n) {
    const char *text = w->available ? w->available(w, p, n) : NULL;
    if (text) return text;
    switch (n->kind) {
    case N_CONST: return value_literal(w, n);
    case N_SCALAR: return w->param_names[n->param];
    case N_SIZE: return arena_printf(value_arena(w), "(long long)%s", extent_name(w, n->axis));
    case N_INDEX: return arena_printf(value_arena(w), "(long long)%s", scope_index(w, p, n->axis));
    default: return NULL;
    }
}

/* The cosine of what n is the sine of, or the other way round, of floats of 32 bits; NULL: nothing needs it. */
static const struct node *angle_partner(const struct values *w, const struct node *n) {
    if ((!node_is_op(n, O_SIN) && !node_is_op(n, O_COS)) || n->dtype != FX_F32) return NULL;
    for (int i = n->args[0]->id + 1; i < w->g->n_nodes; i++) {
        const struct node *m = w->g->nodes[i];
        if (m != n && (node_is_op(m, O_SIN) || node_is_op(m, O_COS)) && m->args[0] == n->args[0]) return m;
    }
    return NULL;
}

/* Both at once, as most of their work is one reduction of the angle. NULL: n is to stand by itself. */
static const char *angle_at(struct values *w, struct scope *p, struct node *n) {
    const struct node *partner = angle_partner(w, n);
    for (int i = 0; partner && i < 2; i++) {
        const int id = i ? partner->id : n->id;
        if (p->text[id] || (p->place && p->place[id]) || (p->known && p->known[id])) return NULL;
    }
    if (!partner) return NULL;
    const char *of = wide_at(w, p, n->args[0]), *both = emit_local(w->names, n->args[0]);
    value_line(w, "const fx_angle %s = fx_angle_of(%s);%s", both, of, value_comment(w->g, n));
    p->text[partner->id] = arena_printf(value_arena(w), "%s.%s", both, node_is_op(partner, O_SIN) ? "sin" : "cos");
    return arena_printf(value_arena(w), "%s.%s", both, node_is_op(n, O_SIN) ? "sin" : "cos");
}

static const char *compute(struct values *w, struct scope *p, struct node *n) {
    const char *args[3], *what;
    bool narrow = n->kind == N_OP && (is_narrow(w, n) || op_info[n->op].rule == RULE_COMPARE); /* computed in `index` */
    switch (n->kind) {
    case N_REDUCE:
        return n->reduction == RED_ARGMAX || n->reduction == RED_ARGMIN ? extreme_at(w, p, n) : reduce_at(w, p, n);
    case N_SCAN: return scan_at(w, p, n);
    case N_SHARE: return share_at(w, p, n);
    case N_ACCESS: return access_at(w, p, n);
    case N_INPUT: what = load_param(w, p, n->param); break;
    case N_CAST: what = value_cast(w, n, wide_at(w, p, n->args[0])); break;
    default:
        what = angle_at(w, p, n);
        if (what) return what;
        for (int i = 0; i < n->n_args; i++) narrow &= is_narrow(w, n->args[i]);
        for (int i = 0; i < n->n_args; i++) args[i] = narrow ? narrow_at(w, p, n->args[i]) : wide_at(w, p, n->args[i]);
        if (w->is_pair && w->is_pair[n->id]) return arena_printf(value_arena(w), "%s, %s", args[0], args[1]);
        if (n->kind == N_OP && n->op == O_ROUND && !(p->place && p->place[n->id]) && !(p->known && p->known[n->id]) &&
            value_is_rounded_late(w, n))
            return args[0];
        what = is_narrow(w, n) ? value_narrow_operation(w, n, args) : value_operation(w, n, args);
        break;
    }
    const char *place = p->place && !is_narrow(w, n) ? p->place[n->id] : NULL,
               *known = p->known && p->known[n->id] ? p->known[n->id] : "";
    if (place) {
        value_line(w, "%s = %s;%s", place, what, value_comment(w->g, n));
        return place;
    }
    const char *name = emit_local(w->names, n);
    value_line(w, "const %s %s = %s%s;%s", n->kind == N_OP && is_narrow(w, n) ? w->index : value_ctype(n->dtype), name,
        known, what, value_comment(w->g, n));
    return name;
}

const char *value_at(struct values *w, struct scope *p, struct node *n) {
    const char *text = text_at(n, p);
    if (text) return text;
    text = leaf_at(w, p, n);
    if (!text) text = compute(w, p, n);
    return p->text[n->id] = text;
}

void value_assign(struct values *w, const char *place, const char *value) {
    if (strcmp(value, place) != 0) value_line(w, "%s = %s;", place, value);
}

void value_put(struct values *w, struct scope *p, struct node *n, const char *place) {
    scope_set_place(w, p, n, place);
    value_assign(w, place, wide_at(w, p, n));
}
