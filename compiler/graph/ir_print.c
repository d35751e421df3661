/* The graph as text, one line per node: `%4 = sum[K] %3 : f32[M,N]  # line 2`. Stable, for people and goldens. */
#include <string.h>

#include "graph/ir.h"

/* Labels of one name are told apart by a number: P, P.2. */
static void print_axis(struct buf *out, const struct graph *g, int axis) {
    const struct axis *a = &g->kernel->axes[axis];
    buf_printf(out, NAME_FMT, NAME_ARG(a->name));
    if (a->copy) buf_printf(out, ".%d", a->copy + 1);
}

static void print_axes(struct buf *out, const struct graph *g, const int *axes, int n) {
    buf_putc(out, '[');
    for (int i = 0; i < n; i++) {
        if (i) buf_putc(out, ',');
        print_axis(out, g, axes[i]);
    }
    buf_putc(out, ']');
}

void ir_print_name(struct buf *out, const struct graph *g, const struct node *n) {
    if (n->name.len) buf_printf(out, NAME_FMT, NAME_ARG(n->name));
    else if (n->kind == N_INPUT || n->kind == N_SCALAR) buf_puts(out, g->kernel->params[n->param].name);
    else buf_printf(out, "%%%d", n->id);
}

static void print_op(struct buf *out, const struct node *n) {
    const struct op_info *info = &op_info[n->op];
    if (!info->is_infix) {
        buf_puts(out, info->name);
        for (int i = 0; i < info->arity; i++) buf_printf(out, " %%%d", n->args[i]->id);
        return;
    }
    for (const char *s = info->name; *s; s++) /* the infix form with its letters replaced */
        if (*s == 'a' || *s == 'b') buf_printf(out, "%%%d", n->args[*s - 'a']->id);
        else buf_putc(out, *s);
}

static void print_number(struct buf *out, const struct node *n) {
    if (n->dtype == FX_U64) buf_printf(out, "%llu", (unsigned long long)n->integer);
    else if (fx_is_integer(n->dtype)) buf_printf(out, "%lld", (long long)n->integer);
    else if (n->dtype == FX_F64) buf_printf(out, "%.17g", n->num);
    else buf_printf(out, "%.9g", n->num);
}

static void print_place(struct buf *out, const struct graph *g, const struct node *n) {
    buf_printf(out, "%%%d at %s[", n->args[0]->id, g->kernel->params[n->param].name);
    for (int i = 0; i < n->n_at; i++) {
        if (i) buf_puts(out, ", ");
        print_axis(out, g, n->at[i]);
        buf_printf(out, ": %%%d%s", n->args[1 + i]->id, n->may_miss >> i & 1 ? " if inside" : "");
    }
    buf_putc(out, ']');
}

static void print_access(struct buf *out, const struct graph *g, const struct node *n) {
    buf_printf(out, "%%%d[", n->args[0]->id);
    for (int i = 0; i < n->n_at; i++) {
        if (i) buf_puts(out, ", ");
        print_axis(out, g, n->at[i]);
        buf_printf(out, ": %%%d", n->args[1 + i]->id);
    }
    buf_putc(out, ']');
    if (n->has_fill) buf_printf(out, " ?? %%%d", n->args[1 + n->n_at]->id);
}

static void print_node(struct buf *out, const struct graph *g, const struct node *n) {
    buf_printf(out, "  %%%d = ", n->id);
    switch (n->kind) {
    case N_CONST: print_number(out, n); break;
    case N_SCALAR: buf_printf(out, "scalar %s", g->kernel->params[n->param].name); break;
    case N_INPUT: buf_printf(out, "input %s", g->kernel->params[n->param].name); break;
    case N_OP: print_op(out, n); break;
    case N_INDEX: case N_SIZE:
        buf_puts(out, n->kind == N_INDEX ? "idx " : "size ");
        print_axis(out, g, n->axis);
        break;
    case N_CAST:
        buf_printf(out, "cast %%%d to %s", n->args[0]->id, fx_dtype_name(n->to));
        if (!n->n_at) break;
        buf_puts(out, " stored as ");
        print_axes(out, g, n->at, n->n_at);
        break;
    case N_ACCESS: print_access(out, g, n); break;
    case N_PLACE: print_place(out, g, n); break;
    case N_SCAN:
        buf_printf(out, n->reduction == RED_RECUR ? "%s" : "cum%s", reduction_name(n->reduction));
        print_axes(out, g, &n->axis, 1);
        if (n->reduction == RED_RECUR) buf_printf(out, " %%%d,", n->args[1]->id);
        buf_printf(out, " %%%d", n->args[0]->id);
        break;
    case N_SHARE:
        buf_printf(out, "%s[" NAME_FMT " by %d%s] %%%d", reduction_name(n->reduction),
            NAME_ARG(g->kernel->axes[n->axis].name), n->run, n->is_ragged ? " at most" : "", n->args[0]->id);
        break;
    case N_REDUCE:
        buf_puts(out, reduction_name(n->reduction));
        print_axes(out, g, n->reduced, n->n_reduced);
        buf_printf(out, " %%%d", n->args[0]->id);
        break;
    }
    buf_printf(out, " : %s", fx_dtype_name(n->dtype));
    print_axes(out, g, n->axes, n->n_axes);
    if (n->name.len && n->kind != N_INPUT && n->kind != N_SCALAR) buf_printf(out, "  # " NAME_FMT, NAME_ARG(n->name));
    buf_putc(out, '\n');
}

static void print_partition(struct buf *out, const struct graph *g, const struct partition *p) {
    buf_printf(out, "  partition %s: %d kernel%s\n", p->name, p->n_groups, p->n_groups == 1 ? "" : "s");
    for (int b = 0; b < p->n_buffers; b++) {
        buf_printf(out, "    buffer %d = %%%d as %s%s", b, p->buffers[b].value->id, fx_dtype_name(p->buffers[b].dtype),
            p->buffers[b].is_halved ? " in two parts" : p->buffers[b].is_split ? " in parts" : "");
        print_axes(out, g, p->buffers[b].axes, p->buffers[b].n_axes);
        if (p->buffers[b].held) buf_printf(out, " held by %s", g->kernel->params[p->buffers[b].held - 1].name);
        buf_printf(out, ": %s\n", p->buffers[b].why);
    }
    for (int i = 0; i < p->n_groups; i++) {
        const struct group *r = &p->groups[i];
        buf_printf(out, "    kernel %d over ", i);
        print_axes(out, g, r->axes, r->n_axes);
        if (r->is_row) {
            buf_puts(out, ", rows of ");
            print_axes(out, g, r->reduced, r->n_reduced);
            for (int s = 0; s < r->n_steps; s++) buf_printf(out, "%s %%%d", s ? "," : ":", r->steps[s]->id);
        }
        if (r->is_copy) buf_printf(out, ": buffer %d as it is", r->copied);
        if (r->intermediate) {
            buf_puts(out, ", chain of rows of ");
            print_axes(out, g, r->reduced, r->n_reduced);
            for (int s = 0; s < r->n_steps; s++) buf_printf(out, "%s %%%d", s ? "," : ":", r->steps[s]->id);
        }
        for (int x = 0; x < r->n_sums; x++) {
            const struct product *sum = &r->sums[x];
            buf_printf(out, "%s contraction %%%d =", x ? "," : ":", sum->sum->id);
            for (int s = 0; s < 2; s++) {
                if (s) {
                    buf_puts(out, sum->is_pairing ? ", pairs @" : " @");
                    print_axes(out, g, sum->sum->reduced, sum->sum->n_reduced);
                }
                if (sum->buffer[s] >= 0) buf_printf(out, " buffer %d", sum->buffer[s]);
                else buf_printf(out, " %%%d", sum->factor[s]->id);
            }
        }
        buf_putc(out, '\n');
        for (int s = 0; s < r->n_stores; s++)
            if (r->stores[s].param >= 0)
                buf_printf(out, "      store %%%d to %s\n", r->stores[s].value->id,
                    g->kernel->params[r->stores[s].param].name);
            else buf_printf(out, "      store %%%d to buffer %d\n", r->stores[s].value->id, r->stores[s].buffer);
    }
}

void ir_print(struct buf *out, const struct graph *g) {
    buf_printf(out, "kernel %s\n", g->kernel->name);
    for (int i = 0; i < g->n_nodes; i++) print_node(out, g, g->nodes[i]);
    for (int i = 0; i < g->n_outputs; i++)
        buf_printf(out, "  output %s = %%%d\n", g->kernel->params[g->outputs[i].param].name, g->outputs[i].value->id);
    for (int i = 0; i < g->n_partitions; i++) print_partition(out, g, &g->partitions[i]);
}

const char *ir_quote(const struct graph *g, const struct node *n) {
    struct buf b;
    buf_init(&b, &g->cx->arena);
    if (n->name.len || !n->source) ir_print_name(&b, g, n);
    else ast_print_expr_short(&b, n->source, 80);
    return b.s;
}

const char *ir_source(const struct graph *g, const struct node *x) {
    struct buf b;
    if (x->source->span.file != x->span.file) return span_text(g->cx, x->span);
    buf_init(&b, &g->cx->arena);
    ast_print_expr_short(&b, x->source, 80);
    return b.s;
}
