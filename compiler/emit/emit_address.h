/* Addresses of elements as C, `x_ + m * (K_) + k`: a term for each label, or for a run of labels that are adjacent in
 * the tensor (emit_address.c). */
#ifndef FX_EMIT_ADDRESS_H
#define FX_EMIT_ADDRESS_H

#include "emit/emit_value.h"

struct flat_index { /* one index over several labels */
    const struct axis_list *labels;
    const char *var; /* its C expression */
    const char *type; /* that it and what it is divided by fit: dividing 32 bits is several times faster; NULL: 64 */
};

const char *address_tensor(const struct launch *l, const struct tensor *t); /* "x_" */
/* The text, in parentheses where it has one of the characters. */
const char *address_group(struct arena *a, const char *text, const char *characters);
/* The extents of axes multiplied, "1" for none. names: C names of extents, by axis. */
const char *address_product(struct arena *a, const char *const *names, const int *axes, int n);
/* The index of labels first .. last, one index again; f->var itself where they are all of f's. As a factor it stands in
 * parentheses. */
const char *address_part(struct arena *a, const char *const *names, const struct flat_index *f, int first, int last);
const char *address_factor(struct arena *a, const char *const *names, const struct flat_index *f, int first, int last);
/* Elements between neighbours along position i of t, as factors: "N_ * K_", "1", "x_stride_M_". */
const char *address_stride(struct values *w, const struct tensor *t, int i);
/* Likewise words along position i of a packed parameter. */
const char *address_word_stride(struct values *w, int param, int i);

/* Adds `index * step` to an offset, nothing where the step is "0"; every address is made of these. */
void address_add(struct buf *s, const char *index, const char *step);
/* Adds what f contributes. steps: by label of f, NULL where the tensor lacks it; is_run: they lie adjacent in it as in
 * f, and the step of the last one is that of f itself. */
void address_add_flat(struct buf *s, struct arena *a, const char *const *names, const struct flat_index *f,
    const char *const *steps, bool is_run);
/* Adds what n flat indices contribute to the offset of an element of t, in 64 bits, in the order of t's labels. */
void address_add_runs(struct values *w, struct buf *s, const struct tensor *t, const struct flat_index *f, int n);
/* The offset of t's element in p; of the word that holds a packed parameter's. */
const char *address_offset(struct values *w, const struct scope *p, const struct tensor *t);
const char *address_word_offset(struct values *w, const struct scope *p, int param);

#endif
