/* The receipt: for every line of the spec, where it went and why, and what that costs in bytes, flops and predicted time. */
#include <string.h>

#include "emit.h"
#include "fx_print.h"

static const char *where_of(const struct launch *l, const struct node *n) {
    if (l->kernel->group->is_row) return is_row_step(l->kernel->group, n) ? "of a row" : "in a row";
    if (!l->kernel->group->contraction) return "pointwise";
    return n == l->kernel->group->contraction ? "mainloop" : "epilogue";
}

/* The nodes a kernel computes, found from its stores. */
static void mark(const struct chosen *c, const struct group *r, struct node *n, bool *seen) {
    struct tensor t;
    if (seen[n->id] || node_is_loaded(c->graph, c->partition, r, n, &t)) return;
    seen[n->id] = true;
    if (n == r->contraction) return;
    for (int i = 0; i < n->n_args; i++) mark(c, r, n->args[i], seen);
}

static void print_node(struct buf *out, const struct unit *u, const struct launch *l, const struct node *n) {
    buf_printf(out, "    line %d  %-9s  ", span_line(u->cx, n->span), where_of(l, n));
    if (n->name.len) buf_printf(out, NAME_FMT " = ", NAME_ARG(n->name));
    ast_print_expr_short(out, n->source, 80);
    buf_putc(out, '\n');
}

static void print_kernel(struct buf *out, const struct unit *u, const struct chosen *c, const struct launch *l, int i, const struct fx_kernel *k) {
    const struct scheduled *s = l->kernel;
    const struct group *r = s->group;
    bool *seen = NEW_ARRAY(out->arena, bool, c->graph->n_nodes + 1);
    buf_printf(out, "  kernel %d of %d: %s, driver %s, schedule %s\n", i + 1, c->n_kernels, l->struct_name, s->schedule->driver, s->schedule->name);
    buf_printf(out, "    not taken: %s\n", s->others);
    for (int j = 0; j < r->n_stores; j++) mark(c, r, r->stores[j].value, seen);
    for (int j = 0; j < c->graph->n_nodes; j++) {
        const struct node *n = c->graph->nodes[j];
        if (seen[j] && n->source && (n->kind == N_OP || n->kind == N_REDUCE || n->kind == N_CAST)) print_node(out, u, l, n);
    }
    buf_puts(out, "    bytes ");
    plan_print_expr(out, k, &k->launches[i].bytes);
    buf_printf(out, " (%.3g at the nominal extents)\n", s->bytes);
    if (r->contraction) {
        buf_puts(out, "    flops ");
        plan_print_expr(out, k, &k->launches[i].flops);
        buf_printf(out, " (%.3g)\n", s->flops);
    }
    buf_printf(out, "    predicted %.1f us on an H200\n", s->seconds * 1e6);
    for (int j = 0; j < s->n_configs; j++)
        buf_printf(out, "    entry %s: %s, %d threads, %d bytes of shared memory\n", l->entries[j].name, s->configs[j].text, s->configs[j].block,
                   s->configs[j].smem_bytes);
}

/* What the kernel allows that no schedule makes use of. */
static void print_attributes(struct buf *out, const struct kernel *k) {
    if (k->precision == PRECISION_TF32) buf_puts(out, "  precision: tf32 is allowed; no schedule of this version has tf32, f32 is multiplied as f32\n");
    if (k->fast_math) buf_puts(out, "  fast_math is allowed; no schedule of this version makes use of it\n");
    if (k->round != ROUND_ONCE) buf_printf(out, "  round: %s: every operation's result is rounded to the dtype of its tensors\n", k->round == ROUND_OP ? "op" : "eager");
}

static void print_applied(struct buf *out, const struct unit *u, const struct applied *r) {
    buf_printf(out, "  rule %s at line %d", r->rule, span_line(u->cx, r->span));
    if (r->source) {
        struct buf expr;
        buf_init(&expr, out->arena);
        ast_print_expr(&expr, r->source);
        buf_printf(out, ": %.80s", expr.s);
    }
    buf_printf(out, "; %.4g operations became %.4g\n", r->before, r->after);
}

const char *receipt_text(const struct unit *u, int kernel, const struct fx_kernel *k) {
    const struct chosen *c = u->kernels[kernel];
    struct buf out;
    buf_init(&out, &u->cx->arena);
    buf_printf(&out, "%s: %s\n", k->name, c->receipt_of_choice);
    buf_puts(&out, "  nominal extents:");
    for (int i = 0; i < k->n_extents; i++) buf_printf(&out, " %s=%.0f", k->extents[i].name, nominal_extent(c->graph, i));
    buf_putc(&out, '\n');
    for (int i = 0; i < c->graph->n_applied; i++) print_applied(&out, u, &c->graph->applied[i]);
    fx_print_saved(&out, c->graph->kernel, "  ");
    for (int i = 0; i < c->partition->n_buffers; i++) {
        const struct buffer *b = &c->partition->buffers[i];
        struct tensor t = tensor_of_buffer(c->graph, c->partition, i);
        buf_printf(&out, "  workspace %s: ", k->buffers[i].name);
        plan_print_expr(&out, k, &k->buffers[i].bytes);
        buf_printf(&out, " bytes (%.3g), as %s: %s\n", tensor_bytes(c->graph, &t), fx_dtype_name(b->dtype), b->why);
        if (b->dtype != FX_F32 && b->value->kind != N_CAST)
            buf_printf(&out, "    rounded once to %s on the way to the contraction that reads it (language.md, Accumulation; `precision: ieee` forbids it)\n",
                       fx_dtype_name(b->dtype));
    }
    for (int i = 0; i < c->n_partials; i++) {
        const struct fx_buffer *b = &k->buffers[c->partition->n_buffers + i];
        buf_printf(&out, "  workspace %s: ", b->name);
        plan_print_expr(&out, k, &b->bytes);
        buf_puts(&out, " bytes: too few rows to occupy the GPU, so each is cut in parts, whose sums stand here; every walk is a launch\n");
    }
    print_attributes(&out, c->graph->kernel);
    for (int i = 0; i < c->n_kernels; i++) print_kernel(&out, u, c, &u->launches[kernel][i], i, k);
    return out.s;
}
