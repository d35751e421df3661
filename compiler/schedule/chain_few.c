/* The chain driver for few rows on mma: tiles of 16 or 32 rows, whose intermediate is divided into pieces over blocks.
 * The time depends on the bytes that a row reads. So operands are copied in their own layout, also if they are elements
 * of a tensor at positions, and only once if the last factor is a part of the first one's.
 *
 * In: a scheduled chain. Out: configurations for aligned operands. Those of the chain schedule follow, for machines
 * without tensor maps and for operands that tensor maps do not take. */
#include "schedule/chain_program.h"
#include "schedule/computed.h"
#include "graph/operand.h"

bool schedule_chain_few_configure(const struct graph *, const struct partition *, struct scheduled *, const char **);
bool schedule_chain_configure(const struct graph *, const struct partition *, struct scheduled *, const char **);

/* A tile: rows, in 16s; the most that is summed over first, intermediate and columns a block takes at a time; warps
 * along k and along the intermediate. What it takes: the most rows of a batch; when operands that tensor maps take too,
 * not only those that they do not; whether C is a part of B. Where rows of the intermediate end early, tiles with
 * tensor maps read the rest of C all the same, for what is not finite there, and slowly. */
enum takes_plain { NEVER, LIMITED, ALWAYS };
static const struct chain_few_tile {
    int rows, bk, bt, bn, warps_k, warps_t, stages, blocks, most_m;
    enum takes_plain takes_plain;
    bool shares;
    double rate; /* flops a cycle and SM, of both contractions: as fast as B and C are read */
} tiles[] = {
    {1, 64, 64, 64, 4, 1, 3, 3, 16, ALWAYS, false, 240},
    {1, 128, 64, 128, 1, 4, 2, 3, 16, LIMITED, false, 300},
    {1, 256, 32, 256, 4, 2, 3, 2, 16, NEVER, false, 300},
    {1, 256, 64, 256, 4, 2, 3, 1, 16, ALWAYS, false, 240},
    {2, 64, 32, 64, 4, 1, 3, 3, 256, NEVER, false, 500},
    {2, 128, 64, 128, 4, 2, 3, 1, 256, NEVER, false, 500},
    {2, 256, 32, 256, 4, 2, 3, 1, 256, NEVER, false, 500},
    {1, 64, 64, 64, 4, 1, 3, 4, 16, ALWAYS, true, 600},
    {1, 128, 64, 128, 4, 2, 3, 3, 16, ALWAYS, true, 600},
    {1, 256, 32, 256, 4, 2, 3, 3, 16, ALWAYS, true, 600},
    {1, 576, 64, 512, 4, 2, 2, 1, 16, ALWAYS, true, 600},
    {2, 576, 32, 512, 4, 2, 4, 1, 256, ALWAYS, true, 900},
};

static int threads(const struct chain_few_tile *e) { return e->warps_k * e->warps_t * 32; }

/* As fx_chain_few of driver_chain_few.cuh has it. */
static int smem_bytes(const struct chain_few_tile *e, bool finds) {
    int rows = 16 * e->rows, stage = e->bt * 2 * (e->bk + (e->shares ? 0 : e->bn));
    return e->stages * stage + e->warps_k * rows * (e->bt + 8) * 4 + rows * e->bt * 2 + rows * 4 + 16 +
           e->warps_k * e->warps_t * 8 + (finds ? e->stages * e->bt * 2 * 8 : 0);
}

/* Blocks that an SM holds at once: the intermediate is divided among no more, since others would begin when these have
 * ended, on SMs that then hold fewer. */
static int blocks_of(const struct arch *arch, const struct chain_few_tile *e, bool finds) {
    const int most = arch->sm_shared / (smem_bytes(e, finds) + SHARED_OVERHEAD);
    return most < e->blocks ? most : e->blocks;
}

/* ---- what it takes ---- */

/* Whether chunks of o are elements of a tensor as they lie there, where the positions are, or zeros. */
static bool is_gathered(const struct graph *g, const struct partition *p, const struct group *r,
    const struct operand *o, const struct segment *e, const struct axis_list *mn, enum fx_dtype dtype) {
    if (!o->is_computed) return false;
    const struct computed m = computed_open(g, p, r, o, e, mn);
    return m.n_leaves == 1 && m.leaves[0].kind == LEAF_PIECE && m.leaves[0].tensor.dtype == dtype &&
           m.leaves[0].node == computed_stored(o, dtype);
}

/* Whether C, without its own labels, is the first columns of B: what is n there is k here. */
static bool are_shared(const struct operand *b, const struct axis_list *k, const struct operand *c,
    const struct axis_list *n) {
    const struct tensor *x = &b->tensor, *y = &c->tensor;
    if (b->is_computed || c->is_computed || x->param != y->param || x->buffer != y->buffer || k->n != 1 || n->n != 1 ||
        x->view->cut || y->view->cut || !poly_equal(&x->view->offset, &y->view->offset) || x->n_axes != y->n_axes)
        return false;
    int n_same = 0;
    for (int i = 0; i < x->n_axes; i++)
        for (int j = 0; j < y->n_axes; j++) {
            bool is_same = x->axes[i] == y->axes[j] && x->axes[i] != k->axes[0] && y->axes[j] != n->axes[0],
                 is_across = x->axes[i] == k->axes[0] && y->axes[j] == n->axes[0];
            n_same += (is_same || is_across) && poly_equal(&x->view->stride[i], &y->view->stride[j]);
        }
    return n_same == x->n_axes;
}

static bool is_in_memory(const struct operand *o, enum layout layout) { return !o->is_computed && o->layout == layout; }

void chain_few_configs(const struct graph *g, const struct partition *p, struct scheduled *s, int vector) {
    struct arena *a = &g->cx->arena;
    const struct chain *x = s->chain;
    const struct segment *first = &x->first.segments[0], *second = &x->second.segments[0];
    const struct operand *b = &first->b[0], *c = &second->b[0];
    enum fx_dtype dtype = x->second.b_dtype;
    if ((dtype != FX_F16 && dtype != FX_BF16) || x->parts.n_inner != 1 || x->n_passes != 1 || s->is_twin ||
        x->first.n_segments != 1 || first->k_outer.n || first->is_ragged || second->is_ragged ||
        !is_in_memory(&first->a, LAYOUT_K_MAJOR) || b->layout != LAYOUT_K_MAJOR || c->layout != LAYOUT_MN_MAJOR)
        return;
    bool b_is_gathered = is_gathered(g, p, s->group, b, first, &x->first.n, dtype),
         c_is_gathered = is_gathered(g, p, s->group, c, second, &x->second.n, dtype);
    if ((b->is_computed && !b_is_gathered) || (c->is_computed && !c_is_gathered)) return;
    /* What lies along one label is adjacent: so are rows of a gathered operand, across one label. */
    bool finds = (b_is_gathered || c_is_gathered) && (!b_is_gathered || first->k.n == 1) &&
                 (!c_is_gathered || x->second.n.n == 1);
    bool is_plain = !b->is_computed && !c->is_computed, shares = are_shared(b, &first->k, c, &x->second.n);
    for (size_t i = 0; i < sizeof tiles / sizeof *tiles; i++) {
        const struct chain_few_tile *e = &tiles[i];
        bool takes_it = !is_plain || e->takes_plain == ALWAYS || (e->takes_plain == LIMITED && x->n_limits);
        if (!takes_it || e->shares != shares || smem_bytes(e, finds) > g->cx->arch->block_shared) continue;
        struct config *f = config_next(s);
        if (!f) return;
        *f = (struct config){.is_aligned = true,
            .tile_m = 16 * e->rows,
            .tile_n = e->bn,
            .tile_k = e->bk,
            .piece = e->bt,
            .inner = e->bt,
            .stages = e->stages,
            .block = threads(e),
            .min_blocks = blocks_of(g->cx->arch, e, finds),
            .smem_bytes = smem_bytes(e, finds),
            .vector = vector,
            .most_m = e->most_m,
            .most_n = e->shares ? e->bn : 0,
            .most_k = e->bk,
            .rate = e->rate * e->bn / (e->bk + e->bn), /* schedule_chain_price multiplies by the inverse */
            .suffix = arena_printf(a, "%dx%dx%d_k%d_few", 16 * e->rows, e->bt, e->bn, e->bk),
            .engine = arena_printf(a, "fx_chain_few<fx_%s, %d, %d, %d, %d, %d, %d, %d, %s, %s>", fx_dtype_name(dtype),
                e->rows, e->bt, e->bn, e->bk, e->warps_k, e->warps_t, e->stages, e->shares ? "true" : "false",
                finds ? "true" : "false"),
            .text = arena_printf(a,
                "mma %d rows, %d of the intermediate, %d columns, rows kept up to k = %d, %d stages, the intermediate "
                "in pieces%s",
                16 * e->rows, e->bt, e->bn, e->bk, e->stages, e->shares ? ", its last factor in the first one's" : "")};
        s->has_flags = true;
    }
}

bool schedule_chain_few_configure(
    const struct graph *g, const struct partition *p, struct scheduled *s, const char **why_not) {
    if (!schedule_chain_configure(g, p, s, why_not)) return false;
    struct config others[MAX_VARIANTS];
    int n_others = s->n_configs;
    for (int i = 0; i < n_others; i++) others[i] = s->configs[i];
    s->n_configs = 0;
    chain_few_configs(g, p, s, gemm_vector(g, s, 8));
    if (!s->n_configs)
        return *why_not = "its operands are no elements of tensors as they lie there, in one pass", false;
    for (int i = 0; i < n_others; i++) config_copy(s, &others[i]);
    return true;
}
