/* Operands of sm_90a that are windows of a tensor, loaded by a tensor map in im2col mode.
 *
 * In: an access at positions `step * idx(m) + factor * idx(k) + first` along some axes of a tensor, the channels last
 * and read whole; labels of the batch move a window as those of k do. Or, as in the gradient of a filter, pixels are
 * along k and channels along m or n; then labels of the batch move the window. Out: the axes that pixels follow, in the
 * order in which m, or k, is flattened, and their steps; or why there is no such form. The hardware goes from pixel to
 * pixel within a bounding box, along the innermost axis first, and then to the next image, as the flattened m does. So
 * a tile may begin anywhere. Invariant: pixel number i of the map is row i of the operand, or column i of k. */
#include "schedule/im2col.h"

enum { MOST_STEP = 8 };

/* The position in the tensor of the axis that is read at the label's own index alone, or -1. */
static int plain_axis(const struct window *w, int label) {
    for (int i = 0; i < w->tensor.n_axes; i++)
        if (w->tensor.axes[i] == label)
            return w->axes[i].n == 1 && w->axes[i].terms[0].label == label && w->axes[i].terms[0].factor == 1 &&
                           !w->axes[i].first.n
                       ? i
                       : -1;
    return -1;
}

/* p += factor * (extent of the label - 1) */
static void add_reach(const struct graph *g, struct poly *p, int label, int64_t factor) {
    struct poly size;
    view_extent(g, label, &size);
    poly_add_number(&size, -1);
    poly_add(p, &size, factor);
}

/* An axis that pixels go along, at position i of the tensor. */
static bool add_spatial(const struct graph *g, const struct gemm_shape *shape, const struct segment *e,
    const struct window *w, const struct axis_list *pixels, int i, struct im2col *out, const char **why_not) {
    const struct window_axis *x = &w->axes[i];
    if (out->n_spatial == FX_MAX_SPATIAL) return *why_not = "a window has more than 3 axes", false;
    struct spatial *s = &out->spatial[out->n_spatial++];
    *s = (struct spatial){.position = i, .pixel = -1, .step = 1};
    poly_copy(&s->first, &x->first);
    poly_number(&s->shift, 0);
    poly_number(&s->reach, 0);
    for (int j = 0; j < x->n; j++) {
        const struct window_term *t = &x->terms[j];
        int pixel = find_label(pixels, t->label);
        if (pixel < 0 && find_label(&e->k_outer, t->label) < 0 && find_label(&shape->batch, t->label) < 0)
            return *why_not = "a position of a window depends on what is no label of the contraction", false;
        if (pixel < 0) {
            add_reach(g, &s->reach, t->label, t->factor < 0 ? -t->factor : t->factor);
            if (t->factor > 0) continue;
            add_reach(g, &s->first, t->label, t->factor);
            add_reach(g, &s->shift, t->label, -t->factor);
            continue;
        }
        if (s->pixel >= 0 || t->factor < 1 || t->factor > MOST_STEP)
            return *why_not = "a window moves by no step from 1 to 8 along an axis", false;
        s->pixel = pixel, s->step = (int)t->factor;
    }
    poly_copy(&s->last, &s->first);
    if (s->pixel >= 0) add_reach(g, &s->last, pixels->axes[s->pixel], s->step);
    if (s->first.is_lost || s->last.is_lost || s->reach.is_lost)
        return *why_not = "a window's positions are too long", false;
    return true;
}

/* The axis whose positions have the label, which is no image; -1 where there are none or several. */
static int axis_of(const struct window *w, int label) {
    int found = -1;
    for (int i = 0; i < w->tensor.n_axes; i++)
        for (int j = 0; j < w->axes[i].n; j++) {
            if (w->axes[i].terms[j].label != label) continue;
            if (found >= 0) return -1;
            found = i;
        }
    return found;
}

bool im2col_of(const struct graph *g, const struct gemm_shape *shape, const struct segment *e, const struct operand *o,
    const struct axis_list *mn, struct im2col *out, const char **why_not) {
    const struct window *w = o->window;
    const struct tensor *t = &w->tensor;
    const struct axis_list *pixels = im2col_pixels(e, o, mn), *channels = im2col_channels(e, o, mn);
    bool is_taken[MAX_AXES] = {false};
    *out = (struct im2col){0};
    if (channels->n != 1 || channels->axes[0] != t->axes[t->n_axes - 1] || o->layout == LAYOUT_STRIDED)
        return *why_not = "the channels of a window are not what is contiguous", false;
    if (o->layout == LAYOUT_MN_MAJOR && (t->is_split || fx_dtype_bits(t->dtype) != 16))
        return *why_not = "the pixels of a window that are summed over are no 16-bit floats", false;
    is_taken[t->n_axes - 1] = true;
    for (int i; out->n_images < pixels->n && (i = plain_axis(w, pixels->axes[out->n_images])) >= 0; out->n_images++) {
        if (out->n_images && !are_adjacent(g, t, pixels->axes[out->n_images - 1], pixels->axes[out->n_images])) break;
        is_taken[i] = true;
    }
    for (int l = pixels->n - 1; l >= out->n_images; l--) {
        int i = axis_of(w, pixels->axes[l]);
        if (i < 0 || is_taken[i]) return *why_not = "a label moves a window along no axis or several", false;
        is_taken[i] = true;
        if (!add_spatial(g, shape, e, w, pixels, i, out, why_not)) return false;
    }
    for (int i = t->n_axes - 1; i >= 0; i--) {
        bool is_nothing = !w->axes[i].n && !w->axes[i].first.n && g->kernel->axes[t->axes[i]].extent == 1;
        if (!is_taken[i] && !is_nothing && !add_spatial(g, shape, e, w, pixels, i, out, why_not)) return false;
    }
    if (!out->n_spatial) return *why_not = "a window moves along no axis", false;
    for (int i = 0; t->is_split && i < out->n_images; i++)
        if (t->axes[i] != pixels->axes[i]) return *why_not = "images in parts do not lie outermost", false;
    return true;
}
