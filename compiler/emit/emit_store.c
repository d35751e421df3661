/* Stores the elements that a problem struct has computed, V at a time.
 *
 * In: a store of a group, and the array that holds its elements. Out: the statements that write them: as a vector if
 * they are adjacent in memory, otherwise one by one. For a store at positions, also the offsets of the positions, which
 * are computed with the elements. */
#include "emit/emit_body.h"
#include "schedule/wgmma.h"

static void emit_store_items(struct body *b, const struct tensor *t, const char *value, const char *indent) {
    const char *at = body_address(b, t, arena_printf(arena(b), "(%s + v)", b->along_var));
    buf_line(b->w.out, "#pragma unroll");
    buf_line(b->w.out, "%sfor (int v = 0; v < V; ++v)", indent);
    buf_line(b->w.out,
        emit_is_converted(t->dtype) ? "%s  if (v < n_valid) fx_store_one(%s, %s[v]);"
                               : "%s  if (v < n_valid) *(%s) = %s[v];",
        indent, at, value);
}

static void emit_store_one(struct body *b, const struct tensor *t, const char *value, int number) {
    enum along along = body_along(b, t);
    bool converts = emit_is_converted(t->dtype);
    if (b->is_gemm && stores_boxes(b->l->kernel)) {
        buf_line(b->w.out, "    to.template put<%d, V, ALIGNED>(%s, %s, n_valid);", number,
            body_address(b, t, b->along_var), value);
        return;
    }
    switch (along) {
    case ALONG_NONE:
        buf_line(
            b->w.out, converts ? "    fx_store_one(%s, %s[0]);" : "    *(%s) = %s[0];", body_address(b, t, NULL),
            value);
        return;
    case ALONG_CONTIGUOUS:
        buf_line(b->w.out, "    %s<V, ALIGNED>(%s, %s, n_valid);", converts ? "fx_store" : "fx_store_items",
            body_address(b, t, b->along_var), value);
        return;
    case ALONG_UNIT:
        buf_line(b->w.out, "    if constexpr (ALIGNED) {");
        buf_line(b->w.out, "      %s<V, true>(%s, %s, n_valid);", converts ? "fx_store" : "fx_store_items",
            body_address(b, t, b->along_var), value);
        buf_line(b->w.out, "    } else {");
        if (converts)
            buf_line(b->w.out, "      fx_store_strided<V>(%s, %s, %s, n_valid);", body_address(b, t, b->along_var),
                body_along_stride(b, t), value);
        else emit_store_items(b, t, value, "      ");
        buf_line(b->w.out, "    }");
        return;
    case ALONG_STRIDED:
        if (converts)
            buf_line(b->w.out, "    fx_store_strided<V>(%s, %s, %s, n_valid);", body_address(b, t, b->along_var),
                body_along_stride(b, t), value);
        else emit_store_items(b, t, value, "    ");
        return;
    case ALONG_SCATTERED:
        if (!converts || !body_piece(b, t)) {
            emit_store_items(b, t, value, "    ");
            return;
        }
        body_emit_pieces(b, t, body_piece(b, t), "fx_store", false, value);
        emit_store_items(b, t, value, "      ");
        buf_line(b->w.out, "    }");
        return;
    }
}

struct node *body_stored_element(const struct body *b, int s) {
    struct node *shared = body_shared_result(b, s);
    return shared ? shared : copied_value(store_element(b->g, b->l->kernel->group, &b->l->kernel->group->stores[s]));
}

const struct node *body_place_of(const struct body *b, int s) {
    const struct node *v = b->l->kernel->group->stores[s].value;
    return v->kind == N_PLACE ? v : NULL;
}

bool body_is_place_uniform(const struct body *b, int s) {
    const struct node *v = body_place_of(b, s);
    struct tensor t = tensor_of_store(b->g, b->c->partition, &b->l->kernel->group->stores[s]);
    for (int i = 1; i < v->n_args; i++)
        if (node_has_any(v->args[i], b->along.axes, b->along.n)) return false;
    return !b->along.n || body_along(b, &t) == ALONG_CONTIGUOUS;
}

/* The positions of store s in p, as those of an access. Returns the offset of its element; *inside: where it exists. */
static const char *place_offset(struct body *b, struct scope *p, int s, const char **inside) {
    const struct node *v = body_place_of(b, s);
    struct tensor t = tensor_of_store(b->g, b->c->partition, &b->l->kernel->group->stores[s]);
    struct node at = *v;
    struct buf offset;
    at.kind = N_ACCESS, at.has_fill = v->may_miss != 0;
    struct scope *inner = value_open_access(&b->w, p, &at, inside);
    buf_init(&offset, arena(b));
    for (int i = 0; i < t.n_axes; i++) {
        int run = find_label(&b->along, t.axes[i]);
        bool is_run = run >= 0 && body_along(b, &t) == ALONG_CONTIGUOUS;
        if (is_run && run < b->along.n - 1) continue;
        const char *index = is_run ? p == b->row ? b->along_var : arena_printf(arena(b), "(%s + v)", b->along_var)
                                   : scope_index(&b->w, inner, t.axes[i]);
        address_add(&offset, arena_printf(arena(b), "(long long)%s", address_group(arena(b), index, " ")),
            address_stride(&b->w, &t, i));
    }
    return offset.len ? offset.s : "0";
}

/* In the loop over elements: where each goes, -1 for nowhere. */
void body_emit_places(struct body *b, struct scope *p) {
    for (int s = 0; s < b->l->kernel->group->n_stores; s++) {
        if (!body_place_of(b, s) || body_is_place_uniform(b, s)) continue;
        const char *inside, *offset = place_offset(b, p, s, &inside);
        if (inside) value_line(&b->w, "place%d[v] = %s ? %s : -1;", s, inside, offset);
        else value_line(&b->w, "place%d[v] = %s;", s, offset);
    }
}

/* Ahead of the stores: where all V elements go. */
void body_emit_common_places(struct body *b, struct scope *row) {
    for (int s = 0; s < b->l->kernel->group->n_stores; s++) {
        if (!body_place_of(b, s) || !body_is_place_uniform(b, s)) continue;
        const char *inside, *offset = place_offset(b, row, s, &inside);
        if (inside) value_line(&b->w, "const long long place%d = %s ? %s : -1;", s, inside, offset);
        else value_line(&b->w, "const long long place%d = %s;", s, offset);
    }
}

static void emit_store_at(struct body *b, const struct tensor *t, const char *value, int s) {
    const char *name = tensor_name(b, t);
    bool converts = emit_is_converted(t->dtype), misses = body_place_of(b, s)->may_miss != 0;
    if (body_is_place_uniform(b, s)) {
        const char *guard = misses ? arena_printf(arena(b), "if (place%d >= 0) ", s) : "";
        if (b->along.n)
            buf_line(b->w.out, "    %s%s<V, ALIGNED>(%s + place%d, %s, n_valid);", guard,
                converts ? "fx_store" : "fx_store_items", name, s, value);
        else
            buf_line(b->w.out, converts ? "    %sfx_store_one(%s + place%d, %s[0]);" : "    %s*(%s + place%d) = %s[0];",
                guard, name, s, value);
        return;
    }
    buf_line(b->w.out, "#pragma unroll");
    buf_line(b->w.out, "    for (int v = 0; v < V; ++v)");
    const char *guard = misses ? arena_printf(arena(b), "v < n_valid && place%d[v] >= 0", s) : "v < n_valid";
    buf_line(b->w.out,
        converts ? "      if (%s) fx_store_one(%s + place%d[v], %s[v]);" : "      if (%s) *(%s + place%d[v]) = %s[v];",
        guard, name, s, value);
}

void body_emit_put(struct body *b, int s, const char *value) {
    struct tensor t = tensor_of_store(b->g, b->c->partition, &b->l->kernel->group->stores[s]);
    if (body_place_of(b, s)) emit_store_at(b, &t, value, s);
    else emit_store_one(b, &t, value, s);
}
