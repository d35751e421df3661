/* The table of machines. */
#include "base/arch.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

static const struct arch rows[] = {
#define ARCH(name, gpu, sms, mhz, gb, l2, block_kb, sm_kb, threads, blocks, tensor, clusters, wgmma, mma_f64, f8) \
    {name, gpu, sms, mhz * 1e6, gb * 1e9, l2, block_kb << 10, sm_kb << 10, threads, blocks, tensor, clusters,          \
        wgmma, mma_f64, f8},
#define GPU(arch, name, sms, mhz, gb, l2)
#include "base/arch.def"
#undef ARCH
#undef GPU
};

static const struct gpu_row {
    const char *arch, *name; /* the architecture without its suffix */
    int sms;
    double cycles, copied;
    int l2_bytes;
} gpus[] = {
#define ARCH(name, gpu, sms, mhz, gb, l2, block_kb, sm_kb, threads, blocks, tensor, clusters, wgmma, mma_f64, f8)
#define GPU(arch, name, sms, mhz, gb, l2) {arch, name, sms, mhz * 1e6, gb * 1e9, l2},
#include "base/arch.def"
#undef ARCH
#undef GPU
};

const struct arch *arch_row(int i) { return i >= 0 && i < (int)(sizeof rows / sizeof *rows) ? &rows[i] : NULL; }

const struct arch *arch_find(const char *name) {
    for (int i = 0; arch_row(i); i++)
        if (strcmp(rows[i].name, name) == 0) return &rows[i];
    return NULL;
}

struct arch arch_of_gpu(const struct arch *m, const char *device, int sms) {
    struct arch out = *m;
    size_t most = 0;
    for (size_t i = 0; device && i < sizeof gpus / sizeof *gpus; i++) {
        const struct gpu_row *g = &gpus[i];
        size_t n = strlen(g->name), digits = strlen(g->arch);
        bool is_of_arch = strncmp(m->name, g->arch, digits) == 0 && (m->name[digits] < '0' || m->name[digits] > '9');
        if (!is_of_arch || !strstr(device, g->name) || n <= most) continue;
        most = n;
        out.gpu = g->name, out.sms = g->sms, out.cycles = g->cycles, out.copied = g->copied, out.l2_bytes = g->l2_bytes;
    }
    if (sms > 0) out.sms = sms;
    return out;
}

const struct cluster_step arch_cluster_steps[N_CLUSTER_STEPS] = {{2, 44, 10}, {4, 88, 10}};

int arch_cluster_blocks(const struct arch *m, double tiles) {
    int blocks = 1 + (fmod(tiles - 1, m->sms) * 2 + 1 < m->sms);
    for (int i = 0; i < N_CLUSTER_STEPS; i++)
        if (tiles * arch_cluster_steps[i].of_tiles <= (double)m->sms * arch_cluster_steps[i].of_sms)
            blocks += arch_cluster_steps[i].blocks;
    return blocks;
}
