/* Joins two chains with common first contractions into one launch, which computes these once and gives both results
 * (kernels/driver_chain_twin.cuh): gradients by k and by v of an attention.
 *
 * In: chosen kernels in order, each a launch. Out: some pairs as launches with parallel configurations. The wide chain,
 * with two first contractions, comes first; the narrow one has only one of them. They are joined if a price says so. */
#include <string.h>

#include "schedule/beside.h"
#include "schedule/chain_program.h"
#include "schedule/wgmma.h"

bool schedule_chain_configure(const struct graph *, const struct partition *, struct scheduled *, const char **);

/* ---- what may be joined ---- */

/* One pass, in which no row is reduced: nothing but elements is made of the first contractions. */
static bool is_plain(const struct scheduled *s) {
    const struct chain *x = s->chain;
    return x && has_maps(s) && x->n_passes == 1 && x->parts.n_steps == 0 && !x->stores_rows && x->n_deferred == 0 &&
           x->outer_exp < 0;
}

static bool same_limits(const struct chain *x, const struct chain *y) {
    if (x->n_limits != y->n_limits || x->is_negated != y->is_negated) return false;
    for (int i = 0; i < x->n_limits; i++)
        if (x->limits[i].condition != y->limits[i].condition) return false;
    return true;
}

static bool same_rows(const struct gemm_shape *x, const struct gemm_shape *y) {
    return beside_same_labels(&x->m, &y->m) && beside_same_labels(&x->batch, &y->batch) &&
           beside_same_labels(&x->n, &y->n) && x->b_dtype == y->b_dtype;
}

/* Which first contraction of x, as the driver numbers them, has for B what stands in memory as c does, for columns
 * along n; or -1. */
static int find_columns(const struct chain *x, const struct operand *c, const struct axis_list *n) {
    for (int i = 0, at = 0; i < x->first.n_segments; i++)
        for (int j = 0; j < x->first.segments[i].n_sums; j++, at++) {
            const struct operand *b = &x->first.segments[i].b[j];
            if (b->layout == LAYOUT_K_MAJOR && c->layout == LAYOUT_MN_MAJOR && b->value == c->value &&
                b->tensor.param == c->tensor.param && b->tensor.buffer == c->tensor.buffer &&
                beside_same_labels(&x->first.segments[i].k, n))
                return at;
        }
    return -1;
}

/* Whether wide chain x and narrow chain y may be computed together; says in x how. */
static bool are_twins(struct chain *x, const struct scheduled *broad, const struct chain *y,
    const struct scheduled *narrow) {
    if (x->parts.n_inner != 2 || y->parts.n_inner != 1 || !same_limits(x, y) || !same_rows(&x->first, &y->first))
        return false;
    x->twin_sum = group_sum(broad->group, narrow->group->sums[0].sum);
    x->twin_columns[0] = find_columns(x, &x->second.segments[0].b[0], &x->second.n);
    x->twin_columns[1] = find_columns(x, &y->second.segments[0].b[0], &y->second.n);
    return x->twin_sum >= 0 && x->twin_sum < 2 && x->twin_columns[0] >= 0 && x->twin_columns[1] >= 0;
}

/* Lays what elements of y read that is the same for all rows out as x has it. False where x has not all of that. */
static bool share_along(const struct chain *x, struct chain *y) {
    for (int i = 0; i < y->n_along; i++) {
        bool is_known = false;
        for (int k = 0; k < x->n_along; k++) is_known |= x->along[k] == y->along[i];
        if (!is_known) return false;
    }
    y->laid_along = x->laid_along;
    y->n_laid = x->n_laid;
    return true;
}

/* ---- configurations ---- */

/* Of the engines without tensor maps the two run one after the other: those that both have. */
static void add_others(struct cx *cx, const struct scheduled_graph *c, const struct scheduled *broad,
    struct scheduled *narrow, struct scheduled *first, struct scheduled *second) {
    const char *ignored;
    narrow->is_twin = true;
    narrow->n_configs = 0;
    if (!schedule_chain_configure(c->graph, c->partition, narrow, &ignored)) return;
    for (int i = 0; i < broad->n_configs; i++) {
        const struct config *f = &broad->configs[i], *like = beside_find_config(narrow, f);
        if (f->takes_maps || !like || !config_is_possible(cx, c, broad, f) || !config_is_possible(cx, c, narrow, like))
            continue;
        struct config *x = config_next(first), *y = config_next(second);
        if (!x || !y) return;
        *x = *f, *y = *like;
        x->smem_bytes = y->smem_bytes = f->smem_bytes > like->smem_bytes ? f->smem_bytes : like->smem_bytes;
        x->min_blocks = y->min_blocks = f->min_blocks < like->min_blocks ? f->min_blocks : like->min_blocks;
    }
}

/* Drops the configurations that either cannot have at any extents; false where none is left. */
static bool leave_possible(struct cx *cx, const struct scheduled_graph *c, struct scheduled *joined) {
    int n = 0;
    for (int v = 0; v < joined->n_configs; v++) {
        if (!config_is_possible(cx, c, &joined[0], &joined[0].configs[v]) ||
            !config_is_possible(cx, c, &joined[1], &joined[1].configs[v]))
            continue;
        joined[0].configs[n] = joined[0].configs[v], joined[1].configs[n] = joined[1].configs[v];
        n++;
    }
    joined[0].n_configs = joined[1].n_configs = n;
    return n > 0;
}

/* Whether s has a configuration of every kind that one apart has. */
static bool is_covered(
    struct cx *cx, const struct scheduled_graph *c, const struct scheduled *apart, const struct scheduled *s) {
    for (int i = 0; i < apart->n_configs; i++) {
        bool any = false;
        for (int v = 0; v < s->n_configs; v++) any |= kind_of(&s->configs[v]) == kind_of(&apart->configs[i]);
        if (!any && config_is_possible(cx, c, apart, &apart->configs[i])) return false;
    }
    return true;
}

/* Makes a launch of wide and narrow, in that order. False where they do not fit, or take longer. */
static bool make_twins(struct cx *cx, const struct scheduled_graph *c, const struct scheduled *broad,
    const struct scheduled *narrow, double launch_seconds, struct scheduled *joined) {
    struct chain *x = NEW(&cx->arena, struct chain), *y = NEW(&cx->arena, struct chain);
    struct scheduled *again = NEW(&cx->arena, struct scheduled);
    *x = *broad->chain, *y = *narrow->chain;
    if (!are_twins(x, broad, y, narrow) || !share_along(x, y)) return false;
    joined[0] = *broad, joined[1] = *again = *narrow;
    chain_wgmma_twin_configs(c->graph, broad, narrow, &joined[0], &joined[1]);
    if (!leave_possible(cx, c, joined)) return false;
    add_others(cx, c, broad, again, &joined[0], &joined[1]);
    if (!is_covered(cx, c, broad, &joined[0]) || !is_covered(cx, c, narrow, &joined[1])) return false;
    joined[0].chain = x, joined[1].chain = y;
    for (int i = 0; i < 2; i++) {
        joined[i].is_twin = true;
        joined[i].schedule->price(c->graph, c->partition, &joined[i]);
    }
    return joined[0].seconds + joined[1].seconds < broad->seconds + narrow->seconds + launch_seconds;
}

void twins_join(struct cx *cx, struct scheduled_graph *c, int wanted, double launch_seconds) {
    for (int i = c->n_once; i < c->n_launches; i++)
        for (int j = i + 1; j < c->n_launches && c->launches[i].n == 1 && (!wanted || launches_each_time(c) > wanted);
             j++) {
            const struct scheduled *a = &c->kernels[c->launches[i].first], *b = &c->kernels[c->launches[j].first];
            if (c->launches[j].n > 1 || !is_plain(a) || !is_plain(b) ||
                !beside_is_free(c, c->launches[i].first, c->launches[j].first))
                continue;
            struct scheduled *joined = NEW_ARRAY(&cx->arena, struct scheduled, 2);
            bool is_wide = a->chain->parts.n_inner > b->chain->parts.n_inner;
            if (!make_twins(cx, c, is_wide ? a : b, is_wide ? b : a, launch_seconds, joined)) continue;
            c->seconds += joined[0].seconds + joined[1].seconds - a->seconds - b->seconds;
            beside_put(c, i, j, joined);
            c->launches[i].is_twin = true;
        }
}
