/* Parameters and buffers as memory: the stores and loads of a group.
 *
 * In: a graph, its partition. Out: tensors, the loads and the footprint of a group, sizes at the nominal extents. */
#include "graph/linear.h"
#include "graph/tensor.h"
#include "graph/terms.h"

/* The labels of a tensor in storage order. One fixed at 1 changes no address:
 * leaving it out lets its neighbours merge. */
static void set_axes(const struct graph *g, struct tensor *t, const int *axes, int n_axes) {
    for (int i = 0; i < n_axes; i++)
        if (g->kernel->axes[axes[i]].extent != 1) t->axes[t->n_axes++] = axes[i];
}

struct tensor tensor_of_param(const struct graph *g, int param) {
    const struct param *p = &g->kernel->params[param];
    struct tensor t = {.param = param, .buffer = -1, .is_strided = p->is_strided, .dtype = p->dtype};
    set_axes(g, &t, p->axes, p->n_axes);
    return t;
}

struct tensor tensor_of_buffer(const struct graph *g, const struct partition *p, int buffer) {
    const struct buffer *b = &p->buffers[buffer];
    if (b->held) return tensor_of_param(g, b->held - 1);
    struct tensor t = {.param = -1,
        .buffer = buffer,
        .dtype = b->is_halved ? FX_F16 : b->is_split ? FX_BF16 : b->dtype,
        .is_split = b->is_split,
        .is_halved = b->is_halved,
        .k = b->k,
        .n_mn = b->n_mn};
    set_axes(g, &t, b->axes, b->n_axes);
    return t;
}

struct tensor tensor_of_store(const struct graph *g, const struct partition *p, const struct store *s) {
    return s->param >= 0 ? tensor_of_param(g, s->param) : tensor_of_buffer(g, p, s->buffer);
}

int tensor_axis(const struct tensor *t, int axis) {
    for (int i = 0; i < t->n_axes; i++)
        if (t->axes[i] == axis) return i;
    return -1;
}

int find_label(const struct axis_list *l, int axis) {
    for (int i = 0; i < l->n; i++)
        if (l->axes[i] == axis) return i;
    return -1;
}

int find_run(const struct tensor *t, const struct axis_list *l) {
    int n = 0, first = -1;
    for (int i = 0; i < l->n; i++) n += tensor_axis(t, l->axes[i]) >= 0;
    if (n == 0) return -2;
    if (n < l->n || (t->is_strided && n > 1)) return -1;
    first = tensor_axis(t, l->axes[0]);
    for (int i = 0; i < l->n; i++)
        if (tensor_axis(t, l->axes[i]) != first + i) return -1;
    return first;
}

int count_piece(const struct tensor *t, const struct axis_list *l) {
    int n = 0;
    while (n < l->n && n < t->n_axes && l->axes[l->n - 1 - n] == t->axes[t->n_axes - 1 - n]) n++;
    return n < l->n && !t->is_strided ? n : 0;
}

bool node_is_loaded(
    const struct graph *g, const struct partition *p, const struct group *r, const struct node *n, struct tensor *t) {
    if (group_sum(r, n) >= 0 || is_chain_step(r, n)) return false;
    if (r->is_copy && n == copied_value(r->stores[0].value)) {
        *t = tensor_of_buffer(g, p, r->copied);
        return true;
    }
    if (n->kind == N_INPUT) {
        *t = tensor_of_param(g, n->param);
        return !g->kernel->params[n->param].packed.factor;
    }
    int b = node_buffer(p, n);
    for (int s = 0; s < r->n_stores; s++)
        if (r->stores[s].buffer == b && r->stores[s].value == n) return false; /* this group writes it */
    if (b < 0) return false;
    *t = tensor_of_buffer(g, p, b);
    return true;
}

static int add_loads(const struct graph *g, const struct partition *p, const struct group *r, const struct node *n,
    bool *seen, struct tensor *loads, int n_loads, int max) {
    struct tensor t;
    if (seen[n->id] || group_sum(r, n) >= 0 || is_chain_step(r, n))
        return n_loads; /* a chain's intermediate reads what it needs itself */
    seen[n->id] = true;
    if (node_is_loaded(g, p, r, n, &t)) {
        if (n_loads < max) loads[n_loads] = t;
        return n_loads + 1;
    }
    if ((n->kind == N_REDUCE || n->kind == N_SCAN) && !is_row_step(r, n))
        return n_loads; /* what loops read is read there */
    for (int i = n->kind == N_ACCESS; i < n->n_args; i++)
        n_loads = add_loads(g, p, r, n->args[i], seen, loads, n_loads, max);
    return n_loads;
}

int group_loads(
    const struct graph *g, const struct partition *p, const struct group *r, struct tensor *loads, int max) {
    bool *seen = NEW_ARRAY(&g->cx->arena, bool, g->n_nodes + 1);
    int n = 0;
    for (int s = 0; s < r->n_stores; s++)
        n = add_loads(g, p, r, store_element(g, r, &r->stores[s]), seen, loads, n, max);
    return n < max ? n : max;
}

/* Whether n is the same for all elements along the labels of l. */
static bool is_same_along(const struct node *n, const struct axis_list *l) { return !node_has_any(n, l->axes, l->n); }

/* Of the labels of t from position `end` on: how many elements they are together, and at which of them access n stands;
 * false where a position is no constant, or they are no power of 2 elements, as vectors are. */
static bool find_step(const struct graph *g, const struct node *n, const struct tensor *t, int end, struct chunk *c) {
    c->step = 1, c->offset = 0;
    for (int i = end; i < t->n_axes; i++) {
        int k = 0;
        int64_t extent = g->kernel->axes[t->axes[i]].extent;
        while (k < n->n_at && n->at[k] != t->axes[i]) k++;
        if (k == n->n_at || extent < 1 || c->step * extent > MOST_CHUNK_STEP) return false;
        const struct node *at = n->args[1 + k];
        if (at->kind != N_CONST || at->integer < 0 || at->integer >= extent) return false;
        c->step *= (int)extent;
        c->offset = c->offset * (int)extent + (int)at->integer;
    }
    return (c->step & (c->step - 1)) == 0;
}

static bool is_chunk(const struct graph *g, const struct partition *p, const struct group *r,
    const struct axis_list *along, struct node *n, struct chunk *c) {
    struct tensor *t = &c->tensor;
    if (n->kind != N_ACCESS || !along->n || !node_is_loaded(g, p, r, n->args[0], t) || t->is_strided) return false;
    if (t->dtype != FX_F32 && t->dtype != FX_F16 && t->dtype != FX_BF16) return false;
    int at = find_run(t, along);
    if (at < 0 || !find_step(g, n, t, at + along->n, c)) return false;
    for (int i = 0; i < n->n_at; i++)
        if (find_label(along, n->at[i]) >= 0) return false;
    for (int i = 1; i < n->n_args; i++)
        if (!is_same_along(n->args[i], along)) return false;
    c->access = n;
    return !n->has_fill || n->args[n->n_args - 1]->kind == N_CONST;
}

/* Whether two accesses differ in the constant positions behind the labels of `along` alone. */
static bool reads_same(const struct chunk *x, const struct chunk *y, const struct axis_list *along) {
    const struct node *a = x->access, *b = y->access;
    bool is_filled = a->has_fill || b->has_fill;
    if (x->step == 1 || x->step != y->step || a->args[0] != b->args[0] || a->n_at != b->n_at || is_filled) return false;
    const int last = tensor_axis(&x->tensor, along->axes[along->n - 1]);
    for (int i = 0; i < a->n_at; i++) {
        bool is_behind = tensor_axis(&x->tensor, a->at[i]) > last;
        if (a->at[i] != b->at[i] || (a->args[1 + i] != b->args[1 + i] && !is_behind)) return false;
    }
    return true;
}

/* Position n as factor * idx(axis) + first; false where it is not seen to be that. */
static bool find_linear(const struct node *n, int axis, int64_t *factor, int64_t *first) {
    struct linear l = {0};
    if (!linear_add(&l, n, 1) || l.n > 1 || (l.n && l.axis[0] != axis)) return false;
    return *factor = l.n ? l.factor[0] : 0, *first = l.first, true;
}

/* The position of access n along axis; NULL: the axis passes through. */
static struct node *position_along(const struct node *n, int axis) {
    for (int i = 0; i < n->n_at; i++)
        if (n->at[i] == axis) return n->args[1 + i];
    return NULL;
}

static const struct node *fill_of(const struct node *n) { return n->has_fill ? n->args[1 + n->n_at] : NULL; }

static bool is_strip(const struct graph *g, const struct partition *p, const struct group *r,
    const struct axis_list *along, struct node *n, struct chunk *c) {
    struct tensor *t = &c->tensor;
    int64_t factor = 1, first = 0;
    if (n->kind != N_ACCESS || along->n != 1 || r->contraction || r->is_row ||
        !node_is_loaded(g, p, r, n->args[0], t) || t->is_strided || t->is_split || !t->n_axes)
        return false;
    if (t->dtype != FX_F32 && t->dtype != FX_F16 && t->dtype != FX_BF16) return false;
    const int last = t->axes[t->n_axes - 1];
    const struct node *at = position_along(n, last);
    if (at ? !find_linear(at, along->axes[0], &factor, &first) : last != along->axes[0]) return false;
    if (factor < 1 || factor > MOST_STRIP_FACTOR || first < -MOST_STRIP_FIRST || first > MOST_STRIP_FIRST) return false;
    for (int i = 0; i < t->n_axes - 1; i++) {
        const struct node *other = position_along(n, t->axes[i]);
        if (other ? !is_same_along(other, along) : t->axes[i] == along->axes[0]) return false;
    }
    for (int i = 0; i < n->n_at; i++) /* an axis of one element is none of the tensor's */
        if (tensor_axis(t, n->at[i]) < 0 && (n->has_fill || !is_same_along(n->args[1 + i], along))) return false;
    if (n->has_fill && (fill_of(n)->kind != N_CONST || fill_of(n)->dtype != FX_F32)) return false;
    c->access = n, c->is_strip = true, c->step = 1, c->offset = 0;
    c->factor = (int)factor, c->first = (int)first;
    return true;
}

bool chunks_read_same(const struct chunk *x, int row_x, const struct chunk *y, int row_y, int label) {
    const struct node *a = x->access, *b = y->access, *fill_a = fill_of(a), *fill_b = fill_of(b);
    const int n_axes = a->args[0]->n_axes;
    if (a->args[0] != b->args[0] || x->is_strip != y->is_strip || x->step != y->step) return false;
    if (fill_a && fill_b && memcmp(&fill_a->num, &fill_b->num, sizeof fill_a->num)) return false; /* else inside */
    if (x->is_strip && (x->factor != y->factor || x->least != y->least || x->most != y->most)) return false;
    for (int i = 0; i < n_axes; i++) {
        const int axis = a->args[0]->axes[i];
        const struct node *at = position_along(a, axis), *other = position_along(b, axis);
        int64_t factor = 1, first = 0, factor_b = 1, first_b = 0;
        if (x->is_strip && axis == x->tensor.axes[x->tensor.n_axes - 1]) continue;
        const bool is_own = axis == label, has_at = at && node_has_axis(at, label),
                   has_other = other && node_has_axis(other, label);
        if (at == other && !has_at && !(is_own && !at)) continue; /* it does not run along the label */
        if (!(has_at || (is_own && !at)) || !(has_other || (is_own && !other))) return false;
        if (at && !find_linear(at, label, &factor, &first)) return false;
        if (other && !find_linear(other, label, &factor_b, &first_b)) return false;
        if (factor != factor_b || first + factor * row_x != first_b + factor * row_y) return false;
    }
    return true;
}

/* Whether two strips read one row, as far as positions along its last axis go. */
static bool share_row(const struct chunk *x, const struct chunk *y) {
    const struct node *a = x->access, *b = y->access;
    if (!x->is_strip || !y->is_strip || x->factor != y->factor || a->args[0] != b->args[0]) return false;
    for (int i = 0; i < x->tensor.n_axes - 1; i++)
        if (position_along(a, x->tensor.axes[i]) != position_along(b, x->tensor.axes[i])) return false;
    return true;
}

/* Gives those strips one owner, the last of them, that read one row within MOST_STRIP_RUN of each other, as strip `of`
 * does or those that lie ahead of it. */
static void find_row(struct chunk *chunks, int of) {
    int least = chunks[of].first, owner = -1;
    for (int i = of; i >= 0; i--)
        if (chunks[i].owner < 0 && share_row(&chunks[of], &chunks[i]) && chunks[i].first < least)
            least = chunks[i].first;
    for (int i = of; i >= 0; i--) {
        struct chunk *c = &chunks[i], *o = &chunks[owner < 0 ? i : owner];
        const struct node *fill = fill_of(c->access);
        if (c->owner >= 0 || !share_row(&chunks[of], c) || c->first - least >= MOST_STRIP_RUN) continue;
        if (owner >= 0 && fill && o->fill && memcmp(&fill->num, &o->fill->num, sizeof fill->num) != 0) continue;
        if (owner < 0) owner = i, o->least = o->most = c->first;
        c->owner = owner;
        if (fill) o->fill = fill;
        if (c->first < o->least) o->least = c->first;
        if (c->first > o->most) o->most = c->first;
    }
}

/* Of strips that are read for one access alone: of elements side by side a plain chunk; and none of rows that are no
 * whole vectors, which would be read one by one, nothing gained. Returns how many chunks are left. */
static int drop_plain(const struct graph *g, const struct partition *p, const struct group *r,
    const struct axis_list *along, struct chunk *chunks, int n_chunks) {
    enum { LEAST_VECTOR = 4 };
    int *n_readers = NEW_ARRAY(&g->cx->arena, int, n_chunks + 1), *number = NEW_ARRAY(&g->cx->arena, int, n_chunks + 1),
        n_left = 0;
    for (int i = 0; i < n_chunks; i++) n_readers[chunks[i].owner]++;
    for (int i = 0; i < n_chunks; i++) {
        struct chunk *c = &chunks[i], plain = {.owner = i};
        const int last = c->is_strip ? c->tensor.axes[c->tensor.n_axes - 1] : -1;
        const bool is_alone = c->is_strip && n_readers[i] == 1 && c->owner == i;
        number[i] = n_left;
        if (is_alone && !position_along(c->access, last) && is_chunk(g, p, r, along, c->access, &plain)) *c = plain;
        else if (is_alone && g->kernel->axes[last].extent >= 0 && g->kernel->axes[last].extent % LEAST_VECTOR) continue;
        chunks[n_left++] = *c;
    }
    for (int i = 0; i < n_left; i++) chunks[i].owner = number[chunks[i].owner];
    return n_left;
}

/* Whether every label of n has an index where the elements of a row are computed. A label of an access below another
 * access may have none: that access gives it a position. */
static bool has_indices(const struct node *n, const bool *is_of_row) {
    for (int i = 0; i < n->n_axes; i++)
        if (!is_of_row[n->axes[i]]) return false;
    return true;
}

int group_chunks(const struct graph *g, const struct partition *p, const struct group *r,
    const struct axis_list *along, struct chunk *chunks, int max) {
    bool *seen = NEW_ARRAY(&g->cx->arena, bool, g->n_nodes + 1),
         *is_of_row = NEW_ARRAY(&g->cx->arena, bool, g->kernel->n_axes + 1);
    int n_chunks = 0;
    struct tensor t;
    for (int s = 0; s < r->n_stores; s++) {
        const struct node *n = store_element(g, r, &r->stores[s]);
        seen[n->id] = true;
        for (int i = 0; i < n->n_axes; i++) is_of_row[n->axes[i]] = true;
    }
    for (int i = g->n_nodes - 1; i >= 0 && n_chunks < max; i--) {
        struct node *n = g->nodes[i];
        if (!seen[i] || group_sum(r, n) >= 0 || node_is_loaded(g, p, r, n, &t)) continue;
        if (n->kind == N_REDUCE || n->kind == N_SCAN || n->kind == N_SHARE)
            continue; /* what loops read is read there */
        chunks[n_chunks] = (struct chunk){.access = NULL};
        if (has_indices(n, is_of_row) &&
            (is_strip(g, p, r, along, n, &chunks[n_chunks]) || is_chunk(g, p, r, along, n, &chunks[n_chunks]))) {
            n_chunks++;
            continue;
        }
        for (int a = 0; a < n->n_args; a++) seen[n->args[a]->id] = true;
    }
    for (int i = 0; i < n_chunks; i++) /* the first of them in the graph, which stands last here */
        for (int j = chunks[i].owner = chunks[i].is_strip ? -1 : i; j < n_chunks && j >= 0; j++)
            if (!chunks[j].is_strip && reads_same(&chunks[i], &chunks[j], along)) chunks[i].owner = j;
    for (int i = n_chunks - 1; i >= 0; i--)
        while (chunks[i].owner < 0) find_row(chunks, i);
    return drop_plain(g, p, r, along, chunks, n_chunks);
}

static void touch_axes(struct footprint *f, const int *axes, int n) {
    for (int i = 0; i < n; i++) f->axes[axes[i]] = true;
}

enum { OF_FUNCTION = 16 }; /* instructions of an exponential, a division, an error function: 8 to 30 */

/* Adds what is computed from the nodes marked in times, in group r, to a footprint. What a loop of no turns reads is
 * named in the code all the same. */
static void add_footprint(
    const struct graph *g, const struct partition *p, const struct group *r, double *times, struct footprint *f) {
    bool *is_read = NEW_ARRAY(&g->cx->arena, bool, g->n_nodes + 1);
    for (int i = g->n_nodes - 1; i >= 0; i--) {
        const struct node *n = g->nodes[i];
        struct tensor t = {.param = -1, .buffer = -1};
        is_read[i] |= times[i] > 0;
        if (!is_read[i] || group_sum(r, n) >= 0) continue;
        bool is_loaded = node_is_loaded(g, p, r, n, &t),
             is_loop = n->kind == N_REDUCE || n->kind == N_SCAN || (n->kind == N_SHARE && !is_shared_by(r, n));
        f->is_general |= !is_loaded && (is_loop || n->kind == N_ACCESS || n->kind == N_INDEX || n->kind == N_SIZE ||
                                           n->kind == N_INPUT || n->kind == N_PLACE);
        bool is_input = n->kind == N_INPUT && t.buffer < 0;
        if (is_input || n->kind == N_SCALAR) f->params[n->param] = true;
        if (t.buffer >= 0) f->buffers[t.buffer] = true;
        if (is_input) touch_axes(f, g->kernel->params[n->param].axes, g->kernel->params[n->param].n_axes);
        if (t.buffer >= 0) touch_axes(f, p->buffers[t.buffer].axes, p->buffers[t.buffer].n_axes);
        f->ops += times[i];
        double instructions = times[i] * (n->kind == N_OP && op_info[n->op].rule == RULE_FLOAT ? OF_FUNCTION : 1);
        f->instructions += instructions;
        if (f->by_node) f->by_node[i] = instructions;
        if (is_loaded) continue;
        if (n->kind == N_PLACE) touch_axes(f, g->kernel->params[n->param].axes, g->kernel->params[n->param].n_axes);
        f->has_loops |= is_loop;
        if (n->axis >= 0) touch_axes(f, &n->axis, 1);
        touch_axes(f, n->at, n->n_at);
        touch_axes(f, n->reduced, n->n_reduced);
        double inside = times[i] * (n->kind == N_REDUCE    ? nominal_size(g, n->reduced, n->n_reduced)
                                       : n->kind == N_SCAN ? nominal_extent(g, n->axis) / 2
                                       : is_loop           ? n->run
                                                           : 1);
        if (is_loop && f->turns < inside) f->turns = inside;
        for (int k = 0; k < n->n_args; k++) {
            is_read[n->args[k]->id] = true;
            if (times[n->args[k]->id] < inside) times[n->args[k]->id] = inside;
        }
    }
}

/* What the factors read that a mainloop copies or makes, and the labels that it runs over. */
static void add_factors(const struct graph *g, const struct partition *p, const struct group *r, struct footprint *f) {
    double *times = NEW_ARRAY(&g->cx->arena, double, g->n_nodes + 1);
    struct footprint apart = {.params = f->params, .buffers = f->buffers, .axes = f->axes};
    for (int i = 0; i < 2 * r->n_sums; i++) {
        const struct product *x = &r->sums[i / 2];
        int b = x->buffer[i % 2];
        touch_axes(f, x->factor[i % 2]->axes, x->factor[i % 2]->n_axes);
        if (b < 0) times[x->factor[i % 2]->id] = 1;
        else if (p->buffers[b].held) {
            const int param = p->buffers[b].held - 1;
            f->params[param] = true;
            touch_axes(f, g->kernel->params[param].axes, g->kernel->params[param].n_axes);
        } else f->buffers[b] = true;
    }
    add_footprint(g, p, r, times, &apart);
}

struct footprint group_footprint(const struct graph *g, const struct partition *p, const struct group *r) {
    struct arena *a = &g->cx->arena;
    struct footprint f = {NEW_ARRAY(a, bool, g->kernel->n_params + 1), NEW_ARRAY(a, bool, p->n_buffers + 1),
        NEW_ARRAY(a, bool, g->kernel->n_axes + 1), false, false, 0, 0, 0, NEW_ARRAY(a, double, g->n_nodes + 1)};
    double *times = NEW_ARRAY(a, double, g->n_nodes + 1); /* it is computed for an element; 0: not at all */
    for (int s = 0; s < r->n_stores; s++) times[store_element(g, r, &r->stores[s])->id] = 1;
    add_footprint(g, p, r, times, &f);
    add_factors(g, p, r, &f);
    return f;
}

/* Instructions for which a thread reads a strip: each of its vectors, and each element that is used. */
static double strip_instructions(const struct chunk *c, int vector) {
    enum { OF_VECTOR = 6 };
    const double elements = c->factor * (vector - 1) + c->most - c->least + 1;
    return OF_VECTOR * (elements / vector + 1) + elements;
}

double group_instructions(const struct graph *g, const struct partition *p, const struct group *r,
    const struct axis_list *along, int vector, double share) {
    struct arena *a = &g->cx->arena;
    struct footprint f = group_footprint(g, p, r);
    struct chunk *chunks = NEW_ARRAY(a, struct chunk, MAX_CHUNKS);
    const int n_chunks = group_chunks(g, p, r, along, chunks, MAX_CHUNKS);
    bool *seen = NEW_ARRAY(a, bool, g->n_nodes + 1);
    double sum = 0;
    for (int s = 0; s < r->n_stores; s++) seen[store_element(g, r, &r->stores[s])->id] = true;
    for (int i = g->n_nodes - 1; i >= 0; i--) {
        const struct node *n = g->nodes[i];
        int c = 0;
        if (!seen[i] && (n->kind == N_OP || n->kind == N_CAST || n->kind == N_INDEX)) continue;
        while (c < n_chunks && chunks[c].access != n) c++;
        const bool is_strip = c < n_chunks && chunks[c].is_strip;
        if (is_strip && chunks[c].owner == c) sum += share * strip_instructions(&chunks[c], vector) / vector;
        if (!is_strip)
            sum += (c < n_chunks ? share : 1) * f.by_node[i] / (c < n_chunks || is_same_along(n, along) ? vector : 1);
        for (int k = 0; k < n->n_args; k++) /* along a strip a position is a number of the code */
            seen[n->args[k]->id] |= !is_strip || is_same_along(n->args[k], along);
    }
    return sum;
}

double nominal_extent(const struct graph *g, int axis) {
    const struct axis *a = &g->kernel->axes[axis];
    return a->extent >= 0 ? (double)a->extent : a->nominal;
}

double nominal_size(const struct graph *g, const int *axes, int n) {
    double size = 1;
    for (int i = 0; i < n; i++) size *= nominal_extent(g, axes[i]);
    return size;
}

double tensor_bytes(const struct graph *g, const struct tensor *t) {
    return nominal_size(g, t->axes, t->n_axes) * tensor_bits(t) / 8;
}

int tensor_bits(const struct tensor *t) {
    return fx_dtype_bits(t->dtype) * (t->is_halved ? HALVED_PARTS : t->is_split ? SPLIT_PARTS : 1);
}

struct halved tensor_halved(const struct tensor *t) {
    const int n_batch = t->n_axes - 1 - t->n_mn;
    struct halved h = {.batch = {.n = n_batch},
        .mn = {.n = t->n_mn},
        .k = {1, {t->k}},
        .is_k_last = t->axes[t->n_axes - 1] == t->k};
    memcpy(h.batch.axes, t->axes, (size_t)n_batch * sizeof *t->axes);
    memcpy(h.mn.axes, t->axes + n_batch + !h.is_k_last, (size_t)t->n_mn * sizeof *t->axes);
    return h;
}

void halved_pitch(struct terms *x, const struct kernel *k, const struct halved *h) {
    enum { STEP = 8 };
    const struct axis_list *last = h->is_k_last ? &h->k : &h->mn;
    terms_size(x, k, last->axes, last->n);
    terms_constant(x, STEP);
    terms_op(x, FX_T_CDIV);
    terms_constant(x, STEP);
    terms_op(x, FX_T_MUL);
}

void halved_plane(struct terms *x, const struct kernel *k, const struct halved *h) {
    const struct axis_list *first = h->is_k_last ? &h->mn : &h->k;
    terms_size(x, k, first->axes, first->n);
    halved_pitch(x, k, h);
    terms_op(x, FX_T_MUL);
}

void halved_bytes(struct terms *x, const struct kernel *k, const struct halved *h) {
    enum { BLOCK = 64, ROWS = 128, ELEMENT = 2 * 2 + 4, RECORD = 4 * BLOCK + 16, RESTS = 16 * BLOCK };
    halved_plane(x, k, h);
    terms_constant(x, ELEMENT);
    terms_op(x, FX_T_MUL);
    terms_size(x, k, h->k.axes, h->k.n);
    terms_constant(x, BLOCK);
    terms_op(x, FX_T_CDIV);
    terms_size(x, k, h->mn.axes, h->mn.n);
    terms_constant(x, ROWS);
    terms_op(x, FX_T_CDIV);
    terms_op(x, FX_T_MUL);
    terms_constant(x, ROWS / BLOCK * (RECORD + RESTS));
    terms_op(x, FX_T_MUL);
    terms_op(x, FX_T_ADD);
}
