/* The members of the problem struct of a chain that the chain driver requires (kernels/driver_chain.cuh), except the
 * epilogue of the second contraction.
 *
 * In: a scheduled chain. Out: shapes, with the operands that emit_gemm.c writes; the values of a row: results of
 * reductions, and values computed from them; for each pass over the intermediate its sums, and the functions that
 * emit_chain_pass.c writes. */
#include <math.h>

#include "emit/emit_address.h"
#include "emit/emit_chain.h"

static const char *name_of(const struct chain_problem *b, const struct tensor *t) { return address_tensor(b->l, t); }
/* A result of a row. */
static const char *result(struct chain_problem *b, const struct node *n) {
    return arena_printf(arena(b), n->dtype == FX_BOOL ? "(r.%s != 0)" : "r.%s", member(b, n));
}

/* ---- indices ---- */

void chain_bind(struct chain_problem *b, struct scope *p, const struct axis_list *l, const char *var) {
    const struct flat_index f = {.labels = l, .var = var};
    for (int i = 0; i < l->n; i++) p->at[l->axes[i]] = address_factor(arena(b), b->l->axis_names, &f, i, i);
}

/* ---- available values ---- */

static const char *available(struct values *w, const struct scope *p, const struct node *n) {
    struct chain_problem *b = w->user;
    struct tensor t;
    if (n->kind == N_SCALAR)
        return value_of_element(w, w->g->kernel->params[n->param].dtype, b->l->param_names[n->param]);
    if (!node_is_loaded(w->g, b->c->partition, b->r, n, &t) || t.param >= 0) return NULL;
    return value_element(w, p, name_of(b, &t), &t);
}

struct scope *chain_at_row(struct chain_problem *b, int pass) {
    struct scope *p = scope_open(&b->w, NULL);
    chain_bind(b, p, &b->x->second.batch, "batch");
    chain_bind(b, p, &b->x->second.m, "m");
    for (int i = 0; i < b->r->n_steps; i++) {
        const struct node *n = b->r->steps[i];
        if (b->x->level[n->id] <= pass) p->text[n->id] = result(b, n);
    }
    for (int i = 0; i < b->x->n_values; i++) {
        const struct node *n = b->x->values[i];
        if (b->x->level[n->id] <= pass) p->text[n->id] = member_of(b, "q", n);
    }
    return p;
}

/* ---- types ---- */

static void emit_known(struct chain_problem *b) {
    buf_line(b->w.out, "  static constexpr int RESULT_WORDS = %d;", b->x->result_words);
    buf_line(b->w.out, b->r->n_steps ? "  struct results {  // of the reductions of a row"
                                     : "  typedef fx_nothing results;  // of the reductions of a row");
    for (int i = 0; i < b->r->n_steps; i++)
        buf_line(b->w.out, "    %s %s;%s", value_sum_ctype(b->r->steps[i]->dtype), member(b, b->r->steps[i]),
            value_comment(b->w.g, b->r->steps[i]));
    if (b->x->outer_exp >= 0)
        buf_line(b->w.out,
            "    float last;  // by which sums are scaled at the end: 1, unless the row's shift is not finite");
    for (int k = 0; k < b->x->n_exps; k++)
        if (chain_is_left_inexact(b->x, k))
            buf_line(b->w.out, "    float exact%d;  // what sums of exponentials lack outside of the chain", k);
    if (b->r->n_steps) buf_line(b->w.out, "  };");
    bool has_values = b->x->n_values || b->x->n_limits;
    buf_line(b->w.out, has_values ? "  struct values {  // of a row, read by its elements"
                                  : "  typedef fx_nothing values;  // of a row, read by its elements");
    for (int i = 0; i < b->x->n_values; i++)
        buf_line(b->w.out, "    %s %s;%s", value_ctype(b->x->values[i]->dtype), member(b, b->x->values[i]),
            value_comment(b->w.g, b->x->values[i]));
    if (b->x->n_limits)
        buf_line(b->w.out, "    int %s, %s;  // the first element that counts, and up to which one they do", b->start,
            b->end);
    if (has_values) buf_line(b->w.out, "  };");
    buf_line(b->w.out, b->x->n_laid ? "  struct along {  // the same for all rows, read by elements"
                                     : "  typedef fx_nothing along;  // the same for all rows, read by elements");
    for (int i = 0; i < b->x->n_laid; i++)
        buf_line(b->w.out, "    %s %s;%s", value_sum_ctype(b->x->laid_along[i]->dtype), member(b, b->x->laid_along[i]),
            value_comment(b->w.g, b->x->laid_along[i]));
    if (b->x->n_laid) buf_line(b->w.out, "  };");
    buf_line(b->w.out, "  static_assert(sizeof(results) <= RESULT_WORDS * 4, \"\");");
}

static void emit_sums_type(struct chain_problem *b, int pass) {
    const struct chain_pass *over = pass_of(b, pass);
    if (!has_sums(b, pass)) {
        buf_line(b->w.out, "  typedef fx_nothing sums%d;  // what pass %d over a row adds up", pass, pass);
        return;
    }
    buf_line(b->w.out, "  struct sums%d {  // what pass %d over a row adds up", pass, pass);
    for (int s = 0; s < b->r->n_steps; s++)
        if (chain_ends_in(b->x, b->r->steps[s], pass))
            buf_line(b->w.out, "    %s %s;%s", value_sum_ctype(b->r->steps[s]->args[0]->dtype),
                member(b, b->r->steps[s]), value_comment(b->w.g, b->r->steps[s]));
    for (int k = 0; k < b->x->n_exps; k++)
        if (chain_is_online(b->x, k, pass))
            buf_line(b->w.out, "    float %s;  // of the exponentials of %s, so far", b->shift[k],
                member(b, b->x->exps[k].maximum));
    buf_line(b->w.out, "  };");
    if (!over->n_maxima) return;
    buf_line(b->w.out, "  struct maxima%d {  // of a block of the intermediate: maxima that shift exponentials", pass);
    for (int i = 0; i < over->n_maxima; i++) buf_line(b->w.out, "    float %s;", member(b, over->maxima[i]));
    buf_line(b->w.out, "  };");
}

static void emit_identities(struct chain_problem *b, int pass) {
    const struct chain_pass *over = pass_of(b, pass);
    if (!has_sums(b, pass)) {
        buf_line(b->w.out, "  FX_DEVICE sums%d identity(fx_chain_pass<%d>) const { return {}; }", pass, pass);
        return;
    }
    value_open_function(&b->w, "  FX_DEVICE sums%d identity(fx_chain_pass<%d>) const", pass, pass);
    buf_line(b->w.out, "    sums%d a;", pass);
    for (int s = 0; s < b->r->n_steps; s++)
        if (chain_ends_in(b->x, b->r->steps[s], pass))
            value_line(&b->w, "a.%s = %s;", member(b, b->r->steps[s]), start_of(b, b->r->steps[s]));
    for (int k = 0; k < b->x->n_exps; k++)
        if (chain_is_online(b->x, k, pass)) value_line(&b->w, "a.%s = 0.0f;", b->shift[k]);
    buf_line(b->w.out, "    return a;");
    value_close_function(&b->w);
    if (!over->n_maxima) return;
    value_open_function(&b->w, "  FX_DEVICE maxima%d maxima(fx_chain_pass<%d>) const", pass, pass);
    buf_line(b->w.out, "    maxima%d b;", pass);
    for (int i = 0; i < over->n_maxima; i++)
        value_line(&b->w, "b.%s = %s;", member(b, over->maxima[i]), start_of(b, over->maxima[i]));
    buf_line(b->w.out, "    return b;");
    value_close_function(&b->w);
}

/* Values of a row that are made, ahead of a pass, of what those before it left. */
static void emit_prepare(struct chain_problem *b, int pass) {
    const struct chain_pass *over = pass_of(b, pass);
    bool has_limits = pass == 0 && b->x->n_limits;
    if (!over->n_values && !has_limits) return;
    value_open_function(&b->w,
        "  FX_DEVICE void prepare(fx_chain_pass<%d>, values &q, const results &r, int batch, int m) const", pass);
    struct scope *p = chain_at_row(b, pass);
    for (int i = 0; i < over->n_values; i++) p->text[over->values[i]->id] = NULL; /* not made yet */
    for (int i = 0; i < over->n_values; i++) value_put(&b->w, p, over->values[i], member_of(b, "q", over->values[i]));
    if (has_limits)
        value_line(&b->w, "q.%s = start(q, r, batch, m), q.%s = end(q, r, batch, m);", b->start, b->end);
    value_close_function(&b->w);
}

/* What is the same for all rows, of one element of the intermediate. */
static void emit_prepare_along(struct chain_problem *b) {
    if (!b->x->n_along) return;
    value_open_function(&b->w, "  FX_DEVICE void prepare_along(along &u, int batch, int t) const");
    struct scope *p = scope_open(&b->w, NULL);
    chain_bind(b, p, &b->x->second.batch, "batch");
    chain_bind(b, p, &b->x->first.n, "t");
    for (int i = 0; i < b->x->n_along; i++) value_put(&b->w, p, b->x->along[i], member_of(b, "u", b->x->along[i]));
    value_close_function(&b->w);
}

static void emit_extent(struct chain_problem *b, const char *name, const struct axis_list *l) {
    buf_line(b->w.out,
        l->n > 1 ? "  FX_DEVICE int %s() const { return (int)(%s); }"
        : l->n   ? "  FX_DEVICE int %s() const { return (int)%s; }"
                 : "  FX_DEVICE int %s() const { return %s; }",
        name, address_product(arena(b), b->l->axis_names, l->axes, l->n));
}

/* The first element of a row that counts, or up to which one they do, by what `running` is at the first and at the
 * last: it rises or falls by 1 from one to the next. */
static void emit_limits(struct chain_problem *b, bool is_end) {
    static const char *const forms[2][2][2] = {
        {{"%s >= %s ? 0 : %s < %s ? t() : (int)(%s - %s)", "%s > %s ? 0 : %s <= %s ? t() : (int)(%s - %s) + 1"},
            {"%s <= %s ? 0 : %s > %s ? t() : (int)(%s - %s)", "%s < %s ? 0 : %s >= %s ? t() : (int)(%s - %s) + 1"}},
        {{"%s <= %s ? t() : %s > %s ? 0 : (int)(%s - %s) + 1", "%s < %s ? t() : %s >= %s ? 0 : (int)(%s - %s)"},
            {"%s >= %s ? t() : %s < %s ? 0 : (int)(%s - %s) + 1", "%s > %s ? t() : %s <= %s ? 0 : (int)(%s - %s)"}},
    };
    value_open_function(&b->w, "  FX_DEVICE int %s(const values &q, const results &r, int batch, int m) const",
        is_end ? "end" : "start");
    struct scope *p = chain_at_row(b, 0), *first = scope_open(&b->w, p), *last = scope_open(&b->w, p);
    first->at[b->x->parts.t[0]] = "0";
    last->at[b->x->parts.t[0]] = "(t() - 1)";
    value_line(&b->w, "int limit = %s;", is_end ? "t()" : "0");
    for (int i = 0; i < b->x->n_limits; i++) {
        const struct limit *e = &b->x->limits[i];
        if (e->is_end != is_end) continue;
        const char *bound = value_at(&b->w, p, e->bound), *from = value_at(&b->w, first, e->running),
                   *to = value_at(&b->w, last, e->running), *form = forms[is_end][e->is_falling][e->is_strict],
                   *near = is_end ? to : from, *far = is_end ? from : to;
        const char *at = arena_printf(arena(b), form, near, bound, far, bound, e->is_falling ? from : bound,
            e->is_falling ? bound : from);
        value_line(&b->w, "limit = %s(limit, %s);", is_end ? "min" : "max", at);
    }
    buf_line(b->w.out, "    return limit;");
    value_close_function(&b->w);
}

/* ---- what stands behind the passes ---- */

void emit_chain_results(struct values *w, struct scope *p, const struct launch *l, const char *results) {
    const struct group *r = l->kernel->group;
    const struct chain *x = l->kernel->chain;
    struct arena *a = value_arena(w);
    for (int i = 0; i < r->n_steps; i++) {
        const struct node *n = r->steps[i];
        const int k = x->exp_of[n->id];
        p->text[n->id] = arena_printf(
            a, n->dtype == FX_BOOL ? "(%s.%s != 0)" : "%s.%s", results, emit_member(w->names, n));
        if (k >= 0 && chain_is_left_inexact(x, k))
            p->text[n->id] = arena_printf(a, "(%s * %s.exact%d)", p->text[n->id], results, k);
    }
}

/* Whether 1 / n is finite wherever n, made of a sum of exponentials of which one is 1, is not 0. */
static bool has_reciprocal(const struct node *n) {
    if (n->kind == N_CONST) return n->num == 0 || fabs(n->num) >= 0x1p-100;
    for (int i = 0; i < n->n_args && n->kind == N_OP; i++)
        if (!has_reciprocal(n->args[i])) return false;
    return true;
}

void emit_chain_sum(struct values *w, struct scope *p, const struct launch *l, const char *results, const char *acc) {
    const struct chain *x = l->kernel->chain;
    const struct node *n = l->kernel->group->contraction;
    struct arena *a = value_arena(w);
    int id = n->id;
    const char *place = p->place ? p->place[id] : NULL;
    const char *sum = x->outer_exp >= 0 ? arena_printf(a, "%s * %s.last", acc, results) : acc;
    for (int i = x->n_deferred - 1; i >= 0; i--) { /* the innermost first; where all terms are 0 the sum is 0, or NaN */
        const char *by = value_at(w, p, x->deferred[i].by);
        if (x->deferred[i].is_choice) sum = arena_printf(a, "(%s ? %s * 0.0f : %s)", by, acc, sum);
        else sum = arena_printf(a, x->deferred[i].is_large && has_reciprocal(x->deferred[i].by)
                                    ? "%s * (1.0f / %s)" : "%s / %s", sum, by);
    }
    p->text[id] = acc;
    if (x->outer_factor) sum = arena_printf(a, "%s * %s", sum, value_at(w, p, x->outer_factor));
    if (x->outer_exp < 0 && !x->outer_factor) return;
    p->text[id] = place ? place : emit_local(w->names, n);
    value_line(
        w, "%s%s = %s%s;", place ? "" : "const float ", p->text[id], x->n_deferred ? "t() == 0 ? 0.0f : " : "", sum);
}

static void emit_row_stores(struct chain_problem *b) {
    value_open_function(&b->w, "  FX_DEVICE void store_row(const results &r, int batch, int m) const");
    struct scope *p = scope_open(&b->w, NULL);
    chain_bind(b, p, &b->x->second.batch, "batch");
    chain_bind(b, p, &b->x->second.m, "m");
    emit_chain_results(&b->w, p, b->l, "r");
    const struct flat_index f[] = {
        {.labels = &b->x->second.batch, .var = "batch"},
        {.labels = &b->x->second.m, .var = "m"},
    };
    for (int i = 0; i < b->r->n_stores; i++) {
        const struct store *s = &b->r->stores[i];
        struct tensor t = tensor_of_store(b->w.g, b->c->partition, s);
        if (!chain_stores_row(b->w.g, b->c->partition, b->x, s)) continue;
        struct buf at;
        buf_init(&at, arena(b));
        buf_puts(&at, name_of(b, &t));
        for (int k = 0; k < 2; k++) address_add_runs(&b->w, &at, &t, &f[k], 1);
        const char *value = element_of_value(&b->w, t.dtype, s->value->dtype, value_at(&b->w, p, s->value));
        value_line(&b->w, emit_is_converted(t.dtype) ? "fx_store_one(%s, %s);" : "*(%s) = %s;", at.s, value);
    }
    value_close_function(&b->w);
}

/* ---- shapes ---- */

/* The most that a first contraction sums over, where that is known; 0: it is not, or of no engine that asks. */
static long long known_k(const struct chain_problem *b) {
    long long most = 0;
    for (int i = 0; i < b->x->first.n_segments; i++) {
        const struct axis_list *k = &b->x->first.segments[i].k;
        long long size = 1;
        for (int j = 0; j < k->n; j++) {
            int64_t extent = b->w.g->kernel->axes[k->axes[j]].extent;
            if (extent < 0 || extent > 1024) return 0;
            size *= extent;
        }
        if (size > most) most = size;
    }
    return most <= 1024 ? most : 0;
}

static void emit_shapes(struct chain_problem *b) {
    const struct chain *x = b->x;
    int n = x->first.n_segments;
    buf_line(b->w.out,
        "  static constexpr int INNER_SUMS = %d, BESIDE = %d, SUMS = 1;  // first contractions, and of those "
        "how many share an A; sums of the result",
        x->parts.n_inner, x->first.most_sums);
    buf_line(b->w.out,
        "  static constexpr int KNOWN_K = %lld;  // summed over by the first contractions; 0: known at launch",
        known_k(b));
    buf_line(b->w.out, "  static constexpr int V = %d;  // columns the epilogue takes at a time",
        b->l->kernel->configs[0].vector);
    emit_extent(b, "m", &x->second.m);
    emit_extent(b, "n", &x->second.n);
    emit_extent(b, "t", &x->first.n);
    emit_gemm_segments(b->w.out, b->u, b->c, b->l, &x->first, 0, true);
    emit_gemm_segments(b->w.out, b->u, b->c, b->l, &x->second, n, false);
    buf_line(b->w.out, "  typedef segment0 first_segment;");
    if (x->parts.n_inner == 2) buf_line(b->w.out, "  typedef segment%d next_segment;", n - 1);
    buf_line(b->w.out, "  typedef segment%d second_segment;", n);
    buf_line(b->w.out,
        "  template <class ENGINE, bool ALIGNED, class FIRST> FX_DEVICE void accumulate("
        "typename ENGINE::sum (&acc)[INNER_SUMS][ENGINE::ACCUMULATORS], const FIRST &first, "
        "const fx_tile &at) const {");
    for (int i = 0; i < n; i++) {
        if (i) buf_line(b->w.out, "    fx_gemm_next_segment();");
        buf_line(b->w.out, "    fx_gemm_accumulate<ENGINE, ALIGNED, segment%d>(acc, first, at);", i);
    }
    buf_line(b->w.out, "  }");
}

static void emit_flags(struct chain_problem *b) {
    struct buf finds, keep, prepared, waits;
    buf_init(&finds, arena(b));
    buf_init(&waits, arena(b));
    buf_init(&keep, arena(b));
    buf_init(&prepared, arena(b));
    for (int w = 0; w < b->x->n_passes; w++) {
        const struct chain_pass *over = pass_of(b, w);
        buf_printf(&waits, "%s%s", w ? ", " : "", chain_factored(b, w) ? "true" : "false");
        buf_printf(&finds, "%s%s", w ? ", " : "", over->n_maxima ? "true" : "false");
        buf_printf(&prepared, "%s%s", w ? ", " : "", over->n_values || (w == 0 && b->x->n_limits) ? "true" : "false");
        buf_printf(&keep, "%s%s", w ? ", " : "", over->keeps ? "true" : "false");
    }
    buf_line(b->w.out, "  static constexpr int PASSES = %d;  // over the intermediate; the last adds the result up",
        b->x->n_passes);
    buf_line(b->w.out,
        "  static constexpr bool FINDS_MAXIMA[PASSES] = {%s}, KEEPS[PASSES] = {%s};  // whether a pass finds maxima "
        "first, and leaves what they were found in",
        finds.s, keep.s);
    buf_line(b->w.out,
        "  static constexpr bool FACTORED[PASSES] = {%s};  // whether its elements want a factor, which maxima and "
        "exponents take in their place",
        waits.s);
    buf_line(b->w.out,
        "  static constexpr bool PREPARES[PASSES] = {%s};  // whether values of a row are made ahead of a pass",
        prepared.s);
    buf_line(b->w.out, "  static constexpr bool SCALED = %s, STORES_ROWS = %s, LIMITS = %s, LOADS = %s;",
        b->x->outer_exp >= 0 ? "true" : "false", b->x->stores_rows ? "true" : "false",
        b->x->n_limits ? "true" : "false", b->x->loads_elements ? "true" : "false");
    buf_line(b->w.out,
        "  static constexpr unsigned LOOKS = %u;  // first contractions whose columns beyond limits have to be finite, too",
        b->x->n_limits ? b->x->finite : 0);
}

void emit_chain_problem(struct buf *out, const struct unit *u, const struct scheduled_graph *c, const struct launch *l,
    struct value_names *names) {
    struct chain_problem b = {.u = u, .c = c, .l = l, .r = l->kernel->group, .x = l->kernel->chain};
    b.w = values_open(out, c, l, names, available, &b);
    b.w.index = "int";
    b.narrow = chain_find_narrow(&b);
    b.start = emit_member_as(names, "start_");
    b.end = emit_member_as(names, "end_");
    for (int k = 0; k < b.x->n_exps; k++) b.shift[k] = emit_member_as(names, "shift_");
    emit_shapes(&b);
    emit_flags(&b);
    emit_known(&b);
    for (int pass = 0; pass < b.x->n_passes; pass++) emit_sums_type(&b, pass);
    emit_prepare_along(&b);
    for (int pass = 0; pass < b.x->n_passes; pass++) {
        emit_prepare(&b, pass);
        emit_identities(&b, pass);
        emit_chain_pass(&b, pass);
    }
    if (b.x->n_limits) {
        emit_limits(&b, false);
        emit_limits(&b, true);
        emit_extent(&b, "period", &b.x->period);
    }
    if (b.x->stores_rows) emit_row_stores(&b);
}
