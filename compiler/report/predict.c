/* Predicted times for single requests: those of entries that a launch may take, and lower limits for any entry.
 *
 * In: a plan's kernel as scheduled, all of its extents, a variant for each launch of a partition. Out: microseconds.
 * Prices are those of the schedules; the kernels keep their nominal extents. */
#include "report/predict.h"

#include <string.h>

#include "schedule/chain_program.h"

/* What the tensor cores, or where they do not serve the lanes, multiply and add in a cycle and SM at most, for operands
 * like those of s. f32 in full precision takes three products of bf16 of each factor, by two, in tensor cores. */
static double flops_a_cycle(const struct arch *m, const struct scheduled *s) {
    enum { LANES = 256, OF_F32 = 6, OF_F64 = 16 };
    enum fx_dtype t = s->chain ? s->chain->first.a_dtype : gemm_copied_dtype(&s->gemm, true);
    const int bits = fx_dtype_bits(t);
    if (!fx_is_float(t)) return bits == 8 ? 2.0 * m->tensor_flops : LANES;
    if (bits == 64) return (double)m->tensor_flops / OF_F64;
    if (bits < 32) return m->tensor_flops;
    if (s->group->contraction->may_tf32) return m->tensor_flops / 2.0;
    return (double)m->tensor_flops / OF_F32 > LANES ? (double)m->tensor_flops / OF_F32 : LANES;
}

/* The first kernel of a launch that multiplies, or NULL. */
static const struct scheduled *find_product(const struct scheduled_graph *c, int launch) {
    for (int i = 0; i < c->launches[launch].n; i++) {
        const struct scheduled *s = &c->kernels[c->launches[launch].first + i];
        if (s->group->contraction) return s;
    }
    return NULL;
}

/* Gives the labels of c that are free these extents, or what they had before. */
static void set_nominal(const struct scheduled_graph *c, const int64_t *extents, const double *before) {
    const struct kernel *k = c->graph->kernel;
    for (int i = 0; i < k->n_axes; i++) k->axes[i].nominal = before ? before[i] : (double)extents[i];
}

struct fx_prediction prediction_of(const struct unit *u, int kernel, const struct fx_kernel *k, int partition,
    const int64_t *extents, const int *variants) {
    struct arena *a = &u->cx->arena;
    const struct arch *m = u->cx->arch;
    const struct scheduled_graph *c = u->kernels[u->first[kernel] + partition];
    const struct fx_partition of = fx_get_partition(k, partition);
    const struct fx_env env = {.extents = extents, .sm_count = m->sms};
    struct fx_prediction out = {0};
    const struct arena_mark mark = arena_marked(a);
    double *before = NEW_ARRAY(a, double, c->graph->kernel->n_axes + 1);
    for (int i = 0; i < c->graph->kernel->n_axes; i++) before[i] = c->graph->kernel->axes[i].nominal;
    set_nominal(c, extents, NULL);
    out.us = fx_estimate(fx_price_variants(c, variants)) * 1e6;
    set_nominal(c, NULL, before);
    for (int i = 0; i < of.n_launches; i++) {
        const struct fx_launch *l = &k->launches[of.first_launch + i];
        const struct scheduled *product = find_product(c, i);
        int64_t v;
        if (fx_expr_eval(&l->bytes, &env, &v)) out.bytes_us += (double)v / m->copied * 1e6;
        if (product && fx_expr_eval(&l->flops, &env, &v))
            out.flops_us += (double)v / (flops_a_cycle(m, product) * arch_all_cycles(m)) * 1e6;
    }
    arena_rewind(a, &mark);
    return out;
}
