/* Storage of the oracle's elements: layouts, and sets of elements of a value with their contents. Input: axes and
 * extents; output: offsets, cells. */
#include "oracle/eval_internal.h"

#include <stdlib.h>
#include <string.h>

bool layout_init(struct oracle_layout *l, int n, const int *axes, const int64_t *extents) {
    l->n = n;
    l->numel = 1;
    for (int i = n - 1; i >= 0; i--) {
        l->axes[i] = axes[i];
        l->extents[i] = extents[axes[i]];
        l->strides[i] = l->numel;
        if (l->extents[i] < 0 || __builtin_mul_overflow(l->numel, l->extents[i], &l->numel)) return false;
    }
    return true;
}

int64_t layout_offset(const struct oracle_layout *l, const int64_t *at) {
    int64_t offset = 0;
    for (int i = 0; i < l->n; i++) offset += at[l->axes[i]] * l->strides[i];
    return offset;
}

int64_t layout_stride(const struct oracle_layout *l, int axis) {
    for (int i = 0; i < l->n; i++)
        if (l->axes[i] == axis) return l->strides[i];
    return 0;
}

void layout_locate(const struct oracle_layout *l, int64_t offset, int64_t *at) {
    for (int i = 0; i < l->n; i++) at[l->axes[i]] = offset / l->strides[i] % l->extents[i];
}

bool layout_has(const struct oracle_layout *l, int axis) {
    for (int i = 0; i < l->n; i++)
        if (l->axes[i] == axis) return true;
    return false;
}

bool store_init(struct oracle_store *s, int64_t numel) {
    s->is_dense = numel <= DENSE_MAX;
    s->n_cells = s->is_dense ? numel : 1 << 10;
    if (s->is_dense) return (s->bits = calloc((size_t)numel / 64 + 1, sizeof *s->bits)) != NULL;
    s->keys = malloc((size_t)s->n_cells * sizeof *s->keys);
    if (s->keys) memset(s->keys, 0xff, (size_t)s->n_cells * sizeof *s->keys);
    return s->keys != NULL;
}

void store_release(struct oracle_store *s) {
    free(s->bits);
    free(s->keys);
    free(s->cells);
    free(s->m);
}

int64_t store_cell(const struct oracle_store *s, int64_t element) {
    if (s->is_dense) return element;
    uint64_t mask = (uint64_t)s->n_cells - 1, i = (uint64_t)element * 0x9e3779b97f4a7c15u >> 20;
    while (s->keys[i & mask] >= 0 && s->keys[i & mask] != element) i++;
    return (int64_t)(i & mask);
}

static bool store_grow(struct oracle_store *s) {
    struct oracle_store old = *s;
    s->n_cells *= 2;
    if (s->n_cells > CELLS_MAX || !(s->keys = malloc((size_t)s->n_cells * sizeof *s->keys))) {
        *s = old;
        return false;
    }
    memset(s->keys, 0xff, (size_t)s->n_cells * sizeof *s->keys);
    for (int64_t i = 0; i < old.n_cells; i++)
        if (old.keys[i] >= 0) s->keys[store_cell(s, old.keys[i])] = old.keys[i];
    free(old.keys);
    return true;
}

enum added store_add(struct oracle_store *s, int64_t element) {
    if (s->is_dense) {
        uint64_t bit = (uint64_t)1 << (element & 63), *word = &s->bits[element >> 6];
        if (*word & bit) return ADDED_BEFORE;
        *word |= bit;
        return ADDED_NEW;
    }
    int64_t cell = store_cell(s, element);
    if (s->keys[cell] == element) return ADDED_BEFORE;
    if (2 * ++s->n_used > s->n_cells) {
        if (!store_grow(s)) return ADDED_FAILED;
        cell = store_cell(s, element);
    }
    s->keys[cell] = element;
    return ADDED_NEW;
}

bool store_has(const struct oracle_store *s, int64_t element) {
    return s->is_dense ? s->bits[element >> 6] >> (element & 63) & 1 : s->keys[store_cell(s, element)] == element;
}
