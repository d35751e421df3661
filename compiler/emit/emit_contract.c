/* Writes the launch contract at the top of a `.cu`: enough to launch its entries without the compiler.
 *
 * In: the plan. Out: comments. For each kernel its tensors; for each partition where it is taken, its workspace and its
 * launches; for each launch its arguments and tensor maps; for each entry what it is, how it is launched, and the
 * conditions under which its results are right. */
#include "emit/emit.h"

#include <string.h>

#include "seam/print.h"

static void put_tensor(struct buf *out, const struct fx_kernel *k, const struct fx_param *p) {
    buf_printf(out, "%s: %s%s", p->name, p->is_input && p->is_output ? "inout " : "", fx_dtype_name(p->dtype));
    if (p->is_scalar) return;
    buf_putc(out, '[');
    for (int i = 0; i < p->rank; i++) {
        const struct fx_extent *e = &k->extents[p->extents[i]];
        buf_printf(out, "%s%s", i ? "," : "", e->name);
        if (e->value >= 0) buf_printf(out, "=%lld", (long long)e->value);
    }
    buf_putc(out, ']');
    if (p->is_strided) buf_puts(out, " strided");
    if (p->align) buf_printf(out, " align %d", p->align);
}

/* ---- what entries need: conditions that the same entries have are said once, under a number ---- */

struct condition {
    const char *text;
    bool *is_of; /* by variant */
    int number;  /* of those of the same variants; 0: none, it is said with each */
};

struct conditions {
    struct condition *of;
    int n, n_numbers;
};

static void add_condition(struct conditions *c, struct arena *a, const char *text, int variant, int n_variants) {
    int at = 0;
    while (at < c->n && strcmp(c->of[at].text, text) != 0) at++;
    if (at == c->n) PUSH(a, c->of, c->n) = (struct condition){text, NEW_ARRAY(a, bool, n_variants), 0};
    c->of[at].is_of[variant] = true;
}

/* Adds those that the variant's `needs` joins by `&&`. */
static void add_conditions(
    struct conditions *c, struct arena *a, const struct fx_kernel *k, const struct fx_launch *l, int v) {
    const struct fx_expr *e = &l->variants[v].needs;
    struct buf text;
    int depth = 0;
    if (e->n == 0) return;
    buf_init(&text, a);
    plan_print_expr(&text, k, e);
    char *from = text.s;
    for (char *at = from; *at && e->terms[e->n - 1].op == FX_T_AND; at++) {
        depth += (*at == '(') - (*at == ')');
        if (depth || strncmp(at, " && ", 4) != 0) continue;
        *at = 0;
        add_condition(c, a, from, v, l->n_variants);
        from = at + 4;
    }
    add_condition(c, a, from, v, l->n_variants);
}

/* Two or more that two or more variants have alike get a number. */
static void number_conditions(struct conditions *c, int n_variants) {
    for (int i = 0; i < c->n; i++) {
        int n_of = 0, n_alike = 0;
        for (int v = 0; v < n_variants; v++) n_of += c->of[i].is_of[v];
        for (int j = i; j < c->n; j++) n_alike += memcmp(c->of[i].is_of, c->of[j].is_of, (size_t)n_variants) == 0;
        if (c->of[i].number || n_of < 2 || n_alike < 2) continue;
        c->n_numbers++;
        for (int j = i; j < c->n; j++)
            if (memcmp(c->of[i].is_of, c->of[j].is_of, (size_t)n_variants) == 0) c->of[j].number = c->n_numbers;
    }
}

static void put_numbered(struct buf *out, const struct conditions *c) {
    for (int number = 1; number <= c->n_numbers; number++) {
        const char *between = "";
        buf_printf(out, "//     [%d]: ", number);
        for (int i = 0; i < c->n; i++) {
            if (c->of[i].number != number) continue;
            buf_printf(out, "%s%s", between, c->of[i].text);
            between = " && ";
        }
        buf_putc(out, '\n');
    }
}

static void put_needs(struct buf *out, const struct conditions *c, int variant) {
    const char *between = "//       needs ";
    int said = 0; /* numbers stand in the order of the conditions */
    for (int i = 0; i < c->n; i++) {
        if (!c->of[i].is_of[variant] || (c->of[i].number && c->of[i].number <= said)) continue;
        if (c->of[i].number) buf_printf(out, "%s[%d]", between, said = c->of[i].number);
        else buf_printf(out, "%s%s", between, c->of[i].text);
        between = " && ";
    }
    buf_puts(out, *between == '/' ? "//       needs nothing\n" : "\n");
}

/* "fx_f_128x128_wgmma: wgmma 128x128x64, 6 stages", and how it is launched. */
static void put_entry(struct buf *out, const struct fx_kernel *k, const struct fx_variant *e) {
    buf_printf(out, "//     %s: %s\n//       block %d%s%s, grid ", e->entry, e->config, e->block,
        e->takes_maps ? ", takes maps" : "", e->starts_early ? ", may start early" : "");
    plan_print_expr(out, k, &e->grid);
    if (e->cluster.n) {
        buf_puts(out, ", clusters of ");
        plan_print_expr(out, k, &e->cluster);
    }
    buf_puts(out, ", dynamic shared memory ");
    plan_print_expr(out, k, &e->smem);
    buf_putc(out, '\n');
}

static void put_launch(struct buf *out, const struct fx_kernel *k, const struct fx_partition *p, int i) {
    const struct fx_launch *l = &k->launches[p->first_launch + i];
    struct conditions needs = {0};
    if (p->n_launches > 1) buf_printf(out, "//   launch %d of %d:", i + 1, p->n_launches);
    else buf_puts(out, "//   launch");
    if (l->is_cooperative) buf_puts(out, " (cooperative: all blocks resident at once; fewer may be launched)");
    buf_puts(out, " one of these, with arguments (");
    for (int a = 0; a < l->n_args; a++)
        buf_printf(out, "%s%s", a ? ", " : "", plan_arg_name(out->arena, k, &l->args[a]));
    buf_puts(out, "), tensors row-major, extents");
    bool has_strides = l->n_args && l->args[l->n_args - 1].kind == FX_ARG_STRIDE; /* they stand last */
    buf_puts(out, has_strides ? " and strides (of axes of one element 0) as long long\n" : " as long long\n");
    for (int m = 0; m < l->n_maps; m++) {
        buf_printf(out, "//     tensor map %d: ", m);
        plan_print_map(out, k, &l->maps[m]);
        buf_puts(out, ", swizzled in 128 bytes\n");
    }
    for (int v = 0; v < l->n_variants; v++) add_conditions(&needs, out->arena, k, l, v);
    number_conditions(&needs, l->n_variants);
    put_numbered(out, &needs);
    for (int v = 0; v < l->n_variants; v++) {
        put_entry(out, k, &l->variants[v]);
        put_needs(out, &needs, v);
    }
}

/* Of several partitions, where each is the faster one: any of them computes the kernel. */
static void put_partition(struct buf *out, const struct fx_kernel *k, int number) {
    const struct fx_partition p = fx_get_partition(k, number);
    if (k->n_partitions > 1 && number + 1 == k->n_partitions) buf_puts(out, "//   elsewhere:\n");
    else if (k->n_partitions > 1) {
        buf_puts(out, number ? "//   else where " : "//   where ");
        plan_print_where(out, k, &p.takes);
        buf_puts(out, ":\n");
    }
    for (int i = p.first_buffer; i < p.first_buffer + p.n_buffers; i++) {
        if (!k->buffers[i].bytes.n) continue; /* a parameter holds it */
        buf_printf(out, "//   workspace %s: ", k->buffers[i].name);
        plan_print_expr(out, k, &k->buffers[i].bytes);
        buf_printf(out, " bytes, 256-byte aligned%s\n",
            k->buffers[i].kind == FX_BUFFER_FLAGS ? "; flags: of any contents" : "");
    }
    for (int i = 0; i < p.n_launches; i++) put_launch(out, k, &p, i);
}

static void put_kernel(struct buf *out, const struct fx_kernel *k) {
    buf_printf(out, "//\n// kernel %s(", k->name);
    bool is_out = false;
    for (int i = 0; i < k->n_params; i++) {
        bool first_out = !k->params[i].is_input && !is_out;
        buf_puts(out, first_out ? ") -> (" : i ? ", " : "");
        is_out |= first_out;
        put_tensor(out, k, &k->params[i]);
    }
    buf_puts(out, ")\n");
    for (int q = 0; q < k->n_equations; q++) {
        const struct fx_extent *e = &k->extents[k->equations[q].extent];
        if (!e->is_made || e->value >= 0) continue;
        buf_printf(out, "//   %s = ", e->name);
        plan_print_expr(out, k, &k->equations[q].value);
        buf_putc(out, '\n');
    }
    for (int i = 0; i < fx_partition_count(k); i++) put_partition(out, k, i);
}

/* What the words of the contract mean, those that it has. */
static void put_legend(struct buf *out, const struct fx_plan *plan) {
    bool takes_maps = false, starts_early = false, is_large = false;
    for (int i = 0; i < plan->n_kernels; i++)
        for (int l = 0; l < plan->kernels[i].n_launches; l++)
            for (int v = 0; v < plan->kernels[i].launches[l].n_variants; v++) {
                const struct fx_variant *e = &plan->kernels[i].launches[l].variants[v];
                takes_maps |= e->takes_maps;
                starts_early |= e->starts_early;
                is_large |= e->smem.n && (e->smem.terms->op != FX_T_CONST || e->smem.terms->v > 48 << 10);
            }
    buf_puts(out,
        "// How to launch. Of several entries take the first whose needs hold, or the one that suits the extents "
        "best.\n"
        "//   cdiv(a, b) is a / b rounded up; align(x) the alignment of x in bytes; [1] the conditions of that "
        "number.\n");
    if (takes_maps)
        buf_puts(out, "//   An entry that takes maps has the tensor maps as one more argument, an array.\n");
    if (starts_early)
        buf_puts(out,
            "//   One that may start early allows programmatic dependent launch: it waits for the kernel before it.\n");
    if (is_large) buf_puts(out, "//   More than 48 KB of shared memory needs the kernel's maximum raised.\n");
}

void emit_contract(struct buf *out, const struct fx_plan *plan) {
    put_legend(out, plan);
    for (int i = 0; i < plan->n_kernels; i++) put_kernel(out, &plan->kernels[i]);
}
