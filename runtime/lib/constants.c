/* Constants: values that a kernel computes from its `const` tensors alone, computed once.
 *
 * In: a prepared kernel, its `const` tensors, memory of the caller. Out: a handle with which launches use the computed
 * values, and refuse `const` tensors other than those the values were computed from. The constants of each partition
 * that a launch may take are stored one after the other. Immutable once made: launches may run concurrently. */
#include <stdlib.h>

#include "lib/runtime.h"

enum { ALIGN = 256, MOST_KEPT = 32 }; /* partitions: a plan has four at most */

struct fx_constants {
    const fx_prepared *p;
    struct memory_range memory;
    size_t bases[MOST_KEPT]; /* by partition: where its constants begin; NOT_KEPT: it has none here */
    struct bound bound; /* the arguments they were computed from: of `const` parameters alone it counts */
};
static const size_t NOT_KEPT = SIZE_MAX;

const fx_prepared *constants_of(const fx_constants *c) { return c->p; }
struct memory_range constants_memory(const fx_constants *c) { return c->memory; }

static int number_of(const fx_prepared *p, const struct fx_partition *taken) {
    int i = 0;
    while (i + 1 < fx_partition_count(p->kernel) && p->kernel->partitions[i].first_launch != taken->first_launch) i++;
    return i;
}

uint64_t constants_address(const fx_constants *c, const struct fx_partition *taken, size_t offset) {
    return c->memory.start + c->bases[number_of(c->p, taken)] + offset;
}

/* ---- whether they are those of a launch ---- */

static fx_status check_param(const fx_constants *c, int i, const struct bound *b) {
    const struct fx_kernel *k = c->p->kernel;
    const struct fx_param *p = &k->params[i];
    const char *name = k->name;
    for (int a = 0; a < p->rank; a++) {
        const int e = p->extents[a], s = fx_stride_index(i, a);
        if (b->extents[e] != c->bound.extents[e])
            return error_set(FX_ERR_USAGE,
                "kernel %s: axis %s of %s, which is `const`, is %lld, but was %lld when its constants were computed",
                name, k->extents[e].name, p->name, (long long)b->extents[e], (long long)c->bound.extents[e]);
        if (p->is_strided && b->strides[s] != c->bound.strides[s])
            return error_set(FX_ERR_USAGE,
                "kernel %s: axis %s of %s, which is `const`, has stride %lld, but had %lld when its constants were "
                "computed", name, k->extents[e].name, p->name, (long long)b->strides[s], (long long)c->bound.strides[s]);
    }
    if (b->n_bytes[i] && b->slots[i] != c->bound.slots[i])
        return error_set(FX_ERR_USAGE,
            "kernel %s: %s is `const` and lies at 0x%llx, but its constants were computed from 0x%llx: compute them "
            "anew", name, p->name, (unsigned long long)b->slots[i], (unsigned long long)c->bound.slots[i]);
    return FX_OK;
}

fx_status constants_check(const fx_constants *c, const struct fx_partition *taken, const struct bound *b) {
    const struct fx_kernel *k = c->p->kernel;
    const struct memory_range m = c->memory;
    if (c->bases[number_of(c->p, taken)] == NOT_KEPT)
        return error_set(
            FX_ERR_USAGE, "kernel %s: its constants were not computed for partition %s", k->name, taken->name);
    for (int i = 0; i < k->n_params; i++) {
        fx_status status = k->params[i].is_const && !k->params[i].is_scalar ? check_param(c, i, b) : FX_OK;
        if (status != FX_OK) return status;
        if (k->params[i].is_output && m.n_bytes && b->n_bytes[i] && b->starts[i] < m.start + m.n_bytes &&
            m.start < b->starts[i] + b->n_bytes[i])
            return error_set(
                FX_ERR_USAGE, "kernel %s: %s shares memory with its constants", k->name, k->params[i].name);
    }
    return FX_OK;
}

/* ---- computing them ---- */

/* Whether the constants of partition i are kept: where it is compiled; one without any, which may be pinned later, has
 * all of them. */
static bool keeps(const fx_prepared *p, int i) {
    const struct fx_partition of = fx_get_partition(p->kernel, i);
    bool has_constants = false;
    for (int l = of.first_launch; l < of.first_launch + of.n_launches; l++)
        has_constants |= p->kernel->launches[l].is_once;
    return !has_constants || p->is_loaded[i];
}

/* Where the constants of each partition begin, and the bytes of all. */
static fx_status lay_out(const fx_prepared *p, const struct bound *b, size_t *bases, size_t *total) {
    const struct fx_env env = {.extents = b->extents, .sm_count = p->ctx->sm_count};
    *total = 0;
    for (int i = 0; i < fx_partition_count(p->kernel); i++) {
        const struct fx_partition of = fx_get_partition(p->kernel, i);
        size_t own = 0;
        bases[i] = keeps(p, i) ? *total : NOT_KEPT;
        if (bases[i] != NOT_KEPT && (!fx_const_layout(p->kernel, &of, &env, NULL, &own) ||
                                        __builtin_add_overflow(*total, own, total)))
            return error_set(FX_ERR_USAGE, "kernel %s: the size of its constants overflows", p->kernel->name);
    }
    return FX_OK;
}

static fx_status check_count(const fx_prepared *p) {
    return fx_partition_count(p->kernel) <= MOST_KEPT
               ? FX_OK
               : error_set(FX_ERR_USAGE, "kernel %s has %d partitions, more than %d", p->kernel->name,
                     fx_partition_count(p->kernel), MOST_KEPT);
}

fx_status fx_const_bytes(const fx_prepared *p, const struct fx_value *args, int n_args, size_t *bytes) {
    struct bound b;
    size_t bases[MOST_KEPT];
    if (!bytes) return error_null("the place for the number of bytes");
    *bytes = 0;
    if (!p) return error_null("what was prepared");
    fx_status status = check_count(p);
    if (status == FX_OK) status = arguments_bind(p, args, n_args, FOR_SIZES, &b);
    return status == FX_OK ? lay_out(p, &b, bases, bytes) : status;
}

static fx_status check_memory(const fx_constants *c, const void *memory, size_t n_bytes) {
    const struct fx_kernel *k = c->p->kernel;
    const struct memory_range m = c->memory;
    if (m.n_bytes == 0) return FX_OK;
    if (!memory || n_bytes < m.n_bytes)
        return error_set(FX_ERR_USAGE, "kernel %s needs %zu bytes for its constants, but %zu are given", k->name,
            m.n_bytes, memory ? n_bytes : 0);
    if (m.start % ALIGN)
        return error_set(
            FX_ERR_USAGE, "kernel %s: the memory for its constants is not aligned to %d bytes", k->name, ALIGN);
    for (int i = 0; i < k->n_params; i++)
        if (k->params[i].is_const && c->bound.n_bytes[i] && c->bound.starts[i] < m.start + m.n_bytes &&
            m.start < c->bound.starts[i] + c->bound.n_bytes[i])
            return error_set(
                FX_ERR_USAGE, "kernel %s: the memory for its constants is shared with %s", k->name, k->params[i].name);
    return FX_OK;
}

static fx_status compute(fx_constants *c, const struct fx_value *args, void *stream) {
    const struct fx_kernel *k = c->p->kernel;
    const struct fx_env env = {.extents = c->bound.extents, .sm_count = c->p->ctx->sm_count};
    uint64_t buffers[FX_MAX_BUFFERS] = {0};
    size_t offsets[FX_MAX_BUFFERS], ignored;
    fx_status status = FX_OK;
    for (int n = 0; status == FX_OK && n < fx_partition_count(k); n++) {
        const struct fx_partition of = fx_get_partition(k, n);
        if (c->bases[n] == NOT_KEPT || !fx_const_layout(k, &of, &env, offsets, &ignored)) continue;
        for (int i = of.first_buffer; i < of.first_buffer + of.n_buffers; i++)
            if (k->buffers[i].kind == FX_BUFFER_CONST) buffers[i] = constants_address(c, &of, offsets[i]);
        status = launches_run(c->p, &of, RUN_ONCE, args, &c->bound, buffers, stream);
    }
    return status;
}

fx_status fx_const_prepare(const fx_prepared *p, const struct fx_value *args, int n_args, void *memory, size_t n_bytes,
    void *stream, fx_constants **out) {
    if (!out) return error_null("the place for the constants");
    *out = NULL;
    if (!p) return error_null("what was prepared");
    uint64_t began = timeline_begin();
    fx_constants *c = calloc(1, sizeof *c);
    if (!c) return error_nomem();
    c->p = p;
    c->memory.start = (uint64_t)(uintptr_t)memory;
    fx_status status = check_count(p);
    if (status == FX_OK) status = arguments_bind(p, args, n_args, FOR_CONSTANTS, &c->bound);
    if (status == FX_OK) status = lay_out(p, &c->bound, c->bases, &c->memory.n_bytes);
    if (status == FX_OK) status = check_memory(c, memory, n_bytes);
    if (status == FX_OK) status = compute(c, args, stream);
    if (began)
        timeline_end(began, "constants", p->kernel->name, &(struct timeline_arg){.key = "status", .number = status}, 1);
    if (status == FX_OK) *out = c;
    else fx_constants_release(c);
    return status;
}

void fx_constants_release(fx_constants *c) { free(c); }
