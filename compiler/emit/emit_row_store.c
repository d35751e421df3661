/* The stores of a row program, as members of its problem struct.
 *
 * In: a scheduled group of rows. Out: the struct of the sums over a run of rows, with functions that combine, load and
 * store it; the function that stores the elements of a row; the one that stores the results of a row. */
#include <string.h>

#include "emit/emit_row.h"

/* ---- runs of rows ---- */

/* Whether store s is of what runs of rows add up to. */
static bool is_side(const struct rows *b, const struct store *s) {
    struct partial_of side;
    return is_partial_store(b->w.g, b->r, s, &side);
}

/* For each of them "a.dg[v]" and the like, with what it adds up. */
static const char *side_of(struct rows *b, const char *of, const struct store *s) {
    return arena_printf(arena(b), "%s.%s[v]", of, member(b, s->value));
}

void rows_emit_sides_type(struct rows *b) {
    buf_line(b->w.out, "  template <int V> struct sides {  // what a run of rows adds up to, of V columns");
    for (int i = 0; i < b->r->n_stores; i++)
        if (is_side(b, &b->r->stores[i]))
            buf_line(b->w.out, "    %s %s[V];%s", value_sum_ctype(b->r->stores[i].value->dtype),
                member(b, b->r->stores[i].value), value_comment(b->w.g, b->r->stores[i].value));
    buf_line(b->w.out, "  };");
}

/* The address of V columns of a run's sums. */
static const char *side_address(struct rows *b, const struct tensor *t) {
    const struct flat_index f[] = {
        {.labels = &b->x->runs, .var = "run", .type = "index"},
        {.labels = &b->x->cols, .var = "col", .type = "index"},
    };
    struct buf s;
    buf_init(&s, arena(b));
    buf_puts(&s, name_of(b, t));
    address_add_runs(&b->w, &s, t, f, 2);
    return s.s;
}

/* Whether V sums of side s lie in memory as they are computed, so that they are one access. */
static bool is_wide_side(struct rows *b, const struct store *s) {
    return tensor_of_store(b->w.g, b->c->partition, s).dtype == FX_F32 &&
           strcmp(value_sum_ctype(s->value->dtype), "float") == 0;
}

/* A line for every side, of V columns one after the other; in_memory: without those that are one access. */
static void emit_each_side(
    struct rows *b, bool in_memory, const char *(*line)(struct rows *b, const struct store *s)) {
    int n = 0;
    for (int i = 0; i < b->r->n_stores; i++)
        n += is_side(b, &b->r->stores[i]) && !(in_memory && is_wide_side(b, &b->r->stores[i]));
    if (!n) return;
    buf_line(b->w.out, "#pragma unroll");
    buf_line(b->w.out, "    for (int v = 0; v < V; ++v) {");
    b->w.indent = 3;
    for (int i = 0; i < b->r->n_stores; i++)
        if (is_side(b, &b->r->stores[i]) && !(in_memory && is_wide_side(b, &b->r->stores[i])))
            value_line(&b->w, "%s", line(b, &b->r->stores[i]));
    b->w.indent = 2;
    buf_line(b->w.out, "    }");
}

/* Sides in memory: those that are one access each, then the others. */
static void emit_memory_sides(struct rows *b, const char *function, bool is_load,
    const char *(*line)(struct rows *b, const struct store *s)) {
    for (int i = 0; i < b->r->n_stores; i++) {
        const struct store *s = &b->r->stores[i];
        if (!is_side(b, s) || !is_wide_side(b, s)) continue;
        struct tensor t = tensor_of_store(b->w.g, b->c->partition, s);
        const char *sums = arena_printf(arena(b), "a.%s", member(b, s->value)), *at = side_address(b, &t);
        value_line(&b->w, "%s<V, true>(%s, %s, V);", function, is_load ? sums : at, is_load ? at : sums);
    }
    emit_each_side(b, true, line);
}

static const char *begin_side(struct rows *b, const struct store *s) {
    return arena_printf(
        arena(b), "%s = %s;", side_of(b, "a", s), value_start(&b->w, s->value->reduction, s->value->dtype));
}

static const char *combine_side(struct rows *b, const struct store *s) {
    const char *a = side_of(b, "a", s);
    return arena_printf(arena(b), "%s = %s;", a,
        value_combined(&b->w, s->value->reduction, s->value->dtype, a, side_of(b, "b", s)));
}

static const char *get_side(struct rows *b, const struct store *s) {
    struct tensor t = tensor_of_store(b->w.g, b->c->partition, s);
    return arena_printf(arena(b), "%s = %s;", side_of(b, "a", s),
        value_of_element(&b->w, t.dtype, arena_printf(arena(b), "(%s)[v]", side_address(b, &t))));
}

static const char *put_side(struct rows *b, const struct store *s) {
    struct tensor t = tensor_of_store(b->w.g, b->c->partition, s);
    return arena_printf(arena(b), "(%s)[v] = %s;", side_address(b, &t),
        element_of_value(&b->w, t.dtype, s->value->dtype, side_of(b, "a", s)));
}

void rows_emit_sides(struct rows *b) {
    const int last = b->x->rows.n - 1;
    const struct flat_index all = {.labels = &b->x->runs, .var = "run", .type = "index"};
    const char *extent = address_product(arena(b), b->l->axis_names, &b->x->rows.axes[last], 1);
    buf_line(b->w.out, "  FX_DEVICE index runs() const { return (index)%s; }",
        address_product(arena(b), b->l->axis_names, b->x->runs.axes, b->x->runs.n));
    value_open_function(&b->w, "  FX_DEVICE void rows_of(index run, index &first, index &n) const");
    value_line(&b->w, "const index at = (index)%s * %d;", address_factor(arena(b), b->l->axis_names, &all, last, last),
        b->x->run);
    if (last) {
        value_line(&b->w, "first = (index)%s * (index)%s + at;",
            address_factor(arena(b), b->l->axis_names, &all, 0, last - 1), extent);
    } else {
        value_line(&b->w, "first = at;");
    }
    value_line(&b->w, "n = (index)%s - at < %d ? (index)%s - at : %d;", extent, b->x->run, extent, b->x->run);
    value_close_function(&b->w);
    value_open_function(&b->w, "  template <int V> FX_DEVICE sides<V> no_sides() const");
    buf_line(b->w.out, "    sides<V> a;");
    emit_each_side(b, false, begin_side);
    buf_line(b->w.out, "    return a;");
    value_close_function(&b->w);
    value_open_function(&b->w, "  template <int V> FX_DEVICE void combine_sides(sides<V> &a, const sides<V> &b) const");
    emit_each_side(b, false, combine_side);
    value_close_function(&b->w);
    value_open_function(&b->w, "  template <int V> FX_DEVICE sides<V> get_sides(index run, index col) const");
    buf_line(b->w.out, "    sides<V> a;");
    emit_memory_sides(b, "fx_load", true, get_side);
    buf_line(b->w.out, "    return a;");
    value_close_function(&b->w);
    value_open_function(
        &b->w, "  template <int V> FX_DEVICE void put_sides(const sides<V> &a, index run, index col) const");
    emit_memory_sides(b, "fx_store", false, put_side);
    value_close_function(&b->w);
}

/* ---- stores ---- */

/* Where the value of a store of elements goes as it is computed; NULL: it is converted on the way,
 * or goes to memory. */
static const char *element_place(struct rows *b, const struct store *s) {
    struct tensor t = tensor_of_store(b->w.g, b->c->partition, s);
    const char *type = emit_held_ctype(t.dtype);
    if (!row_stores_vectors(b->w.g, b->c->partition, b->x, b->r, s)) return NULL;
    bool is_plain = strcmp(element_of_value(&b->w, t.dtype, s->value->dtype, "x"), "x") == 0 &&
                    strcmp(type, value_ctype(s->value->dtype)) == 0;
    return is_plain ? arena_printf(arena(b), "%sout[v]", name_of(b, &t)) : NULL;
}

/* The element of store s in p, which has the indices of its row and, of elements, its column; *inside: where it exists,
 * NULL: always. */
static const char *placed_element(struct rows *b, struct scope *p, const struct store *s, const char **inside) {
    struct tensor t = tensor_of_store(b->w.g, b->c->partition, s);
    struct node at = *s->value;
    at.kind = N_ACCESS, at.has_fill = at.may_miss != 0;
    struct scope *inner = value_open_access(&b->w, p, &at, inside);
    return arena_printf(arena(b), "%s + %s", name_of(b, &t), address_offset(&b->w, inner, &t));
}

/* Stores one element of s in p: at row and col, or at its positions. */
static void store_one(struct rows *b, struct scope *p, const struct store *s, const char *row, const char *col) {
    struct tensor t = tensor_of_store(b->w.g, b->c->partition, s);
    struct node *n = copied_value(s->value);
    const char *value = element_of_value(&b->w, t.dtype, n->dtype, value_at(&b->w, p, n)), *inside = NULL,
               *at = s->value->kind == N_PLACE ? placed_element(b, p, s, &inside) : rows_element(b, &t, row, col),
               *guard = inside ? arena_printf(arena(b), "if (%s) ", inside) : "";
    value_line(&b->w, emit_is_converted(t.dtype) ? "%sfx_store_one(%s, %s);" : "%s*(%s) = %s;", guard, at, value);
}

/* Stores the V elements of s that lie side by side. */
static void store_vector(struct rows *b, const struct store *s) {
    struct tensor t = tensor_of_store(b->w.g, b->c->partition, s);
    const char *inside = NULL, *at;
    if (s->value->kind == N_PLACE) {
        struct scope *p = rows_at_row(b, b->x->n_passes, "row", "r[0]");
        rows_bind(b, p, b->r->reduced, b->r->n_reduced, &b->x->cols, "col");
        at = placed_element(b, p, s, &inside);
    } else {
        at = rows_element(b, &t, "row", "col");
    }
    if (rows_are_skewed(b)) {
        buf_line(b->w.out, "    fx_store%s_skewed<V>(%s, %sout, cut...);", emit_is_converted(t.dtype) ? "" : "_items",
            at, name_of(b, &t));
        return;
    }
    buf_line(b->w.out, "    %s%s<V, true>(%s, %sout, V);", inside ? arena_printf(arena(b), "if (%s) ", inside) : "",
        emit_is_converted(t.dtype) ? "fx_store" : "fx_store_items", at, name_of(b, &t));
}

void rows_emit_store(struct rows *b) {
    const char *row = b->x->is_along_rows ? "(row + v)" : "row", *col = b->x->is_along_rows ? "col" : "(col + v)";
    const bool is_skewed = rows_are_skewed(b);
    value_open_function(&b->w,
        "  template <bool KEPT, int V%s> FX_DEVICE void store(frag<V> &f, const tail<V> &t, const scans<V> &s, "
        "const results *r, index row, index col%s) const",
        is_skewed ? ", class... CUT" : "",
        is_skewed   ? ", CUT... cut"
        : b->x->run ? ", sides<V> &a"
                    : "");
    if (b->x->reads_apart && !b->x->is_along_rows) rows_hide_positions(b);
    for (int i = 0; i < b->r->n_stores; i++) {
        struct tensor t = tensor_of_store(b->w.g, b->c->partition, &b->r->stores[i]);
        if (is_side(b, &b->r->stores[i])) continue;
        if (row_stores_vectors(b->w.g, b->c->partition, b->x, b->r, &b->r->stores[i]))
            buf_line(b->w.out, "    %s %sout[V];", emit_held_ctype(t.dtype), name_of(b, &t));
    }
    struct scope *p = rows_at_element(b, b->x->n_passes, row, col, b->x->is_along_rows ? "r[v]" : "r[0]", true),
                 *column = scope_open(&b->w, NULL);
    if (b->x->is_along_rows) {
        rows_bind(b, column, b->r->reduced, b->r->n_reduced, &b->x->cols, col);
        rows_emit_column_values(b, column, p);
        for (int i = 0; i < b->w.g->n_nodes; i++)
            if (column->text[i]) p->text[i] = column->text[i];
    }
    buf_line(b->w.out, "#pragma unroll");
    buf_line(b->w.out, "    for (int v = 0; v < V; ++v) {");
    if (is_skewed) buf_line(b->w.out, "      if (fx_is_cut(v, cut...)) continue;");
    b->w.indent = 3;
    for (int i = 0; i < b->r->n_stores; i++) {
        struct node *n = copied_value(b->r->stores[i].value);
        const char *place = is_side(b, &b->r->stores[i]) ? NULL : element_place(b, &b->r->stores[i]);
        if (place && rows_find_kept(b, n) < 0 && !p->text[n->id] && !(p->place && p->place[n->id]))
            scope_set_place(&b->w, p, n, place);
    }
    rows_emit_needed(b, p, b->x->n_passes);
    for (int i = 0; i < b->r->n_stores; i++) {
        const struct store *s = &b->r->stores[i];
        struct tensor t = tensor_of_store(b->w.g, b->c->partition, s);
        if (!row_stores_elements(b->w.g, b->c->partition, b->r, s)) continue;
        if (is_side(b, s)) {
            const char *so_far = side_of(b, "a", s);
            value_line(&b->w, "%s = %s;", so_far,
                value_combined(&b->w, s->value->reduction, s->value->dtype, so_far,
                    value_at(&b->w, p, store_element(b->w.g, b->r, s))));
            continue;
        }
        if (!row_stores_vectors(b->w.g, b->c->partition, b->x, b->r, s)) {
            store_one(b, p, s, row, col);
            continue;
        }
        struct node *n = copied_value(s->value);
        value_assign(&b->w, arena_printf(arena(b), "%sout[v]", name_of(b, &t)),
            element_of_value(&b->w, t.dtype, n->dtype, value_at(&b->w, p, n)));
    }
    b->w.indent = 2;
    buf_line(b->w.out, "    }");
    for (int i = 0; i < b->r->n_stores; i++) {
        const struct store *s = &b->r->stores[i];
        if (!is_side(b, s) && row_stores_vectors(b->w.g, b->c->partition, b->x, b->r, s)) store_vector(b, s);
    }
    value_close_function(&b->w);
}

void rows_emit_results(struct rows *b) {
    if (!b->x->stores_results) return;
    value_open_function(&b->w, "  FX_DEVICE void results_of(const results &r, index row) const");
    struct scope *p = rows_at_row(b, b->x->n_passes, "row", "r");
    for (int i = 0; i < b->r->n_stores; i++) {
        const struct store *s = &b->r->stores[i];
        if (!row_stores_elements(b->w.g, b->c->partition, b->r, s)) store_one(b, p, s, "row", "0");
    }
    value_close_function(&b->w);
}
