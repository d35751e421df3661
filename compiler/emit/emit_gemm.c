/* The members of the problem struct of a contraction: its shape, its operands and its segments, as the gemm driver
 * requires them (kernels/driver_gemm.cuh).
 *
 * In: a scheduled group with sums. Out: one struct per operand, with its address and strides, or with its computation
 * (emit_operand.c); one struct per segment. Of a chain, only its segments. */
#include <string.h>

#include "emit/emit_address.h"
#include "emit/emit_operand.h"
#include "plan.h"
#include "schedule/im2col.h"
#include "schedule/wgmma.h"

static struct arena *arena(const struct operand_place *b) { return &b->u->cx->arena; }

/* ---- operands in memory ---- */

static const char *atom_name(const struct operand_place *b, const struct tensor *t, int atom) {
    int position, axis = view_atom_axis(b->g, atom, &position);
    return axis >= 0 ? b->axes[axis] : b->strides[fx_stride_index(t->param, position)];
}

/* A polynomial of the view of t as C. */
static const char *poly_text(const struct operand_place *b, const struct tensor *t, const struct poly *p) {
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

/* Adds what the flattened index `var` over the labels of l contributes to an offset into t. */
static void add_index(
    const struct operand_place *b, struct buf *s, const struct tensor *t, const struct axis_list *l, const char *var) {
    const struct flat_index f = {.labels = l, .var = var, .type = "int"};
    const char *steps[MAX_AXES];
    bool is_run = true;
    for (int i = 0; i + 1 < l->n; i++) is_run &= are_adjacent(b->g, t, l->axes[i], l->axes[i + 1]);
    for (int i = 0; i < l->n; i++) {
        int at = tensor_axis(t, l->axes[i]);
        steps[i] = at < 0 ? NULL : address_group(arena(b), poly_text(b, t, &t->view->stride[at]), "+-");
    }
    address_add_flat(s, arena(b), b->axes, &f, steps, is_run);
}

static const char *element_address(const struct operand_place *b, const struct tensor *t) {
    struct buf s;
    buf_init(&s, arena(b));
    const char *offset = poly_text(b, t, &t->view->offset);
    if (strcmp(offset, "0") != 0) buf_puts(&s, offset);
    add_index(b, &s, t, &b->shape->batch, "batch");
    add_index(b, &s, t, &b->segment->k_outer, "ko");
    return s.len ? arena_printf(arena(b), "%s + %s", operand_tensor_name(b, t, true), s.s)
                 : operand_tensor_name(b, t, true);
}

static const char *run_stride(const struct operand_place *b, const struct tensor *t, const struct axis_list *l) {
    int at = l->n ? tensor_axis(t, l->axes[l->n - 1]) : -1;
    return at < 0 ? "0" : poly_text(b, t, &t->view->stride[at]);
}

/* A function of the operands, by j where they differ. */
static void emit_by_sum(struct operand_place *b, const char *head, const char *const *values, int n) {
    struct buf s;
    buf_init(&s, arena(b));
    buf_puts(&s, "return ");
    for (int i = 0; i < n; i++) {
        bool is_rest = true;
        for (int j = i; j < n; j++) is_rest &= strcmp(values[i], values[j]) == 0;
        if (is_rest) {
            buf_printf(&s, "%s;", values[i]);
            break;
        }
        buf_printf(&s, "j == %d ? %s : ", i, values[i]);
    }
    emit_function(b->out, head, s.s);
}

static const char *layout_name(enum layout l) {
    return l == LAYOUT_K_MAJOR ? "FX_K_MAJOR" : l == LAYOUT_MN_MAJOR ? "FX_MN_MAJOR" : "FX_STRIDED";
}

/* Where the matrix of a batch begins. */
static const char *matrix_address(const struct operand_place *b, const struct tensor *t, const struct halved *h) {
    const struct flat_index f = {.labels = &b->shape->batch, .var = "batch", .type = "int"};
    const char *steps[MAX_AXES];
    bool is_run = true;
    struct buf s;
    buf_init(&s, arena(b));
    for (int i = 0; i + 1 < f.labels->n; i++) is_run &= are_adjacent(b->g, t, f.labels->axes[i], f.labels->axes[i + 1]);
    for (int i = 0; i < f.labels->n; i++) {
        const int at = find_label(&h->batch, f.labels->axes[i]);
        steps[i] = at < 0 ? NULL : address_product(arena(b), b->axes, h->batch.axes + at + 1, h->batch.n - at - 1);
    }
    address_add_flat(&s, arena(b), b->axes, &f, steps, is_run);
    const char *base = operand_tensor_name(b, t, true);
    return s.len ? arena_printf(arena(b), "%s + (%s) * shape(p).bytes()", base, s.s) : base;
}

/* Operands of two f16: their matrices, all of whose labels but those of batches are alike. */
static void emit_halves(struct operand_place *b, const struct operand *operands, int n) {
    const char **at = NEW_ARRAY(arena(b), const char *, n), **shape = NEW_ARRAY(arena(b), const char *, n);
    bool is_k_last = false;
    for (int i = 0; i < n; i++) {
        const struct halved h = tensor_halved(&operands[i].tensor);
        is_k_last = h.is_k_last;
        at[i] = matrix_address(b, &operands[i].tensor, &h);
        shape[i] = arena_printf(arena(b), "{(int)(%s), (int)%s}",
            address_product(arena(b), b->axes, h.mn.axes, h.mn.n), b->axes[operands[i].tensor.k]);
    }
    buf_line(b->out, "    typedef fx_halves<%s> halves;", is_k_last ? "true" : "false");
    emit_by_sum(
        b, arena_printf(arena(b), "    static FX_DEVICE halves shape(const %s &p)", b->l->struct_name), shape, 1);
    emit_by_sum(b,
        arena_printf(arena(b), "    static FX_DEVICE const char *matrix(const %s &p, int j, int batch)",
            b->l->struct_name),
        at, n);
}

static void emit_copied(struct operand_place *b, const struct operand *operands, int n) {
    if (operands->tensor.is_halved) {
        emit_halves(b, operands, n);
        return;
    }
    const char **at = NEW_ARRAY(arena(b), const char *, n), **mn = NEW_ARRAY(arena(b), const char *, n),
               **k = NEW_ARRAY(arena(b), const char *, n);
    for (int i = 0; i < n; i++) {
        at[i] = element_address(b, &operands[i].tensor);
        mn[i] = run_stride(b, &operands[i].tensor, b->mn);
        k[i] = run_stride(b, &operands[i].tensor, &b->segment->k);
    }
    emit_by_sum(b,
        arena_printf(arena(b), "    static FX_DEVICE const %s *at(const %s &p, int j, int batch, int ko)",
            emit_tensor_ctype(b->g, &operands->tensor), b->l->struct_name),
        at, n);
    emit_by_sum(b,
        arena_printf(arena(b), "    static FX_DEVICE long long stride_mn(const %s &p, int j)", b->l->struct_name), mn,
        n);
    emit_by_sum(b,
        arena_printf(arena(b), "    static FX_DEVICE long long stride_k(const %s &p, int j)", b->l->struct_name), k, n);
}

/* The number of the slice at `batch`, and how long slices are. */
static const char *slice_index(const struct operand_place *b, const struct cut *c) {
    const struct flat_index f = {&b->shape->batch, "batch", "int"};
    int label = find_label(f.labels, c->number);
    return address_factor(arena(b), b->axes, &f, label, label);
}

static const char *slice_size(const struct operand_place *b, const struct cut *c) {
    return arena_printf(arena(b), "(int)%s", b->axes[c->within]);
}

/* How a tensor map is indexed beyond k and m or n: those of operands side by side alike. */
static void emit_map_axes(struct operand_place *b, const struct operand *operand) {
    struct map_axis axes[MAX_MAP_AXES];
    int n = map_axes(b->g, b->shape, b->segment, &operand->tensor, axes);
    buf_line(b->out, "    static constexpr int RANK = %d;  // of its tensor map%s",
        MAP_INNER + n + operand->tensor.is_split, operand->tensor.is_split ? ", of which the last are parts" : "");
    const struct cut *cut = operand->tensor.view->cut;
    if (!n && !cut) return;
    struct buf s;
    buf_init(&s, arena(b));
    if (cut)
        buf_printf(&s, "      at[%d] += %s * %s;\n", operand->layout == LAYOUT_K_MAJOR ? 0 : 1, slice_index(b, cut),
            slice_size(b, cut));
    for (int d = 0; d < n; d++) {
        const char *var = axes[d].is_outer ? "ko" : "batch";
        const struct flat_index f = {map_axis_labels(b->shape, b->segment, &axes[d]), var, "int"};
        buf_printf(&s, "      at[%d] = %s;\n", MAP_INNER + d,
            axes[d].label < 0 ? var : address_part(arena(b), b->axes, &f, axes[d].label, axes[d].label));
    }
    emit_function(b->out,
        arena_printf(arena(b), "    static FX_DEVICE void place(const %s &p, int j, int batch, int ko, int (&at)[RANK])",
            b->l->struct_name),
        s.s);
}

static void add_term(struct buf *s, const char *text) { buf_printf(s, "%s%s", s->len ? " + " : "", text); }

/* How far beside its place a pixel is read along a spatial axis, at `ko` and `batch`. */
static const char *offset_text(const struct operand_place *b, const struct window *w, const struct spatial *x) {
    const struct flat_index by_k = {&b->segment->k_outer, "ko", "int"}, by_batch = {&b->shape->batch, "batch", "int"};
    const struct window_axis *axis = &w->axes[x->position];
    struct buf s;
    buf_init(&s, arena(b));
    if (x->shift.n) add_term(&s, poly_text(b, &w->tensor, &x->shift));
    for (int i = 0; i < axis->n; i++) {
        const struct window_term *t = &axis->terms[i];
        const struct flat_index *f = find_label(by_k.labels, t->label) >= 0 ? &by_k : &by_batch;
        int label = find_label(f->labels, t->label);
        if (label < 0) continue;
        const char *index = address_factor(arena(b), b->axes, f, label, label);
        add_term(&s, t->factor == 1 ? index : arena_printf(arena(b), "%s * %d", index, (int)t->factor));
    }
    return s.len ? s.s : "0";
}

/* Loads a column by a tensor map in im2col mode: channels, the pixel at which it begins, the offset of all; of parts,
 * whose images lie one part after the other, those of one part. */
static void emit_im2col(struct operand_place *b, const struct operand *o) {
    const struct axis_list *pixels = im2col_pixels(b->segment, o, b->mn);
    const struct flat_index f = {pixels, "pixel", "int"};
    const struct window *w = o->window;
    const bool is_split = w->tensor.is_split;
    struct im2col c;
    const char *ignored;
    struct buf s;
    buf_init(&s, arena(b));
    im2col_of(b->g, b->shape, b->segment, o, b->mn, &c, &ignored);
    buf_puts(&s, "      const int at[] = {channel, ");
    for (int i = 0; i < c.n_spatial; i++) {
        const struct spatial *x = &c.spatial[i];
        const char *first = poly_text(b, &w->tensor, &x->first);
        if (x->pixel >= 0) { /* of no images a column begins in no image behind the last pixel */
            const char *pixel = address_factor(arena(b), b->axes, &f, x->pixel, x->pixel);
            if (c.n_images || x->pixel) buf_puts(&s, pixel);
            else buf_printf(&s, "%s %% (int)%s", pixel, b->axes[pixels->axes[0]]);
            if (x->step != 1) buf_printf(&s, " * %d", x->step);
        }
        if (x->first.n || x->pixel < 0) buf_printf(&s, "%s(int)(%s)", x->pixel >= 0 ? " + " : "", first);
        buf_puts(&s, ", ");
    }
    struct axis_list images = *pixels;
    images.n = c.n_images;
    if (c.n_images) buf_puts(&s, address_part(arena(b), b->axes, &f, 0, c.n_images - 1));
    else buf_printf(&s, "pixel / (int)(%s)", address_product(arena(b), b->axes, pixels->axes, pixels->n));
    if (is_split && c.n_images)
        buf_printf(&s, " + part * (int)(%s)", address_product(arena(b), b->axes, images.axes, images.n));
    else if (is_split) buf_puts(&s, " + part");
    buf_puts(&s, "};\n      const unsigned short offset[] = {");
    for (int i = 0; i < c.n_spatial; i++)
        buf_printf(&s, "%s(unsigned short)(%s)", i ? ", " : "", offset_text(b, w, &c.spatial[i]));
    buf_puts(&s, "};\n      fx_tma_load_im2col(to, map, full, at, offset);\n");
    emit_function(b->out,
        arena_printf(arena(b),
            "    static FX_DEVICE void load_pixels(const %s &p, const fx_tensor_map *map, unsigned to, unsigned full, int batch, "
            "int ko, int pixel, int channel%s)",
            b->l->struct_name, is_split ? ", int part" : ""),
        s.s);
}

/* What is stored by tensor maps: where its boxes lie beyond n and m. */
static void emit_stored(struct operand_place *b, int number, int first_map) {
    struct tensor t = tensor_of_store(b->g, b->c->partition, &b->l->kernel->group->stores[number]);
    struct map_axis axes[MAX_MAP_AXES];
    struct buf s;
    buf_init(&s, arena(b));
    add_view(b->g, &t);
    int n = map_axes(b->g, b->shape, NULL, &t, axes);
    buf_line(b->out, "  struct stored%d {  // %s", number, operand_tensor_name(b, &t, false));
    buf_line(b->out, "    static constexpr int MAP = %d, RANK = %d;  // which of the tensor maps, and its",
        first_map + number, MAP_INNER + n);
    for (int d = 0; d < n; d++) {
        const struct flat_index f = {map_axis_labels(b->shape, NULL, &axes[d]), "batch", "int"};
        buf_printf(&s, "      at[%d] = %s;\n", MAP_INNER + d,
            axes[d].label < 0 ? f.var : address_part(arena(b), b->axes, &f, axes[d].label, axes[d].label));
    }
    if (n)
        emit_function(b->out,
            arena_printf(arena(b), "    static FX_DEVICE void place(const %s &p, int batch, int (&at)[RANK])",
                b->l->struct_name),
            s.s);
    buf_line(b->out, "  };");
}

/* ---- the struct ---- */

static const char *operand_text(const struct operand_place *b, const struct operand *o) {
    if (!o->is_computed && o->tensor.param < 0) return operand_tensor_name(b, &o->tensor, false);
    if (o->value->source && !o->value->name.len) return value_source(b->g, o->value);
    struct buf s;
    buf_init(&s, arena(b));
    ir_print_name(&s, b->g, o->value);
    return s.s;
}

static void emit_comment(struct operand_place *b, const struct operand *operands, int n) {
    const char *before = "";
    buf_puts(b->out, "  //");
    for (int i = 0; i < n; i++) {
        const char *text = operand_text(b, &operands[i]);
        if (strcmp(text, before) != 0)
            buf_printf(b->out, "%s %s", i ? "," : "", text); /* the parts of one thing are called as that */
        before = text;
    }
    buf_printf(b->out, "%s\n", operands->is_computed ? ", computed as it is loaded" : "");
}

/* What tensor maps take of an operand, of the segment in their form. */
static void emit_maps(struct operand_place *b, const struct operand *operands) {
    const struct segment *plain = b->segment;
    b->segment = segment_by_maps(plain);
    operands->window ? emit_im2col(b, operands) : emit_map_axes(b, operands->from ? operands->from : operands);
    b->segment = plain;
}

/* Whether some entry brings operands by loaders; else by tensor maps, or into registers. */
static bool has_loaders(const struct scheduled *s) {
    for (int i = 0; i < s->n_configs; i++)
        if (!s->configs[i].takes_maps && !s->configs[i].is_skinny) return true;
    return false;
}

/* How the gemm driver loads it. */
static void emit_loader(
    struct operand_place *b, char side, const char *struct_name, const struct operand *operands, int n) {
    bool is_strided = false;
    for (int i = 0; i < n; i++) is_strided |= !operands[i].is_computed && operands[i].tensor.is_strided;
    const char *base = is_strided ? arena_printf(arena(b), "typename fx_strided_%c<ENGINE, BASE>::type", side) : "BASE";
    buf_line(b->out, "    template <class ENGINE, class BASE, class SEGMENT, bool ALIGNED>");
    buf_line(b->out, "    using loader = %s<ENGINE, %s, %s, SEGMENT, %s, ALIGNED>;",
        operands->is_computed ? "fx_gemm_computed" : "fx_gemm_copied", base, b->l->struct_name, struct_name);
}

static void emit_tail(struct operand_place *b, char side, int segment, const struct operand *o) {
    if (has_tail(b->g, b->l->kernel, o, side == 'a'))
        buf_line(b->out, "    static constexpr int TAIL = %d;  // which of the tensor maps brings the last rows",
            tail_map(b->g, b->l->kernel, segment, side == 'a'));
}

static void emit_operand(
    struct operand_place *b, char side, int segment, int j, const struct operand *operands, int n) {
    b->side = side;
    b->mn = side == 'a' ? &b->shape->m : &b->shape->n;
    const char *struct_name = arena_printf(arena(b), j < 0 ? "%c%d" : "%c%d_%d", side, segment, j);
    buf_printf(b->out, "  struct %s {", struct_name);
    emit_comment(b, operands, n);
    buf_line(b->out, "    static constexpr int LAYOUT = %s;", layout_name(operands->layout));
    const bool is_split = operands->window && operands->window->tensor.is_split;
    if (is_split || (operands->window && b->shape->is_whole)) emit_window_element(b, operands);
    if (operands->is_computed && !is_split) emit_computed_operand(b, operands);
    if (!operands->is_computed) emit_copied(b, operands, n);
    if (has_maps(b->l->kernel) && !b->shape->is_scaled) {
        emit_maps(b, operands);
        emit_tail(b, side, segment, operands);
    }
    if (has_loaders(b->l->kernel)) emit_loader(b, side, struct_name, operands, n);
    buf_line(b->out, "  };");
}

static const char *as_int(const struct operand_place *b, const struct axis_list *l, const char **names) {
    const char *s = address_product(arena(b), names, l->axes, l->n);
    return l->n == 0 ? s : arena_printf(arena(b), l->n > 1 ? "(int)(%s)" : "(int)%s", s);
}

/* Where B number j is added. */
static void emit_sum_numbers(struct operand_place *b, const struct segment *e) {
    struct buf s;
    buf_init(&s, arena(b));
    buf_puts(&s, "return ");
    for (int j = 0; j + 1 < e->n_sums; j++) buf_printf(&s, "j == %d ? %d : ", j, b->shape->into[e->sums[j]]);
    buf_printf(&s, "%d;", b->shape->into[e->sums[e->n_sums - 1]]);
    emit_function(b->out, "    static FX_DEVICE constexpr int sum(int j)", s.s);
}

/* The extents of its k; where that is a slice, how much of it is there. */
static void emit_k(struct operand_place *b, const struct segment *e) {
    const struct cut *cut = segment_cut(e);
    emit_function(b->out, arena_printf(arena(b), "    static FX_DEVICE int k(const %s &p)", b->l->struct_name),
        arena_printf(arena(b), "return %s;", as_int(b, &e->k, b->axes)));
    emit_function(b->out, arena_printf(arena(b), "    static FX_DEVICE int k_outer(const %s &p)", b->l->struct_name),
        arena_printf(arena(b), "return %s;", as_int(b, &e->k_outer, b->axes)));
    if (!cut) return;
    emit_function(b->out,
        arena_printf(arena(b), "    static FX_DEVICE int k_left(const %s &p, int batch)", b->l->struct_name),
        arena_printf(arena(b), "return min(%s, (int)%s - %s * %s);", slice_size(b, cut), b->axes[cut->whole],
            slice_index(b, cut), slice_size(b, cut)));
}

/* A scaled operand as tensor maps bring it: without its scales. */
static void emit_unscaled(struct operand_place *b, char side, int segment, const struct operand *o) {
    b->side = side;
    b->mn = side == 'a' ? &b->shape->m : &b->shape->n;
    buf_printf(b->out, "  struct %c%d_by_maps {", side, segment);
    emit_comment(b, o, 1);
    buf_line(b->out, "    static constexpr int LAYOUT = %s;", layout_name(o->layout));
    emit_map_axes(b, o);
    emit_tail(b, side, segment, o);
    buf_line(b->out, "  };");
}

/* Segment number i, whose operands are scaled, as tensor maps take it: with the scales of a block of k. */
static void emit_scaled_segment(struct operand_place *b, int i, const struct segment *e) {
    const struct segment *plain = b->segment;
    b->segment = e;
    emit_unscaled(b, 'a', i, &e->a);
    emit_unscaled(b, 'b', i, &e->b[0]);
    buf_line(b->out,
        "  struct segment%d_by_maps : segment%d {  // by tensor maps k is a block, whose products are scaled", i, i);
    buf_line(b->out, "    typedef a%d_by_maps a;", i);
    buf_line(b->out, "    template <int J> using b = b%d_by_maps;", i);
    emit_k(b, e);
    emit_scale(b, 'm', &b->shape->m, e->scale_a);
    emit_scale(b, 'n', &b->shape->n, e->scale_b);
    buf_line(b->out,
        "    static constexpr int SCALED_COLUMNS = %d;  // from a multiple of it on so many have one scale_n; 0: all do",
        gemm_scaled_columns(b->g, b->shape));
    buf_line(b->out, "  };");
    b->segment = plain;
}

/* Segment number i of the struct; has_a: its A is an operand, not what a driver makes. */
static void emit_segment(struct operand_place *b, int i, bool has_a) {
    const struct segment *e = b->segment;
    bool are_computed = e->b[0].is_computed;
    if (has_a) emit_operand(b, 'a', i, -1, &e->a, 1);
    if (!are_computed) emit_operand(b, 'b', i, -1, e->b, e->n_sums);
    for (int j = 0; are_computed && j < e->n_sums; j++) emit_operand(b, 'b', i, e->n_sums > 1 ? j : -1, &e->b[j], 1);
    buf_line(b->out, "  struct segment%d {", i);
    buf_line(b->out, "    static constexpr int SUMS = %d;", e->n_sums);
    if (has_a) buf_line(b->out, "    typedef a%d a;", i);
    if (!are_computed || e->n_sums == 1) buf_line(b->out, "    template <int J> using b = b%d;", i);
    else {
        buf_puts(b->out, "    template <int J> using b = ");
        for (int j = 0; j + 1 < e->n_sums; j++) buf_printf(b->out, "typename fx_choose<J == %d, b%d_%d, ", j, i, j);
        buf_printf(b->out, "b%d_%d", i, e->n_sums - 1);
        for (int j = 0; j + 1 < e->n_sums; j++) buf_puts(b->out, ">::type");
        buf_puts(b->out, ";\n");
    }
    if (has_a && has_loaders(b->l->kernel))
        buf_line(b->out, "    template <class ENGINE, bool ALIGNED> using all_b = %s<ENGINE, ALIGNED, segment%d>;",
            e->n_sums > 1 ? "fx_gemm_all_b" : "fx_gemm_b", i);
    if (has_a) emit_sum_numbers(b, e);
    emit_k(b, e);
    buf_line(b->out, "  };");
    if (!e->by_maps || !has_maps(b->l->kernel)) return;
    if (b->shape->is_scaled) {
        emit_scaled_segment(b, i, e->by_maps);
        return;
    }
    buf_line(
        b->out, "  struct segment%d_by_maps : segment%d {  // by tensor maps k are the channels of the window", i, i);
    emit_k(b, e->by_maps);
    buf_line(b->out, "  };");
}

static void emit_all_stored(struct operand_place *b) {
    int n = gemm_elements(b->g, b->l->kernel->group), first_map = 0;
    for (int i = 0; i < b->shape->n_segments; i++) first_map += 1 + b->shape->segments[i].n_sums;
    buf_line(b->out, "  static constexpr int STORED = %d;  // tensors that are stored by tensor maps", n);
    for (int i = 0; i < n; i++) emit_stored(b, i, first_map);
    buf_line(b->out, n == 1 ? "  template <int I> using stored = stored0;"
                            : "  template <int I> using stored = typename fx_choose<I == 0, stored0, stored1>::type;");
}

static const char **members(struct arena *a, const char **names, int n) {
    const char **out = NEW_ARRAY(a, const char *, n + 1);
    for (int i = 0; i < n; i++) out[i] = names[i] ? arena_printf(a, "p.%s", names[i]) : NULL;
    return out;
}

static struct operand_place place_of(struct buf *out, const struct unit *u, const struct scheduled_graph *c,
    const struct launch *l, const struct gemm_shape *shape) {
    struct arena *a = &u->cx->arena;
    struct operand_place b = {.out = out, .u = u, .c = c, .l = l, .g = c->graph, .shape = shape};
    b.params = members(a, l->param_names, c->graph->kernel->n_params);
    b.buffers = members(a, l->buffer_names, c->partition->n_buffers);
    b.axes = members(a, l->axis_names, c->graph->kernel->n_axes);
    b.strides = members(a, l->stride_names, fx_stride_index(c->graph->kernel->n_params, 0));
    return b;
}

void emit_gemm_segments(struct buf *out, const struct unit *u, const struct scheduled_graph *c, const struct launch *l,
    const struct gemm_shape *shape, int first, bool has_a) {
    struct operand_place b = place_of(out, u, c, l, shape);
    for (int i = 0; i < shape->n_segments; i++) {
        b.segment = &shape->segments[i];
        emit_segment(&b, first + i, has_a);
    }
}

/* What the engine adds up of a pair, where that is no product. */
static void emit_term(struct operand_place *b, const struct node *sum) {
    struct values w = values_open(b->out, b->c, b->l, emit_names(b->c, b->l), NULL, NULL);
    const struct segment *e = &b->shape->segments[0];
    buf_line(b->out, "  struct term {  // of a pair of A and B");
    value_open_function(&w, "    static FX_DEVICE float add(float sum, float a, float b)");
    struct scope *p = scope_open(&w, NULL);
    p->text[e->a.value->id] = "a", p->text[e->b[0].value->id] = "b";
    value_line(&w, "return sum + %s;", value_at(&w, p, sum->args[0]));
    value_close_function(&w);
    buf_line(b->out, "  };");
}

void emit_gemm_problem(struct buf *out, const struct unit *u, const struct scheduled_graph *c, const struct launch *l) {
    const struct gemm_shape *s = &l->kernel->gemm;
    struct operand_place b = place_of(out, u, c, l, s);
    buf_line(out, "  static constexpr int SUMS = %d;", s->n_accumulators);
    /* Of scaled operands the entries that take any alignment, which stand last, are of an engine that takes fewer. */
    buf_line(out, "  static constexpr int V = %d;  // columns the epilogue takes at a time",
        l->kernel->configs[s->is_scaled ? l->kernel->n_configs - 1 : 0].vector);
    struct node **shared;
    bool is_sharing = gemm_shared(c->graph, l->kernel->group, &shared);
    if (gemm_has_reduced(c->graph, l->kernel->group) || is_sharing)
        buf_line(out, "  static constexpr bool SHARES = %s;  // whether threads give each other values in store",
            is_sharing ? "true" : "false");
    buf_line(out, "  FX_DEVICE int m() const { return %s; }", as_int(&b, &s->m, l->axis_names));
    buf_line(out, "  FX_DEVICE int n() const { return %s; }", as_int(&b, &s->n, l->axis_names));
    emit_gemm_segments(out, u, c, l, s, 0, true);
    if (s->pairing) emit_term(&b, s->pairing);
    if (stores_boxes(l->kernel)) emit_all_stored(&b);
    buf_line(out, "  template <class MAINLOOP> FX_DEVICE void accumulate(MAINLOOP &mainloop) const {");
    for (int i = 0; i < s->n_segments; i++) {
        if (i) buf_line(out, "    mainloop.next_segment();");
        if (s->segments[i].is_ragged)
            buf_line(out, "    mainloop.template add<segment%d, true>(*this);  // never aligned", i);
        else if (s->segments[i].by_maps && has_maps(l->kernel))
            buf_line(out,
                "    mainloop.template add<typename fx_choose<fx_takes_maps<MAINLOOP>(0), segment%d_by_maps, "
                "segment%d>::type>(*this);",
                i, i);
        else buf_line(out, "    mainloop.template add<segment%d>(*this);", i);
    }
    buf_line(out, "  }");
    buf_line(out,
        "  template <class ENGINE, bool ALIGNED> FX_DEVICE void finish(const fx_tile &at) const { %s<ENGINE, ALIGNED, SUMS>(*this, at); }",
        gemm_has_reduced(c->graph, l->kernel->group) || is_sharing ? "fx_gemm_reduce" : "fx_gemm_epilogue");
}
