/* The problem struct of one GPU kernel: its arguments as fields, and the members that its driver requires.
 *
 * In: a launch. Out: the struct. Its members come from emit_row.c, emit_bins.c, emit_chain.c, emit_gemm.c and
 * emit_body.c. An argument that they do not read is not a field. */
#include "emit/emit.h"
#include "emit/emit_address.h"

static const char *const ctypes[FX_N_DTYPES] = {
#define DTYPE(id, spelling, bits, class, ctype) [FX_##id] = ctype,
#include "dtypes.def"
#undef DTYPE
};
const char *emit_ctype(enum fx_dtype t) { return ctypes[t]; }
bool emit_is_converted(enum fx_dtype t) { return t == FX_F32 || t == FX_F16 || t == FX_BF16; }
const char *emit_held_ctype(enum fx_dtype t) { return emit_is_converted(t) ? "float" : emit_ctype(t); }

const char *emit_tensor_ctype(const struct graph *g, const struct tensor *t) {
    if (t->is_halved) return "char";
    return t->is_split ? arena_printf(&g->cx->arena, "fx_split<%.0fll>", nominal_size(g, t->axes, t->n_axes))
                       : emit_ctype(t->dtype);
}

/* ---- arguments ---- */

static enum fx_dtype stored_as(const struct param *p) { return p->packed.factor ? p->packed.storage : p->dtype; }

static bool stores_to(const struct launch *l, int param, int buffer) {
    for (int s = 0; s < l->kernel->group->n_stores; s++)
        if (l->kernel->group->stores[s].param == param && l->kernel->group->stores[s].buffer == buffer) return true;
    return false;
}

void emit_declaration(
    struct buf *out, const struct scheduled_graph *c, const struct launch *l, const struct fx_arg *a) {
    const struct kernel *k = c->graph->kernel;
    switch (a->kind) {
    case FX_ARG_PARAM:
        if (k->params[a->index].is_scalar)
            buf_printf(out, "%s %s", emit_ctype(k->params[a->index].dtype), l->param_names[a->index]);
        else
            buf_printf(out, "%s%s *%s", stores_to(l, a->index, -1) ? "" : "const ",
                emit_ctype(stored_as(&k->params[a->index])), l->param_names[a->index]);
        return;
    case FX_ARG_BUFFER:
        if (a->index >= c->partition->n_buffers) buf_printf(out, "unsigned *%s", l->buffer_names[a->index]);
        else {
            struct tensor t = tensor_of_buffer(c->graph, c->partition, a->index);
            buf_printf(out, "%s%s *%s", stores_to(l, -1, a->index) ? "" : "const ",
                emit_tensor_ctype(c->graph, &t), l->buffer_names[a->index]);
        }
        return;
    case FX_ARG_EXTENT: buf_printf(out, "long long %s", l->axis_names[a->index]); return;
    case FX_ARG_STRIDE: buf_printf(out, "long long %s", l->stride_names[a->index]); return;
    }
}

/* The fields that `members` read, with the labels of tensors; an extent that a pointwise kernel runs over fits the type
 * of its indices, others need not. */
static const bool *emit_fields(
    struct buf *out, const struct scheduled_graph *c, const struct launch *l, const char *members) {
    const struct kernel *k = c->graph->kernel;
    bool *is_read = NEW_ARRAY(&c->graph->cx->arena, bool, l->n_args + 1);
    for (int i = 0; i < l->n_args; i++) {
        const struct fx_arg *a = &l->args[i];
        const int *axes = NULL;
        int n_axes = 0;
        if (!(is_read[i] = emit_has_word(members, emit_argument(l, a)))) continue;
        buf_puts(out, "  ");
        if (a->kind == FX_ARG_EXTENT && is_space_axis(l->kernel, a->index))
            buf_printf(out, "index %s", l->axis_names[a->index]);
        else emit_declaration(out, c, l, a);
        buf_puts(out, ";");
        if (a->kind == FX_ARG_PARAM && !k->params[a->index].is_scalar)
            axes = k->params[a->index].axes, n_axes = k->params[a->index].n_axes;
        if (a->kind == FX_ARG_BUFFER && a->index < c->partition->n_buffers)
            axes = c->partition->buffers[a->index].axes, n_axes = c->partition->buffers[a->index].n_axes;
        if (axes) {
            buf_puts(out, "  // [");
            for (int j = 0; j < n_axes; j++) buf_printf(out, "%s%s", j ? ", " : "", l->axis_names[axes[j]]);
            buf_puts(out, a->kind == FX_ARG_PARAM && k->params[a->index].is_strided ? "], strided" : "]");
        }
        buf_putc(out, '\n');
    }
    for (int i = 0; i < k->n_axes; i++)
        if (k->axes[i].extent >= 0 && l->axis_used[i] && emit_has_word(members, l->axis_names[i]))
            buf_line(out,
                is_space_axis(l->kernel, i) ? "  static constexpr index %s = (index)%lld;"
                                               : "  static constexpr long long %s = %lld;",
                l->axis_names[i], (long long)k->axes[i].extent);
    return is_read;
}

/* ---- the struct ---- */

static void emit_extents(struct buf *out, const struct launch *l, struct arena *a) {
    const struct axis_list *rows = &l->kernel->pointwise.rows, *cols = &l->kernel->pointwise.cols;
    buf_line(out, "  FX_DEVICE index rows() const { return (index)(%s); }",
        address_product(a, l->axis_names, rows->axes, rows->n));
    buf_line(out, "  FX_DEVICE index cols() const { return (index)(%s); }",
        address_product(a, l->axis_names, cols->axes, cols->n));
}

/* What fx_halve asks for. */
static void emit_halving(struct buf *out, const struct scheduled_graph *c, const struct launch *l) {
    const struct store *s = l->kernel->group->stores;
    const struct tensor t = tensor_of_store(c->graph, c->partition, s);
    const struct halved h = tensor_halved(&t);
    struct arena *a = &c->graph->cx->arena;
    buf_line(out, "  typedef fx_halves<%s> halves;", h.is_k_last ? "true" : "false");
    buf_line(out, "  FX_DEVICE const float *from() const { return %s; }", l->param_names[s->value->param]);
    buf_line(out, "  FX_DEVICE char *to() const { return %s; }", l->buffer_names[s->buffer]);
    buf_line(out, "  FX_DEVICE halves shape() const { return {(int)(%s), (int)%s}; }",
        address_product(a, l->axis_names, h.mn.axes, h.mn.n), l->axis_names[t.k]);
    buf_line(out, "  FX_DEVICE long long matrices() const { return %s; }",
        address_product(a, l->axis_names, h.batch.axes, h.batch.n));
}

static void emit_members(
    struct buf *out, const struct unit *u, const struct scheduled_graph *c, const struct launch *l) {
    const struct scheduled *s = l->kernel;
    struct value_names *names = emit_names(c, l);
    if (s->bins) {
        emit_bins_problem(out, u, c, l, names);
        return;
    }
    if (s->group->is_row) {
        emit_row_problem(out, u, c, l, names);
        return;
    }
    if (group_halves(c->partition, s->group)) {
        emit_halving(out, c, l);
        return;
    }
    if (s->chain) emit_chain_problem(out, u, c, l, names);
    else if (s->group->contraction) emit_gemm_problem(out, u, c, l);
    else emit_extents(out, l, &u->cx->arena);
    emit_body(out, u, c, l, names);
}

const bool *emit_problem(
    struct buf *out, const struct unit *u, const struct scheduled_graph *c, const struct launch *l) {
    bool has_index = !l->kernel->group->contraction; /* its indices are of a type that the entry chooses */
    struct buf members;
    buf_init(&members, &u->cx->arena);
    emit_members(&members, u, c, l);
    if (has_index) buf_line(out, "template <class INDEX>");
    buf_line(out, "struct %s {", l->struct_name);
    if (has_index) buf_line(out, "  typedef INDEX index;");
    const bool *is_read = emit_fields(out, c, l, members.s);
    buf_puts(out, members.s);
    buf_line(out, "};");
    return is_read;
}
