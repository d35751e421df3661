/* The gemm driver over wgmma where consumers compute one operand in registers (kernels/driver_wgmma_made.cuh).
 *
 * In: a group as for wgmma, one of whose operands is computed. Out: configurations of wgmma, if every element of that
 * operand is computed from one element of a tensor that a tensor map can load as it is, from values that are the same
 * for all k, and from values that are the same for all rows; or from a field of 4 bits and values that are the same for
 * a run of k; and those of mma. The cheaper for the extents at hand is launched. */
#include <limits.h>

#include "graph/operand.h"
#include "schedule/computed.h"
#include "schedule/wgmma.h"

bool schedule_mma_configure(const struct graph *, const struct partition *, struct scheduled *, const char **);

enum { WARPGROUP = 128, CONSUMERS = 2, ROWS = 64 * CONSUMERS, K = 64, CHUNK = 32, LEAST_STAGES = 3 };

/* Tiles of ROWS of the made operand: columns of the other one. Rates as in wgmma.c, but from an H200: gemm16.py, casts
 * and 8-bit weights at 4096^3. */
static const struct made_tile {
    int columns, stages;
    double rate; /* flops a cycle and SM of the mainloop */
} tiles[] = {
    {256, 4, 3650},
    {128, 4, 2450},
    {64, 6, 1430},
};

/* What takes of the rate: an operation of an element; what is the same for all rows, read as k goes. */
static const double OF_AN_OPERATION = 0.03, OF_CONTEXT = 0.26;

/* Of fields of 4 bits, as measured on an H200: what they take of the rate, and of those of mma, where 64 tiles of 64x64
 * wait for single words. */
static const double OF_FIELDS = 1.05, OF_FIELDS_BY_MMA = 0.43;

/* Whether the value of o depends on the index k itself; *run: not in quotients, the divisor that all of these share. */
static bool reads_index(const struct graph *g, const struct operand *o, const struct axis_list *k, int *run) {
    bool *is_needed = NEW_ARRAY(&g->cx->arena, bool, g->n_nodes + 1);
    int64_t shared = 0;
    *run = 0;
    is_needed[o->value->id] = true;
    for (int i = o->value->id; i >= 0; i--) {
        const struct node *n = g->nodes[i];
        if (!is_needed[i]) continue;
        for (int j = 0; n->kind == N_INDEX && j < k->n; j++)
            if (n->axis == k->axes[j]) return true;
        if (node_is_op(n, O_FLOORDIV) && n->args[0]->kind == N_INDEX && axes_have(k->axes, k->n, n->args[0]->axis) &&
            n->args[1]->kind == N_CONST && n->args[1]->integer > 0) {
            int64_t of = n->args[1]->integer;
            while (of) {
                const int64_t rest = shared % of;
                shared = of, of = rest;
            }
            continue;
        }
        for (int a = 0; a < n->n_args; a++) is_needed[n->args[a]->id] = true;
    }
    *run = shared <= INT_MAX / 2 ? (int)shared : -1;
    return false;
}

/* The tensor of fields of 4 bits that o is made of, two at a time, with what is the same for a run of k; NULL: it is
 * none, or made otherwise. */
static const struct operand *fields_of(const struct graph *g, const struct operand *o, const struct computed *m,
    const struct axis_list *k, enum fx_dtype t) {
    const struct leaf *word = NULL;
    for (int i = 0; i < m->n_leaves; i++) {
        const struct leaf *f = &m->leaves[i];
        if (f->kind == LEAF_WORD && !word) word = f;
        else if (f->kind != LEAF_ONE) return NULL;
    }
    if (!word || !computed_halves(g, o, m, t)) return NULL;
    const struct param *p = &g->kernel->params[word->node->param];
    if (fx_dtype_bits(p->dtype) != 4 || fx_dtype_bits(p->packed.storage) != 32 || p->is_strided || k->n != 1 ||
        p->packed.axis != p->n_axes - 1)
        return NULL;
    struct operand *from = NEW(&g->cx->arena, struct operand);
    *from = (struct operand){
        .value = word->node, .tensor = tensor_of_param(g, word->node->param), .layout = LAYOUT_K_MAJOR};
    add_view(g, &from->tensor);
    return from;
}

/* The tensor that o is made of, as an operand of its own; NULL: consumers cannot make it. */
static const struct operand *source_of(const struct graph *g, const struct partition *p, const struct group *r,
    const struct gemm_shape *shape, const struct segment *e, const struct operand *o, const struct axis_list *mn,
    int *run) {
    const struct leaf *held = NULL;
    const char *ignored;
    bool has_context = false;
    if (!o->is_computed || o->window || o->layout != LAYOUT_K_MAJOR || reads_index(g, o, &e->k, run)) return NULL;
    struct computed m = computed_open(g, p, r, o, e, mn);
    const struct operand *fields = *run % K == 0 ? fields_of(g, o, &m, &e->k, shape->a_dtype) : NULL;
    if (fields) return is_mappable(g, shape, e, fields, mn, &ignored) ? fields : NULL;
    if (*run || !computed_is_fixed(&m, e)) return NULL;
    for (int i = 0; i < m.n_leaves; i++) {
        const struct leaf *f = &m.leaves[i];
        if (f->kind == LEAF_PIECE || (f->kind == LEAF_HELD && held)) return NULL;
        if (f->kind == LEAF_HELD) held = f;
        has_context |= f->kind == LEAF_SHARED;
    }
    if (!held) return NULL;
    const int bits = fx_dtype_bits(held->tensor.dtype);
    if (bits != 8 && bits != 16 && bits != 32) return NULL;
    if (bits == 8 && has_context) return NULL; /* the elements of a step are made at once, k apart */
    struct operand *from = NEW(&g->cx->arena, struct operand);
    *from = (struct operand){.value = held->node, .tensor = held->tensor, .layout = LAYOUT_K_MAJOR};
    add_view(g, &from->tensor);
    return is_mappable(g, shape, e, from, mn, &ignored) ? from : NULL;
}

bool wgmma_makes(const struct graph *g, const struct partition *p, struct scheduled *s) {
    struct gemm_shape *shape = &s->gemm;
    struct segment *e = &shape->segments[0];
    struct node **shared;
    const char *ignored;
    if (shape->a_dtype != shape->b_dtype || (shape->a_dtype != FX_F16 && shape->a_dtype != FX_BF16)) return false;
    if (s->is_phase || shape->n_segments != 1 || shape->n_accumulators != 1 || e->n_sums != 1) return false;
    if (e->k_outer.n || e->by_maps || e->is_ragged || e->a.is_computed == e->b[0].is_computed) return false;
    if (gemm_has_reduced(g, s->group) || gemm_shared(g, s->group, &shared)) return false;
    const bool is_a = e->a.is_computed;
    struct operand *made = is_a ? &e->a : &e->b[0];
    const struct operand *copied = is_a ? &e->b[0] : &e->a;
    if (!is_mappable(g, shape, e, copied, is_a ? &shape->n : &shape->m, &ignored)) return false;
    made->from = source_of(g, p, s->group, shape, e, made, is_a ? &shape->m : &shape->n, &made->run);
    return shape->makes = made->from != NULL;
}

/* By the formula of driver_wgmma_made.cuh. */
static int smem_bytes(const struct made_tile *t, int made_stages, int stages, int slabs, bool is_turned) {
    enum { TURNED_PITCH = 16 * 4 + 16, PITCH = CHUNK * 4 + 32 };
    const int staging = slabs       ? slabs * MAP_STORED_ROWS * MAP_ROW_BYTES
                        : is_turned ? CHUNK * TURNED_PITCH
                                    : 16 * PITCH;
    return made_stages * ROWS * MAP_ROW_BYTES + stages * t->columns * K * 2 + CONSUMERS * (WARPGROUP / 32) * staging +
           2 * (made_stages + stages) * 8;
}

/* Whether o reads what is the same for all rows. */
static bool has_context(
    const struct graph *g, const struct partition *p, const struct scheduled *s, const struct operand *o) {
    const struct gemm_shape *shape = &s->gemm;
    const struct segment *e = &shape->segments[0];
    const struct computed m = computed_open(g, p, s->group, o, e, o == &e->a ? &shape->m : &shape->n);
    for (int i = 0; i < m.n_leaves; i++)
        if (m.leaves[i].kind == LEAF_SHARED) return true;
    return false;
}

static void add_config(const struct graph *g, const struct partition *p, struct scheduled *s, const struct made_tile *t,
    double instructions) {
    const struct segment *e = &s->gemm.segments[0];
    const bool is_turned = e->b[0].is_computed;
    const struct operand *made = is_turned ? &e->b[0] : &e->a;
    const int bits = fx_dtype_bits(made->from->tensor.dtype), size = bits / 8, vector = gemm_piece_vector(g, p, s, 8),
              slabs = is_turned ? 0 : 2 * wgmma_boxes(g, p, s, vector),
              bm = is_turned ? t->columns : ROWS, bn = is_turned ? ROWS : t->columns;
    int stages = t->stages, made_stages = stages * bits / 8 < 2 ? 2 : stages * bits / 8, chunk = CHUNK;
    if (slabs) {
        struct tensor stored = tensor_of_store(g, p, s->group->stores);
        chunk = MAP_ROW_BYTES * 8 / fx_dtype_bits(stored.dtype);
    }
    if (size == 4 && stages > LEAST_STAGES) stages--;
    while (made_stages && smem_bytes(t, made_stages, stages, slabs, is_turned) > g->cx->arch->block_shared)
        made_stages--;
    if (made_stages < 2 || made_stages * MAP_ROW_BYTES * 8 < LEAST_STAGES * K * bits) return;
    if (!slabs && !is_turned && CHUNK / vector > 32) return;
    const double epilogue =
        gemm_epilogue_cycles(bm * bn, CONSUMERS, 1, instructions + (is_turned ? 10 : 5));
    struct config *c = config_next(s);
    if (!c) return;
    *c = (struct config){.is_aligned = true,
        .takes_maps = true,
        .stores_boxes = slabs > 0,
        .starts_early = true,
        .tile_m = bm,
        .tile_n = bn,
        .tile_k = K,
        .stages = stages,
        .block = WARPGROUP * (1 + CONSUMERS),
        .min_blocks = 1,
        .smem_bytes = smem_bytes(t, made_stages, stages, slabs, is_turned),
        .vector = vector,
        .rate = (bits < 8 ? OF_FIELDS : 1) * t->rate /
                (1 + OF_AN_OPERATION * made->ops + OF_CONTEXT * has_context(g, p, s, made)),
        .epilogue = epilogue,
        .is_fed = g->cx->arch->l2_bytes > 0,
        .of_tile = epilogue,
        .suffix = arena_printf(&g->cx->arena, "%dx%d_wgmma_made", bm, bn),
        .engine = arena_printf(&g->cx->arena, "fx_wgmma_made<fx_%s, fx_held_%d, %s, %d, %d, %d, %d, %d, true>",
            fx_dtype_name(s->gemm.a_dtype), t->columns, is_turned ? "true" : "false", size, made_stages, stages, chunk,
            slabs),
        .text = arena_printf(&g->cx->arena, "wgmma %dx%dx%d, %d stages, 2 consumers side by side make %s", bm, bn, K,
            stages, is_turned ? "B" : "A")};
}

/* Whether the made operand is one of fields. */
static bool is_of_fields(const struct gemm_shape *shape) {
    const struct segment *e = &shape->segments[0];
    const struct operand *made = e->a.is_computed ? &e->a : &e->b[0];
    return fx_dtype_bits(made->from->tensor.dtype) < 8;
}

bool wgmma_configure_made(
    const struct graph *g, const struct partition *p, struct scheduled *s, const char **why_not) {
    const struct scheduled own = *s;
    if (!schedule_mma_configure(g, p, s, why_not)) return false;
    const struct scheduled mma = *s;
    const double instructions = group_footprint(g, p, s->group).instructions;
    s->gemm = own.gemm; /* which marks what is made */
    s->n_configs = 0;
    for (int aligned = 1; aligned >= 0; aligned--) {
        int i = 0;
        for (; i < mma.n_configs; i++)
            if (mma.configs[i].is_aligned == aligned && mma.configs[i].is_skinny) config_copy(s, &mma.configs[i]);
        for (size_t t = 0; aligned && t < sizeof tiles / sizeof *tiles; t++)
            add_config(g, p, s, &tiles[t], instructions);
        for (i = 0; i < mma.n_configs; i++) {
            struct config f = mma.configs[i];
            if (f.is_aligned != aligned || f.is_skinny) continue;
            if (is_of_fields(&s->gemm)) f.rate *= OF_FIELDS_BY_MMA;
            f.epilogue = gemm_epilogue_cycles(f.tile_m * f.tile_n, f.block / WARPGROUP, 1, instructions);
            config_copy(s, &f);
        }
    }
    return true;
}
