/* Operands of a contraction: a factor as a tensor in memory, or as a value that is computed as it is loaded.
 *
 * In: a factor of a sum, and the labels of its k and of its m or n. Out: its address and layout, and the cost of
 * computing an element. Must not know which segment or configuration it serves. */
#include "graph/operand.h"
#include "schedule/computed.h"

/* Of a computed element, an operation. */
enum { INSTRUCTIONS = 2 };

bool gemm_splits_window(const struct partition *p, const struct product *x, int s) {
    return x->is_split && x->buffer[s] >= 0 && p->buffers[x->buffer[s]].value != x->factor[s];
}

struct operand gemm_operand(const struct graph *g, const struct partition *p, const struct product *x, int s) {
    struct operand o = {.value = x->factor[s]};
    if (gemm_splits_window(p, x, s)) o.is_computed = true;
    else if (x->buffer[s] >= 0) {
        o.tensor = tensor_of_buffer(g, p, x->buffer[s]);
        if (p->buffers[x->buffer[s]].value != x->factor[s]) name_as_read(x->factor[s], &o.tensor);
        add_view(g, &o.tensor);
    } else {
        o.is_computed = (!tensor_of_factor(g, x->factor[s], &o.tensor) &&
                            !tensor_of_slices(g, x->sum, x->factor[s], x->factor[1 - s], &o.tensor)) ||
                        o.tensor.dtype != x->dtype[s];
    }
    return o;
}

/* The label along which leaf n's elements lie adjacent in memory, or -1; *bytes: how much it reads. */
static int label_along(
    const struct graph *g, const struct partition *p, const struct group *r, const struct node *n, double *bytes) {
    const struct node *source = n->kind == N_ACCESS ? n->args[0] : n;
    struct tensor t;
    *bytes = nominal_size(g, n->axes, n->n_axes);
    if (source->kind == N_INPUT) t = tensor_of_param(g, source->param);
    else if (!node_is_loaded(g, p, r, source, &t)) return -1;
    if (!t.n_axes) return -1;
    int last = t.axes[t.n_axes - 1];
    *bytes *= fx_dtype_bits(t.dtype) / 8.0;
    for (int i = 0; n->kind == N_ACCESS && i < n->n_at; i++) {
        if (n->at[i] != last) continue;
        last = -1;
        for (const struct node *at = n->args[1 + i]; last < 0 && at;
             at = at->kind == N_OP && (at->op == O_ADD || at->op == O_SUB) ? at->args[0] : NULL)
            if (at->kind == N_INDEX) last = at->axis;
        break;
    }
    return last;
}

/* What an element of a window comes to that is read by itself, at a position of its own, as measured: 7 cycles of an
 * SM, most of them waiting. */
static const double GATHERED = 200;

/* Operations an element of the operand takes; what is the same for a chunk of m is computed once for it. `of`: what is
 * computed two elements at a time, of which bits of a word take two instructions, a sum or a product one. */
static double ops_of(const struct graph *g, const struct partition *p, const struct group *r, const struct operand *o,
    const struct computed *m, const enum halves *of) {
    const struct axis_list *along = m->along;
    bool *needed = NEW_ARRAY(&g->cx->arena, bool, g->n_nodes + 1);
    double ops = 0;
    needed[o->value->id] = true;
    for (int i = o->value->id; i >= 0; i--) {
        struct node *at = g->nodes[i];
        struct tensor t;
        if (!needed[i] || at->kind == N_CONST || at->kind == N_SCALAR) continue;
        const bool is_loaded = node_is_loaded(g, p, r, at, &t), is_read = is_loaded || at->kind == N_ACCESS;
        bool has_along = false; /* a read for each chunk takes about as long as one of all its elements */
        for (int a = is_read ? 0 : m->n_outside; a < along->n; a++) has_along |= node_has_axis(at, along->axes[a]);
        if (of && (of[i] > HALVES_UNIFORM || at == o->value)) {
            ops += at->kind == N_CAST ? 0 : (at->kind == N_OP ? 0.5 : 1) / INSTRUCTIONS;
        } else {
            has_along &= !of || of[i] != HALVES_UNIFORM;
            double bytes, one = at->kind == N_ACCESS ? 4.0 : 1.0;
            if (at->has_fill && has_along && !axes_have(along->axes, along->n, label_along(g, p, r, at, &bytes)))
                one = GATHERED;
            ops += one / (has_along ? 1 : COMPUTED_CHUNK);
        }
        for (int a = 0; !is_loaded && a < at->n_args; a++) needed[at->args[a]->id] = true;
    }
    return ops;
}

/* The direction in which most of what a computed operand reads lies adjacent. */
static enum layout computed_layout(const struct graph *g, const struct partition *p, const struct group *r,
    const struct operand *o, const struct axis_list *k, const struct axis_list *mn) {
    struct node **leaves = NEW_ARRAY(&g->cx->arena, struct node *, g->n_nodes + 1);
    int n = operand_leaves(g, p, r, o, leaves, g->n_nodes);
    double most = 0, bytes;
    enum layout layout = LAYOUT_K_MAJOR;
    for (int i = 0; i < n; i++) {
        int last = label_along(g, p, r, leaves[i], &bytes);
        bool is_k = k->n && last == k->axes[k->n - 1], is_mn = mn->n && last == mn->axes[mn->n - 1];
        if (last < 0 || bytes <= most || (!is_k && !is_mn)) continue;
        most = bytes;
        layout = is_k ? LAYOUT_K_MAJOR : LAYOUT_MN_MAJOR;
    }
    return layout;
}

static enum layout layout_of(const struct operand *o, const struct axis_list *k, const struct axis_list *mn) {
    if (k->n && is_unit_stride(&o->tensor, k->axes[k->n - 1])) return LAYOUT_K_MAJOR;
    if (mn->n && is_unit_stride(&o->tensor, mn->axes[mn->n - 1])) return LAYOUT_MN_MAJOR;
    return LAYOUT_STRIDED;
}

void gemm_choose_layout(const struct graph *g, const struct partition *p, const struct group *r, struct operand *o,
    const struct axis_list *k, const struct axis_list *mn, enum fx_dtype t) {
    o->layout = o->is_computed ? computed_layout(g, p, r, o, k, mn) : layout_of(o, k, mn);
    if (!o->is_computed) return;
    const struct segment e = {.k = *k};
    const struct computed m = computed_open(g, p, r, o, &e, mn);
    o->ops = ops_of(g, p, r, o, &m, computed_halves(g, o, &m, t));
}

/* What an SM issues in a cycle beside the mainloop. */
static const double OPS_PER_CYCLE = 64;

double gemm_computed_seconds(const struct graph *g, double ops) {
    return ops * INSTRUCTIONS / (arch_all_cycles(g->cx->arch) * OPS_PER_CYCLE);
}
