/* A computed operand of a mainloop: the members of its struct that fetch the reads of a chunk and compute the chunk
 * (kernels/computed.cuh).
 *
 * In: the place of the operand (emit_operand.h). Out: raw, held and context, the values that a chunk reads; staged,
 * held in shared memory; fetch, fetch_held and fetch_context, the loads alone; make, arithmetic alone. A chunk is V
 * adjacent elements of a flattened run of labels, along k or along m or n. A value that is the same for a whole chunk
 * is read, and computed, once per chunk. */
#include <math.h>
#include <string.h>

#include "emit/emit_operand.h"
#include "emit/emit_address.h"
#include "schedule/computed.h"

struct maker { /* an operand being written */
    const struct operand_place *at;
    const struct graph *g;
    const struct operand *operand;
    struct computed computed;      /* what it reads */
    const struct axis_list *along; /* the labels of a chunk */
    struct leaf *leaves;
    int n_leaves;
    bool *is_uniform;              /* by node: the same for a whole chunk */
    const bool *are_bits;          /* by node: a field that casts take as it stands in its word */
    bool is_making;                /* in make, not in fetch */
    struct value_names *names;
    struct values w;
};

static struct arena *arena(const struct maker *b) { return &b->at->u->cx->arena; }

const char *operand_tensor_name(const struct operand_place *at, const struct tensor *t, bool is_member) {
    if (is_member) return t->param >= 0 ? at->params[t->param] : at->buffers[t->buffer];
    return address_tensor(at->l, t);
}

static const char *along_var(const struct maker *b) { return b->operand->layout == LAYOUT_K_MAJOR ? "k" : "mn"; }

/* What the operand reads, and what the members that have it are called. */
static void find_leaves(struct maker *b) {
    struct computed m = b->computed = computed_open(
        b->g, b->at->c->partition, b->at->l->kernel->group, b->operand, b->at->segment, b->at->mn);
    b->along = m.along, b->leaves = m.leaves, b->n_leaves = m.n_leaves, b->is_uniform = m.is_uniform;
    for (int i = 0; i < b->n_leaves; i++) {
        struct leaf *f = &b->leaves[i];
        f->name = emit_member(b->names, f->node);
        if (f->kind == LEAF_HELD || f->kind == LEAF_SHARED) f->name = operand_tensor_name(b->at, &f->tensor, false);
        else if (f->node->kind == N_INPUT) f->name = b->at->l->param_names[f->node->param];
    }
}

static const char *leaf_ctype(const struct maker *b, const struct leaf *f) {
    const struct param *x = f->kind == LEAF_WORD ? &b->g->kernel->params[f->node->param] : NULL;
    if (!x) return value_ctype(f->node->dtype);
    return arena_printf(arena(b), "fx_fields<V, ALIGNED, %s, %d, %s, %s>", emit_ctype(x->packed.storage),
        fx_dtype_bits(x->dtype), fx_dtype_class_of(x->dtype) == FX_CLASS_S ? "true" : "false",
        x->packed.is_msb ? "true" : "false");
}

/* What names a value that need not be computed: what was fetched, an element of a buffer. */
static const char *available(struct values *w, const struct scope *p, const struct node *n) {
    struct maker *b = w->user;
    struct tensor t;
    if (n->kind == N_SCALAR) return value_of_element(w, b->g->kernel->params[n->param].dtype, b->at->params[n->param]);
    for (int i = 0; b->is_making && i < b->n_leaves; i++) {
        const struct leaf *f = &b->leaves[i];
        if (f->node != n) continue;
        if (f->kind == LEAF_ONE) return arena_printf(arena(b), "r.%s", f->name);
        if (f->kind == LEAF_MANY) return arena_printf(arena(b), "r.%s[v]", f->name);
        if (f->kind == LEAF_PIECE) return arena_printf(arena(b), "%s[v]", f->name);
        if (f->kind == LEAF_HELD || f->kind == LEAF_SHARED)
            return value_of_element(w, f->tensor.dtype, arena_printf(arena(b), "%s[v]", f->name));
        return arena_printf(arena(b), "r.%s.%s(%s, v)", f->name, b->are_bits[n->id] ? "bits" : "get", along_var(b));
    }
    if (n->kind != N_INPUT && node_is_loaded(b->g, b->at->c->partition, b->at->l->kernel->group, n, &t))
        return value_element(w, p, b->at->buffers[t.buffer], &t);
    return NULL;
}

/* Gives every label of l its index, by name where it has to be computed. */
static void bind(struct maker *b, struct scope *p, const struct axis_list *l, const char *var, const char *prefix) {
    const struct flat_index f = {.labels = l, .var = var, .type = "int"};
    for (int i = 0; i < l->n; i++) {
        const char *index = address_part(arena(b), b->at->axes, &f, i, i);
        p->at[l->axes[i]] = index;
        if (!strpbrk(index, "/%")) continue;
        const char *name = emit_local_as(
            b->names, arena_printf(arena(b), "%s_%s", prefix, b->at->l->axis_names[l->axes[i]]));
        value_line(&b->w, EMIT_MARK "const int %s = %s;", name, index);
        p->at[l->axes[i]] = name;
    }
}

/* The scope of a chunk: all labels, those along it at its first element. */
static struct scope *chunk_scope(struct maker *b) {
    struct scope *p = scope_open(&b->w, NULL);
    bind(b, p, &b->at->shape->batch, "batch", "at");
    bind(b, p, &b->at->segment->k_outer, "ko", "at");
    bind(b, p, b->at->mn, "mn", "at");
    bind(b, p, &b->at->segment->k, "k", "at");
    return p;
}

/* The scope of element v of a chunk, at which uniform values are those of the chunk. */
static struct scope *element_scope(struct maker *b, struct scope *chunk, const struct node *last) {
    struct scope *p = scope_open(&b->w, chunk);
    bind(b, p, b->along, arena_printf(arena(b), "(%s + v)", along_var(b)), "this");
    for (int i = 0; i <= last->id; i++)
        if (b->is_uniform[i]) p->text[i] = chunk->text[i];
    return p;
}

enum leaf_place { IN_RAW, IN_HELD, IN_CONTEXT };

static enum leaf_place place_of(const struct leaf *f) {
    return f->kind == LEAF_SHARED ? IN_CONTEXT : f->kind == LEAF_HELD || f->kind == LEAF_PIECE ? IN_HELD : IN_RAW;
}

static int count_leaves(const struct maker *b, enum leaf_place place) {
    int n = 0;
    for (int i = 0; i < b->n_leaves; i++) n += place_of(&b->leaves[i]) == place;
    return n;
}

/* A struct of the leaves that have their place there. */
static void emit_leaves(struct maker *b, enum leaf_place place, const char *name, const char *what) {
    if (!count_leaves(b, place)) {
        buf_line(b->w.out, "    template <int V, bool ALIGNED> using %s = fx_nothing;  // %s", name, what);
        return;
    }
    buf_line(b->w.out, "    template <int V, bool ALIGNED> struct %s {  // %s", name, what);
    for (int i = 0; i < b->n_leaves; i++) {
        const struct leaf *f = &b->leaves[i];
        if (place_of(f) != place) continue;
        if (f->kind == LEAF_HELD || f->kind == LEAF_SHARED)
            buf_line(b->w.out, "      fx_chunk<V, ALIGNED, %s> %s;", emit_ctype(f->tensor.dtype), f->name);
        else if (f->kind == LEAF_PIECE)
            buf_line(b->w.out, "      typename fx_choose<ALIGNED, fx_chunk<V, true, %s>, fx_elements<V, %s>>::type %s;",
                emit_ctype(f->tensor.dtype), leaf_ctype(b, f), f->name);
        else buf_line(b->w.out, "      %s %s%s;", leaf_ctype(b, f), f->name, f->kind == LEAF_MANY ? "[V]" : "");
    }
    buf_line(b->w.out, "    };");
}

/* The same members in shared memory. */
static void emit_staged(struct maker *b, enum leaf_place place, const char *name, const char *of) {
    int n = 0, widest = 1;
    if (!count_leaves(b, place)) return;
    buf_line(b->w.out, "    template <int V, int THREADS> struct %s {  // %s by way of shared memory", name, of);
    for (int i = 0; i < b->n_leaves; i++) {
        const struct leaf *f = &b->leaves[i];
        if (place_of(f) != place) continue;
        int bytes = fx_dtype_bits(f->tensor.dtype) / 8;
        if (bytes > widest) widest = bytes;
        buf_line(b->w.out, "      fx_staged<V, %s, THREADS> %s;", emit_ctype(f->tensor.dtype), f->name);
    }
    buf_line(b->w.out,
        "      static constexpr int PIECES = V * %d > 16 ? V * %d / 16 : 1;  // of 16 bytes, of the widest", widest,
        widest);
    buf_puts(b->w.out, "      FX_DEVICE void place(unsigned at, int thread, int piece) { ");
    for (int i = b->n_leaves - 1; i >= 0; i--)
        if (place_of(&b->leaves[i]) == place) buf_printf(b->w.out, "%s.place(", b->leaves[i].name), n++;
    buf_puts(b->w.out, "at");
    while (n--) buf_puts(b->w.out, ", thread, piece)");
    buf_puts(b->w.out, "; }\n      FX_DEVICE void read() { ");
    for (int i = 0; i < b->n_leaves; i++)
        if (place_of(&b->leaves[i]) == place) buf_printf(b->w.out, "%s.read(); ", b->leaves[i].name);
    buf_puts(b->w.out, "}\n    };\n");
}

static const char *held_address(struct maker *b, const struct scope *p, const struct tensor *t) {
    return arena_printf(arena(b), "&%s[%s]", operand_tensor_name(b->at, t, true), address_offset(&b->w, p, t));
}

/* Where the words lie that have the fields of a packed chunk. */
static const char *words_of(struct maker *b, const struct scope *p, const struct node *n) {
    const struct param *t = &b->g->kernel->params[n->param];
    struct buf s;
    buf_init(&s, arena(b));
    for (int i = 0; i < t->n_axes; i++) {
        const char *index = p->at[t->axes[i]] ? p->at[t->axes[i]] : "0";
        if (i == t->packed.axis) index = arena_printf(arena(b), "(%s / %d)", index, t->packed.factor);
        address_add(&s, arena_printf(arena(b), "(long long)%s", index), address_word_stride(&b->w, n->param, i));
    }
    return arena_printf(arena(b), "&%s[%s]", b->at->params[n->param], s.s);
}

static void emit_fetch_context(struct maker *b) {
    struct scope *chunk = chunk_scope(b);
    for (int i = 0; i < b->n_leaves; i++) {
        const struct leaf *f = &b->leaves[i];
        if (f->kind == LEAF_SHARED)
            value_line(&b->w, "c.%s.load(%s, n_valid);", f->name, held_address(b, chunk, &f->tensor));
    }
}

/* Whether some position of n is read from memory. */
static bool reads_positions(const struct maker *b, const struct node *n) {
    bool *is_needed = NEW_ARRAY(arena(b), bool, b->g->n_nodes + 1);
    for (int i = 1; n->kind == N_ACCESS && i <= n->n_at; i++) is_needed[n->args[i]->id] = true;
    for (int i = n->id; i >= 0; i--) {
        const struct node *at = b->g->nodes[i];
        if (is_needed[i] && (at->kind == N_INPUT || at->kind == N_REDUCE || at->kind == N_SCAN || at->kind == N_SHARE))
            return true;
        for (int a = 0; is_needed[i] && a < at->n_args; a++) is_needed[at->args[a]->id] = true;
    }
    return false;
}

static void emit_piece(struct maker *b, struct scope *chunk, const struct leaf *f) {
    struct scope *p = scope_open(&b->w, chunk);
    const char *inside = NULL;
    value_line(&b->w, "if constexpr (ALIGNED) {");
    int aligned = value_open_block(&b->w), guarded = 0;
    bool is_guarded = reads_positions(b, f->node);
    if (is_guarded) {
        value_line(&b->w, "if (n_valid > 0) {  // where there is no chunk there is no position to read");
        guarded = value_open_block(&b->w);
    }
    if (f->node->kind == N_ACCESS) p = value_open_access(&b->w, p, f->node, &inside);
    value_line(&b->w, inside ? "h.%s.load(%s, %s ? n_valid : 0);" : "h.%s.load(%s, n_valid);", f->name,
        held_address(b, p, &f->tensor), inside);
    if (is_guarded) {
        value_close_block(&b->w, guarded, "} else {");
        value_line(&b->w, "  h.%s.load(%s, 0);", f->name, operand_tensor_name(b->at, &f->tensor, true));
        value_line(&b->w, "}");
    }
    value_close_block(&b->w, aligned, "} else {");
    int other = value_open_block(&b->w);
    buf_line(b->w.out, "#pragma unroll");
    value_line(&b->w, "for (int v = 0; v < V; ++v) {");
    int loop = value_open_block(&b->w);
    value_line(&b->w, "h.%s.x[v] = 0;", f->name);
    value_line(&b->w, "if (v >= n_valid) continue;");
    value_put(&b->w, element_scope(b, chunk, b->operand->value), f->node, arena_printf(arena(b), "h.%s.x[v]", f->name));
    value_close_block(&b->w, loop, "}");
    value_close_block(&b->w, other, "}");
}

static void emit_fetch_held(struct maker *b) {
    struct scope *chunk = chunk_scope(b);
    for (int i = 0; i < b->n_leaves; i++) {
        const struct leaf *f = &b->leaves[i];
        if (f->kind == LEAF_HELD)
            value_line(&b->w, "h.%s.load(%s, n_valid);", f->name, held_address(b, chunk, &f->tensor));
        if (f->kind == LEAF_PIECE) emit_piece(b, chunk, f);
    }
}

/* What is the same for a whole chunk. */
static void emit_ones(struct maker *b, struct scope *chunk) {
    bool has_ones = false;
    for (int i = 0; i < b->n_leaves; i++) {
        if (b->leaves[i].kind != LEAF_ONE) continue;
        has_ones = true;
        value_line(&b->w, "r.%s = 0;", b->leaves[i].name);
    }
    if (!has_ones) return;
    value_line(&b->w, "if (n_valid > 0) {");
    int block = value_open_block(&b->w);
    struct scope *p = scope_open(&b->w, chunk);
    for (int i = 0; i < b->n_leaves; i++) {
        const struct leaf *f = &b->leaves[i];
        if (f->kind == LEAF_ONE) value_put(&b->w, p, f->node, arena_printf(arena(b), "r.%s", f->name));
    }
    value_close_block(&b->w, block, "}");
}

static void emit_fetch(struct maker *b) {
    bool has_many = false;
    struct scope *chunk = chunk_scope(b);
    for (int i = 0; i < b->n_leaves; i++) {
        const struct leaf *f = &b->leaves[i];
        has_many |= f->kind == LEAF_MANY;
        if (f->kind == LEAF_WORD) value_line(&b->w, "r.%s.load(%s, n_valid);", f->name, words_of(b, chunk, f->node));
    }
    emit_ones(b, chunk);
    if (!has_many) return;
    buf_line(b->w.out, "#pragma unroll");
    value_line(&b->w, "for (int v = 0; v < V; ++v) {");
    int block = value_open_block(&b->w);
    for (int i = 0; i < b->n_leaves; i++)
        if (b->leaves[i].kind == LEAF_MANY) value_line(&b->w, "r.%s[v] = 0;", b->leaves[i].name);
    value_line(&b->w, "if (v >= n_valid) continue;");
    struct scope *p = element_scope(b, chunk, b->operand->value);
    for (int i = 0; i < b->n_leaves; i++)
        if (b->leaves[i].kind == LEAF_MANY)
            value_put(&b->w, p, b->leaves[i].node, arena_printf(arena(b), "r.%s[v]", b->leaves[i].name));
    value_close_block(&b->w, block, "}");
}

/* Computes the uniform values that elements read, once a chunk. */
static void emit_uniform(struct maker *b, struct scope *chunk) {
    bool *needed = NEW_ARRAY(arena(b), bool, b->g->n_nodes + 1);
    needed[b->operand->value->id] = true;
    for (int i = b->operand->value->id; i >= 0; i--) {
        struct node *n = b->g->nodes[i];
        bool is_leaf = false;
        for (int j = 0; j < b->n_leaves; j++) is_leaf |= b->leaves[j].node == n;
        if (!needed[i] || is_leaf) continue;
        if (b->is_uniform[i]) continue;
        for (int a = 0; a < n->n_args; a++) needed[n->args[a]->id] = true;
    }
    for (int i = 0; i <= b->operand->value->id; i++)
        if (needed[i] && b->is_uniform[i]) value_at(&b->w, chunk, b->g->nodes[i]);
}

/* The values below `value`, operands first, so that no chain of them is walked deep. */
static void emit_chain(struct maker *b, struct scope *p, struct node *value) {
    bool *needed = NEW_ARRAY(arena(b), bool, b->g->n_nodes + 1);
    needed[value->id] = true;
    for (int i = value->id; i >= 0; i--) {
        struct node *n = b->g->nodes[i];
        needed[i] = needed[i] && (n->kind == N_OP || n->kind == N_CAST) && !b->is_uniform[i] && !node_is_stored(n);
        for (int a = 0; needed[i] && a < n->n_args; a++) needed[n->args[a]->id] = true;
    }
    for (int i = 0; i < value->id; i++)
        if (needed[i]) value_at(&b->w, p, b->g->nodes[i]);
}

/* The elements of a piece, however it was fetched. */
static void emit_whole_piece(struct maker *b, const struct leaf *f) {
    value_line(&b->w, "%s %s[V];", leaf_ctype(b, f), f->name);
    value_line(&b->w, "if constexpr (ALIGNED) {");
    value_line(&b->w, "  %s e[V];", emit_ctype(f->tensor.dtype));
    value_line(&b->w, "  h.%s.get(e);", f->name);
    buf_line(b->w.out, "#pragma unroll");
    value_line(
        &b->w, "  for (int v = 0; v < V; ++v) %s[v] = %s;", f->name, value_of_element(&b->w, f->tensor.dtype, "e[v]"));
    value_line(&b->w, "} else {");
    value_line(&b->w, "  h.%s.get(%s);", f->name, f->name);
    value_line(&b->w, "}");
}

/* In which the operand is multiplied. */
static enum fx_dtype side_dtype(const struct maker *b) {
    return b->at->side == 'a' ? b->at->shape->a_dtype : b->at->shape->b_dtype;
}

static void emit_make(struct maker *b) {
    struct node *value = b->operand->value;
    enum fx_dtype dtype = side_dtype(b);
    if (value->kind == N_CAST && value->to == dtype && fx_is_float(value->args[0]->dtype))
        value = value->args[0]; /* the store rounds alike */
    struct scope *chunk = chunk_scope(b);
    b->is_making = true;
    for (int i = 0; i < b->n_leaves; i++) {
        const struct leaf *f = &b->leaves[i];
        if (f->kind == LEAF_PIECE) emit_whole_piece(b, f);
        if (f->kind != LEAF_HELD && f->kind != LEAF_SHARED) continue;
        value_line(&b->w, "%s %s[V];", emit_ctype(f->tensor.dtype), f->name);
        value_line(&b->w, "%s.%s.get(%s);", f->kind == LEAF_SHARED ? "c" : "h", f->name, f->name);
    }
    emit_uniform(b, chunk);
    buf_line(b->w.out, "#pragma unroll");
    value_line(&b->w, "for (int v = 0; v < V; ++v) {");
    int block = value_open_block(&b->w);
    struct scope *p = element_scope(b, chunk, b->operand->value);
    bool is_plain = strcmp(element_of_value(&b->w, dtype, value->dtype, "x"), "x") == 0 &&
                    value->dtype == fx_compute_type(dtype);
    if (is_plain) scope_set_place(&b->w, p, value, "x[v]");
    emit_chain(b, p, value);
    value_assign(&b->w, "x[v]", element_of_value(&b->w, dtype, value->dtype, value_at(&b->w, p, value)));
    value_close_block(&b->w, block, "}");
    b->is_making = false;
}

/* ---- two at a time, in words of 16-bit floats ---- */

struct halves_of { /* the words being written */
    struct maker *b;
    const enum halves *of;
    struct scope *chunk;
    const char *type; /* of the floats */
    int base;         /* what is added to a field of 4 bits */
};

/* A uniform float, or a constant to which a uniform integer is added or from which it is subtracted, in both halves. */
static const char *uniform_word(struct halves_of *h, struct node *n, int base, char sign) {
    const char *value = value_at(&h->b->w, h->chunk, n);
    if (!fx_is_integer(n->dtype)) return arena_printf(arena(h->b), "fx_halves_of<%s>(%s)", h->type, value);
    if (n->kind == N_CONST)
        return arena_printf(arena(h->b), "fx_halves_of<%s>(%lld)", h->type,
            sign == '-' ? base - (long long)n->integer : base + (long long)n->integer);
    return arena_printf(
        arena(h->b), "fx_halves_of<%s>(fx_small_to_float((int)(%d %c %s)))", h->type, base, sign, value);
}

static const struct leaf *leaf_of(const struct maker *b, const struct node *n) {
    for (int i = 0; i < b->n_leaves; i++)
        if (b->leaves[i].node == n) return &b->leaves[i];
    return NULL;
}

static const char *halves_text(struct halves_of *h, struct node *n);

/* Of a field what was added to it; 0 of any other value. */
static int base_of(const struct halves_of *h, const struct node *n) {
    const struct leaf *f = leaf_of(h->b, n);
    if (!f || f->kind != LEAF_WORD) return 0;
    return h->base + (fx_dtype_class_of(h->b->g->kernel->params[n->param].dtype) == FX_CLASS_S ? 8 : 0);
}

/* A sum or a difference with a uniform value. What was added to a field is taken away with it, where that is exact. */
static const char *difference_text(struct halves_of *h, struct node *n) {
    struct maker *b = h->b;
    const bool is_first = h->of[n->args[0]->id] == HALVES_SMALL, adds = n->op == O_ADD;
    struct node *x = n->args[!is_first], *u = n->args[is_first];
    const struct leaf *f = leaf_of(b, x);
    const struct interval in = computed_interval(b->g, u);
    int base = base_of(h, x);
    if (base + fmax(-in.lo, in.hi) > 2 * h->base) base = 0;
    const char *text = base ? arena_printf(arena(b), "r.%s.template halves<%s>(first + v)", f->name, h->type)
                            : halves_text(h, x),
               *other = uniform_word(h, u, base, adds ? '-' : '+');
    return is_first || adds ? arena_printf(arena(b), "fx_halves_less<%s>(%s, %s)", h->type, text, other)
                            : arena_printf(arena(b), "fx_halves_less<%s>(%s, %s)", h->type, other, text);
}

/* Word `first + v` of n as an expression. */
static const char *halves_text(struct halves_of *h, struct node *n) {
    struct maker *b = h->b;
    const struct leaf *f = leaf_of(b, n);
    if (f && f->kind == LEAF_WORD)
        return arena_printf(arena(b), "fx_halves_less<%s>(r.%s.template halves<%s>(first + v), fx_halves_of<%s>(%d))",
            h->type, f->name, h->type, h->type, base_of(h, n));
    if (f) /* LEAF_HELD */
        return arena_printf(arena(b), "fx_halves_of_bytes<%s, %s>(h.%s.w, first + v)", h->type,
            fx_dtype_class_of(f->tensor.dtype) == FX_CLASS_S ? "true" : "false", f->name);
    if (n->kind == N_CAST) return halves_text(h, n->args[0]);
    if (n->op != O_MUL) return difference_text(h, n);
    bool is_first = h->of[n->args[0]->id] == HALVES_SMALL;
    const char *x = halves_text(h, n->args[is_first ? 0 : 1]);
    return arena_printf(
        arena(b), "fx_halves_times<%s>(%s, %s)", h->type, x, uniform_word(h, n->args[is_first], 0, '+'));
}

/* make_halves: N words of a chunk, from word `first` on; where nothing was read they are finite. */
static void emit_halves(struct maker *b) {
    enum fx_dtype t = side_dtype(b);
    struct halves_of h = {.b = b, .of = computed_halves(b->g, b->operand, &b->computed, t)};
    if (!h.of) return;
    struct node *value = computed_stored(b->operand, t);
    h.type = emit_ctype(t), h.base = t == FX_BF16 ? 128 : 1024;
    buf_line(b->w.out, "    static constexpr bool MAKES_HALVES = true;  // two elements at a time, in a word");
    value_open_function(&b->w,
        "    template <int V, bool ALIGNED, int N, class HELD, class CONTEXT> static FX_DEVICE void make_halves(const "
        "%s &p, unsigned (&x)[N], const raw<V, ALIGNED> &r, const HELD &h, const CONTEXT &c, int first, int batch, int "
        "mn, int ko, int k)",
        b->at->l->struct_name);
    h.chunk = chunk_scope(b);
    b->is_making = true;
    emit_uniform(b, h.chunk);
    const char *text = halves_text(&h, value);
    buf_line(b->w.out, "#pragma unroll");
    value_line(&b->w, "for (int v = 0; v < N; ++v) x[v] = %s;%s", text, value_comment(b->g, value));
    b->is_making = false;
    value_close_function(&b->w);
}

/* Where consumers make the operand of fields: values and fields come by ways of their own (driver_wgmma_made.cuh). */
static void emit_made_fields(struct maker *b) {
    const char *name = NULL;
    for (int i = 0; i < b->n_leaves; i++)
        if (b->leaves[i].kind == LEAF_WORD) name = b->leaves[i].name;
    if (!b->operand->from || !name) return;
    buf_line(b->w.out, "    static constexpr int RUN = %d;  // of k for which values are the same; 0: of all k",
        b->operand->run);
    buf_line(b->w.out,
        "    template <int V, bool ALIGNED> static FX_DEVICE void set_fields(raw<V, ALIGNED> &r, unsigned w) { "
        "r.%s.w[0] = w; }",
        name);
    value_open_function(&b->w,
        "    template <int V, bool ALIGNED> static FX_DEVICE void fetch_values(const %s &p, raw<V, ALIGNED> &r, int "
        "batch, int mn, int ko, int k, int n_valid)",
        b->at->l->struct_name);
    emit_ones(b, chunk_scope(b));
    value_close_function(&b->w);
}

static void open_values(struct maker *b, value_available *finds) {
    b->w = values_open(b->at->out, b->at->c, b->at->l, b->names, finds, b);
    b->w.param_names = b->at->params;
    b->w.axis_names = b->at->axes;
    b->w.stride_names = b->at->strides;
}

void emit_computed_operand(const struct operand_place *at, const struct operand *o) {
    struct maker b = {.at = at, .g = at->g, .operand = o, .names = emit_names(at->c, at->l)};
    open_values(&b, available);
    find_leaves(&b);
    b.w.is_pair = value_pairs(&b.w);
    b.are_bits = value_bits(&b.w);
    static const struct {
        const char *name, *classes, *what; /* of the function, of its template, what it fills */
        void (*statements)(struct maker *b);
    } fetches[] = {
        [IN_RAW] = {"fetch", "", "raw<V, ALIGNED> &r", emit_fetch},
        [IN_HELD] = {"fetch_held", ", class HELD", "HELD &h", emit_fetch_held},
        [IN_CONTEXT] = {"fetch_context", ", class CONTEXT", "CONTEXT &c", emit_fetch_context},
    };
    const char *p = at->l->struct_name;
    buf_line(b.w.out, "    typedef %s value;", value_ctype(fx_compute_type(side_dtype(&b))));
    emit_leaves(&b, IN_RAW, "raw", "what a chunk reads from memory by values");
    emit_leaves(&b, IN_HELD, "held", "what it reads side by side");
    emit_leaves(&b, IN_CONTEXT, "context", "what chunks share");
    buf_line(b.w.out, "    static constexpr bool IS_FIXED = %s;  // whether raw is the same for all k",
        computed_is_fixed(&b.computed, at->segment) ? "true" : "false");
    emit_staged(&b, IN_HELD, "staged", "held");
    emit_staged(&b, IN_CONTEXT, "staged_context", "context");
    for (enum leaf_place i = IN_RAW; i <= IN_CONTEXT; i++) {
        if (!count_leaves(&b, i)) continue;
        value_open_function(&b.w,
            "    template <int V, bool ALIGNED%s> static FX_DEVICE void %s(const %s &p, %s, int batch, int mn, "
            "int ko, int k, int n_valid)",
            fetches[i].classes, fetches[i].name, p, fetches[i].what);
        fetches[i].statements(&b);
        value_close_function(&b.w);
    }
    value_open_function(&b.w,
        "    template <int V, bool ALIGNED, class HELD, class CONTEXT> static FX_DEVICE void make(const %s &p, "
        "value (&x)[V], const raw<V, ALIGNED> &r, const HELD &h, const CONTEXT &c, int batch, int mn, int ko, int k)",
        p);
    emit_make(&b);
    value_close_function(&b.w);
    emit_halves(&b);
    emit_made_fields(&b);
}

/* What a window reads lies in the tensor that it is one of: of an input in parts, in a buffer. */
static const char *available_part(struct values *w, const struct scope *p, const struct node *n) {
    struct maker *b = w->user;
    const struct tensor *t = &b->operand->window->tensor;
    if (n != b->operand->value->args[0]) return available(w, p, n);
    return value_element(w, p, operand_tensor_name(b->at, t, true), t);
}

void emit_window_element(const struct operand_place *at, const struct operand *o) {
    struct maker b = {.at = at, .g = at->g, .operand = o, .names = emit_names(at->c, at->l)};
    open_values(&b, available_part);
    value_open_function(
        &b.w, "    static FX_DEVICE float element(const %s &p, int batch, int ko, int mn, int k)", at->l->struct_name);
    const char *value = value_at(&b.w, chunk_scope(&b), o->value);
    value_line(&b.w, "return %s;", value);
    value_close_function(&b.w);
}

void emit_scale(const struct operand_place *at, char side, const struct axis_list *mn, struct node *scale) {
    struct operand_place of = *at;
    struct maker b = {.at = &of, .g = at->g, .names = emit_names(at->c, at->l)};
    of.mn = mn;
    open_values(&b, available);
    value_open_function(&b.w, "    static FX_DEVICE float scale_%c(const %s &p, int batch, int mn, int ko)", side,
        at->l->struct_name);
    struct scope *p = scope_open(&b.w, NULL);
    if (scale) {
        bind(&b, p, &at->shape->batch, "batch", "at");
        bind(&b, p, &at->segment->k_outer, "ko", "at");
        bind(&b, p, mn, "mn", "at");
    }
    value_line(&b.w, "return %s;", scale ? value_at(&b.w, p, scale) : "1.0f");
    value_close_function(&b.w);
}
