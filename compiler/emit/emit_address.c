/* Addresses of elements as C.
 *
 * In: a tensor, and the index of each of its labels: one expression per label (a scope), or one over several labels (a
 * flat index). Out: an offset as C, a sum of terms `index * step`. The caller chooses the type of the terms: int, the
 * driver's `index`, or 64 bits. */
#include <string.h>

#include "emit/emit_address.h"

const char *address_tensor(const struct launch *l, const struct tensor *t) {
    return t->param >= 0 ? l->param_names[t->param] : l->buffer_names[t->buffer];
}

const char *address_group(struct arena *a, const char *text, const char *characters) {
    return strpbrk(text, characters) ? arena_printf(a, "(%s)", text) : text;
}

/* ---- indices ---- */

const char *address_product(struct arena *a, const char *const *names, const int *axes, int n) {
    struct buf s;
    buf_init(&s, a);
    for (int i = 0; i < n; i++) buf_printf(&s, "%s%s", i ? " * " : "", names[axes[i]]);
    return n ? s.s : "1";
}

static const char *divisor(
    struct arena *a, const char *const *names, const struct flat_index *f, int first, int last) {
    const char *s = address_group(a, address_product(a, names, f->labels->axes + first, last - first + 1), " ");
    return f->type ? arena_printf(a, "(%s)%s", f->type, s) : s;
}

const char *address_part(struct arena *a, const char *const *names, const struct flat_index *f, int first, int last) {
    const char *index = f->var;
    int n = f->labels->n;
    if (last < n - 1) index = arena_printf(a, "%s / %s", index, divisor(a, names, f, last + 1, n - 1));
    if (first > 0) index = arena_printf(a, "%s %% %s", index, divisor(a, names, f, first, last));
    return index;
}

const char *address_factor(
    struct arena *a, const char *const *names, const struct flat_index *f, int first, int last) {
    const char *index = address_part(a, names, f, first, last);
    return index == f->var ? index : arena_printf(a, "(%s)", index);
}

/* ---- steps ---- */

static int position_of(const struct param *p, int axis) {
    int i = 0;
    while (p->axes[i] != axis) i++;
    return i;
}

const char *address_stride(struct values *w, const struct tensor *t, int i) {
    if (t->is_strided)
        return w->stride_names[fx_stride_index(t->param, position_of(&w->g->kernel->params[t->param], t->axes[i]))];
    return address_product(value_arena(w), w->axis_names, t->axes + i + 1, t->n_axes - i - 1);
}

const char *address_word_stride(struct values *w, int param, int i) {
    const struct param *t = &w->g->kernel->params[param];
    struct buf s;
    if (t->is_strided) return w->stride_names[fx_stride_index(param, i)];
    buf_init(&s, value_arena(w));
    for (int j = i + 1; j < t->n_axes; j++)
        if (j == t->packed.axis)
            buf_printf(&s, "%s((%s + %d) / %d)", s.len ? " * " : "", w->axis_names[t->axes[j]], t->packed.factor - 1,
                t->packed.factor);
        else buf_printf(&s, "%s%s", s.len ? " * " : "", w->axis_names[t->axes[j]]);
    return s.len ? s.s : "1";
}

/* ---- offsets ---- */

void address_add(struct buf *s, const char *index, const char *step) {
    if (strcmp(step, "0") == 0 || strcmp(index, "0") == 0) return;
    if (s->len) buf_puts(s, " + ");
    buf_puts(s, index);
    if (strcmp(step, "1") != 0) buf_printf(s, " * %s", step);
}

void address_add_flat(struct buf *s, struct arena *a, const char *const *names, const struct flat_index *f,
    const char *const *steps, bool is_run) {
    int n = f->labels->n;
    for (int i = is_run && n ? n - 1 : 0; i < n; i++)
        if (steps[i]) address_add(s, is_run ? f->var : address_factor(a, names, f, i, i), steps[i]);
}

void address_add_runs(struct values *w, struct buf *s, const struct tensor *t, const struct flat_index *f, int n) {
    struct arena *a = value_arena(w);
    for (int i = 0, end; i < t->n_axes; i = end) {
        end = i + 1;
        for (int k = 0; k < n; k++) {
            const struct axis_list *l = f[k].labels;
            int first = find_label(l, t->axes[i]), last = first;
            if (first < 0) continue;
            while (!t->is_strided && end < t->n_axes && last + 1 < l->n && t->axes[end] == l->axes[last + 1])
                end++, last++;
            address_add(s, arena_printf(a, "(long long)%s", address_factor(a, w->axis_names, &f[k], first, last)),
                address_stride(w, t, end - 1));
            break;
        }
    }
}

const char *address_offset(struct values *w, const struct scope *p, const struct tensor *t) {
    struct arena *a = value_arena(w);
    struct buf s;
    buf_init(&s, a);
    for (int i = 0; i < t->n_axes; i++) {
        const char *index = scope_index(w, p, t->axes[i]), *step = address_stride(w, t, i);
        bool is_wide = !strchr(index, ' ') && (strcmp(step, "1") == 0 || strcmp(index, "0") == 0); /* no overflow */
        address_add(&s, is_wide ? index : arena_printf(a, "(long long)%s", address_group(a, index, " ")), step);
    }
    return s.len ? s.s : "0";
}

const char *address_word_offset(struct values *w, const struct scope *p, int param) {
    const struct param *t = &w->g->kernel->params[param];
    struct arena *a = value_arena(w);
    struct buf s;
    buf_init(&s, a);
    for (int i = 0; i < t->n_axes; i++) {
        const char *index = scope_index(w, p, t->axes[i]);
        if (i == t->packed.axis) index = arena_printf(a, "(%s) / %d", index, t->packed.factor);
        address_add(&s, arena_printf(a, "(long long)(%s)", index), address_word_stride(w, param, i));
    }
    return s.s;
}
