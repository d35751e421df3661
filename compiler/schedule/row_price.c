/* The price of a row program.
 *
 * In: a scheduled group with its analysis and configurations. Out: the seconds of the configuration that takes the
 * nominal rows: its bytes, once per pass if rows do not stay in registers; its operations; or the latency of its loops.
 * row.c chooses configurations without it. */
#include <math.h>

#include "schedule/row_program.h"

void schedule_row_price(const struct graph *, const struct partition *, struct scheduled *);

/* What an SM issues in a cycle. */
static const double OPS_PER_CYCLE = 128;
/* Instructions of an operation of the graph, conversions and addresses among them; a function is several. */
static const double INSTRUCTIONS = 2;
/* How much more than its part of a copy's bytes an SM moves where others idle. */
static const double SM_SHARE = 2.5;
/* Cycles until an element that a thread's own loop reads is there, and how many of them the thread waits for at once.
 */
static const double LOAD_CYCLES = 600, LOADS_AT_ONCE = 4;
enum { OF_FUNCTION = 4, JOIN_INSTRUCTIONS = 12, MOST_BLOCKS = 4, LONG_WALK = 1024 };

struct element_work { /* of an element of the row, in all passes */
    double ops, loads; /* operations of the graph; elements that loops of its thread read */
};

static struct element_work element_work(
    const struct graph *g, const struct partition *p, const struct scheduled *s) {
    const struct row_program *x = s->row;
    struct element_work work = {0, 0};
    for (int w = 0; w <= x->n_passes; w++) {
        double *times = NEW_ARRAY(&g->cx->arena, double, g->n_nodes + 1);
        bool *is_below = NEW_ARRAY(&g->cx->arena, bool, g->n_nodes + 1); /* computed at elements that an access reads */
        for (int i = g->n_nodes - 1; i >= 0; i--) {
            const struct node *n = g->nodes[i];
            if (!x->passes[w].reads[i] && !is_below[i]) continue;
            if (times[i] == 0) times[i] = 1;
            struct tensor t;
            bool is_function = n->kind == N_OP && op_info[n->op].rule == RULE_FLOAT;
            work.ops += n->kind == N_CONST ? 0 : times[i] * (is_function ? OF_FUNCTION : 1);
            if (node_is_loaded(g, p, s->group, n, &t)) {
                work.loads += times[i] > 1 ? times[i] : 0;
                continue;
            }
            bool is_loop = n->kind == N_SHARE ||
                           ((n->kind == N_REDUCE || n->kind == N_SCAN) && !is_row_step(s->group, n));
            for (int a = 0; a < n->n_args; a++) {
                double inside = times[i] * (!is_loop                ? 1
                                               : n->kind == N_SHARE ? n->run
                                               : n->kind == N_SCAN  ? nominal_extent(g, n->axis) / 2
                                                                    : nominal_size(g, n->reduced, n->n_reduced));
                if (times[n->args[a]->id] < inside) times[n->args[a]->id] = inside;
                is_below[n->args[a]->id] |= is_below[i] || n->kind == N_ACCESS || (is_loop && n->kind == N_SCAN);
            }
        }
    }
    return work;
}

static double blocks_of_rows(const struct config *f, double rows) {
    return ceil(rows / f->tile_m) * (f->spread ? f->spread : 1);
}

/* The configuration that takes rows of so many elements. */
static const struct config *config_for(const struct scheduled *s, double rows, double cols, int sms) {
    for (int i = 0; i < s->n_configs; i++) {
        const struct config *f = &s->configs[i];
        bool fits = (!f->most_cols || cols <= f->most_cols) && (!f->suits_cols || cols <= f->suits_cols) &&
                    (!f->few || rows * f->few <= sms * f->tile_m) && cols >= f->from_cols &&
                    4 * blocks_of_rows(f, rows) >= (double)f->wants_grid * sms;
        if (fits) return f;
    }
    return &s->configs[s->n_configs - 1];
}

/* Of what the L2 cache is priced to bring in a cycle, what rows that read a tensor again get of it. */
static const double L2_SHARE = 0.45;

/* Seconds of reading, from the L2 cache, what lacks labels of rows: once for each row that has it. */
static double again_seconds(const struct graph *g, const struct scheduled *s, double rows) {
    const struct arch *m = g->cx->arch;
    double bytes = 0;
    for (int i = 0; i < s->n_loads && m->l2_bytes; i++) {
        const struct tensor *t = &s->loads[i];
        double times = rows;
        for (int a = 0; a < t->n_axes; a++)
            if (axes_have(s->row->rows.axes, s->row->rows.n, t->axes[a])) times /= nominal_size(g, &t->axes[a], 1);
        if (times > 1) bytes += times * tensor_bytes(g, t);
    }
    return m->l2_bytes ? bytes / (m->l2_bytes * m->cycles * L2_SHARE) : 0;
}

/* Seconds of what threads read in loops of their own: each element is waited for, by as many threads as there are. */
static double loop_seconds(
    const struct arch *m, const struct scheduled *s, const struct config *f, double rows, double cols, double loads) {
    double blocks = s->parts ? m->sms : blocks_of_rows(f, rows), held = (double)m->sms * f->min_blocks;
    double threads = (blocks < held ? blocks : held) * f->block, wanted = rows * cols * loads;
    if (threads > rows * cols) threads = rows * cols;
    return wanted > 0 ? wanted / (threads * LOADS_AT_ONCE) * LOAD_CYCLES / m->cycles : 0;
}

/* Lanes of a row that tell each other their sums: of long rows each has so many elements that they count no more than
 * eight. */
static double joining_lanes(const struct row_program *x, const struct config *f) {
    const double lanes = f->block * (x->is_along_rows ? f->vector : 1) / f->tile_m;
    return lanes < 8 ? lanes : 8;
}

/* Rows that do not stay in registers are read once a pass. */
void schedule_row_price(const struct graph *g, const struct partition *p, struct scheduled *s) {
    const struct row_program *x = s->row;
    const struct element_work work = element_work(g, p, s);
    s->bytes += scheduled_bytes(g, p, s);
    double rows = nominal_size(g, x->rows.axes, x->rows.n), cols = nominal_size(g, x->cols.axes, x->cols.n), read = 0;
    const struct arch *m = g->cx->arch;
    const struct config *f = config_for(s, rows, cols, m->sms);
    const double lanes = joining_lanes(x, f), held = x->is_along_rows ? lanes : lanes * f->vector;
    double padded = cols < held ? held : cols; /* lanes without an element idle */
    double ops = rows * (padded * work.ops * INSTRUCTIONS + lanes * (x->n_passes + 1) * JOIN_INSTRUCTIONS);
    if (s->parts) s->bytes *= row_reading_stages(x);
    double computing = ops / (arch_all_cycles(m) * OPS_PER_CYCLE);
    s->seconds = s->bytes / m->copied;
    for (int i = 0; i < s->n_loads; i++) read += tensor_bytes(g, &s->loads[i]);
    if (!s->parts && !f->most_cols) s->seconds += read * (row_read_passes(x) + x->stores_elements - 1) / m->copied;
    if (!s->parts && f->most_cols && f->tile_m == 1 && rows < MOST_BLOCKS * m->sms)
        s->seconds *= 1 + 1 / ceil(rows / m->sms); /* nothing is read while the last blocks store */
    double again = x->is_along_rows ? 0 : again_seconds(g, s, rows);
    if (s->seconds < again) s->seconds = again;
    const double blocks = blocks_of_rows(f, rows), walked = cols * (1 + work.loads);
    if (!s->parts && blocks < m->sms && walked >= LONG_WALK) { /* the other SMs idle */
        const double idle = m->sms / (blocks < 1 ? 1 : blocks);
        if (idle > SM_SHARE) s->seconds *= idle / SM_SHARE;
        computing *= idle;
    }
    if (s->seconds < computing) s->seconds = computing;
    const double loops = loop_seconds(m, s, f, rows, cols, work.loads);
    if (s->seconds < loops) s->seconds = loops;
}
