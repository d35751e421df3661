/* Expressions of a launch over extents, for the plan: plan_grid.c, plan_map.c. */
#ifndef FX_LAUNCH_H
#define FX_LAUNCH_H

#include "plan/unit.h"

/* ---- plan_grid.c ---- */
/* Whether entries of l's configuration f compute the tiles of several contractions beside each other. */
bool launch_is_beside(const struct launch *l, const struct config *f);
/* Whether entry v of a launch of n phases takes tensor maps: some phase does. */
bool launch_takes_maps(const struct launch *phases, int n, int v);
/* Tiles, or rows, of configuration f: a block each. */
void launch_grid(struct terms *x, const struct scheduled_graph *c, const struct launch *l, const struct config *f);
/* The blocks of its grid: those that walk over tiles are no more than SMs. */
void launch_blocks(struct terms *x, const struct scheduled_graph *c, const struct launch *l, const struct config *f);
/* Multiplies what is on the stack by the blocks of the intermediate that a tile of a chain walks over. */
void launch_pieces(struct terms *x, const struct scheduled_graph *c, const struct launch *l, const struct config *f);
/* Blocks of its clusters. */
void launch_cluster(struct terms *x, const struct scheduled_graph *c, const struct launch *l, const struct config *f);
/* Where configurations are chosen by what they cost alone, that. */
struct fx_expr launch_costs(
    struct arena *a, const struct scheduled_graph *c, const struct launch *l, const struct config *f);
/* Where it is the faster choice. */
struct fx_expr launch_prefers(
    struct arena *a, const struct scheduled_graph *c, const struct launch *l, const struct config *f);

/* ---- plan_map.c ---- */
struct fx_map plan_map(struct arena *a, const struct scheduled_graph *c, const struct map *m);

#endif
