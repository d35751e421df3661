/* The members of the problem struct of a row program: what the row driver asks of it (kernels/driver_row.cuh).
 *
 * In: a scheduled group of rows. Out: its types (what vectors hold, what is known of a row, the sums of each pass,
 * running sums) and methods, each the values of some nodes at one element, or at one row, written by emit_value.c.
 * Offsets are 64-bit; row and column are the driver's flattened indices. */
#include <string.h>

#include "emit/emit.h"
#include "emit/emit_address.h"
#include "schedule/row_program.h"

struct rows {
    struct values w; /* statements being written; its user is this */
    const struct unit *u;
    const struct scheduled_graph *c;
    const struct launch *l;
    const struct group *r;
    const struct row_program *x;
};

static struct arena *arena(struct rows *b) { return &b->u->cx->arena; }
/* Where an extreme stands: of a part in 64 bits, as the kernel that combines parts may be compiled for another
 * index. */
static const char *place_type(const struct rows *b) { return b->l->kernel->parts ? "long long" : "index"; }
static bool is_arg(const struct node *n) { return n->reduction == RED_ARGMAX || n->reduction == RED_ARGMIN; }
static const char *name_of(const struct rows *b, const struct tensor *t) { return address_tensor(b->l, t); }
static bool is_converted(enum fx_dtype t) { return t == FX_F32 || t == FX_F16 || t == FX_BF16; }
/* A member of sums: a condition takes a word. */
static const char *sum_type(enum fx_dtype t) { return t == FX_BOOL ? "int" : value_ctype(t); }
static bool is_wide_type(const char *type) { return strstr(type, "long long") || strcmp(type, "double") == 0; }
/* What a running sum is of. */
static const char *scan_type(struct arena *a, const struct node *n) {
    const char *type = sum_type(n->dtype);
    return n->reduction == RED_RECUR ? arena_printf(a, "fx_step<%s>", type) : type;
}
static const char *member(struct rows *b, const struct node *n) { return emit_member(b->w.names, n); }

/* ---- indices ---- */

/* The element of t at a row and a column. */
static const char *element(struct rows *b, const struct tensor *t, const char *row, const char *col) {
    const struct flat_index f[] = {
        {.labels = &b->x->rows, .var = row, .type = "index"},
        {.labels = &b->x->cols, .var = col, .type = "index"},
    };
    struct buf s;
    buf_init(&s, arena(b));
    buf_puts(&s, name_of(b, t));
    address_add_runs(&b->w, &s, t, f, 2);
    return s.s;
}

static void bind(struct rows *b, struct scope *p, const int *axes, int n, const struct axis_list *l, const char *var) {
    const struct flat_index f = {.labels = l, .var = var, .type = "index"};
    for (int i = 0; i < n; i++) {
        int at = find_label(l, axes[i]);
        p->at[axes[i]] = at < 0 ? "0" : address_factor(arena(b), b->l->axis_names, &f, at, at);
    }
}

/* ---- available values ---- */

static const char *available(struct values *w, const struct scope *p, const struct node *n) {
    struct rows *b = w->user;
    struct tensor t;
    if (n->kind == N_SCALAR)
        return value_of_element(w, w->g->kernel->params[n->param].dtype, b->l->param_names[n->param]);
    if (!node_is_loaded(w->g, b->c->partition, b->r, n, &t) || t.param >= 0) return NULL;
    return value_element(w, p, name_of(b, &t), &t);
}

/* Names what `list`, kept in `frag`, holds of loaded nodes. */
static void give_held(struct rows *b, struct scope *p, const struct tensor *list, int n_list, const char *frag) {
    for (int i = 0; i < b->w.g->n_nodes; i++) {
        const struct node *n = b->w.g->nodes[i];
        struct tensor t;
        if (!b->x->is_in_space[i] || !node_is_loaded(b->w.g, b->c->partition, b->r, n, &t)) continue;
        for (int k = 0; k < n_list; k++)
            if (list[k].param == t.param && list[k].buffer == t.buffer)
                p->text[i] = value_of_element(
                    &b->w, t.dtype, arena_printf(arena(b), "%s.%s.get(v)", frag, name_of(b, &t)));
    }
}

/* The scope of the row: what the passes before number `pass` left stands in `results`. */
static struct scope *at_row(struct rows *b, int pass, const char *row, const char *results) {
    struct scope *p = scope_open(&b->w, NULL);
    for (int i = 0; i < b->x->n_known; i++) b->w.divisor[b->x->known[i]->id] = NULL;
    bind(b, p, b->r->axes, b->r->n_axes, &b->x->rows, row);
    for (int i = 0; i < b->x->n_known; i++) {
        const struct node *n = b->x->known[i];
        if (b->x->level[n->id] <= pass) p->text[n->id] = arena_printf(arena(b), "%s.%s", results, member(b, n));
    }
    return p;
}

/* The scope of an element of it. */
static struct scope *at_element(
    struct rows *b, int pass, const char *row, const char *col, const char *results, bool has_tail) {
    struct scope *p = at_row(b, pass, row, results);
    bind(b, p, b->r->reduced, b->r->n_reduced, &b->x->cols, col);
    give_held(b, p, b->x->held, b->x->n_held, "f");
    for (int i = 0; i < b->x->n_known; i++)
        if (b->x->divides[b->x->known[i]->id])
            b->w.divisor[b->x->known[i]->id] =
                arena_printf(arena(b), "%s.%sdivisor_", results, member(b, b->x->known[i]));
    if (has_tail) give_held(b, p, b->x->tail, b->x->n_tail, "t");
    for (int i = 0; i < b->x->n_scans; i++)
        p->text[b->x->scans[i]->id] = arena_printf(arena(b),
            b->x->scans[i]->reduction == RED_RECUR ? "s.%s[v].b" : "s.%s[v]", member(b, b->x->scans[i]));
    return p;
}

/* Which of the nodes kept in registers n is, or -1. */
static int find_kept(const struct rows *b, const struct node *n) {
    for (int k = 0; k < b->x->n_kept; k++)
        if (b->x->kept[k] == n) return k;
    return -1;
}

/* Where V elements lie across rows: computes ahead of them, in `column`, what needs no row. What is available at
 * an element, p, is not available there. */
static void emit_column_values(struct rows *b, struct scope *column, const struct scope *p) {
    const bool *needed = b->x->passes[b->x->n_passes].elements;
    bool *reads_available = NEW_ARRAY(arena(b), bool, b->w.g->n_nodes + 1);
    for (int i = 0; i < b->w.g->n_nodes; i++) {
        struct node *n = b->w.g->nodes[i];
        reads_available[i] = p->text[i] || find_kept(b, n) >= 0;
        for (int a = 0; a < n->n_args; a++) reads_available[i] |= reads_available[n->args[a]->id];
        if (needed[i] && n->kind != N_PLACE && !reads_available[i] && !node_has_any(n, b->r->axes, b->r->n_axes) &&
            b->x->is_in_space[i])
            value_at(&b->w, column, n);
    }
}

/* Computes in p what elements of a pass read, operands first and each once, so that no chain of them is walked deep.
 * What an earlier pass computed and registers keep is read. */
static void emit_needed(struct rows *b, struct scope *p, int pass) {
    const bool *needed = b->x->passes[pass].elements;
    for (int i = 0; i < b->w.g->n_nodes; i++) {
        struct node *n = b->w.g->nodes[i];
        int k = find_kept(b, n);
        if (!needed[i] || !b->x->is_in_space[i] || n->kind == N_PLACE) continue;
        if (k < 0 || b->x->kept_in[k] > pass) {
            value_at(&b->w, p, n);
            continue;
        }
        const char *kept = arena_printf(arena(b), "f.%s[v]", member(b, n)),
                   *known = arena_printf(arena(b), "KEPT ? %s : ", kept);
        if (b->x->kept_in[k] == pass) {
            value_put(&b->w, p, n, kept);
            continue;
        }
        scope_set_known(&b->w, p, n, known);
        const char *value = value_at(&b->w, p, n);
        if (n->kind == N_OP || n->kind == N_CAST) continue; /* set so where it was computed */
        p->text[i] = emit_local(b->w.names, n);
        value_line(&b->w, "const %s %s = %s%s;", value_ctype(n->dtype), p->text[i], known, value);
    }
}

/* ---- types ---- */

static void emit_held(
    struct rows *b, const char *type, const char *what, const struct tensor *list, int n, bool has_kept) {
    if (!n && !(has_kept && b->x->n_kept)) {
        buf_line(b->w.out, "  template <int V> using %s = fx_nothing;  // %s", type, what);
        return;
    }
    buf_line(b->w.out, "  template <int V> struct %s {  // %s", type, what);
    for (int i = 0; i < n; i++)
        buf_line(b->w.out, "    fx_held<%s, V> %s;", emit_ctype(list[i].dtype), name_of(b, &list[i]));
    for (int i = 0; has_kept && i < b->x->n_kept; i++)
        buf_line(b->w.out, "    %s %s[V];", value_ctype(b->x->kept[i]->dtype), member(b, b->x->kept[i]));
    buf_line(b->w.out, "  };");
}

static void emit_results_type(struct rows *b) {
    if (!b->x->n_known) {
        buf_line(b->w.out, "  typedef fx_nothing results;  // what is known of a row");
        return;
    }
    buf_line(b->w.out, "  struct results {  // what is known of a row");
    for (int i = 0; i < b->x->n_known; i++) {
        const struct node *n = b->x->known[i];
        buf_line(b->w.out, "    %s %s;%s", value_ctype(n->dtype), member(b, n), value_comment(b->w.g, n));
        if (b->x->divides[n->id]) buf_line(b->w.out, "    fx_divisor %sdivisor_;", member(b, n));
    }
    buf_line(b->w.out, "  };");
}

/* Whether what a pass adds up takes words to memory and ends in half of 8 bytes: the sums of 8 bytes stand first, and a
 * word behind them all has to be written. */
static bool has_rest(const struct rows *b, int pass) {
    int n_words = 0;
    bool has_wide = false;
    for (int i = 0; i < b->x->passes[pass].n_ends; i++) {
        const struct node *n = b->x->passes[pass].ends[i];
        bool is_wide = is_wide_type(sum_type(n->args[0]->dtype));
        n_words += is_wide ? 2 : 1;
        has_wide |= is_wide || is_arg(n); /* a place takes 8 bytes */
    }
    return b->l->kernel->parts && has_wide && n_words % 2;
}

static void emit_sums_type(struct rows *b, int pass) {
    bool has_parts = b->l->kernel->parts;
    buf_line(b->w.out, "  struct sums%d {  // what pass %d over a row adds up", pass, pass);
    for (int wide = has_parts; wide >= 0; wide--)
        for (int i = 0; i < b->x->passes[pass].n_ends; i++) {
            const struct node *n = b->x->passes[pass].ends[i];
            const char *type = sum_type(n->args[0]->dtype);
            if (!has_parts || is_wide_type(type) == wide)
                buf_line(b->w.out, "    %s %s;%s", type, member(b, n), value_comment(b->w.g, n));
            if (is_arg(n) && wide == has_parts) buf_line(b->w.out, "    %s %sat;", place_type(b), member(b, n));
        }
    if (has_rest(b, pass))
        buf_line(b->w.out, "    int rest;  // so that no byte of what is kept in memory is left to chance");
    buf_line(b->w.out, "  };");
}

static void emit_scans_type(struct rows *b) {
    buf_line(b->w.out, b->x->n_scans ? "  template <int N> struct scans {  // running sums"
                                     : "  template <int N> using scans = fx_nothing;  // running sums");
    for (int i = 0; i < b->x->n_scans; i++)
        buf_line(b->w.out, "    %s %s[N];%s", scan_type(arena(b), b->x->scans[i]), member(b, b->x->scans[i]),
            value_comment(b->w.g, b->x->scans[i]));
    if (b->x->n_scans) buf_line(b->w.out, "  };");
}

/* ---- reading ---- */

static bool is_of_rows(const struct rows *b, const struct tensor *t) {
    for (int i = 0; i < t->n_axes; i++)
        if (axes_have(b->x->rows.axes, b->x->rows.n, t->axes[i])) return true;
    return false;
}

static void emit_fetch(struct rows *b, const char *name, const char *type, const char *var, const struct tensor *list,
    int n, bool has_kept, bool is_again) {
    if (!n && !(has_kept && b->x->n_kept)) return;
    value_open_function(
        &b->w, "  template <int V> FX_DEVICE void %s(%s<V> &%s, index row, index col) const", name, type, var);
    for (int i = 0; i < n; i++)
        if (!is_again || is_of_rows(b, &list[i]))
            buf_line(
                b->w.out, "    fx_hold(%s.%s, %s);", var, name_of(b, &list[i]), element(b, &list[i], "row", "col"));
    value_close_function(&b->w);
}

/* Whether something of a row is made ahead of a pass: values, or divisors of elements. */
static bool has_prepare(const struct rows *b, int pass) {
    bool divides = false;
    for (int i = 0; i < b->x->n_known; i++)
        divides |= b->x->divides[b->x->known[i]->id] && b->x->level[b->x->known[i]->id] == pass;
    return divides || b->x->passes[pass].n_values;
}

/* Makes, ahead of a pass, what it can of what those before it gave. */
static void emit_prepare(struct rows *b, int pass) {
    const struct row_pass *x = &b->x->passes[pass];
    if (!has_prepare(b, pass)) return;
    value_open_function(&b->w, "  FX_DEVICE void prepare(fx_pass<%d>, results &r, index row) const", pass);
    struct scope *p = at_row(b, pass, "row", "r");
    for (int i = 0; i < x->n_values; i++) p->text[x->values[i]->id] = NULL; /* not made yet */
    for (int i = 0; i < x->n_values; i++)
        value_put(&b->w, p, x->values[i], arena_printf(arena(b), "r.%s", member(b, x->values[i])));
    for (int i = 0; i < b->x->n_known; i++) {
        const struct node *n = b->x->known[i];
        if (b->x->divides[n->id] && b->x->level[n->id] == pass)
            value_line(&b->w, "r.%sdivisor_ = fx_divisor_of(r.%s);", member(b, n), member(b, n));
    }
    value_close_function(&b->w);
}

/* ---- reductions ---- */

static void emit_identity(struct rows *b, int pass) {
    value_open_function(&b->w, "  FX_DEVICE sums%d identity(fx_pass<%d>) const", pass, pass);
    buf_line(b->w.out, "    sums%d a;", pass);
    for (int i = 0; i < b->x->passes[pass].n_ends; i++) {
        const struct node *n = b->x->passes[pass].ends[i];
        if (is_arg(n)) value_line(&b->w, "a.%s = 0, a.%sat = -1;", member(b, n), member(b, n));
        else value_line(&b->w, "a.%s = %s;", member(b, n), value_start(&b->w, n->reduction, n->args[0]->dtype));
    }
    if (has_rest(b, pass)) value_line(&b->w, "a.rest = 0;");
    buf_line(b->w.out, "    return a;");
    value_close_function(&b->w);
}

static void hide_positions(struct rows *b) {
    buf_line(b->w.out, "    if constexpr (!KEPT) fx_hide(col);  // positions are computed here, not kept for all rows");
}

static void emit_fold(struct rows *b, int pass) {
    value_open_function(&b->w,
        "  template <bool KEPT, int V> FX_DEVICE void fold(fx_pass<%d>, sums%d &a, frag<V> &f, const scans<V> &s, "
        "int v, const results &r, index row, index col) const",
        pass, pass);
    if (b->x->passes[pass].reads_apart && !b->x->is_along_rows) hide_positions(b);
    struct scope *p = at_element(b, pass, "row", "col", "r", false);
    emit_needed(b, p, pass);
    for (int i = 0; i < b->x->passes[pass].n_ends; i++) {
        const struct node *n = b->x->passes[pass].ends[i];
        const char *term = value_at(&b->w, p, n->args[0]), *so_far = arena_printf(arena(b), "a.%s", member(b, n));
        if (is_arg(n))
            value_line(&b->w, "if (fx_next_extreme<%s>(%s, %sat, (%s)%s)) %s = %s, %sat = col;",
                n->reduction == RED_ARGMAX ? "true" : "false", so_far, so_far, sum_type(n->args[0]->dtype), term,
                so_far, term, so_far);
        else
            value_line(&b->w, "%s = %s;", so_far,
                value_combined(&b->w, n->reduction, n->args[0]->dtype, so_far, term));
    }
    value_close_function(&b->w);
}

static void emit_combine(struct rows *b, int pass) {
    value_open_function(
        &b->w, "  FX_DEVICE void combine(fx_pass<%d>, sums%d &a, const sums%d &b) const", pass, pass, pass);
    for (int i = 0; i < b->x->passes[pass].n_ends; i++) {
        const struct node *n = b->x->passes[pass].ends[i];
        const char *name = member(b, n);
        if (is_arg(n))
            value_line(&b->w, "if (fx_first_extreme<%s>(a.%s, a.%sat, b.%s, b.%sat)) a.%s = b.%s, a.%sat = b.%sat;",
                       n->reduction == RED_ARGMAX ? "true" : "false", name, name, name, name, name, name, name, name);
        else
            value_line(&b->w, "a.%s = %s;", name,
                value_combined(&b->w, n->reduction, n->args[0]->dtype, arena_printf(arena(b), "a.%s", name),
                    arena_printf(arena(b), "b.%s", name)));
    }
    value_close_function(&b->w);
}

static void emit_finish(struct rows *b, int pass) {
    value_open_function(&b->w, "  FX_DEVICE void finish(fx_pass<%d>, results &r, const sums%d &a) const", pass, pass);
    for (int i = 0; i < b->x->passes[pass].n_ends; i++) {
        const struct node *n = b->x->passes[pass].ends[i];
        const char *name = member(b, n);
        if (is_arg(n)) value_line(&b->w, "r.%s = a.%sat < 0 ? 0 : a.%sat;", name, name, name);
        else value_line(&b->w, n->dtype == FX_BOOL ? "r.%s = a.%s != 0;" : "r.%s = a.%s;", name, name);
    }
    value_close_function(&b->w);
}

/* What part of a row adds up to, as all of it would: of sums whose mean is read. */
static void emit_extend(struct rows *b, int pass) {
    if (!b->x->passes[pass].joins) return;
    value_open_function(&b->w, "  FX_DEVICE void extend(fx_pass<%d>, sums%d &a, float by) const", pass, pass);
    for (int i = 0; i < b->x->passes[pass].n_ends; i++) {
        const struct node *n = b->x->passes[pass].ends[i];
        bool is_mean = false;
        for (int k = 0; k < b->x->passes[pass + 1].n_ends; k++) {
            const struct row_shift *x = &b->x->passes[pass + 1].shifts[k];
            is_mean |= !x->exponential && x->of == n;
        }
        if (is_mean) value_line(&b->w, "a.%s = a.%s * by;", member(b, n), member(b, n));
    }
    value_close_function(&b->w);
}

/* Brings what a pass has added up of n elements from the maxima and means before to those after. Of none above -inf
 * nothing is left beside others. */
static void emit_rescale(struct rows *b, int pass) {
    if (!pass || !b->x->passes[pass - 1].joins) return;
    value_open_function(&b->w,
        "  FX_DEVICE void rescale(fx_pass<%d>, sums%d &a, const results &before, const results &after, int n) const",
        pass, pass);
    for (int i = 0; i < b->x->passes[pass].n_ends; i++) {
        const struct row_shift *x = &b->x->passes[pass].shifts[i];
        const char *shift = member(b, x->shift), *of = member(b, x->of),
                   *sum = member(b, b->x->passes[pass].ends[i]),
                   *difference = arena_printf(arena(b), "before.%s - after.%s", shift, shift);
        if (x->exponential)
            value_line(&b->w, "if (before.%s != after.%s) a.%s = before.%s == %s ? 0.0f : a.%s * %s;", of, of, sum, of,
                value_start(&b->w, RED_MAX, FX_F32), sum, value_operation(&b->w, x->exponential, &difference));
        else
            value_line(&b->w, "a.%s = a.%s + (float)n * ((%s) * (%s));", sum, sum, difference, difference);
    }
    value_close_function(&b->w);
}

/* ---- running sums ---- */

/* What combines a running sum of what comes before, a, with that of what follows, b: of a recurrence b after a. */
static const char *scan_combined(struct rows *b, const struct node *n) {
    if (n->reduction != RED_RECUR) return value_combined(&b->w, n->reduction, n->dtype, "a", "b");
    return arena_printf(arena(b), "{%s, %s}", value_combined(&b->w, RED_PROD, n->dtype, "a.a", "b.a"),
        value_fma(&b->w, n->dtype, "b.a", "a.b", "b.b"));
}

static const char *scan_identity(struct rows *b, const struct node *n) {
    if (n->reduction != RED_RECUR) return value_start(&b->w, n->reduction, n->dtype);
    return arena_printf(
        arena(b), "{%s, %s}", value_start(&b->w, RED_PROD, n->dtype), value_start(&b->w, RED_SUM, n->dtype));
}

static void emit_scan(struct rows *b, int i) {
    struct node *n = b->x->scans[i];
    const char *type = scan_type(arena(b), n);
    buf_line(b->w.out, "  template <int N> FX_DEVICE static %s (&values(fx_scan<%d>, scans<N> &s))[N] { return s.%s; }",
        type, i, member(b, n));
    buf_line(b->w.out, "  FX_DEVICE %s identity(fx_scan<%d>) const { return %s; }", type, i, scan_identity(b, n));
    buf_line(b->w.out, "  FX_DEVICE %s combine(fx_scan<%d>, %s a, %s b) const { return %s; }", type, i, type, type,
        scan_combined(b, n));
    value_open_function(&b->w,
        "  template <int V> FX_DEVICE %s term(fx_scan<%d>, const frag<V> &f, const scans<V> &s, int v, "
        "const results &r, index row, index col) const",
        type, i);
    struct scope *p = at_element(b, b->x->level[n->id], "row", "col", "r", false);
    const char *term = value_at(&b->w, p, n->args[0]);
    if (n->reduction == RED_RECUR) /* nothing comes before the first element */
        term = arena_printf(arena(b), "{col == 0 ? %s : %s, %s}", value_start(&b->w, RED_SUM, n->dtype),
            value_at(&b->w, p, n->args[1]), term);
    value_line(&b->w, "return %s;", term);
    value_close_function(&b->w);
}

static void emit_scans(struct rows *b) {
    if (!b->x->n_scans) return;
    struct buf table;
    buf_init(&table, arena(b));
    for (int i = 0; i < b->x->n_scans; i++) {
        buf_puts(&table, i ? ", {" : "{");
        for (int pass = 0; pass <= b->x->n_passes; pass++)
            buf_printf(&table, "%s%s", pass ? ", " : "",
                b->x->passes[pass].reads[b->x->scans[i]->id] ? "true" : "false");
        buf_putc(&table, '}');
    }
    buf_line(b->w.out, "  static constexpr bool IN_PARTS = %s;  // whether rows are cut in parts",
        b->l->kernel->parts ? "true" : "false");
    buf_line(b->w.out, "  static constexpr bool SCANNED[%d][%d] = {%s};  // whether a running sum is read in a pass",
        b->x->n_scans, b->x->n_passes + 1, table.s);
    for (int i = 0; i < b->x->n_scans; i++) emit_scan(b, i);
}

/* ---- runs of rows ---- */

/* Whether store s is of what runs of rows add up to. */
static bool is_side(const struct rows *b, const struct store *s) {
    struct partial_of side;
    return is_partial_store(b->w.g, b->r, s, &side);
}

/* For each of them "a.dg[v]" and the like, with what it adds up. */
static const char *side_of(struct rows *b, const char *of, const struct store *s) {
    return arena_printf(arena(b), "%s.%s[v]", of, member(b, s->value));
}

static void emit_sides_type(struct rows *b) {
    buf_line(b->w.out, "  template <int V> struct sides {  // what a run of rows adds up to, of V columns");
    for (int i = 0; i < b->r->n_stores; i++)
        if (is_side(b, &b->r->stores[i]))
            buf_line(b->w.out, "    %s %s[V];%s", sum_type(b->r->stores[i].value->dtype),
                member(b, b->r->stores[i].value), value_comment(b->w.g, b->r->stores[i].value));
    buf_line(b->w.out, "  };");
}

/* The address of V columns of a run's sums. */
static const char *side_address(struct rows *b, const struct tensor *t) {
    const struct flat_index f[] = {
        {.labels = &b->x->runs, .var = "run", .type = "index"},
        {.labels = &b->x->cols, .var = "col", .type = "index"},
    };
    struct buf s;
    buf_init(&s, arena(b));
    buf_puts(&s, name_of(b, t));
    address_add_runs(&b->w, &s, t, f, 2);
    return s.s;
}

/* Whether V sums of side s lie in memory as they are computed, so that they are one access. */
static bool is_wide_side(struct rows *b, const struct store *s) {
    return tensor_of_store(b->w.g, b->c->partition, s).dtype == FX_F32 &&
           strcmp(sum_type(s->value->dtype), "float") == 0;
}

/* A line for every side, of V columns one after the other; in_memory: without those that are one access. */
static void emit_each_side(
    struct rows *b, bool in_memory, const char *(*line)(struct rows *b, const struct store *s)) {
    int n = 0;
    for (int i = 0; i < b->r->n_stores; i++)
        n += is_side(b, &b->r->stores[i]) && !(in_memory && is_wide_side(b, &b->r->stores[i]));
    if (!n) return;
    buf_line(b->w.out, "#pragma unroll");
    buf_line(b->w.out, "    for (int v = 0; v < V; ++v) {");
    b->w.indent = 3;
    for (int i = 0; i < b->r->n_stores; i++)
        if (is_side(b, &b->r->stores[i]) && !(in_memory && is_wide_side(b, &b->r->stores[i])))
            value_line(&b->w, "%s", line(b, &b->r->stores[i]));
    b->w.indent = 2;
    buf_line(b->w.out, "    }");
}

/* Sides in memory: those that are one access each, then the others. */
static void emit_memory_sides(struct rows *b, const char *function, bool is_load,
    const char *(*line)(struct rows *b, const struct store *s)) {
    for (int i = 0; i < b->r->n_stores; i++) {
        const struct store *s = &b->r->stores[i];
        if (!is_side(b, s) || !is_wide_side(b, s)) continue;
        struct tensor t = tensor_of_store(b->w.g, b->c->partition, s);
        const char *sums = arena_printf(arena(b), "a.%s", member(b, s->value)), *at = side_address(b, &t);
        value_line(&b->w, "%s<V, true>(%s, %s, V);", function, is_load ? sums : at, is_load ? at : sums);
    }
    emit_each_side(b, true, line);
}

static const char *begin_side(struct rows *b, const struct store *s) {
    return arena_printf(
        arena(b), "%s = %s;", side_of(b, "a", s), value_start(&b->w, s->value->reduction, s->value->dtype));
}

static const char *combine_side(struct rows *b, const struct store *s) {
    const char *a = side_of(b, "a", s);
    return arena_printf(arena(b), "%s = %s;", a,
        value_combined(&b->w, s->value->reduction, s->value->dtype, a, side_of(b, "b", s)));
}

static const char *get_side(struct rows *b, const struct store *s) {
    struct tensor t = tensor_of_store(b->w.g, b->c->partition, s);
    return arena_printf(arena(b), "%s = %s;", side_of(b, "a", s),
        value_of_element(&b->w, t.dtype, arena_printf(arena(b), "(%s)[v]", side_address(b, &t))));
}

static const char *put_side(struct rows *b, const struct store *s) {
    struct tensor t = tensor_of_store(b->w.g, b->c->partition, s);
    return arena_printf(arena(b), "(%s)[v] = %s;", side_address(b, &t),
        element_of_value(&b->w, t.dtype, s->value->dtype, side_of(b, "a", s)));
}

static void emit_sides(struct rows *b) {
    const int last = b->x->rows.n - 1;
    const struct flat_index all = {.labels = &b->x->runs, .var = "run", .type = "index"};
    const char *extent = address_product(arena(b), b->l->axis_names, &b->x->rows.axes[last], 1);
    buf_line(b->w.out, "  FX_DEVICE index runs() const { return (index)%s; }",
        address_product(arena(b), b->l->axis_names, b->x->runs.axes, b->x->runs.n));
    value_open_function(&b->w, "  FX_DEVICE void rows_of(index run, index &first, index &n) const");
    value_line(&b->w, "const index at = (index)%s * %d;", address_factor(arena(b), b->l->axis_names, &all, last, last),
        b->x->run);
    if (last) {
        value_line(&b->w, "first = (index)%s * (index)%s + at;",
            address_factor(arena(b), b->l->axis_names, &all, 0, last - 1), extent);
    } else {
        value_line(&b->w, "first = at;");
    }
    value_line(&b->w, "n = (index)%s - at < %d ? (index)%s - at : %d;", extent, b->x->run, extent, b->x->run);
    value_close_function(&b->w);
    value_open_function(&b->w, "  template <int V> FX_DEVICE sides<V> no_sides() const");
    buf_line(b->w.out, "    sides<V> a;");
    emit_each_side(b, false, begin_side);
    buf_line(b->w.out, "    return a;");
    value_close_function(&b->w);
    value_open_function(&b->w, "  template <int V> FX_DEVICE void combine_sides(sides<V> &a, const sides<V> &b) const");
    emit_each_side(b, false, combine_side);
    value_close_function(&b->w);
    value_open_function(&b->w, "  template <int V> FX_DEVICE sides<V> get_sides(index run, index col) const");
    buf_line(b->w.out, "    sides<V> a;");
    emit_memory_sides(b, "fx_load", true, get_side);
    buf_line(b->w.out, "    return a;");
    value_close_function(&b->w);
    value_open_function(&b->w, "  template <int V> FX_DEVICE void put_sides(const sides<V> &a, index run, index col) const");
    emit_memory_sides(b, "fx_store", false, put_side);
    value_close_function(&b->w);
}

/* ---- stores ---- */

/* Where the value of a store of elements goes as it is computed; NULL: it is converted on the way,
 * or goes to memory. */
static const char *element_place(struct rows *b, const struct store *s) {
    struct tensor t = tensor_of_store(b->w.g, b->c->partition, s);
    const char *type = is_converted(t.dtype) ? "float" : emit_ctype(t.dtype);
    if (!row_stores_vectors(b->w.g, b->c->partition, b->x, b->r, s)) return NULL;
    bool is_plain = strcmp(element_of_value(&b->w, t.dtype, s->value->dtype, "x"), "x") == 0 &&
                    strcmp(type, value_ctype(s->value->dtype)) == 0;
    return is_plain ? arena_printf(arena(b), "%sout[v]", name_of(b, &t)) : NULL;
}

/* The element of store s in p, which has the indices of its row and, of elements, its column; *inside: where it exists,
 * NULL: always. */
static const char *placed_element(struct rows *b, struct scope *p, const struct store *s, const char **inside) {
    struct tensor t = tensor_of_store(b->w.g, b->c->partition, s);
    struct node at = *s->value;
    at.kind = N_ACCESS, at.has_fill = at.may_miss != 0;
    struct scope *inner = value_open_access(&b->w, p, &at, inside);
    return arena_printf(arena(b), "%s + %s", name_of(b, &t), address_offset(&b->w, inner, &t));
}

/* Stores one element of s in p: at row and col, or at its positions. */
static void store_one(struct rows *b, struct scope *p, const struct store *s, const char *row, const char *col) {
    struct tensor t = tensor_of_store(b->w.g, b->c->partition, s);
    struct node *n = copied_value(s->value);
    const char *value = element_of_value(&b->w, t.dtype, n->dtype, value_at(&b->w, p, n)), *inside = NULL,
               *at = s->value->kind == N_PLACE ? placed_element(b, p, s, &inside) : element(b, &t, row, col),
               *guard = inside ? arena_printf(arena(b), "if (%s) ", inside) : "";
    value_line(&b->w, is_converted(t.dtype) ? "%sfx_store_one(%s, %s);" : "%s*(%s) = %s;", guard, at, value);
}

/* Stores the V elements of s that lie side by side. */
static void store_vector(struct rows *b, const struct store *s) {
    struct tensor t = tensor_of_store(b->w.g, b->c->partition, s);
    const char *inside = NULL, *at;
    if (s->value->kind == N_PLACE) {
        struct scope *p = at_row(b, b->x->n_passes, "row", "r[0]");
        bind(b, p, b->r->reduced, b->r->n_reduced, &b->x->cols, "col");
        at = placed_element(b, p, s, &inside);
    } else {
        at = element(b, &t, "row", "col");
    }
    buf_line(b->w.out, "    %s%s<V, true>(%s, %sout, V);", inside ? arena_printf(arena(b), "if (%s) ", inside) : "",
        is_converted(t.dtype) ? "fx_store" : "fx_store_items", at, name_of(b, &t));
}

static void emit_store(struct rows *b) {
    const char *row = b->x->is_along_rows ? "(row + v)" : "row", *col = b->x->is_along_rows ? "col" : "(col + v)";
    value_open_function(&b->w,
        "  template <bool KEPT, int V> FX_DEVICE void store(frag<V> &f, const tail<V> &t, const scans<V> &s, "
        "const results *r, index row, index col%s) const",
        b->x->run ? ", sides<V> &a" : "");
    if (b->x->reads_apart && !b->x->is_along_rows) hide_positions(b);
    for (int i = 0; i < b->r->n_stores; i++) {
        struct tensor t = tensor_of_store(b->w.g, b->c->partition, &b->r->stores[i]);
        if (is_side(b, &b->r->stores[i])) continue;
        if (row_stores_vectors(b->w.g, b->c->partition, b->x, b->r, &b->r->stores[i]))
            buf_line(
                b->w.out, "    %s %sout[V];", is_converted(t.dtype) ? "float" : emit_ctype(t.dtype), name_of(b, &t));
    }
    struct scope *p = at_element(b, b->x->n_passes, row, col, b->x->is_along_rows ? "r[v]" : "r[0]", true),
                 *column = scope_open(&b->w, NULL);
    if (b->x->is_along_rows) {
        bind(b, column, b->r->reduced, b->r->n_reduced, &b->x->cols, col);
        emit_column_values(b, column, p);
        for (int i = 0; i < b->w.g->n_nodes; i++)
            if (column->text[i]) p->text[i] = column->text[i];
    }
    buf_line(b->w.out, "#pragma unroll");
    buf_line(b->w.out, "    for (int v = 0; v < V; ++v) {");
    b->w.indent = 3;
    for (int i = 0; i < b->r->n_stores; i++) {
        struct node *n = copied_value(b->r->stores[i].value);
        const char *place = is_side(b, &b->r->stores[i]) ? NULL : element_place(b, &b->r->stores[i]);
        if (place && find_kept(b, n) < 0 && !p->text[n->id] && !(p->place && p->place[n->id]))
            scope_set_place(&b->w, p, n, place);
    }
    emit_needed(b, p, b->x->n_passes);
    for (int i = 0; i < b->r->n_stores; i++) {
        const struct store *s = &b->r->stores[i];
        struct tensor t = tensor_of_store(b->w.g, b->c->partition, s);
        if (!row_stores_elements(b->w.g, b->c->partition, b->r, s)) continue;
        if (is_side(b, s)) {
            const char *so_far = side_of(b, "a", s);
            value_line(&b->w, "%s = %s;", so_far,
                value_combined(&b->w, s->value->reduction, s->value->dtype, so_far,
                    value_at(&b->w, p, store_element(b->w.g, b->r, s))));
            continue;
        }
        if (!row_stores_vectors(b->w.g, b->c->partition, b->x, b->r, s)) {
            store_one(b, p, s, row, col);
            continue;
        }
        struct node *n = copied_value(s->value);
        value_assign(&b->w, arena_printf(arena(b), "%sout[v]", name_of(b, &t)),
            element_of_value(&b->w, t.dtype, n->dtype, value_at(&b->w, p, n)));
    }
    b->w.indent = 2;
    buf_line(b->w.out, "    }");
    for (int i = 0; i < b->r->n_stores; i++) {
        const struct store *s = &b->r->stores[i];
        if (!is_side(b, s) && row_stores_vectors(b->w.g, b->c->partition, b->x, b->r, s)) store_vector(b, s);
    }
    value_close_function(&b->w);
}

static void emit_results(struct rows *b) {
    if (!b->x->stores_results) return;
    value_open_function(&b->w, "  FX_DEVICE void results_of(const results &r, index row) const");
    struct scope *p = at_row(b, b->x->n_passes, "row", "r");
    for (int i = 0; i < b->r->n_stores; i++) {
        const struct store *s = &b->r->stores[i];
        if (!row_stores_elements(b->w.g, b->c->partition, b->r, s)) store_one(b, p, s, "row", "0");
    }
    value_close_function(&b->w);
}

static void emit_joins(struct rows *b) {
    struct buf list;
    bool any = false;
    buf_init(&list, arena(b));
    for (int pass = 0; pass < b->x->n_passes; pass++) {
        any |= b->x->passes[pass].joins;
        buf_printf(&list, "%s%s", pass ? ", " : "", b->x->passes[pass].joins ? "true" : "false");
    }
    if (any)
        buf_line(b->w.out,
            "  static constexpr bool JOINS[PASSES + 1] = {%s, false};  // whether the pass behind may be taken with it",
            list.s);
}

void emit_row_problem(struct buf *out, const struct unit *u, const struct scheduled_graph *c, const struct launch *l,
    struct value_names *names) {
    struct arena *a = &u->cx->arena;
    struct rows b = {.u = u, .c = c, .l = l, .r = l->kernel->group, .x = l->kernel->row};
    b.w = values_open(out, c->graph, l, names, available, &b);
    b.w.divisor = NEW_ARRAY(a, const char *, c->graph->n_nodes + 1);
    buf_line(b.w.out, "  static constexpr bool ALONG_ROWS = %s, STORES_ELEMENTS = %s, STORES_RESULTS = %s;",
        b.x->is_along_rows ? "true" : "false", b.x->stores_elements ? "true" : "false",
        b.x->stores_results ? "true" : "false");
    buf_line(b.w.out, "  static constexpr int PASSES = %d, SCANS = %d, SUM_WORDS = %d;", b.x->n_passes, b.x->n_scans,
        b.x->sum_words);
    struct buf prepared;
    buf_init(&prepared, a);
    for (int pass = 0; pass <= b.x->n_passes; pass++)
        buf_printf(&prepared, "%s%s", pass ? ", " : "", has_prepare(&b, pass) ? "true" : "false");
    buf_line(b.w.out,
        "  static constexpr bool PREPARES[PASSES + 1] = {%s};  // whether values of a row are made ahead of a pass",
        prepared.s);
    emit_joins(&b);
    buf_line(b.w.out, "  FX_DEVICE index rows() const { return (index)%s; }",
        address_product(a, l->axis_names, b.x->rows.axes, b.x->rows.n));
    buf_line(b.w.out, "  FX_DEVICE index cols() const { return (index)%s; }",
        address_product(a, l->axis_names, b.x->cols.axes, b.x->cols.n));
    if (l->kernel->parts) { /* sums of a pass over one part of a row, or what it adds to a running sum */
        buf_line(b.w.out, "  FX_DEVICE int parts() const { return fx_row_parts<%d, %d, %d>(rows()); }",
            l->kernel->parts, l->kernel->part_blocks, l->kernel->part_rows);
        /* what blocks read beside each other lies so: parts of one row, or rows of one part */
        const char *where = b.x->is_along_rows
                                ? arena_printf(a, "((long long)pass * %d + part) * rows() + row", l->kernel->parts)
                                : arena_printf(a, "((long long)pass * rows() + row) * %d + part", l->kernel->parts);
        buf_line(b.w.out,
            "  FX_DEVICE unsigned *partial(int pass, index row, int part) const { return %s + (%s) * %d; }",
            l->buffer_names[c->partition->n_buffers + l->kernel->partial], where, b.x->part_words);
    }
    emit_held(&b, "frag", "what V adjacent elements hold for the passes", b.x->held, b.x->n_held, true);
    emit_held(&b, "tail", "what the last pass alone reads of them", b.x->tail, b.x->n_tail, false);
    emit_results_type(&b);
    emit_scans_type(&b);
    if (b.x->run) emit_sides_type(&b);
    for (int pass = 0; pass < b.x->n_passes; pass++) emit_sums_type(&b, pass);
    emit_fetch(&b, "fetch", "frag", "f", b.x->held, b.x->n_held, true, false);
    if (b.x->run) emit_fetch(&b, "fetch_again", "frag", "f", b.x->held, b.x->n_held, true, true);
    emit_fetch(&b, "fetch_tail", "tail", "t", b.x->tail, b.x->n_tail, false, false);
    for (int pass = 0; pass <= b.x->n_passes; pass++) emit_prepare(&b, pass);
    for (int pass = 0; pass < b.x->n_passes; pass++) {
        emit_identity(&b, pass);
        emit_fold(&b, pass);
        emit_combine(&b, pass);
        emit_finish(&b, pass);
        emit_rescale(&b, pass);
        emit_extend(&b, pass);
    }
    emit_scans(&b);
    if (b.x->run) emit_sides(&b);
    if (b.x->stores_elements) emit_store(&b);
    emit_results(&b);
}
