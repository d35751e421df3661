/* Merges sums that only an addition reads: `x @ w + a @ b` has one accumulator, to which the segments of both add, one
 * after the other.
 *
 * In: the segments of a contraction. Out: the accumulator to which each of its sums is added. Only sums of 16-bit
 * floats and 8-bit integers are merged; for f32 the order of terms stays as written. The longest segment comes first,
 * so that terms added to it are rounded as often as before. */
#include "schedule/merge.h"

#include <string.h>

/* How often each node is read; reading by an output or a store of r counts as twice. */
static int *count_reads(const struct graph *g, const struct group *r) {
    int *n = NEW_ARRAY(&g->cx->arena, int, g->n_nodes + 1);
    for (int i = 0; i < g->n_nodes; i++)
        for (int a = 0; a < g->nodes[i]->n_args; a++) n[g->nodes[i]->args[a]->id]++;
    for (int i = 0; i < g->n_outputs; i++) n[g->outputs[i].value->id] += 2;
    for (int i = 0; i < r->n_stores; i++) n[store_element(g, r, &r->stores[i])->id] += 2;
    return n;
}

static bool is_addition(const struct node *n) { return n->kind == N_OP && n->op == O_ADD; }

/* The last of the additions, each read by the next one alone, that n is a term of; n itself where it is none. */
static const struct node *total_of(const struct node *const *reader, const int *reads, const struct node *n) {
    for (const struct node *at = n;;) {
        const struct node *next = reads[at->id] == 1 ? reader[at->id] : NULL;
        if (!next || !is_addition(next) || next->dtype != n->dtype || next->n_axes != n->n_axes) return at;
        at = next;
    }
}

static const struct segment *segment_of(const struct gemm_shape *shape, int sum) {
    for (int i = 0; i < shape->n_segments; i++)
        for (int j = 0; j < shape->segments[i].n_sums; j++)
            if (shape->segments[i].sums[j] == sum) return &shape->segments[i];
    return NULL;
}

static bool share_segment(const struct gemm_shape *shape, const int *into, int n_sums, int sum, int accumulator) {
    for (int i = 0; i < n_sums; i++)
        if (into[i] == accumulator && segment_of(shape, i) == segment_of(shape, sum)) return true;
    return false;
}

static double length_of(const struct graph *g, const struct segment *e) {
    return nominal_size(g, e->k.axes, e->k.n) * nominal_size(g, e->k_outer.axes, e->k_outer.n);
}

static void sort_segments(const struct graph *g, struct gemm_shape *shape) {
    for (int i = 1; i < shape->n_segments; i++)
        for (int j = i; j > 0 && length_of(g, &shape->segments[j]) > length_of(g, &shape->segments[j - 1]); j--) {
            struct segment e = shape->segments[j];
            shape->segments[j] = shape->segments[j - 1];
            shape->segments[j - 1] = e;
        }
}

void gemm_merge_sums(const struct graph *g, const struct group *r, struct gemm_shape *shape) {
    const int bits = fx_dtype_bits(shape->a_dtype);
    const bool is_narrow = shape->a_dtype == FX_F16 || shape->a_dtype == FX_BF16 || bits == 8;
    if (r->n_sums < 2 || shape->is_split || !is_narrow) return;
    const struct node **reader = NEW_ARRAY(&g->cx->arena, const struct node *, g->n_nodes + 1);
    const struct node *total[MAX_SUMS];
    const int *reads = count_reads(g, r);
    for (int i = 0; i < g->n_nodes; i++)
        for (int a = 0; a < g->nodes[i]->n_args; a++) reader[g->nodes[i]->args[a]->id] = g->nodes[i];
    shape->n_accumulators = 0;
    for (int i = 0; i < r->n_sums; i++) {
        const struct node *sum = r->sums[i].sum;
        total[i] = total_of(reader, reads, sum);
        shape->into[i] = -1;
        for (int j = 0; j < i && shape->into[i] < 0; j++)
            if (total[i] != sum && total[j] == total[i] && r->sums[j].sum->dtype == sum->dtype &&
                !share_segment(shape, shape->into, i, i, shape->into[j]))
                shape->into[i] = shape->into[j];
        if (shape->into[i] < 0) shape->into[i] = shape->n_accumulators++;
    }
    if (shape->n_accumulators < r->n_sums) sort_segments(g, shape);
}

bool gemm_is_merged(const struct gemm_shape *shape, int sum) {
    for (int i = 0; i < sum; i++)
        if (shape->into[i] == shape->into[sum]) return true;
    return false;
}
