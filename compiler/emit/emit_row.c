/* The members of the problem struct of a row program that the row driver requires (kernels/driver_row.cuh).
 *
 * In: a scheduled group of rows. Out: its types (the contents of vectors, the values of a row, the sums of each pass,
 * running sums) and methods. Each method computes the values of some nodes at one element, or at one row; emit_value.c
 * writes them. Offsets are 64-bit; row and column are the driver's flattened indices. */
#include <string.h>

#include "emit/emit_row.h"

/* Where an extreme stands: of a part in 64 bits, as the kernel that combines parts may be compiled for another
 * index. */
static const char *place_type(const struct rows *b) { return b->l->kernel->parts ? "long long" : "index"; }
static bool is_arg(const struct node *n) { return n->reduction == RED_ARGMAX || n->reduction == RED_ARGMIN; }
static bool is_wide_type(const char *type) { return strstr(type, "long long") || strcmp(type, "double") == 0; }
/* What a running sum is of. */
static const char *scan_type(struct arena *a, const struct node *n) {
    const char *type = value_sum_ctype(n->dtype);
    return n->reduction == RED_RECUR ? arena_printf(a, "fx_step<%s>", type) : type;
}

/* ---- types ---- */

static void emit_held(struct rows *b, const char *type, const char *what, const struct tensor *list,
    struct node *const *at, int n, bool has_kept) {
    if (!n && !(has_kept && b->x->n_kept)) {
        buf_line(b->w.out, "  template <int V> using %s = fx_nothing;  // %s", type, what);
        return;
    }
    buf_line(b->w.out, "  template <int V> struct %s {  // %s", type, what);
    for (int i = 0; i < n; i++)
        buf_line(b->w.out, "    fx_held<%s, V> %s;%s", emit_ctype(list[i].dtype), rows_held_name(b, &list[i], at[i]),
            at[i] ? value_comment(b->w.g, at[i]) : "");
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
        bool is_wide = is_wide_type(value_sum_ctype(n->args[0]->dtype));
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
            const char *type = value_sum_ctype(n->args[0]->dtype);
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

static bool is_of_rows(const struct rows *b, const struct tensor *t, const struct node *at) {
    const int *axes = at ? at->axes : t->axes, n = at ? at->n_axes : t->n_axes;
    for (int i = 0; i < n; i++)
        if (axes_have(b->x->rows.axes, b->x->rows.n, axes[i])) return true;
    return false;
}

/* Reads what access `at` finds of t, V elements from the column on; outside all of them are 0. */
static void emit_gather(
    struct rows *b, struct scope *p, const char *var, const struct tensor *t, struct node *at) {
    const char *inside, *place = arena_printf(arena(b), "%s.%s", var, rows_held_name(b, t, at));
    struct scope *inner = value_open_access(&b->w, p, at, &inside);
    if (inside) value_line(&b->w, "%s = {};", place);
    value_line(&b->w, "%sfx_hold(%s, %s + %s);", inside ? arena_printf(arena(b), "if (%s) ", inside) : "", place,
        name_of(b, t), address_offset(&b->w, inner, t));
}

bool rows_are_skewed(const struct rows *b) {
    bool is_skewed = false;
    for (int i = 0; i < b->l->kernel->n_configs; i++) is_skewed |= b->l->kernel->configs[i].is_skewed;
    return is_skewed;
}

/* Holds V elements of t as they lie, where rows may begin anywhere: a tensor with elements of its own for all rows has
 * boundaries where rows of the program have them. */
static void emit_hold_skewed(struct rows *b, const char *place, const struct tensor *t) {
    const char *at = rows_element(b, t, "row", "col");
    if (row_lies_whole(b->x, t)) buf_line(b->w.out, "    fx_hold_skewed(%s, %s, how...);", place, at);
    else
        buf_line(b->w.out, "    fx_hold_apart(%s, %s, col >= V && cols() - col >= 2 * V, how...);", place, at);
}

static void emit_fetch(struct rows *b, const char *name, const char *type, const char *var, const struct tensor *list,
    struct node *const *at, int n, bool has_kept, bool is_again) {
    if (!n && !(has_kept && b->x->n_kept)) return;
    const bool is_skewed = rows_are_skewed(b) && n;
    value_open_function(&b->w, "  template <int V%s> FX_DEVICE void %s(%s<V> &%s, index row, index col%s) const",
        is_skewed ? ", class... HOW" : "", name, type, var, is_skewed ? ", HOW... how" : "");
    struct scope *p = rows_at_row(b, -1, "row", ""); /* of a row nothing is known yet */
    rows_bind(b, p, b->r->reduced, b->r->n_reduced, &b->x->cols, "col");
    for (int i = 0; i < n; i++) {
        if (is_again && !is_of_rows(b, &list[i], at[i])) continue;
        if (at[i]) emit_gather(b, p, var, &list[i], at[i]);
        else if (is_skewed)
            emit_hold_skewed(b, arena_printf(arena(b), "%s.%s", var, name_of(b, &list[i])), &list[i]);
        else
            buf_line(b->w.out, "    fx_hold(%s.%s, %s);", var, name_of(b, &list[i]),
                rows_element(b, &list[i], "row", "col"));
    }
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
    struct scope *p = rows_at_row(b, pass, "row", "r");
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

static void emit_fold(struct rows *b, int pass) {
    value_open_function(&b->w,
        "  template <bool KEPT, int V> FX_DEVICE void fold(fx_pass<%d>, sums%d &a, frag<V> &f, const scans<V> &s, "
        "int v, const results &r, index row, index col) const",
        pass, pass);
    if (b->x->passes[pass].reads_apart && !b->x->is_along_rows) rows_hide_positions(b);
    struct scope *p = rows_at_element(b, pass, "row", "col", "r", false);
    rows_emit_needed(b, p, pass);
    for (int i = 0; i < b->x->passes[pass].n_ends; i++) {
        const struct node *n = b->x->passes[pass].ends[i];
        const char *term = value_at(&b->w, p, n->args[0]), *so_far = arena_printf(arena(b), "a.%s", member(b, n));
        if (is_arg(n))
            value_line(&b->w, "if (fx_next_extreme<%s>(%s, %sat, (%s)%s)) %s = %s, %sat = col;",
                n->reduction == RED_ARGMAX ? "true" : "false", so_far, so_far, value_sum_ctype(n->args[0]->dtype), term,
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
    struct scope *p = rows_at_element(b, b->x->level[n->id], "row", "col", "r", false);
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

/* Whether a store goes to a tensor that is read, too. */
static bool is_in_place(const struct rows *b) {
    for (int i = 0; i < b->r->n_stores; i++) {
        const struct tensor t = tensor_of_store(b->w.g, b->c->partition, &b->r->stores[i]);
        if (t.param >= 0 && b->w.g->kernel->params[t.param].is_input) return true;
    }
    return false;
}

void emit_row_problem(struct buf *out, const struct unit *u, const struct scheduled_graph *c, const struct launch *l,
    struct value_names *names) {
    struct arena *a = &u->cx->arena;
    struct rows b = {.u = u, .c = c, .l = l, .r = l->kernel->group, .x = l->kernel->row};
    b.w = values_open(out, c, l, names, rows_available, &b);
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
    if (is_in_place(&b))
        buf_line(b.w.out, "  static constexpr bool IN_PLACE = true;  // rows are written where they are read");
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
    emit_held(&b, "frag", "what V adjacent elements hold for the passes", b.x->held, b.x->held_at, b.x->n_held, true);
    emit_held(&b, "tail", "what the last pass alone reads of them", b.x->tail, b.x->tail_at, b.x->n_tail, false);
    emit_results_type(&b);
    emit_scans_type(&b);
    if (b.x->run) rows_emit_sides_type(&b);
    for (int pass = 0; pass < b.x->n_passes; pass++) emit_sums_type(&b, pass);
    emit_fetch(&b, "fetch", "frag", "f", b.x->held, b.x->held_at, b.x->n_held, true, false);
    if (b.x->run) emit_fetch(&b, "fetch_again", "frag", "f", b.x->held, b.x->held_at, b.x->n_held, true, true);
    emit_fetch(&b, "fetch_tail", "tail", "t", b.x->tail, b.x->tail_at, b.x->n_tail, false, false);
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
    if (b.x->run) rows_emit_sides(&b);
    if (b.x->stores_elements) rows_emit_store(&b);
    rows_emit_results(&b);
}
