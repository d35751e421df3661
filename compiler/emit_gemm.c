/* The members of the problem struct of a contraction: its shape, its operands and its segments, as the gemm driver asks for them (kernels/driver_gemm.cuh).
 *
 * In: a scheduled group with sums. Out: one struct for every operand that lies in memory (where, and its strides) or is made (raw: what a chunk reads; fetch: the
 * loads alone; make: what becomes of it), one for every segment. Chunks run along k or along m or n, V adjacent elements of a flattened run of labels. */
#include <string.h>

#include "emit.h"
#include "emit_value.h"
#include "operand.h"
#include "plan.h"

enum leaf_kind {
    LEAF_ONE,   /* the same for a whole chunk */
    LEAF_HELD,  /* adjacent in memory: held as it lies there */
    LEAF_SHARED, /* likewise, but the same for every row of chunks: part of their context */
    LEAF_PIECE, /* adjacent in memory where the chunk does not go past the last label: so it is in the aligned variants, element by element in the others */
    LEAF_WORD,  /* packed: one word has the chunk's fields */
    LEAF_MANY,  /* element by element */
};

struct leaf { /* what a made operand reads */
    struct node *node;
    enum leaf_kind kind;
    struct tensor tensor; /* LEAF_HELD, LEAF_SHARED, LEAF_PIECE */
    const char *name;     /* of the member of raw */
};

struct maker { /* an operand being written */
    struct buf *out;
    const struct unit *u;
    const struct chosen *c;
    const struct launch *l;
    const struct graph *g;
    const struct gemm_shape *shape;
    const struct segment *segment;
    const struct operand *operand;
    char side;                      /* 'a' or 'b' */
    const struct axis_list *mn;     /* the labels of m or n */
    struct leaf *leaves;
    int n_leaves;
    bool *is_uniform;               /* by node: the same for a whole chunk */
    bool is_making;                 /* in make, not in fetch */
    int n_loops;                    /* over the elements of a chunk, in this function: their indices have names of their own */
    const char **params, **buffers, **axes, **strides; /* C names, members of p */
    struct values w;
};

static struct arena *arena(const struct maker *b) { return &b->u->cx->arena; }
static void line(struct maker *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void line(struct maker *b, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    buf_vprintf(b->out, fmt, ap);
    va_end(ap);
    buf_putc(b->out, '\n');
}

static const char *tensor_name(const struct maker *b, const struct tensor *t, bool is_member) {
    if (is_member) return t->param >= 0 ? b->params[t->param] : b->buffers[t->buffer];
    return t->param >= 0 ? b->l->param_names[t->param] : b->l->buffer_names[t->buffer];
}

/* ---- operands in memory ---- */

static const char *atom_name(const struct maker *b, const struct tensor *t, int atom) {
    int position, axis = view_atom_axis(b->g, atom, &position);
    return axis >= 0 ? b->axes[axis] : b->strides[fx_stride_index(t->param, position)];
}

/* A polynomial of the view of t as C. */
static const char *poly_text(const struct maker *b, const struct tensor *t, const struct poly *p) {
    struct buf s;
    buf_init(&s, arena(b));
    if (!p->n) return "0";
    for (int i = 0; i < p->n; i++) {
        wide c = p->t[i].coefficient, size = c < 0 ? -c : c;
        if (i) buf_puts(&s, c < 0 ? " - " : " + ");
        else if (c < 0) buf_puts(&s, "-");
        if (!p->t[i].n) buf_printf(&s, size == 1 ? "1" : "%lldll", (long long)size);
        else if (size != 1) buf_printf(&s, "%lld * ", (long long)size);
        for (int f = 0; f < p->t[i].n; f++) buf_printf(&s, "%s%s", f ? " * " : "", atom_name(b, t, p->t[i].atoms[f]));
    }
    return s.s;
}

static void add_term(struct buf *s, const char *index, const char *step) {
    if (strcmp(step, "0") == 0) return;
    if (s->len) buf_puts(s, " + ");
    if (strcmp(step, "1") == 0) buf_puts(s, index);
    else buf_printf(s, strpbrk(step, "+-") ? "%s * (%s)" : "%s * %s", index, step);
}

/* Adds what the flattened index `var` over the labels of l contributes to an offset into t. */
static void add_index(const struct maker *b, struct buf *s, const struct tensor *t, const struct axis_list *l, const char *var) {
    bool is_run = true;
    for (int i = 0; i + 1 < l->n; i++) is_run &= are_adjacent(b->g, t, l->axes[i], l->axes[i + 1]);
    for (int i = 0; i < l->n; i++) {
        int at = tensor_axis(t, l->axes[i]);
        if (at < 0 || (is_run && i < l->n - 1)) continue;
        const char *index = is_run ? var : emit_label_index(arena(b), b->axes, l, i, var, true);
        add_term(s, index == var || !strchr(index, ' ') ? index : arena_printf(arena(b), "(%s)", index), poly_text(b, t, &t->view->stride[at]));
    }
}

static const char *element_address(const struct maker *b, const struct tensor *t) {
    struct buf s;
    buf_init(&s, arena(b));
    const char *offset = poly_text(b, t, &t->view->offset);
    if (strcmp(offset, "0") != 0) buf_puts(&s, offset);
    add_index(b, &s, t, &b->shape->batch, "batch");
    add_index(b, &s, t, &b->segment->k_outer, "ko");
    return s.len ? arena_printf(arena(b), "%s + %s", tensor_name(b, t, true), s.s) : tensor_name(b, t, true);
}

static const char *run_stride(const struct maker *b, const struct tensor *t, const struct axis_list *l) {
    int at = l->n ? tensor_axis(t, l->axes[l->n - 1]) : -1;
    return at < 0 ? "0" : poly_text(b, t, &t->view->stride[at]);
}

/* `return ..;` of the operands, by j where they differ. */
static void emit_by_sum(struct maker *b, const char *const *values, int n) {
    buf_puts(b->out, " return ");
    for (int i = 0; i < n; i++) {
        bool is_rest = true;
        for (int j = i; j < n; j++) is_rest &= strcmp(values[i], values[j]) == 0;
        if (is_rest || i == n - 1) {
            buf_printf(b->out, "%s; }\n", values[i]);
            return;
        }
        buf_printf(b->out, "j == %d ? %s : ", i, values[i]);
    }
}

static const char *layout_name(enum layout l) { return l == LAYOUT_K_MAJOR ? "FX_K_MAJOR" : l == LAYOUT_MN_MAJOR ? "FX_MN_MAJOR" : "FX_STRIDED"; }

static void emit_copied(struct maker *b, const struct operand *operands, int n) {
    const char **at = NEW_ARRAY(arena(b), const char *, n), **mn = NEW_ARRAY(arena(b), const char *, n), **k = NEW_ARRAY(arena(b), const char *, n);
    for (int i = 0; i < n; i++) {
        at[i] = element_address(b, &operands[i].tensor);
        mn[i] = run_stride(b, &operands[i].tensor, b->mn);
        k[i] = run_stride(b, &operands[i].tensor, &b->segment->k);
    }
    line(b, "    static constexpr int LAYOUT = %s;", layout_name(operands->layout));
    buf_printf(b->out, "    static FX_DEVICE const %s *at(const %s &p, int j, int batch, int ko) {", emit_ctype(operands->tensor.dtype), b->l->struct_name);
    emit_by_sum(b, at, n);
    buf_printf(b->out, "    static FX_DEVICE long long stride_mn(const %s &p, int j) {", b->l->struct_name);
    emit_by_sum(b, mn, n);
    buf_printf(b->out, "    static FX_DEVICE long long stride_k(const %s &p, int j) {", b->l->struct_name);
    emit_by_sum(b, k, n);
}

/* ---- operands that are made ---- */

static const struct axis_list *along(const struct maker *b) { return b->operand->layout == LAYOUT_K_MAJOR ? &b->segment->k : b->mn; }
static const char *along_var(const struct maker *b) { return b->operand->layout == LAYOUT_K_MAJOR ? "k" : "mn"; }

enum { CHUNK = 8 }; /* the longest; chunks begin at multiples of it */

/* Which nodes are the same for a whole chunk: they lack its labels, or have only the quotient of its index by a multiple of its length. */
static void find_uniform(struct maker *b) {
    const struct axis_list *l = along(b);
    for (int i = 0; i <= b->operand->value->id; i++) {
        const struct node *n = b->g->nodes[i];
        bool has = false, of_uniform = n->n_args > 0 && (n->kind == N_OP || n->kind == N_CAST || n->kind == N_ACCESS);
        for (int j = 0; j < l->n; j++) has |= node_has_axis(n, l->axes[j]);
        for (int a = n->kind == N_ACCESS; a < n->n_args; a++) of_uniform &= b->is_uniform[n->args[a]->id];
        for (int j = 0; n->kind == N_ACCESS && j < n->args[0]->n_axes; j++) {
            bool is_at = false;
            for (int k = 0; k < n->n_at; k++) is_at |= n->at[k] == n->args[0]->axes[j];
            for (int k = 0; k < l->n && !is_at; k++) of_uniform &= l->axes[k] != n->args[0]->axes[j];
        }
        bool is_quotient = n->kind == N_OP && n->op == O_FLOORDIV && l->n == 1 && n->args[0]->kind == N_INDEX && n->args[0]->axis == l->axes[0] &&
                           n->args[1]->kind == N_CONST && n->args[1]->integer > 0 && n->args[1]->integer % CHUNK == 0;
        b->is_uniform[i] = !has || of_uniform || is_quotient;
    }
}

/* The labels of the other direction. */
static const struct axis_list *across(const struct maker *b) { return b->operand->layout == LAYOUT_K_MAJOR ? b->mn : &b->segment->k; }

static bool lacks(const struct node *n, const struct axis_list *l) {
    for (int i = 0; i < l->n; i++)
        if (node_has_axis(n, l->axes[i])) return false;
    return true;
}

static bool is_one_word(const struct maker *b, const struct node *n) {
    const struct param *p = n->kind == N_INPUT ? &b->g->kernel->params[n->param] : NULL;
    const struct axis_list *l = along(b);
    return p && p->packed.factor && p->packed.factor % CHUNK == 0 && l->n == 1 && p->axes[p->packed.axis] == l->axes[0];
}

static void find_leaves(struct maker *b) {
    const struct group *r = b->l->kernel->group;
    struct node **nodes = NEW_ARRAY(arena(b), struct node *, b->g->n_nodes + 1);
    b->n_leaves = operand_leaves(b->g, b->c->partition, r, b->operand, nodes, b->g->n_nodes);
    b->leaves = NEW_ARRAY(arena(b), struct leaf, b->n_leaves + 1);
    for (int i = 0; i < b->n_leaves; i++) {
        struct leaf *f = &b->leaves[i];
        f->node = nodes[i];
        f->name = arena_printf(arena(b), "t%d", f->node->id);
        if (b->is_uniform[f->node->id]) f->kind = LEAF_ONE;
        else if (is_one_word(b, f->node)) f->kind = LEAF_WORD;
        else {
            enum leaf_shape shape = leaf_shape(b->g, b->c->partition, r, f->node, along(b), &f->tensor);
            f->kind = shape == LEAF_ADJACENT ? LEAF_HELD : shape == LEAF_ROW ? LEAF_PIECE : LEAF_MANY;
        }
        if (f->kind == LEAF_HELD && lacks(f->node, across(b)) && (b->operand->layout == LAYOUT_K_MAJOR || lacks(f->node, &b->segment->k_outer))) f->kind = LEAF_SHARED;
        if (f->kind == LEAF_HELD || f->kind == LEAF_SHARED) f->name = tensor_name(b, &f->tensor, false);
        else if (f->node->kind == N_INPUT) f->name = b->l->param_names[f->node->param];
    }
}

static const char *leaf_ctype(const struct maker *b, const struct leaf *f) {
    return f->kind == LEAF_WORD ? emit_ctype(b->g->kernel->params[f->node->param].packed.storage) : value_ctype(f->node->dtype);
}

/* What a value is without computing it: what was fetched, an element of a buffer. */
static const char *given(struct values *w, const struct point *p, const struct node *n) {
    struct maker *b = w->user;
    struct tensor t;
    if (n->kind == N_SCALAR) return value_of_element(w, b->g->kernel->params[n->param].dtype, b->params[n->param]);
    for (int i = 0; b->is_making && i < b->n_leaves; i++) {
        const struct leaf *f = &b->leaves[i];
        if (f->node != n) continue;
        if (f->kind == LEAF_ONE) return arena_printf(arena(b), "r.%s", f->name);
        if (f->kind == LEAF_MANY) return arena_printf(arena(b), "r.%s[v]", f->name);
        if (f->kind == LEAF_PIECE) return arena_printf(arena(b), "%s[v]", f->name);
        if (f->kind == LEAF_HELD || f->kind == LEAF_SHARED) return value_of_element(w, f->tensor.dtype, arena_printf(arena(b), "%s[v]", f->name));
        const struct param *x = &b->g->kernel->params[n->param];
        return arena_printf(arena(b), "fx_field<%d, %s, %s>(r.%s, %s %% %d + v)", fx_dtype_bits(x->dtype), fx_dtype_class_of(x->dtype) == FX_CLASS_S ? "true" : "false",
                            x->packed.is_msb ? "true" : "false", f->name, along_var(b), x->packed.factor);
    }
    if (n->kind != N_INPUT && node_is_loaded(b->g, b->c->partition, b->l->kernel->group, n, &t)) return value_element(w, p, b->buffers[t.buffer], &t);
    return NULL;
}

/* Gives every label of l its index, by name where it has to be computed. */
static void bind(struct maker *b, struct point *p, const struct axis_list *l, const char *var, const char *prefix) {
    for (int i = 0; i < l->n; i++) {
        const char *index = emit_label_index(arena(b), b->axes, l, i, var, true);
        p->at[l->axes[i]] = index;
        if (!strpbrk(index, "/%")) continue;
        const char *name = arena_printf(arena(b), "%s_%s", prefix, b->l->axis_names[l->axes[i]]);
        value_line(&b->w, EMIT_MARK "const int %s = %s;", name, index);
        p->at[l->axes[i]] = name;
    }
}

/* The point of a chunk: all labels, those along it at its first element. */
static struct point *chunk_point(struct maker *b) {
    struct point *p = point_open(&b->w, NULL);
    b->w.indent = 3;
    bind(b, p, &b->shape->batch, "batch", "at");
    bind(b, p, &b->segment->k_outer, "ko", "at");
    bind(b, p, b->mn, "mn", "at");
    bind(b, p, &b->segment->k, "k", "at");
    return p;
}

/* The point of element v of a chunk, at which uniform values are those of the chunk. */
static struct point *element_point(struct maker *b, struct point *chunk, const struct node *last) {
    struct point *p = point_open(&b->w, chunk);
    bind(b, p, along(b), arena_printf(arena(b), "(%s + v)", along_var(b)), ++b->n_loops > 1 ? arena_printf(arena(b), "this%d", b->n_loops) : "this");
    for (int i = 0; i <= last->id; i++)
        if (b->is_uniform[i]) p->text[i] = chunk->text[i];
    return p;
}

/* A struct of the leaves that are shared by chunks, or of those that are not. */
static void emit_leaves(struct maker *b, const char *name, bool are_shared, const char *what) {
    int n = 0;
    for (int i = 0; i < b->n_leaves; i++) n += (b->leaves[i].kind == LEAF_SHARED) == are_shared;
    line(b, n ? "    template <int V, bool ALIGNED> struct %s {  // %s" : "    template <int V, bool ALIGNED> struct %s {};  // nothing %s", name, n ? what : are_shared ? "is shared" : "is read");
    for (int i = 0; i < b->n_leaves; i++) {
        const struct leaf *f = &b->leaves[i];
        if ((f->kind == LEAF_SHARED) != are_shared) continue;
        if (f->kind == LEAF_HELD || are_shared) line(b, "      fx_chunk<V, ALIGNED, %s> %s;", emit_ctype(f->tensor.dtype), f->name);
        else if (f->kind == LEAF_PIECE)
            line(b, "      typename fx_choose<ALIGNED, fx_chunk<V, true, %s>, fx_elements<V, %s>>::type %s;", emit_ctype(f->tensor.dtype), leaf_ctype(b, f), f->name);
        else line(b, "      %s %s%s;", leaf_ctype(b, f), f->name, f->kind == LEAF_MANY ? "[V]" : "");
    }
    if (n) line(b, "    };");
}

static const char *held_address(struct maker *b, const struct point *p, const struct tensor *t) {
    struct tensor as_it_lies = *t;
    as_it_lies.dtype = FX_F32; /* the element itself, not its value */
    const char *element = value_element(&b->w, p, tensor_name(b, t, true), &as_it_lies);
    return arena_printf(arena(b), "&%s", element);
}

/* The word that has the fields of a packed chunk. */
static const char *word_of(struct maker *b, const struct point *p, const struct node *n) {
    const struct param *t = &b->g->kernel->params[n->param];
    struct buf s;
    buf_init(&s, arena(b));
    buf_printf(&s, "%s[", b->params[n->param]);
    for (int i = 0; i < t->n_axes; i++) {
        buf_printf(&s, i == t->packed.axis ? "%s(long long)(%s / %d)" : "%s(long long)%s", i ? " + " : "", p->at[t->axes[i]] ? p->at[t->axes[i]] : "0", t->packed.factor);
        const char *step = value_word_stride(&b->w, n->param, i);
        if (strcmp(step, "1") != 0) buf_printf(&s, " * %s", step);
    }
    buf_puts(&s, "]");
    return s.s;
}

static void emit_fetch_context(struct maker *b) {
    struct point *chunk = chunk_point(b);
    for (int i = 0; i < b->n_leaves; i++) {
        const struct leaf *f = &b->leaves[i];
        if (f->kind == LEAF_SHARED) value_line(&b->w, "c.%s.load(%s, n_valid);", f->name, held_address(b, chunk, &f->tensor));
    }
}

/* Whether some position of n is read from memory. */
static bool reads_positions(const struct maker *b, const struct node *n) {
    bool *is_needed = NEW_ARRAY(arena(b), bool, b->g->n_nodes + 1);
    for (int i = 1; n->kind == N_ACCESS && i <= n->n_at; i++) is_needed[n->args[i]->id] = true;
    for (int i = n->id; i >= 0; i--) {
        const struct node *at = b->g->nodes[i];
        if (is_needed[i] && (at->kind == N_INPUT || at->kind == N_REDUCE || at->kind == N_SCAN)) return true;
        for (int a = 0; is_needed[i] && a < at->n_args; a++) is_needed[at->args[a]->id] = true;
    }
    return false;
}

static void emit_piece(struct maker *b, struct point *chunk, const struct leaf *f) {
    struct point *p = point_open(&b->w, chunk);
    const char *inside = NULL;
    value_line(&b->w, "if constexpr (ALIGNED) {");
    b->w.indent++;
    bool is_guarded = reads_positions(b, f->node);
    if (is_guarded) {
        value_line(&b->w, "r.%s.load(%s, 0);", f->name, tensor_name(b, &f->tensor, true));
        value_line(&b->w, "if (n_valid > 0) {  // where there is no chunk there is no position to read");
        b->w.indent++;
    }
    if (f->node->kind == N_ACCESS) p = value_open_access(&b->w, p, f->node, &inside);
    value_line(&b->w, inside ? "r.%s.load(%s, %s ? n_valid : 0);" : "r.%s.load(%s, n_valid);", f->name, held_address(b, p, &f->tensor), inside);
    if (is_guarded) {
        b->w.indent--;
        value_line(&b->w, "}");
    }
    b->w.indent--;
    value_line(&b->w, "} else {");
    b->w.indent++;
    line(b, "#pragma unroll");
    value_line(&b->w, "for (int v = 0; v < V; ++v) {");
    b->w.indent++;
    value_line(&b->w, "r.%s.x[v] = 0;", f->name);
    value_line(&b->w, "if (v >= n_valid) continue;");
    p = element_point(b, chunk, b->operand->value);
    value_line(&b->w, "r.%s.x[v] = %s;", f->name, value_at(&b->w, p, f->node));
    for (int i = 0; i < 2; i++) {
        b->w.indent--;
        value_line(&b->w, "}");
    }
}

static void emit_fetch(struct maker *b) {
    bool has_ones = false, has_many = false;
    struct point *chunk = chunk_point(b);
    for (int i = 0; i < b->n_leaves; i++) {
        const struct leaf *f = &b->leaves[i];
        has_many |= f->kind == LEAF_MANY;
        if (f->kind == LEAF_HELD) value_line(&b->w, "r.%s.load(%s, n_valid);", f->name, held_address(b, chunk, &f->tensor));
        if (f->kind == LEAF_PIECE) emit_piece(b, chunk, f);
        if (f->kind != LEAF_ONE && f->kind != LEAF_WORD) continue;
        has_ones = true;
        value_line(&b->w, "r.%s = 0;", f->name);
    }
    if (has_ones) {
        value_line(&b->w, "if (n_valid > 0) {");
        b->w.indent++;
        struct point *p = point_open(&b->w, chunk);
        for (int i = 0; i < b->n_leaves; i++) {
            const struct leaf *f = &b->leaves[i];
            if (f->kind == LEAF_ONE) value_line(&b->w, "r.%s = %s;", f->name, value_at(&b->w, p, f->node));
            if (f->kind == LEAF_WORD) value_line(&b->w, "r.%s = %s;", f->name, word_of(b, chunk, f->node));
        }
        b->w.indent--;
        value_line(&b->w, "}");
    }
    if (!has_many) return;
    line(b, "#pragma unroll");
    value_line(&b->w, "for (int v = 0; v < V; ++v) {");
    b->w.indent++;
    for (int i = 0; i < b->n_leaves; i++)
        if (b->leaves[i].kind == LEAF_MANY) value_line(&b->w, "r.%s[v] = 0;", b->leaves[i].name);
    value_line(&b->w, "if (v >= n_valid) continue;");
    struct point *p = element_point(b, chunk, b->operand->value);
    for (int i = 0; i < b->n_leaves; i++)
        if (b->leaves[i].kind == LEAF_MANY) value_line(&b->w, "r.%s[v] = %s;", b->leaves[i].name, value_at(&b->w, p, b->leaves[i].node));
    b->w.indent--;
    value_line(&b->w, "}");
}

/* Computes the uniform values that elements read, once a chunk. */
static void emit_uniform(struct maker *b, struct point *chunk) {
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
static void emit_chain(struct maker *b, struct point *p, struct node *value) {
    bool *needed = NEW_ARRAY(arena(b), bool, b->g->n_nodes + 1);
    needed[value->id] = true;
    for (int i = value->id; i >= 0; i--) {
        struct node *n = b->g->nodes[i];
        needed[i] = needed[i] && (n->kind == N_OP || n->kind == N_CAST) && !b->is_uniform[i];
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
    value_line(&b->w, "  r.%s.get(e);", f->name);
    line(b, "#pragma unroll");
    value_line(&b->w, "  for (int v = 0; v < V; ++v) %s[v] = %s;", f->name, value_of_element(&b->w, f->tensor.dtype, "e[v]"));
    value_line(&b->w, "} else {");
    value_line(&b->w, "  r.%s.get(%s);", f->name, f->name);
    value_line(&b->w, "}");
}

/* In which the operand is multiplied. */
static enum fx_dtype side_dtype(const struct maker *b) { return b->side == 'a' ? b->shape->a_dtype : b->shape->b_dtype; }

static void emit_make(struct maker *b) {
    struct node *value = b->operand->value;
    enum fx_dtype dtype = side_dtype(b);
    if (value->kind == N_CAST && value->to == dtype && fx_is_float(value->args[0]->dtype)) value = value->args[0]; /* the store rounds alike */
    struct point *chunk = chunk_point(b);
    b->is_making = true;
    for (int i = 0; i < b->n_leaves; i++) {
        const struct leaf *f = &b->leaves[i];
        if (f->kind == LEAF_PIECE) emit_whole_piece(b, f);
        if (f->kind != LEAF_HELD && f->kind != LEAF_SHARED) continue;
        value_line(&b->w, "%s %s[V];", emit_ctype(f->tensor.dtype), f->name);
        value_line(&b->w, "%s.%s.get(%s);", f->kind == LEAF_SHARED ? "c" : "r", f->name, f->name);
    }
    emit_uniform(b, chunk);
    line(b, "#pragma unroll");
    value_line(&b->w, "for (int v = 0; v < V; ++v) {");
    b->w.indent++;
    struct point *p = element_point(b, chunk, b->operand->value);
    emit_chain(b, p, value);
    value_line(&b->w, "x[v] = %s;", element_of_value(&b->w, dtype, value->dtype, value_at(&b->w, p, value)));
    b->w.indent--;
    value_line(&b->w, "}");
    b->is_making = false;
}

static void begin_operand(struct maker *b, const struct operand *o) {
    b->operand = o;
    b->is_uniform = NEW_ARRAY(arena(b), bool, b->g->n_nodes + 1);
    b->w = (struct values){.out = b->out, .g = b->g, .param_names = b->params, .axis_names = b->axes, .stride_names = b->strides, .storage_type = emit_ctype, .given = given, .user = b,
                           .n_named = NEW_ARRAY(arena(b), int, b->g->n_nodes + 1), .hoisted = NEW_ARRAY(arena(b), int, b->g->n_nodes + 1)};
    find_uniform(b);
    find_leaves(b);
}

static void emit_function(struct maker *b, const char *head, void (*body)(struct maker *)) {
    struct buf text, *out = b->out;
    buf_init(&text, arena(b));
    line(b, "%s", head);
    begin_operand(b, b->operand);
    b->n_loops = 0;
    b->out = b->w.out = &text;
    body(b);
    b->out = out;
    emit_drop_unread(out, text.s ? text.s : "");
    line(b, "    }");
}

static const char *made_ctype(enum fx_dtype dtype) { return value_ctype(fx_compute_type(dtype)); }

static void emit_made(struct maker *b, const struct operand *operands) {
    const char *name = b->l->struct_name;
    line(b, "    static constexpr int LAYOUT = %s;", layout_name(operands->layout));
    line(b, "    typedef %s value;", made_ctype(side_dtype(b)));
    begin_operand(b, operands);
    emit_leaves(b, "raw", false, "what a chunk reads from memory");
    emit_leaves(b, "context", true, "what chunks share");
    emit_function(b, arena_printf(arena(b), "    template <int V, bool ALIGNED> static FX_DEVICE void fetch(const %s &p, raw<V, ALIGNED> &r, int batch, int mn, int ko, int k, int n_valid) {", name), emit_fetch);
    emit_function(b, arena_printf(arena(b), "    template <int V, bool ALIGNED> static FX_DEVICE void fetch_context(const %s &p, context<V, ALIGNED> &c, int batch, int mn, int ko, int k, int n_valid) {", name), emit_fetch_context);
    emit_function(b, arena_printf(arena(b), "    template <int V, bool ALIGNED> static FX_DEVICE void make(const %s &p, value (&x)[V], const raw<V, ALIGNED> &r, const context<V, ALIGNED> &c, int batch, int mn, int ko, int k) {", name), emit_make);
}

/* ---- the struct ---- */

static void emit_comment(struct maker *b, const struct operand *operands, int n) {
    struct buf s;
    buf_init(&s, arena(b));
    for (int i = 0; i < n; i++) {
        const struct operand *o = &operands[i];
        if (i) buf_puts(&s, ", ");
        if (!o->is_made && o->tensor.param < 0) buf_puts(&s, tensor_name(b, &o->tensor, false));
        else if (o->value->source && !o->value->name.len) ast_print_expr_short(&s, o->value->source, 60);
        else ir_print_name(&s, b->g, o->value);
    }
    buf_printf(b->out, "  // %s%s\n", s.s, operands->is_made ? ", made as it is loaded" : "");
}

static void emit_operand(struct maker *b, char side, int segment, int j, const struct operand *operands, int n) {
    b->side = side;
    b->mn = side == 'a' ? &b->shape->m : &b->shape->n;
    const char *struct_name = arena_printf(arena(b), j < 0 ? "%c%d" : "%c%d_%d", side, segment, j);
    buf_printf(b->out, "  struct %s {", struct_name);
    emit_comment(b, operands, n);
    if (operands->is_made) emit_made(b, operands);
    else emit_copied(b, operands, n);
    line(b, "    template <class ENGINE, class BASE, class SEGMENT, bool ALIGNED>");
    bool is_strided = false;
    for (int i = 0; i < n; i++) is_strided |= !operands[i].is_made && operands[i].tensor.is_strided;
    const char *base = is_strided ? arena_printf(arena(b), "typename fx_strided_%c<ENGINE, BASE>::type", side) : "BASE";
    line(b, "    using moved = %s<ENGINE, %s, %s, SEGMENT, %s, ALIGNED>;", operands->is_made ? "fx_gemm_made" : "fx_gemm_copied", base, b->l->struct_name, struct_name);
    line(b, "  };");
}

static const char *as_int(const struct maker *b, const struct axis_list *l, const char **names) {
    const char *s = emit_product(arena(b), names, l->axes, l->n);
    return l->n == 0 ? s : arena_printf(arena(b), l->n > 1 ? "(int)(%s)" : "(int)%s", s);
}

static void emit_sum_numbers(struct maker *b, const struct segment *e) {
    buf_puts(b->out, "    static FX_DEVICE constexpr int sum(int j) { return ");
    for (int j = 0; j + 1 < e->n_sums; j++) buf_printf(b->out, "j == %d ? %d : ", j, e->sums[j]);
    buf_printf(b->out, "%d; }  // where B number j is added\n", e->sums[e->n_sums - 1]);
}

/* Segment number i of the struct; has_a: its A is an operand, not what a driver makes. */
static void emit_segment(struct maker *b, int i, bool has_a) {
    const struct segment *e = b->segment;
    bool are_made = e->b[0].is_made;
    if (has_a) emit_operand(b, 'a', i, -1, &e->a, 1);
    if (!are_made) emit_operand(b, 'b', i, -1, e->b, e->n_sums);
    for (int j = 0; are_made && j < e->n_sums; j++) emit_operand(b, 'b', i, e->n_sums > 1 ? j : -1, &e->b[j], 1);
    line(b, "  struct segment%d {", i);
    line(b, "    static constexpr int SUMS = %d;", e->n_sums);
    if (has_a) line(b, "    typedef a%d a;", i);
    if (!are_made || e->n_sums == 1) line(b, "    template <int J> using b = b%d;", i);
    else {
        buf_puts(b->out, "    template <int J> using b = ");
        for (int j = 0; j + 1 < e->n_sums; j++) buf_printf(b->out, "typename fx_choose<J == %d, b%d_%d, ", j, i, j);
        buf_printf(b->out, "b%d_%d", i, e->n_sums - 1);
        for (int j = 0; j + 1 < e->n_sums; j++) buf_puts(b->out, ">::type");
        buf_puts(b->out, ";\n");
    }
    if (has_a) emit_sum_numbers(b, e);
    line(b, "    static FX_DEVICE int k(const %s &p) { return %s; }", b->l->struct_name, as_int(b, &e->k, b->axes));
    line(b, "    static FX_DEVICE int k_outer(const %s &p) { return %s; }", b->l->struct_name, as_int(b, &e->k_outer, b->axes));
    line(b, "  };");
}

static const char **members(struct arena *a, const char **names, int n) {
    const char **out = NEW_ARRAY(a, const char *, n + 1);
    for (int i = 0; i < n; i++) out[i] = names[i] ? arena_printf(a, "p.%s", names[i]) : NULL;
    return out;
}

static struct maker maker_of(struct buf *out, const struct unit *u, const struct chosen *c, const struct launch *l, const struct gemm_shape *shape) {
    struct arena *a = &u->cx->arena;
    struct maker b = {.out = out, .u = u, .c = c, .l = l, .g = c->graph, .shape = shape};
    b.params = members(a, l->param_names, c->graph->kernel->n_params);
    b.buffers = members(a, l->buffer_names, c->partition->n_buffers);
    b.axes = members(a, l->axis_names, c->graph->kernel->n_axes);
    b.strides = members(a, l->stride_names, fx_stride_index(c->graph->kernel->n_params, 0));
    return b;
}

void emit_gemm_segments(struct buf *out, const struct unit *u, const struct chosen *c, const struct launch *l, const struct gemm_shape *shape, int first, bool has_a) {
    struct maker b = maker_of(out, u, c, l, shape);
    for (int i = 0; i < shape->n_segments; i++) {
        b.segment = &shape->segments[i];
        emit_segment(&b, first + i, has_a);
    }
}

void emit_gemm_problem(struct buf *out, const struct unit *u, const struct chosen *c, const struct launch *l) {
    const struct gemm_shape *s = &l->kernel->gemm;
    struct maker b = maker_of(out, u, c, l, s);
    line(&b, "  static constexpr int SUMS = %d;", l->kernel->group->n_sums);
    line(&b, "  static constexpr int V = %d;  // columns the epilogue takes at a time", l->kernel->configs[0].vector);
    line(&b, "  FX_DEVICE int m() const { return %s; }", as_int(&b, &s->m, l->axis_names));
    line(&b, "  FX_DEVICE int n() const { return %s; }", as_int(&b, &s->n, l->axis_names));
    emit_gemm_segments(out, u, c, l, s, 0, true);
    line(&b, "  template <class ENGINE, bool ALIGNED> FX_DEVICE void accumulate(typename ENGINE::sum (&acc)[SUMS][ENGINE::ACCUMULATORS], const fx_tile &at) const {");
    for (int i = 0; i < s->n_segments; i++) {
        if (i) line(&b, "    fx_gemm_next_segment();");
        line(&b, "    fx_gemm_accumulate<ENGINE, ALIGNED, segment%d>(acc, *this, at);", i);
    }
    line(&b, "  }");
    line(&b, "  template <class ENGINE, bool ALIGNED> FX_DEVICE void finish(const fx_tile &at) const { %s<ENGINE, ALIGNED, SUMS>(*this, at); }",
         gemm_has_reduced(c->graph, l->kernel->group) ? "fx_gemm_reduce" : "fx_gemm_epilogue");
}
