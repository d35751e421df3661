/* The computation of an element by one GPU kernel, as members of its problem struct.
 *
 * In: a pointwise group, or the epilogue of a contraction or a chain. Out: the reads ahead of elements (emit_fetch.c);
 * the reductions of elements (emit_partial.c); store, which computes the elements and writes them (emit_store.c). There
 * is one assignment per node. An index into a tensor is written over the driver's indices (batch, m, n or row, col) and
 * the extents by name, so that a reader sees each stride. */
#include <string.h>

#include "emit/emit_body.h"
#include "schedule/chain_program.h"
#include "schedule/merge.h"
#include "schedule/wgmma.h"

/* ---- the pointwise part ---- */

/* Gives every label of l its index: by name where it has to be computed. */
static void bind_labels(struct body *b, struct scope *p, const struct axis_list *l, const char *var) {
    const struct flat_index f = {.labels = l, .var = var, .type = b->is_gemm ? "int" : NULL};
    for (int i = 0; i < l->n; i++) {
        const char *index = address_part(arena(b), b->l->axis_names, &f, i, i);
        p->at[l->axes[i]] = index;
        if (!b->is_general || !strchr(index, ' ')) continue;
        const char *name = emit_local_as(b->w.names, arena_printf(arena(b), "at_%s", b->l->axis_names[l->axes[i]]));
        value_line(&b->w, EMIT_MARK "const %s %s = %s;", b->is_gemm ? "int" : "index", name, index);
        p->at[l->axes[i]] = name;
    }
}

static bool is_fetched(const struct body *b, const struct tensor *t) {
    for (int i = 0; i < b->l->kernel->n_loads; i++)
        if (b->l->kernel->loads[i].param == t->param && b->l->kernel->loads[i].buffer == t->buffer) return true;
    return false;
}

static const char *text_of(const struct scope *p, const struct node *n) {
    for (; p; p = p->outer)
        if (p->text[n->id]) return p->text[n->id];
    return NULL;
}

/* What names an addition of a sum that is part of another's accumulator: the other term, where that is named. */
static const char *merged(struct values *w, const struct scope *p, const struct node *n) {
    const struct body *b = w->user;
    for (int a = 0; a < 2; a++) {
        int sum = group_sum(b->l->kernel->group, n->args[a]), other = group_sum(b->l->kernel->group, n->args[1 - a]);
        if (sum < 0 || !gemm_is_merged(&b->l->kernel->gemm, sum)) continue;
        if (other >= 0) return arena_printf(arena(b), "acc[%d][v]", b->l->kernel->gemm.into[other]);
        return text_of(p, n->args[1 - a]);
    }
    return NULL;
}

/* The row at hand is number i of those that a thread takes at once. */
static struct scope *select_row(struct body *b, int i) {
    b->row_number = i;
    b->names = &b->rows[i];
    b->row = b->rows[i].scope;
    return (struct scope *)b->row;
}

/* The label along which a thread takes several rows, -1: it takes one. */
static int label_of_rows(const struct body *b) {
    const struct axis_list *rows = &b->l->kernel->pointwise.rows;
    return b->n_rows > 1 ? rows->axes[rows->n - 1] : -1;
}

/* What names the elements that chunk x reads for the row at hand, where some of the rows has read them; else NULL. */
static const char *read_before(const struct body *b, const struct chunk *x) {
    const int label = label_of_rows(b);
    for (int r = 0; r < b->n_rows && label >= 0; r++)
        for (int c = 0; c < b->n_chunks; c++)
            if (b->chunks[c].owner == c && b->rows[r].chunk_arrays[c] &&
                chunks_read_same(&b->chunks[c], r, x, b->row_number, label))
                return b->rows[r].chunk_arrays[c];
    return NULL;
}

/* Likewise of tensor t, node n, at the row's own elements. */
static const char *own_read_before(const struct body *b, struct node *n, const struct tensor *t) {
    struct node own = {.kind = N_ACCESS, .args = {n}, .n_args = 1};
    const struct chunk x = {.access = &own, .tensor = *t, .step = 1};
    const char *name = b->n_rows > 1 && tensor_axis(t, label_of_rows(b)) >= 0 ? read_before(b, &x) : NULL;
    return name ? arena_printf(arena(b), "%s[v]", name) : NULL;
}

/* What names a value that need not be computed: the accumulator, what fetch read, an element of a buffer. */
static const char *available(struct values *w, const struct scope *p, const struct node *n) {
    struct body *b = w->user;
    struct tensor t;
    const bool may_merge = !b->l->kernel->chain;
    if (n->kind == N_SCALAR)
        return value_of_element(w, b->g->kernel->params[n->param].dtype, b->l->param_names[n->param]);
    int sum = group_sum(b->l->kernel->group, n);
    if (sum >= 0 && may_merge && gemm_is_merged(&b->l->kernel->gemm, sum)) return "0.0f";
    if (sum >= 0) return arena_printf(arena(b), "acc[%d][v]", may_merge ? b->l->kernel->gemm.into[sum] : sum);
    if (may_merge && n->kind == N_OP && n->op == O_ADD) {
        const char *text = merged(w, p, n);
        if (text) return text;
    }
    if (is_shared_by(b->l->kernel->group, n)) return arena_printf(arena(b), "%s[v]", b->shared[n->id]);
    if (!node_is_loaded(b->g, b->c->partition, b->l->kernel->group, n, &t)) return NULL;
    if ((!p->outer || p == b->row || p == b->element) && is_fetched(b, &t)) {
        const char *before = own_read_before(b, (struct node *)n, &t), *held = before ? before : body_held(b, &t);
        return emit_is_converted(t.dtype) ? held : value_of_element(w, t.dtype, held);
    }
    return t.param >= 0 ? NULL : value_element(w, p, tensor_name(b, &t), &t);
}

/* Whether a store is no part of what fetch and store do: that of a chain's row. */
static bool is_elsewhere(const struct body *b, int s) {
    const struct chain *x = b->l->kernel->chain;
    return x && chain_stores_row(b->g, b->c->partition, x, &b->l->kernel->group->stores[s]);
}

/* Whether n is available where the epilogue begins, or lies in memory. */
static bool is_leaf(const struct body *b, const struct node *n) {
    const struct group *r = b->l->kernel->group;
    struct tensor t;
    for (int i = 0; i < b->n_chunks; i++)
        if (b->chunks[i].access == n) return true;
    for (int i = 0; i < b->n_parts; i++)
        if (b->parts[i] == n && b->names->part_names[i]) return true;
    return group_sum(r, n) >= 0 || is_chain_step(r, n) || is_shared_by(r, n) ||
           node_is_loaded(b->g, b->c->partition, r, n, &t);
}

/* The values of marked nodes, operands first and each once, so that no chain of them is walked deep. */
static void emit_values(struct body *b, struct scope *p, bool *needed) {
    for (int i = b->g->n_nodes - 1; i >= 0; i--) {
        struct node *n = b->g->nodes[i];
        if (!needed[i] || is_leaf(b, n) || (n->kind != N_OP && n->kind != N_CAST)) continue;
        for (int a = 0; a < n->n_args; a++) needed[n->args[a]->id] = true;
    }
    for (int i = 0; i < b->g->n_nodes; i++)
        if (needed[i]) value_at(&b->w, p, b->g->nodes[i]);
}

/* By node: whether it is the same for the elements of a row that a thread has, and may be computed ahead of them: of
 * whole tiles some threads have no row to read. */
static bool *find_uniform(const struct body *b) {
    const struct group *r = b->l->kernel->group;
    bool *is_uniform = NEW_ARRAY(&b->u->cx->arena, bool, b->g->n_nodes + 1), is_whole = body_takes_whole_tiles(b);
    bool *reads_tile = NEW_ARRAY(&b->u->cx->arena, bool, b->g->n_nodes + 1); /* even in the loop of a reduction */
    for (int i = 0; i < b->g->n_nodes; i++) {
        const struct node *n = b->g->nodes[i];
        struct tensor t;
        bool is_loaded = node_is_loaded(b->g, b->c->partition, r, n, &t),
             is_computed = n->kind == N_OP || n->kind == N_CAST;
        bool reads = is_loaded ? !is_fetched(b, &t)
                               : n->kind == N_INPUT || n->kind == N_ACCESS || n->kind == N_REDUCE ||
                                     n->kind == N_SCAN || n->kind == N_SHARE;
        reads_tile[i] = group_sum(r, n) >= 0 || is_shared_by(r, n);
        for (int a = 0; a < n->n_args && !is_loaded && !is_chain_step(r, n); a++)
            reads_tile[i] |= reads_tile[n->args[a]->id];
        is_uniform[i] = !node_has_any(n, b->along.axes, b->along.n) && !reads_tile[i] &&
                        (!reads || !is_whole || is_chain_step(r, n));
        for (int a = 0; a < n->n_args && is_computed && !is_loaded; a++) is_uniform[i] &= is_uniform[n->args[a]->id];
    }
    return is_uniform;
}

/* What elements need and have in common is computed before them; operands first, as in emit_values; what rows at once
 * have in common, once. */
static void emit_row_values(struct body *b, struct scope *row, const bool *is_uniform, bool *needed) {
    const int label = label_of_rows(b);
    for (int i = b->g->n_nodes - 1; i >= 0; i--) {
        const struct node *n = b->g->nodes[i];
        bool is_open = n->kind == N_OP || n->kind == N_CAST,
             is_guarded = n->kind == N_ACCESS && b->w.narrow && !is_uniform[i];
        if (!needed[i] || is_leaf(b, n) || (!is_open && !is_guarded)) continue;
        for (int a = is_guarded; a < n->n_args; a++)
            needed[n->args[a]->id] = true; /* of an access the positions, needed wherever it is */
    }
    for (int i = 0; i < b->g->n_nodes; i++) {
        const bool is_common = label >= 0 && !node_has_axis(b->g->nodes[i], label);
        if (needed[i] && is_uniform[i]) value_at(&b->w, is_common ? (struct scope *)row->outer : row, b->g->nodes[i]);
    }
}

/* Reads a strip: of one row what V adjacent elements read around a multiple of their own positions. Returns its name.
 */
static const char *emit_strip(struct body *b, struct scope *row, const struct chunk *c) {
    struct node others = *c->access; /* without the position along the strip */
    const int last = c->tensor.axes[c->tensor.n_axes - 1];
    const char *inside, *name = emit_local(b->w.names, c->access);
    bool is_narrow = b->w.narrow != NULL;
    others.n_at = 0;
    for (int i = 0; i < c->access->n_at; i++) {
        struct node *at = c->access->args[1 + i];
        if (c->access->at[i] == last) is_narrow = is_narrow && b->w.narrow[at->id].is_narrow;
        else others.at[others.n_at++] = c->access->at[i], others.args[others.n_at] = at;
    }
    struct scope *at = value_open_access(&b->w, row, &others, &inside);
    at->at[last] = "0";
    const char *type = is_narrow ? "index" : "long long";
    value_line(&b->w, "fx_strip<%d, %d, %d, V> %s;%s", c->factor, c->least, c->most, name,
        value_comment(b->g, c->access));
    value_line(&b->w, "%s.template load<ALIGNED>(%s + %s, (%s)%s, (%s)%s, %s, %s);", name,
        tensor_name(b, &c->tensor), address_offset(&b->w, at, &c->tensor), type, b->along_var, type,
        b->l->axis_names[last], inside && *inside ? inside : "true",
        c->fill ? value_literal(&b->w, c->fill) : "0.0f");
    return name;
}

/* Reads what stands at positions that the elements of a thread have in common, V elements at a time; where each has
 * several adjacent ones of which constant positions take one, all of them. */
static void emit_chunks(struct body *b, struct scope *row, const bool *is_needed) {
    for (int i = b->n_chunks - 1; i >= 0; i--) { /* in the order of the graph */
        const struct chunk *c = &b->chunks[i];
        if (b->names->chunk_names[i] || !is_needed[c->owner]) continue;
        struct node *n = c->access;
        const struct tensor *t = &c->tensor;
        const struct flat_index f = {.labels = &b->along, .var = b->along_var, .type = b->is_gemm ? "int" : NULL};
        const char *inside, *times = c->step > 1 ? arena_printf(arena(b), " * %d", c->step) : "";
        const char *known = c->owner == i ? read_before(b, c) : NULL;
        if (known) b->names->chunk_arrays[i] = known;
        if (c->is_strip) {
            if (c->owner == i && !known) b->names->chunk_arrays[i] = emit_strip(b, row, c);
            const char *v = c->factor > 1 ? arena_printf(arena(b), "%d * v", c->factor) : "v";
            b->names->chunk_names[i] = arena_printf(arena(b), "%s.get(%s%s%.0d)", b->names->chunk_arrays[c->owner], v,
                c->first > 0 ? " + " : c->first < 0 ? " - " : "", c->first < 0 ? -c->first : c->first);
            continue;
        }
        if (c->owner == i && !known) {
            const char *name = b->names->chunk_arrays[i] = emit_local(b->w.names, n);
            struct scope *at = value_open_access(&b->w, row, n, &inside);
            for (int j = 0; j < b->along.n; j++)
                at->at[b->along.axes[j]] = address_part(arena(b), b->l->axis_names, &f, j, j);
            for (int j = 0; j < n->n_at && c->step > 1; j++)
                if (tensor_axis(t, n->at[j]) > tensor_axis(t, b->along.axes[b->along.n - 1])) at->at[n->at[j]] = "0";
            value_line(&b->w, "float %s[V%s];%s", name, times, value_comment(b->g, n));
            value_line(&b->w, "%sfx_load<V%s, ALIGNED>(%s, %s + %s, n_valid%s);",
                inside ? arena_printf(arena(b), "if (%s) ", inside) : "", times, name, tensor_name(b, t),
                address_offset(&b->w, at, t), times);
            if (inside)
                value_line(&b->w, "else fx_fill<V%s>(%s, %s);", times, name,
                    value_at(&b->w, row, n->args[1 + n->n_at]));
        }
        const char *element = c->step == 1 ? "v"
                              : c->offset  ? arena_printf(arena(b), "v * %d + %d", c->step, c->offset)
                                           : arena_printf(arena(b), "v * %d", c->step);
        b->names->chunk_names[i] = arena_printf(arena(b), "%s[%s]", b->names->chunk_arrays[c->owner], element);
    }
}

/* Opens a loop over the elements of a row that a thread has; returns their scope. */
static struct scope *open_elements(struct body *b, struct scope *row) {
    struct scope *p = scope_open(&b->w, row);
    b->element = p;
    /* Accumulators are registers: their index has to be a constant. */
    buf_line(b->w.out, b->has_loops && !b->is_gemm ? "#pragma unroll 1" : "#pragma unroll");
    buf_line(b->w.out, "    for (int v = 0; v < V; ++v) {");
    b->w.indent = 3;
    if (b->is_guarded)
        buf_line(b->w.out, "      if (%sv >= n_valid) break;  // what lies outside is not read",
            b->is_gemm ? "" : "!ALIGNED && ");
    bind_labels(
        b, p, &b->along, arena_printf(arena(b), b->holds ? "(%s + fx_column<V>(v))" : "(%s + v)", b->along_var));
    for (int i = 0; i < b->n_chunks; i++) p->text[b->chunks[i].access->id] = b->names->chunk_names[i];
    for (int i = 0; i < b->n_parts; i++) p->text[b->parts[i]->id] = b->names->part_names[i];
    return p;
}

static void close_elements(struct body *b, int block) {
    b->w.indent = 3;
    value_close_block(&b->w, block, "}");
}

/* ---- long sums ---- */

/* The operand of n that goes on with its chain: one of the same operation. */
static struct node *next_in_chain(const struct node *n) {
    for (int i = 0; i < 2 && n->n_args == 2; i++)
        if (n->args[i]->kind == N_OP && n->args[i]->op == n->op && n->args[i]->n_args == 2) return n->args[i];
    return NULL;
}

/* The values in the midst of the longest sum, or product or maximum, at which it is cut in parts: what a part reads is
 * read ahead of it, so that registers hold that of one part at a time. */
static void find_parts(struct body *b, const bool *is_uniform) {
    enum { OF_PART = 7, LONG_SUM = 12 };
    int *length = NEW_ARRAY(arena(b), int, b->g->n_nodes + 1), longest = 0;
    struct node *root = NULL, *chain[MAX_CHUNKS];
    bool *needed = NEW_ARRAY(arena(b), bool, b->g->n_nodes + 1);
    if (b->is_gemm || b->has_loops || !b->n_chunks) return;
    for (int s = 0; s < b->l->kernel->group->n_stores; s++)
        needed[copied_value(store_element(b->g, b->l->kernel->group, &b->l->kernel->group->stores[s]))->id] = true;
    for (int i = b->g->n_nodes - 1; i >= 0; i--) {
        const struct node *n = b->g->nodes[i];
        for (int a = 0; needed[i] && !is_leaf(b, n) && a < n->n_args; a++) needed[n->args[a]->id] = true;
    }
    for (int i = 0; i < b->g->n_nodes; i++) {
        struct node *n = b->g->nodes[i];
        bool is_of_chain = n->op == O_ADD || n->op == O_MUL || n->op == O_MAX || n->op == O_MIN;
        if (!needed[i] || n->kind != N_OP || !is_of_chain || !fx_is_float(n->dtype) || is_uniform[i]) continue;
        const struct node *next = next_in_chain(n);
        length[i] = 1 + (next && needed[next->id] ? length[next->id] : 0);
        if (length[i] > longest) longest = length[i], root = n;
    }
    int n_chain = 0;
    if (longest < LONG_SUM || longest > MAX_CHUNKS) return;
    for (struct node *n = root; n && length[n->id]; n = length[n->id] > 1 ? next_in_chain(n) : NULL)
        chain[n_chain++] = n;
    for (int i = n_chain - OF_PART; i >= OF_PART - 1 && b->n_parts < MAX_SUM_PARTS; i -= OF_PART)
        b->parts[b->n_parts++] = chain[i];
}

/* Chunks that n is made of, beside parts that are computed already. */
static const bool *chunks_below(struct body *b, const struct node *n) {
    bool *seen = NEW_ARRAY(arena(b), bool, b->g->n_nodes + 1), *is_needed = NEW_ARRAY(arena(b), bool, MAX_CHUNKS);
    seen[n->id] = true;
    for (int i = n->id; i >= 0; i--) {
        const struct node *at = b->g->nodes[i];
        if (!seen[i]) continue;
        for (int c = 0; c < b->n_chunks; c++)
            if (b->chunks[c].access == at) is_needed[b->chunks[c].owner] = true;
        for (int a = 0; !is_leaf(b, at) && a < at->n_args; a++) seen[at->args[a]->id] = true;
    }
    return is_needed;
}

/* What part i of the row at hand reads. */
static void read_part(struct body *b, int i, const bool *is_uniform) {
    struct node *n = b->parts[i];
    struct scope *row = (struct scope *)b->row;
    bool *common = NEW_ARRAY(arena(b), bool, b->g->n_nodes + 1);
    common[n->id] = true;
    emit_row_values(b, row, is_uniform, common);
    emit_chunks(b, row, chunks_below(b, n));
}

static void emit_part(struct body *b, int i) {
    struct node *n = b->parts[i];
    struct scope *row = (struct scope *)b->row;
    const char *type = value_ctype(n->dtype);
    bool *needed = NEW_ARRAY(arena(b), bool, b->g->n_nodes + 1);
    needed[n->id] = true;
    const char *name = emit_local(b->w.names, n), *place = arena_printf(arena(b), "%s[v]", name);
    buf_line(b->w.out, "    %s %s[V]%s;%s", type, name, b->is_guarded ? " = {}" : "", value_comment(b->g, n));
    int block = b->w.names->locals.n;
    struct scope *p = open_elements(b, row);
    scope_set_place(&b->w, p, n, place);
    emit_values(b, p, needed);
    value_put(&b->w, p, n, place);
    close_elements(b, block);
    b->names->part_names[i] = place;
    b->w.indent = 2;
}

/* All rows read what a part needs before they compute it. */
static void emit_parts(struct body *b, const bool *is_uniform) {
    const int n_rows = b->n_rows > 1 ? b->n_rows : 1;
    for (int i = 0; i < b->n_parts; i++) {
        for (int r = 0; r < n_rows; r++) select_row(b, r), read_part(b, i, is_uniform);
        for (int r = 0; r < n_rows; r++) select_row(b, r), emit_part(b, i);
    }
}

/* What elements share with their runs: each a loop of its own, which computes what is reduced, and then what lanes make
 * of it together. */
static void emit_shared(struct body *b, struct scope *row) {
    struct node **shared;
    int n = b->is_gemm ? gemm_shared(b->g, b->l->kernel->group, &shared) : 0;
    for (int i = 0; i < n; i++) {
        const char *type = value_ctype(shared[i]->dtype),
                   *name = b->shared[shared[i]->id] = emit_local(b->w.names, shared[i]);
        buf_line(
            b->w.out, "    %s %s[V]%s;%s", type, name, b->is_guarded ? " = {}" : "", value_comment(b->g, shared[i]));
        int block = b->w.names->locals.n;
        bool *needed = NEW_ARRAY(arena(b), bool, b->g->n_nodes + 1);
        struct scope *p = open_elements(b, row);
        const char *place = arena_printf(arena(b), "%s[v]", name);
        scope_set_place(&b->w, p, shared[i]->args[0], place);
        needed[shared[i]->args[0]->id] = true;
        emit_values(b, p, needed);
        value_put(&b->w, p, shared[i]->args[0], place);
        close_elements(b, block);
        if (shared[i]->is_ragged) {
            buf_line(b->w.out, "#pragma unroll");
            buf_line(b->w.out, "    for (int v = 0; v < V; ++v) if (%s >= n_valid) %s = %s;  // no element of the run",
                b->holds ? "fx_column<V>(v)" : "v", place,
                value_start(&b->w, shared[i]->reduction, shared[i]->dtype));
        }
        buf_line(b->w.out, "    fx_share<%d>(%s, [](%s a, %s b) { return %s; });", shared[i]->run, name, type, type,
            value_combined(&b->w, shared[i]->reduction, shared[i]->dtype, "a", "b"));
    }
}

/* ---- the store ---- */

/* Whether all that the group stores are results of runs, which the driver puts where they belong. */
static bool stores_partials_alone(const struct body *b) {
    const struct group *r = b->l->kernel->group;
    struct partial_of x;
    for (int s = 0; s < r->n_stores; s++)
        if (!is_partial_store(b->g, r, &r->stores[s], &x)) return false;
    return true;
}

/* Where the element that store s takes goes as it is computed; NULL: it is converted on the way. */
static const char *element_place(struct body *b, int s, const char *const *results) {
    const struct store *store = &b->l->kernel->group->stores[s];
    const struct node *n = body_stored_element(b, s);
    struct tensor t = tensor_of_store(b->g, b->c->partition, store);
    if (n != copied_value(store->value)) return arena_printf(arena(b), "x.%s[v]", emit_member(b->w.names, n));
    bool is_plain = strcmp(element_of_value(&b->w, t.dtype, n->dtype, "x"), "x") == 0 &&
                    strcmp(emit_held_ctype(t.dtype), value_ctype(n->dtype)) == 0;
    return is_plain ? arena_printf(arena(b), "%s[v]", results[s]) : NULL;
}

/* Marks what the loops over elements compute, but not what that is made of. */
static void mark_elements(struct body *b, bool *needed) {
    const struct group *r = b->l->kernel->group;
    const struct chain *x = b->l->kernel->chain;
    struct node **shared;
    int n = b->is_gemm ? gemm_shared(b->g, r, &shared) : 0;
    for (int s = 0; s < r->n_stores; s++) {
        const struct node *v = body_place_of(b, s);
        needed[body_stored_element(b, s)->id] |= !is_elsewhere(b, s);
        for (int i = 1; v && i < v->n_args; i++) needed[v->args[i]->id] = true;
    }
    for (int i = 0; i < n; i++) needed[shared[i]->args[0]->id] = true;
    for (int i = 0; x && i < x->n_deferred; i++) needed[x->deferred[i].by->id] = true;
}

/* Declares, for every store that is done here and does not reduce, the array of its elements. */
static const char **declare_results(struct body *b) {
    const struct group *r = b->l->kernel->group;
    const char **results = NEW_ARRAY(arena(b), const char *, r->n_stores);
    struct partial_of x;
    for (int s = 0; s < r->n_stores; s++) {
        if (is_partial_store(b->g, r, &r->stores[s], &x) || is_elsewhere(b, s)) continue;
        struct tensor t = tensor_of_store(b->g, b->c->partition, &r->stores[s]);
        results[s] = arena_printf(arena(b), "%sout", tensor_name(b, &t));
        const char *of_rows = b->n_rows > 1 ? arena_printf(arena(b), "[%d]", b->n_rows) : "";
        buf_line(b->w.out, "    %s %s%s[V];", emit_held_ctype(t.dtype), results[s], of_rows);
        if (body_place_of(b, s) && !body_is_place_uniform(b, s)) buf_line(b->w.out, "    long long place%d[V];", s);
    }
    return results;
}

/* The scopes of the rows of a thread: labels have their indices. */
static void open_rows(struct body *b) {
    const int label = label_of_rows(b);
    struct scope *all = scope_open(&b->w, NULL);
    b->w.indent = 2;
    if (b->is_gemm) {
        bind_labels(b, all, &b->l->kernel->gemm.batch, "batch");
        bind_labels(b, all, &b->l->kernel->gemm.m, "m");
    } else {
        bind_labels(b, all, &b->l->kernel->pointwise.rows, "row");
    }
    b->rows[0].scope = all;
    for (int r = 0; label >= 0 && r < b->n_rows; r++) {
        struct scope *row = scope_open(&b->w, all);
        b->rows[r].scope = row;
        if (r) row->at[label] = arena_printf(arena(b), "(%s + %d)", all->at[label], r);
    }
    select_row(b, 0);
}

/* What the elements of all rows need and have in common. */
static void begin_rows(struct body *b) {
    const int n_rows = b->n_rows > 1 ? b->n_rows : 1;
    bool *all = NEW_ARRAY(arena(b), bool, MAX_CHUNKS);
    open_rows(b);
    if (b->l->kernel->chain) emit_chain_results(&b->w, (struct scope *)b->row, b->l, "r");
    const bool *is_uniform = find_uniform(b);
    find_parts(b, is_uniform);
    emit_parts(b, is_uniform);
    memset(all, true, MAX_CHUNKS);
    for (int r = 0; r < n_rows; r++) {
        bool *common = NEW_ARRAY(arena(b), bool, b->g->n_nodes + 1);
        struct scope *row = select_row(b, r);
        mark_elements(b, common);
        emit_row_values(b, row, is_uniform, common);
        emit_chunks(b, row, all);
        emit_shared(b, row);
    }
}

/* The element as it is stored, where store s copies a tensor to the workspace; NULL: it computes what it stores. */
static const char *moved_element(struct body *b, int s) {
    const struct group *r = b->l->kernel->group;
    const struct node *n = body_stored_element(b, s);
    struct tensor to = tensor_of_store(b->g, b->c->partition, &r->stores[s]), from;
    if (r->stores[s].buffer < 0 || !node_is_loaded(b->g, b->c->partition, r, n, &from)) return NULL;
    if (from.dtype != to.dtype || emit_is_converted(from.dtype) || !is_fetched(b, &from)) return NULL;
    return body_held(b, &from);
}

/* The loop over the elements of a row: their values, and the offsets of those that go to positions of their own. */
static void emit_elements(struct body *b, struct scope *row, const char *const *results) {
    const struct group *r = b->l->kernel->group;
    int block = b->w.names->locals.n;
    struct scope *p = open_elements(b, row);
    bool *needed = NEW_ARRAY(arena(b), bool, b->g->n_nodes + 1);
    for (int s = 0; s < r->n_stores; s++) {
        if (is_elsewhere(b, s)) continue;
        const struct node *n = body_stored_element(b, s), *v = body_place_of(b, s);
        const char *place = element_place(b, s, results);
        needed[n->id] |= !moved_element(b, s);
        for (int i = 1; v && !body_is_place_uniform(b, s) && i < v->n_args; i++) needed[v->args[i]->id] = true;
        if (place && (!is_leaf(b, n) || b->l->kernel->chain) && !(p->place && p->place[n->id]))
            scope_set_place(&b->w, p, n, place);
    }
    if (b->l->kernel->chain) emit_chain_sum(&b->w, p, b->l, "r", "acc[0][v]");
    emit_values(b, p, needed);
    for (int s = 0; s < r->n_stores; s++) {
        if (is_elsewhere(b, s)) continue;
        struct tensor t = tensor_of_store(b->g, b->c->partition, &r->stores[s]);
        struct node *n = body_stored_element(b, s);
        const char *moved = moved_element(b, s), *place = element_place(b, s, results);
        if (moved) {
            value_line(&b->w, "%s[v] = %s;", results[s], moved);
            continue;
        }
        const char *value = value_at(&b->w, p, n);
        if (n == copied_value(r->stores[s].value))
            value_assign(
                &b->w, arena_printf(arena(b), "%s[v]", results[s]), element_of_value(&b->w, t.dtype, n->dtype, value));
        else if (!body_has_element(b, s)) value_assign(&b->w, place, value);
    }
    body_emit_places(b, p);
    close_elements(b, block);
    b->w.indent = 2;
}

static void emit_store(struct body *b) {
    const struct group *r = b->l->kernel->group;
    const bool to_boxes = b->is_gemm && stores_boxes(b->l->kernel);
    value_open_function(&b->w,
        "  template <int V, bool ALIGNED%s> FX_DEVICE void store(%sconst frag<V> &f, %s%s%s, int n_valid%s) const",
        to_boxes ? ", class TO = fx_to_memory" : "",
        b->is_gemm ? arena_printf(arena(b), "const %s (&acc)[SUMS][V], const columns<V> &c, ",
                         value_ctype(r->contraction->dtype))
                   : "",
        body_takes_whole_tiles(b) ? "elements<V> &x, " : "", b->l->kernel->chain ? "const results &r, " : "",
        body_place_args(b), to_boxes ? ", const TO &to = TO()" : "");
    const char **results = declare_results(b);
    begin_rows(b);
    struct scope *row = select_row(b, 0);
    emit_elements(b, row, results);
    body_emit_common_places(b, row);
    struct node **shared;
    if (b->is_gemm && gemm_shared(b->g, r, &shared) && !stores_partials_alone(b))
        buf_line(b->w.out, "    if (n_valid <= 0) return;  // nothing of the tile: it was here for what lanes share");
    for (int s = 0; s < r->n_stores; s++)
        if (results[s]) body_emit_put(b, s, results[s]);
    value_close_function(&b->w);
}

/* store for the rows that a thread takes at once, whose stores have no positions. */
static void emit_store_rows(struct body *b) {
    const struct group *r = b->l->kernel->group;
    b->n_rows = b->l->kernel->pointwise.at_once;
    value_open_function(&b->w,
        "  template <int V, bool ALIGNED> FX_DEVICE void store_rows(const frag<V> (&f)[%d], index row, index col, "
        "int n_valid) const", b->n_rows);
    memset(b->rows, 0, MOST_ROWS_AT_ONCE * sizeof *b->rows);
    b->n_parts = 0;
    const char **results = declare_results(b);
    begin_rows(b);
    for (int i = 0; i < b->n_rows; i++) {
        struct scope *row = select_row(b, i);
        const char **own = NEW_ARRAY(arena(b), const char *, r->n_stores);
        for (int s = 0; s < r->n_stores; s++) own[s] = arena_printf(arena(b), "%s[%d]", results[s], i);
        emit_elements(b, row, own);
    }
    for (int i = 0; i < b->n_rows; i++) {
        select_row(b, i);
        for (int s = 0; s < r->n_stores; s++) body_emit_put(b, s, arena_printf(arena(b), "%s[%d]", results[s], i));
    }
    value_close_function(&b->w);
    b->n_rows = b->row_number = 0;
}

/* Where chunks of an unaligned row begin: at the vector boundaries of the first output. */
static void emit_skew(struct body *b) {
    struct tensor t = tensor_of_store(b->g, b->c->partition, &b->l->kernel->group->stores[0]);
    emit_function(b->w.out, "  template <int V> FX_DEVICE int skew(index row) const",
        body_along(b, &t) == ALONG_CONTIGUOUS && !body_place_of(b, 0)
            ? arena_printf(arena(b), "return fx_skew<V>(%s);", body_address(b, &t, NULL))
            : "return 0;");
}

/* ---- all of it ---- */

/* What the stores are made of. */
static void find_needed(struct body *b) {
    const struct group *r = b->l->kernel->group;
    bool *seen = NEW_ARRAY(arena(b), bool, b->g->n_nodes + 1), *in_loop = NEW_ARRAY(arena(b), bool, b->g->n_nodes + 1),
         *is_uniform = find_uniform(b);
    for (int s = 0; s < r->n_stores; s++) {
        int i = store_element(b->g, r, &r->stores[s])->id;
        if (!is_elsewhere(b, s)) seen[i] = in_loop[i] = true;
    }
    for (int i = b->g->n_nodes - 1; i >= 0; i--) {
        const struct node *n = b->g->nodes[i];
        bool is_shared = is_shared_by(r, n),
             is_loop = n->kind == N_REDUCE || n->kind == N_SCAN || (n->kind == N_SHARE && !is_shared);
        if (!seen[i] || (is_leaf(b, n) && !is_shared)) continue;
        bool is_general = is_loop || n->kind == N_ACCESS || n->kind == N_INDEX || n->kind == N_INPUT;
        b->is_general |= n->kind == N_PLACE; /* where it goes is made of indices by name */
        in_loop[i] &= !is_uniform[i];
        b->is_general |= is_general;
        b->is_guarded |= in_loop[i] && is_general;
        b->has_loops |= in_loop[i] && is_loop;
        b->reads_more |= in_loop[i] && is_general && n->kind != N_INDEX;
        for (int a = 0; a < n->n_args; a++) seen[n->args[a]->id] = true, in_loop[n->args[a]->id] |= in_loop[i];
    }
}

void emit_body(struct buf *out, const struct unit *u, const struct scheduled_graph *c, const struct launch *l,
    struct value_names *names) {
    const struct scheduled *s = l->kernel;
    struct body b = {.u = u, .c = c, .l = l, .g = c->graph, .is_gemm = s->group->contraction != NULL};
    b.w = values_open(out, c, l, names, available, &b);
    b.w.is_beside_products = b.is_gemm;
    b.shared = NEW_ARRAY(&u->cx->arena, const char *, b.g->n_nodes + 1);
    const bool *is_small = b.is_gemm ? NULL : pointwise_small_axes(b.g, c->partition, s->group);
    if (is_small) b.w.narrow = value_find_narrow(b.g, is_small, 1 << 30);
    b.along = b.is_gemm ? s->gemm.n : s->pointwise.cols;
    b.along_var = b.is_gemm ? "n" : "col";
    b.n_chunks = schedule_chunks(b.g, c->partition, s, b.chunks);
    b.names = b.rows = NEW_ARRAY(&u->cx->arena, struct row_names, MOST_ROWS_AT_ONCE);
    find_needed(&b);
    b.holds = body_holds(&b);
    if (b.holds) b.is_guarded = false;
    b.is_general |= b.n_chunks > 0; /* positions are made of indices by name */
    if (!b.is_gemm) emit_skew(&b);
    if (b.is_gemm) body_emit_frag(&b, true);
    body_emit_frag(&b, false);
    body_emit_fetch(&b, true);
    body_emit_fetch(&b, false);
    if (body_takes_whole_tiles(&b)) body_emit_partials(&b);
    emit_store(&b);
    if (!b.is_gemm && s->pointwise.at_once) emit_store_rows(&b);
}
