/* Elements of an epilogue that are reduced as they are computed, as members of a problem struct.
 *
 * In: a group some of whose stores reduce runs of elements. Out: the struct of the elements; for each reduction, the
 * combination of two elements and the address of a result. The driver reduces. */
#include "emit/emit_body.h"

bool body_has_element(const struct body *b, int s) {
    const struct group *r = b->l->kernel->group;
    struct partial_of x, y;
    if (!is_partial_store(b->g, r, &r->stores[s], &x)) return false;
    for (int i = 0; i < s; i++)
        if (is_partial_store(b->g, r, &r->stores[i], &y) && body_stored_element(b, i) == body_stored_element(b, s))
            return true;
    return false;
}

struct node *body_shared_result(const struct body *b, int s) {
    const struct store *store = &b->l->kernel->group->stores[s];
    struct node **shared;
    struct partial_of x;
    if (!b->is_gemm || !is_partial_store(b->g, b->l->kernel->group, store, &x) || x.n > 1 || x.is_spread)
        return NULL;
    for (int i = 0, n = gemm_shared(b->g, b->l->kernel->group, &shared); i < n; i++)
        if (shared[i]->args[0] == x.of && shared[i]->reduction == store->value->reduction &&
            shared[i]->axis == x.label[0] && shared[i]->run == PARTIAL_RUN)
            return shared[i];
    return NULL;
}

bool body_holds(const struct body *b) {
    return b->is_gemm && !b->reads_more && !b->n_chunks && gemm_holds(b->g, b->l->kernel);
}

/* Whether n is whole runs at every launch. */
static bool has_whole_runs(const struct body *b) {
    int64_t size = 1;
    for (int i = 0; i < b->along.n; i++) {
        const int64_t extent = b->g->kernel->axes[b->along.axes[i]].extent;
        if (extent < 0) return false;
        size *= extent % PARTIAL_RUN;
    }
    return size % PARTIAL_RUN == 0;
}

bool body_takes_whole_tiles(const struct body *b) {
    struct node **shared;
    return b->is_gemm &&
           (gemm_has_reduced(b->g, b->l->kernel->group) || gemm_shared(b->g, b->l->kernel->group, &shared));
}

static void emit_partial_elements(struct body *b) {
    const struct group *r = b->l->kernel->group;
    struct partial_of x;
    bool is_any = false;
    for (int s = 0; s < r->n_stores; s++) is_any |= is_partial_store(b->g, r, &r->stores[s], &x);
    if (!is_any) {
        buf_line(b->w.out, "  template <int V> using elements = fx_nothing;  // nothing is reduced");
        return;
    }
    buf_line(b->w.out, "  template <int V> struct elements {  // what is reduced of V adjacent columns of a row");
    for (int s = 0; s < r->n_stores; s++)
        if (is_partial_store(b->g, r, &r->stores[s], &x) && !body_has_element(b, s))
            buf_line(b->w.out, "    %s %s[V];", value_ctype(x.of->dtype),
                emit_member(b->w.names, body_stored_element(b, s)));
    buf_line(b->w.out, "  };");
}

/* `buffer0_ + n / 64 * M_ + m`: where the result of a run goes. */
static const char *partial_address(
    struct body *b, const struct tensor *t, const struct partial_of *x, const struct gemm_reduced *d) {
    struct buf s;
    buf_init(&s, arena(b));
    for (int i = 0; i < x->n; i++) {
        int at = tensor_axis(t, x->run[i]);
        if (at >= 0)
            address_add(
                &s, arena_printf(arena(b), "%s / %d", d->run_m == x->run[i] ? "m" : "n", PARTIAL_RUN),
                body_step(b, t, at));
    }
    body_add_index(b, &s, t, &b->l->kernel->gemm.batch, "batch");
    if (d->run_m < 0) body_add_index(b, &s, t, &b->l->kernel->gemm.m, "m");
    if (d->run_n < 0) body_add_index(b, &s, t, &b->l->kernel->gemm.n, "n");
    return s.len ? arena_printf(arena(b), "%s + %s", tensor_name(b, t), s.s) : tensor_name(b, t);
}

/* The reductions of the elements: what combines two of them, and where a result goes. */
void body_emit_partials(struct body *b) {
    const struct group *r = b->l->kernel->group;
    struct partial_of x;
    struct buf names;
    int n = 0;
    buf_init(&names, arena(b));
    emit_partial_elements(b);
    if (b->holds)
        buf_line(b->w.out, "  static constexpr bool HOLDS = true, WHOLE_RUNS = %s;",
            has_whole_runs(b) ? "true" : "false");
    for (int s = 0; s < r->n_stores; s++) {
        if (!is_partial_store(b->g, r, &r->stores[s], &x)) continue;
        const struct node *v = r->stores[s].value;
        struct gemm_reduced d = gemm_reduced(b->g, b->l->kernel, &r->stores[s]);
        struct tensor t = tensor_of_store(b->g, b->c->partition, &r->stores[s]);
        const char *result = value_ctype(v->dtype), *type = x.is_spread ? "fx_spread" : result;
        buf_line(b->w.out, "  struct partial%d {%s", n, value_comment(b->g, v));
        buf_line(b->w.out, "    typedef %s value;", type);
        buf_line(b->w.out, "    static constexpr bool OVER_M = %s, OVER_N = %s;", d.run_m >= 0 ? "true" : "false",
            d.run_n >= 0 ? "true" : "false");
        if (body_shared_result(b, s) && d.run_m < 0)
            buf_line(b->w.out, "    static constexpr bool IS_SHARED = true;  // by all elements of a run");
        buf_line(b->w.out, "    static FX_DEVICE %s none() { return %s; }", type,
            x.is_spread ? "fx_spread()" : value_start(&b->w, v->reduction, v->dtype));
        buf_line(b->w.out, "    static FX_DEVICE %s combine(%s a, %s b) { return %s; }", type, type, type,
            x.is_spread ? "fx_join_spreads(a, b)" : value_combined(&b->w, v->reduction, v->dtype, "a", "b"));
        buf_line(b->w.out,
            "    template <int V> static FX_DEVICE %s get(const elements<V> &x, int v) { return %sx.%s[v]%s; }", type,
            x.is_spread ? "fx_spread{1.0f, " : "", emit_member(b->w.names, body_stored_element(b, s)),
            x.is_spread ? ", 0.0f}" : "");
        buf_line(b->w.out, "  };");
        emit_function(b->w.out,
            arena_printf(arena(b), "  FX_DEVICE void put(partial%d, %s x, int batch, int m, int n) const", n, type),
            arena_printf(arena(b), "*(%s) = %s;", partial_address(b, &t, &x, &d),
                element_of_value(&b->w, t.dtype, v->dtype, x.is_spread ? "x.around" : "x")));
        buf_printf(&names, ", partial%d", n++);
    }
    buf_line(b->w.out, "  template <class ENGINE> using partials = fx_gemm_partials<ENGINE, %s%s>;", b->l->struct_name,
        names.s);
}
