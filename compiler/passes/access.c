/* Moves accesses to the leaves, and removes those that read every element at its own position.
 *
 * An access of a pointwise value becomes that value over accesses. An access of an access becomes one access at
 * composed positions. An access moves below a reduction or a running sum if it is the only reader and reads no element
 * twice. Positions are brought into normal form (affine.c). Only leaves, running indices, extents, numbers and
 * pointwise ops are ever computed twice. Measure: the number of (access, node it reads through) pairs, then the number
 * of ops in positions; each rule lowers it. */
#include <string.h>

#include "passes/affine.h"
#include "passes/build.h"
#include "graph/tensor.h"
#include "passes/passes.h"

enum { MAX_SUBTREE = 256, MAX_SWEEPS = 24 };

struct pusher {
    struct graph *g;  /* being built */
    struct kernel *kernel; /* its own, once a label was added */
    int room; /* nodes that may still be added: what reads itself at two places, over and over,
               * would double each time */
    bool may_shrink;  /* a leaf may lose axes: the whole that is read is looked at */
    bool has_changed;
};

struct reading { /* what an access says, apart from its source */
    int n_at;
    int at[MAX_AXES];
    struct node *positions[MAX_AXES];
    struct node *fill;        /* NULL: every position is inside */
    const struct node *like;  /* the access, for spans */
};

static struct reading reading_of(const struct node *n) {
    struct reading r = {.n_at = n->n_at, .fill = n->has_fill ? n->args[1 + n->n_at] : NULL, .like = n};
    memcpy(r.at, n->at, sizeof r.at);
    memcpy(r.positions, n->args + 1, (size_t)n->n_at * sizeof *r.positions);
    return r;
}

static void add_position(struct reading *r, int axis, struct node *position) {
    int i = r->n_at++;
    for (; i > 0 && r->at[i - 1] > axis; i--) r->at[i] = r->at[i - 1], r->positions[i] = r->positions[i - 1];
    r->at[i] = axis, r->positions[i] = position;
}

static struct node *position_along(const struct reading *r, int axis) {
    for (int i = 0; i < r->n_at; i++)
        if (r->at[i] == axis) return r->positions[i];
    return NULL;
}

static bool reads_along(const struct reading *r, const struct node *n) {
    for (int i = 0; i < r->n_at; i++)
        if (node_has_axis(n, r->at[i])) return true;
    return false;
}

static struct node *plain(struct graph *g, struct node *source, const struct reading *r) {
    struct node n = {.kind = N_ACCESS,
        .dtype = source->dtype,
        .n_at = r->n_at,
        .has_fill = r->fill != NULL,
        .axis = -1,
        .span = r->like->span,
        .source = r->like->source};
    memcpy(n.at, r->at, sizeof n.at);
    n.args[0] = source;
    memcpy(n.args + 1, r->positions, (size_t)r->n_at * sizeof *r->positions);
    if (r->fill) n.args[1 + r->n_at] = r->fill;
    return build_node(g, n);
}

/* ---- one access by itself ---- */

static bool is_own_index(const struct node *position, int axis) {
    return position->kind == N_INDEX && position->axis == axis;
}

/* The axes a source gives when read so, those of the positions included. */
static int axes_read(const struct node *source, const struct reading *r, int *axes) {
    int n = 0;
    for (int i = 0; i < source->n_axes; i++)
        if (!set_has(r->at, r->n_at, source->axes[i])) n = set_add(axes, n, source->axes[i]);
    for (int i = 0; i < r->n_at; i++)
        for (int j = 0; j < r->positions[i]->n_axes; j++) n = set_add(axes, n, r->positions[i]->axes[j]);
    return n;
}

/* Puts a simpler position i into r, if what is read keeps its axes or need not. */
static void put_simpler(struct pusher *p, const struct node *source, struct reading *r, int i, struct node *simpler) {
    struct node *before = r->positions[i];
    int axes[MAX_AXES * MAX_ARGS], n_axes = axes_read(source, r, axes);
    r->positions[i] = simpler;
    if (!p->may_shrink && axes_read(source, r, axes) != n_axes) r->positions[i] = before;
}

/* Simplifies positions; drops those that are the running index and a value outside that is never read. */
static void tidy_reading(struct pusher *p, const struct node *source, struct reading *r) {
    struct node reader = *r->like; /* without the axes of a fill: by itself what is read runs only over its own */
    struct affine_scope s = affine_scope(p->g, &reader);
    bool is_inside = r->fill != NULL, keeps_axes = true;
    int n = 0, axes[MAX_AXES * MAX_ARGS], n_axes = axes_read(source, r, axes);
    if (n_axes > MAX_AXES) return;
    memcpy(reader.axes, axes, (size_t)n_axes * sizeof *axes);
    reader.n_axes = n_axes;
    for (int i = 0; i < r->n_at; i++) {
        put_simpler(p, source, r, i, affine_simplify(&s, r->positions[i]));
        is_inside = is_inside && affine_is_inside(&s, r->positions[i], r->at[i]);
    }
    for (int i = 0; r->fill && i < r->fill->n_axes; i++) keeps_axes &= set_has(axes, n_axes, r->fill->axes[i]);
    if (is_inside && keeps_axes) r->fill = NULL;
    for (int i = 0; i < r->n_at; i++) {
        if (is_own_index(r->positions[i], r->at[i])) continue; /* the running index is inside, with or without a fill */
        r->at[n] = r->at[i], r->positions[n++] = r->positions[i];
    }
    r->n_at = n;
}

/* Joins two conditions, of which the first may be none. */
static struct node *both(struct pusher *p, struct node *a, struct node *b, const struct node *like) {
    return a ? build_op(p->g, O_AND, a, b, NULL, like) : b;
}

/* Whether block number `block` of positions is the first one. */
static struct node *is_first(struct pusher *p, struct node *block, const struct node *like) {
    return build_op(p->g, O_EQ, block, build_integer(p->g, FX_I64, 0, like), NULL, like);
}

/* Positions that lie inside for one block of them alone, `idx(E) + size(E) * (idx(P) - 1)`, as those within a block:
 * what is read then always lies inside, and the condition says whether it is wanted. NULL: there are none such. */
static struct node *split_positions(struct pusher *p, struct reading *r) {
    struct affine_scope s = affine_scope(p->g, r->like);
    struct node *condition = NULL, *within, *block;
    for (int i = 0; r->fill && i < r->n_at; i++) {
        if (!affine_split(&s, r->positions[i], r->at[i], &within, &block)) continue;
        condition = both(p, condition, is_first(p, block, r->like), r->like);
        r->positions[i] = within;
    }
    return condition;
}

/* The source read so, without looking into it. */
static struct node *read_plainly(struct pusher *p, struct node *source, struct reading r) {
    tidy_reading(p, source, &r);
    struct node *fill = r.fill, *condition = fill && fill->n_axes == 0 ? split_positions(p, &r) : NULL;
    if (condition) return build_op(p->g, O_WHERE, condition, read_plainly(p, source, r), fill, r.like);
    if (r.n_at) return plain(p->g, source, &r);
    bool keeps_axes = true;
    for (int i = 0; r.fill && i < r.fill->n_axes; i++) keeps_axes &= node_has_axis(source, r.fill->axes[i]);
    if (keeps_axes) return source;
    r.n_at = 1, r.at[0] = source->axes[0],
    r.positions[0] = build_index(p->g, r.at[0], r.like); /* it spreads over the axes of the fill */
    return plain(p->g, source, &r);
}

/* ---- through what is pointwise ---- */

struct subtree { /* what stands between an access and what it cannot go through, operands first */
    int n;
    struct node *nodes[MAX_SUBTREE];
    struct node *images[MAX_SUBTREE]; /* of each, as read */
};

static bool is_pointwise(const struct node *n) {
    return n->kind == N_OP || (n->kind == N_CAST && !node_is_stored(n));
}

static int find_in(const struct subtree *t, const struct node *n) {
    int low = 0, high = t->n;
    while (low < high) {
        int mid = (low + high) / 2;
        if (t->nodes[mid]->id < n->id) low = mid + 1;
        else high = mid;
    }
    return low;
}

static bool add_to(struct subtree *t, struct node *n) {
    int at = find_in(t, n);
    if (at < t->n && t->nodes[at] == n) return true;
    if (t->n == MAX_SUBTREE) return false;
    memmove(&t->nodes[at + 1], &t->nodes[at], (size_t)(t->n - at) * sizeof *t->nodes);
    t->nodes[at] = n;
    t->n++;
    return true;
}

/* Collects what the reading changes: operands have smaller ids, so one walk downwards meets everything. */
static bool collect(struct subtree *t, struct node *source, const struct reading *r) {
    t->n = 0;
    if (!add_to(t, source)) return false;
    for (int i = t->n - 1; i >= 0; i--) {
        struct node *n = t->nodes[i];
        int first = n->kind == N_ACCESS ? 1 : 0, before = t->n;
        if (!is_pointwise(n) && n->kind != N_ACCESS) continue;
        for (int a = first; a < n->n_args; a++)
            if (reads_along(r, n->args[a]) && !add_to(t, n->args[a])) return false;
        i += t->n - before; /* what was added stands before n */
    }
    return true;
}

static struct node *image_of(const struct subtree *t, struct node *n) {
    int at = find_in(t, n);
    return at < t->n && t->nodes[at] == n ? t->images[at] : n;
}

/* Positions that what is read does not have are none of its business. A reading that may be outside reads 0 there. */
static struct node *read_leaf(struct pusher *p, struct node *n, const struct reading *r, bool is_guarded) {
    struct reading own = {.like = r->like, .fill = is_guarded ? build_zero(p->g, n->dtype, r->like) : NULL};
    for (int i = 0; i < r->n_at; i++)
        if (node_has_axis(n, r->at[i])) add_position(&own, r->at[i], r->positions[i]);
    return read_plainly(p, n, own);
}

/* An access read: what it reads at composed positions. Axes that it passes through are read as the reading says. */
static struct node *read_access(
    struct pusher *p, const struct subtree *t, const struct node *n, const struct reading *r, bool is_guarded) {
    struct reading own = reading_of(n);
    own.like = r->like;
    for (int i = 0; i < own.n_at; i++) own.positions[i] = image_of(t, own.positions[i]);
    if (own.fill) own.fill = image_of(t, own.fill);
    else if (is_guarded) own.fill = build_zero(p->g, n->dtype, r->like);
    for (int i = 0; i < r->n_at; i++)
        if (node_has_axis(n->args[0], r->at[i]) && !set_has(n->at, n->n_at, r->at[i]))
            add_position(&own, r->at[i], r->positions[i]);
    return read_plainly(p, n->args[0], own);
}

/* A position as the running index it stands for. A u64's upper half becomes negative, and so stays outside. */
static struct node *as_index(struct pusher *p, struct node *position, const struct node *like) {
    if (position->dtype == FX_I64) return position;
    return build_node(p->g, (struct node){.kind = N_CAST,
                                .dtype = FX_I64,
                                .to = FX_I64,
                                .axis = -1,
                                .args = {position},
                                .span = like->span,
                                .source = like->source});
}

static struct node *read_node(
    struct pusher *p, const struct subtree *t, struct node *n, const struct reading *r, bool is_guarded) {
    if (n->kind == N_INDEX) return as_index(p, position_along(r, n->axis), r->like);
    if (n->kind == N_ACCESS) return read_access(p, t, n, r, is_guarded);
    if (!is_pointwise(n)) return read_leaf(p, n, r, is_guarded);
    struct node copy = *n;
    for (int a = 0; a < n->n_args; a++) copy.args[a] = image_of(t, n->args[a]);
    copy.name = (struct name){0};
    return build_node(p->g, copy);
}

/* Whether every position is inside, as a condition. */
static struct node *inside(struct pusher *p, const struct reading *r) {
    struct affine_scope s = affine_scope(p->g, r->like);
    struct node *all = NULL, *within, *block;
    for (int i = 0; i < r->n_at; i++) {
        if (affine_split(&s, r->positions[i], r->at[i], &within, &block)) {
            all = both(p, all, is_first(p, block, r->like), r->like);
            continue;
        }
        struct node *size = build_size(p->g, r->at[i], r->like), *position = as_index(p, r->positions[i], r->like);
        struct node *low = build_op(p->g, O_GE, position, build_integer(p->g, FX_I64, 0, r->like), NULL, r->like);
        all = both(p, all, both(p, low, build_op(p->g, O_LT, position, size, NULL, r->like), r->like), r->like);
    }
    return all;
}

/* The one leaf of the subtree that the reading reaches, if the rest is numbers: then what lies outside may lie outside
 * the leaf. */
static struct node *only_leaf(const struct subtree *t) {
    struct node *leaf = NULL;
    for (int i = 0; i < t->n; i++) {
        struct node *n = t->nodes[i];
        if (n->kind == N_ACCESS || n->kind == N_INDEX) return NULL;
        if (!is_pointwise(n)) {
            if (leaf) return NULL;
            leaf = n;
        }
        for (int a = 0; a < n->n_args && is_pointwise(n); a++) {
            int at = find_in(t, n->args[a]);
            if ((at == t->n || t->nodes[at] != n->args[a]) && n->args[a]->kind != N_CONST) return NULL;
        }
    }
    return leaf;
}

static bool same_const(const struct node *a, const struct node *b) {
    return a->kind == N_CONST && b->kind == N_CONST && a->dtype == b->dtype && a->integer == b->integer &&
           memcmp(&a->num, &b->num, sizeof a->num) == 0;
}

/* The number that, outside the leaf, makes the whole the fill: relu(x)[..] ?? 0 is relu(x[..] ?? 0). NULL: none was
 * found. */
static struct node *fill_of_leaf(
    struct pusher *p, struct subtree *t, const struct node *leaf, const struct reading *r) {
    for (int attempt = 0; attempt < 2; attempt++) {
        struct node *c = attempt == 0                    ? build_zero(p->g, leaf->dtype, r->like)
                         : leaf->dtype == r->fill->dtype ? r->fill
                                                         : NULL;
        if (!c) return NULL;
        for (int i = 0; i < t->n; i++) {
            struct node copy = *t->nodes[i];
            for (int a = 0; a < copy.n_args; a++) copy.args[a] = image_of(t, copy.args[a]);
            t->images[i] = t->nodes[i] == leaf ? c : build_folded(p->g, &copy);
            if (!t->images[i]) return NULL;
        }
        if (same_const(t->images[t->n - 1], r->fill)) return c;
    }
    return NULL;
}

/* The subtree read, node by node; `fill`: what `leaf` reads outside, or NULL. */
static struct node *read_subtree(
    struct pusher *p, struct subtree *t, const struct reading *r, const struct node *leaf, struct node *fill) {
    struct reading whole = *r;
    whole.fill = fill;
    for (int i = 0; i < t->n; i++)
        t->images[i] = fill && t->nodes[i] == leaf ? read_plainly(p, t->nodes[i], whole)
                                                   : read_node(p, t, t->nodes[i], r, r->fill != NULL);
    return t->images[t->n - 1];
}

/* Something pointwise, an access or an index, read. NULL where that would take too many nodes. */
static struct node *read_through(struct pusher *p, struct node *source, const struct reading *r) {
    struct subtree *t = NEW(&p->g->cx->arena, struct subtree);
    if (!collect(t, source, r) || 2 * t->n > p->room) return NULL;
    p->room -= t->n;
    struct node *leaf = r->fill && r->fill->kind == N_CONST ? only_leaf(t) : NULL,
                *fill = leaf ? fill_of_leaf(p, t, leaf, r) : NULL;
    int axes[MAX_AXES * MAX_ARGS], n_axes = axes_read(source, r, axes);
    p->may_shrink = true;
    struct node *image = read_subtree(p, t, r, leaf, fill);
    p->may_shrink = false;
    if (image->n_axes != n_axes && (!r->fill || fill)) image = read_subtree(p, t, r, leaf, fill);
    return r->fill && !fill ? build_op(p->g, O_WHERE, inside(p, r), image, r->fill, r->like) : image;
}

/* ---- below reductions ---- */

/* Whether no element is read twice: every axis of the result can be told from where it reads. */
static bool reads_once(struct pusher *p, const struct node *source, const struct reading *r) {
    struct affine_scope s = affine_scope(p->g, r->like);
    int known[MAX_AXES * MAX_ARGS], n_known = 0, found[2];
    for (int i = 0; i < source->n_axes; i++)
        if (!set_has(r->at, r->n_at, source->axes[i])) known[n_known++] = source->axes[i];
    for (int i = 0; i < r->n_at; i++) {
        int n = affine_recovers(&s, r->positions[i], found);
        for (int j = 0; j < n; j++) n_known = set_add(known, n_known, found[j]);
    }
    for (int i = 0; i < r->n_at; i++)
        for (int j = 0; j < r->positions[i]->n_axes; j++)
            if (!set_has(known, n_known, r->positions[i]->axes[j])) return false;
    return true;
}

static bool mentions_axis(const struct reading *r, int axis) {
    for (int i = 0; i < r->n_at; i++)
        if (node_has_axis(r->positions[i], axis)) return true;
    return r->fill && node_has_axis(r->fill, axis);
}

/* Gives the kernel of the new graph a label of the same extent as `axis`, or finds it. */
static int label_like(struct pusher *p, int axis) {
    if (!p->kernel) {
        p->kernel = NEW(&p->g->cx->arena, struct kernel);
        *p->kernel = *p->g->kernel;
        p->g->kernel = p->kernel;
    }
    struct axis label = p->kernel->axes[axis];
    struct fx_term *term = NEW(&p->g->cx->arena, struct fx_term);
    *term = (struct fx_term){FX_T_EXTENT, axis};
    const bool is_fixed = label.extent >= 0;
    return build_made_label(p->g, p->kernel, label, "_in", is_fixed ? (struct fx_expr){0} : (struct fx_expr){1, term},
        arena_printf(&p->g->cx->arena, NAME_FMT, NAME_ARG(label.name)));
}

/* What n, read, reduces over in the place of `axis`: that, or, where positions run over it, a label of its own, which
 * neither n nor those, nor `taken`, have: the square layer (x @[D] w){E->D} sums over D and has D. -1: the kernel has no
 * room for one. */
static int label_apart(
    struct pusher *p, const struct node *n, const struct reading *r, const struct node *taken, int axis) {
    int apart = axis;
    while (mentions_axis(r, apart) || set_has(taken->reduced, taken->n_reduced, apart) ||
           (apart != axis && node_has_axis(n->args[0], apart))) {
        if (p->g->kernel->n_axes == FX_MAX_EXTENTS) return -1;
        apart = label_like(p, apart);
    }
    return apart;
}

/* A reduction read: the reduction of what it reduces, read. What is reduced over an axis that a position runs over is
 * reduced over a label of its own. NULL: it cannot be. */
static struct node *read_reduction(struct pusher *p, const struct node *n, const struct reading *r) {
    if (r->fill || !reads_once(p, n, r)) return NULL;
    struct node copy = *n;
    struct reading below = *r;
    copy.n_reduced = 0;
    for (int i = 0; i < n->n_reduced; i++) {
        const int axis = n->reduced[i], apart = label_apart(p, n, r, &copy, axis);
        if (apart < 0) return NULL;
        if (apart != axis) add_position(&below, axis, build_index(p->g, apart, r->like));
        copy.n_reduced = set_add(copy.reduced, copy.n_reduced, apart);
    }
    copy.args[0] = plain(p->g, n->args[0], &below);
    copy.name = (struct name){0};
    return build_node(p->g, copy);
}

/* A running sum read: only along other axes, or along another axis of the same extent in its place. */
static struct node *read_scan(struct pusher *p, const struct node *n, const struct reading *r) {
    struct node copy = *n, *along = position_along(r, n->axis);
    if (r->fill || !reads_once(p, n, r)) return NULL;
    if (along) {
        bool is_renamed = along->kind == N_INDEX && !node_has_axis(n, along->axis) &&
                          axes_same_extent(p->g->kernel, along->axis, n->axis);
        for (int i = 0; i < r->n_at; i++)
            is_renamed = is_renamed && (r->at[i] == n->axis || !node_has_axis(r->positions[i], along->axis));
        if (!is_renamed) return NULL;
        copy.axis = along->axis;
    } else if (mentions_axis(r, n->axis)) return NULL;
    for (int i = 0; i < n->n_args; i++) copy.args[i] = plain(p->g, n->args[i], r);
    copy.name = (struct name){0};
    return build_node(p->g, copy);
}

/* ---- the pass ---- */

static bool same_access(const struct node *a, const struct node *b) {
    if (a->kind != N_ACCESS || a->args[0] != b->args[0] || a->n_at != b->n_at || a->has_fill != b->has_fill ||
        memcmp(a->at, b->at, (size_t)a->n_at * sizeof *a->at))
        return false;
    for (int i = 1; i < a->n_args; i++)
        if (a->args[i] != b->args[i] && (a->args[i]->kind != N_INDEX || !is_own_index(b->args[i], a->args[i]->axis)))
            return false;
    return true;
}

/* What stands for an access whose operands are in the new graph; has_one: it may go below its source, a reduction. */
static struct node *fold_access(struct pusher *p, const struct node *n, bool has_one) {
    struct node *source = n->args[0], *image = NULL;
    struct reading r = reading_of(n);
    tidy_reading(p, source, &r);
    if (r.n_at) {
        if (is_pointwise(source) || source->kind == N_ACCESS || source->kind == N_INDEX)
            image = read_through(p, source, &r);
        else if (has_one && source->kind == N_REDUCE) image = read_reduction(p, source, &r);
        else if (has_one && source->kind == N_SCAN) image = read_scan(p, source, &r);
    }
    if (!image) image = read_plainly(p, source, r);
    p->has_changed |= !same_access(image, n);
    return image;
}

/* ---- parts of a contraction ---- */

/* Whether the access, of a contraction, can go below it, no element being read twice. */
static bool can_go_below(struct pusher *p, const struct node *access) {
    const struct node *sum = access->args[0];
    struct reading r = reading_of(access);
    return !r.fill && reads_once(p, sum, &r);
}

/* Marks, by id, the matrix products that nothing but accesses read, which together read no more elements than there
 * are: each is a contraction of parts of the factors, and all of them together take no more than the whole. */
static bool *find_parted(const struct graph *g, const int *readers) {
    struct pusher p = {.g = graph_like(g)};
    bool *is_parted = NEW_ARRAY(&g->cx->arena, bool, g->n_nodes + 1);
    double *left = NEW_ARRAY(&g->cx->arena, double, g->n_nodes + 1);
    int *n_accesses = NEW_ARRAY(&g->cx->arena, int, g->n_nodes + 1);
    for (int i = 0; i < g->n_nodes; i++) {
        const struct node *n = g->nodes[i];
        if (!readers[i]) continue;
        is_parted[i] = is_matrix_product(g, n);
        left[i] = 1.0001 * nominal_size(g, n->axes, n->n_axes);
        if (n->kind != N_ACCESS || !is_parted[n->args[0]->id]) continue;
        int sum = n->args[0]->id;
        n_accesses[sum]++;
        left[sum] -= nominal_size(g, n->axes, n->n_axes);
        is_parted[sum] = left[sum] >= 0 && can_go_below(&p, n);
    }
    for (int i = 0; i < g->n_nodes; i++) is_parted[i] = is_parted[i] && n_accesses[i] == readers[i];
    return is_parted;
}

struct sweep {
    struct pusher p;
    const int *readers;
    const bool *is_parted;
    bool below; /* whether accesses may go below reductions */
};

static struct node *push(void *state, struct graph *out, const struct node *old, struct node *n, struct node **map) {
    struct sweep *s = state;
    (void)map;
    if (!s->readers[old->id]) return NULL;
    if (old->kind != N_ACCESS) return graph_add(out, n);
    int source = old->args[0]->id;
    return fold_access(&s->p, n, s->below && (s->readers[source] == 1 || s->is_parted[source]));
}

static struct graph *sweep(const struct graph *g, bool below, int *room, bool *has_changed) {
    struct sweep s = {.p = {.g = graph_like(g), .room = *room}, .readers = count_readers(g), .below = below};
    s.is_parted = find_parted(g, s.readers);
    graph_rewrite(g, s.p.g, push, &s);
    *has_changed = s.p.has_changed;
    *room = s.p.room;
    return s.p.g;
}

/* Accesses of accesses become one before any goes below a reduction: only then is it known how many read it. */
struct graph *pass_access(const struct graph *g) {
    struct graph *out = (struct graph *)g;
    int room = 4 * g->n_nodes + 4 * MAX_SUBTREE;
    bool below = false;
    for (int i = 0; i < MAX_SWEEPS; i++) {
        bool has_changed;
        struct graph *next = sweep(out, below, &room, &has_changed);
        if (!has_changed && below) break;
        if (has_changed) out = pass_dce(pass_cse(pass_canonicalise(next)));
        below = !has_changed;
    }
    /* Conditions that are equal are one node only now. */
    return out == g ? out : pass_dce(pass_cse(pass_canonicalise(out)));
}
