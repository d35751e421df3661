/* Keeps what a launch found out about its arguments for later launches of the same thread. In: a prepared kernel and
 * arguments. Out: everything that depends on shapes, strides and alignments, if one of the last few launches had the
 * same ones. Addresses and values are checked every time. Invariant: a recalled result is what the full path would
 * compute, or nothing is recalled. Any doubtful case takes the full path, which also refuses wrong arguments. */
#include <string.h>

#include "lib/runtime.h"

static _Thread_local struct launch_memo memos[4];
static atomic_uint_fast64_t last_serial;

uint64_t serial_next(void) { return atomic_fetch_add_explicit(&last_serial, 1, memory_order_relaxed) + 1; }

static struct launch_memo *memo_of(const fx_prepared *p, const struct fx_value *args) {
    uint64_t key = p->serial;
    for (int i = 0; i < p->kernel->n_params; i++)
        if (args[i].tensor && args[i].tensor->ndim > 0 && args[i].tensor->shape)
            key = key * 31 + (uint64_t)args[i].tensor->shape[0];
    return &memos[(key ^ key >> 7) % (sizeof memos / sizeof *memos)];
}

static bool is_same_tensor(const DLTensor *t, const struct memo_param *m) {
    const size_t n_bytes = (size_t)m->ndim * sizeof(int64_t);
    return t && t->ndim == m->ndim && memcmp(&t->dtype, &m->dtype, sizeof m->dtype) == 0 &&
           t->device.device_type == m->device.device_type && t->device.device_id == m->device.device_id &&
           (m->ndim == 0 || (t->shape && memcmp(t->shape, m->shape, n_bytes) == 0)) &&
           (t->strides != NULL) == m->has_strides && (!m->has_strides || memcmp(t->strides, m->strides, n_bytes) == 0);
}

/* Where the tensor lies now. */
static bool place(const struct fx_param *p, const DLTensor *t, const struct memo_param *m, struct bound *b, int i) {
    uint64_t address;
    if (__builtin_add_overflow((uint64_t)(uintptr_t)t->data, t->byte_offset, &address)) return false;
    if (address_alignment(address) != m->align || (p->align && address % (unsigned)p->align)) return false;
    if (m->n_bytes && (!t->data || address < m->below || address - m->below > UINT64_MAX - m->n_bytes)) return false;
    b->slots[i] = address;
    b->starts[i] = address - m->below;
    b->n_bytes[i] = m->n_bytes;
    b->align[i] = m->align;
    return true;
}

static bool is_apart(const struct fx_kernel *k, const struct bound *b) {
    for (int i = 0; i < k->n_params; i++)
        for (int j = 0; k->params[i].is_output && j < k->n_params; j++)
            if (i != j && memory_overlaps(b, i, j)) return false;
    return true;
}

struct launch_memo *memo_recall(
    const fx_prepared *p, bool has_constants, const struct fx_value *args, int n_args, struct bound *b) {
    const struct fx_kernel *k = p->kernel;
    if (n_args != k->n_params || n_args > MEMO_PARAMS || !args) return NULL;
    struct launch_memo *m = memo_of(p, args);
    if (m->serial != p->serial || m->has_constants != has_constants) return NULL;
    bool has_scalars = false;
    for (int i = 0; i < n_args; i++) {
        const struct fx_param *param = &k->params[i];
        has_scalars |= param->is_scalar;
        if (param->is_scalar) b->starts[i] = b->n_bytes[i] = 0, b->align[i] = ADDRESS_ALIGN;
        else if (!is_same_tensor(args[i].tensor, &m->params[i]) || !place(param, args[i].tensor, &m->params[i], b, i))
            return NULL;
        if (param->is_strided)
            memcpy(b->strides + fx_stride_index(i, 0), m->params[i].bound_strides, sizeof m->params[i].bound_strides);
    }
    memcpy(b->extents, m->extents, (size_t)k->n_extents * sizeof *b->extents);
    if (has_scalars && arguments_bind_scalars(p, args, b) != FX_OK) return NULL;
    return is_apart(k, b) ? m : NULL;
}

struct launch_memo *memo_keep(const fx_prepared *p, bool has_constants, const struct fx_value *args,
    const struct bound *b, const struct launch_facts *facts) {
    const struct fx_partition *taken = &facts->taken;
    const struct fx_kernel *k = p->kernel;
    int n_maps = 0;
    for (int i = 0; i < taken->n_launches; i++) n_maps += k->launches[taken->first_launch + i].n_maps;
    if (k->n_params > MEMO_PARAMS || k->n_extents > MEMO_EXTENTS || taken->n_launches > MEMO_LAUNCHES ||
        taken->n_buffers > MEMO_BUFFERS || n_maps > MEMO_MAPS)
        return NULL;
    struct launch_memo *m = memo_of(p, args);
    m->serial = p->serial, m->has_constants = has_constants;
    for (int i = 0; i < k->n_params; i++) {
        const DLTensor *t = args[i].tensor;
        struct memo_param *to = &m->params[i];
        if (k->params[i].is_scalar) continue;
        to->ndim = t->ndim, to->dtype = t->dtype, to->device = t->device, to->has_strides = t->strides != NULL;
        to->align = b->align[i], to->n_bytes = b->n_bytes[i], to->below = b->slots[i] - b->starts[i];
        if (t->ndim) memcpy(to->shape, t->shape, (size_t)t->ndim * sizeof *to->shape);
        if (t->ndim && t->strides) memcpy(to->strides, t->strides, (size_t)t->ndim * sizeof *to->strides);
        if (k->params[i].is_strided)
            memcpy(to->bound_strides, b->strides + fx_stride_index(i, 0), sizeof to->bound_strides);
    }
    memcpy(m->extents, b->extents, (size_t)k->n_extents * sizeof *m->extents);
    memcpy(m->ready, facts->ready, (size_t)taken->n_launches * sizeof *m->ready);
    memcpy(m->offsets, facts->offsets, (size_t)taken->n_buffers * sizeof *m->offsets);
    memcpy(m->kept, facts->kept, (size_t)taken->n_buffers * sizeof *m->kept);
    m->workspace_bytes = facts->workspace_bytes;
    m->taken = *taken;
    for (int i = 0; i < n_maps; i++) m->map_bases[i] = 0;
    return m;
}

struct cuda_tensor_map *memo_maps(struct launch_memo *m, const struct fx_kernel *k, int launch, uint64_t **bases) {
    int first = 0;
    for (int i = m->taken.first_launch; i < launch; i++) first += k->launches[i].n_maps;
    *bases = m->map_bases + first;
    return m->maps + first;
}
