/* The plan as text (--emit=plan) and its expressions in infix form, for people, contracts and goldens. */
#include <string.h>

#include "seam/print.h"

/* Infix text of one operand on the stack and how tightly it binds. */
struct shown {
    const char *s;
    int level; /* 0 or, 1 and, 2 compare, 3 sum, 4 product, 5 atom */
};

static const struct notation {
    const char *infix; /* or the function's name when level is 5 */
    int level;
} forms[] = {
    [FX_T_ADD] = {" + ", 3},
    [FX_T_SUB] = {" - ", 3},
    [FX_T_MUL] = {" * ", 4},
    [FX_T_DIV] = {" // ", 4},
    [FX_T_DIV_EXACT] = {" / ", 4},
    [FX_T_MOD] = {" % ", 4},
    [FX_T_CDIV] = {"cdiv", 5},
    [FX_T_MIN] = {"min", 5},
    [FX_T_MAX] = {"max", 5},
    [FX_T_LT] = {" < ", 2},
    [FX_T_LE] = {" <= ", 2},
    [FX_T_EQ] = {" == ", 2},
    [FX_T_AND] = {" && ", 1},
    [FX_T_OR] = {" || ", 0},
};

static const char *wrap(struct arena *a, struct shown x, int level) {
    return x.level < level ? arena_printf(a, "(%s)", x.s) : x.s;
}

static const char *plan_stride_name(struct arena *a, const struct fx_kernel *k, int index) {
    const struct fx_param *p = &k->params[index / FX_MAX_RANK];
    return arena_printf(a, "stride(%s, %s)", p->name, k->extents[p->extents[index % FX_MAX_RANK]].name);
}

void plan_print_expr(struct buf *out, const struct fx_kernel *k, const struct fx_expr *e) {
    struct arena *a = out->arena;
    struct shown *stack = NEW_ARRAY(a, struct shown, e->n + 1);
    double real;
    int n = 0;
    for (int i = 0; i < e->n; i++) {
        const struct fx_term *t = &e->terms[i];
        switch (t->op) {
        case FX_T_CONST: stack[n++] = (struct shown){arena_printf(a, "%lld", (long long)t->v), 5}; continue;
        case FX_T_EXTENT: stack[n++] = (struct shown){k->extents[t->v].name, 5}; continue;
        case FX_T_ALIGN: stack[n++] = (struct shown){arena_printf(a, "align(%s)", k->params[t->v].name), 5}; continue;
        case FX_T_STRIDE: stack[n++] = (struct shown){plan_stride_name(a, k, (int)t->v), 5}; continue;
        case FX_T_SM_COUNT: stack[n++] = (struct shown){"SMs", 5}; continue;
        case FX_T_SCALAR: stack[n++] = (struct shown){k->params[t->v].name, 5}; continue;
        case FX_T_REAL:
            memcpy(&real, &t->v, sizeof real);
            stack[n++] = (struct shown){arena_printf(a, "%.17g", real), 5};
            continue;
        case FX_T_NOT: stack[n - 1] = (struct shown){arena_printf(a, "!%s", wrap(a, stack[n - 1], 5)), 5}; continue;
        default: break;
        }
        const struct notation *f = &forms[t->op];
        struct shown r = stack[--n], l = stack[--n];
        stack[n++] = f->level == 5 ? (struct shown){arena_printf(a, "%s(%s, %s)", f->infix, l.s, r.s), 5}
                                   : (struct shown){arena_printf(a, "%s%s%s", wrap(a, l, f->level), f->infix,
                                                        wrap(a, r, f->level + 1)),
                                         f->level};
    }
    buf_puts(out, n ? stack[n - 1].s : "nothing");
}

const char *plan_param_role(const struct fx_param *p) {
    return p->is_scalar ? "scalar" : p->is_input && p->is_output ? "inout" : p->is_output ? "output" : "input";
}

const char *plan_arg_name(struct arena *arena, const struct fx_kernel *k, const struct fx_arg *a) {
    switch (a->kind) {
    case FX_ARG_PARAM: return k->params[a->index].name;
    case FX_ARG_BUFFER: return k->buffers[a->index].name;
    case FX_ARG_EXTENT: return k->extents[a->index].name;
    default: return plan_stride_name(arena, k, a->index);
    }
}

void plan_print_map(struct buf *out, const struct fx_kernel *k, const struct fx_map *m) {
    buf_printf(out, "%s", plan_arg_name(out->arena, k, &m->base));
    if (m->offset.n != 1 || m->offset.terms[0].op != FX_T_CONST || m->offset.terms[0].v) {
        buf_puts(out, " + ");
        plan_print_expr(out, k, &m->offset);
    }
    buf_printf(out, ", %s: extents ", fx_dtype_name(m->dtype));
    for (int i = 0; i < m->rank; i++) {
        if (i) buf_puts(out, ", ");
        plan_print_expr(out, k, &m->extents[i]);
    }
    buf_puts(out, "; strides ");
    for (int i = 0; i < m->rank; i++) {
        if (i) buf_puts(out, ", ");
        plan_print_expr(out, k, &m->strides[i]);
    }
    buf_puts(out, "; box ");
    for (int i = 0; i < m->rank && m->box[i]; i++) buf_printf(out, "%s%d", i ? " x " : "", m->box[i]);
    if (m->is_tail) buf_puts(out, " or what is left of it");
    for (int i = 0; m->is_im2col && i < m->rank - 2; i++) {
        buf_puts(out, i ? ", " : "; im2col from ");
        plan_print_expr(out, k, &m->first[i]);
        buf_puts(out, " to ");
        plan_print_expr(out, k, &m->last[i]);
        if (m->steps[i] != 1) buf_printf(out, " by %d", m->steps[i]);
    }
}

static void print_labelled(struct buf *out, const struct fx_kernel *k, const char *label, const struct fx_expr *e) {
    buf_printf(out, "%s", label);
    plan_print_expr(out, k, e);
    buf_putc(out, '\n');
}

static void print_param(struct buf *out, const struct fx_kernel *k, const struct fx_param *p) {
    buf_printf(out, "  %s %s: %s", plan_param_role(p), p->name, fx_dtype_name(p->dtype));
    if (!p->is_scalar) {
        buf_putc(out, '[');
        for (int i = 0; i < p->rank; i++) buf_printf(out, "%s%s", i ? "," : "", k->extents[p->extents[i]].name);
        buf_putc(out, ']');
    }
    if (p->packed.factor)
        buf_printf(out, " packed(%s, %s, %s)", fx_dtype_name(p->packed.storage),
            k->extents[p->extents[p->packed.axis]].name, p->packed.is_msb ? "msb" : "lsb");
    if (p->is_strided) buf_puts(out, " strided");
    if (p->is_const) buf_puts(out, " const");
    if (p->align) buf_printf(out, " align %d", p->align);
    if (p->has_value) buf_printf(out, " = %.9g", p->value);
    buf_putc(out, '\n');
}

static void print_launch(struct buf *out, const struct fx_kernel *k, const struct fx_launch *l) {
    buf_printf(out, "  launch %s by %s(", l->name, l->driver);
    for (int i = 0; i < l->n_args; i++)
        buf_printf(out, "%s%s", i ? ", " : "", plan_arg_name(out->arena, k, &l->args[i]));
    buf_puts(out, l->is_once ? "), once\n" : ")\n");
    if (l->n_phases > 1)
        buf_printf(out, "    %d %s\n", l->n_phases,
            l->is_cooperative ? "phases, all blocks resident at once"
            : l->is_beside    ? "groups, their tiles beside each other"
                              : "phases");
    print_labelled(out, k, "    flops ", &l->flops);
    print_labelled(out, k, "    bytes ", &l->bytes);
    for (int i = 0; i < l->n_maps; i++) {
        buf_printf(out, "    map %d of ", i);
        plan_print_map(out, k, &l->maps[i]);
        buf_putc(out, '\n');
    }
    for (int i = 0; i < l->n_variants; i++) {
        const struct fx_variant *v = &l->variants[i];
        buf_printf(out, "    %d %s: %s\n      block %d%s%s\n", v->number, v->entry, v->config, v->block,
            v->takes_maps ? ", takes maps" : "", v->starts_early ? ", may start early" : "");
        print_labelled(out, k, "      grid ", &v->grid);
        if (v->cluster.n) print_labelled(out, k, "      cluster ", &v->cluster);
        print_labelled(out, k, "      smem ", &v->smem);
        print_labelled(out, k, "      needs ", &v->needs);
        print_labelled(out, k, v->cost.n ? "      costs " : "      prefers ", v->cost.n ? &v->cost : &v->prefers);
    }
}

void plan_print_where(struct buf *out, const struct fx_kernel *k, const struct fx_expr *e) {
    enum { MOST = 80 }; /* partitions.c fits fewer terms; for slices and copies there are hundreds */
    const char *separator = "";
    if (e->n <= MOST) {
        plan_print_expr(out, k, e);
        return;
    }
    buf_puts(out, "it is predicted to be faster, by ");
    for (int i = 0; i < k->n_extents; i++) {
        bool stands = false;
        for (int t = 0; t < e->n; t++) stands |= e->terms[t].op == FX_T_EXTENT && e->terms[t].v == i;
        if (!stands || k->extents[i].is_made) continue;
        buf_printf(out, "%s%s", separator, k->extents[i].name);
        separator = ", ";
    }
}

static void print_partition(struct buf *out, const struct fx_kernel *k, int number) {
    const struct fx_partition p = fx_get_partition(k, number);
    if (k->n_partitions > 1) {
        buf_printf(out, "  partition %s, taken ", p.name);
        if (number + 1 == k->n_partitions) buf_puts(out, "elsewhere\n");
        else print_labelled(out, k, "where ", &p.takes);
    }
    for (int j = p.first_buffer; j < p.first_buffer + p.n_buffers; j++) {
        const struct fx_buffer *b = &k->buffers[j];
        if (!b->bytes.n) continue; /* a parameter holds it */
        static const char *const kinds[] = {
            [FX_BUFFER_WORKSPACE] = "workspace", [FX_BUFFER_FLAGS] = "flags", [FX_BUFFER_CONST] = "const"};
        buf_printf(out, "  %s %s: ", kinds[b->kind], b->name);
        print_labelled(out, k, "", &b->bytes);
    }
    for (int j = p.first_launch; j < p.first_launch + p.n_launches; j++) print_launch(out, k, &k->launches[j]);
}

void plan_print(struct buf *out, const struct fx_plan *p) {
    buf_printf(out, "plan for %s\n", p->arch);
    for (int i = 0; i < p->n_kernels; i++) {
        const struct fx_kernel *k = &p->kernels[i];
        buf_printf(out, "kernel %s\n", k->name);
        for (int j = 0; j < k->n_extents; j++)
            if (k->extents[j].value >= 0)
                buf_printf(out, "  extent %s = %lld\n", k->extents[j].name, (long long)k->extents[j].value);
            else buf_printf(out, "  extent %s\n", k->extents[j].name);
        for (int j = 0; j < k->n_equations; j++) buf_printf(out, "  where %s\n", k->equations[j].text);
        for (int j = 0; j < k->n_checks; j++) print_labelled(out, k, "  requires ", &k->checks[j].holds);
        for (int j = 0; j < k->n_params; j++) print_param(out, k, &k->params[j]);
        for (int j = 0; j < fx_partition_count(k); j++) print_partition(out, k, j);
    }
}
