/* The members of the problem struct of sums by key that the bins driver requires (kernels/driver_bins.cuh).
 *
 * In: a scheduled group with its bins. Out: the sums of a bin and column, the bin of an element, the contribution of an
 * element, and the stores of the values computed from the sums. emit_value.c writes the values. */
#include <string.h>

#include "emit/emit.h"
#include "emit/emit_address.h"
#include "schedule/bins.h"

struct bin_body {
    struct values w; /* statements being written; its user is this */
    const struct scheduled_graph *c;
    const struct launch *l;
    const struct group *r;
    const struct row_program *x;
    const struct bins *bins;
};

static struct arena *arena(struct bin_body *b) { return value_arena(&b->w); }
static const char *member(struct bin_body *b, const struct node *n) { return emit_member(b->w.names, n); }
static bool is_wide(const struct node *n) { return fx_dtype_bits(n->args[0]->dtype) == 64; }

static const char *available(struct values *w, const struct scope *p, const struct node *n) {
    struct bin_body *b = w->user;
    struct tensor t;
    if (n->kind == N_SCALAR)
        return value_of_element(w, w->g->kernel->params[n->param].dtype, b->l->param_names[n->param]);
    if (!node_is_loaded(w->g, b->c->partition, b->r, n, &t) || t.param >= 0) return NULL;
    return value_element(w, p, address_tensor(b->l, &t), &t);
}

static void bind(struct bin_body *b, struct scope *p, const struct axis_list *l, const char *var) {
    const struct flat_index f = {.labels = l, .var = var};
    for (int i = 0; i < l->n; i++) p->at[l->axes[i]] = address_factor(arena(b), b->l->axis_names, &f, i, i);
}

/* The scope of an element. */
static struct scope *at_element(struct bin_body *b, bool has_col) {
    struct scope *p = scope_open(&b->w, NULL);
    bind(b, p, &b->bins->batch, "batch");
    bind(b, p, &b->x->cols, "n");
    if (has_col) bind(b, p, &b->bins->cols, "col");
    return p;
}

static void emit_extent(struct bin_body *b, const char *name, const int *axes, int n) {
    buf_line(b->w.out, "  FX_DEVICE index %s() const { return (index)(%s); }", name,
        address_product(arena(b), b->l->axis_names, axes, n));
}

static void emit_parts(struct bin_body *b) {
    const struct bins *bins = b->bins;
    bool is_whole = !b->l->kernel->parts;
    buf_line(b->w.out, "  static constexpr bool ADDS_WORDS = %s, IS_WHOLE = %s;", bins->adds_words ? "true" : "false",
        is_whole ? "true" : "false");
    if (bins->budget)
        buf_line(b->w.out,
            "  FX_DEVICE int parts() const { return (int)max(1ll, min(%dll, %lldll / max(1ll, (long long)(%s)))); }",
            bins->parts, (long long)bins->budget,
            address_product(arena(b), b->l->axis_names, b->x->rows.axes, b->x->rows.n));
    else buf_line(b->w.out, "  FX_DEVICE int parts() const { return %d; }", bins->parts);
    if (!is_whole)
        buf_line(b->w.out, "  FX_DEVICE unsigned *workspace() const { return %s; }",
            b->l->buffer_names[b->c->partition->n_buffers + b->l->kernel->partial]);
}

static void emit_sums(struct bin_body *b) {
    const struct row_pass *pass = b->x->passes;
    int words = 0;
    buf_line(b->w.out, "  struct sums {  // of a bin and a column");
    for (int wide = 1; wide >= 0; wide--)
        for (int i = 0; i < pass->n_ends; i++) {
            const struct node *n = pass->ends[i];
            if (is_wide(n) != wide) continue;
            words += wide ? 2 : 1;
            buf_line(b->w.out, "    %s %s;%s", value_sum_ctype(n->args[0]->dtype), member(b, n),
                value_comment(b->w.g, n));
        }
    bool has_rest = words < b->bins->words;
    if (has_rest) buf_line(b->w.out, "    int rest;  // so that no byte of what is kept in memory is left to chance");
    buf_line(b->w.out, "  };");
    value_open_function(&b->w, "  FX_DEVICE sums identity() const");
    buf_line(b->w.out, "    sums a;");
    for (int i = 0; i < pass->n_ends; i++)
        value_line(&b->w, "a.%s = %s;", member(b, pass->ends[i]),
            value_start(&b->w, pass->ends[i]->reduction, pass->ends[i]->args[0]->dtype));
    if (has_rest) value_line(&b->w, "a.rest = 0;");
    buf_line(b->w.out, "    return a;");
    value_close_function(&b->w);
    value_open_function(&b->w, "  FX_DEVICE void combine(sums &a, const sums &b) const");
    for (int i = 0; i < pass->n_ends; i++) {
        const struct node *n = pass->ends[i];
        const char *name = member(b, n);
        value_line(&b->w, "a.%s = %s;", name,
            value_combined(&b->w, n->reduction, n->args[0]->dtype, arena_printf(arena(b), "a.%s", name),
                arena_printf(arena(b), "b.%s", name)));
    }
    value_close_function(&b->w);
}

static void emit_key(struct bin_body *b) {
    value_open_function(&b->w, "  FX_DEVICE index key(index batch, index n) const");
    struct scope *p = at_element(b, false);
    const struct node *key = b->bins->key;
    const char *value = value_at(&b->w, p, b->bins->key);
    bool is_unsigned = key->dtype == FX_U32 || key->dtype == FX_U64;
    value_line(&b->w, is_unsigned ? "return %s%s < (unsigned long long)bins() ? (index)%s : (index)-1;"
                                  : "return %s >= 0 && %s < bins() ? (index)%s : (index)-1;",
        is_unsigned ? "" : value, value, value);
    value_close_function(&b->w);
}

/* What an element adds: a value that a condition does not let in is left at what the sum begins with. */
static void emit_take(struct bin_body *b) {
    const struct row_pass *pass = b->x->passes;
    value_open_function(&b->w, "  FX_DEVICE void take(sums &a, index batch, index n, index col) const");
    struct scope *p = at_element(b, true);
    for (int i = 0; i < pass->n_ends; i++) {
        const struct node *n = pass->ends[i];
        const struct bin_term *t = &b->bins->terms[i];
        const char *value = t->value ? value_at(&b->w, p, t->value) : "1";
        struct buf guards;
        buf_init(&guards, arena(b));
        for (int k = 0; k < t->n_guards; k++)
            buf_printf(&guards, "%s%s", k ? " && " : "", value_at(&b->w, p, t->guards[k]));
        if (t->n_guards) value_line(&b->w, "if (%s) a.%s = %s;", guards.s, member(b, n), value);
        else value_line(&b->w, "a.%s = %s;", member(b, n), value);
    }
    value_close_function(&b->w);
}

static void emit_store(struct bin_body *b) {
    const struct row_pass *pass = b->x->passes;
    const struct axis_list bin = {.n = 1, .axes = {b->bins->axis}};
    value_open_function(&b->w, "  FX_DEVICE void store(index batch, index bin, index col, const sums &a) const");
    struct scope *p = scope_open(&b->w, NULL);
    bind(b, p, &b->bins->batch, "batch");
    bind(b, p, &bin, "bin");
    bind(b, p, &b->bins->cols, "col");
    for (int i = 0; i < pass->n_ends; i++) {
        const struct node *n = pass->ends[i];
        p->text[n->id] = arena_printf(arena(b), n->dtype == FX_BOOL ? "(a.%s != 0)" : "a.%s", member(b, n));
    }
    for (int i = 0; i < b->r->n_stores; i++) {
        const struct store *s = &b->r->stores[i];
        struct tensor t = tensor_of_store(b->w.g, b->c->partition, s);
        bool is_converted = t.dtype == FX_F32 || t.dtype == FX_F16 || t.dtype == FX_BF16;
        const char *value = element_of_value(&b->w, t.dtype, s->value->dtype, value_at(&b->w, p, s->value));
        value_line(&b->w, is_converted ? "fx_store_one(%s + %s, %s);" : "*(%s + %s) = %s;", address_tensor(b->l, &t),
            address_offset(&b->w, p, &t), value);
    }
    value_close_function(&b->w);
}

void emit_bins_problem(struct buf *out, const struct unit *u, const struct scheduled_graph *c, const struct launch *l,
    struct value_names *names) {
    struct bin_body b = {.c = c, .l = l, .r = l->kernel->group, .x = l->kernel->row, .bins = l->kernel->bins};
    (void)u;
    b.w = values_open(out, c, l, names, available, &b);
    emit_extent(&b, "batches", b.bins->batch.axes, b.bins->batch.n);
    emit_extent(&b, "depth", b.x->cols.axes, b.x->cols.n);
    emit_extent(&b, "bins", &b.bins->axis, 1);
    emit_extent(&b, "cols", b.bins->cols.axes, b.bins->cols.n);
    emit_parts(&b);
    emit_sums(&b);
    emit_key(&b);
    emit_take(&b);
    emit_store(&b);
}
