/* The problem struct of one GPU kernel: where its operands lie, and its pointwise part as fetch and store.
 *
 * One assignment a node; an index into a tensor is written over the driver's indices (batch, m, n or row, col) and the
 * extents by name, so that a reader sees each stride spelled out. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "emit.h"

struct body {
    struct buf *out;
    const struct unit *u;
    const struct chosen *c;
    const struct launch *l;
    const struct graph *g;
    bool is_gemm;
    const char **text; /* by node: how an expression names it */
    struct axis_list along; /* the labels of n or col: what V adjacent elements run over */
    const char *along_var;
};

static const char *const ctypes[FX_N_DTYPES] = {
#define DTYPE(id, spelling, bits, class, ctype) [FX_##id] = ctype,
#include "dtypes.def"
#undef DTYPE
};
const char *emit_ctype(enum fx_dtype t) { return ctypes[t]; }

static struct arena *arena(struct body *b) { return &b->u->cx->arena; }
static void line(struct body *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void line(struct body *b, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    buf_vprintf(b->out, fmt, ap);
    va_end(ap);
    buf_putc(b->out, '\n');
}

static const char *tensor_name(const struct body *b, const struct tensor *t) {
    return t->param >= 0 ? b->l->param_names[t->param] : b->l->buffer_names[t->buffer];
}

/* ---- index expressions ---- */

/* The extents of axes multiplied, "1" for none. */
static const char *product(struct body *b, const int *axes, int n) {
    struct buf s;
    buf_init(&s, arena(b));
    for (int i = 0; i < n; i++) buf_printf(&s, "%s%s", i ? " * " : "", b->l->axis_names[axes[i]]);
    return n ? s.s : "1";
}

/* Elements between neighbours along position i of t. */
static const char *stride(struct body *b, const struct tensor *t, int i) { return product(b, t->axes + i + 1, t->n_axes - i - 1); }

static void add_term(struct buf *s, const char *index, const char *step) {
    if (s->len) buf_puts(s, " + ");
    if (strcmp(step, "1") == 0) buf_puts(s, index);
    else if (strchr(step, ' ')) buf_printf(s, "%s * (%s)", index, step);
    else buf_printf(s, "%s * %s", index, step);
}

/* Adds what the flattened index `var` over the labels of l contributes to an offset into t. */
static void add_index(struct body *b, struct buf *s, const struct tensor *t, const struct axis_list *l, const char *var) {
    int at = find_run(t, l);
    if (at == -2) return;
    if (at >= 0) {
        add_term(s, var, stride(b, t, at + l->n - 1));
        return;
    }
    for (int i = 0; i < l->n; i++) {
        int pos = tensor_axis(t, l->axes[i]);
        if (pos < 0) continue;
        const char *index = var;
        if (i < l->n - 1) index = arena_printf(arena(b), l->n - i > 2 ? "%s / (%s)" : "%s / %s", index, product(b, l->axes + i + 1, l->n - 1 - i));
        if (i > 0) index = arena_printf(arena(b), "%s %% %s", index, b->l->axis_names[l->axes[i]]);
        add_term(s, index == var ? var : arena_printf(arena(b), "(%s)", index), stride(b, t, pos));
    }
}

/* `x_ + batch * (..) + m * (..)`: t's element at the indices other than the one V elements run along. */
static const char *address(struct body *b, const struct tensor *t, const char *along) {
    struct buf s;
    buf_init(&s, arena(b));
    if (b->is_gemm) {
        add_index(b, &s, t, &b->l->kernel->gemm.batch, "batch");
        add_index(b, &s, t, &b->l->kernel->gemm.m, "m");
    } else {
        add_index(b, &s, t, &b->l->kernel->pointwise.rows, "row");
    }
    if (along) add_index(b, &s, t, &b->along, along);
    return s.len ? arena_printf(arena(b), "%s + %s", tensor_name(b, t), s.s) : tensor_name(b, t);
}

/* How t lies along the V adjacent elements. */
enum along { ALONG_NONE, ALONG_CONTIGUOUS, ALONG_STRIDED, ALONG_SCATTERED };
static enum along along_of(const struct body *b, const struct tensor *t) {
    int at = find_run(t, &b->along);
    return at == -2 ? ALONG_NONE : at == -1 ? ALONG_SCATTERED : at + b->along.n == t->n_axes ? ALONG_CONTIGUOUS : ALONG_STRIDED;
}

/* ---- fetch ---- */

static const char *place_args(const struct body *b) { return b->is_gemm ? "int batch, int m, int n" : "index row, index col"; }

static void emit_frag(struct body *b) {
    if (!b->l->n_loads) {
        line(b, "  template <int V> struct frag {};  // nothing is read besides the operands");
        return;
    }
    line(b, "  template <int V> struct frag {  // what V adjacent columns of a row read from memory");
    for (int i = 0; i < b->l->n_loads; i++) {
        const struct tensor *t = &b->l->loads[i];
        line(b, "    float %s%s;", tensor_name(b, t), along_of(b, t) == ALONG_NONE ? "" : "[V]");
    }
    line(b, "  };");
}

static void emit_fetch(struct body *b) {
    line(b, "  template <int V, bool ALIGNED> FX_DEVICE void fetch(frag<V> &f, %s, int n_valid) const {", place_args(b));
    for (int i = 0; i < b->l->n_loads; i++) {
        const struct tensor *t = &b->l->loads[i];
        const char *name = tensor_name(b, t);
        switch (along_of(b, t)) {
        case ALONG_NONE: line(b, "    f.%s = fx_load_one(%s);", name, address(b, t, NULL)); break;
        case ALONG_CONTIGUOUS: line(b, "    fx_load<V, ALIGNED>(f.%s, %s, n_valid);", name, address(b, t, b->along_var)); break;
        case ALONG_STRIDED:
            line(b, "    fx_load_strided<V>(f.%s, %s, %s, n_valid);", name, address(b, t, b->along_var),
                 stride(b, t, tensor_axis(t, b->along.axes[b->along.n - 1])));
            break;
        case ALONG_SCATTERED:
            line(b, "#pragma unroll");
            line(b, "    for (int v = 0; v < V; ++v) f.%s[v] = v < n_valid ? fx_load_one(%s) : 0.0f;", name,
                 address(b, t, arena_printf(arena(b), "(%s + v)", b->along_var)));
            break;
        }
    }
    line(b, "  }");
}

/* ---- the pointwise part ---- */

static const char *literal(struct body *b, const struct node *n) {
    float f = (float)n->num;
    if (n->dtype == FX_BOOL) return n->num != 0 ? "true" : "false";
    if (isnan(f)) return "fx_from_bits(0x7fffffffu)";
    if (isinf(f)) return f > 0 ? "fx_from_bits(0x7f800000u)" : "fx_from_bits(0xff800000u)";
    char *s = arena_printf(arena(b), "%.9g", f);
    for (int digits = 1; digits < 9; digits++) { /* the shortest that reads back the same */
        char *shorter = arena_printf(arena(b), "%.*g", digits, f);
        if ((float)text_to_double(shorter, NULL) == f) {
            s = shorter;
            break;
        }
    }
    const char *point = strpbrk(s, ".e") ? "" : ".0";
    return signbit(f) ? arena_printf(arena(b), "(%s%sf)", s, point) : arena_printf(arena(b), "%s%sf", s, point);
}

/* A comment says where the value came from: the spec's line and expression. */
static const char *comment(struct body *b, const struct node *n) {
    struct buf s;
    buf_init(&s, arena(b));
    if (!n->source) return "";
    ast_print_expr_short(&s, n->source, 60);
    return arena_printf(arena(b), "  // line %d: %s", span_line(b->u->cx, n->span), s.s);
}

static const char *operation(struct body *b, const struct node *n) {
    if (n->kind == N_CAST && n->args[0]->dtype == FX_BOOL) return arena_printf(arena(b), "%s ? 1.0f : 0.0f", b->text[n->args[0]->id]);
    if (n->kind == N_CAST)
        return arena_printf(arena(b), "fx_to_float(fx_from_float<%s>(%s))", emit_ctype(n->to), b->text[n->args[0]->id]);
    struct buf s;
    buf_init(&s, arena(b));
    for (const char *c = op_info[n->op].cuda; *c; c++)
        if (*c == '$') buf_puts(&s, b->text[n->args[*++c - 'a']->id]);
        else buf_putc(&s, *c);
    return s.s;
}

/* The operands of n before n, each once: depth is the spec's, so the walk keeps its own stack. */
static void emit_node(struct body *b, struct node *root) {
    struct node **stack = NEW_ARRAY(arena(b), struct node *, b->g->n_nodes * 3 + 4);
    int n_stack = 0;
    stack[n_stack++] = root;
    while (n_stack) {
        struct node *n = stack[n_stack - 1];
        struct tensor t;
        bool waits = false;
        if (b->text[n->id]) {
            n_stack--;
            continue;
        }
        if (n == b->l->kernel->group->contraction) b->text[n->id] = "acc[v]";
        else if (node_is_loaded(b->g, b->c->partition, b->l->kernel->group, n, &t))
            b->text[n->id] = arena_printf(arena(b), "f.%s%s", tensor_name(b, &t), along_of(b, &t) == ALONG_NONE ? "" : "[v]");
        else if (n->kind == N_CONST) b->text[n->id] = literal(b, n);
        else if (n->kind == N_SCALAR) b->text[n->id] = b->l->param_names[n->param];
        if (b->text[n->id]) continue;
        for (int i = n->n_args - 1; i >= 0; i--)
            if (!b->text[n->args[i]->id]) stack[n_stack++] = n->args[i], waits = true;
        if (waits) continue;
        const char *name = n->name.len ? arena_printf(arena(b), NAME_FMT "_v%d", NAME_ARG(n->name), n->id) : arena_printf(arena(b), "t%d", n->id);
        line(b, "      const %s %s = %s;%s", n->dtype == FX_BOOL ? "bool" : "float", name, operation(b, n), comment(b, n));
        b->text[n->id] = name;
    }
}

static void emit_store_one(struct body *b, const struct tensor *t, const char *value) {
    switch (along_of(b, t)) {
    case ALONG_NONE: line(b, "    fx_store_one(%s, %s[0]);", address(b, t, NULL), value); break;
    case ALONG_CONTIGUOUS: line(b, "    fx_store<V, ALIGNED>(%s, %s, n_valid);", address(b, t, b->along_var), value); break;
    case ALONG_STRIDED:
        line(b, "    fx_store_strided<V>(%s, %s, %s, n_valid);", address(b, t, b->along_var),
             stride(b, t, tensor_axis(t, b->along.axes[b->along.n - 1])), value);
        break;
    case ALONG_SCATTERED:
        line(b, "#pragma unroll");
        line(b, "    for (int v = 0; v < V; ++v)");
        line(b, "      if (v < n_valid) fx_store_one(%s, %s[v]);", address(b, t, arena_printf(arena(b), "(%s + v)", b->along_var)), value);
        break;
    }
}

static void emit_store(struct body *b) {
    const struct group *r = b->l->kernel->group;
    line(b, "  template <int V, bool ALIGNED> FX_DEVICE void store(%sconst frag<V> &f, %s, int n_valid) const {",
         b->is_gemm ? "const float (&acc)[V], " : "", place_args(b));
    const char **results = NEW_ARRAY(arena(b), const char *, r->n_stores);
    for (int s = 0; s < r->n_stores; s++) {
        struct tensor t = tensor_of_store(b->g, b->c->partition, &r->stores[s]);
        results[s] = arena_printf(arena(b), "%sout", tensor_name(b, &t));
        line(b, "    float %s[V];", results[s]);
    }
    line(b, "#pragma unroll");
    line(b, "    for (int v = 0; v < V; ++v) {");
    for (int s = 0; s < r->n_stores; s++) {
        emit_node(b, r->stores[s].value);
        line(b, "      %s[v] = %s;", results[s], b->text[r->stores[s].value->id]);
    }
    line(b, "    }");
    for (int s = 0; s < r->n_stores; s++) {
        struct tensor t = tensor_of_store(b->g, b->c->partition, &r->stores[s]);
        emit_store_one(b, &t, results[s]);
    }
    line(b, "  }");
}

/* Where chunks of an unaligned row begin: at the vector boundaries of the first output. */
static void emit_skew(struct body *b) {
    struct tensor t = tensor_of_store(b->g, b->c->partition, &b->l->kernel->group->stores[0]);
    if (along_of(b, &t) == ALONG_CONTIGUOUS) line(b, "  template <int V> FX_DEVICE int skew(index row) const { return fx_skew<V>(%s); }", address(b, &t, NULL));
    else line(b, "  template <int V> FX_DEVICE int skew(index) const { return 0; }");
}

/* ---- the operands of a contraction ---- */

static const char *layout_name(enum layout l) {
    return l == LAYOUT_K_MAJOR ? "FX_K_MAJOR" : l == LAYOUT_MN_MAJOR ? "FX_MN_MAJOR" : "FX_STRIDED";
}

static const char *axis_stride(struct body *b, const struct tensor *t, const struct axis_list *l) {
    return l->n ? stride(b, t, tensor_axis(t, l->axes[l->n - 1])) : "0";
}

static void emit_operand(struct body *b, char which, const struct tensor *t, const struct axis_list *mn, char mn_name) {
    const struct gemm_shape *s = &b->l->kernel->gemm;
    struct buf at;
    buf_init(&at, arena(b));
    add_index(b, &at, t, &s->batch, "batch");
    add_index(b, &at, t, &s->k_outer, "ko");
    line(b, "  FX_DEVICE const %s *%c(int batch, int ko) const { return %s%s%s; }", emit_ctype(t->dtype), which, tensor_name(b, t),
         at.len ? " + " : "", at.len ? at.s : "");
    line(b, "  FX_DEVICE long long %c_stride_%c() const { return %s; }", which, mn_name, axis_stride(b, t, mn));
    line(b, "  FX_DEVICE long long %c_stride_k() const { return %s; }", which, axis_stride(b, t, &s->k));
}

static const char *as_int(struct body *b, const struct axis_list *l) {
    const char *s = product(b, l->axes, l->n);
    return l->n == 0 ? s : arena_printf(arena(b), l->n > 1 ? "(int)(%s)" : "(int)%s", s);
}

static void emit_gemm_shape(struct body *b) {
    const struct gemm_shape *s = &b->l->kernel->gemm;
    line(b, "  static constexpr int A_LAYOUT = %s, B_LAYOUT = %s;", layout_name(s->a_layout), layout_name(s->b_layout));
    line(b, "  static constexpr int V = %d;  // columns the epilogue takes at a time", b->l->kernel->configs[0].vector);
    line(b, "  FX_DEVICE int m() const { return %s; }", as_int(b, &s->m));
    line(b, "  FX_DEVICE int n() const { return %s; }", as_int(b, &s->n));
    line(b, "  FX_DEVICE int k() const { return %s; }", as_int(b, &s->k));
    line(b, "  FX_DEVICE int k_outer() const { return %s; }", as_int(b, &s->k_outer));
    emit_operand(b, 'a', &s->a, &s->m, 'm');
    emit_operand(b, 'b', &s->b, &s->n, 'n');
}

/* ---- the struct ---- */

void emit_declaration(struct buf *out, const struct chosen *c, const struct launch *l, const struct fx_arg *a) {
    const struct kernel *k = c->graph->kernel;
    switch (a->kind) {
    case FX_ARG_PARAM:
        if (k->params[a->index].is_scalar) buf_printf(out, "%s %s", emit_ctype(k->params[a->index].dtype), l->param_names[a->index]);
        else buf_printf(out, "%s%s *%s", k->params[a->index].is_output ? "" : "const ", emit_ctype(k->params[a->index].dtype), l->param_names[a->index]);
        return;
    case FX_ARG_BUFFER: {
        bool is_written = false;
        for (int s = 0; s < l->kernel->group->n_stores; s++) is_written |= l->kernel->group->stores[s].buffer == a->index;
        buf_printf(out, "%s%s *%s", is_written ? "" : "const ", emit_ctype(c->partition->buffers[a->index].dtype), l->buffer_names[a->index]);
        return;
    }
    case FX_ARG_EXTENT: buf_printf(out, "long long %s", l->axis_names[a->index]); return;
    }
}

static void emit_fields(struct body *b) {
    const struct kernel *k = b->g->kernel;
    for (int i = 0; i < b->l->n_args; i++) {
        const struct fx_arg *a = &b->l->args[i];
        buf_puts(b->out, "  ");
        if (a->kind == FX_ARG_EXTENT && !b->is_gemm) buf_printf(b->out, "index %s", b->l->axis_names[a->index]);
        else emit_declaration(b->out, b->c, b->l, a);
        buf_puts(b->out, ";");
        const int *axes = NULL;
        int n_axes = 0;
        if (a->kind == FX_ARG_PARAM && !k->params[a->index].is_scalar) axes = k->params[a->index].axes, n_axes = k->params[a->index].n_axes;
        if (a->kind == FX_ARG_BUFFER) axes = b->c->partition->buffers[a->index].axes, n_axes = b->c->partition->buffers[a->index].n_axes;
        if (axes) {
            buf_puts(b->out, "  // [");
            for (int j = 0; j < n_axes; j++) buf_printf(b->out, "%s%s", j ? ", " : "", b->l->axis_names[axes[j]]);
            buf_puts(b->out, "]");
        }
        buf_putc(b->out, '\n');
    }
    for (int i = 0; i < k->n_axes; i++)
        if (k->axes[i].extent >= 0 && b->l->axis_used[i]) line(b, "  static constexpr %s %s = %s%lld;", b->is_gemm ? "long long" : "index", b->l->axis_names[i], b->is_gemm ? "" : "(index)",
                 (long long)k->axes[i].extent);
}

void emit_problem(struct buf *out, const struct unit *u, const struct chosen *c, const struct launch *l) {
    struct body b = {.out = out, .u = u, .c = c, .l = l, .g = c->graph, .is_gemm = l->kernel->group->contraction != NULL};
    b.text = NEW_ARRAY(&u->cx->arena, const char *, c->graph->n_nodes + 1);
    b.along = b.is_gemm ? l->kernel->gemm.n : l->kernel->pointwise.cols;
    b.along_var = b.is_gemm ? "n" : "col";
    if (!b.is_gemm) line(&b, "template <class INDEX>");
    line(&b, "struct %s {", l->struct_name);
    if (!b.is_gemm) line(&b, "  typedef INDEX index;");
    emit_fields(&b);
    if (b.is_gemm) {
        emit_gemm_shape(&b);
    } else {
        line(&b, "  FX_DEVICE index rows() const { return (index)(%s); }", product(&b, l->kernel->pointwise.rows.axes, l->kernel->pointwise.rows.n));
        line(&b, "  FX_DEVICE index cols() const { return (index)(%s); }", product(&b, l->kernel->pointwise.cols.axes, l->kernel->pointwise.cols.n));
        emit_skew(&b);
    }
    emit_frag(&b);
    emit_fetch(&b);
    emit_store(&b);
    line(&b, "};");
}
