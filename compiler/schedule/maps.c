/* Operands as tensor maps (wgmma.h).
 *
 * In: operands of a group. Out: whether a tensor map can describe each, the axes of such a map, and how many maps a
 * launch has for the last rows of operands. */
#include "schedule/wgmma.h"

#include "schedule/im2col.h"

const struct axis_list *map_axis_labels(
    const struct gemm_shape *shape, const struct segment *e, const struct map_axis *x) {
    return x->is_outer ? &e->k_outer : &shape->batch;
}

static void add_axes(const struct graph *g, const struct tensor *t, const struct axis_list *l, bool is_outer,
    struct map_axis *out, int *n) {
    const int slices = t->view->cut ? t->view->cut->number : -1; /* along k of the whole */
    bool is_run = l->n > 0;
    for (int i = 0; i + 1 < l->n; i++) is_run &= are_adjacent(g, t, l->axes[i], l->axes[i + 1]);
    for (int i = 0; i < l->n; i++) is_run &= l->axes[i] != slices;
    for (int i = 0; i < l->n; i++) {
        if (tensor_axis(t, l->axes[i]) < 0 || l->axes[i] == slices || (is_run && i < l->n - 1)) continue;
        if (*n < MAX_MAP_AXES) out[*n] = (struct map_axis){is_outer, is_run ? -1 : i, l->axes[i]};
        ++*n;
    }
}

int map_axes(const struct graph *g, const struct gemm_shape *shape, const struct segment *e, const struct tensor *t,
    struct map_axis *out) {
    int n = 0;
    add_axes(g, t, &shape->batch, false, out, &n);
    if (e) add_axes(g, t, &e->k_outer, true, out, &n);
    return n;
}

bool has_maps(const struct scheduled *s) {
    for (int i = 0; i < s->n_configs; i++)
        if (s->configs[i].takes_maps) return true;
    return false;
}

bool stores_boxes(const struct scheduled *s) {
    for (int i = 0; i < s->n_configs; i++)
        if (s->configs[i].stores_boxes) return true;
    return false;
}

/* With m or n contiguous a box is rows of k. Extents that are fixed may leave none over. */
bool has_tail(const struct graph *g, const struct scheduled *s, const struct operand *o, bool is_a) {
    const struct axis_list *mn = is_a ? &s->gemm.m : &s->gemm.n;
    int64_t size = 1;
    if (s->chain || s->gemm.is_split || s->gemm.is_whole || o->window || o->is_computed || o->layout != LAYOUT_K_MAJOR)
        return false;
    for (int i = 0; i < mn->n; i++) {
        int64_t extent = g->kernel->axes[mn->axes[i]].extent;
        if (extent < 0) return true;
        size = size * (extent % MAP_BOX) % MAP_BOX;
    }
    return size != 0;
}

int tail_map(const struct graph *g, const struct scheduled *s, int segment, bool is_a) {
    const struct gemm_shape *shape = &s->gemm;
    int n = stores_boxes(s) ? gemm_elements(g, s->group) : 0;
    for (int i = 0; i < shape->n_segments; i++) n += 1 + shape->segments[i].n_sums;
    for (int i = 0; i <= segment; i++) {
        if (i == segment && is_a) return n;
        const struct segment *e = segment_by_maps(&shape->segments[i]);
        n += has_tail(g, s, &e->a, true);
        for (int j = 0; i < segment && j < e->n_sums; j++) n += has_tail(g, s, &e->b[j], false);
    }
    return n;
}

bool is_mappable(const struct graph *g, const struct gemm_shape *shape, const struct segment *e,
    const struct operand *o, const struct axis_list *mn, const char **why_not) {
    struct map_axis axes[MAX_MAP_AXES];
    if (o->window) return im2col_of(g, shape, e, o, mn, &(struct im2col){0}, why_not);
    if (o->is_computed) return *why_not = "an operand is computed as it is loaded", false;
    if (o->layout == LAYOUT_STRIDED || o->tensor.is_strided)
        return *why_not = "an operand has no contiguous run that is known", false;
    if ((mn && !mn->n) || !e->k.n) return *why_not = "an operand is no matrix", false;
    const int most = MAX_MAP_AXES - shape->is_split;
    if (map_axes(g, shape, e, &o->tensor, axes) > most)
        return *why_not = arena_printf(&g->cx->arena, "an operand has more than %d axes beside the matrix", most),
               false;
    if (!is_read_upwards(&o->tensor)) return *why_not = "an operand is read backwards", false;
    return true;
}

static bool have_same_axes(const struct graph *g, const struct gemm_shape *shape, const struct segment *e,
    const struct operand *a, const struct operand *b) {
    struct map_axis x[MAX_MAP_AXES], y[MAX_MAP_AXES];
    int n = map_axes(g, shape, e, &a->tensor, x);
    bool same = map_axes(g, shape, e, &b->tensor, y) == n;
    for (int i = 0; same && i < n; i++) same = x[i].axis == y[i].axis;
    return same;
}

bool are_mappable(const struct graph *g, const struct gemm_shape *shape, bool has_a, const char **why_not) {
    for (int i = 0; i < shape->n_segments; i++) {
        const struct segment *plain = &shape->segments[i], *e = segment_by_maps(plain);
        if (plain->is_ragged) return *why_not = "the rows of an operand are no multiple of 16 bytes", false;
        if (has_a && !is_mappable(g, shape, e, &e->a, &shape->m, why_not)) return false;
        for (int j = 0; j < e->n_sums; j++) {
            if (!is_mappable(g, shape, e, &e->b[j], &shape->n, why_not)) return false;
            if (!e->b[j].window && !have_same_axes(g, shape, e, &e->b[j], &e->b[0]))
                return *why_not = "weights side by side have different axes", false;
            if (shape->is_scaled) continue;
            if (e->a.layout != plain->a.layout || e->b[j].layout != plain->b[j].layout)
                return *why_not = "beside channels alone an operand lies otherwise", false;
        }
    }
    return true;
}
