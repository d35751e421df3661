/* Values of a row program: the scopes of a row and of an element of it.
 *
 * In: a scheduled group of rows. Out: scopes with every index, the tensors in memory or in registers, and the results
 * of earlier passes; statements that compute, in such a scope, the values that a pass reads. */
#include "emit/emit_row.h"

const char *rows_element(struct rows *b, const struct tensor *t, const char *row, const char *col) {
    const struct flat_index f[] = {
        {.labels = &b->x->rows, .var = row, .type = "index"},
        {.labels = &b->x->cols, .var = col, .type = "index"},
    };
    struct buf s;
    buf_init(&s, arena(b));
    buf_puts(&s, name_of(b, t));
    address_add_runs(&b->w, &s, t, f, 2);
    return s.s;
}

void rows_bind(struct rows *b, struct scope *p, const int *axes, int n, const struct axis_list *l, const char *var) {
    const struct flat_index f = {.labels = l, .var = var, .type = "index"};
    for (int i = 0; i < n; i++) {
        int at = find_label(l, axes[i]);
        p->at[axes[i]] = at < 0 ? "0" : address_factor(arena(b), b->l->axis_names, &f, at, at);
    }
}

/* ---- available values ---- */

const char *rows_available(struct values *w, const struct scope *p, const struct node *n) {
    struct rows *b = w->user;
    struct tensor t;
    if (n->kind == N_SCALAR)
        return value_of_element(w, w->g->kernel->params[n->param].dtype, b->l->param_names[n->param]);
    if (!node_is_loaded(w->g, b->c->partition, b->r, n, &t) || t.param >= 0) return NULL;
    return value_element(w, p, name_of(b, &t), &t);
}

const char *rows_held_name(struct rows *b, const struct tensor *t, const struct node *at) {
    return at ? member(b, at) : name_of(b, t);
}

/* Names what `list`, kept in `frag`, holds of loaded nodes, and of accesses. */
static void give_held(
    struct rows *b, struct scope *p, const struct tensor *list, struct node *const *at, int n_list, const char *frag) {
    for (int i = 0; i < b->w.g->n_nodes; i++) {
        const struct node *n = b->w.g->nodes[i];
        struct tensor t;
        const bool is_loaded = b->x->is_in_space[i] && node_is_loaded(b->w.g, b->c->partition, b->r, n, &t);
        for (int k = 0; k < n_list; k++)
            if (at[k] ? at[k] == n : is_loaded && list[k].param == t.param && list[k].buffer == t.buffer)
                p->text[i] = value_of_element(&b->w, list[k].dtype,
                    arena_printf(arena(b), "%s.%s.get(v)", frag, rows_held_name(b, &list[k], at[k])));
    }
}

struct scope *rows_at_row(struct rows *b, int pass, const char *row, const char *results) {
    struct scope *p = scope_open(&b->w, NULL);
    for (int i = 0; i < b->x->n_known; i++) b->w.divisor[b->x->known[i]->id] = NULL;
    rows_bind(b, p, b->r->axes, b->r->n_axes, &b->x->rows, row);
    for (int i = 0; i < b->x->n_known; i++) {
        const struct node *n = b->x->known[i];
        if (b->x->level[n->id] <= pass) p->text[n->id] = arena_printf(arena(b), "%s.%s", results, member(b, n));
    }
    return p;
}

struct scope *rows_at_element(
    struct rows *b, int pass, const char *row, const char *col, const char *results, bool has_tail) {
    struct scope *p = rows_at_row(b, pass, row, results);
    rows_bind(b, p, b->r->reduced, b->r->n_reduced, &b->x->cols, col);
    give_held(b, p, b->x->held, b->x->held_at, b->x->n_held, "f");
    for (int i = 0; i < b->x->n_known; i++)
        if (b->x->divides[b->x->known[i]->id])
            b->w.divisor[b->x->known[i]->id] =
                arena_printf(arena(b), "%s.%sdivisor_", results, member(b, b->x->known[i]));
    if (has_tail) give_held(b, p, b->x->tail, b->x->tail_at, b->x->n_tail, "t");
    for (int i = 0; i < b->x->n_scans; i++)
        p->text[b->x->scans[i]->id] = arena_printf(arena(b),
            b->x->scans[i]->reduction == RED_RECUR ? "s.%s[v].b" : "s.%s[v]", member(b, b->x->scans[i]));
    return p;
}

int rows_find_kept(const struct rows *b, const struct node *n) {
    for (int k = 0; k < b->x->n_kept; k++)
        if (b->x->kept[k] == n) return k;
    return -1;
}

void rows_emit_column_values(struct rows *b, struct scope *column, const struct scope *p) {
    const bool *needed = b->x->passes[b->x->n_passes].elements;
    bool *reads_available = NEW_ARRAY(arena(b), bool, b->w.g->n_nodes + 1);
    for (int i = 0; i < b->w.g->n_nodes; i++) {
        struct node *n = b->w.g->nodes[i];
        reads_available[i] = p->text[i] || rows_find_kept(b, n) >= 0;
        for (int a = 0; a < n->n_args; a++) reads_available[i] |= reads_available[n->args[a]->id];
        if (needed[i] && n->kind != N_PLACE && !reads_available[i] && !node_has_any(n, b->r->axes, b->r->n_axes) &&
            b->x->is_in_space[i])
            value_at(&b->w, column, n);
    }
}

void rows_emit_needed(struct rows *b, struct scope *p, int pass) {
    const bool *needed = b->x->passes[pass].elements;
    for (int i = 0; i < b->w.g->n_nodes; i++) {
        struct node *n = b->w.g->nodes[i];
        int k = rows_find_kept(b, n);
        if (!needed[i] || !b->x->is_in_space[i] || n->kind == N_PLACE) continue;
        if (k < 0 || b->x->kept_in[k] > pass) {
            value_at(&b->w, p, n);
            continue;
        }
        const char *kept = arena_printf(arena(b), "f.%s[v]", member(b, n)),
                   *known = arena_printf(arena(b), "KEPT ? %s : ", kept);
        if (b->x->kept_in[k] == pass) {
            value_put(&b->w, p, n, kept);
            continue;
        }
        scope_set_known(&b->w, p, n, known);
        const char *value = value_at(&b->w, p, n);
        if (n->kind == N_OP || n->kind == N_CAST) continue; /* set so where it was computed */
        p->text[i] = emit_local(b->w.names, n);
        value_line(&b->w, "const %s %s = %s%s;", value_ctype(n->dtype), p->text[i], known, value);
    }
}

void rows_hide_positions(struct rows *b) {
    buf_line(b->w.out, "    if constexpr (!KEPT) fx_hide(col);  // positions are computed here, not kept for all rows");
}
